/* torch_sort.cpp - sorting along an axis. Floats have a total order: -NaN < -inf < .. < -0 < +0 < .. < +NaN, and equal
 * ones keep theirs. */
#include "torch_internal.h"

#include <ATen/ops/bitwise_and.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/bitwise_xor.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/sort.h>

#include <cstdint>

namespace burn_torch {
namespace {

/* Integers in the order of the floats: of negative ones all bits but the sign are flipped. */
at::Tensor order_keys(const at::Tensor &x) {
  if (!x.is_floating_point()) return x;
  const bool is_f64 = x.scalar_type() == at::kDouble, is_f32 = x.scalar_type() == at::kFloat;
  const at::ScalarType bits_type = is_f64 ? at::kLong : is_f32 ? at::kInt : at::kShort;
  const int64_t bit_count = is_f64 ? 64 : is_f32 ? 32 : 16;
  const int64_t size_bits = is_f64 ? INT64_MAX : is_f32 ? INT32_MAX : INT16_MAX;
  const at::Tensor bits = x.contiguous().view(bits_type);
  return at::bitwise_xor(bits, at::bitwise_and(at::bitwise_right_shift(bits, bit_count - 1), size_bits));
}

/* dim and descending are the first two attributes of both ops. */
at::Tensor sorted_positions(const Run &run) {
  const int64_t dim = run.call->attrs[0].value.i64;
  const bool descending = run.call->attrs[1].value.i64 != 0;
  return std::get<1>(at::sort(order_keys(run.in(0)), /*stable=*/c10::optional<bool>(true), dim, descending));
}

void argsort(Run &run) { run.out[0] = sorted_positions(run); }
void sort_with_indices(Run &run) {
  run.out[1] = sorted_positions(run);
  run.out[0] = at::gather(run.in(0), run.call->attrs[0].value.i64, run.out[1]);
}

const Row rows[] = {{BURN_OP_argsort, argsort, Halves::keep},
                    {BURN_OP_sort_with_indices, sort_with_indices, Halves::keep}};

}  // namespace

Rows sort_rows() { return {rows, sizeof rows / sizeof rows[0]}; }

}  // namespace burn_torch
