/* learner_async_test.c - training on a device that works on its own: the numbers are those of a device that works at
 * once, and between two reads of the metrics nobody waits for the device, for batches or for numbers. */
#include "learner_testing.h"

#include "test_stacks.h"

#include <burn/transfer.h>

static const char stacks_of_test[] = "lazy:delay=50; fusion<lazy:delay=50>; torch:cpu";
static TestStacks stacks;

enum { BATCH_SIZE = 2, INTERVAL = 4, BATCHES = ITEMS / BATCH_SIZE, EPOCHS = 2 };

/* -- waits of the host ------------------------------------------------------------------------- */

/* The count of waits at the end of each training step, before its numbers may be read. */
typedef struct Waits {
  int64_t counts[EPOCHS * BATCHES];
  size_t steps;
} Waits;

static BurnMeasured count_waits(const void *config, const BurnMetricInput *input) {
  Waits *waits = (Waits *)(uintptr_t)config;
  if (isnan(input->learning_rate)) return (BurnMeasured){.weight = 0}; /* validation */
  BurnDevice *device = burn_tensor_device(burn_step_get(input->output, "loss"));
  assert_true(waits->steps < EPOCHS * BATCHES);
  waits->counts[waits->steps++] = burn_device_host_waits(device);
  return (BurnMeasured){.number = 1, .weight = 1};
}

static const BurnMetricInterface waits_metric = {.name = "Steps", .unit = "", .scale = 1, .measure = count_waits};

/* Where windows end, the one before is waited for; elsewhere nothing is. The first step of an epoch looks at its
 * batch. */
static void check_waits(const Waits *waits) {
  assert_int_equal(waits->steps, EPOCHS * BATCHES);
  for (size_t i = 0; i + 1 < waits->steps; i++) {
    const size_t batch = i % BATCHES + 1;
    const int64_t grown = waits->counts[i + 1] - waits->counts[i];
    if (batch == BATCHES) continue; /* the end of an epoch */
    const int64_t allowed = batch % INTERVAL == 0 && batch > INTERVAL ? 1 : 0;
    if (grown > allowed)
      fail_msg("%lld waits after batch %zu, %lld allowed", (long long)grown, batch, (long long)allowed);
  }
}

/* -- runs -------------------------------------------------------------------------------------- */

/* The metrics live as long as the block around it. */
#define PLAN_OF(STACK, METRIC)                                                                                        \
  {                                                                                                                   \
    .config = {.epochs = EPOCHS, .read_interval = INTERVAL, .metrics = BURN_METRICS(METRIC, burn_metric_accuracy())}, \
    .batch_size = BATCH_SIZE, .stack = (STACK)                                                                        \
  }

/* Other backends round elsewhere. */
static void near_from(const Run *expected, const Run *run) {
  for (size_t i = 0; i < EPOCHS; i++) {
    const double a = train_of(&expected->epochs[i], "Loss"), b = train_of(&run->epochs[i], "Loss");
    if (!(fabs(a - b) < 1e-3)) fail_msg("epoch %zu: loss %g instead of %g", i + 1, b, a);
  }
}

static void training_is_the_same_and_waits_for_nothing_between_reads(void **state) {
  (void)state;
  Waits unused = {.steps = 0};
  const BurnMetric quiet = {&waits_metric, &unused, NULL};
  const Plan reference = PLAN_OF("autodiff<reference>", quiet);
  const Run expected = train(&reference);
  check_status(expected.status);
  for (size_t s = 0; s < stacks.count; s++) {
    BurnDevice *device = test_stack_open(&stacks, &stacks.items[s]);
    if (!device) continue;
    burn_device_close(device);
    for (size_t workers = 0; workers <= 2; workers += 2) {
      char stack[sizeof stacks.items[s].text + 16];
      Waits waits = {.steps = 0};
      const BurnMetric metric = {&waits_metric, &waits, NULL};
      snprintf(stack, sizeof stack, "autodiff<%s>", stacks.items[s].text);
      Plan plan = PLAN_OF(stack, metric);
      plan.workers = workers;
      const Run run = train(&plan);
      check_status(run.status);
      if (strncmp(stack, "autodiff<lazy", 13) == 0) {
        same_from(&expected, &run, 0);
      } else {
        near_from(&expected, &run);
      }
      check_waits(&waits);
    }
  }
}

static void a_late_loss_is_told_with_its_batch(void **state) {
  (void)state;
  Waits waits = {.steps = 0};
  const BurnMetric metric = {&waits_metric, &waits, NULL};
  Plan plan = PLAN_OF("autodiff<lazy:delay=50>", metric);
  plan.nan_epoch = 1;
  plan.at_batch = 2;
  const Run run = train(&plan);
  check_refused(run.status, BURN_STATUS_OUT_OF_RANGE, "epoch 1, batch 2: the loss is inf");
  assert_true(run.train_batches <= 2 * INTERVAL);
  waits.steps = 0;
  plan.config.read_interval = 1; /* waits for each batch */
  const Run waited = train(&plan);
  check_refused(waited.status, BURN_STATUS_OUT_OF_RANGE, "epoch 1, batch 2: the loss is inf");
  assert_null(strstr(burn_status_message(waited.status), " late"));
  assert_int_equal(waited.train_batches, 2);
}

/* -- batches ----------------------------------------------------------------------------------- */

/* Uploads of a ring of 40 slots are not waited for; the one after that waits until the first is done. */
static void batches_wait_for_a_slot_only(void **state) {
  (void)state;
  enum { RING = 40, COUNT = 50 };
  for (size_t workers = 0; workers <= 2; workers += 2) {
    BurnDevice *device = burn_device_open("lazy:delay=20000");
    check_status(burn_device_status(device));
    const Plan plan = {.batch_size = 1, .workers = workers, .keep_order = true};
    BurnLoader *loader = loader_of(points(ITEMS, 0), &plan);
    BurnBatches *batches = burn_loader_start(loader, device, 1, 0);
    BurnTensor *taken[COUNT];
    BurnBatch batch;
    for (int i = 0; i < COUNT; i++) {
      assert_true(burn_batches_next(batches, &batch));
      taken[i] = burn_batch_take(&batch, "point");
      if (i < RING - 8) assert_int_equal(burn_device_host_waits(device), 0); /* workers are some batches ahead */
    }
    assert_true(burn_device_host_waits(device) > 0);
    check_status(burn_batches_stop(batches));
    for (size_t i = 0; i < COUNT; i++) {
      float xy[2];
      check_status(burn_read_f32(taken[i], xy, 2));
      assert_true(xy[0] == spread(3 * i) && xy[1] == spread(7 * i * i + 1));
    }
    burn_loader_destroy(loader);
    burn_device_close(device);
  }
}

/* Uploads that are on their way when the epoch is ended are waited for: their memory goes with the ring. */
static void an_early_stop_leaves_nothing(void **state) {
  (void)state;
  for (size_t workers = 0; workers <= 2; workers += 2) {
    BurnDevice *device = burn_device_open("lazy:delay=2000");
    check_status(burn_device_status(device));
    const Plan plan = {.batch_size = 1, .workers = workers};
    BurnLoader *loader = loader_of(points(ITEMS, 0), &plan);
    BurnBatches *batches = burn_loader_start(loader, device, 1, 0);
    BurnBatch batch;
    for (int i = 0; i < 3; i++) assert_true(burn_batches_next(batches, &batch));
    check_status(burn_batches_stop(batches));
    burn_loader_destroy(loader);
    check_status(burn_device_sync(device));
    assert_int_equal(burn_device_memory(device).live_tensors, 0);
    burn_device_close(device);
  }
}

int main(void) {
  setenv("BURN_PLUGIN_PATH",
         getenv("BURN_TEST_PLUGINS") ? getenv("BURN_TEST_PLUGINS") : BURN_BUILD_DIR "/tests/broken_plugins", 1);
  stacks = test_stacks(stacks_of_test);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(training_is_the_same_and_waits_for_nothing_between_reads),
      cmocka_unit_test(a_late_loss_is_told_with_its_batch),
      cmocka_unit_test(batches_wait_for_a_slot_only),
      cmocka_unit_test(an_early_stop_leaves_nothing),
  };
  return test_stacks_result(cmocka_run_group_tests(tests, NULL, NULL));
}
