/* large_tensor_test.c - ops on tensors so large that the CPU backend works in blocks and writes past the caches: the
 * same bits as on small pieces, whatever the layout of the inputs; and the memory of the device under a limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/activation.h>
#include <burn/burn.h>
#include <burn/ops_move.h>

#include "isa_device.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 17.3 MB of f32, in odd sizes; pieces of 64 rows are small. */
enum { ROWS = 2203, COLUMNS = 1961, PIECE = 64 };

static const char *const stacks[] = {"ndarray", "ndarray:isa=avx2", "ndarray:isa=baseline"};

#define C(x) burn_clone(x)

typedef struct Inputs {
  BurnTensor *a, *b, *row, *column, *mask;
} Inputs;

/* -- elementwise ------------------------------------------------------------------------------ */

static BurnTensor *op_add(const Inputs *in) { return burn_add(C(in->a), C(in->b)); }
static BurnTensor *op_row(const Inputs *in) { return burn_mul(C(in->a), C(in->row)); }
static BurnTensor *op_column(const Inputs *in) { return burn_sub(C(in->column), C(in->a)); }
static BurnTensor *op_outer(const Inputs *in) { return burn_add(C(in->column), C(in->row)); }
static BurnTensor *op_exp(const Inputs *in) { return burn_exp(C(in->a)); }
static BurnTensor *op_gelu(const Inputs *in) { return burn_gelu(C(in->a)); }
static BurnTensor *op_compare(const Inputs *in) { return burn_greater(C(in->a), C(in->b)); }
static BurnTensor *op_where(const Inputs *in) { return burn_mask_where(C(in->a), C(in->mask), C(in->b)); }
static BurnTensor *op_fill(const Inputs *in) { return burn_mask_fill(C(in->a), C(in->mask), 7); }
static BurnTensor *op_power(const Inputs *in) { return burn_powf_scalar(burn_abs(C(in->a)), 1.75); }
static BurnTensor *op_powers(const Inputs *in) { return burn_powf(burn_abs(C(in->a)), C(in->b)); }
static BurnTensor *op_infinite(const Inputs *in) {
  return burn_tanh(burn_mask_fill(C(in->a), C(in->mask), (double)-INFINITY));
}
static BurnTensor *op_bf16(const Inputs *in) { return burn_cast(C(in->a), BURN_DTYPE_BF16); }
static BurnTensor *op_f16(const Inputs *in) { return burn_cast(C(in->a), BURN_DTYPE_F16); }
static BurnTensor *op_f64(const Inputs *in) { return burn_exp(burn_cast(C(in->a), BURN_DTYPE_F64)); }
static BurnTensor *op_int(const Inputs *in) { return burn_cast(C(in->a), BURN_DTYPE_I32); }
static BurnTensor *op_half_gelu(const Inputs *in) { return burn_gelu(burn_cast(C(in->a), BURN_DTYPE_BF16)); }
static BurnTensor *op_half_row(const Inputs *in) {
  return burn_mul(burn_cast(C(in->a), BURN_DTYPE_F16), burn_cast(C(in->row), BURN_DTYPE_F16));
}
static BurnTensor *op_half_column(const Inputs *in) {
  return burn_add(burn_cast(C(in->column), BURN_DTYPE_BF16), burn_cast(C(in->a), BURN_DTYPE_BF16));
}
static BurnTensor *op_half_compare(const Inputs *in) {
  return burn_greater_scalar(burn_cast(C(in->a), BURN_DTYPE_BF16), 0.3);
}

static BurnTensor *(*const ops[])(const Inputs *) = {
    op_add,       op_row,      op_column,      op_outer,        op_exp,    op_gelu,     op_compare,
    op_where,     op_fill,     op_power,       op_bf16,         op_f16,    op_f64,      op_int,
    op_half_gelu, op_half_row, op_half_column, op_half_compare, op_powers, op_infinite,
};

static BurnTensor *rows_of(BurnTensor *x, int64_t first, int64_t count) { return burn_narrow(C(x), 0, first, count); }

/* The same numbers, in memory column by column. Takes x. */
static BurnTensor *by_columns(BurnTensor *x) {
  BurnTensor *columns =
      burn_reshape(burn_reshape(burn_transpose(x), BURN_SHAPE(ROWS * COLUMNS)), BURN_SHAPE(COLUMNS, ROWS));
  return burn_transpose(columns);
}

static void *bytes_of(BurnTensor *x, size_t bytes) {
  void *data = malloc(bytes);
  assert_non_null(data);
  assert_int_equal(burn_read(x, data, bytes), BURN_OK);
  return data;
}

static size_t element_bytes(const BurnTensor *x) {
  const BurnDType dtype = burn_dtype(x);
  return dtype == BURN_DTYPE_F64                               ? 8
         : dtype == BURN_DTYPE_BF16 || dtype == BURN_DTYPE_F16 ? 2
         : dtype == BURN_DTYPE_BOOL                            ? 1
                                                               : 4;
}

/* Takes large. */
static void expect_pieces(const Inputs *in, size_t which, BurnTensor *large) {
  const size_t row = COLUMNS * element_bytes(large);
  char *found = bytes_of(large, ROWS * row);
  for (int64_t first = 0; first < ROWS; first += PIECE) {
    const int64_t count = ROWS - first < PIECE ? ROWS - first : PIECE;
    const Inputs piece = {rows_of(in->a, first, count), rows_of(in->b, first, count), in->row,
                          rows_of(in->column, first, count), rows_of(in->mask, first, count)};
    char *wanted = bytes_of(ops[which](&piece), (size_t)count * row);
    if (memcmp(found + (size_t)first * row, wanted, (size_t)count * row) != 0) {
      fail_msg("op %zu of the list: rows %lld.. differ", which, (long long)first);
    }
    free(wanted);
    burn_drop(piece.a);
    burn_drop(piece.b);
    burn_drop(piece.column);
    burn_drop(piece.mask);
  }
  free(found);
}

static Inputs make_inputs(BurnDevice *device) {
  Inputs in = {burn_random_normal(device, BURN_SHAPE(ROWS, COLUMNS), BURN_DTYPE_F32, 0, 1),
               burn_random_normal(device, BURN_SHAPE(ROWS, COLUMNS), BURN_DTYPE_F32, 0, 1),
               burn_random_normal(device, BURN_SHAPE(1, COLUMNS), BURN_DTYPE_F32, 0, 1),
               burn_random_normal(device, BURN_SHAPE(ROWS, 1), BURN_DTYPE_F32, 0, 1), NULL};
  in.mask = burn_greater(C(in.a), C(in.b));
  return in;
}

static void drop_inputs(Inputs *in) {
  burn_drop(in->a);
  burn_drop(in->b);
  burn_drop(in->row);
  burn_drop(in->column);
  burn_drop(in->mask);
}

/* Every op on rows, then with one input by columns, then with both. */
static void test_elementwise(void **state) {
  (void)state;
  for (size_t s = 0; s < sizeof stacks / sizeof *stacks; s++) {
    BurnDevice *device = isa_device_open(stacks[s]);
    if (!device) continue;
    Inputs in = make_inputs(device);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
      Inputs mixed = in, columns = in;
      mixed.a = columns.a = by_columns(C(in.a));
      columns.b = by_columns(C(in.b));
      columns.mask = by_columns(C(in.mask));
      expect_pieces(&in, i, ops[i](&in));
      expect_pieces(&in, i, ops[i](&mixed));
      expect_pieces(&in, i, ops[i](&columns));
      burn_drop(mixed.a);
      burn_drop(columns.b);
      burn_drop(columns.mask);
    }
    drop_inputs(&in);
    burn_device_close(device);
  }
}

/* -- scans ------------------------------------------------------------------------------------ */

/* Running sums by their definition, carried in f64: bit by bit, along rows and columns, in small pieces and past the
 * caches, into a new tensor and into the input. Takes x [rows, columns]. */
static void expect_cumsum(BurnTensor *x, int64_t rows, int64_t columns, int dim) {
  const size_t bytes = (size_t)(rows * columns) * sizeof(float);
  const int64_t lines = dim == 0 ? columns : rows, length = dim == 0 ? rows : columns;
  const int64_t line = dim == 0 ? 1 : columns, step = dim == 0 ? columns : 1;
  float *from = bytes_of(C(x), bytes), *fresh = bytes_of(burn_cumsum(C(x), dim), bytes);
  float *given = bytes_of(burn_cumsum(x, dim), bytes);
  for (int64_t i = 0; i < lines; i++) {
    double sum = 0;
    for (int64_t j = 0; j < length; j++) {
      const int64_t at = i * line + j * step;
      sum += (double)from[at];
      const float wanted = (float)sum;
      if (memcmp(&wanted, fresh + at, sizeof wanted) != 0 || memcmp(&wanted, given + at, sizeof wanted) != 0)
        fail_msg("cumsum of axis %d of [%lld, %lld]: element %lld is %g and %g, not %g", dim, (long long)rows,
                 (long long)columns, (long long)at, (double)fresh[at], (double)given[at], (double)wanted);
    }
  }
  free(from);
  free(fresh);
  free(given);
}

static void test_scans(void **state) {
  (void)state;
  static const int64_t shapes[][2] = {{ROWS, COLUMNS}, {2048, 1024}, {15, 70}, {16, 1},
                                      {17, 129},       {1100, 65},   {3, 513}};
  for (size_t s = 0; s < sizeof stacks / sizeof *stacks; s++) {
    BurnDevice *device = isa_device_open(stacks[s]);
    if (!device) continue;
    for (size_t i = 0; i < 2 * sizeof shapes / sizeof *shapes; i++) {
      const int64_t rows = shapes[i / 2][0], columns = shapes[i / 2][1];
      BurnTensor *x = burn_random_normal(device, BURN_SHAPE(rows, columns), BURN_DTYPE_F32, 0, 1);
      expect_cumsum(x, rows, columns, i % 2);
    }
    burn_device_close(device);
  }
}

/* -- extremes of long runs -------------------------------------------------------------------- */

/* The largest of n numbers below 0, of which that at `place` is another one; and the smallest of their opposites. */
static void expect_extremes(BurnDevice *device, int64_t n, int64_t place, float other) {
  float *x = malloc((size_t)n * sizeof *x), largest = 0, smallest = 0;
  assert_non_null(x);
  for (int64_t i = 0; i < n; i++) x[i] = -1.0f - (float)(i * 7919 % 1009);
  x[place] = other;
  BurnTensor *tensor = burn_tensor_f32(device, x, BURN_SHAPE(n));
  float *max = bytes_of(burn_max(C(tensor)), sizeof *max), *min = bytes_of(burn_min(burn_neg(tensor)), sizeof *min);
  largest = *max, smallest = *min;
  free(x);
  free(max);
  free(min);
  if (isnan(other) ? isnan(largest) && isnan(smallest) : largest == other && smallest == -other) return;
  fail_msg("%lld elements, %g at %lld: the largest is %g, the smallest of their opposites %g", (long long)n,
           (double)other, (long long)place, (double)largest, (double)smallest);
}

/* Runs that are read from one place and from several, and what is left over after these. */
static void test_extremes(void **state) {
  (void)state;
  static const int64_t counts[] = {8191, 8192, 8229, 65536, 200003};
  for (size_t s = 0; s < sizeof stacks / sizeof *stacks; s++) {
    BurnDevice *device = isa_device_open(stacks[s]);
    if (!device) continue;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
      for (int64_t part = 0; part <= 16; part++) {
        const int64_t place = part < 16 ? counts[i] / 16 * part : counts[i] - 1;
        expect_extremes(device, counts[i], place, -0.5f);
        expect_extremes(device, counts[i], place, NAN);
        expect_extremes(device, counts[i], place, 0.0f);
      }
    }
    burn_device_close(device);
  }
}

/* -- places of extremes in columns ------------------------------------------------------------ */

/* The first place of a NaN, or else of the largest value. */
static int64_t first_largest(const float *x, int64_t columns, int64_t c) {
  int64_t best = 0;
  for (int64_t r = 1; r < ROWS && !isnan(x[best * columns + c]); r++)
    if (x[r * columns + c] > x[best * columns + c] || isnan(x[r * columns + c])) best = r;
  return best;
}

static void expect_places(BurnDevice *device, const float *x, int64_t columns) {
  const size_t bytes = sizeof(int64_t) * (size_t)columns;
  BurnTensor *input = burn_tensor_f32(device, x, BURN_SHAPE(ROWS, columns));
  int64_t *largest = bytes_of(burn_cast(burn_argmax(C(input), 0), BURN_DTYPE_I64), bytes);
  int64_t *smallest = bytes_of(burn_cast(burn_argmin(burn_neg(input), 0), BURN_DTYPE_I64), bytes);
  for (int64_t c = 0; c < columns; c++) {
    const int64_t wanted = first_largest(x, columns, c);
    if (largest[c] != wanted || smallest[c] != wanted)
      fail_msg(
          "column %lld of %lld: the largest is in row %lld, the smallest of the opposites in row %lld, not in %lld",
          (long long)c, (long long)columns, (long long)largest[c], (long long)smallest[c], (long long)wanted);
  }
  free(largest);
  free(smallest);
}

/* Few columns, whose rows threads share, and more; numbers that come again and again, some columns with two NaNs. */
static void test_places_in_columns(void **state) {
  (void)state;
  static const int64_t columns[] = {3, 70, 1100};
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
    const int64_t n = columns[i];
    float *x = malloc(sizeof *x * (size_t)(ROWS * n));
    assert_non_null(x);
    for (int64_t k = 0; k < ROWS * n; k++) x[k] = (float)(k * 7919 % 1009);
    for (int64_t c = 2; c < n; c += 5) x[(c * 37 % ROWS) * n + c] = x[(c * 91 % ROWS) * n + c] = NAN;
    for (size_t s = 0; s < sizeof stacks / sizeof *stacks; s++) {
      BurnDevice *device = isa_device_open(stacks[s]);
      if (!device) continue;
      expect_places(device, x, n);
      burn_device_close(device);
    }
    free(x);
  }
}

/* -- extremes of columns ---------------------------------------------------------------------- */

/* Column 3 has a NaN, 5 nothing but zeros of both signs, of which the first stays; 7 nothing but -infinity. */
static void test_extremes_of_columns(void **state) {
  (void)state;
  enum { WIDTH = 1100 };
  float *x = malloc(sizeof *x * (size_t)ROWS * WIDTH);
  assert_non_null(x);
  for (int64_t i = 0; i < (int64_t)ROWS * WIDTH; i++) {
    const int64_t r = i / WIDTH, c = i % WIDTH;
    x[i] = c == 5 ? (r % 3 == 0 ? -0.0f : 0.0f) : c == 7 ? -INFINITY : (float)(i * 7919 % 100003) - 50000.0f;
  }
  x[1500 * WIDTH + 3] = NAN;
  for (size_t s = 0; s < sizeof stacks / sizeof *stacks; s++) {
    BurnDevice *device = isa_device_open(stacks[s]);
    if (!device) continue;
    BurnTensor *input = burn_tensor_f32(device, x, BURN_SHAPE(ROWS, WIDTH));
    float *largest = bytes_of(burn_max_dim(C(input), 0), WIDTH * sizeof(float));
    float *smallest = bytes_of(burn_min_dim(input, 0), WIDTH * sizeof(float));
    for (int64_t c = 0; c < WIDTH; c++) {
      float most = x[c], least = x[c];
      for (int64_t r = 1; r < ROWS; r++) most = fmaxf(most, x[r * WIDTH + c]), least = fminf(least, x[r * WIDTH + c]);
      if (c == 3) assert_true(isnan(largest[c]) && isnan(smallest[c]));
      if (c != 3) assert_true(largest[c] == most && smallest[c] == least);
    }
    assert_true(signbit(largest[5]) && signbit(smallest[5]));
    free(largest);
    free(smallest);
    burn_device_close(device);
  }
  free(x);
}

/* -- softmax along columns -------------------------------------------------------------------- */

/* Maxima grow along the columns; column 0 has nothing but -infinity, 1 a NaN, 2 begins with more -infinities than a block
 * has rows. */
static void fill_columns(float *x, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows * columns; i++) {
    const int64_t r = i / columns, c = i % columns;
    x[i] = (float)(i * 7919 % 1009) / 200.0f + (float)r * 0.003f;
    if (c == 0 || (c == 2 && r < 300)) x[i] = -INFINITY;
  }
  x[rows / 3 * columns + 1] = NAN;
}

static void expect_softmax(const float *x, int64_t rows, int64_t columns, const float *found, const float *logarithms) {
  for (int64_t c = 0; c < columns; c++) {
    double max = -(double)INFINITY, sum = 0;
    for (int64_t r = 0; r < rows; r++) max = fmax(max, (double)x[r * columns + c]);
    for (int64_t r = 0; r < rows; r++) sum += exp((double)x[r * columns + c] - max);
    for (int64_t r = 0; r < rows; r++) {
      const int64_t at = r * columns + c;
      const double logarithm = (double)x[at] - max - log(sum), wanted = exp(logarithm);
      if (isnan(wanted) ? isnan(found[at]) && isnan(logarithms[at])
                        : fabs((double)found[at] - wanted) <= 2e-6 * wanted + 1e-30 &&
                              ((double)logarithms[at] == logarithm || fabs((double)logarithms[at] - logarithm) <= 4e-6))
        continue;
      fail_msg("softmax of row %lld, column %lld is %g, its logarithm %g, not %g and %g", (long long)r, (long long)c,
               (double)found[at], (double)logarithms[at], wanted, logarithm);
    }
  }
}

/* By the definition, and with the same bits on all instruction sets. */
static void expect_softmax_columns(int64_t rows, int64_t columns) {
  const size_t bytes = sizeof(float) * (size_t)(rows * columns);
  float *x = malloc(bytes), *first = NULL;
  assert_non_null(x);
  fill_columns(x, rows, columns);
  for (size_t s = 0; s < sizeof stacks / sizeof *stacks; s++) {
    BurnDevice *device = isa_device_open(stacks[s]);
    if (!device) continue;
    BurnTensor *input = burn_tensor_f32(device, x, BURN_SHAPE(rows, columns));
    float *logarithms = bytes_of(burn_log_softmax(C(input), 0), bytes),
          *found = bytes_of(burn_softmax(input, 0), bytes);
    expect_softmax(x, rows, columns, found, logarithms);
    if (first) { /* any NaN is like any other */
      for (int64_t i = 0; i < rows * columns; i++)
        if (!isnan(first[i])) assert_memory_equal(first + i, found + i, sizeof *found);
    }
    free(logarithms);
    if (!first)
      first = found;
    else
      free(found);
    burn_device_close(device);
  }
  free(first);
  free(x);
}

/* Few columns: one block of rows, and several. More: packed strips of several stretches of rows, in lines of memory and
 * not. One stretch of rows, one and a row, and two; one strip, and one with a column of the next. */
static void test_softmax_columns(void **state) {
  (void)state;
  expect_softmax_columns(ROWS, 70);
  expect_softmax_columns(ROWS, 500);
  expect_softmax_columns(ROWS, 1024);
  expect_softmax_columns(ROWS, 1100);
  for (int64_t rows = 64; rows <= 128; rows += rows == 64 ? 1 : 63) {
    expect_softmax_columns(rows, 64);
    expect_softmax_columns(rows, 129);
    expect_softmax_columns(rows, 16384 + 5);
  }
}

/* -- what elements are copied ----------------------------------------------------------------- */

/* Element i of x is i modulo 65521, so that a place in the result names the place it comes from. */
static float number_at(int64_t i) { return (float)(i % 65521); }

static BurnTensor *numbers(BurnDevice *device, BurnShape shape, int64_t count, BurnDType dtype) {
  BurnTensor *x = burn_float(burn_remainder_scalar(burn_arange(device, 0, count, 1), 65521));
  return burn_cast(burn_reshape(x, shape), dtype);
}

typedef struct Axes4 {
  int64_t size[4];
  int order[4];
} Axes4;

static void expect_permuted(BurnDevice *device, Axes4 axes, BurnDType dtype) {
  const int64_t *n = axes.size, count = n[0] * n[1] * n[2] * n[3];
  const int64_t strides[4] = {n[1] * n[2] * n[3], n[2] * n[3], n[3], 1};
  int64_t m[4], step[4];
  for (int i = 0; i < 4; i++) m[i] = n[axes.order[i]], step[i] = strides[axes.order[i]];
  BurnTensor *x = burn_permute(numbers(device, BURN_SHAPE(n[0], n[1], n[2], n[3]), count, dtype), axes.order);
  BurnTensor *packed = burn_float(burn_reshape(x, BURN_SHAPE(count)));
  float *found = bytes_of(packed, (size_t)count * sizeof *found);
  for (int64_t i = 0; i < count; i++) {
    int64_t from = 0, rest = i;
    for (int k = 3; k >= 0; k--) from += rest % m[k] * step[k], rest /= m[k];
    if (found[i] != number_at(from))
      fail_msg("element %lld is %g, not %g", (long long)i, (double)found[i], (double)number_at(from));
  }
  free(found);
}

static void test_permute(void **state) {
  (void)state;
  static const Axes4 cases[] = {
      {{1, 1, ROWS, COLUMNS}, {0, 1, 3, 2}}, {{1, 1, 2048, 2048}, {0, 1, 3, 2}}, {{4, 257, 33, 121}, {0, 2, 1, 3}},
      {{4, 256, 32, 128}, {0, 2, 1, 3}},     {{7, 61, 97, 103}, {0, 2, 3, 1}},   {{7, 61, 97, 103}, {3, 1, 2, 0}},
  };
  for (size_t s = 0; s < sizeof stacks / sizeof *stacks; s++) {
    BurnDevice *device = isa_device_open(stacks[s]);
    if (!device) continue;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      expect_permuted(device, cases[i], BURN_DTYPE_F32);
      expect_permuted(device, cases[i], BURN_DTYPE_F64);
      expect_permuted(device, cases[i], BURN_DTYPE_I32);
    }
    burn_device_close(device);
  }
}

/* Rows of every length that is copied otherwise, in parts of several threads, which begin and end anywhere in a row. */
static void test_permute_short_rows(void **state) {
  (void)state;
  static const int64_t lengths[] = {1, 2, 3, 5, 8, 9, 16, 23, 32, 63, 64, 65};
  for (size_t s = 0; s < sizeof stacks / sizeof *stacks; s++) {
    BurnDevice *device = isa_device_open(stacks[s]);
    if (!device) continue;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
      expect_permuted(device, (Axes4){{3, 257, 5, lengths[i]}, {0, 2, 1, 3}}, BURN_DTYPE_F32);
    for (int64_t bytes = 1; bytes <= 16; bytes++) /* 240 elements, each with a number of its own */
      expect_permuted(device, (Axes4){{1, 5, 3, bytes}, {0, 2, 1, 3}}, BURN_DTYPE_U8);
    burn_device_close(device);
  }
}

/* One and two bytes: a permutation there and back gives the same. */
static void test_permute_narrow(void **state) {
  (void)state;
  static const BurnDType dtypes[] = {BURN_DTYPE_U8, BURN_DTYPE_I16};
  for (size_t s = 0; s < sizeof stacks / sizeof *stacks; s++) {
    BurnDevice *device = isa_device_open(stacks[s]);
    if (!device) continue;
    for (size_t i = 0; i < 2; i++) {
      enum { SIDE = 3011, OTHER = 3517 };
      const size_t bytes = (size_t)SIDE * OTHER * (i + 1);
      BurnTensor *x = burn_cast(burn_arange(device, 0, (int64_t)SIDE * OTHER, 1), dtypes[i]);
      x = burn_reshape(x, BURN_SHAPE(SIDE, OTHER));
      BurnTensor *there =
          burn_reshape(burn_reshape(burn_transpose(C(x)), BURN_SHAPE((int64_t)SIDE * OTHER)), BURN_SHAPE(OTHER, SIDE));
      const BurnRange one[] = {{5, 6, 1}, {0, BURN_END, 1}};
      uint8_t *row = bytes_of(burn_slice(C(there), one, 2), SIDE * (i + 1));
      uint8_t *back = bytes_of(burn_transpose(there), bytes), *wanted = bytes_of(C(x), bytes);
      assert_memory_equal(back, wanted, bytes);
      for (size_t k = 0; k < SIDE; k++)
        assert_memory_equal(row + k * (i + 1), wanted + (k * OTHER + 5) * (i + 1), i + 1);
      free(row);
      free(back);
      free(wanted);
      burn_drop(x);
    }
    burn_device_close(device);
  }
}

/* cat, slice, repeat and expand, which copy rows that start anywhere in a cache line. */
static void test_rows(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("ndarray");
  BurnTensor *x = numbers(device, BURN_SHAPE(ROWS, COLUMNS), ROWS * COLUMNS, BURN_DTYPE_F32);
  BurnTensor *parts[2] = {C(x), burn_narrow(C(x), 1, 3, 1001)};
  const int64_t width = COLUMNS + 1001;
  float *both = bytes_of(burn_cat(parts, 2, 1), (size_t)(ROWS * width) * sizeof *both);
  float *twice = bytes_of(burn_repeat_dim(burn_narrow(C(x), 0, 7, 1), 0, ROWS), (size_t)ROWS * COLUMNS * sizeof *twice);
  for (int64_t r = 0; r < ROWS; r++) {
    for (int64_t c = 0; c < width; c++) {
      const int64_t from = r * COLUMNS + (c < COLUMNS ? c : c - COLUMNS + 3);
      if (both[r * width + c] != number_at(from)) fail_msg("cat: row %lld, column %lld", (long long)r, (long long)c);
    }
    for (int64_t c = 0; c < COLUMNS; c++) {
      if (twice[r * COLUMNS + c] != number_at(7 * COLUMNS + c))
        fail_msg("repeat: row %lld, column %lld", (long long)r, (long long)c);
    }
  }
  free(both);
  free(twice);
  burn_drop(x);
  burn_device_close(device);
}

/* -- random numbers --------------------------------------------------------------------------- */

/* Large results are the small ones after each other: word i belongs to element i. */
static void test_random(void **state) {
  (void)state;
  enum { COUNT = 4 * 1000 * 1000, PART = 40000 };
  BurnDevice *device = burn_device_open("ndarray");
  for (int which = 0; which < 4; which++) {
    burn_device_seed(device, 11);
    const BurnRandomState start = burn_device_random_state(device);
    BurnTensor *large = NULL, *ones = burn_ones(device, BURN_SHAPE(COUNT), BURN_DTYPE_F32);
    if (which == 0) large = burn_random_uniform(device, BURN_SHAPE(COUNT), BURN_DTYPE_F32, -1, 2);
    if (which == 1) large = burn_random_normal(device, BURN_SHAPE(COUNT), BURN_DTYPE_F32, -1, 2);
    if (which == 2) large = burn_random_bernoulli(device, BURN_SHAPE(COUNT), BURN_DTYPE_F32, 0.3);
    if (which == 3) large = burn_dropout(C(ones), 0.3);
    float *all = bytes_of(large, COUNT * sizeof *all);
    burn_device_set_random_state(device, start);
    for (int64_t first = 0; first < COUNT; first += PART) {
      BurnTensor *small = NULL;
      if (which == 0) small = burn_random_uniform(device, BURN_SHAPE(PART), BURN_DTYPE_F32, -1, 2);
      if (which == 1) small = burn_random_normal(device, BURN_SHAPE(PART), BURN_DTYPE_F32, -1, 2);
      if (which == 2) small = burn_random_bernoulli(device, BURN_SHAPE(PART), BURN_DTYPE_F32, 0.3);
      if (which == 3) small = burn_dropout(burn_narrow(C(ones), 0, first, PART), 0.3);
      float *part = bytes_of(small, PART * sizeof *part);
      assert_memory_equal(all + first, part, PART * sizeof *part);
      free(part);
    }
    free(all);
    burn_drop(ones);
  }
  burn_device_close(device);
}

/* -- memory ----------------------------------------------------------------------------------- */

static void test_memory_limit(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("ndarray:memory_limit=64MiB");
  assert_int_equal(burn_device_status(device), BURN_OK);
  BurnTensor *fits = burn_zeros(device, BURN_SHAPE(4 << 20), BURN_DTYPE_F32); /* 16 MiB */
  assert_int_equal(burn_tensor_status(fits), BURN_OK);
  burn_drop(burn_zeros(device, BURN_SHAPE(10 << 20), BURN_DTYPE_F32)); /* 40 MiB, cached then */
  BurnTensor *other =
      burn_zeros(device, BURN_SHAPE(8 << 20), BURN_DTYPE_F32); /* 32 MiB: fits without the cache alone */
  assert_int_equal(burn_tensor_status(other), BURN_OK);
  assert_true(burn_device_memory(device).bytes_reserved <= 64 << 20);
  BurnTensor *large = burn_zeros(device, BURN_SHAPE(16 << 20), BURN_DTYPE_F32);
  assert_int_equal(burn_status_code(burn_tensor_status(large)), BURN_STATUS_OUT_OF_MEMORY);
  const char *message = burn_status_message(burn_tensor_status(large));
  assert_non_null(strstr(message, "50331648 bytes in use"));
  assert_non_null(strstr(message, "memory_limit=67108864"));
  burn_drop(large);
  burn_drop(other);
  BurnTensor *again = burn_add_scalar(fits, 1); /* it goes on */
  assert_int_equal(burn_tensor_status(again), BURN_OK);
  burn_drop(again);
  burn_device_close(device);
}

static void test_memory_limit_texts(void **state) {
  (void)state;
  static const char *const bad[] = {"ndarray:memory_limit=0", "ndarray:memory_limit=x", "ndarray:memory_limit=5TB",
                                    "ndarray:memory_limit=MiB", "ndarray:memory_limit=9999999999999999999GiB"};
  static const char *const good[] = {"ndarray:memory_limit=1000000", "ndarray:memory_limit=64KiB",
                                     "ndarray:memory_limit=2GiB"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    BurnDevice *device = burn_device_open(bad[i]);
    assert_int_equal(burn_status_code(burn_device_status(device)), BURN_STATUS_INVALID_ARGUMENT);
    burn_device_close(device);
  }
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    BurnDevice *device = burn_device_open(good[i]);
    assert_int_equal(burn_device_status(device), BURN_OK);
    burn_device_close(device);
  }
}

/* The cache is bounded by the most that was in use, and gives what is stale first. */
static void test_cache_is_bounded(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("ndarray");
  for (int64_t size = 1; size < 60; size++) { /* each of its own class in the end, 4 to 240 MiB */
    burn_drop(burn_zeros(device, BURN_SHAPE(size << 20), BURN_DTYPE_F32));
  }
  const BurnMemoryStats stats = burn_device_memory(device);
  assert_int_equal(stats.bytes_in_use, 0);
  assert_int_equal(stats.bytes_peak, (int64_t)59 << 22);
  assert_true(stats.bytes_reserved <= (int64_t)256 << 20);
  burn_device_trim(device);
  assert_int_equal(burn_device_memory(device).bytes_reserved, 0);
  burn_device_close(device);
}

/* Tensors and bytes are counted once, with views and when those outlive what they look at. */
static void test_counts(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("ndarray");
  BurnTensor *x = burn_zeros(device, BURN_SHAPE(1000, 100), BURN_DTYPE_F32);
  BurnTensor *view = burn_transpose(C(x));
  assert_int_equal(burn_tensor_status(view), BURN_OK);
  assert_int_equal(burn_device_memory(device).live_tensors, 2);
  assert_int_equal(burn_device_memory(device).bytes_in_use, 400000);
  burn_drop(x);
  assert_int_equal(burn_device_memory(device).live_tensors, 1);
  assert_int_equal(burn_device_memory(device).bytes_in_use, 400000);
  burn_drop(view);
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
  assert_int_equal(burn_device_memory(device).bytes_in_use, 0);
  assert_int_equal(burn_device_memory(device).bytes_peak, 400000);
  burn_device_close(device);
}

/* -- taps that lie far apart ------------------------------------------------------------------- */

enum { FAR = 1000000, FEW = 3 };

static void must_read_numbers(BurnTensor *x, float *out, int64_t count) {
  const BurnStatus status = burn_read_f32(x, out, (size_t)count);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
}

/* Each row of the results sees two rows a million apart: copied anew for every few rows these took minutes. */
static void test_tall_kernels_take_no_longer_than_their_results(void **state) {
  const BurnConv2dOptions options = {{1, 1}, {0, 0}, {FAR, 1}, 1, {0, 0}, false, {0, 0}};
  const float few[FEW] = {1, 2, 3}, taps[2] = {10, 100};
  float *wide = malloc((FAR + FEW) * sizeof *wide), back[FEW];
  (void)state;
  assert_non_null(wide);
  BurnDevice *device = burn_device_open("ndarray");
  BurnTensor *kernel = burn_tensor_f32(device, taps, BURN_SHAPE(1, 1, 2, 1));
  BurnTensor *result =
      burn_conv_transpose2d(burn_tensor_f32(device, few, BURN_SHAPE(1, 1, FEW, 1)), burn_clone(kernel), NULL, options);
  must_read_numbers(burn_clone(result), wide, FAR + FEW);
  for (int64_t i = 0; i < FAR + FEW; i++) {
    const float expected = i < FEW ? 10 * few[i] : i >= FAR ? 100 * few[i - FAR] : 0;
    if (wide[i] != expected) fail_msg("row %lld: %g, not %g", (long long)i, (double)wide[i], (double)expected);
  }
  must_read_numbers(burn_conv2d(result, kernel, NULL, options), back, FEW);
  for (int i = 0; i < FEW; i++) assert_float_equal(back[i], 10100 * few[i], 0);
  burn_device_close(device);
  free(wide);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tall_kernels_take_no_longer_than_their_results),
      cmocka_unit_test(test_elementwise),
      cmocka_unit_test(test_scans),
      cmocka_unit_test(test_extremes),
      cmocka_unit_test(test_places_in_columns),
      cmocka_unit_test(test_extremes_of_columns),
      cmocka_unit_test(test_softmax_columns),
      cmocka_unit_test(test_permute),
      cmocka_unit_test(test_permute_short_rows),
      cmocka_unit_test(test_permute_narrow),
      cmocka_unit_test(test_rows),
      cmocka_unit_test(test_random),
      cmocka_unit_test(test_memory_limit),
      cmocka_unit_test(test_memory_limit_texts),
      cmocka_unit_test(test_cache_is_bounded),
      cmocka_unit_test(test_counts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
