/* ndarray_numbers.h - sizes and counts: the least and greatest of two, division that rounds up. */
#ifndef BURN_NDARRAY_NUMBERS_H
#define BURN_NDARRAY_NUMBERS_H

#include <stdint.h>

static inline int64_t nd_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t nd_max(int64_t a, int64_t b) { return a > b ? a : b; }
/* a / b, rounded up, for a >= 0 and b > 0; and the next multiple of b. */
static inline int64_t nd_ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t nd_round_up(int64_t a, int64_t b) { return nd_ceil_div(a, b) * b; }
/* Bytes up to the next cache line. */
static inline uint64_t nd_round_64(int64_t bytes) { return ((uint64_t)bytes + 63u) / 64u * 64u; }

#endif
