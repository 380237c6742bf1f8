/* ndarray_conv_item.c - the items that a convolution is cut into: how large, which pixels, and their padded copy of the
 * input: see ndarray_conv.h. */
#include "ndarray_conv.h"

#include <string.h>

enum {
  COPY_BYTES = 256 * 1024, /* a copy should fit into the second-level cache */
  PANEL_PIXELS = 288,      /* of an item whose vectors are packed */
  /* Images lie in the lanes if they have at most so many pixels, as taps in the padding are then left out, and if so
   * many taps of output channels use each pixel, as it takes a while to fetch. */
  IMAGES_PIXELS = 64,
  IMAGES_WORK = 256,
  SEEN_TAPS = 64,         /* most taps of a channel that are told apart */
  DIRECT_PIXELS = 96,     /* least of an item whose vectors run on */
  GRADIENT_PIXELS = 1024, /* most of them in the gradient of few weights: some channels stay in the first-level cache */
  SWEEP_PIXELS = 256,  /* the same where lanes are output channels: their gradient and the input stay there together */
  OUTER_PIXELS = 512,  /* of an item of the gradient of many weights */
  DIRECT_DEPTH = 1024, /* taps at once, where output channels are so few that pixels are hardly read again */
  ITEMS_PER_THREAD = 4,
  POINTS_DEPTH = 64, /* least planes that are seen at once where windows are one number */
  FIRST_WAYS = 8,    /* lines at distances of whole pages that the first-level cache has room for */
  MAX_ANEW = 4,   /* rows of a copy that the next item copies, too, for each row of results: kernels may be very tall */
  SHARE_COST = 8, /* channels that cost as much time as what each share does again */
};

/* -- the cut ---------------------------------------------------------------------------------- */

/* True if every window lies inside the input and neighbours are neighbours there. */
static bool lies_inside(const NdConvAxis *axis) {
  return axis->step == 1 && axis->pad == 0 && axis->grid - 1 + axis->span <= axis->in;
}

/* True if the planes can be read where they lie; the pixels of a vector have to be less than 2^31 elements apart. */
static bool needs_no_copy(const NdConvPlan *plan) {
  const int64_t image = plan->groups * plan->channels_in * plan->y.in * plan->x.in;
  return lies_inside(&plan->y) && lies_inside(&plan->x) && image <= INT32_MAX / ND_CONV_LANES;
}

/* The size of an item is known: bands of equal height, and how the copy lies. */
static void settle(NdConvPlan *plan, int64_t images, int64_t band) {
  if (!plan->in_place) band = nd_max(band, nd_min(plan->y.grid, plan->y.span / MAX_ANEW));
  plan->images = images;
  plan->blocks = nd_ceil_div(plan->batch, images);
  plan->bands = nd_ceil_div(plan->y.grid, band);
  plan->band = nd_ceil_div(plan->y.grid, plan->bands);
  plan->bands = nd_ceil_div(plan->y.grid, plan->band);
  plan->pixel = plan->way == ND_CONV_IMAGES ? plan->loops->lanes : 1;
  plan->row_width = (plan->x.grid - 1 + plan->x.span) * plan->pixel;
  plan->plane = (plan->band - 1 + plan->y.span) * plan->row_width + plan->loops->lanes; /* copied by whole vectors */
  plan->image = plan->y.phases * plan->x.phases * plan->plane;
  plan->channel = plan->images / plan->pixel * plan->image;
  if (!plan->in_place) return;
  plan->row_width = plan->x.in;
  plan->channel = plan->y.in * plan->x.in;
  plan->image = plan->groups * plan->channels_in * plan->channel;
}

/* Rows whose copy is still small. */
static int64_t rows_of_copy(const NdConvPlan *plan) {
  const int64_t width = plan->x.grid - 1 + plan->x.span;
  const int64_t row_bytes = plan->channels_in * plan->y.phases * plan->x.phases * width * plan->element_bytes + 1;
  return plan->in_place ? plan->y.grid : nd_max(COPY_BYTES / row_bytes - plan->y.span + 1, 4);
}

/* About so many pixels, of one image or of several whole ones. */
static void settle_packed(NdConvPlan *plan, int64_t pixels) {
  const int64_t plane = plan->y.grid * plan->x.grid;
  if (2 * plane <= pixels * 3)
    settle(plan, nd_max(1, nd_min(plan->batch, pixels / plane)), plan->y.grid);
  else
    settle(plan, 1, nd_ceil_div(plan->y.grid, (plane + pixels / 2) / pixels));
}

/* True if lanes may be images: there are about enough of them, rows are not whole vectors, and every phase of the
 * output has something to add up. */
static bool suits_images(const NdConvPlan *plan) {
  const int64_t lanes = plan->loops->lanes, image = plan->groups * plan->channels_in * plan->y.in * plan->x.in;
  const int64_t kernel = plan->y.span * plan->y.phases * plan->x.span * plan->x.phases;
  return plan->channels_in > 0 && kernel >= plan->y.out_step * plan->x.out_step && plan->channels_out >= lanes * 2 &&
         plan->x.grid % lanes != 0 && plan->y.grid * plan->x.grid <= IMAGES_PIXELS &&
         kernel * plan->channels_out >= IMAGES_WORK && 5 * nd_ceil_div(plan->batch, lanes) * lanes <= 6 * plan->batch &&
         image <= INT32_MAX / ND_CONV_LANES;
}

/* Vectors that run on are wasted on the columns between rows; packed ones must be gathered, which costs as much as some
 * four multiply-adds each. With many channels the gathered pixels are used often, and lie better in the cache. */
static NdConvWay choose_way(const NdConvPlan *plan) {
  const bool is_plane = plan->channels_in == 1 && plan->channels_out == 1;
  if (is_plane && plan->y.out_step == 1 && plan->x.out_step == 1) return ND_CONV_ROWS;
  if (suits_images(plan)) return ND_CONV_IMAGES;
  const double width = plan->in_place ? (double)plan->x.in : (double)(plan->x.grid - 1 + plan->x.span);
  const double waste = (width / (double)plan->x.grid - 1) * (double)plan->channels_out;
  if (plan->x.grid % plan->loops->lanes == 0) return ND_CONV_PANELS;
  return waste <= 8 && plan->channels_out < 48 ? ND_CONV_DIRECT : ND_CONV_PANELS;
}

/* True if running vectors find whole tiles in the last band, even in a phase that has a row and a column less: the end
 * of the input must not cut them off. */
static bool has_full_tiles(const NdConvPlan *plan) {
  const int64_t rows = plan->y.grid - (plan->bands - 1) * plan->band;
  return (rows - 2) * plan->row_width + plan->x.grid - 1 >= ND_CONV_VECTORS * plan->loops->lanes;
}

void nd_conv_cut(NdConvPlan *plan, uint32_t threads) {
  const int64_t wanted = nd_ceil_div((int64_t)threads * ITEMS_PER_THREAD, plan->batch * plan->groups);
  plan->in_place = needs_no_copy(plan);
  plan->way = choose_way(plan);
  plan->depth = plan->way == ND_CONV_DIRECT ? DIRECT_DEPTH : ND_CONV_DEPTH;
  if (plan->way == ND_CONV_IMAGES) {
    plan->in_place = false;
    settle(plan, plan->loops->lanes, nd_max(1, IMAGES_PIXELS / plan->x.grid));
    return;
  }
  if (plan->way == ND_CONV_PANELS) {
    /* A vector over several rows of a copy is a permutation of two, which only wide vectors of f32 have. */
    const bool permutes = plan->element_bytes == 4 && plan->loops->lanes >= 8;
    if (permutes && plan->x.grid % plan->loops->lanes != 0 && plan->x.grid < plan->x.in) plan->in_place = false;
    settle_packed(plan, PANEL_PIXELS);
    return;
  }
  if (plan->way == ND_CONV_ROWS) plan->in_place = false; /* vectors run beyond the rows */
  const int64_t rows = nd_max(nd_ceil_div(DIRECT_PIXELS, plan->x.grid), nd_ceil_div(plan->y.grid, wanted));
  settle(plan, 1, nd_min(rows_of_copy(plan), rows));
  if (!plan->in_place || has_full_tiles(plan)) return;
  plan->in_place = false;
  settle(plan, 1, nd_min(rows_of_copy(plan), rows));
}

/* In how many planes what a tile of pixels sees stays in the first-level cache: planes whose size has a large power of
 * two in it push each other out. */
static int64_t cached_planes(const NdConvPlan *plan) {
  const int64_t plane = plan->y.in * plan->x.in * plan->element_bytes;
  int64_t apart = ND_CONV_PAGE; /* distance of the places in a page where planes begin */
  while (plane % apart != 0) apart /= 2;
  return nd_min(ND_CONV_DEPTH, FIRST_WAYS * ND_CONV_PAGE / apart);
}

/* True if windows are single numbers, and the output has a pixel for each of the input. */
static bool suits_points(const NdConvPlan *plan) {
  const int64_t pixels = plan->y.in * plan->x.in;
  return plan->loops->points && plan->channels_in > 0 && plan->channels_out >= plan->loops->rows &&
         lies_inside(&plan->y) && lies_inside(&plan->x) && plan->y.out * plan->x.out == pixels &&
         pixels >= ND_CONV_PLANE && cached_planes(plan) >= nd_min(plan->channels_in, POINTS_DEPTH);
}

bool nd_conv_cut_points(NdConvPlan *plan) {
  const int64_t pixels = plan->y.in * plan->x.in, tile = ND_CONV_VECTORS * plan->loops->lanes, tiles = pixels / tile;
  if (!suits_points(plan)) return false;
  plan->way = ND_CONV_POINTS;
  plan->depth = cached_planes(plan);
  plan->in_place = true;
  plan->y.in = plan->y.out = plan->y.grid = plan->phases->rows = pixels;
  plan->x.in = plan->x.out = plan->x.grid = plan->phases->columns = 1;
  settle(plan, 1, pixels);
  plan->bands = nd_max(1, (pixels + PANEL_PIXELS / 2) / PANEL_PIXELS);
  plan->band = nd_ceil_div(tiles, plan->bands) * tile; /* in tiles; the last band has what is left over, too */
  plan->bands = nd_ceil_div(tiles * tile, plan->band);
  return true;
}

void nd_conv_cut_gradient(NdConvPlan *plan) {
  plan->in_place = needs_no_copy(plan);
  plan->way = plan->channels_out < ND_CONV_MANY_CHANNELS ? ND_CONV_ROWS : ND_CONV_PANELS;
  if (plan->way == ND_CONV_ROWS && plan->channels_out * 2 > plan->loops->lanes) plan->way = ND_CONV_CHANNELS;
  if (plan->way == ND_CONV_PANELS) {
    settle_packed(plan, OUTER_PIXELS);
    return;
  }
  if (plan->way == ND_CONV_CHANNELS) {
    settle(plan, 1, nd_min(rows_of_copy(plan), nd_max(1, SWEEP_PIXELS / plan->x.grid)));
    return;
  }
  if (!plan->loops->reads_within) plan->in_place = false;
  settle(plan, 1, nd_min(rows_of_copy(plan), nd_max(1, GRADIENT_PIXELS / plan->x.grid)));
}

NdConvItem nd_conv_item(const NdConvPlan *plan, int64_t number) {
  const int64_t band = number % plan->bands, block = number / plan->bands / plan->groups;
  NdConvItem item = {.group = number / plan->bands % plan->groups};
  item.first_image = block * plan->images;
  item.images = nd_min(plan->images, plan->batch - item.first_image);
  item.first_row = band * plan->band;
  item.rows = band + 1 < plan->bands ? plan->band : plan->y.grid - item.first_row;
  item.last = (item.images < plan->images && plan->way != ND_CONV_IMAGES) || (band > 0 && band == plan->bands - 1);
  return item;
}

int64_t nd_conv_share(int64_t share, int64_t unit, int64_t channels, int64_t items, int64_t threads) {
  int64_t best = share, least = INT64_MAX;
  if (items * nd_ceil_div(channels, share) >= threads) return share;
  for (int64_t size = nd_round_up(share, unit); size >= unit; size -= unit) {
    const int64_t rounds = nd_ceil_div(items * nd_ceil_div(channels, size), threads);
    const int64_t cost = rounds * (size + SHARE_COST);
    if (cost >= least) continue;
    least = cost;
    best = size;
  }
  return best;
}

/* -- pixels ----------------------------------------------------------------------------------- */

/* The pixel that a walk over the grid has reached. */
typedef struct Pixel {
  int64_t image, row, column;
} Pixel;

static int64_t place_in(const NdConvPlan *plan, const Pixel *at) {
  return at->image * plan->image + at->row * plan->row_width + at->column;
}

static int64_t place_out(const NdConvPlan *plan, const Pixel *at) {
  const int64_t plane = plan->y.out * plan->x.out;
  return at->image * plan->groups * plan->channels_out * plane + at->row * plan->y.out_step * plan->x.out +
         at->column * plan->x.out_step;
}

static void step_pixel(Pixel *at, int64_t rows, int64_t width) {
  if (++at->column < width) return;
  at->column = 0;
  if (++at->row < rows) return;
  at->row = 0;
  at->image++;
}

static NdConvKind kind_of(const NdConvPlan *plan, const NdConvVector *vector, int64_t pixels) {
  bool neighbours = true;
  int32_t farthest = 0;
  for (int32_t i = 0; i < (int32_t)pixels; i++) {
    neighbours &= vector->index[i] == i;
    if (vector->index[i] > farthest) farthest = vector->index[i];
  }
  /* Whole vectors may be read beyond the last pixel in a copy only. */
  if (neighbours && (pixels == plan->loops->lanes || !plan->in_place)) return ND_CONV_NEIGHBOURS;
  return farthest < 2 * plan->loops->lanes && !plan->in_place ? ND_CONV_NEAR : ND_CONV_ANYWHERE;
}

/* One vector from `at` on, which is moved behind it; `left` pixels are there. Pixels from `columns` on of a row go
 * nowhere. */
static void make_vector(const NdConvPlan *plan, NdConvGrid *grid, Pixel *at, int64_t left, int64_t rows, int64_t width,
                        int64_t columns) {
  const int64_t lanes = plan->loops->lanes, pixels = nd_min(lanes, left);
  NdConvVector *vector = &grid->vectors[grid->vector_count++];
  NdConvPiece *piece = NULL;
  memset(vector, 0, sizeof *vector);
  vector->input = place_in(plan, at);
  vector->piece = (int32_t)grid->piece_count;
  for (int32_t i = 0; i < (int32_t)pixels; i++, step_pixel(at, rows, width)) {
    const int64_t place = place_out(plan, at);
    vector->index[i] = (int32_t)(place_in(plan, at) - vector->input);
    if (at->column >= columns) continue;
    if (piece && piece->first + piece->count == i && piece->output + piece->count * plan->x.out_step == place) {
      piece->count++;
      continue;
    }
    piece = &grid->pieces[grid->piece_count++];
    *piece = (NdConvPiece){.output = place, .first = i, .count = 1};
  }
  vector->piece_count = (int32_t)grid->piece_count - vector->piece;
  vector->kind = kind_of(plan, vector, pixels);
}

/* Vectors that run on over `rows` rows. The last tile is moved back to where it is whole, so that nothing is read
 * beyond it: some pixels come out twice. */
static void make_running(const NdConvPlan *plan, int64_t rows, int64_t columns, NdConvGrid *grid) {
  const int64_t lanes = plan->loops->lanes, width = plan->row_width, tile = ND_CONV_VECTORS * lanes;
  const int64_t total = rows > 0 ? (rows - 1) * width + columns : 0;
  for (int64_t first = 0; first < total; first += tile) {
    const int64_t vectors = nd_min(ND_CONV_VECTORS, nd_ceil_div(total - first, lanes));
    const int64_t begin = nd_max(0, nd_min(first, total - vectors * lanes));
    Pixel at = {0, begin / width, begin % width};
    for (int64_t v = 0; v < vectors; v++) make_vector(plan, grid, &at, total - begin - v * lanes, rows, width, columns);
  }
}

bool nd_conv_gathers_all(const NdConvPlan *plan) {
  return plan->loops->block > 0 && plan->channels_out >= plan->loops->block;
}

static void make_packed(const NdConvPlan *plan, int64_t images, int64_t rows, int64_t columns, NdConvGrid *grid) {
  const int64_t lanes = plan->loops->lanes, total = images * rows * columns;
  Pixel at = {0, 0, 0};
  for (int64_t first = 0; first < total; first += lanes)
    make_vector(plan, grid, &at, total - first, rows, columns, columns);
  grid->needs_gather = nd_conv_gathers_all(plan);
  for (int64_t v = 0; v < grid->vector_count; v++) grid->needs_gather |= grid->vectors[v].kind != ND_CONV_NEIGHBOURS;
}

/* One of the pixels of a phase. */
static void make_pixel(const NdConvPlan *plan, const NdConvPhase *phase, int64_t y, int64_t x, NdConvGrid *grid) {
  NdConvVector *vector = &grid->vectors[grid->vector_count++];
  memset(vector, 0, sizeof *vector);
  vector->input = y * plan->row_width + x * plan->pixel;
  vector->place = (y * plan->y.out_step + phase->first_row) * plan->x.out + x * plan->x.out_step + phase->first_column;
}

/* Cuts the vectors from `first` on into tiles of about equal size, which see the taps of one channel whose bit is set.
 */
static void make_tiles(const NdConvPhase *phase, int64_t kernel, uint64_t seen, int64_t first, NdConvTap *memory,
                       NdConvGrid *grid) {
  const int64_t vectors = grid->vector_count - first, tiles = nd_ceil_div(vectors, ND_CONV_VECTORS);
  int64_t count = 0;
  for (int64_t k = 0; k < kernel; k++)
    if (kernel > SEEN_TAPS || seen >> k & 1u) memory[count++] = phase->taps[k];
  for (int64_t i = 0; i < tiles; i++) {
    const int64_t begin = i * vectors / tiles;
    grid->tiles[grid->tile_count++] = (NdConvTile){first + begin, (i + 1) * vectors / tiles - begin, memory, count};
  }
}

/* The input position that tap k sees of pixel (0, 0) of an item that begins in row 0. */
static void tap_origin(const NdConvPlan *plan, const NdConvPhase *phase, int64_t k, int64_t *y, int64_t *x) {
  const int64_t plane = phase->taps[k].input / plan->plane, place = phase->taps[k].input % plan->plane;
  const int64_t row = plane / plan->x.phases * plan->y.dilation % plan->y.step;
  const int64_t column = plane % plan->x.phases * plan->x.dilation % plan->x.step;
  *y = place / plan->row_width * plan->y.step + row - plan->y.pad;
  *x = place % plan->row_width / plan->pixel * plan->x.step + column - plan->x.pad;
}

/* Bit k of a pixel: its tap k lies inside the input, and not in the padding. */
static void make_seen(const NdConvPlan *plan, const NdConvPhase *phase, int64_t kernel, int64_t rows, uint64_t *seen) {
  memset(seen, 0, (size_t)(rows * phase->columns) * sizeof *seen);
  for (int64_t k = 0; k < kernel; k++) {
    int64_t y, x;
    tap_origin(plan, phase, k, &y, &x);
    for (int64_t i = 0; i < rows * phase->columns; i++) {
      const int64_t row = y + i / phase->columns * plan->y.step, column = x + i % phase->columns * plan->x.step;
      if (row >= 0 && row < plan->y.in && column >= 0 && column < plan->x.in) seen[i] |= (uint64_t)1 << k;
    }
  }
}

/* A vector for each pixel of a phase. If the item is a whole plane, pixels that see the same taps stand together. */
static void make_images(const NdConvPlan *plan, const NdConvPhase *phase, int64_t rows, NdConvTap *memory,
                        NdConvGrid *grid) {
  const int64_t kernel = phase->tap_count / plan->channels_in, columns = phase->columns, pixels = rows * columns;
  uint64_t seen[IMAGES_PIXELS];
  bool taken[IMAGES_PIXELS] = {false};
  if (plan->bands > 1 || pixels > IMAGES_PIXELS || kernel > SEEN_TAPS) {
    for (int64_t i = 0; i < pixels; i++) make_pixel(plan, phase, i / columns, i % columns, grid);
    make_tiles(phase, kernel, UINT64_MAX, 0, memory, grid);
    return;
  }
  make_seen(plan, phase, kernel, rows, seen);
  for (int64_t i = 0; i < pixels; i++) {
    const int64_t first = grid->vector_count;
    for (int64_t j = i; j < pixels; j++) {
      if (taken[j] || seen[j] != seen[i]) continue;
      make_pixel(plan, phase, j / columns, j % columns, grid);
      taken[j] = true;
    }
    if (grid->vector_count == first) continue;
    make_tiles(phase, kernel, seen[i], first, memory, grid);
    memory += kernel;
  }
}

static void make_grid(const NdConvPlan *plan, const NdConvPhase *phase, int64_t images, int64_t rows, NdConvTap *taps,
                      NdConvGrid *grid) {
  if (plan->way == ND_CONV_IMAGES)
    make_images(plan, phase, rows, taps, grid);
  else if (plan->way == ND_CONV_PANELS)
    make_packed(plan, images, rows, phase->columns, grid);
  else
    make_running(plan, rows, phase->columns, grid);
}

/* Rows of a phase among `rows` rows of the grid from `first` on. */
static int64_t phase_rows(const NdConvPhase *phase, int64_t first, int64_t rows) {
  return nd_max(0, nd_min(phase->rows - first, rows));
}

/* Most taps of a channel in any phase. */
static int64_t max_kernel(const NdConvPlan *plan) {
  int64_t taps = 1;
  for (int64_t p = 0; p < plan->phase_count; p++) taps = nd_max(taps, plan->phases[p].tap_count / plan->channels_in);
  return taps;
}

bool nd_conv_make_grids(NdConvPlan *plan) {
  if (plan->way == ND_CONV_CHANNELS || plan->way == ND_CONV_ROWS || plan->way == ND_CONV_POINTS) return true;
  const int64_t width = plan->way == ND_CONV_DIRECT ? plan->row_width : plan->x.grid, rows = plan->images * plan->band;
  const int64_t vectors = nd_ceil_div(rows * width, plan->loops->lanes) + 1;
  const int64_t pieces = vectors + rows + ND_CONV_VECTORS * ND_CONV_LANES;
  const uint64_t vector_bytes = (uint64_t)vectors * sizeof(NdConvVector),
                 piece_bytes = (uint64_t)pieces * sizeof(NdConvPiece);
  const NdConvItem last = nd_conv_item(plan, plan->blocks * plan->groups * plan->bands - 1);
  const bool is_images = plan->way == ND_CONV_IMAGES;
  const int64_t kernel = is_images ? max_kernel(plan) : 0;
  const uint64_t tile_bytes = is_images ? (uint64_t)vectors * sizeof(NdConvTile) : 0;
  const uint64_t tap_bytes = is_images ? (uint64_t)(nd_min(vectors, IMAGES_PIXELS) * kernel) * sizeof(NdConvTap) : 0;
  const uint64_t all = vector_bytes + piece_bytes + tile_bytes + tap_bytes;
  plan->tables_bytes = (uint64_t)plan->phase_count * 2 * all;
  plan->tables = nd_pool_allocate(plan->nd->pool, plan->tables_bytes);
  if (!plan->tables) return false;
  char *memory = (char *)plan->tables;
  for (int64_t i = 0; i < plan->phase_count * 2; i++, memory += all) {
    NdConvPhase *phase = &plan->phases[i / 2];
    NdConvGrid *grid = i % 2 ? &phase->last : &phase->whole;
    NdConvTap *taps = (NdConvTap *)(void *)(memory + vector_bytes + piece_bytes + tile_bytes);
    grid->vectors = (NdConvVector *)(void *)memory;
    grid->pieces = (NdConvPiece *)(void *)(memory + vector_bytes);
    grid->tiles = (NdConvTile *)(void *)(memory + vector_bytes + piece_bytes);
    if (i % 2 == 0)
      make_grid(plan, phase, plan->images, phase_rows(phase, 0, plan->band), taps, grid);
    else if (last.last)
      make_grid(plan, phase, last.images, phase_rows(phase, last.first_row, last.rows), taps, grid);
  }
  return true;
}

/* -- the copy --------------------------------------------------------------------------------- */

int64_t nd_conv_copy_elements(const NdConvPlan *plan, int64_t channels) {
  return plan->in_place ? 0 : channels * plan->channel + (ND_CONV_VECTORS + 1) * plan->loops->lanes;
}

/* All phases of one plane. */
static void copy_plane(const NdConvPlan *plan, const NdConvItem *item, const char *from, char *to) {
  NdConvCopy copy = {.from = from,
                     .height = plan->y.in,
                     .width = plan->x.in,
                     .row_step = plan->y.step,
                     .rows = item->rows - 1 + plan->y.span,
                     .column_step = plan->x.step,
                     .columns = plan->row_width,
                     .ahead = plan->y.in * plan->x.in};
  const int64_t bytes = plan->plane * plan->element_bytes;
  const bool pairs = plan->x.step == 2 && plan->x.phases == 2;
  for (int64_t y = 0; y < plan->y.phases; y++)
    for (int64_t x = 0; x < (pairs ? 1 : plan->x.phases); x++) {
      copy.first_row = item->first_row * plan->y.step + y * plan->y.dilation % plan->y.step - plan->y.pad;
      copy.first_column = x * plan->x.dilation % plan->x.step - plan->x.pad;
      copy.to = to + (y * plan->x.phases + x) * bytes;
      copy.odd = pairs ? (char *)copy.to + bytes : NULL;
      plan->loops->copy(&copy);
    }
}

/* One row of the copy of as many images as there are lanes: `from` is where its element 0 would lie in the first image,
 * and elements begin .. end-1 are there. */
static void interleave_row(const NdConvPlan *plan, const char *from, const int32_t *index, int64_t begin, int64_t end,
                           char *to) {
  const int64_t bytes = plan->element_bytes, vector = plan->pixel * bytes, columns = plan->row_width / plan->pixel;
  memset(to, 0, (size_t)(begin * vector));
  memset(to + end * vector, 0, (size_t)((columns - end) * vector));
  plan->loops->interleave(from + begin * plan->x.step * bytes, index, plan->x.step, end - begin, to + begin * vector);
}

/* All phases of one plane of those images. Lanes without an image hold the first: their sums go nowhere. */
static void interleave_plane(const NdConvPlan *plan, const NdConvItem *item, const char *from, char *to) {
  const int64_t bytes = plan->element_bytes, columns = plan->row_width / plan->pixel,
                rows = item->rows - 1 + plan->y.span;
  int32_t index[ND_CONV_LANES] = {0};
  for (int64_t i = 0; i < item->images; i++)
    index[i] = (int32_t)(i * plan->groups * plan->channels_in * plan->y.in * plan->x.in);
  for (int64_t phase = 0; phase < plan->y.phases * plan->x.phases; phase++) {
    const int64_t y =
        phase / plan->x.phases * plan->y.dilation % plan->y.step - plan->y.pad + item->first_row * plan->y.step;
    const int64_t x = phase % plan->x.phases * plan->x.dilation % plan->x.step - plan->x.pad;
    const int64_t first = x < 0 ? nd_min(columns, nd_ceil_div(-x, plan->x.step)) : 0;
    const int64_t stop = nd_max(first, nd_min(columns, plan->x.in > x ? nd_ceil_div(plan->x.in - x, plan->x.step) : 0));
    for (int64_t r = 0; r < rows; r++) {
      const int64_t row = y + r * plan->y.step;
      const bool inside = row >= 0 && row < plan->y.in;
      interleave_row(plan, inside ? from + (row * plan->x.in + x) * bytes : from, index, first, inside ? stop : first,
                     to + (phase * plan->plane + r * plan->row_width) * bytes);
    }
  }
}

/* Where the input has the first image of an item. */
static const char *place_of(const NdConvPlan *plan, const NdConvItem *item, const void *x, int64_t channel) {
  const int64_t first = (item->first_image * plan->groups + item->group) * plan->channels_in + channel;
  return (const char *)x + first * plan->y.in * plan->x.in * plan->element_bytes;
}

void nd_conv_copy(const NdConvPlan *plan, const NdConvItem *item, const void *x, int64_t channel, int64_t channels,
                  void *copy) {
  const int64_t bytes = plan->element_bytes, plane = plan->y.in * plan->x.in,
                image = plan->groups * plan->channels_in * plane;
  const char *from = place_of(plan, item, x, channel);
  if (plan->way == ND_CONV_IMAGES) {
    for (int64_t c = 0; c < channels; c++)
      interleave_plane(plan, item, from + c * plane * bytes, (char *)copy + c * plan->channel * bytes);
    return;
  }
  for (int64_t c = 0; c < channels; c++)
    for (int64_t i = 0; i < item->images; i++)
      copy_plane(plan, item, from + (i * image + c * plane) * bytes,
                 (char *)copy + (c * plan->channel + i * plan->image) * bytes);
}

void nd_conv_copy_end(const NdConvPlan *plan, int64_t channels, void *copy) {
  const int64_t bytes = plan->element_bytes;
  memset((char *)copy + channels * plan->channel * bytes, 0,
         (size_t)((ND_CONV_VECTORS + 1) * plan->loops->lanes * bytes));
}

const void *nd_conv_input(const NdConvPlan *plan, const NdConvItem *item, const void *x, int64_t channel,
                          int64_t channels, void *copy) {
  if (plan->in_place) return place_of(plan, item, x, channel) + item->first_row * plan->row_width * plan->element_bytes;
  nd_conv_copy(plan, item, x, channel, channels, copy);
  nd_conv_copy_end(plan, channels, copy);
  return copy;
}
