/* torch_elementwise_compare.cpp - comparisons of two tensors, and of a tensor and a number. The result is bool. */
#include "torch_write.h"

#include <ATen/ops/eq.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/le.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/ne.h>

#include <cmath>

namespace burn_torch {
namespace {

#define COMPARE(op, aten)                                                                     \
  {                                                                                           \
    BURN_OP_##op, [](Run &run) { run.out[0] = at::aten(run.in(0), run.in(1)); }, Halves::keep \
  }

constexpr double two_to_63 = 9223372036854775808.0;

/* Integers against a float: against the integer beside it, or all alike where it is beyond every i64 or
 * NaN. */
at::Tensor compare_integer(const at::Tensor &x, uint32_t op, const BurnAttr &number) {
  const double value = burn_attr_to_f64(&number);
  const auto all = [&x](bool answer) { return at::full_like(x, answer, x.options().dtype(at::kBool)); };
  const bool is_exact = number.tag == BURN_ATTR_I64, is_whole = is_exact || value == std::floor(value);
  if (std::isnan(value)) return all(op == BURN_OP_not_equal_scalar);
  if (!is_exact && (value >= two_to_63 || value < -two_to_63)) {
    const bool above = value > 0; /* every x is lower */
    if (op == BURN_OP_equal_scalar) return all(false);
    if (op == BURN_OP_not_equal_scalar) return all(true);
    return all(above == (op == BURN_OP_lower_scalar || op == BURN_OP_lower_equal_scalar));
  }
  const at::Tensor wide = x.to(at::kLong);
  const int64_t floor = is_exact ? number.value.i64 : static_cast<int64_t>(std::floor(value));
  switch (op) {
    case BURN_OP_equal_scalar:
      return is_whole ? wide.eq(floor) : all(false);
    case BURN_OP_not_equal_scalar:
      return is_whole ? wide.ne(floor) : all(true);
    case BURN_OP_greater_scalar:
      return wide.gt(floor);
    case BURN_OP_greater_equal_scalar:
      return is_whole ? wide.ge(floor) : wide.gt(floor);
    case BURN_OP_lower_scalar:
      return is_whole ? wide.lt(floor) : wide.le(floor);
    default:
      return wide.le(floor);
  }
}

at::Tensor compare_float(const at::Tensor &x, uint32_t op, double value) {
  switch (op) {
    case BURN_OP_equal_scalar:
      return at::eq(x, value);
    case BURN_OP_not_equal_scalar:
      return at::ne(x, value);
    case BURN_OP_greater_scalar:
      return at::gt(x, value);
    case BURN_OP_greater_equal_scalar:
      return at::ge(x, value);
    case BURN_OP_lower_scalar:
      return at::lt(x, value);
    default:
      return at::le(x, value);
  }
}

void compare_scalar(Run &run) {
  const at::Tensor &x = run.in(0);
  const BurnAttr &number = run.call->attrs[0];
  run.out[0] = x.is_floating_point() ? compare_float(x, run.call->op, run.number(number))
                                     : compare_integer(x, run.call->op, number);
}

const Row rows[] = {
    COMPARE(equal, eq),
    COMPARE(not_equal, ne),
    COMPARE(greater, gt),
    COMPARE(greater_equal, ge),
    COMPARE(lower, lt),
    COMPARE(lower_equal, le),
    {BURN_OP_equal_scalar, compare_scalar},
    {BURN_OP_not_equal_scalar, compare_scalar},
    {BURN_OP_greater_scalar, compare_scalar},
    {BURN_OP_greater_equal_scalar, compare_scalar},
    {BURN_OP_lower_scalar, compare_scalar},
    {BURN_OP_lower_equal_scalar, compare_scalar},
};

}  // namespace

Rows elementwise_compare_rows() { return {rows, sizeof rows / sizeof rows[0]}; }

}  // namespace burn_torch
