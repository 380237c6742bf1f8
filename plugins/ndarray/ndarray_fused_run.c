/* ndarray_fused_run.c - runs a compiled body: makes its outputs, links the program and feeds it pieces of the operands.
 *
 * The program runs over the elements of the outputs in row-major order. If every input lies in that order, or is one number, a chunk
 * of work is one piece. Else axes are merged; then either rows are long, and inputs are read where they lie, one piece per row, those
 * that are broadcast along the row from a few copies of their number; or blocks of the inputs are gathered first. Random words are
 * always made block by block. The elements at the end of a piece that do not fill the machine's width are copied to where they do. */
#include "ndarray_random.h"
#include "ndarray_fused.h"
#include "ndarray_half.h"
#include "ndarray_kernels.h"

#include <burn/plugin/random.h>

#include <string.h>

#define GROUP 1024 /* elements: chunks of work begin at multiples of it; a multiple of ND_FUSED_WIDEST */
#define BLOCK 1024 /* elements gathered at a time */
#define LONG_ROW 512
#define ARENA_BYTES 65536
#define STREAMED (INT64_C(1) << 20) /* results of more elements, which no cache would keep, are stored past the caches */

/* How the program reads an operand. */
typedef enum Way {
  UNREAD,
  PLAIN,  /* element e of the space is element e in memory */
  NUMBER, /* all elements are one: from copies of it */
  ROW,    /* lies in order within a row */
  REPEAT, /* one number per row: from copies of it */
  GATHER  /* from a packed copy of the piece */
} Way;

typedef struct Operand {
  char *data;
  Way way;
  uint32_t bytes;  /* of an element */
  uint32_t buffer; /* offset of its buffer in the arena */
  int64_t strides[BURN_MAX_RANK];
} Operand;

typedef struct Words {
  uint64_t seed, offset;
  uint32_t buffer;
} Words;

/* One run, as all threads see it. */
typedef struct Run {
  Ndarray *nd;
  const BurnFusedKernel *kernel;
  const BurnAttr *const *attrs;
  const NdFusedMachine *machine;
  int64_t count, piece; /* elements; at most so many at a time */
  bool in_order;        /* no operand needs to know of rows */
  bool by_rows;         /* pieces end with rows */
  uint32_t streamed;    /* bit per output */
  uint32_t rank;        /* of the merged space */
  int64_t shape[BURN_MAX_RANK];
  Operand inputs[ND_FUSED_INPUTS], outputs[ND_FUSED_OUTPUTS];
  Words words[ND_FUSED_RANDOM];
  NdTensor *packed[ND_FUSED_INPUTS];
  NdFusedWord program[ND_FUSED_LINES];
} Run;

/* What one thread works with. */
typedef struct Worker {
  const Run *run;
  int64_t coordinates[BURN_MAX_RANK]; /* of the piece */
  struct {
    char *address;
    bool is_direct; /* there may be other memory behind it */
  } inputs[ND_FUSED_INPUTS], outputs[ND_FUSED_OUTPUTS], words[ND_FUSED_RANDOM];
  NdFusedWord program[ND_FUSED_LINES];
  _Alignas(64) float slots[ND_FUSED_SLOTS * ND_FUSED_WIDEST];
  _Alignas(64) char arena[ARENA_BYTES];
} Worker;

/* -- scalars ------------------------------------------------------------------------------------------------------- */

static float rounded(BurnDType dtype, double value) {
  if (dtype == BURN_DTYPE_F16) return nd_f16_to_f32(nd_f16_from_f64(value));
  if (dtype == BURN_DTYPE_BF16) return nd_bf16_to_f32(nd_bf16_from_f64(value));
  return (float)value;
}

/* True if 1 / s is exact, so that a product with it is the quotient. */
static bool is_power_of_2(float s) {
  const uint32_t bits = nd_bits_f32(s), exponent = (bits >> 23) & 0xffu;
  return (bits & 0x007fffffu) == 0 && exponent > 0 && exponent < 254;
}

static uint32_t opcode_of_power(float exponent) {
  if (exponent == 0.0f) return ND_FUSED_splat;
  if (exponent == 1.0f) return ND_FUSED_keep;
  if (exponent == 2.0f) return ND_FUSED_power_2;
  if (exponent == 3.0f) return ND_FUSED_power_3;
  if (exponent == -1.0f) return ND_FUSED_recip;
  return exponent == -2.0f ? ND_FUSED_power_minus_2 : ND_FUSED_power_any;
}

/* The largest random word below a threshold that is not 0. */
static float last_word(uint64_t threshold) { return nd_from_bits_f32((uint32_t)(threshold - 1)); }

static uint32_t link_dropout(const BurnAttrs_dropout *attrs, NdFusedWord *word) {
  const uint64_t threshold = burn_random_threshold(1.0 - attrs->prob.value.f64);
  word->s = (float)(1.0 / (1.0 - attrs->prob.value.f64));
  word->q = last_word(threshold);
  return threshold == 0 ? ND_FUSED_dropout_all : ND_FUSED_dropout;
}

static void link_bernoulli(const BurnAttrs_random_bernoulli *attrs, BurnDType dtype, NdFusedWord *word) {
  const uint64_t threshold = burn_random_threshold(attrs->prob.value.f64);
  const float one = dtype == BURN_DTYPE_BOOL ? nd_from_bits_f32(UINT32_MAX) : 1.0f;
  word->s = threshold == 0 ? 0.0f : one;
  word->q = last_word(threshold);
}

static float fill_value(const BurnAttrs_full *attrs, BurnDType dtype) {
  const double value = attrs->value.value.f64;
  if (dtype != BURN_DTYPE_BOOL) return rounded(dtype, value);
  return nd_from_bits_f32(value != 0.0 ? UINT32_MAX : 0);
}

/* Fills the scalars of an instruction; returns the opcode, on which they have influence. */
static uint32_t link_scalars(const Run *run, const NdFusedLine *line, NdFusedWord *word) {
  const NdFusedStepInfo *step = &run->kernel->steps[line->step];
  const BurnAttr *attrs = run->attrs[line->step];
  uint32_t opcode = line->opcode;
  switch ((NdFusedScalar)line->scalar) {
    case ND_FUSED_FIRST_SECOND:
      word->q = rounded(step->scalar_dtype, attrs[1].value.f64);
      word->s = rounded(step->scalar_dtype, attrs[0].value.f64);
      break;
    case ND_FUSED_FIRST:
      word->s = rounded(step->scalar_dtype, attrs[0].value.f64);
      break;
    case ND_FUSED_DIVISOR:
      word->s = rounded(step->scalar_dtype, attrs[0].value.f64);
      if (!is_power_of_2(word->s)) break;
      word->s = 1.0f / word->s;
      opcode = ND_FUSED_mul_scalar;
      break;
    case ND_FUSED_EXPONENT:
      word->s = rounded(step->scalar_dtype, attrs[0].value.f64);
      opcode = opcode_of_power(word->s);
      if (opcode == ND_FUSED_splat) word->s = 1.0f;
      break;
    case ND_FUSED_FILL:
      word->s = fill_value((const BurnAttrs_full *)(const void *)attrs, step->dtype);
      break;
    case ND_FUSED_DROPOUT:
      opcode = link_dropout((const BurnAttrs_dropout *)(const void *)attrs, word);
      break;
    case ND_FUSED_BERNOULLI:
      link_bernoulli((const BurnAttrs_random_bernoulli *)(const void *)attrs, step->dtype, word);
      break;
    case ND_FUSED_WIDTH: {
      const BurnAttrs_random_uniform *uniform = (const BurnAttrs_random_uniform *)(const void *)attrs;
      word->s = (float)uniform->high.value.f64 - (float)uniform->low.value.f64;
      break;
    }
    case ND_FUSED_LOW_HIGH: {
      const BurnAttrs_random_uniform *uniform = (const BurnAttrs_random_uniform *)(const void *)attrs;
      word->s = (float)uniform->low.value.f64;
      word->q = (float)uniform->high.value.f64;
      break;
    }
    case ND_FUSED_NO_SCALAR:
      break;
  }
  return opcode;
}

/* The outputs that are stored past the caches: those in new memory, if all pieces begin at multiples of 64 bytes. */
static void choose_streamed(Run *run, uint32_t in_place) {
  const bool aligned = !run->by_rows || run->shape[run->rank - 1] % 16 == 0;
  run->streamed = run->count > STREAMED && aligned ? ~in_place : 0;
}

static void link_program(Run *run) {
  for (uint32_t i = 0; i < run->kernel->line_count; i++) {
    NdFusedWord *word = &run->program[i];
    word->memory = NULL;
    word->mask = -1;
    word->s = 0.0f;
    word->q = 0.0f;
    const NdFusedLine *line = &run->kernel->lines[i];
    uint32_t opcode = link_scalars(run, line, word);
    const bool is_output = line->operand == ND_FUSED_OUTPUT && opcode == ND_FUSED_store_f32;
    if (is_output && ((run->streamed >> line->number) & 1u)) opcode = ND_FUSED_stream_f32;
    word->code = run->machine->codes[opcode];
  }
  for (uint32_t i = 0; i < run->kernel->words_count; i++) {
    const uint32_t step = run->kernel->words_step[i];
    const uint32_t seed = run->kernel->steps[step].op == BURN_OP_dropout ? 1 : 2; /* which attribute; the offset follows */
    run->words[i].seed = (uint64_t)run->attrs[step][seed].value.i64;
    run->words[i].offset = (uint64_t)run->attrs[step][seed + 1].value.i64;
  }
}

/* -- operands ------------------------------------------------------------------------------------------------------ */

/* The stride of an input along axis `axis` of the space, which may have more leading axes. */
static int64_t stride_of(const NdTensor *x, const BurnTensorDesc *space, uint32_t axis) {
  const uint32_t missing = space->rank - x->header.rank;
  if (axis < missing || x->shape[axis - missing] == 1) return 0;
  return x->strides[axis - missing];
}

static bool is_plain(const NdTensor *x, const BurnTensorDesc *space) {
  return burn_primitive_count(&x->header) == burn_desc_count(space) && nd_is_contiguous(x);
}

static bool is_number(const NdTensor *x) {
  for (uint32_t i = 0; i < x->header.rank; i++) {
    if (x->shape[i] != 1 && x->strides[i] != 0) return false;
  }
  return true;
}

/* Merges axes that lie behind each other in all inputs that are not in order; fills rank, shape and strides. */
static void merge_axes(Run *run, NdTensor *const *inputs) {
  const BurnTensorDesc *space = &run->kernel->outputs[0];
  run->rank = 0;
  for (uint32_t axis = 0; axis < space->rank; axis++) {
    const int64_t size = space->shape[axis];
    bool merge = run->rank > 0;
    if (size == 1) continue;
    for (uint32_t k = 0; k < run->kernel->input_count && merge; k++) {
      if (run->inputs[k].way != GATHER) continue;
      merge = run->inputs[k].strides[run->rank - 1] == stride_of(inputs[k], space, axis) * size;
    }
    if (!merge) run->rank++;
    run->shape[run->rank - 1] = merge ? run->shape[run->rank - 1] * size : size;
    for (uint32_t k = 0; k < run->kernel->input_count; k++) {
      if (run->inputs[k].way == GATHER) run->inputs[k].strides[run->rank - 1] = stride_of(inputs[k], space, axis);
    }
  }
}

/* A large transposed input is read badly by rows: it is packed first, in tiles. Inputs that are broadcast are not. */
static bool should_pack(const NdTensor *x, int64_t count) {
  bool has_unit = false;
  uint32_t last = 0;
  if (count < 32768 || burn_primitive_count(&x->header) != count) return false;
  for (uint32_t i = 0; i < x->header.rank; i++) {
    if (x->shape[i] == 1) continue;
    if (x->strides[i] == 0) return false;
    if (x->strides[i] == 1) has_unit = true;
    last = i;
  }
  return has_unit && x->strides[last] != 1;
}

/* Decides how each input is read. False when out of memory. */
static bool place_inputs(Run *run, NdTensor **inputs) {
  const BurnFusedKernel *kernel = run->kernel;
  run->in_order = true;
  run->by_rows = false;
  for (uint32_t k = 0; k < kernel->input_count; k++) {
    Operand *operand = &run->inputs[k];
    operand->way = UNREAD;
    operand->bytes = kernel->input_bytes[k];
    if (operand->bytes == 0) continue;
    if (should_pack(inputs[k], run->count)) {
      run->packed[k] = nd_contiguous(run->nd, inputs[k]);
      if (!run->packed[k]) return false;
      inputs[k] = run->packed[k];
    }
    operand->data = nd_data(inputs[k]);
    operand->way = is_plain(inputs[k], &kernel->outputs[0]) ? PLAIN : is_number(inputs[k]) ? NUMBER : GATHER;
    if (operand->way == GATHER) run->in_order = false;
  }
  if (run->in_order) return true;
  merge_axes(run, inputs);
  if (run->shape[run->rank - 1] < LONG_ROW) return true;
  run->by_rows = true;
  for (uint32_t k = 0; k < kernel->input_count; k++) {
    Operand *operand = &run->inputs[k];
    if (operand->way != GATHER) continue;
    if (operand->strides[run->rank - 1] == 1) operand->way = ROW;
    if (operand->strides[run->rank - 1] == 0) operand->way = REPEAT;
  }
  return true;
}

static uint32_t give_buffer(uint32_t *used, int64_t bytes) {
  const uint32_t buffer = *used;
  *used += ((uint32_t)bytes + 63u) & ~63u;
  return buffer;
}

/* Divides the arena: what is gathered gets room for a piece, everything else for the width of the machine. */
static void divide_arena(Run *run) {
  const BurnFusedKernel *kernel = run->kernel;
  const int64_t width = run->machine->width;
  int64_t fixed = 64 * ND_FUSED_RANDOM, per_element = 4 * (int64_t)kernel->words_count;
  uint32_t used = 0;
  for (uint32_t k = 0; k < kernel->input_count; k++) {
    if (run->inputs[k].way == GATHER) {
      per_element += run->inputs[k].bytes;
    } else {
      fixed += width * run->inputs[k].bytes;
    }
  }
  for (uint32_t o = 0; o < kernel->output_count; o++) fixed += width * run->outputs[o].bytes;
  run->piece = INT64_MAX;
  if (per_element > 0) run->piece = (ARENA_BYTES - fixed) / per_element / width * width;
  if (per_element > 0 && run->piece > BLOCK) run->piece = BLOCK;
  for (uint32_t k = 0; k < kernel->input_count; k++) {
    Operand *operand = &run->inputs[k];
    operand->buffer = give_buffer(&used, (operand->way == GATHER ? run->piece : width) * operand->bytes);
  }
  for (uint32_t o = 0; o < kernel->output_count; o++) {
    run->outputs[o].buffer = give_buffer(&used, width * run->outputs[o].bytes);
  }
  for (uint32_t i = 0; i < kernel->words_count; i++) run->words[i].buffer = give_buffer(&used, (run->piece + 4) * 4);
}

/* -- gathering ----------------------------------------------------------------------------------------------------- */

/* Coordinates of element `index`; the last one is that within the row. */
static void find(const Run *run, int64_t index, int64_t *coordinates) {
  for (uint32_t i = run->rank; i-- > 0;) {
    coordinates[i] = index % run->shape[i];
    index /= run->shape[i];
  }
}

static int64_t offset_of(const Run *run, const Operand *operand, const int64_t *coordinates) {
  int64_t offset = 0;
  for (uint32_t i = 0; i < run->rank; i++) offset += coordinates[i] * operand->strides[i];
  return offset;
}

/* To the start of the next row; returns how far that is in the memory of an operand. */
static int64_t next_row(const Run *run, const Operand *operand, int64_t *coordinates) {
  uint32_t i = run->rank - 1;
  int64_t moved = -coordinates[i] * operand->strides[i];
  coordinates[i] = 0;
  while (i-- > 0) {
    moved += operand->strides[i];
    if (++coordinates[i] < run->shape[i]) return moved;
    moved -= operand->strides[i] * run->shape[i];
    coordinates[i] = 0;
  }
  return moved;
}

#define GATHER_OF(bits)                                                                                                      \
  static void gather_##bits(const Run *run, const Operand *operand, const int64_t *start, int64_t n, uint##bits##_t *to) {   \
    const uint32_t last = run->rank - 1;                                                                                     \
    const int64_t length = run->shape[last], step = operand->strides[last];                                                  \
    int64_t coordinates[BURN_MAX_RANK];                                                                                      \
    memcpy(coordinates, start, sizeof coordinates);                                                                          \
    const uint##bits##_t *from = (const uint##bits##_t *)(const void *)operand->data + offset_of(run, operand, coordinates); \
    while (n > 0) {                                                                                                          \
      const int64_t left = length - coordinates[last], count = n < left ? n : left;                                          \
      for (int64_t i = 0; i < count; i++) to[i] = from[i * step];                                                            \
      to += count;                                                                                                           \
      n -= count;                                                                                                            \
      if (n > 0) from += next_row(run, operand, coordinates);                                                                \
    }                                                                                                                        \
  }
GATHER_OF(8)
GATHER_OF(16)
GATHER_OF(32)
GATHER_OF(64)

static void gather(const Run *run, const Operand *operand, const int64_t *start, int64_t n, void *to) {
  if (operand->bytes == 1) {
    gather_8(run, operand, start, n, to);
  } else if (operand->bytes == 2) {
    gather_16(run, operand, start, n, to);
  } else if (operand->bytes == 4) {
    gather_32(run, operand, start, n, to);
  } else {
    gather_64(run, operand, start, n, to);
  }
}

/* `width` copies of an element. */
static void repeat(void *to, const void *element, uint32_t bytes, int64_t width) {
  for (int64_t i = 0; i < width; i++) memcpy((char *)to + i * bytes, element, bytes);
}

/* Random words of elements e .. e + n - 1; returns where the first is. `to` has room for 4 more. */
static char *make_words(const Run *run, const Words *words, int64_t e, int64_t n, uint32_t *to) {
  const NdRandomLoops *loops = nd_random(run->nd);
  const int64_t skew = e % 4;
  uint32_t some[ND_RANDOM_WORDS];
  for (int64_t i = 0; i < n + skew; i += ND_RANDOM_WORDS) {
    const int64_t left = n + skew - i, count = left < ND_RANDOM_WORDS ? left : ND_RANDOM_WORDS;
    loops->words(words->seed, words->offset + (uint64_t)((e - skew + i) / 4), some);
    memcpy(to + i, some, (size_t)count * sizeof *some);
  }
  return (char *)(to + skew);
}

/* -- pieces -------------------------------------------------------------------------------------------------------- */

static void point_program(Worker *worker) {
  const BurnFusedKernel *kernel = worker->run->kernel;
  for (uint32_t i = 0; i < kernel->line_count; i++) {
    const NdFusedLine *line = &kernel->lines[i];
    if (line->operand == ND_FUSED_INPUT) worker->program[i].memory = worker->inputs[line->number].address;
    if (line->operand == ND_FUSED_OUTPUT) worker->program[i].memory = worker->outputs[line->number].address;
    if (line->operand == ND_FUSED_WORDS) worker->program[i].memory = worker->words[line->number].address;
  }
}

/* What does not change from piece to piece. */
static void begin_work(Worker *worker, const Run *run) {
  const BurnFusedKernel *kernel = run->kernel;
  const int64_t width = run->machine->width;
  worker->run = run;
  memcpy(worker->program, run->program, kernel->line_count * sizeof *run->program);
  for (uint32_t i = 0; i < kernel->line_count; i++) {
    const NdFusedLine *line = &kernel->lines[i];
    const bool is_input = line->operand == ND_FUSED_INPUT;
    const Way way = is_input ? run->inputs[line->number].way : PLAIN;
    if (line->operand == ND_FUSED_SLOT) worker->program[i].memory = &worker->slots[line->number * width];
    if (line->operand == ND_FUSED_SLOT || way == NUMBER || way == REPEAT) worker->program[i].mask = 0;
  }
  for (uint32_t k = 0; k < kernel->input_count; k++) {
    const Operand *operand = &run->inputs[k];
    worker->inputs[k].address = worker->arena + operand->buffer;
    worker->inputs[k].is_direct = operand->way == PLAIN || operand->way == ROW;
    if (operand->way == NUMBER) repeat(worker->inputs[k].address, operand->data, operand->bytes, width);
  }
}

/* Finds the operands of elements e .. e + n - 1, which lie in one row unless everything that is not gathered is in order. */
static void begin_piece(Worker *worker, int64_t e, int64_t n) {
  const Run *run = worker->run;
  const BurnFusedKernel *kernel = run->kernel;
  for (uint32_t k = 0; k < kernel->input_count; k++) {
    const Operand *operand = &run->inputs[k];
    char *buffer = worker->arena + operand->buffer;
    if (operand->way == PLAIN) {
      worker->inputs[k].address = operand->data + e * operand->bytes;
    } else if (operand->way == ROW) {
      worker->inputs[k].address = operand->data + offset_of(run, operand, worker->coordinates) * operand->bytes;
    } else if (operand->way == REPEAT) {
      repeat(buffer, operand->data + offset_of(run, operand, worker->coordinates) * operand->bytes, operand->bytes,
             run->machine->width);
      worker->inputs[k].address = buffer;
    } else if (operand->way == GATHER) {
      gather(run, operand, worker->coordinates, n, buffer);
      worker->inputs[k].address = buffer;
    }
  }
  for (uint32_t o = 0; o < kernel->output_count; o++) {
    worker->outputs[o].address = run->outputs[o].data + e * run->outputs[o].bytes;
  }
  for (uint32_t i = 0; i < kernel->words_count; i++) {
    void *buffer = worker->arena + run->words[i].buffer;
    worker->words[i].address = make_words(run, &run->words[i], e, n, buffer);
  }
}

/* The last n < width elements of a piece, of which `done` are done. */
static void run_rest(Worker *worker, int64_t done, int64_t n) {
  const Run *run = worker->run;
  const BurnFusedKernel *kernel = run->kernel;
  const int64_t width = run->machine->width;
  char *results[ND_FUSED_OUTPUTS];
  for (uint32_t k = 0; k < kernel->input_count; k++) {
    const Operand *operand = &run->inputs[k];
    if (operand->way == GATHER) worker->inputs[k].address += done * operand->bytes;
    if (!worker->inputs[k].is_direct) continue;
    char *buffer = worker->arena + operand->buffer;
    memcpy(buffer, worker->inputs[k].address + done * operand->bytes, (size_t)(n * operand->bytes));
    memset(buffer + n * operand->bytes, 0, (size_t)((width - n) * operand->bytes));
    worker->inputs[k].address = buffer;
  }
  for (uint32_t i = 0; i < kernel->words_count; i++) worker->words[i].address += done * 4;
  for (uint32_t o = 0; o < kernel->output_count; o++) {
    results[o] = worker->outputs[o].address + done * run->outputs[o].bytes;
    worker->outputs[o].address = worker->arena + run->outputs[o].buffer;
  }
  point_program(worker);
  for (uint32_t i = 0; i < kernel->line_count && run->streamed != 0; i++) {
    if (kernel->lines[i].opcode == ND_FUSED_store_f32) worker->program[i].code = run->machine->codes[ND_FUSED_store_f32];
  }
  run->machine->run(worker->program, width);
  for (uint32_t o = 0; o < kernel->output_count; o++) {
    memcpy(results[o], worker->outputs[o].address, (size_t)(n * run->outputs[o].bytes));
  }
}

static void run_piece(Worker *worker, int64_t n) {
  const int64_t width = worker->run->machine->width, full = n / width * width;
  if (full > 0) {
    point_program(worker);
    worker->run->machine->run(worker->program, full);
  }
  if (full < n) run_rest(worker, full, n - full);
}

/* Groups begin .. end-1 of the elements. */
static void BURN_CALL run_groups(void *context, int64_t begin, int64_t end) {
  const Run *run = context;
  Worker worker;
  int64_t e = begin * GROUP;
  const int64_t stop = end * GROUP < run->count ? end * GROUP : run->count;
  begin_work(&worker, run);
  while (e < stop) {
    int64_t n = stop - e < run->piece ? stop - e : run->piece;
    if (!run->in_order) {
      find(run, e, worker.coordinates);
      const int64_t left = run->shape[run->rank - 1] - worker.coordinates[run->rank - 1];
      if (run->by_rows && n > left) n = left;
    }
    begin_piece(&worker, e, n);
    run_piece(&worker, n);
    e += n;
  }
  if (run->streamed != 0) run->machine->fence();
}

/* -- the call ------------------------------------------------------------------------------------------------------ */

/* The input whose memory output o takes, or input_count. */
static uint32_t reusable(const Run *run, const BurnFusedCall *call, const BurnOpCall *pseudo, uint32_t o, uint32_t taken) {
  const BurnFusedKernel *kernel = run->kernel;
  for (uint32_t i = 0; i < kernel->input_count && call->donate != 0; i++) {
    if (!((kernel->reuse[o] & ~taken) >> i & 1u) || !nd_may_overwrite(pseudo, i)) continue;
    const NdTensor *x = nd_tensor(call->inputs[i]);
    const BurnTensorDesc desc = burn_primitive_desc(&x->header);
    if (memcmp(&desc, &kernel->outputs[o], sizeof desc) == 0 && nd_is_contiguous(x)) return i;
  }
  return kernel->input_count;
}

/* Drops the outputs 0 .. count-1 made so far. */
static BurnStatus fail_outputs(Run *run, const BurnFusedCall *call, uint32_t count) {
  const BurnTensorDesc *desc = &run->kernel->outputs[0];
  for (uint32_t o = 0; o < count; o++) {
    nd_release(run->nd, nd_tensor(call->outputs[o]));
    call->outputs[o] = NULL;
  }
  return nd_fail(run->nd, BURN_STATUS_OUT_OF_MEMORY, "fused: no memory for a result of %lld %s, or for its work space",
                 (long long)burn_desc_count(desc), burn_dtype_name(desc->dtype));
}

static BurnStatus make_outputs(Run *run, const BurnFusedCall *call, uint32_t *in_place) {
  const BurnFusedKernel *kernel = run->kernel;
  const BurnOpCall pseudo = {.input_count = kernel->input_count, .inputs = call->inputs, .donate = call->donate};
  uint32_t from[ND_FUSED_OUTPUTS], taken = 0;
  for (uint32_t o = 0; o < kernel->output_count; o++) { /* before any reference is added, which would look like another holder */
    from[o] = reusable(run, call, &pseudo, o, taken);
    if (from[o] < kernel->input_count) taken |= 1u << from[o];
  }
  for (uint32_t o = 0; o < kernel->output_count; o++) {
    NdTensor *out = from[o] < kernel->input_count ? nd_tensor(call->inputs[from[o]]) : nd_new(run->nd, &kernel->outputs[o]);
    if (!out) return fail_outputs(run, call, o);
    if (from[o] < kernel->input_count) {
      nd_retain(out);
      *in_place |= 1u << o;
    }
    call->outputs[o] = &out->header;
    run->outputs[o].data = nd_data(out);
    run->outputs[o].bytes = burn_dtype_bytes(kernel->outputs[o].dtype);
  }
  return BURN_OK;
}

static BurnStatus check_owners(Ndarray *nd, const BurnFusedCall *call) {
  for (uint32_t i = 0; i < call->kernel->input_count; i++) {
    if (call->inputs[i]->owner == nd->owner) continue;
    return nd_fail(nd, BURN_STATUS_BAD_OWNER, "fused: input %u belongs to backend %u, this is %u", i, call->inputs[i]->owner,
                   nd->owner);
  }
  return BURN_OK;
}

BurnStatus nd_fused_run(Ndarray *nd, const BurnFusedCall *call) {
  Run run;
  NdTensor *inputs[ND_FUSED_INPUTS];
  uint32_t in_place = 0;
  BurnStatus status = check_owners(nd, call);
  if (status != BURN_OK) return status;
  run.nd = nd;
  run.kernel = call->kernel;
  run.attrs = call->attrs;
  run.machine = nd_fused_machine(nd);
  run.count = burn_desc_count(&call->kernel->outputs[0]);
  for (uint32_t k = 0; k < call->kernel->input_count; k++) {
    inputs[k] = nd_tensor(call->inputs[k]);
    run.packed[k] = NULL;
  }
  status = make_outputs(&run, call, &in_place);
  if (status != BURN_OK || run.count == 0) return status;
  if (place_inputs(&run, inputs)) {
    divide_arena(&run);
    choose_streamed(&run, in_place);
    link_program(&run);
    nd_parallel_for(nd, (run.count + GROUP - 1) / GROUP, run.kernel->grain / GROUP, run_groups, &run);
  } else {
    status = fail_outputs(&run, call, run.kernel->output_count);
  }
  for (uint32_t k = 0; k < call->kernel->input_count; k++) nd_release(nd, run.packed[k]);
  return status;
}
