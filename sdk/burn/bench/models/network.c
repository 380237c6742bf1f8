/* network.c - training and inference steps of any model of this folder, and the table of them. A step is forward, cross
 * entropy, backward, Adam, loss read, on one batch that stays: what it costs to fetch data is epoch_bench's to tell.
 * The loss falls because the batch is learned by heart. */
#include "networks.h"

#include <string.h>

static BurnModule module_of(Subject *s) { return (BurnModule){s->network->type(), &s->model}; }

/* t[0] the inputs, t[1] the targets of what is trained. */
static BurnStatus make_batch(Subject *s, BurnDevice *device) {
  s->t[0] = s->network->inputs(s->args, device);
  if (!s->network->target_count) return burn_tensor_status(s->t[0]);
  const int64_t count = s->network->target_count(s->args);
  s->t[1] = burn_random_uniform(device, BURN_SHAPE(count), BURN_DTYPE_I64, 0, (double)s->network->classes(s->args));
  const BurnStatus status = burn_tensor_status(s->t[0]);
  return status == BURN_OK ? burn_tensor_status(s->t[1]) : status;
}

BurnStatus network_prepare(Subject *s, const Network *model) {
  BurnAdamConfig adam = BurnAdamConfig_defaults();
  adam.epsilon = 1e-8; /* the peer's default */
  s->network = model;
  if (model->type()->bytes > sizeof s->model) {
    return burn_status_make(BURN_STATUS_INTERNAL, "%s: %zu bytes; raise MODEL_BYTES", model->name,
                            model->type()->bytes);
  }
  burn_device_seed(s->device, 1);
  model->init(&s->model, s->args, s->device);
  const BurnStatus status = burn_module_status(module_of(s));
  if (status != BURN_OK) return status;
  s->optimizer = burn_adam_create(&adam);
  return make_batch(s, s->device);
}

BurnStatus network_tell(Subject *s, BurnTensor *loss, BurnStatus status) {
  burn_drop(s->last);
  s->last = loss;
  if (status != BURN_OK) return status;
  return s->leaves_work ? subject_finish(s) : subject_settle(s);
}

BurnStatus network_step(Subject *s) {
  BurnTensor *logits = s->network->forward(&s->model, burn_clone(s->t[0]));
  BurnTensor *loss = burn_cross_entropy(logits, burn_clone(s->t[1]));
  BurnTensor *told = burn_detach(burn_clone(loss));
  return network_tell(s, told, burn_train_step(s->optimizer, module_of(s), loss, 1e-4));
}

/* Inference: the same weights below autodiff, where batch norm and dropout do not train. */
static BurnStatus prepare_inference(Subject *s, const Network *model) {
  BurnStatus status = network_prepare(s, model);
  if (status != BURN_OK) return status;
  burn_module_valid(module_of(s), &s->valid);
  BurnDevice *inner = burn_device_inner(s->device);
  burn_drop(s->t[0]);
  s->t[0] = model->inputs(s->args, inner);
  s->infers = true;
  return burn_tensor_status(s->t[0]);
}

BurnStatus network_infer(Subject *s) {
  BurnTensor *logits = s->network->forward(&s->valid, burn_clone(s->t[0]));
  BurnStatus status = burn_tensor_status(logits);
  if (status == BURN_OK) status = subject_finish(s);
  burn_drop(logits);
  return status;
}

BurnTensor *image_inputs(const int64_t *args, int64_t channels, int64_t size, BurnDevice *device) {
  return burn_random_normal(device, BURN_SHAPE(args[0], channels, size, size), BURN_DTYPE_F32, 0, 1);
}
BurnTensor *token_inputs(int64_t batch, int64_t length, int64_t vocabulary, BurnDevice *device) {
  return burn_random_uniform(device, BURN_SHAPE(batch, length), BURN_DTYPE_I64, 0, (double)vocabulary);
}
int64_t batch_targets(const int64_t *args) { return args[0]; }
int64_t ten_classes(const int64_t *args) {
  (void)args;
  return 10;
}

/* The models that are trained and used: X(name, small sizes, those of the suite), which are the batch size and what the
 * model's file says. */
#define NETWORKS(X)                                                       \
  X(guide, (4), (64))                                                     \
  X(lenet, (4), (64))                                                     \
  X(mlp, (8, 32, 2), (128, 512, 2))                                       \
  X(gpt, (2, 32, 2, 2, 16, 32), (8, 256, 4, 8, 256, 256))                 \
  X(lstm, (4, 16, 8), (32, 256, 64))                                      \
  X(resnet, (2, 8), (16, 64))                                             \
  X(resnet50, (2, 8, 64, 10, 1, 1, 1, 1), (2, 64, 224, 1000, 3, 4, 6, 3)) \
  X(vit, (2, 32, 2, 2, 32, 8, 10), (2, 384, 12, 6, 224, 16, 1000))        \
  X(unet, (2, 8, 16, 2, 4), (2, 32, 128, 4, 4))                           \
  X(bert, (2, 32, 2, 8), (4, 768, 12, 128))                               \
  X(lstm_language, (4, 16, 8, 32), (20, 256, 35, 10000))

#define SIZES(...) \
  { __VA_ARGS__ }
#define NETWORK_SIZES(model, small, full) {&model##_network, SIZES small, SIZES full},
const NetworkSizes bench_networks[] = {NETWORKS(NETWORK_SIZES){NULL, {0}, {0}}};

#define PREPARE(model, small, full)                                                              \
  static BurnStatus prepare_##model(Subject *s) { return network_prepare(s, &model##_network); } \
  static BurnStatus prepare_##model##_infer(Subject *s) { return prepare_inference(s, &model##_network); }
NETWORKS(PREPARE)
static BurnStatus prepare_wgan(Subject *s) { return network_prepare(s, &wgan_network); }
static BurnStatus prepare_llama(Subject *s) { return prepare_inference(s, &llama_network); }

#define ROWS(model, small, full)                        \
  {#model, true, prepare_##model, network_step, false}, \
      {#model "_infer", true, prepare_##model##_infer, network_infer, false},
const Kind network_kinds[] = {NETWORKS(ROWS){"llama_decode", true, prepare_llama, llama_decode, false},
                              {"wgan_critic", true, prepare_wgan, wgan_critic_step, false},
                              {"wgan_generator", true, prepare_wgan, wgan_generator_step, false}};
const size_t network_kind_count = sizeof network_kinds / sizeof network_kinds[0];
