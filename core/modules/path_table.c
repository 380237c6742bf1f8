/* path_table.c - the paths of parameters, "blocks.2.up.weight", each kept once. A parameter points at its own without
 * owning it, so copies of the struct are free; the paths of a process are those of its model types, so none is ever
 * given back. */
#include "module_internal.h"

#include "core_internal.h"
#include "hash.h"

#include <stdlib.h>
#include <string.h>

pthread_mutex_t burn__path_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
  char **slots; /* [capacity], a power of two, at most half full */
  size_t capacity, count;
} table;

static size_t hash(const char *text) {
  const uint64_t h = burn__hash_text(BURN__HASH, text);
  return (size_t)(h ^ (h >> 32));
}

/* The slot of a text, or the free one where it belongs. */
static char **slot_of(char **slots, size_t capacity, const char *text) {
  size_t slot = hash(text) & (capacity - 1);
  while (slots[slot] && strcmp(slots[slot], text) != 0) slot = (slot + 1) & (capacity - 1);
  return &slots[slot];
}

static bool make_room(void) {
  if (2 * table.count < table.capacity) return true;
  const size_t capacity = table.capacity ? 2 * table.capacity : 64;
  char **slots = calloc(capacity, sizeof *slots);
  if (!slots) return false;
  for (size_t i = 0; i < table.capacity; i++) {
    if (table.slots[i]) *slot_of(slots, capacity, table.slots[i]) = table.slots[i];
  }
  free(table.slots);
  table.slots = slots;
  table.capacity = capacity;
  return true;
}

const char *burn__path_kept(const char *path) {
  (void)pthread_mutex_lock(&burn__path_mutex);
  char **slot = make_room() ? slot_of(table.slots, table.capacity, path) : NULL;
  if (slot && !*slot) {
    *slot = burn__text_copy(path);
    table.count += *slot != NULL;
  }
  const char *kept = slot ? *slot : NULL;
  (void)pthread_mutex_unlock(&burn__path_mutex);
  return kept;
}
