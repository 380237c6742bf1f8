/* ndarray_gemm_template.h - the tiles of a matrix product for one dtype (REAL) and one vector width.
 *
 * A tile of C, up to GEMM_ROWS rows of one or two vectors, is kept in registers over a block of k: per step one row of B is
 * loaded and the numbers of a column of A are broadcast. Functions take the tile's size as a constant and are inlined, so that
 * the arrays of vectors become registers. Without vector types the same text works on single numbers.
 *
 * Packed, a panel of B holds its rows one after the other, padded with zeros to whole vectors; a panel of A holds the columns
 * of one row of tiles. Either may be read where it lies instead. */

#if defined(__GNUC__)
typedef REAL NAME(Vector) __attribute__((vector_size(GEMM_VECTOR_BYTES)));
#else
typedef REAL NAME(Vector);
#endif
#define VECTOR NAME(Vector)
#define LANES ((int64_t)(sizeof(VECTOR) / sizeof(REAL)))

GEMM_INLINE VECTOR NAME(load)(const REAL *from) {
  VECTOR x;
  memcpy(&x, from, sizeof x);
  return x;
}

GEMM_INLINE void NAME(store)(REAL *to, VECTOR x) { memcpy(to, &x, sizeof x); }

#if !defined(GEMM_PART_HOOKS)
/* The first `count` lanes, the others 0. */
GEMM_INLINE VECTOR NAME(load_part)(const REAL *from, int64_t count) {
  VECTOR x = {0};
  memcpy(&x, from, (size_t)nd_least(count, LANES) * sizeof(REAL));
  return x;
}

GEMM_INLINE void NAME(store_part)(REAL *to, VECTOR x, int64_t count) {
  memcpy(to, &x, (size_t)nd_least(count, LANES) * sizeof(REAL));
}
#endif

/* -- tiles --------------------------------------------------------------------------------------------------------- */

typedef struct NAME(Tile) {
  int64_t depth;
  const REAL *a, *b, *add; /* add: to the sums, or NULL */
  int64_t a_row, a_step, b_step, add_row;
  REAL *c;
  int64_t c_row, columns;
  const char *next;   /* rows of the next panel of B, two lines each, to be fetched meanwhile ... */
  int64_t next_step;  /* ... in bytes ... */
  int64_t next_every; /* ... one in so many steps along k */
} NAME(Tile);

/* One step along k. The broadcast is kept in a register: else each of its uses would load it again. */
#define GEMM_STEP(element)                                                        \
  do {                                                                            \
    VECTOR right[2];                                                              \
    GEMM_UNROLL for (int v = 0; v < vectors; v++) right[v] = NAME(load)(b + v * LANES);       \
    GEMM_UNROLL for (int r = 0; r < rows; r++) {                                              \
      VECTOR left = (element) - (VECTOR){0};                                       \
      GEMM_KEEP(left);                                                            \
      GEMM_UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += right[v] * left;             \
    }                                                                             \
    b += b_step;                                                                  \
  } while (0)

/* A row of C, as soon as the tile is begun. One at a time: all together they would keep A and B waiting. */
GEMM_INLINE void NAME(fetch_row)(const int rows, const int vectors, const NAME(Tile) *t, int64_t row) {
  if (row >= rows) return;
  GEMM_FETCH_WRITE(t->c + row * t->c_row);
  if (vectors > 1) GEMM_FETCH_WRITE(t->c + row * t->c_row + LANES);
}

/* Columns of A lie dense, packed or by nature. */
GEMM_INLINE void NAME(sum_columns)(const int rows, const int vectors, const NAME(Tile) *t, VECTOR sum[][2]) {
  const REAL *a = t->a, *b = t->b;
  const int64_t a_step = t->a_step, b_step = t->b_step;
  const char *next = t->next;
  int64_t row = 0, due = 0;
  for (int64_t p = 0; p < t->depth;) {
    const int64_t stop = nd_least(t->depth, p + GEMM_FETCH_STEPS);
    NAME(fetch_row)(rows, vectors, t, row++);
    if (due <= p) {
      GEMM_FETCH(next);
      GEMM_FETCH(next + 64);
      next += t->next_step;
      due += t->next_every;
    }
    for (; p < stop; p++) {
      GEMM_STEP(a[r]);
      a += a_step;
    }
  }
}

/* Rows of A lie dense. Every third row has a pointer: the others are reached by the scaled index of an address. */
GEMM_INLINE void NAME(sum_rows)(const int rows, const int vectors, const NAME(Tile) *t, VECTOR sum[][2]) {
  const REAL *base[(GEMM_ROWS + 2) / 3], *b = t->b;
  const int64_t a_row = t->a_row, b_step = t->b_step;
  int64_t p = 0;
  GEMM_UNROLL for (int g = 0; 3 * g < rows; g++) base[g] = t->a + 3 * g * a_row;
  for (; p + 4 <= t->depth; p += 4) {
    NAME(fetch_row)(rows, vectors, t, p / 4);
    GEMM_UNROLL for (int u = 0; u < 4; u++) {
      GEMM_UNROLL for (int g = 0; 3 * g < rows; g++) GEMM_KEEP_POINTER(base[g]);
      GEMM_STEP(base[r / 3][r % 3 * a_row + u]);
    }
    GEMM_UNROLL for (int g = 0; 3 * g < rows; g++) base[g] += 4;
  }
  for (; p < t->depth; p++) {
    GEMM_UNROLL for (int g = 0; 3 * g < rows; g++) GEMM_KEEP_POINTER(base[g]);
    GEMM_STEP(base[r / 3][r % 3 * a_row]);
    GEMM_UNROLL for (int g = 0; 3 * g < rows; g++) base[g]++;
  }
}

/* Finished sums on their way to C; here is the place for whatever else shall happen to them in registers. */
GEMM_INLINE void NAME(finish)(const int rows, const int vectors, const bool whole, const bool add, const NAME(Tile) *t,
                              VECTOR sum[][2]) {
  const int64_t columns = t->columns, c_row = t->c_row, add_row = t->add_row;
  GEMM_UNROLL for (int v = 0; v < vectors; v++) {
    const int64_t count = columns - v * LANES;
    const REAL *from = t->add + v * LANES;
    REAL *to = t->c + v * LANES;
    GEMM_UNROLL for (int r = 0; r < rows; r++) {
      VECTOR x = sum[r][v];
      if (add) x += whole ? NAME(load)(from) : (VECTOR)NAME(load_part)(from, count);
      if (whole)
        NAME(store)(to, x);
      else
        NAME(store_part)(to, x, count);
      from += add_row;
      to += c_row;
    }
  }
}

GEMM_INLINE void NAME(tile)(const int rows, const int vectors, const bool by_rows, const NAME(Tile) *t) {
  VECTOR sum[GEMM_ROWS][2];
  GEMM_UNROLL for (int r = 0; r < rows; r++) sum[r][0] = sum[r][1] = (VECTOR){0};
  if (by_rows)
    NAME(sum_rows)(rows, vectors, t, sum);
  else
    NAME(sum_columns)(rows, vectors, t, sum);
  if (GEMM_CHEAP_PARTS || t->columns != vectors * LANES) {
    if (t->add)
      NAME(finish)(rows, vectors, false, true, t, sum);
    else
      NAME(finish)(rows, vectors, false, false, t, sum);
  } else if (t->add) {
    NAME(finish)(rows, vectors, true, true, t, sum);
  } else {
    NAME(finish)(rows, vectors, true, false, t, sum);
  }
}

/* The tile function of each size: [two vectors][rows of A dense][rows - 1]. */
typedef void (*NAME(TileFunction))(const NAME(Tile) *);
#define GEMM_TILE(rows)                                                                                        \
  static void NAME(tile_##rows##_1c)(const NAME(Tile) *t) { NAME(tile)(rows, 1, false, t); }                   \
  static void NAME(tile_##rows##_1r)(const NAME(Tile) *t) { NAME(tile)(rows, 1, true, t); }                    \
  static void NAME(tile_##rows##_2c)(const NAME(Tile) *t) { NAME(tile)(rows, 2, false, t); }                   \
  static void NAME(tile_##rows##_2r)(const NAME(Tile) *t) { NAME(tile)(rows, 2, true, t); }
GEMM_EACH_ROWS(GEMM_TILE)
#undef GEMM_TILE
#define GEMM_1C(rows) NAME(tile_##rows##_1c),
#define GEMM_1R(rows) NAME(tile_##rows##_1r),
#define GEMM_2C(rows) NAME(tile_##rows##_2c),
#define GEMM_2R(rows) NAME(tile_##rows##_2r),
static const NAME(TileFunction) NAME(tile_functions)[2][2][GEMM_ROWS] = {
    {{GEMM_EACH_ROWS(GEMM_1C)}, {GEMM_EACH_ROWS(GEMM_1R)}},
    {{GEMM_EACH_ROWS(GEMM_2C)}, {GEMM_EACH_ROWS(GEMM_2R)}},
};
#undef GEMM_1C
#undef GEMM_1R
#undef GEMM_2C
#undef GEMM_2R

/* -- packing ------------------------------------------------------------------------------------------------------- */

#if !defined(GEMM_TRANSPOSE_HOOKS)
/* to[c * to_step + r] = from[r * from_row + c] for r below rows and 0 for the lanes from there to `width`, c below columns; all
 * at most LANES. */
GEMM_INLINE void NAME(transpose)(const REAL *from, int64_t from_row, int64_t rows, int64_t columns, REAL *to, int64_t to_step,
                                 int64_t width) {
  for (int64_t c = 0; c < columns; c++) {
    REAL lanes[GEMM_VECTOR_BYTES / sizeof(REAL)] = {0};
    for (int64_t r = 0; r < rows; r++) lanes[r] = from[r * from_row + c];
    memcpy(to + c * to_step, lanes, (size_t)width * sizeof(REAL));
  }
}
#endif

/* First row of tile `index` of `tiles` of about equal height. */
GEMM_INLINE int64_t NAME(tile_start)(int64_t m, int64_t tiles, int64_t index) { return index * m / tiles; }

/* `rows` rows of A, as columns. */
static void NAME(pack_a_rows)(const NdGemm *g, int64_t first, int64_t rows, int64_t from_p, int64_t depth, REAL *to) {
  const REAL *a = (const REAL *)g->a + first * g->a_row + from_p * g->a_step;
  if (g->a_step == 1) {
    for (int64_t p = 0; p < depth; p += LANES) {
      for (int64_t r = 0; r < rows; r += LANES) {
        const int64_t part = nd_least(LANES, rows - r);
        for (int64_t i = r; i < r + part; i++) GEMM_FETCH(a + i * g->a_row + p + GEMM_PACK_AHEAD);
        NAME(transpose)(a + r * g->a_row + p, g->a_row, part, nd_least(LANES, depth - p), to + p * rows + r, rows, part);
      }
    }
  } else {
    for (int64_t p = 0; p < depth; p++, a += g->a_step, to += rows)
      for (int64_t r = 0; r < rows; r += LANES) {
        const int64_t part = nd_least(LANES, rows - r);
        if (g->a_row == 1)
          NAME(store_part)(to + r, NAME(load_part)(a + r, part), part);
        else
          for (int64_t i = r; i < r + part; i++) to[i] = a[i * g->a_row];
      }
  }
}

/* Terms p .. p + count - 1 of a block, of tiles `tile` .. `stop` - 1. Where columns lie dense a few of them go to all tiles before
 * the next ones, so that each is read in one go. */
static void NAME(pack_a)(const NdGemm *g, const NdGemmBlock *block, int64_t tile, int64_t stop, int64_t p, int64_t count) {
  const int64_t tiles = nd_ceil_div(g->m, GEMM_ROWS), most = g->a_row == 1 ? GEMM_PACK_STEPS : count;
  for (int64_t end = p + count; p < end; p += most) {
    for (int64_t i = tile; i < stop; i++) {
      const int64_t first = NAME(tile_start)(g->m, tiles, i), rows = NAME(tile_start)(g->m, tiles, i + 1) - first;
      NAME(pack_a_rows)(g, first, rows, block->from + p, nd_least(most, end - p),
                        (REAL *)block->a + first * block->depth + p * rows);
    }
  }
}

/* `columns` columns of B in rows of `vectors` vectors. */
static void NAME(pack_b)(const NdGemm *g, int64_t first, int64_t columns, int64_t vectors, int64_t from_p, int64_t depth,
                         REAL *to) {
  const REAL *b = (const REAL *)g->b + first * g->b_column + from_p * g->b_step;
  const int64_t to_step = vectors * LANES;
  if (g->b_column == 1 && columns == 2 * LANES) {
    for (int64_t p = 0; p < depth; p++, b += g->b_step, to += to_step) {
      const VECTOR x = NAME(load)(b), y = NAME(load)(b + LANES);
      GEMM_FETCH(b + GEMM_PACK_STEPS * g->b_step);
      GEMM_FETCH(b + GEMM_PACK_STEPS * g->b_step + LANES);
      NAME(store)(to, x);
      NAME(store)(to + LANES, y);
    }
  } else if (g->b_column == 1) {
    for (int64_t p = 0; p < depth; p++, b += g->b_step, to += to_step)
      for (int64_t j = 0; j < columns; j += LANES) NAME(store)(to + j, (VECTOR)NAME(load_part)(b + j, columns - j));
  } else if (g->b_step == 1) {
    for (int64_t p = 0; p < depth; p += LANES)
      for (int64_t j = 0; j < columns; j += LANES)
        NAME(transpose)(b + j * g->b_column + p, g->b_column, nd_least(LANES, columns - j), nd_least(LANES, depth - p),
                        to + p * to_step + j, to_step, LANES);
  } else {
    for (int64_t p = 0; p < depth; p++, b += g->b_step, to += to_step)
      for (int64_t j = 0; j < to_step; j++) to[j] = j < columns ? b[j * g->b_column] : 0;
  }
}

/* -- the product --------------------------------------------------------------------------------------------------- */

/* A panel of B: where it is read, packed or in place, and by which steps. */
typedef struct NAME(Panel) {
  int64_t first, columns, vectors;
  const REAL *b;
  int64_t b_step;
  REAL *packed; /* NULL: in place */
} NAME(Panel);

/* Terms of B that are packed after tile `index`: whole vectors. */
GEMM_INLINE int64_t NAME(slice_start)(int64_t depth, int64_t tiles, int64_t index) {
  return nd_least(depth, nd_ceil_div(index * depth / tiles, LANES) * LANES);
}

/* One panel of B against all rows; meanwhile the next one is fetched, and packed slice by slice. */
static void NAME(panel)(const NdGemm *g, const REAL *packed_a, NAME(Tile) tile, int64_t from_p, int64_t vectors,
                        const NAME(Panel) *next) {
  const int64_t tiles = nd_ceil_div(g->m, GEMM_ROWS);
  const bool by_rows = !packed_a && g->a_row != 1 && g->a_step == 1; /* else one row, or columns */
  const NAME(TileFunction) *functions = NAME(tile_functions)[vectors - 1][by_rows];
  const REAL *a = (const REAL *)g->a + from_p * g->a_step, *add = tile.add;
  REAL *c = tile.c;
  for (int64_t i = 0; i < tiles; i++) {
    const int64_t first = NAME(tile_start)(g->m, tiles, i), rows = NAME(tile_start)(g->m, tiles, i + 1) - first;
    const int64_t slice = NAME(slice_start)(tile.depth, tiles, i), stop = NAME(slice_start)(tile.depth, tiles, i + 1);
    tile.a = packed_a ? packed_a + first * tile.depth : a + first * g->a_row;
    tile.a_row = packed_a ? 1 : g->a_row;
    tile.a_step = packed_a ? rows : g->a_step;
    tile.c = c + first * g->c_row;
    tile.add = add ? add + first * tile.add_row : NULL;
    tile.next = (const char *)(next ? (const REAL *)g->b + next->first * g->b_column + (from_p + slice) * g->b_step : tile.a);
    functions[rows - 1](&tile);
    if (next && next->packed && slice < stop)
      NAME(pack_b)(g, next->first, next->columns, next->vectors, from_p + slice, stop - slice, next->packed + slice * next->b_step);
  }
}

static NAME(Panel) NAME(panel_at)(const NdGemm *g, const NdGemmPlan *plan, int64_t j, int64_t from_p, REAL *scratch) {
  const int64_t columns = nd_least(2 * LANES, g->n - j), vectors = nd_ceil_div(columns, LANES);
  if (!plan->pack_b && g->b_column == 1 && columns == vectors * LANES)
    return (NAME(Panel)){j, columns, vectors, (const REAL *)g->b + j + from_p * g->b_step, g->b_step, NULL};
  return (NAME(Panel)){j, columns, vectors, scratch, vectors * LANES, scratch};
}

/* A block of k. Two panels of B alternate in the scratch. */
static void NAME(block)(const NdGemm *g, const NdGemmPlan *plan, int64_t from_p, int64_t depth, REAL *scratch) {
  const int64_t wide = 2 * LANES, tiles = nd_ceil_div(g->m, GEMM_ROWS);
  const REAL *add = (const REAL *)(from_p > 0 ? g->c : g->add);
  REAL *panels[2] = {scratch, scratch + depth * wide}, *packed_a = scratch + 2 * depth * wide;
  NAME(Panel) now = NAME(panel_at)(g, plan, 0, from_p, panels[0]), next = now;
  if (plan->pack_a) NAME(pack_a)(g, &(NdGemmBlock){.from = from_p, .depth = depth, .a = packed_a}, 0, tiles, 0, depth);
  if (now.packed) NAME(pack_b)(g, 0, now.columns, now.vectors, from_p, depth, now.packed);
  for (int64_t j = 0; j < g->n; j += wide, now = next) {
    const bool last = j + wide >= g->n;
    if (!last) next = NAME(panel_at)(g, plan, j + wide, from_p, panels[(j / wide + 1) % 2]);
    const NAME(Tile) tile = {.depth = depth,
                             .b = now.b,
                             .b_step = now.b_step,
                             .add = add ? add + j : NULL,
                             .add_row = from_p > 0 ? g->c_row : g->add_row,
                             .c = (REAL *)g->c + j,
                             .c_row = g->c_row,
                             .columns = now.columns,
                             .next_step = !last && g->b_column == 1 ? g->b_step * (int64_t)sizeof(REAL) : 0,
                             .next_every = tiles > GEMM_FETCH_STEPS ? tiles : GEMM_FETCH_STEPS};
    NAME(panel)(g, plan->pack_a ? packed_a : NULL, tile, from_p, now.vectors, last ? NULL : &next);
  }
}

/* Without terms there are 0 and what is added. */
static void NAME(no_terms)(const NdGemm *g) {
  for (int64_t i = 0; i < g->m; i++) {
    const REAL *add = g->add ? (const REAL *)g->add + i * g->add_row : NULL;
    for (int64_t j = 0; j < g->n; j++) ((REAL *)g->c)[i * g->c_row + j] = add ? add[j] : 0;
  }
}

static void NAME(tiles)(const NdGemm *g, const NdGemmPlan *plan, void *scratch) {
  if (g->m <= 0 || g->n <= 0) return;
  if (g->k <= 0) NAME(no_terms)(g);
  for (int64_t p = 0; p < g->k; p += plan->depth)
    NAME(block)(g, plan, p, nd_least(plan->depth, g->k - p), (REAL *)scratch);
}

/* -- a product shared by all threads ------------------------------------------------------------------------------- */

/* A panel of B of a block, in place or packed. */
static NAME(Panel) NAME(shared_panel)(const NdGemm *g, const NdGemmBlock *block, const NdGemmOwn *own, int64_t index) {
  const int64_t j = index * 2 * LANES, columns = nd_least(2 * LANES, g->n - j), vectors = nd_ceil_div(columns, LANES);
  if (index < block->first_b)
    return (NAME(Panel)){j, columns, vectors, (const REAL *)g->b + j + block->from * g->b_step, g->b_step, NULL};
  REAL *packed = (own ? (REAL *)own->room : (REAL *)block->b) + (own ? index % 2 : index - block->first_b) * 2 * LANES * block->depth;
  return (NAME(Panel)){j, columns, vectors, packed, vectors * LANES, packed};
}

/* Terms p .. stop - 1 of a panel. */
static void NAME(pack_panel)(const NdGemm *g, const NdGemmBlock *block, const NAME(Panel) *panel, int64_t p, int64_t stop) {
  NAME(pack_b)(g, panel->first, panel->columns, panel->vectors, block->from + p, stop - p, panel->packed + p * panel->b_step);
}

/* Terms p .. p + count - 1 of panels `index` .. `stop` - 1; where rows lie dense a few of them at a time. */
static void NAME(pack_shared_b)(const NdGemm *g, const NdGemmBlock *block, int64_t index, int64_t stop, int64_t p, int64_t count) {
  const int64_t most = g->b_column == 1 ? GEMM_PACK_STEPS : count;
  for (int64_t end = p + count; p < end; p += most) {
    for (int64_t i = index; i < stop; i++) {
      const NAME(Panel) panel = NAME(shared_panel)(g, block, NULL, i);
      NAME(pack_panel)(g, block, &panel, p, nd_least(p + most, end));
    }
  }
}

/* What all tiles of a panel have in common; `next` will follow it. */
static NAME(Tile) NAME(shared_tile)(const NdGemm *g, const NdGemmBlock *block, const NAME(Panel) *now, const NAME(Panel) *next,
                                    int64_t run) {
  const bool first = block->from == 0;
  const REAL *add = (const REAL *)(first ? g->add : g->c);
  return (NAME(Tile)){.depth = block->depth,
                      .b = now->b,
                      .b_step = now->b_step,
                      .add = add ? add + now->first : NULL,
                      .add_row = first ? g->add_row : g->c_row,
                      .c = (REAL *)g->c + now->first,
                      .c_row = g->c_row,
                      .columns = now->columns,
                      .next = (const char *)next->b,
                      .next_step = next->b_step * (int64_t)sizeof(REAL),
                      .next_every = run > GEMM_FETCH_STEPS ? run : GEMM_FETCH_STEPS};
}

/* Tiles tile .. tile_stop - 1 of a panel; meanwhile the next one is fetched, and packed slice by slice if it is the thread's own. */
static void NAME(multiply_panel)(const NdGemm *g, const NdGemmBlock *block, const NAME(Tile) *common, int64_t vectors, int64_t tile,
                                 int64_t tile_stop, const NAME(Panel) *own_next) {
  const int64_t tiles = nd_ceil_div(g->m, GEMM_ROWS), run = tile_stop - tile;
  const bool by_rows = !block->a && g->a_row != 1 && g->a_step == 1;
  for (int64_t i = tile; i < tile_stop; i++) {
    const int64_t first = NAME(tile_start)(g->m, tiles, i), rows = NAME(tile_start)(g->m, tiles, i + 1) - first;
    const int64_t slice = NAME(slice_start)(block->depth, run, i - tile), stop = NAME(slice_start)(block->depth, run, i - tile + 1);
    NAME(Tile) one = *common;
    one.a = block->a ? (const REAL *)block->a + first * block->depth
                     : (const REAL *)g->a + first * g->a_row + block->from * g->a_step;
    one.a_row = block->a ? 1 : g->a_row;
    one.a_step = block->a ? rows : g->a_step;
    one.c += first * g->c_row;
    if (one.add) one.add += first * one.add_row;
    one.next += slice * one.next_step;
    NAME(tile_functions)[vectors - 1][by_rows][rows - 1](&one);
    if (own_next && slice < stop) NAME(pack_panel)(g, block, own_next, slice, stop);
  }
}

/* The tiles tile .. tile_stop - 1 of panels index .. stop - 1. */
static void NAME(multiply_shared)(const NdGemm *g, const NdGemmBlock *block, int64_t tile, int64_t tile_stop, int64_t index,
                                  int64_t stop, NdGemmOwn *own) {
  const int64_t panels = nd_ceil_div(g->n, 2 * LANES);
  for (; index < stop; index++) {
    const bool last = index + 1 >= panels, packs = own && !last && (index + 1 < stop || index + 1 < own->until);
    const NAME(Panel) now = NAME(shared_panel)(g, block, own, index);
    const NAME(Panel) next = NAME(shared_panel)(g, block, own, last ? index : index + 1);
    NAME(Tile) tile_of = NAME(shared_tile)(g, block, &now, &next, tile_stop - tile);
    if (own && now.packed && own->held != index) NAME(pack_panel)(g, block, &now, 0, block->depth);
    if (packs && next.packed) { /* fetched is what will be packed */
      tile_of.next = (const char *)((const REAL *)g->b + next.first * g->b_column + block->from * g->b_step);
      tile_of.next_step = g->b_column == 1 ? g->b_step * (int64_t)sizeof(REAL) : 0;
    }
    NAME(multiply_panel)(g, block, &tile_of, now.vectors, tile, tile_stop, packs && next.packed ? &next : NULL);
    if (own) own->held = packs ? index + 1 : -1;
  }
}

/* -- few rows ------------------------------------------------------------------------------------------------------ */

/* `rows` x `columns` sums over k, of a[r * a_row + p] * b[s * b_column + p]; every lane has a chain, and lanes are added
 * pairwise in the end. */
GEMM_INLINE void NAME(dot_block)(const int rows, const int columns, int64_t k, const REAL *a, int64_t a_row, const REAL *b,
                                 int64_t b_column, REAL out[4][4]) {
  VECTOR sum[4][4];
  int64_t p = 0;
  GEMM_UNROLL for (int r = 0; r < rows; r++)
    GEMM_UNROLL for (int s = 0; s < columns; s++) sum[r][s] = (VECTOR){0};
  for (; p < k; p += LANES) {
    const bool whole = k - p >= LANES;
    VECTOR left[4];
    GEMM_UNROLL for (int r = 0; r < rows; r++)
      left[r] = whole ? NAME(load)(a + r * a_row + p) : (VECTOR)NAME(load_part)(a + r * a_row + p, k - p);
    GEMM_UNROLL for (int s = 0; s < columns; s++) {
      const REAL *from = b + s * b_column + p;
      const VECTOR right = whole ? NAME(load)(from) : (VECTOR)NAME(load_part)(from, k - p);
      GEMM_UNROLL for (int r = 0; r < rows; r++) sum[r][s] += left[r] * right;
    }
  }
  for (int r = 0; r < rows; r++) {
    for (int s = 0; s < columns; s++) {
      REAL lanes[GEMM_VECTOR_BYTES / sizeof(REAL)];
      NAME(store)(lanes, sum[r][s]);
      for (int64_t half = LANES / 2; half > 0; half /= 2)
        for (int64_t i = 0; i < half; i++) lanes[i] += lanes[i + half];
      out[r][s] = lanes[0];
    }
  }
}

static void NAME(dot_case)(int64_t rows, int64_t columns, int64_t k, const REAL *a, int64_t a_row, const REAL *b,
                           int64_t b_column, REAL out[4][4]) {
#define GEMM_DOT(r, s)                                          \
  case 4 * (r) + (s):                                           \
    NAME(dot_block)(r, s, k, a, a_row, b, b_column, out);       \
    break;
  switch (4 * rows + columns) {
    GEMM_DOT(1, 1) GEMM_DOT(1, 2) GEMM_DOT(1, 3) GEMM_DOT(1, 4)
    GEMM_DOT(2, 1) GEMM_DOT(2, 2) GEMM_DOT(2, 3) GEMM_DOT(2, 4)
    GEMM_DOT(3, 1) GEMM_DOT(3, 2) GEMM_DOT(3, 3) GEMM_DOT(3, 4)
    GEMM_DOT(4, 1) GEMM_DOT(4, 2) GEMM_DOT(4, 3) GEMM_DOT(4, 4)
    default:
      break;
  }
#undef GEMM_DOT
}

/* Rows of A and columns of B lie dense. */
static void NAME(dots)(const NdGemm *g) {
  const REAL *a = (const REAL *)g->a, *b = (const REAL *)g->b, *add = (const REAL *)g->add;
  for (int64_t j = 0; j < g->n; j += 4) {
    for (int64_t i = 0; i < g->m; i += 4) {
      const int64_t rows = nd_least(4, g->m - i), columns = nd_least(4, g->n - j);
      REAL out[4][4], *c = (REAL *)g->c + i * g->c_row + j;
      NAME(dot_case)(rows, columns, g->k, a + i * g->a_row, g->a_row, b + j * g->b_column, g->b_column, out);
      for (int64_t r = 0; r < rows; r++)
        for (int64_t s = 0; s < columns; s++)
          c[r * g->c_row + s] = add ? out[r][s] + add[(i + r) * g->add_row + j + s] : out[r][s];
    }
  }
}

/* `steps` rows of B times their numbers of one row of A, onto a row of sums. */
GEMM_INLINE void NAME(stream_rows)(const int steps, const REAL *left, const REAL *b, int64_t b_step, REAL *sums, int64_t n) {
  VECTOR x[8];
  GEMM_UNROLL for (int u = 0; u < steps; u++) x[u] = left[u] - (VECTOR){0};
  for (int64_t j = 0; j < n; j += LANES) {
    const bool whole = n - j >= LANES;
    VECTOR sum = whole ? NAME(load)(sums + j) : (VECTOR)NAME(load_part)(sums + j, n - j);
    GEMM_UNROLL for (int u = 0; u < steps; u++) {
      const REAL *from = b + u * b_step + j;
      sum += (whole ? NAME(load)(from) : (VECTOR)NAME(load_part)(from, n - j)) * x[u];
    }
    if (whole)
      NAME(store)(sums + j, sum);
    else
      NAME(store_part)(sums + j, sum, n - j);
  }
}

/* Eight rows of B at a time are multiplied with all rows of A: the sums stay in the first-level cache, B passes by once. */
static void NAME(stream_columns)(const NdGemm *g) {
  const REAL *a = (const REAL *)g->a, *b = (const REAL *)g->b, *add = (const REAL *)g->add;
  REAL *c = (REAL *)g->c;
  int64_t p = 0;
  if (add == c) add = NULL; /* sums go on */
  for (int64_t i = 0; i < g->m && g->add != g->c; i++) memset(c + i * g->c_row, 0, (size_t)g->n * sizeof(REAL));
  for (; p < g->k; p += 8) {
    const int64_t steps = nd_least(8, g->k - p);
    for (int64_t i = 0; i < g->m; i++) {
      REAL left[8];
      for (int64_t u = 0; u < steps; u++) left[u] = a[i * g->a_row + (p + u) * g->a_step];
      if (steps == 8)
        NAME(stream_rows)(8, left, b + p * g->b_step, g->b_step, c + i * g->c_row, g->n);
      else
        for (int64_t u = 0; u < steps; u++)
          NAME(stream_rows)(1, left + u, b + (p + u) * g->b_step, g->b_step, c + i * g->c_row, g->n);
    }
  }
  for (int64_t i = 0; i < g->m && add; i++)
    for (int64_t j = 0; j < g->n; j++) c[i * g->c_row + j] += add[i * g->add_row + j];
}

/* Rows of B lie dense. */
static void NAME(stream)(const NdGemm *g) {
  NdGemm part = *g;
  for (int64_t j = 0; j < g->n; j += part.n) {
    part.n = nd_least(GEMM_STREAM_COLUMNS, g->n - j);
    part.b = (const REAL *)g->b + j;
    part.c = (REAL *)g->c + j;
    part.add = g->add ? (const REAL *)g->add + j : NULL;
    NAME(stream_columns)(&part);
  }
}

#undef GEMM_STEP
#undef VECTOR
#undef LANES
