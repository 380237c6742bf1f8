/* ndarray_conv_isa.h - body of ndarray_conv_{baseline,avx2,avx512}.c: the template for both dtypes (or f32 only:
 * CONV_F32_ONLY), and the table. The includer defines CONV_TABLE, CONV_VECTOR_BYTES and the tiles, whose sums have to
 * fit into the registers: CONV_ROWS channels x ND_CONV_VECTORS vectors of pixels (forward), CORRELATE_CHANNELS x
 * CONV_TAPS (gradient of few weights), CONV_SWEEP_TAPS taps of a vector of channels (the same), CONV_TILE_TAPS vectors
 * with at most CONV_PANEL side by side (gradient of many). No include guard: this is text, not declarations. */
#include <string.h>

#if defined(__GNUC__)
#define CONV_INLINE static inline __attribute__((always_inline))
#define CONV_APART __attribute__((noinline))
#else
#define CONV_INLINE static inline
#define CONV_APART
#endif

/* Arrays of sums become registers only where the loops over them are unrolled early: else GCC spills them around the
 * loop. */
#if defined(__clang__)
#define CONV_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define CONV_UNROLL _Pragma("GCC unroll 32")
#else
#define CONV_UNROLL
#endif

/* Keeps a broadcast number in a register where it is used more than once: GCC would fetch it anew for every use. */
#if defined(__GNUC__) && defined(__x86_64__)
#define KEEP_IN_REGISTER(x) __asm__("" : "+v"(x))
#else
#define KEEP_IN_REGISTER(x) ((void)0)
#endif

/* Keeps a sum of pointer and offset as it is: GCC would split it into more parts than there are registers. */
#if defined(__GNUC__)
#define KEEP_POINTER(x) __asm__("" : "+r"(x))
#else
#define KEEP_POINTER(x) ((void)0)
#endif

/* Numbers are fetched anew behind this: GCC would carry those of the next step over in more registers than there are.
 */
#if defined(__GNUC__)
#define FETCH_ANEW() __asm__ __volatile__("" : : : "memory")
#else
#define FETCH_ANEW() ((void)0)
#endif

#if defined(__GNUC__)
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define PREFETCH(address) ((void)0)
#endif

#if !defined(CONV_LANES_HEADER)
#define CONV_LANES_HEADER "ndarray_conv_lanes.h"
#endif

#define CORRELATE_CHANNELS 4
#define CONV_SWEEP_RUNS 8
#define CONV_PLANE_ROWS 8

/* Tiles of runs of 1, 3 and 5 taps: X(runs, taps of a run). */
#define CONV_SWEEPS_OF_1(X) X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1) X(6, 1) X(7, 1) X(8, 1)
#if CONV_SWEEP_TAPS > 12
#define CONV_SWEEPS_OF_3(X) X(1, 3) X(2, 3) X(3, 3) X(4, 3) X(5, 3) X(6, 3) X(7, 3) X(8, 3)
#define CONV_SWEEPS_OF_5(X) X(1, 5) X(2, 5) X(3, 5) X(4, 5) X(5, 5)
#else
#define CONV_SWEEPS_OF_3(X) X(1, 3) X(2, 3) X(3, 3) X(4, 3)
#define CONV_SWEEPS_OF_5(X) X(1, 5) X(2, 5)
#endif

#define REAL float
#define INTEGER int32_t
#define NAME(name) name##_f32
#include "ndarray_conv_template.h"
#undef REAL
#undef INTEGER
#undef NAME

#if !defined(CONV_F32_ONLY)
#define REAL double
#define INTEGER int64_t
#define NAME(name) name##_f64
#include "ndarray_conv_template.h"
#undef REAL
#undef INTEGER
#undef NAME
#endif

#define CONV_LOOPS(type, suffix)                                                                                 \
  {                                                                                                              \
    (int64_t)(sizeof(Vector_##suffix) / sizeof(type)), CONV_ROWS, CONV_PANEL, CONV_TILE_TAPS, CONV_READS_WITHIN, \
        copy_##suffix, gather_##suffix, interleave_images_##suffix, product_##suffix, plane_##suffix,            \
        correlate_##suffix, sweep_##suffix, outer_##suffix, fold_##suffix, transpose_##suffix                    \
  }
#if defined(CONV_F32_ONLY)
const NdConvTable CONV_TABLE = {.f32 = CONV_LOOPS(float, f32)};
#else
const NdConvTable CONV_TABLE = {CONV_LOOPS(float, f32), CONV_LOOPS(double, f64)};
#endif
