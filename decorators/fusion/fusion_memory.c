/* fusion_memory.c - arrays that grow, and the arena of attributes. */
#include "fusion_internal.h"

#include <string.h>

bool burn__fusion_list_reserve(const FusionDecorator *decorator, FusionList *list, uint32_t more, size_t item_bytes) {
  if (more <= list->capacity - list->count) return true;
  uint32_t capacity = list->capacity ? list->capacity : 64u;
  while (capacity - list->count < more) {
    if (capacity > UINT32_MAX / 2u) return false;
    capacity *= 2u;
  }
  void *items = decorator->host->allocate((uint64_t)capacity * item_bytes);
  if (!items) return false;
  if (list->count > 0) memcpy(items, list->items, (size_t)list->count * item_bytes);
  decorator->host->free(list->items, (uint64_t)list->capacity * item_bytes);
  list->items = items;
  list->capacity = capacity;
  return true;
}

void burn__fusion_list_free(const FusionDecorator *decorator, FusionList *list, size_t item_bytes) {
  decorator->host->free(list->items, (uint64_t)list->capacity * item_bytes);
  *list = (FusionList){NULL, 0, 0};
}

enum { BLOCK_BYTES = 16384 };

typedef struct FusionBlock {
  struct FusionBlock *next;
  uint64_t bytes; /* of the allocation, this header included */
} FusionBlock;

static FusionBlock *block_new(const FusionDecorator *decorator, uint64_t bytes) {
  const uint64_t total = bytes + sizeof(FusionBlock) > BLOCK_BYTES ? bytes + sizeof(FusionBlock) : BLOCK_BYTES;
  FusionBlock *block = (FusionBlock *)decorator->host->allocate(total);
  if (block) *block = (FusionBlock){NULL, total};
  return block;
}

static bool fits(const FusionArena *arena, uint64_t bytes) {
  return arena->current && arena->current->bytes - arena->used >= bytes;
}

/* The block after the current one, if it is large enough, else a new one between the two. */
static bool next_block(const FusionDecorator *decorator, FusionArena *arena, uint64_t bytes) {
  FusionBlock **link = arena->current ? &arena->current->next : &arena->first;
  if (!*link || (*link)->bytes - sizeof(FusionBlock) < bytes) {
    FusionBlock *block = block_new(decorator, bytes);
    if (!block) return false;
    block->next = *link;
    *link = block;
  }
  arena->current = *link;
  arena->used = sizeof(FusionBlock);
  return true;
}

void *burn__fusion_arena_take(const FusionDecorator *decorator, FusionArena *arena, uint64_t bytes) {
  if (!fits(arena, bytes) && !next_block(decorator, arena, bytes)) return NULL;
  void *memory = (char *)arena->current + arena->used;
  arena->used += (bytes + 15u) / 16u * 16u;
  if (arena->used > arena->current->bytes) arena->used = arena->current->bytes;
  return memory;
}

void burn__fusion_arena_reset(FusionArena *arena) {
  arena->current = arena->first;
  arena->used = sizeof(FusionBlock);
}

void burn__fusion_arena_free(const FusionDecorator *decorator, FusionArena *arena) {
  while (arena->first) {
    FusionBlock *block = arena->first;
    arena->first = block->next;
    decorator->host->free(block, block->bytes);
  }
  arena->current = NULL;
}
