/* ndarray_rows.h - inner loops over rows of memory, compiled once per instruction set: the folds behind the reductions,
 * softmax, losses and norms, the updates of Adam and SGD.
 *
 * ndarray_rows_isa.inc and ndarray_rows_type.inc hold them; ndarray_rows_{baseline,avx2,avx512}.c include these with
 * other compiler flags. */
#ifndef BURN_NDARRAY_ROWS_H
#define BURN_NDARRAY_ROWS_H

#include "ndarray_internal.h"

#if defined(__SSE2__)
#include <emmintrin.h> /* not immintrin.h, which takes half a second to compile */
#endif

/* Most columns that a loop over columns takes at once, and rows that add up in the type of the elements. */
#define ND_COLUMNS 1024
#define ND_STRETCH 64

/* Most columns of a packed strip, and what is computed by them. */
#define ND_PACKED_WIDEST 128
enum {
  ND_PACKED_SOFTMAX,
  ND_PACKED_LOG_SOFTMAX,
  ND_PACKED_NORM,
  ND_PACKED_GRADIENT, /* of softmax; from here on there are two inputs */
  ND_PACKED_LOG_GRADIENT
};

/* Results from this size on are written past the caches, unless they replace an input: twice the second-level cache of
 * today's processors. */
#define ND_ROWS_STREAM_BYTES ((int64_t)4 << 20)

/* The families of ndarray_reduce.def. */
enum {
  ND_FOLD_sum,
  ND_FOLD_wide, /* integer sum in 64 bits, for means */
  ND_FOLD_prod,
  ND_FOLD_max,
  ND_FOLD_min,
  ND_FOLD_any,
  ND_FOLD_all,
  ND_FOLD_COUNT
};

/* Room for totals or elements of any dtype: one, and a row of columns. */
typedef union NdTotal {
  uint8_t u8;
  uint32_t u32;
  uint64_t u64;
  float f32;
  double f64;
} NdTotal;
typedef union NdTotals {
  uint8_t u8[ND_COLUMNS];
  uint32_t u32[ND_COLUMNS];
  uint64_t u64[ND_COLUMNS];
  float f32[ND_COLUMNS];
  double f64[ND_COLUMNS];
} NdTotals;

/* One reduction of one dtype; see ndarray_reduce.def. Totals are of type B: at most 8 bytes, for max and min the type
 * of the elements, for float sums f64. */
typedef struct NdFold {
  uint32_t total_bytes;
  /* The total of `count` elements in a row. */
  void (*run)(const void *x, int64_t count, void *total);
  /* The same for `runs` rows that start `stride` elements apart. */
  void (*runs)(const void *x, int64_t stride, int64_t runs, int64_t count, void *totals);
  /* The totals of `width` columns (at most ND_COLUMNS) over `rows` rows that lie `stride` elements apart. */
  void (*columns)(const void *x, int64_t stride, int64_t rows, int64_t width, void *totals);
  /* totals[i] joined with part[i]. */
  void (*merge)(void *totals, const void *part, int64_t width);
  /* out[i] = the result of totals[i]. */
  void (*finish)(const void *totals, int64_t width, int64_t divisor, void *out);
} NdFold;

/* Places of extreme values. columns: rows lie `stride` apart; best [width] is what is known so far, and what is known
 * afterwards; places[j] = the first row that has something better, or -1. NaN is better than any number. */
typedef void (*NdFindColumns)(const void *x, int64_t stride, int32_t rows, int64_t width, void *best, int32_t *places);
typedef struct NdFinder {
  /* The first place of *value, or of NaN, among count elements in a row; there is one. */
  int64_t (*in_run)(const void *x, int64_t count, const void *value);
  NdFindColumns largest, smallest;
} NdFinder;

/* One call over row-major floats [rows, count], or [.., count, inner] in strips of columns. What an op does not have is
 * NULL or 0. */
typedef struct NdRowJob NdRowJob;
/* Runs items begin .. end-1: rows, unless the loop says otherwise. `out` may be the very memory of x or grad. */
typedef void (*NdRowLoop)(const NdRowJob *job, int64_t begin, int64_t end);
struct NdRowJob {
  NdRowLoop loop;
  int64_t rows; /* or items of another kind */
  int64_t count, inner;
  int64_t part;              /* columns in a strip (at most ND_COLUMNS), or rows with common sums */
  int64_t x_step, grad_step; /* of layer_norm and its gradient: elements from row to row; of out as of x */
  const void *x, *grad, *gamma, *beta;
  const int64_t *targets; /* [rows], within count */
  void *out, *sums;
  void *maxima;          /* with sums (f64) of softmax over long strips: [.., blocks, inner] */
  int64_t block, blocks; /* rows of a block of these, and how many there are */
  uint32_t kind;         /* of packed strips: ND_PACKED_* */
  void *scratch;         /* for each worker [count, part], then that once more or [2, stretches, ND_PACKED_WIDEST] */
  int64_t scratch_elements;
  _Atomic int64_t *taken; /* strips that workers have */
  int64_t strip; /* that all threads read; sums [stretches, part] are its, maxima [part] totals of the one before it */
  double epsilon;
  bool is_log;  /* of softmax */
  bool is_long; /* no cache holds a strip */
  bool stream;  /* the result is too large for the caches: write past them */
};

/* Number of some elements, their mean, and the sum of squared distances from it. */
typedef struct NdMoments {
  double count, mean, squares;
} NdMoments;

/* Adds the elements behind `part` to those behind `all` (Chan, Golub, LeVeque 1979); part->count is not 0. */
static inline void nd_moments_join(NdMoments *all, const NdMoments *part) {
  const double count = all->count + part->count, distance = part->mean - all->mean;
  all->mean += distance * (part->count / count);
  all->squares += part->squares + distance * distance * (all->count * part->count / count);
  all->count = count;
}

/* Loops over rows of floats; see ndarray_rows_type.inc. */
typedef struct NdFloatRows {
  NdRowLoop softmax, softmax_strips;                            /* log_softmax too; items of the second are strips */
  NdRowLoop softmax_blocks, softmax_join, softmax_write_blocks; /* items are (.., block, strip), strips, and as first */
  NdRowLoop softmax_backward, softmax_backward_strips;          /* x is the output of the forward pass */
  NdRowLoop cross_entropy;                                      /* out [rows] of f64: the loss of each row */
  NdRowLoop cross_entropy_backward; /* grad points at one number, by which all is multiplied */
  NdRowLoop layer_norm;
  NdRowLoop layer_norm_backward; /* adds to sums [2, count], which are those of gamma's and beta's gradient */
  /* Of n elements in a row; prefetches n elements from `ahead`, which may be x. */
  NdMoments (*moments)(int64_t n, const void *x, const void *ahead);
  /* By columns over rows that lie `stride` apart: sums of x, and of (x - center)^2 for at most ND_STRETCH rows. */
  void (*column_sums)(int64_t rows, int64_t width, int64_t stride, const void *x, double *sums);
  void (*column_squares)(int64_t rows, int64_t width, int64_t stride, const void *x, const void *centers, double *sums);
  /* (x - center) * gain + shift, with one number each for the whole run (step 0) or one per element (step 1). */
  void (*affine)(int64_t n, void *out, const void *x, const void *center, const void *gain, const void *shift,
                 int64_t step, bool stream);
  /* along[0] += sum of grad, along[1] += sum of grad * (x - center), center being one number. */
  void (*products)(int64_t n, const void *grad, const void *x, const void *center, double *along);
  /* The same by columns, at most ND_STRETCH rows, with a center for each. */
  void (*column_products)(int64_t rows, int64_t width, int64_t stride, const void *grad, const void *x,
                          const void *center, double *plain, double *moved);
  /* grad * k[1] + (x - k[0]) * k[2] + k[3], numbers as in affine. */
  void (*affine_backward)(int64_t n, void *out, const void *grad, const void *x, const void *const k[4], int64_t step,
                          bool stream);
} NdFloatRows;

/* Scalars of adam_step; see ops.def. */
typedef struct NdAdam {
  double beta_1, beta_2, step_size, epsilon, decay, penalty;
} NdAdam;

/* A step on n elements: param, grad, moment_1, moment_2 -> param, moment_1, moment_2. A result may be the very same
 * memory as its input. */
typedef void (*NdAdamLoop)(int64_t n, const NdAdam *adam, const void *const in[4], void *const out[3]);

/* out = param - step_size * way, each rounded; out may be the very same memory as param. */
typedef void (*NdDescent)(int64_t n, double step_size, const void *param, const void *way, void *out);

/* The loops for one instruction set. */
typedef struct NdRows {
  NdFold folds[ND_FOLD_COUNT][ND_DTYPE_COUNT];
  NdFinder finders[ND_DTYPE_COUNT];
  NdFloatRows f32, f64;
  NdRowLoop packed_strips;    /* of f32; items are workers */
  NdRowLoop packed_stretches; /* of gradients in f32; items are stretches of job->strip */
  NdAdamLoop adam_f32, adam_f64;
  NdDescent descent_f32, descent_f64;
} NdRows;

/* The folds that are rare. */
extern const NdFold nd_rare_folds_baseline[ND_FOLD_COUNT][ND_DTYPE_COUNT];
extern const NdRows nd_rows_baseline;
#if defined(BURN_NDARRAY_X86_VARIANTS)
extern const NdFold nd_rare_folds_avx2[ND_FOLD_COUNT][ND_DTYPE_COUNT],
    nd_rare_folds_avx512[ND_FOLD_COUNT][ND_DTYPE_COUNT];
extern const NdRows nd_rows_avx2, nd_rows_avx512;
#endif

/* To be called by a thread that has written past the caches, before others read that. */
static inline void nd_stream_end(void) {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

/* Body of parallel loops over a job. */
static inline void BURN_API_CALL nd_run_row_job(void *context, int64_t begin, int64_t end) {
  const NdRowJob *job = (const NdRowJob *)context;
  job->loop(job, begin, end);
  if (job->stream) nd_stream_end();
}

/* The loops for nd->isa. */
static inline const NdRows *nd_rows(const Ndarray *nd) {
#if defined(BURN_NDARRAY_X86_VARIANTS)
  if (nd->isa == NDARRAY_ISA_AVX512) return &nd_rows_avx512;
  if (nd->isa == NDARRAY_ISA_AVX2) return &nd_rows_avx2;
#endif
  (void)nd;
  return &nd_rows_baseline;
}

/* The loops for a dtype: those on f64 are left to AVX2 by AVX-512. */
static inline const NdRows *nd_rows_of(const Ndarray *nd, BurnDType dtype) {
#if defined(BURN_NDARRAY_X86_VARIANTS)
  if (dtype == BURN_DTYPE_F64 && nd->isa == NDARRAY_ISA_AVX512) return &nd_rows_avx2;
#endif
  (void)dtype;
  return nd_rows(nd);
}

static inline const NdFold *nd_rare_fold(const Ndarray *nd, uint32_t family, BurnDType dtype) {
#if defined(BURN_NDARRAY_X86_VARIANTS)
  if (nd->isa == NDARRAY_ISA_AVX512) return &nd_rare_folds_avx512[family][dtype];
  if (nd->isa == NDARRAY_ISA_AVX2) return &nd_rare_folds_avx2[family][dtype];
#endif
  (void)nd;
  return &nd_rare_folds_baseline[family][dtype];
}

/* The passes over rows of a float dtype; NULL for other dtypes. */
static inline const NdFloatRows *nd_float_rows(const Ndarray *nd, BurnDType dtype) {
  if (dtype == BURN_DTYPE_F32) return &nd_rows(nd)->f32;
  return dtype == BURN_DTYPE_F64 ? &nd_rows_of(nd, dtype)->f64 : NULL;
}

/* The finder for a dtype, or NULL if there is none. */
static inline const NdFinder *nd_finder(const Ndarray *nd, BurnDType dtype) {
  const NdFinder *finder = dtype < ND_DTYPE_COUNT ? &nd_rows_of(nd, dtype)->finders[dtype] : NULL;
  return finder && finder->in_run ? finder : NULL;
}

/* The fold of a family for a dtype, or NULL if there is none. */
static inline const NdFold *nd_fold(const Ndarray *nd, uint32_t family, BurnDType dtype) {
  const BurnDType stored = dtype == BURN_DTYPE_BOOL ? BURN_DTYPE_U8 : dtype;
  if (stored >= ND_DTYPE_COUNT) return NULL;
  const NdFold *fold = &nd_rows_of(nd, stored)->folds[family][stored];
  if (!fold->run) fold = nd_rare_fold(nd, family, stored);
  return fold->run ? fold : NULL;
}

#endif
