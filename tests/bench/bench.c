/* bench.c - the suite: every case on our stacks and on PyTorch in turns, beside what the machine can do at best. See README.md.
 *
 *   bench [suite] [options]       the table, or JSON, or lines of results.csv
 *   bench tables RESULTS.CSV      these as Markdown
 *   bench growth --svg FILE       time against size, batch and depth, drawn
 *   bench curves [options]        loss curves of the models on two stacks */
#include "bench.h"
#include "bench_report.h"

#include "../../sdk/examples/common/arguments.h"

#include <regex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

typedef struct Options {
  const char *only, *group, *stack, *peer, *peer_malloc, *python, *script, *csv, *about, *svg;
  size_t rounds, largest;
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
    status = measure(bench, c, &result);
    if (status == BURN_OK) status = report_case(report, bench, c, &result);
  }
  return status;
}

static BurnStatus run_suite(const Bench *bench, const Options *options, const Choice *choice) {
  Report report = {.json = options->json, .about = options->about, .csv_path = options->csv};
  BurnStatus status = report_begin(&report, bench);
  if (status != BURN_OK) return status;
  status = run_cases(bench, choice, &report);
  const BurnStatus written = report_end(&report);
  return status != BURN_OK ? status : written;
}

/* Everything that measures; peers and threads are ended by the caller. */
static BurnStatus run(Bench *bench, const Options *options, const Choice *choice) {
  /* The peers first: OpenBLAS stops its threads when a process forks. */
  BurnStatus status = open_peers(bench, options);
  if (status == BURN_OK) status = limits_open();
  if (status != BURN_OK) return status;
  Load load;
  load_begin(&load, bench);
  if (options->svg) {
    status = growth_run(bench, options->svg, (int64_t)options->largest, options->about ? options->about : "");
  } else {
    status = run_suite(bench, options, choice);
  }
  load_end(&load, bench);
  return status;
}

/* -- the command line ------------------------------------------------------------------------------------------------------ */

static bool is_one_of(const char *option, const char *value, const char *const *words) {
  for (size_t i = 0; words[i]; i++) {
    if (strcmp(value, words[i]) == 0) return true;
  }
  fprintf(stderr, "bench: --%s '%s' is unknown; see --help\n", option, value);
  return false;
}

/* ARGUMENTS_OK, or what is to be done instead. */
static int parse(int argc, char **argv, bool growth, Options *options) {
  const Argument arguments[] = {
      {"only", ARGUMENT_TEXT, &options->only, "REGEX", "cases whose name matches"},
      {"group", ARGUMENT_TEXT, &options->group, "GROUP", "op, overhead or model; default: all"},
      {"list", ARGUMENT_FLAG, &options->list, NULL, "the names of the cases"},
      {"stack", ARGUMENT_TEXT, &options->stack, "STACKS", "ours, separated by commas; autodiff is put on top where needed"},
      {"peer", ARGUMENT_TEXT, &options->peer, "PEER", "torch or none"},
      {"peer-malloc", ARGUMENT_TEXT, &options->peer_malloc, "HOW", "default, tuned (a malloc that keeps its pages) or both"},
      {"python", ARGUMENT_TEXT, &options->python, "PROGRAM", "runs the peer"},
      {"script", ARGUMENT_TEXT, &options->script, "FILE", "peer_torch.py"},
      {"rounds", ARGUMENT_SIZE, &options->rounds, "N", "samples of each side, in turns; 1 .. 101"},
      {"seconds", ARGUMENT_NUMBER, &options->seconds, "S", "of a sample"},
      {"quick", ARGUMENT_FLAG, &options->quick, NULL, "3 rounds of 0.02 s: the whole suite within three minutes"},
      {"about", ARGUMENT_TEXT, &options->about, "TEXT", "when and where, for what is written"},
      {"json", ARGUMENT_FLAG, &options->json, NULL, "one JSON object per line"},
      {"csv", ARGUMENT_TEXT, &options->csv, "FILE", "put the results into its lines"},
  };
  const Argument growth_arguments[] = {
      arguments[3], arguments[4], arguments[5], arguments[6], arguments[7], arguments[8], arguments[9], arguments[11],
      {"svg", ARGUMENT_TEXT, &options->svg, "FILE", "the drawing"},
      {"largest", ARGUMENT_SIZE, &options->largest, "N", "elements of a tensor"},
  };
  if (growth) {
    return arguments_parse(argc, argv, "usage: bench growth --svg FILE [options]   time against size, batch and depth",
                           growth_arguments, sizeof growth_arguments / sizeof growth_arguments[0], NULL, 0);
  }
  return arguments_parse(argc, argv, "usage: bench [suite] [options]   our time beside PyTorch's and the machine's limit", arguments,
                         sizeof arguments / sizeof arguments[0], NULL, 0);
}

/* False after a message. */
static bool check(const Options *options, bool growth) {
  if (growth && !options->svg) {
    fprintf(stderr, "bench: growth needs --svg FILE\n");
    return false;
  }
  if (options->largest < 1 || options->largest > INT64_MAX / 64) {
    fprintf(stderr, "bench: --largest %zu is no number of elements\n", options->largest);
    return false;
  }
  if (options->rounds < 1 || options->rounds > MOST_ROUNDS || !(options->seconds > 0)) {
    fprintf(stderr, "bench: --rounds is 1..%d and --seconds above 0\n", MOST_ROUNDS);
    return false;
  }
  return is_one_of("peer", options->peer, (const char *const[]){"torch", "none", NULL}) &&
         is_one_of("peer-malloc", options->peer_malloc, (const char *const[]){"default", "tuned", "both", NULL});
}

static int suite_main(int argc, char **argv, bool growth) {
  Options options = {.stack = "ndarray", .peer = "none", .peer_malloc = "default", .rounds = 5, .largest = 100000000, .seconds = 0.08};
  const int parsed = parse(argc, argv, growth, &options);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  if (options.quick) {
    options.rounds = 3;
    options.seconds = 0.02;
  }
  Choice choice;
  char stacks[1024];
  Bench bench = {.rounds = options.rounds, .seconds = options.seconds};
  snprintf(stacks, sizeof stacks, "%s", options.stack);
  if (!check(&options, growth) || !choice_make(&choice, &options) || !stacks_split(stacks, &bench)) return 2;
  if (count_chosen(&choice) == 0) {
    fprintf(stderr, "bench: no case matches; --list shows them\n");
    if (choice.has_only) regfree(&choice.only);
    return 2;
  }
  BurnStatus status = BURN_OK;
  if (options.list) {
    list(&choice);
  } else {
    status = run(&bench, &options, &choice);
  }
  limits_close();
  for (size_t i = 0; i < bench.peer_count; i++) peer_close(bench.peers[i]);
  if (choice.has_only) regfree(&choice.only);
  if (status == BURN_OK) return 0;
  fprintf(stderr, "bench: %s\n", burn_status_message(status));
  return 1;
}

/* `bench tables FILE`: results.csv as Markdown. */
static int tables_main(int argc, char **argv) {
  CsvFile csv;
  if (argc != 2) {
    fprintf(stderr, "usage: bench tables RESULTS.CSV\n");
    return 2;
  }
  const BurnStatus status = csv_load(&csv, argv[1]);
  if (status == BURN_OK) {
    csv_markdown(&csv);
  } else {
    fprintf(stderr, "bench: %s\n", burn_status_message(status));
  }
  csv_release(&csv);
  return status == BURN_OK ? 0 : 1;
}

int main(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN); /* a peer that died is a message, not our end */
  const char *command = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
  if (!command) return suite_main(argc, argv, false);
  if (strcmp(command, "suite") == 0) return suite_main(argc - 1, argv + 1, false);
  if (strcmp(command, "growth") == 0) return suite_main(argc - 1, argv + 1, true);
  if (strcmp(command, "curves") == 0) return curves_main(argc - 1, argv + 1);
  if (strcmp(command, "tables") == 0) return tables_main(argc - 1, argv + 1);
  fprintf(stderr, "bench: '%s' is unknown; it is suite, growth, curves or tables\n", command);
  return 2;
}
