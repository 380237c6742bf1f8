/* ndarray_scans.h - inner loops of cumsum, cumprod, cummin and cummax, compiled once per instruction set.
 *
 * ndarray_scans_isa.inc holds them; ndarray_scans_{baseline,avx2,avx512}.c include it with other compiler flags. */
#ifndef BURN_NDARRAY_SCANS_H
#define BURN_NDARRAY_SCANS_H

#include "ndarray_internal.h"

enum { ND_SCAN_SUM, ND_SCAN_PROD, ND_SCAN_MIN, ND_SCAN_MAX, ND_SCAN_COUNT };

/* Scans `width` columns that lie side by side; rows are `inner` elements apart. to may be from. carry is what has come
 * together so far, of at most 8 bytes a column; it is set first if `starts`. */
typedef void (*NdScanColumns)(const void *from, void *to, void *carry, bool starts, int64_t count, int64_t inner,
                              int64_t width);

/* By dtype and kind. The baseline has all; the others leave NULL what wider vectors would not help. */
typedef NdScanColumns NdScans[BURN_DTYPE_LIMIT][ND_SCAN_COUNT];

extern const NdScans nd_scans_baseline;
#if defined(BURN_NDARRAY_X86_VARIANTS)
extern const NdScans nd_scans_avx2, nd_scans_avx512;

/* cumsum of four rows of memory that follow each other; to may be from. */
void nd_sum_rows_avx2(const float *from, float *to, int64_t count, bool streams);
#endif

/* The loop for nd->isa, or NULL if there is none for this dtype. */
static inline NdScanColumns nd_scan_columns(const Ndarray *nd, BurnDType dtype, uint32_t kind) {
  NdScanColumns columns = NULL;
#if defined(BURN_NDARRAY_X86_VARIANTS)
  if (nd->isa == NDARRAY_ISA_AVX512) columns = nd_scans_avx512[dtype][kind];
  if (nd->isa == NDARRAY_ISA_AVX2) columns = nd_scans_avx2[dtype][kind];
#endif
  (void)nd;
  return columns ? columns : nd_scans_baseline[dtype][kind];
}

#endif
