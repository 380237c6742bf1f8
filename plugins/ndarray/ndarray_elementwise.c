/* ndarray_elementwise.c - runs the loops of ndarray_kernels.inc over whole tensors: unary, binary, scalar, comparison,
 * masks, casts, activations, dropout.
 *
 * The result is always row-major. If every input is too and the result is small, the loop runs over all elements at once
 * (in parallel when there are many). Else axes are merged, and the result is made in blocks that stay in the first cache:
 * inputs that do not lie as the loop wants them are gathered there, halves are widened there, and a large result is written from
 * there past the caches. A transposed input is brought there by tiles. Nothing is expanded or converted as a whole. */
#include "ndarray_half.h"
#include "ndarray_kernels.h"
#include "ndarray_moves.h"
#include "ndarray_random.h"

#include <burn/plugin/random.h>

#include <math.h>
#include <string.h>

#define ND_GRAIN_CHEAP 16384 /* elements per chunk at least, for loops at the speed of memory */
#define ND_GRAIN_HEAVY 4096  /* for transcendental functions and divisions */
#define ND_BLOCK_BYTES 4096  /* of the widest elements of a call, in a block */
#define ND_LONG_ROW 64       /* rows from this length on go to the loop directly */
#define ND_TILE_ROWS 16      /* of the result, in a tile of transposed inputs */
#define ND_TILE_BYTES 1024 /* of a row of a tile */
#define ND_TILE_LEAST 8 /* shorter axes make no tiles */

/* How an input gets to the loop. */
typedef enum NdForm {
  ND_PLAIN,    /* row-major over the result: as it is */
  ND_PERIODIC, /* row-major over the last axes and repeated over the others: from a copy of a period and a block more */
  ND_STEPPED   /* anything else: gathered */
} NdForm;

/* How rows of a tile get to the loop: from the transposed tile, as they lie in the input, or gathered. */
typedef enum NdTileRows { ND_TRANSPOSED_ROWS, ND_OWN_ROWS, ND_GATHERED_ROWS } NdTileRows;

/* A call whose result is made in blocks or tiles. Axes are merged; the result is row-major over shape. */
typedef struct NdStrided {
  NdLoop loop;
  NdRun run; /* scalars; out and in are the first elements */
  const NdMoves *moves;
  NdLoop widen[3], narrow; /* of half inputs and results: casts from and to the f32 of the loop, or NULL */
  uint32_t input_count, rank;
  uint32_t zero_steps; /* bit k: the loop takes a step of 0 for input k; at most one at a time */
  bool streams;        /* the result goes past the caches */
  bool by_rows;        /* rows go to the loop directly */
  NdForm form[3];
  int64_t count, block;           /* elements: all, and in a block */
  int64_t out_bytes, in_bytes[3]; /* of an element */
  int64_t period[3];
  uint32_t fast; /* tiles: the axis along which the transposed inputs have a stride of 1 */
  NdTileRows rows[3];
  int64_t columns, across, down; /* of a tile; tiles along the last axis and along `fast` */
  int64_t shape[BURN_MAX_RANK];
  int64_t strides[3][BURN_MAX_RANK];
} NdStrided;

/* A loop, and whether it is one of f32 for halves. */
typedef struct NdTyped {
  NdLoop loop;
  bool is_wide;
} NdTyped;

/* Room for the inputs and the result of a block or tile: as they are (a tile, or a period and a block more), then in f32. */
typedef struct NdBlock {
  _Alignas(64) char gathered[3][ND_TILE_ROWS * ND_TILE_BYTES];
  _Alignas(64) char wide[3][ND_BLOCK_BYTES];
  _Alignas(64) char made[ND_BLOCK_BYTES], out[ND_BLOCK_BYTES];
} NdBlock;

/* -- plain inputs -------------------------------------------------------------------------------------------------- */

/* True if x has this shape and lies in row-major order. */
static bool is_plain(const NdTensor *x, const BurnTensorDesc *desc) {
  int64_t expected = 1;
  for (uint32_t i = desc->rank; i-- > 0;) {
    const int64_t size = desc->shape[i];
    if (x->shape[i] != size || (size != 1 && x->strides[i] != expected)) return false;
    expected *= size;
  }
  return true;
}

static const char *at(const void *base, int64_t bytes) { return (const char *)base + bytes; }

static void BURN_CALL run_plain(void *context, int64_t begin, int64_t end) {
  const NdStrided *e = context;
  NdRun run = e->run;
  run.out = (char *)e->run.out + begin * e->out_bytes;
  for (uint32_t k = 0; k < e->input_count; k++) run.in[k] = at(e->run.in[k], begin * e->in_bytes[k]);
  run.count = end - begin;
  e->loop(&run);
}

/* -- the shape of a call ------------------------------------------------------------------------------------------- */

/* Fills rank, shape and strides from the inputs; neighbours that lie behind each other in all inputs become one axis. */
static void merge_axes(NdStrided *e, const BurnTensorDesc *desc, NdTensor *const *inputs) {
  e->rank = 0;
  for (uint32_t i = 0; i < desc->rank; i++) {
    const int64_t size = desc->shape[i];
    int64_t strides[3] = {0, 0, 0};
    bool merge = e->rank > 0;
    if (size == 1) continue;
    for (uint32_t k = 0; k < e->input_count; k++) {
      strides[k] = inputs[k]->shape[i] == 1 ? 0 : inputs[k]->strides[i];
      merge = merge && e->strides[k][e->rank - 1] == strides[k] * size;
    }
    if (!merge) e->rank++;
    e->shape[e->rank - 1] = merge ? e->shape[e->rank - 1] * size : size;
    for (uint32_t k = 0; k < e->input_count; k++) e->strides[k][e->rank - 1] = strides[k];
  }
  if (e->rank == 0) {
    e->rank = 1;
    e->shape[0] = 1;
    for (uint32_t k = 0; k < e->input_count; k++) e->strides[k][0] = 1;
  }
}

/* Form and period of input k. */
static void choose_form(NdStrided *e, uint32_t k) {
  uint32_t i = e->rank;
  int64_t period = 1;
  for (; i > 0 && e->strides[k][i - 1] == period; i--) period *= e->shape[i - 1];
  e->form[k] = i == 0 ? ND_PLAIN : ND_PERIODIC;
  for (; i > 0; i--) {
    if (e->strides[k][i - 1] != 0) e->form[k] = ND_STEPPED;
  }
  if (e->form[k] == ND_PERIODIC && period > e->block) e->form[k] = ND_STEPPED;
  e->period[k] = period;
}

/* Decides between rows and blocks, and the form of the inputs. */
static void choose_forms(NdStrided *e) {
  const uint32_t last = e->rank - 1;
  uint32_t zeros = 0;
  bool plain = true;
  e->by_rows = e->shape[last] >= ND_LONG_ROW && !e->narrow;
  for (uint32_t k = 0; k < e->input_count; k++) {
    const int64_t step = e->strides[k][last];
    choose_form(e, k);
    e->run.step[k] = step;
    plain = plain && e->form[k] == ND_PLAIN;
    if (step == 0) zeros++;
    if (e->widen[k] || (step != 1 && !(step == 0 && ((e->zero_steps >> k) & 1u)))) e->by_rows = false;
  }
  if (zeros > 1 || plain) e->by_rows = false;
}

/* Coordinates of element `index`; the last one is that within the row. */
static void find(const NdStrided *e, int64_t index, int64_t *coordinates) {
  for (uint32_t i = e->rank; i-- > 0;) {
    coordinates[i] = index % e->shape[i];
    index /= e->shape[i];
  }
}

/* To the start of the next row. */
static void next_row(const NdStrided *e, int64_t *coordinates) {
  coordinates[e->rank - 1] = 0;
  for (uint32_t i = e->rank - 1; i-- > 0;) {
    if (++coordinates[i] < e->shape[i]) return;
    coordinates[i] = 0;
  }
}

static int64_t offset_of(const NdStrided *e, uint32_t k, const int64_t *coordinates) {
  int64_t offset = 0;
  for (uint32_t i = 0; i < e->rank; i++) offset += coordinates[i] * e->strides[k][i];
  return offset;
}

/* -- gathering ----------------------------------------------------------------------------------------------------- */

/* The next n elements of input k from the given coordinates on, packed. */
#define ND_GATHER(bits)                                                                                            \
  static void gather_##bits(const NdStrided *e, uint32_t k, const int64_t *start, int64_t n, uint##bits##_t *to) { \
    const uint##bits##_t *base = e->run.in[k];                                                                     \
    const uint32_t last = e->rank - 1;                                                                             \
    const int64_t length = e->shape[last], step = e->strides[k][last];                                             \
    int64_t coordinates[BURN_MAX_RANK];                                                                            \
    memcpy(coordinates, start, sizeof coordinates);                                                                \
    while (n > 0) {                                                                                                \
      const uint##bits##_t *from = base + offset_of(e, k, coordinates);                                            \
      const int64_t left = length - coordinates[last], count = n < left ? n : left;                                \
      if (step == 1) {                                                                                             \
        for (int64_t i = 0; i < count; i++) to[i] = from[i];                                                       \
      } else if (step == 0) {                                                                                      \
        const uint##bits##_t x = *from;                                                                            \
        for (int64_t i = 0; i < count; i++) to[i] = x;                                                             \
      } else {                                                                                                     \
        for (int64_t i = 0; i < count; i++) to[i] = from[i * step];                                                \
      }                                                                                                            \
      to += count;                                                                                                 \
      n -= count;                                                                                                  \
      next_row(e, coordinates);                                                                                    \
    }                                                                                                              \
  }
ND_GATHER(8)
ND_GATHER(16)
ND_GATHER(32)
ND_GATHER(64)
#undef ND_GATHER

static void gather(const NdStrided *e, uint32_t k, int64_t begin, int64_t n, void *to) {
  int64_t coordinates[BURN_MAX_RANK] = {0};
  find(e, begin, coordinates);
  switch (e->in_bytes[k]) {
    case 1: gather_8(e, k, coordinates, n, to); return;
    case 2: gather_16(e, k, coordinates, n, to); return;
    case 4: gather_32(e, k, coordinates, n, to); return;
    default: gather_64(e, k, coordinates, n, to); return;
  }
}

/* A period of input k and a block more, so that every block finds its values in a row. */
static void fill_period(const NdStrided *e, uint32_t k, char *to) {
  const int64_t wanted = (e->period[k] + e->block) * e->in_bytes[k];
  int64_t have = e->period[k] * e->in_bytes[k];
  memcpy(to, e->run.in[k], (size_t)have);
  while (have < wanted) {
    const int64_t n = have < wanted - have ? have : wanted - have;
    memcpy(to + have, to, (size_t)n);
    have += n;
  }
}

/* -- blocks -------------------------------------------------------------------------------------------------------- */

/* n elements of input k in a row, in the dtype of the loop. */
static const void *widened(const NdStrided *e, uint32_t k, const void *from, int64_t n, NdBlock *block) {
  if (!e->widen[k]) return from;
  const NdRun run = {.out = block->wide[k], .in = {from}, .step = {1}, .count = n};
  e->widen[k](&run);
  return block->wide[k];
}

/* Where the n elements of input k from `begin` on lie in a row, in the dtype of the loop. */
static const void *block_input(const NdStrided *e, uint32_t k, int64_t begin, int64_t n, NdBlock *block) {
  const void *from = at(e->run.in[k], begin * e->in_bytes[k]);
  if (e->form[k] == ND_PERIODIC) from = block->gathered[k] + begin % e->period[k] * e->in_bytes[k];
  if (e->form[k] == ND_STEPPED) {
    gather(e, k, begin, n, block->gathered[k]);
    from = block->gathered[k];
  }
  return widened(e, k, from, n, block);
}

/* n elements from `begin` on to `out`, by pieces of rows. `coordinates` move on. */
static void make_rows(const NdStrided *e, NdRun *run, int64_t n, char *out, int64_t *coordinates) {
  const int64_t length = e->shape[e->rank - 1];
  while (n > 0) {
    const int64_t left = length - coordinates[e->rank - 1];
    run->count = n < left ? n : left;
    run->out = out;
    for (uint32_t k = 0; k < e->input_count; k++) {
      run->in[k] = at(e->run.in[k], offset_of(e, k, coordinates) * e->in_bytes[k]);
    }
    e->loop(run);
    out += run->count * e->out_bytes;
    n -= run->count;
    coordinates[e->rank - 1] += run->count;
    if (run->count == left) next_row(e, coordinates);
  }
}

/* Brings the n results in `made` to their place; if that is where they were made, they are there already. */
static void finish_block(const NdStrided *e, char *made, int64_t n, char *to, NdBlock *block) {
  const char *from = made;
  if (e->narrow) {
    const NdRun run = {.out = e->streams ? block->out : to, .in = {made}, .step = {1}, .count = n};
    e->narrow(&run);
    from = run.out;
  }
  if (e->streams) e->moves->stream(to, from, n * e->out_bytes);
}

/* Asks for the plain inputs of the block from `begin` on. */
static void fetch_block(const NdStrided *e, int64_t begin) {
  for (uint32_t k = 0; k < e->input_count; k++) {
    if (e->form[k] == ND_PLAIN) e->moves->fetch(at(e->run.in[k], begin * e->in_bytes[k]), e->block * e->in_bytes[k]);
  }
}

/* Blocks begin .. end-1. */
static void BURN_CALL run_blocks(void *context, int64_t begin, int64_t end) {
  const NdStrided *e = context;
  NdBlock block;
  int64_t coordinates[BURN_MAX_RANK] = {0};
  NdRun run = e->run;
  if (e->by_rows) find(e, begin * e->block, coordinates);
  for (uint32_t k = 0; k < e->input_count && !e->by_rows; k++) {
    run.step[k] = 1;
    if (e->form[k] == ND_PERIODIC) fill_period(e, k, block.gathered[k]);
  }
  for (int64_t b = begin; b < end; b++) {
    const int64_t first = b * e->block, n = e->count - first < e->block ? e->count - first : e->block;
    char *to = (char *)e->run.out + first * e->out_bytes, *made = e->streams || e->narrow ? block.made : to;
    if (e->by_rows) {
      make_rows(e, &run, n, made, coordinates);
    } else {
      for (uint32_t k = 0; k < e->input_count; k++) run.in[k] = block_input(e, k, first, n, &block);
      run.out = made;
      run.count = n;
      e->loop(&run);
    }
    if (e->streams) fetch_block(e, first + e->block);
    finish_block(e, made, n, to, &block);
  }
  if (e->streams) e->moves->stream_end();
}

/* -- tiles: inputs that are transposed against the result ---------------------------------------------------------- */

/* The axis before the last along which input k has a stride of 1, if its last one has not; else the rank. */
static uint32_t transposed_axis(const NdStrided *e, uint32_t k) {
  const uint32_t last = e->rank - 1;
  const int64_t step = e->strides[k][last];
  if (step == 0 || step == 1 || e->shape[last] < ND_TILE_LEAST) return e->rank;
  for (uint32_t i = 0; i < last; i++) {
    if (e->strides[k][i] == 1 && e->shape[i] >= ND_TILE_LEAST) return i;
  }
  return e->rank;
}

/* Fills fast, columns and how rows of a tile get to the loop; false if no input is transposed. */
static bool choose_tiles(NdStrided *e) {
  const uint32_t last = e->rank - 1;
  uint32_t zeros = 0;
  int64_t widest = 1;
  e->fast = e->rank;
  for (uint32_t k = 0; k < e->input_count; k++) {
    const uint32_t axis = transposed_axis(e, k);
    const int64_t step = e->strides[k][last];
    if (e->fast == e->rank) e->fast = axis;
    if (e->in_bytes[k] > widest) widest = e->in_bytes[k];
    const bool repeats = step == 0 && ((e->zero_steps >> k) & 1u) && !e->widen[k] && zeros++ == 0;
    e->rows[k] = axis < e->rank && axis == e->fast ? ND_TRANSPOSED_ROWS : step == 1 || repeats ? ND_OWN_ROWS : ND_GATHERED_ROWS;
  }
  if (e->fast == e->rank) return false;
  e->columns = ND_TILE_BYTES / widest < e->block ? ND_TILE_BYTES / widest : e->block;
  e->across = (e->shape[last] + e->columns - 1) / e->columns;
  e->down = (e->shape[e->fast] + ND_TILE_ROWS - 1) / ND_TILE_ROWS;
  return true;
}

/* `n` elements that are `step` apart, in a row. */
static void copy_stepped(void *to, const void *from, int64_t step, int64_t n, int64_t bytes) {
  for (int64_t i = 0; i < n; i++) memcpy((char *)to + i * bytes, at(from, i * step * bytes), (size_t)bytes);
}

/* Row r of input k in a tile, in the dtype of the loop. `in` is the first element of the tile. */
static const void *tile_row(const NdStrided *e, uint32_t k, int64_t r, int64_t columns, int64_t in, NdBlock *block) {
  const int64_t bytes = e->in_bytes[k];
  const void *from = at(e->run.in[k], (in + r * e->strides[k][e->fast]) * bytes);
  if (e->rows[k] == ND_TRANSPOSED_ROWS) from = block->gathered[k] + r * e->columns * bytes;
  if (e->rows[k] == ND_GATHERED_ROWS) {
    copy_stepped(block->gathered[k], from, e->strides[k][e->rank - 1], columns, bytes);
    from = block->gathered[k];
  }
  return widened(e, k, from, columns, block);
}

/* One tile: rows along `fast`, columns along the last axis, from the given elements of out and in on. */
static void make_tile(const NdStrided *e, int64_t rows, int64_t columns, int64_t row_step, int64_t out, const int64_t *in,
                      NdBlock *block) {
  NdRun run = e->run;
  const uint32_t last = e->rank - 1;
  run.count = columns;
  for (uint32_t k = 0; k < e->input_count; k++) {
    run.step[k] = e->rows[k] == ND_OWN_ROWS ? e->strides[k][last] : 1;
    if (e->rows[k] != ND_TRANSPOSED_ROWS) continue;
    e->moves->transpose[nd_log2_bytes(e->in_bytes[k])](block->gathered[k], e->columns, at(e->run.in[k], in[k] * e->in_bytes[k]),
                                                       e->strides[k][last], rows, columns, false);
  }
  for (int64_t r = 0; r < rows; r++) {
    char *to = (char *)e->run.out + (out + r * row_step) * e->out_bytes, *made = e->streams || e->narrow ? block->made : to;
    for (uint32_t k = 0; k < e->input_count; k++) run.in[k] = tile_row(e, k, r, columns, in[k], block);
    run.out = made;
    e->loop(&run);
    finish_block(e, made, columns, to, block);
  }
}

/* Tiles begin .. end-1: numbered along the last axis, then along `fast`, then over the others. */
static void BURN_CALL run_tiles(void *context, int64_t begin, int64_t end) {
  const NdStrided *e = context;
  NdBlock block;
  const uint32_t last = e->rank - 1;
  for (int64_t tile = begin; tile < end; tile++) {
    const int64_t column = tile % e->across * e->columns, row = tile / e->across % e->down * ND_TILE_ROWS;
    int64_t rest = tile / e->across / e->down, out = column, stride = e->shape[last], row_step = 0, in[3] = {0, 0, 0};
    for (uint32_t k = 0; k < e->input_count; k++) in[k] = column * e->strides[k][last];
    for (uint32_t i = last; i-- > 0;) {
      const int64_t place = i == e->fast ? row : rest % e->shape[i];
      if (i == e->fast) row_step = stride;
      if (i != e->fast) rest /= e->shape[i];
      out += place * stride;
      for (uint32_t k = 0; k < e->input_count; k++) in[k] += place * e->strides[k][i];
      stride *= e->shape[i];
    }
    const int64_t rows = e->shape[e->fast] - row, columns = e->shape[last] - column;
    make_tile(e, rows < ND_TILE_ROWS ? rows : ND_TILE_ROWS, columns < e->columns ? columns : e->columns, row_step, out, in,
              &block);
  }
  if (e->streams) e->moves->stream_end();
}

/* -- any inputs ---------------------------------------------------------------------------------------------------- */

/* Runs e over inputs that are not plain, or halves, or to a large result. */
static void run_strided(Ndarray *nd, NdStrided *e, const BurnOpCall *call, int64_t grain) {
  NdTensor *inputs[3] = {NULL, NULL, NULL};
  int64_t widest = e->narrow ? (int64_t)sizeof(float) : e->out_bytes;
  for (uint32_t k = 0; k < e->input_count; k++) {
    const int64_t bytes = e->widen[k] ? (int64_t)sizeof(float) : e->in_bytes[k];
    inputs[k] = nd_tensor(call->inputs[k]);
    widest = bytes > widest ? bytes : widest;
  }
  e->moves = nd_moves(nd);
  e->block = ND_BLOCK_BYTES / widest;
  merge_axes(e, &call->output_descs[0], inputs);
  if (choose_tiles(e)) {
    const int64_t tiles = e->count / e->shape[e->rank - 1] / e->shape[e->fast] * e->across * e->down;
    nd_parallel_for(nd, tiles, grain / (ND_TILE_ROWS * e->columns), run_tiles, e);
    return;
  }
  choose_forms(e);
  nd_parallel_for(nd, (e->count + e->block - 1) / e->block, grain / e->block, run_blocks, e);
}

/* Sets the casts around a loop that works in f32 on halves. */
static void set_casts(NdStrided *e, const Ndarray *nd, const BurnOpCall *call, BurnDType dtype) {
  const NdKernels *kernels = nd_kernels(nd);
  for (uint32_t k = 0; k < e->input_count; k++) {
    e->widen[k] = call->inputs[k]->dtype == dtype ? kernels->casts[dtype][BURN_DTYPE_F32] : NULL;
  }
  e->narrow = call->output_descs[0].dtype == dtype ? kernels->casts[BURN_DTYPE_F32][dtype] : NULL;
}

/* True if `out` lies in the memory of an input. */
static bool is_in_place(const NdTensor *out, const BurnOpCall *call) {
  for (uint32_t k = 0; k < call->input_count; k++) {
    if (nd_tensor(call->inputs[k])->storage == out->storage) return true;
  }
  return false;
}

/* Runs the loop over all elements of the result. `scalars` has the attributes. */
static BurnStatus run_loop(Ndarray *nd, const BurnOpCall *call, NdTyped typed, const NdRun *scalars, uint32_t zero_steps,
                           int64_t grain) {
  NdStrided e;
  const BurnTensorDesc *desc = &call->output_descs[0];
  bool plain = !typed.is_wide;
  if (!typed.loop) {
    return nd_fail(nd, BURN_STATUS_UNIMPLEMENTED, "%s: no kernel for %s", nd->host->op_info(call->op)->name,
                   burn_dtype_name(call->inputs[0]->dtype));
  }
  NdTensor *out = nd_output(nd, call, 0);
  if (!out) return nd_out_of_memory(nd, call);
  e.loop = typed.loop;
  e.run = *scalars;
  e.run.out = nd_data(out);
  e.run.count = e.count = burn_desc_count(desc);
  e.input_count = call->input_count;
  e.zero_steps = zero_steps;
  e.out_bytes = burn_dtype_bytes(desc->dtype);
  for (uint32_t k = 0; k < e.input_count; k++) {
    const NdTensor *x = nd_tensor(call->inputs[k]);
    plain = plain && is_plain(x, desc);
    e.run.in[k] = nd_data(x);
    e.run.step[k] = 1;
    e.in_bytes[k] = burn_dtype_bytes(x->header.dtype);
    e.widen[k] = NULL;
  }
  e.narrow = NULL;
  e.streams = e.count * e.out_bytes >= ND_STREAM_BYTES && !is_in_place(out, call);
  if (typed.is_wide) set_casts(&e, nd, call, call->inputs[0]->dtype);
  if (plain && !e.streams) {
    if (e.count <= grain) {
      typed.loop(&e.run);
    } else {
      nd->host->parallel_for(e.count, grain, run_plain, &e);
    }
  } else if (e.count > 0) {
    run_strided(nd, &e, call, grain);
  }
  call->outputs[0] = &out->header;
  return BURN_OK;
}

/* -- kernels ------------------------------------------------------------------------------------------------------- */

static bool is_half(BurnDType dtype) { return dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16; }

/* The loop of an op for a dtype, or for halves that of f32. */
static NdTyped loop_of(const Ndarray *nd, uint32_t op, BurnDType dtype) {
  NdTyped typed = {NULL, false};
  if (op >= BURN_OP_LIMIT || dtype >= ND_DTYPE_COUNT) return typed;
  typed.loop = nd_kernels(nd)->loops[op][dtype];
  if (!typed.loop && is_half(dtype)) {
    typed = loop_of(nd, op, BURN_DTYPE_F32);
    typed.is_wide = true;
  }
  if (!typed.loop) typed.loop = nd_common_loops[op][dtype];
  return typed;
}

bool nd_takes_halves(const Ndarray *nd, uint32_t op) { return loop_of(nd, op, BURN_DTYPE_F16).loop != NULL; }

/* A number of an attribute in the dtype of the loop. It stands for a tensor, so for halves it is rounded as one; composite ops
 * compute as a whole in f32. */
static NdScalar number(const Ndarray *nd, const BurnOpCall *call, double value, bool wraps) {
  const BurnDType dtype = call->inputs[0]->dtype;
  if (!is_half(dtype)) return nd_scalar(dtype, value, wraps);
  if (nd->host->op_info(call->op)->is_composite) return nd_scalar(BURN_DTYPE_F32, value, wraps);
  const bool is_f16 = dtype == BURN_DTYPE_F16;
  const float rounded = is_f16 ? nd_f16_to_f32(nd_f16_from_f64(value)) : nd_bf16_to_f32(nd_bf16_from_f64(value));
  return nd_scalar(BURN_DTYPE_F32, (double)rounded, wraps);
}

static const NdRun no_scalars;

/* Unary and binary ops without attributes; binary loops take a step of 0. */
static BurnStatus simple(Ndarray *nd, const BurnOpCall *call, int64_t grain) {
  const uint32_t zero_steps = call->input_count == 2 ? 3 : 0;
  return run_loop(nd, call, loop_of(nd, call->op, call->inputs[0]->dtype), &no_scalars, zero_steps, grain);
}
static BurnStatus cheap(Ndarray *nd, const BurnOpCall *call) { return simple(nd, call, ND_GRAIN_CHEAP); }
static BurnStatus heavy(Ndarray *nd, const BurnOpCall *call) { return simple(nd, call, ND_GRAIN_HEAVY); }

/* Ops whose first attribute is a number. */
static BurnStatus scalar(Ndarray *nd, const BurnOpCall *call, bool wraps, int64_t grain) {
  const BurnDType dtype = call->inputs[0]->dtype;
  NdRun run = no_scalars;
  run.first = number(nd, call, call->attrs[0].value.f64, wraps);
  return run_loop(nd, call, loop_of(nd, call->op, dtype), &run, 0, grain);
}
static BurnStatus scalar_wrapping(Ndarray *nd, const BurnOpCall *call) {
  return scalar(nd, call, true, ND_GRAIN_CHEAP);
}
static BurnStatus scalar_cheap(Ndarray *nd, const BurnOpCall *call) { return scalar(nd, call, false, ND_GRAIN_CHEAP); }
static BurnStatus scalar_heavy(Ndarray *nd, const BurnOpCall *call) { return scalar(nd, call, false, ND_GRAIN_HEAVY); }

/* clamp_min, clamp_max, clamp; a NaN bound is no bound. */
static BurnStatus clamp(Ndarray *nd, const BurnOpCall *call) {
  const BurnDType dtype = call->inputs[0]->dtype;
  const bool is_float = burn_dtype_kind(dtype) == BURN_KIND_FLOAT;
  double first = call->attrs[0].value.f64;
  NdRun run = no_scalars;
  if (!is_float && !(first == first)) first = call->op == BURN_OP_clamp_max ? (double)INFINITY : -(double)INFINITY;
  run.first = number(nd, call, first, false);
  if (call->op == BURN_OP_clamp) {
    double second = call->attrs[1].value.f64;
    if (!is_float && !(second == second)) second = (double)INFINITY;
    run.second = number(nd, call, second, false);
  }
  return run_loop(nd, call, loop_of(nd, call->op, dtype), &run, 0, ND_GRAIN_CHEAP);
}

static BurnStatus compare_scalar(Ndarray *nd, const BurnOpCall *call) {
  const BurnDType dtype = call->inputs[0]->dtype;
  const double value = call->attrs[0].value.f64;
  uint32_t op = call->op;
  NdRun run = no_scalars;
  if (burn_dtype_kind(dtype) == BURN_KIND_FLOAT) {
    run.first = number(nd, call, value, false);
  } else {
    run.first = nd_integer_threshold(dtype, &op, value);
  }
  return run_loop(nd, call, loop_of(nd, op, dtype), &run, 0, ND_GRAIN_CHEAP);
}

static BurnStatus cast(Ndarray *nd, const BurnOpCall *call) {
  const BurnDType from = call->inputs[0]->dtype, to = call->output_descs[0].dtype;
  NdTensor *x = nd_tensor(call->inputs[0]);
  if (from == to) {
    nd_retain(x);
    return nd_finish(nd, call, x);
  }
  const NdTyped typed = {from < ND_DTYPE_COUNT && to < ND_DTYPE_COUNT ? nd_kernels(nd)->casts[from][to] : NULL, false};
  return run_loop(nd, call, typed, &no_scalars, 0, ND_GRAIN_CHEAP);
}

/* The loops want i64 exponents; others are converted first. */
static BurnStatus powi(Ndarray *nd, const BurnOpCall *call) {
  const BurnPrimitive *exponent = call->inputs[1];
  if (exponent->dtype == BURN_DTYPE_I64) return heavy(nd, call);
  BurnPrimitive *wide = NULL;
  BurnTensorDesc desc = burn_primitive_desc(exponent);
  desc.dtype = BURN_DTYPE_I64;
  BurnOpCall conversion = *call;
  conversion.op = BURN_OP_cast;
  conversion.input_count = 1;
  conversion.inputs = call->inputs + 1;
  conversion.outputs = &wide;
  conversion.output_descs = &desc;
  conversion.donate = 0;
  BurnStatus status = cast(nd, &conversion);
  if (status != BURN_OK) return status;
  BurnPrimitive *const inputs[] = {call->inputs[0], wide};
  BurnOpCall power = *call;
  power.inputs = inputs;
  power.donate = call->donate & 1u;
  status = heavy(nd, &power);
  nd_release(nd, nd_tensor(wide));
  return status;
}

static BurnStatus mask_where(Ndarray *nd, const BurnOpCall *call) {
  return run_loop(nd, call, loop_of(nd, BURN_OP_mask_where, call->inputs[0]->dtype), &no_scalars, 4, ND_GRAIN_CHEAP);
}

static BurnStatus mask_fill(Ndarray *nd, const BurnOpCall *call) {
  const BurnDType dtype = call->inputs[0]->dtype;
  const double value = call->attrs[0].value.f64;
  NdRun run = no_scalars;
  run.first = nd_scalar(dtype, dtype == BURN_DTYPE_BOOL ? (double)(value != 0.0) : value, false);
  return run_loop(nd, call, loop_of(nd, BURN_OP_mask_fill, dtype), &run, 0, ND_GRAIN_CHEAP);
}

/* -- dropout ------------------------------------------------------------------------------------------------------- */

typedef struct NdDropout {
  const NdRandomLoops *loops;
  const NdMoves *moves;
  BurnDType dtype;
  bool streams;
  int64_t count;
  uint64_t seed, offset, threshold;
  double scale; /* 1 / (1 - prob) */
  const void *x;
  void *out;
} NdDropout;

/* n elements of a group from `first` on, to `to`. */
static void drop_out(const NdDropout *d, int64_t first, int64_t n, const uint32_t *words, void *to) {
  if (d->dtype == BURN_DTYPE_F32) {
    d->loops->dropout_f32(n, words, d->threshold, (const float *)d->x + first, to, (float)d->scale);
  } else {
    d->loops->dropout_f64(n, words, d->threshold, (const double *)d->x + first, to, d->scale);
  }
}

/* Groups begin .. end-1 of ND_RANDOM_WORDS elements. */
static void BURN_CALL dropout_groups(void *context, int64_t begin, int64_t end) {
  const NdDropout *d = context;
  const int64_t bytes = burn_dtype_bytes(d->dtype);
  _Alignas(64) uint32_t words[ND_RANDOM_WORDS];
  _Alignas(64) double made[ND_RANDOM_WORDS];
  for (int64_t group = begin; group < end; group++) {
    const int64_t first = group * ND_RANDOM_WORDS, left = d->count - first;
    const int64_t n = left < ND_RANDOM_WORDS ? left : ND_RANDOM_WORDS;
    char *to = (char *)d->out + first * bytes;
    if (d->streams) d->moves->fetch(at(d->x, first * bytes), n * bytes); /* while the words are made */
    d->loops->words(d->seed, d->offset + (uint64_t)group * ND_RANDOM_BLOCKS, words);
    drop_out(d, first, n, words, d->streams ? (char *)made : to);
    if (d->streams) d->moves->stream(to, made, n * bytes);
  }
  if (d->streams) d->moves->stream_end();
}

static BurnStatus dropout(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_dropout *attrs = BURN_ATTRS(dropout, call);
  NdDropout d;
  d.loops = nd_random(nd);
  d.moves = nd_moves(nd);
  d.dtype = call->inputs[0]->dtype;
  d.count = burn_desc_count(&call->output_descs[0]);
  d.seed = (uint64_t)attrs->seed.value.i64;
  d.offset = (uint64_t)attrs->offset.value.i64;
  d.scale = 1.0 / (1.0 - attrs->prob.value.f64); /* infinite when nothing is kept: 0 * infinity is NaN, as in Burn */
  d.threshold = burn_random_threshold(1.0 - attrs->prob.value.f64);
  NdTensor *out = nd_output(nd, call, 0);
  NdTensor *x = out ? nd_contiguous(nd, nd_tensor(call->inputs[0])) : NULL;
  if (!x) {
    nd_release(nd, out);
    return nd_out_of_memory(nd, call);
  }
  d.x = nd_data(x);
  d.out = nd_data(out);
  d.streams = d.x != d.out && d.count * (int64_t)burn_dtype_bytes(d.dtype) >= ND_STREAM_BYTES;
  nd_parallel_for(nd, (d.count + ND_RANDOM_WORDS - 1) / ND_RANDOM_WORDS, ND_GRAIN_HEAVY / ND_RANDOM_WORDS,
                  dropout_groups, &d);
  nd_release(nd, x);
  return nd_finish(nd, call, out);
}

/* -- the list ------------------------------------------------------------------------------------------------------ */

#define ND_ROW(op, kernel) \
  { BURN_OP_##op, kernel }

const NdKernelRow nd_elementwise_kernels[] = {
    ND_ROW(neg, cheap),
    ND_ROW(abs, cheap),
    ND_ROW(sign, cheap),
    ND_ROW(exp, heavy),
    ND_ROW(log, heavy),
    ND_ROW(log1p, heavy),
    ND_ROW(sqrt, cheap),
    ND_ROW(recip, cheap),
    ND_ROW(sin, heavy),
    ND_ROW(cos, heavy),
    ND_ROW(tanh, heavy),
    ND_ROW(erf, heavy),
    ND_ROW(floor, cheap),
    ND_ROW(ceil, cheap),
    ND_ROW(round, cheap),
    ND_ROW(bool_not, cheap),
    ND_ROW(tan, heavy),
    ND_ROW(sinh, heavy),
    ND_ROW(cosh, heavy),
    ND_ROW(asin, heavy),
    ND_ROW(acos, heavy),
    ND_ROW(atan, heavy),
    ND_ROW(asinh, heavy),
    ND_ROW(acosh, heavy),
    ND_ROW(atanh, heavy),
    ND_ROW(trunc, cheap),
    ND_ROW(bitwise_not, cheap),
    ND_ROW(is_nan, cheap),
    ND_ROW(is_inf, cheap),
    ND_ROW(is_finite, cheap),
    ND_ROW(cast, cast),
    ND_ROW(add, cheap),
    ND_ROW(sub, cheap),
    ND_ROW(mul, cheap),
    ND_ROW(div, cheap),
    ND_ROW(remainder, heavy),
    ND_ROW(powf, heavy),
    ND_ROW(max_pair, cheap),
    ND_ROW(min_pair, cheap),
    ND_ROW(bool_and, cheap),
    ND_ROW(bool_or, cheap),
    ND_ROW(bool_xor, cheap),
    ND_ROW(atan2, heavy),
    ND_ROW(hypot, heavy),
    ND_ROW(fmod, heavy),
    ND_ROW(powi, powi),
    ND_ROW(bitwise_and, cheap),
    ND_ROW(bitwise_or, cheap),
    ND_ROW(bitwise_xor, cheap),
    ND_ROW(bitwise_left_shift, cheap),
    ND_ROW(bitwise_right_shift, cheap),
    ND_ROW(add_scalar, scalar_wrapping),
    ND_ROW(mul_scalar, scalar_wrapping),
    ND_ROW(div_scalar, scalar_cheap),
    ND_ROW(remainder_scalar, scalar_heavy),
    ND_ROW(powf_scalar, scalar_heavy),
    ND_ROW(clamp_min, clamp),
    ND_ROW(clamp_max, clamp),
    ND_ROW(clamp, clamp),
    ND_ROW(equal, cheap),
    ND_ROW(not_equal, cheap),
    ND_ROW(greater, cheap),
    ND_ROW(greater_equal, cheap),
    ND_ROW(lower, cheap),
    ND_ROW(lower_equal, cheap),
    ND_ROW(equal_scalar, compare_scalar),
    ND_ROW(not_equal_scalar, compare_scalar),
    ND_ROW(greater_scalar, compare_scalar),
    ND_ROW(greater_equal_scalar, compare_scalar),
    ND_ROW(lower_scalar, compare_scalar),
    ND_ROW(lower_equal_scalar, compare_scalar),
    ND_ROW(mask_where, mask_where),
    ND_ROW(mask_fill, mask_fill),
    ND_ROW(relu, cheap),
    ND_ROW(relu_backward, cheap),
    ND_ROW(gelu_backward, heavy),
    ND_ROW(leaky_relu, scalar_cheap),
    ND_ROW(sigmoid, heavy),
    ND_ROW(gelu, heavy),
    ND_ROW(silu, heavy),
    ND_ROW(softplus, scalar_heavy),
    ND_ROW(dropout, dropout),
    {BURN_OP_INVALID, NULL},
};
