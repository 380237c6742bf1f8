/* parallel_test.c - host->parallel_for: every item once, nested, from several threads; results that do not depend on
 * the number of threads. */
#include "forked.h"

#include <burn/op_call.h>

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

/* -- coverage --------------------------------------------------------------------------------- */

enum { MAX_ITEMS = 100001 };

typedef struct Loop {
  atomic_uchar *marks; /* [count]: how often each item was done */
  atomic_llong done, chunks, bad;
  int64_t count, grain, inner;
} Loop;

static void BURN_API_CALL mark(void *context, int64_t begin, int64_t end) {
  Loop *loop = context;
  if (begin < 0 || end > loop->count || begin >= end) atomic_fetch_add(&loop->bad, 1);
  if (end - begin < loop->grain && end != loop->count) atomic_fetch_add(&loop->bad, 1); /* only the last may be short */
  for (int64_t i = begin; i < end; i++) atomic_fetch_add(&loop->marks[i], 1);
  atomic_fetch_add(&loop->done, end - begin);
  atomic_fetch_add(&loop->chunks, 1);
}

static void run_loop(int64_t count, int64_t grain) {
  Loop loop = {.marks = calloc((size_t)count + 1, 1), .count = count, .grain = grain};
  assert_non_null(loop.marks);
  burn_host()->parallel_for(count, grain, mark, &loop);
  assert_int_equal(atomic_load(&loop.done), count);
  assert_int_equal(atomic_load(&loop.bad), 0);
  if (count == 0) assert_int_equal(atomic_load(&loop.chunks), 0);
  for (int64_t i = 0; i < count; i++) assert_int_equal(atomic_load(&loop.marks[i]), 1);
  free(loop.marks);
}

static void test_every_item_once(void **state) {
  (void)state;
  static const int64_t counts[] = {0, 1, 2, 7, 8, 9, 64, 100, 4097, MAX_ITEMS}, grains[] = {1, 3, 16, 1000, 1000000};
  for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
    for (size_t g = 0; g < sizeof grains / sizeof grains[0]; g++) run_loop(counts[c], grains[g]);
  }
  for (int i = 0; i < 2000; i++) run_loop(17, 1); /* many short jobs in a row: workers join late */
}

/* -- nested ----------------------------------------------------------------------------------- */

static void BURN_API_CALL add_up(void *context, int64_t begin, int64_t end) {
  atomic_fetch_add((atomic_llong *)context, end - begin);
}

static void BURN_API_CALL nest(void *context, int64_t begin, int64_t end) {
  Loop *loop = context;
  for (int64_t i = begin; i < end; i++) {
    atomic_llong inner = 0;
    burn_host()->parallel_for(loop->inner, 1, add_up, &inner);
    if (atomic_load(&inner) != loop->inner) atomic_fetch_add(&loop->bad, 1);
    atomic_fetch_add(&loop->done, 1);
  }
}

static void test_nested(void **state) {
  (void)state;
  Loop loop = {.count = 50, .inner = 333};
  burn_host()->parallel_for(loop.count, 1, nest, &loop);
  assert_int_equal(atomic_load(&loop.done), 50);
  assert_int_equal(atomic_load(&loop.bad), 0);
}

/* -- several callers -------------------------------------------------------------------------- */

static void *call_many(void *context) {
  atomic_llong *bad = context;
  for (int i = 0; i < 300; i++) {
    atomic_llong sum = 0;
    burn_host()->parallel_for(1000 + i, 10, add_up, &sum);
    if (atomic_load(&sum) != 1000 + i) atomic_fetch_add(bad, 1);
  }
  return NULL;
}

static void test_concurrent_callers(void **state) {
  (void)state;
  enum { CALLERS = 4 };
  pthread_t threads[CALLERS];
  atomic_llong bad = 0;
  for (int i = 0; i < CALLERS; i++) assert_int_equal(pthread_create(&threads[i], NULL, call_many, &bad), 0);
  for (int i = 0; i < CALLERS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_int_equal(atomic_load(&bad), 0);
}

static void test_thread_count(void **state) {
  (void)state;
  assert_int_equal(burn_host()->thread_count(), burn_threads());
  assert_in_range(burn_threads(), 1, 256);
}

/* -- the number of threads -------------------------------------------------------------------- */

static void check_code(BurnStatus status, uint32_t code, const char *part) {
  CHECK(burn_status_code(status) == code, "%s, expected code %u", burn_status_message(status), code);
  if (part) check_contains(burn_status_message(status), part);
}

static void set_threads(void *context) {
  (void)context;
  check_code(burn_set_threads(0), BURN_STATUS_INVALID_ARGUMENT, "set_threads: 0 is not in 1..256");
  check_code(burn_set_threads(257), BURN_STATUS_INVALID_ARGUMENT, "set_threads: 257 is not in 1..256");
  check_code(burn_set_threads(2), 0, NULL);
  check_code(burn_set_threads(3), 0, NULL); /* nothing has started yet */
  CHECK(burn_threads() == 3, "%u threads", burn_threads());
  check_code(burn_set_threads(3), 0, NULL);
  check_code(burn_set_threads(2), BURN_STATUS_FAILED_PRECONDITION, "set_threads: 3 threads are running already");
}

static void threads_of_environment(void *context) {
  (void)context;
  setenv("BURN_THREADS", "5", 1);
  CHECK(burn_threads() == 5, "%u threads", burn_threads());
}

static void wrong_environment(void *context) {
  (void)context;
  setenv("BURN_THREADS", "many", 1);
  CHECK(burn_threads() >= 1 && burn_threads() <= 256, "%u threads", burn_threads());
}

static void test_choosing_threads(void **state) {
  (void)state;
  forked(set_threads, NULL);
  forked(threads_of_environment, NULL);
  forked(wrong_environment, NULL);
}

/* -- results do not depend on the threads ----------------------------------------------------- */

enum { RESULT_COUNT = 25 };

/* Hashes of results, written by children into shared memory. */
typedef struct Results {
  const char *threads, *stack;
  uint64_t hashes[RESULT_COUNT];
} Results;

static uint64_t hash_of(BurnTensor *x) {
  const size_t bytes = (size_t)burn_element_count(x) * burn_dtype_bytes(burn_dtype(x));
  unsigned char *data = malloc(bytes + 1);
  const BurnStatus status = data ? burn_read(x, data, bytes) : BURN_OK;
  CHECK(data && status == BURN_OK, "%s", burn_status_message(status));
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ data[i]) * 0x100000001b3u;
  free(data);
  return hash;
}

static BurnTensor *numbers(BurnDevice *device, BurnShape shape) {
  return burn_random_normal(device, shape, BURN_DTYPE_F32, 0, 1);
}

/* Of all results of an op together; inputs that are absent have rank 0. */
static uint64_t hash_of_op(BurnDevice *device, uint32_t op, const BurnShape *shapes, size_t count) {
  const BurnOpInfo *info = burn_op_info(op);
  BurnTensor *inputs[BURN_MAX_FIXED_INPUTS], *outputs[BURN_MAX_OUTPUTS];
  const BurnAttr attrs[] = {burn_attr_f64(0), burn_attr_f64(0), burn_attr_bool(true)}; /* attention: causal */
  uint64_t hash = 0;
  for (size_t i = 0; i < count; i++) inputs[i] = shapes[i].rank > 0 ? numbers(device, shapes[i]) : NULL;
  burn_op_call(device, info, inputs, count, attrs, info->attr_count, outputs);
  for (size_t i = 0; i < info->output_count; i++) hash = hash * 31 + hash_of(outputs[i]);
  return hash;
}

static uint64_t hash_of_attention(BurnDevice *device, bool back) {
  const BurnShape x = BURN_SHAPE(3, 4, 150, 20), bias = BURN_SHAPE(1, 4, 1, 150), none = {0};
  const BurnShape shapes[] = {x, x, x, x, none, bias};
  return hash_of_op(device, back ? BURN_OP_attention_backward : BURN_OP_attention, shapes + !back, back ? 6 : 5);
}

static uint64_t hash_of_lstm(BurnDevice *device, bool back) {
  const BurnShape wide = BURN_SHAPE(19, 6, 280), flat = BURN_SHAPE(19, 6, 70), state = BURN_SHAPE(19, 70),
                  weight = BURN_SHAPE(70, 280);
  const BurnShape ahead[] = {wide, state, state, weight},
                  behind[] = {flat, flat, wide, state, state, weight, flat, wide};
  return hash_of_op(device, back ? BURN_OP_lstm_backward : BURN_OP_lstm, back ? behind : ahead, back ? 8 : 4);
}

static uint64_t hash_of_linear_backward(BurnDevice *device) {
  const BurnShape shapes[] = {BURN_SHAPE(3, 301, 120), BURN_SHAPE(3, 301, 203), BURN_SHAPE(203, 120)};
  return hash_of_op(device, BURN_OP_linear_backward, shapes, 3);
}

static uint64_t hash_of_mse(BurnDevice *device, bool back) {
  const BurnShape shapes[] = {BURN_SHAPE(1), BURN_SHAPE(301, 2003), BURN_SHAPE(301, 2003)};
  return hash_of_op(device, back ? BURN_OP_mse_backward : BURN_OP_mse, shapes + !back, back ? 3 : 2);
}

/* Few and many channels, and groups of one. */
static void hash_convolutions(BurnDevice *device, uint64_t *hash) {
  BurnTensor *image = numbers(device, BURN_SHAPE(5, 8, 33, 31));
  BurnConv2dOptions conv = BURN_CONV2D_OPTIONS;
  conv.padding[0] = conv.padding[1] = 1;
  hash[0] = hash_of(
      burn_conv2d(burn_clone(image), numbers(device, BURN_SHAPE(16, 8, 3, 3)), numbers(device, BURN_SHAPE(16)), conv));
  for (int i = 0; i < 3; i++) {
    const int64_t channels = (const int64_t[]){4, 17, 40}[i];
    BurnTensor *grad = numbers(device, BURN_SHAPE(5, channels, 33, 31));
    hash[1 + i] = hash_of(burn_conv2d_weight_backward(burn_clone(image), grad, BURN_SHAPE(channels, 8, 3, 3), conv));
  }
  conv.groups = 8;
  hash[4] = hash_of(burn_conv2d(image, numbers(device, BURN_SHAPE(8, 1, 3, 3)), NULL, conv));
}

static void compute(void *context) {
  Results *results = context;
  uint64_t *hash = results->hashes;
  setenv("BURN_THREADS", results->threads, 1);
  BurnDevice *device = burn_device_open(results->stack);
  CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
  BurnTensor *wide = numbers(device, BURN_SHAPE(301, 2003));
  *hash++ = hash_of(burn_sum(burn_clone(wide)));
  *hash++ = hash_of(burn_mean(burn_clone(wide)));
  *hash++ = hash_of(burn_sum_dim(burn_clone(wide), 0));
  *hash++ = hash_of(burn_sum_dim(burn_clone(wide), 1));
  *hash++ = hash_of(burn_var(burn_clone(wide), 0));
  *hash++ = hash_of(burn_softmax(burn_clone(wide), 1));
  *hash++ = hash_of(burn_log_softmax(burn_transpose(burn_clone(wide)), 0));
  *hash++ = hash_of(burn_matmul(burn_clone(wide), numbers(device, BURN_SHAPE(2003, 77))));
  *hash++ = hash_of(burn_matmul(numbers(device, BURN_SHAPE(9, 40, 50)), numbers(device, BURN_SHAPE(9, 50, 30))));
  hash_convolutions(device, hash);
  hash += 5;
  *hash++ = hash_of(burn_avg_pool2d(numbers(device, BURN_SHAPE(5, 8, 33, 31)), BURN_POOL2D_OPTIONS(2, 2)));
  *hash++ = hash_of(burn_layer_norm(burn_clone(wide), burn_ones(device, BURN_SHAPE(2003), BURN_DTYPE_F32), NULL, 1e-5));
  *hash++ = hash_of(burn_exp(burn_clone(wide)));
  *hash++ = hash_of(burn_scatter_add(burn_zeros(device, BURN_SHAPE(301, 7), BURN_DTYPE_F32), 1,
                                     burn_random_uniform(device, BURN_SHAPE(301, 2003), BURN_DTYPE_I64, 0, 7), wide));
  *hash++ = hash_of_attention(device, false);
  *hash++ = hash_of_attention(device, true);
  *hash++ = hash_of_lstm(device, false);
  *hash++ = hash_of_lstm(device, true);
  *hash++ = hash_of_linear_backward(device);
  *hash++ = hash_of_mse(device, false);
  *hash++ = hash_of_mse(device, true);
  burn_device_close(device);
}

static void test_results_do_not_depend_on_threads(void **state) {
  (void)state;
  static const char *const what[RESULT_COUNT] = {"sum",
                                                 "mean",
                                                 "sum_dim 0",
                                                 "sum_dim 1",
                                                 "var",
                                                 "softmax",
                                                 "log_softmax",
                                                 "matmul",
                                                 "batched matmul",
                                                 "conv2d",
                                                 "weights of 4 channels",
                                                 "weights of 17 channels",
                                                 "weights of 40 channels",
                                                 "depthwise conv2d",
                                                 "avg_pool2d",
                                                 "layer_norm",
                                                 "exp",
                                                 "scatter_add",
                                                 "attention",
                                                 "attention back",
                                                 "lstm",
                                                 "lstm back",
                                                 "linear back",
                                                 "mse",
                                                 "mse back"};
  static const char *const stacks[] = {"ndarray", "ndarray:gemm=builtin", "ndarray:primitives=true,gemm=builtin"};
  static const char *const threads[] = {"1", "2", "5"};
  FILE *file = tmpfile(); /* its pages are shared with the children */
  assert_non_null(file);
  assert_int_equal(ftruncate(fileno(file), 3 * sizeof(Results)), 0);
  Results *results = mmap(NULL, 3 * sizeof *results, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
  assert_true(results != MAP_FAILED);
  for (size_t s = 0; s < 3; s++) {
    for (size_t t = 0; t < 3; t++) {
      memset(&results[t], 0, sizeof results[t]);
      results[t].threads = threads[t];
      results[t].stack = stacks[s];
      forked(compute, &results[t]);
    }
    for (size_t t = 1; t < 3; t++) {
      for (size_t i = 0; i < RESULT_COUNT; i++) {
        if (results[t].hashes[i] == results[0].hashes[i] && results[0].hashes[i] != 0) continue;
        fail_msg("%s on %s: %s threads give other bits than 1", what[i], stacks[s], threads[t]);
      }
    }
  }
  munmap(results, 3 * sizeof *results);
  fclose(file);
}

/* Whether an op runs on one thread or on many, inside a chunk or alone, subnormal numbers stay what they are. */
static void test_subnormals_at_every_size(void **state) {
  static const int64_t counts[] = {1, 100, 70001};
  static float found[70001];
  for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
    BurnTensor *x = burn_mul_scalar(burn_full(*state, BURN_SHAPE(counts[c]), BURN_DTYPE_F32, 0x1p-130), 0.5);
    assert_string_equal(burn_status_message(burn_read_f32(x, found, (size_t)counts[c])), "ok");
    const float expected = 0x1p-131f;
    for (int64_t i = 0; i < counts[c]; i++) assert_memory_equal(&found[i], &expected, sizeof expected);
  }
}

/* Opened after the tests that fork, whose children choose their own number of threads. */
static int open_device(void **state) {
  *state = burn_device_open("ndarray");
  return burn_device_status(*state) == BURN_OK && burn_threads() > 0 ? 0 : -1;
}
static int close_device(void **state) {
  burn_device_close(*state);
  return 0;
}

int main(void) {
  const struct CMUnitTest alone[] = {
      cmocka_unit_test(test_choosing_threads),
      cmocka_unit_test(test_results_do_not_depend_on_threads),
  };
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_item_once),          cmocka_unit_test(test_nested),
      cmocka_unit_test(test_concurrent_callers),       cmocka_unit_test(test_thread_count),
      cmocka_unit_test(test_subnormals_at_every_size),
  };
  unsetenv("BURN_THREADS");
  const int failed = cmocka_run_group_tests_name("threads of a process", alone, NULL, NULL);
  setenv("BURN_THREADS", "4", 1); /* more than the machine may have, so that there is something to interleave */
  return failed + cmocka_run_group_tests_name("parallel_for", tests, open_device, close_device);
}
