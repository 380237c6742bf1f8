/* judge.c - see judge.h. */
#include "judge.h"
#include "wgan_model.h"

#include "../mnist/load.h"

#include <math.h>

static const double confidence = 0.8;

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

/* -- the judge ------------------------------------------------------------- */

BurnStatus judge_load(const char *artifact, BurnDevice *device, Model *judge) {
  TrainingConfig config;
  BurnStatus status = model_load(artifact, device, &config, judge);
  if (status == BURN_OK && config.model.num_classes != CLASSES) {
    status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                              "%s has a model of %zu classes, not of %d digits",
                              artifact, config.model.num_classes, (int)CLASSES);
  }
  return burn_status_annotate(
      status, "the judge (the program mnist makes one, --judge names it)");
}

/* takes [n, PIXELS] of 0..1, normalised as burn_dataset_mnist_normalize does
 * -> scores [n, CLASSES] */
static BurnTensor *judge_forward(const Model *judge, BurnTensor *images) {
  const int64_t count = burn_dim(images, 0);
  images = burn_reshape(images, BURN_SHAPE(count, 1, SIDE, SIDE));
  images = burn_div_scalar(burn_sub_scalar(images, 0.1307), 0.3081);
  return model_forward(judge, images);
}

/* -- its verdict ----------------------------------------------------------- */

static BurnStatus read_mean(BurnTensor *flags, double *mean) {
  return burn_read_scalar(burn_mean(burn_float(flags)), mean);
}

BurnStatus judge_images(const Model *judge, BurnTensor *images,
                        BurnTensor *labels, Verdict *verdict) {
  BurnTensor *chances = burn_softmax(judge_forward(judge, images), 1);
  BurnTensor *digit = burn_flatten(burn_argmax(burn_clone(chances), 1), 0, 1);
  BurnTensor *best = burn_max_dim(chances, 1);
  BurnStatus status = read_mean(burn_greater_equal_scalar(best, confidence),
                                &verdict->confident);
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
