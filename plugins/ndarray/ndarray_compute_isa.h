/* ndarray_compute_isa.h - body of ndarray_compute_{baseline,avx2,avx512}.c: the template for both dtypes, and the
 * table. The includer defines COMPUTE_TABLE and COMPUTE_VECTOR_BYTES. No include guard: this is text, not declarations. */
#include <string.h>

#if defined(__GNUC__)
#define COMPUTE_INLINE static inline __attribute__((always_inline))
#else
#define COMPUTE_INLINE static inline
#endif

#define COMPUTE_CHANNELS 4        /* convolution tile: output channels ... */
#define COMPUTE_VECTORS 3         /* ... times vectors of pixels (or taps) */

#define REAL float
#define INTEGER int32_t
#define NAME(name) name##_f32
#include "ndarray_compute_template.h"
#undef REAL
#undef INTEGER
#undef NAME

#define REAL double
#define INTEGER int64_t
#define NAME(name) name##_f64
#include "ndarray_compute_template.h"
#undef REAL
#undef INTEGER
#undef NAME

const NdCompute COMPUTE_TABLE = {
    {(int64_t)(sizeof(Vector_f32) / sizeof(float)), convolve_f32, correlate_f32, fold_f32},
    {(int64_t)(sizeof(Vector_f64) / sizeof(double)), convolve_f64, correlate_f64, fold_f64},
};
