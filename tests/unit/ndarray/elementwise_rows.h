/* elementwise_rows.h - the rows of plugins/common/elementwise.def as data, and numbers to run them on. */
#ifndef BURN_TEST_ELEMENTWISE_ROWS_H
#define BURN_TEST_ELEMENTWISE_ROWS_H

#include <burn/burn.h>
#include <burn/op_call.h>

#include <stdint.h>

/* A row: its op, how many inputs and scalars it has, and its expressions as text (NULL: none for that dtype). `large`
 * replaces f32 where |x| is beyond 1e9. */
typedef struct ElementwiseRow {
  const char *name;
  uint32_t op;
  size_t inputs, scalars;
  double s, q;
  bool is_test;
  const char *f32, *f64, *integers, *large;
} ElementwiseRow;

extern const ElementwiseRow elementwise_rows[];
extern const size_t elementwise_row_count;

/* `bytes` of random bits, among them zeros, infinities, NaNs, subnormal numbers and the borders of the functions in
 * f32. */
void elementwise_numbers(void *data, size_t bytes, uint32_t seed);

/* The op on x and y (both taken). */
BurnTensor *elementwise_apply(const ElementwiseRow *row, BurnTensor *x, BurnTensor *y);

/* True if two results have the same bits; any NaN is like any other. *at becomes the first place where they differ. */
bool elementwise_same(BurnDType dtype, const void *a, const void *b, size_t count, size_t *at);

#endif
