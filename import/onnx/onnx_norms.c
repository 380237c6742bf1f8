/* onnx_norms.c - ONNX operators that normalise, drop out, and lose. */
#include "onnx_node.h"

#include <math.h>

/* -- norms ------------------------------------------------------------------------------------ */

/* x [.., elements] - mean, over sqrt(variance + epsilon), along the last axis. */
static BurnTensor *standardized(BurnTensor *x, double epsilon) {
  BurnTensor *one = burn_ones(burn_tensor_device(x), BURN_SHAPE(burn_dim(x, -1)), burn_dtype(x));
  return burn_layer_norm(x, one, NULL, epsilon);
}

/* [channels] as an operand for [n, channels, ..]. */
static BurnTensor *by_channel(BurnTensor *x, uint32_t rank) {
  const int64_t dims[BURN_MAX_RANK] = {1, burn_dim(x, 0), 1, 1, 1, 1, 1, 1};
  return onnx_reshape(x, dims, rank);
}

static void by_group(OnnxNode *node, int64_t groups) {
  const BurnShape shape = burn_shape(node->inputs[0]);
  if (groups < 1 || shape.rank < 2 || shape.dims[1] % groups != 0) {
    onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "num_groups: %lld for %s", (long long)groups,
                                     burn_shape_text(shape).text));
    return;
  }
  BurnTensor *x = burn_reshape(onnx_input(node, 0), BURN_SHAPE(shape.dims[0], groups, -1));
  x = burn_reshape(standardized(x, onnx_float(node, "epsilon", 1e-5)), shape);
  x = burn_mul(x, by_channel(onnx_input(node, 1), shape.rank));
  onnx_give(node, 0, burn_add(x, by_channel(onnx_input(node, 2), shape.rank)));
}
MAP(GroupNormalization) { by_group(node, onnx_int(node, "num_groups", 1)); }
MAP(InstanceNormalization) { by_group(node, onnx_input_dim(node, 0, 1)); }

/* In training the statistics of the batch count, and running ones are mixed with them. */
MAP(BatchNormalization) {
  BurnTensor *x = onnx_input(node, 0), *mean = onnx_input(node, 3), *var = onnx_input(node, 4);
  const double epsilon = onnx_float(node, "epsilon", 1e-5), momentum = onnx_float(node, "momentum", 0.9);
  const bool follows = onnx_in_training(node); /* the graph, not the node, is asked to train */
  if (onnx_int(node, "training_mode", 0) || follows) {
    BurnTensor *rows = burn_reshape(burn_swap_dims(burn_clone(x), 0, 1), BURN_SHAPE(burn_dim(x, 1), -1));
    BurnTensor *batch_mean = burn_squeeze_dim(burn_mean_dim(burn_clone(rows), 1), 1);
    BurnTensor *batch_var = burn_squeeze_dim(burn_var_bias(rows, 1), 1);
    BurnTensor *old_mean = burn_mul_scalar(mean, momentum), *old_var = burn_mul_scalar(var, momentum);
    BurnTensor *new_mean = burn_add(old_mean, burn_mul_scalar(burn_clone(batch_mean), 1 - momentum));
    BurnTensor *new_var = burn_add(old_var, burn_mul_scalar(burn_clone(batch_var), 1 - momentum));
    if (follows) {
      onnx_set_state(node, 3, burn_clone(new_mean));
      onnx_set_state(node, 4, burn_clone(new_var));
    }
    onnx_give(node, 1, new_mean);
    onnx_give(node, 2, new_var);
    mean = batch_mean;
    var = batch_var;
  }
  onnx_give(node, 0, burn_batch_norm(x, onnx_input(node, 1), onnx_input(node, 2), mean, var, epsilon));
}

/* The axes from `axis` on as one. */
static BurnTensor *rows_of(OnnxNode *node, size_t i, int axis) {
  BurnTensor *x = onnx_input(node, i);
  const BurnShape shape = burn_shape(x);
  int64_t rows = 1, columns = 1;
  for (uint32_t k = 0; k < shape.rank; k++) *((int)k < axis ? &rows : &columns) *= shape.dims[k];
  const int64_t dims[] = {rows, columns};
  return onnx_reshape(x, dims, 2);
}

MAP(LayerNormalization) {
  const BurnShape shape = burn_shape(node->inputs[0]);
  const int axis = onnx_axis(node, "axis", onnx_int(node, "axis", -1), shape.rank);
  const double epsilon = onnx_float(node, "epsilon", 1e-5);
  BurnTensor *x = rows_of(node, 0, axis), *gamma = burn_reshape(rows_of(node, 1, 0), BURN_SHAPE(-1));
  BurnTensor *beta = onnx_has_input(node, 2) ? burn_reshape(onnx_input(node, 2), BURN_SHAPE(-1)) : NULL;
  BurnShape small = shape;
  for (uint32_t i = (uint32_t)axis; i < shape.rank; i++) small.dims[i] = 1;
  if (onnx_wants_output(node, 1)) onnx_give(node, 1, burn_reshape(burn_mean_dim(burn_clone(x), 1), small));
  if (onnx_wants_output(node, 2)) {
    BurnTensor *spread = burn_recip(burn_sqrt(burn_add_scalar(burn_var_bias(burn_clone(x), 1), epsilon)));
    onnx_give(node, 2, burn_reshape(spread, small));
  }
  onnx_give(node, 0, burn_reshape(burn_layer_norm(x, gamma, beta, epsilon), shape));
}

MAP(RMSNormalization) {
  const BurnShape shape = burn_shape(node->inputs[0]);
  const int axis = onnx_axis(node, "axis", onnx_int(node, "axis", -1), shape.rank);
  BurnTensor *x = rows_of(node, 0, axis);
  BurnTensor *square = burn_mean_dim(burn_square(burn_clone(x)), 1);
  x = burn_div(x, burn_sqrt(burn_add_scalar(square, onnx_float(node, "epsilon", 1e-5))));
  onnx_give(node, 0, onnx_broadcast(burn_mul, burn_reshape(x, shape), onnx_input(node, 1)));
}

/* The name that ONNX Runtime has given it before ONNX had the operator. */
MAP(SimplifiedLayerNormalization) {
  if (onnx_wants_output(node, 1)) onnx_not_mapped(node, "its deviation");
  if (!node->reason[0]) onnx_RMSNormalization(node);
}

MAP(MeanVarianceNormalization) {
  int64_t axes[ONNX_INTS] = {0, 2, 3};
  int dims[BURN_MAX_RANK];
  const size_t given = onnx_ints(node, "axes", axes), count = given ? given : 3;
  if (!onnx_axes(node, axes, count, onnx_input_rank(node, 0), dims)) return;
  BurnTensor *x = onnx_input(node, 0);
  BurnTensor *mean = burn_mean_dims(burn_clone(x), dims, (uint32_t)count);
  x = burn_sub(x, mean);
  BurnTensor *spread = burn_sqrt(burn_mean_dims(burn_square(burn_clone(x)), dims, (uint32_t)count));
  onnx_give(node, 0, burn_div(x, burn_add_scalar(spread, 1e-9)));
}

/* x / (bias + alpha / size * sum of the squares of `size` channels around)^beta */
MAP(LRN) {
  BurnTensor *x = onnx_input(node, 0);
  const int64_t size = onnx_int(node, "size", 1);
  const int64_t margins[] = {(size - 1) / 2, size / 2, 0, 0, 0, 0};
  BurnTensor *square = burn_pad(burn_square(burn_clone(x)), margins, 3, BURN_PAD_CONSTANT, 0);
  BurnTensor *sum = burn_squeeze_dim(burn_sum_dim(burn_unfold(square, 1, size, 1), -1), -1);
  sum = burn_mul_scalar(sum, onnx_float(node, "alpha", 1e-4) / (double)size);
  sum = burn_powf_scalar(burn_add_scalar(sum, onnx_float(node, "bias", 1)), onnx_float(node, "beta", 0.75));
  onnx_give(node, 0, burn_div(x, sum));
}

/* -- dropout ---------------------------------------------------------------------------------- */

/* Nothing is dropped unless training; then the mask, which is an output, is drawn and applied. */
MAP(Dropout) {
  BurnTensor *x = onnx_input(node, 0);
  const double ratio = onnx_has_input(node, 1) ? onnx_input_number(node, 1, 0.5) : onnx_float(node, "ratio", 0.5);
  const BurnShape shape = burn_shape(x);
  if (onnx_input_number(node, 2, 0) == 0 || ratio == 0) {
    onnx_give(node, 0, x);
    onnx_give(node, 1, burn_ones(node->device, shape, BURN_DTYPE_BOOL));
  } else if (!onnx_wants_output(node, 1)) {
    onnx_give(node, 0, burn_dropout(x, ratio));
  } else {
    BurnTensor *mask = burn_random_bernoulli(node->device, shape, BURN_DTYPE_BOOL, 1 - ratio);
    BurnTensor *off = burn_bool_not(burn_clone(mask));
    onnx_give(node, 0, burn_mask_fill(burn_mul_scalar(x, 1 / (1 - ratio)), off, 0));
    onnx_give(node, 1, mask);
  }
}

/* -- losses ----------------------------------------------------------------------------------- */

/* log_probs [n, classes, ..], targets [n, ..]: -log_probs at the targets, weighted by class; ignored targets give 0.
 * The mean is over the weights. */
static BurnTensor *negative_log(OnnxNode *node, BurnTensor *log_probs) {
  BurnTensor *targets = burn_cast(onnx_input(node, 1), BURN_DTYPE_I64);
  const BurnShape shape = burn_shape(targets);
  const BurnDType dtype = burn_dtype(log_probs);
  BurnTensor *ignored = onnx_attribute(node, "ignore_index")
                            ? burn_equal_scalar(burn_clone(targets), (double)onnx_int(node, "ignore_index", 0))
                            : burn_zeros(node->device, shape, BURN_DTYPE_BOOL);
  targets = burn_mask_fill(targets, burn_clone(ignored), 0);
  BurnTensor *weights = burn_ones(node->device, shape, dtype);
  if (onnx_has_input(node, 2)) {
    BurnTensor *flat = burn_reshape(burn_clone(targets), BURN_SHAPE(-1));
    burn_drop(weights);
    weights = burn_reshape(burn_select(onnx_input(node, 2), 0, flat), shape);
  }
  weights = burn_mask_fill(weights, burn_clone(ignored), 0);
  BurnTensor *loss = burn_squeeze_dim(burn_gather(log_probs, 1, burn_unsqueeze_dim(targets, 1)), 1);
  loss = burn_mul(burn_neg(loss), burn_clone(weights));
  loss = burn_mask_fill(loss, ignored, 0);
  if (onnx_is(node, "reduction", "mean", "mean")) return burn_div(burn_sum(loss), burn_sum(weights));
  burn_drop(weights);
  return onnx_is(node, "reduction", "mean", "sum") ? burn_sum(loss) : loss;
}

MAP(NegativeLogLikelihoodLoss) { onnx_give(node, 0, negative_log(node, onnx_input(node, 0))); }

MAP(SoftmaxCrossEntropyLoss) {
  BurnTensor *log_probs = burn_log_softmax(onnx_input(node, 0), 1);
  onnx_give(node, 1, burn_clone(log_probs));
  onnx_give(node, 0, negative_log(node, log_probs));
}
