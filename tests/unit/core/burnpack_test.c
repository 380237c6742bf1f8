/* burnpack_test.c - Burnpack files: the bytes of the format, a real file of Burn's, names that do not match, precisions,
 * hostile files; records in memory. */
#include "reflection_testing.h"

#include <burn/file.h>
#include <burn/nn.h>
#include <burn/train/dataset.h>

#include <unistd.h>

static const BurnRecordConfig burnpack = {BURN_RECORD_BPK, BURN_PRECISION_FULL};

/* -- helpers ---------------------------------------------------------------------------------- */

typedef struct Path {
  char text[160];
} Path;

static Path path_in(const Fixture *fixture, const char *name) {
  Path path;
  (void)snprintf(path.text, sizeof path.text, "%s/%s", fixture->folder, name);
  return path;
}

typedef struct Bytes {
  uint8_t *data;
  size_t count;
} Bytes;

static Bytes file_bytes(const char *path) {
  Bytes bytes = {NULL, 0};
  check_status(burn_file_read(path, SIZE_MAX - 1, &bytes.data, &bytes.count));
  return bytes;
}

static void assert_same_file(const char *path, const char *wanted_path) {
  Bytes found = file_bytes(path), wanted = file_bytes(wanted_path);
  if (found.count != wanted.count) fail_msg("%s has %zu bytes, expected %zu", path, found.count, wanted.count);
  for (size_t i = 0; i < found.count; i++) {
    if (found.data[i] != wanted.data[i])
      fail_msg("%s: byte %zu is %02x, expected %02x", path, i, found.data[i], wanted.data[i]);
  }
  free(found.data);
  free(wanted.data);
}

/* The ids of burnpack_bytes.py: every length of an integer. */
static const uint64_t net_ids[NET_TENSORS] = {
    1, 23, 24, 255, 256, 65535, 65536, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX, UINT64_C(1) << 63, 77};

typedef struct Flat {
  BurnValue *map;
  size_t count;
} Flat;

static BurnValue *with_id(uint64_t id, BurnTensor *x) {
  char text[14];
  BurnValue *map = burn_value_map();
  burn_param_id_text(id, text);
  assert_true(burn_value_set(map, "id", burn_value_text(text)));
  assert_true(burn_value_set(map, "param", burn_value_tensor(x)));
  return map;
}

static BurnStatus add_tensor(void *context, const BurnModuleTensor *tensor) {
  Flat *flat = context;
  BurnTensor *value = tensor->param ? burn_param_value(tensor->param) : burn_buffer_value(tensor->buffer);
  assert_true(burn_value_set(flat->map, tensor->path, with_id(net_ids[flat->count++], value)));
  return BURN_OK;
}

/* net_make(device, 1) with a table that fits 16 bits, as the value of a Burnpack. */
static BurnValue *flat_net(BurnDevice *device) {
  const int32_t table[] = {3, -1, 700, 5};
  Net net = net_make(device, 1);
  Flat flat = {burn_value_map(), 0};
  burn_param_set(&net.lookup.table, burn_tensor_i32(device, table, BURN_SHAPE(4)));
  check_status(burn_module_visit(burn_module(Net, &net), add_tensor, &flat));
  assert_int_equal(flat.count, NET_TENSORS);
  Net_release(&net);
  return flat.map;
}

/* -- the bytes -------------------------------------------------------------------------------- */

/* Runs the script, which writes the same from the description of the format; false without Python. */
static bool python_writes(const char *precision, const char *path) {
  char command[1024];
  if (system("python3 -c 'pass' 2>/dev/null") != 0) return false;
  (void)snprintf(command, sizeof command, "python3 '%s/tests/unit/core/burnpack_bytes.py' %s '%s'", BURN_SOURCE_DIR,
                 precision, path);
  assert_int_equal(system(command), 0);
  return true;
}

/* Values and ids go into a module and out again: the file is the script's, byte for byte. */
static void test_bytes_are_those_of_the_format(void **state) {
  static const char *const precisions[] = {"full", "half", "double"};
  Fixture *fixture = *state;
  Path made = path_in(fixture, "made"), saved = path_in(fixture, "saved.weights"), wanted = path_in(fixture, "wanted");
  BurnValue *flat = flat_net(fixture->plain);
  for (uint32_t i = 0; i < 3; i++) { /* BURN_PRECISION_* */
    const BurnRecordConfig config = {BURN_RECORD_BPK, i};
    if (!python_writes(precisions[i], wanted.text)) {
      printf("skipped: there is no python3\n");
      skip();
    }
    Net net = net_make(fixture->plain, 5);
    check_status(burn_value_write(flat, made.text, &config));
    check_status(burn_record_load(burn_module(Net, &net), made.text, &config));
    check_status(burn_record_save(burn_module(Net, &net), saved.text, &config));
    assert_same_file(path_in(fixture, "made.bpk").text, wanted.text);
    assert_same_file(saved.text, wanted.text);
    Net_release(&net);
  }
  burn_value_destroy(flat);
}

/* Scalars, a tensor without an id, an empty one, a bool. */
static void test_bytes_of_scalars(void **state) {
  Fixture *fixture = *state;
  Path made = path_in(fixture, "other.bpk"), wanted = path_in(fixture, "wanted"), again = path_in(fixture, "again.bpk");
  if (!python_writes("full", wanted.text)) {
    printf("skipped: there is no python3\n");
    skip();
  }
  const bool on[] = {true, false, true};
  const float none[1] = {0};
  BurnValue *value = burn_value_map(), *read = NULL;
  assert_true(burn_value_set(value, "on", burn_value_bool(true)));
  assert_true(burn_value_set(value, "step", burn_value_int(300)));
  assert_true(burn_value_set(value, "back", burn_value_int(-25)));
  assert_true(burn_value_set(value, "rate", burn_value_float(0.1)));
  assert_true(burn_value_set(value, "half", burn_value_float(0.5)));
  assert_true(burn_value_set(value, "single", burn_value_float(0x1p-100)));
  assert_true(burn_value_set(value, "big", burn_value_float(1e300)));
  assert_true(burn_value_set(value, "b",
                             burn_value_tensor(burn_tensor_from(fixture->plain, on, BURN_DTYPE_BOOL, BURN_SHAPE(3)))));
  assert_true(burn_value_set(value, "a", with_id(5, burn_tensor_f32(fixture->plain, none, BURN_SHAPE(0)))));
  check_status(burn_value_write(value, made.text, &burnpack));
  burn_value_destroy(value);
  assert_same_file(made.text, path_in(fixture, "wanted.scalars").text);
  check_status(burn_value_read(made.text, &burnpack, &read));
  assert_int_equal(burn_value_as_int(burn_value_get(read, "back"), 0), -25);
  assert_true(burn_value_as_float(burn_value_get(read, "rate"), 0) == 0.1);
  assert_true(burn_value_as_float(burn_value_get(read, "half"), 0) == 0.5);
  assert_true(burn_value_as_bool(burn_value_get(read, "on"), false));
  assert_int_equal(burn_value_kind(burn_value_get(read, "b")), BURN_VALUE_TENSOR);
  check_status(burn_value_write(read, again.text, &burnpack));
  assert_same_file(again.text, made.text);
  burn_value_destroy(read);
}

/* -- Burn's own file -------------------------------------------------------------------------- */

/* The network of ../shared/data/models/burn/README.md. */
#define CONV_BLOCK_FIELDS(X)   \
  X(BurnConv2d, conv, "3 x 3") \
  X(BurnBatchNorm, norm, "64 channels")
BURN_MODULE(ConvBlock, CONV_BLOCK_FIELDS);

#define DIGITS_FIELDS(X)                  \
  X(ConvBlock, conv1, "1 -> 64 channels") \
  X(ConvBlock, conv2, "64 -> 64")         \
  X(BurnLinear, fc1, "1600 -> 128")       \
  X(BurnLinear, fc2, "128 -> 128")        \
  X(BurnLinear, fc3, "128 -> 10")
BURN_MODULE(Digits, DIGITS_FIELDS);

static ConvBlock conv_block(size_t channels, BurnDevice *device) {
  return (ConvBlock){burn_conv2d_new(BURN_SIZE2(channels, 64), (BurnSize2){{3, 3}}, device),
                     burn_batch_norm_new(64, device)};
}

static BurnTensor *conv_block_forward(const ConvBlock *m, BurnTensor *x) {
  x = burn_relu(burn_batch_norm_forward(&m->norm, burn_conv2d_forward(&m->conv, x)));
  return burn_max_pool2d(x, BURN_POOL2D_OPTIONS(2, 2));
}

static BurnTensor *digits_forward(const Digits *m, BurnTensor *x) {
  x = conv_block_forward(&m->conv2, conv_block_forward(&m->conv1, x));
  x = burn_gelu(burn_linear_forward(&m->fc1, burn_flatten(x, 1, 3)));
  x = burn_gelu(burn_linear_forward(&m->fc2, x));
  return burn_linear_forward(&m->fc3, x);
}

static Path data_path(const char *name) {
  Path path;
  const char *data = getenv("BURN_DATA_DIR");
  assert_true(snprintf(path.text, sizeof path.text, "%s/%s", data && data[0] ? data : BURN_DATA_DIR, name) <
              (int)sizeof path.text);
  return path;
}

enum { IMAGES = 16, PIXELS = 28 * 28, CLASSES = 10 };

/* The first images of the test set, as the network takes them; NULL where they are absent. */
static BurnTensor *test_images(BurnDevice *device) {
  static float pixels[IMAGES * PIXELS];
  BurnStatus status = BURN_OK;
  BurnDataset *raw = burn_dataset_mnist(data_path("mnist").text, BURN_MNIST_TEST, &status);
  if (burn_status_code(status) == BURN_STATUS_NOT_FOUND) return NULL;
  BurnDataset *images = burn_dataset_mnist_normalize(raw, &status);
  check_status(status);
  for (size_t i = 0; i < IMAGES; i++) {
    int64_t label;
    void *const item[] = {pixels + i * PIXELS, &label};
    check_status(burn_dataset_get(images, i, item));
  }
  burn_dataset_drop(images);
  return burn_tensor_f32(device, pixels, BURN_SHAPE(IMAGES, 1, 28, 28));
}

static void test_file_of_burn(void **state) {
  Fixture *fixture = *state;
  Path file = data_path("models/burn/model.bpk"), saved = path_in(fixture, "digits");
  BurnTensor *images = access(file.text, R_OK) == 0 ? test_images(fixture->plain) : NULL;
  if (!images) {
    printf("skipped: no %s, or no MNIST beside it\n", file.text);
    skip();
  }
  Digits digits = {conv_block(1, fixture->plain), conv_block(64, fixture->plain),
                   burn_linear_new(1600, 128, fixture->plain), burn_linear_new(128, 128, fixture->plain),
                   burn_linear_new(128, 10, fixture->plain)};
  check_status(burn_record_load(burn_module(Digits, &digits), file.text, &burnpack));
  float logits[IMAGES * CLASSES], wanted[IMAGES * CLASSES];
  check_status(burn_read_f32(digits_forward(&digits, images), logits, IMAGES * CLASSES));
  Bytes npy = file_bytes(data_path("models/burn/model_bpk_logits_test0-15.npy").text);
  assert_true(npy.count > sizeof wanted);
  memcpy(wanted, npy.data + npy.count - sizeof wanted, sizeof wanted);
  free(npy.data);
  for (size_t i = 0; i < IMAGES * CLASSES; i++) {
    if (!(wanted[i] - logits[i] <= 1e-5F && logits[i] - wanted[i] <= 1e-5F))
      fail_msg("image %zu, class %zu: logit %.8g, expected %.8g", i / CLASSES, i % CLASSES, (double)logits[i],
               (double)wanted[i]);
  }
  /* Ids, names and order are those of Burn: what we save is its file. */
  check_status(burn_record_save(burn_module(Digits, &digits), saved.text, &burnpack));
  assert_same_file(path_in(fixture, "digits.bpk").text, file.text);
  Digits_release(&digits);
}

/* -- names, shapes, ids ----------------------------------------------------------------------- */

static void assert_refused(Net *net, const char *path, const char *message) {
  char wanted[512];
  NetDump before = net_dump(net);
  BurnStatus status = burn_record_load(burn_module(Net, net), path, &burnpack);
  (void)snprintf(wanted, sizeof wanted, "load %s: %s", path, message);
  assert_string_equal(burn_status_message(status), wanted);
  NetDump after = net_dump(net);
  assert_true(same_values(&before, &after)); /* nothing changed */
  assert_memory_equal(before.ids, after.ids, sizeof before.ids);
}

/* The flat net without the name, and with `value` under that name if there is one. */
static void write_changed(Fixture *fixture, const char *path, const char *name, BurnValue *value) {
  BurnValue *whole = flat_net(fixture->plain), *changed = burn_value_map();
  for (size_t i = 0; i < burn_value_count(whole); i++) {
    const char *key = burn_value_key_at(whole, i);
    if (strcmp(key, name) == 0) continue;
    const BurnValue *param = burn_value_get(burn_value_at(whole, i), "param");
    assert_true(burn_value_set(changed, key, with_id(net_ids[i], burn_value_as_tensor(param, fixture->plain))));
  }
  if (value) assert_true(burn_value_set(changed, name, value));
  check_status(burn_value_write(changed, path, &burnpack));
  burn_value_destroy(changed);
  burn_value_destroy(whole);
}

static void test_names_are_checked(void **state) {
  Fixture *fixture = *state;
  BurnDevice *device = fixture->plain;
  Path path = path_in(fixture, "changed.bpk");
  Net net = net_make(fixture->training, 3);
  write_changed(fixture, path.text, "blocks.1.norm.running_mean", NULL);
  assert_refused(&net, path.text, "blocks.1.norm.running_mean: in the module, not in the file");
  write_changed(fixture, path.text, "blocks.2.dense.bias", with_id(9, ramp(device, 0, BURN_SHAPE(3))));
  assert_refused(&net, path.text, "blocks.2.dense.bias: in the file, not in the module");
  write_changed(fixture, path.text, "step", burn_value_int(3));
  assert_refused(&net, path.text, "step: in the file, not in the module");
  write_changed(fixture, path.text, "tail.weight", with_id(9, ramp(device, 0, BURN_SHAPE(3, 2))));
  assert_refused(&net, path.text, "tail.weight: shape [2,3] expected, file has [3,2]");
  write_changed(fixture, path.text, "tail.weight", burn_value_int(3));
  assert_refused(&net, path.text, "tail.weight: a parameter with id and tensor expected, found an integer");
  write_changed(fixture, path.text, "tail.weight", with_id(1, ramp(device, 0, BURN_SHAPE(2, 3))));
  assert_refused(&net, path.text,
                 "dense.weight and tail.weight have the same id, 0400000000000; an id belongs to one tensor");
  Net_release(&net);
}

/* Without an id in the file the module's stays. */
static void test_tensor_without_id(void **state) {
  Fixture *fixture = *state;
  Path path = path_in(fixture, "bare.bpk");
  Net net = net_make(fixture->training, 3);
  const uint64_t tail = net.tail.weight.id;
  write_changed(fixture, path.text, "tail.weight", burn_value_tensor(ramp(fixture->plain, 7, BURN_SHAPE(2, 3))));
  check_status(burn_record_load(burn_module(Net, &net), path.text, &burnpack));
  assert_int_equal(net.tail.weight.id, tail);
  assert_int_equal(net.dense.weight.id, 1);
  assert_true(burn_is_require_grad(net.tail.weight.value));
  Net_release(&net);
}

static void test_only_flat_values_are_written(void **state) {
  Fixture *fixture = *state;
  Path path = path_in(fixture, "tree.bpk");
  Net net = net_make(fixture->plain, 1);
  BurnValue *tree = burn_value_module(burn_module(Net, &net));
  BurnStatus status = burn_value_write(tree, path.text, &burnpack);
  assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
  assert_non_null(strstr(burn_status_message(status), "dense: a Burnpack has tensors, {id, param} of one"));
  assert_int_not_equal(access(path.text, F_OK), 0);
  burn_value_destroy(tree);
  BurnValue *broken = burn_value_map();
  assert_false(burn_value_set(broken, "a", NULL));
  status = burn_value_write(broken, path.text, &burnpack);
  assert_int_equal(burn_status_code(status), BURN_STATUS_FAILED_PRECONDITION);
  burn_value_destroy(broken);
  Net_release(&net);
}

/* -- extensions, formats ---------------------------------------------------------------------- */

static void test_extension_is_only_appended(void **state) {
  static const char *const names[][2] = {
      {"net", "net.bpk"}, {"net.bpk", "net.bpk"}, {"net.v1", "net.v1"}, {".net", ".net.bpk"}, {"a.mpk", "a.mpk"}};
  Fixture *fixture = *state;
  Dense dense = dense_make(fixture->plain, 1, true);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    Path given = path_in(fixture, names[i][0]), made = path_in(fixture, names[i][1]);
    (void)unlink(made.text);
    check_status(burn_record_save(burn_module(Dense, &dense), given.text, &burnpack));
    assert_int_equal(access(made.text, F_OK), 0);
    check_status(burn_record_load(burn_module(Dense, &dense), given.text, &burnpack));
  }
  Dense_release(&dense);
}

/* Every format and precision through memory; and any file by its content. */
static void test_bytes_in_memory(void **state) {
  Fixture *fixture = *state;
  Path path = path_in(fixture, "any");
  Net net = net_make(fixture->plain, 1);
  burn_param_set(&net.lookup.table, burn_tensor_i32(fixture->plain, (int32_t[]){1, 2, 3, 4}, BURN_SHAPE(4)));
  NetDump wanted = net_dump(&net);
  for (uint32_t i = 0; i < 9; i++) {
    const BurnRecordConfig config = {i / 3, i % 3};
    uint8_t *bytes = NULL;
    size_t count = 0;
    uint32_t format = 99;
    BurnValue *metadata = NULL, *item = NULL;
    check_status(burn_record_to_bytes(burn_module(Net, &net), &config, &bytes, &count));
    Net other = net_make(fixture->training, 30);
    check_status(burn_record_from_bytes(burn_module(Net, &other), bytes, count, &config));
    NetDump found = net_dump(&other);
    assert_true(same_values(&wanted, &found)); /* they fit every precision */
    assert_memory_equal(wanted.ids, found.ids, sizeof wanted.ids);
    check_status(burn_file_write(path.text, bytes, count));
    check_status(burn_value_read_any(path.text, &format, &metadata, &item));
    assert_int_equal(format, config.format);
    assert_true((metadata == NULL) == (format == BURN_RECORD_BPK));
    assert_int_equal(burn_value_count(item), format == BURN_RECORD_BPK ? NET_TENSORS : 7);
    burn_value_destroy(metadata);
    burn_value_destroy(item);
    const BurnStatus status = burn_record_from_bytes(burn_module(Net, &other), bytes, count - 1, &config);
    assert_int_equal(burn_status_code(status), BURN_STATUS_CORRUPT_DATA);
    assert_non_null(strstr(burn_status_message(status), "load from bytes: "));
    Net_release(&other);
    free(bytes);
  }
  Net_release(&net);
}

/* -- hostile files ---------------------------------------------------------------------------- */

/* Metadata, which stand after a right header and before 8 bytes of data, and why they are refused. */
typedef struct Hostile {
  const char *metadata;
  size_t count;
  const char *message;
} Hostile;
#define HOSTILE(metadata, message) \
  { metadata, sizeof(metadata) - 1, message }
#define TENSOR(dtype, shape, offsets) \
  "\xa1\x67tensors\xa1\x61w\xa3\x65"  \
  "dtype" dtype "\x65shape" shape     \
  "\x6c"                              \
  "data_offsets" offsets

static Bytes pack_of(const char *metadata, size_t count, size_t data) {
  const size_t begin = (10 + count + 255) / 256 * 256;
  Bytes bytes = {calloc(1, begin + data), begin + data};
  assert_non_null(bytes.data);
  memcpy(bytes.data, "NRUB\1", 5);
  bytes.data[6] = (uint8_t)count;
  bytes.data[7] = (uint8_t)(count >> 8);
  memcpy(bytes.data + 10, metadata, count);
  return bytes;
}

static void assert_bytes_refused(Fixture *fixture, const uint8_t *bytes, size_t count, const char *message) {
  char wanted[320];
  Dense dense = dense_make(fixture->plain, 1, true);
  BurnStatus status = burn_record_from_bytes(burn_module(Dense, &dense), bytes, count, &burnpack);
  (void)snprintf(wanted, sizeof wanted, "load from bytes: %s", message);
  assert_string_equal(burn_status_message(status), wanted);
  assert_int_equal(burn_status_code(status), BURN_STATUS_CORRUPT_DATA);
  Dense_release(&dense);
}

static void test_hostile_metadata(void **state) {
  static const Hostile rows[] = {
      HOSTILE("", "byte 10: the metadata end where a value should be"),
      HOSTILE("\xa0", "byte 10: metadata without a map \"tensors\""),
      HOSTILE("\x80", "byte 10: metadata without a map \"tensors\""),
      HOSTILE("\xa1\x67tensors\x01", "byte 10: metadata without a map \"tensors\""),
      HOSTILE("\xa1\x67tensors\xa0\0", "byte 20: something after the end of the metadata"),
      HOSTILE("\xbf\xff", "byte 10: CBOR of no stated length, or a reserved form"),
      HOSTILE("\x1c", "byte 10: CBOR of no stated length, or a reserved form"),
      HOSTILE("\x1a\1\2", "byte 10: the metadata end within a number"),
      HOSTILE("\xbb\xff\xff\xff\xff\xff\xff\xff\xff",
              "byte 10: length 18446744073709551615 with 0 bytes left: cut short, or damaged"),
      HOSTILE("\x9a\x7f\xff\xff\xff\x01", "byte 10: length 2147483647 with 1 bytes left: cut short, or damaged"),
      HOSTILE("\x78\x10zz", "byte 10: length 16 with 2 bytes left: cut short, or damaged"),
      HOSTILE("\x62z\0", "byte 10: a text with a zero byte"),
      HOSTILE("\x41z", "byte 10: a byte string or tag, which metadata do not have"),
      HOSTILE("\xc0\x60", "byte 10: a byte string or tag, which metadata do not have"),
      HOSTILE("\xf7", "byte 10: a simple value that is not a bool, null or float"),
      HOSTILE("\x3b\xff\xff\xff\xff\xff\xff\xff\xff", "byte 10: an integer that does not fit 64 bits"),
      HOSTILE("\xa1\x01\x01", "byte 11: a key that is not text"),
      HOSTILE("\xa2\x61z\x01\x61z\x02", "byte 10: a map with a key that stands twice"),
      HOSTILE("\xa1\x67tensors\xa1\x61w\x01", "tensor w: no map of dtype, shape and data_offsets"),
      HOSTILE(TENSOR("\x63"
                     "F32",
                     "\x81\x01", "\x04"),
              "tensor w: data_offsets are not two unsigned integers"),
      HOSTILE(TENSOR("\x63"
                     "F32",
                     "\x81\x01", "\x82\x20\x04"),
              "tensor w: data_offsets are not two unsigned integers"),
      HOSTILE(TENSOR("\x63"
                     "F32",
                     "\x81\x01", "\x82\x04\x00"),
              "tensor w: bytes 4 to 0 of the data, which begin at byte 256 and have 8"),
      HOSTILE(TENSOR("\x63"
                     "F32",
                     "\x81\x01", "\x82\x08\x0c"),
              "tensor w: bytes 8 to 12 of the data, which begin at byte 256 and have 8"),
      HOSTILE(TENSOR("\x63"
                     "F32",
                     "\x81\x01", "\x82\x00\x1b\xff\xff\xff\xff\xff\xff\xff\xff"),
              "tensor w: bytes 0 to 18446744073709551615 of the data, which begin at byte 256 and have 8"),
      HOSTILE(TENSOR("\x63"
                     "F32",
                     "\x81\x03", "\x82\x00\x08"),
              "tensor w: byte 256: tensor: 8 bytes do not make shape [3] of F32"),
      HOSTILE(TENSOR("\x63"
                     "F32",
                     "\x80", "\x82\x00\x08"),
              "tensor w: byte 256: tensor: shape of 0 axes, 1 to 8 expected"),
      HOSTILE(TENSOR("\x63"
                     "F99",
                     "\x81\x02", "\x82\x00\x08"),
              "tensor w: byte 256: tensor: dtype \"F99\" is not supported"),
      HOSTILE(TENSOR("\xa1\x66QFloat\xa0", "\x81\x02", "\x82\x00\x08"),
              "tensor w: byte 256: tensor: QFloat with a mode that is not Symmetric"),
      HOSTILE(TENSOR("\x63"
                     "F32",
                     "\x82\x1b\x40\0\0\0\0\0\0\0\x1b\x40\0\0\0\0\0\0\0", "\x82\x00\x00"),
              "tensor w: byte 256: tensor: 0 bytes do not make shape [4611686018427387904,4611686018427387904] of F32"),
      HOSTILE("\xa1\x67tensors\xa1\x61w\xa2\x68param_id\x61z\x6c"
              "data_offsets\x82\x00\x00",
              "tensor w: param_id is not an unsigned integer"),
      HOSTILE("\xa2\x67tensors\xa0\x67scalars\xa1\x61s\xa1\x63Int\x61z",
              "scalar s: no {\"Int\" | \"UInt\" | \"Float\" | \"Bool\": value}"),
      HOSTILE("\xa2\x67tensors\xa0\x67scalars\xa1\x61s\xa0",
              "scalar s: no {\"Int\" | \"UInt\" | \"Float\" | \"Bool\": value}"),
      HOSTILE("\xa2\x67tensors\xa0\x68metadata\xa1\x61m\x01", "metadata are not a map of texts"),
  };
  Fixture *fixture = *state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    Bytes bytes = pack_of(rows[i].metadata, rows[i].count, 8);
    assert_bytes_refused(fixture, bytes.data, bytes.count, rows[i].message);
    free(bytes.data);
  }
}

/* Thousands of tensors that are all the whole file would otherwise ask for any amount of memory. */
static void test_overlapping_tensors(void **state) {
  static const char metadata[] =
      "\xa1\x67tensors\xa2"
      "\x61v\xa3\x65"
      "dtype\x63"
      "F32\x65shape\x81\x02\x6c"
      "data_offsets\x82\x00\x08"
      "\x61w\xa3\x65"
      "dtype\x63"
      "F32\x65shape\x81\x01\x6c"
      "data_offsets\x82\x04\x08";
  Bytes bytes = pack_of(metadata, sizeof metadata - 1, 8);
  assert_bytes_refused(*state, bytes.data, bytes.count, "tensor w: 4 bytes, of which 0 may be left: tensors overlap");
  free(bytes.data);
}

static void test_deep_and_wide_metadata(void **state) {
  enum { WIDE = (1 << 21) + 1 };
  static char deep[200];
  memset(deep, '\x81', sizeof deep);
  Bytes bytes = pack_of(deep, sizeof deep, 0);
  assert_bytes_refused(*state, bytes.data, bytes.count, "byte 138: nested too deeply");
  free(bytes.data);
  const size_t count = WIDE + 5;
  bytes = (Bytes){calloc(1, 10 + count), 10 + count};
  memcpy(bytes.data, "NRUB\1\0", 6);
  memcpy(bytes.data + 6, &(uint32_t){(uint32_t)count}, 4);
  memcpy(bytes.data + 10, "\x9a\x00\x20\x00\x01", 5);
  assert_bytes_refused(*state, bytes.data, bytes.count, "byte 2097166: too many values");
  free(bytes.data);
}

static void test_hostile_header(void **state) {
  Bytes bytes = pack_of("\xa1\x67tensors\xa0", 10, 0);
  assert_bytes_refused(*state, bytes.data, 3, "byte 0: no Burnpack, which begins with \"NRUB\"");
  assert_bytes_refused(*state, bytes.data, 9, "byte 9: the file ends within its header");
  assert_bytes_refused(*state, bytes.data, 19, "byte 6: 10 bytes of metadata with 9 bytes left");
  bytes.data[5] = 1;
  assert_bytes_refused(*state, bytes.data, bytes.count, "byte 4: version 257, at most 1 expected");
  bytes.data[5] = 0;
  bytes.data[9] = 0x7f;
  assert_bytes_refused(*state, bytes.data, bytes.count, "byte 6: 2130706442 bytes of metadata, limit 104857600");
  bytes.data[0] = 'B';
  assert_bytes_refused(*state, bytes.data, bytes.count, "byte 0: no Burnpack, which begins with \"NRUB\"");
  free(bytes.data);
}

static void test_formats_are_told_apart(void **state) {
  Fixture *fixture = *state;
  Dense dense = dense_make(fixture->plain, 1, true);
  uint8_t *bytes = NULL;
  size_t count = 0;
  check_status(burn_record_to_bytes(burn_module(Dense, &dense), NULL, &bytes, &count));
  assert_bytes_refused(fixture, bytes, count, "byte 0: no Burnpack, which begins with \"NRUB\"");
  free(bytes);
  check_status(burn_record_to_bytes(burn_module(Dense, &dense), &burnpack, &bytes, &count));
  BurnStatus status = burn_record_from_bytes(burn_module(Dense, &dense), bytes, count, NULL);
  assert_string_equal(burn_status_message(status),
                      "load from bytes: byte 0: a Burnpack where MessagePack was expected");
  free(bytes);
  Dense_release(&dense);
}

/* Every shorter file is refused, and changes nothing. */
static void test_truncated_anywhere(void **state) {
  Fixture *fixture = *state;
  Net net = net_make(fixture->plain, 3);
  Path path = path_in(fixture, "whole.bpk");
  BurnValue *flat = flat_net(fixture->plain);
  check_status(burn_value_write(flat, path.text, &burnpack));
  burn_value_destroy(flat);
  Bytes whole = file_bytes(path.text);
  NetDump before = net_dump(&net);
  for (size_t count = 0; count < whole.count; count++) {
    uint8_t *part = malloc(count ? count : 1); /* of that size, so that a sanitizer sees its end */
    memcpy(part, whole.data, count);
    const BurnStatus status = burn_record_from_bytes(burn_module(Net, &net), part, count, &burnpack);
    assert_int_equal(burn_status_code(status), BURN_STATUS_CORRUPT_DATA);
    free(part);
  }
  NetDump after = net_dump(&net);
  assert_true(same_values(&before, &after));
  free(whole.data);
  Net_release(&net);
}

static int fixture_teardown(void **state) {
  static const char *const left[] = {
      "made.bpk", "saved.weights", "wanted", "wanted.scalars", "other.bpk", "again.bpk", "digits.bpk", "changed.bpk",
      "bare.bpk", "net.bpk",       "net.v1", ".net.bpk",       "a.mpk",     "any",       "whole.bpk"};
  Fixture *fixture = *state;
  burn_device_close(fixture->plain);
  burn_device_close(fixture->training);
  for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) (void)unlink(path_in(fixture, left[i]).text);
  return rmdir(fixture->folder); /* fails if there is anything else, a temporary file too */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bytes_are_those_of_the_format),
      cmocka_unit_test(test_bytes_of_scalars),
      cmocka_unit_test(test_file_of_burn),
      cmocka_unit_test(test_names_are_checked),
      cmocka_unit_test(test_tensor_without_id),
      cmocka_unit_test(test_only_flat_values_are_written),
      cmocka_unit_test(test_extension_is_only_appended),
      cmocka_unit_test(test_bytes_in_memory),
      cmocka_unit_test(test_hostile_metadata),
      cmocka_unit_test(test_overlapping_tensors),
      cmocka_unit_test(test_deep_and_wide_metadata),
      cmocka_unit_test(test_hostile_header),
      cmocka_unit_test(test_formats_are_told_apart),
      cmocka_unit_test(test_truncated_anywhere),
  };
  return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
