//! lines.rs - ops along an axis: reductions, running sums, sorting. A line is what remains when all other coordinates
//! are fixed.
use crate::boundary::Result;
use crate::burn::*;
use crate::call::Call;
use crate::kernels::Kernel;
use crate::tensor::{zeros, Attr, Number, Output, Tensor};

pub fn kernel(op: u32) -> Option<Kernel> {
    let kernel: Kernel = match op {
        BURN_OP_sum_dim => |call| fold(call, |a, b| a + b, i64::wrapping_add, 0),
        BURN_OP_prod_dim => |call| fold(call, |a, b| a * b, i64::wrapping_mul, 1),
        BURN_OP_max_dim => |call| fold(call, largest, largest, 0),
        BURN_OP_min_dim => |call| fold(call, smallest, smallest, 0),
        BURN_OP_any_dim => any,
        BURN_OP_argmax => |call| best(call, is_larger, is_larger),
        BURN_OP_argmin => |call| best(call, is_smaller, is_smaller),
        BURN_OP_cumsum => |call| scan(call, |a, b| a + b, i64::wrapping_add, Some(0)), // 0 + -0 is 0
        BURN_OP_cumprod => |call| scan(call, |a, b| a * b, i64::wrapping_mul, None),
        BURN_OP_cummin => |call| scan(call, smallest, smallest, None),
        BURN_OP_cummax => |call| scan(call, largest, largest, None),
        BURN_OP_argsort => argsort,
        _ => return None,
    };
    Some(kernel)
}

/// True for NaN alone.
fn is_nan<N: PartialOrd>(a: N) -> bool {
    a.partial_cmp(&a).is_none()
}
/// b is better than a; NaN wins, and equal ones leave it to the first.
fn is_larger<N: Number>(a: N, b: N) -> bool {
    b > a || is_nan(b) && !is_nan(a)
}
fn is_smaller<N: Number>(a: N, b: N) -> bool {
    b < a || is_nan(b) && !is_nan(a)
}
pub fn largest<N: Number>(a: N, b: N) -> N {
    if is_larger(a, b) { b } else { a }
}
pub fn smallest<N: Number>(a: N, b: N) -> N {
    if is_smaller(a, b) { b } else { a }
}

/// A tensor seen as [outer, size, inner] around an axis.
pub struct Axis {
    pub outer: usize,
    pub size: usize,
    pub inner: usize,
}

impl Axis {
    pub fn of(x: Tensor, dim: i64) -> Axis {
        let (dim, shape) = (dim as usize, x.shape());
        let product = |sizes: &[i64]| sizes.iter().product::<i64>() as usize;
        Axis { outer: product(&shape[..dim]), size: x.size(dim), inner: product(&shape[dim + 1..]) }
    }

    /// Element k of a line; lines are numbered as the elements of a result that keeps the axis with size 1.
    pub fn at(&self, line: usize, k: usize) -> usize {
        (line / self.inner * self.size + k) * self.inner + line % self.inner
    }
}

/// The axis of an op whose first attribute is `dim`.
fn axis_of(call: &Call) -> Axis {
    Axis::of(call.input(0), call.attr(0).int())
}

// -- one number per line ----------------------------------------------------------------------------------------------

fn fold(call: &Call, float: fn(f64, f64) -> f64, int: fn(i64, i64) -> i64, empty: i64) -> Result {
    if call.input(0).is_float() {
        fold_lines(call, float, empty as f64);
    } else {
        fold_lines(call, int, empty);
    }
    Ok(())
}

fn fold_lines<N: Number>(call: &Call, join: fn(N, N) -> N, empty: N) {
    let (x, out, axis) = (call.input(0), call.output(0), axis_of(call));
    for line in 0..out.count() {
        let elements = (0..axis.size).map(|k| N::get(x, axis.at(line, k)));
        elements.reduce(join).unwrap_or(empty).put(&out, line);
    }
}

/// NaN is not 0.
fn any(call: &Call) -> Result {
    let (x, out, axis) = (call.input(0), call.output(0), axis_of(call));
    for line in 0..out.count() {
        let found = (0..axis.size).map(|k| axis.at(line, k)).any(|i| x.float(i) != 0.0);
        out.put_int(line, found as i64);
    }
    Ok(())
}

fn best(call: &Call, float: fn(f64, f64) -> bool, int: fn(i64, i64) -> bool) -> Result {
    if call.input(0).is_float() {
        best_of_lines(call, float);
    } else {
        best_of_lines(call, int);
    }
    Ok(())
}

fn best_of_lines<N: Number>(call: &Call, is_better: fn(N, N) -> bool) {
    let (x, out, axis) = (call.input(0), call.output(0), axis_of(call));
    for line in 0..out.count() {
        let better = |best: usize, k: usize| {
            let (old, new) = (N::get(x, axis.at(line, best)), N::get(x, axis.at(line, k)));
            if is_better(old, new) { k } else { best }
        };
        out.put_int(line, (0..axis.size).fold(0, better) as i64);
    }
}

// -- running ----------------------------------------------------------------------------------------------------------

fn scan(call: &Call, float: fn(f64, f64) -> f64, int: fn(i64, i64) -> i64, start: Option<i64>) -> Result {
    let (x, out) = (call.input(0), call.output(0));
    if x.is_float() {
        scan_lines(x, &out, &axis_of(call), float, start.map(|start| start as f64));
    } else {
        scan_lines(x, &out, &axis_of(call), int, start);
    }
    Ok(())
}

/// What is put is rounded, what goes on is not.
fn scan_lines<N: Number>(x: Tensor, out: &Output, axis: &Axis, join: fn(N, N) -> N, start: Option<N>) {
    for line in 0..axis.outer * axis.inner {
        let mut total = start;
        for i in (0..axis.size).map(|k| axis.at(line, k)) {
            let element = N::get(x, i);
            let joined = total.map_or(element, |total| join(total, element));
            joined.put(out, i);
            total = Some(joined);
        }
    }
}

// -- sorting ----------------------------------------------------------------------------------------------------------

/// A number that orders elements: -NaN < -inf < .. < -0 < +0 < .. < inf < NaN, as the bits of floats do.
fn rank_of(x: Tensor, i: usize) -> i64 {
    if !x.is_float() {
        return x.int(i);
    }
    let bits = x.float(i).to_bits() as i64;
    if bits < 0 { bits ^ i64::MAX } else { bits }
}

/// Equal ranks keep their order, in both directions. `sort_unstable` needs no memory.
fn argsort(call: &Call) -> Result {
    let (x, out, axis) = (call.input(0), call.output(0), axis_of(call));
    let is_descending = call.attrs::<BurnAttrs_argsort>().descending.int() != 0;
    let mut ranked = zeros::<(i64, usize)>(axis.size)?;
    for line in 0..axis.outer * axis.inner {
        for (k, ranked) in ranked.iter_mut().enumerate() {
            let rank = rank_of(x, axis.at(line, k));
            *ranked = (if is_descending { !rank } else { rank }, k);
        }
        ranked.sort_unstable();
        for (k, &(_, index)) in ranked.iter().enumerate() {
            out.put_int(axis.at(line, k), index as i64);
        }
    }
    Ok(())
}
