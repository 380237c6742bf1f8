/* conform_test.c - the burn conform command: right stacks pass with thousands of cases, and every fault of the wrong
 * layer is found, in the right check and op, with a reason that names it. */
#define _POSIX_C_SOURCE 200809L
#include "burn_command.h"

/* burn conform with --json, against the reference. */
static cJSON *conform(const char *arguments, int *exit_status) {
  char command[1024];
  snprintf(command, sizeof command, "'%s' conform %s --json 2>/dev/null", burn, arguments);
  return run_json(command, exit_status);
}

static void expect_pass(const char *arguments, int least_cases) {
  int status = -1;
  cJSON *root = conform(arguments, &status);
  const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "failures"), 0);
  if (first) fail_msg("%s: %s: %s", arguments, text_of(first, "sample"), text_of(first, "reason"));
  assert_int_equal(status, 0);
  assert_int_equal(number(root, "failed"), 0);
  if (number(root, "passed") < least_cases) fail_msg("%s: only %d cases passed", arguments, number(root, "passed"));
  cJSON_Delete(root);
}

static void right_stacks_pass(void **state) {
  (void)state;
  expect_pass("ndarray --level core", 7000);
  expect_pass("'autodiff<ndarray>' --level core", 7000);
  expect_pass("trace --op neg,add,matmul", 100); /* a decorator alone is put on ndarray */
  expect_pass("ndarray --level train --op add,sum_dim,slice,conv2d,matmul,dropout", 500);
}

/* validate calls nothing wrong that an op's definition allows. */
static void validate_finds_nothing_in_a_right_backend(void **state) {
  (void)state;
  expect_pass("'validate<ndarray>' --level core", 11000);
}

/* What a stack puts off fails late: at sync or at a read. Some allocations of these calls are made then. */
static void late_failures_are_failures(void **state) {
  (void)state;
  expect_pass("'fusion<reference>' --level full --check faults --op lstm_backward,quiet_softmax", 4);
  expect_pass("'fusion<ndarray>' --level full --check faults --op lstm_backward,quiet_softmax", 4);
}

/* Every failure of a run with this fault is of `check`, the first names `op` (if it is not "") and says `part` or
 * `other`. */
static void expect_fault(const char *fault, const char *arguments, const char *check, const char *op, const char *part,
                         const char *other) {
  char stack[512];
  int status = -1;
  assert_int_equal(setenv("BURN_TEST_FAULT", fault, 1), 0);
  snprintf(stack, sizeof stack, "'" BURN_BUILD_DIR "/tests/broken_plugins/burn_wrong.so' %s", arguments);
  cJSON *root = conform(stack, &status);
  assert_int_equal(status, 1);
  const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "failures"), 0);
  if (!first) fail_msg("%s is not found", fault);
  const char *reason = text_of(first, "reason");
  if (strcmp(text_of(first, "check"), check) != 0)
    fail_msg("%s is found by %s: %s", fault, text_of(first, "check"), reason);
  if (op[0]) assert_string_equal(text_of(first, "op"), op);
  if (!strstr(reason, part) && !strstr(reason, other)) fail_msg("%s: the reason lacks \"%s\": %s", fault, part, reason);
  assert_non_null(strstr(text_of(first, "command"), "burn conform"));
  cJSON_Delete(root);
  assert_int_equal(unsetenv("BURN_TEST_FAULT"), 0);
}
#define EXPECT(fault, arguments, check, op, part) expect_fault(fault, arguments, check, op, part, part)

static void faults_are_named(void **state) {
  (void)state;
  EXPECT("wrong_result", "--op neg,abs", "forward", "neg", "the reference has");
  EXPECT("writes_input", "--op add", "forward", "add", "changed input 0");
  EXPECT("leak", "--op recip", "forward", "recip", "left over after the call");
  EXPECT("changing", "--op cos", "forward", "cos", "");
  EXPECT("wrong_size", "--op mul", "faults", "mul", "was told 32 bytes for memory of 64");
  EXPECT("close_leaks", "--check handshake", "handshake", "", "are left over");
  EXPECT("any_interface", "--check handshake", "handshake", "", "is not NULL");
  EXPECT("undeclared_option", "--check handshake", "handshake", "", "the option 'secret', which is not declared");
  EXPECT("writes_beyond", "--check handshake", "handshake", "", "writes beyond the BurnBackend");
  /* Sanitizers turn signals into exit statuses. */
  expect_fault("crash", "--op exp,log", "forward", "exp", "crashes", "ends the process");
  expect_fault("exit", "--op log", "forward", "log", "ends the process", "ends the process");
  expect_fault("unchecked_memory", "--check faults --op sub,add", "faults", "sub", "crashes", "ends the process");
}

/* The layer is right when no fault is asked for. */
static void without_a_fault_it_passes(void **state) {
  (void)state;
  expect_pass("'" BURN_BUILD_DIR
              "/tests/broken_plugins/burn_wrong.so' --level train --op neg,add,recip,cos,mul,exp,log,sub",
              300);
}

/* The command line that is printed runs one case only. */
static void one_case_runs_alone(void **state) {
  (void)state;
  int status = -1;
  cJSON *root = conform("ndarray --check forward --op add --case 5", &status);
  assert_int_equal(status, 0);
  assert_int_equal(number(root, "cases"), 1);
  cJSON_Delete(root);
}

static void wrong_words_are_refused(void **state) {
  (void)state;
  static const char *const wrong[] = {
      "ndarray --level much", "ndarray --op no_such_op",         "ndarray --check no_such_check", "", "''",
      "ndarray --case -1",    "ndarray --op add --case 99999999"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    char command[512];
    snprintf(command, sizeof command, "'%s' conform %s >/dev/null 2>&1", burn, wrong[i]);
    const int status = system(command);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2);
  }
}

static void a_stack_that_does_not_open_fails(void **state) {
  (void)state;
  int status = -1;
  cJSON *root = conform("no_such_backend --op add", &status);
  assert_int_equal(status, 1);
  assert_true(number(root, "failed") > 0);
  cJSON_Delete(root);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(validate_finds_nothing_in_a_right_backend),
      cmocka_unit_test(late_failures_are_failures),
      cmocka_unit_test(right_stacks_pass),
      cmocka_unit_test(faults_are_named),
      cmocka_unit_test(without_a_fault_it_passes),
      cmocka_unit_test(one_case_runs_alone),
      cmocka_unit_test(wrong_words_are_refused),
      cmocka_unit_test(a_stack_that_does_not_open_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
