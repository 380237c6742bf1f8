/* loss_gram_matrix.c - features of a VGG19, and the differences of their Gram matrices. */
#include <burn/nn/loss_gram_matrix.h>

#include <burn/ops_move.h>

#include "nn_internal.h"

enum { FEATURES = 5 };

/* -- VGG19 ------------------------------------------------------------------------------------ */

/* The first layer of a block (name, channels in, out, whether a pool stands in front), whose output is a feature; the
 * next ones (name, channels in, out). */
#define LAYERS(FIRST, NEXT)      \
  FIRST(conv1_1, 3, 64, false)   \
  NEXT(conv1_2, 64, 64)          \
  FIRST(conv2_1, 64, 128, true)  \
  NEXT(conv2_2, 128, 128)        \
  FIRST(conv3_1, 128, 256, true) \
  NEXT(conv3_2, 256, 256)        \
  NEXT(conv3_3, 256, 256)        \
  NEXT(conv3_4, 256, 256)        \
  FIRST(conv4_1, 256, 512, true) \
  NEXT(conv4_2, 512, 512)        \
  NEXT(conv4_3, 512, 512)        \
  NEXT(conv4_4, 512, 512)        \
  FIRST(conv5_1, 512, 512, true)

static BurnConv2d make_layer(size_t channels_in, size_t channels_out, BurnDevice *device) {
  BurnConv2dConfig config = BurnConv2dConfig_defaults((BurnSize2){{channels_in, channels_out}}, (BurnSize2){{3, 3}});
  config.padding = (BurnPadding2d)BURN_PADDING_SAME;
  return burn_conv2d_init(&config, device);
}

BurnVgg19 burn_vgg19_init(const BurnVgg19Config *config, BurnDevice *device) {
  config = burn_nn_config(config, BurnVgg19Config_type(), "vgg19", NULL);
  BurnVgg19 m = {.use_avg_pool = config->use_avg_pool};
#define MAKE(name, in, out) m.name = make_layer(in, out, device);
#define MAKE_FIRST(name, in, out, pool) MAKE(name, in, out)
  LAYERS(MAKE_FIRST, MAKE)
  burn_module_freeze(burn_module(BurnVgg19, &m));
  return m;
}

static BurnTensor *pooled(const BurnVgg19 *m, BurnTensor *x) {
  const BurnPool2dOptions halves = BURN_POOL2D_OPTIONS(2, 2);
  return m->use_avg_pool ? burn_avg_pool2d(x, halves) : burn_max_pool2d(x, halves);
}

/* x through a layer, in front of which there may be a pool. */
static BurnTensor *pass(const BurnVgg19 *m, const BurnConv2d *layer, bool pool, BurnTensor *x) {
  return burn_relu(burn_conv2d_forward(layer, pool ? pooled(m, x) : x));
}

/* x (taken) [n, 3, h, w] -> five features [n, channels, positions]. */
static void features_of(const BurnVgg19 *m, BurnTensor *x, BurnTensor *features[FEATURES]) {
  size_t count = 0;
#define PASS(name, in, out) x = pass(m, &m->name, false, x);
#define PASS_FIRST(name, in, out, pool) \
  x = pass(m, &m->name, pool, x);       \
  features[count++] = burn_flatten(burn_clone(x), 2, 3);
  LAYERS(PASS_FIRST, PASS)
  burn_drop(x);
}

/* -- the loss --------------------------------------------------------------------------------- */

BurnGramMatrixLoss burn_gram_matrix_loss_init(const BurnGramMatrixLossConfig *config, BurnDevice *device) {
  const char *layer = "gram_matrix_loss";
  static const BurnInitializer ones = BURN_ONES;
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnGramMatrixLossConfig_type(), layer, &status);
  const double weights[] = {config->conv1_1, config->conv2_1, config->conv3_1, config->conv4_1, config->conv5_1};
  for (int i = 0; i < FEATURES && status == BURN_OK; i++) {
    status = burn_nn_check_not_negative(layer, "layer weight", weights[i]);
  }
  BurnGramMatrixLoss m = {{0}, weights[0], weights[1], weights[2], weights[3], weights[4]};
  if (status != BURN_OK) {
    m.feat_extractor.conv1_1.weight = burn_nn_param(status, layer, &ones, BURN_SHAPE(1), 0, 0, device);
    return m;
  }
  m.feat_extractor = burn_vgg19_init(&(BurnVgg19Config){config->use_avg_pool}, device);
  return m;
}

/* Pixels as the network was trained on: less the mean of ImageNet's, over their deviation. */
static BurnTensor *normalised(BurnTensor *x) {
  static const float mean[] = {0.485f, 0.456f, 0.406f}, deviation[] = {0.229f, 0.224f, 0.225f};
  BurnDevice *device = burn_tensor_device(x);
  const BurnDType dtype = burn_dtype(x);
  x = burn_sub(x, burn_nn_in_dtype(burn_tensor_f32(device, mean, BURN_SHAPE(1, 3, 1, 1)), dtype));
  return burn_div(x, burn_nn_in_dtype(burn_tensor_f32(device, deviation, BURN_SHAPE(1, 3, 1, 1)), dtype));
}

/* [n, c, positions] (taken) -> [n, c, c] */
static BurnTensor *gram_matrix(BurnTensor *features) {
  BurnTensor *columns = burn_transpose(burn_clone(features));
  return burn_matmul(features, columns);
}

/* The weighted difference of two features (taken) -> [n]. */
static BurnTensor *difference(BurnTensor *prediction, BurnTensor *target, double weight) {
  static const int last[] = {1, 2};
  const double size = (double)burn_dim(prediction, 1) * (double)burn_dim(prediction, 2);
  BurnTensor *gram = burn_sub(gram_matrix(prediction), gram_matrix(target));
  BurnTensor *sum = burn_sum_dims_squeeze(burn_square(gram), last, 2);
  return burn_mul_scalar(sum, weight / (4 * size * size));
}

static BurnStatus check_images(const BurnNnOperand operands[2]) {
  const BurnStatus status = burn_nn_check_alike("gram_matrix_loss", operands, 2);
  const BurnShape shape = burn_shape(operands[0].tensor);
  if (status != BURN_OK || burn_tensor_status(operands[0].tensor) != BURN_OK) return status;
  if (shape.rank == 4 && shape.dims[1] == 3 && shape.dims[2] >= 16 && shape.dims[3] >= 16) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_SHAPE,
                          "gram_matrix_loss: images [batch, 3, height, width] of 16 x 16 or more expected, found %s",
                          burn_shape_text(shape).text);
}

BurnTensor *burn_gram_matrix_loss_forward_no_reduction(const BurnGramMatrixLoss *m, BurnTensor *predictions,
                                                       BurnTensor *targets) {
  if (!m) return BURN_NN_NO_MODULE(predictions, targets);
  const BurnNnOperand operands[] = {{"predictions", predictions}, {"targets", targets}};
  const double weights[] = {m->conv1_1, m->conv2_1, m->conv3_1, m->conv4_1, m->conv5_1};
  BurnTensor *of_predictions[FEATURES], *of_targets[FEATURES], *sum = NULL;
  const BurnStatus status = check_images(operands);
  if (status != BURN_OK) return burn_nn_refused(status, operands, 2);
  features_of(&m->feat_extractor, normalised(predictions), of_predictions);
  features_of(&m->feat_extractor, normalised(targets), of_targets);
  for (int i = 0; i < FEATURES; i++) {
    BurnTensor *loss = difference(of_predictions[i], of_targets[i], weights[i]);
    sum = sum ? burn_add(sum, loss) : loss;
  }
  return sum;
}

BurnTensor *burn_gram_matrix_loss_forward(const BurnGramMatrixLoss *m, BurnTensor *predictions, BurnTensor *targets,
                                          BurnReduction reduction) {
  return burn_nn_reduced("gram_matrix_loss", burn_gram_matrix_loss_forward_no_reduction(m, predictions, targets),
                         reduction);
}
