/* gpu.h - what GPU backends share: the instance, tensors, a running call, the row of an op.
 *
 * All work of an instance goes into one queue, so memory that is released may be handed out again at once: whoever
 * gets it works later. Kernels are CUDA C texts (kernels/), compiled for the device when they are first needed. */
#ifndef BURN_GPU_H
#define BURN_GPU_H

#include "gpu_texts.h"
#include "kernels/parameters.h"

#include <burn/common/failure.h>
#include <burn/plugin/calls.h>
#include <burn/plugin/device.h>
#include <burn/plugin/plugin.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct GpuRow GpuRow;
typedef struct GpuKernels GpuKernels; /* cuda_compile.c: what has been compiled, by key */
typedef uint64_t GpuAddress;          /* of memory of the device */

/* Memory of the device, shared by views of it. */
typedef struct GpuStorage {
  atomic_uint references;
  bool is_counted;                        /* among the bytes in use: what a recording keeps for itself is not */
  bool is_stand_in;                       /* it belongs to a recording, which ends it */
  bool is_shared;                         /* another library owns or reads it (cuda_dlpack.c): it is not written into */
  struct DLManagedTensorVersioned *owner; /* to whom it goes back; NULL: it is ours */
  void *reader;                           /* the stream of another library that reads it; NULL: none that is known */
  GpuAddress address;
  uint64_t bytes;
} GpuStorage;

/* Fused kernels that have been compiled (gpu_fused.c). */
typedef struct GpuFusedPrograms {
  pthread_mutex_t mutex;
  uint32_t count;
  struct GpuFusedProgram *first;
} GpuFusedPrograms;

enum { GPU_RECENT_OPS = 8 };

/* How f32 is multiplied: as it is, in TF32, or in bf16 where that is worth two casts, else in TF32. Sums are f32. */
typedef enum GpuPrecision { GPU_HIGHEST, GPU_HIGH, GPU_MEDIUM } GpuPrecision;

/* An opened instance. */
typedef struct Gpu {
  const BurnHost *host;
  const struct CudaDriver *driver;
  const struct CudaNvrtc *nvrtc;
  uint32_t owner, index;
  int device;
  int architecture; /* 90 for sm_90 */
  uint32_t unit_count;
  void *context, *stream, *pool;
  char name[16]; /* "cuda:0" */
  GpuKernels *kernels;
  GpuFusedPrograms fused;
  bool tf32;                      /* convolutions of f32 by TF32 */
  GpuPrecision precision;         /* of products */
  pthread_mutex_t products_mutex; /* around what follows, and cuBLASLt */
  bool has_asked_products;
  struct CudaProducts *products; /* NULL: no product has asked yet, or cuBLASLt is not there */
  bool timing;                   /* choose among algorithms by time */
  pthread_mutex_t dnn_mutex;     /* around what follows, and cuDNN */
  bool has_asked_dnn;
  struct CudaDnn *dnn; /* NULL: nothing has asked yet, or cuDNN is not there */
  struct CudaMemory *memory;
  _Atomic int64_t live_tensors, host_waits;
  _Atomic int64_t launches, recordings, runs, patches; /* as in BurnReplayStatistics */
  _Atomic uint32_t broken;                             /* the driver's error that ended this instance; 0: it works */
  _Atomic uint32_t recent[GPU_RECENT_OPS];             /* the last ops, for messages of late failures */
  _Atomic uint32_t submitted;                          /* ops so far */
  GpuComplaint *complaint;                             /* host memory where kernels say what was wrong */
  GpuAddress complaint_address;                        /* as the device sees it */
  const GpuRow *rows[BURN_OP_LIMIT];                   /* by op; NULL: the host decomposes it */
  _Atomic uint32_t inside;                             /* threads between enter and leave */
  _Atomic(const void *) recorder;                      /* the thread that alone may enter; NULL: any */
  pthread_mutex_t recorder_mutex;                      /* held by that thread; others wait for it */
  bool is_recording, is_patching;                      /* of `recorder`; the stream is captured */
  struct CudaRecording *recording;                     /* which; NULL: neither */
  pthread_mutex_t scratch_mutex;                       /* around the two that follow */
  struct CudaCache *scratch;                           /* memory that recordings use while they run */
  uint32_t scratch_users;                              /* recordings */
  pthread_mutex_t borrowed_mutex;
  struct CudaBorrowed *borrowed; /* memory of other libraries that goes back when our work on it is done */
  void *side_stream;             /* for what must not be captured; NULL: nothing was recorded yet */
} Gpu;

/* A tensor: the public header, then ours. */
typedef struct GpuTensor {
  BurnPrimitive header;
  atomic_uint references;
  GpuStorage *storage;
  bool is_stand_in; /* it belongs to a recording, which ends it */
  int64_t shape[BURN_MAX_RANK], strides[BURN_MAX_RANK];
} GpuTensor;

/* What a kernel function gets. It makes the outputs; what it leaves behind on failure is released by submit. */
typedef struct GpuRun {
  Gpu *gpu;
  const GpuRow *row;
  const BurnOpCall *call;
  BurnPrimitive **out; /* [output_count], NULL at first */
} GpuRun;

typedef BurnStatus (*GpuOp)(const GpuRun *run);

/* One op: its function and, where several ops share it, what makes this one special. */
struct GpuRow {
  uint32_t op;
  GpuOp function;
  int detail; /* what it means is the function's business */
};

/* The rows, family by family; each list ends with op 0. */
#define GPU_FAMILY(name) extern const GpuRow burn__gpu_##name##_rows[];
#include "families.def"
#undef GPU_FAMILY

/* Remembers an op for messages of late failures. */
static inline void gpu_note_op(Gpu *gpu, uint32_t op) {
  const uint32_t number = atomic_fetch_add(&gpu->submitted, 1u);
  atomic_store_explicit(&gpu->recent[number % GPU_RECENT_OPS], op, memory_order_relaxed);
}

/* -- what a backend provides ------------------------------------------------------------------- */

/* Around everything that works on the device; a thread may nest them. */
BurnStatus burn__gpu_enter(Gpu *gpu);
void burn__gpu_leave(Gpu *gpu);

/* A storage with one reference and undefined contents. Between enter and leave. */
BurnStatus burn__gpu_storage_new(Gpu *gpu, uint64_t bytes, GpuStorage **out);
/* One reference less; the last one gives the memory back. */
void burn__gpu_storage_release(Gpu *gpu, GpuStorage *storage);

/* The module of a source. Between enter and leave. */
BurnStatus burn__gpu_load(Gpu *gpu, const char *source, void **module);
/* Starts a function with one struct of parameters, in the queue. */
BurnStatus burn__gpu_launch(Gpu *gpu, void *function, uint64_t groups, uint32_t threads, const void *parameters,
                            size_t bytes);

/* While this thread records or patches: FAILED_PRECONDITION, "what cannot be recorded". Else BURN_OK. */
BurnStatus burn__gpu_refuse_recording(Gpu *gpu, const char *what);
/* Waits for all work, counts that, and tells what a kernel complained about. */
BurnStatus burn__gpu_wait(Gpu *gpu);
/* The complaint of a kernel that has run, once; BURN_OK if there is none. */
BurnStatus burn__gpu_complaint(Gpu *gpu);

/* -- gpu_tensor.c ------------------------------------------------------------------------------ */

static inline GpuTensor *gpu_tensor(BurnPrimitive *x) { return (GpuTensor *)(void *)x; }
static inline const GpuTensor *gpu_const_tensor(const BurnPrimitive *x) { return (const GpuTensor *)(const void *)x; }
static inline GpuAddress gpu_address(const BurnPrimitive *x) {
  return gpu_const_tensor(x)->storage->address + (GpuAddress)x->byte_offset;
}
static inline bool gpu_is_float(const BurnPrimitive *x) { return burn_dtype_kind(x->dtype) == BURN_KIND_FLOAT; }

/* A tensor over a storage, whose reference it takes over, also on failure. */
BurnStatus burn__gpu_tensor_over(Gpu *gpu, const BurnTensorDesc *desc, const int64_t *strides, GpuStorage *storage,
                                 int64_t byte_offset, BurnPrimitive **out);
/* A new row-major tensor with undefined elements. */
BurnStatus burn__gpu_new(Gpu *gpu, const BurnTensorDesc *desc, BurnPrimitive **out);
/* Output `i` of the call, new. */
BurnStatus burn__gpu_output(const GpuRun *run, uint32_t i);
/* A view of x: another shape and other strides over its storage, beginning `offset` elements after its first. */
BurnStatus burn__gpu_view(Gpu *gpu, const BurnPrimitive *x, const BurnTensorDesc *desc, const int64_t *strides,
                          int64_t offset, BurnPrimitive **out);
void burn__gpu_retain(BurnPrimitive *x);
void burn__gpu_release(Gpu *gpu, BurnPrimitive *x); /* NULL is allowed */
/* True if the call gives input `i` away, nobody else holds it or its storage, and it is no other input: it may be
 * written to. */
bool burn__gpu_may_overwrite(const BurnOpCall *call, uint32_t i);
/* True if the elements lie in row-major order without gaps. */
bool burn__gpu_is_row_major(const BurnPrimitive *x);
/* x itself with one reference more, or a row-major copy of it. The caller releases it. */
BurnStatus burn__gpu_row_major(Gpu *gpu, BurnPrimitive *x, BurnPrimitive **out);

/* A tensor seen as [outer, size, inner] around the axis dim. */
typedef struct GpuAxis {
  int64_t outer, size, inner;
} GpuAxis;
GpuAxis burn__gpu_axis(const BurnPrimitive *x, int64_t dim);

/* -- cuda_compile.c ---------------------------------------------------------------------------- */

/* How two numbers are joined: see kernels/join.cu. */
typedef enum GpuJoin {
  GPU_JOIN_SUM,
  GPU_JOIN_PRODUCT,
  GPU_JOIN_LARGEST,
  GPU_JOIN_SMALLEST,
  GPU_JOIN_SECOND,
  GPU_JOIN_ANY,
  GPU_JOIN_ALL
} GpuJoin;

/* What a kernel is compiled from. Two of equal text, op, dtypes and variant are the same kernel. The text sees OUT, IN0
 * to IN2: the types of elements; BURN_VARIANT; and the line `definition`. */
typedef struct GpuKernelKey {
  GpuText text;
  uint32_t op; /* whose row the definition comes from; 0: none */
  BurnDType out, in[3];
  uint32_t variant; /* BURN_VARIANT */
  uint32_t entry;   /* of GPU_TEXT_ELEMENTWISE: which of its kernels; no part of what is compiled */
  GpuJoin join;     /* BURN_JOIN */
} GpuKernelKey;

GpuKernels *burn__gpu_kernels_create(void);
void burn__gpu_kernels_destroy(Gpu *gpu, GpuKernels *kernels);

/* The same where it has been compiled; else NULL. */
void *burn__gpu_known_kernel(Gpu *gpu, const GpuKernelKey *key);

/* The function `kernel` of that text, compiled at the first call. `definition` (NULL: none) is CUDA C that comes before
 * the text. The calling thread is in the context. */
BurnStatus burn__gpu_kernel(Gpu *gpu, const GpuKernelKey *key, const char *definition, void **function);

/* The whole source of a kernel, to be freed with host->free(.., *bytes). */
char *burn__gpu_source(const BurnHost *host, const GpuKernelKey *key, const char *definition, uint64_t *bytes);

/* -- gpu_reduce.c ------------------------------------------------------------------------------ */

/* Joins the lines of x, row-major, along an axis into `out`. */
BurnStatus burn__gpu_reduce(Gpu *gpu, GpuJoin join, BurnPrimitive *x, BurnPrimitive *out, const GpuAxis *axis);

/* -- products ---------------------------------------------------------------------------------- */

/* What a product is, beside its shape: floats of one dtype, bf16 to f32, or i8 to i32. */
typedef struct GpuProductKind {
  BurnDType in, out;
  bool tf32; /* of f32 */
} GpuProductKind;

/* -- gpu_vector.c ------------------------------------------------------------------------------ */

/* Is a product of floats one of a matrix, dense along an axis, and a vector? */
bool burn__gpu_takes_vector(const GpuMatmul *p);
BurnStatus burn__gpu_vector_product(Gpu *gpu, BurnDType dtype, const GpuMatmul *p);
/* The sums of x, row-major floats, along an axis that has others behind it. */
BurnStatus burn__gpu_column_sums(Gpu *gpu, const BurnPrimitive *x, BurnPrimitive *out, const GpuAxis *axis);

/* -- gpu_linalg.c ------------------------------------------------------------------------------ */

/* Runs a product whose operands, result and strides are set; `dtype` is that of all. For convolutions. */
BurnStatus burn__gpu_product(Gpu *gpu, BurnDType dtype, const GpuMatmul *p);
/* out [.., m, n], row-major, = lhs [.., m, k] x rhs [.., k, n], with leading axes that broadcast, + bias [n], row-major
 * (NULL: none). All of one dtype, or i8 and out i32. */
BurnStatus burn__gpu_multiply(Gpu *gpu, BurnPrimitive *lhs, BurnPrimitive *rhs, const BurnPrimitive *bias,
                              BurnPrimitive *out);
/* x with its last two axes changed: a view. */
BurnStatus burn__gpu_transposed(Gpu *gpu, const BurnPrimitive *x, BurnPrimitive **out);

/* -- gpu_optimizer.c --------------------------------------------------------------------------- */

extern const BurnCallsInterface burn__gpu_calls_interface;

/* -- gpu_quantization.c ------------------------------------------------------------------------ */

/* The table's supports: for the ops that some calls of are decomposed. */
int32_t BURN_API_CALL burn__gpu_supports(void *self, const BurnOpCall *call, char *why, uint64_t why_bytes);

/* -- gpu_columns.c ----------------------------------------------------------------------------- */

/* The three convolutions as products of matrices: p is as the kernels of kernels/conv.cu take it, `out` the result. */
BurnStatus burn__gpu_columns_forward(Gpu *gpu, BurnDType dtype, const GpuConv *p);
BurnStatus burn__gpu_columns_transposed(Gpu *gpu, BurnDType dtype, const GpuConv *p);
BurnStatus burn__gpu_columns_weight(Gpu *gpu, BurnDType dtype, const GpuConv *p, BurnPrimitive *gradient);
/* True if that is faster than the definition; `all_at_once`: for the weight's gradient, which needs room for all. */
bool burn__gpu_columns_pay(const GpuConv *p, bool all_at_once);
/* Adds a bias to each channel of x [batch, channels, places]. */
BurnStatus burn__gpu_add_bias(Gpu *gpu, BurnDType dtype, GpuAddress x, GpuAddress bias, int64_t batch, int64_t channels,
                              int64_t places);

/* -- gpu_attention.c --------------------------------------------------------------------------- */

/* A new tensor whose heads lie as those of `like` do: [batch, positions, heads, width] in memory where these come from
 * a product of all heads, so that the way back is a view. */
BurnStatus burn__gpu_new_heads(Gpu *gpu, const BurnTensorDesc *desc, const BurnPrimitive *like, BurnPrimitive **out);

/* -- gpu_row.c --------------------------------------------------------------------------------- */

/* How threads share rows of kernels/row.cu. */
typedef struct GpuRowShape {
  uint32_t threads, vectors; /* of a row; vectors of 16 bytes in the registers of a thread, 0: it is read again */
} GpuRowShape;
/* That of rows of `size` elements, with at most `most` numbers of a row in the registers of a thread (0: none). */
GpuRowShape burn__gpu_row_shape(BurnDType dtype, int64_t size, uint32_t most);
/* Starts a kernel that works on rows, `lines` of them, in the stream: `key` without its variant. */
BurnStatus burn__gpu_rows(Gpu *gpu, GpuKernelKey key, uint32_t kind, GpuRowShape shape, int64_t lines,
                          const GpuRows *p);
/* True if rows of `size` elements at this address are made of whole vectors. */
bool burn__gpu_is_whole(const BurnPrimitive *x, int64_t size);
/* What a float dtype is computed in: f64 or f32. */
BurnDType burn__gpu_wide_float(BurnDType dtype);

/* Inputs of a call in row-major order; those that are not there are NULL. Released by burn__gpu_drop_inputs, also
 * after a failure. */
BurnStatus burn__gpu_take_inputs(const GpuRun *run, BurnPrimitive **rows);
void burn__gpu_drop_inputs(const GpuRun *run, BurnPrimitive *const *rows);
/* The outputs of a call, new. */
BurnStatus burn__gpu_outputs(const GpuRun *run);

/* -- gpu_sort.c -------------------------------------------------------------------------------- */

/* The positions of the elements of each line in rising or falling order; equal ones keep theirs. x is row-major, `out`
 * of its shape. */
BurnStatus burn__gpu_argsort(Gpu *gpu, BurnPrimitive *x, const GpuAxis *axis, bool descending, BurnPrimitive *out);
/* The same, rising, for indices below `limit`: equal ones come one after the other. */
BurnStatus burn__gpu_sort_indices(Gpu *gpu, BurnPrimitive *x, const GpuAxis *axis, int64_t limit, BurnPrimitive *out);

/* -- gpu_elementwise.c ------------------------------------------------------------------------- */

/* Copies the elements of `from` to `to`, of the same shape, dtype and count, whatever their strides. */
BurnStatus burn__gpu_copy(Gpu *gpu, BurnPrimitive *to, BurnPrimitive *from);
/* x in another dtype, row-major. */
BurnStatus burn__gpu_cast(Gpu *gpu, BurnPrimitive *x, BurnDType dtype, BurnPrimitive **out);

/* A number as an integer of the dtype, or the nearest that it has; NaN is 0, for bool it is number != 0. */
int64_t burn__gpu_saturate(BurnDType dtype, const BurnAttr *number);
/* A number as kernels see it: as a float of the dtype, and saturated as an integer. */
GpuNumber burn__gpu_number(BurnDType dtype, const BurnAttr *number);
/* The numbers s and q of an op's expression: those of its attributes that it has. */
void burn__gpu_scalars(const Gpu *gpu, uint32_t op, BurnDType dtype, const BurnAttr *attrs, GpuNumber numbers[2]);

/* What an op of elementwise.def computes in f32 and in integers, NULL where it does not; `large`: f32 beyond 1e9, or
 * NULL. `power` is burn__gpu_power of the exponent for powf_scalar, else 0. */
typedef struct GpuExpression {
  const char *f32, *integers, *large;
} GpuExpression;
GpuExpression burn__gpu_expression(uint32_t op, uint32_t power);
/* The number of an exponent among those with an expression of their own, from 1 on. */
uint32_t burn__gpu_power(double exponent);

/* -- failures ---------------------------------------------------------------------------------- */

#define GPU_FAIL(gpu, CODE, ...) BURN_COMMON_FAIL((gpu)->host, CODE, (gpu)->name, __VA_ARGS__)

#endif
