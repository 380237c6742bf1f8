/* ndarray_conv.c - conv2d and conv_transpose2d, as products of weights and pixels with a tile of sums in registers.
 *
 * The work is cut into items of some images, one group, a band of output rows and a share of the output channels. No
 * sum is cut, so the cuts may follow the number of threads. The layout stands in ndarray_conv.h, the loops in
 * ndarray_conv_type.inc. */
#include "ndarray_conv.h"

enum {
  PACKED_PIXELS = 512,    /* from which on a copy of the weights costs next to nothing, .. */
  PACKED_FEW = 96,        /* .. and from which on it pays .. */
  PACKED_BYTES = 4 << 20, /* .. where the weights are no larger than this */
  COPY_GRAIN = 16384,     /* elements of a copy that are worth a chunk of a parallel loop */
  SHARE_CHANNELS = 64,    /* least output channels of a share, as each gathers its pixels anew; fewer if threads rest */
};

/* What the bodies of the parallel loops see. */
typedef struct Conv {
  NdConvPlan plan;
  const char *x, *weights;
  const char *bias; /* or NULL */
  char *out;
  char *packed; /* weights, by phase, group and `rows` output channels, or NULL */
  uint64_t packed_bytes;
  char *copies;          /* of all items, where shares would make them anew, or NULL */
  int64_t copy_bytes;    /* of one */
  int64_t items;         /* of pixels */
  int64_t share, shares; /* output channels of an item, and how many such shares there are */
  int64_t depth;         /* taps of a chunk */
  int64_t max_taps;      /* of all phases */
  atomic_bool out_of_memory;
} Conv;

/* Memory of one running body: the copy, then what lies so many bytes behind. */
typedef struct Scratch {
  char *copy;
  uint64_t columns_at; /* gathered pixels, [tiles, depth, tile] */
  uint64_t
      partial_at;   /* sums of a share, [channels, vectors]; where lanes are images, of all output pixels of an item */
  uint64_t taps_at; /* [depth] into the columns of a tile */
  uint64_t bytes;
} Scratch;

/* Elements of a tile of pixels. */
static int64_t tile_lanes(const NdConvPlan *plan) { return ND_CONV_VECTORS * plan->loops->lanes; }

/* Elements of an item's sums for one channel. */
static int64_t partial_row(const NdConvPlan *plan) {
  if (plan->way == ND_CONV_POINTS) return tile_lanes(plan);
  if (plan->way != ND_CONV_IMAGES) return plan->phases->whole.vector_count * plan->loops->lanes;
  return plan->band * plan->y.out_step * plan->x.out * plan->loops->lanes;
}

static Scratch scratch_measure(const Conv *work) {
  const NdConvPlan *plan = &work->plan;
  const int64_t bytes = plan->element_bytes, tile = tile_lanes(plan);
  const int64_t tiles = nd_ceil_div(plan->phases->whole.vector_count, ND_CONV_VECTORS);
  const bool panels = plan->way == ND_CONV_PANELS, planes = plan->way == ND_CONV_ROWS;
  const bool sums = plan->way == ND_CONV_IMAGES || (work->max_taps > work->depth && !planes);
  Scratch scratch = {.columns_at = work->copies ? 0 : (uint64_t)work->copy_bytes};
  scratch.partial_at = scratch.columns_at + (panels ? nd_round_64(tiles * work->depth * tile * bytes) : 0);
  scratch.taps_at = scratch.partial_at + (sums ? nd_round_64(work->share * partial_row(plan) * bytes) : 0);
  scratch.bytes = scratch.taps_at + (panels ? (uint64_t)work->depth * sizeof(NdConvTap) : 0);
  return scratch;
}

static NdConvTap *scratch_taps(const Scratch *scratch) {
  return (NdConvTap *)(void *)(scratch->copy + scratch->taps_at);
}

static bool scratch_open(const Conv *work, Scratch *scratch) {
  *scratch = scratch_measure(work);
  scratch->copy = (char *)nd_pool_allocate(work->plan.nd->pool, scratch->bytes);
  if (!scratch->copy) return false;
  if (work->plan.way == ND_CONV_PANELS)
    for (int64_t k = 0; k < work->depth; k++) scratch_taps(scratch)[k].input = k * tile_lanes(&work->plan);
  return true;
}

/* First vector of a tile of a grid: tiles are of about equal size. */
static int64_t tile_start(const NdConvGrid *grid, int64_t tiles, int64_t number) {
  return number * grid->vector_count / tiles;
}

/* Gathers the pixels of all tiles for `depth` taps from `done` on. */
static void gather_tiles(const Conv *work, const Scratch *scratch, const NdConvPhase *phase, const NdConvGrid *grid,
                         const void *input, int64_t done, int64_t depth) {
  const NdConvPlan *plan = &work->plan;
  const int64_t tile = tile_lanes(plan), tiles = nd_ceil_div(grid->vector_count, ND_CONV_VECTORS);
  NdConvGather gather = {.input = input, .taps = phase->taps + done, .depth = depth, .row = tile};
  gather.columns = scratch->copy + scratch->columns_at;
  for (int64_t k = 0; k < depth; k++) scratch_taps(scratch)[k].weight = gather.taps[k].weight;
  for (int64_t number = 0, first = 0, next; number < tiles; number++, first = next) {
    next = tile_start(grid, tiles, number + 1);
    gather.vectors = &grid->vectors[first];
    gather.vector_count = next - first;
    plan->loops->gather(&gather);
    gather.columns = (char *)gather.columns + work->depth * tile * plan->element_bytes;
  }
}

/* Multiplies the vectors of a tile from `first` on; `columns` is where gathered ones begin. */
static void multiply_tile(const Conv *work, const NdConvGrid *grid, int64_t first, int64_t columns,
                          NdConvProduct *product) {
  const int64_t lanes = work->plan.loops->lanes;
  product->vectors = &grid->vectors[first];
  for (int64_t v = 0; v < product->vector_count; v++) {
    product->base[v] = grid->needs_gather ? columns + v * lanes : product->vectors[v].input;
    product->place[v] = (work->plan.way == ND_CONV_IMAGES ? product->vectors[v].place : first + v) * lanes;
  }
  work->plan.loops->product(product);
}

/* All tiles and some channels for some of the taps; `product` says which. */
static void multiply_channels(const Conv *work, const NdConvGrid *grid, NdConvProduct *product) {
  const int64_t tiles = nd_ceil_div(grid->vector_count, ND_CONV_VECTORS),
                columns = work->depth * tile_lanes(&work->plan);
  for (int64_t number = 0, first = 0, next; number < tiles; number++, first = next) {
    next = tile_start(grid, tiles, number + 1);
    product->vector_count = next - first;
    multiply_tile(work, grid, first, number * columns, product);
  }
}

/* All tiles and channels for some of the taps. Where the loops want it, a block of channels meets all tiles before the
 * next one: its weights then stay in the first-level cache, and lines of the output, which are pages apart from channel
 * to channel, in the second. */
static void multiply_tiles(const Conv *work, const NdConvGrid *grid, const NdConvProduct *product) {
  const int64_t bytes = work->plan.element_bytes, block = work->plan.loops->block;
  const int64_t most = grid->needs_gather && block > 0 ? block : product->channels;
  for (int64_t first = 0; first < product->channels; first += most) {
    NdConvProduct part = *product;
    part.channels = nd_min(most, product->channels - first);
    part.weights = (const char *)product->weights + first * product->weights_row * bytes;
    if (part.bias) part.bias = (const char *)product->bias + first * bytes;
    part.partial = (char *)product->partial + first * product->partial_row * bytes;
    part.output = (char *)product->output + first * product->plane * bytes;
    multiply_channels(work, grid, &part);
  }
}

/* The same where lanes are images, for some of the input channels. */
static void multiply_images(const Conv *work, const NdConvGrid *grid, NdConvProduct *product) {
  for (const NdConvTile *tile = grid->tiles, *const end = tile + grid->tile_count; tile < end; tile++) {
    product->taps = tile->taps;
    product->depth = tile->tap_count;
    product->vector_count = tile->vector_count;
    multiply_tile(work, grid, tile->first, 0, product);
  }
}

/* Output channels of a group, in whole tiles. */
static int64_t padded_channels(const NdConvPlan *plan) { return nd_round_up(plan->channels_out, plan->loops->rows); }

/* The packed weights of a group in one phase. */
static char *packed_of(const Conv *work, const NdConvPhase *phase, int64_t group) {
  const NdConvPlan *plan = &work->plan;
  int64_t taps = 0;
  for (const NdConvPhase *before = plan->phases; before < phase; before++) taps += before->tap_count;
  return work->packed + (taps * plan->groups + phase->tap_count * group) * padded_channels(plan) * plan->element_bytes;
}

/* Items are triples of phase, group and `rows` output channels. */
static void BURN_API_CALL pack_body(void *context, int64_t begin, int64_t end) {
  const Conv *work = (const Conv *)context;
  const NdConvPlan *plan = &work->plan;
  const int64_t bytes = plan->element_bytes, rows = plan->loops->rows, tiles = padded_channels(plan) / rows;
  for (int64_t i = begin; i < end; i++) {
    const NdConvPhase *phase = &plan->phases[i / tiles / plan->groups];
    const int64_t group = i / tiles % plan->groups, channel = i % tiles * rows;
    const char *from = work->weights + (group * plan->weights_group + channel * plan->weights_row) * bytes;
    plan->loops->pack(from, plan->weights_row, phase->taps, phase->tap_count,
                      nd_min(rows, plan->channels_out - channel),
                      packed_of(work, phase, group) + channel * phase->tap_count * bytes);
  }
}

/* True if weights are read often enough to be worth a copy of `bytes`. */
static bool is_packed(const NdConvPlan *plan, uint64_t bytes) {
  const int64_t pixels = plan->y.grid * plan->x.grid * plan->batch;
  if (plan->way == ND_CONV_POINTS) return true;
  if (plan->way != ND_CONV_PANELS || !nd_conv_gathers_all(plan)) return false;
  return pixels >= PACKED_PIXELS || (pixels >= PACKED_FEW && bytes <= PACKED_BYTES);
}

/* Packs the weights where many pixels use them; false when out of memory. */
static bool pack_weights(Conv *work) {
  const NdConvPlan *plan = &work->plan;
  const int64_t tiles = padded_channels(plan) / plan->loops->rows;
  int64_t taps = 0;
  for (int64_t p = 0; p < plan->phase_count; p++) taps += plan->phases[p].tap_count;
  const uint64_t bytes = (uint64_t)(taps * plan->groups * padded_channels(plan) * plan->element_bytes);
  if (bytes == 0 || !is_packed(plan, bytes)) return true;
  work->packed_bytes = bytes;
  work->packed = (char *)nd_pool_allocate(plan->nd->pool, bytes);
  if (!work->packed) return false;
  nd_parallel_for(plan->nd, plan->phase_count * plan->groups * tiles, 1 + 4096 / (taps + 1), pack_body, work);
  return true;
}

/* What all products of a phase of an item have in common. */
static NdConvProduct product_of(const Conv *work, const Scratch *scratch, const NdConvPhase *phase,
                                const NdConvItem *item, int64_t first_channel) {
  const NdConvPlan *plan = &work->plan;
  const int64_t bytes = plan->element_bytes, channel = item->group * plan->channels_out + first_channel;
  NdConvProduct product = {.plane = plan->y.out * plan->x.out, .step = plan->x.out_step, .rounds = 1};
  product.channels = nd_min(work->share, plan->channels_out - first_channel);
  product.weights = work->weights + (item->group * plan->weights_group + first_channel * plan->weights_row) * bytes;
  product.weights_row = plan->weights_row;
  if (work->packed) {
    product.packed = true;
    product.weights = packed_of(work, phase, item->group) + first_channel * phase->tap_count * bytes;
    product.weights_row = phase->tap_count;
  }
  product.bias = work->bias ? work->bias + channel * bytes : NULL;
  product.partial = scratch->copy + scratch->partial_at;
  product.partial_row = partial_row(plan);
  return product;
}

/* One phase of an item whose lanes are images: sums, which are written later. */
static void sum_images(const Conv *work, const NdConvPhase *phase, const NdConvGrid *grid, const char *input,
                       NdConvProduct *product) {
  const NdConvPlan *plan = &work->plan;
  const char *weights = (const char *)product->weights;
  const int64_t kernel = phase->tap_count / plan->channels_in, bytes = plan->element_bytes;
  const int64_t channels = nd_max(1, work->depth / nd_max(kernel, 1));
  product->input_step = plan->channel;
  product->weights_step = plan->weights_channel;
  for (int64_t done = 0; done < plan->channels_in; done += product->rounds) {
    product->rounds = nd_min(channels, plan->channels_in - done);
    product->first = done == 0;
    product->input = input + done * product->input_step * bytes;
    product->weights = weights + done * product->weights_step * bytes;
    multiply_images(work, grid, product);
  }
}

/* An item of a group of one channel. */
static void run_plane(const Conv *work, const NdConvItem *item, const NdConvProduct *product, const void *input,
                      char *output) {
  const NdConvPhase *phase = work->plan.phases;
  NdConvPlane plane = {.input = input, .weights = product->weights, .bias = product->bias, .output = output};
  plane.taps = phase->taps;
  plane.tap_count = phase->tap_count;
  plane.square = work->plan.square;
  plane.rows = item->rows;
  plane.columns = phase->columns;
  plane.row_width = work->plan.row_width;
  work->plan.loops->plane(&plane);
}

/* An item whose windows are one number. */
static void run_points(const Conv *work, const NdConvItem *item, const NdConvProduct *product, const void *input,
                       char *output) {
  const NdConvPlan *plan = &work->plan;
  const int64_t bytes = plan->element_bytes, taps = plan->phases->tap_count;
  NdConvPoints points = {.bias = product->bias, .output = output, .partial = product->partial};
  points.plane = product->plane;
  points.pixels = item->rows;
  points.channels = product->channels;
  points.weights_row = product->weights_row;
  for (int64_t done = 0; done < taps; done += points.depth) {
    points.depth = nd_min(work->depth, taps - done);
    points.first = done == 0;
    points.last = done + points.depth == taps;
    points.input = (const char *)input + done * points.plane * bytes;
    points.weights = (const char *)product->weights + done * plan->loops->rows * bytes;
    plan->loops->points(&points);
  }
}

/* One phase of an item; output is that of the phase's first pixel in the item. */
static void run_phase(const Conv *work, const Scratch *scratch, const NdConvPhase *phase, const NdConvItem *item,
                      int64_t first_channel, const void *input, char *output) {
  const NdConvPlan *plan = &work->plan;
  const NdConvGrid *grid = item->last ? &phase->last : &phase->whole;
  NdConvProduct product = product_of(work, scratch, phase, item, first_channel);
  if (plan->way == ND_CONV_IMAGES) {
    sum_images(work, phase, grid, (const char *)input, &product);
    return;
  }
  if (plan->way == ND_CONV_ROWS) {
    run_plane(work, item, &product, input, output);
    return;
  }
  if (plan->way == ND_CONV_POINTS) {
    run_points(work, item, &product, input, output);
    return;
  }
  product.pieces = grid->pieces;
  product.output = output;
  product.input = grid->needs_gather ? scratch->copy + scratch->columns_at : input;
  for (int64_t done = 0; done == 0 || done < phase->tap_count; done += nd_max(product.depth, 1)) {
    product.depth = nd_min(work->depth, phase->tap_count - done);
    product.first = done == 0;
    product.last = done + product.depth == phase->tap_count;
    product.taps = grid->needs_gather ? scratch_taps(scratch) : phase->taps + done;
    if (grid->needs_gather) gather_tiles(work, scratch, phase, grid, input, done, product.depth);
    multiply_tiles(work, grid, &product);
    if (work->packed)
      product.weights = (const char *)product.weights + product.depth * plan->loops->rows * plan->element_bytes;
  }
}

/* The sums of an item whose lanes are images go to their places. */
static void write_images(const Conv *work, const Scratch *scratch, const NdConvItem *item, int64_t first_channel) {
  const NdConvPlan *plan = &work->plan;
  const int64_t plane = plan->y.out * plan->x.out, all = plan->groups * plan->channels_out;
  const int64_t row = item->first_row * plan->y.out_step;
  const int64_t pixels = nd_min(item->rows * plan->y.out_step, plan->y.out - row) * plan->x.out,
                bytes = plan->element_bytes;
  const int64_t channel = item->first_image * all + item->group * plan->channels_out + first_channel;
  const char *from = scratch->copy + scratch->partial_at;
  char *to = work->out + (channel * plane + row * plan->x.out) * bytes;
  for (int64_t c = nd_min(work->share, plan->channels_out - first_channel); c > 0; c--) {
    plan->loops->transpose(from, plan->loops->lanes, pixels, item->images, to, all * plane);
    from += partial_row(plan) * bytes;
    to += plane * bytes;
  }
}

/* Items are pairs of item and input channel. */
static void BURN_API_CALL copy_body(void *context, int64_t begin, int64_t end) {
  const Conv *work = (const Conv *)context;
  const NdConvPlan *plan = &work->plan;
  while (begin < end) {
    const int64_t number = begin / plan->channels_in, first = begin % plan->channels_in;
    const int64_t channels = nd_min(plan->channels_in - first, end - begin);
    const NdConvItem item = nd_conv_item(plan, number);
    char *copy = work->copies + number * work->copy_bytes;
    nd_conv_copy(plan, &item, work->x, first, channels, copy + first * plan->channel * plan->element_bytes);
    if (first + channels == plan->channels_in) nd_conv_copy_end(plan, plan->channels_in, copy);
    begin += channels;
  }
}

/* Items are pairs of pixels and share. */
static void BURN_API_CALL conv_body(void *context, int64_t begin, int64_t end) {
  Conv *work = (Conv *)context;
  const NdConvPlan *plan = &work->plan;
  const void *input = NULL;
  int64_t copied = -1;
  Scratch scratch;
  if (!scratch_open(work, &scratch)) {
    atomic_store_explicit(&work->out_of_memory, true, memory_order_relaxed);
    return;
  }
  for (int64_t number = begin; number < end; number++) {
    const int64_t first_channel = number % work->shares * work->share;
    const NdConvItem item = nd_conv_item(plan, number / work->shares);
    const int64_t channel = (item.first_image * plan->groups + item.group) * plan->channels_out + first_channel;
    if (work->copies) {
      input = work->copies + number / work->shares * work->copy_bytes;
    } else if (number / work->shares != copied) {
      input = nd_conv_input(plan, &item, work->x, 0, plan->channels_in, scratch.copy);
      copied = number / work->shares;
    }
    for (int64_t p = 0; p < plan->phase_count; p++) {
      const NdConvPhase *phase = &plan->phases[p];
      const int64_t row = phase->first_row + item.first_row * plan->y.out_step;
      const int64_t place = (channel * plan->y.out + row) * plan->x.out + phase->first_column;
      run_phase(work, &scratch, phase, &item, first_channel, input, work->out + place * plan->element_bytes);
    }
    if (plan->way == ND_CONV_IMAGES) write_images(work, &scratch, &item, first_channel);
  }
  nd_pool_free(plan->nd->pool, scratch.copy, scratch.bytes);
}

/* Cuts the output channels where there are not enough items for the threads. */
static void cut_channels(Conv *work) {
  const NdConvPlan *plan = &work->plan;
  const int64_t threads = (int64_t)plan->nd->host->thread_count(), wanted = nd_ceil_div(threads * 4, work->items);
  const int64_t rows = plan->loops->rows, sharing = nd_min(wanted, nd_max(1, plan->channels_out / SHARE_CHANNELS));
  const int64_t share = nd_round_up(nd_ceil_div(plan->channels_out, sharing), rows);
  work->share = nd_conv_share(share, rows, plan->channels_out, work->items, threads);
  work->shares = nd_ceil_div(plan->channels_out, work->share);
}

/* Copies the input of all items where several shares need it; false when out of memory. */
static bool copy_items(Conv *work) {
  const NdConvPlan *plan = &work->plan;
  const int64_t elements = nd_conv_copy_elements(plan, plan->channels_in);
  work->copy_bytes = (int64_t)nd_round_64(elements * plan->element_bytes);
  if (work->shares == 1 || elements == 0) return true;
  work->copies = (char *)nd_pool_allocate(plan->nd->pool, (uint64_t)(work->items * work->copy_bytes));
  if (!work->copies) return false;
  nd_parallel_for(plan->nd, work->items * plan->channels_in, 1 + COPY_GRAIN / (plan->channel + 1), copy_body, work);
  return true;
}

/* Cuts the work and runs it; false when out of memory. */
static bool conv_run(Conv *work) {
  const NdConvPlan *plan = &work->plan;
  double flops = 0;
  work->items = plan->blocks * plan->groups * plan->bands;
  cut_channels(work);
  for (int64_t p = 0; p < plan->phase_count; p++) {
    work->max_taps = nd_max(work->max_taps, plan->phases[p].tap_count);
    flops += 2 * (double)plan->phases[p].tap_count * (double)plan->phases[p].columns;
  }
  flops *= (double)(plan->images * plan->band * work->share);
  work->depth = nd_min(plan->depth, nd_max(work->max_taps, 1));
  atomic_init(&work->out_of_memory, false);
  const bool is_ready = copy_items(work) && pack_weights(work);
  if (is_ready) {
    nd_pool_reserve(plan->nd->pool, scratch_measure(work).bytes, plan->nd->host->thread_count());
    nd_parallel_for_flushed(plan->nd, work->items * work->shares, 1 + (int64_t)(5e5 / (flops + 1)), conv_body, work);
  }
  if (work->packed) nd_pool_free(plan->nd->pool, work->packed, work->packed_bytes);
  if (work->copies) nd_pool_free(plan->nd->pool, work->copies, (uint64_t)(work->items * work->copy_bytes));
  return is_ready && !atomic_load_explicit(&work->out_of_memory, memory_order_relaxed);
}

/* Direct sums. */
static bool conv_direct(Ndarray *nd, const NdConvShape *shape, bool transpose, const NdConvData *data) {
  Conv work = {.x = (const char *)data->x, .weights = (const char *)data->weights, .bias = (const char *)data->bias};
  bool done = transpose ? nd_conv_plan_transpose(&work.plan, nd, shape) : nd_conv_plan_forward(&work.plan, nd, shape);
  work.out = (char *)data->out;
  done = done && conv_run(&work);
  nd_conv_plan_close(&work.plan);
  return done;
}

/* Both ops: x, weight, bias -> output. */
static BurnStatus conv_any(Ndarray *nd, const BurnOpCall *call, const NdConvShape *shape, bool transpose) {
  NdTensor *out = nd_new(nd, call->output_descs), *x, *weight, *bias = NULL;
  bool done = false;
  if (!out) return nd_out_of_memory(nd, call);
  if (burn_desc_count(call->output_descs) == 0) return nd_finish(nd, call, out);
  x = nd_contiguous(nd, nd_tensor(call->inputs[0]));
  weight = nd_contiguous(nd, nd_tensor(call->inputs[1]));
  if (call->inputs[2]) bias = nd_contiguous(nd, nd_tensor(call->inputs[2]));
  if (x && weight && (bias || !call->inputs[2])) {
    const NdConvData data = {nd_data(x), nd_data(weight), bias ? nd_data(bias) : NULL, nd_data(out)};
    if (nd_conv_suits_winograd(nd, shape, transpose))
      done = nd_conv_winograd(nd, shape, transpose, &data);
    else if (nd_conv_suits_planes(nd, shape, transpose))
      done = nd_conv_planes(nd, shape, transpose, &data);
    else
      done = conv_direct(nd, shape, transpose, &data);
  }
  nd_release(nd, x);
  nd_release(nd, weight);
  nd_release(nd, bias);
  if (done) return nd_finish(nd, call, out);
  nd_release(nd, out);
  return nd_out_of_memory(nd, call);
}

static BurnStatus conv2d(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_conv2d *attrs = BURN_ATTRS(conv2d, call);
  const NdConvShape shape = {call->inputs[0]->shape,   call->output_descs->shape, call->inputs[1]->shape + 2,
                             attrs->stride.value.i64s, attrs->padding.value.i64s, attrs->dilation.value.i64s,
                             attrs->groups.value.i64,  call->output_descs->dtype};
  return conv_any(nd, call, &shape, false);
}

static BurnStatus conv_transpose2d(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_conv_transpose2d *attrs = BURN_ATTRS(conv_transpose2d, call);
  const NdConvShape shape = {call->inputs[0]->shape,   call->output_descs->shape, call->inputs[1]->shape + 2,
                             attrs->stride.value.i64s, attrs->padding.value.i64s, attrs->dilation.value.i64s,
                             attrs->groups.value.i64,  call->output_descs->dtype};
  return conv_any(nd, call, &shape, true);
}

const NdKernelRow nd_conv_kernels[] = {
    {BURN_OP_conv2d, conv2d},
    {BURN_OP_conv2d_weight_backward, nd_conv2d_weight_backward},
    {BURN_OP_conv_transpose2d, conv_transpose2d},
    {0, NULL},
};
