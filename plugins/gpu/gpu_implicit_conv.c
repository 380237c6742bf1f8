/* gpu_implicit_conv.c - convolutions as products whose columns are gathered while they are read: tiles, parts of the
 * sums, kernels/implicit_conv.cu. */
#include "gpu.h"

/* Tiles of kernels/implicit_conv.cu by their numbers there; see GpuTilesCost. */
static const struct {
  int64_t rows, columns;
  double speed, at_least;
  int64_t at_once;
} tiles[] = {{64, 64, 0.72, 1.8, 4}, {32, 128, 0.6, 1.8, 4}};
enum { TILES = sizeof tiles / sizeof tiles[0] };

/* Parts of a variant beside GpuConvKind. */
enum { TILE = 4, BY_FOURS = 16 };
enum { MIN_SIDE = 16, THREADS = 128 };

enum { MAX_PARTS = 256 };
static const int64_t MAX_SUMS = (int64_t)16 << 20; /* of all parts */

/* The product of a group, or of the largest phase of one: m, n and k, how often there is one, and all results. */
typedef struct Product {
  int64_t m, n, k, count, results;
  int64_t left_line; /* elements from one row of the left operand to the next */
} Product;

static Product product_of(const GpuConv *p, GpuConvKind kind) {
  const int64_t in_group = p->in_channels / p->groups, out_group = p->out_channels / p->groups;
  const int64_t taps = p->kernel[0] * p->kernel[1], places = p->windows[0] * p->windows[1];
  const int64_t pixels = p->in[0] * p->in[1], y = p->stride[0], x = p->stride[1];
  switch (kind) {
    case GPU_CONV_FORWARD:
      return (Product){
          out_group,      p->batch * places, in_group * taps, p->groups, p->batch * p->out_channels * places,
          in_group * taps};
    case GPU_CONV_TRANSPOSED:
      return (Product){in_group,
                       p->batch * gpu_pieces(p->in[0], y) * gpu_pieces(p->in[1], x),
                       out_group * gpu_pieces(p->kernel[0], y) * gpu_pieces(p->kernel[1], x),
                       p->groups * y * x,
                       p->batch * p->in_channels * pixels,
                       taps};
    default:
      return (Product){out_group, in_group * taps, p->batch * places, p->groups, p->out_channels * in_group * taps,
                       places};
  }
}

/* -- which convolutions ----------------------------------------------------------------------- */

/* Do 32 bits count what the kernels go through, with the blocks that begin within it? */
static bool is_countable(const GpuConv *p) {
  const int64_t pixels = p->batch * p->in_channels * (p->in[0] + 2 * p->padding[0]) * (p->in[1] + 2 * p->padding[1]);
  const int64_t windows = p->batch * p->out_channels * p->windows[0] * p->windows[1];
  const int64_t weights = p->out_channels * (p->in_channels / p->groups) * p->kernel[0] * p->kernel[1];
  const int64_t most = INT32_MAX / 4;
  return pixels <= most && windows <= most && weights <= most && p->in[0] * p->in[1] > 0;
}

/* Has the phase of a transposed convolution neighbouring windows alone? */
static bool has_phases(const GpuConv *p) {
  for (int axis = 0; axis < 2; axis++)
    if (p->stride[axis] > 1 && p->dilation[axis] > 1) return false;
  return true;
}

bool burn__gpu_implicit_conv_pays(const Gpu *gpu, BurnDType dtype, const GpuConv *p, GpuConvKind kind) {
  const Product product = product_of(p, kind);
  const bool is_taken = dtype == BURN_DTYPE_F32 || dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16;
  if (!is_taken || gpu->is_processor || !is_countable(p) || (kind == GPU_CONV_TRANSPOSED && !has_phases(p)))
    return false;
  return product.m >= MIN_SIDE && product.n >= MIN_SIDE && product.k >= MIN_SIDE;
}

/* -- tiles and parts -------------------------------------------------------------------------- */

static int64_t blocks_of(const Product *product, uint32_t tile) {
  return product->count * gpu_pieces(product->m, tiles[tile].rows) * gpu_pieces(product->n, tiles[tile].columns);
}

static void costs_of(const Product *product, GpuTilesCost out[TILES]) {
  for (uint32_t tile = 0; tile < TILES; tile++)
    out[tile] = (GpuTilesCost){.tile = (double)(tiles[tile].rows * tiles[tile].columns),
                               .speed = tiles[tile].speed,
                               .at_least = tiles[tile].at_least,
                               .at_once = tiles[tile].at_once,
                               .groups = blocks_of(product, tile),
                               .k = product->k,
                               .results = product->results};
}

/* Results are the same in all. */
static uint32_t tile_of(const Gpu *gpu, const Product *product, int64_t parts) {
  GpuTilesCost costs[TILES];
  costs_of(product, costs);
  return burn__gpu_choose_tile(costs, TILES, gpu->unit_count, parts);
}

static void set_parts(GpuConv *p, const Product *product) {
  GpuTilesCost costs[TILES];
  costs_of(product, costs);
  const int64_t parts = burn__gpu_choose_parts(costs, TILES, MAX_PARTS, MAX_SUMS);
  p->part_size = gpu_pieces(gpu_pieces(product->k, parts), GPU_CONV_DEPTH) * GPU_CONV_DEPTH;
  p->parts = gpu_pieces(product->k, p->part_size);
}

/* -- launches --------------------------------------------------------------------------------- */

static BurnStatus start(const GpuRun *run, const GpuConv *p, GpuConvKind kind, BurnDType out) {
  const BurnDType in = run->call->inputs[0]->dtype;
  const Product product = product_of(p, kind);
  const uint32_t tile = tile_of(run->gpu, &product, p->parts);
  const bool in_fours = kind != GPU_CONV_TRANSPOSED && product.left_line % 4 == 0 &&
                        p->weight % (GpuAddress)(4 * burn_dtype_bytes(in)) == 0;
  const GpuKernelKey key = {.text = GPU_TEXT_IMPLICIT_CONV,
                            .out = out,
                            .in = {in, in, in},
                            .variant = (uint32_t)kind + TILE * tile + (in_fours ? BY_FOURS : 0)};
  GpuFunction *function = NULL;
  const BurnStatus status = burn__gpu_kernel(run->gpu, &key, NULL, &function);
  if (status != BURN_OK) return status;
  return burn__gpu_launch(run->gpu, function, (uint64_t)(blocks_of(&product, tile) * p->parts), THREADS, p, sizeof *p);
}

BurnStatus burn__gpu_implicit_conv(const GpuRun *run, const GpuConv *conv, GpuConvKind kind) {
  GpuConv p = *conv;
  const Product product = product_of(&p, kind);
  set_parts(&p, &product);
  if (p.parts == 1) return start(run, &p, kind, run->out[0]->dtype);
  const BurnTensorDesc desc = {.dtype = BURN_DTYPE_F32, .rank = 2, .shape = {p.parts, product.results}};
  BurnPrimitive *sums = NULL;
  BurnStatus status = burn__gpu_new(run->gpu, &desc, &sums);
  if (status != BURN_OK) return status;
  p.out = gpu_address(sums);
  status = start(run, &p, kind, BURN_DTYPE_F32);
  if (status == BURN_OK) status = burn__gpu_join_conv(run, conv->out, p.out, p.parts, product.results);
  burn__gpu_release(run->gpu, sums);
  return status;
}
