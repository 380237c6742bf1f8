/* op_coverage_test.c - no op without a test: every function of ops.h, ops_move.h and ops_optimizer.h and every op of
 * ops.def must be named by one of the op tests (tests/unit/ops/ops_*_test.c). And none without a text: ops.def says
 * what each does, ops.h which kinds of tensors it takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/plugin/op.h>

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *path) {
  char full[512];
  snprintf(full, sizeof full, "%s/%s", BURN_SOURCE_DIR, path);
  FILE *file = fopen(full, "rb");
  if (!file) fail_msg("cannot read %s", full);
  enum { MAX = 1 << 20 };
  char *text = calloc(1, MAX);
  assert_non_null(text);
  assert_in_range(fread(text, 1, MAX - 1, file), 1, MAX - 2);
  fclose(file);
  return text;
}

enum { MAX_FILES = 64 };
static char *texts[MAX_FILES];
static size_t text_count;

/* True if a text has `name` between characters that cannot belong to a name. */
static int has_word(const char *text, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = text; (at = strstr(at, name)) != NULL; at += length) {
    const char before = at == text ? ' ' : at[-1], after = at[length];
    if (!isalnum((unsigned char)before) && before != '_' && !isalnum((unsigned char)after) && after != '_') return 1;
  }
  return 0;
}

static int is_named(const char *name) {
  for (size_t i = 0; i < text_count; i++) {
    if (has_word(texts[i], name)) return 1;
  }
  return 0;
}

/* "burn_add" is called as such, or made from "add" by a row macro. */
static void check_functions_of(const char *path, size_t least) {
  char *header = read_file(path);
  size_t count = 0;
  for (const char *at = header; (at = strstr(at, "burn_")) != NULL; at += 5) {
    char name[64];
    size_t length = 0;
    while (length < sizeof name - 1 && (isalnum((unsigned char)at[length]) || at[length] == '_')) length++;
    if (at[length] != '(' || at[-1] == '"' || (at[-1] != '*' && at[-1] != ' ')) continue;
    memcpy(name, at, length);
    name[length] = '\0';
    if (strcmp(name, "burn_clone") == 0) continue;
    count++;
    if (!is_named(name) && !is_named(name + 5)) fail_msg("%s of %s is not tested", name, path);
  }
  if (count < least) fail_msg("only %zu functions were found in %s", count, path);
  free(header);
}

/* Headers of tensor functions, and how many functions each must have at least. */
static void test_public_functions(void **state) {
  (void)state;
  check_functions_of("core/include/burn/ops.h", 90);
  check_functions_of("core/include/burn/ops_layers.h", 30);
  check_functions_of("core/include/burn/quantization.h", 12);
  check_functions_of("core/include/burn/ops_move.h", 55);
  check_functions_of("core/include/burn/ops_optimizer.h", 1);
  check_functions_of("core/include/burn/activation.h", 28);
  check_functions_of("core/include/burn/linalg.h", 18);
  check_functions_of("core/include/burn/signal.h", 8);
  check_functions_of("core/include/burn/grid.h", 3);
}

static void test_ops_of_the_table(void **state) {
  (void)state;
  static const char *const names[] = {
#define BURN_OP(number, name, family, since, rule, kinds, inputs, attrs, outputs, form, gradient, traits, doc) #name,
#include <burn/plugin/ops.def>
#undef BURN_OP
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char function[80];
    snprintf(function, sizeof function, "burn_%s", names[i]);
    if (!is_named(names[i]) && !is_named(function)) fail_msg("op %s is not tested", names[i]);
  }
}

/* -- texts ------------------------------------------------------------------------------------ */

/* The letters that ops.h uses for a column `kinds` of ops.def; NULL where every kind will do. */
static const char *letters_of(const char *kinds) {
  static const char *const known[][2] = {
      {"ANY", NULL}, {"NUMERIC", "[FI]"}, {"FLOAT", "[F]"}, {"INT", "[I]"}, {"BOOL", "[B]"}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (strcmp(known[i][0], kinds) == 0) return known[i][1];
  }
  fail_msg("kinds %s of ops.def are not known here", kinds);
  return NULL;
}

/* The last place before `end` where `text` stands, or NULL. */
static const char *find_before(const char *start, const char *end, const char *text) {
  const char *last = NULL;
  for (const char *at = start; (at = strstr(at, text)) != NULL && at < end; at++) last = at;
  return last;
}

/* True if the comment at `comment` has the letters; *any says whether it has letters of kinds at all. */
static int names_kinds(const char *comment, const char *letters, int *any) {
  const char *end = strstr(comment, "*/");
  *any = 0;
  for (const char *at = comment; end && at < end; at++) {
    const size_t length = *at == '[' ? strspn(at + 1, "FIB") : 0;
    if (length == 0 || at[length + 1] != ']') continue;
    *any = 1;
    if (strncmp(at, letters, length + 2) == 0 && letters[length + 2] == '\0') return 1;
  }
  return 0;
}

/* The comment above a function counts, and that of its section where it says nothing of kinds. */
static void check_kinds(const char *header, const char *op, const char *letters) {
  char call[80];
  int any = 0;
  snprintf(call, sizeof call, "*burn_%s(", op);
  const char *function = strstr(header, call);
  if (!function) return; /* in another header, or for layers only */
  const char *comment = find_before(header, function, "/*"), *section = find_before(header, function, "/* -- ");
  if (!comment || !section) fail_msg("burn_%s has no text", op);
  if (names_kinds(comment, letters, &any)) return;
  if (any || !names_kinds(section, letters, &any)) {
    fail_msg("burn_%s takes the kinds %s, but its text in ops.h does not say so", op, letters);
  }
}

static void test_texts(void **state) {
  (void)state;
  static const char *const rows[][4] = {
#define BURN_OP(number, name, family, since, rule, kinds, inputs, attrs, outputs, form, gradient, traits, doc) \
  {#name, #kinds, doc, #rule},
#include <burn/plugin/ops.def>
#undef BURN_OP
  };
  char *header = read_file("core/include/burn/ops.h");
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const char *name = rows[i][0], *letters = letters_of(rows[i][1]), *doc = rows[i][2];
    if (strlen(doc) < 2 || strcmp(doc, name) == 0) fail_msg("op %s has no text in ops.def", name);
    if (letters && strcmp(rows[i][3], "create") != 0) check_kinds(header, name, letters); /* those take dtypes */
  }
  free(header);
}

static int read_tests(void **state) {
  (void)state;
  glob_t files = {0};
  assert_int_equal(glob(BURN_SOURCE_DIR "/tests/unit/ops/ops_*_test.c", 0, NULL, &files), 0);
  assert_in_range(files.gl_pathc, 5, MAX_FILES - 1);
  for (size_t i = 0; i < files.gl_pathc; i++)
    texts[text_count++] = read_file(files.gl_pathv[i] + sizeof BURN_SOURCE_DIR);
  globfree(&files);
  texts[text_count++] = read_file("tests/unit/core/random_test.c");
  return 0;
}

static int free_tests(void **state) {
  (void)state;
  for (size_t i = 0; i < text_count; i++) free(texts[i]);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_public_functions),
      cmocka_unit_test(test_ops_of_the_table),
      cmocka_unit_test(test_texts),
  };
  return cmocka_run_group_tests_name("coverage of ops", tests, read_tests, free_tests);
}
