/* cuda_emulated_attention_test.c - attention of f32 and its gradients by the CUDA backend's kernels, on the CPU
 * (tests/plugins/emulated_cuda): as they are and in TF32 they have ndarray's values, and a head's bits do not depend on
 * how many others are computed beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/op_call.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_bits_of_a_head)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
