/* lstm.c - one LSTM layer over a sequence, its last state classified. args: batch, hidden (and input) size, T. */
#include "networks.h"

#define LSTM_FIELDS(X)                                      \
  X(BurnLinear, input, "hidden -> 4 hidden, for all steps") \
  X(BurnLinear, state, "hidden -> 4 hidden, step by step")  \
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

/* Both biases are learned, as in PyTorch; they are added before the sequence sees them. */
static BurnTensor *gates_of(const Lstm *m, BurnTensor *x) {
  BurnTensor *bias = burn_add(burn_param_value(&m->input.bias), burn_param_value(&m->state.bias));
  return burn_linear(x, burn_param_value(&m->input.weight), bias);
}

static BurnTensor *forward(const void *model, BurnTensor *x) {
  const Lstm *m = model;
  const int64_t n = burn_dim(x, 0), steps = burn_dim(x, 1), hidden = burn_dim(x, 2);
  BurnTensor *zeros = burn_zeros(burn_tensor_device(x), BURN_SHAPE(n, hidden), BURN_DTYPE_F32);
  x = burn_lstm(gates_of(m, x), zeros, burn_clone(zeros), burn_param_value(&m->state.weight), NULL);
  return burn_linear_forward(&m->head, burn_select_dim(x, 1, steps - 1));
}

const Network lstm_network = {"lstm", Lstm_type, init, inputs, batch_targets, ten_classes, forward};
