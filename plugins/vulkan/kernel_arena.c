/* kernel_arena.c - memory of a compilation; how one fails. */
#include "kernel_arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 65536, GRAIN = 16 };
#define MAX_BYTES (UINT64_C(256) << 20) /* a text of 60 KB takes about 2 MB */

struct KernelChunk {
  KernelChunk *next;
  size_t used, bytes;
  size_t padding;
};

static KernelChunk *add_chunk(KernelArena *arena, size_t bytes) {
  const size_t room = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
  KernelChunk *chunk = malloc(sizeof *chunk + room);
  if (!chunk) burn__kernel_escape(arena, 0, "no memory of the host for a kernel");
  *chunk = (KernelChunk){.next = arena->chunks, .bytes = room};
  arena->chunks = chunk;
  arena->used += room;
  return chunk;
}

void *burn__kernel_allocate(KernelArena *arena, size_t bytes) {
  const size_t wanted = (bytes + GRAIN - 1) / GRAIN * GRAIN;
  KernelChunk *chunk = arena->chunks;
  if (arena->used + wanted > MAX_BYTES)
    burn__kernel_escape(arena, 0, "the kernel takes more than %llu MiB to compile",
                        (unsigned long long)(MAX_BYTES >> 20));
  if (!chunk || chunk->bytes - chunk->used < wanted) chunk = add_chunk(arena, wanted);
  void *memory = (char *)(chunk + 1) + chunk->used;
  chunk->used += wanted;
  return memset(memory, 0, wanted);
}

void burn__kernel_escape(KernelArena *arena, uint32_t line, const char *format, ...) {
  va_list arguments;
  size_t used = 0;
  if (line > 0) {
    const int length = snprintf(arena->why, arena->why_bytes, "line %u: ", line);
    used = length > 0 && (size_t)length < arena->why_bytes ? (size_t)length : 0;
  }
  va_start(arguments, format);
  (void)vsnprintf(arena->why + used, arena->why_bytes - used, format, arguments);
  va_end(arguments);
  longjmp(arena->escape, 1);
}

void burn__kernel_arena_free(KernelArena *arena) {
  while (arena->chunks) {
    KernelChunk *next = arena->chunks->next;
    free(arena->chunks);
    arena->chunks = next;
  }
}
