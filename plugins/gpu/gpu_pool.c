/* gpu_pool.c - pools: windows over planes [n, c, h, w]. */
#include "gpu.h"

/* Variants of kernels/pool.cu. */
enum {
  LARGEST,
  MEAN,
  MEAN_BACKWARD,
  ADAPTIVE,
  ADAPTIVE_BACKWARD,
  LARGEST_BACKWARD,
  LARGEST_TURNS,
  WIDE = 8,
  THREADS = 256
};
enum { PLANES = 16 }; /* times the logarithm of how many a thread does at once */
enum { SLICE = 4096, BLOCKS_OF_UNIT = 4 };

static void take_pair(int64_t to[2], const int64_t *from) {
  to[0] = from[0];
  to[1] = from[1];
}

static bool is_wide(const BurnPrimitive *x, const BurnPrimitive *out) {
  return burn_primitive_count(x) > INT32_MAX / 2 || burn_primitive_count(out) > INT32_MAX / 2;
}

/* Where adaptive windows begin is found by products of both. */
static bool are_long(const int64_t *pixels, const int64_t *windows) {
  return pixels[2] * windows[2] > INT32_MAX / 2 || pixels[3] * windows[3] > INT32_MAX / 2;
}

/* The logarithm of the planes of a thread: as many as leave enough threads. */
static uint32_t planes_of(int64_t count) { return count >= 1 << 21 ? 4 : count >= 1 << 18 ? 2 : 0; }

/* How often a thread goes through loops over a window, or over the windows of a pixel. */
static int64_t rounds_of(const GpuPool *p, const int64_t *pixels, const int64_t *windows) {
  int64_t rounds = 1;
  for (int axis = 2; axis < 4; axis++) {
    const int64_t taps = p->kernel[axis - 2], larger = pixels[axis] > windows[axis] ? pixels[axis] : windows[axis];
    const int64_t smaller = pixels[axis] < windows[axis] ? pixels[axis] : windows[axis];
    const int64_t ratio = smaller > 0 ? larger / smaller : 0;
    rounds *= (taps > 0 ? taps : ratio + 1) + 1;
  }
  return rounds;
}

static BurnStatus start(const GpuRun *run, GpuPool *p, const int64_t *pixels, const int64_t *windows) {
  BurnPrimitive *x = run->call->inputs[0], *rows = NULL;
  const BurnPrimitive *out = run->out[0];
  const GpuKernelKey key = {.text = GPU_TEXT_POOL,
                            .out = out->dtype,
                            .in = {x->dtype, run->out[1] ? run->out[1]->dtype : BURN_DTYPE_I64, x->dtype},
                            .variant = (uint32_t)run->row->detail +
                                       (is_wide(x, out) || are_long(pixels, windows) ? WIDE : 0) +
                                       planes_of(burn_primitive_count(out)) * PLANES};
  const int64_t count = burn_primitive_count(out), together = (int64_t)1 << planes_of(count);
  GpuFunction *function = NULL;
  if (count == 0) return BURN_OK;
  p->planes = pixels[0] * pixels[1];
  const int64_t threads = (p->planes + together - 1) / together * (count / p->planes);
  take_pair(p->pixels, pixels + 2);
  take_pair(p->windows, windows + 2);
  BurnStatus status = burn__gpu_check_rounds(run, rounds_of(p, pixels, windows));
  if (status == BURN_OK) status = burn__gpu_row_major(run->gpu, x, &rows);
  if (status == BURN_OK) status = burn__gpu_kernel(run->gpu, &key, NULL, &function);
  if (status == BURN_OK) {
    p->out = gpu_address(out);
    p->in = gpu_address(rows);
    status = burn__gpu_launch(run->gpu, function, (uint64_t)((threads + THREADS - 1) / THREADS), THREADS, p, sizeof *p);
  }
  burn__gpu_release(run->gpu, rows);
  return status;
}

static BurnStatus max_pool2d(const GpuRun *run) {
  const BurnAttrs_max_pool2d *attrs = BURN_ATTRS(max_pool2d, run->call);
  GpuPool p = {.indices = 0};
  const BurnStatus status = burn__gpu_output(run, 0);
  if (status != BURN_OK) return status;
  take_pair(p.kernel, attrs->kernel_size.value.i64s);
  take_pair(p.stride, attrs->stride.value.i64s);
  take_pair(p.padding, attrs->padding.value.i64s);
  take_pair(p.dilation, attrs->dilation.value.i64s);
  return start(run, &p, run->call->inputs[0]->shape, run->out[0]->shape);
}

static BurnStatus max_pool2d_with_indices(const GpuRun *run) {
  const BurnAttrs_max_pool2d_with_indices *attrs = BURN_ATTRS(max_pool2d_with_indices, run->call);
  GpuPool p = {.count_include_pad = 0};
  BurnStatus status = burn__gpu_output(run, 0);
  if (status == BURN_OK) status = burn__gpu_output(run, 1);
  if (status != BURN_OK) return status;
  p.indices = gpu_address(run->out[1]);
  take_pair(p.kernel, attrs->kernel_size.value.i64s);
  take_pair(p.stride, attrs->stride.value.i64s);
  take_pair(p.padding, attrs->padding.value.i64s);
  take_pair(p.dilation, attrs->dilation.value.i64s);
  return start(run, &p, run->call->inputs[0]->shape, run->out[0]->shape);
}

/* Windows take as many turns as name one pixel: not where these are many, as with steps of one, or indices that are all
 * the same. */
static bool takes_turns(const Gpu *gpu, const GpuPool *p, BurnDType dtype) {
  const int64_t pixels = p->pixels[0] * p->pixels[1], windows = p->windows[0] * p->windows[1];
  return gpu->has_shared_atomics && pixels <= GPU_POOL_PLANE(burn_dtype_bytes(dtype)) && windows <= pixels / 2;
}

/* A block for each plane, whose pixels lie in shared memory. */
static BurnStatus start_turns(Gpu *gpu, GpuPool *p, BurnPrimitive *grad, BurnPrimitive *indices,
                              const BurnPrimitive *out) {
  const GpuKernelKey key = {.text = GPU_TEXT_POOL,
                            .out = out->dtype,
                            .in = {grad->dtype, indices->dtype, grad->dtype},
                            .variant = LARGEST_TURNS};
  GpuFunction *function = NULL;
  const BurnStatus status = burn__gpu_kernel(gpu, &key, NULL, &function);
  if (status != BURN_OK) return status;
  return burn__gpu_launch(gpu, function, (uint64_t)p->planes, THREADS, p, sizeof *p);
}

/* A block, or where planes are few some blocks, for each plane. */
static BurnStatus start_largest_backward(Gpu *gpu, GpuPool *p, BurnPrimitive *grad, BurnPrimitive *indices,
                                         const BurnPrimitive *out) {
  const GpuKernelKey key = {.text = GPU_TEXT_POOL,
                            .out = out->dtype,
                            .in = {grad->dtype, indices->dtype, grad->dtype},
                            .variant = LARGEST_BACKWARD + (is_wide(grad, out) ? WIDE : 0)};
  const int64_t most = (p->pixels[0] * p->pixels[1] + SLICE - 1) / SLICE;
  const int64_t wanted = (BLOCKS_OF_UNIT * (int64_t)gpu->unit_count + p->planes - 1) / p->planes;
  p->slices = wanted < most ? wanted : most;
  const BurnTensorDesc room = {
      .dtype = BURN_DTYPE_I32,
      .rank = 2,
      .shape = {p->planes * p->slices, 2 * (p->pixels[0] + p->pixels[1] + p->windows[0] + p->windows[1])}};
  BurnPrimitive *ranges = NULL;
  GpuFunction *function = NULL;
  BurnStatus status = burn__gpu_new(gpu, &room, &ranges);
  if (status == BURN_OK) status = burn__gpu_kernel(gpu, &key, NULL, &function);
  if (status == BURN_OK) {
    p->ranges = gpu_address(ranges);
    status = burn__gpu_launch(gpu, function, (uint64_t)(p->planes * p->slices), THREADS, p, sizeof *p);
  }
  burn__gpu_release(gpu, ranges);
  return status;
}

static BurnStatus max_pool2d_backward(const GpuRun *run) {
  BurnPrimitive *const *in = run->call->inputs, *grad = NULL, *indices = NULL;
  BurnStatus status = burn__gpu_output(run, 0);
  if (status != BURN_OK || burn_primitive_count(run->out[0]) == 0) return status;
  const BurnPrimitive *out = run->out[0];
  GpuPool p = {.planes = out->shape[0] * out->shape[1]};
  take_pair(p.pixels, out->shape + 2);
  take_pair(p.windows, in[0]->shape + 2);
  status = burn__gpu_row_major(run->gpu, in[0], &grad);
  if (status == BURN_OK) status = burn__gpu_row_major(run->gpu, in[1], &indices);
  if (status == BURN_OK) {
    p.out = gpu_address(out);
    p.in = gpu_address(grad);
    p.indices = gpu_address(indices);
    const bool in_turns = takes_turns(run->gpu, &p, out->dtype);
    status = (in_turns ? start_turns : start_largest_backward)(run->gpu, &p, grad, indices, out);
  }
  burn__gpu_release(run->gpu, grad);
  burn__gpu_release(run->gpu, indices);
  return status;
}

static BurnStatus avg_pool2d(const GpuRun *run) {
  const BurnAttrs_avg_pool2d *attrs = BURN_ATTRS(avg_pool2d, run->call);
  GpuPool p = {.count_include_pad = attrs->count_include_pad.value.i64 != 0};
  const BurnStatus status = burn__gpu_output(run, 0);
  if (status != BURN_OK) return status;
  take_pair(p.kernel, attrs->kernel_size.value.i64s);
  take_pair(p.stride, attrs->stride.value.i64s);
  take_pair(p.padding, attrs->padding.value.i64s);
  return start(run, &p, run->call->inputs[0]->shape, run->out[0]->shape);
}

static BurnStatus avg_pool2d_backward(const GpuRun *run) {
  const BurnAttrs_avg_pool2d_backward *attrs = BURN_ATTRS(avg_pool2d_backward, run->call);
  GpuPool p = {.count_include_pad = attrs->count_include_pad.value.i64 != 0};
  const BurnStatus status = burn__gpu_output(run, 0);
  if (status != BURN_OK) return status;
  take_pair(p.kernel, attrs->kernel_size.value.i64s);
  take_pair(p.stride, attrs->stride.value.i64s);
  take_pair(p.padding, attrs->padding.value.i64s);
  return start(run, &p, run->out[0]->shape, run->call->inputs[0]->shape);
}

static BurnStatus adaptive_avg_pool2d(const GpuRun *run) {
  GpuPool p = {.planes = 0};
  const BurnStatus status = burn__gpu_output(run, 0);
  return status == BURN_OK ? start(run, &p, run->call->inputs[0]->shape, run->out[0]->shape) : status;
}

static BurnStatus adaptive_avg_pool2d_backward(const GpuRun *run) {
  GpuPool p = {.planes = 0};
  const BurnStatus status = burn__gpu_output(run, 0);
  return status == BURN_OK ? start(run, &p, run->out[0]->shape, run->call->inputs[0]->shape) : status;
}

const GpuRow burn__gpu_pool_rows[] = {
    {BURN_OP_max_pool2d, max_pool2d, LARGEST},
    {BURN_OP_max_pool2d_with_indices, max_pool2d_with_indices, LARGEST},
    {BURN_OP_max_pool2d_backward, max_pool2d_backward, LARGEST_BACKWARD},
    {BURN_OP_avg_pool2d, avg_pool2d, MEAN},
    {BURN_OP_avg_pool2d_backward, avg_pool2d_backward, MEAN_BACKWARD},
    {BURN_OP_adaptive_avg_pool2d, adaptive_avg_pool2d, ADAPTIVE},
    {BURN_OP_adaptive_avg_pool2d_backward, adaptive_avg_pool2d_backward, ADAPTIVE_BACKWARD},
    {0, NULL, 0}};
