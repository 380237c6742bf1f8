/* kernel_run.h - runs compiled kernels on the first Vulkan device there is, without the backend: for tests of the
 * compiler. */
#ifndef BURN_TEST_KERNEL_RUN_H
#define BURN_TEST_KERNEL_RUN_H

#include "kernel.h"

enum { KERNEL_RUNNER_BYTES = 1 << 20 };

typedef struct KernelRunner KernelRunner;

/* NULL with words in *why: no loader, no device, or one that lacks what kernels need. */
KernelRunner *kernel_runner_open(const char **why);
void kernel_runner_close(KernelRunner *runner); /* NULL is allowed */

/* A target that leaves everything to be computed in other ways, but for what the device says of its floats. */
KernelTarget kernel_runner_target(const KernelRunner *runner);
const char *kernel_runner_device(const KernelRunner *runner);

/* KERNEL_RUNNER_BYTES that the host and kernels share, and their address for kernels. */
unsigned char *kernel_runner_memory(const KernelRunner *runner);
uint64_t kernel_runner_address(const KernelRunner *runner);

/* Runs a kernel and waits for it; `parameters` has module->parameter_bytes. NULL, or words: what has failed. */
const char *kernel_runner_run(KernelRunner *runner, const KernelModule *module, const void *parameters,
                              uint32_t groups);

#endif
