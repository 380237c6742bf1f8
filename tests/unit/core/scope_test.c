/* scope_test.c - BurnScope and BURN_AUTO: what is dropped, what is kept, what leaves by itself. CTest runs it with
 * guards on, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/nn.h>
#include <burn/train.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static BurnDevice *device;

static int64_t live(void) { return burn_device_memory(device).live_tensors; }
static BurnTensor *ones(void) { return burn_ones(device, BURN_SHAPE(2, 3), BURN_DTYPE_F32); }

/* Takes x. */
static double sum_of(BurnTensor *x) {
  double value = 0;
  assert_true(burn_read_scalar(burn_sum(x), &value) == BURN_OK);
  return value;
}
static void assert_near(double value, double expected) {
  assert_true(value > expected - 0.001 && value < expected + 0.001);
}

static int open_device(void **state) {
  (void)state;
  device = burn_device_open_training("ndarray");
  return burn_device_status(device) == BURN_OK ? 0 : -1;
}

/* Nothing that a test made is left. */
static int close_device(void **state) {
  (void)state;
  const int64_t left = live();
  burn_device_close(device);
  return left == 0 ? 0 : -1;
}

/* -- what is dropped -------------------------------------------------------------------------- */

static void test_all_but_kept(void **state) {
  (void)state;
  BurnTensor *before = ones();
  BurnScope *scope = burn_scope_begin();
  BurnTensor *x = ones(), *y = burn_relu(burn_clone(x));
  (void)y;
  BurnTensor *kept = burn_scope_end(scope, burn_mul_scalar(x, 2));
  assert_int_equal(live(), 2);
  assert_near(sum_of(kept), 12);
  assert_near(sum_of(before), 6);
}

static void test_nothing_kept(void **state) {
  (void)state;
  BurnScope *scope = burn_scope_begin();
  for (int i = 0; i < 100; i++) assert_non_null(ones());
  assert_int_equal(live(), 100);
  assert_null(burn_scope_end(scope, NULL));
  assert_int_equal(live(), 0);
}

static void test_failed_tensors(void **state) {
  (void)state;
  BurnScope *scope = burn_scope_begin();
  assert_non_null(burn_matmul(ones(), ones()));
  BurnTensor *kept = burn_scope_end(scope, burn_exp(burn_matmul(ones(), ones())));
  const BurnStatus status = burn_tensor_status(kept);
  assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_SHAPE);
  burn_drop(kept);
}

/* A handle from outside that becomes a result in place is the result's, which was made inside. */
static void test_results_in_place(void **state) {
  (void)state;
  BurnTensor *x = ones();
  BurnScope *scope = burn_scope_begin();
  assert_non_null(burn_relu(burn_mul_scalar(x, 3)));
  (void)burn_scope_end(scope, NULL);
  assert_int_equal(live(), 0);
  BurnScope *outer = burn_scope_begin();
  x = ones();
  scope = burn_scope_begin();
  BurnTensor *kept = burn_scope_end(scope, burn_relu(x));
  assert_near(sum_of(burn_clone(kept)), 6);
  (void)burn_scope_end(outer, NULL);
  assert_int_equal(live(), 0);
}

static void test_dropped_before_the_end(void **state) {
  (void)state;
  BurnScope *scope = burn_scope_begin();
  BurnTensor *x = ones(), *y = ones(), *z = ones();
  burn_drop(y);
  burn_drop(x);
  (void)burn_scope_end(scope, z);
  assert_near(sum_of(z), 6);
}

/* -- nesting ---------------------------------------------------------------------------------- */

static void test_kept_goes_to_the_outer_scope(void **state) {
  (void)state;
  BurnScope *outer = burn_scope_begin();
  BurnScope *inner = burn_scope_begin();
  BurnTensor *x = burn_scope_end(inner, ones());
  assert_near(sum_of(burn_clone(x)), 6);
  (void)burn_scope_end(outer, NULL);
  assert_int_equal(live(), 0);
}

static BurnTensor *returns_early(BurnTensor *x) {
  BurnScope *scope = burn_scope_begin();
  burn_scope_adopt(scope, x);
  assert_non_null(burn_exp(burn_clone(x)));
  return burn_tensor_failed(burn_status_make(BURN_STATUS_CANCELLED, "early")); /* forgets its scope */
}

static void test_open_inner_scopes_end_too(void **state) {
  (void)state;
  BurnScope *outer = burn_scope_begin();
  BurnTensor *kept = burn_scope_end(outer, returns_early(ones()));
  assert_int_equal(live(), 0);
  assert_int_equal(burn_status_code(burn_tensor_status(kept)), BURN_STATUS_CANCELLED);
  burn_drop(kept);
}

static void test_keep_and_adopt(void **state) {
  (void)state;
  BurnTensor *given = ones();
  BurnScope *outer = burn_scope_begin();
  BurnScope *inner = burn_scope_begin();
  BurnTensor *one_up = ones(), *two_up = ones(), *out = ones();
  assert_ptr_equal(burn_scope_keep(inner, one_up), one_up);
  assert_ptr_equal(burn_scope_keep(outer, two_up), two_up);
  assert_ptr_equal(burn_scope_keep(NULL, out), out);
  assert_ptr_equal(burn_scope_adopt(inner, given), given);
  assert_int_equal(live(), 4);
  (void)burn_scope_end(inner, NULL);
  assert_int_equal(live(), 3);          /* given was adopted */
  (void)burn_scope_keep(inner, one_up); /* ended: one_up stays where it is */
  (void)burn_scope_end(outer, NULL);
  assert_int_equal(live(), 2);
  assert_near(sum_of(two_up) + sum_of(out), 12);
}

static void test_wrong_ends(void **state) {
  (void)state;
  BurnScope *scope = burn_scope_begin();
  BurnTensor *x = burn_scope_end(scope, ones());
  assert_ptr_equal(burn_scope_end(scope, x), x); /* a word on the log */
  assert_ptr_equal(burn_scope_end(NULL, x), x);
  assert_null(burn_scope_keep(NULL, NULL));
  burn_drop(x);
}

/* -- what leaves by itself -------------------------------------------------------------------- */

#define NET_FIELDS(X)         \
  X(BurnLinear, fc, "4 -> 3") \
  X(BurnBatchNorm, norm, "state")
BURN_MODULE(Net, NET_FIELDS);

static Net net_init(void) {
  const BurnLinearConfig fc = BurnLinearConfig_defaults(4, 3);
  const BurnBatchNormConfig norm = BurnBatchNormConfig_defaults(3);
  return (Net){burn_linear_init(&fc, device), burn_batch_norm_init(&norm, device)};
}

static BurnTensor *net_loss(const Net *net) {
  BurnTensor *x = burn_random_uniform(device, BURN_SHAPE(8, 4), BURN_DTYPE_DEFAULT, 0, 1);
  return burn_mean(burn_square(burn_batch_norm_forward(&net->norm, burn_linear_forward(&net->fc, x))));
}

static BurnTensor *half(void *context, const char *path, BurnTensor *value) {
  (void)context;
  (void)path;
  return burn_require_grad(burn_detach(burn_mul_scalar(value, 0.5)));
}

/* A module is made, trained, copied and changed, each in a scope of its own. */
static void test_modules_and_optimizers(void **state) {
  (void)state;
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  BurnScope *scope = burn_scope_begin();
  Net net = net_init();
  (void)burn_scope_end(scope, NULL);
  for (int step = 0; step < 3; step++) {
    scope = burn_scope_begin();
    BurnTensor *loss = net_loss(&net);
    assert_non_null(burn_detach(burn_clone(loss))); /* forgotten */
    assert_true(burn_train_step(optimizer, burn_module(Net, &net), loss, 0.01) == BURN_OK);
    (void)burn_scope_end(scope, NULL);
    assert_true(burn_module_status(burn_module(Net, &net)) == BURN_OK);
  }
  scope = burn_scope_begin();
  Net valid = Net_valid(&net), copy = Net_clone(&net);
  burn_module_map(burn_module(Net, &copy), half, NULL);
  burn_module_no_grad(burn_module(Net, &net));
  burn_param_set(&net.fc.weight, burn_zeros(device, BURN_SHAPE(4, 3), BURN_DTYPE_F32));
  burn_module_to_device(burn_module(Net, &valid), device);
  (void)burn_scope_end(scope, NULL);
  assert_near(sum_of(burn_param_value(&net.fc.weight)), 0);
  assert_true(burn_module_status(burn_module(Net, &valid)) == BURN_OK);
  assert_true(burn_module_status(burn_module(Net, &copy)) == BURN_OK);
  Net_release(&valid);
  Net_release(&copy);
  Net_release(&net);
  burn_optimizer_destroy(optimizer);
}

static void test_gradients_and_states(void **state) {
  (void)state;
  Net net = net_init();
  BurnOptimizer *optimizer = burn_adam_create(NULL), *second = burn_adam_create(NULL);
  BurnGradientsParams *sum = NULL;
  BurnScope *scope;
  for (int step = 0; step < 2; step++) {
    scope = burn_scope_begin();
    BurnGradients *gradients = NULL;
    assert_true(burn_backward(net_loss(&net), &gradients) == BURN_OK);
    assert_true(burn_gradients_accumulate(&sum, burn_gradients_params(gradients, burn_module(Net, &net))) == BURN_OK);
    (void)burn_scope_end(scope, NULL);
  }
  assert_true(burn_optimizer_step(optimizer, burn_module(Net, &net), sum, 0.01) == BURN_OK);
  BurnValue *value = burn_optimizer_value(optimizer);
  scope = burn_scope_begin();
  assert_true(burn_optimizer_load(second, value, device) == BURN_OK);
  (void)burn_scope_end(scope, NULL);
  burn_value_destroy(value);
  assert_true(burn_train_step(second, burn_module(Net, &net), net_loss(&net), 0.01) == BURN_OK);
  burn_optimizer_destroy(optimizer);
  burn_optimizer_destroy(second);
  Net_release(&net);
}

static void test_records(void **state) {
  (void)state;
  Net net = net_init(), other = net_init();
  BurnScope *scope = burn_scope_begin();
  BurnValue *record = burn_value_module(burn_module(Net, &net));
  assert_true(burn_value_into_module(record, burn_module(Net, &other)) == BURN_OK);
  burn_value_destroy(record);
  (void)burn_scope_end(scope, NULL);
  assert_near(sum_of(burn_sub(burn_param_value(&net.fc.weight), burn_param_value(&other.fc.weight))), 0);
  Net_release(&net);
  Net_release(&other);
}

/* The batch lives on; a column that was taken from it belongs to the scope. */
static void test_batches(void **state) {
  (void)state;
  static const float values[4] = {1, 2, 3, 4};
  const BurnColumn column = {.name = "x", .dtype = BURN_DTYPE_F32, .shape = {1, {1}}};
  const void *const data[] = {values};
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_memory(&column, 1, data, 4, &status);
  const BurnLoaderConfig config = {.batch_size = 2};
  BurnLoader *loader = burn_loader_create(dataset, &config, &status);
  assert_true(status == BURN_OK);
  BurnBatches *batches = burn_loader_start(loader, device, 1, 0);
  BurnBatch batch;
  BurnScope *scope = burn_scope_begin();
  assert_true(burn_batches_next(batches, &batch));
  (void)burn_scope_end(scope, NULL);
  assert_int_equal(live(), 1);
  scope = burn_scope_begin();
  assert_non_null(burn_batch_take(&batch, "x"));
  (void)burn_scope_end(scope, NULL);
  assert_true(burn_batches_stop(batches) == BURN_OK);
  burn_loader_destroy(loader);
}

/* burn_write puts a new handle where the old one was. */
static void test_written_tensors(void **state) {
  (void)state;
  static const float values[6] = {2, 2, 2, 2, 2, 2};
  BurnTensor *outside = ones();
  BurnScope *outer = burn_scope_begin();
  BurnTensor *x = ones();
  BurnScope *inner = burn_scope_begin();
  assert_true(burn_write(&outside, values, sizeof values) == BURN_OK);
  assert_true(burn_write(&x, values, sizeof values) == BURN_OK);
  (void)burn_scope_end(inner, NULL);
  assert_near(sum_of(burn_clone(x)), 12);
  (void)burn_scope_end(outer, NULL);
  assert_int_equal(live(), 1);
  assert_near(sum_of(outside), 12);
}

/* -- threads ---------------------------------------------------------------------------------- */

static void *work(void *given) {
  for (int i = 0; i < 300; i++) {
    BurnScope *scope = burn_scope_begin();
    BurnTensor *x = burn_add(ones(), burn_clone(given));
    (void)burn_scope_adopt(scope, burn_relu(burn_clone(x))); /* forgotten */
    burn_drop(burn_scope_end(scope, burn_exp(x)));
  }
  burn_drop(given);
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  pthread_t threads[4];
  BurnScope *scope = burn_scope_begin();
  for (int i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, work, burn_scope_keep(NULL, ones())), 0);
  for (int i = 0; i < 300; i++) burn_drop(burn_relu(ones()));
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  (void)burn_scope_end(scope, NULL);
}

/* -- BURN_AUTO -------------------------------------------------------------------------------- */

#if defined(BURN_AUTO)
static BurnTensor *with_autos(bool early) {
  BURN_AUTO BurnTensor *x = ones();
  BURN_AUTO BurnTensor *y = burn_relu(burn_clone(x));
  BURN_AUTO BurnTensor *absent = NULL;
  if (early) return burn_tensor_failed(burn_status_make(BURN_STATUS_CANCELLED, "early"));
  assert_null(burn_move(&absent));
  return burn_add(burn_move(&x), burn_move(&y));
}

static void test_autos(void **state) {
  (void)state;
  burn_drop(with_autos(true));
  assert_int_equal(live(), 0);
  assert_near(sum_of(with_autos(false)), 12);
}
#endif

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_device, close_device)
  const struct CMUnitTest tests[] = {
    TEST(test_all_but_kept),
    TEST(test_nothing_kept),
    TEST(test_failed_tensors),
    TEST(test_results_in_place),
    TEST(test_dropped_before_the_end),
    TEST(test_kept_goes_to_the_outer_scope),
    TEST(test_open_inner_scopes_end_too),
    TEST(test_keep_and_adopt),
    TEST(test_wrong_ends),
    TEST(test_modules_and_optimizers),
    TEST(test_gradients_and_states),
    TEST(test_records),
    TEST(test_batches),
    TEST(test_written_tensors),
    TEST(test_threads),
#if defined(BURN_AUTO)
    TEST(test_autos),
#endif
  };
  return cmocka_run_group_tests_name("scope", tests, NULL, NULL);
}
