/* param_map.h - values of one size by parameter id: the gradients of a step, the states of an optimizer.
 *
 * Entries lie in the order in which they were added, so that walks and records have one order; a table of indices with
 * linear probing finds them. Ids are random 64-bit numbers and every value of them is allowed. Entries are never
 * removed. */
#ifndef BURN_TRAIN_PARAM_MAP_H
#define BURN_TRAIN_PARAM_MAP_H

#include <stddef.h>
#include <stdint.h>

typedef struct BurnParamMap {
  size_t value_bytes; /* set by the owner before the first use */
  size_t count;
  size_t capacity; /* of ids and values; the index has twice as many slots */
  uint64_t *ids;
  void *values;
  size_t *slots; /* entry + 1, 0 when free */
} BurnParamMap;

/* The value of an id; NULL if there is none. Adding an entry moves the values. */
void *burn__param_map_find(const BurnParamMap *map, uint64_t id);
/* The value of an id, zeroed if it is new; NULL when out of memory. */
void *burn__param_map_add(BurnParamMap *map, uint64_t id);
/* The value of entry `index`, below count. */
void *burn__param_map_at(const BurnParamMap *map, size_t index);
/* Frees the map's memory, not what the values point at. */
void burn__param_map_free(BurnParamMap *map);

#endif
