/* conform.c - burn conform: is a plugin, or a whole stack, a right one? The command line, and what the checks share. */
#define _GNU_SOURCE /* realpath */
#include "conform.h"
#include "fuzz.h"

#include "../command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: burn conform PLUGIN|STACK [options]\n"
    "       burn conform --fuzz N STACK_A STACK_B [--seed S] [--case FIRST] [--json]\n"
    "\n"
    "Checks a backend or decorator, or a stack such as 'autodiff<ndarray>', against the reference backend and against "
    "what "
    "the\n"
    "plugin ABI promises. PLUGIN is a name, or the path of a file burn_NAME.so. A decorator alone is put on\n"
    "ndarray, or on what --on names. A kernel pack is checked there by its own ops, against their\n"
    "decompositions on the reference; its kernels for GPUs by 'burn conform PACK --on vulkan', say.\n"
    "\n"
    "levels: core   every op forward in f32, i64 and bool, failing allocations, the handshake, threads: seconds\n"
    "        train  more dtypes and shapes, gradients, laws\n"
    "        full   everything: thousands of cases, minutes\n"
    "        async  work that is late, alone: reads in flight, events, uploads, copies between instances, failures "
    "that "
    "come\n"
    "               later; through the backend's interface burn.device, or core's own way where it has none\n"
    "checks: handshake forward laws chains gradients faults async threads shutdown\n"
    "\n"
    "--fuzz runs N random graphs of ops on both stacks: views, inputs given away or kept, reads in the middle, "
    "gradients. What\n"
    "differs, crashes or hangs is shrunk and printed as a C program.\n"
    "\n"
    "Exit status: 0 if all cases pass, 1 if one fails, 2 for a wrong command line. Every failure comes with the "
    "command line\n"
    "that runs it again.";

/* -- what the checks share -------------------------------------------------------------------- */

BurnDevice *conform_device(Conform *run) {
  if (!run->device) run->device = burn_device_open(run->stack);
  return run->device;
}

BurnDevice *conform_reference(Conform *run) {
  if (!run->reference) run->reference = burn_device_open(run->against);
  return run->reference;
}

BurnDevice *conform_watched(Conform *run) {
  if (!run->watched) run->watched = burn_device_open_with_host(run->stack, watching_host());
  return run->watched;
}

static BurnDevice *if_open(BurnDevice *device) { return burn_device_status(device) == BURN_OK ? device : NULL; }

BurnDevice *conform_training(Conform *run) {
  if (!run->training) run->training = burn_device_open_training(run->stack);
  return if_open(run->training);
}

BurnDevice *conform_traced(Conform *run) {
  char text[640];
  snprintf(text, sizeof text, "trace:format=count,file=/dev/null+%s", run->stack);
  if (!run->traced) run->traced = burn_device_open(text);
  return if_open(run->traced);
}

void conform_close(Conform *run) {
  BurnDevice **const devices[] = {&run->device,  &run->reference, &run->training, &run->traced,
                                  &run->watched, &run->fused,     &run->unfused};
  for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
    burn_device_close(*devices[i]);
    *devices[i] = NULL;
  }
}

uint32_t conform_dtypes(BurnDevice *device) {
  const BurnBackend *backend = burn_device_backend(device);
  const uint32_t needed = BURN_USAGE_STORE | BURN_USAGE_ARITHMETIC;
  uint32_t dtypes = 0;
  for (BurnDType dtype = 1; backend && dtype < BURN_DTYPE_LIMIT; dtype++) {
    if (burn_dtype_bytes(dtype) && (backend->dtype_usage(backend->self, dtype) & needed) == needed)
      dtypes |= 1u << dtype;
  }
  return dtypes;
}

const BurnOpInfo *conform_op(uint32_t place) {
  return burn_op_info(place < BURN_OP_LIMIT ? place : place - BURN_OP_LIMIT + BURN_OP_FIRST_OF_PACKS);
}

uint32_t conform_place(const BurnOpInfo *op) {
  return op->op < BURN_OP_LIMIT ? op->op : op->op - BURN_OP_FIRST_OF_PACKS + BURN_OP_LIMIT;
}

/* The name is one of the words of a list with commas. */
static bool is_listed(const char *list, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
    if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) return true;
  }
  return false;
}

bool conform_names_op(const Conform *run, const BurnOpInfo *op) { return run->ops && is_listed(run->ops, op->name); }

static bool is_of_pack(const BurnOpInfo *op, const char *pack) {
  const size_t length = strlen(pack);
  return strncmp(op->name, pack, length) == 0 && op->name[length] == '.';
}

bool conform_wants_op(const Conform *run, const BurnOpInfo *op) {
  if (run->pack && !is_of_pack(op, run->pack)) return false;
  if (run->skip && is_listed(run->skip, op->name)) return false;
  return (run->pack || op->op < BURN_OP_LIMIT) && (!run->ops || conform_names_op(run, op));
}

const char *conform_level_name(const Conform *run) { return run->is_async ? "async" : sample_level_name(run->level); }

bool conform_is_over(const Conform *run) { return run->deadline > 0 && system_seconds() > run->deadline; }

/* The rest of an op that has begun, if there is no time for it. */
static bool leaves_rest(Conform *run, uint32_t check, const SampleIterator *iterator) {
  if (iterator->count == 0 || !conform_is_over(run)) return false;
  report_begin(run->report, check, iterator->op, iterator->count, iterator->op->name);
  report_skip(run->report, "some of its cases were not run: the time that --limit gives was over");
  return true;
}

/* With other required integers an op may need what one process has not, such as the other members of a group: it says
 * so by FAILED_PRECONDITION, and is right. */
static bool is_out_of_reach(Conform *run, uint32_t check, const Sample *sample) {
  void *data[SAMPLE_MAX_INPUTS] = {NULL};
  Results results = {0};
  char why[640] = "";
  if (!sample->is_renumbered || !sample_inputs(sample, data)) return false;
  report_begin_sample(run->report, check, sample);
  (void)sample_run(conform_device(run), sample, data, RUN_SHARED, &results, why, sizeof why);
  const bool lacks = burn_status_code(results.failure) == BURN_STATUS_FAILED_PRECONDITION;
  results_end(&results);
  sample_inputs_end(sample, data);
  if (lacks && run->index < 0) report_skip(run->report, "with other required integers: %s", why);
  return lacks;
}

bool conform_next(Conform *run, uint32_t check, SampleIterator *iterator, Sample *sample) {
  char why[768];
  if (leaves_rest(run, check, iterator)) return false;
  for (;;) {
    const int made = samples_next(iterator, sample, why, sizeof why);
    if (made == SAMPLE_END) return false;
    if (made == SAMPLE_INVALID) {
      report_begin(run->report, check, iterator->op, sample->index, iterator->op->name);
      report_fail(run->report, "%s", why);
      continue;
    }
    if (is_out_of_reach(run, check, sample)) {
      samples_leave(iterator);
      continue;
    }
    if (run->index < 0 || (int64_t)sample->index == run->index) return true;
  }
}

/* -- the command ------------------------------------------------------------------------------ */

/* A path is added to the plugins and replaced by its name; false with a message. */
static bool add_path(const char **stack) {
  static char name[256];
  const char *slash = strrchr(*stack, '/'), *dot = strrchr(*stack, '.');
  if (!slash || !dot || strcmp(dot, ".so") != 0) {
    const char *word = *stack + strcspn(*stack, "/:+<"); /* a path stands before any option, which may hold one */
    if (*word == '/') fprintf(stderr, "burn conform: '%s' is not a path of a file burn_NAME.so\n", *stack);
    return *word != '/';
  }
  char *path = realpath(*stack, NULL);
  const BurnStatus status =
      path ? burn_plugin_add(path) : burn_status_make(BURN_STATUS_NOT_FOUND, "there is no file '%s'", *stack);
  free(path);
  if (status != BURN_OK) fprintf(stderr, "burn conform: %s\n", burn_status_message(status));
  const char *start = strncmp(slash + 1, "burn_", 5) == 0 ? slash + 6 : slash + 1;
  snprintf(name, sizeof name, "%.*s", (int)strcspn(start, "."), start);
  *stack = name;
  return status == BURN_OK;
}

/* All words of a list with commas are ops; false with a message. */
static bool ops_are_known(const char *list) {
  char name[128];
  for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
    const BurnOpInfo *info = NULL;
    if (burn_op_find(name, &info) == BURN_OK) continue;
    fprintf(stderr, "burn conform: there is no op '%s'\n", name);
    return false;
  }
  return true;
}

/* --fails names an op that the cases of async do not use, and goes with them alone: other ops may decompose into it. */
static bool fails_can_be(const Conform *run, const char *level) {
  const char *op = run->fails;
  if (!op) return true;
  const bool is_used = strcmp(op, "neg") == 0 || strcmp(op, "reshape") == 0;
  const bool is_alone = run->only ? strcmp(run->only, "async") == 0 : strcmp(level, "async") == 0;
  if (is_used) fprintf(stderr, "burn conform: --fails cannot be %s, which the cases themselves use\n", op);
  if (!is_alone) fprintf(stderr, "burn conform: --fails goes with --level async or --check async\n");
  return !is_used && is_alone && ops_are_known(op);
}

static bool check_words(const Conform *run, const char *level) {
  static const char *const levels[] = {"core", "train", "full", "async"};
  bool known = false, check_known = !run->only;
  for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) known = known || strcmp(level, levels[i]) == 0;
  for (uint32_t check = 0; check < CHECK_COUNT && run->only; check++) {
    check_known = check_known || strcmp(run->only, report_check_name(check)) == 0;
  }
  if (!known) fprintf(stderr, "burn conform: --level is core, train, full or async, not '%s'\n", level);
  if (!check_known) fprintf(stderr, "burn conform: there is no check '%s'; see --help\n", run->only);
  const bool stacks_are_known =
      stack_is_known(run->stack) && stack_is_known(run->against) && (!run->on || stack_is_known(run->on));
  return known && check_known && stacks_are_known && fails_can_be(run, level) && ops_are_known(run->ops) &&
         ops_are_known(run->skip);
}

/* All ops of the list are among those that are tested: the pack's, or else Burn's own; false with a message. */
static bool ops_are_tested(const Conform *run, const char *list) {
  char name[128];
  for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
    const BurnOpInfo *info = NULL;
    if (burn_op_find(name, &info) != BURN_OK || (run->pack ? is_of_pack(info, run->pack) : info->op < BURN_OP_LIMIT))
      continue;
    if (run->pack) {
      fprintf(stderr, "burn conform: '%s' is not an op of the pack '%s'\n", name, run->pack);
    } else {
      const int length = (int)strcspn(name, ".");
      fprintf(stderr, "burn conform: '%s' is an op of a pack: burn conform %.*s --on '%s' --op %s\n", name, length,
              name, run->stack, name);
    }
    return false;
  }
  return true;
}

/* What only shows when the plugins are known. */
static bool subject_fits(const Conform *run) {
  StackPart part;
  const uint32_t subject = run->report->subject;
  if (subject == STACK_UNDER_PACK && stack_part(run->argument, 0, &part)) {
    fprintf(stderr, "burn conform: '%s' is a kernel pack, not a decorator: burn conform %s --on '%s'\n", part.name,
            part.name, part.below);
    return false;
  }
  if (run->on && subject == STACK_ITSELF) {
    fprintf(stderr, "burn conform: --on goes with a kernel pack or a decorator alone\n");
    return false;
  }
  return ops_are_tested(run, run->ops) && ops_are_tested(run, run->skip);
}

/* Where nobody waits for anything, all hangs. */
static bool numbers_can_be(const char *index, size_t timeout, size_t patience) {
  const bool is_case = !index || (index[0] && strspn(index, "0123456789") == strlen(index));
  if (!is_case) fprintf(stderr, "burn conform: --case needs an integer, not '%s'\n", index);
  if (timeout < 1) fprintf(stderr, "burn conform: --timeout 0: 1 second or more expected\n");
  if (patience < 1) fprintf(stderr, "burn conform: --patience 0: 1 second or more expected\n");
  return is_case && timeout >= 1 && patience >= 1;
}

/* The other mode: graphs on two stacks. */
static int run_fuzz(const FuzzOptions *options) {
  if (options->stacks[1]) return fuzz_command(options);
  fprintf(stderr, "burn conform: --fuzz compares two stacks: burn conform --fuzz 1000 ndarray 'autodiff<ndarray>'\n");
  return COMMAND_USAGE;
}

/* Some check ran a sample: with --case there may be none of that number. */
static bool met_samples(const Conform *run) {
  static const uint32_t checks[] = {CHECK_FORWARD,   CHECK_LAWS,   CHECK_CHAINS,
                                    CHECK_GRADIENTS, CHECK_FAULTS, CHECK_ASYNC};
  uint32_t cases = 0;
  for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
    const Counts counts = report_total(run->report, checks[i]);
    cases += counts.passed + counts.failed + counts.skipped;
  }
  return cases > 0;
}

int command_conform(int argc, char **argv) {
  Conform run = {.against = "reference", .index = -1, .timeout = 10, .jobs = 1};
  const char *level = "core";
  const char *stacks[2] = {NULL, NULL};
  size_t seed = 1, graphs = 0, most = 20, patience = 60;
  const char *index = NULL;
  bool json = false;
  const Argument arguments[] = {
      {"level", ARGUMENT_TEXT, &level, "LEVEL", "core, train, full or async"},
      {"op", ARGUMENT_TEXT, &run.ops, "NAME,..", "only these ops"},
      {"on", ARGUMENT_TEXT, &run.on, "STACK", "what a decorator or kernel pack alone is put on, instead of ndarray"},
      {"skip", ARGUMENT_TEXT, &run.skip, "NAME,..", "not these ops"},
      {"check", ARGUMENT_TEXT, &run.only, "NAME", "only this check, whatever the level"},
      {"fails", ARGUMENT_TEXT, &run.fails, "OP", "work of this op fails late here: async checks that it is told"},
      {"case", ARGUMENT_TEXT, &index, "N", "only sample N of the ops; with --fuzz, the first graph"},
      {"fuzz", ARGUMENT_SIZE, &graphs, "N", "compare two stacks on N random graphs"},
      {"seed", ARGUMENT_SIZE, &seed, "N", "of the values"},
      {"against", ARGUMENT_TEXT, &run.against, "STACK", "the reference"},
      {"timeout", ARGUMENT_SIZE, &run.timeout, "SECONDS", "a case that takes longer hangs"},
      {"jobs", ARGUMENT_SIZE, &run.jobs, "N", "processes at a time; not with --fuzz"},
      {"limit", ARGUMENT_SIZE, &run.limit, "SECONDS", "begin nothing after that; what was left is told (0: no limit)"},
      {"most", ARGUMENT_SIZE, &most, "N", "with --fuzz: stop after N graphs that differ"},
      {"patience", ARGUMENT_SIZE, &patience, "SECONDS", "with --fuzz: a graph that takes longer hangs"},
      {"json", ARGUMENT_FLAG, &json, NULL, "one JSON document instead of the table"},
      {"verbose", ARGUMENT_FLAG, &run.verbose, NULL, "a row for every op, and more failures of each"},
  };
  int status;
  if (!command_parse(argc, argv, usage, arguments, sizeof arguments / sizeof arguments[0], stacks, 2, &status))
    return status;
  if (!numbers_can_be(index, run.timeout, patience)) return COMMAND_USAGE;
  const uint64_t first = index ? strtoull(index, NULL, 10) : 0;
  const FuzzOptions fuzz = {{stacks[0], stacks[1]}, graphs, seed, first, most, patience, run.limit, json};
  if (graphs > 0) return run_fuzz(&fuzz);
  run.stack = stacks[0];
  if (!run.stack || !run.stack[0] || stacks[1]) {
    fprintf(stderr, "%s\n", usage);
    return COMMAND_USAGE;
  }
  run.argument = run.stack;
  if (!add_path(&run.stack) || !check_words(&run, level))
    return COMMAND_USAGE; /* the path may be that of a pack, with ops */
  run.level = strcmp(level, "core") == 0 ? SAMPLE_CORE : strcmp(level, "train") == 0 ? SAMPLE_TRAIN : SAMPLE_FULL;
  run.is_async = strcmp(level, "async") == 0;
  if (run.is_async) run.level = SAMPLE_CORE;
  run.seed = seed;
  run.index = index ? strtoll(index, NULL, 10) : -1;
  const double start = system_seconds();
  const bool has_begun = supervise_begin(&run);
  if (has_begun && !subject_fits(&run)) return COMMAND_USAGE;
  if (!has_begun || !supervise(&run)) {
    fprintf(stderr, "burn conform: no memory, or no child process could be started\n");
    return COMMAND_FAILED;
  }
  if (run.index >= 0 && !met_samples(&run)) {
    fprintf(stderr, "burn conform: none of the ops has a sample %lld on this level; --verbose counts them\n",
            (long long)run.index);
    return COMMAND_USAGE;
  }
  return report_print(&run, json, system_seconds() - start) ? COMMAND_OK : COMMAND_FAILED;
}
