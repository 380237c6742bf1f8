/* lstm.c - one LSTM layer over a sequence, its last state classified. args: batch, hidden (and input) size, T. */
#include "networks.h"

#define LSTM_FIELDS(X)                                        \
  X(BurnLinear, input, "hidden -> 4 hidden, for all steps")   \
  X(BurnLinear, state, "hidden -> 4 hidden, step by step")    \
  X(BurnLinear, head, "hidden -> 10")
BURN_MODULE(Lstm, LSTM_FIELDS);

static void init(void *model, const int64_t *args, BurnDevice *device) {
  const size_t hidden = (size_t)args[1];
  const BurnLinearConfig gates = BurnLinearConfig_defaults(hidden, 4 * hidden);
  const BurnLinearConfig head = BurnLinearConfig_defaults(hidden, 10);
  *(Lstm *)model =
      (Lstm){burn_linear_init(&gates, device), burn_linear_init(&gates, device), burn_linear_init(&head, device)};
}

static BurnTensor *inputs(const int64_t *args, BurnDevice *device) {
  return burn_random_normal(device, BURN_SHAPE(args[0], args[2], args[1]), BURN_DTYPE_F32, 0, 1);
}

/* The recurrence: gates of the inputs [n, T, 4 hidden] (taken) -> the last hidden state [n, hidden]. */
static BurnTensor *recur(const BurnLinear *state, BurnTensor *gates) {
  const int64_t n = burn_dim(gates, 0), steps = burn_dim(gates, 1), hidden = burn_dim(gates, 2) / 4;
  BurnDevice *device = burn_tensor_device(gates);
  BurnTensor *start = burn_zeros(device, BURN_SHAPE(n, hidden), BURN_DTYPE_F32);
  BurnTensor *cell = burn_clone(start);
  BurnTensor *bias = burn_reshape(burn_param_value(&state->bias), BURN_SHAPE(1, 1, 4 * hidden));
  gates = burn_add(gates, bias);
  BurnTensor *outputs = burn_lstm(gates, start, cell, burn_param_value(&state->weight), NULL);
  return burn_select_dim(outputs, 1, steps - 1);
}

static BurnTensor *forward(const void *model, BurnTensor *x) {
  const Lstm *m = model;
  return burn_linear_forward(&m->head, recur(&m->state, burn_linear_forward(&m->input, x)));
}

const Network lstm_network = {"lstm", Lstm_type, init, inputs, batch_targets, ten_classes, forward};
