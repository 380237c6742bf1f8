/* index_rows_test.c - select, select_assign, gather and scatter where the CPU backend goes by rows of the result, by
 * columns or element by element, past the caches or not: what a loop over the picks, in their order, gives to the bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/ops_move.h>

#include "isa_device.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *const stacks[] = {"ndarray", "ndarray:isa=avx2", "ndarray:isa=baseline"};

/* x [outer, size, inner] and picks along axis 1. */
typedef struct Shape {
  const char *name;
  int64_t outer, size, inner, picks;
  bool skewed; /* every other pick is of row 1 */
} Shape;

static const Shape shapes[] = {
    {"rows written past the caches, in parts", 2, 1200, 1100, 1700, false},
    {"rows without a pick", 1, 9000, 260, 40, false},
    {"rows in the cache", 3, 50, 140, 200, false},
    {"more picks of a row than are added at once", 1, 100, 150, 1600, false},
    {"most picks of one row", 2, 300, 150, 3000, true},
    {"some columns", 2, 300, 40, 900, false},
    {"short rows", 4, 60, 3, 500, false},
    {"single elements", 2, 100, 1, 1000, false},
};

typedef struct Data {
  const Shape *shape;
  float *x, *values;
  int64_t *indices;
} Data;

static float *numbers(int64_t count, uint32_t seed) {
  float *x = malloc(sizeof *x * (size_t)count);
  assert_non_null(x);
  for (int64_t i = 0; i < count; i++) x[i] = (float)(((uint32_t)i + seed) * 2654435761u >> 8) * 1e-7f - 0.8f;
  return x;
}

static Data data_make(const Shape *s) {
  Data data = {s, numbers(s->outer * s->size * s->inner, 1), numbers(s->outer * s->picks * s->inner, 77), NULL};
  data.indices = malloc(sizeof *data.indices * (size_t)s->picks);
  assert_non_null(data.indices);
  for (int64_t i = 0; i < s->picks; i++) {
    const int64_t any = (int64_t)(((uint32_t)i + 5u) * 2246822519u >> 7) % s->size;
    data.indices[i] = s->skewed && i % 2 == 0 ? 1 : any;
  }
  return data;
}

static void data_release(Data *data) {
  free(data->x);
  free(data->values);
  free(data->indices);
}

static float met(int64_t update, float x, float v) {
  switch (update) {
    case BURN_UPDATE_ADD:
      return x + v;
    case BURN_UPDATE_MUL:
      return x * v;
    case BURN_UPDATE_MAX:
      return v > x ? v : x;
    case BURN_UPDATE_MIN:
      return v < x ? v : x;
    default:
      return v;
  }
}

static float *wanted_assign(const Data *data, int64_t update) {
  const Shape *s = data->shape;
  const size_t bytes = sizeof(float) * (size_t)(s->outer * s->size * s->inner);
  float *wanted = malloc(bytes);
  assert_non_null(wanted);
  memcpy(wanted, data->x, bytes);
  for (int64_t o = 0; o < s->outer; o++) {
    for (int64_t i = 0; i < s->picks; i++) {
      float *row = wanted + (o * s->size + data->indices[i]) * s->inner;
      const float *values = data->values + (o * s->picks + i) * s->inner;
      for (int64_t k = 0; k < s->inner; k++) row[k] = met(update, row[k], values[k]);
    }
  }
  return wanted;
}

static void expect_bits(BurnTensor *x, const float *wanted, int64_t count, const char *what, const char *stack) {
  float *found = malloc(sizeof *found * (size_t)count);
  assert_non_null(found);
  assert_int_equal(burn_status_code(burn_read_f32(x, found, (size_t)count)), BURN_STATUS_OK);
  for (int64_t i = 0; i < count; i++) {
    if (memcmp(&found[i], &wanted[i], sizeof *found) != 0)
      fail_msg("%s on %s: element %lld is %g, not %g", what, stack, (long long)i, (double)found[i], (double)wanted[i]);
  }
  free(found);
}

/* Into an input that is kept, and into one that may be written over. */
static void expect_assign(BurnDevice *device, const Data *data, int64_t update, const char *stack) {
  const Shape *s = data->shape;
  const BurnShape shape = BURN_SHAPE(s->outer, s->size, s->inner);
  float *wanted = wanted_assign(data, update);
  for (int keeps = 0; keeps < 2; keeps++) {
    BurnTensor *x = burn_tensor_f32(device, data->x, shape);
    BurnTensor *indices = burn_tensor_from(device, data->indices, BURN_DTYPE_I64, BURN_SHAPE(s->picks));
    BurnTensor *values = burn_tensor_f32(device, data->values, BURN_SHAPE(s->outer, s->picks, s->inner));
    BurnTensor *kept = keeps ? burn_clone(x) : NULL;
    expect_bits(burn_select_assign(x, 1, indices, values, update), wanted, s->outer * s->size * s->inner, s->name,
                stack);
    if (kept) expect_bits(kept, data->x, s->outer * s->size * s->inner, "the input", stack);
  }
  free(wanted);
}

static void test_select_assign(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    Data data = data_make(&shapes[i]);
    for (size_t d = 0; d < sizeof stacks / sizeof *stacks; d++) {
      BurnDevice *device = isa_device_open(stacks[d]);
      if (!device) continue;
      for (int64_t update = 0; update < BURN_UPDATE_LIMIT; update++) expect_assign(device, &data, update, stacks[d]);
      burn_device_close(device);
    }
    data_release(&data);
  }
}

static void expect_select(BurnDevice *device, const Data *data, const char *stack) {
  const Shape *s = data->shape;
  const int64_t count = s->outer * s->picks * s->inner;
  float *wanted = malloc(sizeof *wanted * (size_t)count);
  assert_non_null(wanted);
  for (int64_t row = 0; row < s->outer * s->picks; row++) {
    memcpy(wanted + row * s->inner, data->x + (row / s->picks * s->size + data->indices[row % s->picks]) * s->inner,
           sizeof *wanted * (size_t)s->inner);
  }
  BurnTensor *x = burn_tensor_f32(device, data->x, BURN_SHAPE(s->outer, s->size, s->inner));
  BurnTensor *indices = burn_tensor_from(device, data->indices, BURN_DTYPE_I64, BURN_SHAPE(s->picks));
  expect_bits(burn_select(x, 1, indices), wanted, count, s->name, stack);
  free(wanted);
}

static void test_select(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    Data data = data_make(&shapes[i]);
    for (size_t d = 0; d < sizeof stacks / sizeof *stacks; d++) {
      BurnDevice *device = isa_device_open(stacks[d]);
      if (!device) continue;
      expect_select(device, &data, stacks[d]);
      burn_device_close(device);
    }
    data_release(&data);
  }
}

/* -- along the last axis ------------------------------------------------------------------------ */

typedef struct Row {
  const char *name;
  int64_t rows, size, picks;
} Row;

static const Row rows[] = {
    {"rows written past the caches", 2300, 1024, 90},
    {"rows in the cache", 70, 300, 700},
    {"long rows", 600, 5000, 40},
    {"one row", 1, 40000, 3000},
    {"no picks", 20, 30, 0},
};

static int64_t row_index(const Row *row, int64_t i) {
  return (int64_t)(((uint32_t)i + 3u) * 2246822519u >> 7) % row->size;
}

/* Indices in 32 or 64 bits. */
static BurnTensor *row_indices(BurnDevice *device, const Row *row, int bits) {
  const int64_t count = row->rows * row->picks;
  int32_t *narrow = malloc(sizeof *narrow * (size_t)(count + 1));
  int64_t *wide = malloc(sizeof *wide * (size_t)(count + 1));
  assert_non_null(narrow);
  assert_non_null(wide);
  for (int64_t i = 0; i < count; i++) narrow[i] = (int32_t)(wide[i] = row_index(row, i));
  BurnTensor *indices = bits == 32 ? burn_tensor_from(device, narrow, BURN_DTYPE_I32, BURN_SHAPE(row->rows, row->picks))
                                   : burn_tensor_from(device, wide, BURN_DTYPE_I64, BURN_SHAPE(row->rows, row->picks));
  free(narrow);
  free(wide);
  return indices;
}

/* x as it lies in memory, or as a view of its transposed form. */
static BurnTensor *row_input(BurnDevice *device, const Row *row, const float *x, bool turned) {
  BurnTensor *plain = burn_tensor_f32(device, x, BURN_SHAPE(row->rows, row->size));
  if (!turned) return plain;
  BurnTensor *copy = burn_mul_scalar(burn_swap_dims(plain, 0, 1), 1); /* contiguous */
  return burn_swap_dims(copy, 0, 1);
}

static void expect_scatter(BurnDevice *device, const Row *row, const char *stack) {
  const int64_t count = row->rows * row->size, picked = row->rows * row->picks;
  float *x = numbers(count, 5), *values = numbers(picked + 1, 9);
  for (int64_t update = 0; update < BURN_UPDATE_LIMIT; update++) {
    float *wanted = numbers(count, 5);
    for (int64_t i = 0; i < picked; i++) {
      float *to = &wanted[i / row->picks * row->size + row_index(row, i)];
      *to = met(update, *to, values[i]);
    }
    for (int way = 0; way < 3; way++) { /* may be written over; is kept; is a view */
      BurnTensor *input = row_input(device, row, x, way == 2), *kept = way == 1 ? burn_clone(input) : NULL;
      BurnTensor *added = burn_tensor_f32(device, values, BURN_SHAPE(row->rows, row->picks));
      expect_bits(burn_scatter(input, 1, row_indices(device, row, way == 0 ? 32 : 64), added, update), wanted, count,
                  row->name, stack);
      if (kept) expect_bits(kept, x, count, "the input", stack);
    }
    free(wanted);
  }
  free(x);
  free(values);
}

static void expect_gather(BurnDevice *device, const Row *row, const char *stack) {
  const int64_t picked = row->rows * row->picks;
  float *x = numbers(row->rows * row->size, 5), *wanted = numbers(picked + 1, 0);
  for (int64_t i = 0; i < picked; i++) wanted[i] = x[i / row->picks * row->size + row_index(row, i)];
  for (int way = 0; way < 3; way++) {
    BurnTensor *input = row_input(device, row, x, way == 2);
    expect_bits(burn_gather(input, 1, row_indices(device, row, way == 0 ? 32 : 64)), wanted, picked, row->name, stack);
  }
  free(x);
  free(wanted);
}

static void test_last_axis(void **state) {
  (void)state;
  for (size_t d = 0; d < sizeof stacks / sizeof *stacks; d++) {
    BurnDevice *device = isa_device_open(stacks[d]);
    if (!device) continue;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
      expect_scatter(device, &rows[i], stacks[d]);
      expect_gather(device, &rows[i], stacks[d]);
    }
    burn_device_close(device);
  }
}

/* The first of them is named, whichever thread met one first. */
static void test_gather_outside(void **state) {
  (void)state;
  BurnDevice *device = isa_device_open(stacks[0]);
  const int64_t count = 300000;
  for (int bits = 32; bits <= 64; bits += 32) {
    int32_t *narrow = calloc((size_t)count, sizeof *narrow);
    int64_t *wide = calloc((size_t)count, sizeof *wide);
    assert_non_null(narrow);
    assert_non_null(wide);
    narrow[70001] = -1, wide[70001] = -1;
    narrow[250000] = 10, wide[250000] = INT64_MAX;
    BurnTensor *x = burn_zeros(device, BURN_SHAPE(10), BURN_DTYPE_F32);
    BurnTensor *indices = bits == 32 ? burn_tensor_from(device, narrow, BURN_DTYPE_I32, BURN_SHAPE(count))
                                     : burn_tensor_from(device, wide, BURN_DTYPE_I64, BURN_SHAPE(count));
    float *found = malloc(sizeof *found * (size_t)count);
    const BurnStatus status = burn_read_f32(burn_gather(x, 0, indices), found, (size_t)count);
    assert_int_equal(burn_status_code(status), BURN_STATUS_OUT_OF_RANGE);
    assert_non_null(strstr(burn_status_message(status), "gather: index -1 at position 70001 is outside 0..9 (axis 0)"));
    free(found);
    free(narrow);
    free(wide);
  }
  burn_device_close(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_select_assign), cmocka_unit_test(test_select),
                                     cmocka_unit_test(test_last_axis), cmocka_unit_test(test_gather_outside)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
