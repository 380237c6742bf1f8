/* torch_convert.cpp - numbers that change their dtype as ops.def wants it: integers saturate, halves are rounded
 * once. */
#include "torch_write.h"

#include <ATen/ops/abs.h>
#include <ATen/ops/bitwise_and.h>
#include <ATen/ops/bitwise_or.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace burn_torch {

namespace {

struct Bounds {
  int64_t lowest, highest;
};

Bounds bounds_of(BurnDType dtype) {
  switch (dtype) {
    case BURN_DTYPE_BOOL:
      return {0, 1};
    case BURN_DTYPE_U8:
      return {0, 255};
    case BURN_DTYPE_I8:
      return {-128, 127};
    case BURN_DTYPE_I16:
      return {-32768, 32767};
    case BURN_DTYPE_I32:
      return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    default:
      return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  }
}

constexpr double two_to_63 = 9223372036854775808.0;

}  // namespace

int64_t saturated(const BurnAttr &number, BurnDType dtype) {
  const Bounds bounds = bounds_of(dtype);
  return std::clamp(burn_attr_to_i64(&number), bounds.lowest, bounds.highest);
}

at::Scalar element_of(const Run &run, const BurnAttr &number) {
  const uint32_t kind = burn_dtype_kind(run.desc().dtype);
  if (kind == BURN_KIND_BOOL) return at::Scalar(burn_attr_to_f64(&number) != 0);
  return kind == BURN_KIND_FLOAT ? at::Scalar(run.number(number)) : at::Scalar(saturated(number, run.desc().dtype));
}

at::Tensor whole_numbers_of(const at::Tensor &x, BurnDType dtype) {
  const Bounds bounds = bounds_of(dtype);
  const at::Tensor wide = x.to(at::kDouble);
  const bool is_i64 = dtype == BURN_DTYPE_I64;
  const double highest = is_i64 ? std::nextafter(two_to_63, 0.0) : static_cast<double>(bounds.highest);
  at::Tensor whole =
      wide.masked_fill(at::isnan(wide), 0.0).clamp_(static_cast<double>(bounds.lowest), highest).to(at::kLong);
  if (is_i64) whole.masked_fill_(wide.ge(two_to_63), bounds.highest);
  return whole.to(scalar_type(dtype));
}

/* By f32 rounded to odd: of the two neighbours of an inexact value the one with an odd last bit, so that the second
 * rounding sees on which side of a tie it was. Neighbours of floats are neighbours of their bits. */
at::Tensor half_of_f64(const at::Tensor &x, at::ScalarType half) {
  const at::Tensor near = x.to(at::kFloat).contiguous(), back = near.to(at::kDouble);
  const at::Tensor bits = near.view(at::kInt);
  const at::Tensor must_move =
      at::logical_and(at::logical_and(back.ne(x), back.eq(back)), at::bitwise_and(bits, 1).eq(0));
  const at::Tensor step = at::where(at::abs(back).gt(at::abs(x)), bits - 1, bits + 1);
  return at::where(must_move, step, bits).view(at::kFloat).to(half);
}

at::Tensor half_of_whole(const at::Tensor &x, at::ScalarType half) {
  const at::Tensor wide = x.to(at::kLong);
  /* f64 holds 53 bits: of larger numbers the 11 lowest become one that says whether there was something. */
  const at::Tensor lost = at::bitwise_and(wide, 2047).ne(0).to(at::kLong);
  const at::Tensor rounded_to_odd = at::bitwise_or(at::bitwise_right_shift(wide, 11), lost).to(at::kDouble) * 2048.0;
  const int64_t exact = static_cast<int64_t>(1) << 53;
  const at::Tensor large = at::logical_or(wide.ge(exact), wide.le(-exact));
  return half_of_f64(at::where(large, rounded_to_odd, wide.to(at::kDouble)), half);
}

}  // namespace burn_torch
