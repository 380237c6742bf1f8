/* cuda_dnn.h - cuDNN through its graph interface: descriptors, the graphs that are used, plans that run them. */
#ifndef BURN_CUDA_DNN_H
#define BURN_CUDA_DNN_H

#include "cuda_internal.h"

/* -- cuda_dnn_graph.c: descriptors; needs the library and no device ---------------------------- */

/* Values of cudnn_graph.h. */
typedef enum DnnType { DNN_F32 = 0, DNN_F16 = 2, DNN_I32 = 4, DNN_BF16 = 9, DNN_BOOL = 11 } DnnType;

enum { DNN_MAX_DESCRIPTORS = 768, DNN_MAX_OPERATIONS = 32, DNN_MAX_RANK = 5 };

/* Descriptors under construction. The first failure stays, with its words; everything after it does nothing. */
typedef struct DnnGraph {
  const CudaDnnLibrary *library;
  void *made[DNN_MAX_DESCRIPTORS], *operations[DNN_MAX_OPERATIONS];
  uint32_t made_count, operation_count;
  int64_t last_virtual; /* the id of the last tensor that is nowhere in memory */
  int error;
  char problem[240];
} DnnGraph;

void burn__dnn_graph_begin(DnnGraph *graph, const CudaDnnLibrary *library);
/* Destroys what was made. */
void burn__dnn_graph_end(DnnGraph *graph);

/* A descriptor of the graph; NULL after a failure. The enums are those of cudnn_graph.h, as ints. */
void *burn__dnn_make(DnnGraph *graph, int type);
void burn__dnn_set(DnnGraph *graph, void *descriptor, int attribute, int type, int64_t count, const void *value);
void burn__dnn_finalize(DnnGraph *graph, void *descriptor, const char *what);

/* How far engines may go from the sum of products that an op is: not at all, by transforms (Winograd, FFT) in the
 * dtype's arithmetic, or by that of tensor cores. */
typedef enum DnnExact { DNN_ANY, DNN_TRANSFORMS, DNN_SUMS } DnnExact;

/* A convolution of `rank` axes, with those of batch and channels. Strides are in elements. */
typedef enum DnnConvKind { DNN_CONV_FORWARD, DNN_CONV_PIXELS, DNN_CONV_WEIGHT } DnnConvKind;
typedef struct DnnConv {
  int64_t pixels[DNN_MAX_RANK], pixel_strides[DNN_MAX_RANK];
  int64_t windows[DNN_MAX_RANK], window_strides[DNN_MAX_RANK];
  int64_t weight[DNN_MAX_RANK], weight_strides[DNN_MAX_RANK];
  int64_t stride[DNN_MAX_RANK - 2], padding[DNN_MAX_RANK - 2], dilation[DNN_MAX_RANK - 2];
  int32_t rank, kind, type, exact; /* exact: a DnnExact */
} DnnConv;
enum { DNN_ID_PIXELS = 1, DNN_ID_WINDOWS, DNN_ID_WEIGHT, DNN_CONV_TENSORS = 3 };

/* The strides of the same tensors with their channels as the last axis in memory. */
void burn__dnn_put_channels_last(DnnConv *conv);
/* Forward, or the gradient of the pixels or of the weight. */
void burn__dnn_conv(DnnGraph *graph, const DnnConv *conv);

/* Attention over [n, heads, length, width] of halves. */
typedef struct DnnAttention {
  int64_t n, heads, length, width;
  int64_t query[4], key[4], value[4], out[4], grad[4]; /* strides; grad is for the gradients alone */
  int64_t query_grad[4], key_grad[4], value_grad[4];
  int32_t type, is_causal;
} DnnAttention;

/* What the two graphs bind: X(NAME). The numbers are ids; scale, hidden and one are f32 of the host. */
#define DNN_ATTENTION_TENSORS(X) \
  X(QUERY)                       \
  X(KEY)                         \
  X(VALUE)                       \
  X(OUT)                         \
  X(STATISTICS)                  \
  X(SCALE)                       \
  X(HIDDEN)                      \
  X(ONE)                         \
  X(GRAD)                        \
  X(QUERY_GRAD)                  \
  X(KEY_GRAD)                    \
  X(VALUE_GRAD)                  \
  X(HITS)
#define DNN_ATTENTION_NUMBER(NAME) DNN_##NAME,
enum { DNN_NOTHING, DNN_ATTENTION_TENSORS(DNN_ATTENTION_NUMBER) DNN_ATTENTION_END };

/* out, and statistics: the logarithm of the sum of exponentials of each row, [n, heads, length, 1] in f32. */
void burn__dnn_attention(DnnGraph *graph, const DnnAttention *a);
/* The gradients from both; hits is memory like statistics. Of the same bits every time: the sums of the gradient of the
 * queries have no atomics where no accumulator is offered for them. */
void burn__dnn_attention_backward(DnnGraph *graph, const DnnAttention *a);

/* -- cuda_dnn.c: plans of graphs, by key, for an instance --------------------------------------- */

enum { DNN_MAX_PLANS = 24, DNN_MAX_BOUND = 16, DNN_KEY_BYTES = 400 };

/* What a graph is made of; equal bytes make equal graphs. */
typedef struct DnnKey {
  int64_t what;     /* 0: a convolution, 1: attention, 2: its gradients */
  float numbers[4]; /* what the graph takes from the host */
  unsigned char bytes[DNN_KEY_BYTES];
} DnnKey;

/* The engines that run a graph, the one that cuDNN recommends first; all are of the same bits every time. A graph may
 * have a second form, whose tensors lie in another way: its plans come after those of the first. */
typedef struct DnnPlans {
  DnnKey key;
  DnnGraph graph;
  void *plans[DNN_MAX_PLANS];
  int64_t workspace[DNN_MAX_PLANS];
  uint32_t count, second; /* second: the first plan of the second form, or the count */
  uint32_t way;           /* what its user has chosen; UINT32_MAX: nothing yet */
  void *packs[DNN_MAX_PLANS], *bound[DNN_MAX_PLANS][DNN_MAX_BOUND]; /* the last pointers of each plan */
} DnnPlans;

/* What to look for among the engines. */
typedef struct DnnWish {
  void (*build)(DnnGraph *graph, const DnnKey *key);
  uint32_t most; /* plans of a form */
  DnnExact exact;
  void (*build_second)(DnnGraph *graph, const DnnKey *key); /* the graph's other form; NULL: there is none */
} DnnWish;

/* Locks cuDNN for the calling thread; false, without a lock, where it is not there. */
bool burn__dnn_lock(Cuda *cuda);
void burn__dnn_unlock(Cuda *cuda);
size_t burn__dnn_version(const Cuda *cuda);

/* Within the lock: the plans of a key, made at the first call, perhaps none; NULL without memory, or while work is
 * recorded and there are none yet. They stay until the lock is given back. */
DnnPlans *burn__dnn_plans(Cuda *cuda, const DnnKey *key, const DnnWish *wish);
/* Within the lock: the way, below `count`, that an earlier program has chosen on such a device; false if none has. */
bool burn__dnn_load_way(Cuda *cuda, DnnPlans *plans, uint32_t count);
/* Keeps plans->way, one of `count`, for later programs. */
void burn__dnn_save_way(Cuda *cuda, const DnnPlans *plans, uint32_t count);
/* Within the lock: runs a plan in the stream, with what its graph binds. False where cuDNN refuses. */
bool burn__dnn_run(Cuda *cuda, DnnPlans *plans, uint32_t plan, uint32_t count, const int64_t *ids,
                   void *const *pointers);

#endif
