/* loss_sequence.c - losses of sequences whose alignment is not known.
 *
 * RNNT walks over the antidiagonals of the grid of frames and labels: all cells (t, u) with t + u = d follow from
 * those of d - 1, so that frames + labels steps of whole tensors do instead of frames * labels. Cells of negative t
 * start at FLOOR and stay near it; those beyond the lengths are computed and not read. */
#include <burn/nn/loss_sequence.h>

#include <burn/autodiff.h>
#include <burn/ops_move.h>

#include "nn_internal.h"

#include <math.h>
#include <stdlib.h>

/* -- CTC -------------------------------------------------------------------------------------- */

BurnCTCLoss burn_ctc_loss_init(const BurnCTCLossConfig *config, BurnDevice *device) {
  (void)device;
  config = burn_nn_config(config, BurnCTCLossConfig_type(), "ctc_loss", NULL);
  return (BurnCTCLoss){config->blank, config->zero_infinity};
}

BurnTensor *burn_ctc_loss_forward(const BurnCTCLoss *m, BurnTensor *log_probs, BurnTensor *targets,
                                  BurnTensor *input_lengths, BurnTensor *target_lengths) {
  if (!m) return BURN_NN_NO_MODULE(log_probs, targets, input_lengths, target_lengths);
  const int64_t blank = m->blank > INT64_MAX ? INT64_MAX : (int64_t)m->blank;
  BurnTensor *losses = burn_ctc_loss(log_probs, targets, input_lengths, target_lengths, blank);
  if (!m->zero_infinity) return losses;
  return burn_mask_fill(losses, burn_is_inf(burn_clone(losses)), 0);
}

BurnTensor *burn_ctc_loss_forward_with_reduction(const BurnCTCLoss *m, BurnTensor *log_probs, BurnTensor *targets,
                                                 BurnTensor *input_lengths, BurnTensor *target_lengths,
                                                 BurnReduction reduction) {
  BurnTensor *lengths = burn_clone(target_lengths);
  BurnTensor *losses = burn_ctc_loss_forward(m, log_probs, targets, input_lengths, target_lengths);
  const bool mean = reduction == BURN_REDUCTION_MEAN || reduction == BURN_REDUCTION_AUTO;
  if (mean && burn_tensor_status(losses) == BURN_OK) {
    losses = burn_div(losses, burn_cast(lengths, burn_dtype(losses)));
  } else {
    burn_drop(lengths);
  }
  return burn_nn_reduced("ctc_loss", losses, reduction);
}

/* -- RNNT ------------------------------------------------------------------------------------- */

/* In the place of -infinity, whose differences are NaN. */
#define FLOOR (-1e30)

BurnRNNTLoss burn_rnnt_loss_init(const BurnRNNTLossConfig *config, BurnDevice *device) {
  (void)device;
  config = burn_nn_config(config, BurnRNNTLossConfig_type(), "rnnt_loss", NULL);
  return (BurnRNNTLoss){config->blank, config->logits};
}

/* The grid of one call: batch, frames, labels + 1, classes. */
typedef struct Grid {
  int64_t batch, frames, columns, classes;
} Grid;

static BurnStatus check_rnnt(const BurnRNNTLoss *m, const BurnNnOperand *operands) {
  const BurnShape logits = burn_shape(operands[0].tensor), targets = burn_shape(operands[1].tensor);
  const BurnShape frames = burn_shape(operands[2].tensor), labels = burn_shape(operands[3].tensor);
  if (logits.rank == 0 || targets.rank == 0 || frames.rank == 0 || labels.rank == 0) return BURN_OK;
  const bool ranks = logits.rank == 4 && targets.rank == 2 && frames.rank == 1 && labels.rank == 1;
  const int64_t batch = logits.dims[0];
  const bool batches = ranks && targets.dims[0] == batch && frames.dims[0] == batch && labels.dims[0] == batch;
  if (!batches || targets.dims[1] + 1 != logits.dims[2] || logits.dims[1] < 1) {
    return burn_status_make(BURN_STATUS_INVALID_SHAPE,
                            "rnnt_loss: logits %s, targets %s and lengths %s and %s: [batch, frames, labels + 1, "
                            "classes], [batch, labels] and [batch] expected",
                            burn_shape_text(logits).text, burn_shape_text(targets).text, burn_shape_text(frames).text,
                            burn_shape_text(labels).text);
  }
  if (m->blank < (size_t)logits.dims[3]) return BURN_OK;
  return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "rnnt_loss: blank %zu is not one of %lld classes", m->blank,
                          (long long)logits.dims[3]);
}

/* log(e^a + e^b) with its exact gradient, also where a = b: the shift by the maximum has none. */
static BurnTensor *log_add(BurnTensor *a, BurnTensor *b) {
  BurnTensor *top = burn_detach(burn_max_pair(burn_clone(a), burn_clone(b)));
  a = burn_exp(burn_sub(a, burn_clone(top)));
  b = burn_exp(burn_sub(b, burn_clone(top)));
  return burn_add(top, burn_log(burn_add(a, b)));
}

/* x [batch, frames, n] by antidiagonals, [batch, frames + columns - 1, n]: row d, column u is x[frame d - u, u]. Frames
 * outside are the nearest one. */
static BurnTensor *antidiagonals(BurnTensor *x, const Grid *g, int64_t n) {
  const int64_t rows = g->frames + g->columns - 1;
  int64_t *frame = calloc((size_t)(rows * n) + 1, sizeof *frame);
  BurnDevice *device = burn_tensor_device(x);
  if (!frame) {
    burn_drop(x);
    return burn_tensor_failed(burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "rnnt_loss: out of memory"));
  }
  for (int64_t i = 0; i < rows * n; i++) {
    const int64_t t = i / n - i % n;
    frame[i] = t < 0 ? 0 : t < g->frames ? t : g->frames - 1;
  }
  BurnTensor *index = burn_tensor_i64(device, frame, BURN_SHAPE(1, rows, n));
  free(frame);
  return burn_gather(x, 1, burn_expand(index, BURN_SHAPE(g->batch, rows, n)));
}

static BurnTensor *row_of(const BurnTensor *x, int64_t row) {
  return burn_squeeze_dim(burn_narrow(burn_clone(x), 1, row, 1), 1);
}

/* Column u of `alpha` [batch, columns] moved to u + 1 by labels [batch, columns - 1]; FLOOR in column 0. */
static BurnTensor *next_labels(BurnTensor *alpha, BurnTensor *labels, const Grid *g, const BurnTensor *floor) {
  BurnTensor *moved = burn_add(burn_narrow(alpha, 1, 0, g->columns - 1), labels);
  return burn_cat((BurnTensor *[]){burn_clone(floor), moved}, 2, 1);
}

/* The log of the probability of reaching every cell, by antidiagonals: [batch, rows, columns]. Takes both. */
static BurnTensor *forward_variables(BurnTensor *blanks, BurnTensor *labels, const Grid *g) {
  const int64_t rows = g->frames + g->columns - 1;
  BurnDevice *device = burn_tensor_device(blanks);
  const BurnDType dtype = burn_dtype(blanks);
  BurnTensor **alphas = calloc((size_t)rows, sizeof *alphas);
  BurnTensor *floor = burn_full(device, BURN_SHAPE(g->batch, 1), dtype, FLOOR), *all;
  if (alphas) {
    BurnTensor *start = burn_full(device, BURN_SHAPE(g->batch, g->columns), dtype, FLOOR);
    const BurnRange first[] = {BURN_RANGE_ALL, BURN_RANGE(0, 1)};
    alphas[0] = burn_slice_assign(start, first, 2, burn_zeros(device, BURN_SHAPE(g->batch, 1), dtype));
    for (int64_t d = 1; d < rows; d++) {
      BurnTensor *by_blank = burn_add(burn_clone(alphas[d - 1]), row_of(blanks, d - 1));
      alphas[d] = g->columns == 1
                      ? by_blank
                      : log_add(by_blank, next_labels(burn_clone(alphas[d - 1]), row_of(labels, d - 1), g, floor));
    }
    all = burn_stack(alphas, (size_t)rows, 1);
  } else {
    all = burn_tensor_failed(burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "rnnt_loss: out of memory"));
  }
  free(alphas);
  burn_drop(floor);
  burn_drop(blanks);
  burn_drop(labels);
  return all;
}

/* x [batch, rows, columns] at (row[i], column[i]) of every item i: [batch]. Takes all. */
static BurnTensor *at_cells(BurnTensor *x, BurnTensor *row, BurnTensor *column, const Grid *g) {
  BurnTensor *cell = burn_unsqueeze_dim(burn_add(burn_mul_scalar(row, (double)g->columns), column), 1);
  return burn_squeeze_dim(burn_gather(burn_flatten(x, 1, 2), 1, cell), 1);
}

/* Logarithms of probabilities, at least FLOOR, of a dtype that holds it. Takes x. */
static BurnTensor *log_softmax_of(const BurnRNNTLoss *m, BurnTensor *x) {
  x = burn_nn_widened(x);
  return burn_clamp_min(m->logits ? burn_log_softmax(x, 3) : x, FLOOR);
}

/* The losses of a checked call. Takes all. */
static BurnTensor *rnnt(const BurnRNNTLoss *m, BurnTensor *logits, BurnTensor *targets, BurnTensor *frames,
                        BurnTensor *lengths) {
  const BurnShape shape = burn_shape(logits);
  const Grid g = {shape.dims[0], shape.dims[1], shape.dims[2], shape.dims[3]};
  const int64_t labels = g.columns - 1;
  BurnTensor *log_p = log_softmax_of(m, logits);
  frames = burn_cast(frames, BURN_DTYPE_I64);
  lengths = burn_cast(lengths, BURN_DTYPE_I64);
  BurnTensor *blanks = burn_select_dim(burn_clone(log_p), 3, (int64_t)m->blank), *steps;
  if (labels > 0) {
    targets =
        burn_expand(burn_reshape(targets, BURN_SHAPE(g.batch, 1, labels, 1)), BURN_SHAPE(g.batch, g.frames, labels, 1));
    steps = burn_squeeze_dim(burn_gather(burn_narrow(log_p, 2, 0, labels), 3, targets), 3);
    steps = antidiagonals(steps, &g, labels);
  } else {
    burn_drop(targets);
    burn_drop(log_p);
    steps = NULL;
  }
  BurnTensor *alphas = forward_variables(antidiagonals(burn_clone(blanks), &g, g.columns), steps, &g);
  BurnTensor *last = burn_sub_scalar(frames, 1), *diagonal = burn_add(burn_clone(last), burn_clone(lengths));
  BurnTensor *reached = at_cells(alphas, diagonal, burn_clone(lengths), &g);
  BurnTensor *losses = burn_neg(burn_add(reached, at_cells(blanks, last, lengths, &g)));
  return burn_mask_fill(losses, burn_greater_scalar(burn_clone(losses), -FLOOR / 2), (double)INFINITY);
}

BurnTensor *burn_rnnt_loss_forward(const BurnRNNTLoss *m, BurnTensor *logits, BurnTensor *targets,
                                   BurnTensor *logit_lengths, BurnTensor *target_lengths) {
  if (!m) return BURN_NN_NO_MODULE(logits, targets, logit_lengths, target_lengths);
  const BurnNnOperand operands[] = {
      {"logits", logits}, {"targets", targets}, {"lengths", logit_lengths}, {"lengths", target_lengths}};
  BurnStatus status = check_rnnt(m, operands);
  for (size_t i = 0; i < 4 && status == BURN_OK; i++) status = burn_tensor_status(operands[i].tensor);
  if (status != BURN_OK) return burn_nn_refused(status, operands, 4);
  const BurnDType dtype = burn_dtype(logits);
  return burn_nn_in_dtype(rnnt(m, logits, targets, logit_lengths, target_lengths), dtype);
}

BurnTensor *burn_rnnt_loss_forward_with_reduction(const BurnRNNTLoss *m, BurnTensor *logits, BurnTensor *targets,
                                                  BurnTensor *logit_lengths, BurnTensor *target_lengths,
                                                  BurnReduction reduction) {
  BurnTensor *losses = burn_rnnt_loss_forward(m, logits, targets, logit_lengths, target_lengths);
  return burn_nn_reduced("rnnt_loss", losses, reduction);
}
