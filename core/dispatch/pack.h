/* pack.h - an op of a kernel pack as the host keeps it. Private to dispatch/. */
#ifndef BURN_CORE_PACK_H
#define BURN_CORE_PACK_H

#include "core_internal.h"

#include <burn/plugin/kernels.h>

/* These are copies of the pack's, of this version's size; info is completed. */
typedef struct PackOp {
  BurnOpInfo info;
  BurnOpDefinition definition;
  BurnKernel *kernels; /* of this op, highest priority first, as the next */
  size_t kernel_count;
  BurnDeviceKernel *device_kernels;
  size_t device_kernel_count;
} PackOp;

/* NULL if `op` is none of a pack. Entries stay for the life of the process. */
const PackOp *burn__pack_op(uint32_t op);

#endif
