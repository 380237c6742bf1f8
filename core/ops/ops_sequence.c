/* ops_sequence.c - public ops over sequences. */
#include "ops_internal.h"

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
