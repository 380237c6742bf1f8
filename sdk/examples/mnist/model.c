/* model.c - see model.h. */
#include "model.h"

Model model_init(const ModelConfig *config, BurnDevice *device) {
  const BurnSize2 kernel = {{3, 3}}, pooled = {{8, 8}};
  const size_t hidden = config->hidden_size, classes = config->num_classes;
  return (Model){.conv1 = burn_conv2d_new(BURN_SIZE2(1, 8), kernel, device),
                 .conv2 = burn_conv2d_new(BURN_SIZE2(8, 16), kernel, device),
                 .pool = burn_adaptive_avg_pool2d_new(pooled, device),
                 .dropout = burn_dropout_new(config->dropout, device),
                 .linear1 = burn_linear_new(16 * 8 * 8, hidden, device),
                 .linear2 = burn_linear_new(hidden, classes, device),
                 .activation = burn_relu_init()};
}

BurnTensor *model_forward(const Model *m, BurnTensor *images) {
  BurnTensor *x = images;
  x = burn_conv2d_forward(&m->conv1, x); /* [batch, 8, 26, 26] */
  x = burn_dropout_forward(&m->dropout, x);
  x = burn_conv2d_forward(&m->conv2, x); /* [batch, 16, 24, 24] */
  x = burn_dropout_forward(&m->dropout, x);
  x = burn_relu_forward(&m->activation, x);
  x = burn_adaptive_avg_pool2d_forward(&m->pool, x); /* [batch, 16, 8, 8] */
  x = burn_flatten(x, 1, 3);                         /* [batch, 16 * 8 * 8] */
  x = burn_linear_forward(&m->linear1, x);
  x = burn_dropout_forward(&m->dropout, x);
  x = burn_relu_forward(&m->activation, x);
  return burn_linear_forward(&m->linear2, x); /* [batch, classes] */
}

BurnStepOutput model_step(void *context, const void *model, BurnBatch *batch) {
  (void)context;
  BurnTensor *targets = burn_batch_take(batch, "label");
  BurnTensor *images = burn_float(burn_batch_take(batch, "image"));
  BurnTensor *output = model_forward(model, images);
  BurnTensor *loss =
      burn_cross_entropy(burn_clone(output), burn_clone(targets));
  return burn_classification_output(loss, output, targets);
}

BurnDataset *mnist_data(const TrainingConfig *config, uint32_t split,
                        BurnStatus *status) {
  BurnDataset *raw;
  if (config->data.text[0]) {
    raw = burn_dataset_mnist(config->data.text, split, status);
  } else {
    /* Test digits come from another seed: none of them is in the training
     * data. */
    const bool train = split == BURN_MNIST_TRAIN;
    const BurnDigitsConfig digits = {
        train ? config->train_items : config->test_items,
        2 * config->seed + (train ? 0 : 1)};
    raw = burn_dataset_digits(&digits, status);
  }
  return raw ? burn_dataset_mnist_normalize(raw, status) : NULL;
}
