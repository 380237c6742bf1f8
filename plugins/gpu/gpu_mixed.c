/* gpu_mixed.c - which ops read and write halves and compute in f32: the interface "burn.mixed". The order of sums of
 * their kernels is that of f32. */
#include "gpu_backend.h"

enum { FIRST = 1, SECOND = 2 };

static const struct {
  uint32_t op;
  uint64_t inputs, outputs; /* bits of those that may be halves */
} mixed[] = {
    {BURN_OP_layer_norm, FIRST, FIRST},                   /* x */
    {BURN_OP_layer_norm_backward, FIRST | SECOND, FIRST}, /* grad, x; the gradient of x */
    {BURN_OP_cross_entropy, FIRST, 0},                    /* logits */
    {BURN_OP_cross_entropy_backward, SECOND, FIRST},      /* logits; their gradient */
    {BURN_OP_adam_step, SECOND, 0},                       /* gradient */
};

static uint32_t BURN_API_CALL takes(void *self, uint32_t op, BurnDType half, uint64_t *inputs, uint64_t *outputs) {
  const Gpu *gpu = self;
  *inputs = *outputs = 0;
  if (half != BURN_DTYPE_F16 && half != BURN_DTYPE_BF16) return 0;
  for (size_t i = 0; i < sizeof mixed / sizeof mixed[0]; i++) {
    if (mixed[i].op != op || !gpu->rows[op]) continue;
    *inputs = mixed[i].inputs;
    *outputs = mixed[i].outputs;
    return 1;
  }
  return 0;
}

const BurnMixedInterface burn__gpu_mixed_interface = {
    .struct_size = (uint32_t)sizeof(BurnMixedInterface), .version = 1, .takes = takes};
