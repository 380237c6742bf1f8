/* autocast_training_test.c - mixed precision trains: an MLP, the CNN of the guide and a small GPT-2 reach the loss that
 * they reach in f32, in bf16 and, with loss scaling, in f16; what is saved is f32 and loads without the decorator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/nn.h>
#include <burn/train.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpt2_model.h"
#include "model.h"
#include "status_testing.h"

/* -- data ------------------------------------------------------------------------------------- */

enum { DIGITS = 64, PIXELS = 28 * 28, LENGTH = 16, BATCH = 8, TOKENS = 32 };

typedef struct Digits {
  float images[DIGITS * PIXELS];
  int64_t labels[DIGITS];
} Digits;

static const Digits *digits(void) {
  static Digits made;
  static bool done;
  if (done) return &made;
  BurnStatus status = BURN_OK;
  BurnDataset *data = burn_dataset_digits(&(BurnDigitsConfig){DIGITS, 3}, &status);
  check_status(status);
  data = burn_dataset_mnist_normalize(data, &status);
  check_status(status);
  for (size_t i = 0; i < DIGITS; i++)
    check_status(burn_dataset_get(data, i, (void *const[]){made.images + i * PIXELS, &made.labels[i]}));
  burn_dataset_drop(data);
  done = true;
  return &made;
}

static BurnTensor *labels(BurnDevice *device) { return burn_tensor_i64(device, digits()->labels, BURN_SHAPE(DIGITS)); }

/* -- models: each gives the loss of its batch ------------------------------------------------- */

#define MLP_FIELDS(X)                 \
  X(BurnLinear, fc1, "pixels -> 64")  \
  X(BurnLayerNorm, norm, "of the 64") \
  X(BurnLinear, fc2, "64 -> digits")
BURN_MODULE(Mlp, MLP_FIELDS);

static void mlp_make(void *module, BurnDevice *device) {
  *(Mlp *)module = (Mlp){.fc1 = burn_linear_new(PIXELS, 64, device),
                         .norm = burn_layer_norm_new(64, device),
                         .fc2 = burn_linear_new(64, 10, device)};
}

static BurnTensor *mlp_loss(const void *module, BurnDevice *device) {
  const Mlp *m = module;
  BurnTensor *x = burn_tensor_f32(device, digits()->images, BURN_SHAPE(DIGITS, PIXELS));
  x = burn_gelu(burn_layer_norm_forward(&m->norm, burn_linear_forward(&m->fc1, x)));
  return burn_cross_entropy(burn_linear_forward(&m->fc2, x), labels(device));
}

static void cnn_make(void *module, BurnDevice *device) {
  ModelConfig config = ModelConfig_defaults(10, 32);
  config.dropout = 0;
  *(Model *)module = model_init(&config, device);
}

static BurnTensor *cnn_loss(const void *module, BurnDevice *device) {
  BurnTensor *x = burn_tensor_f32(device, digits()->images, BURN_SHAPE(DIGITS, 1, 28, 28));
  return burn_cross_entropy(model_forward(module, x), labels(device));
}

static void gpt_make(void *module, BurnDevice *device) {
  Gpt2Config config = Gpt2Config_defaults();
  config.vocabulary = TOKENS;
  config.length = LENGTH;
  config.width = 32;
  config.layers = 2;
  config.heads = 2;
  *(Gpt2 *)module = gpt2_init(&config, device);
}

/* Each token is 3 times the one before, plus the number of the line. */
static BurnTensor *gpt_loss(const void *module, BurnDevice *device) {
  int64_t seen[BATCH * LENGTH], next[BATCH * LENGTH];
  for (int i = 0; i < BATCH; i++) {
    int64_t token = i;
    for (int k = 0; k < LENGTH; k++) {
      seen[i * LENGTH + k] = token;
      token = (3 * token + i) % TOKENS;
      next[i * LENGTH + k] = token;
    }
  }
  BurnTensor *logits = gpt2_forward(module, burn_tensor_i64(device, seen, BURN_SHAPE(BATCH, LENGTH)));
  return burn_cross_entropy(logits, burn_tensor_i64(device, next, BURN_SHAPE(BATCH * LENGTH)));
}

typedef struct Task {
  const char *name;
  const BurnType *(*type)(void);
  void (*make)(void *module, BurnDevice *device);
  BurnTensor *(*loss)(const void *module, BurnDevice *device);
  int steps;
  double rate;
} Task;

static const Task tasks[] = {{"mlp", Mlp_type, mlp_make, mlp_loss, 20, 2e-3},
                             {"cnn", Model_type, cnn_make, cnn_loss, 15, 2e-3},
                             {"gpt2", Gpt2_type, gpt_make, gpt_loss, 60, 3e-3}};
enum { TASKS = sizeof tasks / sizeof tasks[0] };

/* -- training --------------------------------------------------------------------------------- */

typedef union Room {
  Mlp mlp;
  Model cnn;
  Gpt2 gpt;
} Room;

static void step(const Task *task, BurnModule module, BurnDevice *device, BurnOptimizer *optimizer,
                 BurnGradScaler *scaler) {
  BurnTensor *loss = task->loss(module.data, device);
  if (!scaler) {
    check_status(burn_train_step(optimizer, module, loss, task->rate));
    return;
  }
  BurnGradients *gradients = NULL;
  check_status(burn_backward(burn_grad_scaler_scale(scaler, loss), &gradients));
  BurnGradientsParams *linked = burn_gradients_params(gradients, module);
  check_status(burn_grad_scaler_step(scaler, optimizer, module, linked, task->rate, NULL));
}

/* The loss of a trained model; *record, unless NULL, is what it is saved as. */
static double train(const Task *task, const char *stack, bool scaled, uint8_t **record, size_t *record_bytes) {
  BurnDevice *device = burn_device_open(stack);
  check_status(burn_device_status(device));
  burn_device_seed(device, 11);
  Room room;
  const BurnModule module = {task->type(), &room};
  task->make(&room, device);
  BurnAdamConfig adam = BurnAdamConfig_defaults();
  BurnOptimizer *optimizer = burn_adam_create(&adam);
  BurnGradScaler scaler = burn_grad_scaler(NULL);
  double loss = 0;
  for (int i = 0; i < task->steps; i++) step(task, module, device, optimizer, scaled ? &scaler : NULL);
  check_status(burn_read_scalar(task->loss(&room, device), &loss));
  if (record) check_status(burn_record_to_bytes(module, NULL, record, record_bytes));
  burn_optimizer_destroy(optimizer);
  burn_module_release(module);
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
  burn_device_close(device);
  return loss;
}

static void test_losses_are_those_of_f32(void **state) {
  (void)state;
  static const struct {
    const char *stack;
    bool scaled;
    double near; /* as a share of what was learned */
  } rows[] = {{"autocast<autodiff<ndarray>>", false, 0.05},
              {"autodiff<autocast<ndarray>>", false, 0.05},
              {"autocast<autodiff<fusion<ndarray>>>", false, 0.05},
              {"autocast<autodiff:checkpointing=balanced<ndarray>>", false, 0.05},
              {"autocast:dtype=f16<autodiff<ndarray>>", true, 0.02}};
  for (size_t t = 0; t < TASKS; t++) {
    const Task *task = &tasks[t], untrained = {task->name, task->type, task->make, task->loss, 0, task->rate};
    const double before = train(&untrained, "autodiff<ndarray>", false, NULL, NULL);
    const double wanted = train(task, "autodiff<ndarray>", false, NULL, NULL);
    if (wanted > 0.6 * before) fail_msg("%s: f32 gets from %g to %g only", task->name, before, wanted);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
      const double loss = train(task, rows[i].stack, rows[i].scaled, NULL, NULL);
      if (!(fabs(loss - wanted) < rows[i].near * (before - wanted)))
        fail_msg("%s on %s gets from %g to %g, in f32 to %g", task->name, rows[i].stack, before, loss, wanted);
      if (!(fabs(loss - wanted) > 0)) fail_msg("%s on %s: nothing ran in halves", task->name, rows[i].stack);
    }
  }
}

/* -- records ---------------------------------------------------------------------------------- */

static BurnStatus expect_f32(void *context, const BurnModuleTensor *tensor) {
  (void)context;
  BurnTensor *value = tensor->param ? burn_param_value(tensor->param) : burn_buffer_value(tensor->buffer);
  if (burn_dtype(value) != BURN_DTYPE_F32) fail_msg("%s is %s", tensor->path, burn_dtype_name(burn_dtype(value)));
  burn_drop(value);
  return BURN_OK;
}

/* Master weights: the record has digits that bf16 has not, and gives the same loss without the decorator and with. */
static void test_records_need_no_decorator(void **state) {
  (void)state;
  const Task *task = &tasks[0];
  uint8_t *record = NULL;
  size_t bytes = 0;
  const double trained = train(task, "autocast<autodiff<ndarray>>", false, &record, &bytes);
  static const char *const stacks[] = {"ndarray", "autocast<ndarray>"};
  double losses[2];
  for (int i = 0; i < 2; i++) {
    BurnDevice *device = burn_device_open(stacks[i]);
    Mlp mlp;
    mlp_make(&mlp, device);
    const BurnModule module = burn_module(Mlp, &mlp);
    check_status(burn_record_from_bytes(module, record, bytes, NULL));
    check_status(burn_module_visit(module, expect_f32, NULL));
    float weight = 0;
    BurnTensor *first = burn_reshape(burn_param_value(&mlp.fc1.weight), BURN_SHAPE(PIXELS * 64));
    check_status(burn_read_f32(burn_narrow(first, 0, 5, 1), &weight, 1));
    uint32_t bits;
    memcpy(&bits, &weight, sizeof bits);
    assert_true((bits & 0xffff) != 0);
    check_status(burn_read_scalar(mlp_loss(&mlp, device), &losses[i]));
    Mlp_release(&mlp);
    burn_device_close(device);
  }
  assert_true(fabs(losses[1] - trained) < 1e-6);
  assert_true(fabs(losses[0] - trained) < 0.05);
  free(record);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_losses_are_those_of_f32),
                                     cmocka_unit_test(test_records_need_no_decorator)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
