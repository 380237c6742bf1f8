/* fuzz_dlpack.c - tensors in and out by DLPack. The structs lie in everything but their memory: what shape and strides
 * reach is there.
 *
 * Input: drawn values: version, device, dtype, rank, shape, strides, offset; then the elements. */
#include "fuzz_target.h"

#include <burn/dlpack.h>
#include <burn/plugin/dlpack.h>

enum { MAX_AXES = 12, MAX_BYTES = 1 << 16 };

typedef struct Foreign {
  BurnDlpackManaged managed;
  BurnDlpackUnversioned old;
  int64_t shape[MAX_AXES], strides[MAX_AXES];
  uint8_t *memory;
  int deleted;
} Foreign;

static void delete_new(struct DLManagedTensorVersioned *self) {
  ((Foreign *)burn_dlpack_managed(self)->manager_ctx)->deleted++;
}
static void delete_old(struct DLManagedTensor *self) {
  ((Foreign *)((BurnDlpackUnversioned *)(void *)self)->manager_ctx)->deleted++;
}

/* The elements that are reached: from *low to *high, relative to the first one. False if there are too many for this
 * target. */
static bool reach(const BurnDlpackTensor *tensor, int64_t *low, int64_t *high) {
  double least = 0, most = 0, row_major = 1;
  for (int32_t i = tensor->ndim; i-- > 0;) {
    const double size = (double)tensor->shape[i], stride = tensor->strides ? (double)tensor->strides[i] : row_major;
    row_major *= size;
    if (size <= 0) continue;
    *(stride < 0 ? &least : &most) += (size - 1) * stride;
  }
  *low = least < -(double)MAX_BYTES ? -MAX_BYTES : (int64_t)least;
  *high = most > (double)MAX_BYTES ? MAX_BYTES : (int64_t)most;
  /* A stretched axis may be copied: few elements, or more than there is memory for. */
  return least > -4096 && most < 4096 && (row_major < 65536 || row_major > 1e12);
}

/* Memory exactly as long as it has to be; false if the struct asks for too much. */
static bool give_memory(Foreign *foreign, FuzzInput *input) {
  BurnDlpackTensor *tensor = &foreign->managed.tensor;
  const size_t width = (tensor->bits + 7u) / 8u * tensor->lanes;
  int64_t low, high;
  if (!reach(tensor, &low, &high) || width > 16) return false;
  const size_t offset = fuzz_below(input, 4) ? 0 : fuzz_below(input, 64),
               bytes = offset + (size_t)(high - low + 1) * width;
  foreign->memory = calloc(bytes ? bytes : 1, 1);
  if (!foreign->memory) return false;
  for (size_t i = 0; i < bytes && input->left; i++) foreign->memory[i] = fuzz_byte(input);
  tensor->data = foreign->memory;
  tensor->byte_offset = offset + (size_t)-low * width;
  if (fuzz_below(input, 16) == 1) tensor->data = NULL; /* right only for tensors without elements */
  return true;
}

static BurnDlpackTensor draw(FuzzInput *input, Foreign *foreign) {
  static const uint8_t codes[] = {BURN_DLPACK_FLOAT, BURN_DLPACK_INT, BURN_DLPACK_UINT, BURN_DLPACK_BOOL,
                                  BURN_DLPACK_BFLOAT};
  const uint8_t code = fuzz_byte(input), bits = fuzz_byte(input), axes = fuzz_byte(input), device = fuzz_byte(input);
  BurnDlpackTensor tensor = {.shape = foreign->shape, .device_id = device / 250};
  tensor.device_type = device < 224 ? BURN_DLPACK_CPU : device % 16;
  tensor.code = code < 200 ? codes[code % sizeof codes] : code;
  tensor.bits = bits < 200 ? (uint8_t)(8u << bits % 4) : bits;
  tensor.lanes = fuzz_byte(input) < 240 ? 1 : fuzz_byte(input);
  tensor.ndim = axes < 200 ? axes % 5 : axes < 250 ? axes % MAX_AXES : -1;
  for (int32_t i = 0; i < tensor.ndim; i++) foreign->shape[i] = fuzz_integer(input);
  if (fuzz_below(input, 2)) tensor.strides = foreign->strides;
  for (int32_t i = 0; i < tensor.ndim && tensor.strides; i++) foreign->strides[i] = fuzz_integer(input);
  return tensor;
}

/* Out again, read as another library would, and given back. */
static void export(BurnTensor *x) {
  struct DLManagedTensorVersioned *out = NULL;
  const int64_t count = burn_element_count(x);
  if (!fuzz_ok(burn_to_dlpack(x, &out))) return;
  BurnDlpackManaged *managed = burn_dlpack_managed(out);
  const BurnDlpackTensor *tensor = &managed->tensor;
  int64_t first = 0, sum = 0, seen = 1;
  for (int32_t i = 0; i < tensor->ndim; i++) {
    if (count > 0) first += (tensor->shape[i] - 1) * tensor->strides[i]; /* without elements any stride will do */
    seen *= tensor->shape[i];
  }
  FUZZ_REQUIRE(seen == count, "%lld elements became %lld", (long long)count, (long long)seen);
  if (count > 0) { /* the first and the last element */
    const uint8_t *data = (const uint8_t *)tensor->data + tensor->byte_offset;
    sum = data[0] + data[first * (tensor->bits / 8)];
  }
  FUZZ_REQUIRE(sum >= 0, "bytes are not negative");
  if (managed->deleter) managed->deleter(out);
}

static BurnTensor *import(FuzzInput *input, Foreign *foreign, BurnDevice *device) {
  const uint8_t how = fuzz_byte(input);
  foreign->managed.tensor = draw(input, foreign);
  if (!give_memory(foreign, input)) return NULL;
  foreign->managed.manager_ctx = foreign->old.manager_ctx = foreign;
  foreign->old.tensor = foreign->managed.tensor;
  if (how % 4 == 1) {
    foreign->old.deleter = delete_old;
    return burn_from_dlpack_unversioned((struct DLManagedTensor *)(void *)&foreign->old, device);
  }
  foreign->managed.major = how < 240 ? BURN_DLPACK_MAJOR : how % 3;
  foreign->managed.minor = how % 7;
  foreign->managed.flags = how % 5;
  foreign->managed.deleter = delete_new;
  return burn_from_dlpack((struct DLManagedTensorVersioned *)(void *)&foreign->managed, device);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static const char *const stacks[] = {"ndarray", "fusion<ndarray>", "autodiff<fusion<ndarray>>", "reference"};
  FuzzInput input = {bytes, count};
  BurnDevice *device = fuzz_device(stacks[fuzz_below(&input, 4)]);
  Foreign *foreign = calloc(1, sizeof *foreign);
  FUZZ_REQUIRE(foreign, "no memory");
  BurnTensor *x = import(&input, foreign, device);
  if (x) {
    if (fuzz_ok(burn_tensor_status(x)) && burn_element_count(x) < 4096) {
      const bool is_number = burn_dtype(x) != BURN_DTYPE_BOOL;
      fuzz_use(is_number ? burn_add_scalar(burn_clone(x), 1) : burn_bool_not(burn_clone(x)));
      export(burn_clone(x));
    }
    fuzz_use(x);
    (void)fuzz_ok(burn_device_sync(device));
    FUZZ_REQUIRE(foreign->deleted == 1, "the deleter was called %d times", foreign->deleted);
  }
  export(fuzz_tensor(&input, device));
  fuzz_device_end(device);
  free(foreign->memory);
  free(foreign);
  return 0;
}
