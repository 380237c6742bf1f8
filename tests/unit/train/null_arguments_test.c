/* null_arguments_test.c - NULL where a function needs a struct that its caller fills, a config, a list, a callback or a
 * place for its result (burn/error.h, "NULL"): a status with the names of function and argument, never a crash. A row
 * per argument. Handles, modules and paths are in null_handles_test.c. */
#include "learner_testing.h"

#include <burn/burn.h>
#include <burn/capture.h>
#include <burn/dlpack.h>
#include <burn/file.h>
#include <burn/grid.h>
#include <burn/guess.h>
#include <burn/nn.h>
#include <burn/numpy.h>
#include <burn/op_call.h>
#include <burn/plugins.h>
#include <burn/tokenizer.h>
#include <burn/train.h>
#include <burn/train/class_files.h>
#include <burn/train/data_parallel.h>
#include <burn/train/grad_scaler.h>
#include <burn/train/lbfgs.h>
#include <burn/train/report.h>
#include <burn/train/rl.h>
#include <burn/train/wav.h>
#include <burn/transfer.h>
#include <burn/zip.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static BurnDevice *device;
static BurnLinear linear;

static void expect(BurnStatus status, const char *message) {
  assert_string_equal(burn_status_message(status), message);
  assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
}

static void expect_tensor(BurnTensor *x, const char *message) {
  expect(burn_tensor_status(x), message);
  burn_drop(x);
}

/* Rows: a function, its argument that is NULL, what the message asks for, the call. */
#define MESSAGE(function, argument, wanted) #function ": " #argument " is NULL: " wanted " expected"
#define ROW(function, argument, wanted, ...) expect(burn_##function(__VA_ARGS__), MESSAGE(function, argument, wanted));
#define TENSOR_ROW(function, argument, wanted, ...) \
  expect_tensor(burn_##function(__VA_ARGS__), MESSAGE(function, argument, wanted));
static BurnTensor *ones(void) { return burn_ones(device, BURN_SHAPE(2, 2), BURN_DTYPE_F32); }
static BurnTensor *loss(void) { return burn_sum(burn_linear_forward(&linear, ones())); }
static BurnModule module(void) { return burn_module(BurnLinear, &linear); }

static void tensors(void **state) {
  (void)state;
  BurnGradients *gradients = NULL;
  BurnTensor *const vectors[] = {burn_ones(device, BURN_SHAPE(2), BURN_DTYPE_F32)};
  const char *source = NULL;
  ROW(meshgrid, grids, "a list of as many BurnTensor * as vectors", vectors, 1, BURN_GRID_MATRIX, BURN_GRID_DENSE, NULL)
  ROW(print_or_fail, file, "an open FILE", NULL, ones())
  ROW(backward, gradients, "a BurnGradients *", loss(), NULL)
  expect(burn_backward_create_graph(loss(), NULL), "backward: gradients is NULL: a BurnGradients * expected");
  ROW(to_dlpack, out, "a DLManagedTensorVersioned *", ones(), NULL)
  expect(burn_to_dlpack_on(ones(), 1, NULL), "to_dlpack: out is NULL: a DLManagedTensorVersioned * expected");
  ROW(op_find, out, "a const BurnOpInfo *", "relu", NULL)
  ROW(staging_open, out, "a BurnStaging *", device, 64, 1, NULL)
  ROW(staging_take, out, "a BurnStagingSlot *", NULL, NULL)
  ROW(device_describe, out, "a BurnDeviceDescription", device, NULL)
  ROW(quant_status, q, "a BurnQuantTensor", NULL)
  ROW(stack_choice, stack, "room for the text", "ndarray", NULL, 8, &source)
  BurnQuantTensor q = burn_quant_clone(NULL);
  expect(burn_quant_status(&q), "quant_clone: q is NULL: a BurnQuantTensor expected");
  burn_quant_drop(q);
  assert_int_equal(burn_device_memory(device).live_tensors, 2); /* weight and bias */
  assert_null(gradients);
}

/* What a failed burn_op_find leaves behind, and a primitive without its device. */
static void ops_by_name(void **state) {
  (void)state;
  BurnTensor *inputs[] = {ones(), ones()}, *outputs[2] = {NULL, NULL};
  BurnTensor *kept = ones();
  BurnPrimitive *primitive = burn_tensor_primitive(kept);
  burn_op_call(NULL, NULL, &inputs[0], 1, NULL, 0, &outputs[0]);
  expect_tensor(outputs[0], "op_call: op is NULL: what burn_op_find gives expected");
  inputs[0] = ones();
  burn_op_calls(NULL, 2, inputs, 1, NULL, outputs);
  for (int i = 0; i < 2; i++) expect_tensor(outputs[i], "op_call: op is NULL: what burn_op_find gives expected");
  expect_tensor(burn_tensor_from_primitive(NULL, primitive), "tensor_from_primitive: the device is NULL");
  TENSOR_ROW(tensor_from_primitive, primitive, "one of the device", device, NULL)
  BurnDevice *failed = burn_device_open("no_such_backend");
  BurnTensor *x = burn_tensor_from_primitive(failed, primitive);
  assert_int_equal(burn_status_code(burn_tensor_status(x)), BURN_STATUS_NOT_FOUND);
  burn_drop(x);
  burn_device_close(failed);
  burn_drop(kept);
  assert_int_equal(burn_device_memory(device).live_tensors, 2);
}

static void records(void **state) {
  (void)state;
  BurnValue *value = NULL, *item = NULL;
  uint8_t *bytes = NULL;
  size_t count = 0;
  uint32_t format = 0;
  const BurnRecordTensor unread = {.path = "weight"};
  ROW(module_visit, visitor, "a BurnModuleVisitor", module(), NULL, NULL)
  ROW(record_to_bytes, bytes, "a uint8_t *", module(), NULL, NULL, &count)
  ROW(record_to_bytes, count, "a size_t", module(), NULL, &bytes, NULL)
  ROW(record_load_tensors, tensors, "a list of BurnRecordTensor", module(), NULL, 1, NULL, NULL)
  expect(burn_record_load_tensors(module(), &unread, 1, NULL, NULL),
         "load: tensor 0 has no path or no function that reads it");
  ROW(value_read, out, "a BurnValue *", "a", NULL, NULL)
  ROW(value_read_any, format, "a uint32_t", "a", NULL, &value, &item)
  ROW(value_read_any, metadata, "a BurnValue *", "a", &format, NULL, &item)
  ROW(value_read_any, item, "a BurnValue *", "a", &format, &value, NULL)
  ROW(value_decode_any, format, "a uint32_t", "a", 1, NULL, &value, &item)
  ROW(value_decode_any, metadata, "a BurnValue *", "a", 1, &format, NULL, &item)
  ROW(value_decode_any, item, "a BurnValue *", "a", 1, &format, &value, NULL)
  const BurnRecordConfig bpk = {BURN_RECORD_BPK, BURN_PRECISION_FULL};
  assert_int_equal(burn_record_to_bytes(module(), &bpk, &bytes, &count), BURN_OK);
  ROW(value_decode_in_place, format, "a uint32_t", bytes, count, NULL, &value, &item)
  ROW(value_decode_in_place, item, "a BurnValue *", bytes, count, &format, &value, NULL)
  free(bytes);
  BurnModuleOption option = burn_module_option(NULL);
  burn_module_option_set(&option, (BurnModule){NULL, &linear});
  assert_null(burn_module_option_get(&option));
}

static void files(void **state) {
  (void)state;
  BurnZipEntry entry = {.name = NULL};
  BurnTensor *x = ones();
  const char *const nameless[] = {NULL};
  uint8_t *bytes = NULL, peeked[1];
  size_t count = 0;
  BurnStatus status = BURN_OK;
  ROW(file_read, bytes, "a uint8_t *", "a", 8, NULL, &count)
  ROW(file_read, count, "a size_t", "a", 8, &bytes, NULL)
  ROW(file_open, file, "a FILE *", "a", NULL, NULL)
  ROW(npy_header, header, "a BurnNpyHeader", NULL, 0, NULL)
  expect(burn_npz_write("a.npz", NULL, &x, 1, false), "npz: a.npz: npz_write: names is NULL: a list of texts expected");
  x = ones();
  expect(burn_npz_write("a.npz", nameless, &x, 1, false), "npz: a.npz: npz: an array has no name");
  expect(burn_npz_write("a.npz", nameless, NULL, 1, false),
         "npz: a.npz: npz_write: tensors is NULL: a list of tensors expected");
  ROW(zip_make, entries, "a list of BurnZipEntry", NULL, 1, false, &bytes, &count)
  ROW(zip_make, bytes, "a uint8_t *", &entry, 0, false, NULL, &count)
  ROW(zip_make, count, "a size_t", &entry, 0, false, &bytes, NULL)
  expect(burn_zip_make(&entry, 1, false, &bytes, &count), "zip: member 0 has no name");
  entry = (BurnZipEntry){.name = "a", .count = 1};
  expect(burn_zip_make(&entry, 1, false, &bytes, &count), "zip: member 0 has no bytes");
  ROW(zip_read, bytes, "a uint8_t *", NULL, 0, NULL)
  ROW(zip_stored, bytes, "a const uint8_t *", NULL, 0, NULL)
  ROW(zip_peek, got, "a size_t", NULL, 0, peeked, 1, NULL)
  ROW(zip_peek, out, "room for the bytes", NULL, 0, NULL, 1, &count)
  assert_null(burn_zip_open(NULL, 64, &status));
  assert_int_equal(burn_status_code(status), BURN_STATUS_CORRUPT_DATA);
  assert_int_equal(burn_device_memory(device).live_tensors, 2);
}

/* A name that is NULL is found nowhere; a count that nobody wants may be left out. */
static void names(void **state) {
  (void)state;
  const BurnZipEntry entry = {.name = "a", .bytes = (const uint8_t *)"b", .count = 1};
  uint8_t *bytes = NULL;
  size_t count = 0;
  BurnStatus status = burn_zip_make(&entry, 1, false, &bytes, &count);
  BurnZip *zip = burn_zip_open(bytes, count, &status);
  assert_int_equal(status, BURN_OK);
  assert_int_equal(burn_zip_find(zip, NULL), 1);
  burn_zip_close(zip);
  free(bytes);
  BurnValue *map = burn_value_map();
  assert_true(burn_value_set(map, "a", burn_value_nil()));
  assert_null(burn_value_get(map, NULL));
  burn_value_destroy(map);
  BurnGuess guess = burn_guess("ndaray");
  burn_guess_add(&guess, NULL);
  assert_string_equal(burn_guess_text(&guess), "");
  assert_non_null(burn_host_options(NULL));
  char stack[8];
  assert_int_equal(burn_stack_choice("ndarray", stack, sizeof stack, NULL), BURN_OK);
}

int main(void) {
  device = burn_device_open("autodiff<ndarray>");
  linear = burn_linear_new(2, 2, device);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tensors), cmocka_unit_test(ops_by_name), cmocka_unit_test(records),
      cmocka_unit_test(files),   cmocka_unit_test(names),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  BurnLinear_release(&linear);
  burn_device_close(device);
  return failed;
}
