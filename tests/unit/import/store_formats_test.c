/* store_formats_test.c - every format by files that somebody else's program wrote, and cut at every offset. */
#include "store_testing.h"

#include <burn/numpy.h>

#include <burn/zip.h>

#include <math.h>

static const struct {
  const char *name;
  const uint8_t *bytes;
  size_t count;
} npz_files[] = {
#define NPZ_BYTES(name, bytes) {#name, (const uint8_t *)(bytes), sizeof(bytes) - 1},
#include "npz_bytes.def"
#undef NPZ_BYTES
};

/* Tensors, elements, and the sum of the f32 values, as the Python package of safetensors reads them. */
static const struct {
  const char *file, *format, *first;
  size_t count, elements;
  double sum;
} real_files[] = {
    {"burn/mnist.safetensors", "safetensors", "conv1.bias", 20, 376940, 213.0593599716746},
    {"safetensors/silero_vad_16k.safetensors", "safetensors", "conv1.bias", 15, 309633, -245.02884468938817},
    {"safetensors/tiny_t5.safetensors", "safetensors", "decoder.block.0.layer.0.SelfAttention.k.weight", 47, 10976,
     54.8092181854845},
};

static BurnStore *open_data(const char *name) {
  const Path path = data_path(name);
  if (!path.text[0]) {
    printf("skipped: no models/%s\n", name);
    skip();
  }
  BurnStatus status = BURN_OK;
  BurnStore *store = burn_store_open(path.text, &status);
  check_status(status);
  return store;
}

static void test_real_files(void **state) {
  const Fixture *fixture = *state;
  for (size_t i = 0; i < sizeof real_files / sizeof real_files[0]; i++) {
    BurnStore *store = open_data(real_files[i].file);
    double sum = 0;
    size_t elements = 0;
    assert_string_equal(burn_store_format(store), real_files[i].format);
    assert_int_equal(burn_store_count(store), real_files[i].count);
    assert_true(burn_store_find(store, real_files[i].first) < real_files[i].count);
    for (size_t k = 0; k < burn_store_count(store); k++) {
      const BurnStoreEntry *entry = burn_store_entry(store, k);
      BurnTensor *x = burn_store_tensor(store, entry->name, fixture->device);
      const size_t count = (size_t)burn_element_count(x);
      double *values = malloc(count * sizeof *values);
      elements += count;
      check_status(burn_read_f64(x, values, count));
      for (size_t j = 0; j < count && entry->dtype == BURN_DTYPE_F32; j++) sum += values[j];
      free(values);
    }
    assert_int_equal(elements, real_files[i].elements);
    if (fabs(sum - real_files[i].sum) > 1e-6) fail_msg("%s: sum %.12g", real_files[i].file, sum);
    burn_store_close(store);
  }
}

/* Bits as its README has them: 0, the smallest subnormal, 1, inf, NaN. */
static void test_half_dtypes(void **state) {
  (void)state;
  static const struct {
    const char *file;
    BurnDType dtype;
    uint16_t bits[5];
  } halves[] = {{"safetensors/bf16_bit_exact.safetensors", BURN_DTYPE_BF16, {0, 1, 0x3f80, 0x7f80, 0x7fc1}},
                {"safetensors/f16_bit_exact.safetensors", BURN_DTYPE_F16, {0, 1, 0x3c00, 0x7c00, 0x7e01}}};
  for (size_t i = 0; i < 2; i++) {
    BurnStore *store = open_data(halves[i].file);
    uint16_t bits[5];
    assert_int_equal(burn_store_entry(store, 0)->dtype, halves[i].dtype);
    check_status(burn_store_read(store, 0, bits, sizeof bits));
    assert_memory_equal(bits, halves[i].bits, sizeof bits);
    burn_store_close(store);
  }
}

static void test_burn(void **state) {
  (void)state;
  BurnStore *store = open_data("burn/model.bpk");
  assert_string_equal(burn_store_format(store), "burn");
  assert_string_equal(burn_value_as_text(burn_value_get(burn_store_metadata(store), "burn.format"), ""), "bpk");
  assert_int_equal(burn_store_count(store), 18);
  const BurnStoreEntry *entry = burn_store_entry(store, burn_store_find(store, "fc3.weight"));
  assert_string_equal(burn_shape_text(entry->shape).text, "[128,10]");
  assert_string_equal(entry->file_dtype, "f32");
  assert_int_equal(entry->bytes, 128 * 10 * 4);
  burn_store_close(store);
}

/* Members that end with their header, or a byte after it: of no values, of one flag. */
static void test_npz_of_small_members(void **state) {
  const Fixture *fixture = *state;
  const Path path = path_in(fixture, "small.npz");
  static const uint8_t seven = 7;
  for (int deflated = 0; deflated < 2; deflated++) {
    BurnTensor *tensors[] = {burn_zeros(fixture->device, BURN_SHAPE(0, 3), BURN_DTYPE_F32),
                             burn_tensor_from(fixture->device, &seven, BURN_DTYPE_U8, BURN_SHAPE(1))};
    check_status(burn_npz_write(path.text, (const char *const[]){"none", "one"}, tensors, 2, deflated != 0));
    BurnStatus status = BURN_OK;
    BurnStore *store = burn_store_open(path.text, &status);
    check_status(status);
    assert_int_equal(burn_store_count(store), 2);
    assert_int_equal(burn_store_entry(store, burn_store_find(store, "none"))->shape.dims[1], 3);
    uint8_t value = 0;
    check_status(burn_store_read(store, burn_store_find(store, "one"), &value, 1));
    assert_int_equal(value, 7);
    burn_store_close(store);
  }
}

static void test_npz(void **state) {
  const Fixture *fixture = *state;
  for (size_t i = 0; i < sizeof npz_files / sizeof npz_files[0]; i++) {
    BurnStatus status = BURN_OK;
    BurnStore *store = burn_store_open_bytes(npz_files[i].bytes, npz_files[i].count, &status);
    check_status(status);
    assert_string_equal(burn_store_format(store), "npz");
    assert_int_equal(burn_store_count(store), 3);
    const BurnStoreEntry *scalar = burn_store_entry(store, burn_store_find(store, "s"));
    assert_true(scalar->scalar);
    assert_string_equal(scalar->file_dtype, "float64");
    assert_values(store, "a", fixture->device, (const double[]){0, 1, 2, 3}, 4);
    assert_values(store, "s", fixture->device, (const double[]){2.5}, 1);
    assert_values(store, "f", fixture->device, (const double[]){0, 1, 2, 3, 4, 5}, 6);
    burn_store_close(store);
  }
}

/* The members of an archive by torch.export.save of PyTorch 2.15, and by that of earlier ones: weights are found in neither, and
 * the message says how to get them. */
static void test_exported_program(void **state) {
  const Fixture *fixture = *state;
  static const char *const newer[] = {"m/data/weights/weight_0", "m/data/weights/model_weights_config.json",
                                      "m/models/model.json",     "m/data/sample_inputs/model.pt",
                                      "m/archive_format",        "m/archive_version"};
  static const char *const older[] = {"version", "serialized_exported_program.json", "serialized_state_dict.pt",
                                      "serialized_constants.pt"};
  const struct {
    const char *const *names;
    size_t count;
  } archives[] = {{newer, 6}, {older, 4}};
  for (size_t i = 0; i < 2; i++) {
    BurnZipEntry entries[6];
    uint8_t *bytes = NULL;
    size_t count = 0;
    char expected[1024];
    BurnStatus status = BURN_OK;
    const Path path = path_in(fixture, "model.pt2");
    for (size_t k = 0; k < archives[i].count; k++)
      entries[k] = (BurnZipEntry){archives[i].names[k], (const uint8_t *)"pt2", 3};
    check_status(burn_zip_make(entries, archives[i].count, false, &bytes, &count));
    check_status(burn_file_write(path.text, bytes, count));
    free(bytes);
    assert_null(burn_store_open(path.text, &status));
    (void)snprintf(expected, sizeof expected,
                   "store: %s: pytorch: an exported program (torch.export), which is more than weights. Save these in "
                   "Python, and open what that writes: torch.save(torch.export.load(\"model.pt2\").state_dict, "
                   "\"model.pt\")",
                   path.text);
    assert_string_equal(burn_status_message(status), expected);
  }
}

static void test_npy(void **state) {
  const Fixture *fixture = *state;
  BurnStore *store = open_data("burn/mnist_pt_logsoftmax_test0-15.npy");
  assert_int_equal(burn_store_count(store), 1);
  assert_string_equal(burn_shape_text(burn_store_entry(store, 0)->shape).text, "[16,10]");
  BurnTensor *x = burn_store_tensor(store, "array", fixture->device);
  double sum = 0;
  check_status(burn_read_scalar(burn_sum(burn_exp(x)), &sum));
  assert_true(fabs(sum - 16) < 1e-4); /* each row of a softmax has the sum 1 */
  burn_store_close(store);
}

/* -- cut files -------------------------------------------------------------------------------- */

/* Whatever is cut off, there is a message with the file and a place, and no tensor of it can be read past the end. */
static void assert_refuses_cuts(const Fixture *fixture, const uint8_t *bytes, size_t count) {
  const Path path = path_in(fixture, "cut");
  for (size_t length = 0; length < count; length++) {
    BurnStatus status = BURN_OK;
    uint8_t *exact = malloc(length + !length); /* so that a sanitizer sees a byte too many */
    assert_non_null(exact);
    memcpy(exact, bytes, length);
    BurnStore *store = burn_store_open_bytes(exact, length, &status);
    if (store) fail_msg("%zu of %zu bytes are taken for a file", length, count);
    if (!strstr(burn_status_message(status), "byte")) fail_msg("%zu bytes: %s", length, burn_status_message(status));
    free(exact);
  }
  BurnStatus status = BURN_OK;
  check_status(burn_file_write(path.text, bytes, count - 1));
  assert_null(burn_store_open(path.text, &status));
  assert_non_null(strstr(burn_status_message(status), path.text));
}

static void test_cuts(void **state) {
  const Fixture *fixture = *state;
  static MadeFile file;
  const Made tensors[] = {{"a", 2, {2, 3}, 1}, {"b.c", 0, {0}, 2}, {"d", 1, {3}, 3}};
  make_safetensors(&file, tensors, 3);
  assert_refuses_cuts(fixture, file.bytes, file.count);
  for (size_t i = 0; i < sizeof npz_files / sizeof npz_files[0]; i++)
    assert_refuses_cuts(fixture, npz_files[i].bytes, npz_files[i].count);
  /* The array of the first member of the stored archive is a .npy file, 144 bytes in all. */
  assert_refuses_cuts(fixture, npz_files[0].bytes + 55, 144);
  BurnDevice *device = fixture->device;
  BurnValue *map = burn_value_map();
  const Path record = path_in(fixture, "record");
  uint8_t *bytes = NULL;
  size_t count = 0;
  assert_true(burn_value_set(map, "w", burn_value_tensor(burn_ones(device, BURN_SHAPE(2, 3), BURN_DTYPE_F32))));
  for (uint32_t format = BURN_RECORD_MPK; format <= BURN_RECORD_JSON_GZ; format++) {
    static const char *const extensions[] = {"mpk", "mpk.gz", "bpk", "json", "json.gz"};
    char name[64];
    (void)snprintf(name, sizeof name, "record.%s", extensions[format]);
    check_status(burn_value_write(map, record.text, &(BurnRecordConfig){.format = format}));
    check_status(burn_file_read(path_in(fixture, name).text, 1 << 20, &bytes, &count));
    assert_refuses_cuts(fixture, bytes, count);
    free(bytes);
  }
  burn_value_destroy(map);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_real_files), cmocka_unit_test(test_half_dtypes),          cmocka_unit_test(test_burn),
      cmocka_unit_test(test_npz),        cmocka_unit_test(test_npz_of_small_members), cmocka_unit_test(test_npy),
      cmocka_unit_test(test_cuts),       cmocka_unit_test(test_exported_program),
  };
  return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
