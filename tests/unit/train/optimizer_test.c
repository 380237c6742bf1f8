/* optimizer_test.c - gradients by parameter, SGD, Adam and AdamW, and records of their state.
 *
 * The loss is the sum of parameter times a table that changes from step to step, so each gradient is known exactly; in
 * f64 the parameters must then follow the textbook formulas, written here for one number, within rounding. */
#include <burn/ops_optimizer.h>
#include <burn/train.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "status_testing.h"
#include "test_stacks.h"

enum { WEIGHTS = 6, BIASES = 3, STEPS = 7 };
static const double TOLERANCE = 1e-12;

#define PAIR_FIELDS(X)           \
  X(BurnParam, weight, "[2, 3]") \
  X(BurnParam, bias, "[3], may be absent")
BURN_MODULE(Pair, PAIR_FIELDS);

#define PAIRS_FIELDS(X) X(BurnModuleList, pairs, "of Pair")
BURN_MODULE(Pairs, PAIRS_FIELDS);

static BurnDevice *device;

static void check_refused(BurnStatus status, uint32_t code, const char *part) {
  assert_int_not_equal(status, BURN_OK);
  if (!strstr(burn_status_message(status), part)) fail_msg("'%s' lacks '%s'", burn_status_message(status), part);
  assert_int_equal(burn_status_code(status), code);
}

/* -- the module and its known gradients ------------------------------------------------------- */

static double start_of(int i) { return 0.9 - 0.37 * i; }

/* Gradient of element i (weights first, then biases) at step t; its sign changes and one is always 0. */
static double gradient_of(int i, int t) { return i == 4 ? 0.0 : sin(1.0 + 1.7 * i + 0.9 * t) * (0.2 + 0.3 * i); }

static Pair pair_make(BurnDType dtype) {
  double values[WEIGHTS + BIASES];
  for (int i = 0; i < WEIGHTS + BIASES; i++) values[i] = start_of(i);
  BurnTensor *weight = burn_tensor_f64(device, values, BURN_SHAPE(2, 3));
  BurnTensor *bias = burn_tensor_f64(device, values + WEIGHTS, BURN_SHAPE(3));
  return (Pair){burn_param(burn_cast(weight, dtype)), burn_param(burn_cast(bias, dtype))};
}

/* A tensor of the gradients of one parameter at step t, on the device of x, which stays. */
static BurnTensor *table_like(const BurnTensor *x, int first, int t) {
  double values[WEIGHTS];
  for (int i = 0; i < (int)burn_element_count(x); i++) values[i] = gradient_of(first + i, t);
  return burn_cast(burn_tensor_f64(device, values, burn_shape(x)), burn_dtype(x));
}

static BurnTensor *pair_loss(const Pair *pair, int t) {
  BurnTensor *weight = burn_mul(burn_param_value(&pair->weight), table_like(pair->weight.value, 0, t));
  BurnTensor *bias = burn_mul(burn_param_value(&pair->bias), table_like(pair->bias.value, WEIGHTS, t));
  return burn_add(burn_sum(weight), burn_sum(bias));
}

static BurnGradientsParams *pair_gradients(const Pair *pair, BurnTensor *loss) {
  BurnGradients *gradients = NULL;
  check_status(burn_backward(loss, &gradients));
  return burn_gradients_params(gradients, burn_module(Pair, (Pair *)(uintptr_t)pair));
}

static void pair_read(const Pair *pair, double values[WEIGHTS + BIASES]) {
  check_status(burn_read_f64(burn_param_value(&pair->weight), values, WEIGHTS));
  check_status(burn_read_f64(burn_param_value(&pair->bias), values + WEIGHTS, BIASES));
}

/* -- the formulas for one number -------------------------------------------------------------- */

typedef struct Number {
  double param, first, second; /* velocity or first moment, second moment */
} Number;

typedef struct Rule {
  BurnOptimizer *(*create)(const struct Rule *rule);
  void (*step)(const struct Rule *rule, Number *number, double gradient, int t);
  BurnSgdConfig sgd;
  BurnAdamConfig adam;
  BurnAdamWConfig adamw;
} Rule;

static const double LEARNING_RATE = 0.05;

static BurnOptimizer *create_sgd(const Rule *rule) { return burn_sgd_create(&rule->sgd); }
static BurnOptimizer *create_adam(const Rule *rule) { return burn_adam_create(&rule->adam); }
static BurnOptimizer *create_adamw(const Rule *rule) { return burn_adamw_create(&rule->adamw); }

static void step_sgd(const Rule *rule, Number *number, double gradient, int t) {
  const BurnSgdConfig *config = &rule->sgd;
  if (config->weight_decay.present) gradient += config->weight_decay.value * number->param;
  if (config->momentum.present) {
    const double momentum = config->momentum.value;
    number->first = t == 1 ? gradient : (1 - config->dampening) * gradient + momentum * number->first;
    gradient = config->nesterov ? gradient + momentum * number->first : number->first;
  }
  number->param -= LEARNING_RATE * gradient;
}

static double moments(Number *number, double beta_1, double beta_2, double epsilon, double gradient, int t) {
  number->first = beta_1 * number->first + (1 - beta_1) * gradient;
  number->second = beta_2 * number->second + (1 - beta_2) * gradient * gradient;
  return number->first / (1 - pow(beta_1, t)) / (sqrt(number->second / (1 - pow(beta_2, t))) + epsilon);
}

static void step_adam(const Rule *rule, Number *number, double gradient, int t) {
  const BurnAdamConfig *config = &rule->adam;
  if (config->weight_decay.present) gradient += config->weight_decay.value * number->param;
  number->param -= LEARNING_RATE * moments(number, config->beta_1, config->beta_2, config->epsilon, gradient, t);
}

static void step_adamw(const Rule *rule, Number *number, double gradient, int t) {
  const BurnAdamWConfig *config = &rule->adamw;
  number->param -= LEARNING_RATE * config->weight_decay * number->param;
  number->param -= LEARNING_RATE * moments(number, config->beta_1, config->beta_2, config->epsilon, gradient, t);
}

static void follows_formula(const Rule *rule) {
  Pair pair = pair_make(BURN_DTYPE_F64);
  BurnOptimizer *optimizer = rule->create(rule);
  Number numbers[WEIGHTS + BIASES];
  double values[WEIGHTS + BIASES];
  for (int i = 0; i < WEIGHTS + BIASES; i++) numbers[i] = (Number){start_of(i), 0, 0};
  for (int t = 1; t <= STEPS; t++) {
    check_status(burn_train_step(optimizer, burn_module(Pair, &pair), pair_loss(&pair, t), LEARNING_RATE));
    for (int i = 0; i < WEIGHTS + BIASES; i++) rule->step(rule, &numbers[i], gradient_of(i, t), t);
    assert_true(burn_is_require_grad(pair.weight.value));
    assert_true(burn_is_require_grad(pair.bias.value));
    pair_read(&pair, values);
    for (int i = 0; i < WEIGHTS + BIASES; i++) {
      if (!(fabs(values[i] - numbers[i].param) < TOLERANCE)) {
        fail_msg("step %d, element %d: %.17g, expected %.17g", t, i, values[i], numbers[i].param);
      }
    }
  }
  burn_optimizer_destroy(optimizer);
  Pair_release(&pair);
}

static void sgd_plain(void **state) {
  (void)state;
  follows_formula(&(Rule){.create = create_sgd, .step = step_sgd, .sgd = BurnSgdConfig_defaults()});
}

static void sgd_with_decay(void **state) {
  (void)state;
  Rule rule = {.create = create_sgd, .step = step_sgd, .sgd = BurnSgdConfig_defaults()};
  rule.sgd.weight_decay = (BurnOptionF64){true, 0.3};
  follows_formula(&rule);
}

static void sgd_with_momentum(void **state) {
  (void)state;
  Rule rule = {.create = create_sgd, .step = step_sgd, .sgd = BurnSgdConfig_defaults()};
  rule.sgd.momentum = (BurnOptionF64){true, 0.9};
  follows_formula(&rule);
  rule.sgd.dampening = 0;
  follows_formula(&rule);
  rule.sgd.weight_decay = (BurnOptionF64){true, 0.2};
  follows_formula(&rule);
}

static void sgd_with_nesterov(void **state) {
  (void)state;
  Rule rule = {.create = create_sgd, .step = step_sgd, .sgd = BurnSgdConfig_defaults()};
  rule.sgd.momentum = (BurnOptionF64){true, 0.8};
  rule.sgd.nesterov = true;
  follows_formula(&rule);
  rule.sgd.weight_decay = (BurnOptionF64){true, 0.2};
  follows_formula(&rule);
}

static void adam(void **state) {
  (void)state;
  Rule rule = {.create = create_adam, .step = step_adam, .adam = BurnAdamConfig_defaults()};
  follows_formula(&rule);
  rule.adam = (BurnAdamConfig){.beta_1 = 0.7, .beta_2 = 0.9, .epsilon = 1e-2, .weight_decay = {true, 0.4}};
  follows_formula(&rule);
}

static void adamw(void **state) {
  (void)state;
  Rule rule = {.create = create_adamw, .step = step_adamw, .adamw = BurnAdamWConfig_defaults()};
  follows_formula(&rule);
  rule.adamw = (BurnAdamWConfig){.beta_1 = 0.7, .beta_2 = 0.9, .epsilon = 1e-2, .weight_decay = 0.4};
  follows_formula(&rule);
}

/* -- sgd_step has the bits of the ops that it stands for -------------------------------------- */

static BurnTensor *made(int64_t count, double of) {
  BurnTensor *x = burn_cast(burn_arange(device, 0, count, 1), BURN_DTYPE_F32);
  return burn_sin(burn_mul_scalar(x, of));
}

/* out[0], out[1] of sgd_step; takes velocity, which may be NULL. */
static void by_parts(BurnTensor *param, BurnTensor *g, BurnTensor *velocity, const double with[4], bool nesterov,
                     BurnTensor *out[2]) {
  if (with[3] != 0) g = burn_add(g, burn_mul_scalar(burn_clone(param), with[3]));
  out[1] = burn_clone(g);
  if (velocity) out[1] = burn_add(burn_mul_scalar(out[1], 1 - with[2]), burn_mul_scalar(velocity, with[1]));
  BurnTensor *way =
      nesterov ? burn_add(burn_mul_scalar(burn_clone(out[1]), with[1]), burn_clone(g)) : burn_clone(out[1]);
  burn_drop(g);
  out[0] = burn_sub(param, burn_mul_scalar(way, with[0]));
}

static void check_parts(int64_t count, bool has_velocity, bool nesterov, const double with[4]) {
  static float found[40000], expected[40000];
  BurnTensor *whole[2], *parts[2], *velocity = has_velocity ? made(count, 3.3) : NULL;
  by_parts(made(count, 1.1), made(count, 2.2), velocity ? burn_clone(velocity) : NULL, with, nesterov, parts);
  burn_sgd_step(made(count, 1.1), made(count, 2.2), velocity, with[0], with[1], with[2], nesterov, with[3], whole);
  for (int i = 0; i < 2; i++) {
    check_status(burn_read_f32(whole[i], found, (size_t)count));
    check_status(burn_read_f32(parts[i], expected, (size_t)count));
    assert_memory_equal(found, expected, (size_t)count * sizeof *found);
  }
}

static void sgd_step_has_the_bits_of_its_parts(void **state) {
  static const int64_t counts[] = {1, 5, 2048, 2049, 39999};
  (void)state;
  for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
    for (int kind = 0; kind < 8; kind++) {
      const double with[4] = {0.01, 0.9, 0.1, kind & 4 ? 0.3 : 0};
      check_parts(counts[c], (kind & 1) != 0, (kind & 2) != 0, with);
    }
  }
}

/* What surprises those who come from PyTorch. */
static void defaults_are_those_of_burn(void **state) {
  (void)state;
  const BurnSgdConfig sgd = BurnSgdConfig_defaults();
  const BurnAdamConfig adam_config = BurnAdamConfig_defaults();
  const BurnAdamWConfig adamw_config = BurnAdamWConfig_defaults();
  assert_true(!sgd.momentum.present && !sgd.weight_decay.present && !sgd.nesterov && sgd.dampening == 0.1);
  assert_true(adam_config.beta_1 == 0.9 && adam_config.beta_2 == 0.999 && adam_config.epsilon == 1e-5);
  assert_false(adam_config.weight_decay.present);
  assert_true(adamw_config.epsilon == 1e-5 && adamw_config.weight_decay == 1e-4);
  /* NULL means the defaults: the first Adam step is lr * g / (|g| + epsilon). */
  Pair pair = pair_make(BURN_DTYPE_F64);
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  double values[WEIGHTS + BIASES];
  check_status(burn_train_step(optimizer, burn_module(Pair, &pair), pair_loss(&pair, 1), LEARNING_RATE));
  pair_read(&pair, values);
  for (int i = 0; i < WEIGHTS + BIASES; i++) {
    const double gradient = gradient_of(i, 1);
    assert_true(fabs(values[i] - (start_of(i) - LEARNING_RATE * gradient / (fabs(gradient) + 1e-5))) < TOLERANCE);
  }
  burn_optimizer_destroy(optimizer);
  Pair_release(&pair);
}

/* -- which parameters change ------------------------------------------------------------------ */

static void no_gradient_no_change(void **state) {
  (void)state;
  Pair pair = pair_make(BURN_DTYPE_F32);
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  double before[WEIGHTS + BIASES], after[WEIGHTS + BIASES];
  pair_read(&pair, before);
  BurnTensor *loss = burn_sum(burn_mul(burn_param_value(&pair.weight), table_like(pair.weight.value, 0, 1)));
  BurnGradientsParams *gradients = pair_gradients(&pair, loss);
  assert_int_equal(burn_gradients_params_count(gradients), 1);
  assert_null(burn_gradients_params_get(gradients, pair.bias.id));
  check_status(burn_optimizer_step(optimizer, burn_module(Pair, &pair), gradients, LEARNING_RATE));
  pair_read(&pair, after);
  assert_true(before[0] != after[0]);
  assert_memory_equal(before + WEIGHTS, after + WEIGHTS, BIASES * sizeof(double));
  BurnValue *value = burn_optimizer_value(optimizer);
  assert_int_equal(burn_value_count(value), 1);
  burn_value_destroy(value);
  burn_optimizer_destroy(optimizer);
  Pair_release(&pair);
}

static void frozen_and_absent_parameters_stay(void **state) {
  (void)state;
  Pair pair = pair_make(BURN_DTYPE_F32);
  BurnOptimizer *optimizer = burn_sgd_create(NULL);
  BurnTensor *weight = burn_require_grad(burn_detach(burn_param_value(&pair.weight)));
  double before[WEIGHTS], after[WEIGHTS];
  Pair other = {.weight = burn_param(weight)}; /* no bias */
  burn_module_no_grad(burn_module(Pair, &pair));
  check_status(burn_read_f64(burn_param_value(&pair.weight), before, WEIGHTS));
  BurnTensor *product = burn_mul(burn_param_value(&pair.weight), burn_param_value(&other.weight));
  BurnGradients *gradients = NULL;
  check_status(burn_backward(burn_sum(product), &gradients));
  BurnGradientsParams *linked = burn_gradients_params(gradients, burn_module(Pair, &other));
  assert_int_equal(burn_gradients_params_count(linked), 1);
  /* Gradients of one module leave another untouched, and a step that changes nothing says so. */
  check_refused(burn_optimizer_step(optimizer, burn_module(Pair, &pair), linked, LEARNING_RATE),
                BURN_STATUS_INVALID_ARGUMENT, "no parameter of Pair got a gradient: none asks for one");
  check_refused(burn_train_step(optimizer, burn_module(Pair, &pair), pair_loss(&pair, 1), LEARNING_RATE),
                BURN_STATUS_INVALID_ARGUMENT, "no parameter of Pair got a gradient: none asks for one, all are frozen");
  check_status(burn_read_f64(burn_param_value(&pair.weight), after, WEIGHTS));
  assert_memory_equal(before, after, sizeof before);
  assert_false(burn_is_require_grad(pair.weight.value));
  burn_optimizer_destroy(optimizer);
  Pair_release(&pair);
  Pair_release(&other);
}

static void steps_need_no_more_memory(void **state) {
  (void)state;
  Pair pair = pair_make(BURN_DTYPE_F32);
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  int64_t bytes = 0, tensors = 0;
  for (int t = 1; t <= 40; t++) {
    check_status(burn_train_step(optimizer, burn_module(Pair, &pair), pair_loss(&pair, t), LEARNING_RATE));
    const BurnMemoryStats stats = burn_device_memory(device);
    if (t == 2) {
      bytes = stats.bytes_in_use;
      tensors = stats.live_tensors;
    }
    if (t > 2) assert_true(stats.bytes_in_use == bytes && stats.live_tensors == tensors);
  }
  burn_optimizer_destroy(optimizer);
  Pair_release(&pair);
}

/* -- memory that work needs beyond what is in use: what the peak grows by once ballast has brought it within reach -- */

enum { BALLAST = 4096, CHUNK = 4096 };
static BurnTensor *ballast[BALLAST];

/* Makes ballast and gives the peak, at which the device then is. */
static int64_t filled_to_peak(void) {
  int count = 0;
  while (burn_device_memory(device).bytes_in_use < burn_device_memory(device).bytes_peak) {
    assert_true(count < BALLAST);
    ballast[count++] = burn_zeros(burn_device_inner(device), BURN_SHAPE(CHUNK), BURN_DTYPE_F32);
  }
  return burn_device_memory(device).bytes_peak;
}

/* Drops the ballast and gives what the peak has grown by. */
static int64_t grown_since(int64_t before) {
  for (int i = 0; i < BALLAST && ballast[i]; i++) {
    burn_drop(ballast[i]);
    ballast[i] = NULL;
  }
  return burn_device_memory(device).bytes_peak - before;
}

static int64_t bytes_of_a_step(BurnOptimizer *optimizer, Pair *pair, int64_t side) {
  BurnTensor *loss = burn_sum(burn_mul_scalar(burn_param_value(&pair->weight), 0.5));
  BurnGradientsParams *gradients = pair_gradients(pair, loss);
  const int64_t before = filled_to_peak();
  assert_true(before > 2 * side * side * 4);
  check_status(burn_optimizer_step(optimizer, burn_module(Pair, pair), gradients, LEARNING_RATE));
  return grown_since(before);
}

/* Does the op of a step write into the memory of inputs that nobody else holds? Not on a stack that copies, as the
 * reference does, nor on one without a kernel for it. */
static bool step_op_runs_in_place(bool adam, int64_t side) {
  BurnTensor *in[4] = {NULL}, *out[3] = {NULL};
  for (int i = 0; i < (adam ? 4 : 2); i++)
    in[i] = burn_ones(burn_device_inner(device), BURN_SHAPE(side, side), BURN_DTYPE_F32);
  check_status(burn_device_sync(device));
  const int64_t before = filled_to_peak();
  if (adam) {
    burn_adam_step(in[0], in[1], in[2], in[3], 0.9, 0.999, 0.1, 1e-5, 1, 0, out);
  } else {
    burn_sgd_step(in[0], in[1], NULL, 0.1, 0, 0, false, 0, out);
  }
  check_status(burn_device_sync(device));
  const int64_t grown = grown_since(before);
  for (int i = 0; i < 3; i++) burn_drop(out[i]);
  return grown < side * side;
}

static void steps_run_in_place(void **state) {
  (void)state;
  enum { SIDE = 256 };
  BurnOptimizer *optimizers[] = {burn_sgd_create(NULL), burn_adam_create(NULL), burn_adamw_create(NULL)};
  for (int i = 0; i < 3; i++) {
    Pair pair = {.weight = burn_param(burn_ones(device, BURN_SHAPE(SIDE, SIDE), BURN_DTYPE_F32))};
    (void)bytes_of_a_step(optimizers[i], &pair, SIDE); /* the first makes the state */
    const int64_t bytes = bytes_of_a_step(optimizers[i], &pair, SIDE);
    const bool in_place = step_op_runs_in_place(i > 0, SIDE);
    assert_true(in_place || test_stacks("ndarray").given);
    if (in_place) assert_true(bytes < SIDE * SIDE);
    burn_optimizer_destroy(optimizers[i]);
    Pair_release(&pair);
  }
}

/* -- gradients -------------------------------------------------------------------------------- */

static void accumulation_sums(void **state) {
  (void)state;
  Pair pair = pair_make(BURN_DTYPE_F64);
  BurnGradientsParams *sum = NULL;
  double values[WEIGHTS];
  for (int t = 1; t <= 3; t++)
    check_status(burn_gradients_accumulate(&sum, pair_gradients(&pair, pair_loss(&pair, t))));
  assert_int_equal(burn_gradients_params_count(sum), 2);
  check_status(burn_read_f64(burn_gradients_params_get(sum, pair.weight.id), values, WEIGHTS));
  for (int i = 0; i < WEIGHTS; i++) {
    assert_true(fabs(values[i] - (gradient_of(i, 1) + gradient_of(i, 2) + gradient_of(i, 3))) < TOLERANCE);
  }
  /* A parameter that only a later pass reached joins the sum. */
  burn_gradients_params_drop(sum);
  sum = pair_gradients(&pair, burn_sum(burn_param_value(&pair.bias)));
  assert_int_equal(burn_gradients_params_count(sum), 1);
  check_status(burn_gradients_accumulate(&sum, pair_gradients(&pair, pair_loss(&pair, 1))));
  assert_int_equal(burn_gradients_params_count(sum), 2);
  check_status(burn_read_f64(burn_gradients_params_get(sum, pair.bias.id), values, BIASES));
  for (int i = 0; i < BIASES; i++) assert_true(fabs(values[i] - (1 + gradient_of(WEIGHTS + i, 1))) < TOLERANCE);
  burn_gradients_params_drop(sum);
  Pair_release(&pair);
}

/* More parameters than the first table holds, with ids that are close together. */
static void many_parameters_are_told_apart(void **state) {
  (void)state;
  enum { MANY = 200 };
  Pairs many = {burn_module_list(Pair_type(), MANY)};
  BurnModule module = burn_module(Pairs, &many);
  BurnTensor *loss = burn_zeros(device, BURN_SHAPE(1), BURN_DTYPE_F64);
  assert_int_equal(many.pairs.count, MANY);
  for (int i = 0; i < MANY; i++) {
    Pair *pair = burn_module_list_at(&many.pairs, (size_t)i);
    pair->weight = burn_param(burn_full(device, BURN_SHAPE(1), BURN_DTYPE_F64, 1));
    pair->weight.id = (uint64_t)i; /* 0 is an id like any other */
    loss = burn_add(loss, burn_mul_scalar(burn_param_value(&pair->weight), i));
  }
  BurnGradients *gradients = NULL;
  check_status(burn_backward(loss, &gradients));
  BurnGradientsParams *linked = burn_gradients_params(gradients, module);
  assert_int_equal(burn_gradients_params_count(linked), MANY);
  for (int i = 0; i < MANY; i++) {
    double value = -1;
    check_status(burn_read_scalar(burn_gradients_params_get(linked, (uint64_t)i), &value));
    assert_true(value == i);
  }
  assert_null(burn_gradients_params_get(linked, MANY));
  burn_gradients_params_drop(linked);
  burn_module_release(module);
}

/* -- records ---------------------------------------------------------------------------------- */

/* Trains `steps` more and reads the parameters. */
static void train_on(BurnOptimizer *optimizer, Pair *pair, int first, int steps, double values[WEIGHTS + BIASES]) {
  for (int t = first; t < first + steps; t++) {
    check_status(burn_train_step(optimizer, burn_module(Pair, pair), pair_loss(pair, t), LEARNING_RATE));
  }
  pair_read(pair, values);
}

/* Half of the steps, the state through a file into a new optimizer, the other half: as if nothing had been. */
static void goes_on_after_a_record(const Rule *rule, const BurnRecordConfig *config, BurnDType dtype) {
  Pair straight = pair_make(dtype), broken = Pair_clone(&straight);
  BurnOptimizer *optimizer = rule->create(rule), *again = rule->create(rule);
  double expected[WEIGHTS + BIASES], found[WEIGHTS + BIASES];
  char path[] = "/tmp/burn_optimizer_test_XXXXXX", file[64];
  assert_non_null(mkdtemp(path));
  snprintf(file, sizeof file, "%s/optim.mpk", path);

  train_on(optimizer, &straight, 1, 3, expected);
  BurnValue *value = burn_optimizer_value(optimizer), *read = NULL;
  check_status(burn_value_write(value, file, config));
  burn_value_destroy(value);
  train_on(optimizer, &straight, 4, 3, expected);

  check_status(burn_value_read(file, config, &read));
  check_status(burn_optimizer_load(again, read, device));
  burn_value_destroy(read);
  BurnOptimizer *first_half = rule->create(rule);
  train_on(first_half, &broken, 1, 3, found);
  train_on(again, &broken, 4, 3, found);
  assert_memory_equal(expected, found, sizeof found);

  burn_optimizer_destroy(optimizer);
  burn_optimizer_destroy(again);
  burn_optimizer_destroy(first_half);
  Pair_release(&straight);
  Pair_release(&broken);
  remove(file);
  rmdir(path);
}

static void records_keep_every_bit(void **state) {
  (void)state;
  const BurnRecordConfig full = {BURN_RECORD_MPK, BURN_PRECISION_FULL},
                         twice = {BURN_RECORD_MPK, BURN_PRECISION_DOUBLE};
  Rule rule = {.create = create_adam, .adam = BurnAdamConfig_defaults()};
  goes_on_after_a_record(&rule, &full, BURN_DTYPE_F32);
  goes_on_after_a_record(&rule, &twice, BURN_DTYPE_F32); /* f64 in the file, f32 parameters */
  goes_on_after_a_record(&rule, &twice, BURN_DTYPE_F64);
  rule = (Rule){.create = create_adamw, .adamw = BurnAdamWConfig_defaults()};
  goes_on_after_a_record(&rule, &full, BURN_DTYPE_F32);
  rule = (Rule){.create = create_sgd, .sgd = BurnSgdConfig_defaults()};
  goes_on_after_a_record(&rule, &full, BURN_DTYPE_F32);
  rule.sgd.momentum = (BurnOptionF64){true, 0.9};
  goes_on_after_a_record(&rule, &full, BURN_DTYPE_F32);
}

static void records_have_the_layout_of_burn(void **state) {
  (void)state;
  Pair pair = pair_make(BURN_DTYPE_F32);
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  double values[WEIGHTS + BIASES];
  char id[14];
  train_on(optimizer, &pair, 1, 3, values);
  BurnValue *value = burn_optimizer_value(optimizer);
  assert_int_equal(burn_value_count(value), 2);
  burn_param_id_text(pair.weight.id, id);
  const BurnValue *rank = burn_value_get(burn_value_get(burn_value_get(value, id), "V1"), "Rank2");
  const BurnValue *momentum = burn_value_get(rank, "momentum");
  assert_int_equal(burn_value_as_int(burn_value_get(momentum, "time"), -1), 3);
  assert_int_equal(burn_value_kind(burn_value_get(momentum, "moment_1")), BURN_VALUE_TENSOR);
  assert_int_equal(burn_value_kind(burn_value_get(momentum, "moment_2")), BURN_VALUE_TENSOR);
  burn_param_id_text(pair.bias.id, id);
  assert_non_null(burn_value_get(burn_value_get(burn_value_get(value, id), "V1"), "Rank1"));
  burn_value_destroy(value);
  burn_optimizer_destroy(optimizer);
  Pair_release(&pair);
}

/* {id: {"V1": {"Rank1": {"momentum": momentum}}}}; momentum is taken. */
static BurnValue *record_of(const char *id, BurnValue *momentum) {
  BurnValue *record = burn_value_map(), *versions = burn_value_map(), *ranks = burn_value_map(),
            *fields = burn_value_map();
  assert_true(burn_value_set(fields, "momentum", momentum));
  assert_true(burn_value_set(ranks, "Rank1", fields));
  assert_true(burn_value_set(versions, "V1", ranks));
  assert_true(burn_value_set(record, id, versions));
  return record;
}

static BurnValue *adam_state(int64_t time, int64_t elements) {
  BurnValue *momentum = burn_value_map();
  BurnTensor *zeros = burn_zeros(burn_device_inner(device), BURN_SHAPE(elements), BURN_DTYPE_F32);
  assert_true(burn_value_set(momentum, "time", burn_value_int(time)));
  assert_true(burn_value_set(momentum, "moment_1", burn_value_tensor(burn_clone(zeros))));
  assert_true(burn_value_set(momentum, "moment_2", burn_value_tensor(zeros)));
  return momentum;
}

static void load_refused(BurnOptimizer *optimizer, BurnValue *record, const char *part) {
  check_refused(burn_optimizer_load(optimizer, record, device), BURN_STATUS_CORRUPT_DATA, part);
  burn_value_destroy(record);
}

static void bad_records_are_refused(void **state) {
  (void)state;
  Pair pair = pair_make(BURN_DTYPE_F32);
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  double values[WEIGHTS + BIASES];
  char id[14];
  burn_param_id_text(pair.bias.id, id);
  train_on(optimizer, &pair, 1, 1, values);
  load_refused(optimizer, burn_value_array(), "a map of parameters expected");
  load_refused(optimizer, record_of("not an id", adam_state(1, 3)), "parameter not an id");
  load_refused(optimizer, record_of("zzzzzzzzzzzzz", adam_state(1, 3)), "not the text of a parameter id");
  load_refused(optimizer, record_of(id, adam_state(0, 3)), "time");
  load_refused(optimizer, record_of(id, burn_value_nil()), "another optimizer");
  BurnValue *partial = burn_value_map();
  assert_true(burn_value_set(partial, "time", burn_value_int(1)));
  load_refused(optimizer, record_of(id, partial), "moment_1 of its state is missing");
  /* None of these has touched the state. */
  BurnValue *value = burn_optimizer_value(optimizer);
  assert_int_equal(burn_value_count(value), 2);
  burn_value_destroy(value);
  /* A state of another shape loads, for nobody knows the parameters yet, and is refused before it is used. */
  BurnValue *record = record_of(id, adam_state(1, 5));
  check_status(burn_optimizer_load(optimizer, record, device));
  burn_value_destroy(record);
  check_refused(burn_train_step(optimizer, burn_module(Pair, &pair), pair_loss(&pair, 2), LEARNING_RATE),
                BURN_STATUS_INVALID_SHAPE, "adam: bias: moment_1 is [5], the parameter [3]");
  pair_read(&pair, values); /* the parameters are sound all the same */
  burn_optimizer_destroy(optimizer);
  Pair_release(&pair);
}

/* -- an optimizer of one's own: three tensors, in two groups and beside them ------------------- */

/* param -= learning_rate * the sum of all gradients so far, which is kept twice. */
static BurnTensor *sum_step(const void *config, BurnOptimizerState *state, BurnTensor *param, BurnTensor *gradient,
                            double learning_rate) {
  assert_int_equal(*(const int *)config, 7);
  BurnTensor **sum = &state->tensors[0], **copy = &state->tensors[1];
  state->time++;
  burn_drop(*copy);
  *sum = *sum ? burn_add(*sum, gradient) : gradient;
  *copy = burn_clone(*sum);
  return burn_sub(param, burn_mul_scalar(burn_clone(*sum), learning_rate));
}

static const BurnStateTensor sum_rows[] = {{NULL, "sum", BURN_STATE_ALWAYS},
                                           {"twins", "copy", BURN_STATE_ALWAYS},
                                           {"twins", "other", BURN_STATE_FIELD_OPTIONAL},
                                           {"rest", "more", BURN_STATE_GROUP_OPTIONAL}};
static const BurnOptimizerRule sum_rule = {"sum", sum_step, sum_rows, 4, "twins"};

static BurnOptimizer *create_sum(const Rule *rule) {
  const int config = 7;
  (void)rule;
  return burn_optimizer_create(&sum_rule, &config, sizeof config);
}

static void step_sum(const Rule *rule, Number *number, double gradient, int t) {
  (void)rule;
  (void)t;
  number->first += gradient;
  number->param -= LEARNING_RATE * number->first;
}

static void rules_name_their_state(void **state) {
  (void)state;
  const Rule rule = {.create = create_sum, .step = step_sum};
  const BurnRecordConfig twice = {BURN_RECORD_MPK, BURN_PRECISION_DOUBLE};
  follows_formula(&rule);
  goes_on_after_a_record(&rule, &twice, BURN_DTYPE_F64);
  Pair pair = pair_make(BURN_DTYPE_F32);
  BurnOptimizer *optimizer = create_sum(&rule), *adam_optimizer = burn_adam_create(NULL), *sgd = burn_sgd_create(NULL);
  double values[WEIGHTS + BIASES];
  char id[14];
  train_on(optimizer, &pair, 1, 2, values);
  BurnValue *value = burn_optimizer_value(optimizer);
  burn_param_id_text(pair.bias.id, id);
  const BurnValue *fields = burn_value_get(burn_value_get(burn_value_get(value, id), "V1"), "Rank1");
  const BurnValue *twins = burn_value_get(fields, "twins"), *rest = burn_value_get(fields, "rest");
  assert_int_equal(burn_value_count(fields), 3);
  assert_int_equal(burn_value_kind(burn_value_get(fields, "sum")), BURN_VALUE_TENSOR);
  assert_int_equal(burn_value_as_int(burn_value_get(twins, "time"), -1), 2);
  assert_int_equal(burn_value_kind(burn_value_get(twins, "copy")), BURN_VALUE_TENSOR);
  assert_true(burn_value_get(twins, "other") && burn_value_kind(burn_value_get(twins, "other")) == BURN_VALUE_NIL);
  assert_true(rest && burn_value_kind(rest) == BURN_VALUE_NIL);
  /* Nobody takes it for a state of its own, not even an optimizer that may do without. */
  check_refused(burn_optimizer_load(adam_optimizer, value, device), BURN_STATUS_CORRUPT_DATA, "another optimizer");
  check_refused(burn_optimizer_load(sgd, value, device), BURN_STATUS_CORRUPT_DATA, "another optimizer");
  burn_value_destroy(value);
  burn_optimizer_destroy(optimizer);
  burn_optimizer_destroy(adam_optimizer);
  burn_optimizer_destroy(sgd);
  Pair_release(&pair);
}

/* -- failures --------------------------------------------------------------------------------- */

static void failures_are_reported(void **state) {
  (void)state;
  Pair pair = pair_make(BURN_DTYPE_F32);
  BurnModule module = burn_module(Pair, &pair);
  BurnTensor *bad = burn_matmul(burn_ones(device, BURN_SHAPE(2, 3), BURN_DTYPE_F32), burn_param_value(&pair.weight));
  BurnOptimizer *optimizer = burn_sgd_create(NULL);
  check_refused(burn_train_step(optimizer, module, bad, LEARNING_RATE), BURN_STATUS_INVALID_SHAPE, "matmul");
  check_refused(burn_train_step(NULL, module, pair_loss(&pair, 1), LEARNING_RATE), BURN_STATUS_OUT_OF_MEMORY,
                "optimizer");
  check_refused(burn_optimizer_step(optimizer, module, NULL, LEARNING_RATE), BURN_STATUS_OUT_OF_MEMORY, "gradients");
  assert_null(burn_optimizer_value(NULL));
  burn_optimizer_destroy(NULL);
  burn_gradients_params_drop(NULL);
  BurnGradientsParams *none = burn_gradients_params(NULL, module);
  assert_int_equal(burn_gradients_params_count(none), 0);
  check_refused(burn_optimizer_step(optimizer, module, none, LEARNING_RATE), BURN_STATUS_INVALID_ARGUMENT,
                "gradients: NULL");
  burn_optimizer_destroy(optimizer);
  Pair_release(&pair);
}

/* The loss of one module, the step of another: it would train nothing, for ever. */
static void steps_that_reach_nothing_fail(void **state) {
  (void)state;
  const char *message =
      "no parameter of Pair got a gradient: the loss was not computed from it, but perhaps from a copy";
  Pair pair = pair_make(BURN_DTYPE_F64), copy = Pair_clone(&pair);
  const BurnModule module = burn_module(Pair, &pair);
  BurnOptimizer *optimizer = burn_sgd_create(NULL);
  BurnGradientsParams *sum = NULL;
  double before[WEIGHTS + BIASES], after[WEIGHTS + BIASES];
  pair_read(&pair, before);
  check_refused(burn_train_step(optimizer, module, pair_loss(&copy, 1), LEARNING_RATE), BURN_STATUS_INVALID_ARGUMENT,
                message);
  check_refused(burn_train_step(optimizer, module, burn_detach(pair_loss(&pair, 1)), LEARNING_RATE),
                BURN_STATUS_INVALID_ARGUMENT, message);
  BurnGradientsParams *linked = pair_gradients(&pair, pair_loss(&copy, 1));
  check_refused(burn_optimizer_step(optimizer, module, linked, LEARNING_RATE), BURN_STATUS_INVALID_ARGUMENT, message);
  check_refused(burn_train_step(optimizer, module, pair_loss(&pair, 1), (double)INFINITY), BURN_STATUS_INVALID_ARGUMENT,
                "sgd: the learning rate is inf, a finite number expected");
  check_refused(burn_gradients_accumulate(&sum, pair_gradients(&pair, pair_loss(&copy, 1))),
                BURN_STATUS_INVALID_ARGUMENT, message);
  assert_null(sum);
  pair_read(&pair, after);
  assert_memory_equal(before, after, sizeof before);
  burn_optimizer_destroy(optimizer);
  Pair_release(&pair);
  Pair_release(&copy);
}

/* Runs a step whose loss reaches the weight alone; what is written to stderr meanwhile. */
static void step_on_weight(BurnOptimizer *optimizer, Pair *pair, char *out, size_t bytes) {
  FILE *file = tmpfile();
  const int saved = dup(STDERR_FILENO);
  assert_non_null(file);
  assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
  check_status(
      burn_train_step(optimizer, burn_module(Pair, pair), burn_sum(burn_param_value(&pair->weight)), LEARNING_RATE));
  assert_true(dup2(saved, STDERR_FILENO) >= 0);
  close(saved);
  rewind(file);
  out[fread(out, 1, bytes - 1, file)] = '\0';
  fclose(file);
}

static void missing_gradients_are_named_once(void **state) {
  (void)state;
  char text[512];
  Pair pair = pair_make(BURN_DTYPE_F64);
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  step_on_weight(optimizer, &pair, text, sizeof text);
  assert_string_equal(
      text, "burn: warning: adam: no gradient reached 1 of 2 parameters of Pair, which stay as they are: bias\n");
  step_on_weight(optimizer, &pair, text, sizeof text);
  assert_string_equal(text, "");
  burn_optimizer_destroy(optimizer);
  Pair_release(&pair);
}

/* A copy of the struct makes no parameter that two layers share: one of the two gets the gradient. */
static void copies_of_a_parameter_are_named(void **state) {
  (void)state;
  char text[512];
  Pair pair = pair_make(BURN_DTYPE_F64);
  const uint64_t id = pair.weight.id;
  burn_param_release(&pair.bias);
  pair.bias = pair.weight;
  pair.bias.value = burn_clone(pair.weight.value);
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  step_on_weight(optimizer, &pair, text, sizeof text);
  assert_string_equal(text,
                      "burn: warning: adam: no gradient reached 1 of 2 parameters of Pair, which stay as they are: "
                      "bias (has the id of weight)\n");
  assert_true(pair.weight.id == id && pair.bias.id == id);
  burn_optimizer_destroy(optimizer);
  Pair_release(&pair);
}

#define SHARED_FIELDS(X) X(BurnModuleOption, one, "") X(BurnModuleOption, two, "the same module")
BURN_MODULE(Shared, SHARED_FIELDS);

/* As bindings have it whose objects are shared: the module is met twice, and stepped once, without a word. */
static void a_module_in_two_places_is_stepped_once(void **state) {
  (void)state;
  char text[512];
  Pair pair = pair_make(BURN_DTYPE_F64), alone = pair_make(BURN_DTYPE_F64);
  Shared shared = {{Pair_type(), &pair, true}, {Pair_type(), &pair, true}};
  BurnOptimizer *optimizers[] = {burn_sgd_create(NULL), burn_sgd_create(NULL)};
  double values[WEIGHTS + BIASES], wanted[WEIGHTS + BIASES];
  FILE *file = tmpfile();
  const int saved = dup(STDERR_FILENO);
  assert_non_null(file);
  assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
  const BurnStatus both =
      burn_train_step(optimizers[0], burn_module(Shared, &shared), pair_loss(&pair, 1), LEARNING_RATE);
  assert_true(dup2(saved, STDERR_FILENO) >= 0);
  close(saved);
  rewind(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  check_status(both);
  assert_string_equal(text, "");
  check_status(burn_train_step(optimizers[1], burn_module(Pair, &alone), pair_loss(&alone, 1), LEARNING_RATE));
  pair_read(&pair, values);
  pair_read(&alone, wanted);
  assert_memory_equal(values, wanted, sizeof values);
  for (size_t i = 0; i < 2; i++) burn_optimizer_destroy(optimizers[i]);
  Pair_release(&pair);
  Pair_release(&alone);
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
      cmocka_unit_test(sgd_plain),
      cmocka_unit_test(sgd_with_decay),
      cmocka_unit_test(sgd_with_momentum),
      cmocka_unit_test(sgd_step_has_the_bits_of_its_parts),
      cmocka_unit_test(sgd_with_nesterov),
      cmocka_unit_test(adam),
      cmocka_unit_test(adamw),
      cmocka_unit_test(defaults_are_those_of_burn),
      cmocka_unit_test(no_gradient_no_change),
      cmocka_unit_test(frozen_and_absent_parameters_stay),
      cmocka_unit_test(steps_need_no_more_memory),
      cmocka_unit_test(steps_run_in_place),
      cmocka_unit_test(accumulation_sums),
      cmocka_unit_test(many_parameters_are_told_apart),
      cmocka_unit_test(records_keep_every_bit),
      cmocka_unit_test(records_have_the_layout_of_burn),
      cmocka_unit_test(bad_records_are_refused),
      cmocka_unit_test(rules_name_their_state),
      cmocka_unit_test(failures_are_reported),
      cmocka_unit_test(steps_that_reach_nothing_fail),
      cmocka_unit_test(missing_gradients_are_named_once),
      cmocka_unit_test(copies_of_a_parameter_are_named),
      cmocka_unit_test(a_module_in_two_places_is_stepped_once),
  };
  return cmocka_run_group_tests_name("optimizer", tests, open_device, close_device);
}
