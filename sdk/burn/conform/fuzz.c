/* fuzz.c - burn conform --fuzz N STACK_A STACK_B: children run graph after graph; the parent watches them, shrinks what
 * they find, in further children, and prints it. */
#define _GNU_SOURCE /* MAP_ANONYMOUS, strsignal */
#include "fuzz.h"

#include "../command.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROBE_SECONDS = 10, MAX_FOUND = 100, MAX_OPS_TEXT = 400 };

/* What the children write and the parent reads. */
typedef struct Shared {
  uint64_t next;    /* number of the graph that runs, or of the next one */
  uint32_t stage;   /* FuzzStacks.stage */
  bool found;       /* the graph shows the outcome */
  bool is_over;     /* the time is */
  char broken[512]; /* a stack that cannot be opened */
  FuzzOutcome outcome;
  FuzzCounts counts;
  FuzzGraph graph;
} Shared;

/* A difference, shrunk. */
typedef struct Found {
  uint64_t index, times;
  FuzzOutcome outcome;
  char ops[MAX_OPS_TEXT];
  char *program;
} Found;

typedef struct Fuzz {
  const FuzzOptions *options;
  Shared *shared;
  uint32_t found_count, graphs_found;
  Found found[MAX_FOUND];
  double seconds, deadline; /* deadline: of the monotonic clock; 0: none */
} Fuzz;

/* -- the child -------------------------------------------------------------------------------- */

static bool open_stacks(Fuzz *fuzz, FuzzStacks *stacks) {
  memset(stacks, 0, sizeof *stacks);
  stacks->text[0] = fuzz->options->stacks[0];
  stacks->text[1] = fuzz->options->stacks[1];
  stacks->stage = &fuzz->shared->stage;
  return fuzz_stacks_open(stacks, fuzz->shared->broken, sizeof fuzz->shared->broken);
}

static void count_graph(FuzzCounts *counts, const FuzzGraph *graph) {
  counts->graphs++;
  counts->nodes += graph->node_count;
  counts->backward += graph->mode == FUZZ_BACKWARD;
  for (uint32_t n = 0; n < graph->node_count; n++) {
    const Sample *sample = &graph->nodes[n].sample;
    counts->ops[sample->op->op]++;
    counts->views += (sample->op->traits & BURN_TRAIT_VIEW) != 0;
    for (uint32_t i = 0; i < sample->input_count; i++) counts->given += graph->nodes[n].given[i];
  }
  for (uint32_t v = 0; v < graph->value_count; v++) counts->watched += graph->values[v].watched;
}

/* Graph after graph, until one shows something. */
static void child(Fuzz *fuzz) {
  static FuzzStacks stacks;
  Shared *shared = fuzz->shared;
  const uint64_t end = fuzz->options->first + fuzz->options->count;
  if (!open_stacks(fuzz, &stacks)) return;
  stacks.counts = &shared->counts;
  for (; shared->next < end; shared->next++) {
    shared->is_over = fuzz->deadline > 0 && system_seconds() > fuzz->deadline;
    if (shared->is_over) break;
    shared->stage = 0;
    fuzz_generate(&stacks, sample_mix(fuzz->options->seed, shared->next), &shared->graph);
    count_graph(&shared->counts, &shared->graph);
    fuzz_check(&stacks, &shared->graph, true, &shared->outcome);
    if (shared->outcome.kind == FUZZ_EQUAL) continue;
    shared->found = true;
    return;
  }
  fuzz_stacks_close(&stacks);
}

/* -- the parent ------------------------------------------------------------------------------- */

static void show_progress(const Fuzz *fuzz, double start) {
  const uint64_t done = fuzz->shared->next - fuzz->options->first;
  const double seconds = system_seconds() - start;
  fprintf(stderr, "\r\033[K%" PRIu64 " of %" PRIu64 " graphs, %.0f/s, %u differ", done, fuzz->options->count,
          seconds > 0 ? (double)done / seconds : 0.0, fuzz->graphs_found);
  fflush(stderr);
}

/* Waits for a child; kills it after `seconds` in which the counter of graphs stood still. FUZZ_EQUAL if it ended by
 * itself and well, else FUZZ_CRASHES or FUZZ_HANGS with a reason. */
static uint32_t wait_for(Fuzz *fuzz, pid_t pid, double seconds, double start, FuzzOutcome *out) {
  const bool terminal = start > 0 && isatty(STDERR_FILENO) == 1;
  double since = system_seconds(), shown = 0;
  uint64_t last = fuzz->shared->next;
  int status = 0;
  long pause = 100000;
  static const char *const stages[] = {"stack A with everything kept", "stack A", "stack B"};
  for (;;) {
    const pid_t got = waitpid(pid, &status, WNOHANG);
    if (got == pid || (got < 0 && errno != EINTR)) break;
    const double now = system_seconds();
    if (fuzz->shared->next != last) since = now, last = fuzz->shared->next;
    if (now - since > seconds) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      *out = (FuzzOutcome){.kind = FUZZ_HANGS, .side = fuzz->shared->stage == 1 ? 0 : 1};
      snprintf(out->reason, sizeof out->reason, "hangs in %s: nothing happened for %.0f s",
               stages[fuzz->shared->stage % 3], seconds);
      return FUZZ_HANGS;
    }
    if (terminal && now - shown > 0.3) show_progress(fuzz, start), shown = now;
    nanosleep(&(struct timespec){0, pause}, NULL);
    if (pause < 10000000) pause *= 2;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return FUZZ_EQUAL;
  *out = (FuzzOutcome){.kind = FUZZ_CRASHES, .side = fuzz->shared->stage == 1 ? 0 : 1};
  if (WIFSIGNALED(status)) {
    snprintf(out->reason, sizeof out->reason, "%s crashes: the process died of signal %d (%s)",
             stages[fuzz->shared->stage % 3], WTERMSIG(status), strsignal(WTERMSIG(status)));
  } else {
    snprintf(out->reason, sizeof out->reason, "%s ends the process with exit status %d",
             stages[fuzz->shared->stage % 3], WEXITSTATUS(status));
  }
  return FUZZ_CRASHES;
}

/* -- probes for the shrinker ------------------------------------------------------------------ */

/* While shrinking, a dying child says on stderr what the first one has said. */
static void be_quiet(void) {
  if (!freopen("/dev/null", "w", stderr)) return;
}

/* What a plugin that calls exit(0) leaves behind. */
static const FuzzOutcome process_ends = {.kind = FUZZ_CRASHES, .side = 1, .reason = "the process ends"};

static double probe_seconds(const Fuzz *fuzz) {
  return fuzz->options->patience < PROBE_SECONDS ? (double)fuzz->options->patience : (double)PROBE_SECONDS;
}

static void probe_outcome(void *context, const FuzzGraph *graph, FuzzOutcome *out) {
  Fuzz *fuzz = context;
  static FuzzStacks stacks;
  FuzzOutcome found = {.kind = FUZZ_EQUAL};
  *out = found;
  fuzz->shared->outcome = process_ends; /* unless it gets further */
  const pid_t pid = conform_fork();
  if (pid == 0) {
    be_quiet();
    if (open_stacks(fuzz, &stacks)) fuzz_check(&stacks, graph, false, &found);
    fuzz->shared->outcome = found;
    _exit(0);
  }
  if (pid > 0 && wait_for(fuzz, pid, probe_seconds(fuzz), 0, out) == FUZZ_EQUAL) *out = fuzz->shared->outcome;
}

/* Copies what node n makes on stack A into the graph, as leaves. */
static bool fill(FuzzStacks *stacks, FuzzGraph *graph, uint32_t n) {
  FuzzSession session = {0};
  fuzz_begin(&session, stacks->plain[0], graph, FUZZ_KEEP_ALL | FUZZ_READ_ALL, &stacks->nominal);
  for (uint32_t k = 0; k <= n; k++) {
    if (!fuzz_step(&session, k)) return false;
  }
  const FuzzNode *node = &graph->nodes[n];
  for (uint32_t i = 0; i < node->sample.op->output_count; i++) {
    FuzzValue *value = &graph->values[node->first_output + i];
    const size_t bytes = (size_t)burn_desc_count(&value->desc) * burn_dtype_bytes(value->desc.dtype);
    if (graph->pool_used + bytes + 16 > FUZZ_POOL) return false;
    memcpy(graph->pool + graph->pool_used, stacks->nominal.early[node->first_output + i], bytes);
    value->node = -1;
    value->data = graph->pool_used;
    value->tracked = graph->mode != FUZZ_PLAIN && burn_dtype_kind(value->desc.dtype) == BURN_KIND_FLOAT;
    graph->pool_used += (uint32_t)((bytes + 15) & ~(size_t)15);
  }
  return true;
}

static bool probe_values(void *context, FuzzGraph *graph, uint32_t n) {
  Fuzz *fuzz = context;
  static FuzzStacks stacks;
  FuzzOutcome ignored;
  const pid_t pid = conform_fork();
  if (pid == 0) {
    be_quiet();
    fuzz_copy(&fuzz->shared->graph, graph);
    _exit(open_stacks(fuzz, &stacks) && fill(&stacks, &fuzz->shared->graph, n) ? 0 : 1);
  }
  if (pid < 0 || wait_for(fuzz, pid, probe_seconds(fuzz), 0, &ignored) != FUZZ_EQUAL) return false;
  fuzz_copy(graph, &fuzz->shared->graph);
  return true;
}

/* -- findings --------------------------------------------------------------------------------- */

static void command_line(const Fuzz *fuzz, uint64_t index, char *text, size_t bytes) {
  snprintf(text, bytes, "burn conform --fuzz 1 '%s' '%s' --seed %" PRIu64 " --case %" PRIu64, fuzz->options->stacks[0],
           fuzz->options->stacks[1], fuzz->options->seed, index);
}

static void print_found(const Fuzz *fuzz, const Found *found) {
  char line[768];
  command_line(fuzz, found->index, line, sizeof line);
  if (isatty(STDERR_FILENO) == 1) fputs("\r\033[K", stderr);
  printf("graph %" PRIu64 ": %s\n  ops: %s\n  again: %s\n\n%s\n", found->index, found->outcome.reason, found->ops, line,
         found->program ? found->program : "(no memory for the program)\n");
  fflush(stdout);
}

/* Shrinks what the last child has left in shared memory, and keeps it if it is news. */
static void take_finding(Fuzz *fuzz, const FuzzOutcome *outcome) {
  FuzzGraph *graph = malloc(sizeof *graph);
  Found found = {.index = fuzz->shared->next, .times = 1, .outcome = *outcome};
  char line[768];
  fuzz->graphs_found++;
  if (!graph) return;
  fuzz_copy(graph, &fuzz->shared->graph);
  const FuzzProbe probe = {fuzz, probe_outcome, probe_values};
  fuzz_shrink(graph, &found.outcome, &probe);
  fuzz_ops(graph, found.ops, sizeof found.ops);
  for (uint32_t i = 0; i < fuzz->found_count; i++) {
    if (strcmp(fuzz->found[i].ops, found.ops) != 0) continue;
    fuzz->found[i].times++;
    free(graph);
    return;
  }
  command_line(fuzz, found.index, line, sizeof line);
  found.program = fuzz_program(graph, &found.outcome, fuzz->options->stacks, line);
  fuzz->found[fuzz->found_count++] = found;
  if (!fuzz->options->json) print_found(fuzz, &found);
  free(graph);
}

static uint64_t most(const Fuzz *fuzz) { return fuzz->options->most < MAX_FOUND ? fuzz->options->most : MAX_FOUND; }

/* One child from the current graph on. False: it cannot go on. */
static bool run_child(Fuzz *fuzz, double start) {
  Shared *shared = fuzz->shared;
  FuzzOutcome outcome;
  shared->found = false;
  shared->graph.node_count = 0;
  const pid_t pid = conform_fork();
  if (pid < 0) return false;
  if (pid == 0) {
    child(fuzz);
    if (shared->found) _exit(0); /* nothing was closed */
    exit(0);                     /* not _exit: a leak checker may have something to say */
  }
  const uint32_t ended = wait_for(fuzz, pid, (double)fuzz->options->patience, start, &outcome);
  const uint64_t end = fuzz->options->first + fuzz->options->count;
  if (shared->broken[0] || (ended == FUZZ_EQUAL && (shared->is_over || shared->next >= end))) return false;
  if (ended == FUZZ_EQUAL && !shared->found) { /* a plugin called exit(0) */
    outcome = process_ends;
  } else if (ended == FUZZ_EQUAL) {
    outcome = shared->outcome;
  }
  take_finding(fuzz, &outcome);
  shared->next++;
  return shared->next < end && fuzz->graphs_found < most(fuzz);
}

/* -- the end ---------------------------------------------------------------------------------- */

static uint32_t ops_used(const FuzzCounts *counts, char *unused, size_t bytes) {
  uint32_t used = 0;
  size_t length = 0;
  unused[0] = '\0';
  for (uint32_t op = 1; op < BURN_OP_LIMIT; op++) {
    if (!burn_op_info(op)) continue;
    used += counts->ops[op] > 0;
    if (counts->ops[op] == 0 && length + 1 < bytes)
      length += (size_t)snprintf(unused + length, bytes - length, " %s", burn_op_info(op)->name);
  }
  return used;
}

static void print_summary(const Fuzz *fuzz) {
  const FuzzCounts *counts = &fuzz->shared->counts;
  char unused[2048];
  const uint32_t used = ops_used(counts, unused, sizeof unused);
  printf("%s against %s, seed %" PRIu64 "\n", fuzz->options->stacks[1], fuzz->options->stacks[0], fuzz->options->seed);
  printf("  %" PRIu64 " ops in the graphs, %u different ones; %" PRIu64 " views, %" PRIu64
         " inputs given away, %" PRIu64 " reads in the middle, %" PRIu64 " graphs with backward\n",
         counts->nodes, used, counts->views, counts->given, counts->watched, counts->backward);
  printf("  values compared: %" PRIu64 " equal to the bit, %" PRIu64 " within what rounding moves, %" PRIu64
         " not comparable\n",
         counts->by_bits, counts->by_tolerance, counts->not_comparable);
  if (counts->refused) printf("  %" PRIu64 " graphs had an op that a stack does not implement\n", counts->refused);
  if (unused[0] && counts->graphs >= 1000) printf("  in no graph:%s\n", unused);
  if (fuzz->shared->is_over) printf("  stopped after %" PRIu64 " s; see --limit\n", fuzz->options->limit);
  if (fuzz->graphs_found >= most(fuzz))
    printf("  stopped after %u graphs that differ; see --most\n", fuzz->graphs_found);
  printf("%s: %" PRIu64 " graphs, %u differ%s, %.1f s\n", fuzz->graphs_found ? "FAILED" : "passed", counts->graphs,
         fuzz->graphs_found,
         fuzz->graphs_found > fuzz->found_count ? " (those with the same few ops are shown once)" : "", fuzz->seconds);
}

static bool print_json(const Fuzz *fuzz) {
  const FuzzCounts *counts = &fuzz->shared->counts;
  cJSON *root = cJSON_CreateObject();
  char line[768];
  cJSON_AddStringToObject(root, "stack", fuzz->options->stacks[1]);
  cJSON_AddStringToObject(root, "against", fuzz->options->stacks[0]);
  cJSON_AddNumberToObject(root, "seed", (double)fuzz->options->seed);
  cJSON_AddNumberToObject(root, "seconds", fuzz->seconds);
  cJSON_AddNumberToObject(root, "graphs", (double)counts->graphs);
  cJSON_AddNumberToObject(root, "differ", fuzz->graphs_found);
  cJSON_AddNumberToObject(root, "calls", (double)counts->nodes);
  cJSON_AddNumberToObject(root, "given", (double)counts->given);
  cJSON_AddNumberToObject(root, "backward", (double)counts->backward);
  cJSON_AddNumberToObject(root, "equal", (double)counts->by_bits);
  cJSON_AddNumberToObject(root, "close", (double)counts->by_tolerance);
  cJSON_AddNumberToObject(root, "not_comparable", (double)counts->not_comparable);
  cJSON_AddNumberToObject(root, "not_implemented", (double)counts->refused);
  cJSON *ops = cJSON_AddObjectToObject(root, "ops");
  for (uint32_t op = 1; op < BURN_OP_LIMIT; op++) {
    if (burn_op_info(op)) cJSON_AddNumberToObject(ops, burn_op_info(op)->name, (double)counts->ops[op]);
  }
  cJSON *differences = cJSON_AddArrayToObject(root, "differences");
  for (uint32_t i = 0; i < fuzz->found_count; i++) {
    const Found *found = &fuzz->found[i];
    cJSON *object = cJSON_CreateObject();
    command_line(fuzz, found->index, line, sizeof line);
    cJSON_AddNumberToObject(object, "case", (double)found->index);
    cJSON_AddNumberToObject(object, "times", (double)found->times);
    cJSON_AddStringToObject(object, "reason", found->outcome.reason);
    cJSON_AddStringToObject(object, "ops", found->ops);
    cJSON_AddStringToObject(object, "command", line);
    cJSON_AddStringToObject(object, "program", found->program ? found->program : "");
    cJSON_AddItemToArray(differences, object);
  }
  return command_print_json(root) == COMMAND_OK;
}

int fuzz_command(const FuzzOptions *options) {
  static Fuzz fuzz;
  fuzz.options = options;
  fuzz.shared = mmap(NULL, sizeof *fuzz.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (fuzz.shared == MAP_FAILED) return COMMAND_FAILED;
  fuzz.shared->next = options->first;
  const double start = system_seconds();
  if (options->limit > 0) fuzz.deadline = start + (double)options->limit;
  while (run_child(&fuzz, start)) continue;
  fuzz.seconds = system_seconds() - start;
  if (isatty(STDERR_FILENO) == 1) fputs("\r\033[K", stderr);
  if (fuzz.shared->broken[0]) {
    fprintf(stderr, "burn conform: %s\n", fuzz.shared->broken);
    return COMMAND_USAGE;
  }
  bool printed = true;
  if (options->json) {
    printed = print_json(&fuzz);
  } else {
    print_summary(&fuzz);
  }
  for (uint32_t i = 0; i < fuzz.found_count; i++) free(fuzz.found[i].program);
  return printed && fuzz.graphs_found == 0 && fuzz.shared->counts.graphs > 0 ? COMMAND_OK : COMMAND_FAILED;
}
