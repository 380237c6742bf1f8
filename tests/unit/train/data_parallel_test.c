/* data_parallel_test.c - a batch on several devices: the gradients of the whole batch, the same run, the same bits each
 * time. What one device computes of the whole batch is the truth. */
#include "learner_testing.h"

enum { MOST = 3 };

typedef struct Rig {
  BurnDevice *devices[MOST];
  Net net;
  Run run;
  Plan plan;
} Rig;

static void rig_open(Rig *rig) {
  *rig = (Rig){.plan = {.without_dropout = true, .keep_order = true}};
  rig->run.plan = &rig->plan;
  for (size_t i = 0; i < MOST; i++) {
    rig->devices[i] = burn_device_open("autodiff<ndarray>");
    check_status(burn_device_status(rig->devices[i]));
  }
  rig->net = net_make(rig->devices[0]);
}

static void rig_close(Rig *rig) {
  Net_release(&rig->net);
  for (size_t i = 0; i < MOST; i++) {
    assert_int_equal(burn_device_memory(rig->devices[i]).live_tensors, 0);
    burn_device_close(rig->devices[i]);
  }
}

/* The step of learner_testing.h counts, which several threads at once must not. */
static BurnStepOutput quiet_step(void *context, const void *module, BurnBatch *batch) {
  const Net *net = module;
  BurnTensor *x = burn_batch_take(batch, "point"), *labels = burn_batch_take(batch, "label");
  const double dropout = context ? *(const double *)context : 0;
  if (burn_device_is_autodiff(burn_tensor_device(x))) {
    burn_buffer_set(&net->seen, burn_add_scalar(burn_buffer_value(&net->seen), (double)batch->item_count));
  }
  BurnTensor *output = net_forward(net, x, dropout);
  BurnTensor *loss = burn_cross_entropy(burn_clone(output), burn_clone(labels));
  return burn_classification_output(loss, output, labels);
}

typedef struct Gradients {
  float values[PARAMETERS];
  double loss, seen;
  float output[2 * ITEMS];
  int64_t targets[ITEMS];
} Gradients;

static void read_gradients(const Net *net, const BurnGradientsParams *gradients, float *values) {
  const BurnParam *params[] = {&net->weight_1, &net->bias_1, &net->weight_2, &net->bias_2};
  for (int i = 0; i < 4; i++) {
    const size_t count = (size_t)burn_element_count(params[i]->value);
    check_status(burn_read_f32(burn_gradients_params_get(gradients, params[i]->id), values, count));
    values += count;
  }
}

/* The first batch of `items`, on so many devices. */
static Gradients gradients_on(Rig *rig, size_t devices, size_t items, double *dropout) {
  Gradients all = {.loss = 0};
  rig->plan.batch_size = items;
  burn_device_seed(rig->devices[0], 42);
  burn_device_seed(burn_device_inner(rig->devices[0]), 43);
  burn_buffer_set(&rig->net.seen, burn_zeros(burn_device_inner(rig->devices[0]), BURN_SHAPE(1), BURN_DTYPE_F32));
  BurnLoader *loader = loader_of(points(ITEMS, 0), &rig->plan);
  BurnBatches *batches = burn_loader_start(loader, rig->devices[0], 1, 0);
  BurnBatch batch;
  BurnStepOutput output;
  BurnGradientsParams *gradients = NULL;
  const BurnDataParallel config = {.task = {quiet_step, dropout},
                                   .module = burn_module(Net, &rig->net),
                                   .devices = rig->devices,
                                   .device_count = devices};
  assert_true(burn_batches_next(batches, &batch));
  check_status(burn_data_parallel_step(&config, &batch, &output, &gradients));
  read_gradients(&rig->net, gradients, all.values);
  check_status(burn_read_scalar(burn_step_take(&output, "loss"), &all.loss));
  check_status(burn_read_f32(burn_step_take(&output, "output"), all.output, 2 * items));
  check_status(burn_read_i64(burn_step_take(&output, "targets"), all.targets, items));
  check_status(burn_read_scalar(burn_buffer_value(&rig->net.seen), &all.seen));
  burn_step_drop(&output);
  burn_gradients_params_drop(gradients);
  check_status(burn_batches_stop(batches));
  burn_loader_destroy(loader);
  return all;
}

static void expect_close(const float *expected, const float *found, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!(fabsf(expected[i] - found[i]) <= 2e-7f + 2e-6f * fabsf(expected[i])))
      fail_msg("element %zu is %.9g, not %.9g", i, (double)found[i], (double)expected[i]);
  }
}

/* 7 items on 3 devices are 2, 2 and 3: parts of several sizes weigh as much as they have. */
static void parts_have_the_gradients_of_the_whole(void **state) {
  (void)state;
  static const size_t items[] = {1, 2, 7, 24};
  Rig rig;
  rig_open(&rig);
  for (size_t i = 0; i < 4; i++) {
    const Gradients whole = gradients_on(&rig, 1, items[i], NULL);
    for (size_t devices = 2; devices <= MOST; devices++) {
      const Gradients parts = gradients_on(&rig, devices, items[i], NULL);
      expect_close(whole.values, parts.values, PARAMETERS);
      expect_close(whole.output, parts.output, 2 * items[i]);
      assert_memory_equal(whole.targets, parts.targets, items[i] * sizeof *parts.targets);
      assert_true(fabs(whole.loss - parts.loss) < 1e-6);
      assert_true(parts.seen <= ((double)items[i] + 2) / 2 && parts.seen > 0); /* the first part's */
    }
  }
  rig_close(&rig);
}

/* Sums in the order of the devices, and random numbers of their own on each, which follow from the first one's. */
static void steps_have_the_same_bits_each_time(void **state) {
  (void)state;
  double dropout = 0.5;
  Rig rig;
  rig_open(&rig);
  const Gradients first = gradients_on(&rig, MOST, 24, &dropout);
  for (size_t i = 1; i < MOST; i++) burn_device_seed(rig.devices[i], 1000 + i); /* what was there does not matter */
  for (int i = 0; i < 5; i++) {
    const Gradients again = gradients_on(&rig, MOST, 24, &dropout);
    assert_memory_equal(first.values, again.values, sizeof first.values);
  }
  rig_close(&rig);
}

/* Each item is the same point: where the masks of two devices were the same, so would be the outputs. */
static BurnStepOutput masks(void *context, const void *module, BurnBatch *batch) {
  (void)context;
  const Net *net = module;
  BurnTensor *x = burn_batch_take(batch, "point");
  BurnTensor *ones = burn_add_scalar(burn_mul_scalar(x, 0), 1);
  BurnTensor *output = burn_dropout(burn_matmul(ones, burn_param_value(&net->weight_1)), 0.5);
  BurnStepOutput out = {0};
  burn_step_give(&out, "loss", burn_reshape(burn_mean(burn_clone(output)), BURN_SHAPE(1)));
  burn_step_give(&out, "output", output);
  return out;
}

static void devices_draw_different_numbers(void **state) {
  (void)state;
  float values[16][HIDDEN];
  Rig rig;
  rig_open(&rig);
  rig.plan.batch_size = 16;
  BurnLoader *loader = loader_of(points(ITEMS, 0), &rig.plan);
  BurnBatches *batches = burn_loader_start(loader, rig.devices[0], 1, 0);
  BurnBatch batch;
  BurnStepOutput output;
  BurnGradientsParams *gradients = NULL;
  const BurnDataParallel config = {
      .task = {masks, NULL}, .module = burn_module(Net, &rig.net), .devices = rig.devices, .device_count = 2};
  assert_true(burn_batches_next(batches, &batch));
  check_status(burn_data_parallel_step(&config, &batch, &output, &gradients));
  check_status(burn_read_f32(burn_step_take(&output, "output"), values[0], sizeof values / sizeof values[0][0]));
  assert_true(memcmp(values[0], values[8], sizeof values / 2) != 0);
  burn_step_drop(&output);
  burn_gradients_params_drop(gradients);
  check_status(burn_batches_stop(batches));
  burn_loader_destroy(loader);
  rig_close(&rig);
}

/* -- runs ------------------------------------------------------------------------------------- */

/* A run on so many devices. */
static Run train_on(size_t devices, size_t accumulation, size_t batch_size, BurnLearnerConfig config, double *dropout) {
  Rig rig;
  rig_open(&rig);
  Run run = {.plan = &rig.plan};
  rig.plan.batch_size = batch_size;
  burn_device_seed(rig.devices[0], 42);
  BurnOptimizer *optimizer = burn_sgd_create(NULL);
  BurnLoader *train = loader_of(points(48, 0), &rig.plan), *valid = loader_of(points(VALID_ITEMS, ITEMS), &rig.plan);
  const BurnTask task = {quiet_step, dropout};
  config.learning_rate = 0.1 / (accumulation ? (double)accumulation : 1);
  config.gradient_accumulation = accumulation;
  config.devices = rig.devices;
  config.device_count = devices;
  config.quiet = true;
  config.on_epoch = on_epoch;
  config.context = &run;
  run.status = burn_learner_fit(&config, &task, rig.devices[0], burn_module(Net, &rig.net), optimizer, train, valid,
                                &run.result);
  read_net(&run, &rig.net);
  burn_loader_destroy(train);
  burn_loader_destroy(valid);
  burn_optimizer_destroy(optimizer);
  rig_close(&rig);
  return run;
}

static void expect_same_run(const Run *expected, const Run *found) {
  check_status(expected->status);
  check_status(found->status);
  assert_int_equal(expected->epoch_count, found->epoch_count);
  for (size_t i = 0; i < expected->epoch_count; i++) {
    const BurnEpochResult *a = &expected->epochs[i], *b = &found->epochs[i];
    assert_true(fabs(train_of(a, "Loss") - train_of(b, "Loss")) < 1e-5);
    assert_true(fabs(valid_of(a, "Loss") - valid_of(b, "Loss")) < 1e-5);
    assert_true(fabs(train_of(a, "Accuracy") - train_of(b, "Accuracy")) < 1e-9);
  }
}

/* Twelve items on one device, on two, on three, and as three batches of four whose gradients are added up. */
static void runs_on_several_devices_learn_the_same(void **state) {
  (void)state;
  const BurnLearnerConfig config = {.epochs = 3};
  const Run one = train_on(1, 0, 12, config, NULL), two = train_on(2, 0, 12, config, NULL);
  const Run three = train_on(3, 0, 12, config, NULL), summed = train_on(1, 3, 4, config, NULL);
  expect_same_run(&one, &two);
  expect_same_run(&one, &three);
  expect_same_run(&one, &summed);
  assert_int_equal(one.result.steps, 12);
  assert_int_equal(three.result.steps, 12);
}

/* With dropout on every device a run that was interrupted ends bit for bit as one that was not. */
static void runs_on_several_devices_resume(void **state) {
  (void)state;
  double dropout = 0.3;
  Folder folder = folder_make();
  BurnLearnerConfig config = {.epochs = 3};
  const Run whole = train_on(2, 0, 8, config, &dropout);
  config.artifact_dir = folder.path;
  config.epochs = 1;
  check_status(train_on(2, 0, 8, config, &dropout).status);
  config.epochs = 3;
  config.resume = true;
  const Run rest = train_on(2, 0, 8, config, &dropout);
  same_from(&whole, &rest, 1);
  folder_remove(folder.path);
}

/* -- failures --------------------------------------------------------------------------------- */

static BurnStepOutput failing_step(void *context, const void *module, BurnBatch *batch) {
  const BurnDevice *bad = context;
  BurnStepOutput output = quiet_step(NULL, module, batch);
  if (burn_tensor_device(burn_step_get(&output, "loss")) != bad) return output;
  burn_step_drop(&output);
  burn_step_give(&output, "loss", burn_tensor_failed(burn_status_make(BURN_STATUS_IO, "the cable is out")));
  return output;
}

static BurnStatus step_of(Rig *rig, BurnDevice *const *devices, size_t count, void *bad) {
  BurnLoader *loader = loader_of(points(ITEMS, 0), &rig->plan);
  BurnBatches *batches = burn_loader_start(loader, rig->devices[0], 1, 0);
  BurnBatch batch;
  BurnStepOutput output;
  BurnGradientsParams *gradients = NULL;
  const BurnDataParallel config = {
      .task = {failing_step, bad}, .module = burn_module(Net, &rig->net), .devices = devices, .device_count = count};
  assert_true(burn_batches_next(batches, &batch));
  const BurnStatus status = burn_data_parallel_step(&config, &batch, &output, &gradients);
  assert_int_equal(output.count, 0);
  assert_null(gradients);
  check_status(burn_batches_stop(batches));
  burn_loader_destroy(loader);
  return status;
}

static void failures_name_the_device(void **state) {
  (void)state;
  Rig rig;
  rig_open(&rig);
  BurnDevice *const twice[] = {rig.devices[0], rig.devices[1], rig.devices[0]};
  BurnDevice *const inner[] = {rig.devices[0], burn_device_inner(rig.devices[1])};
  check_refused(step_of(&rig, rig.devices, 3, rig.devices[1]), BURN_STATUS_IO,
                "device 1 (autodiff<ndarray>): the cable is out");
  check_refused(step_of(&rig, twice, 3, NULL), BURN_STATUS_INVALID_ARGUMENT, "devices 0 and 2 are the same one");
  check_refused(step_of(&rig, inner, 2, NULL), BURN_STATUS_NO_AUTODIFF, "device 1, ndarray, computes no gradients");
  check_refused(step_of(&rig, rig.devices, 0, NULL), BURN_STATUS_INVALID_ARGUMENT, "0 devices, 1 to 64 expected");
  rig_close(&rig);
}

static void a_run_needs_its_own_device_first(void **state) {
  (void)state;
  BurnDevice *other = burn_device_open("autodiff<ndarray>");
  const Plan plan = {.config = {.epochs = 1, .devices = &other, .device_count = 1}};
  check_refused(train(&plan).status, BURN_STATUS_INVALID_ARGUMENT, "the first of devices is another one");
  burn_device_close(other);
}

int main(int argc, char **argv) {
  int exit_status = 0;
  if (train_as_told(argc, argv, &exit_status)) return exit_status;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_have_the_gradients_of_the_whole), cmocka_unit_test(steps_have_the_same_bits_each_time),
      cmocka_unit_test(devices_draw_different_numbers),        cmocka_unit_test(runs_on_several_devices_learn_the_same),
      cmocka_unit_test(runs_on_several_devices_resume),        cmocka_unit_test(failures_name_the_device),
      cmocka_unit_test(a_run_needs_its_own_device_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
