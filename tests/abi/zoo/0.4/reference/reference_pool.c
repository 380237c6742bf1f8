/* reference_pool.c - pools: windows over planes [n, c, h, w]. Sums are in f64 and rounded once. */
#include "reference_internal.h"

#include <math.h>

static BurnStatus max_pool2d_with_indices(const ReferenceRun *run) {
  const BurnAttrs_max_pool2d_with_indices *attrs = BURN_ATTRS(max_pool2d_with_indices, run->call);
  const int64_t *kernel = attrs->kernel_size.value.i64s, *stride = attrs->stride.value.i64s;
  const int64_t *padding = attrs->padding.value.i64s, *dilation = attrs->dilation.value.i64s;
  const BurnPrimitive *x = run->call->inputs[0];
  const int64_t *in = x->shape, *out = run->out[0]->shape;
  for (int64_t i = 0, count = burn_primitive_count(run->out[0]); i < count; i++) {
    const int64_t ox = i % out[3], oy = i / out[3] % out[2], plane = i / out[3] / out[2] * in[2] * in[3];
    double best = -(double)INFINITY; /* a window in the padding alone: -infinity at position 0 */
    int64_t at = -1;
    for (int64_t tap = 0; tap < kernel[0] * kernel[1]; tap++) {
      const int64_t iy = oy * stride[0] + tap / kernel[1] * dilation[0] - padding[0];
      const int64_t ix = ox * stride[1] + tap % kernel[1] * dilation[1] - padding[1];
      if (iy < 0 || iy >= in[2] || ix < 0 || ix >= in[3]) continue;
      const double value = reference_get_float(x, plane + iy * in[3] + ix);
      if (at >= 0 && !(value > best || (isnan(value) && !isnan(best)))) continue; /* the first hit stays; NaN wins */
      best = value;
      at = iy * in[3] + ix;
    }
    reference_put_float(run->out[0], i, best);
    reference_put_integer(run->out[1], i, at < 0 ? 0 : at);
  }
  return BURN_OK;
}

/* What an average covers along one axis, and by how many it divides. */
typedef struct Span {
  int64_t begin, end, divisor;
} Span;

/* Window i of avg_pool2d: padding counts as zeros up to its end, or not at all. */
static Span window_span(int64_t i, int64_t in, int64_t kernel, int64_t stride, int64_t padding,
                        bool count_include_pad) {
  Span span = {i * stride - padding, i * stride - padding + kernel, 0};
  if (span.end > in + padding) span.end = in + padding;
  span.divisor = span.end - span.begin;
  if (span.begin < 0) span.begin = 0;
  if (span.end > in) span.end = in;
  if (!count_include_pad) span.divisor = span.end - span.begin;
  if (span.divisor < 0) span.divisor = 0; /* ceil_mode can make a window that lies outside */
  return span;
}

static Span adaptive_span(int64_t i, int64_t in, int64_t out) {
  const int64_t begin = i * in / out, end = ((i + 1) * in + out - 1) / out;
  return (Span){begin, end, end - begin};
}

/* The spans of window i, for all four ops. */
static Span span_of(const BurnOpCall *call, int axis, int64_t i, int64_t in, int64_t out) {
  if (call->op == BURN_OP_avg_pool2d) {
    const BurnAttrs_avg_pool2d *attrs = BURN_ATTRS(avg_pool2d, call);
    return window_span(i, in, attrs->kernel_size.value.i64s[axis], attrs->stride.value.i64s[axis],
                       attrs->padding.value.i64s[axis], attrs->count_include_pad.value.i64 != 0);
  }
  if (call->op == BURN_OP_avg_pool2d_backward) {
    const BurnAttrs_avg_pool2d_backward *attrs = BURN_ATTRS(avg_pool2d_backward, call);
    return window_span(i, in, attrs->kernel_size.value.i64s[axis], attrs->stride.value.i64s[axis],
                       attrs->padding.value.i64s[axis], attrs->count_include_pad.value.i64 != 0);
  }
  return adaptive_span(i, in, out);
}

/* FORWARD: a window gets the mean of its pixels. BACKWARD: every pixel gets its share of the gradients of its windows.
 */
enum { FORWARD, BACKWARD };

static BurnStatus average(const ReferenceRun *run) {
  const bool backward = run->row->detail == BACKWARD;
  BurnPrimitive *from = run->call->inputs[0], *to = reference_wide(run->reference, run->out[0]);
  if (!to) return reference_no_memory(run);
  const int64_t *pixels = backward ? to->shape : from->shape, *windows = backward ? from->shape : to->shape;
  for (int64_t i = 0, count = windows[0] * windows[1] * windows[2] * windows[3]; i < count; i++) {
    const int64_t ox = i % windows[3], oy = i / windows[3] % windows[2], plane = i / windows[3] / windows[2];
    const Span y = span_of(run->call, 0, oy, pixels[2], windows[2]),
               x = span_of(run->call, 1, ox, pixels[3], windows[3]);
    const double divisor = (double)(y.divisor * x.divisor);
    for (int64_t iy = y.begin; iy < y.end; iy++) {
      for (int64_t ix = x.begin; ix < x.end; ix++) {
        const int64_t pixel = (plane * pixels[2] + iy) * pixels[3] + ix;
        reference_add_to(to, backward ? pixel : i,
                         backward ? reference_get_float(from, i) / divisor : reference_get_float(from, pixel));
      }
    }
    if (!backward && divisor > 0) reference_put_float(to, i, reference_get_float(to, i) / divisor);
  }
  reference_narrow(run->reference, to, run->out[0]);
  return BURN_OK;
}

const ReferenceRow reference_pool_rows[] = {{BURN_OP_max_pool2d_with_indices, max_pool2d_with_indices, NULL, NULL, 0},
                                            {BURN_OP_avg_pool2d, average, NULL, NULL, FORWARD},
                                            {BURN_OP_avg_pool2d_backward, average, NULL, NULL, BACKWARD},
                                            {BURN_OP_adaptive_avg_pool2d, average, NULL, NULL, FORWARD},
                                            {BURN_OP_adaptive_avg_pool2d_backward, average, NULL, NULL, BACKWARD},
                                            {0, NULL, NULL, NULL, 0}};
