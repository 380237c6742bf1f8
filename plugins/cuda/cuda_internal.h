/* cuda_internal.h - what the files of the CUDA backend share: the instance, tensors, a running call, the row of an op.
 *
 * All work of an instance goes into one stream, so memory that is released may be handed out again at once: whoever
 * gets it works later. Kernels are CUDA C texts (kernels/), compiled for the device when they are first needed. */
#ifndef BURN_CUDA_INTERNAL_H
#define BURN_CUDA_INTERNAL_H

#include "cuda_driver.h"
#include "cuda_memory.h"
#include "cuda_replay.h"
#include "cuda_texts.h"
#include "kernels/parameters.h"

#include <burn/common/failure.h>
#include <burn/plugin/calls.h>
#include <burn/plugin/device.h>
#include <burn/plugin/plugin.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct CudaRow CudaRow;
typedef struct CudaKernels CudaKernels;   /* cuda_compile.c: what has been compiled, by key */
typedef struct CudaProducts CudaProducts; /* cuda_blas.c: cuBLASLt's plans, by shape */
typedef struct CudaDnn CudaDnn;           /* cuda_dnn.c: cuDNN's plans, by shape */

/* Fused kernels that have been compiled (cuda_fused.c). */
typedef struct CudaFusedPrograms {
  pthread_mutex_t mutex;
  uint32_t count;
  struct CudaFusedProgram *first;
} CudaFusedPrograms;

enum { CUDA_RECENT_OPS = 8 };

/* How f32 is multiplied: as it is, in TF32, or in bf16 where that is worth two casts, else in TF32. Sums are f32. */
typedef enum CudaPrecision { CUDA_HIGHEST, CUDA_HIGH, CUDA_MEDIUM } CudaPrecision;

/* An opened instance. */
typedef struct Cuda {
  const BurnHost *host;
  const CudaDriver *driver;
  const CudaNvrtc *nvrtc;
  uint32_t owner, index;
  int device;
  int architecture; /* 90 for sm_90 */
  uint32_t unit_count;
  void *context, *stream, *pool;
  char name[16]; /* "cuda:0" */
  CudaKernels *kernels;
  CudaFusedPrograms fused;
  bool tf32;                      /* convolutions of f32 by TF32 */
  CudaPrecision precision;        /* of products */
  pthread_mutex_t products_mutex; /* around what follows, and cuBLASLt */
  bool has_asked_products;
  CudaProducts *products;    /* NULL: no product has asked yet, or cuBLASLt is not there */
  bool timing;               /* choose among algorithms by time */
  pthread_mutex_t dnn_mutex; /* around what follows, and cuDNN */
  bool has_asked_dnn;
  CudaDnn *dnn; /* NULL: nothing has asked yet, or cuDNN is not there */
  CudaMemory *memory;
  _Atomic int64_t live_tensors, host_waits;
  _Atomic int64_t launches, recordings, runs, patches; /* as in BurnReplayStatistics */
  _Atomic uint32_t broken;                             /* the driver's error that ended this instance; 0: it works */
  _Atomic uint32_t recent[CUDA_RECENT_OPS];            /* the last ops, for messages of late failures */
  _Atomic uint32_t submitted;                          /* ops so far */
  CudaComplaint *complaint;                            /* host memory where kernels say what was wrong */
  CudaAddress complaint_address;                       /* as the device sees it */
  const CudaRow *rows[BURN_OP_LIMIT];                  /* by op; NULL: the host decomposes it */
  _Atomic uint32_t inside;                             /* threads between enter and leave */
  _Atomic(const void *) recorder;                      /* the thread that alone may enter; NULL: any */
  pthread_mutex_t recorder_mutex;                      /* held by that thread; others wait for it */
  bool is_recording, is_patching;                      /* of `recorder`; the stream is captured */
  CudaRecording *recording;                            /* which; NULL: neither */
  pthread_mutex_t scratch_mutex;                       /* around the two that follow */
  CudaCache *scratch;                                  /* memory that recordings use while they run */
  uint32_t scratch_users;                              /* recordings */
  pthread_mutex_t borrowed_mutex;
  struct CudaBorrowed *borrowed; /* memory of other libraries that goes back when our work on it is done */
  void *side_stream;             /* for what must not be captured; NULL: nothing was recorded yet */
} Cuda;

/* A tensor: the public header, then ours. */
typedef struct CudaTensor {
  BurnPrimitive header;
  atomic_uint references;
  CudaStorage *storage;
  bool is_stand_in; /* it belongs to a recording, which ends it */
  int64_t shape[BURN_MAX_RANK], strides[BURN_MAX_RANK];
} CudaTensor;

/* What a kernel function gets. It makes the outputs; what it leaves behind on failure is released by submit. */
typedef struct CudaRun {
  Cuda *cuda;
  const CudaRow *row;
  const BurnOpCall *call;
  BurnPrimitive **out; /* [output_count], NULL at first */
} CudaRun;

typedef BurnStatus (*CudaFunction)(const CudaRun *run);

/* One op: its function and, where several ops share it, what makes this one special. */
struct CudaRow {
  uint32_t op;
  CudaFunction function;
  int detail; /* what it means is the function's business */
};

/* The rows, family by family; each list ends with op 0. */
#define CUDA_FAMILY(name) extern const CudaRow burn__cuda_##name##_rows[];
#include "families.def"
#undef CUDA_FAMILY

/* Remembers an op for messages of late failures. */
static inline void cuda_note_op(Cuda *cuda, uint32_t op) {
  const uint32_t number = atomic_fetch_add(&cuda->submitted, 1u);
  atomic_store_explicit(&cuda->recent[number % CUDA_RECENT_OPS], op, memory_order_relaxed);
}

/* -- cuda_device.c ---------------------------------------------------------------------------- */

extern const BurnDeviceInterface burn__cuda_device_interface;

/* Makes the context of the instance this thread's current one, and back. A thread that had none keeps it, as with
 * CUDA's own runtime: asking for the current one costs a tenth of changing it. While a thread records, others wait. */
BurnStatus burn__cuda_enter(Cuda *cuda);
void burn__cuda_leave(Cuda *cuda);

/* Outside of enter and leave: until let_in no other thread enters, and none is inside. */
void burn__cuda_shut_out(Cuda *cuda);
void burn__cuda_let_in(Cuda *cuda);

/* BURN_OK, or the failure of a call of the driver: "what: error 2, out of memory". An error that the context does not
 * survive marks the instance, whose later calls then fail with it. */
BurnStatus burn__cuda_check(Cuda *cuda, int error, const char *what);

/* While this thread records or patches: FAILED_PRECONDITION, "what cannot be recorded". Else BURN_OK. */
BurnStatus burn__cuda_refuse_recording(Cuda *cuda, const char *what);

/* Waits for all work, counts that, and tells what a kernel complained about. */
BurnStatus burn__cuda_wait(Cuda *cuda);
/* The complaint of a kernel that has run, once; BURN_OK if there is none. */
BurnStatus burn__cuda_complaint(Cuda *cuda);

/* Slots of the table. */
BurnStatus BURN_API_CALL burn__cuda_create(void *self, const BurnTensorDesc *desc, const void *data,
                                           BurnPrimitive **out);
BurnStatus BURN_API_CALL burn__cuda_read(void *self, BurnPrimitive *x, void *data, uint64_t bytes);

/* -- cuda_pack.c: kernels of packs, slots of "burn.device" ------------------------------------ */

int32_t BURN_API_CALL burn__cuda_pack_takes_code(void *self, const BurnDeviceCode *code);
BurnStatus BURN_API_CALL burn__cuda_pack_load(void *self, const BurnDeviceCode *code, const char *entry,
                                              BurnLoadedKernel **out);
void BURN_API_CALL burn__cuda_pack_unload(void *self, BurnLoadedKernel *kernel);
BurnStatus BURN_API_CALL burn__cuda_pack_launch(void *self, BurnLoadedKernel *kernel, const BurnOpCall *call,
                                                const BurnDeviceLaunch *launch);

/* -- cuda_dlpack.c ---------------------------------------------------------------------------- */

struct BurnDlpackInterface;
extern const struct BurnDlpackInterface burn__cuda_dlpack_interface;

/* Ends the sharing of a storage whose last reference is gone. */
void burn__cuda_unshare(Cuda *cuda, CudaStorage *storage);
/* Gives back what was borrowed and is done with, or all of it. In the context. */
void burn__cuda_give_back(Cuda *cuda, bool all);

/* -- cuda_tensor.c ---------------------------------------------------------------------------- */

static inline CudaTensor *cuda_tensor(BurnPrimitive *x) { return (CudaTensor *)(void *)x; }
static inline const CudaTensor *cuda_const_tensor(const BurnPrimitive *x) {
  return (const CudaTensor *)(const void *)x;
}
static inline CudaAddress cuda_address(const BurnPrimitive *x) {
  return cuda_const_tensor(x)->storage->address + (CudaAddress)x->byte_offset;
}
static inline bool cuda_is_float(const BurnPrimitive *x) { return burn_dtype_kind(x->dtype) == BURN_KIND_FLOAT; }

/* A tensor over a storage, whose reference it takes over, also on failure. */
BurnStatus burn__cuda_tensor_over(Cuda *cuda, const BurnTensorDesc *desc, const int64_t *strides, CudaStorage *storage,
                                  int64_t byte_offset, BurnPrimitive **out);
/* A new row-major tensor with undefined elements. */
BurnStatus burn__cuda_new(Cuda *cuda, const BurnTensorDesc *desc, BurnPrimitive **out);
/* Output `i` of the call, new. */
BurnStatus burn__cuda_output(const CudaRun *run, uint32_t i);
/* A view of x: another shape and other strides over its storage, beginning `offset` elements after its first. */
BurnStatus burn__cuda_view(Cuda *cuda, const BurnPrimitive *x, const BurnTensorDesc *desc, const int64_t *strides,
                           int64_t offset, BurnPrimitive **out);
void burn__cuda_retain(BurnPrimitive *x);
void burn__cuda_release(Cuda *cuda, BurnPrimitive *x); /* NULL is allowed */
/* True if the call gives input `i` away, nobody else holds it or its storage, and it is no other input: it may be
 * written to. */
bool burn__cuda_may_overwrite(const BurnOpCall *call, uint32_t i);
/* True if the elements lie in row-major order without gaps. */
bool burn__cuda_is_row_major(const BurnPrimitive *x);
/* x itself with one reference more, or a row-major copy of it. The caller releases it. */
BurnStatus burn__cuda_row_major(Cuda *cuda, BurnPrimitive *x, BurnPrimitive **out);

/* A tensor seen as [outer, size, inner] around the axis dim. */
typedef struct CudaAxis {
  int64_t outer, size, inner;
} CudaAxis;
CudaAxis burn__cuda_axis(const BurnPrimitive *x, int64_t dim);

/* -- cuda_compile.c --------------------------------------------------------------------------- */

/* How two numbers are joined: see kernels/join.cu. */
typedef enum CudaJoin {
  CUDA_JOIN_SUM,
  CUDA_JOIN_PRODUCT,
  CUDA_JOIN_LARGEST,
  CUDA_JOIN_SMALLEST,
  CUDA_JOIN_SECOND,
  CUDA_JOIN_ANY,
  CUDA_JOIN_ALL
} CudaJoin;

/* What a kernel is compiled from. Two of equal text, op, dtypes and variant are the same kernel. The text sees OUT, IN0
 * to IN2: the types of elements; BURN_VARIANT; and the line `definition`. */
typedef struct CudaKernelKey {
  CudaText text;
  uint32_t op; /* whose row the definition comes from; 0: none */
  BurnDType out, in[3];
  uint32_t variant; /* BURN_VARIANT */
  uint32_t entry;   /* of CUDA_TEXT_ELEMENTWISE: which of its kernels; no part of what is compiled */
  CudaJoin join;    /* BURN_JOIN */
} CudaKernelKey;

CudaKernels *burn__cuda_kernels_create(void);
void burn__cuda_kernels_destroy(Cuda *cuda, CudaKernels *kernels);

/* The same where it has been compiled; else NULL. */
void *burn__cuda_known_kernel(Cuda *cuda, const CudaKernelKey *key);

/* The function `kernel` of that text, compiled at the first call. `definition` (NULL: none) is CUDA C that comes before
 * the text. The calling thread is in the context. */
BurnStatus burn__cuda_kernel(Cuda *cuda, const CudaKernelKey *key, const char *definition, void **function);

/* The whole source of a kernel, to be freed with host->free(.., *bytes). */
char *burn__cuda_source(const BurnHost *host, const CudaKernelKey *key, const char *definition, uint64_t *bytes);

/* The module of a source, compiled or found on disk. The calling thread is in the context. */
BurnStatus burn__cuda_load(Cuda *cuda, const char *source, void **module);

/* Compiles a source for sm_<architecture> into an image, to be freed with host->free(.., *bytes). */
BurnStatus burn__cuda_compile(const BurnHost *host, const CudaNvrtc *nvrtc, int architecture, const char *source,
                              char **image, uint64_t *bytes);

/* Starts a function with one struct of parameters, in the stream. */
BurnStatus burn__cuda_launch(Cuda *cuda, void *function, uint64_t groups, uint32_t threads, const void *parameters,
                             size_t bytes);

/* -- cuda_reduce.c ---------------------------------------------------------------------------- */

/* Joins the lines of x, row-major, along an axis into `out`. */
BurnStatus burn__cuda_reduce(Cuda *cuda, CudaJoin join, BurnPrimitive *x, BurnPrimitive *out, const CudaAxis *axis);

/* -- cuda_blas.c ------------------------------------------------------------------------------ */

/* What a product is, beside its shape: floats of one dtype, bf16 to f32, or i8 to i32. */
typedef struct CudaProductKind {
  BurnDType in, out;
  bool tf32; /* of f32 */
} CudaProductKind;

/* Runs a product by cuBLASLt, in the stream. False where it is not there, or cannot: strides, alignment. */
bool burn__cuda_blas_product(Cuda *cuda, const CudaProductKind *kind, const CudaMatmul *p);
void burn__cuda_products_destroy(Cuda *cuda);

/* -- cuda_dnn.c ------------------------------------------------------------------------------- */

void burn__cuda_dnn_destroy(Cuda *cuda);

/* One of several ways to compute the same, by number. */
typedef BurnStatus (*CudaWay)(void *context, uint32_t way);
/* The way that takes the least time on the device; the lower number where two are as fast. Each runs a few times. */
uint32_t burn__cuda_fastest(Cuda *cuda, CudaWay way, void *context, uint32_t count);

/* -- cuda_vector.c ---------------------------------------------------------------------------- */

/* Is a product of floats one of a matrix, dense along an axis, and a vector? */
bool burn__cuda_takes_vector(const CudaMatmul *p);
BurnStatus burn__cuda_vector_product(Cuda *cuda, BurnDType dtype, const CudaMatmul *p);
/* The sums of x, row-major floats, along an axis that has others behind it. */
BurnStatus burn__cuda_column_sums(Cuda *cuda, const BurnPrimitive *x, BurnPrimitive *out, const CudaAxis *axis);

/* -- cuda_linalg.c ---------------------------------------------------------------------------- */

/* Runs a product whose operands, result and strides are set; `dtype` is that of all. For convolutions. */
BurnStatus burn__cuda_product(Cuda *cuda, BurnDType dtype, const CudaMatmul *p);
/* out [.., m, n], row-major, = lhs [.., m, k] x rhs [.., k, n], with leading axes that broadcast, + bias [n], row-major
 * (NULL: none). All of one dtype, or i8 and out i32. */
BurnStatus burn__cuda_multiply(Cuda *cuda, BurnPrimitive *lhs, BurnPrimitive *rhs, const BurnPrimitive *bias,
                               BurnPrimitive *out);
/* x with its last two axes changed: a view. */
BurnStatus burn__cuda_transposed(Cuda *cuda, const BurnPrimitive *x, BurnPrimitive **out);

/* -- cuda_optimizer.c ------------------------------------------------------------------------- */

extern const BurnCallsInterface burn__cuda_calls_interface;

/* -- cuda_quantization.c ---------------------------------------------------------------------- */

/* The table's supports: for the ops that some calls of are decomposed. */
int32_t BURN_API_CALL burn__cuda_supports(void *self, const BurnOpCall *call, char *why, uint64_t why_bytes);

/* -- cuda_columns.c --------------------------------------------------------------------------- */

/* The three convolutions as products of matrices: p is as the kernels of kernels/conv.cu take it, `out` the result. */
BurnStatus burn__cuda_columns_forward(Cuda *cuda, BurnDType dtype, const CudaConv *p);
BurnStatus burn__cuda_columns_transposed(Cuda *cuda, BurnDType dtype, const CudaConv *p);
BurnStatus burn__cuda_columns_weight(Cuda *cuda, BurnDType dtype, const CudaConv *p, BurnPrimitive *gradient);
/* True if that is faster than the definition; `all_at_once`: for the weight's gradient, which needs room for all. */
bool burn__cuda_columns_pay(const CudaConv *p, bool all_at_once);
/* Adds a bias to each channel of x [batch, channels, places]. */
BurnStatus burn__cuda_add_bias(Cuda *cuda, BurnDType dtype, CudaAddress x, CudaAddress bias, int64_t batch,
                               int64_t channels, int64_t places);

/* -- cuda_attention.c ------------------------------------------------------------------------- */

/* A new tensor whose heads lie as those of `like` do: [batch, positions, heads, width] in memory where these come from
 * a product of all heads, so that the way back is a view. */
BurnStatus burn__cuda_new_heads(Cuda *cuda, const BurnTensorDesc *desc, const BurnPrimitive *like, BurnPrimitive **out);

/* -- cuda_row.c ------------------------------------------------------------------------------- */

/* How threads share rows of kernels/row.cu. */
typedef struct CudaRowShape {
  uint32_t threads, vectors; /* of a row; vectors of 16 bytes in the registers of a thread, 0: it is read again */
} CudaRowShape;
/* That of rows of `size` elements, with at most `most` numbers of a row in the registers of a thread (0: none). */
CudaRowShape burn__cuda_row_shape(BurnDType dtype, int64_t size, uint32_t most);
/* Starts a kernel that works on rows, `lines` of them, in the stream: `key` without its variant. */
BurnStatus burn__cuda_rows(Cuda *cuda, CudaKernelKey key, uint32_t kind, CudaRowShape shape, int64_t lines,
                           const CudaRows *p);
/* True if rows of `size` elements at this address are made of whole vectors. */
bool burn__cuda_is_whole(const BurnPrimitive *x, int64_t size);
/* What a float dtype is computed in: f64 or f32. */
BurnDType burn__cuda_wide_float(BurnDType dtype);

/* Inputs of a call in row-major order; those that are not there are NULL. Released by burn__cuda_drop_inputs, also
 * after a failure. */
BurnStatus burn__cuda_take_inputs(const CudaRun *run, BurnPrimitive **rows);
void burn__cuda_drop_inputs(const CudaRun *run, BurnPrimitive *const *rows);
/* The outputs of a call, new. */
BurnStatus burn__cuda_outputs(const CudaRun *run);

/* -- cuda_sort.c ------------------------------------------------------------------------------ */

/* The positions of the elements of each line in rising or falling order; equal ones keep theirs. x is row-major, `out`
 * of its shape. */
BurnStatus burn__cuda_argsort(Cuda *cuda, BurnPrimitive *x, const CudaAxis *axis, bool descending, BurnPrimitive *out);
/* The same, rising, for indices below `limit`: equal ones come one after the other. */
BurnStatus burn__cuda_sort_indices(Cuda *cuda, BurnPrimitive *x, const CudaAxis *axis, int64_t limit,
                                   BurnPrimitive *out);

/* -- cuda_elementwise.c ----------------------------------------------------------------------- */

/* Copies the elements of `from` to `to`, of the same shape, dtype and count, whatever their strides. */
BurnStatus burn__cuda_copy(Cuda *cuda, BurnPrimitive *to, BurnPrimitive *from);
/* x in another dtype, row-major. */
BurnStatus burn__cuda_cast(Cuda *cuda, BurnPrimitive *x, BurnDType dtype, BurnPrimitive **out);

/* A number as an integer of the dtype, or the nearest that it has; NaN is 0, for bool it is number != 0. */
int64_t burn__cuda_saturate(BurnDType dtype, const BurnAttr *number);
/* A number as kernels see it: as a float of the dtype, and saturated as an integer. */
CudaNumber burn__cuda_number(BurnDType dtype, const BurnAttr *number);
/* The numbers s and q of an op's expression: those of its attributes that it has. */
void burn__cuda_scalars(const Cuda *cuda, uint32_t op, BurnDType dtype, const BurnAttr *attrs, CudaNumber numbers[2]);

/* What an op of elementwise.def computes in f32 and in integers, NULL where it does not; `large`: f32 beyond 1e9, or
 * NULL. `power` is burn__cuda_power of the exponent for powf_scalar, else 0. */
typedef struct CudaExpression {
  const char *f32, *integers, *large;
} CudaExpression;
CudaExpression burn__cuda_expression(uint32_t op, uint32_t power);
/* The number of an exponent among those with an expression of their own, from 1 on. */
uint32_t burn__cuda_power(double exponent);

/* -- failures --------------------------------------------------------------------------------- */

#define CUDA_FAIL(cuda, CODE, ...) BURN_COMMON_FAIL((cuda)->host, CODE, (cuda)->name, __VA_ARGS__)

#endif
