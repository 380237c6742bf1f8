/* gpu_linalg.c - matrix products: large ones by the maker's library, those with a vector (gpu_vector.c) and small ones
 * by kernels of ours. */
#include "gpu.h"

#include <string.h>

/* Tiles by their numbers in kernels/parameters.h; how fast they are, see GpuTilesCost, was measured on an H200. */
enum { TINY, SMALL, MIDDLE, LARGE, TILES };
enum { PADDING = 4, MAX_DEPTH = 1024, DEEPEST = 32 /* but TINY, which joins blocks by itself */, MAX_PARTS = 32 };
static const int64_t MAX_SUMS = (int64_t)32 << 20; /* of all parts: memory for the time of a product */
#define TILE_OF(tile) GPU_PRODUCT_ROWS(tile), GPU_PRODUCT_COLUMNS(tile), GPU_PRODUCT_THREADS(tile)
static const struct {
  int64_t rows, columns;
  uint32_t threads;
  double speed, at_least;
  int64_t at_once;
} tiles[TILES] = {{TILE_OF(TINY), 0.2, 1.3, 8},
                  {TILE_OF(SMALL), 0.6, 2.0, 6},
                  {TILE_OF(MIDDLE), 0.97, 1.5, 3},
                  {TILE_OF(LARGE), 1.02, 1.55, 3}};

/* -- products whose places are known ---------------------------------------------------------- */

/* Products that are worth the call of a library: below, a kernel of ours is done sooner. Those of f32 in small networks
 * (784 x 512 for 128 examples) take ours about as long as a library's, and ours add in the CPU's order. */
static bool is_large(const GpuProductKind *kind, const GpuMatmul *p) {
  static const double MAX_RESULTS = 1 << 20, MAX_MULTIPLICATIONS = 52 << 20;
  const double results = (double)p->batches * (double)p->m * (double)p->n;
  if (kind->in == BURN_DTYPE_F32 && !kind->tf32 && results <= MAX_RESULTS &&
      results * (double)p->k <= MAX_MULTIPLICATIONS)
    return false;
  return results >= 4096 && p->k >= 16;
}

static bool suits_library(const Gpu *gpu, const GpuProductKind *kind, const GpuMatmul *p) {
  return gpu->libraries && gpu->libraries->product && is_large(kind, p) &&
         (burn_dtype_kind(kind->in) == BURN_KIND_FLOAT || kind->in == BURN_DTYPE_I8);
}

static int64_t groups_of(const GpuMatmul *p, uint32_t tile) {
  return p->batches * gpu_pieces(p->m, tiles[tile].rows) * gpu_pieces(p->n, tiles[tile].columns);
}

/* Has a thread enough registers for its numbers? */
static bool suits_dtype(BurnDType in, uint32_t tile) { return tile != LARGE || burn_dtype_bytes(in) < 8; }

/* And a group enough shared memory for its tiles of both operands? */
static bool is_possible(const Gpu *gpu, BurnDType in, uint32_t tile) {
  const int64_t bytes = burn_dtype_bytes(in) == 8 ? 8 : 4, depth = GPU_PRODUCT_DEPTH(tile, bytes);
  const int64_t lines = tiles[tile].rows + tiles[tile].columns + 2 * PADDING;
  const int64_t shared = GPU_PRODUCT_COPIES(tile) * depth * lines * bytes;
  return suits_dtype(in, tile) && (tile == SMALL || shared <= (int64_t)gpu->shared_bytes);
}

/* What the tiles cost; without a device, on one that has room for all that suit the dtype. */
static void costs_of(const Gpu *gpu, BurnDType in, const GpuMatmul *p, GpuTilesCost out[TILES]) {
  for (uint32_t tile = 0; tile < TILES; tile++) {
    const bool is_there = gpu ? is_possible(gpu, in, tile) : suits_dtype(in, tile);
    out[tile] = (GpuTilesCost){.tile = (double)(tiles[tile].rows * tiles[tile].columns),
                               .speed = is_there ? tiles[tile].speed : 0,
                               .at_least = tiles[tile].at_least,
                               .at_once = tiles[tile].at_once,
                               .groups = groups_of(p, tile),
                               .k = p->k,
                               .results = p->batches * p->m * p->n};
  }
}

/* What the CPU adds in one chain is one part, and so its number is the CPU's. */
static int64_t parts_of(BurnDType in, const GpuMatmul *p) {
  GpuTilesCost costs[TILES];
  if (p->k <= MAX_DEPTH) return 1;
  costs_of(NULL, in, p, costs);
  return burn__gpu_choose_parts(costs, TILES, MAX_PARTS, MAX_SUMS);
}

static uint32_t tile_of(const Gpu *gpu, BurnDType in, const GpuMatmul *p) {
  GpuTilesCost costs[TILES];
  costs_of(gpu, in, p, costs);
  return burn__gpu_choose_tile(costs, TILES, gpu->unit_count, p->parts);
}

/* How deep the blocks are that k is cut into: equal ones of whole tiles, so that sums of many do not lose digits, and
 * those of the CPU's products where these are cut so. */
static int64_t depth_of(int64_t k) {
  const int64_t blocks = (k + MAX_DEPTH - 1) / MAX_DEPTH, even = blocks > 0 ? (k + blocks - 1) / blocks : 1;
  return (even + DEEPEST - 1) / DEEPEST * DEEPEST;
}

/* -- parts of k ------------------------------------------------------------------------------- */

/* Starts a product whose parts of k each have sums of their own, of dtype `out`. */
typedef BurnStatus Start(Gpu *gpu, const void *context, BurnDType in, BurnDType out, const GpuMatmul *p);

static BurnStatus by_parts(Gpu *gpu, const GpuProductKind *kind, const GpuMatmul *p, Start *start,
                           const void *context) {
  if (p->parts == 1) return start(gpu, context, kind->in, kind->out, p);
  const bool is_float = burn_dtype_kind(kind->in) == BURN_KIND_FLOAT;
  const BurnTensorDesc desc = {.dtype = is_float ? burn__gpu_wide_float(kind->in) : kind->out,
                               .rank = 1,
                               .shape = {p->parts * p->batches * p->m * p->n}};
  GpuMatmul product = *p, join = *p;
  BurnPrimitive *sums = NULL;
  BurnStatus status = burn__gpu_new(gpu, &desc, &sums);
  if (status != BURN_OK) return status;
  product.out = join.lhs = gpu_address(sums);
  product.bias = 0;
  status = start(gpu, context, kind->in, desc.dtype, &product);
  if (status == BURN_OK) status = burn__gpu_join_product(gpu, desc.dtype, kind->out, &join);
  burn__gpu_release(gpu, sums);
  return status;
}

/* -- on processors ---------------------------------------------------------------------------- */

/* Which pairs of an operand of f32 can be read at once: of neighbours along k (1), across (2), or none. */
static uint32_t pairs_of(const GpuMatmul *p, GpuAddress address, int64_t along, int64_t across, int64_t lines,
                         const int64_t *strides) {
  int64_t odd = address % 8 == 0 ? 0 : 1;
  for (int32_t i = 0; i < p->rank; i++) odd |= strides[i] & 1;
  if (along == 1 && ((across & 1) | odd) == 0) return 1;
  return across == 1 && ((along & 1) | (lines & 1) | odd) == 0 ? 2 : 0;
}

static BurnStatus start_direct(Gpu *gpu, const void *context, BurnDType in, BurnDType out, const GpuMatmul *p) {
  (void)context;
  const int64_t width = burn_dtype_bytes(in) == 8 ? 4 : 8;
  const int64_t threads = p->parts * p->batches * ((p->m + 3) / 4) * ((p->n + width - 1) / width);
  const uint32_t left = pairs_of(p, p->lhs, p->lhs_column, p->lhs_row, p->m, p->lhs_strides);
  const uint32_t right = pairs_of(p, p->rhs, p->rhs_row, p->rhs_column, p->n, p->rhs_strides);
  const GpuKernelKey key = {.text = GPU_TEXT_DIRECT_PRODUCT,
                            .out = out,
                            .in = {in, in, in},
                            .variant = in == BURN_DTYPE_F32 ? left + 3 * right : 0};
  GpuFunction *function = NULL;
  const uint64_t groups = (uint64_t)((threads + GPU_DIRECT_THREADS - 1) / GPU_DIRECT_THREADS);
  if (groups == 0) return BURN_OK;
  const BurnStatus status = burn__gpu_kernel(gpu, &key, NULL, &function);
  if (status != BURN_OK) return status;
  return burn__gpu_launch(gpu, function, groups, GPU_DIRECT_THREADS, p, sizeof *p);
}

/* Of k in one part: llvmpipe ends the loops of a thread, without a word, after 65,535 rounds of all of them. */
static const int64_t MAX_STEPS = 32768;

static BurnStatus direct_product(Gpu *gpu, const GpuProductKind *kind, const GpuMatmul *p) {
  GpuMatmul product = *p;
  product.depth = depth_of(p->k);
  product.part_size = p->k < MAX_STEPS ? p->k : MAX_STEPS;
  product.parts = p->k <= MAX_STEPS ? 1 : gpu_pieces(p->k, MAX_STEPS);
  return by_parts(gpu, kind, &product, start_direct, NULL);
}

/* -- on GPUs ---------------------------------------------------------------------------------- */

/* How tiles read an operand of `lines` rows or columns: by four elements along k (1) or across it (2) where they
 * lie so and none is beyond the last, or one by one. */
static uint32_t way_of(const GpuMatmul *p, BurnDType dtype, GpuAddress address, int64_t along, int64_t across,
                       int64_t lines, const int64_t *strides) {
  const int64_t bytes = burn_dtype_bytes(dtype);
  int64_t odd = address % (GpuAddress)(4 * bytes) == 0 && bytes <= 4 ? 0 : 1;
  for (int32_t i = 0; i < p->rank; i++) odd |= strides[i] % 4;
  if (along == 1 && (p->k % 4 | across % 4 | odd) == 0) return 1;
  return across == 1 && (lines % 4 | along % 4 | odd) == 0 ? 2 : 0;
}

static uint32_t ways_of(const GpuMatmul *p, BurnDType dtype) {
  const uint32_t left = way_of(p, dtype, p->lhs, p->lhs_column, p->lhs_row, p->m, p->lhs_strides);
  return left + 3 * way_of(p, dtype, p->rhs, p->rhs_row, p->rhs_column, p->n, p->rhs_strides);
}

/* Can all tiles of a large kind lie inside of both operands, as those at the edges are moved (1), and without a step of
 * k twice (2)? Fours of results that two tiles make in part need all of k at once. */
static uint32_t is_inside(const GpuMatmul *p, BurnDType in, uint32_t tile) {
  const int64_t depth = GPU_PRODUCT_DEPTH(tile, burn_dtype_bytes(in) == 8 ? 8 : 4);
  if (tile < MIDDLE || p->m < tiles[tile].rows || p->n < tiles[tile].columns || p->k < depth) return 0;
  if (p->n % 4 != 0 && p->k > p->depth) return 0;
  return p->k % depth == 0 ? 2 : 1;
}

static GpuKernelKey key_of(const GpuMatmul *p, BurnDType in, BurnDType out, uint32_t tile) {
  const uint32_t ways = tile == SMALL ? 0 : ways_of(p, in);
  const bool is_tiny = tile == TINY;
  return (GpuKernelKey){.text = is_tiny ? GPU_TEXT_SMALL_PRODUCT : GPU_TEXT_PRODUCT,
                        .out = out,
                        .in = {in, in, in},
                        .variant = is_tiny ? ways : tile + 4 * ways + 36 * is_inside(p, in, tile)};
}

/* `context`: the tile. */
static BurnStatus start_tiles(Gpu *gpu, const void *context, BurnDType in, BurnDType out, const GpuMatmul *p) {
  const uint32_t tile = *(const uint32_t *)context;
  const GpuKernelKey key = key_of(p, in, out, tile);
  GpuFunction *function = NULL;
  const BurnStatus status = burn__gpu_kernel(gpu, &key, NULL, &function);
  if (status != BURN_OK) return status;
  return burn__gpu_launch(gpu, function, (uint64_t)(groups_of(p, tile) * p->parts), tiles[tile].threads, p, sizeof *p);
}

static BurnStatus product_of_ours(Gpu *gpu, const GpuProductKind *kind, const GpuMatmul *p) {
  GpuMatmul product = *p;
  if (groups_of(p, SMALL) == 0) return BURN_OK;
  product.depth = depth_of(p->k);
  product.part_size = p->k > 0 ? gpu_pieces(gpu_pieces(p->k, parts_of(kind->in, p)), DEEPEST) * DEEPEST : 1;
  product.parts = p->k > 0 ? gpu_pieces(p->k, product.part_size) : 1;
  const uint32_t tile = tile_of(gpu, kind->in, &product);
  return by_parts(gpu, kind, &product, start_tiles, &tile);
}

static void drop_first_axis(GpuMatmul *p) {
  p->rank--;
  p->batches /= p->shape[0];
  memmove(p->shape, p->shape + 1, sizeof p->shape - sizeof *p->shape);
  memmove(p->lhs_strides, p->lhs_strides + 1, sizeof p->lhs_strides - sizeof *p->lhs_strides);
  memmove(p->rhs_strides, p->rhs_strides + 1, sizeof p->rhs_strides - sizeof *p->rhs_strides);
}

enum { MAX_SLICES = 256 };

/* By the library: at once, or, where the batches of an operand have no common stride, slice by slice along the first
 * axis. False if it cannot. */
static bool product_of_library(Gpu *gpu, const GpuProductKind *kind, const GpuMatmul *p, int64_t slices) {
  GpuMatmul slice = *p;
  if (gpu->libraries->product(gpu, kind, p)) return true;
  if (p->rank < 2 || slices * p->shape[0] > MAX_SLICES) return false;
  drop_first_axis(&slice);
  for (int64_t i = 0; i < p->shape[0]; i++) {
    const int64_t in_bytes = burn_dtype_bytes(kind->in), out_bytes = burn_dtype_bytes(kind->out);
    slice.lhs = p->lhs + (GpuAddress)(i * p->lhs_strides[0] * in_bytes);
    slice.rhs = p->rhs + (GpuAddress)(i * p->rhs_strides[0] * in_bytes);
    slice.out = p->out + (GpuAddress)(i * slice.batches * p->m * p->n * out_bytes);
    if (!product_of_library(gpu, kind, &slice, slices * p->shape[0])) return false;
  }
  return true;
}

static BurnStatus product(Gpu *gpu, const GpuProductKind *kind, const GpuMatmul *p) {
  if (burn_dtype_kind(kind->in) == BURN_KIND_FLOAT && kind->in == kind->out && burn__gpu_takes_vector(p))
    return burn__gpu_vector_product(gpu, kind->in, p);
  if (suits_library(gpu, kind, p) && product_of_library(gpu, kind, p, 1)) return BURN_OK;
  if (burn__gpu_suits_matrices(gpu, kind, p)) return burn__gpu_matrix_product(gpu, kind, p);
  return gpu->is_processor ? direct_product(gpu, kind, p) : product_of_ours(gpu, kind, p);
}

BurnStatus burn__gpu_product(Gpu *gpu, BurnDType dtype, const GpuMatmul *p) {
  const GpuProductKind kind = {dtype, dtype, gpu->tf32};
  return product(gpu, &kind, p);
}

/* -- products of tensors ---------------------------------------------------------------------- */

BurnStatus burn__gpu_transposed(Gpu *gpu, const BurnPrimitive *x, BurnPrimitive **out) {
  BurnTensorDesc desc = burn_primitive_desc(x);
  int64_t strides[BURN_MAX_RANK];
  const uint32_t last = x->rank - 1;
  memcpy(strides, x->strides, x->rank * sizeof *strides);
  desc.shape[last] = x->shape[last - 1];
  desc.shape[last - 1] = x->shape[last];
  strides[last] = x->strides[last - 1];
  strides[last - 1] = x->strides[last];
  return burn__gpu_view(gpu, x, &desc, strides, 0, out);
}

/* Do the rows, or with `turned` the columns, of the matrices of x lie without gaps in them? */
static bool has_dense_lines(const BurnPrimitive *x, bool turned) {
  const uint32_t along = x->rank - (turned ? 2u : 1u), across = x->rank - (turned ? 1u : 2u);
  return (x->strides[along] == 1 || x->shape[along] == 1) &&
         (x->strides[across] >= x->shape[along] || x->shape[across] == 1);
}

/* x in a dtype, as a library reads it: itself where it can be, else a copy in which rows or columns are dense as they
 * are in x. */
static BurnStatus readable(Gpu *gpu, BurnPrimitive *x, BurnDType dtype, BurnPrimitive **out) {
  const bool is_dense = has_dense_lines(x, false), is_turned = !is_dense && has_dense_lines(x, true);
  BurnPrimitive *turned = NULL, *copy = NULL;
  if (x->dtype == dtype && (is_dense || is_turned)) {
    burn__gpu_retain(*out = x);
    return BURN_OK;
  }
  if (!is_turned) return burn__gpu_cast(gpu, x, dtype, out);
  BurnStatus status = burn__gpu_transposed(gpu, x, &turned);
  if (status == BURN_OK) status = burn__gpu_cast(gpu, turned, dtype, &copy);
  if (status == BURN_OK) status = burn__gpu_transposed(gpu, copy, out);
  burn__gpu_release(gpu, turned);
  burn__gpu_release(gpu, copy);
  return status;
}

/* Strides of the batch axes of an operand in a result of `rank` axes; missing axes and those of size 1 repeat. */
static void batch_strides(const BurnPrimitive *x, uint32_t rank, int64_t *strides) {
  for (uint32_t i = 0; i + 2 < rank; i++) {
    const int64_t axis = (int64_t)i + x->rank - rank;
    strides[i] = axis < 0 || x->shape[axis] == 1 ? 0 : x->strides[axis];
  }
}

static GpuMatmul shape_of(const BurnPrimitive *lhs, const BurnPrimitive *rhs, const BurnPrimitive *bias,
                          const BurnPrimitive *out) {
  GpuMatmul p = {.out = gpu_address(out),
                 .lhs = gpu_address(lhs),
                 .rhs = gpu_address(rhs),
                 .bias = bias ? gpu_address(bias) : 0,
                 .m = out->shape[out->rank - 2],
                 .n = out->shape[out->rank - 1],
                 .k = lhs->shape[lhs->rank - 1],
                 .lhs_row = lhs->strides[lhs->rank - 2],
                 .lhs_column = lhs->strides[lhs->rank - 1],
                 .rhs_row = rhs->strides[rhs->rank - 2],
                 .rhs_column = rhs->strides[rhs->rank - 1],
                 .batches = 1};
  batch_strides(lhs, out->rank, p.lhs_strides);
  batch_strides(rhs, out->rank, p.rhs_strides);
  for (uint32_t i = 0; i + 2 < out->rank; i++) p.batches *= p.shape[p.rank++] = out->shape[i];
  return p;
}

/* Two casts cost reading and writing the operands once more; bf16 saves half of the time of TF32. */
static bool is_worth_casts(const GpuMatmul *p) {
  return p->m >= 256 && p->n >= 256 && p->k >= 256 && (double)p->m * (double)p->n * (double)p->k >= (double)(1 << 27);
}

BurnStatus burn__gpu_multiply(Gpu *gpu, BurnPrimitive *lhs, BurnPrimitive *rhs, const BurnPrimitive *bias,
                              BurnPrimitive *out) {
  GpuProductKind kind = {lhs->dtype, out->dtype, gpu->precision != GPU_HIGHEST};
  const GpuProductKind narrow = {BURN_DTYPE_BF16, out->dtype, false};
  BurnPrimitive *left = NULL, *right = NULL;
  GpuMatmul p = shape_of(lhs, rhs, bias, out);
  if (burn_primitive_count(out) == 0) return BURN_OK;
  const bool by_library = suits_library(gpu, &kind, &p);
  const bool is_narrowed = kind.in == BURN_DTYPE_F32 && gpu->precision == GPU_MEDIUM && is_worth_casts(&p) &&
                           (by_library || burn__gpu_suits_matrices(gpu, &narrow, &p));
  if (p.m == 1 || p.n == 1 || (!by_library && !is_narrowed)) return product(gpu, &kind, &p);
  if (is_narrowed) kind.in = BURN_DTYPE_BF16;
  BurnStatus status = readable(gpu, lhs, kind.in, &left);
  if (status == BURN_OK) status = readable(gpu, rhs, kind.in, &right);
  if (status == BURN_OK) {
    p = shape_of(left, right, bias, out);
    status = product(gpu, &kind, &p);
  }
  burn__gpu_release(gpu, left);
  burn__gpu_release(gpu, right);
  return status;
}

static BurnStatus matmul(const GpuRun *run) {
  BurnPrimitive *const *in = run->call->inputs;
  const BurnStatus status = burn__gpu_output(run, 0);
  return status == BURN_OK ? burn__gpu_multiply(run->gpu, in[0], in[1], NULL, run->out[0]) : status;
}

const GpuRow burn__gpu_linalg_rows[] = {{BURN_OP_matmul, matmul, 0}, {0, NULL, 0}};
