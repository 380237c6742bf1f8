/* onnx_layers.c - ONNX operators of layers: products, convolution, pooling. Margins may differ at both ends in ONNX. */
#include "onnx_node.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SPATIAL = 3 };

/* -- products --------------------------------------------------------------------------------- */

/* As NumPy: vectors become matrices and their axis is dropped afterwards; leading axes broadcast. */
static BurnTensor *product(BurnTensor *lhs, BurnTensor *rhs) {
  const bool row = burn_rank(lhs) == 1, column = burn_rank(rhs) == 1;
  if (row) lhs = burn_unsqueeze_dim(lhs, 0);
  if (column) rhs = burn_unsqueeze_dim(rhs, 1);
  BurnTensor *x = onnx_broadcast(burn_matmul, lhs, rhs);
  if (column && burn_rank(x) > 1) x = burn_squeeze_dim(x, -1);
  return row && burn_rank(x) > 1 ? burn_squeeze_dim(x, column ? -1 : -2) : x;
}
/* With a bias that onnx_pass_linear has put there. */
MAP(MatMul) {
  if (node->prepared) {
    onnx_give(node, 0, burn_linear(onnx_input(node, 0), onnx_input(node, 1), onnx_input(node, 2)));
  } else {
    onnx_give(node, 0, product(onnx_input(node, 0), onnx_input(node, 1)));
  }
}

MAP(Gemm) {
  BurnTensor *a = onnx_input(node, 0), *b = onnx_input(node, 1), *c = onnx_input(node, 2);
  if (onnx_int(node, "transA", 0)) a = burn_transpose(a);
  if (onnx_int(node, "transB", 0)) b = burn_transpose(b);
  const double alpha = onnx_float(node, "alpha", 1), beta = onnx_float(node, "beta", 1);
  BurnTensor *x = burn_matmul(a, b);
  if (alpha != 1) x = burn_mul_scalar(x, alpha);
  if (c && beta != 1) c = burn_mul_scalar(c, beta);
  if (c) x = onnx_broadcast(burn_add, x, c);
  onnx_give(node, 0, x);
}

/* Zero points are one number, or one per column of a matrix, per row of it, or per output channel of a weight. */
typedef enum ZeroPoints { BY_COLUMN, BY_ROW, BY_CHANNEL } ZeroPoints;
static BurnTensor *centred(OnnxNode *node, size_t i, size_t zero_point, ZeroPoints by) {
  BurnTensor *x = burn_cast(onnx_input(node, i), BURN_DTYPE_I32);
  if (!onnx_has_input(node, zero_point)) return x;
  BurnTensor *zero = burn_cast(onnx_input(node, zero_point), BURN_DTYPE_I32);
  const bool several = burn_element_count(zero) > 1;
  if (several && by == BY_ROW) zero = burn_unsqueeze_dim(zero, -1);
  if (several && by == BY_CHANNEL) zero = onnx_reshape(zero, (int64_t[]){-1, 1, 1, 1, 1}, burn_rank(x));
  return onnx_broadcast(burn_sub, x, zero);
}
MAP(MatMulInteger) { onnx_give(node, 0, product(centred(node, 0, 2, BY_ROW), centred(node, 1, 3, BY_COLUMN))); }

/* -- windows ---------------------------------------------------------------------------------- */

typedef struct Window {
  size_t rank; /* spatial axes */
  int64_t in[SPATIAL], kernel[SPATIAL], stride[SPATIAL], dilation[SPATIAL], before[SPATIAL], after[SPATIAL];
} Window;

/* SAME: ceil(in / stride) results; an odd margin is larger at the end (UPPER) or the start. */
static void same(Window *w, size_t i, bool upper) {
  const int64_t out = (w->in[i] + w->stride[i] - 1) / w->stride[i];
  const int64_t wanted = (out - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1 - w->in[i];
  const int64_t total = wanted > 0 ? wanted : 0;
  w->before[i] = upper ? total / 2 : total - total / 2;
  w->after[i] = total - w->before[i];
}

/* Attribute `name`: a number for each of `count` axes, `otherwise` (NULL: 1, or 0 for margins) where it is absent. They
 * can be multiplied and added without a look. False: the node has failed. */
static bool read_sizes(OnnxNode *node, const char *name, size_t count, const int64_t *otherwise, int64_t least,
                       int64_t *sizes) {
  int64_t given[ONNX_INTS];
  const size_t found = onnx_ints(node, name, given);
  if (found > 0 && !onnx_counts_are(node, name, found, count)) return false;
  for (size_t i = 0; i < count; i++) {
    sizes[i] = found > 0 ? given[i] : otherwise ? otherwise[i] : least < 0 ? 0 : 1;
    if (sizes[i] >= least && sizes[i] <= INT32_MAX) continue;
    onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: %lld on axis %zu; %lld to 2^31 - 1 expected",
                                     name, (long long)sizes[i], i, (long long)least));
    return false;
  }
  return true;
}

/* From the attributes; sizes of the kernel from the weight where the attribute is absent. False: the node has
 * failed. */
static bool window_of(OnnxNode *node, size_t weight, Window *w) {
  int64_t pads[2 * SPATIAL], weights[SPATIAL];
  const uint32_t rank = onnx_input_rank(node, 0);
  *w = (Window){.rank = rank - 2};
  if (rank < 3 || rank > 2 + SPATIAL || (weight > 0 && onnx_input_rank(node, weight) != rank)) {
    onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_SHAPE,
                                     "windows over %s; 1 to 3 axes after batch and channels expected",
                                     burn_shape_text(burn_shape(node->inputs[0])).text));
    return false;
  }
  for (size_t i = 0; i < w->rank; i++) weights[i] = onnx_input_dim(node, weight, (int)i + 2);
  if (!read_sizes(node, "kernel_shape", w->rank, weights, 1, w->kernel) ||
      !read_sizes(node, "strides", w->rank, NULL, 1, w->stride) ||
      !read_sizes(node, "dilations", w->rank, NULL, 1, w->dilation) ||
      !read_sizes(node, "pads", 2 * w->rank, NULL, INT32_MIN, pads)) {
    return false;
  }
  const bool upper = onnx_is(node, "auto_pad", "NOTSET", "SAME_UPPER"),
             lower = onnx_is(node, "auto_pad", "NOTSET", "SAME_LOWER");
  for (size_t i = 0; i < w->rank; i++) {
    w->in[i] = onnx_input_dim(node, 0, (int)i + 2);
    w->before[i] = pads[i];
    w->after[i] = pads[i + w->rank];
    if (upper || lower) same(w, i, upper);
  }
  return true;
}

static bool symmetric(const Window *w) { return memcmp(w->before, w->after, sizeof w->before) == 0; }

/* -- convolution ------------------------------------------------------------------------------ */

/* Margins that differ are added first. */
static BurnTensor *convolve(BurnTensor *x, BurnTensor *weight, BurnTensor *bias, Window w, int64_t groups) {
  if (!symmetric(&w)) {
    x = onnx_pad(x, w.before, w.after, (uint32_t)w.rank, BURN_PAD_CONSTANT, 0);
    memset(w.before, 0, sizeof w.before);
  }
  if (w.rank == 1) {
    return burn_conv1d(x, weight, bias,
                       (BurnConv1dOptions){w.stride[0], w.before[0], w.dilation[0], groups, 0, false, 0});
  }
  if (w.rank == 2) {
    BurnConv2dOptions options = BURN_CONV2D_OPTIONS;
    options.groups = groups;
    memcpy(options.stride, w.stride, sizeof options.stride);
    memcpy(options.padding, w.before, sizeof options.padding);
    memcpy(options.dilation, w.dilation, sizeof options.dilation);
    return burn_conv2d(x, weight, bias, options);
  }
  BurnConv3dOptions options = BURN_CONV3D_OPTIONS;
  options.groups = groups;
  memcpy(options.stride, w.stride, sizeof options.stride);
  memcpy(options.padding, w.before, sizeof options.padding);
  memcpy(options.dilation, w.dilation, sizeof options.dilation);
  return burn_conv3d(x, weight, bias, options);
}

/* Where a convolution along one axis has so few results that its kernel would work on parts of vectors. */
enum { FEW = 4 };

/* Within what can be added without a look. */
static bool is_size(int64_t value, int64_t least) { return value >= least && value <= INT32_MAX; }

static bool is_few(const OnnxNode *node, const Window *w) {
  if (w->rank != 1 || w->dilation[0] != 1 || onnx_int(node, "group", 1) != 1 || onnx_input_rank(node, 1) != 3)
    return false;
  if (!is_size(w->in[0], 0) || !is_size(w->before[0], 0) || !is_size(w->after[0], 0) || !is_size(w->kernel[0], 1) ||
      !is_size(w->stride[0], 1) || onnx_input_dim(node, 1, 1) != onnx_input_dim(node, 0, 1)) {
    return false;
  }
  const int64_t room = w->in[0] + w->before[0] + w->after[0] - w->kernel[0];
  return room >= 0 && room / w->stride[0] < FEW && onnx_input_dim(node, 1, 2) == w->kernel[0];
}

/* Its windows as rows of one product: [n, results, channels * kernel] by [channels * kernel, outputs]. */
static BurnTensor *convolve_rows(OnnxNode *node, const Window *w) {
  BurnTensor *x = onnx_pad(onnx_input(node, 0), w->before, w->after, 1, BURN_PAD_CONSTANT, 0),
             *weight = onnx_input(node, 1);
  const int64_t n = burn_dim(x, 0), outputs = burn_dim(weight, 0), size = burn_dim(weight, 1) * w->kernel[0];
  const int64_t results = (burn_dim(x, 2) - w->kernel[0]) / w->stride[0] + 1;
  if (burn_dim(x, 2) != w->kernel[0]) x = burn_swap_dims(burn_unfold(x, 2, w->kernel[0], w->stride[0]), 1, 2);
  x = burn_reshape(x, BURN_SHAPE(n, results, size));
  weight = burn_transpose(burn_reshape(weight, BURN_SHAPE(outputs, size)));
  x = burn_linear(x, weight, onnx_input(node, 2));
  return results == 1 ? burn_reshape(x, BURN_SHAPE(n, outputs, 1)) : burn_swap_dims(x, 1, 2);
}

MAP(Conv) {
  Window w;
  if (!window_of(node, 1, &w)) return;
  if (is_few(node, &w)) {
    onnx_give(node, 0, convolve_rows(node, &w));
    return;
  }
  onnx_give(node, 0,
            convolve(onnx_input(node, 0), onnx_input(node, 1), onnx_input(node, 2), w, onnx_int(node, "group", 1)));
}

/* Small integers are exact in f32, where our convolutions live. */
MAP(ConvInteger) {
  Window w;
  if (!window_of(node, 1, &w)) return;
  BurnTensor *x = burn_cast(centred(node, 0, 2, BY_CHANNEL), BURN_DTYPE_F32);
  BurnTensor *weight = burn_cast(centred(node, 1, 3, BY_CHANNEL), BURN_DTYPE_F32);
  x = convolve(x, weight, NULL, w, onnx_int(node, "group", 1));
  onnx_give(node, 0, burn_cast(x, BURN_DTYPE_I32));
}

/* The whole result with what padding_out adds, of which margins are cut off afterwards. */
static BurnTensor *transposed(OnnxNode *node, const Window *w, const int64_t *more) {
  BurnTensor *x = onnx_input(node, 0), *weight = onnx_input(node, 1), *bias = onnx_input(node, 2);
  const int64_t groups = onnx_int(node, "group", 1);
  if (w->rank == 1) {
    return burn_conv_transpose1d(x, weight, bias,
                                 (BurnConv1dOptions){w->stride[0], 0, w->dilation[0], groups, more[0], false, 0});
  }
  if (w->rank == 2) {
    BurnConv2dOptions options = BURN_CONV2D_OPTIONS;
    options.groups = groups;
    memcpy(options.stride, w->stride, sizeof options.stride);
    memcpy(options.dilation, w->dilation, sizeof options.dilation);
    memcpy(options.padding_out, more, sizeof options.padding_out);
    return burn_conv_transpose2d(x, weight, bias, options);
  }
  BurnConv3dOptions options = BURN_CONV3D_OPTIONS;
  options.groups = groups;
  memcpy(options.stride, w->stride, sizeof options.stride);
  memcpy(options.dilation, w->dilation, sizeof options.dilation);
  memcpy(options.padding_out, more, sizeof options.padding_out);
  return burn_conv_transpose3d(x, weight, bias, options);
}

MAP(ConvTranspose) {
  Window w;
  int64_t wanted[SPATIAL] = {0}, more[SPATIAL] = {0}, less_before[SPATIAL] = {0}, less_after[SPATIAL] = {0};
  if (!window_of(node, 1, &w)) return;
  if (!read_sizes(node, "output_padding", w.rank, more, 0, more)) return;
  const bool upper = onnx_is(node, "auto_pad", "NOTSET", "SAME_UPPER");
  const bool is_same = upper || onnx_is(node, "auto_pad", "NOTSET", "SAME_LOWER");
  const bool shaped = onnx_attribute(node, "output_shape");
  if (shaped && !read_sizes(node, "output_shape", w.rank, wanted, 0, wanted)) return;
  for (size_t i = 0; i < w.rank; i++) {
    const int64_t full = (w.in[i] - 1) * w.stride[i] + (w.kernel[i] - 1) * w.dilation[i] + 1 + more[i];
    if (is_same && !shaped) wanted[i] = w.in[i] * w.stride[i];
    if (is_same || shaped) {
      const int64_t total = full - wanted[i] > 0 ? full - wanted[i] : 0;
      more[i] += full < wanted[i] ? wanted[i] - full : 0;
      w.before[i] = upper ? total / 2 : total - total / 2;
      w.after[i] = total - w.before[i];
    }
    less_before[i] = -w.before[i];
    less_after[i] = -w.after[i];
  }
  BurnTensor *x = transposed(node, &w, more);
  onnx_give(node, 0, onnx_pad(x, less_before, less_after, (uint32_t)w.rank, BURN_PAD_CONSTANT, 0));
}

MAP(DeformConv) {
  Window w;
  if (!window_of(node, 1, &w)) return;
  BurnDeformConv2dOptions options = BURN_DEFORM_CONV2D_OPTIONS;
  BurnTensor *x = onnx_input(node, 0);
  if (!symmetric(&w)) {
    x = onnx_pad(x, w.before, w.after, 2, BURN_PAD_CONSTANT, 0);
  } else {
    memcpy(options.padding, w.before, sizeof options.padding);
  }
  memcpy(options.stride, w.stride, sizeof options.stride);
  memcpy(options.dilation, w.dilation, sizeof options.dilation);
  options.weight_groups = onnx_int(node, "group", 1);
  options.offset_groups = onnx_int(node, "offset_group", 1);
  onnx_give(node, 0,
            burn_deform_conv2d(x, onnx_input(node, 2), onnx_input(node, 1), onnx_input(node, 4), onnx_input(node, 3),
                               options));
}

/* A convolution of each channel that sees only earlier samples; those before the first come from a state. */
MAP(CausalConvWithState) {
  BurnTensor *x = onnx_input(node, 0), *weight = onnx_input(node, 1);
  const int64_t channels = burn_dim(x, 1), state = burn_dim(weight, 2) - 1, none = 0;
  if (onnx_has_input(node, 3)) {
    BurnTensor *both[] = {onnx_input(node, 3), x};
    x = burn_cat(both, 2, 2);
  } else {
    x = onnx_pad(x, &state, &none, 1, BURN_PAD_CONSTANT, 0);
  }
  const int64_t samples = burn_dim(x, 2);
  onnx_give(node, 1, burn_slice_dim(burn_clone(x), 2, BURN_RANGE(samples - state, samples)));
  BurnConv1dOptions options = BURN_CONV1D_OPTIONS;
  options.groups = channels;
  x = burn_conv1d(x, weight, onnx_input(node, 2), options);
  const bool silu = onnx_is(node, "activation", "none", "silu") || onnx_is(node, "activation", "none", "swish");
  onnx_give(node, 0, silu ? burn_silu(x) : x);
}

MAP(Col2Im) {
  int64_t image[ONNX_INTS], block[ONNX_INTS], stride[ONNX_INTS] = {1, 1}, dilation[ONNX_INTS] = {1, 1},
                                              pads[ONNX_INTS] = {0};
  if (onnx_input_ints(node, 1, image) != 2) {
    onnx_not_mapped(node, "fold4d exists for images only, not for volumes");
    return;
  }
  if (!onnx_counts_are(node, "block_shape", onnx_input_ints(node, 2, block), 2)) return;
  if (!read_sizes(node, "strides", 2, stride, 1, stride) || !read_sizes(node, "dilations", 2, dilation, 1, dilation) ||
      !read_sizes(node, "pads", 4, pads, 0, pads)) {
    return;
  }
  if (pads[0] != pads[2] || pads[1] != pads[3]) onnx_not_mapped(node, "fold4d has equal margins at both ends");
  const BurnUnfold4dOptions options = {{stride[0], stride[1]}, {pads[0], pads[1]}, {dilation[0], dilation[1]}};
  onnx_give(node, 0, burn_fold4d(onnx_input(node, 0), image, block, options));
}

/* -- pooling ---------------------------------------------------------------------------------- */

static BurnPool2dOptions pool2d(const Window *w, bool ceil_mode, bool count) {
  BurnPool2dOptions options = {{0}, {0}, {0}, {0}, ceil_mode, count};
  memcpy(options.kernel_size, w->kernel, sizeof options.kernel_size);
  memcpy(options.stride, w->stride, sizeof options.stride);
  memcpy(options.padding, w->before, sizeof options.padding);
  memcpy(options.dilation, w->dilation, sizeof options.dilation);
  return options;
}
static BurnPool1dOptions pool1d(const Window *w, bool ceil_mode, bool count) {
  return (BurnPool1dOptions){w->kernel[0], w->stride[0], w->before[0], w->dilation[0], ceil_mode, count};
}

/* Places along the axis, or in the plane, become places in the whole tensor; storage_order 1 counts columns. */
static BurnTensor *places(OnnxNode *node, BurnTensor *x) {
  const BurnShape shape = burn_shape(x), in = burn_shape(node->inputs[0]);
  const int64_t h = in.rank == 4 ? in.dims[2] : 1, w = in.dims[in.rank - 1],
                planes[] = {shape.dims[0], shape.dims[1], 1, 1};
  if (onnx_int(node, "storage_order", 0) && in.rank == 4) {
    BurnTensor *y = burn_div_scalar(burn_clone(x), (double)w);
    x = burn_add(burn_mul_scalar(burn_remainder_scalar(x, (double)w), (double)h), y);
  }
  BurnTensor *first = burn_arange(node->device, 0, shape.dims[0] * shape.dims[1], 1);
  first = onnx_reshape(burn_mul_scalar(first, (double)(h * w)), planes, shape.rank);
  return burn_add(x, first);
}

/* Results along axis i. A last window that ceil_mode adds starts within the input or the margin before it in ONNX,
 * which ours need not. */
static int64_t results(const Window *w, size_t i, bool ceil_mode) {
  const int64_t all = w->in[i] + w->before[i] + w->after[i], reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
  const int64_t more = ceil_mode ? w->stride[i] - 1 : 0, count = (all - reach + more) / w->stride[i] + 1;
  return ceil_mode && (count - 1) * w->stride[i] >= w->in[i] + w->before[i] ? count - 1 : count;
}

/* Without the windows that ONNX does not have. */
static BurnTensor *trimmed(BurnTensor *x, const Window *w, bool ceil_mode) {
  for (size_t i = 0; i < w->rank; i++) {
    const int64_t wanted = results(w, i, ceil_mode);
    if (burn_dim(x, (int)i + 2) > wanted) x = burn_slice_dim(x, (int)i + 2, BURN_RANGE(0, wanted));
  }
  return x;
}

/* The largest of a volume is the largest along the depth of what is largest in each plane. */
static BurnTensor *max_of_volume(BurnTensor *x, const Window *w, bool ceil_mode) {
  const BurnShape s = burn_shape(x);
  const Window plane = {2,
                        {w->in[1], w->in[2]},
                        {w->kernel[1], w->kernel[2]},
                        {w->stride[1], w->stride[2]},
                        {w->dilation[1], w->dilation[2]},
                        {w->before[1], w->before[2]},
                        {w->after[1], w->after[2]}};
  const Window depth = {
      2, {w->in[0], 1}, {w->kernel[0], 1}, {w->stride[0], 1}, {w->dilation[0], 1}, {w->before[0], 0}, {w->after[0], 0}};
  x = burn_reshape(x, BURN_SHAPE(s.dims[0], s.dims[1] * s.dims[2], s.dims[3], s.dims[4]));
  x = burn_max_pool2d(x, pool2d(&plane, ceil_mode, true));
  const int64_t h = burn_dim(x, 2), width = burn_dim(x, 3);
  x = burn_reshape(x, BURN_SHAPE(s.dims[0], s.dims[1], s.dims[2], h * width));
  x = burn_max_pool2d(x, pool2d(&depth, ceil_mode, true));
  return burn_reshape(x, BURN_SHAPE(s.dims[0], s.dims[1], burn_dim(x, 2), h, width));
}

static BurnTensor *largest(BurnTensor *x, const Window *w, bool ceil_mode) {
  if (w->rank == 3) return max_of_volume(x, w, ceil_mode);
  return w->rank == 1 ? burn_max_pool1d(x, pool1d(w, ceil_mode, true)) : burn_max_pool2d(x, pool2d(w, ceil_mode, true));
}

/* Ours are float ops with equal margins: others are -infinity before; integers are exact in f32. */
MAP(MaxPool) {
  Window given;
  if (!window_of(node, 0, &given)) return;
  Window w = given;
  BurnTensor *x = onnx_input(node, 0), *indices = NULL;
  const BurnDType dtype = burn_dtype(x);
  const bool ceil_mode = onnx_int(node, "ceil_mode", 0), cast = burn_dtype_kind(dtype) != BURN_KIND_FLOAT;
  const bool placed = onnx_wants_output(node, 1);
  if (placed && w.rank > 2) onnx_not_mapped(node, "indices of volumes");
  if (placed && !symmetric(&w)) onnx_not_mapped(node, "indices with margins that differ");
  if (cast) x = burn_cast(x, BURN_DTYPE_F32);
  if (!node->reason[0] && !symmetric(&w)) {
    x = onnx_pad(x, w.before, w.after, (uint32_t)w.rank, BURN_PAD_CONSTANT, -(double)INFINITY);
    memset(w.before, 0, sizeof w.before);
  }
  if (!node->reason[0] && placed) {
    x = w.rank == 1 ? burn_max_pool1d_with_indices(x, pool1d(&w, ceil_mode, true), &indices)
                    : burn_max_pool2d_with_indices(x, pool2d(&w, ceil_mode, true), &indices);
    onnx_give(node, 1, places(node, trimmed(indices, &given, ceil_mode)));
  } else if (!node->reason[0]) {
    x = largest(x, &w, ceil_mode);
  }
  if (!node->reason[0]) x = trimmed(x, &given, ceil_mode);
  onnx_give(node, 0, cast ? burn_cast(x, dtype) : x);
}

static bool dilated(const Window *w) {
  for (size_t i = 0; i < w->rank; i++) {
    if (w->dilation[i] != 1) return true;
  }
  return false;
}

/* The sum of each window of any kind: a convolution with ones, of every channel by itself. */
static BurnTensor *sums(BurnTensor *x, const Window *w, bool ceil_mode) {
  BurnShape shape = burn_shape(x), kernel = {shape.rank, {1, 1}};
  Window all = *w;
  for (size_t i = 0; i < w->rank; i++) {
    if (results(w, i, ceil_mode) < 1) {
      burn_drop(x);
      return burn_tensor_failed(burn_status_make(
          BURN_STATUS_INVALID_ARGUMENT, "a window of %lld is larger than axis %zu", (long long)w->kernel[i], i));
    }
    const int64_t end = (results(w, i, ceil_mode) - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1;
    const int64_t after = end - w->in[i] - w->before[i];
    all.after[i] = after > 0 ? after : 0;
    kernel.dims[i + 2] = w->kernel[i];
  }
  BurnTensor *ones = burn_ones(burn_tensor_device(x), kernel, burn_dtype(x));
  const int64_t batch = shape.dims[0], channels = shape.dims[1];
  shape.dims[0] = batch * channels;
  shape.dims[1] = 1;
  x = trimmed(convolve(burn_reshape(x, shape), ones, NULL, all, 1), w, ceil_mode);
  shape = burn_shape(x);
  shape.dims[0] = batch;
  shape.dims[1] = channels;
  return burn_reshape(x, shape);
}

/* How many elements of window `at` along axis i count: those of the input, or also those of its margins. */
static int64_t counted(const Window *w, size_t i, int64_t at, bool margins) {
  const int64_t low = margins ? -w->before[i] : 0, high = w->in[i] + (margins ? w->after[i] : 0);
  int64_t count = 0;
  for (int64_t k = 0; k < w->kernel[i]; k++) {
    const int64_t place = at * w->stride[i] - w->before[i] + k * w->dilation[i];
    count += place >= low && place < high;
  }
  return count;
}

/* Divides by the number of elements of each window, one axis after the other. */
static BurnTensor *divided(BurnTensor *x, const Window *w, bool margins) {
  for (size_t i = 0; i < w->rank; i++) {
    const int64_t size = burn_dim(x, (int)i + 2);
    int64_t dims[BURN_MAX_RANK] = {1, 1, 1, 1, 1};
    float *counts = calloc((size_t)(size > 0 ? size : 0) + 1, sizeof *counts);
    for (int64_t k = 0; counts && k < size; k++) counts[k] = (float)counted(w, i, k, margins);
    dims[i + 2] = size;
    BurnTensor *by = counts ? burn_tensor_f32(burn_tensor_device(x), counts, onnx_shape(dims, w->rank + 2))
                            : burn_tensor_failed(burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "a pool"));
    free(counts);
    x = burn_div(x, burn_cast(by, burn_dtype(x)));
  }
  return x;
}

/* Ours has equal margins, no dilation and two axes; else sums are divided by the numbers of elements. */
MAP(AveragePool) {
  Window w;
  if (!window_of(node, 0, &w)) return;
  const bool count = onnx_int(node, "count_include_pad", 0), ceil_mode = onnx_int(node, "ceil_mode", 0);
  BurnTensor *x = onnx_input(node, 0);
  if (w.rank > 2 || !symmetric(&w) || dilated(&w) || ceil_mode) {
    onnx_give(node, 0, divided(sums(x, &w, ceil_mode), &w, count));
  } else {
    x = w.rank == 1 ? burn_avg_pool1d(x, pool1d(&w, false, count)) : burn_avg_pool2d(x, pool2d(&w, false, count));
    onnx_give(node, 0, x);
  }
}

/* (sum of |x|^p)^(1/p) */
MAP(LpPool) {
  Window w;
  if (!window_of(node, 0, &w)) return;
  const double p = (double)onnx_int(node, "p", 2);
  BurnTensor *x = burn_powf_scalar(burn_abs(onnx_input(node, 0)), p);
  onnx_give(node, 0, burn_powf_scalar(sums(x, &w, onnx_int(node, "ceil_mode", 0)), 1 / p));
}

/* -- layers of small integers: scales and zero points of both operands and of the result ------ */

/* sum * lhs scale * rhs scale / scale of the result, rounded, plus its zero point. */
static BurnTensor *requantized(OnnxNode *node, BurnTensor *sum, BurnTensor *lhs_scale, BurnTensor *rhs_scale,
                               size_t result) {
  BurnTensor *factor = onnx_broadcast(burn_mul, lhs_scale, rhs_scale);
  factor = onnx_broadcast(burn_div, factor, burn_cast(onnx_input(node, result), BURN_DTYPE_F32));
  BurnTensor *x = burn_round(onnx_broadcast(burn_mul, burn_cast(sum, BURN_DTYPE_F32), factor));
  x = onnx_broadcast(burn_add, x, burn_cast(onnx_input(node, result + 1), BURN_DTYPE_F32));
  return burn_cast(x, burn_dtype(node->inputs[result + 1]));
}
MAP(QLinearMatMul) {
  BurnTensor *sum = product(centred(node, 0, 2, BY_ROW), centred(node, 3, 5, BY_COLUMN));
  BurnTensor *lhs = burn_cast(onnx_input(node, 1), BURN_DTYPE_F32),
             *rhs = burn_cast(onnx_input(node, 4), BURN_DTYPE_F32);
  onnx_give(node, 0, requantized(node, sum, lhs, rhs, 6));
}
MAP(QLinearConv) {
  Window w;
  if (!window_of(node, 3, &w)) return;
  BurnTensor *x = burn_cast(centred(node, 0, 2, BY_CHANNEL), BURN_DTYPE_F32);
  BurnTensor *weight = burn_cast(centred(node, 3, 5, BY_CHANNEL), BURN_DTYPE_F32);
  BurnTensor *bias = onnx_has_input(node, 8) ? burn_cast(onnx_input(node, 8), BURN_DTYPE_F32) : NULL;
  x = convolve(x, weight, bias, w, onnx_int(node, "group", 1));
  BurnTensor *scale = onnx_input(node, 4); /* one, or one for every channel */
  if (burn_element_count(scale) > 1) scale = onnx_reshape(scale, (int64_t[]){-1, 1, 1, 1, 1}, burn_rank(x) - 1);
  onnx_give(node, 0, requantized(node, x, onnx_input(node, 1), scale, 6));
}
