/* ndarray_conv_lanes.h - what the convolution loops do with single lanes of a vector, for one dtype, in plain C. Bit i
 * of `bits` stands for lane i. ndarray_conv_lanes_avx512.h is the same with masks. */

#define CONV_READS_WITHIN false
#define ALL_BITS (LANES == 16 ? 0xffffu : (1u << LANES) - 1u)

/* The lanes whose bit is set, 0 in the others, which are not read. */
static CONV_APART VECTOR NAME(load_some)(const REAL *from, uint32_t bits) {
  REAL lanes[LANES_MAX];
  for (int64_t i = 0; i < LANES; i++) lanes[i] = bits >> i & 1u ? from[i] : 0;
  return NAME(load)(lanes);
}
CONV_INLINE VECTOR NAME(load_lanes)(const REAL *from, uint32_t bits) {
  return bits == ALL_BITS ? NAME(load)(from) : NAME(load_some)(from, bits);
}

/* The same, but all are read. */
CONV_INLINE VECTOR NAME(load_masked)(const REAL *from, uint32_t bits) {
#if defined(__GNUC__)
  static const INTEGER lane_bits[8] = {1, 2, 4, 8, 16, 32, 64, 128};
  NAME(Mask) mask;
  memcpy(&mask, lane_bits, sizeof mask);
  mask = (NAME(Mask))((mask & (INTEGER)bits) != 0);
  return (VECTOR)((NAME(Mask))NAME(load)(from) & mask);
#else
  return bits ? *from : 0;
#endif
}

/* Lane first + i to to[i]. */
static CONV_APART void NAME(store_lanes)(REAL *to, int32_t first, int32_t count, VECTOR x) {
  REAL lanes[LANES_MAX];
  NAME(store)(lanes, x);
  for (int32_t i = 0; i < count; i++) to[i] = lanes[first + i];
}

CONV_INLINE VECTOR NAME(gather_anywhere)(const REAL *from, const int32_t *index) {
  REAL lanes[LANES_MAX];
  for (int64_t i = 0; i < LANES; i++) lanes[i] = from[index[i]];
  return NAME(load)(lanes);
}

CONV_INLINE VECTOR NAME(gather_near)(const REAL *from, const int32_t *index) {
  return NAME(gather_anywhere)(from, index);
}

/* from[0], from[2], ..; the lanes whose bit is set. */
static CONV_APART VECTOR NAME(load_even)(const REAL *from, uint32_t bits) {
  REAL lanes[LANES_MAX];
  for (int64_t i = 0; i < LANES; i++) lanes[i] = bits >> i & 1u ? from[2 * i] : 0;
  return NAME(load)(lanes);
}

CONV_INLINE REAL NAME(fold_vector)(const REAL *from) {
  REAL sum = from[0];
  for (int64_t lane = 1; lane < LANES; lane++) sum += from[lane];
  return sum;
}

/* At most LANES x LANES. */
CONV_INLINE void NAME(transpose_block)(const REAL *from, int64_t from_row, int64_t rows, int64_t columns, REAL *to,
                                       int64_t to_row) {
  if (rows == LANES && columns == LANES) {
    for (int64_t r = 0; r < LANES; r++)
      for (int64_t c = 0; c < LANES; c++) to[c * to_row + r] = from[r * from_row + c];
    return;
  }
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < columns; c++) to[c * to_row + r] = from[r * from_row + c];
}
#undef ALL_BITS
