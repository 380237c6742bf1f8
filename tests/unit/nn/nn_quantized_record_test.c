/* nn_quantized_record_test.c - quantized parameters in records: the bytes of Burn, both spellings of a scheme, what a
 * module takes over, hostile ones. */
#include "nn_testing.h"
#include "status_testing.h"

static void read_values(BurnTensor *x, float *values, size_t count) {
  const BurnStatus status = burn_read_f32(x, values, count);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
}

/* -- bytes by hand ------------------------------------------------------------------------------ */

typedef struct Bytes {
  uint8_t data[4096];
  size_t count;
} Bytes;

static void put(Bytes *bytes, const void *data, size_t count) {
  assert_true(bytes->count + count <= sizeof bytes->data);
  if (count) memcpy(bytes->data + bytes->count, data, count);
  bytes->count += count;
}
#define PUT(bytes, literal) put((bytes), (literal), sizeof(literal) - 1)

/* The dtype of a whole tensor's Q8S with one f32 scale, in MessagePack and in CBOR. */
/* clang-format off */
#define VALUE_Q8S "\xa5" "value" "\xa3" "Q8S"
#define STORE "\xa5" "store" "\x81\xa9" "PackedU32" "\x00"
#define MODE "\xa4" "mode" "\xa9" "Symmetric"
#define SCHEME_OF_0_20 "\x85" VALUE_Q8S "\xa5" "param" "\xa3" "F32" STORE "\xa5" "level" "\xa6" "Tensor" MODE
#define SCHEME_OF_0_21 "\x85" VALUE_Q8S STORE MODE "\xa6" "tensor" "\xc0" "\xa5" "block" "\xc0"
#define CBOR_OF_0_20 "\xa1\x66" "QFloat" "\xa5\x65" "value" "\x63" "Q8S" "\x65" "param" "\x63" "F32" "\x65" "store" \
  "\xa1\x69" "PackedU32" "\x00\x65" "level" "\x66" "Tensor" "\x64" "mode" "\x69" "Symmetric"
#define SIZE_2_1 "\x82\xa7" "storage" "\x95\x02\x01\x01\x01\x01" "\xa3" "len" "\x02"
#define BLOCKS_OF_0_20 "\x85" VALUE_Q8S "\xa5" "param" "\xa3" "F16" STORE "\xa5" "level" "\x81\xa5" "Block" SIZE_2_1 MODE
#define BLOCKS_OF_0_21 "\x85" VALUE_Q8S STORE MODE "\xa6" "tensor" "\xc0" "\xa5" "block" \
  "\x82\xa4" "size" SIZE_2_1 "\xa5" "dtype" "\xa3" "F16"
#define TWO_LEVELS "\x85" VALUE_Q8S STORE MODE "\xa6" "tensor" "\xa3" "F32" "\xa5" "block" \
  "\x82\xa4" "size" SIZE_2_1 "\xa5" "dtype" "\xa3" "F16"
/* clang-format on */

/* A record of a Linear {weight [2, 2], bias absent}. */
static Bytes linear_record(const void *scheme, size_t scheme_bytes, const void *data, size_t data_bytes) {
  Bytes bytes = {.count = 0};
  PUT(&bytes,
      "\x83\xa8metadata\x81\xa7version\xa6"
      "0.21.0\xa4item\x82\xa6weight\x82\xa2id\xad"
      "1000000000000\xa5param\x83\xa5"
      "bytes\xc4");
  put(&bytes, &(uint8_t){(uint8_t)data_bytes}, 1);
  put(&bytes, data, data_bytes);
  PUT(&bytes,
      "\xa5shape\x92\x02\x02\xa5"
      "dtype\x81\xa6QFloat");
  put(&bytes, scheme, scheme_bytes);
  PUT(&bytes,
      "\xa4"
      "bias\xc0\xa2_b\x90");
  return bytes;
}
#define LINEAR_RECORD(scheme, data) linear_record(scheme, sizeof(scheme) - 1, data, sizeof(data) - 1)

static BurnLinear small_linear(BurnDevice *device) {
  BurnLinearConfig config = BurnLinearConfig_defaults(2, 2);
  config.bias = false;
  return burn_linear_init(&config, device);
}

/* values 1, 2, -3, 127; one scale 0.5 */
#define FOUR_VALUES "\x01\x02\xfd\x7f"
#define ONE_SCALE FOUR_VALUES "\x00\x00\x00\x3f"
/* f16 scales 0.5 and 2, one per column; then a global scale 0.25 */
#define TWO_SCALES FOUR_VALUES "\x00\x38\x00\x40"
#define THREE_SCALES TWO_SCALES "\x00\x00\x80\x3e"

static void assert_weight(BurnDevice *device, const Bytes *bytes, const float expected[4]) {
  BurnLinear m = small_linear(device);
  float found[4];
  check_status(burn_record_from_bytes(burn_module(BurnLinear, &m), bytes->data, bytes->count, NULL));
  assert_int_equal(BURN_DTYPE_I8, burn_dtype(m.weight.value));
  assert_false(burn_is_require_grad(m.weight.value));
  read_values(burn_param_value(&m.weight), found, 4);
  for (int i = 0; i < 4; i++) assert_true(found[i] == expected[i]);
  burn_module_release(burn_module(BurnLinear, &m));
}

static void test_both_spellings_are_read(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  const float one[4] = {0.5f, 1, -1.5f, 63.5f}, two[4] = {0.5f, 4, -1.5f, 254}, three[4] = {0.125f, 1, -0.375f, 63.5f};
  Bytes bytes = LINEAR_RECORD(SCHEME_OF_0_20, ONE_SCALE);
  assert_weight(device, &bytes, one);
  bytes = LINEAR_RECORD(SCHEME_OF_0_21, ONE_SCALE);
  assert_weight(device, &bytes, one);
  bytes = LINEAR_RECORD(BLOCKS_OF_0_20, TWO_SCALES);
  assert_weight(device, &bytes, two);
  bytes = LINEAR_RECORD(BLOCKS_OF_0_21, TWO_SCALES);
  assert_weight(device, &bytes, two);
  bytes = LINEAR_RECORD(TWO_LEVELS, THREE_SCALES);
  assert_weight(device, &bytes, three);
}

static bool has_bytes(const uint8_t *bytes, size_t count, const void *wanted, size_t wanted_count) {
  for (size_t i = 0; i + wanted_count <= count; i++) {
    if (memcmp(bytes + i, wanted, wanted_count) == 0) return true;
  }
  return false;
}

/* Ends the bytes. */
static void assert_written(BurnModule module, uint32_t format, const void *wanted, size_t wanted_count) {
  const BurnRecordConfig config = {format, BURN_PRECISION_HALF}; /* which leaves quantized bytes alone */
  uint8_t *bytes = NULL;
  size_t count = 0;
  check_status(burn_record_to_bytes(module, &config, &bytes, &count));
  assert_true(has_bytes(bytes, count, wanted, wanted_count));
  free(bytes);
}

static void test_bytes_are_burns(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnLinear m = small_linear(device);
  const BurnModule module = burn_module(BurnLinear, &m);
  const Bytes bytes = LINEAR_RECORD(SCHEME_OF_0_21, ONE_SCALE);
  check_status(burn_record_from_bytes(module, bytes.data, bytes.count, NULL));
  static const char mpk[] =
      "\xa5"
      "bytes\xc4\x08" ONE_SCALE
      "\xa5shape\x92\x02\x02\xa5"
      "dtype\x81\xa6QFloat" SCHEME_OF_0_20;
  assert_written(module, BURN_RECORD_MPK, mpk, sizeof mpk - 1);
  assert_written(module, BURN_RECORD_BPK, ONE_SCALE, sizeof ONE_SCALE - 1);
  assert_written(module, BURN_RECORD_BPK, CBOR_OF_0_20, sizeof CBOR_OF_0_20 - 1);
  const Bytes levels = LINEAR_RECORD(TWO_LEVELS, THREE_SCALES);
  check_status(burn_record_from_bytes(module, levels.data, levels.count, NULL));
  assert_written(module, BURN_RECORD_MPK, THREE_SCALES, sizeof THREE_SCALES - 1);
  burn_module_release(module);
}

/* -- round trips -------------------------------------------------------------------------------- */

#define NET_FIELDS(X)            \
  X(BurnLinear, fc1, "6 -> 4")   \
  X(BurnBatchNorm, norm, "of 4") \
  X(BurnLinear, fc2, "4 -> 3")
BURN_MODULE(Net, NET_FIELDS);

static Net net_init(BurnDevice *device) {
  return (Net){burn_linear_new(6, 4, device), burn_batch_norm_new(4, device), burn_linear_new(4, 3, device)};
}

static BurnTensor *net_forward(const Net *net, int k) {
  BurnDevice *device = burn_tensor_device(net->fc1.weight.value);
  BurnTensor *x = burn_linear_forward(&net->fc1, nn_pattern(device, BURN_SHAPE(5, 6), k));
  return burn_linear_forward(&net->fc2, burn_relu(burn_batch_norm_forward(&net->norm, x)));
}

static void assert_same_output(const Net *net, const Net *other) {
  float y[15], z[15];
  read_values(net_forward(net, 3), y, 15);
  read_values(net_forward(other, 3), z, 15);
  assert_memory_equal(y, z, sizeof y);
}

static BurnQuantizer quantizer_of(BurnQuantValue value, int64_t block, bool two_level) {
  BurnQuantizer quantizer = {BURN_QUANT_MIN_MAX, BURN_QUANT_SCHEME, NULL};
  quantizer.scheme.value = value;
  quantizer.scheme.block_rank = block > 0;
  quantizer.scheme.block[0] = block;
  quantizer.scheme.two_level = two_level;
  return quantizer;
}

/* A plain module of another device becomes quantized, one that is quantized otherwise changes, and a plain record makes
 * it plain again. */
static void round_trip(NnDevices *devices, uint32_t format, const BurnQuantizer *quantizer) {
  const BurnRecordConfig config = {format, BURN_PRECISION_FULL};
  uint8_t *bytes = NULL, *plain = NULL;
  size_t count = 0, plain_count = 0;
  Net net = net_init(devices->plain), other = net_init(devices->training);
  check_status(burn_record_to_bytes(burn_module(Net, &net), &config, &plain, &plain_count));
  Net before = Net_clone(&net);
  check_status(burn_module_quantize_weights(burn_module(Net, &net), quantizer));
  check_status(burn_record_to_bytes(burn_module(Net, &net), &config, &bytes, &count));
  check_status(burn_record_from_bytes(burn_module(Net, &other), bytes, count, &config));
  Net valid = Net_valid(&other);
  assert_int_equal(BURN_DTYPE_I8, burn_dtype(valid.fc1.weight.value));
  assert_int_equal(net.fc1.weight.id, valid.fc1.weight.id);
  assert_same_output(&net, &valid);
  Net_release(&valid);
  check_status(burn_module_quantize_inputs(burn_module(Net, &other), NULL));
  check_status(burn_record_from_bytes(burn_module(Net, &other), plain, plain_count, &config));
  assert_int_equal(BURN_DTYPE_F32, burn_dtype(other.fc1.weight.value));
  assert_false(burn_param_quantizes_input(&other.fc1.weight));
  valid = Net_valid(&other);
  assert_same_output(&before, &valid);
  Net_release(&valid);
  Net_release(&before);
  Net_release(&other);
  Net_release(&net);
  free(bytes);
  free(plain);
}

static void test_round_trips(void **state) {
  const BurnQuantizer whole = quantizer_of(BURN_QUANT_Q8F, 0, false), four = quantizer_of(BURN_QUANT_Q4S, 1, false),
                      levels = quantizer_of(BURN_QUANT_Q2F, 1, true);
  const BurnQuantizer *const quantizers[] = {&whole, &four, &levels};
  for (size_t i = 0; i < 3; i++) {
    round_trip(*state, BURN_RECORD_MPK, quantizers[i]);
    round_trip(*state, BURN_RECORD_MPK_GZ, quantizers[i]);
    round_trip(*state, BURN_RECORD_BPK, quantizers[i]);
    round_trip(*state, BURN_RECORD_JSON, quantizers[i]);
    round_trip(*state, BURN_RECORD_JSON_GZ, quantizers[i]);
  }
}

/* The scales of inputs come back to the bit. */
static void test_scales_of_inputs(void **state) {
  NnDevices *devices = *state;
  const uint32_t formats[] = {BURN_RECORD_MPK, BURN_RECORD_BPK, BURN_RECORD_JSON};
  BurnCalibration *calibration = NULL;
  Net net = net_init(devices->plain);
  check_status(burn_calibration_begin(burn_module(Net, &net), NULL, &calibration));
  burn_drop(net_forward(&net, 1));
  check_status(burn_calibration_end(calibration));
  for (int i = 0; i < 3; i++) {
    const BurnRecordConfig config = {formats[i], BURN_PRECISION_HALF};
    uint8_t *bytes = NULL;
    size_t count = 0;
    Net other = net_init(devices->plain);
    check_status(burn_record_to_bytes(burn_module(Net, &net), &config, &bytes, &count));
    check_status(burn_record_from_bytes(burn_module(Net, &other), bytes, count, &config));
    assert_true(burn_param_quantizes_input(&other.fc2.weight));
    assert_false(burn_param_quantizes_input(&other.norm.gamma));
    burn_buffer_set(&other.norm.running_mean, burn_buffer_value(&net.norm.running_mean)); /* f16 in the file */
    burn_buffer_set(&other.norm.running_var, burn_buffer_value(&net.norm.running_var));
    assert_same_output(&net, &other);
    Net_release(&other);
    free(bytes);
  }
  Net_release(&net);
}

static const char *detail_of(const BurnRecordReport *report, const char *path) {
  for (size_t i = 0; i < report->count; i++) {
    if (strcmp(report->entries[i].path, path) == 0) return report->entries[i].detail;
  }
  return "?";
}

/* Loading with options takes the same, in either form of a record, and tells what it was. */
static void test_loading_with_options(void **state) {
  NnDevices *devices = *state;
  const uint32_t formats[] = {BURN_RECORD_MPK, BURN_RECORD_BPK, BURN_RECORD_JSON_GZ};
  BurnCalibration *calibration = NULL;
  Net net = net_init(devices->plain);
  check_status(burn_calibration_begin(burn_module(Net, &net), NULL, &calibration));
  burn_drop(net_forward(&net, 1));
  check_status(burn_calibration_end(calibration));
  for (int i = 0; i < 3; i++) {
    const BurnRecordConfig config = {formats[i], BURN_PRECISION_FULL};
    const BurnRecordLoad cast = {.dtypes = BURN_DTYPES_CAST_TO_MODULE};
    BurnRecordReport report = {.count = 0};
    uint8_t *bytes = NULL;
    size_t count = 0;
    Net other = net_init(devices->plain);
    check_status(
        burn_record_to_bytes(burn_module(Net, &other), &config, &bytes, &count)); /* floats: it is quantized first */
    check_status(burn_module_quantize_weights(burn_module(Net, &other), NULL));
    check_status(burn_record_from_bytes_with(burn_module(Net, &other), bytes, count, &config, NULL, &report));
    assert_string_equal("[6,4] f32", detail_of(&report, "fc1.weight"));
    assert_int_equal(BURN_DTYPE_F32, burn_dtype(other.fc1.weight.value));
    burn_record_report_release(&report);
    free(bytes);
    check_status(burn_record_to_bytes(burn_module(Net, &net), &config, &bytes, &count));
    check_status(burn_record_from_bytes_with(burn_module(Net, &other), bytes, count, &config, &cast, &report));
    assert_int_equal(8, report.counts[BURN_RECORD_LOADED]);
    assert_int_equal(8, report.count);
    assert_string_equal("[6,4] Q8F", detail_of(&report, "fc1.weight"));
    assert_true(burn_param_quantizes_input(&other.fc2.weight));
    assert_same_output(&net, &other);
    burn_record_report_release(&report);
    Net_release(&other);
    free(bytes);
  }
  Net_release(&net);
}

/* Schemes are not written into a .bin. */
static void test_bin_is_refused(void **state) {
  const BurnRecordConfig config = {BURN_RECORD_BIN, BURN_PRECISION_FULL};
  Net net = net_init(((NnDevices *)*state)->plain);
  uint8_t *bytes = NULL;
  size_t count = 0;
  check_status(burn_module_quantize_weights(burn_module(Net, &net), NULL));
  const BurnStatus status = burn_record_to_bytes(burn_module(Net, &net), &config, &bytes, &count);
  assert_string_equal(
      "save to bytes: fc1: weight: quantized, which is not written into a .bin: save it as .mpk, .json or .bpk",
      burn_status_message(status));
  assert_int_equal(BURN_STATUS_UNIMPLEMENTED, burn_status_code(status));
  assert_null(bytes);
  Net_release(&net);
}

/* A tree gives the floats. */
static void test_values_are_floats(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnLinear m = small_linear(device);
  const Bytes bytes = LINEAR_RECORD(SCHEME_OF_0_20, ONE_SCALE);
  float found[4];
  check_status(burn_record_from_bytes(burn_module(BurnLinear, &m), bytes.data, bytes.count, NULL));
  BurnValue *tree = burn_value_module(burn_module(BurnLinear, &m));
  read_values(burn_value_as_tensor(burn_value_get(burn_value_get(tree, "weight"), "param"), device), found, 4);
  assert_true(found[0] == 0.5f && found[1] == 1 && found[2] == -1.5f && found[3] == 63.5f);
  burn_value_destroy(tree);
  burn_module_release(burn_module(BurnLinear, &m));
}

/* -- hostile records ---------------------------------------------------------------------------- */

static void assert_refused(BurnDevice *device, const Bytes *bytes, const char *message) {
  BurnLinear m = small_linear(device);
  const BurnStatus status = burn_record_from_bytes(burn_module(BurnLinear, &m), bytes->data, bytes->count, NULL);
  const char *found = strstr(burn_status_message(status), "tensor: ");
  if (!found) fail_msg("%s", burn_status_message(status));
  assert_string_equal(message, found);
  assert_int_equal(BURN_STATUS_CORRUPT_DATA, burn_status_code(status));
  assert_int_equal(BURN_DTYPE_F32, burn_dtype(m.weight.value));
  burn_module_release(burn_module(BurnLinear, &m));
}

#define ASSERT_REFUSED(scheme, data, message)          \
  do {                                                 \
    const Bytes refused = LINEAR_RECORD(scheme, data); \
    assert_refused(device, &refused, message);         \
  } while (0)

static void test_hostile_schemes(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  ASSERT_REFUSED(SCHEME_OF_0_20, FOUR_VALUES,
                 "tensor: 4 bytes do not make shape [2,2] of quantized Q8S with its scales");
  ASSERT_REFUSED(SCHEME_OF_0_20, TWO_SCALES "\x00",
                 "tensor: 9 bytes do not make shape [2,2] of quantized Q8S with its scales");
  ASSERT_REFUSED(BLOCKS_OF_0_20, ONE_SCALE "\x00\x00\x00\x00",
                 "tensor: 12 bytes do not make shape [2,2] of quantized Q8S with its scales");
  ASSERT_REFUSED("\xa6Tensor", ONE_SCALE, "tensor: QFloat with a scheme that is not a map");
  ASSERT_REFUSED("\x81" VALUE_Q8S, ONE_SCALE, "tensor: QFloat with a mode that is not Symmetric");
  ASSERT_REFUSED("\x82" MODE
                 "\xa5value\xa4"
                 "E4M3",
                 ONE_SCALE, "tensor: QFloat of values \"E4M3\", which are not supported");
  ASSERT_REFUSED("\x82" MODE VALUE_Q8S, ONE_SCALE,
                 "tensor: QFloat with a store that is not supported: PackedU32 along the last axis, or Native with 8 "
                 "bits, expected");
  ASSERT_REFUSED("\x84" MODE VALUE_Q8S STORE "\xa5level\xa6Tensor", ONE_SCALE,
                 "tensor: QFloat with scales of \"?\", not F32, F16 or BF16");
  ASSERT_REFUSED("\x85" MODE VALUE_Q8S STORE
                 "\xa5param\xa3"
                 "F32\xa5level\xa6Tenson",
                 ONE_SCALE, "tensor: QFloat with a level that is neither Tensor nor Block");
#define BLOCK_OF(size)        \
  "\x85" MODE VALUE_Q8S STORE \
  "\xa5param\xa3"             \
  "F32\xa5level\x81\xa5"      \
  "Block" size
  ASSERT_REFUSED(BLOCK_OF("\x82\xa7storage\x91\x01\xa3len\x02"), ONE_SCALE,
                 "tensor: QFloat with a block that is no {storage, len} of up to 5 sizes");
  ASSERT_REFUSED(BLOCK_OF("\x82\xa7storage\x96\x01\x01\x01\x01\x01\x01\xa3len\x06"), ONE_SCALE,
                 "tensor: QFloat with a block that is no {storage, len} of up to 5 sizes");
  ASSERT_REFUSED(BLOCK_OF("\x82\xa7storage\x91\x00\xa3len\x01"), ONE_SCALE,
                 "tensor: QFloat with a block with a size below 1");
  ASSERT_REFUSED(BLOCK_OF("\x82\xa7storage\x91\x03\xa3len\x01"), ONE_SCALE,
                 "tensor: 8 bytes do not make shape [2,2] of quantized Q8S with its scales");
  ASSERT_REFUSED("\x85" MODE VALUE_Q8S STORE
                 "\xa6tensor\xa3"
                 "F16\xa5"
                 "block\x80",
                 ONE_SCALE, "tensor: QFloat with a global scale that is not F32");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_both_spellings_are_read),
      cmocka_unit_test(test_bytes_are_burns),
      cmocka_unit_test(test_round_trips),
      cmocka_unit_test(test_scales_of_inputs),
      cmocka_unit_test(test_loading_with_options),
      cmocka_unit_test(test_bin_is_refused),
      cmocka_unit_test(test_values_are_floats),
      cmocka_unit_test(test_hostile_schemes),
  };
  return test_stacks_result(cmocka_run_group_tests(tests, nn_setup, nn_teardown));
}
