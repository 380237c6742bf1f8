/* autodiff_tensor.c - tensors of the decorator: a counted wrapper around one primitive below, with or without a
 * history.
 *
 * The header is a copy of the inner one with the decorator's own owner number; shape and strides point at the inner
 * arrays, which stay as long as the wrapper holds its reference. */
#include "autodiff_internal.h"

BurnStatus burn__autodiff_wrap(AutodiffDecorator *decorator, BurnPrimitive *inner, AutodiffNode *node, uint32_t output,
                               BurnPrimitive **out) {
  AutodiffTensor *tensor = (AutodiffTensor *)decorator->host->allocate(sizeof *tensor);
  if (!tensor) {
    decorator->next->release(decorator->next->self, inner);
    burn__autodiff_node_release(decorator, node);
    return AUTODIFF_FAIL(decorator, OUT_OF_MEMORY, "autodiff: no memory for a tensor of %u bytes",
                         (unsigned)sizeof *tensor);
  }
  tensor->header = (BurnPrimitive){
      .struct_size = (uint32_t)sizeof tensor->header,
      .flags = (inner->flags & ~(uint32_t)BURN_PRIMITIVE_TRACKED) | (node ? (uint32_t)BURN_PRIMITIVE_TRACKED : 0u),
      .owner = decorator->owner,
      .dtype = inner->dtype,
      .rank = inner->rank,
      .shape = inner->shape,
      .strides = inner->strides,
      .buffer = inner->buffer,
      .byte_offset = inner->byte_offset};
  atomic_init(&tensor->references, 1u);
  tensor->output = output;
  tensor->inner = inner;
  tensor->node = node;
  tensor->kept = NULL;
  *out = &tensor->header;
  return BURN_OK;
}

BurnStatus BURN_API_CALL burn__autodiff_create(void *self, const BurnTensorDesc *desc, const void *data,
                                               BurnPrimitive **out) {
  AutodiffDecorator *decorator = self;
  BurnPrimitive *inner = NULL;
  BurnStatus status = decorator->next->create(decorator->next->self, desc, data, &inner);
  if (status == BURN_OK) status = burn_common_check_given(decorator->host, decorator->next, "create", desc, &inner);
  if (status != BURN_OK) return status;
  return burn__autodiff_wrap(decorator, inner, NULL, 0, out);
}

BurnStatus BURN_API_CALL burn__autodiff_read(void *self, BurnPrimitive *x, void *data, uint64_t bytes) {
  const AutodiffDecorator *decorator = self;
  const BurnStatus status = burn__autodiff_check_owner(decorator, x, "read");
  if (status != BURN_OK) return status;
  return decorator->next->read(decorator->next->self, autodiff_tensor(x)->inner, data, bytes);
}

void BURN_API_CALL burn__autodiff_retain(void *self, BurnPrimitive *x) {
  (void)self;
  atomic_fetch_add_explicit(&autodiff_tensor(x)->references, 1u, memory_order_relaxed);
}

void BURN_API_CALL burn__autodiff_release(void *self, BurnPrimitive *x) {
  const AutodiffDecorator *decorator = self;
  if (!x) return;
  AutodiffTensor *tensor = autodiff_tensor(x);
  if (!autodiff_drop_reference(&tensor->references)) return;
  if (tensor->node) burn__autodiff_node_release(decorator, tensor->node);
  if (tensor->kept) burn__autodiff_kept_release(decorator, tensor->kept);
  decorator->next->release(decorator->next->self, tensor->inner);
  decorator->host->free(tensor, sizeof *tensor);
}

BurnPrimitive *BURN_API_CALL burn__autodiff_unwrap(void *self, BurnPrimitive *x) {
  (void)self;
  return autodiff_tensor(x)->inner;
}

BurnStatus BURN_API_CALL burn__autodiff_adopt(void *self, BurnPrimitive *inner, BurnPrimitive **out) {
  AutodiffDecorator *decorator = self;
  decorator->next->retain(decorator->next->self, inner);
  return burn__autodiff_wrap(decorator, inner, NULL, 0, out);
}

/* A leaf stays what it is; anything else with a history is refused, because the history would silently be cut. */
BurnStatus BURN_API_CALL burn__autodiff_require_grad(void *self, BurnPrimitive *x, BurnPrimitive **out) {
  AutodiffDecorator *decorator = self;
  BurnStatus status = burn__autodiff_check_owner(decorator, x, "require_grad");
  if (status != BURN_OK) return status;
  if (burn__autodiff_is_require_grad(self, x)) {
    burn__autodiff_retain(self, x);
    *out = x;
    return BURN_OK;
  }
  AutodiffTensor *tensor = autodiff_tensor(x);
  if (tensor->node)
    return AUTODIFF_FAIL(decorator, FAILED_PRECONDITION,
                         "require_grad: the tensor is not a leaf but a result of %s; detach it",
                         burn__autodiff_op_name(decorator, tensor->node->op));
  if (burn_dtype_kind(x->dtype) != BURN_KIND_FLOAT)
    return AUTODIFF_FAIL(decorator, INVALID_DTYPE, "require_grad: only float tensors have gradients, this one is %s",
                         burn_dtype_name(x->dtype));
  AutodiffNode *leaf = burn__autodiff_leaf_create(decorator);
  if (!leaf) return AUTODIFF_FAIL(decorator, OUT_OF_MEMORY, "require_grad: no memory for a graph node");
  if (atomic_load_explicit(&tensor->references, memory_order_acquire) == 1u) {
    tensor->header.flags |= (uint32_t)BURN_PRIMITIVE_TRACKED;
    tensor->node = leaf;
    atomic_store_explicit(&tensor->references, 2u, memory_order_relaxed); /* nobody else counts */
    *out = x;
    return BURN_OK;
  }
  decorator->next->retain(decorator->next->self, tensor->inner);
  return burn__autodiff_wrap(decorator, tensor->inner, leaf, 0, out);
}

int32_t BURN_API_CALL burn__autodiff_is_require_grad(void *self, BurnPrimitive *x) {
  (void)self;
  const AutodiffNode *node = autodiff_tensor(x)->node;
  return node != NULL && node->row == NULL;
}

BurnStatus BURN_API_CALL burn__autodiff_detach(void *self, BurnPrimitive *x, BurnPrimitive **out) {
  AutodiffDecorator *decorator = self;
  const BurnStatus status = burn__autodiff_check_owner(decorator, x, "detach");
  if (status != BURN_OK) return status;
  return burn__autodiff_adopt(self, autodiff_tensor(x)->inner, out);
}
