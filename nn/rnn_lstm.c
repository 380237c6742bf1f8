/* rnn_lstm.c - long short-term memory: the op burn_lstm where it gives the same numbers, else step by step. */
#include "rnn_internal.h"

/* With failed parameters if the status is a failure. */
static BurnLstm make(BurnStatus status, const BurnLstmConfig *config, BurnDevice *device) {
  if (status == BURN_OK) status = burn_nn_check_recurrent("lstm", config->d_input, config->d_hidden, config->clip);
  const BurnGateControllerConfig gate = {config->d_input, config->d_hidden, config->bias, config->initializer};
  BurnLstm m = {.d_hidden = config->d_hidden,
                .batch_first = config->batch_first,
                .reverse = config->reverse,
                .clip = config->clip,
                .input_forget = config->input_forget,
                .gate_activation = burn_activation_init(&config->gate_activation, device),
                .cell_activation = burn_activation_init(&config->cell_activation, device),
                .hidden_activation = burn_activation_init(&config->hidden_activation, device)};
  m.input_gate = burn_nn_gate(status, &gate, device);
  m.forget_gate = burn_nn_gate(status, &gate, device);
  m.output_gate = burn_nn_gate(status, &gate, device);
  m.cell_gate = burn_nn_gate(status, &gate, device);
  return m;
}

BurnLstm burn_lstm_init(const BurnLstmConfig *config, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnLstmConfig_type(), "lstm", &status);
  return make(status, config, device);
}

/* What the op does is all that is asked for. */
static bool is_plain(const BurnLstm *m) {
  return !m->clip.present && !m->input_forget && m->gate_activation.kind == BurnActivation_KIND_Sigmoid &&
         m->cell_activation.kind == BurnActivation_KIND_Tanh && m->hidden_activation.kind == BurnActivation_KIND_Tanh;
}

/* The state after the last step: of outputs [batch, steps, d_hidden] (borrowed), or if there is none the first one
 * (borrowed). */
static BurnTensor *end_of(const BurnTensor *outputs, const BurnTensor *first) {
  const int64_t steps = burn_dim(outputs, 1);
  return steps == 0 ? burn_clone(first) : burn_select_dim(burn_clone(outputs), 1, steps - 1);
}

static BurnTensor *backwards(bool reverse, BurnTensor *x) { return reverse ? burn_flip(x, (const int[]){1}, 1) : x; }

/* In one op. Takes inputs, weight and the states, which become the last ones. */
static BurnTensor *run_at_once(BurnTensor *inputs, bool reverse, BurnTensor *weight, BurnTensor **states) {
  BurnTensor *hidden = states[BURN_NN_HIDDEN], *cell = states[BURN_NN_CELL], *cells = NULL;
  inputs = backwards(reverse, inputs);
  BurnTensor *outputs = burn_lstm(inputs, burn_clone(hidden), burn_clone(cell), weight, &cells);
  states[BURN_NN_HIDDEN] = end_of(outputs, hidden);
  states[BURN_NN_CELL] = end_of(cells, cell);
  burn_drop(hidden);
  burn_drop(cell);
  burn_drop(cells);
  return backwards(reverse, outputs);
}

typedef struct Lstm {
  const BurnLstm *m;
  BurnTensor *weight; /* of the hidden state, for all gates */
} Lstm;

/* Gate number `index` of the sums (borrowed) through an activation. */
static BurnTensor *gate(const BurnLstm *m, const BurnTensor *sums, int64_t index, const BurnActivation *activation) {
  const int64_t width = (int64_t)m->d_hidden;
  return burn_activation_forward(activation, burn_narrow(burn_clone(sums), 1, index * width, width));
}

/* The gates stand in the order input, cell, output, forget; the last is missing with input_forget. */
static void turn(const void *context, BurnTensor *input, BurnTensor **states) {
  const Lstm *lstm = context;
  const BurnLstm *m = lstm->m;
  BurnTensor *sums = burn_add(input, burn_matmul(states[BURN_NN_HIDDEN], burn_clone(lstm->weight)));
  BurnTensor *in = gate(m, sums, 0, &m->gate_activation), *fresh = gate(m, sums, 1, &m->cell_activation);
  BurnTensor *out = gate(m, sums, 2, &m->gate_activation), *forget;
  forget = m->input_forget ? burn_scalar_sub(1, burn_clone(in)) : gate(m, sums, 3, &m->gate_activation);
  burn_drop(sums);
  BurnTensor *cell = burn_mul(forget, states[BURN_NN_CELL]);
  cell = burn_nn_clipped(burn_add(cell, burn_mul(in, fresh)), &m->clip);
  states[BURN_NN_CELL] = burn_clone(cell);
  states[BURN_NN_HIDDEN] = burn_mul(out, burn_activation_forward(&m->hidden_activation, cell));
}

/* One direction of x, whose batch is first; takes x and both states, which become the last ones. */
static BurnTensor *run(const BurnLstm *m, BurnTensor *x, bool reverse, BurnTensor **states) {
  const BurnGateController *const as_op[] = {&m->input_gate, &m->forget_gate, &m->cell_gate, &m->output_gate};
  const BurnGateController *const as_turn[] = {&m->input_gate, &m->cell_gate, &m->output_gate, &m->forget_gate};
  states[BURN_NN_HIDDEN] = burn_nn_first_state(states[BURN_NN_HIDDEN], x, m->d_hidden);
  states[BURN_NN_CELL] = burn_nn_first_state(states[BURN_NN_CELL], x, m->d_hidden);
  Lstm lstm = {m, NULL};
  BurnTensor *inputs = burn_nn_gate_inputs(is_plain(m) ? as_op : as_turn, m->input_forget ? 3 : 4, x, &lstm.weight);
  if (is_plain(m)) return run_at_once(inputs, reverse, lstm.weight, states);
  BurnTensor *outputs = burn_nn_recur(inputs, reverse, turn, &lstm, states);
  burn_drop(lstm.weight);
  return outputs;
}

/* -- states ----------------------------------------------------------------------------------- */

/* The tensors of a state that may be absent. */
static void take_state(const BurnLstmState *state, BurnTensor **states) {
  states[BURN_NN_HIDDEN] = state ? state->hidden : NULL;
  states[BURN_NN_CELL] = state ? state->cell : NULL;
}

/* Takes both. */
static void give_state(BurnLstmState *last, BurnTensor *cell, BurnTensor *hidden) {
  burn_nn_give(last ? &last->cell : NULL, cell);
  burn_nn_give(last ? &last->hidden : NULL, hidden);
}

/* Takes x and the states. */
static BurnTensor *refused(BurnTensor *x, BurnTensor **states, BurnStatus status, BurnLstmState *last) {
  burn_drop(x);
  burn_drop(states[BURN_NN_HIDDEN]);
  burn_drop(states[BURN_NN_CELL]);
  give_state(last, burn_tensor_failed(status), burn_tensor_failed(status));
  return burn_tensor_failed(status);
}

BurnTensor *burn_lstm_forward(const BurnLstm *m, BurnTensor *x, const BurnLstmState *state, BurnLstmState *last) {
  BurnTensor *states[BURN_NN_STATES];
  take_state(state, states);
  if (!m) return refused(x, states, burn_nn_no_module_status(__func__), last);
  const BurnStatus status = burn_nn_check_sequence("lstm", &m->input_gate, x, m->batch_first ? 0 : 1, states,
                                                   BURN_SHAPE(0, (int64_t)m->d_hidden));
  if (status != BURN_OK) return refused(x, states, burn_nn_at(status, &m->input_gate.input_transform.weight, 3), last);
  x = run(m, burn_nn_batch_first(m->batch_first, x), m->reverse, states);
  give_state(last, states[BURN_NN_CELL], states[BURN_NN_HIDDEN]);
  return burn_nn_batch_first(m->batch_first, x);
}

/* -- both directions -------------------------------------------------------------------------- */

BurnBiLstm burn_bi_lstm_init(const BurnBiLstmConfig *config, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnBiLstmConfig_type(), "bi_lstm", &status);
  BurnLstmConfig one = BurnLstmConfig_defaults(config->d_input, config->d_hidden, config->bias);
  one.initializer = config->initializer;
  one.clip = config->clip;
  one.input_forget = config->input_forget;
  one.gate_activation = config->gate_activation;
  one.cell_activation = config->cell_activation;
  one.hidden_activation = config->hidden_activation;
  BurnLstm forward = make(status, &one, device);
  return (BurnBiLstm){forward, make(status, &one, device), config->d_hidden, config->batch_first};
}

/* One direction of both; x and states [2, ..] stay, ends are those of this direction. */
static BurnTensor *run_direction(const BurnLstm *m, const BurnTensor *x, int64_t direction, BurnTensor *const *states,
                                 BurnTensor **ends) {
  for (int i = 0; i < BURN_NN_STATES; i++) ends[i] = burn_nn_direction(states[i], direction);
  return run(m, burn_clone(x), direction == 1, ends);
}

BurnTensor *burn_bi_lstm_forward(const BurnBiLstm *m, BurnTensor *x, const BurnLstmState *state, BurnLstmState *last) {
  BurnTensor *states[BURN_NN_STATES], *there_ends[BURN_NN_STATES], *back_ends[BURN_NN_STATES];
  take_state(state, states);
  if (!m) return refused(x, states, burn_nn_no_module_status(__func__), last);
  const BurnGateController *first = &m->forward.input_gate;
  const BurnStatus status = burn_nn_check_sequence("bi_lstm", first, x, m->batch_first ? 0 : 1, states,
                                                   BURN_SHAPE(2, 0, (int64_t)m->d_hidden));
  if (status != BURN_OK) return refused(x, states, burn_nn_at(status, &first->input_transform.weight, 4), last);
  x = burn_nn_batch_first(m->batch_first, x);
  BurnTensor *there = run_direction(&m->forward, x, 0, states, there_ends);
  BurnTensor *back = run_direction(&m->reverse, x, 1, states, back_ends);
  burn_drop(x);
  for (int i = 0; i < BURN_NN_STATES; i++) burn_drop(states[i]);
  give_state(last, burn_nn_both(there_ends[BURN_NN_CELL], back_ends[BURN_NN_CELL]),
             burn_nn_both(there_ends[BURN_NN_HIDDEN], back_ends[BURN_NN_HIDDEN]));
  return burn_nn_batch_first(m->batch_first, burn_cat((BurnTensor *const[]){there, back}, 2, 2));
}
