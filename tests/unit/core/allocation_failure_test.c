/* allocation_failure_test.c - every allocation fails once, in turn, under what programs do: nothing crashes, hangs or
 * leaks, a failure is reported, and the next try works.
 *
 * The program's own malloc family stands in front of the C library's for libburn and the plugins too. In a child
 * process a scenario runs undisturbed first, then with its 1st allocation failing, its 2nd .. until a run meets none
 * that fails. After each, the bytes handed out must be those from before; at the end the scenario must work again.
 * Sanitizers bring their own malloc: then this test has nothing to do. */
#define _GNU_SOURCE
#include <burn/capture.h>
#include <burn/nn.h>
#include <burn/ops_optimizer.h>
#include <burn/train.h>

#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sanitized.h"

#if defined(SANITIZED) || !defined(__GLIBC__)
int main(void) {
  printf("allocation_failure_test: skipped, the sanitizer owns malloc\n");
  return 0;
}
#else

#include "counting_malloc.h"

/* -- scenarios: true if everything worked; a wrong value is worse than a failure and ends the child -- */

static void require(bool holds, const char *what) {
  if (holds) return;
  atomic_store(&counting, false);
  fprintf(stderr, "not so: %s\n", what);
  _exit(3);
}

static bool near(double value, double wanted) { return value > wanted - 1e-4 && value < wanted + 1e-4; }

/* The sum of x, which must be `wanted` if there is one. Takes x. */
static bool sum_is(BurnTensor *x, double wanted) {
  double value = 0;
  const BurnStatus status = burn_read_scalar(burn_sum(burn_float(x)), &value);
  if (status != BURN_OK && burn_status_code(status) != BURN_STATUS_OUT_OF_MEMORY) {
    fprintf(stderr, "%s\n", burn_status_message(status));
    require(false, "what fails for want of memory says so");
  }
  if (status != BURN_OK) return false;
  require(near(value, wanted), "a sum is right");
  return true;
}

static BurnTensor *counted(BurnDevice *device, BurnShape shape) {
  BurnTensor *x = burn_float(burn_arange(device, 0, shape.dims[0] * shape.dims[1], 1));
  return burn_reshape(x, shape);
}

static bool tensors(BurnDevice *device) {
  bool fine = sum_is(counted(device, BURN_SHAPE(3, 4)), 66);
  BurnTensor *x = counted(device, BURN_SHAPE(3, 4));
  fine &= sum_is(burn_matmul(burn_clone(x), burn_transpose(burn_clone(x))), 1134);
  BurnTensor *parts[4] = {NULL};
  size_t count = 0;
  if (burn_chunk(burn_clone(x), 2, 1, parts, 4, &count) == BURN_OK) {
    fine &= sum_is(burn_cat(parts, count, 0), 66);
  } else {
    fine = false;
  }
  fine &= sum_is(burn_slice(burn_clone(x), (BurnRange[]){{0, BURN_END, 2}}, 1), 44);
  const int64_t rows[] = {2, 0};
  fine &= sum_is(burn_select(burn_clone(x), 0, burn_tensor_i64(device, rows, BURN_SHAPE(2))), 44);
  fine &= sum_is(burn_mask_fill(burn_clone(x), burn_greater_scalar(burn_clone(x), 5), 0), 15);
  fine &= sum_is(burn_softmax(burn_clone(x), 1), 3);
  fine &= sum_is(burn_argmax(burn_clone(x), 0), 8);
  fine &= sum_is(burn_one_hot(burn_argmax(burn_clone(x), 0), 3), 4);
  FILE *nowhere = fopen("/dev/null", "w");
  if (nowhere) {
    burn_print_to(nowhere, burn_clone(x));
    fclose(nowhere);
  }
  burn_drop(x);
  return fine;
}

static bool layers(BurnDevice *device) {
  BurnTensor *image = burn_ones(device, BURN_SHAPE(2, 3, 6, 6), 0);
  BurnTensor *weight = burn_ones(device, BURN_SHAPE(4, 3, 3, 3), 0);
  const BurnConv2dOptions options = BURN_CONV2D_OPTIONS;
  BurnTensor *out = burn_conv2d(image, weight, NULL, options);
  bool fine = sum_is(burn_clone(out), 2 * 4 * 16 * 27);
  const BurnPool2dOptions pool = BURN_POOL2D_OPTIONS(2, 2);
  fine &= sum_is(burn_max_pool2d(burn_clone(out), pool), 2 * 4 * 4 * 27);
  fine &= sum_is(burn_adaptive_avg_pool2d(out, (int64_t[]){1, 1}), 2 * 4 * 27);
  return fine;
}

static bool gradients(BurnDevice *device) {
  BurnTensor *x = burn_require_grad(counted(device, BURN_SHAPE(3, 4)));
  BurnTensor *y = burn_matmul(burn_clone(x), burn_transpose(burn_relu(burn_clone(x))));
  BurnGradients *gradients = NULL;
  if (burn_backward(burn_sum(burn_log_softmax(y, 1)), &gradients) != BURN_OK) {
    burn_drop(x);
    return false;
  }
  BurnTensor *grad = burn_grad(x, gradients);
  const bool fine = grad && burn_tensor_status(grad) == BURN_OK;
  burn_drop(grad);
  burn_gradients_drop(gradients);
  burn_drop(x);
  return fine;
}

static BurnTensor *region(BurnTensor *x, BurnStatus *status) {
  BurnDevice *device = burn_tensor_device(x);
  if (device && *status == BURN_OK) *status = burn_checkpoint_begin(device);
  const bool open = device && *status == BURN_OK;
  BurnTensor *grown = burn_exp(burn_clone(x));
  x = burn_log_softmax(burn_matmul(x, burn_transpose(grown)), 1);
  if (open) *status = burn_checkpoint_end(device);
  return x;
}

/* Values that are computed again in the backward pass, in one that creates a graph and then in one that does not. */
static bool checkpoints(BurnDevice *device) {
  BurnTensor *x = burn_require_grad(burn_mul_scalar(counted(device, BURN_SHAPE(3, 3)), 0.1));
  BurnStatus status = BURN_OK;
  BurnTensor *y = burn_sum(region(region(burn_clone(x), &status), &status));
  BurnGradients *gradients = NULL;
  if (status == BURN_OK) status = burn_backward_create_graph(burn_clone(y), &gradients);
  burn_gradients_drop(gradients);
  gradients = NULL;
  const BurnStatus walked = burn_backward(y, &gradients);
  burn_gradients_drop(gradients);
  burn_drop(x);
  return status == BURN_OK && walked == BURN_OK;
}

#define NET_FIELDS(X)            \
  X(BurnLinear, first, "4 to 8") \
  X(BurnBatchNorm, norm, "of 8") \
  X(BurnLinear, second, "8 to 2")
BURN_MODULE(Net, NET_FIELDS);

static Net net_init(BurnDevice *device) {
  const BurnLinearConfig first = BurnLinearConfig_defaults(4, 8), second = BurnLinearConfig_defaults(8, 2);
  const BurnBatchNormConfig norm = BurnBatchNormConfig_defaults(8);
  return (Net){.first = burn_linear_init(&first, device),
               .norm = burn_batch_norm_init(&norm, device),
               .second = burn_linear_init(&second, device)};
}

static BurnTensor *net_loss(const Net *net, BurnDevice *device) {
  BurnTensor *hidden = burn_linear_forward(&net->first, counted(device, BURN_SHAPE(6, 4)));
  hidden = burn_batch_norm_forward(&net->norm, burn_reshape(hidden, BURN_SHAPE(6, 8, 1)));
  hidden = burn_relu(burn_reshape(hidden, BURN_SHAPE(6, 8)));
  return burn_mean(burn_square(burn_linear_forward(&net->second, hidden)));
}

/* One step of Adam; the state of the optimizer as a record tree and back. */
static bool training(BurnDevice *device) {
  Net net = net_init(device);
  BurnOptimizer *adam = burn_adam_create(NULL);
  BurnTensor *loss = net_loss(&net, device);
  bool fine = adam != NULL;
  if (adam) {
    fine = burn_train_step(adam, burn_module(Net, &net), loss, 0.01) == BURN_OK;
    BurnValue *value = burn_optimizer_value(adam);
    fine &= value && burn_optimizer_load(adam, value, burn_device_inner(device)) == BURN_OK;
    burn_value_destroy(value);
  } else {
    burn_drop(loss);
  }
  burn_optimizer_destroy(adam);
  Net_release(&net);
  return fine;
}

#define HOUSE_FIELDS(X)                    \
  X(Net, net, "layers")                    \
  X(BurnModuleOption, option, "a linear")  \
  X(BurnNormalization, norm, "one of six") \
  X(BurnConstant, table, "[2, 3]")
BURN_MODULE(House, HOUSE_FIELDS);

static House house_init(BurnDevice *device) {
  const BurnNormalizationConfig norm = burn_normalization_layer(BurnLayerNormConfig_defaults(3));
  BurnLinear linear = burn_linear_new(3, 2, device);
  House house = {.net = net_init(device),
                 .norm = burn_normalization_init(&norm, device),
                 .table = burn_constant(counted(device, BURN_SHAPE(2, 3)))};
  burn_module_option_set(&house.option, burn_module(BurnLinear, &linear));
  return house;
}

/* Copies of a module and its texts. */
static bool copies(BurnDevice *device) {
  House house = house_init(device), copy, fork;
  const BurnModule module = burn_module(House, &house);
  bool fine = burn_module_status(module) == BURN_OK;
  copy = House_clone(&house);
  burn_module_fork(module, device, &fork);
  fine &= burn_module_status(burn_module(House, &copy)) == BURN_OK;
  fine &= burn_module_status(burn_module(House, &fork)) == BURN_OK;
  House_release(&copy);
  House_release(&fork);
  char *text = burn_module_text(module), *table = burn_module_summary_text(module);
  fine &= text && table;
  free(text);
  free(table);
  House_release(&house);
  return fine;
}

/* A module to a file and back; its config as JSON. */
static bool records(BurnDevice *device) {
  House house = house_init(device);
  const BurnModule module = burn_module(House, &house);
  const bool whole = burn_module_status(module) == BURN_OK;
  char path[64];
  snprintf(path, sizeof path, "/tmp/burn_allocation_%d.mpk.gz", (int)getpid());
  const BurnRecordConfig config = {.format = BURN_RECORD_MPK_GZ};
  bool fine = burn_record_save(module, path, &config) == BURN_OK;
  if (fine) fine = burn_record_load(module, path, &config) == BURN_OK;
  unlink(path);
  const BurnRecordConfig pack = {.format = BURN_RECORD_BPK};
  uint8_t *bytes = NULL;
  size_t count = 0;
  fine &= burn_record_to_bytes(module, &pack, &bytes, &count) == BURN_OK &&
          burn_record_from_bytes(module, bytes, count, &pack) == BURN_OK;
  free(bytes);
  BurnLinearConfig linear = BurnLinearConfig_defaults(4, 8);
  char *text = burn_config_text(burn_config(BurnLinearConfig, &linear));
  fine &= text && burn_config_parse(burn_config(BurnLinearConfig, &linear), text) == BURN_OK;
  free(text);
  House_release(&house);
  return fine && whole;
}

/* Generated digits, shuffled, in batches read ahead by a worker. */
static bool loading(BurnDevice *device) {
  BurnStatus status = BURN_OK;
  BurnDataset *digits = burn_dataset_digits(&(BurnDigitsConfig){12, 7}, &status);
  BurnDataset *data = burn_dataset_mnist_normalize(digits, &status);
  BurnLoader *loader =
      burn_loader_create(data, &(BurnLoaderConfig){.batch_size = 4, .shuffle = true, .seed = 7, .workers = 1}, &status);
  if (!loader) return false;
  size_t count = 0;
  BurnBatches *batches = burn_loader_start(loader, device, 1, 0);
  for (BurnBatch batch; burn_batches_next(batches, &batch);) count++;
  const bool fine = burn_batches_stop(batches) == BURN_OK;
  if (fine) require(count == 3, "three batches come");
  burn_loader_destroy(loader);
  return fine;
}

/* Two steps of Adam at a time, as one call, at a rate that changes: recorded, patched and replayed. What has not failed
 * has the same bits each time. */
static bool replayed(BurnDevice *device) {
  static double expected;
  BurnTensor *state[2][3];
  bool fine = true;
  for (int i = 0; i < 6; i++)
    state[i / 3][i % 3] =
        i % 3 ? burn_zeros(device, BURN_SHAPE(3, 4), BURN_DTYPE_F32) : counted(device, BURN_SHAPE(3, 4));
  for (int step = 0; step < 6; step++) {
    fine = burn_capture_begin(device) == BURN_OK;
    for (int i = 0; i < 2; i++) {
      BurnTensor **s = state[i], *out[3], *gradient = burn_mul_scalar(burn_clone(s[0]), 0.1);
      burn_adam_step(s[0], gradient, s[1], s[2], 0.9, 0.999, 1.0 / (1 + step), 1e-8, 0.999, 0, out);
      memcpy(s, out, sizeof out);
    }
    if (fine) fine = burn_capture_end(device, NULL) == BURN_OK;
    if (!fine) break;
  }
  double sum = 0;
  const BurnStatus status =
      burn_read_scalar(burn_sum(burn_add(burn_clone(state[0][0]), burn_clone(state[1][0]))), &sum);
  for (int i = 0; i < 6; i++) burn_drop(state[i / 3][i % 3]);
  if (!fine || status != BURN_OK) return false;
  if (expected == 0) expected = sum;
  require(memcmp(&sum, &expected, sizeof sum) == 0, "steps that have not failed are right");
  return true;
}

/* -- one scenario ----------------------------------------------------------------------------- */

typedef bool (*Scenario)(BurnDevice *device);

/* Opens a device, runs the scenario, closes. */
static bool run(Scenario scenario, const char *stack) {
  BurnDevice *device = burn_device_open(stack);
  bool fine = burn_device_status(device) == BURN_OK;
  if (fine) {
    fine = scenario(device);
    const int64_t live = burn_device_memory(device).live_tensors;
    if (live != 0) fprintf(stderr, "%lld tensors are alive\n", (long long)live);
    require(live == 0, "no tensor is left");
  }
  burn_device_close(device);
  return fine;
}

/* One run in which allocation number `number` fails. False if there was none of that number. */
static bool disturb(Scenario scenario, const char *stack, long long number, long long *reported) {
  atomic_store(&failed, 0);
  atomic_store(&countdown, number);
  atomic_store(&counting, true);
  alarm(30); /* a hang is a failure too */
  const bool fine = run(scenario, stack);
  alarm(0);
  atomic_store(&counting, false);
  const bool disturbed = atomic_load(&failed) > 0;
  require(fine || disturbed, "what was not disturbed works");
  *reported += !fine;
  return disturbed;
}

/* What guards keep of handles that were taken (core/tensor/guard.c). */
enum { QUARANTINE_BYTES = 4096 * 2 * 128 };

/* In a child: all numbers in turn in a process where everything has run before. */
static void disturb_all(Scenario scenario, const char *stack, long long *number) {
  require(run(scenario, stack), "the scenario works undisturbed");
  require(run(scenario, stack), "and again");
  long long reported = 0;
  for (*number = 1;; ++*number) {
    const long long held = atomic_load(&bytes_held);
    const bool disturbed = disturb(scenario, stack, *number, &reported);
    const long long leaked = atomic_load(&bytes_held) - held;
    if (leaked > 0) fprintf(stderr, "%lld bytes are not given back\n", leaked);
    require(leaked <= (burn_guards() ? QUARANTINE_BYTES : 0), "nothing leaks");
    if (!disturbed) break;
  }
  require(run(scenario, stack), "the scenario works again at the end");
  printf("  %s: %lld allocations, %lld of them reported as failures\n", stack, *number - 1, reported);
  fflush(stdout);
}

enum { UNDISTURBED = 7 };

/* Runs `body` in a child. `number` is shared, so that it can be named when the child ends badly. Returns its exit
 * status. */
static int in_a_child(void (*body)(Scenario, const char *, long long *), Scenario scenario, const char *stack,
                      long long first) {
  long long *number = mmap(NULL, sizeof *number, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(number != MAP_FAILED);
  *number = first;
  fflush(stdout);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    body(scenario, stack, number);
    _exit(0);
  }
  int result = 0;
  assert_int_equal(waitpid(child, &result, 0), child);
  if (!WIFEXITED(result)) fail_msg("%s, with allocation %lld failing: signal %d", stack, *number, WTERMSIG(result));
  if (WEXITSTATUS(result) != 0 && WEXITSTATUS(result) != UNDISTURBED) /* 1: cmocka has caught a signal there */
    fail_msg("%s, with allocation %lld failing: see above", stack, *number);
  munmap(number, sizeof *number);
  return WEXITSTATUS(result);
}

/* In a child that has done nothing yet: plugins are found and loaded while an allocation fails. */
static void disturb_first_run(Scenario scenario, const char *stack, long long *number) {
  long long reported = 0;
  if (!disturb(scenario, stack, *number, &reported)) _exit(UNDISTURBED);
}

static void test_first_run(void **state) {
  (void)state;
  long long number = 1;
  while (in_a_child(disturb_first_run, tensors, "autodiff<ndarray:gemm=builtin>", number) != UNDISTURBED) number++;
  printf("  %lld allocations in a fresh process\n", number - 1);
  assert_in_range(number, 50, 5000);
}

/* In such a child, with one folder of plugins: a message that names it. */
static void disturb_search(Scenario scenario, const char *folder, long long *number) {
  (void)scenario;
  (void)mallopt(M_PERTURB, 0x5a); /* what nobody has written to is not an address */
  setenv("BURN_PLUGIN_PATH", folder, 1);
  setenv("BURN_PLUGIN_PATH_ONLY", "1", 1);
  setenv("XDG_CACHE_HOME", folder, 1); /* nothing is known of plugins */
  atomic_store(&countdown, *number);
  atomic_store(&counting, true);
  BurnDevice *device = burn_device_open("nosuch");
  const BurnStatus status = burn_device_status(device);
  atomic_store(&counting, false);
  require(status != BURN_OK, "there is no such plugin");
  burn_device_close(device);
  if (atomic_load(&failed) == 0) _exit(UNDISTURBED);
}

static void test_unknown_plugin(void **state) {
  (void)state;
#if defined(BURN_TEST_STATIC)
  skip(); /* no folder is searched there; the plugins that are linked in are asked, and with them drivers of others */
#endif
  long long number = 1;
  while (in_a_child(disturb_search, NULL, "/dev/null/plugins", number) != UNDISTURBED) number++;
  printf("  %lld allocations until a plugin is unknown\n", number - 1);
  assert_in_range(number, 5, 500);
}

#define ON_STACKS(scenario)                                       \
  static void test_##scenario(void **state) {                     \
    (void)state;                                                  \
    in_a_child(disturb_all, scenario, "ndarray:gemm=builtin", 1); \
    in_a_child(disturb_all, scenario, "autodiff<ndarray>", 1);    \
  }
#define ON_AUTODIFF(scenario)                                  \
  static void test_##scenario(void **state) {                  \
    (void)state;                                               \
    in_a_child(disturb_all, scenario, "autodiff<ndarray>", 1); \
  }
ON_STACKS(tensors)
ON_STACKS(layers)
ON_STACKS(copies)
ON_STACKS(records)
ON_STACKS(loading)
ON_AUTODIFF(gradients)
ON_AUTODIFF(checkpoints)
ON_AUTODIFF(training)

static void test_replayed(void **state) {
  (void)state;
  in_a_child(disturb_all, replayed, "fusion<ndarray:replay=true>", 1);
}

int main(void) {
  setenv("BURN_THREADS", "2", 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_first_run), cmocka_unit_test(test_tensors),        cmocka_unit_test(test_layers),
      cmocka_unit_test(test_gradients), cmocka_unit_test(test_copies),         cmocka_unit_test(test_records),
      cmocka_unit_test(test_training),  cmocka_unit_test(test_loading),        cmocka_unit_test(test_checkpoints),
      cmocka_unit_test(test_replayed),  cmocka_unit_test(test_unknown_plugin),
  };
  return cmocka_run_group_tests_name("allocation failures", tests, NULL, NULL);
}
#endif
