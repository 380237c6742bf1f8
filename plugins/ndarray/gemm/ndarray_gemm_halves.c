/* ndarray_gemm_halves.c - products of up to 256 rows with a large B of halves, where the processor multiplies f32
 * alone: all of B in f32 would be written to memory, and read again, to be used once.
 *
 * B is widened piece by piece: some columns of a block of k, which then lie in the second-level cache, go through the
 * loops of f32. A and C are f32. Every element is summed in the blocks of nd_gemm_depth, as in other products. */
#include "elementwise/ndarray_kernels.h"
#include "ndarray_gemm.h"

#include <string.h>

enum {
  MIN_ELEMENTS = 1 << 16, /* of B */
  DEPTH = 1024,           /* of a block of k */
  COLUMNS = 128,          /* of a piece whose rows lie dense: lines that follow each other */
  TURNED_COLUMNS = 32,    /* of one whose columns do */
  MAX_ROWS = 256,         /* of A */
};

/* A product, and what is made of it. */
typedef struct Halves {
  Ndarray *nd;
  NdGemm gemm; /* b: halves */
  NdLoop widen;
  int64_t depth, columns; /* of a piece */
  uint64_t piece_bytes, before_bytes, scratch_bytes;
  atomic_bool out_of_memory;
} Halves;

bool nd_reads_halves(const Ndarray *nd, const BurnOpCall *call) {
  const NdTensor *x = nd_tensor(call->inputs[0]), *b = nd_tensor(call->inputs[1]);
  const BurnDType dtype = b->header.dtype;
  const uint32_t rank = x->header.rank;
  if (nd->uses_openblas) return false;
  if (dtype != BURN_DTYPE_F16 && dtype != BURN_DTYPE_BF16) return false;
  if (b->header.rank != 2 || (b->strides[0] != 1 && b->strides[1] != 1)) return false;
  const int64_t k = b->shape[0], count = k * b->shape[1];
  return rank > 0 && count >= MIN_ELEMENTS && burn_primitive_count(&x->header) <= MAX_ROWS * k;
}

/* Terms p .. p + depth - 1 of columns j .. j + columns - 1, widened, as the B of a product. */
static NdGemm widened(const Halves *h, int64_t p, int64_t depth, int64_t j, int64_t columns, float *to) {
  NdGemm g = h->gemm;
  const bool is_turned = g.b_column != 1;
  const uint16_t *from = (const uint16_t *)g.b + p * g.b_step + j * g.b_column;
  const int64_t lines = is_turned ? columns : depth, length = is_turned ? depth : columns;
  const int64_t step = is_turned ? g.b_column : g.b_step;
  for (int64_t i = 0; i < lines; i++) {
    const NdRun run = {.out = to + i * length, .in = {from + i * step}, .step = {1}, .count = length};
    h->widen(&run);
  }
  g.n = columns;
  g.k = depth;
  g.a = (const float *)g.a + p * g.a_step;
  g.b = to;
  g.b_step = is_turned ? 1 : columns;
  g.b_column = is_turned ? depth : 1;
  g.c = (float *)g.c + j;
  if (g.add) g.add = (const float *)g.add + j;
  return g;
}

/* The sums so far are added to those of the next block from a copy: loops may begin with C. */
static void add_before(NdGemm *g, float *before) {
  for (int64_t i = 0; i < g->m; i++)
    memcpy(before + i * g->n, (const float *)g->c + i * g->c_row, (size_t)g->n * sizeof *before);
  g->add = before;
  g->add_row = g->n;
}

static void multiply(const Halves *h, int64_t j, int64_t columns, char *room) {
  const NdGemmLoops *loops = nd_gemm_loops(h->nd, BURN_DTYPE_F32);
  char *before = room + h->piece_bytes, *scratch = before + h->before_bytes;
  for (int64_t p = 0; p < h->gemm.k; p += h->depth) {
    NdGemm g = widened(h, p, nd_min(h->depth, h->gemm.k - p), j, columns, (float *)(void *)room);
    NdGemmPlan plan;
    if (p > 0) add_before(&g, (float *)(void *)before);
    nd_gemm_choose(&g, BURN_DTYPE_F32, loops, 1, 1, &plan);
    nd_gemm_run(h->nd, BURN_DTYPE_F32, &g, &plan, scratch);
  }
}

/* Room that a thread needs: a piece of B, sums, what the loops want. */
static uint64_t bytes_of(const Halves *h) { return h->piece_bytes + h->before_bytes + h->scratch_bytes; }

static void BURN_API_CALL multiply_pieces(void *context, int64_t begin, int64_t end) {
  Halves *h = (Halves *)context;
  const uint64_t bytes = bytes_of(h);
  char *room = (char *)nd_pool_allocate(h->nd->pool, bytes);
  if (!room) {
    atomic_store_explicit(&h->out_of_memory, true, memory_order_relaxed);
    return;
  }
  for (int64_t i = begin; i < end; i++) {
    const int64_t j = i * h->columns;
    multiply(h, j, nd_min(h->columns, h->gemm.n - j), room);
  }
  nd_pool_free(h->nd->pool, room, bytes);
}

/* What the loops may want for any piece: two panels of B, and A. */
static uint64_t scratch_of(const Halves *h) {
  const int64_t columns = nd_gemm_loops(h->nd, BURN_DTYPE_F32)->columns;
  return (uint64_t)(h->depth * (2 * columns + h->gemm.m) + columns) * sizeof(float);
}

bool nd_multiply_halves(Ndarray *nd, const NdGemm *gemm, BurnDType dtype) {
  Halves h = {.nd = nd,
              .gemm = *gemm,
              .widen = nd_kernels(nd)->casts[dtype][BURN_DTYPE_F32],
              .depth = nd_gemm_depth(gemm->k, DEPTH),
              .columns = gemm->b_column == 1 ? COLUMNS : TURNED_COLUMNS};
  atomic_init(&h.out_of_memory, false);
  h.piece_bytes = (uint64_t)(h.depth * h.columns) * sizeof(float);
  h.before_bytes = (uint64_t)(h.gemm.m * h.columns) * sizeof(float);
  h.scratch_bytes = scratch_of(&h);
  const int64_t pieces = nd_ceil_div(gemm->n, h.columns);
  if (pieces > 1) nd_pool_reserve(nd->pool, bytes_of(&h), nd->host->thread_count());
  nd_parallel_for_flushed(nd, pieces, 1, multiply_pieces, &h);
  return !atomic_load_explicit(&h.out_of_memory, memory_order_relaxed);
}
