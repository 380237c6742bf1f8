/* report_command.c - burn report: a run as one HTML file. */
#include "command.h"

#include <burn/file.h>
#include <burn/train/report.h>

#include <stdio.h>
#include <stdlib.h>

static int fail(BurnStatus status) { return command_fail("report", status); }

static int print(const BurnReportConfig *config, bool summary) {
  BurnStatus status = BURN_OK;
  char *text = summary ? burn_report_summary(config, &status) : burn_report_json(config, &status);
  if (!text) return fail(status);
  printf("%s%s", text, summary ? "" : "\n");
  free(text);
  return COMMAND_OK;
}

int command_report(int argc, char **argv) {
  static const char usage[] =
      "usage: burn report DIR [options]\n\n"
      "Makes an HTML file of the artifact folder of a run, also of one that goes on: curves of all metrics, a "
      "summary,\n"
      "config, settings and stack, and what the program has put there of a confusion matrix and samples. The file "
      "needs\n"
      "nothing else: no network, no scripts.";
  const char *folder = NULL;
  BurnReportConfig config = {.artifact_dir = NULL};
  bool json = false, summary = false, overwrite = false;
  const Argument arguments[] = {
      {"out", ARGUMENT_TEXT, &config.path, "FILE", "where to; default: report.html in the folder"},
      {"overwrite", ARGUMENT_FLAG, &overwrite, NULL, "FILE may exist; report.html of the folder may always"},
      {"title", ARGUMENT_TEXT, &config.title, "TEXT", "of the page; default: the name of the folder"},
      {"summary", ARGUMENT_FLAG, &summary, NULL, "print the summary as a table, and write no file"},
      {"json", ARGUMENT_FLAG, &json, NULL, "print what is known as one JSON document, and write no file"}};
  int exit_status;
  if (!command_parse(argc, argv, usage, arguments, sizeof arguments / sizeof *arguments, &folder, 1, &exit_status)) {
    return exit_status;
  }
  if (!folder) {
    fprintf(stderr, "burn report: a folder is missing; 'burn report --help' tells more\n");
    return COMMAND_USAGE;
  }
  if (json && summary) {
    fprintf(stderr, "burn report: it is --summary or --json\n");
    return COMMAND_USAGE;
  }
  config.artifact_dir = folder;
  if (json || summary) return print(&config, summary);
  BurnStatus status = BURN_OK;
  if (config.path) status = burn_status_annotate(burn_file_check_new(config.path, overwrite), "%s", config.path);
  if (status == BURN_OK) status = burn_report_write(&config);
  if (status != BURN_OK) return fail(status);
  printf("%s%s\n", config.path ? config.path : folder, config.path ? "" : "/report.html");
  return COMMAND_OK;
}
