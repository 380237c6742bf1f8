//! create.rs - tensors from nothing: full, arange, and the random ops, whose numbers burn/plugin/random.h defines to
//! the bit. The host lends their generator.
use crate::boundary::{fail, Result};
use crate::burn::*;
use crate::call::Call;
use crate::kernels::Kernel;
use crate::tensor::{round_to, Attr};

pub fn kernel(op: u32) -> Option<Kernel> {
    let kernel: Kernel = match op {
        BURN_OP_full => full,
        BURN_OP_arange => arange,
        BURN_OP_random_uniform => random_uniform,
        BURN_OP_random_normal => random_normal,
        BURN_OP_random_bernoulli => random_bernoulli,
        _ => return None,
    };
    Some(kernel)
}

/// Attributes of creation ops: shape, dtype, then their own.
fn full(call: &Call) -> Result {
    let out = call.output(0);
    (0..out.count()).for_each(|i| out.put_number(i, call.attr(2)));
    Ok(())
}

fn arange(call: &Call) -> Result {
    let (out, start, step) = (call.output(0), call.attr(2).int(), call.attr(3).int());
    (0..out.count()).for_each(|i| out.put_int(i, start.wrapping_add(step.wrapping_mul(i as i64))));
    Ok(())
}

/// Calls `put(i, word of element i)` for all elements; seed and offset are the third and fourth attribute of every
/// random op.
fn for_each_word(call: &Call, mut put: impl FnMut(usize, u32)) -> Result {
    let (seed, offset, count) = (call.attr(2).int() as u64, call.attr(3).int() as u64, call.output(0).count());
    let mut words = [0u32; 256];
    for first in (0..count).step_by(words.len()) {
        let some = &mut words[..256.min(count - first)];
        call.host.random_words(seed, offset, first as u64, some)?;
        for (k, &word) in some.iter().enumerate() {
            put(first + k, word);
        }
    }
    Ok(())
}

fn random_uniform(call: &Call) -> Result {
    let (out, attrs) = (call.output(0), call.attrs::<BurnAttrs_random_uniform>());
    if !out.is_float() {
        return uniform_ints(call, attrs.low.number_i64(), attrs.high.number_i64());
    }
    let (low, high) = (attrs.low.number_f64(), attrs.high.number_f64());
    if out.dtype() == BURN_DTYPE_F64 {
        return for_each_word(call, |i, word| {
            let unit = (word as f64 + 0.5) * (1.0 / 4294967296.0);
            let sum = low + unit * (high - low);
            out.put_float(i, if sum < high { sum } else { low });
        });
    }
    let (low, high) = (round_to(out.dtype(), low) as f32, round_to(out.dtype(), high) as f32);
    for_each_word(call, |i, word| {
        let unit = (word >> 8) as f32 * (1.0 / 16777216.0);
        let sum = low + unit * (high - low);
        let rounded = round_to(out.dtype(), (if sum < high { sum } else { low }) as f64);
        out.put_float(i, if rounded < high as f64 { rounded } else { low as f64 });
    })
}

fn uniform_ints(call: &Call, low: i64, high: i64) -> Result {
    let out = call.output(0);
    let range = if high > low { (high as u64).wrapping_sub(low as u64) } else { 0 };
    if range > 1 << 32 {
        return fail(BURN_STATUS_INVALID_ARGUMENT, format!("the range {low}..{high} is larger than 2^32"));
    }
    for_each_word(call, |i, word| {
        let scaled = (word as u128 * range as u128 >> 32) as i64;
        out.put_int(i, low.wrapping_add(scaled));
    })
}

/// Box-Muller: the words of an even and an odd element make two numbers. Chunks have an even length, so a pair is never
/// torn apart.
fn random_normal(call: &Call) -> Result {
    let (out, attrs) = (call.output(0), call.attrs::<BurnAttrs_random_normal>());
    let (mean, std) = (attrs.mean.number_f64(), attrs.std.number_f64());
    let (unit, turn) = (1.0 / 4294967296.0, std::f64::consts::TAU);
    let (seed, offset) = (attrs.seed.int() as u64, attrs.offset.int() as u64);
    let mut words = [0u32; 256];
    for first in (0..out.count()).step_by(words.len()) {
        call.host.random_words(seed, offset, first as u64, &mut words)?;
        for k in 0..words.len().min(out.count() - first) {
            let (a, b) = (words[k - k % 2] as f64, words[k - k % 2 + 1] as f64);
            let (radius, angle) = ((-2.0 * ((a + 1.0) * unit).ln()).sqrt(), turn * b * unit);
            let value = mean + std * (radius * if k % 2 == 0 { angle.cos() } else { angle.sin() });
            let is_f64 = out.dtype() == BURN_DTYPE_F64;
            out.put_float(first + k, if is_f64 { value } else { value as f32 as f64 }); // halves go through f32
        }
    }
    Ok(())
}

fn random_bernoulli(call: &Call) -> Result {
    let (out, prob) = (call.output(0), call.attrs::<BurnAttrs_random_bernoulli>().prob.number_f64());
    let threshold = (prob * 4294967296.0 + 0.5).min(4294967296.0) as u64;
    let threshold = if prob > 0.0 { threshold } else { 0 };
    for_each_word(call, |i, word| out.put_int(i, ((word as u64) < threshold) as i64))
}
