/* emulated_memory.c - blocks of memory with a head before them and a guard after them, both looked at when a block is
 * freed. What is freed is filled anew, so that who still reads it sees no numbers. */
#include "emulated_memory.h"

#include "emulated_run.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256, GUARD_BYTES = 256, GUARD = 0xa5, FREED = 0xff };

typedef struct Head {
  uint64_t magic;
  size_t bytes;
} Head;
static const uint64_t live = UINT64_C(0x6275726e6c697665), gone = UINT64_C(0x6275726e676f6e65);

static atomic_size_t used;

static size_t number_of(const char *variable, size_t otherwise) {
  const char *text = getenv(variable);
  return text && text[0] ? (size_t)strtoull(text, NULL, 0) : otherwise;
}

size_t emulated_memory_total(void) { return number_of("BURN_FAKE_CUDA_MEMORY", (size_t)1 << 30); }
size_t emulated_memory_used(void) { return atomic_load(&used); }

static Head *head_of(void *memory) { return (Head *)(void *)((char *)memory - ALIGNMENT); }

void *emulated_allocate(size_t bytes) {
  if (bytes > emulated_memory_total() || emulated_memory_used() > emulated_memory_total() - bytes) return NULL;
  const size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  char *block = aligned_alloc(ALIGNMENT, ALIGNMENT + rounded + GUARD_BYTES);
  if (!block) return NULL;
  char *memory = block + ALIGNMENT;
  *head_of(memory) = (Head){live, bytes};
  memset(memory, (int)number_of("BURN_FAKE_CUDA_FILL", 0), bytes);
  memset(memory + bytes, GUARD, rounded - bytes + GUARD_BYTES);
  (void)atomic_fetch_add(&used, bytes);
  return memory;
}

int emulated_free(void *memory) {
  Head *head = head_of(memory);
  if (head->magic != live) {
    (void)emulated_fail(EMULATED_INVALID_VALUE, "%p is freed, but %s", memory,
                        head->magic == gone ? "it was freed before" : "it is not a block of the device");
    return 0;
  }
  const size_t bytes = head->bytes;
  const unsigned char *guard = (const unsigned char *)memory + bytes;
  size_t intact = 0;
  while (intact < GUARD_BYTES && guard[intact] == GUARD) intact++;
  head->magic = gone;
  memset(memory, FREED, bytes);
  free(head);
  (void)atomic_fetch_sub(&used, bytes);
  if (intact == GUARD_BYTES) return 1;
  (void)emulated_fail(EMULATED_ILLEGAL_ADDRESS, "a kernel has written %zu bytes after the end of a block of %zu",
                      intact, bytes);
  return 0;
}
