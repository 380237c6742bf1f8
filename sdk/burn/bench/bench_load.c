/* bench_load.c - do other programs use the machine while we measure? Told by Linux; elsewhere nothing is known. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* CPU seconds of all programs since the start of the machine, those that the host took included. */
static double busy_seconds(void) {
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupt = 0, soft = 0, stolen = 0;
  FILE *file = fopen("/proc/stat", "r");
  if (!file) return 0;
  const int count = fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &system, &idle, &waiting,
                           &interrupt, &soft, &stolen);
  fclose(file);
  return count == 8 ? (user + nice + system + interrupt + soft + stolen) / (double)sysconf(_SC_CLK_TCK) : 0;
}

static double process_seconds(long process) {
  char path[64], line[1024];
  unsigned long user = 0, system = 0;
  snprintf(path, sizeof path, "/proc/%ld/stat", process);
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  const char *name_end = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
  fclose(file);
  if (!name_end) return 0;
  if (sscanf(name_end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2) return 0;
  return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static double own_seconds(const Bench *bench) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  double seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
  seconds += 1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  for (size_t i = 0; i < bench->peer_count; i++) seconds += process_seconds(peer_process(bench->peers[i]));
  return seconds;
}

void load_begin(Load *load, const Bench *bench) {
  *load = (Load){system_seconds(), busy_seconds(), own_seconds(bench)};
}

double load_share(const Load *begin, const Bench *bench) {
  Load end;
  load_begin(&end, bench);
  const double wall = end.wall - begin->wall, others = (end.busy - begin->busy) - (end.ours - begin->ours);
  if (wall < 1 || begin->busy == 0) return (double)NAN; /* the system counts in hundredths of a second */
  return fmax(0, others / (wall * (double)sysconf(_SC_NPROCESSORS_ONLN)));
}

BurnStatus load_check(const Bench *bench) {
  Load begin;
  load_begin(&begin, bench);
  nanosleep(&(struct timespec){1, 1000000}, NULL);
  const double share = load_share(&begin, bench);
  if (!(share > ALLOWED_LOAD)) return BURN_OK;
  return burn_status_make(BURN_STATUS_FAILED_PRECONDITION,
                          "other programs use %.0f %% of the processors, and %.0f %% are allowed for figures that are "
                          "kept; end them, or --busy takes the figures all the same",
                          100 * share, 100 * ALLOWED_LOAD);
}
