/* optimizer_golden_test.c - every optimizer with its options against PyTorch's, or the formula in NumPy where Burn's is
 * another (golden/make_optimizer_golden.py): parameters after 1, 2 and 20 steps in f64; straight, through a record in
 * the midst of the run, and through records of other precisions. */
#include <burn/train.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "optimizer_golden.h"
#include "status_testing.h"
#include "test_stacks.h"

enum { WEIGHTS = 12, BIASES = 4, STEPS = 20, BREAK = 7 };
static const double RATE = 0.05, PULL = 0.3, TOLERANCE = 1e-11;

#define PAIR_FIELDS(X)               \
  X(BurnParam, weight, "[3, 4], 12") \
  X(BurnParam, bias, "[4], may be absent")
BURN_MODULE(Pair, PAIR_FIELDS);

static BurnDevice *device;

/* -- parameters and gradients, as the script has them ----------------------------------------- */

static double start_of(int i) { return ((i * 29) % 37 - 18) / 20.0; }
static double table_of(int i, int t) { return ((i * 37 + t * 23) % 101 - 50) / 40.0; }

static Pair pair_make(bool tall, bool has_bias, BurnDType dtype) {
  double values[WEIGHTS + BIASES];
  for (int i = 0; i < WEIGHTS + BIASES; i++) values[i] = start_of(i);
  const BurnShape shape = tall ? BURN_SHAPE(4, 3) : BURN_SHAPE(3, 4);
  Pair pair = {.weight = burn_param(burn_cast(burn_tensor_f64(device, values, shape), dtype))};
  if (has_bias) {
    pair.bias = burn_param(burn_cast(burn_tensor_f64(device, values + WEIGHTS, BURN_SHAPE(BIASES)), dtype));
  }
  return pair;
}

/* A loss whose gradient is the table of the step and PULL times the parameter. */
static BurnTensor *part_loss(const BurnParam *param, int first, int t) {
  double values[WEIGHTS];
  const int count = (int)burn_element_count(param->value);
  for (int i = 0; i < count; i++) values[i] = table_of(first + i, t);
  BurnTensor *table = burn_tensor_f64(device, values, burn_shape(param->value));
  BurnTensor *linear = burn_mul(burn_param_value(param), burn_cast(table, burn_dtype(param->value)));
  return burn_sum(burn_add(linear, burn_mul_scalar(burn_square(burn_param_value(param)), PULL / 2)));
}

static BurnTensor *loss_of(const Pair *pair, int t) {
  BurnTensor *loss = part_loss(&pair->weight, 0, t);
  return pair->bias.value ? burn_add(loss, part_loss(&pair->bias, WEIGHTS, t)) : loss;
}

/* -- the cases -------------------------------------------------------------------------------- */

typedef struct Case {
  const char *name;
  BurnOptimizer *(*create)(void);
  const double *expected;
  size_t count; /* 3 times the parameters */
  bool tall;
} Case;

/* A function that makes the optimizer of a case: a config at its defaults, and what is set in it. */
#define CREATE(name, kind, Config, ...)       \
  static BurnOptimizer *create_##name(void) { \
    Config config = Config##_defaults();      \
    __VA_ARGS__;                              \
    return burn_##kind##_create(&config);     \
  }
#define SOME(number) ((BurnOptionF64){true, (number)})
#define SET_BETAS(first, second, least) (config.beta_1 = (first), config.beta_2 = (second), config.epsilon = (least))

CREATE(sgd, sgd, BurnSgdConfig, (void)0)
CREATE(sgd_decay, sgd, BurnSgdConfig, config.weight_decay = SOME(0.2))
CREATE(sgd_momentum, sgd, BurnSgdConfig, config.momentum = SOME(0.9))
CREATE(sgd_momentum_decay, sgd, BurnSgdConfig, config.momentum = SOME(0.9), config.dampening = 0.4,
       config.weight_decay = SOME(0.2))
CREATE(sgd_nesterov, sgd, BurnSgdConfig, config.momentum = SOME(0.9), config.nesterov = true)
CREATE(sgd_nesterov_undamped, sgd, BurnSgdConfig, config.momentum = SOME(0.8), config.nesterov = true,
       config.dampening = 0, config.weight_decay = SOME(0.2))

CREATE(adam, adam, BurnAdamConfig, (void)0)
CREATE(adam_decay, adam, BurnAdamConfig, SET_BETAS(0.7, 0.9, 1e-2), config.weight_decay = SOME(0.4))
CREATE(adam_amsgrad, adam, BurnAdamConfig, SET_BETAS(0.9, 0.7, 1e-5), config.amsgrad = true)
CREATE(adam_amsgrad_decay, adam, BurnAdamConfig, SET_BETAS(0.7, 0.6, 1e-2), config.weight_decay = SOME(0.4),
       config.amsgrad = true)
CREATE(adamw, adamw, BurnAdamWConfig, (void)0)
CREATE(adamw_decay, adamw, BurnAdamWConfig, SET_BETAS(0.7, 0.9, 1e-2), config.weight_decay = 0.4)
CREATE(adamw_amsgrad, adamw, BurnAdamWConfig, SET_BETAS(0.7, 0.6, 1e-2), config.weight_decay = 0.4,
       config.amsgrad = true)
CREATE(adamw_cautious, adamw, BurnAdamWConfig, SET_BETAS(0.7, 0.9, 1e-2), config.weight_decay = 0.4,
       config.cautious_weight_decay = true)
CREATE(adamw_cautious_amsgrad, adamw, BurnAdamWConfig, SET_BETAS(0.7, 0.6, 1e-2), config.weight_decay = 0.4,
       config.cautious_weight_decay = true, config.amsgrad = true)

CREATE(rmsprop, rmsprop, BurnRmsPropConfig, (void)0)
CREATE(rmsprop_centered, rmsprop, BurnRmsPropConfig, config.centered = true)
#define RMSPROP_PLAIN config.alpha = 0.9, config.momentum = 0, config.epsilon = 1e-3, config.weight_decay = SOME(0.1)
CREATE(rmsprop_plain, rmsprop, BurnRmsPropConfig, RMSPROP_PLAIN)
CREATE(rmsprop_centered_plain, rmsprop, BurnRmsPropConfig, RMSPROP_PLAIN, config.centered = true)

CREATE(adagrad, adagrad, BurnAdaGradConfig, (void)0)
CREATE(adagrad_decay, adagrad, BurnAdaGradConfig, config.lr_decay = 0.1, config.epsilon = 1e-3,
       config.weight_decay = SOME(0.2))

CREATE(adan, adan, BurnAdanConfig, (void)0)
#define ADAN_DECAY SET_BETAS(0.9, 0.8, 1e-3), config.beta_3 = 0.95, config.weight_decay = 0.4
CREATE(adan_decay, adan, BurnAdanConfig, ADAN_DECAY)
CREATE(adan_no_prox, adan, BurnAdanConfig, ADAN_DECAY, config.no_prox = true)

CREATE(muon, muon, BurnMuonConfig, (void)0)
CREATE(muon_plain, muon, BurnMuonConfig, config.momentum = 0.8, config.dampening = 0.1, config.nesterov = false,
       config.ns_a = 2, config.ns_b = -1.5, config.ns_c = 0.5, config.ns_steps = 3, config.weight_decay = SOME(0.3),
       config.adjust_lr = (BurnMuonRate)BURN_MUON_MATCH_RMS_ADAMW)
#define create_muon_tall create_muon

#define CLIPPED(...) config.momentum = SOME(0.9), config.clipping = (BurnGradientClipping)__VA_ARGS__
CREATE(clip_value, sgd, BurnSgdConfig, CLIPPED(BURN_CLIP_VALUE(0.4)))
CREATE(clip_norm, sgd, BurnSgdConfig, CLIPPED(BURN_CLIP_NORM(0.9)))
CREATE(clip_global_norm, sgd, BurnSgdConfig, CLIPPED(BURN_CLIP_GLOBAL_NORM(0.9)))
CREATE(clipped_momentum, sgd, BurnSgdConfig, CLIPPED(BURN_CLIP_VALUE(0.1)))

static BurnOptimizer *create_groups(void) {
  static const char *const paths[] = {"bias", NULL};
  BurnOptimizer *optimizer = create_adam();
  check_status(burn_optimizer_with_group(optimizer, &(BurnParamGroup){.paths = paths}, create_clipped_momentum()));
  return optimizer;
}

static BurnOptimizer *create_muon_and_adam(void) {
  static const char *const parts[] = {"wei", "ght", NULL};
  BurnOptimizer *optimizer = create_adam();
  check_status(burn_optimizer_with_group(optimizer, &(BurnParamGroup){.parts = parts}, create_muon()));
  return optimizer;
}

#define CASE(name, tall) \
  { #name, create_##name, golden_##name, sizeof golden_##name / sizeof golden_##name[0], tall }
static const Case cases[] = {
    CASE(sgd, false),
    CASE(sgd_decay, false),
    CASE(sgd_momentum, false),
    CASE(sgd_momentum_decay, false),
    CASE(sgd_nesterov, false),
    CASE(sgd_nesterov_undamped, false),
    CASE(adam, false),
    CASE(adam_decay, false),
    CASE(adam_amsgrad, false),
    CASE(adam_amsgrad_decay, false),
    CASE(adamw, false),
    CASE(adamw_decay, false),
    CASE(adamw_amsgrad, false),
    CASE(adamw_cautious, false),
    CASE(adamw_cautious_amsgrad, false),
    CASE(rmsprop, false),
    CASE(rmsprop_centered, false),
    CASE(rmsprop_plain, false),
    CASE(rmsprop_centered_plain, false),
    CASE(adagrad, false),
    CASE(adagrad_decay, false),
    CASE(adan, false),
    CASE(adan_decay, false),
    CASE(adan_no_prox, false),
    CASE(muon, false),
    CASE(muon_tall, true),
    CASE(muon_plain, true),
    CASE(muon_and_adam, false),
    CASE(clip_value, false),
    CASE(clip_norm, false),
    CASE(clip_global_norm, false),
    CASE(groups, false),
};
enum { CASES = sizeof cases / sizeof cases[0] };

static Pair pair_of(const Case *with, BurnDType dtype) {
  return pair_make(with->tall, with->count == (size_t)3 * (WEIGHTS + BIASES), dtype);
}

static void train_on(BurnOptimizer *optimizer, Pair *pair, int first, int last) {
  for (int t = first; t <= last; t++) {
    check_status(burn_train_step(optimizer, burn_module(Pair, pair), loss_of(pair, t), RATE));
  }
}

static void pair_read(const Pair *pair, double values[WEIGHTS + BIASES]) {
  check_status(burn_read_f64(burn_param_value(&pair->weight), values, WEIGHTS));
  if (pair->bias.value) check_status(burn_read_f64(burn_param_value(&pair->bias), values + WEIGHTS, BIASES));
}

/* That the parameters are those of row `shown` of the golden values. */
static void check_pair(const Case *with, const Pair *pair, int shown, double tolerance) {
  double values[WEIGHTS + BIASES];
  const size_t count = with->count / 3;
  const double *expected = with->expected + (size_t)shown * count;
  pair_read(pair, values);
  for (size_t i = 0; i < count; i++) {
    if (!(fabs(values[i] - expected[i]) < tolerance)) {
      fail_msg("%s, row %d, %zu: %.17g, expected %.17g", with->name, shown, i, values[i], expected[i]);
    }
  }
}

/* -- tests ------------------------------------------------------------------------------------ */

static void one_straight(const Case *with) {
  Pair pair = pair_of(with, BURN_DTYPE_F64);
  BurnOptimizer *optimizer = with->create();
  check_status(burn_optimizer_status(optimizer));
  train_on(optimizer, &pair, 1, 1);
  check_pair(with, &pair, 0, TOLERANCE);
  train_on(optimizer, &pair, 2, 2);
  check_pair(with, &pair, 1, TOLERANCE);
  train_on(optimizer, &pair, 3, STEPS);
  check_pair(with, &pair, 2, TOLERANCE);
  burn_optimizer_destroy(optimizer);
  Pair_release(&pair);
}

/* The state through a file, into a new optimizer. */
static BurnOptimizer *through_record(const Case *with, const BurnOptimizer *optimizer, uint32_t precision) {
  char folder[] = "/tmp/burn_optimizer_golden_XXXXXX", file[64];
  const BurnRecordConfig config = {BURN_RECORD_MPK, precision};
  BurnOptimizer *again = with->create();
  BurnValue *value = burn_optimizer_value(optimizer), *read = NULL;
  assert_non_null(mkdtemp(folder));
  snprintf(file, sizeof file, "%s/optim.mpk", folder);
  check_status(burn_value_write(value, file, &config));
  check_status(burn_value_read(file, &config, &read));
  check_status(burn_optimizer_load(again, read, device));
  burn_value_destroy(value);
  burn_value_destroy(read);
  remove(file);
  rmdir(folder);
  return again;
}

static void one_through_record(const Case *with, uint32_t precision, BurnDType dtype, double tolerance) {
  Pair pair = pair_of(with, dtype);
  BurnOptimizer *optimizer = with->create();
  train_on(optimizer, &pair, 1, BREAK);
  BurnOptimizer *again = through_record(with, optimizer, precision);
  train_on(again, &pair, BREAK + 1, STEPS);
  check_pair(with, &pair, 2, tolerance);
  burn_optimizer_destroy(optimizer);
  burn_optimizer_destroy(again);
  Pair_release(&pair);
}

static void all_straight(void **state) {
  (void)state;
  for (size_t c = 0; c < CASES; c++) one_straight(&cases[c]);
}

/* A record in f64 loses nothing. Those of f32 and f16 load into parameters of f64, that of f64 into f32. */
static void all_through_records(void **state) {
  (void)state;
  for (size_t c = 0; c < CASES; c++) {
    one_through_record(&cases[c], BURN_PRECISION_DOUBLE, BURN_DTYPE_F64, TOLERANCE);
    one_through_record(&cases[c], BURN_PRECISION_FULL, BURN_DTYPE_F64, 1e-5);
    one_through_record(&cases[c], BURN_PRECISION_HALF, BURN_DTYPE_F64, 2e-2);
    one_through_record(&cases[c], BURN_PRECISION_DOUBLE, BURN_DTYPE_F32, 1e-4);
  }
}

static void straight_on_stacks(void **state) {
  (void)state;
  test_on_training_stacks("autodiff<ndarray>; autodiff<fusion<ndarray>>", &device, NULL, all_straight);
}

static void records_on_stacks(void **state) {
  (void)state;
  test_on_training_stacks("autodiff<ndarray>; autodiff<fusion<ndarray>>", &device, NULL, all_through_records);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(straight_on_stacks),
      cmocka_unit_test(records_on_stacks),
  };
  return test_stacks_result(cmocka_run_group_tests_name("optimizer_golden", tests, NULL, NULL));
}
