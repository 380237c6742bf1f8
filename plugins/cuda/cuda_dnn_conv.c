/* cuda_dnn_conv.c - convolutions by cuDNN: an engine's plan, and a kernel of ours for the bias; or one of our own ways
 * (gpu_conv.c), where that is the fastest for the shape. */
#include "cuda_dnn.h"

#include <string.h>

_Static_assert(sizeof(DnnConv) <= DNN_KEY_BYTES, "a convolution does not fit into a key");

/* Their numbers are the same. */
_Static_assert((int)DNN_CONV_FORWARD == GPU_CONV_FORWARD && (int)DNN_CONV_PIXELS == GPU_CONV_TRANSPOSED &&
                   (int)DNN_CONV_WEIGHT == GPU_CONV_WEIGHT,
               "kinds of convolutions");

enum { AXES = 2, RANK = AXES + 2, ALIGNMENT = 16 };

/* True if cuDNN may be asked: a dtype and addresses that it can take. */
static bool takes(const GpuConv *p, BurnDType dtype) {
  const bool is_aligned = (p->out | p->x | p->weight) % ALIGNMENT == 0;
  return is_aligned && (dtype == BURN_DTYPE_F32 || dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16);
}

static int type_of(BurnDType dtype) {
  return dtype == BURN_DTYPE_F16 ? DNN_F16 : dtype == BURN_DTYPE_BF16 ? DNN_BF16 : DNN_F32;
}

/* Row-major [n, channels, y, x]. */
static void take_shape(int64_t shape[], int64_t strides[], int64_t n, int64_t channels, const int64_t planes[2]) {
  const int64_t sizes[RANK] = {n, channels, planes[0], planes[1]};
  int64_t stride = 1;
  for (int axis = RANK - 1; axis >= 0; axis--) {
    shape[axis] = sizes[axis];
    strides[axis] = stride;
    stride *= sizes[axis];
  }
}

/* Multiplications from which transforms pay; they add some last digits' error. */
static const int64_t LARGE = (int64_t)1 << 28;

static DnnExact exact_of(const GpuConv *p, BurnDType dtype, bool tf32) {
  const int64_t products = p->batch * p->out_channels * p->windows[0] * p->windows[1] * p->kernel[0] * p->kernel[1] *
                           (p->in_channels / p->groups);
  if (dtype != BURN_DTYPE_F32 || tf32) return DNN_ANY;
  return products >= LARGE ? DNN_TRANSFORMS : DNN_SUMS;
}

static DnnConv take_conv(const GpuConv *p, BurnDType dtype, int kind, bool tf32) {
  DnnConv conv = {.rank = RANK, .kind = kind, .type = type_of(dtype), .exact = (int32_t)exact_of(p, dtype, tf32)};
  take_shape(conv.pixels, conv.pixel_strides, p->batch, p->in_channels, p->in);
  take_shape(conv.windows, conv.window_strides, p->batch, p->out_channels, p->windows);
  take_shape(conv.weight, conv.weight_strides, p->out_channels, p->in_channels / p->groups, p->kernel);
  for (int axis = 0; axis < AXES; axis++) {
    conv.stride[axis] = p->stride[axis];
    conv.padding[axis] = p->padding[axis];
    conv.dilation[axis] = p->dilation[axis];
  }
  return conv;
}

static void build(DnnGraph *graph, const DnnKey *key) {
  DnnConv conv;
  memcpy(&conv, key->bytes, sizeof conv);
  burn__dnn_conv(graph, &conv);
}

/* Within the lock: what runs this convolution, whose `kind` is a DnnConvKind; NULL without memory. */
static DnnPlans *plans_of(Cuda *cuda, const GpuConv *p, BurnDType dtype, int kind) {
  const DnnConv conv = take_conv(p, dtype, kind, cuda->gpu.tf32);
  const DnnWish wish = {build, cuda->gpu.timing ? DNN_MOST_PLANS : 1, (DnnExact)conv.exact};
  DnnKey key;
  memset(&key, 0, sizeof key);
  memcpy(key.bytes, &conv, sizeof conv);
  return burn__dnn_plans(cuda, &key, &wish);
}

/* Within the lock: runs it, bias and all. */
static BurnStatus run_plan(Cuda *cuda, DnnPlans *plans, uint32_t plan, const GpuConv *p, BurnDType dtype) {
  static const int64_t ids[] = {DNN_ID_PIXELS, DNN_ID_WINDOWS, DNN_ID_WEIGHT};
  DnnConv conv;
  memcpy(&conv, plans->key.bytes, sizeof conv);
  const bool gives_pixels = conv.kind == DNN_CONV_PIXELS, gives_weight = conv.kind == DNN_CONV_WEIGHT;
  const CudaAddress pixels = gives_pixels ? p->out : p->x;
  const CudaAddress windows = gives_pixels ? p->x : gives_weight ? p->weight : p->out;
  const CudaAddress weight = gives_weight ? p->out : p->weight;
  void *const pointers[] = {(void *)(uintptr_t)pixels, (void *)(uintptr_t)windows, (void *)(uintptr_t)weight};
  if (!burn__dnn_run(cuda, plans, plan, DNN_CONV_TENSORS, ids, pointers))
    return CUDA_FAIL(cuda, INTERNAL, "cuDNN refuses a convolution that it has planned, with %lld bytes of workspace",
                     (long long)plans->workspace[plan]);
  if (!p->bias) return BURN_OK;
  if (gives_pixels)
    return burn__gpu_add_bias(&cuda->gpu, dtype, p->out, p->bias, p->batch, p->in_channels, p->in[0] * p->in[1]);
  return burn__gpu_add_bias(&cuda->gpu, dtype, p->out, p->bias, p->batch, p->out_channels,
                            p->windows[0] * p->windows[1]);
}

/* -- cuDNN's ways, then ours -------------------------------------------------------------------- */

/* What a choice by time calls again and again. */
typedef struct Ways {
  const GpuConvWork *work;
  DnnPlans *plans;
} Ways;

static BurnStatus go(void *context, uint32_t way) {
  const Ways *ways = context;
  const GpuConvWork *work = ways->work;
  if (way >= ways->plans->count) return work->way(work, way - ways->plans->count);
  return run_plan(cuda_of(work->run->gpu), ways->plans, way, work->p, work->run->out[0]->dtype);
}

/* The choice stays for later programs, so that these have the same bits. */
static void choose(Cuda *cuda, Ways *ways) {
  const uint32_t count = ways->plans->count + ways->work->way_count;
  if (!cuda->gpu.timing) ways->plans->way = ways->work->is_ours ? ways->plans->count : 0;
  if (!cuda->gpu.timing || burn__dnn_load_way(cuda, ways->plans, count)) return;
  ways->plans->way = burn__cuda_fastest(cuda, go, ways, count);
  burn__dnn_save_way(cuda, ways->plans, count);
}

BurnStatus burn__cuda_dnn_conv(Gpu *gpu, const GpuConvWork *work) {
  const BurnDType dtype = work->run->out[0]->dtype;
  Cuda *cuda = cuda_of(gpu);
  Ways ways = {work, NULL};
  if (!takes(work->p, dtype) || !burn__dnn_lock(cuda)) return work->way(work, 0);
  ways.plans = plans_of(cuda, work->p, dtype, (int)work->kind);
  if (ways.plans && ways.plans->way == UINT32_MAX) choose(cuda, &ways);
  BurnStatus status = ways.plans ? go(&ways, ways.plans->way) : work->way(work, 0);
  if (status != BURN_OK && ways.plans && ways.plans->way < ways.plans->count) {
    ways.plans->way = ways.plans->count; /* an engine that refuses is not asked again */
    status = work->way(work, 0);
  }
  burn__dnn_unlock(cuda);
  return status;
}
