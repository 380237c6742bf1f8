/* ndarray_fused_parts.c - runs a body over a part of its elements whose rows are shorter than the machine is wide, or
 * not much longer: rows are packed into a block, the program runs over the block, and its results go to their rows.
 * Copies within the first-level cache cost less than lanes without an element, and than a start of the program for
 * each row. */
#include "ndarray_fused_run.h"

#include <string.h>

enum { PROGRAM = 1, ARENA = 65536, BLOCK = 1024 }; /* bytes of all packed rows; elements at once */

/* Where the blocks of operands are. */
typedef struct Rows {
  const NdFusedElements *elements;
  NdFusedWorker worker;
  int64_t block;   /* elements; each operand has room for a width more */
  uint32_t result; /* the input that is packed already, or ND_FUSED_INPUTS */
} Rows;

static bool is_packed(const NdFusedInput *input) {
  return input->way != ND_FUSED_UNREAD && input->way != ND_FUSED_NUMBER;
}

static char *take(char **arena, const NdFusedRun *run, int64_t elements, int64_t bytes) {
  char *taken = *arena;
  *arena += ((elements + run->machine->width) * bytes + 63) / 64 * 64;
  return taken;
}

/* Of all operands, for an element. */
static int64_t bytes_of(const BurnFusedKernel *kernel) {
  int64_t bytes = 4 * (int64_t)kernel->words_count;
  for (uint32_t k = 0; k < kernel->input_count; k++) bytes += kernel->input_bytes[k];
  for (uint32_t o = 0; o < kernel->output_count; o++) bytes += burn_dtype_bytes(kernel->outputs[o].dtype);
  return bytes;
}

/* Elements of a block. */
static int64_t block_of(const BurnFusedKernel *kernel, int64_t width) {
  const int64_t rounding = 64 * (ND_FUSED_INPUTS + ND_FUSED_OUTPUTS + ND_FUSED_RANDOM);
  return nd_min(BLOCK, (ARENA - rounding) / (bytes_of(kernel) + 1) - width);
}

bool nd_fused_takes_short_rows(const BurnFusedKernel *kernel) {
  return block_of(kernel, ND_FUSED_WIDEST) >= ND_FUSED_SHORT_ROW;
}

static void begin(Rows *rows, const NdFusedElements *elements, char *arena) {
  const NdFusedRun *run = elements->run;
  NdFusedWorker *worker = &rows->worker;
  rows->elements = elements;
  rows->block = block_of(run->kernel, run->machine->width);
  nd_fused_begin(worker, run);
  for (uint32_t k = 0; k < run->kernel->input_count; k++) {
    const NdFusedInput *input = &run->inputs[k];
    worker->inputs[k] = (NdFusedPlace){.is_single = !is_packed(input)};
    worker->inputs[k].address = take(&arena, run, is_packed(input) ? rows->block : 0, input->bytes);
    if (input->way == ND_FUSED_NUMBER) nd_fused_repeat(run, worker->inputs[k].address, input->data, input->bytes);
  }
  for (uint32_t o = 0; o < run->kernel->output_count; o++)
    worker->outputs[o] = (NdFusedPlace){.address = take(&arena, run, rows->block, run->outputs[o].bytes)};
  for (uint32_t i = 0; i < run->kernel->words_count; i++)
    worker->words[i] = (NdFusedPlace){.address = take(&arena, run, rows->block, 4)};
}

/* memcpy, whose calls take longer than rows of some lines. */
static void copy(char *to, const char *from, int64_t bytes) {
  for (; bytes >= 64; bytes -= 64, to += 64, from += 64) memcpy(to, from, 64);
  if (bytes > 0) memcpy(to, from, (size_t)bytes);
}

/* Elements e .. e + n - 1, a row, to place `at` of the block. */
static void pack(const Rows *rows, int64_t e, int64_t n, int64_t at) {
  const NdFusedRun *run = rows->elements->run;
  const NdFusedWorker *worker = &rows->worker;
  int64_t coordinates[BURN_MAX_RANK];
  uint32_t words[BLOCK / 2];
  if (!rows->elements->in_order) nd_fused_find(&run->axes, e, coordinates);
  for (uint32_t k = 0; k < run->kernel->input_count; k++) {
    const NdFusedInput *input = &run->inputs[k];
    char *to = worker->inputs[k].address + at * input->bytes;
    if (input->way == ND_FUSED_PLAIN)
      copy(to, input->data + e * input->bytes, n * input->bytes);
    else if (is_packed(input))
      nd_fused_gather(run, &run->axes, input, coordinates, n, to);
  }
  for (uint32_t i = 0; i < run->kernel->words_count; i++)
    memcpy(worker->words[i].address + at * 4, nd_fused_make_words(run, i, e, n, words), (size_t)n * 4);
}

/* Lanes after the last row of a block compute something, too: with zeros. */
static void clear_rest(const Rows *rows, int64_t n) {
  const NdFusedRun *run = rows->elements->run;
  const size_t rest = (size_t)(nd_fused_rounded_up(run, n) - n);
  for (uint32_t k = 0; k < run->kernel->input_count; k++) {
    const uint32_t bytes = run->inputs[k].bytes;
    if (is_packed(&run->inputs[k])) memset(rows->worker.inputs[k].address + n * bytes, 0, rest * bytes);
  }
  for (uint32_t i = 0; i < run->kernel->words_count; i++) memset(rows->worker.words[i].address + n * 4, 0, rest * 4);
}

static void unpack(const Rows *rows, int64_t e, int64_t n, int64_t at) {
  const NdFusedRun *run = rows->elements->run;
  for (uint32_t o = 0; o < run->kernel->output_count; o++) {
    const int64_t bytes = run->outputs[o].bytes;
    copy(run->outputs[o].data + e * bytes, rows->worker.outputs[o].address + at * bytes, n * bytes);
  }
}

/* Rows of the block, `count` of them. */
static void run_block(Rows *rows, int64_t first, int64_t count, int64_t columns, int64_t row) {
  for (int64_t r = 0; r < count; r++) pack(rows, first + r * row, columns, r * columns);
  clear_rest(rows, count * columns);
  nd_fused_run_program(&rows->worker, PROGRAM, nd_fused_rounded_up(rows->elements->run, count * columns));
  for (int64_t r = 0; r < count; r++) unpack(rows, first + r * row, columns, r * columns);
}

void nd_fused_run_short_rows(const NdFusedElements *elements, int64_t first, int64_t count, int64_t columns,
                             int64_t row) {
  Rows rows;
  _Alignas(64) char arena[ARENA];
  begin(&rows, elements, arena);
  const int64_t at_once = rows.block / columns;
  for (int64_t i = 0; i < count; i += at_once)
    run_block(&rows, first + i * row, nd_min(at_once, count - i), columns, row);
}
