/* ndarray_conv_winograd_gradient.c - the gradient of the weights of 3x3 convolutions, by Winograd's algorithm
 * F(3x3, 2x2).
 *
 * It is that of ndarray_conv_winograd.c with output and weights exchanged: tiles of the input, four by four, and of the
 * gradient, two by two, change their basis; for each of its 16 places the sum over all tiles is a product of matrices,
 * [channels in, tiles] times [tiles, channels out]. Sums go back to nine weights at the end.
 *
 * Loop items are pairs of a slice of the tiles and a share of the input channels, with sums of their own; those of
 * slices are added up in order at the end. Slices depend on shapes alone, so the bits do not depend on the number of
 * threads. */
#include "ndarray_conv_tiling.h"

#include <string.h>

enum {
  SHARE = 64,                       /* input channels of a share: each changes the gradient anew */
  SLICES = 16,                      /* as many slices and shares as keep threads busy */
  PARTIAL_BYTES = 17 * 1024 * 1024, /* most sums of all slices, unless one has more: four of 256 channels by 256 */
  SUMS_BYTES = 16 * 1024 * 1024,    /* of more, which every item reads and writes anew, direct sums are faster */
  MIN_CHANNELS = 24,
  MIN_TILES = 192,
};

/* What the bodies of the parallel loops see. */
typedef struct Gradient {
  Ndarray *nd;
  NdConvTiling tiling;
  const float *grad;
  float *out, *partial; /* partial[slice][share][place][channel in][channel out] */
  int64_t slices;
  int64_t share, shares, channels; /* input channels of a share, and the same in whole tiles of a product */
  int64_t width;                   /* output channels in whole panels */
  int64_t grad_plane, sums_plane;  /* elements from place to place */
  int64_t sums;                    /* elements of a slice and share */
  atomic_bool out_of_memory;
} Gradient;

/* Memory of one running body: two half planes, places of input and gradient, and a panel of the gradient's place. */
typedef struct Scratch {
  float *copy, *input, *grad, *panel;
  uint64_t bytes;
} Scratch;

static bool scratch_open(Gradient *g, Scratch *scratch) {
  const NdConvTiling *t = &g->tiling;
  const int64_t input = 2 * t->copy_plane, grad = input + ND_CONV_PLACES * t->plane;
  const int64_t panel = grad + ND_CONV_PLACES * g->grad_plane;
  const int64_t floats = panel + ND_CONV_CHUNK * t->loops->max_vectors * t->loops->lanes;
  scratch->bytes = (uint64_t)floats * sizeof(float);
  scratch->copy = (float *)nd_pool_allocate(g->nd->pool, scratch->bytes);
  if (!scratch->copy) {
    atomic_store_explicit(&g->out_of_memory, true, memory_order_relaxed);
    return false;
  }
  /* Whole vectors are read beyond planes, and whole tiles of channels are multiplied: those have to be numbers. */
  memset(scratch->copy, 0, (size_t)panel * sizeof(float));
  scratch->input = scratch->copy + input;
  scratch->grad = scratch->copy + grad;
  scratch->panel = scratch->copy + panel;
  return true;
}

/* The gradient of an item in the other basis, [place][channel][tile]. */
static void change_grad(const Gradient *g, const NdConvTilingItem *item, const Scratch *scratch) {
  const NdConvTiling *t = &g->tiling;
  const int64_t plane = t->out_height * t->out_width;
  NdConvCopy half = {.to = scratch->copy, .odd = scratch->copy + t->copy_plane, .row_step = 1, .column_step = 2};
  NdConvTiles tiles = {.even = half.to, .odd = half.odd, .row = t->copy_row, .columns = item->columns};
  NdConvTilingSegment s;
  half.height = t->out_height;
  half.width = t->out_width;
  half.first_column = 2 * item->first_column;
  half.columns = t->copy_row;
  half.ahead = plane;
  tiles.plane = g->grad_plane;
  for (int64_t c = 0; c < t->channels_out; c++)
    for (int64_t before = 0; nd_conv_tiling_segment(t, item, before, &s); before += s.rows) {
      half.from = g->grad + (s.image * t->channels_out + c) * plane;
      half.first_row = 2 * s.first_row;
      half.rows = 2 * s.rows;
      t->loops->copy(&half);
      tiles.places = scratch->grad + c * t->row + before * item->columns;
      tiles.rows = s.rows;
      t->loops->grads(&tiles);
    }
}

/* Adds a place of an item to its sums. */
static void multiply(const Gradient *g, int64_t tiles, int64_t channels, const float *input, const float *grad,
                     float *sums, float *panel) {
  const NdConvTiling *t = &g->tiling;
  NdConvOuter outer = {.columns = input, .row = ND_CONV_COLUMN, .grad = panel, .taps = channels, .pixels = tiles};
  outer.sums_row = g->width;
  for (int64_t channel = 0; channel < t->channels_out; channel += outer.width) {
    const int64_t left = t->channels_out - channel;
    outer.width = nd_conv_panel_width(t->loops, left);
    if (left < outer.width) memset(panel, 0, (size_t)(tiles * outer.width) * sizeof(float));
    t->loops->transpose(grad + channel * t->row, t->row, nd_min(left, outer.width), tiles, panel, outer.width);
    outer.sums = sums + channel;
    t->loops->outer(&outer);
  }
}

/* Loop items are pairs of slice and share. */
static void BURN_API_CALL slices_body(void *context, int64_t begin, int64_t end) {
  Gradient *g = (Gradient *)context;
  const NdConvTiling *t = &g->tiling;
  Scratch scratch;
  if (!scratch_open(g, &scratch)) return;
  for (int64_t n = begin; n < end; n++) {
    const int64_t slice = n / g->shares, first = n % g->shares * g->share;
    const int64_t last = (slice + 1) * t->items / g->slices;
    const int64_t channels = nd_min(g->share, t->channels_in - first);
    float *sums = g->partial + n * g->sums;
    memset(sums, 0, (size_t)g->sums * sizeof(float));
    for (int64_t i = slice * t->items / g->slices; i < last; i++) {
      const NdConvTilingItem item = nd_conv_tiling_item(t, i);
      nd_conv_tiling_input(t, &item, first, channels, scratch.copy, scratch.input);
      change_grad(g, &item, &scratch);
      for (int64_t place = 0; place < ND_CONV_PLACES; place++)
        multiply(g, item.rows * item.columns, channels, scratch.input + place * t->plane,
                 scratch.grad + place * g->grad_plane, sums + place * g->sums_plane, scratch.panel);
    }
  }
  nd_pool_free(g->nd->pool, scratch.copy, scratch.bytes);
}

/* Loop items are numbers of all shares of a slice: those of the first += of the second, .. */
static void BURN_API_CALL add_body(void *context, int64_t begin, int64_t end) {
  const Gradient *g = (const Gradient *)context;
  for (int64_t slice = 1; slice < g->slices; slice++) {
    const float *from = g->partial + slice * g->shares * g->sums;
    for (int64_t i = begin; i < end; i++) g->partial[i] += from[i];
  }
}

/* Loop items are chunks of input channels, which no two shares have in common. */
static void BURN_API_CALL weights_body(void *context, int64_t begin, int64_t end) {
  const Gradient *g = (const Gradient *)context;
  const NdConvTiling *t = &g->tiling;
  const int64_t lanes = t->loops->lanes, row = t->channels_in * ND_TILING_TAPS;
  float buffer[ND_TILING_CHUNK * ND_TILING_TAPS * ND_CONV_LANES];
  NdConvFilters filters = {.to = buffer, .plane = g->sums_plane, .row = g->width};
  for (int64_t chunk = begin; chunk < end; chunk++) {
    const int64_t channel = chunk * ND_TILING_CHUNK, share = channel / g->share;
    const float *sums = g->partial + share * g->sums + (channel - share * g->share) * g->width;
    filters.channels = nd_min(ND_TILING_CHUNK, t->channels_in - channel);
    for (int64_t first = 0; first < t->channels_out; first += lanes) {
      filters.from = sums + first;
      t->loops->unfilter(&filters);
      t->loops->transpose(buffer, lanes, filters.channels * ND_TILING_TAPS, nd_min(lanes, t->channels_out - first),
                          g->out + first * row + channel * ND_TILING_TAPS, row);
    }
  }
}

/* So many input channels are a share. */
static void cut_channels(Gradient *g, int64_t share) {
  NdConvTiling *t = &g->tiling;
  g->share = share;
  g->shares = nd_ceil_div(t->channels_in, share);
  g->channels = nd_round_up(share, t->loops->tile_taps);
  t->plane = g->channels * t->row + ND_TILING_LINE;
  g->sums_plane = g->channels * g->width + ND_TILING_LINE;
  g->sums = ND_CONV_PLACES * g->sums_plane;
}

/* Cuts tiles into items and slices, and input channels into shares, in which alone threads have a say. */
static void cut(Gradient *g) {
  NdConvTiling *t = &g->tiling;
  nd_conv_tiling_cut(t, ND_CONV_CHUNK);
  nd_conv_tiling_settle(t, ND_CONV_COLUMN);
  for (g->width = 0; g->width < t->channels_out;) g->width += nd_conv_panel_width(t->loops, t->channels_out - g->width);
  g->grad_plane = t->channels_out * t->row + ND_TILING_LINE;
  cut_channels(g, nd_min(SHARE, t->channels_in));
  const int64_t most = PARTIAL_BYTES / (g->shares * g->sums * (int64_t)sizeof(float));
  g->slices = nd_min(nd_max(1, nd_min(nd_ceil_div(SLICES, g->shares), most)), t->items);
  cut_channels(
      g, nd_conv_share(g->share, ND_TILING_CHUNK, t->channels_in, g->slices, (int64_t)g->nd->host->thread_count()));
}

/* False when out of memory. */
static bool run(Gradient *g) {
  const NdConvTiling *t = &g->tiling;
  const int64_t all = g->shares * g->sums;
  const uint64_t bytes = (uint64_t)(g->slices * all) * sizeof(float);
  g->partial = (float *)nd_pool_allocate(g->nd->pool, bytes);
  if (!g->partial) return false;
  atomic_init(&g->out_of_memory, false);
  nd_parallel_for_flushed(g->nd, g->slices * g->shares, 1, slices_body, g);
  const bool done = !atomic_load_explicit(&g->out_of_memory, memory_order_relaxed);
  if (done && g->slices > 1) nd_parallel_for_flushed(g->nd, all, 4096, add_body, g);
  if (done) nd_parallel_for_flushed(g->nd, nd_ceil_div(t->channels_in, ND_TILING_CHUNK), 1, weights_body, g);
  nd_pool_free(g->nd->pool, g->partial, bytes);
  return done;
}

/* Fewer channels leave tiles of the product half empty. */
bool nd_conv_suits_winograd_gradient(const Ndarray *nd, const NdConvShape *shape) {
  NdConvTiling t;
  if (!nd_conv_tiling(&t, nd, shape, false)) return false;
  const int64_t sums = ND_CONV_PLACES * t.channels_in * t.channels_out * (int64_t)sizeof(float);
  return nd_min(t.channels_in, t.channels_out) >= MIN_CHANNELS && t.batch * t.rows * t.columns >= MIN_TILES &&
         sums < SUMS_BYTES;
}

bool nd_conv_winograd_gradient(Ndarray *nd, const NdConvShape *shape, const void *x, const void *grad, void *out) {
  Gradient g = {.nd = nd, .grad = (const float *)grad, .out = (float *)out};
  (void)nd_conv_tiling(&g.tiling, nd, shape, false);
  g.tiling.x = (const float *)x;
  cut(&g);
  return run(&g);
}
