/* gpu_backend_test.c - a backend's table by plugins/gpu (gpu_backend.c, gpu_device.c, gpu_queue.c): create and read, ops
 * without a kernel, failures that leave nothing behind, recordings, complaints. */
#include "gpu_testing.h"

static const BurnTensorDesc DESC = {.dtype = BURN_DTYPE_F32, .rank = 2, .shape = {2, 3}};
static const float NUMBERS[] = {1, 2, 3, 4, 5, 6};

static TestGpu *open_table(BurnBackend *table) {
  TestGpu *test = open_test_gpu(UINT64_C(1) << 40, UINT64_MAX, -1);
  *table = (BurnBackend){.struct_size = (uint32_t)sizeof *table};
  burn__gpu_fill_table(&test->gpu, table);
  return test;
}

static BurnPrimitive *create(const BurnBackend *table) {
  BurnPrimitive *x = NULL;
  assert_true(table->create(table->self, &DESC, NUMBERS, &x) == BURN_OK);
  return x;
}

static int64_t ask(const BurnBackend *table, uint32_t key) {
  int64_t number = -1;
  assert_true(table->query(table->self, key, &number) == BURN_OK);
  return number;
}

static void test_create_and_read(void **state) {
  BurnBackend table;
  TestGpu *test = open_table(&table);
  float back[6] = {0};
  (void)state;
  BurnPrimitive *x = create(&table);
  assert_int_equal(x->owner, TEST_OWNER);
  assert_true(table.read(table.self, x, back, sizeof back) == BURN_OK);
  assert_memory_equal(back, NUMBERS, sizeof back);
  assert_int_equal(ask(&table, BURN_QUERY_LIVE_TENSORS), 1);
  assert_int_equal(ask(&table, BURN_QUERY_BYTES_IN_USE), sizeof NUMBERS);
  assert_int_equal(ask(&table, BURN_QUERY_HOST_WAITS), 1);
  table.retain(table.self, x);
  table.release(table.self, x);
  assert_int_equal(ask(&table, BURN_QUERY_LIVE_TENSORS), 1);
  table.release(table.self, x);
  assert_int_equal(ask(&table, BURN_QUERY_LIVE_TENSORS), 0);
  assert_true(table.trim(table.self) == BURN_OK && table.sync(table.self) == BURN_OK);
  assert_int_equal(ask(&table, BURN_QUERY_BYTES_RESERVED), 0);
  expect_failure(table.query(table.self, 9999, &(int64_t){0}), BURN_STATUS_NOT_FOUND, "unknown query 9999");
  close_test_gpu(test);
}

/* A view starts nothing; what needs a kernel fails with the backend's words, and leaves nothing behind. */
static void test_ops(void **state) {
  BurnBackend table;
  TestGpu *test = open_table(&table);
  (void)state;
  BurnPrimitive *x = create(&table), *inputs[] = {x, x}, *out = NULL;
  const BurnTensorDesc flat = {.dtype = BURN_DTYPE_F32, .rank = 1, .shape = {6}};
  const BurnOpCall view = {.struct_size = (uint32_t)sizeof view,
                           .op = BURN_OP_reshape,
                           .input_count = 1,
                           .output_count = 1,
                           .inputs = inputs,
                           .outputs = &out,
                           .output_descs = &flat};
  assert_true(table.submit(table.self, &view) == BURN_OK);
  assert_int_equal(gpu_address(out), gpu_address(x));
  assert_int_equal(out->rank, 1);
  table.release(table.self, out);
  const BurnOpCall add = {.struct_size = (uint32_t)sizeof add,
                          .op = BURN_OP_add,
                          .input_count = 2,
                          .output_count = 1,
                          .inputs = inputs,
                          .outputs = &out,
                          .output_descs = &DESC};
  expect_failure(table.submit(table.self, &add), BURN_STATUS_UNIMPLEMENTED, "test:0: nothing is compiled here");
  assert_int_equal(ask(&table, BURN_QUERY_LIVE_TENSORS), 1);
  char recent[64];
  burn__gpu_list_recent(&test->gpu, recent, sizeof recent);
  assert_string_equal(recent, "add, reshape");
  table.release(table.self, x);
  close_test_gpu(test);
}

static void test_support(void **state) {
  BurnBackend table;
  TestGpu *test = open_table(&table);
  (void)state;
  assert_int_equal(table.op_support(table.self, BURN_OP_add), BURN_SUPPORT_YES);
  assert_int_equal(table.op_support(table.self, BURN_OP_quantized_matmul), BURN_SUPPORT_ASK);
  assert_int_equal(table.op_support(table.self, BURN_OP_LIMIT), BURN_SUPPORT_NO);
  assert_int_equal(table.dtype_usage(table.self, BURN_DTYPE_F64), 0);
  assert_int_equal(table.dtype_usage(table.self, BURN_DTYPE_BF16), BURN_USAGE_STORE | BURN_USAGE_ARITHMETIC);
  test->gpu.has_f64 = true;
  assert_int_equal(table.dtype_usage(table.self, BURN_DTYPE_F64), BURN_USAGE_STORE | BURN_USAGE_ARITHMETIC);
  close_test_gpu(test);
}

/* Drivers of Vulkan compile its kernels of f64 for long, those of CUDA do not. */
static void test_attention_of_f64_may_be_composed(void **state) {
  char why[100] = "";
  BurnBackend table;
  TestGpu *test = open_table(&table);
  BurnPrimitive x = {.dtype = BURN_DTYPE_F64, .rank = 4}, *inputs[] = {&x, &x, &x, NULL, NULL};
  const BurnOpCall call = {
      .struct_size = (uint32_t)sizeof call, .op = BURN_OP_attention, .input_count = 5, .inputs = inputs};
  (void)state;
  assert_int_equal(table.op_support(table.self, BURN_OP_attention_backward), BURN_SUPPORT_YES);
  test->gpu.composes_f64_attention = true;
  assert_int_equal(table.op_support(table.self, BURN_OP_attention_backward), BURN_SUPPORT_ASK);
  assert_int_equal(table.op_support(table.self, BURN_OP_attention_with_logsumexp), BURN_SUPPORT_ASK);
  assert_int_equal(table.supports(table.self, &call, why, sizeof why), 0);
  assert_non_null(strstr(why, "f64"));
  x.dtype = BURN_DTYPE_F32;
  assert_int_equal(table.supports(table.self, &call, why, sizeof why), 1);
  close_test_gpu(test);
}

static void test_launches(void **state) {
  TestGpu *test = open_test_gpu(1, 1, -1);
  (void)state;
  assert_true(burn__gpu_launch(&test->gpu, NULL, 0, 256, NULL, 0) == BURN_OK);
  assert_int_equal(test->launches, 0);
  assert_true(burn__gpu_launch(&test->gpu, NULL, INT32_MAX, 256, NULL, 0) == BURN_OK);
  assert_int_equal(test->launches, 1);
  expect_failure(burn__gpu_launch(&test->gpu, NULL, UINT64_C(1) << 31, 256, NULL, 0), BURN_STATUS_INVALID_ARGUMENT,
                 "2147483648 blocks are more than a kernel can have");
  close_test_gpu(test);
}

/* Copies, waits and kernels that are not there yet. */
static void test_recording(void **state) {
  BurnBackend table;
  TestGpu *test = open_table(&table);
  GpuFunction *function = NULL;
  BurnPrimitive *x = NULL;
  (void)state;
  test->gpu.is_recorded = true;
  expect_failure(table.create(table.self, &DESC, NUMBERS, &x), BURN_STATUS_FAILED_PRECONDITION,
                 "a copy from the host cannot be recorded");
  expect_failure(table.sync(table.self), BURN_STATUS_FAILED_PRECONDITION, "a wait for the device cannot be recorded");
  const GpuKernelKey key = {.text = GPU_TEXT_PRODUCT, .out = BURN_DTYPE_F32};
  expect_failure(burn__gpu_kernel(&test->gpu, &key, NULL, &function), BURN_STATUS_FAILED_PRECONDITION,
                 "a kernel that is not compiled yet cannot be recorded");
  close_test_gpu(test);
}

static void test_complaints_are_told_once(void **state) {
  BurnBackend table;
  TestGpu *test = open_table(&table);
  (void)state;
  test->complaint = (GpuComplaint){1, BURN_OP_select, 7, 2, 5, 1};
  expect_failure(table.sync(table.self), BURN_STATUS_OUT_OF_RANGE,
                 "select: index 7 at position 2 is outside 0..4 (axis 1)");
  assert_true(table.sync(table.self) == BURN_OK);
  test->complaint = (GpuComplaint){1, BURN_OP_gather, 7, 2, 0, 1};
  expect_failure(table.sync(table.self), BURN_STATUS_OUT_OF_RANGE,
                 "gather: index 7 at position 2, but axis 1 is empty");
  close_test_gpu(test);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_create_and_read),
      cmocka_unit_test(test_ops),
      cmocka_unit_test(test_support),
      cmocka_unit_test(test_attention_of_f64_may_be_composed),
      cmocka_unit_test(test_launches),
      cmocka_unit_test(test_recording),
      cmocka_unit_test(test_complaints_are_told_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
