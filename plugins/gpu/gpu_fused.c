/* gpu_fused.c - the interface "burn.fused" of GPU backends: bodies of element-wise steps of every dtype, and
 * reductions between them, as kernels that are compiled for them (gpu_fused_text.c). Start here. */
#include "gpu_backend.h"
#include "gpu_fused.h"

#include <burn/common/hash.h>
#include <burn/plugin/random.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_IDLE = 256 /* programs */, COLUMNS_OF_BLOCK = 32, COLUMN_PART = 256, PART = 8192 };

/* -- programs --------------------------------------------------------------------------------- */

/* kernel_last is there in texts of two passes. */
static BurnStatus load(Gpu *gpu, GpuFusedProgram *program, bool is_single) {
  BurnStatus status = burn__gpu_load(gpu, program->text, &program->module);
  if (status != BURN_OK) return status;
  status = burn__gpu_function(gpu, program->module, "kernel", &program->functions[0]);
  if (status == BURN_OK && !is_single)
    status = burn__gpu_function(gpu, program->module, "kernel_last", &program->functions[1]);
  if (status == BURN_OK)
    burn__gpu_settle(gpu, program->module);
  else
    burn__gpu_unload(gpu, program->module);
  return status;
}

static bool has_two_passes(const BurnFusedKernel *kernel, const GpuFusedShape *shape) {
  const BurnCommonRegion region = kernel->plan.region;
  return (region == BURN_COMMON_REGION_ALL || region == BURN_COMMON_REGION_FIRST_AXIS) && !shape->is_single;
}

static void destroy_program(Gpu *gpu, GpuFusedProgram *program) {
  burn__gpu_unload(gpu, program->module);
  gpu->host->free(program->text, program->bytes);
  gpu->host->free(program, sizeof *program);
}

/* Destroys the programs that nobody uses, when nothing in the queue does either; under the lock, without which another
 * thread could start one after the wait and let it go. What failed in the queue is reported where it is waited for
 * next. */
static void destroy_idle(Gpu *gpu) {
  GpuFusedProgram **link = &gpu->fused.first;
  if (gpu->fused.idle == 0 || gpu->is_recorded || burn__gpu_finish(gpu) != BURN_OK) return;
  while (*link) {
    GpuFusedProgram *program = *link;
    if (program->users > 0) {
      link = &program->next;
      continue;
    }
    *link = program->next;
    destroy_program(gpu, program);
  }
  gpu->fused.idle = 0;
}

/* A program of a text, which it takes. */
static BurnStatus new_program(Gpu *gpu, char *text, uint64_t bytes, uint64_t hash, bool is_single,
                              GpuFusedProgram **out) {
  GpuFusedProgram *program = gpu->host->allocate(sizeof *program);
  if (!program) {
    gpu->host->free(text, bytes);
    return GPU_FAIL(gpu, OUT_OF_MEMORY, "no memory of the host for a fused kernel");
  }
  *program = (GpuFusedProgram){.hash = hash, .bytes = bytes, .text = text};
  const BurnStatus status = load(gpu, program, is_single);
  if (status != BURN_OK) {
    gpu->host->free(text, bytes);
    gpu->host->free(program, sizeof *program);
    return status;
  }
  *out = program;
  return BURN_OK;
}

static GpuFusedProgram *known_program(Gpu *gpu, const char *text, uint64_t hash) {
  GpuFusedProgram *program = gpu->fused.first;
  while (program && (program->hash != hash || strcmp(program->text, text) != 0)) program = program->next;
  return program;
}

/* The program of a text, which it takes, with one user more; under the lock. */
static BurnStatus use_program(Gpu *gpu, char *text, uint64_t bytes, bool is_single, GpuFusedProgram **out) {
  const uint64_t hash = burn_common_hash_text(BURN_COMMON_HASH, text);
  GpuFusedProgram *program = known_program(gpu, text, hash);
  if (program) {
    gpu->host->free(text, bytes);
    gpu->fused.idle -= program->users == 0;
  } else {
    if (gpu->fused.idle >= MAX_IDLE) destroy_idle(gpu);
    const BurnStatus status = new_program(gpu, text, bytes, hash, is_single, &program);
    if (status != BURN_OK) return status;
    program->next = gpu->fused.first;
    gpu->fused.first = program;
  }
  program->users++;
  *out = program;
  return BURN_OK;
}

/* Says what a new program is made of. */
static void name_program(const Gpu *gpu, const BurnFusedKernel *kernel, GpuFusedProgram *program) {
  size_t used = 0;
  if (program->steps[0]) return;
  for (uint32_t i = 0; i < kernel->body.step_count && used < sizeof program->steps; i++) {
    const char *name = gpu->host->op_info(kernel->body.steps[i].op)->name;
    const int length = snprintf(program->steps + used, sizeof program->steps - used, "%s%s", i > 0 ? " " : "", name);
    used += length > 0 ? (size_t)length : 0;
  }
}

bool burn__gpu_fused_describe(Gpu *gpu, const GpuFunction *function, char *text, size_t bytes) {
  (void)pthread_mutex_lock(&gpu->fused.mutex);
  const GpuFusedProgram *program = gpu->fused.first;
  while (program && program->functions[0] != function && program->functions[1] != function) program = program->next;
  if (program) (void)snprintf(text, bytes, "fused: %s", program->steps);
  (void)pthread_mutex_unlock(&gpu->fused.mutex);
  return program != NULL;
}

void burn__gpu_fused_destroy(Gpu *gpu) {
  for (GpuFusedProgram *program = gpu->fused.first, *next = NULL; program; program = next) {
    next = program->next;
    destroy_program(gpu, program);
  }
  gpu->fused.first = NULL;
}

/* -- variants --------------------------------------------------------------------------------- */

static const GpuFusedVariant *known_variant(const BurnFusedKernel *kernel, const GpuFusedShape *shape) {
  const GpuFusedVariant *variant = atomic_load_explicit(&kernel->variants, memory_order_acquire);
  while (variant && memcmp(&variant->shape, shape, sizeof *shape) != 0) variant = variant->next;
  return variant;
}

static BurnStatus make_variant(Gpu *gpu, BurnFusedKernel *kernel, const GpuFusedShape *shape,
                               const GpuFusedVariant **out) {
  uint64_t bytes = 0;
  char *text = burn__gpu_fused_text(gpu->host, kernel, shape, &bytes);
  if (!text) return GPU_FAIL(gpu, OUT_OF_MEMORY, "no memory of the host for the text of a fused kernel");
  GpuFusedVariant *variant = gpu->host->allocate(sizeof *variant);
  if (!variant) {
    gpu->host->free(text, bytes);
    return GPU_FAIL(gpu, OUT_OF_MEMORY, "no memory of the host for a fused kernel");
  }
  *variant = (GpuFusedVariant){.shape = *shape, .next = atomic_load(&kernel->variants)};
  const BurnStatus status = use_program(gpu, text, bytes, !has_two_passes(kernel, shape), &variant->program);
  if (status != BURN_OK) {
    gpu->host->free(variant, sizeof *variant);
    return status;
  }
  name_program(gpu, kernel, variant->program);
  atomic_store_explicit(&kernel->variants, variant, memory_order_release);
  *out = variant;
  return BURN_OK;
}

/* The variant for a shape. Between enter and leave. */
static BurnStatus find_variant(Gpu *gpu, BurnFusedKernel *kernel, const GpuFusedShape *shape,
                               const GpuFusedVariant **out) {
  BurnStatus status = BURN_OK;
  *out = known_variant(kernel, shape);
  if (*out) return BURN_OK;
  (void)pthread_mutex_lock(&gpu->fused.mutex);
  *out = known_variant(kernel, shape);
  if (!*out) status = make_variant(gpu, kernel, shape, out);
  (void)pthread_mutex_unlock(&gpu->fused.mutex);
  return status;
}

/* -- arguments -------------------------------------------------------------------------------- */

/* One run on its way to a launch. */
typedef struct Run {
  Gpu *gpu;
  const BurnFusedCall *call;
  BurnFusedKernel *kernel; /* its list of variants grows */
  GpuFusedLayout layout;
  const GpuFusedVariant *variant;
  BurnPrimitive *partial; /* sums of parts; NULL: one pass */
  int64_t parts, part_size, units, size;
  int64_t inner; /* columns that lie beside each other, before those of the next place of the axes before */
  uint32_t used;
  uint64_t words[GPU_FUSED_WORDS];
} Run;

static void put_word(Run *run, uint64_t word) { run->words[run->used++] = word; }
static void put_float(Run *run, double number) {
  const float value = (float)number;
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  put_word(run, bits);
}

static void put_double(Run *run, double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  put_word(run, bits);
}

/* As steps of this dtype have it; what integers are compared with stays as it was given. */
static void put_number(Run *run, BurnDType dtype, const GpuNumber *number, bool is_real) {
  if (dtype == BURN_DTYPE_F64 || is_real)
    put_double(run, number->real);
  else if (burn_dtype_kind(dtype) == BURN_KIND_FLOAT)
    put_float(run, number->real);
  else
    put_word(run, (uint64_t)number->integer);
}

/* For fused_divide: the shift s is that of the next power of two, the factor 2^32 (2^s - d) / d + 1. */
static uint64_t magic_of(int64_t divisor) {
  uint64_t shift = 0;
  if (divisor <= 0 || divisor > INT32_MAX) return 0;
  while (((int64_t)1 << shift) < divisor) shift++;
  const uint64_t d = (uint64_t)divisor, factor = ((UINT64_C(1) << shift) - d) * (UINT64_C(1) << 32) / d + 1;
  return shift << 32 | (factor & UINT32_MAX);
}

/* The numbers of a random step: the threshold, or the ends, then seed and offset. */
static void put_random(Run *run, uint32_t op, BurnDType dtype, const BurnAttr *attrs) {
  const BurnAttrs_random_bernoulli *bernoulli = (const BurnAttrs_random_bernoulli *)(const void *)attrs;
  const BurnAttrs_random_uniform *uniform = (const BurnAttrs_random_uniform *)(const void *)attrs;
  if (op == BURN_OP_random_bernoulli) {
    put_word(run, burn_random_threshold(bernoulli->prob.value.f64));
  } else {
    put_float(run, burn__gpu_number(dtype, &uniform->low).real);
    put_float(run, burn__gpu_number(dtype, &uniform->high).real);
  }
  put_word(run, (uint64_t)uniform->seed.value.i64); /* of all random ops the third and fourth attribute */
  put_word(run, (uint64_t)uniform->offset.value.i64);
}

/* A power of two whose reciprocal is not a subnormal number: products with that round as quotients do. */
static bool has_exact_reciprocal(double number) {
  const float value = (float)number;
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint32_t exponent = bits >> 23 & 255u;
  return (bits & 0x7fffffu) == 0 && exponent > 0 && exponent < 254;
}

static BurnDType operand_dtype(const Run *run, uint32_t i) {
  return run->kernel->body.values[run->kernel->body.steps[i].inputs[0]].dtype;
}

static double divisor_of(const Run *run, uint32_t i) {
  const BurnFusedStep *step = &run->kernel->body.steps[i];
  GpuNumber numbers[2];
  burn__gpu_scalars(run->gpu, step->op, operand_dtype(run, i), run->call->attrs[i], numbers);
  return numbers[0].real;
}

/* Step i multiplies by the reciprocal. */
static bool divides_by_product(const Run *run, uint32_t i) {
  const BurnDType dtype = operand_dtype(run, i);
  return burn_dtype_kind(dtype) == BURN_KIND_FLOAT && dtype != BURN_DTYPE_F64 &&
         has_exact_reciprocal(divisor_of(run, i));
}

static void put_divisor(Run *run, uint32_t i) {
  GpuNumber numbers[2];
  burn__gpu_scalars(run->gpu, run->kernel->body.steps[i].op, operand_dtype(run, i), run->call->attrs[i], numbers);
  const double inverse = 1.0 / numbers[0].real;
  if (divides_by_product(run, i)) numbers[0].real = inverse;
  put_number(run, operand_dtype(run, i), &numbers[0], false);
  put_double(run, inverse);
}

/* The numbers of a step, as many as burn__gpu_fused_numbers says. */
static void put_numbers(Run *run, uint32_t i) {
  const BurnFusedStep *step = &run->kernel->body.steps[i];
  const BurnAttr *attrs = run->call->attrs[i];
  const BurnDType dtype = run->kernel->body.values[run->kernel->body.input_count + i].dtype;
  const BurnCommonForm form = burn_common_fused_form(step->op);
  GpuNumber numbers[2];
  if (form == BURN_COMMON_FORM_BERNOULLI || form == BURN_COMMON_FORM_UNIFORM) {
    put_random(run, step->op, dtype, attrs);
  } else if (form == BURN_COMMON_FORM_CREATE) {
    const BurnAttrs_full *full = (const BurnAttrs_full *)(const void *)attrs;
    numbers[0] = burn__gpu_number(dtype, &full->value);
    if (dtype == BURN_DTYPE_BOOL) numbers[0].real = (double)numbers[0].integer;
    put_number(run, dtype == BURN_DTYPE_BOOL ? BURN_DTYPE_F32 : dtype, &numbers[0], false);
  } else if (form == BURN_COMMON_FORM_DIVIDE) {
    put_divisor(run, i);
  } else {
    const BurnDType operand = operand_dtype(run, i);
    const bool is_exact = form == BURN_COMMON_FORM_COMPARE_SCALAR && burn_dtype_kind(operand) != BURN_KIND_FLOAT;
    burn__gpu_scalars(run->gpu, step->op, operand, attrs, numbers);
    put_number(run, operand, &numbers[0], is_exact && run->kernel->has_real_number[i]);
    if (form == BURN_COMMON_FORM_CLAMP) put_number(run, operand, &numbers[1], false);
  }
}

static void put_strides(Run *run) {
  const GpuFusedLayout *layout = &run->layout;
  for (uint32_t k = 0; k < run->kernel->body.input_count; k++) {
    const GpuFusedInput *input = &layout->shape.inputs[k];
    for (uint32_t axis = 0; axis < layout->shape.rank; axis++)
      if (input->axes >> axis & 1u) put_word(run, (uint64_t)layout->strides[k][axis]);
    if (gpu_fused_has_inner_stride(input)) put_word(run, (uint64_t)layout->strides[k][layout->shape.rank]);
  }
  put_word(run, 0);
}

/* As struct Fused of the text: arrays have one word more than they need, as none may be empty. */
static void put_arguments(Run *run) {
  const BurnFusedKernel *kernel = run->kernel;
  const uint32_t rank = run->layout.shape.rank;
  run->used = 0;
  for (uint32_t k = 0; k < kernel->body.input_count; k++)
    put_word(run, kernel->is_live[k] ? gpu_address(run->call->inputs[k]) : 0);
  if (kernel->body.input_count == 0) put_word(run, 0);
  for (uint32_t o = 0; o < kernel->body.output_count; o++) put_word(run, gpu_address(run->call->outputs[o]));
  put_word(run, (uint64_t)burn_desc_count(&kernel->plan.space));
  put_word(run, (uint64_t)run->size);
  put_word(run, (uint64_t)run->units);
  put_word(run, (uint64_t)run->inner);
  put_word(run, (uint64_t)run->parts);
  put_word(run, (uint64_t)run->part_size);
  put_word(run, run->partial ? gpu_address(run->partial) : 0);
  for (uint32_t axis = 0; axis <= rank; axis++) put_word(run, axis < rank ? (uint64_t)run->layout.sizes[axis] : 0);
  for (uint32_t axis = 0; axis <= rank; axis++) put_word(run, axis < rank ? magic_of(run->layout.sizes[axis]) : 0);
  put_strides(run);
  for (uint32_t i = 0; i < kernel->body.step_count; i++) {
    const uint32_t v = kernel->body.input_count + i;
    if (kernel->is_live[v] && burn__gpu_fused_numbers((BurnCommonForm)kernel->plan.values[v].form) > 0)
      put_numbers(run, i);
  }
  put_word(run, 0);
}

/* More than any layout of this body needs. */
static bool arguments_fit(const BurnFusedKernel *kernel) {
  uint32_t words = 2 * GPU_FUSED_AXES + 13 + kernel->body.output_count + kernel->number_count;
  for (uint32_t k = 0; k < kernel->body.input_count; k++)
    words += 1 + (kernel->is_live[k] ? kernel->body.values[k].rank + 3 : 0); /* two axes may be cut into windows */
  return words <= GPU_FUSED_WORDS;
}

/* -- outputs ---------------------------------------------------------------------------------- */

/* True if input k is given away, nobody else sees its memory, and vectors may be written there. */
static bool may_reuse(const Run *run, uint32_t k) {
  const BurnOpCall call = {
      .input_count = run->kernel->body.input_count, .inputs = run->call->inputs, .donate = run->call->donate};
  const BurnPrimitive *x = run->call->inputs[k];
  const bool suits = run->layout.is_last ? burn__gpu_is_channels_last(x) : burn__gpu_is_row_major(x);
  return burn__gpu_may_overwrite(&call, k) && suits && gpu_address(x) % 16 == 0;
}

static BurnStatus make_output(Run *run, uint32_t o, uint64_t *taken) {
  const BurnFusedKernel *kernel = run->kernel;
  for (uint32_t k = 0; k < kernel->body.input_count && run->call->donate != 0; k++) {
    if (!((kernel->reuse[o] & ~*taken) >> k & 1u) || !may_reuse(run, k)) continue;
    *taken |= UINT64_C(1) << k;
    burn__gpu_retain(run->call->inputs[k]);
    run->call->outputs[o] = run->call->inputs[k];
    return BURN_OK;
  }
  const BurnTensorDesc *desc = &kernel->body.values[kernel->body.outputs[o]];
  return run->layout.is_last ? burn__gpu_new_channels_last(run->gpu, desc, &run->call->outputs[o])
                             : burn__gpu_new(run->gpu, desc, &run->call->outputs[o]);
}

/* As wide as a sum of the body is. */
static BurnDType sum_dtype(const BurnFusedKernel *kernel) {
  bool in_f32 = true;
  for (uint32_t q = 0; q < kernel->reduction_count; q++)
    in_f32 = in_f32 && burn__gpu_fused_joined_in(kernel, kernel->reductions[q]) == BURN_DTYPE_F32;
  return in_f32 ? BURN_DTYPE_F32 : BURN_DTYPE_I64;
}

static BurnStatus make_outputs(Run *run) {
  uint64_t taken = 0;
  BurnStatus status = BURN_OK;
  for (uint32_t o = 0; o < run->kernel->body.output_count && status == BURN_OK; o++)
    status = make_output(run, o, &taken);
  if (status != BURN_OK || !has_two_passes(run->kernel, &run->layout.shape)) return status;
  const BurnTensorDesc desc = {
      .dtype = sum_dtype(run->kernel), .rank = 3, .shape = {run->kernel->reduction_count, run->parts, run->units}};
  return burn__gpu_new(run->gpu, &desc, &run->partial);
}

static void drop_outputs(Run *run) {
  for (uint32_t o = 0; o < run->kernel->body.output_count; o++) {
    burn__gpu_release(run->gpu, run->call->outputs[o]);
    run->call->outputs[o] = NULL;
  }
}

/* -- runs ------------------------------------------------------------------------------------- */

static int64_t in_parts(int64_t count, int64_t part) { return (count + part - 1) / part; }

/* What is reduced, how it is cut, and over what it is repeated. */
static void measure(Run *run) {
  const BurnCommonFusedPlan *plan = &run->kernel->plan;
  const int64_t count = burn_desc_count(&plan->space);
  const bool all = plan->region == BURN_COMMON_REGION_ALL || plan->region == BURN_COMMON_REGION_ELEMENTS;
  run->size = all ? count : plan->space.shape[plan->axis];
  run->units = all ? 1 : count / run->size;
  run->inner = 1;
  for (uint32_t axis = all ? plan->space.rank : plan->axis + 1; axis < plan->space.rank; axis++)
    run->inner *= plan->space.shape[axis];
  run->part_size = plan->region == BURN_COMMON_REGION_ALL ? PART : COLUMN_PART;
  run->parts = run->layout.shape.is_single ? 1 : in_parts(run->size, run->part_size);
  if (run->layout.shape.is_single) run->part_size = run->size;
}

static uint64_t groups_of(const Run *run) {
  const GpuFusedShape *shape = &run->layout.shape;
  switch (run->kernel->plan.region) {
    case BURN_COMMON_REGION_ELEMENTS:
      return (uint64_t)in_parts(run->size, (int64_t)GPU_ELEMENT_THREADS * shape->width * shape->vectors);
    case BURN_COMMON_REGION_LAST:
      return (uint64_t)(run->kernel->threads == 32 ? in_parts(run->units, GPU_FUSED_THREADS / 32) : run->units);
    case BURN_COMMON_REGION_FIRST_AXIS:
      return (uint64_t)(in_parts(run->units, COLUMNS_OF_BLOCK) * run->parts);
    default:
      return (uint64_t)run->parts;
  }
}

static BurnStatus launch(Run *run) {
  const GpuFusedProgram *program = run->variant->program;
  const uint32_t threads = burn__gpu_fused_threads(run->kernel);
  const size_t bytes = run->used * sizeof run->words[0];
  BurnStatus status = burn__gpu_launch(run->gpu, program->functions[0], groups_of(run), threads, run->words, bytes);
  if (status != BURN_OK || !run->partial) return status;
  const uint64_t last =
      run->kernel->plan.region == BURN_COMMON_REGION_ALL ? 1 : (uint64_t)in_parts(run->units, COLUMNS_OF_BLOCK);
  return burn__gpu_launch(run->gpu, program->functions[1], last, GPU_FUSED_THREADS, run->words, bytes);
}

/* What the numbers of this call choose. */
static void find_choices(Run *run) {
  uint32_t number = 0;
  for (uint32_t i = 0; i < run->kernel->body.step_count && run->kernel->choice_count > 0; i++) {
    const uint32_t v = run->kernel->body.input_count + i;
    const BurnCommonForm form = (BurnCommonForm)run->kernel->plan.values[v].form;
    if (!run->kernel->is_live[v] || !burn__gpu_fused_chooses(form)) continue;
    run->layout.shape.choices[number++] =
        (uint8_t)(form == BURN_COMMON_FORM_POWER ? burn__gpu_power(burn_attr_to_f64(&run->call->attrs[i][0]))
                                                 : divides_by_product(run, i));
  }
}

static BurnStatus start(Run *run) {
  BurnStatus status = find_variant(run->gpu, run->kernel, &run->layout.shape, &run->variant);
  if (status == BURN_OK) status = make_outputs(run);
  if (status == BURN_OK) {
    put_arguments(run);
    status = launch(run);
  }
  burn__gpu_release(run->gpu, run->partial);
  return status;
}

static BurnStatus check_owners(const Gpu *gpu, const BurnFusedCall *call) {
  for (uint32_t k = 0; k < call->kernel->body.input_count; k++)
    if (call->inputs[k]->owner != gpu->owner)
      return GPU_FAIL(gpu, BAD_OWNER, "fused: input %u belongs to backend %u, this is %u", k, call->inputs[k]->owner,
                      gpu->owner);
  return BURN_OK;
}

static void remember_ops(Gpu *gpu, const BurnFusedKernel *kernel) {
  const uint32_t count = kernel->body.step_count < GPU_RECENT_OPS ? kernel->body.step_count : GPU_RECENT_OPS;
  const uint32_t number = atomic_fetch_add(&gpu->submitted, count);
  for (uint32_t i = 0; i < count; i++)
    atomic_store_explicit(&gpu->recent[(number + i) % GPU_RECENT_OPS], kernel->body.steps[i].op, memory_order_relaxed);
}

static BurnStatus BURN_API_CALL fused_run(void *self, const BurnFusedCall *call) {
  Run run;
  run.gpu = self;
  run.call = call;
  run.kernel = (BurnFusedKernel *)(uintptr_t)call->kernel;
  run.partial = NULL;
  for (uint32_t o = 0; o < run.kernel->body.output_count; o++) call->outputs[o] = NULL;
  BurnStatus status = check_owners(run.gpu, call);
  if (status == BURN_OK) status = burn__gpu_enter(run.gpu);
  if (status != BURN_OK) return status;
  remember_ops(run.gpu, run.kernel);
  burn__gpu_fused_lay_out(run.kernel, call->inputs, &run.layout);
  find_choices(&run);
  measure(&run);
  burn__gpu_touch_begin(run.gpu, call->inputs, run.kernel->body.input_count);
  status = start(&run);
  burn__gpu_touch_end(run.gpu);
  if (status != BURN_OK) drop_outputs(&run);
  burn__gpu_leave(run.gpu);
  return status;
}

/* -- the interface ---------------------------------------------------------------------------- */

static uint32_t BURN_API_CALL fused_role(void *self, const BurnFusedStep *step, const BurnTensorDesc *inputs,
                                         const BurnTensorDesc *output) {
  const Gpu *gpu = self;
  const bool has_kernel = step->op < BURN_OP_LIMIT && step->output_count == 1 && gpu->rows[step->op];
  if (!has_kernel || burn_common_fused_form(step->op) == BURN_COMMON_FORM_DROPOUT) return BURN_FUSED_NO;
  return burn_common_fused_role(step, inputs, output, burn__gpu_fused_rules(gpu));
}

/* The variant that row-major inputs need is compiled at once, so that what the compiler refuses is refused here. */
static BurnStatus prepare(Gpu *gpu, BurnFusedKernel *kernel, const BurnFusedBody *body) {
  Run run = {.gpu = gpu, .kernel = kernel};
  const BurnAttr *attrs[GPU_FUSED_STEPS];
  for (uint32_t i = 0; i < body->step_count; i++) attrs[i] = body->steps[i].attrs;
  const BurnFusedCall call = {.attrs = attrs};
  run.call = &call;
  burn__gpu_fused_lay_out(kernel, NULL, &run.layout);
  find_choices(&run);
  BurnStatus status = burn__gpu_enter(gpu);
  if (status != BURN_OK) return status;
  status = find_variant(gpu, kernel, &run.layout.shape, &run.variant);
  burn__gpu_leave(gpu);
  return status;
}

/* A body that the compiler does not take is a fault, and not a choice like a refusal: its ops run, but slower. */
static void tell_failure(Gpu *gpu, BurnStatus status) {
  char reason[400], line[sizeof reason + 120];
  const uint32_t code = burn_status_code(status);
  if (code == BURN_STATUS_OUT_OF_MEMORY || atomic_exchange(&gpu->fused.has_told, true)) return;
  (void)gpu->host->status_message(status, reason, sizeof reason);
  (void)snprintf(line, sizeof line,
                 "ops run one by one, slower, where their fused kernel fails to compile; the first: %s", reason);
  gpu->host->log(BURN_LOG_WARN, gpu->name, line);
}

static void BURN_API_CALL fused_release(void *self, BurnFusedKernel *kernel) {
  Gpu *gpu = self;
  if (!kernel) return;
  (void)pthread_mutex_lock(&gpu->fused.mutex);
  for (GpuFusedVariant *variant = atomic_load(&kernel->variants), *next = NULL; variant; variant = next) {
    next = variant->next;
    gpu->fused.idle += --variant->program->users == 0;
    gpu->host->free(variant, sizeof *variant);
  }
  (void)pthread_mutex_unlock(&gpu->fused.mutex);
  gpu->host->free(kernel, kernel->bytes);
}

static BurnStatus BURN_API_CALL fused_compile(void *self, const BurnFusedBody *body, BurnFusedKernel **out, char *why,
                                              uint64_t why_bytes) {
  Gpu *gpu = self;
  const char *refusal = NULL;
  BurnStatus status = BURN_OK;
  *out = NULL;
  BurnFusedKernel *kernel = burn__gpu_fused_new(gpu, body, &refusal);
  if (!kernel && !refusal) return GPU_FAIL(gpu, OUT_OF_MEMORY, "no memory of the host for a fused kernel");
  if (kernel && !refusal && !arguments_fit(kernel)) refusal = "more sizes, strides and numbers than a kernel takes";
  if (!refusal) status = prepare(gpu, kernel, body);
  if (!refusal && status == BURN_OK) {
    *out = kernel;
    return BURN_OK;
  }
  if (refusal && why_bytes > 0) (void)snprintf(why, why_bytes, "%s", refusal);
  if (!refusal) {
    (void)gpu->host->status_message(status, why, why_bytes);
    tell_failure(gpu, status);
  }
  fused_release(gpu, kernel);
  return BURN_OK;
}

static void BURN_API_CALL fused_describe(void *self, const BurnFusedKernel *kernel, char *text, uint64_t text_bytes) {
  static const char *const regions[] = {"elements", "rows", "columns", "all elements"};
  uint32_t loads = 0, steps = 0;
  char row[80] = "";
  (void)self;
  for (uint32_t v = 0; v < kernel->plan.value_count; v++) {
    loads += v < kernel->body.input_count && kernel->is_live[v];
    steps += v >= kernel->body.input_count && kernel->is_live[v] && !kernel->plan.values[v].is_reduction;
  }
  if (kernel->plan.region == BURN_COMMON_REGION_LAST)
    (void)snprintf(row, sizeof row, " of %lld by %u threads, %s",
                   (long long)kernel->plan.space.shape[kernel->plan.axis], kernel->threads,
                   kernel->rows_are_resident ? "kept in registers" : "read again by each loop");
  if (text_bytes == 0) return;
  (void)snprintf(text, text_bytes, "%s%s: %u loads, %u steps, %u reductions, %u stores", regions[kernel->plan.region],
                 row, loads, steps, kernel->reduction_count, kernel->body.output_count);
}

const BurnFusedInterface burn__gpu_fused_interface = {
    .struct_size = (uint32_t)sizeof(BurnFusedInterface),
    .version = 1,
    .max_inputs = GPU_FUSED_INPUTS,
    .max_steps = GPU_FUSED_STEPS,
    .max_outputs = GPU_FUSED_OUTPUTS,
    .role = fused_role,
    .compile = fused_compile,
    .run = fused_run,
    .release = fused_release,
    .describe = fused_describe,
};
