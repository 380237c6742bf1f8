/* network.c - training and inference steps of any model of this folder, and the table of them. A step is forward, cross
 * entropy, backward, Adam, loss read, on one batch that stays: what it costs to fetch data is epoch_bench's to tell.
 * The loss falls because the batch is learned by heart. */
#include "networks.h"

#include <string.h>

static BurnModule module_of(Subject *s) { return (BurnModule){s->network->type(), &s->model}; }

/* t[0] the inputs, t[1] the targets. */
static BurnStatus make_batch(Subject *s, BurnDevice *device) {
  const int64_t count = s->network->target_count(s->args);
  s->t[0] = s->network->inputs(s->args, device);
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
int64_t batch_targets(const int64_t *args) { return args[0]; }
int64_t ten_classes(const int64_t *args) {
  (void)args;
  return 10;
}

/* Arguments are the batch size and what the model's file says. */
const NetworkSizes bench_networks[] = {
    {&guide_network, {4}, {64}},
    {&lenet_network, {4}, {64}},
    {&mlp_network, {8, 32, 2}, {128, 512, 2}},
    {&gpt_network, {2, 32, 2, 2, 16, 32}, {8, 256, 4, 8, 256, 256}},
    {&lstm_network, {4, 16, 8}, {32, 256, 64}},
    {&resnet_network, {2, 8}, {16, 64}},
    {NULL, {0}, {0}},
};

#define KINDS(model)                                                                             \
  static BurnStatus prepare_##model(Subject *s) { return network_prepare(s, &model##_network); } \
  static BurnStatus prepare_##model##_infer(Subject *s) { return prepare_inference(s, &model##_network); }
KINDS(guide)
KINDS(lenet)
KINDS(mlp)
KINDS(gpt)
KINDS(lstm)
KINDS(resnet)

#define ROWS(model)                                                      \
  {#model, true, prepare_##model, network_step, false}, {                \
#model "_infer", true, prepare_##model##_infer, network_infer, false \
  }
static BurnStatus prepare_wgan(Subject *s) { return network_prepare(s, &wgan_network); }
const Kind network_kinds[] = {ROWS(guide),
                              ROWS(lenet),
                              ROWS(mlp),
                              ROWS(gpt),
                              ROWS(lstm),
                              ROWS(resnet),
                              {"wgan_critic", true, prepare_wgan, wgan_critic_step, false},
                              {"wgan_generator", true, prepare_wgan, wgan_generator_step, false}};
const size_t network_kind_count = sizeof network_kinds / sizeof network_kinds[0];
