/* norm.c - batch and layer normalisation.
 *
 * In BatchNorm f16 and bf16 are computed in f32: squares would overflow and running values stand still between two
 * numbers. */
#include <burn/autodiff.h>
#include <burn/nn/norm.h>
#include <burn/op_call.h>

#include "nn_internal.h"

#include <stdatomic.h>

BurnBatchNorm burn_batch_norm_init(const BurnBatchNormConfig *config, BurnDevice *device) {
  static const BurnInitializer ones = BURN_ONES, zeros = BURN_ZEROS;
  const char *layer = "batch_norm";
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnBatchNormConfig_type(), layer, &status);
  if (status == BURN_OK) status = burn_nn_check_norm(layer, "num_features", config->num_features, config->epsilon);
  const BurnShape shape = BURN_SHAPE((int64_t)config->num_features);
  BurnBatchNorm m = {.momentum = config->momentum, .epsilon = config->epsilon};
  if (status == BURN_OK && !(config->momentum >= 0 && config->momentum <= 1)) {
    status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: momentum %g is outside 0..1", layer, config->momentum);
  }
  m.gamma = burn_nn_param(status, layer, &ones, shape, 0, 0, device);
  m.beta = burn_nn_param(status, layer, &zeros, shape, 0, 0, device);
  m.running_mean =
      burn_buffer(status == BURN_OK ? burn_zeros(device, shape, BURN_DTYPE_DEFAULT) : burn_tensor_failed(status));
  m.running_var =
      burn_buffer(status == BURN_OK ? burn_ones(device, shape, BURN_DTYPE_DEFAULT) : burn_tensor_failed(status));
  return m;
}

/* running = (1 - momentum) running + momentum batch; batch [c] is taken. A failed batch changes nothing. */
static void update_running(const BurnBuffer *running, BurnTensor *batch, double momentum) {
  BurnTensor *next = burn_buffer_value(running);
  const BurnDType kept = burn_dtype(next);
  if (burn_tensor_status(batch) != BURN_OK) {
    burn_drop(batch);
    burn_drop(next);
    return;
  }
  batch = burn_detach(batch);
  next = burn_mul_scalar(burn_nn_in_dtype(next, burn_dtype(batch)), 1 - momentum);
  next = burn_add(next, burn_mul_scalar(batch, momentum));
  if (burn_tensor_status(next) != BURN_OK) {
    burn_drop(next);
    return;
  }
  burn_buffer_set(running, burn_nn_in_dtype(next, kept));
}

/* x by its own statistics, which also move the running ones. */
static BurnTensor *batch_norm_train(const BurnBatchNorm *m, BurnTensor *x) {
  const BurnDType dtype = burn_dtype(x);
  BurnTensor *gamma = burn_nn_in_dtype(burn_param_value(&m->gamma), dtype),
             *beta = burn_nn_in_dtype(burn_param_value(&m->beta), dtype);
  BurnTensor *mean, *var;
  x = burn_batch_norm_train(x, gamma, beta, m->epsilon, &mean, &var);
  update_running(&m->running_mean, mean, m->momentum);
  update_running(&m->running_var, var, m->momentum);
  return x;
}

/* x by the running statistics. */
static BurnTensor *batch_norm_infer(const BurnBatchNorm *m, BurnTensor *x) {
  BurnDevice *device = burn_tensor_device(x);
  const BurnDType dtype = burn_dtype(x);
  BurnTensor *mean = burn_nn_in_dtype(burn_to_device(burn_buffer_value(&m->running_mean), device), dtype);
  BurnTensor *var = burn_nn_in_dtype(burn_to_device(burn_buffer_value(&m->running_var), device), dtype);
  BurnTensor *gamma = burn_nn_in_dtype(burn_param_value(&m->gamma), dtype),
             *beta = burn_nn_in_dtype(burn_param_value(&m->beta), dtype);
  return burn_batch_norm(x, gamma, beta, mean, var, m->epsilon);
}

/* -- over the joint batch of several replicas -------------------------------------------------- */

typedef struct Member {
  const BurnSyncGroup *group;
  size_t rank;
} Member;

BurnSyncGroup burn_sync_group(size_t count) {
  static _Atomic int64_t last;
  return (BurnSyncGroup){atomic_fetch_add(&last, 1) + 1, count, 600};
}

/* x added up over the group; the gradient is added up, too. */
static BurnTensor *all_reduce(const Member *member, BurnTensor *x, int64_t rank) {
  const BurnAttr attrs[] = {burn_attr_i64(member->group->id), burn_attr_i64(rank),
                            burn_attr_i64((int64_t)member->group->count), burn_attr_f64(member->group->timeout)};
  return burn_op("collective.all_reduce", &x, 1, attrs, 4);
}

/* Tells the others that they need not wait for this replica; on the device of `like`. */
static void give_up(const Member *member, const BurnTensor *like) {
  burn_drop(all_reduce(member, burn_zeros(burn_tensor_device(like), BURN_SHAPE(1), BURN_DTYPE_F32), -1));
}

/* [n, c, ..] -> [c] */
static BurnTensor *channel_sums(BurnTensor *x) {
  x = burn_flatten(burn_swap_dims(x, 0, 1), 1, -1);
  return burn_squeeze_dim(burn_sum_dim(x, 1), 1);
}

/* [c] -> [1, c, 1, ..] of that rank. */
static BurnTensor *along_channels(BurnTensor *x, uint32_t rank) {
  BurnShape shape = {.rank = rank};
  for (uint32_t i = 0; i < rank; i++) shape.dims[i] = i == 1 ? burn_dim(x, 0) : 1;
  return burn_reshape(x, shape);
}

/* x by the statistics of the joint batch, which also move the running ones. The variance is that of the differences to
 * the joint mean, in a second meeting: sums of squares would cancel. */
static BurnTensor *batch_norm_sync(const BurnBatchNorm *m, BurnTensor *x, const Member *member) {
  const BurnDType dtype = burn_dtype(x);
  const uint32_t rank = burn_rank(x);
  const int64_t channels = burn_dim(x, 1);
  const double positions = (double)(burn_element_count(x) / channels);
  BurnTensor *parts[] = {channel_sums(burn_clone(x)),
                         burn_full(burn_tensor_device(x), BURN_SHAPE(1), dtype, positions)};
  BurnTensor *sums = all_reduce(member, burn_cat(parts, 2, 0), (int64_t)member->rank);
  BurnTensor *count = burn_detach(burn_narrow(burn_clone(sums), 0, channels, 1));
  BurnTensor *mean = burn_div(burn_narrow(sums, 0, 0, channels), burn_clone(count));
  x = burn_sub(x, along_channels(burn_clone(mean), rank));
  BurnTensor *squares = all_reduce(member, channel_sums(burn_square(burn_clone(x))), (int64_t)member->rank);
  BurnTensor *var = burn_div(squares, count);
  update_running(&m->running_mean, mean, m->momentum);
  update_running(&m->running_var, burn_clone(var), m->momentum);
  BurnTensor *gamma = burn_nn_in_dtype(burn_param_value(&m->gamma), dtype),
             *beta = burn_nn_in_dtype(burn_param_value(&m->beta), dtype);
  BurnTensor *scale = burn_div(gamma, burn_sqrt(burn_add_scalar(var, m->epsilon)));
  x = burn_mul(x, along_channels(scale, rank));
  return burn_add(x, along_channels(beta, rank));
}

/* `member` NULL: the batch is x alone. */
static BurnTensor *batch_norm(const BurnBatchNorm *m, BurnTensor *x, const Member *member) {
  const BurnShape shape = burn_shape(x);
  const int64_t features = m->gamma.value ? burn_element_count(m->gamma.value) : 0;
  const bool training = burn_nn_is_training(x);
  const BurnDType dtype = burn_dtype(x);
  /* A failed parameter or input needs no check of shapes: it is the message. */
  if (features > 0 && shape.rank != 0 && (shape.rank < 2 || shape.dims[1] != features)) {
    burn_drop(x);
    if (shape.rank < 2) {
      return burn_tensor_failed(
          burn_status_make(BURN_STATUS_INVALID_SHAPE, "batch_norm: rank 2 or more expected, found 1"));
    }
    return burn_tensor_failed(burn_status_make(BURN_STATUS_INVALID_SHAPE,
                                               "batch_norm: axis 1 has %lld features, num_features is %lld",
                                               (long long)shape.dims[1], (long long)features));
  }
  if (features <= 0 || shape.rank == 0) return burn_mul(x, burn_param_value(&m->gamma));
  x = burn_nn_widened(x);
  if (!training) return burn_nn_in_dtype(batch_norm_infer(m, x), dtype);
  return burn_nn_in_dtype(member ? batch_norm_sync(m, x, member) : batch_norm_train(m, x), dtype);
}

BurnTensor *burn_batch_norm_forward(const BurnBatchNorm *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  const bool sound = burn_nn_sound(x);
  return burn_nn_placed(sound, &m->gamma, "batch_norm", batch_norm(m, x, NULL));
}

BurnTensor *burn_batch_norm_forward_sync(const BurnBatchNorm *m, BurnTensor *x, const BurnSyncGroup *group,
                                         size_t rank) {
  if (!m) return BURN_NN_NO_MODULE(x);
  const bool sound = burn_nn_sound(x);
  const Member member = {group, rank};
  const BurnNnOperand operand = {"x", x};
  if (!group) {
    return burn_nn_refused(
        burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "batch_norm: the group is NULL; burn_sync_group makes one"),
        &operand, 1);
  }
  x = batch_norm(m, x, &member);
  if (burn_tensor_status(x) != BURN_OK && burn_nn_is_training(m->gamma.value)) give_up(&member, m->gamma.value);
  return burn_nn_placed(sound, &m->gamma, "batch_norm", x);
}

BurnLayerNorm burn_layer_norm_init(const BurnLayerNormConfig *config, BurnDevice *device) {
  static const BurnInitializer ones = BURN_ONES, zeros = BURN_ZEROS;
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnLayerNormConfig_type(), "layer_norm", &status);
  if (status == BURN_OK) status = burn_nn_check_norm("layer_norm", "d_model", config->d_model, config->epsilon);
  const BurnShape shape = BURN_SHAPE((int64_t)config->d_model);
  BurnLayerNorm m = {.epsilon = config->epsilon};
  m.gamma = burn_nn_param(status, "layer_norm", &ones, shape, 0, 0, device);
  if (config->bias) m.beta = burn_nn_param(status, "layer_norm", &zeros, shape, 0, 0, device);
  return m;
}

BurnTensor *burn_layer_norm_forward(const BurnLayerNorm *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  const bool sound = burn_nn_sound(x);
  x = burn_layer_norm(x, burn_param_value(&m->gamma), burn_param_value(&m->beta), m->epsilon);
  return burn_nn_placed(sound, &m->gamma, "layer_norm", x);
}
