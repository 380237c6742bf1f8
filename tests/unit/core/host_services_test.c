/* host_services_test.c - the host's services for other languages do what the inline functions of the headers do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <burn/op_call.h>
#include <burn/burn.h>
#include <burn/plugin/random.h>
#include <burn/plugin/services.h>

#include <stdio.h>
#include <unistd.h>

static void test_unknown_services_are_null(void **state) {
  (void)state;
  assert_null(burn_host()->get_interface("burn.no_such_service", 1));
  assert_null(burn_host()->get_interface(BURN_RANDOM_INTERFACE_NAME, 2));
}

/* What messages quote of files has no power over a terminal. */
static void test_logs_are_without_controls(void **state) {
  char out[128];
  FILE *file = tmpfile();
  const int saved = dup(STDERR_FILENO);
  (void)state;
  assert_non_null(file);
  assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
  burn_host()->log(BURN_LOG_WARN, "test", "a\x1b[2Jb\tc\nd");
  fflush(stderr);
  assert_true(dup2(saved, STDERR_FILENO) >= 0);
  close(saved);
  rewind(file);
  out[fread(out, 1, sizeof out - 1, file)] = '\0';
  fclose(file);
  assert_string_equal(out, "burn: warning: test: a?[2Jb\tc\nd\n");
}

static void test_words_are_those_of_the_header(void **state) {
  const BurnRandomInterface *random = burn_host()->get_interface(BURN_RANDOM_INTERFACE_NAME, 1);
  uint32_t words[11];
  (void)state;
  random->words(7, UINT64_C(1) << 33, 3, 11, words);
  for (uint64_t i = 0; i < 11; i++) assert_int_equal(words[i], burn_random_word(7, UINT64_C(1) << 33, 3 + i));
}

/* x * x + x, on the backend itself, with the product given away. */
static void test_a_builder_of_the_host_runs_ops(void **state) {
  const BurnBuilderInterface *build = burn_host()->get_interface(BURN_BUILDER_INTERFACE_NAME, 1);
  BurnDevice *device = burn_device_open("ndarray");
  const BurnBackend *backend = burn_device_backend(device);
  BurnTensor *x = burn_tensor_f32(device, (float[]){1, 2, 3}, BURN_SHAPE(3));
  BurnPrimitive *input = burn_tensor_primitive(x), *square[2] = {input, input}, *sum[2], *out = NULL;
  (void)state;
  struct BurnBuilder *builder = build->begin(backend, NULL);
  build->call(builder, BURN_OP_mul, 2, square, 0, NULL, 1, &sum[0]);
  sum[0] = build->last_use(builder, sum[0]);
  sum[1] = input;
  const void *memory = sum[0]->buffer;
  BurnPrimitive *result = NULL;
  build->call(builder, BURN_OP_add, 2, sum, 0, NULL, 1, &result);
  const BurnOpCall call = {.struct_size = sizeof call, .op = BURN_OP_add, .output_count = 1, .outputs = &out};
  assert_ptr_equal(result->buffer, memory); /* the product's storage was given to the sum */
  assert_int_equal(build->finish(builder, &call, &result), BURN_OK);
  float values[3];
  assert_int_equal(burn_read_f32(burn_tensor_from_primitive(device, out), values, 3), BURN_OK);
  assert_true(values[0] == 2 && values[1] == 6 && values[2] == 12);
  burn_drop(x);
  burn_device_close(device);
}

static void test_a_failure_sticks(void **state) {
  const BurnBuilderInterface *build = burn_host()->get_interface(BURN_BUILDER_INTERFACE_NAME, 1);
  BurnDevice *device = burn_device_open("ndarray");
  BurnPrimitive *out = NULL;
  (void)state;
  struct BurnBuilder *builder = build->begin(burn_device_backend(device), NULL);
  build->call(builder, 640, 0, NULL, 0, NULL, 1, &out);
  assert_null(out);
  const BurnStatus status = build->finish(builder, NULL, NULL);
  assert_int_equal(burn_status_code(status), BURN_STATUS_NOT_FOUND);
  assert_int_equal(burn_status_code(build->finish(NULL, NULL, NULL)), BURN_STATUS_OUT_OF_MEMORY);
  burn_device_close(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unknown_services_are_null),
      cmocka_unit_test(test_logs_are_without_controls),
      cmocka_unit_test(test_words_are_those_of_the_header),
      cmocka_unit_test(test_a_builder_of_the_host_runs_ops),
      cmocka_unit_test(test_a_failure_sticks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
