/* ndarray_fused_run.c - runs a compiled body: makes its outputs, links the programs, and hands them to the driver of
 * the region; and what the drivers share: operands at their places, gathering, random words. */
#include "ndarray_fused_run.h"
#include "move/ndarray_random.h"

#include <string.h>

#define STREAMED \
  (INT64_C(1) << 20) /* results of more elements, which no cache would keep, are stored past the caches */
#define PACKED 32768 /* transposed inputs of so many elements are packed first */

/* -- programs --------------------------------------------------------------------------------- */

void nd_fused_begin(NdFusedWorker *worker, const NdFusedRun *run) {
  const BurnFusedKernel *kernel = run->kernel;
  worker->run = run;
  memcpy(worker->program, run->program, kernel->line_count * sizeof *run->program);
  for (uint32_t i = 0; i < kernel->line_count; i++) {
    if (kernel->lines[i].operand != ND_FUSED_SLOT) continue;
    worker->program[i].memory = &worker->slots[kernel->lines[i].number * run->machine->width];
    worker->program[i].mask = 0;
  }
}

static NdFusedPlace *place_of(NdFusedWorker *worker, const NdFusedLine *line) {
  switch ((NdFusedOperand)line->operand) {
    case ND_FUSED_INPUT:
      return &worker->inputs[line->number];
    case ND_FUSED_OUTPUT:
      return &worker->outputs[line->number];
    case ND_FUSED_WORDS:
      return &worker->words[line->number];
    case ND_FUSED_BUFFER:
      return &worker->buffers[line->number];
    case ND_FUSED_ROW:
      return &worker->rows[line->number];
    default:
      return NULL;
  }
}

/* Elements done .. done + n - 1, fewer than the machine is wide. What is direct is replaced by its spare. */
static void run_rest(NdFusedWorker *worker, const NdFusedProgram *program, int64_t done, int64_t n) {
  const NdFusedRun *run = worker->run;
  const NdFusedLine *lines = run->kernel->lines;
  const int64_t width = run->machine->width;
  uint32_t copied = 0;
  for (uint32_t i = program->begin; i < program->end; i++) {
    const NdFusedPlace *place = place_of(worker, &lines[i]);
    const int64_t bytes = lines[i].bytes;
    if (!place || place->is_single) continue;
    worker->program[i].memory = place->is_direct ? place->spare : place->address + done * bytes;
    if (lines[i].operand == ND_FUSED_OUTPUT)
      worker->program[i].code = run->machine->codes[lines[i].opcode]; /* not streamed */
    if (lines[i].operand != ND_FUSED_INPUT || !place->is_direct || ((copied >> lines[i].number) & 1u)) continue;
    copied |= 1u << lines[i].number;
    memcpy(place->spare, place->address + done * bytes, (size_t)(n * bytes));
    memset(place->spare + n * bytes, 0, (size_t)((width - n) * bytes));
  }
  run->machine->run(worker->program + program->begin, width);
  for (uint32_t i = program->begin; i < program->end; i++) {
    if (lines[i].operand != ND_FUSED_OUTPUT) continue;
    const NdFusedPlace *place = &worker->outputs[lines[i].number];
    memcpy(place->address + done * lines[i].bytes, place->spare, (size_t)(n * lines[i].bytes));
    worker->program[i].code = run->program[i].code;
  }
}

void nd_fused_run_program(NdFusedWorker *worker, uint32_t number, int64_t n) {
  const NdFusedRun *run = worker->run;
  const NdFusedProgram *program = &run->kernel->programs[number];
  const int64_t full = n / run->machine->width * run->machine->width;
  for (uint32_t i = program->begin; i < program->end; i++) {
    const NdFusedPlace *place = place_of(worker, &run->kernel->lines[i]);
    if (!place) continue;
    worker->program[i].memory = place->address;
    worker->program[i].mask = place->is_single ? 0 : -1;
  }
  if (full > 0) run->machine->run(worker->program + program->begin, full);
  if (full < n) run_rest(worker, program, full, n - full);
}

/* -- operands --------------------------------------------------------------------------------- */

int64_t nd_fused_stride(const NdTensor *x, const BurnTensorDesc *space, uint32_t axis) {
  const uint32_t missing = space->rank - x->header.rank;
  if (axis < missing || x->shape[axis - missing] == 1) return 0;
  return x->strides[axis - missing];
}

bool nd_fused_is_plain(const NdTensor *x, const BurnTensorDesc *space) {
  return burn_primitive_count(&x->header) == burn_desc_count(space) && nd_is_contiguous(x);
}

bool nd_fused_is_number(const NdTensor *x) {
  for (uint32_t i = 0; i < x->header.rank; i++) {
    if (x->shape[i] != 1 && x->strides[i] != 0) return false;
  }
  return true;
}

void nd_fused_find(const NdFusedAxes *axes, int64_t index, int64_t *coordinates) {
  for (uint32_t i = axes->rank; i-- > 0;) {
    coordinates[i] = index % axes->shape[i];
    index /= axes->shape[i];
  }
}

int64_t nd_fused_offset(const NdFusedAxes *axes, const NdFusedInput *input, const int64_t *coordinates) {
  int64_t offset = 0;
  for (uint32_t i = 0; i < axes->rank; i++) offset += coordinates[i] * input->strides[i];
  return offset;
}

/* To the start of the next row; returns how far that is in the memory of an input. */
static int64_t next_row(const NdFusedAxes *axes, const NdFusedInput *input, int64_t *coordinates) {
  uint32_t i = axes->rank - 1;
  int64_t moved = -coordinates[i] * input->strides[i];
  coordinates[i] = 0;
  while (i-- > 0) {
    moved += input->strides[i];
    if (++coordinates[i] < axes->shape[i]) return moved;
    moved -= input->strides[i] * axes->shape[i];
    coordinates[i] = 0;
  }
  return moved;
}

#define GATHER_OF(bits)                                                                                          \
  static void gather_##bits(const NdFusedAxes *axes, const NdFusedInput *input, const int64_t *start, int64_t n, \
                            uint##bits##_t *to) {                                                                \
    const uint32_t last = axes->rank - 1;                                                                        \
    const int64_t length = axes->shape[last], step = input->strides[last];                                       \
    int64_t coordinates[BURN_MAX_RANK];                                                                          \
    memcpy(coordinates, start, sizeof coordinates);                                                              \
    const uint##bits##_t *from =                                                                                 \
        (const uint##bits##_t *)(const void *)input->data + nd_fused_offset(axes, input, coordinates);           \
    while (n > 0) {                                                                                              \
      const int64_t left = length - coordinates[last], count = n < left ? n : left;                              \
      for (int64_t i = 0; i < count; i++) to[i] = from[i * step];                                                \
      to += count;                                                                                               \
      n -= count;                                                                                                \
      if (n > 0) from += next_row(axes, input, coordinates);                                                     \
    }                                                                                                            \
  }
GATHER_OF(8)
GATHER_OF(16)
GATHER_OF(32)
GATHER_OF(64)

/* When all elements of a row are one, or lie in order, the loops above are what compilers make fills and copies of. */
void nd_fused_gather(const NdFusedRun *run, const NdFusedAxes *axes, const NdFusedInput *input, const int64_t *start,
                     int64_t n, void *to) {
  const int64_t rest = nd_fused_rounded_up(run, n) - n;
  if (input->bytes == 1) {
    gather_8(axes, input, start, n, to);
  } else if (input->bytes == 2) {
    gather_16(axes, input, start, n, to);
  } else if (input->bytes == 4) {
    gather_32(axes, input, start, n, to);
  } else {
    gather_64(axes, input, start, n, to);
  }
  memset((char *)to + n * input->bytes, 0, (size_t)(rest * input->bytes));
}

void nd_fused_repeat(const NdFusedRun *run, void *to, const void *element, uint32_t bytes) {
  const int64_t width = run->machine->width;
  if (bytes == 4) {
    float value;
    memcpy(&value, element, sizeof value);
    run->machine->repeat(value, to);
    return;
  }
  for (int64_t i = 0; i < width; i++) memcpy((char *)to + i * bytes, element, bytes);
}

char *nd_fused_make_words(const NdFusedRun *run, uint32_t number, int64_t e, int64_t n, void *to) {
  const NdRandomLoops *loops = nd_random(run->nd);
  const int64_t skew = e % 4;
  uint32_t some[ND_RANDOM_WORDS];
  for (int64_t i = 0; i < n + skew; i += ND_RANDOM_WORDS) {
    const int64_t left = n + skew - i, count = left < ND_RANDOM_WORDS ? left : ND_RANDOM_WORDS;
    loops->words(run->words[number].seed, run->words[number].offset + (uint64_t)((e - skew + i) / 4), some);
    memcpy((uint32_t *)to + i, some, (size_t)count * sizeof *some);
  }
  return (char *)((uint32_t *)to + skew);
}

/* -- outputs ---------------------------------------------------------------------------------- */

/* The input whose memory output o takes, or input_count. */
static uint32_t reusable(const NdFusedRun *run, const BurnFusedCall *call, const BurnOpCall *pseudo, uint32_t o,
                         uint32_t taken) {
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
static BurnStatus fail_outputs(NdFusedRun *run, const BurnFusedCall *call, uint32_t count) {
  const BurnTensorDesc *desc = &run->kernel->outputs[0];
  for (uint32_t o = 0; o < count; o++) {
    nd_release(run->nd, nd_tensor(call->outputs[o]));
    call->outputs[o] = NULL;
  }
  return nd_fail(run->nd, BURN_STATUS_OUT_OF_MEMORY, "fused: no memory for a result of %lld %s, or for its work space",
                 (long long)burn_desc_count(desc), burn_dtype_name(desc->dtype));
}

static BurnStatus make_outputs(NdFusedRun *run, const BurnFusedCall *call) {
  const BurnFusedKernel *kernel = run->kernel;
  const BurnOpCall pseudo = {.input_count = kernel->input_count, .inputs = call->inputs, .donate = call->donate};
  uint32_t from[ND_FUSED_OUTPUTS], taken = 0;
  for (uint32_t o = 0; o < kernel->output_count;
       o++) { /* before any reference is added, which would look like another holder */
    from[o] = reusable(run, call, &pseudo, o, taken);
    if (from[o] < kernel->input_count) taken |= 1u << from[o];
  }
  for (uint32_t o = 0; o < kernel->output_count; o++) {
    const bool is_reused = from[o] < kernel->input_count;
    NdTensor *out = is_reused ? nd_tensor(call->inputs[from[o]]) : nd_new(run->nd, &kernel->outputs[o]);
    if (!out) return fail_outputs(run, call, o);
    if (is_reused) nd_retain(out);
    if (is_reused) run->in_place |= 1u << o;
    call->outputs[o] = &out->header;
    run->outputs[o].data = nd_data(out);
    run->outputs[o].bytes = burn_dtype_bytes(kernel->outputs[o].dtype);
  }
  return BURN_OK;
}

/* -- the call --------------------------------------------------------------------------------- */

static BurnStatus check_owners(Ndarray *nd, const BurnFusedCall *call) {
  for (uint32_t i = 0; i < call->kernel->input_count; i++) {
    if (call->inputs[i]->owner == nd->owner) continue;
    return nd_fail(nd, BURN_STATUS_BAD_OWNER, "fused: input %u belongs to backend %u, this is %u", i,
                   call->inputs[i]->owner, nd->owner);
  }
  return BURN_OK;
}

/* A large transposed input is read badly by rows: it is packed first, in tiles. Inputs that are broadcast are not. */
static bool should_pack(const NdTensor *x, int64_t count) {
  bool has_unit = false;
  uint32_t last = 0;
  if (count < PACKED || burn_primitive_count(&x->header) != count) return false;
  for (uint32_t i = 0; i < x->header.rank; i++) {
    if (x->shape[i] == 1) continue;
    if (x->strides[i] == 0) return false;
    if (x->strides[i] == 1) has_unit = true;
    last = i;
  }
  return has_unit && x->strides[last] != 1;
}

/* False when out of memory. */
static bool take_inputs(NdFusedRun *run, const BurnFusedCall *call) {
  for (uint32_t k = 0; k < run->kernel->input_count; k++) {
    NdTensor *x = nd_tensor(call->inputs[k]);
    run->tensors[k] = x;
    run->inputs[k].way = ND_FUSED_UNREAD;
    run->inputs[k].bytes = run->kernel->input_bytes[k];
    if (run->inputs[k].bytes == 0) continue;
    if (should_pack(x, run->count)) {
      run->tensors[k] = nd_contiguous(run->nd, x);
      if (!run->tensors[k]) return false;
      run->packed |= 1u << k;
    }
    run->inputs[k].data = nd_data(run->tensors[k]);
  }
  return true;
}

static bool run_region(NdFusedRun *run) {
  if (run->kernel->region == BURN_COMMON_REGION_ELEMENTS) return nd_fused_run_elements(run);
  return run->kernel->region == BURN_COMMON_REGION_LAST ? nd_fused_run_rows(run) : nd_fused_run_totals(run);
}

static void release_packed(NdFusedRun *run) {
  for (uint32_t k = 0; run->packed != 0; k++, run->packed >>= 1) {
    if (run->packed & 1u) nd_release(run->nd, run->tensors[k]);
  }
}

BurnStatus nd_fused_open_run(NdFusedRun *run, Ndarray *nd, const BurnFusedCall *call) {
  const BurnStatus status = check_owners(nd, call);
  if (status != BURN_OK) return status;
  run->nd = nd;
  run->kernel = call->kernel;
  run->attrs = call->attrs;
  run->machine = nd_fused_machine(nd);
  run->packed = run->in_place = run->streamed = 0;
  run->count = burn_desc_count(&call->kernel->space);
  const BurnStatus made = make_outputs(run, call);
  if (made != BURN_OK || run->count == 0 || take_inputs(run, call)) return made;
  return nd_fused_close_run(run, call, false);
}

BurnStatus nd_fused_close_run(NdFusedRun *run, const BurnFusedCall *call, bool done) {
  release_packed(run);
  return done ? BURN_OK : fail_outputs(run, call, run->kernel->output_count);
}

BurnStatus nd_fused_run(Ndarray *nd, const BurnFusedCall *call) {
  NdFusedRun run;
  if (call->kernel->after) return nd_epilogue_run(nd, call);
  const BurnStatus status = nd_fused_open_run(&run, nd, call);
  if (status != BURN_OK || run.count == 0) return status;
  run.streamed = run.count > STREAMED ? ~run.in_place : 0;
  for (uint32_t o = 0; o < run.kernel->output_count; o++) {
    if (run.kernel->output_is_reduced[o]) run.streamed &= ~(1u << o);
  }
  return nd_fused_close_run(&run, call, run_region(&run));
}
