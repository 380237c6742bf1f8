/* cuda_optimizer.c - adam_step and sgd_step, each result in the memory of its input where the call gives that away. The
 * calls of many parameters are one kernel over all of them (the interface burn.calls); a single one is the same with a
 * table of one. */
#include "cuda_internal.h"

#include <string.h>

enum { ADAM, SGD }; /* variants of kernels/optimizer.cu */
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

static void end_step(Cuda *cuda, Step *step) {
  for (int i = 0; i < MAX_INPUTS; i++) burn__cuda_release(cuda, step->in[i]);
}

static void cancel_step(Cuda *cuda, Step *step) {
  end_step(cuda, step);
  for (int i = 0; i < MAX_OUTPUTS; i++) burn__cuda_release(cuda, step->out[i]);
}

static BurnStatus make_outputs(Cuda *cuda, const BurnOpCall *call, const uint32_t *homes, const bool *stays,
                               Step *step) {
  BurnStatus status = BURN_OK;
  for (uint32_t i = 0; i < call->output_count && status == BURN_OK; i++) {
    BurnPrimitive *home = step->in[homes[i] & ~SAME];
    if (stays[i]) burn__cuda_retain(step->out[i] = home);
    if (!stays[i]) status = burn__cuda_new(cuda, &call->output_descs[i], &step->out[i]);
  }
  return status;
}

/* Fills a zeroed step. On failure nothing is held. */
static BurnStatus begin_step(Cuda *cuda, const BurnOpCall *call, Step *step) {
  uint32_t homes[MAX_OUTPUTS];
  bool stays[MAX_OUTPUTS];
  BurnStatus status = BURN_OK;
  if (call->op == BURN_OP_adam_step) read_adam(call, step);
  if (call->op == BURN_OP_sgd_step) read_sgd(call, step);
  find_homes(call, step, homes);
  for (uint32_t i = 0; i < call->output_count; i++) {
    const uint32_t home = homes[i] & ~SAME;
    stays[i] =
        (homes[i] & SAME) || (burn__cuda_may_overwrite(call, home) && burn__cuda_is_row_major(call->inputs[home]));
  }
  for (uint32_t i = 0; i < call->input_count && status == BURN_OK; i++)
    if (call->inputs[i]) status = burn__cuda_row_major(cuda, call->inputs[i], &step->in[i]);
  if (status == BURN_OK) status = make_outputs(cuda, call, homes, stays, step);
  if (status != BURN_OK) cancel_step(cuda, step);
  return status;
}

/* -- launches --------------------------------------------------------------------------------- */

/* A launch that is being filled; `sets` of its numbers are in use. */
typedef struct Table {
  Cuda *cuda;
  CudaKernelKey key;
  uint32_t sets;
  uint64_t blocks;
  CudaSteps p;
} Table;

static BurnStatus launch(Table *table) {
  void *function = NULL;
  BurnStatus status = BURN_OK;
  if (table->blocks > 0) status = burn__cuda_kernel(table->cuda, &table->key, NULL, &function);
  if (table->blocks > 0 && status == BURN_OK)
    status = burn__cuda_launch(table->cuda, function, table->blocks, THREADS, &table->p, sizeof table->p);
  table->p.count = table->sets = 0;
  table->blocks = 0;
  return status;
}

static CudaKernelKey key_of(const BurnOpCall *call) {
  const BurnDType dtype = call->inputs[0]->dtype;
  return (CudaKernelKey){.text = CUDA_TEXT_OPTIMIZER,
                         .out = dtype,
                         .in = {dtype, dtype, dtype},
                         .variant = call->op == BURN_OP_adam_step ? ADAM : SGD};
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
  const uint64_t blocks = (uint64_t)(count + CUDA_STEP_CHUNK - 1) / CUDA_STEP_CHUNK;
  uint32_t set = find_set(table, step->numbers);
  if (blocks == 0) return BURN_OK;
  if (table->p.count == CUDA_STEP_TENSORS || set == CUDA_STEP_SETS || table->key.out != call->inputs[0]->dtype ||
      table->blocks + blocks > INT32_MAX) {
    const BurnStatus status = launch(table);
    if (status != BURN_OK) return status;
    set = 0;
  }
  table->key = key_of(call);
  if (set == table->sets) memcpy(table->p.numbers[table->sets++], step->numbers, sizeof step->numbers);
  CudaStepTensor *tensor = &table->p.tensors[table->p.count++];
  *tensor = (CudaStepTensor){.count = count, .first_block = (uint32_t)table->blocks, .set = set};
  for (uint32_t i = 0; i < call->input_count; i++)
    if (step->in[i]) tensor->in[i] = cuda_address(step->in[i]);
  for (uint32_t i = 0; i < call->output_count; i++)
    if (i != 1 || !step->keeps_gradient) tensor->out[i] = cuda_address(step->out[i]);
  table->blocks += blocks;
  return BURN_OK;
}

static BurnStatus start(Cuda *cuda, const BurnOpCall *const *calls, const Step *steps, uint64_t count) {
  Table table = {.cuda = cuda, .key = key_of(calls[0])};
  BurnStatus status = BURN_OK;
  for (uint64_t i = 0; i < count && status == BURN_OK; i++) status = add(&table, calls[i], &steps[i]);
  return status == BURN_OK ? launch(&table) : status;
}

/* Makes all kernels that the calls need, so that none is missing once the first has changed a tensor. */
static BurnStatus compile(Cuda *cuda, const BurnOpCall *const *calls, uint64_t count) {
  BurnStatus status = BURN_OK;
  for (uint64_t i = 0; i < count && status == BURN_OK; i++) {
    const CudaKernelKey key = key_of(calls[i]);
    void *function = NULL;
    if (i == 0 || key.out != calls[i - 1]->inputs[0]->dtype) status = burn__cuda_kernel(cuda, &key, NULL, &function);
  }
  return status;
}

/* Fills zeroed steps, whose outputs are then the caller's. All or none. */
static BurnStatus run_steps(Cuda *cuda, const BurnOpCall *const *calls, Step *steps, uint64_t count) {
  uint64_t begun = 0;
  BurnStatus status = compile(cuda, calls, count);
  while (begun < count && status == BURN_OK) {
    status = begin_step(cuda, calls[begun], &steps[begun]);
    begun += status == BURN_OK;
  }
  if (status == BURN_OK) status = start(cuda, calls, steps, count);
  for (uint64_t i = 0; i < begun; i++) {
    if (status == BURN_OK) end_step(cuda, &steps[i]);
    if (status != BURN_OK) cancel_step(cuda, &steps[i]);
  }
  return status;
}

/* -- ops and burn.calls ----------------------------------------------------------------------- */

static BurnStatus single(const CudaRun *run) {
  Step step = {.in = {NULL}};
  const BurnStatus status = run_steps(run->cuda, &run->call, &step, 1);
  for (uint32_t i = 0; i < run->call->output_count && status == BURN_OK; i++) run->out[i] = step.out[i];
  return status;
}

static BurnStatus run_many(Cuda *cuda, const BurnOpCall *const *calls, uint64_t count) {
  const uint64_t bytes = count * sizeof(Step);
  Step *steps = cuda->host->allocate(bytes);
  if (!steps) return CUDA_FAIL(cuda, OUT_OF_MEMORY, "no memory of the host for %llu calls", (unsigned long long)count);
  memset(steps, 0, bytes);
  const BurnStatus status = run_steps(cuda, calls, steps, count);
  for (uint64_t i = 0; i < count && status == BURN_OK; i++)
    for (uint32_t k = 0; k < calls[i]->output_count; k++) calls[i]->outputs[k] = steps[i].out[k];
  cuda->host->free(steps, bytes);
  return status;
}

static uint32_t BURN_API_CALL joins(void *self, uint32_t op) {
  const Cuda *cuda = self;
  return (op == BURN_OP_adam_step || op == BURN_OP_sgd_step) && cuda->rows[op];
}

static BurnStatus BURN_API_CALL submit_many(void *self, const BurnOpCall *const *calls, uint64_t count) {
  Cuda *cuda = self;
  BurnStatus status = burn__cuda_enter(cuda);
  if (status != BURN_OK) return status;
  cuda_note_op(cuda, calls[0]->op);
  status = run_many(cuda, calls, count); /* what an earlier kernel complains of is left to a call that can tell it */
  burn__cuda_leave(cuda);
  return status;
}

const BurnCallsInterface burn__cuda_calls_interface = {
    .struct_size = (uint32_t)sizeof(BurnCallsInterface), .version = 1, .joins = joins, .submit_many = submit_many};

const CudaRow burn__cuda_optimizer_rows[] = {
    {BURN_OP_adam_step, single, 0}, {BURN_OP_sgd_step, single, 0}, {0, NULL, 0}};
