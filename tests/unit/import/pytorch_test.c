/* pytorch_test.c - files of torch.save: those of real models, and small ones that Python's own pickle and zipfile made
 * (golden/make_pytorch_golden.py); what is refused, and where. */
#include "store_testing.h"

#include "pytorch_golden.h"

#include <math.h>

static BurnStore *open_bytes(const void *bytes, size_t count) {
  BurnStatus status = BURN_OK;
  BurnStore *store = burn_store_open_bytes(bytes, count, &status);
  check_status(status);
  assert_string_equal(burn_store_format(store), "pytorch");
  return store;
}

/* -- what torch.save writes ------------------------------------------------------------------- */

/* The tensors of state_dict() in the script. */
static void check_state_dict(BurnDevice *device, const void *bytes, size_t count) {
  static const struct {
    const char *name, *file_dtype, *shape;
    BurnDType dtype;
    size_t count;
    double values[6];
  } wanted[] = {{"fc.weight", "torch.float32", "[3,2]", BURN_DTYPE_F32, 6, {0, 1.5, 0.5, 2, 1, 2.5}},
                {"fc.row", "torch.float32", "[3]", BURN_DTYPE_F32, 3, {1.5, 2, 2.5}},
                {"fc.scalar", "torch.float32", "[1]", BURN_DTYPE_F32, 1, {2.5}},
                {"fc.wide", "torch.float32", "[2,3]", BURN_DTYPE_F32, 6, {0, 0.5, 1, 0, 0.5, 1}},
                {"double", "torch.float64", "[2]", BURN_DTYPE_F64, 2, {1.25, -2}},
                {"half", "torch.float16", "[2]", BURN_DTYPE_F16, 2, {0.5, 65504}},
                {"steps", "torch.int64", "[1]", BURN_DTYPE_I64, 1, {-1099511627776.0}},
                {"flags", "torch.bool", "[2]", BURN_DTYPE_BOOL, 2, {1, 0}},
                {"brain", "torch.bfloat16", "[2]", BURN_DTYPE_BF16, 2, {1.5, -2}},
                {"none", "torch.float32", "[0,4]", BURN_DTYPE_F32, 0, {0}}};
  BurnStore *store = open_bytes(bytes, count);
  assert_int_equal(burn_store_count(store), sizeof wanted / sizeof wanted[0]);
  for (size_t i = 0; i < burn_store_count(store); i++) {
    const BurnStoreEntry *entry = burn_store_entry(store, i);
    assert_string_equal(entry->name, wanted[i].name);
    assert_string_equal(entry->file_dtype, wanted[i].file_dtype);
    assert_string_equal(burn_shape_text(entry->shape).text, wanted[i].shape);
    assert_int_equal(entry->dtype, wanted[i].dtype);
    assert_int_equal(entry->scalar, i == 2 || i == 6);
    if (wanted[i].count > 0) assert_values(store, entry->name, device, wanted[i].values, wanted[i].count);
  }
  burn_store_close(store);
}

static void state_dicts_are_read(void **state) {
  BurnDevice *device = ((const Fixture *)*state)->device;
  check_state_dict(device, pytorch_state_dict, sizeof pytorch_state_dict);
  check_state_dict(device, pytorch_state_dict_deflated, sizeof pytorch_state_dict_deflated);
  check_state_dict(device, pytorch_state_dict_protocol_0, sizeof pytorch_state_dict_protocol_0);
  check_state_dict(device, pytorch_state_dict_protocol_1, sizeof pytorch_state_dict_protocol_1);
  check_state_dict(device, pytorch_state_dict_protocol_5, sizeof pytorch_state_dict_protocol_5);
  check_state_dict(device, pytorch_legacy, sizeof pytorch_legacy);
}

static void other_byte_orders_are_turned(void **state) {
  BurnDevice *device = ((const Fixture *)*state)->device;
  check_state_dict(device, pytorch_big_endian, sizeof pytorch_big_endian);
  check_state_dict(device, pytorch_legacy_big_endian, sizeof pytorch_legacy_big_endian);
}

/* The tensors of unsigned() in the script. */
static void check_unsigned(BurnDevice *device, const void *bytes, size_t count) {
  BurnStore *store = open_bytes(bytes, count);
  const BurnStoreEntry *entry = burn_store_entry(store, burn_store_find(store, "uint16"));
  assert_string_equal(entry->file_dtype, "torch.uint16");
  assert_int_equal(entry->dtype, BURN_DTYPE_I32);
  assert_int_equal(entry->bytes, 8);
  assert_values(store, "uint16", device, (const double[]){1, 65535, 3, 40000}, 4);
  assert_values(store, "turned", device, (const double[]){1, 3, 65535, 40000}, 4);
  assert_values(store, "array", device, (const double[]){9, 50000}, 2);
  assert_int_equal(burn_store_entry(store, burn_store_find(store, "uint32"))->dtype, BURN_DTYPE_I64);
  assert_values(store, "uint32", device, (const double[]){4294967295.0, 7}, 2);
  int64_t values[2] = {0};
  check_status(burn_read_i64(burn_store_tensor(store, "uint64", device), values, 2));
  assert_true(values[0] == INT64_MAX && values[1] == 5);
  BurnTensor *large = burn_store_tensor(store, "large", device);
  assert_non_null(strstr(burn_status_message(burn_tensor_status(large)), "9223372036854775808 does not fit an i64"));
  burn_drop(large);
  burn_store_close(store);
}

static void unsigned_integers_become_larger_ones(void **state) {
  BurnDevice *device = ((const Fixture *)*state)->device;
  check_unsigned(device, pytorch_unsigned, sizeof pytorch_unsigned);
  check_unsigned(device, pytorch_unsigned_big_endian, sizeof pytorch_unsigned_big_endian);
}

/* What has no dtype here is listed, and does not keep others from being read. */
static void what_is_left_out_is_counted(void **state) {
  (void)state;
  const char *first = NULL;
  BurnStore *store = open_bytes(pytorch_left_out, sizeof pytorch_left_out);
  assert_int_equal(burn_store_count(store), 1);
  assert_string_equal(burn_store_entry(store, 0)->name, "a");
  assert_int_equal(burn_store_left_out(store, &first), 4);
  assert_string_equal(first, "b: a key there is no text, integer or bool");
  burn_store_close(store);
  store = open_bytes(pytorch_checkpoint, sizeof pytorch_checkpoint);
  assert_int_equal(burn_store_left_out(store, &first), 0);
  assert_string_equal(first, "");
  burn_store_close(store);
  assert_int_equal(burn_store_left_out(NULL, NULL), 0);
}

static void other_dtypes_are_listed_and_refused(void **state) {
  static const char *const names[] = {
      "float8_e4m3fn",    "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu",
      "float4_e2m1fn_x2", "complex32",   "bits8",           "uint4",           "int3"};
  BurnDevice *device = ((const Fixture *)*state)->device;
  BurnStore *store = open_bytes(pytorch_unsigned, sizeof pytorch_unsigned);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const BurnStoreEntry *entry = burn_store_entry(store, burn_store_find(store, names[i]));
    assert_string_equal(entry->file_dtype + strlen("torch."), names[i]);
    assert_int_equal(entry->dtype, BURN_DTYPE_DEFAULT);
    BurnTensor *x = burn_store_tensor(store, names[i], device);
    assert_non_null(strstr(burn_status_message(burn_tensor_status(x)), "there is no such dtype here; convert it"));
    assert_non_null(strstr(burn_status_message(burn_tensor_status(x)), names[i]));
    burn_drop(x);
  }
  burn_store_close(store);
}

static void archives_of_old_are_read(void **state) {
  BurnDevice *device = ((const Fixture *)*state)->device;
  BurnStore *store = open_bytes(pytorch_tar, sizeof pytorch_tar);
  assert_int_equal(burn_store_count(store), 2);
  assert_values(store, "fc.weight", device, (const double[]){0, 1.5, 0.5, 2, 1, 2.5}, 6);
  assert_values(store, "fc.row", device, (const double[]){1.5, 2, 2.5}, 3);
  burn_store_close(store);
}

static void checkpoints_are_read(void **state) {
  BurnDevice *device = ((const Fixture *)*state)->device;
  BurnStore *store = open_bytes(pytorch_checkpoint, sizeof pytorch_checkpoint);
  assert_int_equal(burn_store_count(store), 3);
  assert_values(store, "state_dict.weight", device, (const double[]){1, 2}, 2);
  assert_values(store, "optimizer.state.0.exp_avg", device, (const double[]){3, 4}, 2);
  assert_values(store, "scores", device, (const double[]){0.5, -200}, 2);
  const BurnValue *metadata = burn_store_metadata(store);
  assert_int_equal(burn_value_as_int(burn_value_get(metadata, "epoch"), 0), 7);
  assert_true(burn_value_as_float(burn_value_get(metadata, "best"), 0) == 91.5);
  assert_string_equal(burn_value_as_text(burn_value_get(burn_value_get(metadata, "options"), "name"), ""), "small");
  const BurnValue *groups = burn_value_get(burn_value_get(metadata, "optimizer"), "param_groups");
  assert_true(burn_value_as_float(burn_value_get(burn_value_get(groups, "0"), "lr"), 0) == 0.125);
  burn_store_close(store);
}

static void modules_have_the_names_of_their_state_dicts(void **state) {
  BurnDevice *device = ((const Fixture *)*state)->device;
  BurnStore *store = open_bytes(pytorch_whole_module, sizeof pytorch_whole_module);
  assert_int_equal(burn_store_count(store), 2);
  assert_values(store, "norm.weight", device, (const double[]){1, 2}, 2);
  assert_values(store, "norm.mean", device, (const double[]){3}, 1);
  burn_store_close(store);
}

/* -- real files ------------------------------------------------------------------------------- */

/* Sums of all values, and of (i % 7 + 1) times them, each tensor times (its number % 5 + 1): by Python's pickle and
 * NumPy. */
static void check_sums(const BurnStore *store, double wanted, double wanted_weighted) {
  double sum = 0, weighted = 0;
  for (size_t index = 0; index < burn_store_count(store); index++) {
    const BurnStoreEntry *entry = burn_store_entry(store, index);
    const size_t width = burn_dtype_bytes(entry->dtype), count = (size_t)entry->bytes / width;
    uint8_t *values = malloc((size_t)entry->bytes + 1);
    check_status(burn_store_read(store, index, values, (size_t)entry->bytes));
    for (size_t i = 0; i < count; i++) {
      float single = 0;
      int64_t integer = 0;
      memcpy(entry->dtype == BURN_DTYPE_F32 ? (void *)&single : (void *)&integer, values + i * width, width);
      const double value = entry->dtype == BURN_DTYPE_F32 ? (double)single : (double)integer;
      sum += value;
      weighted += value * (double)(i % 7 + 1) * (double)(index % 5 + 1);
    }
    free(values);
  }
  if (fabs(sum - wanted) > 1e-9 * fabs(wanted) || fabs(weighted - wanted_weighted) > 1e-9 * fabs(wanted_weighted))
    fail_msg("sums %.17g and %.17g, expected %.17g and %.17g", sum, weighted, wanted, wanted_weighted);
}

static void real_files_are_read(void **state) {
  (void)state;
  static const struct {
    const char *file;
    size_t tensors, floats;
    uint64_t elements;
    const char *first, *last;
    double sum, weighted;
  } files[] = {{"burn/mnist.pt", 20, 18, 376940, "conv1.weight", "norm2.num_batches_tracked", 7772.024714975333,
                28022.915932987686},
               {"pytorch/fastestdet/FastestDet.pth", 420, 350, 252938, "backbone.first_conv.0.weight",
                "detect_head.cls_layers.conv5x5.4.num_batches_tracked", 109950760.06842344, 329859744.3481974},
               {"pytorch/resnet20-cifar10/resnet20.th", 97, 97, 271098, "state_dict.module.conv1.weight",
                "state_dict.module.linear.bias", 139.7826495598208, 19902.813093328466},
               {"pytorch/ultraface-rfb-320/version-RFB-320.pth", 244, 209, 281135, "base_net.0.0.weight",
                "regression_headers.3.bias", 3020933.6163331065, 9067213.923787354},
               {"pytorch/mtcnn-pnet/pnet.pt", 13, 13, 6632, "conv1.weight", "conv4_2.bias", -43.12531704072171,
                -417.6843582265574}};
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    const Path path = data_path(files[i].file);
    if (path.text[0] == '\0') {
      print_message("skipped: no %s beside the checkout\n", files[i].file);
      continue;
    }
    BurnStatus status = BURN_OK;
    BurnStore *store = burn_store_open(path.text, &status);
    check_status(status);
    size_t floats = 0;
    uint64_t elements = 0;
    for (size_t j = 0; j < burn_store_count(store); j++) {
      const BurnStoreEntry *entry = burn_store_entry(store, j);
      floats += entry->dtype == BURN_DTYPE_F32;
      elements += entry->bytes / burn_dtype_bytes(entry->dtype);
    }
    assert_int_equal(burn_store_count(store), files[i].tensors);
    assert_int_equal(floats, files[i].floats);
    assert_int_equal(elements, files[i].elements);
    assert_string_equal(burn_store_entry(store, 0)->name, files[i].first);
    assert_string_equal(burn_store_entry(store, files[i].tensors - 1)->name, files[i].last);
    check_sums(store, files[i].sum, files[i].weighted);
    burn_store_close(store);
  }
}

/* -- hostile files ---------------------------------------------------------------------------- */

/* A copy of a file with a text in it replaced by one of the same length, everywhere. */
static unsigned char *changed(const unsigned char *bytes, size_t count, const void *from, const void *to,
                              size_t length) {
  unsigned char *copy = malloc(count);
  size_t places = 0;
  assert_non_null(copy);
  memcpy(copy, bytes, count);
  for (size_t i = 0; i + length <= count; i++) {
    if (memcmp(copy + i, from, length) != 0) continue;
    memcpy(copy + i, to, length);
    places++;
  }
  assert_true(places > 0);
  return copy;
}

static void refuse_changed(const void *from, const void *to, size_t length, const char *message) {
  unsigned char *bytes = changed(pytorch_legacy, sizeof pytorch_legacy, from, to, length);
  assert_refused(bytes, sizeof pytorch_legacy, message);
  free(bytes);
}

/* The header of a stream, then a pickle of the case and no storages. */
static size_t stream_of(const char *pickle, size_t count, unsigned char *bytes) {
  static const char head[] =
      "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02}U\rlittle_endian\x88s.";
  static const char keys[] = "\x80\x02].";
  memcpy(bytes, head, sizeof head - 1);
  memcpy(bytes + sizeof head - 1, pickle, count);
  memcpy(bytes + sizeof head - 1 + count, keys, sizeof keys - 1);
  return sizeof head - 1 + count + sizeof keys - 1;
}
#define REFUSE_PICKLE(pickle, message)                                        \
  do {                                                                        \
    unsigned char stream[512];                                                \
    const size_t stream_count = stream_of(pickle, sizeof pickle - 1, stream); \
    assert_refused(stream, stream_count, message);                            \
  } while (0)

/* torch.load by default, CVE-2025-32434, CVE-2025-10155: code in the file. It is a name, and stays one. */
static void cve_code_in_the_file(void **state) {
  const Fixture *fixture = *state;
  static const char pickle[] = "\x80\x02}U\x01xcos\nsystem\nU\x0dtouch escaped\x85Rs.";
  unsigned char stream[512];
  const size_t count = stream_of(pickle, sizeof pickle - 1, stream);
  BurnStore *store = open_bytes(stream, count);
  assert_int_equal(burn_store_count(store), 0);
  burn_store_close(store);
  FILE *escaped = fopen("escaped", "rb");
  assert_null(escaped);
  assert_non_null(fixture);
  assert_refused(pytorch_sparse, sizeof pytorch_sparse,
                 "store: pytorch: model/data.pkl: byte 215: a.w: a tensor made by torch._utils._rebuild_sparse_tensor, "
                 "which is not known");
}

/* CVE-2026-24747: opcodes that the interpreter takes on trust. */
static void cve_opcodes_and_storage_sizes(void **state) {
  (void)state;
  REFUSE_PICKLE("\x80\x02R.", "store: pytorch: byte 44: pickle: REDUCE: there is nothing on the stack");
  REFUSE_PICKLE("\x80\x02(R.", "store: pytorch: byte 45: pickle: REDUCE: there is nothing on the stack");
  REFUSE_PICKLE("\x80\x02]s.", "store: pytorch: byte 45: pickle: SETITEM: there is too little on the stack");
  REFUSE_PICKLE("\x80\x02]NNs.", "store: pytorch: byte 47: pickle: SETITEM: keys and values for what is not a dict");
  REFUSE_PICKLE("\x80\x02}(Nu.", "store: pytorch: byte 47: pickle: SETITEMS: a dict with a key that has no value");
  REFUSE_PICKLE("\x80\x02h\x07.", "store: pytorch: byte 44: pickle: BINGET: a number that is not in the memo");
  REFUSE_PICKLE("\x80\x02Nr\xff\xff\xff\xff.",
                "store: pytorch: byte 45: pickle: LONG_BINPUT: a number in the memo beyond the length of the pickle");
  REFUSE_PICKLE("\x80\x02\x8d\xff\xff\xff\xff\xff\xff\xff\xff.",
                "store: pytorch: byte 44: pickle: BINUNICODE8: it is longer than the bytes that are left");
  REFUSE_PICKLE(
      "\x80\x02\x82\x01.",
      "store: pytorch: byte 44: pickle: EXT1: it stands for something outside of the file, which is not looked for");
  REFUSE_PICKLE("\x80\x02\xff.", "store: pytorch: byte 44: pickle: 0xff is not an opcode");
  REFUSE_PICKLE("\x80\x02NN.", "store: pytorch: byte 46: pickle: STOP: more than one object at the end");
  REFUSE_PICKLE("\x80\x02NNb.", "store: pytorch: byte 46: pickle: BUILD: a state for what has none");
  /* a storage of 6 elements of 8 bytes in a file that has 24 */
  refuse_changed("torch\nFloatStorage", "torch\nLongXStorage", 18,
                 "store: pytorch: byte 256: a storage of torch.LongXStorage, which is not known");
}

/* CVE-2026-7482: a tensor that is larger than what is there. The shape (3, 2) becomes (3, 3). */
static void cve_tensor_larger_than_its_storage(void **state) {
  (void)state;
  refuse_changed("K\x03K\x02\x86", "K\x03K\x03\x86", 5,
                 "store: pytorch: tensor fc.weight: byte 283: a tensor that is larger than its storage of 24 bytes");
}

/* CVE-2024-21802, CVE-2025-53630: sizes whose product wraps. */
static void cve_sizes_that_wrap(void **state) {
  (void)state;
  unsigned char *bytes = changed(pytorch_legacy, sizeof pytorch_legacy, "K\x03K\x02\x86", "K\x03K\xff\x86", 5);
  assert_refused(bytes, sizeof pytorch_legacy,
                 "store: pytorch: tensor fc.weight: byte 283: a tensor that is larger than its storage of 24 bytes");
  free(bytes);
  REFUSE_PICKLE(
      "\x80\x02"
      "ctorch._utils\n_rebuild_tensor\n((U\x07storagectorch\nByteStorage\nU\x01"
      "0U\x03"
      "cpu"
      "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7fNtQK\x00)(ttR.",
      "store: pytorch: byte 124: a storage without a number of elements");
}

/* An offset of 2^64 - 1 with steps that come back into the storage; pickles have no such number, tar archives do. */
static void cve_offset_that_wraps(void **state) {
  (void)state;
  static const unsigned char strides[] = {1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  unsigned char wrapping[sizeof strides];
  memcpy(wrapping, strides, sizeof strides);
  memset(wrapping + 16, 0xff, 8);
  unsigned char *bytes = changed(pytorch_tar, sizeof pytorch_tar, strides, wrapping, sizeof strides);
  assert_refused(bytes, sizeof pytorch_tar,
                 "store: pytorch: tensor fc.weight: byte 1595: a tensor that is larger than its storage of 24 bytes");
  free(bytes);
}

/* ggml#1516, zip bombs: a tiny file, a huge allocation. Lists of lists, each with two of the one before. */
static void cve_tiny_file_huge_work(void **state) {
  (void)state;
  char pickle[1200] =
      "\x80\x02](K\x01K\x01"
      "eq";
  unsigned char stream[2048];
  size_t count = 10;
  pickle[count++] = 0;
  pickle[count++] = '0';
  for (int i = 0; i < 60; i++) {
    const char level[] = {']', '(', 'h', (char)i, 'h', (char)i, 'e', 'q', (char)(i + 1), '0'};
    memcpy(pickle + count, level, sizeof level);
    count += sizeof level;
  }
  memcpy(pickle + count, "h\x3c.", 3);
  count += 3;
  BurnStatus status = BURN_OK;
  BurnStore *store = burn_store_open_bytes(stream, stream_of(pickle, count, stream), &status);
  assert_null(store);
  if (strstr(burn_status_message(status), "objects that contain each other too often") == NULL)
    fail_msg("%s", burn_status_message(status));
}

/* A byte of a pickle makes an object of 32: more than twice the file and 12 MB are not had. */
static void objects_take_no_more_than_the_file_may_ask_for(void **state) {
  (void)state;
  enum { BYTES = 1 << 20 };
  char *pickle = malloc(BYTES);
  unsigned char *stream = malloc(BYTES + 512);
  BurnStatus status = BURN_OK;
  memset(pickle, ']', BYTES);
  memcpy(pickle, "\x80\x02", 2);
  BurnStore *store = burn_store_open_bytes(stream, stream_of(pickle, BYTES, stream), &status);
  assert_null(store);
  if (strncmp(burn_status_message(status), "store: pytorch: byte ", 21) != 0 ||
      strstr(burn_status_message(status), "pickle: more objects than a file of this size has") == NULL)
    fail_msg("%s", burn_status_message(status));
  free(stream);
  free(pickle);
}

/* Every beginning of a file is refused, from `least` bytes on with a place. */
static void check_cuts(const unsigned char *bytes, size_t count, size_t least) {
  for (size_t cut = 0; cut < count; cut++) {
    BurnStatus status = BURN_OK;
    unsigned char *part = malloc(cut + 1);
    memcpy(part, bytes, cut);
    BurnStore *store = burn_store_open_bytes(part, cut, &status);
    if (store != NULL) fail_msg("%zu of %zu bytes are taken for a file", cut, count);
    const char *message = burn_status_message(status);
    if (cut > least && strstr(message, "byte") == NULL) fail_msg("cut at %zu: '%s' says no place", cut, message);
    free(part);
  }
}

static void cut_files_are_refused(void **state) {
  (void)state;
  check_cuts(pytorch_legacy, sizeof pytorch_legacy, 2);
  check_cuts(pytorch_state_dict, sizeof pytorch_state_dict, 2);
  check_cuts(pytorch_tar, 3584 + 99, 511); /* its last member; zeros after it are not needed */
}

static void damaged_values_are_noticed(void **state) {
  (void)state;
  unsigned char *bytes = malloc(sizeof pytorch_state_dict);
  BurnStatus status = BURN_OK;
  double values[2];
  memcpy(bytes, pytorch_state_dict, sizeof pytorch_state_dict);
  static const unsigned char two[] = {0, 0, 0, 0, 0, 0, 0xf4, 0x3f};
  for (size_t i = 0; i + sizeof two <= sizeof pytorch_state_dict; i++)
    if (memcmp(bytes + i, two, sizeof two) == 0) bytes[i] ^= 1;
  BurnStore *store = burn_store_open_bytes(bytes, sizeof pytorch_state_dict, &status);
  check_status(status);
  status = burn_store_read(store, burn_store_find(store, "double"), values, sizeof values);
  assert_non_null(strstr(burn_status_message(status), "model/data/1: its checksum is wrong"));
  burn_store_close(store);
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(state_dicts_are_read),
      cmocka_unit_test(other_byte_orders_are_turned),
      cmocka_unit_test(unsigned_integers_become_larger_ones),
      cmocka_unit_test(what_is_left_out_is_counted),
      cmocka_unit_test(other_dtypes_are_listed_and_refused),
      cmocka_unit_test(archives_of_old_are_read),
      cmocka_unit_test(checkpoints_are_read),
      cmocka_unit_test(modules_have_the_names_of_their_state_dicts),
      cmocka_unit_test(real_files_are_read),
      cmocka_unit_test(cve_code_in_the_file),
      cmocka_unit_test(cve_opcodes_and_storage_sizes),
      cmocka_unit_test(cve_tensor_larger_than_its_storage),
      cmocka_unit_test(cve_sizes_that_wrap),
      cmocka_unit_test(cve_offset_that_wraps),
      cmocka_unit_test(cve_tiny_file_huge_work),
      cmocka_unit_test(objects_take_no_more_than_the_file_may_ask_for),
      cmocka_unit_test(cut_files_are_refused),
      cmocka_unit_test(damaged_values_are_noticed),
  };
  return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
