/* ndarray_norm_parts.c - the gradient of layer norm by parts of rows that have common sums.
 *
 * The rows of a transposed tensor are columns in memory. A worker turns a strip of them into rows of its own, tile by
 * tile, goes over these as over any others, and turns the results back; so inputs are read from memory once and the
 * result, which has the layout of x, is written once. A strip is one part or two, so sums have the order, and results
 * the bits, of row-major tensors. Of three strips in turn one is read, one is worked on and one is written, a little of
 * each at a time: so memory is busy while rows are computed. What is read takes the place of what is written. */
#include "move/ndarray_moves.h"
#include "ndarray_reduce.h"

#define TILE_ROWS 16  /* a line of each column */
#define ROWS_AHEAD 16 /* rows of a strip that are asked for in advance: no prefetcher goes from page to page */
#define STEP_REST 16  /* copies of columns lie so many elements apart: those a page apart share few places in a cache */
#define COPIES_BYTES ((int64_t)4 << 20) /* of a worker, at most: they stay in a cache */

typedef struct Parts {
  const NdRowJob *job;
  int64_t count, element_bytes;
  int64_t strip, step; /* columns of a strip, and elements from one to the next in its copy */
  bool turns_grad;
  const NdMoves *moves;
  char *scratch;
  int64_t scratch_bytes; /* of a worker: copies of two strips of x, and of grad where that turns */
  _Atomic int64_t taken; /* strips that workers have */
} Parts;

/* Rows first .. first + width-1, and their copies; no rows if there are no more. */
typedef struct Strip {
  int64_t first, width;
  char *x, *grad;
} Strip;

/* Rows of a part are next: their sums begin at 0. */
static void begin_part(const Parts *parts, NdRowJob *rows, int64_t part) {
  const int64_t bytes = 2 * parts->job->count * parts->element_bytes;
  rows->sums = (char *)parts->job->sums + part * bytes;
  memset(rows->sums, 0, (size_t)bytes);
}

/* Items are parts. */
static void BURN_API_CALL run_row_major(void *context, int64_t begin, int64_t end) {
  const Parts *parts = (const Parts *)context;
  NdRowJob rows = *parts->job;
  for (int64_t part = begin; part < end; part++) {
    begin_part(parts, &rows, part);
    rows.loop(&rows, part * rows.part, nd_min(rows.rows, (part + 1) * rows.part));
  }
  if (rows.stream) nd_stream_end();
}

/* -- transposed ------------------------------------------------------------------------------- */

/* Copies elements row .. row + rows-1 of a strip's columns from [outer, count, inner] at `memory`, or to there. */
static void move_tile(const Parts *parts, const Strip *strip, int64_t row, int64_t rows, char *memory, char *copy,
                      bool back) {
  const NdRowJob *job = parts->job;
  const int64_t inner = job->inner, bytes = parts->element_bytes;
  void (*const transpose)(void *, int64_t, const void *, int64_t, int64_t, int64_t, bool) =
      parts->moves->transpose[nd_log2_bytes(bytes)];
  for (int64_t c = 0; c < strip->width;) {
    const int64_t outer = (strip->first + c) / inner, i = (strip->first + c) % inner;
    const int64_t width = nd_min(inner - i, strip->width - c);
    char *at = memory + ((outer * job->count + row) * inner + i) * bytes;
    char *column = copy + (c * parts->step + row) * bytes;
    if (back) {
      transpose(at, inner, column, parts->step, rows, width, job->stream);
    } else {
      for (int64_t r = 0; r < rows; r++) {
        /* twice: processors drop requests when many are under way */
        parts->moves->fetch(at + (r + 2 * ROWS_AHEAD) * inner * bytes, width * bytes);
        parts->moves->fetch(at + (r + ROWS_AHEAD) * inner * bytes, width * bytes);
      }
      transpose(column, parts->step, at, inner, width, rows, false);
    }
    c += width;
  }
}

/* Writes elements row .. end-1 of one strip's columns and reads those of another. */
static void move_rows(const Parts *parts, const Strip *written, const Strip *read, int64_t row, int64_t end) {
  const NdRowJob *job = parts->job;
  while (row < end) {
    const int64_t rows = nd_min(TILE_ROWS, end - row);
    if (written->width > 0) move_tile(parts, written, row, rows, (char *)job->out, written->x, true);
    if (read->width > 0) move_tile(parts, read, row, rows, (char *)(uintptr_t)job->x, read->x, false);
    if (read->width > 0 && parts->turns_grad) {
      move_tile(parts, read, row, rows, (char *)(uintptr_t)job->grad, read->grad, false);
    }
    row += rows;
  }
}

/* Rows row .. end-1 of a strip. */
static void work_rows(const Parts *parts, NdRowJob *rows, const Strip *strip, int64_t row, int64_t end) {
  while (row < end) {
    const int64_t part_row = row % rows->part, next = nd_min(end, row - part_row + rows->part);
    if (part_row == 0) begin_part(parts, rows, (strip->first + row) / rows->part);
    rows->loop(rows, row, next);
    row = next;
  }
}

/* Works on one strip while two others move. */
static void run_strips(const Parts *parts, const Strip *written, const Strip *read, const Strip *worked) {
  const NdRowJob *job = parts->job;
  const int64_t count = job->count, width = nd_max(worked->width, 1);
  NdRowJob rows = *job;
  if (worked->width > 0) {
    rows.rows = width;
    rows.x = worked->x;
    rows.out = worked->x; /* each pass reads an element before it writes it */
    rows.stream = false;
    rows.grad =
        parts->turns_grad ? worked->grad : (const char *)job->grad + worked->first * count * parts->element_bytes;
  }
  const int64_t tiles = (count + TILE_ROWS - 1) / TILE_ROWS, turns = nd_min(tiles, width);
  for (int64_t t = 0; t < turns; t++) {
    const int64_t first_tile = tiles * t / turns, end_tile = tiles * (t + 1) / turns;
    move_rows(parts, written, read, first_tile * TILE_ROWS, nd_min(end_tile * TILE_ROWS, count));
    if (worked->width > 0) work_rows(parts, &rows, worked, width * t / turns, width * (t + 1) / turns);
  }
}

/* The next strip that nobody has. */
static Strip take_strip(Parts *parts, char *x) {
  const int64_t first = atomic_fetch_add_explicit(&parts->taken, 1, memory_order_relaxed) * parts->strip;
  const int64_t bytes = parts->strip * parts->step * parts->element_bytes;
  const Strip strip = {.first = first,
                       .width = nd_max(nd_min(parts->strip, parts->job->rows - first), 0),
                       .x = x,
                       .grad = parts->turns_grad ? x + 2 * bytes : NULL};
  return strip;
}

/* Items are workers. */
static void BURN_API_CALL run_turned(void *context, int64_t begin, int64_t end) {
  Parts *parts = (Parts *)context;
  const int64_t bytes = parts->strip * parts->step * parts->element_bytes;
  for (int64_t worker = begin; worker < end; worker++) {
    char *const scratch = parts->scratch + worker * parts->scratch_bytes;
    Strip worked = {.width = 0}, read = take_strip(parts, scratch);
    const Strip none = {.width = 0};
    run_strips(parts, &none, &read, &none);
    for (int64_t t = 1; read.width > 0 || worked.width > 0; t++) {
      const Strip written = worked;
      worked = read;
      read = take_strip(parts, scratch + t % 2 * bytes);
      run_strips(parts, &written, &read, &worked);
    }
  }
  if (parts->job->stream) nd_stream_end();
}

static int64_t copies_bytes(int64_t strip, int64_t step, int64_t element_bytes, bool turns_grad) {
  return (turns_grad ? 4 : 2) * strip * step * element_bytes;
}

static int64_t copy_step(int64_t count) { return (count + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS + STEP_REST; }

bool nd_turns_norm_parts(int64_t part, int64_t count, int64_t element_bytes, bool turns_grad) {
  return part % TILE_ROWS == 0 && copies_bytes(part, copy_step(count), element_bytes, turns_grad) <= COPIES_BYTES;
}

/* False when out of memory. */
static bool run_all_turned(Ndarray *nd, NdRowJob *job, Parts *parts) {
  const int64_t workers = nd_min((int64_t)nd->host->thread_count(), parts->count);
  parts->moves = nd_moves(nd);
  parts->step = copy_step(job->count);
  parts->strip = job->part;
  if (nd_turns_norm_parts(2 * job->part, job->count, parts->element_bytes, parts->turns_grad)) parts->strip *= 2;
  parts->scratch_bytes = copies_bytes(parts->strip, parts->step, parts->element_bytes, parts->turns_grad);
  const uint64_t bytes = (uint64_t)(workers * parts->scratch_bytes);
  parts->scratch = nd_pool_allocate(nd->pool, bytes);
  if (!parts->scratch) return false;
  job->x_step = parts->step;
  if (parts->turns_grad) job->grad_step = parts->step;
  nd_parallel_for(nd, workers, 1, run_turned, parts);
  nd_pool_free(nd->pool, parts->scratch, bytes);
  return true;
}

bool nd_run_norm_parts(Ndarray *nd, NdRowJob *job, int64_t count, int64_t element_bytes, bool turns, bool turns_grad) {
  Parts parts = {.job = job, .count = count, .element_bytes = element_bytes, .turns_grad = turns_grad};
  job->x_step = job->grad_step = job->count;
  if (turns) return run_all_turned(nd, job, &parts);
  nd_parallel_for(nd, count, nd_grain(job->part * job->count * 4), run_row_major, &parts);
  return true;
}
