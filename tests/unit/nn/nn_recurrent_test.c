/* nn_recurrent_test.c - recurrent layers: values, gradients, states, options, refusals. */
#include "nn_testing.h"

#include "sequence_golden.h"
#include "sequence_testing.h"

enum { STEPS = 4, INPUT = 3, HIDDEN = 5 };

/* The input and the states of the generator. */
typedef struct Inputs {
  BurnTensor *x, *hidden, *cell;
} Inputs;

static Inputs inputs_new(BurnDevice *device, bool both) {
  const BurnShape state = both ? BURN_SHAPE(2, 2, HIDDEN) : BURN_SHAPE(2, HIDDEN);
  return (Inputs){seq_leaf(device, BURN_SHAPE(2, STEPS, INPUT), 31, 0.5), seq_leaf(device, state, 32, 0.5),
                  seq_leaf(device, state, 33, 0.5)};
}
static void inputs_drop(const Inputs *in) {
  burn_drop(in->x);
  burn_drop(in->hidden);
  burn_drop(in->cell);
}

static BurnTensor *flat_part(BurnTensor *x) { return burn_reshape(x, BURN_SHAPE(-1)); }

/* Outputs and last states as one; takes them. */
static BurnTensor *flat(BurnTensor *y, BurnTensor *hidden) {
  return burn_cat((BurnTensor *const[]){flat_part(y), flat_part(hidden)}, 2, 0);
}
static BurnTensor *flat_state(BurnTensor *y, BurnLstmState last) {
  return burn_cat((BurnTensor *const[]){flat_part(y), flat_part(last.hidden), flat_part(last.cell)}, 3, 0);
}

static void test_gate(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnGateController m = burn_gate_controller_new(2, 1, true, device);
  burn_param_set(&m.input_transform.weight, burn_tensor_f32(device, (float[]){2, 3}, BURN_SHAPE(2, 1)));
  burn_param_set(&m.input_transform.bias, burn_tensor_f32(device, (float[]){100}, BURN_SHAPE(1)));
  burn_param_set(&m.hidden_transform.weight, burn_tensor_f32(device, (float[]){5}, BURN_SHAPE(1, 1)));
  burn_param_set(&m.hidden_transform.bias, burn_tensor_f32(device, (float[]){1000}, BURN_SHAPE(1)));
  BurnTensor *x = burn_tensor_f32(device, (float[]){1, 10}, BURN_SHAPE(1, 2));
  const double expected[] = {2 + 30 + 100 + 35 + 1000};
  x = burn_gate_controller_forward(&m, x, burn_tensor_f32(device, (float[]){7}, BURN_SHAPE(1, 1)));
  nn_assert_values("gate", x, expected, 1, 0);
  BurnGateController_release(&m);
}

static void test_rnn(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnRnn m = burn_rnn_new(INPUT, HIDDEN, true, device), bare = burn_rnn_new(INPUT, HIDDEN, false, device);
  const Inputs in = inputs_new(device, false);
  BurnTensor *last, *y;
  seq_set_params(burn_module(BurnRnn, &m), 0.2);
  seq_set_params(burn_module(BurnRnn, &bare), 0.2);
  y = burn_rnn_forward(&m, burn_clone(in.x), burn_clone(in.hidden), &last);
  nn_assert_shape(y, BURN_SHAPE(2, STEPS, HIDDEN));
  nn_assert_shape(last, BURN_SHAPE(2, HIDDEN));
  SEQ_ASSERT_CASE(rnn, flat(y, last), BurnRnn, &m, in.x, in.hidden);
  y = flat_part(burn_rnn_forward(&bare, burn_clone(in.x), NULL, NULL));
  SEQ_ASSERT_CASE(rnn_bare, y, BurnRnn, &bare, in.x);
  BurnRnn_release(&m);
  BurnRnn_release(&bare);
  BurnRnnConfig config = BurnRnnConfig_defaults(INPUT, HIDDEN, true);
  config.batch_first = false;
  config.reverse = true;
  config.clip = (BurnOptionF64){true, 0.4};
  config.hidden_activation = (BurnActivationConfig)BURN_ACTIVATION_SOFTSIGN;
  m = burn_rnn_init(&config, device);
  seq_set_params(burn_module(BurnRnn, &m), 0.2);
  y = burn_rnn_forward(&m, burn_swap_dims(burn_clone(in.x), 0, 1), burn_clone(in.hidden), &last);
  SEQ_ASSERT_CASE(rnn_options, flat(y, last), BurnRnn, &m, in.x, in.hidden);
  BurnRnn_release(&m);
  inputs_drop(&in);
}

static void test_gru(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnGru m = burn_gru_new(INPUT, HIDDEN, true, device), bare = burn_gru_new(INPUT, HIDDEN, false, device);
  const Inputs in = inputs_new(device, false);
  BurnTensor *last, *y;
  seq_set_params(burn_module(BurnGru, &m), 0.2);
  seq_set_params(burn_module(BurnGru, &bare), 0.2);
  y = burn_gru_forward(&m, burn_clone(in.x), burn_clone(in.hidden), &last);
  SEQ_ASSERT_CASE(gru, flat(y, last), BurnGru, &m, in.x, in.hidden);
  y = flat_part(burn_gru_forward(&bare, burn_clone(in.x), NULL, NULL));
  SEQ_ASSERT_CASE(gru_bare, y, BurnGru, &bare, in.x);
  BurnGru_release(&m);
  BurnGru_release(&bare);
  BurnGruConfig config = BurnGruConfig_defaults(INPUT, HIDDEN, true);
  assert_true(config.reset_after);
  config.reset_after = false;
  config.clip = (BurnOptionF64){true, 0.6};
  config.gate_activation = (BurnActivationConfig)BURN_ACTIVATION_HARD_SIGMOID(0.2, 0.5);
  config.hidden_activation = (BurnActivationConfig)BURN_ACTIVATION_SOFTSIGN;
  m = burn_gru_init(&config, device);
  seq_set_params(burn_module(BurnGru, &m), 0.2);
  y = burn_gru_forward(&m, burn_clone(in.x), burn_clone(in.hidden), &last);
  SEQ_ASSERT_CASE(gru_options, flat(y, last), BurnGru, &m, in.x, in.hidden);
  BurnGru_release(&m);
  inputs_drop(&in);
}

static BurnTensor *lstm_forward(const BurnLstm *m, const Inputs *in) {
  const BurnLstmState first = {burn_clone(in->cell), burn_clone(in->hidden)};
  BurnLstmState last;
  BurnTensor *x = m->batch_first ? burn_clone(in->x) : burn_swap_dims(burn_clone(in->x), 0, 1);
  x = burn_lstm_forward(m, x, &first, &last);
  nn_assert_shape(last.cell, BURN_SHAPE(2, HIDDEN));
  return flat_state(x, last);
}

static void test_lstm(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnLstm m = burn_lstm_new(INPUT, HIDDEN, true, device), bare = burn_lstm_new(INPUT, HIDDEN, false, device);
  const Inputs in = inputs_new(device, false);
  seq_set_params(burn_module(BurnLstm, &m), 0.2);
  seq_set_params(burn_module(BurnLstm, &bare), 0.2);
  SEQ_ASSERT_CASE(lstm, lstm_forward(&m, &in), BurnLstm, &m, in.x, in.hidden, in.cell);
  BurnTensor *y = flat_part(burn_lstm_forward(&bare, burn_clone(in.x), NULL, NULL));
  SEQ_ASSERT_CASE(lstm_bare, y, BurnLstm, &bare, in.x);
  m.reverse = true;
  SEQ_ASSERT_CASE(lstm_reverse, lstm_forward(&m, &in), BurnLstm, &m, in.x, in.hidden, in.cell);
  m.reverse = false;
  m.clip = (BurnOptionF64){true, 0.4};
  SEQ_ASSERT_CASE(lstm_clip, lstm_forward(&m, &in), BurnLstm, &m, in.x, in.hidden, in.cell);
  /* A clip that keeps nothing back: the same step by step as in one op. */
  m.clip.value = 1e9;
  SEQ_ASSERT_CASE(lstm, lstm_forward(&m, &in), BurnLstm, &m, in.x, in.hidden, in.cell);
  BurnLstm_release(&m);
  BurnLstm_release(&bare);
  inputs_drop(&in);
}

/* The forget gate has no part in it, and no gradient. */
static void test_lstm_options(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnLstmConfig config = BurnLstmConfig_defaults(INPUT, HIDDEN, true);
  config.batch_first = false;
  config.reverse = true;
  config.input_forget = true;
  config.gate_activation = (BurnActivationConfig)BURN_ACTIVATION_HARD_SIGMOID(0.2, 0.5);
  config.cell_activation = (BurnActivationConfig)BURN_ACTIVATION_SOFTSIGN;
  config.hidden_activation = (BurnActivationConfig)BURN_ACTIVATION_SIGMOID;
  BurnLstm m = burn_lstm_init(&config, device);
  const Inputs in = inputs_new(device, false);
  seq_set_params(burn_module(BurnLstm, &m), 0.2);
  const BurnGateController forget = m.forget_gate;
  m.forget_gate = (BurnGateController){.input_transform = {.weight = {.value = NULL}}};
  SEQ_ASSERT_CASE(lstm_options, lstm_forward(&m, &in), BurnLstm, &m, in.x, in.hidden, in.cell);
  m.forget_gate = forget;
  BurnLstm_release(&m);
  inputs_drop(&in);
}

static void test_both_directions(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnBiRnn rnn = burn_bi_rnn_new(INPUT, HIDDEN, true, device);
  BurnBiGru gru = burn_bi_gru_new(INPUT, HIDDEN, true, device);
  BurnBiLstm lstm = burn_bi_lstm_new(INPUT, HIDDEN, true, device);
  const Inputs in = inputs_new(device, true);
  seq_set_params(burn_module(BurnBiRnn, &rnn), 0.2);
  seq_set_params(burn_module(BurnBiGru, &gru), 0.2);
  seq_set_params(burn_module(BurnBiLstm, &lstm), 0.2);
  BurnTensor *last, *y = burn_bi_rnn_forward(&rnn, burn_clone(in.x), burn_clone(in.hidden), &last);
  nn_assert_shape(y, BURN_SHAPE(2, STEPS, 2 * HIDDEN));
  nn_assert_shape(last, BURN_SHAPE(2, 2, HIDDEN));
  SEQ_ASSERT_CASE(bi_rnn, flat(y, last), BurnBiRnn, &rnn, in.x, in.hidden);
  y = burn_bi_gru_forward(&gru, burn_clone(in.x), burn_clone(in.hidden), &last);
  SEQ_ASSERT_CASE(bi_gru, flat(y, last), BurnBiGru, &gru, in.x, in.hidden);
  const BurnLstmState first = {burn_clone(in.cell), burn_clone(in.hidden)};
  BurnLstmState end;
  lstm.batch_first = false;
  y = burn_bi_lstm_forward(&lstm, burn_swap_dims(burn_clone(in.x), 0, 1), &first, &end);
  nn_assert_shape(y, BURN_SHAPE(STEPS, 2, 2 * HIDDEN));
  y = flat_state(burn_swap_dims(y, 0, 1), end);
  SEQ_ASSERT_CASE(bi_lstm, y, BurnBiLstm, &lstm, in.x, in.hidden, in.cell);
  BurnBiRnn_release(&rnn);
  BurnBiGru_release(&gru);
  BurnBiLstm_release(&lstm);
  inputs_drop(&in);
}

/* No step: no output, and the state stays. */
static void test_no_steps(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnGru gru = burn_gru_new(INPUT, HIDDEN, true, device);
  BurnLstm lstm = burn_lstm_new(INPUT, HIDDEN, true, device);
  const double zeros[2 * HIDDEN] = {0};
  BurnTensor *last, *y;
  BurnLstmState end;
  y = burn_gru_forward(&gru, burn_zeros(device, BURN_SHAPE(2, 0, INPUT), BURN_DTYPE_DEFAULT), NULL, &last);
  nn_assert_shape(y, BURN_SHAPE(2, 0, HIDDEN));
  nn_assert_values("gru", last, zeros, 2 * HIDDEN, 0);
  burn_drop(y);
  y = burn_lstm_forward(&lstm, burn_zeros(device, BURN_SHAPE(2, 0, INPUT), BURN_DTYPE_DEFAULT), NULL, &end);
  nn_assert_shape(y, BURN_SHAPE(2, 0, HIDDEN));
  nn_assert_values("hidden", end.hidden, zeros, 2 * HIDDEN, 0);
  nn_assert_values("cell", end.cell, zeros, 2 * HIDDEN, 0);
  burn_drop(y);
  BurnGru_release(&gru);
  BurnLstm_release(&lstm);
}

#define WRAP_FIELDS(X) X(BurnGru, gru, "") X(BurnBiLstm, lstm, "")
BURN_MODULE(Wrap, WRAP_FIELDS);

static void test_refuses(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnLstmConfig config = BurnLstmConfig_defaults(0, 5, true);
  BurnLstm lstm = burn_lstm_init(&config, device);
  BurnLstmState end;
  assert_string_equal("input_gate.input_transform.weight: lstm: d_input is 0",
                      burn_status_message(burn_module_status(burn_module(BurnLstm, &lstm))));
  nn_assert_failed(burn_lstm_forward(&lstm, nn_pattern(device, BURN_SHAPE(2, 4, 3), 1), NULL, &end),
                   "lstm: d_input is 0");
  nn_assert_failed(end.cell, "lstm: d_input is 0");
  nn_assert_failed(end.hidden, "lstm: d_input is 0");
  BurnLstm_release(&lstm);
  config.d_input = 3;
  config.clip = (BurnOptionF64){true, -1};
  lstm = burn_lstm_init(&config, device);
  assert_string_equal("input_gate.input_transform.weight: lstm: clip -1 is not a number of 0 or more",
                      burn_status_message(burn_module_status(burn_module(BurnLstm, &lstm))));
  BurnLstm_release(&lstm);
  BurnBiRnn rnn = burn_bi_rnn_init(NULL, device);
  assert_string_equal(
      "forward.gate.input_transform.weight: bi_rnn: config is NULL: "
      "BurnBiRnnConfig_defaults(d_input, d_hidden, bias) makes one",
      burn_status_message(burn_module_status(burn_module(BurnBiRnn, &rnn))));
  BurnBiRnn_release(&rnn);
  Wrap wrap = {burn_gru_new(3, 5, true, device), burn_bi_lstm_new(3, 5, true, device)};
  assert_string_equal("ok", burn_status_message(burn_module_status(burn_module(Wrap, &wrap))));
  BurnTensor *last;
  nn_assert_failed(burn_gru_forward(&wrap.gru, nn_pattern(device, BURN_SHAPE(4, 3), 1), NULL, &last),
                   "gru: gru: x [4,3], expected [batch, steps, 3]");
  burn_drop(last);
  const BurnLstmState first = {NULL, nn_pattern(device, BURN_SHAPE(2, 5), 1)};
  nn_assert_failed(burn_bi_lstm_forward(&wrap.lstm, nn_pattern(device, BURN_SHAPE(2, 4, 3), 1), &first, NULL),
                   "lstm: bi_lstm: hidden state [2,5], expected [2,2,5]");
  nn_assert_failed(
      burn_gru_forward(&wrap.gru, burn_tensor_failed(burn_status_make(BURN_STATUS_CANCELLED, "stop")), NULL, NULL),
      "stop");
  Wrap_release(&wrap);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gate),     cmocka_unit_test(test_rnn),          cmocka_unit_test(test_gru),
      cmocka_unit_test(test_lstm),     cmocka_unit_test(test_lstm_options), cmocka_unit_test(test_both_directions),
      cmocka_unit_test(test_no_steps), cmocka_unit_test(test_refuses),
  };
  return cmocka_run_group_tests(tests, nn_setup, nn_teardown);
}
