/* mixed.h - the interface "burn.mixed" of a backend: calls that read and write halves where their op has f32.
 *
 * In training with mixed precision norms, losses and optimizers run in f32 beside products in f16 or bf16. As ops of
 * their own the casts in between read and write every element once more. A backend whose kernels can read halves,
 * compute in f32 and write halves offers this interface, and may then get a mixed call: some inputs are halves where
 * the op would have f32, some output_descs say a half where the op gives f32. It means: cast those inputs to f32, run
 * the op, cast those results, with the very bits that these calls give one by one.
 *
 * Who leaves out the casts (fusion) uses it only where the level below offers it by itself: a decorator that passes the
 * question on to the next level never sees a mixed call. */
#ifndef BURN_PLUGIN_MIXED_H
#define BURN_PLUGIN_MIXED_H

#include <burn/plugin/backend.h>

/* The name to ask get_interface for. */
#define BURN_MIXED_INTERFACE "burn.mixed"

/* What get_interface(BURN_MIXED_INTERFACE) gives, version 1. Functions may be called from any thread at any time. */
typedef struct BurnMixedInterface {
  uint32_t struct_size;
  uint32_t version;

  /* What may be of dtype `half` (F16 or BF16) in a call of this op whose other floats are F32: bit i of *inputs is
   * input i, bit i of *outputs result i. Any of them may be at the same time. At least one float of the call has no
   * bit, so that a mixed call is never one of halves alone. 1: some may, 0: none, and both are 0. */
  uint32_t(BURN_API_CALL *takes)(void *self, uint32_t op, BurnDType half, uint64_t *inputs, uint64_t *outputs);
} BurnMixedInterface;
#define BURN_MIXED_INTERFACE_MIN_BYTES BURN_BYTES_THROUGH(BurnMixedInterface, takes)

#endif
