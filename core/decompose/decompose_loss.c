/* decompose_loss.c - losses and their gradients. */
#include "decompose_internal.h"

#include <math.h>

/* -- mse, cross_entropy ----------------------------------------------------------------------- */

DECOMPOSE(mse) {
  BurnPrimitive *distance = burn_build_sub(builder, call->inputs[0], call->inputs[1]);
  out[0] = one(builder, BURN_OP_mean, burn_build_mul(builder, distance, distance));
}

DECOMPOSE(mse_backward) {
  const BurnTensorDesc *x = call->output_descs;
  int64_t ones[BURN_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++) ones[i] = 1;
  BurnPrimitive *part = burn_build_scalar(builder, BURN_OP_div_scalar, call->inputs[0], (double)burn_desc_count(x));
  part = burn_build_reshape(builder, scaled(builder, part, 2), ones, x->rank);
  out[0] = burn_build_mul(builder, burn_build_sub(builder, call->inputs[1], call->inputs[2]), part);
}

DECOMPOSE(cross_entropy) {
  BurnPrimitive *logits = call->inputs[0];
  const int64_t column[] = {logits->shape[0], 1};
  BurnPrimitive *targets = burn_build_reshape(builder, call->inputs[1], column, 2);
  BurnPrimitive *all = burn_build_dim(builder, BURN_OP_log_softmax, logits, 1);
  out[0] =
      one(builder, BURN_OP_neg, one(builder, BURN_OP_mean, burn_build_dim2(builder, BURN_OP_gather, all, targets, 1)));
}

DECOMPOSE(cross_entropy_backward) {
  BurnPrimitive *logits = call->inputs[1];
  const int64_t items = logits->shape[0], column[] = {items, 1}, one_each[] = {1, 1};
  BurnPrimitive *targets = burn_build_reshape(builder, call->inputs[2], column, 2);
  BurnPrimitive *share = burn_build_dim(builder, BURN_OP_softmax, logits, 1);
  BurnPrimitive *less_1 = burn_build_full(builder, column, 2, logits->dtype, -1);
  share = burn_build_dim3(builder, BURN_OP_scatter, share, targets, less_1, 1);
  BurnPrimitive *grad = burn_build_scalar(builder, BURN_OP_div_scalar, call->inputs[0], (double)items);
  out[0] = burn_build_mul(builder, share, burn_build_reshape(builder, grad, one_each, 2));
}

/* -- ctc_loss --------------------------------------------------------------------------------- */

/* The loss is the forward recursion of Graves et al. (2006) over the states blank, label 1, blank, label 2, ... blank
 * of every sample. alpha[s] is the log probability of all alignments so far that end in state s. It starts before the
 * first frame, with everything in state 0: from there the first frame reaches the states 0 and 1, as it should. */
typedef struct Ctc {
  int64_t frames, samples, labels, states; /* states = 2 labels + 1 */
  BurnDType dtype;                         /* f32 or f64 */
  BurnPrimitive *targets;                  /* [n, labels], i64, blank beyond a sample's length */
  BurnPrimitive *frame_probs;              /* [t, n, states]: log probability of each state's class */
  BurnPrimitive *no_skip;                  /* [n, states]: state s cannot follow s - 2 */
  BurnPrimitive *input_lengths;            /* [n, 1], i64 */
} Ctc;

static BurnPrimitive *filled(BurnBuilder *b, int64_t rows, int64_t columns, BurnDType dtype, double value) {
  const int64_t shape[] = {rows, columns};
  return burn_build_full(b, shape, 2, dtype, value);
}

/* log(sum of e^terms); -infinity if all are, with a gradient of 0 instead of NaN. The largest is rounded down before it
 * is taken off: that is as good a shift, and floor has no gradient to compute. */
static BurnPrimitive *log_sum_exp(BurnBuilder *b, BurnPrimitive *const *terms, int count) {
  BurnPrimitive *high = terms[0], *sum = NULL;
  for (int i = 1; i < count; i++) high = burn_build_op2(b, BURN_OP_max_pair, high, terms[i]);
  high = one(b, BURN_OP_floor, high);
  BurnPrimitive *none = burn_build_scalar(b, BURN_OP_equal_scalar, high, -(double)INFINITY);
  high = masked(b, high, none, 0);
  for (int i = 0; i < count; i++) {
    BurnPrimitive *grown = one(b, BURN_OP_exp, burn_build_sub(b, terms[i], high));
    sum = i == 0 ? grown : burn_build_add(b, sum, grown);
  }
  BurnPrimitive *result = burn_build_add(b, one(b, BURN_OP_log, masked(b, sum, none, 1)), high);
  return masked(b, result, none, -(double)INFINITY);
}

/* Classes of the states, [n, states]: blanks between the labels. */
static BurnPrimitive *state_classes(BurnBuilder *b, const Ctc *c, double blank) {
  BurnPrimitive *last = filled(b, c->samples, 1, BURN_DTYPE_I64, blank);
  if (c->labels == 0) return last;
  const int64_t single[] = {c->samples, c->labels, 1}, pairs[] = {c->samples, 2 * c->labels};
  BurnPrimitive *blanks = burn_build_full(b, single, 3, BURN_DTYPE_I64, blank);
  BurnPrimitive *both = pair(b, blanks, burn_build_reshape(b, c->targets, single, 3), 2);
  return pair(b, burn_build_reshape(b, both, pairs, 2), last, 1);
}

/* A label may be reached past the blank before it, unless it equals the label before. */
static BurnPrimitive *skip_forbidden(BurnBuilder *b, const Ctc *c, BurnPrimitive *classes, double blank) {
  const int64_t first = c->states < 2 ? c->states : 2;
  BurnPrimitive *start = filled(b, c->samples, first, BURN_DTYPE_BOOL, 1);
  if (c->states <= 2) return start;
  BurnPrimitive *later = range(b, classes, 1, 2, c->states - 2);
  BurnPrimitive *earlier = range(b, classes, 1, 0, c->states - 2);
  BurnPrimitive *blanks = burn_build_scalar(b, BURN_OP_equal_scalar, later, blank);
  BurnPrimitive *forbidden =
      burn_build_op2(b, BURN_OP_bool_or, blanks, burn_build_op2(b, BURN_OP_equal, later, earlier));
  return pair(b, start, forbidden, 1);
}

/* alpha after frame t. A builder of its own, so that the many steps of a frame do not live until the last one. */
static BurnPrimitive *next_alpha(BurnBuilder *outer, const Ctc *c, BurnPrimitive *alpha, int64_t t) {
  if (outer->status != BURN_OK) return NULL;
  BurnBuilder builder = burn__builder_within(outer), *b = &builder;
  const int64_t starts[] = {t, 0, 0}, counts[] = {1, c->samples, c->states}, steps[] = {1, 1, 1};
  const BurnAttr frame[] = {burn_attr_i64s(starts, 3), burn_attr_i64s(counts, 3), burn_attr_i64s(steps, 3)};
  BurnPrimitive *all_probs = c->frame_probs;
  BurnPrimitive *probs = burn_build_reshape(b, burn_build(b, BURN_OP_slice, 1, &all_probs, 3, frame), counts + 1, 2);
  BurnPrimitive *wide = pair(b, filled(b, c->samples, 2, c->dtype, -(double)INFINITY), alpha, 1);
  BurnPrimitive *terms[] = {alpha, range(b, wide, 1, 1, c->states),
                            masked(b, range(b, wide, 1, 0, c->states), c->no_skip, -(double)INFINITY)};
  BurnPrimitive *moved = burn_build_add(b, log_sum_exp(b, terms, 3), probs);
  BurnPrimitive *over = burn_build_scalar(b, BURN_OP_lower_equal_scalar, c->input_lengths, (double)t);
  BurnPrimitive *given = burn_build_give(b, burn_build_op3(b, BURN_OP_mask_where, moved, over, alpha));
  burn_builder_fail(outer, burn_builder_end(b));
  return burn_build_own(outer, given);
}

/* [n]: -log of the probability to end in the last label or the blank after it. */
static BurnPrimitive *ended(BurnBuilder *b, const Ctc *c, BurnPrimitive *alpha, BurnPrimitive *target_lengths) {
  const int64_t one_each[] = {c->samples};
  BurnPrimitive *wide = pair(b, filled(b, c->samples, 1, c->dtype, -(double)INFINITY), alpha, 1);
  BurnPrimitive *label =
      scaled(b, target_lengths, 2); /* of the label in `wide`, or the -infinity before an empty target */
  BurnPrimitive *terms[] = {burn_build_dim2(b, BURN_OP_gather, wide, label, 1),
                            burn_build_dim2(b, BURN_OP_gather, wide, plus(b, label, 1), 1)};
  return burn_build_reshape(b, one(b, BURN_OP_neg, log_sum_exp(b, terms, 2)), one_each, 1);
}

/* Zeros [n, 1] that fail with "select: index ..." where a sample is said to have more frames than there are. */
static BurnPrimitive *checked_zeros(BurnBuilder *b, const Ctc *c) {
  const int64_t room[] = {c->frames + 1, 1}, one_each[] = {c->samples};
  BurnPrimitive *zeros = burn_build_full(b, room, 2, c->dtype, 0);
  return burn_build_dim2(b, BURN_OP_select, zeros, burn_build_reshape(b, c->input_lengths, one_each, 1), 0);
}

DECOMPOSE(ctc_loss) {
  const BurnPrimitive *x = call->inputs[0], *labels = call->inputs[1];
  const double blank = (double)BURN_ATTRS(ctc_loss, call)->blank.value.i64;
  Ctc c = {.frames = x->shape[0],
           .samples = x->shape[1],
           .labels = labels->shape[1],
           .states = 2 * labels->shape[1] + 1,
           .dtype = at_least_f32(x->dtype)};
  const int64_t column[] = {c.samples, 1}, row[] = {1, c.labels}, all[] = {c.frames, c.samples, c.states};
  BurnPrimitive *lengths = in_dtype(builder, burn_build_reshape(builder, call->inputs[3], column, 2), BURN_DTYPE_I64);
  c.input_lengths = in_dtype(builder, burn_build_reshape(builder, call->inputs[2], column, 2), BURN_DTYPE_I64);
  BurnPrimitive *places = burn_build_reshape(builder, arange(builder, c.labels, 0), row, 2);
  BurnPrimitive *beyond = burn_build_op2(builder, BURN_OP_greater_equal, places, lengths);
  c.targets = masked(builder, in_dtype(builder, call->inputs[1], BURN_DTYPE_I64), beyond, blank);
  BurnPrimitive *classes = state_classes(builder, &c, blank), *probs = in_dtype(builder, call->inputs[0], c.dtype);
  c.no_skip = skip_forbidden(builder, &c, classes, blank);
  c.frame_probs = burn_build_dim2(builder, BURN_OP_gather, probs, burn_build_expand(builder, classes, all, 3), 2);
  BurnPrimitive *alpha = checked_zeros(builder, &c);
  if (c.labels > 0)
    alpha = pair(builder, alpha, filled(builder, c.samples, c.states - 1, c.dtype, -(double)INFINITY), 1);
  for (int64_t t = 0; t < c.frames; t++) alpha = next_alpha(builder, &c, alpha, t);
  out[0] = in_dtype(builder, ended(builder, &c, alpha, lengths), x->dtype);
}
