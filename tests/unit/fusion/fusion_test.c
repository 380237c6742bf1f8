/* fusion_test.c - burn_fusion.so: what is queued, planned, left out, given away; failures in the middle; threads. That
 * its numbers are those of the backend is what conformance and fuzzing of fusion<ndarray> show. */
#include "forked.h"

#include <burn/capture.h>
#include <burn/op_call.h>
#include <burn/plugin/fusion_statistics.h>
#include <math.h>
#include <pthread.h>
#include <time.h>

static BurnDevice *open_fusion(const char *stack) {
  BurnDevice *device = burn_device_open(stack);
  if (burn_device_status(device) != BURN_OK) fail_msg("%s: %s", stack, burn_status_message(burn_device_status(device)));
  return device;
}

/* What the fusion level of a stack has done; flushes. */
static BurnFusionStatistics statistics(const BurnDevice *device) {
  BurnFusionStatistics out = {.struct_size = sizeof out};
  for (const BurnBackend *level = burn_device_backend(device); level; level = burn_backend_below(level)) {
    BurnInterface found;
    if (!level->get_interface(level->self, BURN_FUSION_INTERFACE, 1, &found)) continue;
    ((const BurnFusionInterface *)found.table)->statistics(found.self, &out);
    return out;
  }
  fail_msg("no level of the stack has the interface " BURN_FUSION_INTERFACE);
  return out;
}

static void read_floats(BurnTensor *x, float *values, size_t count) {
  const BurnStatus status = burn_read_f32(x, values, count);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
}

/* -- what is computed ------------------------------------------------------------------------- */

static void test_nothing_is_computed_that_nobody_wants(void **state) {
  (void)state;
  BurnDevice *device = open_fusion("fusion<ndarray>");
  const float data[] = {1, 2, 3, 4};
  BurnTensor *x = burn_tensor_f32(device, data, BURN_SHAPE(4));
  burn_drop(burn_exp(burn_neg(burn_clone(x)))); /* dropped before anybody looked */
  BurnTensor *y = burn_add_scalar(x, 1);
  float values[4];
  read_floats(y, values, 4);
  assert_true(values[0] == 2 && values[3] == 5);
  const BurnFusionStatistics s = statistics(device);
  assert_int_equal(s.ops, 3);
  assert_int_equal(s.dead_ops, 2);
  assert_int_equal(s.calls + s.fused_ops, 1);
  assert_int_equal(s.flushes, 1);
  burn_device_close(device);
}

static BurnTensor *step(BurnTensor *x, BurnTensor *w, double rate) {
  BurnTensor *y = burn_tanh(burn_matmul(burn_clone(x), w));
  BurnTensor *delta = burn_mul_scalar(burn_sub(y, burn_mul_scalar(burn_clone(x), 0.5)), rate);
  return burn_sub(x, delta);
}

/* Numbers that change from step to step do not make another plan. */
static void test_a_loop_is_planned_once(void **state) {
  (void)state;
  BurnDevice *device = open_fusion("fusion<ndarray>");
  BurnTensor *x = burn_full(device, BURN_SHAPE(4, 4), 0, 0.25), *w = burn_full(device, BURN_SHAPE(4, 4), 0, 0.5);
  float values[16];
  for (int i = 0; i < 50; i++) {
    x = step(x, burn_clone(w), 0.1 / (i + 1));
    read_floats(burn_clone(x), values, 16);
  }
  const BurnFusionStatistics s = statistics(device);
  assert_int_equal(s.flushes, 50);
  assert_true(s.plans <= 2); /* the first also makes x and w */
  burn_drop(x);
  burn_drop(w);
  burn_device_close(device);
}

/* A loop that never reads is cut by what it records, so its pieces come again. */
static void test_a_loop_without_reads_finds_its_plans(void **state) {
  (void)state;
  BurnDevice *device = open_fusion("fusion<ndarray>");
  BurnTensor *x = burn_full(device, BURN_SHAPE(3, 3), 0, 0.25), *w = burn_full(device, BURN_SHAPE(3, 3), 0, 0.5);
  for (int i = 0; i < 20000; i++) x = step(x, burn_clone(w), 0.01);
  const BurnFusionStatistics s = statistics(device);
  assert_int_equal(s.ops, 2 + 6 * 20000);
  assert_true(s.flushes > 20000 * 6 / 1100);
  if (s.plans * 3 > s.flushes) fail_msg("%d plans for %d flushes", (int)s.plans, (int)s.flushes);
  burn_drop(x);
  burn_drop(w);
  burn_device_close(device);
}

/* A chain over large tensors runs in the memory of its first result. */
static void test_buffers_are_reused_as_soon_as_they_die(void **state) {
  (void)state;
  enum { COUNT = 1 << 18, BYTES = COUNT * 4 };
  BurnDevice *device = open_fusion("fusion<ndarray>");
  BurnTensor *x = burn_full(device, BURN_SHAPE(COUNT), 0, 1);
  for (int i = 0; i < 20; i++) x = burn_cumsum(burn_flip(x, (const int[]){0}, 1), 0); /* no body takes these */
  double value = 0;
  assert_true(burn_read_scalar(burn_max(x), &value) == BURN_OK);
  const BurnMemoryStats memory = burn_device_memory(device);
  if (memory.bytes_peak > 4 * BYTES)
    fail_msg("peak of %lld bytes for tensors of %d", (long long)memory.bytes_peak, BYTES);
  burn_device_close(device);
}

/* -- failures --------------------------------------------------------------------------------- */

static void test_a_failure_in_the_middle_names_its_op(void **state) {
  (void)state;
  BurnDevice *device = open_fusion("fusion<ndarray>");
  const float data[] = {1, 2, 3};
  const int64_t wrong[] = {0, 7};
  BurnTensor *x = burn_tensor_f32(device, data, BURN_SHAPE(3)),
             *indices = burn_tensor_i64(device, wrong, BURN_SHAPE(2));
  BurnTensor *bad = burn_exp(burn_select(burn_clone(x), 0, indices));
  BurnTensor *good = burn_mul_scalar(x, 2);
  BurnTensor *late = burn_add_scalar(burn_clone(bad), 1);
  float values[3];
  read_floats(good, values, 3); /* what does not depend on it goes on */
  assert_true(values[2] == 6);
  const BurnStatus status = burn_read_f32(late, values, 2);
  assert_int_equal(burn_status_code(status), BURN_STATUS_OUT_OF_RANGE);
  if (!strstr(burn_status_message(status), "select: ")) fail_msg("'%s'", burn_status_message(status));
  BurnTensor *after = burn_sin(bad); /* known to have failed by now */
  assert_int_equal(burn_status_code(burn_tensor_status(after)), BURN_STATUS_OUT_OF_RANGE);
  burn_drop(after);
  assert_int_equal(burn_status_code(burn_device_sync(device)), BURN_STATUS_OUT_OF_RANGE); /* once */
  assert_true(burn_device_sync(device) == BURN_OK);
  burn_device_close(device);
}

/* A result without elements is asked for, too: there is no other moment at which its failure could show. */
static void test_indices_into_an_empty_axis_fail(void **state) {
  (void)state;
  BurnDevice *device = open_fusion("fusion<ndarray>");
  const BurnShape none = BURN_SHAPE(0, 3), row = BURN_SHAPE(1, 3);
  const int64_t zeros[3] = {0};
  float nothing[1];
  BurnTensor *x =
      burn_select_assign(burn_zeros(device, none, BURN_DTYPE_F32), 0, burn_tensor_i64(device, zeros, BURN_SHAPE(1)),
                         burn_ones(device, row, BURN_DTYPE_F32), BURN_UPDATE_ADD);
  assert_string_equal(burn_status_message(burn_read_f32(x, nothing, 0)),
                      "select_assign: index 0 at position 0, but axis 0 is empty");
  x = burn_scatter(burn_zeros(device, none, BURN_DTYPE_F32), 0, burn_tensor_i64(device, zeros, row),
                   burn_ones(device, row, BURN_DTYPE_F32), BURN_UPDATE_ADD);
  assert_string_equal(burn_status_message(burn_read_f32(x, nothing, 0)),
                      "scatter: index 0 at position 0, but axis 0 is empty");
  burn_device_close(device);
}

/* A region of `calls` calls: a way forward, and one back that reads what the first has left, last first. */
static BurnTensor *there_and_back(BurnDevice *device, int64_t rows, int calls) {
  enum { MOST = 2000 };
  static BurnTensor *left[MOST];
  const int steps = calls / 8;
  BurnTensor *w = burn_full(device, BURN_SHAPE(4, 4), 0, 0.25), *x = burn_full(device, BURN_SHAPE(rows, 4), 0, 0.5);
  for (int i = 0; i < steps && steps <= MOST; i++) {
    left[i] = burn_tanh(burn_matmul(burn_clone(x), burn_clone(w)));
    x = burn_add(x, burn_mul_scalar(burn_clone(left[i]), 0.5));
  }
  for (int i = steps; i-- > 0 && steps <= MOST;) {
    BurnTensor *y = burn_matmul(burn_clone(x), burn_clone(w));
    x = burn_tanh(burn_sub(y, burn_mul(left[i], x)));
  }
  burn_drop(w);
  return x;
}

/* CPU time of a region that is planned, less that of the same region when its plan is there; its values in `values`. */
static double planning_time(BurnDevice *device, int64_t rows, int calls, float *values) {
  double times[2];
  for (int i = 0; i < 2; i++) {
    assert_int_equal(burn_capture_begin(device), BURN_OK);
    BurnTensor *x = there_and_back(device, rows, calls);
    const clock_t begin = clock();
    assert_int_equal(burn_capture_end(device, NULL), BURN_OK);
    read_floats(x, values, (size_t)rows * 4);
    times[i] = (double)(clock() - begin);
  }
  return times[0] - times[1];
}

/* Four times the calls take four times as long to plan, not sixteen, in one try at least: the machine may have other work
 * in between. And far readers get what the backend gives. */
static void test_planning_takes_time_by_the_calls(void **state) {
  enum { FEW = 4000, MANY = 16000, TRIES = 5, ROWS = 3 };
  float values[(ROWS + TRIES) * 4], expected[(ROWS + TRIES) * 4];
  double least = 1e30;
  (void)state;
  BurnDevice *device = open_fusion("fusion<ndarray>"), *plain = open_fusion("ndarray");
  for (int64_t rows = ROWS; rows < ROWS + TRIES; rows++) { /* a plan each */
    const double few = planning_time(device, rows, FEW, values);
    const double ratio = planning_time(device, rows, MANY, values) / few;
    if (few > 0) least = fmin(least, ratio);
    read_floats(there_and_back(plain, rows, MANY), expected, (size_t)rows * 4);
    assert_memory_equal(values, expected, (size_t)rows * 4 * sizeof *values);
  }
  if (!(least < 8)) fail_msg("%d calls take %g times as long as %d", MANY, least, FEW);
  burn_device_close(device);
  burn_device_close(plain);
}

static void test_wrong_options(void **state) {
  (void)state;
  static const char *const texts[][2] = {
      {"fusion:max_ops=0<ndarray>", "fusion: max_ops=0 is not a number from 1 to 4096"},
      {"fusion:max_bytes=much<ndarray>", "fusion: max_bytes=much is not a number from 1 to"},
      {"fusion:plans=-1<ndarray>", "fusion: plans=-1 is not a number from 1 to"},
      {"fusion:log=loud<ndarray>", "fusion: log=loud is unknown; it is true or false"},
      {"fusion:speed=high<ndarray>", "'fusion' has no option 'speed'; it has: max_ops, max_bytes, plans, replay, log"},
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    BurnDevice *device = burn_device_open(texts[i][0]);
    const BurnStatus status = burn_device_status(device);
    if (!strstr(burn_status_message(status), texts[i][1]))
      fail_msg("'%s': %s", texts[i][0], burn_status_message(status));
    burn_device_close(device);
  }
}

/* -- calls that the backend makes together ---------------------------------------------------- */

enum { ADAM_INPUTS = 4, ADAM_OUTPUTS = 3, ADAM_ATTRS = 6, ROOM = 1 << 16 };

/* Runs the body and puts what it writes to stderr into `text`. */
static void with_log(void (*body)(void *), void *context, char text[ROOM]) {
  FILE *log = tmpfile();
  assert_non_null(log);
  fflush(stderr);
  const int before = dup(STDERR_FILENO);
  dup2(fileno(log), STDERR_FILENO);
  body(context);
  fflush(stderr);
  dup2(before, STDERR_FILENO);
  close(before);
  rewind(log);
  text[fread(text, 1, ROOM - 1, log)] = '\0';
  fclose(log);
}

static int count_of(const char *text, const char *part) {
  int count = 0;
  for (; (text = strstr(text, part)) != NULL; text++) count++;
  return count;
}

typedef struct Steps {
  const char *stack;
  int count, rounds;
  int64_t elements;
  bool one_fails; /* the gradient of the second parameter */
  float *values;  /* [count][elements], of the parameters afterwards */
} Steps;

static BurnTensor *filled(BurnDevice *device, int64_t elements, int seed) {
  float *values = malloc((size_t)elements * sizeof *values);
  assert_non_null(values);
  for (int64_t i = 0; i < elements; i++) values[i] = (float)((i * 37 + seed * 11) % 101 + 1) / 101.0f;
  BurnTensor *x = burn_tensor_f32(device, values, BURN_SHAPE(elements));
  free(values);
  return x;
}

/* Rounds of adam_step over many parameters of different shapes; the gradients are computed, and depend on the
 * parameters. */
static void run_rounds(BurnDevice *device, const Steps *steps, BurnTensor **tensors) {
  const BurnOpInfo *op = NULL;
  const size_t count = (size_t)steps->count;
  BurnAttr *attrs = malloc(count * ADAM_ATTRS * sizeof *attrs);
  BurnTensor **outputs = malloc(count * ADAM_OUTPUTS * sizeof *outputs);
  assert_true(attrs && outputs && burn_op_find("adam_step", &op) == BURN_OK);
  for (int round = 0; round < steps->rounds; round++) {
    for (size_t i = 0; i < count; i++) {
      const double numbers[ADAM_ATTRS] = {0.9, 0.999, 1e-2 * (double)(i + 1), 1e-5, 1 - 1e-3, i % 2 ? 0.25 : 0};
      for (int k = 0; k < ADAM_ATTRS; k++) attrs[i * ADAM_ATTRS + (size_t)k] = burn_attr_f64(numbers[k]);
      BurnTensor *gradient = burn_mul_scalar(burn_clone(tensors[i * ADAM_INPUTS]), 0.5 + round);
      if (steps->one_fails && i == 1)
        gradient = burn_select(gradient, 0, burn_tensor_i64(device, (int64_t[]){-7, 0, 0}, BURN_SHAPE(3)));
      tensors[i * ADAM_INPUTS + 1] = gradient;
    }
    burn_op_calls(op, count, tensors, ADAM_INPUTS, attrs, outputs);
    for (size_t i = 0; i < count; i++) {
      tensors[i * ADAM_INPUTS] = outputs[i * ADAM_OUTPUTS];
      tensors[i * ADAM_INPUTS + 2] = outputs[i * ADAM_OUTPUTS + 1];
      tensors[i * ADAM_INPUTS + 3] = outputs[i * ADAM_OUTPUTS + 2];
    }
  }
  free(attrs);
  free(outputs);
}

static void run_steps(void *context) {
  Steps *steps = context;
  BurnDevice *device = open_fusion(steps->stack);
  BurnTensor **tensors = calloc((size_t)steps->count * ADAM_INPUTS, sizeof(BurnTensor *));
  assert_non_null(tensors);
  for (int i = 0; i < steps->count * ADAM_INPUTS; i++)
    if (i % ADAM_INPUTS != 1) tensors[i] = filled(device, steps->elements, i);
  run_rounds(device, steps, tensors);
  for (int i = 0; i < steps->count; i++) {
    float *values = steps->values + i * steps->elements;
    if (steps->one_fails && i == 1) {
      assert_int_equal(burn_status_code(burn_read_f32(tensors[ADAM_INPUTS], values, 3)), BURN_STATUS_OUT_OF_RANGE);
    } else {
      read_floats(tensors[i * ADAM_INPUTS], values, (size_t)steps->elements);
    }
    burn_drop(tensors[i * ADAM_INPUTS + 2]);
    burn_drop(tensors[i * ADAM_INPUTS + 3]);
  }
  free(tensors);
  assert_int_equal(burn_status_code(burn_device_sync(device)),
                   steps->one_fails ? BURN_STATUS_OUT_OF_RANGE : BURN_STATUS_OK);
  burn_device_close(device);
}

/* The bits of steps made one by one, and a launch per round; rounds have one plan, or, the first, one of its own. */
static void test_steps_of_optimizers_are_joined(void **state) {
  (void)state;
  static const int counts[] = {1, 2, 300};
  static char text[ROOM];
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    Steps alone = {.stack = "ndarray", .count = counts[i], .rounds = 2, .elements = 3}, joined = alone;
    const size_t bytes = (size_t)(counts[i] * alone.elements) * sizeof(float);
    joined.stack = "fusion:max_ops=4096:log=true<ndarray>";
    alone.values = calloc(2, bytes);
    assert_non_null(alone.values);
    joined.values = alone.values + (size_t)counts[i] * 3;
    run_steps(&alone);
    with_log(run_steps, &joined, text);
    assert_memory_equal(alone.values, joined.values, bytes);
    char line[64];
    (void)snprintf(line, sizeof line, "calls  %d times adam_step", counts[i]);
    assert_in_range(count_of(text, line), counts[i] > 1, counts[i] == 1 ? 0 : 2);
    free(alone.values);
  }
}

/* A step without its gradient fails alone. */
static void test_a_step_that_fails_leaves_the_others(void **state) {
  (void)state;
  float expected[4 * 3], values[4 * 3];
  Steps alone = {.stack = "ndarray", .count = 4, .rounds = 1, .elements = 3, .values = expected}, joined = alone;
  joined.stack = "fusion<ndarray>";
  joined.values = values;
  joined.one_fails = true;
  run_steps(&alone);
  run_steps(&joined);
  assert_memory_equal(values, expected, 3 * sizeof(float));
  assert_memory_equal(values + 6, expected + 6, 6 * sizeof(float));
}

/* A decorator that only passes the question for burn.calls on sees every call. */
static void test_a_decorator_between_sees_every_step(void **state) {
  (void)state;
  static char text[ROOM];
  float values[2 * 3];
  Steps steps = {.stack = "fusion:log=true<trace:format=count<ndarray>>",
                 .count = 2,
                 .rounds = 1,
                 .elements = 3,
                 .values = values};
  with_log(run_steps, &steps, text);
  assert_int_equal(count_of(text, "times adam_step"), 0);
}

/* -- threads ---------------------------------------------------------------------------------- */

enum { ROUNDS = 200 };

typedef struct Exchange {
  BurnDevice *device;
  BurnTensor *x; /* of the other thread; not computed yet */
  double sum;
} Exchange;

/* Goes on with tensors that another thread has queued, while that one goes on too. */
static void *continue_them(void *argument) {
  Exchange *exchange = argument;
  for (int i = 0; i < ROUNDS; i++) {
    double value = 0;
    BurnTensor *y = burn_add_scalar(burn_mul_scalar(burn_clone(exchange->x), 2), i);
    if (burn_read_scalar(burn_sum(y), &value) == BURN_OK) exchange->sum += value;
  }
  burn_drop(exchange->x);
  return NULL;
}

static void test_threads_use_each_others_tensors(void **state) {
  (void)state;
  enum { THREADS = 4 };
  BurnDevice *device = open_fusion("fusion<ndarray>");
  Exchange exchanges[THREADS];
  pthread_t threads[THREADS];
  BurnTensor *x = burn_add_scalar(burn_full(device, BURN_SHAPE(8), 0, 1), 1); /* queued here */
  for (int i = 0; i < THREADS; i++) {
    exchanges[i] = (Exchange){.device = device, .x = burn_clone(x)};
    assert_int_equal(pthread_create(&threads[i], NULL, continue_them, &exchanges[i]), 0);
  }
  for (int i = 0; i < ROUNDS; i++) x = burn_mul_scalar(burn_add_scalar(x, 0), 1);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) /* 8 * (4 + i), summed */
    assert_true(exchanges[i].sum == 8.0 * (4.0 * (double)ROUNDS + ROUNDS * (ROUNDS - 1) / 2.0));
  float values[8];
  read_floats(x, values, 8);
  assert_true(values[7] == 2);
  burn_device_close(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nothing_is_computed_that_nobody_wants),
      cmocka_unit_test(test_a_loop_is_planned_once),
      cmocka_unit_test(test_a_loop_without_reads_finds_its_plans),
      cmocka_unit_test(test_buffers_are_reused_as_soon_as_they_die),
      cmocka_unit_test(test_a_failure_in_the_middle_names_its_op),
      cmocka_unit_test(test_indices_into_an_empty_axis_fail),
      cmocka_unit_test(test_planning_takes_time_by_the_calls),
      cmocka_unit_test(test_wrong_options),
      cmocka_unit_test(test_steps_of_optimizers_are_joined),
      cmocka_unit_test(test_a_step_that_fails_leaves_the_others),
      cmocka_unit_test(test_a_decorator_between_sees_every_step),
      cmocka_unit_test(test_threads_use_each_others_tensors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
