/* decompose_sample.c - pictures read between their pixels: interpolate, grid_sample_2d, deform_conv2d.
 *
 * Positions are computed in f32 or better and gathered as indices. Positions that are far outside, or no number, are
 * moved to just outside, and pixels there are masked out, so that no infinity becomes NaN, forward or backward. The
 * gradient of floor is 0, which is what makes the weights differentiable. */
#include "decompose_internal.h"

#include <math.h>

static const double PI = 3.14159265358979323846;
enum { MAX_TAPS = 6 };

/* -- interpolate ------------------------------------------------------------------------------ */

static double sinc(double t) { return fabs(t) < 1e-12 ? 1 : sin(PI * t) / (PI * t); }

/* Weight of a pixel at distance t; A is -0.75 as in PyTorch and Burn. */
static double cubic(double t) {
  const double a = -0.75;
  t = fabs(t);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((t - 5) * t + 8) * t * a - 4 * a : 0;
}

static double tap_weight(int64_t mode, double t) {
  if (mode == BURN_INTERPOLATE_BILINEAR) return fmax(0, 1 - fabs(t));
  if (mode == BURN_INTERPOLATE_BICUBIC) return cubic(t);
  return fabs(t) < 3 ? sinc(t) * sinc(t / 3) : 0;
}

/* Where output pixel i lies in the input. Only bilinear stops at the first pixel; the others weigh their taps as they
 * lie. */
static double source_of(int64_t mode, int64_t i, int64_t in, int64_t size, bool align_corners) {
  if (align_corners) return size > 1 ? (double)i * (double)(in - 1) / (double)(size - 1) : 0;
  const double source = ((double)i + 0.5) * (double)in / (double)size - 0.5;
  return mode == BURN_INTERPOLATE_BILINEAR && source < 0 ? 0 : source;
}

static int64_t clamped(int64_t i, int64_t size) { return i < 0 ? 0 : i < size ? i : size - 1; }

/* What each pixel of one resized axis reads: [taps, size], tap first. */
typedef struct AxisTaps {
  int64_t in, size, taps, mode;
  bool align_corners;
  BurnDType dtype;
} AxisTaps;

/* The weights of the pixels `first` .. around `base`. Taps outside are left out by lanczos3, whose others then sum to
 * 1; the other modes read the pixel at the border instead. */
static void weigh(const AxisTaps *axis, double source, double base, int64_t first, double *weights) {
  const bool leave_out = axis->mode == BURN_INTERPOLATE_LANCZOS3;
  double sum = 0;
  for (int64_t k = 0; k < axis->taps; k++) {
    const int64_t at = (int64_t)base + first + k;
    weights[k] =
        leave_out && (at < 0 || at >= axis->in) ? 0 : tap_weight(axis->mode, source - base - (double)(first + k));
    sum += weights[k];
  }
  for (int64_t k = 0; leave_out && sum != 0 && k < axis->taps; k++) weights[k] /= sum;
}

static void fill_taps(const AxisTaps *axis, int64_t *indices, void *weights) {
  const int64_t first = 1 - axis->taps / 2;
  for (int64_t i = 0; i < axis->size; i++) {
    const double source = source_of(axis->mode, i, axis->in, axis->size, axis->align_corners), base = floor(source);
    double of_taps[MAX_TAPS];
    weigh(axis, source, base, first, of_taps);
    for (int64_t k = 0; k < axis->taps; k++) {
      indices[k * axis->size + i] = clamped((int64_t)base + first + k, axis->in);
      if (axis->dtype == BURN_DTYPE_F64) {
        ((double *)weights)[k * axis->size + i] = of_taps[k];
      } else {
        ((float *)weights)[k * axis->size + i] = (float)of_taps[k];
      }
    }
  }
}

static void fill_nearest(const AxisTaps *axis, int64_t *indices) {
  const int64_t half = axis->mode == BURN_INTERPOLATE_NEAREST_EXACT;
  for (int64_t i = 0; i < axis->size; i++) indices[i] = clamped((2 * i + half) * axis->in / (2 * axis->size), axis->in);
}

/* The sum over taps of the pixels times their weights, along axis `dim` of shape (that of x). */
static BurnPrimitive *weighted_taps(BurnBuilder *b, BurnPrimitive *x, const AxisTaps *axis, const int64_t *shape,
                                    int64_t dim, const int64_t *indices, const void *weights) {
  const int64_t count = axis->taps * axis->size;
  x = burn_build_dim2(b, BURN_OP_select, x, constant(b, BURN_DTYPE_I64, &count, 1, indices), dim);
  if (axis->taps == 1) return x;
  int64_t split[5], wide[5] = {1, 1, 1, 1, 1}, to[4];
  for (int64_t i = 0, k = 0; i < 4; i++) {
    to[i] = i == dim ? axis->size : shape[i];
    if (i == dim) split[k++] = axis->taps;
    split[k++] = to[i];
  }
  wide[dim] = axis->taps;
  wide[dim + 1] = axis->size;
  x = burn_build_mul(b, burn_build_reshape(b, x, split, 5), constant(b, axis->dtype, wide, 5, weights));
  return burn_build_reshape(b, burn_build_dim(b, BURN_OP_sum_dim, x, dim), to, 4);
}

/* Resizes one axis; shape is that of x. */
static BurnPrimitive *resized(BurnBuilder *b, BurnPrimitive *x, const AxisTaps *axis, const int64_t *shape,
                              int64_t dim) {
  if (axis->in == axis->size || b->status != BURN_OK) return x; /* every pixel would read itself with weight 1 */
  const uint64_t count = (uint64_t)(axis->taps * axis->size), bytes = count * (sizeof(int64_t) + sizeof(double));
  int64_t *indices = b->host->allocate(bytes);
  if (!indices) {
    burn_builder_fail(b, BURN_FAIL(OUT_OF_MEMORY, "interpolate: no memory for an axis of %lld", (long long)axis->size));
    return NULL;
  }
  void *weights = indices + count;
  if (axis->taps == 1) {
    fill_nearest(axis, indices);
  } else {
    fill_taps(axis, indices, weights);
  }
  x = weighted_taps(b, x, axis, shape, dim, indices, weights);
  b->host->free(indices, bytes);
  return x;
}

DECOMPOSE(interpolate) {
  const BurnAttrs_interpolate *attrs = BURN_ATTRS(interpolate, call);
  static const int64_t taps[] = {1, 1, 2, 4, MAX_TAPS};
  BurnPrimitive *x = call->inputs[0];
  const int64_t *o = call->output_descs[0].shape, mode = attrs->mode.value.i64;
  const BurnDType dtype = x->dtype, wide = taps[mode] == 1 ? dtype : at_least_f32(dtype);
  const bool align_corners = attrs->align_corners.value.i64 != 0;
  const AxisTaps rows = {x->shape[2], o[2], taps[mode], mode, align_corners, wide};
  const AxisTaps columns = {x->shape[3], o[3], taps[mode], mode, align_corners, wide};
  const int64_t from[] = {o[0], o[1], x->shape[2], x->shape[3]}, between[] = {o[0], o[1], o[2], x->shape[3]};
  x = resized(builder, in_dtype(builder, x, wide), &rows, from, 2);
  x = resized(builder, x, &columns, between, 3);
  out[0] = in_dtype(builder, x, dtype);
}

/* -- reading at positions --------------------------------------------------------------------- */

static BurnPrimitive *between(BurnBuilder *b, BurnPrimitive *x, double low, double high) {
  return burn_build_op2(b, BURN_OP_bool_and, burn_build_scalar(b, BURN_OP_greater_equal_scalar, x, low),
                        burn_build_scalar(b, BURN_OP_lower_equal_scalar, x, high));
}

static BurnPrimitive *clamped_to(BurnBuilder *b, BurnPrimitive *x, double high) {
  return burn_build_scalar(b, BURN_OP_clamp_max, burn_build_scalar(b, BURN_OP_clamp_min, x, 0), high);
}

/* Pixels [n, c, points] at whole positions [n, 1, points], times weight; 0 outside. */
static BurnPrimitive *pixels(BurnBuilder *b, const Picture *p, BurnPrimitive *y, BurnPrimitive *x,
                             BurnPrimitive *weight) {
  const double bottom = (double)(p->h - 1), right = (double)(p->w - 1);
  const int64_t shape[] = {p->n, p->c, p->points};
  BurnPrimitive *inside = burn_build_op2(b, BURN_OP_bool_and, between(b, y, 0, bottom), between(b, x, 0, right));
  BurnPrimitive *outside = one(b, BURN_OP_bool_not, inside);
  BurnPrimitive *row = burn_build_cast(b, clamped_to(b, y, bottom), BURN_DTYPE_I64);
  BurnPrimitive *column = burn_build_cast(b, clamped_to(b, x, right), BURN_DTYPE_I64);
  BurnPrimitive *index = burn_build_add(b, scaled(b, row, (double)p->w), column);
  BurnPrimitive *values = burn_build_dim2(b, BURN_OP_gather, p->x, burn_build_expand(b, index, shape, 3), 2);
  values = masked(b, values, outside, 0);
  return weight ? burn_build_mul(b, values, weight) : values;
}

/* Positions from where no tap reaches a pixel, NaN too, become two such ones. */
static BurnPrimitive *near_picture(BurnBuilder *b, BurnPrimitive *x, int64_t size) {
  x = masked(b, x, burn_build_op2(b, BURN_OP_not_equal, x, x), -4);
  return burn_build_scalar(b, BURN_OP_clamp_max, burn_build_scalar(b, BURN_OP_clamp_min, x, -4), (double)(size + 3));
}

/* 1 - t */
static BurnPrimitive *rest_of(BurnBuilder *b, BurnPrimitive *t) { return plus(b, one(b, BURN_OP_neg, t), 1); }

BurnPrimitive *burn__decompose_bilinear(BurnBuilder *b, const Picture *p, BurnPrimitive *y, BurnPrimitive *x) {
  y = near_picture(b, y, p->h);
  x = near_picture(b, x, p->w);
  BurnPrimitive *y0 = one(b, BURN_OP_floor, y), *x0 = one(b, BURN_OP_floor, x);
  BurnPrimitive *rows[] = {y0, plus(b, y0, 1)}, *columns[] = {x0, plus(b, x0, 1)};
  BurnPrimitive *fy = burn_build_sub(b, y, y0), *fx = burn_build_sub(b, x, x0);
  BurnPrimitive *wy[] = {rest_of(b, fy), fy}, *wx[] = {rest_of(b, fx), fx}, *sum = NULL;
  for (int i = 0; i < 4; i++) {
    BurnPrimitive *term = pixels(b, p, rows[i / 2], columns[i % 2], burn_build_mul(b, wy[i / 2], wx[i % 2]));
    sum = i == 0 ? term : burn_build_add(b, sum, term);
  }
  return sum;
}

/* -- grid_sample_2d --------------------------------------------------------------------------- */

typedef struct Sampling {
  int64_t padding_mode;
  bool align_corners;
} Sampling;

/* A coordinate -1 .. 1 as a position 0 .. size - 1 (or half a pixel wider). */
static BurnPrimitive *position(BurnBuilder *b, BurnPrimitive *x, int64_t size, bool align_corners) {
  const double span = (double)(align_corners ? size - 1 : size);
  x = scaled(b, plus(b, x, 1), span / 2);
  return align_corners ? x : plus(b, x, -0.5);
}

/* A position moved into the picture: mirrored by |((x - low) mod 2 span) - span|, a triangle wave. */
static BurnPrimitive *padded(BurnBuilder *b, BurnPrimitive *x, int64_t size, const Sampling *s) {
  if (s->padding_mode == BURN_GRID_PADDING_ZEROS) return x;
  const double low = s->align_corners ? 0 : -0.5, span = (double)(s->align_corners ? size - 1 : size);
  if (s->padding_mode == BURN_GRID_PADDING_REFLECTION && span > 0) {
    BurnPrimitive *wave = burn_build_scalar(b, BURN_OP_remainder_scalar, plus(b, x, -low), 2 * span);
    wave = one(b, BURN_OP_abs, plus(b, wave, -span));
    x = plus(b, one(b, BURN_OP_neg, wave), span + low);
  }
  return clamped_to(b, x, (double)(size - 1));
}

/* Four weights for the pixels -1 .. 2 around floor(x); t = x - floor(x). */
static void cubic_weights(BurnBuilder *b, BurnPrimitive *t, BurnPrimitive **out) {
  const double a = -0.75;
  BurnPrimitive *near[] = {t, rest_of(b, t)}, *far[] = {plus(b, t, 1), plus(b, rest_of(b, t), 1)};
  for (int i = 0; i < 2; i++) {
    BurnPrimitive *inner = burn_build_mul(b, plus(b, scaled(b, near[i], a + 2), -(a + 3)), near[i]);
    out[1 + i] = plus(b, burn_build_mul(b, inner, near[i]), 1);
    BurnPrimitive *outer = burn_build_mul(b, plus(b, scaled(b, far[i], a), -5 * a), far[i]);
    outer = burn_build_mul(b, plus(b, outer, 8 * a), far[i]);
    out[3 * i] = plus(b, outer, -4 * a);
  }
}

static BurnPrimitive *bicubic(BurnBuilder *b, const Picture *p, BurnPrimitive *y, BurnPrimitive *x, const Sampling *s) {
  if (s->padding_mode == BURN_GRID_PADDING_ZEROS) {
    y = near_picture(b, y, p->h);
    x = near_picture(b, x, p->w);
  }
  BurnPrimitive *y0 = one(b, BURN_OP_floor, y), *x0 = one(b, BURN_OP_floor, x), *wy[4], *wx[4], *sum = NULL;
  cubic_weights(b, burn_build_sub(b, y, y0), wy);
  cubic_weights(b, burn_build_sub(b, x, x0), wx);
  for (int i = 0; i < 16; i++) {
    BurnPrimitive *row = padded(b, plus(b, y0, i / 4 - 1), p->h, s);
    BurnPrimitive *column = padded(b, plus(b, x0, i % 4 - 1), p->w, s);
    BurnPrimitive *term = pixels(b, p, row, column, burn_build_mul(b, wy[i / 4], wx[i % 4]));
    sum = i == 0 ? term : burn_build_add(b, sum, term);
  }
  return sum;
}

DECOMPOSE(grid_sample_2d) {
  const BurnAttrs_grid_sample_2d *attrs = BURN_ATTRS(grid_sample_2d, call);
  BurnPrimitive *x = call->inputs[0], *grid = call->inputs[1], *at[2];
  const int64_t *s = x->shape, *g = grid->shape, mode = attrs->mode.value.i64;
  const BurnDType dtype = x->dtype, wide = at_least_f32(dtype);
  const Sampling sampling = {attrs->padding_mode.value.i64, attrs->align_corners.value.i64 != 0};
  const int64_t flat_planes[] = {s[0], s[1], s[2] * s[3]}, counts[] = {g[0], g[1], g[2], 1}, steps[] = {1, 1, 1, 1};
  const int64_t points[] = {g[0], 1, g[1] * g[2]};
  x = burn_build_reshape(builder, in_dtype(builder, x, wide), flat_planes, 3);
  const Picture picture = {x, s[0], s[1], s[2], s[3], points[2]};
  grid = in_dtype(builder, grid, wide);
  for (int64_t i = 0; i < 2; i++) { /* the grid holds x, then y */
    const int64_t starts[] = {0, 0, 0, i};
    const BurnAttr part[] = {burn_attr_i64s(starts, 4), burn_attr_i64s(counts, 4), burn_attr_i64s(steps, 4)};
    at[i] = burn_build_reshape(builder, burn_build(builder, BURN_OP_slice, 1, &grid, 3, part), points, 3);
    at[i] = position(builder, at[i], s[3 - i], sampling.align_corners);
    if (mode != BURN_GRID_SAMPLE_BICUBIC) at[i] = padded(builder, at[i], s[3 - i], &sampling);
  }
  BurnPrimitive *result;
  if (mode == BURN_GRID_SAMPLE_NEAREST) {
    result = pixels(builder, &picture, one(builder, BURN_OP_round, at[1]), one(builder, BURN_OP_round, at[0]), NULL);
  } else if (mode == BURN_GRID_SAMPLE_BILINEAR) {
    result = burn__decompose_bilinear(builder, &picture, at[1], at[0]);
  } else {
    result = bicubic(builder, &picture, at[1], at[0], &sampling);
  }
  out[0] = in_dtype(builder, burn_build_reshape(builder, result, call->output_descs[0].shape, 4), dtype);
}
