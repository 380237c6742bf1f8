/* system_posix.c - system.h on Linux; where /proc is missing, less is known. */
#define _GNU_SOURCE /* readlink, sysconf */
#include "system.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* -- files ------------------------------------------------------------------------------------ */

bool system_prefix(char *out, size_t bytes) {
  char program[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length <= 0) return false;
  program[length] = '\0';
  for (int i = 0; i < 2; i++) {
    char *slash = strrchr(program, '/');
    if (slash) *slash = '\0';
  }
  return (size_t)snprintf(out, bytes, "%s", program) < bytes;
}

long system_list_folder(const char *folder, bool (*visit)(void *context, const char *name), void *context) {
  DIR *stream = opendir(folder);
  if (!stream) return -1;
  long count = 0;
  for (struct dirent *entry; (entry = readdir(stream));) {
    if (entry->d_name[0] == '.') continue;
    count++;
    if (!visit(context, entry->d_name)) break;
  }
  closedir(stream);
  return count;
}

bool system_make_folder(const char *path) { return mkdir(path, 0777) == 0; }

const SystemDriver system_drivers[] = {
    {"OpenBLAS", "libopenblas.so.0", NULL, "fast matrix products in ndarray"},
    {"NVIDIA driver", "libcuda.so.1", "BURN_CUDA_DRIVER", "CUDA devices"},
    {"Vulkan loader", "libvulkan.so.1", "BURN_VULKAN_LOADER", "Vulkan devices"},
    {NULL, NULL, NULL, NULL},
};
const SystemVariable system_variables[] = {
    {"XDG_CONFIG_HOME", "where burn/burn.json of the user lies"},
    {"LD_LIBRARY_PATH", "where the system's loader looks for libraries first"},
    {NULL, NULL},
};

char *const *system_environment(void) { return environ; }

/* -- a process of its own --------------------------------------------------------------------- */

/* Reads until the bytes are there, the pipe ends, or the time is over; the number of bytes read. */
static size_t read_for(int file, char *bytes, size_t count, unsigned seconds, bool *in_time) {
  const time_t end = time(NULL) + (time_t)seconds;
  size_t used = 0;
  *in_time = true;
  while (used < count) {
    struct pollfd wanted = {.fd = file, .events = POLLIN};
    const int ready = poll(&wanted, 1, 200);
    if (ready > 0) {
      const ssize_t got = read(file, bytes + used, count - used);
      if (got == 0 || (got < 0 && errno != EINTR)) break;
      if (got > 0) used += (size_t)got;
    } else if (time(NULL) > end) {
      *in_time = false;
      break;
    }
  }
  return used;
}

static void run_child(void (*body)(const void *context, void *result), const void *context, void *result, size_t bytes,
                      int answers) {
  (void)dup2(2, 1);
  body(context, result);
  const char *at = result;
  while (bytes > 0) {
    const ssize_t written = write(answers, at, bytes);
    if (written <= 0) _exit(1);
    at += written;
    bytes -= (size_t)written;
  }
  _exit(0); /* without what plugins do at the end of a process */
}

/* What the status of a child that has not returned means. */
static SystemEnd explain_end(int status, char *why, size_t why_bytes) {
  if (WIFSIGNALED(status)) {
    snprintf(why, why_bytes, "it crashed with signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    return SYSTEM_CRASHED;
  }
  snprintf(why, why_bytes, "it ended its process with exit status %d", WEXITSTATUS(status));
  return SYSTEM_EXITED;
}

SystemEnd system_run_apart(void (*body)(const void *context, void *result), const void *context, void *result,
                           size_t bytes, unsigned seconds, char *why, size_t why_bytes) {
  int ends[2], status = 0;
  bool in_time;
  fflush(NULL);
  if (pipe(ends) != 0) {
    snprintf(why, why_bytes, "no pipe: %s", strerror(errno));
    return SYSTEM_NOT_STARTED;
  }
  const pid_t child = fork();
  if (child == 0) run_child(body, context, result, bytes, ends[1]);
  (void)close(ends[1]);
  const bool whole = child > 0 && read_for(ends[0], result, bytes, seconds, &in_time) == bytes;
  (void)close(ends[0]);
  if (child < 0) {
    snprintf(why, why_bytes, "no process: %s", strerror(errno));
    return SYSTEM_NOT_STARTED;
  }
  if (!whole && !in_time) (void)kill(child, SIGKILL);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (whole) return SYSTEM_RETURNED;
  if (in_time) return explain_end(status, why, why_bytes);
  snprintf(why, why_bytes, "it had not come back after %u s", seconds);
  return SYSTEM_HUNG;
}

bool system_has_library(const char *name, char *version, size_t bytes) {
  void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  void *tell = library ? dlsym(library, "vkEnumerateInstanceVersion") : NULL;
  int32_t (*tell_vulkan)(uint32_t * version);
  memcpy(&tell_vulkan, &tell, sizeof tell); /* ISO C has no cast from an object's address to a function's */
  uint32_t number = 0;
  version[0] = '\0';
  if (tell && tell_vulkan(&number) == 0)
    snprintf(version, bytes, "%u.%u.%u", number >> 22 & 0x7fu, number >> 12 & 0x3ffu, number & 0xfffu);
  return library != NULL; /* it stays: OpenBLAS waits in dlclose for threads that may never come to an end */
}

/* -- the machine ------------------------------------------------------------------------------ */

/* The value of the first line of /proc/cpuinfo that starts with `key`, or "". */
static const char *cpu_info(const char *key, char *line, int bytes) {
  FILE *file = fopen("/proc/cpuinfo", "r");
  const char *value = "";
  while (file && !value[0] && fgets(line, bytes, file)) {
    char *colon = strchr(line, ':');
    if (strncmp(line, key, strlen(key)) != 0 || !colon) continue;
    colon[strcspn(colon, "\n")] = '\0';
    value = colon + 1 + strspn(colon + 1, " \t");
  }
  if (file) fclose(file);
  return value;
}

void system_describe(char *system, size_t system_bytes, char *processor, size_t processor_bytes) {
  struct utsname names;
  char line[1024];
  snprintf(system, system_bytes, "unknown");
  if (uname(&names) == 0) snprintf(system, system_bytes, "%s %s %s", names.sysname, names.release, names.machine);
  snprintf(processor, processor_bytes, "%s", cpu_info("model name", line, sizeof line));
}

unsigned system_processor_count(void) {
  const long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? (unsigned)count : 1;
}

uint64_t system_memory_bytes(void) {
  const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0;
}

bool system_has_feature(const char *name) {
  char line[16384];
  const size_t length = strlen(name);
  const char *flags = cpu_info("flags", line, sizeof line);
  if (!flags[0]) flags = cpu_info("Features", line, sizeof line); /* as Arm kernels call it */
  for (const char *at = strstr(flags, name); at; at = strstr(at + 1, name)) {
    if ((at == flags || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return true;
  }
  return false;
}

/* -- time ------------------------------------------------------------------------------------- */

double system_seconds(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
