/* judge.c - see judge.h. */
#include "judge.h"
#include "wgan_model.h"

#include <math.h>

static const double confidence = 0.9;

BurnLoader *digits_loader(const char *folder, uint32_t split, size_t items,
                          size_t batch_size, size_t seed, BurnStatus *status) {
  const BurnDigitsConfig drawn = {items, 2 * seed + split};
  const BurnLoaderConfig config = {.batch_size = batch_size,
                                   .shuffle = split == BURN_MNIST_TRAIN,
                                   .seed = seed,
                                   .workers = 1};
  BurnDataset *digits = folder ? burn_dataset_mnist(folder, split, status)
                               : burn_dataset_digits(&drawn, status);
  digits = burn_dataset_slice(digits, 0, items, status);
  return burn_loader_create(burn_dataset_cache(digits, status), &config,
                            status);
}

BurnTensor *pixels_of(BurnTensor *image) {
  return burn_div_scalar(burn_float(burn_flatten(image, 1, 2)), 255);
}

/* -- the classifier -------------------------------------------------------- */

static Judge judge_init(BurnDevice *device) {
  BurnConv2dConfig conv1 =
      BurnConv2dConfig_defaults(BURN_SIZE2(1, 16), BURN_SIZE2(5, 5));
  BurnConv2dConfig conv2 =
      BurnConv2dConfig_defaults(BURN_SIZE2(16, 32), BURN_SIZE2(5, 5));
  conv1.stride = conv2.stride = BURN_SIZE2(2, 2);
  return (Judge){.conv1 = burn_conv2d_init(&conv1, device),
                 .conv2 = burn_conv2d_init(&conv2, device),
                 .fc = burn_linear_new(32 * 4 * 4, CLASSES, device)};
}

/* takes [n, PIXELS] -> logits [n, CLASSES] */
static BurnTensor *judge_forward(const Judge *m, BurnTensor *x) {
  const int64_t count = burn_dim(x, 0);
  x = burn_reshape(x, BURN_SHAPE(count, 1, SIDE, SIDE));
  x = burn_relu(burn_conv2d_forward(&m->conv1, x));
  x = burn_relu(burn_conv2d_forward(&m->conv2, x));
  return burn_linear_forward(&m->fc, burn_flatten(x, 1, 3));
}

static BurnStepOutput judge_step(void *context, const void *model,
                                 BurnBatch *batch) {
  (void)context;
  BurnTensor *labels = burn_int(burn_batch_take(batch, "label"));
  BurnTensor *output =
      judge_forward(model, pixels_of(burn_batch_take(batch, "image")));
  BurnTensor *loss = burn_cross_entropy(burn_clone(output), burn_clone(labels));
  return burn_classification_output(loss, output, labels);
}

BurnStatus judge_learn(Judge *m, BurnLoader *data, BurnDevice *device) {
  const BurnLearnerConfig config = {
      .epochs = 2, .learning_rate = 1e-3, .quiet = true};
  const BurnTask task = {judge_step, NULL};
  *m = judge_init(device);
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  const BurnStatus status =
      burn_learner_fit(&config, &task, device, burn_module(Judge, m), optimizer,
                       data, NULL, NULL);
  burn_optimizer_destroy(optimizer);
  return status;
}

/* -- its verdict ----------------------------------------------------------- */

static BurnStatus read_mean(BurnTensor *flags, double *mean) {
  return burn_read_scalar(burn_mean(burn_float(flags)), mean);
}

BurnStatus judge_images(const Judge *m, BurnTensor *images, BurnTensor *labels,
                        Verdict *verdict) {
  BurnTensor *chances = burn_softmax(judge_forward(m, images), 1);
  BurnTensor *digit = burn_flatten(burn_argmax(burn_clone(chances), 1), 0, 1);
  BurnTensor *best = burn_max_dim(chances, 1);
  BurnStatus status =
      read_mean(burn_greater_scalar(best, confidence), &verdict->confident);
  for (int i = 0; status == BURN_OK && i < CLASSES; i++) {
    status =
        read_mean(burn_equal_scalar(burn_clone(digit), i), &verdict->share[i]);
  }
  verdict->right = (double)NAN;
  if (status == BURN_OK && labels) {
    status = read_mean(burn_equal(burn_clone(digit), burn_int(labels)),
                       &verdict->right);
  } else {
    burn_drop(labels);
  }
  burn_drop(digit);
  return status;
}
