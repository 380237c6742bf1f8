/* fused_body_test.c - the interface "burn.fused" of ndarray: random bodies against the same steps as single calls of
 * the same backend. Element-wise bodies must give the very bits (any NaN is like any other), whatever the strides, what
 * is donated, the number of threads and where the work is cut. Other backends are tested by a file that names their
 * stacks in FUSED_STACKS, prepares them in FUSED_PREPARE, defines FUSED_F64 and FUSED_INTEGERS if their steps compute in
 * these, too, FUSED_MIDDLE_AXIS if they reduce along any axis, FUSED_COUNT and FUSED_LONG_COUNT if
 * fewer bodies will do, without and with BURN_LONG=1, and includes this one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/op_call.h>
#include <burn/plugin/fused.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sampled.h"
#include "sanitized.h"

/* -- devices: every instruction set, with the loops of the host and with loops cut in odd places -- */

typedef struct Stack {
  const char *text;
  BurnDevice *device, *cut_device;
  const BurnBackend *backend;
  BurnInterface fused, cut_fused;
} Stack;

#if !defined(FUSED_STACKS)
#define FUSED_STACKS \
  {.text = "ndarray:isa=baseline"}, {.text = "ndarray:isa=avx2"}, { .text = "ndarray:isa=avx512" }
#define FUSED_PREPARE
#endif
static Stack stacks[] = {FUSED_STACKS};
#if defined(FUSED_F64)
#define ONE_OF_F64 BURN_DTYPE_F64
#else
#define ONE_OF_F64 BURN_DTYPE_F32
#endif
#define STACK_COUNT (sizeof stacks / sizeof stacks[0])

static const BurnHost *host;
static BurnHost cutting_host;

/* A loop in pieces of all sizes, the last first. */
static void BURN_API_CALL cut_loop(int64_t count, int64_t grain, BurnLoopBody body, void *context) {
  int64_t end = count;
  if (grain < 1) grain = 1;
  for (int64_t i = 0; end > 0; i++) {
    const int64_t size = grain + i % 3, begin = end > size ? end - size : 0;
    body(context, begin, end);
    end = begin;
  }
}

static bool open_stack(Stack *stack) {
  stack->device = burn_device_open(stack->text);
  if (burn_status_code(burn_device_status(stack->device)) == BURN_STATUS_FAILED_PRECONDITION) {
    burn_device_close(stack->device);
    stack->device = NULL; /* an instruction set that is not here */
    return true;
  }
  stack->cut_device = burn_device_open_with_host(stack->text, &cutting_host);
  if (burn_device_status(stack->device) != BURN_OK || burn_device_status(stack->cut_device) != BURN_OK) return false;
  stack->backend = burn_device_backend(stack->device);
  const BurnBackend *cut = burn_device_backend(stack->cut_device);
  return stack->backend->get_interface(stack->backend->self, BURN_FUSED_INTERFACE, 1, &stack->fused) == 1 &&
         cut->get_interface(cut->self, BURN_FUSED_INTERFACE, 1, &stack->cut_fused) == 1;
}

static int open_stacks(void **state) {
  (void)state;
  FUSED_PREPARE
  host = burn_host();
  cutting_host = *host;
  cutting_host.parallel_for = cut_loop;
  for (size_t s = 0; s < STACK_COUNT; s++) {
    if (!open_stack(&stacks[s])) return -1;
  }
  return 0;
}

static int close_stacks(void **state) {
  int result = 0;
  (void)state;
  for (size_t s = 0; s < STACK_COUNT; s++) {
    if (!stacks[s].device) continue;
    if (burn_device_memory(stacks[s].device).live_tensors != 0) result = -1;
    if (burn_device_memory(stacks[s].cut_device).live_tensors != 0) result = -1;
    burn_device_close(stacks[s].device);
    burn_device_close(stacks[s].cut_device);
  }
  return result;
}

/* What random bodies are made of. */
typedef enum Kind {
  ELEMENTS, /* any element-wise ops on any numbers */
  ROWS,     /* gentle ones, and reductions along the last axis */
  COLUMNS,  /* the same along the first */
  WHOLE,    /* of everything */
  MIDDLE,   /* along one between others */
  KIND_COUNT
} Kind;
#if defined(FUSED_MIDDLE_AXIS)
enum { KINDS = KIND_COUNT };
#else
enum { KINDS = MIDDLE };
#endif
static Kind kind_of_body;

/* The axis that such a body reduces. */
static uint32_t reduced_axis(uint32_t rank) { return kind_of_body == ROWS ? rank - 1 : kind_of_body == MIDDLE ? 1 : 0; }

/* -- random choices --------------------------------------------------------------------------- */

static uint64_t random_state;
static uint64_t test_seed; /* of the body that is tested, for messages */

static uint32_t below(uint32_t limit) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((random_state >> 33) % limit);
}

static double any_number(void) {
  static const double special[] = {
      0.0,  -0.0,  1.0,    -1.0, 0.5,      2.0,  3.0,   (double)INFINITY, -(double)INFINITY, (double)NAN, 1e-40, -3e-42,
      1e30, -1e30, 3.4e38, 2e9,  0x1p-126, 88.8, -104.0};
  if (kind_of_body == ELEMENTS && below(8) == 0) return special[below(sizeof special / sizeof special[0])];
  if (kind_of_body != ELEMENTS) return ((double)below(2000001) - 1e6) / 1e6 * 3.0;
  return ((double)below(2000001) - 1e6) / 1e6 * (below(3) == 0 ? 30.0 : 2.0);
}

static double scalar_number(void) {
  static const double scalars[] = {0.0,
                                   1.0,
                                   -1.0,
                                   2.0,
                                   3.0,
                                   -2.0,
                                   0.5,
                                   0.25,
                                   1.5,
                                   0.1,
                                   -0.7,
                                   1e-3,
                                   1.4142135623730951,
                                   (double)NAN,
                                   (double)INFINITY};
  return scalars[below(sizeof scalars / sizeof scalars[0])];
}

/* -- primitives ------------------------------------------------------------------------------- */

static void check_ok(BurnStatus status) {
  if (status != BURN_OK) fail_msg("body %" PRIu64 ": %s", test_seed, burn_status_message(status));
}

static BurnPrimitive *call_op(const BurnBackend *backend, uint32_t op, BurnPrimitive *const *inputs,
                              uint32_t input_count, const BurnAttr *attrs, uint32_t attr_count) {
  BurnPrimitive *out = NULL;
  BurnTensorDesc desc;
  BurnOpCall call = {.struct_size = (uint32_t)sizeof call,
                     .op = op,
                     .attr_count = attr_count,
                     .input_count = input_count,
                     .output_count = 1,
                     .inputs = inputs,
                     .outputs = &out,
                     .attrs = attrs};
  check_ok(host->infer(&call, &desc));
  call.output_descs = &desc;
  check_ok(host->invoke(backend, &call));
  return out;
}

static void drop(const BurnBackend *backend, BurnPrimitive *x) { backend->release(backend->self, x); }

static uint16_t half_bits(BurnDType dtype, float value) { /* good enough for test data: cut off */
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (dtype == BURN_DTYPE_BF16) return (uint16_t)(bits >> 16 | (value != value ? 0x40u : 0u));
  if (value != value) return 0x7e00;
  if (isinf(value) || fabsf(value) > 60000.0f) return value > 0 ? 0x7c00 : 0xfc00;
  const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
  if (fabsf(value) < 0x1p-14f) return (uint16_t)(sign | (uint16_t)(fabsf(value) * 0x1p24f));
  return (uint16_t)(sign | (((bits >> 13) & 0x3ffffu) - (112u << 10)));
}

static void put_number(void *data, int64_t i, BurnDType dtype, double value) {
  const double whole = value == value && fabs(value) < 1e9 ? value : 77.0;
  switch (dtype) {
    case BURN_DTYPE_F64:
      ((double *)data)[i] = value;
      break;
    case BURN_DTYPE_F32:
      ((float *)data)[i] = (float)value;
      break;
    case BURN_DTYPE_F16:
    case BURN_DTYPE_BF16:
      ((uint16_t *)data)[i] = half_bits(dtype, (float)value);
      break;
    case BURN_DTYPE_BOOL:
      ((uint8_t *)data)[i] = value > 0.3;
      break;
    case BURN_DTYPE_U8:
      ((uint8_t *)data)[i] = (uint8_t)(int64_t)whole;
      break;
    case BURN_DTYPE_I8:
      ((int8_t *)data)[i] = (int8_t)(int64_t)whole;
      break;
    case BURN_DTYPE_I16:
      ((int16_t *)data)[i] = (int16_t)(int64_t)(whole * 1000);
      break;
    case BURN_DTYPE_I32:
      ((int32_t *)data)[i] = (int32_t)(whole * 1e6);
      break;
    case BURN_DTYPE_I64:
      ((int64_t *)data)[i] = (int64_t)(whole * 1e12);
      break;
    default:
      fail_msg("no numbers of dtype %u", dtype);
  }
}

static BurnPrimitive *random_contiguous(const BurnBackend *backend, const BurnTensorDesc *desc) {
  const int64_t count = burn_desc_count(desc);
  void *data = calloc((size_t)count + 1, burn_dtype_bytes(desc->dtype));
  BurnPrimitive *x = NULL;
  assert_non_null(data);
  for (int64_t i = 0; i < count; i++) put_number(data, i, desc->dtype, any_number());
  check_ok(backend->create(backend->self, desc, data, &x));
  free(data);
  return x;
}

static BurnPrimitive *apply_view(const BurnBackend *backend, BurnPrimitive *x, uint32_t op, const BurnAttr *attrs,
                                 uint32_t attr_count) {
  BurnPrimitive *view = call_op(backend, op, &x, 1, attrs, attr_count);
  drop(backend, x);
  return view;
}

/* A tensor of this shape and dtype with random numbers and random strides. */
static BurnPrimitive *random_tensor(const BurnBackend *backend, const BurnTensorDesc *desc) {
  BurnTensorDesc base = *desc;
  int64_t axes[BURN_MAX_RANK], starts[BURN_MAX_RANK], counts[BURN_MAX_RANK], steps[BURN_MAX_RANK];
  const uint32_t kind = below(8), rank = desc->rank;
  if (kind == 0 && rank > 1) { /* transposed */
    const uint32_t shift = 1 + below(rank - 1);
    for (uint32_t i = 0; i < rank; i++) axes[i] = (i + shift) % rank;
    for (uint32_t i = 0; i < rank; i++) base.shape[axes[i]] = desc->shape[i];
    const BurnAttr attr = burn_attr_i64s(axes, rank);
    return apply_view(backend, random_contiguous(backend, &base), BURN_OP_permute, &attr, 1);
  }
  if (kind == 1) { /* a slice, with steps */
    for (uint32_t i = 0; i < rank; i++) {
      steps[i] = 1 + below(2);
      starts[i] = below(3);
      counts[i] = desc->shape[i];
      base.shape[i] = starts[i] + steps[i] * desc->shape[i] + below(2);
    }
    const BurnAttr attrs[] = {burn_attr_i64s(starts, rank), burn_attr_i64s(counts, rank), burn_attr_i64s(steps, rank)};
    return apply_view(backend, random_contiguous(backend, &base), BURN_OP_slice, attrs, 3);
  }
  if (kind == 2) { /* expanded */
    for (uint32_t i = 0; i < rank; i++) base.shape[i] = below(2) ? 1 : desc->shape[i];
    const BurnAttr attr = burn_attr_i64s(desc->shape, rank);
    return apply_view(backend, random_contiguous(backend, &base), BURN_OP_expand, &attr, 1);
  }
  return random_contiguous(backend, desc);
}

/* -- bodies ----------------------------------------------------------------------------------- */

enum { MAX_INPUTS = 6, MAX_STEPS = 20, MAX_VALUES = MAX_INPUTS + MAX_STEPS, MAX_OUTPUTS = 3 };

typedef struct Body {
  const BurnBackend *backend;
  BurnTensorDesc space;
  uint32_t input_count, step_count, output_count;
  BurnPrimitive *values[MAX_VALUES]; /* as the single calls compute them */
  BurnTensorDesc descs[MAX_VALUES];
  BurnFusedStep steps[MAX_STEPS];
  uint32_t step_inputs[MAX_STEPS][3];
  BurnAttr attrs[MAX_STEPS][8];
  const BurnAttr *attr_rows[MAX_STEPS];
  uint32_t outputs[MAX_OUTPUTS];
} Body;

/* What the generator knows of an op: its inputs (f float, i integer, n either, b bool, a any) and its attributes. */
typedef struct Op {
  uint32_t op;
  const char *inputs,
      *attrs; /* attributes: s a number, d dtype, p probability, r seed and offset, S shape of the space, E expand */
} Op;

static const Op ops[] = {
#define OP(name, inputs, attrs) \
  { BURN_OP_##name, inputs, attrs }
    OP(neg, "f", ""),
    OP(abs, "f", ""),
    OP(sign, "f", ""),
    OP(exp, "f", ""),
    OP(log, "f", ""),
    OP(log1p, "f", ""),
    OP(sqrt, "f", ""),
    OP(recip, "f", ""),
    OP(sin, "f", ""),
    OP(cos, "f", ""),
    OP(tanh, "f", ""),
    OP(erf, "f", ""),
    OP(floor, "f", ""),
    OP(ceil, "f", ""),
    OP(round, "f", ""),
    OP(trunc, "f", ""),
    OP(relu, "f", ""),
    OP(sigmoid, "f", ""),
    OP(gelu, "f", ""),
    OP(silu, "f", ""),
    OP(leaky_relu, "f", "s"),
    OP(softplus, "f", "s"),
    OP(add, "ff", ""),
    OP(sub, "ff", ""),
    OP(mul, "ff", ""),
    OP(div, "ff", ""),
    OP(max_pair, "ff", ""),
    OP(min_pair, "ff", ""),
    OP(powf, "ff", ""),
    OP(relu_backward, "ff", ""),
    OP(add, "ff", ""),
    OP(sub, "ff", ""),
    OP(mul, "ff", ""),
    OP(div, "ff", ""),
    OP(add_scalar, "f", "s"),
    OP(mul_scalar, "f", "s"),
    OP(div_scalar, "f", "s"),
    OP(powf_scalar, "f", "s"),
    OP(clamp_min, "f", "s"),
    OP(clamp_max, "f", "s"),
    OP(clamp, "f", "ss"),
    OP(equal, "ff", ""),
    OP(not_equal, "ff", ""),
    OP(greater, "ff", ""),
    OP(greater_equal, "ff", ""),
    OP(lower, "ff", ""),
    OP(lower_equal, "ff", ""),
    OP(equal_scalar, "f", "s"),
    OP(not_equal_scalar, "f", "s"),
    OP(greater_scalar, "f", "s"),
    OP(greater_equal_scalar, "f", "s"),
    OP(lower_scalar, "f", "s"),
    OP(lower_equal_scalar, "f", "s"),
    OP(is_nan, "f", ""),
    OP(is_inf, "f", ""),
    OP(is_finite, "f", ""),
    OP(bool_and, "bb", ""),
    OP(bool_or, "bb", ""),
    OP(bool_xor, "bb", ""),
    OP(bool_not, "b", ""),
    OP(mask_where, "fbf", ""),
    OP(mask_fill, "fb", "s"),
    OP(mask_where, "fbf", ""),
    OP(mask_fill, "fb", "s"),
    OP(cast, "a", "d"),
    OP(cast, "a", "d"),
    OP(expand, "f", "E"),
    OP(dropout, "f", "pr"),
    OP(random_uniform, "", "Sdrss"),
    OP(random_bernoulli, "", "Sdrp"),
    OP(full, "", "Sds"),
#if defined(FUSED_INTEGERS)
    OP(neg, "i", ""),
    OP(abs, "i", ""),
    OP(sign, "i", ""),
    OP(relu, "i", ""),
    OP(add, "ii", ""),
    OP(sub, "ii", ""),
    OP(mul, "ii", ""),
    OP(div, "ii", ""),
    OP(remainder, "ii", ""),
    OP(max_pair, "ii", ""),
    OP(min_pair, "ii", ""),
    OP(bitwise_and, "ii", ""),
    OP(bitwise_or, "ii", ""),
    OP(bitwise_xor, "ii", ""),
    OP(bitwise_not, "i", ""),
    OP(bitwise_left_shift, "ii", ""),
    OP(bitwise_right_shift, "ii", ""),
    OP(add_scalar, "i", "s"),
    OP(mul_scalar, "i", "s"),
    OP(div_scalar, "i", "s"),
    OP(clamp_min, "i", "s"),
    OP(clamp_max, "i", "s"),
    OP(clamp, "i", "ss"),
    OP(equal, "ii", ""),
    OP(not_equal, "bb", ""),
    OP(greater, "ii", ""),
    OP(lower_equal, "ii", ""),
    OP(equal_scalar, "i", "s"),
    OP(equal_scalar, "b", "s"),
    OP(greater_scalar, "i", "s"),
    OP(lower_equal_scalar, "i", "s"),
    OP(mask_where, "ibi", ""),
    OP(mask_where, "bbb", ""),
    OP(mask_fill, "ib", "s"),
    OP(mask_fill, "bb", "s"),
    OP(expand, "i", "E"),
    OP(cast, "i", "d"),
    OP(cast, "f", "d"),
    OP(cast, "b", "d"),
    OP(cast, "i", "d"),
#endif
#undef OP
};
#define OP_COUNT (sizeof ops / sizeof ops[0])

enum { REDUCE = BURN_OP_LIMIT }; /* any reduction */

/* Ops that do not make large differences of small ones. D: the axis that is reduced. */
static const Op gentle_ops[] = {
#define OP(name, inputs, attrs) \
  { BURN_OP_##name, inputs, attrs }
    OP(neg, "f", ""),       OP(abs, "f", ""),          OP(tanh, "f", ""),        OP(sigmoid, "f", ""),
    OP(relu, "f", ""),      OP(add, "ff", ""),         OP(sub, "ff", ""),        OP(add, "ff", ""),
    OP(sub, "ff", ""),      OP(max_pair, "ff", ""),    OP(mul_scalar, "f", "m"), OP(add_scalar, "f", "m"),
    OP(tanh, "f", ""),      OP(mask_where, "fbf", ""), OP(mask_fill, "fb", "m"), OP(cast, "a", "d"),
    OP(dropout, "f", "pr"), OP(expand, "f", "E"),      {REDUCE, "f", "D"},       {REDUCE, "f", "D"},
    {REDUCE, "f", "D"},     {REDUCE, "f", "D"},        {REDUCE, "f", "D"},
#if defined(FUSED_INTEGERS)
    OP(add, "ii", ""),      OP(neg, "i", ""),          OP(mul, "ii", ""),        {REDUCE, "i", "D"},
    {REDUCE, "n", "D"},     {REDUCE, "n", "D"},
#endif
#undef OP
};
#define GENTLE_COUNT (sizeof gentle_ops / sizeof gentle_ops[0])

static bool is_float(BurnDType dtype) { return burn_dtype_kind(dtype) == BURN_KIND_FLOAT; }
static bool is_integer(BurnDType dtype) { return burn_dtype_kind(dtype) == BURN_KIND_INT; }

static bool suits(char kind, BurnDType dtype) {
  return kind == 'a' || (kind == 'b' && dtype == BURN_DTYPE_BOOL) || (kind == 'f' && is_float(dtype)) ||
         (kind == 'i' && is_integer(dtype)) || (kind == 'n' && dtype != BURN_DTYPE_BOOL);
}

/* A value that can be input `i` of the op; `first` is the one chosen for input 0. MAX_VALUES if there is none. */
static uint32_t choose_value(const Body *body, const Op *op, uint32_t i, uint32_t first) {
  const uint32_t count = body->input_count + body->step_count;
  for (uint32_t attempt = 0; attempt < 12; attempt++) {
    const uint32_t v = attempt % 3 == 0 ? count - 1 - below(count < 3 ? count : 3) : below(count);
    const BurnDType dtype = body->descs[v].dtype;
    if (!suits(op->inputs[i], dtype)) continue;
    if (i > 0 && op->inputs[i] == op->inputs[0] && dtype != body->descs[first].dtype) continue;
    if (i > 0 && body->descs[v].rank != body->descs[first].rank) continue;
    return v;
  }
  return MAX_VALUES;
}

#if defined(FUSED_INTEGERS)
static BurnDType target_dtype(const Body *body, const BurnFusedStep *step) {
  static const BurnDType targets[] = {BURN_DTYPE_F32, ONE_OF_F64,    BURN_DTYPE_BF16, BURN_DTYPE_F16, BURN_DTYPE_BOOL,
                                      BURN_DTYPE_U8,  BURN_DTYPE_I8, BURN_DTYPE_I16,  BURN_DTYPE_I32, BURN_DTYPE_I64};
  static const BurnDType created[] = {BURN_DTYPE_F32, BURN_DTYPE_BOOL, BURN_DTYPE_U8, BURN_DTYPE_I16, BURN_DTYPE_I64};
  (void)body;
  if (kind_of_body != ELEMENTS || step->op == BURN_OP_random_uniform) return BURN_DTYPE_F32;
  if (step->op == BURN_OP_random_bernoulli) return below(3) ? BURN_DTYPE_F32 : BURN_DTYPE_BOOL;
  return step->input_count == 0 ? created[below(5)] : targets[below(10)];
}
#else
static BurnDType target_dtype(const Body *body, const BurnFusedStep *step) {
  static const BurnDType targets[] = {BURN_DTYPE_F32, ONE_OF_F64, BURN_DTYPE_BF16, BURN_DTYPE_F16, BURN_DTYPE_BOOL};
  if (kind_of_body != ELEMENTS) return BURN_DTYPE_F32;
  if (step->input_count == 0) return step->op == BURN_OP_random_uniform || below(3) ? BURN_DTYPE_F32 : BURN_DTYPE_BOOL;
  const BurnDType from = body->descs[step->inputs[0]].dtype;
  const BurnDType to = targets[below(5)];
  return from == BURN_DTYPE_I32 || from == BURN_DTYPE_I64 ? (below(2) ? BURN_DTYPE_F32 : BURN_DTYPE_BOOL) : to;
}
#endif

static void make_attrs(Body *body, BurnFusedStep *step, const Op *op, BurnAttr *attrs) {
  static const double probabilities[] = {0.0, 0.25, 0.5, 0.9, 1.0};
  step->attr_count = 0;
  for (const char *kind = op->attrs; *kind; kind++) {
    BurnAttr *attr = &attrs[step->attr_count++];
    *attr = burn_attr_f64(step->op == BURN_OP_softplus ? 0.5 + below(3) : scalar_number());
    if (*kind == 's' && *op->inputs == 'i' && below(2)) *attr = burn_attr_i64((int64_t)below(9) - 4);
    if (*kind == 'm') *attr = burn_attr_f64(((double)below(2001) - 1000) / 1000);
    if (*kind == 'D' && kind_of_body == WHOLE) step->attr_count = 0;
    if (*kind == 'D') *attr = burn_attr_i64(reduced_axis(body->space.rank));
    if (*kind == 'p') *attr = burn_attr_f64(probabilities[below(5)]);
    if (*kind == 'd') *attr = burn_attr_dtype(target_dtype(body, step));
    if (*kind == 'S' || *kind == 'E') *attr = burn_attr_i64s(body->space.shape, body->space.rank);
    if (*kind == 'r') {
      *attr = burn_attr_i64((int64_t)below(1000) << below(40));
      attrs[step->attr_count++] = burn_attr_i64(below(100000));
    }
  }
}

static BurnPrimitive *run_step(const Body *body, const BurnFusedStep *step, const BurnAttr *attrs) {
  BurnPrimitive *inputs[3];
  for (uint32_t i = 0; i < step->input_count; i++) inputs[i] = body->values[step->inputs[i]];
  return call_op(body->backend, step->op, inputs, step->input_count, attrs, step->attr_count);
}

static bool same_shape(const BurnTensorDesc *a, const BurnTensorDesc *b) {
  return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

static const BurnFusedInterface *table_of(BurnInterface interface) { return interface.table; }

static uint32_t any_reduction(void) {
  static const uint32_t along[] = {BURN_OP_sum_dim, BURN_OP_mean_dim, BURN_OP_max_dim, BURN_OP_min_dim};
  static const uint32_t whole[] = {BURN_OP_sum, BURN_OP_mean, BURN_OP_max, BURN_OP_min};
  return kind_of_body == WHOLE ? whole[below(4)] : along[below(4)];
}

/* Adds a random step; does nothing if nothing fits the op that it first chose. */
static void add_step(Body *body, BurnInterface fused) {
  const Op *op = kind_of_body == ELEMENTS ? &ops[below(OP_COUNT)] : &gentle_ops[below(GENTLE_COUNT)];
  BurnFusedStep *step = &body->steps[body->step_count];
  uint32_t *inputs = body->step_inputs[body->step_count];
  BurnTensorDesc descs[3];
  step->op = op->op == REDUCE ? any_reduction() : op->op;
  if (body->backend->op_support(body->backend->self, step->op) != BURN_SUPPORT_YES) return; /* its parts are fused */
  step->input_count = (uint32_t)strlen(op->inputs);
  step->output_count = 1;
  step->inputs = inputs;
  for (uint32_t i = 0; i < step->input_count; i++) {
    inputs[i] = choose_value(body, op, i, inputs[0]);
    if (inputs[i] == MAX_VALUES) return;
    descs[i] = body->descs[inputs[i]];
  }
  if (op->op == REDUCE && !same_shape(&descs[0], &body->space)) return;
  if (op->op == BURN_OP_dropout && !same_shape(&descs[0], &body->space)) return;
  /* mask and x do not broadcast here; a value of one number does */
  if ((op->op == BURN_OP_mask_where || op->op == BURN_OP_mask_fill) && !same_shape(&descs[0], &descs[1])) return;
  if (op->op == BURN_OP_relu_backward && !same_shape(&descs[0], &descs[1])) return;
  if (op->op == BURN_OP_mask_where && !same_shape(&descs[0], &descs[2])) return;
  make_attrs(body, step, op, body->attrs[body->step_count]);
  step->attrs = body->attrs[body->step_count];
  body->attr_rows[body->step_count] = step->attrs;
  const uint32_t v = body->input_count + body->step_count;
  body->values[v] = run_step(body, step, step->attrs);
  body->descs[v] = burn_primitive_desc(body->values[v]);
  const uint32_t role = table_of(fused)->role(fused.self, step, descs, &body->descs[v]);
  if (role != (op->op == BURN_OP_expand ? BURN_FUSED_EXPAND
               : op->op == REDUCE       ? BURN_FUSED_REDUCE
                                        : BURN_FUSED_ELEMENTWISE)) {
    fail_msg("body %" PRIu64 ": role %u of op %u (%s)", test_seed, role, op->op, host->op_info(op->op)->name);
  }
  body->step_count++;
}

static void choose_reduced_space(BurnTensorDesc *space) {
  static const int64_t lengths[] = {2, 3, 10, 31, 64, 100, 128, 256, 513, 1000, 1024, 2050, 3000};
  const int64_t length = lengths[below(13)];
  if (kind_of_body == ROWS) {
    space->shape[space->rank - 1] = length;
  } else if (kind_of_body == COLUMNS) {
    if (space->rank == 1) space->rank = 2;
    if (space->shape[1] == 0) space->shape[1] = 1 + below(40);
    space->shape[0] = length;
  } else if (kind_of_body == MIDDLE) {
    for (; space->rank < 3; space->rank++) space->shape[space->rank] = 1 + below(40);
    space->shape[1] = length;
  } else {
    space->shape[0] *= length;
  }
}

static void choose_space(Body *body) {
  static const int64_t sizes[] = {1, 2, 3, 5, 7, 8, 16, 17, 31, 64, 129};
  BurnTensorDesc *space = &body->space;
  memset(space, 0, sizeof *space);
  space->dtype = BURN_DTYPE_F32;
  space->rank = 1 + below(4);
  int64_t count = 1;
  for (uint32_t i = 0; i < space->rank; i++) {
    space->shape[i] = sizes[below(11)];
    if (count * space->shape[i] > 20000) space->shape[i] = 1;
    count *= space->shape[i];
  }
  if (kind_of_body != ELEMENTS) choose_reduced_space(space);
  if (kind_of_body == ELEMENTS && below(12) == 0) space->shape[space->rank - 1] *= below(2) ? 700 : 0;
  while (burn_desc_count(space) > 120000) space->shape[below(space->rank)] = 1;
}

static BurnTensorDesc input_desc(const Body *body, uint32_t i) {
  static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_F32,  BURN_DTYPE_F32,  ONE_OF_F64,     BURN_DTYPE_BF16,
                                     BURN_DTYPE_F16, BURN_DTYPE_BOOL, BURN_DTYPE_BOOL, BURN_DTYPE_I64, BURN_DTYPE_I32,
                                     BURN_DTYPE_U8,  BURN_DTYPE_I8,   BURN_DTYPE_I16};
  BurnTensorDesc desc = body->space;
  desc.dtype = i == 0 ? BURN_DTYPE_F32 : dtypes[below(13)];
  const uint32_t kind = i == 0 ? 0 : below(6);
  for (uint32_t axis = 0; axis < desc.rank; axis++) {
    if (kind == 1 && axis + 1 < desc.rank) desc.shape[axis] = 1;  /* a row */
    if (kind == 2 && axis + 1 == desc.rank) desc.shape[axis] = 1; /* a column */
    if (kind == 3) desc.shape[axis] = 1;
    if (kind == 4 && below(2)) desc.shape[axis] = 1;
  }
  return desc;
}

static void choose_outputs(Body *body) {
  body->output_count = 0;
  for (uint32_t i = body->step_count; i-- > 0 && body->output_count < MAX_OUTPUTS;) {
    const uint32_t v = body->input_count + i;
    const bool fits = kind_of_body != ELEMENTS || same_shape(&body->descs[v], &body->space);
    if (fits && (body->output_count == 0 || below(6) == 0)) body->outputs[body->output_count++] = v;
  }
}

static void make_body(Body *body, const Stack *stack, uint64_t seed) {
  kind_of_body = seed % 2 == 0 ? ELEMENTS : 1 + (Kind)(seed / 2 % (KINDS - 1));
  test_seed = seed;
  random_state = seed * UINT64_C(0x9E3779B97F4A7C15) + 12345;
  memset(body, 0, sizeof *body);
  body->backend = stack->backend;
  choose_space(body);
  body->input_count = 1 + below(MAX_INPUTS);
  for (uint32_t i = 0; i < body->input_count; i++) {
    const BurnTensorDesc desc = input_desc(body, i);
    body->values[i] = random_tensor(body->backend, &desc);
    body->descs[i] = desc;
  }
  const uint32_t wanted = 2 + below(MAX_STEPS - 2);
  for (uint32_t attempt = 0; attempt < 4 * wanted && body->step_count < wanted; attempt++) add_step(body, stack->fused);
  choose_outputs(body);
}

static void drop_body(Body *body) {
  for (uint32_t v = 0; v < body->input_count + body->step_count; v++) drop(body->backend, body->values[v]);
}

/* -- comparisons ------------------------------------------------------------------------------ */

static bool is_nan_of(BurnDType dtype, const void *data, int64_t i) {
  if (dtype == BURN_DTYPE_F64) return isnan(((const double *)data)[i]);
  if (dtype == BURN_DTYPE_F32) return isnan(((const float *)data)[i]);
  if (dtype == BURN_DTYPE_F16) return (((const uint16_t *)data)[i] & 0x7fffu) > 0x7c00u;
  return dtype == BURN_DTYPE_BF16 && (((const uint16_t *)data)[i] & 0x7fffu) > 0x7f80u;
}

static void print_body(const Body *body) {
  printf("body %" PRIu64 " of shape", test_seed);
  for (uint32_t i = 0; i < body->space.rank; i++) printf(" %" PRId64, body->space.shape[i]);
  printf("\n");
  for (uint32_t v = 0; v < body->input_count + body->step_count; v++) {
    printf("  %%%u %s [", v, burn_dtype_name(body->descs[v].dtype));
    for (uint32_t i = 0; i < body->descs[v].rank; i++) printf(" %" PRId64, body->descs[v].shape[i]);
    printf(" ]");
    if (v >= body->input_count) {
      const BurnFusedStep *step = &body->steps[v - body->input_count];
      printf(" = %s", host->op_info(step->op)->name);
      for (uint32_t i = 0; i < step->input_count; i++) printf(" %%%u", step->inputs[i]);
      for (uint32_t i = 0; i < step->attr_count; i++) {
        if (step->attrs[i].tag == BURN_ATTR_F64) printf(" %g", step->attrs[i].value.f64);
      }
    }
    printf("\n");
  }
}

static double number_of(BurnDType dtype, const void *data, int64_t i) {
  uint32_t bits;
  float value;
  if (dtype == BURN_DTYPE_F64) return ((const double *)data)[i];
  if (dtype == BURN_DTYPE_F32) return (double)((const float *)data)[i];
  if (!is_float(dtype)) return 0; /* compared as bytes */
  const uint16_t half = ((const uint16_t *)data)[i];
  if (dtype == BURN_DTYPE_F16)
    return ldexp((half & 0x7fff) < 0x400 ? half & 0x3ff : (half & 0x3ff) | 0x400,
                 ((half & 0x7c00) >> 10) - 25 + ((half & 0x7fff) < 0x400)) *
           (half & 0x8000 ? -1 : 1);
  bits = (uint32_t)half << 16;
  memcpy(&value, &bits, sizeof value);
  return (double)value;
}

/* Sums may be formed in another order, and have up to `length` terms. */
static bool is_near(BurnDType dtype, const void *a, const void *b, int64_t i, int64_t length) {
  const double x = number_of(dtype, a, i), y = number_of(dtype, b, i);
  const double scale = fabs(x) > 1 ? fabs(x) : 1;
  return kind_of_body != ELEMENTS && is_float(dtype) &&
         fabs(x - y) <= scale * (dtype == BURN_DTYPE_F32 || dtype == BURN_DTYPE_F64 ? 1e-5 + 1e-6 * (double)length
                                 : dtype == BURN_DTYPE_F16                          ? 2e-3
                                                                                    : 2e-2);
}

static void compare_bits(const Body *body, uint32_t v, BurnPrimitive *x, const BurnBackend *x_backend,
                         const char *what) {
  const BurnTensorDesc *desc = &body->descs[v];
  const int64_t count = burn_desc_count(desc), length = kind_of_body == ELEMENTS || kind_of_body == WHOLE
                                                            ? burn_desc_count(&body->space)
                                                            : body->space.shape[reduced_axis(body->space.rank)];
  const size_t size = burn_dtype_bytes(desc->dtype), bytes = (size_t)count * size;
  const BurnTensorDesc got_desc = burn_primitive_desc(x);
  assert_memory_equal(&got_desc, desc, sizeof *desc);
  char *expected = malloc(bytes + 1), *got = malloc(bytes + 1);
  assert_true(expected && got);
  check_ok(body->backend->read(body->backend->self, body->values[v], expected, bytes));
  check_ok(x_backend->read(x_backend->self, x, got, bytes));
  for (int64_t i = 0; i < count; i++) {
    if (memcmp(expected + (size_t)i * size, got + (size_t)i * size, size) == 0) continue;
    if (is_nan_of(desc->dtype, expected, i) && is_nan_of(desc->dtype, got, i)) continue;
    if (is_near(desc->dtype, expected, got, i, length)) continue;
    uint32_t a = 0, b = 0;
    memcpy(&a, expected + (size_t)i * size, size < 4 ? size : 4);
    memcpy(&b, got + (size_t)i * size, size < 4 ? size : 4);
    print_body(body);
    fail_msg("body %" PRIu64 ", %s: element %" PRId64 " of %%%u is %08x, the single calls give %08x", test_seed, what,
             i, v, b, a);
  }
  free(expected);
  free(got);
}

/* -- runs ------------------------------------------------------------------------------------- */

static BurnFusedBody describe(const Body *body) {
  const BurnFusedBody described = {(uint32_t)sizeof described,
                                   body->input_count,
                                   body->step_count,
                                   body->output_count,
                                   body->descs,
                                   body->steps,
                                   body->outputs};
  return described;
}

static void run_and_compare(const Body *body, BurnInterface fused, const BurnBackend *backend,
                            const BurnFusedKernel *kernel, BurnPrimitive *const *inputs, uint64_t donate,
                            const char *what) {
  BurnPrimitive *outputs[MAX_OUTPUTS] = {NULL};
  const BurnFusedCall call = {(uint32_t)sizeof call, 0, kernel, inputs, body->attr_rows, outputs, donate, NULL};
  check_ok(table_of(fused)->run(fused.self, &call));
  for (uint32_t i = 0; i < body->input_count; i++) {
    if ((donate >> i) & 1u) drop(backend, inputs[i]);
  }
  for (uint32_t o = 0; o < body->output_count; o++) {
    compare_bits(body, body->outputs[o], outputs[o], backend, what);
    drop(backend, outputs[o]);
  }
}

/* Copies of the inputs on a backend, contiguous. */
static void copy_inputs(const Body *body, const BurnBackend *backend, BurnPrimitive **copies) {
  for (uint32_t i = 0; i < body->input_count; i++) {
    const size_t bytes = (size_t)burn_desc_count(&body->descs[i]) * burn_dtype_bytes(body->descs[i].dtype);
    void *data = malloc(bytes + 1);
    assert_non_null(data);
    check_ok(body->backend->read(body->backend->self, body->values[i], data, bytes));
    check_ok(backend->create(backend->self, &body->descs[i], data, &copies[i]));
    free(data);
  }
}

/* The generator makes some bodies that no single kernel can be. */
static bool may_be_refused(const char *why) {
  static const char *const reasons[] = {"less than two steps",
                                        "random numbers of another shape",
                                        "outputs of several shapes",
                                        "a result that is needed for all elements",
                                        "too many reductions one after the other",
                                        "nothing to reduce",
                                        "reductions of several shapes or along several axes",
                                        "a value of higher rank than the result"};
  for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
    if (strcmp(why, reasons[i]) == 0) return true;
  }
  return false;
}

/* Returns whether the body was compiled. */
static bool check_body(const Stack *stack, uint64_t seed) {
  Body body;
  BurnFusedKernel *kernel = NULL, *cut_kernel = NULL;
  BurnPrimitive *copies[MAX_INPUTS];
  char why[128] = "";
  make_body(&body, stack, seed);
  const BurnFusedBody described = describe(&body);
  const BurnBackend *cut = burn_device_backend(stack->cut_device);
  if (body.output_count > 0) {
    check_ok(table_of(stack->fused)->compile(stack->fused.self, &described, &kernel, why, sizeof why));
    check_ok(table_of(stack->cut_fused)->compile(stack->cut_fused.self, &described, &cut_kernel, why, sizeof why));
  }
  if (kernel) {
    run_and_compare(&body, stack->fused, stack->backend, kernel, body.values, 0, "inputs kept");
    copy_inputs(&body, stack->backend, copies);
    run_and_compare(&body, stack->fused, stack->backend, kernel, copies, (UINT64_C(1) << body.input_count) - 1,
                    "inputs donated");
    copy_inputs(&body, cut, copies);
    run_and_compare(&body, stack->cut_fused, cut, cut_kernel, copies, (UINT64_C(1) << body.input_count) - 1, "cut");
    table_of(stack->fused)->release(stack->fused.self, kernel);
    table_of(stack->cut_fused)->release(stack->cut_fused.self, cut_kernel);
  } else if (body.output_count > 0 && !may_be_refused(why)) {
    print_body(&body);
    fail_msg("body %" PRIu64 " was refused: %s", seed, why);
  }
  drop_body(&body);
  return kernel != NULL;
}

static void test_random_bodies(void **state) {
  (void)state;
  const char *one = getenv("FUSED_BODY");         /* the number of a body that failed */
  const char *from = getenv("FUSED_BODIES_FROM"); /* others than the first ones */
#if defined(FUSED_COUNT)
  const uint64_t count = runs_all() ? FUSED_LONG_COUNT : FUSED_COUNT;
#elif defined(SANITIZED)
  const uint64_t count = 300;
#else
  const uint64_t count = 3000;
#endif
  for (size_t s = 0; s < STACK_COUNT; s++) {
    uint64_t compiled[KIND_COUNT] = {0}, tried[KIND_COUNT] = {0};
    if (!stacks[s].device) continue;
    if (one) {
      (void)check_body(&stacks[s], strtoull(one, NULL, 10));
      continue;
    }
    for (uint64_t seed = from ? strtoull(from, NULL, 10) : 0, end = seed + count; seed < end; seed++) {
      const bool done = check_body(&stacks[s], seed);
      tried[kind_of_body]++;
      compiled[kind_of_body] += done;
    }
    for (int kind = 0; kind < KINDS; kind++) {
      printf("%s, kind %d: %" PRIu64 " of %" PRIu64 " compiled\n", stacks[s].text, kind, compiled[kind], tried[kind]);
      assert_true(compiled[kind] > (tried[kind] < 50 ? 0 : tried[kind] / (kind == MIDDLE ? 6 : 3)));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_bodies),
  };
  return cmocka_run_group_tests(tests, open_stacks, close_stacks);
}
