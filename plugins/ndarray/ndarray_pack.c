/* ndarray_pack.c - copies a strided tensor into row-major memory.
 *
 * Axes that lie behind each other in memory are merged first. Then one of three loops runs over the result, split
 * between threads by parts of the result: rows without gaps (memcpy), tiles of a transpose (some other axis has stride
 * 1, so a tile's cache lines are used whole), or single elements with a step. */
#include "ndarray_internal.h"

#include <string.h>

#define ND_PACK_GRAIN_BYTES (128 * 1024) /* copied per chunk at least: about 10 us */
#define ND_PACK_TILE 32                  /* elements along both axes of a tile */

/* A copy: axes outermost first, result strides are row-major over `shape`. */
typedef struct NdPack {
  const char *from;
  char *to;
  uint32_t rank; /* 1 or more */
  uint32_t element_bytes;
  int64_t count;
  int64_t shape[BURN_MAX_RANK];
  int64_t strides[BURN_MAX_RANK];
  /* tiles only: axis `fast` has stride 1 in x; the other axes but the last are listed in outer */
  uint32_t fast;
  int64_t row_tiles;
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

#define ND_COPY_STEPPED(bits)                                                                                      \
  static void copy_stepped_##bits(uint##bits##_t *to, const uint##bits##_t *from, int64_t n, int64_t step) {       \
    for (int64_t i = 0; i < n; i++) to[i] = from[i * step];                                                        \
  }                                                                                                                \
  static void copy_tile_##bits(uint##bits##_t *to, int64_t to_step, const uint##bits##_t *from, int64_t from_step, \
                               int64_t rows, int64_t columns) {                                                    \
    for (int64_t r = 0; r < rows; r++) {                                                                           \
      for (int64_t c = 0; c < columns; c++) to[r * to_step + c] = from[c * from_step + r];                         \
    }                                                                                                              \
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

static void copy_tile(const NdPack *pack, void *to, int64_t to_step, const void *from, int64_t from_step, int64_t rows,
                      int64_t columns) {
  switch (pack->element_bytes) {
    case 1:
      copy_tile_8(to, to_step, from, from_step, rows, columns);
      break;
    case 2:
      copy_tile_16(to, to_step, from, from_step, rows, columns);
      break;
    case 4:
      copy_tile_32(to, to_step, from, from_step, rows, columns);
      break;
    default:
      copy_tile_64(to, to_step, from, from_step, rows, columns);
      break;
  }
}

/* Elements begin .. end-1 of the result, row by row; a chunk may start and end within a row. */
static void BURN_CALL pack_rows(void *context, int64_t begin, int64_t end) {
  const NdPack *pack = context;
  const uint32_t last = pack->rank - 1, bytes = pack->element_bytes;
  const int64_t length = pack->shape[last], step = pack->strides[last];
  int64_t coordinates[BURN_MAX_RANK];
  int64_t offset = row_start(pack, begin / length, coordinates), column = begin % length;
  char *to = pack->to + begin * bytes;
  while (begin < end) {
    const int64_t n = end - begin < length - column ? end - begin : length - column;
    const char *from = pack->from + (offset + column * step) * (int64_t)bytes;
    if (step == 1) {
      memcpy(to, from, (size_t)n * bytes);
    } else {
      copy_stepped(bytes, to, from, n, step);
    }
    to += n * bytes;
    begin += n;
    column = 0;
    offset = next_row(pack, offset, coordinates);
  }
}

/* Strips begin .. end-1: a strip is ND_PACK_TILE indices of the fast axis, all of the last axis, one index of the
 * others. */
static void BURN_CALL pack_strips(void *context, int64_t begin, int64_t end) {
  const NdPack *pack = context;
  const uint32_t last = pack->rank - 1;
  const int64_t bytes = pack->element_bytes, columns = pack->shape[last], column_step = pack->strides[last];
  int64_t fast_step = 1; /* of the fast axis in the result */
  for (uint32_t i = pack->fast + 1; i < pack->rank; i++) fast_step *= pack->shape[i];
  for (int64_t strip = begin; strip < end; strip++) {
    const int64_t first = strip % pack->row_tiles * ND_PACK_TILE;
    int64_t rest = strip / pack->row_tiles, from = first, to = first * fast_step, to_stride = columns;
    for (uint32_t i = last; i-- > 0;) {
      if (i != pack->fast) {
        from += rest % pack->shape[i] * pack->strides[i];
        to += rest % pack->shape[i] * to_stride;
        rest /= pack->shape[i];
      }
      to_stride *= pack->shape[i];
    }
    const int64_t left = pack->shape[pack->fast] - first, rows = left < ND_PACK_TILE ? left : ND_PACK_TILE;
    for (int64_t c = 0; c < columns; c += ND_PACK_TILE) {
      const int64_t width = columns - c < ND_PACK_TILE ? columns - c : ND_PACK_TILE;
      copy_tile(pack, pack->to + (to + c) * bytes, fast_step, pack->from + (from + c * column_step) * bytes,
                column_step, rows, width);
    }
  }
}

/* Looks for an axis with stride 1 that makes tiles worth while. */
static bool choose_tiles(NdPack *pack) {
  const uint32_t last = pack->rank - 1;
  if (pack->strides[last] == 1 || pack->strides[last] == 0 || pack->shape[last] < 4) return false;
  for (uint32_t i = 0; i < last; i++) {
    if (pack->strides[i] != 1 || pack->shape[i] < 4) continue;
    pack->fast = i;
    pack->row_tiles = (pack->shape[i] + ND_PACK_TILE - 1) / ND_PACK_TILE;
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
  if (!choose_tiles(&pack)) {
    nd_parallel_for(nd, pack.count, grain, pack_rows, &pack);
    return;
  }
  const int64_t strips = pack.count / pack.shape[pack.fast] / pack.shape[pack.rank - 1] * pack.row_tiles;
  const int64_t strip_elements = ND_PACK_TILE * pack.shape[pack.rank - 1];
  nd_parallel_for(nd, strips, grain / strip_elements + 1, pack_strips, &pack);
}
