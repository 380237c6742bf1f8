/* store_test.c - the store interface by the smallest files: what is listed, read, found, refused. */
#include "store_testing.h"

/* safetensors.numpy.save of these arrays (safetensors 0.5), with metadata {"format": "pt"}. */
static const char golden[] =
    "\x78\x01\0\0\0\0\0\0"
    "{\"__metadata__\":{\"format\":\"pt\"},\"n\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},"
    "\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[8,32]},"
    "\"u32\":{\"dtype\":\"U32\",\"shape\":[1],\"data_offsets\":[32,36]},"
    "\"e\":{\"dtype\":\"F16\",\"shape\":[0,3],\"data_offsets\":[36,36]},"
    "\"u16\":{\"dtype\":\"U16\",\"shape\":[1],\"data_offsets\":[36,38]},"
    "\"mask\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[38,41]}}      "
    "\x07\0\0\0\0\0\0\0"
    "\0\0\0\0\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\xa0\x40"
    "\xff\xff\xff\xff"
    "\xff\xff"
    "\x01\0\x01";
enum { GOLDEN_BYTES = sizeof golden - 1 };

static void test_list(void **state) {
  (void)state;
  BurnStatus status = BURN_OK;
  BurnStore *store = burn_store_open_bytes(golden, GOLDEN_BYTES, &status);
  check_status(status);
  assert_string_equal(burn_store_format(store), "safetensors");
  assert_string_equal(burn_value_as_text(burn_value_get(burn_store_metadata(store), "format"), ""), "pt");
  static const struct {
    const char *name, *file_dtype;
    BurnDType dtype;
    const char *shape;
    bool scalar;
    uint64_t bytes;
  } wanted[] = {{"n", "I64", BURN_DTYPE_I64, "[1]", true, 8},    {"w", "F32", BURN_DTYPE_F32, "[2,3]", false, 24},
                {"u32", "U32", BURN_DTYPE_I64, "[1]", false, 4}, {"e", "F16", BURN_DTYPE_F16, "[0,3]", false, 0},
                {"u16", "U16", BURN_DTYPE_I32, "[1]", false, 2}, {"mask", "BOOL", BURN_DTYPE_BOOL, "[3]", false, 3}};
  assert_int_equal(burn_store_count(store), sizeof wanted / sizeof wanted[0]);
  for (size_t i = 0; i < burn_store_count(store); i++) {
    const BurnStoreEntry *entry = burn_store_entry(store, i);
    assert_string_equal(entry->name, wanted[i].name);
    assert_string_equal(entry->file_dtype, wanted[i].file_dtype);
    assert_int_equal(entry->dtype, wanted[i].dtype);
    assert_string_equal(burn_shape_text(entry->shape).text, wanted[i].shape);
    assert_int_equal(entry->scalar, wanted[i].scalar);
    assert_int_equal(entry->bytes, wanted[i].bytes);
    assert_int_equal(burn_store_find(store, entry->name), i);
  }
  assert_int_equal(burn_store_find(store, "weight"), burn_store_count(store));
  burn_store_close(store);
}

static void test_read(void **state) {
  const Fixture *fixture = *state;
  const Path path = path_in(fixture, "any.name");
  BurnStatus status = BURN_OK;
  check_status(burn_file_write(path.text, golden, GOLDEN_BYTES));
  BurnStore *store = burn_store_open(path.text, &status);
  check_status(status);
  assert_values(store, "w", fixture->device, (const double[]){0, 1, 2, 3, 4, 5}, 6);
  assert_values(store, "n", fixture->device, (const double[]){7}, 1);
  assert_values(store, "u16", fixture->device, (const double[]){65535}, 1);
  assert_values(store, "u32", fixture->device, (const double[]){4294967295.0}, 1);
  assert_values(store, "mask", fixture->device, (const double[]){1, 0, 1}, 3);
  float few[2];
  char message[512];
  (void)snprintf(message, sizeof message, "store: %s: tensor w: it has 24 bytes as f32, not 8", path.text);
  assert_string_equal(burn_status_message(burn_store_read(store, burn_store_find(store, "w"), few, sizeof few)),
                      message);
  BurnTensor *absent = burn_store_tensor(store, "maks", fixture->device);
  (void)snprintf(message, sizeof message, "store: %s: no tensor \"maks\" among 6. Did you mean 'mask'?", path.text);
  assert_string_equal(burn_status_message(burn_tensor_status(absent)), message);
  burn_drop(absent);
  burn_store_close(store);
}

/* By the rules of a chain. */
static void test_failures_before(void **state) {
  (void)state;
  BurnStatus status = burn_status_make(BURN_STATUS_IO, "before");
  assert_null(burn_store_open_bytes(golden, GOLDEN_BYTES, &status));
  assert_null(burn_store_open("/nowhere/x", &status));
  assert_string_equal(burn_status_message(status), "before");
  status = BURN_OK;
  assert_null(burn_store_open("/nowhere/x", &status));
  assert_int_equal(burn_status_code(status), BURN_STATUS_NOT_FOUND);
  status = BURN_OK;
  assert_null(burn_store_open_bytes(NULL, GOLDEN_BYTES, &status)); /* as malloc gives them where there is no memory */
  assert_non_null(strstr(burn_status_message(status), "store: its 0 bytes are of no known format"));
  burn_store_close(NULL);
}

/* What burn_store_find says of a name that is not there is no index. */
static void test_indices_have_an_end(void **state) {
  BurnStatus status = BURN_OK;
  float value = 0;
  BurnStore *store = burn_store_open_bytes(golden, GOLDEN_BYTES, &status);
  const size_t beyond = burn_store_find(store, "nobody");
  (void)state;
  assert_int_equal(beyond, burn_store_count(store));
  assert_null(burn_store_entry(store, beyond));
  status = burn_store_read(store, beyond, &value, sizeof value);
  assert_int_equal(burn_status_code(status), BURN_STATUS_OUT_OF_RANGE);
  assert_non_null(strstr(burn_status_message(status), "asked for, there are"));
  burn_store_close(store);
}

static void test_no_store_is_told(void **state) {
  static const char said[] = "store: there is none; the status of the call that should have opened it says why";
  const Fixture *fixture = *state;
  BurnParam param = burn_param(burn_ones(fixture->device, BURN_SHAPE(1), BURN_DTYPE_F32));
  float value = 0;
  const BurnModule module = burn_module(BurnParam, &param);
  assert_int_equal(burn_store_count(NULL) + burn_store_find(NULL, "a"), 0);
  assert_null(burn_store_entry(NULL, 0));
  assert_null(burn_store_metadata(NULL));
  assert_string_equal(burn_store_format(NULL), "none");
  assert_string_equal(burn_status_message(burn_store_read(NULL, 0, &value, sizeof value)), said);
  assert_string_equal(burn_status_message(burn_store_apply(NULL, module, NULL, NULL)), said);
  assert_string_equal(burn_status_message(burn_store_convert(NULL, "x.npz", NULL)), said);
  BurnTensor *x = burn_store_tensor(NULL, "a", fixture->device);
  assert_string_equal(burn_status_message(burn_tensor_status(x)), said);
  burn_drop(x);
  burn_param_release(&param);
}

static void test_no_path_is_told(void **state) {
  const Fixture *fixture = *state;
  BurnParam param = burn_param(burn_ones(fixture->device, BURN_SHAPE(1), BURN_DTYPE_F32));
  const BurnModule module = burn_module(BurnParam, &param);
  BurnStatus status = BURN_OK;
  assert_null(burn_store_open(NULL, &status));
  assert_string_equal(burn_status_message(status), "store: no path");
  assert_string_equal(burn_status_message(burn_store_save(module, NULL, NULL)), "store: no path");
  burn_param_release(&param);
}

static void expect_null(BurnStatus status, const char *said) {
  assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
  assert_string_equal(burn_status_message(status), said);
}

static void test_no_name_is_found(void **state) {
  const Fixture *fixture = *state;
  const BurnStoreNames names = {.top_level = NULL};
  bool chosen[8];
  BurnStatus status = BURN_OK;
  BurnStore *store = burn_store_open_bytes(golden, GOLDEN_BYTES, &status);
  check_status(status);
  assert_int_equal(burn_store_find(store, NULL), burn_store_count(store));
  BurnTensor *x = burn_store_tensor(store, NULL, fixture->device);
  expect_null(burn_tensor_status(x), "store_tensor: name is NULL: that of a tensor expected");
  burn_drop(x);
  expect_null(burn_store_select(store, NULL, chosen), "store_select: names is NULL: a BurnStoreNames expected");
  expect_null(burn_store_select(store, &names, NULL), "store_select: chosen is NULL: room for each tensor expected");
  check_status(burn_store_select(NULL, &names, NULL));
  const BurnStoreNames renames = {.rename_count = 1}, include = {.include_count = 2}, exclude = {.exclude_count = 1};
  expect_null(burn_store_select(store, &renames, chosen), "store: renames is NULL: a list of 1 expected");
  expect_null(burn_store_select(store, &include, chosen), "store: include is NULL: a list of 2 expected");
  expect_null(burn_store_select(store, &exclude, chosen), "store: exclude is NULL: a list of 1 expected");
  burn_store_close(store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_list),
      cmocka_unit_test(test_read),
      cmocka_unit_test(test_failures_before),
      cmocka_unit_test(test_indices_have_an_end),
      cmocka_unit_test(test_no_store_is_told),
      cmocka_unit_test(test_no_path_is_told),
      cmocka_unit_test(test_no_name_is_found),
  };
  return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
