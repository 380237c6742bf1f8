/* lstm.c - one LSTM layer over a sequence, its last state classified. args: batch, hidden (and input) size, T. */
#include "layers.h"
#include "networks.h"

#define LSTM_FIELDS(X)                   \
  X(Recurrent, lstm, "hidden -> hidden") \
  X(BurnLinear, head, "hidden -> 10")
BURN_MODULE(Lstm, LSTM_FIELDS);

static void init(void *model, const int64_t *args, BurnDevice *device) {
  const size_t hidden = (size_t)args[1];
  const BurnLinearConfig head = BurnLinearConfig_defaults(hidden, 10);
  *(Lstm *)model = (Lstm){recurrent_init(hidden, hidden, device), burn_linear_init(&head, device)};
}

static BurnTensor *inputs(const int64_t *args, BurnDevice *device) {
  return burn_random_normal(device, BURN_SHAPE(args[0], args[2], args[1]), BURN_DTYPE_F32, 0, 1);
}

static BurnTensor *forward(const void *model, BurnTensor *x) {
  const Lstm *m = model;
  const int64_t steps = burn_dim(x, 1);
  return burn_linear_forward(&m->head, burn_select_dim(recurrent_forward(&m->lstm, x), 1, steps - 1));
}

const Network lstm_network = {"lstm", Lstm_type, init, inputs, batch_targets, ten_classes, forward};
