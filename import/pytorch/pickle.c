/* pickle.c - the graph of objects that pickles are run into: memory, and looks at it. */
#include "pickle.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_OBJECTS = 64, FIRST_ITEMS = 4 };

void burn__pickle_init(Pickle *pickle, uint64_t memory_limit) { *pickle = (Pickle){NULL, 0, 0, 0, memory_limit}; }

void burn__pickle_release(Pickle *pickle) {
  for (size_t i = 0; i < pickle->count; i++) {
    const PickleObject *object = &pickle->objects[i];
    if (object->kind == PICKLE_TUPLE || object->kind == PICKLE_LIST || object->kind == PICKLE_DICT)
      free(object->as.list.items);
  }
  free(pickle->objects);
  *pickle = (Pickle){NULL, 0, 0, 0, 0};
}

BurnStatus burn__pickle_charge(Pickle *pickle, uint64_t bytes) {
  if (bytes > pickle->memory_limit - pickle->memory)
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE,
                            "pickle: more objects than a file of this size has: they take more than %llu bytes",
                            (unsigned long long)pickle->memory_limit);
  pickle->memory += bytes;
  return BURN_OK;
}

/* Doubles an array of elements of `each` bytes. */
static BurnStatus grow(Pickle *pickle, void **array, size_t room, size_t each) {
  const BurnStatus status = burn__pickle_charge(pickle, (uint64_t)room * each);
  if (status != BURN_OK) return status;
  void *grown = realloc(*array, room * each);
  if (grown == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "pickle: no memory for %zu bytes", room * each);
  *array = grown;
  return BURN_OK;
}

BurnStatus burn__pickle_make(Pickle *pickle, uint32_t kind, uint64_t offset, PickleRef *ref) {
  if (pickle->count + 1 >= pickle->room) {
    const size_t room = pickle->room > 0 ? 2 * pickle->room : FIRST_OBJECTS;
    if (room > UINT32_MAX) return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "pickle: more than 2^31 objects");
    void *objects = pickle->objects;
    const BurnStatus status = grow(pickle, &objects, room, sizeof *pickle->objects);
    if (status != BURN_OK) return status;
    pickle->objects = objects;
    pickle->room = room;
  }
  if (pickle->count == 0) pickle->objects[pickle->count++] = (PickleObject){.kind = PICKLE_NONE};
  *ref = (PickleRef)pickle->count++;
  pickle->objects[*ref] = (PickleObject){.kind = kind, .offset = offset};
  return BURN_OK;
}

BurnStatus burn__pickle_push(Pickle *pickle, PickleRef list, PickleRef item) {
  PickleList *to = &pickle->objects[list].as.list;
  if (to->count == to->room) {
    if (to->room > UINT32_MAX / 2) return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "pickle: a list of 2^31 items");
    const uint32_t room = to->room > 0 ? 2 * to->room : FIRST_ITEMS;
    void *items = to->items;
    const BurnStatus status = grow(pickle, &items, room, sizeof *to->items);
    if (status != BURN_OK) return status;
    to->items = items;
    to->room = room;
  }
  to->items[to->count++] = item;
  return BURN_OK;
}

/* -- looking ---------------------------------------------------------------------------------- */

static bool text_is(const PickleObject *object, const char *text) {
  const size_t length = strlen(text);
  return object->kind == PICKLE_TEXT && object->as.text.count == length &&
         memcmp(object->as.text.bytes, text, length) == 0;
}

bool burn__pickle_is_text(const Pickle *pickle, PickleRef ref, const char *text) {
  return text_is(burn__pickle_at(pickle, ref), text);
}

PickleRef burn__pickle_item(const Pickle *pickle, PickleRef list, uint32_t index) {
  const PickleObject *object = burn__pickle_at(pickle, list);
  if (object->kind != PICKLE_TUPLE && object->kind != PICKLE_LIST) return PICKLE_NOTHING;
  return index < object->as.list.count ? object->as.list.items[index] : PICKLE_NOTHING;
}

const PickleObject *burn__pickle_items(const Pickle *pickle, PickleRef ref) {
  const PickleObject *object = burn__pickle_at(pickle, ref);
  if (object->kind == PICKLE_CALL && object->as.call.items != PICKLE_NOTHING)
    object = burn__pickle_at(pickle, object->as.call.items);
  return object->kind == PICKLE_TUPLE || object->kind == PICKLE_LIST || object->kind == PICKLE_DICT ? object : NULL;
}

PickleRef burn__pickle_get(const Pickle *pickle, PickleRef dict, const char *key) {
  const PickleObject *items = burn__pickle_items(pickle, dict);
  if (items == NULL || items->kind != PICKLE_DICT) return PICKLE_NOTHING;
  for (uint32_t i = 0; i + 1 < items->as.list.count; i += 2)
    if (burn__pickle_is_text(pickle, items->as.list.items[i], key)) return items->as.list.items[i + 1];
  return PICKLE_NOTHING;
}

bool burn__pickle_size(const Pickle *pickle, PickleRef ref, uint64_t *size) {
  const PickleObject *object = burn__pickle_at(pickle, ref);
  if ((object->kind != PICKLE_INT && object->kind != PICKLE_BOOL) || object->as.integer < 0) return false;
  *size = (uint64_t)object->as.integer;
  return true;
}

/* Appends a text to a name, without what terminals obey. */
static size_t name_add(char *name, size_t room, size_t used, PickleText text) {
  for (size_t i = 0; i < text.count && used + 1 < room; i++)
    name[used++] = text.bytes[i] >= 0x20 && text.bytes[i] != 0x7f ? (char)text.bytes[i] : '?';
  return used;
}

void burn__pickle_name(const Pickle *pickle, PickleRef global, char *name, size_t room) {
  static const PickleText dot = {(const uint8_t *)".", 1}, none = {(const uint8_t *)"(no name)", 9};
  const PickleObject *object = burn__pickle_at(pickle, global);
  size_t used = 0;
  if (object->kind == PICKLE_GLOBAL) {
    used = name_add(name, room, used, burn__pickle_at(pickle, object->as.pair[0])->as.text);
    used = name_add(name, room, used, dot);
    used = name_add(name, room, used, burn__pickle_at(pickle, object->as.pair[1])->as.text);
  } else {
    used = name_add(name, room, used, none);
  }
  name[used] = '\0';
}
