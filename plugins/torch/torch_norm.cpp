/* torch_norm.cpp - layer and batch norm, with their gradients. */
#include "torch_internal.h"

#include <ATen/ops/batch_norm.h>
#include <ATen/ops/full.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/var_mean.h>

namespace burn_torch {
namespace {

double epsilon_of(const Run &run) { return run.call->attrs[0].value.f64; }
c10::optional<at::Tensor> optional(const Run &run, uint32_t i) {
  return run.has(i) ? c10::optional<at::Tensor>(run.in(i)) : c10::nullopt;
}

/* -- layer norm ------------------------------------------------------------------------------- */

std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm_of(const Run &run, const at::Tensor &x,
                                                             const c10::optional<at::Tensor> &gamma,
                                                             const c10::optional<at::Tensor> &beta) {
  return at::native_layer_norm(x, {x.size(-1)}, gamma, beta, epsilon_of(run));
}

/* Without its mean, a row of nearly equal numbers loses nothing to ATen's running moments. */
at::Tensor centred(const at::Tensor &x) { return x - x.mean({-1}, true); }

void layer_norm(Run &run) {
  run.out[0] = std::get<0>(layer_norm_of(run, centred(run.in(0)), optional(run, 1), optional(run, 2)));
}

void layer_norm_backward(Run &run) {
  const at::Tensor &grad = run.in(0), x = centred(run.in(1)), &gamma = run.in(2);
  const auto forward = layer_norm_of(run, x, gamma, c10::nullopt);
  std::tie(run.out[0], run.out[1], run.out[2]) =
      at::native_layer_norm_backward(grad.contiguous(), x, {x.size(-1)}, std::get<1>(forward), std::get<2>(forward),
                                     gamma, at::full({x.size(-1)}, 0, gamma.options()), {true, true, true});
}

/* -- batch norm ------------------------------------------------------------------------------- */

void batch_norm(Run &run) {
  run.out[0] = at::batch_norm(run.in(0), run.in(1), run.in(2), run.in(3), run.in(4), false, 0, epsilon_of(run), false);
}

/* Every axis but the channels. */
std::vector<int64_t> axes_of_channel(const at::Tensor &x) {
  std::vector<int64_t> axes{0};
  for (int64_t axis = 2; axis < x.dim(); axis++) axes.push_back(axis);
  return axes;
}

/* The variance on its own: ATen returns 1 / sqrt(var + epsilon), from which it cannot be had back exactly. */
void batch_norm_train(Run &run) {
  const at::Tensor &x = run.in(0);
  const auto [var, mean] = at::var_mean(x, axes_of_channel(x), /*unbiased=*/false, /*keepdim=*/false);
  run.out[0] = at::batch_norm(x, run.in(1), run.in(2), mean, var, false, 0, epsilon_of(run), false);
  run.out[1] = mean;
  run.out[2] = var;
}

void batch_norm_train_backward(Run &run) {
  const at::Tensor &grad = run.in(0), &x = run.in(1), &gamma = run.in(2), &mean = run.in(3);
  const at::Tensor scale = at::rsqrt(run.in(4) + epsilon_of(run));
  std::tie(run.out[0], run.out[1], run.out[2]) = at::native_batch_norm_backward(
      grad, x, gamma, c10::nullopt, c10::nullopt, mean, scale, true, epsilon_of(run), {true, true, true});
}

const Row rows[] = {
    {BURN_OP_layer_norm, layer_norm, Halves::widen, first_has_elements},
    {BURN_OP_layer_norm_backward, layer_norm_backward, Halves::widen, first_has_elements},
    {BURN_OP_batch_norm, batch_norm, Halves::widen, first_has_elements},
    {BURN_OP_batch_norm_train, batch_norm_train, Halves::widen, first_has_elements},
    {BURN_OP_batch_norm_train_backward, batch_norm_train_backward, Halves::widen, first_has_elements},
};

}  // namespace

Rows norm_rows() { return {rows, sizeof rows / sizeof rows[0]}; }

}  // namespace burn_torch
