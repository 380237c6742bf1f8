/* rnn_common.c - gates, and the loop over steps. */
#include "rnn_internal.h"

#include <stdlib.h>

/* -- gates ------------------------------------------------------------------------------------ */

BurnGateController burn_nn_gate(BurnStatus status, const BurnGateControllerConfig *config, BurnDevice *device) {
  BurnLinearConfig input = BurnLinearConfig_defaults(config->d_input, config->d_output);
  BurnLinearConfig hidden = BurnLinearConfig_defaults(config->d_output, config->d_output);
  input.bias = hidden.bias = config->bias;
  input.initializer = hidden.initializer = config->initializer;
  BurnLinear first = burn_nn_linear(status, &input, device);
  return (BurnGateController){first, burn_nn_linear(status, &hidden, device)};
}

BurnGateController burn_gate_controller_init(const BurnGateControllerConfig *config, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  config = burn_nn_config(config, BurnGateControllerConfig_type(), "gate_controller", &status);
  const BurnNnSize sizes[] = {{"d_input", config->d_input}, {"d_output", config->d_output}};
  if (status == BURN_OK) status = burn_nn_check_sizes("gate_controller", sizes, 2);
  return burn_nn_gate(status, config, device);
}

BurnTensor *burn_gate_controller_forward(const BurnGateController *m, BurnTensor *input, BurnTensor *hidden) {
  if (!m) return BURN_NN_NO_MODULE(input, hidden);
  input = burn_linear_forward(&m->input_transform, input);
  return burn_add(input, burn_linear_forward(&m->hidden_transform, hidden));
}

BurnStatus burn_nn_check_recurrent(const char *layer, size_t d_input, size_t d_hidden, BurnOptionF64 clip) {
  const BurnNnSize sizes[] = {{"d_input", d_input}, {"d_hidden", d_hidden}};
  const BurnStatus status = burn_nn_check_sizes(layer, sizes, 2);
  if (status != BURN_OK || !clip.present) return status;
  return burn_nn_check_not_negative(layer, "clip", clip.value);
}

static const BurnParam *param_at(const BurnGateController *gate, size_t offset) {
  return (const BurnParam *)(const void *)((const char *)gate + offset);
}

/* The same parameter of all gates, `offset` bytes into them, side by side along dim; NULL where it is absent. */
static BurnTensor *side_by_side(const BurnGateController *const *gates, size_t count, size_t offset, int dim) {
  BurnTensor *parts[4] = {NULL};
  if (!param_at(gates[0], offset)->value) return NULL;
  for (size_t i = 0; i < count; i++) parts[i] = burn_param_value(param_at(gates[i], offset));
  return count == 1 ? parts[0] : burn_cat(parts, count, dim);
}

/* `offset` is that of the linear layer. */
static BurnNnGates gates_at(const BurnGateController *const *gates, size_t count, size_t offset) {
  return (BurnNnGates){side_by_side(gates, count, offset + offsetof(BurnLinear, weight), 1),
                       side_by_side(gates, count, offset + offsetof(BurnLinear, bias), 0)};
}

BurnNnGates burn_nn_input_gates(const BurnGateController *const *gates, size_t count) {
  return gates_at(gates, count, offsetof(BurnGateController, input_transform));
}
BurnNnGates burn_nn_hidden_gates(const BurnGateController *const *gates, size_t count) {
  return gates_at(gates, count, offsetof(BurnGateController, hidden_transform));
}

void burn_nn_gates_drop(const BurnNnGates *gates) {
  burn_drop(gates->weight);
  burn_drop(gates->bias);
}

BurnTensor *burn_nn_gate_inputs(const BurnGateController *const *gates, size_t count, BurnTensor *x,
                                BurnTensor **weight) {
  const BurnNnGates input = burn_nn_input_gates(gates, count), hidden = burn_nn_hidden_gates(gates, count);
  BurnTensor *bias = input.bias ? input.bias : hidden.bias;
  if (input.bias && hidden.bias) bias = burn_add(input.bias, hidden.bias);
  *weight = hidden.weight;
  return burn_linear(x, input.weight, bias);
}

/* -- the loop --------------------------------------------------------------------------------- */

/* The steps of x (taken) as [batch, width]. Halves of halves: the gradient of every part fills an array of the size of
 * what it was cut from, which for each step from the whole would be steps times the whole. */
static void cut(BurnTensor *x, int64_t count, BurnTensor **steps) {
  const int64_t half = count / 2;
  if (count == 1) {
    steps[0] = burn_squeeze_dim(x, 1);
    return;
  }
  cut(burn_narrow(burn_clone(x), 1, 0, half), half, steps);
  cut(burn_narrow(x, 1, half, count - half), count - half, steps + half);
}

/* [batch, 0, d_hidden] */
static BurnTensor *no_steps(const BurnTensor *state) {
  return burn_zeros(burn_tensor_device(state), BURN_SHAPE(burn_dim(state, 0), 0, burn_dim(state, 1)),
                    burn_dtype(state));
}

/* Takes inputs, with a state that failed or in front of a failure. */
static BurnTensor *failed(BurnTensor *inputs, BurnTensor **states, BurnStatus status) {
  burn_drop(inputs);
  for (int i = 0; i < BURN_NN_STATES && states[i]; i++) {
    burn_drop(states[i]);
    states[i] = burn_tensor_failed(status);
  }
  return burn_tensor_failed(status);
}

BurnTensor *burn_nn_recur(BurnTensor *inputs, bool reverse, BurnNnTurn turn, const void *context, BurnTensor **states) {
  const int64_t count = burn_dim(inputs, 1);
  if (count < 0) return failed(inputs, states, burn_tensor_status(inputs));
  BurnTensor **steps = malloc(((size_t)count + 1) * sizeof(BurnTensor *));
  if (!steps) {
    return failed(inputs, states,
                  burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %lld steps", (long long)count));
  }
  if (count > 0) {
    cut(inputs, count, steps);
  } else {
    burn_drop(inputs);
  }
  for (int64_t i = 0; i < count; i++) {
    const int64_t t = reverse ? count - 1 - i : i;
    turn(context, steps[t], states);
    steps[t] = burn_clone(states[BURN_NN_HIDDEN]);
  }
  BurnTensor *outputs = count > 0 ? burn_stack(steps, (size_t)count, 1) : no_steps(states[BURN_NN_HIDDEN]);
  free(steps);
  return outputs;
}

/* -- states ----------------------------------------------------------------------------------- */

BurnStatus burn_nn_check_sequence(const char *layer, const BurnGateController *gate, const BurnTensor *x, int batch,
                                  BurnTensor *const *states, BurnShape state) {
  const BurnShape shape = burn_shape(x), weight = burn_shape(gate->input_transform.weight.value);
  if (shape.rank == 0 || weight.rank != 2) return BURN_OK;
  if (shape.rank != 3 || shape.dims[2] != weight.dims[0]) {
    return burn_status_make(BURN_STATUS_INVALID_SHAPE, "%s: x %s, expected %s, %lld]", layer,
                            burn_shape_text(shape).text, batch == 0 ? "[batch, steps" : "[steps, batch",
                            (long long)weight.dims[0]);
  }
  state.dims[state.rank - 2] = shape.dims[batch];
  for (int i = 0; i < BURN_NN_STATES; i++) {
    const BurnShape given = burn_shape(states[i]);
    bool fits = given.rank == 0 || given.rank == state.rank;
    for (uint32_t axis = 0; fits && axis < given.rank; axis++) fits = given.dims[axis] == state.dims[axis];
    if (fits) continue;
    return burn_status_make(BURN_STATUS_INVALID_SHAPE, "%s: %s state %s, expected %s", layer,
                            i == BURN_NN_HIDDEN ? "hidden" : "cell", burn_shape_text(given).text,
                            burn_shape_text(state).text);
  }
  return BURN_OK;
}

BurnTensor *burn_nn_first_state(BurnTensor *given, const BurnTensor *x, size_t d_hidden) {
  if (given) return given;
  if (burn_rank(x) == 0) return burn_tensor_failed(burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "x has no batch"));
  return burn_zeros(burn_tensor_device(x), BURN_SHAPE(burn_dim(x, 0), (int64_t)d_hidden), burn_dtype(x));
}

BurnTensor *burn_nn_clipped(BurnTensor *x, const BurnOptionF64 *clip) {
  return clip->present ? burn_clamp(x, -clip->value, clip->value) : x;
}

void burn_nn_give(BurnTensor **out, BurnTensor *x) {
  if (out) {
    *out = x;
  } else {
    burn_drop(x);
  }
}

BurnTensor *burn_nn_batch_first(bool batch_first, BurnTensor *x) {
  return batch_first || burn_rank(x) == 0 ? x : burn_swap_dims(x, 0, 1);
}

BurnTensor *burn_nn_direction(const BurnTensor *states, int64_t direction) {
  return states ? burn_select_dim(burn_clone(states), 0, direction) : NULL;
}

BurnTensor *burn_nn_both(BurnTensor *first, BurnTensor *second) {
  return burn_stack((BurnTensor *const[]){first, second}, 2, 0);
}
