/* gpu_columns.c - convolutions as products of matrices: windows become columns, some examples of the batch at a time.
 * Groups are batches of the product. A weight's gradient takes the columns of all examples at once. */
#include "gpu.h"

enum { FROM_PIXELS, TO_PIXELS, ADD_BIAS, WIDE = 4, BY_LINES = 8, THREADS = 256 }; /* variants of kernels/columns.cu */

/* Columns of one product take at most that. */
static const uint64_t MAX_BYTES = (uint64_t)256 << 20;
static const int64_t MAX_AT_ONCE = (int64_t)1 << 29; /* elements, where all of the batch is needed */

/* Rows of the columns of a group, places of the kernel, channels of a group. */
typedef struct Sizes {
  int64_t rows, places, in_group, out_group;
} Sizes;

static Sizes sizes_of(const GpuConv *p) {
  Sizes s = {.places = p->windows[0] * p->windows[1]};
  s.in_group = p->in_channels / p->groups;
  s.out_group = p->out_channels / p->groups;
  s.rows = s.in_group * p->kernel[0] * p->kernel[1];
  return s;
}

bool burn__gpu_columns_pay(const Gpu *gpu, const GpuConv *p, bool all_at_once) {
  const Sizes s = sizes_of(p);
  if (all_at_once && p->batch * p->groups * s.rows * s.places > MAX_AT_ONCE) return false;
  if (gpu->is_processor) return p->groups <= 4;
  return p->groups <= 4 && s.rows * s.out_group >= 256 && p->batch * s.places >= 64;
}

/* -- kernels ---------------------------------------------------------------------------------- */

/* True if 32 bits do not count the pixels. */
static bool is_wide(const GpuColumns *c) {
  return c->batch * c->channels * c->pixels[0] * c->pixels[1] > INT32_MAX / 4;
}

static BurnStatus start(Gpu *gpu, BurnDType dtype, uint32_t variant, int64_t threads, const GpuColumns *c) {
  const bool by_lines = gpu->is_processor && variant != TO_PIXELS;
  const GpuKernelKey key = {
      .text = GPU_TEXT_COLUMNS,
      .out = dtype,
      .in = {dtype, dtype, dtype},
      .variant = variant + (threads > INT32_MAX / 4 || is_wide(c) ? WIDE : 0) + (by_lines ? BY_LINES : 0)};
  GpuFunction *function = NULL;
  const BurnStatus status = burn__gpu_kernel(gpu, &key, NULL, &function);
  if (status != BURN_OK) return status;
  if (by_lines && threads > 0) threads /= c->windows[1];
  return burn__gpu_launch(gpu, function, (uint64_t)((threads + THREADS - 1) / THREADS), THREADS, c, sizeof *c);
}

/* `batch` examples; a row of the columns begins row_stride elements after the one before. */
static GpuColumns columns_of(const GpuConv *p, int64_t batch, int64_t batch_stride, int64_t row_stride) {
  GpuColumns c = {.batch = batch, .channels = p->in_channels, .batch_stride = batch_stride, .row_stride = row_stride};
  for (int axis = 0; axis < 2; axis++) {
    c.pixels[axis] = p->in[axis];
    c.kernel[axis] = p->kernel[axis];
    c.windows[axis] = p->windows[axis];
    c.stride[axis] = p->stride[axis];
    c.padding[axis] = p->padding[axis];
    c.dilation[axis] = p->dilation[axis];
  }
  return c;
}

static BurnStatus fill(Gpu *gpu, BurnDType dtype, GpuColumns *c, GpuAddress pixels, const BurnPrimitive *columns) {
  const int64_t taps = c->kernel[0] * c->kernel[1], places = c->windows[0] * c->windows[1];
  c->in = pixels;
  c->out = gpu_address(columns);
  return start(gpu, dtype, FROM_PIXELS, c->batch * c->channels * taps * places, c);
}

BurnStatus burn__gpu_add_bias(Gpu *gpu, BurnDType dtype, GpuAddress x, GpuAddress bias, int64_t batch, int64_t channels,
                              int64_t places) {
  const GpuColumns c = {
      .out = x, .bias = bias, .batch = batch, .channels = channels, .windows = {1, places}, .kernel = {1, 1}};
  return start(gpu, dtype, ADD_BIAS, batch * channels * places, &c);
}

/* -- parts of the batch ----------------------------------------------------------------------- */

/* How many examples fit into the columns at once. */
static int64_t part_of(const GpuConv *p, BurnDType dtype) {
  const Sizes s = sizes_of(p);
  const uint64_t bytes = (uint64_t)(p->groups * s.rows * s.places) * burn_dtype_bytes(dtype);
  const int64_t most = bytes == 0 ? p->batch : (int64_t)(MAX_BYTES / bytes);
  return most < 1 ? 1 : most < p->batch ? most : p->batch;
}

static BurnStatus new_columns(Gpu *gpu, BurnDType dtype, const GpuConv *p, int64_t examples, BurnPrimitive **out) {
  const Sizes s = sizes_of(p);
  const BurnTensorDesc desc = {.dtype = dtype, .rank = 3, .shape = {examples, p->groups * s.rows, s.places}};
  return burn__gpu_new(gpu, &desc, out);
}

static GpuAddress at(GpuAddress base, int64_t elements, BurnDType dtype) {
  return base + (GpuAddress)elements * burn_dtype_bytes(dtype);
}

/* A 1 x 1 kernel that meets every pixel once: the pixels are the columns. */
bool burn__gpu_columns_are_pixels(const GpuConv *p) {
  bool plain = true;
  for (int axis = 0; axis < 2; axis++)
    plain = plain && p->kernel[axis] == 1 && p->stride[axis] == 1 && p->padding[axis] == 0 &&
            p->in[axis] == p->windows[axis];
  return plain;
}

/* -- forward: out[n, g] = weight[g] columns[n, g] ---------------------------------------------- */

static GpuMatmul forward_product(const GpuConv *p, int64_t examples) {
  const Sizes s = sizes_of(p);
  return (GpuMatmul){.lhs = p->weight,
                     .m = s.out_group,
                     .n = s.places,
                     .k = s.rows,
                     .lhs_row = s.rows,
                     .lhs_column = 1,
                     .rhs_row = s.places,
                     .rhs_column = 1,
                     .batches = examples * p->groups,
                     .rank = 2,
                     .shape = {examples, p->groups},
                     .lhs_strides = {0, s.out_group * s.rows},
                     .rhs_strides = {p->groups * s.rows * s.places, s.rows * s.places}};
}

BurnStatus burn__gpu_columns_forward(Gpu *gpu, BurnDType dtype, const GpuConv *p) {
  const Sizes s = sizes_of(p);
  const int64_t part = part_of(p, dtype), pixels = p->in_channels * p->in[0] * p->in[1];
  const bool plain = burn__gpu_columns_are_pixels(p);
  BurnPrimitive *columns = NULL;
  BurnStatus status = plain ? BURN_OK : new_columns(gpu, dtype, p, part, &columns);
  for (int64_t n = 0; n < p->batch && status == BURN_OK; n += part) {
    const int64_t examples = p->batch - n < part ? p->batch - n : part;
    GpuColumns c = columns_of(p, examples, p->groups * s.rows * s.places, s.places);
    GpuMatmul product = forward_product(p, examples);
    const GpuAddress from = at(p->x, n * pixels, dtype);
    if (!plain) status = fill(gpu, dtype, &c, from, columns);
    product.rhs = plain ? from : gpu_address(columns);
    product.out = at(p->out, n * p->out_channels * s.places, dtype);
    if (status == BURN_OK) status = burn__gpu_product(gpu, dtype, &product);
  }
  burn__gpu_release(gpu, columns);
  if (status != BURN_OK || !p->bias) return status;
  return burn__gpu_add_bias(gpu, dtype, p->out, p->bias, p->batch, p->out_channels, s.places);
}

/* -- transposed: columns[n, g] = weight[g]^T windows[n, g], and back to pixels ------------------ */

static GpuMatmul transposed_product(const GpuConv *p, int64_t examples) {
  const Sizes s = sizes_of(p);
  return (GpuMatmul){.lhs = p->weight,
                     .m = s.rows,
                     .n = s.places,
                     .k = s.out_group,
                     .lhs_row = 1,
                     .lhs_column = s.rows,
                     .rhs_row = s.places,
                     .rhs_column = 1,
                     .batches = examples * p->groups,
                     .rank = 2,
                     .shape = {examples, p->groups},
                     .lhs_strides = {0, s.out_group * s.rows},
                     .rhs_strides = {p->groups * s.out_group * s.places, s.out_group * s.places}};
}

BurnStatus burn__gpu_columns_transposed(Gpu *gpu, BurnDType dtype, const GpuConv *p) {
  const Sizes s = sizes_of(p);
  const int64_t part = part_of(p, dtype), pixels = p->in_channels * p->in[0] * p->in[1];
  BurnPrimitive *columns = NULL;
  BurnStatus status = new_columns(gpu, dtype, p, part, &columns);
  for (int64_t n = 0; n < p->batch && status == BURN_OK; n += part) {
    const int64_t examples = p->batch - n < part ? p->batch - n : part;
    GpuColumns c = columns_of(p, examples, p->groups * s.rows * s.places, s.places);
    GpuMatmul product = transposed_product(p, examples);
    product.rhs = at(p->x, n * p->out_channels * s.places, dtype);
    product.out = c.in = gpu_address(columns);
    c.out = at(p->out, n * pixels, dtype);
    c.bias = p->bias;
    status = burn__gpu_product(gpu, dtype, &product);
    if (status == BURN_OK) status = start(gpu, dtype, TO_PIXELS, examples * pixels, &c);
  }
  burn__gpu_release(gpu, columns);
  return status;
}

/* -- the weight's gradient: weight[g] = gradient[g] columns[g]^T, over all examples at once ----- */

/* The gradient [batch, out_channels, places] as [out_channels, batch, places]. */
static BurnStatus by_channel(Gpu *gpu, BurnDType dtype, const GpuConv *p, BurnPrimitive *gradient,
                             BurnPrimitive **out) {
  const Sizes s = sizes_of(p);
  const BurnTensorDesc desc = {.dtype = dtype, .rank = 3, .shape = {p->out_channels, p->batch, s.places}};
  const int64_t strides[] = {s.places, p->out_channels * s.places, 1};
  BurnPrimitive *view = NULL;
  BurnStatus status = burn__gpu_view(gpu, gradient, &desc, strides, 0, &view);
  if (status == BURN_OK) status = burn__gpu_cast(gpu, view, dtype, out);
  burn__gpu_release(gpu, view);
  return status;
}

static GpuMatmul weight_product(const GpuConv *p) {
  const Sizes s = sizes_of(p);
  const int64_t length = p->batch * s.places;
  return (GpuMatmul){.out = p->out,
                     .m = s.out_group,
                     .n = s.rows,
                     .k = length,
                     .lhs_row = length,
                     .lhs_column = 1,
                     .rhs_row = 1,
                     .rhs_column = length,
                     .batches = p->groups,
                     .rank = 1,
                     .shape = {p->groups},
                     .lhs_strides = {s.out_group * length},
                     .rhs_strides = {s.rows * length}};
}

BurnStatus burn__gpu_columns_weight(Gpu *gpu, BurnDType dtype, const GpuConv *p, BurnPrimitive *gradient) {
  const Sizes s = sizes_of(p);
  GpuColumns c = columns_of(p, p->batch, s.places, p->batch * s.places);
  GpuMatmul product = weight_product(p);
  BurnPrimitive *columns = NULL, *channels = NULL;
  BurnStatus status = new_columns(gpu, dtype, p, p->batch, &columns);
  if (status == BURN_OK) status = by_channel(gpu, dtype, p, gradient, &channels);
  if (status == BURN_OK) status = fill(gpu, dtype, &c, p->x, columns);
  if (status == BURN_OK) {
    product.lhs = gpu_address(channels);
    product.rhs = gpu_address(columns);
    status = burn__gpu_product(gpu, dtype, &product);
  }
  burn__gpu_release(gpu, columns);
  burn__gpu_release(gpu, channels);
  return status;
}
