/* gpu_matrix_conv.c - convolutions of stride 1 by tensor cores, of pixels as they lie: tiles of their places, what is
 * launched. */
#include "gpu.h"

enum { MAX_TAPS = 5, MIN_CHANNELS = 4, MAX_CHANNELS = 64 };
enum { RUN_UNIT = 8, MAX_RUN = 7, MAX_ROWS = 7 };
/* Sums of a thread of a block of 128; 256 have half of them each, so that a device has registers for two blocks at
 * once, which is faster than one of more rows. */
enum { MAX_SUMS = 112 };
enum { FEW_TAPS = 9 }; /* up to which a thread has two shares of channels */
/* Of shared memory of a block, of which a device runs two at once, or one. */
enum { MAX_BYTES = 96 << 10, ALONE_BYTES = 224 << 10 };
enum { BLOCKS = 128 }; /* of a weight's gradient, of which a device runs one at once */

static int64_t most_of(int64_t a, int64_t b) { return a > b ? a : b; }

/* How the work is shared, by the names of matrix_conv.cu, and what a block has. */
typedef struct Plan {
  int64_t run, rows, shares, across, in_shares, in_across_log, at_once, weights_by_four;
  int64_t tile[2], tiles, sets; /* tiles: of an example; sets: of channels */
  int64_t threads, bytes;
} Plan;

/* Columns of a tile, and of a thread. */
static void cut_columns(Plan *plan, int64_t columns) {
  const int64_t across = gpu_pieces(columns, RUN_UNIT * MAX_RUN);
  plan->tile[1] = gpu_pieces(columns, across);
  plan->run = gpu_pieces(plan->tile[1], RUN_UNIT);
  plan->tiles = gpu_pieces(columns, plan->tile[1]);
}

/* Copies of f32 have as many numbers as divide the lines of tensors, and as shared memory takes. */
static int64_t at_once_of(const Plan *plan, BurnDType dtype, int64_t width, int64_t other_width, uint64_t addresses) {
  for (int64_t count = 4; count > 1 && dtype == BURN_DTYPE_F32; count /= 2) {
    if (width % count != 0 || other_width % count != 0 || addresses % (4 * (uint64_t)count) != 0) continue;
    if (plan->tiles > 1 && plan->tile[1] % count != 0) continue;
    if (count < 4 || plan->run % 2 == 1) return count;
  }
  return 1;
}

static int64_t stage_of(const Plan *plan, const GpuConv *p, GpuConvKind kind) {
  const int64_t channels = 16 * plan->shares * plan->across, taps = p->kernel[0] * p->kernel[1];
  return 8 * GPU_MATRIX_PLANE(plan->run, plan->rows, p->kernel[0], p->kernel[1], plan->at_once) +
         GPU_MATRIX_WEIGHTS(kind == GPU_CONV_FORWARD ? 0 : 1, channels, taps);
}

/* Results of a conv2d or of the gradient of its pixels. */
static Plan plan_results(const GpuConv *p, GpuConvKind kind, BurnDType dtype) {
  const bool is_forward = kind == GPU_CONV_FORWARD;
  const int64_t *places = is_forward ? p->windows : p->in, *pixels = is_forward ? p->in : p->windows;
  const int64_t to = is_forward ? p->out_channels : p->in_channels,
                from = is_forward ? p->in_channels : p->out_channels;
  const int64_t taps = p->kernel[0] * p->kernel[1], line = taps * (is_forward ? from : to);
  Plan plan = {.shares = to > 16 && taps <= FEW_TAPS ? 2 : 1, .in_shares = 1};
  plan.across = to > 16 * plan.shares ? 2 : 1;
  plan.sets = gpu_pieces(to, 16 * plan.shares * plan.across);
  cut_columns(&plan, places[1]);
  plan.at_once = at_once_of(&plan, dtype, pixels[1], 0, p->x);
  plan.weights_by_four = dtype == BURN_DTYPE_F32 && line % 4 == 0 && p->weight % 16 == 0;
  const int64_t most = MAX_SUMS / (4 * plan.run * plan.shares * plan.across);
  const int64_t down = gpu_pieces(places[0], GPU_MATRIX_DOWN * (most < MAX_ROWS ? most : MAX_ROWS));
  plan.tile[0] = gpu_pieces(places[0], down);
  plan.rows = gpu_pieces(plan.tile[0], GPU_MATRIX_DOWN);
  plan.tiles *= gpu_pieces(places[0], plan.tile[0]);
  plan.threads = 32 * GPU_MATRIX_DOWN * plan.across;
  const int64_t on_its_way = plan.threads / 32 * 16 * GPU_MATRIX_PITCH(8 * plan.run, plan.run);
  plan.bytes = 4 * most_of(on_its_way, stage_of(&plan, p, kind) * (from > 8 ? 2 : 1));
  return plan;
}

static int64_t gradient_bytes(const Plan *plan, const GpuConv *p, int64_t rows) {
  const int64_t outs = 16 * plan->shares * plan->across, ins = 8 * plan->in_shares << plan->in_across_log;
  const int64_t length = GPU_MATRIX_LINE(plan->run, p->kernel[1], plan->at_once), lines = rows + p->kernel[0] - 1;
  const int64_t stage =
      outs * GPU_MATRIX_PLACES(rows * 8 * plan->run, plan->run) + ins * GPU_MATRIX_PLACES(lines * length, plan->run);
  return 4 * most_of(2 * stage, outs * GPU_MATRIX_SUMS(ins, p->kernel[0] * p->kernel[1]));
}

/* A block of a weight's gradient has as many rows as fit, and as its warps share without rest. */
static void cut_rows(Plan *plan, const GpuConv *p) {
  const int64_t along = GPU_MATRIX_WARPS / plan->across >> plan->in_across_log;
  const int64_t most = gradient_bytes(plan, p, along) <= MAX_BYTES ? MAX_BYTES : ALONE_BYTES;
  int64_t rows = along;
  while (rows < p->windows[0] && gradient_bytes(plan, p, rows + along) <= most) rows += along;
  const int64_t down = gpu_pieces(p->windows[0], rows);
  plan->tile[0] = gpu_pieces(gpu_pieces(p->windows[0], down), along) * along;
  plan->tiles *= gpu_pieces(p->windows[0], plan->tile[0]);
}

static Plan plan_weight(const GpuConv *p, BurnDType dtype) {
  const bool has_few = p->kernel[0] * p->kernel[1] <= FEW_TAPS;
  Plan plan = {.shares = p->out_channels > 16 && has_few ? 2 : 1, .in_shares = p->in_channels > 8 && has_few ? 2 : 1};
  plan.across = p->out_channels > 16 * plan.shares ? 2 : 1;
  while (plan.in_across_log < 2 && p->in_channels > 8 * plan.in_shares << plan.in_across_log) plan.in_across_log++;
  plan.sets = gpu_pieces(p->out_channels, 16 * plan.shares * plan.across) *
              gpu_pieces(p->in_channels, 8 * plan.in_shares << plan.in_across_log);
  cut_columns(&plan, p->windows[1]);
  plan.at_once = at_once_of(&plan, dtype, p->windows[1], p->in[1], p->x | p->weight);
  cut_rows(&plan, p);
  plan.threads = 32 * GPU_MATRIX_WARPS;
  plan.bytes = gradient_bytes(&plan, p, plan.tile[0]);
  return plan;
}

static Plan plan_of(const GpuConv *p, GpuConvKind kind, BurnDType dtype) {
  return kind == GPU_CONV_WEIGHT ? plan_weight(p, dtype) : plan_results(p, kind, dtype);
}

/* Halves lose nothing in products of TF32; f32 goes through them where convolutions may. */
static bool takes_dtype(const Gpu *gpu, BurnDType dtype) {
  return gpu->has_tensor_cores && (burn__gpu_is_half(dtype) || (dtype == BURN_DTYPE_F32 && gpu->tf32));
}

bool burn__gpu_matrix_conv_pays(const Gpu *gpu, BurnDType dtype, const GpuConv *p, GpuConvKind kind) {
  const int64_t least = p->in_channels < p->out_channels ? p->in_channels : p->out_channels;
  const int64_t most = most_of(p->in_channels, p->out_channels);
  bool fits = takes_dtype(gpu, dtype) && p->groups == 1 && least >= MIN_CHANNELS && most <= MAX_CHANNELS;
  for (int axis = 0; axis < 2; axis++) {
    fits = fits && p->kernel[axis] <= MAX_TAPS && p->stride[axis] == 1 && p->dilation[axis] == 1;
    fits = fits && p->batch > 0 && p->in[axis] > 0 && p->windows[axis] > 0;
  }
  if (!fits || p->kernel[0] * p->kernel[1] == 1) return false;
  return plan_of(p, kind, dtype).bytes <= gpu->most_shared_bytes;
}

static BurnStatus launch(const GpuRun *run, GpuConv *p, GpuConvKind kind, const Plan *plan, int64_t groups) {
  const BurnDType dtype = run->call->inputs[0]->dtype;
  const int64_t at_once_log = plan->at_once / 2; /* of 1, 2, 4 */
  const int64_t variant = (int64_t)kind + (p->kernel[0] << 2) + (p->kernel[1] << 5) + (plan->run << 8) +
                          (plan->rows << 11) + ((plan->shares - 1) << 14) + ((plan->across - 1) << 15) +
                          ((plan->in_shares - 1) << 16) + (plan->in_across_log << 17) + (at_once_log << 19) +
                          (plan->weights_by_four << 21);
  const GpuKernelKey key = {.text = GPU_TEXT_MATRIX_CONV,
                            .out = run->out[0]->dtype,
                            .in = {dtype, dtype, dtype},
                            .variant = (uint32_t)variant};
  const GpuLaunch launch = {(uint64_t)groups, (uint32_t)plan->threads, (uint32_t)plan->bytes};
  GpuFunction *function = NULL;
  p->tile[0] = plan->tile[0];
  p->tile[1] = plan->tile[1];
  const BurnStatus status = burn__gpu_kernel(run->gpu, &key, NULL, &function);
  return status == BURN_OK ? burn__gpu_launch_sharing(run->gpu, function, &launch, p, sizeof *p) : status;
}

/* The parts are decided by the shape alone, so that the sums are the same on every device. */
static BurnStatus weight_gradient(const GpuRun *run, GpuConv p, BurnDType dtype) {
  const Plan plan = plan_weight(&p, dtype);
  const int64_t weights = p.out_channels * p.in_channels * p.kernel[0] * p.kernel[1], all = p.batch * plan.tiles;
  const int64_t blocks = plan.bytes > MAX_BYTES ? BLOCKS : 2 * BLOCKS;
  p.part_size = gpu_pieces(all, gpu_pieces(blocks, plan.sets));
  p.parts = gpu_pieces(all, p.part_size);
  if (p.parts == 1) return launch(run, &p, GPU_CONV_WEIGHT, &plan, plan.sets);
  const BurnTensorDesc desc = {.dtype = BURN_DTYPE_F32, .rank = 2, .shape = {p.parts, weights}};
  BurnPrimitive *sums = NULL;
  BurnStatus status = burn__gpu_new(run->gpu, &desc, &sums);
  if (status != BURN_OK) return status;
  p.bias = gpu_address(sums);
  status = launch(run, &p, GPU_CONV_WEIGHT, &plan, plan.sets * p.parts);
  if (status == BURN_OK) status = burn__gpu_join_conv(run, p.out, p.bias, p.parts, weights);
  burn__gpu_release(run->gpu, sums);
  return status;
}

BurnStatus burn__gpu_matrix_conv(const GpuRun *run, const GpuConv *conv, GpuConvKind kind) {
  const BurnDType dtype = run->call->inputs[0]->dtype;
  GpuConv p = *conv;
  if (kind == GPU_CONV_WEIGHT) return weight_gradient(run, p, dtype);
  const Plan plan = plan_results(&p, kind, dtype);
  return launch(run, &p, kind, &plan, p.batch * plan.tiles * plan.sets);
}
