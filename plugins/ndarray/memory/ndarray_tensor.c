/* ndarray_tensor.c - tensors with strides over counted storage, and the packed copy.
 *
 * The first tensor of a storage, the storage's record and, when they are few, the elements lie in one block of the
 * pool, so that a small result costs one allocation. That block (NdOwner) lives until the last reference to the storage
 * is gone, which may be later than the last reference to its tensor when views exist. A view is a block of its own. */
#include "ndarray_internal.h"
#include "support/ndarray_compiler.h"

#include <burn/plugin/dlpack.h>

#include <stdio.h>
#include <string.h>

/* A storage with its first tensor. The elements follow at ND_INLINE_OFFSET if they are few, else they have a block. */
typedef struct NdOwner {
  NdTensor tensor;
  NdStorage storage;
} NdOwner;

#define ND_INLINE_OFFSET 256u         /* of the elements within the block: a multiple of 64 */
#define ND_INLINE_BYTES (32u * 1024u) /* more elements than this go to a block of their own */

_Static_assert(sizeof(NdOwner) <= ND_INLINE_OFFSET, "the elements must not overlap the records");

/* -- failures --------------------------------------------------------------------------------- */

BurnStatus nd_out_of_memory(Ndarray *nd, const BurnOpCall *call) {
  const BurnOpInfo *info = nd->host->op_info(call->op);
  const char *name = info ? info->name : "op";
  char shape[128] = "";
  size_t used = 0;
  if (call->output_count == 0) return nd_fail(nd, BURN_STATUS_OUT_OF_MEMORY, "%s: no memory", name);
  const BurnTensorDesc *desc = &call->output_descs[0];
  for (uint32_t i = 0; i < desc->rank && used + 24 < sizeof shape; i++) {
    const int length = snprintf(shape + used, sizeof shape - used, "%s%lld", i ? "," : "", (long long)desc->shape[i]);
    if (length > 0) used += (size_t)length;
  }
  char held[128];
  nd_describe_memory(nd, held, sizeof held);
  return nd_fail(nd, BURN_STATUS_OUT_OF_MEMORY, "%s: no memory for a result [%s] of %s, or for its work space; %s",
                 name, shape, burn_dtype_name(desc->dtype), held);
}

void nd_describe_memory(Ndarray *nd, char *text, size_t size) {
  const NdPoolTensors tensors = nd_pool_tensors(nd->pool);
  const int length = snprintf(text, size, "%llu bytes in use", (unsigned long long)tensors.bytes);
  if (nd->memory_limit == 0 || length < 0 || (size_t)length >= size) return;
  (void)snprintf(text + length, size - (size_t)length, ", %llu held, memory_limit=%llu",
                 (unsigned long long)tensors.reserved, (unsigned long long)nd->memory_limit);
}

/* -- life ------------------------------------------------------------------------------------- */

/* Bytes of the elements of a description; UINT64_MAX if they cannot be addressed. */
static uint64_t desc_bytes(const BurnTensorDesc *desc) {
  uint64_t bytes = burn_dtype_bytes(desc->dtype);
  bool empty = false, fits = true;
  for (uint32_t i = 0; i < desc->rank; i++) {
    const uint64_t size = (uint64_t)desc->shape[i];
    if (size == 0) empty = true;
    /* The division is only reached by sizes that could overflow. */
    if (((bytes | size) >> 31) != 0 && size != 0 && bytes > (uint64_t)(INT64_MAX / 2) / size) fits = false;
    if (fits && size != 0) bytes *= size;
  }
  if (empty) return 0;
  return fits ? bytes : UINT64_MAX;
}

/* Fills what all tensors have; shape and strides are the caller's. */
static void tensor_init(Ndarray *nd, NdTensor *x, NdStorage *storage, BurnDType dtype, uint32_t rank) {
  x->header.struct_size = (uint32_t)sizeof(BurnPrimitive);
  x->header.flags = BURN_PRIMITIVE_HOST_MEMORY;
  x->header.owner = nd->owner;
  x->header.dtype = dtype;
  x->header.rank = rank;
  x->header.reserved = 0;
  x->header.shape = x->shape;
  x->header.strides = x->strides;
  x->header.buffer = storage->data;
  x->header.byte_offset = 0;
  x->header.id = 0;
  atomic_init(&x->references, 1);
  x->storage = storage;
}

static void row_major_strides(uint32_t rank, const int64_t *shape, int64_t *strides) {
  int64_t stride = 1;
  for (uint32_t i = rank; i-- > 0;) {
    strides[i] = stride;
    if (shape[i] > 1) stride *= shape[i];
  }
}

static uint64_t owner_block_bytes(uint64_t bytes) { return ND_INLINE_OFFSET + (bytes <= ND_INLINE_BYTES ? bytes : 0); }

NdTensor *nd_new(Ndarray *nd, const BurnTensorDesc *desc) {
  const uint64_t bytes = desc_bytes(desc);
  if (bytes == UINT64_MAX) return NULL;
  const bool is_inline = bytes <= ND_INLINE_BYTES;
  void *data = is_inline ? NULL : nd_pool_allocate(nd->pool, bytes);
  if (!is_inline && !data) return NULL;
  NdOwner *owner = nd_pool_allocate_tensor(nd->pool, owner_block_bytes(bytes), bytes);
  if (!owner) {
    nd_pool_free(nd->pool, data, bytes);
    return NULL;
  }
  atomic_init(&owner->storage.references, 1);
  owner->storage.kind = ND_STORAGE_ORDINARY;
  owner->storage.bytes = bytes;
  owner->storage.foreign = NULL;
  owner->storage.data = is_inline ? (char *)owner + ND_INLINE_OFFSET : data;
  tensor_init(nd, &owner->tensor, &owner->storage, desc->dtype, desc->rank);
  memcpy(owner->tensor.shape, desc->shape, sizeof owner->tensor.shape);
  memset(owner->tensor.strides, 0, sizeof owner->tensor.strides);
  row_major_strides(desc->rank, desc->shape, owner->tensor.strides);
  return &owner->tensor;
}

NdTensor *nd_new_foreign(Ndarray *nd, struct DLManagedTensorVersioned *foreign) {
  const BurnDlpackTensor *tensor = &burn_dlpack_managed(foreign)->tensor;
  NdOwner *owner = nd_pool_allocate_tensor(nd->pool, owner_block_bytes(0), 0); /* its elements are not the pool's */
  if (!owner) return NULL;
  const uint32_t rank = (uint32_t)tensor->ndim;
  atomic_init(&owner->storage.references, 1);
  owner->storage.kind = ND_STORAGE_ORDINARY;
  owner->storage.bytes = 0;
  owner->storage.foreign = foreign;
  /* Without elements data may be NULL; every tensor of ours has an address, from which views are computed. */
  owner->storage.data = tensor->data ? (char *)tensor->data + tensor->byte_offset : (char *)owner;
  tensor_init(nd, &owner->tensor, &owner->storage, burn_dlpack_dtype(tensor), rank);
  memset(owner->tensor.shape, 0, sizeof owner->tensor.shape);
  memset(owner->tensor.strides, 0, sizeof owner->tensor.strides);
  memcpy(owner->tensor.shape, tensor->shape, rank * sizeof(int64_t));
  memcpy(owner->tensor.strides, tensor->strides, rank * sizeof(int64_t));
  return &owner->tensor;
}

NdTensor *nd_view(Ndarray *nd, NdTensor *base, uint32_t rank, const int64_t *shape, const int64_t *strides,
                  int64_t offset) {
  NdTensor *x = nd_pool_allocate_tensor(nd->pool, sizeof(NdTensor), 0);
  if (!x) return NULL;
  tensor_init(nd, x, base->storage, base->header.dtype, rank);
  atomic_fetch_add_explicit(&base->storage->references, 1, memory_order_relaxed);
  x->header.byte_offset = base->header.byte_offset + offset * (int64_t)burn_dtype_bytes(base->header.dtype);
  memset(x->shape, 0, sizeof x->shape);
  memset(x->strides, 0, sizeof x->strides);
  memcpy(x->shape, shape, rank * sizeof *shape);
  memcpy(x->strides, strides, rank * sizeof *strides);
  /* Without elements any strides would do; these count as packed, which is what packing would have to give. */
  if (burn_primitive_count(&x->header) == 0) row_major_strides(rank, x->shape, x->strides);
  return x;
}

/* One reference less; true if it was the last. A sole holder needs no atomic write. */
static bool drop_reference(atomic_uint *references) {
  if (atomic_load_explicit(references, memory_order_acquire) == 1) return true;
  return atomic_fetch_sub_explicit(references, 1, memory_order_acq_rel) == 1;
}

/* Gives up a reference to the storage, and `tensors` of those that the pool counts: the first tensor of the storage, or
 * none. */
static void storage_release(Ndarray *nd, NdStorage *storage, uint64_t tensors) {
  if (!drop_reference(&storage->references)) {
    if (tensors > 0) nd_pool_forget_tensor(nd->pool);
    return;
  }
  NdOwner *owner = (NdOwner *)(void *)((char *)storage - offsetof(NdOwner, storage));
  const uint64_t bytes = storage->bytes;
  if (storage->foreign && burn_dlpack_managed(storage->foreign)->deleter)
    burn_dlpack_managed(storage->foreign)->deleter(storage->foreign);
  if (bytes > ND_INLINE_BYTES) nd_pool_free(nd->pool, storage->data, bytes);
  nd_pool_free_tensor(nd->pool, owner, owner_block_bytes(bytes), tensors, bytes);
}

void nd_retain(NdTensor *x) { atomic_fetch_add_explicit(&x->references, 1, memory_order_relaxed); }

/* After the last reference. Apart, so that most releases, which leave others, save no registers. */
static ND_APART void end_tensor(Ndarray *nd, NdTensor *x) {
  NdStorage *storage = x->storage;
  const bool is_view = (char *)storage != (char *)x + offsetof(NdOwner, storage);
  if (is_view) nd_pool_free_tensor(nd->pool, x, sizeof(NdTensor), 1, 0);
  storage_release(nd, storage, is_view ? 0 : 1);
}

void nd_release(Ndarray *nd, NdTensor *x) {
  if (x && drop_reference(&x->references)) end_tensor(nd, x);
}

/* -- results ---------------------------------------------------------------------------------- */

bool nd_is_contiguous(const NdTensor *x) {
  int64_t expected = 1;
  bool contiguous = true;
  for (uint32_t i = x->header.rank; i-- > 0;) {
    if (x->shape[i] == 0) return true;
    if (x->shape[i] != 1 && x->strides[i] != expected) contiguous = false;
    expected *= x->shape[i];
  }
  return contiguous;
}

NdTensor *nd_contiguous(Ndarray *nd, NdTensor *x) {
  if (nd_is_contiguous(x)) {
    nd_retain(x);
    return x;
  }
  const BurnTensorDesc desc = burn_primitive_desc(&x->header);
  NdTensor *packed = nd_new(nd, &desc);
  if (packed) nd_pack(nd, x, nd_data(packed));
  return packed;
}

/* Donated, the caller's reference is the only one, and the memory is ours. */
static inline bool is_unique(const BurnOpCall *call, uint32_t i) {
  if (i >= 64 || !((call->donate >> i) & 1u) || !call->inputs[i]) return false;
  NdTensor *x = nd_tensor(call->inputs[i]);
  return atomic_load_explicit(&x->references, memory_order_acquire) == 1 &&
         atomic_load_explicit(&x->storage->references, memory_order_acquire) == 1 && !x->storage->foreign;
}

bool nd_may_overwrite(const BurnOpCall *call, uint32_t i) {
  if (!is_unique(call, i)) return false;
  for (uint32_t k = 0; k < call->input_count; k++) {
    if (k != i && call->inputs[k] == call->inputs[i]) return false;
  }
  return true;
}

static bool has_shape(const NdTensor *x, const BurnTensorDesc *desc) {
  if (x->header.rank != desc->rank) return false;
  for (uint32_t i = 0; i < desc->rank; i++) {
    if (x->shape[i] != desc->shape[i]) return false;
  }
  return true;
}

/* True if a result of this description can be written over x, which nobody else holds. */
static bool has_room(const NdTensor *x, const BurnTensorDesc *desc) {
  return burn_dtype_bytes(x->header.dtype) == burn_dtype_bytes(desc->dtype) && has_shape(x, desc) &&
         nd_is_contiguous(x);
}

/* x for a result that has room in it. */
static NdTensor *taken_over(Ndarray *nd, NdTensor *x, const BurnTensorDesc *desc) {
  if (x->header.dtype == desc->dtype) {
    nd_retain_sole(x);
    return x;
  }
  NdTensor *other = nd_view(nd, x, desc->rank, x->shape, x->strides, 0);
  if (other) other->header.dtype = desc->dtype; /* nobody has seen this header yet */
  return other;
}

/* From input `i` on, the first that nobody else holds. Apart, as nd_release. */
static ND_APART NdTensor *over_input(Ndarray *nd, const BurnOpCall *call, const BurnTensorDesc *desc, uint32_t i) {
  for (; i < call->input_count; i++) {
    if (is_unique(call, i) && has_room(nd_tensor(call->inputs[i]), desc))
      return taken_over(nd, nd_tensor(call->inputs[i]), desc);
  }
  return nd_new(nd, desc);
}

NdTensor *nd_output(Ndarray *nd, const BurnOpCall *call, uint32_t output) {
  const BurnTensorDesc *desc = &call->output_descs[output];
  for (uint32_t i = 0; call->donate != 0 && i < call->input_count; i++) {
    if (is_unique(call, i)) return over_input(nd, call, desc, i);
  }
  return nd_new(nd, desc);
}

BurnStatus nd_run_product(Ndarray *nd, const BurnOpCall *call, NdProductInto product) {
  NdTensor *out = nd_new(nd, call->output_descs);
  if (out && product(nd, call, out, NULL)) return nd_finish(nd, call, out);
  nd_release(nd, out);
  return nd_out_of_memory(nd, call);
}

BurnStatus nd_finish(Ndarray *nd, const BurnOpCall *call, NdTensor *result) {
  if (!result) return nd_out_of_memory(nd, call);
  call->outputs[0] = &result->header;
  return BURN_OK;
}
