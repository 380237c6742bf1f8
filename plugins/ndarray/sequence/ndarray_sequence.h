/* ndarray_sequence.h - the inner loops of attention and lstm, once per instruction set.
 *
 * ndarray_sequence_type.inc is compiled by ndarray_sequence_{baseline,avx2,avx512}.c, each with its own compiler
 * flags and each for f32 and f64. Lanes of vectors are queries (attention) or units (lstm), so that nothing is ever
 * summed across a vector. Every element of a product is one chain of multiply-adds in the order of its depth. */
#ifndef BURN_NDARRAY_SEQUENCE_H
#define BURN_NDARRAY_SEQUENCE_H

#include "ndarray_internal.h"

enum { ND_FETCH_MAX = 384 };

/* Lines of memory that a product brings into the cache while it computes, for whoever comes after it. */
typedef struct NdFetch {
  int64_t count;
  const char *lines[ND_FETCH_MAX];
} NdFetch;

/* C[rows, columns] (+)= A[rows, depth] x B[depth, columns]. Element (r, p) of A is a[r * a_row + p * a_step], so A may
 * have any strides; rows of B and C are dense, and columns is a multiple of the lanes. */
typedef struct NdProduct {
  int64_t rows, columns, depth;
  const void *a;
  int64_t a_row, a_step;
  const void *b;
  int64_t b_row;
  void *c;
  int64_t c_row;
  bool accumulate;
  const NdFetch *fetch; /* NULL: nothing */
} NdProduct;

/* The scores of `keys` keys (rows) with `width` queries (lanes; 1, 2 or 4 vectors of them): [keys, width]. */
typedef struct NdScores {
  int64_t keys, width;
  void *scores;
  double scale; /* in softmax: of the scores */
} NdScores;

/* Running values of a softmax over blocks of keys, one per query: largest score, sum of exponentials, and what earlier
 * sums are to be multiplied with since the last block. */
typedef struct NdSoftmaxState {
  void *high, *sum, *factor;
} NdSoftmaxState;

/* One step of an lstm for `units` units of `rows` samples. Pointers are to the first of the units, in the first sample
 * and the first gate; *_row says how far apart samples are, `gate` how far apart gates. cell and state go from step to
 * step and have room for whole vectors. `activations` may be the same memory as `gates`. */
typedef struct NdLstmStep {
  int64_t rows, units, gate;
  void *product; /* hidden x weight: for every vector of units its four gates; becomes the sum with `gates` */
  const void *gates;
  void *outputs, *cells, *activations;
  void *cell, *state; /* the cells before this step, and then after it; the outputs again */
  int64_t product_row, gates_row, steps_row, activations_row, cell_row, state_row;
} NdLstmStep;

/* The same for the way back. Absent gradients point at zeros, with rows 0 apart and gates 0 apart. */
typedef struct NdLstmBack {
  int64_t rows, units, gate, further_gate;
  const void *product; /* gradients of the next step's gates x weight^T */
  const void *grad, *grad_cells, *grad_activations, *activations, *cell_before;
  void *cell, *carry; /* the cells after this step, and then before it; their gradient: whole vectors, dense */
  void *grad_gates, *derivatives, *state; /* derivatives: grad_gates again, dense; state: hidden after this step */
  int64_t product_row, steps_row, cells_row, further_row, activations_row, before_row, carry_row, derivatives_row,
      state_row;
} NdLstmBack;

/* The loops for one dtype. */
typedef struct NdSequenceLoops {
  int64_t lanes;
  int64_t vectors, tile_rows; /* of the tile that a product is fastest with */
  void (*product)(const NdProduct *product);
  /* to[p * to_row + j] = from[p * step + j * column] for j < columns, and 0 for columns <= j < to_columns. */
  void (*pack)(int64_t depth, int64_t columns, const void *from, int64_t step, int64_t column, void *to, int64_t to_row,
               int64_t to_columns);
  /* to[j * row + p * step] = from[p * width + j] for j < columns. */
  void (*unpack)(int64_t depth, int64_t columns, const void *from, int64_t width, void *to, int64_t row, int64_t step);
  /* scores *= scale; with a cap, cap * tanh(scores / cap), and in derivatives (unless NULL) the derivative of that. */
  void (*bend)(const NdScores *s, double cap, void *derivatives);
  /* -infinity for keys that come after the query: key r is seen by lane j if r <= first + j. */
  void (*hide_future)(const NdScores *s, int64_t first);
  /* -infinity where the mask of key r and lane j, mask[r * key + j * query], is set. */
  void (*hide_masked)(const NdScores *s, int64_t lanes, const uint8_t *mask, int64_t key, int64_t query);
  void (*add_bias)(const NdScores *s, int64_t lanes, const void *bias, int64_t key, int64_t query);
  /* The scores become e^(scale * (score - high)), after high was raised to the largest among them. A query with nothing
   * but -infinity gets 0. */
  void (*softmax)(const NdScores *s, const NdSoftmaxState *state);
  /* rows[p] *= factor, for `depth` rows of `width` */
  void (*rescale)(int64_t depth, int64_t width, void *rows, const void *factor);
  /* factor = 1 / sum, or 0 where the sum is 0 */
  void (*invert)(int64_t width, const void *sum, void *factor);
  /* derivatives = weights * (derivatives - sum over the keys of weights * derivatives): the way back through softmax.
   */
  void (*softmax_back)(const NdScores *weights, void *derivatives);
  /* grad[r * key + j * query] += derivatives */
  void (*fold_bias)(const NdScores *s, int64_t lanes, void *grad, int64_t key, int64_t query);
  /* scores *= scale, and *= derivatives unless NULL */
  void (*scale_back)(const NdScores *s, const void *derivatives);
  void (*lstm_step)(const NdLstmStep *step);
  void (*lstm_back)(const NdLstmBack *step);
} NdSequenceLoops;

/* All loops of one instruction set. */
typedef struct NdSequence {
  NdSequenceLoops f32, f64;
} NdSequence;

extern const NdSequence nd_sequence_baseline;
#if defined(BURN_NDARRAY_X86_VARIANTS)
extern const NdSequence nd_sequence_avx2;
extern const NdSequenceLoops nd_sequence_avx512; /* of f32 */
#endif

/* The loops for nd->isa and a float dtype; NULL for other dtypes. */
static inline const NdSequenceLoops *nd_sequence(const Ndarray *nd, BurnDType dtype) {
  const NdSequence *sequence = &nd_sequence_baseline;
#if defined(BURN_NDARRAY_X86_VARIANTS)
  if (nd->isa == NDARRAY_ISA_AVX512 && dtype == BURN_DTYPE_F32) return &nd_sequence_avx512;
  if (nd->isa != NDARRAY_ISA_BASELINE) sequence = &nd_sequence_avx2;
#endif
  (void)nd;
  if (dtype == BURN_DTYPE_F32) return &sequence->f32;
  return dtype == BURN_DTYPE_F64 ? &sequence->f64 : NULL;
}

#endif
