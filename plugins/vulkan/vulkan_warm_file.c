/* vulkan_warm_file.c - the file of a program's kernels: a head, then a row and the words of each, 8 bytes by 8. */
#include "vulkan_warm_file.h"

#include <burn/common/hash.h>

#include <string.h>

enum { SPIRV_MAGIC = 0x07230203, SPIRV_HEAD = 5 /* words */, MAX_PARAMETERS = 64 << 10, MAX_THREADS = 1 << 16 };
enum { IN_PUSH_CONSTANTS = 1, NEEDS_SUBGROUPS = 2 };

typedef struct Head {
  char magic[8];
  uint64_t identity, checksum, bytes; /* of what follows */
  uint32_t count, reserved;
} Head;

typedef struct Row {
  uint64_t key;
  uint32_t unused, word_count, threads[3], parameter_bytes, shared_bytes, flags;
} Row;

static const char magic[8] = {'B', 'U', 'R', 'N', 'V', 'K', 'W', '1'};

static size_t bytes_of(size_t words) { return (words + 1) / 2 * 8; }

/* -- writing ---------------------------------------------------------------------------------- */

size_t burn__vulkan_warm_bytes(const VulkanWarmKernel *kernels, size_t count) {
  size_t bytes = sizeof(Head);
  for (size_t i = 0; i < count; i++) bytes += sizeof(Row) + bytes_of(kernels[i].module.word_count);
  return bytes;
}

void burn__vulkan_warm_write(const VulkanWarmKernel *kernels, size_t count, uint64_t identity, void *bytes) {
  const size_t all = burn__vulkan_warm_bytes(kernels, count);
  char *first = (char *)bytes + sizeof(Head), *at = first;
  memset(bytes, 0, all);
  for (size_t i = 0; i < count; i++) {
    const KernelModule *made = &kernels[i].module;
    const Row row = {.key = kernels[i].key,
                     .unused = kernels[i].unused,
                     .word_count = (uint32_t)made->word_count,
                     .threads = {made->threads[0], made->threads[1], made->threads[2]},
                     .parameter_bytes = made->parameter_bytes,
                     .shared_bytes = made->shared_bytes,
                     .flags = (made->in_push_constants ? (uint32_t)IN_PUSH_CONSTANTS : 0u) |
                              (made->needs_subgroups ? (uint32_t)NEEDS_SUBGROUPS : 0u)};
    memcpy(at, &row, sizeof row);
    memcpy(at + sizeof row, made->words, made->word_count * sizeof *made->words);
    at += sizeof row + bytes_of(made->word_count);
  }
  Head head = {.identity = identity, .bytes = all - sizeof head, .count = (uint32_t)count};
  memcpy(head.magic, magic, sizeof magic);
  head.checksum = burn_common_hash_bytes(BURN_COMMON_HASH, first, all - sizeof head);
  memcpy(bytes, &head, sizeof head);
}

/* -- reading ---------------------------------------------------------------------------------- */

static bool is_sound(const Row *row, const uint32_t *words) {
  for (int axis = 0; axis < 3; axis++)
    if (row->threads[axis] == 0 || row->threads[axis] > MAX_THREADS) return false;
  return words[0] == SPIRV_MAGIC && row->parameter_bytes <= MAX_PARAMETERS &&
         row->flags <= (IN_PUSH_CONSTANTS | NEEDS_SUBGROUPS);
}

/* The kernel at the beginning of `left` bytes; how many it takes, 0 where it is none. */
static size_t read_kernel(const char *at, size_t left, VulkanWarmKernel *out) {
  Row row;
  if (left < sizeof row) return 0;
  memcpy(&row, at, sizeof row);
  const size_t bytes = bytes_of(row.word_count);
  const uint32_t *words = (const uint32_t *)(const void *)(at + sizeof row);
  if (row.word_count < SPIRV_HEAD || bytes > left - sizeof row || !is_sound(&row, words)) return 0;
  *out = (VulkanWarmKernel){.key = row.key,
                            .unused = row.unused,
                            .module = {.words = (uint32_t *)(uintptr_t)words,
                                       .word_count = row.word_count,
                                       .threads = {row.threads[0], row.threads[1], row.threads[2]},
                                       .parameter_bytes = row.parameter_bytes,
                                       .in_push_constants = (row.flags & IN_PUSH_CONSTANTS) != 0,
                                       .shared_bytes = row.shared_bytes,
                                       .needs_subgroups = (row.flags & NEEDS_SUBGROUPS) != 0}};
  return sizeof row + bytes;
}

size_t burn__vulkan_warm_read(const void *bytes, size_t count, uint64_t identity,
                              VulkanWarmKernel kernels[VULKAN_WARM_MAX]) {
  Head head;
  if (count < sizeof head) return 0;
  memcpy(&head, bytes, sizeof head);
  const char *at = (const char *)bytes + sizeof head;
  size_t left = count - sizeof head;
  if (memcmp(head.magic, magic, sizeof magic) != 0 || head.identity != identity || head.bytes != left ||
      head.count > VULKAN_WARM_MAX || head.checksum != burn_common_hash_bytes(BURN_COMMON_HASH, at, left))
    return 0;
  for (uint32_t i = 0; i < head.count; i++) {
    const size_t used = read_kernel(at, left, &kernels[i]);
    if (used == 0) return 0;
    at += used;
    left -= used;
  }
  return left == 0 ? head.count : 0;
}
