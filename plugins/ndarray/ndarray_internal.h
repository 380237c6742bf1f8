/* ndarray_internal.h - what the files of this backend share: tensors with strides over counted storage, the kernel
 * table, and helpers to make results. Everything is private to plugins/ndarray. */
#ifndef BURN_NDARRAY_INTERNAL_H
#define BURN_NDARRAY_INTERNAL_H

#include "support/ndarray_compiler.h"
#include "support/ndarray_numbers.h"

#include <burn/common/failure.h>
#include <burn/plugin/calls.h>
#include <burn/plugin/plugin.h>

#include <stdatomic.h>
#include <stdbool.h>

#define ND_DTYPE_COUNT 11 /* dtypes are numbered 1 .. 10 */

typedef struct NdPool NdPool; /* caching allocator, ndarray_memory_pool.c */

/* Kinds of storages: those that are not ordinary belong to a recording (replay/). */
enum { ND_STORAGE_ORDINARY = 0, ND_STORAGE_GHOST = 1, ND_STORAGE_STAND_IN = 2 };

/* Memory of one or more tensors. */
typedef struct NdStorage {
  atomic_uint references;
  uint32_t kind; /* ND_STORAGE_* */
  uint64_t bytes;
  void *data; /* 64-byte aligned, from the pool; somebody else's if there is a `foreign` */
  struct DLManagedTensorVersioned *foreign; /* whose memory it is: never written into, given back with the storage */
} NdStorage;

/* A primitive of this backend. header.shape and header.strides point at the arrays below. Strides count elements, may
 * be 0 (expanded axes) or negative (reversed slices). header.buffer is storage->data. */
typedef struct NdTensor {
  BurnPrimitive header;
  atomic_uint references;
  NdStorage *storage;
  int64_t shape[BURN_MAX_RANK];
  int64_t strides[BURN_MAX_RANK];
} NdTensor;

/* A kernel runs one op: inputs are NdTensor (cast with nd_tensor), results are stored in call->outputs with one
 * reference. output_descs tells their shapes and dtypes. f16, bf16, i8 and i16 reach only kernels that are known to
 * take them (ndarray_widen.c); the others get f32 and i32 in their place. */
typedef struct Ndarray Ndarray;
typedef BurnStatus (*NdKernel)(Ndarray *nd, const BurnOpCall *call);

/* What is done to parts of a product's result as soon as they are complete, while they are in a cache: `run` gets
 * `rows` rows of `columns` elements, `row` elements apart, of the result. Each element comes once, by any thread. */
typedef struct NdAfter {
  void (*run)(void *context, void *part, int64_t rows, int64_t columns, int64_t row);
  void *context;
} NdAfter;

/* Computes a product, f32 throughout, into `out`, a new tensor; `after` may be NULL. False when out of memory. */
typedef bool (*NdProductInto)(Ndarray *nd, const BurnOpCall *call, NdTensor *out, const NdAfter *after);
bool nd_matmul_into(Ndarray *nd, const BurnOpCall *call, NdTensor *out, const NdAfter *after); /* ndarray_linalg.c */
bool nd_linear_into(Ndarray *nd, const BurnOpCall *call, NdTensor *out, const NdAfter *after);
/* A product without anything after it, as a kernel. */
BurnStatus nd_run_product(Ndarray *nd, const BurnOpCall *call, NdProductInto product);

/* One opened device. */
struct Ndarray {
  const BurnHost *host;
  uint32_t owner;
  bool primitives_only; /* option primitives=true: composite ops are left to the host, to test the decompositions */
  NdPool *pool;
  uint64_t memory_limit; /* option memory_limit=: most bytes of the pool; 0 for none */
  bool uses_openblas;
  struct BurnCommonTuner *tuner;  /* burn/common/autotune.h; NULL: nothing is tuned */
  bool multiplies_bf16;           /* products of bf16 are not widened: ndarray_gemm_amx.h */
  uint32_t isa;                   /* NDARRAY_ISA_*: the widest instruction set that the CPU and the option isa= allow */
  struct NdKernels *elementwise;  /* ndarray_kernels.h */
  const struct NdInt8Loops *int8; /* products of i8: ndarray_int8.h */
  bool replays;                   /* option replay=true: "burn.replay" is offered */
  bool has_epilogues;             /* option epilogues=true: "burn.epilogue" is offered */
  struct {
    _Atomic uint64_t recordings, runs, patches;
  } replay;
  char name[64];
  NdKernel kernels[BURN_OP_LIMIT]; /* by op; NULL where the host is to decompose */
};

/* Numbered as the words of the option. NEON, on 64-bit ARM, is part of the baseline there: it adds products of i8. */
enum {
  NDARRAY_ISA_BASELINE = 0,
  NDARRAY_ISA_AVX2 = 1,
  NDARRAY_ISA_AVX512 = 2,
  NDARRAY_ISA_NEON = 3,
  NDARRAY_ISA_COUNT = 4
};

/* Each kernel file ends with its rows; ndarray_plugin.c puts them into one table by op number. The list ends with op 0.
 */
typedef struct NdKernelRow {
  uint32_t op;
  NdKernel run;
} NdKernelRow;
extern const NdKernelRow nd_create_kernels[]; /* ndarray_create.c: full, arange, random */
extern const NdKernelRow
    nd_elementwise_kernels[];                 /* ndarray_elementwise.c: unary, binary, scalar, compare, mask, cast */
extern const NdKernelRow nd_reduce_kernels[]; /* ndarray_reduce.c: reductions, arg */
extern const NdKernelRow nd_activation_kernels[]; /* ndarray_activation.c: softmax, log_softmax, their gradients */
extern const NdKernelRow nd_norm_kernels[];       /* ndarray_norm.c: layer and batch norm, their gradients */
extern const NdKernelRow nd_loss_kernels[];       /* ndarray_loss.c: cross_entropy, its gradient */
extern const NdKernelRow nd_linalg_kernels[];     /* ndarray_linalg.c */
extern const NdKernelRow nd_conv_kernels[];       /* ndarray_conv.c: convolutions */
extern const NdKernelRow nd_pooling_kernels[];    /* ndarray_pool.c: max, avg, adaptive */
extern const NdKernelRow nd_view_kernels[];       /* ndarray_view.c: reshape, permute, expand, slice */
extern const NdKernelRow nd_index_kernels[];      /* ndarray_index.c: select, gather, embedding, scatter */
extern const NdKernelRow nd_move_kernels[];       /* ndarray_move.c: slice_assign, cat, repeat_dim, triangles, unfold */
extern const NdKernelRow nd_scan_kernels[];       /* ndarray_scan.c: cumsum, cumprod, cummin, cummax */
extern const NdKernelRow nd_sort_kernels[];       /* ndarray_sort.c: argsort; ndarray_sort_range.c */
extern const NdKernelRow nd_optimizer_kernels[];  /* ndarray_optimizer.c: adam_step, sgd_step */
extern const BurnCallsInterface nd_calls_interface; /* there, too: those of many parameters */
extern const NdKernelRow nd_attention_kernels[];    /* ndarray_sequence_attention.c: with its gradient */
extern const NdKernelRow nd_lstm_kernels[];         /* ndarray_sequence_lstm.c: lstm and its gradient */

extern const NdKernelRow nd_quantization_kernels[]; /* ndarray_quantization.c: products, convolution, scaling of i8 */

/* The ops of nd_quantization_kernels, and which of their calls the kernels take; the others are decomposed. */
bool nd_is_quantized_op(uint32_t op);
bool nd_takes_quantized(const BurnOpCall *call);
/* nd->int8: the fastest loops that the processor has within nd->isa. Asked for once: a virtual machine takes longer to
 * say what it is than a small product. */
const struct NdInt8Loops *nd_int8_loops(const Ndarray *nd);

/* The tables of elementwise loops for nd->isa; NULL without memory. ndarray_elementwise.c */
struct NdKernels *nd_kernels_create(const Ndarray *nd);
void nd_kernels_destroy(const Ndarray *nd, struct NdKernels *kernels); /* NULL is allowed */

/* The kernel of a call, and whether it needs the call in wider dtypes; fails if the call is none of this backend.
 * ndarray_plugin.c */
BurnStatus nd_resolve_call(Ndarray *nd, const BurnOpCall *call, NdKernel *kernel, bool *widens);

/* -- tensors (ndarray_tensor.c) --------------------------------------------------------------- */

static inline NdTensor *nd_tensor(BurnPrimitive *x) { return (NdTensor *)(void *)x; }

/* Address of the first element. */
static inline void *nd_data(const NdTensor *x) { return (char *)x->storage->data + x->header.byte_offset; }

/* A new row-major tensor with undefined contents and one reference; NULL when out of memory. */
NdTensor *nd_new(Ndarray *nd, const BurnTensorDesc *desc);
/* A new tensor over the memory of a DLPack tensor, whose deleter is called with the last use of the storage; NULL when
 * out of memory. */
NdTensor *nd_new_foreign(Ndarray *nd, struct DLManagedTensorVersioned *foreign);
/* A new tensor over the storage of `base`: `offset` elements after its first element. NULL when out of memory. */
NdTensor *nd_view(Ndarray *nd, NdTensor *base, uint32_t rank, const int64_t *shape, const int64_t *strides,
                  int64_t offset);
void nd_retain(NdTensor *x);
/* The same for an input that may be overwritten: nobody else counts meanwhile. */
static inline void nd_retain_sole(NdTensor *x) { atomic_store_explicit(&x->references, 2, memory_order_relaxed); }
void nd_release(Ndarray *nd, NdTensor *x); /* NULL is allowed */

/* True if the elements lie in row-major order without gaps. */
bool nd_is_contiguous(const NdTensor *x);
/* x itself with one more reference if it is contiguous, else a packed copy; NULL when out of memory. */
NdTensor *nd_contiguous(Ndarray *nd, NdTensor *x);
/* The same without a reference where it is x itself, for the time of a call; end it with nd_unpack. */
static inline NdTensor *nd_packed(Ndarray *nd, NdTensor *x) { return nd_is_contiguous(x) ? x : nd_contiguous(nd, x); }
static inline void nd_unpack(Ndarray *nd, const BurnPrimitive *x, NdTensor *packed) {
  if (packed && &packed->header != x) nd_release(nd, packed);
}
/* Copies the elements of x in row-major order to `out`, which has room for them. Parallel for large x. */
void nd_pack(Ndarray *nd, const NdTensor *x, void *out);

/* A tensor to hold the result `output` of an elementwise call: an input that is donated, unshared, contiguous and of
 * the same shape and element size (with one more reference), else a new tensor. NULL when out of memory. A kernel may
 * read element i of that input up to the moment it writes element i. */
NdTensor *nd_output(Ndarray *nd, const BurnOpCall *call, uint32_t output);
/* True if input `i` of the call may be overwritten: donated, and nobody else holds it or its storage. */
bool nd_may_overwrite(const BurnOpCall *call, uint32_t i);

/* host->parallel_for, but a loop of one chunk runs right here. */
static inline void nd_parallel_for(const Ndarray *nd, int64_t count, int64_t grain, BurnLoopBody body, void *context) {
  if (count <= grain) {
    if (count > 0) body(context, 0, count);
    return;
  }
  nd->host->parallel_for(count, grain, body, context);
}

/* The same with subnormal numbers read and written as 0 while the body runs, whatever the size of the loop: for sums of
 * products and for decaying moments, which subnormals slow down tens of times. Elementwise ops keep them.
 * ndarray_parallel.c */
void nd_parallel_for_flushed(const Ndarray *nd, int64_t count, int64_t grain, BurnLoopBody body, void *context);
/* What comes after a product, within such a loop: element-wise, so it keeps subnormal numbers. */
void nd_run_after(const NdAfter *after, void *part, int64_t rows, int64_t columns, int64_t row);

/* Stores a finished result; NULL becomes the out-of-memory status that is returned. */
BurnStatus nd_finish(Ndarray *nd, const BurnOpCall *call, NdTensor *result);

/* -- narrow dtypes (ndarray_widen.c) ---------------------------------------------------------- */

/* True if the kernel of a call that has narrow inputs or results does not take them. */
bool nd_needs_widening(const Ndarray *nd, const BurnOpCall *call);
/* x in another dtype, in *out; with `donate` its memory may be used. */
BurnStatus nd_cast(Ndarray *nd, NdTensor *x, BurnDType dtype, bool donate, NdTensor **out);
/* Runs such a call in f32 and i32. */
BurnStatus nd_run_widened(Ndarray *nd, NdKernel kernel, const BurnOpCall *call);

/* -- failures --------------------------------------------------------------------------------- */

/* A failed status with a printf-style message; says the caller's file and line. */
#define nd_fail(nd, code, ...) burn_common_fail((nd)->host, code, __FILE__, __LINE__, NULL, __VA_ARGS__)
BurnStatus nd_out_of_memory(Ndarray *nd, const BurnOpCall *call); /* with the op's name and the size asked for */
/* "... bytes in use", and of which limit, for such messages. */
void nd_describe_memory(Ndarray *nd, char *text, size_t size);

/* -- pool (ndarray_memory_pool.c): freed blocks are kept by size class ------------------------------- */

/* What the pool holds: tensors, the bytes of their storages, the most of those so far, and all bytes in use and cached.
 */
typedef struct NdPoolTensors {
  uint64_t count, bytes, peak, reserved;
} NdPoolTensors;

/* `limit` bounds what is in use and cached together; 0 for no limit. */
NdPool *nd_pool_create(const BurnHost *host, uint64_t limit);
void nd_pool_destroy(NdPool *pool);
void *nd_pool_allocate(NdPool *pool, uint64_t bytes); /* 64-byte aligned; NULL when out of memory even after a trim */
void nd_pool_free(NdPool *pool, void *memory, uint64_t bytes);
/* Makes sure that `count` blocks of this size can be had from the cache: for scratch of loop bodies, so that how many
 * blocks there are does not depend on how many threads happened to meet. Without memory it does less. */
void nd_pool_reserve(NdPool *pool, uint64_t bytes, uint32_t count);
void nd_pool_trim(NdPool *pool);
NdPoolTensors nd_pool_tensors(NdPool *pool);
/* The same for the record of a tensor, which is counted with the bytes of its storage (a view's count as 0) under the
 * same lock; and a tensor less whose record stays, because others share the storage. */
void *nd_pool_allocate_tensor(NdPool *pool, uint64_t bytes, uint64_t tensor_bytes);
void nd_pool_free_tensor(NdPool *pool, void *memory, uint64_t bytes, uint64_t tensors, uint64_t tensor_bytes);
void nd_pool_forget_tensor(NdPool *pool);

/* -- gemm (ndarray_gemm.c) -------------------------------------------------------------------- */

/* Chooses the product: our own, or OpenBLAS (with one thread: we split the work); fails if that is absent. */
BurnStatus nd_gemm_open(Ndarray *nd, bool openblas);

#endif
