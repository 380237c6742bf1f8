/* decompose_signal.c - Fourier transforms written with other ops; see decompose_internal.h for the rules.
 *
 * Stockham's scheme: with n = 2 m and x seen as [2, m, s], the sums a + b and the turned differences (a - b) e^(-2 pi i
 * p / n) become [m, 2, s], which is a transform of length m over s times 2 columns; the order of the bins comes out
 * right. An odd m at the end is a product with its matrix, so a power of two takes n log n steps and a prime n^2. (Burn
 * takes powers of two only.) All factors are computed on the host in double, from angles reduced as integers. */
#include "decompose_internal.h"

#include <math.h>

/* A signal [before, n, after]; im is NULL while it is real. */
typedef struct Signal {
  BurnPrimitive *re, *im;
} Signal;

/* cos and sin of 2 pi index / n, 0 <= index < n. The angle within an eighth of the circle is a fraction of integers, so
 * that multiples of a quarter are exact. */
static void root_of_unity(int64_t index, int64_t n, double *cosine, double *sine) {
  const int64_t eighth = 8 * index / n, rest = 8 * index - eighth * n, quarter = (eighth + 1) / 2 % 4;
  const bool mirrored = eighth % 2 != 0;
  const double angle = 0.78539816339744830962 * (double)(mirrored ? n - rest : rest) / (double)n;
  const double c = cos(angle), s = mirrored ? -sin(angle) : sin(angle);
  *cosine = quarter == 0 ? c : quarter == 1 ? -s : quarter == 2 ? -c : s;
  *sine = quarter == 0 ? s : quarter == 1 ? c : quarter == 2 ? -s : -c;
}

/* Numbers as a tensor, f32 or f64; `room` is for their conversion. */
static BurnPrimitive *numbers(BurnBuilder *b, const BurnTensorDesc *desc, const double *values, void *room) {
  if (b->status != BURN_OK) return NULL;
  burn_builder_fail(b, burn__convert(values, BURN_DTYPE_F64, room, desc->dtype, (size_t)burn_desc_count(desc)));
  return constant(b, desc->dtype, desc->shape, desc->rank, room);
}

/* e^(2 pi i r c / n) for r below `rows` and c from `first` on, as tensors of shape [1, rows, columns]. */
static Signal roots(BurnBuilder *b, int64_t n, int64_t rows, int64_t first, int64_t columns, BurnDType dtype) {
  Signal result = {NULL, NULL};
  const BurnTensorDesc desc = {.dtype = dtype, .rank = 3, .shape = {1, rows, columns}};
  const bool possible = rows <= INT64_MAX / 3 / (int64_t)sizeof(double) / columns;
  const uint64_t count = possible ? (uint64_t)rows * (uint64_t)columns : 0, bytes = count * sizeof(double);
  double *values = possible ? b->host->allocate(3 * bytes) : NULL;
  if (!values) {
    burn_builder_fail(b, BURN_FAIL(OUT_OF_MEMORY,
                                   "fft: no memory for %lld times %lld roots of unity of length %lld; a length "
                                   "with small odd factors needs less",
                                   (long long)rows, (long long)columns, (long long)n));
    return result;
  }
  for (int64_t r = 0, i = 0; r < rows; r++) {
    for (int64_t c = first; c < first + columns; c++, i++)
      root_of_unity(r * c % n, n, &values[i], &values[count + (uint64_t)i]);
  }
  result.re = numbers(b, &desc, values, values + 2 * count);
  result.im = numbers(b, &desc, values + count, values + 2 * count);
  b->host->free(values, 3 * bytes);
  return result;
}

static BurnPrimitive *zeros(BurnBuilder *b, const int64_t *shape, uint32_t rank, const BurnPrimitive *like) {
  return like ? burn_build_full(b, shape, rank, like->dtype, 0) : NULL;
}

/* Sums and differences of the two halves, each [before, m, 1, s]. */
static void halves(BurnBuilder *b, BurnPrimitive *x, const int64_t shape[4], BurnPrimitive **sum,
                   BurnPrimitive **difference) {
  const int64_t half[] = {shape[0], shape[2], 1, shape[3]};
  BurnPrimitive *view = burn_build_reshape(b, x, shape, 4);
  BurnPrimitive *first = burn_build_reshape(b, range(b, view, 1, 0, 1), half, 4);
  BurnPrimitive *second = burn_build_reshape(b, range(b, view, 1, 1, 1), half, 4);
  *sum = burn_build_add(b, first, second);
  *difference = burn_build_sub(b, first, second);
}

/* One stage: [before, 2 m, s] to [before, m, 2 s]. */
static Signal stage(BurnBuilder *b, Signal x, const int64_t shape[4]) {
  const int64_t m = shape[2], merged[] = {shape[0], m, 2 * shape[3]}, turned[] = {1, m, 1, 1},
                half[] = {shape[0], m, 1, shape[3]};
  const Signal w = roots(b, 2 * m, m, 1, 1, x.re ? x.re->dtype : BURN_DTYPE_F32);
  BurnPrimitive *c = burn_build_reshape(b, w.re, turned, 4);
  BurnPrimitive *s = burn_build_reshape(b, w.im, turned, 4);
  BurnPrimitive *sum = NULL, *difference = NULL, *im_sum = NULL, *im_difference = NULL;
  halves(b, x.re, shape, &sum, &difference);
  BurnPrimitive *re = burn_build_mul(b, difference, c), *im = one(b, BURN_OP_neg, burn_build_mul(b, difference, s));
  if (x.im) {
    halves(b, x.im, shape, &im_sum, &im_difference);
    re = burn_build_add(b, re, burn_build_mul(b, im_difference, s));
    im = burn_build_add(b, im, burn_build_mul(b, im_difference, c));
  } else {
    im_sum = zeros(b, half, 4, x.re);
  }
  return (Signal){burn_build_reshape(b, pair(b, sum, re, 2), merged, 3),
                  burn_build_reshape(b, pair(b, im_sum, im, 2), merged, 3)};
}

/* matrix [1, n, n] times every column of x [before, n, s]; the matrix is symmetric, which serves rows where s is 1. */
static BurnPrimitive *times(BurnBuilder *b, BurnPrimitive *matrix, BurnPrimitive *x, const int64_t shape[3]) {
  if (shape[2] != 1) return burn_build_op2(b, BURN_OP_matmul, matrix, x);
  const int64_t as_rows[] = {1, shape[0], shape[1]};
  return burn_build_reshape(b, burn_build_op2(b, BURN_OP_matmul, burn_build_reshape(b, x, as_rows, 3), matrix), shape,
                            3);
}

/* The transform of an odd length by its matrix. */
static Signal by_matrix(BurnBuilder *b, Signal x, const int64_t shape[3]) {
  const Signal w = roots(b, shape[1], shape[1], 0, shape[1], x.re ? x.re->dtype : BURN_DTYPE_F32);
  Signal result = {times(b, w.re, x.re, shape), one(b, BURN_OP_neg, times(b, w.im, x.re, shape))};
  if (!x.im) return result;
  result.re = burn_build_add(b, result.re, times(b, w.im, x.im, shape));
  result.im = burn_build_add(b, result.im, times(b, w.re, x.im, shape));
  return result;
}

/* All n bins of x [before, n, after]; a real x becomes complex. */
static Signal transform(BurnBuilder *builder, Signal x, const int64_t shape[3]) {
  BurnPrimitive *kept[2] = {burn_build_give(builder, x.re), burn_build_give(builder, x.im)};
  int64_t n = shape[1], after = shape[2];
  while (n > 1 && builder->status == BURN_OK) {
    BurnBuilder turn = burn__builder_within(builder);
    const bool even = n % 2 == 0;
    const int64_t split[] = {shape[0], 2, n / 2, after}, whole[] = {shape[0], n, after};
    const Signal now = {kept[0], kept[1]};
    const Signal next = even ? stage(&turn, now, split) : by_matrix(&turn, now, whole);
    BurnPrimitive *const results[] = {next.re, next.im};
    end_turn(builder, &turn, kept, results, 2);
    after *= 2;
    n = even ? n / 2 : 1;
  }
  x.re = burn_build_own(builder, kept[0]);
  x.im = burn_build_own(builder, kept[1]);
  x.re = burn_build_reshape(builder, x.re, shape, 3);
  x.im = x.im ? burn_build_reshape(builder, x.im, shape, 3) : zeros(builder, shape, 3, x.re);
  return x;
}

/* x seen as [before, size, after], then cut or padded with zeros to `size` along the middle; f32 or f64. */
static BurnPrimitive *fitted(BurnBuilder *b, BurnPrimitive *x, int64_t dim, int64_t size, int64_t shape[3]) {
  const int64_t given = x->shape[dim];
  shape[0] = shape[2] = 1;
  for (int64_t i = 0; i < (int64_t)x->rank; i++) shape[i > dim ? 2 : 0] *= i == dim ? 1 : x->shape[i];
  shape[1] = given;
  BurnPrimitive *view = burn_build_reshape(b, in_dtype(b, x, at_least_f32(x->dtype)), shape, 3);
  shape[1] = size;
  if (given >= size) return given == size ? view : range(b, view, 1, 0, size);
  const int64_t missing[] = {shape[0], size - given, shape[2]};
  return pair(b, view, zeros(b, missing, 3, view), 1);
}

/* A result as the call describes it. */
static BurnPrimitive *finished(BurnBuilder *b, const BurnOpCall *call, BurnPrimitive *x) {
  const BurnTensorDesc *desc = call->output_descs;
  return in_dtype(b, burn_build_reshape(b, x, desc->shape, desc->rank), desc->dtype);
}

DECOMPOSE(rfft) {
  const BurnAttrs_rfft *attrs = BURN_ATTRS(rfft, call);
  const int64_t n = attrs->n.value.i64;
  int64_t shape[3];
  const Signal x = {fitted(builder, call->inputs[0], attrs->dim.value.i64, n, shape), NULL};
  const Signal bins = transform(builder, x, shape);
  out[0] = finished(builder, call, range(builder, bins.re, 1, 0, n / 2 + 1));
  out[1] = finished(builder, call, range(builder, bins.im, 1, 0, n / 2 + 1));
}

DECOMPOSE(cfft) {
  const BurnAttrs_cfft *attrs = BURN_ATTRS(cfft, call);
  const int64_t dim = attrs->dim.value.i64, n = attrs->n.value.i64;
  int64_t shape[3];
  const Signal x = {fitted(builder, call->inputs[0], dim, n, shape), fitted(builder, call->inputs[1], dim, n, shape)};
  const Signal bins = transform(builder, x, shape);
  out[0] = finished(builder, call, bins.re);
  out[1] = finished(builder, call, bins.im);
}

/* Bins 0 .. n / 2 and, mirrored, those of the negative frequencies. */
static BurnPrimitive *mirrored(BurnBuilder *b, BurnPrimitive *x, const int64_t half[3], int64_t n, double sign) {
  const int64_t missing = n - half[1];
  if (missing == 0) return x;
  const int64_t starts[] = {0, missing, 0}, counts[] = {half[0], missing, half[2]}, steps[] = {1, -1, 1};
  const BurnAttr attrs[] = {burn_attr_i64s(starts, 3), burn_attr_i64s(counts, 3), burn_attr_i64s(steps, 3)};
  BurnPrimitive *back = burn_build(b, BURN_OP_slice, 1, &x, 3, attrs);
  return pair(b, x, sign < 0 ? one(b, BURN_OP_neg, back) : back, 1);
}

/* The inverse is the transform of the conjugated bins, divided by n; its imaginary part is 0. */
DECOMPOSE(irfft) {
  const BurnAttrs_irfft *attrs = BURN_ATTRS(irfft, call);
  const int64_t dim = attrs->dim.value.i64, n = attrs->n.value.i64;
  int64_t half[3];
  BurnPrimitive *re = fitted(builder, call->inputs[0], dim, n / 2 + 1, half);
  BurnPrimitive *im = one(builder, BURN_OP_neg, fitted(builder, call->inputs[1], dim, n / 2 + 1, half));
  const Signal bins = {mirrored(builder, re, half, n, 1), mirrored(builder, im, half, n, -1)};
  const int64_t shape[] = {half[0], n, half[2]};
  const Signal x = transform(builder, bins, shape);
  out[0] = finished(builder, call, burn_build_scalar(builder, BURN_OP_div_scalar, x.re, (double)n));
}
