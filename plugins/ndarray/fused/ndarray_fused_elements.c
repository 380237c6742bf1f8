/* ndarray_fused_elements.c - runs bodies without reductions.
 *
 * The program runs over the elements of the outputs in row-major order. If every input lies in that order, or is one
 * number, a chunk of work is one piece. Else axes are merged; then either rows are long, and inputs are read where they
 * lie, one piece per row, those that are broadcast along the row from a few copies of their number; or blocks of the
 * inputs are gathered first. Random words are always made block by block. */
#include "ndarray_fused_run.h"

#include <string.h>

#define GROUP 1024 /* elements: chunks of work begin at multiples of it; a multiple of ND_FUSED_WIDEST */
#define BLOCK 1024 /* elements gathered at a time */
#define LONG_ROW 512
#define ARENA 65536 /* bytes for what is gathered and for the rests of pieces */

enum { PROGRAM = 1 }; /* the only one */

/* -- inputs ----------------------------------------------------------------------------------- */

/* Merges axes that lie one after the other in all inputs that are not in order; fills the axes of the run and
 * strides. */
static void merge_axes(NdFusedRun *run) {
  const BurnTensorDesc *space = &run->kernel->space;
  NdFusedAxes *axes = &run->axes;
  axes->rank = 0;
  for (uint32_t axis = 0; axis < space->rank; axis++) {
    const int64_t size = space->shape[axis];
    bool merge = axes->rank > 0;
    if (size == 1) continue;
    for (uint32_t k = 0; k < run->kernel->input_count && merge; k++) {
      if (run->inputs[k].way != ND_FUSED_GATHER) continue;
      merge = run->inputs[k].strides[axes->rank - 1] == nd_fused_stride(run->tensors[k], space, axis) * size;
    }
    if (!merge) axes->rank++;
    axes->shape[axes->rank - 1] = merge ? axes->shape[axes->rank - 1] * size : size;
    for (uint32_t k = 0; k < run->kernel->input_count; k++) {
      if (run->inputs[k].way == ND_FUSED_GATHER)
        run->inputs[k].strides[axes->rank - 1] = nd_fused_stride(run->tensors[k], space, axis);
    }
  }
}

/* Decides how each input is read. */
static void choose_ways(NdFusedElements *elements) {
  NdFusedRun *run = elements->run;
  const uint32_t count = run->kernel->input_count;
  elements->in_order = true;
  elements->by_rows = false;
  for (uint32_t k = 0; k < count; k++) {
    NdFusedInput *input = &run->inputs[k];
    const NdTensor *x = run->tensors[k];
    if (input->bytes == 0) continue;
    input->way = nd_fused_is_plain(x, &run->kernel->space) ? ND_FUSED_PLAIN
                 : nd_fused_is_number(x)                   ? ND_FUSED_NUMBER
                                                           : ND_FUSED_GATHER;
    if (input->way == ND_FUSED_GATHER) elements->in_order = false;
  }
  if (elements->in_order) return;
  merge_axes(run);
  const uint32_t last = run->axes.rank - 1;
  if (run->axes.shape[last] < LONG_ROW) return;
  elements->by_rows = true;
  if (run->axes.shape[last] % 16 != 0) run->streamed = 0; /* pieces that are not aligned */
  for (uint32_t k = 0; k < count; k++) {
    NdFusedInput *input = &run->inputs[k];
    if (input->way != ND_FUSED_GATHER) continue;
    if (input->strides[last] == 1) input->way = ND_FUSED_INNER;
    if (input->strides[last] == 0) input->way = ND_FUSED_REPEAT;
  }
}

static uint32_t give(uint32_t *used, int64_t bytes) {
  const uint32_t offset = *used;
  *used += ((uint32_t)bytes + 63u) & ~63u;
  return offset;
}

/* Divides the arena: what is gathered gets room for a piece, everything else for the width of the machine. */
static void divide_arena(NdFusedElements *elements) {
  const NdFusedRun *run = elements->run;
  const BurnFusedKernel *kernel = run->kernel;
  const int64_t width = run->machine->width;
  int64_t fixed = 64 * ND_FUSED_RANDOM, per_element = 4 * (int64_t)kernel->words_count;
  uint32_t used = 0;
  for (uint32_t k = 0; k < kernel->input_count; k++) {
    if (run->inputs[k].way == ND_FUSED_GATHER) {
      per_element += run->inputs[k].bytes;
    } else {
      fixed += width * run->inputs[k].bytes;
    }
  }
  for (uint32_t o = 0; o < kernel->output_count; o++) fixed += width * run->outputs[o].bytes;
  elements->piece = INT64_MAX;
  if (per_element > 0) elements->piece = (ARENA - fixed) / per_element / width * width;
  if (per_element > 0 && elements->piece > BLOCK) elements->piece = BLOCK;
  for (uint32_t k = 0; k < kernel->input_count; k++) {
    const bool is_gathered = run->inputs[k].way == ND_FUSED_GATHER;
    elements->inputs[k] = give(&used, (is_gathered ? elements->piece : width) * run->inputs[k].bytes);
  }
  for (uint32_t o = 0; o < kernel->output_count; o++) elements->outputs[o] = give(&used, width * run->outputs[o].bytes);
  for (uint32_t i = 0; i < kernel->words_count; i++) elements->words[i] = give(&used, (elements->piece + 4) * 4);
}

/* -- pieces ----------------------------------------------------------------------------------- */

/* What does not change from piece to piece. */
static void begin_work(NdFusedWorker *worker, const NdFusedElements *elements, char *arena) {
  const NdFusedRun *run = elements->run;
  nd_fused_begin(worker, run);
  for (uint32_t k = 0; k < run->kernel->input_count; k++) {
    const NdFusedInput *input = &run->inputs[k];
    NdFusedPlace *place = &worker->inputs[k];
    place->address = place->spare = arena + elements->inputs[k];
    place->is_direct = input->way == ND_FUSED_PLAIN || input->way == ND_FUSED_INNER;
    place->is_single = input->way == ND_FUSED_NUMBER || input->way == ND_FUSED_REPEAT;
    if (input->way == ND_FUSED_NUMBER) nd_fused_repeat(run, place->address, input->data, input->bytes);
  }
  for (uint32_t o = 0; o < run->kernel->output_count; o++) {
    worker->outputs[o].spare = arena + elements->outputs[o];
    worker->outputs[o].is_direct = true;
    worker->outputs[o].is_single = false;
  }
  for (uint32_t i = 0; i < run->kernel->words_count; i++) {
    worker->words[i].spare = arena + elements->words[i];
    worker->words[i].is_direct = worker->words[i].is_single = false;
  }
}

/* Finds the operands of elements e .. e + n - 1, which lie in one row unless everything that is not gathered is in
 * order. */
static void begin_piece(NdFusedWorker *worker, const int64_t *coordinates, int64_t e, int64_t n) {
  const NdFusedRun *run = worker->run;
  for (uint32_t k = 0; k < run->kernel->input_count; k++) {
    const NdFusedInput *input = &run->inputs[k];
    NdFusedPlace *place = &worker->inputs[k];
    if (input->way == ND_FUSED_PLAIN) {
      place->address = input->data + e * input->bytes;
    } else if (input->way == ND_FUSED_INNER) {
      place->address = input->data + nd_fused_offset(&run->axes, input, coordinates) * input->bytes;
    } else if (input->way == ND_FUSED_REPEAT) {
      nd_fused_repeat(run, place->address, input->data + nd_fused_offset(&run->axes, input, coordinates) * input->bytes,
                      input->bytes);
    } else if (input->way == ND_FUSED_GATHER) {
      nd_fused_gather(run, &run->axes, input, coordinates, n, place->address);
    }
  }
  for (uint32_t o = 0; o < run->kernel->output_count; o++) {
    worker->outputs[o].address = run->outputs[o].data + e * run->outputs[o].bytes;
  }
  for (uint32_t i = 0; i < run->kernel->words_count; i++) {
    worker->words[i].address = nd_fused_make_words(run, i, e, n, worker->words[i].spare);
  }
}

/* Elements begin .. stop - 1. */
static void run_span(NdFusedWorker *worker, const NdFusedElements *elements, int64_t begin, int64_t stop) {
  const NdFusedRun *run = elements->run;
  int64_t coordinates[BURN_MAX_RANK];
  for (int64_t e = begin, n; e < stop; e += n) {
    n = stop - e < elements->piece ? stop - e : elements->piece;
    if (!elements->in_order) {
      nd_fused_find(&run->axes, e, coordinates);
      const int64_t left = run->axes.shape[run->axes.rank - 1] - coordinates[run->axes.rank - 1];
      if (elements->by_rows && n > left) n = left;
    }
    begin_piece(worker, coordinates, e, n);
    nd_fused_run_program(worker, PROGRAM, n);
  }
}

/* Groups begin .. end-1 of the elements. */
static void BURN_API_CALL run_groups(void *context, int64_t begin, int64_t end) {
  const NdFusedElements *elements = context;
  const NdFusedRun *run = elements->run;
  NdFusedWorker worker;
  _Alignas(64) char arena[ARENA];
  begin_work(&worker, elements, arena);
  run_span(&worker, elements, begin * GROUP, end * GROUP < run->count ? end * GROUP : run->count);
  if (run->streamed != 0) run->machine->fence();
}

/* A part of rows that are long, or lie one after the other. */
static void run_rows(const NdFusedElements *elements, int64_t first, int64_t rows, int64_t columns, int64_t row) {
  NdFusedWorker worker;
  _Alignas(64) char arena[ARENA];
  begin_work(&worker, elements, arena);
  for (int64_t i = 0; i < rows; i++) run_span(&worker, elements, first + i * row, first + i * row + columns);
}

void nd_fused_run_part(const NdFusedElements *elements, int64_t first, int64_t rows, int64_t columns, int64_t row) {
  if (row == columns)
    run_rows(elements, first, 1, rows * columns, 0);
  else if (columns >= ND_FUSED_SHORT_ROW)
    run_rows(elements, first, rows, columns, row);
  else
    nd_fused_run_short_rows(elements, first, rows, columns, row);
}

void nd_fused_plan_elements(NdFusedRun *run, NdFusedElements *elements) {
  elements->run = run;
  choose_ways(elements);
  divide_arena(elements);
  nd_fused_link(run);
}

bool nd_fused_run_elements(NdFusedRun *run) {
  NdFusedElements elements;
  nd_fused_plan_elements(run, &elements);
  nd_parallel_for(run->nd, (run->count + GROUP - 1) / GROUP, run->kernel->grain / GROUP, run_groups, &elements);
  return true;
}
