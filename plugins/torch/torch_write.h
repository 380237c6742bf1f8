/* torch_write.h - helpers of element-wise kernels: results that overwrite an input which was given up, numbers as
 * elements. */
#ifndef BURN_TORCH_WRITE_H
#define BURN_TORCH_WRITE_H

#include "torch_internal.h"

namespace burn_torch {

/* out[0] = f(x), in x's memory where that is allowed and the result has x's dtype. */
template <class New, class Out>
void unary(Run &run, New make, Out into) {
  if (run.may_write(0)) {
    into(run.inputs[0], run.in(0));
    run.out[0] = run.in(0);
  } else {
    run.out[0] = make(run.in(0));
  }
}

/* out[0] = f(a, b), in the memory of the one that may be written and has the shape of the result. */
template <class New, class Out>
void binary(Run &run, New make, Out into) {
  for (uint32_t i = 0; i < 2; i++) {
    if (run.in(i).sizes() != sizes_of(run.desc()) || !run.may_write(i)) continue;
    into(run.inputs[i], run.in(0), run.in(1));
    run.out[0] = run.in(i);
    return;
  }
  run.out[0] = make(run.in(0), run.in(1));
}

/* A number attribute within an integer dtype: toward zero, NaN is 0. */
int64_t saturated(const BurnAttr &number, BurnDType dtype);

/* A number attribute as an element of the result. */
at::Scalar element_of(const Run &run, const BurnAttr &number);

/* Float elements toward zero, within an integer dtype; NaN is 0. */
at::Tensor whole_numbers_of(const at::Tensor &x, BurnDType dtype);

/* Products and running sums of f32 go through f64: the CPU's kernels do so themselves. */
inline at::Tensor wide(const at::Tensor &x) {
  return x.scalar_type() == at::kFloat && !x.is_cpu() ? x.to(at::kDouble) : x;
}

/* f64 to f16 or bf16, rounded once: ATen goes through f32. */
at::Tensor half_of_f64(const at::Tensor &x, at::ScalarType half);
at::Tensor half_of_whole(const at::Tensor &x, at::ScalarType half); /* from an integer dtype, likewise */

}  // namespace burn_torch

#endif
