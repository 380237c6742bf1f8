/* ndarray_quantization_conv.c - quantized_conv2d as products of i8: weights [out, taps] times pixels [taps, pixels].
 *
 * The pixels of all images of the batch are the columns, so that small planes fill whole panels. What the taps of a
 * panel's pixels read is gathered when the panel is packed; padding is 0. */
#include "ndarray_quantization.h"

#include <string.h>

/* Fewer output channels in a group would leave most of a tile's rows empty, with all pixels to be gathered. */
enum { MIN_CHANNELS = 4 };

typedef struct Conv {
  NdInt8Job job;
  const int8_t *x;
  float *out;
  int64_t channels, height, width; /* of x; channels of a group */
  int64_t kernel[2], stride[2], padding[2], dilation[2];
  int64_t out_height, out_width, out_channels; /* out_channels of all groups */
  int64_t image;                               /* elements of an image of x */
} Conv;

/* -- pixels ----------------------------------------------------------------------------------- */

/* Pixels of one row of an image: columns first .. first + count - 1 of a panel. */
typedef struct PixelRun {
  int64_t first, count, image, y, x; /* y, x: of the first, in the result */
} PixelRun;

static int list_runs(const Conv *conv, int64_t j, int64_t columns, PixelRun runs[ND_INT8_COLUMNS]) {
  const int64_t plane = conv->out_height * conv->out_width;
  int count = 0;
  for (int64_t at = 0; at < columns; at += runs[count++].count) {
    const int64_t pixel = j + at, x = pixel % conv->out_width;
    runs[count] =
        (PixelRun){at, nd_min(columns - at, conv->out_width - x), pixel / plane, pixel % plane / conv->out_width, x};
  }
  return count;
}

/* Copies of a few bytes, up to a panel's width: a call of memcpy would take longer than most of them. */
static inline void copy_few(int8_t *restrict to, const int8_t *restrict from, int64_t count) {
  if (count < 8) {
    for (int64_t i = 0; i < count; i++) to[i] = from[i];
    return;
  }
  for (int64_t i = 0; i + 8 < count; i += 8) memcpy(to + i, from + i, 8);
  memcpy(to + count - 8, from + count - 8, 8);
}

static inline void copy_spread(int8_t *restrict to, const int8_t *restrict from, int64_t step, int64_t count) {
  if (step == 2)
    for (int64_t i = 0; i < count; i++) to[i] = from[2 * i];
  else
    for (int64_t i = 0; i < count; i++) to[i] = from[i * step];
}

/* What a tap reads for a run of pixels: the same place in `planes` planes. `to` has zeros. */
static void gather(const Conv *conv, const int8_t *from, int64_t tap, const PixelRun *run, int64_t planes, int8_t *to) {
  const int64_t plane = conv->height * conv->width, row = conv->kernel[0] * conv->kernel[1] * ND_INT8_COLUMNS;
  const int64_t step = conv->stride[1], kx = tap % conv->kernel[1];
  const int64_t y = run->y * conv->stride[0] - conv->padding[0] + tap / conv->kernel[1] * conv->dilation[0];
  const int64_t x = run->x * step - conv->padding[1] + kx * conv->dilation[1];
  /* Pixels before `begin` lie left of the plane, those from `end` on right of it. */
  const int64_t begin = x >= 0 ? 0 : nd_min(run->count, nd_ceil_div(-x, step));
  const int64_t end = x >= conv->width ? begin : nd_min(run->count, nd_ceil_div(conv->width - x, step));
  if (y < 0 || y >= conv->height || end <= begin) return;
  from += run->image * conv->image + y * conv->width + x + begin * step;
  to += run->first + begin;
  for (int64_t c = 0; c < planes; c++, from += plane, to += row) {
    if (step == 1)
      copy_few(to, from, end - begin);
    else
      copy_spread(to, from, step, end - begin);
  }
}

/* Terms are channels of taps; a tap's place is found once for all channels that are asked for. */
static void fill(const NdInt8Job *job, int64_t product, int64_t p, int64_t terms, int64_t j, int64_t columns,
                 int8_t *to) {
  const Conv *conv = (const Conv *)job->context;
  const int64_t window = conv->kernel[0] * conv->kernel[1], plane = conv->height * conv->width;
  const int64_t taps = nd_min(window, terms);
  PixelRun runs[ND_INT8_COLUMNS];
  const int count = list_runs(conv, j, columns, runs);
  memset(to, 0, (size_t)(terms * ND_INT8_COLUMNS));
  for (int64_t t = 0; t < taps; t++) {
    const int64_t channel = product * conv->channels + (p + t) / window, planes = nd_ceil_div(terms - t, window);
    const int8_t *from = conv->x + channel * plane;
    for (int i = 0; i < count; i++) gather(conv, from, (p + t) % window, &runs[i], planes, to + t * ND_INT8_COLUMNS);
  }
}

/* A kernel of one pixel without stride and padding reads planes as they lie. */
static const int8_t *rows(const NdInt8Job *job, int64_t product, int64_t j, int64_t *step) {
  const Conv *conv = (const Conv *)job->context;
  const int64_t plane = conv->height * conv->width, pixel = j % plane;
  const bool is_plain = conv->kernel[0] * conv->kernel[1] == 1 && conv->stride[0] * conv->stride[1] == 1 &&
                        conv->padding[0] + conv->padding[1] == 0;
  *step = plane;
  if (!is_plain || pixel + ND_INT8_COLUMNS > plane) return NULL;
  return conv->x + j / plane * conv->image + product * conv->channels * plane + pixel;
}

/* -- results ---------------------------------------------------------------------------------- */

/* The first row of a product's result at pixel j. */
static float *result_at(const Conv *conv, int64_t product, int64_t j) {
  const int64_t plane = conv->out_height * conv->out_width;
  return conv->out + (j / plane * conv->out_channels + product * conv->job.m) * plane + j % plane;
}

static float *place(const NdInt8Job *job, int64_t product, int64_t j, int64_t columns, int64_t *step) {
  const Conv *conv = (const Conv *)job->context;
  *step = conv->out_height * conv->out_width;
  return j % *step + columns <= *step ? result_at(conv, product, j) : NULL;
}

/* A panel of pixels of several images. */
static void scatter(const NdInt8Job *job, int64_t product, int64_t i, int64_t row_count, int64_t j, int64_t columns,
                    const float *tile) {
  const Conv *conv = (const Conv *)job->context;
  const int64_t plane = conv->out_height * conv->out_width;
  for (int64_t at = 0, count = 0; at < columns; at += count) {
    count = nd_min(columns - at, plane - (j + at) % plane);
    float *to = result_at(conv, product, j + at) + i * plane;
    for (int64_t r = 0; r < row_count; r++)
      memcpy(to + r * plane, tile + r * ND_INT8_COLUMNS + at, (size_t)count * sizeof *to);
  }
}

/* -- the call --------------------------------------------------------------------------------- */

bool nd_takes_quantized_conv2d(const BurnOpCall *call) {
  const BurnAttrs_quantized_conv2d *attrs = BURN_ATTRS(quantized_conv2d, call);
  const BurnPrimitive *x = call->inputs[0], *weight = call->inputs[2];
  if (x->dtype != BURN_DTYPE_I8 || weight->dtype != BURN_DTYPE_I8 || burn_primitive_count(weight) == 0 ||
      burn_primitive_count(x) == 0)
    return false;
  if (!nd_is_small_float(call->inputs[1]->dtype) || !nd_is_small_float(call->inputs[3]->dtype) ||
      !nd_is_small_float(call->output_descs->dtype))
    return false;
  if (!nd_has_one_scale(&attrs->x_block) || weight->shape[0] / attrs->groups.value.i64 < MIN_CHANNELS) return false;
  const int64_t *block = attrs->weight_block.value.i64s;
  bool is_per_channel = true;
  for (uint32_t i = 1; i < 4; i++) is_per_channel = is_per_channel && block[i] == weight->shape[i];
  return block[0] == 0 || is_per_channel;
}

static void describe(Conv *conv, Ndarray *nd, const BurnOpCall *call, const NdTensor *x, const NdTensor *weight,
                     NdTensor *out) {
  const BurnAttrs_quantized_conv2d *attrs = BURN_ATTRS(quantized_conv2d, call);
  const int64_t groups = attrs->groups.value.i64, k = weight->shape[1] * weight->shape[2] * weight->shape[3];
  *conv = (Conv){.x = (const int8_t *)nd_data(x),
                 .out = (float *)nd_data(out),
                 .channels = weight->shape[1],
                 .height = x->shape[2],
                 .width = x->shape[3],
                 .out_height = out->shape[2],
                 .out_width = out->shape[3],
                 .out_channels = out->shape[1],
                 .image = x->shape[1] * x->shape[2] * x->shape[3]};
  for (int i = 0; i < 2; i++) {
    conv->kernel[i] = weight->shape[2 + i];
    conv->stride[i] = attrs->stride.value.i64s[i];
    conv->padding[i] = attrs->padding.value.i64s[i];
    conv->dilation[i] = attrs->dilation.value.i64s[i];
  }
  conv->job = (NdInt8Job){.nd = nd,
                          .products = groups,
                          .m = out->shape[1] / groups,
                          .n = out->shape[0] * out->shape[2] * out->shape[3],
                          .k = k,
                          .segment = nd_int8_segment(k, 0, 0),
                          .a = (const int8_t *)nd_data(weight),
                          .a_product = out->shape[1] / groups * k,
                          .fill = fill,
                          .rows = rows,
                          .place = place,
                          .scatter = scatter,
                          .context = conv};
}

/* [out channels, segments] of the weight, and pixels, which have one. */
static void spread(const Conv *conv, const NdScales *weight, float x, float *to, float *columns) {
  const NdInt8Job *job = &conv->job;
  const int64_t segments = nd_int8_segments(job);
  for (int64_t row = 0; row < job->products * job->m; row++) {
    const float scale = weight->data[nd_scale_offset(weight, &row, 1)];
    for (int64_t s = 0; s < segments; s++) to[(row / job->m * segments + s) * job->m + row % job->m] = scale;
  }
  for (int64_t j = 0; j < segments * nd_int8_padded(job->n); j++) columns[j] = x;
}

/* False when out of memory. */
static bool run(Conv *conv, const NdScales *weight, float x) {
  NdInt8Job *job = &conv->job;
  const int64_t segments = nd_int8_segments(job), row_count = job->products * job->m * segments;
  const uint64_t bytes = (uint64_t)(row_count + segments * nd_int8_padded(job->n)) * sizeof(float);
  float *room = (float *)nd_pool_allocate(job->nd->pool, bytes);
  if (!room) return false;
  spread(conv, weight, x, room, room + row_count);
  job->row_scales = room;
  job->column_scales = room + row_count;
  const bool done = nd_int8_run(job);
  nd_pool_free(job->nd->pool, room, bytes);
  return done;
}

enum { X, X_SCALE, WEIGHT, WEIGHT_SCALES, BIAS, INPUTS };

BurnStatus nd_quantized_conv2d(Ndarray *nd, const BurnOpCall *call) {
  NdTensor *in[INPUTS] = {NULL}, *bias = NULL;
  BurnTensorDesc desc = *call->output_descs;
  desc.dtype = BURN_DTYPE_F32;
  NdTensor *out = nd_new(nd, &desc);
  bool done = out != NULL;
  for (uint32_t i = 0; i < call->input_count; i++) {
    if (!call->inputs[i]) continue;
    in[i] = i == X || i == WEIGHT ? nd_contiguous(nd, nd_tensor(call->inputs[i]))
                                  : nd_as_f32(nd, nd_tensor(call->inputs[i]));
    done = done && in[i];
  }
  if (done && in[BIAS]) bias = nd_contiguous(nd, in[BIAS]);
  done = done && (bias || !in[BIAS]);
  if (done) {
    Conv conv;
    const NdScales scales = nd_scales_of(in[WEIGHT_SCALES], &BURN_ATTRS(quantized_conv2d, call)->weight_block, 4);
    describe(&conv, nd, call, in[X], in[WEIGHT], out);
    conv.job.add = bias ? (const float *)nd_data(bias) : NULL;
    done = run(&conv, &scales, *(const float *)nd_data(in[X_SCALE]));
  }
  for (int i = 0; i < INPUTS; i++) nd_release(nd, in[i]);
  nd_release(nd, bias);
  if (done) return nd_finish_f32(nd, call, out);
  nd_release(nd, out);
  return nd_out_of_memory(nd, call);
}
