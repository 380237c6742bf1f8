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

/* Gate `index` of [n, 4 hidden], in the order input, forget, cell, output. */
static BurnTensor *gate(const BurnTensor *gates, int index) {
  const int64_t hidden = burn_dim(gates, 1) / 4;
  return burn_narrow(burn_clone(gates), 1, index * hidden, hidden);
}

/* One step: takes the gates [n, 4 hidden]; *cell is replaced; the new hidden state. */
static BurnTensor *step(BurnTensor *gates, BurnTensor **cell) {
  BurnTensor *kept = burn_mul(burn_sigmoid(gate(gates, 1)), *cell);
  *cell = burn_add(kept, burn_mul(burn_sigmoid(gate(gates, 0)), burn_tanh(gate(gates, 2))));
  BurnTensor *hidden = burn_mul(burn_sigmoid(gate(gates, 3)), burn_tanh(burn_clone(*cell)));
  burn_drop(gates);
  return hidden;
}

/* The recurrence: gates of the inputs [n, T, 4 hidden] (taken) -> the last hidden state [n, hidden]. */
static BurnTensor *recur(const BurnLinear *state, BurnTensor *gates) {
  const int64_t n = burn_dim(gates, 0), steps = burn_dim(gates, 1), hidden = burn_dim(gates, 2) / 4;
  BurnDevice *device = burn_tensor_device(gates);
  BurnTensor *h = burn_zeros(device, BURN_SHAPE(n, hidden), BURN_DTYPE_F32);
  BurnTensor *cell = burn_zeros(device, BURN_SHAPE(n, hidden), BURN_DTYPE_F32);
  for (int64_t t = 0; t < steps; t++) {
    BurnTensor *now = burn_select_dim(burn_clone(gates), 1, t);
    h = step(burn_add(burn_linear_forward(state, h), now), &cell);
  }
  burn_drop(cell);
  burn_drop(gates);
  return h;
}

static BurnTensor *forward(const void *model, BurnTensor *x) {
  const Lstm *m = model;
  return burn_linear_forward(&m->head, recur(&m->state, burn_linear_forward(&m->input, x)));
}

const Network lstm_network = {"lstm", Lstm_type, init, inputs, batch_targets, ten_classes, forward};
