/* supervise.c - runs the plan in children. One that dies or hangs costs the case that was running, not the run. */
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
enum { OPENING_TIMEOUTS = 6, HANGS_PER_OP = 2, MAX_HANGS = 12, POLL_MILLISECONDS = 10 };

/* -- the plan --------------------------------------------------------------------------------- */

typedef struct Unit {
  uint32_t check, part; /* op, or step of the handshake or of async */
} Unit;

typedef struct Units {
  Unit *list;
  uint32_t count;
} Units;

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
static const char *why_left_out(const Report *report, const Unit *unit) {
  uint32_t all = 0;
  for (uint32_t op = 0; op < MAX_OPS; op++) all += report->hangs[op];
  if (all >= MAX_HANGS) return "not run: too much hung before it";
  return report->hangs[per_op(unit->check) ? unit->part : 0] >= HANGS_PER_OP ? "not run: it hung twice" : NULL;
}

static void child(Conform *run, const Units *units) {
  uint32_t broken = UINT32_MAX; /* a check whose devices do not open: said once */
  while (run->report->unit < units->count) {
    const Unit *unit = &units->list[run->report->unit];
    const char *left_out = why_left_out(run->report, unit);
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
    run->report->unit++;
  }
  conform_close(run);
}

/* -- the parent ------------------------------------------------------------------------------- */

static void show_progress(const Conform *run, const Units *units) {
  const Report *report = run->report;
  const BurnOpInfo *info = report->op ? conform_op(report->op) : NULL;
  const uint32_t unit = report->unit;
  fprintf(stderr, "\r\033[K%3u%% %s %s", units->count ? unit * 100 / units->count : 0, report_check_name(report->check),
          info ? info->name : "");
  fflush(stderr);
}

/* Waits for the child; kills it when no case has begun for a long time. True if it was killed. */
static bool wait_for(const Conform *run, const Units *units, pid_t pid, int *status) {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const struct timespec pause = {0, POLL_MILLISECONDS * 1000000L};
  uint64_t beat = 0;
  uint32_t quiet = 0, ticks = 0;
  for (;;) {
    const pid_t got = waitpid(pid, status, WNOHANG);
    if (got == pid || (got < 0 && errno != EINTR)) return false;
    const uint64_t now = atomic_load(&run->report->beat);
    quiet = now == beat ? quiet + 1 : 0;
    beat = now;
    const size_t limit = run->timeout * (atomic_load(&run->report->is_opening) ? OPENING_TIMEOUTS : 1);
    if (quiet > limit * 1000 / POLL_MILLISECONDS) {
      kill(pid, SIGKILL);
      waitpid(pid, status, 0);
      return true;
    }
    if (terminal && ticks++ % 20 == 0) show_progress(run, units);
    nanosleep(&pause, NULL);
  }
}

/* The child is gone before its time, or with a bad status: a failure of what it was doing. */
static void record_end(Conform *run, bool killed, int status) {
  char rest[160];
  const char *doing = (const char *)atomic_load(&run->report->doing);
  snprintf(rest, sizeof rest, "%s%s; what was left of this op was not run", doing && doing[0] ? " while " : "",
           doing ? doing : "");
  if (killed) {
    const size_t limit = run->timeout * (atomic_load(&run->report->is_opening) ? OPENING_TIMEOUTS : 1);
    report_fail(run->report, "hangs: nothing happened for %zu s%s", limit, rest);
    run->report->hangs[run->report->op]++;
  } else if (WIFSIGNALED(status)) {
    report_fail(run->report, "crashes: the process died of signal %d (%s)%s", WTERMSIG(status),
                strsignal(WTERMSIG(status)), rest);
  } else {
    report_fail(run->report, "ends the process with exit status %d%s", WEXITSTATUS(status), rest);
  }
}

/* One child from the current unit on; false if there can be none. */
static bool run_child(Conform *run, const Units *units) {
  const pid_t pid = conform_fork();
  if (pid < 0) return false;
  if (pid == 0) {
    child(run, units);
    exit(0); /* not _exit: a leak checker may have something to say */
  }
  int status = 0;
  const bool killed = wait_for(run, units, pid, &status);
  if (killed || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    record_end(run, killed, status);
    run->report->unit++;
  } else if (run->report->unit < units->count) { /* a plugin called exit(0) */
    report_fail(run->report, "ends the process");
    run->report->unit++;
  }
  return true;
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
  const pid_t pid = conform_fork();
  if (pid == 0) {
    run->report->is_pack = stack_complete(run->stack, "ndarray", run->report->sample, sizeof run->report->sample);
    _exit(0);
  }
  if (pid > 0) waitpid(pid, NULL, 0);
  if (run->report->is_pack) load_pack(run);
  snprintf(room, bytes, "%s", run->report->sample[0] ? run->report->sample : run->stack);
  run->stack = room;
}

bool supervise(Conform *run) {
  static char stack[sizeof run->report->sample];
  Units units = {0};
  run->report = mmap(NULL, sizeof *run->report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (run->report == MAP_FAILED) return false;
  complete_stack(run, stack, sizeof stack);
  bool good = make_plan(run, &units);
  while (good && run->report->unit < units.count) good = run_child(run, &units);
  if (isatty(STDERR_FILENO) == 1) fputs("\r\033[K", stderr);
  free(units.list);
  return good;
}
