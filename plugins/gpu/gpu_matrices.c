/* gpu_matrices.c - products of halves and of i8 by the matrices that groups of threads of the device multiply together,
 * where its maker gives no library: tiles, parts of k, kernels/matrix_product.cu. */
#include "gpu.h"

#include <stdio.h>

/* Tiles of kernels/matrix_product.cu by their numbers there; the last one is that of processors. */
enum { SMALL, LARGE, OF_PROCESSORS };
static const struct {
  int64_t rows, columns, part, depth_bytes; /* part: rows and columns of a subgroup */
  int64_t at_once;                          /* groups that a unit has registers for */
  double speed;                             /* of multiplications, beside that of the largest */
} tiles[] = {{64, 64, 32, 128, 4, 0.5}, {128, 128, 64, 128, 2, 1.0}, {32, 16, 16, 32, 1, 1.0}};

enum { MIN_SIDE = 16, MIN_PART = 512, MAX_PARTS = 32, JOIN_THREADS = 256, JOINED = 4 * JOIN_THREADS };
enum { FEW_LANES = 16 /* have no registers for the sums of large tiles */ };

/* A product on its way. */
typedef struct Work {
  Gpu *gpu;
  const GpuProductKind *kind;
  GpuMatrixShape shape;
  GpuMatmul p;
  int64_t bytes, vector; /* of an element; elements that are read at once */
  int64_t tile;
  bool left_turned, right_turned; /* dense along m, along k */
} Work;

GpuMatrixShape burn__gpu_matrix_shape(const Gpu *gpu, BurnDType dtype) {
  const GpuMatrixShape none = {.rows = 0};
  if (gpu->matrices.lanes == 0) return none;
  if (dtype == BURN_DTYPE_I8) return gpu->matrices.i8;
  return dtype == BURN_DTYPE_F16 ? gpu->matrices.f16 : dtype == BURN_DTYPE_BF16 ? gpu->matrices.bf16 : none;
}

/* -- tiles ------------------------------------------------------------------------------------ */

static int64_t vector_of(const GpuMatrixShape *shape, int64_t bytes) {
  const int64_t all = (int64_t)(shape->rows | shape->columns | shape->depth) * bytes;
  return (all % 16 == 0 ? 16 : 8) / bytes;
}

/* Vectors of a tile in shared memory. */
static int64_t lines_of(bool turned, int64_t side, int64_t depth, int64_t vector) {
  return turned ? depth * (side / vector | 1) : side * (depth / vector | 1);
}

static int64_t shared_bytes(const Work *work, int64_t tile) {
  const int64_t depth = tiles[tile].depth_bytes / work->bytes, vector = work->vector, words = vector * work->bytes / 4;
  const int64_t subgroups = tiles[tile].rows * tiles[tile].columns / (tiles[tile].part * tiles[tile].part);
  const int64_t stage = lines_of(work->left_turned, tiles[tile].rows, depth, vector) +
                        lines_of(!work->right_turned, tiles[tile].columns, depth, vector);
  const int64_t sums = subgroups * work->shape.rows * (tiles[tile].part / words + 1);
  return (stage > sums ? stage : sums) * vector * work->bytes;
}

static int64_t threads_of(const Gpu *gpu, int64_t tile) {
  return tiles[tile].rows * tiles[tile].columns / (tiles[tile].part * tiles[tile].part) * gpu->matrices.lanes;
}

/* Do the matrices of the device make up a tile, and threads its lines? */
static bool is_possible(const Work *work, int64_t tile) {
  const int64_t lanes = work->gpu->matrices.lanes, part = tiles[tile].part, vector = work->vector;
  const int64_t depth = tiles[tile].depth_bytes / work->bytes, threads = threads_of(work->gpu, tile);
  const GpuMatrixShape *shape = &work->shape;
  if (part % shape->rows != 0 || part % shape->columns != 0 || depth % shape->depth != 0) return false;
  if (shape->rows * work->bytes % 8 != 0 || shape->columns * work->bytes % 8 != 0 ||
      shape->depth * work->bytes % 8 != 0)
    return false;
  if ((int64_t)shape->rows * part / 4 % lanes != 0) return false;
  const int64_t sides[] = {depth, tiles[tile].rows, tiles[tile].columns};
  for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++)
    if (sides[i] % vector != 0 || threads % (sides[i] / vector) != 0) return false;
  return threads <= 1024 && shared_bytes(work, tile) <= (int64_t)work->gpu->shared_bytes;
}

static int64_t groups_of(const GpuMatmul *p, int64_t tile) {
  return p->batches * gpu_pieces(p->m, tiles[tile].rows) * gpu_pieces(p->n, tiles[tile].columns);
}

/* About how long a product takes by such tiles, in parts of k: waves of groups over the device, each as long as the
 * multiplications of what a unit has at a time, and the sums of parts, which go to memory and back. A number in memory
 * takes as long as SUM_COST multiplications. */
enum { SUM_COST = 300 };

static double cost_of(const Work *work, int64_t tile, int64_t parts) {
  const GpuMatmul *p = &work->p;
  const int64_t slots = (int64_t)work->gpu->unit_count * tiles[tile].at_once;
  const double waves = (double)gpu_pieces(groups_of(p, tile) * parts, slots);
  const double wave = (double)(tiles[tile].rows * tiles[tile].columns * tiles[tile].at_once) / tiles[tile].speed;
  const double sums = (double)(p->batches * p->m * p->n) / (double)work->gpu->unit_count * (double)SUM_COST;
  return waves * wave * (double)p->k / (double)parts + (parts > 1 ? sums * (double)parts : 0.0);
}

static int64_t most_parts(const GpuMatmul *p) {
  const int64_t parts = p->k / MIN_PART;
  return parts < 1 ? 1 : parts > MAX_PARTS ? MAX_PARTS : parts;
}

/* Threads of few lanes have no registers for the sums of larger tiles. */
static bool may_take(const Work *work, int64_t tile) {
  const GpuMatrices *matrices = &work->gpu->matrices;
  if (matrices->tile > 0 && is_possible(work, (int64_t)matrices->tile - 1)) return tile + 1 == (int64_t)matrices->tile;
  if (work->gpu->is_processor) return tile == OF_PROCESSORS;
  return tile == SMALL || (tile == LARGE && matrices->lanes > FEW_LANES && is_possible(work, tile));
}

/* The tile and the parts that take the shortest time, by the shape alone. */
static void choose(Work *work) {
  double best = 0;
  for (int64_t tile = SMALL; tile <= OF_PROCESSORS; tile++)
    for (int64_t parts = 1; parts <= most_parts(&work->p) && may_take(work, tile); parts++) {
      const double cost = cost_of(work, tile, parts);
      if (best > 0 && cost >= best) continue;
      best = cost;
      work->tile = tile;
      work->p.parts = parts;
    }
}

/* -- operands --------------------------------------------------------------------------------- */

/* As kernels/matrix_product.cu has them. */
enum { BY_ELEMENTS, WHOLE, SLANTED };

/* How vectors of an operand are read, whose lines go `along` and lie `across` apart. */
static int32_t way_of(const Work *work, GpuAddress address, int64_t along, int64_t across, const int64_t *strides) {
  bool whole = across % work->vector == 0 && address % (GpuAddress)(work->vector * work->bytes) == 0;
  for (int32_t i = 0; i < work->p.rank; i++) whole = whole && strides[i] % work->vector == 0;
  return along != 1 ? BY_ELEMENTS : whole ? WHOLE : SLANTED;
}

static Work work_of(Gpu *gpu, const GpuProductKind *kind, const GpuMatmul *p) {
  Work work = {.gpu = gpu, .kind = kind, .shape = burn__gpu_matrix_shape(gpu, kind->in), .p = *p};
  work.bytes = burn_dtype_bytes(kind->in);
  work.vector = vector_of(&work.shape, work.bytes);
  work.left_turned = p->lhs_column != 1 && p->lhs_row == 1;
  work.right_turned = p->rhs_column != 1 && p->rhs_row == 1;
  const int32_t left = work.left_turned ? way_of(&work, p->lhs, p->lhs_row, p->lhs_column, p->lhs_strides)
                                        : way_of(&work, p->lhs, p->lhs_column, p->lhs_row, p->lhs_strides);
  const int32_t right = work.right_turned ? way_of(&work, p->rhs, p->rhs_row, p->rhs_column, p->rhs_strides)
                                          : way_of(&work, p->rhs, p->rhs_column, p->rhs_row, p->rhs_strides);
  work.p.ways = left + 4 * right;
  choose(&work);
  return work;
}

bool burn__gpu_suits_matrices(const Gpu *gpu, const GpuProductKind *kind, const GpuMatmul *p) {
  const GpuMatrixShape shape = burn__gpu_matrix_shape(gpu, kind->in);
  const bool is_integer = kind->in == BURN_DTYPE_I8;
  const bool has_sums = is_integer ? kind->out == BURN_DTYPE_I32 || kind->out == BURN_DTYPE_I8
                                   : kind->out == kind->in || kind->out == BURN_DTYPE_F32;
  if (shape.rows == 0 || !has_sums || p->k == 0) return false;
  const int64_t longer = p->m > p->n ? p->m : p->n;
  const bool is_worth = !gpu->is_processor && longer >= MIN_SIDE && p->k >= MIN_SIDE;
  if (!is_worth && !gpu->matrices.for_all) return false;
  Work work = {.gpu = (Gpu *)(uintptr_t)gpu, .shape = shape, .bytes = burn_dtype_bytes(kind->in)};
  work.vector = vector_of(&shape, work.bytes);
  return is_possible(&work, gpu->is_processor ? OF_PROCESSORS : SMALL);
}

/* -- launches --------------------------------------------------------------------------------- */

static BurnStatus start_tiles(const Work *work, BurnDType out, const GpuMatmul *p) {
  Gpu *gpu = work->gpu;
  const BurnDType in = work->kind->in;
  const GpuKernelKey key = {.text = GPU_TEXT_MATRIX_PRODUCT,
                            .out = out,
                            .in = {in, in, in},
                            .variant = (uint32_t)(work->tile * 4 + work->right_turned * 2 + work->left_turned)};
  char definition[200];
  GpuFunction *function = NULL;
  (void)snprintf(definition, sizeof definition,
                 "#define LANES %u\n#define MATRIX_ROWS %u\n#define MATRIX_COLUMNS %u\n#define MATRIX_DEPTH %u\n"
                 "#define ELEMENT_BYTES %d\n",
                 gpu->matrices.lanes, work->shape.rows, work->shape.columns, work->shape.depth, (int)work->bytes);
  const BurnStatus status = burn__gpu_kernel(gpu, &key, definition, &function);
  if (status != BURN_OK) return status;
  return burn__gpu_launch(gpu, function, (uint64_t)(groups_of(p, work->tile) * p->parts),
                          (uint32_t)threads_of(gpu, work->tile), p, sizeof *p);
}

BurnStatus burn__gpu_join_product(Gpu *gpu, BurnDType sums, BurnDType out, const GpuMatmul *p) {
  const GpuKernelKey key = {.text = GPU_TEXT_PRODUCT_PARTS, .out = out, .in = {sums, sums, sums}};
  const uint64_t groups = (uint64_t)gpu_pieces(p->batches * p->m * p->n, JOINED);
  GpuFunction *function = NULL;
  const BurnStatus status = burn__gpu_kernel(gpu, &key, NULL, &function);
  return status == BURN_OK ? burn__gpu_launch(gpu, function, groups, JOIN_THREADS, p, sizeof *p) : status;
}

static BurnStatus by_parts(const Work *work) {
  const bool is_integer = work->kind->in == BURN_DTYPE_I8;
  GpuMatmul product = work->p, join = work->p;
  const BurnTensorDesc desc = {.dtype = is_integer ? BURN_DTYPE_I32 : BURN_DTYPE_F32,
                               .rank = 1,
                               .shape = {product.parts * product.batches * product.m * product.n}};
  BurnPrimitive *sums = NULL;
  BurnStatus status = burn__gpu_new(work->gpu, &desc, &sums);
  if (status != BURN_OK) return status;
  product.out = join.lhs = gpu_address(sums);
  product.bias = 0;
  status = start_tiles(work, desc.dtype, &product);
  if (status == BURN_OK) status = burn__gpu_join_product(work->gpu, desc.dtype, work->kind->out, &join);
  burn__gpu_release(work->gpu, sums);
  return status;
}

BurnStatus burn__gpu_matrix_product(Gpu *gpu, const GpuProductKind *kind, const GpuMatmul *p) {
  Work work = work_of(gpu, kind, p);
  const int64_t groups = groups_of(p, work.tile), depth = tiles[work.tile].depth_bytes / work.bytes;
  if (groups == 0) return BURN_OK;
  work.p.part_size = gpu_pieces(gpu_pieces(p->k, work.p.parts), depth) * depth;
  work.p.parts = gpu_pieces(p->k, work.p.part_size);
  return work.p.parts == 1 ? start_tiles(&work, kind->out, &work.p) : by_parts(&work);
}
