/* autocast_gradients.c - "burn.autodiff" of the level below, for the tensors of this one. The graph lies below, so
 * casts are nodes of it: what they save is in halves, and their gradients come back to the leaves in f32. */
#include "autocast_internal.h"

static BurnStatus BURN_API_CALL require_grad(void *self, BurnPrimitive *x, BurnPrimitive **out) {
  AutocastDecorator *decorator = self;
  AutocastTensor *tensor = autocast_tensor(x);
  BurnPrimitive *seen = NULL, *leaf = NULL;
  BurnStatus status = burn__autocast_check_owner(decorator, x, "require_grad");
  if (status == BURN_OK) status = burn__autocast_as(decorator, tensor, x->dtype, false, &seen);
  if (status != BURN_OK) return status;
  status = decorator->autodiff.require_grad(decorator->autodiff_self, seen, &leaf);
  decorator->next->release(decorator->next->self, seen);
  if (status == BURN_OK)
    status = burn_common_check_given(decorator->host, decorator->next, "require_grad", NULL, &leaf);
  if (status != BURN_OK) return status;
  if (leaf != tensor->held) return burn__autocast_wrap(decorator, leaf, x->dtype, out);
  decorator->next->release(decorator->next->self, leaf); /* x was a leaf, and stays the tensor that has the cast */
  burn__autocast_retain(decorator, x);
  *out = x;
  return BURN_OK;
}

static int32_t BURN_API_CALL is_require_grad(void *self, BurnPrimitive *x) {
  const AutocastDecorator *decorator = self;
  return decorator->autodiff.is_require_grad(decorator->autodiff_self, autocast_tensor(x)->held);
}

static BurnStatus BURN_API_CALL detach(void *self, BurnPrimitive *x, BurnPrimitive **out) {
  const AutocastDecorator *decorator = self;
  BurnPrimitive *below = NULL;
  BurnStatus status = burn__autocast_check_owner(decorator, x, "detach");
  if (status == BURN_OK)
    status = decorator->autodiff.detach(decorator->autodiff_self, autocast_tensor(x)->held, &below);
  if (status == BURN_OK) status = burn_common_check_given(decorator->host, decorator->next, "detach", NULL, &below);
  return status == BURN_OK ? burn__autocast_wrap(decorator, below, x->dtype, out) : status;
}

static BurnStatus BURN_API_CALL backward(void *self, BurnPrimitive *root, BurnGradientSet **out) {
  const AutocastDecorator *decorator = self;
  const BurnStatus status = burn__autocast_check_owner(decorator, root, "backward");
  return status == BURN_OK ? decorator->autodiff.backward(decorator->autodiff_self, autocast_tensor(root)->held, out)
                           : status;
}

static BurnStatus BURN_API_CALL backward_create_graph(void *self, BurnPrimitive *root, BurnGradientSet **out) {
  const AutocastDecorator *decorator = self;
  const BurnStatus status = burn__autocast_check_owner(decorator, root, "backward");
  if (status != BURN_OK) return status;
  if (decorator->autodiff.backward_create_graph)
    return decorator->autodiff.backward_create_graph(decorator->autodiff_self, autocast_tensor(root)->held, out);
  return AUTOCAST_FAIL(decorator, UNIMPLEMENTED, "backward: '%s' has no gradients of gradients", decorator->next->name);
}

/* A gradient is a primitive of the level below autodiff, which has nothing to do with this one, or with a history one
 * of autodiff itself. */
static BurnStatus BURN_API_CALL gradient(void *self, BurnGradientSet *set, BurnPrimitive *x, int32_t remove,
                                         BurnPrimitive **out) {
  const AutocastDecorator *decorator = self;
  BurnPrimitive *found = NULL;
  BurnStatus status = burn__autocast_check_owner(decorator, x, "grad");
  if (status == BURN_OK)
    status = decorator->autodiff.gradient(decorator->autodiff_self, set, autocast_tensor(x)->held, remove, &found);
  if (status != BURN_OK) return status;
  if (found && found->owner == decorator->next->owner) return burn__autocast_wrap(decorator, found, found->dtype, out);
  *out = found;
  return BURN_OK;
}

static void BURN_API_CALL gradients_release(void *self, BurnGradientSet *set) {
  const AutocastDecorator *decorator = self;
  decorator->autodiff.gradients_release(decorator->autodiff_self, set);
}

static bool has_checkpoints(const AutocastDecorator *decorator) {
  return decorator->autodiff.checkpoint_begin && decorator->autodiff.checkpoint_end;
}

static BurnStatus BURN_API_CALL checkpoint_begin(void *self) {
  const AutocastDecorator *decorator = self;
  if (has_checkpoints(decorator)) return decorator->autodiff.checkpoint_begin(decorator->autodiff_self);
  return AUTOCAST_FAIL(decorator, UNIMPLEMENTED, "checkpoint_begin: '%s' keeps everything for the backward pass",
                       decorator->next->name);
}

static BurnStatus BURN_API_CALL checkpoint_end(void *self) {
  const AutocastDecorator *decorator = self;
  if (has_checkpoints(decorator)) return decorator->autodiff.checkpoint_end(decorator->autodiff_self);
  return AUTOCAST_FAIL(decorator, UNIMPLEMENTED, "checkpoint_end: '%s' keeps everything for the backward pass",
                       decorator->next->name);
}

const BurnAutodiffInterface burn__autocast_autodiff = {
    .struct_size = (uint32_t)sizeof(BurnAutodiffInterface),
    .version = 1,
    .require_grad = require_grad,
    .is_require_grad = is_require_grad,
    .detach = detach,
    .backward = backward,
    .gradient = gradient,
    .gradients_release = gradients_release,
    .backward_create_graph = backward_create_graph,
    .checkpoint_begin = checkpoint_begin,
    .checkpoint_end = checkpoint_end,
};

void burn__autocast_find_autodiff(AutocastDecorator *decorator) {
  BurnInterface found;
  if (!burn_common_ask(decorator->next, "burn.autodiff", &found)) return;
  burn_struct_copy(&decorator->autodiff, sizeof decorator->autodiff, found.table);
  decorator->autodiff_self = found.self;
}
