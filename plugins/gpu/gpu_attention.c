/* gpu_attention.c - attention and its gradients: by the maker's library what that does well, all else by
 * kernels of ours (kernels/attention.cu), which take any dtype, width, mask and bias. */
#include "gpu.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FORWARD, OF_QUERIES, OF_KEYS, OF_BIAS }; /* passes of kernels/attention.cu */
enum { FEW_ROWS = 32, MANY_ROWS = 64, TILE = 64, DEPTH = 32, LITTLE_DEPTH = 16 };
enum { COLUMN_UNIT = 32, MAX_COLUMNS = 128, SUM_THREADS = 128 };

/* More elements than that for one of a bias: a block adds them. */
static const int64_t MANY_SCORES = 64;

/* As many or fewer, as in decoding, leave most warps of the plain kernels without rows. */
static const int64_t FEW_QUERIES = 16;

/* -- arguments -------------------------------------------------------------------------------- */

static void take_strides(int64_t to[4], const BurnPrimitive *x) {
  for (int axis = 0; axis < 4; axis++) to[axis] = x->shape[axis] == 1 ? 0 : x->strides[axis];
}

/* Query, key and value from `in` on, mask and bias, which may be NULL, from `mask` on; the attributes of all these ops
 * are the same. */
static GpuAttention take_heads(const BurnOpCall *call, BurnPrimitive *const *in, BurnPrimitive *const *mask) {
  const BurnAttrs_attention *attrs = BURN_ATTRS(attention, call);
  GpuAttention p = {.query = gpu_address(in[0]),
                    .key = gpu_address(in[1]),
                    .value = gpu_address(in[2]),
                    .batch = in[0]->shape[0],
                    .heads = in[0]->shape[1],
                    .queries = in[0]->shape[2],
                    .keys = in[1]->shape[2],
                    .width = in[0]->shape[3],
                    .value_width = in[2]->shape[3],
                    .scale = attrs->scale.value.f64,
                    .cap = attrs->softcap.value.f64,
                    .is_causal = attrs->is_causal.value.i64 != 0};
  if (p.scale == 0 && p.width > 0) p.scale = 1 / sqrt((double)p.width);
  take_strides(p.query_strides, in[0]);
  take_strides(p.key_strides, in[1]);
  take_strides(p.value_strides, in[2]);
  if (mask[0]) take_strides(p.mask_strides, mask[0]);
  if (mask[1]) take_strides(p.bias_strides, mask[1]);
  p.mask = mask[0] ? gpu_address(mask[0]) : 0;
  p.bias = mask[1] ? gpu_address(mask[1]) : 0;
  return p;
}

BurnStatus burn__gpu_new_heads(Gpu *gpu, const BurnTensorDesc *desc, const BurnPrimitive *like, BurnPrimitive **out) {
  BurnTensorDesc turned = *desc;
  BurnPrimitive *base = NULL;
  if (like->strides[1] >= like->strides[2]) return burn__gpu_new(gpu, desc, out);
  turned.shape[1] = desc->shape[2];
  turned.shape[2] = desc->shape[1];
  BurnStatus status = burn__gpu_new(gpu, &turned, &base);
  if (status != BURN_OK) return status;
  const int64_t strides[] = {base->strides[0], base->strides[2], base->strides[1], base->strides[3]};
  status = burn__gpu_view(gpu, base, desc, strides, 0, out);
  burn__gpu_release(gpu, base);
  return status;
}

static BurnStatus output_like(const GpuRun *run, uint32_t i, const BurnPrimitive *like) {
  return burn__gpu_new_heads(run->gpu, &run->call->output_descs[i], like, &run->out[i]);
}

/* -- passes ----------------------------------------------------------------------------------- */

/* True if a head may lie further apart than 32 bits count. */
static bool is_wide(const int64_t strides[4], int64_t rows, int64_t width) {
  return rows * strides[2] + width * strides[3] > INT32_MAX;
}

/* Halves lose nothing in products of TF32; f32 goes through them where it may. */
static bool takes_tensor_cores(const Gpu *gpu, BurnDType dtype) {
  if (!gpu->has_tensor_cores) return false;
  if (dtype == BURN_DTYPE_F32) return gpu->tf32 || gpu->precision != GPU_HIGHEST;
  return dtype != BURN_DTYPE_F64;
}

/* True if four neighbours of each row can be read at once. */
static bool lies_by_fours(GpuAddress address, const int64_t strides[4], int64_t width, uint64_t bytes) {
  const bool fits = strides[0] % 4 == 0 && strides[1] % 4 == 0 && strides[2] % 4 == 0;
  return fits && strides[3] == 1 && width % 4 == 0 && address % (4 * bytes) == 0;
}

static bool takes_fours(const GpuAttention *p, BurnDType dtype) {
  const uint64_t bytes = burn_dtype_bytes(dtype);
  return bytes <= 4 && lies_by_fours(p->query, p->query_strides, p->width, bytes) &&
         lies_by_fours(p->key, p->key_strides, p->width, bytes) &&
         lies_by_fours(p->value, p->value_strides, p->value_width, bytes) &&
         (!p->grad || lies_by_fours(p->grad, p->grad_strides, p->value_width, bytes));
}

/* What a block of so many rows shares: tiles of both sides, weights, and a word of each thread where warps are made of
 * such. On tensor cores it is less, and they come with more. */
static uint64_t shared_bytes(BurnDType dtype, int64_t rows, int64_t depth) {
  const int64_t bytes = dtype == BURN_DTYPE_F64 ? 8 : 4;
  return (uint64_t)((depth * (rows + TILE) + TILE * rows) * bytes + 4 * rows * 4);
}

static bool has_extras(const GpuAttention *p) { return p->mask || p->bias || p->cap > 0; }

/* True if a head of any of them does. */
static bool lies_far(const GpuAttention *p) {
  return is_wide(p->query_strides, p->queries, p->width) || is_wide(p->key_strides, p->keys, p->width) ||
         is_wide(p->value_strides, p->keys, p->value_width) || is_wide(p->grad_strides, p->queries, p->value_width) ||
         is_wide(p->result_strides, p->queries, p->value_width);
}

/* As kernels/attention.cu reads it. */
static uint32_t variant_of(const GpuAttention *p, BurnDType dtype, uint32_t pass, bool has_many, bool on_tensor_cores,
                           int64_t columns) {
  const uint32_t units = (uint32_t)(columns > 0 ? columns / COLUMN_UNIT : 1);
  return pass + (has_many ? 4u : 0u) + (lies_far(p) ? 8u : 0u) + (on_tensor_cores ? 16u : 0u) +
         (takes_fours(p, dtype) ? 32u : 0u) + (has_extras(p) ? 64u : 0u) + 128 * units;
}

/* -- f32 without mask, bias and cap: kernels/attention_plain.cu ---------------------------------- */

/* Of a block. */
static int64_t plain_rows(uint32_t pass, bool on_tensor_cores, bool has_many, int64_t width) {
  const int64_t warps = GPU_PLAIN_WARPS(pass, on_tensor_cores, has_many, width);
  return 16 * warps * GPU_PLAIN_SHARES(pass, on_tensor_cores, has_many, width);
}

/* What a block shares: rows of its own, tiles of the other side, what the text says of passes, weights on their way. */
static uint32_t plain_bytes(uint32_t pass, bool on_tensor_cores, bool has_many, int64_t width) {
  const int64_t rows = plain_rows(pass, on_tensor_cores, has_many, width);
  const int64_t tile = GPU_PLAIN_TILE(pass, on_tensor_cores, width), stages = GPU_PLAIN_STAGES(on_tensor_cores, width);
  int64_t count = (width + 4) * ((pass == FORWARD ? 1 : 2) * rows + 2 * tile * stages);
  if (pass == OF_QUERIES) count += rows;
  if (pass == OF_KEYS) count += 2 * tile * stages;
  if (!on_tensor_cores) count += rows * (tile + 8);
  return (uint32_t)count * 4u;
}

static bool has_room_for_plain(const Gpu *gpu, const GpuAttention *p) {
  const bool on_tensor_cores = takes_tensor_cores(gpu, BURN_DTYPE_F32);
  for (uint32_t pass = FORWARD; pass <= OF_KEYS; pass++)
    if (plain_bytes(pass, on_tensor_cores, true, p->width) > gpu->most_shared_bytes) return false;
  return true;
}

static BurnStatus start_plain(Gpu *gpu, uint32_t pass, GpuAttention *p) {
  const int64_t rows = pass == OF_KEYS ? p->keys : p->queries, heads = p->batch * p->heads;
  const bool on_tensor_cores = takes_tensor_cores(gpu, BURN_DTYPE_F32);
  const int64_t large = plain_rows(pass, on_tensor_cores, true, p->width);
  const bool has_many = heads * ((rows + large - 1) / large) >= 2 * (int64_t)gpu->unit_count;
  const int64_t warps = GPU_PLAIN_WARPS(pass, on_tensor_cores, has_many, p->width);
  const int64_t block = plain_rows(pass, on_tensor_cores, has_many, p->width);
  if (rows == 0 || heads == 0) return BURN_OK;
  p->tiles = (rows + block - 1) / block;
  const GpuKernelKey key = {.text = GPU_TEXT_ATTENTION_PLAIN,
                            .out = BURN_DTYPE_F32,
                            .in = {BURN_DTYPE_F32, BURN_DTYPE_F32, BURN_DTYPE_F32},
                            .variant = pass + (on_tensor_cores ? 4u : 0u) + (block == large ? 8u : 0u) +
                                       16u * (uint32_t)(p->width / COLUMN_UNIT)};
  const GpuLaunch launch = {.groups = (uint64_t)(heads * p->tiles),
                            .threads = 32u * (uint32_t)warps,
                            .shared_bytes = plain_bytes(pass, on_tensor_cores, has_many, p->width)};
  GpuFunction *function = NULL;
  const BurnStatus status = burn__gpu_kernel(gpu, &key, NULL, &function);
  return status == BURN_OK ? burn__gpu_launch_sharing(gpu, function, &launch, p, sizeof *p) : status;
}

/* -- the same where groups share little: kernels/attention_f32.cu ------------------------------------ */

/* Lines of a tile and warps of a block, as a pass has room for them; a tile of 0: none. */
typedef struct RowBlock {
  int64_t tile, warps;
} RowBlock;

/* Where warps are made of shared memory, a word of each thread comes to it. */
static int64_t row_block_bytes(const RowBlock *block, uint32_t pass, int64_t width) {
  const int64_t rows = 16 * block->warps, own = pass == FORWARD ? 1 : 2;
  return 4 * (width * (own * rows + block->tile) + rows * block->tile);
}

static RowBlock row_block_of(const Gpu *gpu, uint32_t pass, const GpuAttention *p) {
  const int64_t rows = pass == OF_KEYS ? p->keys : p->queries, blocks = p->batch * p->heads * gpu_pieces(rows, 64);
  RowBlock block = {64, blocks < (int64_t)gpu->unit_count ? 2 : 4};
  const int64_t words = gpu->emulates_warps ? 4 * 32 * block.warps : 0;
  while (block.tile > 0 && row_block_bytes(&block, pass, p->width) + words > (int64_t)gpu->shared_bytes)
    block.tile = block.tile == 64 ? 32 : 0;
  return block;
}

static bool has_room_for_rows(const Gpu *gpu, const GpuAttention *p, uint32_t last_pass) {
  for (uint32_t pass = FORWARD; pass <= last_pass; pass++)
    if (row_block_of(gpu, pass, p).tile == 0) return false;
  return !gpu->is_processor;
}

static BurnStatus start_f32(Gpu *gpu, uint32_t pass, GpuAttention *p) {
  const int64_t rows = pass == OF_KEYS ? p->keys : p->queries, heads = p->batch * p->heads;
  const RowBlock block = row_block_of(gpu, pass, p);
  if (rows == 0 || heads == 0) return BURN_OK;
  p->tiles = gpu_pieces(rows, 16 * block.warps);
  const GpuKernelKey key = {.text = GPU_TEXT_ATTENTION_F32,
                            .out = BURN_DTYPE_F32,
                            .in = {BURN_DTYPE_F32, BURN_DTYPE_F32, BURN_DTYPE_F32},
                            .variant = pass + 4 * (uint32_t)block.warps + 64 * (uint32_t)(block.tile / 16) +
                                       1024 * (uint32_t)(p->width / COLUMN_UNIT)};
  GpuFunction *function = NULL;
  const BurnStatus status = burn__gpu_kernel(gpu, &key, NULL, &function);
  return status == BURN_OK
             ? burn__gpu_launch(gpu, function, (uint64_t)(heads * p->tiles), 32u * (uint32_t)block.warps, p, sizeof *p)
             : status;
}

/* -- halves without mask, bias and cap: kernels/attention_fragments.cu ---------------------------- */

enum { SIDE = 16, FRAGMENT_WARPS = 4 };

static int64_t fragment_depth(const GpuAttention *p) {
  const int64_t width = p->width > p->value_width ? p->width : p->value_width;
  return (width + SIDE - 1) / SIDE * SIDE;
}

/* What a block shares: two tiles of the other side, or its rows; numbers of the queries of a tile. */
static int64_t fragment_bytes(int64_t depth, int64_t shares) {
  const int64_t rows = FRAGMENT_WARPS * SIDE * shares, lines = rows > 2 * TILE ? rows : 2 * TILE;
  return 16 * lines * (depth / 8 | 1) + 2 * TILE * (int64_t)sizeof(float);
}

/* True if eight neighbours of each row can be read at once. */
static bool lies_by_eights(GpuAddress address, const int64_t strides[4], int64_t width) {
  const bool fits = strides[0] % 8 == 0 && strides[1] % 8 == 0 && strides[2] % 8 == 0;
  return fits && strides[3] == 1 && width % 8 == 0 && address % 16 == 0;
}

static bool takes_fragments(const Gpu *gpu, const GpuAttention *p, BurnDType dtype) {
  const bool is_known = burn__gpu_is_half(dtype) && burn__gpu_matrix_shape(gpu, dtype).has_fragments;
  const bool is_counted = p->queries > FEW_QUERIES && p->queries < INT32_MAX / 4 && p->keys < INT32_MAX / 4;
  if (!is_known || !is_counted || has_extras(p) || p->width == 0 || p->value_width == 0) return false;
  return fragment_depth(p) <= MAX_COLUMNS && fragment_bytes(fragment_depth(p), 1) <= (int64_t)gpu->shared_bytes &&
         lies_by_eights(p->query, p->query_strides, p->width) && lies_by_eights(p->key, p->key_strides, p->width) &&
         lies_by_eights(p->value, p->value_strides, p->value_width) &&
         (!p->grad || lies_by_eights(p->grad, p->grad_strides, p->value_width));
}

/* 16s of rows of a subgroup: two where registers have room for them, and blocks fill the device. */
static int64_t fragment_shares(const Gpu *gpu, const GpuAttention *p, uint32_t pass, int64_t rows) {
  const int64_t large = 2 * FRAGMENT_WARPS * SIDE, blocks = p->batch * p->heads * ((rows + large - 1) / large);
  return pass != OF_KEYS && fragment_depth(p) <= 64 && blocks >= 2 * (int64_t)gpu->unit_count ? 2 : 1;
}

static BurnStatus start_fragments(Gpu *gpu, BurnDType dtype, uint32_t pass, GpuAttention *p) {
  const int64_t rows = pass == OF_KEYS ? p->keys : p->queries, heads = p->batch * p->heads;
  const int64_t shares = fragment_shares(gpu, p, pass, rows), block = FRAGMENT_WARPS * SIDE * shares;
  if (rows == 0 || heads == 0) return BURN_OK;
  p->tiles = (rows + block - 1) / block;
  const GpuKernelKey key = {
      .text = GPU_TEXT_ATTENTION_FRAGMENTS,
      .out = dtype,
      .in = {dtype, dtype, dtype},
      .variant = pass + (lies_far(p) ? 8u : 0u) + 128u * (uint32_t)fragment_depth(p) + (1u << 20) * (uint32_t)shares};
  char definition[80];
  GpuFunction *function = NULL;
  (void)snprintf(definition, sizeof definition, "#define BURN_DEPTH %d\n#define SHARES %d\n", (int)fragment_depth(p),
                 (int)shares);
  const BurnStatus status = burn__gpu_kernel(gpu, &key, definition, &function);
  return status == BURN_OK
             ? burn__gpu_launch(gpu, function, (uint64_t)(heads * p->tiles), 32u * FRAGMENT_WARPS, p, sizeof *p)
             : status;
}

/* -- where scores stay in registers ------------------------------------------------------------ */

/* Of f32, for the passes up to that one: CUDA has a kernel for all widths, other devices as their groups have room. */
static bool takes_f32(const Gpu *gpu, const GpuAttention *p, uint32_t last_pass) {
  const bool is_known =
      p->width == p->value_width && p->width % COLUMN_UNIT == 0 && p->width > 0 && p->width <= MAX_COLUMNS;
  const bool is_counted = p->queries > FEW_QUERIES && p->queries < INT32_MAX / 4 && p->keys < INT32_MAX / 4;
  if (!is_known || !is_counted || has_extras(p) || p->scale <= 0 || !takes_fours(p, BURN_DTYPE_F32)) return false;
  return gpu->most_shared_bytes > 0 ? has_room_for_plain(gpu, p) : has_room_for_rows(gpu, p, last_pass);
}

static bool takes_registers(const Gpu *gpu, const GpuAttention *p, BurnDType dtype, uint32_t last_pass) {
  return dtype == BURN_DTYPE_F32 ? takes_f32(gpu, p, last_pass) : takes_fragments(gpu, p, dtype);
}

static BurnStatus start_in_registers(Gpu *gpu, BurnDType dtype, uint32_t pass, GpuAttention *p) {
  if (dtype != BURN_DTYPE_F32) return start_fragments(gpu, dtype, pass, p);
  return gpu->most_shared_bytes > 0 ? start_plain(gpu, pass, p) : start_f32(gpu, pass, p);
}

/* -- all else: kernels/attention.cu --------------------------------------------------------------- */

/* Of a block on its way: rows, columns of its results, what a step of a dot product has. */
typedef struct Block {
  int64_t rows, columns, depth;
  bool on_matrices;
} Block;

/* Vectors of 16 bytes from one line to the next of so many halves, and of so many sums. */
static int64_t line_of(int64_t halves) { return halves / 8 | 1; }
static int64_t sums_line_of(int64_t columns) { return columns / 4 | 1; }
static int64_t more(int64_t a, int64_t b) { return a > b ? a : b; }

/* As kernels/attention_matrices.cu has it. */
static int64_t matrix_bytes(const Block *block) {
  const int64_t rows = block->rows, columns = block->columns;
  const int64_t dots = more((rows + TILE) * line_of(block->depth), rows * sums_line_of(TILE));
  const int64_t sums = more(rows * line_of(TILE) + TILE * line_of(columns), rows * sums_line_of(columns));
  return 16 * more(dots, sums);
}

/* Do the subgroups of a block have as many matrices each of so many columns, in one row of these? */
static bool is_shared_out(const GpuMatrixShape *shape, const Block *block, int64_t columns, int64_t subgroups) {
  const int64_t across = columns / shape->columns, all = block->rows / shape->rows * across, mine = all / subgroups;
  return columns % shape->columns == 0 && all % subgroups == 0 && mine > 0 && across % mine == 0;
}

static bool takes_matrices(const Gpu *gpu, BurnDType dtype, const Block *block) {
  const GpuMatrixShape shape = burn__gpu_matrix_shape(gpu, dtype);
  const int64_t lanes = gpu->matrices.lanes, threads = 4 * block->rows;
  if (dtype == BURN_DTYPE_I8 || shape.rows == 0 || (gpu->is_processor && !gpu->matrices.for_all)) return false;
  if (((shape.rows | shape.columns | shape.depth) % 8) != 0 || block->rows % shape.rows != 0 || threads % lanes != 0)
    return false;
  return TILE % shape.depth == 0 && block->depth % shape.depth == 0 &&
         is_shared_out(&shape, block, TILE, threads / lanes) &&
         is_shared_out(&shape, block, block->columns, threads / lanes) &&
         matrix_bytes(block) <= (int64_t)gpu->shared_bytes;
}

/* What comes before the text. */
static void define_block(const Gpu *gpu, BurnDType dtype, const Block *block, char *text, size_t bytes) {
  const GpuMatrixShape shape = burn__gpu_matrix_shape(gpu, dtype);
  const int used = snprintf(text, bytes, "#define BURN_DEPTH %d\n", (int)block->depth);
  if (!block->on_matrices) return;
  (void)snprintf(text + used, bytes - (size_t)used,
                 "#define LANES %u\n#define MATRIX_ROWS %u\n#define MATRIX_COLUMNS %u\n#define MATRIX_DEPTH %u\n",
                 gpu->matrices.lanes, shape.rows, shape.columns, shape.depth);
}

/* By matrices steps are as deep as heads are wide, up to 64. */
static Block block_of(const Gpu *gpu, BurnDType dtype, const GpuAttention *p, bool has_many, int64_t columns) {
  const int64_t rows = has_many ? MANY_ROWS : FEW_ROWS;
  Block block = {rows, columns, p->width > DEPTH ? TILE : DEPTH, false};
  block.on_matrices = takes_matrices(gpu, dtype, &block);
  if (!block.on_matrices) block.depth = shared_bytes(dtype, rows, DEPTH) <= gpu->shared_bytes ? DEPTH : LITTLE_DEPTH;
  return block;
}

static BurnStatus start(Gpu *gpu, BurnDType dtype, uint32_t pass, GpuAttention *p) {
  const int64_t rows = pass == OF_KEYS ? p->keys : p->queries;
  const int64_t width = pass == FORWARD                                ? p->value_width
                        : pass == OF_KEYS && p->value_width > p->width ? p->value_width
                                                                       : p->width;
  const int64_t columns = width > MAX_COLUMNS / 2 ? MAX_COLUMNS : (width + COLUMN_UNIT - 1) / COLUMN_UNIT * COLUMN_UNIT;
  if (rows == 0 || p->batch * p->heads == 0) return BURN_OK;
  p->chunks = width == 0 ? 1 : (width + columns - 1) / columns;
  const int64_t heads = p->batch * p->heads * p->chunks, large = heads * ((rows + MANY_ROWS - 1) / MANY_ROWS);
  const bool has_many = large >= 4 * (int64_t)gpu->unit_count && dtype != BURN_DTYPE_F64 &&
                        shared_bytes(dtype, MANY_ROWS, DEPTH) <= gpu->shared_bytes;
  const Block block = block_of(gpu, dtype, p, has_many, columns);
  const bool on_tensor_cores = takes_tensor_cores(gpu, dtype);
  p->tiles = (rows + block.rows - 1) / block.rows;
  const GpuKernelKey key = {
      .text = GPU_TEXT_ATTENTION,
      .out = dtype,
      .in = {dtype, dtype, dtype},
      .variant = variant_of(p, dtype, pass, has_many, on_tensor_cores || block.on_matrices, columns)};
  char definition[160];
  GpuFunction *function = NULL;
  define_block(gpu, dtype, &block, definition, sizeof definition);
  const BurnStatus status = burn__gpu_kernel(gpu, &key, definition, &function);
  if (status != BURN_OK) return status;
  return burn__gpu_launch(gpu, function, (uint64_t)(heads * p->tiles),
                          (on_tensor_cores ? 2u : 4u) * (uint32_t)block.rows, p, sizeof *p);
}

/* With a second output that is the logsumexp. */
static BurnStatus attention(const GpuRun *run) {
  BurnPrimitive *const *in = run->call->inputs;
  GpuAttention p = take_heads(run->call, in, in + 3);
  BurnStatus status = output_like(run, 0, in[0]);
  if (status == BURN_OK && run->call->output_count > 1) {
    status = burn__gpu_output(run, 1);
    if (status == BURN_OK) p.logsumexp = gpu_address(run->out[1]);
  }
  if (status != BURN_OK || (burn_primitive_count(run->out[0]) == 0 && !p.logsumexp)) return status;
  const GpuLibraries *libraries = run->gpu->libraries;
  if (libraries && libraries->attention && libraries->attention(run, &p)) return BURN_OK;
  p.out = gpu_address(run->out[0]);
  memcpy(p.out_strides, run->out[0]->strides, sizeof p.out_strides);
  if (takes_registers(run->gpu, &p, in[0]->dtype, FORWARD))
    return start_in_registers(run->gpu, in[0]->dtype, FORWARD, &p);
  return start(run->gpu, in[0]->dtype, FORWARD, &p);
}

/* -- gradients -------------------------------------------------------------------------------- */

/* What passes tell each other, in the dtype that kernels compute in. */
typedef struct Notes {
  BurnPrimitive *statistics, *scores; /* scores: NULL without a bias */
} Notes;

static BurnStatus make_notes(const GpuRun *run, const GpuAttention *p, Notes *notes) {
  const BurnDType dtype = run->call->inputs[0]->dtype == BURN_DTYPE_F64 ? BURN_DTYPE_F64 : BURN_DTYPE_F32;
  const BurnTensorDesc lines = {.dtype = dtype, .rank = 4, .shape = {3, p->batch, p->heads, p->queries}};
  const BurnTensorDesc scores = {.dtype = dtype, .rank = 4, .shape = {p->batch, p->heads, p->queries, p->keys}};
  BurnStatus status = burn__gpu_new(run->gpu, &lines, &notes->statistics);
  if (status == BURN_OK && p->bias) status = burn__gpu_new(run->gpu, &scores, &notes->scores);
  return status;
}

/* The gradient of the bias: scores summed along the axes where it repeats. Without a bias a 0. */
static BurnStatus sum_bias(const GpuRun *run, const GpuAttention *p, const Notes *notes) {
  const BurnPrimitive *out = run->out[3];
  const int64_t scores[] = {p->batch, p->heads, p->queries, p->keys};
  GpuScoreSum sum = {.out = gpu_address(out), .shape = {1, 1, 1, 1}, .repeats = {1, 1, 1, 1}};
  if (notes->scores) {
    sum.in = gpu_address(notes->scores);
    sum.count = 1;
    for (int axis = 0; axis < 4; axis++) {
      sum.shape[axis] = out->shape[axis];
      sum.strides[axis] = notes->scores->strides[axis];
      sum.repeats[axis] = out->shape[axis] == scores[axis] ? 1 : scores[axis];
      sum.count *= sum.repeats[axis];
    }
  }
  sum.by_block = sum.count > MANY_SCORES;
  const GpuKernelKey key = {
      .text = GPU_TEXT_ATTENTION, .out = out->dtype, .in = {out->dtype, out->dtype, out->dtype}, .variant = OF_BIAS};
  const int64_t count = burn_primitive_count(out);
  GpuFunction *function = NULL;
  const BurnStatus status = burn__gpu_kernel(run->gpu, &key, NULL, &function);
  if (status != BURN_OK) return status;
  const int64_t groups = sum.by_block ? count : (count + SUM_THREADS - 1) / SUM_THREADS;
  return burn__gpu_launch(run->gpu, function, (uint64_t)groups, SUM_THREADS, &sum, sizeof sum);
}

static void take_query_output(GpuAttention *p, BurnPrimitive *const *out) {
  p->out = gpu_address(out[0]);
  memcpy(p->out_strides, out[0]->strides, sizeof p->out_strides);
}

static void take_key_outputs(GpuAttention *p, BurnPrimitive *const *out) {
  p->out = gpu_address(out[1]);
  p->second_out = gpu_address(out[2]);
  memcpy(p->out_strides, out[1]->strides, sizeof p->out_strides);
  memcpy(p->second_out_strides, out[2]->strides, sizeof p->second_out_strides);
}

/* One number for each query: [n, heads, queries]. */
static BurnStatus new_line(Gpu *gpu, const GpuAttention *p, BurnPrimitive **out) {
  const BurnTensorDesc desc = {.dtype = BURN_DTYPE_F32, .rank = 3, .shape = {p->batch, p->heads, p->queries}};
  return burn__gpu_new(gpu, &desc, out);
}

/* By the kernels that keep scores in registers: queries first, which leave their hits for the keys. */
static BurnStatus start_gradients_in_registers(const GpuRun *run, GpuAttention *p) {
  const BurnDType dtype = run->call->inputs[1]->dtype;
  BurnPrimitive *hits = NULL;
  BurnStatus status = new_line(run->gpu, p, &hits);
  if (status != BURN_OK) return status;
  p->hits = gpu_address(hits);
  take_query_output(p, run->out);
  status = start_in_registers(run->gpu, dtype, OF_QUERIES, p);
  take_key_outputs(p, run->out);
  if (status == BURN_OK) status = start_in_registers(run->gpu, dtype, OF_KEYS, p);
  burn__gpu_release(run->gpu, hits);
  return status;
}

/* What attention leaves its gradients. */
typedef struct Results {
  BurnPrimitive *result, *logsumexp;
} Results;

/* Inputs of attention_with_logsumexp_backward alone. */
enum { RESULT = 4, LOGSUMEXP = 5 };

static bool has_results(const GpuRun *run) { return run->call->op == BURN_OP_attention_with_logsumexp_backward; }

/* Those of the call, as kernels read them. */
static BurnStatus take_results(const GpuRun *run, GpuAttention *p, Results *results) {
  BurnPrimitive *result = run->call->inputs[RESULT], *logsumexp = run->call->inputs[LOGSUMEXP];
  const bool is_half = burn__gpu_is_half(result->dtype);
  const bool lies_well = is_half ? lies_by_eights(gpu_address(result), result->strides, p->value_width)
                                 : lies_by_fours(gpu_address(result), result->strides, p->value_width, sizeof(float));
  BurnStatus status = burn__gpu_row_major(run->gpu, logsumexp, &results->logsumexp);
  if (status != BURN_OK) return status;
  if (lies_well) burn__gpu_retain(results->result = result);
  if (!lies_well) status = burn__gpu_row_major(run->gpu, result, &results->result);
  if (status != BURN_OK) return status;
  p->result = gpu_address(results->result);
  memcpy(p->result_strides, results->result->strides, sizeof p->result_strides);
  p->logsumexp = gpu_address(results->logsumexp);
  return BURN_OK;
}

/* The same made again. */
static BurnStatus make_results(const GpuRun *run, GpuAttention *p, Results *results) {
  BurnTensorDesc desc = burn_primitive_desc(run->call->inputs[1]);
  desc.shape[3] = p->value_width;
  BurnStatus status = burn__gpu_new(run->gpu, &desc, &results->result);
  if (status == BURN_OK) status = new_line(run->gpu, p, &results->logsumexp);
  if (status != BURN_OK) return status;
  p->out = p->result = gpu_address(results->result);
  memcpy(p->out_strides, results->result->strides, sizeof p->out_strides);
  memcpy(p->result_strides, results->result->strides, sizeof p->result_strides);
  p->logsumexp = gpu_address(results->logsumexp);
  return start_in_registers(run->gpu, desc.dtype, FORWARD, p);
}

/* By our kernels: queries first, which leave their notes for the keys. */
static BurnStatus start_gradients(const GpuRun *run, GpuAttention *p, const Notes *notes) {
  const BurnDType dtype = run->call->inputs[0]->dtype;
  p->statistics = gpu_address(notes->statistics);
  p->scores = notes->scores ? gpu_address(notes->scores) : 0;
  take_query_output(p, run->out);
  BurnStatus status = start(run->gpu, dtype, OF_QUERIES, p);
  take_key_outputs(p, run->out);
  return status == BURN_OK ? start(run->gpu, dtype, OF_KEYS, p) : status;
}

/* Are query, key and value the parts of one tensor [batch, positions, 3, heads, width] in this order, as a product with
 * the weights of all three makes it? */
static bool are_parts(BurnPrimitive *const *in) {
  const BurnPrimitive *x = in[0];
  const int64_t part = x->shape[1] * x->shape[3], row = 3 * part;
  bool fits =
      x->strides[3] == 1 && x->strides[1] == x->shape[3] && x->strides[2] == row && x->strides[0] == row * x->shape[2];
  for (int i = 1; i < 3 && fits; i++)
    fits = memcmp(in[i]->shape, x->shape, 4 * sizeof *x->shape) == 0 &&
           memcmp(in[i]->strides, x->strides, 4 * sizeof *x->strides) == 0 &&
           gpu_const_tensor(in[i])->storage == gpu_const_tensor(x)->storage &&
           gpu_address(in[i]) == gpu_address(x) + (uint64_t)(i * part) * burn_dtype_bytes(x->dtype);
  return fits;
}

/* The gradients of such parts, as parts of one tensor, too: to join them then takes no copy (gpu_move.c). */
static BurnStatus new_parts(const GpuRun *run, const BurnPrimitive *like) {
  const BurnTensorDesc whole = {
      .dtype = like->dtype, .rank = 4, .shape = {like->shape[0], like->shape[2], 3 * like->shape[1], like->shape[3]}};
  BurnPrimitive *base = NULL;
  BurnStatus status = burn__gpu_new(run->gpu, &whole, &base);
  for (uint32_t i = 0; i < 3 && status == BURN_OK; i++)
    status = burn__gpu_view(run->gpu, base, &run->call->output_descs[i], like->strides,
                            i * like->shape[1] * like->shape[3], &run->out[i]);
  burn__gpu_release(run->gpu, base);
  return status;
}

static BurnStatus new_gradients(const GpuRun *run, BurnPrimitive *const *in) {
  BurnStatus status = BURN_OK;
  if (burn_primitive_count(in[0]) > 0 && are_parts(in)) return new_parts(run, in[0]);
  for (uint32_t i = 0; i < 3 && status == BURN_OK; i++) status = output_like(run, i, in[i]);
  return status;
}

/* By our kernels. */
static BurnStatus run_gradients(const GpuRun *run, GpuAttention *p) {
  const bool in_registers = takes_registers(run->gpu, p, run->call->inputs[1]->dtype, OF_KEYS);
  Results results = {NULL, NULL};
  Notes notes = {NULL, NULL};
  BurnStatus status = BURN_OK;
  if (has_results(run)) status = take_results(run, p, &results);
  if (!has_results(run) && in_registers) status = make_results(run, p, &results);
  if (status == BURN_OK && in_registers) status = start_gradients_in_registers(run, p);
  if (status == BURN_OK && !in_registers) status = make_notes(run, p, &notes);
  if (status == BURN_OK && !in_registers) status = start_gradients(run, p, &notes);
  if (status == BURN_OK) status = sum_bias(run, p, &notes);
  burn__gpu_release(run->gpu, notes.statistics);
  burn__gpu_release(run->gpu, notes.scores);
  burn__gpu_release(run->gpu, results.result);
  burn__gpu_release(run->gpu, results.logsumexp);
  return status;
}

/* With the results of attention_with_logsumexp, or without. */
static BurnStatus attention_backward(const GpuRun *run) {
  BurnPrimitive *const *in = run->call->inputs;
  GpuAttention p = take_heads(run->call, in + 1, in + (has_results(run) ? 6 : 4));
  const Notes none = {NULL, NULL};
  BurnStatus status = new_gradients(run, in + 1);
  p.grad = gpu_address(in[0]);
  take_strides(p.grad_strides, in[0]);
  if (status == BURN_OK) status = burn__gpu_output(run, 3);
  if (status != BURN_OK) return status;
  const GpuLibraries *libraries = run->gpu->libraries;
  if (libraries && libraries->attention_backward && libraries->attention_backward(run, &p))
    return sum_bias(run, &p, &none);
  return run_gradients(run, &p);
}

const GpuRow burn__gpu_attention_rows[] = {{BURN_OP_attention, attention, 0},
                                           {BURN_OP_attention_backward, attention_backward, 0},
                                           {BURN_OP_attention_with_logsumexp, attention, 0},
                                           {BURN_OP_attention_with_logsumexp_backward, attention_backward, 0},
                                           {0, NULL, 0}};
