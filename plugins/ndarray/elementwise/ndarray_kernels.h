/* ndarray_kernels.h - the inner loops of elementwise ops, which are compiled once per instruction set.
 *
 * ndarray_kernels_isa.inc holds them; ndarray_kernels_{baseline,avx2,avx512}.c include it with other compiler flags.
 * The driver in ndarray_elementwise.c splits a call into runs and calls a loop for each. */
#ifndef BURN_NDARRAY_KERNELS_H
#define BURN_NDARRAY_KERNELS_H

#include "ndarray_internal.h"

/* A scalar attribute in the dtype of the loop that reads it; the member is named like the dtype. */
typedef union NdScalar {
  float f32;
  double f64;
  uint16_t f16, bf16; /* their bits */
  int8_t i8;
  int16_t i16;
  int32_t i32;
  int64_t i64;
  uint8_t u8;
  uint16_t bits_16; /* for loops that only move bits */
  uint32_t bits_32;
  uint64_t bits_64;
} NdScalar;

/* A value in a float dtype, rounded once. */
NdScalar nd_float_scalar(BurnDType dtype, double value);

/* A number (tag I64 or F64) in the dtype of a tensor: floats as above. Integers take what is before the point, NaN as
 * 0; what does not fit wraps where the arithmetic does (u8 + -1), else saturates. bool is number != 0. */
NdScalar nd_scalar(BurnDType dtype, const BurnAttr *number, bool wraps);

/* An integer comparison with a number as one with an integer: x > 1.5 is x > 1, x >= 1.5 is x >= 2, and so on.
 * What is true or false for every x becomes a comparison with an end of the range. Changes *op. */
NdScalar nd_integer_threshold(BurnDType dtype, uint32_t *op, const BurnAttr *number);

/* `count` elements: out[i] = op(in[0][i * step[0]], ...). Steps are 1, or 0 for one value; which loops take a 0 is said
 * at NdLoopKind. out may be the very same memory as an input of step 1. */
typedef struct NdRun {
  void *out;
  const void *in[3];
  int64_t step[3];
  int64_t count;
  NdScalar first, second; /* scalar attributes */
  bool streams;           /* loops that can write past the caches do; out is a multiple of 64 bytes then */
} NdRun;

typedef void (*NdLoop)(const NdRun *run);

/* A loop of an instruction set, for an op and the dtype of its first input, or a cast between two dtypes. A list ends
 * with NULL. `streaming` are the ops whose loops of f32 can write past the caches, up to BURN_OP_INVALID; or NULL. */
typedef struct NdLoopRow {
  NdLoop loop;
  uint16_t op, dtype; /* of a cast: from, to */
} NdLoopRow;
typedef struct NdLoopRows {
  const NdLoopRow *loops, *casts;
  const uint16_t *streaming;
} NdLoopRows;

extern const NdLoopRows nd_kernels_baseline;
#if defined(BURN_NDARRAY_X86_VARIANTS)
extern const NdLoopRows nd_kernels_avx2, nd_kernels_avx512;
#endif

/* Loops that wider vectors would not make faster, compiled once for all instruction sets (ndarray_kernels_common.c).
 * They take any steps. */
extern const NdLoopRow nd_common_loops[];

/* The loops for nd->isa as tables, made of the lists when the device is opened: as most places stay empty, the lists
 * are far smaller. */
struct NdKernels {
  /* By op and dtype of the first input; NULL where there is none. Unary and scalar loops want steps of 1, binary ones
   * take at most one step of 0, mask_where and mask_fill want steps of 1 but for `value`. */
  NdLoop loops[BURN_OP_LIMIT][ND_DTYPE_COUNT];
  NdLoop casts[ND_DTYPE_COUNT][ND_DTYPE_COUNT]; /* from, to; steps of 1 */
  bool streaming[BURN_OP_LIMIT];                /* the loop of f32 can write past the caches */
};
typedef struct NdKernels NdKernels;

/* True if the op has an elementwise loop that serves f16 and bf16, of its own or that of f32 (ndarray_elementwise.c).
 */
bool nd_takes_halves(const Ndarray *nd, uint32_t op);

static inline const NdKernels *nd_kernels(const Ndarray *nd) { return nd->elementwise; }

/* A binary loop, or that of mul_scalar, over n elements in a row; for kernels that are made of several. */
static inline void nd_run_pair(NdLoop loop, int64_t n, void *out, const void *x, const void *y) {
  const NdRun run = {.out = out, .in = {x, y}, .step = {1, 1}, .count = n};
  loop(&run);
}
static inline void nd_run_scaled(NdLoop loop, int64_t n, void *out, const void *x, NdScalar factor) {
  const NdRun run = {.out = out, .in = {x}, .step = {1}, .count = n, .first = factor};
  loop(&run);
}

#endif
