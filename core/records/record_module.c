/* record_module.c - modules as trees, in Burn's layout, and back.
 *
 * A module is a map from field name to record with every field present; a parameter or buffer is {id, param: tensor};
 * a variant {"Case": record}; what is absent, constants, and whole modules without a place for tensors (Dropout, Relu)
 * are nil; constant arrays are arrays of nils. Loading makes all new tensors first and swaps them in when nothing can
 * fail any more. */
#include "module_internal.h"
#include "record_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- paths ------------------------------------------------------------------------------------ */

/* A step into the module, linked upwards; becomes text only in a failure. */
typedef struct Step {
  const struct Step *parent; /* NULL: the module itself */
  const char *name;
} Step;

static void step_text(const Step *step, char *text, size_t bytes) {
  if (!step->parent) {
    text[0] = '\0';
    return;
  }
  step_text(step->parent, text, bytes);
  size_t length = strlen(text);
  (void)snprintf(text + length, bytes - length, "%s%.200s", length ? "." : "", step->name);
}

/* "fc1.weight: " before the message of a status. */
static BurnStatus at_step(const Step *step, BurnStatus status) {
  char path[320];
  step_text(step, path, sizeof path);
  return status == BURN_OK || !path[0] ? status : burn_status_annotate(status, "%s", path);
}

static BurnStatus fail_at(const Step *step, uint32_t code, const char *format, ...) BURN_PRINTF(3, 4);

static BurnStatus fail_at(const Step *step, uint32_t code, const char *format, ...) {
  char message[480];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return at_step(step, burn_status_make(code, "%s", message));
}

/* -- module to tree --------------------------------------------------------------------------- */

static BurnStatus fields_to_value(const Step *step, const BurnType *type, char *data, BurnValue **out);

static uint64_t tensor_id(const BurnModuleTensor *tensor) {
  return tensor->param ? tensor->param->id : burn__buffer_id(tensor->buffer);
}

/* {id, param: tensor}; absent is nil. */
static BurnStatus tensor_to_value(const Step *step, const BurnModuleTensor *from, BurnValue **out) {
  BurnValue *tensor = NULL;
  char text[14];
  BurnStatus status = burn__record_tensor_value(from, &tensor);
  if (status != BURN_OK) return at_step(step, status);
  if (!tensor) {
    *out = burn_value_nil();
    return BURN_OK;
  }
  burn_param_id_text(tensor_id(from), text);
  *out = burn_value_map();
  (void)burn_value_set(*out, "id", burn_value_text(text));
  (void)burn_value_set(*out, "param", tensor);
  return BURN_OK;
}

/* The same, with the scale of a quantized input and the factors of an adapter. */
static BurnStatus param_to_value(const Step *step, BurnParam *param, BurnValue **out) {
  BurnValue *input_scale = NULL, *a = NULL, *b = NULL;
  BurnStatus status = tensor_to_value(step, &(BurnModuleTensor){.param = param}, out);
  if (status == BURN_OK) status = at_step(step, burn__record_input_scale(param, &input_scale));
  if (input_scale) (void)burn_value_set(*out, "input_scale", input_scale);
  if (status != BURN_OK || !burn__param_is_adapted(param)) return status;
  status = tensor_to_value(step, &(BurnModuleTensor){.param = &param->extra->a}, &a);
  if (status == BURN_OK) status = tensor_to_value(step, &(BurnModuleTensor){.param = &param->extra->b}, &b);
  BurnValue *lora = burn_value_map();
  (void)burn_value_set(lora, "a", a);
  (void)burn_value_set(lora, "b", b);
  (void)burn_value_set(lora, "scale", burn_value_nil()); /* a constant, as in Burn */
  (void)burn_value_set(*out, "lora", lora);
  return status;
}

static BurnStatus list_to_value(const Step *step, const BurnModuleList *list, BurnValue **out) {
  size_t count = list->data ? list->count : 0;
  BurnStatus status = BURN_OK;
  BurnValue *array = burn_value_array();
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    char name[24];
    BurnValue *item = NULL;
    (void)snprintf(name, sizeof name, "%zu", i);
    const Step here = {step, name};
    status = fields_to_value(&here, list->type, burn_module_list_at(list, i), &item);
    if (status == BURN_OK) {
      (void)burn_value_append(array, item);
    } else {
      burn_value_destroy(item);
    }
  }
  *out = array;
  return status;
}

static BurnStatus option_to_value(const Step *step, const BurnModuleOption *option, BurnValue **out) {
  if (option->data) return fields_to_value(step, option->type, option->data, out);
  *out = burn_value_nil();
  return BURN_OK;
}

/* {"Case": record}, of a case without tensors {"Case": nil}. */
static BurnStatus variant_to_value(const Step *step, const BurnType *type, char *data, BurnValue **out) {
  const BurnField *chosen = burn__module_case(type, data);
  if (!chosen) return fail_at(step, BURN_STATUS_INVALID_ARGUMENT, "no case of %s", type->name);
  const Step here = {step, chosen->name};
  BurnValue *value = NULL;
  BurnStatus status = fields_to_value(&here, chosen->type(), data + chosen->offset, &value);
  *out = burn_value_map();
  (void)burn_value_set(*out, chosen->name, value);
  return status;
}

static BurnValue *constant_to_value(const BurnType *type) {
  if (type->kind != BURN_TYPE_SIZES) return burn_value_nil();
  BurnValue *array = burn_value_array();
  for (uint32_t i = 0; i < type->count; i++) (void)burn_value_append(array, burn_value_nil());
  return array;
}

static BurnStatus field_to_value(const Step *step, const BurnType *type, void *member, BurnValue **out) {
  switch (type->kind) {
    case BURN_TYPE_PARAM:
      return param_to_value(step, member, out);
    case BURN_TYPE_BUFFER:
      return tensor_to_value(step, &(BurnModuleTensor){.buffer = member}, out);
    case BURN_TYPE_MODULE_OPTION:
      return option_to_value(step, member, out);
    case BURN_TYPE_MODULE:
    case BURN_TYPE_MODULE_VARIANT:
      return fields_to_value(step, type, member, out);
    case BURN_TYPE_MODULE_LIST:
      return list_to_value(step, member, out);
    default:
      *out = constant_to_value(type);
      return BURN_OK;
  }
}

/* On failure *out holds what there is so far. */
static BurnStatus fields_to_value(const Step *step, const BurnType *type, char *data, BurnValue **out) {
  if (type->kind == BURN_TYPE_MODULE_VARIANT) return variant_to_value(step, type, data, out);
  BurnStatus status = BURN_OK;
  bool has_tensors = burn__type_has_tensors(type);
  *out = has_tensors ? burn_value_map() : burn_value_nil();
  for (uint32_t i = 0; has_tensors && i < type->field_count && status == BURN_OK; i++) {
    const BurnField *field = &type->fields[i];
    const Step here = {step, field->name};
    BurnValue *value = NULL;
    status = field_to_value(&here, field->type(), data + field->offset, &value);
    if (status == BURN_OK) {
      (void)burn_value_set(*out, field->name, value);
    } else {
      burn_value_destroy(value);
    }
  }
  return status;
}

BurnStatus burn__module_to_value(BurnModule module, BurnValue **out) {
  const Step root = {NULL, NULL};
  BurnValue *value = NULL;
  BurnStatus status = fields_to_value(&root, module.type, module.data, &value);
  if (status == BURN_OK && !value) status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the record");
  if (status != BURN_OK) {
    burn_value_destroy(value);
    return status;
  }
  *out = value;
  return BURN_OK;
}

BurnValue *burn_value_module(BurnModule module) {
  BurnValue *value = NULL;
  return burn__module_to_value(module, &value) == BURN_OK ? value : NULL;
}

/* -- tree to module --------------------------------------------------------------------------- */

/* A tensor that waits for all others to be fine. */
typedef struct Pending {
  BurnParam *param;
  BurnBuffer *buffer; /* when param is NULL */
  uint64_t id;
  const BurnValue *input_scale; /* of a parameter in the file; NULL: none */
  BurnRecordParam made;         /* of a buffer, the value is in the place of quantized ones */
} Pending;

typedef struct Loader {
  Pending *pending;
  size_t count, capacity;
  bool ids_optional; /* a tensor alone stands for a parameter, which keeps its id */
} Loader;

static BurnStatus load_fields(Loader *loader, const Step *step, const BurnType *type, char *data,
                              const BurnValue *record);

static const char *kind_name(const BurnValue *value) {
  static const char *const names[] = {"nil",    "a bool",   "an integer", "a number",
                                      "a text", "an array", "a map",      "a tensor"};
  uint32_t kind = burn_value_kind(value);
  return !value ? "nothing" : kind < sizeof names / sizeof names[0] ? names[kind] : "?";
}

static bool contains_tensor(const BurnValue *value) {
  if (burn_value_kind(value) == BURN_VALUE_TENSOR) return true;
  for (size_t i = 0; i < burn_value_count(value); i++) {
    if (contains_tensor(burn_value_at(value, i))) return true;
  }
  return false;
}

/* Takes item.made. */
static BurnStatus loader_push(Loader *loader, Pending item) {
  if (loader->count == loader->capacity) {
    size_t capacity = loader->capacity ? loader->capacity * 2 : 16;
    Pending *pending = realloc(loader->pending, capacity * sizeof *pending);
    if (!pending) {
      burn__record_param_drop(&item.made);
      return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu tensors", capacity);
    }
    loader->pending = pending;
    loader->capacity = capacity;
  }
  loader->pending[loader->count++] = item;
  return BURN_OK;
}

static bool same_shape(const BurnShape *a, const BurnShape *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof a->dims[0]) == 0;
}

/* Checks {id, param} against the module's tensor and makes the new one. */
static BurnStatus load_present(Loader *loader, const Step *step, const BurnTensor *current, Pending item,
                               const BurnValue *record) {
  const bool is_bare = loader->ids_optional && burn_value_kind(record) == BURN_VALUE_TENSOR;
  const BurnValue *value = is_bare ? record : burn_value_get(record, "param");
  const char *id = burn_value_as_text(burn_value_get(record, "id"), NULL);
  if (burn_value_kind(value) != BURN_VALUE_TENSOR || (!id && !is_bare)) {
    return fail_at(step, BURN_STATUS_CORRUPT_DATA, "a parameter with id and tensor expected, found %s",
                   kind_name(record));
  }
  if (id && !burn__param_id_parse(id, &item.id))
    return fail_at(step, BURN_STATUS_CORRUPT_DATA, "\"%.40s\" is no parameter id", id);
  BurnStatus status = burn_tensor_status(current);
  if (status != BURN_OK) return at_step(step, status);
  BurnShape wanted = burn_shape(current), found = value->as.tensor->shape;
  if (!same_shape(&wanted, &found)) {
    return fail_at(step, BURN_STATUS_INVALID_SHAPE, "shape %s expected, file has %s", burn_shape_text(wanted).text,
                   burn_shape_text(found).text);
  }
  status = item.param ? burn__record_make_param(item.param, value->as.tensor, item.input_scale, &item.made)
                      : burn__record_make_like(current, burn_dtype(current), value->as.tensor, &item.made.quant.values);
  return at_step(step, status == BURN_OK ? loader_push(loader, item) : status);
}

/* item.param or item.buffer says where, item.id what its id is. */
static BurnStatus load_tensor(Loader *loader, const Step *step, Pending item, const BurnValue *record) {
  BurnTensor *current = burn__stored(&(BurnModuleTensor){.param = item.param, .buffer = item.buffer});
  bool in_file = burn_value_kind(record) != BURN_VALUE_NIL;
  BurnStatus status = BURN_OK;
  if (current && in_file) {
    status = load_present(loader, step, current, item, record);
  } else if (current) {
    status = fail_at(step, BURN_STATUS_NOT_FOUND, "in the module, not in the file");
  } else if (in_file) {
    status = fail_at(step, BURN_STATUS_INVALID_ARGUMENT, "in the file, not in the module");
  }
  burn_drop(current);
  return status;
}

/* Constants are not read: whatever stands there must only not be weights. */
static BurnStatus refuse_tensors(const Step *step, const BurnValue *record) {
  if (!contains_tensor(record)) return BURN_OK;
  return fail_at(step, BURN_STATUS_INVALID_ARGUMENT, "weights in the file, none in the module");
}

/* A parameter and the factors of its adapter: both or none must have one. */
static BurnStatus load_param(Loader *loader, const Step *step, BurnParam *param, const BurnValue *record) {
  const BurnValue *lora = burn_value_get(record, "lora");
  const Step inner = {step, "lora"}, a = {&inner, "a"}, b = {&inner, "b"};
  const Pending item = {.param = param, .input_scale = burn_value_get(record, "input_scale")};
  BurnStatus status = load_tensor(loader, step, item, record);
  if (status != BURN_OK) return status;
  if (!burn__param_is_adapted(param)) return refuse_tensors(&inner, lora);
  status = load_tensor(loader, &a, (Pending){.param = &param->extra->a}, burn_value_get(lora, "a"));
  return status == BURN_OK ? load_tensor(loader, &b, (Pending){.param = &param->extra->b}, burn_value_get(lora, "b"))
                           : status;
}

static BurnStatus load_list(Loader *loader, const Step *step, const BurnModuleList *list, const BurnValue *record) {
  size_t count = list->data ? list->count : 0;
  BurnStatus status = BURN_OK;
  if (burn_value_kind(record) != BURN_VALUE_ARRAY) {
    return fail_at(step, BURN_STATUS_CORRUPT_DATA, "%zu modules expected, file has %s", count, kind_name(record));
  }
  if (burn_value_count(record) != count) {
    return fail_at(step, BURN_STATUS_INVALID_ARGUMENT, "%zu modules expected, file has %zu", count,
                   burn_value_count(record));
  }
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    char name[24];
    (void)snprintf(name, sizeof name, "%zu", i);
    const Step here = {step, name};
    status = load_fields(loader, &here, list->type, burn_module_list_at(list, i), burn_value_at(record, i));
  }
  return status;
}

static BurnStatus load_option(Loader *loader, const Step *step, const BurnModuleOption *option,
                              const BurnValue *record) {
  return option->data ? load_fields(loader, step, option->type, option->data, record) : refuse_tensors(step, record);
}

/* The file must have the case that the module is. A case without tensors is no more than a constant: it may be nil, or
 * missing, as in files of before the row was a variant. */
static BurnStatus load_variant(Loader *loader, const Step *step, const BurnType *type, char *data,
                               const BurnValue *record) {
  const BurnField *chosen = burn__module_case(type, data);
  if (!chosen) return fail_at(step, BURN_STATUS_INVALID_ARGUMENT, "no case of %s", type->name);
  if (burn_value_kind(record) == BURN_VALUE_NIL && !burn__type_has_tensors(chosen->type())) return BURN_OK;
  if (burn_value_kind(record) != BURN_VALUE_MAP || burn_value_count(record) != 1) {
    return fail_at(step, BURN_STATUS_CORRUPT_DATA, "one case of %s expected, file has %s with %zu entries", type->name,
                   kind_name(record), burn_value_count(record));
  }
  const char *found = burn_value_key_at(record, 0);
  if (strcmp(found, chosen->name) != 0) {
    return fail_at(step, BURN_STATUS_INVALID_ARGUMENT, "the module is %s, the file has %.40s", chosen->name, found);
  }
  const Step here = {step, chosen->name};
  return load_fields(loader, &here, chosen->type(), data + chosen->offset, burn_value_at(record, 0));
}

static BurnStatus load_field(Loader *loader, const Step *step, const BurnType *type, void *member,
                             const BurnValue *record) {
  switch (type->kind) {
    case BURN_TYPE_PARAM:
      return load_param(loader, step, member, record);
    case BURN_TYPE_BUFFER:
      return load_tensor(loader, step, (Pending){.buffer = member}, record);
    case BURN_TYPE_MODULE_OPTION:
      return load_option(loader, step, member, record);
    case BURN_TYPE_MODULE:
    case BURN_TYPE_MODULE_VARIANT:
      return load_fields(loader, step, type, member, record);
    case BURN_TYPE_MODULE_LIST:
      return load_list(loader, step, member, record);
    default:
      return refuse_tensors(step, record);
  }
}

/* Keys that are no field may stand in the file, as in Burn, unless they hold weights. */
static BurnStatus check_extra(const Step *step, const BurnType *type, const BurnValue *record) {
  for (size_t i = 0; i < burn_value_count(record); i++) {
    const Step here = {step, burn_value_key_at(record, i)};
    uint32_t field = 0;
    while (field < type->field_count && strcmp(type->fields[field].name, here.name) != 0) field++;
    BurnStatus status = field == type->field_count ? refuse_tensors(&here, burn_value_at(record, i)) : BURN_OK;
    if (status != BURN_OK) return status;
  }
  return BURN_OK;
}

static BurnStatus load_fields(Loader *loader, const Step *step, const BurnType *type, char *data,
                              const BurnValue *record) {
  if (type->kind == BURN_TYPE_MODULE_VARIANT) return load_variant(loader, step, type, data, record);
  if (!burn__type_has_tensors(type)) return refuse_tensors(step, record);
  if (burn_value_kind(record) != BURN_VALUE_MAP) {
    return fail_at(step, BURN_STATUS_NOT_FOUND, "fields of %s expected, file has %s", type->name, kind_name(record));
  }
  BurnStatus status = check_extra(step, type, record);
  for (uint32_t i = 0; i < type->field_count && status == BURN_OK; i++) {
    const BurnField *field = &type->fields[i];
    const Step here = {step, field->name};
    status = load_field(loader, &here, field->type(), data + field->offset, burn_value_get(record, field->name));
  }
  return status;
}

/* Swaps the tensors in, or drops them. */
static void loader_finish(Loader *loader, bool commit) {
  for (size_t i = 0; i < loader->count; i++) {
    Pending *item = &loader->pending[i];
    if (!commit) {
      burn__record_param_drop(&item->made);
    } else if (item->param) {
      burn__record_set_param(item->param, &item->made);
      item->param->id = item->id;
    } else {
      burn_buffer_set(item->buffer, item->made.quant.values);
      burn__buffer_set_id(item->buffer, item->id);
    }
  }
  free(loader->pending);
}

/* -- one id, one tensor ----------------------------------------------------------------------- */

/* Number `index` of the tensors that a visit meets has this id. */
typedef struct IdPlace {
  uint64_t id;
  size_t index;
} IdPlace;

static int compare_ids(const void *a, const void *b) {
  const IdPlace *first = a, *second = b;
  if (first->id != second->id) return first->id < second->id ? -1 : 1;
  return first->index < second->index ? -1 : 1;
}

typedef struct TwinPaths {
  size_t wanted[2], at;
  char paths[2][160];
} TwinPaths;

static BurnStatus note_path(void *context, const BurnModuleTensor *tensor) {
  TwinPaths *twins = context;
  for (int i = 0; i < 2; i++) {
    if (twins->wanted[i] == twins->at) (void)snprintf(twins->paths[i], sizeof twins->paths[i], "%s", tensor->path);
  }
  twins->at++;
  return BURN_OK;
}

/* Refuses two tensors with one id, which would share a gradient and the state of the optimizer. The loader holds the
 * ids in the order of a visit. */
static BurnStatus refuse_twins(BurnModule module, const Loader *loader, uint32_t code) {
  IdPlace *places = malloc((loader->count ? loader->count : 1) * sizeof *places);
  if (!places) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu ids", loader->count);
  for (size_t i = 0; i < loader->count; i++) places[i] = (IdPlace){loader->pending[i].id, i};
  qsort(places, loader->count, sizeof *places, compare_ids);
  BurnStatus status = BURN_OK;
  for (size_t i = 1; i < loader->count && status == BURN_OK; i++) {
    if (places[i - 1].id != places[i].id) continue;
    TwinPaths twins = {{places[i - 1].index, places[i].index}, 0, {"", ""}};
    char id[14];
    burn_param_id_text(places[i].id, id);
    status = burn_module_visit(module, note_path, &twins);
    if (status != BURN_OK) break;
    status = burn_status_make(code, "%s and %s have the same id, %s; an id belongs to one tensor", twins.paths[0],
                              twins.paths[1], id);
  }
  free(places);
  return status;
}

/* The last step of loading: all of it, or nothing. */
static BurnStatus swap_in(Loader *loader, BurnModule module, BurnStatus status) {
  if (status == BURN_OK) status = refuse_twins(module, loader, BURN_STATUS_CORRUPT_DATA);
  loader_finish(loader, status == BURN_OK);
  if (status == BURN_OK) burn__module_name_params(module);
  return status;
}

BurnStatus burn_value_into_module(const BurnValue *value, BurnModule module) {
  const Step root = {NULL, NULL};
  Loader loader = {.pending = NULL};
  if (!value) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "no record value");
  BurnStatus status = load_fields(&loader, &root, module.type, module.data, value);
  return swap_in(&loader, module, status);
}

/* -- flat: a map from path to tensor ---------------------------------------------------------- */

static BurnStatus add_flat(void *flat, const BurnModuleTensor *tensor) {
  const Step root = {NULL, NULL}, step = {&root, tensor->path};
  BurnValue *value = NULL, *input_scale = NULL;
  BurnStatus status = tensor_to_value(&step, tensor, &value);
  if (status == BURN_OK) (void)burn__value_push(flat, strdup(tensor->path), value);
  if (status == BURN_OK && tensor->param)
    status = at_step(&step, burn__record_input_scale(tensor->param, &input_scale));
  if (input_scale) (void)burn__value_push(flat, burn__record_input_scale_name(tensor->path), input_scale);
  return status;
}

BurnStatus burn__module_to_flat(BurnModule module, BurnValue **out) {
  BurnValue *flat = burn_value_map();
  if (!flat) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the record");
  BurnStatus status = burn_module_visit(module, add_flat, flat);
  if (status != BURN_OK) {
    burn_value_destroy(flat);
    return status;
  }
  *out = flat;
  return BURN_OK;
}

/* An entry of the file, found by name. */
typedef struct Named {
  const char *name;
  const BurnValue *value;
  bool used;
} Named;

typedef struct FlatLoader {
  Loader loader;
  Named *entries; /* sorted by name */
  size_t count;
} FlatLoader;

static int compare_named(const void *a, const void *b) {
  const Named *first = a, *second = b;
  return strcmp(first->name, second->name);
}

static const BurnValue *find_named(const FlatLoader *flat, const char *name) {
  const Named wanted = {.name = name};
  Named *found = flat->count ? bsearch(&wanted, flat->entries, flat->count, sizeof wanted, compare_named) : NULL;
  if (found) found->used = true;
  return found ? found->value : NULL;
}

static BurnStatus load_flat(void *context, const BurnModuleTensor *tensor) {
  FlatLoader *flat = context;
  const Step root = {NULL, NULL}, step = {&root, tensor->path};
  char *input_scale = burn__record_input_scale_name(tensor->path);
  if (!input_scale) return fail_at(&step, BURN_STATUS_OUT_OF_MEMORY, "no memory for a name");
  const Pending item = {.param = tensor->param,
                        .buffer = tensor->buffer,
                        .id = tensor_id(tensor),
                        .input_scale = tensor->param ? find_named(flat, input_scale) : NULL};
  free(input_scale);
  return load_tensor(&flat->loader, &step, item, find_named(flat, tensor->path));
}

static BurnStatus refuse_unused(const FlatLoader *flat) {
  for (size_t i = 0; i < flat->count; i++) {
    if (flat->entries[i].used) continue;
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%.200s: in the file, not in the module",
                            flat->entries[i].name);
  }
  return BURN_OK;
}

BurnStatus burn__flat_into_module(const BurnValue *value, BurnModule module) {
  FlatLoader flat = {.loader.ids_optional = true, .count = burn_value_count(value)};
  flat.entries = calloc(flat.count ? flat.count : 1, sizeof *flat.entries);
  if (!flat.entries) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu names", flat.count);
  for (size_t i = 0; i < flat.count; i++)
    flat.entries[i] = (Named){burn_value_key_at(value, i), burn_value_at(value, i), false};
  qsort(flat.entries, flat.count, sizeof *flat.entries, compare_named);
  BurnStatus status = burn_module_visit(module, load_flat, &flat);
  if (status == BURN_OK) status = refuse_unused(&flat);
  free(flat.entries);
  return swap_in(&flat.loader, module, status);
}

/* -- files ------------------------------------------------------------------------------------ */

static BurnStatus note_id(void *context, const BurnModuleTensor *tensor) {
  return loader_push(context, (Pending){.id = tensor_id(tensor)});
}

/* What would be refused when it is read is not written. */
static BurnStatus check_ids(BurnModule module) {
  Loader loader = {.pending = NULL};
  BurnStatus status = burn_module_visit(module, note_id, &loader);
  if (status == BURN_OK) status = refuse_twins(module, &loader, BURN_STATUS_INVALID_ARGUMENT);
  loader_finish(&loader, false);
  return status;
}

/* The module as a format has it. */
static BurnStatus to_item(BurnModule module, uint32_t format, BurnValue **out) {
  BurnStatus status = check_ids(module);
  if (status != BURN_OK) return status;
  return format == BURN_RECORD_BPK ? burn__module_to_flat(module, out) : burn__module_to_value(module, out);
}

static BurnStatus from_item(const BurnValue *item, uint32_t format, BurnModule module) {
  return format == BURN_RECORD_BPK ? burn__flat_into_module(item, module) : burn_value_into_module(item, module);
}

BurnStatus burn_record_save(BurnModule module, const char *path, const BurnRecordConfig *config) {
  BurnRecordConfig chosen = {0, 0};
  BurnValue *item = NULL;
  BurnStatus status = burn__record_config(config, &chosen);
  if (status == BURN_OK) status = to_item(module, chosen.format, &item);
  if (status != BURN_OK) return burn_status_annotate(status, "save %s", path);
  status = burn_value_write(item, path, &chosen);
  burn_value_destroy(item);
  return status;
}

BurnStatus burn_record_load(BurnModule module, const char *path, const BurnRecordConfig *config) {
  BurnRecordConfig chosen = {0, 0};
  BurnValue *item = NULL;
  char *full_path = NULL;
  BurnStatus status = burn__record_config(config, &chosen);
  if (status != BURN_OK) return burn_status_annotate(status, "load %s", path);
  status = burn_value_read(path, &chosen, &item);
  if (status != BURN_OK) return status;
  status = from_item(item, chosen.format, module);
  burn_value_destroy(item);
  if (status == BURN_OK) return BURN_OK;
  (void)burn__record_path(path, chosen.format, &full_path);
  status = burn_status_annotate(status, "load %s", full_path ? full_path : path);
  free(full_path);
  return status;
}

BurnStatus burn_record_to_bytes(BurnModule module, const BurnRecordConfig *config, uint8_t **bytes, size_t *count) {
  BurnRecordConfig chosen = {0, 0};
  BurnValue *item = NULL;
  BurnStatus status = burn__record_config(config, &chosen);
  if (status == BURN_OK) status = to_item(module, chosen.format, &item);
  if (status == BURN_OK) status = burn__record_encode(item, &chosen, bytes, count);
  burn_value_destroy(item);
  return burn_status_annotate(status, "save to bytes");
}

BurnStatus burn_record_from_bytes(BurnModule module, const void *bytes, size_t count, const BurnRecordConfig *config) {
  BurnRecordConfig chosen = {0, 0};
  BurnRecordParts parts = {NULL, NULL};
  BurnStatus status = burn__record_config(config, &chosen);
  if (status == BURN_OK) status = burn__record_decode(bytes, count, chosen.format, &parts);
  if (status == BURN_OK) status = from_item(parts.item, chosen.format, module);
  burn__record_parts_release(&parts);
  return burn_status_annotate(status, "load from bytes");
}
