/* ops_layers.h - tensor functions of layers: products with weights, convolution, pooling, resampling, attention,
 * recurrence, norms, losses.
 *
 * Layouts are [n, c, w], [n, c, h, w] and [n, c, d, h, w]; pairs are {height, width}, triples {depth, height, width}.
 * All are defined for float tensors of one dtype and differentiable in all of them; int and bool arguments are named as
 * such. Options are structs: start from their BURN_..._OPTIONS and change what differs. A stride of 0 is an error. As
 * everywhere (tensor.h), tensors are taken and failures travel in the result.
 *
 * Sizes: a convolution gives floor((in + padding on both sides - dilation (k - 1) - 1) / stride) + 1 along an axis; a
 * transposed one (in - 1) stride + dilation (k - 1) + 1 + padding_out - 2 padding; pools are as convolutions, with ceil
 * instead of floor under ceil_mode and, as in Burn, without PyTorch's rule that the last window must start inside the
 * input. */
#ifndef BURN_OPS_LAYERS_H
#define BURN_OPS_LAYERS_H

#include <burn/plugin/modes.h>
#include <burn/tensor.h>

BURN_EXTERN_C_BEGIN

/* -- products with weights -------------------------------------------------------------------- */

/* x [.., inputs] times weight [inputs, outputs] plus bias [outputs] (may be NULL) -> [.., outputs], for any rank. The
 * weight is not transposed, unlike PyTorch's. */
BURN_API BURN_GIVES BURN_TAKES(1, 2, 3) BurnTensor *burn_linear(BurnTensor *x, BurnTensor *weight, BurnTensor *bias);
/* weight [n, d], int indices [batch, seq] -> [batch, seq, d]. */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_embedding(BurnTensor *weight, BurnTensor *indices);

/* -- convolution ------------------------------------------------------------------------------ */

/* Options of convolutions; start from BURN_CONV2D_OPTIONS. */
typedef struct BurnConv2dOptions {
  int64_t stride[2];
  int64_t padding[2]; /* on both sides; before the first element only if asymmetric */
  int64_t dilation[2];
  int64_t groups;
  int64_t padding_out[2]; /* transposed convolution only: added to one side of the output */
  bool asymmetric;        /* convolution only: padding_end holds, instead of padding, after the last element */
  int64_t padding_end[2];
} BurnConv2dOptions;
#define BURN_CONV2D_OPTIONS BURN_INTERNAL_VALUE(BurnConv2dOptions, {1, 1}, {0, 0}, {1, 1}, 1, {0, 0}, false, {0, 0})

/* The same along one axis. */
typedef struct BurnConv1dOptions {
  int64_t stride, padding, dilation, groups;
  int64_t padding_out;
  bool asymmetric;
  int64_t padding_end;
} BurnConv1dOptions;
#define BURN_CONV1D_OPTIONS BURN_INTERNAL_VALUE(BurnConv1dOptions, 1, 0, 1, 1, 0, false, 0)

/* The same for volumes, where padding is the same on both sides, as in Burn. */
typedef struct BurnConv3dOptions {
  int64_t stride[3], padding[3], dilation[3];
  int64_t groups;
  int64_t padding_out[3];
} BurnConv3dOptions;
#define BURN_CONV3D_OPTIONS BURN_INTERNAL_VALUE(BurnConv3dOptions, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, 1, {0, 0, 0})

/* x [n, in, w], weight [out, in/groups, k], bias [out] or NULL -> [n, out, ow] */
BURN_API BURN_GIVES BURN_TAKES(1, 2, 3) BurnTensor *burn_conv1d(BurnTensor *x, BurnTensor *weight, BurnTensor *bias,
                                                                BurnConv1dOptions options);
/* x [n, in, h, w], weight [out, in/groups, kh, kw], bias [out] or NULL -> [n, out, oh, ow] */
BURN_API BURN_GIVES BURN_TAKES(1, 2, 3) BurnTensor *burn_conv2d(BurnTensor *x, BurnTensor *weight, BurnTensor *bias,
                                                                BurnConv2dOptions options);
/* x [n, in, d, h, w], weight [out, in/groups, kd, kh, kw], bias [out] or NULL -> [n, out, od, oh, ow] */
BURN_API BURN_GIVES BURN_TAKES(1, 2, 3) BurnTensor *burn_conv3d(BurnTensor *x, BurnTensor *weight, BurnTensor *bias,
                                                                BurnConv3dOptions options);
/* x [n, in, w], weight [in, out/groups, k], bias [out] or NULL -> [n, out, ow] */
BURN_API BURN_GIVES BURN_TAKES(1, 2, 3) BurnTensor *burn_conv_transpose1d(BurnTensor *x, BurnTensor *weight,
                                                                          BurnTensor *bias, BurnConv1dOptions options);
/* x [n, in, h, w], weight [in, out/groups, kh, kw], bias [out] or NULL -> [n, out, oh, ow] */
BURN_API BURN_GIVES BURN_TAKES(1, 2, 3) BurnTensor *burn_conv_transpose2d(BurnTensor *x, BurnTensor *weight,
                                                                          BurnTensor *bias, BurnConv2dOptions options);
/* x [n, in, d, h, w], weight [in, out/groups, kd, kh, kw], bias [out] or NULL -> [n, out, od, oh, ow] */
BURN_API BURN_GIVES BURN_TAKES(1, 2, 3) BurnTensor *burn_conv_transpose3d(BurnTensor *x, BurnTensor *weight,
                                                                          BurnTensor *bias, BurnConv3dOptions options);
/* Gradient of burn_conv2d with regard to its weight of shape `weight`: x [n, in, h, w], grad [n, out, oh, ow]. The
 * padding must be symmetric. */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_conv2d_weight_backward(BurnTensor *x, BurnTensor *grad,
                                                                             BurnShape weight,
                                                                             BurnConv2dOptions options);

/* Gradient of burn_conv3d with regard to its weight of shape `weight`: x [n, in, d, h, w], grad [n, out, od, oh, ow].
 * padding_out means nothing here. */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_conv3d_weight_backward(BurnTensor *x, BurnTensor *grad,
                                                                             BurnShape weight,
                                                                             BurnConv3dOptions options);

/* Options of deformable convolution; start from BURN_DEFORM_CONV2D_OPTIONS. */
typedef struct BurnDeformConv2dOptions {
  int64_t stride[2], padding[2], dilation[2];
  int64_t weight_groups; /* of the weight, as groups of a convolution */
  int64_t offset_groups; /* of the input channels, each with offsets of its own */
} BurnDeformConv2dOptions;
#define BURN_DEFORM_CONV2D_OPTIONS BURN_INTERNAL_VALUE(BurnDeformConv2dOptions, {1, 1}, {0, 0}, {1, 1}, 1, 1)

/* A convolution whose taps read x between its pixels (bilinear, 0 outside), each moved by its offset: x [n, in, h, w],
 * offset [n, 2 * offset_groups * kh * kw, oh, ow] with y before x for every tap, weight [out, in/weight_groups, kh,
 * kw], mask [n, offset_groups * kh * kw, oh, ow] that scales what the taps read (NULL: 1), bias [out] or NULL -> [n,
 * out, oh, ow] */
BURN_API BURN_GIVES BURN_TAKES(1, 2, 3, 4, 5) BurnTensor *burn_deform_conv2d(BurnTensor *x, BurnTensor *offset,
                                                                             BurnTensor *weight, BurnTensor *mask,
                                                                             BurnTensor *bias,
                                                                             BurnDeformConv2dOptions options);

/* Options of windows as columns; start from BURN_UNFOLD4D_OPTIONS. */
typedef struct BurnUnfold4dOptions {
  int64_t stride[2], padding[2], dilation[2];
} BurnUnfold4dOptions;
#define BURN_UNFOLD4D_OPTIONS BURN_INTERNAL_VALUE(BurnUnfold4dOptions, {1, 1}, {0, 0}, {1, 1})

/* Every window as a column: [n, c, h, w] -> [n, c * kh * kw, windows] (im2col). */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_unfold4d(BurnTensor *x, const int64_t kernel_size[2],
                                                            BurnUnfold4dOptions options);
/* The way back, [n, c * kh * kw, windows] -> [n, c, output_size[0], output_size[1]]: overlapping windows add up. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_fold4d(BurnTensor *x, const int64_t output_size[2],
                                                          const int64_t kernel_size[2], BurnUnfold4dOptions options);

/* -- pooling ---------------------------------------------------------------------------------- */

/* Options of pooling; start from BURN_POOL2D_OPTIONS(kh, kw): the stride is the kernel size, as in current Burn. */
typedef struct BurnPool2dOptions {
  int64_t kernel_size[2];
  int64_t stride[2];
  int64_t padding[2];
  int64_t dilation[2]; /* max pooling only */
  bool ceil_mode;
  bool count_include_pad; /* average pooling only */
} BurnPool2dOptions;
#define BURN_POOL2D_OPTIONS(kh, kw) \
  BURN_INTERNAL_VALUE(BurnPool2dOptions, {(kh), (kw)}, {(kh), (kw)}, {0, 0}, {1, 1}, false, true)

/* The same along one axis; start from BURN_POOL1D_OPTIONS(k). */
typedef struct BurnPool1dOptions {
  int64_t kernel_size, stride, padding, dilation;
  bool ceil_mode;
  bool count_include_pad;
} BurnPool1dOptions;
#define BURN_POOL1D_OPTIONS(k) BURN_INTERNAL_VALUE(BurnPool1dOptions, (k), (k), 0, 1, false, true)

/* [n, c, w] -> [n, c, ow]; padding counts as -infinity; NaN wins */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_max_pool1d(BurnTensor *x, BurnPool1dOptions options);
/* [n, c, h, w] -> [n, c, oh, ow]; padding counts as -infinity; NaN wins */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_max_pool2d(BurnTensor *x, BurnPool2dOptions options);
/* The same and, in *indices (the caller's), positions along the axis, or y * w + x within each plane, in the default
 * int dtype. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_max_pool1d_with_indices(BurnTensor *x, BurnPool1dOptions options,
                                                                           BurnTensor **indices);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_max_pool2d_with_indices(BurnTensor *x, BurnPool2dOptions options,
                                                                           BurnTensor **indices);
/* Gradient of max_pool2d with regard to its input of shape `input`, from the indices of its forward pass. */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_max_pool2d_with_indices_backward(BurnTensor *grad,
                                                                                       BurnTensor *indices,
                                                                                       BurnShape input);
/* Means of windows; with count_include_pad, zeros of the padding count as elements. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_avg_pool1d(BurnTensor *x, BurnPool1dOptions options);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_avg_pool2d(BurnTensor *x, BurnPool2dOptions options);
/* Gradient of avg_pool2d with regard to its input of shape `input`. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_avg_pool2d_backward(BurnTensor *grad, BurnShape input,
                                                                       BurnPool2dOptions options);
/* [n, c, ..] -> [n, c, output_size]: window i along an axis covers floor(i * in / out) .. ceil((i + 1) * in / out) - 1
 */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_adaptive_avg_pool1d(BurnTensor *x, int64_t output_size);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_adaptive_avg_pool2d(BurnTensor *x, const int64_t output_size[2]);
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_adaptive_avg_pool3d(BurnTensor *x, const int64_t output_size[3]);

/* -- resampling ------------------------------------------------------------------------------- */

/* Options of interpolation; start from BURN_INTERPOLATE_OPTIONS(mode). */
typedef struct BurnInterpolateOptions {
  BurnInterpolateMode mode;
  bool align_corners; /* the corner pixels of both lie on each other; nearest modes ignore it */
} BurnInterpolateOptions;
#define BURN_INTERPOLATE_OPTIONS(mode) BURN_INTERNAL_VALUE(BurnInterpolateOptions, (mode), true)

/* [n, c, h, w] -> [n, c, output_size[0], output_size[1]]. Taps beyond the border read the border, but those of lanczos3
 * are left out; half precision is summed in f32. */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_interpolate(BurnTensor *x, const int64_t output_size[2],
                                                               BurnInterpolateOptions options);

/* Options of grid_sample_2d; start from BURN_GRID_SAMPLE_OPTIONS. */
typedef struct BurnGridSampleOptions {
  BurnGridSampleMode mode;
  BurnGridPaddingMode padding_mode;
  bool align_corners; /* -1 and 1 are the centres of the corner pixels, instead of their outer edges */
} BurnGridSampleOptions;
#define BURN_GRID_SAMPLE_OPTIONS \
  BURN_INTERNAL_VALUE(BurnGridSampleOptions, BURN_GRID_SAMPLE_BILINEAR, BURN_GRID_PADDING_ZEROS, false)

/* x [n, c, h, w] read at grid [n, oh, ow, 2], which holds x then y in -1 .. 1 -> [n, c, oh, ow]. With zero padding a
 * NaN or infinite position reads 0. */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_grid_sample_2d(BurnTensor *x, BurnTensor *grid,
                                                                     BurnGridSampleOptions options);

/* -- attention -------------------------------------------------------------------------------- */

/* Options of attention; start from BURN_ATTENTION_OPTIONS. */
typedef struct BurnAttentionOptions {
  double scale;   /* of the scores; 0: 1 / sqrt(d) */
  double softcap; /* scores become softcap * tanh(scores / softcap); 0: they stay */
  bool is_causal; /* query i sees keys up to i + sk - sq: the last one sees all */
} BurnAttentionOptions;
#define BURN_ATTENTION_OPTIONS BURN_INTERNAL_VALUE(BurnAttentionOptions, 0, 0, false)

/* Scaled dot product attention: query [n, heads, sq, d], key [n, heads, sk, d], value [n, heads, sk, dv] ->
 * [n, heads, sq, dv]. In this order: query times key transposed, scale, softcap, -infinity where the bool mask is true
 * or the key is later (causal), plus bias, softmax over the keys, times value. mask and bias (either may be NULL)
 * stretch to [n, heads, sq, sk]. A query from which every key is hidden gives 0. */
BURN_API BURN_GIVES BURN_TAKES(1, 2, 3, 4, 5) BurnTensor *burn_attention(BurnTensor *query, BurnTensor *key,
                                                                         BurnTensor *value, BurnTensor *mask,
                                                                         BurnTensor *bias,
                                                                         BurnAttentionOptions options);

/* -- recurrence ------------------------------------------------------------------------------- */

/* The loop of a long short-term memory over all steps: gates [n, steps, 4 * h], hidden and cell [n, h] before the first
 * step, weight [h, 4 * h] -> outputs [n, steps, h]: the hidden state after every step; and, in *cells (the caller's,
 * NULL if not wanted), the cell after every step, of the same shape. `gates` is what does not depend on the state, made
 * for all steps by one product: x [n, steps, inputs] times a weight [inputs, 4 * h], plus the biases (burn_linear). In
 * each step
 *
 *   i, f, g, o = the four parts of gates + hidden * weight, in PyTorch's order, through sigmoid, sigmoid, tanh, sigmoid
 *   cell = f * cell + i * g;  hidden = o * tanh(cell)
 *
 * The last state is burn_narrow(.., 1, steps - 1, 1) of both results. */
BURN_API BURN_GIVES BURN_TAKES(1, 2, 3, 4) BurnTensor *burn_lstm(BurnTensor *gates, BurnTensor *hidden,
                                                                 BurnTensor *cell, BurnTensor *weight,
                                                                 BurnTensor **cells);

/* -- norms and dropout ------------------------------------------------------------------------ */

/* Normalised over the last axis: (x - mean) / sqrt(variance + epsilon) * gamma [d] + beta [d] (NULL allowed); the
 * variance is divided by d. */
BURN_API BURN_GIVES BURN_TAKES(1, 2, 3) BurnTensor *burn_layer_norm(BurnTensor *x, BurnTensor *gamma, BurnTensor *beta,
                                                                    double epsilon);
/* x [n, c, ..] by channel: (x - mean) / sqrt(var + epsilon) * gamma + beta, all [c]. Statistics are arguments; the
 * layer of nn/ tracks them. */
BURN_API BURN_GIVES BURN_TAKES(1, 2, 3, 4, 5) BurnTensor *burn_batch_norm(BurnTensor *x, BurnTensor *gamma,
                                                                          BurnTensor *beta, BurnTensor *mean,
                                                                          BurnTensor *var, double epsilon);
/* The same by the statistics of x itself, which are given out too: the mean of every channel and its variance, divided
 * by the number of elements. mean and var may be NULL. */
BURN_API BURN_GIVES BURN_TAKES(1, 2, 3) BurnTensor *burn_batch_norm_train(BurnTensor *x, BurnTensor *gamma,
                                                                          BurnTensor *beta, double epsilon,
                                                                          BurnTensor **mean, BurnTensor **var);
/* Zeroes each element with probability prob and scales the others by 1 / (1 - prob), on every device (the layer of nn/
 * is the one that does so only in training). prob is in [0, 1]; 1 gives NaN as in Burn (0 / 0). */
BURN_API BURN_GIVES BURN_TAKES(1) BurnTensor *burn_dropout(BurnTensor *x, double prob);

/* -- losses ----------------------------------------------------------------------------------- */

/* logits [n, classes], int targets [n] -> [1]: the mean of -log_softmax(logits) at the targets. */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_cross_entropy(BurnTensor *logits, BurnTensor *targets);
/* Two float tensors of one shape -> [1]: the mean of (x - target)^2. */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_mse(BurnTensor *x, BurnTensor *target);
/* logits and probabilities of the targets, both [.., classes] -> [1]: the mean over all but the last axis of
 * -sum(probabilities * log_softmax(logits)). */
BURN_API BURN_GIVES BURN_TAKES(1, 2) BurnTensor *burn_cross_entropy_with_logits(BurnTensor *logits,
                                                                                BurnTensor *probabilities);
/* Connectionist temporal classification: log_probs [t, n, classes] (log_softmax of something), int targets [n, s], int
 * input_lengths [n] within 0 .. t and target_lengths [n] within 0 .. s -> [n], the loss of every sample. Targets beyond
 * their length are not read. A target that cannot be reached in its frames gives infinity, and a gradient of 0. Half
 * precision is computed in f32. */
BURN_API BURN_GIVES BURN_TAKES(1, 2, 3, 4) BurnTensor *burn_ctc_loss(BurnTensor *log_probs, BurnTensor *targets,
                                                                     BurnTensor *input_lengths,
                                                                     BurnTensor *target_lengths, int64_t blank);

BURN_EXTERN_C_END

#endif
