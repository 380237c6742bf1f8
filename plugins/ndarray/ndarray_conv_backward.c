/* ndarray_conv_backward.c - the gradient of conv2d with regard to its weight.
 *
 * Few weights: the batch is cut into at most 16 slices, each with sums of its own, added up in order at the end. Many
 * weights: shares of the input channels, each one matrix product per image, grad [out, pixels] x columns [taps,
 * pixels]^T. Slices and shares depend on shapes alone, so the bits do not depend on the number of threads. */
#include "ndarray_conv.h"

#include <string.h>

#define SLICES 16
#define SUMS_BYTES (1024 * 1024) /* most bytes of vector sums for the first way */

/* What the bodies of the parallel loops see. */
typedef struct WeightGradient {
  NdConvPlan plan;
  const char *x, *grad;
  char *out;
  char *partial;         /* [slices][weights], first way */
  int64_t slices;        /* first way */
  int64_t share, shares; /* second way: input channels of an item, items per group */
  int64_t weights;       /* of the whole result */
  atomic_bool out_of_memory;
} WeightGradient;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static uint64_t round_64(int64_t bytes) { return ((uint64_t)bytes + 63u) / 64u * 64u; }

/* Width of a row of grad in whole vectors. */
static int64_t padded_width(const NdConvPlan *plan) {
  return ceil_div(plan->out_width, plan->loops->lanes) * plan->loops->lanes;
}

/* Copies rows of all channels of a group's grad into rows that end in zeros. */
static void copy_grad(const NdConvPlan *plan, const char *from, int64_t rows, char *to) {
  const int64_t bytes = plan->element_bytes, width = plan->out_width * bytes, padded = padded_width(plan) * bytes;
  for (int64_t c = 0; c < plan->channels_out; c++)
    for (int64_t r = 0; r < rows; r++) {
      char *row = to + (c * plan->band + r) * padded;
      memcpy(row, from + (c * plan->out_height + r) * width, (size_t)width);
      memset(row + width, 0, (size_t)(padded - width));
    }
}

/* Adds one image of one group to sums. */
static void correlate_image(const WeightGradient *work, int64_t image_group, void *copy, char *grad_copy, void *sums) {
  const NdConvPlan *plan = &work->plan;
  const int64_t bytes = plan->element_bytes, lanes = plan->loops->lanes, plane = plan->out_height * plan->out_width;
  const bool whole = plan->out_width % lanes == 0; /* then grad can be read where it lies */
  NdConvCorrelation correlation = {.sums = sums, .channels = plan->channels_out, .taps = plan->phases->taps};
  correlation.offsets = plan->phases->offsets;
  correlation.columns = plan->out_width;
  correlation.input_row = plan->row_step * plan->row_width;
  correlation.grad_row = padded_width(plan);
  correlation.grad_plane = whole ? plane : plan->band * correlation.grad_row;
  for (int64_t first = 0; first < plan->grid_rows; first += plan->band) {
    const int64_t rows = least(plan->band, plan->grid_rows - first);
    const char *grad = work->grad + (image_group * plan->channels_out * plane + first * plan->out_width) * bytes;
    const char *x = work->x + image_group * plan->channels_in * plan->height * plan->width * bytes;
    correlation.input = nd_conv_input(plan, x, plan->channels_in, first, rows, copy);
    if (!whole) copy_grad(plan, grad, rows, grad_copy);
    correlation.grad = whole ? grad : grad_copy;
    correlation.rows = rows;
    plan->loops->correlate(&correlation);
  }
}

/* Bytes of scratch of slice_body: the copy of x, at grad_at the gradient's rows, at sums_at the sums. */
static uint64_t slice_scratch(const WeightGradient *work, uint64_t *grad_at, uint64_t *sums_at) {
  const NdConvPlan *plan = &work->plan;
  const int64_t bytes = plan->element_bytes;
  *grad_at = round_64(nd_conv_copy_elements(plan, plan->channels_in) * bytes);
  *sums_at = *grad_at + round_64(plan->channels_out * plan->band * padded_width(plan) * bytes);
  return *sums_at + (uint64_t)(work->weights / plan->groups * plan->loops->lanes * bytes);
}

/* Items are pairs of slice and group. */
static void BURN_CALL slice_body(void *context, int64_t begin, int64_t end) {
  WeightGradient *work = (WeightGradient *)context;
  const NdConvPlan *plan = &work->plan;
  const int64_t bytes = plan->element_bytes, group_weights = work->weights / plan->groups;
  const int64_t sums_bytes = group_weights * plan->loops->lanes * bytes;
  uint64_t grad_at, sums_at;
  const uint64_t scratch_bytes = slice_scratch(work, &grad_at, &sums_at);
  char *scratch = (char *)nd_pool_allocate(plan->nd->pool, scratch_bytes);
  if (!scratch) {
    atomic_store_explicit(&work->out_of_memory, true, memory_order_relaxed);
    return;
  }
  for (int64_t item = begin; item < end; item++) {
    const int64_t slice = item / plan->groups, group = item % plan->groups;
    const int64_t first = slice * plan->batch / work->slices, last = (slice + 1) * plan->batch / work->slices;
    memset(scratch + sums_at, 0, (size_t)sums_bytes);
    for (int64_t image = first; image < last; image++)
      correlate_image(work, image * plan->groups + group, scratch, scratch + grad_at, scratch + sums_at);
    plan->loops->fold(scratch + sums_at, group_weights,
                      work->partial + (slice * work->weights + group * group_weights) * bytes);
  }
  nd_pool_free(plan->nd->pool, scratch, scratch_bytes);
}

/* out = partial of slice 0 + slice 1 + ..., in that order. */
#define ADD_SLICES(name, type)                                                                          \
  static void BURN_CALL name(void *context, int64_t begin, int64_t end) {                               \
    const WeightGradient *work = (const WeightGradient *)context;                                       \
    const type *partial = (const type *)(const void *)work->partial;                                    \
    for (int64_t i = begin; i < end; i++) {                                                             \
      type sum = partial[i];                                                                            \
      for (int64_t slice = 1; slice < work->slices; slice++) sum += partial[slice * work->weights + i]; \
      ((type *)(void *)work->out)[i] = sum;                                                             \
    }                                                                                                   \
  }
ADD_SLICES(add_slices_f32, float)
ADD_SLICES(add_slices_f64, double)

static bool run_slices(WeightGradient *work) {
  const NdConvPlan *plan = &work->plan;
  const int64_t bytes = plan->element_bytes;
  const double flops =
      2 * (double)(plan->out_height * plan->out_width) * (double)(work->weights / plan->groups) * (double)plan->batch;
  uint64_t partial_bytes;
  work->slices = least(plan->batch, SLICES);
  partial_bytes = (uint64_t)(work->slices * work->weights * bytes);
  work->partial = (char *)nd_pool_allocate(plan->nd->pool, partial_bytes);
  if (!work->partial) return false;
  uint64_t grad_at, sums_at;
  nd_pool_reserve(plan->nd->pool, slice_scratch(work, &grad_at, &sums_at), plan->nd->host->thread_count());
  nd_parallel_for_flushed(plan->nd, work->slices * plan->groups, 1 + (int64_t)(5e5 * (double)work->slices / (flops + 1)),
                  slice_body, work);
  nd_parallel_for_flushed(plan->nd, work->weights, 4096, bytes == 4 ? add_slices_f32 : add_slices_f64, work);
  nd_pool_free(plan->nd->pool, work->partial, partial_bytes);
  return !atomic_load_explicit(&work->out_of_memory, memory_order_relaxed);
}

/* columns[tap][pixel] of `rows` rows from the (copy of the) input. */
static void make_columns(const NdConvPlan *plan, const char *input, int64_t taps, int64_t rows, char *columns) {
  const int64_t bytes = plan->element_bytes, width = plan->out_width * bytes;
  for (int64_t tap = 0; tap < taps; tap++) {
    const char *from = input + plan->phases->offsets[tap] * bytes;
    for (int64_t r = 0; r < rows; r++, columns += width)
      memcpy(columns, from + r * plan->row_step * plan->row_width * bytes, (size_t)width);
  }
}

/* One item of the second way: all images of one group and some input channels. */
static void multiply_share(const WeightGradient *work, int64_t group, int64_t first_channel, char *copy,
                           char *columns) {
  const NdConvPlan *plan = &work->plan;
  const Ndarray *nd = plan->nd;
  const int64_t bytes = plan->element_bytes, plane = plan->out_height * plan->out_width, all = plan->phases->taps;
  const int64_t channels = least(work->share, plan->channels_in - first_channel);
  const int64_t kernel = all / plan->channels_in, taps = channels * kernel, out = plan->channels_out;
  void *c = work->out + (group * out * all + first_channel * kernel) * bytes;
  for (int64_t image = 0; image < plan->batch; image++)
    for (int64_t first = 0; first < plan->grid_rows; first += plan->band) {
      const int64_t rows = least(plan->band, plan->grid_rows - first), pixels = rows * plan->out_width;
      const int64_t image_group = image * plan->groups + group,
                    channel = image_group * plan->channels_in + first_channel;
      const char *x = work->x + channel * plan->height * plan->width * bytes;
      const void *grad = work->grad + (image_group * out * plane + first * plan->out_width) * bytes;
      const bool add = image > 0 || first > 0;
      make_columns(plan, (const char *)nd_conv_input(plan, x, channels, first, rows, copy), taps, rows, columns);
      if (bytes == 4)
        nd->gemm_f32(false, true, out, taps, pixels, (const float *)grad, plane, (const float *)(void *)columns, pixels,
                     (float *)c, all, add);
      else
        nd->gemm_f64(false, true, out, taps, pixels, (const double *)grad, plane, (const double *)(void *)columns,
                     pixels, (double *)c, all, add);
    }
}

/* Bytes of scratch of share_body: the copy of x, at columns_at its columns. */
static uint64_t share_scratch(const WeightGradient *work, uint64_t *columns_at) {
  const NdConvPlan *plan = &work->plan;
  const int64_t bytes = plan->element_bytes, kernel = plan->phases->taps / plan->channels_in;
  *columns_at = round_64(nd_conv_copy_elements(plan, work->share) * bytes);
  return *columns_at + (uint64_t)(work->share * kernel * plan->band * plan->out_width * bytes);
}

/* Items are pairs of group and share. */
static void BURN_CALL share_body(void *context, int64_t begin, int64_t end) {
  WeightGradient *work = (WeightGradient *)context;
  const NdConvPlan *plan = &work->plan;
  uint64_t columns_at;
  const uint64_t scratch_bytes = share_scratch(work, &columns_at);
  char *scratch = (char *)nd_pool_allocate(plan->nd->pool, scratch_bytes);
  if (!scratch) {
    atomic_store_explicit(&work->out_of_memory, true, memory_order_relaxed);
    return;
  }
  for (int64_t item = begin; item < end; item++)
    multiply_share(work, item / work->shares, item % work->shares * work->share, scratch, scratch + columns_at);
  nd_pool_free(plan->nd->pool, scratch, scratch_bytes);
}

static bool run_shares(WeightGradient *work) {
  const NdConvPlan *plan = &work->plan;
  const int64_t kernel = plan->phases->taps / plan->channels_in;
  work->share = least(plan->channels_in, ceil_div(least(512, ceil_div(plan->phases->taps * plan->groups, 16)), kernel));
  work->shares = ceil_div(plan->channels_in, work->share);
  uint64_t columns_at;
  nd_pool_reserve(plan->nd->pool, share_scratch(work, &columns_at), plan->nd->host->thread_count());
  nd_parallel_for_flushed(plan->nd, plan->groups * work->shares, 1, share_body, work);
  return !atomic_load_explicit(&work->out_of_memory, memory_order_relaxed);
}

/* x [n, in, h, w], grad [n, out, oh, ow] -> [out, in/groups, kh, kw]. */
BurnStatus nd_conv2d_weight_backward(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_conv2d_weight_backward *attrs = BURN_ATTRS(conv2d_weight_backward, call);
  const NdConvShape shape = {call->inputs[0]->shape,   call->inputs[1]->shape,    call->output_descs->shape + 2,
                             attrs->stride.value.i64s, attrs->padding.value.i64s, attrs->dilation.value.i64s,
                             attrs->groups.value.i64,  call->output_descs->dtype};
  NdTensor *out = nd_new(nd, call->output_descs), *x, *grad;
  bool done = false;
  WeightGradient work = {.weights = burn_desc_count(call->output_descs)};
  if (!out) return nd_out_of_memory(nd, call);
  if (work.weights == 0) return nd_finish(nd, call, out);
  if (burn_primitive_count(call->inputs[1]) == 0) {
    memset(nd_data(out), 0, (size_t)work.weights * burn_dtype_bytes(shape.dtype));
    return nd_finish(nd, call, out);
  }
  x = nd_contiguous(nd, nd_tensor(call->inputs[0]));
  grad = nd_contiguous(nd, nd_tensor(call->inputs[1]));
  atomic_init(&work.out_of_memory, false);
  if (x && grad) {
    const NdConvPlan *plan = &work.plan;
    const bool planned = nd_conv_plan_forward(&work.plan, nd, &shape, NULL);
    work.x = (const char *)nd_data(x);
    work.grad = (const char *)nd_data(grad);
    work.out = (char *)nd_data(out);
    if (planned) {
      const int64_t sums_bytes = work.weights / plan->groups * plan->loops->lanes * plan->element_bytes;
      done = sums_bytes <= SUMS_BYTES ? run_slices(&work) : run_shares(&work);
    }
    nd_conv_plan_close(&work.plan); /* a failed plan too */
  }
  nd_release(nd, x);
  nd_release(nd, grad);
  if (done) return nd_finish(nd, call, out);
  nd_release(nd, out);
  return nd_out_of_memory(nd, call);
}
