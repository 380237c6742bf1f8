/* ops_sequence_test.c - ops over sequences: attention over several blocks, lstm, and the gradients of both, against
 * PyTorch (tests/golden/ops_sequence.py). */
#define OPS_GOLDEN "ops_sequence_golden.h"
#include "ops_golden.h"

static BurnAttentionOptions heads(const OpsRun *run) {
  return (BurnAttentionOptions){NUMBER(0), NUMBER(1), WHOLE(2) != 0};
}

static BurnTensor *copy_of(BurnTensor *x) { return x ? burn_clone(x) : NULL; }

/* Result and logsumexp; takes query, key, value, mask and bias. */
static void with_logsumexp(OpsRun *run, BurnTensor *const *in, BurnTensor **out) {
  const BurnAttr attrs[] = {burn_attr_f64(NUMBER(0)), burn_attr_f64(NUMBER(1)), burn_attr_bool(WHOLE(2) != 0)};
  burn_op_call(run->device, burn_op_info(BURN_OP_attention_with_logsumexp), in, 5, attrs, 3, out);
}

/* By attention, and where inputs are shared by attention_with_logsumexp. */
static BurnTensor *attention(OpsRun *run) {
  if (!run->shared) return burn_attention(IN(0), IN(1), IN(2), IN(3), IN(4), heads(run));
  BurnTensor *const in[] = {IN(0), IN(1), IN(2), IN(3), IN(4)};
  BurnTensor *out[2];
  with_logsumexp(run, in, out);
  burn_drop(out[1]);
  return out[0];
}

/* The same of the gradients, by attention_with_logsumexp_backward; not of halves, where the result has been rounded. */
static void attention_backward(OpsRun *run) {
  const BurnAttr attrs[] = {burn_attr_f64(NUMBER(0)), burn_attr_f64(NUMBER(1)), burn_attr_bool(WHOLE(2) != 0)};
  const BurnDType dtype = burn_dtype(run->inputs[0]);
  if (!run->shared || dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16) {
    ops_call(run, BURN_OP_attention_backward, attrs, 3);
    return;
  }
  BurnTensor *const in[] = {IN(0), IN(1), IN(2), IN(3), IN(4), IN(5)};
  BurnTensor *const copies[] = {copy_of(in[1]), copy_of(in[2]), copy_of(in[3]), copy_of(in[4]), copy_of(in[5])};
  BurnTensor *forward[2];
  with_logsumexp(run, copies, forward);
  BurnTensor *const all[] = {in[0], in[1], in[2], in[3], forward[0], forward[1], in[4], in[5]};
  burn_op_call(run->device, burn_op_info(BURN_OP_attention_with_logsumexp_backward), all, 8, attrs, 3, run->outputs);
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

#define ROWS(OPS)                                  \
  OPS(attention, OUT(0) = attention(run))          \
  OPS(attention_backward, attention_backward(run)) \
  OPS(lstm, lstm(run))                             \
  OPS(lstm_backward, ops_call(run, BURN_OP_lstm_backward, NULL, 0))

OPS_MAIN("sequences", ROWS)
