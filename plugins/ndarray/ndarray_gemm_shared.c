/* ndarray_gemm_shared.c - one large product by all threads at once.
 *
 * Block by block of k the threads pack what shall be packed of A and B, each panel once, and then multiply: pieces of C, a run of
 * panels of A that fits into the second-level cache times a run of panels of B. Both kinds of work are handed out in runs,
 * long ones first: neighbouring pieces share their panels of A, and short ones in the end let threads of unequal speed
 * finish together. */
#include "ndarray_gemm.h"

enum {
  PACK_PANELS = 8,         /* panels and ... */
  PACK_TERMS = 256,        /* ... terms of a piece of packing */
  CACHED_BYTES = 1 << 20,  /* panels of A of a piece: half of a second-level cache */
  MOST_SIDE = 4096,        /* rows and columns of C whose panels are packed at once */
  PIECES_PER_THREAD = 16,
};

/* Floating-point operations of a piece that are worth handing out. */
#define LEAST_FLOPS 4e5

typedef struct Shared {
  const NdGemmLoops *loops;
  NdGemm gemm;
  NdGemmBlock block;
  int64_t threads, tiles, panels;   /* panels of A, of B */
  int64_t tile_run, panel_run;      /* of a piece; of A those are of about equal length */
  int64_t row_pieces, column_pieces;
  int64_t packed_tiles, slices;     /* panels of A that are packed; pieces along k */
  void (*work)(const struct Shared *shared, int64_t piece);
  int64_t pieces;
  _Atomic int64_t next; /* piece that nobody has */
} Shared;

/* -- pieces -------------------------------------------------------------------------------------------------------- */

static void pack_piece(const Shared *s, int64_t piece) {
  const int64_t p = piece % s->slices * PACK_TERMS, count = nd_least(PACK_TERMS, s->block.depth - p);
  const int64_t group = piece / s->slices, groups_a = nd_ceil_div(s->packed_tiles, PACK_PANELS);
  if (group < groups_a) {
    const int64_t first = group * PACK_PANELS;
    s->loops->pack_a(&s->gemm, &s->block, first, nd_least(first + PACK_PANELS, s->packed_tiles), p, count);
  } else {
    const int64_t first = s->block.first_b + (group - groups_a) * PACK_PANELS;
    s->loops->pack_b(&s->gemm, &s->block, first, nd_least(first + PACK_PANELS, s->panels), p, count);
  }
}

static void multiply_piece(const Shared *s, int64_t piece) {
  const int64_t row = piece / s->column_pieces, column = piece % s->column_pieces;
  s->loops->multiply(&s->gemm, &s->block, row * s->tiles / s->row_pieces, (row + 1) * s->tiles / s->row_pieces,
                     column * s->panels / s->column_pieces, (column + 1) * s->panels / s->column_pieces);
}

/* A share of what is left, so that runs become shorter; false when nothing is. */
static bool take_run(Shared *s, int64_t *begin, int64_t *end) {
  int64_t at = atomic_load_explicit(&s->next, memory_order_relaxed), run;
  do {
    const int64_t left = s->pieces - at;
    if (left <= 0) return false;
    run = left >= 4 * s->threads ? left / (2 * s->threads) : 1;
  } while (!atomic_compare_exchange_weak_explicit(&s->next, &at, at + run, memory_order_relaxed, memory_order_relaxed));
  *begin = at;
  *end = at + run;
  return true;
}

static void BURN_CALL take_part(void *context, int64_t first, int64_t last) {
  Shared *s = (Shared *)context;
  int64_t begin, end;
  (void)first, (void)last; /* there are as many items as threads, and each does what it can get */
  while (take_run(s, &begin, &end))
    for (int64_t piece = begin; piece < end; piece++) s->work(s, piece);
}

static void run_phase(Ndarray *nd, Shared *s, int64_t pieces, void (*work)(const Shared *shared, int64_t piece)) {
  s->work = work;
  s->pieces = pieces;
  atomic_init(&s->next, 0);
  nd_parallel_for_flushed(nd, nd_least(s->threads, pieces), 1, take_part, s);
}

/* -- the product --------------------------------------------------------------------------------------------------- */

/* Pieces of C for the part in s->gemm. */
static void cut(Shared *s, int64_t depth, int64_t bytes) {
  const double flops = 2 * (double)s->gemm.m * (double)s->gemm.n * (double)depth;
  const double wanted = s->threads > 1 ? flops / LEAST_FLOPS : 1, most = (double)(s->threads * PIECES_PER_THREAD);
  const int64_t pieces = wanted < most ? (int64_t)wanted + 1 : (int64_t)most;
  const int64_t cached = CACHED_BYTES / (s->loops->rows * depth * bytes);
  s->row_pieces = nd_ceil_div(s->tiles, cached > 1 ? cached : 1);
  s->column_pieces = nd_least(s->panels, nd_ceil_div(pieces, s->row_pieces));
  if (s->row_pieces * s->column_pieces < pieces) s->row_pieces = nd_least(s->tiles, nd_ceil_div(pieces, s->column_pieces));
}

/* One part of C, block by block. */
static void run_part(Ndarray *nd, Shared *s, const NdGemmPlan *plan, int64_t bytes) {
  const int64_t groups = nd_ceil_div(s->packed_tiles, PACK_PANELS) + nd_ceil_div(s->panels - s->block.first_b, PACK_PANELS);
  cut(s, plan->depth, bytes);
  for (int64_t p = 0; p < s->gemm.k; p += plan->depth) {
    s->block.from = p;
    s->block.depth = nd_least(plan->depth, s->gemm.k - p);
    s->slices = nd_ceil_div(s->block.depth, PACK_TERMS);
    if (groups > 0) run_phase(nd, s, groups * s->slices, pack_piece);
    run_phase(nd, s, s->row_pieces * s->column_pieces, multiply_piece);
  }
}

/* Rows i .. and columns j .. of a product. */
static NdGemm part_of(const NdGemm *g, int64_t i, int64_t j, int64_t bytes) {
  NdGemm part = *g;
  part.m = nd_least(MOST_SIDE, g->m - i);
  part.n = nd_least(MOST_SIDE, g->n - j);
  part.a = (const char *)g->a + i * g->a_row * bytes;
  part.b = (const char *)g->b + j * g->b_column * bytes;
  part.c = (char *)g->c + (i * g->c_row + j) * bytes;
  if (g->add) part.add = (const char *)g->add + (i * g->add_row + j) * bytes;
  return part;
}

/* Panels of B that can be read in place. */
static int64_t whole_panels(const NdGemm *g, const NdGemmPlan *plan, const NdGemmLoops *loops) {
  const int64_t half = loops->columns / 2;
  if (plan->pack_b || g->b_column != 1) return 0;
  return g->n % half == 0 ? nd_ceil_div(g->n, loops->columns) : g->n / loops->columns;
}

bool nd_gemm_run_shared(Ndarray *nd, BurnDType dtype, const NdGemm *g, const NdGemmPlan *plan) {
  const NdGemmLoops *loops = nd_gemm_loops(nd, dtype);
  const int64_t bytes = burn_dtype_bytes(dtype), rows = nd_least(g->m, MOST_SIDE), columns = nd_least(g->n, MOST_SIDE);
  const bool pack_a = plan->pack_a || (g->a_row != 1 && g->a_step != 1);
  const int64_t room_a = pack_a ? nd_ceil_div(rows * plan->depth * bytes, 64) * 64 : 0;
  const int64_t room_b = nd_ceil_div(columns, loops->columns) * loops->columns * plan->depth * bytes;
  char *room = nd_pool_allocate(nd->pool, (uint64_t)(room_a + room_b));
  if (!room) return false;
  Shared s = {.loops = loops, .threads = nd->host->thread_count()};
  for (int64_t j = 0; j < g->n; j += MOST_SIDE) {
    for (int64_t i = 0; i < g->m; i += MOST_SIDE) {
      s.gemm = part_of(g, i, j, bytes);
      s.tiles = nd_ceil_div(s.gemm.m, loops->rows);
      s.panels = nd_ceil_div(s.gemm.n, loops->columns);
      s.packed_tiles = pack_a ? s.tiles : 0;
      s.block = (NdGemmBlock){.a = pack_a ? room : NULL, .b = room + room_a, .first_b = whole_panels(&s.gemm, plan, loops)};
      run_part(nd, &s, plan, bytes);
    }
  }
  nd_pool_free(nd->pool, room, (uint64_t)(room_a + room_b));
  return true;
}
