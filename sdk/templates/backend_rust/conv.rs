//! conv.rs - convolutions by their definition. Sums are in f64 and rounded once.
//!
//! y[n, o, oy, ox] is the sum of x[n, i, iy, ix] * w[o, i, ky, kx] over all taps, where
//! iy = oy * stride + ky * dilation - padding. Each of the three ops gives one of x, w, y from the other two: conv2d y,
//! conv2d_weight_backward w, and conv_transpose2d, the gradient of conv2d with regard to its input, x.
use crate::boundary::Result;
use crate::burn::*;
use crate::call::Call;
use crate::kernels::Kernel;
use crate::tensor::{put_all, zeros, Attr, Number, Output};

pub fn kernel(op: u32) -> Option<Kernel> {
    let kernel: Kernel = match op {
        BURN_OP_conv2d => conv2d,
        BURN_OP_conv2d_weight_backward => conv2d_weight_backward,
        BURN_OP_conv_transpose2d => conv_transpose2d,
        _ => return None,
    };
    Some(kernel)
}

/// The shapes of x, w and y, and how windows lie on x.
struct Convolution<'a> {
    x: &'a [i64],
    w: &'a [i64],
    y: &'a [i64],
    stride: &'a [i64],
    padding: &'a [i64],
    dilation: &'a [i64],
    groups: i64,
}

impl Convolution<'_> {
    /// Calls `visit(x, w, y)` with the element numbers of every product.
    fn for_each(&self, mut visit: impl FnMut(usize, usize, usize)) {
        let y = self.y;
        for at_y in 0..y.iter().product::<i64>() {
            let (ox, oy, o) = (at_y % y[3], at_y / y[3] % y[2], at_y / y[3] / y[2] % y[1]);
            let n = at_y / y[3] / y[2] / y[1];
            self.for_each_tap(n, o, oy, ox, |x, w| visit(x as usize, w as usize, at_y as usize));
        }
    }

    /// The taps of one element of y that do not lie in the padding.
    fn for_each_tap(&self, n: i64, o: i64, oy: i64, ox: i64, mut visit: impl FnMut(i64, i64)) {
        let (x, w) = (self.x, self.w);
        let first_plane = n * x[1] + o / (self.y[1] / self.groups) * w[1];
        let (top, left) = (oy * self.stride[0] - self.padding[0], ox * self.stride[1] - self.padding[1]);
        for k in 0..w[1] {
            for ky in 0..w[2] {
                let iy = top + ky * self.dilation[0];
                if iy < 0 || iy >= x[2] {
                    continue;
                }
                let (row_x, row_w) = (((first_plane + k) * x[2] + iy) * x[3], ((o * w[1] + k) * w[2] + ky) * w[3]);
                for kx in 0..w[3] {
                    let ix = left + kx * self.dilation[1];
                    if ix >= 0 && ix < x[3] {
                        visit(row_x + ix, row_w + kx);
                    }
                }
            }
        }
    }
}

/// Zeros, or the bias of each channel.
fn start(call: &Call, out: &Output) -> Result<Vec<f64>> {
    let mut sums = zeros(out.count())?;
    if let Some(bias) = call.optional(2) {
        let (plane, channels) = (out.size(2) * out.size(3), out.size(1));
        for (i, sum) in sums.iter_mut().enumerate() {
            *sum = bias.float(i / plane % channels);
        }
    }
    Ok(sums)
}

fn conv2d(call: &Call) -> Result {
    let (attrs, out) = (call.attrs::<BurnAttrs_conv2d>(), call.output(0));
    let (xs, ws, mut ys) = (f64::all(call.input(0))?, f64::all(call.input(1))?, start(call, &out)?);
    let convolution = Convolution {
        x: call.input(0).shape(),
        w: call.input(1).shape(),
        y: out.shape(),
        stride: attrs.stride.list(),
        padding: attrs.padding.list(),
        dilation: attrs.dilation.list(),
        groups: attrs.groups.int(),
    };
    convolution.for_each(|x, w, y| ys[y] += xs[x] * ws[w]);
    put_all(&out, &ys);
    Ok(())
}

fn conv2d_weight_backward(call: &Call) -> Result {
    let (attrs, out) = (call.attrs::<BurnAttrs_conv2d_weight_backward>(), call.output(0));
    let (xs, ys, mut ws) = (f64::all(call.input(0))?, f64::all(call.input(1))?, zeros(out.count())?);
    let convolution = Convolution {
        x: call.input(0).shape(),
        w: out.shape(),
        y: call.input(1).shape(),
        stride: attrs.stride.list(),
        padding: attrs.padding.list(),
        dilation: attrs.dilation.list(),
        groups: attrs.groups.int(),
    };
    convolution.for_each(|x, w, y| ws[w] += xs[x] * ys[y]);
    put_all::<f64>(&out, &ws);
    Ok(())
}

fn conv_transpose2d(call: &Call) -> Result {
    let (attrs, out) = (call.attrs::<BurnAttrs_conv_transpose2d>(), call.output(0));
    let (ys, ws, mut xs) = (f64::all(call.input(0))?, f64::all(call.input(1))?, start(call, &out)?);
    let convolution = Convolution {
        x: out.shape(),
        w: call.input(1).shape(),
        y: call.input(0).shape(),
        stride: attrs.stride.list(),
        padding: attrs.padding.list(),
        dilation: attrs.dilation.list(),
        groups: attrs.groups.int(),
    };
    convolution.for_each(|x, w, y| xs[x] += ys[y] * ws[w]);
    put_all(&out, &xs);
    Ok(())
}
