/* conform_test.c - the burn conform command: right stacks pass with thousands of cases, and every fault of the wrong
 * layer is found, in the right check and op, with a reason that names it. */
#define _POSIX_C_SOURCE 200809L
#include "burn_command.h"

#include "sanitized.h"

#include <stdbool.h>

/* Sanitized builds take all ops once, and some of each family on stacks of the same backend: all take minutes there. */
#if defined(SANITIZED)
#define OPS_AGAIN " --op add,exp,sum_dim,softmax,layer_norm,slice,select,cat,matmul,conv2d,adam_step"
enum { CASES_AGAIN = 500, VALIDATED_CASES = 500 };
#else
#define OPS_AGAIN ""
enum { CASES_AGAIN = 7000, VALIDATED_CASES = 11000 };
#endif

static const char test_plugins[] = BURN_BUILD_DIR "/tests/broken_plugins:" BURN_BUILD_DIR "/lib/burn/plugins";

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
  expect_pass("'autodiff<ndarray>' --level core" OPS_AGAIN, CASES_AGAIN);
  expect_pass("trace --op neg,add,matmul", 100); /* a decorator alone is put on ndarray */
  expect_pass("ndarray --level train --op add,sum_dim,slice,conv2d,matmul,dropout", 500);
}

/* What autocast does not run in halves is untouched: some ops of each family. All of them take minutes under sanitizers:
 * burn conform 'autocast<autodiff<ndarray>>' --skip matmul,linear,.. */
static void autocast_changes_products_only(void **state) {
  (void)state;
  static const char *const stacks[] = {"autocast<autodiff<ndarray>>", "autodiff<autocast:dtype=f16<ndarray>>",
                                       "validate:finite=false<autocast<validate:finite=false<ndarray>>>"};
  for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
    char arguments[256];
    (void)snprintf(arguments, sizeof arguments,
                   "'%s' --level core --op add,exp,sum_dim,softmax,layer_norm,slice,select,cat,cast,adam_step",
                   stacks[i]);
    expect_pass(arguments, 500);
  }
}

/* validate calls nothing wrong that an op's definition allows. */
static void validate_finds_nothing_in_a_right_backend(void **state) {
  (void)state;
  expect_pass("'validate<ndarray>' --level core" OPS_AGAIN, VALIDATED_CASES);
}

/* What a stack puts off fails late: at sync or at a read. Some allocations of these calls are made then. */
static void late_failures_are_failures(void **state) {
  (void)state;
  expect_pass("'fusion<reference>' --level full --check faults --op lstm_backward,quiet_softmax", 4);
  expect_pass("'fusion<ndarray>' --level full --check faults --op lstm_backward,quiet_softmax", 4);
}

static cJSON *conform_with_fault(const char *fault, const char *arguments) {
  char stack[512];
  int status = -1;
  assert_int_equal(setenv("BURN_TEST_FAULT", fault, 1), 0);
  snprintf(stack, sizeof stack, "'" BURN_BUILD_DIR "/tests/broken_plugins/burn_wrong.so' %s", arguments);
  cJSON *root = conform(stack, &status);
  assert_int_equal(status, 1);
  assert_int_equal(unsetenv("BURN_TEST_FAULT"), 0);
  return root;
}

/* Every failure of a run with this fault is of `check`, the first names `op` (if it is not "") and says `part` or
 * `other`. */
static void expect_fault(const char *fault, const char *arguments, const char *check, const char *op, const char *part,
                         const char *other) {
  cJSON *root = conform_with_fault(fault, arguments);
  const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "failures"), 0);
  if (!first) fail_msg("%s is not found", fault);
  const char *reason = text_of(first, "reason");
  if (strcmp(text_of(first, "check"), check) != 0)
    fail_msg("%s is found by %s: %s", fault, text_of(first, "check"), reason);
  if (op[0]) assert_string_equal(text_of(first, "op"), op);
  if (!strstr(reason, part) && !strstr(reason, other)) fail_msg("%s: the reason lacks \"%s\": %s", fault, part, reason);
  assert_non_null(strstr(text_of(first, "command"), "burn conform"));
  cJSON_Delete(root);
}
#define EXPECT(fault, arguments, check, op, part) expect_fault(fault, arguments, check, op, part, part)

static void faults_are_named(void **state) {
  (void)state;
  EXPECT("wrong_result", "--op neg,abs", "forward", "neg", "the reference has");
  EXPECT("writes_input", "--op add", "forward", "add", "changed input 0");
  EXPECT("passed_by", "--check chains --op neg,abs", "chains", "neg",
         "below fusion, give another result than op by op");
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

/* A stack without a dtype that decompositions need is told so, beside the ops that fail. */
static void a_missing_dtype_is_told(void **state) {
  (void)state;
  static const char command[] = "BURN_TEST_FAULT=no_bool '%s' conform '" BURN_BUILD_DIR
                                "/tests/broken_plugins/burn_wrong.so' --check handshake --json 2>/dev/null";
  char text[1024];
  int status = -1;
  snprintf(text, sizeof text, command, burn);
  cJSON *root = run_json(text, &status);
  assert_int_equal(status, 0);
  const cJSON *skip = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "skips"), 0);
  assert_non_null(skip);
  assert_string_equal(text_of(skip, "reason"),
                      "dtype_usage says no to bool: ops fail whose decompositions compute in it");
  cJSON_Delete(root);
}

static int count_hangs(const cJSON *root) {
  const cJSON *failure;
  int hangs = 0;
  cJSON_ArrayForEach(failure, cJSON_GetObjectItem(root, "failures")) {
    hangs += strstr(text_of(failure, "reason"), "hangs: nothing happened for 1 s") != NULL;
  }
  return hangs;
}

/* An op that hung twice is not tried again, other ops are; where all hang, the run ends all the same. */
static void hangs_end(void **state) {
  (void)state;
  cJSON *root = conform_with_fault("hang", "--level train --timeout 1 --op exp,log");
  assert_int_equal(count_hangs(root), 3); /* exp twice, and the threads, which run all ops */
  const cJSON *skip = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "skips"), 0);
  assert_string_equal(text_of(skip, "reason"), "not run: it hung twice");
  assert_true(number(cJSON_GetObjectItem(cJSON_GetObjectItem(root, "ops"), "log"), "passed") > 100);
  cJSON_Delete(root);
  root = conform_with_fault("hang_always", "--timeout 1 --check forward");
  assert_int_equal(count_hangs(root), 12);
  assert_true(number(root, "skipped") > 150);
  skip = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "skips"), 0);
  assert_string_equal(text_of(skip, "reason"), "not run: too much hung before it");
  cJSON_Delete(root);
}

/* What liar.c tells of the results of add, which it computes right. */
static void lies_in_headers_are_found(void **state) {
  (void)state;
  static const struct {
    const char *lie, *part, *other;
  } lies[] = {
      {"header_small", "the header of result 0: struct_size is 0", ""},
      {"tracked", "the header of result 0: flags are 0x3: TRACKED, though no input is", ""},
      {"owner", "the header of result 0: owner is 1001", ""},
      {"dtype_unknown", "add: 'liar' gave a tensor of ? [1], not of f32 [1]", ""},
      {"shape_missing", "add: 'liar' gave a tensor of f32 and no shape, not of f32 [1]", ""},
      {"rank_huge", "add: 'liar' gave a tensor of f32 and no shape, not of f32 [1]", ""},
      {"buffer_missing", "flags have HOST_MEMORY, and buffer is NULL", ""},
      {"strides_other", "at the address of element 1 (strides 0, byte_offset 0) lies ", ""},
      {"offset_odd", "byte_offset is 2, no place for a f32", ""},
      {"offset_other", "at the address of element 0 (strides 1, byte_offset 4) lies ",
       "ends the process"}, /* under a sanitizer */
      {"offset_past_end", "crashes", "ends the process"},
      {"strides_past_end", "while reading a tensor through its public header", "ends the process"},
  };
  assert_int_equal(setenv("BURN_PLUGIN_PATH", test_plugins, 1), 0);
  for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
    char arguments[128];
    int status = -1;
    snprintf(arguments, sizeof arguments, "'liar:lie=%s' --op add --check forward", lies[i].lie);
    cJSON *root = conform(arguments, &status);
    assert_int_equal(status, 1);
    const char *reason = text_of(cJSON_GetArrayItem(cJSON_GetObjectItem(root, "failures"), 0), "reason");
    const bool named = strstr(reason, lies[i].part) || (lies[i].other[0] && strstr(reason, lies[i].other));
    if (!named) fail_msg("%s: the reason lacks \"%s\": %s", lies[i].lie, lies[i].part, reason);
    cJSON_Delete(root);
  }
  expect_pass("liar --op add", 100);
  assert_int_equal(unsetenv("BURN_PLUGIN_PATH"), 0);
}

/* All cases of --level async pass, but for `skipped` that have nothing to look at; `way` is what they went through. */
static void expect_async(const char *stack, const char *way, int least_cases, int skipped) {
  char arguments[160];
  int status = -1;
  snprintf(arguments, sizeof arguments, "%s --level async", stack);
  cJSON *root = conform(arguments, &status);
  const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "failures"), 0);
  if (first) fail_msg("%s: %s: %s", arguments, text_of(first, "sample"), text_of(first, "reason"));
  assert_int_equal(status, 0);
  assert_string_equal(text_of(root, "level"), "async");
  assert_non_null(strstr(text_of(root, "async_way"), way));
  if (number(root, "passed") < least_cases) fail_msg("%s: only %d cases passed", arguments, number(root, "passed"));
  assert_int_equal(number(root, "skipped"), skipped);
  assert_int_equal(number(cJSON_GetObjectItem(cJSON_GetObjectItem(root, "checks"), "forward"), "cases"), 0);
  cJSON_Delete(root);
}

/* Where the backend has no burn.device its 16 cases have nothing to look at, and no op fails late. */
static void work_in_flight_is_right(void **state) {
  (void)state;
  expect_async("ndarray", "core's own way, as ndarray has no burn.device", 390, 17);
  expect_async("'fusion<ndarray>'", "core's own way", 390, 17);
  assert_int_equal(setenv("BURN_PLUGIN_PATH", test_plugins, 1), 0);
  expect_async("lazy:delay=100", "the interface burn.device of lazy", 390,
               4); /* staging memory, times and late failures */
  expect_async("'fusion<lazy:delay=100>'", "the interface burn.device of lazy", 390, 4);
  expect_async("lazy:delay=100,fail=exp --fails exp", "the interface burn.device of lazy", 24, 2);
  expect_async("'fusion<lazy:delay=100,fail=exp>' --fails exp", "the interface burn.device of lazy", 24, 2);
  assert_int_equal(unsetenv("BURN_PLUGIN_PATH"), 0);
  expect_pass("ndarray --level full --check async", 500);
}

/* What the test backend "lazy" does wrong, by its option wrong=. */
static void faults_of_work_in_flight_are_named(void **state) {
  (void)state;
  static const struct {
    const char *wrong, *part;
  } faults[] = {
      {"reads_late", "a read that was started before neg of the same tensor: element 0 is -1, not 1"},
      {"done_at_once", "event_query says that the read is done: element 0 is -777.25, not 1 (nothing was written"},
      {"waits_not", "a read that was started before neg of the same tensor: element 0 is "},
      {"waits_once", "the second time event_wait fails: lazy: the event was waited for before"},
      {"needs_data", "a create_async whose data was overwritten after its event: element 0 is 777.25, not -1"},
      {"writes_shared", "write_async into a tensor with two references gives 0, not FAILED_PRECONDITION (10)"},
      {"moves", "the address must stay"},
      {"copies_early", "copy_from, with neg of its source after it: element 0 is 0, not 1"},
      {"loses_failures", "the work of exp fails, but sync after it reports BURN_OK"},
      {"names_nothing", "the message of sync after it does not name it: lazy: some work has failed"},
      {"describes_beyond", "describe writes byte 192 of a struct whose struct_size is 192"},
      {"endless_text", "name has no terminating zero within its 128 bytes"},
      {"no_text", "name is not UTF-8: its byte 0 is 0xff"},
      {"leaks", "2 tensors of the backend are left over after everything was released"},
  };
  assert_int_equal(setenv("BURN_PLUGIN_PATH", test_plugins, 1), 0);
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    char arguments[160];
    int status = -1;
    snprintf(arguments, sizeof arguments, "lazy:delay=2000,fail=exp,wrong=%s --fails exp --level async",
             faults[i].wrong);
    cJSON *root = conform(arguments, &status), *failures = cJSON_GetObjectItem(root, "failures");
    const cJSON *failure;
    bool named = false;
    assert_int_equal(status, 1);
    cJSON_ArrayForEach(failure, failures) named = named || strstr(text_of(failure, "reason"), faults[i].part);
    if (!named)
      fail_msg("%s: no reason says \"%s\"; the first: %s", faults[i].wrong, faults[i].part,
               text_of(cJSON_GetArrayItem(failures, 0), "reason"));
    cJSON_Delete(root);
  }
  assert_int_equal(unsetenv("BURN_PLUGIN_PATH"), 0);
}

static void ops_can_be_left_out(void **state) {
  (void)state;
  int status = -1;
  cJSON *root = conform("ndarray --check forward --op add,sub,mul --skip sub", &status);
  const cJSON *ops = cJSON_GetObjectItem(root, "ops");
  assert_int_equal(status, 0);
  assert_int_equal(cJSON_GetArraySize(ops), 2);
  assert_null(cJSON_GetObjectItem(ops, "sub"));
  cJSON_Delete(root);
}

/* All of it takes a minute; what there is no time for is told, in the middle of an op, too. */
static void a_limit_ends_it(void **state) {
  (void)state;
  int status = -1, late = 0;
  cJSON *root = conform("ndarray --level full --limit 1", &status);
  const cJSON *skip;
  cJSON_ArrayForEach(skip, cJSON_GetObjectItem(root, "skips")) {
    if (strstr(text_of(skip, "reason"), "the time that --limit gives was over")) late += number(skip, "count");
  }
  assert_int_equal(status, 0);
  assert_true(late > 300); /* most ops of most checks */
  cJSON_Delete(root);
}

/* The first failure of a run that must have one: "sample: reason". */
static const char *failure_of(const char *arguments) {
  static char failure[1152];
  int status = -1;
  assert_int_equal(setenv("BURN_PLUGIN_PATH", test_plugins, 1), 0);
  cJSON *root = conform(arguments, &status);
  assert_int_equal(unsetenv("BURN_PLUGIN_PATH"), 0);
  if (status != 1) fail_msg("%s: exit status %d", arguments, status);
  const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "failures"), 0);
  assert_non_null(first);
  (void)snprintf(failure, sizeof failure, "%s: %s", text_of(first, "sample"), text_of(first, "reason"));
  cJSON_Delete(root);
  return failure;
}

/* What kernels and rules of a pack do not look at; the sample comes first. */
static void packs_that_look_away_are_found(void **state) {
  (void)state;
  static const struct {
    const char *arguments, *part, *other;
  } packs[] = {
      {"short_sighted --op short_sighted.scale", "short_sighted.scale(f32[3]) factor=0.5: result 0, element 0 is ", ""},
      {"short_sighted --op short_sighted.slope --level train --check gradients",
       "short_sighted.slope(f64[3]) factor=0.5: input 0, element 0: the gradient is ", ""},
      {"short_sighted --op short_sighted.weigh --check forward",
       "short_sighted.weigh(f32[3], none): crashes: ", "ends the process"},
      {"short_sighted --op short_sighted.stretched --check forward", "expanded along 1): result 0, element 0 is ", ""},
      {"short_sighted --op short_sighted.turned --check forward", "] transposed, f32[", "] transposed): result 0"},
      {"short_sighted --op short_sighted.never",
       "short_sighted.never: it was never run: its shape rule accepts none of the calls that were tried. Of "
       "short_sighted.never(f32[3]) it says: short_sighted.never: x has no seven axes. Section 4 of",
       ""},
      {"short_sighted --op short_sighted.never --check laws",
       "short_sighted.never: no sample of it ran, so nothing is known of it", ""},
      {"pack --op pack.scaled_add --on lazy --check forward",
       "pack.scaled_add(f32[3], f32[3]): result 0, element 0 is 20", "is 199"},
  };
  for (size_t i = 0; i < sizeof packs / sizeof packs[0]; i++) {
    const char *failure = failure_of(packs[i].arguments);
    const bool named = strstr(failure, packs[i].part) || (packs[i].other[0] && strstr(failure, packs[i].other));
    if (!named) fail_msg("%s: the failure lacks \"%s\": %s", packs[i].arguments, packs[i].part, failure);
  }
}

/* Required integers are searched for, and so is the dtype; what is put on another stack runs there. */
static void right_packs_pass(void **state) {
  (void)state;
  assert_int_equal(setenv("BURN_PLUGIN_PATH", test_plugins, 1), 0);
  expect_pass("short_sighted --op short_sighted.right --level train", 100);
  expect_pass("short_sighted --op short_sighted.right,short_sighted.bytes --on reference", 60);
  expect_pass("short_sighted --op short_sighted.bytes", 20);
  expect_pass("wrong --on reference --op neg,matmul", 90);
  int status = -1;
  cJSON *root = conform("short_sighted --op short_sighted.right --on reference --check forward", &status);
  assert_string_equal(text_of(root, "stack"), "reference");
  assert_string_equal(text_of(root, "pack"), "short_sighted");
  assert_int_equal(number(root, "skipped"), 0); /* all attributes were changed, all optional inputs left out */
  cJSON_Delete(root);
  assert_int_equal(unsetenv("BURN_PLUGIN_PATH"), 0);
}

/* A meeting of one member; one of two, which it tries, cannot take place in one thread. */
static void a_group_of_one_passes(void **state) {
  (void)state;
  expect_pass("collective --level train", 100);
}

/* A loss whose target is a float without a gradient. */
static void a_pack_may_leave_gradients_out(void **state) {
  (void)state;
  expect_pass("'" BURN_BUILD_DIR "/tests/broken_plugins/burn_pack.so' --level full --op pack.distance", 100);
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
  static const char *const wrong[] = {"ndarray --level much",
                                      "ndarray --level async --fails no_such_op",
                                      "ndarray --level async --fails neg",
                                      "ndarray --level full --fails exp",
                                      "ndarray --skip no_such_op",
                                      "ndarray --op no_such_op",
                                      "ndarray --check no_such_check",
                                      "",
                                      "''",
                                      "ndarray --case -1",
                                      "ndarray --op add --case 99999999",
                                      "ndarray --on reference",
                                      "trace --on no_such_backend",
                                      "short_sighted --op add",
                                      "short_sighted --skip add",
                                      "ndarray --op short_sighted.right",
                                      "'short_sighted<reference>'"};
  assert_int_equal(setenv("BURN_PLUGIN_PATH", test_plugins, 1), 0);
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    char command[512];
    snprintf(command, sizeof command, "'%s' conform %s >/dev/null 2>&1", burn, wrong[i]);
    const int status = system(command);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) != 2) fail_msg("%s: exit status %d", wrong[i], WEXITSTATUS(status));
  }
  assert_int_equal(unsetenv("BURN_PLUGIN_PATH"), 0);
}

static void a_stack_that_does_not_open_fails(void **state) {
  (void)state;
  int status = -1;
  cJSON *root = conform("ndarray:isa=none --op add", &status);
  assert_int_equal(status, 1);
  assert_true(number(root, "failed") > 0);
  cJSON_Delete(root);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(autocast_changes_products_only),
      cmocka_unit_test(validate_finds_nothing_in_a_right_backend),
      cmocka_unit_test(late_failures_are_failures),
      cmocka_unit_test(hangs_end),
      cmocka_unit_test(lies_in_headers_are_found),
      cmocka_unit_test(work_in_flight_is_right),
      cmocka_unit_test(faults_of_work_in_flight_are_named),
      cmocka_unit_test(ops_can_be_left_out),
      cmocka_unit_test(a_limit_ends_it),
      cmocka_unit_test(a_pack_may_leave_gradients_out),
      cmocka_unit_test(packs_that_look_away_are_found),
      cmocka_unit_test(right_packs_pass),
      cmocka_unit_test(a_group_of_one_passes),
      cmocka_unit_test(right_stacks_pass),
      cmocka_unit_test(faults_are_named),
      cmocka_unit_test(a_missing_dtype_is_told),
      cmocka_unit_test(without_a_fault_it_passes),
      cmocka_unit_test(one_case_runs_alone),
      cmocka_unit_test(wrong_words_are_refused),
      cmocka_unit_test(a_stack_that_does_not_open_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
