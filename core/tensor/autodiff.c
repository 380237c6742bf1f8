/* autodiff.c - the public face of the autodiff interface in a stack. */
#include "core_internal.h"
#include "null_check.h"

struct BurnGradients {
  BurnDevice *device; /* one reference */
  BurnGradientSet *set;
  bool have_graph; /* they are tensors of `device`, not of its inner device */
};

static const BurnAutodiffInterface *interface_of(const BurnDevice *device) { return device->autodiff_interface.table; }

BurnStatus burn__no_gradients(const BurnDevice *device, const char *user) {
  const char *stack = burn_device_name(device);
  const BurnInstance *recorder = device->top, *above = device->top;
  while (recorder && !(recorder->roles & BURN_ROLE_AUTODIFF)) recorder = recorder->next;
  if (!recorder) {
    return BURN_FAIL(NO_AUTODIFF,
                     "%s: the stack '%s' has no autodiff; open it with burn_device_open_training or as 'autodiff<%s>'",
                     user, stack, stack);
  }
  while (above != recorder && !above->wraps_tensors) above = above->next;
  const char *name = recorder->plugin->name;
  if (above == recorder) {
    return BURN_FAIL(NO_AUTODIFF, "%s: '%s' of the stack '%s' says that it computes gradients, but offers none", user,
                     name, stack);
  }
  return BURN_FAIL(NO_AUTODIFF,
                   "%s: the stack '%s' has %s, but '%s' above it hands out tensors of its own and offers no gradients;"
                   " write %s<%s<..>>",
                   user, stack, name, above->plugin->name, name, above->plugin->name);
}

/* The tensor is usable and its device has autodiff. */
static BurnStatus check(const BurnTensor *x, const char *user) {
  const BurnStatus status = burn__tensor_check(x, user);
  if (status != BURN_OK || x->device->autodiff) return status;
  return burn__no_gradients(x->device, user);
}

/* The check of every verb here, before it reaches the plugin; BURN_OK: it says burn__work_leave afterwards. */
static BurnStatus enter(const BurnTensor *x, const char *user) {
  const BurnStatus status = check(x, user);
  return status != BURN_OK || burn__work_enter() ? status : burn__fork_failure();
}

/* Takes x, which gave `primitive` on `device` (or a failure). */
static BurnTensor *replace(BurnTensor *x, const char *user, BurnStatus status, BurnDevice *device,
                           BurnPrimitive *primitive) {
  if (status == BURN_OK) return burn__tensor_replace(x, device, primitive, user);
  BurnTensor *result = burn__tensor_failed(status);
  burn__tensor_take(x, user);
  return result;
}

BurnTensor *burn_require_grad(BurnTensor *x) {
  BurnPrimitive *out = NULL;
  BurnStatus status = enter(x, "require_grad");
  const bool entered = status == BURN_OK;
  if (entered) status = interface_of(x->device)->require_grad(x->device->autodiff_interface.self, x->primitive, &out);
  if (status == BURN_OK) status = burn__check_given(&x->device->autodiff->backend, "require_grad", NULL, &out);
  BurnTensor *result = replace(x, "require_grad", status, status == BURN_OK ? x->device : NULL, out);
  if (entered) burn__work_leave();
  return result;
}

bool burn_is_require_grad(const BurnTensor *x) {
  if (!burn_tensor_device(x) || !x->device->autodiff || !burn__work_enter()) return false;
  const bool is_leaf = interface_of(x->device)->is_require_grad(x->device->autodiff_interface.self, x->primitive) != 0;
  burn__work_leave();
  return is_leaf;
}

bool burn_is_tracked(const BurnTensor *x) {
  return burn_tensor_device(x) && (x->primitive->flags & BURN_PRIMITIVE_TRACKED);
}

BurnTensor *burn_detach(BurnTensor *x) {
  BurnPrimitive *out = NULL;
  BurnStatus status = enter(x, "detach");
  const bool entered = status == BURN_OK;
  if (entered) status = interface_of(x->device)->detach(x->device->autodiff_interface.self, x->primitive, &out);
  if (status == BURN_OK) status = burn__check_given(&x->device->autodiff->backend, "detach", NULL, &out);
  BurnTensor *result = replace(x, "detach", status, status == BURN_OK ? x->device : NULL, out);
  if (entered) burn__work_leave();
  return result;
}

/* Of a primitive of the stack's top, the one below the decorator that records; borrowed. NULL: one that keeps other
 * dtypes than it shows could not convert it. */
static BurnPrimitive *lowered(const BurnDevice *device, BurnPrimitive *x) {
  for (BurnInstance *level = device->autodiff; level != device->recorder->next && x; level = level->next) {
    if (level->wraps_tensors) x = level->backend.unwrap(level->backend.self, x);
  }
  return x;
}

/* The other way round, from `level` down to the decorator that records: a new primitive. */
static BurnStatus raised(const BurnDevice *device, BurnInstance *level, BurnPrimitive *x, BurnPrimitive **out) {
  if (level == device->recorder) return burn__backend_adopt(&level->backend, x, out);
  BurnPrimitive *below = NULL;
  BurnStatus status = raised(device, level->next, x, &below);
  *out = below;
  if (status != BURN_OK || !level->wraps_tensors) return status;
  status = burn__backend_adopt(&level->backend, below, out); /* retains what it wraps */
  level->next->backend.release(level->next->backend.self, below);
  return status;
}

BurnTensor *burn_inner(BurnTensor *x) {
  BurnStatus status = burn__tensor_check(x, "inner");
  if (status == BURN_OK && !x->device->autodiff) return x;
  if (status != BURN_OK) return replace(x, "inner", status, NULL, NULL);
  if (!burn__work_enter()) return replace(x, "inner", burn__fork_failure(), NULL, NULL);
  const BurnBackend *below = &x->device->inner->top->backend;
  BurnPrimitive *inner = lowered(x->device, x->primitive);
  if (inner) below->retain(below->self, inner);
  if (!inner) status = BURN_FAIL(OUT_OF_MEMORY, "inner: '%s' has no memory for a copy", burn_device_name(x->device));
  BurnTensor *result = replace(x, "inner", status, x->device->inner, inner);
  burn__work_leave();
  return result;
}

BurnTensor *burn_from_inner(BurnTensor *x, BurnDevice *device) {
  BurnStatus status = burn__tensor_check(x, "from_inner");
  if (status == BURN_OK) status = burn__device_status(device);
  if (status == BURN_OK && device == x->device) return x;
  if (status == BURN_OK && device->inner != x->device) {
    status = BURN_FAIL(INVALID_ARGUMENT, "from_inner: '%s' is not the inner device of '%s'",
                       burn_device_name(x->device), burn_device_name(device));
  }
  BurnPrimitive *out = NULL;
  const bool entered = status == BURN_OK && burn__work_enter();
  if (status == BURN_OK && !entered) status = burn__fork_failure();
  if (status == BURN_OK) status = raised(device, device->autodiff, x->primitive, &out);
  BurnTensor *result = replace(x, "from_inner", status, device, out);
  if (entered) burn__work_leave();
  return result;
}

static BurnStatus run_backward(const BurnDevice *device, BurnPrimitive *root, bool create_graph,
                               BurnGradientSet **set) {
  const BurnAutodiffInterface *autodiff = interface_of(device);
  void *self = device->autodiff_interface.self;
  if (!create_graph) return autodiff->backward(self, root, set);
  if (autodiff->backward_create_graph) return autodiff->backward_create_graph(self, root, set);
  return BURN_FAIL(UNIMPLEMENTED, "backward: '%s' has no gradients of gradients", device->autodiff->plugin->name);
}

static BurnStatus walk(const BurnTensor *root, bool create_graph, BurnGradients **gradients) {
  BurnGradients *result = burn__small_allocate(sizeof *result);
  if (!result) return BURN_FAIL(OUT_OF_MEMORY, "backward: no memory for the gradients");
  result->set = NULL;
  BurnStatus status = run_backward(root->device, root->primitive, create_graph, &result->set);
  if (status == BURN_OK && !result->set)
    status = BURN_FAIL(INTERNAL, "backward: '%s' reports success, but gave no gradients",
                       root->device->autodiff->backend.name);
  if (status != BURN_OK) {
    burn__small_free(result, sizeof *result);
    return status;
  }
  result->device = root->device;
  result->have_graph = create_graph;
  burn__device_retain(result->device);
  atomic_fetch_add_explicit(&result->device->gradients, 1, memory_order_relaxed);
  *gradients = result;
  return BURN_OK;
}

static BurnStatus backward(BurnTensor *root, bool create_graph, BurnGradients **gradients) {
  BurnStatus status = BURN_REQUIRED_BY("backward", gradients, "a BurnGradients *");
  if (status == BURN_OK) status = enter(root, "backward");
  const bool entered = status == BURN_OK;
  if (entered) status = walk(root, create_graph, gradients);
  burn__tensor_take(root, "backward");
  if (entered) burn__work_leave();
  return status;
}

BurnStatus burn_backward(BurnTensor *root, BurnGradients **gradients) { return backward(root, false, gradients); }
BurnStatus burn_backward_create_graph(BurnTensor *root, BurnGradients **gradients) {
  return backward(root, true, gradients);
}

/* Both slots of an older table may be missing. */
static BurnStatus mark_region(const BurnDevice *device, bool begin) {
  const BurnAutodiffInterface *autodiff = interface_of(device);
  void *self = device->autodiff_interface.self;
  if (!BURN_HAS(autodiff, BurnAutodiffInterface, checkpoint_end) || !autodiff->checkpoint_begin ||
      !autodiff->checkpoint_end)
    return BURN_FAIL(UNIMPLEMENTED, "%s: '%s' keeps everything for the backward pass; it has no checkpoints",
                     begin ? "checkpoint_begin" : "checkpoint_end", device->autodiff->plugin->name);
  return begin ? autodiff->checkpoint_begin(self) : autodiff->checkpoint_end(self);
}

static BurnStatus checkpoint(BurnDevice *device, bool begin) {
  BurnStatus status = burn__device_status(device);
  if (status != BURN_OK || !device->autodiff) return status;
  if (!burn__work_enter()) return burn__fork_failure();
  status = mark_region(device, begin);
  burn__work_leave();
  return status;
}

BurnStatus burn_checkpoint_begin(BurnDevice *device) { return checkpoint(device, true); }
BurnStatus burn_checkpoint_end(BurnDevice *device) { return checkpoint(device, false); }

static BurnTensor *gradient(const BurnTensor *x, BurnGradients *gradients, bool remove) {
  BurnStatus status = enter(x, "grad");
  const bool entered = status == BURN_OK;
  if (status == BURN_OK && !gradients) status = BURN_FAIL(INVALID_ARGUMENT, "grad: the gradients are NULL");
  if (status == BURN_OK && gradients->device != x->device) {
    status = BURN_FAIL(INVALID_ARGUMENT, "grad: the gradients are of device '%s', the tensor of '%s'",
                       burn_device_name(gradients->device), burn_device_name(x->device));
  }
  BurnPrimitive *out = NULL;
  if (status == BURN_OK) {
    status = interface_of(x->device)->gradient(x->device->autodiff_interface.self, gradients->set, x->primitive, remove,
                                               &out);
  }
  BurnTensor *result = status != BURN_OK ? burn__tensor_failed(status)
                       : out ? burn__tensor_new(gradients->have_graph ? x->device : x->device->inner, out, 0)
                             : NULL;
  if (entered) burn__work_leave();
  return result;
}

BurnTensor *burn_grad(const BurnTensor *x, BurnGradients *gradients) { return gradient(x, gradients, false); }
BurnTensor *burn_grad_remove(const BurnTensor *x, BurnGradients *gradients) { return gradient(x, gradients, true); }

void burn_gradients_drop(BurnGradients *gradients) {
  if (!gradients || !burn__work_enter()) return;
  interface_of(gradients->device)->gradients_release(gradients->device->autodiff_interface.self, gradients->set);
  atomic_fetch_sub_explicit(&gradients->device->gradients, 1, memory_order_relaxed);
  burn__device_release(gradients->device);
  burn__small_free(gradients, sizeof *gradients);
  burn__work_leave();
}
