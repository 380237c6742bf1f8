/* ndarray_conv_winograd.c - convolutions with kernels of 3x3 and stride 1, by Winograd's algorithm F(2x2, 3x3).
 *
 * The output is cut into tiles of two by two numbers, each of which sees four by four of the input. In another basis a
 * tile of the output is 16 products of numbers instead of 36, one for each place of a tile; so a convolution is 16
 * products of matrices, [channels out, channels in] times [channels in, tiles]. To change the basis takes additions and
 * halves only (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015).
 *
 * The work is cut into items, which are some rows of tiles. Where there are many tiles, weights are changed once, and
 * each item's input before it is multiplied. Where there are few, it is the other way round: all of the input once, and
 * then the weights of a share of the output channels, which need not leave the cache. No sum is cut, so the cuts may
 * follow the number of threads. */
#include "ndarray_conv_tiling.h"

#include <string.h>

enum {
  ITEM_FLOATS = 64 * 1024, /* of one place of an item's input: they should stay in the second-level cache */
  ITEM_MAX = 200,          /* tiles of an item .. */
  ITEM_MIN = 48,
  INPUTS_GRAIN = 4096, /* tiles of a channel that are worth a chunk of a parallel loop */
  FILTERS_GRAIN = 512, /* input channels of a panel, the same */
  SHARE = 32,          /* output channels of a share */
};

/* What the bodies of the parallel loops see. */
typedef struct Winograd {
  Ndarray *nd;
  NdConvTiling tiling;
  const float *weights, *bias; /* no bias: NULL */
  float *out;
  bool flip;                            /* the taps of a kernel are counted backwards */
  int64_t weights_row, weights_channel; /* elements from output to output channel, and from input to input channel */
  int64_t panels;
  bool is_shared;        /* weights are changed share by share */
  int64_t share, shares; /* output channels; all of them unless is_shared */
  int64_t filters_plane; /* elements from place to place of weights, */
  int64_t sums_plane;    /* of sums */
  int64_t inputs_item;   /* and of an item's input in all */
  float *filters;        /* [place, panel, channel in, lane] of all panels, or NULL if is_shared */
  float *inputs;         /* [item, place, channel in, tile] if is_shared, else NULL */
  atomic_bool out_of_memory;
} Winograd;

/* -- weights ---------------------------------------------------------------------------------- */

/* from[channel][tap][lane] of `channels` input channels and a panel. */
static void transpose_weights(const Winograd *w, int64_t channel, int64_t channels, int64_t panel, float *to) {
  const int64_t lanes = w->tiling.loops->panel, first = panel * lanes,
                count = nd_min(lanes, w->tiling.channels_out - first);
  const float *from = w->weights + first * w->weights_row + channel * w->weights_channel;
  if (w->weights_channel == ND_TILING_TAPS) {
    w->tiling.loops->transpose(from, w->weights_row, count, channels * ND_TILING_TAPS, to, lanes);
    return;
  }
  for (int64_t c = 0; c < channels; c++, from += w->weights_channel, to += ND_TILING_TAPS * lanes)
    w->tiling.loops->transpose(from, w->weights_row, count, ND_TILING_TAPS, to, lanes);
}

/* Panels first .. end-1; `to` is where that of the first one goes. */
static void change_weights(const Winograd *w, int64_t first, int64_t end, float *to) {
  float buffer[ND_TILING_CHUNK * ND_TILING_TAPS * ND_CONV_LANES];
  NdConvFilters filters = {.from = buffer, .to = to, .plane = w->filters_plane, .flip = w->flip};
  memset(buffer, 0, sizeof buffer);
  for (int64_t panel = first; panel < end; panel++) {
    if (panel + 1 == w->panels) memset(buffer, 0, sizeof buffer); /* lanes without a channel */
    for (int64_t c = 0; c < w->tiling.channels_in; c += filters.channels) {
      filters.channels = nd_min(ND_TILING_CHUNK, w->tiling.channels_in - c);
      transpose_weights(w, c, filters.channels, panel, buffer);
      w->tiling.loops->filters(&filters);
      filters.to = (float *)filters.to + filters.channels * w->tiling.loops->panel;
    }
  }
}

/* Loop items are panels. */
static void BURN_API_CALL filters_body(void *context, int64_t begin, int64_t end) {
  const Winograd *w = (const Winograd *)context;
  change_weights(w, begin, end, w->filters + begin * w->tiling.loops->panel * w->tiling.channels_in);
}

/* -- items ------------------------------------------------------------------------------------ */

/* sums[place][channel][tile] of an item and a share, whose weights begin at `filters`. */
static void multiply(const Winograd *w, const NdConvTilingItem *item, int64_t share, const float *filters,
                     const float *inputs, float *sums) {
  NdConvPlace place = {.depth = w->tiling.channels_in, .tiles = item->rows * item->columns, .row = w->tiling.row};
  place.channels = nd_round_up(nd_min(w->share, w->tiling.channels_out - share * w->share), w->tiling.loops->panel);
  for (int64_t i = 0; i < ND_CONV_PLACES; i++) {
    place.weights = filters + i * w->filters_plane;
    place.input = inputs + i * w->tiling.plane;
    place.sums = sums + i * w->sums_plane;
    w->tiling.loops->place(&place);
  }
}

static void change_back(const Winograd *w, const NdConvTilingItem *item, int64_t share, float *sums) {
  const int64_t first = share * w->share, last = nd_min(first + w->share, w->tiling.channels_out);
  NdConvTiles tiles = {.plane = w->sums_plane, .columns = item->columns, .out_width = w->tiling.out_width};
  NdConvTilingSegment s;
  tiles.out_columns = nd_min(2 * item->columns, w->tiling.out_width - 2 * item->first_column);
  for (int64_t c = first; c < last; c++)
    for (int64_t before = 0; nd_conv_tiling_segment(&w->tiling, item, before, &s); before += s.rows) {
      const int64_t row = (s.image * w->tiling.channels_out + c) * w->tiling.out_height + 2 * s.first_row;
      tiles.places = sums + (c - first) * w->tiling.row + before * item->columns;
      tiles.rows = s.rows;
      tiles.bias = w->bias ? w->bias[c] : 0;
      tiles.out = w->out + row * w->tiling.out_width + 2 * item->first_column;
      tiles.out_rows = nd_min(2 * s.rows, w->tiling.out_height - 2 * s.first_row);
      w->tiling.loops->untile(&tiles);
    }
}

/* Memory of one running body: two half planes, places of an item's input or of a share's weights, and sums. */
typedef struct Scratch {
  float *copy, *places, *sums;
  uint64_t bytes;
} Scratch;

static Scratch scratch_measure(const Winograd *w) {
  const int64_t places = w->is_shared ? ND_CONV_PLACES * w->filters_plane : w->inputs_item;
  const int64_t floats = 2 * w->tiling.copy_plane + places + ND_CONV_PLACES * w->sums_plane + ND_CONV_LANES;
  return (Scratch){.bytes = (uint64_t)floats * sizeof(float)};
}

static bool scratch_open(Winograd *w, Scratch *scratch) {
  *scratch = scratch_measure(w);
  scratch->copy = (float *)nd_pool_allocate(w->nd->pool, scratch->bytes);
  if (!scratch->copy) {
    atomic_store_explicit(&w->out_of_memory, true, memory_order_relaxed);
    return false;
  }
  memset(scratch->copy, 0,
         (size_t)(2 * w->tiling.copy_plane) * sizeof(float)); /* whole vectors are read beyond its end */
  scratch->places = scratch->copy + 2 * w->tiling.copy_plane;
  scratch->sums = scratch->places + (w->is_shared ? ND_CONV_PLACES * w->filters_plane : w->inputs_item);
  return true;
}

/* Many tiles: loop items are items, whose input is changed here. */
static void BURN_API_CALL items_body(void *context, int64_t begin, int64_t end) {
  Winograd *w = (Winograd *)context;
  Scratch scratch;
  if (!scratch_open(w, &scratch)) return;
  for (int64_t i = begin; i < end; i++) {
    const NdConvTilingItem item = nd_conv_tiling_item(&w->tiling, i);
    nd_conv_tiling_input(&w->tiling, &item, 0, w->tiling.channels_in, scratch.copy, scratch.places);
    multiply(w, &item, 0, w->filters, scratch.places, scratch.sums);
    change_back(w, &item, 0, scratch.sums);
  }
  nd_pool_free(w->nd->pool, scratch.copy, scratch.bytes);
}

/* Loop items are pairs of item and input channel. */
static void BURN_API_CALL inputs_body(void *context, int64_t begin, int64_t end) {
  Winograd *w = (Winograd *)context;
  Scratch scratch;
  if (!scratch_open(w, &scratch)) return;
  for (int64_t i = begin, channels; i < end; i += channels) {
    const int64_t number = i / w->tiling.channels_in, first = i % w->tiling.channels_in;
    const NdConvTilingItem item = nd_conv_tiling_item(&w->tiling, number);
    channels = nd_min(w->tiling.channels_in - first, end - i);
    nd_conv_tiling_input(&w->tiling, &item, first, channels, scratch.copy,
                         w->inputs + number * w->inputs_item + first * w->tiling.row);
  }
  nd_pool_free(w->nd->pool, scratch.copy, scratch.bytes);
}

/* Many channels, few tiles: loop items are shares, whose weights are changed here. */
static void BURN_API_CALL shares_body(void *context, int64_t begin, int64_t end) {
  Winograd *w = (Winograd *)context;
  const int64_t panels = w->share / w->tiling.loops->panel;
  Scratch scratch;
  if (!scratch_open(w, &scratch)) return;
  for (int64_t share = begin; share < end; share++) {
    change_weights(w, share * panels, nd_min((share + 1) * panels, w->panels), scratch.places);
    for (int64_t i = 0; i < w->tiling.items; i++) {
      const NdConvTilingItem item = nd_conv_tiling_item(&w->tiling, i);
      multiply(w, &item, share, scratch.places, w->inputs + i * w->inputs_item, scratch.sums);
      change_back(w, &item, share, scratch.sums);
    }
  }
  nd_pool_free(w->nd->pool, scratch.copy, scratch.bytes);
}

/* -- the whole -------------------------------------------------------------------------------- */

/* Cuts the work for so many threads. */
static void cut(Winograd *w, int64_t threads) {
  NdConvTiling *t = &w->tiling;
  const int64_t panel = t->loops->panel, tiles = t->batch * t->rows * t->columns;
  const int64_t most = nd_max(ITEM_MIN, nd_min(ITEM_MAX, ITEM_FLOATS / t->channels_in));
  w->share = nd_conv_share(nd_round_up(SHARE, panel), panel, t->channels_out, 1, threads);
  w->shares = nd_ceil_div(t->channels_out, w->share);
  w->panels = nd_ceil_div(t->channels_out, panel);
  nd_conv_tiling_cut(t, nd_max(ITEM_MIN, nd_min(most, nd_ceil_div(tiles, threads))));
  w->is_shared = 2 * tiles < t->channels_out || t->items < nd_min(threads, w->shares);
  if (w->is_shared) {
    nd_conv_tiling_cut(t, most);
  } else {
    w->share = w->panels * panel;
    w->shares = 1;
  }
  nd_conv_tiling_settle(t, 0);
  w->filters_plane = w->share * t->channels_in + ND_TILING_LINE;
  w->sums_plane = w->share * t->row + ND_TILING_LINE;
  w->inputs_item = ND_CONV_PLACES * t->plane;
}

/* False when out of memory. */
static bool run(Winograd *w) {
  const double flops =
      2. * ND_CONV_PLACES * (double)(w->tiling.band * w->tiling.strip * w->share) * (double)w->tiling.channels_in;
  const int64_t floats = w->is_shared ? w->tiling.items * w->inputs_item : ND_CONV_PLACES * w->filters_plane;
  const uint64_t bytes = (uint64_t)floats * sizeof(float);
  float *memory = (float *)nd_pool_allocate(w->nd->pool, bytes);
  if (!memory) return false;
  atomic_init(&w->out_of_memory, false);
  nd_pool_reserve(w->nd->pool, scratch_measure(w).bytes, w->nd->host->thread_count());
  if (w->is_shared) {
    w->inputs = memory;
    nd_parallel_for_flushed(w->nd, w->tiling.items * w->tiling.channels_in, 1 + INPUTS_GRAIN / w->tiling.row,
                            inputs_body, w);
    nd_parallel_for_flushed(w->nd, w->shares, 1 + (int64_t)(5e5 / (flops * (double)w->tiling.items + 1)), shares_body,
                            w);
  } else {
    w->filters = memory;
    nd_parallel_for_flushed(w->nd, w->panels, 1 + FILTERS_GRAIN / w->tiling.channels_in, filters_body, w);
    nd_parallel_for_flushed(w->nd, w->tiling.items, 1 + (int64_t)(5e5 / (flops + 1)), items_body, w);
  }
  nd_pool_free(w->nd->pool, memory, bytes);
  return !atomic_load_explicit(&w->out_of_memory, memory_order_relaxed);
}

bool nd_conv_suits_winograd(const Ndarray *nd, const NdConvShape *shape, bool transpose) {
  NdConvTiling tiling;
  return nd_conv_tiling(&tiling, nd, shape, transpose);
}

bool nd_conv_winograd(Ndarray *nd, const NdConvShape *shape, bool transpose, const NdConvData *data) {
  Winograd w = {.nd = nd, .flip = transpose};
  NdConvTiling *t = &w.tiling;
  (void)nd_conv_tiling(t, nd, shape, transpose);
  t->x = (const float *)data->x;
  w.weights = (const float *)data->weights;
  w.bias = (const float *)data->bias;
  w.out = (float *)data->out;
  w.weights_row = transpose ? ND_TILING_TAPS : t->channels_in * ND_TILING_TAPS;
  w.weights_channel = transpose ? t->channels_out * ND_TILING_TAPS : ND_TILING_TAPS;
  cut(&w, (int64_t)nd->host->thread_count());
  return run(&w);
}
