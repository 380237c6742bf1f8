/* vulkan_barriers_test.c - kernels have a barrier before them where they need one, and only there. The loader in front of
 * Vulkan's (tests/plugins/fake_vulkan) runs those without a barrier between them the other way round, so that one that
 * is missing gives other numbers; that it finds such a one is seen by leaving out each in turn. */
#if defined(FAKE_VULKAN)
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "forked.h"
#include "vulkan_driver.h"

#include <dlfcn.h>
#include <sys/mman.h>

enum { COUNT = 64 };

/* What a child tells. */
typedef struct Result {
  int has_device, barriers, complaints;
  float numbers[COUNT];
} Result;
static Result *result;

static int ask(const char *name) {
  void *library = dlopen(FAKE_VULKAN, RTLD_NOW | RTLD_NOLOAD);
  int (*function)(void) = NULL;
  CHECK(library, "the loader in front of Vulkan's is not in use");
  *(void **)&function = dlsym(library, name);
  return function();
}

/* Two branches that do not depend on each other, over and over, and results that take memory of what has gone. */
static BurnTensor *compute(BurnTensor *x) {
  for (int i = 0; i < 4; i++) {
    BurnTensor *left = burn_softmax(burn_sin(burn_clone(x)), 1), *right = burn_transpose(burn_exp(burn_clone(x)));
    x = burn_add(burn_matmul(left, burn_mul_scalar(right, 0.25)), burn_mul_scalar(x, 0.5));
  }
  return x;
}

static void run(void *stack) {
  float numbers[COUNT];
  use_processor();
  setenv("BURN_VULKAN_LOADER", FAKE_VULKAN, 1);
  setenv("BURN_FAKE_VULKAN_BACKWARDS", "1", 1);
  for (int i = 0; i < COUNT; i++) numbers[i] = (float)(i % 7) * 0.25f;
  BurnDevice *device = burn_device_open(stack);
  result->has_device = burn_device_status(device) == BURN_OK;
  BurnTensor *y = compute(burn_tensor_f32(device, numbers, BURN_SHAPE(8, 8)));
  if (result->has_device) {
    CHECK(burn_read_f32(y, result->numbers, COUNT) == BURN_OK, "%s: the result cannot be read", (char *)stack);
    result->barriers = ask("fake_vulkan_barriers");
    result->complaints = ask("fake_vulkan_complaints");
  } else {
    burn_drop(y);
  }
  burn_device_close(device);
}

static Result outcome(const char *stack, int skipped) {
  char number[12], text[64];
  (void)snprintf(number, sizeof number, "%d", skipped);
  (void)snprintf(text, sizeof text, "%s", stack);
  setenv("BURN_FAKE_VULKAN_SKIP", number, 1);
  memset(result, 0, sizeof *result);
  forked(run, text);
  return *result;
}

static void test_as_few_as_needed_give_the_same_bits(void **state) {
  (void)state;
  const Result all = outcome("vulkan:barriers=all", 0), needed = outcome("vulkan", 0);
  assert_memory_equal(all.numbers, needed.numbers, sizeof all.numbers);
  assert_int_equal(all.complaints + needed.complaints, 0);
  assert_true(needed.barriers > 0 && needed.barriers < all.barriers);
}

/* Opening the device runs a kernel that is waited for; the barriers are those of the program. */
static void test_one_that_is_missing_is_found(void **state) {
  const Result whole = outcome("vulkan", 0);
  int found = 0;
  (void)state;
  for (int i = 1; i <= whole.barriers; i++) {
    const Result other = outcome("vulkan", i);
    found += memcmp(whole.numbers, other.numbers, sizeof whole.numbers) != 0;
  }
  print_message("%d of %d barriers\n", found, whole.barriers);
  assert_true(found * 4 >= whole.barriers * 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_few_as_needed_give_the_same_bits),
                                     cmocka_unit_test(test_one_that_is_missing_is_found)};
  result = mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (result == MAP_FAILED) return 1;
  if (!outcome("vulkan", 0).has_device) {
    printf("vulkan_barriers_test: skipped, there is no device of Vulkan\n");
    return 0;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
#include <stdio.h>

int main(void) {
  printf("vulkan_barriers_test: skipped, the backend is not built as a plugin\n");
  return 0;
}
#endif
