/* ndarray_math_avx512.h - elementary functions on vectors of 16 f32, for AVX-512.
 *
 * As ndarray_math.h has them, and as accurate, but with what this instruction set has for them: exponents are taken apart and put
 * together by instructions, and erf and tanh are short polynomials whose coefficients come from tables of 32 entries in registers,
 * by the piece of the axis that x lies in. The coefficients interpolate at Chebyshev nodes. NaN passes where it is the second operand
 * of a minimum or maximum. */
#ifndef BURN_NDARRAY_MATH_AVX512_H
#define BURN_NDARRAY_MATH_AVX512_H

#include <immintrin.h>

#define ND_V(x) _mm512_set1_ps(x)

/* e^x; 1 ulp. */
static inline __m512 nd_exp_v(__m512 x) {
  const __m512 c = _mm512_min_ps(ND_V(89.0f), _mm512_max_ps(ND_V(-104.0f), x));
  const __m512 n = _mm512_sub_ps(_mm512_fmadd_ps(c, ND_V(1.44269504088896341f), ND_V(ND_ROUND_F32)), ND_V(ND_ROUND_F32));
  const __m512 r = _mm512_fnmadd_ps(n, ND_V(-2.12194440e-4f), _mm512_fnmadd_ps(n, ND_V(0.693359375f), c));
  __m512 p = ND_V(1.9875691500e-4f);
  p = _mm512_fmadd_ps(p, r, ND_V(1.3981999507e-3f));
  p = _mm512_fmadd_ps(p, r, ND_V(8.3334519073e-3f));
  p = _mm512_fmadd_ps(p, r, ND_V(4.1665795894e-2f));
  p = _mm512_fmadd_ps(p, r, ND_V(1.6666665459e-1f));
  p = _mm512_fmadd_ps(p, r, ND_V(5.0000001201e-1f));
  p = _mm512_fmadd_ps(p, _mm512_mul_ps(r, r), r);
  return _mm512_scalef_ps(_mm512_add_ps(p, ND_V(1.0f)), n);
}

/* Natural logarithm; 1 ulp. */
static inline __m512 nd_log_v(__m512 x) {
  __m512 m = _mm512_getmant_ps(x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero);
  __m512 e = _mm512_getexp_ps(x);
  const __mmask16 is_upper = _mm512_cmp_ps_mask(m, ND_V(1.41421356f), _CMP_GT_OQ); /* mantissa to [sqrt 1/2, sqrt 2) */
  m = _mm512_mask_mul_ps(m, is_upper, m, ND_V(0.5f));
  e = _mm512_mask_add_ps(e, is_upper, e, ND_V(1.0f));
  const __m512 f = _mm512_sub_ps(m, ND_V(1.0f)), z = _mm512_mul_ps(f, f);
  __m512 p = ND_V(7.0376836292e-2f);
  p = _mm512_fmadd_ps(p, f, ND_V(-1.1514610310e-1f));
  p = _mm512_fmadd_ps(p, f, ND_V(1.1676998740e-1f));
  p = _mm512_fmadd_ps(p, f, ND_V(-1.2420140846e-1f));
  p = _mm512_fmadd_ps(p, f, ND_V(1.4249322787e-1f));
  p = _mm512_fmadd_ps(p, f, ND_V(-1.6668057665e-1f));
  p = _mm512_fmadd_ps(p, f, ND_V(2.0000714765e-1f));
  p = _mm512_fmadd_ps(p, f, ND_V(-2.4999993993e-1f));
  p = _mm512_fmadd_ps(p, f, ND_V(3.3333331174e-1f));
  __m512 y = _mm512_fmadd_ps(e, ND_V(-2.12194440e-4f), _mm512_mul_ps(_mm512_mul_ps(p, f), z));
  y = _mm512_fnmadd_ps(z, ND_V(0.5f), y);
  y = _mm512_fmadd_ps(e, ND_V(0.693359375f), _mm512_add_ps(f, y));
  /* By the class of x, 4 bits each: NaN as it is, zero to -infinity, negative to NaN, infinity as it is. */
  return _mm512_fixupimm_ps(y, x, _mm512_set1_epi32(0x03530411), 0);
}

/* log(1 + x); 2 ulp. */
static inline __m512 nd_log1p_v(__m512 x) {
  const __m512 u = _mm512_add_ps(x, ND_V(1.0f));
  const __m512 lost = _mm512_sub_ps(x, _mm512_sub_ps(u, ND_V(1.0f))); /* by the rounding of u */
  const __m512 about = _mm512_rcp14_ps(u); /* 1 / u to 14 bits, then to 28 */
  const __m512 inverse = _mm512_mul_ps(about, _mm512_fnmadd_ps(u, about, ND_V(2.0f)));
  const __m512 result = nd_log_v(u);
  const __mmask16 is_normal = _mm512_cmp_ps_mask(u, ND_V(0.0f), _CMP_GT_OQ) & _mm512_cmp_ps_mask(u, ND_V(INFINITY), _CMP_LT_OQ);
  return _mm512_mask3_fmadd_ps(lost, inverse, result, is_normal);
}

/* y >= 0 with the sign of x. */
static inline __m512 nd_sign_v(__m512 y, __m512 x) {
  return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(_mm512_castps_si512(y), _mm512_castps_si512(x),
                                                       _mm512_set1_epi32((int32_t)0x80000000u), 0xd8));
}

/* Coefficients of t^j in 32 pieces. */
typedef struct NdTable {
  float entries[32];
} NdTable;

static inline __m512 nd_pick(const NdTable *table, __m512i piece) {
  return _mm512_permutex2var_ps(_mm512_loadu_ps(table->entries), piece, _mm512_loadu_ps(table->entries + 16));
}

/* Around multiples of 1/8: erf(x) / x - 1 for the first four, then erf(x). */
static const NdTable nd_erf_table[5] = {
    {{0.128379166f, 0.122529641f, 0.10530556f, 0.0776450932f, 0.520499885f, 0.623240888f, 0.711155653f, 0.784075081f,
      0.842700779f, 0.888388216f, 0.92290014f, 0.948170066f, 0.966105163f, 0.978443742f, 0.986671686f, 0.99199003f,
      0.995322287f, 0.997345984f, 0.998537302f, 0.999217033f, 0.999593019f, 0.999794602f, 0.999899387f, 0.999952137f,
      0.999977887f, 0.999990106f, 0.999995708f, 0.999998212f, 0.999999285f, 0.999999702f, 0.999999881f, 0.99999994f}},
    {{0.0f, -0.0931548551f, -0.181165561f, -0.259445876f, 0.87878257f, 0.763499677f, 0.642931342f, 0.524745345f, 0.415107816f,
      0.31827426f, 0.236521348f, 0.170359924f, 0.118930362f, 0.0804722682f, 0.0527749658f, 0.0335457735f, 0.0206669234f,
      0.0123407608f, 0.00714226812f, 0.00400643796f, 0.002178255f, 0.00114785496f, 0.000586264068f, 0.000290220109f,
      0.000139248194f, 6.47559282e-05f, 2.91875258e-05f, 1.27509575e-05f, 5.39903385e-06f, 2.21573077e-06f, 8.81344192e-07f,
      3.39783043e-07f}},
    {{-0.37612626f, -0.365645558f, -0.335351139f, -0.288496524f, -0.439391047f, -0.477187008f, -0.482198179f, -0.459151864f,
      -0.415107518f, -0.358058274f, -0.295651495f, -0.234244794f, -0.178395525f, -0.130767494f, -0.0923562869f, -0.0628984496f,
      -0.0413339734f, -0.0262242351f, -0.0160702039f, -0.00951537024f, -0.00544569734f, -0.00301316148f, -0.00161225453f,
      -0.000834400882f, -0.000417755626f, -0.000202368727f, -9.48630768e-05f, -4.30364271e-05f, -1.88976228e-05f,
      -8.03252169e-06f, -3.3052786e-06f, -1.31676859e-06f}},
    {{0.0f, 0.0552828461f, 0.10454648f, 0.142760739f, -0.1464279f, -0.0558054298f, 0.0265291724f, 0.0925957561f, 0.138031647f,
      0.16215308f, 0.167305484f, 0.157788232f, 0.138679326f, 0.114830077f, 0.0901895165f, 0.0674969703f, 0.0482868142f,
      0.033098381f, 0.0217765812f, 0.013771343f, 0.00837996975f, 0.00491103437f, 0.00277385721f, 0.00151091162f,
      0.000794071704f, 0.000402842066f, 0.000197345173f, 9.33845804e-05f, 4.26975785e-05f, 1.88676695e-05f, 8.05962918e-06f,
      3.32872514e-06f}},
    {{0.112706833f, 0.106509604f, 0.0889466032f, 0.0628752112f, 0.182835549f, 0.176258102f, 0.150555804f, 0.112345904f,
      0.0692070127f, 0.0280490462f, -0.00605550269f, -0.0303924829f, -0.0445045382f, -0.0496484898f, -0.0480584316f,
      -0.0422398075f, -0.0344427042f, -0.0263696965f, -0.0190975461f, -0.0131484075f, -0.00863603503f, -0.00542526413f,
      -0.00326620787f, -0.00188732939f, -0.00104800414f, -0.000559784647f, -0.000287857663f, -0.000142603953f,
      -6.80980738e-05f, -3.13619894e-05f, -1.3935557e-05f, -5.97667122e-06f}},
};

/* Error function; 2 ulp. */
static inline __m512 nd_erf_v(__m512 x) {
  const __m512 size = _mm512_min_ps(ND_V(3.937f), _mm512_abs_ps(x)); /* 1 from there on */
  const __m512 shifted = _mm512_add_ps(size, ND_V(ND_ROUND_F32 / 8));
  const __m512 t = _mm512_sub_ps(size, _mm512_sub_ps(shifted, ND_V(ND_ROUND_F32 / 8)));
  const __m512i piece = _mm512_castps_si512(shifted); /* the low bits count eighths */
  __m512 p = nd_pick(&nd_erf_table[4], piece);
  p = _mm512_fmadd_ps(p, t, nd_pick(&nd_erf_table[3], piece));
  p = _mm512_fmadd_ps(p, t, nd_pick(&nd_erf_table[2], piece));
  p = _mm512_fmadd_ps(p, t, nd_pick(&nd_erf_table[1], piece));
  p = _mm512_fmadd_ps(p, t, nd_pick(&nd_erf_table[0], piece));
  const __mmask16 is_small = _mm512_cmp_ps_mask(size, ND_V(0.4375f), _CMP_LT_OQ);
  return nd_sign_v(_mm512_min_ps(ND_V(1.0f), _mm512_mask_fmadd_ps(p, is_small, size, size)), x);
}

/* tanh(x) / x - 1 below 1/8, then tanh(x) in four pieces per doubling; and the middles of the pieces. */
static const NdTable nd_tanh_table[6] = {
    {{-6.37284714e-09f, 0.1397053f, 0.170202315f, 0.200376719f, 0.230175704f, 0.27406159f, 0.330821127f, 0.385283977f,
      0.437188774f, 0.509829998f, 0.596373558f, 0.670967102f, 0.734071493f, 0.809301078f, 0.879826725f, 0.925346255f,
      0.954045236f, 0.978026092f, 0.991859734f, 0.996997654f, 0.998894453f, 0.999753177f, 0.999966621f, 0.99999547f,
      0.999999404f, 0.99999994f, 0.99999994f, 0.99999994f, 0.99999994f, 0.99999994f, 0.99999994f, 0.99999994f}},
    {{0.0f, 0.980482399f, 0.971031189f, 0.959849179f, 0.94701916f, 0.92489022f, 0.890557408f, 0.851556242f, 0.808865964f,
      0.740073383f, 0.644338608f, 0.549803197f, 0.461138994f, 0.345031768f, 0.225904971f, 0.143734366f, 0.0897976384f,
      0.0434649177f, 0.0162142869f, 0.0059957155f, 0.0022098925f, 0.000493520463f, 6.68049906e-05f, 9.04133412e-06f,
      1.22361632e-06f, 6.09461921e-08f, 6.09461921e-08f, 6.09461921e-08f, 6.09461921e-08f, 6.09461921e-08f, 6.09461921e-08f,
      6.09461921e-08f}},
    {{-0.333325982f, -0.136978596f, -0.165271744f, -0.192331418f, -0.217980802f, -0.253476858f, -0.294615149f, -0.328090936f,
      -0.353627086f, -0.377311289f, -0.384266406f, -0.368899912f, -0.338509142f, -0.279237121f, -0.198758736f, -0.133004621f,
      -0.0856711045f, -0.0425082371f, -0.0160811003f, -0.00597717939f, -0.00220723939f, -0.00049261091f, -6.66953492e-05f,
      -9.02674219e-06f, -1.22164602e-06f, -5.92317839e-08f, -5.92317839e-08f, -5.92317839e-08f, -5.92317839e-08f,
      -5.92317839e-08f, -5.92317839e-08f, -5.92317839e-08f}},
    {{0.0f, -0.307690829f, -0.295547426f, -0.281410992f, -0.265499175f, -0.238828465f, -0.199387535f, -0.157443911f,
      -0.115020186f, -0.0543266311f, 0.0143866194f, 0.0642517731f, 0.0947767645f, 0.11097461f, 0.0995709151f, 0.0751637444f,
      0.0518016405f, 0.0270876437f, 0.01054639f, 0.00396105787f, 0.00146832026f, 0.000328546972f, 4.45015576e-05f,
      6.0233192e-06f, 8.15180215e-07f, 4.01417672e-08f, 4.01417672e-08f, 4.01417672e-08f, 4.01417672e-08f, 4.01417672e-08f,
      4.01417672e-08f, 4.01417672e-08f}},
    {{0.132077411f, 0.0886279121f, 0.105372861f, 0.120475739f, 0.133746982f, 0.149840876f, 0.164061487f, 0.169927269f,
      0.168078661f, 0.153249413f, 0.119441003f, 0.0798982307f, 0.0433629788f, 0.00370061724f, -0.0210951641f, -0.0251212399f,
      -0.020848915f, -0.012390377f, -0.00515112933f, -0.0019794968f, -0.000739871874f, -0.000172545857f, -2.33977644e-05f,
      -3.16739033e-06f, -4.28675179e-07f, -2.47095322e-08f, -2.47095322e-08f, -2.47095322e-08f, -2.47095322e-08f,
      -2.47095322e-08f, -2.47095322e-08f, -2.47095322e-08f}},
    {{0.0f, 0.111953393f, 0.102143951f, 0.0909789726f, 0.0787467733f, 0.0590575002f, 0.0319528244f, 0.0059238649f,
      -0.0171651114f, -0.0435074829f, -0.0615942068f, -0.0626845509f, -0.053066019f, -0.0320285298f, -0.00949542131f,
      0.00140635262f, 0.00460564625f, 0.00397852808f, 0.00191317464f, 0.000769519655f, 0.000292235956f, 6.79071672e-05f,
      9.22523395e-06f, 1.24914141e-06f, 1.69064663e-07f, 9.35830613e-09f, 9.35830613e-09f, 9.35830613e-09f, 9.35830613e-09f,
      9.35830613e-09f, 9.35830613e-09f, 9.35830613e-09f}},
};
static const NdTable nd_tanh_centers = {{0.0f, 0.140625f, 0.171875f, 0.203125f, 0.234375f, 0.28125f, 0.34375f, 0.40625f,
      0.46875f, 0.5625f, 0.6875f, 0.8125f, 0.9375f, 1.125f, 1.375f, 1.625f, 1.875f, 2.25f, 2.75f, 3.25f, 3.75f, 4.5f, 5.5f,
      6.5f, 7.5f, 9.0f, 9.0f, 9.0f, 9.0f, 9.0f, 9.0f, 9.0f}};

/* Hyperbolic tangent; 2 ulp. */
static inline __m512 nd_tanh_v(__m512 x) {
  const __m512 size = _mm512_min_ps(ND_V(9.5f), _mm512_abs_ps(x)); /* 1 from 9.02 on */
  const __m512i quarters = _mm512_srli_epi32(_mm512_castps_si512(size), 21); /* the exponent and two bits of the mantissa */
  const __m512i piece = _mm512_sub_epi32(_mm512_max_epi32(quarters, _mm512_set1_epi32(0x1ef)), _mm512_set1_epi32(0x1ef));
  const __mmask16 is_first = _mm512_testn_epi32_mask(piece, piece);
  const __m512 t = _mm512_sub_ps(size, nd_pick(&nd_tanh_centers, piece));
  __m512 p = nd_pick(&nd_tanh_table[5], piece);
  p = _mm512_fmadd_ps(p, t, nd_pick(&nd_tanh_table[4], piece));
  p = _mm512_fmadd_ps(p, t, nd_pick(&nd_tanh_table[3], piece));
  p = _mm512_fmadd_ps(p, t, nd_pick(&nd_tanh_table[2], piece));
  p = _mm512_fmadd_ps(p, t, nd_pick(&nd_tanh_table[1], piece));
  p = _mm512_fmadd_ps(p, t, nd_pick(&nd_tanh_table[0], piece));
  return nd_sign_v(_mm512_min_ps(ND_V(1.0f), _mm512_mask_fmadd_ps(p, is_first, size, size)), x);
}

/* 1 / (1 + e^-x), or e^x / (1 + e^x) for negative x, so that nothing overflows; 2.1 ulp. */
static inline __m512 nd_sigmoid_v(__m512 x) {
  const __m512 power = nd_exp_v(_mm512_or_ps(x, ND_V(-0.0f)));
  const __mmask16 is_negative = _mm512_cmp_ps_mask(x, ND_V(0.0f), _CMP_LT_OQ);
  return _mm512_div_ps(_mm512_mask_mov_ps(ND_V(1.0f), is_negative, power), _mm512_add_ps(power, ND_V(1.0f)));
}

/* x * (1 + erf(x / sqrt 2)) / 2. */
static inline __m512 nd_gelu_v(__m512 x) {
  const __m512 half = _mm512_mul_ps(x, ND_V(0.5f));
  return _mm512_fmadd_ps(half, nd_erf_v(_mm512_mul_ps(x, ND_V(0.70710678118654752f))), half);
}

/* x / (1 + e^-x). */
static inline __m512 nd_silu_v(__m512 x) { return _mm512_mul_ps(x, nd_sigmoid_v(x)); }

#endif
