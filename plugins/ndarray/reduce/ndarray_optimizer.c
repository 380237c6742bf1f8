/* ndarray_optimizer.c - adam_step and sgd_step: parameter and state in one sweep over memory, each in place where the
 * call gives it away, else into a new tensor. The calls of many parameters share one sweep (the interface burn.calls).
 *
 * adam_step has a loop of its own, and sgd_step for its last two operations. The others run the loops of mul_scalar and
 * add, block by block, so that what is between them stays in the first-level cache. The results have the bits that
 * these ops give. */
#include "elementwise/ndarray_kernels.h"
#include "ndarray_rows.h"
#include "replay/ndarray_replay.h"

#include <string.h>

enum { GRAIN = 16384 /* elements */, BLOCK_BYTES = 8192, MAX_INPUTS = 4, MAX_OUTPUTS = 3 };
#define SAME 0x100u /* a home: the result is that input as it is */

/* Scalars of sgd_step, and the loops that it is made of. */
typedef struct SgdNumbers {
  NdLoop scale, add;
  NdDescent descent;
  double step_size;
  NdScalar momentum, rest, penalty; /* rest: 1 - dampening */
  bool decays, nesterov;
} SgdNumbers;

/* One call: packed inputs, and results that may lie in the same memory. */
typedef struct Step {
  NdTensor *in[MAX_INPUTS];   /* of nd_packed; NULL for an absent input */
  NdTensor *out[MAX_OUTPUTS]; /* owned */
  const char *from[MAX_INPUTS];
  char *to[MAX_OUTPUTS];
  int64_t element_bytes, count;
  BurnLoopBody elements; /* does a range of them; its context is the step */
  union {
    struct {
      NdAdam numbers;
      NdAdamLoop loop;
    } adam;         /* param, grad, moment_1, moment_2 -> param, moment_1, moment_2 */
    SgdNumbers sgd; /* param, grad, velocity or NULL -> param, velocity */
  } of;
} Step;

static bool can_overwrite(const BurnOpCall *call, uint32_t input) {
  return nd_may_overwrite(call, input) && nd_is_contiguous(nd_tensor(call->inputs[input]));
}

static void step_end(Ndarray *nd, const BurnOpCall *call, const Step *step) {
  for (uint32_t i = 0; i < call->input_count; i++) nd_unpack(nd, call->inputs[i], step->in[i]);
}

/* Undoes step_begin. */
static void step_cancel(Ndarray *nd, const BurnOpCall *call, const Step *step) {
  step_end(nd, call, step);
  for (int i = 0; i < MAX_OUTPUTS; i++) nd_release(nd, step->out[i]);
}

/* Fills a zeroed step: result i lies in the memory of input homes[i] if that may be overwritten. False when out of
 * memory. */
static bool step_begin(Ndarray *nd, const BurnOpCall *call, const uint32_t *homes, Step *step) {
  bool stays[MAX_OUTPUTS], complete = true;
  step->element_bytes = burn_dtype_bytes(call->inputs[0]->dtype);
  step->count = burn_primitive_count(call->inputs[0]);
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

static void step_finish(Ndarray *nd, const BurnOpCall *call, const Step *step) {
  step_end(nd, call, step);
  for (uint32_t i = 0; i < call->output_count; i++) call->outputs[i] = &step->out[i]->header;
}

static BurnStatus no_kernel(Ndarray *nd, const BurnOpCall *call) {
  return nd_fail(nd, BURN_STATUS_INVALID_DTYPE, "%s: no kernel for %s", nd->host->op_info(call->op)->name,
                 burn_dtype_name(call->inputs[0]->dtype));
}

/* -- adam_step -------------------------------------------------------------------------------- */

static void BURN_API_CALL adam_elements(void *context, int64_t begin, int64_t end) {
  const Step *step = (const Step *)context;
  const int64_t offset = begin * step->element_bytes;
  const void *const in[4] = {step->from[0] + offset, step->from[1] + offset, step->from[2] + offset,
                             step->from[3] + offset};
  void *const out[3] = {step->to[0] + offset, step->to[1] + offset, step->to[2] + offset};
  step->of.adam.loop(end - begin, &step->of.adam.numbers, in, out);
}

static bool adam_begin(Ndarray *nd, const BurnOpCall *call, Step *step) {
  static const uint32_t homes[3] = {0, 2, 3};
  const BurnAttrs_adam_step *attrs = BURN_ATTRS(adam_step, call);
  const NdRows *rows = nd_rows_of(nd, call->inputs[0]->dtype);
  step->elements = adam_elements;
  step->of.adam.loop = call->inputs[0]->dtype == BURN_DTYPE_F64 ? rows->adam_f64 : rows->adam_f32;
  step->of.adam.numbers = (NdAdam){.beta_1 = attrs->beta_1.value.f64,
                                   .beta_2 = attrs->beta_2.value.f64,
                                   .step_size = attrs->step_size.value.f64,
                                   .epsilon = attrs->epsilon.value.f64,
                                   .decay = attrs->decay.value.f64,
                                   .penalty = attrs->penalty.value.f64};
  return step_begin(nd, call, homes, step);
}

/* -- sgd_step --------------------------------------------------------------------------------- */

/* n elements, at most a block, from `offset` bytes on. */
static void sgd_block(const Step *step, int64_t n, int64_t offset) {
  _Alignas(64) char decayed[BLOCK_BYTES], room[BLOCK_BYTES];
  const SgdNumbers *work = &step->of.sgd;
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
  work->descent(n, work->step_size, param, way, step->to[0] + offset);
}

static void BURN_API_CALL sgd_elements(void *context, int64_t begin, int64_t end) {
  const Step *step = (const Step *)context;
  const int64_t bytes = step->element_bytes, most = BLOCK_BYTES / bytes;
  for (int64_t i = begin; i < end; i += most) sgd_block(step, end - i < most ? end - i : most, i * bytes);
}

static bool sgd_begin(Ndarray *nd, const BurnOpCall *call, Step *step) {
  const BurnAttrs_sgd_step *attrs = BURN_ATTRS(sgd_step, call);
  const BurnDType dtype = call->inputs[0]->dtype;
  const bool has_velocity = call->inputs[2] != NULL;
  const bool decays = attrs->penalty.value.f64 != 0;
  const uint32_t homes[2] = {0, has_velocity ? 2u : decays ? 1u : 1u | SAME};
  const NdKernels *kernels = nd_kernels(nd);
  const NdRows *rows = nd_rows_of(nd, dtype);
  SgdNumbers *work = &step->of.sgd;
  *work = (SgdNumbers){.scale = kernels->loops[BURN_OP_mul_scalar][dtype],
                       .add = kernels->loops[BURN_OP_add][dtype],
                       .descent = dtype == BURN_DTYPE_F64 ? rows->descent_f64 : rows->descent_f32,
                       .step_size = attrs->step_size.value.f64,
                       .decays = decays,
                       .nesterov = attrs->nesterov.value.i64 != 0};
  if (has_velocity) work->rest = nd_float_scalar(dtype, 1.0 - attrs->dampening.value.f64);
  if (has_velocity || work->nesterov) work->momentum = nd_float_scalar(dtype, attrs->momentum.value.f64);
  if (decays) work->penalty = nd_float_scalar(dtype, attrs->penalty.value.f64);
  step->elements = sgd_elements;
  return step_begin(nd, call, homes, step);
}

/* -- calls ------------------------------------------------------------------------------------ */

/* Fills a zeroed step. On failure nothing is held. */
static BurnStatus begin_call(Ndarray *nd, const BurnOpCall *call, Step *step) {
  const BurnDType dtype = call->inputs[0]->dtype;
  if (dtype != BURN_DTYPE_F32 && dtype != BURN_DTYPE_F64) return no_kernel(nd, call);
  if (call->op == BURN_OP_adam_step ? adam_begin(nd, call, step) : sgd_begin(nd, call, step)) return BURN_OK;
  step_cancel(nd, call, step);
  return nd_out_of_memory(nd, call);
}

static BurnStatus run_step(Ndarray *nd, const BurnOpCall *call) {
  Step step = {.count = 0};
  const BurnStatus status = begin_call(nd, call, &step);
  if (status != BURN_OK) return status;
  nd_parallel_for_flushed(nd, step.count, GRAIN, step.elements, &step);
  step_finish(nd, call, &step);
  return BURN_OK;
}

typedef struct Steps {
  Step *steps;
  int64_t *ends; /* of the elements of all steps in a row */
  uint64_t count;
} Steps;

/* A range of the elements of all steps. */
static void BURN_API_CALL elements_of_all(void *context, int64_t begin, int64_t end) {
  const Steps *all = (const Steps *)context;
  uint64_t low = 0, high = all->count;
  while (low < high) { /* the first step that ends after `begin` */
    const uint64_t middle = low + (high - low) / 2;
    if (all->ends[middle] > begin)
      high = middle;
    else
      low = middle + 1;
  }
  for (; begin < end; low++) {
    Step *step = &all->steps[low];
    const int64_t first = all->ends[low] - step->count, stop = nd_min(end, all->ends[low]);
    if (stop > begin) step->elements(step, begin - first, stop - first);
    begin = stop;
  }
}

/* Begins all or none. */
static BurnStatus begin_all(Ndarray *nd, const BurnOpCall *const *calls, Steps *all) {
  int64_t elements = 0;
  for (uint64_t i = 0; i < all->count; i++) {
    const BurnStatus status = begin_call(nd, calls[i], &all->steps[i]);
    if (status != BURN_OK) {
      while (i > 0) {
        i--;
        step_cancel(nd, calls[i], &all->steps[i]);
      }
      return status;
    }
    elements += all->steps[i].count;
    all->ends[i] = elements;
  }
  return BURN_OK;
}

static BurnStatus BURN_API_CALL run_steps(void *self, const BurnOpCall *const *calls, uint64_t count) {
  Ndarray *nd = (Ndarray *)self;
  const uint64_t bytes = count * (sizeof(Step) + sizeof(int64_t));
  if (nd->replays && nd_is_recording(nd)) return nd_record_calls(nd, calls, count);
  char *room = (char *)nd_pool_allocate(nd->pool, bytes);
  if (!room) return nd_out_of_memory(nd, calls[0]);
  memset(room, 0, bytes);
  Steps all = {(Step *)(void *)room, (int64_t *)(void *)(room + count * sizeof(Step)), count};
  const BurnStatus status = begin_all(nd, calls, &all);
  if (status == BURN_OK) {
    nd_parallel_for_flushed(nd, all.ends[count - 1], GRAIN, elements_of_all, &all);
    for (uint64_t i = 0; i < count; i++) step_finish(nd, calls[i], &all.steps[i]);
  }
  nd_pool_free(nd->pool, room, bytes);
  return status;
}

static uint32_t BURN_API_CALL joins(void *self, uint32_t op) {
  (void)self;
  return op == BURN_OP_adam_step || op == BURN_OP_sgd_step;
}

const BurnCallsInterface nd_calls_interface = {
    .struct_size = (uint32_t)sizeof(BurnCallsInterface), .version = 1, .joins = joins, .submit_many = run_steps};

const NdKernelRow nd_optimizer_kernels[] = {
    {BURN_OP_adam_step, run_step},
    {BURN_OP_sgd_step, run_step},
    {BURN_OP_INVALID, NULL},
};
