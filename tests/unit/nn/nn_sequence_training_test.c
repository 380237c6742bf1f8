/* nn_sequence_training_test.c - twenty steps of Adam on recurrent layers and a transformer: the losses of PyTorch, with
 * and without fusion. */
#include "nn_testing.h"

#include <burn/train.h>

#include "sequence_golden.h"
#include "sequence_testing.h"

enum { LOSSES = 20, BATCH = 4, STEPS = 6, INPUT = 3, HIDDEN = 5, WIDTH = 6 };

static BurnDevice *device;
static const char *stack;

/* What is trained: takes x. */
typedef BurnTensor *(*Forward)(const void *m, BurnTensor *x);

/* Ends the module; the losses before every step are `expected` within 1e-5 of them. */
static void assert_losses(const char *name, BurnModule module, double scale, Forward forward, int64_t inputs,
                          int64_t outputs, const double *expected) {
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  seq_set_params(module, scale);
  for (int i = 0; i < LOSSES; i++) {
    double loss = 0;
    BurnTensor *y = forward(module.data, nn_pattern(device, BURN_SHAPE(BATCH, STEPS, inputs), 31));
    y = burn_mse(y, seq_pattern(device, BURN_SHAPE(BATCH, STEPS, outputs), 41, 0.4));
    BurnStatus status = burn_train_step(optimizer, module, burn_clone(y), 0.01);
    assert_string_equal("ok", burn_status_message(status));
    status = burn_read_scalar(y, &loss);
    assert_string_equal("ok", burn_status_message(status));
    if (!(fabs(loss - expected[i]) <= 1e-5 * expected[i]))
      fail_msg("%s on %s: loss %d is %.9g, expected %.9g", name, stack, i, loss, expected[i]);
  }
  burn_optimizer_destroy(optimizer);
  burn_module_release(module);
}

static BurnTensor *rnn_forward(const void *m, BurnTensor *x) { return burn_rnn_forward(m, x, NULL, NULL); }
static BurnTensor *gru_forward(const void *m, BurnTensor *x) { return burn_gru_forward(m, x, NULL, NULL); }
static BurnTensor *lstm_forward(const void *m, BurnTensor *x) { return burn_lstm_forward(m, x, NULL, NULL); }
static BurnTensor *bi_lstm_forward(const void *m, BurnTensor *x) { return burn_bi_lstm_forward(m, x, NULL, NULL); }
static BurnTensor *encoder_forward(const void *m, BurnTensor *x) {
  const BurnTransformerEncoderInput input = {.tensor = x, .is_causal = true};
  return burn_transformer_encoder_forward(m, input);
}

static void train_all(void **state) {
  (void)state;
  BurnRnn rnn = burn_rnn_new(INPUT, HIDDEN, true, device);
  BurnGru gru = burn_gru_new(INPUT, HIDDEN, true, device);
  BurnLstm lstm = burn_lstm_new(INPUT, HIDDEN, true, device);
  BurnBiLstm bi_lstm = burn_bi_lstm_new(INPUT, HIDDEN, true, device);
  BurnTransformerEncoderConfig config = BurnTransformerEncoderConfig_defaults(WIDTH, 5, 2, 2);
  config.dropout = 0;
  config.norm_first = true;
  BurnTransformerEncoder encoder = burn_transformer_encoder_init(&config, device);
  assert_losses("rnn", burn_module(BurnRnn, &rnn), 0.2, rnn_forward, INPUT, HIDDEN, golden_train_rnn);
  assert_losses("gru", burn_module(BurnGru, &gru), 0.2, gru_forward, INPUT, HIDDEN, golden_train_gru);
  assert_losses("lstm", burn_module(BurnLstm, &lstm), 0.2, lstm_forward, INPUT, HIDDEN, golden_train_lstm);
  assert_losses("bi_lstm", burn_module(BurnBiLstm, &bi_lstm), 0.2, bi_lstm_forward, INPUT, 2 * HIDDEN,
                golden_train_bi_lstm);
  assert_losses("encoder", burn_module(BurnTransformerEncoder, &encoder), 0.5, encoder_forward, WIDTH, WIDTH,
                golden_train_encoder);
}

static void test_losses(void **state) {
  (void)state;
  test_on_training_stacks("autodiff<ndarray>; autodiff<fusion<ndarray>>", &device, &stack, train_all);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_losses)};
  return test_stacks_result(cmocka_run_group_tests(tests, NULL, NULL));
}
