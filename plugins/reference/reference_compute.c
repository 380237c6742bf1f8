/* reference_compute.c - matrix products, convolutions and pools, by their definitions. Sums are in f64 and rounded
 * once. */
#include "reference_internal.h"

#include <math.h>

static BurnStatus no_memory(const ReferenceRun *run) {
  return reference_fail(run, BURN_STATUS_OUT_OF_MEMORY, "no memory for the sums");
}

static double get(const BurnPrimitive *x, int64_t i) { return reference_get_float(x, i); }

static void add_to(BurnPrimitive *wide, int64_t i, double value) { reference_put_float(wide, i, get(wide, i) + value); }

/* -- products --------------------------------------------------------------------------------- */

static BurnStatus matmul(const ReferenceRun *run) {
  const BurnPrimitive *a = run->call->inputs[0], *b = run->call->inputs[1];
  BurnPrimitive *out = run->out[0];
  const uint32_t row = out->rank - 2, column = out->rank - 1;
  const int64_t inner = a->shape[column], b_step = b->strides[row];
  int64_t a_steps[BURN_MAX_RANK], b_steps[BURN_MAX_RANK];
  reference_broadcast(a, a_steps);
  reference_broadcast(b, b_steps);
  a_steps[column] = 0; /* to the start of the row of a and of the column of b */
  b_steps[row] = 0;
  for (int64_t i = 0, count = burn_primitive_count(out); i < count; i++) {
    const int64_t at_a = reference_place(out, i, a_steps), at_b = reference_place(out, i, b_steps);
    double real = 0;
    uint64_t whole = 0;
    for (int64_t k = 0; k < inner; k++) {
      if (reference_is_float(a)) {
        real += get(a, at_a + k) * get(b, at_b + k * b_step);
      } else {
        whole += (uint64_t)reference_get_integer(a, at_a + k) * (uint64_t)reference_get_integer(b, at_b + k * b_step);
      }
    }
    if (reference_is_float(a)) reference_put_float(out, i, real);
    if (!reference_is_float(a)) reference_put_integer(out, i, (int64_t)whole);
  }
  return BURN_OK;
}

/* -- convolutions ------------------------------------------------------------------------------ */

/* y[n, o, oy, ox] is the sum of x[n, i, iy, ix] * w[o, i, ky, kx] over all taps, where iy = oy * stride + ky * dilation
 * - padding. Each of the three ops gives one of x, w, y from the other two: conv2d y, conv2d_weight_backward w, and
 * conv_transpose2d, the gradient of conv2d with regard to its input, x. */

enum { X, WEIGHT, Y };

typedef struct Convolution {
  BurnPrimitive *tensors[3]; /* x, weight, y; the result of the op is wide */
  const int64_t *stride, *padding, *dilation;
  int64_t groups;
  int result; /* which of them */
} Convolution;

/* The taps of one element of y. */
static void convolve_at(const Convolution *c, int64_t y_index) {
  const int64_t *x = c->tensors[X]->shape, *w = c->tensors[WEIGHT]->shape, *y = c->tensors[Y]->shape;
  const int64_t ox = y_index % y[3], oy = y_index / y[3] % y[2];
  const int64_t o = y_index / y[3] / y[2] % y[1], n = y_index / y[3] / y[2] / y[1];
  const int64_t first_channel = o / (y[1] / c->groups) * w[1];
  for (int64_t tap = 0; tap < w[1] * w[2] * w[3]; tap++) {
    const int64_t kx = tap % w[3], ky = tap / w[3] % w[2], channel = first_channel + tap / w[3] / w[2];
    const int64_t iy = oy * c->stride[0] + ky * c->dilation[0] - c->padding[0];
    const int64_t ix = ox * c->stride[1] + kx * c->dilation[1] - c->padding[1];
    if (iy < 0 || iy >= x[2] || ix < 0 || ix >= x[3]) continue;
    const int64_t at[3] = {((n * x[1] + channel) * x[2] + iy) * x[3] + ix, o * w[1] * w[2] * w[3] + tap, y_index};
    const int a = c->result == X ? WEIGHT : X, b = c->result == Y ? WEIGHT : Y;
    add_to(c->tensors[c->result], at[c->result], get(c->tensors[a], at[a]) * get(c->tensors[b], at[b]));
  }
}

/* Runs a convolution whose result is still missing; bias may be NULL. */
static BurnStatus convolve(const ReferenceRun *run, Convolution c, const BurnPrimitive *bias) {
  BurnPrimitive *out = run->out[0], *wide = reference_wide(run->reference, out);
  if (!wide) return no_memory(run);
  const int64_t plane = out->shape[2] * out->shape[3];
  for (int64_t i = 0, count = burn_primitive_count(out); bias && i < count; i++) {
    reference_put_float(wide, i, get(bias, i / plane % out->shape[1]));
  }
  c.tensors[c.result] = wide;
  for (int64_t i = 0, count = burn_primitive_count(c.tensors[Y]); i < count; i++) convolve_at(&c, i);
  reference_narrow(run->reference, wide, out);
  return BURN_OK;
}

static BurnStatus conv2d(const ReferenceRun *run) {
  const BurnAttrs_conv2d *attrs = BURN_ATTRS(conv2d, run->call);
  BurnPrimitive *const *in = run->call->inputs;
  const Convolution c = {{in[0], in[1], NULL},       attrs->stride.value.i64s, attrs->padding.value.i64s,
                         attrs->dilation.value.i64s, attrs->groups.value.i64,  Y};
  return convolve(run, c, run->call->input_count > 2 ? in[2] : NULL);
}

static BurnStatus conv2d_weight_backward(const ReferenceRun *run) {
  const BurnAttrs_conv2d_weight_backward *attrs = BURN_ATTRS(conv2d_weight_backward, run->call);
  BurnPrimitive *const *in = run->call->inputs;
  const Convolution c = {{in[0], NULL, in[1]},       attrs->stride.value.i64s, attrs->padding.value.i64s,
                         attrs->dilation.value.i64s, attrs->groups.value.i64,  WEIGHT};
  return convolve(run, c, NULL);
}

static BurnStatus conv_transpose2d(const ReferenceRun *run) {
  const BurnAttrs_conv_transpose2d *attrs = BURN_ATTRS(conv_transpose2d, run->call);
  BurnPrimitive *const *in = run->call->inputs;
  const Convolution c = {{NULL, in[1], in[0]},       attrs->stride.value.i64s, attrs->padding.value.i64s,
                         attrs->dilation.value.i64s, attrs->groups.value.i64,  X};
  return convolve(run, c, run->call->input_count > 2 ? in[2] : NULL);
}

/* -- pools: windows over planes [n, c, h, w] -------------------------------------------------- */

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
      const double value = get(x, plane + iy * in[3] + ix);
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
  if (!to) return no_memory(run);
  const int64_t *pixels = backward ? to->shape : from->shape, *windows = backward ? from->shape : to->shape;
  for (int64_t i = 0, count = windows[0] * windows[1] * windows[2] * windows[3]; i < count; i++) {
    const int64_t ox = i % windows[3], oy = i / windows[3] % windows[2], plane = i / windows[3] / windows[2];
    const Span y = span_of(run->call, 0, oy, pixels[2], windows[2]),
               x = span_of(run->call, 1, ox, pixels[3], windows[3]);
    const double divisor = (double)(y.divisor * x.divisor);
    for (int64_t iy = y.begin; iy < y.end; iy++) {
      for (int64_t ix = x.begin; ix < x.end; ix++) {
        const int64_t pixel = (plane * pixels[2] + iy) * pixels[3] + ix;
        add_to(to, backward ? pixel : i, backward ? get(from, i) / divisor : get(from, pixel));
      }
    }
    if (!backward && divisor > 0) reference_put_float(to, i, get(to, i) / divisor);
  }
  reference_narrow(run->reference, to, run->out[0]);
  return BURN_OK;
}

const ReferenceRow reference_compute_rows[] = {
    {BURN_OP_matmul, matmul, NULL, NULL, 0},
    {BURN_OP_conv2d, conv2d, NULL, NULL, 0},
    {BURN_OP_conv2d_weight_backward, conv2d_weight_backward, NULL, NULL, 0},
    {BURN_OP_conv_transpose2d, conv_transpose2d, NULL, NULL, 0},
    {BURN_OP_max_pool2d_with_indices, max_pool2d_with_indices, NULL, NULL, 0},
    {BURN_OP_avg_pool2d, average, NULL, NULL, FORWARD},
    {BURN_OP_avg_pool2d_backward, average, NULL, NULL, BACKWARD},
    {BURN_OP_adaptive_avg_pool2d, average, NULL, NULL, FORWARD},
    {BURN_OP_adaptive_avg_pool2d_backward, average, NULL, NULL, BACKWARD},
    {0, NULL, NULL, NULL, 0}};
