/* nn_gpt2_test.c - the GPT-2 of sdk/examples/gpt2 in a tiny size: losses of four steps and the gradients of the first
 * are those of PyTorch (golden/make_gpt2_golden.py), from the same weights. */
#include "gpt2_golden.h"
#include "gpt2_model.h"
#include "nn_testing.h"
#include "status_testing.h"

enum { VOCABULARY = 29, LENGTH = 6, BATCH = 3, EVERY = 7, STEPS = 4, ROOM = 1024 };

/* Patterns 2, 3, .. in the order of the record. */
static BurnStatus set_pattern(void *context, const BurnModuleTensor *tensor) {
  int *k = context;
  BurnTensor *value = burn_param_base(tensor->param);
  BurnDevice *device = burn_tensor_device(value);
  const double shift = strcmp(tensor->field, "gamma") == 0 ? 1 : 0;
  const BurnShape shape = burn_shape(value);
  burn_drop(value);
  value = burn_add_scalar(burn_mul_scalar(nn_pattern(device, shape, (*k)++), 0.1), shift);
  burn_param_set(tensor->param, value);
  return BURN_OK;
}

static Gpt2 make(BurnDevice *device) {
  Gpt2Config config = Gpt2Config_defaults();
  config.vocabulary = VOCABULARY;
  config.length = LENGTH;
  config.width = 8;
  config.layers = config.heads = 2;
  Gpt2 m = gpt2_init(&config, device);
  int first = 2;
  check_status(burn_module_visit(burn_module(Gpt2, &m), set_pattern, &first));
  return m;
}

static BurnTensor *loss_of(const Gpt2 *m, BurnDevice *device) {
  int64_t seen[BATCH * LENGTH], next[BATCH * LENGTH];
  for (int64_t i = 0; i < BATCH * (LENGTH + 1); i++) {
    const int64_t token = (i * i * 7 + 3 * i) % VOCABULARY, row = i / (LENGTH + 1), k = i % (LENGTH + 1);
    if (k < LENGTH) seen[row * LENGTH + k] = token;
    if (k > 0) next[row * LENGTH + k - 1] = token;
  }
  BurnTensor *logits = gpt2_forward(m, burn_tensor_i64(device, seen, BURN_SHAPE(BATCH, LENGTH)));
  return burn_cross_entropy(logits, burn_tensor_i64(device, next, BURN_SHAPE(BATCH * LENGTH)));
}

/* Every 7th number of all gradients, one parameter after the other. */
typedef struct Picked {
  BurnGradients *gradients;
  double values[ROOM];
  size_t count;
} Picked;

static BurnStatus pick(void *context, const BurnModuleTensor *tensor) {
  Picked *picked = context;
  double values[ROOM];
  BurnTensor *gradient = burn_grad(tensor->param->value, picked->gradients);
  if (!gradient) fail_msg("%s has no gradient", tensor->path);
  const size_t count = (size_t)burn_element_count(gradient);
  assert_true(count <= ROOM);
  const BurnStatus status = burn_read_f64(gradient, values, count);
  for (size_t i = 0; i < count; i += EVERY) picked->values[picked->count++] = values[i];
  return status;
}

static void test_gradients(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  Gpt2 m = make(device);
  static Picked picked;
  picked.count = 0;
  check_status(burn_backward(loss_of(&m, device), &picked.gradients));
  check_status(burn_module_visit(burn_module(Gpt2, &m), pick, &picked));
  const size_t count = sizeof golden_gpt2_gradients / sizeof golden_gpt2_gradients[0];
  assert_int_equal(picked.count, count);
  for (size_t i = 0; i < count; i++) {
    if (!(fabs(picked.values[i] - golden_gpt2_gradients[i]) <= 2e-6 + 2e-5 * fabs(golden_gpt2_gradients[i])))
      fail_msg("gradient %zu is %.9g, expected %.9g", i, picked.values[i], golden_gpt2_gradients[i]);
  }
  burn_gradients_drop(picked.gradients);
  Gpt2_release(&m);
}

static void test_losses(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  Gpt2 m = make(device);
  BurnStatus status = BURN_OK;
  BurnOptimizer *optimizer = gpt2_optimizer(&status);
  check_status(status);
  for (int i = 0; i < STEPS; i++) {
    double value = 0;
    BurnTensor *loss = loss_of(&m, device);
    check_status(burn_read_scalar(burn_clone(loss), &value));
    if (!(fabs(value - golden_gpt2_losses[i]) <= 2e-5 * golden_gpt2_losses[i]))
      fail_msg("loss %d is %.9g, expected %.9g", i, value, golden_gpt2_losses[i]);
    check_status(burn_train_step(optimizer, burn_module(Gpt2, &m), loss, 1e-2));
  }
  burn_optimizer_destroy(optimizer);
  Gpt2_release(&m);
}

/* A module without autodiff gives the same logits. */
static void test_inference(void **state) {
  const NnDevices *devices = *state;
  Gpt2 m = make(devices->plain);
  double value = 0;
  check_status(burn_read_scalar(loss_of(&m, devices->plain), &value));
  assert_true(fabs(value - golden_gpt2_losses[0]) <= 2e-5 * golden_gpt2_losses[0]);
  Gpt2_release(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients), cmocka_unit_test(test_losses),
                                     cmocka_unit_test(test_inference)};
  return cmocka_run_group_tests(tests, nn_setup, nn_teardown);
}
