/* ndarray_gemm_isa.h - body of ndarray_gemm_{baseline,avx2,avx512}.c: the template for both dtypes, and the table. The
 * includer defines GEMM_TABLE, GEMM_VECTOR_BYTES, GEMM_ROWS (rows of a tile: with two vectors each they have to fit
 * into the registers), GEMM_EACH_ROWS (a list of 1 .. GEMM_ROWS), GEMM_DOT_ROWS (2 or 4) and GEMM_STREAM_TERMS (rows of
 * B at a time: two vectors of each have to fit, too). No include guard: this is text, not declarations. */

#define GEMM_FETCH_STEPS 16      /* steps along k per row, of C or of the next panel of B, that is fetched */
#define GEMM_STREAM_COLUMNS 1024 /* of C at a time */
#define GEMM_PACK_STEPS 16       /* rows of B, or columns of A, that are copied to all panels in one go */
#define GEMM_PACK_AHEAD 128      /* terms that are fetched before they are packed */
#define GEMM_DOT_COLUMNS 4       /* of B whose products with GEMM_DOT_ROWS rows of A are summed together */

/* What an instruction set can do without. */
#if !defined(GEMM_FETCH)
#define GEMM_FETCH(address) ((void)(address))
#define GEMM_FETCH_NEAR(address) ((void)(address))
#define GEMM_FETCH_WRITE(address) ((void)(address))
#endif
#if !defined(GEMM_KEEP)
#define GEMM_KEEP(vector) ((void)0)
#define GEMM_KEEP_POINTER(pointer) ((void)0)
#endif
#if !defined(GEMM_CHEAP_PARTS)
#define GEMM_CHEAP_PARTS false
#endif
#if defined(__clang__)
#define GEMM_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define GEMM_UNROLL _Pragma("GCC unroll 16")
#else
#define GEMM_UNROLL
#endif
#if defined(__GNUC__)
#define GEMM_INLINE static inline __attribute__((always_inline))
#define GEMM_APART static __attribute__((noinline))
#else
#define GEMM_INLINE static inline
#define GEMM_APART static
#endif

#define REAL float
#define NAME(name) name##_f32
#include "ndarray_gemm_template.h"
#undef REAL
#undef NAME
#undef GEMM_TRANSPOSE_HOOKS

#define REAL double
#define NAME(name) name##_f64
#include "ndarray_gemm_template.h"
#undef REAL
#undef NAME

const NdGemmTable GEMM_TABLE = {
    {GEMM_ROWS, 2 * GEMM_VECTOR_BYTES / (int64_t)sizeof(float), dots_f32, stream_f32, pack_a_f32, pack_b_f32,
     multiply_f32},
    {GEMM_ROWS, 2 * GEMM_VECTOR_BYTES / (int64_t)sizeof(double), dots_f64, stream_f64, pack_a_f64, pack_b_f64,
     multiply_f64},
};
