/* random_test.c - random numbers: Philox against Random123's vectors, ops against a scalar reimplementation bit by bit,
 * how seed and offset move, moments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/plugin/random.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- the generator ---------------------------------------------------------------------------- */

/* Philox 4x32-10 as the paper writes it, with all four counter words. */
static void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t c[4], k[2] = {key[0], key[1]};
  memcpy(c, counter, sizeof c);
  for (int round = 0; round < 10; round++) {
    const uint64_t a = (uint64_t)0xD2511F53u * c[0], b = (uint64_t)0xCD9E8D57u * c[2];
    const uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k[0], (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ k[1],
                              (uint32_t)a};
    memcpy(c, next, sizeof c);
    k[0] += 0x9E3779B9u;
    k[1] += 0xBB67AE85u;
  }
  memcpy(out, c, sizeof c);
}

/* kat_vectors of Random123, philox4x32 with 10 rounds. */
static const struct {
  uint32_t counter[4], key[2], out[4];
} vectors[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}},
    {{0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu},
     {0xffffffffu, 0xffffffffu},
     {0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}},
    {{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u},
     {0xa4093822u, 0x299f31d0u},
     {0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}},
};

static void test_philox_known_answers(void **state) {
  (void)state;
  uint32_t out[4];
  for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
    philox(vectors[i].counter, vectors[i].key, out);
    assert_memory_equal(out, vectors[i].out, sizeof out);
  }
  burn_philox(0, 0, out); /* the only vector whose upper counter words are 0 */
  assert_memory_equal(out, vectors[0].out, sizeof out);
}

static void test_burn_philox_is_philox(void **state) {
  (void)state;
  uint64_t seed = 0x9E3779B97F4A7C15u, block = 0xDEADBEEFCAFEF00Du;
  for (int i = 0; i < 1000; i++) {
    uint32_t ours[4], expected[4];
    philox((const uint32_t[]){(uint32_t)block, (uint32_t)(block >> 32), 0, 0},
           (const uint32_t[]){(uint32_t)seed, (uint32_t)(seed >> 32)}, expected);
    burn_philox(seed, block, ours);
    assert_memory_equal(ours, expected, sizeof ours);
    for (uint64_t e = 0; e < 4; e++) assert_int_equal(burn_random_word(seed, block - 3, 12 + e), expected[e]);
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    block = block * 2862933555777941757u + 3037000493u;
  }
}

/* -- ops against the definition --------------------------------------------------------------- */

static const char *const stacks[] = {"ndarray", "ndarray:isa=baseline", "autodiff<ndarray>", "reference"};
enum { STACK_COUNT = 4, MAX = 70001 };
static const int64_t counts[] = {1, 2, 3, 4, 5, 7, 8, 63, 1000, MAX};
static const BurnRandomState states[] = {
    {0, 0}, {42, 17}, {0xFEDCBA9876543210u, 0xFFFFFFFDu}, {UINT64_MAX, (uint64_t)1 << 40}};

static uint32_t word(BurnRandomState state, int64_t i) {
  return burn_random_word(state.seed, state.offset, (uint64_t)i);
}

/* The definition of random.h in its own words. */
static double normal(BurnRandomState state, int64_t i, double mean, double std) {
  const double a = (double)word(state, i & ~(int64_t)1), b = (double)word(state, i | 1);
  const double radius = sqrt(-2.0 * log((a + 1.0) * (1.0 / 4294967296.0)));
  const double angle = 6.283185307179586476925286766559 * b * (1.0 / 4294967296.0);
  const double unit = i % 2 == 0 ? radius * cos(angle) : radius * sin(angle);
  return mean + std * unit;
}

static float uniform_f32(BurnRandomState state, int64_t i, float low, float high) {
  volatile const float range = high - low; /* volatile: one rounding per step, whatever the compiler would fuse */
  volatile const float scaled = (float)(word(state, i) >> 8) * 0x1p-24f * range;
  return low + scaled;
}

static double uniform_f64(BurnRandomState state, int64_t i, double low, double high) {
  volatile const double range = high - low;
  volatile const double scaled = ((double)word(state, i) + 0.5) * 0x1p-32 * range;
  return low + scaled;
}

static int64_t uniform_int(BurnRandomState state, int64_t i, int64_t low, int64_t high) {
  return low + (int64_t)((uint64_t)word(state, i) * ((uint64_t)high - (uint64_t)low) >> 32);
}

/* One pass over all counts and states; `one` makes a tensor and compares it. */
static void for_all(void (*one)(BurnDevice *device, BurnRandomState state, int64_t count)) {
  for (size_t s = 0; s < STACK_COUNT; s++) {
    BurnDevice *device = burn_device_open(stacks[s]);
    assert_string_equal(burn_status_message(burn_device_status(device)), "ok");
    for (size_t k = 0; k < sizeof states / sizeof states[0]; k++) {
      for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        burn_device_set_random_state(device, states[k]);
        one(device, states[k], counts[c]);
        const BurnRandomState after = burn_device_random_state(device);
        assert_true(after.seed == states[k].seed);
        assert_true(after.offset == states[k].offset + ((uint64_t)counts[c] + 3) / 4);
      }
    }
    assert_int_equal(burn_device_memory(device).live_tensors, 0);
    burn_device_close(device);
  }
}

static float found_f32[MAX], kept_f32[MAX];
static double found_f64[MAX];
static int64_t found_i64[MAX];

static void read_f32(BurnTensor *x, int64_t count) {
  assert_string_equal(burn_status_message(burn_read_f32(x, found_f32, (size_t)count)), "ok");
}
static void read_f64(BurnTensor *x, int64_t count) {
  assert_string_equal(burn_status_message(burn_read_f64(x, found_f64, (size_t)count)), "ok");
}
static void read_i64(BurnTensor *x, int64_t count) {
  assert_string_equal(burn_status_message(burn_read_i64(x, found_i64, (size_t)count)), "ok");
}

static void one_uniform_f32(BurnDevice *device, BurnRandomState state, int64_t count) {
  read_f32(burn_random_uniform(device, BURN_SHAPE(count), BURN_DTYPE_F32, -1.5, 3.25), count);
  for (int64_t i = 0; i < count; i++) {
    const float expected = uniform_f32(state, i, -1.5f, 3.25f);
    if (memcmp(&found_f32[i], &expected, sizeof expected) != 0) {
      fail_msg("seed %" PRIx64 ": element %" PRId64 " is %.9g, expected %.9g", state.seed, i, (double)found_f32[i],
               (double)expected);
    }
  }
}

/* A half as f32 has it, by arithmetic: to nearest, ties to even. Normal numbers only. */
static float round_half(float x, int mantissa) {
  int exponent = 0;
  (void)frexpf(x, &exponent);
  const float unit = ldexpf(1.0f, exponent - 1 - mantissa);
  return x == 0 ? x : nearbyintf(x / unit) * unit;
}

/* Neither low nor high is a half. */
static void one_uniform_half(BurnDevice *device, BurnRandomState state, int64_t count) {
  static const struct {
    BurnDType dtype;
    int mantissa;
  } halves[] = {{BURN_DTYPE_F16, 10}, {BURN_DTYPE_BF16, 7}};
  for (size_t k = 0; k < 2; k++) {
    const float low = round_half(0.1f, halves[k].mantissa), high = round_half(0.3f, halves[k].mantissa);
    burn_device_set_random_state(device, state);
    read_f32(burn_random_uniform(device, BURN_SHAPE(count), halves[k].dtype, 0.1, 0.3), count);
    for (int64_t i = 0; i < count; i++) {
      float expected = round_half(uniform_f32(state, i, low, high), halves[k].mantissa);
      if (expected >= high) expected = low;
      if (memcmp(&found_f32[i], &expected, sizeof expected) == 0) continue;
      fail_msg("%s, seed %" PRIx64 ": element %" PRId64 " is %.9g, expected %.9g", burn_dtype_name(halves[k].dtype),
               state.seed, i, (double)found_f32[i], (double)expected);
    }
  }
}

static void one_uniform_f64(BurnDevice *device, BurnRandomState state, int64_t count) {
  read_f64(burn_random_uniform(device, BURN_SHAPE(count), BURN_DTYPE_F64, 10, 10.5), count);
  for (int64_t i = 0; i < count; i++) {
    const double expected = uniform_f64(state, i, 10, 10.5);
    if (memcmp(&found_f64[i], &expected, sizeof expected) != 0) {
      fail_msg("seed %" PRIx64 ": element %" PRId64 " is %.17g, expected %.17g", state.seed, i, found_f64[i], expected);
    }
  }
}

static void one_uniform_int(BurnDevice *device, BurnRandomState state, int64_t count) {
  static const struct {
    BurnDType dtype;
    int64_t low, high;
  } ranges[] = {{BURN_DTYPE_I32, -7, 100},
                {BURN_DTYPE_I64, -5000000000, -705032704},
                {BURN_DTYPE_U8, 3, 256},
                {BURN_DTYPE_I8, -128, 128},
                {BURN_DTYPE_I16, -30000, 20000}};
  for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
    burn_device_set_random_state(device, state);
    read_i64(
        burn_random_uniform(device, BURN_SHAPE(count), ranges[r].dtype, (double)ranges[r].low, (double)ranges[r].high),
        count);
    for (int64_t i = 0; i < count; i++) {
      const int64_t expected = uniform_int(state, i, ranges[r].low, ranges[r].high);
      if (found_i64[i] != expected) {
        fail_msg("%s: element %" PRId64 " is %" PRId64 ", expected %" PRId64, burn_dtype_name(ranges[r].dtype), i,
                 found_i64[i], expected);
      }
    }
  }
}

static void one_bernoulli(BurnDevice *device, BurnRandomState state, int64_t count) {
  static const double probabilities[] = {0, 0.3, 1};
  static const BurnDType dtypes[] = {BURN_DTYPE_F32,  BURN_DTYPE_BOOL, BURN_DTYPE_I64, BURN_DTYPE_F16,
                                     BURN_DTYPE_BF16, BURN_DTYPE_I8,   BURN_DTYPE_I16};
  for (size_t p = 0; p < 3; p++) {
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
      burn_device_set_random_state(device, state);
      read_i64(burn_random_bernoulli(device, BURN_SHAPE(count), dtypes[d], probabilities[p]), count);
      for (int64_t i = 0; i < count; i++) {
        assert_int_equal(found_i64[i], (double)word(state, i) < floor(probabilities[p] * 4294967296.0 + 0.5));
      }
    }
  }
}

/* ln, cos and sin may differ in the last bit from ours; so may at most one f32 in a great many. */
static void one_normal(BurnDevice *device, BurnRandomState state, int64_t count) {
  int64_t differ = 0;
  read_f32(burn_random_normal(device, BURN_SHAPE(count), BURN_DTYPE_F32, 0.5, 2), count);
  for (int64_t i = 0; i < count; i++) {
    const float expected = (float)normal(state, i, 0.5, 2);
    differ += memcmp(&found_f32[i], &expected, sizeof expected) != 0;
    assert_true(fabs((double)found_f32[i] - (double)expected) <= 1e-6 * (1 + fabs((double)expected)));
  }
  assert_true(differ <= 1);
  for (int half = 0; half < 2; half++) { /* the f32 numbers, rounded */
    burn_device_set_random_state(device, state);
    read_f32(burn_random_normal(device, BURN_SHAPE(count), BURN_DTYPE_F32, 5, 0.5), count);
    memcpy(kept_f32, found_f32, (size_t)count * sizeof *kept_f32);
    burn_device_set_random_state(device, state);
    read_f32(burn_random_normal(device, BURN_SHAPE(count), half ? BURN_DTYPE_BF16 : BURN_DTYPE_F16, 5, 0.5), count);
    for (int64_t i = 0; i < count; i++) assert_true(found_f32[i] == round_half(kept_f32[i], half ? 7 : 10));
  }
  burn_device_set_random_state(device, state);
  read_f64(burn_random_normal(device, BURN_SHAPE(count), BURN_DTYPE_F64, -3, 0.25), count);
  for (int64_t i = 0; i < count; i++) assert_true(fabs(found_f64[i] - normal(state, i, -3, 0.25)) <= 4e-15);
}

/* x * bernoulli(1 - p) / (1 - p), with the same words. */
static void one_dropout(BurnDevice *device, BurnRandomState state, int64_t count) {
  read_f32(burn_dropout(burn_full(device, BURN_SHAPE(count), BURN_DTYPE_F32, 3), 0.25), count);
  for (int64_t i = 0; i < count; i++) {
    const double expected = (double)word(state, i) < 0.75 * 4294967296.0 ? 4 : 0;
    assert_true(fabs((double)found_f32[i] - expected) < 1e-6);
  }
}

static void test_uniform_f32(void **state) { (void)state, for_all(one_uniform_f32); }
static void test_uniform_half(void **state) { (void)state, for_all(one_uniform_half); }
static void test_uniform_f64(void **state) { (void)state, for_all(one_uniform_f64); }
static void test_uniform_int(void **state) { (void)state, for_all(one_uniform_int); }
static void test_bernoulli(void **state) { (void)state, for_all(one_bernoulli); }
static void test_normal(void **state) { (void)state, for_all(one_normal); }
static void test_dropout(void **state) { (void)state, for_all(one_dropout); }

/* -- seed and offset -------------------------------------------------------------------------- */

static void test_seed_and_offset(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("ndarray");
  BurnRandomState now = burn_device_random_state(device);
  assert_true(now.seed == 0 && now.offset == 0); /* a fresh device */
  burn_device_seed(device, 9);
  read_f32(burn_random_uniform(device, BURN_SHAPE(2, 3), BURN_DTYPE_F32, 0, 1), 6);
  now = burn_device_random_state(device);
  assert_true(now.seed == 9 && now.offset == 2); /* 6 numbers are 2 blocks */
  float first[6];
  memcpy(first, found_f32, sizeof first);
  read_f32(burn_random_uniform(device, BURN_SHAPE(6), BURN_DTYPE_F32, 0, 1), 6);
  assert_memory_not_equal(first, found_f32, sizeof first); /* other numbers each time */
  burn_device_set_random_state(device, (BurnRandomState){9, 0});
  read_f32(burn_random_uniform(device, BURN_SHAPE(6), BURN_DTYPE_F32, 0, 1), 6);
  assert_memory_equal(first, found_f32, sizeof first); /* the shape does not matter, the state does */
  burn_device_seed(device, 9);
  assert_true(burn_device_random_state(device).offset == 0);
  burn_drop(burn_random_uniform(device, BURN_SHAPE(0, 3), BURN_DTYPE_F32, 0, 1));
  assert_true(burn_device_random_state(device).offset == 0); /* nothing is used for nothing */
  burn_drop(burn_zeros(device, BURN_SHAPE(5), BURN_DTYPE_F32));
  assert_true(burn_device_random_state(device).offset == 0);
  burn_device_close(device);
}

/* The same numbers as the op with that shape and dtype gives. */
static void check_like(BurnDevice *device, BurnTensor *like, BurnTensor *(*again)(BurnDevice *device)) {
  double values[12], expected[12];
  assert_int_equal(burn_dtype(like), BURN_DTYPE_F64);
  assert_int_equal(burn_dim(like, 0), 3);
  assert_true(burn_read_f64(like, values, 12) == BURN_OK);
  burn_device_seed(device, 5);
  assert_true(burn_read_f64(again(device), expected, 12) == BURN_OK);
  assert_memory_equal(values, expected, sizeof values);
  burn_device_seed(device, 5);
}
static BurnTensor *uniform_again(BurnDevice *device) {
  return burn_random_uniform(device, BURN_SHAPE(3, 4), BURN_DTYPE_F64, -1, 2);
}
static BurnTensor *normal_again(BurnDevice *device) {
  return burn_random_normal(device, BURN_SHAPE(3, 4), BURN_DTYPE_F64, 1, 2);
}
static BurnTensor *bernoulli_again(BurnDevice *device) {
  return burn_random_bernoulli(device, BURN_SHAPE(3, 4), BURN_DTYPE_F64, 0.3);
}

static void test_like(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("ndarray");
  burn_device_seed(device, 5);
  BurnTensor *x = burn_zeros(device, BURN_SHAPE(3, 4), BURN_DTYPE_F64);
  check_like(device, burn_random_uniform_like(burn_clone(x), -1, 2), uniform_again);
  check_like(device, burn_random_normal_like(burn_clone(x), 1, 2), normal_again);
  check_like(device, burn_random_bernoulli_like(x, 0.3), bernoulli_again);
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
  burn_device_close(device);
}

static void test_limits(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("ndarray");
  read_f32(burn_random_uniform(device, BURN_SHAPE(MAX), BURN_DTYPE_F32, 0, 1), MAX);
  for (int64_t i = 0; i < MAX; i++) assert_true(found_f32[i] >= 0 && found_f32[i] < 1);
  read_f32(burn_random_uniform(device, BURN_SHAPE(100), BURN_DTYPE_F32, 2, 2), 100);
  for (int64_t i = 0; i < 100; i++) assert_true(fabs((double)found_f32[i] - 2) < 1e-12);
  read_f32(burn_random_normal(device, BURN_SHAPE(100), BURN_DTYPE_F32, 5, 0), 100);
  for (int64_t i = 0; i < 100; i++) assert_true(fabs((double)found_f32[i] - 5) < 1e-12);
  burn_device_close(device);
}

/* -- moments ---------------------------------------------------------------------------------- */

/* Mean and variance of found_f64, and the share of equal neighbours' signs as a coarse test of independence. */
static void check_moments(double mean, double variance, double tolerance) {
  double sum = 0, squares = 0, products = 0;
  for (int64_t i = 0; i < MAX; i++) sum += found_f64[i];
  const double found_mean = sum / (double)MAX;
  for (int64_t i = 0; i < MAX; i++) {
    const double centred = found_f64[i] - found_mean;
    squares += centred * centred;
    if (i > 0) products += centred * (found_f64[i - 1] - found_mean);
  }
  if (fabs(found_mean - mean) > tolerance) fail_msg("the mean is %g, expected %g", found_mean, mean);
  if (fabs(squares / (double)MAX - variance) > tolerance * 2)
    fail_msg("the variance is %g, expected %g", squares / (double)MAX, variance);
  if (fabs(products / squares) > 0.02) fail_msg("neighbours correlate with %g", products / squares);
}

static void test_moments(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("ndarray");
  burn_device_seed(device, 2024);
  read_f64(burn_random_uniform(device, BURN_SHAPE(MAX), BURN_DTYPE_F32, 0, 1), MAX);
  check_moments(0.5, 1.0 / 12, 0.006);
  read_f64(burn_random_normal(device, BURN_SHAPE(MAX), BURN_DTYPE_F32, 1, 2), MAX);
  check_moments(1, 4, 0.05);
  read_f64(burn_random_bernoulli(device, BURN_SHAPE(MAX), BURN_DTYPE_F32, 0.2), MAX);
  check_moments(0.2, 0.16, 0.01);
  read_f64(burn_random_uniform(device, BURN_SHAPE(MAX), BURN_DTYPE_I64, -10, 11), MAX);
  check_moments(0, 110.0 / 3, 0.3);
  const float weights[] = {1, 2, 0, 5, 0};
  read_f64(burn_categorical(burn_tensor_f32(device, weights, BURN_SHAPE(5)), MAX), MAX);
  check_moments(17.0 / 8, 87.0 / 64, 0.03);
  for (int64_t i = 0; i < MAX; i++) {
    if (fabs(found_f64[i] - 2) < 0.5 || found_f64[i] > 3) fail_msg("category %g of weight 0 was drawn", found_f64[i]);
  }
  burn_device_close(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_philox_known_answers),
      cmocka_unit_test(test_burn_philox_is_philox),
      cmocka_unit_test(test_uniform_f32),
      cmocka_unit_test(test_uniform_half),
      cmocka_unit_test(test_uniform_f64),
      cmocka_unit_test(test_uniform_int),
      cmocka_unit_test(test_bernoulli),
      cmocka_unit_test(test_normal),
      cmocka_unit_test(test_dropout),
      cmocka_unit_test(test_seed_and_offset),
      cmocka_unit_test(test_like),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_moments),
  };
  return cmocka_run_group_tests_name("random numbers", tests, NULL, NULL);
}
