/* ndarray_quantization.h - what the ops on quantized values share: scales, and which calls their kernels take. */
#ifndef BURN_NDARRAY_QUANTIZATION_H
#define BURN_NDARRAY_QUANTIZATION_H

#include "ndarray_int8.h"

/* The scales of a tensor as they lie: one, or one for each block. */
typedef struct NdScales {
  const float *data;
  uint32_t rank; /* 0: one scale */
  int64_t block[BURN_MAX_RANK], strides[BURN_MAX_RANK];
} NdScales;

/* x: scales in f32; `block` is the op's attribute, of a tensor with `rank` axes. */
NdScales nd_scales_of(const NdTensor *x, const BurnAttr *block, uint32_t rank);
/* Elements from the first scale to that of the element at `index`, of which the first `axes` count. */
int64_t nd_scale_offset(const NdScales *scales, const int64_t *index, uint32_t axes);

static inline bool nd_has_one_scale(const BurnAttr *block) { return block->value.i64s[0] == 0; }

/* True for scales in f32, f16 and bf16, and for results of these. */
static inline bool nd_is_small_float(BurnDType dtype) {
  return dtype == BURN_DTYPE_F32 || dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16;
}

/* The terms of a segment of k, whose scales have blocks of `left` and `right` (0: one scale); 0 if segments would be
 * too short to pay, or too long for sums in i32. */
int64_t nd_int8_segment(int64_t k, int64_t left, int64_t right);

/* Which calls the kernels take; the others are decomposed. */
bool nd_takes_quantized_matmul(const BurnOpCall *call);
bool nd_takes_quantized_conv2d(const BurnOpCall *call);
bool nd_takes_quantize(const BurnOpCall *call);
bool nd_takes_dequantize(const BurnOpCall *call);

BurnStatus nd_quantized_conv2d(Ndarray *nd, const BurnOpCall *call); /* ndarray_quantization_conv.c */
BurnStatus nd_quantize(Ndarray *nd, const BurnOpCall *call);         /* ndarray_quantize.c */
BurnStatus nd_dequantize(Ndarray *nd, const BurnOpCall *call);

/* x as f32 (itself with one more reference, or a copy); NULL when out of memory. */
NdTensor *nd_as_f32(Ndarray *nd, NdTensor *x);
/* Gives `out`, in f32, as the result of the call, in its dtype. Takes out, which may be NULL. */
BurnStatus nd_finish_f32(Ndarray *nd, const BurnOpCall *call, NdTensor *out);

#endif
