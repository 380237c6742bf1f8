/* common_autotune_test.c - the tuner of the backends (plugins/common/autotune.c): what it picks, how often it times,
 * what the file may look like. Time is a counter of the test's own, so nothing depends on the machine, but where other
 * processes have to disturb it. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "forked.h"

#include <burn/common/autotune.h>
#include <burn/op_call.h>
#include <sys/stat.h>
#if defined(__linux__)
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#endif

static uint64_t fake_time;
static uint64_t BURN_API_CALL fake_now(void) { return fake_time; }

/* The library's host with that clock. */
static BurnHost fake_host(void) {
  BurnHost host = *burn_host();
  host.now_ns = fake_now;
  return host;
}

/* Ways that take 300, 100 and 200 ns. */
typedef struct Work {
  int runs[3];
} Work;
static void run_way(void *context, uint32_t candidate) {
  static const uint64_t costs[] = {300, 100, 200};
  ((Work *)context)->runs[candidate]++;
  fake_time += costs[candidate];
}

static const char *const names[] = {"slow", "fast", "middle"};
static BurnCommonTuneChoice choice_of(Work *work, int64_t number) {
  return (BurnCommonTuneChoice){.work = "test_work",
                                .numbers = {number, -1},
                                .names = names,
                                .count = 3,
                                .fallback = 2,
                                .run = run_way,
                                .context = work};
}

/* Longer, three times, than a machine can be. */
#define LONG_NAME "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static char folder[256], path[300];

static int make_folder_of_test(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "%s/burn_autotune_test_XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
  if (!mkdtemp(folder)) return -1;
  snprintf(path, sizeof path, "%s/cache/burn/choices.txt", folder);
  return 0;
}

static void write_choices(const char *text) {
  char command[700];
  snprintf(command, sizeof command, "mkdir -p '%s/cache/burn'", folder);
  assert_int_equal(system(command), 0);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

/* What a new process takes. */
static uint32_t tune_anew(const char *machine, const BurnCommonTuneChoice *choice) {
  const BurnHost host = fake_host();
  BurnCommonTuner *tuner = burn_common_tuner_create(&host, BURN_COMMON_TUNE_QUICK, machine, path);
  const uint32_t winner = burn_common_tune(tuner, choice);
  assert_int_equal(burn_common_tune(tuner, choice), winner);
  burn_common_tuner_destroy(tuner);
  return winner;
}

/* Runs of a way in one measurement: eight rounds, and a run before each but the first. */
enum { RUNS = 15 };

static void test_the_fastest_is_taken_and_remembered(void **state) {
  (void)state;
  const BurnHost host = fake_host();
  Work work = {{0}};
  BurnCommonTuner *tuner = burn_common_tuner_create(&host, BURN_COMMON_TUNE_QUICK, "cpu 2", path);
  for (int i = 0; i < 5; i++) {
    const BurnCommonTuneChoice choice = choice_of(&work, 7);
    assert_int_equal(burn_common_tune(tuner, &choice), 1);
  }
  assert_int_equal(work.runs[0], RUNS); /* once only */
  burn_common_tuner_destroy(tuner);
  const BurnCommonTuneChoice again = choice_of(&work, 7), other = choice_of(&work, 8);
  assert_int_equal(tune_anew("cpu 2", &again), 1);
  assert_int_equal(work.runs[0], 2 * RUNS); /* once more, by a second process */
  assert_int_equal(tune_anew("cpu 2", &again), 1);
  assert_int_equal(work.runs[0], 2 * RUNS);
  assert_int_equal(tune_anew("cpu 2", &other), 1);
  assert_int_equal(work.runs[0], 3 * RUNS);
  assert_int_equal(tune_anew("cpu 4", &again), 1); /* another machine */
  assert_int_equal(work.runs[0], 4 * RUNS);
}

#define CHOSEN(way) "cpu 2\ttest_work\t7,-1,0,0,0,0,0,0,0,0,0,0\t" way "\t1\n"

/* What was measured while the machine was busy does not stay. */
static void test_two_measurements_have_to_agree(void **state) {
  (void)state;
  static const struct {
    const char *file;
    uint32_t taken;
    int runs;
  } cases[] = {
      {CHOSEN("slow"), 1, RUNS},
      {CHOSEN("slow") CHOSEN("fast"), 1, RUNS},
      {CHOSEN("slow") CHOSEN("fast") CHOSEN("fast"), 1, 0},
      {CHOSEN("slow") CHOSEN("slow"), 0, 0},
      {CHOSEN("slow") CHOSEN("slow") CHOSEN("fast") CHOSEN("fast"), 0, 0},
      {CHOSEN("slow") CHOSEN("fast") CHOSEN("slow"), 1, RUNS},
      {CHOSEN("slow") CHOSEN("fast") CHOSEN("slow") CHOSEN("fast"), 2, 0}, /* the rule's */
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    Work work = {{0}};
    const BurnCommonTuneChoice choice = choice_of(&work, 7);
    write_choices(cases[i].file);
    assert_int_equal(tune_anew("cpu 2", &choice), cases[i].taken);
    assert_int_equal(work.runs[0], cases[i].runs);
  }
}

/* The rule's way takes 1000 ns, the other one the context's. */
static void run_near_way(void *context, uint32_t candidate) {
  fake_time += candidate == 0 ? 1000 : *(const uint64_t *)context;
}

/* A way that gains little may have had luck. */
static void test_the_rule_stays_unless_another_way_is_clearly_faster(void **state) {
  (void)state;
  static const char *const ways[] = {"rule", "other"};
  static const uint64_t costs[] = {800, 950, 1200};
  const BurnHost host = fake_host();
  for (uint32_t i = 0; i < 3; i++) {
    uint64_t cost = costs[i];
    const BurnCommonTuneChoice choice = {
        .work = "near_work", .names = ways, .count = 2, .run = run_near_way, .context = &cost};
    BurnCommonTuner *tuner = burn_common_tuner_create(&host, BURN_COMMON_TUNE_QUICK, "cpu 2", NULL);
    assert_int_equal(burn_common_tune(tuner, &choice), i == 0);
    burn_common_tuner_destroy(tuner);
  }
}

/* Ways that take the same, but for other work, which has the processor at two calls of four. */
static void run_disturbed_way(void *context, uint32_t candidate) {
  (void)candidate;
  fake_time += (*(uint32_t *)context)++ / 2 % 2 == 0 ? 3000 : 1000;
}

static void test_the_rule_stays_where_others_win_by_turns(void **state) {
  (void)state;
  static const char *const ways[] = {"rule", "other"};
  const BurnHost host = fake_host();
  for (uint32_t before = 0; before < 4; before++) {
    uint32_t calls = before;
    const BurnCommonTuneChoice choice = {
        .work = "disturbed_work", .names = ways, .count = 2, .run = run_disturbed_way, .context = &calls};
    BurnCommonTuner *tuner = burn_common_tuner_create(&host, BURN_COMMON_TUNE_QUICK, "cpu 2", NULL);
    assert_int_equal(burn_common_tune(tuner, &choice), 0);
    burn_common_tuner_destroy(tuner);
  }
}

/* The rule's way takes 1000 ns, the other one more than that after the rule's, and less after itself, as in use. */
static void run_way_that_warms_up(void *context, uint32_t candidate) {
  uint32_t *last = (uint32_t *)context;
  fake_time += candidate == 0 ? 1000 : *last == candidate ? 500 : 1500;
  *last = candidate;
}

static void test_a_short_run_comes_after_one_of_its_way(void **state) {
  (void)state;
  static const char *const ways[] = {"rule", "other"};
  const BurnHost host = fake_host();
  uint32_t last = 0;
  const BurnCommonTuneChoice choice = {
      .work = "warm_work", .names = ways, .count = 2, .run = run_way_that_warms_up, .context = &last};
  BurnCommonTuner *tuner = burn_common_tuner_create(&host, BURN_COMMON_TUNE_QUICK, "cpu 2", NULL);
  assert_int_equal(burn_common_tune(tuner, &choice), 1);
  burn_common_tuner_destroy(tuner);
}

/* Works for some milliseconds, the second way for fewer. */
static void run_long_way(void *context, uint32_t candidate) {
  const BurnHost *host = burn_host();
  (void)context;
  for (const uint64_t end = host->now_ns() + (candidate == 0 ? 8000000 : 3000000); host->now_ns() < end;) continue;
}

/* The tuner's choice between the two. */
static uint32_t tune_long(int64_t number) {
  static const char *const ways[] = {"rule", "other"};
  const BurnCommonTuneChoice choice = {
      .work = "long_work", .numbers = {number}, .names = ways, .count = 2, .run = run_long_way};
  BurnCommonTuner *tuner = burn_common_tuner_create(burn_host(), BURN_COMMON_TUNE_FULL, "cpu 2", path);
  const uint32_t winner = burn_common_tune(tuner, &choice);
  burn_common_tuner_destroy(tuner);
  return winner;
}

/* Another process computes on the one processor that this one may use. */
static void test_a_disturbed_measurement_does_not_count(void **state) {
  (void)state;
#if defined(__linux__)
  cpu_set_t before, one;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  const int processor = sched_getcpu();
  if (processor < 0) skip();
  CPU_SET((size_t)processor, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  const pid_t other = fork();
  if (other == 0) {
    alarm(30); /* whatever becomes of the test */
    for (;;) continue;
  }
  assert_true(other > 0);
  struct rusage usage, later;
  assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
  write_choices("");
  assert_int_equal(tune_long(1), 0);
  assert_int_equal(getrusage(RUSAGE_SELF, &later), 0);
  assert_int_equal(kill(other, SIGKILL), 0);
  assert_int_equal(waitpid(other, NULL, 0), other);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
  if (later.ru_nivcsw == usage.ru_nivcsw) {
    print_message("this system does not count involuntary switches\n");
    skip();
  }
  struct stat found;
  assert_int_equal(stat(path, &found), 0);
  assert_int_equal(found.st_size, 0);
#else
  skip();
#endif
}

static void test_off_times_nothing(void **state) {
  (void)state;
  const BurnHost host = fake_host();
  Work work = {{0}};
  const BurnCommonTuneChoice choice = choice_of(&work, 7);
  BurnCommonTuner *tuner = burn_common_tuner_create(&host, BURN_COMMON_TUNE_OFF, "cpu 2", path);
  assert_int_equal(burn_common_tune(tuner, &choice), 2);
  assert_int_equal(burn_common_tune(NULL, &choice), 2);
  assert_int_equal(work.runs[0] + work.runs[1] + work.runs[2], 0);
  burn_common_tuner_destroy(tuner);
}

/* Nobody writes into the pipe: it is done without. */
static void test_a_pipe_in_place_of_the_file_is_passed_over(void **state) {
  (void)state;
  const BurnHost host = fake_host();
  Work work = {{0}};
  const BurnCommonTuneChoice choice = choice_of(&work, 7);
  write_choices("");
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkfifo(path, 0600), 0);
  alarm(10); /* instead of waiting for ever */
  BurnCommonTuner *tuner = burn_common_tuner_create(&host, BURN_COMMON_TUNE_QUICK, "cpu 2", path);
  assert_int_equal(burn_common_tune(tuner, &choice), 1);
  burn_common_tuner_destroy(tuner);
  alarm(0);
  assert_int_equal(unlink(path), 0);
}

/* Lines that are none, that name ways unknown here, and that are cut off. */
static void test_a_hostile_file_is_passed_over(void **state) {
  (void)state;
  static const char *const texts[] = {
      "",
      "\n\n\t\t\t\n",
      "cpu 2\ttest_work\t7,-1,0,0,0,0,0,0,0,0,0\tfast\t1\n",     /* a number short */
      "cpu 2\ttest_work\t7,-1,0,0,0,0,0,0,0,0,0,0,9\tfast\t1\n", /* one too many */
      "cpu 2\ttest_work\t7,-1,0,0,0,0,0,0,0,0,0,99999999999999999999999999999999999999999999999\n",
      "cpu 2\ttest_work\t7,-1,x,0,0,0,0,0,0,0,0,0\tfast\t1\n",
      "cpu 2\ttest_work",
      LONG_NAME LONG_NAME LONG_NAME "\ttest_work\t1\tfast\n",
  };
  const BurnHost host = fake_host();
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    write_choices(texts[i]);
    Work work = {{0}};
    const BurnCommonTuneChoice choice = choice_of(&work, 7);
    BurnCommonTuner *tuner = burn_common_tuner_create(&host, BURN_COMMON_TUNE_QUICK, "cpu 2", path);
    assert_int_equal(burn_common_tune(tuner, &choice), 1);
    if (work.runs[0] != RUNS) fail_msg("line %d was taken for a choice", (int)i);
    burn_common_tuner_destroy(tuner);
  }
  write_choices(CHOSEN("gone") CHOSEN("gone")); /* a way that this release does not have */
  Work work = {{0}};
  const BurnCommonTuneChoice choice = choice_of(&work, 7);
  BurnCommonTuner *tuner = burn_common_tuner_create(&host, BURN_COMMON_TUNE_QUICK, "cpu 2", path);
  assert_int_equal(burn_common_tune(tuner, &choice), 2);
  burn_common_tuner_destroy(tuner);
}

static void test_without_a_place_to_write(void **state) {
  (void)state;
  const BurnHost host = fake_host();
  Work work = {{0}};
  const BurnCommonTuneChoice choice = choice_of(&work, 7);
  BurnCommonTuner *tuner =
      burn_common_tuner_create(&host, BURN_COMMON_TUNE_FULL, "cpu 2", NO_FOLDER "/x/y/choices.txt");
  assert_int_equal(burn_common_tune(tuner, &choice), 1);
  assert_int_equal(burn_common_tune(tuner, &choice), 1);
  assert_int_equal(work.runs[0], 19); /* ten rounds */
  burn_common_tuner_destroy(tuner);
}

static void test_environment(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint32_t mode;
    bool known;
  } modes[] = {{"off", BURN_COMMON_TUNE_OFF, true},
               {"quick", BURN_COMMON_TUNE_QUICK, true},
               {"full", BURN_COMMON_TUNE_FULL, true},
               {"", BURN_COMMON_TUNE_QUICK, true},
               {"fast", BURN_COMMON_TUNE_QUICK, false}};
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    bool known = false;
    setenv("BURN_AUTOTUNE", modes[i].text, 1);
    assert_int_equal(burn_common_tune_mode(&known), modes[i].mode);
    assert_int_equal(known, modes[i].known);
  }
  unsetenv("BURN_AUTOTUNE");
  char found[300];
  setenv("XDG_CACHE_HOME", folder, 1);
  burn_common_tune_path(found, sizeof found, "cuda", "1.2.3");
  char expected[330];
  snprintf(expected, sizeof expected, "%s/burn/autotune-cuda-1.2.3.txt", folder);
  assert_string_equal(found, expected);
  setenv("XDG_CACHE_HOME", "relative", 1); /* is to be ignored, by its specification */
  setenv("HOME", folder, 1);
  burn_common_tune_path(found, sizeof found, "cuda", "1.2.3");
  snprintf(expected, sizeof expected, "%s/.cache/burn/autotune-cuda-1.2.3.txt", folder);
  assert_string_equal(found, expected);
  burn_common_tune_path(found, 10, "cuda", "1.2.3");
  assert_string_equal(found, "");
}

static int remove_folder_of_test(void **state) {
  (void)state;
  char command[300];
  snprintf(command, sizeof command, "rm -r '%s'", folder);
  return system(command);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_fastest_is_taken_and_remembered),
      cmocka_unit_test(test_two_measurements_have_to_agree),
      cmocka_unit_test(test_the_rule_stays_where_others_win_by_turns),
      cmocka_unit_test(test_a_short_run_comes_after_one_of_its_way),
      cmocka_unit_test(test_a_disturbed_measurement_does_not_count),
      cmocka_unit_test(test_off_times_nothing),
      cmocka_unit_test(test_the_rule_stays_unless_another_way_is_clearly_faster),
      cmocka_unit_test(test_a_hostile_file_is_passed_over),
      cmocka_unit_test(test_without_a_place_to_write),
      cmocka_unit_test(test_a_pipe_in_place_of_the_file_is_passed_over),
      cmocka_unit_test(test_environment),
  };
  return cmocka_run_group_tests(tests, make_folder_of_test, remove_folder_of_test);
}
