/* ops_layers.c - public ops of layers beside convolutions and pools: options to attributes. */
#include "ops_internal.h"

BurnTensor *burn_linear(BurnTensor *x, BurnTensor *weight, BurnTensor *bias) {
  return burn__apply(BURN_OP_linear, (BurnTensor *const[]){x, weight, bias}, 3, NULL, 0);
}

BurnTensor *burn_interpolate(BurnTensor *x, const int64_t output_size[2], BurnInterpolateOptions options) {
  const BurnAttr attrs[] = {burn_attr_i64s(output_size, 2), burn_attr_i64(options.mode),
                            burn_attr_bool(options.align_corners)};
  return burn__apply(BURN_OP_interpolate, &x, 1, attrs, 3);
}

BurnTensor *burn_grid_sample_2d(BurnTensor *x, BurnTensor *grid, BurnGridSampleOptions options) {
  const BurnAttr attrs[] = {burn_attr_i64(options.mode), burn_attr_i64(options.padding_mode),
                            burn_attr_bool(options.align_corners)};
  return burn__apply(BURN_OP_grid_sample_2d, (BurnTensor *const[]){x, grid}, 2, attrs, 3);
}

BurnTensor *burn_attention(BurnTensor *query, BurnTensor *key, BurnTensor *value, BurnTensor *mask, BurnTensor *bias,
                           BurnAttentionOptions options) {
  const BurnAttr attrs[] = {burn_attr_f64(options.scale), burn_attr_f64(options.softcap),
                            burn_attr_bool(options.is_causal)};
  return burn__apply(BURN_OP_attention, (BurnTensor *const[]){query, key, value, mask, bias}, 5, attrs, 3);
}

BurnTensor *burn_lstm(BurnTensor *gates, BurnTensor *hidden, BurnTensor *cell, BurnTensor *weight, BurnTensor **cells) {
  BurnTensor *const inputs[] = {gates, hidden, cell, weight};
  BurnTensor *out[3];
  burn__apply_outputs(BURN_OP_lstm, inputs, 4, NULL, 0, out, 3);
  burn_drop(out[2]);
  give(cells, out[1]);
  return out[0];
}

BurnTensor *burn_layer_norm(BurnTensor *x, BurnTensor *gamma, BurnTensor *beta, double epsilon) {
  const BurnAttr attr = burn_attr_f64(epsilon);
  return burn__apply(BURN_OP_layer_norm, (BurnTensor *const[]){x, gamma, beta}, 3, &attr, 1);
}

BurnTensor *burn_batch_norm(BurnTensor *x, BurnTensor *gamma, BurnTensor *beta, BurnTensor *mean, BurnTensor *var,
                            double epsilon) {
  const BurnAttr attr = burn_attr_f64(epsilon);
  return burn__apply(BURN_OP_batch_norm, (BurnTensor *const[]){x, gamma, beta, mean, var}, 5, &attr, 1);
}

BurnTensor *burn_batch_norm_train(BurnTensor *x, BurnTensor *gamma, BurnTensor *beta, double epsilon, BurnTensor **mean,
                                  BurnTensor **var) {
  BurnTensor *out[3];
  const BurnAttr attr = burn_attr_f64(epsilon);
  burn__apply_outputs(BURN_OP_batch_norm_train, (BurnTensor *const[]){x, gamma, beta}, 3, &attr, 1, out, 3);
  give(mean, out[1]);
  give(var, out[2]);
  return out[0];
}

BurnTensor *burn_ctc_loss(BurnTensor *log_probs, BurnTensor *targets, BurnTensor *input_lengths,
                          BurnTensor *target_lengths, int64_t blank) {
  const BurnAttr attr = burn_attr_i64(blank);
  return burn__apply(BURN_OP_ctc_loss, (BurnTensor *const[]){log_probs, targets, input_lengths, target_lengths}, 4,
                     &attr, 1);
}
