/* ndarray_gemm_amx.h - the matrix product of bf16 on the tile registers of x86-64 (AMX), or on vectors in the same
 * blocks; and where rows are few. */
#ifndef BURN_NDARRAY_GEMM_AMX_H
#define BURN_NDARRAY_GEMM_AMX_H

#include "ndarray_gemm.h"

enum { ND_AMX_SIDE = 32, ND_AMX_STEP = 32 }; /* rows and columns of a block of C; terms per step along k */

#if defined(BURN_NDARRAY_X86_VARIANTS) && defined(__linux__) && defined(__x86_64__)
#define BURN_NDARRAY_AMX 1 /* asking for permission is written for Linux */

/* True if products of bf16 are faster than those of f32 here: by AMX, which the system is asked for, or by vectors. */
bool nd_bf16_available(void);

/* One rectangle of bf16, sums in f32, rounded once; between open and close. `scratch` has room for nd_amx_scratch
 * bytes. */
void nd_amx_run(const NdGemm *gemm, void *scratch);

/* The loops of a shared product, whose one block of k is whole: sums are rounded once. */
const NdGemmLoops *nd_amx_loops(void);

/* The tile registers, if there are any, are configured and cleared by every thread around its share of the work:
 * either takes a while. */
void nd_amx_open(void);
void nd_amx_close(void);

/* Few rows (ndarray_gemm_bf16.c), where rows of B lie dense, or terms on both sides: ND_GEMM_STREAM and ND_GEMM_DOTS.
 */
void nd_bf16_stream(const NdGemm *gemm, void *scratch);
void nd_bf16_dots(const NdGemm *gemm);

#else /* never there, so the others are never called */
static inline bool nd_bf16_available(void) { return false; }
static inline void nd_amx_run(const NdGemm *gemm, void *scratch) { (void)gemm, (void)scratch; }
static inline const NdGemmLoops *nd_amx_loops(void) { return NULL; }
static inline void nd_amx_open(void) {}
static inline void nd_amx_close(void) {}
static inline void nd_bf16_stream(const NdGemm *gemm, void *scratch) { (void)gemm, (void)scratch; }
static inline void nd_bf16_dots(const NdGemm *gemm) { (void)gemm; }
#endif

/* Room for the rows of A of nd_bf16_stream in f32, in whole steps. */
static inline uint64_t nd_bf16_scratch(int64_t rows, int64_t k) {
  return (uint64_t)(rows * nd_ceil_div(k + 1, ND_AMX_STEP) * ND_AMX_STEP) * sizeof(float);
}

/* Room for two panels of B and `rows` rows of A, in whole blocks. */
static inline uint64_t nd_amx_scratch(int64_t rows, int64_t k) {
  const int64_t panel = nd_ceil_div(k, ND_AMX_STEP) * ND_AMX_STEP * ND_AMX_SIDE;
  return (uint64_t)((nd_ceil_div(rows, ND_AMX_SIDE) + 2) * panel) * sizeof(uint16_t);
}

#endif
