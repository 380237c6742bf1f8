/* common_view_test.c - <burn/common/view.h> against the definition, element by element: every view of random tensors
 * with permuted, stretched, reversed and cut axes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <burn/common/view.h>
#include <string.h>

enum { RANK = 5, TRIALS = 100000 };

typedef struct View {
  uint32_t rank;
  int64_t shape[RANK], strides[RANK], first;
} View;

static uint32_t random_state = 1;
static int64_t random_below(int64_t limit) {
  random_state = random_state * 1664525u + 1013904223u;
  return (int64_t)(random_state >> 8) % limit;
}

static int64_t count_of(const View *x) {
  int64_t count = 1;
  for (uint32_t i = 0; i < x->rank; i++) count *= x->shape[i];
  return count;
}

/* Coordinates of element k in row-major order. */
static void place_of(const View *x, int64_t k, int64_t *at) {
  for (uint32_t i = x->rank; i-- > 0; k /= x->shape[i]) at[i] = k % x->shape[i];
}

static int64_t address(const View *x, const int64_t *at) {
  int64_t sum = x->first;
  for (uint32_t i = 0; i < x->rank; i++) sum += at[i] * x->strides[i];
  return sum;
}

static int64_t element(const View *x, int64_t k) {
  int64_t at[RANK];
  place_of(x, k, at);
  return address(x, at);
}

static View random_view(void) {
  View x = {.rank = (uint32_t)random_below(RANK), .first = 1000};
  int64_t stride = 1;
  for (uint32_t i = x.rank; i-- > 0;) { /* dense, then disturbed */
    x.shape[i] = 1 + random_below(4);
    x.strides[i] = stride;
    stride *= x.shape[i];
  }
  for (uint32_t i = 0; i < x.rank; i++) {
    const int64_t what = random_below(16);
    if (what == 0) x.strides[i] = 0;
    if (what == 1) x.strides[i] = -x.strides[i];
    if (what == 2 && x.shape[i] > 1) x.shape[i]--;
    if (what == 3) x.strides[i] *= 2;
    const uint32_t j = (uint32_t)random_below(x.rank);
    if (what != 4) continue;
    const int64_t shape = x.shape[i], strides = x.strides[i];
    x.shape[i] = x.shape[j], x.strides[i] = x.strides[j];
    x.shape[j] = shape, x.strides[j] = strides;
  }
  return x;
}

/* A random shape of that many elements. */
static View random_shape(int64_t count) {
  View y = {.first = 1000};
  while (y.rank < RANK - 1 && (count > 1 || random_below(3) == 0)) {
    int64_t size = 1 + random_below(count);
    while (count % size != 0) size--;
    y.shape[y.rank++] = size;
    count /= size;
  }
  if (count > 1) y.shape[y.rank++] = count;
  return y;
}

/* Sets the only strides that could do: from the first element to the second one of each axis. Do they? */
static bool has_strides(const View *x, View *y) {
  int64_t step = 1;
  for (uint32_t i = y->rank; i-- > 0; step *= y->shape[i])
    y->strides[i] = y->shape[i] > 1 ? element(x, step) - element(x, 0) : 0;
  for (int64_t k = 0, count = count_of(x); k < count; k++)
    if (element(x, k) != element(y, k)) return false;
  return true;
}

static void test_reshape(void **state) {
  int found[2] = {0, 0};
  (void)state;
  for (int trial = 0; trial < TRIALS; trial++) {
    const View x = random_view();
    View y = random_shape(count_of(&x)), wanted = y;
    const bool is_view = has_strides(&x, &wanted);
    assert_int_equal(burn_common_reshape(x.rank, x.shape, x.strides, y.rank, y.shape, y.strides), is_view);
    for (int64_t k = 0; is_view && k < count_of(&x); k++) assert_int_equal(element(&y, k), element(&x, k));
    found[is_view]++;
  }
  assert_true(found[0] > TRIALS / 20 && found[1] > TRIALS / 20);
}

static void test_permute(void **state) {
  (void)state;
  for (int trial = 0; trial < TRIALS / 10; trial++) {
    const View x = random_view();
    View y = x;
    int64_t axes[RANK] = {0, 1, 2, 3, 4}, at[RANK], from[RANK];
    for (uint32_t i = 0; i < x.rank; i++) {
      const int64_t j = random_below(x.rank), axis = axes[i];
      axes[i] = axes[j], axes[j] = axis;
    }
    burn_common_permute(x.rank, axes, x.shape, y.shape);
    burn_common_permute(x.rank, axes, x.strides, y.strides);
    for (int64_t k = 0; k < count_of(&y); k++) {
      place_of(&y, k, at);
      for (uint32_t i = 0; i < x.rank; i++) from[axes[i]] = at[i];
      assert_int_equal(address(&y, at), address(&x, from));
    }
  }
}

static void test_expand(void **state) {
  (void)state;
  for (int trial = 0; trial < TRIALS / 10; trial++) {
    const View x = random_view();
    View y = {.rank = x.rank + (uint32_t)random_below(RANK - x.rank + 1), .first = x.first};
    const uint32_t leading = y.rank - x.rank;
    int64_t at[RANK], from[RANK];
    for (uint32_t i = 0; i < y.rank; i++)
      y.shape[i] = i < leading || x.shape[i - leading] == 1 ? 1 + random_below(3) : x.shape[i - leading];
    burn_common_expand(x.rank, x.shape, x.strides, y.rank, y.shape, y.strides);
    for (int64_t k = 0; k < count_of(&y); k++) {
      place_of(&y, k, at);
      for (uint32_t i = 0; i < x.rank; i++) from[i] = x.shape[i] == 1 ? 0 : at[leading + i];
      assert_int_equal(address(&y, at), address(&x, from));
    }
  }
}

static void test_slice(void **state) {
  (void)state;
  for (int trial = 0; trial < TRIALS / 10; trial++) {
    const View x = random_view();
    View y = x;
    int64_t starts[RANK], steps[RANK], at[RANK], from[RANK];
    for (uint32_t i = 0; i < x.rank; i++) {
      steps[i] = random_below(2) ? 1 + random_below(3) : -1 - random_below(3);
      starts[i] = random_below(x.shape[i]);
      const int64_t room = steps[i] > 0 ? (x.shape[i] - 1 - starts[i]) / steps[i] : starts[i] / -steps[i];
      y.shape[i] = random_below(room + 2);
      if (y.shape[i] <= 1) steps[i] = INT64_MIN; /* never taken: must not overflow */
    }
    y.first += burn_common_slice(x.rank, x.strides, starts, steps, y.shape, y.strides);
    for (int64_t k = 0; k < count_of(&y); k++) {
      place_of(&y, k, at);
      for (uint32_t i = 0; i < x.rank; i++) from[i] = y.shape[i] > 1 ? starts[i] + at[i] * steps[i] : starts[i];
      assert_int_equal(address(&y, at), address(&x, from));
    }
  }
}

/* Same means: every element is. */
static void test_same(void **state) {
  static const int64_t shape[] = {2, 1, 3}, strides[] = {3, 7, 1}, others[] = {3, 0, 1}, reversed[] = {3, 7, -1};
  (void)state;
  assert_true(burn_common_is_same(3, shape, strides, 3, shape, others, 0));
  assert_false(burn_common_is_same(3, shape, strides, 3, shape, reversed, 0));
  assert_false(burn_common_is_same(3, shape, strides, 3, shape, strides, 1));
  assert_false(burn_common_is_same(3, shape, strides, 2, shape, strides, 0));
  assert_false(burn_common_is_same(3, shape, strides, 3, strides, strides, 0));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reshape), cmocka_unit_test(test_permute), cmocka_unit_test(test_expand),
      cmocka_unit_test(test_slice),   cmocka_unit_test(test_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
