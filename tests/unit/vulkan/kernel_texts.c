/* kernel_texts.c - reads the prelude once. */
#include "kernel_texts.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_BYTES = 1 << 20 }; /* of all files together */

/* The bytes of a file, after the `used` ones that are there already. */
static size_t append(char *text, size_t used, const char *path) {
  FILE *file = fopen(path, "rb");
  const size_t room = MAX_BYTES - used, bytes = file ? fread(text + used, 1, room, file) : 0;
  if (bytes == 0 || bytes == room) {
    fprintf(stderr, "%s cannot be read, or is too large\n", path);
    abort();
  }
  fclose(file);
  return used + bytes;
}

const char *kernel_texts_prelude(void) {
  static char whole[MAX_BYTES]; /* the byte after the last stays 0 */
  if (whole[0] != 0) return whole;
  const size_t used = append(whole, 0, BURN_SOURCE_DIR "/plugins/vulkan/kernels/prelude_spirv.cu");
  (void)append(whole, used, BURN_SOURCE_DIR "/plugins/vulkan/kernels/math.cu");
  return whole;
}
