/* record_load.c - trees into modules. All new tensors are made first, and swapped in when nothing can fail any more. */
#include "module_internal.h"
#include "record_load.h"

#include <burn/guess.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- tree to module --------------------------------------------------------------------------- */

static BurnStatus load_fields(BurnRecordLoader *loader, const BurnRecordStep *step, const BurnType *type, char *data,
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

BurnStatus burn__record_push(BurnRecordLoader *loader, BurnRecordPending item) {
  if (loader->count == loader->capacity) {
    size_t capacity = loader->capacity ? loader->capacity * 2 : 16;
    BurnRecordPending *pending = realloc(loader->pending, capacity * sizeof *pending);
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

/* The shape in a record: of a transposed parameter with its last two axes swapped. */
static BurnShape stored_shape(BurnShape shape, bool transposed) {
  if (!transposed || shape.rank < 2) return shape;
  const int64_t last = shape.dims[shape.rank - 1];
  shape.dims[shape.rank - 1] = shape.dims[shape.rank - 2];
  shape.dims[shape.rank - 2] = last;
  return shape;
}

static bool same_shape(const BurnShape *a, const BurnShape *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof a->dims[0]) == 0;
}

/* Of what a parameter is quantized from, or of the tensor. */
static BurnDType place_dtype(const BurnRecordPending *item, const BurnTensor *current) {
  return item->param && burn__param_is_quantized(item->param) ? item->param->extra->dtype : burn_dtype(current);
}

/* Any float may stand for any other, quantized ones too, and any integer for any other. */
static BurnStatus check_kind(BurnDType place, const BurnHostTensor *host) {
  if (host->is_quantized && burn_dtype_kind(place) != BURN_KIND_FLOAT) {
    return burn_status_make(BURN_STATUS_INVALID_DTYPE, "quantized in the file, %s in the module",
                            burn_dtype_name(place));
  }
  if (host->is_quantized || burn_dtype_kind(host->dtype) == burn_dtype_kind(place)) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_DTYPE, "dtype %s expected, found %s", burn_dtype_name(place),
                          burn_dtype_name(host->dtype));
}

BurnStatus burn__record_load_present(BurnRecordLoader *loader, const BurnRecordStep *step, const BurnTensor *current,
                                     BurnRecordPending item, const BurnValue *record) {
  const bool is_bare = loader->ids_optional && burn_value_kind(record) == BURN_VALUE_TENSOR;
  const BurnValue *value = is_bare ? record : burn_value_get(record, "param");
  const char *id = burn_value_as_text(burn_value_get(record, "id"), NULL);
  if (burn_value_kind(value) != BURN_VALUE_TENSOR || (!id && !is_bare)) {
    return burn__record_fail_at(step, BURN_STATUS_CORRUPT_DATA, "a parameter with id and tensor expected, found %s",
                                kind_name(record));
  }
  if (id && !burn__param_id_parse(id, &item.id))
    return burn__record_fail_at(step, BURN_STATUS_CORRUPT_DATA, "\"%.40s\" is not a parameter id", id);
  BurnStatus status = burn_tensor_status(current);
  if (status != BURN_OK) return burn__record_at(step, status);
  const bool transposed = item.param && item.param->transposed;
  const BurnHostTensor *host = value->as.tensor;
  BurnShape wanted = stored_shape(burn_shape(current), transposed), found = host->shape;
  if (!same_shape(&wanted, &found)) {
    return burn__record_fail_at(step, BURN_STATUS_INVALID_SHAPE, "shape %s expected, file has %s",
                                burn_shape_text(wanted).text, burn_shape_text(found).text);
  }
  const BurnDType place = place_dtype(&item, current);
  const BurnDType dtype = loader->adopts_dtypes && !host->is_quantized ? host->dtype : place;
  status = check_kind(place, host);
  if (status == BURN_OK && item.param)
    status = burn__record_make_param(item.param, dtype, host, item.input_scale, &item.made);
  if (status == BURN_OK && !item.param)
    status = burn__record_make_like(current, dtype, host, false, &item.made.quant.values);
  return burn__record_at(step, status == BURN_OK ? burn__record_push(loader, item) : status);
}

/* item.param or item.buffer says where, item.id what its id is. */
static BurnStatus load_tensor(BurnRecordLoader *loader, const BurnRecordStep *step, BurnRecordPending item,
                              const BurnValue *record) {
  BurnTensor *current = burn__stored(&(BurnModuleTensor){.param = item.param, .buffer = item.buffer});
  bool in_file = burn_value_kind(record) != BURN_VALUE_NIL;
  BurnStatus status = BURN_OK;
  if (current && in_file) {
    status = burn__record_load_present(loader, step, current, item, record);
  } else if (current) {
    status = burn__record_fail_at(step, BURN_STATUS_NOT_FOUND, "in the module, not in the file");
  } else if (in_file) {
    status = burn__record_fail_at(step, BURN_STATUS_INVALID_ARGUMENT, "in the file, not in the module");
  }
  burn_drop(current);
  return status;
}

/* Constants are not read: whatever stands there must only not be weights. */
static BurnStatus refuse_tensors(const BurnRecordStep *step, const BurnValue *record) {
  if (!contains_tensor(record)) return BURN_OK;
  return burn__record_fail_at(step, BURN_STATUS_INVALID_ARGUMENT, "weights in the file, none in the module");
}

/* A parameter and the factors of its adapter: both or none must have one. */
static BurnStatus load_param(BurnRecordLoader *loader, const BurnRecordStep *step, BurnParam *param,
                             const BurnValue *record) {
  const BurnValue *lora = burn_value_get(record, "lora");
  const BurnRecordStep inner = {step, "lora"}, a = {&inner, "a"}, b = {&inner, "b"};
  const BurnRecordPending item = {.param = param, .input_scale = burn_value_get(record, "input_scale")};
  BurnStatus status = load_tensor(loader, step, item, record);
  if (status != BURN_OK) return status;
  if (!burn__param_is_adapted(param)) return refuse_tensors(&inner, lora);
  status = load_tensor(loader, &a, (BurnRecordPending){.param = &param->extra->a}, burn_value_get(lora, "a"));
  if (status != BURN_OK) return status;
  return load_tensor(loader, &b, (BurnRecordPending){.param = &param->extra->b}, burn_value_get(lora, "b"));
}

static BurnStatus load_list(BurnRecordLoader *loader, const BurnRecordStep *step, const BurnModuleList *list,
                            const BurnValue *record) {
  const size_t count = list->count;
  BurnStatus status = BURN_OK;
  if (burn_value_kind(record) != BURN_VALUE_ARRAY) {
    return burn__record_fail_at(step, BURN_STATUS_CORRUPT_DATA, "%zu modules expected, file has %s", count,
                                kind_name(record));
  }
  if (burn_value_count(record) != count) {
    return burn__record_fail_at(step, BURN_STATUS_INVALID_ARGUMENT, "%zu modules expected, file has %zu", count,
                                burn_value_count(record));
  }
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    char name[24];
    (void)snprintf(name, sizeof name, "%zu", i);
    const BurnRecordStep here = {step, name};
    status = load_fields(loader, &here, list->type, burn_module_list_at(list, i), burn_value_at(record, i));
  }
  return status;
}

static BurnStatus load_option(BurnRecordLoader *loader, const BurnRecordStep *step, const BurnModuleOption *option,
                              const BurnValue *record) {
  return option->data ? load_fields(loader, step, option->type, option->data, record) : refuse_tensors(step, record);
}

/* The file must have the case that the module is. A case without tensors is no more than a constant: it may be nil, or
 * missing, as in files from before the row was a variant. */
static BurnStatus load_variant(BurnRecordLoader *loader, const BurnRecordStep *step, const BurnType *type, char *data,
                               const BurnValue *record) {
  const BurnField *chosen = burn__module_case(type, data);
  if (!chosen) return burn__record_fail_at(step, BURN_STATUS_INVALID_ARGUMENT, "no case of %s", type->name);
  if (burn_value_kind(record) == BURN_VALUE_NIL && !burn__type_has_tensors(chosen->type())) return BURN_OK;
  if (burn_value_kind(record) != BURN_VALUE_MAP || burn_value_count(record) != 1) {
    return burn__record_fail_at(step, BURN_STATUS_CORRUPT_DATA, "one case of %s expected, file has %s with %zu entries",
                                type->name, kind_name(record), burn_value_count(record));
  }
  const char *found = burn_value_key_at(record, 0);
  if (strcmp(found, chosen->name) != 0) {
    return burn__record_fail_at(step, BURN_STATUS_INVALID_ARGUMENT, "the module is %s, the file has %.40s",
                                chosen->name, found);
  }
  const BurnRecordStep here = {step, chosen->name};
  return load_fields(loader, &here, chosen->type(), data + chosen->offset, burn_value_at(record, 0));
}

static BurnStatus load_field(BurnRecordLoader *loader, const BurnRecordStep *step, const BurnType *type, void *member,
                             const BurnValue *record) {
  switch (type->kind) {
    case BURN_TYPE_PARAM:
      return load_param(loader, step, member, record);
    case BURN_TYPE_BUFFER:
      return load_tensor(loader, step, (BurnRecordPending){.buffer = member}, record);
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

/* Keys that are not a field may stand in the file, as in Burn, unless they hold weights. */
static BurnStatus check_extra(const BurnRecordStep *step, const BurnType *type, const BurnValue *record) {
  for (size_t i = 0; i < burn_value_count(record); i++) {
    const BurnRecordStep here = {step, burn_value_key_at(record, i)};
    BurnGuess guess = burn_guess(here.name);
    uint32_t field = 0;
    for (; field < type->field_count && strcmp(type->fields[field].name, here.name) != 0; field++)
      burn_guess_add(&guess, type->fields[field].name);
    if (field < type->field_count || !contains_tensor(burn_value_at(record, i))) continue;
    return burn__record_fail_at(&here, BURN_STATUS_INVALID_ARGUMENT, "weights in the file, none in the module%s%s",
                                guess.best ? "." : "", burn_guess_text(&guess));
  }
  return BURN_OK;
}

static BurnStatus load_fields(BurnRecordLoader *loader, const BurnRecordStep *step, const BurnType *type, char *data,
                              const BurnValue *record) {
  if (type->kind == BURN_TYPE_MODULE_VARIANT) return load_variant(loader, step, type, data, record);
  if (!burn__type_has_tensors(type)) return refuse_tensors(step, record);
  if (burn_value_kind(record) != BURN_VALUE_MAP) {
    const bool is_absent = burn_value_kind(record) == BURN_VALUE_NIL;
    return burn__record_fail_at(step, is_absent ? BURN_STATUS_NOT_FOUND : BURN_STATUS_CORRUPT_DATA,
                                "fields of %s expected, file has %s", type->name, kind_name(record));
  }
  BurnStatus status = check_extra(step, type, record);
  for (uint32_t i = 0; i < type->field_count && status == BURN_OK; i++) {
    const BurnField *field = &type->fields[i];
    const BurnRecordStep here = {step, field->name};
    status = load_field(loader, &here, field->type(), data + field->offset, burn_value_get(record, field->name));
  }
  return status;
}

/* Swaps the tensors in, or drops them. */
static void loader_finish(BurnRecordLoader *loader, bool commit) {
  for (size_t i = 0; i < loader->count; i++) {
    BurnRecordPending *item = &loader->pending[i];
    if (!commit || !item->made.quant.values) {
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
static BurnStatus refuse_twins(BurnModule module, const BurnRecordLoader *loader, uint32_t code) {
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

BurnStatus burn__record_swap_in(BurnRecordLoader *loader, BurnModule module, BurnStatus status) {
  if (status == BURN_OK) status = refuse_twins(module, loader, BURN_STATUS_CORRUPT_DATA);
  loader_finish(loader, status == BURN_OK);
  if (status == BURN_OK) burn__module_name_params(module);
  return status;
}

BurnStatus burn_value_into_module(const BurnValue *value, BurnModule module) {
  const BurnRecordStep root = {NULL, NULL};
  BurnRecordLoader loader = {.pending = NULL};
  if (!value) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "no record value");
  BurnStatus status = burn__module_check(module);
  if (status != BURN_OK) return status;
  status = load_field(&loader, &root, module.type, module.data, value);
  return burn__record_swap_in(&loader, module, status);
}

/* An entry of the file, found by name. */
typedef struct Named {
  const char *name;
  const BurnValue *value;
  bool used;
} Named;

typedef struct FlatLoader {
  BurnRecordLoader loader;
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
  const BurnRecordStep root = {NULL, NULL}, step = {&root, tensor->path};
  char *input_scale = burn__record_input_scale_name(tensor->path);
  if (!input_scale) return burn__record_fail_at(&step, BURN_STATUS_OUT_OF_MEMORY, "no memory for a name");
  const BurnRecordPending item = {.param = tensor->param,
                                  .buffer = tensor->buffer,
                                  .id = burn__record_tensor_id(tensor),
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
  return burn__record_swap_in(&flat.loader, module, status);
}

/* -- before a module is written --------------------------------------------------------------- */

static BurnStatus note_id(void *context, const BurnModuleTensor *tensor) {
  return burn__record_push(context, (BurnRecordPending){.id = burn__record_tensor_id(tensor)});
}

BurnStatus burn__record_check_ids(BurnModule module) {
  BurnRecordLoader loader = {.pending = NULL};
  BurnStatus status = burn_module_visit(module, note_id, &loader);
  if (status == BURN_OK) status = refuse_twins(module, &loader, BURN_STATUS_INVALID_ARGUMENT);
  loader_finish(&loader, false);
  return status;
}
