/* rnn_gru.c - gated recurrent units. */
#include "rnn_internal.h"

/* With failed parameters if the status is a failure. */
static BurnGru make(BurnStatus status, const BurnGruConfig *config, BurnDevice *device) {
  if (status == BURN_OK) status = burn_nn_check_recurrent("gru", config->d_input, config->d_hidden, config->clip);
  const BurnGateControllerConfig gate = {config->d_input, config->d_hidden, config->bias, config->initializer};
  BurnGru m = {.d_hidden = config->d_hidden,
               .reset_after = config->reset_after,
               .gate_activation = burn_activation_init(&config->gate_activation, device),
               .hidden_activation = burn_activation_init(&config->hidden_activation, device),
               .clip = config->clip};
  m.update_gate = burn_nn_gate(status, &gate, device);
  m.reset_gate = burn_nn_gate(status, &gate, device);
  m.new_gate = burn_nn_gate(status, &gate, device);
  return m;
}

BurnGru burn_gru_init(const BurnGruConfig *config, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnGruConfig_type(), "gru", &status);
  return make(status, config, device);
}

typedef struct Gru {
  const BurnGru *m;
  BurnNnGates gates, fresh; /* of the hidden state: for update and reset gate, for the new state */
} Gru;

/* hidden (taken) through the hidden layers of gates (borrowed). */
static BurnTensor *hidden_part(BurnTensor *hidden, const BurnNnGates *gates) {
  return burn_linear(hidden, burn_clone(gates->weight), burn_clone(gates->bias));
}

/* The new state before its activation. Takes all. */
static BurnTensor *candidate(const Gru *gru, BurnTensor *input, BurnTensor *hidden, BurnTensor *reset) {
  if (!gru->m->reset_after) return burn_add(input, hidden_part(burn_mul(hidden, reset), &gru->fresh));
  return burn_add(input, burn_mul(hidden_part(hidden, &gru->fresh), reset));
}

static void turn(const void *context, BurnTensor *input, BurnTensor **states) {
  const Gru *gru = context;
  const BurnGru *m = gru->m;
  const int64_t width = (int64_t)m->d_hidden;
  BurnTensor *hidden = states[BURN_NN_HIDDEN];
  BurnTensor *gates = hidden_part(burn_clone(hidden), &gru->gates);
  gates = burn_add(burn_narrow(burn_clone(input), 1, 0, 2 * width), gates);
  gates = burn_activation_forward(&m->gate_activation, gates);
  BurnTensor *update = burn_narrow(burn_clone(gates), 1, 0, width), *reset = burn_narrow(gates, 1, width, width);
  BurnTensor *fresh = candidate(gru, burn_narrow(input, 1, 2 * width, width), burn_clone(hidden), reset);
  fresh = burn_activation_forward(&m->hidden_activation, fresh);
  fresh = burn_mul(fresh, burn_scalar_sub(1, burn_clone(update)));
  states[BURN_NN_HIDDEN] = burn_nn_clipped(burn_add(fresh, burn_mul(update, hidden)), &m->clip);
}

/* One direction of x, whose batch is first. Takes x and state. */
static BurnTensor *run(const BurnGru *m, BurnTensor *x, bool reverse, BurnTensor *state, BurnTensor **last) {
  BurnTensor *states[BURN_NN_STATES] = {burn_nn_first_state(state, x, m->d_hidden), NULL};
  const BurnGateController *const gates[] = {&m->update_gate, &m->reset_gate, &m->new_gate};
  const BurnNnGates all = burn_nn_input_gates(gates, 3);
  const Gru gru = {m, burn_nn_hidden_gates(gates, 2), burn_nn_hidden_gates(gates + 2, 1)};
  BurnTensor *outputs = burn_nn_recur(burn_linear(x, all.weight, all.bias), reverse, turn, &gru, states);
  burn_nn_gates_drop(&gru.gates);
  burn_nn_gates_drop(&gru.fresh);
  burn_nn_give(last, states[BURN_NN_HIDDEN]);
  return outputs;
}

/* Takes x and state. */
static BurnTensor *refused(BurnTensor *x, BurnTensor *state, BurnStatus status, BurnTensor **last) {
  burn_drop(x);
  burn_drop(state);
  if (last) *last = burn_tensor_failed(status);
  return burn_tensor_failed(status);
}

BurnTensor *burn_gru_forward(const BurnGru *m, BurnTensor *x, BurnTensor *state, BurnTensor **last) {
  if (!m) return refused(x, state, burn_nn_no_module_status(__func__), last);
  BurnTensor *const states[BURN_NN_STATES] = {state, NULL};
  const BurnStatus status =
      burn_nn_check_sequence("gru", &m->update_gate, x, 0, states, BURN_SHAPE(0, (int64_t)m->d_hidden));
  if (status != BURN_OK) return refused(x, state, burn_nn_at(status, &m->update_gate.input_transform.weight, 3), last);
  return run(m, x, false, state, last);
}

/* -- both directions -------------------------------------------------------------------------- */

BurnBiGru burn_bi_gru_init(const BurnBiGruConfig *config, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnBiGruConfig_type(), "bi_gru", &status);
  BurnGruConfig one = BurnGruConfig_defaults(config->d_input, config->d_hidden, config->bias);
  one.initializer = config->initializer;
  one.reset_after = config->reset_after;
  one.gate_activation = config->gate_activation;
  one.hidden_activation = config->hidden_activation;
  one.clip = config->clip;
  BurnGru forward = make(status, &one, device);
  return (BurnBiGru){forward, make(status, &one, device), config->d_hidden, config->batch_first};
}

BurnTensor *burn_bi_gru_forward(const BurnBiGru *m, BurnTensor *x, BurnTensor *state, BurnTensor **last) {
  if (!m) return refused(x, state, burn_nn_no_module_status(__func__), last);
  BurnTensor *const states[BURN_NN_STATES] = {state, NULL};
  const BurnGateController *gate = &m->forward.update_gate;
  const BurnStatus status =
      burn_nn_check_sequence("bi_gru", gate, x, m->batch_first ? 0 : 1, states, BURN_SHAPE(2, 0, (int64_t)m->d_hidden));
  if (status != BURN_OK) return refused(x, state, burn_nn_at(status, &gate->input_transform.weight, 4), last);
  BurnTensor *ends[2];
  x = burn_nn_batch_first(m->batch_first, x);
  BurnTensor *there = run(&m->forward, burn_clone(x), false, burn_nn_direction(state, 0), &ends[0]);
  BurnTensor *back = run(&m->reverse, x, true, burn_nn_direction(state, 1), &ends[1]);
  burn_drop(state);
  burn_nn_give(last, burn_nn_both(ends[0], ends[1]));
  return burn_nn_batch_first(m->batch_first, burn_cat((BurnTensor *const[]){there, back}, 2, 2));
}
