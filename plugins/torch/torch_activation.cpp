/* torch_activation.cpp - activations and softmax, with the gradients that ops.def has ops for. */
#include "torch_write.h"

#include <ATen/ops/_log_softmax.h>
#include <ATen/ops/_log_softmax_backward_data.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/celu.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/glu.h>
#include <ATen/ops/hardshrink.h>
#include <ATen/ops/hardswish.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/mish.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/prelu.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/selu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/threshold.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>

namespace burn_torch {
namespace {

/* The i-th attribute, a number that meets the elements. */
double number_of(const Run &run, uint32_t i) { return run.number(run.call->attrs[i]); }

/* The smallest negative number of a dtype. */
double below_zero(at::ScalarType type) {
  if (type == at::kHalf) return -0x1p-24;
  if (type == at::kBFloat16) return -0x1p-133;
  return type == at::kFloat ? -0x1p-149 : -0x1p-1074;
}

/* -0 stays -0, of which ATen's relu makes 0 on GPUs: there all that is not above the largest number below -0 is 0. */
void relu(Run &run) {
  const at::Tensor &x = run.in(0);
  if (!x.is_cpu())
    run.out[0] = at::threshold(x, below_zero(x.scalar_type()), 0);
  else
    run.out[0] = run.may_write(0) ? run.inputs[0].relu_() : at::relu(x);
}
void relu_backward(Run &run) { run.out[0] = at::where(run.in(1).gt(0), run.in(0), at::Scalar(0.0)); }
void leaky_relu(Run &run) { run.out[0] = at::leaky_relu(run.in(0), number_of(run, 0)); }
void sigmoid(Run &run) { run.out[0] = run.may_write(0) ? run.inputs[0].sigmoid_() : at::sigmoid(run.in(0)); }
void gelu(Run &run) { run.out[0] = at::gelu(run.in(0), "none"); }
void gelu_approximate(Run &run) { run.out[0] = at::gelu(run.in(0), "tanh"); }
/* libtorch 1.13 reads strided gradients wrongly, here and below. */
void gelu_backward(Run &run) { run.out[0] = at::gelu_backward(run.in(0).contiguous(), run.in(1).contiguous(), "none"); }
void silu(Run &run) { run.out[0] = at::silu(run.in(0)); }
void softplus(Run &run) { run.out[0] = at::softplus(run.in(0), number_of(run, 0), INFINITY); }
void log_sigmoid(Run &run) { run.out[0] = at::log_sigmoid(run.in(0)); }
/* On GPUs ATen's constants are those of f32, for f64, too. */
void hard_swish(Run &run) {
  const at::Tensor &x = run.in(0);
  const bool by_parts = !x.is_cpu() && x.scalar_type() == at::kDouble;
  run.out[0] = by_parts ? x * (x + 3).clamp_(0, 6) / 6 : at::hardswish(x);
}
void mish(Run &run) { run.out[0] = at::mish(run.in(0)); }
void elu(Run &run) { run.out[0] = at::elu(run.in(0), number_of(run, 0)); }
void celu(Run &run) { run.out[0] = at::celu(run.in(0), number_of(run, 0)); }
void selu(Run &run) { run.out[0] = at::selu(run.in(0)); }
void prelu(Run &run) { run.out[0] = at::prelu(run.in(0), run.in(1)); }
void threshold(Run &run) { run.out[0] = at::threshold(run.in(0), number_of(run, 0), number_of(run, 1)); }
void hard_shrink(Run &run) { run.out[0] = at::hardshrink(run.in(0), number_of(run, 0)); }
void hardtanh(Run &run) { run.out[0] = at::hardtanh(run.in(0), number_of(run, 0), number_of(run, 1)); }
void glu(Run &run) { run.out[0] = at::glu(run.in(0), dim_of(run)); }

void softmax(Run &run) { run.out[0] = at::_softmax(run.in(0), dim_of(run), false); }
void softmin(Run &run) { run.out[0] = at::_softmax(at::neg(run.in(0)), dim_of(run), false); }
void log_softmax(Run &run) { run.out[0] = at::_log_softmax(run.in(0), dim_of(run), false); }
void softmax_backward(Run &run) {
  run.out[0] =
      at::_softmax_backward_data(run.in(0).contiguous(), run.in(1).contiguous(), dim_of(run), run.in(0).scalar_type());
}
void log_softmax_backward(Run &run) {
  run.out[0] = at::_log_softmax_backward_data(run.in(0).contiguous(), run.in(1).contiguous(), dim_of(run),
                                              run.in(0).scalar_type());
}

const Row rows[] = {
    {BURN_OP_relu, relu},
    {BURN_OP_relu_backward, relu_backward},
    {BURN_OP_leaky_relu, leaky_relu},
    {BURN_OP_sigmoid, sigmoid},
    {BURN_OP_gelu, gelu},
    {BURN_OP_gelu_approximate, gelu_approximate},
    {BURN_OP_gelu_backward, gelu_backward},
    {BURN_OP_silu, silu},
    {BURN_OP_softplus, softplus},
    {BURN_OP_log_sigmoid, log_sigmoid},
    {BURN_OP_hard_swish, hard_swish},
    {BURN_OP_mish, mish},
    {BURN_OP_elu, elu},
    {BURN_OP_celu, celu},
    {BURN_OP_selu, selu},
    {BURN_OP_prelu, prelu},
    {BURN_OP_threshold, threshold},
    {BURN_OP_hard_shrink, hard_shrink},
    {BURN_OP_hardtanh, hardtanh},
    {BURN_OP_glu, glu},
    {BURN_OP_softmax, softmax},
    {BURN_OP_softmin, softmin},
    {BURN_OP_log_softmax, log_softmax},
    {BURN_OP_softmax_backward, softmax_backward},
    {BURN_OP_log_softmax_backward, log_softmax_backward},
};

}  // namespace

Rows activation_rows() { return {rows, sizeof rows / sizeof rows[0]}; }

}  // namespace burn_torch
