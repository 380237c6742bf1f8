/* onnx_numbers.c - ONNX operators of signals, matrices, random numbers and small integers. */
#include "onnx_narrow.h"

#include <math.h>
#include <stdlib.h>

/* -- signals and matrices --------------------------------------------------------------------- */

/* Complex numbers are a last axis of two; of one, if real. The inverse is the conjugate of the transform of the
 * conjugate. */
MAP(DFT) {
  BurnTensor *x = onnx_input(node, 0), *imaginary = NULL, *bins = NULL;
  const uint32_t rank = burn_rank(x);
  const int64_t given =
      onnx_has_input(node, 2) ? onnx_input_int(node, 2, -2) : onnx_int(node, "axis", node->opset < 20 ? 1 : -2);
  const int axis = onnx_axis(node, "axis", given, rank);
  const bool inverse = onnx_int(node, "inverse", 0), onesided = onnx_int(node, "onesided", 0),
             complex = burn_dim(x, -1) == 2;
  const int64_t n = onnx_input_int(node, 1, 0);
  BurnTensor *real = burn_select_dim(burn_clone(x), -1, 0);
  if (complex) imaginary = burn_select_dim(x, -1, 1);
  if (!complex) imaginary = burn_zeros_like(burn_select_dim(x, -1, 0));
  if (inverse && onesided) {
    onnx_give(node, 0, burn_unsqueeze_dim(burn_irfft(real, imaginary, axis, n), -1));
    return;
  }
  if (onesided) {
    burn_drop(imaginary);
    real = burn_rfft(real, axis, n, &bins);
  } else {
    real = burn_cfft(real, inverse ? burn_neg(imaginary) : imaginary, axis, n, &bins);
  }
  if (inverse) {
    const double length = (double)burn_dim(real, axis);
    real = burn_div_scalar(real, length);
    bins = burn_div_scalar(bins, -length);
  }
  BurnTensor *both[] = {real, bins};
  onnx_give(node, 0, burn_stack(both, 2, -1));
}

MAP(STFT) {
  BurnTensor *x = onnx_input(node, 0), *window = onnx_input(node, 2);
  if (burn_rank(x) == 3) x = burn_select_dim(x, -1, 0);
  if (onnx_input_rank(node, 0) == 3 && onnx_input_dim(node, 0, 2) == 2)
    onnx_not_mapped(node, "stft of complex signals");
  const int64_t length = onnx_input_int(node, 3, window ? burn_dim(window, 0) : 0);
  BurnStftOptions options = BURN_STFT_OPTIONS(length);
  options.hop_length = onnx_input_int(node, 1, 1);
  options.center = false;
  options.onesided = onnx_int(node, "onesided", 1);
  onnx_give(node, 0, burn_stft(x, window, options));
}

static void window(OnnxNode *node, BurnTensor *(*apply)(BurnDevice *, int64_t, bool, BurnDType)) {
  const BurnDType dtype = onnx_dtype(onnx_int(node, "output_datatype", 1));
  onnx_give(node, 0, apply(node->device, onnx_input_int(node, 0, 0), onnx_int(node, "periodic", 1), dtype));
}
MAP(BlackmanWindow) { window(node, burn_blackman_window); }
MAP(HammingWindow) { window(node, burn_hamming_window); }
MAP(HannWindow) { window(node, burn_hann_window); }

enum { MAX_BINS = 1 << 20 };

/* The bin at edge `i` of `bins` + 2 that lie equally far apart on the mel scale, where 2595 log10(1 + f / 700) is the
 * height of f Hertz. */
static int64_t mel_edge(double low, double high, int64_t bins, int64_t i, int64_t length, double rate) {
  const double from = 2595 * log10(1 + low / 700), to = 2595 * log10(1 + high / 700);
  const double mel = from + (to - from) / (double)(bins + 2) * (double)i;
  return (int64_t)floor((double)(length + 1) * 700 * (pow(10, mel / 2595) - 1) / rate);
}

/* Column `bin` of [rows, bins]: a triangle from `low` up to 1 at `centre` and down to `high`. */
static void mel_triangle(float *matrix, int64_t rows, int64_t bins, int64_t bin, const int64_t edges[3]) {
  const int64_t low = edges[0], centre = edges[1], high = edges[2];
  for (int64_t j = low < 0 ? 0 : low; j <= high && j < rows; j++) {
    const double up = low == centre ? 1 : (double)(j - low) / (double)(centre - low);
    const double down = high == centre ? 0 : (double)(high - j) / (double)(high - centre);
    matrix[j * bins + bin] = (float)(j <= centre ? up : down);
  }
}

/* Its inputs are numbers, and its shape is two of them: made on the host. */
MAP(MelWeightMatrix) {
  const int64_t bins = onnx_input_int(node, 0, 0), length = onnx_input_int(node, 1, 0), rows = length / 2 + 1;
  const double rate = onnx_input_number(node, 2, 1);
  const double low = onnx_input_number(node, 3, 0), high = onnx_input_number(node, 4, 0);
  if (bins < 1 || length < 1 || bins > MAX_BINS || length > INT32_MAX) {
    onnx_not_mapped(node, "%lld bins of a transform of length %lld", (long long)bins, (long long)length);
    return;
  }
  if (!(low >= 0 && low <= INT32_MAX && high >= 0 && high <= INT32_MAX && rate >= 1)) { /* else bins overflow */
    onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "bins from %g to %g Hertz of %g a second", low, high,
                                     rate));
    return;
  }
  float *matrix = calloc((size_t)(rows * bins), sizeof *matrix);
  for (int64_t i = 0; matrix && i < bins; i++) {
    int64_t edges[3];
    for (int64_t k = 0; k < 3; k++) edges[k] = mel_edge(low, high, bins, i + k, length, rate);
    mel_triangle(matrix, rows, bins, i, edges);
  }
  BurnTensor *x = matrix ? burn_tensor_f32(node->device, matrix, BURN_SHAPE(rows, bins))
                         : burn_tensor_failed(burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "a mel matrix"));
  free(matrix);
  onnx_give(node, 0, burn_cast(x, onnx_dtype(onnx_int(node, "output_datatype", 1))));
}

MAP(Det) {
  BurnTensor *x = onnx_input(node, 0);
  onnx_give(node, 0, burn_det(burn_rank(x) == 2 ? burn_unsqueeze_dim(x, 0) : x));
}

/* The inputs are the probabilities of 1. */
MAP(Bernoulli) {
  BurnTensor *x = onnx_input(node, 0);
  const BurnDType dtype = onnx_attribute(node, "dtype") ? onnx_dtype(onnx_int(node, "dtype", 0)) : burn_dtype(x);
  BurnTensor *drawn = burn_random_uniform_like(burn_clone(x), 0, 1);
  onnx_give(node, 0, burn_cast(burn_lower(drawn, x), dtype));
}

/* What a random tensor is of: the attribute, or what the given dtype is. */
static BurnDType random_dtype(const OnnxNode *node, BurnDType otherwise) {
  const int64_t type = onnx_int(node, "dtype", 0);
  return type ? onnx_dtype(type) : otherwise;
}

/* The seed is that of the device (burn_device_seed), so the numbers are not those of other runtimes. */
static void give_random(OnnxNode *node, BurnShape shape, BurnDType dtype, bool normal) {
  const double low = onnx_float(node, normal ? "mean" : "low", 0),
               high = onnx_float(node, normal ? "scale" : "high", 1);
  onnx_give_rank(node, 0,
                 normal ? burn_random_normal(node->device, shape, dtype, low, high)
                        : burn_random_uniform(node->device, shape, dtype, low, high),
                 ONNX_RANK_OF_INPUTS);
}
static BurnShape listed_shape(OnnxNode *node) {
  int64_t dims[ONNX_INTS];
  const size_t count = onnx_ints(node, "shape", dims);
  return onnx_shape(dims, count < BURN_MAX_RANK ? count : BURN_MAX_RANK);
}
MAP(RandomUniform) { give_random(node, listed_shape(node), random_dtype(node, BURN_DTYPE_F32), false); }
MAP(RandomNormal) { give_random(node, listed_shape(node), random_dtype(node, BURN_DTYPE_F32), true); }
MAP(RandomUniformLike) {
  const BurnTensor *x = node->inputs[0];
  give_random(node, burn_shape(x), random_dtype(node, burn_dtype(x)), false);
}
MAP(RandomNormalLike) {
  const BurnTensor *x = node->inputs[0];
  give_random(node, burn_shape(x), random_dtype(node, burn_dtype(x)), true);
}

MAP(Binarizer) {
  BurnTensor *x = onnx_input(node, 0);
  const BurnDType dtype = burn_dtype(x);
  onnx_give(node, 0, burn_cast(burn_greater_scalar(x, onnx_float(node, "threshold", 0)), dtype));
}

/* -- small integers: value = (q - zero point) * scale ----------------------------------------- */

/* Blocks become an axis of their own, which no tensor of the largest rank has room for; they cover x. */
static bool check_blocks(OnnxNode *node, BurnShape shape, int axis, int64_t block) {
  const uint32_t rank = onnx_input_rank(node, 0);
  const int64_t size = onnx_input_dim(node, 0, axis);
  const bool fits = shape.rank == rank && rank < BURN_MAX_RANK;
  if (fits && block >= 1 && block <= size && size % block == 0 && shape.dims[axis] == size / block) return true;
  onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "blocks of %lld on axis %d of %s, for numbers %s",
                                   (long long)block, axis, burn_shape_text(burn_shape(node->inputs[0])).text,
                                   burn_shape_text(shape).text));
  return false;
}

/* One number for all, one per entry of an axis, or one per block of it: as an operand for x, in float. */
static BurnTensor *for_each(OnnxNode *node, size_t i, BurnDType dtype) {
  BurnTensor *x = burn_cast(onnx_input(node, i), dtype);
  const uint32_t rank = onnx_input_rank(node, 0);
  const int64_t block = onnx_int(node, "block_size", 0);
  if (burn_element_count(x) == 1) return onnx_to_rank(burn_reshape(x, BURN_SHAPE(1)), rank);
  const int axis = onnx_axis(node, "axis", onnx_int(node, "axis", 1), rank);
  if (block == 0) {
    int64_t dims[BURN_MAX_RANK];
    for (uint32_t k = 0; k < rank; k++) dims[k] = (int)k == axis ? -1 : 1;
    return onnx_reshape(x, dims, rank);
  }
  BurnShape shape = burn_shape(x), split = {rank + 1, {0}};
  if (!check_blocks(node, shape, axis, block)) return x;
  for (uint32_t k = 0; k <= rank; k++) split.dims[k] = (int)k <= axis ? shape.dims[k] : shape.dims[k - 1];
  split.dims[axis + 1] = block;
  shape.dims[axis] *= block;
  return burn_reshape(burn_expand(burn_unsqueeze_dim(x, axis + 1), split), shape);
}

MAP(DequantizeLinear) {
  const BurnDType dtype = burn_dtype(node->inputs[1]);
  BurnTensor *x = burn_cast(onnx_input(node, 0), dtype);
  if (onnx_has_input(node, 2)) x = burn_sub(x, for_each(node, 2, dtype));
  onnx_give(node, 0, burn_mul(x, for_each(node, 1, dtype)));
}

/* Halves to even; what does not fit becomes the nearest that does. Floats are rounded by the cast. */
MAP(QuantizeLinear) {
  BurnTensor *x = onnx_input(node, 0);
  const int64_t given = onnx_int(node, "output_dtype", 0), precise = onnx_int(node, "precision", 0);
  const int64_t type = given ? given : onnx_has_input(node, 2) ? onnx_input_type(node, 2) : ONNX_UINT8;
  const BurnDType dtype = precise ? onnx_dtype(precise) : burn_dtype(node->inputs[1]);
  const bool floats = burn_dtype_kind(onnx_narrow_dtype(type)) == BURN_KIND_FLOAT;
  if (onnx_narrow_dtype(type) == BURN_DTYPE_DEFAULT) {
    onnx_not_mapped(node, "there is no dtype %s here", onnx_dtype_name(type));
    burn_drop(x);
    return;
  }
  x = burn_div(burn_cast(x, dtype), for_each(node, 1, dtype));
  if (!floats) x = burn_round(x);
  if (onnx_has_input(node, 2)) x = burn_add(x, for_each(node, 2, dtype));
  onnx_give_type(node, 0, onnx_quantize_to(x, type, onnx_int(node, "saturate", 1)), type);
}

/* The range of x and 0 in 255 steps. */
MAP(DynamicQuantizeLinear) {
  BurnTensor *x = onnx_input(node, 0);
  BurnTensor *low = burn_clamp_max(burn_min(burn_clone(x)), 0), *high = burn_clamp_min(burn_max(burn_clone(x)), 0);
  BurnTensor *scale = burn_div_scalar(burn_sub(high, burn_clone(low)), 255);
  BurnTensor *zero = burn_round(burn_clamp(burn_neg(burn_div(low, burn_clone(scale))), 0, 255));
  x = burn_round(onnx_broadcast(burn_div, x, burn_clone(scale)));
  x = onnx_broadcast(burn_add, x, burn_clone(zero));
  onnx_give(node, 0, burn_cast(x, BURN_DTYPE_U8));
  onnx_give(node, 1, scale);
  onnx_give(node, 2, burn_cast(zero, BURN_DTYPE_U8));
}
