/* ndarray_gemm.h - the matrix product: what it computes, how a kernel is chosen, and the loops of each instruction set.
 *
 * ndarray_gemm_type.inc is compiled by ndarray_gemm_{baseline,avx2,avx512}.c, each with its own compiler flags and
 * each for f32 and f64. Every element of a result is summed along k in an order that the shape of the product and the
 * layout of its operands fix: blocks of nd_gemm_depth(k, ..) terms, each one chain of multiply-adds, added one after
 * the other; or, where rows are few, blocks of ND_GEMM_CHAIN terms; or, where vectors run along k, one chain per lane.
 * So its bits depend neither on where it lies nor on who computes it. What is added to the product follows the first
 * block; where rows are few, the last. */
#ifndef BURN_NDARRAY_GEMM_H
#define BURN_NDARRAY_GEMM_H

#include "ndarray_internal.h"

/* C[m, n] = A[m, k] x B[k, n] + add[m, n], or a rectangle of such a product. Strides count elements and may be
 * anything, also 0 and negative; rows of C are dense. */
typedef struct NdGemm {
  int64_t m, n, k;
  const void *a, *b;
  int64_t a_row, a_step;    /* element (i, p) of A is a[i * a_row + p * a_step] */
  int64_t b_step, b_column; /* element (p, j) of B is b[p * b_step + j * b_column] */
  void *c;
  int64_t c_row;
  const void *add; /* rows added to the sums, a bias (add_row 0) or another matrix; NULL: none */
  int64_t add_row;
  const NdAfter *after; /* what is done to a rectangle of C when it is complete; NULL: nothing */
} NdGemm;

enum {
  ND_GEMM_MAX_DOT_ROWS = 8, /* up to which vectors run along k, or B is streamed */
  ND_GEMM_CHAIN = 64,       /* terms of a chain of multiply-adds where B is streamed */
  ND_GEMM_MEMORY_ROWS = 2,  /* up to which such a product waits for memory and nothing else */
};

typedef enum NdGemmKind {
  ND_GEMM_TILES,  /* tiles of C in registers */
  ND_GEMM_DOTS,   /* few rows (of A, or columns of B) whose terms lie dense on both sides: vectors along k */
  ND_GEMM_OUTER,  /* a column of A times a row of B, small: the gradient of a weight from one row */
  ND_GEMM_STREAM, /* few rows of A and a large B: B is read once, row by row */
  ND_GEMM_AMX,    /* bf16 in tile registers or vectors: ndarray_gemm_amx.h */
} NdGemmKind;

/* How a product is computed. All but the kind and the depth leave the bits of the result as they are. */
typedef struct NdGemmPlan {
  NdGemmKind kind;
  int64_t rows, columns; /* C is cut into rectangles of this size, for threads and caches */
  int64_t grain;         /* least number of rectangles that are worth a thread's while */
  int64_t depth;         /* k is summed in blocks of at most this many */
  bool
      shared; /* all threads work on one product at a time: nd_gemm_run_shared; the rectangles are for when it cannot */
  bool pack_a, pack_b; /* panels are copied before use; edges and transposed panels of B always are */
} NdGemmPlan;

/* A block of k. What is packed of A is so before any of it is used; of B, too, or panel by panel (NdGemmOwn). */
typedef struct NdGemmBlock {
  int64_t from, depth; /* the terms */
  void *a, *b;         /* panels of all rows, of all columns; a NULL: A is read in place */
  int64_t first_b;     /* panels of B before this one are read in place */
} NdGemmBlock;

/* Panels of B of one thread, where no other needs them: two by turns, the next one is packed while this one is used. */
typedef struct NdGemmOwn {
  char *room;    /* for two */
  int64_t held;  /* a panel that is packed, or -1 */
  int64_t until; /* end of the panels that will probably be asked for */
} NdGemmOwn;

/* The loops for one dtype. */
typedef struct NdGemmLoops {
  int64_t rows, columns; /* of a tile */
  /* One rectangle of the kinds that are called so. */
  void (*dots)(const NdGemm *gemm);
  void (*outer)(const NdGemm *gemm);
  void (*stream)(const NdGemm *gemm);
  /* C from the sums of `count` chains, as stream would have joined them: matrices with rows of `row` elements. */
  void (*join)(const NdGemm *gemm, const void *chains, int64_t count, int64_t row, int64_t chain_elements);
  /* Terms p .. p + count - 1 of a block: panels first .. stop - 1 of A or B are packed. */
  void (*pack_a)(const NdGemm *gemm, const NdGemmBlock *block, int64_t first, int64_t stop, int64_t p, int64_t count);
  void (*pack_b)(const NdGemm *gemm, const NdGemmBlock *block, int64_t first, int64_t stop, int64_t p, int64_t count);
  /* Adds a block's part to the tiles of panels tile .. tile_stop - 1 of A and panel .. panel_stop - 1 of B. `own`: B is
   * packed here, not before (not with AMX); or NULL. */
  void (*multiply)(const NdGemm *gemm, const NdGemmBlock *block, int64_t tile, int64_t tile_stop, int64_t panel,
                   int64_t panel_stop, NdGemmOwn *own);
} NdGemmLoops;

/* All loops of one instruction set. */
typedef struct NdGemmTable {
  NdGemmLoops f32, f64;
} NdGemmTable;

extern const NdGemmTable nd_gemm_baseline;
#if defined(BURN_NDARRAY_X86_VARIANTS)
extern const NdGemmTable nd_gemm_avx2;
extern const NdGemmTable nd_gemm_avx512;
#endif

/* The loops of a device for f32 or f64. */
const NdGemmLoops *nd_gemm_loops(const Ndarray *nd, BurnDType dtype);

/* The one place where it is decided how a product of `batch` pairs of matrices is computed: by its shape, the dtype,
 * how the operands lie (the strides, not the pointers, of `gemm` are read) and the number of threads. */
void nd_gemm_choose(const NdGemm *gemm, BurnDType dtype, const NdGemmLoops *loops, int64_t batch, int64_t threads,
                    NdGemmPlan *plan);

/* Panels of B that can be read in place. */
int64_t nd_gemm_full_panels(const NdGemm *gemm, const NdGemmPlan *plan, const NdGemmLoops *loops);

/* Bytes of scratch for one rectangle. */
uint64_t nd_gemm_scratch(const NdGemm *gemm, BurnDType dtype, const NdGemmLoops *loops, const NdGemmPlan *plan);

/* One rectangle on the calling thread; subnormal numbers as the thread has it. */
void nd_gemm_run(const Ndarray *nd, BurnDType dtype, const NdGemm *gemm, const NdGemmPlan *plan, void *scratch);

/* A product of the kind ND_GEMM_TILES by all threads at once, its panels packed once for all of them: for one that is
 * large enough to be worth a meeting of the threads per block (ndarray_gemm_shared.c). False, and nothing done, without
 * memory for panels. */
bool nd_gemm_run_shared(Ndarray *nd, BurnDType dtype, const NdGemm *gemm, const NdGemmPlan *plan);

/* The same of the kind ND_GEMM_STREAM: chains along k are handed out, and then joined. */
bool nd_gemm_stream_shared(Ndarray *nd, BurnDType dtype, const NdGemm *gemm, const NdGemmPlan *plan);

/* -- halves (ndarray_gemm_halves.c) ----------------------------------------------------------- */

/* True if a matmul or linear of halves is better made of them as they lie: its other inputs are then f32, and so is the
 * result. */
bool nd_reads_halves(const Ndarray *nd, const BurnOpCall *call);
/* A product whose B has that dtype, A, `add` and C are f32. False when out of memory. */
bool nd_multiply_halves(Ndarray *nd, const NdGemm *gemm, BurnDType dtype);

/* -- OpenBLAS (ndarray_gemm_openblas.c) ------------------------------------------------------- */

/* Loads the library; else false and the reason. */
bool nd_openblas_load(char *why, size_t why_bytes);
/* One rectangle of f32 or f64; false, and nothing done, if it is not of a form that BLAS takes. */
bool nd_openblas_run(BurnDType dtype, const NdGemm *gemm);

/* Length of the blocks that k is cut into: equal ones, none above `most`. */
static inline int64_t nd_gemm_depth(int64_t k, int64_t most) {
  return k <= most ? k : nd_ceil_div(k, nd_ceil_div(k, most));
}

#endif
