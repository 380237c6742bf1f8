/* quantization_internal.h - what the files of quantized tensors share: a scheme and the shape it is for. */
#ifndef BURN_QUANTIZATION_INTERNAL_H
#define BURN_QUANTIZATION_INTERNAL_H

#include "ops_internal.h"

#include <burn/quantization.h>

/* A scheme resolved for a shape. */
typedef struct BurnQuantBlocks {
  int low, high, bits;
  int64_t size[BURN_MAX_RANK]; /* of a block; all 0: one scale */
  BurnShape scales;
} BurnQuantBlocks;

/* Checks x against a scheme; on a failure x is taken and becomes a failed tensor. */
bool burn__quant_fits(BurnTensor **x, const char *user, const BurnQuantScheme *scheme, BurnQuantBlocks *blocks);

#endif
