/* learner_testing.h - a small training run for the tests of the learner.
 *
 * The module is a small network with dropout (so that the random state matters) and a buffer (so that running state
 * matters); the data are points labelled by the sign of the product of their coordinates, which no linear model can
 * tell apart. Runs that are to be killed happen in a process of their own: the test program started with --train
 * (train_and_kill). */
#ifndef BURN_TESTS_LEARNER_TESTING_H
#define BURN_TESTS_LEARNER_TESTING_H

#include "status_testing.h"

#include <burn/train.h>

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(_WIN32)
#include <windows.h>
#else
#include <sys/wait.h>
#endif

#include <cmocka.h>

enum { ITEMS = 50, VALID_ITEMS = 20, HIDDEN = 8, MAX_EPOCHS = 64, PARAMETERS = 2 * HIDDEN + HIDDEN + HIDDEN * 2 + 2 };

static const char *program;

#define NET_FIELDS(X)                   \
  X(BurnParam, weight_1, "[2, hidden]") \
  X(BurnParam, bias_1, "[hidden]")      \
  X(BurnParam, weight_2, "[hidden, 2]") \
  X(BurnParam, bias_2, "[2]")           \
  X(BurnBuffer, seen, "[1]: items seen in training")
BURN_MODULE(Net, NET_FIELDS);

/* What a run is to do. */
typedef struct Plan {
  BurnLearnerConfig config;
  size_t batch_size; /* 0: 8 */
  size_t workers;
  bool keep_order, without_valid, sgd, without_dropout;
  size_t kill_epoch, fail_epoch, at_batch; /* from 1; 0: never */
  size_t stop_epoch;                       /* on_epoch fails there */
  size_t nan_epoch;                        /* the loss is infinite there, at_batch */
  size_t interrupt_epoch;                  /* the interrupter is told there, at_batch; */
  bool interrupt_valid;                    /* in the first batch of its validation instead */
  size_t begun_batches;                    /* of the first epoch of this run, done by an interrupted one */
  uint64_t seed;                           /* of the loader; 0: 3 */
  const char *stack;                       /* NULL: ndarray with autodiff */
  bool loud;                               /* progress on stderr */
  void (*after_epoch)(const BurnEpochResult *result, const char *artifact_dir);
  BurnDataset *data;                 /* NULL: the points */
  BurnOptimizer *(*optimizer)(void); /* NULL: Adam, or plain SGD */
} Plan;

/* What came of it. */
typedef struct Run {
  const Plan *plan;
  size_t train_batches; /* steps done by the task so far */
  BurnEpochResult epochs[MAX_EPOCHS];
  size_t epoch_count;
  size_t inner_steps;             /* validation steps below autodiff */
  float first_points[MAX_EPOCHS]; /* a coordinate of the first item of each training epoch */
  BurnLearnerResult result;
  BurnStatus status;
  float parameters[PARAMETERS];
  double seen;
} Run;

BURN_UNUSED static void check_refused(BurnStatus status, uint32_t code, const char *part) {
  assert_int_not_equal(status, BURN_OK);
  if (!strstr(burn_status_message(status), part)) fail_msg("'%s' lacks '%s'", burn_status_message(status), part);
  assert_int_equal(burn_status_code(status), code);
}

/* -- data and module -------------------------------------------------------------------------- */

/* Number i of a sequence that is spread over -1 .. 1. */
BURN_UNUSED static float spread(size_t i) {
  const double x = 0.37 + 0.6180339887498949 * (double)(i + 1);
  return (float)(2 * (x - floor(x)) - 1);
}

BURN_UNUSED static BurnDataset *points(size_t count, size_t first) {
  const BurnColumn columns[] = {{"point", BURN_DTYPE_F32, {1, {2}}}, {"label", BURN_DTYPE_I64, {0, {0}}}};
  float xy[2 * ITEMS];
  int64_t labels[ITEMS];
  const void *data[2] = {xy, labels};
  BurnStatus status = BURN_OK;
  assert_true(count <= ITEMS);
  for (size_t i = 0; i < count; i++) {
    xy[2 * i] = spread(3 * (first + i));
    xy[2 * i + 1] = spread(7 * (first + i) * (first + i) + 1);
    labels[i] = xy[2 * i] * xy[2 * i + 1] > 0;
  }
  BurnDataset *dataset = burn_dataset_memory(columns, 2, data, count, &status);
  check_status(status);
  return dataset;
}

BURN_UNUSED static BurnLoader *loader_of(BurnDataset *dataset, const Plan *plan) {
  const BurnLoaderConfig config = {.batch_size = plan->batch_size ? plan->batch_size : 8,
                                   .shuffle = !plan->keep_order,
                                   .seed = plan->seed ? plan->seed : 3,
                                   .workers = plan->workers};
  BurnStatus status = BURN_OK;
  BurnLoader *loader = burn_loader_create(dataset, &config, &status);
  check_status(status);
  return loader;
}

BURN_UNUSED static BurnParam param_of(BurnDevice *device, BurnShape shape, size_t first) {
  float values[2 * HIDDEN];
  size_t count = 1;
  for (uint32_t i = 0; i < shape.rank; i++) count *= (size_t)shape.dims[i];
  for (size_t i = 0; i < count; i++) values[i] = 0.9f * spread(first + 5 * i);
  return burn_param(burn_tensor_f32(device, values, shape));
}

BURN_UNUSED static Net net_make(BurnDevice *device) {
  return (Net){.weight_1 = param_of(device, BURN_SHAPE(2, HIDDEN), 11),
               .bias_1 = param_of(device, BURN_SHAPE(HIDDEN), 12),
               .weight_2 = param_of(device, BURN_SHAPE(HIDDEN, 2), 13),
               .bias_2 = param_of(device, BURN_SHAPE(2), 14),
               .seen = burn_buffer(burn_zeros(burn_device_inner(device), BURN_SHAPE(1), BURN_DTYPE_F32))};
}

BURN_UNUSED static BurnTensor *net_forward(const Net *net, BurnTensor *x, double dropout) {
  x = burn_linear(x, burn_param_value(&net->weight_1), burn_param_value(&net->bias_1));
  x = burn_tanh(x);
  if (dropout > 0) x = burn_dropout(x, dropout);
  return burn_linear(x, burn_param_value(&net->weight_2), burn_param_value(&net->bias_2));
}

/* -- the task --------------------------------------------------------------------------------- */

/* Ends this process at once: no buffer is flushed, nothing is tidied up. */
#if defined(_WIN32)
enum { KILLED = 9 };
BURN_UNUSED static void die(void) { TerminateProcess(GetCurrentProcess(), KILLED); }
#else
BURN_UNUSED static void die(void) { raise(SIGKILL); }
#endif

/* The epoch and batch, from 1, of the training step that begins. */
BURN_UNUSED static size_t epoch_and_batch(const Run *run, size_t *batch) {
  const size_t size = run->plan->batch_size ? run->plan->batch_size : 8, batches = (ITEMS + size - 1) / size;
  const size_t done = run->result.epochs_resumed * batches + run->plan->begun_batches + run->train_batches;
  *batch = done % batches + 1;
  return done / batches + 1;
}

static bool is_nan_step(const Run *run) {
  size_t batch;
  const size_t epoch = epoch_and_batch(run, &batch);
  return run->plan->nan_epoch == epoch && run->plan->at_batch == batch;
}

/* Notes what an epoch begins with; dies or fails at the batch that the plan names. */
BURN_UNUSED static BurnTensor *disturbed(Run *run, BurnTensor *x) {
  const Plan *plan = run->plan;
  size_t batch;
  const size_t epoch = epoch_and_batch(run, &batch);
  if (batch == 1)
    check_status(burn_read_f32(burn_slice(burn_clone(x), (BurnRange[]){{0, 1, 1}, {0, 1, 1}}, 2),
                               &run->first_points[epoch - 1], 1));
  if (plan->at_batch != batch) return x;
  if (plan->kill_epoch == epoch) die();
  if (plan->interrupt_epoch == epoch && !plan->interrupt_valid) burn_interrupter_stop(plan->config.interrupter);
  if (plan->fail_epoch == epoch) return burn_matmul(x, burn_clone(x));
  return x;
}

BURN_UNUSED static BurnStepOutput step(void *context, const void *module, BurnBatch *batch) {
  const Net *net = module;
  Run *run = context;
  BurnTensor *x = burn_batch_take(batch, "point"), *labels = burn_batch_take(batch, "label");
  const bool training = burn_device_is_autodiff(burn_tensor_device(x)), spoilt = training && is_nan_step(run);
  if (training) {
    x = disturbed(run, x);
    run->train_batches++;
    burn_buffer_set(&net->seen, burn_add_scalar(burn_buffer_value(&net->seen), (double)batch->item_count));
  } else {
    run->inner_steps++;
    if (run->plan->interrupt_valid && run->epoch_count + 1 + run->result.epochs_resumed == run->plan->interrupt_epoch) {
      burn_interrupter_stop(run->plan->config.interrupter);
    }
  }
  BurnTensor *output = net_forward(net, x, training && !run->plan->without_dropout ? 0.1 : 0);
  BurnTensor *loss = burn_cross_entropy(burn_clone(output), burn_clone(labels));
  if (spoilt) loss = burn_mul_scalar(loss, (double)INFINITY);
  return burn_classification_output(loss, output, labels);
}

BURN_UNUSED static BurnStatus on_epoch(void *context, const BurnEpochResult *result) {
  Run *run = context;
  run->epochs[run->epoch_count++] = *result;
  if (run->plan->after_epoch) run->plan->after_epoch(result, run->plan->config.artifact_dir);
  if (result->epoch == run->plan->stop_epoch) return burn_status_make(BURN_STATUS_CANCELLED, "enough");
  return BURN_OK;
}

BURN_UNUSED static void read_net(Run *run, const Net *net) {
  const BurnParam *params[] = {&net->weight_1, &net->bias_1, &net->weight_2, &net->bias_2};
  float *values = run->parameters;
  for (int i = 0; i < 4; i++) {
    const size_t count = (size_t)burn_element_count(params[i]->value);
    check_status(burn_read_f32(burn_param_value(params[i]), values, count));
    values += count;
  }
  check_status(burn_read_scalar(burn_buffer_value(&net->seen), &run->seen));
}

/* A run from a fresh device to the end. */
BURN_UNUSED static Run train(const Plan *plan) {
  Run run = {.plan = plan};
  BurnDevice *device = burn_device_open(plan->stack ? plan->stack : "autodiff<ndarray>");
  check_status(burn_device_status(device));
  burn_device_seed(device, 42);
  Net net = net_make(device);
  BurnOptimizer *optimizer = plan->optimizer ? plan->optimizer()
                             : plan->sgd     ? burn_sgd_create(NULL)
                                             : burn_adam_create(NULL);
  BurnLoader *loader = loader_of(plan->data ? burn_dataset_clone(plan->data) : points(ITEMS, 0), plan);
  BurnLoader *valid = plan->without_valid ? NULL : loader_of(points(VALID_ITEMS, ITEMS), plan);
  const BurnTask task = {step, &run};
  BurnLearnerConfig config = plan->config;
  config.quiet = !plan->loud;
  config.on_epoch = on_epoch;
  config.context = &run;
  if (config.learning_rate == 0 && !config.schedule.table) config.learning_rate = 0.03;
  run.result.epochs_resumed = 0;
  run.status = burn_learner_fit(&config, &task, device, burn_module(Net, &net), optimizer, loader, valid, &run.result);
  read_net(&run, &net);
  burn_loader_destroy(loader);
  burn_loader_destroy(valid);
  burn_optimizer_destroy(optimizer);
  Net_release(&net);
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
  burn_device_close(device);
  return run;
}

BURN_UNUSED static double train_of(const BurnEpochResult *result, const char *metric) {
  return burn_epoch_metric(result, metric, BURN_SPLIT_TRAIN);
}

BURN_UNUSED static double valid_of(const BurnEpochResult *result, const char *metric) {
  return burn_epoch_metric(result, metric, BURN_SPLIT_VALID);
}

/* All but the times. */
BURN_UNUSED static void same_epoch(const BurnEpochResult *a, const BurnEpochResult *b) {
  assert_int_equal(a->epoch, b->epoch);
  assert_int_equal(a->metric_count, b->metric_count);
  for (size_t i = 0; i < a->metric_count; i++) {
    assert_string_equal(a->metrics[i].name, b->metrics[i].name);
    assert_memory_equal(a->metrics[i].values, b->metrics[i].values, sizeof a->metrics[i].values);
  }
}

/* That `tail` ended as `whole` did, and went through the same epochs from `first` (0-based) on. */
BURN_UNUSED static void same_from(const Run *whole, const Run *tail, size_t first) {
  assert_int_equal(whole->epoch_count, first + tail->epoch_count);
  for (size_t i = 0; i < tail->epoch_count; i++) same_epoch(&whole->epochs[first + i], &tail->epochs[i]);
  same_epoch(&whole->result.last, &tail->result.last);
  assert_memory_equal(whole->parameters, tail->parameters, sizeof whole->parameters);
  assert_true(whole->seen == tail->seen);
}

/* -- folders ---------------------------------------------------------------------------------- */

typedef struct Folder {
  char path[64];
} Folder;

BURN_UNUSED static Folder folder_make(void) {
  Folder folder = {"/tmp/burn_learner_test_XXXXXX"};
  assert_non_null(mkdtemp(folder.path));
  return folder;
}

BURN_UNUSED static void folder_remove(const char *path) {
  DIR *folder = opendir(path);
  if (folder) {
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
      char inner[512];
      if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
      snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
      folder_remove(inner);
    }
    closedir(folder);
  }
  if (rmdir(path) != 0) remove(path); /* on Windows remove is for files only */
}

static const char *file_in(const Folder *folder, const char *name) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", folder->path, name);
  return path;
}

BURN_UNUSED static bool exists(const Folder *folder, const char *name) {
  return access(file_in(folder, name), F_OK) == 0;
}

/* Trains in another process, which kills itself at a batch; tells whether it was killed. */
BURN_UNUSED static bool train_and_kill(const Folder *folder, size_t epochs, size_t epoch, size_t batch) {
  char numbers[3][24];
  snprintf(numbers[0], sizeof numbers[0], "%zu", epochs);
  snprintf(numbers[1], sizeof numbers[1], "%zu", epoch);
  snprintf(numbers[2], sizeof numbers[2], "%zu", batch);
#if defined(_WIN32)
  return _spawnl(_P_WAIT, program, program, "--train", folder->path, numbers[0], numbers[1], numbers[2],
                 (char *)NULL) == KILLED;
#else
  int outcome = 0;
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    execl(program, program, "--train", folder->path, numbers[0], numbers[1], numbers[2], (char *)NULL);
    _exit(127);
  }
  assert_int_equal(waitpid(child, &outcome, 0), child);
  return WIFSIGNALED(outcome) && WTERMSIG(outcome) == SIGKILL;
#endif
}

/* What --train asks for; true if it was asked. */
BURN_UNUSED static bool train_as_told(int argc, char **argv, int *exit_status) {
  program = argv[0];
  if (argc != 6 || strcmp(argv[1], "--train") != 0) return false;
  const Plan plan = {.config = {.epochs = strtoul(argv[3], NULL, 10), .artifact_dir = argv[2], .resume = true},
                     .kill_epoch = strtoul(argv[4], NULL, 10),
                     .at_batch = strtoul(argv[5], NULL, 10)};
  *exit_status = train(&plan).status != BURN_OK;
  return true;
}

#endif
