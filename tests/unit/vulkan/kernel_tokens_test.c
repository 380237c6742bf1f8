/* kernel_tokens_test.c - tokens of the kernels' language (plugins/vulkan/kernel_tokens.h): what sources become, and the
 * words for what they cannot be. kernel_preprocessor_test.c compares with another preprocessor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernel_tokens.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 4000 };

/* -- what sources become ---------------------------------------------------------------------- */

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
put(char *text, const char *format, ...) {
  const size_t used = strlen(text);
  va_list arguments;
  va_start(arguments, format);
  assert_true(used + 200 < TEXT_BYTES);
  (void)vsnprintf(text + used, TEXT_BYTES - used, format, arguments);
  va_end(arguments);
}

static void put_token(char *text, const KernelToken *token) {
  put(text, "%s", text[0] ? " " : "");
  switch ((KernelTokenKind)token->kind) {
    case KERNEL_TOKEN_NAME:
      put(text, "%s", token->name);
      break;
    case KERNEL_TOKEN_INTEGER:
      put(text, "%llu", (unsigned long long)token->integer);
      break;
    case KERNEL_TOKEN_FLOAT:
      put(text, "%g", token->real);
      break;
    case KERNEL_TOKEN_STRING:
      put(text, "<%s>", token->name);
      break;
    case KERNEL_TOKEN_PUNCTUATOR:
      put(text, "%s", burn__kernel_spelling((KernelPunctuator)token->punctuator));
      break;
    case KERNEL_TOKEN_UNROLL:
      if (token->name) put(text, "UNROLL(%s)", token->name);
      if (!token->name) put(text, "UNROLL(%llu)", (unsigned long long)token->integer);
      break;
    case KERNEL_TOKEN_END:
      break;
  }
}

/* The tokens with a blank between them. */
static void expect(const char *source, const char *expected) {
  static const char *const defined[] = {"GIVEN", NULL};
  char text[TEXT_BYTES] = "", why[200] = "";
  KernelTokens *tokens = burn__kernel_tokens(source, defined, why, sizeof why);
  if (!tokens) fail_msg("%s: %s", source, why);
  for (const KernelToken *token = burn__kernel_tokens_at(tokens); token->kind != KERNEL_TOKEN_END; token++)
    put_token(text, token);
  burn__kernel_tokens_free(tokens);
  if (strcmp(text, expected) != 0) fail_msg("%s\nbecomes  %s\nand not  %s", source, text, expected);
}

static void test_words_and_signs(void **state) {
  (void)state;
  expect("", "");
  expect("a+++b>>=1>>2<<=3 x->y::z...", "a ++ + b >>= 1 >> 2 <<= 3 x -> y :: z ...");
  expect("a/* b\n */c // d\n/**/e/*/ f */", "a c e");
  expect("a\\\nb \\\r\n c", "ab c");
  expect("// a \\\n b\nc", "c");
  expect("extern \"C\" \"a\\n\\\"\"", "extern <C> <a\n\">");
  expect("template<class T>struct A<B<T>>{};", "template < class T > struct A < B < T >> { } ;");
}

static void test_objects_and_calls(void **state) {
  (void)state;
  expect("#define A 1\n#define B A + A\nB A\n#undef A\nB", "1 + 1 1 A + A");
  expect("GIVEN", "1");
  expect("#define F(x, y) (y x)\nF(1, (2, 3)) F F (a\n,\nb)", "( ( 2 , 3 ) 1 ) F ( b a )");
  expect("#define F() 1\n#define G(x) [x]\nF() F( ) G() G(F)", "1 1 [ ] [ F ]");
  expect("#define F(x) x\n#define G F\nG(1) F(F)(2) F(F(F(3)))", "1 F ( 2 ) 3");
  expect("#define V(...) f(__VA_ARGS__)\nV() V(1) V(1, (2, 3), 4)", "f ( ) f ( 1 ) f ( 1 , ( 2 , 3 ) , 4 )");
  expect("#define V(x, ...) f(x, ## __VA_ARGS__)\nV(1) V(1, 2, 3)", "f ( 1 ) f ( 1 , 2 , 3 )");
  expect("#define A 1\n#define A 2\nA", "2");
  expect("#define F (x)\nF", "( x )");
}

static void test_names_within_themselves(void **state) {
  (void)state;
  expect("#define A A + B\n#define B A * B\nA B", "A + A * B A + B * B");
  expect("#define f(x) x + f\nf(1)(2) f(f)(3)", "1 + f ( 2 ) f + f ( 3 )");
  expect("#define f(x) x f(x + 1)\nf(f(2))", "2 f ( 2 + 1 ) f ( 2 f ( 2 + 1 ) + 1 )");
  /* the example of the C standard */
  expect(
      "#define x 3\n#define f(a) f(x * (a))\n#undef x\n#define x 2\n#define g f\n#define z z[0]\n#define h g(~\n"
      "#define m(a) a(w)\n#define w 0,1\n#define t(a) a\n"
      "f(y+1) + f(f(z)) % t(t(g)(0) + t)(1);\ng(x+(3,4)-w) | h 5) & m\n(f)^m(m);",
      "f ( 2 * ( y + 1 ) ) + f ( 2 * ( f ( 2 * ( z [ 0 ] ) ) ) ) % f ( 2 * ( 0 ) ) + t ( 1 ) ; "
      "f ( 2 * ( 2 + ( 3 , 4 ) - 0 , 1 ) ) | f ( 2 * ( ~ 5 ) ) & f ( 2 * ( 0 , 1 ) ) ^ m ( 0 , 1 ) ;");
}

static void test_quotes_and_pastes(void **state) {
  (void)state;
  expect("#define Q(x) #x\n#define R(x) Q(x)\n#define A 1\nQ( A  + \"b\\n\" ) R(A) Q()", "<A + \"b\\n\"> <1> <>");
  expect("#define P(a, b) a##b\nP(x, 1) P(, y) P(z, ) P(,) P(1, e3) P(<, <=) P(a b, c d)", "x1 y z 1000 <<= a bc d");
  expect("#define A 1\n#define P(a, b) a ## b\n#define R(a, b) P(a, b)\nP(A, A) R(A, A)", "AA 11");
  expect("#define O a ## b\nO", "ab");
  expect("#define STEP(L) fused_step_##L(p, L)\nSTEP(1)", "fused_step_1 ( p , 1 )");
}

static void test_conditions(void **state) {
  (void)state;
  expect("#if 0\na\n#elif 1\nb\n#elif 1\nc\n#else\nd\n#endif\ne", "b e");
  expect("#if 0\n#if 1\na\n#else\nb\n#endif\n#else\nc\n#endif", "c");
  expect("#if 0\n\"don't /* \" /* #endif\n#endif */ it's\n#nonsense\n#endif\na", "a");
  expect("#ifdef GIVEN\na\n#endif\n#ifndef GIVEN\nb\n#endif\n#if defined GIVEN && !defined(OTHER)\nc\n#endif", "a c");
  expect("#define VARIANT 21\n#if VARIANT / 8 % 2\na\n#else\nb\n#endif\n#if VARIANT / 4 % 2\nc\n#endif", "b c");
  expect("# /* */ if /*\n*/ 1 // x\n # define A \\\n 2\nA\n#\n#endif", "2");
}

static void expect_true(const char *condition) {
  char source[300];
  (void)snprintf(source, sizeof source, "#if %s\ntrue_\n#else\nfalse_\n#endif", condition);
  expect(source, "true_");
}

static void test_arithmetic_of_conditions(void **state) {
  static const char *const conditions[] = {
      "2 + 3 * 4 == 14 && (2 + 3) * 4 == 20",
      "-7 / 2 == -3 && -7 % 2 == -1 && 7 / -2 == -3",
      "-1 > 0u && -1 < 0",
      "1 << 62 >> 62 == 1 && -8 >> 1 == -4 && ~0ULL >> 63 == 1",
      "0x7fffffffffffffff + 1 < 0",
      "0xffffffffffffffff == -1 && 18446744073709551615u > 0",
      "(1 ? 2 : 1 / 0) == 2 && (0 ? 1 / 0 : 3) == 3",
      "1 || 1 / 0",
      "!(0 && 1 % 0)",
      "(0 ? 1 : 0 ? 2 : 3) == 3",
      "NOT_DEFINED == 0 && true && !false && !sizeof",
      "(5 & 6 ^ 1 | 8) == 13 && ~5 == -6 && +3 - -3 == 6",
      "010 == 8 && 0b11 == 3 && 0xFfLL == 255 && 12uLL == 12 && 12lu == 12",
      "1 == 1 == 1 && 3 > 2 > 0 && 1 != 2 && 1 <= 1 && 2 >= 2",
      "(-0x7fffffffffffffff - 1) / -1 < 0", /* wraps */
  };
  (void)state;
  for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) expect_true(conditions[i]);
}

static void test_pragmas(void **state) {
  (void)state;
  expect("#pragma unroll\n#pragma unroll 8\n#pragma unroll(2 * 2)\n#pragma once\n#pragma\nx",
         "UNROLL(0) UNROLL(8) UNROLL(4) x");
  expect("#define N 3\n#pragma unroll N\n#pragma unroll STEPS\n#pragma unroll (STEPS)",
         "UNROLL(3) UNROLL(STEPS) UNROLL(STEPS)");
  expect("_Pragma(\"unroll\") a _Pragma ( \"unroll 4\" ) b _Pragma(\"once\") c", "UNROLL(0) a UNROLL(4) b c");
  expect("#define EACH(n) _Pragma(\"unroll\") for (;;) n\nEACH(x) EACH(y)",
         "UNROLL(0) for ( ; ; ) x UNROLL(0) for ( ; ; ) y");
}

/* -- numbers and places ----------------------------------------------------------------------- */

static KernelTokens *tokens_of(const char *source) {
  char why[200] = "";
  KernelTokens *tokens = burn__kernel_tokens(source, NULL, why, sizeof why);
  if (!tokens) fail_msg("%s: %s", source, why);
  return tokens;
}

static void expect_float(const char *source, double value, uint8_t suffix) {
  KernelTokens *tokens = tokens_of(source);
  const KernelToken *token = burn__kernel_tokens_at(tokens);
  assert_int_equal(token->kind, KERNEL_TOKEN_FLOAT);
  if (token->real != value || token->suffix != suffix) fail_msg("%s is %a", source, token->real);
  burn__kernel_tokens_free(tokens);
}

static void test_floats(void **state) {
  (void)state;
  expect_float("0.1", 0.1, 0);
  expect_float("0.1f", (double)0.1f, KERNEL_SUFFIX_FLOAT);
  expect_float("1.e3F", 1000, KERNEL_SUFFIX_FLOAT);
  expect_float(".5e-1", 0.05, 0);
  expect_float("1e-320", 1e-320, 0);
  expect_float("0x1.8p-3f", 0.1875, KERNEL_SUFFIX_FLOAT);
  /* by f64, 1 + 2^-24 + 2^-60 would be a tie, and go to 1 */
  expect_float("1.00000005960464477625904f", (double)nextafterf(1, 2), KERNEL_SUFFIX_FLOAT);
  expect_float("3.4028235e38f", (double)3.4028235e38f, KERNEL_SUFFIX_FLOAT);
}

static void test_floats_in_another_locale(void **state) {
  (void)state;
  if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "C.UTF-8")) skip();
  expect_float("0.25", 0.25, 0);
  expect_float("12.5f", 12.5, KERNEL_SUFFIX_FLOAT);
  (void)setlocale(LC_NUMERIC, "C");
}

static void test_integers(void **state) {
  static const struct {
    const char *source;
    uint64_t value;
    uint8_t suffix;
  } cases[] = {{"0", 0, KERNEL_SUFFIX_OTHER_BASE},
               {"42", 42, 0},
               {"18446744073709551615ull", UINT64_MAX, KERNEL_SUFFIX_UNSIGNED | KERNEL_SUFFIX_LONG},
               {"0XfFffffffu", 0xffffffff, KERNEL_SUFFIX_UNSIGNED | KERNEL_SUFFIX_OTHER_BASE},
               {"1LLU", 1, KERNEL_SUFFIX_UNSIGNED | KERNEL_SUFFIX_LONG},
               {"7l", 7, KERNEL_SUFFIX_LONG}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    KernelTokens *tokens = tokens_of(cases[i].source);
    const KernelToken *token = burn__kernel_tokens_at(tokens);
    if (token->kind != KERNEL_TOKEN_INTEGER || token->integer != cases[i].value || token->suffix != cases[i].suffix)
      fail_msg("%s is %llu, suffix %d", cases[i].source, (unsigned long long)token->integer, token->suffix);
    burn__kernel_tokens_free(tokens);
  }
}

static void test_names_are_interned(void **state) {
  (void)state;
  KernelTokens *tokens = tokens_of("abc x abc");
  const KernelToken *token = burn__kernel_tokens_at(tokens);
  assert_ptr_equal(token[0].name, token[2].name);
  assert_ptr_equal(token[0].name, burn__kernel_intern(tokens, "abc"));
  assert_ptr_not_equal(token[0].name, token[1].name);
  for (int i = 0; i < 5000; i++) {
    char name[20];
    (void)snprintf(name, sizeof name, "n%d", i);
    assert_string_equal(burn__kernel_intern(tokens, name), name);
  }
  assert_ptr_equal(token[1].name, burn__kernel_intern(tokens, "x"));
  burn__kernel_tokens_free(tokens);
  burn__kernel_tokens_free(NULL);
}

/* What a macro makes lies where it is called; a continued line keeps the numbers after it. */
static void test_lines(void **state) {
  static const uint32_t lines[] = {3, 3, 3, 5, 7};
  (void)state;
  KernelTokens *tokens = tokens_of("#define F(x) x \\\n +\nF(a\n) b\nc /* \n\n*/ d");
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    const uint32_t line = i == 2 ? 4 : lines[i]; /* b */
    assert_int_equal(burn__kernel_tokens_at(tokens)[i].line, line);
  }
  burn__kernel_tokens_free(tokens);
}

/* -- what is refused -------------------------------------------------------------------------- */

static void expect_refused(const char *source, const char *words) {
  char why[200] = "";
  KernelTokens *tokens = burn__kernel_tokens(source, NULL, why, sizeof why);
  if (tokens) fail_msg("%.80s: is taken", source);
  if (strcmp(why, words) != 0) fail_msg("%.80s\nsays     %s\nand not  %s", source, why, words);
}

static void test_refusals(void **state) {
  static const char *const cases[][2] = {
      {"\n#if 1\n", "line 2: #if without #endif"},
      {"#if 0\n#else\n", "line 1: #if without #endif"},
      {"#if 0\n", "line 1: #if without #endif"},
      {"#endif", "line 1: #endif without #if"},
      {"\n#else", "line 2: #else without #if"},
      {"#if 1\n#else\n#else\n#endif", "line 3: #else after the #else of line 1"},
      {"#if 0\n#else\n#elif 1\n#endif", "line 3: #elif after the #else of line 1"},
      {"#if\n#endif", "line 1: the last value is missing in a condition"},
      {"#if 1 +\n#endif", "line 1: the last value is missing in a condition"},
      {"#if (1\n#endif", "line 1: a parenthesis that is not closed in a condition"},
      {"#if 1 2\n#endif", "line 1: a word or sign that does not belong in a condition"},
      {"#if 1 ? 2\n#endif", "line 1: a ? without a : in a condition"},
      {"#if 1 / 0\n#endif", "line 1: a division by zero in a condition"},
      {"#if 1 << 64\n#endif", "line 1: a shift by less than 0 or more than 63 bits in a condition"},
      {"#if 1.5\n#endif", "line 1: a number that is not an integer in a condition"},
      {"#if defined 3\n#endif", "line 1: `defined` needs a name"},
      {"#if defined(A\n#endif", "line 1: a parenthesis after `defined` is not closed"},
      {"#ifdef\n#endif", "line 1: #ifdef needs a name"},
      {"a\n#error  needs more \nb", "line 2: #error needs more "},
      {"#include <a>", "line 1: #include: a kernel's source has no files"},
      {"#nonsense", "line 1: #nonsense is not a directive"},
      {"#define", "line 1: #define needs a name"},
      {"#define defined", "line 1: #define needs a name"},
      {"#define F(x", "line 1: #define F: the parameters are not closed"},
      {"#define F(x,)", "line 1: #define F: a parameter is not a name"},
      {"#define F(..., x)", "line 1: #define F: the parameters are not closed"},
      {"#define F(x, x)", "line 1: #define F: two parameters are called x"},
      {"#define F(x) #y", "line 1: #define F: # stands before no parameter"},
      {"#define A ## b", "line 1: #define A: ## stands at an end"},
      {"#define A b ##", "line 1: #define A: ## stands at an end"},
      {"#define P(a, b) a##b\n\nP(+, x)", "line 3: ## makes \"+x\", which is not one token"},
      {"#define P(a, b) a##b\nP(/, /)", "line 2: ## makes \"//\", which is not one token"},
      {"#define F(x) x\n\nF(1\n2\n", "line 3: the call of F is not closed"},
      {"#define F(x) x\nF(1, 2)", "line 2: F takes 1 arguments and is given more"},
      {"#define F(x, y) x\nF(1)", "line 2: F takes 2 arguments and is given 1"},
      {"#define F() x\nF(1)", "line 2: F takes 0 arguments and is given 1"},
      {"#define F(x) x\nF(\n#if 1\n)", "line 3: a directive lies within the arguments of F"},
      {"_Pragma(unroll)", "line 1: _Pragma needs a string in parentheses"},
      {"#pragma unroll 0", "line 1: #pragma unroll needs a number from 1 to 2147483647"},
      {"a /* b\nc", "line 1: a comment is not closed"},
      {"\n\"a\n", "line 2: a \" is not closed on its line"},
      {"'a'", "line 1: characters ('c') are not in the language of kernels"},
      {"\"\\0\"", "line 1: \\0 in a string"},
      {"a @", "line 1: the character @ has no meaning here"},
      {"a \xc3\xa4", "line 1: the byte 0xc3 has no meaning here"},
      {"18446744073709551616", "line 1: 18446744073709551616 does not fit 64 bits"},
      {"08", "line 1: 08 is not a number"},
      {"0x", "line 1: 0x is not a number"},
      {"1x", "line 1: 1x is not a number"},
      {"1lul", "line 1: 1lul is not a number"},
      {"1.5d", "line 1: 1.5d is not a number"},
      {"1e+", "line 1: 1e+ is not a number"},
      {"0x1.8", "line 1: 0x1.8 is not a number"},
      {"1e40f", "line 1: 1e40f is beyond f32"},
      {"1e400", "line 1: 1e400 is beyond f64"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) expect_refused(cases[i][0], cases[i][1]);
}

/* `head`, then `part` so many times, then `tail`. */
static void expect_too_much(const char *head, const char *part, int times, const char *tail, const char *words) {
  char *source = malloc(strlen(head) + strlen(part) * (size_t)times + strlen(tail) + 1), *at = source;
  assert_non_null(source);
  at += sprintf(at, "%s", head);
  for (int i = 0; i < times; i++) at += sprintf(at, "%s", part);
  (void)sprintf(at, "%s", tail);
  expect_refused(source, words);
  free(source);
}

static void test_limits(void **state) {
  (void)state;
  expect_too_much("", "#if 1\n", 201, "", "line 201: more than 200 #if within each other");
  expect_too_much("#if ", "(", 500, "", "line 1: too many values within each other in a condition");
  expect_too_much("#if ", "!", 500, "", "line 1: too many values within each other in a condition");
  expect_too_much("#if ", "1 ? 0 : ", 500, "0", "line 1: too many values within each other in a condition");
  expect_too_much("#define f(x) x\n", "f(", 500, "", "line 2: the call of f is not closed");
  expect_too_much("", "abcdefghijk", 100, "", "line 1: a name of 1100 characters, more than 1000");
  expect_too_much("1", "0000000000", 30, "", "line 1: a number of 301 characters, more than 200");
  expect_too_much("\"", "0000000000", 110, "\"", "line 1: a string of 1102 characters, more than 1000");
  expect_too_much("#define F(", "", 0, "a0,a1,a2,...) x\nF()", "line 2: F takes 4 arguments and is given 0");
  expect_too_much("", "x ", 1100000, "", "line 1: more than 1048576 tokens");
  expect_too_much("", "          ", 1700000, "", "line 1: a source of 17000000 bytes, more than 16777216");
}

/* Sources that would become much more than they are. */
static void test_growth(void **state) {
  char source[4000] = "#define a0\n", *at = source + strlen(source);
  (void)state;
  for (int i = 1; i < 60; i++) at += sprintf(at, "#define a%d a%d a%d\n", i, i - 1, i - 1);
  (void)sprintf(at, "a59");
  expect_refused(source, "line 61: macros make more than 16777216 words and signs");
  at = source + sprintf(source, "#define f(x) x x\n");
  for (int i = 0; i < 60; i++) at += sprintf(at, "f(");
  at += sprintf(at, "y");
  for (int i = 0; i < 60; i++) at += sprintf(at, ")");
  expect_refused(source, "line 2: no memory, or more than 256 MB of it");
}

static void test_deep_macros(void **state) {
  char *source = malloc(300 * 40), *at = source;
  (void)state;
  assert_non_null(source);
  for (int i = 1; i < 300; i++) at += sprintf(at, "#define a%d a%d\n", i, i - 1);
  (void)sprintf(at, "a299");
  expect_refused(source, "line 300: macros lie deeper than 200 in each other");
  free(source);
}

static void test_short_words(void **state) {
  char why[12] = "", none = 'x';
  (void)state;
  assert_null(burn__kernel_tokens("#error long words", NULL, why, sizeof why));
  assert_string_equal(why, "line 1: #er");
  assert_null(burn__kernel_tokens("#error long words", NULL, &none, 0));
  assert_int_equal(none, 'x');
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_words_and_signs),
      cmocka_unit_test(test_objects_and_calls),
      cmocka_unit_test(test_names_within_themselves),
      cmocka_unit_test(test_quotes_and_pastes),
      cmocka_unit_test(test_conditions),
      cmocka_unit_test(test_arithmetic_of_conditions),
      cmocka_unit_test(test_pragmas),
      cmocka_unit_test(test_floats),
      cmocka_unit_test(test_floats_in_another_locale),
      cmocka_unit_test(test_integers),
      cmocka_unit_test(test_names_are_interned),
      cmocka_unit_test(test_lines),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_growth),
      cmocka_unit_test(test_deep_macros),
      cmocka_unit_test(test_short_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
