/* reference_conv.c - convolutions, by definition. Sums are in f64 and rounded once.
 *
 * y[n, o, oy, ox] is the sum of x[n, i, iy, ix] * w[o, i, ky, kx] over all taps, where iy = oy * stride + ky * dilation
 * - padding. Each of the three ops gives one of x, w, y from the other two: conv2d y, conv2d_weight_backward w, and
 * conv_transpose2d, the gradient of conv2d with regard to its input, x. */
#include "reference_internal.h"

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
    reference_add_to(c->tensors[c->result], at[c->result],
                     reference_get_float(c->tensors[a], at[a]) * reference_get_float(c->tensors[b], at[b]));
  }
}

/* Runs a convolution whose result is still missing; bias may be NULL. */
static BurnStatus convolve(const ReferenceRun *run, Convolution c, const BurnPrimitive *bias) {
  BurnPrimitive *out = run->out[0], *wide = reference_wide(run->reference, out);
  if (!wide) return reference_no_memory(run);
  const int64_t plane = out->shape[2] * out->shape[3];
  for (int64_t i = 0, count = burn_primitive_count(out); bias && i < count; i++) {
    reference_put_float(wide, i, reference_get_float(bias, i / plane % out->shape[1]));
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

const ReferenceRow reference_conv_rows[] = {{BURN_OP_conv2d, conv2d, NULL, NULL, 0},
                                            {BURN_OP_conv2d_weight_backward, conv2d_weight_backward, NULL, NULL, 0},
                                            {BURN_OP_conv_transpose2d, conv_transpose2d, NULL, NULL, 0},
                                            {0, NULL, NULL, NULL, 0}};
