/* kernel_snippets_numbers.cpp - numbers: arithmetic, comparisons and conversions of all types. Also what all snippets
 * share. */
#include "kernel_snippets.h"

static Snippet *first_snippet;

void snippets_add(Snippet *snippet) {
  snippet->next = first_snippet;
  first_snippet = snippet;
}

const Snippet *snippets_first(void) { return first_snippet; }

namespace snippets {
/* -- pairs of numbers ------------------------------------------------------------------------- */

#define PAIRS                                                                                                      \
  template <class A, class B>                                                                                      \
  static __device__ uint64_t pair_of(A a, B b) {                                                                   \
    uint64_t mixed = 0;                                                                                            \
    MIX(a + b), MIX(a - b), MIX(a *b), MIX(a < b), MIX(a <= b), MIX(a > b), MIX(a >= b), MIX(a == b), MIX(a != b); \
    MIX(-a), MIX(+a), MIX(!a), MIX(a &&b), MIX(a || b), MIX(a < b ? a : b), MIX((A)b), MIX((B)a);                  \
    A c = a;                                                                                                       \
    c += b, MIX(c), c -= (B)3, MIX(c), c *= b, MIX(c), c = b, MIX(c);                                              \
    const A d = b;                                                                                                 \
    const B e = a;                                                                                                 \
    MIX(d), MIX(e);                                                                                                \
    return mixed;                                                                                                  \
  }
#define INTEGER_PAIRS                                                                        \
  PAIRS template <class A, class B>                                                          \
  static __device__ uint64_t whole_pair_of(A a, B b) {                                       \
    uint64_t mixed = pair_of(a, b);                                                          \
    const int count = (int)(b & 7);                                                          \
    MIX(a &b), MIX(a | b), MIX(a ^ b), MIX(~a), MIX(a << count), MIX(a >> count);            \
    MIX(b != 0 && b != (B)-1 ? a / b : a), MIX(b != 0 && b != (B)-1 ? a % b : b);            \
    A c = a;                                                                                 \
    c &= b, MIX(c), c |= (B)5, MIX(c), c ^= b, MIX(c), c <<= count, MIX(c), c >>= 3, MIX(c); \
    c++, MIX(c), --c, MIX(c), MIX(c++ + 1), MIX(--c), MIX(c);                                \
    c /= (A)3, MIX(c), c %= (A)7, MIX(c);                                                    \
    return mixed;                                                                            \
  }

#define WITH_EACH(A)                                                                                             \
  static __device__ void body(uint32_t thread, const Given *given, uint64_t *out) {                              \
    for (uint32_t k = 0, last = 2 + thread / THREADS; k <= last; k++) {                                          \
      const A a = (A)given->integers[thread];                                                                    \
      const int64_t b = given->integers[(thread * 5 + 11 * k) % THREADS];                                        \
      PUT(whole_pair_of(a, (int8_t)b)), PUT(whole_pair_of(a, (uint8_t)b)), PUT(whole_pair_of(a, (int16_t)b));    \
      PUT(whole_pair_of(a, (uint16_t)b)), PUT(whole_pair_of(a, (int32_t)b)), PUT(whole_pair_of(a, (uint32_t)b)); \
      PUT(whole_pair_of(a, b)), PUT(whole_pair_of(a, (uint64_t)b));                                              \
    }                                                                                                            \
  }

#define EXPANDED(name, ...) SNIPPET(name, __VA_ARGS__)

EXPANDED(pairs_i8, INTEGER_PAIRS WITH_EACH(int8_t))
EXPANDED(pairs_u8, INTEGER_PAIRS WITH_EACH(uint8_t))
EXPANDED(pairs_i16, INTEGER_PAIRS WITH_EACH(int16_t))
EXPANDED(pairs_u16, INTEGER_PAIRS WITH_EACH(uint16_t))
EXPANDED(pairs_i32, INTEGER_PAIRS WITH_EACH(int32_t))
EXPANDED(pairs_u32, INTEGER_PAIRS WITH_EACH(uint32_t))
EXPANDED(pairs_i64, INTEGER_PAIRS WITH_EACH(int64_t))
EXPANDED(pairs_u64, INTEGER_PAIRS WITH_EACH(uint64_t))

/* -- floats ----------------------------------------------------------------------------------- */

#define FLOAT_PAIRS                                                                                             \
  template <class A, class B>                                                                                   \
  static __device__ uint64_t pair_of(A a, B b) {                                                                \
    uint64_t mixed = 0;                                                                                         \
    MIX(a + b), MIX(a - b), MIX(a *b), MIX(a / b), MIX(b / a), MIX(a < b), MIX(a <= b), MIX(a > b);             \
    MIX(a >= b), MIX(a == b), MIX(a != b), MIX(-a), MIX(-b), MIX(+a), MIX(!a), MIX(a &&b), MIX(a || b);         \
    MIX(a < b ? a : b), MIX((A)b), MIX(a *a + b), MIX(a *b - a * b), MIX(a - b * (A)0.1);                       \
    A c = a;                                                                                                    \
    c += b, MIX(c), c -= 3, MIX(c), c *= b, MIX(c), c /= b, MIX(c), c++, MIX(c), --c, MIX(c), MIX(c--), MIX(c); \
    return mixed;                                                                                               \
  }
#define EACH_FLOAT(A, list)                                                                                       \
  static __device__ void body(uint32_t thread, const Given *given, uint64_t *out) {                               \
    for (uint32_t k = 0, last = 5 + thread / THREADS; k <= last; k++) {                                           \
      const A a = given->list[thread];                                                                            \
      const uint32_t other = (thread * 5 + 11 * k) % THREADS;                                                     \
      const int64_t i = given->integers[other];                                                                   \
      PUT(pair_of(a, given->floats[other])), PUT(pair_of(a, given->doubles[other]));                              \
      PUT(pair_of(a, i)), PUT(pair_of(a, (uint64_t)i)), PUT(pair_of(a, (int32_t)i)), PUT(pair_of(a, (uint8_t)i)); \
    }                                                                                                             \
  }
EXPANDED(pairs_f32, FLOAT_PAIRS EACH_FLOAT(float, floats))
EXPANDED(pairs_f64, FLOAT_PAIRS EACH_FLOAT(double, doubles))

SNIPPET(
    floats_that_are_none, static __device__ void body(uint32_t thread, const Given *given, uint64_t *out) {
      const float zero = given->floats[0] - given->floats[0];
      const double zero64 = (double)zero;
      const float one = zero + 1.0f, infinity = one / zero, minus = -one / zero, nan = zero / zero,
                  a = given->floats[thread];
      const double infinity64 = 1.0 / zero64, nan64 = infinity64 - infinity64, b = given->doubles[thread];
      PUT(infinity), PUT(minus), PUT(nan), PUT(infinity64), PUT(nan64), PUT(-zero), PUT(-zero64), PUT(zero - zero);
      PUT(-zero + zero), PUT(-zero - zero), PUT(-zero * one), PUT(1.0f / -zero), PUT(1.0 / -zero64), PUT(zero == -zero);
      PUT(nan == nan), PUT(nan != nan), PUT(nan < a), PUT(nan >= a), PUT(!(nan > a)), PUT(a <= nan), PUT(nan ? 1 : 2);
      PUT(nan64 == b), PUT(nan64 != b), PUT(b < nan64), PUT(!nan), PUT(nan && one), PUT(-zero ? 3 : 4),
          PUT(-zero || zero);
      PUT(infinity + minus), PUT(infinity * zero), PUT(infinity > a), PUT(minus < a), PUT(a / infinity),
          PUT(infinity == infinity64);
      PUT((double)nan), PUT((float)infinity64), PUT((float)(b * 1e300)), PUT((float)nan64), PUT((bool)nan),
          PUT((bool)-zero);
      PUT(floorf(-zero)), PUT(ceil(-zero64 - 0.5)), PUT(truncf(-0.25f * one)), PUT(rint(zero64 - 0.5)),
          PUT(sqrtf(-zero));
      PUT(sqrtf(-one)), PUT(fabsf(minus)), PUT(fabs(-zero64)), PUT(floor(infinity64)), PUT(sqrt(infinity64));
    })

SNIPPET(
    roots_and_roundings, static __device__ void body(uint32_t thread, const Given *given, uint64_t *out) {
      const float a = given->floats[thread];
      const double b = given->doubles[thread];
      PUT(floorf(a)), PUT(ceilf(a)), PUT(truncf(a)), PUT(rintf(a)), PUT(fabsf(a)), PUT(sqrtf(fabsf(a)));
      PUT(floor(b)), PUT(ceil(b)), PUT(trunc(b)), PUT(rint(b)), PUT(fabs(b)), PUT(sqrt(fabs(b)));
      PUT(floorf((float)(int)thread - 7.5f)), PUT(rint((int)thread - 7.5)), PUT(rintf((float)(int)thread * 0.5f)),
          PUT(sqrt((double)thread));
    })

SNIPPET(
    floats_to_integers, static __device__ void body(uint32_t thread, const Given *given, uint64_t *out) {
      const double wide[8] = {
          given->doubles[thread],          0.999999999, -0.999999999, 2147483647.5, -2147483648.9, 4294967295.9,
          (double)given->integers[thread], 1e18};
      for (int k = 0; k < 8; k++) {
        const double x = wide[k];
        const float y = (float)x;
        PUT(x > -129 && x < 128 ? (int8_t)x : (int8_t)1), PUT(x > -1 && x < 256 ? (uint8_t)x : (uint8_t)1);
        PUT(y > -32769 && y < 32768 ? (int16_t)y : (int16_t)1), PUT(y > -1 && y < 65536 ? (uint16_t)y : (uint16_t)1);
        PUT(x > -2147483649.0 && x < 2147483648.0 ? (int)x : 1), PUT(x > -1 && x < 4294967296.0 ? (uint32_t)x : 1u);
        PUT(y > -9.2e18f && y < 9.2e18f ? (int64_t)y : 1ll);
        if (x > -1 && x < 1.8e19) {
          PUT((uint64_t)x);
        } else {
          PUT((bool)x);
        }
      }
    })

SNIPPET(
    integers_to_floats, static __device__ void body(uint32_t thread, const Given *given, uint64_t *out) {
      const int64_t a = given->integers[thread];
      PUT((float)a), PUT((double)a), PUT((float)(uint64_t)a), PUT((double)(uint64_t)a), PUT((float)(int)a),
          PUT((float)(uint32_t)a);
      PUT((double)(uint32_t)a), PUT((float)(int8_t)a), PUT((double)(uint8_t)a), PUT((float)(int16_t)a),
          PUT((float)(uint16_t)a);
      PUT((float)(a != 0)), PUT((double)(a < 0)), PUT((float)((a >> 40) * 3)), PUT((float)((uint64_t)a >> 1 | 1));
      PUT((double)((uint64_t)a | 0x8000000000000001ull)), PUT((float)((uint64_t)a | 0x8000008000000001ull));
      PUT((double)(float)a), PUT((int64_t)(float)(int)a), PUT((float)((double)a + 0.5));
    })

SNIPPET(
    bools, static __device__ void body(uint32_t thread, const Given *given, uint64_t *out) {
      const bool a = (thread & 1) != 0, b = thread & 2, c = given->floats[thread];
      bool d = given->integers[thread];
      PUT(a + b), PUT(a - b), PUT(a * 3), PUT(a & b), PUT(a | b), PUT(a ^ b), PUT(a < b), PUT(a == b), PUT(-a), PUT(~a),
          PUT(!a);
      PUT(a ? b : c), PUT(a << 3), PUT(c), PUT(d), PUT(a + 1.5f), PUT(a * 2.0), PUT(a + 1u), PUT((int8_t)a),
          PUT((uint64_t)b);
      d = thread & 4;
      PUT(d);
      d |= a;
      PUT(d);
      d &= b;
      PUT(d);
      d ^= true;
      PUT(d);
      d = 0.5f;
      PUT(d);
      int n = a;
      n += b;
      n <<= a;
      PUT(n), PUT(a && (b || c)), PUT(a == (thread == 1)), PUT(true + true), PUT(sizeof(bool));
    })

SNIPPET(
    literals, enum {FIRST, SECOND, TENTH = 10, ELEVENTH, NEGATIVE = -3, NEXT, SHIFTED = 1 << 20, BOTH = TENTH | SECOND};
    static const int COUNT = 3 * TENTH; static const double TENTH_PART = 1.0 / TENTH;
    static const float THIRD = 1.0f / 3; static __device__ void body(uint32_t, const Given *, uint64_t *out) {
      enum { HERE = 5, BEHIND };
      PUT(1), PUT(1u), PUT(1ll), PUT(1ull), PUT(0x7fffffff), PUT(0x80000000), PUT(0xffffffff), PUT(0x100000000),
          PUT(2147483648ll);
      PUT(0xffffffffffffffff), PUT(017), PUT(1.5), PUT(1.5f), PUT(.5f), PUT(1e10), PUT(1e-3f), PUT(0x1p-3),
          PUT(0x1.8p1f), PUT(1.f);
      PUT(0.1f), PUT(0.1), PUT(3.4028235e38f), PUT(1.17549435e-38f), PUT(16777217.0f), PUT(-1 / 2), PUT(-7 % 3),
          PUT(7u / 2 - 4u);
      PUT(FIRST + 0), PUT(SECOND + 0), PUT(ELEVENTH * 1), PUT(NEXT - 0), PUT(SHIFTED | 1), PUT(BOTH + 0),
          PUT(HERE + BEHIND);
      PUT(COUNT), PUT(TENTH_PART), PUT(THIRD), PUT((int8_t)200), PUT((uint8_t)-1), PUT((int)3.99f), PUT(-(int)2.5),
          PUT(!3);
      PUT(~0u >> 4), PUT(-1 >> 1), PUT(1 << 31), PUT((uint64_t)1 << 63), PUT(5 / 2 * 2.0), PUT(1 ? 2 : 3.0),
          PUT(0 ? 2.5f : 3);
      PUT(true ? 1 : 2u), PUT((1, 2) + 3), PUT(-0.0f), PUT(0.0f == -0.0f), PUT(7 > 3 == true),
          PUT(1 + 2 * 3 - 4 / 2 % 3);
      PUT(1 | 2 ^ 3 & 5), PUT(1 < 2 == 3 < 4), PUT(-2147483647 - 1), PUT(0x7fffffffffffffffll), PUT(sizeof(int) + 0u);
    })

SNIPPET(
    subnormals, static __device__ void body(uint32_t thread, const Given *given, uint64_t *out) {
      const float small = burn_bitcast_f32(1u + thread * 77773u), part = 1.0f / (1.0f + given->bytes[thread]);
      const double small64 = burn_bitcast_f64(1u + thread * 777777773ull);
      PUT(small + small), PUT(small * part), PUT(-small), PUT(small > 0), PUT((double)small), PUT(small / 3.0f),
          PUT(small64 * 0.75);
      PUT(small64 + small64), PUT((float)((double)small * 1.5)), PUT(small == 0), PUT(small64 ? 1 : 0),
          PUT(1.1754944e-38f * part);
    })

/* -- what is known when a kernel is compiled -------------------------------------------------- */

SNIPPET(
    folded_and_computed_are_the_same,
    template <class T> static __device__ uint64_t all_of(T a, T b) {
      uint64_t mixed = 0;
      MIX(a + b), MIX(a - b), MIX(a * b), MIX(a / b), MIX(a < b), MIX(a == b), MIX(a >= b), MIX(-a), MIX(!b),
          MIX(a || b);
      return mixed;
    } template <class T>
    static __device__ uint64_t whole_of(T a, T b) {
      uint64_t mixed = all_of(a, b);
      MIX(a % b), MIX(a & b), MIX(a | b), MIX(a ^ b), MIX(a << 3), MIX(a >> 3), MIX(~a), MIX(a >> 0), MIX(a * 0),
          MIX(a * 1);
      return mixed;
    } static __device__ void body(uint32_t thread, const Given *, uint64_t *out) {
      const int zero = thread > 1000;
      PUT(whole_of(-100, 7)), PUT(whole_of(zero - 100, zero + 7)), PUT(whole_of(0xfffffff0u, 9u)),
          PUT(whole_of(0xfffffff0u + zero, 9u + zero));
      PUT(whole_of((int8_t)-100, (int8_t)7)), PUT(whole_of((int8_t)(zero - 100), (int8_t)(zero + 7)));
      PUT(whole_of(-0x123456789abcll, 1000ll)), PUT(whole_of(zero - 0x123456789abcll, zero + 1000ll));
      PUT(whole_of(0xf000000000000000ull, 3ull)), PUT(whole_of(zero + 0xf000000000000000ull, zero + 3ull));
      PUT(all_of(0.1f, 0.7f)), PUT(all_of(zero + 0.1f, zero + 0.7f)), PUT(all_of(-0.1, 1e-5)),
          PUT(all_of(zero - 0.1, zero + 1e-5));
      PUT((float)16777217), PUT((float)(16777217 + zero)), PUT((float)0x7fffff4000000001ll),
          PUT((float)(0x7fffff4000000001ll + zero));
    })

}  // namespace snippets

const char *snippets_words(void) { return snippets::words_text; }
