/* onnx_microsoft_test.c - operators of com.microsoft against the numbers of ONNX Runtime, which has defined them; and
 * MaxRoiPool, which has no case by ONNX. */
#include <burn/burn.h>
#include <burn/onnx.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "onnx_microsoft_golden.h"

enum { CASES = sizeof microsoft_cases / sizeof microsoft_cases[0], MOST = 16 };

static BurnDevice *device;

static size_t count_of(size_t tensor) {
  size_t count = 1;
  for (uint32_t i = 0; i < microsoft_tensors[tensor].shape.rank; i++) {
    count *= (size_t)microsoft_tensors[tensor].shape.dims[i];
  }
  return count;
}

static BurnTensor *tensor_of(size_t tensor) {
  BurnTensor *x = burn_tensor_f64(device, microsoft_tensors[tensor].values, microsoft_tensors[tensor].shape);
  return burn_cast(x, microsoft_tensors[tensor].dtype);
}

static void expect_tensor(const char *name, BurnTensor *x, size_t tensor) {
  double found[256];
  const size_t count = count_of(tensor);
  const double *wanted = microsoft_tensors[tensor].values;
  assert_true(count <= sizeof found / sizeof found[0]);
  const BurnShape shape = burn_shape(x);
  if (burn_dtype(x) != microsoft_tensors[tensor].dtype) fail_msg("%s: dtype %s", name, burn_dtype_name(burn_dtype(x)));
  if (strcmp(burn_shape_text(shape).text, burn_shape_text(microsoft_tensors[tensor].shape).text) != 0) {
    fail_msg("%s: shape %s", name, burn_shape_text(shape).text);
  }
  assert_int_equal(burn_read_f64(burn_cast(x, BURN_DTYPE_F64), found, count), BURN_OK);
  for (size_t i = 0; i < count; i++) {
    if (!(fabs(found[i] - wanted[i]) <= 1e-5 * (1 + fabs(wanted[i])))) {
      fail_msg("%s: element %zu is %.9g, ONNX Runtime has %.9g", name, i, found[i], wanted[i]);
    }
  }
}

static void run_case(size_t c, bool no_passes) {
  const char *name = microsoft_cases[c].name;
  const BurnGraphOptions options = {.no_passes = no_passes};
  BurnTensor *inputs[MOST] = {NULL}, *outputs[MOST] = {NULL};
  BurnStatus status = BURN_OK;
  const size_t given = microsoft_cases[c].input_count, wanted = microsoft_cases[c].output_count;
  BurnGraph *graph = burn_onnx_read(microsoft_cases[c].model, microsoft_cases[c].bytes, device, &options, &status);
  if (!graph) fail_msg("%s: %s", name, burn_status_message(status));
  for (size_t i = 0; i < given; i++) inputs[i] = tensor_of(microsoft_cases[c].first_input + i);
  status = burn_graph_run(graph, inputs, given, outputs, wanted);
  if (status != BURN_OK) fail_msg("%s: %s", name, burn_status_message(status));
  for (size_t i = 0; i < wanted; i++) expect_tensor(name, outputs[i], microsoft_cases[c].first_output + i);
  burn_graph_release(graph);
}

static void test_values(void **state) {
  (void)state;
  for (size_t c = 0; c < CASES; c++) {
    for (int plain = 0; plain < 2; plain++) run_case(c, plain);
  }
}

/* Inputs of a case with one of them changed; the status is the reader's to describe. */
static BurnStatus run_changed(const char *name, size_t at, BurnTensor *changed) {
  BurnTensor *inputs[MOST] = {NULL}, *outputs[MOST] = {NULL};
  BurnStatus status = BURN_OK;
  size_t c = 0;
  while (c < CASES && strcmp(microsoft_cases[c].name, name) != 0) c++;
  assert_true(c < CASES);
  BurnGraph *graph = burn_onnx_read(microsoft_cases[c].model, microsoft_cases[c].bytes, device, NULL, &status);
  for (size_t i = 0; i < microsoft_cases[c].input_count; i++) {
    inputs[i] = i == at ? changed : tensor_of(microsoft_cases[c].first_input + i);
  }
  status = burn_graph_run(graph, inputs, microsoft_cases[c].input_count, outputs, microsoft_cases[c].output_count);
  for (size_t i = 0; i < MOST; i++) burn_drop(outputs[i]);
  burn_graph_release(graph);
  return status;
}

/* What inputs say of lengths is looked at before anything is read or made by it. */
static void test_lengths(void **state) {
  static const int32_t beyond[] = {3, 4}, negative[] = {-1, 3}, total[] = {1 << 30};
  (void)state;
  const BurnShape two = BURN_SHAPE(2), one = BURN_SHAPE(1);
  BurnStatus status = run_changed("group_next", 5, burn_tensor_from(device, beyond, BURN_DTYPE_I32, two));
  assert_non_null(strstr(burn_status_message(status), "batch 1 ends with key 4 of 4, 1 of which are new"));
  status = run_changed("group_next", 5, burn_tensor_from(device, negative, BURN_DTYPE_I32, two));
  assert_non_null(strstr(burn_status_message(status), "batch 0 ends with key -1 of 4"));
  status = run_changed("group_next", 6, burn_tensor_from(device, total, BURN_DTYPE_I32, one));
  assert_non_null(strstr(burn_status_message(status), "1073741824 keys in all, of 2 batches, do not go with 1 new"));
}

static void test_regions(void **state) {
  static const float rows[6][5] = {{0}, {2, 0, 0, 1, 1}}, far[6][5] = {{0, 0, 0, 1, 1}, {1, 0, 0, 1e30f, 1}};
  (void)state;
  const BurnShape shape = BURN_SHAPE(6, 5);
  BurnStatus status = run_changed("max_roi", 1, burn_tensor_f32(device, rows[0], shape));
  assert_non_null(strstr(burn_status_message(status), "region 1 is of image 2 of 2"));
  status = run_changed("max_roi", 1, burn_tensor_f32(device, far[0], shape));
  assert_non_null(strstr(burn_status_message(status), "region 1 is of image 1 of 2, at 0 0 1e+30 1"));
}

static int open_device(void **state) {
  (void)state;
  device = burn_device_open("ndarray");
  return burn_device_status(device) == BURN_OK ? 0 : -1;
}

static int close_device(void **state) {
  (void)state;
  burn_device_close(device);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_lengths),
                                     cmocka_unit_test(test_regions)};
  return cmocka_run_group_tests(tests, open_device, close_device);
}
