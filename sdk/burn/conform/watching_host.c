/* watching_host.c - the host's table with an allocator that counts, checks what it gets back, and fails on demand. */
#include "conform.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Before every block; 64 bytes keep the alignment that the host promises. */
enum { HEADER = 64 };
typedef struct Block {
  uint64_t magic, bytes;
} Block;
static const uint64_t live_magic = 0x6e727562206c6976u, freed_magic = 0x6e72756220646561u;

static _Atomic int64_t held_blocks;
static _Atomic uint64_t countdown; /* 0: nothing fails */
static atomic_bool has_failed;
static char complaint[256];
static atomic_bool has_complaint;

static void complain(const char *format, uint64_t found, uint64_t expected) {
  if (atomic_exchange(&has_complaint, true)) return; /* the first one is kept */
  snprintf(complaint, sizeof complaint, format, found, expected);
}

/* True for the one allocation that is to fail. */
static bool fails_now(void) {
  uint64_t left = atomic_load(&countdown);
  while (left > 0) {
    if (!atomic_compare_exchange_weak(&countdown, &left, left - 1)) continue;
    if (left == 1) atomic_store(&has_failed, true);
    return left == 1;
  }
  return false;
}

static void *BURN_API_CALL watched_allocate(uint64_t bytes) {
  if (fails_now() || bytes > UINT64_MAX - HEADER) return NULL;
  char *memory = burn_host()->allocate(bytes + HEADER);
  if (!memory) return NULL;
  const Block block = {live_magic, bytes};
  memcpy(memory, &block, sizeof block);
  atomic_fetch_add(&held_blocks, 1);
  return memory + HEADER;
}

static void BURN_API_CALL watched_free(void *memory, uint64_t bytes) {
  if (!memory) return;
  char *start = (char *)memory - HEADER;
  Block block;
  memcpy(&block, start, sizeof block);
  if (block.magic != live_magic) {
    complain(block.magic == freed_magic ? "memory was freed twice (%" PRIu64 " bytes, once %" PRIu64 ")"
                                        : "host->free got memory that host->allocate never gave (%" PRIu64
                                          " bytes, header %" PRIx64 ")",
             bytes, block.magic == freed_magic ? block.bytes : block.magic);
    return;
  }
  if (block.bytes != bytes)
    complain("host->free was told %" PRIu64 " bytes for memory of %" PRIu64, bytes, block.bytes);
  atomic_fetch_sub(&held_blocks, 1);
  const Block freed = {freed_magic, block.bytes};
  memcpy(start, &freed, sizeof freed);
  burn_host()->free(start, block.bytes + HEADER);
}

const BurnHost *watching_host(void) {
  static BurnHost host;
  host = *burn_host();
  host.allocate = watched_allocate;
  host.free = watched_free;
  return &host;
}

void watching_host_fail_at(uint64_t n) {
  atomic_store(&has_failed, false);
  atomic_store(&countdown, n);
}

void watching_host_stop(void) { atomic_store(&countdown, 0); }

bool watching_host_failed(void) { return atomic_load(&has_failed); }
int64_t watching_host_blocks(void) { return atomic_load(&held_blocks); }

const char *watching_host_complaint(void) {
  static char last[sizeof complaint];
  if (!atomic_load(&has_complaint)) return "";
  memcpy(last, complaint, sizeof last);
  atomic_store(&has_complaint, false);
  return last;
}
