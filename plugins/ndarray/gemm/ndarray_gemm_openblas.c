/* ndarray_gemm_openblas.c - the matrix product of OpenBLAS, found at run time: a cross-check, and a choice for
 * processors that it knows better than we do.
 *
 * OpenBLAS is told to use one thread, because we split the work ourselves. That setting belongs to the whole process:
 * other users of the same libopenblas in it (NumPy, say) are slowed down, not broken. The library stays loaded until
 * the process ends, since its worker threads cannot be stopped safely. */
#include "ndarray_gemm.h"

#include <string.h>

#if !defined(_WIN32)
#include <dlfcn.h>
#endif

enum { CBLAS_ROW_MAJOR = 101, CBLAS_NO_TRANSPOSE = 111, CBLAS_TRANSPOSE = 112 };

typedef void (*CblasSgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                           const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
typedef void (*CblasDgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, double alpha,
                           const double *a, int lda, const double *b, int ldb, double beta, double *c, int ldc);
typedef void (*OpenblasSetThreads)(int count);

/* The loaded functions: written, always with the same values, before any device has them in its table. */
static _Atomic(CblasSgemm) openblas_sgemm;
static _Atomic(CblasDgemm) openblas_dgemm;

/* BLAS counts in int. */
static bool is_int(int64_t value) { return value <= INT32_MAX; }

/* True, with form and leading dimension, if a matrix can go to BLAS as it lies. BLAS refuses (and prints) leading
 * dimensions below the width, also of matrices that have one row. */
static bool matrix_fits(int64_t rows, int64_t columns, int64_t row, int64_t column, int *transpose, int *leading) {
  if (rows <= 1) row = columns;
  if (columns <= 1) column = column == 1 || rows <= 1 || row != 1 ? 1 : rows;
  const bool is_dense = column == 1 && row >= columns;
  const int64_t step = is_dense ? row : column;
  if (!is_int(rows) || !is_int(columns) || !is_int(step)) return false;
  *transpose = is_dense ? CBLAS_NO_TRANSPOSE : CBLAS_TRANSPOSE;
  *leading = (int)step;
  return is_dense || (row == 1 && column >= rows);
}

/* C becomes what is added to the product. */
static void copy_added(const NdGemm *g, int64_t bytes) {
  for (int64_t i = 0; i < g->m; i++)
    memcpy((char *)g->c + i * g->c_row * bytes, (const char *)g->add + i * g->add_row * bytes, (size_t)(g->n * bytes));
}

bool nd_openblas_run(BurnDType dtype, const NdGemm *g) {
  const int64_t c_row = g->c_row < g->n ? g->n : g->c_row;
  int ta, tb, lda, ldb;
  if (g->m <= 0 || g->n <= 0 || g->k <= 0 || !is_int(c_row)) return false;
  if (!matrix_fits(g->m, g->k, g->a_row, g->a_step, &ta, &lda)) return false;
  if (!matrix_fits(g->k, g->n, g->b_step, g->b_column, &tb, &ldb)) return false;
  const int m = (int)g->m, n = (int)g->n, k = (int)g->k, beta = g->add ? 1 : 0;
  if (g->add) copy_added(g, burn_dtype_bytes(dtype));
  if (dtype == BURN_DTYPE_F32)
    atomic_load_explicit(&openblas_sgemm, memory_order_relaxed)(CBLAS_ROW_MAJOR, ta, tb, m, n, k, 1,
                                                                (const float *)g->a, lda, (const float *)g->b, ldb,
                                                                (float)beta, (float *)g->c, (int)c_row);
  else
    atomic_load_explicit(&openblas_dgemm, memory_order_relaxed)(CBLAS_ROW_MAJOR, ta, tb, m, n, k, 1,
                                                                (const double *)g->a, lda, (const double *)g->b, ldb,
                                                                beta, (double *)g->c, (int)c_row);
  return true;
}

#if defined(_WIN32)
bool nd_openblas_load(char *why, size_t why_bytes) {
  (void)why_bytes;
  strcpy(why, "not supported on this system");
  return false;
}
#else
/* A function of the library; copied bit by bit, as ISO C knows no cast from an object pointer to a function pointer. */
static bool openblas_function(void *library, const char *name, void *function) {
  void *symbol = dlsym(library, name);
  memcpy(function, &symbol, sizeof symbol);
  return symbol != NULL;
}

bool nd_openblas_load(char *why, size_t why_bytes) {
  void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  const char *reason = library ? "cblas_sgemm, cblas_dgemm or openblas_set_num_threads is missing" : dlerror();
  CblasSgemm sgemm;
  CblasDgemm dgemm;
  OpenblasSetThreads set_threads;
  if (library && openblas_function(library, "cblas_sgemm", &sgemm) &&
      openblas_function(library, "cblas_dgemm", &dgemm) &&
      openblas_function(library, "openblas_set_num_threads", &set_threads)) {
    set_threads(1);
    atomic_store_explicit(&openblas_sgemm, sgemm, memory_order_relaxed);
    atomic_store_explicit(&openblas_dgemm, dgemm, memory_order_relaxed);
    return true;
  }
  strncpy(why, reason ? reason : "unknown reason", why_bytes - 1);
  why[why_bytes - 1] = 0;
  return false;
}
#endif
