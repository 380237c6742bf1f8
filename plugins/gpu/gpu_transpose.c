/* gpu_transpose.c - lines become columns, for channels that come last. */
#include "gpu.h"

enum { THREADS = 256, SIDE = 32 };

static int64_t tiles_of(int64_t count, int64_t side) { return (count + side - 1) / side; }

/* True if all lines of both are made of whole pairs of halves. */
static bool is_paired(BurnDType dtype, const GpuTranspose *p) {
  const uint64_t steps = (uint64_t)(p->in_batch | p->out_batch | p->in_line | p->out_line | p->lines | p->length);
  return burn_dtype_bytes(dtype) == 2 && steps % 2 == 0 && (p->in | p->out) % 4 == 0;
}

BurnStatus burn__gpu_transpose(Gpu *gpu, BurnDType dtype, const GpuTranspose *p) {
  const bool paired = is_paired(dtype, p);
  const int64_t side = paired ? 2 * SIDE : SIDE;
  const GpuKernelKey key = {
      .text = GPU_TEXT_TRANSPOSE, .out = dtype, .in = {dtype, dtype, dtype}, .variant = paired ? 1 : 0};
  GpuFunction *function = NULL;
  const BurnStatus status = burn__gpu_kernel(gpu, &key, NULL, &function);
  if (status != BURN_OK) return status;
  const int64_t groups = p->batch * tiles_of(p->lines, side) * tiles_of(p->length, side);
  return burn__gpu_launch(gpu, function, (uint64_t)groups, THREADS, p, sizeof *p);
}
