/* ndarray_fused_totals.c - runs bodies with a reduction of everything, or along the first axis: losses, bias gradients.
 *
 * The space is seen as rows of the elements that have a total each: of one element, if everything is reduced. It is cut
 * into parts of rows, and a part into tiles: the program over elements runs over a tile, whose results are then folded
 * into the totals of the part. The parts are joined in their order, so that results do not depend on the number of
 * threads. Programs over totals come last. */
#include "ndarray_fused_fold.h"

#include <string.h>

#define TILE 8192      /* elements of a tile */
#define PART 65536     /* elements of a part, unless there are more totals than that */
#define MAX_PARTS 1024 /* larger tensors have larger parts */

#define NARROW 32   /* columns up to this many are folded several rows at once */
#define WIDENED 128 /* to so many columns; at most ND_COLUMNS */

enum { ELEMENTS = 1 /* the program over elements */, TOTAL_BYTES = sizeof(NdTotal) };

typedef struct Totals {
  NdFusedRun *run;
  int64_t rows, width;                   /* of the space: rows of so many totals */
  int64_t tile_rows, tile_width, groups; /* of a tile; groups of columns */
  int64_t part_rows, parts;
  char *partial;  /* totals [reduction][part][width], each in TOTAL_BYTES * width */
  uint64_t bytes; /* of scratch */
  struct {
    uint64_t inputs[ND_FUSED_INPUTS], outputs[ND_FUSED_OUTPUTS], words[ND_FUSED_RANDOM], buffers[ND_FUSED_BUFFERS];
  } at;
  atomic_bool out_of_memory;
} Totals;

typedef struct Work {
  const Totals *totals;
  char *scratch;
  NdFusedWorker worker;
} Work;

/* The totals of a part, packed as the fold has them. */
static char *partial_of(const Totals *totals, uint32_t reduction, int64_t part) {
  return totals->partial + ((int64_t)reduction * totals->parts + part) * totals->width * TOTAL_BYTES;
}

/* -- the plan of a run ------------------------------------------------------------------------ */

/* The space as [rows, width]; a tile of it is a piece of memory, or has whole rows of columns. */
static void cut(Totals *totals) {
  const NdFusedRun *run = totals->run;
  const bool whole = run->kernel->region == BURN_COMMON_REGION_ALL;
  totals->width = whole ? 1 : run->count / run->kernel->space.shape[run->kernel->axis];
  totals->rows = run->count / totals->width;
  totals->tile_width = nd_min(totals->width, ND_COLUMNS);
  totals->groups = (totals->width + totals->tile_width - 1) / totals->tile_width;
  totals->tile_rows = TILE / totals->tile_width;
  totals->part_rows = PART / totals->tile_width;
  while (totals->rows > totals->part_rows * MAX_PARTS) totals->part_rows *= 2;
  totals->parts = (totals->rows + totals->part_rows - 1) / totals->part_rows;
}

static void choose_ways(Totals *totals) {
  NdFusedRun *run = totals->run;
  const BurnFusedKernel *kernel = run->kernel;
  run->axes.rank = kernel->space.rank;
  memcpy(run->axes.shape, kernel->space.shape, sizeof run->axes.shape);
  for (uint32_t k = 0; k < kernel->input_count; k++) {
    NdFusedInput *input = &run->inputs[k];
    for (uint32_t axis = 0; axis < run->axes.rank; axis++)
      input->strides[axis] = nd_fused_stride(run->tensors[k], &kernel->space, axis);
    if (!kernel->input_is_element[k]) continue;
    input->way = nd_fused_is_plain(run->tensors[k], &kernel->space)                   ? ND_FUSED_PLAIN
                 : nd_fused_is_number(run->tensors[k]) && !kernel->input_is_folded[k] ? ND_FUSED_NUMBER
                                                                                      : ND_FUSED_GATHER;
  }
}

static uint64_t give(Totals *totals, int64_t bytes) {
  const uint64_t offset = totals->bytes;
  totals->bytes += nd_round_64(bytes);
  return offset;
}

static void divide_scratch(Totals *totals) {
  const NdFusedRun *run = totals->run;
  const BurnFusedKernel *kernel = run->kernel;
  const int64_t width = run->machine->width,
                tile = nd_fused_rounded_up(run, totals->tile_rows * totals->tile_width) + width;
  totals->bytes = 0;
  for (uint32_t k = 0; k < kernel->input_count; k++) {
    totals->at.inputs[k] = give(totals, (run->inputs[k].way == ND_FUSED_GATHER ? tile : width) * run->inputs[k].bytes);
  }
  for (uint32_t o = 0; o < kernel->output_count; o++)
    totals->at.outputs[o] = give(totals, width * run->outputs[o].bytes);
  for (uint32_t i = 0; i < kernel->words_count; i++) totals->at.words[i] = give(totals, (tile + 4) * 4);
  for (uint32_t b = 0; b < kernel->buffer_count; b++) totals->at.buffers[b] = give(totals, tile * 4);
}

/* -- tiles ------------------------------------------------------------------------------------ */

static void begin_work(Work *work) {
  const Totals *totals = work->totals;
  const NdFusedRun *run = totals->run;
  NdFusedWorker *worker = &work->worker;
  nd_fused_begin(worker, run);
  for (uint32_t k = 0; k < run->kernel->input_count; k++) {
    NdFusedPlace *place = &worker->inputs[k];
    place->address = place->spare = work->scratch + totals->at.inputs[k];
    place->is_direct = run->inputs[k].way == ND_FUSED_PLAIN;
    place->is_single = run->inputs[k].way == ND_FUSED_NUMBER;
    if (place->is_single) nd_fused_repeat(run, place->address, run->inputs[k].data, run->inputs[k].bytes);
  }
  for (uint32_t o = 0; o < run->kernel->output_count; o++) {
    worker->outputs[o].spare = work->scratch + totals->at.outputs[o];
    worker->outputs[o].is_direct = true;
    worker->outputs[o].is_single = false;
  }
  for (uint32_t b = 0; b < run->kernel->buffer_count; b++)
    worker->buffers[b].is_direct = worker->buffers[b].is_single = false;
  for (uint32_t i = 0; i < run->kernel->words_count; i++)
    worker->words[i].is_direct = worker->words[i].is_single = false;
}

/* Runs the program over elements e .. e + n - 1, which are element `at` and on of the tile. */
static void run_elements(Work *work, int64_t e, int64_t n, int64_t at) {
  const Totals *totals = work->totals;
  const NdFusedRun *run = totals->run;
  NdFusedWorker *worker = &work->worker;
  int64_t coordinates[BURN_MAX_RANK];
  nd_fused_find(&run->axes, e, coordinates);
  for (uint32_t k = 0; k < run->kernel->input_count; k++) {
    const NdFusedInput *input = &run->inputs[k];
    if (input->way == ND_FUSED_PLAIN) worker->inputs[k].address = input->data + e * input->bytes;
    if (input->way != ND_FUSED_GATHER) continue;
    worker->inputs[k].address = work->scratch + totals->at.inputs[k] + at * input->bytes;
    nd_fused_gather(run, &run->axes, input, coordinates, n, worker->inputs[k].address);
  }
  for (uint32_t o = 0; o < run->kernel->output_count; o++)
    worker->outputs[o].address = run->outputs[o].data + e * run->outputs[o].bytes;
  for (uint32_t b = 0; b < run->kernel->buffer_count; b++)
    worker->buffers[b].address = work->scratch + totals->at.buffers[b] + at * 4;
  for (uint32_t i = 0; i < run->kernel->words_count; i++) {
    worker->words[i].address = nd_fused_make_words(run, i, e, n, work->scratch + totals->at.words[i]);
  }
  if (!nd_fused_is_empty(run->kernel, ELEMENTS)) nd_fused_run_program(worker, ELEMENTS, n);
}

/* Totals of a few columns: several rows together make one wide row, whose totals are joined. */
static void fold_narrow(const NdFold *fold, const char *x, int64_t rows, int64_t width, NdTotals *some) {
  const int64_t group = WIDENED / width, wide_rows = rows / group, rest = rows % group;
  NdTotals wide;
  fold->columns(x, group * width, wide_rows, group * width, some);
  for (int64_t g = 1; g < group; g++) fold->merge(some, some->u8 + g * width * fold->total_bytes, width);
  if (rest == 0) return;
  fold->columns(x + wide_rows * group * width * 4, width, rest, width, &wide);
  fold->merge(some, &wide, width);
}

/* Folds a tile of [rows, width] from (row, column) on into totals. */
static void fold_tile(const Work *work, const NdFusedReduction *reduction, int64_t row, int64_t column, int64_t rows,
                      int64_t width, char *into) {
  const Totals *totals = work->totals;
  const NdFusedRun *run = totals->run;
  const NdFold *fold = nd_fused_fold(run, reduction);
  const NdFusedInput *input = &run->inputs[reduction->number];
  const bool is_input = reduction->operand == ND_FUSED_INPUT, is_direct = is_input && input->way == ND_FUSED_PLAIN;
  const int64_t stride = is_direct ? totals->width : width;
  const char *x =
      work->scratch + (is_input ? totals->at.inputs[reduction->number] : totals->at.buffers[reduction->number]);
  NdTotals some;
  if (is_direct) x = input->data + (row * totals->width + column) * 4;
  if (totals->width == 1) {
    fold->run(x, rows, &some);
  } else if (width <= NARROW && stride == width && rows >= WIDENED / width) {
    fold_narrow(fold, x, rows, width, &some);
  } else {
    fold->columns(x, stride, rows, width, &some);
  }
  fold->merge(into + column * fold->total_bytes, &some, width);
}

static void clear(const Totals *totals, uint32_t i, int64_t part, int64_t column) {
  const NdFusedReduction *reduction = &totals->run->kernel->reductions[i];
  const uint32_t bytes = nd_fused_fold(totals->run, reduction)->total_bytes;
  const NdTotal empty = nd_fused_empty_total(reduction);
  const int64_t width = nd_min(totals->tile_width, totals->width - column);
  for (int64_t k = 0; k < width; k++) memcpy(partial_of(totals, i, part) + (column + k) * bytes, &empty, bytes);
}

static void run_tile(Work *work, int64_t part, int64_t row, int64_t column, int64_t rows) {
  const Totals *totals = work->totals;
  const BurnFusedKernel *kernel = totals->run->kernel;
  const int64_t width = nd_min(totals->tile_width, totals->width - column);
  if (width == totals->width) {
    run_elements(work, row * width, rows * width, 0);
  } else {
    for (int64_t r = 0; r < rows; r++) run_elements(work, (row + r) * totals->width + column, width, r * width);
  }
  for (uint32_t i = 0; i < kernel->programs[ELEMENTS].reduction_count; i++) {
    fold_tile(work, &kernel->reductions[i], row, column, rows, width, partial_of(totals, i, part));
  }
}

/* Items are (part, group of columns), the group running fastest. */
static void BURN_API_CALL run_items(void *context, int64_t begin, int64_t end) {
  Totals *totals = context;
  const NdFusedRun *run = totals->run;
  Work work;
  work.totals = totals;
  work.scratch = nd_pool_allocate(run->nd->pool, totals->bytes);
  if (!work.scratch) {
    atomic_store_explicit(&totals->out_of_memory, true, memory_order_relaxed);
    return;
  }
  begin_work(&work);
  for (int64_t item = begin; item < end; item++) {
    const int64_t part = item / totals->groups, column = item % totals->groups * totals->tile_width;
    const int64_t first = part * totals->part_rows, stop = nd_min(first + totals->part_rows, totals->rows);
    for (uint32_t i = 0; i < run->kernel->programs[ELEMENTS].reduction_count; i++) clear(totals, i, part, column);
    for (int64_t row = first; row < stop; row += totals->tile_rows) {
      run_tile(&work, part, row, column, nd_min(totals->tile_rows, stop - row));
    }
  }
  nd_pool_free(run->nd->pool, work.scratch, totals->bytes);
}

/* -- totals ----------------------------------------------------------------------------------- */

/* Joins the parts; leaves the results in numbers[reduction's row][width]. */
static void join(const Totals *totals, float *const *numbers) {
  const BurnFusedKernel *kernel = totals->run->kernel;
  for (uint32_t i = 0; i < kernel->programs[ELEMENTS].reduction_count; i++) {
    const NdFusedReduction *reduction = &kernel->reductions[i];
    const NdFold *fold = nd_fused_fold(totals->run, reduction);
    char *first = partial_of(totals, i, 0);
    for (int64_t part = 1; part < totals->parts; part++) fold->merge(first, partial_of(totals, i, part), totals->width);
    for (int64_t k = 0; k < totals->width; k++) {
      NdTotal total;
      memcpy(&total, first + k * fold->total_bytes, fold->total_bytes);
      numbers[reduction->row][k] = nd_fused_finish(reduction, &total, totals->rows);
    }
  }
}

/* Gathers inputs of which there is one number per total, and runs the programs over those. */
static void run_reduced(const Totals *totals, NdFusedWorker *worker, float *const *numbers, char *scratch,
                        int64_t slot_bytes) {
  const NdFusedRun *run = totals->run;
  const BurnFusedKernel *kernel = run->kernel;
  const int64_t start[BURN_MAX_RANK] = {0};
  nd_fused_begin(worker, run);
  for (uint32_t k = 0; k < kernel->input_count; k++) {
    worker->inputs[k].address = scratch + k * slot_bytes;
    worker->inputs[k].is_direct = worker->inputs[k].is_single = false;
    if (kernel->input_is_reduced[k])
      nd_fused_gather(run, &run->axes, &run->inputs[k], start, totals->width, worker->inputs[k].address);
  }
  for (uint32_t o = 0; o < kernel->output_count; o++) {
    worker->outputs[o].address = run->outputs[o].data;
    worker->outputs[o].spare = scratch + (kernel->input_count + o) * slot_bytes;
    worker->outputs[o].is_direct = true;
    worker->outputs[o].is_single = false;
  }
  for (uint32_t i = 0; i < kernel->row_count; i++) {
    worker->rows[i].address = (char *)numbers[i];
    worker->rows[i].is_direct = worker->rows[i].is_single = false;
  }
  for (uint32_t number = 0; number < kernel->program_count; number += 2) {
    if (!nd_fused_is_empty(kernel, number)) nd_fused_run_program(worker, number, totals->width);
  }
}

static bool finish(const Totals *totals) {
  const NdFusedRun *run = totals->run;
  const BurnFusedKernel *kernel = run->kernel;
  const int64_t numbers_bytes = nd_fused_rounded_up(run, totals->width) * 4,
                slot_bytes = 2 * numbers_bytes; /* up to 8 bytes each */
  const uint64_t bytes = (uint64_t)kernel->row_count * (uint64_t)numbers_bytes +
                         (uint64_t)(kernel->input_count + kernel->output_count) * (uint64_t)slot_bytes;
  char *scratch = nd_pool_allocate(run->nd->pool, bytes);
  float *numbers[ND_FUSED_ROWS];
  NdFusedWorker worker;
  if (!scratch) return false;
  for (uint32_t i = 0; i < kernel->row_count; i++) numbers[i] = (float *)(void *)(scratch + i * numbers_bytes);
  join(totals, numbers);
  run_reduced(totals, &worker, numbers, scratch + kernel->row_count * numbers_bytes, slot_bytes);
  nd_pool_free(run->nd->pool, scratch, bytes);
  return true;
}

bool nd_fused_run_totals(NdFusedRun *run) {
  Totals totals;
  totals.run = run;
  atomic_init(&totals.out_of_memory, false);
  run->streamed = 0;
  cut(&totals);
  choose_ways(&totals);
  divide_scratch(&totals);
  nd_fused_link(run);
  const int64_t items = totals.parts * totals.groups, elements = totals.part_rows * totals.tile_width;
  const uint64_t bytes = run->kernel->reduction_count * (uint64_t)(totals.parts * totals.width) * TOTAL_BYTES;
  totals.partial = nd_pool_allocate(run->nd->pool, bytes);
  if (!totals.partial) return false;
  nd_pool_reserve(run->nd->pool, totals.bytes, items > 1 ? run->nd->host->thread_count() : 1);
  nd_parallel_for(run->nd, items, run->kernel->grain > elements ? run->kernel->grain / elements : 1, run_items,
                  &totals);
  const bool done = !atomic_load_explicit(&totals.out_of_memory, memory_order_relaxed) && finish(&totals);
  nd_pool_free(run->nd->pool, totals.partial, bytes);
  return done;
}
