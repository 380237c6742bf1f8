/* cpu_count_posix.c - how many CPUs this process may use: those of its affinity, as far as its control groups give it
 * time on them. A container that may use two CPUs' time of a machine with 64 gets two threads, not 64 that are held
 * back together every tenth of a second. */
#define _GNU_SOURCE /* sched_getaffinity: the CPUs this process may use, not those of the machine */
#include "platform.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__FreeBSD__)
#include <sys/param.h>

#include <sys/cpuset.h>
#endif

#if defined(__linux__)

enum { FIRST_CPUS = 1024, MAX_CPUS = 1 << 16, PATH_BYTES = 4096, LINE_BYTES = PATH_BYTES + 256 };

/* Of a set that has room for `cpus`; 0 if the system has more of them. */
static unsigned allowed_of(size_t cpus) {
  cpu_set_t *allowed = CPU_ALLOC(cpus);
  const size_t bytes = CPU_ALLOC_SIZE(cpus);
  unsigned count = 0;
  if (allowed && sched_getaffinity(0, bytes, allowed) == 0) count = (unsigned)CPU_COUNT_S(bytes, allowed);
  CPU_FREE(allowed);
  return count;
}

static unsigned allowed_cpus(void) {
  unsigned count = 0;
  for (size_t cpus = FIRST_CPUS; count == 0 && cpus <= MAX_CPUS; cpus *= 4) count = allowed_of(cpus);
  return count;
}

/* -- control groups --------------------------------------------------------------------------- */

/* The first line of a file; false if there is none. */
static bool first_line(const char *folder, const char *name, char *line, size_t bytes) {
  char path[LINE_BYTES];
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return false;
  FILE *file = fopen(path, "re");
  if (!file) return false;
  const bool is_read = fgets(line, (int)bytes, file) != NULL;
  (void)fclose(file);
  return is_read;
}

static double number_in(const char *folder, const char *name) {
  char line[64];
  return first_line(folder, name, line, sizeof line) ? strtod(line, NULL) : 0;
}

/* CPUs' worth of time that one group may have; 0: as much as there is. Version 2 has one file, "max 100000" or
 * "150000 100000", version 1 a file for each of the two numbers, the first -1 without a limit. */
static double group_cpus(const char *folder, bool is_version_2) {
  char line[64], *end = line;
  double quota, period;
  if (is_version_2) {
    if (!first_line(folder, "cpu.max", line, sizeof line)) return 0;
    quota = strtod(line, &end);
    period = strtod(end, NULL);
  } else {
    quota = number_in(folder, "cpu.cfs_quota_us");
    period = number_in(folder, "cpu.cfs_period_us");
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

/* The least of the groups from `group` up to the mount point, whose folders are below `mount`. Within a container the
 * group's name may be the one that it has outside: then only the mount point is there, and is the group. */
static double least_cpus(const char *mount, const char *group, bool is_version_2) {
  char folder[LINE_BYTES];
  const size_t above = strlen(mount);
  if (snprintf(folder, sizeof folder, "%s%s", mount, group) >= (int)sizeof folder) return 0;
  double least = 0;
  for (;;) {
    const double cpus = group_cpus(folder, is_version_2);
    if (cpus > 0 && (least == 0 || cpus < least)) least = cpus;
    char *last = strrchr(folder + above, '/');
    if (!last) return least;
    *last = '\0';
  }
}

/* True if "cpu" is one of the names in "cpu,cpuacct". */
static bool has_cpu(const char *controllers) {
  for (const char *name = controllers; *name;) {
    const size_t length = strcspn(name, ",");
    if (length == 3 && memcmp(name, "cpu", 3) == 0) return true;
    name += length + (name[length] == ',');
  }
  return false;
}

/* What one line of /proc/self/cgroup allows, "0::/group" or "4:cpu,cpuacct:/group". */
static double line_cpus(const char *root, char *line) {
  char mount[PATH_BYTES];
  line[strcspn(line, "\n")] = '\0';
  char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
  if (!group || group[1] != '/') return 0;
  *group++ = '\0';
  controllers++;
  const bool is_version_2 = *controllers == '\0';
  if (!is_version_2 && !has_cpu(controllers)) return 0;
  const int length = snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s", root, is_version_2 ? "" : "/cpu");
  return length < (int)sizeof mount ? least_cpus(mount, group, is_version_2) : 0;
}

unsigned burn__cpu_quota(const char *root) {
  char path[PATH_BYTES], line[LINE_BYTES];
  if (snprintf(path, sizeof path, "%s/proc/self/cgroup", root) >= (int)sizeof path) return 0;
  FILE *file = fopen(path, "re");
  double least = 0;
  while (file && fgets(line, sizeof line, file)) {
    const double cpus = line_cpus(root, line);
    if (cpus > 0 && (least == 0 || cpus < least)) least = cpus;
  }
  if (file) (void)fclose(file);
  if (least <= 0 || least > MAX_CPUS) return 0;
  const unsigned whole = (unsigned)least;
  return whole + (least > whole);
}

#else

/* macOS has no such sets. */
static unsigned allowed_cpus(void) {
#if defined(__FreeBSD__)
  cpuset_t allowed;
  if (cpuset_getaffinity(CPU_LEVEL_WHICH, CPU_WHICH_PID, -1, sizeof allowed, &allowed) == 0) {
    return (unsigned)CPU_COUNT(&allowed);
  }
#endif
  return 0;
}

unsigned burn__cpu_quota(const char *root) {
  (void)root;
  return 0;
}

#endif

unsigned burn__cpu_count(void) {
  unsigned count = allowed_cpus();
  if (count == 0) {
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    count = online > 0 ? (unsigned)online : 1;
  }
  const unsigned quota = burn__cpu_quota("");
  return quota > 0 && quota < count ? quota : count;
}
