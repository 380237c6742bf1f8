/* test_stacks.h - the stacks that a test runs on: those of the environment variable BURN_TEST_STACKS, else its own.
 *
 *   BURN_TEST_STACKS='torch:cuda; autodiff<torch:cuda> tracked' ctest -L ops
 *
 * The texts are separated by semicolons, or by commas (one before key= belongs to the options of a text). Two words may
 * follow a text: "plain" where layout and sharing of inputs are nothing to the stack, because it copies what it gets;
 * "tracked" where float inputs are to be tracked. CMake registers a test that includes this file once per stack
 * (stacks.cmake). */
#ifndef BURN_TEST_STACKS_H
#define BURN_TEST_STACKS_H

#include <burn/burn.h>

#include <stdbool.h>
#include <stddef.h>

enum { TEST_STACKS_MAX = 32, TEST_STACKS_SKIPPED = 77 };

typedef struct TestStack {
  char text[256];
  bool plain, tracked;
} TestStack;

typedef struct TestStacks {
  TestStack items[TEST_STACKS_MAX];
  size_t count;
  bool given; /* by the environment: then a plugin that is missing is a failure */
} TestStacks;

/* The stacks of the environment, or of `defaults` where the variable is absent or empty. Ends the program with a
 * message if the list cannot be read. */
TestStacks test_stacks(const char *defaults);

/* The stack's device. NULL, with a line "skipped: .." for its reason, where this machine has no device for it, or where
 * a default's plugin is not built here. Fails the test otherwise. */
BurnDevice *test_stack_open(const TestStacks *stacks, const TestStack *stack);

/* Calls test(NULL) for each stack that can be opened, with the device in *device and the text in *stack (NULL is
 * allowed), and fails if tensors are left over. */
void test_on_stacks(const char *defaults, BurnDevice **device, const char **stack, void (*test)(void **state));

/* The same with autodiff on top of the stacks that lack it. */
void test_on_training_stacks(const char *defaults, BurnDevice **device, const char **stack, void (*test)(void **state));

/* For tests on one device: that of the first stack, with autodiff on top if `training`, else without. Ends the program
 * as skipped where this machine has none. */
BurnDevice *test_stack_device(const char *defaults, bool training);

/* Why x (borrowed) failed; BURN_OK if it has its values. Reads them where the stack has not yet said otherwise: what
 * depends on values may fail only when a queue runs. */
BurnStatus test_failure(const BurnTensor *x);

/* What main returns after `failed` tests have failed: TEST_STACKS_SKIPPED if no stack could be opened. */
int test_stacks_result(int failed);

#endif
