/* vulkan_warm_file.h - the kernels that a program used, as bytes of a file: what pipelines are made of. It knows
 * nothing of Vulkan. A file is read on the machine that has written it, by the same plugin: numbers are those of the
 * processor. */
#ifndef BURN_VULKAN_WARM_FILE_H
#define BURN_VULKAN_WARM_FILE_H

#include "kernel.h"

enum { VULKAN_WARM_MAX = 256 /* kernels */ };

typedef struct VulkanWarmKernel {
  uint64_t key;        /* of its source, name and threads */
  uint32_t unused;     /* so often the file was written by programs that did not use it */
  KernelModule module; /* its words lie in the file, or are the writer's */
} VulkanWarmKernel;

/* Bytes of the file, and these; `identity`: of the plugin, the device and what it can do. */
size_t burn__vulkan_warm_bytes(const VulkanWarmKernel *kernels, size_t count);
void burn__vulkan_warm_write(const VulkanWarmKernel *kernels, size_t count, uint64_t identity, void *bytes);

/* How many kernels the bytes, aligned to 8, have, at most VULKAN_WARM_MAX; 0 where they are not whole, or not of this
 * identity. Words point into the bytes. */
size_t burn__vulkan_warm_read(const void *bytes, size_t count, uint64_t identity,
                              VulkanWarmKernel kernels[VULKAN_WARM_MAX]);

#endif
