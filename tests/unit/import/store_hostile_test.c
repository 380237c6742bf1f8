/* store_hostile_test.c - files that were made to do harm: one per class of the known attacks on readers of weights. */
#include "store_testing.h"

/* A safetensors file of this header and so many bytes of zeros. */
static size_t file_of(uint8_t *file, const char *header, size_t data) {
  const uint64_t length = strlen(header);
  memcpy(file, &length, 8);
  memcpy(file + 8, header, (size_t)length);
  memset(file + 8 + length, 0, data);
  return 8 + (size_t)length + data;
}

static const struct {
  const char *header;
  size_t data;
  const char *message; /* after "store: safetensors: " */
} hostile[] = {
    /* sizes whose product wraps (CVE-2024-21836, CVE-2025-53630) */
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
     "byte 13: tensor a: 0 bytes for another number of elements of F32"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387905],\"data_offsets\":[0,4]}}", 4,
     "byte 13: tensor a: 4 bytes for another number of elements of F32"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0,9223372036854775807,4],\"data_offsets\":[0,0]}}", 0,
     "byte 13: tensor a: 0 bytes for another number of elements of F32"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[18446744073709551617],\"data_offsets\":[0,4]}}", 4,
     "byte 56: a number of at most 64 bits expected"},
    /* a tensor larger than the file, or before its beginning (CVE-2026-7482) */
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[0,5]}}", 4,
     "byte 13: tensor a: values from 0 to 5 of 4 bytes"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[4,2]}}", 4,
     "byte 13: tensor a: values from 4 to 2 of 4 bytes"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[-1,0]}}", 4, "byte 55: an integer expected"},
    /* a declared type that is not the one of the bytes (CVE-2024-21825) */
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8,
     "byte 13: tensor a: 8 bytes for another number of elements of F64"},
    {"{\"a\":{\"dtype\":\"F6_E2M3\",\"shape\":[3],\"data_offsets\":[0,2]}}", 2,
     "byte 13: tensor a: 2 bytes for another number of elements of F6_E2M3"},
    {"{\"a\":{\"dtype\":\"FLOAT\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
     "byte 29: a dtype of safetensors, as F32, expected"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":\"2\",\"data_offsets\":[0,8]}}", 8, "byte 36: \"[\" expected"},
    /* two readers that disagree: a file that is two, values that are hidden or shared (CVE-2025-10155) */
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 3, "byte 63: 1 bytes after the last tensor"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}", 3,
     "byte 62: tensor a: its values begin here, not at byte 61"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_"
     "offsets\":"
     "[1,3]}}",
     3, "byte 114: tensor b: its values begin here, not at byte 115"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_"
     "offsets\":"
     "[1,2]}}",
     2, "tensor a: it is there twice"},
    {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
     "byte 35: dtype, shape or data_offsets, each once, expected"},
    {"{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", 0, "byte 40: metadata with each key once expected"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "byte 42: __metadata__ once expected"},
    {"{\"a\\u0000b\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0,
     "byte 17: a text without a zero byte expected"},
    {"{} {}", 0, "byte 11: nothing after the header expected"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[0]}}", 0, "byte 39: dtype, shape and data_offsets before it, expected"},
    {"{\"__metadata__\":{\"k\":[[[[1]]]]}}", 0, "byte 29: a text expected"},
};

static void test_safetensors(void **state) {
  (void)state;
  static uint8_t file[4096];
  for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
    char message[400];
    (void)snprintf(message, sizeof message, "store: safetensors: %s", hostile[i].message);
    assert_refused(file, file_of(file, hostile[i].header, hostile[i].data), message);
  }
}

/* A length of the header that asks for more than is there (llama.cpp#27188), or than the reference takes. */
static void test_long_headers(void **state) {
  (void)state;
  uint8_t file[16] = {0xff, 0xff, 0, 0, 0, 0, 0, 0, '{', '}'};
  assert_refused(file, 10,
                 "store: safetensors: byte 0: a header of 65535 bytes, of which 2 are there (limit 100000000)");
  memcpy(file, (const uint8_t[]){0x01, 0xe1, 0xf5, 0x05}, 4); /* 100 000 001 */
  assert_refused(file, 10,
                 "store: safetensors: byte 0: a header of 100000001 bytes, of which 2 are there (limit 100000000)");
  file[7] = 0xff; /* and so much that it is not a header any more */
  BurnStatus status = BURN_OK;
  assert_null(burn_store_open_bytes(file, 10, &status));
  assert_int_equal(burn_status_code(status), BURN_STATUS_INCOMPATIBLE);
  assert_non_null(
      strstr(burn_status_message(status), "store: its 10 bytes are of no known format (index, safetensors"));
}

/* Dtypes that nothing here has are listed, and told when they are read. */
static void test_unknown_dtypes(void **state) {
  const Fixture *fixture = *state;
  static uint8_t file[512];
  const size_t count = file_of(file, "{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2);
  BurnStatus status = BURN_OK;
  BurnStore *store = burn_store_open_bytes(file, count, &status);
  check_status(status);
  assert_string_equal(burn_store_entry(store, 0)->file_dtype, "F8_E4M3");
  assert_int_equal(burn_store_entry(store, 0)->dtype, BURN_DTYPE_DEFAULT);
  BurnTensor *x = burn_store_tensor(store, "a", fixture->device);
  assert_string_equal(
      burn_status_message(burn_tensor_status(x)),
      "store: bytes: tensor a: F8_E4M3: there is no such dtype here; convert it to F16 or F32 where the "
      "file is made");
  burn_drop(x);
  burn_store_close(store);
  uint8_t large[128];
  const size_t bytes = file_of(large, "{\"a\":{\"dtype\":\"U64\",\"shape\":[1],\"data_offsets\":[0,8]}}", 8);
  large[bytes - 1] = 0x80;
  store = burn_store_open_bytes(large, bytes, &status);
  int64_t value;
  assert_string_equal(burn_status_message(burn_store_read(store, 0, &value, sizeof value)),
                      "store: bytes: tensor a: byte 62: 9223372036854775808 does not fit an i64");
  burn_store_close(store);
}

/* -- a model in parts ------------------------------------------------------------------------- */

static void assert_index(const Fixture *fixture, const char *text, const char *message) {
  const Path path = path_in(fixture, "model.safetensors.index.json");
  char wanted[900];
  BurnStatus status = BURN_OK;
  check_status(burn_file_write(path.text, text, strlen(text)));
  (void)snprintf(wanted, sizeof wanted, "store: %s: index: %s", path.text, message);
  assert_null(burn_store_open(path.text, &status));
  assert_string_equal(burn_status_message(status), wanted);
}

/* Names of parts that lead elsewhere (CVE-2022-25882, CVE-2024-27318, CVE-2026-34447). */
static void test_escapes(void **state) {
  const Fixture *fixture = *state;
  static const char *const names[] = {"../secret", "/etc/passwd",  "a/../../secret", "..",  ".",
                                      "",          "..\\\\secret", "C:secret",       "a/b", ".hidden"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char text[200], message[200];
    (void)snprintf(text, sizeof text, "{\"weight_map\": {\"w\": \"%s\"}}", names[i]);
    (void)snprintf(message, sizeof message, "byte 16: part \"%s\" is not a plain name of a file beside the index",
                   strcmp(names[i], "..\\\\secret") == 0 ? "..\\secret" : names[i]);
    assert_index(fixture, text, message);
  }
}

static void test_parts(void **state) {
  const Fixture *fixture = *state;
  static MadeFile one, two;
  BurnStatus status = BURN_OK;
  make_safetensors(&one, (const Made[]){{"a", 1, {2}, 1}, {"hidden", 1, {1}, 9}}, 2);
  make_safetensors(&two, (const Made[]){{"b", 1, {2}, 3}}, 1);
  check_status(burn_file_write(path_in(fixture, "one").text, one.bytes, one.count));
  check_status(burn_file_write(path_in(fixture, "two").text, two.bytes, two.count));
  static const char good[] = "{\"metadata\":{\"total_size\":16},\"weight_map\":{\"a\":\"one\",\"b\":\"two\"}}";
  check_status(burn_file_write(path_in(fixture, "model.safetensors.index.json").text, good, sizeof good - 1));
  BurnStore *store = burn_store_open(fixture->folder, &status);
  check_status(status);
  assert_int_equal(burn_store_count(store), 2);
  assert_values(store, "a", fixture->device, (const double[]){1, 2}, 2);
  assert_values(store, "b", fixture->device, (const double[]){3, 4}, 2);
  burn_store_close(store);
  assert_index(fixture, "{\"weight_map\":{\"c\":\"one\"}}", "byte 15: tensor c is not in part one");
  assert_index(fixture, "{\"weight_map\":{\"a\":\"one\",\"a\":\"one\"}}", "tensor a: it is there twice");
  /* Indexes that name each other would be opened without end. */
  char message[500];
  (void)snprintf(message, sizeof message, "byte 15: %s: a part of a model that is an index itself",
                 path_in(fixture, "model.safetensors.index.json").text);
  assert_index(fixture, "{\"weight_map\":{\"a\":\"model.safetensors.index.json\"}}", message);
  assert_refused(good, sizeof good - 1, "store: index: an index of parts is opened by its path, beside which they lie");
}

/* A folder without a model says what it looked for. */
static void test_folder(void **state) {
  (void)state;
  char folder[64];
  BurnStatus status = BURN_OK;
  make_folder(folder);
  assert_null(burn_store_open(folder, &status));
  assert_int_equal(burn_status_code(status), BURN_STATUS_NOT_FOUND);
  assert_non_null(strstr(burn_status_message(status), "a folder without model.safetensors.index.json"));
  assert_int_equal(remove_folder(folder), 0);
}

/* An archive that claims to unpack to a thousand times its size (zip bombs) is told by its header alone. */
static void test_bomb(void **state) {
  (void)state;
  static const uint8_t npz[] = {
#include "npz_bomb.def"
  };
  BurnStatus status = BURN_OK;
  assert_null(burn_store_open_bytes(npz, sizeof npz, &status));
  assert_int_equal(burn_status_code(status), BURN_STATUS_OUT_OF_RANGE);
  assert_non_null(strstr(burn_status_message(status), "at most 1073741824 are unpacked"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_safetensors), cmocka_unit_test(test_long_headers), cmocka_unit_test(test_unknown_dtypes),
      cmocka_unit_test(test_escapes),     cmocka_unit_test(test_parts),        cmocka_unit_test(test_folder),
      cmocka_unit_test(test_bomb),
  };
  return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
