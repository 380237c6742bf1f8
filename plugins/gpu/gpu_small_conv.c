/* gpu_small_conv.c - convolutions of few channels, by kernels that are compiled for their taps and stride. */
#include "gpu.h"

/* Variants of kernels/small_conv.cu; the first are those of GpuConvKind. */
enum { WEIGHT = GPU_CONV_WEIGHT, PARTS };
enum { TAPS_Y = 4, TAPS_X = 32, STRIDE = 256, FORM = 1024 }; /* what these are multiplied by in a variant */
/* A form is the channels of a thread, and its rows of results by OF_ROWS; or, of a weight's gradient, this where warps
 * share what they read, or a block has two halves, which have other channels of the gradient. */
enum { OF_ROWS = 16, SHARED = 16, TWO_HALVES = 32 };
enum { MAX_CHANNELS = 32, MAX_TAPS = 5, MAX_STRIDE = 2, MAX_WEIGHTS = 400 }; /* channels times taps of a result */
enum { THREADS = 128, ROWS = 4, MANY_ROWS = 8, BLOCKS_OF_UNIT = 3 };
enum { PART_THREADS = 256, PART_ROWS = 8, WARPS = 8, BLOCKS = 256, WEIGHTS = 32, LANES = 32, MANY_RESULTS = 32768 };
enum { MANY_TAPS = 9 };                  /* more leave registers for fewer sums */
enum { HALVES_SHARED_BYTES = 32 << 10 }; /* enough for a block of two halves, whatever its channels and taps */

bool burn__gpu_small_conv_pays(const Gpu *gpu, BurnDType dtype, const GpuConv *p) {
  const bool is_taken = dtype == BURN_DTYPE_F32 || dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16;
  const int64_t in_group = p->in_channels / p->groups, out_group = p->out_channels / p->groups;
  const int64_t taps = p->kernel[0] * p->kernel[1], most = (in_group > out_group ? in_group : out_group) * taps;
  bool fits = is_taken && !gpu->is_processor && taps > 1 && most <= MAX_CHANNELS * taps && most <= MAX_WEIGHTS;
  for (int axis = 0; axis < 2; axis++)
    fits = fits && p->kernel[axis] <= MAX_TAPS && p->stride[axis] <= MAX_STRIDE && p->dilation[axis] == 1;
  return fits && p->stride[0] == p->stride[1] && in_group * out_group > 1;
}

/* `form`: 0 for the sum of parts. */
static BurnStatus launch(const GpuRun *run, const GpuConv *p, uint32_t pass, int64_t form, int64_t groups,
                         uint32_t threads) {
  const BurnDType dtype = run->call->inputs[0]->dtype;
  const int64_t shape =
      pass == PARTS ? 0 : p->kernel[0] * TAPS_Y + p->kernel[1] * TAPS_X + p->stride[0] * STRIDE + form * FORM;
  const GpuKernelKey key = {.text = GPU_TEXT_SMALL_CONV,
                            .out = run->out[0]->dtype,
                            .in = {dtype, dtype, dtype},
                            .variant = pass + (uint32_t)shape};
  GpuFunction *function = NULL;
  const BurnStatus status = burn__gpu_kernel(run->gpu, &key, NULL, &function);
  return status == BURN_OK ? burn__gpu_launch(run->gpu, function, (uint64_t)groups, threads, p, sizeof *p) : status;
}

/* How many warps of a block go down different places. */
static int64_t slices_of(int64_t in_group) { return WARPS / gpu_pieces(in_group, gpu_pieces(in_group, WARPS)); }

/* A block has 32 results, and each of its warps every 8th part of them. Of fewer parts and many results threads have
 * some, and add in the same order. */
BurnStatus burn__gpu_join_conv(const GpuRun *run, GpuAddress out, GpuAddress sums, int64_t parts, int64_t count) {
  const GpuConv p = {
      .out = out, .bias = sums, .out_channels = count, .in_channels = 1, .groups = 1, .kernel = {1, 1}, .parts = parts};
  const GpuMatmul few = {.out = out, .lhs = sums, .m = 1, .n = count, .batches = 1, .parts = parts};
  if (parts <= WARPS && count >= MANY_RESULTS)
    return burn__gpu_join_product(run->gpu, BURN_DTYPE_F32, run->out[0]->dtype, &few);
  return launch(run, &p, PARTS, 0, gpu_pieces(count, WEIGHTS), PART_THREADS);
}

/* How many halves a block has. Where the compiler looks at the block alone, a small one gets so many registers a thread
 * that a unit has room for one block; a thread of a large one gets fewer, and the unit has twice as many warps. */
static int64_t halves_of(const Gpu *gpu, int64_t out_group, int64_t channels) {
  const bool has_room = gpu->most_threads >= 2 * PART_THREADS && gpu->shared_bytes >= HALVES_SHARED_BYTES;
  return gpu->is_generous && has_room && out_group > channels ? 2 : 1;
}

/* The parts are decided by the shape alone, so that the sums are the same on every device. */
static BurnStatus weight_gradient(const GpuRun *run, GpuConv p) {
  const int64_t in_group = p.in_channels / p.groups, weights = p.out_channels * in_group * p.kernel[0] * p.kernel[1];
  const int64_t channels = p.kernel[0] * p.kernel[1] > MANY_TAPS ? 4 : 8;
  const int64_t out_group = p.out_channels / p.groups, in_sets = p.groups * gpu_pieces(in_group, WARPS);
  const int64_t halves = halves_of(run->gpu, out_group, channels);
  const int64_t form = channels + (slices_of(in_group) == 1 ? SHARED : 0) + (halves == 2 ? TWO_HALVES : 0);
  const int64_t sets = in_sets * gpu_pieces(out_group, channels);
  const int64_t blocks = in_sets * gpu_pieces(out_group, channels * halves);
  const uint32_t threads = (uint32_t)(PART_THREADS * halves);
  const int64_t all = p.batch * gpu_pieces(p.windows[0], PART_ROWS) * p.windows[1];
  const int64_t wanted = gpu_pieces(all, gpu_pieces(BLOCKS, sets)), at_once = slices_of(in_group) * LANES;
  p.part_size = wanted < at_once ? at_once : gpu_pieces(wanted, at_once) * at_once;
  p.parts = all == 0 ? 1 : gpu_pieces(all, p.part_size);
  if (p.parts == 1) return launch(run, &p, WEIGHT, form, blocks, threads);
  const BurnTensorDesc desc = {.dtype = BURN_DTYPE_F32, .rank = 2, .shape = {p.parts, weights}};
  BurnPrimitive *sums = NULL;
  BurnStatus status = burn__gpu_new(run->gpu, &desc, &sums);
  if (status != BURN_OK) return status;
  p.bias = gpu_address(sums);
  status = launch(run, &p, WEIGHT, form, blocks * p.parts, threads);
  if (status == BURN_OK) status = burn__gpu_join_conv(run, p.out, p.bias, p.parts, weights);
  burn__gpu_release(run->gpu, sums);
  return status;
}

/* Rows of results of a thread: more use what it reads more often, where its registers hold what they meet (NVRTC gives
 * it so many that a unit has room for few blocks) and few of them lie beyond the last row. */
static int64_t rows_of(const Gpu *gpu, const GpuConv *p, GpuConvKind kind, int64_t down) {
  const bool fits = gpu_pieces(down, MANY_ROWS) * MANY_ROWS * 10 <= gpu_pieces(down, ROWS) * ROWS * 11;
  const bool has_registers = gpu->is_generous && p->kernel[0] * p->kernel[1] <= MANY_TAPS;
  return kind == GPU_CONV_FORWARD && fits && has_registers ? MANY_ROWS : ROWS;
}

/* Blocks of `sets` each, of `blocks` that would take one turn. */
static int64_t blocks_in_turns(const Gpu *gpu, int64_t blocks, int64_t sets) {
  const int64_t at_once = 1 + (int64_t)gpu->unit_count * BLOCKS_OF_UNIT / sets;
  return gpu->is_generous ? gpu_pieces(blocks, 1 + blocks / at_once) : blocks;
}

BurnStatus burn__gpu_small_conv(const GpuRun *run, const GpuConv *p, GpuConvKind kind) {
  if (kind == GPU_CONV_WEIGHT) return weight_gradient(run, *p);
  const bool is_forward = kind == GPU_CONV_FORWARD;
  const int64_t *results = is_forward ? p->windows : p->in, phases = is_forward ? 1 : p->stride[0];
  const int64_t to_group = (is_forward ? p->out_channels : p->in_channels) / p->groups;
  const int64_t down = gpu_pieces(results[0], phases), across = gpu_pieces(results[1], phases);
  const int64_t threads_down = p->batch * across; /* of one row of results */
  int64_t channels = to_group > 4 ? 8 : 4, rows = rows_of(run->gpu, p, kind, down);
  int64_t sets = p->groups * gpu_pieces(to_group, channels) * phases * phases;
  int64_t blocks = gpu_pieces(threads_down * gpu_pieces(down, rows), THREADS);
  if (blocks * sets < (int64_t)run->gpu->unit_count) { /* less work for each thread, so that more units have some */
    channels = 4;
    rows = 1;
    sets = p->groups * gpu_pieces(to_group, channels) * phases * phases;
    blocks = gpu_pieces(threads_down * down, THREADS);
  }
  GpuConv turns = *p; /* a block brings its weights once, for all its turns */
  turns.parts = blocks_in_turns(run->gpu, blocks, sets);
  return launch(run, &turns, (uint32_t)kind, channels + rows * OF_ROWS, turns.parts * sets, THREADS);
}
