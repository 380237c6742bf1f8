/* pytorch_walk.c - the objects of a file as tensors with names, and metadata.
 *
 * A name is made of the keys of dicts, the places in lists and the attributes of objects on the way, with dots between
 * them. The dicts of a module's parameters, buffers and modules add nothing, so that a module has the names of its
 * state dict. Objects may be shared, and contain themselves: an object on the way is passed over, and the number of
 * steps is bounded. */
#include "pytorch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_LIMIT = 1024, DEPTH_LIMIT = 96, ARGUMENT_DEPTH = 3, NAMELESS_DEPTH = 8, TEXT_LIMIT = 4096 };

typedef struct Walk {
  BurnStore *store;
  Pytorch *file;
  const Pickle *pickle;
  PickleRef way[DEPTH_LIMIT]; /* [depth]: the objects that contain this one */
  unsigned depth;
  uint64_t steps; /* left */
  size_t values;  /* in the metadata */
  char name[NAME_LIMIT];
  size_t length;
} Walk;

/* What is found in an object beside tensors; NULL: nothing. */
static BurnStatus visit(Walk *walk, PickleRef ref, BurnValue **value);

static BurnStatus no_memory(void) { return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for metadata"); }

/* -- names ------------------------------------------------------------------------------------ */

/* The text of a key, malloc'd; *made stays NULL where it is not text, int or bool, or has a zero byte. */
static BurnStatus key_text(const Pickle *pickle, PickleRef key, char **made) {
  const PickleObject *object = burn__pickle_at(pickle, key);
  char number[24];
  PickleText text = {(const uint8_t *)number, 0};
  if (object->kind == PICKLE_TEXT) {
    text = object->as.text;
  } else if (object->kind == PICKLE_INT) {
    text.count = (size_t)snprintf(number, sizeof number, "%lld", (long long)object->as.integer);
  } else if (object->kind == PICKLE_BOOL) {
    text.count = (size_t)snprintf(number, sizeof number, "%s", object->as.integer ? "True" : "False");
  } else {
    return BURN_OK;
  }
  if (text.count >= NAME_LIMIT || (text.count > 0 && memchr(text.bytes, 0, text.count) != NULL)) return BURN_OK;
  *made = malloc(text.count + 1);
  if (*made == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the name of a tensor");
  if (text.count > 0) memcpy(*made, text.bytes, text.count);
  (*made)[text.count] = '\0';
  return BURN_OK;
}

/* Puts a component to the end of the name; false if it becomes too long. */
static bool name_push(Walk *walk, const char *component) {
  const size_t bytes = strlen(component), dot = walk->length > 0 ? 1 : 0;
  if (bytes + dot >= NAME_LIMIT - walk->length) return false;
  if (dot) walk->name[walk->length++] = '.';
  memcpy(walk->name + walk->length, component, bytes + 1);
  walk->length += bytes;
  return true;
}

static void name_cut(Walk *walk, size_t length) {
  walk->length = length;
  walk->name[length] = '\0';
}

/* -- values that are not tensors --------------------------------------------------------------- */

/* A number, bool, text or None; nothing for what is too long or too much. */
static BurnStatus scalar_value(Walk *walk, const PickleObject *object, BurnValue **value) {
  char text[TEXT_LIMIT];
  if (walk->values >= BURN_STORE_METADATA_LIMIT) return BURN_OK;
  switch (object->kind) {
    case PICKLE_BOOL:
      *value = burn_value_bool(object->as.integer != 0);
      break;
    case PICKLE_INT:
      *value = burn_value_int(object->as.integer);
      break;
    case PICKLE_FLOAT:
      *value = burn_value_float(object->as.number);
      break;
    case PICKLE_TEXT:
      if (object->as.text.count >= sizeof text || memchr(object->as.text.bytes, 0, object->as.text.count) != NULL)
        return BURN_OK;
      memcpy(text, object->as.text.bytes, object->as.text.count);
      text[object->as.text.count] = '\0';
      *value = burn_value_text(text);
      break;
    default:
      return BURN_OK;
  }
  walk->values++;
  return *value != NULL ? BURN_OK : no_memory();
}

/* numpy.core.multiarray.scalar(dtype, bytes), as best scores often are. */
static BurnStatus number_value(Walk *walk, PickleRef ref, BurnValue **value) {
  const PickleRef arguments = burn__pickle_at(walk->pickle, ref)->as.call.arguments;
  PickleText text = {0};
  bool is_big_endian = false, is_latin1 = false;
  uint8_t bytes[8] = {0};
  const PytorchDType *dtype =
      burn__pytorch_numpy_dtype(walk->pickle, burn__pickle_item(walk->pickle, arguments, 0), &is_big_endian);
  if (dtype == NULL || is_big_endian || walk->values >= BURN_STORE_METADATA_LIMIT ||
      !burn__pytorch_bytes(walk->pickle, burn__pickle_item(walk->pickle, arguments, 1), &text, &is_latin1))
    return BURN_OK;
  const uint64_t count = is_latin1 ? burn__pytorch_latin1(text, NULL) : text.count;
  if (count != dtype->bytes) return BURN_OK;
  if (is_latin1)
    (void)burn__pytorch_latin1(text, bytes);
  else
    memcpy(bytes, text.bytes, (size_t)count);
  double number = 0;
  float single = 0;
  int64_t integer = 0;
  memcpy(&number, bytes, sizeof number);
  memcpy(&single, bytes, sizeof single);
  memcpy(&integer, bytes, sizeof integer);
  const bool is_float = dtype->dtype == BURN_DTYPE_F64 || dtype->dtype == BURN_DTYPE_F32;
  if (!is_float && dtype->dtype != BURN_DTYPE_I64) return BURN_OK;
  if (!is_float && integer < 0 && burn__pytorch_is_unsigned(dtype)) return BURN_OK;
  if (is_float) *value = burn_value_float(dtype->dtype == BURN_DTYPE_F64 ? number : (double)single);
  if (!is_float) *value = burn_value_int(integer);
  walk->values++;
  return *value != NULL ? BURN_OK : no_memory();
}

/* -- containers ------------------------------------------------------------------------------- */

/* Visits an object under a component of the name ("" adds none); what it has goes to the map under that component. */
static BurnStatus visit_child(Walk *walk, const char *component, PickleRef child, BurnValue *map) {
  const size_t length = walk->length;
  BurnValue *value = NULL;
  if (component[0] != '\0' && !name_push(walk, component))
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "a name of more than %d bytes: %.80s..", NAME_LIMIT, walk->name);
  const BurnStatus status = visit(walk, child, &value);
  name_cut(walk, length);
  if (value != NULL && !burn_value_set(map, component[0] != '\0' ? component : "module", value) && status == BURN_OK)
    return no_memory();
  return status;
}

/* The tensors in an object whose key makes no name. */
static size_t tensors_in(Walk *walk, PickleRef ref, unsigned depth) {
  const PickleObject *object = burn__pickle_at(walk->pickle, ref);
  if (burn__pytorch_is_tensor(walk->pickle, ref)) return 1;
  size_t count = 0;
  if (object->kind == PICKLE_CALL && depth > 0) {
    if (burn__pytorch_meaning(walk->pickle, ref) == PYTORCH_META) return 1;
    count = tensors_in(walk, object->as.call.arguments, depth - 1) + tensors_in(walk, object->as.call.state, depth - 1);
  }
  const PickleObject *items = burn__pickle_items(walk->pickle, ref);
  for (uint32_t i = 0; items != NULL && depth > 0 && i < items->as.list.count && walk->steps > 0; i++, walk->steps--)
    count += tensors_in(walk, items->as.list.items[i], depth - 1);
  return count;
}

static BurnStatus visit_dict(Walk *walk, const PickleList *list, bool is_state, BurnValue *map) {
  BurnStatus status = BURN_OK;
  for (uint32_t i = 0; i + 1 < list->count && status == BURN_OK; i += 2) {
    const PickleRef key_ref = list->items[i];
    const bool is_inner = is_state && (burn__pickle_is_text(walk->pickle, key_ref, "_parameters") ||
                                       burn__pickle_is_text(walk->pickle, key_ref, "_buffers") ||
                                       burn__pickle_is_text(walk->pickle, key_ref, "_modules"));
    char *key = NULL;
    status = key_text(walk->pickle, key_ref, &key);
    if (key != NULL)
      status = visit_child(walk, is_inner ? "" : key, list->items[i + 1], map);
    else if (status == BURN_OK)
      burn__store_leave_out(walk->store, tensors_in(walk, list->items[i + 1], NAMELESS_DEPTH), walk->name,
                            "a key there is no text, integer or bool");
    free(key);
  }
  return status;
}

static BurnStatus visit_list(Walk *walk, const PickleList *list, BurnValue *map) {
  BurnStatus status = BURN_OK;
  char component[16];
  for (uint32_t i = 0; i < list->count && status == BURN_OK; i++) {
    (void)snprintf(component, sizeof component, "%u", (unsigned)i);
    status = visit_child(walk, component, list->items[i], map);
  }
  return status;
}

/* The contents of a list, tuple or dict; an empty map becomes nothing. */
static BurnStatus visit_items(Walk *walk, const PickleObject *items, bool is_state, BurnValue **value) {
  const PickleList list = items->as.list;
  BurnValue *map = burn_value_map();
  if (map == NULL) return no_memory();
  const BurnStatus status =
      items->kind == PICKLE_DICT ? visit_dict(walk, &list, is_state, map) : visit_list(walk, &list, map);
  if (status == BURN_OK && burn_value_count(map) > 0)
    *value = map;
  else
    burn_value_destroy(map);
  return status;
}

/* -- calls ------------------------------------------------------------------------------------ */

/* True if there is a storage or tensor among the arguments of a call. */
static bool has_storage(Walk *walk, PickleRef ref, unsigned depth) {
  const PickleObject *object = burn__pickle_at(walk->pickle, ref);
  if (burn__pytorch_is_storage(walk->pickle, ref) || burn__pytorch_is_tensor(walk->pickle, ref)) return true;
  if (object->kind == PICKLE_CALL) ref = object->as.call.arguments;
  const PickleObject *items = burn__pickle_items(walk->pickle, ref);
  for (uint32_t i = 0; items != NULL && depth > 0 && i < items->as.list.count && walk->steps > 0; i++, walk->steps--)
    if (has_storage(walk, items->as.list.items[i], depth - 1)) return true;
  return false;
}

/* An object of any class. It must not be made of tensors, because nobody knows what the class does with them. */
static BurnStatus visit_unknown(Walk *walk, PickleRef ref, BurnValue **value) {
  const PickleObject object = *burn__pickle_at(walk->pickle, ref);
  char name[128];
  if (has_storage(walk, object.as.call.arguments, ARGUMENT_DEPTH)) {
    burn__pickle_name(walk->pickle, object.as.call.callable, name, sizeof name);
    return burn_status_make(BURN_STATUS_INCOMPATIBLE, "byte %llu: %s: a tensor made by %s, which is not known",
                            (unsigned long long)object.offset, walk->name, name);
  }
  const PickleObject *items = burn__pickle_items(walk->pickle, ref);
  BurnStatus status = items != NULL ? visit_items(walk, items, false, value) : BURN_OK;
  const PickleObject *state = burn__pickle_items(walk->pickle, object.as.call.state);
  BurnValue *of_state = NULL;
  if (status == BURN_OK && state != NULL) status = visit_items(walk, state, true, &of_state);
  if (*value == NULL)
    *value = of_state;
  else
    burn_value_destroy(of_state); /* a dict is its items; its attributes do not matter */
  return status;
}

static BurnStatus visit_tensor(Walk *walk, PickleRef ref) {
  BurnStoreSlot slot = {.seen.name = walk->length > 0 ? walk->name : "tensor"};
  BurnStatus status = burn__pickle_charge(&walk->file->pickle, walk->length + 2 * sizeof slot);
  if (status == BURN_OK) status = burn__pytorch_tensor(walk->file, ref, &slot);
  if (status != BURN_OK) return burn_status_annotate(status, "tensor %.80s", slot.seen.name);
  slot.seen.name = walk->length > 0 ? walk->name : "tensor";
  return burn__store_add(walk->store, &slot);
}

static BurnStatus visit_call(Walk *walk, PickleRef ref, BurnValue **value) {
  const PickleCall call = burn__pickle_at(walk->pickle, ref)->as.call;
  switch (burn__pytorch_meaning(walk->pickle, ref)) {
    case PYTORCH_FIRST:
      return visit(walk, burn__pickle_item(walk->pickle, call.arguments, 0), value);
    case PYTORCH_NUMBER:
      return number_value(walk, ref, value);
    case PYTORCH_META:
      burn__store_leave_out(walk->store, 1, walk->name, "a meta tensor, which has no values");
      return BURN_OK;
    case PYTORCH_NUMPY_DTYPE:
    case PYTORCH_BYTES:
      return BURN_OK;
    case PYTORCH_DICT: {
      const PickleObject *items = burn__pickle_items(walk->pickle, ref);
      const PickleRef pairs = burn__pickle_item(walk->pickle, call.arguments, 0);
      if (items == NULL && pairs != PICKLE_NOTHING) /* OrderedDict([[key, value], ..]) of old files */
        return burn_status_make(BURN_STATUS_INCOMPATIBLE,
                                "byte %llu: a dict made of pairs; save it with PyTorch 1 or later",
                                (unsigned long long)burn__pickle_at(walk->pickle, ref)->offset);
      return items != NULL ? visit_items(walk, items, false, value) : BURN_OK;
    }
    default:
      return visit_unknown(walk, ref, value);
  }
}

/* _rebuild_from_type_v2(function, type, arguments, state): the call that it makes is put in its place. */
static BurnStatus visit_from_type(Walk *walk, PickleRef ref, BurnValue **value) {
  const PickleRef arguments = burn__pickle_at(walk->pickle, ref)->as.call.arguments;
  const PickleCall inner = {burn__pickle_item(walk->pickle, arguments, 0),
                            burn__pickle_item(walk->pickle, arguments, 2), PICKLE_NOTHING, PICKLE_NOTHING};
  PickleRef made = PICKLE_NOTHING;
  const uint32_t kind = burn__pickle_at(walk->pickle, inner.callable)->kind;
  if (kind != PICKLE_GLOBAL || burn__pickle_at(walk->pickle, inner.arguments)->kind != PICKLE_TUPLE)
    return burn__pytorch_corrupt(walk->pickle, ref, "a tensor of a type without a function that makes it");
  const BurnStatus status =
      burn__pickle_make(&walk->file->pickle, PICKLE_CALL, burn__pickle_at(walk->pickle, ref)->offset, &made);
  if (status != BURN_OK) return status;
  burn__pickle_at(walk->pickle, made)->as.call = inner;
  return visit(walk, made, value);
}

static BurnStatus visit(Walk *walk, PickleRef ref, BurnValue **value) {
  if (walk->steps == 0)
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "%.80s: objects that contain each other too often", walk->name);
  walk->steps--;
  if (burn__pytorch_is_tensor(walk->pickle, ref)) return visit_tensor(walk, ref);
  for (unsigned i = 0; i < walk->depth; i++)
    if (walk->way[i] == ref) return BURN_OK; /* it contains itself */
  const PickleObject *object = burn__pickle_at(walk->pickle, ref);
  const PickleObject *items = object->kind == PICKLE_CALL ? NULL : burn__pickle_items(walk->pickle, ref);
  if (items == NULL && object->kind != PICKLE_CALL) return scalar_value(walk, object, value);
  if (walk->depth == DEPTH_LIMIT)
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "%.80s: nested more than %d deep", walk->name, DEPTH_LIMIT);
  walk->way[walk->depth++] = ref;
  BurnStatus status = BURN_OK;
  if (items != NULL)
    status = visit_items(walk, items, false, value);
  else if (burn__pytorch_meaning(walk->pickle, ref) == PYTORCH_FROM_TYPE)
    status = visit_from_type(walk, ref, value);
  else
    status = visit_call(walk, ref, value);
  walk->depth--;
  if (status != BURN_OK) {
    burn_value_destroy(*value);
    *value = NULL;
  }
  return status;
}

BurnStatus burn__pytorch_walk(BurnStore *store, Pytorch *file, PickleRef root) {
  Walk walk = {.store = store, .file = file, .pickle = &file->pickle};
  BurnValue *value = NULL;
  walk.steps = 4 * (uint64_t)file->pickle.count + 4096;
  const BurnStatus status = visit(&walk, root, &value);
  if (burn_value_kind(value) == BURN_VALUE_MAP) {
    burn_value_destroy(store->metadata);
    store->metadata = value;
  } else {
    burn_value_destroy(value);
  }
  return status;
}
