/* ndarray_gemm.c - how a matrix product is computed: which loops, in which pieces, with which operands copied.
 *
 * The figures here were measured: packing pays where a panel read in place would touch more pages than the processor
 * keeps translations of, and where it is read often enough; operands that lie in the second-level cache are read in
 * place. */
#include "ndarray_gemm_amx.h"

#include <stdlib.h>

enum {
  DEPTH = 1024,          /* deepest block of k: panels stay in the second-level cache, C is read rarely */
  BLOCK_BYTES = 1 << 20, /* part of A that all panels of B meet: half of a second-level cache */
  PAGE_BYTES = 4096,
  WALK_BYTES = 96 * PAGE_BYTES, /* distance that a panel may stretch over in place */
  NEAR_BYTES = 1024,            /* distance of rows that tile registers are loaded from in place */
  PACK_TILES = 3,               /* how many tiles at least a copied panel has to serve */
  MANY_COLUMNS = 2048,          /* of C, from which on a copy of A costs next to nothing ... */
  SOME_COLUMNS = 256,           /* ... and less than tiles in place whose rows push each other out of the cache */
  LINE_BYTES = 64,
  FIRST_WAYS = 8,         /* lines at distances of whole pages that the first-level cache has room for */
  STREAM_BYTES = 1 << 20, /* size of a B that is not in the second-level cache */
  RUN_BYTES = 1024,       /* of a row of B, at least, that a thread reads of those that others read, too */
  OUTER_BYTES = 1 << 15,  /* size of a C of one term that is in the first-level cache */
};

/* Floating-point operations from which on threads share a product, and one of a batch; and from which on both operands
 * are packed. */
#define SHARED_FLOPS 4e6
#define SHARED_BATCH_FLOPS 5e8
#define SHARED_AMX_FLOPS 1.6e7
#define SHARED_STREAM_FLOPS 1e6
#define PACK_FLOPS 1e9

/* Pieces per thread: several, so that a thread that comes late, or is slow, gets less; few where every piece copies
 * much. */
static const int64_t pieces_per_thread[] = {
    [ND_GEMM_TILES] = 4, [ND_GEMM_DOTS] = 4, [ND_GEMM_OUTER] = 4, [ND_GEMM_STREAM] = 2, [ND_GEMM_AMX] = 2};

/* Floating-point operations of a piece that is worth a thread's while, two to three microseconds of them. */
static const double min_flops[] = {
    [ND_GEMM_TILES] = 4e5, [ND_GEMM_DOTS] = 4e4, [ND_GEMM_OUTER] = 4e4, [ND_GEMM_STREAM] = 1e5, [ND_GEMM_AMX] = 4e6};

static const NdGemmTable *table_of(uint32_t isa) {
#if defined(BURN_NDARRAY_X86_VARIANTS)
  if (isa == NDARRAY_ISA_AVX512) return &nd_gemm_avx512;
  if (isa == NDARRAY_ISA_AVX2) return &nd_gemm_avx2;
#endif
  (void)isa;
  return &nd_gemm_baseline;
}

const NdGemmLoops *nd_gemm_loops(const Ndarray *nd, BurnDType dtype) {
  const NdGemmTable *table = table_of(nd->isa);
  return dtype == BURN_DTYPE_F64 ? &table->f64 : &table->f32;
}

/* -- the choice ------------------------------------------------------------------------------- */

static NdGemmKind choose_kind(const NdGemm *g, BurnDType dtype) {
  const int64_t bytes = burn_dtype_bytes(dtype);
  const bool along_k = g->a_step == 1 && g->b_step == 1 && g->k >= 16;
  if (along_k && (g->m <= ND_GEMM_MAX_DOT_ROWS || g->n <= 4)) return ND_GEMM_DOTS;
  if (dtype == BURN_DTYPE_BF16) return g->b_column == 1 && g->m <= ND_GEMM_MAX_DOT_ROWS ? ND_GEMM_STREAM : ND_GEMM_AMX;
  if (g->k == 1 && g->b_column == 1 && g->m * g->n * bytes <= OUTER_BYTES) return ND_GEMM_OUTER;
  const bool rereads = g->m > 1 && g->k * g->n * bytes <= STREAM_BYTES; /* B, which is near */
  if (g->b_column == 1 && g->m <= ND_GEMM_MAX_DOT_ROWS && g->n >= 64 && g->k > 0 && !rereads) return ND_GEMM_STREAM;
  return ND_GEMM_TILES;
}

/* Halves the longer side until there is enough for all threads. */
static void choose_rectangle(NdGemmPlan *plan, const NdGemm *g, const NdGemmLoops *loops, double pieces) {
  double count = 1;
  while (count < pieces) {
    const bool rows = plan->rows >= 2 * loops->rows, columns = plan->columns >= 2 * loops->columns;
    if (!rows && !columns) break;
    if (rows && (plan->rows >= plan->columns || !columns))
      plan->rows = nd_ceil_div(plan->rows, 2);
    else
      plan->columns = nd_ceil_div(nd_ceil_div(plan->columns, 2), loops->columns) * loops->columns;
    count = (double)nd_ceil_div(g->m, plan->rows) * (double)nd_ceil_div(g->n, plan->columns);
  }
}

/* True if `count` steps of `stride` elements lead through more pages than a panel in place should. */
static bool is_long_walk(int64_t count, int64_t stride, int64_t bytes) {
  return llabs(stride) * bytes * count > WALK_BYTES;
}

/* True if few of `count` lines at this stride find room in the first-level cache, as they share its sets: a power of
 * two that divides the stride leads around its page in few steps. */
static bool share_sets(int64_t count, int64_t stride, int64_t bytes) {
  const int64_t distance = llabs(stride) * bytes, shared = distance & -distance;
  return shared > LINE_BYTES && count > FIRST_WAYS * (PAGE_BYTES / nd_min(shared, PAGE_BYTES));
}

/* Rows in whole blocks, and no more than the second-level cache takes of A. */
static void choose_amx(NdGemmPlan *plan, const NdGemm *g) {
  const int64_t row_bytes = nd_ceil_div(g->k + 1, ND_AMX_STEP) * ND_AMX_STEP * 2, most = BLOCK_BYTES / row_bytes;
  plan->rows = nd_min(plan->rows, most < ND_AMX_SIDE ? ND_AMX_SIDE : most);
  plan->rows = nd_min(g->m, nd_ceil_div(plan->rows, ND_AMX_SIDE) * ND_AMX_SIDE);
}

/* One row or two, by chains along k: memory is what counts, and too few columns for each thread to read whole pages. */
static bool has_chains(const NdGemm *g, int64_t threads, int64_t bytes) {
  const double flops = 2 * (double)g->m * (double)g->n * (double)g->k;
  return g->m <= ND_GEMM_MEMORY_ROWS && g->k > ND_GEMM_CHAIN && g->n * bytes < threads * PAGE_BYTES &&
         flops >= SHARED_STREAM_FLOPS;
}

/* A piece is a chain of as many columns as leave pieces for all threads. */
static void choose_chains(NdGemmPlan *plan, const NdGemm *g, int64_t threads, int64_t bytes) {
  const int64_t chains = nd_ceil_div(g->k, ND_GEMM_CHAIN);
  plan->shared = true;
  plan->columns = PAGE_BYTES / bytes;
  while (plan->columns * bytes > RUN_BYTES && chains * nd_ceil_div(g->n, plan->columns) < threads) plan->columns /= 2;
}

/* Many products keep all threads busy one each; a small one is done before threads have met. */
static bool is_shared(const NdGemm *g, const NdGemmPlan *plan, int64_t batch) {
  const double flops = 2 * (double)g->m * (double)g->n * (double)g->k;
  if (plan->kind == ND_GEMM_AMX) return flops >= SHARED_AMX_FLOPS;
  return plan->kind == ND_GEMM_TILES && flops >= (batch == 1 ? SHARED_FLOPS : SHARED_BATCH_FLOPS);
}

/* B is copied, panel by panel, where it is large or stretches over many pages. Rows of A are read in place, which costs
 * tiles nothing; but rows at distances of whole pages share a few sets of lines of the second-level cache, so that
 * little of A stays there, and one set of the first-level cache: of a tile with more rows than that has lines, each
 * number then comes from the second level. */
static void choose_shared_packing(NdGemmPlan *plan, const NdGemm *g, const NdGemmLoops *loops, int64_t bytes) {
  if (plan->kind == ND_GEMM_AMX) {
    const bool whole = g->a_step == 1 && g->k % ND_AMX_STEP == 0 && g->m % ND_AMX_SIDE == 0;
    plan->pack_a = !whole || llabs(g->a_row) * bytes > NEAR_BYTES;
    plan->pack_b = true;
    plan->depth = g->k;
    return;
  }
  const bool large = 2 * (double)g->m * (double)g->n * (double)g->k >= PACK_FLOPS;
  const bool wide = g->n >= PACK_TILES * loops->columns, tall = g->m >= PACK_TILES * loops->rows;
  plan->pack_b = tall && (large || is_long_walk(plan->depth, g->b_step, bytes));
  const int64_t enough = loops->rows > FIRST_WAYS ? SOME_COLUMNS : MANY_COLUMNS;
  if (g->a_step == 1) plan->pack_a = g->a_row * bytes % PAGE_BYTES == 0 && g->n >= enough;
  if (g->a_row == 1) {
    const bool collide = g->n >= SOME_COLUMNS && share_sets(plan->depth, g->a_step, bytes);
    plan->pack_a = wide && (collide || is_long_walk(plan->depth, g->a_step, bytes));
  }
}

void nd_gemm_choose(const NdGemm *g, BurnDType dtype, const NdGemmLoops *loops, int64_t batch, int64_t threads,
                    NdGemmPlan *plan) {
  const int64_t bytes = burn_dtype_bytes(dtype), depth = g->k > 0 ? nd_gemm_depth(g->k, DEPTH) : 1;
  *plan = (NdGemmPlan){.kind = choose_kind(g, dtype), .rows = g->m, .columns = g->n, .depth = depth};
  const double min = min_flops[plan->kind];
  const double flops = 2 * (double)g->m * (double)g->n * (double)g->k,
               most = (double)(threads * pieces_per_thread[plan->kind]);
  if (threads > 1 && flops * (double)batch > min) {
    const double wanted = flops * (double)batch / min;
    if (plan->kind == ND_GEMM_STREAM && dtype != BURN_DTYPE_BF16 && batch == 1 && has_chains(g, threads, bytes))
      choose_chains(plan, g, threads, bytes);
    else
      choose_rectangle(plan, g, loops, (wanted < most ? wanted : most) / (double)batch);
  }
  if (plan->kind == ND_GEMM_AMX) choose_amx(plan, g);
  if (plan->kind != ND_GEMM_AMX && plan->rows * depth * bytes > BLOCK_BYTES) {
    const int64_t max_rows = BLOCK_BYTES / (depth * bytes), blocks = nd_ceil_div(plan->rows, max_rows);
    plan->rows = nd_ceil_div(plan->rows, blocks);
  }
  const double rectangle = 2 * (double)plan->rows * (double)plan->columns * (double)g->k;
  plan->grain = rectangle >= min ? 1 : (int64_t)(min / (rectangle + 1)) + 1;
  plan->pack_b = plan->rows >= PACK_TILES * loops->rows && is_long_walk(depth, g->b_step, bytes);
  plan->pack_a = g->a_row == 1 ? plan->columns >= PACK_TILES * loops->columns && is_long_walk(depth, g->a_step, bytes)
                               : g->a_step != 1 && g->m > 1;
  if (plan->kind == ND_GEMM_STREAM) return;
  plan->shared = is_shared(g, plan, batch);
  if (plan->shared) choose_shared_packing(plan, g, loops, bytes);
}

uint64_t nd_gemm_scratch(const NdGemm *g, BurnDType dtype, const NdGemmLoops *loops, const NdGemmPlan *plan) {
  const bool in_place = !plan->pack_b && g->b_column == 1 && g->n % (loops->columns / 2) == 0;
  int64_t elements = 0;
  if (plan->kind == ND_GEMM_AMX) return nd_amx_scratch(plan->rows, g->k);
  if (plan->kind == ND_GEMM_STREAM && dtype == BURN_DTYPE_BF16) return nd_bf16_scratch(plan->rows, g->k);
  if (plan->kind != ND_GEMM_TILES) return 0;
  if (!in_place || plan->pack_a) elements += 2 * plan->depth * loops->columns;
  if (plan->pack_a) elements += plan->depth * plan->rows + loops->columns; /* whole vectors are written */
  return (uint64_t)(elements * burn_dtype_bytes(dtype));
}

int64_t nd_gemm_full_panels(const NdGemm *g, const NdGemmPlan *plan, const NdGemmLoops *loops) {
  const int64_t half = loops->columns / 2;
  if (plan->pack_b || g->b_column != 1) return 0;
  return g->n % half == 0 ? nd_ceil_div(g->n, loops->columns) : g->n / loops->columns;
}

/* A rectangle by tiles, block by block: two panels of B alternate in the scratch, packed panels of A follow them. */
static void run_tiles(const NdGemmLoops *loops, const NdGemm *g, const NdGemmPlan *plan, int64_t bytes, char *scratch) {
  const int64_t tiles = nd_ceil_div(g->m, loops->rows), panels = nd_ceil_div(g->n, loops->columns), depth = plan->depth;
  NdGemmBlock block = {.a = plan->pack_a ? scratch + 2 * depth * loops->columns * bytes : NULL,
                       .first_b = nd_gemm_full_panels(g, plan, loops)};
  do { /* without terms there is what is added */
    NdGemmOwn own = {.room = scratch, .held = -1, .until = panels};
    block.depth = nd_min(depth, g->k - block.from);
    if (plan->pack_a) loops->pack_a(g, &block, 0, tiles, 0, block.depth);
    loops->multiply(g, &block, 0, tiles, 0, panels, &own);
    block.from += depth;
  } while (block.from < g->k);
}

/* A rectangle of bf16. */
static void run_bf16(const NdGemm *gemm, const NdGemmPlan *plan, void *scratch) {
  if (plan->kind == ND_GEMM_AMX)
    nd_amx_run(gemm, scratch);
  else if (plan->kind == ND_GEMM_DOTS)
    nd_bf16_dots(gemm);
  else
    nd_bf16_stream(gemm, scratch);
}

static void run_product(const Ndarray *nd, BurnDType dtype, const NdGemm *gemm, const NdGemmPlan *plan, void *scratch) {
  const NdGemmLoops *loops = nd_gemm_loops(nd, dtype);
  if (dtype == BURN_DTYPE_BF16) {
    run_bf16(gemm, plan, scratch);
    return;
  }
  if (nd->uses_openblas && nd_openblas_run(dtype, gemm)) return;
  if (plan->kind == ND_GEMM_DOTS)
    loops->dots(gemm);
  else if (plan->kind == ND_GEMM_OUTER)
    loops->outer(gemm);
  else if (plan->kind == ND_GEMM_STREAM)
    loops->stream(gemm);
  else
    run_tiles(loops, gemm, plan, burn_dtype_bytes(dtype), (char *)scratch);
}

void nd_gemm_run(const Ndarray *nd, BurnDType dtype, const NdGemm *gemm, const NdGemmPlan *plan, void *scratch) {
  run_product(nd, dtype, gemm, plan, scratch);
  if (gemm->after) nd_run_after(gemm->after, gemm->c, gemm->m, gemm->n, gemm->c_row);
}

/* -- the device's product --------------------------------------------------------------------- */

BurnStatus nd_gemm_open(Ndarray *nd, bool openblas) {
  char why[256];
  nd->uses_openblas = false;
  nd->multiplies_bf16 = nd->isa == NDARRAY_ISA_AVX512 && nd_bf16_available();
  if (!openblas) return BURN_OK;
  if (!nd_openblas_load(why, sizeof why))
    return nd_fail(nd, BURN_STATUS_NOT_FOUND, "ndarray: gemm=openblas cannot be had: %s", why);
  nd->uses_openblas = true;
  return BURN_OK;
}
