/* quantization.h - tensors of a few bits: small integers times scales.
 *
 * A float x becomes round(x / scale), halves to even, within the range of the value type; back it is value * scale.
 * There is no zero point (Burn's symmetric mode). One scale serves the tensor, or one each block: a rectangle over the
 * trailing axes. With two levels, a scale of the whole tensor in f32 multiplies those of the blocks.
 *
 * A quantized tensor is a plain struct of tensors and is handed by value. Functions take it as others take tensors:
 * its tensors are gone afterwards, keep it with burn_quant_clone. A failure travels in its values. The values are an i8
 * tensor, one element each, whatever their bits; packing happens in bytes (burn_quant_export). */
#ifndef BURN_QUANTIZATION_H
#define BURN_QUANTIZATION_H

#include <burn/ops_layers.h>
#include <burn/ops_move.h>

BURN_EXTERN_C_BEGIN

/* Types of values. F types use the full range of their bits, S types are symmetric around 0. */
typedef enum BurnQuantValue {
  BURN_QUANT_Q8F = 0, /* -128 .. 127 */
  BURN_QUANT_Q8S = 1, /* -127 .. 127 */
  BURN_QUANT_Q4F = 2, /* -8 .. 7 */
  BURN_QUANT_Q4S = 3, /* -7 .. 7 */
  BURN_QUANT_Q2F = 4, /* -2 .. 1 */
  BURN_QUANT_Q2S = 5  /* -1 .. 1 */
} BurnQuantValue;

/* How the range of values to be met is found. */
typedef enum BurnQuantCalibration {
  BURN_QUANT_MIN_MAX = 0, /* the smallest and the largest element */
  BURN_QUANT_ABS_MEAN = 1 /* minus and plus the mean of |x| */
} BurnQuantCalibration;

/* The highest rank of a block, as in Burn. */
enum { BURN_QUANT_BLOCK_RANK = 5 };

/* How a tensor is quantized; start from BURN_QUANT_SCHEME, Burn's default: one f32 scale, Q8F. */
typedef struct BurnQuantScheme {
  BurnQuantValue value;
  BurnDType scale_dtype;                /* f32, f16 or bf16 */
  uint32_t block_rank;                  /* 0: one scale for the tensor */
  int64_t block[BURN_QUANT_BLOCK_RANK]; /* of the last block_rank axes, whose sizes it divides; 1 for axes before */
  bool two_level;                       /* with blocks only: a further scale of the tensor */
} BurnQuantScheme;
#define BURN_QUANT_SCHEME \
  BURN_INTERNAL_VALUE(BurnQuantScheme, BURN_QUANT_Q8F, BURN_DTYPE_F32, 0, {0, 0, 0, 0, 0}, false)

/* The scales of a tensor: [1], or an axis per axis of the tensor with an entry per block. */
typedef struct BurnQuantParameters {
  BurnTensor *scales;       /* of the scheme's dtype */
  BurnTensor *global_scale; /* [1] f32 with two levels, else NULL */
} BurnQuantParameters;

/* A quantized tensor. */
typedef struct BurnQuantTensor {
  BurnTensor *values; /* i8 */
  BurnQuantParameters parameters;
  BurnQuantScheme scheme;
} BurnQuantTensor;

/* The lowest and highest value of a type, and its bits; all 0 for an unknown one. */
BURN_API void burn_quant_value_range(BurnQuantValue value, int *low, int *high, int *bits);
/* "Q8F"; NULL for an unknown one. */
BURN_API const char *burn_quant_value_name(BurnQuantValue value);

/* -- parameters ------------------------------------------------------------------------------- */

/* The range of x [F], per tensor or block, in *low and *high (the caller's; shaped as the scales will be). Takes x. */
BURN_API BURN_TAKES(1) void burn_quant_range(BurnTensor *x, BurnQuantScheme scheme, BurnQuantCalibration calibration,
                                             BurnTensor **low, BurnTensor **high);
/* Scales for ranges: 2 max(|low|, |high|) / (highest value - lowest value). With two levels the largest is the global
 * one, and those of the blocks are divided by it. Takes both. */
BURN_API BURN_USE_RESULT BURN_TAKES(1, 2) BurnQuantParameters
    burn_quant_parameters(BurnTensor *low, BurnTensor *high, BurnQuantScheme scheme);

/* -- there and back --------------------------------------------------------------------------- */

/* x [F] in the scheme with given scales, which it takes too. A scale of 0 gives 0. No gradient flows. */
BURN_API BURN_USE_RESULT BURN_TAKES(1) BurnQuantTensor
    burn_quantize(BurnTensor *x, BurnQuantScheme scheme, BurnQuantParameters parameters);
/* The same with scales from the range of x itself (min-max). */
BURN_API BURN_USE_RESULT BURN_TAKES(1) BurnQuantTensor burn_quantize_dynamic(BurnTensor *x, BurnQuantScheme scheme);
/* The floats that q stands for, in a float dtype (BURN_DTYPE_DEFAULT: the device's). Takes q. */
BURN_API BURN_GIVES BurnTensor *burn_dequantize(BurnQuantTensor q, BurnDType dtype);
/* [.., m, k] x [.., k, n] -> [.., m, n] in a float dtype: the product of what both stand for; a backend may compute it
 * in integers. Takes both. */
BURN_API BURN_GIVES BurnTensor *burn_quant_matmul(BurnQuantTensor lhs, BurnQuantTensor rhs, BurnDType dtype);
/* x [n, in, h, w], weight [out, in/groups, kh, kw], bias [out] in the dtype of the result, or NULL -> [n, out, oh, ow]
 * in a float dtype: burn_conv2d of what both stand for; a backend may compute it in integers. Padding that differs per
 * side goes through floats. Takes all three. */
BURN_API BURN_GIVES BURN_TAKES(3) BurnTensor *burn_quant_conv2d(BurnQuantTensor x, BurnQuantTensor weight,
                                                                BurnTensor *bias, BurnConv2dOptions options,
                                                                BurnDType dtype);

/* -- ops that stay quantized ------------------------------------------------------------------- */

/* Each is the function without quant_ (ops.h, ops_move.h), of what q stands for; it takes q. With one scale the values
 * move, the scale stays, and nothing is rounded. With blocks, values and scales move and nothing is rounded where the
 * blocks of the result are whole blocks of q; elsewhere it is Burn's way: q becomes floats, they are moved, and
 * quantized again by the range of the result (min-max) under q's scheme. Then an element is off by up to half a step
 * more, and the blocks must divide the new shape, else it is an error.
 *
 * Parts, flattened, squeezed and split tensors are slices and reshapes. All other ops want floats, from
 * burn_dequantize, and return them, as in Burn by default (Inhibit): arithmetic, functions, sums and means,
 * comparisons, masks, writing by index. So do argmax, argmin, argsort, argtopk, any and all, whose results are
 * positions and truths. */

/* Blocks stay whole where the axes that have them keep their sizes, or where blocks lie along the last axis and divide
 * the new one. */
BURN_API BURN_USE_RESULT BurnQuantTensor burn_quant_reshape(BurnQuantTensor q, BurnShape shape);
/* Blocks stay whole. */
BURN_API BURN_USE_RESULT BurnQuantTensor burn_quant_expand(BurnQuantTensor q, BurnShape shape);
/* Blocks stay whole and move along: q.scheme says how they lie then. One of more than BURN_QUANT_BLOCK_RANK axes is an
 * error. */
BURN_API BURN_USE_RESULT BurnQuantTensor burn_quant_permute(BurnQuantTensor q, const int *axes);
BURN_API BURN_USE_RESULT BurnQuantTensor burn_quant_swap_dims(BurnQuantTensor q, int dim1, int dim2);
BURN_API BURN_USE_RESULT BurnQuantTensor burn_quant_transpose(BurnQuantTensor q);
/* Blocks stay whole. */
BURN_API BURN_USE_RESULT BurnQuantTensor burn_quant_flip(BurnQuantTensor q, const int *dims, uint32_t count);
/* Blocks stay whole where they are 1 wide, and where a range with step 1 starts and ends between them. */
BURN_API BURN_USE_RESULT BurnQuantTensor burn_quant_slice(BurnQuantTensor q, const BurnRange *ranges, uint32_t count);
/* Blocks stay whole. */
BURN_API BURN_USE_RESULT BurnQuantTensor burn_quant_repeat_dim(BurnQuantTensor q, int dim, int64_t times);
/* Blocks stay whole where they are 1 wide along dim. Takes the indices too. */
BURN_API BURN_USE_RESULT BURN_TAKES(3) BurnQuantTensor
    burn_quant_select(BurnQuantTensor q, int dim, BurnTensor *indices);
/* Blocks are quantized again. Takes the indices too. */
BURN_API BURN_USE_RESULT BURN_TAKES(3) BurnQuantTensor
    burn_quant_gather(BurnQuantTensor q, int dim, BurnTensor *indices);
/* Joins `count` tensors, all taken. Blocks of one scheme without a second level stay whole. Others, and tensors with
 * one scale each, are quantized again, under the scheme of the first. */
BURN_API BURN_USE_RESULT BurnQuantTensor burn_quant_cat(const BurnQuantTensor *tensors, size_t count, int dim);
/* Elements of q, gathered from where they are found among its floats: the k largest, all in order, the largest,
 * smallest and farthest from 0. Their positions go to *indices (the caller's) unless that is NULL. (Burn quantizes
 * again in topk and sort; here the elements stay what they are.) */
BURN_API BURN_USE_RESULT BurnQuantTensor burn_quant_topk(BurnQuantTensor q, int64_t k, int dim, BurnTensor **indices);
BURN_API BURN_USE_RESULT BurnQuantTensor burn_quant_sort(BurnQuantTensor q, int dim, bool descending,
                                                         BurnTensor **indices);
BURN_API BURN_USE_RESULT BurnQuantTensor burn_quant_max_dim(BurnQuantTensor q, int dim, BurnTensor **indices);
BURN_API BURN_USE_RESULT BurnQuantTensor burn_quant_min_dim(BurnQuantTensor q, int dim, BurnTensor **indices);
BURN_API BURN_USE_RESULT BurnQuantTensor burn_quant_max_abs_dim(BurnQuantTensor q, int dim, BurnTensor **indices);
/* |x|, quantized again: -128 has no counterpart. */
BURN_API BURN_USE_RESULT BurnQuantTensor burn_quant_abs(BurnQuantTensor q);

/* -- lifetime --------------------------------------------------------------------------------- */

/* A second handle to the same values and scales, as burn_clone. */
BURN_API BURN_USE_RESULT BurnQuantTensor burn_quant_clone(const BurnQuantTensor *q);
/* Lets all tensors of q go. */
BURN_API void burn_quant_drop(BurnQuantTensor q);
BURN_API BURN_USE_RESULT BurnStatus burn_quant_status(const BurnQuantTensor *q); /* BURN_OK or why it failed */

/* -- bytes: Burn's layout ---------------------------------------------------------------------- */

/* Values in row-major order, 8, 4 or 2 bits each, the first in the lowest bits of little-endian 32-bit words (for 8
 * bits: one byte per value), filled up to a whole word; then the scales; then, with two levels, the global scale, 4
 * bytes at the very end. Scales start, and a global scale starts, at a multiple of 4. */

/* Number of those bytes for a shape; 0 if the scheme does not fit the shape. */
BURN_API size_t burn_quant_bytes(BurnShape shape, BurnQuantScheme scheme);
/* Writes them to `data`, which has exactly `bytes` of them: INVALID_ARGUMENT if that is another number or q lacks what
 * its scheme has, and q's own failure. Takes q. */
BURN_API BURN_USE_RESULT BurnStatus burn_quant_export(BurnQuantTensor q, void *data, size_t bytes);
/* A new quantized tensor of such bytes, which are copied; a failed one if their number is wrong. Takes nothing. */
BURN_API BURN_USE_RESULT BurnQuantTensor burn_quant_import(BurnDevice *device, const void *data, size_t bytes,
                                                           BurnShape shape, BurnQuantScheme scheme);

BURN_EXTERN_C_END

#endif
