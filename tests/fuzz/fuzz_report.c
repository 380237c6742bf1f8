/* fuzz_report.c - an artifact folder that others wrote, as a report; and JSON lines that a logger goes on with.
 *
 * Input, in parts with "<|>" between: two logs, config.json, confusion_matrix.json, samples.jsonl, metrics.jsonl, the
 * learner's file of a checkpoint. A part of no bytes is not a file. */
#include "fuzz_target.h"

#include <burn/train.h>

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"train/epoch-1/Loss.log",  "valid/epoch-3/Top_5.log", "config.json",
                                    "confusion_matrix.json",   "samples.jsonl",           "metrics.jsonl",
                                    "checkpoint/learner-2.mpk"};
static const char *const folders[] = {"train/epoch-1", "valid/epoch-3", "checkpoint"};

/* What is there is refused, or cut so that whole lines are left, with the new one last. */
static void go_on_with_lines(void) {
  const BurnLogEntry entry = {BURN_SPLIT_TRAIN, 2, 3, "Loss", "", 0.5, 8, false, 7};
  BurnStatus status = BURN_OK;
  BurnJsonLines *lines = burn_json_lines_create("metrics.jsonl", true, &status);
  FUZZ_REQUIRE(lines && fuzz_ok(status), "no lines: %s", burn_status_message(status));
  const BurnLogger logger = burn_json_lines_logger(lines);
  const bool good = fuzz_ok(logger.log(logger.context, &entry));
  burn_json_lines_destroy(lines);
  size_t length;
  uint8_t *bytes = fuzz_file_read("metrics.jsonl", &length);
  FUZZ_REQUIRE(!good || (length > 0 && bytes[length - 1] == '\n'), "a line without an end");
  free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  FuzzInput input = {bytes, count};
  const BurnReportConfig config = {.artifact_dir = "."};
  BurnStatus status = BURN_OK;
  fuzz_scratch_clear();
  for (size_t i = 0; i < 3; i++) FUZZ_REQUIRE(fuzz_ok(burn_folder_make(folders[i])), "no folder %s", folders[i]);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const FuzzInput part = fuzz_part(&input);
    if (part.left > 0) fuzz_file_write(names[i], part);
  }
  go_on_with_lines();
  char *json = burn_report_json(&config, &status);
  FUZZ_REQUIRE(fuzz_ok(status) == (json != NULL), "a report and a failure, or neither");
  FUZZ_REQUIRE(!json || burn_text_is_clean(json), "bytes that are not text in the JSON");
  status = burn_report_write(&config);
  FUZZ_REQUIRE(fuzz_ok(status) == (json != NULL), "JSON and page differ: %s", burn_status_message(status));
  free(json);
  if (!fuzz_ok(status)) return 0;
  size_t length;
  uint8_t *page = fuzz_file_read("report.html", &length);
  page = realloc(page, length + 1);
  FUZZ_REQUIRE(page, "no memory");
  page[length] = 0;
  const char *text = (const char *)page;
  FUZZ_REQUIRE(burn_text_is_clean(text) && strlen(text) == length, "bytes that are not text in the page");
  FUZZ_REQUIRE(!strstr(text, "<script") && !strstr(text, "<iframe"), "a text is not escaped");
  free(page);
  return 0;
}
