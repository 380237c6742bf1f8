/* supervise.c - runs the plan in children, as many at a time as --jobs says. One that dies or hangs costs the case that
 * was running, not the run. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "conform.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Opening loads libraries and starts devices. An op that hung twice is not tried again, and after so many hangs nothing
 * is: most of what is left would hang as well. */
enum { OPENING_TIMEOUTS = 6, HANGS_PER_OP = 2, MAX_HANGS = 12, POLL_MILLISECONDS = 10, MAX_JOBS = 256 };

/* -- the plan --------------------------------------------------------------------------------- */

typedef struct Unit {
  uint32_t check, part; /* op, or step of the handshake or of async */
} Unit;

typedef struct Units {
  Unit *list;
  uint32_t count;
} Units;

/* In memory of all children: who is free takes the next unit. */
typedef struct Queue {
  atomic_uint next;           /* unit of the plan */
  atomic_uint hangs[MAX_OPS]; /* how often each op hung; 0: those without an op */
} Queue;

/* A child and what it records into. */
typedef struct Worker {
  pid_t pid; /* 0: it has ended */
  Report *report;
  uint64_t beat;
  uint32_t quiet; /* polls since the last beat */
} Worker;

static bool check_is_wanted(const Conform *run, uint32_t check, uint32_t level) {
  if (run->only) return strcmp(run->only, report_check_name(check)) == 0;
  if (run->is_async) return check == CHECK_ASYNC || check == CHECK_SHUTDOWN;
  return run->level >= level;
}

static bool per_op(uint32_t check) {
  switch (check) {
#define CHECK(NAME, name, per_op, level, what) \
  case CHECK_##NAME:                           \
    return per_op;
    CONFORM_CHECKS(CHECK)
#undef CHECK
    default:
      return false;
  }
}

static uint32_t level_of(uint32_t check) {
  switch (check) {
#define CHECK(NAME, name, per_op, level, what) \
  case CHECK_##NAME:                           \
    return level;
    CONFORM_CHECKS(CHECK)
#undef CHECK
    default:
      return 0;
  }
}

static void add_unit(Units *units, uint32_t check, uint32_t part) { units->list[units->count++] = (Unit){check, part}; }

/* With --op only ops are meant. */
static void add_steps(const Conform *run, Units *units, uint32_t check, uint32_t count) {
  for (uint32_t step = 0; (!run->ops || run->only) && step < count; step++) add_unit(units, check, step);
}

static void add_ops(const Conform *run, Units *units, uint32_t check, uint32_t first) {
  for (uint32_t op = 1; op < MAX_OPS; op++) {
    if (conform_op(op) && conform_wants_op(run, conform_op(op))) add_unit(units, check, first + op);
  }
}

static bool make_plan(const Conform *run, Units *units) {
  units->list = calloc((size_t)CHECK_COUNT * (MAX_OPS + 128), sizeof *units->list);
  units->count = 0;
  for (uint32_t check = 0; units->list && check < CHECK_COUNT; check++) {
    if (!check_is_wanted(run, check, level_of(check))) continue;
    if (check == CHECK_HANDSHAKE) {
      add_steps(run, units, check, handshake_step_count(run));
    } else if (run->pack && !per_op(check)) {
      continue; /* those are the stack's */
    } else if (check == CHECK_ASYNC) {
      add_steps(run, units, check, async_step_count());
      if (!run->fails) add_ops(run, units, check, async_step_count()); /* others may decompose into that op */
    } else if (per_op(check)) {
      add_ops(run, units, check, 0);
    } else {
      add_unit(units, check, 0);
    }
  }
  return units->list != NULL;
}

/* -- children --------------------------------------------------------------------------------- */

pid_t conform_fork(void) {
  const pid_t parent = getpid();
  fflush(NULL);
  const pid_t pid = fork();
  if (pid != 0) return pid;
#if defined(__linux__)
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  if (getppid() != parent) _exit(1); /* it ended before that */
  return 0;
}

/* -- the child -------------------------------------------------------------------------------- */

static const BurnOpInfo *report_begin_unit(Conform *run, const Unit *unit) {
  const BurnOpInfo *op = per_op(unit->check) ? conform_op(unit->part) : NULL;
  report_begin(run->report, unit->check, op, 0, op ? op->name : report_check_name(unit->check));
  return op;
}

static void run_unit(Conform *run, const Unit *unit) {
  const BurnOpInfo *op = report_begin_unit(run, unit);
  switch (unit->check) {
    case CHECK_HANDSHAKE:
      check_handshake(run, unit->part);
      break;
    case CHECK_FORWARD:
      check_forward(run, op);
      break;
    case CHECK_LAWS:
      check_laws(run, op);
      break;
    case CHECK_CHAINS:
      check_chains(run, op);
      break;
    case CHECK_GRADIENTS:
      check_gradients(run, op);
      break;
    case CHECK_FAULTS:
      check_faults(run, op);
      break;
    case CHECK_ASYNC:
      check_async(run, unit->part);
      break;
    case CHECK_THREADS:
      check_threads(run);
      break;
    default:
      check_shutdown(run);
      break;
  }
}

/* The checks with values need the stack and the reference. */
static bool devices_open(Conform *run, uint32_t check) {
  if (check == CHECK_HANDSHAKE) return true;
  atomic_store(&run->report->is_opening, true);
  const BurnStatus status = burn_device_status(conform_device(run));
  const BurnStatus reference =
      status == BURN_OK && check == CHECK_FORWARD ? burn_device_status(conform_reference(run)) : BURN_OK;
  atomic_store(&run->report->is_opening, false);
  if (status == BURN_OK && reference == BURN_OK) return true;
  report_begin(run->report, check, NULL, 0, status != BURN_OK ? run->stack : run->against);
  report_fail(run->report, "cannot be opened: %s", burn_status_message(status != BURN_OK ? status : reference));
  return false;
}

/* Why a unit is not run after all that hung before it; NULL if it is. */
static const char *why_left_out(Queue *queue, const Unit *unit) {
  uint32_t all = 0;
  for (uint32_t op = 0; op < MAX_OPS; op++) all += atomic_load(&queue->hangs[op]);
  if (all >= MAX_HANGS) return "not run: too much hung before it";
  const uint32_t op = per_op(unit->check) ? unit->part : 0;
  return atomic_load(&queue->hangs[op]) >= HANGS_PER_OP ? "not run: it hung twice" : NULL;
}

/* The next unit for this child; NULL if there is none, or no time for it. */
static const Unit *take_unit(const Conform *run, const Units *units, Queue *queue) {
  if (conform_is_over(run)) return NULL;
  const uint32_t unit = atomic_fetch_add(&queue->next, 1);
  return unit < units->count ? &units->list[unit] : NULL;
}

static void child(Conform *run, const Units *units, Queue *queue) {
  uint32_t broken = UINT32_MAX; /* a check whose devices do not open: said once */
  for (const Unit *unit; (unit = take_unit(run, units, queue)) != NULL;) {
    const char *left_out = why_left_out(queue, unit);
    if (left_out) {
      report_begin_unit(run, unit);
      report_skip(run->report, "%s", left_out);
    } else if (unit->check != broken) {
      if (devices_open(run, unit->check)) {
        run_unit(run, unit);
      } else {
        broken = unit->check;
      }
    }
  }
  run->report->is_done = true;
  conform_close(run);
}

/* -- the parent ------------------------------------------------------------------------------- */

static void show_progress(const Conform *run, const Units *units, Queue *queue) {
  const Report *report = run->report;
  const BurnOpInfo *info = report->op ? conform_op(report->op) : NULL;
  const uint32_t begun = atomic_load(&queue->next), unit = begun < units->count ? begun : units->count;
  fprintf(stderr, "\r\033[K%3u%% %s %s", units->count ? unit * 100 / units->count : 0, report_check_name(report->check),
          info ? info->name : "");
  fflush(stderr);
}

static size_t limit_of(const Conform *run, const Report *report) {
  return run->timeout * (atomic_load(&report->is_opening) ? OPENING_TIMEOUTS : 1);
}

/* The child is gone before its time, or with a bad status: a failure of what it was doing. */
static void record_end(const Conform *run, Queue *queue, Report *report, bool killed, int status) {
  char rest[160];
  const char *doing = (const char *)atomic_load(&report->doing);
  snprintf(rest, sizeof rest, "%s%s; what was left of this op was not run", doing && doing[0] ? " while " : "",
           doing ? doing : "");
  if (killed) {
    report_fail(report, "hangs: nothing happened for %zu s%s", limit_of(run, report), rest);
    atomic_fetch_add(&queue->hangs[report->op], 1);
  } else if (WIFSIGNALED(status)) {
    report_fail(report, "crashes: the process died of signal %d (%s)%s", WTERMSIG(status), strsignal(WTERMSIG(status)),
                rest);
  } else if (WEXITSTATUS(status) != 0) {
    report_fail(report, "ends the process with exit status %d%s", WEXITSTATUS(status), rest);
  } else { /* a plugin called exit(0) */
    report_fail(report, "ends the process");
  }
}

/* A child for this worker, which goes on with the queue; false if there can be none. */
static bool start(Conform *run, const Units *units, Queue *queue, Worker *worker) {
  run->report = worker->report;
  worker->report->is_done = false;
  worker->quiet = 0;
  worker->pid = conform_fork();
  if (worker->pid == 0) {
    child(run, units, queue);
    exit(0); /* not _exit: a leak checker may have something to say */
  }
  return worker->pid > 0;
}

/* Looks whether a child has ended, or is killed because no case has begun for a long time; another follows one that did
 * not end well. False if that cannot be started. */
static bool watch(Conform *run, const Units *units, Queue *queue, Worker *worker) {
  int status = 0;
  pid_t got = waitpid(worker->pid, &status, WNOHANG);
  const uint64_t now = atomic_load(&worker->report->beat);
  worker->quiet = now == worker->beat ? worker->quiet + 1 : 0;
  worker->beat = now;
  const bool killed = got == 0 && worker->quiet > limit_of(run, worker->report) * 1000 / POLL_MILLISECONDS;
  if (got == 0 && !killed) return true;
  if (killed) {
    kill(worker->pid, SIGKILL);
    waitpid(worker->pid, &status, 0);
  }
  worker->pid = 0;
  const bool is_bad = killed || !WIFEXITED(status) || WEXITSTATUS(status) != 0 || !worker->report->is_done;
  if (!is_bad) return true;
  record_end(run, queue, worker->report, killed, status);
  return start(run, units, queue, worker);
}

/* Until all children have ended. */
static bool watch_all(Conform *run, const Units *units, Queue *queue, Worker *workers, uint32_t count) {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const struct timespec pause = {0, POLL_MILLISECONDS * 1000000L};
  for (uint32_t ticks = 0;; ticks++) {
    uint32_t running = 0;
    for (uint32_t i = 0; i < count; i++) {
      if (workers[i].pid > 0 && !watch(run, units, queue, &workers[i])) return false;
      running += workers[i].pid > 0;
    }
    if (running == 0) return true;
    run->report = workers[0].report;
    if (terminal && ticks % 20 == 0) show_progress(run, units, queue);
    nanosleep(&pause, NULL);
  }
}

/* Memory that children share with this process; NULL if there is none. */
static void *shared_memory(size_t bytes) {
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

/* Runs the plan and adds up what the children recorded, in the report of the first. */
static bool run_plan(Conform *run, const Units *units, Queue *queue, Report *first) {
  Worker workers[MAX_JOBS] = {{.report = first}};
  const uint32_t count = run->jobs < 1 ? 1 : run->jobs > MAX_JOBS ? MAX_JOBS : (uint32_t)run->jobs;
  bool good = true;
  for (uint32_t i = 0; i < count && good; i++) {
    if (i > 0) workers[i].report = shared_memory(sizeof *first);
    good = workers[i].report && start(run, units, queue, &workers[i]);
  }
  good = good && watch_all(run, units, queue, workers, count);
  run->report = first;
  for (uint32_t i = 1; i < count && good; i++) report_merge(first, workers[i].report);
  report_sort(first);
  for (uint32_t unit = atomic_load(&queue->next); good && unit < units->count; unit++) {
    report_begin_unit(run, &units->list[unit]);
    report_skip(first, "not run: the time that --limit gives was over");
  }
  return good;
}

/* A pack under test is loaded here, so that its ops have the same numbers in every child. */
static void load_pack(Conform *run) {
  char name[300];
  const BurnOpInfo *info = NULL;
  run->pack = run->stack;
  snprintf(name, sizeof name, "%s.?", run->pack);
  const BurnStatus status = burn_op_find(name, &info); /* there is none of this name, but the pack is loaded for it */
  (void)status;
}

/* What the user named, as a whole stack: asked in a child, as it loads plugins. */
static void complete_stack(Conform *run, char *room, size_t bytes) {
  Report *report = run->report;
  const pid_t pid = conform_fork();
  if (pid == 0) {
    const char *base = run->on ? run->on : "ndarray";
    report->subject = stack_complete(run->stack, base, report->sample, sizeof report->sample);
    _exit(0);
  }
  if (pid > 0) waitpid(pid, NULL, 0);
  if (report->subject == STACK_PACK) load_pack(run);
  snprintf(room, bytes, "%s", report->sample[0] ? report->sample : run->stack);
  run->stack = room;
}

/* An op that was asked for, by name or as one of a pack, and of which nothing ran is not a success. Where a stack does
 * not open that is told already, and with --case not every op has a sample of the number. What faults skips did run: it
 * allocates nothing. */
static void fail_unrun(Conform *run, const Units *units) {
  if (run->index >= 0 || conform_is_over(run)) return;
  for (uint32_t i = 0; i < units->count; i++) {
    const Unit *unit = &units->list[i];
    const BurnOpInfo *op = per_op(unit->check) ? conform_op(unit->part) : NULL;
    if (!op || !(run->pack || conform_names_op(run, op)) || run->report->counts[unit->check][0].failed) continue;
    const Counts counts = report_op_total(run->report, unit->part);
    if (counts.passed + counts.failed + run->report->counts[CHECK_FAULTS][unit->part].skipped > 0) continue;
    report_begin_unit(run, unit);
    report_fail(run->report, "no sample of it ran, so nothing is known of it; what was skipped says why");
  }
}

bool supervise_begin(Conform *run) {
  static char stack[sizeof run->report->sample];
  run->report = shared_memory(sizeof *run->report);
  if (run->report) complete_stack(run, stack, sizeof stack);
  return run->report != NULL;
}

bool supervise(Conform *run) {
  Units units = {0};
  Report *report = run->report;
  Queue *queue = shared_memory(sizeof *queue);
  if (!queue) return false;
  if (run->limit > 0) run->deadline = system_seconds() + (double)run->limit;
  const bool good = make_plan(run, &units) && run_plan(run, &units, queue, report);
  if (good) fail_unrun(run, &units);
  if (isatty(STDERR_FILENO) == 1) fputs("\r\033[K", stderr);
  free(units.list);
  return good;
}
