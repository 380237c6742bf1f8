/* bench.c - the suite: every case on our stacks and on PyTorch in turns, beside what the machine can do at best. See README.md.
 *
 *   bench [suite] [options]       the table, or JSON, or rows of results.csv
 *   bench curves [options]        loss curves of the models on two stacks
 *   bench growth --svg FILE       time against size, batch and depth, drawn */
#include "bench.h"
#include "bench_report.h"

#include "../../sdk/examples/common/arguments.h"

#include <regex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

typedef struct Options {
  const char *only, *group, *stack, *peer, *peer_malloc, *python, *script, *csv;
  size_t rounds;
  double seconds;
  bool json, list, quick;
} Options;

/* -- choosing -------------------------------------------------------------------------------------------------------------- */

typedef struct Choice {
  bool has_only;
  regex_t only;
  int group; /* -1: all */
} Choice;

static bool choice_make(Choice *choice, const Options *options) {
  choice->group = -1;
  for (int i = 0; options->group && i <= GROUP_MODEL; i++) {
    if (strcmp(options->group, group_names[i]) == 0) choice->group = i;
  }
  if (options->group && choice->group < 0) {
    fprintf(stderr, "bench: --group '%s' is unknown; it is op, overhead or model\n", options->group);
    return false;
  }
  choice->has_only = options->only != NULL;
  if (!options->only) return true;
  const int error = regcomp(&choice->only, options->only, REG_EXTENDED | REG_NOSUB);
  if (error == 0) return true;
  char text[128];
  regerror(error, &choice->only, text, sizeof text);
  fprintf(stderr, "bench: --only '%s': %s\n", options->only, text);
  return false;
}

static bool is_chosen(const Choice *choice, const Case *c) {
  if (choice->group >= 0 && choice->group != (int)c->group) return false;
  return !choice->has_only || regexec(&choice->only, c->name, 0, NULL, 0) == 0;
}

static size_t count_chosen(const Choice *choice) {
  size_t count = 0;
  for (size_t i = 0; i < bench_case_count; i++) count += is_chosen(choice, &bench_cases[i]);
  return count;
}

/* -- sides ----------------------------------------------------------------------------------------------------------------- */

/* After a comma: is it "key=value", which belongs to the stack before? */
static bool is_option(const char *text) { return text[strcspn(text, ",=+<>:")] == '='; }

/* Splits "ndarray:isa=avx2,gemm=builtin,fusion<ndarray>" in place: a comma that an option follows stays. */
static bool split_stacks(char *text, Bench *bench) {
  bench->stacks[bench->stack_count++] = text;
  for (char *at = strchr(text, ','); at; at = strchr(at + 1, ',')) {
    if (is_option(at + 1)) continue;
    if (bench->stack_count == MOST_STACKS) {
      fprintf(stderr, "bench: --stack: at most %d stacks\n", MOST_STACKS);
      return false;
    }
    *at = '\0';
    bench->stacks[bench->stack_count++] = at + 1;
  }
  return true;
}

static BurnStatus open_peers(Bench *bench, const Options *options) {
  if (strcmp(options->peer, "none") == 0) return BURN_OK;
  if (!options->python || !options->script) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "--peer torch needs --python and --script, which run.sh gives");
  }
  const bool both = strcmp(options->peer_malloc, "both") == 0, tuned = strcmp(options->peer_malloc, "tuned") == 0;
  BurnStatus status = BURN_OK;
  if (!tuned) status = peer_open(&bench->peers[bench->peer_count++], options->python, options->script, "torch", false);
  if (status != BURN_OK || (!both && !tuned)) return status;
  return peer_open(&bench->peers[bench->peer_count++], options->python, options->script, "torch tuned", true);
}

static bool is_one_of(const char *option, const char *value, const char *const *words) {
  for (size_t i = 0; words[i]; i++) {
    if (strcmp(value, words[i]) == 0) return true;
  }
  fprintf(stderr, "bench: --%s '%s' is unknown; see --help\n", option, value);
  return false;
}

/* -- the suite ------------------------------------------------------------------------------------------------------------- */

static void list(const Choice *choice) {
  for (size_t i = 0; i < bench_case_count; i++) {
    if (is_chosen(choice, &bench_cases[i])) printf("%-9s %s\n", group_names[bench_cases[i].group], bench_cases[i].name);
  }
}

static BurnStatus run_cases(const Bench *bench, const Choice *choice, Report *report) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < bench_case_count && status == BURN_OK; i++) {
    const Case *c = &bench_cases[i];
    if (!is_chosen(choice, c)) continue;
    static Result result;
    status = measure(bench, c->kind, &c->args, c->repeats, &result);
    if (status == BURN_OK) status = report_case(report, bench, c, &result);
  }
  return status;
}

static BurnStatus run(Bench *bench, const Options *options, const Choice *choice) {
  /* The peers first: OpenBLAS stops its threads when a process forks. */
  BurnStatus status = open_peers(bench, options);
  if (status == BURN_OK) status = limits_measure();
  if (status != BURN_OK) return status;
  Report report = {.json = options->json, .csv_path = options->csv};
  report_begin(&report, bench);
  status = run_cases(bench, choice, &report);
  if (status == BURN_OK) status = report_end(&report);
  return status;
}

static int suite_main(int argc, char **argv) {
  Options options = {.stack = "ndarray", .peer = "none", .peer_malloc = "default", .rounds = 5, .seconds = 0.08};
  const Argument arguments[] = {
      {"only", ARGUMENT_TEXT, &options.only, "REGEX", "cases whose name matches"},
      {"group", ARGUMENT_TEXT, &options.group, "GROUP", "op, overhead or model; default: all"},
      {"stack", ARGUMENT_TEXT, &options.stack, "STACKS", "ours, separated by commas; autodiff is put on top where needed"},
      {"peer", ARGUMENT_TEXT, &options.peer, "PEER", "torch or none"},
      {"peer-malloc", ARGUMENT_TEXT, &options.peer_malloc, "HOW", "default, tuned (malloc that keeps its pages) or both"},
      {"python", ARGUMENT_TEXT, &options.python, "PROGRAM", "runs the peer"},
      {"script", ARGUMENT_TEXT, &options.script, "FILE", "peer_torch.py"},
      {"rounds", ARGUMENT_SIZE, &options.rounds, "N", "samples of each side, in turns; 1 .. 101"},
      {"seconds", ARGUMENT_NUMBER, &options.seconds, "S", "of a sample"},
      {"quick", ARGUMENT_FLAG, &options.quick, NULL, "3 rounds of 0.03 s: the whole suite within three minutes"},
      {"json", ARGUMENT_FLAG, &options.json, NULL, "one JSON object per line"},
      {"csv", ARGUMENT_TEXT, &options.csv, "FILE", "put the results into its lines"},
      {"list", ARGUMENT_FLAG, &options.list, NULL, "the names of the cases"},
  };
  const int parsed = arguments_parse(argc, argv, "usage: bench [suite] [options]   our time beside PyTorch's and the machine's limit",
                                     arguments, sizeof arguments / sizeof arguments[0], NULL, 0);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  if (options.quick) {
    options.rounds = 3;
    options.seconds = 0.03;
  }
  Choice choice;
  char stacks[1024];
  Bench bench = {.rounds = options.rounds, .seconds = options.seconds};
  snprintf(stacks, sizeof stacks, "%s", options.stack);
  if (!is_one_of("peer", options.peer, (const char *const[]){"torch", "none", NULL}) ||
      !is_one_of("peer-malloc", options.peer_malloc, (const char *const[]){"default", "tuned", "both", NULL}) ||
      !choice_make(&choice, &options) || !split_stacks(stacks, &bench)) {
    return 2;
  }
  if (options.rounds < 1 || options.rounds > MOST_ROUNDS || options.seconds <= 0) {
    fprintf(stderr, "bench: --rounds is 1..%d and --seconds above 0\n", MOST_ROUNDS);
    return 2;
  }
  if (count_chosen(&choice) == 0) {
    fprintf(stderr, "bench: no case matches; --list shows them\n");
    return 2;
  }
  BurnStatus status = BURN_OK;
  if (options.list) {
    list(&choice);
  } else {
    status = run(&bench, &options, &choice);
  }
  for (size_t i = 0; i < bench.peer_count; i++) peer_close(bench.peers[i]);
  if (choice.has_only) regfree(&choice.only);
  if (status == BURN_OK) return 0;
  fprintf(stderr, "bench: %s\n", burn_status_message(status));
  return 1;
}

int main(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN); /* a peer that died is a message, not our end */
  const char *command = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
  if (!command) return suite_main(argc, argv);
  if (strcmp(command, "suite") == 0) return suite_main(argc - 1, argv + 1);
  fprintf(stderr, "bench: '%s' is unknown; it is suite, curves or growth\n", command);
  return 2;
}
