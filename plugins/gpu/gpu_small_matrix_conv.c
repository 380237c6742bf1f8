/* gpu_small_matrix_conv.c - convolutions of few channels by tensor cores: tiles of their places, what is launched. */
#include "gpu.h"

enum { WEIGHT = GPU_CONV_WEIGHT, TAPS_Y = 4, TAPS_X = 32, SETS = 256 }; /* what these are multiplied by in a variant */
enum { MOST_TAPS = 5, LEAST_CHANNELS = 4, MOST_CHANNELS = 64 };
enum { THREADS = 128, LINE = 32 }; /* numbers of a line of pixels, at most */
enum {
  IN_SET = 8,
  OUT_SET = 16,
  BLOCKS = 768
}; /* of a weight's gradient: a block's channels; how many fill a device */

static int64_t rounded_up(int64_t count, int64_t unit) { return (count + unit - 1) / unit; }

/* Halves lose nothing in products of TF32; f32 goes through them where convolutions may. */
static bool takes_dtype(const Gpu *gpu, BurnDType dtype) {
  return gpu->has_tensor_cores && (burn__gpu_is_half(dtype) || (dtype == BURN_DTYPE_F32 && gpu->tf32));
}

bool burn__gpu_small_matrix_conv_pays(const Gpu *gpu, BurnDType dtype, const GpuConv *p) {
  const int64_t least = p->in_channels < p->out_channels ? p->in_channels : p->out_channels;
  const int64_t most = p->in_channels < p->out_channels ? p->out_channels : p->in_channels;
  bool fits = takes_dtype(gpu, dtype) && p->groups == 1 && least >= LEAST_CHANNELS && most <= MOST_CHANNELS;
  for (int axis = 0; axis < 2; axis++)
    fits = fits && p->kernel[axis] <= MOST_TAPS && p->stride[axis] == 1 && p->dilation[axis] == 1;
  return fits && p->kernel[0] * p->kernel[1] > 1;
}

/* Tiles as large as shared memory has them, and of one size as far as may be. Returns how many an example has. */
static int64_t cut(GpuConv *p, const int64_t places[2]) {
  const int64_t across = rounded_up(places[1], LINE + 1 - p->kernel[1]);
  p->tile[1] = rounded_up(places[1], across);
  const int64_t pitch = p->tile[1] + p->kernel[1] - 1, most = (GPU_SMALL_PLACES - p->tile[1]) / pitch + 1;
  const int64_t down = rounded_up(places[0], most);
  p->tile[0] = rounded_up(places[0], down);
  return down * across;
}

static BurnStatus launch(const GpuRun *run, const GpuConv *p, uint32_t pass, int64_t sets, int64_t groups) {
  const BurnDType dtype = run->call->inputs[0]->dtype;
  const GpuKernelKey key = {.text = GPU_TEXT_SMALL_MATRIX_CONV,
                            .out = run->out[0]->dtype,
                            .in = {dtype, dtype, dtype},
                            .variant = pass + (uint32_t)(p->kernel[0] * TAPS_Y + p->kernel[1] * TAPS_X + sets * SETS)};
  GpuFunction *function = NULL;
  const BurnStatus status = burn__gpu_kernel(run->gpu, &key, NULL, &function);
  return status == BURN_OK ? burn__gpu_launch(run->gpu, function, (uint64_t)groups, THREADS, p, sizeof *p) : status;
}

/* The parts are decided by the shape alone, so that the sums are the same on every device. */
static BurnStatus weight_gradient(const GpuRun *run, GpuConv p) {
  const int64_t weights = p.out_channels * p.in_channels * p.kernel[0] * p.kernel[1];
  const int64_t sets = rounded_up(p.in_channels, IN_SET) * rounded_up(p.out_channels, OUT_SET);
  const int64_t all = p.batch * cut(&p, p.windows);
  p.part_size = rounded_up(all, rounded_up(BLOCKS, sets));
  p.parts = rounded_up(all, p.part_size);
  if (p.parts == 1) return launch(run, &p, WEIGHT, 0, sets);
  const BurnTensorDesc desc = {.dtype = BURN_DTYPE_F32, .rank = 2, .shape = {p.parts, weights}};
  BurnPrimitive *sums = NULL;
  BurnStatus status = burn__gpu_new(run->gpu, &desc, &sums);
  if (status != BURN_OK) return status;
  p.bias = gpu_address(sums);
  status = launch(run, &p, WEIGHT, 0, sets * p.parts);
  if (status == BURN_OK) status = burn__gpu_join_conv(run, p.out, p.bias, p.parts, weights);
  burn__gpu_release(run->gpu, sums);
  return status;
}

BurnStatus burn__gpu_small_matrix_conv(const GpuRun *run, const GpuConv *conv, GpuConvKind kind) {
  GpuConv p = *conv;
  if (kind == GPU_CONV_WEIGHT) return weight_gradient(run, p);
  const bool is_forward = kind == GPU_CONV_FORWARD;
  const int64_t tiles = p.batch * cut(&p, is_forward ? p.windows : p.in);
  const int64_t to = is_forward ? p.out_channels : p.in_channels, sets = to > 8 ? 2 : 1;
  return launch(run, &p, (uint32_t)kind, sets, tiles * rounded_up(to, 8 * sets));
}
