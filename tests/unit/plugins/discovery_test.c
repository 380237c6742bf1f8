/* discovery_test.c - plugins that hang, crash, exit, print and lie (tests/plugins/hostile_plugin.c): the burn command
 * and programs that name no stack live on, say which plugin it was, and do not pay for it twice. */
#define _GNU_SOURCE /* popen, mkdtemp */
#include "sanitized.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/plugin/plugin.h>
#include <burn/plugins.h>
#include <burn/text.h>

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(SANITIZED)
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif

#define HOSTILE BURN_BUILD_DIR "/tests/hostile_plugins"

/* A fresh place per test: cache, settings and plugins. */
static char place[64];

static int make_place(void **state) {
  (void)state;
  strcpy(place, "/tmp/burn-discovery-XXXXXX");
  return mkdtemp(place) ? 0 : -1;
}

static int remove_place(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -r %s", place);
  return system(command);
}

/* Time for one plugin: enough for a good one on a busy machine. */
static const char *limit(void) { return IS_SANITIZED ? "4" : "1"; }

enum { OUTPUT_BYTES = 1 << 20 };
static char output[OUTPUT_BYTES];

/* Runs a shell command with burn in the path and the given variables; stdout goes to `output`, stderr to place/log.
 * The exit status as a shell has it: 128 and the signal of what was killed. */
static int run(const char *variables, const char *command) {
  char line[2048];
  snprintf(line, sizeof line,
           "unset BURN_BACKEND BURN_PLUGIN_PATH BURN_PLUGIN_PATH_ONLY BURN_PROBE; PATH='%s/bin':\"$PATH\"; "
           "export PATH XDG_CONFIG_HOME=/nonexistent XDG_CACHE_HOME=%s/cache BURN_PROBE_SECONDS=%s %s; "
           "{ %s; } 2>%s/log",
           BURN_BUILD_DIR, place, limit(), variables, command, place);
  FILE *stream = popen(line, "r");
  assert_non_null(stream);
  output[fread(output, 1, OUTPUT_BYTES - 1, stream)] = '\0';
  const int status = pclose(stream);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int log_count(const char *text) {
  static char log[OUTPUT_BYTES];
  char path[96];
  snprintf(path, sizeof path, "%s/log", place);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  log[fread(log, 1, sizeof log - 1, file)] = '\0';
  fclose(file);
  int count = 0;
  for (const char *at = log; (at = strstr(at, text)); at++) count++;
  return count;
}

static bool log_has(const char *text) { return log_count(text) > 0; }

static void shell(const char *format, ...) BURN_PRINTF(1, 2);
static void shell(const char *format, ...) {
  char command[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(command, sizeof command, format, arguments);
  va_end(arguments);
  assert_int_equal(system(command), 0);
}

static cJSON *run_for_json(const char *variables, const char *command) {
  const int status = run(variables, command);
  if (status != 0) fail_msg("'%s' ended with %d", command, status);
  cJSON *root = cJSON_Parse(output);
  if (!root) fail_msg("'%s' printed no JSON: %.300s", command, output);
  return root;
}

static int number(const cJSON *object, const char *name) {
  const cJSON *item = cJSON_GetObjectItem(object, name);
  assert_true(cJSON_IsNumber(item));
  return item->valueint;
}

static const char *text_of(const cJSON *object, const char *name) {
  const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(object, name));
  assert_non_null(text);
  return text;
}

static const cJSON *plugin_in(const cJSON *root, const char *name) {
  const cJSON *item;
  cJSON_ArrayForEach(item, cJSON_GetObjectItem(root, "plugins")) {
    if (strcmp(text_of(item, "name"), name) == 0) return item;
  }
  fail_msg("%s is not listed", name);
  return NULL;
}

/* -- every kind of harm ------------------------------------------------------------------------ */

static const struct {
  const char *name, *refusal, *reason;
  bool quarantined;
} offenders[] = {
    {"hang_constructor", "hung", "s while it was loaded", true},
    {"hang_query", "hung", "s when it was asked what it is", true},
    {"hang_probe", "hung", "s in its probe for devices", true},
    {"crash_constructor", "crashed", "while it was loaded", true},
    {"crash_query", "crashed", "when it was asked what it is", true},
    {"crash_probe", "crashed", "in its probe for devices", true},
    {"wild_descriptor", "crashed", "when it was asked what it is", true},
    {"wild_table", "crashed", "when it was asked what it is", true},
    {"exit_probe", "exited", "it ended its process with exit status 3 in its probe", true},
    {"garbage", "bad_answer", "its process wrote something that is not an answer", true},
    {"truncated", "not_loadable", "cannot be loaded: ", false},
    {"data_entry", "no_entry", "burn_plugin_query_v0 is not a function", false},
    {"no_open", "bad_interface", "its interface burn.backend lacks the function open", false},
};
enum { OFFENDER_COUNT = sizeof offenders / sizeof offenders[0] };

static void check_offender(const cJSON *root, size_t i) {
  const cJSON *plugin = plugin_in(root, offenders[i].name);
  const char *refusal = text_of(plugin, "refusal"), *reason = text_of(plugin, "reason");
  /* A sanitizer makes an exit of a crash. */
  const bool same = strcmp(refusal, offenders[i].refusal) == 0 ||
                    (IS_SANITIZED && strcmp(offenders[i].refusal, "crashed") == 0 && strcmp(refusal, "exited") == 0);
  if (!same || !strstr(reason, offenders[i].reason)) fail_msg("%s: %s: %s", offenders[i].name, refusal, reason);
  assert_true(cJSON_IsFalse(cJSON_GetObjectItem(plugin, "usable")));
  assert_true(strlen(text_of(plugin, "help")) > 10);
  assert_true(strstr(text_of(plugin, "path"), offenders[i].name));
  assert_int_equal(text_of(plugin, "quarantined_since")[0] != '\0', offenders[i].quarantined);
}

/* All of them, the truncated one too, in place/all. */
static const char *all_hostile(void) {
  static char variables[192];
  shell(
      "mkdir -m 755 %s/all && cp %s/*.so %s/all && cd %s/all && size=$(wc -c <burn_zero_status.so) && "
      "head -c $((size / 3)) burn_zero_status.so >burn_truncated.so",
      place, HOSTILE, place, place);
  snprintf(variables, sizeof variables, "BURN_PLUGIN_PATH=%s/all", place);
  return variables;
}

static void test_backends_names_every_offender(void **state) {
  (void)state;
  cJSON *root = run_for_json(all_hostile(), "burn backends --json");
  for (size_t i = 0; i < OFFENDER_COUNT; i++) check_offender(root, i);
  assert_true(cJSON_IsTrue(cJSON_GetObjectItem(plugin_in(root, "ndarray"), "usable")));
  assert_int_equal(number(plugin_in(root, "closed_winner"), "score"), 99999);
  assert_true(log_has("a constructor was here"));
  assert_null(strstr(output, "a constructor was here"));
  cJSON_Delete(root);
}

/* The array was cleared before, the count is cut, and what is not UTF-8 is replaced. */
static void test_devices_that_were_not_filled_are_not_listed(void **state) {
  (void)state;
  cJSON *root = run_for_json("BURN_PLUGIN_PATH=" HOSTILE, "burn backends --json");
  const cJSON *plugin = plugin_in(root, "many_devices"), *devices = cJSON_GetObjectItem(plugin, "devices");
  assert_int_equal(cJSON_GetArraySize(devices), 3);
  assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(devices, 0)), "caf? ?[31m");
  assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(devices, 1)), "(no name)");
  assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(devices, 2)), "third");
  assert_true(burn_text_is_clean(output));
  assert_int_equal(strspn(text_of(plugin, "reason"), "?"), sizeof((BurnProbe *)NULL)->reason - 1);
  cJSON_Delete(root);
}

static void test_doctor_survives_and_shows_who_was_passed_over(void **state) {
  (void)state;
  const char *variables = all_hostile();
  cJSON *root = run_for_json(variables, "burn doctor --json");
  for (size_t i = 0; i < OFFENDER_COUNT; i++) check_offender(root, i);
  const cJSON *choice = cJSON_GetObjectItem(root, "choice");
  assert_string_equal(text_of(choice, "stack"), "closed_winner");
  assert_string_equal(text_of(choice, "opened"), "ndarray");
  assert_true(strstr(text_of(choice, "passed_over"),
                     "closed_winner (score 99999): open 'closed_winner': the device is not what"));
  assert_true(cJSON_IsTrue(cJSON_GetObjectItem(choice, "suits")));
  cJSON_Delete(root);
  assert_int_equal(run(variables, "burn doctor"), 0);
  assert_non_null(strstr(output, "in quarantine since 2"));
  assert_non_null(strstr(output, "PASSED OVER, as they did not open: closed_winner (score 99999)"));
}

/* Of the stack for training the one for inference is known, unless decorators are named. */
static void test_backends_opens_what_is_chosen_once(void **state) {
  (void)state;
  static const char passed_over[] = "\n             passed over, as they did not open: closed_winner (score 99999)";
  assert_int_equal(run("BURN_PLUGIN_PATH=" HOSTILE, "burn backends"), 0);
  assert_int_equal(log_count("backend 'closed_winner' has the highest score (99999) but did not open"), 1);
  const char *inference = strstr(output, "\n  inference  ndarray\n");
  const char *training = strstr(output, "\n  training   autodiff<ndarray>\n");
  assert_true(inference && training && inference < training);
  assert_true(strncmp(strchr(inference + 1, '\n'), passed_over, strlen(passed_over)) == 0);
  assert_true(strncmp(strchr(training + 1, '\n'), passed_over, strlen(passed_over)) == 0);
  assert_int_equal(run("BURN_BACKEND='autodiff<ndarray>'", "burn backends"), 0);
  assert_non_null(strstr(output, "\n  inference  autodiff<ndarray>\n  training   autodiff<ndarray>\n"));
  assert_int_equal(run("BURN_BACKEND=trace+ndarray", "burn backends"), 0);
  assert_non_null(strstr(output, "\n  inference  trace<ndarray>\n  training   autodiff<trace<ndarray>>\n"));
}

/* A backend whose open ends the process has no bad probe: doctor finds it out, opens it once, and programs are rid of
 * it. */
static void test_what_crashes_when_it_is_opened_is_found_by_doctor(void **state) {
  (void)state;
  static const char crash_open[] = "BURN_PLUGIN_PATH=" HOSTILE "/open", opened[] = "crash_open is opened";
  assert_int_not_equal(run(crash_open, "xor"), 0);
  assert_int_equal(log_count(opened), 1);
  cJSON *root = run_for_json(crash_open, "burn doctor --json");
  assert_int_equal(log_count(opened), 1);
  const cJSON *plugin = plugin_in(root, "crash_open"), *choice = cJSON_GetObjectItem(root, "choice");
  assert_true(cJSON_IsFalse(cJSON_GetObjectItem(plugin, "usable")));
  assert_string_equal(text_of(plugin, "refusal"), IS_SANITIZED ? "exited" : "crashed");
  assert_non_null(strstr(text_of(plugin, "reason"), "opening crash_open: it "));
  assert_int_equal(strlen(text_of(plugin, "quarantined_since")), strlen("2026-01-31 16:20:05 UTC"));
  assert_string_equal(text_of(choice, "opened"), "ndarray");
  cJSON *candidate = cJSON_GetArrayItem(cJSON_GetObjectItem(choice, "candidates"), 0);
  assert_string_equal(text_of(candidate, "name"), "crash_open");
  assert_int_equal(number(candidate, "score"), INT32_MAX);
  cJSON_Delete(root);
  assert_int_equal(run(crash_open, "xor"), 0);
  assert_false(log_has(opened));
  assert_int_equal(run(crash_open, "burn doctor"), 0);
  assert_non_null(strstr(output, "in quarantine since 2"));
  assert_false(log_has(opened));
  assert_int_equal(run(crash_open, "burn doctor --retry"), 0);
  assert_non_null(strstr(output, "crash_open   score 2147483647, does not suit: opening crash_open: it "));
  assert_int_equal(log_count(opened), 1);
  assert_int_not_equal(run(crash_open, "xor --backend crash_open"), 0); /* whoever names it gets it */
  assert_true(log_has(opened));
  assert_int_equal(run(crash_open, "burn doctor --retry --stack crash_open"), 1);
  assert_int_equal(log_count(opened), 1);
  assert_non_null(strstr(output, "PROBLEM: opening crash_open: it "));
}

/* The decorator that trains is on top of every backend: its end is none of theirs. */
static void test_a_decorator_puts_no_backend_into_quarantine(void **state) {
  (void)state;
  static const char hostile_autodiff[] = "BURN_PLUGIN_PATH=" HOSTILE "/decorator";
  assert_int_equal(run(hostile_autodiff, "burn doctor --need train --json"), 1);
  cJSON *root = cJSON_Parse(output);
  assert_non_null(strstr(text_of(cJSON_GetObjectItem(root, "choice"), "problem"), ": it "));
  assert_true(cJSON_IsTrue(cJSON_GetObjectItem(plugin_in(root, "ndarray"), "usable")));
  assert_true(cJSON_IsTrue(cJSON_GetObjectItem(plugin_in(root, "reference"), "usable")));
  cJSON_Delete(root);
}

/* In the list of the same process, too, which stays sorted. */
static void test_quarantine_needs_a_reason_and_a_plugin(void **state) {
  (void)state;
  const BurnStatus status = burn_plugin_quarantine("ndarray", "no_device", "none");
  assert_string_equal(burn_status_message(status),
                      "plugin_quarantine: 'no_device' is not a reason for it; crashed, hung and exited are");
  setenv("XDG_CACHE_HOME", place, 1);
  assert_string_equal(burn_status_message(burn_plugin_quarantine("nosuch", "hung", "it hangs")),
                      "plugin_quarantine: there is no usable plugin 'nosuch' in a file");
  const size_t count = burn_plugin_count();
  assert_int_equal(burn_plugin_quarantine("reference", "hung", "it hangs"), BURN_OK);
  assert_int_equal(burn_plugin_count(), count);
  for (size_t i = 0; i < count; i++) {
    const BurnPluginInfo *info = burn_plugin_info(i);
    if (strcmp(info->name, "reference") != 0) continue;
    assert_true(!info->usable && info->quarantined_since > 0);
    assert_string_equal(info->reason, "it hangs");
    assert_true(i + 1 == count || !burn_plugin_info(i + 1)->usable);
  }
  assert_int_equal(burn_status_code(burn_plugin_quarantine("reference", "hung", "it hangs")), BURN_STATUS_NOT_FOUND);
}

/* -- programs ---------------------------------------------------------------------------------- */

static void test_a_program_without_a_stack_gets_the_next_backend(void **state) {
  (void)state;
  assert_int_equal(run("BURN_PLUGIN_PATH=" HOSTILE, "xor"), 0);
  assert_true(
      log_has("backend 'closed_winner' has the highest score (99999) but did not open: open 'closed_winner': "
              "the device is not what probe said it was; the next one is tried"));
  assert_true(log_has("burn_crash_probe.so is in quarantine: it "));
}

static void test_a_named_stack_pays_for_nobody_else(void **state) {
  (void)state;
  assert_int_equal(run("BURN_LOG=info BURN_PLUGIN_PATH=" HOSTILE, "xor --backend ndarray"), 0);
  assert_true(log_has("loading ") && !log_has("probing ") && !log_has("hostile_plugins"));
  assert_int_equal(run("BURN_PLUGIN_PATH=" HOSTILE, "xor --backend closed_winner"), 1); /* and falls back to nobody */
  assert_true(log_has("open 'closed_winner': the device is not what probe said it was"));
}

static void test_when_none_opens_each_has_its_reason(void **state) {
  (void)state;
  char variables[192];
  shell("mkdir -m 755 %s/few && cp %s/burn_closed_winner.so %s/burn_crash_probe.so %s/burn_no_open.so %s/few", place,
        HOSTILE, HOSTILE, HOSTILE, place);
  snprintf(variables, sizeof variables, "BURN_PLUGIN_PATH_ONLY=1 BURN_PLUGIN_PATH=%s/few", place);
  assert_int_equal(run(variables, "burn ops"), 1);
  assert_true(
      log_has("there is no backend that can be used. closed_winner (score 99999): open 'closed_winner': the device"));
  assert_true(log_has("crash_probe: it "));
  assert_true(log_has("no_open: its interface burn.backend lacks the function open"));
}

static void test_a_status_without_a_code_is_a_failure_that_says_so(void **state) {
  (void)state;
  assert_int_equal(burn_status_code((BurnStatus)7 << 8), BURN_STATUS_INTERNAL);
  assert_int_equal(run("BURN_PLUGIN_PATH=" HOSTILE, "xor --backend zero_status 2>&1"), 1);
  assert_non_null(strstr(output, "a plugin returned a status with a serial number but without a code"));
  assert_null(strstr(output, "ok"));
}

/* -- verdicts that are kept -------------------------------------------------------------------- */

static const char only_good[] = "BURN_LOG=info";

static void test_the_second_look_starts_no_process(void **state) {
  (void)state;
  const char *variables = all_hostile();
  char with_log[256];
  snprintf(with_log, sizeof with_log, "BURN_LOG=info %s", variables);
  assert_int_equal(run(with_log, "burn backends --json"), 0);
  assert_true(log_has("probing "));
  cJSON *root = run_for_json(with_log, "burn backends --json");
  assert_false(log_has("probing "));
  for (size_t i = 0; i < OFFENDER_COUNT; i++) check_offender(root, i);
  cJSON_Delete(root);
}

static void test_a_new_file_is_looked_at_again(void **state) {
  (void)state;
  char variables[192];
  shell("mkdir -m 755 %s/few && cp %s/burn_exit_probe.so %s/burn_crash_probe.so %s/few", place, HOSTILE, HOSTILE,
        place);
  snprintf(variables, sizeof variables, "BURN_LOG=info BURN_PLUGIN_PATH=%s/few", place);
  assert_int_equal(run(variables, "burn backends --json"), 0);
  shell("cp %s/burn_prints.so %s/few/burn_exit_probe.so && mv %s/few/burn_exit_probe.so %s/few/burn_prints.so", HOSTILE,
        place, place, place);
  shell("touch -d '2020-01-01' %s/few/burn_crash_probe.so", place);
  cJSON *root = run_for_json(variables, "burn backends --json");
  assert_true(log_has("probing ") && log_has("few/burn_prints.so in a process") &&
              log_has("few/burn_crash_probe.so in a"));
  assert_false(log_has("burn_ndarray.so in a process"));
  assert_true(cJSON_IsTrue(cJSON_GetObjectItem(plugin_in(root, "prints"), "usable")));
  cJSON_Delete(root);
}

static void test_doctor_tries_again_when_asked(void **state) {
  (void)state;
  assert_int_equal(run(only_good, "burn doctor --json"), 0);
  assert_true(log_has("burn_ndarray.so in a process"));
  assert_int_equal(run(only_good, "burn doctor --json"), 0);
  assert_false(log_has("burn_ndarray.so in a process"));
  assert_int_equal(run(only_good, "burn doctor --retry --json"), 0);
  assert_true(log_has("burn_ndarray.so in a process"));
}

/* What drivers see has changed: backends are asked again, decorators are not. */
static void test_devices_are_asked_for_again_on_another_machine(void **state) {
  (void)state;
  assert_int_equal(run(only_good, "burn backends --json"), 0);
  assert_int_equal(run("BURN_LOG=info CUDA_VISIBLE_DEVICES=7", "burn backends --json"), 0);
  assert_true(log_has("burn_ndarray.so in a process"));
  assert_false(log_has("burn_autodiff.so in a process"));
  assert_int_equal(run("BURN_LOG=info BURN_VULKAN_LOADER=/nowhere", "burn backends --json"), 0);
  assert_true(log_has("burn_ndarray.so in a process"));
}

/* With less memory or stack a right plugin may crash: nobody else is to believe that. */
static void test_verdicts_hold_under_the_same_limits(void **state) {
  (void)state;
  assert_int_equal(run(only_good, "burn backends --json"), 0);
  assert_int_equal(run(only_good, "burn backends --json"), 0);
  assert_false(log_has("probing "));
  assert_int_equal(run(only_good, "ulimit -S -s 4000; burn backends --json"), 0);
  assert_true(log_has("burn_ndarray.so in a process") && log_has("burn_autodiff.so in a process"));
  assert_int_equal(run(only_good, "burn backends --json"), 0);
  assert_true(log_has("burn_ndarray.so in a process") && log_has("burn_autodiff.so in a process"));
}

static void test_an_old_answer_of_a_backend_does_not_count(void **state) {
  (void)state;
  assert_int_equal(run(only_good, "burn backends --json"), 0);
  shell("sed -i 's/\"found\":.*/\"found\": \"%lld\",/' %s/cache/burn/plugins.json", (long long)time(NULL) - 3700,
        place);
  assert_int_equal(run(only_good, "burn backends --json"), 0);
  assert_true(log_has("burn_ndarray.so in a process"));
  assert_false(log_has("burn_autodiff.so in a process"));
}

/* A file that others could have written, or that is broken, says nothing; it is written anew. */
static void test_verdicts_of_others_are_not_believed(void **state) {
  (void)state;
  static const char *const damages[] = {
      "chmod 666 %s/cache/burn/plugins.json",
      "head -c 700 %s/cache/burn/plugins.json >%s/cut && mv %s/cut %s/cache/burn/plugins.json",
      "sed -i 's/\"kind\":.*/\"kind\": \"toaster\",/' %s/cache/burn/plugins.json",
      "sed -i 's/\"score\":.*/\"score\": -4,/' %s/cache/burn/plugins.json",
      "sed -i 's/\"refusal\":.*/\"refusal\": \"whim\",/' %s/cache/burn/plugins.json",
  };
  for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
    assert_int_equal(run(only_good, "burn backends --json"), 0);
    char command[512];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(command, sizeof command, damages[i], place, place, place, place);
#pragma GCC diagnostic pop
    shell("%s", command);
    cJSON *root = run_for_json(only_good, "burn backends --json");
    if (!log_has("burn_ndarray.so in a process")) fail_msg("believed after %s", command);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(plugin_in(root, "ndarray"), "usable")));
    cJSON_Delete(root);
  }
}

/* -- without a child --------------------------------------------------------------------------- */

/* The last that is said before the end is the file. */
static void test_in_process_the_file_is_named_before_it_is_loaded(void **state) {
  (void)state;
  char variables[256];
  shell("mkdir -m 755 %s/one && cp %s/burn_crash_constructor.so %s/one", place, HOSTILE, place);
  snprintf(variables, sizeof variables,
           "BURN_LOG=info BURN_PROBE=in-process BURN_PLUGIN_PATH_ONLY=1 BURN_PLUGIN_PATH=%s/one", place);
  assert_int_not_equal(run(variables, "burn backends --json"), 0);
  assert_true(log_has("loading ") && log_has("one/burn_crash_constructor.so") && !log_has("loaded "));
  assert_true(access(place, F_OK) == 0);
  assert_int_equal(run("BURN_LOG=info BURN_PROBE=in-process", "burn backends --json"), 0);
  assert_true(log_has("loading ") && !log_has("probing "));
}

/* libburn without burn_probe beside it still finds its plugins, and says that it looks at them itself. */
static void test_without_the_program_it_is_said(void **state) {
  (void)state;
  shell(
      "mkdir -p -m 755 %s/tree/bin %s/tree/lib/burn/plugins && cp %s/bin/burn %s/tree/bin && "
      "cp -L %s/lib/libburn*.so.0 %s/tree/lib && cp %s/lib/burn/plugins/burn_ndarray.so %s/tree/lib/burn/plugins",
      place, place, BURN_BUILD_DIR, place, BURN_BUILD_DIR, place, BURN_BUILD_DIR, place);
  char command[192];
  snprintf(command, sizeof command, "LD_LIBRARY_PATH=%s/tree/lib %s/tree/bin/burn backends --json", place, place);
  cJSON *root = run_for_json("BURN_LOG=warn", command);
  assert_true(
      log_has("plugins are probed in this process, where a faulty one can harm it: burn_probe cannot be run: "));
  const cJSON *plugin = plugin_in(root, "ndarray");
  assert_non_null(strstr(text_of(plugin, "path"), "/tree/lib/burn/plugins/"));
  assert_true(cJSON_IsTrue(cJSON_GetObjectItem(plugin, "usable")));
  cJSON_Delete(root);
}

/* The program is libburn's; people get a word. */
static void test_the_program_is_for_libburn_alone(void **state) {
  (void)state;
  assert_int_equal(run("", BURN_BUILD_DIR "/lib/burn/burn_probe /some/where 2>&1"), 2);
  assert_non_null(strstr(output, "libburn runs this program"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)
int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_backends_names_every_offender),
      TEST(test_devices_that_were_not_filled_are_not_listed),
      TEST(test_doctor_survives_and_shows_who_was_passed_over),
      TEST(test_backends_opens_what_is_chosen_once),
      TEST(test_what_crashes_when_it_is_opened_is_found_by_doctor),
      TEST(test_a_decorator_puts_no_backend_into_quarantine),
      TEST(test_quarantine_needs_a_reason_and_a_plugin),
      TEST(test_a_program_without_a_stack_gets_the_next_backend),
      TEST(test_a_named_stack_pays_for_nobody_else),
      TEST(test_when_none_opens_each_has_its_reason),
      TEST(test_a_status_without_a_code_is_a_failure_that_says_so),
      TEST(test_the_second_look_starts_no_process),
      TEST(test_a_new_file_is_looked_at_again),
      TEST(test_doctor_tries_again_when_asked),
      TEST(test_devices_are_asked_for_again_on_another_machine),
      TEST(test_verdicts_hold_under_the_same_limits),
      TEST(test_an_old_answer_of_a_backend_does_not_count),
      TEST(test_verdicts_of_others_are_not_believed),
      TEST(test_in_process_the_file_is_named_before_it_is_loaded),
      TEST(test_without_the_program_it_is_said),
      TEST(test_the_program_is_for_libburn_alone),
  };
  return cmocka_run_group_tests_name("discovery", tests, NULL, NULL);
}
