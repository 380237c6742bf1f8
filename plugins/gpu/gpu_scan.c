/* gpu_scan.c - every element joined with all before it along an axis. */
#include "gpu.h"

enum { BLOCKS, LINES, WARPS, TOTALS, THREADS = 256 }; /* variants of kernels/scan.cu */
enum { SHORT_LINE = 512, WARPS_OF_A_BLOCK = 8 };
/* Lines across memory: as many parts as give a device enough threads, of no fewer elements than pay for a pass more. */
enum { ENOUGH_THREADS = 1 << 17, MIN_PART = 64, MAX_PARTS = 128 };

static BurnStatus start(const GpuRun *run, const GpuScan *p, uint32_t variant, int64_t lines) {
  const BurnDType dtype = run->call->inputs[0]->dtype;
  const int64_t in_group = variant == WARPS ? WARPS_OF_A_BLOCK : variant == BLOCKS ? 1 : THREADS;
  const GpuKernelKey key = {.text = GPU_TEXT_SCAN,
                            .out = run->out[0]->dtype,
                            .in = {dtype, dtype, dtype},
                            .variant = variant,
                            .join = (GpuJoin)run->row->detail};
  GpuFunction *function = NULL;
  const BurnStatus status = burn__gpu_kernel(run->gpu, &key, NULL, &function);
  if (status != BURN_OK) return status;
  return burn__gpu_launch(run->gpu, function, (uint64_t)((lines + in_group - 1) / in_group), THREADS, p, sizeof *p);
}

/* The parts are decided by the shape alone, so that the sums are the same on every device. */
static void cut(GpuScan *p) {
  const int64_t lines = p->outer * p->inner, most = p->size / MIN_PART;
  int64_t parts = lines < ENOUGH_THREADS ? ENOUGH_THREADS / lines : 1;
  if (parts > MAX_PARTS) parts = MAX_PARTS;
  if (parts > most) parts = most > 0 ? most : 1;
  p->part_size = (p->size + parts - 1) / parts;
  p->parts = (p->size + p->part_size - 1) / p->part_size;
}

static BurnStatus across(const GpuRun *run, GpuScan *p) {
  BurnPrimitive *totals = NULL;
  cut(p);
  BurnStatus status = burn__gpu_check_rounds(run, p->part_size + p->parts);
  if (status == BURN_OK && p->parts > 1) {
    /* 64 bits hold what each dtype is joined in */
    const BurnTensorDesc desc = {.dtype = BURN_DTYPE_I64, .rank = 3, .shape = {p->outer, p->parts, p->inner}};
    status = burn__gpu_new(run->gpu, &desc, &totals);
    if (status == BURN_OK) p->totals = gpu_address(totals);
    if (status == BURN_OK) status = start(run, p, TOTALS, p->outer * p->parts * p->inner);
  }
  if (status == BURN_OK) status = start(run, p, LINES, p->outer * p->parts * p->inner);
  burn__gpu_release(run->gpu, totals);
  return status;
}

static BurnStatus scan(const GpuRun *run) {
  BurnPrimitive *x = run->call->inputs[0], *rows = NULL;
  const GpuAxis axis = burn__gpu_axis(x, run->call->attrs[0].value.i64);
  BurnStatus status = burn__gpu_output(run, 0);
  if (status != BURN_OK || burn_primitive_count(x) == 0) return status;
  status = burn__gpu_row_major(run->gpu, x, &rows);
  if (status != BURN_OK) return status;
  GpuScan p = {.out = gpu_address(run->out[0]),
               .in = gpu_address(rows),
               .outer = axis.outer,
               .size = axis.size,
               .inner = axis.inner,
               .whole = burn__gpu_is_whole(rows, axis.size) && burn__gpu_is_whole(run->out[0], axis.size)};
  status = axis.inner > 1 ? across(run, &p) : start(run, &p, axis.size <= SHORT_LINE ? WARPS : BLOCKS, axis.outer);
  burn__gpu_release(run->gpu, rows);
  return status;
}

const GpuRow burn__gpu_scan_rows[] = {{BURN_OP_cumsum, scan, GPU_JOIN_SUM},
                                      {BURN_OP_cumprod, scan, GPU_JOIN_PRODUCT},
                                      {BURN_OP_cummin, scan, GPU_JOIN_SMALLEST},
                                      {BURN_OP_cummax, scan, GPU_JOIN_LARGEST},
                                      {0, NULL, 0}};
