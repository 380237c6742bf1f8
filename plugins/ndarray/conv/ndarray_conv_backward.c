/* ndarray_conv_backward.c - the gradient of conv2d with regard to its weight.
 *
 * Few output channels: lanes are pixels of a row, sums [out, taps, lanes] stay apart until the end of a slice; or,
 * where they fill more than half a vector, lanes are the channels. Many: products of gathered columns [taps, pixels]
 * and the transposed gradient [pixels, out]; where there are many weights too, shares of the input channels are items
 * of their own. Both ways the items of pixels are cut into at most SLICES slices, each with sums of its own, added up
 * in order at the end. Slices depend on shapes alone, so the bits do not depend on the number of threads. */
#include "ndarray_conv.h"

#include <string.h>

enum {
  SLICES = 16,                     /* as many items, or shares of them, as keep threads busy */
  PARTIAL_BYTES = 8 * 1024 * 1024, /* most of all slices, unless one has more */
  SHARE_BYTES = 512 * 1024,        /* of a share's sums, which should stay in the second-level cache */
};

/* What the bodies of the parallel loops see. */
typedef struct WeightGradient {
  NdConvPlan plan;
  const char *x, *grad;
  char *out;
  char *partial; /* [slices][groups][sums] */
  int64_t items; /* of pixels, per group */
  int64_t slices;
  int64_t share, shares; /* input channels of a share, and how many such shares there are; for many weights */
  int64_t sums;          /* elements of a slice and group */
  bool swapped;          /* x is the gradient and grad the input: the plan's output channels are the input's */
  atomic_bool out_of_memory;
} WeightGradient;

/* Memory of one running body: the copy of x, then what lies so many bytes behind. */
typedef struct Scratch {
  char *copy;
  uint64_t grad_at, columns_at, sums_at, bytes;
} Scratch;

/* Item i of a group, in an order where those of a slice follow each other. */
static NdConvItem item_of(const NdConvPlan *plan, int64_t group, int64_t i) {
  return nd_conv_item(plan, (i / plan->bands * plan->groups + group) * plan->bands + i % plan->bands);
}

static const NdConvGrid *grid_of(const NdConvPlan *plan, const NdConvItem *item) {
  return item->last ? &plan->phases->last : &plan->phases->whole;
}

/* The gradient at the first pixel of an image and item. */
static const char *grad_of(const WeightGradient *work, const NdConvItem *item, int64_t image) {
  const NdConvPlan *plan = &work->plan;
  const int64_t channel = ((item->first_image + image) * plan->groups + item->group) * plan->channels_out;
  return work->grad + (channel * plan->y.out + item->first_row) * plan->x.out * plan->element_bytes;
}

/* -- few output channels ---------------------------------------------------------------------- */

/* Columns of a copied gradient: whole vectors. */
static int64_t wide_columns(const NdConvPlan *plan) { return nd_round_up(plan->x.out, plan->loops->lanes); }

/* Copies the gradient of an item to wide rows, with zeros after the last column. */
static void copy_grad(const WeightGradient *work, const NdConvItem *item, char *to) {
  const NdConvPlan *plan = &work->plan;
  const int64_t plane = plan->y.out * plan->x.out * plan->element_bytes, wide = wide_columns(plan);
  NdConvCopy copy = {.height = item->rows, .width = plan->x.out, .row_step = 1, .column_step = 1};
  copy.rows = item->rows;
  copy.columns = wide;
  copy.ahead = plan->y.out * plan->x.out;
  for (int64_t c = 0; c < plan->channels_out; c++) {
    copy.from = grad_of(work, item, 0) + c * plane;
    copy.to = to + c * item->rows * wide * plan->element_bytes;
    plan->loops->copy(&copy);
  }
}

/* Adds an item to sums. */
static void correlate_item(const WeightGradient *work, const NdConvItem *item, const Scratch *scratch) {
  const NdConvPlan *plan = &work->plan;
  NdConvCorrelation c = {.sums = scratch->copy + scratch->sums_at, .grad = scratch->copy + scratch->grad_at};
  c.channels = plan->channels_out;
  c.tap_count = plan->phases->tap_count;
  c.taps = plan->phases->taps;
  c.rows = item->rows;
  c.columns = plan->x.out;
  c.row_width = plan->row_width;
  c.input = nd_conv_input(plan, item, work->x, 0, plan->channels_in, scratch->copy);
  copy_grad(work, item, scratch->copy + scratch->grad_at);
  plan->loops->correlate(&c);
}

static Scratch slice_measure(const WeightGradient *work) {
  const NdConvPlan *plan = &work->plan;
  const int64_t bytes = plan->element_bytes;
  Scratch scratch = {.grad_at = nd_round_64(nd_conv_copy_elements(plan, plan->channels_in) * bytes)};
  scratch.sums_at = scratch.grad_at + nd_round_64(plan->channels_out * plan->band * wide_columns(plan) * bytes);
  scratch.bytes = scratch.sums_at + (uint64_t)(work->sums * plan->loops->lanes * bytes);
  return scratch;
}

/* Loop items are pairs of slice and group. */
static void BURN_API_CALL slice_body(void *context, int64_t begin, int64_t end) {
  WeightGradient *work = (WeightGradient *)context;
  const NdConvPlan *plan = &work->plan;
  Scratch scratch = slice_measure(work);
  scratch.copy = (char *)nd_pool_allocate(plan->nd->pool, scratch.bytes);
  if (!scratch.copy) {
    atomic_store_explicit(&work->out_of_memory, true, memory_order_relaxed);
    return;
  }
  for (int64_t i = begin; i < end; i++) {
    const int64_t slice = i / plan->groups, group = i % plan->groups;
    const int64_t last = (slice + 1) * work->items / work->slices;
    memset(scratch.copy + scratch.sums_at, 0, (size_t)(scratch.bytes - scratch.sums_at));
    for (int64_t number = slice * work->items / work->slices; number < last; number++) {
      const NdConvItem item = item_of(plan, group, number);
      correlate_item(work, &item, &scratch);
    }
    plan->loops->fold(scratch.copy + scratch.sums_at, work->sums, work->partial + i * work->sums * plan->element_bytes);
  }
  nd_pool_free(plan->nd->pool, scratch.copy, scratch.bytes);
}

/* -- few output channels, which are the lanes ------------------------------------------------- */

static int64_t channel_panels(const NdConvPlan *plan) { return nd_ceil_div(plan->channels_out, plan->loops->lanes); }

/* Memory: the copy of x, the gradient of an item [pixels, lanes], sums [panels, taps, lanes]. */
static Scratch sweep_measure(const WeightGradient *work) {
  const NdConvPlan *plan = &work->plan;
  const int64_t vector = plan->element_bytes * plan->loops->lanes;
  Scratch scratch = {.grad_at = nd_round_64(nd_conv_copy_elements(plan, plan->channels_in) * plan->element_bytes)};
  scratch.sums_at = scratch.grad_at + nd_round_64(plan->band * plan->x.out * vector);
  scratch.bytes = scratch.sums_at + (uint64_t)(channel_panels(plan) * plan->phases->tap_count * vector);
  return scratch;
}

/* Taps of a kernel row where they follow each other in the input. */
static int64_t run_of_taps(const NdConvPlan *plan) {
  const NdConvTap *taps = plan->phases->taps;
  const int64_t columns = plan->kernel_columns;
  for (int64_t k = 1; k < columns; k++)
    if (taps[k].input != taps[0].input + k) return 1;
  return columns;
}

/* Adds an item to sums. */
static void sweep_item(const WeightGradient *work, const NdConvItem *item, const Scratch *scratch) {
  const NdConvPlan *plan = &work->plan;
  const int64_t bytes = plan->element_bytes, lanes = plan->loops->lanes, plane = plan->y.out * plan->x.out;
  NdConvSweep sweep = {.grad = scratch->copy + scratch->grad_at, .taps = plan->phases->taps, .rows = item->rows};
  sweep.tap_count = plan->phases->tap_count;
  sweep.run = run_of_taps(plan);
  sweep.columns = plan->x.out;
  sweep.row_width = plan->row_width;
  sweep.input = nd_conv_input(plan, item, work->x, 0, plan->channels_in, scratch->copy);
  for (int64_t panel = 0; panel < channel_panels(plan); panel++) {
    const char *grad = grad_of(work, item, 0) + panel * lanes * plane * bytes;
    const int64_t channels = nd_min(lanes, plan->channels_out - panel * lanes), pixels = item->rows * plan->x.out;
    if (panel > 0 && channels < lanes) memset(scratch->copy + scratch->grad_at, 0, (size_t)(pixels * lanes * bytes));
    plan->loops->transpose(grad, plane, channels, pixels, scratch->copy + scratch->grad_at, lanes);
    sweep.sums = scratch->copy + scratch->sums_at + (uint64_t)(panel * sweep.tap_count * lanes * bytes);
    plan->loops->sweep(&sweep);
  }
}

/* Loop items are pairs of slice and group. */
static void BURN_API_CALL sweep_body(void *context, int64_t begin, int64_t end) {
  WeightGradient *work = (WeightGradient *)context;
  const NdConvPlan *plan = &work->plan;
  const int64_t lanes = plan->loops->lanes, taps = plan->phases->tap_count, bytes = plan->element_bytes;
  Scratch scratch = sweep_measure(work);
  scratch.copy = (char *)nd_pool_allocate(plan->nd->pool, scratch.bytes);
  if (!scratch.copy) {
    atomic_store_explicit(&work->out_of_memory, true, memory_order_relaxed);
    return;
  }
  memset(scratch.copy + scratch.grad_at, 0, (size_t)(scratch.sums_at - scratch.grad_at)); /* lanes without a channel */
  for (int64_t i = begin; i < end; i++) {
    const int64_t slice = i / plan->groups, group = i % plan->groups;
    const char *sums = scratch.copy + scratch.sums_at;
    memset(scratch.copy + scratch.sums_at, 0, (size_t)(scratch.bytes - scratch.sums_at));
    for (int64_t n = slice * work->items / work->slices; n < (slice + 1) * work->items / work->slices; n++) {
      const NdConvItem item = item_of(plan, group, n);
      sweep_item(work, &item, &scratch);
    }
    for (int64_t channel = 0; channel < plan->channels_out; channel += lanes)
      plan->loops->transpose(sums + channel * taps * bytes, lanes, taps, nd_min(lanes, plan->channels_out - channel),
                             work->partial + (i * work->sums + channel * taps) * bytes, taps);
  }
  nd_pool_free(plan->nd->pool, scratch.copy, scratch.bytes);
}

/* -- many output channels --------------------------------------------------------------------- */

int64_t nd_conv_panel_width(const NdConvLoops *loops, int64_t left) {
  int64_t vectors = 1;
  while (vectors < loops->max_vectors && left > vectors * loops->lanes) vectors *= 2;
  if (vectors > 1 && left <= vectors * loops->lanes / 4 * 3) vectors /= 2;
  return vectors * loops->lanes;
}

/* Channels of the panel from `channel` on. */
static int64_t panel_width(const NdConvPlan *plan, int64_t channel) {
  return nd_conv_panel_width(plan->loops, plan->channels_out - channel);
}

/* Channels of all panels. */
static int64_t panels_width(const NdConvPlan *plan) {
  int64_t channel = 0;
  while (channel < plan->channels_out) channel += panel_width(plan, channel);
  return channel;
}

/* to[pixel][channel] of `pixels` pixels of an item from `first` on, zeros in channels that do not exist. */
static void transpose_grad(const WeightGradient *work, const NdConvItem *item, int64_t first, int64_t pixels,
                           int64_t channel, int64_t width, char *to) {
  const NdConvPlan *plan = &work->plan;
  const int64_t bytes = plan->element_bytes, plane = item->rows * plan->x.out, whole = plan->y.out * plan->x.out;
  const int64_t channels = nd_min(width, plan->channels_out - channel);
  if (channels < width) memset(to, 0, (size_t)(pixels * width * bytes));
  while (pixels > 0) {
    const int64_t place = first % plane, count = nd_min(pixels, plane - place);
    const char *from = grad_of(work, item, first / plane) + (channel * whole + place) * bytes;
    plan->loops->transpose(from, whole, channels, count, to, width);
    to += count * width * bytes;
    first += count;
    pixels -= count;
  }
}

/* Adds some pixels of an item, at most ND_CONV_CHUNK, to the sums of a share. */
static void multiply_chunk(const WeightGradient *work, const NdConvItem *item, const Scratch *scratch,
                           const void *input, int64_t first_vector, int64_t vectors, int64_t taps, char *sums) {
  const NdConvPlan *plan = &work->plan;
  const NdConvGrid *grid = grid_of(plan, item);
  const int64_t bytes = plan->element_bytes, lanes = plan->loops->lanes, first = first_vector * lanes;
  NdConvGather gather = {.input = input, .taps = plan->phases->taps, .depth = taps, .row = ND_CONV_COLUMN};
  NdConvOuter outer = {.taps = taps, .row = ND_CONV_COLUMN, .sums_row = panels_width(plan)};
  gather.vectors = &grid->vectors[first_vector];
  gather.vector_count = vectors;
  gather.columns = scratch->copy + scratch->columns_at;
  plan->loops->gather(&gather);
  outer.columns = gather.columns;
  outer.grad = scratch->copy + scratch->grad_at;
  outer.pixels = nd_min(gather.vector_count * lanes, item->images * item->rows * plan->x.out - first);
  for (int64_t channel = 0; channel < plan->channels_out; channel += outer.width) {
    outer.width = panel_width(plan, channel);
    outer.sums = sums + channel * bytes;
    transpose_grad(work, item, first, outer.pixels, channel, outer.width, scratch->copy + scratch->grad_at);
    plan->loops->outer(&outer);
  }
}

/* Taps of a tile of the widest panel. */
static int64_t widest_tile(const NdConvLoops *loops) { return loops->tile_taps / loops->max_vectors; }

/* True if windows are single numbers whose planes are read where they lie: panels are of the widest kind, and rows of
 * a tile do not lie whole pages apart, where they would push each other out of the first-level cache. */
static bool reads_planes(const NdConvPlan *plan) {
  const int64_t widest = plan->loops->max_vectors * plan->loops->lanes;
  return plan->in_place && plan->phases->tap_count == plan->channels_in && plan->y.out * plan->x.out >= ND_CONV_PLANE &&
         plan->channel * plan->element_bytes % ND_CONV_PAGE != 0 && plan->channels_out % widest == 0;
}

/* Some pixels of an image of an item, at most ND_CONV_CHUNK, that follow each other. */
typedef struct Run {
  const char *planes;    /* the first one's, of one channel after the other */
  int64_t first, pixels; /* among the item's */
  int64_t ahead;         /* elements to those that come next */
} Run;

static Run run_of(const WeightGradient *work, const NdConvItem *item, const char *input, int64_t number) {
  const NdConvPlan *plan = &work->plan;
  const int64_t plane = item->rows * plan->x.out, runs = nd_ceil_div(plane, ND_CONV_CHUNK), image = number / runs;
  const int64_t first = number % runs * plane / runs, next = (number % runs + 1) * plane / runs;
  const int64_t before = item->first_row * plan->x.out; /* in the plane, whose next rows are another item's */
  Run run = {input + (image * plan->image + first) * plan->element_bytes, image * plane + first, next - first, 0};
  run.ahead = before + next < plan->channel ? next - first : plan->image - before - first;
  return run;
}

/* Adds a run to the sums of a share. What is not a whole tile of taps is copied, as nothing may be read behind it. */
static void multiply_run(const WeightGradient *work, const NdConvItem *item, const Scratch *scratch, const Run *run,
                         int64_t taps, char *sums) {
  const NdConvPlan *plan = &work->plan;
  const int64_t bytes = plan->element_bytes, whole = taps / widest_tile(plan->loops) * widest_tile(plan->loops);
  NdConvOuter outer = {.columns = run->planes, .row = plan->channel, .taps = whole, .pixels = run->pixels};
  NdConvOuter rest = {.columns = scratch->copy + scratch->columns_at, .row = ND_CONV_COLUMN, .taps = taps - whole};
  outer.sums_row = rest.sums_row = panels_width(plan);
  outer.width = rest.width = plan->loops->max_vectors * plan->loops->lanes;
  outer.grad = rest.grad = scratch->copy + scratch->grad_at;
  rest.pixels = run->pixels;
  for (int64_t tap = whole; tap < taps; tap++)
    memcpy(scratch->copy + scratch->columns_at + (tap - whole) * ND_CONV_COLUMN * bytes,
           run->planes + tap * plan->channel * bytes, (size_t)(run->pixels * bytes));
  for (int64_t channel = 0; channel < plan->channels_out; channel += outer.width) {
    outer.ahead = channel == 0 ? run->ahead : 0;
    outer.sums = sums + channel * bytes;
    rest.sums = sums + (whole * outer.sums_row + channel) * bytes;
    transpose_grad(work, item, run->first, run->pixels, channel, outer.width, scratch->copy + scratch->grad_at);
    plan->loops->outer(&outer);
    plan->loops->outer(&rest);
  }
}

/* Adds an item to the sums of a share, run by run. */
static void multiply_runs(const WeightGradient *work, const NdConvItem *item, const Scratch *scratch, const char *input,
                          int64_t taps, char *sums) {
  const int64_t runs = item->images * nd_ceil_div(item->rows * work->plan.x.out, ND_CONV_CHUNK);
  for (int64_t i = 0; i < runs; i++) {
    const Run run = run_of(work, item, input, i);
    multiply_run(work, item, scratch, &run, taps, sums);
  }
}

/* Taps of `channels` input channels, in whole tiles. */
static int64_t padded_taps(const NdConvPlan *plan, int64_t channels) {
  return nd_round_up(plan->phases->tap_count / plan->channels_in * channels, plan->loops->tile_taps);
}

static Scratch share_measure(const WeightGradient *work) {
  const NdConvPlan *plan = &work->plan;
  const int64_t bytes = plan->element_bytes, widest = plan->loops->max_vectors * plan->loops->lanes;
  Scratch scratch = {.columns_at = nd_round_64(nd_conv_copy_elements(plan, work->share) * bytes)};
  scratch.grad_at = scratch.columns_at + nd_round_64(padded_taps(plan, work->share) * ND_CONV_COLUMN * bytes);
  scratch.bytes = scratch.grad_at + (uint64_t)(ND_CONV_CHUNK * widest * bytes);
  return scratch;
}

/* One slice of one group and share, sums [taps, channels]. */
static void multiply_slice(const WeightGradient *work, int64_t slice, int64_t group, int64_t share,
                           const Scratch *scratch) {
  const NdConvPlan *plan = &work->plan;
  const int64_t bytes = plan->element_bytes, lanes = plan->loops->lanes,
                kernel = plan->phases->tap_count / plan->channels_in;
  const int64_t channel = share * work->share, channels = nd_min(work->share, plan->channels_in - channel);
  const int64_t row = panels_width(plan) * bytes, whole = padded_taps(plan, work->share) * row;
  char *sums = work->partial + (slice * plan->groups + group) * work->sums * bytes + share * whole;
  memset(sums, 0, (size_t)(padded_taps(plan, channels) * row));
  for (int64_t i = slice * work->items / work->slices; i < (slice + 1) * work->items / work->slices; i++) {
    const NdConvItem item = item_of(plan, group, i);
    const void *input = nd_conv_input(plan, &item, work->x, channel, channels, scratch->copy);
    if (reads_planes(plan)) {
      multiply_runs(work, &item, scratch, (const char *)input, channels, sums);
      continue;
    }
    const int64_t vectors = grid_of(plan, &item)->vector_count, chunks = nd_ceil_div(vectors * lanes, ND_CONV_CHUNK);
    for (int64_t c = 0; c < chunks; c++) {
      const int64_t first = c * vectors / chunks, next = (c + 1) * vectors / chunks;
      multiply_chunk(work, &item, scratch, input, first, next - first, channels * kernel, sums);
    }
  }
}

/* sums [share, taps, channels] of slice 0 -> out [channels, taps], or [taps, channels] if swapped */
static void write_share(const WeightGradient *work, int64_t group, int64_t share) {
  const NdConvPlan *plan = &work->plan;
  const int64_t bytes = plan->element_bytes, all = plan->phases->tap_count, kernel = all / plan->channels_in;
  const int64_t row = panels_width(plan), whole = padded_taps(plan, work->share) * row, channel = share * work->share;
  const int64_t taps = nd_min(work->share, plan->channels_in - channel) * kernel;
  const char *sums = work->partial + (group * work->sums + share * whole) * bytes;
  char *out = work->out + group * plan->channels_out * all * bytes;
  if (!work->swapped) {
    plan->loops->transpose(sums, row, taps, plan->channels_out, out + channel * kernel * bytes, all);
    return;
  }
  out += channel * plan->channels_out * bytes;
  for (int64_t k = 0; k < taps; k++)
    memcpy(out + k * plan->channels_out * bytes, sums + k * row * bytes, (size_t)(plan->channels_out * bytes));
}

/* Loop items are triples of slice, group and share. A single slice is written while its sums are in the cache. */
static void BURN_API_CALL share_body(void *context, int64_t begin, int64_t end) {
  WeightGradient *work = (WeightGradient *)context;
  const NdConvPlan *plan = &work->plan;
  Scratch scratch = share_measure(work);
  scratch.copy = (char *)nd_pool_allocate(plan->nd->pool, scratch.bytes);
  if (!scratch.copy) {
    atomic_store_explicit(&work->out_of_memory, true, memory_order_relaxed);
    return;
  }
  /* Tiles of taps are whole: what lies after the last tap is multiplied too, and has to be numbers. */
  memset(scratch.copy + scratch.columns_at, 0, (size_t)(scratch.grad_at - scratch.columns_at));
  for (int64_t i = begin; i < end; i++) {
    const int64_t group = i / work->shares % plan->groups, share = i % work->shares;
    multiply_slice(work, i / work->shares / plan->groups, group, share, &scratch);
    if (work->slices == 1) write_share(work, group, share);
  }
  nd_pool_free(plan->nd->pool, scratch.copy, scratch.bytes);
}

/* -- the sum of slices ------------------------------------------------------------------------ */

/* partial of slice 0 += slice 1, += slice 2, .., in that order. */
#define ADD_SLICES(name, type)                                                \
  static void BURN_API_CALL name(void *context, int64_t begin, int64_t end) { \
    const WeightGradient *work = (const WeightGradient *)context;             \
    const int64_t all = work->plan.groups * work->sums;                       \
    type *sums = (type *)(void *)work->partial;                               \
    for (int64_t slice = 1; slice < work->slices; slice++)                    \
      for (int64_t i = begin; i < end; i++) sums[i] += sums[slice * all + i]; \
  }
ADD_SLICES(add_slices_f32, float)
ADD_SLICES(add_slices_f64, double)

/* Loop items are pairs of group and share. */
static void BURN_API_CALL transpose_body(void *context, int64_t begin, int64_t end) {
  const WeightGradient *work = (const WeightGradient *)context;
  for (int64_t i = begin; i < end; i++) write_share(work, i / work->shares, i % work->shares);
}

/* -- the op ----------------------------------------------------------------------------------- */

/* Runs a body with its memory for all slices, groups and shares, and adds the slices up. */
static bool run_slices(WeightGradient *work, BurnLoopBody body, uint64_t scratch_bytes) {
  const NdConvPlan *plan = &work->plan;
  const int64_t loop = work->slices * plan->groups * work->shares, all = plan->groups * work->sums;
  const double pixels = (double)(plan->y.out * plan->x.out * plan->batch);
  const double flops = 2 * pixels * (double)(plan->channels_out * plan->phases->tap_count);
  const double each = flops / (double)(work->slices * work->shares);
  nd_pool_reserve(plan->nd->pool, scratch_bytes, plan->nd->host->thread_count());
  nd_parallel_for_flushed(plan->nd, loop, 1 + (int64_t)(5e5 / (each + 1)), body, work);
  if (atomic_load_explicit(&work->out_of_memory, memory_order_relaxed)) return false;
  if (work->slices > 1)
    nd_parallel_for_flushed(plan->nd, all, 4096, plan->element_bytes == 4 ? add_slices_f32 : add_slices_f64, work);
  return true;
}

/* Few output channels. */
static bool run_sums_in_registers(WeightGradient *work) {
  const NdConvPlan *plan = &work->plan;
  const bool is_sweep = plan->way == ND_CONV_CHANNELS;
  const uint64_t bytes = is_sweep ? sweep_measure(work).bytes : slice_measure(work).bytes;
  if (!run_slices(work, is_sweep ? sweep_body : slice_body, bytes)) return false;
  memcpy(work->out, work->partial, (size_t)(plan->groups * work->sums * plan->element_bytes));
  return true;
}

static bool run_many(WeightGradient *work) {
  const NdConvPlan *plan = &work->plan;
  const int64_t pairs = plan->groups * work->shares;
  if (!run_slices(work, share_body, share_measure(work).bytes)) return false;
  if (work->slices == 1) return true;
  nd_parallel_for(plan->nd, pairs, 1 + 32768 * pairs / (plan->groups * work->sums), transpose_body, work);
  return true;
}

/* Input channels of a share, about so many; for many weights. */
static void cut_channels(WeightGradient *work, int64_t share) {
  const NdConvPlan *plan = &work->plan;
  work->shares = nd_ceil_div(plan->channels_in, share);
  work->share = nd_ceil_div(plan->channels_in, work->shares);
  work->shares = nd_ceil_div(plan->channels_in, work->share);
  work->sums = work->shares * padded_taps(plan, work->share) * panels_width(plan);
}

/* Cuts pixels into slices and, for many weights, input channels into shares. Slices have sums of their own, so threads
 * have a say in shares alone. */
static void cut(WeightGradient *work) {
  const NdConvPlan *plan = &work->plan;
  const int64_t bytes = plan->element_bytes, kernel = plan->phases->tap_count / plan->channels_in;
  work->items = plan->blocks * plan->bands;
  work->share = plan->channels_in;
  work->shares = 1;
  work->sums = plan->channels_out * plan->phases->tap_count;
  if (plan->way == ND_CONV_PANELS)
    cut_channels(work, nd_max(1, nd_min(plan->channels_in, SHARE_BYTES / (panels_width(plan) * kernel * bytes))));
  work->slices =
      nd_max(1, nd_min(nd_ceil_div(SLICES, work->shares), PARTIAL_BYTES / (plan->groups * work->sums * bytes)));
  work->slices = nd_min(work->slices, work->items);
  if (plan->way == ND_CONV_PANELS)
    cut_channels(work, nd_conv_share(work->share, nd_ceil_div(plan->loops->tile_taps, kernel), plan->channels_in,
                                     work->slices * plan->groups, (int64_t)plan->nd->host->thread_count()));
}

static bool gradient_run(WeightGradient *work) {
  const NdConvPlan *plan = &work->plan;
  cut(work);
  const uint64_t partial_bytes = (uint64_t)(work->slices * plan->groups * work->sums * plan->element_bytes);
  work->partial = (char *)nd_pool_allocate(plan->nd->pool, partial_bytes);
  if (!work->partial) return false;
  const bool done = plan->way == ND_CONV_PANELS ? run_many(work) : run_sums_in_registers(work);
  nd_pool_free(plan->nd->pool, work->partial, partial_bytes);
  return done;
}

/* True if a weight belongs to one pair of channels, so that either may be the lanes: the fewer ones, as these are
 * transposed. */
static bool suits_swapping(const NdConvShape *shape) {
  bool is_point = shape->x[1] < shape->output[1] && shape->x[1] / shape->groups >= ND_CONV_MANY_CHANNELS;
  for (int i = 0; i < 2; i++) is_point &= shape->kernel[i] == 1 && shape->stride[i] == 1 && shape->padding[i] == 0;
  return is_point;
}

/* Direct sums. */
static bool gradient_direct(WeightGradient *work, Ndarray *nd, NdConvShape shape) {
  work->swapped = suits_swapping(&shape);
  if (work->swapped) {
    const int64_t *const x_shape = shape.x;
    const char *const x = work->x;
    shape.x = shape.output;
    shape.output = x_shape;
    work->x = work->grad;
    work->grad = x;
  }
  const bool done = nd_conv_plan_gradient(&work->plan, nd, &shape) && gradient_run(work);
  nd_conv_plan_close(&work->plan); /* a failed plan too */
  return done;
}

/* True if a kernel of one tap sees one number in each stride, and there are so many weights that these are better
 * packed first: the sums may then be swapped, and read where the numbers lie. */
static bool suits_sampling(const NdConvShape *shape) {
  const int64_t weights = shape->x[1] / shape->groups * shape->output[1];
  bool is_point = shape->stride[0] > 1 || shape->stride[1] > 1;
  for (int i = 0; i < 2; i++) is_point &= shape->kernel[i] == 1 && shape->padding[i] == 0;
  return is_point && weights >= (shape->output[2] * shape->output[3] >= ND_CONV_PLANE ? 1 << 17 : 1 << 18);
}

/* What the kernel sees of x, packed, with a reference; *shape becomes that of a convolution with stride 1. NULL when
 * out of memory. */
static NdTensor *sample(Ndarray *nd, NdTensor *x, NdConvShape *shape) {
  static const int64_t ones[2] = {1, 1};
  const int64_t seen[4] = {shape->x[0], shape->x[1], shape->output[2], shape->output[3]};
  const int64_t strides[4] = {x->strides[0], x->strides[1], x->strides[2] * shape->stride[0],
                              x->strides[3] * shape->stride[1]};
  NdTensor *view = nd_view(nd, x, 4, seen, strides, 0), *packed = view ? nd_contiguous(nd, view) : NULL;
  nd_release(nd, view);
  if (!packed) return NULL;
  shape->x = packed->shape;
  shape->stride = ones;
  return packed;
}

/* x [n, in, h, w], grad [n, out, oh, ow] -> [out, in/groups, kh, kw]. */
BurnStatus nd_conv2d_weight_backward(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_conv2d_weight_backward *attrs = BURN_ATTRS(conv2d_weight_backward, call);
  NdConvShape shape = {call->inputs[0]->shape,   call->inputs[1]->shape,    call->output_descs->shape + 2,
                       attrs->stride.value.i64s, attrs->padding.value.i64s, attrs->dilation.value.i64s,
                       attrs->groups.value.i64,  call->output_descs->dtype};
  const int64_t weights = burn_desc_count(call->output_descs);
  NdTensor *out = nd_new(nd, call->output_descs), *x, *grad;
  WeightGradient work = {.out = NULL};
  bool done = false;
  if (!out) return nd_out_of_memory(nd, call);
  if (weights == 0) return nd_finish(nd, call, out);
  if (burn_primitive_count(call->inputs[1]) == 0) {
    memset(nd_data(out), 0, (size_t)weights * burn_dtype_bytes(shape.dtype));
    return nd_finish(nd, call, out);
  }
  x = nd_tensor(call->inputs[0]);
  x = suits_sampling(&shape) ? sample(nd, x, &shape) : nd_contiguous(nd, x);
  grad = nd_contiguous(nd, nd_tensor(call->inputs[1]));
  atomic_init(&work.out_of_memory, false);
  if (x && grad && nd_conv_suits_winograd_gradient(nd, &shape)) {
    done = nd_conv_winograd_gradient(nd, &shape, nd_data(x), nd_data(grad), nd_data(out));
  } else if (x && grad && nd_conv_suits_planes_gradient(nd, &shape)) {
    done = nd_conv_planes_gradient(nd, &shape, nd_data(x), nd_data(grad), nd_data(out));
  } else if (x && grad) {
    work.x = (const char *)nd_data(x);
    work.grad = (const char *)nd_data(grad);
    work.out = (char *)nd_data(out);
    done = gradient_direct(&work, nd, shape);
  }
  nd_release(nd, x);
  nd_release(nd, grad);
  if (done) return nd_finish(nd, call, out);
  nd_release(nd, out);
  return nd_out_of_memory(nd, call);
}
