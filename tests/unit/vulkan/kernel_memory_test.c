/* kernel_memory_test.c - tokens of kernels where memory runs out: every allocation fails in turn; there are words, and
 * nothing is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sanitized.h"

#if defined(SANITIZED) || !defined(__GLIBC__)
int main(void) {
  printf("kernel_memory_test: skipped, the sanitizer owns malloc\n");
  return 0;
}
#else

#include "counting_malloc.h"

#include "kernel_tokens.h"

enum { NAMES = 3000 };

/* Many names, tokens and pieces of macros: all that grows does. */
static char *make_source(void) {
  static const char head[] = "#define TWICE(x) x x\n#define Q(x) #x\n#define P(a, b) a##b\n#define LONG(x) x";
  char *source = malloc(NAMES * 40), *at = source;
  assert_non_null(source);
  at += sprintf(at, "%s", head);
  for (int i = 0; i < 200; i++) at += sprintf(at, " + %d", i);
  at += sprintf(at, "\n#if 1 + (2 * 3) && defined(P)\n#pragma unroll 4\n_Pragma(\"unroll\") Q(a b) P(c, d)\n#endif\n");
  for (int i = 0; i < NAMES; i++) at += sprintf(at, i % 50 == 0 ? " LONG(y)" : " TWICE(name) 1.5f");
  for (int i = 0; i < NAMES; i++) at += sprintf(at, " n%d", i);
  return source;
}

/* True if the tokens came. */
static bool read_with_failure(const char *source, long long failing) {
  char why[200] = "";
  const long long before = atomic_load(&blocks_held);
  atomic_store(&countdown, failing);
  atomic_store(&counting, true);
  KernelTokens *tokens = burn__kernel_tokens(source, NULL, why, sizeof why);
  atomic_store(&counting, false);
  if (!tokens && !strstr(why, "no memory")) fail_msg("allocation %lld: %s", failing, why);
  burn__kernel_tokens_free(tokens);
  assert_int_equal(atomic_load(&blocks_held), before);
  return tokens != NULL;
}

static void test_every_allocation_fails(void **state) {
  (void)state;
  char *source = make_source();
  assert_true(read_with_failure(source, 0));
  long long failing = 1;
  while (!read_with_failure(source, failing)) failing++;
  assert_true(failing > 10);
  free(source);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_allocation_fails)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
