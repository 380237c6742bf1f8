/* nn_lora_test.c - low-rank adapters: what they compute, who learns, merging, copies and records. */
#include <burn/train.h>

#include "nn_gradients.h"
#include "status_testing.h"

#include "lora_golden.h"

#define NET_FIELDS(X)                \
  X(BurnEmbedding, table, "6 words") \
  X(BurnLinear, fc1, "3 -> 4")       \
  X(BurnLayerNorm, norm, "of 4")     \
  X(BurnLinear, fc2, "4 -> 2, no bias")
BURN_MODULE(Net, NET_FIELDS);

enum { NET_PARAMS = 6 * 3 + 3 * 4 + 4 + 4 + 4 + 4 * 2 };

static Net net_init(BurnDevice *device) {
  BurnLinearConfig last = BurnLinearConfig_defaults(4, 2);
  last.bias = false;
  return (Net){burn_embedding_new(6, 3, device), burn_linear_new(3, 4, device), burn_layer_norm_new(4, device),
               burn_linear_init(&last, device)};
}

static BurnTensor *net_forward(const Net *net, BurnTensor *words) {
  BurnTensor *x = burn_linear_forward(&net->fc1, burn_embedding_forward(&net->table, words));
  return burn_linear_forward(&net->fc2, burn_relu(burn_layer_norm_forward(&net->norm, x)));
}

static BurnTensor *words(BurnDevice *device) {
  return burn_tensor_i64(device, (const int64_t[]){0, 5, 1, 4, 2, 3}, BURN_SHAPE(2, 3));
}

static void check_refused(const char *message, BurnStatus status) {
  assert_string_equal(message, burn_status_message(status));
}

static BurnLoraConfig config_of(size_t rank, double alpha) { return BurnLoraConfig_defaults(rank, alpha); }

/* The factors of a weight. */
static const BurnParam *factor(const BurnParam *weight, bool second) {
  const BurnParam *a = NULL, *b = NULL;
  assert_true(burn_param_lora(weight, &a, &b, NULL));
  return second ? b : a;
}

/* Puts pattern k into a factor, as training would put other numbers there. */
static void set_factor(const BurnParam *weight, bool second, int k) {
  nn_set_pattern((BurnParam *)(uintptr_t)factor(weight, second), k);
}

/* Both factors of all three weights away from their first values. */
static void set_factors(Net *net) {
  BurnParam *const weights[] = {&net->table.weight, &net->fc1.weight, &net->fc2.weight};
  for (int i = 0; i < 3; i++) set_factor(weights[i], false, 10 + i), set_factor(weights[i], true, 20 + i);
}

static void read_values(const char *what, BurnTensor *x, float *values, size_t count) {
  assert_int_equal(count, burn_element_count(x));
  const BurnStatus status = burn_read_f32(x, values, count);
  if (status != BURN_OK) fail_msg("%s: %s", what, burn_status_message(status));
}

/* -- values and gradients ----------------------------------------------------------------------- */

static void test_linear_is_pytorchs(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnLinear m = burn_linear_new(5, 4, device);
  const BurnLoraConfig config = config_of(2, 6);
  nn_set_pattern(&m.weight, 4);
  nn_set_pattern(&m.bias, 5);
  check_status(burn_module_apply_lora(burn_module(BurnLinear, &m), &config, NULL));
  set_factor(&m.weight, false, 2);
  set_factor(&m.weight, true, 3);
  BurnTensor *x = nn_leaf(device, BURN_SHAPE(2, 3, 5), 1);
  NN_ASSERT_CASE(lora_linear, burn_linear_forward(&m, burn_clone(x)), x, factor(&m.weight, false)->value,
                 factor(&m.weight, true)->value);
  burn_drop(x);
  burn_module_release(burn_module(BurnLinear, &m));
}

static void test_embedding_is_pytorchs(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnEmbedding m = burn_embedding_new(6, 3, device);
  const BurnLoraConfig config = config_of(2, 6);
  nn_set_pattern(&m.weight, 6);
  check_status(burn_module_apply_lora(burn_module(BurnEmbedding, &m), &config, NULL));
  set_factor(&m.weight, false, 7);
  set_factor(&m.weight, true, 8);
  BurnTensor *rows = burn_tensor_i64(device, (const int64_t[]){5, 0, 2, 2}, BURN_SHAPE(2, 2));
  NN_ASSERT_CASE(lora_embedding, burn_embedding_forward(&m, rows), factor(&m.weight, false)->value,
                 factor(&m.weight, true)->value);
  burn_module_release(burn_module(BurnEmbedding, &m));
}

/* base + alpha / rank * a b, by three loops. */
static void test_value_is_the_formula(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  enum { IN = 3, RANK = 2, OUT = 4 };
  float base[IN * OUT], a[IN * RANK], b[RANK * OUT], found[IN * OUT];
  Net net = net_init(device);
  const BurnLoraConfig config = config_of(RANK, 3);
  double scale = 0;
  check_status(burn_module_apply_lora(burn_module(Net, &net), &config, NULL));
  set_factors(&net);
  read_values("base", burn_param_base(&net.fc1.weight), base, IN * OUT);
  read_values("a", burn_param_value(factor(&net.fc1.weight, false)), a, IN * RANK);
  read_values("b", burn_param_value(factor(&net.fc1.weight, true)), b, RANK * OUT);
  read_values("value", burn_param_value(&net.fc1.weight), found, IN * OUT);
  assert_true(burn_param_lora(&net.fc1.weight, NULL, NULL, &scale) && scale == 1.5);
  for (int i = 0; i < IN; i++) {
    for (int j = 0; j < OUT; j++) {
      double expected = (double)base[i * OUT + j];
      for (int k = 0; k < RANK; k++) expected += 1.5 * (double)a[i * RANK + k] * (double)b[k * OUT + j];
      assert_true(fabs((double)found[i * OUT + j] - expected) <= 1e-5);
    }
  }
  assert_false(burn_param_lora(&net.fc1.bias, NULL, NULL, NULL));
  Net_release(&net);
}

/* b is 0: nothing changes. a is N(0, 1 / rank^2). */
static void test_first_values(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  enum { SIZE = 500, RANK = 10 };
  static float before[SIZE * 2], after[SIZE * 2], a[SIZE * RANK];
  BurnLinear m = burn_linear_new(SIZE, 2, device);
  BurnLoraConfig config = config_of(RANK, 16);
  double mean = 0, square = 0;
  read_values("before", burn_param_value(&m.weight), before, SIZE * 2);
  check_status(burn_module_apply_lora(burn_module(BurnLinear, &m), &config, NULL));
  read_values("after", burn_param_value(&m.weight), after, SIZE * 2);
  assert_memory_equal(before, after, sizeof before);
  read_values("a", burn_param_value(factor(&m.weight, false)), a, SIZE * RANK);
  for (size_t i = 0; i < SIZE * RANK; i++) mean += (double)a[i] / (SIZE * RANK);
  for (size_t i = 0; i < SIZE * RANK; i++) square += ((double)a[i] - mean) * ((double)a[i] - mean) / (SIZE * RANK);
  assert_true(fabs(mean) < 0.01 && fabs(sqrt(square) - 0.1) < 0.01); /* 5000 numbers: errors of 0.0014 and 0.001 */
  check_status(burn_module_merge_lora(burn_module(BurnLinear, &m)));
  config.init_std = (BurnOptionF64){true, 0};
  check_status(burn_module_apply_lora(burn_module(BurnLinear, &m), &config, NULL));
  read_values("a", burn_param_value(factor(&m.weight, false)), a, SIZE * RANK);
  for (size_t i = 0; i < SIZE * RANK; i++) assert_true(a[i] == 0);
  burn_module_release(burn_module(BurnLinear, &m));
}

/* -- training ----------------------------------------------------------------------------------- */

typedef struct Names {
  char text[512];
  size_t used, count;
  bool trainable; /* those that ask for gradients only */
} Names;

static BurnStatus note(void *context, const BurnModuleTensor *tensor) {
  Names *names = context;
  if (names->trainable && !(tensor->param && burn_is_require_grad(tensor->param->value))) return BURN_OK;
  names->used += (size_t)snprintf(names->text + names->used, sizeof names->text - names->used, "%s%s",
                                  names->used ? " " : "", tensor->path);
  assert_true(names->used < sizeof names->text);
  names->count++;
  return BURN_OK;
}

static void assert_names(Net *net, bool trainable, const char *expected) {
  Names names = {.trainable = trainable};
  check_status(burn_module_visit(burn_module(Net, net), note, &names));
  assert_string_equal(expected, names.text);
}

static double loss_after_steps(Net *net, BurnDevice *device, int steps) {
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  double loss = 0;
  for (int i = 0; i < steps; i++) {
    BurnTensor *y = net_forward(net, words(device));
    BurnTensor *error = burn_sub(y, nn_pattern(device, BURN_SHAPE(2, 3, 2), 30));
    BurnTensor *mean = burn_mean(burn_mul(error, burn_clone(error))), *shown = burn_clone(mean);
    check_status(burn_train_step(optimizer, burn_module(Net, net), mean, 0.05));
    check_status(burn_read_scalar(shown, &loss));
  }
  burn_optimizer_destroy(optimizer);
  return loss;
}

static void test_only_the_adapter_learns(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  static const char *const layers[] = {"fc1", "fc2", NULL};
  float before[3][12], after[3][12], gamma[2][4];
  Net net = net_init(device);
  const BurnLoraConfig config = config_of(2, 4);
  check_status(burn_module_apply_lora(burn_module(Net, &net), &config, &(BurnParamGroup){.any_parts = layers}));
  assert_names(&net, true, "fc1.weight.lora.a fc1.weight.lora.b fc2.weight.lora.a fc2.weight.lora.b");
  assert_names(&net, false,
               "table.weight fc1.weight fc1.weight.lora.a fc1.weight.lora.b fc1.bias norm.gamma norm.beta fc2.weight "
               "fc2.weight.lora.a fc2.weight.lora.b");
  assert_int_equal(NET_PARAMS + (3 + 4) * 2 + (4 + 2) * 2, burn_module_num_params(burn_module(Net, &net)));
  read_values("base", burn_param_base(&net.fc1.weight), before[0], 12);
  read_values("a", burn_param_value(factor(&net.fc1.weight, false)), before[1], 6);
  read_values("b", burn_param_value(factor(&net.fc1.weight, true)), before[2], 8);
  read_values("gamma", burn_param_value(&net.norm.gamma), gamma[0], 4);
  const double first = loss_after_steps(&net, device, 1), last = loss_after_steps(&net, device, 60);
  assert_true(last < 0.8 * first);
  read_values("base", burn_param_base(&net.fc1.weight), after[0], 12);
  read_values("a", burn_param_value(factor(&net.fc1.weight, false)), after[1], 6);
  read_values("b", burn_param_value(factor(&net.fc1.weight, true)), after[2], 8);
  read_values("gamma", burn_param_value(&net.norm.gamma), gamma[1], 4);
  assert_memory_equal(before[0], after[0], sizeof before[0]); /* to the bit */
  assert_memory_equal(gamma[0], gamma[1], sizeof gamma[0]);
  assert_memory_not_equal(before[1], after[1], 6 * sizeof(float));
  assert_memory_not_equal(before[2], after[2], 8 * sizeof(float));
  burn_module_unfreeze(burn_module(Net, &net)); /* what has an adapter stays frozen */
  assert_names(&net, true,
               "table.weight fc1.weight.lora.a fc1.weight.lora.b fc1.bias norm.gamma norm.beta fc2.weight.lora.a "
               "fc2.weight.lora.b");
  Net_release(&net);
}

/* The weights are i8, and the adapters learn on them. */
static void test_adapters_on_quantized_weights(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  static const char *const weight[] = {"weight", NULL};
  const BurnParamGroup weights = {.any_parts = weight};
  const BurnQuantizer quantizer = {BURN_QUANT_MIN_MAX, BURN_QUANT_SCHEME, &weights};
  const BurnLoraConfig config = config_of(2, 4);
  int8_t before[12], after[12];
  Net net = net_init(device);
  check_status(burn_module_apply_qlora(burn_module(Net, &net), &config, NULL, &quantizer));
  assert_int_equal(BURN_DTYPE_I8, burn_dtype(net.fc1.weight.value));
  check_status(burn_read(burn_clone(net.fc1.weight.value), before, sizeof before));
  const double first = loss_after_steps(&net, device, 1), last = loss_after_steps(&net, device, 60);
  assert_true(last < 0.8 * first);
  check_status(burn_read(burn_clone(net.fc1.weight.value), after, sizeof after));
  assert_memory_equal(before, after, sizeof before);
  Net valid = Net_valid(&net);
  assert_false(burn_param_lora(&valid.fc1.weight, NULL, NULL, NULL));
  assert_int_equal(BURN_DTYPE_F32, burn_dtype(valid.fc1.weight.value));
  Net_release(&valid);
  Net_release(&net);
}

/* -- merging and copies ------------------------------------------------------------------------- */

static void assert_same_output(const Net *net, const Net *other, double tolerance) {
  float y[12], z[12];
  read_values("y", net_forward(net, words(burn_tensor_device(net->fc1.weight.value))), y, 12);
  read_values("z", net_forward(other, words(burn_tensor_device(other->fc1.weight.value))), z, 12);
  for (int i = 0; i < 12; i++) assert_true(fabs((double)y[i] - (double)z[i]) <= tolerance);
}

static void test_merged_is_unmerged(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  const BurnLoraConfig config = config_of(2, 1);
  Net net = net_init(device);
  check_status(burn_module_apply_lora(burn_module(Net, &net), &config, NULL));
  set_factors(&net);
  Net copy = Net_clone(&net), valid = Net_valid(&net);
  const uint64_t id = net.fc1.weight.id, a_id = factor(&net.fc1.weight, false)->id;
  assert_int_equal(a_id, factor(&copy.fc1.weight, false)->id);
  check_status(burn_module_merge_lora(burn_module(Net, &copy)));
  check_status(burn_module_merge_lora(burn_module(Net, &copy))); /* nothing left */
  assert_false(burn_param_lora(&copy.fc1.weight, NULL, NULL, NULL));
  assert_int_equal(id, copy.fc1.weight.id);
  assert_false(burn_is_require_grad(copy.fc1.weight.value));
  assert_same_output(&net, &copy, 1e-6);
  assert_false(burn_param_lora(&valid.fc1.weight, NULL, NULL, NULL));
  assert_same_output(&net, &valid, 1e-6);
  assert_names(&net, true,
               "table.weight.lora.a table.weight.lora.b fc1.weight.lora.a fc1.weight.lora.b fc2.weight.lora.a "
               "fc2.weight.lora.b");
  Net_release(&copy);
  Net_release(&valid);
  Net_release(&net);
}

/* Copies share nothing; on an autodiff device the factors ask for gradients and the weights do not. */
static void test_copies_and_devices(void **state) {
  NnDevices *devices = *state;
  const BurnLoraConfig config = config_of(2, 4);
  Net net = net_init(devices->plain), copy, forked;
  check_status(burn_module_apply_lora(burn_module(Net, &net), &config, NULL));
  set_factors(&net);
  burn_module_clone(burn_module(Net, &net), &copy);
  burn_module_fork(burn_module(Net, &net), devices->training, &forked);
  assert_same_output(&net, &copy, 0);
  assert_same_output(&net, &forked, 1e-5);
  assert_false(burn_is_require_grad(forked.fc1.weight.value));
  assert_true(burn_is_require_grad(factor(&forked.fc1.weight, true)->value));
  set_factor(&copy.fc1.weight, true, 40);
  float here[8], there[8];
  read_values("here", burn_param_value(factor(&net.fc1.weight, true)), here, 8);
  read_values("there", burn_param_value(factor(&copy.fc1.weight, true)), there, 8);
  assert_memory_not_equal(here, there, sizeof here);
  burn_module_to_device(burn_module(Net, &copy), devices->training);
  assert_false(burn_is_require_grad(copy.table.weight.value));
  assert_true(burn_tensor_device(factor(&copy.table.weight, false)->value) == devices->training);
  burn_param_set(&net.fc1.weight, nn_pattern(devices->plain, BURN_SHAPE(3, 4), 1));
  assert_false(burn_param_lora(&net.fc1.weight, NULL, NULL, NULL));
  Net_release(&net);
  Net_release(&copy);
  Net_release(&forked);
}

/* -- texts, records, refusals ------------------------------------------------------------------- */

static void test_texts(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnLinear m = burn_linear_new(4, 2, device);
  const BurnLoraConfig config = config_of(3, 6);
  check_status(burn_module_apply_lora(burn_module(BurnLinear, &m), &config, NULL));
  char *text = burn_module_text(burn_module(BurnLinear, &m));
  assert_string_equal("Linear {weight: [4,2] + lora 3, bias: [2], params: 28}", text);
  free(text);
  text = burn_module_summary_text(burn_module(BurnLinear, &m));
  assert_string_equal(
      "Linear\n"
      "path           layer   shape  parameters  state\n"
      "weight         Linear  [4,2]           8  frozen\n"
      "weight.lora.a  Linear  [4,3]          12  trainable\n"
      "weight.lora.b  Linear  [3,2]           6  trainable\n"
      "bias           Linear  [2]             2  frozen\n"
      "28 parameters: 18 trainable, 10 frozen, 0 in buffers",
      text);
  free(text);
  text = burn_config_text(burn_config(BurnLoraConfig, (BurnLoraConfig *)(uintptr_t)&config));
  BurnLoraConfig read = config_of(1, 1);
  check_status(burn_config_parse(burn_config(BurnLoraConfig, &read), text));
  assert_int_equal(3, read.rank);
  assert_true(read.alpha == 6 && !read.init_std.present && !read.dtype.text[0]);
  free(text);
  burn_module_release(burn_module(BurnLinear, &m));
}

static void round_trip(BurnDevice *device, uint32_t format) {
  const BurnRecordConfig record = {format, BURN_PRECISION_FULL};
  const BurnLoraConfig config = config_of(2, 4);
  uint8_t *bytes = NULL;
  size_t count = 0;
  Net net = net_init(device), other = net_init(device), plain = net_init(device);
  check_status(burn_module_apply_lora(burn_module(Net, &net), &config, NULL));
  check_status(burn_module_apply_lora(burn_module(Net, &other), &config, NULL));
  set_factors(&net);
  check_status(burn_record_to_bytes(burn_module(Net, &net), &record, &bytes, &count));
  check_status(burn_record_from_bytes(burn_module(Net, &other), bytes, count, &record));
  assert_same_output(&net, &other, 0);
  assert_int_equal(net.fc1.weight.id, other.fc1.weight.id);
  assert_int_equal(factor(&net.fc1.weight, true)->id, factor(&other.fc1.weight, true)->id);
  assert_names(&other, true,
               "table.weight.lora.a table.weight.lora.b fc1.weight.lora.a fc1.weight.lora.b fc2.weight.lora.a "
               "fc2.weight.lora.b");
  /* A record and a module must both have adapters, or neither. */
  const bool flat = format == BURN_RECORD_BPK;
  check_refused(flat ? "load from bytes: fc1.weight.lora.a: in the file, not in the module"
                     : "load from bytes: table.weight.lora: weights in the file, none in the module",
                burn_record_from_bytes(burn_module(Net, &plain), bytes, count, &record));
  free(bytes);
  check_status(burn_record_to_bytes(burn_module(Net, &plain), &record, &bytes, &count));
  check_refused("load from bytes: table.weight.lora.a: in the module, not in the file",
                burn_record_from_bytes(burn_module(Net, &other), bytes, count, &record));
  free(bytes);
  assert_same_output(&net, &other, 0);
  Net_release(&net);
  Net_release(&other);
  Net_release(&plain);
}

static void test_records(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  round_trip(device, BURN_RECORD_MPK);
  round_trip(device, BURN_RECORD_BPK);
  round_trip(device, BURN_RECORD_JSON);
}

/* With options the factors are tensors like any other: reported, and left out where the module has no place. */
static void load_with_options(BurnDevice *device, uint32_t format) {
  const BurnRecordConfig record = {format, BURN_PRECISION_FULL};
  const BurnLoraConfig config = config_of(2, 4);
  const BurnRecordLoad unused = {.allow_unused = true}, partial = {.allow_partial = true};
  BurnRecordReport report = {.count = 0};
  uint8_t *bytes = NULL;
  size_t count = 0;
  Net net = net_init(device), other = net_init(device), plain = net_init(device);
  check_status(burn_module_apply_lora(burn_module(Net, &net), &config, NULL));
  check_status(burn_module_apply_lora(burn_module(Net, &other), &config, NULL));
  set_factors(&net);
  check_status(burn_record_to_bytes(burn_module(Net, &net), &record, &bytes, &count));
  check_status(burn_record_from_bytes_with(burn_module(Net, &other), bytes, count, &record, NULL, &report));
  assert_int_equal(report.count, report.counts[BURN_RECORD_LOADED]);
  assert_same_output(&net, &other, 0);
  assert_int_equal(factor(&net.fc1.weight, true)->id, factor(&other.fc1.weight, true)->id);
  burn_record_report_release(&report);
  check_status(burn_record_from_bytes_with(burn_module(Net, &plain), bytes, count, &record, &unused, &report));
  assert_int_equal(6, report.counts[BURN_RECORD_UNUSED]);
  assert_string_equal("fc1.weight.lora.a", report.entries[report.count - 6].path);
  burn_record_report_release(&report);
  free(bytes);
  check_status(burn_record_to_bytes(burn_module(Net, &plain), &record, &bytes, &count));
  check_status(burn_record_from_bytes_with(burn_module(Net, &other), bytes, count, &record, &partial, &report));
  assert_int_equal(6, report.counts[BURN_RECORD_MISSING]);
  assert_same_output(&net, &other, 0);
  burn_record_report_release(&report);
  free(bytes);
  Net_release(&net);
  Net_release(&other);
  Net_release(&plain);
}

static void test_loading_with_options(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  load_with_options(device, BURN_RECORD_MPK);
  load_with_options(device, BURN_RECORD_BPK);
  load_with_options(device, BURN_RECORD_JSON_GZ);
}

static void test_bin_is_refused(void **state) {
  const BurnRecordConfig record = {BURN_RECORD_BIN, BURN_PRECISION_FULL};
  const BurnLoraConfig config = config_of(2, 4);
  uint8_t *bytes = NULL;
  size_t count = 0;
  BurnLinear m = burn_linear_new(4, 2, ((NnDevices *)*state)->training);
  check_status(burn_module_apply_lora(burn_module(BurnLinear, &m), &config, NULL));
  const BurnStatus status = burn_record_to_bytes(burn_module(BurnLinear, &m), &record, &bytes, &count);
  check_refused(
      "save to bytes: weight: it has an adapter, which is not written into a .bin: save it as .mpk, .json or .bpk",
      status);
  assert_int_equal(BURN_STATUS_UNIMPLEMENTED, burn_status_code(status));
  burn_module_release(burn_module(BurnLinear, &m));
}

static void test_refusals(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  static const char *const norm[] = {"norm", NULL}, *const misspelt[] = {"fc1.wieght", NULL};
  Net net = net_init(device);
  const BurnModule module = burn_module(Net, &net);
  BurnLoraConfig config = config_of(0, 4);
  check_refused("lora: rank is 0, 1 or more expected", burn_module_apply_lora(module, &config, NULL));
  config = config_of(2, (double)NAN);
  check_refused("lora: alpha is nan, a number expected", burn_module_apply_lora(module, &config, NULL));
  config = config_of(2, 4);
  (void)strcpy(config.dtype.text, "i8");
  check_refused("lora: dtype \"i8\" is none of f64, f32, f16 and bf16", burn_module_apply_lora(module, &config, NULL));
  config = config_of(2, 4);
  check_refused("lora: Net has no float parameter of rank 2 in the group",
                burn_module_apply_lora(module, &config, &(BurnParamGroup){.any_parts = norm}));
  check_refused("lora: a group has the parameter fc1.wieght, which Net has not",
                burn_module_apply_lora(module, &config, &(BurnParamGroup){.paths = misspelt}));
  assert_true(burn_is_require_grad(net.fc1.weight.value)); /* nothing was changed */
  check_status(burn_module_apply_lora(module, &config, NULL));
  check_refused("table.weight: lora: it has an adapter: burn_module_merge_lora first",
                burn_module_apply_lora(module, &config, NULL));
  Net_release(&net);
}

/* Factors of a dtype of their own: the weight keeps its. */
static void test_dtype_of_factors(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnLinear m = burn_linear_new(4, 2, device);
  BurnLoraConfig config = config_of(2, 4);
  (void)strcpy(config.dtype.text, "f16");
  check_status(burn_module_apply_lora(burn_module(BurnLinear, &m), &config, NULL));
  assert_int_equal(BURN_DTYPE_F16, burn_dtype(factor(&m.weight, false)->value));
  BurnTensor *value = burn_param_value(&m.weight);
  assert_int_equal(BURN_DTYPE_F32, burn_dtype(value));
  burn_drop(value);
  check_status(burn_module_merge_lora(burn_module(BurnLinear, &m)));
  check_status(burn_module_apply_qlora(burn_module(BurnLinear, &m), &config, NULL, NULL));
  value = burn_param_value(&m.weight); /* what is quantized becomes floats of the factors' dtype, as in Burn */
  assert_int_equal(BURN_DTYPE_F16, burn_dtype(value));
  burn_drop(value);
  burn_module_release(burn_module(BurnLinear, &m));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_linear_is_pytorchs),
      cmocka_unit_test(test_embedding_is_pytorchs),
      cmocka_unit_test(test_value_is_the_formula),
      cmocka_unit_test(test_first_values),
      cmocka_unit_test(test_only_the_adapter_learns),
      cmocka_unit_test(test_adapters_on_quantized_weights),
      cmocka_unit_test(test_merged_is_unmerged),
      cmocka_unit_test(test_copies_and_devices),
      cmocka_unit_test(test_texts),
      cmocka_unit_test(test_records),
      cmocka_unit_test(test_loading_with_options),
      cmocka_unit_test(test_bin_is_refused),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_dtype_of_factors),
  };
  return test_stacks_result(cmocka_run_group_tests(tests, nn_setup, nn_teardown));
}
