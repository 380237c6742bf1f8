/* onnx_training.c - ONNX's preview of training: a step of an optimizer for any number of parameters, and gradients.
 *
 * Inputs of optimizers are the learning rate, the count of steps before, and for n parameters n of each: values,
 * gradients, and what the optimizer keeps. */
#include "onnx_value.h"

#include <math.h>
#include <stdlib.h>

static BurnTensor *copy(const BurnTensor *x) { return burn_clone(x); }

typedef struct Training {
  double rate, steps, norm; /* norm: of the regularization */
  size_t count;             /* parameters */
} Training;

/* `groups` is the number of inputs for each parameter. */
static Training training_of(OnnxNode *node, size_t groups) {
  Training t = {.rate = onnx_input_number(node, 0, 0), .steps = onnx_input_number(node, 1, 0)};
  t.norm = onnx_float(node, "norm_coefficient", 0);
  t.count = node->proto->n_input > 2 ? (node->proto->n_input - 2) / groups : 0;
  return t;
}

static BurnTensor *of_group(const OnnxNode *node, const Training *t, size_t group, size_t i) {
  return onnx_input(node, 2 + group * t->count + i);
}

/* The gradient with that of the regularization. */
static BurnTensor *gradient(const OnnxNode *node, const Training *t, size_t i) {
  BurnTensor *g = of_group(node, t, 1, i);
  return t->norm == 0 ? g : burn_add(g, burn_mul_scalar(of_group(node, t, 0, i), t->norm));
}

MAP(Adagrad) {
  const Training t = training_of(node, 3);
  const double rate = t.rate / (1 + t.steps * onnx_float(node, "decay_factor", 0));
  for (size_t i = 0; i < t.count; i++) {
    BurnTensor *g = gradient(node, &t, i);
    BurnTensor *squares = burn_add(of_group(node, &t, 2, i), burn_square(copy(g)));
    BurnTensor *scale = burn_add_scalar(burn_sqrt(copy(squares)), onnx_float(node, "epsilon", 1e-6));
    onnx_give(node, t.count + i, squares);
    onnx_give(node, i, burn_sub(of_group(node, &t, 0, i), burn_div(burn_mul_scalar(g, rate), scale)));
  }
}

MAP(Adam) {
  const Training t = training_of(node, 4);
  const double alpha = onnx_float(node, "alpha", 0.9), beta = onnx_float(node, "beta", 0.999);
  const double corrected = t.rate * sqrt(1 - pow(beta, t.steps)) / (1 - pow(alpha, t.steps));
  const double rate = t.steps > 0 ? corrected : t.rate, after = onnx_float(node, "norm_coefficient_post", 0);
  for (size_t i = 0; i < t.count; i++) {
    BurnTensor *g = gradient(node, &t, i);
    BurnTensor *squares = burn_mul_scalar(burn_square(copy(g)), 1 - beta);
    BurnTensor *mean = burn_add(burn_mul_scalar(of_group(node, &t, 2, i), alpha), burn_mul_scalar(g, 1 - alpha));
    squares = burn_add(burn_mul_scalar(of_group(node, &t, 3, i), beta), squares);
    BurnTensor *scale = burn_add_scalar(burn_sqrt(copy(squares)), onnx_float(node, "epsilon", 1e-6));
    BurnTensor *x = burn_sub(of_group(node, &t, 0, i), burn_mul_scalar(burn_div(copy(mean), scale), rate));
    onnx_give(node, i, after == 0 ? x : burn_mul_scalar(x, 1 - after));
    onnx_give(node, t.count + i, mean);
    onnx_give(node, 2 * t.count + i, squares);
  }
}

/* The gradient counts in full at the first step. */
MAP(Momentum) {
  const Training t = training_of(node, 3);
  const double alpha = onnx_float(node, "alpha", 0), beta = t.steps > 0 ? onnx_float(node, "beta", 0) : 1;
  const bool nesterov = onnx_is(node, "mode", "", "nesterov");
  for (size_t i = 0; i < t.count; i++) {
    BurnTensor *g = gradient(node, &t, i);
    BurnTensor *velocity = burn_mul_scalar(copy(g), beta);
    velocity = burn_add(burn_mul_scalar(of_group(node, &t, 2, i), alpha), velocity);
    BurnTensor *step = nesterov ? burn_add(copy(g), burn_mul_scalar(copy(velocity), alpha)) : copy(velocity);
    burn_drop(g);
    onnx_give(node, i, burn_sub(of_group(node, &t, 0, i), burn_mul_scalar(step, t.rate)));
    onnx_give(node, t.count + i, velocity);
  }
}

/* -- gradients --------------------------------------------------------------------------------- */

/* What one Gradient works with: the graph between xs and y, its inputs, and those of them that are xs. */
typedef struct Gradient {
  const Onnx__GraphProto *graph;
  OnnxValue inputs[ONNX_MAX_VALUES];
  BurnTensor *leaves[ONNX_MAX_VALUES]; /* [count] */
  size_t count;
} Gradient;

/* A tensor whose gradient is kept. In another Gradient it is the outer one's own, so that its history goes on; else the
 * values alone, and what is computed outside has no part in it. NULL, with the node failed, where neither can be. */
static BurnTensor *leaf(OnnxNode *node, const BurnTensor *x, size_t i) {
  if (!x) {
    onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "Gradient: input %zu is not a tensor", i));
    return NULL;
  }
  const bool inner = onnx_gradient_is_inner(node);
  if (inner && burn_is_require_grad(x)) return burn_clone(x);
  if (inner && burn_is_tracked(x)) {
    onnx_not_mapped(node, "a Gradient of a Gradient whose xs are not the same");
    return NULL;
  }
  return burn_require_grad(burn_detach(burn_clone(x)));
}

static void take_inputs(OnnxNode *node, Gradient *g) {
  for (size_t i = 0; i < node->proto->n_input; i++) {
    g->inputs[i] = onnx_input_value(node, i);
    if (i >= g->count || node->reason[0] || node->status != BURN_OK) continue;
    g->leaves[i] = leaf(node, g->inputs[i].tensor, i);
    burn_drop(g->inputs[i].tensor);
    g->inputs[i].tensor = g->leaves[i] ? burn_clone(g->leaves[i]) : NULL;
  }
}

/* d y / d leaf i; zeros where y does not depend on it. */
static BurnTensor *gradient_of(const OnnxNode *node, const Gradient *g, size_t i, BurnGradients *gradients) {
  BurnTensor *x = gradients ? burn_grad(g->leaves[i], gradients) : NULL;
  if (!x) x = burn_zeros_like(burn_clone(g->leaves[i]));
  return onnx_gradient_is_inner(node) ? x : burn_detach(x);
}

/* Takes y. */
static void differentiate(OnnxNode *node, const Gradient *g, BurnTensor *y) {
  BurnGradients *gradients = NULL;
  BurnStatus status = BURN_OK;
  if (y && burn_is_tracked(y)) {
    status = burn_backward_create_graph(y, &gradients);
  } else {
    status = y ? burn_tensor_status(y) : burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "Gradient: y is not a tensor");
    burn_drop(y);
  }
  for (size_t i = 0; i < g->count && status == BURN_OK; i++) {
    onnx_give_rank(node, i, gradient_of(node, g, i, gradients), node->scalar[i] ? ONNX_RANK_0 : ONNX_RANK_MORE);
  }
  if (status != BURN_OK) onnx_fail(node, status);
  burn_gradients_drop(gradients);
}

static void run_gradient(OnnxNode *node, Gradient *g) {
  OnnxValue y = {0};
  take_inputs(node, g);
  if (node->status == BURN_OK && !node->reason[0]) {
    const BurnStatus status = onnx_run_subgraph(node, g->graph, g->inputs, node->proto->n_input, &y, 1);
    for (size_t i = 0; i < node->proto->n_input; i++) g->inputs[i] = (OnnxValue){0};
    if (status == BURN_OK) differentiate(node, g, burn_move(&y.tensor));
    if (status != BURN_OK) onnx_fail(node, status);
  }
  onnx_value_release(&y);
  for (size_t i = 0; i < node->proto->n_input; i++) {
    onnx_value_release(&g->inputs[i]);
    burn_drop(g->leaves[i]);
  }
}

/* Results have no history, unless they are in turn differentiated by another Gradient. */
MAP(Gradient) {
  const Onnx__AttributeProto *graph = onnx_attribute(node, ONNX_GRADIENT_GRAPH), *xs = onnx_attribute(node, "xs");
  Gradient *g = calloc(1, sizeof *g);
  if (!g || !node->frame || !graph || !xs) {
    onnx_not_mapped(node, "a Gradient outside of a graph");
    free(g);
    return;
  }
  g->graph = graph->g;
  g->count = xs->n_strings;
  onnx_gradient_begin(node);
  run_gradient(node, g);
  onnx_gradient_end(node);
  free(g);
}
