/* fuzz_command.c - the command line of `burn`: subcommands with any arguments, and lines that `burn bench --csv` might
 * have written.
 *
 * Input: arguments, one a line<|>results.csv. What measures, or starts other processes, gets one more argument that
 * ends it after its arguments have been read. */
#include "fuzz_target.h"

int burn_command_main(int argc, char **argv); /* main of sdk/burn/burn.c */

enum { MAX_ARGUMENTS = 24 };

/* The argument that keeps a subcommand from its work. */
static const struct {
  const char *command;
  const char *last[2];
} limits[] = {
    {"bench", {"--list", NULL}},        /* measures for minutes, runs a peer */
    {"conform", {"--case", "none"}},    /* runs in child processes */
    {"explain", {"--backend", "none"}}, /* compiles all examples: seconds with sanitizers */
};

static int split(char *text, char **argv) {
  int argc = 1;
  for (char *word = text, *end; word && argc < MAX_ARGUMENTS; word = end) {
    end = strchr(word, '\n');
    if (end) *end++ = '\0';
    if (*word || end) argv[argc++] = word;
  }
  return argc;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static char program[] = "burn";
  FuzzInput input = {bytes, count};
  char *argv[MAX_ARGUMENTS + 3] = {program}, *text = fuzz_text(fuzz_part(&input)), *last[2] = {NULL};
  int argc = split(text, argv);
  fuzz_scratch_clear();
  fuzz_file_write("results.csv", input);
  for (size_t i = 0; i < sizeof limits / sizeof limits[0] && argc > 1; i++) {
    const bool is_tables = argc > 2 && strcmp(argv[2], "tables") == 0;
    if (strcmp(argv[1], limits[i].command) != 0 || is_tables) continue;
    for (size_t k = 0; k < 2 && limits[i].last[k]; k++) argv[argc++] = last[k] = strdup(limits[i].last[k]);
  }
  argv[argc] = NULL;
  const int status = burn_command_main(argc, argv);
  FUZZ_REQUIRE(status >= 0 && status <= 2, "exit status %d", status);
  free(last[0]);
  free(last[1]);
  free(text);
  return 0;
}
