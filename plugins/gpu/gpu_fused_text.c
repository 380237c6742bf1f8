/* gpu_fused_text.c - the source of a fused body: what kernels/fused.cu asks for, around the steps
 * (gpu_fused_steps.c). */
#include "gpu_fused_writer.h"

#include <stdio.h>
#include <string.h>

/* -- writing ---------------------------------------------------------------------------------- */

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

void burn__gpu_fused_put(Writer *w, const char *part) {
  const uint64_t length = strlen(part);
  if (!make_room(w, length + 1)) return;
  memcpy(w->text + w->used, part, length + 1);
  w->used += length;
}

void burn__gpu_fused_print(Writer *w, const char *format, va_list arguments) {
  char line[400];
  const int length = vsnprintf(line, sizeof line, format, arguments);
  w->has_failed = w->has_failed || length < 0 || (size_t)length >= sizeof line;
  put(w, line);
}

/* -- steps ------------------------------------------------------------------------------------ */

/* Steps of the loop, then what has to wait for a later one. */
static void put_steps(Writer *w) {
  const BurnFusedKernel *kernel = w->kernel;
  for (uint32_t v = kernel->body.input_count; v < kernel->plan.value_count; v++)
    if (w->needed[v] && burn__gpu_fused_computes(kernel, v, w->loop)) burn__gpu_fused_put_step(w, v);
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

/* The operand of a reduction. */
static uint32_t operand_of(const Writer *w, uint32_t v) {
  return burn_common_fused_input(&w->kernel->plan, burn_common_fused_step(&w->kernel->plan, v), 0);
}

/* What reduction v is joined in. */
static const char *sum_of(const Writer *w, uint32_t v) {
  const BurnDType dtype = burn__gpu_fused_joined_in(w->kernel, v);
  return dtype == BURN_DTYPE_I64 ? "int64_t" : dtype == BURN_DTYPE_F64 ? "double" : "float";
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
    print(w, "  sums[%u] = fused_join(%u, sums[%u], fused_pack((%s)%s));\n", q, q, q, sum_of(w, v),
          burn__gpu_fused_name(w, operand_of(w, v)).text);
  }
}

static void put_step_function(Writer *w) {
  const BurnFusedKernel *kernel = w->kernel;
  print(
      w,
      "static __device__ inline void fused_step_%u(const Fused &p, const Inputs &in, const int k, Rows &r, Kept &kept, "
      "Sum *sums, Outputs &out) {\n",
      w->loop);
  put_steps(w);
  put_sums(w);
  for (uint32_t o = 0; o < kernel->body.output_count; o++) {
    if (burn_common_fused_loop_of_output(&kernel->plan, o) != w->loop) continue;
    print(w, "  burn_put(out.o%u.at[k], %s%s);\n", o,
          is_bool(w, value_of(w, kernel->body.outputs[o])->same_as) ? "(int)" : "",
          burn__gpu_fused_name(w, value_of(w, kernel->body.outputs[o])->same_as).text);
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
    const char *type = burn__gpu_fused_storage(kernel->body.values[kernel->body.outputs[o]].dtype);
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
    print(w, "  if (is_first) burn_put(((%s *)p.out[%u])[at], %s%s);\n",
          burn__gpu_fused_storage(kernel->body.values[v].dtype), o, is_bool(w, value_of(w, v)->same_as) ? "(int)" : "",
          burn__gpu_fused_name(w, value_of(w, v)->same_as).text);
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
    number += gpu_fused_has_inner_stride(at);
  }
  return number;
}

/* Reads input k from its place in the vectors of a row. */
static void put_fetch(Writer *w, uint32_t k) {
  const GpuFusedInput *input = &w->shape->inputs[k];
  const char *type = burn__gpu_fused_storage(value_of(w, k)->dtype);
  const bool strided = input->way == GPU_FUSED_STRIDED && input->inner == GPU_FUSED_BY_STRIDE;
  const uint32_t number = stride_number(w, k, w->shape->rank);
  print(w, "  { const %s *from = (const %s *)p.in[%u]", type, type, k);
  if (input->way != GPU_FUSED_ONE) print(w, " + at.o%u", k);
  if (input->inner == GPU_FUSED_SPREAD) {
    print(w, "; fused_spread<%s, FUSED_WIDTH, %u>(from, at.lane, p.strides[%u], left, in.v%u); }\n", type,
          input->spread, number, k);
    return;
  }
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
    if (axis + 1u == shape->rank) put(w, "    at.lane = here;\n");
    put(w, "    place = next;\n  }\n");
  }
  put(w, "}\n");
}

static void put_row_inputs(Writer *w) {
  const BurnFusedKernel *kernel = w->kernel;
  put(w, "static __device__ inline void fused_row_inputs(const Fused &p, const Places &at, Rows &r) {\n");
  for (uint32_t k = 0; k < kernel->body.input_count; k++) {
    if (!kernel->is_live[k] || !value_of(w, k)->is_reduced) continue;
    print(w, "  r.v%u = fused_get(((const %s *)p.in[%u])[", k, burn__gpu_fused_storage(value_of(w, k)->dtype), k);
    if (w->shape->inputs[k].way == GPU_FUSED_ONE) put(w, "0]);\n");
    if (w->shape->inputs[k].way != GPU_FUSED_ONE) print(w, "at.o%u]);\n", k);
  }
  put(w, "}\n");
}

/* -- structs ---------------------------------------------------------------------------------- */

static void put_arguments(Writer *w) {
  const BurnFusedKernel *kernel = w->kernel;
  const uint32_t strides = stride_number(w, kernel->body.input_count, w->shape->rank);
  print(w, "struct Fused {\n  uint64_t in[%u], out[%u];\n  int64_t count, size, units, inner, parts, part_size;\n",
        kernel->body.input_count > 0 ? kernel->body.input_count : 1u, kernel->body.output_count);
  put(w, "  uint64_t partial;\n");
  print(w, "  int64_t sizes[%u];\n  uint64_t magics[%u];\n", w->shape->rank + 1u, w->shape->rank + 1u);
  print(w, "  int64_t strides[%u];\n  uint64_t numbers[%u];\n};\n", strides + 1u, kernel->number_count + 1u);
}

static void put_values(Writer *w) {
  const BurnFusedKernel *kernel = w->kernel;
  put(w, "struct Places { Place lane;"); /* along the last axis */
  for (uint32_t k = 0; k < kernel->body.input_count; k++)
    if (w->shape->inputs[k].way > GPU_FUSED_ONE) print(w, " int64_t o%u;", k);
  put(w, " };\nstruct Inputs {");
  for (uint32_t v = 0; v < kernel->plan.value_count; v++) {
    if (!kernel->is_live[v] || value_of(w, v)->is_reduced) continue;
    if (is_input(w, v)) print(w, " %s v%u[FUSED_WIDTH];", burn__gpu_fused_type(w, v), v);
    if (is_random(form_of(w, v))) print(w, " uint32_t v%u[FUSED_WIDTH];", v);
  }
  put(w, " };\nstruct Rows {");
  for (uint32_t v = 0; v < kernel->plan.value_count; v++)
    if (kernel->is_live[v] && value_of(w, v)->is_reduced) print(w, " %s v%u;", burn__gpu_fused_type(w, v), v);
  put(w, " };\nstruct Kept {");
  for (uint32_t v = kernel->body.input_count; v < kernel->plan.value_count; v++)
    if (kernel->is_live[v] && value_of(w, v)->is_kept && !value_of(w, v)->is_reduced && kernel->rows_are_resident)
      print(w, " %s v%u[FUSED_WIDTH];", burn__gpu_fused_type(w, v), v);
  put(w, " };\nstruct Outputs {");
  for (uint32_t o = 0; o < kernel->body.output_count; o++)
    if (!kernel->plan.output_is_reduced[o])
      print(w, " Vector<%s, FUSED_WIDTH> o%u;",
            burn__gpu_fused_storage(kernel->body.values[kernel->body.outputs[o]].dtype), o);
  put(w, " };\n");
}

static void put_constants(Writer *w) {
  const BurnFusedKernel *kernel = w->kernel;
  const uint32_t threads = kernel->threads > 0 ? kernel->threads : GPU_FUSED_THREADS;
  const uint32_t block = burn__gpu_fused_threads(kernel);
  print(w, "#define FUSED_REGION %d\n#define FUSED_WIDTH %u\n#define FUSED_VECTORS %u\n", (int)kernel->plan.region,
        w->shape->width, w->shape->vectors);
  print(w, "#define FUSED_THREADS %u\n#define FUSED_BLOCK %u\n#define FUSED_ITEMS %u\n", threads, block,
        kernel->items > 0 ? kernel->items : 1u);
  print(w, "#define FUSED_RESIDENT %d\n#define FUSED_SINGLE %d\n#define FUSED_REDUCTIONS %u\n",
        kernel->rows_are_resident, w->shape->is_single, kernel->reduction_count);
  print(w, "typedef %s Place;\n", w->shape->is_wide ? "int64_t" : "uint32_t");
}

/* -- reductions ------------------------------------------------------------------------------- */

static const char *nothing_of(const char *join, const char *sum) {
  static const char *const names[][3] = {{"-0.0f", "-0.0", "(int64_t)0"},
                                         {"-INFINITY", "-(double)INFINITY", "INT64_MIN"},
                                         {"INFINITY", "(double)INFINITY", "INT64_MAX"}};
  const int row = strcmp(join, "fused_sum") == 0 ? 0 : strcmp(join, "fused_largest") == 0 ? 1 : 2;
  return names[row][strcmp(sum, "float") == 0 ? 0 : strcmp(sum, "double") == 0 ? 1 : 2];
}

/* Sums of a body are numbers of one type, or the bits of several. */
static void put_sum_type(Writer *w) {
  const BurnFusedKernel *kernel = w->kernel;
  const char *first = kernel->reduction_count > 0 ? sum_of(w, kernel->reductions[0]) : "float";
  bool is_same = true;
  for (uint32_t q = 1; q < kernel->reduction_count; q++)
    is_same = is_same && strcmp(sum_of(w, kernel->reductions[q]), first) == 0;
  print(w, "typedef %s Sum;\n", is_same ? first : "uint64_t");
  for (uint32_t k = 0; k < 3; k++) {
    static const char *const types[] = {"float", "double", "int64_t"};
    static const char *const packed[] = {"burn_bits_f32(x)", "burn_bits_f64(x)", "(uint64_t)x"};
    static const char *const unpacked[] = {"burn_from_bits_f32((uint32_t)x)", "burn_from_bits_f64(x)", "(int64_t)x"};
    if (is_same && strcmp(types[k], first) != 0) continue;
    print(w, "static __device__ inline Sum fused_pack(%s x) { return %s; }\n", types[k], is_same ? "x" : packed[k]);
    print(w, "static __device__ inline %s fused_unpack_%s(Sum x) { return %s; }\n", types[k], types[k],
          is_same ? "x" : unpacked[k]);
  }
}

static void put_joins(Writer *w) {
  const BurnFusedKernel *kernel = w->kernel;
  put(w, "static __device__ inline Sum fused_nothing(int q) {\n");
  for (uint32_t q = 0; q < kernel->reduction_count; q++) {
    const uint32_t v = kernel->reductions[q];
    print(w, "  if (q == %u) return fused_pack(%s);\n", q,
          nothing_of(join_of(burn_common_fused_step(&kernel->plan, v)->op), sum_of(w, v)));
  }
  put(w, "  return (Sum)0;\n}\n");
  put(w, "static __device__ inline Sum fused_join(int q, Sum a, Sum b) {\n");
  for (uint32_t q = 0; q < kernel->reduction_count; q++) {
    const uint32_t v = kernel->reductions[q];
    const char *sum = sum_of(w, v);
    print(w, "  if (q == %u) return fused_pack(%s(fused_unpack_%s(a), fused_unpack_%s(b)));\n", q,
          join_of(burn_common_fused_step(&kernel->plan, v)->op), sum, sum);
  }
  put(w, "  return a;\n}\n");
}

static void put_finish(Writer *w) {
  const BurnFusedKernel *kernel = w->kernel;
  print(w, "static __device__ inline void fused_finish_%u(const Fused &p, const Sum *sums, Rows &r) {\n", w->loop);
  for (uint32_t q = 0; q < kernel->reduction_count; q++) {
    const uint32_t v = kernel->reductions[q], op = burn_common_fused_step(&kernel->plan, v)->op;
    const BurnDType dtype = value_of(w, v)->dtype;
    const char *sum = sum_of(w, v), *storage = burn__gpu_fused_storage(dtype);
    if (!burn_common_fused_reduces(&kernel->plan, v, w->loop)) continue;
    print(w, "  %s v%u = fused_unpack_%s(sums[%u]);\n", sum, v, sum, q);
    if (op == BURN_OP_mean_dim || op == BURN_OP_mean) print(w, "  v%u = v%u / (%s)p.size;\n", v, v, sum);
    if (dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16)
      print(w, "  r.v%u = fused_round_%s(v%u);\n", v, storage, v);
    else
      print(w, "  r.v%u = (%s)v%u;\n", v, storage, v);
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
  put_choice(w, "step", "const Inputs &in, const int k, Rows &r, Kept &kept, Sum *sums, Outputs &out",
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
  put_sum_type(w);
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

/* True if nothing that is computed outlives a body but in halves. */
static bool has_fast_math(const BurnFusedKernel *kernel) {
  bool is_half = kernel->reduction_count == 0;
  for (uint32_t o = 0; o < kernel->body.output_count; o++)
    is_half = is_half && burn__gpu_is_half(kernel->body.values[kernel->body.outputs[o]].dtype);
  return is_half;
}

char *burn__gpu_fused_text(const BurnHost *host, const BurnFusedKernel *kernel, const GpuFusedShape *shape,
                           uint64_t *bytes) {
  Writer w = {.host = host, .kernel = kernel, .shape = shape};
  if (has_fast_math(kernel)) put(&w, GPU_FAST_MATH);
  put(&w, burn__gpu_text_prelude);
  burn__gpu_fused_put_functions(&w);
  put(&w, burn__gpu_text_fused_parts);
  put_constants(&w);
  put_body(&w);
  put(&w, burn__gpu_text_fused);
  *bytes = w.room;
  if (!w.has_failed) return w.text;
  host->free(w.text, w.room);
  return NULL;
}
