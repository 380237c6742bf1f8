/* optimizer_state_test.c - what states are called in records, as in Burn's; records from before a field was added; and
 * the parameters that Muon takes. Numbers are in optimizer_golden_test.c. */
#include <burn/train.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "status_testing.h"
#include "test_stacks.h"

#define LAYER_FIELDS(X)          \
  X(BurnParam, weight, "[2, 2]") \
  X(BurnParam, bias, "[2], may be absent")
BURN_MODULE(Layer, LAYER_FIELDS);

static BurnDevice *device;

static void check_refused(BurnStatus status, uint32_t code, const char *message) {
  assert_int_not_equal(status, BURN_OK);
  assert_string_equal(burn_status_message(status), message);
  assert_int_equal(burn_status_code(status), code);
}

static Layer layer_make(BurnDType dtype) {
  return (Layer){.weight = burn_param(burn_ones(device, BURN_SHAPE(2, 2), dtype))};
}

static BurnStatus step(BurnOptimizer *optimizer, Layer *layer) {
  BurnTensor *loss = burn_sum(burn_square(burn_param_value(&layer->weight)));
  if (layer->bias.value) loss = burn_add(loss, burn_sum(burn_param_value(&layer->bias)));
  return burn_train_step(optimizer, burn_module(Layer, layer), loss, 0.1);
}

/* -- names ------------------------------------------------------------------------------------ */

/* {"V1": {"Rank2": {group: {names}}}}: the fields of the one group that a state has. */
static const BurnValue *group_in(const BurnValue *record, const char *group) {
  assert_int_equal(burn_value_count(record), 1);
  const BurnValue *fields = burn_value_get(burn_value_get(burn_value_at(record, 0), "V1"), "Rank2");
  assert_int_equal(burn_value_count(fields), 1);
  const BurnValue *found = burn_value_get(fields, group);
  assert_non_null(found);
  return found;
}

/* That the group has these fields and no others; those that begin with '-' are nil. `optimizer` is taken. */
static void has_fields(BurnOptimizer *optimizer, const char *group, const char *const *names) {
  Layer layer = layer_make(BURN_DTYPE_F32);
  size_t count = 0;
  check_status(step(optimizer, &layer));
  check_status(step(optimizer, &layer));
  BurnValue *record = burn_optimizer_value(optimizer);
  const BurnValue *fields = group_in(record, group);
  for (; names[count]; count++) {
    const bool absent = names[count][0] == '-';
    const BurnValue *value = burn_value_get(fields, names[count] + absent);
    if (!value) fail_msg("no %s", names[count]);
    if (strcmp(names[count], "time") == 0) {
      assert_int_equal(burn_value_as_int(value, -1), 2);
    } else {
      assert_int_equal(burn_value_kind(value), absent ? BURN_VALUE_NIL : BURN_VALUE_TENSOR);
    }
  }
  assert_int_equal(burn_value_count(fields), count);
  burn_value_destroy(record);
  burn_optimizer_destroy(optimizer);
  Layer_release(&layer);
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void states_have_the_names_of_burn(void **state) {
  (void)state;
  BurnAdamConfig amsgrad = BurnAdamConfig_defaults();
  amsgrad.amsgrad = true;
  BurnSgdConfig momentum = BurnSgdConfig_defaults();
  momentum.momentum = (BurnOptionF64){true, 0.9};
  has_fields(burn_sgd_create(&momentum), "momentum", NAMES("velocity"));
  has_fields(burn_adam_create(NULL), "momentum", NAMES("time", "moment_1", "moment_2", "-max_moment_2"));
  has_fields(burn_adam_create(&amsgrad), "momentum", NAMES("time", "moment_1", "moment_2", "max_moment_2"));
  has_fields(burn_adamw_create(NULL), "momentum", NAMES("time", "moment_1", "moment_2", "-max_moment_2"));
  has_fields(burn_adagrad_create(NULL), "lr_decay", NAMES("time", "sum"));
  has_fields(burn_adan_create(NULL), "momentum",
             NAMES("time", "exp_avg", "exp_avg_sq", "exp_avg_diff", "neg_pre_grad"));
  has_fields(burn_muon_create(NULL), "momentum", NAMES("velocity"));
}

/* -- records from before amsgrad -------------------------------------------------------------- */

/* The record of Adam without the field that was added. */
static BurnValue *older_record(const Layer *layer) {
  BurnDevice *inner = burn_device_inner(device);
  BurnValue *record = burn_value_map(), *versions = burn_value_map(), *ranks = burn_value_map(),
            *fields = burn_value_map(), *momentum = burn_value_map();
  char id[14];
  burn_param_id_text(layer->weight.id, id);
  BurnTensor *small = burn_full(inner, BURN_SHAPE(2, 2), BURN_DTYPE_F32, 0.25);
  assert_true(burn_value_set(momentum, "time", burn_value_int(3)));
  assert_true(burn_value_set(momentum, "moment_1", burn_value_tensor(burn_clone(small))));
  assert_true(burn_value_set(momentum, "moment_2", burn_value_tensor(small)));
  assert_true(burn_value_set(fields, "momentum", momentum));
  assert_true(burn_value_set(ranks, "Rank2", fields));
  assert_true(burn_value_set(versions, "V1", ranks));
  assert_true(burn_value_set(record, id, versions));
  return record;
}

/* They load, with amsgrad too, whose largest moment is then the first that it makes. */
static void records_of_before_amsgrad_load(void **state) {
  (void)state;
  BurnAdamConfig config = BurnAdamConfig_defaults();
  float values[2][4];
  for (int i = 0; i < 2; i++) {
    Layer layer = layer_make(BURN_DTYPE_F32);
    config.amsgrad = i == 1;
    BurnOptimizer *optimizer = burn_adam_create(&config);
    BurnValue *record = older_record(&layer);
    check_status(burn_optimizer_load(optimizer, record, device));
    burn_value_destroy(record);
    check_status(step(optimizer, &layer));
    check_status(burn_read_f32(burn_param_value(&layer.weight), values[i], 4));
    record = burn_optimizer_value(optimizer);
    assert_int_equal(burn_value_as_int(burn_value_get(group_in(record, "momentum"), "time"), -1), 4);
    burn_value_destroy(record);
    burn_optimizer_destroy(optimizer);
    Layer_release(&layer);
  }
  assert_true(values[0][0] < 1 && values[0][0] > 0.8F);
  for (int i = 0; i < 4; i++) assert_true(values[0][i] - values[1][i] < 1e-6F && values[1][i] - values[0][i] < 1e-6F);
}

/* -- Muon ------------------------------------------------------------------------------------- */

static void muon_takes_matrices(void **state) {
  (void)state;
  static const char *const biases[] = {"bias", NULL};
  Layer layer = layer_make(BURN_DTYPE_F32);
  BurnOptimizer *optimizer = burn_muon_create(NULL);
  float values[2];
  layer.bias = burn_param(burn_ones(device, BURN_SHAPE(2), BURN_DTYPE_F32));
  check_refused(step(optimizer, &layer), BURN_STATUS_INVALID_SHAPE,
                "muon: bias: matrices expected, this is [2]; put it in a group with another optimizer "
                "(burn_optimizer_with_group)");
  check_status(burn_read_f32(burn_param_value(&layer.bias), values, 2)); /* it is whole all the same */
  assert_true(values[0] == 1 && burn_is_require_grad(layer.bias.value));
  burn_optimizer_destroy(optimizer);
  optimizer = burn_muon_create(NULL);
  check_status(burn_optimizer_with_group(optimizer, &(BurnParamGroup){.any_parts = biases}, burn_sgd_create(NULL)));
  check_status(step(optimizer, &layer));
  check_status(burn_read_f32(burn_param_value(&layer.bias), values, 2));
  assert_true(values[0] > 0.89F && values[0] < 0.91F);
  burn_optimizer_destroy(optimizer);
  Layer_release(&layer);
}

/* A parameter of f16 keeps its dtype, and the state is f32. */
static void halves_are_stepped_in_f32(void **state) {
  (void)state;
  BurnAdamConfig amsgrad = BurnAdamConfig_defaults();
  amsgrad.amsgrad = true;
  BurnAdamWConfig cautious = BurnAdamWConfig_defaults();
  cautious.cautious_weight_decay = true;
  BurnOptimizer *const optimizers[] = {burn_adam_create(&amsgrad), burn_adamw_create(&cautious),
                                       burn_adagrad_create(NULL), burn_adan_create(NULL), burn_muon_create(NULL)};
  for (size_t i = 0; i < sizeof optimizers / sizeof optimizers[0]; i++) {
    Layer layer = layer_make(BURN_DTYPE_F16);
    check_status(burn_optimizer_with_clipping(optimizers[i], (BurnGradientClipping)BURN_CLIP_NORM(1)));
    for (int t = 0; t < 3; t++) check_status(step(optimizers[i], &layer));
    assert_int_equal(burn_dtype(layer.weight.value), BURN_DTYPE_F16);
    float values[4];
    check_status(burn_read_f32(burn_cast(burn_param_value(&layer.weight), BURN_DTYPE_F32), values, 4));
    assert_true(values[0] < 0.99F && values[0] > 0);
    BurnValue *record = burn_optimizer_value(optimizers[i]);
    const BurnValue *fields = burn_value_at(burn_value_get(burn_value_get(burn_value_at(record, 0), "V1"), "Rank2"), 0);
    BurnTensor *x = burn_value_as_tensor(burn_value_at(fields, burn_value_count(fields) > 1), device);
    assert_int_equal(burn_dtype(x), BURN_DTYPE_F32);
    burn_drop(x);
    burn_value_destroy(record);
    burn_optimizer_destroy(optimizers[i]);
    Layer_release(&layer);
  }
}

static void refused(BurnOptimizer *optimizer, const char *message) {
  check_refused(burn_optimizer_status(optimizer), BURN_STATUS_INVALID_ARGUMENT, message);
  burn_optimizer_destroy(optimizer);
}

static void configs_are_checked(void **state) {
  (void)state;
  BurnAdaGradConfig adagrad = BurnAdaGradConfig_defaults();
  assert_true(adagrad.lr_decay == 0 && adagrad.epsilon == 1e-5 && !adagrad.weight_decay.present);
  adagrad.lr_decay = -1;
  refused(burn_adagrad_create(&adagrad), "adagrad: lr_decay is -1, at least 0 expected");
  BurnAdanConfig adan = BurnAdanConfig_defaults();
  adan.beta_3 = -0.5;
  refused(burn_adan_create(&adan), "adan: beta_3 is -0.5, at least 0 and below 1 expected");
  adan.beta_3 = 0.99;
  adan.beta_1 = 1;
  refused(burn_adan_create(&adan), "adan: beta_1 is 1, at least 0 and below 1 expected");
  BurnMuonConfig muon = BurnMuonConfig_defaults();
  muon.momentum = -0.5;
  refused(burn_muon_create(&muon), "muon: momentum is -0.5, at least 0 expected");
  check_status(burn_config_parse(burn_config(BurnMuonConfig, &muon), "{\"adjust_lr\": \"MatchRmsAdamW\"}"));
  assert_int_equal(muon.adjust_lr.kind, BURN_MUON_RATE_MATCH_RMS_ADAMW);
}

/* -- one state for two parameters ------------------------------------------------------------- */

/* Parameters of one id, as a copy has it, have one state: the second step goes on with the velocity of the first. By
 * hand, with dampening 0 and momentum 0.5: v = 2, then 0.5 * 2 + 4. */
static void one_id_has_one_state(void **state) {
  (void)state;
  BurnSgdConfig config = BurnSgdConfig_defaults();
  config.momentum = (BurnOptionF64){.present = true, .value = 0.5};
  config.dampening = 0;
  BurnOptimizer *optimizer = burn_sgd_create(&config);
  Layer layer = {burn_param(burn_ones(device, BURN_SHAPE(1), BURN_DTYPE_F32)),
                 burn_param(burn_ones(device, BURN_SHAPE(1), BURN_DTYPE_F32))};
  layer.bias.id = layer.weight.id;
  BurnTensor *loss = burn_mul_scalar(burn_param_value(&layer.weight), 2.0);
  loss = burn_add(loss, burn_mul_scalar(burn_param_value(&layer.bias), 4.0));
  check_status(burn_train_step(optimizer, burn_module(Layer, &layer), burn_sum(loss), 0.125));
  float weight = 0, bias = 0;
  check_status(burn_read_f32(burn_param_value(&layer.weight), &weight, 1));
  check_status(burn_read_f32(burn_param_value(&layer.bias), &bias, 1));
  assert_true(weight == 1 - 0.125f * 2 && bias == 1 - 0.125f * 5);
  burn_optimizer_destroy(optimizer);
  Layer_release(&layer);
}

static int open_device(void **state) {
  (void)state;
  device = test_stack_device("ndarray", true);
  const BurnStatus status = burn_device_status(device);
  if (status != BURN_OK) print_error("%s\n", burn_status_message(status));
  return status != BURN_OK;
}

static int close_device(void **state) {
  (void)state;
  const int64_t alive = burn_device_memory(device).live_tensors;
  burn_device_close(device);
  if (alive != 0) print_error("%lld tensors are still alive\n", (long long)alive);
  return alive != 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(states_have_the_names_of_burn), cmocka_unit_test(records_of_before_amsgrad_load),
      cmocka_unit_test(muon_takes_matrices),           cmocka_unit_test(halves_are_stepped_in_f32),
      cmocka_unit_test(configs_are_checked),           cmocka_unit_test(one_id_has_one_state),
  };
  return cmocka_run_group_tests_name("optimizer_state", tests, open_device, close_device);
}
