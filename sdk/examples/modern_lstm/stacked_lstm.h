/* stacked_lstm.h - an LSTM written with layers: combined matrices, norms of
 * gates and cell, several layers, both directions. */
#ifndef MODERN_LSTM_STACKED_LSTM_H
#define MODERN_LSTM_STACKED_LSTM_H

#include <burn/burn.h>
#include <burn/nn.h>

#define CELL_FIELDS(X)                               \
  X(BurnLinear, from_input, "input -> four gates")   \
  X(BurnLinear, from_hidden, "hidden -> four gates") \
  X(BurnLayerNorm, norm_input, "of the first")       \
  X(BurnLayerNorm, norm_hidden, "of the second")     \
  X(BurnLayerNorm, norm_cell, "of the cell")         \
  X(BurnDropout, dropout, "of what goes up")
BURN_MODULE(Cell, CELL_FIELDS);

#define NETWORK_CONFIG(REQ, OPT)                            \
  REQ(BurnSize, inputs, "numbers of a step")                \
  REQ(BurnSize, hidden, "size of the state")                \
  OPT(BurnSize, layers, 2, "cells on top of each other")    \
  OPT(BurnBool, bidirectional, true, "read from both ends") \
  OPT(BurnF64, dropout, 0.1, "share dropped in training")
BURN_CONFIG(NetworkConfig, NETWORK_CONFIG);

#define NETWORK_FIELDS(X)                                            \
  X(BurnModuleList, forward, "cells that read from the start")       \
  X(BurnModuleList, backward, "from the end; none in one direction") \
  X(BurnDropout, dropout, "before the last layer")                   \
  X(BurnLinear, output, "the last states -> one number")
BURN_MODULE(Network, NETWORK_FIELDS);

Network network_init(const NetworkConfig *config, BurnDevice *device);

/* takes x [batch, steps, inputs] -> [batch, 1] */
BurnTensor *network_forward(const Network *m, BurnTensor *x);

#endif
