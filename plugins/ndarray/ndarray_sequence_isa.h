/* ndarray_sequence_isa.h - body of ndarray_sequence_{baseline,avx2,avx512}.c: the template for both dtypes, and the
 * table. The includer defines SEQUENCE_TABLE, SEQUENCE_VECTOR_BYTES, SEQUENCE_TILE_ROWS and SEQUENCE_QUAD_ROWS (rows of
 * a tile of a product: with two vectors each, or four, they have to fit into the registers), SEQUENCE_VECTORS (2 or 4:
 * which of both keeps the multipliers busier), and SEQUENCE_HAS_F64. No include guard: this is text, not declarations.
 */
#include "ndarray_math.h"

#include <string.h>

#if defined(__GNUC__)
#define SEQUENCE_INLINE static inline __attribute__((always_inline))
#else
#define SEQUENCE_INLINE static inline
#endif

/* The loop that follows may be vectorised: whatever it writes, it has read before, or nobody reads. */
#if defined(__clang__)
#define SEQUENCE_VECTOR _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define SEQUENCE_VECTOR _Pragma("GCC ivdep")
#else
#define SEQUENCE_VECTOR
#endif

/* The loop that follows has a constant length, and what it works on is to stay in registers. */
#if defined(__GNUC__) && !defined(__clang__)
#define SEQUENCE_UNROLL _Pragma("GCC unroll 16")
#else
#define SEQUENCE_UNROLL
#endif

/* Keeps a vector in a register: a number that is used twice would else be loaded and broadcast twice. */
#if defined(__GNUC__) && defined(__AVX512F__)
#define SEQUENCE_KEEP(x) __asm__("" : "+v"(x))
#elif defined(__GNUC__) && defined(__SSE2__)
#define SEQUENCE_KEEP(x) __asm__("" : "+x"(x))
#else
#define SEQUENCE_KEEP(x) ((void)0)
#endif

/* Asks for memory that will be needed, where no processor foresees it. */
#if defined(__GNUC__)
#define SEQUENCE_PREFETCH(address) __builtin_prefetch(address)
#else
#define SEQUENCE_PREFETCH(address) ((void)0)
#endif

/* Terms of a product from one such request to the next: a constant, because branches are then foreseen. */
enum { SEQUENCE_STRETCH = 16 };

/* How many rows ahead the second operand of a product is asked for, and how many vectors share a line. */
enum { SEQUENCE_AHEAD = 8, SEQUENCE_LINE_VECTORS = 64 / SEQUENCE_VECTOR_BYTES };

/* e^x for x <= 0 or NaN; 0 below -87. */
SEQUENCE_INLINE float decay_f32(float x) {
  const float bounded = x < -87.0f ? -87.0f : x; /* NaN passes */
  return x < -87.0f ? 0.0f : nd_exp_bounded_f32(bounded);
}
SEQUENCE_INLINE double decay_f64(double x) { return exp(x); }
SEQUENCE_INLINE float sigmoid_f32(float x) { return nd_sigmoid_f32(x); }
SEQUENCE_INLINE double sigmoid_f64(double x) { return 1.0 / (1.0 + exp(-x)); }
SEQUENCE_INLINE float tanh_f32(float x) { return nd_tanh_f32(x); }
SEQUENCE_INLINE double tanh_f64(double x) { return tanh(x); }

#define REAL float
#define NAME(name) name##_f32
#include "ndarray_sequence_template.h"
#undef REAL
#undef NAME

#if SEQUENCE_HAS_F64
#define REAL double
#define NAME(name) name##_f64
#include "ndarray_sequence_template.h"
#undef REAL
#undef NAME
#endif

/* A function of every lane of a vector. */
#define LANEWISE(function, t, T)                                                           \
  SEQUENCE_INLINE Vector_##t function##s_##t(Vector_##t x) {                               \
    T lanes[sizeof x / sizeof(T)];                                                         \
    memcpy(lanes, &x, sizeof x);                                                           \
    for (size_t j = 0; j < sizeof x / sizeof(T); j++) lanes[j] = function##_##t(lanes[j]); \
    memcpy(&x, lanes, sizeof x);                                                           \
    return x;                                                                              \
  }
#if defined(__AVX512F__)
#include "ndarray_sequence_gates_avx512.h"
#else
LANEWISE(sigmoid, f32, float)
LANEWISE(tanh, f32, float)
#endif
#if SEQUENCE_HAS_F64
LANEWISE(sigmoid, f64, double)
LANEWISE(tanh, f64, double)
#endif

#define REAL float
#define NAME(name) name##_f32
#include "ndarray_sequence_gates.h"
#undef REAL
#undef NAME

#if SEQUENCE_HAS_F64
#define REAL double
#define NAME(name) name##_f64
#include "ndarray_sequence_gates.h"
#undef REAL
#undef NAME
#endif

#define SEQUENCE_LOOPS(t, T)                                                                                          \
  {                                                                                                                   \
    (int64_t)(sizeof(Vector_##t) / sizeof(T)), SEQUENCE_VECTORS,                                                      \
        SEQUENCE_VECTORS == 4 ? SEQUENCE_QUAD_ROWS : SEQUENCE_TILE_ROWS, product_##t, pack_##t, unpack_##t, bend_##t, \
        hide_future_##t, hide_masked_##t, add_bias_##t, softmax_##t, rescale_##t, invert_##t, softmax_back_##t,       \
        fold_bias_##t, scale_back_##t, lstm_step_##t, lstm_back_##t,                                                  \
  }

#if SEQUENCE_HAS_F64
const NdSequence SEQUENCE_TABLE = {SEQUENCE_LOOPS(f32, float), SEQUENCE_LOOPS(f64, double)};
#else
const NdSequenceLoops SEQUENCE_TABLE = SEQUENCE_LOOPS(f32, float);
#endif
