/* kernel_texts.c - reads texts once. */
#include "kernel_texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TEXTS = 64 };

typedef struct Text {
  char path[512];
  char *text;
} Text;

static Text texts[MOST_TEXTS];

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  char *text = calloc(1, 1 << 20);
  if (!file || !text) {
    fprintf(stderr, "%s cannot be read\n", path);
    abort();
  }
  (void)fread(text, 1, (1 << 20) - 1, file);
  fclose(file);
  return text;
}

static const char *text_at(const char *path) {
  size_t i = 0;
  while (i < MOST_TEXTS - 1 && texts[i].text && strcmp(texts[i].path, path) != 0) i++;
  if (!texts[i].text) {
    (void)snprintf(texts[i].path, sizeof texts[i].path, "%s", path);
    texts[i].text = read_file(path);
  }
  return texts[i].text;
}

const char *kernel_texts_shared(const char *name) {
  char path[512];
  (void)snprintf(path, sizeof path, BURN_SOURCE_DIR "/plugins/gpu/kernels/%s", name);
  return text_at(path);
}

const char *kernel_texts_prelude(void) {
  static char *whole;
  if (whole) return whole;
  const char *first = text_at(BURN_SOURCE_DIR "/plugins/vulkan/kernels/prelude_spirv.cu");
  const char *second = text_at(BURN_SOURCE_DIR "/plugins/vulkan/kernels/math.cu");
  whole = calloc(1, strlen(first) + strlen(second) + 1);
  if (!whole) abort();
  memcpy(whole, first, strlen(first));
  memcpy(whole + strlen(first), second, strlen(second));
  return whole;
}
