/* cuda_blas.c - products by cuBLASLt. What it needs for a shape (layouts, an algorithm) is made once and kept;
 * algorithms that add in an order of chance are not taken.
 *
 * Of large products the best of a few algorithms is found by running them, once for a shape, library and device: the
 * choice is kept on disk, as another one would give other last digits. */
#include "cuda_image_cache.h"
#include "cuda_internal.h"

#include <burn/common/hash.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values of cublasLt.h and library_types.h. */
enum {
  TYPE_F32 = 0,
  TYPE_F64 = 1,
  TYPE_F16 = 2,
  TYPE_I8 = 3,
  TYPE_I32 = 10,
  TYPE_BF16 = 14,
  COMPUTE_F32 = 68,
  COMPUTE_F64 = 70,
  COMPUTE_I32 = 72,
  COMPUTE_TF32 = 77,
  DESC_TRANSPOSE_A = 3,
  DESC_TRANSPOSE_B = 4,
  DESC_EPILOGUE = 7,
  DESC_BIAS = 8,
  EPILOGUE_BIAS = 4,
  LAYOUT_BATCHES = 5,
  LAYOUT_BATCH_STRIDE = 6,
  PREFERENCE_WORKSPACE = 1,
  PREFERENCE_REDUCTIONS = 3,
  PREFERENCE_ALIGNMENT_A = 5, /* B, C and D follow */
  REDUCTIONS_IN_ORDER = 6     /* all but INPLACE, which adds by atomics */
};

enum { PLANS = 512, NEAR = 16 /* slots that a shape may be in */, WORKSPACE_BYTES = 32 << 20, CANDIDATES = 8 };

/* One operand as cuBLASLt sees it, in columns. */
typedef struct Operand {
  int64_t rows, columns, leading, batch_stride, alignment;
  int32_t transposed, reserved;
} Operand;

/* out^T = b^T a^T: what is row-major for us is column-major for cuBLASLt, so the operands change places. */
typedef struct Shape {
  Operand a, b, d;
  int64_t batches, bias_alignment; /* 0: without a bias */
  uint32_t in, out;                /* BurnDType */
  int32_t compute, reserved;
} Shape;

/* cublasLtMatmulHeuristicResult_t. */
typedef struct Heuristic {
  uint64_t algorithm[8];
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
} Heuristic;

/* How a product is made, as it is kept on disk. */
typedef struct Choice {
  uint64_t algorithm[8];
  uint64_t is_turned; /* 1: an operand is turned before */
} Choice;

typedef struct Plan {
  Shape shape;
  void *desc, *a, *b, *d; /* desc NULL: free */
  Choice choice;
} Plan;

/* One product: a plan and where the data lie. */
typedef struct Work {
  Cuda *cuda;
  Plan *plan;
  const GpuProductKind *kind;
  const GpuMatmul *p;
} Work;

struct CudaProducts {
  const CudaBlas *blas;
  void *handle;
  CudaAddress workspace; /* of the device; no tensor, as it is nobody's */
  Plan plans[PLANS];
  const Plan *pinned; /* not to make room: its product is made by another plan */
  uint32_t evicted;   /* how many plans have made room */
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

/* What tensors of their own have, what vectors need, or the largest power of two that divides an address. */
static int64_t alignment_of(CudaAddress address) {
  const CudaAddress bit = address & (~address + 1u);
  return bit == 0 || bit >= 256 ? 256 : bit >= 16 ? 16 : (int64_t)bit;
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
static bool take_batches(const GpuMatmul *p, const int64_t *strides, int64_t *stride) {
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

static int compute_of(const GpuProductKind *kind) {
  if (kind->in == BURN_DTYPE_F64) return COMPUTE_F64;
  if (kind->in == BURN_DTYPE_I8) return COMPUTE_I32;
  return kind->in == BURN_DTYPE_F32 && kind->tf32 ? COMPUTE_TF32 : COMPUTE_F32;
}

static bool take_shape(const GpuMatmul *p, const GpuProductKind *kind, Shape *shape) {
  memset(shape, 0, sizeof *shape); /* compared by its bytes */
  shape->in = kind->in;
  shape->out = kind->out;
  shape->compute = compute_of(kind);
  shape->bias_alignment = p->bias ? alignment_of(p->bias) : 0;
  shape->batches = p->batches;
  shape->d = (Operand){p->n, p->m, p->n, p->m * p->n, alignment_of(p->out), 0, 0};
  return take_operand(&shape->a, p->rhs, p->k, p->n, p->rhs_row, p->rhs_column) &&
         take_operand(&shape->b, p->lhs, p->m, p->k, p->lhs_row, p->lhs_column) &&
         take_batches(p, p->rhs_strides, &shape->a.batch_stride) &&
         take_batches(p, p->lhs_strides, &shape->b.batch_stride);
}

/* -- plans ------------------------------------------------------------------------------------ */

static int type_of(uint32_t dtype) {
  switch (dtype) {
    case BURN_DTYPE_F64:
      return TYPE_F64;
    case BURN_DTYPE_F16:
      return TYPE_F16;
    case BURN_DTYPE_BF16:
      return TYPE_BF16;
    case BURN_DTYPE_I8:
      return TYPE_I8;
    case BURN_DTYPE_I32:
      return TYPE_I32;
    default:
      return TYPE_F32;
  }
}

/* The type of the factors of the product and of what is there. */
static int scale_type_of(const Shape *shape) {
  return shape->compute == COMPUTE_F64 ? TYPE_F64 : shape->compute == COMPUTE_I32 ? TYPE_I32 : TYPE_F32;
}

static void *layout_of(const CudaBlas *blas, const Operand *o, uint32_t dtype, int64_t count) {
  const int32_t batches = (int32_t)count;
  void *layout = NULL;
  if (blas->cublasLtMatrixLayoutCreate(&layout, type_of(dtype), (uint64_t)o->rows, (uint64_t)o->columns, o->leading) !=
      0)
    return NULL;
  (void)blas->cublasLtMatrixLayoutSetAttribute(layout, LAYOUT_BATCHES, &batches, sizeof batches);
  (void)blas->cublasLtMatrixLayoutSetAttribute(layout, LAYOUT_BATCH_STRIDE, &o->batch_stride, sizeof o->batch_stride);
  return layout;
}

/* Layouts and what is to be computed; all but the algorithm. */
static bool describe(const CudaBlas *blas, const Shape *shape, CudaAddress bias, Plan *plan) {
  const uint32_t epilogue = EPILOGUE_BIAS;
  plan->shape = *shape;
  if (blas->cublasLtMatmulDescCreate(&plan->desc, shape->compute, scale_type_of(shape)) != 0) return false;
  (void)blas->cublasLtMatmulDescSetAttribute(plan->desc, DESC_TRANSPOSE_A, &shape->a.transposed, sizeof(int32_t));
  (void)blas->cublasLtMatmulDescSetAttribute(plan->desc, DESC_TRANSPOSE_B, &shape->b.transposed, sizeof(int32_t));
  if (bias) (void)blas->cublasLtMatmulDescSetAttribute(plan->desc, DESC_EPILOGUE, &epilogue, sizeof epilogue);
  if (bias) (void)blas->cublasLtMatmulDescSetAttribute(plan->desc, DESC_BIAS, &bias, sizeof bias);
  plan->a = layout_of(blas, &shape->a, shape->in, shape->batches);
  plan->b = layout_of(blas, &shape->b, shape->in, shape->batches);
  plan->d = layout_of(blas, &shape->d, shape->out, shape->batches);
  return plan->a && plan->b && plan->d;
}

/* -- one product ------------------------------------------------------------------------------ */

/* The factors, in the type that the description says. */
typedef union Factor {
  float f32;
  double f64;
  int32_t i32;
} Factor;

static Factor factor_of(const Shape *shape, int value) {
  Factor factor = {0};
  if (shape->compute == COMPUTE_F64) factor.f64 = value;
  if (shape->compute == COMPUTE_I32) factor.i32 = value;
  if (shape->compute != COMPUTE_F64 && shape->compute != COMPUTE_I32) factor.f32 = (float)value;
  return factor;
}

static bool run(const Work *work, const uint64_t *algorithm) {
  const Plan *plan = work->plan;
  const GpuMatmul *p = work->p;
  const CudaProducts *products = work->cuda->products;
  const Factor one = factor_of(&plan->shape, 1), zero = factor_of(&plan->shape, 0);
  if (p->bias) /* another one than at the last product of this shape */
    (void)products->blas->cublasLtMatmulDescSetAttribute(plan->desc, DESC_BIAS, &p->bias, sizeof p->bias);
  return products->blas->cublasLtMatmul(products->handle, plan->desc, &one, p->rhs, plan->a, p->lhs, plan->b, &zero,
                                        p->out, plan->d, p->out, plan->d, algorithm, products->workspace,
                                        WORKSPACE_BYTES, work->cuda->stream) == 0;
}

static bool make_product(Work *work);

/* The same product of another operand: the smaller one, [k, lines], as [lines, k]. */
static bool run_turned(const Work *work) {
  const GpuMatmul *p = work->p;
  Gpu *gpu = &work->cuda->gpu;
  const bool is_lhs = p->m <= p->n;
  const int64_t lines = is_lhs ? p->m : p->n;
  const BurnTensorDesc desc = {.dtype = work->kind->in, .rank = 2, .shape = {lines, p->k}};
  BurnPrimitive *turned = NULL;
  if (burn__gpu_new(gpu, &desc, &turned) != BURN_OK) return false;
  const GpuTranspose turn = {.out = gpu_address(turned),
                             .in = is_lhs ? p->lhs : p->rhs,
                             .batch = 1,
                             .lines = p->k,
                             .length = lines,
                             .in_line = is_lhs ? p->lhs_column : p->rhs_row,
                             .out_line = p->k};
  GpuMatmul q = *p;
  if (is_lhs) q.lhs = turn.out, q.lhs_row = p->k, q.lhs_column = 1;
  if (!is_lhs) q.rhs = turn.out, q.rhs_row = 1, q.rhs_column = p->k;
  Work inner = {.cuda = work->cuda, .kind = work->kind, .p = &q};
  work->cuda->products->pinned = work->plan;
  const bool done = burn__gpu_transpose(gpu, desc.dtype, &turn) == BURN_OK && make_product(&inner);
  work->cuda->products->pinned = NULL;
  burn__gpu_release(gpu, turned);
  return done;
}

/* -- which algorithm -------------------------------------------------------------------------- */

/* Asks for algorithms, the one that is guessed to be the best first; returns how many there are. */
static int find_candidates(const CudaProducts *products, const Plan *plan, Heuristic *found) {
  const CudaBlas *blas = products->blas;
  const size_t workspace = WORKSPACE_BYTES;
  const uint32_t reductions = REDUCTIONS_IN_ORDER;
  const Operand *operands[] = {&plan->shape.a, &plan->shape.b, &plan->shape.d, &plan->shape.d};
  void *preference = NULL;
  int count = 0, usable = 0;
  if (blas->cublasLtMatmulPreferenceCreate(&preference) != 0) return 0;
  (void)blas->cublasLtMatmulPreferenceSetAttribute(preference, PREFERENCE_WORKSPACE, &workspace, sizeof workspace);
  (void)blas->cublasLtMatmulPreferenceSetAttribute(preference, PREFERENCE_REDUCTIONS, &reductions, sizeof reductions);
  for (int i = 0; i < 4; i++) {
    const uint32_t alignment = (uint32_t)operands[i]->alignment;
    (void)blas->cublasLtMatmulPreferenceSetAttribute(preference, PREFERENCE_ALIGNMENT_A + i, &alignment,
                                                     sizeof alignment);
  }
  const int error = blas->cublasLtMatmulAlgoGetHeuristic(products->handle, plan->desc, plan->a, plan->b, plan->d,
                                                         plan->d, preference, CANDIDATES, found, &count);
  (void)blas->cublasLtMatmulPreferenceDestroy(preference);
  for (int i = 0; i < count && error == 0; i++)
    if (found[i].state == 0 && found[i].workspace_bytes <= WORKSPACE_BYTES) found[usable++] = found[i];
  return usable;
}

/* Two events around products. */
typedef struct Timer {
  void *start, *stop;
} Timer;

static bool open_timer(const CudaDriver *d, Timer *timer) {
  *timer = (Timer){NULL, NULL};
  return d->cuEventCreate(&timer->start, 0) == CUDA_OK && d->cuEventCreate(&timer->stop, 0) == CUDA_OK;
}

static void close_timer(const CudaDriver *d, const Timer *timer) {
  if (timer->start) (void)d->cuEventDestroy_v2(timer->start);
  if (timer->stop) (void)d->cuEventDestroy_v2(timer->stop);
}

/* The milliseconds of one of `times` products; below 0 if that cannot be said. Without an algorithm an operand is
 * turned. */
static float measure(const Work *work, const Timer *timer, const uint64_t *algorithm, int times) {
  const CudaDriver *d = work->cuda->driver;
  float milliseconds = 0;
  if (d->cuEventRecord(timer->start, work->cuda->stream) != CUDA_OK) return -1;
  for (int i = 0; i < times; i++)
    if (!(algorithm ? run(work, algorithm) : run_turned(work))) return -1;
  if (d->cuEventRecord(timer->stop, work->cuda->stream) != CUDA_OK || d->cuEventSynchronize(timer->stop) != CUDA_OK ||
      d->cuEventElapsedTime(&milliseconds, timer->start, timer->stop) != CUDA_OK)
    return -1;
  return milliseconds / (float)times;
}

enum { ROUNDS = 5, MAX_RUNS = 20 };
#define ROUND_MILLISECONDS 0.5F
#define TIE 1.02F /* below it the earlier one is taken: noise must not decide */

static float middle(float *numbers, int count) {
  for (int i = 1; i < count; i++)
    for (int k = i; k > 0 && numbers[k] < numbers[k - 1]; k--) {
      const float larger = numbers[k - 1];
      numbers[k - 1] = numbers[k];
      numbers[k] = larger;
    }
  return numbers[count / 2];
}

/* The time of each candidate, below 0 if it does not run: the middle of a few rounds in which all take turns, as a
 * clock that changes is then the same for all, and the shortest time that of a cool device. The first runs only warm up
 * and say how often the others are repeated. */
static void measure_all(const Work *work, const Timer *timer, const Heuristic *found, int count, float *out) {
  int times[CANDIDATES];
  float rounds[CANDIDATES][ROUNDS];
  for (int i = 0; i < count; i++) {
    (void)measure(work, timer, found[i].algorithm, 1);
    out[i] = measure(work, timer, found[i].algorithm, 1);
    const float wanted = out[i] > 0 ? ROUND_MILLISECONDS / out[i] : 1;
    times[i] = wanted > (float)MAX_RUNS ? MAX_RUNS : wanted > 1 ? (int)wanted : 1;
  }
  for (int i = 0; i < ROUNDS * count; i++) {
    const int candidate = i % count;
    float *round = &rounds[candidate][i / count];
    *round = out[candidate] < 0 ? -1 : measure(work, timer, found[candidate].algorithm, times[candidate]);
  }
  for (int i = 0; i < count; i++) out[i] = middle(rounds[i], ROUNDS);
}

/* The fastest, or -1 if nothing could be measured. The result lies where the product's own will: each run overwrites
 * it. */
static int time_candidates(const Work *work, const Heuristic *found, int count) {
  const CudaDriver *d = work->cuda->driver;
  float best[CANDIDATES], fastest = -1;
  Timer timer;
  const bool is_ready = open_timer(d, &timer);
  if (is_ready) measure_all(work, &timer, found, count, best);
  close_timer(d, &timer);
  atomic_fetch_add(&work->cuda->gpu.host_waits, 1);
  for (int i = 0; i < count && is_ready; i++)
    if (best[i] >= 0 && (fastest < 0 || best[i] < fastest)) fastest = best[i];
  for (int i = 0; i < count && is_ready; i++)
    if (best[i] >= 0 && best[i] <= fastest * TIE) return i;
  return -1;
}

enum { TURNED_FROM = 1024 /* k; below it results, not operands, are what a product waits for */ };

/* Tensor cores read TF32 along k alone: a product of operands that both lie across it turns them in its inner loop. */
static bool may_be_turned(const Work *work) {
  const Shape *shape = &work->plan->shape;
  return shape->compute == COMPUTE_TF32 && shape->batches == 1 && work->p->k >= TURNED_FROM && !shape->a.transposed &&
         shape->b.transposed;
}

/* Whether the product is faster with an operand turned before it: in most of a few rounds, by more than noise. */
static bool is_faster_turned(const Work *work) {
  const CudaDriver *d = work->cuda->driver;
  int wins = 0;
  Timer timer;
  const bool is_ready = open_timer(d, &timer);
  if (is_ready) (void)measure(work, &timer, NULL, 1); /* makes its plan and warms up */
  for (int i = 0; i < ROUNDS && is_ready; i++) {
    const float plain = measure(work, &timer, work->plan->choice.algorithm, 1), turned = measure(work, &timer, NULL, 1);
    wins += turned > 0 && turned * TIE < plain;
  }
  close_timer(d, &timer);
  atomic_fetch_add(&work->cuda->gpu.host_waits, 1);
  return wins > ROUNDS / 2;
}

/* What a choice depends on, as the name of its file. */
static void name_choice(Cuda *cuda, const Shape *shape, CudaImageName *name) {
  const CudaBlas *blas = cuda->products->blas;
  const unsigned char *bytes = (const unsigned char *)shape;
  char text[2 * sizeof *shape + 256], device[128] = "";
  int version[3] = {0, 0, 0};
  for (int i = 0; i < 3; i++) (void)blas->cublasLtGetProperty(i, &version[i]);
  (void)cuda->driver->cuDeviceGetName(device, (int)sizeof device, cuda->device);
  int used = snprintf(text, 256, "cuBLASLt %d.%d.%d, %.127s, %u units, product ", version[0], version[1], version[2],
                      device, cuda->gpu.unit_count);
  for (size_t i = 0; i < sizeof *shape; i++) used += snprintf(text + used, 3, "%02x", bytes[i]);
  burn__cuda_image_name(cuda->nvrtc, cuda->architecture, text, name);
  name->ending = "product";
}

/* The choice of an earlier run, if the library still takes it. */
static bool load_choice(const Work *work, const CudaImageName *name) {
  const CudaProducts *products = work->cuda->products;
  Plan *plan = work->plan;
  char *kept = NULL;
  uint64_t bytes = 0;
  Heuristic check = {.state = 1};
  if (!burn__cuda_image_load(work->cuda->gpu.host, name, &kept, &bytes)) return false;
  const bool is_whole = bytes == sizeof plan->choice;
  if (is_whole) memcpy(&plan->choice, kept, sizeof plan->choice);
  work->cuda->gpu.host->free(kept, bytes);
  return is_whole &&
         products->blas->cublasLtMatmulAlgoCheck(products->handle, plan->desc, plan->a, plan->b, plan->d, plan->d,
                                                 plan->choice.algorithm, &check) == 0 &&
         check.state == 0 && check.workspace_bytes <= WORKSPACE_BYTES;
}

#define TIMED_FROM (1 << 27) /* multiplications; smaller products take less time than a choice is worth */

static bool is_timed(const Work *work) {
  const GpuMatmul *p = work->p;
  return work->cuda->gpu.timing && (double)p->batches * (double)p->m * (double)p->n * (double)p->k >= TIMED_FROM;
}

/* While launches are recorded none may be waited for. */
static bool may_wait(const Work *work) {
  int is_capturing = 0;
  return work->cuda->driver->cuStreamIsCapturing(work->cuda->stream, &is_capturing) == CUDA_OK && !is_capturing;
}

static bool choose(const Work *work) {
  Heuristic found[CANDIDATES];
  CudaImageName name;
  Choice *choice = &work->plan->choice;
  const bool is_chosen = is_timed(work);
  if (is_chosen) name_choice(work->cuda, &work->plan->shape, &name);
  if (is_chosen && load_choice(work, &name)) return true;
  const int count = find_candidates(work->cuda->products, work->plan, found);
  if (count == 0) return false;
  const int fastest = is_chosen && count > 1 && may_wait(work) ? time_candidates(work, found, count) : -1;
  memcpy(choice->algorithm, found[fastest > 0 ? fastest : 0].algorithm, sizeof choice->algorithm);
  choice->is_turned = fastest >= 0 && may_be_turned(work) && is_faster_turned(work);
  if (fastest >= 0) burn__cuda_image_save(&name, (const char *)choice, sizeof *choice);
  return true;
}

/* -- plans by shape --------------------------------------------------------------------------- */

static uint32_t slot_of(const Shape *shape) {
  return (uint32_t)(burn_common_hash_bytes(BURN_COMMON_HASH, shape, sizeof *shape) >> 32) % PLANS;
}

/* The slot that has the plan of a shape, or else where it may be made: a free one, or one of the others in turn. */
static Plan *slot_for(CudaProducts *products, const Shape *shape) {
  const uint32_t first = slot_of(shape);
  Plan *empty = NULL;
  for (uint32_t i = 0; i < NEAR; i++) {
    Plan *plan = &products->plans[(first + i) % PLANS];
    if (plan->desc && memcmp(&plan->shape, shape, sizeof *shape) == 0) return plan;
    if (!plan->desc && !empty) empty = plan;
  }
  if (empty) return empty;
  Plan *plan = &products->plans[(first + products->evicted++ % NEAR) % PLANS];
  return plan != products->pinned ? plan : &products->plans[(first + products->evicted++ % NEAR) % PLANS];
}

/* Finds or makes the plan of a shape. False if cuBLASLt has no algorithm. */
static bool find_plan(Work *work, const Shape *shape) {
  const CudaBlas *blas = work->cuda->products->blas;
  Plan *plan = work->plan = slot_for(work->cuda->products, shape);
  if (plan->desc && memcmp(&plan->shape, shape, sizeof *shape) == 0) return true;
  forget(blas, plan);
  if (describe(blas, shape, work->p->bias, plan) && choose(work)) return true;
  forget(blas, plan);
  return false;
}

/* Makes the product, if there is a plan for it. */
static bool make_product(Work *work) {
  Shape shape;
  if (!take_shape(work->p, work->kind, &shape) || !find_plan(work, &shape)) return false;
  if (work->plan->choice.is_turned && run_turned(work)) return true;
  /* A product has no numbers that could differ from those recorded. */
  return work->cuda->gpu.replays.is_patching || run(work, work->plan->choice.algorithm);
}

bool burn__cuda_blas_product(Gpu *gpu, const GpuProductKind *kind, const GpuMatmul *p) {
  Cuda *cuda = cuda_of(gpu);
  Work work = {.cuda = cuda, .kind = kind, .p = p};
  if (p->batches > INT32_MAX) return false;
  (void)pthread_mutex_lock(&cuda->products_mutex);
  if (!cuda->has_asked_products && !cuda->gpu.is_recorded) { /* memory taken in a recording would be its own */
    cuda->products = create(cuda);
    cuda->has_asked_products = true;
  }
  const bool done = cuda->products && make_product(&work);
  (void)pthread_mutex_unlock(&cuda->products_mutex);
  return done;
}
