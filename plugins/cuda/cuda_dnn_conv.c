/* cuda_dnn_conv.c - convolutions by cuDNN: an engine's plan, and a kernel of ours for the bias; the plan of an engine
 * for channels that come last, whose result stays so and which takes such inputs as they are; or one of our own ways
 * (gpu_conv.c), where that is the fastest for the shape and the order of the inputs. */
#include "cuda_dnn.h"

#include <string.h>

/* What plans are kept by: a convolution, and which of its inputs have their channels last. */
typedef struct Key {
  DnnConv conv;
  int64_t last;
} Key;
_Static_assert(sizeof(Key) <= DNN_KEY_BYTES, "a convolution does not fit into a key");

/* Their numbers are the same. */
_Static_assert((int)DNN_CONV_FORWARD == GPU_CONV_FORWARD && (int)DNN_CONV_PIXELS == GPU_CONV_TRANSPOSED &&
                   (int)DNN_CONV_WEIGHT == GPU_CONV_WEIGHT,
               "kinds of convolutions");

enum { MAX_AXES = DNN_MAX_RANK - 2, MAX_ENGINES = DNN_MAX_PLANS / 2 };
/* Numbers of the larger tensor from which another order is worth a try, by CudaChannelsLast. Below, what is read by
 * other ops is turned more often than convolutions gain: of a ResNet-18 a step of 16 images took 2.7 ms, not 1.9. */
static const int64_t least_last[] = {INT64_MAX, INT64_C(1) << 22, INT64_C(1) << 18};

static bool takes(BurnDType dtype) {
  return dtype == BURN_DTYPE_F32 || dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16;
}

static int type_of(BurnDType dtype) {
  return dtype == BURN_DTYPE_F16 ? DNN_F16 : dtype == BURN_DTYPE_BF16 ? DNN_BF16 : DNN_F32;
}

/* The places of pixels, windows or weights, and what goes through them: the depth of volumes, rows, columns. */
static uint32_t axes_of(const GpuConvWork *work, int64_t depth, const int64_t planes[2], int64_t out[MAX_AXES]) {
  uint32_t axes = 0;
  if (work->depth) out[axes++] = depth;
  for (int axis = 0; axis < 2; axis++) out[axes++] = planes[axis];
  return axes;
}

static int64_t places_of(const GpuConvWork *work, int64_t depth, const int64_t planes[2]) {
  return (work->depth ? depth : 1) * planes[0] * planes[1];
}

/* That of planes nobody reads. */
static GpuConvDepth depth_of(const GpuConvWork *work) {
  static const GpuConvDepth none = {0, 0, 0, 0, 0, 0};
  return work->depth ? *work->depth : none;
}

/* Row-major [n, channels, places]. */
static void take_shape(int64_t shape[], int64_t strides[], int64_t n, int64_t channels, const int64_t *places,
                       uint32_t axes) {
  int64_t stride = 1;
  shape[0] = n;
  shape[1] = channels;
  for (uint32_t axis = 0; axis < axes; axis++) shape[2 + axis] = places[axis];
  for (uint32_t axis = axes + 2; axis-- > 0; stride *= shape[axis]) strides[axis] = stride;
}

/* Multiplications from which transforms pay; they add some last digits' error. */
static const int64_t LARGE = (int64_t)1 << 28;

static DnnExact exact_of(const GpuConvWork *work, bool tf32) {
  const GpuConv *p = work->p;
  const GpuConvDepth depth = depth_of(work);
  const int64_t products = p->batch * p->out_channels * places_of(work, depth.windows, p->windows) *
                           places_of(work, depth.kernel, p->kernel) * (p->in_channels / p->groups);
  if (work->dtype != BURN_DTYPE_F32 || tf32) return DNN_ANY;
  return products >= LARGE ? DNN_TRANSFORMS : DNN_SUMS;
}

static DnnConv take_conv(const GpuConvWork *work, bool tf32) {
  const GpuConv *p = work->p;
  const GpuConvDepth depth = depth_of(work);
  DnnConv conv = {.kind = (int32_t)work->kind, .type = type_of(work->dtype), .exact = (int32_t)exact_of(work, tf32)};
  int64_t places[MAX_AXES];
  const uint32_t axes = axes_of(work, depth.in, p->in, places);
  conv.rank = (int32_t)axes + 2;
  take_shape(conv.pixels, conv.pixel_strides, p->batch, p->in_channels, places, axes);
  (void)axes_of(work, depth.windows, p->windows, places);
  take_shape(conv.windows, conv.window_strides, p->batch, p->out_channels, places, axes);
  (void)axes_of(work, depth.kernel, p->kernel, places);
  take_shape(conv.weight, conv.weight_strides, p->out_channels, p->in_channels / p->groups, places, axes);
  (void)axes_of(work, depth.stride, p->stride, conv.stride);
  (void)axes_of(work, depth.padding, p->padding, conv.padding);
  (void)axes_of(work, depth.dilation, p->dilation, conv.dilation);
  return conv;
}

static void build(DnnGraph *graph, const DnnKey *key) {
  DnnConv conv;
  memcpy(&conv, key->bytes, sizeof conv);
  burn__dnn_conv(graph, &conv);
}

static void build_channels_last(DnnGraph *graph, const DnnKey *key) {
  DnnConv conv;
  memcpy(&conv, key->bytes, sizeof conv);
  burn__dnn_put_channels_last(&conv);
  burn__dnn_conv(graph, &conv);
}

/* Tensor cores read channels of whole units; for a few numbers another order is work for nothing. */
static bool may_come_last(const Cuda *cuda, const GpuConvWork *work, DnnExact exact) {
  const GpuConv *p = work->p;
  const GpuConvDepth depth = depth_of(work);
  const int64_t most = p->in_channels > p->out_channels ? p->in_channels : p->out_channels;
  const int64_t unit = work->dtype == BURN_DTYPE_F32 ? 4 : 8;
  const bool is_whole = p->in_channels % unit == 0 && p->out_channels % unit == 0;
  return exact == DNN_ANY && p->groups == 1 && is_whole && places_of(work, depth.in, p->in) > 1 &&
         p->batch * most * places_of(work, depth.windows, p->windows) >= least_last[cuda->channels_last];
}

/* Bit i: input i has its channels last. Of a question without a call: none. */
static int64_t last_of(const GpuConvWork *work) {
  int64_t last = 0;
  for (int i = 0; i < 2 && work->run; i++) last |= (int64_t)burn__gpu_is_channels_last(work->run->call->inputs[i]) << i;
  return last;
}

/* Within the lock: what runs this convolution; NULL without memory. */
static DnnPlans *plans_of(Cuda *cuda, const GpuConvWork *work) {
  const DnnConv conv = take_conv(work, cuda->gpu.tf32);
  const bool is_chosen = cuda->gpu.timing, has_last = is_chosen && may_come_last(cuda, work, (DnnExact)conv.exact);
  const DnnWish wish = {build, is_chosen ? MAX_ENGINES : 1, (DnnExact)conv.exact,
                        has_last ? build_channels_last : NULL};
  DnnKey key;
  memset(&key, 0, sizeof key);
  const Key parts = {conv, has_last ? last_of(work) : 0};
  memcpy(key.bytes, &parts, sizeof parts);
  return burn__dnn_plans(cuda, &key, &wish);
}

/* -- runs ------------------------------------------------------------------------------------- */

/* The tensors of a convolution in the order of their ids. */
typedef struct Tensors {
  CudaAddress at[DNN_CONV_TENSORS];
} Tensors;

static Tensors tensors_of(const GpuConv *p, GpuConvKind kind) {
  switch (kind) {
    case GPU_CONV_FORWARD:
      return (Tensors){{p->x, p->out, p->weight}};
    case GPU_CONV_TRANSPOSED:
      return (Tensors){{p->out, p->x, p->weight}};
    default:
      return (Tensors){{p->x, p->weight, p->out}};
  }
}

static BurnStatus run_plan(Cuda *cuda, DnnPlans *plans, uint32_t plan, const Tensors *tensors) {
  static const int64_t ids[] = {DNN_ID_PIXELS, DNN_ID_WINDOWS, DNN_ID_WEIGHT};
  void *pointers[DNN_CONV_TENSORS];
  for (int i = 0; i < DNN_CONV_TENSORS; i++) pointers[i] = (void *)(uintptr_t)tensors->at[i];
  if (burn__dnn_run(cuda, plans, plan, DNN_CONV_TENSORS, ids, pointers)) return BURN_OK;
  return CUDA_FAIL(cuda, INTERNAL, "cuDNN refuses a convolution that it has planned, with %lld bytes of workspace",
                   (long long)plans->workspace[plan]);
}

static BurnStatus add_bias(Cuda *cuda, const GpuConvWork *work, const GpuConv *p, bool is_last) {
  const bool gives_pixels = work->kind == GPU_CONV_TRANSPOSED;
  const GpuConvDepth depth = depth_of(work);
  const int64_t places = gives_pixels ? places_of(work, depth.in, p->in) : places_of(work, depth.windows, p->windows);
  const int64_t channels = gives_pixels ? p->in_channels : p->out_channels;
  if (!p->bias) return BURN_OK;
  return is_last ? burn__gpu_add_bias(&cuda->gpu, work->dtype, p->out, p->bias, p->batch * places, channels, 1)
                 : burn__gpu_add_bias(&cuda->gpu, work->dtype, p->out, p->bias, p->batch, channels, places);
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
  Cuda *cuda = cuda_of(work->run->gpu);
  const bool is_last = way >= ways->plans->second;
  GpuConvTensors open;
  if (way >= ways->plans->count) return work->way(work, way - ways->plans->count);
  BurnStatus status = burn__gpu_conv_open(work, is_last, true, &open);
  if (status == BURN_OK) {
    const Tensors tensors = tensors_of(&open.p, work->kind);
    status = run_plan(cuda, ways->plans, way, &tensors);
  }
  if (status == BURN_OK) status = add_bias(cuda, work, &open.p, is_last);
  return burn__gpu_conv_close(work, &open, status);
}

/* The choice stays for later programs, so that these have the same bits. */
static BurnStatus choose(Cuda *cuda, Ways *ways) {
  const BurnStatus status = burn__gpu_refuse_recording(&cuda->gpu, "the first convolution of a shape");
  if (status != BURN_OK) return status;
  const uint32_t count = ways->plans->count + ways->work->way_count;
  if (!cuda->gpu.timing) ways->plans->way = ways->work->is_ours ? ways->plans->count : 0;
  if (!cuda->gpu.timing || burn__dnn_load_way(cuda, ways->plans, count)) return BURN_OK;
  ways->plans->way = burn__cuda_fastest(cuda, go, ways, count);
  burn__dnn_save_way(cuda, ways->plans, count);
  return BURN_OK;
}

/* An engine that refuses is not asked again: planes go by our best way, volumes, which have none, by another engine. */
static BurnStatus go_otherwise(Ways *ways) {
  DnnPlans *plans = ways->plans;
  const uint32_t refused = plans->way;
  plans->way = plans->count;
  for (uint32_t i = 0; ways->work->way_count == 0 && i < plans->count; i++) {
    if (i == refused || go(ways, i) != BURN_OK) continue;
    plans->way = i;
    return BURN_OK;
  }
  return ways->work->way(ways->work, 0);
}

BurnStatus burn__cuda_dnn_conv(Gpu *gpu, const GpuConvWork *work) {
  Cuda *cuda = cuda_of(gpu);
  Ways ways = {work, NULL};
  if (!takes(work->dtype) || !burn__dnn_lock(cuda)) return work->way(work, 0);
  ways.plans = plans_of(cuda, work);
  BurnStatus status = BURN_OK;
  if (ways.plans && ways.plans->way == UINT32_MAX) status = choose(cuda, &ways);
  if (status == BURN_OK) status = ways.plans ? go(&ways, ways.plans->way) : work->way(work, 0);
  const bool has_refused = status != BURN_OK && burn_status_code(status) != BURN_STATUS_OUT_OF_MEMORY;
  if (has_refused && ways.plans && ways.plans->way < ways.plans->count) status = go_otherwise(&ways);
  burn__dnn_unlock(cuda);
  return status;
}

bool burn__cuda_dnn_takes_volumes(Gpu *gpu, const GpuConvWork *work) {
  Cuda *cuda = cuda_of(gpu);
  if (!takes(work->dtype) || !burn__dnn_lock(cuda)) return false;
  const DnnPlans *plans = plans_of(cuda, work);
  const bool has_engine = plans && plans->count > 0 && plans->way != plans->count;
  burn__dnn_unlock(cuda);
  return has_engine;
}
