/* torch_pool.cpp - pooling over two axes, adaptive pooling, their gradients.
 *
 * ATen refuses padding beyond half a window and drops windows that ceil_mode starts outside. Where a call has these,
 * the input is padded here, so that ATen sees windows without padding: the first at 0, the last ending at the end. */
#include "torch_internal.h"

#include <ATen/ops/_adaptive_avg_pool2d.h>
#include <ATen/ops/_adaptive_avg_pool2d_backward.h>
#include <ATen/ops/adaptive_avg_pool3d.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool2d_backward.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/floor_divide.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/scatter_add.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

namespace burn_torch {
namespace {

constexpr int64_t ones[] = {1, 1};

/* Windows over the last two axes of an input of size `in`, giving `out` results. */
struct Pool {
  at::IntArrayRef kernel, stride, padding, dilation;
  int64_t in[2], out[2];
  bool ceil_mode, count_include_pad;

  int64_t span(int i) const { return dilation[static_cast<size_t>(i)] * (kernel[static_cast<size_t>(i)] - 1) + 1; }
  /* Elements that the input lacks at its end for the last window; negative: has too many. */
  int64_t behind(int i) const {
    const size_t k = static_cast<size_t>(i);
    return (out[i] - 1) * stride[k] + span(i) - in[i] - padding[k];
  }
  int64_t padded(int i) const { return in[i] + padding[static_cast<size_t>(i)] + behind(i); }
  std::vector<int64_t> widths(int sign) const {
    return {sign * padding[1], sign * behind(1), sign * padding[0], sign * behind(0)};
  }

  /* Does ATen take the call as it is, and make as many windows? */
  bool is_plain() const {
    for (int i = 0; i < 2; i++) {
      const size_t k = static_cast<size_t>(i);
      const int64_t room = in[i] + 2 * padding[k] - span(i);
      int64_t count = (ceil_mode ? room + stride[k] - 1 : room) / stride[k] + 1;
      if (ceil_mode && (count - 1) * stride[k] >= in[i] + padding[k]) count--;
      if (padding[k] > kernel[k] / 2 || room < 0 || count != out[i]) return false;
    }
    return true;
  }
};

template <class Attrs>
Pool pool_of(const Attrs *attrs, const int64_t *in, const int64_t *out) {
  return {ints(attrs->kernel_size, 2),
          ints(attrs->stride, 2),
          ints(attrs->padding, 2),
          at::IntArrayRef(ones, 2),
          {in[2], in[3]},
          {out[2], out[3]},
          false,
          true};
}

bool is_empty(const Run &run) { return run.in(0).numel() == 0 || burn_desc_count(&run.desc()) == 0; }

/* -- the largest ------------------------------------------------------------------------------ */

/* Positions in the padded plane to positions in the plane; those of windows in the padding alone to 0. */
at::Tensor unpadded_positions(const Pool &pool, const at::Tensor &positions) {
  const int64_t width = pool.padded(1);
  const at::Tensor y = at::floor_divide(positions, width), x = positions - y * width;
  const at::Tensor in_y = (y - pool.padding[0]).clamp(0, pool.in[0] - 1),
                   in_x = (x - pool.padding[1]).clamp(0, pool.in[1] - 1);
  return in_y * pool.in[1] + in_x;
}

std::tuple<at::Tensor, at::Tensor> largest(const at::Tensor &x, const Pool &pool) {
  if (pool.is_plain())
    return at::max_pool2d_with_indices(x, pool.kernel, pool.stride, pool.padding, pool.dilation, pool.ceil_mode);
  const at::Tensor padded = at::constant_pad_nd(x, pool.widths(1), -INFINITY);
  auto [values, positions] =
      at::max_pool2d_with_indices(padded, pool.kernel, pool.stride, {0, 0}, pool.dilation, false);
  const at::Tensor inside = unpadded_positions(pool, positions);
  return {values, inside};
}

template <class Attrs>
void max_pool(Run &run, const Attrs *attrs) {
  const BurnTensorDesc &desc = run.desc();
  Pool pool = pool_of(attrs, run.in(0).sizes().data(), desc.shape);
  pool.dilation = ints(attrs->dilation, 2);
  pool.ceil_mode = attrs->ceil_mode.value.i64 != 0;
  if (is_empty(run)) {
    run.out[0] = at::full(sizes_of(desc), -INFINITY, run.in(0).options());
    run.out[1] = at::zeros(sizes_of(desc), run.in(0).options().dtype(at::kLong));
    return;
  }
  std::tie(run.out[0], run.out[1]) = largest(run.in(0), pool);
}

void max_pool2d(Run &run) { max_pool(run, TORCH_ATTRS(max_pool2d, run)); }
void max_pool2d_with_indices(Run &run) { max_pool(run, TORCH_ATTRS(max_pool2d_with_indices, run)); }

void max_pool2d_backward(Run &run) {
  const at::IntArrayRef shape = sizes_of(run.desc());
  const int64_t area = shape[2] * shape[3];
  const at::Tensor zeros = at::zeros({shape[0], shape[1], area}, run.in(0).options());
  const int64_t windows = run.in(0).size(2) * run.in(0).size(3);
  const std::array<int64_t, 3> flat{shape[0], shape[1], windows};
  run.out[0] =
      at::scatter_add(zeros, 2, checked_indices(run, 1, run.in(1), area).reshape(flat), run.in(0).reshape(flat));
}

/* -- means ------------------------------------------------------------------------------------- */

/* What each window along one axis divides by: its elements, with those of the padding or without. Windows that
 * ceil_mode starts outside have none. */
at::Tensor divisors(const Pool &pool, int i, const at::TensorOptions &options) {
  const size_t k = static_cast<size_t>(i);
  std::vector<double> counts(static_cast<size_t>(pool.out[i]));
  for (int64_t at = 0; at < pool.out[i]; at++) {
    int64_t begin = at * pool.stride[k] - pool.padding[k];
    int64_t end = std::min(begin + pool.kernel[k], pool.in[i] + pool.padding[k]);
    if (!pool.count_include_pad) begin = std::max<int64_t>(begin, 0), end = std::min(end, pool.in[i]);
    counts[static_cast<size_t>(at)] = static_cast<double>(std::max<int64_t>(end - begin, 0));
  }
  return at::tensor(at::ArrayRef<double>(counts), at::kDouble).to(options);
}

at::Tensor areas(const Pool &pool, const at::TensorOptions &options) {
  return divisors(pool, 0, options).unsqueeze(1) * divisors(pool, 1, options).unsqueeze(0);
}

void avg_pool2d(Run &run) {
  const BurnAttrs_avg_pool2d *attrs = TORCH_ATTRS(avg_pool2d, run);
  Pool pool = pool_of(attrs, run.in(0).sizes().data(), run.desc().shape);
  pool.ceil_mode = attrs->ceil_mode.value.i64 != 0;
  pool.count_include_pad = attrs->count_include_pad.value.i64 != 0;
  if (is_empty(run)) {
    run.out[0] = at::zeros(sizes_of(run.desc()), run.in(0).options());
  } else if (pool.is_plain()) {
    run.out[0] =
        at::avg_pool2d(run.in(0), pool.kernel, pool.stride, pool.padding, pool.ceil_mode, pool.count_include_pad);
  } else {
    const at::Tensor padded = at::constant_pad_nd(run.in(0), pool.widths(1), 0);
    const at::Tensor sums =
        at::avg_pool2d(padded, pool.kernel, pool.stride, {0, 0}, false, true, /*divisor_override=*/1);
    run.out[0] = sums / areas(pool, sums.options());
  }
}

/* Whether the forward pass had ceil_mode is not known, nor needed: the padded input has just the windows that there
 * are. */
void avg_pool2d_backward(Run &run) {
  const BurnAttrs_avg_pool2d_backward *attrs = TORCH_ATTRS(avg_pool2d_backward, run);
  const at::Tensor &grad = run.in(0);
  const BurnTensorDesc &desc = run.desc();
  if (is_empty(run)) {
    run.out[0] = at::zeros(sizes_of(desc), grad.options());
    return;
  }
  Pool pool = pool_of(attrs, desc.shape, grad.sizes().data());
  pool.count_include_pad = attrs->count_include_pad.value.i64 != 0;
  const at::Tensor shares = grad / areas(pool, grad.options());
  const at::Tensor padded =
      at::empty({desc.shape[0], desc.shape[1], pool.padded(0), pool.padded(1)}, grad.options()); /* its shape alone */
  const at::Tensor whole =
      at::avg_pool2d_backward(shares, padded, pool.kernel, pool.stride, {0, 0}, false, true, /*divisor_override=*/1);
  run.out[0] = at::constant_pad_nd(whole, pool.widths(-1), 0);
}

void adaptive_avg_pool2d(Run &run) {
  const at::IntArrayRef size = ints(TORCH_ATTRS(adaptive_avg_pool2d, run)->output_size);
  run.out[0] =
      is_empty(run) ? at::zeros(sizes_of(run.desc()), run.in(0).options()) : at::_adaptive_avg_pool2d(run.in(0), size);
}
/* [out, in]: what share of window i element j is, windows as in ops.def. */
at::Tensor adaptive_shares(int64_t in, int64_t out, const at::TensorOptions &options) {
  std::vector<double> shares(static_cast<size_t>(in * out), 0.0);
  for (int64_t i = 0; i < out; i++) {
    const int64_t begin = i * in / out, end = ((i + 1) * in + out - 1) / out;
    for (int64_t j = begin; j < end; j++)
      shares[static_cast<size_t>(i * in + j)] = 1.0 / static_cast<double>(end - begin);
  }
  return at::tensor(at::ArrayRef<double>(shares), at::kDouble).reshape({out, in}).to(options);
}

/* On GPUs two matrix products: ATen's kernel adds in any order there. */
void adaptive_avg_pool2d_backward(Run &run) {
  const at::Tensor &grad = run.in(0);
  const at::IntArrayRef shape = sizes_of(run.desc());
  if (is_empty(run)) {
    run.out[0] = at::zeros(shape, grad.options());
  } else if (grad.is_cpu()) {
    run.out[0] =
        at::_adaptive_avg_pool2d_backward(grad, at::empty(shape, grad.options())); /* the shape alone is read */
  } else {
    const at::Tensor rows = adaptive_shares(shape[2], grad.size(2), grad.options());
    const at::Tensor columns = adaptive_shares(shape[3], grad.size(3), grad.options());
    run.out[0] = at::matmul(at::matmul(rows.t(), grad), columns);
  }
}
void adaptive_avg_pool3d(Run &run) {
  const at::IntArrayRef size = ints(TORCH_ATTRS(adaptive_avg_pool3d, run)->output_size);
  run.out[0] =
      is_empty(run) ? at::zeros(sizes_of(run.desc()), run.in(0).options()) : at::adaptive_avg_pool3d(run.in(0), size);
}

const Row rows[] = {
    {BURN_OP_max_pool2d, max_pool2d},
    {BURN_OP_max_pool2d_with_indices, max_pool2d_with_indices},
    {BURN_OP_max_pool2d_backward, max_pool2d_backward, Halves::widen},
    {BURN_OP_avg_pool2d, avg_pool2d, Halves::widen},
    {BURN_OP_avg_pool2d_backward, avg_pool2d_backward, Halves::widen},
    {BURN_OP_adaptive_avg_pool2d, adaptive_avg_pool2d, Halves::widen},
    {BURN_OP_adaptive_avg_pool2d_backward, adaptive_avg_pool2d_backward, Halves::widen},
    {BURN_OP_adaptive_avg_pool3d, adaptive_avg_pool3d, Halves::widen},
};

}  // namespace

Rows pool_rows() { return {rows, sizeof rows / sizeof rows[0]}; }

}  // namespace burn_torch
