// elementwise.cpp - ops that work element by element: one row each in `function`, and a loop per kind of function.
#include "call.hpp"

#include <cmath>

namespace backend {
namespace {

enum class Kind { none, elements, scalar, power };

// How a number meets integers that may not hold it; see the top of burn/plugin/ops.def.
enum class Meets {
  wraps,   // in 64 bits, and the result wraps: u8 + -1 is u8 - 1
  fits,    // as the nearest that the dtype has
  bounds,  // likewise, but a NaN is not a bound
  exact    // compared as it is
};

// What an op does to numbers: in f64 where the first input has floats, in i64 for integers and bools. An op of one
// input gets it twice.
struct Function {
  Kind kind = Kind::none;
  double (*real)(double, double) = nullptr;
  int64_t (*integer)(int64_t, int64_t) = nullptr;
  uint32_t of = 0;  // scalar: the op whose function it is
  Meets meets = Meets::exact;
};

using Real = double (*)(double, double);
using Integer = int64_t (*)(int64_t, int64_t);

Function both(Real real, Integer integer) { return {Kind::elements, real, integer, 0, Meets::exact}; }
Function reals(Real real) {
  return both(real, [](int64_t a, int64_t) { return a; });
}
Function integers(Integer integer) {
  return both([](double a, double) { return a; }, integer);
}
Function scalar(uint32_t of, Meets meets) { return {Kind::scalar, nullptr, nullptr, of, meets}; }

// The function of C's mathematical library with this name.
#define REAL(name) reals([](double a, double) -> double { return std::name(a); })
// The same text for both, where it gives one of the two numbers, or 0 or 1.
#define SAME(text) \
  both([](double a, double b) -> double { return text; }, [](int64_t a, int64_t b) -> int64_t { return text; })

int64_t divide(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? product(a, b) : a / b; }

// The sign of the divisor; x % 0 is 0.
int64_t modulo(int64_t a, int64_t b) {
  const int64_t rest = b == 0 || b == -1 ? 0 : a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
double modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// b in 0 .. 63; without the shift of a negative number, which is left open before C++20.
int64_t shift_right(int64_t a, int64_t b) {
  const auto bits = static_cast<uint64_t>(a);
  return wrap(a < 0 ? ~(~bits >> b) : bits >> b);
}

Function function_of_one(uint32_t op) {
  switch (op) {
    case BURN_OP_neg:
      return both([](double a, double) { return -a; }, [](int64_t a, int64_t) { return product(a, int64_t{-1}); });
    case BURN_OP_abs:
      return both([](double a, double) { return std::fabs(a); },
                  [](int64_t a, int64_t) { return a < 0 ? product(a, int64_t{-1}) : a; });
    case BURN_OP_sign:
      return both([](double a, double) -> double { return std::isnan(a) ? a : (a > 0) - (a < 0); },
                  [](int64_t a, int64_t) { return int64_t{a > 0} - int64_t{a < 0}; });
    case BURN_OP_exp: return REAL(exp);
    case BURN_OP_log: return REAL(log);
    case BURN_OP_log1p: return REAL(log1p);
    case BURN_OP_sqrt: return REAL(sqrt);
    case BURN_OP_recip: return reals([](double a, double) { return 1 / a; });
    case BURN_OP_sin: return REAL(sin);
    case BURN_OP_cos: return REAL(cos);
    case BURN_OP_tanh: return REAL(tanh);
    case BURN_OP_erf: return REAL(erf);
    case BURN_OP_floor: return REAL(floor);
    case BURN_OP_ceil: return REAL(ceil);
    case BURN_OP_round: return REAL(rint);
    case BURN_OP_tan: return REAL(tan);
    case BURN_OP_sinh: return REAL(sinh);
    case BURN_OP_cosh: return REAL(cosh);
    case BURN_OP_asin: return REAL(asin);
    case BURN_OP_acos: return REAL(acos);
    case BURN_OP_atan: return REAL(atan);
    case BURN_OP_asinh: return REAL(asinh);
    case BURN_OP_acosh: return REAL(acosh);
    case BURN_OP_atanh: return REAL(atanh);
    case BURN_OP_trunc: return REAL(trunc);
    case BURN_OP_is_nan: return REAL(isnan);
    case BURN_OP_is_inf: return REAL(isinf);
    case BURN_OP_cast: return both([](double a, double) { return a; }, [](int64_t a, int64_t) { return a; });
    case BURN_OP_bitwise_not: return integers([](int64_t a, int64_t) { return ~a; });
    case BURN_OP_bool_not: return integers([](int64_t a, int64_t) { return int64_t{a == 0}; });
    default: return {};
  }
}

Function function_of_two(uint32_t op) {
  switch (op) {
    case BURN_OP_add: return both(sum, sum);
    case BURN_OP_sub:
      return both([](double a, double b) { return a - b; },
                  [](int64_t a, int64_t b) { return sum(a, product(b, int64_t{-1})); });
    case BURN_OP_mul: return both(product, product);
    case BURN_OP_div: return both([](double a, double b) { return a / b; }, divide);
    case BURN_OP_remainder: return both(modulo, modulo);
    case BURN_OP_powf: return reals([](double a, double b) { return std::pow(a, b); });
    case BURN_OP_powi: return {Kind::power, nullptr, nullptr, 0, Meets::exact};
    case BURN_OP_atan2: return reals([](double a, double b) { return std::atan2(a, b); });
    case BURN_OP_hypot: return reals([](double a, double b) { return std::hypot(a, b); });
    case BURN_OP_fmod: return reals([](double a, double b) { return std::fmod(a, b); });
    case BURN_OP_max_pair: return SAME(b > a ? b : a);
    case BURN_OP_min_pair: return SAME(b < a ? b : a);
    case BURN_OP_bitwise_and: return integers([](int64_t a, int64_t b) { return a & b; });
    case BURN_OP_bitwise_or: return integers([](int64_t a, int64_t b) { return a | b; });
    case BURN_OP_bitwise_xor: return integers([](int64_t a, int64_t b) { return a ^ b; });
    case BURN_OP_bitwise_left_shift:
      return integers([](int64_t a, int64_t b) { return b < 0 || b > 63 ? 0 : wrap(static_cast<uint64_t>(a) << b); });
    case BURN_OP_bitwise_right_shift:
      return integers([](int64_t a, int64_t b) { return shift_right(a, b < 0 || b > 63 ? 63 : b); });
    case BURN_OP_bool_and: return integers([](int64_t a, int64_t b) { return a & b; });
    case BURN_OP_bool_or: return integers([](int64_t a, int64_t b) { return a | b; });
    case BURN_OP_bool_xor: return integers([](int64_t a, int64_t b) { return a ^ b; });
    case BURN_OP_equal: return SAME(a == b);
    case BURN_OP_not_equal: return SAME(a != b);
    case BURN_OP_greater: return SAME(a > b);
    case BURN_OP_greater_equal: return SAME(a >= b);
    case BURN_OP_lower: return SAME(a < b);
    case BURN_OP_lower_equal: return SAME(a <= b);
    default: return {};
  }
}

Function function_with_number(uint32_t op) {
  switch (op) {
    case BURN_OP_add_scalar: return scalar(BURN_OP_add, Meets::wraps);
    case BURN_OP_mul_scalar: return scalar(BURN_OP_mul, Meets::wraps);
    case BURN_OP_div_scalar: return scalar(BURN_OP_div, Meets::fits);
    case BURN_OP_remainder_scalar: return scalar(BURN_OP_remainder, Meets::fits);
    case BURN_OP_powf_scalar: return scalar(BURN_OP_powf, Meets::fits);
    case BURN_OP_clamp_min: return scalar(BURN_OP_max_pair, Meets::bounds);
    case BURN_OP_clamp_max: return scalar(BURN_OP_min_pair, Meets::bounds);
    case BURN_OP_equal_scalar: return scalar(BURN_OP_equal, Meets::exact);
    case BURN_OP_not_equal_scalar: return scalar(BURN_OP_not_equal, Meets::exact);
    case BURN_OP_greater_scalar: return scalar(BURN_OP_greater, Meets::exact);
    case BURN_OP_greater_equal_scalar: return scalar(BURN_OP_greater_equal, Meets::exact);
    case BURN_OP_lower_scalar: return scalar(BURN_OP_lower, Meets::exact);
    case BURN_OP_lower_equal_scalar: return scalar(BURN_OP_lower_equal, Meets::exact);
    default: return {};
  }
}

Function function(uint32_t op) {
  for (auto table : {function_of_one, function_of_two, function_with_number}) {
    const Function found = table(op);
    if (found.kind != Kind::none) return found;
  }
  return {};
}

void elements(const Call &call, const Function &f) {
  const BurnPrimitive *a = call.input(0), *b = call.input(1) ? call.input(1) : a;
  BurnPrimitive *out = call.output();
  const Steps a_steps = broadcast(a, out->rank), b_steps = broadcast(b, out->rank);
  for (int64_t i = 0; i < call.count(); i++) {
    const int64_t at_a = place(out, i, a_steps), at_b = place(out, i, b_steps);
    if (is_float(a)) {
      put(out, i, f.real(get_float(a, at_a), get_float(b, at_b)));
    } else {
      put(out, i, f.integer(get_integer(a, at_a), get_integer(b, at_b)));
    }
  }
}

// -- a number as second operand -------------------------------------------------------------------------------------

// -1, 0, 1: whether a is below, equal to or above a number; NaN if that is. Without rounding.
double order(int64_t a, const BurnAttr &number) {
  if (number.tag == BURN_ATTR_I64) return (a > number.value.i64) - (a < number.value.i64);
  const double b = number.value.f64;
  if (std::isnan(b)) return b;
  if (b >= 9223372036854775808.0) return -1;
  if (b < -9223372036854775808.0) return 1;
  const auto below = static_cast<int64_t>(std::floor(b));
  if (a != below) return a > below ? 1 : -1;
  return std::floor(b) < b ? -1 : 0;
}

void with_scalar(const Call &call, Meets meets, const Function &f) {
  const BurnPrimitive *x = call.input(0);
  BurnPrimitive *out = call.output();
  const BurnAttr &number = call.raw.attrs[0];
  const double value = burn_attr_to_f64(&number), real = round_to(x->dtype, value);
  const bool is_no_bound = meets == Meets::bounds && std::isnan(value);
  const int64_t integer = meets == Meets::wraps ? burn_attr_to_i64(&number) : saturate(x->dtype, number);
  for (int64_t i = 0; i < call.count(); i++) {
    if (is_float(x)) {
      put(out, i, f.real(get_float(x, i), real));
    } else if (meets == Meets::exact) {
      put(out, i, f.real(order(get_integer(x, i), number), 0));
    } else {
      const int64_t element = get_integer(x, i);
      put(out, i, is_no_bound ? element : f.integer(element, integer));
    }
  }
}

// -- powers ---------------------------------------------------------------------------------------------------------

// Wraps; of negative exponents what truncates to an integer: 1 / 1, 1 / -1, else 0.
int64_t power(int64_t a, int64_t b) {
  if (b < 0 && a != 1 && a != -1) return 0;
  int64_t result = 1, square = a;
  for (uint64_t rest = b < 0 ? 0 - static_cast<uint64_t>(b) : static_cast<uint64_t>(b); rest > 0; rest >>= 1) {
    if (rest & 1) result = product(result, square);
    square = product(square, square);
  }
  return result;
}

// The sign comes from the parity, which f64 does not hold for large exponents.
double power(double a, int64_t b) {
  const double size = std::pow(std::fabs(a), static_cast<double>(b));
  return b % 2 != 0 && std::signbit(a) ? -size : size;
}

void powers(const Call &call) {
  const BurnPrimitive *x = call.input(0), *exponents = call.input(1);
  BurnPrimitive *out = call.output();
  const Steps x_steps = broadcast(x, out->rank), exponent_steps = broadcast(exponents, out->rank);
  with_number(x, [&](auto zero) {
    for (int64_t i = 0; i < call.count(); i++) {
      const int64_t exponent = get_integer(exponents, place(out, i, exponent_steps));
      put(out, i, power(get<decltype(zero)>(x, place(out, i, x_steps)), exponent));
    }
  });
}

void run(const Call &call) {
  const Function f = function(call.raw.op);
  if (f.kind == Kind::scalar) return with_scalar(call, f.meets, function(f.of));
  if (f.kind == Kind::power) return powers(call);
  elements(call, f);
}

}  // namespace

Kernel elementwise_kernel(uint32_t op) { return function(op).kind == Kind::none ? nullptr : run; }

}  // namespace backend
