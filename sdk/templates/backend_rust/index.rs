//! index.rs - masks, and access through indices.
use crate::boundary::{fail, Result};
use crate::burn::*;
use crate::call::Call;
use crate::kernels::Kernel;
use crate::lines::{largest, smallest, Axis};
use crate::tensor::{broadcast, put_all, Attr, Number, Tensor, Walk};

pub fn kernel(op: u32) -> Option<Kernel> {
    let kernel: Kernel = match op {
        BURN_OP_mask_where => mask_where,
        BURN_OP_mask_fill => mask_fill,
        BURN_OP_select | BURN_OP_gather => pick,
        BURN_OP_select_assign | BURN_OP_scatter => put,
        _ => return None,
    };
    Some(kernel)
}

fn mask_where(call: &Call) -> Result {
    let (x, mask, value, out) = (call.input(0), call.input(1), call.input(2), call.output(0));
    let steps = [broadcast(x, out.rank()), broadcast(mask, out.rank()), broadcast(value, out.rank())];
    for (i, [at, at_mask, at_value]) in Walk::new(out.shape(), [0; 3], steps).enumerate() {
        if mask.int(at_mask) != 0 {
            out.copy(i, value, at_value);
        } else {
            out.copy(i, x, at);
        }
    }
    Ok(())
}

fn mask_fill(call: &Call) -> Result {
    let (x, mask, out) = (call.input(0), call.input(1), call.output(0));
    let steps = [broadcast(x, out.rank()), broadcast(mask, out.rank())];
    for (i, [at, at_mask]) in Walk::new(out.shape(), [0; 2], steps).enumerate() {
        if mask.int(at_mask) != 0 {
            out.put_number(i, call.attr(0));
        } else {
            out.copy(i, x, at);
        }
    }
    Ok(())
}

/// Calls `visit(i, place)` for every element i of the picked side, which lies at `place` in x. Fails at the first index
/// that is outside.
fn for_each_place(call: &Call, picked: Tensor, mut visit: impl FnMut(usize, usize)) -> Result {
    let dim = call.attr(0).int(); // the first attribute of all these ops
    let (x, indices) = (Axis::of(call.input(0), dim), call.input(1));
    let is_list = matches!(call.op(), BURN_OP_select | BURN_OP_select_assign); // for all lines, not one per element
    let picks = picked.size(dim as usize);
    for i in 0..picked.count() {
        let position = if is_list { i / x.inner % picks } else { i };
        let index = indices.int(position);
        if x.size == 0 {
            let message = format!("index {index} at position {position}, but axis {dim} is empty");
            return fail(BURN_STATUS_OUT_OF_RANGE, message);
        }
        if index < 0 || index >= x.size as i64 {
            let message = format!("index {index} at position {position} is outside 0..{} (axis {dim})", x.size - 1);
            return fail(BURN_STATUS_OUT_OF_RANGE, message);
        }
        visit(i, (i / x.inner / picks * x.size + index as usize) * x.inner + i % x.inner);
    }
    Ok(())
}

fn pick(call: &Call) -> Result {
    let (x, out) = (call.input(0), call.output(0));
    for_each_place(call, *out, |i, place| out.copy(i, x, place))
}

fn put(call: &Call) -> Result {
    let update = call.attr(1).int() as u32;
    if call.input(0).is_float() {
        put_numbers::<f64>(call, joined(update, |a, b| a + b, |a, b| a * b))
    } else {
        put_numbers::<i64>(call, joined(update, i64::wrapping_add, i64::wrapping_mul))
    }
}

/// What becomes of an element where a value is put, by the attribute `update`.
fn joined<N: Number>(update: u32, sum: fn(N, N) -> N, product: fn(N, N) -> N) -> fn(N, N) -> N {
    match update {
        BURN_UPDATE_ASSIGN => |_, value| value,
        BURN_UPDATE_ADD => sum,
        BURN_UPDATE_MUL => product,
        BURN_UPDATE_MIN => smallest,
        BURN_UPDATE_MAX => largest,
        _ => panic!("update {update}"),
    }
}

/// Values that meet are joined unrounded.
fn put_numbers<N: Number>(call: &Call, join: fn(N, N) -> N) -> Result {
    let (x, values, out) = (call.input(0), call.input(2), call.output(0));
    let mut wide = N::all(x)?;
    for_each_place(call, values, |i, place| wide[place] = join(wide[place], N::get(values, i)))?;
    put_all(&out, &wide);
    Ok(())
}
