//! pool.rs - pools: windows over planes [n, c, h, w]. Averages are in f64 and rounded once.
use crate::boundary::Result;
use crate::burn::*;
use crate::call::Call;
use crate::kernels::Kernel;
use crate::tensor::{put_all, zeros, Attr};

pub fn kernel(op: u32) -> Option<Kernel> {
    let kernel: Kernel = match op {
        BURN_OP_max_pool2d_with_indices => max_pool2d_with_indices,
        BURN_OP_avg_pool2d | BURN_OP_adaptive_avg_pool2d => average,
        BURN_OP_avg_pool2d_backward | BURN_OP_adaptive_avg_pool2d_backward => average_backward,
        _ => return None,
    };
    Some(kernel)
}

/// The first hit stays; NaN wins. A window in the padding alone is -infinity at position 0.
fn max_pool2d_with_indices(call: &Call) -> Result {
    let attrs = call.attrs::<BurnAttrs_max_pool2d_with_indices>();
    let (kernel, stride) = (attrs.kernel_size.list(), attrs.stride.list());
    let (padding, dilation) = (attrs.padding.list(), attrs.dilation.list());
    let (x, out, indices) = (call.input(0), call.output(0), call.output(1));
    let (h, w, oh, ow) = (x.shape()[2], x.shape()[3], out.shape()[2], out.shape()[3]);
    for i in 0..out.count() {
        let window = i as i64;
        let (ox, oy, plane) = (window % ow, window / ow % oh, window / ow / oh * h * w);
        let mut best: Option<(f64, i64)> = None;
        for tap in 0..kernel[0] * kernel[1] {
            let iy = oy * stride[0] + tap / kernel[1] * dilation[0] - padding[0];
            let ix = ox * stride[1] + tap % kernel[1] * dilation[1] - padding[1];
            if iy < 0 || iy >= h || ix < 0 || ix >= w {
                continue;
            }
            let value = x.float((plane + iy * w + ix) as usize);
            if best.map_or(true, |(old, _)| value > old || value.is_nan() && !old.is_nan()) {
                best = Some((value, iy * w + ix));
            }
        }
        let (value, position) = best.unwrap_or((f64::NEG_INFINITY, 0));
        out.put_float(i, value);
        indices.put_int(i, position);
    }
    Ok(())
}

// -- averages ---------------------------------------------------------------------------------------------------------

/// What an average covers along one axis, and by how many it divides.
struct Span {
    begin: i64,
    end: i64,
    divisor: i64,
}

/// Window i of avg_pool2d: padding counts as zeros up to its end, or not at all.
fn window_span(i: i64, size: i64, kernel: i64, stride: i64, padding: i64, count_include_pad: bool) -> Span {
    let begin = i * stride - padding;
    let end = (begin + kernel).min(size + padding);
    let inside = Span { begin: begin.max(0), end: end.min(size), divisor: 0 };
    let divisor = if count_include_pad { end - begin } else { inside.end - inside.begin };
    Span { divisor: divisor.max(0), ..inside } // ceil_mode can make a window that lies outside
}

fn adaptive_span(i: i64, size: i64, windows: i64) -> Span {
    let (begin, end) = (i * size / windows, ((i + 1) * size + windows - 1) / windows);
    Span { begin, end, divisor: end - begin }
}

/// The span of window i along an axis (0: y, 1: x) with so many pixels and windows, for all four ops.
fn span(call: &Call, axis: usize, i: i64, size: i64, windows: i64) -> Span {
    let (kernel, stride, padding, count_include_pad) = match call.op() {
        BURN_OP_avg_pool2d => {
            let attrs = call.attrs::<BurnAttrs_avg_pool2d>();
            (&attrs.kernel_size, &attrs.stride, &attrs.padding, &attrs.count_include_pad)
        }
        BURN_OP_avg_pool2d_backward => {
            let attrs = call.attrs::<BurnAttrs_avg_pool2d_backward>();
            (&attrs.kernel_size, &attrs.stride, &attrs.padding, &attrs.count_include_pad)
        }
        _ => return adaptive_span(i, size, windows),
    };
    let (kernel, stride, padding) = (kernel.list()[axis], stride.list()[axis], padding.list()[axis]);
    window_span(i, size, kernel, stride, padding, count_include_pad.int() != 0)
}

/// Calls `visit(pixel, window, divisor)` for every pixel of every window.
fn for_each(call: &Call, pixels: &[i64], windows: &[i64], mut visit: impl FnMut(usize, usize, f64)) {
    for i in 0..windows.iter().product::<i64>() {
        let (ox, oy, plane) = (i % windows[3], i / windows[3] % windows[2], i / windows[3] / windows[2]);
        let y = span(call, 0, oy, pixels[2], windows[2]);
        let x = span(call, 1, ox, pixels[3], windows[3]);
        let divisor = (y.divisor * x.divisor) as f64;
        for iy in y.begin..y.end {
            for ix in x.begin..x.end {
                visit(((plane * pixels[2] + iy) * pixels[3] + ix) as usize, i as usize, divisor);
            }
        }
    }
}

/// A window gets the mean of its pixels: their sum, divided once.
fn average(call: &Call) -> Result {
    let (x, out) = (call.input(0), call.output(0));
    let (mut sums, mut divisors) = (zeros(out.count())?, zeros(out.count())?);
    for_each(call, x.shape(), out.shape(), |pixel, window, divisor| {
        sums[window] += x.float(pixel);
        divisors[window] = divisor;
    });
    for (sum, divisor) in sums.iter_mut().zip(divisors) {
        *sum /= if divisor > 0.0 { divisor } else { 1.0 };
    }
    put_all::<f64>(&out, &sums);
    Ok(())
}

/// Every pixel gets its share of the gradients of its windows.
fn average_backward(call: &Call) -> Result {
    let (grad, out) = (call.input(0), call.output(0));
    let mut sums = zeros(out.count())?;
    for_each(call, out.shape(), grad.shape(), |pixel, window, divisor| sums[pixel] += grad.float(window) / divisor);
    put_all::<f64>(&out, &sums);
    Ok(())
}
