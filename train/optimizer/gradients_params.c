/* gradients_params.c - the gradients of a backward pass by parameter id, cut loose from the graph: what optimizers take
 * and what is summed up when several batches make one step. */
#include <stdlib.h>

#include "null_check.h"
#include "optimizer_internal.h"

typedef struct LinkContext {
  BurnGradients *gradients;
  BurnGradientsParams *linked;
  const uint64_t *ids; /* of the parameters that are meant; NULL: all are */
  size_t id_count;
  size_t asking; /* parameters that ask for a gradient */
} LinkContext;

BurnStatus burn__nothing_reached(BurnModule module, size_t asking) {
  const char *name = burn_type_short_name(module.type);
  if (asking > 0) {
    return burn_status_make(
        BURN_STATUS_INVALID_ARGUMENT,
        "no parameter of %s got a gradient: the loss was not computed from it, but perhaps from a copy", name);
  }
  return burn_status_make(
      BURN_STATUS_INVALID_ARGUMENT,
      "no parameter of %s got a gradient: none asks for one, all are frozen, or made without autodiff", name);
}

static BurnStatus count_asking(void *asking, const BurnModuleTensor *tensor) {
  if (tensor->param && burn_is_require_grad(tensor->param->value)) ++*(size_t *)asking;
  return BURN_OK;
}

BurnStatus burn__backward_of(BurnModule module, BurnTensor *loss, BurnGradients **gradients) {
  if (burn_tensor_status(loss) != BURN_OK || burn_is_tracked(loss) ||
      !burn_device_is_autodiff(burn_tensor_device(loss))) {
    return burn_backward(loss, gradients);
  }
  size_t asking = 0;
  const BurnStatus status = burn_module_visit(module, count_asking, &asking);
  burn_drop(loss);
  return status == BURN_OK ? burn__nothing_reached(module, asking) : status;
}

static bool is_meant(const LinkContext *link, uint64_t id) {
  size_t i = 0;
  while (i < link->id_count && link->ids[i] != id) i++;
  return !link->ids || i < link->id_count;
}

static BurnStatus link_one(void *context, const BurnModuleTensor *tensor) {
  LinkContext *link = context;
  if (!tensor->param || !burn_is_require_grad(tensor->param->value)) return BURN_OK;
  if (!is_meant(link, tensor->param->id)) return BURN_OK;
  link->asking++;
  BurnTensor *gradient = burn_grad_remove(tensor->param->value, link->gradients);
  if (!gradient) return BURN_OK;
  BurnTensor **entry = burn__param_map_add(&link->linked->map, tensor->param->id);
  if (!entry) {
    burn_drop(gradient);
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "gradients: out of memory at %s", tensor->path);
  }
  burn_drop(*entry);
  *entry = burn_scope_keep(NULL, gradient);
  return burn_status_annotate(burn_tensor_status(gradient), "gradient of %s", tensor->path);
}

BurnStatus burn__gradients_params_status(const BurnGradientsParams *gradients) {
  if (gradients) return gradients->status;
  return burn_status_make(BURN_STATUS_OUT_OF_MEMORY,
                          "gradients: NULL: out of memory when they were linked, or not linked");
}

BurnGradientsParams *burn_gradients_params_create(void) {
  BurnGradientsParams *created = calloc(1, sizeof *created);
  if (created) created->map.value_bytes = sizeof(BurnTensor *);
  return created;
}

/* What `link` names, moved out of its gradients. */
static BurnGradientsParams *linked_by(LinkContext *link, BurnModule module) {
  link->linked = burn_gradients_params_create();
  if (!link->linked) return NULL;
  if (link->gradients) {
    link->linked->status = burn_module_visit(module, link_one, link);
  } else {
    link->linked->status =
        burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "gradients: NULL: the backward pass failed, or was not made");
  }
  return link->linked;
}

BurnGradientsParams *burn_gradients_params_of_module(BurnGradients *gradients, BurnModule module) {
  return linked_by(&(LinkContext){.gradients = gradients}, module);
}

BurnGradientsParams *burn_gradients_params_of_ids(BurnGradients *gradients, BurnModule module, const uint64_t *ids,
                                                  size_t count) {
  const uint64_t none = 0;
  return linked_by(&(LinkContext){.gradients = gradients, .ids = ids ? ids : &none, .id_count = ids ? count : 0},
                   module);
}

BurnGradientsParams *burn_gradients_params(BurnGradients *gradients, BurnModule module) {
  LinkContext link = {.gradients = gradients};
  BurnGradientsParams *linked = linked_by(&link, module);
  if (linked && linked->status == BURN_OK && linked->map.count == 0)
    linked->status = burn__nothing_reached(module, link.asking);
  burn_gradients_drop(gradients);
  return linked;
}

size_t burn_gradients_params_count(const BurnGradientsParams *gradients) {
  size_t count = 0;
  for (size_t i = 0; gradients && i < gradients->map.count; i++) {
    BurnTensor *const *entry = burn__param_map_at(&gradients->map, i);
    count += *entry != NULL;
  }
  return count;
}

BurnTensor *burn_gradients_params_get(const BurnGradientsParams *gradients, uint64_t param_id) {
  BurnTensor *const *entry = gradients ? burn__param_map_find(&gradients->map, param_id) : NULL;
  return entry ? burn_clone(*entry) : NULL;
}

BurnTensor *burn_gradients_params_remove(BurnGradientsParams *gradients, uint64_t param_id) {
  BurnTensor **entry = gradients ? burn__param_map_find(&gradients->map, param_id) : NULL;
  BurnTensor *gradient = entry ? *entry : NULL;
  if (entry) *entry = NULL;
  return gradient;
}

BurnStatus burn_gradients_params_set(BurnGradientsParams *gradients, uint64_t param_id, BurnTensor *gradient) {
  BurnStatus status = gradients ? burn_tensor_status(gradient) : burn__gradients_params_status(NULL);
  BurnTensor **entry = status == BURN_OK ? burn__param_map_add(&gradients->map, param_id) : NULL;
  if (!entry) {
    burn_drop(gradient);
    return status != BURN_OK ? status : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "gradients: out of memory");
  }
  burn_drop(*entry);
  *entry = burn_scope_keep(NULL, burn_inner(gradient));
  return burn_tensor_status(*entry);
}

BurnStatus burn_gradients_params_to_device(BurnGradientsParams *gradients, BurnDevice *device) {
  BurnStatus status = burn__gradients_params_status(gradients);
  for (size_t i = 0; status == BURN_OK && i < gradients->map.count; i++) {
    BurnTensor **entry = burn__param_map_at(&gradients->map, i);
    if (!*entry) continue;
    *entry = burn_scope_keep(NULL, burn_to_device(*entry, burn_device_inner(device)));
    status = burn_tensor_status(*entry);
  }
  return status;
}

void burn_gradients_params_drop(BurnGradientsParams *gradients) {
  if (!gradients) return;
  for (size_t i = 0; i < gradients->map.count; i++) {
    BurnTensor **entry = burn__param_map_at(&gradients->map, i);
    burn_drop(*entry);
  }
  burn__param_map_free(&gradients->map);
  free(gradients);
}

/* Adds one gradient (taken) to the sum. */
static BurnStatus accumulate_one(BurnGradientsParams *sum, uint64_t param_id, BurnTensor *gradient) {
  BurnTensor **entry = burn__param_map_add(&sum->map, param_id);
  if (!entry) {
    burn_drop(gradient);
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "gradients: out of memory when adding them up");
  }
  char id[14];
  *entry = burn_scope_keep(NULL, *entry ? burn_add(*entry, gradient) : gradient);
  burn_param_id_text(param_id, id);
  return burn_status_annotate(burn_tensor_status(*entry), "gradient of parameter %s", id);
}

BurnStatus burn_gradients_accumulate(BurnGradientsParams **sum, BurnGradientsParams *more) {
  BurnStatus status = BURN_REQUIRED(sum, "a BurnGradientsParams *");
  if (status == BURN_OK) status = burn__gradients_params_status(more);
  if (status != BURN_OK) {
    burn_gradients_params_drop(more);
    return status;
  }
  if (!*sum) {
    *sum = more;
    return BURN_OK;
  }
  for (size_t i = 0; i < more->map.count && status == BURN_OK; i++) {
    BurnTensor **entry = burn__param_map_at(&more->map, i);
    if (*entry) status = accumulate_one(*sum, more->map.ids[i], *entry);
    *entry = NULL;
  }
  burn_gradients_params_drop(more);
  return status;
}
