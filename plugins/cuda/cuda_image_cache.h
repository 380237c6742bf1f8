/* cuda_image_cache.h - compiled kernels and choices between algorithms on disk, in $XDG_CACHE_HOME/burn/cuda (else
 * ~/.cache/burn/cuda): a file by the hash of all that it was made from. A file that is damaged is as one that is not
 * there; without a folder nothing is kept. */
#ifndef BURN_CUDA_IMAGE_CACHE_H
#define BURN_CUDA_IMAGE_CACHE_H

#include "cuda_driver.h"

#include <burn/plugin/host.h>

#include <stdbool.h>

/* What identifies an image: two hashes of source, architecture and version of NVRTC. */
typedef struct CudaImageName {
  uint64_t hash[2];
  const char *ending; /* of the file: "cubin" unless the caller sets another */
} CudaImageName;

void burn__cuda_image_name(const CudaNvrtc *nvrtc, int architecture, const char *source, CudaImageName *name);

/* True if the image was there; free it with host->free(.., *bytes). */
bool burn__cuda_image_load(const BurnHost *host, const CudaImageName *name, char **image, uint64_t *bytes);

/* Keeps an image, whole or not at all. */
void burn__cuda_image_save(const CudaImageName *name, const char *image, uint64_t bytes);

#endif
