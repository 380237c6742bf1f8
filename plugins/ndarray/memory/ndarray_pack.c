/* ndarray_pack.c - copies a strided tensor into row-major memory.
 *
 * Axes that lie one after the other in memory are merged first. Then one of three loops runs over the result, split
 * between threads by parts of the result: rows without gaps (memcpy), tiles of a transpose (some other axis has stride
 * 1, so a tile's cache lines are used whole), or single elements with a step. */
#include "move/ndarray_moves.h"

#include <string.h>

#define ND_PACK_GRAIN_BYTES (128 * 1024) /* copied per chunk at least: about 10 us */
#define ND_PACK_AHEAD 4096               /* bytes of short rows that are asked for ahead of time */
#define ND_PACK_TILE 64                  /* elements along both axes of a tile */

/* A copy: axes outermost first, result strides are row-major over `shape`. */
typedef struct NdPack {
  const char *from;
  char *to;
  uint32_t rank; /* 1 or more */
  uint32_t element_bytes;
  int64_t count;
  int64_t shape[BURN_MAX_RANK];
  int64_t strides[BURN_MAX_RANK];
  const NdMoves *moves;
  bool streams; /* the copy is large: past the caches */
  /* tiles only: axis `fast` has stride 1 in x; tiles along it and along the last axis */
  uint32_t fast;
  int64_t tile_rows, down, across;
  void (*transpose)(void *to, int64_t to_step, const void *from, int64_t from_step, int64_t rows, int64_t columns,
                    bool streams);
} NdPack;

/* Drops axes of size 1 and merges neighbours: [2,3,4] with strides (12,4,1) becomes [24] with (1). */
static void merge_axes(NdPack *pack, const NdTensor *x) {
  uint32_t rank = 0;
  pack->count = 1;
  for (uint32_t i = 0; i < x->header.rank; i++) {
    const int64_t size = x->shape[i], stride = x->strides[i];
    pack->count *= size;
    if (size == 1) continue;
    if (rank > 0 && pack->strides[rank - 1] == stride * size) {
      pack->shape[rank - 1] *= size;
      pack->strides[rank - 1] = stride;
    } else {
      pack->shape[rank] = size;
      pack->strides[rank++] = stride;
    }
  }
  if (rank == 0) {
    pack->shape[0] = 1;
    pack->strides[0] = 1;
    rank = 1;
  }
  pack->rank = rank;
}

/* Element offset in x of the row with number `row` (over all axes but the last), and its coordinates. */
static int64_t row_start(const NdPack *pack, int64_t row, int64_t *coordinates) {
  int64_t offset = 0;
  for (uint32_t i = pack->rank - 1; i-- > 0;) {
    coordinates[i] = row % pack->shape[i];
    row /= pack->shape[i];
    offset += coordinates[i] * pack->strides[i];
  }
  return offset;
}

/* The offset of the row after the one at `offset`. */
static int64_t next_row(const NdPack *pack, int64_t offset, int64_t *coordinates) {
  for (uint32_t i = pack->rank - 1; i-- > 0;) {
    offset += pack->strides[i];
    if (++coordinates[i] < pack->shape[i]) break;
    offset -= pack->strides[i] * pack->shape[i];
    coordinates[i] = 0;
  }
  return offset;
}

#define ND_COPY_STEPPED(bits)                                                                                \
  static void copy_stepped_##bits(uint##bits##_t *to, const uint##bits##_t *from, int64_t n, int64_t step) { \
    for (int64_t i = 0; i < n; i++) to[i] = from[i * step];                                                  \
  }
ND_COPY_STEPPED(8)
ND_COPY_STEPPED(16)
ND_COPY_STEPPED(32)
ND_COPY_STEPPED(64)
#undef ND_COPY_STEPPED

static void copy_stepped(uint32_t element_bytes, void *to, const void *from, int64_t n, int64_t step) {
  switch (element_bytes) {
    case 1:
      copy_stepped_8(to, from, n, step);
      break;
    case 2:
      copy_stepped_16(to, from, n, step);
      break;
    case 4:
      copy_stepped_32(to, from, n, step);
      break;
    default:
      copy_stepped_64(to, from, n, step);
      break;
  }
}

/* How many short rows, a step apart, the next elements begin with. */
static int64_t short_rows(const NdPack *pack, const int64_t *coordinates, int64_t elements) {
  const uint32_t last = pack->rank - 1;
  const int64_t length = pack->shape[last];
  if (pack->streams || last == 0 || pack->strides[last] != 1 || length * pack->element_bytes > ND_SHORT_ROW_BYTES)
    return 0;
  const int64_t rows = pack->shape[last - 1] - coordinates[last - 1];
  return rows < elements / length ? rows : elements / length;
}

/* Elements begin .. end-1 of the result, row by row; a chunk may start and end within a row. */
static void BURN_API_CALL pack_rows(void *context, int64_t begin, int64_t end) {
  const NdPack *pack = context;
  const uint32_t last = pack->rank - 1, bytes = pack->element_bytes;
  const int64_t length = pack->shape[last], step = pack->strides[last];
  int64_t coordinates[BURN_MAX_RANK], ahead_coordinates[BURN_MAX_RANK];
  int64_t offset = row_start(pack, begin / length, coordinates), column = begin % length;
  const bool fetches = pack->streams && step == 1 && length * bytes <= ND_PACK_AHEAD / 2;
  int64_t ahead = fetches ? row_start(pack, begin / length + ND_PACK_AHEAD / (length * bytes), ahead_coordinates) : 0;
  char *to = pack->to + begin * bytes;
  while (begin < end) {
    if (fetches) {
      pack->moves->fetch(pack->from + ahead * (int64_t)bytes, length * bytes);
      ahead = next_row(pack, ahead, ahead_coordinates);
    }
    const int64_t rows = column == 0 ? short_rows(pack, coordinates, end - begin) : 0;
    if (rows > 1) {
      const int64_t row_step = pack->strides[last - 1];
      pack->moves->short_rows(to, pack->from + offset * (int64_t)bytes, row_step * bytes, rows, length * bytes);
      to += rows * length * bytes;
      begin += rows * length;
      coordinates[last - 1] += rows - 1;
      offset = next_row(pack, offset + (rows - 1) * row_step, coordinates);
      continue;
    }
    const int64_t n = end - begin < length - column ? end - begin : length - column;
    const char *from = pack->from + (offset + column * step) * (int64_t)bytes;
    if (step == 1) {
      nd_copy(pack->moves, pack->streams, to, from, n * bytes);
    } else {
      copy_stepped(bytes, to, from, n, step);
    }
    to += n * bytes;
    begin += n;
    column = 0;
    offset = next_row(pack, offset, coordinates);
  }
  if (pack->streams) pack->moves->stream_end();
}

/* Tiles begin .. end-1, numbered along the fast axis, then along the last one, then over the others. */
static void BURN_API_CALL pack_tiles(void *context, int64_t begin, int64_t end) {
  const NdPack *pack = context;
  const uint32_t last = pack->rank - 1;
  const int64_t bytes = pack->element_bytes, columns = pack->shape[last];
  for (int64_t tile = begin; tile < end; tile++) {
    const int64_t row = tile % pack->down * pack->tile_rows, column = tile / pack->down % pack->across * ND_PACK_TILE;
    int64_t rest = tile / pack->down / pack->across, from = column * pack->strides[last], to = column;
    int64_t stride = columns, row_step = 0;
    for (uint32_t i = last; i-- > 0;) {
      const int64_t place = i == pack->fast ? row : rest % pack->shape[i];
      if (i == pack->fast) row_step = stride;
      if (i != pack->fast) rest /= pack->shape[i];
      from += place * pack->strides[i];
      to += place * stride;
      stride *= pack->shape[i];
    }
    const int64_t rows = pack->shape[pack->fast] - row, width = columns - column;
    pack->transpose(pack->to + to * bytes, row_step, pack->from + from * bytes, pack->strides[last],
                    rows < pack->tile_rows ? rows : pack->tile_rows, width < ND_PACK_TILE ? width : ND_PACK_TILE,
                    pack->streams);
  }
  if (pack->streams) pack->moves->stream_end();
}

/* Looks for an axis with stride 1 that makes tiles worth while. */
static bool choose_tiles(NdPack *pack) {
  const uint32_t last = pack->rank - 1;
  if (pack->strides[last] == 1 || pack->strides[last] == 0 || pack->shape[last] < 4) return false;
  for (uint32_t i = 0; i < last; i++) {
    if (pack->strides[i] != 1 || pack->shape[i] < 4) continue;
    pack->fast = i;
    pack->tile_rows = ND_PACK_TILE;
    pack->down = (pack->shape[i] + pack->tile_rows - 1) / pack->tile_rows;
    pack->across = (pack->shape[last] + ND_PACK_TILE - 1) / ND_PACK_TILE;
    return true;
  }
  return false;
}

void nd_pack(Ndarray *nd, const NdTensor *x, void *out) {
  NdPack pack;
  memset(&pack, 0, sizeof pack);
  merge_axes(&pack, x);
  if (pack.count == 0) return;
  pack.from = nd_data(x);
  pack.to = out;
  pack.element_bytes = burn_dtype_bytes(x->header.dtype);
  const int64_t grain = ND_PACK_GRAIN_BYTES / (int64_t)pack.element_bytes;
  pack.moves = nd_moves(nd);
  pack.streams = pack.count * (int64_t)pack.element_bytes >= ND_STREAM_BYTES;
  if (!choose_tiles(&pack)) {
    nd_parallel_for(nd, pack.count, grain, pack_rows, &pack);
    return;
  }
  pack.transpose = pack.moves->transpose[nd_log2_bytes(pack.element_bytes)];
  const int64_t others = pack.count / pack.shape[pack.fast] / pack.shape[pack.rank - 1];
  nd_parallel_for(nd, others * pack.down * pack.across, grain / (pack.tile_rows * ND_PACK_TILE) + 1, pack_tiles, &pack);
}
