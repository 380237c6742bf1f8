/* fake_cuda.h - what the files of the driver without a GPU share. */
#ifndef BURN_FAKE_CUDA_H
#define BURN_FAKE_CUDA_H

#include "cuda_driver.h"
#include "emulated_run.h"

/* The next error: that of the call that BURN_FAKE_CUDA_FAIL names, 0 for all others. */
int fake_next_error(int error);

/* How many calls could have failed until now. */
int fake_calls(void);

/* Each function with the parameters that cuda.h, and CUDA_DRIVER_FUNCTIONS, give it. */
#define FAKE(name, parameters) \
  int name parameters;         \
  int name parameters
#define FAILS(error)                           \
  do {                                         \
    const int failed = fake_next_error(error); \
    if (failed != CUDA_OK) return failed;      \
  } while (0)

/* Does it now, or, where the stream is captured, with each launch of the graph; `bytes` of arguments are copied. */
int fake_submit(void *stream, int (*run)(const void *arguments), const void *arguments, size_t bytes);

/* 1: the stream is captured. Memory that is allocated meanwhile belongs to the graph, at the same address with each
 * launch; only such can be freed. */
int fake_is_capturing(void *stream);
int fake_capture_allocation(void *stream, size_t bytes, CudaAddress *out);
int fake_capture_free(void *stream, CudaAddress memory);

/* BURN_FAKE_CUDA_PEERS=1: devices can read each other's memory, =0: they cannot (default). How often a pool was opened,
 * and how many copies between two contexts there were of memory that was open, and that was not. */
void fake_peers(int *opened, int *direct, int *detours);

int fake_launch(const EmulatedLaunch *launch, void *stream, void **parameters, void **extra);

#endif
