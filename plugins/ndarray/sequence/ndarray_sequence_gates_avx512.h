/* ndarray_sequence_gates_avx512.h - sigmoid and tanh of 16 numbers, with the instructions that AVX-512 has for powers
 * of two and reciprocals: a division takes as long as all the rest of either function. Within 2.5 ulp; subnormal
 * results may be 0. */
#include <immintrin.h>

/* 1 / x for x in 1 .. 2^127 or NaN: 14 bits of it and a step of Newton's. */
ND_INLINE __m512 reciprocals(__m512 x) {
  const __m512 y = _mm512_rcp14_ps(x);
  return _mm512_fmadd_ps(_mm512_fnmadd_ps(x, y, _mm512_set1_ps(1.0f)), y, y);
}

/* e^x = *power * (1 + result) for |x| <= 88 or NaN, with *power a power of two. */
ND_INLINE __m512 exponentials(__m512 x, __m512 *power) {
  const __m512 k =
      _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504088896341f)), _MM_FROUND_TO_NEAREST_INT);
  const __m512 near = _mm512_fnmadd_ps(k, _mm512_set1_ps(0.693359375f), x);
  const __m512 r = _mm512_fnmadd_ps(k, _mm512_set1_ps(-2.12194440e-4f), near);
  __m512 p = _mm512_set1_ps(1.9875691500e-4f);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.3981999507e-3f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(8.3334519073e-3f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.1665795894e-2f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.6666665459e-1f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.0000001201e-1f));
  *power = _mm512_scalef_ps(_mm512_set1_ps(1.0f), k);
  return _mm512_fmadd_ps(p, _mm512_mul_ps(r, r), r);
}

/* x within -most .. most; NaN passes. */
ND_INLINE __m512 bounded(__m512 x, float most) {
  return _mm512_min_ps(_mm512_set1_ps(most), _mm512_max_ps(_mm512_set1_ps(-most), x));
}

/* 1 / (1 + e^-x) */
ND_INLINE __m512 sigmoids_f32(__m512 x) {
  __m512 power;
  const __m512 part = exponentials(bounded(_mm512_sub_ps(_mm512_setzero_ps(), x), 87.5f), &power);
  const __m512 y = reciprocals(_mm512_add_ps(_mm512_fmadd_ps(power, part, power), _mm512_set1_ps(1.0f)));
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_set1_ps(-87.5f), _CMP_NLT_UQ), y); /* NaN stays */
}

/* (e^2x - 1) / (e^2x + 1); the numerator is exact to the last bit near 0 also. */
ND_INLINE __m512 tanhs_f32(__m512 x) {
  const __m512 one = _mm512_set1_ps(1.0f);
  __m512 power;
  const __m512 part = exponentials(bounded(_mm512_add_ps(x, x), 20.0f), &power);
  const __m512 less = _mm512_fmadd_ps(power, part, _mm512_sub_ps(power, one)),
               more = _mm512_add_ps(less, _mm512_set1_ps(2.0f));
  const __m512 inverse = reciprocals(more), near = _mm512_mul_ps(less, inverse);
  const __m512 y = _mm512_fmadd_ps(_mm512_fnmadd_ps(near, more, less), inverse, near);
  const __m512i sign = _mm512_set1_epi32(INT32_MIN);
  return _mm512_castsi512_ps(
      _mm512_ternarylogic_epi32(sign, _mm512_castps_si512(x), _mm512_castps_si512(y), 0xca)); /* -0 too */
}
