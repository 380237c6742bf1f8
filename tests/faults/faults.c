/* faults.c - the crash-safety harness: training that is killed, or whose file operations fail, and is then resumed,
 * ends with the artifacts of a run that nobody disturbed, or refuses to go on and says why.
 *
 *   faults_harness MNIST SHIM|none [kills=N] [operations=N] [errors=N] [others=N] [seed=N]   N = all: every one
 *   faults_harness compare FOLDER FOLDER
 *
 * Verdicts: identical, logs told (all but logs, of which the disturbed run has said that they lost lines), refused (a
 * message that names a file), WRONG; the folders of the first wrong ones stay. Exit status 1 if anything is wrong. */
#define _XOPEN_SOURCE 700
#include "faults.h"

#include <burn/error.h>

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEED = 42, OTHER_SEED = 7, EPOCHS = 3, MAX_KEPT = 8, ALL = INT_MAX };

static const Setup setups[] = {
    {"ndarray, 1 thread", "autodiff<ndarray>", "1", "1"},
    {"fusion, 2 threads, 3 workers", "autodiff<fusion<ndarray>>", "2", "3"},
};
enum { SETUPS = sizeof setups / sizeof setups[0] };

typedef struct Count {
  int cases, identical, logs_told, refused, wrong;
} Count;

static Harness harness;
static uint64_t random_state = 88172645463325252u;
static int wrong_folders;

static double uniform(void) { /* xorshift64 */
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (double)(random_state >> 11) / 9007199254740992.0;
}

static const char *artifacts(const char *where) {
  static char paths[4][3 * PATH_BYTES];
  static int next;
  char *path = paths[next++ % 4];
  (void)snprintf(path, sizeof paths[0], "%s/%s/" ARTIFACTS, harness.scratch, where);
  return path;
}

static void forget(const char *where) {
  char folder[2 * PATH_BYTES];
  (void)snprintf(folder, sizeof folder, "%s/%s", harness.scratch, where);
  folder_remove(folder);
}

/* -- verdicts --------------------------------------------------------------------------------- */

/* Notes that the case in `where` is wrong, and keeps its folder if it is one of the first. */
BURN_PRINTF(3, 4) static void wrong(Count *count, const char *where, const char *format, ...) {
  char from[2 * PATH_BYTES], to[2 * PATH_BYTES];
  va_list arguments;
  (void)snprintf(from, sizeof from, "%s/%s", harness.scratch, where);
  (void)snprintf(to, sizeof to, "%s/wrong-%d", harness.scratch, ++wrong_folders);
  const bool stays = wrong_folders <= MAX_KEPT && rename(from, to) == 0;
  count->wrong++;
  printf("  WRONG (%s): ", stays ? to : "-");
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  putchar('\n');
}

/* A message is a reason if it names a file or folder and, for an error that we made, its text. */
static bool tells_why(const Outcome *outcome, int error) {
  static const char *const names[] = {ARTIFACTS, ".mpk", ".json", ".log"};
  bool names_file = false;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    names_file = names_file || strstr(outcome->message, names[i]);
  return names_file && (error == 0 || strstr(outcome->message, strerror(error)));
}

/* Judges a run that nothing disturbed after what was done before: `what` says that. One of two undisturbed runs may be
 * equal to it; the second may be NULL. */
static void judge(Count *count, const char *where, const Outcome *outcome, const char *base, const char *other,
                  const char *what) {
  char why[MESSAGE_BYTES] = "", why_other[MESSAGE_BYTES] = "", left[MESSAGE_BYTES];
  count->cases++;
  if (outcome->hangs)
    wrong(count, where, "%s: the run hangs", what);
  else if (outcome->signal)
    wrong(count, where, "%s: the run dies of signal %d", what, outcome->signal);
  else if (outcome->status != 0 && !tells_why(outcome, 0))
    wrong(count, where, "%s: refused without a reason: %s", what, outcome->message);
  else if (outcome->status != 0)
    count->refused++;
  else if (!folders_are_same(artifacts(base), artifacts(where), true, why) &&
           !(other && folders_are_same(artifacts(other), artifacts(where), true, why_other))) {
    wrong(count, where, "%s: %s%s%s", what, why, other ? "; beside the other run: " : "", why_other);
  } else if (folder_has_leftover(artifacts(where), left))
    wrong(count, where, "%s: %s", what, left);
  else
    count->identical++;
}

/* -- scenarios -------------------------------------------------------------------------------- */

/* What a setup does when nobody disturbs it: in folders base-N and other-N, with its operations in the file
 * operations-N. */
typedef struct Base {
  char same[32], other[32], half[32]; /* of the seed, of another seed, and of that one after two epochs */
  double seconds;
  char log[2 * PATH_BYTES];
  long operations;
} Base;

static long lines_of(const char *path) {
  FILE *file = fopen(path, "r");
  long lines = 0;
  for (int c; file && (c = getc(file)) != EOF;) lines += c == '\n';
  if (file) fclose(file);
  return lines;
}

static bool prepare(const Setup *setup, size_t number, Base *base) {
  (void)snprintf(base->same, sizeof base->same, "base-%zu", number);
  (void)snprintf(base->other, sizeof base->other, "other-%zu", number);
  (void)snprintf(base->half, sizeof base->half, "half-%zu", number);
  (void)snprintf(base->log, sizeof base->log, "%s/operations-%zu", harness.scratch, number);
  const Fault none = {.log = harness.shim ? base->log : NULL};
  const Outcome outcomes[] = {harness_run(&harness, setup, base->same, SEED, false, EPOCHS, &none),
                              harness_run(&harness, setup, "again", SEED, false, EPOCHS, NULL),
                              harness_run(&harness, setup, base->other, OTHER_SEED, false, EPOCHS, NULL),
                              harness_run(&harness, setup, base->half, OTHER_SEED, false, EPOCHS - 1, NULL)};
  for (size_t i = 0; i < 4; i++) {
    if (outcomes[i].status != 0) printf("faults: %s fails undisturbed: %s\n", harness.program, outcomes[i].message);
    if (outcomes[i].status != 0) return false;
  }
  char why[MESSAGE_BYTES];
  const bool same = folders_are_same(artifacts(base->same), artifacts("again"), true, why);
  if (!same) printf("faults: %s: two runs of one seed differ: %s\n", setup->name, why);
  if (folders_are_same(artifacts(base->same), artifacts(base->other), true, why)) {
    printf("faults: two runs of different seeds are the same: nothing can be found in this way\n");
    return false;
  }
  base->seconds = outcomes[1].seconds;
  base->operations = lines_of(base->log);
  forget("again");
  return same;
}

/* Kills a run at random moments, again and again, until one gets to its end. */
static int kill_until_done(const Setup *setup, const Base *base, int kills, Count *count) {
  char what[96];
  int done = 0;
  Outcome outcome;
  forget("case");
  do {
    /* The first resumed runs are killed, too; then one is left alone. */
    const Fault fault = {.kills = done < kills && (done == 0 || uniform() < 0.6),
                         .kill_after = uniform() * base->seconds};
    outcome = harness_run(&harness, setup, "case", SEED, done > 0, EPOCHS, &fault);
    const bool killed = outcome.signal == 9 && fault.kills;
    done += killed;
    if (!killed) break;
  } while (true);
  (void)snprintf(what, sizeof what, "after %d kills", done);
  if (done > 0) judge(count, "case", &outcome, base->same, NULL, what);
  return done;
}

static Count random_kills(const Setup *setup, const Base *base, int kills) {
  Count count = {0};
  for (int done = 0, runs = 0; done < kills && runs < 20 * kills + 20; runs++)
    done += kill_until_done(setup, base, kills - done, &count);
  return count;
}

/* Line `number` of the log of operations. */
static const char *operation(const Base *base, long number) {
  static char line[256];
  FILE *file = fopen(base->log, "r");
  line[0] = '\0';
  while (file && number-- > 0 && fgets(line, sizeof line, file)) line[strcspn(line, "\n")] = '\0';
  if (file) fclose(file);
  const char *mark = strstr(line, ARTIFACTS);
  if (mark && mark > line) memmove(line + strcspn(line, " ") + 1, mark, strlen(mark) + 1);
  return line;
}

/* Case i of `wanted` that are spread evenly over 0 .. total-1. */
static long spread(long i, long wanted, long total) { return wanted >= total ? i : i * total / wanted; }

static Count kills_before_operations(const Setup *setup, const Base *base, int wanted) {
  Count count = {0};
  for (long i = 0; i < wanted && i < base->operations; i++) {
    const long at = 1 + spread(i, wanted, base->operations);
    char what[320];
    forget("case");
    (void)harness_run(&harness, setup, "case", SEED, false, EPOCHS, &(Fault){.at = at});
    const Outcome resumed = harness_run(&harness, setup, "case", SEED, true, EPOCHS, NULL);
    (void)snprintf(what, sizeof what, "killed before operation %ld (%s)", at, operation(base, at));
    judge(&count, "case", &resumed, base->same, NULL, what);
  }
  return count;
}

/* A fresh run over the folder of another one, killed before its first operations: resumed, it is one of the two. */
static Count kills_over_another_run(const Setup *setup, const Base *base, int wanted) {
  Count count = {0};
  for (long at = 1; at <= wanted && at <= base->operations; at++) {
    char what[96], folder[2 * PATH_BYTES];
    forget("case");
    (void)snprintf(folder, sizeof folder, "%s/case", harness.scratch);
    (void)mkdir(folder, 0777);
    folder_copy(artifacts(base->half), artifacts("case"));
    (void)harness_run(&harness, setup, "case", SEED, false, EPOCHS, &(Fault){.at = at});
    const Outcome resumed = harness_run(&harness, setup, "case", SEED, true, EPOCHS, NULL);
    (void)snprintf(what, sizeof what, "over another run, killed before operation %ld", at);
    judge(&count, "case", &resumed, base->same, base->other, what);
  }
  return count;
}

static const struct {
  int number;
  const char *name;
} errors[] = {{ENOSPC, "ENOSPC"}, {EIO, "EIO"}, {EACCES, "EACCES"}};
enum { ERRORS = sizeof errors / sizeof errors[0], WAYS = 2 * ERRORS };

/* The disturbed run has said that a log lost lines, after the checkpoint that is not to be lost with them: all else is
 * the same. */
static bool logs_are_told(const Outcome *disturbed, const Outcome *resumed, const Base *base) {
  char why[MESSAGE_BYTES];
  return strstr(disturbed->message, "but not its logs") && resumed->status == 0 &&
         !folders_are_same(artifacts(base->same), artifacts("case"), true, why) &&
         folders_are_same(artifacts(base->same), artifacts("case"), false, why) &&
         !folder_has_leftover(artifacts("case"), why);
}

/* One error, then a run without. */
static void fail_once(const Setup *setup, const Base *base, long which, Count *count) {
  const long at = 1 + which / WAYS;
  const int error = errors[which % ERRORS].number;
  const Fault fault = {.at = at, .error = error, .lasting = which % WAYS >= ERRORS};
  char what[320];
  forget("case");
  (void)snprintf(what, sizeof what, "%s %s operation %ld (%s)", errors[which % ERRORS].name,
                 fault.lasting ? "from" : "at", at, operation(base, at));
  const Outcome disturbed = harness_run(&harness, setup, "case", SEED, false, EPOCHS, &fault);
  if (disturbed.status == 0) { /* it did without */
    judge(count, "case", &disturbed, base->same, NULL, what);
    return;
  }
  if (disturbed.status < 0 || !tells_why(&disturbed, error)) {
    count->cases++;
    if (disturbed.status < 0)
      wrong(count, "case", "%s: %s", what, disturbed.hangs ? "hangs" : "dies of a signal");
    else
      wrong(count, "case", "%s: the message lacks file or reason: %s", what, disturbed.message);
    return;
  }
  const Outcome resumed = harness_run(&harness, setup, "case", SEED, true, EPOCHS, NULL);
  if (logs_are_told(&disturbed, &resumed, base)) {
    count->cases++;
    count->logs_told++;
  } else
    judge(count, "case", &resumed, base->same, NULL, what);
}

static Count injected_errors(const Setup *setup, const Base *base, int wanted) {
  Count count = {0};
  const long total = base->operations * WAYS;
  for (long i = 0; i < wanted && i < total; i++) fail_once(setup, base, spread(i, wanted, total), &count);
  return count;
}

/* -- all of it -------------------------------------------------------------------------------- */

typedef struct Plan {
  const char *name, *title;
  Count (*run)(const Setup *setup, const Base *base, int wanted);
  bool needs_shim;
  int wanted;
} Plan;

static bool read_plan(const char *text, Plan *plans, size_t count) {
  const char *value = strchr(text, '=');
  for (size_t i = 0; value && i < count; i++) {
    if (strncmp(text, plans[i].name, (size_t)(value - text)) != 0 || plans[i].name[value - text]) continue;
    plans[i].wanted = strcmp(value + 1, "all") == 0 ? ALL : atoi(value + 1);
    return true;
  }
  if (strncmp(text, "seed=", 5) != 0) return false;
  random_state ^= (uint64_t)atoll(text + 5) << 20;
  return true;
}

/* Half of what is wanted on each setup. */
static int run_plans(const Plan *plans, size_t plan_count) {
  Count sum = {0};
  printf("%-30s %-36s %6s %10s %10s %8s %6s\n", "stack", "what", "cases", "identical", "logs told", "refused", "WRONG");
  for (size_t s = 0; s < SETUPS; s++) {
    Base base = {.seconds = 0};
    if (!prepare(&setups[s], s, &base)) return 1;
    for (size_t i = 0; i < plan_count; i++) {
      const int wanted = plans[i].wanted == ALL ? ALL : (plans[i].wanted + (s == 0)) / 2;
      if (wanted == 0 || (plans[i].needs_shim && !harness.shim)) continue;
      const Count count = plans[i].run(&setups[s], &base, wanted);
      printf("%-30s %-36s %6d %10d %10d %8d %6d\n", setups[s].name, plans[i].title, count.cases, count.identical,
             count.logs_told, count.refused, count.wrong);
      (void)fflush(stdout);
      sum.cases += count.cases;
      sum.wrong += count.wrong + (count.cases == 0); /* nothing was done: the shim is not in the program */
    }
  }
  printf("%d cases, %d wrong\n", sum.cases, sum.wrong);
  return sum.wrong > 0;
}

static int compare(const char *a, const char *b) {
  char why[MESSAGE_BYTES] = "";
  const bool bad = !folders_are_same(a, b, true, why) || folder_has_leftover(b, why);
  if (bad) printf("%s\n", why);
  return bad;
}

static bool make_scratch(void) {
  const char *folder = getenv("TMPDIR");
  if (!folder) folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  (void)snprintf(harness.scratch, sizeof harness.scratch, "%s/burn-faults-XXXXXX", folder);
  return mkdtemp(harness.scratch) != NULL;
}

int main(int argc, char **argv) {
  Plan plans[] = {
      {"kills", "SIGKILL at random moments", random_kills, false, 0},
      {"operations", "SIGKILL before an operation", kills_before_operations, true, 0},
      {"others", "the same over another run", kills_over_another_run, true, 0},
      {"errors", "an operation fails", injected_errors, true, 0},
  };
  enum { PLANS = sizeof plans / sizeof plans[0] };
  if (argc == 4 && strcmp(argv[1], "compare") == 0) return compare(argv[2], argv[3]);
  bool understood = argc > 3;
  for (int i = 3; i < argc; i++) understood = understood && read_plan(argv[i], plans, PLANS);
  if (!understood) {
    fprintf(stderr,
            "usage: faults_harness MNIST SHIM|none [kills=N] [operations=N] [others=N] [errors=N] [seed=N]\n"
            "       faults_harness compare FOLDER FOLDER\n");
    return 2;
  }
  harness.program = argv[1];
  harness.shim = strcmp(argv[2], "none") == 0 ? NULL : argv[2];
  if (!make_scratch()) {
    fprintf(stderr, "faults: cannot make %s: %s\n", harness.scratch, strerror(errno));
    return 1;
  }
  const int status = run_plans(plans, PLANS);
  if (wrong_folders == 0) folder_remove(harness.scratch);
  return status;
}
