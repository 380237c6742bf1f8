/* param_map.c - see param_map.h. The table is at most half full, so a probe ends soon. */
#include "param_map.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The finalizer of MurmurHash3: ids restored from foreign records need not be random. */
static uint64_t hash(uint64_t id) {
  id ^= id >> 33;
  id *= UINT64_C(0xff51afd7ed558ccd);
  id ^= id >> 33;
  id *= UINT64_C(0xc4ceb9fe1a85ec53);
  return id ^ (id >> 33);
}

/* The slot of an id, or the free slot where it belongs. The table exists. */
static size_t slot_of(const BurnParamMap *map, uint64_t id) {
  const size_t mask = 2 * map->capacity - 1;
  size_t slot = (size_t)hash(id) & mask;
  while (map->slots[slot] && map->ids[map->slots[slot] - 1] != id) slot = (slot + 1) & mask;
  return slot;
}

void *burn__param_map_at(const BurnParamMap *map, size_t index) {
  return (char *)map->values + index * map->value_bytes;
}

void *burn__param_map_find(const BurnParamMap *map, uint64_t id) {
  if (map->count == 0) return NULL;
  const size_t entry = map->slots[slot_of(map, id)];
  return entry ? burn__param_map_at(map, entry - 1) : NULL;
}

/* Room for twice as many entries; false when out of memory, and then nothing has changed. */
static bool grow(BurnParamMap *map) {
  const size_t capacity = map->capacity ? 2 * map->capacity : 16;
  if (capacity > SIZE_MAX / 2 / map->value_bytes) return false;
  uint64_t *ids = calloc(capacity, sizeof *ids);
  void *values = calloc(capacity, map->value_bytes);
  size_t *slots = calloc(2 * capacity, sizeof *slots);
  if (!ids || !values || !slots) {
    free(ids);
    free(values);
    free(slots);
    return false;
  }
  for (size_t entry = 0; entry < map->count; entry++) ids[entry] = map->ids[entry];
  if (map->values) memcpy(values, map->values, map->count * map->value_bytes);
  free(map->ids);
  free(map->values);
  free(map->slots);
  map->ids = ids;
  map->values = values;
  map->slots = slots;
  map->capacity = capacity;
  for (size_t entry = 0; entry < map->count; entry++) slots[slot_of(map, ids[entry])] = entry + 1;
  return true;
}

void *burn__param_map_add(BurnParamMap *map, uint64_t id) {
  void *value = burn__param_map_find(map, id);
  if (value) return value;
  if (map->count == map->capacity && !grow(map)) return NULL;
  map->ids[map->count] = id;
  map->slots[slot_of(map, id)] = map->count + 1;
  return burn__param_map_at(map, map->count++);
}

void burn__param_map_free(BurnParamMap *map) {
  free(map->ids);
  free(map->values);
  free(map->slots);
  map->ids = NULL;
  map->values = NULL;
  map->slots = NULL;
  map->count = map->capacity = 0;
}
