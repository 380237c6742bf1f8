/* torch_conv.cpp - convolutions of two and three axes, transposed ones, their weight gradients; windows as columns and
 * back. */
#include "torch_internal.h"

#include <ATen/ops/col2im.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/im2col.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace burn_torch {
namespace {

/* The attributes that all convolutions have. */
struct Window {
  at::IntArrayRef stride, padding, padding_out, dilation;
  int64_t groups;
};

at::OptionalIntArrayRef no_bias_sizes() { return c10::nullopt; }

c10::optional<at::Tensor> bias_of(const Run &run) {
  return run.has(2) ? c10::optional<at::Tensor>(run.in(2)) : c10::nullopt;
}

/* A result without elements, or one of inputs without channels, which libraries refuse. */
bool is_trivial(const Run &run) {
  return burn_desc_count(&run.desc()) == 0 || run.in(0).numel() == 0 || run.in(1).numel() == 0;
}

at::Tensor bias_alone(const Run &run) {
  at::Tensor out = at::zeros(sizes_of(run.desc()), run.in(0).options());
  if (!run.has(2)) return out;
  std::vector<int64_t> shape(run.desc().rank, 1);
  shape[1] = run.in(2).numel();
  return out.add_(run.in(2).reshape(shape));
}

at::Tensor convolve(const Run &run, const Window &w) {
  const std::vector<int64_t> zeros(w.stride.size(), 0);
  if (is_trivial(run)) return bias_alone(run);
  return at::convolution(run.in(0), run.in(1), bias_of(run), w.stride, w.padding, w.dilation, false, zeros, w.groups);
}

/* On the CPU it is made as the gradient of a convolution, which it is: for that ATen asks a library, while its own
 * transposed convolution is a plain loop. ATen wants padding_out below stride or dilation. Otherwise: the whole result
 * without padding, cut and filled with zeros. */
at::Tensor convolve_transposed(const Run &run, const Window &w) {
  if (is_trivial(run)) return bias_alone(run);
  bool fits = true, is_gradient = run.in(0).is_cpu() && w.stride.size() == 2;
  for (size_t i = 0; i < w.stride.size(); i++) {
    fits = fits && w.padding_out[i] < std::max(w.stride[i], w.dilation[i]);
    is_gradient = is_gradient && w.padding_out[i] < w.stride[i];
  }
  const std::vector<int64_t> zeros(w.stride.size(), 0);
  if (is_gradient) {
    const at::Tensor like = at::empty(sizes_of(run.desc()), run.in(0).options()); /* only its shape is read */
    at::Tensor out =
        std::get<0>(at::convolution_backward(run.in(0), like, run.in(1), no_bias_sizes(), w.stride, w.padding,
                                             w.dilation, false, zeros, w.groups, {true, false, false}));
    return run.has(2) ? out.add_(bias_alone(run)) : out;
  }
  if (fits)
    return at::convolution(run.in(0), run.in(1), bias_of(run), w.stride, w.padding, w.dilation, true, w.padding_out,
                           w.groups);
  const at::Tensor whole =
      at::convolution(run.in(0), run.in(1), c10::nullopt, w.stride, zeros, w.dilation, true, zeros, w.groups);
  std::vector<int64_t> widths; /* last axis first; negative ones cut */
  for (size_t i = w.stride.size(); i-- > 0;) {
    widths.push_back(-w.padding[i]);
    widths.push_back(run.desc().shape[2 + i] - (whole.size(static_cast<int64_t>(2 + i)) - w.padding[i]));
  }
  return at::constant_pad_nd(whole, widths, 0).add_(bias_alone(run));
}

template <class Attrs>
Window window(const Attrs *attrs, size_t axes) {
  return {
      ints(attrs->stride, axes), ints(attrs->padding, axes), {}, ints(attrs->dilation, axes), attrs->groups.value.i64};
}
template <class Attrs>
Window window_transposed(const Attrs *attrs, size_t axes) {
  return {ints(attrs->stride, axes), ints(attrs->padding, axes), ints(attrs->padding_out, axes),
          ints(attrs->dilation, axes), attrs->groups.value.i64};
}

void conv2d(Run &run) { run.out[0] = convolve(run, window(TORCH_ATTRS(conv2d, run), 2)); }
void conv3d(Run &run) { run.out[0] = convolve(run, window(TORCH_ATTRS(conv3d, run), 3)); }
void conv_transpose2d(Run &run) {
  run.out[0] = convolve_transposed(run, window_transposed(TORCH_ATTRS(conv_transpose2d, run), 2));
}
void conv_transpose3d(Run &run) {
  run.out[0] = convolve_transposed(run, window_transposed(TORCH_ATTRS(conv_transpose3d, run), 3));
}

void weight_gradient(Run &run, const Window &w) {
  const at::Tensor &x = run.in(0), &grad = run.in(1);
  const std::vector<int64_t> zeros(w.stride.size(), 0);
  if (x.numel() == 0 || grad.numel() == 0 || burn_desc_count(&run.desc()) == 0) {
    run.out[0] = at::zeros(sizes_of(run.desc()), x.options());
    return;
  }
  const at::Tensor weight = at::empty(sizes_of(run.desc()), x.options()); /* only its shape is read */
  run.out[0] = std::get<1>(at::convolution_backward(grad, x, weight, no_bias_sizes(), w.stride, w.padding, w.dilation,
                                                    false, zeros, w.groups, {false, true, false}));
}
void conv2d_weight_backward(Run &run) { weight_gradient(run, window(TORCH_ATTRS(conv2d_weight_backward, run), 2)); }
void conv3d_weight_backward(Run &run) { weight_gradient(run, window(TORCH_ATTRS(conv3d_weight_backward, run), 3)); }

/* -- columns ---------------------------------------------------------------------------------- */

void unfold4d(Run &run) {
  const BurnAttrs_unfold4d *a = TORCH_ATTRS(unfold4d, run);
  run.out[0] =
      at::im2col(run.in(0), ints(a->kernel_size, 2), ints(a->dilation, 2), ints(a->padding, 2), ints(a->stride, 2));
}
void fold4d(Run &run) {
  const BurnAttrs_fold4d *a = TORCH_ATTRS(fold4d, run);
  run.out[0] = at::col2im(run.in(0), ints(a->output_size, 2), ints(a->kernel_size, 2), ints(a->dilation, 2),
                          ints(a->padding, 2), ints(a->stride, 2));
}
const Row rows[] = {
    {BURN_OP_conv2d, conv2d},
    {BURN_OP_conv3d, conv3d},
    {BURN_OP_conv_transpose2d, conv_transpose2d},
    {BURN_OP_conv_transpose3d, conv_transpose3d},
    {BURN_OP_conv2d_weight_backward, conv2d_weight_backward},
    {BURN_OP_conv3d_weight_backward, conv3d_weight_backward},
    {BURN_OP_unfold4d, unfold4d, Halves::widen_on_cpu, has_elements},
    {BURN_OP_fold4d, fold4d, Halves::widen, has_elements},
};

}  // namespace

Rows conv_rows() { return {rows, sizeof rows / sizeof rows[0]}; }

}  // namespace burn_torch
