/* torch_elementwise.cpp - functions of one or two numbers, and of an element and a number. Where ATen differs from
 * ops.def (integers divided by 0, shifts beyond the bits, NaN), the kernel says how. */
#include "torch_internal.h"
#include "torch_write.h"

#include <ATen/Context.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/acos.h>
#include <ATen/ops/acosh.h>
#include <ATen/ops/add.h>
#include <ATen/ops/asin.h>
#include <ATen/ops/asinh.h>
#include <ATen/ops/atan.h>
#include <ATen/ops/atan2.h>
#include <ATen/ops/atanh.h>
#include <ATen/ops/bitwise_and.h>
#include <ATen/ops/bitwise_left_shift.h>
#include <ATen/ops/bitwise_not.h>
#include <ATen/ops/bitwise_or.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/bitwise_xor.h>
#include <ATen/ops/ceil.h>
#include <ATen/ops/clamp_max.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/cosh.h>
#include <ATen/ops/div.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/floor.h>
#include <ATen/ops/fmod.h>
#include <ATen/ops/full.h>
#include <ATen/ops/hypot.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/log.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/logical_xor.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/round.h>
#include <ATen/ops/sign.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/sinh.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/tan.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/trunc.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>

namespace burn_torch {
namespace {

bool is_float(const at::Tensor &x) { return x.is_floating_point(); }
bool is_half(BurnDType dtype) { return dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16; }

/* -- one input -------------------------------------------------------------------------------- */

#define UNARY(op, aten)                                                          \
  {                                                                              \
    BURN_OP_##op, [](Run &run) {                                                 \
      unary(                                                                     \
          run, [](const at::Tensor &x) { return at::aten(x); },                  \
          [](at::Tensor &out, const at::Tensor &x) { at::aten##_out(out, x); }); \
    }                                                                            \
  }

/* Square roots of elements begin .. end-1, in place. */
template <class Real>
void BURN_API_CALL sqrt_loop(void *data, int64_t begin, int64_t end) {
  Real *x = static_cast<Real *>(data);
  for (int64_t i = begin; i < end; i++) x[i] = std::sqrt(x[i]);
}

/* Exact everywhere, but not in MKL's vector library, which some builds of ATen call. */
void sqrt(Run &run) {
  static const bool is_exact = !at::hasMKL();
  const at::Tensor &x = run.in(0);
  if (is_exact || !x.is_cpu()) {
    unary(
        run, [](const at::Tensor &a) { return at::sqrt(a); },
        [](at::Tensor &out, const at::Tensor &a) { at::sqrt_out(out, a); });
    return;
  }
  run.out[0] = run.may_write(0) && x.is_contiguous() ? x : x.clone(at::MemoryFormat::Contiguous);
  const BurnLoopBody body = x.scalar_type() == at::kDouble ? sqrt_loop<double> : sqrt_loop<float>;
  run.torch.host->parallel_for(x.numel(), 4096, body, run.out[0].data_ptr());
}

/* NaN stays NaN; ATen makes 0 of it. */
void sign(Run &run) {
  const at::Tensor &x = run.in(0), signs = at::sign(x);
  run.out[0] = is_float(x) ? at::where(at::isnan(x), x, signs) : signs;
}

/* Vector libraries overflow near the largest numbers, where log1p is log. */
void log1p(Run &run) {
  const at::Tensor &x = run.in(0);
  run.out[0] = at::where(x.gt(1e30), at::log(x), at::log1p(x));
}

void cast(Run &run) {
  const at::Tensor &x = run.in(0);
  const BurnDType from = run.call->inputs[0]->dtype, to = run.desc().dtype;
  if (is_float(x) && burn_dtype_kind(to) == BURN_KIND_INT) {
    run.out[0] = whole_numbers_of(x, to);
  } else if (to == BURN_DTYPE_BOOL) {
    run.out[0] = x.ne(0);
  } else if (from == BURN_DTYPE_F64 && is_half(to)) {
    run.out[0] = half_of_f64(x, scalar_type(to));
  } else if (burn_dtype_kind(from) == BURN_KIND_INT && is_half(to)) {
    run.out[0] = half_of_whole(x, scalar_type(to));
  } else {
    run.out[0] = x.to(scalar_type(to));
  }
}

/* -- two inputs ------------------------------------------------------------------------------- */

/* The divisor without 0 and -1, at which integer division traps (the least integer by -1 overflows). */
struct SafeDivisor {
  at::Tensor value, is_zero, is_minus_one;
};

SafeDivisor safe_divisor(const at::Tensor &b) {
  SafeDivisor safe;
  safe.is_zero = b.eq(0);
  safe.is_minus_one = b.scalar_type() == at::kByte ? at::zeros_like(safe.is_zero) : b.eq(-1);
  safe.value = b.masked_fill(at::logical_or(safe.is_zero, safe.is_minus_one), 1);
  return safe;
}

at::Tensor whole_quotient(const at::Tensor &a, const at::Tensor &b) {
  const SafeDivisor safe = safe_divisor(b);
  const at::Tensor quotient = at::div(a, safe.value, "trunc");
  return at::where(safe.is_minus_one, at::neg(a), quotient).masked_fill(safe.is_zero, 0);
}

at::Tensor whole_remainder(const at::Tensor &a, const at::Tensor &b) {
  const SafeDivisor safe = safe_divisor(b);
  return at::remainder(a, safe.value).masked_fill(at::logical_or(safe.is_zero, safe.is_minus_one), 0);
}

void add(Run &run) {
  binary(
      run, [](const at::Tensor &a, const at::Tensor &b) { return at::add(a, b); },
      [](at::Tensor &out, const at::Tensor &a, const at::Tensor &b) { at::add_out(out, a, b); });
}
void sub(Run &run) {
  binary(
      run, [](const at::Tensor &a, const at::Tensor &b) { return at::sub(a, b); },
      [](at::Tensor &out, const at::Tensor &a, const at::Tensor &b) { at::sub_out(out, a, b); });
}
void mul(Run &run) {
  binary(
      run, [](const at::Tensor &a, const at::Tensor &b) { return at::mul(a, b); },
      [](at::Tensor &out, const at::Tensor &a, const at::Tensor &b) { at::mul_out(out, a, b); });
}
void div(Run &run) {
  if (!is_float(run.in(0))) {
    run.out[0] = whole_quotient(run.in(0), run.in(1));
    return;
  }
  binary(
      run, [](const at::Tensor &a, const at::Tensor &b) { return at::div(a, b); },
      [](at::Tensor &out, const at::Tensor &a, const at::Tensor &b) { at::div_out(out, a, b); });
}
void remainder(Run &run) {
  run.out[0] = is_float(run.in(0)) ? at::remainder(run.in(0), run.in(1)) : whole_remainder(run.in(0), run.in(1));
}
void powf(Run &run) { run.out[0] = at::pow(run.in(0), run.in(1)); }
void fmod(Run &run) { run.out[0] = at::fmod(run.in(0), run.in(1)); }
void atan2(Run &run) { run.out[0] = at::atan2(run.in(0), run.in(1)); }

/* An infinity wins over NaN, which not every vector library knows. */
void hypot(Run &run) {
  const at::Tensor &a = run.in(0), &b = run.in(1);
  const at::Tensor infinite = at::logical_or(a.isinf(), b.isinf());
  run.out[0] = at::hypot(a, b).masked_fill(infinite, INFINITY);
}

void max_pair(Run &run) { run.out[0] = at::where(run.in(1).gt(run.in(0)), run.in(1), run.in(0)); }
void min_pair(Run &run) { run.out[0] = at::where(run.in(1).lt(run.in(0)), run.in(1), run.in(0)); }

/* The sign apart, so that the parity of exponents beyond 2^53 is right. Integers: in i64, the lowest bits stay. */
void powi(Run &run) {
  const at::Tensor &a = run.in(0), b = run.in(1).to(at::kLong);
  if (!is_float(a)) {
    run.out[0] = at::pow(a.to(at::kLong), b);
    return;
  }
  const at::Tensor base = a.to(at::kDouble);
  const at::Tensor size = at::pow(at::abs(base), b.to(at::kDouble));
  const at::Tensor negative = at::logical_and(base.signbit(), at::bitwise_and(b, 1).ne(0));
  run.out[0] = at::where(negative, at::neg(size), size);
}

/* Whether each shift is below the number of bits, and the shifts with 0 where not. */
void shift(Run &run, bool left) {
  const at::Tensor &a = run.in(0), &b = run.in(1);
  const int64_t bits = 8 * static_cast<int64_t>(a.element_size());
  const at::Tensor outside = at::logical_or(b.lt(0), b.ge(bits));
  if (left) {
    run.out[0] = at::bitwise_left_shift(a, b.masked_fill(outside, 0)).masked_fill(outside, 0);
  } else if (a.scalar_type() == at::kByte) {
    run.out[0] = at::bitwise_right_shift(a, b.masked_fill(outside, 0)).masked_fill(outside, 0);
  } else {
    run.out[0] = at::bitwise_right_shift(a, b.masked_fill(outside, bits - 1)); /* leaves the sign */
  }
}
void left_shift(Run &run) { shift(run, true); }
void right_shift(Run &run) { shift(run, false); }

/* -- an input and a number -------------------------------------------------------------------- */

const BurnAttr &value_of(const Run &run) { return run.call->attrs[0]; }

/* An integer dtype takes the lowest bits of the number, so that u8 + -1 works. */
at::Scalar wrapped(const Run &run, const BurnAttr &number) {
  const int64_t whole = burn_attr_to_i64(&number);
  switch (run.call->inputs[0]->dtype) {
    case BURN_DTYPE_U8:
      return static_cast<int64_t>(static_cast<uint8_t>(whole));
    case BURN_DTYPE_I8:
      return static_cast<int64_t>(static_cast<int8_t>(whole));
    case BURN_DTYPE_I16:
      return static_cast<int64_t>(static_cast<int16_t>(whole));
    case BURN_DTYPE_I32:
      return static_cast<int64_t>(static_cast<int32_t>(whole));
    default:
      return whole;
  }
}

/* The number as an element: rounded to a float dtype, or the nearest of an integer dtype. */
at::Scalar element(const Run &run, const BurnAttr &number) {
  if (is_float(run.in(0))) return run.number(number);
  return saturated(number, run.call->inputs[0]->dtype);
}

at::Tensor scalar_tensor(const Run &run, const at::Scalar &value) { return at::zeros_like(run.in(0)).fill_(value); }

void add_scalar(Run &run) {
  const at::Scalar value = is_float(run.in(0)) ? at::Scalar(run.number(value_of(run))) : wrapped(run, value_of(run));
  run.out[0] = run.may_write(0) ? run.inputs[0].add_(value) : at::add(run.in(0), value);
}
void mul_scalar(Run &run) {
  const at::Scalar value = is_float(run.in(0)) ? at::Scalar(run.number(value_of(run))) : wrapped(run, value_of(run));
  run.out[0] = run.may_write(0) ? run.inputs[0].mul_(value) : at::mul(run.in(0), value);
}
/* By a tensor of one element: with a number ATen multiplies by its reciprocal, which rounds twice. */
void div_scalar(Run &run) {
  const at::Tensor &x = run.in(0);
  if (!is_float(x)) {
    run.out[0] = whole_quotient(x, scalar_tensor(run, element(run, value_of(run))));
    return;
  }
  const at::Tensor divisor = at::full({1}, run.number(value_of(run)), x.options());
  run.out[0] = run.may_write(0) ? run.inputs[0].div_(divisor) : at::div(x, divisor);
}
void remainder_scalar(Run &run) {
  const at::Scalar value = element(run, value_of(run));
  run.out[0] =
      is_float(run.in(0)) ? at::remainder(run.in(0), value) : whole_remainder(run.in(0), scalar_tensor(run, value));
}

void powf_scalar(Run &run) {
  const at::Tensor &x = run.in(0);
  const double exponent = run.number(value_of(run));
  if (exponent == 0)
    run.out[0] = at::ones_like(x);
  else if (exponent == 1)
    run.out[0] = x;
  else if (exponent == 2)
    run.out[0] = at::mul(x, x);
  else if (exponent == 3)
    run.out[0] = at::mul(at::mul(x, x), x);
  else if (exponent == -1)
    run.out[0] = at::reciprocal(x);
  else if (exponent == -2)
    run.out[0] = at::reciprocal(at::mul(x, x));
  else
    run.out[0] = at::pow(x, at::full({1}, exponent, x.options()));
}

/* NaN is not a bound; NaN elements stay. */
void clamp_min(Run &run) {
  const bool is_nan = std::isnan(burn_attr_to_f64(&value_of(run)));
  run.out[0] = is_nan ? run.in(0) : at::clamp_min(run.in(0), element(run, value_of(run)));
}
void clamp_max(Run &run) {
  const bool is_nan = std::isnan(burn_attr_to_f64(&value_of(run)));
  run.out[0] = is_nan ? run.in(0) : at::clamp_max(run.in(0), element(run, value_of(run)));
}

const Row rows[] = {
    UNARY(neg, neg),
    UNARY(abs, abs),
    {BURN_OP_sign, sign},
    UNARY(exp, exp),
    UNARY(log, log),
    {BURN_OP_log1p, log1p},
    {BURN_OP_sqrt, sqrt},
    UNARY(recip, reciprocal),
    UNARY(sin, sin),
    UNARY(cos, cos),
    UNARY(tanh, tanh),
    UNARY(erf, erf),
    UNARY(floor, floor),
    UNARY(ceil, ceil),
    UNARY(round, round),
    UNARY(bool_not, logical_not),
    {BURN_OP_cast, cast, Halves::keep},
    UNARY(tan, tan),
    UNARY(sinh, sinh),
    UNARY(cosh, cosh),
    UNARY(asin, asin),
    UNARY(acos, acos),
    UNARY(atan, atan),
    UNARY(asinh, asinh),
    UNARY(acosh, acosh),
    UNARY(atanh, atanh),
    UNARY(trunc, trunc),
    UNARY(bitwise_not, bitwise_not),
    {BURN_OP_is_nan, [](Run &run) { run.out[0] = run.in(0).isnan(); }},
    {BURN_OP_is_inf, [](Run &run) { run.out[0] = run.in(0).isinf(); }},
    {BURN_OP_is_finite, [](Run &run) { run.out[0] = run.in(0).isfinite(); }},
    {BURN_OP_add, add},
    {BURN_OP_sub, sub},
    {BURN_OP_mul, mul},
    {BURN_OP_div, div},
    {BURN_OP_remainder, remainder},
    {BURN_OP_powf, powf},
    {BURN_OP_max_pair, max_pair},
    {BURN_OP_min_pair, min_pair},
    {BURN_OP_bool_and, [](Run &run) { run.out[0] = at::logical_and(run.in(0), run.in(1)); }},
    {BURN_OP_bool_or, [](Run &run) { run.out[0] = at::logical_or(run.in(0), run.in(1)); }},
    {BURN_OP_bool_xor, [](Run &run) { run.out[0] = at::logical_xor(run.in(0), run.in(1)); }},
    {BURN_OP_atan2, atan2},
    {BURN_OP_hypot, hypot},
    {BURN_OP_fmod, fmod},
    {BURN_OP_powi, powi, Halves::widen},
    {BURN_OP_bitwise_and, [](Run &run) { run.out[0] = at::bitwise_and(run.in(0), run.in(1)); }},
    {BURN_OP_bitwise_or, [](Run &run) { run.out[0] = at::bitwise_or(run.in(0), run.in(1)); }},
    {BURN_OP_bitwise_xor, [](Run &run) { run.out[0] = at::bitwise_xor(run.in(0), run.in(1)); }},
    {BURN_OP_bitwise_left_shift, left_shift},
    {BURN_OP_bitwise_right_shift, right_shift},
    {BURN_OP_add_scalar, add_scalar},
    {BURN_OP_mul_scalar, mul_scalar},
    {BURN_OP_div_scalar, div_scalar},
    {BURN_OP_remainder_scalar, remainder_scalar},
    {BURN_OP_powf_scalar, powf_scalar, Halves::widen},
    {BURN_OP_clamp_min, clamp_min},
    {BURN_OP_clamp_max, clamp_max},
};

}  // namespace

Rows elementwise_rows() { return {rows, sizeof rows / sizeof rows[0]}; }

}  // namespace burn_torch
