/* gpu_fused_test.c - how long plugins/gpu/gpu_fused.c keeps what it has compiled: a program of many bodies must not
 * need more memory with each. */
#include "gpu_testing.h"

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
static BurnFusedKernel *compile(const Opened *opened, uint32_t number) {
  static const uint32_t inputs[STEPS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  static const uint32_t output = STEPS;
  BurnTensorDesc values[STEPS + 1];
  BurnFusedStep steps[STEPS];
  BurnFusedKernel *kernel = NULL;
  char why[200] = "";
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
  assert_true(opened->fused->compile(&opened->test->gpu, &body, &kernel, why, sizeof why) == BURN_OK);
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

static void test_a_trim_ends_what_nobody_holds(void **state) {
  const Opened opened = open_one();
  (void)state;
  BurnFusedKernel *held = compile(&opened, 1);
  compile_and_release(&opened, 2);
  compile_and_release(&opened, 3);
  assert_int_equal(opened.test->modules, 3);
  assert_true(opened.table.trim(opened.table.self) == BURN_OK);
  assert_int_equal(opened.test->modules, 1);
  opened.fused->release(&opened.test->gpu, held);
  assert_true(opened.table.trim(opened.table.self) == BURN_OK);
  assert_int_equal(opened.test->modules, 0);
  close_test_gpu(opened.test);
}

static BurnFusedKernel *started_late;

static void start_and_release(TestGpu *test) {
  test->is_busy = true;
  burn__gpu_fused_interface.release(&test->gpu, started_late);
}

/* Between the wait of a trim and what it ends another thread starts a kernel and lets it go: unload sees the queue. */
static void test_a_trim_waits_for_what_comes_between(void **state) {
  const Opened opened = open_one();
  (void)state;
  started_late = compile(&opened, 1);
  opened.test->after_wait = start_and_release;
  assert_true(opened.table.trim(opened.table.self) == BURN_OK);
  assert_int_equal(opened.test->modules, 0);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_many_bodies),
      cmocka_unit_test(test_a_body_comes_again),
      cmocka_unit_test(test_a_trim_ends_what_nobody_holds),
      cmocka_unit_test(test_a_trim_waits_for_what_comes_between),
      cmocka_unit_test(test_nothing_goes_during_a_recording),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
