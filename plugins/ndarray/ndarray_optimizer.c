/* ndarray_optimizer.c - adam_step: parameter and both moments in one sweep over memory, in place when the call gives
 * all three away, else into new tensors. */
#include "ndarray_rows.h"

#define ND_ADAM_GRAIN 16384 /* elements */

typedef struct Step {
  NdAdam adam;
  const char *in[4]; /* param, grad, moment_1, moment_2 */
  char *out[3];      /* param, moment_1, moment_2 */
  int64_t element_bytes;
  NdAdamLoop in_place; /* NULL: out is other memory than in */
  NdAdamCopyLoop copying;
} Step;

static void BURN_CALL step_elements(void *context, int64_t begin, int64_t end) {
  const Step *step = (const Step *)context;
  const int64_t offset = begin * step->element_bytes;
  if (step->in_place) {
    step->in_place(end - begin, &step->adam, step->in[1] + offset, step->out[0] + offset, step->out[1] + offset,
                   step->out[2] + offset);
    return;
  }
  const void *const in[4] = {step->in[0] + offset, step->in[1] + offset, step->in[2] + offset, step->in[3] + offset};
  void *const out[3] = {step->out[0] + offset, step->out[1] + offset, step->out[2] + offset};
  step->copying(end - begin, &step->adam, in, out);
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

/* True if param and both moments may be overwritten where they are. */
static bool can_overwrite(const BurnOpCall *call) {
  static const uint32_t targets[3] = {0, 2, 3};
  for (int i = 0; i < 3; i++) {
    if (!nd_may_overwrite(call, targets[i]) || !nd_is_contiguous(nd_tensor(call->inputs[targets[i]]))) return false;
  }
  return true;
}

/* Packs the inputs and makes the results; NULL entries when out of memory. */
static bool prepare(Ndarray *nd, const BurnOpCall *call, bool in_place, NdTensor *in[4], NdTensor *out[3]) {
  bool complete = true;
  for (uint32_t i = 0; i < 4; i++) {
    in[i] = nd_contiguous(nd, nd_tensor(call->inputs[i]));
    if (!in[i]) complete = false;
  }
  for (uint32_t i = 0; i < 3; i++) {
    out[i] = in_place ? in[i == 0 ? 0 : i + 1] : nd_new(nd, &call->output_descs[i]);
    if (in_place && out[i]) nd_retain(out[i]);
    if (!out[i]) complete = false;
  }
  return complete;
}

static BurnStatus run_adam_step(Ndarray *nd, const BurnOpCall *call) {
  const BurnDType dtype = call->inputs[0]->dtype;
  const NdRows *rows = nd_rows_of(nd, dtype);
  const bool in_place = can_overwrite(call), is_f64 = dtype == BURN_DTYPE_F64;
  Step step = {.adam = read_scalars(call), .element_bytes = burn_dtype_bytes(dtype)};
  NdTensor *in[4], *out[3];
  if (dtype != BURN_DTYPE_F32 && dtype != BURN_DTYPE_F64) {
    return nd_fail(nd, BURN_STATUS_INVALID_DTYPE, "adam_step: no kernel for %s", burn_dtype_name(dtype));
  }
  const bool complete = prepare(nd, call, in_place, in, out);
  if (complete) {
    if (in_place) step.in_place = is_f64 ? rows->adam_f64 : rows->adam_f32;
    step.copying = is_f64 ? rows->adam_copy_f64 : rows->adam_copy_f32;
    for (int i = 0; i < 4; i++) step.in[i] = (const char *)nd_data(in[i]);
    for (int i = 0; i < 3; i++) step.out[i] = (char *)nd_data(out[i]);
    nd_parallel_for_flushed(nd, burn_primitive_count(call->inputs[0]), ND_ADAM_GRAIN, step_elements, &step);
  }
  for (int i = 0; i < 4; i++) nd_release(nd, in[i]);
  if (!complete) {
    for (int i = 0; i < 3; i++) nd_release(nd, out[i]);
    return nd_out_of_memory(nd, call);
  }
  for (int i = 0; i < 3; i++) call->outputs[i] = &out[i]->header;
  return BURN_OK;
}

const NdKernelRow nd_optimizer_kernels[] = {
    {BURN_OP_adam_step, run_adam_step},
    {BURN_OP_INVALID, NULL},
};
