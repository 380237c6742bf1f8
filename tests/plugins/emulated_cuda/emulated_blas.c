/* emulated_blas.c - libcublasLt.so for machines without a GPU: products by loops, with the layouts, batches and epilogues
 * that cublasLt.h describes. Sums are in f32 (f64 and i32 of such), in the order of k; the algorithms that it offers cut k
 * in 1, 2 and 4 parts, so that their last digits differ as on a GPU. It holds its caller to what the heuristic was told. */
#define _GNU_SOURCE /* RTLD_NOLOAD */
#include "cuda_driver.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Values of cublasLt.h, library_types.h and cublas_api.h. */
enum {
  ALLOCATION_FAILED = 3,
  INVALID_VALUE = 7,
  EXECUTION_FAILED = 13,
  NOT_SUPPORTED = 15,
  TYPE_F32 = 0,
  TYPE_F64 = 1,
  TYPE_F16 = 2,
  TYPE_I8 = 3,
  TYPE_I32 = 10,
  TYPE_BF16 = 14,
  COMPUTE_TF32 = 77,
  EPILOGUE_RELU = 2,
  EPILOGUE_BIAS = 4,
  EPILOGUE_RELU_BACKWARD = 8,
  EPILOGUE_BIAS_GRADIENT = 16,
  EPILOGUE_GELU = 32,
  EPILOGUE_GELU_BACKWARD = 64,
  EPILOGUE_AUX = 128,
  EPILOGUE_SUM_A = 256,
  EPILOGUE_SUM_B = 512,
  ALGORITHMS = 3
};

typedef struct Desc {
  int32_t compute, scale, pointers, transpose_a, transpose_b, epilogue, bias_type, aux_type;
  char *bias, *aux;
  int64_t bias_stride, aux_leading, aux_stride;
} Desc;

typedef struct Layout {
  uint32_t type;
  int32_t order, batches; /* order 1: row-major */
  uint64_t rows, columns;
  int64_t leading, stride;
} Layout;

typedef struct Preference {
  uint64_t workspace;
  uint32_t reductions, alignment[4]; /* of A, B, C, D */
} Preference;

/* cublasLtMatmulAlgo_t. */
typedef struct Algorithm {
  uint64_t magic, index, workspace, reserved;
  uint32_t alignment[4];
  uint64_t more[2];
} Algorithm;
static const uint64_t magic = UINT64_C(0x6275726e6c74616c);

/* cublasLtMatmulHeuristicResult_t. */
typedef struct Heuristic {
  Algorithm algorithm;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
} Heuristic;

#define EMULATED(name, parameters) \
  int name parameters;             \
  int name parameters

/* -- attributes ------------------------------------------------------------------------------- */

/* An attribute's number, and where its value lies. */
typedef struct Attribute {
  int number;
  size_t offset, bytes;
} Attribute;
#define ATTRIBUTE(number, type, member) \
  { number, offsetof(type, member), sizeof(((type *)0)->member) }
static const Attribute desc_attributes[] = {
    ATTRIBUTE(0, Desc, compute),      ATTRIBUTE(1, Desc, scale),        ATTRIBUTE(2, Desc, pointers),
    ATTRIBUTE(3, Desc, transpose_a),  ATTRIBUTE(4, Desc, transpose_b),  ATTRIBUTE(7, Desc, epilogue),
    ATTRIBUTE(8, Desc, bias),         ATTRIBUTE(10, Desc, bias_stride), ATTRIBUTE(11, Desc, aux),
    ATTRIBUTE(12, Desc, aux_leading), ATTRIBUTE(13, Desc, aux_stride),  ATTRIBUTE(22, Desc, aux_type),
    ATTRIBUTE(26, Desc, bias_type)};
static const Attribute layout_attributes[] = {ATTRIBUTE(0, Layout, type),    ATTRIBUTE(1, Layout, order),
                                              ATTRIBUTE(2, Layout, rows),    ATTRIBUTE(3, Layout, columns),
                                              ATTRIBUTE(4, Layout, leading), ATTRIBUTE(5, Layout, batches),
                                              ATTRIBUTE(6, Layout, stride)};
static const Attribute preference_attributes[] = {
    ATTRIBUTE(1, Preference, workspace),    ATTRIBUTE(3, Preference, reductions),
    ATTRIBUTE(5, Preference, alignment[0]), ATTRIBUTE(6, Preference, alignment[1]),
    ATTRIBUTE(7, Preference, alignment[2]), ATTRIBUTE(8, Preference, alignment[3])};
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static int set(void *object, const Attribute *attributes, size_t count, int number, const void *value, size_t bytes) {
  for (size_t i = 0; i < count; i++) {
    if (attributes[i].number != number) continue;
    if (attributes[i].bytes != bytes) return INVALID_VALUE;
    memcpy((char *)object + attributes[i].offset, value, bytes);
    return CUDA_OK;
  }
  return NOT_SUPPORTED;
}

static int make(void **out, const void *from, size_t bytes) {
  *out = malloc(bytes);
  if (!*out) return ALLOCATION_FAILED;
  memcpy(*out, from, bytes);
  return CUDA_OK;
}

static int drop(void *object) {
  free(object);
  return CUDA_OK;
}

EMULATED(cublasLtCreate, (void **handle)) { return make(handle, "", 1); }
EMULATED(cublasLtDestroy, (void *handle)) { return drop(handle); }
EMULATED(cublasLtMatmulDescCreate, (void **desc, int compute_type, int scale_type)) {
  const Desc fresh = {.compute = compute_type, .scale = scale_type, .epilogue = 1, .bias_type = -1, .aux_type = -1};
  return make(desc, &fresh, sizeof fresh);
}
EMULATED(cublasLtMatmulDescDestroy, (void *desc)) { return drop(desc); }
EMULATED(cublasLtMatmulDescSetAttribute, (void *desc, int attribute, const void *value, size_t bytes)) {
  return set(desc, desc_attributes, COUNT_OF(desc_attributes), attribute, value, bytes);
}
EMULATED(cublasLtMatrixLayoutCreate, (void **layout, int type, uint64_t rows, uint64_t columns, int64_t leading)) {
  const Layout fresh = {.type = (uint32_t)type, .batches = 1, .rows = rows, .columns = columns, .leading = leading};
  return make(layout, &fresh, sizeof fresh);
}
EMULATED(cublasLtMatrixLayoutDestroy, (void *layout)) { return drop(layout); }
EMULATED(cublasLtMatrixLayoutSetAttribute, (void *layout, int attribute, const void *value, size_t bytes)) {
  return set(layout, layout_attributes, COUNT_OF(layout_attributes), attribute, value, bytes);
}
EMULATED(cublasLtMatmulPreferenceCreate, (void **preference)) {
  const Preference fresh = {.reductions = UINT32_MAX, .alignment = {256, 256, 256, 256}};
  return make(preference, &fresh, sizeof fresh);
}
EMULATED(cublasLtMatmulPreferenceDestroy, (void *preference)) { return drop(preference); }
EMULATED(cublasLtMatmulPreferenceSetAttribute, (void *preference, int attribute, const void *value, size_t bytes)) {
  return set(preference, preference_attributes, COUNT_OF(preference_attributes), attribute, value, bytes);
}

/* -- elements --------------------------------------------------------------------------------- */

static size_t bytes_of(uint32_t type) {
  static const size_t bytes[] = {
      [TYPE_F32] = 4, [TYPE_F64] = 8, [TYPE_F16] = 2, [TYPE_I8] = 1, [TYPE_I32] = 4, [TYPE_BF16] = 2};
  return type < COUNT_OF(bytes) ? bytes[type] : 0;
}

static double half_to_double(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  const double size = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                      : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                     : ldexp(fraction, -24);
  return bits & 0x8000 ? -size : size;
}

/* Rounded once, to even. */
static uint16_t double_to_half(double x) {
  const unsigned sign = signbit(x) ? 0x8000u : 0u;
  int exponent = 0;
  if (x != x) return 0x7fff;
  (void)frexp(x, &exponent);
  const int unit = exponent < -13 ? -24 : exponent - 11; /* 2^unit is the last place */
  const double rounded = ldexp(rint(ldexp(fabs(x), -unit)), unit);
  if (rounded >= 65536.0) return (uint16_t)(sign | 0x7c00u);
  if (rounded < ldexp(1, -14)) return (uint16_t)(sign | (unsigned)ldexp(rounded, 24));
  (void)frexp(rounded, &exponent);
  return (uint16_t)(sign | (unsigned)(exponent + 14) << 10 | ((unsigned)ldexp(rounded, 11 - exponent) & 0x3ffu));
}

static float bits_to_float(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static uint32_t float_to_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* The float's upper bits, `lost` of the lower ones rounded to even. */
static float round_bits(float x, unsigned lost) {
  const uint32_t bits = float_to_bits(x), keep = ~((1u << lost) - 1u);
  if (x != x || isinf(x)) return x;
  return bits_to_float((bits + (1u << (lost - 1)) - 1u + (bits >> lost & 1u)) & keep);
}

static double get(const char *data, uint32_t type, int64_t i) {
  switch (type) {
    case TYPE_F32:
      return (double)((const float *)(const void *)data)[i];
    case TYPE_F64:
      return ((const double *)(const void *)data)[i];
    case TYPE_F16:
      return half_to_double(((const uint16_t *)(const void *)data)[i]);
    case TYPE_BF16:
      return (double)bits_to_float((uint32_t)((const uint16_t *)(const void *)data)[i] << 16);
    case TYPE_I8:
      return ((const int8_t *)data)[i];
    default:
      return ((const int32_t *)(const void *)data)[i];
  }
}

static void put(char *data, uint32_t type, int64_t i, double x) {
  switch (type) {
    case TYPE_F32:
      ((float *)(void *)data)[i] = (float)x;
      break;
    case TYPE_F64:
      ((double *)(void *)data)[i] = x;
      break;
    case TYPE_F16:
      ((uint16_t *)(void *)data)[i] = double_to_half(x);
      break;
    case TYPE_BF16:
      ((uint16_t *)(void *)data)[i] = (uint16_t)(float_to_bits(x != x ? NAN : round_bits((float)x, 16)) >> 16);
      break;
    case TYPE_I8:
      ((int8_t *)data)[i] = (int8_t)(x > 127 ? 127 : x < -128 ? -128 : rint(x));
      break;
    default:
      ((int32_t *)(void *)data)[i] = (int32_t)(uint32_t)(int64_t)x;
  }
}

static int64_t place(const Layout *layout, int64_t row, int64_t column) {
  return layout->order == 1 ? row * layout->leading + column : row + column * layout->leading;
}

/* -- products --------------------------------------------------------------------------------- */

/* All that a product needs when it runs, which may be later. */
typedef struct Product {
  Desc desc;
  Layout a, b, c, d;
  const char *a_data, *b_data, *c_data;
  char *d_data;
  const void *alpha_at, *beta_at; /* on the device; NULL: the numbers below */
  double alpha, beta;
  int64_t m, n, k;
  uint64_t parts;
} Product;

static double scalar(const void *at, int scale) {
  if (scale == TYPE_F64) return *(const double *)at;
  return scale == TYPE_I32 ? *(const int32_t *)at : (double)*(const float *)at;
}

/* op(x) of one batch as numbers, `rows` of each column side by side. */
static double *unpack(const Product *p, const Layout *layout, const char *data, int transposed, int64_t rows,
                      int64_t columns) {
  double *out = malloc((size_t)(rows * columns) * sizeof *out + 1);
  for (int64_t j = 0; out && j < columns; j++)
    for (int64_t i = 0; i < rows; i++) {
      const double x = get(data, layout->type, transposed ? place(layout, j, i) : place(layout, i, j));
      out[j * rows + i] = p->desc.compute == COMPUTE_TF32 ? (double)round_bits((float)x, 13) : x;
    }
  return out;
}

/* What a batch is computed with. */
typedef struct Numbers {
  double *a, *b;        /* op(A) [k][m] and op(B) [n][k] */
  double *column, *row; /* m results of a column; m sums of rows */
  float *a_f32, *part;  /* op(A) once more, where sums are f32; m sums of a part of k */
} Numbers;

/* One column of op(A) op(B), in f32: the products of each part of k in turn, then the parts. */
static void add_column_f32(const Product *p, const Numbers *numbers, const double *b) {
  const uint64_t size = ((uint64_t)p->k + p->parts - 1) / p->parts;
  double *restrict out = numbers->column;
  float *restrict part = numbers->part;
  for (int64_t i = 0; i < p->m; i++) out[i] = 0;
  for (int64_t first = 0; first < p->k; first += (int64_t)size) {
    const int64_t end = first + (int64_t)size < p->k ? first + (int64_t)size : p->k;
    for (int64_t i = 0; i < p->m; i++) part[i] = 0;
    for (int64_t k = first; k < end; k++) {
      const float y = (float)b[k];
      const float *x = numbers->a_f32 + k * p->m;
      for (int64_t i = 0; i < p->m; i++) part[i] += x[i] * y;
    }
    for (int64_t i = 0; i < p->m; i++) out[i] = (double)((float)out[i] + part[i]);
  }
}

static void add_column_f64(const Product *p, const Numbers *numbers, const double *b) {
  double *restrict out = numbers->column;
  for (int64_t i = 0; i < p->m; i++) out[i] = 0;
  for (int64_t k = 0; k < p->k; k++)
    for (int64_t i = 0; i < p->m; i++) out[i] += numbers->a[k * p->m + i] * b[k];
}

/* -- epilogues: the tanh form of GELU, as cuBLASLt has it -------------------------------------- */

static double gelu(double x) { return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }

static double gelu_slope(double x) {
  const double t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

static double forward(const Desc *desc, uint32_t aux_type, char *aux, int64_t at, double x) {
  if (desc->epilogue & EPILOGUE_RELU) {
    const double y = x > 0 || x != x ? x : 0;
    const unsigned char bit = (unsigned char)(1u << at % 8);
    if (aux) aux[at / 8] = (char)(x > 0 ? aux[at / 8] | bit : aux[at / 8] & ~bit);
    return y;
  }
  if (!(desc->epilogue & EPILOGUE_GELU)) return x;
  if (aux) put(aux, aux_type, at, x);
  return gelu(x);
}

static double backward(const Desc *desc, uint32_t aux_type, const char *aux, int64_t at, double x) {
  if (desc->epilogue & EPILOGUE_RELU_BACKWARD) return aux[at / 8] >> at % 8 & 1 ? x : 0;
  return desc->epilogue & EPILOGUE_GELU_BACKWARD ? x * gelu_slope(get(aux, aux_type, at)) : x;
}

static double finish(const Product *p, int64_t batch, int64_t i, int64_t j, double x) {
  const Desc *desc = &p->desc;
  const uint32_t aux_type = desc->aux_type < 0 ? p->d.type : (uint32_t)desc->aux_type;
  const uint32_t bias_type = desc->bias_type < 0 ? p->d.type : (uint32_t)desc->bias_type;
  const int64_t at = batch * desc->aux_stride + j * desc->aux_leading + i;
  if (desc->epilogue & EPILOGUE_BIAS) x += get(desc->bias, bias_type, batch * desc->bias_stride + i);
  x = forward(desc, aux_type, desc->epilogue & EPILOGUE_AUX ? desc->aux : NULL, at, x);
  return backward(desc, aux_type, desc->aux, at, x);
}

/* The sums that an epilogue writes where a bias would lie. */
static void write_sums(const Product *p, int64_t batch, const double *a, const double *b, const double *rows) {
  const Desc *desc = &p->desc;
  const uint32_t type = desc->bias_type < 0 ? p->d.type : (uint32_t)desc->bias_type;
  const int64_t at = batch * desc->bias_stride;
  for (int64_t i = 0; desc->epilogue & EPILOGUE_BIAS_GRADIENT && i < p->m; i++) put(desc->bias, type, at + i, rows[i]);
  for (int64_t i = 0; desc->epilogue & EPILOGUE_SUM_A && i < p->m; i++) {
    double sum = 0;
    for (int64_t k = 0; k < p->k; k++) sum += a[k * p->m + i];
    put(desc->bias, type, at + i, sum);
  }
  for (int64_t j = 0; desc->epilogue & EPILOGUE_SUM_B && j < p->n; j++) {
    double sum = 0;
    for (int64_t k = 0; k < p->k; k++) sum += b[j * p->k + k];
    put(desc->bias, type, at + j, sum);
  }
}

static int is_f32(const Product *p) { return p->desc.scale != TYPE_F64 && p->desc.scale != TYPE_I32; }

static void run_batch(const Product *p, int64_t batch, const Numbers *numbers) {
  const char *c_data = p->c_data + batch * p->c.stride * (int64_t)bytes_of(p->c.type);
  char *d_data = p->d_data + batch * p->d.stride * (int64_t)bytes_of(p->d.type);
  const double alpha = p->alpha_at ? scalar(p->alpha_at, p->desc.scale) : p->alpha;
  const double beta = p->beta_at ? scalar(p->beta_at, p->desc.scale) : p->beta;
  for (int64_t j = 0; j < p->n; j++) {
    if (is_f32(p)) add_column_f32(p, numbers, numbers->b + j * p->k);
    if (!is_f32(p)) add_column_f64(p, numbers, numbers->b + j * p->k);
    for (int64_t i = 0; i < p->m; i++) {
      double x = alpha * numbers->column[i];
      if (beta != 0) x += beta * get(c_data, p->c.type, place(&p->c, i, j));
      x = finish(p, batch, i, j, x);
      numbers->row[i] += x;
      put(d_data, p->d.type, place(&p->d, i, j), x);
    }
  }
  write_sums(p, batch, numbers->a, numbers->b, numbers->row);
}

static int take_numbers(const Product *p, int64_t batch, Numbers *out) {
  const char *a = p->a_data + batch * p->a.stride * (int64_t)bytes_of(p->a.type);
  const char *b = p->b_data + batch * p->b.stride * (int64_t)bytes_of(p->b.type);
  const size_t rows = (size_t)p->m, size = is_f32(p) ? rows * (size_t)p->k : 0;
  *out = (Numbers){.a = unpack(p, &p->a, a, p->desc.transpose_a, p->m, p->k),
                   .b = unpack(p, &p->b, b, p->desc.transpose_b, p->k, p->n),
                   .column = malloc(rows * sizeof(double)),
                   .row = calloc(rows, sizeof(double)),
                   .a_f32 = malloc(size * sizeof(float) + 1),
                   .part = malloc(rows * sizeof(float))};
  if (!out->a || !out->b || !out->column || !out->row || !out->a_f32 || !out->part) return 0;
  for (size_t i = 0; i < size; i++) out->a_f32[i] = (float)out->a[i];
  return 1;
}

static void free_numbers(const Numbers *numbers) {
  free(numbers->a);
  free(numbers->b);
  free(numbers->column);
  free(numbers->row);
  free(numbers->a_f32);
  free(numbers->part);
}

static int run_product(const void *arguments) {
  const Product *p = arguments;
  int error = CUDA_OK;
  for (int64_t batch = 0; batch < p->d.batches && error == CUDA_OK; batch++) {
    Numbers numbers;
    error = take_numbers(p, batch, &numbers) ? CUDA_OK : CUDA_OUT_OF_MEMORY;
    if (error == CUDA_OK) run_batch(p, batch, &numbers);
    free_numbers(&numbers);
  }
  return error;
}

/* -- what may be asked ------------------------------------------------------------------------ */

static int is_layout(const Layout *layout, int64_t rows, int64_t columns, int32_t batches) {
  const int64_t shortest = layout->order == 1 ? columns : rows;
  return layout->rows == (uint64_t)rows && layout->columns == (uint64_t)columns && layout->batches == batches &&
         bytes_of(layout->type) > 0 && layout->leading >= shortest;
}

/* As cuBLASLt checks: shapes that fit, batches of one count, an auxiliary matrix whose columns begin where they must. */
static int check(const Desc *desc, const Layout *a, const Layout *b, const Layout *c, const Layout *d, Product *p) {
  p->m = (int64_t)d->rows;
  p->n = (int64_t)d->columns;
  p->k = (int64_t)(desc->transpose_a ? a->rows : a->columns);
  const int fits = is_layout(a, desc->transpose_a ? p->k : p->m, desc->transpose_a ? p->m : p->k, d->batches) &&
                   is_layout(b, desc->transpose_b ? p->n : p->k, desc->transpose_b ? p->k : p->n, d->batches) &&
                   is_layout(c, p->m, p->n, d->batches) && is_layout(d, p->m, p->n, d->batches);
  const int unit = desc->epilogue & (EPILOGUE_RELU | EPILOGUE_RELU_BACKWARD) ? 128 : 8;
  if (!fits || p->m == 0 || p->n == 0 || p->k == 0) return INVALID_VALUE;
  if (desc->epilogue & EPILOGUE_AUX && (desc->aux_leading % unit != 0 || desc->aux_leading < p->m))
    return INVALID_VALUE;
  if (desc->pointers > 1) return NOT_SUPPORTED;
  p->desc = *desc;
  p->a = *a;
  p->b = *b;
  p->c = *c;
  p->d = *d;
  return CUDA_OK;
}

EMULATED(cublasLtMatmulAlgoGetHeuristic, (void *handle, void *desc, void *a, void *b, void *c, void *d,
                                          void *preference, int wanted, void *results, int *count)) {
  const Preference *asked = preference;
  Heuristic *found = results;
  Product product;
  (void)handle;
  *count = 0;
  const int error = check(desc, a, b, c, d, &product);
  if (error != CUDA_OK) return error;
  for (int i = 0; i < wanted && i < ALGORITHMS; i++) {
    const uint64_t workspace = (uint64_t)i << 20;
    if (workspace > asked->workspace) break;
    Heuristic *next = &found[(*count)++];
    *next = (Heuristic){.algorithm = {.magic = magic, .index = (uint64_t)i, .workspace = workspace},
                        .workspace = workspace};
    memcpy(next->algorithm.alignment, asked->alignment, sizeof asked->alignment);
  }
  return *count > 0 ? CUDA_OK : NOT_SUPPORTED;
}

static int is_aligned(CudaAddress address, uint32_t alignment) { return alignment == 0 || address % alignment == 0; }

/* The algorithm is ours, and its conditions hold; NULL is the first one's without any. */
static int check_algorithm(const Algorithm *algorithm, const CudaAddress data[4], CudaAddress workspace, size_t bytes) {
  if (!algorithm) return CUDA_OK;
  if (algorithm->magic != magic) return INVALID_VALUE;
  if (algorithm->workspace > 0 && (workspace == 0 || bytes < algorithm->workspace)) return INVALID_VALUE;
  for (int i = 0; i < 4; i++)
    if (!is_aligned(data[i], algorithm->alignment[i])) return INVALID_VALUE;
  return CUDA_OK;
}

EMULATED(cublasLtMatmulAlgoCheck,
         (void *handle, void *desc, void *a, void *b, void *c, void *d, const void *algorithm, void *result)) {
  const Algorithm *asked = algorithm;
  Heuristic *answer = result;
  Product product;
  (void)handle;
  const int error = check(desc, a, b, c, d, &product);
  if (error != CUDA_OK || asked->magic != magic) return error != CUDA_OK ? error : INVALID_VALUE;
  *answer = (Heuristic){.algorithm = *asked, .workspace = asked->workspace};
  return CUDA_OK;
}

typedef int Submit(void *stream, int (*run)(const void *), const void *arguments, size_t bytes);

/* The driver's, so that what is captured waits for the launch of the graph. */
static Submit *find_submit(void) {
  const char *name = getenv("BURN_CUDA_DRIVER");
  void *driver = name ? dlopen(name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  Submit *submit = NULL;
  void *found = driver ? dlsym(driver, "fake_submit") : NULL;
  memcpy(&submit, &found, sizeof found);
  return submit;
}

EMULATED(cublasLtMatmul, (void *handle, void *desc, const void *alpha, CudaAddress a_data, void *a, CudaAddress b_data,
                          void *b, const void *beta, CudaAddress c_data, void *c, CudaAddress d_data, void *d,
                          const void *algorithm, CudaAddress workspace, size_t workspace_bytes, void *stream)) {
  const Algorithm *chosen = algorithm;
  const CudaAddress data[] = {a_data, b_data, c_data, d_data};
  Product p = {.a_data = (const char *)(uintptr_t)a_data,
               .b_data = (const char *)(uintptr_t)b_data,
               .c_data = (const char *)(uintptr_t)c_data,
               .d_data = (char *)(uintptr_t)d_data};
  (void)handle;
  int error = check(desc, a, b, c, d, &p);
  if (error == CUDA_OK) error = check_algorithm(chosen, data, workspace, workspace_bytes);
  if (error != CUDA_OK) return error;
  if (chosen && chosen->workspace > 0) memset((void *)(uintptr_t)workspace, 0xff, chosen->workspace);
  p.parts = chosen ? UINT64_C(1) << chosen->index : 1;
  p.alpha_at = p.desc.pointers == 1 ? alpha : NULL;
  p.beta_at = p.desc.pointers == 1 ? beta : NULL;
  p.alpha = p.alpha_at ? 0 : scalar(alpha, p.desc.scale);
  p.beta = p.beta_at ? 0 : scalar(beta, p.desc.scale);
  Submit *submit = find_submit();
  return submit && submit(stream, run_product, &p, sizeof p) == CUDA_OK ? CUDA_OK : EXECUTION_FAILED;
}

/* 0: major, 1: minor, 2: patch. */
EMULATED(cublasLtGetProperty, (int which, int *value)) {
  *value = which == 0 ? 13 : 0;
  return CUDA_OK;
}

size_t cublasLtGetVersion(void);
size_t cublasLtGetVersion(void) { return 130000; }
