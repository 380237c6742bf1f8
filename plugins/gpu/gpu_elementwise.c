/* gpu_elementwise.c - ops that compute element by element: rows of elementwise.def as texts, masks, casts and the
 * order of elements that a kernel walks in. */
#include "gpu.h"

#include <burn/common/widen.h>

#include <stdio.h>
#include <string.h>

/* -- definitions: what burn_apply computes ---------------------------------------------------- */

/* How the number of a call becomes s, the detail of a row. */
enum {
  PLAIN, /* there is none, or it is the nearest that the dtype has */
  WRAPS, /* integers keep its low bits */
  LOWER, /* a bound: NaN is none */
  UPPER,
  EXACT, /* compared as it is */
  POWER  /* chooses the expression: see burn__gpu_power */
};

/* What the numbers of the rows of BURN_SCALAR are. */
enum {
  SCALAR_add_scalar = WRAPS,
  SCALAR_mul_scalar = WRAPS,
  SCALAR_clamp_min = LOWER,
  SCALAR_clamp_max = UPPER,
  SCALAR_clamp = PLAIN /* two bounds: see take_numbers */
};

/* The expression of a row, by what is computed in. */
typedef struct Expression {
  uint32_t op;
  int inputs, detail;
  const char *f32, *f64, *integers, *large; /* NULL: the op does not take such; large: f32 beyond 1e9 */
} Expression;

#define ONE(op, f32, f64, integers) {BURN_OP_##op, 1, PLAIN, #f32, #f64, #integers, NULL},
#define ONE_FLOAT(op, f32, f64) {BURN_OP_##op, 1, PLAIN, #f32, #f64, NULL, NULL},
#define NUMBER(op, f32, f64, integers) {BURN_OP_##op, 1, PLAIN, #f32, #f64, #integers, NULL},
#define TWO(op, f32, f64, integers) {BURN_OP_##op, 2, PLAIN, #f32, #f64, #integers, NULL},
#define TWO_FLOAT(op, f32, f64) {BURN_OP_##op, 2, PLAIN, #f32, #f64, NULL, NULL},

static const Expression expressions[] = {
#define BURN_UNARY ONE
#define BURN_UNARY_FLOAT ONE_FLOAT
#define BURN_UNARY_POLYNOMIAL ONE_FLOAT
#define BURN_UNARY_LONG ONE_FLOAT
#define BURN_UNARY_WAVE(op, f32, beyond, f64) {BURN_OP_##op, 1, PLAIN, #f32, #f64, NULL, #beyond},
#define BURN_UNARY_LIBM ONE_FLOAT
#define BURN_TEST ONE_FLOAT
#define BURN_SCALAR NUMBER
#define BURN_SCALAR_FLOAT ONE_FLOAT
#define BURN_SCALAR_LONG ONE_FLOAT
#define BURN_SCALAR_QUOTIENT NUMBER
#define BURN_SCALAR_REMAINDER NUMBER
#define BURN_COMPARE_SCALAR(op, comparison) {BURN_OP_##op, 1, EXACT, #comparison, #comparison, #comparison, NULL},
#define BURN_BINARY TWO
#define BURN_BINARY_FLOAT TWO_FLOAT
#define BURN_BINARY_LONG TWO_FLOAT
#define BURN_BINARY_POWER TWO_FLOAT
#define BURN_BINARY_LIBM TWO_FLOAT
#define BURN_BINARY_QUOTIENT TWO
#define BURN_BINARY_REMAINDER TWO
#define BURN_EQUAL(op, comparison) TWO(op, comparison, comparison, comparison)
#define BURN_LOWER(op, comparison) TWO(op, comparison, comparison, comparison)
#define BURN_GREATER(op, other, comparison) TWO(op, comparison, comparison, comparison)
#define BURN_LOGIC(op, bits) {BURN_OP_##op, 2, PLAIN, NULL, NULL, #bits, NULL},
#define BURN_BITWISE(op, bits) {BURN_OP_##op, 2, PLAIN, NULL, NULL, #bits, NULL},
#include "common/elementwise.def"
    {BURN_OP_bool_not, 1, PLAIN, NULL, NULL, "x == 0", NULL},
    {BURN_OP_bitwise_not, 1, PLAIN, NULL, NULL, "~x", NULL},
    {BURN_OP_mask_where, 3, PLAIN, "y != 0 ? z : x", "y != 0 ? z : x", "y != 0 ? z : x", NULL},
    {BURN_OP_mask_fill, 2, PLAIN, "y != 0 ? s : x", "y != 0 ? s : x", "y != 0 ? s : x", NULL},
    {BURN_OP_powi, 2, PLAIN, "burn_power_real(x, y)", "burn_power_real(x, y)", "(T)burn_power(x, y)", NULL},
};

/* powf_scalar by its exponent. */
typedef struct Power {
  double exponent;
  const char *f32, *f64;
} Power;
static const Power powers[] = {
#define BURN_POWER(name, exponent, f32, f64) {exponent, #f32, #f64},
#include "common/elementwise.def"
};
static const Expression any_power = {
#define BURN_POWER_ANY(name, f32, f64) BURN_OP_powf_scalar, 1, POWER, #f32, #f64, NULL, NULL
#include "common/elementwise.def"
};

/* -- casts ------------------------------------------------------------------------------------ */

static const char *cast_expression(BurnDType from, BurnDType to) {
  const bool from_float = burn_dtype_kind(from) == BURN_KIND_FLOAT, to_float = burn_dtype_kind(to) == BURN_KIND_FLOAT;
  if (from_float && !to_float) return to == BURN_DTYPE_BOOL ? "x" : "burn_saturate<OUT>((double)x)";
  if (from == BURN_DTYPE_I64 && to == BURN_DTYPE_F32) return "(float)x";
  if (from == BURN_DTYPE_I64 && to == BURN_DTYPE_F64) return "(double)x";
  if (!from_float && to_float) return from == BURN_DTYPE_I64 ? "burn_integer_to_odd(x)" : "(double)x";
  return "x";
}

/* -- the definition as text ------------------------------------------------------------------- */

enum { DEFINITION_BYTES = 2048 };

/* What a kernel of three inputs at most is told: `body` returns the result. */
static void wrap_body(char text[DEFINITION_BYTES], int inputs, const char *body) {
  (void)snprintf(
      text, DEFINITION_BYTES,
      "#define BURN_INPUTS %d\n"
      "typedef Element<IN0>::C T;\ntypedef Element<IN0>::U U;\n"
      "template <class V> static __device__ inline V burn_number(const GpuNumber &n) {\n"
      "  return Element<IN0>::is_float ? (V)n.real : (V)n.integer;\n}\n"
      "static __device__ inline auto burn_apply(const T x_, const Element<IN1>::C y, const Element<IN2>::C z, "
      "const GpuNumber &s_, const GpuNumber &q_) {\n%s}\n",
      inputs, body);
}

static void write_definition(char text[DEFINITION_BYTES], const Expression *e, BurnDType dtype) {
  const bool is_float = burn_dtype_kind(dtype) == BURN_KIND_FLOAT, is_f64 = dtype == BURN_DTYPE_F64;
  const char *expression = !is_float ? e->integers : is_f64 ? e->f64 : e->f32;
  char body[1024];
  size_t used = 0;
  if (e->detail == EXACT && !is_float) {
    (void)snprintf(body, sizeof body,
                   "  if (s_.is_real) {\n    const double x = burn_order((int64_t)x_, s_.real), s = 0.0;\n"
                   "    return (%s);\n  }\n  const int64_t x = (int64_t)x_, s = s_.integer;\n",
                   expression);
  } else {
    (void)snprintf(body, sizeof body, "  const T x = x_, s = burn_number<T>(s_), q = burn_number<T>(q_);\n");
  }
  used = strlen(body);
  if (e->large && is_float && !is_f64)
    (void)snprintf(body + used, sizeof body - used, "  if (burn_abs_f32(x) > 1.0e9f) return %s;\n", e->large);
  used = strlen(body);
  (void)snprintf(body + used, sizeof body - used, "  return (%s);\n", expression);
  wrap_body(text, e->inputs, body);
}

static void write_cast(char text[DEFINITION_BYTES], BurnDType from, BurnDType to) {
  char body[200];
  (void)snprintf(body, sizeof body, "  const T x = x_;\n  return %s;\n", cast_expression(from, to));
  wrap_body(text, 1, body);
}

/* powf_scalar has an expression for each exponent of the list, from 1 on, and one for all others. */
uint32_t burn__gpu_power(double exponent) {
  uint32_t i = 0;
  while (i < sizeof powers / sizeof powers[0] && powers[i].exponent != exponent) i++;
  return i + 1;
}

static const Expression *find_expression(uint32_t op, uint32_t power, Expression *room) {
  if (op == BURN_OP_powf_scalar && power <= sizeof powers / sizeof powers[0]) {
    *room = (Expression){op, 1, POWER, powers[power - 1].f32, powers[power - 1].f64, NULL, NULL};
    return room;
  }
  for (size_t i = 0; i < sizeof expressions / sizeof expressions[0]; i++)
    if (expressions[i].op == op) return &expressions[i];
  return &any_power;
}

GpuExpression burn__gpu_expression(uint32_t op, uint32_t power) {
  Expression room;
  const Expression *e = find_expression(op, power, &room);
  return (GpuExpression){e->f32, e->f64, e->integers, e->large};
}

/* -- numbers ---------------------------------------------------------------------------------- */

int64_t burn__gpu_saturate(BurnDType dtype, const BurnAttr *number) {
  const uint32_t bits = 8 * (uint32_t)burn_dtype_bytes(dtype);
  const int64_t value = burn_attr_to_i64(number);
  if (dtype == BURN_DTYPE_BOOL) return burn_attr_to_f64(number) != 0;
  const int64_t high = dtype == BURN_DTYPE_U8 ? 255 : bits == 64 ? INT64_MAX : ((int64_t)1 << (bits - 1)) - 1;
  const int64_t low = dtype == BURN_DTYPE_U8 ? 0 : -high - 1;
  return value > high ? high : value < low ? low : value;
}

static bool is_nan(const BurnAttr *number) {
  return number->tag == BURN_ATTR_F64 && !(number->value.f64 == number->value.f64);
}

GpuNumber burn__gpu_number(BurnDType dtype, const BurnAttr *number) {
  GpuNumber result = {0, 0, number->tag == BURN_ATTR_F64, 0};
  result.real = burn_common_round_number(dtype, burn_attr_to_f64(number));
  result.integer = burn__gpu_saturate(dtype, number);
  return result;
}

/* A bound that is NaN bounds nothing: it becomes the lowest or the highest integer. */
static GpuNumber bound(BurnDType dtype, const BurnAttr *number, bool is_lower) {
  const BurnAttr none = burn_attr_i64(is_lower ? INT64_MIN : INT64_MAX);
  GpuNumber result = burn__gpu_number(dtype, number);
  if (is_nan(number)) result.integer = burn__gpu_saturate(dtype, &none);
  return result;
}

/* Composite ops compute as a whole in f32: their numbers are not rounded to halves. */
void burn__gpu_scalars(const Gpu *gpu, uint32_t op, BurnDType dtype, const BurnAttr *attrs, GpuNumber numbers[2]) {
  const int detail = gpu->rows[op]->detail;
  numbers[0] = detail == LOWER   ? bound(dtype, &attrs[0], true)
               : detail == UPPER ? bound(dtype, &attrs[0], false)
                                 : burn__gpu_number(dtype, &attrs[0]);
  if (detail == WRAPS || detail == EXACT) numbers[0].integer = burn_attr_to_i64(&attrs[0]);
  if (op == BURN_OP_clamp) {
    numbers[0] = bound(dtype, &attrs[0], true);
    numbers[1] = bound(dtype, &attrs[1], false);
  } else if (gpu->host->op_info(op)->is_composite) {
    numbers[0].real = burn_attr_to_f64(&attrs[0]);
  }
}

/* -- the order in which a kernel walks -------------------------------------------------------- */

enum { TILE_THREADS = 256, SHORT = 16 /* axes that are not part of a tile */, MIN_TURNED = 1 << 14 /* elements */ };

static bool merges(const GpuElementwise *p, int inputs, int outer, int inner) {
  bool fits = p->out_strides[outer] == p->out_strides[inner] * p->shape[inner];
  for (int k = 0; k < inputs && fits; k++) fits = p->strides[k][outer] == p->strides[k][inner] * p->shape[inner];
  return fits;
}

static void put_axis(GpuElementwise *p, int inputs, int to, int64_t size, int64_t out_stride, const int64_t *strides) {
  p->shape[to] = size;
  p->out_strides[to] = out_stride;
  for (int k = 0; k < inputs; k++) p->strides[k][to] = strides[k];
}

/* Axes of size 1 go, neighbours that lie in memory as one become one. They are walked as the result lies. */
static void lay_out(GpuElementwise *p, BurnPrimitive *out, BurnPrimitive *const *in, int inputs) {
  const bool is_last = burn__gpu_is_channels_last(out);
  p->rank = 0;
  for (uint32_t i = 0; i < out->rank; i++) {
    const uint32_t axis = is_last ? burn__gpu_axis_of_channels_last(out->rank, i) : i;
    int64_t strides[GPU_MAX_INPUTS] = {0};
    if (out->shape[axis] == 1) continue;
    for (int k = 0; k < inputs; k++) strides[k] = in[k]->shape[axis] == 1 ? 0 : in[k]->strides[axis];
    put_axis(p, inputs, p->rank, out->shape[axis], out->strides[axis], strides);
    if (p->rank == 0 || !merges(p, inputs, p->rank - 1, p->rank)) {
      p->rank++;
      continue;
    }
    put_axis(p, inputs, p->rank - 1, p->shape[p->rank - 1] * out->shape[axis], out->strides[axis], strides);
  }
  if (p->rank == 0) {
    const int64_t none[GPU_MAX_INPUTS] = {0};
    put_axis(p, inputs, p->rank++, 1, 1, none);
  }
}

/* Sets p->repeats, too. */
static bool is_flat(GpuElementwise *p, int inputs) {
  bool flat = p->rank == 1 && p->out_strides[0] == 1;
  for (int k = 0; k < inputs && flat; k++) {
    flat = p->strides[k][0] == 1 || p->strides[k][0] == 0;
    p->repeats |= p->strides[k][0] == 0;
  }
  return flat;
}

/* `width` elements from where each row of a tensor begins can be read at once, or by 16 bytes. */
static bool has_whole_rows(uint64_t address, const int64_t *strides, int last, BurnDType dtype, int64_t width) {
  const uint64_t bytes = (uint64_t)width * burn_dtype_bytes(dtype);
  uint64_t odd = address;
  for (int axis = 0; axis < last; axis++) odd |= (uint64_t)strides[axis] * burn_dtype_bytes(dtype);
  return odd % (bytes < 16 ? bytes : 16) == 0;
}

/* True if all rows along the last axis are made of vectors, or of one element. */
static bool are_vectors(const GpuElementwise *p, const GpuKernelKey *key, int inputs, int64_t width) {
  const int last = p->rank - 1;
  bool fits = last > 0 && p->count < INT32_MAX && p->shape[last] % width == 0 && p->out_strides[last] == 1 &&
              has_whole_rows(p->out, p->out_strides, last, key->out, width);
  for (int k = 0; k < inputs && fits; k++)
    fits = p->strides[k][last] == 0 ||
           (p->strides[k][last] == 1 && has_whole_rows(p->in[k], p->strides[k], last, key->in[k], width));
  return fits;
}

/* The axis before the last along which an input has no gaps, if both are long; -1: none. */
static int32_t turned_axis(const GpuElementwise *p, int inputs) {
  const int last = p->rank - 1;
  if (inputs != 1 || p->count < MIN_TURNED || p->out_strides[last] != 1 || p->shape[last] < SHORT) return -1;
  for (int axis = 0; axis < last; axis++)
    if (p->strides[0][axis] == 1 && p->shape[axis] >= SHORT) return axis;
  return -1;
}

static int64_t groups_of(int64_t threads) { return gpu_pieces(threads, GPU_ELEMENT_THREADS); }

static int64_t tiles_of(const GpuElementwise *p, BurnDType dtype) {
  const int last = p->rank - 1;
  const int64_t tile = burn_dtype_bytes(dtype) <= 4 ? 64 : 32, rows = p->shape[p->turned], columns = p->shape[last];
  return p->count / (rows * columns) * ((rows + tile - 1) / tile) * ((columns + tile - 1) / tile);
}

/* Chooses the text, and of kernels/elementwise.cu the kernel; the groups of its threads. */
static int64_t choose(GpuElementwise *p, GpuKernelKey *key, int inputs) {
  uint64_t narrow = burn_dtype_bytes(key->out), odd = p->out;
  key->entry = 0;
  for (int k = 0; k < inputs; k++) {
    const uint64_t bytes = burn_dtype_bytes(key->in[k]);
    if (bytes < narrow) narrow = bytes;
    if (p->strides[k][0] != 0) odd |= p->in[k];
  }
  const int64_t width = narrow == 1 ? 8 : (int64_t)(16 / narrow);
  if (is_flat(p, inputs)) {
    const bool is_single = odd % 16 != 0 || (inputs == 1 && p->repeats != 0);
    key->entry = is_single;
    return groups_of(is_single ? p->count : gpu_pieces(p->count, width * GPU_ELEMENT_VECTORS(inputs)));
  }
  p->turned = turned_axis(p, inputs);
  if (are_vectors(p, key, inputs, width)) {
    key->text = GPU_TEXT_ELEMENTWISE_ROWS;
    return groups_of(p->count / width);
  }
  if (p->turned >= 0 && tiles_of(p, key->in[0]) <= INT32_MAX) {
    key->text = GPU_TEXT_ELEMENTWISE_TILES;
    return tiles_of(p, key->in[0]);
  }
  key->entry = p->count < INT32_MAX ? 2 : 3;
  return groups_of(p->count);
}

/* Fills places and key from the tensors; inputs that are not there have the type of the first. */
static void bind(GpuElementwise *p, GpuKernelKey *key, BurnPrimitive *out, BurnPrimitive *const *in, int inputs) {
  p->out = gpu_address(out);
  p->count = burn_primitive_count(out);
  key->text = GPU_TEXT_ELEMENTWISE;
  key->out = out->dtype;
  for (int k = 0; k < 3; k++) {
    key->in[k] = in[k < inputs ? k : 0]->dtype;
    if (k < inputs) p->in[k] = gpu_address(in[k]);
  }
  lay_out(p, out, in, inputs);
}

static BurnStatus start(Gpu *gpu, GpuFunction *function, const GpuKernelKey *key, int64_t groups,
                        const GpuElementwise *p) {
  const uint32_t threads = key->text == GPU_TEXT_ELEMENTWISE_TILES ? TILE_THREADS : GPU_ELEMENT_THREADS;
  return burn__gpu_launch(gpu, function, (uint64_t)groups, threads, p, sizeof *p);
}

/* -- the ops ---------------------------------------------------------------------------------- */

/* In the order of the inputs. */
static BurnStatus make_output(const GpuRun *run) {
  const BurnOpCall *call = run->call;
  return burn__gpu_keeps_channels_last(call->inputs, call->input_count, call->output_descs)
             ? burn__gpu_new_channels_last(run->gpu, call->output_descs, &run->out[0])
             : burn__gpu_output(run, 0);
}

static BurnStatus elementwise(const GpuRun *run) {
  Gpu *gpu = run->gpu;
  const BurnOpCall *call = run->call;
  const int inputs = (int)call->input_count;
  BurnStatus status = make_output(run);
  if (status != BURN_OK) return status;
  GpuElementwise p = {.rank = 0};
  GpuKernelKey key = {.op = call->op};
  bind(&p, &key, run->out[0], call->inputs, inputs);
  if (p.count == 0) return BURN_OK;
  if (call->attr_count > 0) {
    GpuNumber numbers[2] = {p.s, p.q};
    burn__gpu_scalars(gpu, call->op, call->inputs[0]->dtype, call->attrs, numbers);
    p.s = numbers[0];
    p.q = numbers[1];
  }
  const int64_t groups = choose(&p, &key, inputs);
  key.variant = call->op == BURN_OP_powf_scalar ? burn__gpu_power(call->attrs[0].value.f64) : 0;
  GpuFunction *function = burn__gpu_known_kernel(gpu, &key);
  if (!function) {
    char definition[DEFINITION_BYTES];
    Expression room;
    write_definition(definition, find_expression(call->op, key.variant, &room), key.in[0]);
    status = burn__gpu_kernel(gpu, &key, definition, &function);
  }
  return status == BURN_OK ? start(gpu, function, &key, groups, &p) : status;
}

/* Elements of x, in the dtype of `to`, to the places of `to`. */
static BurnStatus convert(Gpu *gpu, BurnPrimitive *to, BurnPrimitive *x) {
  GpuElementwise p = {.rank = 0};
  GpuKernelKey key = {.op = BURN_OP_cast};
  BurnStatus status = BURN_OK;
  bind(&p, &key, to, &x, 1);
  if (p.count == 0) return BURN_OK;
  /* A copy of halves: through f32 a NaN would get other bits. */
  if (x->dtype == to->dtype && burn_dtype_bytes(x->dtype) == 2)
    key.out = key.in[0] = key.in[1] = key.in[2] = BURN_DTYPE_I16;
  const int64_t groups = choose(&p, &key, 1);
  GpuFunction *function = burn__gpu_known_kernel(gpu, &key);
  if (!function) {
    char definition[DEFINITION_BYTES];
    write_cast(definition, key.in[0], key.out);
    status = burn__gpu_kernel(gpu, &key, definition, &function);
  }
  return status == BURN_OK ? start(gpu, function, &key, groups, &p) : status;
}

static BurnStatus cast(const GpuRun *run) {
  const BurnStatus status = make_output(run);
  return status == BURN_OK ? convert(run->gpu, run->out[0], run->call->inputs[0]) : status;
}

BurnStatus burn__gpu_copy(Gpu *gpu, BurnPrimitive *to, BurnPrimitive *from) { return convert(gpu, to, from); }

BurnStatus burn__gpu_cast(Gpu *gpu, BurnPrimitive *x, BurnDType dtype, BurnPrimitive **out) {
  BurnTensorDesc desc = burn_primitive_desc(x);
  desc.dtype = dtype;
  BurnStatus status = burn__gpu_new(gpu, &desc, out);
  if (status == BURN_OK) status = convert(gpu, *out, x);
  if (status == BURN_OK || !*out) return status;
  burn__gpu_release(gpu, *out);
  *out = NULL;
  return status;
}

/* -- the rows --------------------------------------------------------------------------------- */

#define ROW(op, detail) {BURN_OP_##op, elementwise, detail},
#define ROW_OF_3(op, f32, f64) ROW(op, PLAIN)
#define ROW_OF_4(op, f32, f64, integers) ROW(op, PLAIN)

const GpuRow burn__gpu_elementwise_rows[] = {
#define BURN_UNARY ROW_OF_4
#define BURN_UNARY_FLOAT ROW_OF_3
#define BURN_UNARY_POLYNOMIAL ROW_OF_3
#define BURN_UNARY_LONG ROW_OF_3
#define BURN_UNARY_WAVE ROW_OF_4
#define BURN_UNARY_LIBM ROW_OF_3
#define BURN_TEST ROW_OF_3
#define BURN_SCALAR(op, f32, f64, integers) {BURN_OP_##op, elementwise, SCALAR_##op},
#define BURN_SCALAR_FLOAT ROW_OF_3
#define BURN_SCALAR_LONG ROW_OF_3
#define BURN_SCALAR_QUOTIENT ROW_OF_4
#define BURN_SCALAR_REMAINDER ROW_OF_4
#define BURN_COMPARE_SCALAR(op, comparison) ROW(op, EXACT)
#define BURN_BINARY ROW_OF_4
#define BURN_BINARY_FLOAT ROW_OF_3
#define BURN_BINARY_LONG ROW_OF_3
#define BURN_BINARY_POWER ROW_OF_3
#define BURN_BINARY_LIBM ROW_OF_3
#define BURN_BINARY_QUOTIENT ROW_OF_4
#define BURN_BINARY_REMAINDER ROW_OF_4
#define BURN_EQUAL(op, comparison) ROW(op, PLAIN)
#define BURN_LOWER(op, comparison) ROW(op, PLAIN)
#define BURN_GREATER(op, other, comparison) ROW(op, PLAIN)
#define BURN_LOGIC(op, bits) ROW(op, PLAIN)
#define BURN_BITWISE(op, bits) ROW(op, PLAIN)
#include "common/elementwise.def"
    {BURN_OP_bool_not, elementwise, PLAIN},
    {BURN_OP_bitwise_not, elementwise, PLAIN},
    {BURN_OP_mask_where, elementwise, PLAIN},
    {BURN_OP_mask_fill, elementwise, PLAIN},
    {BURN_OP_powi, elementwise, PLAIN},
    {BURN_OP_powf_scalar, elementwise, POWER},
    {BURN_OP_cast, cast, PLAIN},
    {0, NULL, 0}};
