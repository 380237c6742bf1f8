/* ndarray_conv_lanes_avx512.h - what the convolution loops do with single lanes of a vector, for f32, with masks and
 * permutations. Masked lanes are not touched in memory. See ndarray_conv_lanes.h. */

#undef CONV_READS_WITHIN
#define CONV_READS_WITHIN true

#define INDEX_VECTOR(index) _mm512_loadu_si512(index)

CONV_INLINE VECTOR NAME(load_lanes)(const REAL *from, uint32_t bits) {
  return (VECTOR)_mm512_maskz_loadu_ps((__mmask16)bits, from);
}

CONV_INLINE VECTOR NAME(load_masked)(const REAL *from, uint32_t bits) { return NAME(load_lanes)(from, bits); }

CONV_INLINE void NAME(store_lanes)(REAL *to, int32_t first, int32_t count, VECTOR x) {
  _mm512_mask_storeu_ps(to - first, (__mmask16)(((1u << count) - 1u) << first), x);
}

CONV_INLINE VECTOR NAME(gather_anywhere)(const REAL *from, const int32_t *index) {
  return (VECTOR)_mm512_i32gather_ps(INDEX_VECTOR(index), from, 4);
}

CONV_INLINE VECTOR NAME(gather_near)(const REAL *from, const int32_t *index) {
  return (VECTOR)_mm512_permutex2var_ps(NAME(load)(from), INDEX_VECTOR(index), NAME(load)(from + LANES));
}

CONV_INLINE VECTOR NAME(load_even)(const REAL *from, uint32_t bits) {
  static const int32_t even[ND_CONV_LANES] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30};
  const uint32_t spread = _pdep_u32(bits, 0x55555555u);
  const VECTOR low = NAME(load_lanes)(from, spread & ((1u << LANES) - 1u));
  const VECTOR high = NAME(load_lanes)(from + LANES, spread >> LANES);
  return (VECTOR)_mm512_permutex2var_ps(low, INDEX_VECTOR(even), high);
}

CONV_INLINE REAL NAME(fold_vector)(const REAL *from) { return _mm512_reduce_add_ps(NAME(load)(from)); }

/* Lanes of a and b in turn, from the lower or the upper half of both. */
CONV_INLINE VECTOR NAME(interleave)(VECTOR a, VECTOR b, int32_t half) {
  int32_t index[ND_CONV_LANES];
  for (int32_t i = 0; i < (int32_t)LANES; i++) index[i] = half * (int32_t)LANES / 2 + i / 2 + i % 2 * (int32_t)LANES;
  return (VECTOR)_mm512_permutex2var_ps(a, INDEX_VECTOR(index), b);
}

/* At most LANES x LANES: pairs of rows are interleaved, then pairs of pairs, .. */
static CONV_APART void NAME(transpose_block)(const REAL *from, int64_t from_row, int64_t rows, int64_t columns,
                                             REAL *to, int64_t to_row) {
  const uint32_t row_bits = (1u << rows) - 1u, column_bits = (1u << columns) - 1u;
  VECTOR a[LANES_MAX], b[LANES_MAX];
  for (int r = 0; r < LANES_MAX; r++) {
    a[r] = NAME(splat)(0);
    if (r < rows) a[r] = NAME(load_lanes)(from + r * from_row, column_bits);
  }
  /* Rows r and r + half, in each round, become the interleaving of the two; after log2(LANES) rounds all is transposed.
   */
  for (int round = 1; round < LANES_MAX; round *= 2) {
    for (int r = 0; r < LANES_MAX / 2; r++) {
      b[2 * r] = NAME(interleave)(a[r], a[r + LANES_MAX / 2], 0);
      b[2 * r + 1] = NAME(interleave)(a[r], a[r + LANES_MAX / 2], 1);
    }
    for (int r = 0; r < LANES_MAX; r++) a[r] = b[r];
  }
  for (int r = 0; r < LANES_MAX; r++)
    if (r < columns) _mm512_mask_storeu_ps(to + r * to_row, (__mmask16)row_bits, a[r]);
}

#undef INDEX_VECTOR
