/* dropout.c - dropout that is active where the input can be trained on. */
#include <burn/nn/dropout.h>

#include "nn_internal.h"

BurnDropout burn_dropout_init(const BurnDropoutConfig *config, BurnDevice *device) {
  (void)device;
  return (BurnDropout){config ? config->prob : BURN_NN_NO_NUMBER};
}

BurnTensor *burn_dropout_forward(const BurnDropout *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  if (!(m->prob >= 0 && m->prob <= 1)) {
    if (m->prob == BURN_NN_NO_NUMBER) return burn_nn_no_config(x, BurnDropoutConfig_type(), "dropout");
    burn_drop(x);
    return burn_tensor_failed(
        burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "dropout: prob %g is outside 0..1", m->prob));
  }
  return m->prob > 0 && burn_nn_is_training(x) ? burn_dropout(x, m->prob) : x;
}
