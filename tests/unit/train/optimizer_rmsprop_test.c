/* optimizer_rmsprop_test.c - RMSprop: numbers of PyTorch 1.13 (torch.optim.RMSprop, three steps in f64) and of Burn's
 * own test, the defaults, and the three groups of its record. */
#include "status_testing.h"

#include <burn/train.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 4, SIDE = 6 };

#define ONE_FIELDS(X) X(BurnParam, weight, "[n]")
BURN_MODULE(One, ONE_FIELDS);

#define AFFINE_FIELDS(X)                    \
  X(BurnParam, weight, "[inputs, outputs]") \
  X(BurnParam, bias, "[outputs]")
BURN_MODULE(Affine, AFFINE_FIELDS);

static BurnDevice *device;

/* -- PyTorch ---------------------------------------------------------------------------------- */

static const double start[COUNT] = {1.0, -0.5, 0.25, 2.0};
static const double gradients[3][COUNT] = {{0.5, -1.25, 0.0, 2.0}, {0.25, 1.5, -0.75, -0.5}, {-1.0, 0.125, 0.5, 0.25}};

typedef struct Case {
  BurnRmsPropConfig config;
  double expected[COUNT];
} Case;

static const Case cases[] = {
    {{0.99, 0.9, 1e-5, true, {false, 0}, BURN_CLIP_NONE},
     {-0.354460941394111, 0.0982031111153449, 0.926272352805891, 0.809352619327094}},
    {{0.9, 0.0, 1e-3, true, {true, 0.1}, BURN_CLIP_NONE},
     {0.877418057950619, -0.461630658575799, 0.173578066293901, 1.82286997932792}},
    {{0.99, 0.9, 1e-5, false, {false, 0}, BURN_CLIP_NONE},
     {-0.343883468980014, 0.0914506417347263, 0.921589160508909, 0.815786047731661}},
};

static One one_make(void) { return (One){burn_param(burn_tensor_f64(device, start, BURN_SHAPE(COUNT)))}; }

static void step_one(BurnOptimizer *optimizer, One *one, int t) {
  BurnTensor *table = burn_tensor_f64(device, gradients[t], BURN_SHAPE(COUNT));
  BurnTensor *loss = burn_sum(burn_mul(burn_param_value(&one->weight), table));
  check_status(burn_train_step(optimizer, burn_module(One, one), loss, 0.05));
}

static void check_one(const One *one, const double expected[COUNT]) {
  double values[COUNT];
  check_status(burn_read_f64(burn_param_value(&one->weight), values, COUNT));
  for (int i = 0; i < COUNT; i++) {
    if (!(fabs(values[i] - expected[i]) < 1e-13)) fail_msg("%d: %.17g, expected %.17g", i, values[i], expected[i]);
  }
}

static void numbers_of_pytorch(void **state) {
  (void)state;
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    One one = one_make();
    BurnOptimizer *optimizer = burn_rmsprop_create(&cases[c].config);
    for (int t = 0; t < 3; t++) step_one(optimizer, &one, t);
    check_one(&one, cases[c].expected);
    burn_optimizer_destroy(optimizer);
    One_release(&one);
  }
}

/* -- Burn ------------------------------------------------------------------------------------- */

static const float inputs[2][2 * SIDE] = {
    {0.6294f, 0.0940f, 0.8176f, 0.8824f, 0.5228f, 0.4310f, 0.7152f, 0.9559f, 0.7893f, 0.5684f, 0.5939f, 0.8883f},
    {0.8491f, 0.2108f, 0.8939f, 0.4433f, 0.5527f, 0.2528f, 0.3270f, 0.0412f, 0.5538f, 0.9605f, 0.3195f, 0.9085f}};
static const float rows_expected[SIDE] = {0.743937f, 0.783809f, 0.742881f, 0.740366f, 0.748005f, 0.743710f};

/* test_rmsprop_optimizer_with_numbers_basic of burn-optim: a layer of ones and its sum, weight decay 0.05. */
static void numbers_of_burn(void **state) {
  (void)state;
  Affine layer = {burn_param(burn_ones(device, BURN_SHAPE(SIDE, SIDE), BURN_DTYPE_F32)),
                  burn_param(burn_full(device, BURN_SHAPE(SIDE), BURN_DTYPE_F32, 0.5))};
  const BurnRmsPropConfig config = {0.99, 0.9, 1e-8, false, {true, 0.05}, BURN_CLIP_NONE};
  BurnOptimizer *optimizer = burn_rmsprop_create(&config);
  float weight[SIDE * SIDE], bias[SIDE];
  for (int t = 0; t < 2; t++) {
    BurnTensor *x = burn_tensor_f32(device, inputs[t], BURN_SHAPE(2, SIDE));
    BurnTensor *y = burn_linear(x, burn_param_value(&layer.weight), burn_param_value(&layer.bias));
    check_status(burn_train_step(optimizer, burn_module(Affine, &layer), burn_sum(y), 0.01));
  }
  check_status(burn_read_f32(burn_param_value(&layer.weight), weight, SIDE * SIDE));
  check_status(burn_read_f32(burn_param_value(&layer.bias), bias, SIDE));
  for (int i = 0; i < SIDE * SIDE; i++) assert_true(fabsf(weight[i] - rows_expected[i / SIDE]) < 1e-6f);
  for (int i = 0; i < SIDE; i++) assert_true(fabsf(bias[i] - 0.239199f) < 1e-6f);
  burn_optimizer_destroy(optimizer);
  Affine_release(&layer);
}

static void defaults_are_those_of_burn(void **state) {
  (void)state;
  const BurnRmsPropConfig config = BurnRmsPropConfig_defaults();
  assert_true(config.alpha == 0.99 && config.momentum == 0.9 && config.epsilon == 1e-5);
  assert_false(config.centered || config.weight_decay.present);
  One one = one_make();
  BurnOptimizer *optimizer = burn_rmsprop_create(NULL);
  for (int t = 0; t < 3; t++) step_one(optimizer, &one, t);
  check_one(&one, cases[2].expected);
  burn_optimizer_destroy(optimizer);
  One_release(&one);
}

/* -- records ---------------------------------------------------------------------------------- */

static uint32_t kind_at(const BurnValue *fields, const char *group, const char *name) {
  const BurnValue *found = burn_value_get(burn_value_get(fields, group), name);
  assert_non_null(found);
  return burn_value_kind(found);
}

/* {square_avg: {square_avg}, centered: {grad_avg or nil, avg}, momentum: {buf} or nil}; and back in the midst of a run.
 */
static void records_have_three_groups(void **state) {
  (void)state;
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    const Case *with = &cases[c];
    One one = one_make();
    BurnOptimizer *optimizer = burn_rmsprop_create(&with->config), *again = burn_rmsprop_create(&with->config);
    char id[14];
    for (int t = 0; t < 2; t++) step_one(optimizer, &one, t);
    BurnValue *value = burn_optimizer_value(optimizer);
    burn_param_id_text(one.weight.id, id);
    const BurnValue *fields = burn_value_get(burn_value_get(burn_value_get(value, id), "V1"), "Rank1");
    assert_int_equal(burn_value_count(fields), 3);
    assert_int_equal(kind_at(fields, "square_avg", "square_avg"), BURN_VALUE_TENSOR);
    assert_int_equal(kind_at(fields, "centered", "grad_avg"),
                     with->config.centered ? BURN_VALUE_TENSOR : BURN_VALUE_NIL);
    assert_int_equal(kind_at(fields, "centered", "avg"), BURN_VALUE_TENSOR);
    if (with->config.momentum > 0) {
      assert_int_equal(kind_at(fields, "momentum", "buf"), BURN_VALUE_TENSOR);
    } else {
      assert_non_null(burn_value_get(fields, "momentum"));
      assert_int_equal(burn_value_kind(burn_value_get(fields, "momentum")), BURN_VALUE_NIL);
    }
    check_status(burn_optimizer_load(again, value, device));
    step_one(again, &one, 2);
    check_one(&one, with->expected);
    burn_value_destroy(value);
    burn_optimizer_destroy(optimizer);
    burn_optimizer_destroy(again);
    One_release(&one);
  }
}

static int open_device(void **state) {
  (void)state;
  device = burn_device_open("autodiff<ndarray>");
  return burn_device_status(device) != BURN_OK;
}

static int close_device(void **state) {
  (void)state;
  const int64_t alive = burn_device_memory(device).live_tensors;
  burn_device_close(device);
  return alive != 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_of_pytorch),
      cmocka_unit_test(numbers_of_burn),
      cmocka_unit_test(defaults_are_those_of_burn),
      cmocka_unit_test(records_have_three_groups),
  };
  return cmocka_run_group_tests_name("optimizer_rmsprop", tests, open_device, close_device);
}
