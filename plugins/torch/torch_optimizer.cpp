/* torch_optimizer.cpp - steps of optimizers, in place where the old values were given up. */
#include "torch_transfer.h"

#include <ATen/ops/add.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sqrt.h>

namespace burn_torch {
namespace {

/* x * factor, in x's memory where that is allowed. */
at::Tensor scaled(Run &run, uint32_t i, double factor) {
  return run.may_write(i) ? run.inputs[i].mul_(factor) : at::mul(run.in(i), factor);
}

void adam_step(Run &run) {
  if (adam_on_device(run)) return;
  const BurnAttrs_adam_step *a = TORCH_ATTRS(adam_step, run);
  const double beta_1 = a->beta_1.value.f64, beta_2 = a->beta_2.value.f64, penalty = a->penalty.value.f64;
  const at::Tensor grad = penalty == 0 ? run.in(1) : at::add(run.in(1), run.in(0), penalty);
  run.out[1] = scaled(run, 2, beta_1).add_(grad, 1 - beta_1);
  run.out[2] = scaled(run, 3, beta_2).addcmul_(grad, grad, 1 - beta_2);
  const at::Tensor divisor = at::sqrt(run.out[2]).add_(a->epsilon.value.f64);
  run.out[0] = scaled(run, 0, a->decay.value.f64).addcdiv_(run.out[1], divisor, -a->step_size.value.f64);
}

const Row rows[] = {{BURN_OP_adam_step, adam_step, Halves::widen}};

}  // namespace

Rows optimizer_rows() { return {rows, sizeof rows / sizeof rows[0]}; }

}  // namespace burn_torch
