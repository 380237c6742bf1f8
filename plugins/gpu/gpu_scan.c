/* gpu_scan.c - every element joined with all before it along an axis. */
#include "gpu.h"

enum { BLOCKS, LINES, WARPS, THREADS = 256 }; /* variants of kernels/scan.cu */
enum { SHORT_LINE = 512, WARPS_OF_A_BLOCK = 8 };

static uint64_t groups_of(uint32_t variant, int64_t lines) {
  const int64_t in_group = variant == LINES ? THREADS : variant == WARPS ? WARPS_OF_A_BLOCK : 1;
  return (uint64_t)((lines + in_group - 1) / in_group);
}

static BurnStatus start(Gpu *gpu, GpuJoin join, BurnPrimitive *x, BurnPrimitive *out, const GpuAxis *axis) {
  const GpuScan p = {.out = gpu_address(out),
                     .in = gpu_address(x),
                     .outer = axis->outer,
                     .size = axis->size,
                     .inner = axis->inner,
                     .whole = burn__gpu_is_whole(x, axis->size) && burn__gpu_is_whole(out, axis->size)};
  const GpuKernelKey key = {.text = GPU_TEXT_SCAN,
                            .out = out->dtype,
                            .in = {x->dtype, x->dtype, x->dtype},
                            .variant = axis->inner > 1            ? LINES
                                       : axis->size <= SHORT_LINE ? WARPS
                                                                  : BLOCKS,
                            .join = join};
  GpuFunction *function = NULL;
  if (burn_primitive_count(x) == 0) return BURN_OK;
  const BurnStatus status = burn__gpu_kernel(gpu, &key, NULL, &function);
  if (status != BURN_OK) return status;
  return burn__gpu_launch(gpu, function, groups_of(key.variant, axis->outer * axis->inner), THREADS, &p, sizeof p);
}

static BurnStatus scan(const GpuRun *run) {
  BurnPrimitive *x = run->call->inputs[0], *rows = NULL;
  const GpuAxis axis = burn__gpu_axis(x, run->call->attrs[0].value.i64);
  BurnStatus status = axis.inner > 1 ? burn__gpu_check_rounds(run, axis.size) : BURN_OK;
  if (status == BURN_OK) status = burn__gpu_output(run, 0);
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
