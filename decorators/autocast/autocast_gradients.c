/* autocast_gradients.c - "burn.autodiff" of the level below, for the tensors of this one. The graph lies below, so
 * casts are nodes of it: what they save is in halves, and their gradients come back to the leaves in f32. */
#include "autocast_internal.h"

static BurnStatus BURN_API_CALL require_grad(void *self, BurnPrimitive *x, BurnPrimitive **out) {
  AutocastLayer *layer = self;
  AutocastTensor *tensor = autocast_tensor(x);
  BurnPrimitive *seen = NULL, *leaf = NULL;
  BurnStatus status = burn__autocast_check_owner(layer, x, "require_grad");
  if (status == BURN_OK) status = burn__autocast_as(layer, tensor, x->dtype, false, &seen);
  if (status != BURN_OK) return status;
  status = layer->autodiff.require_grad(layer->autodiff_self, seen, &leaf);
  layer->next->release(layer->next->self, seen);
  if (status == BURN_OK) status = burn_common_check_given(layer->host, layer->next, "require_grad", NULL, &leaf);
  if (status != BURN_OK) return status;
  if (leaf != tensor->held) return burn__autocast_wrap(layer, leaf, x->dtype, out);
  layer->next->release(layer->next->self, leaf); /* x was a leaf, and stays the tensor that has the cast */
  burn__autocast_retain(layer, x);
  *out = x;
  return BURN_OK;
}

static int32_t BURN_API_CALL is_require_grad(void *self, BurnPrimitive *x) {
  const AutocastLayer *layer = self;
  return layer->autodiff.is_require_grad(layer->autodiff_self, autocast_tensor(x)->held);
}

static BurnStatus BURN_API_CALL detach(void *self, BurnPrimitive *x, BurnPrimitive **out) {
  const AutocastLayer *layer = self;
  BurnPrimitive *below = NULL;
  BurnStatus status = burn__autocast_check_owner(layer, x, "detach");
  if (status == BURN_OK) status = layer->autodiff.detach(layer->autodiff_self, autocast_tensor(x)->held, &below);
  if (status == BURN_OK) status = burn_common_check_given(layer->host, layer->next, "detach", NULL, &below);
  return status == BURN_OK ? burn__autocast_wrap(layer, below, x->dtype, out) : status;
}

static BurnStatus BURN_API_CALL backward(void *self, BurnPrimitive *root, BurnGradientSet **out) {
  const AutocastLayer *layer = self;
  const BurnStatus status = burn__autocast_check_owner(layer, root, "backward");
  return status == BURN_OK ? layer->autodiff.backward(layer->autodiff_self, autocast_tensor(root)->held, out) : status;
}

static BurnStatus BURN_API_CALL backward_create_graph(void *self, BurnPrimitive *root, BurnGradientSet **out) {
  const AutocastLayer *layer = self;
  const BurnStatus status = burn__autocast_check_owner(layer, root, "backward");
  if (status != BURN_OK) return status;
  if (layer->autodiff.backward_create_graph)
    return layer->autodiff.backward_create_graph(layer->autodiff_self, autocast_tensor(root)->held, out);
  return AUTOCAST_FAIL(layer, UNIMPLEMENTED, "backward: '%s' has no gradients of gradients", layer->next->name);
}

/* A gradient is a primitive of the level below autodiff, which has nothing to do with this one, or with a history one
 * of autodiff itself. */
static BurnStatus BURN_API_CALL gradient(void *self, BurnGradientSet *set, BurnPrimitive *x, int32_t remove,
                                         BurnPrimitive **out) {
  const AutocastLayer *layer = self;
  BurnPrimitive *found = NULL;
  BurnStatus status = burn__autocast_check_owner(layer, x, "grad");
  if (status == BURN_OK)
    status = layer->autodiff.gradient(layer->autodiff_self, set, autocast_tensor(x)->held, remove, &found);
  if (status != BURN_OK) return status;
  if (found && found->owner == layer->next->owner) return burn__autocast_wrap(layer, found, found->dtype, out);
  *out = found;
  return BURN_OK;
}

static void BURN_API_CALL gradients_release(void *self, BurnGradientSet *set) {
  const AutocastLayer *layer = self;
  layer->autodiff.gradients_release(layer->autodiff_self, set);
}

static bool has_checkpoints(const AutocastLayer *layer) {
  return layer->autodiff.checkpoint_begin && layer->autodiff.checkpoint_end;
}

static BurnStatus BURN_API_CALL checkpoint_begin(void *self) {
  const AutocastLayer *layer = self;
  if (has_checkpoints(layer)) return layer->autodiff.checkpoint_begin(layer->autodiff_self);
  return AUTOCAST_FAIL(layer, UNIMPLEMENTED, "checkpoint_begin: '%s' keeps everything for the backward pass",
                       layer->next->name);
}

static BurnStatus BURN_API_CALL checkpoint_end(void *self) {
  const AutocastLayer *layer = self;
  if (has_checkpoints(layer)) return layer->autodiff.checkpoint_end(layer->autodiff_self);
  return AUTOCAST_FAIL(layer, UNIMPLEMENTED, "checkpoint_end: '%s' keeps everything for the backward pass",
                       layer->next->name);
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

void burn__autocast_find_autodiff(AutocastLayer *layer) {
  BurnInterface found;
  if (!burn_common_ask(layer->next, "burn.autodiff", &found)) return;
  burn_struct_copy(&layer->autodiff, sizeof layer->autodiff, found.table);
  layer->autodiff_self = found.self;
}
