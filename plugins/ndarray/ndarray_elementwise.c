/* ndarray_elementwise.c - runs the loops of ndarray_kernels.inc over whole tensors: unary, binary, scalar, comparison,
 * masks, casts, activations, dropout.
 *
 * The result is always row-major. If every input is too, the loop runs over all elements at once (in parallel when
 * there are many). Else axes are merged, and either long rows are handed to the loop directly, broadcast inputs with a
 * step of 0; or, where rows are short or inputs have other steps, blocks of the inputs are gathered first. Nothing is
 * expanded as a whole. */
#include "ndarray_kernels.h"

#include <burn/plugin/random.h>

#include <math.h>
#include <string.h>

#define ND_GRAIN_CHEAP 16384 /* elements per chunk at least, for loops at the speed of memory */
#define ND_GRAIN_HEAVY 4096  /* for transcendental functions and divisions */
#define ND_BLOCK 512         /* elements gathered at a time */
#define ND_LONG_ROW 64       /* rows from this length on go to the loop directly */

/* A call over strided inputs. Axes are merged; the result is row-major over shape. */
typedef struct NdStrided {
  NdLoop loop;
  NdRun run; /* scalars; out and in are the first elements */
  uint32_t input_count, rank;
  uint32_t zero_steps; /* bit k: the loop takes a step of 0 for input k; at most one at a time */
  bool by_rows;
  bool plain[3];                  /* the input is row-major over shape */
  int64_t out_bytes, in_bytes[3]; /* of an element */
  int64_t shape[BURN_MAX_RANK];
  int64_t strides[3][BURN_MAX_RANK];
} NdStrided;

/* -- plain inputs -------------------------------------------------------------------------------------------------- */

/* True if x has this shape and lies in row-major order. */
static bool is_plain(const NdTensor *x, const BurnTensorDesc *desc) {
  int64_t expected = 1;
  for (uint32_t i = desc->rank; i-- > 0;) {
    const int64_t size = desc->shape[i];
    if (x->shape[i] != size || (size != 1 && x->strides[i] != expected)) return false;
    expected *= size;
  }
  return true;
}

static const char *at(const void *base, int64_t bytes) { return (const char *)base + bytes; }

static void BURN_CALL run_plain(void *context, int64_t begin, int64_t end) {
  const NdStrided *e = context;
  NdRun run = e->run;
  run.out = (char *)e->run.out + begin * e->out_bytes;
  for (uint32_t k = 0; k < e->input_count; k++) run.in[k] = at(e->run.in[k], begin * e->in_bytes[k]);
  run.count = end - begin;
  e->loop(&run);
}

/* -- strided inputs ------------------------------------------------------------------------------------------------ */

/* Fills rank, shape and strides from the inputs; neighbours that lie behind each other in all inputs become one axis.
 */
static void merge_axes(NdStrided *e, const BurnTensorDesc *desc, NdTensor *const *inputs) {
  e->rank = 0;
  for (uint32_t i = 0; i < desc->rank; i++) {
    const int64_t size = desc->shape[i];
    int64_t strides[3] = {0, 0, 0};
    bool merge = e->rank > 0;
    if (size == 1) continue;
    for (uint32_t k = 0; k < e->input_count; k++) {
      strides[k] = inputs[k]->shape[i] == 1 ? 0 : inputs[k]->strides[i];
      merge = merge && e->strides[k][e->rank - 1] == strides[k] * size;
    }
    if (!merge) e->rank++;
    e->shape[e->rank - 1] = merge ? e->shape[e->rank - 1] * size : size;
    for (uint32_t k = 0; k < e->input_count; k++) e->strides[k][e->rank - 1] = strides[k];
  }
  if (e->rank == 0) {
    e->rank = 1;
    e->shape[0] = 1;
    for (uint32_t k = 0; k < e->input_count; k++) e->strides[k][0] = 1;
  }
}

/* Decides between rows and blocks, and which inputs need no gathering. */
static void choose_form(NdStrided *e) {
  const uint32_t last = e->rank - 1;
  uint32_t zeros = 0;
  e->by_rows = e->shape[last] >= ND_LONG_ROW;
  for (uint32_t k = 0; k < e->input_count; k++) {
    int64_t expected = 1;
    e->plain[k] = true;
    for (uint32_t i = e->rank; i-- > 0;) {
      if (e->strides[k][i] != expected) e->plain[k] = false;
      expected *= e->shape[i];
    }
    const int64_t step = e->strides[k][last];
    e->run.step[k] = step;
    if (step == 0) zeros++;
    if (step != 1 && !(step == 0 && ((e->zero_steps >> k) & 1u))) e->by_rows = false;
  }
  if (zeros > 1) e->by_rows = false;
}

/* Coordinates of element `index`; the last one is that within the row. */
static void find(const NdStrided *e, int64_t index, int64_t *coordinates) {
  for (uint32_t i = e->rank; i-- > 0;) {
    coordinates[i] = index % e->shape[i];
    index /= e->shape[i];
  }
}

/* To the start of the next row. */
static void next_row(const NdStrided *e, int64_t *coordinates) {
  coordinates[e->rank - 1] = 0;
  for (uint32_t i = e->rank - 1; i-- > 0;) {
    if (++coordinates[i] < e->shape[i]) return;
    coordinates[i] = 0;
  }
}

static int64_t offset_of(const NdStrided *e, uint32_t k, const int64_t *coordinates) {
  int64_t offset = 0;
  for (uint32_t i = 0; i < e->rank; i++) offset += coordinates[i] * e->strides[k][i];
  return offset;
}

static void BURN_CALL run_rows(void *context, int64_t begin, int64_t end) {
  const NdStrided *e = context;
  const int64_t length = e->shape[e->rank - 1];
  int64_t coordinates[BURN_MAX_RANK];
  NdRun run = e->run;
  find(e, begin, coordinates);
  while (begin < end) {
    const int64_t left = length - coordinates[e->rank - 1];
    run.count = end - begin < left ? end - begin : left;
    run.out = (char *)e->run.out + begin * e->out_bytes;
    for (uint32_t k = 0; k < e->input_count; k++) {
      run.in[k] = at(e->run.in[k], offset_of(e, k, coordinates) * e->in_bytes[k]);
    }
    e->loop(&run);
    begin += run.count;
    next_row(e, coordinates);
  }
}

/* The next n elements of input k from the given coordinates on, packed. */
#define ND_GATHER(bits)                                                                                            \
  static void gather_##bits(const NdStrided *e, uint32_t k, const int64_t *start, int64_t n, uint##bits##_t *to) { \
    const uint##bits##_t *base = e->run.in[k];                                                                     \
    const uint32_t last = e->rank - 1;                                                                             \
    const int64_t length = e->shape[last], step = e->strides[k][last];                                             \
    int64_t coordinates[BURN_MAX_RANK];                                                                            \
    memcpy(coordinates, start, sizeof coordinates);                                                                \
    while (n > 0) {                                                                                                \
      const uint##bits##_t *from = base + offset_of(e, k, coordinates);                                            \
      const int64_t left = length - coordinates[last], count = n < left ? n : left;                                \
      for (int64_t i = 0; i < count; i++) to[i] = from[i * step];                                                  \
      to += count;                                                                                                 \
      n -= count;                                                                                                  \
      next_row(e, coordinates);                                                                                    \
    }                                                                                                              \
  }
ND_GATHER(8)
ND_GATHER(16)
ND_GATHER(32)
ND_GATHER(64)
#undef ND_GATHER

static void BURN_CALL run_blocks(void *context, int64_t begin, int64_t end) {
  const NdStrided *e = context;
  uint64_t gathered[3][ND_BLOCK];
  int64_t coordinates[BURN_MAX_RANK] = {0};
  NdRun run = e->run;
  for (uint32_t k = 0; k < e->input_count; k++) run.step[k] = 1;
  for (; begin < end; begin += run.count) {
    run.count = end - begin < ND_BLOCK ? end - begin : ND_BLOCK;
    run.out = (char *)e->run.out + begin * e->out_bytes;
    find(e, begin, coordinates);
    for (uint32_t k = 0; k < e->input_count; k++) {
      run.in[k] = gathered[k];
      if (e->plain[k]) {
        run.in[k] = at(e->run.in[k], begin * e->in_bytes[k]);
      } else if (e->in_bytes[k] == 1) {
        gather_8(e, k, coordinates, run.count, (void *)gathered[k]);
      } else if (e->in_bytes[k] == 2) {
        gather_16(e, k, coordinates, run.count, (void *)gathered[k]);
      } else if (e->in_bytes[k] == 4) {
        gather_32(e, k, coordinates, run.count, (void *)gathered[k]);
      } else {
        gather_64(e, k, coordinates, run.count, gathered[k]);
      }
    }
    e->loop(&run);
  }
}

/* A large transposed input is read badly by rows: it is packed first, in tiles. Inputs that are broadcast are not. */
static bool should_pack(const NdTensor *x, int64_t count) {
  bool has_unit = false;
  uint32_t last = 0;
  if (count < 2 * ND_GRAIN_CHEAP) return false;
  for (uint32_t i = 0; i < x->header.rank; i++) {
    if (x->shape[i] == 1) continue;
    if (x->strides[i] == 0) return false;
    if (x->strides[i] == 1) has_unit = true;
    last = i;
  }
  return has_unit && x->strides[last] != 1 && x->shape[last] > 1 && burn_primitive_count(&x->header) == count;
}

/* Runs e over inputs of which some are not plain; false when out of memory. */
static bool run_strided(Ndarray *nd, NdStrided *e, const BurnOpCall *call, int64_t count, int64_t grain) {
  NdTensor *inputs[3] = {NULL, NULL, NULL}, *packed[3] = {NULL, NULL, NULL};
  bool fits = true;
  for (uint32_t k = 0; k < e->input_count; k++) {
    inputs[k] = nd_tensor(call->inputs[k]);
    if (!should_pack(inputs[k], count)) continue;
    packed[k] = nd_contiguous(nd, inputs[k]);
    if (!packed[k]) fits = false;
    if (packed[k]) inputs[k] = packed[k];
    e->run.in[k] = nd_data(inputs[k]);
  }
  if (fits) {
    merge_axes(e, &call->output_descs[0], inputs);
    choose_form(e);
    nd_parallel_for(nd, count, grain, e->by_rows ? run_rows : run_blocks, e);
  }
  for (uint32_t k = 0; k < e->input_count; k++) nd_release(nd, packed[k]);
  return fits;
}

/* Runs `loop` over all elements of the result. `run` has the scalars. */
static BurnStatus run_loop(Ndarray *nd, const BurnOpCall *call, NdLoop loop, const NdRun *scalars, uint32_t zero_steps,
                           int64_t grain) {
  NdStrided e;
  const BurnTensorDesc *desc = &call->output_descs[0];
  bool plain = true;
  if (!loop) {
    return nd_fail(nd, BURN_STATUS_UNIMPLEMENTED, "%s: no kernel for %s", nd->host->op_info(call->op)->name,
                   burn_dtype_name(call->inputs[0]->dtype));
  }
  NdTensor *out = nd_output(nd, call, 0);
  if (!out) return nd_out_of_memory(nd, call);
  const int64_t count = burn_desc_count(desc);
  e.loop = loop;
  e.run = *scalars;
  e.run.out = nd_data(out);
  e.run.count = count;
  e.input_count = call->input_count;
  e.zero_steps = zero_steps;
  e.out_bytes = burn_dtype_bytes(desc->dtype);
  for (uint32_t k = 0; k < e.input_count; k++) {
    const NdTensor *x = nd_tensor(call->inputs[k]);
    plain = plain && is_plain(x, desc);
    e.run.in[k] = nd_data(x);
    e.run.step[k] = 1;
    e.in_bytes[k] = burn_dtype_bytes(x->header.dtype);
  }
  if (plain && count <= grain) {
    loop(&e.run);
  } else if (plain) {
    nd->host->parallel_for(count, grain, run_plain, &e);
  } else if (count > 0 && !run_strided(nd, &e, call, count, grain)) {
    nd_release(nd, out);
    return nd_out_of_memory(nd, call);
  }
  call->outputs[0] = &out->header;
  return BURN_OK;
}

/* -- kernels ------------------------------------------------------------------------------------------------------- */

static NdLoop loop_of(const Ndarray *nd, uint32_t op, BurnDType dtype) {
  if (op >= BURN_OP_LIMIT || dtype >= ND_DTYPE_COUNT) return NULL;
  const NdLoop loop = nd_kernels(nd)->loops[op][dtype];
  return loop ? loop : nd_common_loops[op][dtype];
}

static const NdRun no_scalars;

/* Unary and binary ops without attributes; binary loops take a step of 0. */
static BurnStatus simple(Ndarray *nd, const BurnOpCall *call, int64_t grain) {
  const uint32_t zero_steps = call->input_count == 2 ? 3 : 0;
  return run_loop(nd, call, loop_of(nd, call->op, call->inputs[0]->dtype), &no_scalars, zero_steps, grain);
}
static BurnStatus cheap(Ndarray *nd, const BurnOpCall *call) { return simple(nd, call, ND_GRAIN_CHEAP); }
static BurnStatus heavy(Ndarray *nd, const BurnOpCall *call) { return simple(nd, call, ND_GRAIN_HEAVY); }

/* Ops whose first attribute is a number. */
static BurnStatus scalar(Ndarray *nd, const BurnOpCall *call, bool wraps, int64_t grain) {
  const BurnDType dtype = call->inputs[0]->dtype;
  NdRun run = no_scalars;
  run.first = nd_scalar(dtype, call->attrs[0].value.f64, wraps);
  return run_loop(nd, call, loop_of(nd, call->op, dtype), &run, 0, grain);
}
static BurnStatus scalar_wrapping(Ndarray *nd, const BurnOpCall *call) {
  return scalar(nd, call, true, ND_GRAIN_CHEAP);
}
static BurnStatus scalar_cheap(Ndarray *nd, const BurnOpCall *call) { return scalar(nd, call, false, ND_GRAIN_CHEAP); }
static BurnStatus scalar_heavy(Ndarray *nd, const BurnOpCall *call) { return scalar(nd, call, false, ND_GRAIN_HEAVY); }

/* clamp_min, clamp_max, clamp; a NaN bound is no bound. */
static BurnStatus clamp(Ndarray *nd, const BurnOpCall *call) {
  const BurnDType dtype = call->inputs[0]->dtype;
  const bool is_float = burn_dtype_kind(dtype) == BURN_KIND_FLOAT;
  double first = call->attrs[0].value.f64;
  NdRun run = no_scalars;
  if (!is_float && !(first == first)) first = call->op == BURN_OP_clamp_max ? (double)INFINITY : -(double)INFINITY;
  run.first = nd_scalar(dtype, first, false);
  if (call->op == BURN_OP_clamp) {
    double second = call->attrs[1].value.f64;
    if (!is_float && !(second == second)) second = (double)INFINITY;
    run.second = nd_scalar(dtype, second, false);
  }
  return run_loop(nd, call, loop_of(nd, call->op, dtype), &run, 0, ND_GRAIN_CHEAP);
}

static BurnStatus compare_scalar(Ndarray *nd, const BurnOpCall *call) {
  const BurnDType dtype = call->inputs[0]->dtype;
  const double value = call->attrs[0].value.f64;
  uint32_t op = call->op;
  NdRun run = no_scalars;
  if (burn_dtype_kind(dtype) == BURN_KIND_FLOAT) {
    run.first = nd_scalar(dtype, value, false);
  } else {
    run.first = nd_integer_threshold(dtype, &op, value);
  }
  return run_loop(nd, call, loop_of(nd, op, dtype), &run, 0, ND_GRAIN_CHEAP);
}

static BurnStatus cast(Ndarray *nd, const BurnOpCall *call) {
  const BurnDType from = call->inputs[0]->dtype, to = call->output_descs[0].dtype;
  NdTensor *x = nd_tensor(call->inputs[0]);
  if (from == to) {
    nd_retain(x);
    return nd_finish(nd, call, x);
  }
  const NdLoop loop = from < ND_DTYPE_COUNT && to < ND_DTYPE_COUNT ? nd_kernels(nd)->casts[from][to] : NULL;
  return run_loop(nd, call, loop, &no_scalars, 0, ND_GRAIN_CHEAP);
}

/* The loops want i64 exponents; others are converted first. */
static BurnStatus powi(Ndarray *nd, const BurnOpCall *call) {
  const BurnPrimitive *exponent = call->inputs[1];
  if (exponent->dtype == BURN_DTYPE_I64) return heavy(nd, call);
  BurnPrimitive *wide = NULL;
  BurnTensorDesc desc = burn_primitive_desc(exponent);
  desc.dtype = BURN_DTYPE_I64;
  BurnOpCall conversion = *call;
  conversion.op = BURN_OP_cast;
  conversion.input_count = 1;
  conversion.inputs = call->inputs + 1;
  conversion.outputs = &wide;
  conversion.output_descs = &desc;
  conversion.donate = 0;
  BurnStatus status = cast(nd, &conversion);
  if (status != BURN_OK) return status;
  BurnPrimitive *const inputs[] = {call->inputs[0], wide};
  BurnOpCall power = *call;
  power.inputs = inputs;
  power.donate = call->donate & 1u;
  status = heavy(nd, &power);
  nd_release(nd, nd_tensor(wide));
  return status;
}

static BurnStatus mask_where(Ndarray *nd, const BurnOpCall *call) {
  return run_loop(nd, call, loop_of(nd, BURN_OP_mask_where, call->inputs[0]->dtype), &no_scalars, 4, ND_GRAIN_CHEAP);
}

static BurnStatus mask_fill(Ndarray *nd, const BurnOpCall *call) {
  const BurnDType dtype = call->inputs[0]->dtype;
  const double value = call->attrs[0].value.f64;
  NdRun run = no_scalars;
  run.first = nd_scalar(dtype, dtype == BURN_DTYPE_BOOL ? (double)(value != 0.0) : value, false);
  return run_loop(nd, call, loop_of(nd, BURN_OP_mask_fill, dtype), &run, 0, ND_GRAIN_CHEAP);
}

/* -- dropout ------------------------------------------------------------------------------------------------------- */

typedef struct NdDropout {
  const NdKernels *kernels;
  BurnDType dtype;
  int64_t count;
  uint64_t seed, offset, threshold;
  double scale; /* 1 / (1 - prob) */
  const void *x;
  void *out;
} NdDropout;

/* Groups begin .. end-1 of ND_RANDOM_WORDS elements. */
static void BURN_CALL dropout_groups(void *context, int64_t begin, int64_t end) {
  const NdDropout *d = context;
  uint32_t words[ND_RANDOM_WORDS];
  for (int64_t group = begin; group < end; group++) {
    const int64_t first = group * ND_RANDOM_WORDS, left = d->count - first;
    const int64_t n = left < ND_RANDOM_WORDS ? left : ND_RANDOM_WORDS;
    d->kernels->random_words(d->seed, d->offset + (uint64_t)group * ND_RANDOM_BLOCKS, words);
    if (d->dtype == BURN_DTYPE_F32) {
      d->kernels->dropout_f32(n, words, d->threshold, (const float *)d->x + first, (float *)d->out + first,
                              (float)d->scale);
    } else {
      d->kernels->dropout_f64(n, words, d->threshold, (const double *)d->x + first, (double *)d->out + first, d->scale);
    }
  }
}

static BurnStatus dropout(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_dropout *attrs = BURN_ATTRS(dropout, call);
  NdDropout d;
  d.kernels = nd_kernels(nd);
  d.dtype = call->inputs[0]->dtype;
  d.count = burn_desc_count(&call->output_descs[0]);
  d.seed = (uint64_t)attrs->seed.value.i64;
  d.offset = (uint64_t)attrs->offset.value.i64;
  d.scale = 1.0 / (1.0 - attrs->prob.value.f64); /* infinite when nothing is kept: 0 * infinity is NaN, as in Burn */
  d.threshold = burn_random_threshold(1.0 - attrs->prob.value.f64);
  NdTensor *out = nd_output(nd, call, 0);
  NdTensor *x = out ? nd_contiguous(nd, nd_tensor(call->inputs[0])) : NULL;
  if (!x) {
    nd_release(nd, out);
    return nd_out_of_memory(nd, call);
  }
  d.x = nd_data(x);
  d.out = nd_data(out);
  nd_parallel_for(nd, (d.count + ND_RANDOM_WORDS - 1) / ND_RANDOM_WORDS, ND_GRAIN_HEAVY / ND_RANDOM_WORDS,
                  dropout_groups, &d);
  nd_release(nd, x);
  return nd_finish(nd, call, out);
}

/* -- the list ------------------------------------------------------------------------------------------------------ */

#define ND_ROW(op, kernel) \
  { BURN_OP_##op, kernel }

const NdKernelRow nd_elementwise_kernels[] = {
    ND_ROW(neg, cheap),
    ND_ROW(abs, cheap),
    ND_ROW(sign, cheap),
    ND_ROW(exp, heavy),
    ND_ROW(log, heavy),
    ND_ROW(log1p, heavy),
    ND_ROW(sqrt, cheap),
    ND_ROW(recip, cheap),
    ND_ROW(sin, heavy),
    ND_ROW(cos, heavy),
    ND_ROW(tanh, heavy),
    ND_ROW(erf, heavy),
    ND_ROW(floor, cheap),
    ND_ROW(ceil, cheap),
    ND_ROW(round, cheap),
    ND_ROW(bool_not, cheap),
    ND_ROW(tan, heavy),
    ND_ROW(sinh, heavy),
    ND_ROW(cosh, heavy),
    ND_ROW(asin, heavy),
    ND_ROW(acos, heavy),
    ND_ROW(atan, heavy),
    ND_ROW(asinh, heavy),
    ND_ROW(acosh, heavy),
    ND_ROW(atanh, heavy),
    ND_ROW(trunc, cheap),
    ND_ROW(bitwise_not, cheap),
    ND_ROW(is_nan, cheap),
    ND_ROW(is_inf, cheap),
    ND_ROW(is_finite, cheap),
    ND_ROW(cast, cast),
    ND_ROW(add, cheap),
    ND_ROW(sub, cheap),
    ND_ROW(mul, cheap),
    ND_ROW(div, cheap),
    ND_ROW(remainder, heavy),
    ND_ROW(powf, heavy),
    ND_ROW(max_pair, cheap),
    ND_ROW(min_pair, cheap),
    ND_ROW(bool_and, cheap),
    ND_ROW(bool_or, cheap),
    ND_ROW(bool_xor, cheap),
    ND_ROW(atan2, heavy),
    ND_ROW(hypot, heavy),
    ND_ROW(fmod, heavy),
    ND_ROW(powi, powi),
    ND_ROW(bitwise_and, cheap),
    ND_ROW(bitwise_or, cheap),
    ND_ROW(bitwise_xor, cheap),
    ND_ROW(bitwise_left_shift, cheap),
    ND_ROW(bitwise_right_shift, cheap),
    ND_ROW(add_scalar, scalar_wrapping),
    ND_ROW(mul_scalar, scalar_wrapping),
    ND_ROW(div_scalar, scalar_cheap),
    ND_ROW(remainder_scalar, scalar_heavy),
    ND_ROW(powf_scalar, scalar_heavy),
    ND_ROW(clamp_min, clamp),
    ND_ROW(clamp_max, clamp),
    ND_ROW(clamp, clamp),
    ND_ROW(equal, cheap),
    ND_ROW(not_equal, cheap),
    ND_ROW(greater, cheap),
    ND_ROW(greater_equal, cheap),
    ND_ROW(lower, cheap),
    ND_ROW(lower_equal, cheap),
    ND_ROW(equal_scalar, compare_scalar),
    ND_ROW(not_equal_scalar, compare_scalar),
    ND_ROW(greater_scalar, compare_scalar),
    ND_ROW(greater_equal_scalar, compare_scalar),
    ND_ROW(lower_scalar, compare_scalar),
    ND_ROW(lower_equal_scalar, compare_scalar),
    ND_ROW(mask_where, mask_where),
    ND_ROW(mask_fill, mask_fill),
    ND_ROW(relu, cheap),
    ND_ROW(relu_backward, cheap),
    ND_ROW(leaky_relu, scalar_cheap),
    ND_ROW(sigmoid, heavy),
    ND_ROW(gelu, heavy),
    ND_ROW(silu, heavy),
    ND_ROW(softplus, scalar_heavy),
    ND_ROW(dropout, dropout),
    {BURN_OP_INVALID, NULL},
};
