/* ndarray_gemm_template.h - the tiles of a matrix product for one dtype (REAL) and one vector width.
 *
 * A tile of C, up to GEMM_ROWS rows of one or two vectors, is kept in registers over a block of k: per step one row of
 * B is loaded and the numbers of a column of A are broadcast. Functions take the tile's size as a constant and are
 * inlined, so that the arrays of vectors become registers. Without vector types the same text works on single numbers.
 *
 * Packed, a panel of B holds its rows one after the other, padded with zeros to whole vectors; a panel of A holds the
 * columns of one row of tiles. Either may be read where it lies instead. */

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

/* -- tiles ------------------------------------------------------------------------------------ */

typedef struct NAME(Tile) {
  int64_t rows, columns, depth;
  const REAL *a, *b, *add; /* add: to the sums, or NULL */
  int64_t a_row, a_step, b_step, add_row;
  REAL *c;
  int64_t c_row;
  const char *next;   /* rows of the next panel of B, two lines each, to be fetched meanwhile ... */
  int64_t next_step;  /* ... in bytes ... */
  int64_t next_every; /* ... one in so many steps along k */
} NAME(Tile);

/* Every third row of A has a pointer: the others are reached by the scaled index of an address. A broadcast is kept in
 * a register: else each of its uses would load it again. Every few steps a row of C, and one of the next panel of B, is
 * fetched; one at a time, as all of them together would keep A and B waiting. */
GEMM_INLINE void NAME(sum)(const int rows, const int vectors, const NAME(Tile) * t, VECTOR sum[][2]) {
  const REAL *base[(GEMM_ROWS + 2) / 3], *b = t->b, *c = t->c;
  const int64_t a_row = t->a_row, a_step = t->a_step, b_step = t->b_step;
  const char *next = t->next;
  int64_t due = t->depth, fetched = 0;
  GEMM_UNROLL for (int g = 0; 3 * g < rows; g++) base[g] = t->a + 3 * g * a_row;
  for (int64_t left = t->depth; left > 0;) {
    const int64_t stop = left > GEMM_FETCH_STEPS ? left - GEMM_FETCH_STEPS : 0;
    if (fetched++ < rows) {
      GEMM_FETCH_WRITE(c);
      if (vectors > 1) GEMM_FETCH_WRITE(c + LANES);
      c += t->c_row;
    }
    if (left <= due) {
      GEMM_FETCH(next);
      GEMM_FETCH(next + 64);
      next += t->next_step;
      due -= t->next_every;
    }
    for (; left > stop; left--) {
      VECTOR right[2];
      GEMM_UNROLL for (int v = 0; v < vectors; v++) right[v] = NAME(load)(b + v * LANES);
      GEMM_UNROLL for (int g = 0; 3 * g < rows; g++) GEMM_KEEP_POINTER(base[g]);
      GEMM_UNROLL for (int r = 0; r < rows; r++) {
        VECTOR x = base[r / 3][r % 3 * a_row] - (VECTOR){0};
        GEMM_KEEP(x);
        GEMM_UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += right[v] * x;
      }
      GEMM_UNROLL for (int g = 0; 3 * g < rows; g++) base[g] += a_step;
      b += b_step;
    }
  }
}

/* Finished sums on their way to C; here is the place for whatever else shall happen to them in registers. */
GEMM_INLINE void NAME(finish)(const int vectors, const bool whole, const bool add, const NAME(Tile) * t,
                              VECTOR sum[][2]) {
  const int64_t rows = t->rows, columns = t->columns, c_row = t->c_row, add_row = t->add_row;
  const REAL *from = t->add;
  REAL *to = t->c;
  GEMM_UNROLL for (int r = 0; r < GEMM_ROWS; r++) {
    GEMM_UNROLL for (int v = 0; v < vectors; v++) {
      const int64_t at = v * LANES, count = columns - at;
      VECTOR x = sum[r][v];
      if (add) x += whole ? NAME(load)(from + at) : (VECTOR)NAME(load_part)(from + at, count);
      if (whole)
        NAME(store)(to + at, x);
      else
        NAME(store_part)(to + at, x, count);
    }
    if (r + 1 == rows) return;
    if (add) from += add_row;
    to += c_row;
  }
}

/* All heights share what is before and after their loops. */
GEMM_INLINE void NAME(tile)(const int vectors, const NAME(Tile) * t) {
  VECTOR sum[GEMM_ROWS][2];
  GEMM_UNROLL for (int r = 0; r < GEMM_ROWS; r++) GEMM_UNROLL for (int v = 0; v < vectors; v++) {
    sum[r][v] = (VECTOR){0};
    GEMM_KEEP(sum[r][v]);
  }
  switch (t->rows) {
#define GEMM_CASE(rows)               \
  case rows:                          \
    NAME(sum)(rows, vectors, t, sum); \
    break;
    GEMM_EACH_ROWS(GEMM_CASE)
#undef GEMM_CASE
    default:
      break;
  }
  if (GEMM_CHEAP_PARTS || t->columns != vectors * LANES) {
    if (t->add)
      NAME(finish)(vectors, false, true, t, sum);
    else
      NAME(finish)(vectors, false, false, t, sum);
  } else if (t->add) {
    NAME(finish)(vectors, true, true, t, sum);
  } else {
    NAME(finish)(vectors, true, false, t, sum);
  }
}

static void NAME(tile_one)(const NAME(Tile) * t) { NAME(tile)(1, t); }
static void NAME(tile_two)(const NAME(Tile) * t) { NAME(tile)(2, t); }

/* -- packing ---------------------------------------------------------------------------------- */

#if !defined(GEMM_TRANSPOSE_HOOKS)
/* to[c * to_step + r] = from[r * from_row + c] for r below rows and 0 for the lanes from there to `width`, c below
 * columns; all at most LANES. */
GEMM_INLINE void NAME(transpose)(const REAL *from, int64_t from_row, int64_t rows, int64_t columns, REAL *to,
                                 int64_t to_step, int64_t width) {
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
        NAME(transpose)
        (a + r * g->a_row + p, g->a_row, part, nd_least(LANES, depth - p), to + p * rows + r, rows, part);
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

/* Terms p .. p + count - 1 of a block, of tiles `tile` .. `stop` - 1. Where columns lie dense a few of them go to all
 * tiles before the next ones, so that each is read in one go. */
static void NAME(pack_a)(const NdGemm *g, const NdGemmBlock *block, int64_t tile, int64_t stop, int64_t p,
                         int64_t count) {
  const int64_t tiles = nd_ceil_div(g->m, GEMM_ROWS), most = g->a_row == 1 ? GEMM_PACK_STEPS : count;
  for (int64_t end = p + count; p < end; p += most) {
    for (int64_t i = tile; i < stop; i++) {
      const int64_t first = NAME(tile_start)(g->m, tiles, i), rows = NAME(tile_start)(g->m, tiles, i + 1) - first;
      NAME(pack_a_rows)
      (g, first, rows, block->from + p, nd_least(most, end - p), (REAL *)block->a + first * block->depth + p * rows);
    }
  }
}

/* `columns` columns of B in rows of `vectors` vectors. */
static void NAME(pack_columns)(const NdGemm *g, int64_t first, int64_t columns, int64_t vectors, int64_t from_p,
                               int64_t depth, REAL *to) {
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
      for (int64_t j = 0; j < columns; j += LANES) NAME(transpose)
    (b + j * g->b_column + p, g->b_column, nd_least(LANES, columns - j), nd_least(LANES, depth - p),
     to + p * to_step + j, to_step, LANES);
  } else {
    for (int64_t p = 0; p < depth; p++, b += g->b_step, to += to_step)
      for (int64_t j = 0; j < to_step; j++) to[j] = j < columns ? b[j * g->b_column] : 0;
  }
}

/* -- the product ------------------------------------------------------------------------------ */

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

/* A panel of B of a block, in place or packed. */
static NAME(Panel) NAME(panel_at)(const NdGemm *g, const NdGemmBlock *block, const NdGemmOwn *own, int64_t index) {
  const int64_t j = index * 2 * LANES, columns = nd_least(2 * LANES, g->n - j), vectors = nd_ceil_div(columns, LANES);
  if (index < block->first_b)
    return (NAME(Panel)){j, columns, vectors, (const REAL *)g->b + j + block->from * g->b_step, g->b_step, NULL};
  REAL *packed = (own ? (REAL *)own->room : (REAL *)block->b) +
                 (own ? index % 2 : index - block->first_b) * 2 * LANES * block->depth;
  return (NAME(Panel)){j, columns, vectors, packed, vectors * LANES, packed};
}

/* Terms p .. stop - 1 of a panel. */
static void NAME(pack_panel)(const NdGemm *g, const NdGemmBlock *block, const NAME(Panel) * panel, int64_t p,
                             int64_t stop) {
  NAME(pack_columns)
  (g, panel->first, panel->columns, panel->vectors, block->from + p, stop - p, panel->packed + p * panel->b_step);
}

/* Terms p .. p + count - 1 of panels `index` .. `stop` - 1; where rows lie dense a few of them at a time. */
static void NAME(pack_b)(const NdGemm *g, const NdGemmBlock *block, int64_t index, int64_t stop, int64_t p,
                         int64_t count) {
  const int64_t most = g->b_column == 1 ? GEMM_PACK_STEPS : count;
  for (int64_t end = p + count; p < end; p += most) {
    for (int64_t i = index; i < stop; i++) {
      const NAME(Panel) panel = NAME(panel_at)(g, block, NULL, i);
      NAME(pack_panel)(g, block, &panel, p, nd_least(p + most, end));
    }
  }
}

/* What all tiles of a panel have in common; `next` will follow it. */
GEMM_INLINE void NAME(tile_of)(const NdGemm *g, const NdGemmBlock *block, const NAME(Panel) * now,
                               const NAME(Panel) * next, int64_t run, NAME(Tile) * one) {
  const bool first = block->from == 0;
  const REAL *add = (const REAL *)(first ? g->add : g->c);
  one->depth = block->depth;
  one->b = now->b;
  one->b_step = now->b_step;
  one->add = add ? add + now->first : NULL;
  one->add_row = first ? g->add_row : g->c_row;
  one->c = (REAL *)g->c + now->first;
  one->c_row = g->c_row;
  one->columns = now->columns;
  one->next = (const char *)next->b;
  one->next_step = next->b_step * (int64_t)sizeof(REAL);
  one->next_every = run > GEMM_FETCH_STEPS ? run : GEMM_FETCH_STEPS;
}

/* Tiles tile .. tile_stop - 1 of a panel; meanwhile the next one is fetched, and packed slice by slice if it is the
 * thread's own. What the tiles have in common stays in `one`, number by number: a copy of it, by vectors, would have to
 * wait until the results of the tile before are in the cache. */
static void NAME(multiply_panel)(const NdGemm *g, const NdGemmBlock *block, NAME(Tile) * one, int64_t vectors,
                                 int64_t tile, int64_t tile_stop, const NAME(Panel) * own_next) {
  const int64_t tiles = nd_ceil_div(g->m, GEMM_ROWS), run = tile_stop - tile;
  const REAL *add = one->add;
  REAL *c = one->c;
  const char *next = one->next;
  for (int64_t i = tile; i < tile_stop; i++) {
    const int64_t first = NAME(tile_start)(g->m, tiles, i), rows = NAME(tile_start)(g->m, tiles, i + 1) - first;
    const int64_t slice = NAME(slice_start)(block->depth, run, i - tile),
                  stop = NAME(slice_start)(block->depth, run, i - tile + 1);
    one->rows = rows;
    one->a = block->a ? (const REAL *)block->a + first * block->depth
                      : (const REAL *)g->a + first * g->a_row + block->from * g->a_step;
    one->a_row = block->a ? 1 : g->a_row;
    one->a_step = block->a ? rows : g->a_step;
    one->c = c + first * g->c_row;
    if (add) one->add = add + first * one->add_row;
    one->next = next + slice * one->next_step;
    if (vectors > 1)
      NAME(tile_two)(one);
    else
      NAME(tile_one)(one);
    if (own_next && slice < stop) NAME(pack_panel)(g, block, own_next, slice, stop);
  }
}

/* The tiles tile .. tile_stop - 1 of panels index .. stop - 1. */
static void NAME(multiply)(const NdGemm *g, const NdGemmBlock *block, int64_t tile, int64_t tile_stop, int64_t index,
                           int64_t stop, NdGemmOwn *own) {
  const int64_t panels = nd_ceil_div(g->n, 2 * LANES);
  for (; index < stop; index++) {
    const bool last = index + 1 >= panels, packs = own && !last && (index + 1 < stop || index + 1 < own->until);
    const NAME(Panel) now = NAME(panel_at)(g, block, own, index);
    const NAME(Panel) next = NAME(panel_at)(g, block, own, last ? index : index + 1);
    NAME(Tile) one;
    NAME(tile_of)(g, block, &now, &next, tile_stop - tile, &one);
    if (own && now.packed && own->held != index) NAME(pack_panel)(g, block, &now, 0, block->depth);
    if (packs && next.packed) { /* fetched is what will be packed */
      one.next = (const char *)((const REAL *)g->b + next.first * g->b_column + block->from * g->b_step);
      one.next_step = g->b_column == 1 ? g->b_step * (int64_t)sizeof(REAL) : 0;
    }
    NAME(multiply_panel)(g, block, &one, now.vectors, tile, tile_stop, packs && next.packed ? &next : NULL);
    if (own) own->held = packs ? index + 1 : -1;
  }
}

/* -- few rows --------------------------------------------------------------------------------- */

/* The sum of a vector's lanes, pairwise. */
GEMM_APART REAL NAME(sum_lanes)(VECTOR x) {
  REAL lanes[GEMM_VECTOR_BYTES / sizeof(REAL)];
  NAME(store)(lanes, x);
  for (int64_t half = LANES / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < half; i++) lanes[i] += lanes[i + half];
  return lanes[0];
}

/* Sums over k of rows of A times columns of B, one chain per lane. */
typedef struct NAME(Dots) {
  int64_t k;
  const REAL *a[GEMM_DOT_ROWS], *b[GEMM_DOT_COLUMNS];
  REAL out[GEMM_DOT_ROWS][GEMM_DOT_COLUMNS];
} NAME(Dots);

GEMM_INLINE void NAME(dot_step)(const int rows, const int columns, const bool whole, const NAME(Dots) * d, int64_t p,
                                VECTOR sum[][GEMM_DOT_COLUMNS]) {
  VECTOR left[GEMM_DOT_ROWS];
  GEMM_UNROLL for (int r = 0; r < rows; r++) left[r] =
      whole ? NAME(load)(d->a[r] + p) : (VECTOR)NAME(load_part)(d->a[r] + p, d->k - p);
  GEMM_UNROLL for (int s = 0; s < columns; s++) {
    const VECTOR right = whole ? NAME(load)(d->b[s] + p) : (VECTOR)NAME(load_part)(d->b[s] + p, d->k - p);
    GEMM_UNROLL for (int r = 0; r < rows; r++) sum[r][s] += left[r] * right;
  }
}

GEMM_INLINE void NAME(dot_block)(const int rows, const int columns, NAME(Dots) * d) {
  VECTOR sum[GEMM_DOT_ROWS][GEMM_DOT_COLUMNS];
  int64_t p = 0;
  GEMM_UNROLL for (int r = 0; r < rows; r++) GEMM_UNROLL for (int s = 0; s < columns; s++) sum[r][s] = (VECTOR){0};
  for (; p + LANES <= d->k; p += LANES) NAME(dot_step)(rows, columns, true, d, p, sum);
  if (p < d->k) NAME(dot_step)(rows, columns, false, d, p, sum);
  GEMM_UNROLL for (int r = 0; r < rows; r++) GEMM_UNROLL for (int s = 0; s < columns; s++) d->out[r][s] =
      NAME(sum_lanes)(sum[r][s]);
}

/* Rows of A and columns of B lie dense. Those that a block lacks are the last one once more. */
static void NAME(dots_at)(const NdGemm *g, int64_t i, int64_t j, NAME(Dots) * d) {
  for (int64_t r = 0; r < GEMM_DOT_ROWS; r++) d->a[r] = (const REAL *)g->a + nd_least(i + r, g->m - 1) * g->a_row;
  for (int64_t s = 0; s < GEMM_DOT_COLUMNS; s++) d->b[s] = (const REAL *)g->b + nd_least(j + s, g->n - 1) * g->b_column;
  switch (nd_least(g->m - i, 3) * 2 + (g->n - j > 1)) {
    case 2:
      NAME(dot_block)(1, 1, d);
      break;
    case 3:
      NAME(dot_block)(1, GEMM_DOT_COLUMNS, d);
      break;
    case 4:
      NAME(dot_block)(2, 1, d);
      break;
    case 5:
      NAME(dot_block)(2, GEMM_DOT_COLUMNS, d);
      break;
    case 6:
      NAME(dot_block)(GEMM_DOT_ROWS, 1, d);
      break;
    default:
      NAME(dot_block)(GEMM_DOT_ROWS, GEMM_DOT_COLUMNS, d);
      break;
  }
}

static void NAME(dots)(const NdGemm *g) {
  NAME(Dots) d = {.k = g->k};
  for (int64_t j = 0; j < g->n; j += GEMM_DOT_COLUMNS) {
    for (int64_t i = 0; i < g->m; i += GEMM_DOT_ROWS) {
      NAME(dots_at)(g, i, j, &d);
      for (int64_t r = i; r < nd_least(i + GEMM_DOT_ROWS, g->m); r++) {
        for (int64_t s = j; s < nd_least(j + GEMM_DOT_COLUMNS, g->n); s++) {
          const REAL sum = d.out[r - i][s - j];
          ((REAL *)g->c)[r * g->c_row + s] = g->add ? sum + ((const REAL *)g->add)[r * g->add_row + s] : sum;
        }
      }
    }
  }
}

/* `steps` rows of B times their numbers of all rows of A, onto columns j .. of the sums in C; the rows of B after them
 * are fetched. */
GEMM_INLINE void NAME(stream_terms)(const int steps, const bool whole, const NdGemm *g, const REAL *left, int64_t p,
                                    int64_t j) {
  const REAL *b = (const REAL *)g->b + p * g->b_step + j;
  const int64_t counts[2] = {g->n - j, g->n - j > LANES ? g->n - j - LANES : 0};
  REAL *sums = (REAL *)g->c + j;
  VECTOR right[GEMM_STREAM_TERMS][2];
  GEMM_UNROLL for (int u = 0; u < steps; u++) {
    GEMM_UNROLL for (int v = 0; v < 2; v++) {
      const int64_t at = u * g->b_step + v * LANES;
      GEMM_FETCH_NEAR(b + at + steps * g->b_step);
      right[u][v] = whole ? NAME(load)(b + at) : (VECTOR)NAME(load_part)(b + at, counts[v]);
    }
  }
  for (int64_t i = 0; i < g->m; i++, left += GEMM_STREAM_TERMS, sums += g->c_row) {
    VECTOR sum[2];
    GEMM_UNROLL for (int v = 0; v < 2; v++) sum[v] =
        whole ? NAME(load)(sums + v * LANES) : (VECTOR)NAME(load_part)(sums + v * LANES, counts[v]);
    GEMM_UNROLL for (int u = 0; u < steps; u++) {
      VECTOR x = left[u] - (VECTOR){0};
      GEMM_KEEP(x);
      GEMM_UNROLL for (int v = 0; v < 2; v++) sum[v] += right[u][v] * x;
    }
    GEMM_UNROLL for (int v = 0; v < 2; v++) {
      if (whole)
        NAME(store)(sums + v * LANES, sum[v]);
      else
        NAME(store_part)(sums + v * LANES, sum[v], counts[v]);
    }
  }
}

GEMM_INLINE void NAME(stream_step)(const int steps, const NdGemm *g, int64_t p) {
  REAL left[ND_GEMM_FEW_ROWS * GEMM_STREAM_TERMS];
  int64_t j = 0;
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t u = 0; u < steps; u++)
      left[i * GEMM_STREAM_TERMS + u] = ((const REAL *)g->a)[i * g->a_row + (p + u) * g->a_step];
  for (; j + 2 * LANES <= g->n; j += 2 * LANES) NAME(stream_terms)(steps, true, g, left, p, j);
  if (j < g->n) NAME(stream_terms)(steps, false, g, left, p, j);
}

/* Some rows of B at a time are multiplied with all rows of A: the sums stay in the first-level cache, B passes by once.
 */
static void NAME(stream_columns)(const NdGemm *g) {
  const REAL *add = (const REAL *)g->add;
  REAL *c = (REAL *)g->c;
  int64_t p = 0;
  for (int64_t i = 0; i < g->m; i++) memset(c + i * g->c_row, 0, (size_t)g->n * sizeof(REAL));
  for (; p + GEMM_STREAM_TERMS <= g->k; p += GEMM_STREAM_TERMS) NAME(stream_step)(GEMM_STREAM_TERMS, g, p);
  for (; p < g->k; p++) NAME(stream_step)(1, g, p);
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

#undef VECTOR
#undef LANES
