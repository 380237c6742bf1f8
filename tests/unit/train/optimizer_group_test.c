/* optimizer_group_test.c - which optimizer and which learning rate a parameter gets, clipping that a config or a setter says, what is refused,
 * and records of several optimizers in one. Each group is SGD with a limit of its own, and gradients are 1, so that a
 * parameter of 1 tells by its value which group it was in. */
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

#define LAYER_FIELDS(X)          \
  X(BurnParam, weight, "[1, 1]") \
  X(BurnParam, bias, "[1]")
BURN_MODULE(Layer, LAYER_FIELDS);

#define NET_FIELDS(X)     \
  X(Layer, fc1, "first")  \
  X(Layer, fc2, "second") \
  X(Layer, head, "last")
BURN_MODULE(Net, NET_FIELDS);

enum { PARAMS = 6 };

static BurnDevice *device;

static void check_refused(BurnStatus status, uint32_t code, const char *message) {
  assert_int_not_equal(status, BURN_OK);
  assert_string_equal(burn_status_message(status), message);
  assert_int_equal(burn_status_code(status), code);
}

static Layer layer_make(void) {
  return (Layer){burn_param(burn_ones(device, BURN_SHAPE(1, 1), BURN_DTYPE_F64)),
                 burn_param(burn_ones(device, BURN_SHAPE(1), BURN_DTYPE_F64))};
}

static Net net_make(void) { return (Net){layer_make(), layer_make(), layer_make()}; }

static BurnTensor *sum_of(const Layer *layer) {
  return burn_add(burn_sum(burn_param_value(&layer->weight)), burn_sum(burn_param_value(&layer->bias)));
}

static BurnTensor *loss_of(const Net *net) {
  return burn_add(sum_of(&net->fc1), burn_add(sum_of(&net->fc2), sum_of(&net->head)));
}

static BurnStatus step(BurnOptimizer *optimizer, Net *net) {
  return burn_train_step(optimizer, burn_module(Net, net), loss_of(net), 1);
}

static void net_read(const Net *net, double values[PARAMS]) {
  const BurnParam *params[PARAMS] = {&net->fc1.weight, &net->fc1.bias,    &net->fc2.weight,
                                     &net->fc2.bias,   &net->head.weight, &net->head.bias};
  for (int i = 0; i < PARAMS; i++) check_status(burn_read_scalar(burn_param_value(params[i]), &values[i]));
}

/* SGD whose step of a gradient of 1 is `limit`. */
static BurnOptimizer *sgd(double limit) {
  BurnSgdConfig config = BurnSgdConfig_defaults();
  config.clipping = (BurnGradientClipping)BURN_CLIP_VALUE(limit);
  return burn_sgd_create(&config);
}

/* -- which group ------------------------------------------------------------------------------ */

/* One step by 0.5, and by 0.25 for the group: those that the text marks with x. */
static void group_has(BurnParamGroup group, const Net *net, const char *marks) {
  Net copy = Net_clone(net);
  BurnOptimizer *optimizer = sgd(0.5);
  double values[PARAMS];
  check_status(burn_optimizer_with_group(optimizer, &group, sgd(0.25)));
  check_status(step(optimizer, &copy));
  net_read(&copy, values);
  for (int i = 0; i < PARAMS; i++) {
    if (values[i] != (marks[i] == 'x' ? 0.75 : 0.5)) fail_msg("parameter %d of '%s': %g", i, marks, values[i]);
  }
  burn_optimizer_destroy(optimizer);
  Net_release(&copy);
}

static bool is_second(void *context, const char *path, uint64_t id) {
  const Net *net = context;
  return strncmp(path, "fc2.", 4) == 0 && (id == net->fc2.weight.id || id == net->fc2.bias.id);
}

#define TEXTS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void groups_by_path_id_and_test(void) {
  Net net = net_make();
  const uint64_t ids[] = {net.head.bias.id, net.fc1.weight.id};
  const BurnParamGroup biases = {.any_parts = TEXTS("bias")};
  /* weight and bias of fc1, fc2, head */
  group_has((BurnParamGroup){.paths = TEXTS("fc1.bias", "head.weight")}, &net, ".x..x.");
  group_has((BurnParamGroup){.parts = TEXTS("fc", "weight")}, &net, "x.x...");
  group_has((BurnParamGroup){.any_parts = TEXTS("head", "bias")}, &net, ".x.xxx");
  group_has((BurnParamGroup){.ids = ids, .id_count = 2}, &net, "x....x");
  group_has((BurnParamGroup){.matches = is_second, .context = &net}, &net, "..xx..");
  group_has((BurnParamGroup){.excludes = &biases}, &net, "x.x.x.");
  group_has((BurnParamGroup){.any_parts = TEXTS("fc1"), .excludes = &biases}, &net, "x.....");
  group_has((BurnParamGroup){.paths = TEXTS("fc1.bias"), .any_parts = TEXTS("head")}, &net, ".x..xx");
  group_has((BurnParamGroup){.any_parts = TEXTS("nothing")}, &net, "......");
  group_has((BurnParamGroup){.paths = NULL}, &net, "xxxxxx");
  Net_release(&net);
}

static void the_last_group_counts(void) {
  Net net = net_make();
  BurnOptimizer *optimizer = sgd(0.5);
  double values[PARAMS];
  check_status(burn_optimizer_with_group(optimizer, &(BurnParamGroup){.any_parts = TEXTS("fc")}, sgd(0.25)));
  check_status(burn_optimizer_with_group(optimizer, &(BurnParamGroup){.any_parts = TEXTS("bias")}, sgd(0.125)));
  check_status(step(optimizer, &net));
  net_read(&net, values);
  const double expected[PARAMS] = {0.75, 0.875, 0.75, 0.875, 0.5, 0.875};
  assert_memory_equal(values, expected, sizeof expected);
  burn_optimizer_destroy(optimizer);
  Net_release(&net);
}

static void groups_that_are_refused(void) {
  Net net = net_make();
  BurnOptimizer *optimizer = burn_adam_create(NULL), *nested = burn_sgd_create(NULL), *none = NULL;
  const BurnParamGroup all = {.paths = NULL};
  BurnSgdConfig config = BurnSgdConfig_defaults();
  check_refused(burn_optimizer_with_group(optimizer, &all, none), BURN_STATUS_OUT_OF_MEMORY,
                "optimizer: NULL: out of memory when it was created, or not created");
  check_refused(burn_optimizer_with_group(none, &all, burn_sgd_create(NULL)), BURN_STATUS_OUT_OF_MEMORY,
                "optimizer: NULL: out of memory when it was created, or not created");
  check_status(burn_optimizer_with_group(nested, &all, burn_sgd_create(NULL)));
  check_refused(burn_optimizer_with_group(optimizer, &all, nested), BURN_STATUS_INVALID_ARGUMENT,
                "adam: a group of sgd, which has groups itself");
  config.clipping = (BurnGradientClipping)BURN_CLIP_GLOBAL_NORM(1);
  check_refused(burn_optimizer_with_group(optimizer, &all, burn_sgd_create(&config)), BURN_STATUS_INVALID_ARGUMENT,
                "adam: a group of sgd with clipping by the norm of all gradients, which is given to adam itself");
  check_status(step(optimizer, &net));
  check_refused(burn_optimizer_with_group(optimizer, &all, burn_sgd_create(NULL)), BURN_STATUS_FAILED_PRECONDITION,
                "adam: a group of sgd after the first step");
  burn_optimizer_destroy(optimizer);
  Net_release(&net);
}

/* The step of an optimizer with such a group; the parameters stay. */
static void step_refused(BurnParamGroup group, Net *net, const char *message) {
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  double values[PARAMS];
  check_status(burn_optimizer_with_group(optimizer, &group, burn_sgd_create(NULL)));
  check_refused(step(optimizer, net), BURN_STATUS_INVALID_ARGUMENT, message);
  net_read(net, values);
  for (int i = 0; i < PARAMS; i++) assert_true(values[i] == 1);
  burn_optimizer_destroy(optimizer);
}

static void what_groups_name_is_there(void) {
  Net net = net_make();
  const uint64_t unknown[] = {net.fc1.bias.id, 0};
  const BurnParamGroup misspelt = {.paths = TEXTS("fc1.bais")};
  step_refused((BurnParamGroup){.paths = TEXTS("fc1.bias", "fc3.bias")}, &net,
               "sgd: a group has the parameter fc3.bias, which Net has not");
  step_refused((BurnParamGroup){.ids = unknown, .id_count = 2}, &net,
               "sgd: a group has the parameter 0000000000000, which Net has not");
  step_refused((BurnParamGroup){.excludes = &misspelt}, &net,
               "sgd: a group has the parameter fc1.bais, which Net has not");
  Net_release(&net);
}

/* -- clipping and configs --------------------------------------------------------------------- */

static void setters_stand_above_configs(void) {
  Net net = net_make();
  BurnOptimizer *optimizer = sgd(0.5);
  double values[PARAMS];
  check_status(burn_optimizer_with_clipping(optimizer, (BurnGradientClipping)BURN_CLIP_VALUE(0.25)));
  check_status(step(optimizer, &net));
  net_read(&net, values);
  for (int i = 0; i < PARAMS; i++) assert_true(values[i] == 0.75);
  check_status(burn_optimizer_with_clipping(optimizer, (BurnGradientClipping)BURN_CLIP_NONE));
  check_status(step(optimizer, &net));
  net_read(&net, values);
  for (int i = 0; i < PARAMS; i++) assert_true(values[i] == -0.25);
  check_refused(burn_optimizer_with_clipping(optimizer, (BurnGradientClipping)BURN_CLIP_NORM(-2)),
                BURN_STATUS_INVALID_ARGUMENT, "sgd: the limit of clipping by Norm is -2, above 0 expected");
  check_refused(burn_optimizer_with_clipping(NULL, (BurnGradientClipping)BURN_CLIP_NONE), BURN_STATUS_OUT_OF_MEMORY,
                "optimizer: NULL: out of memory when it was created, or not created");
  burn_optimizer_destroy(optimizer);
  Net_release(&net);
}

/* The norm of six gradients of 1 is sqrt(6), also for a group with another optimizer. */
static void one_norm_for_all_groups(void) {
  Net net = net_make();
  BurnOptimizer *optimizer = burn_sgd_create(NULL);
  double values[PARAMS];
  check_status(burn_optimizer_with_clipping(optimizer, (BurnGradientClipping)BURN_CLIP_GLOBAL_NORM(0.5)));
  check_status(
      burn_optimizer_with_group(optimizer, &(BurnParamGroup){.any_parts = TEXTS("bias")}, burn_sgd_create(NULL)));
  check_status(step(optimizer, &net));
  net_read(&net, values);
  for (int i = 0; i < PARAMS; i++) assert_true(fabs(values[i] - (1 - 0.5 / sqrt(6))) < 1e-6);
  burn_optimizer_destroy(optimizer);
  Net_release(&net);
}

/* Made with a config that makes no sense: it is told at once and by every use. */
static void refused(BurnOptimizer *optimizer, const char *message) {
  Net net = net_make();
  check_refused(burn_optimizer_status(optimizer), BURN_STATUS_INVALID_ARGUMENT, message);
  check_refused(step(optimizer, &net), BURN_STATUS_INVALID_ARGUMENT, message);
  check_refused(burn_optimizer_with_clipping(optimizer, (BurnGradientClipping)BURN_CLIP_NONE),
                BURN_STATUS_INVALID_ARGUMENT, message);
  BurnValue *value = burn_value_map();
  check_refused(burn_optimizer_load(optimizer, value, device), BURN_STATUS_INVALID_ARGUMENT, message);
  burn_value_destroy(value);
  burn_optimizer_destroy(optimizer);
  Net_release(&net);
}

static void configs_are_checked(void) {
  BurnSgdConfig sgd_config = BurnSgdConfig_defaults();
  sgd_config.momentum = (BurnOptionF64){true, -1};
  refused(burn_sgd_create(&sgd_config), "sgd: momentum is -1, at least 0 expected");
  sgd_config.momentum.present = false;
  sgd_config.dampening = 1.5;
  refused(burn_sgd_create(&sgd_config), "sgd: dampening is 1.5, 0 to 1 expected");
  sgd_config = BurnSgdConfig_defaults();
  sgd_config.nesterov = true;
  refused(burn_sgd_create(&sgd_config), "sgd: momentum is 0, above 0 expected with nesterov");
  sgd_config.momentum = (BurnOptionF64){true, 0};
  refused(burn_sgd_create(&sgd_config), "sgd: momentum is 0, above 0 expected with nesterov");
  BurnAdamConfig adam = BurnAdamConfig_defaults();
  adam.beta_2 = 2;
  refused(burn_adam_create(&adam), "adam: beta_2 is 2, at least 0 and below 1 expected");
  adam.beta_2 = 1;
  refused(burn_adam_create(&adam), "adam: beta_2 is 1, at least 0 and below 1 expected");
  adam = BurnAdamConfig_defaults();
  adam.weight_decay = (BurnOptionF64){true, (double)INFINITY};
  refused(burn_adam_create(&adam), "adam: weight_decay is inf, a finite number expected");
  adam = BurnAdamConfig_defaults();
  adam.clipping = (BurnGradientClipping)BURN_CLIP_NORM(-1);
  refused(burn_adam_create(&adam), "adam: the limit of clipping by Norm is -1, above 0 expected");
  BurnAdamWConfig adamw = BurnAdamWConfig_defaults();
  adamw.beta_1 = 1;
  refused(burn_adamw_create(&adamw), "adamw: beta_1 is 1, at least 0 and below 1 expected");
  adamw.beta_1 = 0.9;
  adamw.epsilon = (double)NAN;
  refused(burn_adamw_create(&adamw), signbit(adamw.epsilon) ? "adamw: epsilon is -nan, at least 0 expected"
                                                            : "adamw: epsilon is nan, at least 0 expected");
  BurnRmsPropConfig rmsprop = BurnRmsPropConfig_defaults();
  rmsprop.weight_decay = (BurnOptionF64){true, -0.1};
  refused(burn_rmsprop_create(&rmsprop), "rmsprop: weight_decay is -0.1, at least 0 expected");
}

static void configs_are_saved(void) {
  BurnAdamConfig config = BurnAdamConfig_defaults(), read = BurnAdamConfig_defaults();
  config.clipping = (BurnGradientClipping)BURN_CLIP_NORM(0.5);
  char *text = burn_config_text(burn_config(BurnAdamConfig, &config));
  assert_non_null(text);
  check_status(burn_config_parse(burn_config(BurnAdamConfig, &read), text));
  assert_int_equal(read.clipping.kind, BURN_GRADIENT_CLIPPING_NORM);
  assert_true(read.clipping.limit == 0.5);
  check_status(burn_config_parse(burn_config(BurnAdamConfig, &read), "{\"clipping\": {\"Value\": 2}}"));
  assert_int_equal(read.clipping.kind, BURN_GRADIENT_CLIPPING_VALUE);
  assert_true(read.clipping.limit == 2);
  free(text);
}

/* -- records ---------------------------------------------------------------------------------- */

static BurnOptimizer *adam_and_rmsprop(void) {
  static const char *const biases[] = {"bias", NULL};
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  check_status(burn_optimizer_with_group(optimizer, &(BurnParamGroup){.any_parts = biases}, burn_rmsprop_create(NULL)));
  return optimizer;
}

/* Every state is that of its parameter's optimizer, and finds it again. */
static void records_of_groups(void) {
  Net net = net_make(), copy = Net_clone(&net);
  BurnOptimizer *optimizer = adam_and_rmsprop(), *again = adam_and_rmsprop();
  double expected[PARAMS], found[PARAMS];
  check_status(step(optimizer, &net));
  check_status(step(optimizer, &copy));
  Net_release(&copy);
  copy = Net_clone(&net);
  BurnValue *value = burn_optimizer_value(optimizer);
  check_status(burn_optimizer_load(again, value, device));
  check_status(step(optimizer, &net));
  check_status(step(again, &copy));
  net_read(&net, expected);
  net_read(&copy, found);
  assert_memory_equal(found, expected, sizeof expected);
  assert_true(expected[0] != expected[1]);
  /* An optimizer without the group refuses what it cannot have made. */
  BurnOptimizer *plain = burn_adam_create(NULL);
  assert_int_equal(burn_status_code(burn_optimizer_load(plain, value, device)), BURN_STATUS_CORRUPT_DATA);
  burn_value_destroy(value);
  burn_optimizer_destroy(plain);
  burn_optimizer_destroy(optimizer);
  burn_optimizer_destroy(again);
  Net_release(&net);
  Net_release(&copy);
}

/* A parameter that is in another group than when the record was made: the state is not taken for what it is not; Adam
 * and AdamW have the same rows. */
static void states_of_other_groups(void) {
  static const char *const weights[] = {"weight", NULL};
  Net net = net_make();
  BurnOptimizer *optimizer = adam_and_rmsprop(), *other = burn_adam_create(NULL), *adamw = burn_adamw_create(NULL);
  const char *message = "rmsprop: fc1.weight: its state is that of adam";
  check_status(step(optimizer, &net));
  BurnValue *value = burn_optimizer_value(optimizer);
  check_status(burn_optimizer_with_group(other, &(BurnParamGroup){.any_parts = weights}, burn_rmsprop_create(NULL)));
  check_status(burn_optimizer_load(other, value, device));
  check_refused(step(other, &net), BURN_STATUS_FAILED_PRECONDITION, message);
  burn_value_destroy(value);
  burn_optimizer_destroy(optimizer);
  optimizer = burn_adam_create(NULL);
  check_status(step(optimizer, &net));
  value = burn_optimizer_value(optimizer);
  check_status(burn_optimizer_load(adamw, value, device));
  check_status(step(adamw, &net));
  burn_value_destroy(value);
  burn_optimizer_destroy(optimizer);
  burn_optimizer_destroy(adamw);
  burn_optimizer_destroy(other);
  Net_release(&net);
}

/* -- learning rates by groups ------------------------------------------------------------------ */

static void check_near(const Net *net, const double expected[PARAMS]) {
  double values[PARAMS];
  net_read(net, values);
  for (int i = 0; i < PARAMS; i++) {
    if (!(fabs(values[i] - expected[i]) < 1e-14)) {
      fail_msg("parameter %d is %.17g, expected %.17g", i, values[i], expected[i]);
    }
  }
}

/* Plain SGD with gradients of 1: a parameter is 1 less the sum of its rates. */
static void rates_of_groups(void) {
  Net net = net_make();
  BurnOptimizer *optimizer = burn_sgd_create(NULL);
  BurnExponentialRateConfig falling = BurnExponentialRateConfig_defaults(0.5, 0.5);
  const BurnLearningRateGroup groups[] = {
      {.which = {.any_parts = TEXTS("fc2", "head")}, .learning_rate = 0.25},
      {.which = {.paths = TEXTS("head.weight")}, .schedule = burn_schedule_exponential(&falling)},
      {.which = {.ids = &net.fc2.bias.id, .id_count = 1}}};
  BurnModuleLearningRate rates = {.base = 0.1, .groups = groups, .group_count = 3};
  check_status(burn_module_learning_rate_check(&rates));
  for (; rates.iteration < 3; rates.iteration++) {
    if (rates.iteration == 1) {
      BurnGradients *gradients = NULL;
      check_status(burn_backward(loss_of(&net), &gradients));
      BurnGradientsParams *linked = burn_gradients_params(gradients, burn_module(Net, &net));
      check_status(burn_optimizer_step_rates(optimizer, burn_module(Net, &net), linked, &rates));
    } else {
      check_status(burn_train_step_rates(optimizer, burn_module(Net, &net), loss_of(&net), &rates));
    }
  }
  check_near(&net, (const double[]){0.7, 0.7, 0.25, 1, 1 - (0.5 + 0.25 + 0.125), 0.25});
  assert_true(burn_module_learning_rate_of(&rates, "head.weight", 0) == 0.0625); /* iteration 3 */
  assert_true(burn_module_learning_rate_of(&rates, "fc1.bias", 0) == 0.1);
  burn_optimizer_destroy(optimizer);
  Net_release(&net);
}

/* Groups of an optimizer and those with a rate do not know of each other. */
static void rates_meet_groups_of_an_optimizer(void) {
  Net net = net_make();
  const BurnSgdConfig half = {.clipping = BURN_CLIP_VALUE(0.5)};
  BurnOptimizer *optimizer = burn_sgd_create(NULL);
  check_status(
      burn_optimizer_with_group(optimizer, &(BurnParamGroup){.any_parts = TEXTS("bias")}, burn_sgd_create(&half)));
  const BurnLearningRateGroup group = {.which = {.any_parts = TEXTS("head")}, .learning_rate = 0.1};
  const BurnModuleLearningRate rates = {.base = 1, .groups = &group, .group_count = 1};
  check_status(burn_train_step_rates(optimizer, burn_module(Net, &net), loss_of(&net), &rates));
  check_near(&net, (const double[]){0, 0.5, 0, 0.5, 0.9, 0.95});
  burn_optimizer_destroy(optimizer);
  Net_release(&net);
}

static void rates_that_are_refused(void) {
  Net net = net_make();
  BurnOptimizer *optimizer = burn_sgd_create(NULL);
  BurnExponentialRateConfig wrong = BurnExponentialRateConfig_defaults(2, 0.5);
  BurnLearningRateGroup groups[] = {{.learning_rate = 1},
                                    {.which = {.paths = TEXTS("fc3.weight")}, .learning_rate = (double)NAN}};
  BurnModuleLearningRate rates = {.base = (double)INFINITY, .groups = groups, .group_count = 2};
  check_refused(burn_module_learning_rate_check(&rates), BURN_STATUS_INVALID_ARGUMENT, "the base rate is not finite");
  rates.base = 1;
  check_refused(burn_module_learning_rate_check(&rates), BURN_STATUS_INVALID_ARGUMENT,
                "learning rate of group 1: the rate is not finite");
  groups[1].schedule = burn_schedule_exponential(&wrong);
  check_refused(burn_module_learning_rate_check(&rates), BURN_STATUS_INVALID_ARGUMENT,
                "learning rate of group 1: exponential: initial_lr is 2, above 0 to 1 expected");
  check_refused(burn_train_step_rates(optimizer, burn_module(Net, &net), loss_of(&net), &rates),
                BURN_STATUS_INVALID_ARGUMENT, "sgd: a group has the parameter fc3.weight, which Net has not");
  check_near(&net, (const double[]){1, 1, 1, 1, 1, 1});
  burn_optimizer_destroy(optimizer);
  Net_release(&net);
}

/* A part that is misspelt finds nothing, which a run would not notice otherwise. */
static void groups_without_parameters_are_told_once(void) {
  static const char *const misspelt[] = {"bais", NULL};
  char text[256];
  const BurnParamGroup group = {.any_parts = misspelt};
  const BurnLearningRateGroup groups[] = {{.which = {.parts = misspelt}, .learning_rate = 1}};
  const BurnModuleLearningRate rates = {1, groups, 1, 0};
  Net net = net_make();
  BurnOptimizer *optimizer = burn_sgd_create(NULL);
  check_status(burn_optimizer_with_group(optimizer, &group, burn_sgd_create(NULL)));
  for (int i = 0; i < 2; i++) {
    FILE *log = tmpfile();
    assert_non_null(log);
    const int saved = dup(STDERR_FILENO);
    assert_true(dup2(fileno(log), STDERR_FILENO) >= 0);
    const BurnStatus status = burn_train_step_rates(optimizer, burn_module(Net, &net), loss_of(&net), &rates);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
    check_status(status);
    rewind(log);
    text[fread(text, 1, sizeof text - 1, log)] = '\0';
    fclose(log);
    assert_string_equal(
        text, i ? ""
                : "burn: warning: sgd: group 0 (\"bais\") has no parameter of Net: its optimizer is not used\n"
                  "burn: warning: sgd: group 0 (\"bais\") has no parameter of Net: its learning rate is not used\n");
  }
  burn_optimizer_destroy(optimizer);
  Net_release(&net);
}

static void all_tests(void **state) {
  (void)state;
  groups_by_path_id_and_test();
  the_last_group_counts();
  groups_that_are_refused();
  what_groups_name_is_there();
  setters_stand_above_configs();
  one_norm_for_all_groups();
  configs_are_checked();
  configs_are_saved();
  records_of_groups();
  states_of_other_groups();
  rates_of_groups();
  rates_meet_groups_of_an_optimizer();
  rates_that_are_refused();
  groups_without_parameters_are_told_once();
}

static void on_stacks(void **state) {
  (void)state;
  test_on_training_stacks("autodiff<ndarray>; autodiff<fusion<ndarray>>", &device, NULL, all_tests);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(on_stacks)};
  return test_stacks_result(cmocka_run_group_tests_name("optimizer_group", tests, NULL, NULL));
}
