/* ndarray_vector.h - the instructions behind ndarray_vector_type.inc. */
#ifndef BURN_NDARRAY_VECTOR_H
#define BURN_NDARRAY_VECTOR_H

#include "ndarray_compiler.h"

#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#endif
