/* emulated_memory.h - memory of the device, which is the host's: each block between guards. */
#ifndef BURN_EMULATED_MEMORY_H
#define BURN_EMULATED_MEMORY_H

#include <stddef.h>

/* 256-aligned; NULL: none left of BURN_FAKE_CUDA_MEMORY bytes (1 GiB). Filled by the byte BURN_FAKE_CUDA_FILL (0). */
void *emulated_allocate(size_t bytes);

/* 0: it is not a block of ours, or somebody has written beyond its end; emulated_problem says which. */
int emulated_free(void *memory);

size_t emulated_memory_total(void);
size_t emulated_memory_used(void);

#endif
