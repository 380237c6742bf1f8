/* ndarray_int8.c - products of i8: which loops, in which pieces, what is packed.
 *
 * A piece is a panel of 64 columns by a block of rows. Who takes it packs the panel and multiplies; the next piece
 * of the same panel finds it packed. So B is packed once per thread that meets it, beside the product; a product of few
 * rows reads B where it lies. */
#include "ndarray_int8.h"

#include <string.h>
#if defined(BURN_NDARRAY_X86_VARIANTS)
#include <cpuid.h>
#elif defined(__aarch64__) && (defined(__linux__) || defined(__FreeBSD__))
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

enum {
  CHUNK = 256,            /* rows of B that are copied before they are packed, where they do not lie as wanted */
  PIECES = 3,             /* per thread: one that comes late gets less */
  BLOCK_ROWS = 48,        /* least rows that are worth packing a panel another time */
  PIECE_TERMS = 1 << 19,  /* products of a piece that is worth a thread's while, two microseconds of them */
  ROWS_TERMS = 1 << 17,   /* numbers of A to sum up or widen, likewise */
  DIRECT_BYTES = 1 << 14, /* at most between rows of B that are read where they lie */
};

/* -- the choice of loops ---------------------------------------------------------------------- */

#if defined(BURN_NDARRAY_X86_VARIANTS)
/* Bits of cpuid: leaf 7, subleaf 0, ecx; subleaf 1, eax. That the system keeps the registers is known from nd->isa. */
enum { AVX512_VNNI = 1 << 11, AVX_VNNI = 1 << 4 };

static bool has_bit(unsigned subleaf, unsigned bit) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, subleaf, &a, &b, &c, &d)) return false;
  return ((subleaf == 0 ? c : a) & bit) != 0;
}

const NdInt8Loops *nd_int8_loops(const Ndarray *nd) {
  if (nd->isa == NDARRAY_ISA_AVX512 && has_bit(0, AVX512_VNNI)) return &nd_int8_avx512vnni;
  if (nd->isa >= NDARRAY_ISA_AVX2 && has_bit(1, AVX_VNNI)) return &nd_int8_avxvnni;
  return nd->isa >= NDARRAY_ISA_AVX2 ? &nd_int8_avx2 : &nd_int8_baseline;
}
#elif defined(__aarch64__)
/* SDOT is of ARMv8.2, where it may be left out: the system knows. */
static bool has_dot_products(void) {
#if defined(__linux__)
  return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#elif defined(__FreeBSD__)
  unsigned long bits = 0;
  return elf_aux_info(AT_HWCAP, &bits, (int)sizeof bits) == 0 && (bits & HWCAP_ASIMDDP) != 0;
#elif defined(__APPLE__)
  int has = 0;
  size_t bytes = sizeof has;
  return sysctlbyname("hw.optional.arm.FEAT_DotProd", &has, &bytes, NULL, 0) == 0 && has != 0;
#else
  return false;
#endif
}

const NdInt8Loops *nd_int8_loops(const Ndarray *nd) {
  return nd->isa == NDARRAY_ISA_NEON && has_dot_products() ? &nd_int8_dotprod : &nd_int8_baseline;
}
#else
const NdInt8Loops *nd_int8_loops(const Ndarray *nd) {
  (void)nd;
  return &nd_int8_baseline;
}
#endif

/* -- one run ---------------------------------------------------------------------------------- */

typedef struct Run {
  const NdInt8Job *job;
  const NdInt8Loops *loops;
  int64_t segments, depth, panels, blocks, block_rows; /* depth: terms of a packed segment */
  int32_t *row_sums;                                   /* [products, m, segments] */
  int16_t *wide;                                       /* [products, m, segments, depth] */
  uint64_t scratch_bytes;
  atomic_bool out_of_memory;
} Run;

/* Rows of all A that are summed up or widened. */
static void BURN_API_CALL read_rows(void *context, int64_t begin, int64_t end) {
  const Run *run = (const Run *)context;
  const NdInt8Job *job = run->job;
  for (int64_t i = begin; i < end; i++) {
    const int8_t *row = job->a + i / job->m * job->a_product + i % job->m * job->k;
    for (int64_t s = 0; s < run->segments; s++) {
      const int64_t terms = nd_min(job->segment, job->k - s * job->segment), at = i * run->segments + s;
      if (run->row_sums) run->row_sums[at] = run->loops->sum(row + s * job->segment, terms);
      if (run->wide) run->loops->widen(row + s * job->segment, terms, run->wide + at * run->depth);
    }
  }
}

/* -- panels ----------------------------------------------------------------------------------- */

static void pack_segment(const Run *run, int64_t product, int64_t j, int64_t first, int64_t terms, uint8_t *to) {
  const NdInt8Job *job = run->job;
  const int64_t columns = nd_min(ND_INT8_COLUMNS, job->n - j), unit_bytes = ND_INT8_COLUMNS;
  int64_t step = 0;
  const int8_t *rows = columns == ND_INT8_COLUMNS ? job->rows(job, product, j, &step) : NULL;
  int8_t copy[CHUNK * ND_INT8_COLUMNS];
  if (rows) {
    run->loops->pack(rows + first * step, step, terms, to);
    return;
  }
  for (int64_t p = 0; p < terms; p += CHUNK) {
    const int64_t count = nd_min(CHUNK, terms - p);
    job->fill(job, product, first + p, count, j, columns, copy);
    run->loops->pack(copy, ND_INT8_COLUMNS, count, to + p * unit_bytes);
  }
}

static void pack_panel(const Run *run, int64_t product, int64_t j, uint8_t *to) {
  const NdInt8Job *job = run->job;
  for (int64_t s = 0; s < run->segments; s++) {
    const int64_t first = s * job->segment;
    pack_segment(run, product, j, first, nd_min(job->segment, job->k - first), to + s * run->depth * ND_INT8_COLUMNS);
  }
}

/* -- pieces ----------------------------------------------------------------------------------- */

/* The tile of the first rows of a product in the panel from column j on, but for B. */
static NdInt8Tile tile_of(const Run *run, int64_t product, int64_t j) {
  const NdInt8Job *job = run->job;
  const int64_t row = product * job->m;
  NdInt8Tile t = {.columns = nd_min(ND_INT8_COLUMNS, job->n - j),
                  .terms = job->k,
                  .segment = job->segment,
                  .segments = run->segments,
                  .a = job->a + product * job->a_product,
                  .a_row = job->k,
                  .a_segment = job->segment,
                  .row_sums = run->row_sums ? run->row_sums + row * run->segments : NULL,
                  .row_scales = job->row_scales + row * run->segments,
                  .column_scales = job->column_scales + product * job->column_scale_product + j,
                  .row_scale_step = job->m,
                  .column_scale_step = nd_int8_padded(job->n),
                  .add = job->add ? job->add + row : NULL};
  if (run->wide) {
    t.a = run->wide + row * run->segments * run->depth;
    t.a_row = run->segments * run->depth;
    t.a_segment = run->depth;
  }
  return t;
}

/* The tile `i` rows further down. */
static NdInt8Tile tile_at(const Run *run, const NdInt8Tile *first, int64_t i, int64_t rows) {
  const int64_t bytes = run->wide ? (int64_t)sizeof(int16_t) : 1;
  NdInt8Tile t = *first;
  t.rows = rows;
  t.a = (const char *)t.a + i * t.a_row * bytes;
  t.row_scales += i;
  if (t.row_sums) t.row_sums += i * t.segments;
  if (t.add) t.add += i;
  return t;
}

/* Rows begin .. end - 1 of a panel. Rows are spread evenly over the tiles. */
static void multiply(const Run *run, int64_t product, int64_t j, const NdInt8Tile *first,
                     void (*loops)(const NdInt8Tile *), int64_t begin, int64_t end) {
  const NdInt8Job *job = run->job;
  float scattered[ND_INT8_ROWS * ND_INT8_COLUMNS];
  int64_t step = 0;
  float *c = job->place(job, product, j, first->columns, &step);
  for (int64_t i = begin; i < end;) {
    const int64_t rows = nd_ceil_div(end - i, nd_ceil_div(end - i, ND_INT8_ROWS));
    NdInt8Tile t = tile_at(run, first, i, rows);
    t.c = c ? c + i * step : scattered;
    t.c_row = c ? step : ND_INT8_COLUMNS;
    loops(&t);
    if (!c) job->scatter(job, product, i, rows, j, t.columns, scattered);
    i += rows;
  }
}

/* Rows of B, if this panel is better read where it lies. */
static const int8_t *rows_in_place(const Run *run, int64_t product, int64_t j, int64_t *step) {
  const NdInt8Job *job = run->job;
  if (!run->loops->direct || job->m > run->loops->direct_rows || job->n - j < ND_INT8_COLUMNS) return NULL;
  const int8_t *rows = job->rows(job, product, j, step);
  return *step <= DIRECT_BYTES ? rows : NULL;
}

/* True if `direct` can take ND_INT8_WIDE panels from column j on: of one row, whose numbers and results follow each
 * other. */
static bool is_wide(const Run *run, int64_t product, int64_t j, int64_t items) {
  const NdInt8Job *job = run->job;
  const int64_t columns = ND_INT8_WIDE * ND_INT8_COLUMNS;
  int64_t step = 0, other = 0, c_step = 0;
  if (job->m != 1 || items < ND_INT8_WIDE || job->n - j < columns) return false;
  const int8_t *first = job->rows(job, product, j, &step);
  const int8_t *last = job->rows(job, product, j + columns - ND_INT8_COLUMNS, &other);
  return last == first + columns - ND_INT8_COLUMNS && step == other && job->place(job, product, j, columns, &c_step);
}

static void BURN_API_CALL run_pieces(void *context, int64_t begin, int64_t end) {
  Run *run = (Run *)context;
  const NdInt8Job *job = run->job;
  uint8_t *panel = (uint8_t *)nd_pool_allocate(job->nd->pool, run->scratch_bytes);
  int64_t held = -1;
  if (!panel) {
    atomic_store_explicit(&run->out_of_memory, true, memory_order_relaxed);
    return;
  }
  for (int64_t item = begin, next = 0; item < end; item = next) {
    const int64_t which = item / run->blocks, product = which / run->panels, j = which % run->panels * ND_INT8_COLUMNS;
    const int64_t i = item % run->blocks * run->block_rows;
    NdInt8Tile first = tile_of(run, product, j);
    int64_t step = 0;
    const int8_t *rows = rows_in_place(run, product, j, &step);
    next = item + 1;
    if (rows && is_wide(run, product, j, end - item)) {
      next = item + ND_INT8_WIDE;
      first.columns = ND_INT8_WIDE * ND_INT8_COLUMNS;
    }
    if (!rows && held != which) pack_panel(run, product, j, panel);
    held = which;
    first.b = rows ? (const uint8_t *)rows : panel;
    first.b_segment = rows ? step : run->depth * ND_INT8_COLUMNS;
    multiply(run, product, j, &first, rows ? run->loops->direct : run->loops->tile, i,
             nd_min(job->m, i + run->block_rows));
  }
  nd_pool_free(job->nd->pool, panel, run->scratch_bytes);
}

/* Rows are cut only where there are fewer panels than threads want. */
static void cut_rows(Run *run) {
  const NdInt8Job *job = run->job;
  const int64_t wanted = nd_ceil_div(PIECES * (int64_t)job->nd->host->thread_count(), job->products * run->panels);
  const int64_t blocks = nd_max(1, nd_min(wanted, job->m / BLOCK_ROWS));
  run->block_rows = nd_round_up(nd_ceil_div(job->m, blocks), ND_INT8_ROWS);
  run->blocks = nd_ceil_div(job->m, run->block_rows);
}

/* Room for what is known of A's rows; false when out of memory. */
static bool open_rows(Run *run, uint64_t *bytes) {
  const int64_t count = run->job->products * run->job->m * run->segments;
  *bytes = 0;
  if (run->loops->is_shifted) *bytes = (uint64_t)count * sizeof *run->row_sums;
  if (run->loops->widens) *bytes = (uint64_t)(count * run->depth) * sizeof *run->wide;
  if (*bytes == 0) return true;
  void *room = nd_pool_allocate(run->job->nd->pool, *bytes);
  if (run->loops->is_shifted) run->row_sums = (int32_t *)room;
  if (run->loops->widens) run->wide = (int16_t *)room;
  return room != NULL;
}

bool nd_int8_run(const NdInt8Job *job) {
  Ndarray *nd = job->nd;
  Run run = {.job = job, .loops = nd->int8, .segments = nd_int8_segments(job)};
  uint64_t rows_bytes = 0;
  run.depth = nd_round_up(job->segment, ND_INT8_UNIT);
  run.panels = nd_ceil_div(job->n, ND_INT8_COLUMNS);
  run.scratch_bytes = (uint64_t)(run.segments * run.depth * ND_INT8_COLUMNS);
  atomic_init(&run.out_of_memory, false);
  cut_rows(&run);
  if (!open_rows(&run, &rows_bytes)) return false;
  if (rows_bytes > 0) nd_parallel_for(nd, job->products * job->m, ROWS_TERMS / (job->k + 1) + 1, read_rows, &run);
  const int64_t items = job->products * run.panels * run.blocks;
  const int64_t grain = PIECE_TERMS / (run.block_rows * ND_INT8_COLUMNS * (job->k + 1)) + 1;
  if (items > grain) nd_pool_reserve(nd->pool, run.scratch_bytes, nd->host->thread_count());
  nd_parallel_for(nd, items, grain, run_pieces, &run);
  nd_pool_free(nd->pool, run.row_sums ? (void *)run.row_sums : (void *)run.wide, rows_bytes);
  return !atomic_load_explicit(&run.out_of_memory, memory_order_relaxed);
}
