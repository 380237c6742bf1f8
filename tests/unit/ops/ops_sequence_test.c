/* ops_sequence_test.c - ops over sequences: attention over several blocks, lstm, and the gradients of both, against
 * PyTorch (tests/golden/ops_sequence.py). */
#define OPS_GOLDEN "ops_sequence_golden.h"
#include "ops_golden.h"

static BurnAttentionOptions heads(const OpsRun *run) {
  return (BurnAttentionOptions){NUMBER(0), NUMBER(1), WHOLE(2) != 0};
}

static void attention_backward(OpsRun *run) {
  const BurnAttr attrs[] = {burn_attr_f64(NUMBER(0)), burn_attr_f64(NUMBER(1)), burn_attr_bool(WHOLE(2) != 0)};
  ops_call(run, BURN_OP_attention_backward, attrs, 3);
}

/* The activations, which burn_lstm keeps to itself, from the op. */
static void lstm(OpsRun *run) {
  BurnTensor *whole[3];
  BurnTensor *const inputs[] = {IN(0), IN(1), IN(2), IN(3)};
  BurnTensor *const copies[] = {burn_clone(inputs[0]), burn_clone(inputs[1]), burn_clone(inputs[2]),
                                burn_clone(inputs[3])};
  burn_op_call(run->device, burn_op_info(BURN_OP_lstm), copies, 4, NULL, 0, whole);
  burn_drop(whole[0]);
  burn_drop(whole[1]);
  OUT(2) = whole[2];
  OUT(0) = burn_lstm(inputs[0], inputs[1], inputs[2], inputs[3], &OUT(1));
}

#define ROWS(OPS)                                                                        \
  OPS(attention, OUT(0) = burn_attention(IN(0), IN(1), IN(2), IN(3), IN(4), heads(run))) \
  OPS(attention_backward, attention_backward(run))                                       \
  OPS(lstm, lstm(run))                                                                   \
  OPS(lstm_backward, ops_call(run, BURN_OP_lstm_backward, NULL, 0))

OPS_MAIN("sequences", ROWS)
