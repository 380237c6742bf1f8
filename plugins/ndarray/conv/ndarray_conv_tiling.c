/* ndarray_conv_tiling.c - the tiles of Winograd's algorithm: see ndarray_conv_tiling.h. */
#include "ndarray_conv_tiling.h"

enum {
  MIN_TILES = 9,   /* of an image, whose weights take longer than its products else */
  TILE_WORK = 100, /* what a change of basis of one tile and channel takes, in multiply-adds */
};

/* Pairs of an output position and a tap that sees the input, along an axis. */
static int64_t taps_within(int64_t in, int64_t out, int64_t pad) {
  int64_t count = 0;
  for (int64_t k = 0; k < ND_TILING_KERNEL; k++) count += nd_max(0, nd_min(out, in + pad - k) - nd_max(0, pad - k));
  return count;
}

/* Direct sums of small planes leave the padding out. Neither the batch nor the threads have a say: an image has the
 * same result in any batch. */
static bool is_less_work(const NdConvTiling *t) {
  const double in = (double)t->channels_in, out = (double)t->channels_out, tiles = (double)(t->rows * t->columns);
  const double direct = in * out * (double)taps_within(t->height, t->out_height, t->pad[0]) *
                        (double)taps_within(t->width, t->out_width, t->pad[1]);
  return tiles >= MIN_TILES && tiles * (ND_CONV_PLACES * in * out + TILE_WORK * (in + out)) < direct;
}

bool nd_conv_tiling(NdConvTiling *t, const Ndarray *nd, const NdConvShape *s, bool transpose) {
  *t = (NdConvTiling){.loops = nd_conv_loops(nd->isa, s->dtype), .batch = s->x[0]};
  if (!t->loops->place || s->groups != 1) return false;
  for (int i = 0; i < 2; i++) {
    t->pad[i] = transpose ? ND_TILING_KERNEL - 1 - s->padding[i] : s->padding[i];
    if (s->kernel[i] != ND_TILING_KERNEL || s->stride[i] != 1 || s->dilation[i] != 1) return false;
    if (t->pad[i] < 0 || t->pad[i] >= ND_TILING_KERNEL) return false;
    if (s->output[2 + i] != s->x[2 + i] + 2 * t->pad[i] - (ND_TILING_KERNEL - 1)) return false;
  }
  t->channels_in = s->x[1];
  t->channels_out = s->output[1];
  t->height = s->x[2];
  t->width = s->x[3];
  t->out_height = s->output[2];
  t->out_width = s->output[3];
  t->rows = nd_ceil_div(t->out_height, 2);
  t->columns = nd_ceil_div(t->out_width, 2);
  return is_less_work(t);
}

void nd_conv_tiling_cut(NdConvTiling *t, int64_t tiles) {
  const int64_t all = t->batch * t->rows;
  t->strips = nd_ceil_div(t->columns, tiles);
  t->strip = nd_ceil_div(t->columns, t->strips);
  t->strips = nd_ceil_div(t->columns, t->strip);
  t->bands = nd_ceil_div(all, nd_max(1, tiles / t->strip));
  t->band = nd_ceil_div(all, t->bands);
  t->bands = nd_ceil_div(all, t->band);
  t->items = t->bands * t->strips;
}

/* Rows and planes at distances of a power of two would meet in the caches. */
void nd_conv_tiling_settle(NdConvTiling *t, int64_t least) {
  const int64_t lanes = t->loops->lanes, last = nd_round_up(t->strip, lanes); /* whole vectors are written */
  t->row = nd_round_up(nd_max(least, (t->band - 1) * t->strip + last), ND_TILING_LINE);
  if (t->row / ND_TILING_LINE % 2 == 0) t->row += ND_TILING_LINE;
  t->plane = t->channels_in * t->row + ND_TILING_LINE;
  t->copy_row = nd_round_up(t->strip + 1, lanes);
  t->copy_plane = (2 * nd_min(t->band, t->rows) + 2) * t->copy_row + 2 * lanes;
}

NdConvTilingItem nd_conv_tiling_item(const NdConvTiling *t, int64_t number) {
  NdConvTilingItem item = {.first_row = number / t->strips * t->band, .first_column = number % t->strips * t->strip};
  item.rows = nd_min(t->band, t->batch * t->rows - item.first_row);
  item.columns = nd_min(t->strip, t->columns - item.first_column);
  return item;
}

bool nd_conv_tiling_segment(const NdConvTiling *t, const NdConvTilingItem *item, int64_t before,
                            NdConvTilingSegment *segment) {
  const int64_t row = item->first_row + before;
  if (before >= item->rows) return false;
  *segment = (NdConvTilingSegment){.image = row / t->rows, .first_row = row % t->rows};
  segment->rows = nd_min(t->rows - segment->first_row, item->rows - before);
  return true;
}

void nd_conv_tiling_input(const NdConvTiling *t, const NdConvTilingItem *item, int64_t channel, int64_t channels,
                          float *copy, float *places) {
  const int64_t plane = t->height * t->width;
  NdConvCopy half = {.to = copy, .odd = copy + t->copy_plane, .height = t->height, .width = t->width, .row_step = 1};
  NdConvTiles tiles = {.even = copy, .odd = half.odd, .row = t->copy_row, .columns = item->columns, .plane = t->plane};
  NdConvTilingSegment s;
  half.first_column = 2 * item->first_column - t->pad[1];
  half.column_step = 2;
  half.columns = t->copy_row;
  half.ahead = plane;
  for (int64_t c = 0; c < channels; c++)
    for (int64_t before = 0; nd_conv_tiling_segment(t, item, before, &s); before += s.rows) {
      half.from = t->x + (s.image * t->channels_in + channel + c) * plane;
      half.first_row = 2 * s.first_row - t->pad[0];
      half.rows = 2 * s.rows + 2;
      t->loops->copy(&half);
      tiles.places = places + c * t->row + before * item->columns;
      tiles.rows = s.rows;
      t->loops->tiles(&tiles);
    }
}
