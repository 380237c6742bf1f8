/* ndarray_strided.c - element-wise calls by blocks and tiles.
 *
 * Axes are merged, and the result is made in blocks that stay in the first cache: inputs that do not lie as the loop
 * wants them are gathered there, halves are widened there, and a large result is written from there past the caches. A
 * transposed input is brought there by tiles. Nothing is expanded or converted as a whole. */
#include "ndarray_strided.h"

#include <string.h>

enum { PIECES = 8 };        /* in which a block goes past the caches */
#define ND_BLOCK_BYTES 4096 /* of the widest elements of a call, in a block */
#define ND_LONG_ROW 64      /* rows from this length on go to the loop directly */
#define ND_TILE_ROWS 16     /* of the result, in a tile of transposed inputs */
#define ND_TILE_BYTES 1024  /* of a row of a tile */
#define ND_TILE_MIN 8       /* shorter axes make no tiles */

/* Room for the inputs and the result of a block or tile: as they are (a tile, or a period and a block more), then in
 * f32. */
typedef struct NdBlock {
  _Alignas(64) char gathered[3][ND_TILE_ROWS * ND_TILE_BYTES];
  _Alignas(64) char wide[3][ND_BLOCK_BYTES];
  _Alignas(64) char made[ND_BLOCK_BYTES], out[ND_BLOCK_BYTES];
} NdBlock;

/* -- the shape of a call ---------------------------------------------------------------------- */

/* Fills rank, shape and strides from the inputs; neighbours that lie one after the other in all inputs become one axis.
 */
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

/* -- gathering -------------------------------------------------------------------------------- */

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
    case 1:
      gather_8(e, k, coordinates, n, to);
      return;
    case 2:
      gather_16(e, k, coordinates, n, to);
      return;
    case 4:
      gather_32(e, k, coordinates, n, to);
      return;
    default:
      gather_64(e, k, coordinates, n, to);
      return;
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

/* -- blocks ----------------------------------------------------------------------------------- */

/* n elements of input k in a row, in the dtype of the loop. */
static const void *widened(const NdStrided *e, uint32_t k, const void *from, int64_t n, NdBlock *block) {
  if (!e->widen[k]) return from;
  const NdRun run = {.out = block->wide[k], .in = {from}, .step = {1}, .count = n};
  e->widen[k](&run);
  return block->wide[k];
}

/* Where the n elements of input k from `begin` on lie in a row, in the dtype of the loop. */
static const void *block_input(const NdStrided *e, uint32_t k, int64_t begin, int64_t n, NdBlock *block) {
  const void *from = nd_at(e->run.in[k], begin * e->in_bytes[k]);
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
      run->in[k] = nd_at(e->run.in[k], offset_of(e, k, coordinates) * e->in_bytes[k]);
    }
    e->loop(run);
    out += run->count * e->out_bytes;
    n -= run->count;
    coordinates[e->rank - 1] += run->count;
    if (run->count == left) next_row(e, coordinates);
  }
}

/* The n results in `made`, narrowed where they have to be: in `block`, or in their place if nothing streams them there.
 */
static const char *narrowed(const NdStrided *e, char *made, int64_t n, char *to, NdBlock *block) {
  const NdRun run = {.out = e->streams ? block->out : to, .in = {made}, .step = {1}, .count = n};
  if (!e->narrow) return made;
  e->narrow(&run);
  return run.out;
}

/* Brings the n results in `made` to their place; if that is where they were made, they are there already. */
static void finish_row(const NdStrided *e, char *made, int64_t n, char *to, NdBlock *block) {
  const char *from = narrowed(e, made, n, to, block);
  if (e->streams) e->moves->stream(to, from, n * e->out_bytes);
}

/* The same for a whole block from `first` on. Where results go past the caches the plain inputs of the next block are
 * asked for meanwhile, in turns: memory would have to wait for either. */
static void finish_block(const NdStrided *e, int64_t first, char *made, int64_t n, char *to, NdBlock *block) {
  const char *from = narrowed(e, made, n, to, block);
  const int64_t piece = e->block / PIECES;
  if (!e->streams) return;
  for (int64_t i = 0; i < n; i += piece) {
    for (uint32_t k = 0; k < e->input_count; k++) {
      if (e->form[k] != ND_PLAIN) continue;
      e->moves->fetch(nd_at(e->run.in[k], (first + e->block + i) * e->in_bytes[k]), piece * e->in_bytes[k]);
    }
    e->moves->stream(to + i * e->out_bytes, from + i * e->out_bytes, nd_min(piece, n - i) * e->out_bytes);
  }
}

/* Blocks begin .. end-1. */
static void BURN_API_CALL run_blocks(void *context, int64_t begin, int64_t end) {
  const NdStrided *e = context;
  NdBlock block;
  int64_t coordinates[BURN_MAX_RANK] = {0};
  NdRun run = e->run;
  const bool in_block = (e->streams && !e->loop_streams) || e->narrow;
  run.streams = e->loop_streams;
  if (e->by_rows) find(e, begin * e->block, coordinates);
  for (uint32_t k = 0; k < e->input_count && !e->by_rows; k++) {
    run.step[k] = 1;
    if (e->form[k] == ND_PERIODIC) fill_period(e, k, block.gathered[k]);
  }
  for (int64_t b = begin; b < end; b++) {
    const int64_t first = b * e->block, n = e->count - first < e->block ? e->count - first : e->block;
    char *to = (char *)e->run.out + first * e->out_bytes, *made = in_block ? block.made : to;
    if (e->by_rows) {
      make_rows(e, &run, n, made, coordinates);
    } else {
      for (uint32_t k = 0; k < e->input_count; k++) run.in[k] = block_input(e, k, first, n, &block);
      run.out = made;
      run.count = n;
      e->loop(&run);
    }
    if (e->loop_streams) continue;
    finish_block(e, first, made, n, to, &block);
  }
  if (e->streams) e->moves->stream_end();
}

/* -- tiles: inputs that are transposed against the result ------------------------------------- */

/* The axis before the last along which input k has a stride of 1, if its last one has not; else the rank. */
static uint32_t transposed_axis(const NdStrided *e, uint32_t k) {
  const uint32_t last = e->rank - 1;
  const int64_t step = e->strides[k][last];
  if (step == 0 || step == 1 || e->shape[last] < ND_TILE_MIN) return e->rank;
  for (uint32_t i = 0; i < last; i++) {
    if (e->strides[k][i] == 1 && e->shape[i] >= ND_TILE_MIN) return i;
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
    e->rows[k] = axis < e->rank && axis == e->fast ? ND_TRANSPOSED_ROWS
                 : step == 1 || repeats            ? ND_OWN_ROWS
                                                   : ND_GATHERED_ROWS;
  }
  if (e->fast == e->rank) return false;
  e->columns = ND_TILE_BYTES / widest < e->block ? ND_TILE_BYTES / widest : e->block;
  e->across = (e->shape[last] + e->columns - 1) / e->columns;
  e->down = (e->shape[e->fast] + ND_TILE_ROWS - 1) / ND_TILE_ROWS;
  return true;
}

/* `n` elements that are `step` apart, in a row. */
static void copy_stepped(void *to, const void *from, int64_t step, int64_t n, int64_t bytes) {
  for (int64_t i = 0; i < n; i++) memcpy((char *)to + i * bytes, nd_at(from, i * step * bytes), (size_t)bytes);
}

/* Row r of input k in a tile, in the dtype of the loop. `in` is the first element of the tile. */
static const void *tile_row(const NdStrided *e, uint32_t k, int64_t r, int64_t columns, int64_t in, NdBlock *block) {
  const int64_t bytes = e->in_bytes[k];
  const void *from = nd_at(e->run.in[k], (in + r * e->strides[k][e->fast]) * bytes);
  if (e->rows[k] == ND_TRANSPOSED_ROWS) from = block->gathered[k] + r * e->columns * bytes;
  if (e->rows[k] == ND_GATHERED_ROWS) {
    copy_stepped(block->gathered[k], from, e->strides[k][e->rank - 1], columns, bytes);
    from = block->gathered[k];
  }
  return widened(e, k, from, columns, block);
}

/* One tile: rows along `fast`, columns along the last axis, from the given elements of out and in on. */
static void make_tile(const NdStrided *e, int64_t rows, int64_t columns, int64_t row_step, int64_t out,
                      const int64_t *in, NdBlock *block) {
  NdRun run = e->run;
  const uint32_t last = e->rank - 1;
  run.count = columns;
  for (uint32_t k = 0; k < e->input_count; k++) {
    run.step[k] = e->rows[k] == ND_OWN_ROWS ? e->strides[k][last] : 1;
    if (e->rows[k] != ND_TRANSPOSED_ROWS) continue;
    e->moves->transpose[nd_log2_bytes(e->in_bytes[k])](block->gathered[k], e->columns,
                                                       nd_at(e->run.in[k], in[k] * e->in_bytes[k]), e->strides[k][last],
                                                       rows, columns, false);
  }
  for (int64_t r = 0; r < rows; r++) {
    char *to = (char *)e->run.out + (out + r * row_step) * e->out_bytes,
         *made = e->streams || e->narrow ? block->made : to;
    for (uint32_t k = 0; k < e->input_count; k++) run.in[k] = tile_row(e, k, r, columns, in[k], block);
    run.out = made;
    e->loop(&run);
    finish_row(e, made, columns, to, block);
  }
}

/* Tiles begin .. end-1: numbered along the last axis, then along `fast`, then over the others. */
static void BURN_API_CALL run_tiles(void *context, int64_t begin, int64_t end) {
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
    make_tile(e, rows < ND_TILE_ROWS ? rows : ND_TILE_ROWS, columns < e->columns ? columns : e->columns, row_step, out,
              in, &block);
  }
  if (e->streams) e->moves->stream_end();
}

/* -- any inputs ------------------------------------------------------------------------------- */

void nd_run_strided(Ndarray *nd, NdStrided *e, const BurnOpCall *call, int64_t grain) {
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
  if (e->by_rows || (uintptr_t)e->run.out % 64 != 0) e->loop_streams = false;
  nd_parallel_for(nd, (e->count + e->block - 1) / e->block, grain / e->block, run_blocks, e);
}
