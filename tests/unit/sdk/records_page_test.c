/* records_page_test.c - the Python of the guide page records.md writes a record that loads. */
#define _GNU_SOURCE /* mkdtemp */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/nn.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Loads the file, and ends it. */
static void assert_loads(BurnDevice *device, const char *folder, const char *name, uint32_t format) {
  static const float weights[] = {1, 2, 3, 4, 5, 6}, biases[] = {0.5F, -0.5F};
  const BurnRecordConfig config = {format, BURN_PRECISION_FULL};
  char path[64];
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  BurnLinear linear = burn_linear_new(3, 2, device);
  const uint64_t id = linear.weight.id;
  assert_string_equal(burn_status_message(burn_record_load(burn_module(BurnLinear, &linear), path, &config)), "ok");
  float weight[6], bias[2];
  assert_true(burn_read_f32(burn_param_value(&linear.weight), weight, 6) == BURN_OK);
  assert_true(burn_read_f32(burn_param_value(&linear.bias), bias, 2) == BURN_OK);
  assert_memory_equal(weight, weights, sizeof weight);
  assert_memory_equal(bias, biases, sizeof bias);
  assert_int_not_equal(linear.weight.id, id);
  BurnLinear_release(&linear);
  assert_int_equal(unlink(path), 0);
}

static void test_python_of_the_page(void **state) {
  (void)state;
  char folder[] = "/tmp/burn-records-page-XXXXXX", command[2048];
  if (system("python3 -c 'import base64; base64.b32hexencode' 2>/dev/null") != 0) {
    printf("skipped: there is no python3 of version 3.10 or newer\n");
    skip();
  }
  assert_non_null(mkdtemp(folder));
  (void)snprintf(command, sizeof command,
                 "cd '%s' && python3 '%s/tests/unit/sdk/records_page.py' '%s/sdk/guide/records.md'", folder,
                 BURN_SOURCE_DIR, BURN_SOURCE_DIR);
  assert_int_equal(system(command), 0);
  BurnDevice *device = burn_device_open("ndarray");
  assert_loads(device, folder, "linear.mpk", BURN_RECORD_MPK);
  assert_loads(device, folder, "linear.json", BURN_RECORD_JSON);
  burn_device_close(device);
  assert_int_equal(rmdir(folder), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_python_of_the_page)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
