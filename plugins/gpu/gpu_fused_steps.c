/* gpu_fused_steps.c - the steps of a fused body as statements: the expressions of elementwise.def in what their dtype
 * is computed in. Values are v<number>: a local one, or a field of what waits. */
#include "gpu_fused_writer.h"

#include <stdio.h>
#include <string.h>

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

void burn__gpu_fused_put_functions(Writer *w) {
  bool wanted[FUNCTION_COUNT] = {false};
  for (uint32_t i = 0; i < w->kernel->body.step_count; i++) {
    if (!w->kernel->is_live[w->kernel->body.input_count + i]) continue;
    const GpuExpression e = expression_of(w, i);
    want_functions(e.f32, wanted);
    want_functions(e.f64, wanted);
    want_functions(e.integers, wanted);
    want_functions(e.large ? "burn_abs_f32" : NULL, wanted);
  }
  for (size_t i = FUNCTION_COUNT; i-- > 0;)
    if (wanted[i]) want_functions(functions[i].text, wanted);
  for (size_t i = 0; i < FUNCTION_COUNT; i++)
    if (wanted[i]) put(w, functions[i].text);
}

/* -- values ----------------------------------------------------------------------------------- */

const char *burn__gpu_fused_storage(BurnDType dtype) {
  static const char *const names[] = {
      [BURN_DTYPE_BOOL] = "bool_t", [BURN_DTYPE_U8] = "u8_t",     [BURN_DTYPE_I8] = "i8_t",
      [BURN_DTYPE_I16] = "i16_t",   [BURN_DTYPE_I32] = "i32_t",   [BURN_DTYPE_I64] = "i64_t",
      [BURN_DTYPE_F16] = "f16_t",   [BURN_DTYPE_BF16] = "bf16_t", [BURN_DTYPE_F32] = "f32_t",
      [BURN_DTYPE_F64] = "f64_t"};
  return names[dtype];
}

/* As Element<S>::C of kernels/prelude.cu, but for bools. */
const char *burn__gpu_fused_type(const Writer *w, uint32_t v) {
  static const char *const names[] = {
      [BURN_DTYPE_BOOL] = "bool",   [BURN_DTYPE_U8] = "uint8_t",  [BURN_DTYPE_I8] = "int32_t",
      [BURN_DTYPE_I16] = "int32_t", [BURN_DTYPE_I32] = "int32_t", [BURN_DTYPE_I64] = "int64_t",
      [BURN_DTYPE_F16] = "float",   [BURN_DTYPE_BF16] = "float",  [BURN_DTYPE_F32] = "float",
      [BURN_DTYPE_F64] = "double"};
  return names[value_of(w, v)->dtype];
}

Name burn__gpu_fused_name(const Writer *w, uint32_t v) {
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

static BurnDType first_dtype(const Writer *w, uint32_t v) {
  const BurnFusedStep *step = burn_common_fused_step(&w->kernel->plan, v);
  return value_of(w, burn_common_fused_input(&w->kernel->plan, step, 0))->dtype;
}

/* -- casts ------------------------------------------------------------------------------------ */

/* To a half by the float from which it is rounded once, afterwards. */
static void put_cast_of_integer(Writer *w, uint32_t v, const char *x, BurnDType from) {
  const BurnDType to = value_of(w, v)->dtype;
  if (is_integer(w, v)) {
    print(w, "v%u = (%s)%s; ", v, burn__gpu_fused_storage(to), x);
  } else if (from == BURN_DTYPE_I64 && (to == BURN_DTYPE_F16 || to == BURN_DTYPE_BF16)) {
    print(w, "v%u = burn_f64_to_odd(burn_integer_to_odd(%s)); ", v, x);
  } else if (from == BURN_DTYPE_I32 && (to == BURN_DTYPE_F16 || to == BURN_DTYPE_BF16)) {
    print(w, "v%u = burn_f64_to_odd((double)%s); ", v, x);
  } else {
    print(w, "v%u = (%s)%s; ", v, burn__gpu_fused_type(w, v), x);
  }
}

static void put_cast(Writer *w, uint32_t v, uint32_t from) {
  const Name name = burn__gpu_fused_name(w, from);
  const BurnDType to = value_of(w, v)->dtype;
  if (is_bool(w, from)) {
    print(w, "v%u = %s%s; ", v, name.text, is_bool(w, v) ? "" : is_integer(w, v) ? " ? 1 : 0" : " ? 1.0f : 0.0f");
  } else if (is_bool(w, v)) {
    print(w, "v%u = %s != %s; ", v, name.text, is_integer(w, from) ? "0" : "0.0f");
  } else if (is_integer(w, from)) {
    put_cast_of_integer(w, v, name.text, value_of(w, from)->dtype);
  } else if (is_integer(w, v)) {
    print(w, "v%u = (%s)burn_saturate<%s>((double)%s); ", v, burn__gpu_fused_type(w, v), burn__gpu_fused_storage(to),
          name.text);
  } else if (is_f64(w, from) && !is_f64(w, v)) { /* halves are rounded once, afterwards */
    print(w, "v%u = %s(%s); ", v, to == BURN_DTYPE_F32 ? "(float)" : "burn_f64_to_odd", name.text);
  } else {
    print(w, "v%u = %s; ", v, name.text);
  }
}

/* -- steps ------------------------------------------------------------------------------------ */

/* The inputs as x, y and z; bools as numbers where they are computed with. */
static void put_operands(Writer *w, const BurnFusedStep *step, bool has_masks) {
  static const char letters[] = "xyz";
  for (uint32_t i = 0; i < step->input_count; i++) {
    const uint32_t v = burn_common_fused_input(&w->kernel->plan, step, i);
    const bool is_number = is_bool(w, v) && !(has_masks && i == 1);
    print(w, "const %s %c = %s; ", is_number ? "int" : burn__gpu_fused_type(w, v), letters[i],
          burn__gpu_fused_name(w, v).text);
  }
}

/* Number `n` of the call as `name`, in what the step's first operand is computed in. */
static void put_number(Writer *w, const char *name, uint32_t n, BurnDType dtype) {
  if (burn_dtype_kind(dtype) != BURN_KIND_FLOAT)
    print(w, "const T %s = (T)(int64_t)p.numbers[%u]; ", name, n);
  else if (dtype == BURN_DTYPE_F64)
    print(w, "const double %s = burn_from_bits_f64(p.numbers[%u]); ", name, n);
  else
    print(w, "const float %s = fused_number(p.numbers[%u]); ", name, n);
}

/* Of floats, by the op's own expression, with x, y, z, s and q. */
static void put_float_expression(Writer *w, uint32_t v, const BurnFusedStep *step) {
  const BurnCommonForm form = form_of(w, v);
  const GpuExpression e = expression_of(w, v - w->kernel->body.input_count);
  const BurnDType dtype = first_dtype(w, v);
  const bool in_f64 = dtype == BURN_DTYPE_F64;
  const uint32_t numbers = burn__gpu_fused_numbers(form);
  put_operands(w, step, form == BURN_COMMON_FORM_WHERE || form == BURN_COMMON_FORM_FILL);
  if (numbers > 0) put_number(w, "s", number_of(w, v), dtype);
  if (form == BURN_COMMON_FORM_DIVIDE && !in_f64 && choice_of(w, v - w->kernel->body.input_count) == 0) {
    print(w, "v%u = fused_quotient(x, s, p.numbers[%u]); ", v, number_of(w, v) + 1);
    return;
  }
  if (numbers > 1) put_number(w, "q", number_of(w, v) + 1, dtype);
  print(w, "v%u = (", v);
  if (e.large && !in_f64) print(w, "burn_abs_f32(x) > 1.0e9f ? %s : ", e.large);
  put(w, in_f64 ? e.f64 : e.f32);
  put(w, "); ");
}

/* A number that integers are compared with stays as it was given, as in gpu_elementwise.c. */
static void put_compared(Writer *w, uint32_t v, const BurnFusedStep *step, const char *comparison) {
  const Name x = burn__gpu_fused_name(w, burn_common_fused_input(&w->kernel->plan, step, 0));
  const uint32_t n = number_of(w, v);
  if (w->kernel->has_real_number[v - w->kernel->body.input_count])
    print(w, "const double x = burn_order((int64_t)%s, burn_from_bits_f64(p.numbers[%u])), s = 0.0; ", x.text, n);
  else
    print(w, "const int64_t x = (int64_t)%s, s = (int64_t)p.numbers[%u]; ", x.text, n);
  print(w, "v%u = (%s); ", v, comparison);
}

/* Of integers and bools. T and U are what elementwise.def says. */
static void put_integer_expression(Writer *w, uint32_t v, const BurnFusedStep *step) {
  const BurnCommonForm form = form_of(w, v);
  const GpuExpression e = expression_of(w, v - w->kernel->body.input_count);
  const BurnDType dtype = first_dtype(w, v);
  const uint32_t numbers = burn__gpu_fused_numbers(form);
  if (form == BURN_COMMON_FORM_COMPARE_SCALAR) {
    put_compared(w, v, step, e.integers);
    return;
  }
  const uint32_t first = burn_common_fused_input(&w->kernel->plan, step, 0);
  print(w, "typedef %s T; typedef %s U; ", is_bool(w, first) ? "int" : burn__gpu_fused_type(w, first),
        dtype == BURN_DTYPE_I64 ? "uint64_t" : "uint32_t");
  put_operands(w, step, form == BURN_COMMON_FORM_WHERE || form == BURN_COMMON_FORM_FILL);
  if (numbers > 0) put_number(w, "s", number_of(w, v), dtype);
  if (form == BURN_COMMON_FORM_CLAMP) put_number(w, "q", number_of(w, v) + 1, dtype);
  print(w, "v%u = (%s)", v, e.integers);
  put(w, is_bool(w, v) ? " != 0; " : "; ");
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

static void put_created(Writer *w, uint32_t v) {
  const uint32_t n = number_of(w, v);
  if (is_integer(w, v))
    print(w, "v%u = (%s)(int64_t)p.numbers[%u]; ", v, burn__gpu_fused_type(w, v), n);
  else
    print(w, "v%u = fused_number(p.numbers[%u])%s; ", v, n, is_bool(w, v) ? " != 0.0f" : "");
}

/* The mean's share of each place of a window, as kernels/pool.cu makes it. */
static void put_spread(Writer *w, uint32_t v) {
  const uint32_t from = burn_common_fused_input(&w->kernel->plan, burn_common_fused_step(&w->kernel->plan, v), 0);
  const uint32_t rank = w->kernel->plan.space.rank;
  const BurnTensorDesc *windows = &w->kernel->body.values[from];
  const int64_t *plane = w->kernel->plan.space.shape;
  const double places =
      (double)(plane[rank - 2] / windows->shape[rank - 2] * (plane[rank - 1] / windows->shape[rank - 1]));
  const double reciprocal = 1.0 / places;
  uint64_t bits;
  memcpy(&bits, &reciprocal, sizeof bits);
  if (is_f64(w, v))
    print(w, "v%u = fused_add_to_zero(%s / %.1f); ", v, burn__gpu_fused_name(w, from).text, places);
  else
    print(w, "v%u = fused_add_to_zero(fused_quotient(%s, %.1ff, (uint64_t)%lluu)); ", v,
          burn__gpu_fused_name(w, from).text, places, (unsigned long long)bits);
}

static bool is_read_by_a_step(const Writer *w, uint32_t v) {
  const BurnFusedKernel *kernel = w->kernel;
  for (uint32_t i = 0; i < kernel->body.step_count; i++) {
    const BurnFusedStep *step = &kernel->body.steps[i];
    for (uint32_t k = 0; k < step->input_count; k++) {
      if (step->inputs[k] != BURN_FUSED_ABSENT && burn_common_fused_input(&kernel->plan, step, k) == v) return true;
    }
  }
  return false;
}

/* The value as its dtype has it; what is only stored is rounded when it is. */
static void put_rounding(Writer *w, uint32_t v) {
  const BurnDType dtype = value_of(w, v)->dtype;
  const char *storage = burn__gpu_fused_storage(dtype);
  if (!is_read_by_a_step(w, v)) return;
  if (dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16) print(w, "v%u = fused_round_%s(v%u); ", v, storage, v);
  if (dtype == BURN_DTYPE_I8 || dtype == BURN_DTYPE_I16) print(w, "v%u = (%s)v%u; ", v, storage, v);
}

void burn__gpu_fused_put_step(Writer *w, uint32_t v) {
  const BurnFusedStep *step = burn_common_fused_step(&w->kernel->plan, v);
  const BurnCommonForm form = form_of(w, v);
  print(w, "  %s v%u; { ", burn__gpu_fused_type(w, v), v);
  if (form == BURN_COMMON_FORM_CAST) {
    put_cast(w, v, burn_common_fused_input(&w->kernel->plan, step, 0));
  } else if (is_random(form)) {
    put_random(w, v);
  } else if (form == BURN_COMMON_FORM_CREATE) {
    put_created(w, v);
  } else if (form == BURN_COMMON_FORM_SPREAD) {
    put_spread(w, v);
  } else if (burn_dtype_kind(first_dtype(w, v)) == BURN_KIND_FLOAT) {
    put_float_expression(w, v, step);
  } else {
    put_integer_expression(w, v, step);
  }
  put_rounding(w, v);
  put(w, "}\n");
}
