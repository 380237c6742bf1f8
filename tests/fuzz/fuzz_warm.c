/* fuzz_warm.c - the file of a program's kernels (plugins/vulkan): what is read lies within it, and is what would be written.
 *
 * Input: the file after the head's identity, checksum and number of bytes, which are made right: the count, then rows. */
#include "fuzz_target.h"

#include "vulkan_warm_file.h"

#include <burn/common/hash.h>

enum { IDENTITY = 7, HEAD = 40, BEFORE_COUNT = 32, CHECKED = 3 /* numbers in the head */ };

static const char magic[] = "BURNVKW1";

/* Within the bytes, and of sizes that a device may be asked for. */
static void check(const VulkanWarmKernel *kernel, const char *bytes, size_t count) {
  const char *words = (const char *)kernel->module.words;
  FUZZ_REQUIRE(words >= bytes && kernel->module.word_count <= (size_t)(bytes + count - words) / 4, "%zu words outside",
               kernel->module.word_count);
  FUZZ_REQUIRE(kernel->module.words[0] == 0x07230203, "words that are not a module");
  for (int axis = 0; axis < 3; axis++) FUZZ_REQUIRE(kernel->module.threads[axis] > 0, "no threads");
}

static void check_same(const VulkanWarmKernel *kernels, size_t number) {
  static VulkanWarmKernel again[VULKAN_WARM_MAX];
  const size_t bytes = burn__vulkan_warm_bytes(kernels, number);
  char *written = malloc(bytes);
  FUZZ_REQUIRE(written, "no memory for %zu bytes", bytes);
  burn__vulkan_warm_write(kernels, number, IDENTITY, written);
  const size_t read = burn__vulkan_warm_read(written, bytes, IDENTITY, again);
  FUZZ_REQUIRE(read == number, "%zu kernels are written, %zu read", number, read);
  for (size_t i = 0; i < read; i++) {
    const KernelModule *a = &kernels[i].module, *b = &again[i].module;
    FUZZ_REQUIRE(again[i].key == kernels[i].key && a->word_count == b->word_count &&
                     memcmp(a->words, b->words, a->word_count * sizeof *a->words) == 0,
                 "kernel %zu is another one", i);
  }
  FUZZ_REQUIRE(burn__vulkan_warm_read(written, bytes, IDENTITY + 1, again) == 0, "another identity is read");
  free(written);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static VulkanWarmKernel kernels[VULKAN_WARM_MAX];
  const size_t all = BEFORE_COUNT + count;
  char *file = malloc(all);
  FUZZ_REQUIRE(file, "no memory for %zu bytes", all);
  memcpy(file, magic, 8);
  if (count > 0) memcpy(file + BEFORE_COUNT, bytes, count);
  const size_t rest = all > HEAD ? all - HEAD : 0;
  const uint64_t numbers[CHECKED] = {IDENTITY, burn_common_hash_bytes(BURN_COMMON_HASH, file + all - rest, rest), rest};
  memcpy(file + 8, numbers, sizeof numbers);
  const size_t number = burn__vulkan_warm_read(file, all, IDENTITY, kernels);
  for (size_t i = 0; i < number; i++) check(&kernels[i], file, all);
  check_same(kernels, number);
  free(file);
  return 0;
}
