/* rnn_internal.h - what recurrent layers share: gates as one product, and the loop over steps. Private to nn/. */
#ifndef BURN_NN_RNN_INTERNAL_H
#define BURN_NN_RNN_INTERNAL_H

#include <burn/nn/rnn.h>

#include "nn_internal.h"

/* BURN_OK if the sizes and the clip of a config make sense. */
BurnStatus burn_nn_check_recurrent(const char *layer, size_t d_input, size_t d_hidden, BurnOptionF64 clip);
/* A gate of a layer, or one with failed parameters if the status is a failure. */
BurnGateController burn_nn_gate(BurnStatus status, const BurnGateControllerConfig *config, BurnDevice *device);

/* The state between steps: all have a hidden one, Lstm has a cell too. */
enum { BURN_NN_HIDDEN, BURN_NN_CELL, BURN_NN_STATES };

/* BURN_OK if x is [.., .., d_input] and the present ones of the states [.., hidden] of rank `rank` belong to it, batch
 * being axis `batch` of x. Failed and absent tensors are left to the ops. */
BurnStatus burn_nn_check_sequence(const char *layer, const BurnGateController *gate, const BurnTensor *x, int batch,
                                  BurnTensor *const *states, BurnShape state);

/* Parameters of several gates side by side, of their input or of their hidden layers. */
typedef struct BurnNnGates {
  BurnTensor *weight; /* [.., count d_hidden] */
  BurnTensor *bias;   /* [count d_hidden] or NULL */
} BurnNnGates;
BurnNnGates burn_nn_input_gates(const BurnGateController *const *gates, size_t count);
BurnNnGates burn_nn_hidden_gates(const BurnGateController *const *gates, size_t count);
void burn_nn_gates_drop(const BurnNnGates *gates);
/* What the inputs x [batch, steps, d_input] (taken) give to the gates of all steps, with both biases, and in *weight
 * what the hidden state is to be multiplied with. */
BurnTensor *burn_nn_gate_inputs(const BurnGateController *const *gates, size_t count, BurnTensor *x,
                                BurnTensor **weight);

/* One step: takes the input [batch, width], and puts others in place of the states, which are the layer's to take. */
typedef void (*BurnNnTurn)(const void *context, BurnTensor *input, BurnTensor **states);
/* All steps of inputs [batch, steps, width] (taken), the last one first in reverse: the hidden states after each,
 * [batch, steps, d_hidden]. The states, all present, become the last ones. */
BurnTensor *burn_nn_recur(BurnTensor *inputs, bool reverse, BurnNnTurn turn, const void *context, BurnTensor **states);

/* The state that was given, or zeros [batch, d_hidden] for x [batch, steps, ..] (borrowed). */
BurnTensor *burn_nn_first_state(BurnTensor *given, const BurnTensor *x, size_t d_hidden);
/* x kept in +-clip, where there is one. */
BurnTensor *burn_nn_clipped(BurnTensor *x, const BurnOptionF64 *clip);
/* A tensor to the caller who wants it (out is not NULL), or dropped. */
void burn_nn_give(BurnTensor **out, BurnTensor *x);
/* Axes 0 and 1 of x swapped unless the batch is first already. */
BurnTensor *burn_nn_batch_first(bool batch_first, BurnTensor *x);
/* One direction of the states [2, ..] (borrowed, may be NULL); both as one. */
BurnTensor *burn_nn_direction(const BurnTensor *states, int64_t direction);
BurnTensor *burn_nn_both(BurnTensor *first, BurnTensor *second);

#endif
