/* ndarray_int8_baseline.c - i8 products in plain C, in pairs of terms as AVX2 has them. */
#include "ndarray_int8.h"

#include <string.h>

static void pack(const int8_t *b, int64_t step, int64_t terms, uint8_t *to) {
  for (int64_t p = 0; p < nd_round_up(terms, ND_INT8_UNIT); p += 2, b += 2 * step) {
    for (int j = 0; j < ND_INT8_COLUMNS; j++, to += 2) {
      to[0] = p < terms ? (uint8_t)b[j] : 0;
      to[1] = p + 1 < terms ? (uint8_t)b[step + j] : 0;
    }
  }
}

/* Adds one segment of a row. */
static void add_segment(const int8_t *a, const int8_t *b, int64_t terms, int32_t sums[ND_INT8_COLUMNS]) {
  for (int64_t p = 0; p < terms; p += 2, b += 2 * ND_INT8_COLUMNS) {
    const int32_t x = a[p], y = p + 1 < terms ? a[p + 1] : 0;
    for (int j = 0; j < ND_INT8_COLUMNS; j++) sums[j] += x * b[2 * j] + y * b[2 * j + 1];
  }
}

static void row_of(const NdInt8Tile *t, int64_t r) {
  float result[ND_INT8_COLUMNS] = {0};
  for (int64_t s = 0; s < t->segments; s++) {
    int32_t sums[ND_INT8_COLUMNS] = {0};
    const float scale = t->row_scales[s * t->row_scale_step + r],
                *columns = t->column_scales + s * t->column_scale_step;
    add_segment((const int8_t *)t->a + r * t->a_row + s * t->a_segment, (const int8_t *)t->b + s * t->b_segment,
                nd_min(t->segment, t->terms - s * t->segment), sums);
    for (int j = 0; j < ND_INT8_COLUMNS; j++) result[j] += (float)sums[j] * (scale * columns[j]);
  }
  for (int j = 0; t->add && j < ND_INT8_COLUMNS; j++) result[j] += t->add[r];
  memcpy(t->c + r * t->c_row, result, (size_t)t->columns * sizeof *result);
}

static void tile(const NdInt8Tile *t) {
  for (int64_t r = 0; r < t->rows; r++) row_of(t, r);
}

const NdInt8Loops nd_int8_baseline = {.name = "baseline", .pack = pack, .tile = tile};
