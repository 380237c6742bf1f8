/* kernel_language_test.c - the kernels' language on a device against the build's own compiler: every snippet of
 * kernel_snippets_*.cpp gives the same bits. Also what only a device can run: shared memory, warps, parameters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_run.h"
#include "kernel_snippets.h"
#include "kernel_texts.h"

enum { GIVEN_AT = KERNEL_RUNNER_BYTES / 2, GROUPS = 4 };

static KernelRunner *runner;

static int open_runner(void **state) {
  const char *why = NULL;
  (void)state;
  runner = kernel_runner_open(&why);
  if (runner)
    print_message("on %s\n", kernel_runner_device(runner));
  else
    print_message("skipped: %s\n", why);
  return 0;
}

static int close_runner(void **state) {
  (void)state;
  kernel_runner_close(runner);
  return 0;
}

/* -- what snippets are given ------------------------------------------------------------------ */

static void fill_given(SnippetGiven *given) {
  static const int64_t edges[] = {0,           1,
                                  -1,          2,
                                  -2,          7,
                                  100,         -100,
                                  127,         128,
                                  -128,        -129,
                                  255,         256,
                                  32767,       32768,
                                  -32768,      -32769,
                                  65535,       65536,
                                  INT32_MAX,   INT32_MIN,
                                  2147483648,  4294967295,
                                  4294967296,  INT64_MAX,
                                  INT64_MIN,   16777217,
                                  -16777219,   INT64_C(9007199254740993),
                                  -4294967297, INT64_C(0x7fffffbfffffffff)};
  static const double reals[] = {0.0,   1.0,     -1.0,  0.5,    -0.5,        1.5,     2.5,       -2.5,
                                 0.1,   1e10,    -1e10, 3.4e38, 1e-30,       0.75,    127.9,     -128.5,
                                 255.5, 65535.5, 1e18,  -1e18,  123456789.0, 1.0 / 3, 8388608.5, 4503599627370497.5};
  const size_t edge_count = sizeof edges / sizeof edges[0], real_count = sizeof reals / sizeof reals[0];
  uint64_t random = 88172645463325252u;
  for (size_t i = 0; i < SNIPPET_THREADS; i++) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    given->integers[i] = i < edge_count ? edges[i] : (int64_t)(random << i % 3 * 16 >> i % 5 * 12);
    given->doubles[i] = i < real_count ? reals[i] : (double)(int64_t)random * 0x1p-50;
    given->floats[i] = i < real_count ? (float)reals[i] : (float)(int32_t)(random >> 32) * 0x1p-20f;
    given->bytes[i] = (uint8_t)(random >> 24);
  }
}

/* -- compiling -------------------------------------------------------------------------------- */

static char *joined(const char *const *parts) {
  size_t bytes = 1, used = 0;
  for (size_t i = 0; parts[i]; i++) bytes += strlen(parts[i]);
  char *whole = calloc(1, bytes);
  assert_non_null(whole);
  for (size_t i = 0; parts[i]; used += strlen(parts[i++])) memcpy(whole + used, parts[i], strlen(parts[i]));
  return whole;
}

static bool compile(const char *source, const KernelTarget *target, KernelModule *out, char *why) {
  KernelProgram *program = burn__kernel_parse(source, target, why, KERNEL_WHY_BYTES);
  const bool done = program && burn__kernel_emit(program, "kernel", NULL, out, why, KERNEL_WHY_BYTES);
  burn__kernel_free(program);
  return done;
}

/* -- snippets --------------------------------------------------------------------------------- */

typedef struct Addresses {
  uint64_t given, out;
} Addresses;

static const char entry[] =
    "\n#define PUT(x) (*out++ = tagged(x))\n"
    "#define MIX(x) (mixed = mixed * 0x9e3779b97f4a7c15ull + tagged(x))\n"
    "#define UNROLL _Pragma(\"unroll\")\n";
static const char kernel[] =
    "\nstruct Addresses { const Given *given; uint64_t *out; };\n"
    "extern \"C\" __global__ void __launch_bounds__(16) kernel(const Addresses a) {\n"
    "  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  body(thread, a.given, a.out + thread * 64);\n"
    "}\n";

static int compare(const Snippet *snippet, const SnippetGiven *given, const uint64_t *device) {
  int wrong = 0;
  for (uint32_t thread = 0; thread < SNIPPET_THREADS; thread++) {
    uint64_t host[SNIPPET_WORDS] = {0};
    snippet->run(thread, given, host);
    for (uint32_t i = 0; i < SNIPPET_WORDS; i++) {
      const uint64_t there = device[thread * SNIPPET_WORDS + i];
      if (there == host[i]) continue;
      if (wrong++ < 5)
        print_message("%s: thread %u, word %u: %016" PRIx64 ", not %016" PRIx64 "\n", snippet->name, thread, i, there,
                      host[i]);
    }
  }
  return wrong;
}

/* The number of words that are wrong. */
static int run_snippet(const Snippet *snippet, const KernelTarget *target) {
  char why[KERNEL_WHY_BYTES];
  KernelModule module;
  char *source =
      joined((const char *const[]){kernel_texts_prelude(), snippets_words(), entry, snippet->text, kernel, NULL});
  const bool done = compile(source, target, &module, why);
  free(source);
  if (!done) {
    print_message("%s: %s\n", snippet->name, why);
    return 1;
  }
  SnippetGiven *given = (SnippetGiven *)(void *)(kernel_runner_memory(runner) + GIVEN_AT);
  fill_given(given);
  memset(kernel_runner_memory(runner), 0, GIVEN_AT);
  const uint64_t address = kernel_runner_address(runner);
  const Addresses addresses = {address + GIVEN_AT, address};
  const char *failed = kernel_runner_run(runner, &module, &addresses, GROUPS);
  burn__kernel_module_free(&module);
  if (failed) {
    print_message("%s: %s\n", snippet->name, failed);
    return 1;
  }
  return compare(snippet, given, (const uint64_t *)(const void *)kernel_runner_memory(runner));
}

static void test_snippets(void **state) {
  int wrong = 0;
  (void)state;
  if (!runner) skip();
  const KernelTarget target = kernel_runner_target(runner);
  const char *only = getenv("BURN_TEST_SNIPPET");
  for (const Snippet *snippet = snippets_first(); snippet; snippet = snippet->next) {
    if (only && strcmp(only, snippet->name) != 0) continue;
    const int here = run_snippet(snippet, &target);
    if (here > 0 && strcmp(snippet->name, "subnormals") == 0)
      print_message("(this device does not keep subnormal numbers)\n");
    else
      wrong += here;
  }
  assert_int_equal(wrong, 0);
}

/* -- what only a device runs ------------------------------------------------------------------ */

/* Compiles a text after the prelude and runs it; what it wrote lies at the beginning of the memory. */
static uint64_t *run_text(const char *text, const void *parameters, uint32_t parameter_bytes, uint32_t groups) {
  char why[KERNEL_WHY_BYTES] = "";
  KernelModule module;
  const KernelTarget target = kernel_runner_target(runner);
  char *source = joined((const char *const[]){kernel_texts_prelude(), text, NULL});
  if (!compile(source, &target, &module, why)) fail_msg("%s", why);
  free(source);
  assert_int_equal(module.parameter_bytes, parameter_bytes);
  memset(kernel_runner_memory(runner), 0, GIVEN_AT);
  const char *failed = kernel_runner_run(runner, &module, parameters, groups);
  burn__kernel_module_free(&module);
  if (failed) fail_msg("%s", failed);
  return (uint64_t *)(void *)kernel_runner_memory(runner);
}

/* Each thread takes the number of the thread opposite to it, three times. */
static void test_shared_memory(void **state) {
  (void)state;
  if (!runner) skip();
  const uint64_t address = kernel_runner_address(runner);
  const uint64_t *out = run_text(
      "struct Line { uint16_t at[2]; bool odd; };\n"
      "static __device__ int opposite(int x) { __shared__ int all[blockDim.x]; all[threadIdx.x] = x; __syncthreads();\n"
      "  const int y = all[blockDim.x - 1 - threadIdx.x]; __syncthreads(); return y; }\n"
      "extern \"C\" __global__ void __launch_bounds__(48) kernel(uint64_t *out) {\n"
      "  __shared__ Line lines[2][24];\n"
      "  __shared__ double sum;\n"
      "  const int t = (int)threadIdx.x, y = opposite(t + 100 * (int)blockIdx.x) + 1000 * opposite(t * 2);\n"
      "  Line &mine = lines[t & 1][t >> 1];\n"
      "  mine = {{(uint16_t)t, (uint16_t)y}, (t & 1) != 0};\n"
      "  if (t == 7) sum = 0.5;\n"
      "  __syncthreads();\n"
      "  const Line &other = lines[(t + 1) & 1][t >> 1];\n"
      "  for (int i = 0; i < 3; i++) { if (t == i) sum += other.at[0]; __syncthreads(); }\n"
      "  out[blockIdx.x * blockDim.x + threadIdx.x] = (uint64_t)y << 32 | other.at[0] << 8 | other.odd << 4 | "
      "(int)sum;\n"
      "}\n",
      &address, sizeof address, 5);
  for (uint64_t group = 0; group < 5; group++)
    for (uint64_t t = 0; t < 48; t++) {
      const uint64_t y = 47 - t + 100 * group + 1000 * 2 * (47 - t), other = t ^ 1;
      assert_int_equal(out[group * 48 + t], y << 32 | other << 8 | (other & 1) << 4 | 4);
    }
}

static void test_warps(void **state) {
  (void)state;
  if (!runner) skip();
  const uint64_t address = kernel_runner_address(runner);
  const uint64_t *out = run_text(
      "extern \"C\" __global__ void __launch_bounds__(80) kernel(uint64_t *out) {\n"
      "  const int t = (int)threadIdx.x;\n"
      "  int sum = t;\n"
      "  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lanes);\n"
      "  const double up = __shfl_up_sync(0xffffffffu, t + 0.5, 3);\n"
      "  const int64_t down = __shfl_down_sync(0xffffffffu, (int64_t)t << 33, 5);\n"
      "  const uint32_t odd = __ballot_sync(0xffffffffu, t % 3 == 0);\n"
      "  __syncwarp();\n"
      "  out[4 * t] = (uint64_t)sum; out[4 * t + 1] = burn_bits_f64(up); out[4 * t + 2] = (uint64_t)down; out[4 * t + "
      "3] = odd;\n"
      "}\n",
      &address, sizeof address, 1);
  for (uint32_t t = 0; t < 64; t++) {
    const uint32_t lane = t & 31, first = t - lane;
    const double up = (lane < 3 ? t : t - 3) + 0.5;
    uint64_t up_bits = 0, thirds = 0;
    memcpy(&up_bits, &up, sizeof up_bits);
    for (uint32_t k = 0; k < 32; k++) thirds |= (uint64_t)((first + k) % 3 == 0) << k;
    assert_int_equal(out[4 * t], 32 * first + 496);
    assert_int_equal(out[4 * t + 1], up_bits);
    assert_int_equal(out[4 * t + 2], (uint64_t)(lane + 5 > 31 ? t : t + 5) << 33);
    assert_int_equal(out[4 * t + 3], thirds);
  }
}

typedef struct SmallParameters {
  uint64_t out;
  uint8_t bytes[5];
  int8_t negative;
  int16_t shorts[3];
  bool flag, other;
  double real;
  struct {
    int32_t a;
    uint8_t b;
  } pairs[3];
  float last;
} SmallParameters;
typedef struct LargeParameters {
  SmallParameters small;
  int64_t many[20];
  uint8_t tail[7];
} LargeParameters;

#define SMALL                                                                                                        \
  "struct Pair { int a; uint8_t b; };\n"                                                                             \
  "struct Small { uint64_t *out; uint8_t bytes[5]; int8_t negative; int16_t shorts[3]; bool flag, other; double "    \
  "real; Pair pairs[3]; float last; };\n"                                                                            \
  "static __device__ void all_of(uint64_t *&out, Small s, int i) {\n"                                                \
  "  *out++ = s.bytes[1]; *out++ = s.bytes[i]; *out++ = (uint64_t)(int64_t)s.negative; *out++ = s.shorts[2];\n"      \
  "  *out++ = (uint64_t)(int64_t)s.shorts[i % 3]; *out++ = s.flag * 2 + s.other; *out++ = (uint64_t)(s.real * 8);\n" \
  "  *out++ = s.pairs[1].a * 256 + s.pairs[2].b; *out++ = s.pairs[i % 3].a * 256 + s.pairs[i % 3].b;\n"              \
  "  s.last += 1; s.pairs[i % 3].a++; *out++ = (uint64_t)(s.last * 4) + s.pairs[i % 3].a;\n"                         \
  "  const Pair *p = s.pairs; *out++ = p[i % 3].b; const Pair &r = s.pairs[i % 3]; *out++ = r.b; }\n"

static const SmallParameters small = {.bytes = {1, 2, 250, 4, 5},
                                      .negative = -7,
                                      .shorts = {-300, 400, 500},
                                      .flag = true,
                                      .real = 2.5,
                                      .pairs = {{10, 11}, {20, 21}, {30, 31}},
                                      .last = 1.25f};

static void check_small(const uint64_t *out, uint64_t i) {
  const uint64_t pair = i % 3;
  const uint64_t wanted[] = {2,
                             small.bytes[i],
                             (uint64_t)-7,
                             500,
                             (uint64_t)(int64_t)small.shorts[pair],
                             2,
                             20,
                             20 * 256 + 31,
                             (10 * pair + 10) * 256 + 10 * pair + 11,
                             9 + 10 * pair + 11,
                             10 * pair + 11,
                             10 * pair + 11};
  for (size_t k = 0; k < sizeof wanted / sizeof wanted[0]; k++) assert_int_equal(out[k], wanted[k]);
}

static void test_small_parameters(void **state) {
  (void)state;
  if (!runner) skip();
  SmallParameters parameters = small;
  parameters.out = kernel_runner_address(runner);
  const uint64_t *out = run_text(SMALL
                                 "extern \"C\" __global__ void __launch_bounds__(5) kernel(const Small s) {\n"
                                 "  uint64_t *out = s.out + 16 * threadIdx.x; all_of(out, s, (int)threadIdx.x); }\n",
                                 &parameters, sizeof parameters, 1);
  for (uint64_t i = 0; i < 5; i++) check_small(out + 16 * i, i);
}

static void test_large_parameters(void **state) {
  (void)state;
  if (!runner) skip();
  LargeParameters parameters = {.small = small, .tail = {9, 8, 7, 6, 5, 4, 3}};
  parameters.small.out = kernel_runner_address(runner);
  for (int64_t i = 0; i < 20; i++) parameters.many[i] = i * 1000;
  const uint64_t *out = run_text(SMALL
                                 "struct Large { Small small; int64_t many[20]; uint8_t tail[7]; };\n"
                                 "extern \"C\" __global__ void __launch_bounds__(5) kernel(const Large l) {\n"
                                 "  const int t = (int)threadIdx.x; uint64_t *out = l.small.out + 16 * t;\n"
                                 "  all_of(out, l.small, t); *out++ = l.many[3 * t]; *out++ = l.tail[t + 2]; }\n",
                                 &parameters, sizeof parameters, 1);
  for (uint64_t i = 0; i < 5; i++) {
    check_small(out + 16 * i, i);
    assert_int_equal(out[16 * i + 12], 3000 * i);
    assert_int_equal(out[16 * i + 13], 7 - i);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_snippets),         cmocka_unit_test(test_shared_memory),    cmocka_unit_test(test_warps),
      cmocka_unit_test(test_small_parameters), cmocka_unit_test(test_large_parameters),
  };
  return cmocka_run_group_tests(tests, open_runner, close_runner);
}
