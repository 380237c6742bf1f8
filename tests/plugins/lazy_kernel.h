/* lazy_kernel.h - the form of device code that the test backend "lazy" runs: a function of the process, called once per
 * launch. Its packs know it from here. */
#ifndef BURN_TEST_LAZY_KERNEL_H
#define BURN_TEST_LAZY_KERNEL_H

#include <burn/plugin/device.h>

/* BurnDeviceCode.data points to a LazyKernelText. */
#define LAZY_CODE BURN_CODE_FIRST_PRIVATE

/* `arguments` as device.h says: the addresses, then the parameters. */
typedef void (*LazyKernelFunction)(const unsigned char *arguments, const BurnDeviceLaunch *launch);

typedef struct LazyKernelText {
  const char *entry; /* the one function in the code */
  LazyKernelFunction function;
} LazyKernelText;

static inline void *lazy_kernel_address(const unsigned char *arguments, uint32_t i) {
  void *address;
  memcpy(&address, arguments + 8 * i, sizeof address);
  return address;
}

#endif
