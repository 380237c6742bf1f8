/* memory_growth_test.c - training the CNN of the mnist example does not grow: after 20 steps, further ones add no byte
 * to what the device holds and no block to the heap of the process.
 *
 *   memory_growth_test [STEPS [STACK]]       further steps; default 300, with BURN_LONG=1 10000, in sanitized builds 20
 *
 * On another stack than ndarray the heap is told and not judged, as the libraries of a device's maker use it too.
 *
 * Measured is only while no iteration of the loader runs, since batches that are read ahead come and go with the
 * timing. So do the free blocks that threads keep and hand each other, by a few: the heap is judged to the block after
 * its caches were emptied, and before that within what the caches may hold. The epoch divides into full batches: a
 * first short batch would rightly add blocks of new sizes to the caches. Each case is a process of its own, since the
 * number of threads is set once. */
#define _GNU_SOURCE
#include "model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "sampled.h"
#include "sanitized.h"

/* Sanitizers have a heap of their own: then only the device's numbers count. */
#if defined(SANITIZED) || !defined(__GLIBC__)
enum { HEAP_COUNTS = 0, DEFAULT_STEPS = 20 };
static long long blocks_held, bytes_held;
#else
#include "counting_malloc.h"
enum { HEAP_COUNTS = 1, DEFAULT_STEPS = 300 };
#endif
enum {
  WARMUP_STEPS = 20,
  DEVICE_WARMUP_STEPS = 100,
  LONG_STEPS = 10000,
  BATCH = 64,
  EPOCH_BATCHES = 25,
  PARAMETERS = 531178
};
/* Free blocks that timing may add to the caches: two magazines of 8 (core/base/small_block.c) for each of the three sizes of
 * handles that a worker makes and the consumer frees. By default so many steps are made that a block lost in each is
 * more. */
enum { CACHE_SLACK = 2 * 8 * 3 };

static size_t further_steps = DEFAULT_STEPS;
static const char *stack = "ndarray";

static bool judges_heap(void) { return HEAP_COUNTS && strcmp(stack, "ndarray") == 0; }

/* On a device more comes once: kernels are compiled, choices made by timing, steps recorded. */
static size_t warmup_steps(void) { return strcmp(stack, "ndarray") == 0 ? WARMUP_STEPS : DEVICE_WARMUP_STEPS; }

typedef struct Training {
  BurnDevice *device;
  Model model;
  BurnOptimizer *optimizer;
  BurnLoader *loader;
  size_t epoch;
} Training;

typedef struct Sizes {
  BurnMemoryStats device;
  int64_t cached;       /* blocks that malloc has handed out, those in caches too */
  int64_t blocks, heap; /* the same without caches, and their bytes as malloc rounds them */
  int64_t resident;
} Sizes;

/* This is not the process that cmocka watches: a failure is a line on stderr and a nonzero exit. */
static void check(BurnStatus status) {
  if (status == BURN_OK) return;
  fprintf(stderr, "%s\n", burn_status_message(status));
  exit(1);
}

static void require(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "not so: %s\n", what);
  exit(1);
}

static int64_t resident_bytes(void) {
  FILE *file = fopen("/proc/self/statm", "r");
  long total = 0, resident = 0;
  if (!file) return 0;
  const int read = fscanf(file, "%ld %ld", &total, &resident);
  fclose(file);
  return read == 2 ? (int64_t)resident * sysconf(_SC_PAGESIZE) : 0;
}

static Sizes sizes_now(const Training *training) {
  const int64_t resident = resident_bytes(); /* first: it opens a file, which takes memory for a moment */
  const BurnMemoryStats device = burn_device_memory(training->device);
  const int64_t cached = blocks_held;
  burn_device_trim(training->device);
  return (Sizes){device, cached, blocks_held, bytes_held, resident};
}

static void training_begin(Training *training, size_t workers) {
  memset(training, 0, sizeof *training);
  BurnStatus status = BURN_OK;
  BurnDataset *digits = burn_dataset_digits(&(BurnDigitsConfig){BATCH * EPOCH_BATCHES, 7}, &status);
  check(status);
  BurnDataset *data = burn_dataset_mnist_normalize(digits, &status);
  check(status);
  const BurnLoaderConfig loader = {.batch_size = BATCH, .shuffle = true, .seed = 7, .workers = workers};
  training->loader = burn_loader_create(data, &loader, &status);
  check(status);
  training->device = burn_device_open_training(stack);
  check(burn_device_status(training->device));
  burn_device_seed(training->device, 7);
  const ModelConfig config = ModelConfig_defaults(10, 512);
  training->model = model_init(&config, training->device);
  check(burn_module_status(burn_module(Model, &training->model)));
  training->optimizer = burn_adam_create(NULL);
  require(training->optimizer != NULL, "an optimizer is made");
}

static void training_end(Training *training) {
  Model_release(&training->model);
  burn_optimizer_destroy(training->optimizer);
  burn_loader_destroy(training->loader);
  burn_device_close(training->device);
}

/* One step as a learner does it, loss and accuracy read. `pause`: the loader gets time to fill its places. */
static void step(Training *training, BurnBatch *batch, bool pause) {
  BurnStepOutput output = model_step(NULL, &training->model, batch);
  double loss = 0, right = 0;
  BurnTensor *hits = burn_equal(burn_argmax(burn_step_take(&output, "output"), 1),
                                burn_reshape(burn_step_take(&output, "targets"), BURN_SHAPE(BATCH, 1)));
  BurnTensor *mean = burn_step_take(&output, "loss");
  check(burn_read_scalar(burn_sum(burn_cast(hits, BURN_DTYPE_I64)), &right));
  check(burn_read_scalar(burn_clone(mean), &loss));
  require(loss > 0 && loss < 100, "the loss is between 0 and 100");
  if (pause) nanosleep(&(struct timespec){0, 20000000}, NULL);
  check(burn_train_step(training->optimizer, burn_module(Model, &training->model), mean, 1e-4));
}

/* Epoch after epoch; the last one ends early when the steps are done. */
static void train(Training *training, size_t steps, bool pause) {
  while (steps > 0) {
    BurnBatches *batches = burn_loader_start(training->loader, training->device, ++training->epoch, 0);
    for (BurnBatch batch; steps > 0 && burn_batches_next(batches, &batch); steps--) step(training, &batch, pause);
    check(burn_batches_stop(batches));
  }
}

static void print_line(const char *what, int64_t value, int64_t growth, const char *remark) {
  printf("  %-15s %10lld (%+lld%s)\n", what, (long long)value, (long long)growth, remark);
}

/* Trains with `threads` threads (0: as many as there are CPUs) in this process and ends it. */
static void measure(unsigned threads, size_t workers, size_t steps) {
  if (threads > 0) check(burn_set_threads(threads));
  Training training;
  training_begin(&training, workers);
  train(&training, warmup_steps(), workers > 0);
  const Sizes before = sizes_now(&training);
  train(&training, steps, false);
  const Sizes after = sizes_now(&training);
  const int64_t in_use = after.device.bytes_in_use - before.device.bytes_in_use;
  const int64_t reserved = after.device.bytes_reserved - before.device.bytes_reserved;
  const int64_t live = after.device.live_tensors - before.device.live_tensors;
  const int64_t cached = after.cached - before.cached;
  const int64_t blocks = after.blocks - before.blocks, heap = after.heap - before.heap;
  printf("%s: %zu steps after %zu; threads %u, loader workers %zu\n", stack, steps, warmup_steps(), burn_threads(),
         workers);
  print_line("bytes in use", after.device.bytes_in_use, in_use, "");
  print_line("bytes reserved", after.device.bytes_reserved, reserved, "");
  print_line("live tensors", after.device.live_tensors, live, "");
  print_line("heap blocks", after.blocks, blocks, judges_heap() ? ", caches emptied" : ", not judged here");
  print_line("with caches", after.cached, cached, "");
  print_line("heap bytes", after.heap, heap, ", in blocks of malloc's sizes");
  print_line("resident", after.resident, after.resident - before.resident, ", not judged");
  fflush(stdout);
  training_end(&training);
  require(before.device.bytes_in_use > PARAMETERS * 4, "the bytes in use hold at least the parameters");
  require(in_use == 0, "no more bytes are in use");
  require(live == 0, "no more tensors are alive");
  require(reserved <= 0, "no more bytes are held in reserve");
  require(!judges_heap() || blocks <= 0, "the heap has no more blocks");
  require(!judges_heap() || heap < 4096, "nor did they grow");
  require(!judges_heap() || cached <= CACHE_SLACK, "caches hold no more blocks than timing explains");
  exit(0);
}

static void check_growth(unsigned threads, size_t workers, size_t steps) {
  fflush(stdout);
  const pid_t process = fork();
  if (process == 0) measure(threads, workers, steps);
  int result = 0;
  assert_true(process > 0);
  assert_int_equal(waitpid(process, &result, 0), process);
  assert_true(WIFEXITED(result));
  assert_int_equal(WEXITSTATUS(result), 0);
}

static void training_on_one_thread_does_not_grow(void **state) {
  (void)state;
  check_growth(1, 0, further_steps / 4 + 1);
}

static void training_on_one_thread_with_a_loader_worker_does_not_grow(void **state) {
  (void)state;
  check_growth(1, 1, further_steps / 4 + 1);
}

static void training_on_all_threads_does_not_grow(void **state) {
  (void)state;
  check_growth(0, 1, further_steps);
}

int main(int argc, char **argv) {
  if (runs_all()) further_steps = LONG_STEPS;
  if (argc > 1) further_steps = (size_t)strtoull(argv[1], NULL, 10);
  if (argc > 2) stack = argv[2];
  if (further_steps < 1) further_steps = 1;
  if (HEAP_COUNTS && burn_set_guards(false) != BURN_OK) return 1; /* they keep taken handles for a while */
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(training_on_one_thread_does_not_grow),
      cmocka_unit_test(training_on_one_thread_with_a_loader_worker_does_not_grow),
      cmocka_unit_test(training_on_all_threads_does_not_grow),
  };
  return cmocka_run_group_tests_name("memory_growth", tests, NULL, NULL);
}
