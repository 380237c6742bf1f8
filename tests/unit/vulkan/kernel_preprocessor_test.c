/* kernel_preprocessor_test.c - kernels' texts have the same tokens as by the C compiler's own preprocessor: each text in
 * variants that turn its conditions both ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernel_tokens.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/burn-preprocessor-XXXXXX";

static int make_folder(void **state) {
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  char command[100];
  (void)state;
  (void)snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command) == 0 ? 0 : -1;
}

static char *read_file(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file) fail_msg("there is no %s", path);
  size_t used = 0, room = 1 << 20;
  char *text = malloc(room);
  assert_non_null(text);
  for (size_t read = 1; read > 0; used += read) {
    if (room - used < 2) text = realloc(text, room *= 2);
    assert_non_null(text);
    read = fread(text + used, 1, room - used - 1, file);
  }
  (void)fclose(file);
  text[used] = '\0';
  return text;
}

static KernelTokens *tokens_of(const char *what, const char *source, const char *const *defined) {
  char why[200] = "";
  KernelTokens *tokens = burn__kernel_tokens(source, defined, why, sizeof why);
  if (!tokens) fail_msg("%s: %s", what, why);
  return tokens;
}

static bool is_same_name(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

/* A preprocessor of C leaves macros in `#pragma unroll`, where compilers of CUDA C put in what they stand for. */
static bool is_same(const KernelToken *a, const KernelToken *b) {
  if (a->kind == KERNEL_TOKEN_UNROLL && b->kind == KERNEL_TOKEN_UNROLL && b->name) return true;
  return a->kind == b->kind && a->suffix == b->suffix && a->punctuator == b->punctuator && a->integer == b->integer &&
         memcmp(&a->real, &b->real, sizeof a->real) == 0 && is_same_name(a->name, b->name);
}

/* The text by both preprocessors. What the compiler's has written has no macros left, but its pragmas stand there. */
static void compare(const char *what, const char *source) {
  static const char *const defined[] = {"BURN_SPIRV", "__CUDACC_RTC__", NULL};
  char path[100], command[600];
  (void)snprintf(path, sizeof path, "%s/text.c", folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  (void)fputs(source, file);
  assert_int_equal(fclose(file), 0);
  (void)snprintf(command, sizeof command, "%s -E -P -w -undef -DBURN_SPIRV -D__CUDACC_RTC__ -x c %s -o %s/text.i",
                 BURN_TEST_COMPILER, path, folder);
  assert_int_equal(system(command), 0);
  (void)snprintf(path, sizeof path, "%s/text.i", folder);
  char *text = read_file(path);
  KernelTokens *ours = tokens_of(what, source, defined), *theirs = tokens_of(what, text, NULL);
  const KernelToken *a = burn__kernel_tokens_at(ours), *b = burn__kernel_tokens_at(theirs);
  for (; is_same(a, b) && a->kind != KERNEL_TOKEN_END; a++, b++) continue;
  if (!is_same(a, b)) fail_msg("%s: line %u is not what the C preprocessor makes of it", what, a->line);
  burn__kernel_tokens_free(ours);
  burn__kernel_tokens_free(theirs);
  free(text);
}

/* The parts of a text as the backend puts them together; what is defined before decides conditions. */
static void compare_text(const char *name, unsigned variant) {
  static const char *const parts[] = {"prelude.cu", "parameters.h", "join.cu", "row.cu"};
  char path[400], what[100];
  size_t used = 0, room = 1 << 20;
  char *source = malloc(room);
  assert_non_null(source);
  for (size_t i = 0; i < 5; i++) {
    (void)snprintf(path, sizeof path, KERNELS "/%s", i < 4 ? parts[i] : name);
    char *text = read_file(path);
    used += (size_t)snprintf(source + used, room - used, "%s\n", text);
    free(text);
    if (i == 1)
      used += (size_t)snprintf(source + used, room - used,
                               "typedef f32_t IN0;\n#define BURN_VARIANT %u\n#define BURN_JOIN %u\n"
                               "#define FUSED_REGION %u\n#define FUSED_RESIDENT %u\n",
                               variant, variant % 7, variant % 4, variant / 4 % 2);
    assert_true(used < room);
  }
  (void)snprintf(what, sizeof what, "%s, variant %u", name, variant);
  compare(what, source);
  free(source);
}

static void test_kernels(void **state) {
  static const unsigned variants[] = {0, 1, 2, 3, 4, 5, 6, 8, 16 + 64, 32 + 128, 131, 327937, 655362};
  (void)state;
  DIR *texts = opendir(KERNELS);
  assert_non_null(texts);
  size_t count = 0;
  for (const struct dirent *entry; (entry = readdir(texts)) != NULL;) {
    const char *ending = strrchr(entry->d_name, '.');
    if (!ending || strcmp(ending, ".cu") != 0 || strcmp(entry->d_name, "prelude.cu") == 0) continue;
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) compare_text(entry->d_name, variants[i]);
    count++;
  }
  (void)closedir(texts);
  assert_true(count > 20);
}

/* What kernels do not use. */
static void test_corners(void **state) {
  static const char *const sources[] = {
      "#define EMPTY\n#define ONE 1\n#if EMPTY + ONE EMPTY\n(EMPTY)EMPTY\n#endif\n",
      "#define f(x, y) x##y #x #y\nf(a b, c d) f(,) f(, (1, \"s\\n\"))\n",
      ("#define LPAREN (\n#define RPAREN )\n#define F(x, y) x + y\n#define E(...) __VA_ARGS__\n"
       "E(F LPAREN 1, 2 RPAREN) E(E(F)(1, 2))\n"),
      "#define A() B\n#define B() A\nA()()()() B()()\n",
      "#define cat(a, b) a ## b\n#define xcat(x, y) cat(x, y)\nxcat(xcat(1, 2), 3) cat(cat, cat)(1, 2)\n",
      "#define g(x, ...) x|#__VA_ARGS__|__VA_ARGS__\ng(1) g(1,) g(  a ,b,  c )\n",
      "#define max(a, b) ((a) > (b) ? (a) : (b))\nmax(max(1, 2), max(max(3, 4), 5))\n",
      "#define a a b\n#define b b a\na b a\n",
      "#define NIL(x) x\n#define G_0(x) NIL(G_1)(x)\n#define G_1(x) NIL(G_0)(x)\nG_0(42)\n",
  };
  (void)state;
  for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) compare(sources[i], sources[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels), cmocka_unit_test(test_corners)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
