/* fusion_capture_test.c - regions that a program marks (burn/capture.h): whole steps of training with the very bits of the same
 * steps run one by one, what reports say, regions that are split, differ or are left behind, and threads.
 *
 * BURN_TEST_BACKEND: another backend than ndarray. On one without burn.replay the same holds, but for the replaying. */
#include "status_testing.h"

#include <burn/burn.h>
#include <burn/nn.h>
#include <burn/op_call.h>
#include <burn/plugin/replay.h>
#include <burn/train.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CHECK(condition, ...)                \
  do {                                       \
    if (!(condition)) fail_msg(__VA_ARGS__); \
  } while (0)

static const char *backend_name(void) {
  const char *name = getenv("BURN_TEST_BACKEND");
  return name && *name ? name : "ndarray";
}

static BurnDevice *open_stack(const char *before, const char *after) {
  char stack[256];
  (void)snprintf(stack, sizeof stack, "%s%s%s", before, backend_name(), after);
  BurnDevice *device = burn_device_open(stack);
  CHECK(burn_device_status(device) == BURN_OK, "%s: %s", stack, burn_status_message(burn_device_status(device)));
  return device;
}

static void must_fail(BurnStatus status, uint32_t code, const char *part) {
  assert_int_equal(burn_status_code(status), code);
  CHECK(strstr(burn_status_message(status), part), "'%s' lacks '%s'", burn_status_message(status), part);
}

static bool can_replay(const BurnDevice *device) {
  BurnInterface found = {NULL, NULL};
  for (const BurnBackend *level = burn_device_backend(device); level; level = burn_backend_below(level))
    if (level->get_interface(level->self, BURN_REPLAY_INTERFACE, 1, &found)) return true;
  return false;
}

static BurnCaptureReport end(BurnDevice *device) {
  BurnCaptureReport report = {.struct_size = sizeof report};
  check_status(burn_capture_end(device, &report));
  return report;
}

static void check_reason(const BurnCaptureReport *report, const char *part) {
  CHECK(strstr(report->reason, part), "the reason is '%s', without '%s'", report->reason, part);
}

static BurnTensor *numbers(BurnDevice *device, int64_t count, double scale) {
  float values[256];
  for (int64_t i = 0; i < count; i++) values[i] = (float)(scale * (double)(i % 13 - 6) / 7);
  return burn_tensor_f32(device, values, BURN_SHAPE(count));
}

/* -- steps of training ------------------------------------------------------------------------ */

enum { IN = 8, HIDDEN = 16, OUT = 4, BATCH = 8, STEPS = 24, WEIGHTS = IN * HIDDEN + HIDDEN * OUT };

#define NET_FIELDS(X)         \
  X(BurnLinear, first, "")    \
  X(BurnDropout, dropout, "") \
  X(BurnLinear, second, "")
BURN_MODULE(Net, NET_FIELDS);

typedef struct Run {
  bool captured;
  int parts; /* batches whose gradients are added up in each step */
  float losses[STEPS], weights[WEIGHTS];
  BurnCaptureReport reports[STEPS];
} Run;

static BurnTensor *batch_of(BurnDevice *device, int64_t columns, int step) {
  float values[BATCH * HIDDEN];
  for (int i = 0; i < BATCH * (int)columns; i++) values[i] = (float)((i * 7 + step * 5) % 17 - 8) / 9;
  return burn_tensor_f32(device, values, BURN_SHAPE(BATCH, columns));
}

static BurnTensor *loss_of(const Net *net, BurnTensor *x, BurnTensor *y) {
  const BurnMseLoss mse = burn_mse_loss_init();
  x = burn_dropout_forward(&net->dropout, burn_relu(burn_linear_forward(&net->first, x)));
  return burn_mse_loss_forward(&mse, burn_linear_forward(&net->second, x), y, BURN_REDUCTION_MEAN);
}

/* The loss of the last batch. */
static BurnTensor *train(BurnDevice *device, Net *net, BurnOptimizer *optimizer, int parts, int step) {
  const BurnModule module = burn_module(Net, net);
  BurnGradientsParams *sum = NULL;
  BurnTensor *kept = NULL;
  for (int part = 0; part < parts; part++) {
    BurnGradients *gradients = NULL;
    burn_drop(kept);
    BurnTensor *loss = loss_of(net, batch_of(device, IN, step + part), batch_of(device, OUT, step - part));
    kept = burn_inner(burn_clone(loss));
    check_status(burn_backward(loss, &gradients));
    check_status(burn_gradients_accumulate(&sum, burn_gradients_params(gradients, module)));
  }
  check_status(burn_optimizer_step(optimizer, module, sum, 0.01 / (1 + step)));
  return kept;
}

static void run_steps(Run *run) {
  BurnDevice *device = open_stack(run->captured ? "autodiff<fusion<" : "autodiff<fusion:replay=false<", ">>");
  const BurnLinearConfig first = BurnLinearConfig_defaults(IN, HIDDEN), second = BurnLinearConfig_defaults(HIDDEN, OUT);
  const BurnDropoutConfig dropout = BurnDropoutConfig_defaults(0.25);
  burn_device_seed(device, 7);
  Net net = {burn_linear_init(&first, device), burn_dropout_init(&dropout, device), burn_linear_init(&second, device)};
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  for (int step = 0; step < STEPS; step++) {
    if (run->captured) check_status(burn_capture_begin(device));
    BurnTensor *loss = train(device, &net, optimizer, run->parts, step);
    if (run->captured) run->reports[step] = end(device);
    check_status(burn_read_f32(loss, &run->losses[step], 1));
  }
  check_status(burn_read_f32(burn_inner(burn_param_value(&net.first.weight)), run->weights, IN * HIDDEN));
  check_status(
      burn_read_f32(burn_inner(burn_param_value(&net.second.weight)), run->weights + IN * HIDDEN, HIDDEN * OUT));
  burn_optimizer_destroy(optimizer);
  Net_release(&net);
  burn_device_close(device);
}

static void check_reports(const Run *run) {
  BurnDevice *device = open_stack("fusion<", ">");
  const bool replays = can_replay(device);
  burn_device_close(device);
  for (int step = 0; step < STEPS; step++) {
    const BurnCaptureReport *report = &run->reports[step];
    CHECK(report->parts == 1 && report->calls > 10 && report->launches > 0 && report->launches <= report->calls,
          "step %d: %u parts, %d calls, %d launches: %s", step, report->parts, (int)report->calls,
          (int)report->launches, report->reason);
    if (!replays) {
      assert_int_equal(report->outcome, BURN_CAPTURE_SINGLE);
      check_reason(report, "has no burn.replay");
    } else if (step > STEPS / 2) {
      CHECK(report->outcome == BURN_CAPTURE_REPLAYED, "step %d is not replayed: %s", step, report->reason);
      assert_string_equal(report->reason, "");
      assert_true(report->replays > run->reports[step - 1].replays);
    }
  }
  if (!replays) return;
  check_reason(&run->reports[0], "the first region");
  check_reason(&run->reports[1], "differs from the last one"); /* the optimizer has states now */
  assert_int_equal(run->reports[2].outcome, BURN_CAPTURE_RECORDED);
  assert_int_equal(run->reports[3].outcome, BURN_CAPTURE_REPLAYED);
}

static void compare_runs(int parts) {
  static Run captured, eager;
  captured = (Run){.captured = true, .parts = parts};
  eager = (Run){.parts = parts};
  run_steps(&captured);
  run_steps(&eager);
  assert_memory_equal(captured.losses, eager.losses, sizeof eager.losses);
  assert_memory_equal(captured.weights, eager.weights, sizeof eager.weights);
  check_reports(&captured);
}

static void test_steps_of_training(void **state) {
  (void)state;
  compare_runs(1);
}

static void test_gradients_that_are_added_up(void **state) {
  (void)state;
  compare_runs(3);
}

/* -- reports ---------------------------------------------------------------------------------- */

/* A region of three calls. */
static BurnTensor *small(BurnTensor *x, double number) {
  return burn_sum_dim(burn_cumsum(burn_mul_scalar(burn_clone(x), number), 0), 0);
}

static double value_of(BurnTensor *x) {
  double value = 0;
  check_status(burn_read_scalar(x, &value));
  return value;
}

/* Runs a small region a few times. */
static void warm_up(BurnDevice *device, BurnTensor *x) {
  for (int i = 0; i < 4; i++) {
    check_status(burn_capture_begin(device));
    BurnTensor *y = small(x, i);
    (void)end(device);
    (void)value_of(y);
  }
}

static void test_a_region_is_not_cut(void **state) {
  enum { COUNT = 700 };
  (void)state;
  BurnDevice *device = open_stack("fusion:max_ops=16,max_bytes=100<", ">");
  BurnTensor *x = numbers(device, 64, 1);
  check_status(burn_capture_begin(device));
  for (int i = 0; i < COUNT; i++) x = burn_cumsum(burn_mul_scalar(x, 0.1), 0);
  const BurnCaptureReport report = end(device);
  assert_int_equal(report.parts, 1);
  assert_int_equal(report.calls, 2 * COUNT);
  burn_drop(x);
  burn_device_close(device);
}

static void test_what_was_queued_before_is_no_part(void **state) {
  (void)state;
  BurnDevice *device = open_stack("fusion<", ">");
  BurnTensor *x = burn_exp(numbers(device, 8, 1));
  check_status(burn_capture_begin(device));
  burn_drop(small(x, 2));
  check_status(burn_capture_end(device, NULL));
  check_status(burn_capture_begin(device));
  BurnTensor *y = small(x, 2);
  assert_int_equal(end(device).calls, 3);
  burn_drop(x);
  burn_drop(y);
  burn_device_close(device);
}

static void test_a_question_splits_the_region(void **state) {
  static const struct {
    int way;
    const char *reason;
  } rows[] = {{0, "a read of the result of sum_dim inside the region splits it: move it after burn_capture_end"},
              {1, "a sync inside the region"},
              {2, "a question about memory inside the region"},
              {3, "a trim of memory inside the region"}};
  (void)state;
  BurnDevice *device = open_stack("fusion<", ">");
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    BurnTensor *x = numbers(device, 8, 1);
    check_status(burn_capture_begin(device));
    BurnTensor *y = small(x, 3);
    if (rows[i].way == 0) (void)value_of(burn_clone(y));
    if (rows[i].way == 1) check_status(burn_device_sync(device));
    if (rows[i].way == 2) (void)burn_device_memory(device);
    if (rows[i].way == 3) burn_device_trim(device);
    BurnTensor *z = small(x, 4);
    const BurnCaptureReport report = end(device);
    check_reason(&report, rows[i].reason);
    assert_int_equal(report.parts, 2);
    assert_int_equal(report.calls, 6);
    burn_drop(x);
    burn_drop(y);
    burn_drop(z);
  }
  burn_device_close(device);
}

static void test_a_question_before_the_first_call_splits_nothing(void **state) {
  (void)state;
  BurnDevice *device = open_stack("fusion<", ">");
  BurnTensor *x = numbers(device, 8, 1);
  check_status(burn_capture_begin(device));
  check_status(burn_device_sync(device));
  float values[8];
  check_status(burn_read_f32(burn_clone(x), values, 8)); /* what was there before splits nothing anywhere */
  BurnTensor *y = small(x, 3);
  check_status(burn_read_f32(x, values, 8));
  assert_int_equal(end(device).parts, 1);
  burn_drop(y);
  burn_device_close(device);
}

static void test_a_region_that_differs(void **state) {
  (void)state;
  BurnDevice *device = open_stack("fusion<", ">");
  if (!can_replay(device)) {
    burn_device_close(device);
    skip();
  }
  BurnTensor *x = numbers(device, 8, 1);
  warm_up(device, x);
  check_status(burn_capture_begin(device));
  BurnTensor *y = burn_cumsum(burn_mul_scalar(burn_clone(x), 2), 0), *z = burn_cumprod(burn_clone(y), 0);
  BurnCaptureReport report = end(device);
  check_reason(&report, "differs from the last one from call 2 on (cumprod)");
  assert_int_equal(report.outcome, BURN_CAPTURE_SINGLE);
  burn_drop(y);
  burn_drop(z);
  check_status(burn_capture_begin(device)); /* the first result is not held here */
  y = burn_cumprod(burn_cumsum(burn_mul_scalar(burn_clone(x), 2), 0), 0);
  report = end(device);
  check_reason(&report, "in what is held of its results");
  check_status(burn_capture_begin(device));
  report = end(device);
  check_reason(&report, "nothing was called");
  assert_int_equal(report.parts, 0);
  burn_drop(x);
  burn_drop(y);
  burn_device_close(device);
}

static void test_a_result_that_is_held(void **state) {
  (void)state;
  BurnDevice *device = open_stack("fusion<", ">");
  if (!can_replay(device)) {
    burn_device_close(device);
    skip();
  }
  const bool lends = strncmp(backend_name(), "cuda", 4) == 0; /* ndarray's results have memory of their own */
  BurnTensor *x = numbers(device, 8, 1), *held[6];
  warm_up(device, x);
  BurnCaptureReport report = {.struct_size = sizeof report};
  for (int i = 0; i < 6; i++) {
    check_status(burn_capture_begin(device));
    held[i] = small(x, i);
    check_status(burn_capture_end(device, &report));
    if (i == 0) assert_int_equal(report.outcome, BURN_CAPTURE_REPLAYED);
    if (i == 1 && lends) check_reason(&report, "a result of the last run is still held (of sum_dim)");
  }
  CHECK(report.outcome == BURN_CAPTURE_REPLAYED, "with copies it is not replayed: %s", report.reason);
  for (int i = 0; i < 6; i++) assert_true(value_of(held[i]) == value_of(small(x, i)));
  burn_drop(x);
  burn_device_close(device);
}

static void test_an_input_that_moves(void **state) {
  (void)state;
  BurnDevice *device = open_stack("fusion<", ">");
  if (!can_replay(device)) {
    burn_device_close(device);
    skip();
  }
  BurnTensor *x = numbers(device, 8, 1), *others[8];
  warm_up(device, x);
  BurnCaptureReport report = {.struct_size = sizeof report};
  for (int i = 0; i < 8; i++) {
    others[i] = numbers(device, 8, i + 2);
    check_status(burn_capture_begin(device));
    BurnTensor *y = small(others[i], 1);
    check_status(burn_capture_end(device, &report));
    if (i == 0) check_reason(&report, "an input has moved (input 1 of 1, read by mul_scalar)");
    assert_true(value_of(y) == value_of(small(others[i], 1)));
  }
  CHECK(report.outcome == BURN_CAPTURE_REPLAYED, "with a copy of the input it is not replayed: %s", report.reason);
  for (int i = 0; i < 8; i++) burn_drop(others[i]);
  burn_drop(x);
  burn_device_close(device);
}

/* A view of the input is held in the first two runs, so that it is held in another way in the third. */
static void test_an_input_that_is_held(void **state) {
  (void)state;
  BurnDevice *device = open_stack("fusion<", ">");
  if (!can_replay(device)) {
    burn_device_close(device);
    skip();
  }
  BurnTensor *x = numbers(device, 8, 1);
  warm_up(device, x);
  BurnTensor *view = burn_reshape(burn_clone(x), BURN_SHAPE(2, 4));
  check_status(burn_device_sync(device));
  BurnCaptureReport report = {.struct_size = sizeof report};
  for (int i = 0; i < 5; i++) {
    if (i == 2) burn_drop(view);
    check_status(burn_capture_begin(device));
    BurnTensor *y = small(x, 1);
    check_status(burn_capture_end(device, &report));
    if (i == 2) check_reason(&report, "input 1 of 1, read by mul_scalar, is held, or laid out, in another way");
    assert_true(value_of(y) == value_of(small(x, 1)));
  }
  CHECK(report.outcome == BURN_CAPTURE_REPLAYED, "held alike it is not replayed: %s", report.reason);
  burn_drop(x);
  burn_device_close(device);
}

/* A state that each round replaces, as that of a recurrent network, lies elsewhere each time. */
static void test_a_state_that_is_fed_back(void **state) {
  enum { ROUNDS = 12 };
  float values[2][8];
  (void)state;
  for (int captured = 0; captured < 2; captured++) {
    BurnDevice *device = open_stack(captured ? "fusion<" : "fusion:replay=false<", ">");
    BurnTensor *x = numbers(device, 8, 1);
    BurnCaptureReport report = {.struct_size = sizeof report};
    for (int i = 0; i < ROUNDS; i++) {
      check_status(burn_capture_begin(device));
      BurnTensor *summed = burn_cumsum(burn_mul_scalar(burn_clone(x), 0.1 * i), 0);
      x = burn_tanh(burn_sub(x, summed));
      check_status(burn_capture_end(device, &report));
    }
    if (captured && can_replay(device))
      CHECK(report.outcome == BURN_CAPTURE_REPLAYED && report.replays > ROUNDS / 2, "%d replays: %s",
            (int)report.replays, report.reason);
    check_status(burn_read_f32(x, values[captured], 8));
    burn_device_close(device);
  }
  assert_memory_equal(values[0], values[1], sizeof values[0]);
}

static void test_replay_is_off(void **state) {
  (void)state;
  BurnDevice *device = open_stack("fusion:replay=false<", ">");
  BurnTensor *x = numbers(device, 8, 1);
  check_status(burn_capture_begin(device));
  BurnTensor *y = small(x, 3);
  const BurnCaptureReport report = end(device);
  check_reason(&report, "fusion was opened with replay=false");
  burn_drop(x);
  burn_drop(y);
  burn_device_close(device);
}

/* An older program's report is shorter. */
static void test_a_short_report(void **state) {
  (void)state;
  BurnDevice *device = open_stack("fusion<", ">");
  BurnCaptureReport report;
  memset(&report, 0x5a, sizeof report);
  report.struct_size = offsetof(BurnCaptureReport, calls);
  check_status(burn_capture_begin(device));
  check_status(burn_capture_end(device, &report));
  assert_int_equal(report.struct_size, offsetof(BurnCaptureReport, calls));
  assert_int_equal(report.parts, 0);
  assert_int_equal(report.calls, UINT64_C(0x5a5a5a5a5a5a5a5a));
  burn_device_close(device);
}

/* -- what is refused -------------------------------------------------------------------------- */

static void test_pairs(void **state) {
  (void)state;
  BurnDevice *device = open_stack("autodiff<fusion<", ">>");
  must_fail(burn_capture_end(device, NULL), BURN_STATUS_FAILED_PRECONDITION, "call capture_begin before");
  check_status(burn_capture_begin(device));
  must_fail(burn_capture_begin(device), BURN_STATUS_FAILED_PRECONDITION, "regions do not nest");
  must_fail(burn_capture_begin(burn_device_inner(device)), BURN_STATUS_FAILED_PRECONDITION, "regions do not nest");
  check_status(burn_capture_end(device, NULL));
  must_fail(burn_capture_end(device, NULL), BURN_STATUS_FAILED_PRECONDITION, "call capture_begin before");
  burn_device_close(device);
  device = open_stack("autodiff<", ">");
  must_fail(burn_capture_begin(device), BURN_STATUS_FAILED_PRECONDITION, "put fusion on it");
  must_fail(burn_capture_end(device, NULL), BURN_STATUS_FAILED_PRECONDITION, "put fusion on it");
  burn_device_close(device);
  must_fail(burn_capture_begin(NULL), BURN_STATUS_INVALID_ARGUMENT, "NULL");
}

static void test_decorators_pass_regions_on(void **state) {
  static const char *const stacks[][2] = {{"trace:format=count,file=/dev/null<autodiff<fusion<", ">>>"},
                                          {"autocast<autodiff<fusion<", ">>>"},
                                          {"fusion<trace:format=count,file=/dev/null<", ">>"},
                                          {"validate<fusion<", ">>"}};
  (void)state;
  for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
    BurnDevice *device = open_stack(stacks[i][0], stacks[i][1]);
    BurnTensor *x = numbers(device, 8, 1);
    check_status(burn_capture_begin(device));
    BurnTensor *y = small(x, 3);
    const BurnCaptureReport report = end(device);
    CHECK(report.calls >= 3, "%s..%s: %d calls", stacks[i][0], stacks[i][1], (int)report.calls);
    burn_drop(x);
    burn_drop(y);
    burn_device_close(device);
  }
}

static void test_a_call_that_fails(void **state) {
  (void)state;
  BurnDevice *device = open_stack("fusion<", ">");
  const int64_t wrong[] = {0, 9};
  for (int i = 0; i < 5; i++) {
    check_status(burn_capture_begin(device));
    BurnTensor *indices = burn_tensor_i64(device, wrong, BURN_SHAPE(2));
    BurnTensor *bad = burn_exp(burn_select(numbers(device, 8, 1), 0, indices));
    check_status(burn_capture_end(device, NULL));
    float values[2];
    const BurnStatus status = burn_read_f32(bad, values, 2);
    if (strncmp(backend_name(), "cuda", 4) != 0) must_fail(status, BURN_STATUS_OUT_OF_RANGE, "9");
  }
  (void)burn_status_code(burn_device_sync(device));
  burn_device_close(device);
}

/* -- threads ---------------------------------------------------------------------------------- */

typedef struct Worker {
  BurnDevice *device;
  pthread_t thread;
  double scale;
  bool right;
} Worker;

static void *work(void *context) {
  enum { ROUNDS = 40 };
  Worker *worker = context;
  BurnTensor *x = numbers(worker->device, 8, worker->scale);
  float expected[8], values[8];
  worker->right = burn_read_f32(burn_cumsum(burn_mul_scalar(burn_clone(x), 3), 0), expected, 8) == BURN_OK;
  for (int i = 0; i < ROUNDS && worker->right; i++) {
    BurnCaptureReport report = {.struct_size = sizeof report};
    worker->right = burn_capture_begin(worker->device) == BURN_OK;
    BurnTensor *y = burn_cumsum(burn_mul_scalar(burn_clone(x), 3), 0);
    worker->right = worker->right && burn_capture_end(worker->device, &report) == BURN_OK && report.parts == 1 &&
                    report.calls == 2 && burn_read_f32(y, values, 8) == BURN_OK &&
                    memcmp(values, expected, sizeof values) == 0;
  }
  burn_drop(x);
  return NULL;
}

static void test_threads_with_regions_of_their_own(void **state) {
  Worker workers[4];
  (void)state;
  BurnDevice *device = open_stack("fusion<", ">");
  for (int i = 0; i < 4; i++) {
    workers[i] = (Worker){.device = device, .scale = i + 1};
    assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < 4; i++) {
    (void)pthread_join(workers[i].thread, NULL);
    CHECK(workers[i].right, "thread %d has other results", i);
  }
  burn_device_close(device);
}

static void *leave_region(void *context) {
  Worker *worker = context;
  worker->right = burn_capture_begin(worker->device) == BURN_OK;
  burn_drop(burn_exp(numbers(worker->device, 8, 1)));
  return NULL;
}

/* More of them than there are queues: regions that were left behind are nobody's. */
static void test_threads_that_end_in_a_region(void **state) {
  enum { THREADS = 80 };
  (void)state;
  BurnDevice *device = open_stack("fusion<", ">");
  BurnTensor *x = numbers(device, 8, 1);
  for (int i = 0; i < THREADS; i++) {
    Worker worker = {.device = device};
    assert_int_equal(pthread_create(&worker.thread, NULL, leave_region, &worker), 0);
    (void)pthread_join(worker.thread, NULL);
    CHECK(worker.right, "thread %d cannot begin a region", i);
    check_status(burn_capture_begin(device));
    BurnTensor *y = small(x, 3);
    const BurnCaptureReport report = end(device);
    CHECK(report.parts == 1 && report.calls == 3, "%u parts, %d calls", report.parts, (int)report.calls);
    (void)value_of(y);
  }
  burn_drop(x);
  check_status(burn_device_sync(device));
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
  burn_device_close(device);
}

/* A result that another thread uses is computed for it, which splits the region. */
static void *use_result(void *context) {
  Worker *worker = context;
  BurnTensor *x = numbers(worker->device, 8, worker->scale);
  check_status(burn_capture_begin(worker->device));
  BurnTensor *y = burn_exp(x);
  worker->right = burn_capture_end(worker->device, NULL) == BURN_OK;
  burn_drop(y);
  return NULL;
}

static void test_other_threads_go_on(void **state) {
  (void)state;
  BurnDevice *device = open_stack("fusion<", ">");
  BurnTensor *x = numbers(device, 8, 1);
  check_status(burn_capture_begin(device));
  BurnTensor *y = small(x, 3);
  Worker worker = {.device = device, .scale = 1};
  assert_int_equal(pthread_create(&worker.thread, NULL, use_result, &worker), 0);
  (void)pthread_join(worker.thread, NULL);
  assert_true(worker.right);
  BurnTensor *z = small(x, 4);
  const BurnCaptureReport report = end(device);
  assert_int_equal(report.parts, 1);
  assert_int_equal(report.calls, 6);
  burn_drop(x);
  burn_drop(y);
  burn_drop(z);
  burn_device_close(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_steps_of_training),
      cmocka_unit_test(test_gradients_that_are_added_up),
      cmocka_unit_test(test_a_region_is_not_cut),
      cmocka_unit_test(test_what_was_queued_before_is_no_part),
      cmocka_unit_test(test_a_question_splits_the_region),
      cmocka_unit_test(test_a_question_before_the_first_call_splits_nothing),
      cmocka_unit_test(test_a_region_that_differs),
      cmocka_unit_test(test_a_result_that_is_held),
      cmocka_unit_test(test_an_input_that_moves),
      cmocka_unit_test(test_an_input_that_is_held),
      cmocka_unit_test(test_a_state_that_is_fed_back),
      cmocka_unit_test(test_replay_is_off),
      cmocka_unit_test(test_a_short_report),
      cmocka_unit_test(test_pairs),
      cmocka_unit_test(test_decorators_pass_regions_on),
      cmocka_unit_test(test_a_call_that_fails),
      cmocka_unit_test(test_threads_with_regions_of_their_own),
      cmocka_unit_test(test_threads_that_end_in_a_region),
      cmocka_unit_test(test_other_threads_go_on),
  };
  return cmocka_run_group_tests_name("regions that a program marks", tests, NULL, NULL);
}
