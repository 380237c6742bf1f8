/* ndarray_optimizer.c - adam_step and sgd_step: parameter and state in one sweep over memory, each in place where the
 * call gives it away, else into a new tensor.
 *
 * adam_step has loops of its own. sgd_step runs those of mul_scalar, add and sub, block by block, so that what is
 * between them stays in the first-level cache and the results have the bits that these ops give. */
#include "elementwise/ndarray_kernels.h"
#include "ndarray_rows.h"

enum { GRAIN = 16384 /* elements */, BLOCK_BYTES = 8192, MAX_INPUTS = 4, MAX_OUTPUTS = 3 };
#define SAME 0x100u /* a home: the result is that input as it is */

/* Packed inputs, and results that may lie in the same memory. */
typedef struct Step {
  NdTensor *in[MAX_INPUTS];   /* of nd_packed; NULL for an absent input */
  NdTensor *out[MAX_OUTPUTS]; /* owned */
  const char *from[MAX_INPUTS];
  char *to[MAX_OUTPUTS];
  int64_t element_bytes;
} Step;

static bool can_overwrite(const BurnOpCall *call, uint32_t input) {
  return nd_may_overwrite(call, input) && nd_is_contiguous(nd_tensor(call->inputs[input]));
}

static void step_end(Ndarray *nd, const BurnOpCall *call, const Step *step) {
  for (uint32_t i = 0; i < call->input_count; i++) nd_unpack(nd, call->inputs[i], step->in[i]);
}

static BurnStatus step_fail(Ndarray *nd, const BurnOpCall *call, Step *step) {
  step_end(nd, call, step);
  for (int i = 0; i < MAX_OUTPUTS; i++) nd_release(nd, step->out[i]);
  return nd_out_of_memory(nd, call);
}

/* Fills a zeroed step: result i lies in the memory of input homes[i] if that may be overwritten. False when out of
 * memory. */
static bool step_begin(Ndarray *nd, const BurnOpCall *call, const uint32_t *homes, Step *step) {
  bool stays[MAX_OUTPUTS], complete = true;
  step->element_bytes = burn_dtype_bytes(call->inputs[0]->dtype);
  for (uint32_t i = 0; i < call->output_count; i++) stays[i] = (homes[i] & SAME) || can_overwrite(call, homes[i]);
  for (uint32_t i = 0; i < call->input_count; i++) {
    if (!call->inputs[i]) continue;
    step->in[i] = nd_packed(nd, nd_tensor(call->inputs[i]));
    if (step->in[i]) step->from[i] = nd_data(step->in[i]);
    complete = complete && step->in[i];
  }
  for (uint32_t i = 0; i < call->output_count && complete; i++) {
    NdTensor *home = step->in[homes[i] & ~SAME];
    if (homes[i] & SAME)
      nd_retain(home);
    else if (stays[i])
      nd_retain_sole(home);
    step->out[i] = stays[i] ? home : nd_new(nd, &call->output_descs[i]);
    if (step->out[i]) step->to[i] = nd_data(step->out[i]);
    complete = step->out[i] != NULL;
  }
  return complete;
}

static BurnStatus step_finish(Ndarray *nd, const BurnOpCall *call, Step *step) {
  step_end(nd, call, step);
  for (uint32_t i = 0; i < call->output_count; i++) call->outputs[i] = &step->out[i]->header;
  return BURN_OK;
}

/* -- adam_step -------------------------------------------------------------------------------- */

typedef struct AdamStep {
  Step step; /* param, grad, moment_1, moment_2 -> param, moment_1, moment_2 */
  NdAdam adam;
  NdAdamLoop loop;
} AdamStep;

static void BURN_API_CALL adam_elements(void *context, int64_t begin, int64_t end) {
  const AdamStep *work = (const AdamStep *)context;
  const Step *step = &work->step;
  const int64_t offset = begin * step->element_bytes;
  const void *const in[4] = {step->from[0] + offset, step->from[1] + offset, step->from[2] + offset,
                             step->from[3] + offset};
  void *const out[3] = {step->to[0] + offset, step->to[1] + offset, step->to[2] + offset};
  work->loop(end - begin, &work->adam, in, out);
}

static NdAdam read_scalars(const BurnOpCall *call) {
  const BurnAttrs_adam_step *attrs = BURN_ATTRS(adam_step, call);
  const NdAdam adam = {.beta_1 = attrs->beta_1.value.f64,
                       .beta_2 = attrs->beta_2.value.f64,
                       .step_size = attrs->step_size.value.f64,
                       .epsilon = attrs->epsilon.value.f64,
                       .decay = attrs->decay.value.f64,
                       .penalty = attrs->penalty.value.f64};
  return adam;
}

static BurnStatus no_kernel(Ndarray *nd, const BurnOpCall *call) {
  return nd_fail(nd, BURN_STATUS_INVALID_DTYPE, "%s: no kernel for %s", nd->host->op_info(call->op)->name,
                 burn_dtype_name(call->inputs[0]->dtype));
}

static BurnStatus run_adam_step(Ndarray *nd, const BurnOpCall *call) {
  static const uint32_t homes[3] = {0, 2, 3};
  const BurnDType dtype = call->inputs[0]->dtype;
  const NdRows *rows = nd_rows_of(nd, dtype);
  AdamStep work = {.adam = read_scalars(call), .loop = dtype == BURN_DTYPE_F64 ? rows->adam_f64 : rows->adam_f32};
  if (dtype != BURN_DTYPE_F32 && dtype != BURN_DTYPE_F64) return no_kernel(nd, call);
  if (!step_begin(nd, call, homes, &work.step)) return step_fail(nd, call, &work.step);
  nd_parallel_for_flushed(nd, burn_primitive_count(call->inputs[0]), GRAIN, adam_elements, &work);
  return step_finish(nd, call, &work.step);
}

/* -- sgd_step --------------------------------------------------------------------------------- */

typedef struct SgdStep {
  Step step; /* param, grad, velocity or NULL -> param, velocity */
  NdLoop scale, add, sub;
  NdScalar step_size, momentum, rest, penalty; /* rest: 1 - dampening */
  bool decays, nesterov;
} SgdStep;

/* n elements, at most a block, from `offset` bytes on. */
static void sgd_block(const SgdStep *work, int64_t n, int64_t offset) {
  _Alignas(64) char decayed[BLOCK_BYTES], room[BLOCK_BYTES];
  const Step *step = &work->step;
  const char *param = step->from[0] + offset, *grad = step->from[1] + offset, *velocity = grad;
  if (work->decays) {
    void *sum = step->from[2] ? decayed : step->to[1] + offset;
    nd_run_scaled(work->scale, n, room, param, work->penalty);
    nd_run_pair(work->add, n, sum, grad, room);
    velocity = grad = sum;
  }
  if (step->from[2]) {
    void *sum = step->to[1] + offset;
    nd_run_scaled(work->scale, n, room, grad, work->rest);
    nd_run_scaled(work->scale, n, sum, step->from[2] + offset, work->momentum);
    nd_run_pair(work->add, n, sum, room, sum);
    velocity = sum;
  }
  const char *way = velocity;
  if (work->nesterov) {
    nd_run_scaled(work->scale, n, room, velocity, work->momentum);
    nd_run_pair(work->add, n, room, room, grad);
    way = room;
  }
  nd_run_scaled(work->scale, n, room, way, work->step_size);
  nd_run_pair(work->sub, n, step->to[0] + offset, param, room);
}

static void BURN_API_CALL sgd_elements(void *context, int64_t begin, int64_t end) {
  const SgdStep *work = (const SgdStep *)context;
  const int64_t bytes = work->step.element_bytes, most = BLOCK_BYTES / bytes;
  for (int64_t i = begin; i < end; i += most) sgd_block(work, end - i < most ? end - i : most, i * bytes);
}

static BurnStatus run_sgd_step(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_sgd_step *attrs = BURN_ATTRS(sgd_step, call);
  const BurnDType dtype = call->inputs[0]->dtype;
  const bool has_velocity = call->inputs[2] != NULL;
  const bool decays = attrs->penalty.value.f64 != 0;
  const uint32_t homes[2] = {0, has_velocity ? 2u : decays ? 1u : 1u | SAME};
  const NdKernels *kernels = nd_kernels(nd);
  SgdStep work = {.scale = kernels->loops[BURN_OP_mul_scalar][dtype],
                  .add = kernels->loops[BURN_OP_add][dtype],
                  .sub = kernels->loops[BURN_OP_sub][dtype],
                  .step_size = nd_float_scalar(dtype, attrs->step_size.value.f64),
                  .decays = decays,
                  .nesterov = attrs->nesterov.value.i64 != 0};
  if (dtype != BURN_DTYPE_F32 && dtype != BURN_DTYPE_F64) return no_kernel(nd, call);
  if (has_velocity) work.rest = nd_float_scalar(dtype, 1.0 - attrs->dampening.value.f64);
  if (has_velocity || work.nesterov) work.momentum = nd_float_scalar(dtype, attrs->momentum.value.f64);
  if (decays) work.penalty = nd_float_scalar(dtype, attrs->penalty.value.f64);
  if (!step_begin(nd, call, homes, &work.step)) return step_fail(nd, call, &work.step);
  nd_parallel_for_flushed(nd, burn_primitive_count(call->inputs[0]), GRAIN, sgd_elements, &work);
  return step_finish(nd, call, &work.step);
}

const NdKernelRow nd_optimizer_kernels[] = {
    {BURN_OP_adam_step, run_adam_step},
    {BURN_OP_sgd_step, run_sgd_step},
    {BURN_OP_INVALID, NULL},
};
