//! linalg.rs - matrix products. Sums are in f64, or i64 for integers, and rounded once.
use crate::boundary::Result;
use crate::burn::*;
use crate::call::Call;
use crate::kernels::Kernel;
use crate::tensor::{broadcast, Number, Walk};

pub fn kernel(op: u32) -> Option<Kernel> {
    match op {
        BURN_OP_matmul => Some(matmul),
        _ => None,
    }
}

fn matmul(call: &Call) -> Result {
    if call.input(0).is_float() {
        product(call, |sum: f64, a, b| sum + a * b)
    } else {
        product(call, |sum: i64, a, b| sum.wrapping_add(a.wrapping_mul(b)))
    }
}

fn product<N: Number>(call: &Call, add: impl Fn(N, N, N) -> N) -> Result {
    let (a, b, out) = (call.input(0), call.input(1), call.output(0));
    let (row, column) = (out.rank() - 2, out.rank() - 1);
    let (inner, b_step) = (a.size(column), b.strides()[row] as usize);
    let (mut a_steps, mut b_steps) = (broadcast(a, out.rank()), broadcast(b, out.rank()));
    a_steps[column] = 0; // to the start of the row of a and of the column of b
    b_steps[row] = 0;
    let (a, b) = (N::all(a)?, N::all(b)?);
    for (i, [at_a, at_b]) in Walk::new(out.shape(), [0, 0], [a_steps, b_steps]).enumerate() {
        let sum = (0..inner).fold(N::default(), |sum, k| add(sum, a[at_a + k], b[at_b + k * b_step]));
        sum.put(&out, i);
    }
    Ok(())
}
