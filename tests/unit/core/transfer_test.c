/* transfer_test.c - reads that are finished later, uploads through staging memory, copies between devices, late
 * failures: on stacks that do everything at once, and on the test backend "lazy" (tests/plugins), whose work is really
 * late. */
#include "forked.h"
#include "status_testing.h"
#include "test_stacks.h"

#include <burn/plugin/dlpack.h>

#include <pthread.h>

static const char stacks_of_test[] =
    "ndarray; autodiff<ndarray>; fusion<ndarray>; autodiff<fusion<ndarray>>; lazy:delay=200; autodiff<lazy>; "
    "fusion<lazy>;"
    "autodiff<fusion<lazy>>; torch:cpu; autodiff<torch:cpu>";
static TestStacks stacks;

static BurnDevice *open_stack(const char *stack) {
  BurnDevice *device = burn_device_open(stack);
  if (burn_device_status(device) != BURN_OK) fail_msg("%s: %s", stack, burn_status_message(burn_device_status(device)));
  return device;
}

static void expect(BurnStatus status, uint32_t code, const char *text) {
  const char *message = burn_status_message(status);
  if (burn_status_code(status) != code || !strstr(message, text))
    fail_msg("code %u, '%s'; expected %u, '%s'", burn_status_code(status), message, code, text);
}

/* 1, 3, 5, 7, .. as the result of two ops. */
static BurnTensor *odd(BurnDevice *device, int64_t count) {
  return burn_add_scalar(burn_mul_scalar(burn_cast(burn_arange(device, 0, count, 1), BURN_DTYPE_F32), 2), 1);
}

/* -- reads ------------------------------------------------------------------------------------ */

static void test_reads_are_finished_later(void **state) {
  (void)state;
  enum { COUNT = 1000 };
  static float f32[COUNT];
  static double f64[COUNT];
  static int64_t i64[COUNT];
  for (size_t s = 0; s < stacks.count; s++) {
    BurnDevice *device = test_stack_open(&stacks, &stacks.items[s]);
    if (!device) continue;
    BurnTensor *x = odd(device, COUNT);
    BurnPendingRead *raw = burn_read_start(burn_clone(x)), *as_f64 = burn_read_start(burn_clone(x)),
                    *as_i64 = burn_read_start(burn_clone(x)), *dropped = burn_read_start(burn_clone(x));
    x = burn_mul_scalar(x, -1); /* later work, in place where it can, changes nothing that was read */
    BurnPendingRead *turned = burn_read_start(burn_transpose(burn_reshape(x, BURN_SHAPE(10, 100))));
    check_status(burn_read_finish_f64(as_f64, f64, COUNT));
    check_status(burn_read_finish(raw, f32, sizeof f32));
    check_status(burn_read_finish_i64(as_i64, i64, COUNT));
    for (int i = 0; i < COUNT; i++)
      assert_true((int)f32[i] == 2 * i + 1 && (int)f64[i] == 2 * i + 1 && i64[i] == 2 * i + 1);
    while (!burn_read_ready(turned) && strstr(stacks.items[s].text, "lazy")) continue;
    check_status(burn_read_finish_f32(turned, f32, COUNT));
    for (int i = 0; i < COUNT; i++) assert_true((int)f32[i] == -(2 * (i % 10 * 100 + i / 10) + 1));
    burn_read_drop(dropped);
    burn_device_close(device);
  }
}

static void test_reads_that_cannot_be(void **state) {
  (void)state;
  float values[3];
  char nothing;
  for (size_t s = 0; s < stacks.count; s++) {
    BurnDevice *device = test_stack_open(&stacks, &stacks.items[s]);
    if (!device) continue;
    BurnPendingRead *read = burn_read_start(odd(device, 3));
    expect(burn_read_finish(read, values, 8), BURN_STATUS_INVALID_ARGUMENT,
           "read: the buffer holds 8 bytes, a f32 tensor of shape [3] has 12");
    read = burn_read_start(odd(device, 3));
    expect(burn_read_finish_f32(read, values, 2), BURN_STATUS_INVALID_ARGUMENT, "the buffer holds 2 elements");
    read = burn_read_start(burn_reshape(odd(device, 3), BURN_SHAPE(2)));
    assert_true(burn_read_ready(read));
    expect(burn_read_finish(read, values, 12), BURN_STATUS_INVALID_SHAPE, "reshape");
    check_status(burn_read_finish(burn_read_start(burn_empty(device, BURN_SHAPE(0, 4), BURN_DTYPE_F32)), &nothing, 0));
    expect(burn_read_finish(NULL, values, 12), BURN_STATUS_OUT_OF_MEMORY, "no memory");
    burn_read_drop(NULL);
    burn_device_close(device);
  }
}

static void test_several_reads_at_once(void **state) {
  (void)state;
  float a[4], b[2], c;
  void *const data[] = {a, b, &c};
  const size_t bytes[] = {sizeof a, sizeof b, sizeof c};
  for (size_t s = 0; s < stacks.count; s++) {
    BurnDevice *device = test_stack_open(&stacks, &stacks.items[s]);
    if (!device) continue;
    const int64_t before = burn_device_host_waits(device);
    BurnTensor *const tensors[] = {odd(device, 4), odd(device, 2), burn_sum(odd(device, 4))};
    check_status(burn_read_all(tensors, data, bytes, 3));
    assert_true(a[3] == 7 && b[1] == 3 && c == 16);
    if (before >= 0) assert_true(burn_device_host_waits(device) - before <= 1); /* once for all three */
    BurnTensor *const wrong[] = {odd(device, 4), odd(device, 3), odd(device, 1)};
    expect(burn_read_all(wrong, data, bytes, 3), BURN_STATUS_INVALID_ARGUMENT, "the buffer holds 8 bytes");
    burn_device_close(device);
  }
}

static void *finish_elsewhere(void *read) {
  static float values[4];
  check_status(burn_read_finish(read, values, sizeof values));
  return values;
}

static void test_a_read_outlives_tensor_and_device_and_moves_to_a_thread(void **state) {
  (void)state;
  for (size_t s = 0; s < stacks.count; s++) {
    BurnDevice *device = test_stack_open(&stacks, &stacks.items[s]);
    if (!device) continue;
    BurnPendingRead *read = burn_read_start(odd(device, 4));
    burn_device_close(device);
    pthread_t thread;
    void *values = NULL;
    assert_int_equal(pthread_create(&thread, NULL, finish_elsewhere, read), 0);
    pthread_join(thread, &values);
    assert_true(((float *)values)[3] == 7);
  }
}

/* -- work that is late ------------------------------------------------------------------------ */

static void test_nothing_waits_until_it_must(void **state) {
  (void)state;
  BurnDevice *device = open_stack("autodiff<lazy:delay=2000>");
  float value = 0;
  BurnTensor *x = odd(device, 8);
  BurnPendingRead *read = NULL;
  for (int step = 0; step < 5; step++) { /* the value of a step is asked for in the next one */
    BurnPendingRead *next = burn_read_start(burn_sum(burn_clone(x)));
    assert_false(burn_read_ready(next));
    if (read) check_status(burn_read_finish_f32(read, &value, 1));
    read = next;
    if (step == 0) assert_int_equal(burn_device_host_waits(device), 0);
  }
  check_status(burn_read_finish_f32(read, &value, 1));
  assert_true(value == 64);
  assert_true(burn_device_host_waits(device) > 0); /* the count does count */
  burn_drop(x);
  burn_device_close(device);
}

static void test_late_failures_name_the_op(void **state) {
  (void)state;
  static const char *const failing[] = {"lazy:delay=1000,fail=exp", "fusion<lazy:delay=1000,fail=exp>",
                                        "autodiff<lazy:delay=1000,fail=exp>"};
  float value;
  for (size_t s = 0; s < 3; s++) {
    BurnDevice *device = open_stack(failing[s]);
    BurnTensor *y = burn_exp(odd(device, 4));
    check_status(burn_tensor_status(y)); /* it was accepted */
    BurnPendingRead *read = burn_read_start(burn_sum(y));
    expect(burn_read_finish(read, &value, sizeof value), BURN_STATUS_INTERNAL, "exp");
    check_status(burn_device_sync(device)); /* told once; the device goes on */
    check_status(burn_read_f32(burn_sum(odd(device, 4)), &value, 1));
    assert_true(value == 16);
    burn_drop(burn_exp(odd(device, 4)));
    if (!strstr(failing[s], "fusion")) expect(burn_device_sync(device), BURN_STATUS_INTERNAL, "one of: ");
    burn_device_close(device);
  }
}

/* -- uploads ---------------------------------------------------------------------------------- */

/* Batches of 16 floats and 4 labels through a ring: each slot is filled again while earlier uploads are on their way.
 */
static void upload_batches(BurnDevice *device, int first, int count) {
  BurnStaging *staging = NULL;
  BurnTensor *images[64], *labels[64];
  check_status(burn_staging_open(device, 16 * 4 + 4 * 8, 3, &staging));
  for (int i = 0; i < count; i++) {
    BurnStagingSlot *slot = NULL;
    check_status(burn_staging_take(staging, &slot));
    float *pixels = burn_staging_memory(slot);
    int64_t *classes = (int64_t *)(void *)(pixels + 16);
    for (int j = 0; j < 16; j++) pixels[j] = (float)(first + i * 100 + j);
    for (int j = 0; j < 4; j++) classes[j] = first + i + j;
    images[i] = burn_staging_tensor(slot, 0, BURN_DTYPE_DEFAULT, BURN_SHAPE(4, 4));
    labels[i] = burn_staging_tensor(slot, 64, BURN_DTYPE_I64, BURN_SHAPE(4));
    burn_staging_give(slot);
  }
  for (int i = 0; i < count; i++) {
    float pixels[16];
    int64_t classes[4];
    check_status(burn_read_f32(images[i], pixels, 16));
    check_status(burn_read_i64(labels[i], classes, 4));
    for (int j = 0; j < 16; j++) assert_true(pixels[j] == (float)(first + i * 100 + j));
    for (int j = 0; j < 4; j++) assert_true(classes[j] == first + i + j);
  }
  burn_staging_close(staging);
}

static void *upload_thread(void *device) {
  upload_batches(device, 7000, 20);
  return NULL;
}

static void test_a_ring_of_uploads(void **state) {
  (void)state;
  for (size_t s = 0; s < stacks.count; s++) {
    BurnDevice *device = test_stack_open(&stacks, &stacks.items[s]);
    if (!device) continue;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, upload_thread, device), 0);
    upload_batches(device, 0, 20);
    pthread_join(thread, NULL);
    burn_device_close(device);
  }
}

static void test_uploads_wait_only_for_a_slot(void **state) {
  (void)state;
  BurnDevice *device = open_stack("lazy:delay=5000");
  BurnStaging *staging = NULL;
  BurnStagingSlot *slot = NULL;
  check_status(burn_staging_open(device, 4, 2, &staging));
  for (int i = 0; i < 3; i++) {
    assert_int_equal(burn_device_host_waits(device), 0);
    check_status(burn_staging_take(staging, &slot)); /* the third waits for the first */
    *(float *)burn_staging_memory(slot) = (float)i;
    burn_drop(burn_staging_tensor(slot, 0, BURN_DTYPE_F32, BURN_SHAPE(1)));
    if (i < 2) burn_staging_give(slot);
  }
  assert_int_equal(burn_device_host_waits(device), 1);
  burn_staging_give(slot);
  burn_staging_close(staging);
  burn_device_close(device);
}

static void test_slots_refuse_what_does_not_fit(void **state) {
  (void)state;
  BurnDevice *device = open_stack("ndarray");
  BurnStaging *staging = NULL;
  BurnStagingSlot *slot = NULL;
  expect(burn_staging_open(device, 0, 2, &staging), BURN_STATUS_INVALID_ARGUMENT, "2 slots of 0 bytes");
  expect(burn_staging_open(device, 8, 2000, &staging), BURN_STATUS_INVALID_ARGUMENT, "2000 slots");
  assert_null(staging);
  check_status(burn_staging_open(device, 32, 1, &staging));
  check_status(burn_staging_take(staging, &slot));
  static const struct {
    size_t offset;
    int64_t count;
  } bad[] = {{0, 9}, {4, 8}, {36, 0}, {2, 1}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    BurnTensor *x = burn_staging_tensor(slot, bad[i].offset, BURN_DTYPE_F32, BURN_SHAPE(bad[i].count));
    expect(burn_tensor_status(x), BURN_STATUS_INVALID_ARGUMENT, "do not fit into a slot of 32 bytes");
    burn_drop(x);
  }
  for (int i = 0; i < 40; i++) burn_drop(burn_staging_tensor(slot, 0, BURN_DTYPE_F32, BURN_SHAPE(8)));
  burn_staging_give(slot);
  burn_staging_give(NULL);
  burn_staging_close(staging);
  burn_staging_close(NULL);
  burn_device_close(device);
}

/* -- devices ---------------------------------------------------------------------------------- */

static void test_copies_between_devices(void **state) {
  (void)state;
  static const char *const pairs[][2] = {{"lazy:0", "lazy:1"},
                                         {"autodiff<lazy:0:delay=1000>", "fusion<lazy:1>"},
                                         {"fusion<ndarray>", "lazy"},
                                         {"ndarray", "reference"}};
  float values[4];
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    BurnDevice *from = open_stack(pairs[i][0]), *to = open_stack(pairs[i][1]);
    BurnTensor *x = burn_to_device(odd(from, 4), to);
    assert_ptr_equal(burn_tensor_device(x), to);
    check_status(burn_read_f32(burn_mul_scalar(x, 2), values, 4));
    assert_true(values[0] == 2 && values[3] == 14);
    burn_device_close(to);
    burn_device_close(from);
  }
}

static void test_descriptions(void **state) {
  (void)state;
  BurnDeviceDescription about;
  BurnDevice *device = open_stack("fusion<ndarray>");
  check_status(burn_device_describe(device, &about));
  assert_string_equal(about.name, "ndarray");
  assert_int_equal(about.kind, BURN_DEVICE_KIND_OTHER);
  assert_int_equal(burn_device_host_waits(device), -1);
  burn_device_close(device);
  device = open_stack("lazy:wrong=endless_text"); /* a text without its end */
  assert_int_equal(burn_device_describe(device, &about), BURN_OK);
  assert_int_equal(strlen(about.name), sizeof about.name - 1);
  burn_device_close(device);
  device = open_stack("autodiff<lazy>");
  check_status(burn_device_describe(device, &about));
  assert_string_equal(about.name, "a lazy thread");
  assert_int_equal(about.uuid[15], 7);
  burn_device_close(device);
  for (size_t s = 0; s < stacks.count; s++) {
    if (!strstr(stacks.items[s].text, "torch") || !(device = test_stack_open(&stacks, &stacks.items[s]))) continue;
    check_status(burn_device_describe(device, &about));
    printf("%s: %s, %s, %s, pci %s, %u units, %lld of %lld MiB free, uuid %02x%02x..\n", stacks.items[s].text,
           about.name, about.architecture, about.driver, about.pci_address, about.unit_count,
           (long long)(about.free_bytes >> 20), (long long)(about.memory_bytes >> 20), about.uuid[0], about.uuid[1]);
    assert_true(about.kind != BURN_DEVICE_KIND_OTHER && about.name[0] && about.memory_bytes > 0);
    burn_device_close(device);
  }
}

/* Memory of the CPU has no streams: both ways work as without. */
static void test_dlpack_with_a_stream(void **state) {
  (void)state;
  BurnDevice *device = open_stack("fusion<ndarray>"), *other = open_stack("autodiff<ndarray>");
  struct DLManagedTensorVersioned *managed = NULL;
  float values[3];
  check_status(burn_to_dlpack_on(odd(device, 3), 1, &managed));
  check_status(burn_read_f32(burn_from_dlpack_on(managed, 1, other), values, 3));
  assert_true(values[2] == 5);
  burn_device_close(other);
  burn_device_close(device);
}

int main(void) {
  setenv("BURN_PLUGIN_PATH",
         getenv("BURN_TEST_PLUGINS") ? getenv("BURN_TEST_PLUGINS") : BURN_BUILD_DIR "/tests/broken_plugins", 1);
  stacks = test_stacks(stacks_of_test);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reads_are_finished_later),
      cmocka_unit_test(test_reads_that_cannot_be),
      cmocka_unit_test(test_several_reads_at_once),
      cmocka_unit_test(test_a_read_outlives_tensor_and_device_and_moves_to_a_thread),
      cmocka_unit_test(test_nothing_waits_until_it_must),
      cmocka_unit_test(test_late_failures_name_the_op),
      cmocka_unit_test(test_a_ring_of_uploads),
      cmocka_unit_test(test_uploads_wait_only_for_a_slot),
      cmocka_unit_test(test_slots_refuse_what_does_not_fit),
      cmocka_unit_test(test_copies_between_devices),
      cmocka_unit_test(test_descriptions),
      cmocka_unit_test(test_dlpack_with_a_stream),
  };
  return test_stacks_result(cmocka_run_group_tests(tests, NULL, NULL));
}
