/* ndarray_scan.c - cumsum, cumprod, cummin, cummax: what has come together along an axis up to each element.
 *
 * Tensors are seen as row-major [outer, count, inner] around the axis. Columns are independent: threads share groups of
 * neighbouring ones, and walk a group row by row. Along the last axis, where a column is a row of memory, a group is
 * transposed piece by piece, so that its rows lie side by side there, too; with AVX2 sums of f32 have a loop that does
 * so in registers. Sums and products of f32 are carried in f64, integers wrap. */
#include "ndarray_moves.h"
#include "ndarray_scans.h"
#include "reduce/ndarray_reduce.h"

#define ND_SCAN_COLUMNS 1024 /* of a group, unless threads need more groups: whole rows of memory can be foreseen */
#define ND_SCAN_NARROW 512   /* columns of a group else; fewer are not written past the caches */
#define ND_SCAN_AHEAD 8      /* rows of columns that are asked for in advance */
#define ND_SCAN_MIN_ROWS 16  /* rows of memory in a group of the last axis: a line of f32, */
#define ND_SCAN_MAX_ROWS 64  /* or more where there are many: what is carried then waits in the cache for longer */
#define ND_SCAN_PIECE 64     /* elements of such a row in a piece, which is at most 32 KB */

typedef struct Scan {
  NdScanColumns columns;
  const NdMoves *moves;
  const char *from;
  char *to;
  int64_t outer, count, inner, groups, bytes;
  int64_t width, rows; /* columns of a group, rows in one of the last axis */
  bool streams;
} Scan;

/* A group of columns, row by row: past the caches where the result is large. */
static void scan_columns(const Scan *scan, const char *from, char *to, int64_t width) {
  double carry[2 * ND_SCAN_COLUMNS], *row = carry + width; /* as two arrays, 512 columns took 1.2 times as long */
  const int64_t step = scan->inner * scan->bytes, bytes = width * scan->bytes;
  if (!scan->streams || width < ND_SCAN_NARROW) {
    scan->columns(from, to, carry, true, scan->count, scan->inner, width);
    return;
  }
  for (int64_t i = 0; i < scan->count; i++, from += step, to += step) {
    scan->moves->fetch(from + ND_SCAN_AHEAD * step, bytes);
    scan->columns(from, row, carry, i == 0, 1, 0, width);
    scan->moves->stream(to, row, bytes);
  }
}

/* Items are (outer, group of columns). */
static void BURN_API_CALL scan_groups(void *context, int64_t begin, int64_t end) {
  const Scan *scan = (const Scan *)context;
  for (int64_t i = begin; i < end; i++) {
    const int64_t column = i % scan->groups * scan->width;
    const int64_t offset = (i / scan->groups * scan->count * scan->inner + column) * scan->bytes;
    scan_columns(scan, scan->from + offset, scan->to + offset, nd_min(scan->width, scan->inner - column));
  }
  if (scan->streams) scan->moves->stream_end();
}

/* One group of the last axis: `rows` rows of memory that start at an offset of bytes. */
static void scan_rows(const Scan *scan, int64_t offset, int64_t rows) {
  const uint32_t size = nd_log2_bytes(scan->bytes);
  const int64_t row_bytes = scan->count * scan->bytes;
  double carry[ND_SCAN_MAX_ROWS], piece[ND_SCAN_MAX_ROWS * ND_SCAN_PIECE];
  for (int64_t i = 0; i < scan->count; i += ND_SCAN_PIECE) {
    const int64_t n = nd_min(ND_SCAN_PIECE, scan->count - i), at = offset + i * scan->bytes;
    scan->moves->transpose[size](piece, rows, scan->from + at, scan->count, n, rows, false);
    scan->columns(piece, piece, carry, i == 0, n, rows, rows);
    for (int64_t r = 0; r < rows; r++)
      scan->moves->fetch(scan->from + at + n * scan->bytes + r * row_bytes, ND_SCAN_PIECE * scan->bytes);
    scan->moves->transpose[size](scan->to + at, scan->count, piece, rows, rows, n, scan->streams);
  }
}

static void BURN_API_CALL scan_row_groups(void *context, int64_t begin, int64_t end) {
  const Scan *scan = (const Scan *)context;
  for (int64_t i = begin; i < end; i++) {
    const int64_t row = i * scan->rows;
    scan_rows(scan, row * scan->count * scan->bytes, nd_min(scan->rows, scan->outer - row));
  }
  if (scan->streams) scan->moves->stream_end();
}

#if defined(BURN_NDARRAY_X86_VARIANTS)
/* Groups of four rows; the last one may have fewer. */
static void BURN_API_CALL sum_row_groups(void *context, int64_t begin, int64_t end) {
  const Scan *scan = (const Scan *)context;
  for (int64_t i = begin; i < end; i++) {
    const int64_t row = 4 * i, offset = row * scan->count * scan->bytes;
    if (row + 4 <= scan->outer) {
      nd_sum_rows_avx2((const float *)(const void *)(scan->from + offset), (float *)(void *)(scan->to + offset),
                       scan->count, scan->streams);
    } else {
      scan_rows(scan, offset, scan->outer - row);
    }
  }
  if (scan->streams) scan->moves->stream_end();
}
#endif

static void run_groups(Ndarray *nd, Scan *scan) {
#if defined(BURN_NDARRAY_X86_VARIANTS)
  const bool sums_f32 = scan->columns == nd_scans_avx2[BURN_DTYPE_F32][ND_SCAN_SUM];
  if (sums_f32 && scan->inner == 1 && scan->outer >= 4) {
    nd_parallel_for(nd, (scan->outer + 3) / 4, nd_grain(scan->count * 4), sum_row_groups, scan);
    return;
  }
#endif
  if (scan->inner == 1 && scan->outer >= ND_SCAN_MIN_ROWS) {
    scan->rows = scan->outer < 16 * ND_SCAN_MAX_ROWS ? ND_SCAN_MIN_ROWS : ND_SCAN_MAX_ROWS;
    scan->groups = (scan->outer + scan->rows - 1) / scan->rows;
    nd_parallel_for(nd, scan->groups, nd_grain(scan->count * scan->rows), scan_row_groups, scan);
    return;
  }
  const int64_t wide = (scan->inner + ND_SCAN_COLUMNS - 1) / ND_SCAN_COLUMNS;
  scan->width = scan->outer * wide < (int64_t)nd->host->thread_count() ? ND_SCAN_NARROW : ND_SCAN_COLUMNS;
  scan->groups = (scan->inner + scan->width - 1) / scan->width;
  nd_parallel_for(nd, scan->outer * scan->groups, nd_grain(scan->count * nd_min(scan->inner, scan->width)), scan_groups,
                  scan);
}

static BurnStatus run_scan(Ndarray *nd, const BurnOpCall *call, uint32_t which) {
  NdTensor *input = nd_tensor(call->inputs[0]);
  const uint32_t dim = (uint32_t)call->attrs[0].value.i64, rank = input->header.rank;
  const BurnDType dtype = input->header.dtype;
  Scan scan = {.columns = nd_scan_columns(nd, dtype, which),
               .moves = nd_moves(nd),
               .outer = nd_axes_count(input, 0, dim),
               .count = input->shape[dim],
               .inner = nd_axes_count(input, dim + 1, rank),
               .bytes = burn_dtype_bytes(dtype)};
  if (!scan.columns) {
    return nd_fail(nd, BURN_STATUS_INVALID_DTYPE, "%s: no kernel for %s", nd->host->op_info(call->op)->name,
                   burn_dtype_name(dtype));
  }
  NdTensor *out = nd_output(nd, call, 0); /* maybe the input itself, which is then contiguous */
  NdTensor *x = out ? nd_contiguous(nd, input) : NULL;
  if (!x) {
    nd_release(nd, out);
    return nd_out_of_memory(nd, call);
  }
  scan.from = (const char *)nd_data(x);
  scan.to = (char *)nd_data(out);
  scan.streams = nd_streams(out, x, NULL);
  if (scan.count > 0) run_groups(nd, &scan);
  nd_release(nd, x);
  return nd_finish(nd, call, out);
}

static BurnStatus run_cumsum(Ndarray *nd, const BurnOpCall *call) { return run_scan(nd, call, ND_SCAN_SUM); }
static BurnStatus run_cumprod(Ndarray *nd, const BurnOpCall *call) { return run_scan(nd, call, ND_SCAN_PROD); }
static BurnStatus run_cummin(Ndarray *nd, const BurnOpCall *call) { return run_scan(nd, call, ND_SCAN_MIN); }
static BurnStatus run_cummax(Ndarray *nd, const BurnOpCall *call) { return run_scan(nd, call, ND_SCAN_MAX); }

const NdKernelRow nd_scan_kernels[] = {
    {BURN_OP_cumsum, run_cumsum}, {BURN_OP_cumprod, run_cumprod}, {BURN_OP_cummin, run_cummin},
    {BURN_OP_cummax, run_cummax}, {BURN_OP_INVALID, NULL},
};
