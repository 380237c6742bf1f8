/* torch_linalg.cpp - matrix products, linear layers, LU. det and qr are not here: ours calls small pivots 0, and LAPACK
 * gives the last column of a square matrix another sign. */
#include "torch_internal.h"

#include <ATen/ops/add.h>
#include <ATen/ops/linalg_lu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sum.h>

namespace burn_torch {
namespace {

/* bf16 goes to the library as it is; it adds up in f32. f16 does on GPUs. */
at::Tensor for_product(const at::Tensor &x) {
  return x.scalar_type() == at::kHalf && x.is_cpu() ? x.to(at::kFloat) : x;
}

void matmul(Run &run) {
  const at::Tensor a = for_product(run.in(0)), b = for_product(run.in(1));
  if (a.is_floating_point() || a.is_cpu()) {
    run.out[0] = at::matmul(a, b);
  } else { /* no library on a GPU multiplies integer matrices */
    run.out[0] = at::sum(at::mul(a.unsqueeze(-1), b.unsqueeze(-3)), {-2}, false, a.scalar_type());
  }
}

/* The bias in f32 where the product is: one rounding. */
void linear(Run &run) {
  const at::Tensor x = for_product(run.in(0)), weight = for_product(run.in(1));
  run.out[0] = run.has(2) ? at::linear(x, weight.t(), for_product(run.in(2))) : at::matmul(x, weight);
}

void lu(Run &run) { std::tie(run.out[0], run.out[1], run.out[2]) = at::linalg_lu(run.in(0)); }

const Row rows[] = {
    {BURN_OP_matmul, matmul, Halves::keep},
    {BURN_OP_linear, linear, Halves::keep},
    {BURN_OP_lu, lu, Halves::widen, has_elements},
};

}  // namespace

Rows linalg_rows() { return {rows, sizeof rows / sizeof rows[0]}; }

}  // namespace burn_torch
