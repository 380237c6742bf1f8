/* model.h - the CNN of the Burn guide, and the configs of a training run. */
#ifndef MNIST_MODEL_H
#define MNIST_MODEL_H

#include <burn/burn.h>
#include <burn/nn.h>
#include <burn/train.h>

#define MODEL_CONFIG(REQ, OPT)                            \
  REQ(BurnSize, num_classes, "digits to tell apart")      \
  REQ(BurnSize, hidden_size, "width of the hidden layer") \
  OPT(BurnF64, dropout, 0.5, "share of activations dropped in training")
BURN_CONFIG(ModelConfig, MODEL_CONFIG);

#define MODEL_FIELDS(X)                                          \
  X(BurnConv2d, conv1, "1 -> 8 channels")                        \
  X(BurnConv2d, conv2, "8 -> 16 channels")                       \
  X(BurnAdaptiveAvgPool2d, pool, "to 8 x 8")                     \
  X(BurnDropout, dropout, "after both convolutions and linear1") \
  X(BurnLinear, linear1, "16 * 8 * 8 -> hidden")                 \
  X(BurnLinear, linear2, "hidden -> classes")                    \
  X(BurnRelu, activation, "")
BURN_MODULE(Model, MODEL_FIELDS);

/* What a run was started with; saved as config.json in the artifact folder, so
 * that --resume and infer need no options. */
#define TRAINING_CONFIG(REQ, OPT)                                            \
  REQ(ModelConfig, model, "the network")                                     \
  REQ(BurnAdamConfig, optimizer, "the optimizer")                            \
  OPT(BurnSize, num_epochs, 6, "passes over the training data")              \
  OPT(BurnSize, batch_size, 64, "images per step")                           \
  OPT(BurnSize, num_workers, 1, "threads that prepare batches")              \
  OPT(BurnSize, seed, 42, "of weights, dropout, order and generated digits") \
  OPT(BurnF64, learning_rate, 1e-3, "of Adam")                               \
  OPT(BurnText, data, {""},                                                  \
      "folder with the MNIST files; empty: generated digits")                \
  OPT(BurnSize, train_items, 20000, "generated digits to train on")          \
  OPT(BurnSize, test_items, 4000, "generated digits to test on")
BURN_CONFIG(TrainingConfig, TRAINING_CONFIG);

Model model_init(const ModelConfig *config, BurnDevice *device);

/* takes [batch, 1, 28, 28] -> [batch, classes] */
BurnTensor *model_forward(const Model *m, BurnTensor *images);

/* The step of training and validation: cross entropy on "image" and "label". */
BurnStepOutput model_step(void *context, const void *model, BurnBatch *batch);

/* Training or test data as the config says: normalised images and labels. NULL
 * with the reason in *status. */
BurnDataset *mnist_data(const TrainingConfig *config, uint32_t split,
                        BurnStatus *status);

#endif
