/* gpu_fused_text.c - the source of a fused body: steps as the expressions of elementwise.def, and around them what
 * kernels/fused.cu asks for. Values are v<number>: a local one, or a field of what waits. */
#include "gpu_fused.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* -- writing ---------------------------------------------------------------------------------- */

typedef struct Writer {
  const BurnHost *host;
  const BurnFusedKernel *kernel;
  const GpuFusedShape *shape;
  char *text;
  uint64_t used, room;
  bool has_failed;
  uint32_t loop;                         /* that is being written */
  bool needed[BURN_COMMON_FUSED_VALUES]; /* in that loop */
} Writer;

static bool make_room(Writer *w, uint64_t bytes) {
  if (w->has_failed || w->used + bytes <= w->room) return !w->has_failed;
  const uint64_t room = 2 * (w->used + bytes);
  char *text = w->host->allocate(room);
  w->has_failed = !text;
  if (!text) return false;
  if (w->used > 0) memcpy(text, w->text, w->used);
  w->host->free(w->text, w->room);
  w->text = text;
  w->room = room;
  return true;
}

static void put(Writer *w, const char *part) {
  const uint64_t length = strlen(part);
  if (!make_room(w, length + 1)) return;
  memcpy(w->text + w->used, part, length + 1);
  w->used += length;
}

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
print(Writer *w, const char *format, ...) {
  char line[400];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  w->has_failed = w->has_failed || length < 0 || (size_t)length >= sizeof line;
  put(w, line);
}

/* -- functions of functions.def --------------------------------------------------------------- */

static const struct {
  const char *name, *text;
} functions[] = {
#define BURN_FUNCTION(type, name, arguments, ...) \
  {#name, "static __device__ inline " #type " " #name #arguments " { " #__VA_ARGS__ " }\n"},
#include "common/functions.def"
};
enum { FUNCTION_COUNT = sizeof functions / sizeof functions[0] };

/* Those that an expression calls, and what these call: a function calls only those before it. */
static void want_functions(const char *expression, bool *wanted) {
  for (size_t i = 0; i < FUNCTION_COUNT && expression; i++)
    if (strstr(expression, functions[i].name)) wanted[i] = true;
}

/* The choice for a step that is live and has one. */
static uint32_t choice_of(const Writer *w, uint32_t step) {
  uint32_t number = 0;
  for (uint32_t i = 0; i < step; i++) {
    const uint32_t v = w->kernel->body.input_count + i;
    number += w->kernel->is_live[v] && burn__gpu_fused_chooses((BurnCommonForm)w->kernel->plan.values[v].form);
  }
  return w->shape->choices[number];
}

static GpuExpression expression_of(const Writer *w, uint32_t step) {
  const uint32_t form = w->kernel->plan.values[w->kernel->body.input_count + step].form;
  const uint32_t op = w->kernel->body.steps[step].op;
  if (form == BURN_COMMON_FORM_POWER) return burn__gpu_expression(op, choice_of(w, step));
  const bool is_exact = form == BURN_COMMON_FORM_DIVIDE && choice_of(w, step) != 0;
  return burn__gpu_expression(is_exact ? BURN_OP_mul_scalar : op, 0);
}

static void put_functions(Writer *w) {
  bool wanted[FUNCTION_COUNT] = {false};
  for (uint32_t i = 0; i < w->kernel->body.step_count; i++) {
    if (!w->kernel->is_live[w->kernel->body.input_count + i]) continue;
    const GpuExpression e = expression_of(w, i);
    want_functions(e.f32, wanted);
    want_functions(e.f64, wanted);
    want_functions(e.large ? "burn_abs_f32" : NULL, wanted);
  }
  for (size_t i = FUNCTION_COUNT; i-- > 0;)
    if (wanted[i]) want_functions(functions[i].text, wanted);
  for (size_t i = 0; i < FUNCTION_COUNT; i++)
    if (wanted[i]) put(w, functions[i].text);
}

/* -- values ----------------------------------------------------------------------------------- */

static const char *storage_of(BurnDType dtype) {
  static const char *const names[] = {
      [BURN_DTYPE_BOOL] = "bool_t", [BURN_DTYPE_U8] = "u8_t",     [BURN_DTYPE_I8] = "i8_t",
      [BURN_DTYPE_I16] = "i16_t",   [BURN_DTYPE_I32] = "i32_t",   [BURN_DTYPE_I64] = "i64_t",
      [BURN_DTYPE_F16] = "f16_t",   [BURN_DTYPE_BF16] = "bf16_t", [BURN_DTYPE_F32] = "f32_t",
      [BURN_DTYPE_F64] = "f64_t"};
  return names[dtype];
}

static const BurnCommonFusedValue *value_of(const Writer *w, uint32_t v) { return &w->kernel->plan.values[v]; }
static BurnCommonForm form_of(const Writer *w, uint32_t v) { return (BurnCommonForm)value_of(w, v)->form; }
static bool is_input(const Writer *w, uint32_t v) { return v < w->kernel->body.input_count; }
static bool is_bool(const Writer *w, uint32_t v) { return value_of(w, v)->dtype == BURN_DTYPE_BOOL; }
static bool is_f64(const Writer *w, uint32_t v) { return value_of(w, v)->dtype == BURN_DTYPE_F64; }
static const char *type_of(const Writer *w, uint32_t v) {
  return is_bool(w, v) ? "bool" : is_f64(w, v) ? "double" : "float";
}
static bool is_random(BurnCommonForm form) {
  return form == BURN_COMMON_FORM_UNIFORM || form == BURN_COMMON_FORM_BERNOULLI;
}
static uint32_t number_of(const Writer *w, uint32_t v) {
  return w->kernel->first_number[v - w->kernel->body.input_count];
}

/* The text of a value in the loop that is being written. */
typedef struct Name {
  char text[24];
} Name;

static Name name_of(const Writer *w, uint32_t v) {
  const BurnCommonFusedValue *value = value_of(w, v);
  Name name;
  const char *where = "";
  const char *lane = "";
  if (is_input(w, v)) {
    where = value->is_reduced ? "r." : "in.";
    lane = value->is_reduced ? "" : "[k]";
  } else if (!burn__gpu_fused_computes(w->kernel, v, w->loop)) {
    where = value->is_reduced ? "r." : "kept.";
    lane = value->is_reduced ? "" : "[k]";
  }
  (void)snprintf(name.text, sizeof name.text, "%sv%u%s", where, v, lane);
  return name;
}

/* -- steps ------------------------------------------------------------------------------------ */

static void put_operands(Writer *w, const BurnFusedStep *step, bool is_logic) {
  static const char letters[] = "xyz";
  for (uint32_t i = 0; i < step->input_count; i++) {
    const uint32_t v = burn_common_fused_input(&w->kernel->plan, step, i);
    print(w, "const %s %c = %s; ", is_logic ? "int" : type_of(w, v), letters[i], name_of(w, v).text);
  }
}

static void put_cast(Writer *w, uint32_t v, uint32_t from) {
  const Name name = name_of(w, from);
  const BurnDType to = value_of(w, v)->dtype;
  if (is_bool(w, v) && !is_bool(w, from)) {
    print(w, "v%u = %s != 0.0f; ", v, name.text);
  } else if (is_bool(w, from) && !is_bool(w, v)) {
    print(w, "v%u = %s ? 1.0f : 0.0f; ", v, name.text);
  } else if (is_f64(w, from) && !is_f64(w, v)) { /* halves are rounded once, afterwards */
    print(w, "v%u = %s(%s); ", v, to == BURN_DTYPE_F32 ? "(float)" : "burn_f64_to_odd", name.text);
  } else {
    print(w, "v%u = %s; ", v, name.text);
  }
}

/* Number `n` of the call as `name`, in the dtype of the step's first operand. */
static void put_number(Writer *w, const char *name, uint32_t n, bool in_f64) {
  if (in_f64) print(w, "const double %s = burn_from_bits_f64(p.numbers[%u]); ", name, n);
  if (!in_f64) print(w, "const float %s = fused_number(p.numbers[%u]); ", name, n);
}

/* By the op's own expression, with x, y, z, s and q. */
static void put_expression(Writer *w, uint32_t v, const BurnFusedStep *step) {
  const BurnCommonForm form = form_of(w, v);
  const GpuExpression e = expression_of(w, v - w->kernel->body.input_count);
  const bool is_logic = form == BURN_COMMON_FORM_LOGIC || form == BURN_COMMON_FORM_LOGIC_NOT;
  const bool in_f64 = is_f64(w, burn_common_fused_input(&w->kernel->plan, step, 0));
  const uint32_t numbers = burn__gpu_fused_numbers(form);
  put_operands(w, step, is_logic);
  if (numbers > 0) put_number(w, "s", number_of(w, v), in_f64);
  if (form == BURN_COMMON_FORM_DIVIDE && !in_f64 && choice_of(w, v - w->kernel->body.input_count) == 0) {
    print(w, "v%u = fused_quotient(x, s, p.numbers[%u]); ", v, number_of(w, v) + 1);
    return;
  }
  if (numbers > 1) put_number(w, "q", number_of(w, v) + 1, in_f64);
  print(w, "v%u = (", v);
  if (e.large && !in_f64) print(w, "burn_abs_f32(x) > 1.0e9f ? %s : ", e.large);
  put(w, is_logic ? e.integers : in_f64 ? e.f64 : e.f32);
  put(w, is_logic ? ") != 0; " : "); ");
}

static void put_random(Writer *w, uint32_t v) {
  const uint32_t n = number_of(w, v);
  if (form_of(w, v) == BURN_COMMON_FORM_BERNOULLI) {
    print(w, "v%u = in.v%u[k] < p.numbers[%u]%s; ", v, v, n, is_bool(w, v) ? "" : " ? 1.0f : 0.0f");
  } else {
    print(w, "v%u = fused_uniform(in.v%u[k], fused_number(p.numbers[%u]), fused_number(p.numbers[%u])); ", v, v, n,
          n + 1);
  }
}

static void put_step(Writer *w, uint32_t v) {
  const BurnFusedStep *step = burn_common_fused_step(&w->kernel->plan, v);
  const BurnCommonForm form = form_of(w, v);
  const BurnDType dtype = value_of(w, v)->dtype;
  print(w, "  %s v%u; { ", type_of(w, v), v);
  if (form == BURN_COMMON_FORM_CAST) {
    put_cast(w, v, burn_common_fused_input(&w->kernel->plan, step, 0));
  } else if (is_random(form)) {
    put_random(w, v);
  } else if (form == BURN_COMMON_FORM_CREATE) {
    print(w, "v%u = fused_number(p.numbers[%u])%s; ", v, number_of(w, v), is_bool(w, v) ? " != 0.0f" : "");
  } else {
    put_expression(w, v, step);
  }
  if (dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16)
    print(w, "v%u = fused_round_%s(v%u); ", v, storage_of(dtype), v);
  put(w, "}\n");
}

/* Steps of the loop, then what has to wait for a later one. */
static void put_steps(Writer *w) {
  const BurnFusedKernel *kernel = w->kernel;
  for (uint32_t v = kernel->body.input_count; v < kernel->plan.value_count; v++)
    if (w->needed[v] && burn__gpu_fused_computes(kernel, v, w->loop)) put_step(w, v);
  for (uint32_t v = kernel->body.input_count; v < kernel->plan.value_count; v++) {
    const BurnCommonFusedValue *value = value_of(w, v);
    if (!value->is_kept || value->is_reduction || value->loop != w->loop) continue;
    if (value->is_reduced) print(w, "  r.v%u = v%u;\n", v, v);
    if (!value->is_reduced && kernel->rows_are_resident) print(w, "  kept.v%u[k] = v%u;\n", v, v);
  }
}

/* -- functions of a loop ---------------------------------------------------------------------- */

static void begin_loop(Writer *w, uint32_t loop) {
  w->loop = loop;
  burn__gpu_fused_mark(w->kernel, loop, w->needed);
}

static const char *join_of(uint32_t op) {
  if (op == BURN_OP_max_dim || op == BURN_OP_max) return "fused_largest";
  return op == BURN_OP_min_dim || op == BURN_OP_min ? "fused_smallest" : "fused_sum";
}

static void put_sums(Writer *w) {
  const BurnFusedKernel *kernel = w->kernel;
  for (uint32_t q = 0; q < kernel->reduction_count; q++) {
    const uint32_t v = kernel->reductions[q];
    if (!burn_common_fused_reduces(&kernel->plan, v, w->loop)) continue;
    const BurnFusedStep *step = burn_common_fused_step(&kernel->plan, v);
    const Name operand = name_of(w, burn_common_fused_input(&kernel->plan, step, 0));
    print(w, "  sums[%u] = %s(sums[%u], %s);\n", q, join_of(step->op), q, operand.text);
  }
}

static void put_step_function(Writer *w) {
  const BurnFusedKernel *kernel = w->kernel;
  print(
      w,
      "static __device__ inline void fused_step_%u(const Fused &p, const Inputs &in, const int k, Rows &r, Kept &kept, "
      "float *sums, Outputs &out) {\n",
      w->loop);
  put_steps(w);
  put_sums(w);
  for (uint32_t o = 0; o < kernel->body.output_count; o++) {
    if (burn_common_fused_loop_of_output(&kernel->plan, o) != w->loop) continue;
    print(w, "  burn_put(out.o%u.at[k], %s%s);\n", o,
          is_bool(w, value_of(w, kernel->body.outputs[o])->same_as) ? "(int)" : "",
          name_of(w, value_of(w, kernel->body.outputs[o])->same_as).text);
  }
  put(w, "}\n");
}

static void put_store_function(Writer *w) {
  const BurnFusedKernel *kernel = w->kernel;
  print(
      w,
      "static __device__ inline void fused_store_%u(const Fused &p, int64_t at, int64_t left, const Outputs &out) {\n",
      w->loop);
  for (uint32_t o = 0; o < kernel->body.output_count; o++) {
    if (burn_common_fused_loop_of_output(&kernel->plan, o) != w->loop) continue;
    const char *type = storage_of(kernel->body.values[kernel->body.outputs[o]].dtype);
    print(w, "  fused_store<%s, FUSED_WIDTH>((%s *)p.out[%u] + at, left, out.o%u);\n", type, type, o, o);
  }
  put(w, "}\n");
}

/* Once per row; thread `is_first` stores. */
static void put_rows_function(Writer *w) {
  const BurnFusedKernel *kernel = w->kernel;
  print(w, "static __device__ inline void fused_rows_%u(const Fused &p, Rows &r, int64_t at, bool is_first) {\n",
        w->loop);
  put_steps(w);
  for (uint32_t o = 0; o < kernel->body.output_count; o++) {
    const uint32_t v = kernel->body.outputs[o];
    if (burn_common_fused_loop_of_output(&kernel->plan, o) != w->loop) continue;
    print(w, "  if (is_first) burn_put(((%s *)p.out[%u])[at], %s%s);\n", storage_of(kernel->body.values[v].dtype), o,
          is_bool(w, value_of(w, v)->same_as) ? "(int)" : "", name_of(w, value_of(w, v)->same_as).text);
  }
  put(w, "}\n");
}

/* -- inputs ----------------------------------------------------------------------------------- */

/* Numbers the strides that are arguments: by input, then by merged axis, then that within a row. */
static uint32_t stride_number(const Writer *w, uint32_t input, uint32_t axis) {
  uint32_t number = 0;
  for (uint32_t k = 0; k <= input; k++) {
    const GpuFusedInput *at = &w->shape->inputs[k];
    for (uint32_t a = 0; a < w->shape->rank; a++) {
      if (k == input && a == axis) return number;
      number += at->axes >> a & 1u;
    }
    if (k == input) return number;
    number += at->way == GPU_FUSED_STRIDED && at->inner == GPU_FUSED_BY_STRIDE;
  }
  return number;
}

/* Reads input k from its place in the vectors of a row. */
static void put_fetch(Writer *w, uint32_t k) {
  const GpuFusedInput *input = &w->shape->inputs[k];
  const char *type = storage_of(value_of(w, k)->dtype);
  const bool strided = input->way == GPU_FUSED_STRIDED && input->inner == GPU_FUSED_BY_STRIDE;
  const uint32_t number = stride_number(w, k, w->shape->rank);
  print(w, "  { const %s *from = (const %s *)p.in[%u]", type, type, k);
  if (input->way != GPU_FUSED_ONE) print(w, " + at.o%u", k);
  if (strided) print(w, " + i * p.strides[%u]", number);
  if (input->inner == GPU_FUSED_IN_ORDER) put(w, " + i");
  if (input->is_vector) {
    print(w, "; fused_vector<%s, FUSED_WIDTH>(from, left, in.v%u); }\n", type, k);
  } else if (input->inner == GPU_FUSED_REPEATS || w->shape->width == 1) {
    print(w, "; fused_same<%s, FUSED_WIDTH>(from, in.v%u); }\n", type, k);
  } else if (strided) {
    print(w, "; fused_lanes<%s, FUSED_WIDTH>(from, p.strides[%u], left, in.v%u); }\n", type, number, k);
  } else {
    print(w, "; fused_lanes<%s, FUSED_WIDTH>(from, 1, left, in.v%u); }\n", type, k);
  }
}

static void put_resident(Writer *w) {
  put(w,
      "static __device__ inline void fused_fetch_resident(const Fused &p, const Places &at, int64_t i, int64_t left, "
      "Inputs &in) {\n");
  for (uint32_t k = 0; k < w->kernel->body.input_count; k++)
    if (w->kernel->is_resident[k]) put_fetch(w, k);
  put(w, "}\n");
}

/* Loop by loop: what is not resident, and words of random numbers. `element`: of the space, in order. */
static void put_fetch_function(Writer *w) {
  const BurnFusedKernel *kernel = w->kernel;
  print(w,
        "static __device__ inline void fused_fetch_%u(const Fused &p, const Places &at, int64_t i, int64_t left, "
        "int64_t element, Inputs &in) {\n",
        w->loop);
  for (uint32_t k = 0; k < kernel->body.input_count; k++)
    if (w->needed[k] && !kernel->is_resident[k] && !value_of(w, k)->is_reduced) put_fetch(w, k);
  for (uint32_t v = kernel->body.input_count; v < kernel->plan.value_count; v++) {
    if (!w->needed[v] || !is_random(form_of(w, v)) || !burn__gpu_fused_computes(kernel, v, w->loop)) continue;
    const uint32_t seed = number_of(w, v) + (form_of(w, v) == BURN_COMMON_FORM_BERNOULLI ? 1u : 2u);
    print(w, "  fused_words<FUSED_WIDTH>(p.numbers[%u], p.numbers[%u], (uint64_t)element, in.v%u);\n", seed, seed + 1u,
          v);
  }
  put(w, "}\n");
}

static void put_offsets(Writer *w) {
  const BurnFusedKernel *kernel = w->kernel;
  const GpuFusedShape *shape = w->shape;
  put(w, "static __device__ inline void fused_offsets(const Fused &p, Place place, Places &at) {\n");
  for (uint32_t k = 0; k < kernel->body.input_count; k++) {
    if (shape->inputs[k].way > GPU_FUSED_ONE)
      print(w, "  at.o%u = %s;\n", k, shape->inputs[k].way == GPU_FUSED_DENSE ? "place" : "0");
  }
  for (uint32_t axis = shape->rank; axis-- > 0;) {
    print(w, "  {\n    const Place size = (Place)p.sizes[%u], next = fused_divide(place, size, p.magics[%u]);\n", axis,
          axis);
    print(w, "    const Place here = %s;\n", axis > 0 ? "place - next * size" : "place");
    for (uint32_t k = 0; k < kernel->body.input_count; k++)
      if (shape->inputs[k].axes >> axis & 1u)
        print(w, "    at.o%u += (int64_t)here * p.strides[%u];\n", k, stride_number(w, k, axis));
    put(w, "    place = next;\n  }\n");
  }
  put(w, "}\n");
}

static void put_row_inputs(Writer *w) {
  const BurnFusedKernel *kernel = w->kernel;
  put(w, "static __device__ inline void fused_row_inputs(const Fused &p, const Places &at, Rows &r) {\n");
  for (uint32_t k = 0; k < kernel->body.input_count; k++) {
    if (!kernel->is_live[k] || !value_of(w, k)->is_reduced) continue;
    print(w, "  r.v%u = fused_get(((const %s *)p.in[%u])[", k, storage_of(value_of(w, k)->dtype), k);
    if (w->shape->inputs[k].way == GPU_FUSED_ONE) put(w, "0]);\n");
    if (w->shape->inputs[k].way != GPU_FUSED_ONE) print(w, "at.o%u]);\n", k);
  }
  put(w, "}\n");
}

/* -- structs ---------------------------------------------------------------------------------- */

static void put_arguments(Writer *w) {
  const BurnFusedKernel *kernel = w->kernel;
  const uint32_t strides = stride_number(w, kernel->body.input_count, w->shape->rank);
  print(w, "struct Fused {\n  uint64_t in[%u], out[%u];\n  int64_t count, size, units, parts, part_size;\n",
        kernel->body.input_count > 0 ? kernel->body.input_count : 1u, kernel->body.output_count);
  put(w, "  uint64_t partial;\n");
  print(w, "  int64_t sizes[%u];\n  uint64_t magics[%u];\n", w->shape->rank + 1u, w->shape->rank + 1u);
  print(w, "  int64_t strides[%u];\n  uint64_t numbers[%u];\n};\n", strides + 1u, kernel->number_count + 1u);
}

static void put_values(Writer *w) {
  const BurnFusedKernel *kernel = w->kernel;
  put(w, "struct Places { int64_t none;");
  for (uint32_t k = 0; k < kernel->body.input_count; k++)
    if (w->shape->inputs[k].way > GPU_FUSED_ONE) print(w, " int64_t o%u;", k);
  put(w, " };\nstruct Inputs {");
  for (uint32_t v = 0; v < kernel->plan.value_count; v++) {
    if (!kernel->is_live[v] || value_of(w, v)->is_reduced) continue;
    if (is_input(w, v)) print(w, " %s v%u[FUSED_WIDTH];", type_of(w, v), v);
    if (is_random(form_of(w, v))) print(w, " uint32_t v%u[FUSED_WIDTH];", v);
  }
  put(w, " };\nstruct Rows {");
  for (uint32_t v = 0; v < kernel->plan.value_count; v++)
    if (kernel->is_live[v] && value_of(w, v)->is_reduced) print(w, " %s v%u;", type_of(w, v), v);
  put(w, " };\nstruct Kept {");
  for (uint32_t v = kernel->body.input_count; v < kernel->plan.value_count; v++)
    if (kernel->is_live[v] && value_of(w, v)->is_kept && !value_of(w, v)->is_reduced && kernel->rows_are_resident)
      print(w, " %s v%u[FUSED_WIDTH];", type_of(w, v), v);
  put(w, " };\nstruct Outputs {");
  for (uint32_t o = 0; o < kernel->body.output_count; o++)
    if (!kernel->plan.output_is_reduced[o])
      print(w, " Vector<%s, FUSED_WIDTH> o%u;", storage_of(kernel->body.values[kernel->body.outputs[o]].dtype), o);
  put(w, " };\n");
}

static void put_constants(Writer *w) {
  const BurnFusedKernel *kernel = w->kernel;
  const uint32_t threads = kernel->threads > 0 ? kernel->threads : GPU_FUSED_THREADS;
  const uint32_t block = threads < GPU_FUSED_THREADS && threads == 32 ? GPU_FUSED_THREADS : threads;
  print(w, "#define FUSED_REGION %d\n#define FUSED_WIDTH %u\n#define FUSED_VECTORS %u\n", (int)kernel->plan.region,
        w->shape->width, w->shape->vectors);
  print(w, "#define FUSED_THREADS %u\n#define FUSED_BLOCK %u\n#define FUSED_ITEMS %u\n", threads, block,
        kernel->items > 0 ? kernel->items : 1u);
  print(w, "#define FUSED_RESIDENT %d\n#define FUSED_SINGLE %d\n#define FUSED_REDUCTIONS %u\n",
        kernel->rows_are_resident, w->shape->is_single, kernel->reduction_count);
  print(w, "typedef %s Place;\n", w->shape->is_wide ? "int64_t" : "uint32_t");
}

/* -- reductions ------------------------------------------------------------------------------- */

static const char *nothing_of(uint32_t op) {
  const char *join = join_of(op);
  return strcmp(join, "fused_sum") == 0 ? "-0.0f" : strcmp(join, "fused_largest") == 0 ? "-INFINITY" : "INFINITY";
}

static void put_joins(Writer *w) {
  const BurnFusedKernel *kernel = w->kernel;
  put(w, "static __device__ inline float fused_nothing(int q) {\n");
  for (uint32_t q = 0; q < kernel->reduction_count; q++)
    print(w, "  if (q == %u) return %s;\n", q,
          nothing_of(burn_common_fused_step(&kernel->plan, kernel->reductions[q])->op));
  put(w, "  return 0.0f;\n}\n");
  put(w, "static __device__ inline float fused_join(int q, float a, float b) {\n");
  for (uint32_t q = 0; q < kernel->reduction_count; q++)
    print(w, "  if (q == %u) return %s(a, b);\n", q,
          join_of(burn_common_fused_step(&kernel->plan, kernel->reductions[q])->op));
  put(w, "  return a;\n}\n");
}

static void put_finish(Writer *w) {
  const BurnFusedKernel *kernel = w->kernel;
  print(w, "static __device__ inline void fused_finish_%u(const Fused &p, const float *sums, Rows &r) {\n", w->loop);
  for (uint32_t q = 0; q < kernel->reduction_count; q++) {
    const uint32_t v = kernel->reductions[q], op = burn_common_fused_step(&kernel->plan, v)->op;
    const bool is_mean = op == BURN_OP_mean_dim || op == BURN_OP_mean;
    const BurnDType dtype = value_of(w, v)->dtype;
    if (!burn_common_fused_reduces(&kernel->plan, v, w->loop)) continue;
    print(w, "  r.v%u = sums[%u]%s;\n", v, q, is_mean ? " / (float)p.size" : "");
    if (dtype != BURN_DTYPE_F32) print(w, "  r.v%u = fused_round_%s(r.v%u);\n", v, storage_of(dtype), v);
  }
  put(w, "}\n");
}

/* What does something in the loop with that number: it is known where one is compiled. */
static void put_choice(Writer *w, const char *name, const char *parameters, const char *arguments) {
  print(w, "static __device__ inline void fused_%s_of(const int loop, const Fused &p, %s) {\n", name, parameters);
  for (uint32_t loop = 1; loop < w->kernel->plan.loop_count; loop += 2)
    print(w, "  if (loop == %u) fused_%s_%u(p, %s);\n", loop, name, loop, arguments);
  put(w, "}\n");
}

static void put_choices(Writer *w) {
  put_choice(w, "fetch", "const Places &at, int64_t i, int64_t left, int64_t element, Inputs &in",
             "at, i, left, element, in");
  put_choice(w, "step", "const Inputs &in, const int k, Rows &r, Kept &kept, float *sums, Outputs &out",
             "in, k, r, kept, sums, out");
  put_choice(w, "store", "int64_t at, int64_t left, const Outputs &out", "at, left, out");
}

/* The order of a row's loops, for kernels/fused.cu. */
static void put_order(Writer *w) {
  const BurnFusedKernel *kernel = w->kernel;
  uint32_t first = 0;
  put(w, "#define FUSED_LOOPS");
  for (uint32_t loop = 0; loop < kernel->plan.loop_count; loop++) {
    if (loop % 2 == 0) {
      print(w, " fused_rows_%u(p, r, row, is_first);", loop);
      continue;
    }
    uint32_t end = first;
    while (end < kernel->reduction_count && burn_common_fused_reduces(&kernel->plan, kernel->reductions[end], loop))
      end++;
    print(w, " FUSED_ELEMENTS(%u)", loop);
    if (end > first)
      print(w, " fused_join_threads<%u, %u, FUSED_THREADS>(sums); fused_finish_%u(p, sums, r);", first, end, loop);
    first = end;
  }
  put(w, "\n");
}

/* -- the whole -------------------------------------------------------------------------------- */

static void put_body(Writer *w) {
  const uint32_t loops = w->kernel->plan.loop_count > 3 ? w->kernel->plan.loop_count : 3;
  put(w, "#define FUSED_SUMS (FUSED_REDUCTIONS > 0 ? FUSED_REDUCTIONS : 1)\n");
  put_arguments(w);
  put_values(w);
  put_offsets(w);
  put_row_inputs(w);
  put_resident(w);
  if (w->kernel->reduction_count > 0) put_joins(w);
  for (uint32_t loop = 0; loop < loops; loop++) {
    begin_loop(w, loop);
    if (loop % 2 == 0) {
      put_rows_function(w);
      continue;
    }
    put_fetch_function(w);
    put_step_function(w);
    put_store_function(w);
    put_finish(w);
  }
  if (w->kernel->plan.region == BURN_COMMON_REGION_LAST) put_choices(w);
  put_order(w);
}

char *burn__gpu_fused_text(const BurnHost *host, const BurnFusedKernel *kernel, const GpuFusedShape *shape,
                           uint64_t *bytes) {
  Writer w = {.host = host, .kernel = kernel, .shape = shape};
  put(&w, burn__gpu_text_prelude);
  put_functions(&w);
  put(&w, burn__gpu_text_fused_parts);
  put_constants(&w);
  put_body(&w);
  put(&w, burn__gpu_text_fused);
  *bytes = w.room;
  if (!w.has_failed) return w.text;
  host->free(w.text, w.room);
  return NULL;
}
