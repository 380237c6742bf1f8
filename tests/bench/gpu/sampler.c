/* sampler.c - where a program's CPU time goes, on machines without perf: LD_PRELOAD=sampler.so SAMPLER_OUT=file
 * program.
 *
 * A timer of the main thread's CPU time takes a stack about a thousand times a second. At exit: for every function the
 * share of samples it was in (inclusive, once per stack) and at the top of, by the names that dladdr knows. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH = 48, SAMPLES = 40000, NAMES = 8192 };

typedef struct Name {
  const char *text;
  unsigned inclusive, top, last;
} Name;

static void *stacks[SAMPLES][DEPTH];
static int depths[SAMPLES];
static volatile int count;
static Name names[NAMES];
static int name_count;

static void take(int signal_number) {
  (void)signal_number;
  if (count < SAMPLES) {
    depths[count] = backtrace(stacks[count], DEPTH);
    count++;
  }
}

static __attribute__((constructor)) void start(void) {
  void *warm[2];
  (void)backtrace(warm, 2); /* loads what it needs outside of the handler */
  struct sigaction action = {.sa_handler = take, .sa_flags = SA_RESTART};
  sigaction(SIGPROF, &action, NULL);
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
  event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
  timer_t timer;
  if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0) return;
  const struct itimerspec interval = {{0, 997000}, {0, 997000}};
  timer_settime(timer, 0, &interval, NULL);
}

static Name *name_of(void *address) {
  Dl_info info;
  static char unnamed[NAMES][96];
  const char *text = "?";
  if (dladdr(address, &info) != 0 && info.dli_sname) text = info.dli_sname;
  if (text[0] == '?' && info.dli_fname) {
    const char *slash = strrchr(info.dli_fname, '/');
    (void)snprintf(unnamed[name_count], sizeof unnamed[0], "(%.80s)", slash ? slash + 1 : info.dli_fname);
    text = unnamed[name_count];
  }
  for (int i = 0; i < name_count; i++) {
    if (strcmp(names[i].text, text) == 0) return &names[i];
  }
  if (name_count == NAMES - 1) return &names[0];
  names[name_count].text = text;
  return &names[name_count++];
}

static int by_inclusive(const void *a, const void *b) {
  return (int)((const Name *)b)->inclusive - (int)((const Name *)a)->inclusive;
}
static int by_top(const void *a, const void *b) { return (int)((const Name *)b)->top - (int)((const Name *)a)->top; }

static void table(FILE *file, const char *title, int (*order)(const void *, const void *)) {
  qsort(names, (size_t)name_count, sizeof names[0], order);
  (void)fprintf(file, "# %s, of %d samples: inclusive %%, top %%, function\n", title, count);
  for (int i = 0; i < name_count && i < 140; i++)
    (void)fprintf(file, "%6.2f %6.2f %s\n", 100.0 * names[i].inclusive / count, 100.0 * names[i].top / count,
                  names[i].text);
}

static __attribute__((destructor)) void report(void) {
  const char *path = getenv("SAMPLER_OUT");
  FILE *file = path && count > 0 ? fopen(path, "w") : NULL;
  if (!file) return;
  const int samples = count;
  for (int i = 0; i < samples; i++) {
    for (int j = 2; j < depths[i]; j++) { /* 0 and 1 are the handler's */
      Name *name = name_of(stacks[i][j]);
      if (j == 2) name->top++;
      if (name->last != (unsigned)i + 1) name->inclusive++;
      name->last = (unsigned)i + 1;
    }
  }
  table(file, "inclusive", by_inclusive);
  table(file, "top", by_top);
  (void)fclose(file);
}
