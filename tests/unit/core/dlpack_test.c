/* dlpack_test.c - tensors to and from other libraries by DLPack: what is shared and what is copied, who deletes when,
 * and what hostile or foreign structs are answered. */
#include "forked.h"

#include <burn/op_call.h>
#include <burn/plugin/dlpack.h>

#include <math.h>

static BurnDevice *open_stack(const char *stack) {
  BurnDevice *device = burn_device_open(stack);
  if (burn_device_status(device) != BURN_OK) fail_msg("%s: %s", stack, burn_status_message(burn_device_status(device)));
  return device;
}

static const char *const stacks[] = {"ndarray", "fusion<ndarray>", "autodiff<fusion<ndarray>>", "reference"};
enum { STACKS = sizeof stacks / sizeof stacks[0] };

/* -- out -------------------------------------------------------------------------------------- */

static BurnDlpackManaged *exported(BurnTensor *x) {
  struct DLManagedTensorVersioned *out = NULL;
  const BurnStatus status = burn_to_dlpack(x, &out);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
  return burn_dlpack_managed(out);
}

static void delete (BurnDlpackManaged *managed) {
  managed->deleter((struct DLManagedTensorVersioned *)(void *)managed);
}

static float element(const BurnDlpackManaged *managed, int64_t i, int64_t j) {
  const BurnDlpackTensor *tensor = &managed->tensor;
  const float *data = (const float *)(const void *)((const char *)tensor->data + tensor->byte_offset);
  return data[i * tensor->strides[0] + j * tensor->strides[1]];
}

static void test_export_outlives_tensor_and_device(void **state) {
  (void)state;
  for (int i = 0; i < STACKS; i++) {
    BurnDevice *device = open_stack(stacks[i]);
    const float data[] = {1, 2, 3, 4, 5, 6};
    BurnTensor *x = burn_mul_scalar(burn_tensor_f32(device, data, BURN_SHAPE(2, 3)), 2);
    BurnDlpackManaged *managed = exported(x);
    burn_device_close(device);
    assert_int_equal(managed->major, 1);
    assert_int_equal(managed->flags, BURN_DLPACK_READ_ONLY);
    assert_int_equal(managed->tensor.device_type, BURN_DLPACK_CPU);
    assert_int_equal(managed->tensor.ndim, 2);
    assert_int_equal(managed->tensor.code, BURN_DLPACK_FLOAT);
    assert_int_equal(managed->tensor.bits, 32);
    assert_int_equal(managed->tensor.shape[0], 2);
    assert_true(element(managed, 1, 2) == 12 && element(managed, 0, 1) == 4);
    delete (managed);
  }
}

static void test_exports_share_memory_and_keep_strides(void **state) {
  (void)state;
  BurnDevice *device = open_stack("ndarray");
  const float data[] = {1, 2, 3, 4, 5, 6};
  BurnTensor *x = burn_tensor_f32(device, data, BURN_SHAPE(2, 3));
  BurnDlpackManaged *whole = exported(burn_clone(x)), *turned = exported(burn_transpose(burn_clone(x)));
  BurnDlpackManaged *backwards = exported(burn_flip(burn_clone(x), (const int[]){1}, 1));
  assert_ptr_equal(whole->tensor.data, turned->tensor.data);
  assert_int_equal(turned->tensor.strides[0], 1);
  assert_int_equal(turned->tensor.strides[1], 3);
  assert_true(element(turned, 2, 1) == 6);
  assert_ptr_not_equal(backwards->tensor.data, whole->tensor.data); /* negative strides are packed */
  assert_int_equal(backwards->flags, BURN_DLPACK_READ_ONLY | BURN_DLPACK_IS_COPIED);
  assert_true(element(backwards, 0, 0) == 3 && element(backwards, 1, 2) == 4);
  /* An op that may overwrite x does not while an export holds it. */
  x = burn_add_scalar(x, 100);
  assert_true(element(whole, 0, 0) == 1);
  burn_drop(x);
  delete (backwards);
  delete (turned);
  delete (whole);
  burn_device_close(device);
}

static void test_failed_tensors_are_not_exported(void **state) {
  (void)state;
  BurnDevice *device = open_stack("fusion<ndarray>");
  struct DLManagedTensorVersioned *out = NULL;
  BurnTensor *failed = burn_reshape(burn_full(device, BURN_SHAPE(2), 0, 1), BURN_SHAPE(3));
  assert_int_equal(burn_status_code(burn_to_dlpack(failed, &out)), BURN_STATUS_INVALID_SHAPE);
  assert_null(out);
  burn_device_close(device);
}

/* -- in --------------------------------------------------------------------------------------- */

/* A producer that counts how often it is deleted. */
typedef struct Producer {
  BurnDlpackManaged managed;
  int deleted;
  int64_t shape[9], strides[9];
} Producer;

static void count_deleted(struct DLManagedTensorVersioned *managed) {
  ((Producer *)burn_dlpack_managed(managed)->manager_ctx)->deleted++;
}

static struct DLManagedTensorVersioned *produce(Producer *producer, void *data, BurnDType dtype, int32_t ndim,
                                                const int64_t *shape, const int64_t *strides) {
  *producer = (Producer){.managed = {.major = 1, .minor = 1, .manager_ctx = producer, .deleter = count_deleted}};
  BurnDlpackTensor *tensor = &producer->managed.tensor;
  tensor->data = data;
  tensor->device_type = BURN_DLPACK_CPU;
  tensor->ndim = ndim;
  tensor->shape = producer->shape;
  tensor->strides = strides ? producer->strides : NULL;
  burn_dlpack_set_dtype(tensor, dtype);
  for (int32_t i = 0; i < ndim; i++) {
    producer->shape[i] = shape[i];
    if (strides) producer->strides[i] = strides[i];
  }
  return (struct DLManagedTensorVersioned *)(void *)&producer->managed;
}

static void expect_floats(BurnTensor *x, const float *expected, size_t count) {
  float values[16];
  assert_true(count <= 16);
  const BurnStatus status = burn_read_f32(x, values, count);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
  for (size_t i = 0; i < count; i++) assert_true(values[i] == expected[i]);
}

static void test_import_is_shared_and_never_written(void **state) {
  (void)state;
  for (int i = 0; i < STACKS; i++) {
    BurnDevice *device = open_stack(stacks[i]);
    float data[] = {1, 2, 3, 4, 5, 6};
    Producer producer;
    const int64_t shape[] = {3, 2}, strides[] = {1, 3};
    BurnTensor *x = burn_from_dlpack(produce(&producer, data, BURN_DTYPE_F32, 2, shape, strides), device);
    BurnTensor *y = burn_mul_scalar(burn_clone(x), 10);
    expect_floats(burn_clone(y), (const float[]){10, 40, 20, 50, 30, 60}, 6);
    burn_drop(y);
    const bool is_shared = strcmp(stacks[i], "reference") != 0;
    if (is_shared) {
      BurnDlpackManaged *out = exported(burn_clone(x));
      assert_ptr_equal((char *)out->tensor.data + out->tensor.byte_offset, data);
      delete (out);
    }
    assert_int_equal(producer.deleted, is_shared ? 0 : 1);
    x = burn_add_scalar(x, 1); /* x is given up, and might be overwritten if it were ours */
    expect_floats(x, (const float[]){2, 5, 3, 6, 4, 7}, 6);
    assert_true(data[0] == 1 && data[5] == 6);
    burn_device_close(device);
    assert_int_equal(producer.deleted, 1);
  }
}

static void test_unshareable_imports_are_copied(void **state) {
  (void)state;
  BurnDevice *device = open_stack("ndarray");
  Producer producer;
  _Alignas(8) unsigned char bytes[20] = {0};
  const float values[] = {1.5F, -2};
  memcpy(bytes + 2, values, sizeof values); /* not aligned to floats */
  const int64_t two[] = {2}, minus_one[] = {-1};
  BurnTensor *x = burn_from_dlpack(produce(&producer, bytes + 2, BURN_DTYPE_F32, 1, two, NULL), device);
  assert_int_equal(producer.deleted, 1);
  expect_floats(x, values, 2);

  unsigned char truths[] = {0, 255}; /* any byte but 0 is true */
  x = burn_from_dlpack(produce(&producer, truths, BURN_DTYPE_BOOL, 1, two, NULL), device);
  assert_int_equal(producer.deleted, 1);
  expect_floats(burn_cast(x, BURN_DTYPE_F32), (const float[]){0, 1}, 2);

  float pair[] = {1, 2};
  x = burn_from_dlpack(produce(&producer, pair + 1, BURN_DTYPE_F32, 1, two, minus_one), device);
  expect_floats(x, (const float[]){2, 1}, 2);
  assert_int_equal(producer.deleted, 1);

  x = burn_from_dlpack(produce(&producer, pair, BURN_DTYPE_F32, 0, NULL, NULL), device); /* rank 0 */
  assert_int_equal(burn_rank(x), 1);
  expect_floats(x, pair, 1);
  burn_device_close(device);
}

static void expect_refused(BurnTensor *x, const Producer *producer, uint32_t code) {
  assert_int_equal(burn_status_code(burn_tensor_status(x)), code);
  assert_int_equal(producer->deleted, 1);
  burn_drop(x);
}

static void test_hostile_structs_are_refused_and_deleted_once(void **state) {
  (void)state;
  BurnDevice *device = open_stack("ndarray");
  Producer producer;
  float data[] = {1, 2};
  const int64_t two[] = {2}, nine[] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, huge[] = {INT64_MAX, INT64_MAX}, negative[] = {-2};
  struct DLManagedTensorVersioned *tensor = produce(&producer, data, BURN_DTYPE_F32, 1, two, NULL);
  producer.managed.major = 2;
  expect_refused(burn_from_dlpack(tensor, device), &producer, BURN_STATUS_INCOMPATIBLE);
  tensor = produce(&producer, data, BURN_DTYPE_F32, 1, two, NULL);
  producer.managed.tensor.lanes = 4;
  expect_refused(burn_from_dlpack(tensor, device), &producer, BURN_STATUS_INVALID_DTYPE);
  tensor = produce(&producer, data, BURN_DTYPE_F32, 1, two, NULL);
  producer.managed.tensor.code = 5; /* complex */
  expect_refused(burn_from_dlpack(tensor, device), &producer, BURN_STATUS_INVALID_DTYPE);
  expect_refused(burn_from_dlpack(produce(&producer, data, BURN_DTYPE_F32, 9, nine, NULL), device), &producer,
                 BURN_STATUS_INVALID_SHAPE);
  expect_refused(burn_from_dlpack(produce(&producer, data, BURN_DTYPE_F32, 2, huge, NULL), device), &producer,
                 BURN_STATUS_INVALID_SHAPE);
  expect_refused(burn_from_dlpack(produce(&producer, data, BURN_DTYPE_F32, 1, negative, NULL), device), &producer,
                 BURN_STATUS_INVALID_SHAPE);
  expect_refused(burn_from_dlpack(produce(&producer, NULL, BURN_DTYPE_F32, 1, two, NULL), device), &producer,
                 BURN_STATUS_INVALID_ARGUMENT);
  tensor = produce(&producer, data, BURN_DTYPE_F32, 1, two, NULL);
  producer.managed.tensor.device_type = BURN_DLPACK_CUDA;
  expect_refused(burn_from_dlpack(tensor, device), &producer, BURN_STATUS_UNIMPLEMENTED);
  expect_refused(burn_from_dlpack(produce(&producer, data, BURN_DTYPE_F32, 1, two, NULL), NULL), &producer,
                 BURN_STATUS_INVALID_ARGUMENT);
  BurnTensor *none = burn_from_dlpack(NULL, device);
  assert_int_equal(burn_status_code(burn_tensor_status(none)), BURN_STATUS_INVALID_ARGUMENT);
  burn_drop(none);
  burn_device_close(device);
}

static void test_empty_tensors_pass(void **state) {
  (void)state;
  BurnDevice *device = open_stack("ndarray");
  Producer producer;
  const int64_t empty[] = {0, 3};
  BurnTensor *x = burn_from_dlpack(produce(&producer, NULL, BURN_DTYPE_F32, 2, empty, NULL), device);
  assert_int_equal(burn_dim(x, 1), 3);
  BurnDlpackManaged *out = exported(x);
  assert_int_equal(out->tensor.shape[0], 0);
  delete (out);
  assert_int_equal(producer.deleted, 1);
  burn_device_close(device);
}

/* -- before version 1 ------------------------------------------------------------------------- */

static int unversioned_deleted;
static void delete_unversioned(struct DLManagedTensor *tensor) {
  (void)tensor;
  unversioned_deleted++;
}

static void test_unversioned_structs_are_taken(void **state) {
  (void)state;
  BurnDevice *device = open_stack("ndarray");
  float data[] = {7, 8};
  int64_t shape[] = {2};
  BurnDlpackUnversioned old = {.deleter = delete_unversioned,
                               .tensor = {.data = data, .device_type = BURN_DLPACK_CPU, .ndim = 1, .shape = shape}};
  burn_dlpack_set_dtype(&old.tensor, BURN_DTYPE_F32);
  BurnTensor *x = burn_from_dlpack_unversioned((struct DLManagedTensor *)(void *)&old, device);
  assert_int_equal(unversioned_deleted, 0);
  expect_floats(x, data, 2);
  assert_int_equal(unversioned_deleted, 1);
  burn_device_close(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_export_outlives_tensor_and_device),
      cmocka_unit_test(test_exports_share_memory_and_keep_strides),
      cmocka_unit_test(test_failed_tensors_are_not_exported),
      cmocka_unit_test(test_import_is_shared_and_never_written),
      cmocka_unit_test(test_unshareable_imports_are_copied),
      cmocka_unit_test(test_hostile_structs_are_refused_and_deleted_once),
      cmocka_unit_test(test_empty_tensors_pass),
      cmocka_unit_test(test_unversioned_structs_are_taken),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
