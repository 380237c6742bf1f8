/* ndarray_fused_rows.c - runs bodies with reductions along the last axis: softmax, norms, losses by hand, and their
 * gradients.
 *
 * A block of rows goes through all programs while it is in the cache. Programs over elements run row by row, with what
 * there is one of per row repeated; where rows are short, over the whole block at once, with all of that written out
 * for every element. Reductions read what the program before them left. */
#include "ndarray_fused_fold.h"

#include <string.h>

#define BLOCK_BYTES 131072 /* of everything that belongs to a block, unless one row has more */
#define MAX_ROWS 512       /* in a block */
#define SHORT_ROW 512      /* elements up to which blocks run at once */
#define UNEVEN_ROW 2048    /* the same for rows that do not fill the width of the machine */

typedef struct Rows {
  NdFusedRun *run;
  int64_t rows, length, block;          /* rows, elements per row, rows per block */
  int64_t pitch;                        /* elements from row to row in buffers */
  bool at_once;                         /* programs run over a block, not row by row */
  uint32_t repeated[ND_FUSED_PROGRAMS]; /* bits: numbers per row that a program over elements reads */
  uint32_t all_repeated;
  bool is_same[ND_FUSED_INPUTS]; /* an input is the same for all rows */
  NdFusedAxes row_axes;          /* of the rows */
  uint64_t bytes;                /* of scratch */
  struct {
    uint64_t inputs[ND_FUSED_INPUTS], reduced[ND_FUSED_INPUTS], outputs[ND_FUSED_OUTPUTS], words[ND_FUSED_RANDOM];
    uint64_t buffers[ND_FUSED_BUFFERS], numbers[ND_FUSED_ROWS], repeated[ND_FUSED_ROWS];
  } at; /* offsets in the scratch */
  atomic_bool out_of_memory;
} Rows;

/* One thread at work. */
typedef struct Work {
  const Rows *rows;
  char *scratch;
  int64_t first, count; /* rows of the block */
  NdFusedWorker worker;
} Work;

/* -- the plan of a run ------------------------------------------------------------------------ */

static void choose_ways(Rows *rows) {
  NdFusedRun *run = rows->run;
  const BurnFusedKernel *kernel = run->kernel;
  const uint32_t last = kernel->space.rank - 1;
  run->axes.rank = kernel->space.rank;
  memcpy(run->axes.shape, kernel->space.shape, sizeof run->axes.shape);
  rows->row_axes = run->axes;
  rows->row_axes.shape[last] = 1;
  for (uint32_t k = 0; k < kernel->input_count; k++) {
    NdFusedInput *input = &run->inputs[k];
    const NdTensor *x = run->tensors[k];
    bool varies = false;
    for (uint32_t axis = 0; axis <= last; axis++) input->strides[axis] = nd_fused_stride(x, &kernel->space, axis);
    for (uint32_t axis = 0; axis < last; axis++)
      varies = varies || (input->strides[axis] != 0 && kernel->space.shape[axis] > 1);
    rows->is_same[k] = !varies;
    if (!kernel->input_is_element[k]) continue;
    const bool may_repeat = !kernel->input_is_folded[k];
    if (nd_fused_is_plain(x, &kernel->space)) {
      input->way = ND_FUSED_PLAIN;
    } else if (may_repeat && nd_fused_is_number(x)) {
      input->way = ND_FUSED_NUMBER;
    } else if (!rows->at_once && input->strides[last] == 1) {
      input->way = ND_FUSED_INNER;
    } else if (!rows->at_once && may_repeat && input->strides[last] == 0) {
      input->way = ND_FUSED_REPEAT;
    } else {
      input->way = ND_FUSED_GATHER;
    }
  }
}

static uint64_t give(Rows *rows, int64_t bytes) {
  const uint64_t offset = rows->bytes;
  rows->bytes += nd_round_64(bytes);
  return offset;
}

static bool is_spare(NdFusedWay way) { return way == ND_FUSED_PLAIN || way == ND_FUSED_INNER; }

/* Rows of a block, such that it stays in the cache. */
static void choose_block(Rows *rows) {
  const NdFusedRun *run = rows->run;
  const BurnFusedKernel *kernel = run->kernel;
  int64_t per_row = 4 * (int64_t)(kernel->buffer_count + kernel->words_count) * rows->pitch;
  for (uint32_t k = 0; k < kernel->input_count; k++) {
    const NdFusedWay way = run->inputs[k].way;
    if (way == ND_FUSED_PLAIN || way == ND_FUSED_INNER || way == ND_FUSED_GATHER)
      per_row += run->inputs[k].bytes * rows->pitch;
  }
  for (uint32_t r = 0; r < kernel->row_count && rows->at_once; r++)
    per_row += ((rows->all_repeated >> r) & 1u) != 0 ? 4 * rows->pitch : 0;
  for (uint32_t o = 0; o < kernel->output_count; o++)
    per_row += kernel->output_is_reduced[o] ? 0 : run->outputs[o].bytes * rows->pitch;
  rows->block = BLOCK_BYTES / (per_row > 0 ? per_row : 1);
  if (rows->block > MAX_ROWS) rows->block = MAX_ROWS;
  const int64_t fair =
      rows->rows / (4 * (int64_t)run->nd->host->thread_count()); /* results do not depend on the block */
  if (rows->block > fair) rows->block = fair;
  if (rows->block < 1) rows->block = 1;
}

static void divide_scratch(Rows *rows) {
  const NdFusedRun *run = rows->run;
  const BurnFusedKernel *kernel = run->kernel;
  const int64_t width = run->machine->width;
  const int64_t elements = nd_fused_rounded_up(run, rows->block * rows->pitch),
                numbers = nd_fused_rounded_up(run, rows->block);
  rows->bytes = 0;
  for (uint32_t k = 0; k < kernel->input_count; k++) {
    const int64_t bytes = run->inputs[k].bytes;
    rows->at.inputs[k] = give(rows, (run->inputs[k].way == ND_FUSED_GATHER ? elements + width : width) * bytes);
    rows->at.reduced[k] = give(rows, (kernel->input_is_reduced[k] ? numbers : 0) * bytes);
  }
  for (uint32_t o = 0; o < kernel->output_count; o++) rows->at.outputs[o] = give(rows, width * run->outputs[o].bytes);
  for (uint32_t i = 0; i < kernel->words_count; i++) rows->at.words[i] = give(rows, (elements + 4) * 4);
  for (uint32_t b = 0; b < kernel->buffer_count; b++) rows->at.buffers[b] = give(rows, elements * 4);
  for (uint32_t r = 0; r < kernel->row_count; r++) {
    rows->at.numbers[r] = give(rows, numbers * 4);
    rows->at.repeated[r] = give(rows, ((rows->all_repeated >> r) & 1u) == 0 ? 0
                                      : rows->at_once                       ? elements * 4
                                                                            : width * 4);
  }
}

static void find_repeated(Rows *rows) {
  const BurnFusedKernel *kernel = rows->run->kernel;
  memset(rows->repeated, 0, sizeof rows->repeated);
  rows->all_repeated = 0;
  for (uint32_t number = 1; number < kernel->program_count; number += 2) {
    for (uint32_t i = kernel->programs[number].begin; i < kernel->programs[number].end; i++) {
      if (kernel->lines[i].operand == ND_FUSED_ROW) rows->repeated[number] |= 1u << kernel->lines[i].number;
    }
    rows->all_repeated |= rows->repeated[number];
  }
}

static void plan(Rows *rows) {
  NdFusedRun *run = rows->run;
  const int64_t width = run->machine->width;
  rows->length = run->kernel->space.shape[run->kernel->axis];
  rows->rows = run->count / rows->length;
  rows->at_once = rows->length < SHORT_ROW || run->kernel->words_count > 0 ||
                  (rows->length < UNEVEN_ROW && rows->length % width != 0);
  rows->pitch = rows->at_once ? rows->length : nd_fused_rounded_up(run, rows->length);
  if (rows->length % 16 != 0) run->streamed = 0; /* rows that are not aligned */
  find_repeated(rows);
  choose_ways(rows);
  choose_block(rows);
  divide_scratch(rows);
}

/* -- places ----------------------------------------------------------------------------------- */

/* What does not change from block to block. */
static void begin_work(Work *work) {
  const Rows *rows = work->rows;
  const NdFusedRun *run = rows->run;
  const BurnFusedKernel *kernel = run->kernel;
  NdFusedWorker *worker = &work->worker;
  nd_fused_begin(worker, run);
  for (uint32_t k = 0; k < kernel->input_count; k++) {
    const NdFusedInput *input = &run->inputs[k];
    char *buffer = work->scratch + rows->at.inputs[k];
    worker->inputs[k].spare = buffer;
    if (input->way == ND_FUSED_NUMBER) nd_fused_repeat(run, buffer, input->data, input->bytes);
    for (int64_t r = 0; r < rows->block && rows->is_same[k] && input->way == ND_FUSED_GATHER; r++) {
      const int64_t start[BURN_MAX_RANK] = {0};
      nd_fused_gather(run, &run->axes, input, start, rows->length, buffer + r * rows->pitch * input->bytes);
    }
  }
  for (uint32_t o = 0; o < kernel->output_count; o++) {
    worker->outputs[o].spare = work->scratch + rows->at.outputs[o];
    worker->outputs[o].is_direct = true;
    worker->outputs[o].is_single = false;
  }
  for (uint32_t b = 0; b < kernel->buffer_count; b++)
    worker->buffers[b].is_direct = worker->buffers[b].is_single = false;
  for (uint32_t i = 0; i < kernel->words_count; i++) worker->words[i].is_direct = worker->words[i].is_single = false;
}

/* Gathers what the programs cannot read where it lies. */
static void begin_block(Work *work) {
  const Rows *rows = work->rows;
  const NdFusedRun *run = rows->run;
  const int64_t e = work->first * rows->length;
  int64_t coordinates[BURN_MAX_RANK];
  nd_fused_find(&run->axes, e, coordinates);
  for (uint32_t k = 0; k < run->kernel->input_count; k++) {
    const NdFusedInput *input = &run->inputs[k];
    char *buffer = work->scratch + rows->at.inputs[k];
    if (run->kernel->input_is_reduced[k]) {
      nd_fused_gather(run, &rows->row_axes, input, coordinates, work->count, work->scratch + rows->at.reduced[k]);
    }
    if (input->way != ND_FUSED_GATHER || rows->is_same[k]) continue;
    if (rows->at_once) {
      nd_fused_gather(run, &run->axes, input, coordinates, work->count * rows->length, buffer);
    } else {
      for (int64_t r = 0; r < work->count; r++) {
        int64_t start[BURN_MAX_RANK];
        nd_fused_find(&run->axes, e + r * rows->length, start);
        nd_fused_gather(run, &run->axes, input, start, rows->length, buffer + r * rows->pitch * input->bytes);
      }
    }
  }
  for (uint32_t i = 0; i < run->kernel->words_count; i++) {
    work->worker.words[i].address =
        nd_fused_make_words(run, i, e, work->count * rows->length, work->scratch + rows->at.words[i]);
  }
}

/* Address of row r of the block of an input. */
static char *input_row(const Work *work, uint32_t k, int64_t r) {
  const Rows *rows = work->rows;
  const NdFusedRun *run = rows->run;
  const NdFusedInput *input = &run->inputs[k];
  if (input->way == ND_FUSED_PLAIN) return input->data + (work->first + r) * rows->length * input->bytes;
  if (input->way == ND_FUSED_GATHER) return work->scratch + rows->at.inputs[k] + r * rows->pitch * input->bytes;
  char *address = input->data;
  if (!rows->is_same[k]) {
    int64_t coordinates[BURN_MAX_RANK];
    nd_fused_find(&run->axes, (work->first + r) * rows->length, coordinates);
    address += nd_fused_offset(&run->axes, input, coordinates) * input->bytes;
  }
  if (input->way == ND_FUSED_INNER) return address;
  char *buffer = work->scratch + rows->at.inputs[k];
  if (input->way == ND_FUSED_REPEAT) nd_fused_repeat(run, buffer, address, input->bytes);
  return buffer;
}

/* Operands of a program over elements, from row r on. */
static void place_elements(Work *work, int64_t r) {
  const Rows *rows = work->rows;
  const NdFusedRun *run = rows->run;
  const BurnFusedKernel *kernel = run->kernel;
  NdFusedWorker *worker = &work->worker;
  for (uint32_t k = 0; k < kernel->input_count; k++) {
    const NdFusedWay way = run->inputs[k].way;
    if (way == ND_FUSED_UNREAD) continue;
    worker->inputs[k].address = input_row(work, k, r);
    worker->inputs[k].is_direct = is_spare(way);
    worker->inputs[k].is_single = way == ND_FUSED_NUMBER || way == ND_FUSED_REPEAT;
  }
  for (uint32_t o = 0; o < kernel->output_count; o++) {
    worker->outputs[o].address = run->outputs[o].data + (work->first + r) * rows->length * run->outputs[o].bytes;
  }
  for (uint32_t b = 0; b < kernel->buffer_count; b++) {
    worker->buffers[b].address = work->scratch + rows->at.buffers[b] + r * rows->pitch * 4;
  }
  for (uint32_t i = 0; i < kernel->row_count; i++) {
    worker->rows[i].address = work->scratch + rows->at.repeated[i];
    worker->rows[i].is_direct = false;
    worker->rows[i].is_single = !rows->at_once;
  }
}

/* Operands of a program over the rows of the block. */
static void place_reduced(Work *work) {
  const Rows *rows = work->rows;
  const NdFusedRun *run = rows->run;
  NdFusedWorker *worker = &work->worker;
  for (uint32_t k = 0; k < run->kernel->input_count; k++) {
    worker->inputs[k].address = work->scratch + rows->at.reduced[k];
    worker->inputs[k].is_direct = worker->inputs[k].is_single = false;
  }
  for (uint32_t o = 0; o < run->kernel->output_count; o++) {
    worker->outputs[o].address = run->outputs[o].data + work->first * run->outputs[o].bytes;
  }
  for (uint32_t i = 0; i < run->kernel->row_count; i++) {
    worker->rows[i].address = work->scratch + rows->at.numbers[i];
    worker->rows[i].is_direct = worker->rows[i].is_single = false;
  }
}

/* -- a block ---------------------------------------------------------------------------------- */

static float *numbers_of(const Work *work, uint32_t i) {
  return (float *)(void *)(work->scratch + work->rows->at.numbers[i]);
}

/* Writes out, for every element of the block, the numbers per row that a program reads. */
static void write_out(Work *work, uint32_t number) {
  const Rows *rows = work->rows;
  for (uint32_t i = 0, left = rows->repeated[number]; left != 0; i++, left >>= 1) {
    if ((left & 1u) == 0) continue;
    const float *numbers = numbers_of(work, i);
    float *to = (float *)(void *)(work->scratch + rows->at.repeated[i]);
    for (int64_t r = 0; r < work->count; r++) {
      for (int64_t e = 0; e < rows->length; e++) to[r * rows->length + e] = numbers[r];
    }
  }
}

/* Asks for row r of the next block while this one is computed. */
static void prefetch_row(const Work *work, int64_t r) {
#if defined(__GNUC__)
  const Rows *rows = work->rows;
  const NdFusedRun *run = rows->run;
  const int64_t row = work->first + rows->block + r;
  if (row >= rows->rows) return;
  for (uint32_t k = 0; k < run->kernel->input_count; k++) {
    const NdFusedInput *input = &run->inputs[k];
    if (input->way != ND_FUSED_PLAIN) continue;
    const char *from = input->data + row * rows->length * input->bytes;
    for (int64_t i = 0; i < rows->length * input->bytes; i += 64) __builtin_prefetch(from + i, 0, 2);
  }
#else
  (void)work;
  (void)r;
#endif
}

static void run_elements(Work *work, uint32_t number) {
  const Rows *rows = work->rows;
  const NdFusedRun *run = rows->run;
  if (rows->at_once) {
    write_out(work, number);
    place_elements(work, 0);
    nd_fused_run_program(&work->worker, number, work->count * rows->length);
    return;
  }
  for (int64_t r = 0; r < work->count; r++) {
    if (number + 2 >= run->kernel->program_count && run->streamed != 0) prefetch_row(work, r);
    place_elements(work, r);
    for (uint32_t i = 0, left = rows->repeated[number]; left != 0; i++, left >>= 1) {
      if ((left & 1u) != 0) run->machine->repeat(numbers_of(work, i)[r], (float *)(void *)work->worker.rows[i].address);
    }
    nd_fused_run_program(&work->worker, number, rows->length);
  }
}

static void reduce(Work *work, const NdFusedReduction *reduction) {
  const Rows *rows = work->rows;
  const NdFold *fold = nd_fused_fold(rows->run, reduction);
  float *numbers = numbers_of(work, reduction->row);
  for (int64_t r = 0; r < work->count; r++) {
    const bool is_buffer = reduction->operand == ND_FUSED_BUFFER;
    const char *x = is_buffer ? work->scratch + rows->at.buffers[reduction->number] + r * rows->pitch * 4
                              : input_row(work, reduction->number, r);
    NdTotal total;
    fold->run(x, rows->length, &total);
    numbers[r] = nd_fused_finish(reduction, &total, rows->length);
  }
}

static void run_block(Work *work) {
  const BurnFusedKernel *kernel = work->rows->run->kernel;
  const NdFusedReduction *reduction = kernel->reductions;
  begin_block(work);
  for (uint32_t number = 0; number < kernel->program_count; number++) {
    const NdFusedProgram *program = &kernel->programs[number];
    if (program->is_reduced && !nd_fused_is_empty(kernel, number)) {
      place_reduced(work);
      nd_fused_run_program(&work->worker, number, work->count);
    } else if (!nd_fused_is_empty(kernel, number)) {
      run_elements(work, number);
    }
    for (uint32_t i = 0; i < program->reduction_count; i++) reduce(work, reduction++);
  }
}

/* Blocks begin .. end-1. */
static void BURN_API_CALL run_blocks(void *context, int64_t begin, int64_t end) {
  Rows *rows = context;
  const NdFusedRun *run = rows->run;
  Work work;
  work.rows = rows;
  work.scratch = nd_pool_allocate(run->nd->pool, rows->bytes);
  if (!work.scratch) {
    atomic_store_explicit(&rows->out_of_memory, true, memory_order_relaxed);
    return;
  }
  begin_work(&work);
  for (int64_t b = begin; b < end; b++) {
    work.first = b * rows->block;
    work.count = rows->rows - work.first < rows->block ? rows->rows - work.first : rows->block;
    run_block(&work);
  }
  if (run->streamed != 0) run->machine->fence();
  nd_pool_free(run->nd->pool, work.scratch, rows->bytes);
}

bool nd_fused_run_rows(NdFusedRun *run) {
  Rows rows;
  rows.run = run;
  atomic_init(&rows.out_of_memory, false);
  plan(&rows);
  nd_fused_link(run);
  const int64_t blocks = (rows.rows + rows.block - 1) / rows.block, elements = rows.block * rows.length;
  const int64_t grain = run->kernel->grain > elements ? run->kernel->grain / elements : 1;
  nd_pool_reserve(run->nd->pool, rows.bytes, blocks > grain ? run->nd->host->thread_count() : 1);
  nd_parallel_for(run->nd, blocks, grain, run_blocks, &rows);
  return !atomic_load_explicit(&rows.out_of_memory, memory_order_relaxed);
}
