/* ndarray_elementwise.c - runs the loops of ndarray_kernels_isa.inc over whole tensors: unary, binary, scalar,
 * comparison, masks, casts, activations, dropout.
 *
 * The result is always row-major. If every input is too and the result is small, the loop runs over all elements at
 * once (in parallel when there are many). Else ndarray_strided.c makes the result in blocks. */
#include "support/ndarray_half.h"
#include "move/ndarray_random.h"
#include "ndarray_strided.h"

#include <burn/plugin/random.h>

#include <math.h>
#include <string.h>

#define ND_GRAIN_CHEAP 16384 /* elements per chunk at least, for loops at the speed of memory */
#define ND_GRAIN_HEAVY 4096  /* for transcendental functions and divisions */

/* A loop, whether it is one of f32 for halves, and whether it can write past the caches. */
typedef struct NdTyped {
  NdLoop loop;
  bool is_wide, is_streaming;
} NdTyped;

/* -- plain inputs ----------------------------------------------------------------------------- */

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

static void BURN_API_CALL run_plain(void *context, int64_t begin, int64_t end) {
  const NdStrided *e = context;
  NdRun run = e->run;
  run.out = (char *)e->run.out + begin * e->out_bytes;
  for (uint32_t k = 0; k < e->input_count; k++) run.in[k] = nd_at(e->run.in[k], begin * e->in_bytes[k]);
  run.count = end - begin;
  e->loop(&run);
}

/* Sets the casts around a loop that works in f32 on halves. */
static void set_casts(NdStrided *e, const Ndarray *nd, const BurnOpCall *call, BurnDType dtype) {
  const NdKernels *kernels = nd_kernels(nd);
  for (uint32_t k = 0; k < e->input_count; k++) {
    e->widen[k] = call->inputs[k]->dtype == dtype ? kernels->casts[dtype][BURN_DTYPE_F32] : NULL;
  }
  e->narrow = call->output_descs[0].dtype == dtype ? kernels->casts[BURN_DTYPE_F32][dtype] : NULL;
}

/* True if `out` lies in the memory of an input. */
static bool is_in_place(const NdTensor *out, const BurnOpCall *call) {
  for (uint32_t k = 0; k < call->input_count; k++) {
    if (nd_tensor(call->inputs[k])->storage == out->storage) return true;
  }
  return false;
}

/* Puts the inputs into the run; true if all of them are plain. */
static bool set_inputs(NdRun *run, const BurnOpCall *call) {
  bool plain = true;
  for (uint32_t k = 0; k < call->input_count; k++) {
    const NdTensor *x = nd_tensor(call->inputs[k]);
    plain = plain && is_plain(x, &call->output_descs[0]);
    run->in[k] = nd_data(x);
    run->step[k] = 1;
  }
  return plain;
}

/* The loop over many elements, or inputs that do not lie as it wants them. */
static void run_parts(Ndarray *nd, const BurnOpCall *call, NdTyped typed, const NdRun *run, bool plain,
                      uint32_t zero_steps, int64_t grain, const NdTensor *out) {
  NdStrided e;
  e.loop = typed.loop;
  e.run = *run;
  e.count = run->count;
  e.input_count = call->input_count;
  e.zero_steps = zero_steps;
  e.out_bytes = burn_dtype_bytes(call->output_descs[0].dtype);
  for (uint32_t k = 0; k < e.input_count; k++) {
    e.in_bytes[k] = burn_dtype_bytes(call->inputs[k]->dtype);
    e.widen[k] = NULL;
  }
  e.narrow = NULL;
  e.streams = e.count * e.out_bytes >= ND_STREAM_BYTES && !is_in_place(out, call);
  e.loop_streams = e.streams && typed.is_streaming && !typed.is_wide;
  if (typed.is_wide) set_casts(&e, nd, call, call->inputs[0]->dtype);
  if (plain && !e.streams) {
    nd->host->parallel_for(e.count, grain, run_plain, &e);
  } else if (e.count > 0) {
    nd_run_strided(nd, &e, call, grain);
  }
}

/* Runs the loop over all elements of the result. `run` has the attributes. */
static BurnStatus run_loop(Ndarray *nd, const BurnOpCall *call, NdTyped typed, NdRun *run, uint32_t zero_steps,
                           int64_t grain) {
  if (!typed.loop) {
    return nd_fail(nd, BURN_STATUS_UNIMPLEMENTED, "%s: no kernel for %s", nd->host->op_info(call->op)->name,
                   burn_dtype_name(call->inputs[0]->dtype));
  }
  NdTensor *out = nd_output(nd, call, 0);
  if (!out) return nd_out_of_memory(nd, call);
  const bool plain = set_inputs(run, call) && !typed.is_wide;
  run->out = nd_data(out);
  run->count = burn_desc_count(&call->output_descs[0]);
  if (plain && run->count <= grain) { /* too few to be written past the caches */
    typed.loop(run);
  } else {
    run_parts(nd, call, typed, run, plain, zero_steps, grain, out);
  }
  call->outputs[0] = &out->header;
  return BURN_OK;
}

/* -- tables ----------------------------------------------------------------------------------- */

/* Later lists replace what earlier ones have put there. */
static void add_rows(NdKernels *kernels, const NdLoopRows *rows) {
  for (const NdLoopRow *row = rows->loops; row->loop; row++) {
    kernels->loops[row->op][row->dtype] = row->loop;
    if (row->dtype == BURN_DTYPE_F32) kernels->streaming[row->op] = false;
  }
  for (const NdLoopRow *row = rows->casts; row && row->loop; row++) kernels->casts[row->op][row->dtype] = row->loop;
  for (const uint16_t *op = rows->streaming; op && *op != BURN_OP_INVALID; op++) kernels->streaming[*op] = true;
}

NdKernels *nd_kernels_create(const Ndarray *nd) {
  NdKernels *kernels = nd->host->allocate(sizeof *kernels);
  if (!kernels) return NULL;
  memset(kernels, 0, sizeof *kernels);
  const NdLoopRows common = {.loops = nd_common_loops};
  add_rows(kernels, &common);
  add_rows(kernels, &nd_kernels_baseline);
#if defined(BURN_NDARRAY_X86_VARIANTS)
  if (nd->isa >= NDARRAY_ISA_AVX2) add_rows(kernels, &nd_kernels_avx2);
  if (nd->isa >= NDARRAY_ISA_AVX512) add_rows(kernels, &nd_kernels_avx512);
#endif
  return kernels;
}

void nd_kernels_destroy(const Ndarray *nd, NdKernels *kernels) {
  if (kernels) nd->host->free(kernels, sizeof *kernels);
}

/* -- kernels ---------------------------------------------------------------------------------- */

static bool is_half(BurnDType dtype) { return dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16; }

/* The loop of an op for a dtype, or for halves that of f32. */
static NdTyped loop_of(const Ndarray *nd, uint32_t op, BurnDType dtype) {
  NdTyped typed = {NULL, false, false};
  if (op >= BURN_OP_LIMIT || dtype >= ND_DTYPE_COUNT) return typed;
  typed.loop = nd_kernels(nd)->loops[op][dtype];
  typed.is_streaming = dtype == BURN_DTYPE_F32 && nd_kernels(nd)->streaming[op];
  if (!typed.loop && is_half(dtype)) {
    typed = loop_of(nd, op, BURN_DTYPE_F32);
    typed.is_wide = true;
  }
  return typed;
}

bool nd_takes_halves(const Ndarray *nd, uint32_t op) { return loop_of(nd, op, BURN_DTYPE_F16).loop != NULL; }

/* A number of an attribute in the dtype of the loop. It stands for a tensor, so for halves it is rounded as one;
 * composite ops compute as a whole in f32. */
static NdScalar number(const Ndarray *nd, const BurnOpCall *call, const BurnAttr *attr, bool wraps) {
  const BurnDType dtype = call->inputs[0]->dtype;
  if (!is_half(dtype)) return nd_scalar(dtype, attr, wraps);
  const double value = burn_attr_to_f64(attr);
  if (nd->host->op_info(call->op)->is_composite) return nd_float_scalar(BURN_DTYPE_F32, value);
  const bool is_f16 = dtype == BURN_DTYPE_F16;
  const float rounded = is_f16 ? nd_f16_to_f32(nd_f16_from_f64(value)) : nd_bf16_to_f32(nd_bf16_from_f64(value));
  return nd_float_scalar(BURN_DTYPE_F32, (double)rounded);
}

static const NdRun no_scalars;

/* Unary and binary ops without attributes; binary loops take a step of 0. */
static BurnStatus simple(Ndarray *nd, const BurnOpCall *call, int64_t grain) {
  const uint32_t zero_steps = call->input_count == 2 ? 3 : 0;
  NdRun run = no_scalars;
  return run_loop(nd, call, loop_of(nd, call->op, call->inputs[0]->dtype), &run, zero_steps, grain);
}
static BurnStatus cheap(Ndarray *nd, const BurnOpCall *call) { return simple(nd, call, ND_GRAIN_CHEAP); }
static BurnStatus heavy(Ndarray *nd, const BurnOpCall *call) { return simple(nd, call, ND_GRAIN_HEAVY); }

/* Ops whose first attribute is a number. */
static BurnStatus scalar(Ndarray *nd, const BurnOpCall *call, bool wraps, int64_t grain) {
  const BurnDType dtype = call->inputs[0]->dtype;
  NdRun run = no_scalars;
  run.first = number(nd, call, &call->attrs[0], wraps);
  return run_loop(nd, call, loop_of(nd, call->op, dtype), &run, 0, grain);
}
static BurnStatus scalar_wrapping(Ndarray *nd, const BurnOpCall *call) {
  return scalar(nd, call, true, ND_GRAIN_CHEAP);
}
static BurnStatus scalar_cheap(Ndarray *nd, const BurnOpCall *call) { return scalar(nd, call, false, ND_GRAIN_CHEAP); }
static BurnStatus scalar_heavy(Ndarray *nd, const BurnOpCall *call) { return scalar(nd, call, false, ND_GRAIN_HEAVY); }

/* A bound; for integers a NaN is not a bound. */
static NdScalar bound(const Ndarray *nd, const BurnOpCall *call, const BurnAttr *attr, int64_t none) {
  const BurnAttr end = burn_attr_i64(none);
  const bool is_nan = attr->tag == BURN_ATTR_F64 && !(attr->value.f64 == attr->value.f64);
  const bool is_none = is_nan && burn_dtype_kind(call->inputs[0]->dtype) == BURN_KIND_INT;
  return number(nd, call, is_none ? &end : attr, false);
}

/* clamp_min, clamp_max, clamp. */
static BurnStatus clamp(Ndarray *nd, const BurnOpCall *call) {
  const BurnDType dtype = call->inputs[0]->dtype;
  NdRun run = no_scalars;
  run.first = bound(nd, call, &call->attrs[0], call->op == BURN_OP_clamp_max ? INT64_MAX : INT64_MIN);
  if (call->op == BURN_OP_clamp) run.second = bound(nd, call, &call->attrs[1], INT64_MAX);
  return run_loop(nd, call, loop_of(nd, call->op, dtype), &run, 0, ND_GRAIN_CHEAP);
}

static BurnStatus compare_scalar(Ndarray *nd, const BurnOpCall *call) {
  const BurnDType dtype = call->inputs[0]->dtype;
  uint32_t op = call->op;
  NdRun run = no_scalars;
  if (burn_dtype_kind(dtype) == BURN_KIND_FLOAT) {
    run.first = number(nd, call, &call->attrs[0], false);
  } else {
    run.first = nd_integer_threshold(dtype, &op, &call->attrs[0]);
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
  const NdTyped typed = {from < ND_DTYPE_COUNT && to < ND_DTYPE_COUNT ? nd_kernels(nd)->casts[from][to] : NULL, false,
                         false};
  NdRun run = no_scalars;
  return run_loop(nd, call, typed, &run, 0, ND_GRAIN_CHEAP);
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
  NdRun run = no_scalars;
  return run_loop(nd, call, loop_of(nd, BURN_OP_mask_where, call->inputs[0]->dtype), &run, 4, ND_GRAIN_CHEAP);
}

static BurnStatus mask_fill(Ndarray *nd, const BurnOpCall *call) {
  const BurnDType dtype = call->inputs[0]->dtype;
  NdRun run = no_scalars;
  run.first = nd_scalar(dtype, &call->attrs[0], false);
  return run_loop(nd, call, loop_of(nd, BURN_OP_mask_fill, dtype), &run, 0, ND_GRAIN_CHEAP);
}

/* -- dropout ---------------------------------------------------------------------------------- */

typedef struct NdDropout {
  const NdRandomLoops *loops;
  const NdMoves *moves;
  BurnDType dtype;
  bool streams;
  int64_t count;
  uint64_t seed, offset, threshold;
  double scale; /* 1 / (1 - prob) */
  const void *x;
  void *out;
} NdDropout;

/* n elements of a group from `first` on, to `to`. */
static void drop_out(const NdDropout *d, int64_t first, int64_t n, const uint32_t *words, void *to) {
  if (d->dtype == BURN_DTYPE_F32) {
    d->loops->dropout_f32(n, words, d->threshold, (const float *)d->x + first, to, (float)d->scale);
  } else {
    d->loops->dropout_f64(n, words, d->threshold, (const double *)d->x + first, to, d->scale);
  }
}

/* Groups begin .. end-1 of ND_RANDOM_WORDS elements. */
static void BURN_API_CALL dropout_groups(void *context, int64_t begin, int64_t end) {
  const NdDropout *d = context;
  const int64_t bytes = burn_dtype_bytes(d->dtype);
  _Alignas(64) uint32_t words[ND_RANDOM_WORDS];
  _Alignas(64) double made[ND_RANDOM_WORDS];
  for (int64_t group = begin; group < end; group++) {
    const int64_t first = group * ND_RANDOM_WORDS, left = d->count - first;
    const int64_t n = left < ND_RANDOM_WORDS ? left : ND_RANDOM_WORDS;
    char *to = (char *)d->out + first * bytes;
    if (d->streams) d->moves->fetch(nd_at(d->x, first * bytes), n * bytes); /* while the words are made */
    d->loops->words(d->seed, d->offset + (uint64_t)group * ND_RANDOM_BLOCKS, words);
    drop_out(d, first, n, words, d->streams ? (char *)made : to);
    if (d->streams) d->moves->stream(to, made, n * bytes);
  }
  if (d->streams) d->moves->stream_end();
}

static BurnStatus dropout(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_dropout *attrs = BURN_ATTRS(dropout, call);
  NdDropout d;
  d.loops = nd_random(nd);
  d.moves = nd_moves(nd);
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
  d.streams = d.x != d.out && d.count * (int64_t)burn_dtype_bytes(d.dtype) >= ND_STREAM_BYTES;
  nd_parallel_for(nd, (d.count + ND_RANDOM_WORDS - 1) / ND_RANDOM_WORDS, ND_GRAIN_HEAVY / ND_RANDOM_WORDS,
                  dropout_groups, &d);
  nd_release(nd, x);
  return nd_finish(nd, call, out);
}

/* -- the list --------------------------------------------------------------------------------- */

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
    ND_ROW(gelu_backward, heavy),
    ND_ROW(leaky_relu, scalar_cheap),
    ND_ROW(sigmoid, heavy),
    ND_ROW(gelu, heavy),
    ND_ROW(silu, heavy),
    ND_ROW(softplus, scalar_heavy),
    ND_ROW(dropout, dropout),
    {BURN_OP_INVALID, NULL},
};
