/* rnn.h - recurrent layers: Rnn, Gru, Lstm, and both directions of each.
 *
 *   BurnLstm lstm = burn_lstm_new(28, 64, true, device);
 *   BurnLstmState last;
 *   BurnTensor *y = burn_lstm_forward(&lstm, x, NULL, &last);          x [batch, steps, 28] -> y [batch, steps, 64]
 *
 * A gate is two linear layers, of the input and of the hidden state, each with a bias of its own (PyTorch's b_ih and
 * b_hh). Inputs are [batch, steps, d_input], or [steps, batch, d_input] without batch_first; outputs are laid out
 * alike and hold the hidden state after every step. In reverse the last step comes first, and outputs stay at their
 * steps. The products of all steps with the inputs' weights are one; Lstm with sigmoid, tanh and no options is the op
 * burn_lstm. */
#ifndef BURN_NN_RNN_H
#define BURN_NN_RNN_H

#include <burn/nn/activation_kinds.h>
#include <burn/nn/linear.h>

BURN_EXTERN_C_BEGIN

/* -- gate ------------------------------------------------------------------------------------- */

#define BURN_GATE_CONTROLLER_CONFIG(REQ, OPT)         \
  REQ(BurnSize, d_input, "size of an input")          \
  REQ(BurnSize, d_output, "size of the hidden state") \
  REQ(BurnBool, bias, "a bias in both layers")        \
  OPT(BurnInitializer, initializer, BURN_XAVIER_NORMAL, "first values of all weights and biases")
BURN_CONFIG(BurnGateControllerConfig, BURN_GATE_CONTROLLER_CONFIG);

#define BURN_GATE_CONTROLLER_FIELDS(X)                  \
  X(BurnLinear, input_transform, "d_input -> d_output") \
  X(BurnLinear, hidden_transform, "d_output -> d_output")
BURN_MODULE(BurnGateController, BURN_GATE_CONTROLLER_FIELDS);

/* Makes the gate, with its first values on `device`. A config that is refused gives one whose forward fails with the
 * reason. */
BURN_API BurnGateController burn_gate_controller_init(const BurnGateControllerConfig *config, BurnDevice *device);
BURN_LAYER(BurnGateController, burn_gate_controller, BURN_GATE_CONTROLLER_CONFIG);
/* input [.., d_input], hidden [.., d_output] -> [.., d_output]: the sum of both transforms (Burn's gate_product) */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_gate_controller_forward(const BurnGateController *m,
                                                                              BurnTensor *input, BurnTensor *hidden);

/* -- rnn -------------------------------------------------------------------------------------- */

/* Rows that all configs here begin with. */
#define BURN_INTERNAL_RECURRENT_CONFIG(REQ, OPT)      \
  REQ(BurnSize, d_input, "size of an input")          \
  REQ(BurnSize, d_hidden, "size of the hidden state") \
  REQ(BurnBool, bias, "biases in the gates")          \
  OPT(BurnInitializer, initializer, BURN_XAVIER_NORMAL, "first values of all weights and biases")
/* Rows of modules with two directions. */
#define BURN_INTERNAL_BIDIRECTIONAL_FIELDS(X, LAYER)   \
  X(LAYER, forward, "from the first step to the last") \
  X(LAYER, reverse, "from the last step to the first") \
  X(BurnSize, d_hidden, "size of one hidden state")    \
  X(BurnBool, batch_first, "the batch is axis 0, not axis 1")

#define BURN_RNN_CONFIG(REQ, OPT)                                           \
  BURN_INTERNAL_RECURRENT_CONFIG(REQ, OPT)                                  \
  OPT(BurnBool, batch_first, true, "the batch is axis 0, not axis 1")       \
  OPT(BurnBool, reverse, false, "from the last step to the first")          \
  OPT(BurnOptionF64, clip, BURN_ABSENT, "hidden states are kept in +-clip") \
  OPT(BurnActivationConfig, hidden_activation, BURN_ACTIVATION_TANH, "of the hidden state")
BURN_CONFIG(BurnRnnConfig, BURN_RNN_CONFIG);

#define BURN_RNN_FIELDS(X)                                    \
  X(BurnGateController, gate, "of the hidden state")          \
  X(BurnSize, d_hidden, "size of the hidden state")           \
  X(BurnBool, batch_first, "the batch is axis 0, not axis 1") \
  X(BurnBool, reverse, "from the last step to the first")     \
  X(BurnOptionF64, clip, "hidden states are kept in +-clip")  \
  X(BurnActivation, hidden_activation, "of the hidden state")
BURN_MODULE(BurnRnn, BURN_RNN_FIELDS);

/* Makes the layer, with its first values on `device`. A config that is refused gives a layer whose forward fails with
 * the reason. */
BURN_API BurnRnn burn_rnn_init(const BurnRnnConfig *config, BurnDevice *device);
BURN_LAYER(BurnRnn, burn_rnn, BURN_RNN_CONFIG);
/* h = activation(W x + U h). `state` is h [batch, d_hidden] before the first step (NULL: zeros), *last (the caller's,
 * NULL if not wanted) the one after the last. */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_rnn_forward(const BurnRnn *m, BurnTensor *x, BurnTensor *state,
                                                                  BurnTensor **last);

#define BURN_BI_RNN_CONFIG(REQ, OPT)                                        \
  BURN_INTERNAL_RECURRENT_CONFIG(REQ, OPT)                                  \
  OPT(BurnBool, batch_first, true, "the batch is axis 0, not axis 1")       \
  OPT(BurnOptionF64, clip, BURN_ABSENT, "hidden states are kept in +-clip") \
  OPT(BurnActivationConfig, hidden_activation, BURN_ACTIVATION_TANH, "of the hidden state")
BURN_CONFIG(BurnBiRnnConfig, BURN_BI_RNN_CONFIG);

#define BURN_BI_RNN_FIELDS(X) BURN_INTERNAL_BIDIRECTIONAL_FIELDS(X, BurnRnn)
BURN_MODULE(BurnBiRnn, BURN_BI_RNN_FIELDS);

/* Makes the layer, with its first values on `device`. */
BURN_API BurnBiRnn burn_bi_rnn_init(const BurnBiRnnConfig *config, BurnDevice *device);
BURN_LAYER(BurnBiRnn, burn_bi_rnn, BURN_BI_RNN_CONFIG);
/* Both directions side by side, [batch, steps, 2 d_hidden]; states are [2, batch, d_hidden]. */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_bi_rnn_forward(const BurnBiRnn *m, BurnTensor *x,
                                                                     BurnTensor *state, BurnTensor **last);

/* -- gru -------------------------------------------------------------------------------------- */

#define BURN_GRU_CONFIG(REQ, OPT)                                                                         \
  BURN_INTERNAL_RECURRENT_CONFIG(REQ, OPT)                                                                \
  OPT(BurnBool, reset_after, true, "reset after the product with the hidden state, as PyTorch")           \
  OPT(BurnActivationConfig, gate_activation, BURN_ACTIVATION_SIGMOID, "of the update and the reset gate") \
  OPT(BurnActivationConfig, hidden_activation, BURN_ACTIVATION_TANH, "of the new state")                  \
  OPT(BurnOptionF64, clip, BURN_ABSENT, "hidden states are kept in +-clip")
BURN_CONFIG(BurnGruConfig, BURN_GRU_CONFIG);

#define BURN_GRU_FIELDS(X)                                                              \
  X(BurnGateController, update_gate, "z: how much stays")                               \
  X(BurnGateController, reset_gate, "r: how much of the state the new one sees")        \
  X(BurnGateController, new_gate, "n: the new state")                                   \
  X(BurnSize, d_hidden, "size of the hidden state")                                     \
  X(BurnBool, reset_after, "reset after the product with the hidden state, as PyTorch") \
  X(BurnActivation, gate_activation, "of the update and the reset gate")                \
  X(BurnActivation, hidden_activation, "of the new state")                              \
  X(BurnOptionF64, clip, "hidden states are kept in +-clip")
BURN_MODULE(BurnGru, BURN_GRU_FIELDS);

/* Makes the layer, with its first values on `device`. A config that is refused gives a layer whose forward fails with
 * the reason. */
BURN_API BurnGru burn_gru_init(const BurnGruConfig *config, BurnDevice *device);
BURN_LAYER(BurnGru, burn_gru, BURN_GRU_CONFIG);
/* z, r = gate activation of W x + U h; n = hidden activation of W x + r (U h), or without reset_after W x + U (r h);
 * h = (1 - z) n + z h. x is [batch, steps, d_input]; state and *last as in burn_rnn_forward. */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_gru_forward(const BurnGru *m, BurnTensor *x, BurnTensor *state,
                                                                  BurnTensor **last);

#define BURN_BI_GRU_CONFIG(REQ, OPT)                                                                      \
  BURN_INTERNAL_RECURRENT_CONFIG(REQ, OPT)                                                                \
  OPT(BurnBool, reset_after, true, "reset after the product with the hidden state, as PyTorch")           \
  OPT(BurnBool, batch_first, true, "the batch is axis 0, not axis 1")                                     \
  OPT(BurnActivationConfig, gate_activation, BURN_ACTIVATION_SIGMOID, "of the update and the reset gate") \
  OPT(BurnActivationConfig, hidden_activation, BURN_ACTIVATION_TANH, "of the new state")                  \
  OPT(BurnOptionF64, clip, BURN_ABSENT, "hidden states are kept in +-clip")
BURN_CONFIG(BurnBiGruConfig, BURN_BI_GRU_CONFIG);

#define BURN_BI_GRU_FIELDS(X) BURN_INTERNAL_BIDIRECTIONAL_FIELDS(X, BurnGru)
BURN_MODULE(BurnBiGru, BURN_BI_GRU_FIELDS);

/* Makes the layer, with its first values on `device`. */
BURN_API BurnBiGru burn_bi_gru_init(const BurnBiGruConfig *config, BurnDevice *device);
BURN_LAYER(BurnBiGru, burn_bi_gru, BURN_BI_GRU_CONFIG);
/* Both directions side by side, [batch, steps, 2 d_hidden]; states are [2, batch, d_hidden]. */
BURN_API BURN_GIVES BURN_TAKES(2, 3) BurnTensor *burn_bi_gru_forward(const BurnBiGru *m, BurnTensor *x,
                                                                     BurnTensor *state, BurnTensor **last);

/* -- lstm ------------------------------------------------------------------------------------- */

/* Options after the rows that all have. */
#define BURN_INTERNAL_LSTM_OPTIONS(OPT)                                                                   \
  OPT(BurnOptionF64, clip, BURN_ABSENT, "cells are kept in +-clip")                                       \
  OPT(BurnBool, input_forget, false, "the forget gate is 1 - the input gate")                             \
  OPT(BurnActivationConfig, gate_activation, BURN_ACTIVATION_SIGMOID, "of input, forget and output gate") \
  OPT(BurnActivationConfig, cell_activation, BURN_ACTIVATION_TANH, "of what a cell takes in")             \
  OPT(BurnActivationConfig, hidden_activation, BURN_ACTIVATION_TANH, "of the cell that goes out")

#define BURN_LSTM_CONFIG(REQ, OPT)                                    \
  BURN_INTERNAL_RECURRENT_CONFIG(REQ, OPT)                            \
  OPT(BurnBool, batch_first, true, "the batch is axis 0, not axis 1") \
  OPT(BurnBool, reverse, false, "from the last step to the first")    \
  BURN_INTERNAL_LSTM_OPTIONS(OPT)
BURN_CONFIG(BurnLstmConfig, BURN_LSTM_CONFIG);

#define BURN_LSTM_FIELDS(X)                                              \
  X(BurnGateController, input_gate, "i: how much comes in")              \
  X(BurnGateController, forget_gate, "f: how much of the cell stays")    \
  X(BurnGateController, output_gate, "o: how much goes out")             \
  X(BurnGateController, cell_gate, "g: what comes in")                   \
  X(BurnSize, d_hidden, "size of the hidden state")                      \
  X(BurnBool, batch_first, "the batch is axis 0, not axis 1")            \
  X(BurnBool, reverse, "from the last step to the first")                \
  X(BurnOptionF64, clip, "cells are kept in +-clip")                     \
  X(BurnBool, input_forget, "the forget gate is 1 - the input gate")     \
  X(BurnActivation, gate_activation, "of input, forget and output gate") \
  X(BurnActivation, cell_activation, "of what a cell takes in")          \
  X(BurnActivation, hidden_activation, "of the cell that goes out")
BURN_MODULE(BurnLstm, BURN_LSTM_FIELDS);

/* The state of an Lstm: [batch, d_hidden], of a BiLstm [2, batch, d_hidden]. */
typedef struct BurnLstmState {
  BurnTensor *cell, *hidden;
} BurnLstmState;

/* Makes the layer, with its first values on `device`. A config that is refused gives a layer whose forward fails with
 * the reason. */
BURN_API BurnLstm burn_lstm_init(const BurnLstmConfig *config, BurnDevice *device);
BURN_LAYER(BurnLstm, burn_lstm, BURN_LSTM_CONFIG);
/* i, f, o = gate activation, g = cell activation of W x + U h; cell = f cell + i g; h = o hidden activation(cell).
 * `state`, of which both tensors are taken, is that before the first step (NULL: zeros), *last (its tensors the
 * caller's, NULL if not wanted) the one after the last. */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_lstm_forward(const BurnLstm *m, BurnTensor *x,
                                                                const BurnLstmState *state, BurnLstmState *last);

#define BURN_BI_LSTM_CONFIG(REQ, OPT)                                 \
  BURN_INTERNAL_RECURRENT_CONFIG(REQ, OPT)                            \
  OPT(BurnBool, batch_first, true, "the batch is axis 0, not axis 1") \
  BURN_INTERNAL_LSTM_OPTIONS(OPT)
BURN_CONFIG(BurnBiLstmConfig, BURN_BI_LSTM_CONFIG);

#define BURN_BI_LSTM_FIELDS(X) BURN_INTERNAL_BIDIRECTIONAL_FIELDS(X, BurnLstm)
BURN_MODULE(BurnBiLstm, BURN_BI_LSTM_FIELDS);

/* Makes the layer, with its first values on `device`. */
BURN_API BurnBiLstm burn_bi_lstm_init(const BurnBiLstmConfig *config, BurnDevice *device);
BURN_LAYER(BurnBiLstm, burn_bi_lstm, BURN_BI_LSTM_CONFIG);
/* Both directions side by side, [batch, steps, 2 d_hidden]. */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_bi_lstm_forward(const BurnBiLstm *m, BurnTensor *x,
                                                                   const BurnLstmState *state, BurnLstmState *last);

BURN_EXTERN_C_END

#endif
