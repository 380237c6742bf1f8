/* gpu_conv.c - convolutions, their gradients: all three are one geometry, that of a conv2d or conv3d. Each of planes
 * runs by the way that is the fastest for its shape: an algorithm of the maker's library, a product of matrices
 * (gpu_columns.c), the definition. Those of volumes run by the library, or are decomposed. */
#include "gpu.h"

/* Variants of kernels/conv.cu; the first are those of GpuConvKind. */
enum { FORWARD = GPU_CONV_FORWARD, TRANSPOSED = GPU_CONV_TRANSPOSED, WEIGHT = GPU_CONV_WEIGHT, PARTS, WIDE };
enum { THREADS = 256 };
enum { CHANNELS = 8, TAPS = 9, MIN_PART = 1024, BLOCKS = 512, MAX_PARTS = 64 };

/* -- the tensors of a way ------------------------------------------------------------------------ */

enum { ALIGNMENT = 16 }; /* of what libraries take */

/* An input as a way wants it: x itself with one reference more, or a copy. */
static BurnStatus take_input(Gpu *gpu, BurnPrimitive *x, bool is_last, bool is_aligned, BurnPrimitive **out) {
  BurnPrimitive *odd = NULL;
  BurnStatus status = is_last ? burn__gpu_channels_last(gpu, x, out) : burn__gpu_row_major(gpu, x, out);
  if (status != BURN_OK || !is_aligned || gpu_address(*out) % ALIGNMENT == 0) return status;
  const BurnTensorDesc desc = burn_primitive_desc(x);
  odd = *out;
  *out = NULL;
  status = is_last ? burn__gpu_new_channels_last(gpu, &desc, out) : burn__gpu_new(gpu, &desc, out);
  if (status == BURN_OK) status = burn__gpu_copy(gpu, *out, odd);
  burn__gpu_release(gpu, odd);
  return status;
}

/* The result of the call in the order of the way, as nobody has seen it yet; a weight's gradient stays row-major. */
static BurnStatus take_result(const GpuConvWork *work, bool is_last, BurnPrimitive **out) {
  const GpuRun *run = work->run;
  const BurnTensorDesc *desc = &run->call->output_descs[0];
  const bool is_turned = is_last && burn__gpu_has_two_orders(desc->shape, desc->rank);
  const bool is_weight = work->kind == GPU_CONV_WEIGHT, stays = is_turned && !is_weight;
  BurnStatus status = BURN_OK;
  if (!run->out[0] || burn__gpu_is_channels_last(run->out[0]) != stays) {
    burn__gpu_release(run->gpu, run->out[0]);
    run->out[0] = NULL;
    status = stays ? burn__gpu_new_channels_last(run->gpu, desc, &run->out[0]) : burn__gpu_output(run, 0);
  }
  if (status != BURN_OK) return status;
  if (is_turned && is_weight) return burn__gpu_new_channels_last(run->gpu, desc, out);
  burn__gpu_retain(run->out[0]);
  *out = run->out[0];
  return BURN_OK;
}

BurnStatus burn__gpu_conv_open(const GpuConvWork *work, bool is_last, bool is_aligned, GpuConvTensors *tensors) {
  const GpuRun *run = work->run;
  *tensors = (GpuConvTensors){.p = *work->p};
  BurnStatus status = take_result(work, is_last, &tensors->result);
  for (uint32_t i = 0; i < run->call->input_count && status == BURN_OK; i++)
    if (run->call->inputs[i])
      status = take_input(run->gpu, run->call->inputs[i], is_last && i < 2, is_aligned, &tensors->inputs[i]);
  if (status != BURN_OK) return status;
  tensors->p.out = gpu_address(tensors->result);
  tensors->p.x = gpu_address(tensors->inputs[0]);
  tensors->p.weight = gpu_address(tensors->inputs[1]);
  tensors->p.bias = tensors->inputs[2] ? gpu_address(tensors->inputs[2]) : 0;
  return BURN_OK;
}

BurnStatus burn__gpu_conv_close(const GpuConvWork *work, GpuConvTensors *tensors, BurnStatus status) {
  const GpuRun *run = work->run;
  if (status == BURN_OK && tensors->result != run->out[0])
    status = burn__gpu_copy_channels(run->gpu, run->out[0], tensors->result);
  for (uint32_t i = 0; i < 3; i++) burn__gpu_release(run->gpu, tensors->inputs[i]);
  burn__gpu_release(run->gpu, tensors->result);
  return status;
}

/* -- what a call is ------------------------------------------------------------------------------ */

/* A call; depth is there for volumes, which have three axes. */
typedef struct Conv {
  GpuConv p;
  GpuConvDepth depth;
  uint32_t axes;
} Conv;

static void take_window(Conv *c, const BurnAttr *stride, const BurnAttr *padding, const BurnAttr *dilation) {
  const uint32_t first = c->axes - 2;
  for (uint32_t axis = 0; axis < 2; axis++) {
    c->p.stride[axis] = stride->value.i64s[first + axis];
    c->p.padding[axis] = padding->value.i64s[first + axis];
    c->p.dilation[axis] = dilation->value.i64s[first + axis];
  }
  c->depth.stride = stride->value.i64s[0];
  c->depth.padding = padding->value.i64s[0];
  c->depth.dilation = dilation->value.i64s[0];
}

/* The convolution that has these pixels, windows and weights. */
static void take_shapes(Conv *c, const int64_t *pixels, const int64_t *windows, const int64_t *weight) {
  const uint32_t first = c->axes;
  c->p.batch = pixels[0];
  c->p.in_channels = pixels[1];
  c->p.out_channels = windows[1];
  for (uint32_t axis = 0; axis < 2; axis++) {
    c->p.in[axis] = pixels[first + axis];
    c->p.windows[axis] = windows[first + axis];
    c->p.kernel[axis] = weight[first + axis];
  }
  c->depth.in = pixels[2];
  c->depth.windows = windows[2];
  c->depth.kernel = weight[2];
}

/* Attributes of planes and volumes are the same. The x of a transposed convolution are windows, its result pixels; in
 * the gradient of the weight the gradient takes the place of the weight among the inputs. */
static Conv conv_of(const BurnOpCall *call, GpuConvKind kind) {
  const int64_t *first = call->inputs[0]->shape, *second = call->inputs[1]->shape, *out = call->output_descs->shape;
  const BurnAttrs_conv2d *forward = BURN_ATTRS(conv2d, call);
  const BurnAttrs_conv_transpose2d *transposed = BURN_ATTRS(conv_transpose2d, call);
  const BurnAttrs_conv2d_weight_backward *weight = BURN_ATTRS(conv2d_weight_backward, call);
  Conv c = {.axes = call->inputs[0]->rank - 2};
  switch (kind) {
    case GPU_CONV_FORWARD:
      c.p.groups = forward->groups.value.i64;
      take_window(&c, &forward->stride, &forward->padding, &forward->dilation);
      take_shapes(&c, first, out, second);
      return c;
    case GPU_CONV_TRANSPOSED:
      c.p.groups = transposed->groups.value.i64;
      take_window(&c, &transposed->stride, &transposed->padding, &transposed->dilation);
      take_shapes(&c, out, first, second);
      return c;
    default:
      c.p.groups = weight->groups.value.i64;
      take_window(&c, &weight->stride, &weight->padding, &weight->dilation);
      take_shapes(&c, first, second, out);
      return c;
  }
}

/* True if 32 bits do not count what a kernel goes through. */
static bool is_wide(const GpuConv *p) {
  const int64_t pixels = p->batch * p->in_channels * p->in[0] * p->in[1];
  const int64_t windows = p->batch * p->out_channels * p->windows[0] * p->windows[1];
  return (pixels > windows ? pixels : windows) > INT32_MAX / 4;
}

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
  const int64_t blocks = pairs * gpu_pieces(taps, TAPS), places = p.batch * p.windows[0] * p.windows[1];
  int64_t parts = blocks >= BLOCKS ? 1 : gpu_pieces(BLOCKS, blocks);
  if (parts > MAX_PARTS) parts = MAX_PARTS;
  p.part_size = gpu_pieces(places, parts) < MIN_PART ? MIN_PART : gpu_pieces(places, parts);
  p.parts = places == 0 ? 1 : gpu_pieces(places, p.part_size);
  if (p.parts == 1) return start_variant(run, &p, WEIGHT, blocks);
  const BurnTensorDesc desc = {.dtype = wide, .rank = 2, .shape = {p.parts, pairs * taps}};
  BurnPrimitive *sums = NULL;
  BurnStatus status = burn__gpu_new(run->gpu, &desc, &sums);
  if (status != BURN_OK) return status;
  p.bias = gpu_address(sums);
  status = start_variant(run, &p, WEIGHT, blocks * p.parts);
  if (status == BURN_OK) status = start_variant(run, &p, PARTS, gpu_pieces(pairs * taps, THREADS));
  burn__gpu_release(run->gpu, sums);
  return status;
}

static BurnStatus by_definition(const GpuRun *run, const GpuConv *p) {
  const bool is_forward = run->row->detail == FORWARD;
  const int64_t *planes = is_forward ? p->windows : p->in;
  const int64_t channels = (is_forward ? p->out_channels : p->in_channels) / p->groups;
  if (run->row->detail == WEIGHT) return weight_by_definition(run, *p);
  const int64_t blocks = gpu_pieces(p->batch * planes[0] * planes[1], THREADS);
  return start_variant(run, p, (uint32_t)run->row->detail, blocks * p->groups * gpu_pieces(channels, CHANNELS));
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

typedef enum Way { MATRICES, SMALL, IMPLICIT, COLUMNS, DEFINITION } Way;
enum { MAX_WAYS = 5 };

/* Multiplications of a convolution that the definition may try: some milliseconds at worst. */
static const int64_t FEW_PRODUCTS = (int64_t)1 << 31;
/* Channels of a group up to which kernels of ours are a better guess than a library's engines. */
static const int64_t FEW_CHANNELS = 16;

/* Windows of one example that fill tiles: then a 1 x 1 kernel is a product per example, without columns. */
static const int64_t MANY_PLACES = 256;

/* Are columns, which are written and read once more, multiplied so much faster that it pays? By matrix units they are,
 * and products of pixels as they lie read them by vectors. */
static bool are_columns_first(const Gpu *gpu, BurnDType dtype, const GpuConv *p, GpuConvKind kind) {
  const bool by_library = gpu->libraries && gpu->libraries->product;
  const bool is_half = dtype != BURN_DTYPE_F32;
  const GpuMatrixShape *shape = dtype == BURN_DTYPE_F16 ? &gpu->matrices.f16 : &gpu->matrices.bf16;
  if (is_half && gpu->matrices.lanes > 0 && shape->rows > 0) return true;
  if (by_library && (is_half || gpu->tf32)) return true;
  return kind == GPU_CONV_FORWARD && burn__gpu_columns_are_pixels(p) && p->in[0] * p->in[1] >= MANY_PLACES;
}

/* The best by what is known of shapes comes first. */
static uint32_t list_ways(const GpuRun *run, const GpuConv *p, GpuConvKind kind, Way ways[MAX_WAYS]) {
  const Gpu *gpu = run->gpu;
  const BurnDType dtype = run->call->inputs[0]->dtype;
  const bool has_columns = burn__gpu_columns_pay(gpu, p, kind == GPU_CONV_WEIGHT);
  const bool are_first = has_columns && are_columns_first(gpu, dtype, p, kind);
  uint32_t count = 0;
  if (!is_wide(p) && burn__gpu_matrix_conv_pays(gpu, dtype, p, kind)) ways[count++] = MATRICES;
  if (!is_wide(p) && burn__gpu_small_conv_pays(gpu, dtype, p)) ways[count++] = SMALL;
  if (are_first) ways[count++] = COLUMNS;
  if (burn__gpu_implicit_conv_pays(gpu, dtype, p, kind)) ways[count++] = IMPLICIT;
  if (has_columns && !are_first) ways[count++] = COLUMNS;
  if (count == 0 || products_of(p) <= FEW_PRODUCTS) ways[count++] = DEFINITION;
  return count;
}

static BurnStatus run_way(const GpuConvWork *work, Way way, const GpuConvTensors *tensors) {
  switch (way) {
    case MATRICES:
      return burn__gpu_matrix_conv(work->run, &tensors->p, work->kind);
    case SMALL:
      return burn__gpu_small_conv(work->run, &tensors->p, work->kind);
    case IMPLICIT:
      return burn__gpu_implicit_conv(work->run, &tensors->p, work->kind);
    case COLUMNS:
      return by_columns(work->run, &tensors->p, tensors->inputs);
    default:
      return by_definition(work->run, &tensors->p);
  }
}

static BurnStatus go(const GpuConvWork *work, uint32_t number) {
  Way ways[MAX_WAYS];
  GpuConvTensors tensors;
  (void)list_ways(work->run, work->p, work->kind, ways);
  BurnStatus status = burn__gpu_conv_open(work, false, false, &tensors);
  if (status == BURN_OK) status = run_way(work, ways[number], &tensors);
  return burn__gpu_conv_close(work, &tensors, status);
}

static BurnStatus of_planes(const GpuRun *run, const GpuConv *p) {
  const GpuLibraries *libraries = run->gpu->libraries;
  const GpuConvKind kind = (GpuConvKind)run->row->detail;
  Way ways[MAX_WAYS];
  const uint32_t count = list_ways(run, p, kind, ways);
  const bool few = p->in_channels / p->groups <= FEW_CHANNELS && p->out_channels / p->groups <= FEW_CHANNELS;
  const GpuConvWork work = {.run = run,
                            .p = p,
                            .kind = kind,
                            .dtype = run->call->inputs[0]->dtype,
                            .way = go,
                            .way_count = count,
                            .is_ours = (ways[0] == MATRICES || ways[0] == SMALL) && few};
  return libraries && libraries->conv ? libraries->conv(run->gpu, &work) : go(&work, 0);
}

/* -- volumes ----------------------------------------------------------------------------------- */

static BurnStatus no_way(const GpuConvWork *work, uint32_t number) {
  (void)number;
  return GPU_FAIL(work->run->gpu, INTERNAL,
                  "the device's library refuses a convolution of volumes that it has planned");
}

static GpuConvWork volumes_work(const Conv *c, GpuConvKind kind, BurnDType dtype) {
  return (GpuConvWork){.p = &c->p, .depth = &c->depth, .kind = kind, .dtype = dtype, .way = no_way};
}

static BurnStatus of_volumes(const GpuRun *run, const Conv *c) {
  GpuConvWork work = volumes_work(c, (GpuConvKind)run->row->detail, run->call->inputs[0]->dtype);
  work.run = run;
  return run->gpu->libraries->conv(run->gpu, &work);
}

bool burn__gpu_is_of_volumes(uint32_t op) {
  return op == BURN_OP_conv3d || op == BURN_OP_conv3d_weight_backward || op == BURN_OP_conv_transpose3d;
}

bool burn__gpu_takes_volumes(Gpu *gpu, const BurnOpCall *call) {
  const GpuConvKind kind = (GpuConvKind)gpu->rows[call->op]->detail;
  const Conv c = conv_of(call, kind);
  const GpuConvWork work = volumes_work(&c, kind, call->inputs[0]->dtype);
  if (burn_desc_count(call->output_descs) == 0 || burn_primitive_count(call->inputs[0]) == 0) return false;
  if (burn__gpu_enter(gpu) != BURN_OK) return false;
  const bool takes = gpu->libraries->takes_volumes(gpu, &work);
  burn__gpu_leave(gpu);
  return takes;
}

/* -- one call ---------------------------------------------------------------------------------- */

static BurnStatus conv(const GpuRun *run) {
  const Conv c = conv_of(run->call, (GpuConvKind)run->row->detail);
  if (burn_desc_count(run->call->output_descs) == 0) return burn__gpu_output(run, 0);
  return c.axes == 2 ? of_planes(run, &c.p) : of_volumes(run, &c);
}

const GpuRow burn__gpu_conv_rows[] = {{BURN_OP_conv2d, conv, FORWARD},
                                      {BURN_OP_conv_transpose2d, conv, TRANSPOSED},
                                      {BURN_OP_conv2d_weight_backward, conv, WEIGHT},
                                      {BURN_OP_conv3d, conv, FORWARD},
                                      {BURN_OP_conv_transpose3d, conv, TRANSPOSED},
                                      {BURN_OP_conv3d_weight_backward, conv, WEIGHT},
                                      {0, NULL, 0}};
