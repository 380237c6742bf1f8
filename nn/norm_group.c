/* norm_group.c - normalisation by groups of channels, by the root mean square, and across channels. */
#include <burn/nn/norm.h>

#include <burn/ops_move.h>

#include "nn_internal.h"

/* -- groups of channels ----------------------------------------------------------------------- */

/* gamma and beta [channels]; absent if they are not learned and status is BURN_OK. */
static void affine_params(BurnStatus status, const char *layer, bool affine, size_t channels, BurnDevice *device,
                          BurnParam *gamma, BurnParam *beta) {
  static const BurnInitializer ones = BURN_ONES, zeros = BURN_ZEROS;
  const BurnShape shape = BURN_SHAPE((int64_t)channels);
  if (status == BURN_OK && !affine) return;
  *gamma = burn_nn_param(status, layer, &ones, shape, 0, 0, device);
  *beta = burn_nn_param(status, layer, &zeros, shape, 0, 0, device);
}

BurnGroupNorm burn_group_norm_init(const BurnGroupNormConfig *config, BurnDevice *device) {
  const char *layer = "group_norm";
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnGroupNormConfig_type(), layer, &status);
  const BurnNnSize groups = {"num_groups", config->num_groups};
  if (status == BURN_OK) status = burn_nn_check_norm(layer, "num_channels", config->num_channels, config->epsilon);
  if (status == BURN_OK) status = burn_nn_check_sizes(layer, &groups, 1);
  if (status == BURN_OK && config->num_channels % config->num_groups != 0) {
    status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: num_groups %zu does not divide num_channels %zu",
                              layer, config->num_groups, config->num_channels);
  }
  BurnGroupNorm m = {.num_groups = config->num_groups,
                     .num_channels = config->num_channels,
                     .epsilon = config->epsilon,
                     .affine = config->affine};
  affine_params(status, layer, config->affine, config->num_channels, device, &m.gamma, &m.beta);
  return m;
}

/* What the forward passes of both layers have to know. */
typedef struct Groups {
  const char *layer;
  const BurnParam *gamma, *beta;
  size_t groups, channels;
  double epsilon;
} Groups;

/* A parameter [channels] as [1, channels, 1, ..]. */
static BurnTensor *along_channels(const BurnParam *param, uint32_t rank) {
  BurnTensor *value = burn_param_value(param);
  BurnShape shape = {.rank = rank};
  for (uint32_t i = 0; i < rank; i++) shape.dims[i] = i == 1 ? burn_element_count(value) : 1;
  return burn_reshape(value, shape);
}

/* (x - mean) / sqrt(variance + epsilon) within every item's group. Takes x. */
static BurnTensor *standardized(BurnTensor *x, const Groups *with) {
  const BurnShape shape = burn_shape(x);
  const BurnDType dtype = burn_dtype(x);
  int64_t size = shape.dims[1] / (int64_t)with->groups;
  for (uint32_t i = 2; i < shape.rank; i++) size *= shape.dims[i];
  x = burn_nn_widened(burn_reshape(x, BURN_SHAPE(shape.dims[0], (int64_t)with->groups, size)));
  BurnTensor *ones = burn_ones(burn_tensor_device(x), BURN_SHAPE(size), burn_dtype(x));
  return burn_reshape(burn_nn_in_dtype(burn_layer_norm(x, ones, NULL, with->epsilon), dtype), shape);
}

static BurnStatus check_channels(const Groups *with, BurnShape shape) {
  if (shape.rank == 0) return BURN_OK;
  if (shape.rank < 3) {
    return burn_status_make(BURN_STATUS_INVALID_SHAPE, "%s: rank 3 or more expected, found %u", with->layer,
                            shape.rank);
  }
  if (with->groups == 0) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: a layer of zeros", with->layer);
  if (shape.dims[1] == (int64_t)with->channels) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_SHAPE, "%s: axis 1 has %lld channels, num_channels is %zu", with->layer,
                          (long long)shape.dims[1], with->channels);
}

static BurnTensor *by_groups(BurnTensor *x, const Groups *with) {
  const BurnShape shape = burn_shape(x);
  const BurnNnOperand operand = {"x", x};
  BurnStatus status = burn_tensor_status(x);
  if (status == BURN_OK && with->gamma->value) status = burn_tensor_status(with->gamma->value);
  if (status == BURN_OK) status = check_channels(with, shape);
  if (status != BURN_OK) return burn_nn_refused(status, &operand, 1);
  x = standardized(x, with);
  if (!with->gamma->value) return x;
  x = burn_mul(x, along_channels(with->gamma, shape.rank));
  return burn_add(x, along_channels(with->beta, shape.rank));
}

BurnTensor *burn_group_norm_forward(const BurnGroupNorm *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  const bool sound = burn_nn_sound(x);
  const Groups with = {"group_norm", &m->gamma, &m->beta, m->num_groups, m->num_channels, m->epsilon};
  return burn_nn_placed(sound, &m->gamma, "group_norm", by_groups(x, &with));
}

BurnInstanceNorm burn_instance_norm_init(const BurnInstanceNormConfig *config, BurnDevice *device) {
  const char *layer = "instance_norm";
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnInstanceNormConfig_type(), layer, &status);
  if (status == BURN_OK) status = burn_nn_check_norm(layer, "num_channels", config->num_channels, config->epsilon);
  BurnInstanceNorm m = {.num_channels = config->num_channels, .epsilon = config->epsilon, .affine = config->affine};
  affine_params(status, layer, config->affine, config->num_channels, device, &m.gamma, &m.beta);
  return m;
}

BurnTensor *burn_instance_norm_forward(const BurnInstanceNorm *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  const bool sound = burn_nn_sound(x);
  const Groups with = {"instance_norm", &m->gamma, &m->beta, m->num_channels, m->num_channels, m->epsilon};
  return burn_nn_placed(sound, &m->gamma, "instance_norm", by_groups(x, &with));
}

/* -- root mean square ------------------------------------------------------------------------- */

BurnRmsNorm burn_rms_norm_init(const BurnRmsNormConfig *config, BurnDevice *device) {
  static const BurnInitializer ones = BURN_ONES;
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnRmsNormConfig_type(), "rms_norm", &status);
  if (status == BURN_OK) status = burn_nn_check_norm("rms_norm", "d_model", config->d_model, config->epsilon);
  if (status == BURN_OK) status = burn_nn_check_above_0("rms_norm", "epsilon", config->epsilon);
  const BurnShape shape = BURN_SHAPE((int64_t)config->d_model);
  return (BurnRmsNorm){burn_nn_param(status, "rms_norm", &ones, shape, 0, 0, device), config->epsilon};
}

static BurnTensor *rms_norm(const BurnRmsNorm *m, BurnTensor *x) {
  BurnTensor *gamma = burn_param_value(&m->gamma);
  const uint32_t rank = burn_rank(x);
  if (rank == 0 || burn_rank(gamma) == 0) return burn_mul(x, gamma);
  if (burn_dim(x, -1) != burn_dim(gamma, 0)) {
    const BurnNnOperand operands[] = {{"x", x}, {"gamma", gamma}};
    const BurnStatus status =
        burn_status_make(BURN_STATUS_INVALID_SHAPE, "rms_norm: the last axis has %lld features, d_model is %lld",
                         (long long)burn_dim(x, -1), (long long)burn_dim(gamma, 0));
    return burn_nn_refused(status, operands, 2);
  }
  BurnTensor *squares = burn_square(burn_nn_widened(burn_clone(x)));
  BurnTensor *rms = burn_sqrt(burn_add_scalar(burn_mean_dim(squares, -1), m->epsilon));
  x = burn_div(x, burn_nn_in_dtype(rms, burn_dtype(x)));
  return burn_mul(x, burn_unsqueeze(gamma, rank));
}

BurnTensor *burn_rms_norm_forward(const BurnRmsNorm *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  const bool sound = burn_nn_sound(x);
  return burn_nn_placed(sound, &m->gamma, "rms_norm", rms_norm(m, x));
}

/* -- across channels -------------------------------------------------------------------------- */

BurnLocalResponseNorm burn_local_response_norm_init(const BurnLocalResponseNormConfig *config, BurnDevice *device) {
  (void)device;
  if (!config) return (BurnLocalResponseNorm){.size = BURN_NN_NO_CONFIG};
  return (BurnLocalResponseNorm){config->size, config->alpha, config->beta, config->k};
}

static BurnStatus check_local(const BurnLocalResponseNorm *m, const BurnTensor *x) {
  const BurnNnSize sizes[] = {{"size", m->size}};
  const uint32_t rank = burn_rank(x);
  BurnStatus status = burn_tensor_status(x);
  if (status == BURN_OK) status = burn_nn_check_sizes("local_response_norm", sizes, 1);
  if (status != BURN_OK || rank >= 3) return status;
  return burn_status_make(BURN_STATUS_INVALID_SHAPE, "local_response_norm: rank 3 or more expected, found %u", rank);
}

/* The mean of x over `size` channels around each: [n, c, ..] as planes [n, 1, c, rest]. Takes x. */
static BurnTensor *mean_of_channels(BurnTensor *x, size_t size) {
  const BurnShape shape = burn_shape(x);
  int64_t rest = 1;
  for (uint32_t i = 2; i < shape.rank; i++) rest *= shape.dims[i];
  const int64_t margins[] = {(int64_t)(size - 1) / 2, (int64_t)size / 2, 0, 0};
  BurnPool2dOptions options = BURN_POOL2D_OPTIONS((int64_t)size, 1);
  options.stride[0] = 1;
  x = burn_pad(burn_reshape(x, BURN_SHAPE(shape.dims[0], 1, shape.dims[1], rest)), margins, 2, BURN_PAD_CONSTANT, 0);
  return burn_reshape(burn_avg_pool2d(x, options), shape);
}

BurnTensor *burn_local_response_norm_forward(const BurnLocalResponseNorm *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  const BurnNnOperand operand = {"x", x};
  const BurnDType dtype = burn_dtype(x);
  if (m->size == BURN_NN_NO_CONFIG) {
    return burn_nn_no_config(x, BurnLocalResponseNormConfig_type(), "local_response_norm");
  }
  const BurnStatus status = check_local(m, x);
  if (status != BURN_OK) return burn_nn_refused(status, &operand, 1);
  x = burn_nn_widened(x);
  BurnTensor *means = mean_of_channels(burn_square(burn_clone(x)), m->size);
  BurnTensor *scale = burn_powf_scalar(burn_add_scalar(burn_mul_scalar(means, m->alpha), m->k), m->beta);
  return burn_nn_in_dtype(burn_div(x, scale), dtype);
}
