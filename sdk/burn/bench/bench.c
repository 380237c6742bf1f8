/* bench.c - burn bench: ops and models on several stacks in turns, beside what the machine can do at best. See
 * README.md.
 *
 *   burn bench [options]               the table, or JSON
 *   burn bench growth --svg FILE       time against size, batch and depth, drawn
 *   burn bench curves [options]        loss curves of the models on two stacks
 *   burn bench tables RESULTS.CSV      lines that --csv wrote, as Markdown */
#include "bench.h"
#include "bench_report.h"

#include "../command.h"

#include <regex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Options {
  const char *only, *group, *stacks, *peer, *peer_malloc, *peer_device, *peer_precision, *python, *script;
  const char *csv, *about, *svg;
  size_t rounds, largest;
  double seconds;
  bool json, list, quick, busy;
} Options;

/* -- choosing --------------------------------------------------------------------------------- */

typedef struct Choice {
  bool has_only;
  regex_t only;
  int group; /* -1: all */
  bool quick;
} Choice;

static bool choice_make(Choice *choice, const Options *options) {
  choice->group = -1;
  choice->quick = options->quick;
  for (int i = 0; options->group && i < GROUP_COUNT; i++) {
    if (strcmp(options->group, group_names[i]) == 0) choice->group = i;
  }
  if (options->group && choice->group < 0) {
    fprintf(stderr, "burn bench: --group '%s' is unknown; it is op, overhead, convolution, model, large or gpu\n",
            options->group);
    return false;
  }
  choice->has_only = options->only != NULL;
  if (!options->only) return true;
  const int error = regcomp(&choice->only, options->only, REG_EXTENDED | REG_NOSUB);
  if (error == 0) return true;
  char text[128];
  regerror(error, &choice->only, text, sizeof text);
  fprintf(stderr, "burn bench: --only '%s': %s\n", options->only, text);
  return false;
}

static bool is_chosen(const Choice *choice, const Case *c) {
  const bool is_slow = c->group == GROUP_CONVOLUTION || c->group == GROUP_LARGE;
  if (choice->group < 0 && c->group == GROUP_GPU) return false;
  if (choice->quick && choice->group < 0 && !choice->has_only && is_slow) return false;
  if (choice->group >= 0 && choice->group != (int)c->group) return false;
  return !choice->has_only || regexec(&choice->only, c->name, 0, NULL, 0) == 0;
}

static size_t count_chosen(const Choice *choice) {
  size_t count = 0;
  for (size_t i = 0; i < bench_case_count; i++) count += is_chosen(choice, &bench_cases[i]);
  return count;
}

/* -- sides ------------------------------------------------------------------------------------ */

/* The script that was named, or the one that is installed for this way. */
static BurnStatus find_script(const Options *options, int way, char *out, size_t bytes) {
  char prefix[1024] = "";
  if (options->script) {
    snprintf(out, bytes, "%s", options->script);
  } else {
    if (!system_prefix(prefix, sizeof prefix))
      return burn_status_make(BURN_STATUS_IO, "cannot find the folder of burn; --script FILE");
    snprintf(out, bytes, "%s/share/burn/bench/%s", prefix, peer_ways[way].script);
  }
  if (access(out, R_OK) == 0) return BURN_OK;
  return burn_status_make(BURN_STATUS_IO, "--peer %s needs '%s', which cannot be read; --script names another place",
                          peer_ways[way].word[0] ? peer_ways[way].word : "torch", out);
}

/* A peer whose library is not there is said and left out. */
static BurnStatus open_peer(Bench *bench, const Options *options, const PeerSetup *all, int way) {
  char script[1200];
  const char *absent = NULL;
  PeerSetup setup = *all;
  setup.script = script;
  if (bench->peer_count == MAX_PEERS)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "--peer: at most %d peers", MAX_PEERS);
  BurnStatus status = find_script(options, way, script, sizeof script);
  if (status != BURN_OK) return status;
  Peer **peer = &bench->peers[bench->peer_count++];
  status = peer_open(peer, &setup, way, &absent);
  if (absent) {
    fprintf(stderr, "burn bench: %s is left out: %s; --python or BURN_BENCH_PYTHON names a python that has it\n",
            peer_label(*peer), absent);
    peer_close(*peer);
    *peer = NULL;
    bench->peer_count--;
  }
  return burn_status_annotate(status, "'%s' cannot run %s; --python or BURN_BENCH_PYTHON names one that can",
                              setup.python, way == PEER_ONNX ? "ONNX Runtime" : "PyTorch");
}

/* The way of the next word of "torch,torch.compile"; PEER_WAYS for one that is unknown. `*at` moves past it. */
static int next_way(const char **at) {
  const size_t length = strcspn(*at, ",");
  int way = 0;
  while (way < PEER_WAYS &&
         (length == 0 || strncmp(peer_ways[way].word, *at, length) != 0 || peer_ways[way].word[length] != '\0')) {
    way++;
  }
  *at += length + ((*at)[length] == ',');
  return way;
}

/* How the peer computes where nothing else is said: as the first stack does, of which only the text is there, since
 * peers are started before a stack is opened. */
typedef struct PeerDefaults {
  char device[32]; /* as PyTorch calls it */
  const char *precision;
} PeerDefaults;

static const char *precision_of(const char *stack, bool is_cuda) {
  if (!is_cuda) return "default";
  if (strstr(stack, "autocast")) return strstr(stack, "dtype=f16") ? "f16" : "bf16";
  const char *products = strstr(stack, "matmul_precision=");
  const bool in_f32 = !products || strncmp(products, "matmul_precision=highest", 24) == 0;
  return strstr(stack, "tf32=true") || !in_f32 ? "high" : "highest";
}

static BurnStatus peer_defaults(const Options *options, PeerDefaults *out) {
  char stack[STACK_BYTES];
  const char *source = "";
  BurnStatus status = BURN_OK;
  snprintf(stack, sizeof stack, "%s", options->stacks ? options->stacks : "");
  if (!options->stacks) status = burn_stack_choice(NULL, stack, sizeof stack, &source);
  Bench first = {0};
  if (status == BURN_OK) status = stacks_split(stack, &first);
  const char *text = first.stack_count > 0 ? first.stacks[0] : "", *cuda = strstr(text, "cuda");
  snprintf(out->device, sizeof out->device, "%s", options->peer_device ? options->peer_device : "cpu");
  if (cuda && !options->peer_device)
    snprintf(out->device, sizeof out->device, "cuda:%d", cuda[4] == ':' ? atoi(cuda + 5) : 0);
  out->precision = options->peer_precision ? options->peer_precision : precision_of(text, cuda != NULL);
  return status;
}

static BurnStatus open_peers(Bench *bench, const Options *options) {
  PeerDefaults defaults = {.precision = NULL};
  const char *python = options->python ? options->python : getenv("BURN_BENCH_PYTHON");
  const bool both = strcmp(options->peer_malloc, "both") == 0, tuned = strcmp(options->peer_malloc, "tuned") == 0;
  if (strcmp(options->peer, "none") == 0) return BURN_OK;
  BurnStatus status = peer_defaults(options, &defaults);
  const PeerSetup setup = {python && python[0] ? python : "python3", NULL, defaults.device, defaults.precision};
  for (const char *at = options->peer; *at && status == BURN_OK;) {
    const int way = next_way(&at);
    if (way != PEER_EAGER || !tuned) status = open_peer(bench, options, &setup, way);
    if (status == BURN_OK && way == PEER_EAGER && (both || tuned))
      status = open_peer(bench, options, &setup, PEER_TUNED);
  }
  return status;
}

/* -- the suite -------------------------------------------------------------------------------- */

static void list(const Choice *choice) {
  for (size_t i = 0; i < bench_case_count; i++) {
    if (is_chosen(choice, &bench_cases[i]))
      printf("%-11s %s\n", group_names[bench_cases[i].group], bench_cases[i].name);
  }
}

/* What is done at the moment, for whoever looks at a terminal; seconds since the first case began. */
static void show_progress(const Case *c, size_t number, size_t count, double seconds) {
  if (!isatty(STDERR_FILENO)) return;
  fprintf(stderr, "[%zu/%zu] %s", number, count, c->name);
  if (number > 1) fprintf(stderr, "; about %.0f s left", seconds / (double)(number - 1) * (double)(count - number + 1));
}

static void hide_progress(void) {
  if (isatty(STDERR_FILENO)) fprintf(stderr, "\r\033[K");
}

/* Every side holds its tensors at the same time. */
static bool fits(const Bench *bench, const Case *c) {
  const double needed = (c->read_bytes + c->write_bytes) * (double)(bench->stack_count + bench->peer_count);
  const double memory = bench->device.is_gpu ? (double)bench->device.memory : (double)system_memory_bytes();
  if (memory == 0 || needed < 0.75 * memory) return true;
  fprintf(stderr, "burn bench: '%s' is left out: it needs %.1f GB, and there are %.1f\n", c->name, 1e-9 * needed,
          1e-9 * memory);
  return false;
}

static BurnStatus run_cases(const Bench *bench, const Choice *choice, Report *report) {
  static Result result;
  const size_t count = count_chosen(choice);
  const double begin = system_seconds();
  BurnStatus status = BURN_OK;
  for (size_t i = 0, done = 0; i < bench_case_count && status == BURN_OK; i++) {
    const Case *c = &bench_cases[i];
    if (!is_chosen(choice, c)) continue;
    done++;
    if (!fits(bench, c)) continue;
    show_progress(c, done, count, system_seconds() - begin);
    status = measure(bench, c, &result);
    hide_progress();
    if (status == BURN_OK) status = bench_report_case(report, bench, c, &result);
  }
  return status;
}

static BurnStatus run_suite(const Bench *bench, const Options *options, const Choice *choice) {
  Report report = {.json = options->json, .about = options->about, .csv_path = options->csv};
  BurnStatus status = bench_report_begin(&report, bench);
  if (status != BURN_OK) return status;
  status = run_cases(bench, choice, &report);
  const BurnStatus written = bench_report_end(&report, bench);
  if (status != BURN_OK || written != BURN_OK) return status != BURN_OK ? status : written;
  if (report.failures == 0) return BURN_OK;
  return burn_status_make(BURN_STATUS_INTERNAL, "a stack failed at %zu cases; see above", report.failures);
}

/* The drawing takes its place only if the machine was quiet, where that is asked for. */
static BurnStatus run_growth(const Bench *bench, const Options *options) {
  char drawn[1200];
  Load load;
  snprintf(drawn, sizeof drawn, "%s.new", options->svg);
  load_begin(&load, bench);
  BurnStatus status = growth_run(bench, drawn, (int64_t)options->largest, options->about ? options->about : "");
  const double share = load_share(&load, bench);
  if (status == BURN_OK && bench->keeps_quiet && share > ALLOWED_LOAD) {
    status = burn_status_make(BURN_STATUS_FAILED_PRECONDITION,
                              "the drawing is not kept: other programs used %.0f %% of the processors meanwhile, and "
                              "%.0f %% are allowed; draw it again, or --busy takes it all the same",
                              100 * share, 100 * ALLOWED_LOAD);
  }
  if (status == BURN_OK && rename(drawn, options->svg) != 0)
    status = burn_status_make(BURN_STATUS_IO, "%s cannot be written", options->svg);
  if (status != BURN_OK) remove(drawn);
  return status;
}

/* Everything that measures; peers and threads are ended by the caller. */
static BurnStatus run(Bench *bench, const Options *options, const Choice *choice) {
  /* The peers first: OpenBLAS stops its threads when a process forks. */
  BurnStatus status = open_peers(bench, options);
  if (status == BURN_OK && bench->keeps_quiet) status = load_check(bench);
  if (status == BURN_OK) status = stacks_open(bench, options->stacks);
  if (status == BURN_OK) status = bench_device_open(bench);
  if (status == BURN_OK && !bench->device.is_gpu) status = limits_open();
  if (status != BURN_OK) return status;
  return options->svg ? run_growth(bench, options) : run_suite(bench, options, choice);
}

/* -- the command line ------------------------------------------------------------------------- */

static bool is_one_of(const char *option, const char *value, const char *const *words) {
  for (size_t i = 0; words[i]; i++) {
    if (strcmp(value, words[i]) == 0) return true;
  }
  fprintf(stderr, "burn bench: --%s '%s' is unknown; see --help\n", option, value);
  return false;
}

static const char suite_usage[] =
    "usage: burn bench [options]\n"
    "       burn bench growth --svg FILE [options]   time against size, batch and depth, drawn\n"
    "       burn bench curves [options]              are the loss curves of the models the same on two stacks?\n"
    "       burn bench tables RESULTS.CSV            what --csv wrote, as Markdown\n\n"
    "Compares backends on this machine: ops, the overhead of calls, and training and inference of models, on one "
    "stack or more\n"
    "in turns. Without --stacks: the stack that a program gets by default, and every other backend that can be used "
    "here.\n\n"
    "  burn bench --quick\n"
    "  burn bench --stacks 'ndarray,fusion<ndarray>,torch' --group model\n"
    "  burn bench --only 'matmul|conv' --json\n\n"
    "On a GPU many repetitions are told to it and waited for together, limit is the time of a copy of the same bytes\n"
    "by that of the first stack, rate what it moves or computes in a second; --group gpu has sizes for GPUs.\n\n"
    "  burn bench --stacks 'fusion<cuda>,torch:cuda' --group gpu --peer torch,torch.compile,torch.cudagraph\n\n"
    "Shown are the median time, half the distance of the quartiles (+-), the time of the first stack by that of the "
    "column (ratio:\n"
    "below 1.00 the first is faster), and the time in which this CPU could do the work at best by that of the first "
    "stack (limit).";
static const char growth_usage[] =
    "usage: burn bench growth --svg FILE [options]\n\n"
    "Time against the size of tensors, the batch and the depth of a model, drawn.";

/* ARGUMENTS_OK, or what is to be done instead. */
static int parse(int argc, char **argv, bool growth, Options *options) {
  const Argument arguments[] = {
      {"only", ARGUMENT_TEXT, &options->only, "REGEX", "cases whose name matches"},
      {"group", ARGUMENT_TEXT, &options->group, "GROUP",
       "op, overhead, convolution, model, large or gpu; without it all but gpu"},
      {"list", ARGUMENT_FLAG, &options->list, NULL, "the names of the cases"},
      {"stacks", ARGUMENT_TEXT, &options->stacks, "A,B,..",
       "stacks, the first to compare with; autodiff is put on top where it is needed"},
      {"peer", ARGUMENT_TEXT, &options->peer, "PEERS",
       "none, or some of torch,torch.compile,torch.cudagraph,onednn,onnxruntime, each in a process of its own"},
      {"peer-malloc", ARGUMENT_TEXT, &options->peer_malloc, "HOW",
       "default, tuned (a malloc that keeps its pages) or both"},
      {"peer-device", ARGUMENT_TEXT, &options->peer_device, "DEVICE",
       "cpu or cuda:N; else cuda where the first stack is on one"},
      {"peer-precision", ARGUMENT_TEXT, &options->peer_precision, "P",
       "highest (f32 as it is), high (TF32), bf16 or f16 (autocast), default (PyTorch's); else as the first stack"},
      {"python", ARGUMENT_TEXT, &options->python, "PROGRAM", "runs the peer; else $BURN_BENCH_PYTHON or python3"},
      {"script", ARGUMENT_TEXT, &options->script, "FILE", "the peer; else the installed peer_torch.py"},
      {"rounds", ARGUMENT_SIZE, &options->rounds, "N", "samples of each side, in turns; 1 .. 101"},
      {"seconds", ARGUMENT_NUMBER, &options->seconds, "S", "of a sample"},
      {"quick", ARGUMENT_FLAG, &options->quick, NULL,
       "3 rounds of 0.02 s; without --only and --group no convolutions of ResNet and no large models"},
      {"about", ARGUMENT_TEXT, &options->about, "TEXT", "when and where, for what is written"},
      {"json", ARGUMENT_FLAG, &options->json, NULL,
       "one JSON object per line: the machine, then one per case and stack"},
      {"csv", ARGUMENT_TEXT, &options->csv, "FILE", "put the results into its lines, if no other programs compute"},
      {"busy", ARGUMENT_FLAG, &options->busy, NULL, "keep figures of a machine that others use all the same"},
  };
  const Argument growth_arguments[] = {
      arguments[3],
      arguments[4],
      arguments[5],
      arguments[6],
      arguments[7],
      arguments[8],
      arguments[9],
      arguments[10],
      arguments[11],
      arguments[13],
      arguments[16],
      {"svg", ARGUMENT_TEXT, &options->svg, "FILE", "the drawing, if no other programs compute"},
      {"largest", ARGUMENT_SIZE, &options->largest, "N", "elements of a tensor"},
  };
  if (growth) {
    return arguments_parse(argc, argv, growth_usage, growth_arguments,
                           sizeof growth_arguments / sizeof growth_arguments[0], NULL, 0);
  }
  return arguments_parse(argc, argv, suite_usage, arguments, sizeof arguments / sizeof arguments[0], NULL, 0);
}

static bool peers_are_known(const char *peers) {
  if (strcmp(peers, "none") == 0) return true;
  const char *at = peers;
  while (*at) {
    const char *word = at;
    if (next_way(&at) != PEER_WAYS) continue;
    fprintf(stderr, "burn bench: --peer '%s' is unknown; see --help\n", word);
    return false;
  }
  return at != peers;
}

/* False after a message. */
static bool check(const Options *options, bool growth) {
  if (growth && !options->svg) {
    fprintf(stderr, "burn bench: growth needs --svg FILE\n");
    return false;
  }
  if (options->largest < 1 || options->largest > INT64_MAX / 64) {
    fprintf(stderr, "burn bench: --largest %zu is not a number of elements\n", options->largest);
    return false;
  }
  if (options->rounds < 1 || options->rounds > MAX_ROUNDS || !(options->seconds > 0)) {
    fprintf(stderr, "burn bench: --rounds is 1..%d and --seconds above 0\n", MAX_ROUNDS);
    return false;
  }
  return peers_are_known(options->peer) &&
         (!options->peer_precision ||
          is_one_of("peer-precision", options->peer_precision,
                    (const char *const[]){"default", "highest", "high", "bf16", "f16", NULL})) &&
         is_one_of("peer-malloc", options->peer_malloc, (const char *const[]){"default", "tuned", "both", NULL});
}

static int suite_main(int argc, char **argv, bool growth) {
  Options options = {.peer = "none",
                     .peer_malloc = "default",

                     .rounds = 5,
                     .largest = 100000000,
                     .seconds = 0.08};
  const int parsed = parse(argc, argv, growth, &options);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? COMMAND_OK : COMMAND_USAGE;
  if (options.quick) {
    options.rounds = 3;
    options.seconds = 0.02;
  }
  Choice choice;
  Bench bench = {.rounds = options.rounds,
                 .seconds = options.seconds,
                 .keeps_quiet = (options.csv || options.svg) && !options.busy};
  if (!check(&options, growth) || !choice_make(&choice, &options)) return COMMAND_USAGE;
  if (count_chosen(&choice) == 0) {
    fprintf(stderr, "burn bench: no case matches; --list shows them\n");
    if (choice.has_only) regfree(&choice.only);
    return COMMAND_USAGE;
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
  if (status == BURN_OK) return COMMAND_OK;
  fprintf(stderr, "burn bench: %s\n", burn_status_message(status));
  return COMMAND_FAILED;
}

/* `burn bench tables FILE`: results.csv as Markdown. */
static int tables_main(int argc, char **argv) {
  CsvFile csv;
  if (argc != 2) {
    fprintf(stderr, "usage: burn bench tables RESULTS.CSV\n");
    return COMMAND_USAGE;
  }
  BurnStatus status = csv_load(&csv, argv[1]);
  if (status == BURN_OK && csv.count == 0)
    status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: no figures of a case that there is", argv[1]);
  if (status == BURN_OK) {
    csv_markdown(&csv);
  } else {
    fprintf(stderr, "burn bench: %s\n", burn_status_message(status));
  }
  csv_release(&csv);
  return status == BURN_OK ? COMMAND_OK : COMMAND_FAILED;
}

int command_bench(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN); /* a peer that died is a message, not our end */
  const char *command = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
  if (!command) return suite_main(argc, argv, false);
  argv[1] = argv[0]; /* what messages about arguments start with */
  if (strcmp(command, "suite") == 0) return suite_main(argc - 1, argv + 1, false);
  if (strcmp(command, "growth") == 0) return suite_main(argc - 1, argv + 1, true);
  if (strcmp(command, "curves") == 0) return curves_main(argc - 1, argv + 1);
  if (strcmp(command, "tables") == 0) return tables_main(argc - 1, argv + 1);
  fprintf(stderr, "burn bench: '%s' is unknown; it is suite, growth, curves or tables\n", command);
  return COMMAND_USAGE;
}
