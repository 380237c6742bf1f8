/* gpu_conv.c - convolutions, their gradients: all three are one geometry, that of a conv2d. Each runs by the way that
 * is the fastest for its shape: an algorithm of the maker's library, a product of matrices (gpu_columns.c), the
 * definition. */
#include "gpu.h"

/* Variants of kernels/conv.cu; the first are those of GpuConvKind. */
enum { FORWARD = GPU_CONV_FORWARD, TRANSPOSED = GPU_CONV_TRANSPOSED, WEIGHT = GPU_CONV_WEIGHT, PARTS, WIDE };
enum { THREADS = 256 };
enum { CHANNELS = 8, TAPS = 9, LEAST_PART = 1024, BLOCKS = 512, MOST_PARTS = 64 };

/* Where row-major inputs lie; absent ones are NULL. */
typedef struct Inputs {
  BurnPrimitive *rows[3];
} Inputs;

static BurnStatus take_inputs(const GpuRun *run, Inputs *inputs) {
  BurnStatus status = BURN_OK;
  for (uint32_t i = 0; i < run->call->input_count && status == BURN_OK; i++)
    if (run->call->inputs[i]) status = burn__gpu_row_major(run->gpu, run->call->inputs[i], &inputs->rows[i]);
  return status;
}

static void release_inputs(Gpu *gpu, const Inputs *inputs) {
  for (uint32_t i = 0; i < 3; i++) burn__gpu_release(gpu, inputs->rows[i]);
}

static void take_pairs(GpuConv *p, const int64_t *stride, const int64_t *padding, const int64_t *dilation) {
  for (int axis = 0; axis < 2; axis++) {
    p->stride[axis] = stride[axis];
    p->padding[axis] = padding[axis];
    p->dilation[axis] = dilation[axis];
  }
}

/* The conv2d that has these pixels, windows and weights. */
static void take_shapes(GpuConv *p, const int64_t *pixels, const int64_t *windows, const int64_t *weight) {
  p->batch = pixels[0];
  p->in_channels = pixels[1];
  p->out_channels = windows[1];
  for (int axis = 0; axis < 2; axis++) {
    p->in[axis] = pixels[2 + axis];
    p->windows[axis] = windows[2 + axis];
    p->kernel[axis] = weight[2 + axis];
  }
}

/* True if 32 bits do not count what a kernel goes through. */
static bool is_wide(const GpuConv *p) {
  const int64_t pixels = p->batch * p->in_channels * p->in[0] * p->in[1];
  const int64_t windows = p->batch * p->out_channels * p->windows[0] * p->windows[1];
  return (pixels > windows ? pixels : windows) > INT32_MAX / 4;
}

static int64_t rounded_up(int64_t count, int64_t unit) { return (count + unit - 1) / unit; }

static BurnStatus start_variant(const GpuRun *run, const GpuConv *p, uint32_t variant, int64_t groups) {
  const BurnDType dtype = run->call->inputs[0]->dtype;
  const GpuKernelKey key = {.text = GPU_TEXT_CONV,
                            .out = run->out[0]->dtype,
                            .in = {dtype, dtype, dtype},
                            .variant = variant + (is_wide(p) ? WIDE : 0)};
  GpuFunction *function = NULL;
  const BurnStatus status = burn__gpu_kernel(run->gpu, &key, NULL, &function);
  return status == BURN_OK ? burn__gpu_launch(run->gpu, function, (uint64_t)groups, THREADS, p, sizeof *p) : status;
}

/* Where weights are few, parts of the places give the device enough to do; how many, the shape decides alone. */
static BurnStatus weight_by_definition(const GpuRun *run, GpuConv p) {
  const BurnDType wide = run->out[0]->dtype == BURN_DTYPE_F64 ? BURN_DTYPE_F64 : BURN_DTYPE_F32;
  const int64_t pairs = p.out_channels * (p.in_channels / p.groups), taps = p.kernel[0] * p.kernel[1];
  const int64_t blocks = pairs * rounded_up(taps, TAPS), places = p.batch * p.windows[0] * p.windows[1];
  int64_t parts = blocks >= BLOCKS ? 1 : rounded_up(BLOCKS, blocks);
  if (parts > MOST_PARTS) parts = MOST_PARTS;
  p.part_size = rounded_up(places, parts) < LEAST_PART ? LEAST_PART : rounded_up(places, parts);
  p.parts = places == 0 ? 1 : rounded_up(places, p.part_size);
  if (p.parts == 1) return start_variant(run, &p, WEIGHT, blocks);
  const BurnTensorDesc desc = {.dtype = wide, .rank = 2, .shape = {p.parts, pairs * taps}};
  BurnPrimitive *sums = NULL;
  BurnStatus status = burn__gpu_new(run->gpu, &desc, &sums);
  if (status != BURN_OK) return status;
  p.bias = gpu_address(sums);
  status = start_variant(run, &p, WEIGHT, blocks * p.parts);
  if (status == BURN_OK) status = start_variant(run, &p, PARTS, rounded_up(pairs * taps, THREADS));
  burn__gpu_release(run->gpu, sums);
  return status;
}

static BurnStatus by_definition(const GpuRun *run, const GpuConv *p) {
  const bool is_forward = run->row->detail == FORWARD;
  const int64_t *planes = is_forward ? p->windows : p->in;
  const int64_t channels = (is_forward ? p->out_channels : p->in_channels) / p->groups;
  if (run->row->detail == WEIGHT) return weight_by_definition(run, *p);
  const int64_t blocks = rounded_up(p->batch * planes[0] * planes[1], THREADS);
  return start_variant(run, p, (uint32_t)run->row->detail, blocks * p->groups * rounded_up(channels, CHANNELS));
}

static BurnStatus by_columns(const GpuRun *run, const GpuConv *p, BurnPrimitive *const *inputs) {
  const BurnDType dtype = run->out[0]->dtype;
  switch (run->row->detail) {
    case FORWARD:
      return burn__gpu_columns_forward(run->gpu, dtype, p);
    case TRANSPOSED:
      return burn__gpu_columns_transposed(run->gpu, dtype, p);
    default:
      return burn__gpu_columns_weight(run->gpu, dtype, p, inputs[1]);
  }
}

static int64_t products_of(const GpuConv *p) {
  return p->batch * p->out_channels * p->windows[0] * p->windows[1] * p->kernel[0] * p->kernel[1] *
         (p->in_channels / p->groups);
}

/* -- the ways ---------------------------------------------------------------------------------- */

typedef enum Way { SMALL, COLUMNS, DEFINITION } Way;
enum { MOST_WAYS = 3 };

/* Multiplications of a convolution that the definition may try: some milliseconds at worst. */
static const int64_t FEW_PRODUCTS = (int64_t)1 << 31;
/* Channels of a group up to which kernels of ours are a better guess than a library's engines. */
static const int64_t FEW_CHANNELS = 16;

/* The best by what is known of shapes comes first. */
static uint32_t list_ways(const GpuRun *run, const GpuConv *p, GpuConvKind kind, Way ways[MOST_WAYS]) {
  uint32_t count = 0;
  if (!is_wide(p) && burn__gpu_small_conv_pays(run->gpu, run->out[0]->dtype, p)) ways[count++] = SMALL;
  if (burn__gpu_columns_pay(run->gpu, p, kind == GPU_CONV_WEIGHT)) ways[count++] = COLUMNS;
  if (count == 0 || products_of(p) <= FEW_PRODUCTS) ways[count++] = DEFINITION;
  return count;
}

static BurnStatus go(const GpuConvWork *work, uint32_t number) {
  Way ways[MOST_WAYS];
  (void)list_ways(work->run, work->p, work->kind, ways);
  if (ways[number] == SMALL) return burn__gpu_small_conv(work->run, work->p, work->kind);
  return ways[number] == COLUMNS ? by_columns(work->run, work->p, work->inputs) : by_definition(work->run, work->p);
}

static BurnStatus compute(const GpuRun *run, const GpuConv *p, const Inputs *inputs) {
  const GpuLibraries *libraries = run->gpu->libraries;
  const GpuConvKind kind = (GpuConvKind)run->row->detail;
  Way ways[MOST_WAYS];
  const uint32_t count = list_ways(run, p, kind, ways);
  const bool few = p->in_channels / p->groups <= FEW_CHANNELS && p->out_channels / p->groups <= FEW_CHANNELS;
  const GpuConvWork work = {run, p, kind, inputs->rows, go, count, ways[0] == SMALL && few};
  return libraries && libraries->conv ? libraries->conv(run->gpu, &work) : go(&work, 0);
}

static BurnStatus start(const GpuRun *run, GpuConv *p) {
  Inputs inputs = {{NULL, NULL, NULL}};
  if (burn_primitive_count(run->out[0]) == 0) return BURN_OK;
  BurnStatus status = take_inputs(run, &inputs);
  if (status == BURN_OK) {
    p->out = gpu_address(run->out[0]);
    p->x = gpu_address(inputs.rows[0]);
    p->weight = gpu_address(inputs.rows[1]);
    p->bias = inputs.rows[2] ? gpu_address(inputs.rows[2]) : 0;
    status = compute(run, p, &inputs);
  }
  release_inputs(run->gpu, &inputs);
  return status;
}

static BurnStatus conv2d(const GpuRun *run) {
  const BurnAttrs_conv2d *attrs = BURN_ATTRS(conv2d, run->call);
  BurnPrimitive *const *in = run->call->inputs;
  GpuConv p = {.groups = attrs->groups.value.i64};
  const BurnStatus status = burn__gpu_output(run, 0);
  if (status != BURN_OK) return status;
  take_pairs(&p, attrs->stride.value.i64s, attrs->padding.value.i64s, attrs->dilation.value.i64s);
  take_shapes(&p, in[0]->shape, run->out[0]->shape, in[1]->shape);
  return start(run, &p);
}

/* Its x are windows, its result pixels. */
static BurnStatus conv_transpose2d(const GpuRun *run) {
  const BurnAttrs_conv_transpose2d *attrs = BURN_ATTRS(conv_transpose2d, run->call);
  BurnPrimitive *const *in = run->call->inputs;
  GpuConv p = {.groups = attrs->groups.value.i64};
  const BurnStatus status = burn__gpu_output(run, 0);
  if (status != BURN_OK) return status;
  take_pairs(&p, attrs->stride.value.i64s, attrs->padding.value.i64s, attrs->dilation.value.i64s);
  take_shapes(&p, run->out[0]->shape, in[0]->shape, in[1]->shape);
  return start(run, &p);
}

/* The gradient takes the place of the weight among the inputs. */
static BurnStatus conv2d_weight_backward(const GpuRun *run) {
  const BurnAttrs_conv2d_weight_backward *attrs = BURN_ATTRS(conv2d_weight_backward, run->call);
  BurnPrimitive *const *in = run->call->inputs;
  GpuConv p = {.groups = attrs->groups.value.i64};
  const BurnStatus status = burn__gpu_output(run, 0);
  if (status != BURN_OK) return status;
  take_pairs(&p, attrs->stride.value.i64s, attrs->padding.value.i64s, attrs->dilation.value.i64s);
  take_shapes(&p, in[0]->shape, in[1]->shape, run->out[0]->shape);
  return start(run, &p);
}

const GpuRow burn__gpu_conv_rows[] = {{BURN_OP_conv2d, conv2d, FORWARD},
                                      {BURN_OP_conv_transpose2d, conv_transpose2d, TRANSPOSED},
                                      {BURN_OP_conv2d_weight_backward, conv2d_weight_backward, WEIGHT},
                                      {0, NULL, 0}};
