/* record_test.c - records: Burn's bytes exactly, round trips in every precision, refused and damaged files, atomic
 * writing. */
#include "reflection_testing.h"

#include <fcntl.h>
#include <signal.h>
#if !defined(_WIN32)
#include <sys/resource.h>
#endif
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static const BurnRecordConfig plain_full = {BURN_RECORD_MPK, BURN_PRECISION_FULL};
static const BurnRecordConfig json_gzip_full = {BURN_RECORD_JSON_GZ, BURN_PRECISION_FULL};
static const BurnRecordConfig bin_full = {BURN_RECORD_BIN, BURN_PRECISION_FULL};
static const BurnRecordConfig bin_gzip_full = {BURN_RECORD_BIN_GZ, BURN_PRECISION_FULL};
static const BurnRecordConfig gzip_full = {BURN_RECORD_MPK_GZ, BURN_PRECISION_FULL};

/* -- helpers ---------------------------------------------------------------------------------- */

typedef struct Path {
  char text[128];
} Path;

static Path path_in(const Fixture *fixture, const char *name) {
  Path path;
  (void)snprintf(path.text, sizeof path.text, "%s/%s", fixture->folder, name);
  return path;
}

typedef struct Bytes {
  uint8_t data[8192];
  size_t count;
} Bytes;

static Bytes file_read(const char *path) {
  Bytes bytes;
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  bytes.count = fread(bytes.data, 1, sizeof bytes.data, file);
  assert_int_equal(fclose(file), 0);
  assert_true(bytes.count < sizeof bytes.data);
  return bytes;
}

/* A new file each time: some file systems flush one that is cut and written anew, and this is done thousands of times.
 */
static void file_write(const char *path, const uint8_t *data, size_t count) {
  (void)unlink(path);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, count, file), count);
  assert_int_equal(fclose(file), 0);
}

/* The message without "load <path>: ". */
static const char *reason(BurnStatus status, const char *path) {
  const char *message = burn_status_message(status), *found = strstr(message, path);
  return found ? found + strlen(path) + 2 : message;
}

/* splitmix64 */
static uint64_t next_random(uint64_t *state) {
  uint64_t x = *state += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/* MessagePack written by hand. */
static void put_raw(Bytes *bytes, const void *data, size_t count) {
  assert_true(bytes->count + count < sizeof bytes->data);
  memcpy(bytes->data + bytes->count, data, count);
  bytes->count += count;
}
static void put_byte(Bytes *bytes, unsigned value) { put_raw(bytes, &(uint8_t){(uint8_t)value}, 1); }
static void put_text(Bytes *bytes, const char *text) {
  size_t length = strlen(text);
  if (length < 32) {
    put_byte(bytes, 0xa0 + (unsigned)length);
  } else {
    put_byte(bytes, 0xd9);
    put_byte(bytes, (unsigned)length);
  }
  put_raw(bytes, text, length);
}

/* Everything before the item, as Burn writes it. */
static void put_front(Bytes *bytes, const char *float_name, const char *int_name, const char *recorder,
                      const char *settings) {
  char format[160];
  (void)snprintf(format, sizeof format, "burn_core::record::file::%s<burn_core::record::settings::%s>", recorder,
                 settings);
  const char *const texts[] = {"float", float_name, "int",    int_name,   "format",
                               format,  "version",  "0.20.1", "settings", settings};
  bytes->count = 0;
  put_byte(bytes, 0x83);
  put_text(bytes, "metadata");
  put_byte(bytes, 0x85);
  for (size_t i = 0; i < 10; i++) put_text(bytes, texts[i]);
  put_text(bytes, "item");
}

static void put_full_front(Bytes *bytes) {
  put_front(bytes, "f32", "i32", "NamedMpkFileRecorder", "FullPrecisionSettings");
}

static void put_back(Bytes *bytes) {
  put_text(bytes, "_b");
  put_byte(bytes, 0x90);
}

/* Offset of the item in bytes that put_front has begun: after its key. */
static size_t item_offset(const Bytes *bytes) {
  for (size_t i = 0; i + 5 < bytes->count; i++) {
    if (memcmp(bytes->data + i, "\xa4item", 5) == 0) return i + 5;
  }
  fail_msg("no item");
  return 0;
}

/* A whole record of Burn's layout becomes ours: a sixth entry of the metadata has the checksum of the item. */
static Bytes with_checksum(const Bytes *bytes) {
  const size_t item = item_offset(bytes), item_bytes = bytes->count - 4 - item; /* after it "_b" and its empty array */
  char checksum[24];
  Bytes ours = {{0}, 0};
  (void)snprintf(checksum, sizeof checksum, "crc32:%08lx", crc32(0, bytes->data + item, (uInt)item_bytes));
  put_raw(&ours, bytes->data, item - 5);
  assert_int_equal(ours.data[1 + 9], 0x85);
  ours.data[1 + 9] = 0x86;
  put_text(&ours, "checksum");
  put_text(&ours, checksum);
  put_raw(&ours, bytes->data + item - 5, bytes->count - item + 5);
  return ours;
}

/* A tensor of the four bytes of 1.0f, with a shape and dtype of the caller. */
static void put_tensor(Bytes *bytes, unsigned byte_count, const void *data, unsigned rank, const uint8_t *shape,
                       const char *dtype) {
  put_byte(bytes, 0x83);
  put_text(bytes, "bytes");
  put_byte(bytes, 0xc4);
  put_byte(bytes, byte_count);
  put_raw(bytes, data, byte_count);
  put_text(bytes, "shape");
  put_byte(bytes, 0x90 + rank);
  put_raw(bytes, shape, rank);
  put_text(bytes, "dtype");
  put_text(bytes, dtype);
}

/* -- exact bytes ------------------------------------------------------------------------------ */

/* clang-format off */
#define SMALL_FIELDS(X)                    \
  X(BurnParam, weight, "[2, 1]")           \
  X(BurnParam, bias, "absent")             \
  X(BurnSize2, stride, "array of two nils")\
  X(Drop, drop, "nil")                     \
  X(BurnBuffer, mask, "[3] bools")         \
  X(BurnModuleList, list, "of Lookup")
BURN_MODULE(Small, SMALL_FIELDS);
/* clang-format on */

static Small small_make(BurnDevice *device) {
  const float weight[] = {1, -2};
  const bool mask[] = {true, false, true};
  const int64_t table[] = {-1};
  Small small = {.weight = burn_param(burn_tensor_f32(device, weight, BURN_SHAPE(2, 1))),
                 .mask = burn_buffer(burn_tensor_bool(device, mask, BURN_SHAPE(3))),
                 .list = burn_module_list(Lookup_type(), 1)};
  small.weight.id = 0x0123456789abcdefu;
  Lookup *lookup = burn_module_list_at(&small.list, 0);
  lookup->table = (BurnParam){.value = burn_tensor_i64(device, table, BURN_SHAPE(1)), .id = 1};
  check_status(burn_module_status(burn_module(Small, &small)));
  return small;
}

static void test_exact_bytes(void **state) {
  Fixture *fixture = *state;
  Small small = small_make(fixture->plain);
  Path path = path_in(fixture, "small.mpk");
  Bytes expected;
  check_status(burn_record_save(burn_module(Small, &small), path.text, NULL));
  Bytes found = file_read(path.text);
  put_full_front(&expected);
  put_byte(&expected, 0x86);
  put_text(&expected, "weight");
  put_byte(&expected, 0x82);
  put_text(&expected, "id");
  put_text(&expected, "tv6qn2b78khg2"); /* bytes ef cd ab 89 67 45 23 01 */
  put_text(&expected, "param");
  put_tensor(&expected, 8, "\x00\x00\x80\x3f\x00\x00\x00\xc0", 2, (const uint8_t[]){2, 1}, "F32");
  put_text(&expected, "bias");
  put_byte(&expected, 0xc0);
  put_text(&expected, "stride");
  put_raw(&expected, "\x92\xc0\xc0", 3);
  put_text(&expected, "drop");
  put_byte(&expected, 0xc0);
  put_text(&expected, "mask");
  put_byte(&expected, 0x82);
  put_text(&expected, "id");
  size_t mask_id = expected.count + 1;
  put_text(&expected, "0000000000000"); /* random: copied below */
  put_text(&expected, "param");
  put_tensor(&expected, 3, "\x01\x00\x01", 1, (const uint8_t[]){3}, "Bool");
  put_text(&expected, "list");
  put_byte(&expected, 0x91);
  put_byte(&expected, 0x81);
  put_text(&expected, "table");
  put_byte(&expected, 0x82);
  put_text(&expected, "id");
  put_text(&expected, "0400000000000");
  put_text(&expected, "param");
  put_tensor(&expected, 4, "\xff\xff\xff\xff", 1, (const uint8_t[]){1}, "I32");
  put_back(&expected);
  size_t added = found.count - expected.count; /* the checksum, before the item */
  for (size_t i = 0; i < 13; i++)
    assert_non_null(strchr("0123456789abcdefghijklmnopqrstuv", found.data[mask_id + added + i]));
  memcpy(expected.data + mask_id, found.data + mask_id + added, 13);
  Bytes of_burn = expected;
  expected = with_checksum(&expected);
  assert_int_equal(found.count, expected.count);
  assert_memory_equal(found.data, expected.data, expected.count);
  file_write(path.text, of_burn.data, of_burn.count); /* Burn writes no checksum */
  check_status(burn_record_load(burn_module(Small, &small), path.text, NULL));
  Small_release(&small);
  assert_int_equal(unlink(path.text), 0);
}

static void test_ids(void **state) {
  (void)state;
  char text[14];
  burn_param_id_text(0, text);
  assert_string_equal(text, "0000000000000");
  burn_param_id_text(UINT64_MAX, text);
  assert_string_equal(text, "vvvvvvvvvvvvu");
  burn_param_id_text(0x0123456789abcdefu, text);
  assert_string_equal(text, "tv6qn2b78khg2");
}

static void test_metadata_of_other_settings(void **state) {
  Fixture *fixture = *state;
  const struct {
    BurnRecordConfig config;
    const char *float_name, *int_name, *recorder, *settings;
  } cases[] = {
      {{BURN_RECORD_MPK, BURN_PRECISION_HALF},
       "half::binary16::f16",
       "i16",
       "NamedMpkFileRecorder",
       "HalfPrecisionSettings"},
      {{BURN_RECORD_MPK, BURN_PRECISION_DOUBLE}, "f64", "i64", "NamedMpkFileRecorder", "DoublePrecisionSettings"}};
  for (size_t i = 0; i < 2; i++) {
    Path path = path_in(fixture, "settings.mpk");
    BurnValue *nil = burn_value_nil();
    Bytes expected;
    check_status(burn_value_write(nil, path.text, &cases[i].config));
    Bytes found = file_read(path.text);
    put_front(&expected, cases[i].float_name, cases[i].int_name, cases[i].recorder, cases[i].settings);
    put_byte(&expected, 0xc0);
    put_back(&expected);
    expected = with_checksum(&expected);
    assert_int_equal(found.count, expected.count);
    assert_memory_equal(found.data, expected.data, found.count);
    burn_value_destroy(nil);
    assert_int_equal(unlink(path.text), 0);
  }
}

/* -- round trips ------------------------------------------------------------------------------ */

static void test_module_round_trips(void **state) {
  Fixture *fixture = *state;
  const struct {
    BurnRecordConfig config;
    const char *file;
  } cases[] = {{{BURN_RECORD_MPK, BURN_PRECISION_FULL}, "net.mpk"},
               {{BURN_RECORD_MPK, BURN_PRECISION_DOUBLE}, "net.mpk"},
               {{BURN_RECORD_MPK_GZ, BURN_PRECISION_FULL}, "net.mpk.gz"},
               {{BURN_RECORD_MPK_GZ, BURN_PRECISION_HALF}, "net.mpk.gz"}};
  Path stem = path_in(fixture, "net.x"); /* the extension is replaced */
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    Net net = net_make(fixture->training, 1), other = net_make(fixture->training, 2);
    if (cases[i].config.precision == BURN_PRECISION_HALF) {
      const int32_t small[] = {1, 2, 3, -4};
      burn_param_set(&net.lookup.table, burn_tensor_i32(fixture->training, small, BURN_SHAPE(4)));
    }
    NetDump wanted = net_dump(&net), found;
    check_status(burn_record_save(burn_module(Net, &net), stem.text, &cases[i].config));
    check_status(burn_record_load(burn_module(Net, &other), stem.text, &cases[i].config));
    found = net_dump(&other);
    assert_true(same_values(&wanted, &found)); /* eighths below 256 are exact in f16 too */
    assert_memory_equal(wanted.ids, found.ids, sizeof wanted.ids);
    assert_true(burn_is_require_grad(other.dense.weight.value));
    assert_int_equal(burn_dtype(other.dense.weight.value), BURN_DTYPE_F32);
    assert_int_equal(unlink(path_in(fixture, cases[i].file).text), 0);
    Net_release(&net);
    Net_release(&other);
  }
}

static void test_frozen_module_stays_frozen(void **state) {
  Fixture *fixture = *state;
  Path path = path_in(fixture, "frozen.mpk");
  Dense dense = dense_make(fixture->training, 1, true);
  burn_module_no_grad(burn_module(Dense, &dense));
  check_status(burn_record_save(burn_module(Dense, &dense), path.text, NULL));
  check_status(burn_record_load(burn_module(Dense, &dense), path.text, NULL));
  assert_false(burn_is_require_grad(dense.weight.value));
  Dense_release(&dense);
  assert_int_equal(unlink(path.text), 0);
}

static void test_value_tree_round_trip(void **state) {
  Fixture *fixture = *state;
  Path path = path_in(fixture, "tree.mpk");
  const int64_t integers[] = {0,    -1,    127,   128,    -32,       -33,       -128,
                              -129, 65535, 65536, -32769, INT32_MIN, INT64_MAX, INT64_MIN};
  BurnValue *tree = burn_value_map(), *array = burn_value_array(), *back = NULL;
  for (size_t i = 0; i < 14; i++) assert_true(burn_value_append(array, burn_value_int(integers[i])));
  assert_true(burn_value_set(tree, "integers", array));
  assert_true(burn_value_set(tree, "yes", burn_value_bool(true)));
  assert_true(burn_value_set(tree, "rate", burn_value_float(0.1)));
  assert_true(burn_value_set(tree, "name", burn_value_text("a longer text than thirty-one bytes, so str8")));
  assert_true(burn_value_set(tree, "nothing", burn_value_nil()));
  assert_true(burn_value_set(tree, "moment", burn_value_tensor(ramp(fixture->plain, 3, BURN_SHAPE(2, 2)))));
  assert_true(burn_value_set(tree, "yes", burn_value_bool(false))); /* replaces */
  check_status(burn_value_write(tree, path.text, &plain_full));
  check_status(burn_value_read(path.text, &plain_full, &back));
  assert_int_equal(burn_value_count(back), 6);
  for (size_t i = 0; i < 14; i++) {
    assert_true(burn_value_as_int(burn_value_at(burn_value_get(back, "integers"), i), 5) == integers[i]);
  }
  assert_string_equal(burn_value_key_at(back, 1), "yes"); /* in order */
  assert_false(burn_value_as_bool(burn_value_get(back, "yes"), true));
  assert_true(burn_value_as_float(burn_value_get(back, "rate"), 0) == 0.1);
  assert_string_equal(burn_value_as_text(burn_value_get(back, "name"), ""),
                      "a longer text than thirty-one bytes, so str8");
  assert_int_equal(burn_value_kind(burn_value_get(back, "nothing")), BURN_VALUE_NIL);
  float moment[4] = {0};
  check_status(burn_read_f32(burn_value_as_tensor(burn_value_get(back, "moment"), fixture->plain), moment, 4));
  assert_true(moment[0] == 3.0f && moment[3] == 3.375f);
  BurnTensor *none = burn_value_as_tensor(burn_value_get(back, "rate"), fixture->plain);
  assert_int_equal(burn_status_code(burn_tensor_status(none)), BURN_STATUS_INVALID_ARGUMENT);
  burn_drop(none);
  burn_value_destroy(tree);
  burn_value_destroy(back);
  assert_int_equal(unlink(path.text), 0);
}

static void test_failed_parts_are_never_written(void **state) {
  Fixture *fixture = *state;
  Path path = path_in(fixture, "broken.mpk");
  BurnValue *tree = burn_value_map(), *inner = burn_value_array();
  BurnTensor *failed = burn_tensor_failed(burn_status_make(BURN_STATUS_CANCELLED, "no"));
  assert_false(burn_value_append(inner, burn_value_tensor(failed)));
  assert_false(burn_value_append(NULL, burn_value_nil()));
  assert_false(burn_value_set(inner, "key", burn_value_nil())); /* no map */
  assert_true(burn_value_set(tree, "inner", inner));
  BurnStatus status = burn_value_write(tree, path.text, NULL);
  assert_int_equal(burn_status_code(status), BURN_STATUS_FAILED_PRECONDITION);
  assert_int_equal(burn_status_code(burn_value_write(NULL, path.text, NULL)), BURN_STATUS_FAILED_PRECONDITION);
  assert_int_not_equal(access(path.text, F_OK), 0);
  burn_value_destroy(tree);
}

static void test_values_that_do_not_fit_the_precision(void **state) {
  Fixture *fixture = *state;
  const BurnRecordConfig half = {BURN_RECORD_MPK, BURN_PRECISION_HALF};
  Path path = path_in(fixture, "half.mpk");
  Dense dense = dense_make(fixture->plain, 70000, true);
  Net net = net_make(fixture->plain, 0);
  BurnStatus status = burn_record_save(burn_module(Dense, &dense), path.text, &half);
  assert_int_equal(burn_status_code(status), BURN_STATUS_OUT_OF_RANGE);
  assert_string_equal(reason(status, path.text), "weight: param: 70000 at position 0 does not fit f16");
  status = burn_record_save(burn_module(Net, &net), path.text, &half);
  assert_string_equal(reason(status, path.text), "lookup: table: param: 70000 at position 2 does not fit i16");
  assert_int_not_equal(access(path.text, F_OK), 0);
  Dense_release(&dense);
  Net_release(&net);
}

/* -- refused files ---------------------------------------------------------------------------- */

static void assert_load_fails(Net *net, BurnValue *record, const char *message) {
  NetDump before = net_dump(net), after;
  BurnStatus status = burn_value_into_module(record, burn_module(Net, net));
  assert_string_equal(burn_status_message(status), message);
  after = net_dump(net);
  assert_true(same_values(&before, &after)); /* nothing changed */
  assert_memory_equal(before.ids, after.ids, sizeof before.ids);
}

static void test_structure_is_checked(void **state) {
  Fixture *fixture = *state;
  Net net = net_make(fixture->training, 1), other = net_make(fixture->training, 2);
  Dense wide = {burn_param(ramp(fixture->plain, 0, BURN_SHAPE(2, 4))),
                burn_param(ramp(fixture->plain, 0, BURN_SHAPE(3)))};
  BurnModule module = burn_module(Net, &net);
  BurnValue *record = burn_value_module(module);
  assert_true(burn_value_set(record, "tail", burn_value_module(burn_module(Dense, &wide))));
  assert_load_fails(&other, record, "tail.weight: shape [2,3] expected, file has [2,4]");
  assert_true(burn_value_set(record, "tail", burn_value_module(burn_module(Dense, &net.dense))));
  assert_load_fails(&other, record, "tail.bias: in the file, not in the module");
  assert_true(burn_value_set(record, "tail", burn_value_nil()));
  assert_load_fails(&other, record, "tail: fields of Dense expected, file has nil");
  assert_int_equal(burn_status_code(burn_value_into_module(record, burn_module(Net, &other))), BURN_STATUS_NOT_FOUND);
  assert_true(burn_value_set(record, "tail", burn_value_int(3)));
  assert_load_fails(&other, record, "tail: fields of Dense expected, file has an integer");
  assert_int_equal(burn_status_code(burn_value_into_module(record, burn_module(Net, &other))),
                   BURN_STATUS_CORRUPT_DATA);
  burn_value_destroy(record);
  record = burn_value_module(module);
  assert_true(burn_value_set(record, "dense", burn_value_module(burn_module(Dense, &net.tail))));
  assert_load_fails(&other, record, "dense.bias: in the module, not in the file");
  burn_value_destroy(record);
  record = burn_value_module(module);
  assert_true(burn_value_set(record, "blocks", burn_value_array()));
  assert_load_fails(&other, record, "blocks: 2 modules expected, file has 0");
  burn_value_destroy(record);
  record = burn_value_module(module);
  assert_true(burn_value_set(record, "lookup", burn_value_module(burn_module(Lookup, &(Lookup){net.dense.bias}))));
  assert_load_fails(&other, record, "lookup.table: shape [4] expected, file has [3]");
  burn_value_destroy(record);
  record = burn_value_module(module);
  assert_true(burn_value_set(record, "extra", burn_value_text("ignored")));
  check_status(burn_value_into_module(record, burn_module(Net, &other)));
  assert_true(burn_value_set(record, "extra", burn_value_module(burn_module(Dense, &wide))));
  assert_load_fails(&other, record, "extra: weights in the file, none in the module");
  burn_value_destroy(record);
  Dense_release(&wide);
  Net_release(&net);
  Net_release(&other);
}

static void test_load_names_the_file(void **state) {
  Fixture *fixture = *state;
  Path path = path_in(fixture, "wide.mpk");
  Dense wide = {burn_param(ramp(fixture->plain, 0, BURN_SHAPE(2, 4))),
                burn_param(ramp(fixture->plain, 0, BURN_SHAPE(3)))};
  Dense dense = dense_make(fixture->plain, 0, true);
  char message[256];
  check_status(burn_record_save(burn_module(Dense, &wide), path.text, NULL));
  BurnStatus status = burn_record_load(burn_module(Dense, &dense), path.text, NULL);
  (void)snprintf(message, sizeof message, "load %s: weight: shape [2,3] expected, file has [2,4]", path.text);
  assert_string_equal(burn_status_message(status), message);
  assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_SHAPE);
  assert_int_equal(unlink(path.text), 0);
  status = burn_record_load(burn_module(Dense, &dense), path.text, NULL);
  assert_int_equal(burn_status_code(status), BURN_STATUS_NOT_FOUND);
  status = burn_record_save(burn_module(Dense, &dense), fixture->folder, &(BurnRecordConfig){7, 0});
  assert_non_null(strstr(burn_status_message(status), "record format 7 is unknown"));
  Path nameless = path_in(fixture, "");
  assert_non_null(
      strstr(burn_status_message(burn_record_save(burn_module(Dense, &dense), nameless.text, NULL)), "names no file"));
  Dense_release(&wide);
  Dense_release(&dense);
}

/* Decodes a file whose item is `item` and returns the reason why it was refused. */
static void assert_item_refused(const Fixture *fixture, const Bytes *item, const char *message) {
  Path path = path_in(fixture, "hostile.mpk");
  Bytes file;
  BurnValue *value = NULL;
  put_full_front(&file);
  put_raw(&file, item->data, item->count);
  put_back(&file);
  file_write(path.text, file.data, file.count);
  BurnStatus status = burn_value_read(path.text, &plain_full, &value);
  assert_null(value);
  assert_int_equal(burn_status_code(status), BURN_STATUS_CORRUPT_DATA);
  const char *found = strstr(reason(status, path.text), ": "); /* after "byte N" */
  assert_non_null(found);
  assert_string_equal(found + 2, message);
  assert_int_equal(unlink(path.text), 0);
}

#define ASSERT_RAW_REFUSED(fixture, literal, message) \
  do {                                                \
    Bytes raw = {{0}, 0};                             \
    put_raw(&raw, literal, sizeof(literal) - 1);      \
    assert_item_refused(fixture, &raw, message);      \
  } while (0)

static void test_hostile_items(void **state) {
  Fixture *fixture = *state;
  Bytes item = {{0}, 0};
  for (int i = 0; i < 200; i++) put_byte(&item, 0x91); /* arrays in arrays */
  put_byte(&item, 0xc0);
  assert_item_refused(fixture, &item, "nested too deeply");
  /* Lengths of 4 GiB with a few bytes after them ("_b" and its array). */
  ASSERT_RAW_REFUSED(fixture, "\xdd\xff\xff\xff\xff", "length 4294967295 with 4 bytes left: cut short, or damaged");
  ASSERT_RAW_REFUSED(fixture, "\xdf\xff\xff\xff\xff", "length 4294967295 with 4 bytes left: cut short, or damaged");
  ASSERT_RAW_REFUSED(fixture, "\xdb\xff\xff\xff\xff", "length 4294967295 with 4 bytes left: cut short, or damaged");
  ASSERT_RAW_REFUSED(fixture, "\xc6\xff\xff\xff\xff", "length 4294967295 with 4 bytes left: cut short, or damaged");
  ASSERT_RAW_REFUSED(fixture, "\xc1", "an extension or no MessagePack");
  ASSERT_RAW_REFUSED(fixture, "\xd4\x01\x02", "an extension or no MessagePack");
  ASSERT_RAW_REFUSED(fixture, "\xcf\xff\xff\xff\xff\xff\xff\xff\xff",
                     "an integer that does not fit 64 bits with a sign");
  ASSERT_RAW_REFUSED(fixture, "\x81\x01\xc0", "a key that is not text");
  ASSERT_RAW_REFUSED(fixture, "\x82\xa1k\xc0\xa1k\xc0", "a map with a key that stands twice");
  ASSERT_RAW_REFUSED(fixture, "\xa2x\0", "a text with a zero byte");
  ASSERT_RAW_REFUSED(fixture, "\x91\xc4\x01x", "bytes outside of a tensor");
  ASSERT_RAW_REFUSED(fixture, "\x81\xa5other\xc4\x01x", "bytes outside of a tensor");
}

static void test_hostile_tensors(void **state) {
  Fixture *fixture = *state;
  const uint8_t one[] = {1};
  const struct {
    unsigned byte_count, rank;
    uint8_t shape[9];
    const char *dtype, *message;
  } cases[] = {{4, 1, {2}, "F32", "tensor: 4 bytes do not make shape [2] of F32"},
               {3, 1, {1}, "F32", "tensor: 3 bytes do not make shape [1] of F32"},
               {4, 2, {127, 127}, "F64", "tensor: 4 bytes do not make shape [127,127] of F64"},
               {4, 0, {0}, "F32", "tensor: shape of 0 axes, 1 to 8 expected"},
               {4, 9, {1, 1, 1, 1, 1, 1, 1, 1, 1}, "F32", "tensor: shape of 9 axes, 1 to 8 expected"},
               {4, 2, {0xff, 1}, "F32", "tensor: axis 0 of the shape is not a size"}, /* -1 */
               {4, 1, {0xc0}, "F32", "tensor: axis 0 of the shape is not a size"},    /* nil */
               {4, 1, {1}, "F33", "tensor: dtype \"F33\" is not supported"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    Bytes item = {{0}, 0};
    put_tensor(&item, cases[i].byte_count, "\0\0\x80\x3f", cases[i].rank, cases[i].shape, cases[i].dtype);
    assert_item_refused(fixture, &item, cases[i].message);
  }
  /* A shape whose product wraps to 4 bytes: [2^62, 4, 1] of U8 and [0, 2^62, 8]. */
  ASSERT_RAW_REFUSED(fixture,
                     "\x83\xa5"
                     "bytes\xc4\x00\xa5shape\x92\xcf\x40\0\0\0\0\0\0\0\x04\xa5"
                     "dtype\xa2U8",
                     "tensor: 0 bytes do not make shape [4611686018427387904,4] of U8");
  ASSERT_RAW_REFUSED(fixture,
                     "\x83\xa5"
                     "bytes\xc4\x00\xa5shape\x93\x00\xcf\x40\0\0\0\0\0\0\0\x08\xa5"
                     "dtype\xa3"
                     "F32",
                     "tensor: 0 bytes do not make shape [0,4611686018427387904,8] of F32");
  Bytes quantized = {{0}, 0};
  put_tensor(&quantized, 1, one, 1, one, "QFloat");
  assert_item_refused(fixture, &quantized, "tensor: dtype \"QFloat\" is not supported");
}

/* Other dtypes of Burn files, and the spelling of bool since 0.21. */
static void test_foreign_dtypes(void **state) {
  Fixture *fixture = *state;
  const struct {
    unsigned byte_count;
    const char *data, *dtype; /* a tensor of shape [1] with the value 2 (bool: 1) */
    BurnDType expected;
    double value;
  } cases[] = {{4, "\0\0\0\x40", "Flex32", BURN_DTYPE_F32, 2},
               {8, "\2\0\0\0\0\0\0\0", "U64", BURN_DTYPE_I64, 2},
               {4, "\xff\xff\xff\xff", "U32", BURN_DTYPE_I64, 4294967295.0},
               {2, "\xff\xff", "U16", BURN_DTYPE_I32, 65535},
               {1, "\xff", "U8", BURN_DTYPE_U8, 255},
               {1, "\1", "Bool", BURN_DTYPE_BOOL, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    Path path = path_in(fixture, "foreign.mpk");
    Bytes file;
    BurnValue *value = NULL;
    double found = 0;
    put_full_front(&file);
    put_tensor(&file, cases[i].byte_count, cases[i].data, 1, (const uint8_t[]){1}, cases[i].dtype);
    put_back(&file);
    file_write(path.text, file.data, file.count);
    check_status(burn_value_read(path.text, NULL, &value));
    BurnTensor *tensor = burn_value_as_tensor(value, fixture->plain);
    assert_int_equal(burn_dtype(tensor), cases[i].expected);
    check_status(burn_read_f64(tensor, &found, 1));
    assert_true(found == cases[i].value);
    burn_value_destroy(value);
    assert_int_equal(unlink(path.text), 0);
  }
}

static void test_bool_map_dtype(void **state) {
  Fixture *fixture = *state;
  Path path = path_in(fixture, "bool.mpk");
  static const char item[] =
      "\x83\xa5"
      "bytes\xc4\x08\0\1\0\0\0\0\0\0\xa5shape\x91\x02\xa5"
      "dtype\x81\xa4"
      "Bool\xa3U32";
  Bytes file;
  BurnValue *value = NULL;
  double found[2] = {9, 9};
  put_full_front(&file);
  put_raw(&file, item, sizeof item - 1);
  put_back(&file);
  file_write(path.text, file.data, file.count);
  check_status(burn_value_read(path.text, NULL, &value));
  check_status(burn_read_f64(burn_value_as_tensor(value, fixture->plain), found, 2));
  assert_true(found[0] == 1 && found[1] == 0);
  burn_value_destroy(value);
  assert_int_equal(unlink(path.text), 0);
}

static void test_wrong_format(void **state) {
  Fixture *fixture = *state;
  Path path = path_in(fixture, "a.mpk"), packed = path_in(fixture, "a.mpk.gz");
  BurnValue *nil = burn_value_nil(), *back = NULL;
  check_status(burn_value_write(nil, path.text, &plain_full));
  check_status(burn_value_write(nil, path.text, &gzip_full));
  Bytes plain_bytes = file_read(path.text), packed_bytes = file_read(packed.text);
  file_write(path.text, packed_bytes.data, packed_bytes.count);
  file_write(packed.text, plain_bytes.data, plain_bytes.count);
  assert_string_equal(reason(burn_value_read(path.text, &plain_full, &back), path.text),
                      "byte 0: gzip where plain MessagePack was expected");
  assert_int_equal(burn_status_code(burn_value_read(packed.text, &gzip_full, &back)), BURN_STATUS_CORRUPT_DATA);
  file_write(packed.text, packed_bytes.data, packed_bytes.count);
  packed_bytes.data[packed_bytes.count] = 'x';
  file_write(packed.text, packed_bytes.data, packed_bytes.count + 1);
  assert_non_null(
      strstr(burn_status_message(burn_value_read(packed.text, &gzip_full, &back)), "1 bytes after the end"));
  assert_null(back);
  burn_value_destroy(nil);
  assert_int_equal(unlink(path.text), 0);
  assert_int_equal(unlink(packed.text), 0);
}

/* -- damaged files ---------------------------------------------------------------------------- */

/* The file of a net and what it holds. */
static Bytes saved_net(Fixture *fixture, const char *path, const BurnRecordConfig *config, NetDump *dump) {
  Net net = net_make(fixture->plain, 1);
  *dump = net_dump(&net);
  check_status(burn_record_save(burn_module(Net, &net), path, config));
  Net_release(&net);
  return file_read(path);
}

static void truncate_everywhere(Fixture *fixture, const char *name, const BurnRecordConfig *config) {
  Path path = path_in(fixture, name);
  NetDump saved, before, after;
  Bytes bytes = saved_net(fixture, path.text, config, &saved);
  Net net = net_make(fixture->plain, 2);
  before = net_dump(&net);
  for (size_t length = 0; length < bytes.count; length++) {
    file_write(path.text, bytes.data, length);
    BurnStatus status = burn_record_load(burn_module(Net, &net), path.text, config);
    if (burn_status_code(status) != BURN_STATUS_CORRUPT_DATA)
      fail_msg("%zu bytes: %s", length, burn_status_message(status));
    if (!strstr(burn_status_message(status), "byte ")) fail_msg("no offset: %s", burn_status_message(status));
  }
  after = net_dump(&net);
  assert_true(same_values(&before, &after));
  Net_release(&net);
  assert_int_equal(unlink(path.text), 0);
}

static void test_truncated_anywhere(void **state) {
  truncate_everywhere(*state, "cut.mpk", &plain_full);
  truncate_everywhere(*state, "cut.mpk.gz", &gzip_full);
  truncate_everywhere(*state, "cut.bin", &bin_full);
  truncate_everywhere(*state, "cut.bin.gz", &bin_gzip_full);
  truncate_everywhere(*state, "cut.json.gz", &json_gzip_full);
}

/* Loads after each of 2000 flips: a failure leaves the net as it was. Returns how many loads succeeded: those must have
 * read the very values that were saved (the checksum covers the item, gzip's CRC all but a few bytes of its header). */
static size_t flip_bits(Fixture *fixture, const char *name, const BurnRecordConfig *config) {
  Path path = path_in(fixture, name);
  NetDump saved;
  Bytes bytes = saved_net(fixture, path.text, config, &saved);
  uint64_t random = 42;
  size_t loaded = 0;
  for (int i = 0; i < 2000; i++) {
    size_t bit = (size_t)(next_random(&random) % (bytes.count * 8));
    Net net = net_make(fixture->plain, 2);
    NetDump before = net_dump(&net), after;
    bytes.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    file_write(path.text, bytes.data, bytes.count);
    BurnStatus status = burn_record_load(burn_module(Net, &net), path.text, config);
    bytes.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    after = net_dump(&net);
    if (status == BURN_OK) {
      loaded++;
      if (!same_values(&saved, &after)) fail_msg("bit %zu: other values were read", bit);
    } else if (!same_values(&before, &after)) {
      fail_msg("bit %zu: half loaded", bit);
    }
    Net_release(&net);
  }
  assert_int_equal(unlink(path.text), 0);
  return loaded;
}

/* One bit of the item, or a checksum of a kind that we do not know. */
static void test_wrong_checksum(void **state) {
  Fixture *fixture = *state;
  Path path = path_in(fixture, "checksum.mpk");
  NetDump saved;
  BurnValue *value = NULL;
  char message[160];
  Bytes bytes = saved_net(fixture, path.text, &plain_full, &saved), broken = bytes;
  size_t item = item_offset(&bytes), stated = item - 5 - 14;
  broken.data[bytes.count - 30] ^= 1;
  file_write(path.text, broken.data, broken.count);
  BurnStatus status = burn_value_read(path.text, &plain_full, &value);
  (void)snprintf(message, sizeof message, "the file is damaged: checksum %.14s expected, found crc32:%08lx",
                 (const char *)bytes.data + stated, crc32(0, broken.data + item, (uInt)(bytes.count - 4 - item)));
  assert_string_equal(reason(status, path.text), message);
  assert_int_equal(burn_status_code(status), BURN_STATUS_CORRUPT_DATA);
  memcpy(bytes.data + stated, "crc99:", 6);
  file_write(path.text, bytes.data, bytes.count);
  status = burn_value_read(path.text, &plain_full, &value);
  assert_non_null(strstr(burn_status_message(status), "checksum crc99:"));
  assert_null(value);
  assert_int_equal(unlink(path.text), 0);
}

static void test_twins_are_refused(void **state) {
  Fixture *fixture = *state;
  Path path = path_in(fixture, "twins.mpk");
  Net net = net_make(fixture->plain, 1);
  NetDump before = net_dump(&net);
  uint64_t own = net.tail.weight.id;
  char id[14], message[160];
  burn_param_id_text(net.dense.weight.id, id);
  (void)snprintf(message, sizeof message,
                 "dense.weight and tail.weight have the same id, %s; an id belongs to one tensor", id);
  net.tail.weight.id = net.dense.weight.id;
  BurnValue *record = burn_value_module(burn_module(Net, &net));
  BurnStatus status = burn_record_save(burn_module(Net, &net), path.text, NULL);
  assert_non_null(strstr(burn_status_message(status), message));
  assert_int_not_equal(access(path.text, F_OK), 0);
  net.tail.weight.id = own;
  assert_load_fails(&net, record, message);
  NetDump after = net_dump(&net);
  assert_true(same_values(&before, &after));
  burn_value_destroy(record);
  Net_release(&net);
}

static void test_flipped_bits(void **state) {
  size_t plain = flip_bits(*state, "flip.mpk", &plain_full);
  size_t packed = flip_bits(*state, "flip.mpk.gz", &gzip_full);
  assert_in_range(plain, 1, 500); /* names in the metadata that nobody looks for */
  assert_in_range(packed, 0, 200);
}

/* -- atomic writing --------------------------------------------------------------------------- */

#if !defined(_WIN32) /* limits of a process, permissions and links are those of POSIX */
/* Writing stops after 100 bytes; this works for root too, who ignores the permissions of folders. */
static void test_failing_write_keeps_the_old_file(void **state) {
  Fixture *fixture = *state;
  Path path = path_in(fixture, "kept.mpk");
  Net net = net_make(fixture->plain, 1);
  struct rlimit old, small;
  check_status(burn_record_save(burn_module(Net, &net), path.text, NULL));
  Bytes before = file_read(path.text);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  small = old;
  small.rlim_cur = 100;
  assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  BurnStatus status = burn_record_save(burn_module(Net, &net), path.text, NULL);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
  assert_int_equal(burn_status_code(status), BURN_STATUS_IO);
  assert_string_equal(reason(status, path.text), "cannot write: File too large");
  Bytes after = file_read(path.text);
  assert_int_equal(before.count, after.count);
  assert_memory_equal(before.data, after.data, before.count);
  Net_release(&net);
  assert_int_equal(unlink(path.text), 0); /* the folder is empty then: the teardown sees a temporary file */
}

static void test_read_only_folder(void **state) {
  Fixture *fixture = *state;
  if (geteuid() == 0) skip(); /* root may write everywhere */
  Path folder = path_in(fixture, "locked"), path = path_in(fixture, "locked/kept.mpk");
  BurnValue *nil = burn_value_nil();
  assert_int_equal(mkdir(folder.text, 0700), 0);
  check_status(burn_value_write(nil, path.text, NULL));
  assert_int_equal(chmod(folder.text, 0500), 0);
  assert_int_equal(burn_status_code(burn_value_write(nil, path.text, NULL)), BURN_STATUS_IO);
  assert_int_equal(access(path.text, R_OK), 0);
  assert_int_equal(chmod(folder.text, 0700), 0);
  assert_int_equal(unlink(path.text), 0);
  assert_int_equal(rmdir(folder.text), 0);
  burn_value_destroy(nil);
}

static void test_symbolic_links_are_followed(void **state) {
  Fixture *fixture = *state;
  Path target = path_in(fixture, "target.mpk"), link = path_in(fixture, "link.mpk");
  BurnValue *nil = burn_value_nil();
  struct stat found;
  file_write(target.text, (const uint8_t *)"old", 3);
  assert_int_equal(symlink(target.text, link.text), 0);
  check_status(burn_value_write(nil, link.text, NULL));
  assert_int_equal(lstat(link.text, &found), 0);
  assert_true(S_ISLNK(found.st_mode));
  assert_true(file_read(target.text).count > 100);
  burn_value_destroy(nil);
  assert_int_equal(unlink(link.text), 0);
  assert_int_equal(unlink(target.text), 0);
}
#endif

static void test_failed_module_is_not_saved(void **state) {
  Fixture *fixture = *state;
  Path path = path_in(fixture, "failed.mpk");
  Dense dense = {burn_param(burn_tensor_failed(burn_status_make(BURN_STATUS_CANCELLED, "no weights"))),
                 {.value = NULL}};
  BurnStatus status = burn_record_save(burn_module(Dense, &dense), path.text, NULL);
  assert_string_equal(reason(status, path.text), "weight: no weights");
  Net net = net_make(fixture->plain, 1); /* one in the middle of a list */
  Block *block = burn_module_list_at(&net.blocks, 1);
  burn_buffer_set(&block->norm.running_mean, burn_tensor_failed(burn_status_make(BURN_STATUS_CANCELLED, "no mean")));
  status = burn_record_save(burn_module(Net, &net), path.text, NULL);
  assert_string_equal(reason(status, path.text), "blocks.1.norm.running_mean: no mean");
  Net_release(&net);
  assert_int_not_equal(access(path.text, F_OK), 0);
  Dense_release(&dense);
}

/* Fails if a test left a file, temporary ones included. */
static int teardown(void **state) {
  Fixture *fixture = *state;
  burn_device_close(fixture->plain);
  burn_device_close(fixture->training);
  return rmdir(fixture->folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_exact_bytes),
    cmocka_unit_test(test_ids),
    cmocka_unit_test(test_metadata_of_other_settings),
    cmocka_unit_test(test_module_round_trips),
    cmocka_unit_test(test_frozen_module_stays_frozen),
    cmocka_unit_test(test_value_tree_round_trip),
    cmocka_unit_test(test_failed_parts_are_never_written),
    cmocka_unit_test(test_values_that_do_not_fit_the_precision),
    cmocka_unit_test(test_structure_is_checked),
    cmocka_unit_test(test_load_names_the_file),
    cmocka_unit_test(test_hostile_items),
    cmocka_unit_test(test_hostile_tensors),
    cmocka_unit_test(test_foreign_dtypes),
    cmocka_unit_test(test_bool_map_dtype),
    cmocka_unit_test(test_wrong_format),
    cmocka_unit_test(test_truncated_anywhere),
    cmocka_unit_test(test_wrong_checksum),
    cmocka_unit_test(test_twins_are_refused),
    cmocka_unit_test(test_flipped_bits),
#if !defined(_WIN32)
    cmocka_unit_test(test_failing_write_keeps_the_old_file),
    cmocka_unit_test(test_read_only_folder),
    cmocka_unit_test(test_symbolic_links_are_followed),
#endif
    cmocka_unit_test(test_failed_module_is_not_saved),
  };
  return cmocka_run_group_tests(tests, fixture_setup, teardown);
}
