/* onnx_names.c - names to numbers, and memory that ends together. */
#include "hash.h"
#include "onnx_program.h"

#include <stdlib.h>
#include <string.h>

typedef struct OnnxBlock {
  struct OnnxBlock *next;
  max_align_t data[];
} OnnxBlock;

void *onnx_arena_take(OnnxArena *arena, size_t count, size_t bytes) {
  if (bytes != 0 && count > (SIZE_MAX / 2 - sizeof(OnnxBlock)) / bytes) return NULL;
  OnnxBlock *block = calloc(1, sizeof *block + count * bytes + 1);
  if (!block) return NULL;
  block->next = arena->blocks;
  arena->blocks = block;
  return block->data;
}

char *onnx_arena_text(OnnxArena *arena, const char *text) {
  const size_t bytes = strlen(text) + 1;
  char *copy = onnx_arena_take(arena, bytes, 1);
  if (copy) memcpy(copy, text, bytes);
  return copy;
}

void onnx_arena_release(OnnxArena *arena) {
  while (arena->blocks) {
    OnnxBlock *next = arena->blocks->next;
    free(arena->blocks);
    arena->blocks = next;
  }
}

/* A file could be made whose names collide; then a lookup walks, and nothing worse. */
static size_t hash(const char *name) {
  const uint64_t h = burn__hash_text(BURN__HASH, name);
  return (size_t)(h ^ (h >> 32));
}

static size_t place(const OnnxNames *names, const char *name) {
  size_t at = hash(name) & (names->capacity - 1);
  while (names->names[at] && strcmp(names->names[at], name) != 0) at = (at + 1) & (names->capacity - 1);
  return at;
}

static bool grow(OnnxNames *names) {
  const size_t capacity = names->capacity ? 2 * names->capacity : 64;
  OnnxNames wider = {calloc(capacity, sizeof *wider.names), calloc(capacity, sizeof *wider.numbers), 0, capacity};
  if (!wider.names || !wider.numbers) {
    onnx_names_release(&wider);
    return false;
  }
  for (size_t i = 0; i < names->capacity; i++) {
    if (names->names[i]) onnx_names_put(&wider, names->names[i], names->numbers[i]);
  }
  onnx_names_release(names);
  *names = wider;
  return true;
}

bool onnx_names_put(OnnxNames *names, const char *name, uint32_t number) {
  if (2 * (names->count + 1) > names->capacity && !grow(names)) return false;
  const size_t at = place(names, name);
  if (!names->names[at]) names->count++;
  names->names[at] = name;
  names->numbers[at] = number;
  return true;
}

uint32_t onnx_names_get(const OnnxNames *names, const char *name) {
  if (names->count == 0) return ONNX_NONE;
  const size_t at = place(names, name);
  return names->names[at] ? names->numbers[at] : ONNX_NONE;
}

void onnx_names_release(OnnxNames *names) {
  free(names->names);
  free(names->numbers);
  *names = (OnnxNames){NULL, NULL, 0, 0};
}
