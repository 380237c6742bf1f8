/* torch_tensor.cpp - primitives over at::Tensor: dtypes, making, reading, counting of bytes. */
#include "torch_transfer.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <cstring>
#include <memory>

namespace burn_torch {

at::ScalarType scalar_type(BurnDType dtype) {
  switch (dtype) {
    case BURN_DTYPE_BOOL:
      return at::kBool;
    case BURN_DTYPE_U8:
      return at::kByte;
    case BURN_DTYPE_I8:
      return at::kChar;
    case BURN_DTYPE_I16:
      return at::kShort;
    case BURN_DTYPE_I32:
      return at::kInt;
    case BURN_DTYPE_I64:
      return at::kLong;
    case BURN_DTYPE_F16:
      return at::kHalf;
    case BURN_DTYPE_BF16:
      return at::kBFloat16;
    case BURN_DTYPE_F32:
      return at::kFloat;
    case BURN_DTYPE_F64:
      return at::kDouble;
    default:
      fail(BURN_STATUS_INVALID_DTYPE, "libtorch has no %s tensors", burn_dtype_name(dtype));
  }
}

BurnDType burn_dtype(at::ScalarType type) {
  for (BurnDType dtype = 1; dtype < BURN_DTYPE_LIMIT; dtype++) {
    if (burn_dtype_bytes(dtype) != 0 && scalar_type(dtype) == type) return dtype;
  }
  return BURN_DTYPE_DEFAULT;
}

/* -- bytes: counted per storage, by the first primitive that holds it and the last ------------ */

static int64_t storage_bytes(const at::Tensor &value) { return static_cast<int64_t>(value.storage().nbytes()); }

static void count_new(Torch &torch, const at::Tensor &value) {
  torch.live_tensors.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard<std::mutex> lock(torch.storages);
  if (value.use_count() > 1 || value.storage().use_count() > 1)
    return; /* counted already: a view, or the very tensor */
  torch.live_bytes += storage_bytes(value);
  if (torch.live_bytes > torch.peak_bytes) torch.peak_bytes = torch.live_bytes;
}

BurnPrimitive *wrap(Torch &torch, at::Tensor value) {
  auto x = std::make_unique<TorchTensor>();
  const bool is_host = value.device().is_cpu();
  x->value = std::move(value);
  x->header = BurnPrimitive{};
  x->header.struct_size = sizeof(BurnPrimitive);
  x->header.flags = is_host ? BURN_PRIMITIVE_HOST_MEMORY : 0;
  x->header.owner = torch.owner;
  x->header.dtype = burn_dtype(x->value.scalar_type());
  x->header.rank = static_cast<uint32_t>(x->value.dim());
  x->header.shape = x->value.sizes().data();
  x->header.strides = x->value.strides().data();
  x->header.buffer = x->value.data_ptr();
  count_new(torch, x->value);
  return &x.release()->header;
}

void BURN_API_CALL torch_retain(void *, BurnPrimitive *x) {
  tensor_of(x)->references.fetch_add(1, std::memory_order_relaxed);
}

void BURN_API_CALL torch_release(void *self, BurnPrimitive *x) {
  if (!x || tensor_of(x)->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  Torch &torch = *static_cast<Torch *>(self);
  TorchTensor *tensor = tensor_of(x);
  torch.live_tensors.fetch_sub(1, std::memory_order_relaxed);
  {
    /* Under the lock, so that of two views released at once one is the last. */
    const std::lock_guard<std::mutex> lock(torch.storages);
    const bool is_last = tensor->value.use_count() == 1 && tensor->value.storage().use_count() == 1;
    if (is_last) torch.live_bytes -= storage_bytes(tensor->value);
    tensor->value.reset();
  }
  delete tensor;
}

/* -- data ------------------------------------------------------------------------------------- */

/* More than this is not copied into pinned memory first: the wait is short beside the copy. */
static constexpr uint64_t PINNED_LIMIT = 64U << 20;

static at::Tensor make(Torch &torch, const BurnTensorDesc &desc, const void *data) {
  if (!data || burn_desc_count(&desc) == 0) return at::empty(sizes_of(desc), options_of(torch, desc.dtype));
  if (torch.device.is_cpu() && desc.dtype != BURN_DTYPE_BOOL) {
    at::Tensor x = at::empty(sizes_of(desc), options_of(torch, desc.dtype));
    std::memcpy(x.data_ptr(), data, x.nbytes());
    return x;
  }
  const uint64_t bytes = static_cast<uint64_t>(burn_desc_count(&desc)) * burn_dtype_bytes(desc.dtype);
  if (is_asynchronous(torch) && bytes <= PINNED_LIMIT) {
    const at::Tensor pinned = pinned_copy(desc, data); /* ATen keeps its memory until the device has read it */
    return upload(torch, desc, pinned);
  }
  at::Tensor x = upload(torch, desc, around(desc, data));
  wait_for_all(torch);
  return x;
}

BurnStatus BURN_API_CALL torch_create(void *self, const BurnTensorDesc *desc, const void *data, BurnPrimitive **out) {
  Torch &torch = *static_cast<Torch *>(self);
  return guarded(torch, "create", [&] {
    *out = wrap(torch, make(torch, *desc, data));
    if (data && is_asynchronous(torch)) note_bounds(*out, *desc, data);
  });
}

const at::Tensor &checked_source(const Torch &torch, const BurnPrimitive *x, uint64_t bytes) {
  const at::Tensor &value = reinterpret_cast<const TorchTensor *>(x)->value;
  if (x->owner != torch.owner)
    fail(BURN_STATUS_BAD_OWNER, "the tensor belongs to backend %u, this is %u", x->owner, torch.owner);
  if (bytes != value.nbytes()) {
    fail(BURN_STATUS_INVALID_ARGUMENT, "the buffer holds %llu bytes, the tensor has %llu",
         static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(value.nbytes()));
  }
  return value;
}

BurnStatus BURN_API_CALL torch_read(void *self, BurnPrimitive *x, void *data, uint64_t bytes) {
  Torch &torch = *static_cast<Torch *>(self);
  return guarded(torch, "read", [&] {
    const at::Tensor &value = checked_source(torch, x, bytes);
    if (bytes == 0) return;
    if (value.is_cpu() && value.is_contiguous()) {
      std::memcpy(data, value.data_ptr(), bytes);
      return;
    }
    const uint32_t submitted = torch.recent.count();
    const Waiting counted(torch);
    at::from_blob(data, value.sizes(), at::TensorOptions().dtype(value.scalar_type())).copy_(value);
    torch.recent.settle(submitted);
  });
}

}  // namespace burn_torch
