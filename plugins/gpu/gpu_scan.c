/* gpu_scan.c - every element joined with all before it along an axis. */
#include "gpu.h"

enum { BLOCKS, LINES, THREADS = 256 }; /* variants of kernels/scan.cu */

static BurnStatus start(Gpu *gpu, GpuJoin join, BurnPrimitive *x, BurnPrimitive *out, const GpuAxis *axis) {
  const int64_t lines = axis->outer * axis->inner;
  const GpuScan p = {gpu_address(out), gpu_address(x), axis->outer, axis->size, axis->inner};
  const GpuKernelKey key = {.text = GPU_TEXT_SCAN,
                            .out = out->dtype,
                            .in = {x->dtype, x->dtype, x->dtype},
                            .variant = axis->inner > 1 ? LINES : BLOCKS,
                            .join = join};
  GpuFunction *function = NULL;
  if (burn_primitive_count(x) == 0) return BURN_OK;
  const BurnStatus status = burn__gpu_kernel(gpu, &key, NULL, &function);
  if (status != BURN_OK) return status;
  const uint64_t groups = (uint64_t)(key.variant == LINES ? (lines + THREADS - 1) / THREADS : lines);
  return burn__gpu_launch(gpu, function, groups, THREADS, &p, sizeof p);
}

static BurnStatus scan(const GpuRun *run) {
  BurnPrimitive *x = run->call->inputs[0], *rows = NULL;
  const GpuAxis axis = burn__gpu_axis(x, run->call->attrs[0].value.i64);
  BurnStatus status = burn__gpu_output(run, 0);
  if (status == BURN_OK) status = burn__gpu_row_major(run->gpu, x, &rows);
  if (status == BURN_OK) status = start(run->gpu, (GpuJoin)run->row->detail, rows, run->out[0], &axis);
  burn__gpu_release(run->gpu, rows);
  return status;
}

const GpuRow burn__gpu_scan_rows[] = {{BURN_OP_cumsum, scan, GPU_JOIN_SUM},
                                      {BURN_OP_cumprod, scan, GPU_JOIN_PRODUCT},
                                      {BURN_OP_cummin, scan, GPU_JOIN_SMALLEST},
                                      {BURN_OP_cummax, scan, GPU_JOIN_LARGEST},
                                      {0, NULL, 0}};
