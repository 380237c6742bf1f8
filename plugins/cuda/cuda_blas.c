/* cuda_blas.c - products of floats by cuBLASLt. What it needs for a shape (layouts, the algorithm that its heuristic
 * puts first) is made once and kept; algorithms that add in an order of chance are not taken. */
#include "cuda_internal.h"

#include <stdlib.h>
#include <string.h>

/* Values of cublasLt.h and library_types.h. */
enum {
  TYPE_F32 = 0,
  TYPE_F64 = 1,
  TYPE_F16 = 2,
  TYPE_BF16 = 14,
  COMPUTE_F32 = 68,
  COMPUTE_F64 = 70,
  COMPUTE_TF32 = 77,
  DESC_TRANSPOSE_A = 3,
  DESC_TRANSPOSE_B = 4,
  LAYOUT_BATCHES = 5,
  LAYOUT_BATCH_STRIDE = 6,
  PREFERENCE_WORKSPACE = 1,
  PREFERENCE_REDUCTIONS = 3,
  PREFERENCE_ALIGNMENT_A = 5, /* B, C and D follow */
  REDUCTIONS_IN_ORDER = 6     /* all but INPLACE, which adds by atomics */
};

enum { PLANS = 512, WORKSPACE_BYTES = 32 << 20 };

/* One operand as cuBLASLt sees it, in columns. */
typedef struct Operand {
  int64_t rows, columns, leading, batch_stride, alignment;
  int32_t transposed, reserved;
} Operand;

/* out^T = b^T a^T: what is row-major for us is column-major for cuBLASLt, so the operands change places. */
typedef struct Shape {
  Operand a, b, d;
  int64_t batches;
  BurnDType dtype;
  uint32_t reserved;
} Shape;

/* cublasLtMatmulHeuristicResult_t. */
typedef struct Heuristic {
  uint64_t algorithm[8];
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
} Heuristic;

typedef struct Plan {
  Shape shape;
  void *desc, *a, *b, *d; /* desc NULL: free */
  Heuristic chosen;
} Plan;

struct CudaProducts {
  const CudaBlas *blas;
  void *handle;
  CudaAddress workspace; /* of the device; no tensor, as it is nobody's */
  Plan plans[PLANS];
};

/* -- the instance's part ---------------------------------------------------------------------- */

static void forget(const CudaBlas *blas, Plan *plan) {
  if (plan->a) (void)blas->cublasLtMatrixLayoutDestroy(plan->a);
  if (plan->b) (void)blas->cublasLtMatrixLayoutDestroy(plan->b);
  if (plan->d) (void)blas->cublasLtMatrixLayoutDestroy(plan->d);
  if (plan->desc) (void)blas->cublasLtMatmulDescDestroy(plan->desc);
  memset(plan, 0, sizeof *plan);
}

void burn__cuda_products_destroy(Cuda *cuda) {
  CudaProducts *products = cuda->products;
  if (!products) return;
  for (uint32_t i = 0; i < PLANS; i++) forget(products->blas, &products->plans[i]);
  (void)products->blas->cublasLtDestroy(products->handle);
  (void)cuda->driver->cuMemFreeAsync(products->workspace, cuda->stream);
  free(products);
  cuda->products = NULL;
}

static CudaProducts *create(Cuda *cuda) {
  const CudaBlas *blas = burn__cuda_blas();
  CudaProducts *products = blas ? calloc(1, sizeof *products) : NULL;
  if (!products) return NULL;
  products->blas = blas;
  if (blas->cublasLtCreate(&products->handle) == 0 &&
      cuda->driver->cuMemAllocFromPoolAsync(&products->workspace, WORKSPACE_BYTES, cuda->pool, cuda->stream) == CUDA_OK)
    return products;
  if (products->handle) (void)blas->cublasLtDestroy(products->handle);
  free(products);
  return NULL;
}

/* -- shapes ----------------------------------------------------------------------------------- */

/* The largest power of two up to 256 that divides an address. */
static int64_t alignment_of(CudaAddress address) {
  const CudaAddress bit = address & (~address + 1u);
  return bit == 0 || bit > 256 ? 256 : (int64_t)bit;
}

/* A matrix [rows, columns] with these strides, read in columns; false if neither axis is without gaps. */
static bool take_operand(Operand *o, CudaAddress address, int64_t rows, int64_t columns, int64_t row, int64_t column) {
  const bool is_row_major = (column == 1 || columns == 1) && (row >= columns || rows == 1);
  const bool is_column_major = (row == 1 || rows == 1) && (column >= rows || columns == 1);
  if (!is_row_major && !is_column_major) return false;
  o->transposed = !is_row_major;
  o->rows = is_row_major ? columns : rows;
  o->columns = is_row_major ? rows : columns;
  o->leading = is_row_major ? row : column;
  if (o->leading < o->rows) o->leading = o->rows; /* of one row or column the stride says nothing */
  o->alignment = alignment_of(address);
  return true;
}

/* One stride for all batches, or none. */
static bool take_batches(const CudaMatmul *p, const int64_t *strides, int64_t *stride) {
  int64_t expected = -1;
  *stride = 0;
  for (int axis = p->rank - 1; axis >= 0; axis--) {
    if (p->shape[axis] == 1) continue;
    if (expected < 0) *stride = strides[axis];
    if (expected >= 0 && strides[axis] != expected) return false;
    expected = strides[axis] * p->shape[axis];
  }
  return *stride >= 0;
}

static bool take_shape(const CudaMatmul *p, BurnDType dtype, Shape *shape) {
  memset(shape, 0, sizeof *shape); /* compared by its bytes */
  shape->dtype = dtype;
  shape->batches = p->batches;
  shape->d = (Operand){p->n, p->m, p->n, p->m * p->n, alignment_of(p->out), 0, 0};
  return take_operand(&shape->a, p->rhs, p->k, p->n, p->rhs_row, p->rhs_column) &&
         take_operand(&shape->b, p->lhs, p->m, p->k, p->lhs_row, p->lhs_column) &&
         take_batches(p, p->rhs_strides, &shape->a.batch_stride) &&
         take_batches(p, p->lhs_strides, &shape->b.batch_stride);
}

/* -- plans ------------------------------------------------------------------------------------ */

static int type_of(BurnDType dtype) {
  switch (dtype) {
    case BURN_DTYPE_F64:
      return TYPE_F64;
    case BURN_DTYPE_F16:
      return TYPE_F16;
    case BURN_DTYPE_BF16:
      return TYPE_BF16;
    default:
      return TYPE_F32;
  }
}

static void *layout_of(const CudaBlas *blas, const Operand *o, const Shape *shape) {
  const int32_t batches = (int32_t)shape->batches;
  void *layout = NULL;
  if (blas->cublasLtMatrixLayoutCreate(&layout, type_of(shape->dtype), (uint64_t)o->rows, (uint64_t)o->columns,
                                       o->leading) != 0)
    return NULL;
  (void)blas->cublasLtMatrixLayoutSetAttribute(layout, LAYOUT_BATCHES, &batches, sizeof batches);
  (void)blas->cublasLtMatrixLayoutSetAttribute(layout, LAYOUT_BATCH_STRIDE, &o->batch_stride, sizeof o->batch_stride);
  return layout;
}

static bool choose(const CudaProducts *products, Plan *plan) {
  const CudaBlas *blas = products->blas;
  const size_t workspace = WORKSPACE_BYTES;
  const uint32_t reductions = REDUCTIONS_IN_ORDER;
  const Operand *operands[] = {&plan->shape.a, &plan->shape.b, &plan->shape.d, &plan->shape.d};
  void *preference = NULL;
  int count = 0;
  if (blas->cublasLtMatmulPreferenceCreate(&preference) != 0) return false;
  (void)blas->cublasLtMatmulPreferenceSetAttribute(preference, PREFERENCE_WORKSPACE, &workspace, sizeof workspace);
  (void)blas->cublasLtMatmulPreferenceSetAttribute(preference, PREFERENCE_REDUCTIONS, &reductions, sizeof reductions);
  for (int i = 0; i < 4; i++) {
    const uint32_t alignment = (uint32_t)operands[i]->alignment;
    (void)blas->cublasLtMatmulPreferenceSetAttribute(preference, PREFERENCE_ALIGNMENT_A + i, &alignment,
                                                     sizeof alignment);
  }
  const int error = blas->cublasLtMatmulAlgoGetHeuristic(products->handle, plan->desc, plan->a, plan->b, plan->d,
                                                         plan->d, preference, 1, &plan->chosen, &count);
  (void)blas->cublasLtMatmulPreferenceDestroy(preference);
  return error == 0 && count == 1 && plan->chosen.state == 0;
}

static bool make(const CudaProducts *products, const Shape *shape, bool tf32, Plan *plan) {
  const CudaBlas *blas = products->blas;
  const bool is_f64 = shape->dtype == BURN_DTYPE_F64, is_f32 = shape->dtype == BURN_DTYPE_F32;
  const int compute = is_f64 ? COMPUTE_F64 : is_f32 && tf32 ? COMPUTE_TF32 : COMPUTE_F32;
  plan->shape = *shape;
  if (blas->cublasLtMatmulDescCreate(&plan->desc, compute, is_f64 ? TYPE_F64 : TYPE_F32) != 0) return false;
  (void)blas->cublasLtMatmulDescSetAttribute(plan->desc, DESC_TRANSPOSE_A, &shape->a.transposed, sizeof(int32_t));
  (void)blas->cublasLtMatmulDescSetAttribute(plan->desc, DESC_TRANSPOSE_B, &shape->b.transposed, sizeof(int32_t));
  plan->a = layout_of(blas, &shape->a, shape);
  plan->b = layout_of(blas, &shape->b, shape);
  plan->d = layout_of(blas, &shape->d, shape);
  return plan->a && plan->b && plan->d && choose(products, plan);
}

/* FNV-1a. */
static uint32_t slot_of(const Shape *shape) {
  const unsigned char *at = (const unsigned char *)shape;
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < sizeof *shape; i++) hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
  return (uint32_t)(hash >> 32) % PLANS;
}

/* The plan of a shape; another that has its slot makes room. NULL if cuBLASLt has no algorithm. */
static const Plan *plan_of(Cuda *cuda, const Shape *shape) {
  CudaProducts *products = cuda->products;
  Plan *plan = &products->plans[slot_of(shape)];
  if (plan->desc && memcmp(&plan->shape, shape, sizeof *shape) == 0) return plan;
  forget(products->blas, plan);
  if (make(products, shape, cuda->tf32, plan)) return plan;
  forget(products->blas, plan);
  return NULL;
}

static bool run(Cuda *cuda, const Plan *plan, const CudaMatmul *p) {
  const float one = 1, zero = 0;
  const double one_f64 = 1, zero_f64 = 0;
  const bool is_f64 = plan->shape.dtype == BURN_DTYPE_F64;
  CudaProducts *products = cuda->products;
  return products->blas->cublasLtMatmul(products->handle, plan->desc, is_f64 ? (const void *)&one_f64 : &one, p->rhs,
                                        plan->a, p->lhs, plan->b, is_f64 ? (const void *)&zero_f64 : &zero, p->out,
                                        plan->d, p->out, plan->d, plan->chosen.algorithm, products->workspace,
                                        WORKSPACE_BYTES, cuda->stream) == 0;
}

bool burn__cuda_blas_matmul(Cuda *cuda, BurnDType dtype, const CudaMatmul *p) {
  Shape shape;
  if (p->batches > INT32_MAX || !take_shape(p, dtype, &shape)) return false;
  (void)pthread_mutex_lock(&cuda->products_mutex);
  if (!cuda->products && !cuda->has_asked_products) cuda->products = create(cuda);
  cuda->has_asked_products = true;
  const Plan *plan = cuda->products ? plan_of(cuda, &shape) : NULL;
  const bool done = plan && run(cuda, plan, p);
  (void)pthread_mutex_unlock(&cuda->products_mutex);
  return done;
}
