/* autodiff_checkpoint_test.c - values that are not kept for the backward pass but computed again there: in regions, and
 * by the option checkpointing=balanced. The gradients are the same to the bit, and the memory falls. */
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

enum { THREAD_COUNT = 4, BLOCKS = 12, SIDE = 64 };

static BurnDevice *kept_device, *balanced_device;

/* The stack's text with checkpointing=balanced. */
static BurnDevice *open_balanced(const char *text) {
  char balanced[300];
  const char *autodiff = strstr(text, "autodiff");
  assert_non_null(autodiff);
  (void)snprintf(balanced, sizeof balanced, "%.*sautodiff:checkpointing=balanced%s", (int)(autodiff - text), text,
                 autodiff + strlen("autodiff"));
  return burn_device_open(balanced);
}

/* -- the same bits ---------------------------------------------------------------------------- */

/* How a case is run. */
typedef struct Mode {
  const char *name;
  BurnDevice **device;
  bool checkpointed;
} Mode;

static const Mode modes[] = {{"kept", &kept_device, false},
                             {"balanced", &balanced_device, false},
                             {"a region", &kept_device, true},
                             {"a region, balanced", &balanced_device, true}};
enum { MODE_COUNT = sizeof modes / sizeof modes[0] };

static void use_mode(const Mode *mode) {
  device = *mode->device;
  checkpointed = mode->checkpointed;
}

/* The value of a case and then its gradients. */
static size_t run_first(const Case *c, unsigned tracked, double *results) {
  double values[INPUT_LIMIT][ELEMENT_LIMIT];
  BurnTensor *leaves[INPUT_LIMIT] = {NULL};
  BurnGradients *gradients = NULL;
  fill_values(c, values);
  size_t count = 0;
  results[count++] = evaluate(c, values, tracked, leaves, &gradients, burn_backward);
  for (size_t i = 0; i < c->input_count; i++) {
    if (!leaves[i]) continue;
    const size_t elements = (size_t)element_count(c->inputs[i].shape);
    BurnTensor *gradient = burn_grad_remove(leaves[i], gradients);
    if (!gradient) fail_msg("%s: input %zu got no gradient", c->name, i);
    check_ok(burn_read_f64(gradient, results + count, elements), c->name);
    count += elements;
    burn_drop(leaves[i]);
  }
  burn_gradients_drop(gradients);
  return count;
}

static void check_first(const Case *c, unsigned tracked) {
  static double expected[1 + INPUT_LIMIT * ELEMENT_LIMIT], results[1 + INPUT_LIMIT * ELEMENT_LIMIT];
  for (size_t mode = 0; mode < MODE_COUNT; mode++) {
    use_mode(&modes[mode]);
    const size_t count = run_first(c, tracked, mode == 0 ? expected : results);
    if (mode == 0) continue;
    for (size_t i = 0; i < count; i++)
      if (memcmp(&results[i], &expected[i], sizeof *results) != 0)
        fail_msg("%s: number %zu is %.17g with %s, %.17g when all is kept", c->name, i, results[i], modes[mode].name,
                 expected[i]);
  }
}

static void gradients_have_the_same_bits(void **state) {
  (void)state;
  for (size_t i = 0; i < CASE_COUNT; i++) {
    const Case *c = &cases[i];
    check_first(c, (1u << c->input_count) - 1);
    for (unsigned alone = 0; c->input_count > 1 && alone < c->input_count; alone++) check_first(c, 1u << alone);
  }
}

/* The second derivative along a direction. */
static double run_second(const Case *c) {
  double values[INPUT_LIMIT][ELEMENT_LIMIT];
  BurnTensor *leaves[INPUT_LIMIT] = {NULL};
  BurnGradients *gradients = NULL;
  fill_values(c, values);
  evaluate(c, values, (1u << c->input_count) - 1, leaves, &gradients, burn_backward_create_graph);
  BurnTensor *slope = slope_of(c, leaves, gradients);
  burn_gradients_drop(gradients);
  const double curvature = curvature_of(c, slope, leaves);
  for (size_t i = 0; i < c->input_count; i++) burn_drop(leaves[i]);
  return curvature;
}

static void second_derivatives_have_the_same_bits(void **state) {
  (void)state;
  for (size_t i = 0; i < CASE_COUNT; i++) {
    double expected = 0;
    for (size_t mode = 0; mode < MODE_COUNT; mode++) {
      use_mode(&modes[mode]);
      const double result = run_second(&cases[i]);
      if (mode == 0) expected = result;
      if (memcmp(&result, &expected, sizeof result) != 0)
        fail_msg("%s: the second derivative is %.17g with %s, %.17g when all is kept", cases[i].name, result,
                 modes[mode].name, expected);
    }
  }
}

/* -- which ops -------------------------------------------------------------------------------- */

/* What balanced computes again; a row of gradients.def has one of these words, or does not compile. */
typedef struct Bound {
  const char *op;
  bool by_memory;
} Bound;

#define GRADIENT(op, bound, needs_0, needs_1, needs_2, rule) {#op, bound},
static const Bound bounds[] = {
#include "gradients.def"
};
#undef GRADIENT

static bool is_bound_by_memory(const char *op) {
  for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++)
    if (strcmp(bounds[i].op, op) == 0) return bounds[i].by_memory;
  fail_msg("%s has no row in gradients.def", op);
  return false;
}

/* The lists of Burn's BalancedCheckpointing, as far as the ops have a gradient of their own here. */
static void balanced_computes_again_what_burn_does(void **state) {
  (void)state;
  static const char *const by_memory[] = {
      "add",         "sub",     "mul",        "div",     "remainder",    "add_scalar",
      "mul_scalar",  "neg",     "div_scalar", "recip",   "abs",          "remainder_scalar",
      "sign",        "exp",     "log",        "log1p",   "powf",         "sqrt",
      "powf_scalar", "erf",     "sin",        "cos",     "tan",          "sinh",
      "cosh",        "tanh",    "asin",       "acos",    "atan",         "asinh",
      "acosh",       "atanh",   "atan2",      "round",   "floor",        "ceil",
      "trunc",       "reshape", "permute",    "expand",  "slice",        "slice_assign",
      "select",      "relu",    "gelu",       "sigmoid", "select_assign"};
  static const char *const by_compute[] = {"matmul",
                                           "linear",
                                           "hypot",
                                           "sum_dim",
                                           "mean",
                                           "prod_dim",
                                           "max_dim",
                                           "min_dim",
                                           "cumsum",
                                           "cumprod",
                                           "cummin",
                                           "cummax",
                                           "gather",
                                           "scatter",
                                           "cast",
                                           "mask_where",
                                           "conv2d",
                                           "cat",
                                           "mask_fill",
                                           "avg_pool2d",
                                           "conv_transpose2d",
                                           "max_pool2d_with_indices",
                                           "adaptive_avg_pool2d"};
  for (size_t i = 0; i < sizeof by_memory / sizeof by_memory[0]; i++)
    if (!is_bound_by_memory(by_memory[i])) fail_msg("%s is bound by memory in Burn", by_memory[i]);
  for (size_t i = 0; i < sizeof by_compute / sizeof by_compute[0]; i++)
    if (is_bound_by_memory(by_compute[i])) fail_msg("%s is bound by compute in Burn", by_compute[i]);
}

/* -- memory ----------------------------------------------------------------------------------- */

static int64_t bytes_in_use(void) {
  check_ok(burn_device_sync(device), "sync");
  return burn_device_memory(device).bytes_in_use;
}

static const int64_t TENSOR_BYTES = (int64_t)sizeof(double) * SIDE * SIDE;

static BurnTensor *square_leaf(void) {
  return burn_require_grad(burn_full(device, BURN_SHAPE(SIDE, SIDE), BURN_DTYPE_F64, 0.01));
}

/* Five values of which the rules read four. */
static BurnTensor *block(BurnTensor *x, const BurnTensor *weight) {
  x = burn_matmul(x, burn_clone((BurnTensor *)(uintptr_t)weight));
  return burn_tanh(burn_exp(burn_sin(burn_square(x))));
}

static BurnTensor *blocks_forward(const BurnTensor *weight, bool in_regions) {
  BurnTensor *x = burn_full(device, BURN_SHAPE(SIDE, SIDE), BURN_DTYPE_F64, 0.5);
  for (int i = 0; i < BLOCKS; i++) {
    if (in_regions) check_ok(burn_checkpoint_begin(device), "begin");
    x = block(x, weight);
    if (in_regions) check_ok(burn_checkpoint_end(device), "end");
  }
  return burn_sum(x);
}

/* The gradient's first element, and the bytes that the graph holds before the backward pass. */
static double run_blocks(bool in_regions, int64_t *held) {
  const BurnMemoryStats before = burn_device_memory(device);
  BurnTensor *weight = square_leaf();
  const int64_t empty = bytes_in_use();
  BurnTensor *root = blocks_forward(weight, in_regions);
  *held = bytes_in_use() - empty;
  BurnGradients *gradients = NULL;
  check_ok(burn_backward(root, &gradients), "blocks");
  double value = 0;
  check_ok(burn_read_scalar(burn_narrow(burn_flatten(burn_grad(weight, gradients), 0, -1), 0, 0, 1), &value), "blocks");
  burn_drop(weight);
  burn_gradients_drop(gradients);
  const BurnMemoryStats after = burn_device_memory(device);
  assert_int_equal(after.live_tensors, before.live_tensors);
  assert_int_equal(after.bytes_in_use, before.bytes_in_use);
  return value;
}

static void memory_falls(void **state) {
  (void)state;
  int64_t kept = 0, balanced = 0, regions = 0;
  device = kept_device;
  const double expected = run_blocks(false, &kept);
  assert_true(run_blocks(true, &regions) == expected);
  device = balanced_device;
  assert_true(run_blocks(false, &balanced) == expected);
  /* Of a block: all but the sum's input; the product, which is not bound by memory, and what goes into the next; that. */
  assert_true(kept >= 4 * BLOCKS * TENSOR_BYTES);
  assert_true(balanced <= (2 * BLOCKS + 2) * TENSOR_BYTES);
  assert_true(regions <= (BLOCKS + 2) * TENSOR_BYTES);
}

/* Neither of the sum's users reads it in the backward pass, so its summands go with the tensor. */
static void what_nobody_reads_is_not_kept(void **state) {
  (void)state;
  device = balanced_device;
  BurnTensor *x = square_leaf(), *shift = burn_ones(device, BURN_SHAPE(SIDE, SIDE), BURN_DTYPE_F64);
  const int64_t before = bytes_in_use();
  BurnTensor *product = burn_matmul(burn_clone(x), burn_clone(x)); /* kept by the sum while that lives */
  BurnTensor *root = burn_sum(burn_mul_scalar(burn_add(product, shift), 2));
  assert_true(bytes_in_use() - before < TENSOR_BYTES / 2);
  burn_drop(root);
  burn_drop(x);
}

/* -- regions ---------------------------------------------------------------------------------- */

static double first_of_gradient(BurnTensor *root, const BurnTensor *x) {
  BurnGradients *gradients = NULL;
  double value = 0;
  check_ok(burn_backward(root, &gradients), "backward");
  check_ok(burn_read_scalar(burn_narrow(burn_flatten(burn_grad(x, gradients), 0, -1), 0, 0, 1), &value), "gradient");
  burn_gradients_drop(gradients);
  return value;
}

static BurnTensor *small_leaf(double value) {
  return burn_require_grad(burn_tensor_f64(device, (const double[]){value, 1}, BURN_SHAPE(2)));
}

static void check_near(double value, double expected) {
  if (!(fabs(value - expected) <= 1e-12 * fmax(1, fabs(expected)))) fail_msg("%.17g, not %.17g", value, expected);
}

/* Inside, outside, and by a region inside: what is read where. */
static void results_may_leave_their_region(void **state) {
  (void)state;
  device = kept_device;
  BurnTensor *x = small_leaf(0.5), *outside = burn_exp(burn_clone(x));
  check_ok(burn_checkpoint_begin(device), "begin");
  check_ok(burn_checkpoint_begin(device), "inside");
  BurnTensor *s = burn_sin(burn_clone(outside));
  check_ok(burn_checkpoint_end(device), "inside");
  BurnTensor *c = burn_mul(burn_clone(s), burn_clone(outside)); /* still in the region */
  check_ok(burn_checkpoint_end(device), "end");
  BurnTensor *root = burn_sum(burn_mul(burn_mul(c, s), outside));
  const double e = exp(0.5);
  check_near(first_of_gradient(root, x), 2 * e * e * sin(e) * sin(e) + 2 * e * e * e * sin(e) * cos(e));
  burn_drop(x);
}

/* A walk that creates a graph while a region is open records there what a later walk computes again; values that came
 * from another region do not. */
static void gradients_may_be_made_in_a_region(void **state) {
  (void)state;
  for (size_t mode = 0; mode < 2; mode++) {
    device = *modes[mode].device;
    BurnTensor *x = small_leaf(0.5);
    BurnGradients *gradients = NULL;
    check_ok(burn_checkpoint_begin(device), "begin");
    BurnTensor *e = burn_exp(burn_clone(x));
    check_ok(burn_checkpoint_end(device), "end");
    check_ok(burn_checkpoint_begin(device), "begin");
    BurnTensor *root = burn_sum(burn_sin(burn_mul(burn_clone(x), e)));
    check_ok(burn_backward_create_graph(root, &gradients), "first");
    BurnTensor *slope = burn_sum(burn_grad(x, gradients));
    check_ok(burn_checkpoint_end(device), "end");
    burn_gradients_drop(gradients);
    const double a = 0.5 * exp(0.5), da = 1.5 * exp(0.5), dda = 2.5 * exp(0.5);
    check_near(first_of_gradient(slope, x), -sin(a) * da * da + cos(a) * dda);
    burn_drop(x);
  }
}

/* A mask that was drawn has no history: it is kept, not drawn anew. */
static void drawn_numbers_stay(void **state) {
  (void)state;
  device = kept_device;
  BurnTensor *x = small_leaf(0.5);
  check_ok(burn_checkpoint_begin(device), "begin");
  BurnTensor *mask = burn_random_uniform(device, BURN_SHAPE(2), BURN_DTYPE_F64, 1, 2), *seen = burn_clone(mask);
  BurnTensor *y = burn_exp(burn_mul(burn_clone(x), mask));
  check_ok(burn_checkpoint_end(device), "end");
  double factor[2] = {0, 0};
  check_ok(burn_read_f64(seen, factor, 2), "mask");
  check_near(first_of_gradient(burn_sum(y), x), factor[0] * exp(0.5 * factor[0]));
  burn_drop(x);
}

static BurnTensor *doublings(BurnTensor *x, int count) {
  for (int i = 0; i < count; i++) x = burn_mul_scalar(burn_mul(burn_clone(x), x), 1);
  return x;
}

/* Values that are read twice are computed again once: else this would take 2^60 steps. */
static void a_value_is_computed_again_once(void **state) {
  (void)state;
  for (size_t mode = 1; mode < MODE_COUNT; mode++) {
    use_mode(&modes[mode]);
    BurnTensor *x = small_leaf(1);
    if (checkpointed) check_ok(burn_checkpoint_begin(device), "begin");
    BurnTensor *y = doublings(burn_clone(x), 60);
    if (checkpointed) check_ok(burn_checkpoint_end(device), "end");
    check_near(first_of_gradient(burn_sum(y), x), 1152921504606846976.0);
    burn_drop(x);
  }
}

static void long_regions_do_not_recurse(void **state) {
  (void)state;
  device = kept_device;
  BurnTensor *x = small_leaf(1), *y = burn_clone(x);
  check_ok(burn_checkpoint_begin(device), "begin");
  for (int i = 0; i < 100000; i++) y = burn_tanh(y);
  check_ok(burn_checkpoint_end(device), "end");
  const double gradient = first_of_gradient(burn_sum(burn_clone(y)), x);
  assert_true(gradient > 0 && gradient < 1e-3);
  burn_drop(y);
  burn_drop(x);
}

static void check_refused(BurnStatus status, uint32_t code, const char *part) {
  assert_int_equal(burn_status_code(status), code);
  if (!strstr(burn_status_message(status), part))
    fail_msg("\"%s\" does not say \"%s\"", burn_status_message(status), part);
}

static void *end_region(void *status) {
  *(BurnStatus *)status = burn_checkpoint_end(device);
  return NULL;
}

static void an_end_needs_a_begin(void **state) {
  (void)state;
  device = kept_device;
  BurnStatus of_thread = BURN_OK;
  pthread_t thread;
  check_refused(burn_checkpoint_end(device), BURN_STATUS_FAILED_PRECONDITION,
                "checkpoint_end: this thread has no region open on the device; call checkpoint_begin before");
  check_ok(burn_checkpoint_begin(device), "begin");
  assert_int_equal(pthread_create(&thread, NULL, end_region, &of_thread), 0);
  pthread_join(thread, NULL);
  check_refused(of_thread, BURN_STATUS_FAILED_PRECONDITION, "this thread has no region open");
  check_refused(burn_checkpoint_end(balanced_device), BURN_STATUS_FAILED_PRECONDITION, "no region open on the device");
  check_ok(burn_checkpoint_end(device), "end");
  check_refused(burn_checkpoint_end(device), BURN_STATUS_FAILED_PRECONDITION, "this thread has no region open");
}

static void without_autodiff_they_do_nothing(void **state) {
  (void)state;
  BurnDevice *inner = burn_device_inner(kept_device);
  check_ok(burn_checkpoint_begin(inner), "begin");
  check_ok(burn_checkpoint_end(inner), "end");
  check_ok(burn_checkpoint_end(inner), "end without begin");
  BurnDevice *wrong = burn_device_open("autodiff:checkpointing=some<ndarray>");
  check_refused(burn_device_status(wrong), BURN_STATUS_INVALID_ARGUMENT,
                "autodiff: checkpointing=some is neither none nor balanced");
  burn_device_close(wrong);
}

static void *begin_region(void *argument) {
  (void)argument;
  if (burn_checkpoint_begin(device) != BURN_OK) return NULL;
  BurnTensor *x = square_leaf();
  BurnTensor *root = blocks_forward(x, true);
  BurnGradients *gradients = NULL;
  if (burn_backward(root, &gradients) == BURN_OK) burn_gradients_drop(gradients); /* in the region, too */
  burn_drop(x);
  return NULL;
}

/* Its thread ends, and it goes with the device; other threads never see it. */
static void a_region_may_stay_open(void **state) {
  (void)state;
  char text[300];
  (void)snprintf(text, sizeof text, "%s", burn_device_name(kept_device));
  device = burn_device_open(text);
  check_ok(burn_device_status(device), text);
  pthread_t threads[THREAD_COUNT];
  for (int i = 0; i < THREAD_COUNT; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, begin_region, NULL), 0);
    pthread_join(threads[i], NULL);
  }
  int64_t kept = 0;
  (void)run_blocks(false, &kept);
  assert_true(kept >= 4 * BLOCKS * TENSOR_BYTES);
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
  burn_device_close(device);
}

/* -- failures --------------------------------------------------------------------------------- */

static BurnTensor *region_of_three(BurnDevice *limited, BurnTensor *x) {
  check_ok(burn_checkpoint_begin(limited), "begin");
  BurnTensor *y = burn_square(burn_sin(burn_exp(x)));
  check_ok(burn_checkpoint_end(limited), "end");
  return burn_sum(y);
}

/* No memory is left when exp is to be computed again: backward says so, nothing leaks, and where the graph is not
 * consumed it works once there is memory. */
static void a_failure_names_the_op(void **state) {
  (void)state;
  enum { COUNT = 16384 };
  BurnDevice *limited = burn_device_open("autodiff<ndarray:memory_limit=1MiB>");
  check_ok(burn_device_status(limited), "memory_limit");
  BurnTensor *x = burn_require_grad(burn_full(limited, BURN_SHAPE(COUNT), BURN_DTYPE_F64, 0.5));
  BurnTensor *root = region_of_three(limited, burn_clone(x));
  BurnTensor *filler = burn_zeros(limited, BURN_SHAPE(6 * COUNT), BURN_DTYPE_F64);
  check_ok(burn_tensor_status(filler), "filler");
  BurnGradients *gradients = NULL;
  burn_device_trim(limited);
  const int64_t before = burn_device_memory(limited).live_tensors;
  check_refused(burn_backward_create_graph(burn_clone(root), &gradients), BURN_STATUS_OUT_OF_MEMORY,
                "checkpoint, computing again");
  assert_null(gradients);
  assert_int_equal(burn_device_memory(limited).live_tensors, before);
  burn_drop(filler);
  check_near(first_of_gradient(root, x), 2 * sin(exp(0.5)) * cos(exp(0.5)) * exp(0.5));
  root = region_of_three(limited, burn_clone(x));
  filler = burn_zeros(limited, BURN_SHAPE(6 * COUNT), BURN_DTYPE_F64);
  check_refused(burn_backward(root, &gradients), BURN_STATUS_OUT_OF_MEMORY,
                "backward of mul: checkpoint, computing again exp: exp: no memory for a result [16384] of f64");
  burn_drop(filler);
  burn_drop(x);
  assert_int_equal(burn_device_memory(limited).live_tensors, 0);
  burn_device_close(limited);
}

/* -- threads ---------------------------------------------------------------------------------- */

typedef struct Worker {
  pthread_t thread;
  BurnTensor *x, *y; /* of this worker */
  BurnStatus status;
  double value;
} Worker;

static void note(Worker *worker, BurnStatus status) {
  if (worker->status == BURN_OK) worker->status = status;
}

static void *walk_own_regions(void *argument) {
  Worker *worker = argument;
  for (int i = 0; i < 50 && worker->status == BURN_OK; i++) {
    BurnGradients *gradients = NULL;
    note(worker, burn_checkpoint_begin(device));
    BurnTensor *y = burn_exp(burn_mul(burn_clone(worker->x), burn_clone(worker->x)));
    note(worker, burn_checkpoint_end(device));
    note(worker, burn_backward(burn_sum(burn_sin(y)), &gradients));
    if (worker->status != BURN_OK) break;
    note(worker, burn_read_scalar(burn_narrow(burn_grad_remove(worker->x, gradients), 0, 0, 1), &worker->value));
    burn_gradients_drop(gradients);
  }
  burn_drop(worker->x);
  return NULL;
}

static void threads_have_regions_of_their_own(void **state) {
  (void)state;
  device = kept_device;
  Worker workers[THREAD_COUNT];
  BurnTensor *x = small_leaf(0.5);
  for (int i = 0; i < THREAD_COUNT; i++) {
    workers[i] = (Worker){.x = burn_clone(x)};
    assert_int_equal(pthread_create(&workers[i].thread, NULL, walk_own_regions, &workers[i]), 0);
  }
  for (int i = 0; i < THREAD_COUNT; i++) pthread_join(workers[i].thread, NULL);
  for (int i = 0; i < THREAD_COUNT; i++) {
    check_ok(workers[i].status, "worker");
    check_near(workers[i].value, cos(exp(0.25)) * exp(0.25));
  }
  burn_drop(x);
}

/* Takes y and gives sin(y * x) in a region of the thread. */
static void *go_on(void *argument) {
  Worker *worker = argument;
  note(worker, burn_checkpoint_begin(device));
  worker->y = burn_sin(burn_mul(worker->y, worker->x));
  note(worker, burn_checkpoint_end(device));
  return NULL;
}

static void *walk_back(void *argument) {
  Worker *worker = argument;
  BurnGradients *gradients = NULL;
  note(worker, burn_backward(worker->y, &gradients));
  if (worker->status != BURN_OK) return NULL;
  note(worker, burn_read_scalar(burn_narrow(burn_grad_remove(worker->x, gradients), 0, 0, 1), &worker->value));
  burn_gradients_drop(gradients);
  return NULL;
}

static Worker run_on_thread(void *(*work)(void *), BurnTensor *y, BurnTensor *x) {
  Worker worker = {.x = x, .y = y};
  assert_int_equal(pthread_create(&worker.thread, NULL, work, &worker), 0);
  pthread_join(worker.thread, NULL);
  check_ok(worker.status, "thread");
  return worker;
}

/* Begun here, gone on with on two threads, joined here and walked from a third. */
static void a_graph_may_be_built_on_several_threads(void **state) {
  (void)state;
  device = kept_device;
  BurnTensor *x = small_leaf(0.5), *y = burn_exp(burn_clone(x));
  BurnTensor *left = run_on_thread(go_on, burn_clone(y), burn_clone(x)).y;
  BurnTensor *right = run_on_thread(go_on, burn_clone(left), burn_clone(x)).y;
  BurnTensor *root = burn_sum(burn_mul(burn_mul(left, right), y));
  const double e = exp(0.5), a = 0.5 * e, l = sin(a), dl = cos(a) * (e + a), r = sin(l * 0.5);
  const double dr = cos(l * 0.5) * (dl * 0.5 + l);
  const Worker walked = run_on_thread(walk_back, root, x);
  check_near(walked.value, dl * r * e + l * dr * e + l * r * e);
  burn_drop(x);
}

/* Two graphs, each built on two threads, walked at once; they have the leaf in common. */
static void graphs_of_several_threads_are_walked_at_once(void **state) {
  (void)state;
  device = kept_device;
  for (int round = 0; round < 20; round++) {
    Worker workers[THREAD_COUNT];
    BurnTensor *x = small_leaf(0.5);
    for (int i = 0; i < THREAD_COUNT; i++) {
      BurnTensor *y = run_on_thread(go_on, burn_exp(burn_clone(x)), burn_clone(x)).y;
      workers[i] = (Worker){.x = x, .y = burn_sum(y)};
    }
    for (int i = 0; i < THREAD_COUNT; i++)
      assert_int_equal(pthread_create(&workers[i].thread, NULL, walk_back, &workers[i]), 0);
    for (int i = 0; i < THREAD_COUNT; i++) pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < THREAD_COUNT; i++) {
      check_ok(workers[i].status, "walk");
      check_near(workers[i].value, cos(0.5 * exp(0.5)) * 1.5 * exp(0.5));
    }
    burn_drop(x);
  }
}

static int open_devices(void **state) {
  (void)state;
  kept_device = test_stack_device("ndarray", true);
  BurnStatus status = burn_device_status(kept_device);
  if (status == BURN_OK) {
    balanced_device = open_balanced(burn_device_name(kept_device));
    status = burn_device_status(balanced_device);
  }
  if (status != BURN_OK) print_error("%s\n", burn_status_message(status));
  return status != BURN_OK;
}

static int close_devices(void **state) {
  (void)state;
  const int64_t alive = burn_device_memory(kept_device).live_tensors + burn_device_memory(balanced_device).live_tensors;
  burn_device_close(balanced_device);
  burn_device_close(kept_device);
  if (alive != 0) print_error("%lld tensors are still alive\n", (long long)alive);
  return alive != 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_have_the_same_bits),
      cmocka_unit_test(second_derivatives_have_the_same_bits),
      cmocka_unit_test(balanced_computes_again_what_burn_does),
      cmocka_unit_test(memory_falls),
      cmocka_unit_test(what_nobody_reads_is_not_kept),
      cmocka_unit_test(results_may_leave_their_region),
      cmocka_unit_test(gradients_may_be_made_in_a_region),
      cmocka_unit_test(drawn_numbers_stay),
      cmocka_unit_test(a_value_is_computed_again_once),
      cmocka_unit_test(long_regions_do_not_recurse),
      cmocka_unit_test(an_end_needs_a_begin),
      cmocka_unit_test(without_autodiff_they_do_nothing),
      cmocka_unit_test(a_region_may_stay_open),
      cmocka_unit_test(a_failure_names_the_op),
      cmocka_unit_test(threads_have_regions_of_their_own),
      cmocka_unit_test(a_graph_may_be_built_on_several_threads),
      cmocka_unit_test(graphs_of_several_threads_are_walked_at_once),
  };
  return cmocka_run_group_tests_name("autodiff_checkpoint", tests, open_devices, close_devices);
}
