/* rnn.c - the plain recurrent layer. */
#include "rnn_internal.h"

/* With failed parameters if the status is a failure. */
static BurnRnn make(BurnStatus status, const BurnRnnConfig *config, BurnDevice *device) {
  if (status == BURN_OK) status = burn_nn_check_recurrent("rnn", config->d_input, config->d_hidden, config->clip);
  const BurnGateControllerConfig gate = {config->d_input, config->d_hidden, config->bias, config->initializer};
  return (BurnRnn){.gate = burn_nn_gate(status, &gate, device),
                   .d_hidden = config->d_hidden,
                   .batch_first = config->batch_first,
                   .reverse = config->reverse,
                   .clip = config->clip,
                   .hidden_activation = burn_activation_init(&config->hidden_activation, device)};
}

BurnRnn burn_rnn_init(const BurnRnnConfig *config, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnRnnConfig_type(), "rnn", &status);
  return make(status, config, device);
}

typedef struct Rnn {
  const BurnRnn *m;
  BurnTensor *weight; /* of the hidden state */
} Rnn;

static void turn(const void *context, BurnTensor *input, BurnTensor **states) {
  const Rnn *rnn = context;
  BurnTensor *sum = burn_matmul(states[BURN_NN_HIDDEN], burn_clone(rnn->weight));
  sum = burn_activation_forward(&rnn->m->hidden_activation, burn_add(input, sum));
  states[BURN_NN_HIDDEN] = burn_nn_clipped(sum, &rnn->m->clip);
}

/* One direction of x, whose batch is first. Takes x and state. */
static BurnTensor *run(const BurnRnn *m, BurnTensor *x, bool reverse, BurnTensor *state, BurnTensor **last) {
  BurnTensor *states[BURN_NN_STATES] = {burn_nn_first_state(state, x, m->d_hidden), NULL};
  const BurnGateController *const gates[] = {&m->gate};
  Rnn rnn = {m, NULL};
  BurnTensor *inputs = burn_nn_gate_inputs(gates, 1, x, &rnn.weight);
  BurnTensor *outputs = burn_nn_recur(inputs, reverse, turn, &rnn, states);
  burn_drop(rnn.weight);
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

BurnTensor *burn_rnn_forward(const BurnRnn *m, BurnTensor *x, BurnTensor *state, BurnTensor **last) {
  if (!m) return refused(x, state, burn_nn_no_module_status(__func__), last);
  BurnTensor *const states[BURN_NN_STATES] = {state, NULL};
  const BurnStatus status =
      burn_nn_check_sequence("rnn", &m->gate, x, m->batch_first ? 0 : 1, states, BURN_SHAPE(0, (int64_t)m->d_hidden));
  if (status != BURN_OK) return refused(x, state, burn_nn_at(status, &m->gate.input_transform.weight, 3), last);
  x = run(m, burn_nn_batch_first(m->batch_first, x), m->reverse, state, last);
  return burn_nn_batch_first(m->batch_first, x);
}

/* -- both directions -------------------------------------------------------------------------- */

BurnBiRnn burn_bi_rnn_init(const BurnBiRnnConfig *config, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnBiRnnConfig_type(), "bi_rnn", &status);
  BurnRnnConfig one = BurnRnnConfig_defaults(config->d_input, config->d_hidden, config->bias);
  one.initializer = config->initializer;
  one.clip = config->clip;
  one.hidden_activation = config->hidden_activation;
  BurnRnn forward = make(status, &one, device);
  return (BurnBiRnn){forward, make(status, &one, device), config->d_hidden, config->batch_first};
}

BurnTensor *burn_bi_rnn_forward(const BurnBiRnn *m, BurnTensor *x, BurnTensor *state, BurnTensor **last) {
  if (!m) return refused(x, state, burn_nn_no_module_status(__func__), last);
  BurnTensor *const states[BURN_NN_STATES] = {state, NULL};
  const BurnParam *first = &m->forward.gate.input_transform.weight;
  const BurnStatus status = burn_nn_check_sequence("bi_rnn", &m->forward.gate, x, m->batch_first ? 0 : 1, states,
                                                   BURN_SHAPE(2, 0, (int64_t)m->d_hidden));
  if (status != BURN_OK) return refused(x, state, burn_nn_at(status, first, 4), last);
  BurnTensor *ends[2];
  x = burn_nn_batch_first(m->batch_first, x);
  BurnTensor *there = run(&m->forward, burn_clone(x), false, burn_nn_direction(state, 0), &ends[0]);
  BurnTensor *back = run(&m->reverse, x, true, burn_nn_direction(state, 1), &ends[1]);
  burn_drop(state);
  burn_nn_give(last, burn_nn_both(ends[0], ends[1]));
  return burn_nn_batch_first(m->batch_first, burn_cat((BurnTensor *const[]){there, back}, 2, 2));
}
