/* nn_sync_batch_norm_test.c - batch norm over the joint batch of replicas in threads of their own, each on a device of its
 * own: values and gradients are those of PyTorch for the whole batch; failures of one reach the others. */
#include "nn_testing.h"

#include <pthread.h>

#include "norm_golden.h"

enum { REPLICAS = 2, CHANNELS = 4, LENGTH = 3, ITEMS = 5, ROW = CHANNELS * LENGTH };
static const int64_t first_item[REPLICAS + 1] = {0, 3, ITEMS};

#define NORMS_FIELDS(X)          \
  X(BurnBatchNorm, one, "first") \
  X(BurnBatchNorm, two, "after tanh")
BURN_MODULE(Norms, NORMS_FIELDS);

typedef struct Replica {
  const BurnSyncGroup *group;
  size_t rank;
  BurnDevice *device;
  Norms model;
  bool fails;  /* its input has another number of channels */
  bool absent; /* it does not come */
  BurnStatus status;
  double y[ITEMS * ROW], gradient[ITEMS * ROW], parameters[4][CHANNELS], running[2][CHANNELS];
} Replica;

static void set_pattern(BurnParam *param, int k) {
  burn_param_set(param, nn_pattern(burn_tensor_device(param->value), BURN_SHAPE(CHANNELS), k));
}

static Norms make_model(BurnDevice *device) {
  BurnBatchNormConfig config = BurnBatchNormConfig_defaults(CHANNELS);
  config.epsilon = 0.01;
  Norms m = {burn_batch_norm_init(&config, device), burn_batch_norm_init(&config, device)};
  set_pattern(&m.one.gamma, 2);
  set_pattern(&m.one.beta, 3);
  set_pattern(&m.two.gamma, 4);
  set_pattern(&m.two.beta, 5);
  return m;
}

/* The replica's items of pattern k of the whole batch. */
static BurnTensor *part_of(const Replica *r, int k) {
  BurnTensor *whole = nn_pattern(r->device, BURN_SHAPE(ITEMS, CHANNELS, LENGTH), k);
  return burn_narrow(whole, 0, first_item[r->rank], first_item[r->rank + 1] - first_item[r->rank]);
}

static void note(Replica *r, BurnStatus status) {
  if (r->status == BURN_OK) r->status = status;
}

/* Takes x; its values to found + first. */
static void read_to(Replica *r, BurnTensor *x, double *found) {
  note(r, burn_tensor_status(x));
  note(r, burn_read_f64(x, found, (size_t)burn_element_count(x)));
}

static void read_gradient(Replica *r, const BurnTensor *leaf, BurnGradients *gradients, double *found) {
  BurnTensor *gradient = burn_grad(leaf, gradients);
  if (gradient) read_to(r, gradient, found);
}

/* A step as a program has it: forward, backward from the replica's own loss. */
static void *step(void *context) {
  Replica *r = context;
  const BurnParam *params[4] = {&r->model.one.gamma, &r->model.one.beta, &r->model.two.gamma, &r->model.two.beta};
  BurnGradients *gradients = NULL;
  if (r->absent) return NULL;
  BurnTensor *x = burn_require_grad(part_of(r, 1)), *in = burn_clone(x);
  if (r->fails) in = burn_narrow(in, 1, 0, 2);
  BurnTensor *y = burn_batch_norm_forward_sync(&r->model.one, in, r->group, r->rank);
  y = burn_batch_norm_forward_sync(&r->model.two, burn_tanh(y), r->group, r->rank);
  read_to(r, burn_clone(y), r->y);
  note(r, burn_backward(burn_sum(burn_mul(y, part_of(r, 50))), &gradients));
  if (r->status == BURN_OK) {
    read_gradient(r, x, gradients, r->gradient);
    for (int i = 0; i < 4; i++) read_gradient(r, params[i]->value, gradients, r->parameters[i]);
    read_to(r, burn_buffer_value(&r->model.one.running_mean), r->running[0]);
    read_to(r, burn_buffer_value(&r->model.one.running_var), r->running[1]);
  }
  burn_gradients_drop(gradients);
  burn_drop(x);
  return NULL;
}

static void open_replicas(Replica replicas[REPLICAS], const BurnSyncGroup *group) {
  for (size_t i = 0; i < REPLICAS; i++) {
    BurnDevice *device = test_stack_device("ndarray", true);
    replicas[i] = (Replica){.group = group, .rank = i, .device = device};
    replicas[i].model = make_model(device);
  }
}

static void run_replicas(Replica replicas[REPLICAS]) {
  pthread_t threads[REPLICAS];
  for (size_t i = 0; i < REPLICAS; i++) assert_int_equal(pthread_create(&threads[i], NULL, step, &replicas[i]), 0);
  for (size_t i = 0; i < REPLICAS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void close_replicas(Replica replicas[REPLICAS]) {
  for (size_t i = 0; i < REPLICAS; i++) {
    Norms_release(&replicas[i].model);
    assert_int_equal(burn_device_memory(replicas[i].device).live_tensors, 0);
    burn_device_close(replicas[i].device);
  }
}

static void check_numbers(const char *what, const double *found, const double *expected, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    if (!(fabs(found[i] - expected[i]) <= 2e-5 * (1 + fabs(expected[i])))) {
      fail_msg("%s: number %lld is %.9g, expected %.9g", what, (long long)i, found[i], expected[i]);
    }
  }
}

static void test_joint_batch(void **state) {
  (void)state;
  const BurnSyncGroup group = burn_sync_group(REPLICAS);
  static Replica replicas[REPLICAS];
  open_replicas(replicas, &group);
  run_replicas(replicas);
  for (int i = 0; i < REPLICAS; i++) {
    const Replica *r = &replicas[i];
    const int64_t first = first_item[i] * ROW, count = first_item[i + 1] * ROW - first;
    assert_string_equal("ok", burn_status_message(r->status));
    check_numbers("y", r->y, golden_batch_norm_sync + first, count);
    check_numbers("gradient of x", r->gradient, golden_batch_norm_sync + ITEMS * ROW + first, count);
    check_numbers("running mean", r->running[0], golden_batch_norm_sync_running, CHANNELS);
    check_numbers("running variance", r->running[1], golden_batch_norm_sync_running + CHANNELS, CHANNELS);
  }
  for (int p = 0; p < 4; p++) {
    double sum[CHANNELS];
    for (int c = 0; c < CHANNELS; c++) sum[c] = replicas[0].parameters[p][c] + replicas[1].parameters[p][c];
    check_numbers("gradient of a parameter", sum, golden_batch_norm_sync + 2 * ITEMS * ROW + p * CHANNELS, CHANNELS);
  }
  /* The group meets again, as in the next step. */
  for (int i = 0; i < REPLICAS; i++) replicas[i].status = BURN_OK;
  run_replicas(replicas);
  for (int i = 0; i < REPLICAS; i++) assert_string_equal("ok", burn_status_message(replicas[i].status));
  close_replicas(replicas);
}

/* A replica that fails tells the others, then and in later steps. */
static void test_one_fails(void **state) {
  (void)state;
  const BurnSyncGroup group = burn_sync_group(REPLICAS);
  static Replica replicas[REPLICAS];
  open_replicas(replicas, &group);
  replicas[1].fails = true;
  for (int turn = 0; turn < 2; turn++) {
    run_replicas(replicas);
    assert_non_null(strstr(burn_status_message(replicas[0].status), "rank 0 of 2: a member has failed"));
    replicas[1].fails = false;
  }
  assert_string_equal("batch_norm: axis 1 has 2 features, num_features is 4", burn_status_message(replicas[1].status));
  close_replicas(replicas);
}

static void test_one_does_not_come(void **state) {
  (void)state;
  BurnSyncGroup group = burn_sync_group(REPLICAS);
  static Replica replicas[REPLICAS];
  assert_true(group.timeout == 600);
  group.timeout = 0.05;
  open_replicas(replicas, &group);
  replicas[0].absent = true;
  run_replicas(replicas);
  assert_non_null(
      strstr(burn_status_message(replicas[1].status), "rank 1 of 2: only 1 of 2 members came within 0.05 seconds"));
  close_replicas(replicas);
}

/* Who does not want to give up waits without an end; what is no time is refused at once. */
static void test_times_without_end(void **state) {
  (void)state;
  const double times[] = {(double)INFINITY, 1e300, (double)NAN, -1};
  for (size_t t = 0; t < sizeof times / sizeof times[0]; t++) {
    BurnSyncGroup group = burn_sync_group(REPLICAS);
    static Replica replicas[REPLICAS];
    group.timeout = times[t];
    open_replicas(replicas, &group);
    run_replicas(replicas);
    for (int i = 0; i < REPLICAS; i++) {
      const char *said = burn_status_message(replicas[i].status), *wanted = t < 2 ? "ok" : "0 or more expected";
      if (!strstr(said, wanted)) fail_msg("'%s' lacks '%s'", said, wanted);
    }
    close_replicas(replicas);
  }
}

/* A group of one is the plain layer; below autodiff nobody is waited for. */
static void test_alone_and_below_autodiff(void **state) {
  const NnDevices *devices = *state;
  const BurnSyncGroup one = burn_sync_group(1), two = burn_sync_group(2);
  Norms m = make_model(devices->training), plain = make_model(devices->training);
  BurnTensor *x = nn_pattern(devices->training, BURN_SHAPE(ITEMS, CHANNELS, LENGTH), 1);
  double expected[ITEMS * ROW];
  BurnTensor *y = burn_detach(burn_batch_norm_forward(&plain.one, burn_clone(x)));
  assert_int_equal(BURN_OK, burn_read_f64(y, expected, ITEMS * ROW));
  y = burn_detach(burn_batch_norm_forward_sync(&m.one, burn_clone(x), &one, 0));
  nn_assert_values("alone", y, expected, ITEMS * ROW, 2e-5);
  Norms valid = Norms_valid(&m), plain_valid = Norms_valid(&plain);
  y = burn_batch_norm_forward(&plain_valid.one, burn_inner(burn_clone(x)));
  assert_int_equal(BURN_OK, burn_read_f64(y, expected, ITEMS * ROW));
  y = burn_batch_norm_forward_sync(&valid.one, burn_inner(x), &two, 0);
  nn_assert_values("below autodiff", y, expected, ITEMS * ROW, 2e-5);
  Norms_release(&valid);
  Norms_release(&plain_valid);
  Norms_release(&plain);
  Norms_release(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_joint_batch),
      cmocka_unit_test(test_one_fails),
      cmocka_unit_test(test_one_does_not_come),
      cmocka_unit_test(test_times_without_end),
      cmocka_unit_test(test_alone_and_below_autodiff),
  };
  return test_stacks_result(cmocka_run_group_tests(tests, nn_setup, nn_teardown));
}
