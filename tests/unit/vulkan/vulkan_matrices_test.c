/* vulkan_matrices_test.c - products by the device's matrix units are exact where all sums are: small integers in f16, bf16 and
 * i8, in all layouts, with edges, batches, a bias and parts of k. A device without matrices makes them by other kernels,
 * which must say the same; the test then says that it has seen no matrices. */
#define _DEFAULT_SOURCE /* mkdtemp */
#include "forked.h"

#include <glob.h>

static const char plugin_path[] = BURN_BUILD_DIR "/lib/burn/plugins/burn_vulkan" BURN_PLUGIN_SUFFIX;

typedef struct Product {
  int64_t batch, m, n, k;
  bool left_turned, right_turned, misaligned, biased;
} Product;

static const Product products[] = {
    {1, 64, 64, 64, false, false, false, false},    {1, 128, 48, 32, true, false, false, false},
    {1, 48, 128, 96, false, true, false, true},     {1, 40, 72, 56, true, true, false, true},
    {1, 33, 65, 17, false, false, false, false},    {1, 70, 31, 45, true, true, false, true},
    {1, 32, 64, 64, false, false, true, true},      {1, 64, 32, 40, true, true, true, false},
    {3, 40, 24, 48, false, true, false, false},     {2, 17, 19, 23, true, false, false, false},
    {16, 130, 100, 21, false, false, false, false}, {16, 130, 100, 20, true, false, false, false},
    {16, 132, 100, 36, true, true, false, false},   {16, 129, 90, 40, false, true, true, false},
    {1, 300, 520, 100, false, true, false, true},   {1, 270, 290, 90, true, false, true, false},
    {1, 16, 16, 1100, false, false, false, true},   {2, 20, 24, 1031, true, true, false, false},
};

static const BurnDType dtypes[] = {BURN_DTYPE_F16, BURN_DTYPE_BF16, BURN_DTYPE_I8, BURN_DTYPE_F32};

static char folder[] = "/tmp/vulkan_matrices_XXXXXX";

/* -- numbers ---------------------------------------------------------------------------------- */

/* -1, 0 or 1, so that f16 has all sums. */
static float left_at(int64_t batch, int64_t row, int64_t k) {
  return (float)((batch + row * 5 + k * 3 + row * k) % 3 - 1);
}
static float right_at(int64_t batch, int64_t k, int64_t column) {
  return (float)((batch * 2 + k * 7 + column * 4 + k * column) % 3 - 1);
}
static float bias_at(int64_t column) { return (float)(column % 5 - 2); }

static float rounded(float x, BurnDType dtype) {
  uint32_t bits;
  if (dtype == BURN_DTYPE_I8) return (float)(int8_t)(uint8_t)(int32_t)x;
  if (dtype != BURN_DTYPE_BF16) return x;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static float expected(const Product *p, BurnDType dtype, int64_t batch, int64_t row, int64_t column) {
  float sum = p->biased ? bias_at(column) : 0;
  for (int64_t k = 0; k < p->k; k++) sum += left_at(batch, row, k) * right_at(batch, k, column);
  return rounded(sum, dtype);
}

/* -- tensors ---------------------------------------------------------------------------------- */

/* [batch, rows, columns]: `turned`, the transpose of what lies in memory; `misaligned`, from the second column on. */
static BurnTensor *factor(BurnDevice *device, const Product *p, bool is_left, BurnDType dtype) {
  const int64_t rows = is_left ? p->m : p->k, columns = is_left ? p->k : p->n;
  const bool turned = is_left ? p->left_turned : p->right_turned;
  const int64_t lines = turned ? columns : rows, length = turned ? rows : columns, skipped = p->misaligned ? 1 : 0;
  float *numbers = calloc((size_t)(p->batch * lines * (length + skipped)), sizeof *numbers), *at = numbers;
  for (int64_t b = 0; b < p->batch; b++)
    for (int64_t line = 0; line < lines; line++)
      for (int64_t i = -skipped; i < length; i++, at++) {
        const int64_t row = turned ? i : line, column = turned ? line : i;
        *at = i < 0 ? 99 : is_left ? left_at(b, row, column) : right_at(b, row, column);
      }
  BurnTensor *x = burn_tensor_f32(device, numbers, BURN_SHAPE(p->batch, lines, length + skipped));
  free(numbers);
  x = burn_narrow(burn_cast(x, dtype), 2, skipped, length);
  return turned ? burn_transpose(x) : x;
}

static BurnTensor *bias_of(BurnDevice *device, const Product *p, BurnDType dtype) {
  float *numbers = calloc((size_t)p->n, sizeof *numbers);
  for (int64_t i = 0; i < p->n; i++) numbers[i] = bias_at(i);
  BurnTensor *x = burn_tensor_f32(device, numbers, BURN_SHAPE(p->n));
  free(numbers);
  return burn_cast(x, dtype);
}

static void check(BurnDevice *device, const Product *p, BurnDType dtype) {
  BurnTensor *lhs = factor(device, p, true, dtype), *rhs = factor(device, p, false, dtype), *out = NULL;
  if (p->biased)
    out = burn_linear(lhs, burn_reshape(rhs, BURN_SHAPE(p->k, p->n)), bias_of(device, p, dtype));
  else
    out = burn_matmul(lhs, rhs);
  const size_t count = (size_t)(p->batch * p->m * p->n);
  float *got = calloc(count, sizeof *got);
  const BurnStatus status = burn_read_f32(burn_cast(out, BURN_DTYPE_F32), got, count);
  CHECK(status == BURN_OK, "%s", burn_status_message(status));
  for (size_t i = 0; i < count; i++) {
    const int64_t column = (int64_t)i % p->n, row = (int64_t)i / p->n % p->m, batch = (int64_t)i / p->n / p->m;
    const float right = expected(p, dtype, batch, row, column);
    CHECK(got[i] == right, "%s [%lld, %lld, %lld] x [%lld], left %d, right %d: [%lld, %lld, %lld] is %g instead of %g",
          burn_dtype_name(dtype), (long long)p->batch, (long long)p->m, (long long)p->k, (long long)p->n,
          p->left_turned, p->right_turned, (long long)batch, (long long)row, (long long)column, (double)got[i],
          (double)right);
  }
  free(got);
}

/* -- tests ------------------------------------------------------------------------------------ */

/* With tiles of a size; true if there may be others, as the device is not a processor, which compiles them for
 * minutes. */
static bool multiply_by(const char *tile) {
  char name[160];
  BurnDeviceDescription is = {.struct_size = (uint32_t)sizeof is};
  (void)snprintf(name, sizeof name, "vulkan:matrices=always,matrix_tile=%s,cache=false,dump=%s", tile, folder);
  BurnDevice *device = burn_device_open(name);
  CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
  CHECK(burn_device_describe(device, &is) == BURN_OK, "the device tells nothing");
  for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
      if (!(products[i].biased && dtypes[d] == BURN_DTYPE_I8)) check(device, &products[i], dtypes[d]);
  burn_device_close(device);
  return !strstr(is.name, "llvmpipe");
}

static void multiply(void *context) {
  (void)context;
  if (!multiply_by("auto")) return;
  (void)multiply_by("small");
  (void)multiply_by("large");
}

static bool has_text(const char *path, const char *text) {
  static char content[1 << 18];
  FILE *file = fopen(path, "rb");
  const size_t size = file ? fread(content, 1, sizeof content - 1, file) : 0;
  if (file) (void)fclose(file);
  content[size] = '\0';
  return strstr(content, text) != NULL;
}

/* How many kernels with matrices were made; their files go. */
static int count_kernels(void) {
  char pattern[80];
  glob_t found = {0};
  int count = 0;
  (void)snprintf(pattern, sizeof pattern, "%s/*", folder);
  if (glob(pattern, 0, NULL, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; i++) {
      count += has_text(found.gl_pathv[i], "burn_write_sums");
      (void)remove(found.gl_pathv[i]);
    }
  globfree(&found);
  return count;
}

static void test_products(void **state) {
  (void)state;
  for (size_t i = 0; i < burn_plugin_count(); i++) {
    const BurnPluginInfo *info = burn_plugin_info(i);
    if (strcmp(info->name, "vulkan") != 0 || strcmp(info->refusal, "no_device") != 0) continue;
    print_message("skipped: vulkan: %s\n", info->reason);
    skip();
  }
  assert_non_null(mkdtemp(folder));
  forked(multiply, NULL);
  const int kernels = count_kernels();
  (void)rmdir(folder);
  print_message(kernels ? "%d kernels with matrices\n" : "the device has no matrices: only other kernels were seen\n",
                kernels);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_products)};
  if (access(plugin_path, R_OK) != 0) {
    print_message("skipped: vulkan: there is no %s\n", plugin_path);
    return 0;
  }
  return cmocka_run_group_tests_name("vulkan_matrices", tests, NULL, NULL);
}
