/* fuzz_test.c - burn conform --fuzz: right stacks agree on random graphs, every fault of the faulty layer is found, and
 * what is found comes as a small program that fails on the wrong stack and passes on the right one. */
#define _POSIX_C_SOURCE 200809L
#include "burn_command.h"
#include "emulated.h"

static const char plugins[] = BURN_BUILD_DIR "/tests/broken_plugins";

static cJSON *fuzz(const char *arguments, int *exit_status) {
  char command[1024];
  snprintf(command, sizeof command, "BURN_PLUGIN_PATH='%s' '%s' conform --json --fuzz %s 2>/dev/null", plugins, burn,
           arguments);
  return run_json(command, exit_status);
}

/* -- right stacks ----------------------------------------------------------------------------- */

static void expect_agreement(const char *arguments, int graphs) {
  int status = -1;
  cJSON *root = fuzz(arguments, &status);
  const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "differences"), 0);
  if (first) fail_msg("%s\n%s\n%s", text_of(first, "reason"), text_of(first, "command"), text_of(first, "program"));
  assert_int_equal(status, 0);
  assert_int_equal(number(root, "graphs"), graphs);
  assert_int_equal(number(root, "differ"), 0);
  assert_int_equal(number(root, "not_implemented"), 0);
  /* They were compared, not skipped. */
  assert_true(number(root, "equal") + number(root, "close") > 5 * graphs);
  assert_true(number(root, "not_comparable") <= graphs / 100);
  assert_true(number(root, "backward") > graphs / 4);
  assert_true(number(root, "given") > graphs);
  cJSON_Delete(root);
}

static void right_stacks_agree(void **state) {
  (void)state;
  expect_agreement("400 ndarray 'autodiff<ndarray>' --seed 11", 400);
  expect_agreement("400 ndarray reference --seed 12", 400);
  expect_agreement("100 'autodiff<reference>' 'autodiff<ndarray>' --seed 13", 100);
}

/* A few hundred graphs call nearly every op. */
static void all_ops_are_called(void **state) {
  (void)state;
  int status = -1, missing = 0;
  cJSON *root = fuzz("2000 ndarray ndarray --seed 3", &status);
  const cJSON *op = NULL;
  assert_int_equal(status, 0);
  cJSON_ArrayForEach(op, cJSON_GetObjectItem(root, "ops")) {
    if (op->valueint == 0) missing++;
  }
  if (missing > 0) fail_msg("%d ops are in none of 2000 graphs", missing);
  cJSON_Delete(root);
}

/* -- programs --------------------------------------------------------------------------------- */

/* Exit status of the compiled program with an argument. */
static int run_program(const char *file, const char *argument) {
  char command[1024];
  snprintf(command, sizeof command, "BURN_PLUGIN_PATH='%s' %s %s %s >/dev/null 2>&1", plugins, BURN_TEST_EMULATOR, file,
           argument);
  const int status = system(command);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* The program fails as printed and passes with a right stack in the wrong one's place. */
static void check_program(const char *program) {
  char source[] = "/tmp/burn_fuzz_XXXXXX", file[64], command[2048];
  const int descriptor = mkstemp(source);
  assert_true(descriptor >= 0);
  FILE *out = fdopen(descriptor, "w");
  assert_non_null(out);
  assert_true(fputs(program, out) >= 0);
  assert_int_equal(fclose(out), 0);
  snprintf(file, sizeof file, "%s.out", source);
  snprintf(command, sizeof command,
           "'%s' %s -std=c11 -Wall -Wextra -Wno-unused-function -Werror -x c '%s' -o '%s' -I'%s/core/include'"
           " -I'%s/plugin-api/include' -L'%s/lib' -Wl,-rpath,'%s/lib' -lburn -lm",
           BURN_TEST_COMPILER, BURN_TEST_COMPILER_FLAGS, source, file, BURN_SOURCE_DIR, BURN_SOURCE_DIR, BURN_BUILD_DIR,
           BURN_BUILD_DIR);
  if (system(command) != 0) fail_msg("the program does not compile:\n%s", program);
  const int wrong = run_program(file, ""), right = run_program(file, "ndarray");
  remove(source);
  remove(file);
  if (wrong == 0) fail_msg("the program does not fail:\n%s", program);
  if (right != 0) fail_msg("the program fails (%d) on a right stack:\n%s", right, program);
}

/* -- faults ----------------------------------------------------------------------------------- */

/* Among at most `graphs` graphs the fault is found and shrunk to at most `most` ops: the faulty one, or one whose
 * decomposition calls it. */
static void expect_fault(const char *op, const char *fault, int graphs, int most, const char *reason) {
  char arguments[256];
  int status = -1, ops = 1;
  snprintf(arguments, sizeof arguments, "%d ndarray 'faulty:op=%s,fault=%s<ndarray>' --seed 5 --most 1 --patience 2",
           graphs, op, fault);
  cJSON *root = fuzz(arguments, &status);
  const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "differences"), 0);
  if (!first) fail_msg("%s of %s is not found by %d graphs", fault, op, graphs);
  assert_int_equal(status, 1);
  for (const char *at = text_of(first, "ops"); *at; at++) ops += *at == ' ';
  if (ops > most) fail_msg("%s of %s is only shrunk to: %s", fault, op, text_of(first, "ops"));
  if (!strstr(text_of(first, "reason"), reason)) fail_msg("%s of %s: %s", fault, op, text_of(first, "reason"));
  if (strcmp(fault, "hang") != 0) check_program(text_of(first, "program"));
  cJSON_Delete(root);
}

static void wrong_values_are_found(void **state) {
  (void)state;
  expect_fault("tanh", "add", 2000, 1, "the reference has");
  expect_fault("conv2d", "add", 2000, 1, "the reference has");
  expect_fault("sum_dim", "slight", 2000, 1, "the reference has");
  expect_fault("argmax", "add", 2000, 1, "argmax");
  expect_fault("relu_backward", "add", 3000, 1, "the reference has");
}

static void wrong_writes_are_found(void **state) {
  (void)state;
  expect_fault("add", "write", 2000, 2, "the reference has");
  expect_fault("mul", "donated", 3000, 2, "the reference has");
}

/* What no call alone shows. */
static void wrong_in_company_is_found(void **state) {
  (void)state;
  expect_fault("exp", "gift", 3000, 1, "the reference has");
  expect_fault("sub", "strided", 3000, 2, "the reference has");
  expect_fault("neg", "after", 5000, 4, "the reference has");
}

static void wrong_ends_are_found(void **state) {
  (void)state;
  expect_fault("recip", "leak", 2000, 1, "left over");
  expect_fault("neg", "abort", 2000, 1, "stack B");
  /* Sanitizers change the exit status of a process that ends in the middle, and with it the words. */
  expect_fault("neg", "exit", 2000, 1, "the process");
  expect_fault("neg", "hang", 2000, 4, "hangs in stack B");
}

/* The command line that is printed finds the same again. */
static void one_graph_runs_alone(void **state) {
  (void)state;
  char arguments[256];
  int status = -1;
  static const char stacks[] = "ndarray 'faulty:op=exp,fault=add<ndarray>' --seed 7";
  snprintf(arguments, sizeof arguments, "2000 %s --most 1", stacks);
  cJSON *root = fuzz(arguments, &status);
  const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "differences"), 0);
  assert_non_null(first);
  snprintf(arguments, sizeof arguments, "1 %s --case %d", stacks, number(first, "case"));
  cJSON *again = fuzz(arguments, &status);
  assert_int_equal(status, 1);
  assert_int_equal(number(again, "graphs"), 1);
  const cJSON *second = cJSON_GetArrayItem(cJSON_GetObjectItem(again, "differences"), 0);
  assert_string_equal(text_of(second, "reason"), text_of(first, "reason"));
  cJSON_Delete(root);
  cJSON_Delete(again);
}

static void wrong_words_are_refused(void **state) {
  (void)state;
  static const char *const wrong[] = {"--fuzz 10 ndarray", "--fuzz 10 ndarray no_such_backend", "ndarray reference"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    char command[512];
    snprintf(command, sizeof command, "'%s' conform %s >/dev/null 2>&1", burn, wrong[i]);
    const int status = system(command);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(right_stacks_agree),        cmocka_unit_test(all_ops_are_called),
      cmocka_unit_test(wrong_values_are_found),    cmocka_unit_test(wrong_writes_are_found),
      cmocka_unit_test(wrong_in_company_is_found), cmocka_unit_test(wrong_ends_are_found),
      cmocka_unit_test(one_graph_runs_alone),      cmocka_unit_test(wrong_words_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
