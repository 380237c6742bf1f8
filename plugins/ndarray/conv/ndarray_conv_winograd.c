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
#include "ndarray_conv.h"

#include <string.h>

enum {
  KERNEL = 3,
  TAPS = KERNEL * KERNEL,
  CHUNK = 16,              /* input channels whose weights are transposed at once */
  ITEM_FLOATS = 64 * 1024, /* of one place of an item's input: they should stay in the second-level cache */
  ITEM_MOST = 192,         /* tiles of an item .. */
  ITEM_LEAST = 48,
  INPUTS_GRAIN = 4096,       /* tiles of a channel that are worth a chunk of a parallel loop */
  FILTERS_GRAIN = 512,       /* input channels of a panel, the same */
  SHARE = 32,                /* output channels of a share */
  LEAST_TILES = 9,           /* of an image, whose weights take longer than its products else */
  TILE_WORK = 100,           /* what a change of basis of one tile and channel takes, in multiply-adds */
  LINE = 64 / sizeof(float), /* elements */
};

/* What the bodies of the parallel loops see. */
typedef struct Winograd {
  Ndarray *nd;
  const NdConvLoops *loops;
  const float *x, *weights, *bias; /* no bias: NULL */
  float *out;
  int64_t batch, channels_in, channels_out, height, width, out_height, out_width, pad[2];
  bool flip;                            /* the taps of a kernel are counted backwards */
  int64_t weights_row, weights_channel; /* elements from output to output channel, and from input to input channel */
  int64_t rows, columns;                /* of tiles of an image */
  int64_t strip, strips;                /* columns of an item, and how many strips there are */
  int64_t band, bands;                  /* rows of an item, which may belong to several images */
  int64_t items, panels;
  bool is_shared;                 /* weights are changed share by share */
  int64_t share, shares;          /* output channels; all of them unless is_shared */
  int64_t row, plane, sums_plane; /* elements from channel to channel of an item, and from place to place */
  int64_t filters_plane;          /* the same of weights */
  int64_t inputs_item;            /* elements of an item's input */
  int64_t copy_row, copy_plane;   /* elements of the even (or odd) columns of a padded plane */
  float *filters;                 /* [place, panel, channel in, lane] of all panels, or NULL if is_shared */
  float *inputs;                  /* [item, place, channel in, tile] if is_shared, else NULL */
  atomic_bool out_of_memory;
} Winograd;

/* Rows of tiles of the whole batch, and columns. */
typedef struct Item {
  int64_t first_row, rows, first_column, columns;
} Item;

/* Those of them that belong to one image; `before` come before them. */
typedef struct Segment {
  int64_t image, first_row, rows, before;
} Segment;

static Item item_at(const Winograd *w, int64_t number) {
  Item item = {.first_row = number / w->strips * w->band, .first_column = number % w->strips * w->strip};
  item.rows = nd_min(w->band, w->batch * w->rows - item.first_row);
  item.columns = nd_min(w->strip, w->columns - item.first_column);
  return item;
}

/* The segment after `before` rows of an item; false at its end. */
static bool next_segment(const Winograd *w, const Item *item, int64_t before, Segment *segment) {
  const int64_t row = item->first_row + before;
  if (before >= item->rows) return false;
  *segment = (Segment){.image = row / w->rows, .first_row = row % w->rows, .before = before};
  segment->rows = nd_min(w->rows - segment->first_row, item->rows - before);
  return true;
}

/* -- weights ---------------------------------------------------------------------------------- */

/* from[channel][tap][lane] of `channels` input channels and a panel. */
static void transpose_weights(const Winograd *w, int64_t channel, int64_t channels, int64_t panel, float *to) {
  const int64_t lanes = w->loops->panel, first = panel * lanes, count = nd_min(lanes, w->channels_out - first);
  const float *from = w->weights + first * w->weights_row + channel * w->weights_channel;
  if (w->weights_channel == TAPS) {
    w->loops->transpose(from, w->weights_row, count, channels * TAPS, to, lanes);
    return;
  }
  for (int64_t c = 0; c < channels; c++, from += w->weights_channel, to += TAPS * lanes)
    w->loops->transpose(from, w->weights_row, count, TAPS, to, lanes);
}

/* Panels first .. end-1; `to` is where that of the first one goes. */
static void change_weights(const Winograd *w, int64_t first, int64_t end, float *to) {
  float buffer[CHUNK * TAPS * ND_CONV_LANES];
  NdConvFilters filters = {.from = buffer, .to = to, .plane = w->filters_plane, .flip = w->flip};
  memset(buffer, 0, sizeof buffer);
  for (int64_t panel = first; panel < end; panel++) {
    if (panel + 1 == w->panels) memset(buffer, 0, sizeof buffer); /* lanes without a channel */
    for (int64_t c = 0; c < w->channels_in; c += filters.channels) {
      filters.channels = nd_min(CHUNK, w->channels_in - c);
      transpose_weights(w, c, filters.channels, panel, buffer);
      w->loops->filters(&filters);
      filters.to = (float *)filters.to + filters.channels * w->loops->panel;
    }
  }
}

/* Loop items are panels. */
static void BURN_API_CALL filters_body(void *context, int64_t begin, int64_t end) {
  const Winograd *w = (const Winograd *)context;
  change_weights(w, begin, end, w->filters + begin * w->loops->panel * w->channels_in);
}

/* -- input ------------------------------------------------------------------------------------ */

/* The places of `channels` input channels of an item from `channel` on; `copy` is the memory for two half planes. */
static void change_input(const Winograd *w, const Item *item, int64_t channel, int64_t channels, float *copy,
                         float *places) {
  const int64_t plane = w->height * w->width;
  NdConvCopy half = {.to = copy, .odd = copy + w->copy_plane, .height = w->height, .width = w->width, .row_step = 1};
  NdConvTiles tiles = {.even = copy, .odd = copy + w->copy_plane, .row = w->copy_row, .columns = item->columns};
  Segment s;
  half.first_column = 2 * item->first_column - w->pad[1];
  half.column_step = 2;
  half.columns = w->copy_row;
  tiles.plane = w->plane;
  for (int64_t c = channel; c < channel + channels; c++)
    for (int64_t before = 0; next_segment(w, item, before, &s); before += s.rows) {
      half.from = w->x + (s.image * w->channels_in + c) * plane;
      half.first_row = 2 * s.first_row - w->pad[0];
      half.rows = 2 * s.rows + 2;
      half.ahead = plane;
      w->loops->copy(&half);
      tiles.places = places + c * w->row + before * item->columns;
      tiles.rows = s.rows;
      w->loops->tiles(&tiles);
    }
}

/* -- items ------------------------------------------------------------------------------------ */

/* sums[place][channel][tile] of an item and a share, whose weights begin at `filters`. */
static void multiply(const Winograd *w, const Item *item, int64_t share, const float *filters, const float *inputs,
                     float *sums) {
  NdConvPlace place = {.depth = w->channels_in, .tiles = item->rows * item->columns, .row = w->row};
  place.channels = nd_round_up(nd_min(w->share, w->channels_out - share * w->share), w->loops->panel);
  for (int64_t i = 0; i < ND_CONV_PLACES; i++) {
    place.weights = filters + i * w->filters_plane;
    place.input = inputs + i * w->plane;
    place.sums = sums + i * w->sums_plane;
    w->loops->place(&place);
  }
}

static void change_back(const Winograd *w, const Item *item, int64_t share, float *sums) {
  const int64_t first = share * w->share, last = nd_min(first + w->share, w->channels_out);
  NdConvTiles tiles = {.plane = w->sums_plane, .columns = item->columns, .out_width = w->out_width};
  Segment s;
  tiles.out_columns = nd_min(2 * item->columns, w->out_width - 2 * item->first_column);
  for (int64_t c = first; c < last; c++)
    for (int64_t before = 0; next_segment(w, item, before, &s); before += s.rows) {
      const int64_t row = (s.image * w->channels_out + c) * w->out_height + 2 * s.first_row;
      tiles.places = sums + (c - first) * w->row + before * item->columns;
      tiles.rows = s.rows;
      tiles.bias = w->bias ? w->bias[c] : 0;
      tiles.out = w->out + row * w->out_width + 2 * item->first_column;
      tiles.out_rows = nd_min(2 * s.rows, w->out_height - 2 * s.first_row);
      w->loops->untile(&tiles);
    }
}

/* Memory of one running body: two half planes, places of an item's input or of a share's weights, and sums. */
typedef struct Scratch {
  float *copy, *places, *sums;
  uint64_t bytes;
} Scratch;

static Scratch scratch_measure(const Winograd *w) {
  const int64_t places = w->is_shared ? ND_CONV_PLACES * w->filters_plane : w->inputs_item;
  const int64_t floats = 2 * w->copy_plane + places + ND_CONV_PLACES * w->sums_plane + ND_CONV_LANES;
  return (Scratch){.bytes = (uint64_t)floats * sizeof(float)};
}

static bool scratch_open(Winograd *w, Scratch *scratch) {
  *scratch = scratch_measure(w);
  scratch->copy = (float *)nd_pool_allocate(w->nd->pool, scratch->bytes);
  if (!scratch->copy) {
    atomic_store_explicit(&w->out_of_memory, true, memory_order_relaxed);
    return false;
  }
  memset(scratch->copy, 0, (size_t)(2 * w->copy_plane) * sizeof(float)); /* whole vectors are read beyond its end */
  scratch->places = scratch->copy + 2 * w->copy_plane;
  scratch->sums = scratch->places + (w->is_shared ? ND_CONV_PLACES * w->filters_plane : w->inputs_item);
  return true;
}

/* Many tiles: loop items are items, whose input is changed here. */
static void BURN_API_CALL items_body(void *context, int64_t begin, int64_t end) {
  Winograd *w = (Winograd *)context;
  Scratch scratch;
  if (!scratch_open(w, &scratch)) return;
  for (int64_t i = begin; i < end; i++) {
    const Item item = item_at(w, i);
    change_input(w, &item, 0, w->channels_in, scratch.copy, scratch.places);
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
    const int64_t number = i / w->channels_in, first = i % w->channels_in;
    const Item item = item_at(w, number);
    channels = nd_min(w->channels_in - first, end - i);
    change_input(w, &item, first, channels, scratch.copy, w->inputs + number * w->inputs_item);
  }
  nd_pool_free(w->nd->pool, scratch.copy, scratch.bytes);
}

/* Many channels, few tiles: loop items are shares, whose weights are changed here. */
static void BURN_API_CALL shares_body(void *context, int64_t begin, int64_t end) {
  Winograd *w = (Winograd *)context;
  const int64_t panels = w->share / w->loops->panel;
  Scratch scratch;
  if (!scratch_open(w, &scratch)) return;
  for (int64_t share = begin; share < end; share++) {
    change_weights(w, share * panels, nd_min((share + 1) * panels, w->panels), scratch.places);
    for (int64_t i = 0; i < w->items; i++) {
      const Item item = item_at(w, i);
      multiply(w, &item, share, scratch.places, w->inputs + i * w->inputs_item, scratch.sums);
      change_back(w, &item, share, scratch.sums);
    }
  }
  nd_pool_free(w->nd->pool, scratch.copy, scratch.bytes);
}

/* -- the whole -------------------------------------------------------------------------------- */

/* Items of about so many tiles, which are whole rows of strips. */
static void cut_items(Winograd *w, int64_t tiles) {
  const int64_t all = w->batch * w->rows;
  w->strips = nd_ceil_div(w->columns, 2 * tiles);
  w->strip = nd_ceil_div(w->columns, w->strips);
  w->strips = nd_ceil_div(w->columns, w->strip);
  w->bands = nd_ceil_div(all, nd_max(1, (tiles + w->strip / 2) / w->strip));
  w->band = nd_ceil_div(all, w->bands);
  w->bands = nd_ceil_div(all, w->band);
  w->items = w->bands * w->strips;
}

/* Cuts the work for so many threads. */
static void cut(Winograd *w, int64_t threads) {
  const int64_t lanes = w->loops->lanes, panel = w->loops->panel, tiles = w->batch * w->rows * w->columns;
  const int64_t most = nd_max(ITEM_LEAST, nd_min(ITEM_MOST, ITEM_FLOATS / w->channels_in));
  cut_items(w, most);
  w->share = nd_round_up(SHARE, panel);
  w->shares = nd_ceil_div(w->channels_out, w->share);
  w->is_shared = 2 * tiles < w->channels_out || w->items < nd_min(threads, w->shares);
  w->panels = nd_ceil_div(w->channels_out, panel);
  if (!w->is_shared) {
    w->share = w->panels * panel;
    w->shares = 1;
    cut_items(w, nd_max(ITEM_LEAST, nd_min(most, nd_ceil_div(tiles, threads))));
  }
  w->filters_plane = w->share * w->channels_in + LINE;
  /* Rows and planes at distances of a power of two would meet in the caches. */
  w->row = nd_round_up((w->band - 1) * w->strip + nd_round_up(w->strip, lanes), LINE);
  if (w->row / LINE % 2 == 0) w->row += LINE;
  w->plane = w->channels_in * w->row + LINE;
  w->sums_plane = w->share * w->row + LINE;
  w->inputs_item = ND_CONV_PLACES * w->plane;
  w->copy_row = nd_round_up(w->strip + 1, lanes);
  w->copy_plane = (2 * nd_min(w->band, w->rows) + 2) * w->copy_row + 2 * lanes;
}

/* False when out of memory. */
static bool run(Winograd *w) {
  const double flops = 2. * ND_CONV_PLACES * (double)(w->band * w->strip * w->share) * (double)w->channels_in;
  const int64_t floats = w->is_shared ? w->items * w->inputs_item : ND_CONV_PLACES * w->filters_plane;
  const uint64_t bytes = (uint64_t)floats * sizeof(float);
  float *memory = (float *)nd_pool_allocate(w->nd->pool, bytes);
  if (!memory) return false;
  atomic_init(&w->out_of_memory, false);
  nd_pool_reserve(w->nd->pool, scratch_measure(w).bytes, w->nd->host->thread_count());
  if (w->is_shared) {
    w->inputs = memory;
    nd_parallel_for_flushed(w->nd, w->items * w->channels_in, 1 + INPUTS_GRAIN / w->row, inputs_body, w);
    nd_parallel_for_flushed(w->nd, w->shares, 1 + (int64_t)(5e5 / (flops * (double)w->items + 1)), shares_body, w);
  } else {
    w->filters = memory;
    nd_parallel_for_flushed(w->nd, w->panels, 1 + FILTERS_GRAIN / w->channels_in, filters_body, w);
    nd_parallel_for_flushed(w->nd, w->items, 1 + (int64_t)(5e5 / (flops + 1)), items_body, w);
  }
  nd_pool_free(w->nd->pool, memory, bytes);
  return !atomic_load_explicit(&w->out_of_memory, memory_order_relaxed);
}

/* Pairs of an output position and a tap that sees the input, along an axis. */
static int64_t taps_within(int64_t in, int64_t out, int64_t pad) {
  int64_t count = 0;
  for (int64_t k = 0; k < KERNEL; k++) count += nd_max(0, nd_min(out, in + pad - k) - nd_max(0, pad - k));
  return count;
}

/* Direct sums of small planes leave the padding out. Neither the batch nor the threads have a say: an image has the
 * same result in any batch. */
bool nd_conv_suits_winograd(const Ndarray *nd, const NdConvShape *s, bool transpose) {
  const double in = (double)s->x[1], out = (double)s->output[1];
  double direct = in * out, tiles = 1;
  if (!nd_conv_loops(nd->isa, s->dtype)->place || s->groups != 1) return false;
  for (int i = 0; i < 2; i++) {
    const int64_t pad = transpose ? KERNEL - 1 - s->padding[i] : s->padding[i];
    if (s->kernel[i] != KERNEL || s->stride[i] != 1 || s->dilation[i] != 1 || pad < 0 || pad >= KERNEL) return false;
    if (s->output[2 + i] != s->x[2 + i] + 2 * pad - (KERNEL - 1)) return false;
    direct *= (double)taps_within(s->x[2 + i], s->output[2 + i], pad);
    tiles *= (double)nd_ceil_div(s->output[2 + i], 2);
  }
  return tiles >= LEAST_TILES && tiles * (ND_CONV_PLACES * in * out + TILE_WORK * (in + out)) < direct;
}

bool nd_conv_winograd(Ndarray *nd, const NdConvShape *s, bool transpose, const NdConvData *data) {
  Winograd w = {.nd = nd, .loops = nd_conv_loops(nd->isa, s->dtype), .flip = transpose};
  w.x = (const float *)data->x;
  w.weights = (const float *)data->weights;
  w.bias = (const float *)data->bias;
  w.out = (float *)data->out;
  w.batch = s->x[0];
  w.channels_in = s->x[1];
  w.channels_out = s->output[1];
  w.height = s->x[2];
  w.width = s->x[3];
  w.out_height = s->output[2];
  w.out_width = s->output[3];
  for (int i = 0; i < 2; i++) w.pad[i] = transpose ? KERNEL - 1 - s->padding[i] : s->padding[i];
  w.weights_row = transpose ? TAPS : w.channels_in * TAPS;
  w.weights_channel = transpose ? w.channels_out * TAPS : TAPS;
  w.rows = nd_ceil_div(w.out_height, 2);
  w.columns = nd_ceil_div(w.out_width, 2);
  cut(&w, (int64_t)nd->host->thread_count());
  return run(&w);
}
