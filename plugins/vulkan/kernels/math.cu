/* math.cu - <math.h> for GPUs that have no functions of f64: after prelude_spirv.cu, before the shared prelude.
 *
 * The language is that of the kernels, and plain C after a few defines (tests/unit/vulkan/kernel_math_test.c). It needs
 * +, -, *, / and sqrt that round to nearest, BURN_FMA_F64 (of zeros the sign may be lost), the bits of numbers, trunc
 * and fabs. Zeros, infinities and NaN are as in Annex F of C99. Errors are the largest that were measured, in units of
 * the last place (ulp).
 *
 * What takes part in a cancellation is a pair: a sum high + low of some 100 bits, where |low| is at most half a unit of
 * the last place of high (T. J. Dekker, A floating-point technique for extending the available precision, 1971). The
 * polynomials are the best ones of their degree (E. Remez); comments tell the error before rounding. */

/* -- pairs ------------------------------------------------------------------------------------ */

struct MathPair { double high, low; };

/* a + b for |a| >= |b|, or a of 0. */
static __device__ inline MathPair math_pair_of(double a, double b) {
  const double high = a + b;
  const MathPair pair = {high, b - (high - a)};
  return pair;
}

/* a + b. */
static __device__ inline MathPair math_sum(double a, double b) {
  const double high = a + b, b_part = high - a;
  const MathPair pair = {high, (a - (high - b_part)) + (b - b_part)};
  return pair;
}

static __device__ inline MathPair math_product(double a, double b) {
  const double high = a * b;
  const MathPair pair = {high, BURN_FMA_F64(a, b, -high)};
  return pair;
}

static __device__ inline MathPair math_pair_add(MathPair a, MathPair b) {
  const MathPair sum = math_sum(a.high, b.high);
  return math_pair_of(sum.high, sum.low + (a.low + b.low));
}

static __device__ inline MathPair math_pair_multiply(MathPair a, MathPair b) {
  const MathPair product = math_product(a.high, b.high);
  return math_pair_of(product.high, product.low + BURN_FMA_F64(a.high, b.low, a.low * b.high));
}

static __device__ inline MathPair math_pair_divide(MathPair a, MathPair b) {
  const double quotient = a.high / b.high;
  const double rest = BURN_FMA_F64(-quotient, b.high, a.high) + (a.low - quotient * b.low);
  return math_pair_of(quotient, rest / b.high);
}

static __device__ inline MathPair math_pair_sqrt(MathPair x) {
  const double root = sqrt(x.high);
  const double rest = BURN_FMA_F64(-root, root, x.high) + x.low;
  return math_pair_of(root, root > 0.0 ? rest / (root + root) : 0.0);
}

/* -- signs, powers of two --------------------------------------------------------------------- */

static __device__ inline double math_copysign(double size, double sign) {
  return burn_from_bits_f64((burn_bits_f64(size) & 0x7fffffffffffffffu) | (burn_bits_f64(sign) & 0x8000000000000000u));
}

static __device__ inline bool math_is_negative(double x) { return burn_bits_f64(x) >> 63 != 0; }

/* 2^n for n in -1022 .. 1023; 0 for -1023. */
static __device__ inline double math_exp2_int_f64(int32_t n) {
  return burn_from_bits_f64((uint64_t)(uint32_t)(n + 1023) << 52);
}

/* x * 2^n in two steps, which reaches infinity and rounds subnormal numbers once: for |n| <= 2044. */
static __device__ inline double math_scale(double x, int32_t n) {
  const int32_t half = n >> 1;
  return x * math_exp2_int_f64(half) * math_exp2_int_f64(n - half);
}

/* Four steps of a polynomial's value. */
static __device__ inline double math_steps(double p, double x, double a, double b, double c, double d) {
  p = BURN_FMA_F64(p, x, a);
  p = BURN_FMA_F64(p, x, b);
  p = BURN_FMA_F64(p, x, c);
  return BURN_FMA_F64(p, x, d);
}

/* -- exp -------------------------------------------------------------------------------------- */

/* (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2; 2^-64 of e^r. */
static __device__ inline double math_exp_polynomial(double r) {
  double p = 2.082666881707911e-09;
  p = BURN_FMA_F64(p, r, 2.5112037616031004e-08);
  p = BURN_FMA_F64(p, r, 2.755758174050944e-07);
  p = math_steps(p, r, 2.755723486006059e-06, 2.4801586926704925e-05, 0.00019841269896385034, 0.001388888888911564);
  return math_steps(p, r, 0.008333333333317034, 0.041666666666666095, 0.16666666666666682, 0.5);
}

/* e^(x + low) for a low that is small beside x. ln 2 is 0.69314718055829871 (38 bits) + 1.6465949582897082e-12. */
static __device__ inline double math_exp_of(double x, double low) {
  double c = x < -746.0 ? -746.0 : x; /* NaN passes */
  c = c > 710.0 ? 710.0 : c;
  const double t = BURN_FMA_F64(c, 1.4426950408889634, 6755399441055744.0);
  const int32_t n = (int32_t)(uint32_t)burn_bits_f64(t);
  const double k = t - 6755399441055744.0;
  const double high = BURN_FMA_F64(-k, 0.6931471805582987, c), rest = BURN_FMA_F64(-k, 1.6465949582897082e-12, low);
  const MathPair r = math_pair_of(high, rest), one = math_pair_of(1.0, r.high);
  const double tail = BURN_FMA_F64(r.high * r.high, math_exp_polynomial(r.high), BURN_FMA_F64(r.low, r.high, r.low));
  return math_scale(one.high + (one.low + tail), x == x ? n : 0);
}

/* 0.6 ulp, 0.75 where the result is subnormal. */
static __device__ inline double exp(double x) { return math_exp_of(x, 0.0); }

/* (high + low) * 2^exponent. */
struct MathPower { double high, low; int32_t exponent; };

/* (e^r - 1 - r - r^2 / 2 - r^3 / 6 - r^4 / 24) / r^5 for |r| <= ln 2 / 2; 2^-69 of e^r. */
static __device__ inline double math_exp_tail(double r) {
  double p = 1.6011252100315306e-10;
  p = math_steps(p, r, 2.091671467894374e-09, 2.5052321347579257e-08, 2.7557268764160584e-07, 2.7557318949479692e-06);
  return math_steps(p, r, 2.4801587328767122e-05, 0.00019841269841411758, 0.0013888888888883677, 0.008333333333333309);
}

/* e^(x + low) to about 2^-68, for sizes of x up to 750. */
static __device__ inline MathPower math_exp_pair(double x, double low) {
  const MathPair sixth = {0.16666666666666666, 9.25185853854297e-18}, half = {0.5, 0.0}, one = {1.0, 0.0};
  const double t = BURN_FMA_F64(x, 1.4426950408889634, 6755399441055744.0);
  const double k = t - 6755399441055744.0;
  const MathPair reduced = math_sum(BURN_FMA_F64(-k, 0.6931471805582987, x), k * -1.6465949582897082e-12);
  const MathPair r = math_pair_of(reduced.high, reduced.low + low);
  const double tail = BURN_FMA_F64(r.high, math_exp_tail(r.high), 2.3129646346357427e-18);
  MathPair p = math_pair_of(0.041666666666666664, tail);
  p = math_pair_add(sixth, math_pair_multiply(r, p));
  p = math_pair_add(half, math_pair_multiply(r, p));
  p = math_pair_add(one, math_pair_multiply(r, p));
  p = math_pair_add(one, math_pair_multiply(r, p));
  const MathPower power = {p.high, p.low, (int32_t)(uint32_t)burn_bits_f64(t)};
  return power;
}

/* -- log -------------------------------------------------------------------------------------- */

/* (artanh(s) / s - 1 - z / 3 - z^2 / 5) / z^3 for z = s^2 <= 0.02944; 2^-73 of artanh. */
static __device__ inline double math_log_tail(double z) {
  double p = 0.05955429522674522;
  p = BURN_FMA_F64(p, z, 0.058425273440109525);
  p = BURN_FMA_F64(p, z, 0.0666788126819909);
  return math_steps(p, z, 0.07692286456144526, 0.09090909302639202, 0.11111111110006705, 0.1428571428571658);
}

/* The logarithm of x * 2^more to about 2^-68, for a normal x.high > 0. With m = x / 2^e in [sqrt 1/2, sqrt 2) it is
 * e * ln 2 + 2 artanh((m - 1) / (m + 1)). The low part of x is of no account where 2^-e is not a number. */
static __device__ inline MathPair math_log_pair(MathPair x, int32_t more) {
  const MathPair third = {0.3333333333333333, 1.850371707708594e-17};
  const uint64_t bits = burn_bits_f64(x.high), from_root = bits - 0x3fe6a09e667f3bcdu;
  const int32_t e = (int32_t)((int64_t)from_root >> 52);
  const double m = burn_from_bits_f64(bits - (from_root & 0xfff0000000000000u));
  const double low = x.low * math_exp2_int_f64(1 - e) * 0.5;
  const MathPair above = math_sum(m, 1.0), divisor = math_pair_of(above.high, above.low + low);
  const MathPair s = math_pair_divide(math_sum(m - 1.0, low), divisor), z = math_pair_multiply(s, s);
  const double tail = BURN_FMA_F64(z.high, math_log_tail(z.high), -1.1102230246251566e-17);
  MathPair p = math_pair_of(0.2, tail);
  p = math_pair_add(third, math_pair_multiply(z, p));
  p = math_pair_add(s, math_pair_multiply(s, math_pair_multiply(z, p)));
  const MathPair twice = {p.high + p.high, p.low + p.low};
  const double k = (double)(e + more);
  return math_pair_add(math_pair_of(k * 0.6931471805582987, k * 1.6465949582897082e-12), twice);
}

/* Of a finite x > 0. */
static __device__ inline MathPair math_log_of(double x) {
  const bool is_subnormal = x < 2.2250738585072014e-308;
  const MathPair scaled = {is_subnormal ? x * 18014398509481984.0 : x, 0.0};
  return math_log_pair(scaled, is_subnormal ? -54 : 0);
}

/* 0.501 ulp. */
static __device__ inline double log(double x) {
  if (x == 0.0) return -(double)INFINITY;
  if (x < 0.0) return (double)NAN;
  return x < (double)INFINITY ? math_log_of(x).high : x;
}

/* 0.501 ulp. The sum of 1 and x is exact. */
static __device__ inline double log1p(double x) {
  if (x == -1.0) return -(double)INFINITY;
  if (x < -1.0) return (double)NAN;
  if (fabs(x) < 5.5e-17 || !(x < (double)INFINITY)) return x;
  return math_log_pair(math_sum(1.0, x), 0).high;
}

/* -- hyperbolic functions --------------------------------------------------------------------- */

/* (sinh(x) / x - 1) / z for z = x^2 <= 1; 2^-63 of sinh. */
static __device__ inline double math_sinh_polynomial(double z) {
  double p = 7.758732154611588e-13;
  p = BURN_FMA_F64(p, z, 1.6057260404314688e-10);
  p = BURN_FMA_F64(p, z, 2.5052123127282084e-08);
  return math_steps(p, z, 2.7557319157140356e-06, 0.00019841269841431623, 0.008333333333333148, 0.16666666666666669);
}

/* (tanh(x) / x - 1) / z for z = x^2 <= 1/4; 2^-63 of tanh. */
static __device__ inline double math_tanh_polynomial(double z) {
  double p = -2.1914781725070957e-05;
  p = BURN_FMA_F64(p, z, 8.6804517498964e-05);
  p = BURN_FMA_F64(p, z, -0.00023555187449591177);
  p = math_steps(p, z, 0.000589206900422713, -0.0014557088498261188, 0.0035921151764459333, -0.008863234663140216);
  return math_steps(p, z, 0.021869488499313836, -0.05396825396734223, 0.13333333333332206, -0.33333333333333326);
}

/* (e^x + sign * e^-x) / 2 for x in 0 .. 720. From e^64 on, the second term is of no account: 2^-128 of the first. */
static __device__ inline double math_half_sum(double x, double sign) {
  const MathPower power = math_exp_pair(x, 0.0);
  const MathPair p = {power.high, power.low}, one = {sign, 0.0}, inverse = math_pair_divide(one, p);
  const double scale = math_exp2_int_f64(power.exponent < 64 ? -2 * power.exponent : -128);
  const MathPair scaled = {inverse.high * scale, inverse.low * scale};
  return math_scale(math_pair_add(p, scaled).high, power.exponent - 1);
}

/* 0.7 ulp. */
static __device__ inline double sinh(double x) {
  const double size = fabs(x), z = x * x;
  if (size < 0.75) return math_copysign(BURN_FMA_F64(x * z, math_sinh_polynomial(z), x), x);
  return size < 720.0 ? math_copysign(math_half_sum(size, -1.0), x) : x * (double)INFINITY;
}

/* 0.501 ulp. */
static __device__ inline double cosh(double x) {
  const double size = fabs(x);
  return size < 720.0 ? math_half_sum(size, 1.0) : size * (double)INFINITY;
}

/* 0.67 ulp: (e^2x - 1) / (e^2x + 1), and 1 from 20 on. */
static __device__ inline double tanh(double x) {
  const double size = fabs(x), z = x * x;
  if (size < 0.5) return math_copysign(BURN_FMA_F64(x * z, math_tanh_polynomial(z), x), x);
  if (!(size < 20.0)) return x == x ? math_copysign(1.0, x) : x;
  const MathPower power = math_exp_pair(size + size, 0.0);
  const double scale = math_exp2_int_f64(power.exponent);
  const MathPair p = {power.high * scale, power.low * scale}, one = {1.0, 0.0}, minus_one = {-1.0, 0.0};
  return math_copysign(math_pair_divide(math_pair_add(p, minus_one), math_pair_add(p, one)).high, x);
}

/* 0.502 ulp: log(x + sqrt(x^2 + 1)). */
static __device__ inline double asinh(double x) {
  const double size = fabs(x);
  const MathPair wide = {size, 0.0}, one = {1.0, 0.0};
  if (size < 7.0e-9 || !(size < (double)INFINITY)) return x;
  if (size > 268435456.0) return math_copysign(math_log_pair(wide, 1).high, x);
  const MathPair root = math_pair_sqrt(math_pair_add(math_product(size, size), one));
  return math_copysign(math_log_pair(math_pair_add(wide, root), 0).high, x);
}

/* 0.502 ulp: log(x + sqrt(x^2 - 1)). */
static __device__ inline double acosh(double x) {
  const MathPair wide = {x, 0.0}, minus_one = {-1.0, 0.0};
  if (!(x < (double)INFINITY)) return x;
  if (x < 1.0) return (double)NAN;
  if (x > 268435456.0) return math_log_pair(wide, 1).high;
  const MathPair root = math_pair_sqrt(math_pair_add(math_product(x, x), minus_one));
  return math_log_pair(math_pair_add(wide, root), 0).high;
}

/* 0.502 ulp: log((1 + x) / (1 - x)) / 2. */
static __device__ inline double atanh(double x) {
  const double size = fabs(x);
  if (size < 7.0e-9 || x != x) return x;
  if (size >= 1.0) return size > 1.0 ? (double)NAN : x * (double)INFINITY;
  const MathPair quotient = math_pair_divide(math_sum(1.0, size), math_sum(1.0, -size));
  return math_copysign(0.5 * math_log_pair(quotient, 0).high, x);
}

/* -- erf -------------------------------------------------------------------------------------- */

/* erf(x) / x - 1 for z = x^2 and x < 0.82; 2^-63. */
static __device__ inline double math_erf_near(double z) {
  double p = -9.030271305224077e-10;
  p = BURN_FMA_F64(p, z, 1.4260277218258358e-08);
  p = BURN_FMA_F64(p, z, -1.631165254918809e-07);
  p = BURN_FMA_F64(p, z, 1.645866933828943e-06);
  p = math_steps(p, z, -1.4925504819372699e-05, 0.00012055328864586112, -0.0008548326946570812, 0.005223977624530136);
  return math_steps(p, z, -0.026866170645067286, 0.11283791670954893, -0.3761263890318375, 0.1283791670955126);
}

/* (log(erfc(0.875 + u)) + 1.5328244365985517) / u for u in -0.055 .. 5.055; 2^-61 of erf. */
static __device__ inline double math_erf_far(double u) {
  double p = -2.2261355176679395e-13;
  p = BURN_FMA_F64(p, u, 7.19249037842964e-12);
  p = BURN_FMA_F64(p, u, -1.0885175904335268e-10);
  p = math_steps(p, u, 1.0265932829694713e-09, -6.749503074426263e-09, 3.252688542531161e-08, -1.1521857146452005e-07);
  p = math_steps(p, u, 2.734093802389828e-07, -1.8763412286876235e-07, -1.9859317686440677e-06, 1.2121924748546165e-05);
  p = math_steps(p, u, -3.935035264322928e-05, 5.9276805068084734e-05, 0.00020078812089907913, -0.0021439977518277527);
  return math_steps(p, u, 0.011323339680858515, -0.04689605455994235, -0.8265416933338593, -2.4302197229548383);
}

/* 0.86 ulp. 1 from 5.93 on. */
static __device__ inline double erf(double x) {
  const double size = fabs(x);
  if (size < 1.0e-9) return x * 1.1283791670955126;
  if (size < 0.82) return BURN_FMA_F64(x, math_erf_near(x * x), x);
  if (!(size < 5.93)) return x == x ? math_copysign(1.0, x) : x;
  const double u = size - 0.875;
  const MathPair logarithm = math_sum(-1.5328244365985517, BURN_FMA_F64(u, math_erf_far(u), 4.348028946315528e-17));
  return math_copysign(1.0 - math_exp_of(logarithm.high, logarithm.low), x);
}

/* -- pow, hypot, fmod ------------------------------------------------------------------------- */

/* x^y for a finite x > 0 and a finite y. */
static __device__ inline double math_pow_of(double x, double y) {
  const MathPair logarithm = math_log_of(x);
  const double about = y * logarithm.high;
  if (about > 710.0) return (double)INFINITY;
  if (about < -746.0) return 0.0;
  if (fabs(about) < 1.0e-18) return 1.0;
  const MathPair product = math_product(y, logarithm.high);
  const MathPower power = math_exp_pair(product.high, BURN_FMA_F64(y, logarithm.low, product.low));
  return math_scale(power.high, power.exponent);
}

/* 0.501 ulp, 0.75 where the result is subnormal. Numbers from 2^53 on are even. */
static __device__ inline double pow(double x, double y) {
  const double size = fabs(x), y_size = fabs(y);
  if (y == 0.0 || x == 1.0) return 1.0;
  if (x != x || y != y) return x + y;
  if (y_size == (double)INFINITY) return size == 1.0 ? 1.0 : (size > 1.0) == (y > 0.0) ? y_size : 0.0;
  const bool is_odd = y_size < 9007199254740992.0 && trunc(y) == y && trunc(0.5 * y) != 0.5 * y;
  const double sign = is_odd ? math_copysign(1.0, x) : 1.0;
  if (size == 0.0 || size == (double)INFINITY) return sign * ((size == 0.0) == (y > 0.0) ? 0.0 : (double)INFINITY);
  if (x < 0.0 && trunc(y) != y) return (double)NAN;
  return sign * math_pow_of(size, y);
}

/* 0.501 ulp. Of a number that is 2^60 times the other one, the square is the sum. */
static __device__ inline double hypot(double x, double y) {
  const double x_size = fabs(x), y_size = fabs(y);
  const double large = x_size > y_size ? x_size : y_size, small = x_size > y_size ? y_size : x_size;
  if (x_size == (double)INFINITY || y_size == (double)INFINITY) return (double)INFINITY;
  if (x != x || y != y) return x + y;
  if (small <= large * 8.7e-19) return large + small;
  const int32_t n = large > 1.0e150 ? -600 : large < 1.0e-120 ? 600 : 0;
  const double scale = math_exp2_int_f64(n), a = large * scale, b = small * scale;
  const MathPair square = math_pair_add(math_product(a, a), math_product(b, b));
  return math_pair_sqrt(square).high * math_exp2_int_f64(-n);
}

/* x mod y, bit by bit, for finite x >= y > 0. */
static __device__ inline double math_long_division(double x, double y) {
  const uint64_t x_bits = burn_bits_f64(x), y_bits = burn_bits_f64(y), top = 0x10000000000000u;
  int32_t x_exponent = (int32_t)(x_bits >> 52), y_exponent = (int32_t)(y_bits >> 52);
  uint64_t rest = (x_bits & (top - 1u)) | (x_exponent > 0 ? top : 0u);
  uint64_t divisor = (y_bits & (top - 1u)) | (y_exponent > 0 ? top : 0u);
  x_exponent = x_exponent > 0 ? x_exponent : 1;
  for (y_exponent = y_exponent > 0 ? y_exponent : 1; divisor < top; y_exponent--) divisor <<= 1;
  for (; rest < top; x_exponent--) rest <<= 1;
  for (; x_exponent > y_exponent; x_exponent--) rest = (rest >= divisor ? rest - divisor : rest) << 1;
  rest = rest >= divisor ? rest - divisor : rest;
  return math_scale((double)(int64_t)rest, y_exponent - 1075);
}

/* Exact. A quotient below 2^50 is wrong by 1 at most, and then what remains is a number all the same. */
static __device__ inline double fmod(double x, double y) {
  const double size = fabs(x), divisor = fabs(y);
  if (!(size < (double)INFINITY) || y != y || y == 0.0) return (double)NAN;
  if (size < divisor) return x;
  const double quotient = size / divisor;
  double rest = 0.0;
  if (quotient < 1125899906842624.0 && divisor > 1.0e-250 && size < 1.0e250) {
    rest = BURN_FMA_F64(-trunc(quotient), divisor, size);
    rest = rest < 0.0 ? rest + divisor : rest;
    rest = rest >= divisor ? rest - divisor : rest;
  } else {
    rest = math_long_division(size, divisor);
  }
  return math_copysign(rest, x);
}

/* -- sin, cos, tan ---------------------------------------------------------------------------- */

/* high + low + quarter * pi / 2, where |high| is at most pi / 4 and a little. */
struct MathAngle { double high, low; uint32_t quarter; };

static __device__ inline uint64_t math_multiply_high(uint64_t a, uint64_t b) {
  const uint64_t a_low = a & 0xffffffffu, a_high = a >> 32, b_low = b & 0xffffffffu, b_high = b >> 32;
  const uint64_t middle = a_high * b_low + (a_low * b_low >> 32);
  return a_high * b_high + (middle >> 32) + ((a_low * b_high + (middle & 0xffffffffu)) >> 32);
}

/* 32 bits from bit `at` on, as a part of 1 that begins `at` bits earlier. */
static __device__ inline double math_part(uint64_t word, uint32_t at, double unit) {
  return (double)(int64_t)(word >> at & 0xffffffffu) * unit;
}

/* A fraction of 192 bits, from -1/2 to 1/2, times pi / 2. The highest 64 bits may be as small as 4. */
static __device__ inline MathPair math_quarters(uint64_t high, uint64_t middle, uint64_t low) {
  const uint64_t flip = (uint64_t)((int64_t)high >> 63);
  const uint64_t h = high ^ flip, m = middle ^ flip;
  const MathPair half_pi = {1.5707963267948966, 6.123233995736766e-17};
  const double rest = math_part(m, 0u, 2.938735877055719e-39) + math_part(low ^ flip, 32u, 6.842277657836021e-49);
  const MathPair first = math_sum(math_part(h, 32u, 2.3283064365386963e-10), math_part(h, 0u, 5.421010862427522e-20));
  const MathPair second = math_sum(first.high, math_part(m, 32u, 1.2621774483536189e-29));
  const MathPair all = math_pair_of(second.high, second.low + (first.low + rest));
  const MathPair r = math_pair_multiply(all, half_pi);
  const MathPair signed_r = {flip != 0 ? -r.high : r.high, flip != 0 ? -r.low : r.low};
  return signed_r;
}

/* x mod 2 pi for |x| >= 2^30: |x| is an integer of 53 bits times 2^e, and of 2 / pi count the 192 bits from that of
 * weight 2^(1 - e) on (M. Payne and R. Hanek, Radian reduction for trigonometric functions, 1983). The words are 64
 * zeros and the bits of 2 / pi. */
static __device__ inline MathAngle math_reduce_large(double x) {
  const uint64_t words[20] = {
      0x0000000000000000u, 0xa2f9836e4e441529u, 0xfc2757d1f534ddc0u, 0xdb6295993c439041u,
      0xfe5163abdebbc561u, 0xb7246e3a424dd2e0u, 0x06492eea09d1921cu, 0xfe1deb1cb129a73eu,
      0xe88235f52ebb4484u, 0xe99c7026b45f7e41u, 0x3991d639835339f4u, 0x9c845f8bbdf9283bu,
      0x1ff897ffde05980fu, 0xef2f118b5a0a6d1fu, 0x6d367ecf27cb09b7u, 0x4f463f669e5fea2du,
      0x7527bac7ebe5f17bu, 0x3d0739f78a5292eau, 0x6bfb5fb11f8d5d08u, 0x56033046fc7b6babu};
  const uint64_t bits = burn_bits_f64(fabs(x)), integer = (bits & 0xfffffffffffffu) | 0x10000000000000u;
  const uint32_t first = (uint32_t)(bits >> 52) - 1013u; /* e + 62 */
  const uint32_t at = first >> 6, left = first & 63u;
  const uint64_t w0 = words[at], w1 = words[at + 1u], w2 = words[at + 2u], w3 = words[at + 3u];
  const uint64_t high = left > 0u ? w0 << left | w1 >> (64u - left) : w0;
  const uint64_t middle = left > 0u ? w1 << left | w2 >> (64u - left) : w1;
  const uint64_t low = left > 0u ? w2 << left | w3 >> (64u - left) : w2;
  const uint64_t p2 = integer * low, carry = math_multiply_high(integer, low), p1 = integer * middle + carry;
  const uint64_t p0 = integer * high + math_multiply_high(integer, middle) + (p1 < carry ? 1u : 0u);
  const uint64_t fraction = p0 << 2 | p1 >> 62;
  const MathPair r = math_quarters(fraction, p1 << 2 | p2 >> 62, p2 << 2);
  const uint32_t quarter = (uint32_t)(p0 >> 62) + (uint32_t)(fraction >> 63);
  const MathAngle angle = {x < 0.0 ? -r.high : r.high, x < 0.0 ? -r.low : r.low, x < 0.0 ? 0u - quarter : quarter};
  return angle;
}

/* x mod 2 pi. The product with the first part of pi / 2, taken from x, leaves an exact number. */
static __device__ inline MathAngle math_reduce(double x) {
  if (fabs(x) >= 1073741824.0) return math_reduce_large(x);
  const double t = BURN_FMA_F64(x, 0.6366197723675814, 6755399441055744.0);
  const double n = t - 6755399441055744.0;
  const MathPair second = math_product(n, 6.123233995736766e-17);
  const MathPair r = math_sum(BURN_FMA_F64(-n, 1.5707963267948966, x), -second.high);
  const MathPair sum = math_pair_of(r.high, (r.low - second.low) + n * 1.4973849048591698e-33);
  const MathAngle angle = {sum.high, sum.low, (uint32_t)burn_bits_f64(t)};
  return angle;
}

/* (sin(r) / r - 1) / z for z = r^2 and |r| <= pi / 4; 2^-68 of sin. */
static __device__ inline double math_sin_polynomial(double z) {
  double p = -7.57848050336284e-13;
  p = BURN_FMA_F64(p, z, 1.6058362022104453e-10);
  p = BURN_FMA_F64(p, z, -2.5052104873417896e-08);
  return math_steps(p, z, 2.7557319214034645e-06, -0.00019841269841254746, 0.008333333333333323, -0.16666666666666666);
}

/* (cos(r) - 1 + z / 2) / z^2; 2^-64 of cos. */
static __device__ inline double math_cos_polynomial(double z) {
  double p = -1.1358418158005177e-11;
  p = BURN_FMA_F64(p, z, 2.087569862713915e-09);
  return math_steps(p, z, -2.755731416358138e-07, 2.480158728879952e-05, -0.0013888888888872978, 0.041666666666666595);
}

/* The sine and cosine of r.high + r.low. */
static __device__ inline MathPair math_sin_of(MathAngle r) {
  const double z = r.high * r.high;
  const double tail = BURN_FMA_F64(z * r.high, math_sin_polynomial(z), BURN_FMA_F64(-0.5 * z, r.low, r.low));
  return math_pair_of(r.high, tail);
}

static __device__ inline MathPair math_cos_of(MathAngle r) {
  const MathPair z = math_product(r.high, r.high), rest = math_pair_of(1.0, -0.5 * z.high);
  const double low = BURN_FMA_F64(-r.high, r.low, -0.5 * z.low);
  return math_pair_of(rest.high, BURN_FMA_F64(z.high * z.high, math_cos_polynomial(z.high), rest.low + low));
}

static __device__ inline double math_wave(MathAngle r, uint32_t quarter) {
  const double size = (quarter & 1u) != 0 ? math_cos_of(r).high : math_sin_of(r).high;
  return (quarter & 2u) != 0 ? -size : size;
}

/* 0.76 ulp. */
static __device__ inline double sin(double x) {
  if (fabs(x) < 7.0e-9) return x;
  if (!(fabs(x) < (double)INFINITY)) return (double)NAN;
  const MathAngle r = math_reduce(x);
  return math_wave(r, r.quarter);
}

/* 0.76 ulp. */
static __device__ inline double cos(double x) {
  if (!(fabs(x) < (double)INFINITY)) return (double)NAN;
  const MathAngle r = math_reduce(x);
  return math_wave(r, r.quarter + 1u);
}

/* 0.87 ulp. */
static __device__ inline double tan(double x) {
  if (fabs(x) < 7.0e-9) return x;
  if (!(fabs(x) < (double)INFINITY)) return (double)NAN;
  const MathAngle r = math_reduce(x);
  const MathPair sine = math_sin_of(r), cosine = math_cos_of(r);
  const bool is_odd = (r.quarter & 1u) != 0;
  const MathPair upper = {is_odd ? -cosine.high : sine.high, is_odd ? -cosine.low : sine.low};
  const MathPair lower = {is_odd ? sine.high : cosine.high, is_odd ? sine.low : cosine.low};
  return math_pair_divide(upper, lower).high;
}

/* -- asin, acos, atan, atan2 ------------------------------------------------------------------ */

/* (atan(t) / t - 1) / z for z = t^2 and |t| <= tan(pi / 8); 2^-64 of atan. */
static __device__ inline double math_atan_polynomial(double z) {
  double p = 0.015188314947854388;
  p = BURN_FMA_F64(p, z, -0.033467127134464675);
  p = BURN_FMA_F64(p, z, 0.045032065583340705);
  p = BURN_FMA_F64(p, z, -0.05218312498879877);
  p = math_steps(p, z, 0.058770062271729984, -0.06666225020820944, 0.07692282630052603, -0.09090908138298241);
  return math_steps(p, z, 0.11111111087988329, -0.14285714285384668, 0.1999999999999764, -0.33333333333333326);
}

/* The angle of the point (x, y), which lies in the first quadrant and is not 0: one of 0, pi / 4, pi / 2 and that of a
 * flat triangle. */
static __device__ inline MathPair math_direction(MathPair y, MathPair x) {
  const bool is_flat = y.high < 0.41421356 * x.high, is_steep = x.high < 0.41421356 * y.high;
  const MathPair minus_x = {-x.high, -x.low};
  MathPair upper = y, lower = x, base = {0.0, 0.0};
  if (is_steep) {
    upper = minus_x;
    lower = y;
    base.high = 1.5707963267948966;
    base.low = 6.123233995736766e-17;
  } else if (!is_flat) {
    upper = math_pair_add(y, minus_x);
    lower = math_pair_add(y, x);
    base.high = 0.7853981633974483;
    base.low = 3.061616997868383e-17;
  }
  const MathPair t = math_pair_divide(upper, lower);
  const double z = t.high * t.high, slope = BURN_FMA_F64(z, z - 1.0, 1.0);
  const double tail = BURN_FMA_F64(t.high * z, math_atan_polynomial(z), t.low * slope);
  const MathPair sum = math_sum(base.high, t.high);
  return math_pair_of(sum.high, sum.low + (base.low + tail));
}

/* pi - angle. */
static __device__ inline double math_supplement(MathPair angle) {
  const MathPair sum = math_sum(3.141592653589793, -angle.high);
  return sum.high + (sum.low + (1.2246467991473532e-16 - angle.low));
}

/* sqrt(1 - x^2). */
static __device__ inline MathPair math_other_leg(double x) {
  const MathPair square = math_product(x, x), minus = {-square.high, -square.low}, one = {1.0, 0.0};
  return math_pair_sqrt(math_pair_add(one, minus));
}

/* 0.64 ulp. */
static __device__ inline double asin(double x) {
  const MathPair size = {fabs(x), 0.0};
  if (!(size.high <= 1.0)) return (double)NAN;
  return size.high < 7.0e-9 ? x : math_copysign(math_direction(size, math_other_leg(x)).high, x);
}

/* 0.64 ulp. */
static __device__ inline double acos(double x) {
  const MathPair size = {fabs(x), 0.0};
  if (!(size.high <= 1.0)) return (double)NAN;
  const MathPair angle = math_direction(math_other_leg(x), size);
  return x < 0.0 ? math_supplement(angle) : angle.high;
}

/* 0.62 ulp. */
static __device__ inline double atan(double x) {
  const MathPair size = {fabs(x), 0.0}, one = {1.0, 0.0};
  if (size.high < 7.0e-9 || x != x) return x;
  if (size.high > 1.8e16) return math_copysign(1.5707963267948966, x);
  return math_copysign(math_direction(size, one).high, x);
}

/* The angle of a point, both of whose coordinates are finite and not 0, above the x axis. */
static __device__ inline double math_upper_angle(double y, double x) {
  const double size = fabs(x), large = size > y ? size : y;
  if (x > 0.0 && y <= 1.0e-9 * x) return y / x;
  const double scale = math_exp2_int_f64(large > 1.0e150 ? -600 : large < 1.0e-120 ? 600 : 0);
  const MathPair scaled_y = {y * scale, 0.0}, scaled_x = {size * scale, 0.0};
  const MathPair angle = math_direction(scaled_y, scaled_x);
  return x < 0.0 ? math_supplement(angle) : angle.high;
}

/* 0.62 ulp. Beside infinity, what is finite is 0. */
static __device__ inline double atan2(double y, double x) {
  const bool x_infinite = fabs(x) == (double)INFINITY, y_infinite = fabs(y) == (double)INFINITY;
  if (x != x || y != y) return x + y;
  const double near_x = x_infinite ? 1.0 : y_infinite ? 0.0 : fabs(x), across = math_copysign(near_x, x);
  const double up = y_infinite ? 1.0 : x_infinite ? 0.0 : fabs(y);
  if (up == 0.0) return math_copysign(math_is_negative(x) ? 3.141592653589793 : 0.0, y);
  if (near_x == 0.0) return math_copysign(1.5707963267948966, y);
  return math_copysign(math_upper_angle(up, across), y);
}

/* -- f32: that of f64, rounded ---------------------------------------------------------------- */

static __device__ inline float sinf(float x) { return (float)sin((double)x); }
static __device__ inline float cosf(float x) { return (float)cos((double)x); }
static __device__ inline float tanf(float x) { return (float)tan((double)x); }
static __device__ inline float sinhf(float x) { return (float)sinh((double)x); }
static __device__ inline float coshf(float x) { return (float)cosh((double)x); }
static __device__ inline float asinf(float x) { return (float)asin((double)x); }
static __device__ inline float acosf(float x) { return (float)acos((double)x); }
static __device__ inline float atanf(float x) { return (float)atan((double)x); }
static __device__ inline float asinhf(float x) { return (float)asinh((double)x); }
static __device__ inline float acoshf(float x) { return (float)acosh((double)x); }
static __device__ inline float atanhf(float x) { return (float)atanh((double)x); }
static __device__ inline float atan2f(float y, float x) { return (float)atan2((double)y, (double)x); }
static __device__ inline float fmodf(float x, float y) { return (float)fmod((double)x, (double)y); }

/* Squares of f32 are exact in f64, and far from its ends. */
static __device__ inline float hypotf(float x, float y) {
  const double root = sqrt((double)x * (double)x + (double)y * (double)y);
  return fabs((double)x) == (double)INFINITY || fabs((double)y) == (double)INFINITY ? INFINITY : (float)root;
}
