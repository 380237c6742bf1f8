/* vulkan_attention_test.c - attention and its gradients have the values of f32 on ndarray. Of halves, up to their rounding: by
 * the device's matrix units (kernels/attention_matrices.cu); a device without such computes one result by another kernel, and the
 * test says so. Heads of all widths, with and without a mask that hides, and rows that lie by fours or not. Of f32 by
 * kernels/attention_f32.cu, whose blocks are as the device has shared memory for them. */
#define _DEFAULT_SOURCE /* unsetenv */
#include "forked.h"
#include "vulkan_driver.h"

#include <burn/op_call.h>

#include <math.h>

enum { INPUTS = 6, OUTPUTS = 4, MOST = 1 << 16 };

static const char plugin_path[] = BURN_BUILD_DIR "/lib/burn/plugins/burn_vulkan" BURN_PLUGIN_SUFFIX;
static char folder[64]; /* of sources */

typedef struct Heads {
  int64_t batch, heads, queries, keys, width;
  bool is_causal, has_mask, is_odd; /* odd: rows begin at odd elements */
} Heads;
/* Few, as each has kernels of its own, which a processor compiles for seconds. */
static const Heads shapes[] = {
    {1, 2, 64, 64, 64, true, false, false},
    {1, 1, 37, 90, 32, true, true, false},
    {1, 2, 33, 65, 20, false, false, true},
};
/* Of f32: tiles that are full and not, and keys that no query sees, or fewer than queries. */
static const Heads plain_shapes[] = {
    {1, 3, 64, 64, 32, false, false, false},
    {2, 1, 70, 130, 32, true, false, false},
    {1, 1, 75, 33, 32, true, false, false},
};
enum { HALVES = 2, F32 = HALVES };
static const BurnDType dtypes[] = {BURN_DTYPE_F16, BURN_DTYPE_BF16, BURN_DTYPE_F32};
static const float tolerances[] = {4e-3f, 3e-2f, 4e-6f}; /* of the largest number of a result */

/* -- one of them ------------------------------------------------------------------------------ */

/* Numbers of [-1, 1) that the dtype has, as `out` has them; every second element of a line where `odd`. */
static BurnTensor *make(BurnDevice *device, BurnShape shape, BurnDType dtype, BurnDType out, bool odd, uint32_t seed) {
  static float numbers[2 * MOST];
  int64_t count = 1;
  const int64_t width = shape.dims[3], each = odd ? 2 * width + 1 : width;
  for (uint32_t i = 0; i < 3; i++) count *= shape.dims[i];
  CHECK(count * each <= 2 * MOST, "%d numbers", (int)(count * each));
  for (int64_t i = 0; i < count * each; i++) {
    uint32_t word = (uint32_t)(i / each * width + i % each / (odd ? 2 : 1) + 1) * 2654435761u + seed * 40503u;
    word = (word ^ word >> 15) * 2246822519u;
    numbers[i] = (float)ldexp((double)(int32_t)(word ^ word >> 13), -31);
  }
  BurnShape whole = shape;
  whole.dims[3] = each;
  BurnTensor *x = burn_cast(burn_cast(burn_tensor_f32(device, numbers, whole), dtype), out);
  return odd ? burn_slice_dim(x, 3, (BurnRange){.start = 0, .end = 2 * width, .step = 2}) : x;
}

/* Hides every third key, and for one query all of them. */
static BurnTensor *make_mask(BurnDevice *device, const Heads *h) {
  static float hidden[MOST];
  for (int64_t q = 0; q < h->queries; q++)
    for (int64_t k = 0; k < h->keys; k++) hidden[q * h->keys + k] = (q + k) % 3 == 0 || q == 5 ? 1 : 0;
  return burn_cast(burn_tensor_f32(device, hidden, BURN_SHAPE(1, 1, h->queries, h->keys)), BURN_DTYPE_BOOL);
}

/* attention, or its gradients by attention_backward, of numbers of `dtype` in `computed`. */
static uint32_t run(BurnDevice *device, const Heads *h, BurnDType dtype, BurnDType computed, bool back,
                    BurnTensor *outputs[OUTPUTS]) {
  const BurnAttr attrs[] = {burn_attr_f64(0), burn_attr_f64(0), burn_attr_bool(h->is_causal)};
  const BurnShape queries = BURN_SHAPE(h->batch, h->heads, h->queries, h->width);
  const BurnShape keys = BURN_SHAPE(h->batch, h->heads, h->keys, h->width);
  const BurnOpInfo *op = NULL;
  BurnTensor *inputs[INPUTS] = {NULL};
  uint32_t count = 0;
  CHECK(burn_op_find(back ? "attention_backward" : "attention", &op) == BURN_OK, "the op is gone");
  if (back) inputs[count++] = make(device, queries, dtype, computed, h->is_odd, 4);
  inputs[count++] = make(device, queries, dtype, computed, h->is_odd, 1);
  inputs[count++] = make(device, keys, dtype, computed, h->is_odd, 2);
  inputs[count++] = make(device, keys, dtype, computed, h->is_odd, 3);
  inputs[count] = h->has_mask ? make_mask(device, h) : NULL;
  burn_op_call(device, op, inputs, count + 2, attrs, 3, outputs);
  if (back) burn_drop(outputs[OUTPUTS - 1]); /* of the bias, which is not there */
  return back ? OUTPUTS - 1 : 1;
}

static int64_t read_numbers(BurnTensor *x, float *out) {
  const int64_t count = burn_element_count(x);
  CHECK(count <= MOST, "%d numbers", (int)count);
  const BurnStatus status = burn_read_f32(burn_cast(x, BURN_DTYPE_F32), out, (size_t)count);
  CHECK(status == BURN_OK, "%s", burn_status_message(status));
  return count;
}

static void compare(BurnDevice *device, BurnDevice *other, const Heads *h, size_t dtype, bool back) {
  static float got[MOST], expected[MOST];
  BurnTensor *found[OUTPUTS], *right[OUTPUTS];
  const uint32_t count = run(device, h, dtypes[dtype], dtypes[dtype], back, found);
  (void)run(other, h, dtypes[dtype], BURN_DTYPE_F32, back, right);
  for (uint32_t k = 0; k < count; k++) {
    const int64_t numbers = read_numbers(found[k], got);
    float largest = 0;
    (void)read_numbers(right[k], expected);
    for (int64_t i = 0; i < numbers; i++) largest = fmaxf(largest, fabsf(expected[i]));
    for (int64_t i = 0; i < numbers; i++)
      CHECK(fabsf(got[i] - expected[i]) <= tolerances[dtype] * largest,
            "%d queries, %d keys of %d, dtype %d, result %u of %s, element %d: %g, not %g", (int)h->queries,
            (int)h->keys, (int)h->width, (int)dtypes[dtype], k, back ? "the gradients" : "all", (int)i, (double)got[i],
            (double)expected[i]);
  }
}

/* -- all of them ------------------------------------------------------------------------------ */

/* How many kernels of attention have that line. */
static int count_kernels(const char *line) {
  char command[200];
  int count = 0;
  (void)snprintf(command, sizeof command,
                 "grep -l '^#define %s' '%s'/*.cu 2>/dev/null | xargs -r grep -l 'kernel(const GpuAttention' | wc -l",
                 line, folder);
  FILE *pipe = popen(command, "r");
  CHECK(pipe, "no shell");
  if (fscanf(pipe, "%d", &count) != 1) count = 0;
  (void)pclose(pipe);
  return count;
}

/* Without matrices the kernels are those that conformance has, and one is enough. */
static void compare_all(void *context) {
  char name[120];
  (void)context;
  use_processor();
  (void)snprintf(name, sizeof name, "vulkan:matrices=always,cache=false,dump=%s", folder);
  BurnDevice *device = burn_device_open(name), *other = burn_device_open("ndarray");
  if (burn_device_status(device) != BURN_OK) {
    print_message("skipped: %s\n", burn_status_message(burn_device_status(device)));
    return;
  }
  compare(device, other, &shapes[0], 0, false);
  const bool has_matrices = count_kernels("MATRIX_ROWS") > 0;
  for (size_t d = 0; d < HALVES && has_matrices; d++)
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
      for (int back = 0; back < 2; back++)
        if (d == 0 || i == 0) compare(device, other, &shapes[i], d, back != 0);
  CHECK(burn_device_memory(device).live_tensors == 0, "tensors are left");
  burn_device_close(device);
  burn_device_close(other);
}

static void compare_plain(void *context) {
  char name[120];
  (void)context;
  use_processor();
  (void)snprintf(name, sizeof name, "vulkan:kernels=gpu,cache=false,dump=%s", folder);
  BurnDevice *device = burn_device_open(name), *other = burn_device_open("ndarray");
  if (burn_device_status(device) != BURN_OK) {
    print_message("skipped: %s\n", burn_status_message(burn_device_status(device)));
    return;
  }
  for (size_t i = 0; i < sizeof plain_shapes / sizeof plain_shapes[0]; i++)
    for (int back = 0; back < 2; back++) compare(device, other, &plain_shapes[i], F32, back != 0);
  CHECK(count_kernels("PLACE_OF_TILE") >= 3, "the kernels of f32 were not taken");
  CHECK(burn_device_memory(device).live_tensors == 0, "tensors are left");
  burn_device_close(device);
  burn_device_close(other);
}

static void test_plain_attention(void **state) {
  (void)state;
  make_folder(folder);
  forked(compare_plain, NULL);
  assert_int_equal(remove_folder(folder), 0);
}

static void test_attention(void **state) {
  (void)state;
  make_folder(folder);
  forked(compare_all, NULL);
  const int kernels = count_kernels("MATRIX_ROWS");
  assert_int_equal(remove_folder(folder), 0);
  print_message(kernels ? "%d kernels with matrices\n" : "no matrices: only other kernels were seen\n", kernels);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_attention), cmocka_unit_test(test_plain_attention)};
  if (access(plugin_path, R_OK) != 0) {
    print_message("skipped: vulkan: there is no %s\n", plugin_path);
    return 0;
  }
  return cmocka_run_group_tests_name("vulkan_attention", tests, NULL, NULL);
}
