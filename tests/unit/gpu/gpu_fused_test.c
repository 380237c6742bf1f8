/* gpu_fused_test.c - how long plugins/gpu/gpu_fused.c keeps what it has compiled: a program of many bodies must not
 * need more memory with each. */
#include "gpu_testing.h"

#include <stdio.h>

enum { STEPS = 10, KEPT = 256 /* programs that nobody uses */ };

typedef struct Opened {
  TestGpu *test;
  BurnBackend table;
  const BurnFusedInterface *fused;
} Opened;

static Opened open_one(void) {
  Opened opened = {.test = open_test_gpu(UINT64_C(1) << 40, UINT64_MAX, -1), .fused = &burn__gpu_fused_interface};
  opened.test->compiles = true;
  opened.test->gpu.most_threads = 1024;
  opened.table = (BurnBackend){.struct_size = (uint32_t)sizeof opened.table};
  burn__gpu_fill_table(&opened.test->gpu, &opened.table);
  return opened;
}

/* Body `number`: bit i says which op step i is, so that each of 2^STEPS has its own text. */
static BurnFusedKernel *try_compile(const Opened *opened, uint32_t number, char *why, size_t why_bytes) {
  static const uint32_t inputs[STEPS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  static const uint32_t output = STEPS;
  BurnTensorDesc values[STEPS + 1];
  BurnFusedStep steps[STEPS];
  BurnFusedKernel *kernel = NULL;
  for (uint32_t i = 0; i <= STEPS; i++)
    values[i] = (BurnTensorDesc){.dtype = BURN_DTYPE_F32, .rank = 2, .shape = {3, 5}};
  for (uint32_t i = 0; i < STEPS; i++)
    steps[i] = (BurnFusedStep){
        .op = number >> i & 1u ? BURN_OP_exp : BURN_OP_neg, .input_count = 1, .output_count = 1, .inputs = &inputs[i]};
  const BurnFusedBody body = {.struct_size = (uint32_t)sizeof body,
                              .input_count = 1,
                              .step_count = STEPS,
                              .output_count = 1,
                              .values = values,
                              .steps = steps,
                              .outputs = &output};
  const BurnStatus status = opened->fused->compile(&opened->test->gpu, &body, &kernel, why, why_bytes);
  if (status != BURN_OK) (void)snprintf(why, why_bytes, "%s", burn_status_message(status));
  return kernel;
}

static BurnFusedKernel *compile(const Opened *opened, uint32_t number) {
  char why[200] = "";
  BurnFusedKernel *kernel = try_compile(opened, number, why, sizeof why);
  if (!kernel) fail_msg("refused: %s", why);
  return kernel;
}

static void compile_and_release(const Opened *opened, uint32_t number) {
  opened->fused->release(&opened->test->gpu, compile(opened, number));
}

static void test_many_bodies(void **state) {
  const Opened opened = open_one();
  int most = 0;
  (void)state;
  BurnFusedKernel *held = compile(&opened, 0);
  for (uint32_t i = 1; i < 4 * KEPT; i++) {
    compile_and_release(&opened, i);
    if (opened.test->modules > most) most = opened.test->modules;
  }
  assert_int_equal(most, KEPT + 1);
  assert_int_equal(opened.test->finishes, 3); /* as often the queue is waited for: launches may be in it */
  const int modules = opened.test->modules;
  compile_and_release(&opened, 0); /* what is held was not thrown out */
  assert_int_equal(opened.test->modules, modules);
  opened.fused->release(&opened.test->gpu, held);
  close_test_gpu(opened.test);
}

/* The same text is compiled once, whether somebody holds it or not. */
static void test_a_body_comes_again(void **state) {
  const Opened opened = open_one();
  (void)state;
  for (int i = 0; i < 3 * KEPT; i++) compile_and_release(&opened, 7);
  BurnFusedKernel *first = compile(&opened, 7), *second = compile(&opened, 7);
  opened.fused->release(&opened.test->gpu, first);
  assert_true(opened.table.trim(opened.table.self) == BURN_OK);
  assert_int_equal(opened.test->modules, 1);
  opened.fused->release(&opened.test->gpu, second);
  close_test_gpu(opened.test);
}

static void trim(const Opened *opened) { assert_true(opened->table.trim(opened->table.self) == BURN_OK); }

/* Who trims between steps does not compile at each. */
static void test_a_trim_leaves_programs(void **state) {
  const Opened opened = open_one();
  (void)state;
  compile_and_release(&opened, 1);
  trim(&opened);
  trim(&opened);
  assert_int_equal(opened.test->modules, 1);
  close_test_gpu(opened.test);
}

/* While something is recorded the device cannot be waited for. */
static void test_nothing_goes_during_a_recording(void **state) {
  const Opened opened = open_one();
  (void)state;
  for (uint32_t i = 0; i < KEPT; i++) compile_and_release(&opened, i);
  opened.test->gpu.is_recorded = true;
  compile_and_release(&opened, KEPT);
  assert_int_equal(opened.test->modules, KEPT + 1);
  opened.test->gpu.is_recorded = false;
  compile_and_release(&opened, KEPT + 1);
  assert_int_equal(opened.test->modules, 1);
  close_test_gpu(opened.test);
}

static int until_failure; /* allocations; 0: none fails */

static void *BURN_API_CALL failing_allocate(uint64_t bytes) {
  return until_failure > 0 && --until_failure == 0 ? NULL : burn_host()->allocate(bytes);
}

/* A failure or a refusal: fusion can do without the body. */
static void test_each_allocation_fails(void **state) {
  const Opened opened = open_one();
  const BurnHost *plain = opened.test->gpu.host;
  BurnHost host = *plain;
  BurnFusedKernel *kernel = NULL;
  char why[200] = "";
  int failures = 0;
  (void)state;
  host.allocate = failing_allocate;
  opened.test->gpu.host = &host;
  for (until_failure = 1; !(kernel = try_compile(&opened, 1, why, sizeof why)); until_failure = ++failures + 1) {
    assert_non_null(strstr(why, "no memory"));
    assert_int_equal(until_failure, 0);
    assert_int_equal(opened.test->modules, 0);
  }
  assert_true(failures >= 4); /* the kernel, its text, its way, its program */
  until_failure = 0;
  assert_int_equal(opened.test->modules, 1);
  opened.fused->release(&opened.test->gpu, kernel);
  opened.test->gpu.host = plain;
  close_test_gpu(opened.test);
}

static int warnings;

static void BURN_API_CALL count_warning(uint32_t level, const char *component, const char *text) {
  assert_int_equal(level, BURN_LOG_WARN);
  assert_string_equal(component, "test:0");
  assert_non_null(strstr(text, "fused kernel fails to compile; the first: test:0: nothing is compiled here"));
  warnings++;
}

/* The ops of such a body run one by one, and nobody would know why they take so long. Once is enough. */
static void test_a_failure_is_told_once(void **state) {
  const Opened opened = open_one();
  const BurnHost *plain = opened.test->gpu.host;
  BurnHost host = *plain;
  char why[200] = "";
  (void)state;
  host.log = count_warning;
  opened.test->gpu.host = &host;
  opened.test->compiles = false;
  for (uint32_t i = 0; i < 3; i++) {
    assert_null(try_compile(&opened, i, why, sizeof why));
    assert_non_null(strstr(why, "nothing is compiled here"));
  }
  assert_int_equal(warnings, 1);
  opened.test->gpu.host = plain;
  close_test_gpu(opened.test);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_many_bodies),
      cmocka_unit_test(test_a_body_comes_again),
      cmocka_unit_test(test_a_trim_leaves_programs),
      cmocka_unit_test(test_nothing_goes_during_a_recording),
      cmocka_unit_test(test_each_allocation_fails),
      cmocka_unit_test(test_a_failure_is_told_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
