/* report_memory_test.c - every allocation fails once, in turn, while a folder is reported: nothing crashes or leaks, and
 * a report has no gap. */
#include "forked.h"
#include "sanitized.h"

#include <burn/file.h>
#include <burn/train.h>

#if defined(SANITIZED) || !defined(__GLIBC__)
int main(void) {
  printf("report_memory_test: skipped, the sanitizer owns malloc\n");
  return 0;
}
#else

#include "counting_malloc.h"

static char folder[64];

static void put(const char *name, const char *text) {
  char path[160];
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  char *const slash = strrchr(path, '/');
  *slash = '\0';
  assert_int_equal(burn_folder_make(path), BURN_OK);
  *slash = '/';
  assert_int_equal(burn_file_write(path, text, strlen(text)), BURN_OK);
}

static int set_up(void **state) {
  (void)state;
  make_folder(folder);
  put("config.json", "{\"epochs\": 2}");
  put("train/epoch-1/Loss.log", "2.5,4\n1.5,4\n");
  put("train/epoch-2/Loss.log", "1.25,4\n0.5,4\n");
  put("valid/epoch-1/Accuracy.log", "50,4\n");
  put("confusion_matrix.json", "{\"labels\": [\"a\", \"b\"], \"counts\": [[1, 2], [3, 4]]}");
  put("samples.jsonl", "{\"title\": \"a\"}\n{\"title\": \"b\", \"wrong\": true}\n");
  return 0;
}

static int tear_down(void **state) {
  char command[100];
  (void)state;
  (void)snprintf(command, sizeof command, "rm -r '%s'", folder);
  return system(command);
}

/* The report but for the second it was made in; NULL where it failed. */
static char *report(long long number, bool *disturbed) {
  const BurnReportConfig config = {.artifact_dir = folder, .title = "run"};
  BurnStatus status = BURN_OK;
  atomic_store(&failed, 0);
  atomic_store(&countdown, number);
  atomic_store(&counting, number > 0);
  char *text = burn_report_json(&config, &status);
  atomic_store(&counting, false);
  *disturbed = atomic_load(&failed) > 0;
  if (!text != (status != BURN_OK)) fail_msg("allocation %lld: %s", number, burn_status_message(status));
  char *written = text ? strstr(text, "\"written\"") : NULL;
  const char *rest = written ? written + strcspn(written, "\n") : NULL;
  if (written) memmove(written, rest, strlen(rest) + 1);
  return text;
}

static void reports_have_no_gap(void **state) {
  bool disturbed = false;
  char *whole = report(0, &disturbed);
  (void)state;
  assert_non_null(whole);
  assert_non_null(strstr(whole, "confusion_matrix"));
  disturbed = true;
  for (long long number = 1; disturbed; number++) {
    const long long held = atomic_load(&blocks_held);
    char *text = report(number, &disturbed);
    if (text && strcmp(text, whole) != 0) fail_msg("with allocation %lld failing:\n%s", number, text);
    free(text);
    if (atomic_load(&blocks_held) > held) fail_msg("allocation %lld failing leaks", number);
  }
  free(whole);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(reports_have_no_gap)};
  return cmocka_run_group_tests_name("report_memory", tests, set_up, tear_down);
}
#endif
