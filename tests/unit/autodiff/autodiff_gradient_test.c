/* autodiff_gradient_test.c - the decorator autodiff: every op's gradient against central finite differences in f64, and the
 * behaviour of the graph (what is tracked, consumed, freed, shared between threads).
 *
 * The cases stand in autodiff_gradient_cases.h. Each is run with all its inputs tracked, then with one tracked at a
 * time, so that a rule which forgets to save what only one side needs is found. */
#include <burn/burn.h>

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "autodiff_gradient_cases.h"
#include "test_stacks.h"

enum { THREAD_COUNT = 4 };
static const double TOLERANCE = 1e-6;

/* Compares the gradient of one input with differences of the value. */
static void check_input(const Case *c, double values[][ELEMENT_LIMIT], size_t input, BurnTensor *gradient) {
  const int64_t count = element_count(c->inputs[input].shape);
  double computed[ELEMENT_LIMIT];
  const BurnShape shape = burn_shape(gradient);
  if (memcmp(&shape, &c->inputs[input].shape, sizeof shape) != 0)
    fail_msg("%s: gradient %zu has another shape", c->name, input);
  check_ok(burn_read_f64(gradient, computed, (size_t)count), c->name);
  for (int64_t i = 0; i < count; i++) {
    const double at = values[input][i];
    values[input][i] = at + c->step;
    const double above = evaluate(c, values, 0, NULL, NULL, NULL);
    values[input][i] = at - c->step;
    const double below = evaluate(c, values, 0, NULL, NULL, NULL);
    values[input][i] = at;
    const double expected = (above - below) / (2 * c->step);
    if (!(fabs(computed[i] - expected) <= TOLERANCE * fmax(1, fabs(expected))))
      fail_msg("%s: input %zu, element %lld: gradient %.12g, differences %.12g", c->name, input, (long long)i,
               computed[i], expected);
  }
}

static void check_case(const Case *c, unsigned tracked) {
  double values[INPUT_LIMIT][ELEMENT_LIMIT];
  fill_values(c, values);
  BurnTensor *leaves[INPUT_LIMIT] = {NULL};
  BurnGradients *gradients = NULL;
  evaluate(c, values, tracked, leaves, &gradients, burn_backward);
  for (size_t i = 0; i < c->input_count; i++) {
    if (!leaves[i]) continue;
    BurnTensor *gradient = burn_grad_remove(leaves[i], gradients);
    if (!gradient) fail_msg("%s: input %zu got no gradient", c->name, i);
    check_input(c, values, i, gradient);
    burn_drop(leaves[i]);
  }
  burn_gradients_drop(gradients);
}

/* -- gradients of gradients ------------------------------------------------------------------- */

/* The slope at values + step * direction, by an ordinary backward pass. */
static double slope_beside(const Case *c, double values[][ELEMENT_LIMIT], double step) {
  double moved[INPUT_LIMIT][ELEMENT_LIMIT];
  for (size_t i = 0; i < c->input_count; i++) {
    for (int64_t k = 0; k < element_count(c->inputs[i].shape); k++)
      moved[i][k] = values[i][k] + step * direction_at(i, k);
  }
  BurnTensor *leaves[INPUT_LIMIT] = {NULL};
  BurnGradients *gradients = NULL;
  evaluate(c, moved, (1u << c->input_count) - 1, leaves, &gradients, burn_backward);
  double slope = 0;
  check_ok(burn_read_scalar(slope_of(c, leaves, gradients), &slope), c->name);
  for (size_t i = 0; i < c->input_count; i++) burn_drop(leaves[i]);
  burn_gradients_drop(gradients);
  return slope;
}

static void check_second(const Case *c) {
  double values[INPUT_LIMIT][ELEMENT_LIMIT];
  fill_values(c, values);
  BurnTensor *leaves[INPUT_LIMIT] = {NULL};
  BurnGradients *gradients = NULL;
  evaluate(c, values, (1u << c->input_count) - 1, leaves, &gradients, burn_backward_create_graph);
  BurnTensor *slope = slope_of(c, leaves, gradients);
  burn_gradients_drop(gradients);
  const double computed = curvature_of(c, slope, leaves);
  const double step = c->step * 10, above = slope_beside(c, values, step), below = slope_beside(c, values, -step);
  const double expected = (above - below) / (2 * step);
  if (!(fabs(computed - expected) <= 1e-5 * fmax(1, fabs(expected))))
    fail_msg("%s: second derivative %.12g, differences %.12g", c->name, computed, expected);
  for (size_t i = 0; i < c->input_count; i++) burn_drop(leaves[i]);
}

/* Factors of 0 in a product: the rule puts in the product of the others, which is right at that point and says nothing
 * of how it goes on. */
static bool is_differentiable_once(const Case *c) {
  static const char *const names[] = {"select_assign_mul_zeros", "scatter_mul_zeros", "prod_dim_with_zeros",
                                      "cumprod_with_a_zero", "cumprod_with_zeros"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(names[i], c->name) == 0) return true;
  }
  return false;
}

static void second_derivatives_match_differences(void **state) {
  (void)state;
  for (size_t i = 0; i < CASE_COUNT; i++) {
    if (!is_differentiable_once(&cases[i])) check_second(&cases[i]);
  }
}

static BurnTensor *gradient_with_graph(BurnTensor *root, const BurnTensor *x) {
  BurnGradients *gradients = NULL;
  check_ok(burn_backward_create_graph(root, &gradients), "a graph of gradients");
  BurnTensor *gradient = burn_grad(x, gradients);
  burn_gradients_drop(gradients);
  return gradient;
}

static void expect_number(BurnTensor *x, double expected) {
  double value = 0;
  check_ok(burn_read_scalar(x, &value), "a number");
  assert_true(fabs(value - expected) < 1e-9);
}

/* x^4 three times over; the graph of a walk that creates one stays, until an ordinary walk consumes it. */
static void gradients_of_gradients_of_gradients(void **state) {
  (void)state;
  BurnTensor *x = burn_require_grad(burn_tensor_f64(device, (const double[]){1.5}, BURN_SHAPE(1)));
  BurnTensor *y = burn_powi_scalar(burn_clone(x), 4);
  BurnTensor *first = gradient_with_graph(burn_clone(y), x);
  assert_true(burn_tensor_device(first) == device && burn_is_tracked(first));
  BurnTensor *second = gradient_with_graph(burn_clone(first), x), *again = gradient_with_graph(burn_clone(first), x);
  BurnGradients *gradients = NULL;
  check_ok(burn_backward(burn_clone(second), &gradients), "the third");
  expect_number(burn_grad(x, gradients), 24 * 1.5);
  burn_gradients_drop(gradients);
  const BurnStatus status = burn_backward(burn_clone(second), &gradients);
  assert_non_null(strstr(burn_status_message(status), "another backward has consumed this graph"));
  expect_number(burn_detach(first), 4 * 1.5 * 1.5 * 1.5);
  expect_number(burn_detach(second), 12 * 1.5 * 1.5);
  expect_number(burn_detach(again), 12 * 1.5 * 1.5);
  burn_drop(y);
  burn_drop(x);
}

static void gradients_match_differences(void **state) {
  (void)state;
  for (size_t i = 0; i < CASE_COUNT; i++) {
    const Case *c = &cases[i];
    check_case(c, (1u << c->input_count) - 1);
    for (unsigned alone = 0; c->input_count > 1 && alone < c->input_count; alone++) check_case(c, 1u << alone);
  }
}

/* A new op with a gradient needs a case. */
static void every_op_with_a_gradient_has_a_case(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint32_t gradient;
  } ops[] = {
#define BURN_OP(number, name, family, since, rule, kinds, inputs, attrs, outputs, form, gradient, traits, doc) \
  {#name, BURN_GRADIENT_##gradient},
#include <burn/plugin/ops.def>
#undef BURN_OP
  };
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
    size_t found = 0;
    for (size_t k = 0; k < CASE_COUNT; k++) found += strcmp(cases[k].op, ops[i].name) == 0;
    if (ops[i].gradient != BURN_GRADIENT_CONSTANT && !found) fail_msg("%s has a gradient but no case", ops[i].name);
    if (ops[i].gradient == BURN_GRADIENT_CONSTANT && found) fail_msg("%s has a case but no gradient", ops[i].name);
  }
}

/* -- where the slope jumps -------------------------------------------------------------------- */

static BurnTensor *vector(const double *values, int64_t count) {
  return burn_tensor_f64(device, values, BURN_SHAPE(count));
}
static BurnTensor *leaf(const double *values, int64_t count) { return burn_require_grad(vector(values, count)); }

/* Takes `root`, walks back from it, and compares the gradient of x, which it drops. */
static void check_gradient(BurnTensor *root, BurnTensor *x, const double *expected, int64_t count, const char *what) {
  BurnGradients *gradients = NULL;
  double computed[16];
  check_ok(burn_backward(root, &gradients), what);
  BurnTensor *gradient = burn_grad(x, gradients);
  if (!gradient) fail_msg("%s: no gradient", what);
  check_ok(burn_read_f64(gradient, computed, (size_t)count), what);
  for (int64_t i = 0; i < count; i++) {
    const int near = computed[i] == expected[i] || fabs(computed[i] - expected[i]) <= 1e-12; /* infinities too */
    const int same = isnan(expected[i]) ? isnan(computed[i]) : near;
    if (!same) fail_msg("%s: element %lld is %.17g, not %.17g", what, (long long)i, computed[i], expected[i]);
  }
  burn_drop(x);
  burn_gradients_drop(gradients);
}
#define CHECK_GRADIENT(root, x, ...)                     \
  check_gradient(root, x, (const double[]){__VA_ARGS__}, \
                 (int64_t)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)), #root)

static void slopes_at_jumps_follow_burn(void **state) {
  (void)state;
  BurnTensor *x = leaf((const double[]){-1, 0, 1}, 3);
  CHECK_GRADIENT(burn_relu(burn_clone(x)), x, 0, 0, 1);
  x = leaf((const double[]){-1, 0, 1}, 3);
  CHECK_GRADIENT(burn_abs(burn_clone(x)), x, -1, 0, 1);
  x = leaf((const double[]){-1, 0, 1}, 3);
  CHECK_GRADIENT(burn_clamp_min(burn_clone(x), 0), x, 0, 1, 1);
  x = leaf((const double[]){-1, 0, 1}, 3);
  CHECK_GRADIENT(burn_clamp_max(burn_clone(x), 0), x, 1, 1, 0);
  x = leaf((const double[]){3, 5, 5, 1}, 4);
  CHECK_GRADIENT(burn_max_dim(burn_clone(x), 0), x, 0, 1, 0, 0);
  x = leaf((const double[]){3, 1, 5, 1}, 4);
  CHECK_GRADIENT(burn_min(burn_clone(x)), x, 0, 1, 0, 0);
  x = leaf((const double[]){1, 2, 3}, 3);
  CHECK_GRADIENT(burn_max_pair(burn_clone(x), vector((const double[]){2, 2, 2}, 3)), x, 0, 1, 1);
  x = leaf((const double[]){1, 2, 3}, 3);
  CHECK_GRADIENT(burn_max_pair(vector((const double[]){2, 2, 2}, 3), burn_clone(x)), x, 0, 0, 1);
  x = leaf((const double[]){-1, 0, 1},
           3); /* one of the two slopes at 0: Burn's elu takes the left one, its selu the right */
  CHECK_GRADIENT(burn_elu(burn_clone(x), 2), x, 2 * exp(-1), 2, 1);
  x = leaf((const double[]){0, 1}, 2);
  CHECK_GRADIENT(burn_selu(burn_clone(x)), x, 1.0507009873554805, 1.0507009873554805);
  x = leaf((const double[]){1, 3, 3, 2}, 4);
  CHECK_GRADIENT(burn_cummax(burn_clone(x), 0), x, 1, 1, 2, 0);
  x = leaf((const double[]){3, 1, 1, 2, 1}, 5);
  CHECK_GRADIENT(burn_cummin(burn_clone(x), 0), x, 1, 1, 2, 0, 1);
  x = leaf((const double[]){1, (double)NAN, 2}, 3); /* no place is the last one of NaN */
  CHECK_GRADIENT(burn_cummax(burn_clone(x), 0), x, 3, 0, 0);
  x = leaf((const double[]){0, 2}, 2);
  CHECK_GRADIENT(burn_powf(burn_clone(x), vector((const double[]){0, 0}, 2)), x, 0, 0);
  x = leaf((const double[]){2, 3}, 2);
  CHECK_GRADIENT(burn_powf(vector((const double[]){0, 1}, 2), burn_clone(x)), x, 0, 0);
  x = leaf((const double[]){(double)NAN, 2}, 2);
  CHECK_GRADIENT(burn_powf_scalar(burn_clone(x), 0), x, 0, 0);
}

/* At a tie both have the extreme; where values meet, the first of them. */
static void writes_of_extremes_share_ties_as_burn(void **state) {
  (void)state;
  static const double data[] = {1, 5, 3}, values[] = {1, 2, 7}, repeated[] = {5, 5, 4};
  BurnTensor *const places = burn_tensor_i64(device, (const int64_t[]){0, 1, 2}, BURN_SHAPE(3, 1));
  BurnTensor *x = leaf(data, 3);
  CHECK_GRADIENT(burn_scatter_nd(burn_clone(x), burn_clone(places), vector(values, 3), BURN_UPDATE_MAX), x, 1, 1, 0);
  x = leaf(values, 3);
  CHECK_GRADIENT(burn_scatter_nd(vector(data, 3), burn_clone(places), burn_clone(x), BURN_UPDATE_MAX), x, 1, 0, 1);
  x = leaf(data, 3);
  CHECK_GRADIENT(burn_scatter_nd(burn_clone(x), burn_clone(places), vector(values, 3), BURN_UPDATE_MIN), x, 1, 0, 1);
  x = leaf(values, 3);
  CHECK_GRADIENT(burn_scatter_nd(vector(data, 3), places, burn_clone(x), BURN_UPDATE_MIN), x, 1, 1, 0);
  x = leaf(repeated, 3);
  CHECK_GRADIENT(burn_scatter(vector(data, 3), 0, burn_tensor_i64(device, (const int64_t[]){1, 1, 1}, BURN_SHAPE(3)),
                              burn_clone(x), BURN_UPDATE_MAX),
                 x, 1, 0, 0);
}

/* A loss that reaches a leaf through steps alone has a gradient: zeros. */
static void steps_have_zero_gradients(void **state) {
  (void)state;
  static BurnTensor *(*const steps[])(BurnTensor *) = {burn_sign, burn_floor, burn_ceil, burn_round, burn_trunc};
  for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
    BurnTensor *x = leaf((const double[]){-1.5, 0, 2.5}, 3);
    CHECK_GRADIENT(burn_mean(burn_square(steps[i](burn_clone(x)))), x, 0, 0, 0);
    x = leaf((const double[]){-1.5, 0, 2.5}, 3);
    CHECK_GRADIENT(burn_sub(burn_clone(x), steps[i](burn_clone(x))), x, 1, 1, 1);
  }
}

/* At the edges of domains, at the origin and of products with zeros, where PyTorch 1.13 gives these numbers. */
static void gradients_at_edges_follow_pytorch(void **state) {
  (void)state;
  const double infinite = (double)INFINITY, none = (double)NAN;
  BurnTensor *x = leaf((const double[]){2, 0, 3}, 3);
  CHECK_GRADIENT(burn_prod(burn_clone(x)), x, 0, 6, 0);
  x = leaf((const double[]){2, 0, 0}, 3);
  CHECK_GRADIENT(burn_prod_dim(burn_clone(x), 0), x, 0, 0, 0);
  x = leaf((const double[]){-1, 0, 1, 2}, 4);
  CHECK_GRADIENT(burn_asin(burn_clone(x)), x, infinite, 1, infinite, none);
  x = leaf((const double[]){-1, 0, 1, 2}, 4);
  CHECK_GRADIENT(burn_acos(burn_clone(x)), x, -infinite, -1, -infinite, none);
  x = leaf((const double[]){-1, 0, 1, 0.5}, 4);
  CHECK_GRADIENT(burn_atanh(burn_clone(x)), x, infinite, 1, infinite, 1 / 0.75);
  x = leaf((const double[]){0.5, 1}, 2);
  CHECK_GRADIENT(burn_acosh(burn_clone(x)), x, none, infinite);
  x = leaf((const double[]){0, 3, 0}, 3);
  CHECK_GRADIENT(burn_hypot(burn_clone(x), vector((const double[]){0, 4, 2}, 3)), x, none, 0.6, 0);
  x = leaf((const double[]){0, 4, 2}, 3);
  CHECK_GRADIENT(burn_atan2(vector((const double[]){0, 3, 0}, 3), burn_clone(x)), x, none, -0.12, 0);
  x = leaf((const double[]){0, 2, none, 0}, 4);
  BurnTensor *powers = burn_tensor_i64(device, (const int64_t[]){0, -1, 0, 1}, BURN_SHAPE(4));
  CHECK_GRADIENT(burn_powi(burn_clone(x), powers), x, 0, -0.25, 0, 1);
}

/* The values of a gradient, which it drops: none may be NaN or infinite, and `expected_zeros` of them are 0. */
static void check_finite(BurnTensor *root, BurnTensor *x, int64_t count, int64_t expected_zeros, const char *what) {
  BurnGradients *gradients = NULL;
  double computed[ELEMENT_LIMIT];
  check_ok(burn_backward(root, &gradients), what);
  check_ok(burn_read_f64(burn_grad(x, gradients), computed, (size_t)count), what);
  int64_t zeros = 0;
  for (int64_t i = 0; i < count; i++) {
    if (!isfinite(computed[i])) fail_msg("%s: element %lld is %g", what, (long long)i, computed[i]);
    zeros += computed[i] == 0;
  }
  if (zeros != expected_zeros) fail_msg("%s: %lld of the elements are 0", what, (long long)zeros);
  burn_drop(x);
  burn_gradients_drop(gradients);
}

static void gradients_of_what_cannot_be_are_zero(void **state) {
  (void)state;
  static const double x[24] = {-1, -2, -3, -1, -2, -3, -1, -2, -3, -1, -2, -3,
                               -1, -2, -3, -1, -2, -3, -1, -2, -3, -1, -2, -3};
  /* Two equal labels need three frames; the second sample has an empty target and two of the four frames. */
  BurnTensor *probs = burn_require_grad(burn_tensor_f64(device, x, BURN_SHAPE(4, 2, 3)));
  BurnTensor *targets = burn_tensor_i64(device, (const int64_t[]){1, 1, 0, 0}, BURN_SHAPE(2, 2));
  BurnTensor *inputs = burn_tensor_i64(device, (const int64_t[]){2, 2}, BURN_SHAPE(2));
  BurnTensor *lengths = burn_tensor_i64(device, (const int64_t[]){2, 0}, BURN_SHAPE(2));
  check_finite(burn_ctc_loss(burn_clone(probs), targets, inputs, lengths, 0), probs, 24, 22, "unreachable target");
  BurnTensor *query = burn_require_grad(burn_tensor_f64(device, x, BURN_SHAPE(1, 1, 3, 2)));
  BurnTensor *key = burn_tensor_f64(device, x + 3, BURN_SHAPE(1, 1, 2, 2)), *value = burn_clone(key);
  const BurnAttentionOptions causal = {0, 0, true};
  check_finite(burn_attention(burn_clone(query), key, value, NULL, NULL, causal), query, 6, 4,
               "a hidden row and one of one key");
  BurnTensor *grid =
      burn_require_grad(vector((const double[]){(double)INFINITY, 0, (double)NAN, (double)NAN, 0.1, 0.2}, 6));
  BurnTensor *picture = burn_tensor_f64(device, x, BURN_SHAPE(1, 1, 4, 6));
  BurnTensor *positions = burn_reshape(burn_clone(grid), BURN_SHAPE(1, 1, 3, 2));
  check_finite(burn_grid_sample_2d(picture, positions, BURN_GRID_SAMPLE_OPTIONS), grid, 6, 5,
               "positions outside; rows are equal");
}

/* -- the graph -------------------------------------------------------------------------------- */

static void shared_subexpressions_add_up(void **state) {
  (void)state;
  BurnTensor *x = leaf((const double[]){1, 2, -3}, 3);
  BurnTensor *square = burn_mul(burn_clone(x), burn_clone(x));
  CHECK_GRADIENT(burn_add(square, burn_clone(x)), x, 3, 5, -5);
  x = leaf((const double[]){2}, 1);
  BurnTensor *cube = burn_mul(burn_mul(burn_clone(x), burn_clone(x)), burn_clone(x));
  BurnTensor *twice = burn_add(burn_clone(cube), burn_mul_scalar(burn_clone(cube), 2));
  CHECK_GRADIENT(burn_sub(twice, cube), x, 24);
}

static void a_leaf_can_be_the_root(void **state) {
  (void)state;
  BurnTensor *x = leaf((const double[]){1, 2, 3}, 3);
  CHECK_GRADIENT(burn_clone(x), x, 1, 1, 1);
}

static void a_detached_tensor_is_a_constant(void **state) {
  (void)state;
  BurnTensor *x = leaf((const double[]){1, 2, 3}, 3);
  BurnTensor *constant = burn_detach(burn_square(burn_clone(x)));
  assert_false(burn_is_tracked(constant));
  CHECK_GRADIENT(burn_mul(constant, burn_clone(x)), x, 1, 4, 9);
}

static void what_has_no_tracked_input_is_not_tracked(void **state) {
  (void)state;
  BurnTensor *x = leaf((const double[]){1, 2, 3}, 3), *constant = vector((const double[]){4, 5, 6}, 3);
  BurnTensor *branch = burn_gelu(burn_exp(burn_clone(constant)));
  assert_false(burn_is_tracked(branch));
  BurnTensor *y = burn_mul(burn_clone(x), branch), *bigger = burn_greater(burn_clone(x), burn_clone(constant));
  assert_true(burn_is_tracked(y));
  assert_false(burn_is_tracked(bigger));
  assert_true(burn_is_require_grad(x));
  assert_false(burn_is_require_grad(y));
  BurnGradients *gradients = NULL;
  check_ok(burn_backward(y, &gradients), "backward");
  assert_null(burn_grad(constant, gradients));
  BurnTensor *other = leaf((const double[]){1}, 1);
  assert_null(burn_grad(other, gradients));
  BurnTensor *gradient = burn_grad_remove(x, gradients);
  assert_non_null(gradient);
  assert_null(burn_grad(x, gradients));
  burn_drop(gradient);
  burn_drop(other);
  burn_drop(bigger);
  burn_drop(constant);
  burn_drop(x);
  burn_gradients_drop(gradients);
}

static void check_refused(BurnStatus status, uint32_t code, const char *part) {
  assert_int_equal(burn_status_code(status), code);
  if (!strstr(burn_status_message(status), part))
    fail_msg("\"%s\" does not say \"%s\"", burn_status_message(status), part);
}

static void a_second_backward_is_refused(void **state) {
  (void)state;
  BurnTensor *x = leaf((const double[]){1, 2, 3}, 3);
  BurnTensor *shared = burn_exp(burn_clone(x)), *again = burn_neg(burn_clone(shared));
  BurnTensor *fresh = burn_sin(burn_clone(x));
  BurnGradients *gradients = NULL;
  check_ok(burn_backward(shared, &gradients), "first");
  burn_gradients_drop(gradients);
  gradients = NULL;
  check_refused(burn_backward(again, &gradients), BURN_STATUS_FAILED_PRECONDITION, "exp");
  assert_null(gradients);
  CHECK_GRADIENT(fresh, x, cos(1), cos(2), cos(3));
}

static void misuse_is_refused(void **state) {
  (void)state;
  BurnGradients *gradients = NULL;
  check_refused(burn_backward(vector((const double[]){1}, 1), &gradients), BURN_STATUS_FAILED_PRECONDITION,
                "not tracked");
  assert_null(gradients);
  BurnTensor *whole = burn_require_grad(burn_tensor_i64(device, (const int64_t[]){1}, BURN_SHAPE(1)));
  check_refused(burn_tensor_status(whole), BURN_STATUS_INVALID_DTYPE, "i64");
  burn_drop(whole);
  BurnTensor *x = leaf((const double[]){1}, 1);
  BurnTensor *result = burn_require_grad(burn_exp(burn_clone(x)));
  check_refused(burn_tensor_status(result), BURN_STATUS_FAILED_PRECONDITION, "exp");
  burn_drop(result);
  BurnTensor *same = burn_require_grad(burn_clone(x));
  CHECK_GRADIENT(burn_square(same), x, 2);
}

/* An op that takes the last handle of its input may write into it, but not where a rule will read it. */
static void saved_values_survive_reuse(void **state) {
  (void)state;
  BurnTensor *x = leaf((const double[]){0.5, -1}, 2);
  CHECK_GRADIENT(burn_mul_scalar(burn_exp(burn_clone(x)), 3), x, 3 * exp(0.5), 3 * exp(-1));
  x = leaf((const double[]){0.5, -1}, 2);
  BurnTensor *factor = vector((const double[]){4, 5}, 2);
  BurnTensor *product = burn_mul(burn_clone(x), burn_clone(factor));
  burn_drop(burn_add_scalar(factor, 100));
  CHECK_GRADIENT(product, x, 4, 5);
  x = leaf((const double[]){0.5, -1}, 2);
  CHECK_GRADIENT(burn_square(burn_sin(burn_mul_scalar(burn_clone(x), 2))), x, 2 * sin(2), -2 * sin(4));
}

static void inner_tensors_cross_the_layer(void **state) {
  (void)state;
  BurnTensor *x = leaf((const double[]){1, 2}, 2);
  BurnTensor *inner = burn_inner(burn_clone(x));
  assert_ptr_equal(burn_tensor_device(inner), burn_device_inner(device));
  assert_false(burn_is_tracked(inner));
  BurnTensor *lifted = burn_from_inner(inner, device);
  assert_ptr_equal(burn_tensor_device(lifted), device);
  CHECK_GRADIENT(burn_mul(burn_clone(x), lifted), x, 1, 2);
}

/* -- length and memory ------------------------------------------------------------------------ */

static BurnTensor *chain(BurnTensor *x, size_t length) {
  for (size_t i = 0; i < length; i++) x = i % 2 ? burn_add_scalar(x, 1) : burn_neg(x);
  return x;
}

static void long_chains_do_not_recurse(void **state) {
  (void)state;
  BurnTensor *x = leaf((const double[]){1, 2}, 2);
  CHECK_GRADIENT(chain(burn_clone(x), 100000), x, 1, 1);
  x = leaf((const double[]){1, 2}, 2);
  BurnTensor *end = chain(burn_clone(x), 1000000);
  burn_drop(x);
  burn_drop(end);
}

static void memory_is_given_back(void **state) {
  (void)state;
  const BurnMemoryStats before = burn_device_memory(device);
  assert_true(before.live_tensors >= 0 && before.bytes_in_use >= 0);
  BurnTensor *x = burn_require_grad(burn_ones(device, BURN_SHAPE(64, 64), BURN_DTYPE_F64));
  BurnTensor *y = burn_softmax(burn_matmul(burn_exp(burn_clone(x)), burn_clone(x)), 1);
  BurnTensor *unused = burn_gelu(burn_sin(burn_clone(y)));
  BurnTensor *root = burn_sum(y);
  burn_drop(unused);
  BurnGradients *gradients = NULL;
  const BurnMemoryStats recorded = burn_device_memory(device);
  check_ok(burn_backward(burn_clone(root), &gradients), "backward");
  const BurnMemoryStats walked = burn_device_memory(device);
  /* Of x and exp(x), saved by matmul, and y, only x is left; its gradient has come. The root is still held. */
  assert_true(walked.bytes_in_use < recorded.bytes_in_use);
  assert_true(walked.bytes_in_use - before.bytes_in_use < (int64_t)(2 * 64 * 64 * sizeof(double) + 4096));
  burn_drop(root);
  burn_drop(x);
  burn_gradients_drop(gradients);
  const BurnMemoryStats after = burn_device_memory(device);
  assert_int_equal(after.live_tensors, before.live_tensors);
  assert_int_equal(after.bytes_in_use, before.bytes_in_use);
}

/* x * constant needs the constant alone, so x can go before the backward pass. */
static void only_what_a_rule_reads_is_saved(void **state) {
  (void)state;
  BurnTensor *x = burn_require_grad(burn_ones(device, BURN_SHAPE(64, 64), BURN_DTYPE_F64));
  BurnTensor *constant = burn_ones(device, BURN_SHAPE(1, 1), BURN_DTYPE_F64);
  const int64_t before = burn_device_memory(device).bytes_in_use;
  BurnTensor *y = burn_sum(burn_mul(burn_mul_scalar(burn_clone(x), 2), constant));
  assert_true(burn_device_memory(device).bytes_in_use - before < (int64_t)(64 * 64 * sizeof(double)));
  burn_drop(y);
  burn_drop(x);
}

/* -- threads ---------------------------------------------------------------------------------- */

typedef struct Worker {
  pthread_t thread;
  BurnTensor *x; /* of this worker */
  BurnTensor *root;
  BurnStatus status;
  double value;
} Worker;

/* Builds and walks its own graphs over a leaf that all threads share. */
static void *walk_own_graphs(void *argument) {
  Worker *worker = argument;
  for (int i = 0; i < 50 && worker->status == BURN_OK; i++) {
    BurnGradients *gradients = NULL;
    BurnTensor *square = burn_mul(burn_clone(worker->x), burn_clone(worker->x));
    worker->status = burn_backward(burn_sum(burn_exp(square)), &gradients);
    if (worker->status != BURN_OK) break;
    worker->status = burn_read_scalar(burn_narrow(burn_grad_remove(worker->x, gradients), 0, 0, 1), &worker->value);
    burn_gradients_drop(gradients);
  }
  burn_drop(worker->x);
  return NULL;
}

static void threads_walk_graphs_with_a_common_leaf(void **state) {
  (void)state;
  Worker workers[THREAD_COUNT];
  BurnTensor *x = leaf((const double[]){0.5, 1}, 2);
  for (int i = 0; i < THREAD_COUNT; i++) {
    workers[i] = (Worker){.x = burn_clone(x)};
    assert_int_equal(pthread_create(&workers[i].thread, NULL, walk_own_graphs, &workers[i]), 0);
  }
  for (int i = 0; i < THREAD_COUNT; i++) pthread_join(workers[i].thread, NULL);
  for (int i = 0; i < THREAD_COUNT; i++) {
    check_ok(workers[i].status, "worker");
    assert_true(fabs(workers[i].value - exp(0.25)) < 1e-12);
  }
  burn_drop(x);
}

static void *walk_given_graph(void *argument) {
  Worker *worker = argument;
  BurnGradients *gradients = NULL;
  worker->status = burn_backward(worker->root, &gradients);
  if (worker->status == BURN_OK)
    worker->status = burn_read_scalar(burn_narrow(burn_grad_remove(worker->x, gradients), 0, 0, 1), &worker->value);
  burn_gradients_drop(gradients);
  burn_drop(worker->x);
  return NULL;
}

/* All walk through the same nodes: at least one gets through, and who does not is told. */
static void threads_that_share_nodes_exclude_each_other(void **state) {
  (void)state;
  for (int round = 0; round < 20; round++) {
    Worker workers[THREAD_COUNT];
    BurnTensor *x = leaf((const double[]){0.5, 1}, 2);
    BurnTensor *shared = chain(burn_exp(burn_clone(x)), 20);
    for (int i = 0; i < THREAD_COUNT; i++)
      workers[i] = (Worker){.x = burn_clone(x), .root = burn_sum(burn_clone(shared))};
    for (int i = 0; i < THREAD_COUNT; i++)
      assert_int_equal(pthread_create(&workers[i].thread, NULL, walk_given_graph, &workers[i]), 0);
    for (int i = 0; i < THREAD_COUNT; i++) pthread_join(workers[i].thread, NULL);
    int through = 0;
    for (int i = 0; i < THREAD_COUNT; i++) {
      if (workers[i].status != BURN_OK) {
        check_refused(workers[i].status, BURN_STATUS_FAILED_PRECONDITION, "consumed");
        continue;
      }
      assert_true(fabs(workers[i].value - exp(0.5)) < 1e-12);
      through++;
    }
    assert_int_equal(through, 1);
    burn_drop(shared);
    burn_drop(x);
  }
}

static int open_device(void **state) {
  (void)state;
  device = test_stack_device("ndarray", true);
  const BurnStatus status = burn_device_status(device);
  if (status != BURN_OK) print_error("%s\n", burn_status_message(status));
  return status != BURN_OK;
}

static int close_device(void **state) {
  (void)state;
  const int64_t alive = burn_device_memory(device).live_tensors;
  burn_device_close(device);
  if (alive != 0) print_error("%lld tensors are still alive\n", (long long)alive);
  return alive != 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_op_with_a_gradient_has_a_case),
      cmocka_unit_test(gradients_match_differences),
      cmocka_unit_test(second_derivatives_match_differences),
      cmocka_unit_test(gradients_of_gradients_of_gradients),
      cmocka_unit_test(slopes_at_jumps_follow_burn),
      cmocka_unit_test(writes_of_extremes_share_ties_as_burn),
      cmocka_unit_test(steps_have_zero_gradients),
      cmocka_unit_test(gradients_at_edges_follow_pytorch),
      cmocka_unit_test(gradients_of_what_cannot_be_are_zero),
      cmocka_unit_test(shared_subexpressions_add_up),
      cmocka_unit_test(a_leaf_can_be_the_root),
      cmocka_unit_test(a_detached_tensor_is_a_constant),
      cmocka_unit_test(what_has_no_tracked_input_is_not_tracked),
      cmocka_unit_test(a_second_backward_is_refused),
      cmocka_unit_test(misuse_is_refused),
      cmocka_unit_test(saved_values_survive_reuse),
      cmocka_unit_test(inner_tensors_cross_the_layer),
      cmocka_unit_test(long_chains_do_not_recurse),
      cmocka_unit_test(memory_is_given_back),
      cmocka_unit_test(only_what_a_rule_reads_is_saved),
      cmocka_unit_test(threads_walk_graphs_with_a_common_leaf),
      cmocka_unit_test(threads_that_share_nodes_exclude_each_other),
  };
  return cmocka_run_group_tests_name("autodiff_gradient", tests, open_device, close_device);
}
