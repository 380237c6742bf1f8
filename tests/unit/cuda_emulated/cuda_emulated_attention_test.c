/* cuda_emulated_attention_test.c - attention of f32 and its gradients by the CUDA backend's kernels, on the CPU
 * (tests/plugins/emulated_cuda): as they are and in TF32 they have ndarray's values, and a head's bits do not depend on
 * how many others are computed beside it. Attention that leaves its logsumexp has the values of that which does not, on
 * ndarray too, where it is made of parts; training takes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/op_call.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CUDA, TENSOR_CORES, NDARRAY, DEVICES, INPUTS = 4, OUTPUTS = 3, MOST = 1 << 18 };

static const char *const stacks[] = {"cuda", "cuda:tf32=true", "ndarray"};
static const float tolerances[] = {2e-6f, 1e-3f};
static BurnDevice *devices[DEVICES];
static float *found[DEVICES];

static int set_up(void **state) {
  (void)state;
  setenv("BURN_CUDA_DRIVER", FAKE_DRIVER, 1);
  setenv("BURN_CUDA_LIBS", EMULATED_LIBRARIES, 1);
  setenv("BURN_FAKE_CUDA_FILL", "255", 1);
  for (int i = 0; i < DEVICES; i++) {
    devices[i] = burn_device_open(stacks[i]);
    found[i] = malloc(MOST * sizeof *found[i]);
    if (found[i] && burn_device_status(devices[i]) == BURN_OK) continue;
    print_error("%s\n", burn_status_message(burn_device_status(devices[i])));
    return -1;
  }
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  for (int i = 0; i < DEVICES; i++) {
    burn_device_close(devices[i]);
    free(found[i]);
  }
  return 0;
}

/* -- heads ------------------------------------------------------------------------------------ */

typedef struct Heads {
  int64_t batch, heads, queries, keys, width;
  bool is_causal;
} Heads;

/* Numbers of [-1, 1); a head's are the same however many there are. */
static BurnTensor *make(BurnDevice *device, const Heads *h, int64_t rows, uint32_t seed) {
  const int64_t head = rows * h->width, count = h->batch * h->heads * head;
  float *numbers = malloc((size_t)count * sizeof *numbers);
  assert_non_null(numbers);
  for (int64_t i = 0; i < count; i++) {
    uint32_t word = (uint32_t)(i % head + 1) * 2654435761u + seed * 40503u;
    word ^= word >> 15;
    word *= 2246822519u;
    word ^= word >> 13;
    numbers[i] = (float)ldexp((double)(int32_t)word, -31);
  }
  const BurnShape shape = BURN_SHAPE(h->batch, h->heads, rows, h->width);
  BurnTensor *x = burn_tensor_from(device, numbers, BURN_DTYPE_F32, shape);
  free(numbers);
  return x;
}

/* attention, or its gradients by attention_backward. */
static uint32_t run(BurnDevice *device, const Heads *h, bool back, BurnTensor *outputs[OUTPUTS + 1]) {
  const BurnAttr attrs[] = {burn_attr_f64(0), burn_attr_f64(0), burn_attr_bool(h->is_causal)};
  const BurnOpInfo *op = NULL;
  BurnTensor *inputs[INPUTS + 2] = {NULL};
  assert_int_equal(burn_op_find(back ? "attention_backward" : "attention", &op), BURN_OK);
  uint32_t count = 0;
  if (back) inputs[count++] = make(device, h, h->queries, 4);
  inputs[count++] = make(device, h, h->queries, 1);
  inputs[count++] = make(device, h, h->keys, 2);
  inputs[count++] = make(device, h, h->keys, 3);
  burn_op_call(device, op, inputs, count + 2, attrs, 3, outputs);
  if (back) burn_drop(outputs[OUTPUTS]); /* of the bias, which is not there */
  return back ? OUTPUTS : 1;
}

static int64_t read_numbers(BurnTensor *x, float *out) {
  const int64_t count = burn_element_count(x);
  assert_true(count <= MOST);
  const BurnStatus status = burn_read(x, out, (size_t)count * sizeof *out);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
  return count;
}

static void compare(const Heads *h, bool back) {
  BurnTensor *outputs[DEVICES][OUTPUTS + 1];
  uint32_t count = 0;
  for (int d = 0; d < DEVICES; d++) count = run(devices[d], h, back, outputs[d]);
  for (uint32_t k = 0; k < count; k++) {
    int64_t numbers = 0;
    for (int d = 0; d < DEVICES; d++) numbers = read_numbers(outputs[d][k], found[d]);
    for (int d = 0; d < NDARRAY; d++)
      for (int64_t i = 0; i < numbers; i++)
        if (!(fabsf(found[d][i] - found[NDARRAY][i]) <= tolerances[d] * (1.0f + fabsf(found[NDARRAY][i]))))
          fail_msg("%lld queries, %lld keys of %lld, result %u of %s, element %lld: %.9g on %s, %.9g on ndarray",
                   (long long)h->queries, (long long)h->keys, (long long)h->width, k, back ? "the gradients" : "all",
                   (long long)i, (double)found[d][i], stacks[d], (double)found[NDARRAY][i]);
  }
}

/* -- tests ------------------------------------------------------------------------------------ */

static void test_values(void **state) {
  static const Heads shapes[] = {
      {1, 2, 64, 64, 64, true},    {2, 4, 150, 150, 64, true},                             /* many rows */
      {2, 4, 150, 150, 32, false}, {1, 1, 70, 130, 32, true},   {1, 1, 150, 90, 96, true}, /* queries without a key */
      {2, 4, 70, 50, 96, false},   {1, 2, 130, 70, 128, false}, {2, 4, 130, 130, 128, true},
      {1, 1, 1, 300, 64, false},   {1, 1, 1, 300, 64, true},
  };
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    compare(&shapes[i], false);
    compare(&shapes[i], true);
  }
}

/* Blocks have more rows where heads are many. */
static void test_bits_of_a_head(void **state) {
  static const Heads one = {1, 1, 140, 140, 64, true}, many = {2, 5, 140, 140, 64, true};
  (void)state;
  for (int d = 0; d < NDARRAY; d++)
    for (int back = 0; back < 2; back++) {
      BurnTensor *of_one[OUTPUTS + 1], *of_many[OUTPUTS + 1];
      const uint32_t count = run(devices[d], &one, back, of_one);
      (void)run(devices[d], &many, back, of_many);
      for (uint32_t k = 0; k < count; k++) {
        const int64_t numbers = read_numbers(of_one[k], found[CUDA]);
        const int64_t all = read_numbers(of_many[k], found[NDARRAY]);
        for (int64_t i = 0; i < all; i += numbers)
          assert_memory_equal(found[CUDA], found[NDARRAY] + i, (size_t)numbers * sizeof *found[CUDA]);
      }
    }
}

/* -- the logsumexp ---------------------------------------------------------------------------- */

/* log(sum(exp(scores))) of a query of the first head, with a scale of 1 / sqrt(width). */
static double logsumexp_of(const Heads *h, const float *query, const float *keys, int64_t row) {
  const int64_t last = h->is_causal ? row + h->keys - h->queries : h->keys - 1;
  double sum = 0;
  for (int64_t key = 0; key <= last; key++) {
    double dot = 0;
    for (int64_t i = 0; i < h->width; i++) dot += (double)query[row * h->width + i] * (double)keys[key * h->width + i];
    sum += exp(dot / sqrt((double)h->width));
  }
  return log(sum);
}

static void check_logsumexp(BurnDevice *device, const Heads *h, BurnTensor *logsumexp, float tolerance) {
  (void)read_numbers(make(device, h, h->queries, 1), found[0]);
  (void)read_numbers(make(device, h, h->keys, 2), found[1]);
  (void)read_numbers(logsumexp, found[2]);
  for (int64_t row = 0; row < h->queries; row++) {
    const double expected = logsumexp_of(h, found[0], found[1], row), got = (double)found[2][row];
    if (expected != got && !(fabs(got - expected) <= (double)tolerance))
      fail_msg("the logsumexp of query %lld of %lld is %.9g, not %.9g", (long long)row, (long long)h->queries, got,
               expected);
  }
}

/* Gradients from what attention left are those made from the inputs alone. */
static void check_given_results(BurnDevice *device, const Heads *h, float tolerance) {
  const BurnAttr attrs[] = {burn_attr_f64(0), burn_attr_f64(0), burn_attr_bool(h->is_causal)};
  BurnTensor *results[2], *gradients[OUTPUTS + 1], *expected[OUTPUTS + 1];
  BurnTensor *inputs[] = {make(device, h, h->queries, 1), make(device, h, h->keys, 2), make(device, h, h->keys, 3),
                          NULL, NULL};
  burn_op_call(device, burn_op_info(BURN_OP_attention_with_logsumexp), inputs, 5, attrs, 3, results);
  check_logsumexp(device, h, burn_clone(results[1]), tolerance);
  BurnTensor *given[] = {make(device, h, h->queries, 4),
                         make(device, h, h->queries, 1),
                         make(device, h, h->keys, 2),
                         make(device, h, h->keys, 3),
                         results[0],
                         results[1],
                         NULL,
                         NULL};
  burn_op_call(device, burn_op_info(BURN_OP_attention_with_logsumexp_backward), given, 8, attrs, 3, gradients);
  const uint32_t count = run(device, h, true, expected);
  burn_drop(gradients[OUTPUTS]);
  for (uint32_t k = 0; k < count; k++) {
    const int64_t numbers = read_numbers(gradients[k], found[0]);
    (void)read_numbers(expected[k], found[1]);
    for (int64_t i = 0; i < numbers; i++)
      if (!(fabsf(found[0][i] - found[1][i]) <= tolerance * (1.0f + fabsf(found[1][i]))))
        fail_msg("%lld queries, gradient %u, element %lld: %.9g from the logsumexp, %.9g without",
                 (long long)h->queries, k, (long long)i, (double)found[0][i], (double)found[1][i]);
  }
}

static void test_given_results(void **state) {
  static const Heads shapes[] = {
      {1, 2, 70, 70, 64, true},
      {1, 1, 40, 30, 32, true}, /* queries without a key */
      {1, 2, 33, 50, 20, false},
      {1, 1, 50, 40, 7, true}, /* by attention.cu */
  };
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
    for (int d = 0; d < DEVICES; d++) check_given_results(devices[d], &shapes[i], d == TENSOR_CORES ? 2e-3f : 2e-6f);
}

/* How often the level below autodiff was called with an op. */
static long count_of(const char *path, const char *op) {
  char line[200], label[100];
  long count = 0;
  FILE *counts = fopen(path, "r");
  assert_non_null(counts);
  (void)snprintf(label, sizeof label, "trace: %s ", op);
  while (fgets(line, sizeof line, counts))
    if (strncmp(line, label, strlen(label)) == 0) count = strtol(line + strlen(label), NULL, 10);
  (void)fclose(counts);
  return count;
}

static void train(const char *backend, const char *path) {
  static const Heads heads = {1, 2, 20, 20, 32, true};
  char stack[200];
  BurnGradients *gradients = NULL;
  (void)snprintf(stack, sizeof stack, "autodiff<trace:format=count,file=%s<%s>>", path, backend);
  BurnDevice *device = burn_device_open(stack);
  BurnTensor *query = burn_require_grad(make(device, &heads, heads.queries, 1));
  BurnTensor *result = burn_attention(query, make(device, &heads, heads.keys, 2), make(device, &heads, heads.keys, 3),
                                      NULL, NULL, (BurnAttentionOptions){.is_causal = true});
  const BurnStatus status = burn_backward(result, &gradients);
  if (status != BURN_OK) fail_msg("%s: %s", stack, burn_status_message(status));
  burn_gradients_drop(gradients);
  burn_device_close(device);
}

static void test_training_takes_results(void **state) {
  char path[] = "/tmp/burn_attention_test_XXXXXX";
  const int file = mkstemp(path);
  (void)state;
  assert_true(file >= 0);
  (void)close(file);
  train("cuda", path);
  assert_int_equal(count_of(path, "attention_with_logsumexp"), 1);
  assert_int_equal(count_of(path, "attention_with_logsumexp_backward"), 1);
  assert_int_equal(count_of(path, "attention") + count_of(path, "attention_backward"), 0);
  train("ndarray", path);
  assert_int_equal(count_of(path, "attention"), 1);
  assert_int_equal(count_of(path, "attention_backward"), 1);
  (void)remove(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_bits_of_a_head),
                                     cmocka_unit_test(test_given_results),
                                     cmocka_unit_test(test_training_takes_results)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
