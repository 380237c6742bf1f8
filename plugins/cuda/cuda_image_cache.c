/* cuda_image_cache.c - compiled kernels on disk. A file: magic, length, checksum, image. */
#include "cuda_image_cache.h"

#include "gpu_cache_file.h"

#include <burn/common/environment.h>
#include <burn/common/hash.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 1024, LARGEST_IMAGE = 64 << 20 };

typedef struct Head {
  char magic[8];
  uint64_t bytes, checksum;
} Head;

static const char magic[8] = {'B', 'U', 'R', 'N', 'C', 'U', 'B', '1'};

void burn__cuda_image_name(const CudaNvrtc *nvrtc, int architecture, const char *source, CudaImageName *name) {
  int numbers[3] = {architecture, 0, 0};
  (void)nvrtc->nvrtcVersion(&numbers[1], &numbers[2]);
  name->ending = "cubin";
  for (uint32_t i = 0; i < 2; i++) {
    const uint64_t numbers_hash = burn_common_hash_bytes(BURN_COMMON_HASH + i, numbers, sizeof numbers);
    name->hash[i] = burn_common_hash_text(numbers_hash, source);
  }
}

/* Writes the folder into path and makes it; false where there is no home. */
static bool find_folder(char path[PATH_BYTES]) {
  const char *cache = burn_common_trusted_variable("XDG_CACHE_HOME"), *home = burn_common_trusted_variable("HOME");
  int length = 0;
  if (cache && cache[0] == '/') {
    length = snprintf(path, PATH_BYTES, "%s", cache);
  } else if (home && home[0] == '/') {
    length = snprintf(path, PATH_BYTES, "%s/.cache", home);
  } else {
    return false;
  }
  static const char *const steps[] = {"", "/burn", "/cuda"};
  for (size_t i = 0; i < 3; i++) {
    if (length < 0 || length > PATH_BYTES - 80) return false;
    length += snprintf(path + length, (size_t)(PATH_BYTES - length), "%s", steps[i]);
    (void)mkdir(path, 0700);
  }
  return true;
}

static bool find_path(const CudaImageName *name, char path[PATH_BYTES]) {
  if (!find_folder(path)) return false;
  const size_t length = strlen(path);
  (void)snprintf(path + length, PATH_BYTES - length, "/%016llx%016llx.%s", (unsigned long long)name->hash[0],
                 (unsigned long long)name->hash[1], name->ending);
  return true;
}

static bool read_image(const BurnHost *host, FILE *file, char **image, uint64_t *bytes) {
  Head head;
  if (fread(&head, sizeof head, 1, file) != 1 || memcmp(head.magic, magic, sizeof magic) != 0) return false;
  if (head.bytes == 0 || head.bytes > LARGEST_IMAGE) return false;
  char *data = host->allocate(head.bytes);
  if (!data) return false;
  const bool is_whole = fread(data, 1, (size_t)head.bytes, file) == head.bytes && fgetc(file) == EOF &&
                        burn_common_hash_bytes(0, data, (size_t)head.bytes) == head.checksum;
  if (!is_whole) {
    host->free(data, head.bytes);
    return false;
  }
  *image = data;
  *bytes = head.bytes;
  return true;
}

bool burn__cuda_image_load(const BurnHost *host, const CudaImageName *name, char **image, uint64_t *bytes) {
  char path[PATH_BYTES];
  FILE *file = find_path(name, path) ? burn__gpu_open_cached(path) : NULL;
  if (!file) return false;
  const bool is_read = read_image(host, file, image, bytes);
  (void)fclose(file);
  return is_read;
}

void burn__cuda_image_save(const CudaImageName *name, const char *image, uint64_t bytes) {
  char path[PATH_BYTES];
  Head head = {{0}, bytes, burn_common_hash_bytes(0, image, (size_t)bytes)};
  memcpy(head.magic, magic, sizeof magic);
  if (find_path(name, path)) burn__gpu_write_cached(path, &head, sizeof head, image, (size_t)bytes);
}
