/* onnx_training.c - ONNX's preview of training: a step of an optimizer for any number of parameters.
 *
 * Inputs are the learning rate, the count of steps before, and for n parameters n of each: values, gradients, and what
 * the optimizer keeps. */
#include "onnx_node.h"

#include <math.h>

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
