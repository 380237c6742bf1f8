/* ndarray_gemm.c - which matrix product a device uses: OpenBLAS, found at run time, or our own.
 *
 * OpenBLAS is told to use one thread, because we split the work ourselves. That setting belongs to the whole process:
 * other users of the same libopenblas in it (NumPy, say) are slowed down, not broken. The library stays loaded until
 * the process ends, since its worker threads cannot be stopped safely. */
#include "ndarray_compute.h"

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

const NdCompute *nd_compute(uint32_t isa) {
#if defined(BURN_NDARRAY_X86_VARIANTS)
  if (isa == NDARRAY_ISA_AVX512) return &nd_compute_avx512;
  if (isa == NDARRAY_ISA_AVX2) return &nd_compute_avx2;
#endif
  (void)isa;
  return &nd_compute_baseline;
}

/* BLAS counts in int. */
static bool fits_blas(int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc) {
  const int64_t limit = INT32_MAX;
  return m <= limit && n <= limit && k <= limit && lda <= limit && ldb <= limit && ldc <= limit;
}

static int64_t at_least(int64_t value, int64_t least) { return value < least ? least : value; }

/* BLAS refuses (and prints) leading dimensions below the width, also of matrices that have one row: those are widened
 * here. */
#define OPENBLAS_GEMM(type, name, function, fallback)                                                               \
  static void name(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const type *a, int64_t lda, \
                   const type *b, int64_t ldb, type *c, int64_t ldc, bool accumulate) {                             \
    if (k <= 0 || !fits_blas(m, n, k, lda, ldb, ldc)) {                                                             \
      nd_compute_baseline.fallback(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, c, ldc, accumulate);          \
      return;                                                                                                       \
    }                                                                                                               \
    lda = at_least(lda, transpose_a ? m : k);                                                                       \
    ldb = at_least(ldb, transpose_b ? k : n);                                                                       \
    ldc = at_least(ldc, n);                                                                                         \
    if (m > 0 && n > 0)                                                                                             \
      atomic_load_explicit(&function, memory_order_relaxed)(                                                        \
          CBLAS_ROW_MAJOR, transpose_a ? CBLAS_TRANSPOSE : CBLAS_NO_TRANSPOSE,                                      \
          transpose_b ? CBLAS_TRANSPOSE : CBLAS_NO_TRANSPOSE, (int)m, (int)n, (int)k, 1, a, (int)lda, b, (int)ldb,  \
          accumulate ? 1 : 0, c, (int)ldc);                                                                         \
  }
OPENBLAS_GEMM(float, openblas_gemm_f32, openblas_sgemm, gemm_f32)
OPENBLAS_GEMM(double, openblas_gemm_f64, openblas_dgemm, gemm_f64)

#if defined(_WIN32)
static bool openblas_load(char *why, size_t why_bytes) {
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

/* Loads the library and sets the functions; else false and the reason. */
static bool openblas_load(char *why, size_t why_bytes) {
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

BurnStatus nd_gemm_open(Ndarray *nd, const char *choice) {
  const NdCompute *compute = nd_compute(nd->isa);
  char why[256];
  nd->gemm_f32 = compute->gemm_f32;
  nd->gemm_f64 = compute->gemm_f64;
  nd->gemm_name = "builtin";
  if (choice && strcmp(choice, "builtin") == 0) return BURN_OK;
  if (choice && strcmp(choice, "openblas") != 0)
    return nd_fail(nd, BURN_STATUS_INVALID_ARGUMENT, "ndarray: gemm=%s is neither openblas nor builtin", choice);
  if (!openblas_load(why, sizeof why)) {
    if (!choice) return BURN_OK;
    return nd_fail(nd, BURN_STATUS_NOT_FOUND, "ndarray: gemm=openblas cannot be had: %s", why);
  }
  nd->gemm_f32 = openblas_gemm_f32;
  nd->gemm_f64 = openblas_gemm_f64;
  nd->gemm_name = "openblas";
  return BURN_OK;
}
