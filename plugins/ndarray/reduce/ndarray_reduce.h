/* ndarray_reduce.h - shared by the files of the reductions: the view of a tensor as [outer, count, inner] around the
 * reduced axis, how work is cut, and the kernels that do not live in ndarray_reduce.c. */
#ifndef BURN_NDARRAY_REDUCE_H
#define BURN_NDARRAY_REDUCE_H

#include "ndarray_rows.h"

/* x as [outer, count, inner], `count` being the reduced axis; result (o, i) is element o * inner + i. Either
 * inner_stride is 1 (by_columns) or the stride of count is 1 (or count < 2). */
typedef struct NdAxisView {
  NdTensor *x; /* owned: the tensor or a packed copy */
  const char *data;
  int64_t outer, count, inner;
  int64_t outer_stride, stride, inner_stride; /* in elements */
  int64_t element_bytes;
  bool by_columns;
} NdAxisView;

/* Views x around axis `dim`; packs it if its strides do not allow that. False when out of memory; else end it with
 * nd_release(nd, view->x). */
bool nd_axis_view(Ndarray *nd, NdTensor *x, uint32_t dim, NdAxisView *view);

/* Address of element (o, 0, i). */
static inline const char *nd_axis_at(const NdAxisView *view, int64_t o, int64_t i) {
  return view->data + (o * view->outer_stride + i * view->inner_stride) * view->element_bytes;
}

/* Rows so short that a fold over each would be mostly its end are turned into columns first, ND_SHORT_BATCH at a time.
 * The step between rows of columns is not a power of two, as lines of memory that far apart share few places in the
 * cache. */
#define ND_SHORT_ROW 32
#define ND_SHORT_BATCH 128
#define ND_SHORT_STRIDE (ND_SHORT_BATCH + 16)
typedef union NdShortRows {
  uint8_t u8[ND_SHORT_ROW * ND_SHORT_STRIDE];
  uint16_t u16[ND_SHORT_ROW * ND_SHORT_STRIDE];
  uint32_t u32[ND_SHORT_ROW * ND_SHORT_STRIDE];
  uint64_t u64[ND_SHORT_ROW * ND_SHORT_STRIDE];
} NdShortRows;

static inline bool nd_has_short_rows(const NdAxisView *view) {
  return !view->by_columns && view->inner == 1 && view->outer > 1 && view->count > 1 && view->count <= ND_SHORT_ROW;
}

/* Rows begin .. begin + width-1 as columns of [count, ND_SHORT_STRIDE]. */
void nd_short_rows(const NdAxisView *view, int64_t begin, int64_t width, NdShortRows *rows);

/* Product of the sizes of axes begin .. end-1. */
static inline int64_t nd_axes_count(const NdTensor *x, uint32_t begin, uint32_t end) {
  int64_t count = 1;
  for (uint32_t i = begin; i < end; i++) count *= x->shape[i];
  return count;
}

/* Elements that a chunk of parallel work should have at least, and how many items of so many elements make a chunk. */
#define ND_GRAIN 32768
static inline int64_t nd_grain(int64_t elements) {
  if (elements < 1) return ND_GRAIN;
  return elements >= ND_GRAIN ? 1 : ND_GRAIN / elements;
}

/* True if `out` is so large that it should be written past the caches, and neither of the inputs (NULL: none) in
 * disguise. */
static inline bool nd_streams(const NdTensor *out, const NdTensor *first, const NdTensor *second) {
  const int64_t bytes = burn_primitive_count(&out->header) * (int64_t)burn_dtype_bytes(out->header.dtype);
  return bytes >= ND_ROWS_STREAM_BYTES && out->storage != first->storage &&
         !(second && out->storage == second->storage);
}

/* Packed strips of columns (ndarray_packed.c): whether one or two row-major inputs [outer, count, inner] go over them,
 * by the shape alone, as bits depend on it; and a job of ND_PACKED_*, which has inner, count and pointers. False when
 * out of memory. */
bool nd_packs(BurnDType dtype, int64_t inputs, int64_t outer, int64_t count, int64_t inner);
bool nd_run_packed(Ndarray *nd, NdRowJob *job, int64_t outer);
/* The same for gradients of more rows, whose strips all threads work on together. */
bool nd_shares_strips(BurnDType dtype, int64_t outer, int64_t count, int64_t inner);
bool nd_run_shared_strips(Ndarray *nd, NdRowJob *job, int64_t outer);

/* The gradient of layer norm (ndarray_norm_parts.c): a job in `count` parts of job->part rows, whose sums go to
 * job->sums [count, 2, job->count]. Where it turns, x and out are [outer, job->count, job->inner] in memory, and grad,
 * too, or [outer, job->inner, job->count]; which takes parts of some sizes only. False when out of memory. */
bool nd_turns_norm_parts(int64_t part, int64_t count, int64_t element_bytes, bool turns_grad);
bool nd_run_norm_parts(Ndarray *nd, NdRowJob *job, int64_t count, int64_t element_bytes, bool turns, bool turns_grad);

/* The failure of an op on rows of floats that nd_float_rows has no loops for. ndarray_activation.c */
BurnStatus nd_no_float_rows(Ndarray *nd, const BurnOpCall *call, BurnDType dtype);

BurnStatus nd_run_arg(Ndarray *nd, const BurnOpCall *call); /* ndarray_arg.c: argmax, argmin */

#endif
