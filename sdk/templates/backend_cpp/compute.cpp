// compute.cpp - matrix products, convolutions and pools, by their definitions. Sums are in f64, or i64 for integers,
// and rounded once.
#include "call.hpp"

#include <algorithm>
#include <cmath>

namespace backend {
namespace {

// -- products -------------------------------------------------------------------------------------------------------

void matmul(const Call &call) {
  const BurnPrimitive *a = call.input(0), *b = call.input(1);
  BurnPrimitive *out = call.output();
  const uint32_t row = out->rank - 2, column = out->rank - 1;
  const int64_t inner = a->shape[column], b_step = b->strides[row];
  Steps a_steps = broadcast(a, out->rank), b_steps = broadcast(b, out->rank);
  a_steps[column] = 0;  // to the start of the row of a and of the column of b
  b_steps[row] = 0;
  with_number(a, [&](auto zero) {
    using Number = decltype(zero);
    for (int64_t i = 0; i < call.count(); i++) {
      const int64_t at_a = place(out, i, a_steps), at_b = place(out, i, b_steps);
      Number total = zero;
      for (int64_t k = 0; k < inner; k++) {
        total = sum(total, product(get<Number>(a, at_a + k), get<Number>(b, at_b + k * b_step)));
      }
      put(out, i, total);
    }
  });
}

// -- convolutions ---------------------------------------------------------------------------------------------------

// y[n, o, oy, ox] is the sum of x[n, i, iy, ix] * w[o, i, ky, kx] over all taps, where iy = oy * stride + ky * dilation
// - padding. Each of the three ops gives one of x, w, y from the other two: conv2d y, conv2d_weight_backward w, and
// conv_transpose2d, the gradient of conv2d with regard to its input, x.
struct Convolution {
  const int64_t *x, *w, *y;  // shapes
  const int64_t *stride, *padding, *dilation;
  int64_t groups;
};

// Calls visit(x, w, y) with the element numbers of every product.
template <class Visit>
void for_each_tap(const Convolution &c, Visit visit) {
  const int64_t *x = c.x, *w = c.w, *y = c.y, taps = w[1] * w[2] * w[3];
  for (int64_t i = 0; i < y[0] * y[1] * y[2] * y[3]; i++) {
    const int64_t ox = i % y[3], oy = i / y[3] % y[2], o = i / y[3] / y[2] % y[1], n = i / y[3] / y[2] / y[1];
    const int64_t first_plane = n * x[1] + o / (y[1] / c.groups) * w[1];
    for (int64_t tap = 0; tap < taps; tap++) {
      const int64_t iy = oy * c.stride[0] + tap / w[3] % w[2] * c.dilation[0] - c.padding[0];
      const int64_t ix = ox * c.stride[1] + tap % w[3] * c.dilation[1] - c.padding[1];
      if (iy < 0 || iy >= x[2] || ix < 0 || ix >= x[3]) continue;
      visit(static_cast<size_t>(((first_plane + tap / w[3] / w[2]) * x[2] + iy) * x[3] + ix),
            static_cast<size_t>(o * taps + tap), static_cast<size_t>(i));
    }
  }
}

// Zeros, or the bias of each channel.
std::vector<double> start(const Call &call, const BurnPrimitive *bias) {
  std::vector<double> sums(static_cast<size_t>(call.count()));
  const int64_t *shape = call.output()->shape, plane = shape[2] * shape[3];
  for (int64_t i = 0; bias && i < call.count(); i++) {
    sums[static_cast<size_t>(i)] = get_float(bias, i / plane % shape[1]);
  }
  return sums;
}

// The three ops have the same attributes by name. `Attrs` is the struct of the op.
template <class Attrs>
Convolution convolution(const Attrs *attrs, const BurnPrimitive *x, const BurnPrimitive *w, const BurnPrimitive *y) {
  return {x->shape,
          w->shape,
          y->shape,
          attrs->stride.value.i64s,
          attrs->padding.value.i64s,
          attrs->dilation.value.i64s,
          attrs->groups.value.i64};
}

void conv2d(const Call &call) {
  const auto c = convolution(BURN_ATTRS(conv2d, &call.raw), call.input(0), call.input(1), call.output());
  const auto xs = all<double>(call.input(0)), ws = all<double>(call.input(1));
  auto ys = start(call, call.input(2));
  for_each_tap(c, [&](size_t x, size_t w, size_t y) { ys[y] += xs[x] * ws[w]; });
  put_all(call.output(), ys);
}

void conv2d_weight_backward(const Call &call) {
  const auto c =
      convolution(BURN_ATTRS(conv2d_weight_backward, &call.raw), call.input(0), call.output(), call.input(1));
  const auto xs = all<double>(call.input(0)), ys = all<double>(call.input(1));
  auto ws = start(call, nullptr);
  for_each_tap(c, [&](size_t x, size_t w, size_t y) { ws[w] += xs[x] * ys[y]; });
  put_all(call.output(), ws);
}

void conv_transpose2d(const Call &call) {
  const auto c = convolution(BURN_ATTRS(conv_transpose2d, &call.raw), call.output(), call.input(1), call.input(0));
  const auto ys = all<double>(call.input(0)), ws = all<double>(call.input(1));
  auto xs = start(call, call.input(2));
  for_each_tap(c, [&](size_t x, size_t w, size_t y) { xs[x] += ys[y] * ws[w]; });
  put_all(call.output(), xs);
}

// -- pools: windows over planes [n, c, h, w] ------------------------------------------------------------------------

// The first hit stays; NaN wins. A window in the padding alone is -infinity at position 0.
void max_pool2d_with_indices(const Call &call) {
  const auto *attrs = BURN_ATTRS(max_pool2d_with_indices, &call.raw);
  const int64_t *kernel = attrs->kernel_size.value.i64s, *stride = attrs->stride.value.i64s;
  const int64_t *padding = attrs->padding.value.i64s, *dilation = attrs->dilation.value.i64s;
  const int64_t *in = call.input(0)->shape, *out = call.output()->shape;
  for (int64_t i = 0; i < call.count(); i++) {
    const int64_t ox = i % out[3], oy = i / out[3] % out[2], plane = i / out[3] / out[2] * in[2] * in[3];
    double best = -HUGE_VAL;
    int64_t at = -1;
    for (int64_t tap = 0; tap < kernel[0] * kernel[1]; tap++) {
      const int64_t iy = oy * stride[0] + tap / kernel[1] * dilation[0] - padding[0];
      const int64_t ix = ox * stride[1] + tap % kernel[1] * dilation[1] - padding[1];
      if (iy < 0 || iy >= in[2] || ix < 0 || ix >= in[3]) continue;
      const double value = get_float(call.input(0), plane + iy * in[3] + ix);
      if (at >= 0 && !is_larger(best, value)) continue;
      best = value;
      at = iy * in[3] + ix;
    }
    put(call.output(0), i, best);
    put(call.output(1), i, std::max<int64_t>(at, 0));
  }
}

// What an average covers along one axis, and by how many it divides.
struct Span {
  int64_t begin, end, divisor;
};

// Window i of avg_pool2d: padding counts as zeros up to its end, or not at all.
Span window_span(int64_t i, int64_t size, int64_t kernel, int64_t stride, int64_t padding, bool count_include_pad) {
  const int64_t first = i * stride - padding, last = std::min(first + kernel, size + padding);
  const int64_t begin = std::max<int64_t>(first, 0), end = std::min(last, size);
  const int64_t divisor = count_include_pad ? last - first : end - begin;
  return {begin, end, std::max<int64_t>(divisor, 0)};  // ceil_mode can make a window that lies outside
}

template <class Attrs>
Span span_by(const Attrs *attrs, int axis, int64_t i, int64_t size) {
  return window_span(i, size, attrs->kernel_size.value.i64s[axis], attrs->stride.value.i64s[axis],
                     attrs->padding.value.i64s[axis], attrs->count_include_pad.value.i64 != 0);
}

// The span of window i along an axis (0: y, 1: x) with so many pixels and windows, for all four ops.
Span span(const Call &call, int axis, int64_t i, int64_t size, int64_t windows) {
  if (call.raw.op == BURN_OP_avg_pool2d) return span_by(BURN_ATTRS(avg_pool2d, &call.raw), axis, i, size);
  if (call.raw.op == BURN_OP_avg_pool2d_backward)
    return span_by(BURN_ATTRS(avg_pool2d_backward, &call.raw), axis, i, size);
  const int64_t begin = i * size / windows, end = ((i + 1) * size + windows - 1) / windows;
  return {begin, end, end - begin};
}

// Calls visit(pixel, window, divisor) for every pixel of every window.
template <class Visit>
void for_each_pixel(const Call &call, const int64_t *pixels, const int64_t *windows, Visit visit) {
  for (int64_t i = 0; i < windows[0] * windows[1] * windows[2] * windows[3]; i++) {
    const int64_t plane = i / windows[3] / windows[2];
    const Span y = span(call, 0, i / windows[3] % windows[2], pixels[2], windows[2]);
    const Span x = span(call, 1, i % windows[3], pixels[3], windows[3]);
    for (int64_t iy = y.begin; iy < y.end; iy++) {
      for (int64_t ix = x.begin; ix < x.end; ix++) {
        visit((plane * pixels[2] + iy) * pixels[3] + ix, i, static_cast<double>(y.divisor * x.divisor));
      }
    }
  }
}

// A window gets the mean of its pixels: their sum, divided once.
void average(const Call &call) {
  std::vector<double> sums(static_cast<size_t>(call.count())), divisors(sums.size(), 1.0);
  for_each_pixel(call, call.input(0)->shape, call.output()->shape, [&](int64_t pixel, int64_t window, double divisor) {
    sums[static_cast<size_t>(window)] += get_float(call.input(0), pixel);
    divisors[static_cast<size_t>(window)] = divisor;
  });
  for (size_t i = 0; i < sums.size(); i++) sums[i] /= divisors[i];
  put_all(call.output(), sums);
}

// Every pixel gets its share of the gradients of its windows.
void average_backward(const Call &call) {
  std::vector<double> sums(static_cast<size_t>(call.count()));
  for_each_pixel(call, call.output()->shape, call.input(0)->shape, [&](int64_t pixel, int64_t window, double divisor) {
    sums[static_cast<size_t>(pixel)] += get_float(call.input(0), window) / divisor;
  });
  put_all(call.output(), sums);
}

}  // namespace

Kernel compute_kernel(uint32_t op) {
  switch (op) {
    case BURN_OP_matmul: return matmul;
    case BURN_OP_conv2d: return conv2d;
    case BURN_OP_conv2d_weight_backward: return conv2d_weight_backward;
    case BURN_OP_conv_transpose2d: return conv_transpose2d;
    case BURN_OP_max_pool2d_with_indices: return max_pool2d_with_indices;
    case BURN_OP_avg_pool2d:
    case BURN_OP_adaptive_avg_pool2d: return average;
    case BURN_OP_avg_pool2d_backward:
    case BURN_OP_adaptive_avg_pool2d_backward: return average_backward;
    default: return nullptr;
  }
}

}  // namespace backend
