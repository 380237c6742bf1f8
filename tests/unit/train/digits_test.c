/* digits_test.c - the generator of digits: the same item every time, balanced labels, images that have ink in the
 * middle and none at the border, and neighbours that differ. `digits_test show [count]` prints digits as text instead.
 */
#include <burn/train/dataset.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SIDE = 28, PIXELS = SIDE * SIDE, ITEMS = 2000 };

static BurnDataset *digits(size_t count, uint64_t seed) {
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_digits(&(BurnDigitsConfig){count, seed}, &status);
  assert_true(status == BURN_OK);
  assert_non_null(dataset);
  return dataset;
}

/* The label of an item; its pixels go to `image`. */
static unsigned draw(const BurnDataset *dataset, size_t index, uint8_t image[PIXELS]) {
  uint8_t label = 255;
  void *const columns[] = {image, &label};
  assert_true(burn_dataset_get(dataset, index, columns) == BURN_OK);
  return label;
}

static void items_depend_on_seed_and_index_only(void **state) {
  (void)state;
  uint8_t one[PIXELS], two[PIXELS];
  BurnDataset *few = digits(100, 5), *many = digits(SIZE_MAX, 5), *other = digits(100, 6);
  size_t same = 0;
  for (size_t i = 100; i-- > 0;) {
    assert_int_equal(draw(few, i, one), draw(many, i, two));
    assert_memory_equal(one, two, PIXELS);
    draw(other, i, two);
    same += memcmp(one, two, PIXELS) == 0;
  }
  assert_int_equal(same, 0);
  draw(many, SIZE_MAX - 1, one);
  burn_dataset_drop(few);
  burn_dataset_drop(many);
  burn_dataset_drop(other);
}

static void labels_are_balanced_and_mixed(void **state) {
  (void)state;
  uint8_t image[PIXELS];
  unsigned counts[10] = {0}, at_first_place[10] = {0};
  BurnDataset *dataset = digits(ITEMS, 1);
  for (size_t i = 0; i < ITEMS; i++) {
    const unsigned label = draw(dataset, i, image);
    assert_in_range(label, 0, 9);
    counts[label]++;
    if (i % 10 == 0) at_first_place[label]++;
  }
  for (size_t i = 0; i < 10; i++) {
    assert_int_equal(counts[i], ITEMS / 10);
    assert_in_range(at_first_place[i], 5, 45); /* 20 expected */
  }
  burn_dataset_drop(dataset);
}

static void images_have_ink_inside(void **state) {
  (void)state;
  uint8_t image[PIXELS], previous[PIXELS] = {0};
  double sum = 0;
  BurnDataset *dataset = digits(ITEMS, 2);
  for (size_t i = 0; i < ITEMS; i++) {
    unsigned dark = 0, border = 0;
    draw(dataset, i, image);
    assert_memory_not_equal(image, previous, PIXELS);
    memcpy(previous, image, PIXELS);
    for (size_t j = 0; j < PIXELS; j++) {
      sum += image[j];
      dark += image[j] > 100;
      if (j < SIDE || j >= PIXELS - SIDE || j % SIDE == 0 || j % SIDE == SIDE - 1) border += image[j] > 100;
    }
    assert_in_range(dark, 12, 300);
    assert_true(border <= 12);
  }
  const double mean = sum / (255.0 * (double)PIXELS * (double)ITEMS); /* MNIST: 0.1307 */
  assert_true(mean > 0.09 && mean < 0.16);
  burn_dataset_drop(dataset);
}

/* Images of one digit look more like each other than like those of another: the nearest class mean finds most labels.
 */
static void classes_can_be_told_apart(void **state) {
  (void)state;
  static double means[10][PIXELS];
  uint8_t image[PIXELS];
  unsigned right = 0;
  BurnDataset *dataset = digits(2 * ITEMS, 3);
  for (size_t i = 0; i < ITEMS; i++) {
    const unsigned label = draw(dataset, i, image);
    for (size_t j = 0; j < PIXELS; j++) means[label][j] += image[j] / ((double)ITEMS / 10.0);
  }
  for (size_t i = ITEMS; i < 2 * ITEMS; i++) {
    const unsigned label = draw(dataset, i, image);
    unsigned best = 0;
    double least = 1e300;
    for (unsigned c = 0; c < 10; c++) {
      double distance = 0;
      for (size_t j = 0; j < PIXELS; j++) distance += (image[j] - means[c][j]) * (image[j] - means[c][j]);
      if (distance < least) least = distance, best = c;
    }
    right += best == label;
  }
  assert_in_range(right, ITEMS * 55 / 100, ITEMS * 95 / 100);
  burn_dataset_drop(dataset);
}

static void show(size_t count) {
  static const char shades[] = " .:-=+*#%@";
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_digits(&(BurnDigitsConfig){count, 0}, &status);
  for (size_t i = 0; dataset != NULL && i < count; i++) {
    uint8_t image[PIXELS] = {0}, label = 0;
    if (burn_dataset_get(dataset, i, (void *const[]){image, &label}) != BURN_OK) break;
    printf("item %zu: %u\n", i, (unsigned)label);
    for (size_t j = 0; j < PIXELS; j++) {
      const char shade = shades[image[j] * 9 / 255];
      printf("%c%c%s", shade, shade, j % SIDE == SIDE - 1 ? "\n" : "");
    }
  }
  burn_dataset_drop(dataset);
}

int main(int count, char **arguments) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(items_depend_on_seed_and_index_only),
      cmocka_unit_test(labels_are_balanced_and_mixed),
      cmocka_unit_test(images_have_ink_inside),
      cmocka_unit_test(classes_can_be_told_apart),
  };
  if (count > 1 && strcmp(arguments[1], "show") == 0) {
    show(count > 2 ? (size_t)strtoul(arguments[2], NULL, 10) : 10);
    return 0;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
