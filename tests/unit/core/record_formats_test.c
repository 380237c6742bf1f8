/* record_formats_test.c - JSON and bincode records: the bytes of Burn's recorders, round trips in every precision, what
 * is refused. The bytes are those of record_golden.h, made from the descriptions of the formats. */
#include "reflection_testing.h"

#include "record_golden.h"

#include <burn/file.h>
#include <burn/nn.h>

#include <locale.h>
#include <unistd.h>

/* The module of golden_bin. */
#define HEAD_CASES(X, Head)                \
  X(Head, BurnIdentity, Off, "no tensors") \
  X(Head, BurnLinear, Dense, "without bias")
BURN_MODULE_VARIANT(Head, HEAD_CASES);

#define MIXED_FIELDS(X)                         \
  X(BurnModuleList, convs, "two of BurnConv2d") \
  X(Head, head, "the second case")              \
  X(BurnModuleOption, option, "a linear")       \
  X(BurnModuleOption, absent, "nothing")        \
  X(BurnDropout, drop, "no tensors")            \
  X(BurnLinear, plain, "3 -> 2")
BURN_MODULE(Mixed, MIXED_FIELDS);

static BurnConv2d conv_make(bool bias, BurnDevice *device) {
  BurnConv2dConfig config = BurnConv2dConfig_defaults((BurnSize2){{1, 2}}, (BurnSize2){{1, 40}});
  config.bias = bias;
  return burn_conv2d_init(&config, device);
}

static BurnLinear linear_make(bool bias, BurnDevice *device) {
  BurnLinearConfig config = BurnLinearConfig_defaults(3, 2);
  config.bias = bias;
  return burn_linear_init(&config, device);
}

static Mixed mixed_make(BurnDevice *device) {
  BurnLinear option = linear_make(true, device);
  Mixed mixed = {.convs = burn_module_list(BurnConv2d_type(), 2),
                 .head = Head_Dense(linear_make(false, device)),
                 .drop = burn_dropout_new(0.5, device),
                 .plain = linear_make(true, device)};
  burn_module_option_set(&mixed.option, burn_module(BurnLinear, &option));
  for (size_t i = 0; i < 2; i++) *(BurnConv2d *)burn_module_list_at(&mixed.convs, i) = conv_make(i == 0, device);
  check_status(burn_module_status(burn_module(Mixed, &mixed)));
  return mixed;
}

static const BurnRecordConfig bin = {BURN_RECORD_BIN, BURN_PRECISION_FULL};
static const BurnRecordConfig json = {BURN_RECORD_JSON, BURN_PRECISION_FULL};

static void assert_number(double found, double wanted) {
  if (!(found >= wanted && found <= wanted)) fail_msg("%.17g, expected %.17g", found, wanted);
}

/* -- the bytes -------------------------------------------------------------------------------- */

/* The values that make_record_golden.py counts up. */
static void assert_counts_up(const BurnParam *param, double first) {
  double values[80];
  BurnTensor *x = burn_param_value(param);
  const size_t count = (size_t)burn_element_count(x);
  assert_true(count <= 80);
  check_status(burn_read_f64(x, values, count));
  for (size_t i = 0; i < count; i++) assert_number(values[i], first + (double)i);
}

static void test_bin_is_burns(void **state) {
  Fixture *fixture = *state;
  Mixed mixed = mixed_make(fixture->plain);
  const BurnModule module = burn_module(Mixed, &mixed);
  uint8_t *bytes = NULL;
  size_t count = 0;
  check_status(burn_record_from_bytes(module, golden_bin, sizeof golden_bin, &bin));
  const BurnConv2d *convs = mixed.convs.data;
  assert_counts_up(&convs[0].weight, 1);
  assert_counts_up(&convs[0].bias, 81);
  assert_counts_up(&convs[1].weight, 101);
  assert_counts_up(&mixed.head.as.Dense.weight, 201);
  assert_counts_up(&((BurnLinear *)mixed.option.data)->bias, 307);
  assert_counts_up(&mixed.plain.weight, 401);
  check_status(burn_record_to_bytes(module, &bin, &bytes, &count));
  assert_int_equal(count, sizeof golden_bin);
  assert_memory_equal(bytes, golden_bin, count);
  free(bytes);
  Mixed_release(&mixed);
}

/* Whitespace between all tokens of the indented form; none in the gzipped one. */
static void test_json_is_burns(void **state) {
  Fixture *fixture = *state;
  BurnLinear linear = linear_make(false, fixture->plain);
  const BurnModule module = burn_module(BurnLinear, &linear);
  uint8_t *bytes = NULL;
  size_t count = 0;
  check_status(burn_record_from_bytes(module, golden_json_compact, sizeof golden_json_compact, &json));
  assert_counts_up(&linear.weight, 1);
  check_status(burn_record_from_bytes(module, golden_json, sizeof golden_json, &json));
  assert_counts_up(&linear.weight, 1);
  check_status(burn_record_to_bytes(module, &json, &bytes, &count));
  assert_int_equal(count, sizeof golden_json);
  assert_memory_equal(bytes, golden_json, count);
  free(bytes);
  BurnLinear_release(&linear);
}

/* -- round trips ------------------------------------------------------------------------------ */

static void round_trip(Fixture *fixture, uint32_t format, uint32_t precision) {
  const BurnRecordConfig config = {format, precision};
  Net net = net_make(fixture->training, 1), other = net_make(fixture->training, 2);
  const int32_t small[] = {1, 2, 3, -4};
  uint8_t *bytes = NULL;
  size_t count = 0;
  burn_param_set(&net.lookup.table, burn_tensor_i32(fixture->training, small, BURN_SHAPE(4)));
  NetDump wanted = net_dump(&net), found;
  check_status(burn_record_to_bytes(burn_module(Net, &net), &config, &bytes, &count));
  check_status(burn_record_from_bytes(burn_module(Net, &other), bytes, count, &config));
  found = net_dump(&other);
  assert_true(same_values(&wanted, &found)); /* eighths below 256 are exact in f16 too */
  assert_memory_equal(wanted.ids, found.ids, sizeof wanted.ids);
  assert_true(burn_is_require_grad(other.dense.weight.value));
  assert_int_equal(burn_dtype(other.dense.weight.value), BURN_DTYPE_F32);
  free(bytes);
  Net_release(&net);
  Net_release(&other);
}

static void test_round_trips(void **state) {
  for (uint32_t format = BURN_RECORD_MPK; format <= BURN_RECORD_BIN_GZ; format++) {
    for (uint32_t precision = BURN_PRECISION_FULL; precision <= BURN_PRECISION_DOUBLE; precision++)
      round_trip(*state, format, precision);
  }
}

/* "net.x" is saved under `name`, and known by its content. */
static void test_files_and_names(void **state) {
  static const struct {
    uint32_t format;
    const char *name;
  } cases[] = {{BURN_RECORD_JSON, "net.json"},
               {BURN_RECORD_JSON_GZ, "net.json.gz"},
               {BURN_RECORD_BIN, "net.bin"},
               {BURN_RECORD_BIN_GZ, "net.bin.gz"}};
  Fixture *fixture = *state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const BurnRecordConfig config = {cases[i].format, BURN_PRECISION_FULL};
    char saved[128], path[128];
    uint32_t format = 99;
    BurnValue *metadata = NULL, *item = NULL;
    Net net = net_make(fixture->plain, 1);
    (void)snprintf(saved, sizeof saved, "%s/net.x", fixture->folder);
    (void)snprintf(path, sizeof path, "%s/%s", fixture->folder, cases[i].name);
    check_status(burn_record_save(burn_module(Net, &net), saved, &config));
    check_status(burn_record_load(burn_module(Net, &net), path, &config)); /* two extensions go as one */
    check_status(burn_value_read_any(path, &format, &metadata, &item));
    assert_int_equal(format, cases[i].format);
    assert_string_equal(burn_value_as_text(burn_value_get(metadata, "settings"), ""), "FullPrecisionSettings");
    assert_int_equal(burn_value_kind(item), i < 2 ? BURN_VALUE_MAP : BURN_VALUE_NIL); /* a .bin has no names */
    burn_value_destroy(metadata);
    burn_value_destroy(item);
    assert_int_equal(unlink(path), 0);
    Net_release(&net);
  }
}

/* -- values of JSON --------------------------------------------------------------------------- */

static const char top[] = "{\"metadata\": {\"version\": \"0.20.1\"}, \"_b\": null, \"item\": ";

/* Reads an item; the value is the caller's. */
static BurnStatus read_item(const Fixture *fixture, const char *item, BurnValue **out) {
  char path[128], text[2048];
  (void)snprintf(path, sizeof path, "%s/item.json", fixture->folder);
  (void)snprintf(text, sizeof text, "%s%s}", top, item);
  check_status(burn_file_write(path, text, strlen(text)));
  BurnStatus status = burn_value_read(path, &json, out);
  assert_int_equal(unlink(path), 0);
  return status;
}

static void test_values(void **state) {
  BurnValue *item = NULL;
  check_status(read_item(*state,
                         "[ null, true ,\tfalse, -7, 9223372036854775807, -9223372036854775808, 0.5, 1e3, -0, "
                         "\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\xc3\xa9\", [], {}, {\"a\": [2]} ]",
                         &item));
  assert_int_equal(burn_value_count(item), 13);
  assert_int_equal(burn_value_kind(burn_value_at(item, 0)), BURN_VALUE_NIL);
  assert_true(burn_value_as_bool(burn_value_at(item, 1), false));
  assert_false(burn_value_as_bool(burn_value_at(item, 2), true));
  assert_int_equal(burn_value_as_int(burn_value_at(item, 3), 0), -7);
  assert_true(burn_value_as_int(burn_value_at(item, 4), 0) == INT64_MAX);
  assert_true(burn_value_as_int(burn_value_at(item, 5), 0) == INT64_MIN);
  assert_number(burn_value_as_float(burn_value_at(item, 6), 0), 0.5);
  assert_int_equal(burn_value_kind(burn_value_at(item, 7)), BURN_VALUE_FLOAT);
  assert_number(burn_value_as_float(burn_value_at(item, 7), 0), 1000);
  assert_true(1 / burn_value_as_float(burn_value_at(item, 8), 1) < 0);
  assert_string_equal(burn_value_as_text(burn_value_at(item, 9), ""),
                      "a\"\\/\b\f\n\r\t\xc3\xa9\xf0\x9f\x98\x80\xc3\xa9");
  assert_int_equal(burn_value_as_int(burn_value_at(burn_value_get(burn_value_at(item, 12), "a"), 0), 0), 2);
  burn_value_destroy(item);
}

/* Only a map of exactly bytes, shape and dtype is a tensor. */
static void test_bytes_are_a_tensor_or_a_list(void **state) {
  Fixture *fixture = *state;
  BurnValue *item = NULL;
  check_status(
      read_item(fixture,
                "{\"bool\": {\"dtype\": {\"Bool\": \"Native\"}, \"bytes\": [1, 0, 1], \"shape\": [3]}, "
                "\"list\": {\"bytes\": [0, 255]}, \"more\": {\"bytes\": [1, 256], \"shape\": 1, \"dtype\": 2}}",
                &item));
  BurnTensor *tensor = burn_value_as_tensor(burn_value_get(item, "bool"), fixture->plain);
  bool values[3];
  check_status(burn_read(tensor, values, sizeof values));
  assert_true(values[0] && !values[1] && values[2]);
  const BurnValue *list = burn_value_get(burn_value_get(item, "list"), "bytes");
  assert_int_equal(burn_value_as_int(burn_value_at(list, 1), 0), 255);
  list = burn_value_get(burn_value_get(item, "more"), "bytes");
  assert_int_equal(burn_value_as_int(burn_value_at(list, 1), 0), 256);
  burn_value_destroy(item);
}

static void test_hostile_json(void **state) {
  static const struct {
    const char *item, *message;
  } cases[] = {
      {"", "byte 56: no JSON value"},
      {"[1,]", "byte 59: no JSON value"},
      {"[1 2]", "byte 59: ',' or the end of a list was expected"},
      {"01", "byte 57: ',' or the end of a list was expected"},
      {"+1", "byte 56: no JSON value"},
      {"1.", "byte 56: no JSON value"},
      {".5", "byte 56: no JSON value"},
      {"1e", "byte 56: no JSON value"},
      {"1e999", "byte 56: a number beyond f64"},
      {"NaN", "byte 56: no JSON value"},
      {"9223372036854775808", "byte 56: an integer that does not fit 64 bits with a sign"},
      {"\"\\x\"", "byte 57: an escape that JSON does not have, half a character, or a zero byte"},
      {"\"\\u0000\"", "byte 57: an escape that JSON does not have, half a character, or a zero byte"},
      {"\"\\ud800\"", "byte 57: an escape that JSON does not have, half a character, or a zero byte"},
      {"\"\\udc00\\ud800\"", "byte 57: an escape that JSON does not have, half a character, or a zero byte"},
      {"\"a\nb\"", "byte 58: a control character in a text"},
      {"\"\xff\"", "byte 56: a text that is not UTF-8"},
      {"\"\xc0\x80\"", "byte 56: a text that is not UTF-8"},
      {"\"a", "byte 56: a text without an end"},
      {"{\"a\" 1}", "byte 61: ':' was expected"},
      {"{a: 1}", "byte 57: a text was expected"},
      {"{\"a\": 1, \"a\": 2}", "byte 56: a map with a key that stands twice"},
      {"1} x", "byte 59: something after the end"},
      {"{\"bytes\": [0,0,0,0], \"shape\": [2], \"dtype\": \"F32\"}",
       "byte 56: tensor: 4 bytes do not make shape [2] of F32"},
      {"{\"bytes\": [0], \"shape\": [-1], \"dtype\": \"U8\"}", "byte 56: tensor: axis 0 of the shape is not a size"},
      {"{\"bytes\": [0], \"shape\": [1], \"dtype\": \"U9\"}", "byte 56: tensor: dtype \"U9\" is not supported"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    BurnValue *item = NULL;
    BurnStatus status = read_item(*state, cases[i].item, &item);
    const char *found = strstr(burn_status_message(status), ".json: ");
    assert_non_null(found);
    assert_string_equal(found + strlen(".json: "), cases[i].message);
    assert_null(item);
  }
}

/* JSON is nested as deeply as MessagePack, and not more. */
static void test_deep_json(void **state) {
  for (int depth = 62; depth <= 66; depth++) {
    char text[256];
    BurnValue *item = NULL;
    memset(text, '[', (size_t)depth);
    memset(text + depth, ']', (size_t)depth);
    text[2 * depth] = '\0';
    BurnStatus status = read_item(*state, text, &item);
    assert_int_equal(burn_status_code(status), depth <= 64 ? BURN_STATUS_OK : BURN_STATUS_CORRUPT_DATA);
    burn_value_destroy(item);
  }
}

/* What JSON cannot hold is refused when it is written, with its place. */
static void test_what_json_cannot_hold(void **state) {
  const Fixture *fixture = *state;
  char path[128], wanted[256];
  (void)snprintf(path, sizeof path, "%s/not.json", fixture->folder);
  BurnValue *map = burn_value_map();
  assert_true(burn_value_set(map, "rate", burn_value_float((double)NAN)));
  (void)snprintf(wanted, sizeof wanted, "save %s: rate: NaN, for which JSON has no number", path);
  assert_string_equal(burn_status_message(burn_value_write(map, path, &json)), wanted);
  assert_true(burn_value_set(map, "rate", burn_value_text("\xff")));
  (void)snprintf(wanted, sizeof wanted, "save %s: rate: a text that is not UTF-8, which JSON cannot hold", path);
  assert_string_equal(burn_status_message(burn_value_write(map, path, &json)), wanted);
  burn_value_destroy(map);
  assert_int_not_equal(access(path, F_OK), 0);
}

/* A float is read and written with a point, whatever the program's locale has. */
static void test_json_in_another_locale(void **state) {
  BurnValue *item = NULL;
  if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "C.UTF-8")) skip();
  check_status(read_item(*state, "0.25", &item));
  assert_number(burn_value_as_float(item, 0), 0.25);
  burn_value_destroy(item);
  (void)setlocale(LC_NUMERIC, "C");
}

/* -- bincode ---------------------------------------------------------------------------------- */

/* Refused with the message, and the module is as it was. */
static void assert_bin_refused(Mixed *mixed, const uint8_t *bytes, size_t count, const char *message) {
  uint8_t *before = NULL, *after = NULL;
  size_t before_count = 0, after_count = 0;
  const BurnModule module = burn_module(Mixed, mixed);
  check_status(burn_record_to_bytes(module, &bin, &before, &before_count));
  BurnStatus status = burn_record_from_bytes(module, bytes, count, &bin);
  if (message) {
    assert_string_equal(burn_status_message(status), message);
  } else {
    assert_int_equal(burn_status_code(status), BURN_STATUS_CORRUPT_DATA);
    assert_non_null(strstr(burn_status_message(status), "byte "));
  }
  check_status(burn_record_to_bytes(module, &bin, &after, &after_count));
  assert_int_equal(before_count, after_count);
  assert_memory_equal(before, after, before_count);
  free(before);
  free(after);
}

static void test_truncated_bin(void **state) {
  Fixture *fixture = *state;
  Mixed mixed = mixed_make(fixture->plain);
  for (size_t count = 0; count < sizeof golden_bin; count++) {
    uint8_t *exact = malloc(count ? count : 1); /* so that a read beyond the end is one beyond the block */
    assert_non_null(exact);
    memcpy(exact, golden_bin, count);
    assert_bin_refused(&mixed, exact, count, NULL);
    free(exact);
  }
  Mixed_release(&mixed);
}

/* A copy of golden_bin with one byte changed. */
static void assert_changed_refused(Mixed *mixed, size_t at, uint8_t byte, const char *message) {
  uint8_t bytes[sizeof golden_bin];
  memcpy(bytes, golden_bin, sizeof bytes);
  assert_int_not_equal(bytes[at], byte);
  bytes[at] = byte;
  assert_bin_refused(mixed, bytes, sizeof bytes, message);
}

static void test_hostile_bin(void **state) {
  enum { LIST = 0x82, LENGTH = 0x91, RANK = 0x1d4, DTYPE = 0x1d9, BIAS = 0x1da, STRIDE = 0x1f5 };
  Fixture *fixture = *state;
  Mixed mixed = mixed_make(fixture->plain);
  uint8_t longer[sizeof golden_bin + 1];
  memcpy(longer, golden_bin, sizeof golden_bin);
  longer[sizeof golden_bin] = 0;
  assert_bin_refused(&mixed, longer, sizeof longer, "load from bytes: byte 1043: something after the end");
  assert_changed_refused(&mixed, LIST, 3, "load from bytes: convs: byte 130: 2 modules expected, file has 3");
  assert_changed_refused(&mixed, LENGTH, 254,
                         "load from bytes: convs: 0: weight: byte 145: an integer of more than 64 bits");
  assert_changed_refused(
      &mixed, LENGTH, 253,
      "load from bytes: convs: 0: weight: byte 145: length 69818988364096 with 889 bytes left: cut short, or "
      "damaged");
  assert_changed_refused(&mixed, BIAS, 2,
                         "load from bytes: convs: 0: bias: byte 474: neither absent (0) nor present (1)");
  assert_changed_refused(&mixed, STRIDE, 1,
                         "load from bytes: convs: 0: stride: byte 501: a value where a constant has none");
  assert_changed_refused(&mixed, DTYPE, 99,
                         "load from bytes: convs: 0: weight: byte 473: a dtype that is not supported");
  assert_changed_refused(&mixed, RANK, 9, "load from bytes: convs: 0: weight: byte 468: a tensor of too many axes");
  Mixed_release(&mixed);
}

/* Burn 0.20 has other fields under the same names. */
static void test_version_of_bin(void **state) {
  Fixture *fixture = *state;
  Mixed mixed = mixed_make(fixture->plain);
  uint8_t bytes[sizeof golden_bin];
  memcpy(bytes, golden_bin, sizeof bytes);
  uint8_t *found = NULL;
  for (size_t i = 0; !found && i + 6 < sizeof bytes; i++) {
    if (memcmp(bytes + i, "0.21.0", 6) == 0) found = bytes + i;
  }
  assert_non_null(found);
  memcpy(found, "0.20.1", 6);
  assert_bin_refused(&mixed, bytes, sizeof bytes,
                     "load from bytes: a .bin of Burn 0.20.1; it has no names, and only the fields of 0.21 are known: "
                     "save it as .mpk with that version");
  Mixed_release(&mixed);
}

/* A .bin is a module's; nothing else has an order of fields. */
static void test_bin_needs_a_module(void **state) {
  const Fixture *fixture = *state;
  char path[128], wanted[256];
  BurnValue *map = burn_value_map(), *read = NULL;
  (void)snprintf(path, sizeof path, "%s/tree.bin", fixture->folder);
  (void)snprintf(wanted, sizeof wanted, "save %s: a .bin has no names, and is only made of a module: burn_record_save",
                 path);
  assert_string_equal(burn_status_message(burn_value_write(map, path, &bin)), wanted);
  check_status(burn_file_write(path, golden_bin, sizeof golden_bin));
  (void)snprintf(wanted, sizeof wanted,
                 "load %s: a .bin has no names, and is only read into a module: burn_record_load", path);
  assert_string_equal(burn_status_message(burn_value_read(path, &bin, &read)), wanted);
  assert_null(read);
  burn_value_destroy(map);
  assert_int_equal(unlink(path), 0);
}

/* A parameter that is absent, in a row that does not say that it may be, has no place. */
static void test_absent_parameter_of_bin(void **state) {
  Fixture *fixture = *state;
  BurnLinear linear = linear_make(true, fixture->plain);
  uint8_t *bytes = NULL;
  size_t count = 0;
  burn_drop(linear.weight.value);
  linear.weight.value = NULL;
  BurnStatus status = burn_record_to_bytes(burn_module(BurnLinear, &linear), &bin, &bytes, &count);
  assert_string_equal(
      burn_status_message(status),
      "save to bytes: weight: absent, but the row's type is BurnParam; what may be absent in a .bin is a "
      "BurnOptionParam");
  assert_null(bytes);
  BurnLinear_release(&linear);
}

/* An LSTM's activations are cases of an enum in Burn: by name in named records, by number, Identity apart, in a .bin. */
static void test_activations(void **state) {
  Fixture *fixture = *state;
  BurnLstmConfig config = BurnLstmConfig_defaults(2, 3, true);
  BurnLstm lstm = burn_lstm_init(&config, fixture->plain);
  const BurnModule module = burn_module(BurnLstm, &lstm);
  BurnValue *record = burn_value_module(module);
  const BurnValue *gate = burn_value_get(record, "gate_activation");
  uint8_t *bytes = NULL;
  size_t count = 0;
  assert_string_equal(burn_value_key_at(gate, 0), "Sigmoid");
  assert_int_equal(burn_value_kind(burn_value_at(gate, 0)), BURN_VALUE_NIL);
  burn_value_destroy(record);
  check_status(burn_record_to_bytes(module, &bin, &bytes, &count));
  /* d_hidden, batch_first, reverse, clip, input_forget; Sigmoid, Tanh, Tanh with an empty record each */
  static const uint8_t end[] = {0, 0, 0, 0, 0, 6, 0, 7, 0, 7, 0};
  assert_memory_equal(bytes + count - sizeof end, end, sizeof end);
  check_status(burn_record_from_bytes(module, bytes, count, &bin));
  bytes[count - 2] = 1;
  BurnStatus status = burn_record_from_bytes(module, bytes, count, &bin);
  char wanted[128];
  (void)snprintf(wanted, sizeof wanted,
                 "load from bytes: hidden_activation: byte %zu: the module is Tanh, case 7; the file has case 1",
                 count - 2);
  assert_string_equal(burn_status_message(status), wanted);
  free(bytes);
  BurnLstm_release(&lstm);
}

/* Burn 0.21 keeps nothing of a feed-forward layer's activation: one with parameters would be lost. */
static void test_activation_that_burn_skips(void **state) {
  Fixture *fixture = *state;
  BurnPositionWiseFeedForwardConfig config = BurnPositionWiseFeedForwardConfig_defaults(2, 3);
  uint8_t *bytes = NULL;
  size_t count = 0;
  for (int learned = 0; learned < 2; learned++) {
    if (learned) config.activation = (BurnActivationConfig)BURN_ACTIVATION_PRELU(1, 0.25);
    BurnPositionWiseFeedForward layer = burn_position_wise_feed_forward_init(&config, fixture->plain);
    const BurnModule module = burn_module(BurnPositionWiseFeedForward, &layer);
    BurnStatus status = burn_record_to_bytes(module, &bin, &bytes, &count);
    if (learned) {
      assert_string_equal(burn_status_message(status),
                          "save to bytes: activation: a tensor that Burn keeps in no record");
    } else {
      check_status(status);
      assert_int_equal(bytes[count - 1], 0);
      check_status(burn_record_from_bytes(module, bytes, count, &bin));
      free(bytes);
    }
    BurnPositionWiseFeedForward_release(&layer);
  }
}

static int fixture_teardown(void **state) {
  Fixture *fixture = *state;
  burn_device_close(fixture->plain);
  burn_device_close(fixture->training);
  return rmdir(fixture->folder); /* fails if a test left a file, temporary ones included */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bin_is_burns),
      cmocka_unit_test(test_json_is_burns),
      cmocka_unit_test(test_round_trips),
      cmocka_unit_test(test_files_and_names),
      cmocka_unit_test(test_values),
      cmocka_unit_test(test_bytes_are_a_tensor_or_a_list),
      cmocka_unit_test(test_hostile_json),
      cmocka_unit_test(test_deep_json),
      cmocka_unit_test(test_what_json_cannot_hold),
      cmocka_unit_test(test_json_in_another_locale),
      cmocka_unit_test(test_truncated_bin),
      cmocka_unit_test(test_hostile_bin),
      cmocka_unit_test(test_version_of_bin),
      cmocka_unit_test(test_bin_needs_a_module),
      cmocka_unit_test(test_absent_parameter_of_bin),
      cmocka_unit_test(test_activations),
      cmocka_unit_test(test_activation_that_burn_skips),
  };
  return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
