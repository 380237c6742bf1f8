//! moves.rs - ops that only bring elements to other places: views (which copy here) and parts put together.
use crate::boundary::Result;
use crate::burn::*;
use crate::call::Call;
use crate::kernels::Kernel;
use crate::tensor::{broadcast, Attr, Steps, Tensor, Walk, MAX_RANK};

pub fn kernel(op: u32) -> Option<Kernel> {
    let kernel: Kernel = match op {
        BURN_OP_reshape => reshape,
        BURN_OP_permute => permute,
        BURN_OP_expand => expand,
        BURN_OP_slice => slice,
        BURN_OP_slice_assign => slice_assign,
        BURN_OP_cat => cat,
        _ => return None,
    };
    Some(kernel)
}

/// The next element of the result is the element of x at the next place.
fn view(call: &Call, start: i64, steps: Steps) -> Result {
    let (x, out) = (call.input(0), call.output(0));
    for (i, [at]) in Walk::new(out.shape(), [start], [steps]).enumerate() {
        out.copy(i, x, at);
    }
    Ok(())
}

fn reshape(call: &Call) -> Result {
    let (x, out) = (call.input(0), call.output(0));
    (0..out.count()).for_each(|i| out.copy(i, x, i));
    Ok(())
}

fn permute(call: &Call) -> Result {
    let (x, axes) = (call.input(0), call.attr(0).list());
    let mut steps = [0; MAX_RANK];
    for i in 0..x.rank() {
        steps[i] = x.strides()[axes[i] as usize];
    }
    view(call, 0, steps)
}

fn expand(call: &Call) -> Result {
    view(call, 0, broadcast(call.input(0), call.output(0).rank()))
}

/// Where a slice of this shape begins and how it steps through x. A step that is never taken may be of any size. Lists
/// that stand at their default have MAX_RANK entries.
fn slice_steps(x: Tensor, shape: &[i64], starts: &[i64], steps: &[i64]) -> (i64, Steps) {
    let (mut start, mut out) = (0, [0; MAX_RANK]);
    for axis in 0..x.rank() {
        start += starts[axis] * x.strides()[axis];
        out[axis] = if shape[axis] > 1 { steps[axis] * x.strides()[axis] } else { 0 };
    }
    (start, out)
}

fn slice(call: &Call) -> Result {
    let attrs = call.attrs::<BurnAttrs_slice>();
    let (start, steps) = slice_steps(call.input(0), call.output(0).shape(), attrs.starts.list(), attrs.steps.list());
    view(call, start, steps)
}

fn slice_assign(call: &Call) -> Result {
    let (x, values, out) = (call.input(0), call.input(1), call.output(0));
    let (start, steps) = slice_steps(x, values.shape(), call.attr(0).list(), call.attr(1).list());
    (0..x.count()).for_each(|i| out.copy(i, x, i));
    for (i, [at]) in Walk::new(values.shape(), [start], [steps]).enumerate() {
        out.copy(at, values, i);
    }
    Ok(())
}

fn cat(call: &Call) -> Result {
    let (out, dim) = (call.output(0), call.attr(0).int() as usize);
    let mut steps = [0; MAX_RANK];
    steps[..out.rank()].copy_from_slice(out.strides());
    let mut start = 0;
    for x in (0..call.input_count()).map(|k| call.input(k)) {
        for (i, [at]) in Walk::new(x.shape(), [start], [steps]).enumerate() {
            out.copy(at, x, i);
        }
        start += x.shape()[dim] * out.strides()[dim];
    }
    Ok(())
}
