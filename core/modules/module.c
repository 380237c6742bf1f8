/* module.c - services over any module, all from one walk over its descriptor.
 *
 * The walk meets every parameter and buffer in row order with its path ("blocks.3.norm.gamma") and every list before
 * and after its items. Counting, moving, freezing and ending are callbacks of a few lines. Cloning copies the struct
 * first and then walks over the copy, giving each tensor, cell and list there a life of its own. */
#include "module_internal.h"
#include "null_check.h"

#include <burn/autodiff.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- the walk --------------------------------------------------------------------------------- */

typedef struct Walker {
  const BurnModuleWalk *walk;
  size_t length; /* of the whole path, also of one that was cut to fit */
  char path[BURN_MODULE_PATH_BYTES];
} Walker;

static void path_append(Walker *walker, const char *text) {
  const size_t room = sizeof walker->path - 1;
  for (; *text; text++, walker->length++) {
    if (walker->length < room) walker->path[walker->length] = *text;
  }
  walker->path[walker->length < room ? walker->length : room] = '\0';
}

/* Appends a name to the path; returns the length to go back to. */
static size_t path_push(Walker *walker, const char *name) {
  const size_t before = walker->length;
  if (before) path_append(walker, ".");
  path_append(walker, name);
  return before;
}

static void path_pop(Walker *walker, size_t length) {
  walker->length = length;
  if (length < sizeof walker->path) walker->path[length] = '\0';
}

static BurnStatus walk_module(Walker *walker, const BurnType *type, char *data);

static BurnStatus walk_list(Walker *walker, BurnModuleList *list) {
  const BurnModuleWalk *walk = walker->walk;
  BurnStatus status = walk->list_begin ? walk->list_begin(walk->context, walker->path, list) : BURN_OK;
  for (size_t i = 0; status == BURN_OK && i < list->count; i++) {
    char name[24];
    (void)snprintf(name, sizeof name, "%zu", i);
    size_t before = path_push(walker, name);
    status = walk_module(walker, list->type, burn_module_list_at(list, i));
    path_pop(walker, before);
  }
  if (walk->list_end) walk->list_end(walk->context, list);
  return status;
}

static BurnStatus walk_option(Walker *walker, BurnModuleOption *option) {
  const BurnModuleWalk *walk = walker->walk;
  const bool there = option->data != NULL;
  BurnModuleList list = {
      .type = option->type, .data = option->data, .count = there, .missing = option->present && !there};
  BurnStatus status = walk->list_begin ? walk->list_begin(walk->context, walker->path, &list) : BURN_OK;
  if (status == BURN_OK && list.data) status = walk_module(walker, list.type, list.data);
  if (walk->list_end) walk->list_end(walk->context, &list);
  option->data = list.data;
  return status;
}

/* True if `known` is the path of the walk, or a longer one: what a walk from within a model calls "weight" is
 * "fc.weight" there. */
static bool is_place(const Walker *walker, const char *known) {
  if (!known) return false;
  const size_t length = strlen(known);
  if (length < walker->length || memcmp(known + length - walker->length, walker->path, walker->length) != 0)
    return false;
  return length == walker->length || known[length - walker->length - 1] == '.';
}

static BurnStatus walk_tensor(Walker *walker, const BurnType *layer, const char *field, BurnParam *param,
                              BurnBuffer *buffer);

/* The factors of a parameter's adapter, if it has one after its own callback. */
static BurnStatus walk_adapter(Walker *walker, const BurnType *layer, BurnParam *param) {
  static const char *const names[] = {"lora.a", "lora.b"};
  if (!burn__param_is_adapted(param)) return BURN_OK;
  BurnParam *const factors[] = {&param->extra->a, &param->extra->b};
  BurnStatus status = BURN_OK;
  for (int i = 0; i < 2 && status == BURN_OK; i++) {
    const size_t before = path_push(walker, names[i]);
    status = walk_tensor(walker, layer, names[i], factors[i], NULL);
    path_pop(walker, before);
  }
  return status;
}

/* A row of `layer` that is a parameter or a buffer. */
static BurnStatus walk_tensor(Walker *walker, const BurnType *layer, const char *field, BurnParam *param,
                              BurnBuffer *buffer) {
  const BurnModuleTensor tensor = {walker->path, param, buffer, layer, field};
  const bool is_cut = walker->length >= sizeof walker->path;
  if (is_cut && walker->walk->needs_paths) {
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "%.60s...: path is longer than %d bytes", walker->path,
                            BURN_MODULE_PATH_BYTES - 1);
  }
  if (param && walker->length && !walker->walk->ends && !is_cut && !is_place(walker, param->path))
    param->path = burn__path_kept(walker->path);
  const BurnStatus status = walker->walk->tensor(walker->walk->context, &tensor);
  return status == BURN_OK && param ? walk_adapter(walker, layer, param) : status;
}

static BurnStatus walk_constant(Walker *walker, BurnConstant *constant) {
  const BurnModuleWalk *walk = walker->walk;
  return walk->constant && constant->value ? walk->constant(walk->context, walker->path, constant) : BURN_OK;
}

/* What a row, or the whole walk, is about. `layer` has the row, whose name is `field`. */
static BurnStatus walk_member(Walker *walker, const BurnType *layer, const char *field, const BurnType *type,
                              void *member) {
  switch (type->kind) {
    case BURN_TYPE_PARAM:
      return walk_tensor(walker, layer, field, member, NULL);
    case BURN_TYPE_BUFFER:
      return walk_tensor(walker, layer, field, NULL, member);
    case BURN_TYPE_CONSTANT:
      return walk_constant(walker, member);
    case BURN_TYPE_MODULE:
    case BURN_TYPE_MODULE_VARIANT:
      return walk_module(walker, type, member);
    case BURN_TYPE_MODULE_OPTION:
      return walk_option(walker, member);
    case BURN_TYPE_MODULE_LIST:
      return walk_list(walker, member);
    default:
      return BURN_OK;
  }
}

static BurnStatus walk_fields(Walker *walker, const BurnType *type, char *data) {
  BurnStatus status = BURN_OK;
  for (uint32_t i = 0; status == BURN_OK && i < type->field_count; i++) {
    const BurnField *field = &type->fields[i];
    size_t before = path_push(walker, field->name);
    status = walk_member(walker, type, field->name, field->type(), data + field->offset);
    path_pop(walker, before);
  }
  return status;
}

const BurnField *burn__module_case(const BurnType *type, const void *data) {
  uint32_t kind;
  memcpy(&kind, data, sizeof kind);
  return kind < type->field_count ? &type->fields[kind] : NULL;
}

static BurnStatus walk_module(Walker *walker, const BurnType *type, char *data) {
  if (type->kind != BURN_TYPE_MODULE_VARIANT) return walk_fields(walker, type, data);
  const BurnField *chosen = burn__module_case(type, data);
  if (!chosen) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s%sthe kind of a %s is none of its %u cases", walker->path,
                            walker->path[0] ? ": " : "", type->name, type->field_count);
  }
  const size_t before = path_push(walker, chosen->name);
  const BurnStatus status = walk_module(walker, chosen->type(), data + chosen->offset);
  path_pop(walker, before);
  return status;
}

BurnStatus burn__module_check(BurnModule module) {
  if (module.type && module.data) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: the module is NULL; burn_module(Type, &object) makes one",
                          module.type ? burn_type_short_name(module.type) : "module");
}

BurnStatus burn__module_walk(BurnModule module, const BurnModuleWalk *walk) {
  Walker walker;
  const BurnStatus status = burn__module_check(module);
  if (status != BURN_OK) return status;
  walker.walk = walk;
  walker.length = 0;
  walker.path[0] = '\0';
  return walk_member(&walker, module.type, "", module.type, module.data);
}

/* For callbacks that cannot fail. */
static void walk_all(BurnModule module, void *context, BurnStatus (*tensor)(void *, const BurnModuleTensor *)) {
  const BurnModuleWalk walk = {.context = context, .tensor = tensor};
  (void)burn__module_walk(module, &walk);
}

static BurnStatus leave_tensor(void *context, const BurnModuleTensor *tensor) {
  (void)context;
  (void)tensor;
  return BURN_OK;
}

void burn__module_name_params(BurnModule module) { walk_all(module, NULL, leave_tensor); }

/* What may hold any module has a place, whatever it holds. */
static bool has_place(uint32_t kind) {
  return kind == BURN_TYPE_PARAM || kind == BURN_TYPE_BUFFER || kind == BURN_TYPE_CONSTANT ||
         kind == BURN_TYPE_MODULE_LIST || kind == BURN_TYPE_MODULE_OPTION || kind == BURN_TYPE_MODULE_VARIANT;
}

bool burn__type_has_tensors(const BurnType *type) {
  if (has_place(type->kind)) return true;
  for (uint32_t i = 0; i < type->field_count; i++) {
    const BurnType *field = type->fields[i].type();
    if (field->kind == BURN_TYPE_MODULE ? burn__type_has_tensors(field) : has_place(field->kind)) return true;
  }
  return false;
}

/* -- lists and options ------------------------------------------------------------------------- */

BurnModuleList burn_module_list(const BurnType *type, size_t count) {
  const size_t bytes = type ? type->bytes : 0;
  void *data = count && bytes && count <= PTRDIFF_MAX / bytes ? calloc(count, bytes) : NULL;
  return (BurnModuleList){.type = type, .data = data, .count = data ? count : 0, .missing = data ? 0 : count};
}

void *burn_module_list_at(const BurnModuleList *list, size_t index) {
  return index < list->count ? (char *)list->data + index * list->type->bytes : NULL;
}

BurnModuleOption burn_module_option(const BurnType *type) { return (BurnModuleOption){type, NULL, false}; }

void burn_module_option_set(BurnModuleOption *option, BurnModule module) {
  if (option->data) burn_module_release((BurnModule){option->type, option->data});
  free(option->data);
  *option = burn_module_option(module.type);
  if (!module.type || !module.data) return;
  option->present = true;
  option->data = malloc(module.type->bytes);
  if (option->data) {
    memcpy(option->data, module.data, module.type->bytes);
  } else {
    burn_module_release(module);
  }
}

void *burn_module_option_get(const BurnModuleOption *option) { return option->data; }

/* -- looking ---------------------------------------------------------------------------------- */

static bool is_present(const BurnModuleTensor *tensor) {
  if (tensor->param) return tensor->param->value != NULL;
  BurnTensor *value = burn_buffer_value(tensor->buffer);
  burn_drop(value);
  return value != NULL;
}

typedef struct Visit {
  BurnModuleVisitor visitor;
  void *context;
} Visit;

static BurnStatus visit_tensor(void *context, const BurnModuleTensor *tensor) {
  const Visit *visit = context;
  return is_present(tensor) ? visit->visitor(visit->context, tensor) : BURN_OK;
}

static BurnStatus list_status(void *context, const char *path, BurnModuleList *list) {
  (void)context;
  if (list->missing == 0) return BURN_OK;
  return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%s%sno memory for %zu modules", path, path[0] ? ": " : "",
                          list->missing);
}

BurnStatus burn_module_visit(BurnModule module, BurnModuleVisitor visitor, void *context) {
  const BurnStatus given = BURN_REQUIRED(visitor, "a BurnModuleVisitor");
  if (given != BURN_OK) return given;
  Visit visit = {visitor, context};
  const BurnModuleWalk walk = {
      .context = &visit, .needs_paths = true, .tensor = visit_tensor, .list_begin = list_status};
  return burn__module_walk(module, &walk);
}

static BurnStatus at_path(BurnStatus status, const char *path) {
  return status == BURN_OK ? BURN_OK : burn_status_annotate(status, "%s", path);
}

static BurnStatus status_of(const BurnTensor *value, const char *path) {
  return at_path(value ? burn_tensor_status(value) : BURN_OK, path);
}

static BurnStatus status_tensor(void *context, const BurnModuleTensor *tensor) {
  (void)context;
  if (tensor->param) return at_path(burn__param_status(tensor->param), tensor->path);
  BurnTensor *value = burn_buffer_value(tensor->buffer);
  const BurnStatus status = status_of(value, tensor->path);
  burn_drop(value);
  return status;
}

static BurnStatus status_constant(void *context, const char *path, BurnConstant *constant) {
  (void)context;
  return status_of(constant->value, path);
}

BurnStatus burn_module_status(BurnModule module) {
  const BurnModuleWalk walk = {.tensor = status_tensor, .constant = status_constant, .list_begin = list_status};
  return burn__module_walk(module, &walk);
}

static BurnStatus count_tensor(void *context, const BurnModuleTensor *tensor) {
  int64_t *count = context;
  *count += burn__float_count(tensor);
  return BURN_OK;
}

int64_t burn_module_num_params(BurnModule module) {
  int64_t count = 0;
  walk_all(module, &count, count_tensor);
  return count;
}

/* -- changing in place ------------------------------------------------------------------------ */

typedef struct Map {
  BurnModuleMapper mapper;
  void *context;
} Map;

/* A mapper computes on tracked values, so its result has a history, or none where it made a fresh tensor: neither would
 * ever be trained again. */
static void map_param(const Map *map, const char *path, BurnParam *param) {
  burn__param_dequantize(param);
  const bool leaf = burn_is_require_grad(param->value);
  BurnTensor *value = map->mapper(map->context, path, param->value);
  if (burn__is_trackable(value) && leaf) value = burn__as_leaf(value);
  burn__param_store(param, burn_is_tracked(value) && !leaf ? burn_detach(value) : value);
}

static BurnStatus map_tensor(void *context, const BurnModuleTensor *tensor) {
  const Map *map = context;
  if (!is_present(tensor)) return BURN_OK;
  if (tensor->param) {
    map_param(map, tensor->path, tensor->param);
  } else {
    burn_buffer_set(tensor->buffer, map->mapper(map->context, tensor->path, burn_buffer_value(tensor->buffer)));
  }
  return BURN_OK;
}

void burn_module_map(BurnModule module, BurnModuleMapper mapper, void *context) {
  Map map = {mapper, context};
  walk_all(module, &map, map_tensor);
}

static BurnTensor *to_device(void *device, BurnTensor *x) { return burn_to_device(x, device); }

/* A parameter frozen by burn_module_freeze stays frozen on another autodiff device, and a weight with an adapter on
 * every one; another one that comes from a device without autodiff becomes a tracked leaf. */
static void param_to_device(BurnParam *param, BurnDevice *device) {
  BurnTensor *value = param->value;
  if (burn_tensor_device(value) == device) return;
  bool frozen = burn__param_is_adapted(param) || (burn__is_trackable(value) && !burn_is_require_grad(value));
  value = burn_to_device(burn_is_tracked(value) ? burn_detach(value) : value, device);
  burn__param_store(param, !frozen && burn__is_trackable(value) ? burn_require_grad(value) : value);
  burn__param_extra_map(param, to_device, device);
}

static BurnStatus move_tensor(void *context, const BurnModuleTensor *tensor) {
  BurnDevice *device = context;
  if (!is_present(tensor)) return BURN_OK;
  if (tensor->param) {
    param_to_device(tensor->param, device);
  } else {
    burn_buffer_set(tensor->buffer, burn_to_device(burn_buffer_value(tensor->buffer), device));
  }
  return BURN_OK;
}

static BurnStatus move_constant(void *context, const char *path, BurnConstant *constant) {
  (void)path;
  *constant = burn_constant(burn_to_device(constant->value, context));
  return BURN_OK;
}

void burn_module_to_device(BurnModule module, BurnDevice *device) {
  const BurnModuleWalk walk = {.context = device, .tensor = move_tensor, .constant = move_constant};
  (void)burn__module_walk(module, &walk);
}

static BurnStatus freeze_tensor(void *context, const BurnModuleTensor *tensor) {
  (void)context;
  BurnParam *param = tensor->param;
  if (param && param->value && burn_is_require_grad(param->value)) burn__param_store(param, burn_detach(param->value));
  return BURN_OK;
}

void burn_module_freeze(BurnModule module) { walk_all(module, NULL, freeze_tensor); }
void burn_module_no_grad(BurnModule module) { burn_module_freeze(module); }

static BurnStatus unfreeze_tensor(void *context, const BurnModuleTensor *tensor) {
  (void)context;
  BurnParam *param = tensor->param;
  if (!param || burn__param_is_adapted(param)) return BURN_OK;
  if (burn__is_trackable(param->value)) burn__param_store(param, burn__as_leaf(param->value));
  return BURN_OK;
}

void burn_module_unfreeze(BurnModule module) { walk_all(module, NULL, unfreeze_tensor); }

/* -- copies and the end ----------------------------------------------------------------------- */

static BurnStatus copy_list(void *context, const char *path, BurnModuleList *list) {
  (void)context;
  (void)path;
  const void *original = list->data;
  if (!original) return BURN_OK;
  list->data = malloc(list->count * list->type->bytes);
  if (list->data) {
    memcpy(list->data, original, list->count * list->type->bytes);
  } else {
    list->missing = list->count;
    list->count = 0;
  }
  return BURN_OK;
}

/* Gives a buffer of a copied struct a cell of its own. */
static void copy_buffer(BurnBuffer *buffer, BurnTensor *value) {
  if (!buffer->cell) return;
  uint64_t id = burn__buffer_id(buffer);
  *buffer = burn_buffer(value);
  burn__buffer_set_id(buffer, id);
}

static BurnTensor *as_it_is(void *context, BurnTensor *x) {
  (void)context;
  return x;
}

static BurnStatus clone_tensor(void *context, const BurnModuleTensor *tensor) {
  (void)context;
  if (tensor->buffer) {
    copy_buffer(tensor->buffer, burn_buffer_value(tensor->buffer));
  } else if (tensor->param->value) {
    BurnTensor *value = burn_clone(tensor->param->value);
    /* A leaf of its own: gradients of the original are none of the copy. */
    burn__param_store(tensor->param, burn_is_require_grad(value) ? burn_require_grad(burn_detach(value)) : value);
    burn__param_extra_copy(tensor->param, as_it_is, NULL);
  }
  return BURN_OK;
}

static BurnStatus clone_constant(void *context, const char *path, BurnConstant *constant) {
  (void)context;
  (void)path;
  *constant = burn_constant(burn_clone(constant->value));
  return BURN_OK;
}

static BurnTensor *below_autodiff(void *context, BurnTensor *x) {
  (void)context;
  return burn_inner(x);
}

/* The adapter of a copied struct is the original's, and goes into the value. */
static void valid_param(BurnParam *param) {
  const bool is_adapted = burn__param_is_adapted(param);
  burn__param_store(param, burn_inner(is_adapted ? burn_param_value(param) : burn_clone(param->value)));
  if (is_adapted) {
    param->extra = NULL;
  } else {
    burn__param_extra_copy(param, below_autodiff, NULL);
  }
}

static BurnStatus valid_tensor(void *context, const BurnModuleTensor *tensor) {
  (void)context;
  if (tensor->buffer) {
    BurnTensor *value = burn_buffer_value(tensor->buffer);
    copy_buffer(tensor->buffer, value ? burn_inner(value) : NULL);
  } else if (tensor->param->value) {
    valid_param(tensor->param);
  }
  return BURN_OK;
}

static BurnStatus valid_constant(void *context, const char *path, BurnConstant *constant) {
  (void)context;
  (void)path;
  *constant = burn_constant(burn_inner(burn_clone(constant->value)));
  return BURN_OK;
}

/* A clone that is then moved: what is on the device already becomes a leaf of its own, too. */
static BurnStatus fork_tensor(void *context, const BurnModuleTensor *tensor) {
  BurnStatus status = clone_tensor(NULL, tensor);
  return status == BURN_OK ? move_tensor(context, tensor) : status;
}

static BurnStatus fork_constant(void *context, const char *path, BurnConstant *constant) {
  BurnStatus status = clone_constant(NULL, path, constant);
  return status == BURN_OK ? move_constant(context, path, constant) : status;
}

/* A walk over a copy of the struct, which gives it tensors of its own. */
static void copy_with(BurnModule module, void *out, const BurnModuleWalk *walk) {
  if (module.type && !module.data) memset(out, 0, module.type->bytes); /* burn_module_status tells why */
  if (burn__module_check(module) != BURN_OK) return;
  memcpy(out, module.data, module.type->bytes);
  (void)burn__module_walk((BurnModule){module.type, out}, walk);
}

void burn_module_clone(BurnModule module, void *out) {
  copy_with(module, out,
            &(BurnModuleWalk){.tensor = clone_tensor, .constant = clone_constant, .list_begin = copy_list});
}

void burn_module_valid(BurnModule module, void *out) {
  copy_with(module, out,
            &(BurnModuleWalk){.tensor = valid_tensor, .constant = valid_constant, .list_begin = copy_list});
}

void burn_module_fork(BurnModule module, BurnDevice *device, void *out) {
  const BurnModuleWalk walk = {
      .context = device, .tensor = fork_tensor, .constant = fork_constant, .list_begin = copy_list};
  copy_with(module, out, &walk);
}

static BurnStatus release_tensor(void *context, const BurnModuleTensor *tensor) {
  (void)context;
  if (tensor->param) {
    burn_param_release(tensor->param);
  } else {
    burn__buffer_release(tensor->buffer);
  }
  return BURN_OK;
}

static BurnStatus release_constant(void *context, const char *path, BurnConstant *constant) {
  (void)context;
  (void)path;
  burn_drop(constant->value);
  return BURN_OK;
}

static void release_list(void *context, BurnModuleList *list) {
  (void)context;
  free(list->data);
  list->data = NULL;
}

void burn_module_release(BurnModule module) {
  if (!module.type || !module.data) return;
  const BurnModuleWalk walk = {
      .ends = true, .tensor = release_tensor, .constant = release_constant, .list_end = release_list};
  (void)burn__module_walk(module, &walk);
  memset(module.data, 0, module.type->bytes);
}
