//! elementwise.rs - ops that work element by element: one row each in `function`, and a loop per kind of function.
use crate::boundary::Result;
use crate::burn::*;
use crate::call::Call;
use crate::kernels::Kernel;
use crate::tensor::{self, broadcast, round_even, round_to, saturate, Attr, Number, Output, Tensor, Walk};
use std::cmp::Ordering;

/// What an op does to numbers: in f64 where the first input has floats, in i64 for integers and bools.
#[derive(Clone, Copy)]
enum Function {
    One(fn(f64) -> f64, fn(i64) -> i64),
    Two(fn(f64, f64) -> f64, fn(i64, i64) -> i64),
    Compare(fn(f64, f64) -> bool, fn(i64, i64) -> bool),
    /// The function of another op, with the attribute `value` as second operand.
    Scalar(u32, Meets),
    /// The exponent is an integer also where the base is a float.
    Power,
}
use Function::*;

/// How a number meets integers that may not hold it; see the top of burn/plugin/ops.def.
#[derive(Clone, Copy, PartialEq)]
enum Meets {
    /// In 64 bits, and the result wraps: u8 + -1 is u8 - 1.
    Wraps,
    /// As the nearest that the dtype has.
    Fits,
    /// Likewise, but a NaN is not a bound.
    Bounds,
}
use Meets::*;

/// A function of floats alone.
fn float(f: fn(f64) -> f64) -> Function {
    One(f, |a| a)
}
fn floats(f: fn(f64, f64) -> f64) -> Function {
    Two(f, |a, _| a)
}
/// A function of integers alone.
fn ints(f: fn(i64, i64) -> i64) -> Function {
    Two(|a, _| a, f)
}
/// The same text for both.
macro_rules! both {
    (|$a:ident, $b:ident| $text:expr) => {
        Two(|$a, $b| $text, |$a, $b| $text)
    };
}
macro_rules! compare {
    (|$a:ident, $b:ident| $text:expr) => {
        Compare(|$a, $b| $text, |$a, $b| $text)
    };
}

/// The sign of the divisor; x % 0 is 0.
fn int_modulo(a: i64, b: i64) -> i64 {
    let rest = if b == 0 { 0 } else { a.wrapping_rem(b) };
    if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }
}
fn float_modulo(a: f64, b: f64) -> f64 {
    let rest = a % b;
    if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
}

/// NaN stays NaN; -0 becomes 0.
fn float_sign(a: f64) -> f64 {
    if a.is_nan() { a } else { (a > 0.0) as i32 as f64 - (a < 0.0) as i32 as f64 }
}

/// The function of an op; None: it belongs to another family, or has no kernel.
fn function(op: u32) -> Option<Function> {
    let function = match op {
        // one input
        BURN_OP_neg => One(|a| -a, i64::wrapping_neg),
        BURN_OP_abs => One(f64::abs, i64::wrapping_abs),
        BURN_OP_sign => One(float_sign, i64::signum),
        BURN_OP_exp => float(f64::exp),
        BURN_OP_log => float(f64::ln),
        BURN_OP_log1p => float(f64::ln_1p),
        BURN_OP_sqrt => float(f64::sqrt),
        BURN_OP_recip => float(|a| 1.0 / a),
        BURN_OP_sin => float(f64::sin),
        BURN_OP_cos => float(f64::cos),
        BURN_OP_tanh => float(f64::tanh),
        BURN_OP_erf => float(|a| unsafe { tensor::erf(a) }),
        BURN_OP_floor => float(f64::floor),
        BURN_OP_ceil => float(f64::ceil),
        BURN_OP_round => float(round_even),
        BURN_OP_tan => float(f64::tan),
        BURN_OP_sinh => float(f64::sinh),
        BURN_OP_cosh => float(f64::cosh),
        BURN_OP_asin => float(f64::asin),
        BURN_OP_acos => float(f64::acos),
        BURN_OP_atan => float(f64::atan),
        BURN_OP_asinh => float(|a| unsafe { tensor::asinh(a) }),
        BURN_OP_acosh => float(|a| unsafe { tensor::acosh(a) }),
        BURN_OP_atanh => float(|a| unsafe { tensor::atanh(a) }),
        BURN_OP_trunc => float(f64::trunc),
        BURN_OP_cast => One(|a| a, |a| a), // the dtype of the result does it
        BURN_OP_bitwise_not => One(|a| a, |a| !a),
        BURN_OP_bool_not => One(|a| a, |a| (a == 0) as i64),
        BURN_OP_is_nan => Compare(|a, _| a.is_nan(), |_, _| false),
        BURN_OP_is_inf => Compare(|a, _| a.is_infinite(), |_, _| false),
        // two inputs
        BURN_OP_add => Two(|a, b| a + b, i64::wrapping_add),
        BURN_OP_sub => Two(|a, b| a - b, i64::wrapping_sub),
        BURN_OP_mul => Two(|a, b| a * b, i64::wrapping_mul),
        BURN_OP_div => Two(|a, b| a / b, |a, b| if b == 0 { 0 } else { a.wrapping_div(b) }),
        BURN_OP_remainder => Two(float_modulo, int_modulo),
        BURN_OP_powf => floats(f64::powf),
        BURN_OP_powi => Power,
        BURN_OP_atan2 => floats(f64::atan2),
        BURN_OP_hypot => floats(f64::hypot),
        BURN_OP_fmod => floats(|a, b| a % b),
        BURN_OP_max_pair => both!(|a, b| if b > a { b } else { a }),
        BURN_OP_min_pair => both!(|a, b| if b < a { b } else { a }),
        BURN_OP_bitwise_and => ints(|a, b| a & b),
        BURN_OP_bitwise_or => ints(|a, b| a | b),
        BURN_OP_bitwise_xor => ints(|a, b| a ^ b),
        BURN_OP_bitwise_left_shift => ints(|a, b| if (0..64).contains(&b) { a << b } else { 0 }),
        BURN_OP_bitwise_right_shift => ints(|a, b| a >> if (0..64).contains(&b) { b } else { 63 }),
        BURN_OP_bool_and => ints(|a, b| a & b),
        BURN_OP_bool_or => ints(|a, b| a | b),
        BURN_OP_bool_xor => ints(|a, b| a ^ b),
        BURN_OP_equal => compare!(|a, b| a == b),
        BURN_OP_not_equal => compare!(|a, b| a != b),
        BURN_OP_greater => compare!(|a, b| a > b),
        BURN_OP_greater_equal => compare!(|a, b| a >= b),
        BURN_OP_lower => compare!(|a, b| a < b),
        BURN_OP_lower_equal => compare!(|a, b| a <= b),
        // an input and a number
        BURN_OP_add_scalar => Scalar(BURN_OP_add, Wraps),
        BURN_OP_mul_scalar => Scalar(BURN_OP_mul, Wraps),
        BURN_OP_div_scalar => Scalar(BURN_OP_div, Fits),
        BURN_OP_remainder_scalar => Scalar(BURN_OP_remainder, Fits),
        BURN_OP_powf_scalar => Scalar(BURN_OP_powf, Fits),
        BURN_OP_clamp_min => Scalar(BURN_OP_max_pair, Bounds),
        BURN_OP_clamp_max => Scalar(BURN_OP_min_pair, Bounds),
        BURN_OP_equal_scalar => Scalar(BURN_OP_equal, Fits),
        BURN_OP_not_equal_scalar => Scalar(BURN_OP_not_equal, Fits),
        BURN_OP_greater_scalar => Scalar(BURN_OP_greater, Fits),
        BURN_OP_greater_equal_scalar => Scalar(BURN_OP_greater_equal, Fits),
        BURN_OP_lower_scalar => Scalar(BURN_OP_lower, Fits),
        BURN_OP_lower_equal_scalar => Scalar(BURN_OP_lower_equal, Fits),
        _ => return None,
    };
    Some(function)
}

pub fn kernel(op: u32) -> Option<Kernel> {
    function(op).map(|_| run as Kernel)
}

fn run(call: &Call) -> Result {
    let (x, out) = (call.input(0), call.output(0));
    match function(call.op()).expect("a row") {
        One(f, _) if x.is_float() => map(x, &out, f),
        One(_, f) => map(x, &out, f),
        Two(f, _) if x.is_float() => map_pairs(call, f),
        Two(_, f) => map_pairs(call, f),
        Compare(f, _) if x.is_float() => map_pairs(call, |a: f64, b: f64| f(a, b) as u8 as f64),
        Compare(_, f) => map_pairs(call, |a: i64, b: i64| f(a, b) as i64),
        Scalar(of, meets) => match function(of).expect("the row of the op with two inputs") {
            Two(f, _) if x.is_float() => map(x, &out, with_number(call, f)),
            Two(_, f) => map_ints_with_number(call, meets, f),
            Compare(f, _) if x.is_float() => {
                let f = with_number(call, f);
                map(x, &out, |a: f64| f(a) as u8 as f64)
            }
            Compare(f, _) => compare_ints_with_number(call, f),
            _ => unreachable!("a function of two numbers"),
        },
        Power => power(call),
    }
    Ok(())
}

fn map<N: Number>(x: Tensor, out: &Output, f: impl Fn(N) -> N) {
    for i in 0..out.count() {
        f(N::get(x, i)).put(out, i);
    }
}

/// A test of one input has no second: it gets the first twice.
fn map_pairs<N: Number>(call: &Call, f: impl Fn(N, N) -> N) {
    let (a, out) = (call.input(0), call.output(0));
    let b = call.optional(1).unwrap_or(a);
    let steps = [broadcast(a, out.rank()), broadcast(b, out.rank())];
    for (i, [at_a, at_b]) in Walk::new(out.shape(), [0, 0], steps).enumerate() {
        f(N::get(a, at_a), N::get(b, at_b)).put(&out, i);
    }
}

// -- a number as second operand ---------------------------------------------------------------------------------------

/// A number that meets floats is one of their dtype: it is rounded to it first.
fn with_number<T>(call: &Call, f: fn(f64, f64) -> T) -> impl Fn(f64) -> T {
    let value = round_to(call.input(0).dtype(), call.attr(0).number_f64());
    move |a| f(a, value)
}

fn map_ints_with_number(call: &Call, meets: Meets, f: fn(i64, i64) -> i64) {
    let (x, out, number) = (call.input(0), call.output(0), call.attr(0));
    let is_no_bound = meets == Bounds && number.number_f64().is_nan();
    let value = match meets {
        Wraps => number.number_i64(),
        _ => saturate(x.dtype(), number.number_i64()),
    };
    map(x, &out, |a: i64| if is_no_bound { a } else { f(a, value) })
}

/// Integers are compared with the number as it is, without rounding either: i64 has numbers that f64 has not, and f64
/// has fractions.
fn compare_ints_with_number(call: &Call, f: fn(f64, f64) -> bool) {
    let (x, out, number) = (call.input(0), call.output(0), call.attr(0));
    map(x, &out, |a: i64| f(order(a, number), 0.0) as i64)
}

/// -1, 0, 1: whether a is below, equal to or above a number; NaN if that is.
fn order(a: i64, number: &BurnAttr) -> f64 {
    if number.tag == BURN_ATTR_I64 {
        return a.cmp(&number.int()) as i32 as f64;
    }
    let b = number.number_f64();
    if b.is_nan() {
        return b;
    }
    if b >= 9223372036854775808.0 {
        return -1.0;
    }
    if b < -9223372036854775808.0 {
        return 1.0;
    }
    match a.cmp(&(b.floor() as i64)) {
        Ordering::Equal if b.floor() < b => -1.0,
        order => order as i32 as f64,
    }
}

// -- powers -----------------------------------------------------------------------------------------------------------

/// Wraps; of negative exponents what truncates to an integer: 1 / 1, 1 / -1, else 0.
fn int_power(a: i64, b: i64) -> i64 {
    if b < 0 && a != 1 && a != -1 {
        return 0;
    }
    let (mut power, mut square, mut rest) = (1i64, a, b.unsigned_abs());
    while rest > 0 {
        if rest & 1 == 1 {
            power = power.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        rest >>= 1;
    }
    power
}

/// The sign comes from the parity, which f64 does not hold for large exponents.
fn float_power(a: f64, b: i64) -> f64 {
    let size = a.abs().powf(b as f64);
    if b % 2 != 0 && a.is_sign_negative() { -size } else { size }
}

fn power(call: &Call) {
    let (x, exponents, out) = (call.input(0), call.input(1), call.output(0));
    let steps = [broadcast(x, out.rank()), broadcast(exponents, out.rank())];
    for (i, [at, at_exponent]) in Walk::new(out.shape(), [0, 0], steps).enumerate() {
        let exponent = exponents.int(at_exponent);
        if x.is_float() {
            out.put_float(i, float_power(x.float(at), exponent));
        } else {
            out.put_int(i, int_power(x.int(at), exponent));
        }
    }
}
