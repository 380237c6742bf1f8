/* gpu_optimizer.c - adam_step and sgd_step, each result in the memory of its input where the call gives that away. The
 * calls of many parameters are one kernel over all of them (the interface burn.calls); a single one is the same with a
 * table of one. */
#include "gpu_backend.h"

#include <string.h>

enum { ADAM, SGD, WITH_HALVES }; /* variants of kernels/optimizer.cu; the last one is added to another */
enum { MAX_INPUTS = 4, MAX_OUTPUTS = 3, NUMBERS = 8, THREADS = 256 };
#define SAME 0x100u /* a home: the result is that input as it is */

/* One call. */
typedef struct Step {
  BurnPrimitive *in[MAX_INPUTS]; /* row-major, a reference each; NULL for an absent input */
  BurnPrimitive *out[MAX_OUTPUTS];
  double numbers[NUMBERS];
  bool keeps_gradient; /* result 1 is the gradient: nothing to be written */
} Step;

/* -- one call --------------------------------------------------------------------------------- */

static void read_adam(const BurnOpCall *call, Step *step) {
  const BurnAttrs_adam_step *attrs = BURN_ATTRS(adam_step, call);
  const double beta_1 = attrs->beta_1.value.f64, beta_2 = attrs->beta_2.value.f64;
  const double numbers[NUMBERS] = {beta_1,
                                   1.0 - beta_1,
                                   beta_2,
                                   1.0 - beta_2,
                                   attrs->step_size.value.f64,
                                   attrs->epsilon.value.f64,
                                   attrs->decay.value.f64,
                                   attrs->penalty.value.f64};
  memcpy(step->numbers, numbers, sizeof numbers);
}

static void read_sgd(const BurnOpCall *call, Step *step) {
  const BurnAttrs_sgd_step *attrs = BURN_ATTRS(sgd_step, call);
  const double penalty = attrs->penalty.value.f64;
  const double numbers[NUMBERS] = {
      attrs->step_size.value.f64,    attrs->momentum.value.f64, 1.0 - attrs->dampening.value.f64, penalty, penalty != 0,
      attrs->nesterov.value.i64 != 0};
  memcpy(step->numbers, numbers, sizeof numbers);
  step->keeps_gradient = !call->inputs[2] && penalty == 0;
}

/* Which input each result may lie in. */
static void find_homes(const BurnOpCall *call, const Step *step, uint32_t homes[MAX_OUTPUTS]) {
  const bool is_adam = call->op == BURN_OP_adam_step;
  homes[0] = 0;
  homes[1] = step->keeps_gradient ? 1u | SAME : is_adam || call->inputs[2] ? 2u : 1u;
  homes[2] = 3;
}

static void end_step(Gpu *gpu, Step *step) {
  for (int i = 0; i < MAX_INPUTS; i++) burn__gpu_release(gpu, step->in[i]);
}

static void cancel_step(Gpu *gpu, Step *step) {
  end_step(gpu, step);
  for (int i = 0; i < MAX_OUTPUTS; i++) burn__gpu_release(gpu, step->out[i]);
}

static BurnStatus make_outputs(Gpu *gpu, const BurnOpCall *call, const uint32_t *homes, const bool *stays, Step *step) {
  BurnStatus status = BURN_OK;
  for (uint32_t i = 0; i < call->output_count && status == BURN_OK; i++) {
    BurnPrimitive *home = step->in[homes[i] & ~SAME];
    if (stays[i]) burn__gpu_retain(step->out[i] = home);
    if (!stays[i]) status = burn__gpu_new(gpu, &call->output_descs[i], &step->out[i]);
  }
  return status;
}

/* Fills a zeroed step. On failure nothing is held. */
static BurnStatus begin_step(Gpu *gpu, const BurnOpCall *call, Step *step) {
  uint32_t homes[MAX_OUTPUTS];
  bool stays[MAX_OUTPUTS];
  BurnStatus status = BURN_OK;
  if (call->op == BURN_OP_adam_step) read_adam(call, step);
  if (call->op == BURN_OP_sgd_step) read_sgd(call, step);
  find_homes(call, step, homes);
  for (uint32_t i = 0; i < call->output_count; i++) {
    const uint32_t home = homes[i] & ~SAME;
    stays[i] = (homes[i] & SAME) || (burn__gpu_may_overwrite(call, home) && burn__gpu_is_row_major(call->inputs[home]));
  }
  for (uint32_t i = 0; i < call->input_count && status == BURN_OK; i++)
    if (call->inputs[i]) status = burn__gpu_row_major(gpu, call->inputs[i], &step->in[i]);
  if (status == BURN_OK) status = make_outputs(gpu, call, homes, stays, step);
  if (status != BURN_OK) cancel_step(gpu, step);
  return status;
}

/* -- launches --------------------------------------------------------------------------------- */

/* A launch that is being filled; `sets` of its numbers are in use. */
typedef struct Table {
  Gpu *gpu;
  GpuKernelKey key;
  uint32_t sets;
  uint64_t blocks;
  GpuSteps p;
} Table;

static BurnStatus launch(Table *table) {
  GpuFunction *function = NULL;
  BurnStatus status = BURN_OK;
  if (table->blocks > 0) status = burn__gpu_kernel(table->gpu, &table->key, NULL, &function);
  if (table->blocks > 0 && status == BURN_OK)
    status = burn__gpu_launch(table->gpu, function, table->blocks, THREADS, &table->p, sizeof table->p);
  table->p.count = table->sets = 0;
  table->blocks = 0;
  return status;
}

/* Has its gradient another dtype than all else (burn.mixed)? */
static bool is_mixed(const BurnOpCall *call) { return call->inputs[1]->dtype != call->inputs[0]->dtype; }

static GpuKernelKey key_of(const BurnOpCall *call) {
  const BurnDType dtype = call->inputs[0]->dtype, gradient = call->inputs[1]->dtype;
  const uint32_t variant = call->op == BURN_OP_adam_step ? ADAM : SGD;
  return (GpuKernelKey){.text = GPU_TEXT_OPTIMIZER,
                        .out = dtype,
                        .in = {dtype, gradient, dtype},
                        .variant = variant + (is_mixed(call) ? WITH_HALVES : 0)};
}

static bool same_kernel(const GpuKernelKey *a, const GpuKernelKey *b) {
  return a->out == b->out && a->in[1] == b->in[1];
}

/* The kernel for gradients of another dtype does the other tensors, too. False if no kernel does all of them. */
static bool widen(Table *table, const BurnOpCall *call) {
  const GpuKernelKey key = key_of(call);
  if (table->p.count == 0 || same_kernel(&key, &table->key)) {
    table->key = key;
    return true;
  }
  if (key.out != table->key.out || (key.variant >= WITH_HALVES && table->key.variant >= WITH_HALVES)) return false;
  if (key.variant >= WITH_HALVES) table->key = key;
  return true;
}

/* The set with these numbers, or the next free one. */
static uint32_t find_set(const Table *table, const double *numbers) {
  uint32_t set = 0;
  while (set < table->sets && memcmp(table->p.numbers[set], numbers, NUMBERS * sizeof *numbers) != 0) set++;
  return set;
}

/* Adds a step to the launch; one that has no room for it is started before. */
static BurnStatus add(Table *table, const BurnOpCall *call, const Step *step) {
  const int64_t count = burn_primitive_count(step->in[0]);
  const uint64_t blocks = (uint64_t)(count + GPU_STEP_CHUNK - 1) / GPU_STEP_CHUNK;
  uint32_t set = find_set(table, step->numbers);
  if (blocks == 0) return BURN_OK;
  if (table->p.count == GPU_STEP_TENSORS || set == GPU_STEP_SETS || table->blocks + blocks > INT32_MAX ||
      !widen(table, call)) {
    const BurnStatus status = launch(table);
    if (status != BURN_OK) return status;
    (void)widen(table, call);
    set = 0;
  }
  if (set == table->sets) memcpy(table->p.numbers[table->sets++], step->numbers, sizeof step->numbers);
  GpuStepTensor *tensor = &table->p.tensors[table->p.count++];
  *tensor = (GpuStepTensor){
      .count = count, .first_block = (uint32_t)table->blocks, .set = set + (is_mixed(call) ? GPU_STEP_HALF : 0)};
  for (uint32_t i = 0; i < call->input_count; i++)
    if (step->in[i]) tensor->in[i] = gpu_address(step->in[i]);
  for (uint32_t i = 0; i < call->output_count; i++)
    if (i != 1 || !step->keeps_gradient) tensor->out[i] = gpu_address(step->out[i]);
  table->blocks += blocks;
  return BURN_OK;
}

static BurnStatus start(Gpu *gpu, const BurnOpCall *const *calls, const Step *steps, uint64_t count) {
  Table table = {.gpu = gpu, .key = key_of(calls[0])};
  BurnStatus status = BURN_OK;
  for (uint64_t i = 0; i < count && status == BURN_OK; i++) status = add(&table, calls[i], &steps[i]);
  return status == BURN_OK ? launch(&table) : status;
}

/* Makes all kernels that the calls need, so that none is missing once the first has changed a tensor. */
static BurnStatus compile(Gpu *gpu, const BurnOpCall *const *calls, uint64_t count) {
  BurnStatus status = BURN_OK;
  for (uint64_t i = 0; i < count && status == BURN_OK; i++) {
    const GpuKernelKey key = key_of(calls[i]), before = key_of(calls[i == 0 ? 0 : i - 1]);
    GpuFunction *function = NULL;
    if (i == 0 || !same_kernel(&key, &before)) status = burn__gpu_kernel(gpu, &key, NULL, &function);
  }
  return status;
}

/* Fills zeroed steps, whose outputs are then the caller's. All or none. */
static BurnStatus run_steps(Gpu *gpu, const BurnOpCall *const *calls, Step *steps, uint64_t count) {
  uint64_t begun = 0;
  BurnStatus status = compile(gpu, calls, count);
  while (begun < count && status == BURN_OK) {
    status = begin_step(gpu, calls[begun], &steps[begun]);
    begun += status == BURN_OK;
  }
  if (status == BURN_OK) status = start(gpu, calls, steps, count);
  for (uint64_t i = 0; i < begun; i++) {
    if (status == BURN_OK) end_step(gpu, &steps[i]);
    if (status != BURN_OK) cancel_step(gpu, &steps[i]);
  }
  return status;
}

/* -- ops and burn.calls ----------------------------------------------------------------------- */

static BurnStatus single(const GpuRun *run) {
  Step step = {.in = {NULL}};
  const BurnStatus status = run_steps(run->gpu, &run->call, &step, 1);
  for (uint32_t i = 0; i < run->call->output_count && status == BURN_OK; i++) run->out[i] = step.out[i];
  return status;
}

static BurnStatus run_many(Gpu *gpu, const BurnOpCall *const *calls, uint64_t count) {
  const uint64_t bytes = count * sizeof(Step);
  Step *steps = gpu->host->allocate(bytes);
  if (!steps) return GPU_FAIL(gpu, OUT_OF_MEMORY, "no memory of the host for %llu calls", (unsigned long long)count);
  memset(steps, 0, bytes);
  const BurnStatus status = run_steps(gpu, calls, steps, count);
  for (uint64_t i = 0; i < count && status == BURN_OK; i++)
    for (uint32_t k = 0; k < calls[i]->output_count; k++) calls[i]->outputs[k] = steps[i].out[k];
  gpu->host->free(steps, bytes);
  return status;
}

static uint32_t BURN_API_CALL joins(void *self, uint32_t op) {
  const Gpu *gpu = self;
  return (op == BURN_OP_adam_step || op == BURN_OP_sgd_step) && gpu->rows[op];
}

static BurnStatus BURN_API_CALL submit_many(void *self, const BurnOpCall *const *calls, uint64_t count) {
  Gpu *gpu = self;
  BurnStatus status = burn__gpu_enter(gpu);
  if (status != BURN_OK) return status;
  burn__gpu_note_op(gpu, calls[0]->op);
  status = run_many(gpu, calls, count); /* what an earlier kernel complains of is left to a call that can tell it */
  burn__gpu_leave(gpu);
  return status;
}

const BurnCallsInterface burn__gpu_calls_interface = {
    .struct_size = (uint32_t)sizeof(BurnCallsInterface), .version = 1, .joins = joins, .submit_many = submit_many};

const GpuRow burn__gpu_optimizer_rows[] = {{BURN_OP_adam_step, single, 0}, {BURN_OP_sgd_step, single, 0}, {0, NULL, 0}};
