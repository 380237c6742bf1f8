/* cuda_emulated_copy_test.c - copies of views whose neighbours lie along another axis, by the kernels of the CUDA backend
 * on the CPU (tests/plugins/emulated_cuda): every size of elements, tiles that are not full, lines that begin anywhere;
 * and copies between two devices, whose memory is opened to each other where it can be. */
#include "forked.h"

#include <burn/burn.h>

#include <dlfcn.h>

static BurnDevice *open_device(void) {
  setenv("BURN_CUDA_DRIVER", FAKE_DRIVER, 1);
  setenv("BURN_CUDA_LIBS", EMULATED_LIBRARIES, 1);
  setenv("BURN_FAKE_CUDA_FILL", "255", 1);
  BurnDevice *device = burn_device_open("cuda");
  CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
  return device;
}

enum { MOST = 1 << 15 };

static float number_at(int64_t i) { return (float)((i * 7 + i / 31) % 200 - 100); }

/* A tensor [a, b, c] whose axes change to [a, c, b], or [b, a, c] to [c, b, a] where `far`, from the first column on
 * that `skipped` leaves. */
static void check_copy(BurnDevice *device, const int64_t shape[3], BurnDType dtype, bool far, int64_t skipped) {
  static float values[MOST], got[MOST];
  const int64_t width = shape[2], count = shape[0] * shape[1] * width, kept = width - skipped;
  CHECK(count <= MOST, "%d elements", (int)count);
  for (int64_t i = 0; i < count; i++) values[i] = dtype == BURN_DTYPE_BOOL ? (float)(i % 3 == 0) : number_at(i);
  BurnTensor *x = burn_cast(burn_tensor_f32(device, values, BURN_SHAPE(shape[0], shape[1], width)), dtype);
  x = burn_slice_dim(x, 2, (BurnRange){.start = skipped, .end = width, .step = 1});
  x = burn_reshape(burn_swap_dims(x, far ? 0 : 1, 2), BURN_SHAPE(shape[0] * shape[1] * kept));
  const BurnStatus status = burn_read_f32(burn_cast(x, BURN_DTYPE_F32), got, (size_t)(shape[0] * shape[1] * kept));
  CHECK(status == BURN_OK, "%s", burn_status_message(status));
  const int64_t sizes[] = {far ? kept : shape[0], far ? shape[1] : kept, far ? shape[0] : shape[1]};
  for (int64_t i = 0; i < shape[0] * shape[1] * kept; i++) {
    const int64_t first = i / sizes[2] / sizes[1], second = i / sizes[2] % sizes[1], third = i % sizes[2];
    const int64_t row = far ? third * shape[1] + second : first * shape[1] + third;
    const float expected = values[row * width + (far ? first : second) + skipped];
    CHECK(got[i] == expected, "dtype %d, %d x %d x %d: element %d is %g, not %g", (int)dtype, (int)shape[0],
          (int)shape[1], (int)width, (int)i, (double)got[i], (double)expected);
  }
}

static void copy_all(void *context) {
  static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_F16, BURN_DTYPE_F64, BURN_DTYPE_I8, BURN_DTYPE_BOOL};
  static const int64_t shapes[][3] = {{1, 64, 128}, {3, 40, 50}, {2, 9, 300}, {70, 2, 66}, {5, 33, 35}};
  (void)context;
  BurnDevice *device = open_device();
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
      for (int64_t skipped = 0; skipped < 3; skipped++) {
        check_copy(device, shapes[s], dtypes[d], false, skipped);
        check_copy(device, shapes[s], dtypes[d], true, skipped);
      }
  CHECK(burn_device_memory(device).live_tensors == 0, "tensors are left");
  burn_device_close(device);
}

static void test_changed_axes(void **state) {
  (void)state;
  forked(copy_all, NULL);
}

/* -- between devices -------------------------------------------------------------------------- */

static BurnDevice *open_second(void) {
  BurnDevice *device = burn_device_open("cuda:1");
  CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
  return device;
}

/* A view whose rows have gaps, there and back. */
static void check_there_and_back(BurnDevice *first, BurnDevice *second) {
  enum { ROWS = 5, COLUMNS = 7 };
  float values[ROWS * COLUMNS], got[ROWS * (COLUMNS - 2)];
  for (int i = 0; i < ROWS * COLUMNS; i++) values[i] = number_at(i);
  BurnTensor *x = burn_tensor_f32(first, values, BURN_SHAPE(ROWS, COLUMNS));
  x = burn_slice_dim(x, 1, (BurnRange){.start = 1, .end = COLUMNS - 1, .step = 1});
  BurnTensor *there = burn_mul_scalar(burn_to_device(x, second), 2);
  const BurnStatus status = burn_read_f32(burn_to_device(there, first), got, ROWS * (COLUMNS - 2));
  CHECK(status == BURN_OK, "%s", burn_status_message(status));
  for (int i = 0; i < ROWS * (COLUMNS - 2); i++) {
    const float expected = 2 * values[i / (COLUMNS - 2) * COLUMNS + i % (COLUMNS - 2) + 1];
    CHECK(got[i] == expected, "element %d is %g, not %g", i, (double)got[i], (double)expected);
  }
}

/* Each pool is opened once, before the first copy out of it, where devices can read each other's memory. */
static void copy_between(void *peers) {
  void (*count)(int *opened, int *direct, int *detours) = NULL;
  int opened = 0, direct = 0, detours = 0;
  const bool can = strcmp(peers, "1") == 0;
  setenv("BURN_FAKE_CUDA_PEERS", peers, 1);
  BurnDevice *first = open_device(), *second = open_second();
  for (int i = 0; i < 3; i++) check_there_and_back(first, second);
  void *library = dlopen(FAKE_DRIVER, RTLD_LAZY | RTLD_NOLOAD), *found = library ? dlsym(library, "fake_peers") : NULL;
  CHECK(found, "the driver does not count its copies");
  memcpy(&count, &found, sizeof found);
  count(&opened, &direct, &detours);
  CHECK(opened == (can ? 2 : 0), "pools were opened %d times", opened);
  CHECK(direct == (can ? 6 : 0) && detours == (can ? 0 : 6), "%d copies directly, %d not", direct, detours);
  CHECK(burn_device_memory(first).live_tensors == 0 && burn_device_memory(second).live_tensors == 0,
        "tensors are left");
  burn_device_close(first);
  burn_device_close(second);
}

static void test_between_devices(void **state) {
  (void)state;
  forked(copy_between, (char[]){"1"});
  forked(copy_between, (char[]){"0"});
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_changed_axes), cmocka_unit_test(test_between_devices)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
