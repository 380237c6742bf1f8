/* ndarray_gemm_shared.c - one large product by all threads at once.
 *
 * For each block of k the threads pack what is to be packed of A and B, each panel once, and then multiply: pieces of
 * C, a run of panels of A that fits into the second-level cache times a run of panels of B. Every thread has a share of
 * the pieces, one after the other, so that neighbours find their panels of A, and what was theirs the last time, in its
 * cache; when it is done it takes from the ends of the others' shares, so that threads of unequal speed finish
 * together.
 *
 * Where A has few rows, what counts is how B is read. Threads that have some columns each read a bit of every page of
 * it, and processors fetch what follows that bit, which another thread wants. So pieces are rows of B: a chain of
 * ND_GEMM_CHAIN terms of many columns. Their sums lie apart until the threads join them, in the order in which one
 * thread would have added them. */
#include "ndarray_gemm_amx.h"

enum {
  NARROW_GROUP = 4,
  WIDE_GROUP = 16,
  PACK_TERMS = 256, /* terms of a piece of packing */
  MIN_PACK_TERMS = ND_AMX_STEP,
  CACHED_BYTES =
      9 << 17,     /* panels of A of a piece: half of a second-level cache and a bit, for 256 rows in tiles of 14 */
  MAX_SIDE = 4096, /* rows and columns of C whose panels are packed at once ... */
  ROOM_BYTES = 16 << 20, /* ... and most bytes of either */
  PIECES_PER_THREAD = 16,
  MIN_PIECES_PER_THREAD = 4, /* from which on a panel of B is rather read once */
  MAX_SHARES = 64,
  JOIN_BYTES = 1 << 15, /* of sums of chains that one thread joins, at least */
  LINE_BYTES = 64,
};

/* Floating-point operations of a piece that are worth handing out; tile registers do more at a time, and each piece
 * sets them up. */
#define MIN_FLOPS 4e5
#define MIN_AMX_FLOPS 4e6

/* Pieces that are left of a share: the first one in the upper half, the end in the lower. */
typedef struct Share {
  _Alignas(64) _Atomic uint64_t left;
} Share;

typedef struct Shared {
  const NdGemmLoops *loops;
  NdGemm gemm;
  NdGemmBlock block;
  int64_t threads, tiles, panels; /* panels of A, of B */
  int64_t row_pieces, column_pieces;
  bool by_columns;      /* a thread's share is of columns of C: it packs the panels of B itself that it needs */
  int64_t packed_tiles; /* panels of A that are packed */
  int64_t group, terms; /* panels and terms of a piece of packing */
  int64_t own_bytes;    /* of two panels */
  int64_t element_bytes;
  bool own_b; /* each thread packs its panels of B while it multiplies */
  void (*work)(const struct Shared *shared, int64_t piece, NdGemmOwn *own);
  int64_t share_count;
  Share shares[MAX_SHARES];
} Shared;

/* The product of few rows. */
typedef struct Chains {
  Shared shared; /* first: a piece is asked for by it */
  int64_t count, columns, column_pieces;
  int64_t join_columns;
  char *sums;  /* of all chains, one after the other */
  int64_t row; /* elements of a row of C there: a line more than it has, or rows would share sets of the first cache */
  int64_t elements; /* of a chain */
} Chains;

/* -- pieces ----------------------------------------------------------------------------------- */

/* Pieces of packing `panels` panels. */
static int64_t packing_pieces(const Shared *s, int64_t panels) {
  return nd_ceil_div(panels, s->group) * nd_ceil_div(s->block.depth, s->terms);
}

/* Cuts them: of many panels lines are read in longer runs; of few, pieces are small enough for all threads. */
static void cut_packing(Shared *s, int64_t panels) {
  s->group = panels >= 4 * WIDE_GROUP ? WIDE_GROUP : NARROW_GROUP;
  s->terms = PACK_TERMS;
  while (s->group > 1 && packing_pieces(s, panels) < s->threads) s->group /= 2;
  while (s->terms > MIN_PACK_TERMS && packing_pieces(s, panels) < s->threads) s->terms /= 2;
}

static void pack_a_piece(const Shared *s, int64_t piece, NdGemmOwn *own) {
  (void)own;
  const int64_t slices = nd_ceil_div(s->block.depth, s->terms), p = piece % slices * s->terms;
  const int64_t first = piece / slices * s->group;
  s->loops->pack_a(&s->gemm, &s->block, first, nd_min(first + s->group, s->packed_tiles), p,
                   nd_min(s->terms, s->block.depth - p));
}

static void pack_b_piece(const Shared *s, int64_t piece, NdGemmOwn *own) {
  (void)own;
  const int64_t slices = nd_ceil_div(s->block.depth, s->terms), p = piece % slices * s->terms;
  const int64_t first = s->block.first_b + piece / slices * s->group;
  s->loops->pack_b(&s->gemm, &s->block, first, nd_min(first + s->group, s->panels), p,
                   nd_min(s->terms, s->block.depth - p));
}

/* A piece of C is complete: panels tile .. tile_stop - 1 of A, panel .. panel_stop - 1 of B. */
static void finish_piece(const Shared *s, int64_t tile, int64_t tile_stop, int64_t panel, int64_t panel_stop) {
  const NdGemm *g = &s->gemm;
  const int64_t i = tile * g->m / s->tiles, j = panel * s->loops->columns;
  const int64_t rows = tile_stop * g->m / s->tiles - i, columns = nd_min(panel_stop * s->loops->columns, g->n) - j;
  nd_run_after(g->after, (char *)g->c + (i * g->c_row + j) * s->element_bytes, rows, columns, g->c_row);
}

static void multiply_piece(const Shared *s, int64_t piece, NdGemmOwn *own) {
  const int64_t row = s->by_columns ? piece % s->row_pieces : piece / s->column_pieces;
  const int64_t column = s->by_columns ? piece / s->row_pieces : piece % s->column_pieces;
  const int64_t tile = row * s->tiles / s->row_pieces, tile_stop = (row + 1) * s->tiles / s->row_pieces;
  const int64_t panel = column * s->panels / s->column_pieces, panel_stop = (column + 1) * s->panels / s->column_pieces;
  s->loops->multiply(&s->gemm, &s->block, tile, tile_stop, panel, panel_stop, own);
  const bool is_last = s->block.from + s->block.depth >= s->gemm.k;
  if (is_last && s->gemm.after) finish_piece(s, tile, tile_stop, panel, panel_stop);
}

/* A piece of a share, its first or its last; -1 when there is none. */
static int64_t take(Share *share, bool last) {
  uint64_t left = atomic_load_explicit(&share->left, memory_order_relaxed);
  for (;;) {
    const uint64_t first = left >> 32, end = left & UINT32_MAX;
    if (first >= end) return -1;
    const uint64_t less = last ? left - 1 : left + ((uint64_t)1 << 32);
    if (atomic_compare_exchange_weak_explicit(&share->left, &left, less, memory_order_relaxed, memory_order_relaxed))
      return (int64_t)(last ? end - 1 : first);
  }
}

static void BURN_API_CALL work_off(void *context, int64_t begin, int64_t end) {
  Shared *s = (Shared *)context;
  for (int64_t mine = begin; mine < end; mine++) {
    NdGemmOwn own = {.room = (char *)s->block.b + mine * s->own_bytes, .held = -1};
    for (int64_t i = 0; i < s->share_count; i++) {
      Share *share = &s->shares[(mine + i) % s->share_count];
      own.until = i == 0 ? s->panels : 0;
      for (int64_t piece = take(share, i > 0); piece >= 0; piece = take(share, i > 0))
        s->work(s, piece, s->own_b ? &own : NULL);
    }
  }
}

static void run_phase(Ndarray *nd, Shared *s, int64_t pieces,
                      void (*work)(const Shared *shared, int64_t piece, NdGemmOwn *own)) {
  s->work = work;
  s->share_count = nd_min(nd_min(s->threads, MAX_SHARES), pieces);
  for (int64_t i = 0; i < s->share_count; i++)
    atomic_init(&s->shares[i].left,
                (uint64_t)(i * pieces / s->share_count) << 32 | (uint64_t)((i + 1) * pieces / s->share_count));
  nd_parallel_for_flushed(nd, s->share_count, 1, work_off, s);
}

/* -- the product ------------------------------------------------------------------------------ */

/* Pieces of C for the part in s->gemm. */
static void cut(Shared *s, const NdGemmPlan *plan, int64_t bytes) {
  const double least = plan->kind == ND_GEMM_AMX ? MIN_AMX_FLOPS : MIN_FLOPS;
  const int64_t depth = plan->depth;
  const double flops = 2 * (double)s->gemm.m * (double)s->gemm.n * (double)depth;
  const double wanted = s->threads > 1 ? flops / least : 1, most = (double)(s->threads * PIECES_PER_THREAD);
  const int64_t pieces = wanted < most ? (int64_t)wanted + 1 : (int64_t)most;
  const int64_t cached = CACHED_BYTES / (s->loops->rows * depth * bytes);
  s->row_pieces = nd_ceil_div(s->tiles, cached > 1 ? cached : 1);
  s->column_pieces = nd_min(s->panels, nd_ceil_div(pieces, s->row_pieces));
  const int64_t few = nd_min(pieces, s->threads * MIN_PIECES_PER_THREAD);
  if (s->row_pieces * s->column_pieces < few) s->row_pieces = nd_min(s->tiles, nd_ceil_div(few, s->column_pieces));
}

static void pack(Ndarray *nd, Shared *s, int64_t panels,
                 void (*work)(const Shared *shared, int64_t piece, NdGemmOwn *own)) {
  if (panels == 0) return;
  cut_packing(s, panels);
  run_phase(nd, s, packing_pieces(s, panels), work);
}

/* One part of C, block by block. */
static void run_part(Ndarray *nd, Shared *s, const NdGemmPlan *plan, int64_t bytes) {
  const int64_t packed_b = s->panels - s->block.first_b;
  cut(s, plan, bytes);
  s->own_b = plan->kind != ND_GEMM_AMX && packed_b > 0 && s->row_pieces == 1;
  for (int64_t p = 0; p < s->gemm.k; p += plan->depth) {
    s->block.from = p;
    s->block.depth = nd_min(plan->depth, s->gemm.k - p);
    pack(nd, s, s->packed_tiles, pack_a_piece);
    if (!s->own_b) pack(nd, s, packed_b, pack_b_piece);
    run_phase(nd, s, s->row_pieces * s->column_pieces, multiply_piece);
  }
}

/* Rows i .. and columns j .. of a product. */
static NdGemm part_of(const NdGemm *g, int64_t i, int64_t j, int64_t side, int64_t bytes) {
  NdGemm part = *g;
  part.m = nd_min(side, g->m - i);
  part.n = nd_min(side, g->n - j);
  part.a = (const char *)g->a + i * g->a_row * bytes;
  part.b = (const char *)g->b + j * g->b_column * bytes;
  part.c = (char *)g->c + (i * g->c_row + j) * bytes;
  if (g->add) part.add = (const char *)g->add + (i * g->add_row + j) * bytes;
  return part;
}

/* Bytes of panels of `unit` lines for `lines` lines; the tiles of AMX take whole steps. */
static int64_t room_of(int64_t lines, int64_t unit, int64_t depth, int64_t bytes) {
  return nd_ceil_div(lines, unit) * unit * nd_ceil_div(depth, ND_AMX_STEP) * ND_AMX_STEP * bytes;
}

bool nd_gemm_run_shared(Ndarray *nd, BurnDType dtype, const NdGemm *g, const NdGemmPlan *plan) {
  const NdGemmLoops *loops = plan->kind == ND_GEMM_AMX ? nd_amx_loops() : nd_gemm_loops(nd, dtype);
  const int64_t bytes = burn_dtype_bytes(dtype), unit = loops->columns,
                most = ROOM_BYTES / (plan->depth * bytes * unit) * unit;
  const int64_t side = most < unit ? unit : nd_min(most, MAX_SIDE);
  const bool pack_a = plan->pack_a || (g->a_row != 1 && g->a_step != 1);
  const int64_t room_a = pack_a ? room_of(nd_min(g->m, side), loops->rows, plan->depth, bytes) : 0;
  const int64_t shared_b = room_of(nd_min(g->n, side), unit, plan->depth, bytes),
                own_bytes = room_of(2 * unit, unit, plan->depth, bytes);
  const int64_t shares = nd_min(nd->host->thread_count(), MAX_SHARES);
  const int64_t room_b = shared_b > shares * own_bytes ? shared_b : shares * own_bytes;
  char *room = nd_pool_allocate(nd->pool, (uint64_t)(room_a + room_b));
  if (!room) return false;
  Shared s = {.loops = loops, .threads = nd->host->thread_count(), .own_bytes = own_bytes, .element_bytes = bytes};
  for (int64_t j = 0; j < g->n; j += side) {
    for (int64_t i = 0; i < g->m; i += side) {
      s.gemm = part_of(g, i, j, side, bytes);
      s.tiles = nd_ceil_div(s.gemm.m, loops->rows);
      s.panels = nd_ceil_div(s.gemm.n, unit);
      s.packed_tiles = pack_a ? s.tiles : 0;
      s.block = (NdGemmBlock){
          .a = pack_a ? room : NULL, .b = room + room_a, .first_b = nd_gemm_full_panels(&s.gemm, plan, loops)};
      s.by_columns = !pack_a && s.panels > s.block.first_b;
      run_part(nd, &s, plan, bytes);
    }
  }
  nd_pool_free(nd->pool, room, (uint64_t)(room_a + room_b));
  return true;
}

/* -- few rows --------------------------------------------------------------------------------- */

/* Columns j .. of a product whose C is at c. */
static NdGemm columns_of(const Chains *s, int64_t j, int64_t columns, char *c, int64_t c_row) {
  const int64_t bytes = s->shared.element_bytes;
  NdGemm part = s->shared.gemm;
  part.n = nd_min(columns, part.n - j);
  part.b = (const char *)part.b + j * bytes;
  part.c = c + j * bytes;
  part.c_row = c_row;
  if (part.add) part.add = (const char *)part.add + j * bytes;
  return part;
}

static void sum_piece(const Shared *shared, int64_t piece, NdGemmOwn *own) {
  const Chains *s = (const Chains *)(const void *)shared;
  const int64_t chain = piece / s->column_pieces, p = chain * ND_GEMM_CHAIN, bytes = shared->element_bytes;
  NdGemm part =
      columns_of(s, piece % s->column_pieces * s->columns, s->columns, s->sums + chain * s->elements * bytes, s->row);
  (void)own;
  part.k = nd_min(ND_GEMM_CHAIN, shared->gemm.k - p);
  part.a = (const char *)part.a + p * part.a_step * bytes;
  part.b = (const char *)part.b + p * part.b_step * bytes;
  part.add = NULL;
  shared->loops->stream(&part);
}

static void join_piece(const Shared *shared, int64_t piece, NdGemmOwn *own) {
  const Chains *s = (const Chains *)(const void *)shared;
  const int64_t j = piece * s->join_columns;
  const NdGemm part = columns_of(s, j, s->join_columns, (char *)shared->gemm.c, shared->gemm.c_row);
  (void)own;
  shared->loops->join(&part, s->sums + j * shared->element_bytes, s->count, s->row, s->elements);
  if (part.after) nd_run_after(part.after, part.c, part.m, part.n, part.c_row);
}

bool nd_gemm_stream_shared(Ndarray *nd, BurnDType dtype, const NdGemm *g, const NdGemmPlan *plan) {
  const int64_t bytes = burn_dtype_bytes(dtype), line = LINE_BYTES / bytes;
  Chains s = {.shared = {.loops = nd_gemm_loops(nd, dtype),
                         .gemm = *g,
                         .threads = nd->host->thread_count(),
                         .element_bytes = bytes},
              .count = nd_ceil_div(g->k, ND_GEMM_CHAIN),
              .columns = plan->columns,
              .column_pieces = nd_ceil_div(g->n, plan->columns),
              .row = g->n + line};
  s.elements = g->m * s.row;
  const uint64_t room = (uint64_t)(s.count * s.elements * bytes);
  s.sums = nd_pool_allocate(nd->pool, room);
  if (!s.sums) return false;
  s.join_columns = nd_ceil_div(JOIN_BYTES / (s.count * g->m * bytes), line) * line;
  if (s.join_columns < line) s.join_columns = line;
  run_phase(nd, &s.shared, s.count * s.column_pieces, sum_piece);
  run_phase(nd, &s.shared, nd_ceil_div(g->n, s.join_columns), join_piece);
  nd_pool_free(nd->pool, s.sums, room);
  return true;
}
