/* gpu_fused_body.c - from a body to a kernel without text: its plan, which loop needs what, what registers keep. */
#include "gpu_fused.h"

#include <string.h>

enum { WARP = 32, LONGEST_IN_REGISTERS = 32, REGISTERS = 64, MAX_WIDTH = 8 };

#define RULES(with_f64)                                                                                              \
  {                                                                                                                  \
    .max_inputs = GPU_FUSED_INPUTS, .max_steps = GPU_FUSED_STEPS, .max_outputs = GPU_FUSED_OUTPUTS, .max_loops = 16, \
    .max_buffers = 16, .max_rows = GPU_FUSED_STEPS, .longest_row = 131072, .counts_casts = true,                     \
    .has_f64 = (with_f64), .has_integers = true, .has_middle_axis = true, .spreads = true                            \
  }

const BurnCommonFusedRules *burn__gpu_fused_rules(const Gpu *gpu) {
  static const BurnCommonFusedRules with_f64 = RULES(true), without_f64 = RULES(false);
  return gpu->has_f64 ? &with_f64 : &without_f64;
}

uint32_t burn__gpu_fused_numbers(BurnCommonForm form) {
  switch (form) {
    case BURN_COMMON_FORM_SCALAR:
    case BURN_COMMON_FORM_COMPARE_SCALAR:
    case BURN_COMMON_FORM_POWER:
    case BURN_COMMON_FORM_FILL:
    case BURN_COMMON_FORM_CREATE:
      return 1;
    case BURN_COMMON_FORM_CLAMP:
    case BURN_COMMON_FORM_DIVIDE: /* the divisor or, where it is exact, its reciprocal; its reciprocal in f64 */
      return 2;
    case BURN_COMMON_FORM_BERNOULLI: /* threshold, seed, offset */
      return 3;
    case BURN_COMMON_FORM_UNIFORM: /* low, high, seed, offset */
      return 4;
    default:
      return 0;
  }
}

bool burn__gpu_fused_chooses(BurnCommonForm form) {
  return form == BURN_COMMON_FORM_POWER || form == BURN_COMMON_FORM_DIVIDE;
}

/* -- which loop needs what -------------------------------------------------------------------- */

/* What registers do not keep for a later loop is computed again. */
bool burn__gpu_fused_computes(const BurnFusedKernel *kernel, uint32_t v, uint32_t loop) {
  const BurnCommonFusedValue *value = &kernel->plan.values[v];
  if (kernel->rows_are_resident || value->is_reduced) return burn_common_fused_computes(&kernel->plan, v, loop);
  return burn_common_fused_is_step(&kernel->plan, v) && !value->is_reduction;
}

static void mark_roots(const BurnFusedKernel *kernel, uint32_t loop, bool *needed) {
  const BurnCommonFusedPlan *plan = &kernel->plan;
  for (uint32_t o = 0; o < kernel->body.output_count; o++)
    if (burn_common_fused_loop_of_output(plan, o) == loop) needed[plan->values[kernel->body.outputs[o]].same_as] = true;
  for (uint32_t v = kernel->body.input_count; v < plan->value_count; v++) {
    const BurnCommonFusedValue *value = &plan->values[v];
    const bool waits = value->is_kept && value->loop == loop && !value->is_reduction;
    if (waits && (value->is_reduced || kernel->rows_are_resident)) needed[v] = true;
    if (burn_common_fused_reduces(plan, v, loop))
      needed[burn_common_fused_input(plan, burn_common_fused_step(plan, v), 0)] = true;
  }
}

void burn__gpu_fused_mark(const BurnFusedKernel *kernel, uint32_t loop, bool *needed) {
  const BurnCommonFusedPlan *plan = &kernel->plan;
  memset(needed, 0, plan->value_count * sizeof *needed);
  mark_roots(kernel, loop, needed);
  for (uint32_t v = plan->value_count; v-- > kernel->body.input_count;) {
    if (!needed[v] || !burn__gpu_fused_computes(kernel, v, loop)) continue;
    const BurnFusedStep *step = burn_common_fused_step(plan, v);
    for (uint32_t i = 0; i < step->input_count; i++) needed[burn_common_fused_input(plan, step, i)] = true;
  }
}

static void find_live(BurnFusedKernel *kernel) {
  bool needed[BURN_COMMON_FUSED_VALUES];
  for (uint32_t loop = 0; loop < kernel->plan.loop_count; loop++) {
    burn__gpu_fused_mark(kernel, loop, needed);
    for (uint32_t v = 0; v < kernel->plan.value_count; v++) kernel->is_live[v] = kernel->is_live[v] || needed[v];
  }
}

/* -- rows ------------------------------------------------------------------------------------- */

/* Inputs that more than one loop over the elements reads. Returns how many. */
static uint32_t find_resident(BurnFusedKernel *kernel) {
  bool needed[BURN_COMMON_FUSED_VALUES];
  uint32_t times[GPU_FUSED_INPUTS] = {0}, count = 0;
  for (uint32_t loop = 1; loop < kernel->plan.loop_count; loop += 2) {
    burn__gpu_fused_mark(kernel, loop, needed);
    for (uint32_t k = 0; k < kernel->body.input_count; k++) times[k] += needed[k] && !kernel->plan.values[k].is_reduced;
  }
  for (uint32_t k = 0; k < kernel->body.input_count; k++) {
    kernel->is_resident[k] = times[k] > 1;
    count += times[k] > 1;
  }
  return count;
}

/* Elements that one access of 16 bytes has, of the widest dtype. */
static uint32_t natural_width(const BurnFusedKernel *kernel) {
  uint64_t largest = 16 / MAX_WIDTH;
  for (uint32_t v = 0; v < kernel->plan.value_count; v++) {
    const uint64_t bytes = burn_dtype_bytes(kernel->body.values[v].dtype);
    const bool is_stored = v < kernel->body.input_count && kernel->is_live[v];
    if (is_stored && bytes > largest) largest = bytes;
  }
  for (uint32_t o = 0; o < kernel->body.output_count; o++) {
    const uint64_t bytes = burn_dtype_bytes(kernel->body.values[kernel->body.outputs[o]].dtype);
    if (bytes > largest) largest = bytes;
  }
  return (uint32_t)(16 / largest);
}

/* Registers of a number of the widest dtype. */
static int64_t registers_of_number(const BurnFusedKernel *kernel) {
  int64_t registers = 1;
  for (uint32_t v = 0; v < kernel->plan.value_count; v++)
    if (kernel->is_live[v] && burn_dtype_bytes(kernel->body.values[v].dtype) == 8) registers = 2;
  return registers;
}

/* How a row is cut: by its length and dtypes alone, as that decides the order of sums, where groups may have 512
 * threads. */
static void cut_rows(BurnFusedKernel *kernel, uint32_t most_threads) {
  const int64_t n = kernel->plan.space.shape[kernel->plan.axis];
  while (n % kernel->width != 0) kernel->width /= 2;
  kernel->threads = n <= 512 ? WARP : n <= 1024 ? 128 : n <= 2048 ? 256 : 512;
  if (kernel->threads > most_threads) kernel->threads = most_threads;
  const int64_t of_all = (int64_t)kernel->threads * kernel->width, items = (n + of_all - 1) / of_all;
  kernel->items = (uint32_t)items;
  kernel->rows_are_resident = true;
  const int64_t each = items * kernel->width, arrays = find_resident(kernel) + kernel->plan.buffer_count;
  if (each <= LONGEST_IN_REGISTERS && each * arrays * registers_of_number(kernel) <= REGISTERS) return;
  kernel->rows_are_resident = false;
  memset(kernel->is_resident, 0, sizeof kernel->is_resident);
}

BurnDType burn__gpu_fused_joined_in(const BurnFusedKernel *kernel, uint32_t v) {
  const uint32_t operand = burn_common_fused_input(&kernel->plan, burn_common_fused_step(&kernel->plan, v), 0);
  const BurnDType dtype = kernel->plan.values[operand].dtype;
  if (burn_dtype_kind(dtype) != BURN_KIND_FLOAT) return BURN_DTYPE_I64;
  return dtype == BURN_DTYPE_F64 ? BURN_DTYPE_F64 : BURN_DTYPE_F32;
}

/* -- the rest --------------------------------------------------------------------------------- */

/* An output may take the memory of an input that no later loop reads; numbers of rows are read by other threads. */
static void find_reuse(BurnFusedKernel *kernel) {
  const BurnCommonFusedPlan *plan = &kernel->plan;
  bool needed[BURN_COMMON_FUSED_VALUES];
  uint32_t last[GPU_FUSED_INPUTS] = {0};
  for (uint32_t loop = 1; loop < plan->loop_count; loop += 2) {
    burn__gpu_fused_mark(kernel, loop, needed);
    for (uint32_t k = 0; k < kernel->body.input_count; k++)
      if (needed[k] && !kernel->is_resident[k]) last[k] = loop;
  }
  for (uint32_t o = 0; o < kernel->body.output_count; o++) {
    const BurnTensorDesc *desc = &kernel->body.values[kernel->body.outputs[o]];
    for (uint32_t k = 0; k < kernel->body.input_count && !plan->output_is_reduced[o]; k++) {
      const bool same = memcmp(desc, &kernel->body.values[k], sizeof *desc) == 0 && !plan->values[k].is_reduced;
      if (same && last[k] <= burn_common_fused_loop_of_output(plan, o)) kernel->reuse[o] |= UINT64_C(1) << k;
    }
  }
}

static void number_steps(BurnFusedKernel *kernel) {
  const BurnCommonFusedPlan *plan = &kernel->plan;
  for (uint32_t i = 0; i < kernel->body.step_count; i++) {
    const uint32_t v = kernel->body.input_count + i;
    const BurnCommonForm form = (BurnCommonForm)plan->values[v].form;
    kernel->first_number[i] = (uint16_t)kernel->number_count;
    if (!kernel->is_live[v]) continue;
    kernel->number_count += burn__gpu_fused_numbers(form);
    kernel->choice_count += burn__gpu_fused_chooses(form);
  }
  for (uint32_t loop = 1; loop < plan->loop_count; loop += 2)
    for (uint32_t v = kernel->body.input_count; v < plan->value_count; v++)
      if (burn_common_fused_reduces(plan, v, loop)) kernel->reductions[kernel->reduction_count++] = v;
}

/* Groups join the sums of columns through memory that they share: one number of each thread. */
static bool sums_fit(const Gpu *gpu, const BurnFusedKernel *kernel) {
  return kernel->plan.region != BURN_COMMON_REGION_FIRST_AXIS ||
         (uint64_t)kernel->reduction_count * GPU_FUSED_THREADS * sizeof(uint64_t) <= gpu->shared_bytes;
}

int64_t burn__gpu_fused_spread(const BurnFusedKernel *kernel, uint32_t k, uint32_t axis) {
  const BurnTensorDesc *desc = &kernel->body.values[k], *space = &kernel->plan.space;
  const uint32_t missing = space->rank - desc->rank;
  const int64_t size = axis < missing ? 1 : desc->shape[axis - missing];
  return size > 1 ? space->shape[axis] / size : 1;
}

/* One size of windows along an axis: then it is cut into windows and places in them. */
static bool spreads_alike(const BurnFusedKernel *kernel) {
  for (uint32_t axis = 0; axis < kernel->plan.space.rank; axis++) {
    int64_t windows = 1;
    for (uint32_t k = 0; k < kernel->body.input_count; k++) {
      const int64_t own = kernel->is_live[k] ? burn__gpu_fused_spread(kernel, k, axis) : 1;
      if (own > UINT8_MAX || (own > 1 && windows > 1 && own != windows)) return false;
      if (own > 1) windows = own;
    }
  }
  return true;
}

static void complete(const Gpu *gpu, BurnFusedKernel *kernel) {
  kernel->rows_are_resident = true;
  find_live(kernel);
  kernel->width = natural_width(kernel);
  if (kernel->plan.region == BURN_COMMON_REGION_LAST) cut_rows(kernel, gpu->most_threads);
  if (kernel->plan.region == BURN_COMMON_REGION_FIRST_AXIS) kernel->width = 1;
  number_steps(kernel);
  find_reuse(kernel);
  if (kernel->choice_count > GPU_FUSED_CHOICES)
    burn_common_fused_refuse(&kernel->plan, "too many powers and quotients");
  if (!sums_fit(gpu, kernel)) burn_common_fused_refuse(&kernel->plan, "too many reductions");
  if (!spreads_alike(kernel)) burn_common_fused_refuse(&kernel->plan, "windows of several sizes, or of more than 255");
}

/* Behind the struct lie the values, the steps, their inputs and the outputs. Attributes belong to the plan alone. */
static void copy_body(BurnFusedKernel *kernel, const BurnFusedBody *body) {
  const uint32_t value_count = body->input_count + body->step_count;
  BurnTensorDesc *values = (BurnTensorDesc *)(void *)(kernel + 1);
  BurnFusedStep *steps = (BurnFusedStep *)(void *)(values + value_count);
  uint32_t *numbers = (uint32_t *)(void *)(steps + body->step_count);
  kernel->body = *body;
  memset(values, 0, value_count * sizeof *values);
  for (uint32_t v = 0; v < value_count; v++) {
    values[v].dtype = body->values[v].dtype;
    values[v].rank = body->values[v].rank;
    memcpy(values[v].shape, body->values[v].shape, body->values[v].rank * sizeof values[v].shape[0]);
  }
  for (uint32_t i = 0; i < body->step_count; i++) {
    steps[i] = body->steps[i];
    kernel->has_real_number[i] = steps[i].attr_count > 0 && steps[i].attrs[0].tag == BURN_ATTR_F64;
    steps[i].attrs = NULL;
    memcpy(numbers, steps[i].inputs, steps[i].input_count * sizeof *numbers);
    steps[i].inputs = numbers;
    numbers += steps[i].input_count;
  }
  memcpy(numbers, body->outputs, body->output_count * sizeof *numbers);
  kernel->body.values = values;
  kernel->body.steps = steps;
  kernel->body.outputs = numbers;
}

BurnFusedKernel *burn__gpu_fused_new(const Gpu *gpu, const BurnFusedBody *body, const char **refusal) {
  const BurnHost *host = gpu->host;
  BurnCommonFusedPlan plan;
  uint64_t numbers = body->output_count;
  burn_common_fused_plan(&plan, burn__gpu_fused_rules(gpu), body);
  *refusal = plan.refusal;
  if (plan.refusal) return NULL;
  for (uint32_t i = 0; i < body->step_count; i++) numbers += body->steps[i].input_count;
  const uint64_t bytes = sizeof(BurnFusedKernel) + plan.value_count * sizeof(BurnTensorDesc) +
                         body->step_count * sizeof(BurnFusedStep) + numbers * sizeof(uint32_t);
  BurnFusedKernel *kernel = host->allocate(bytes);
  if (!kernel) return NULL;
  memset(kernel, 0, sizeof *kernel);
  kernel->bytes = bytes;
  kernel->plan = plan;
  copy_body(kernel, body);
  kernel->plan.body = &kernel->body;
  complete(gpu, kernel);
  *refusal = kernel->plan.refusal;
  if (!*refusal) return kernel;
  host->free(kernel, bytes);
  return NULL;
}
