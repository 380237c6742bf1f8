/* learner_posix.c - what the learner needs of a POSIX system: clock, terminal, folders, logs, signals. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "learner_internal.h"
#include "path_check.h"

double burn__seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double burn__train_wall_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool burn__utc_parts(time_t seconds, struct tm *parts) { return gmtime_r(&seconds, parts) != NULL; }

/* Linux tells by /proc; elsewhere the file is not there. The first line: cpu user nice system idle iowait irq softirq
 * steal, of which guests are a part of user. */
bool burn__cpu_times(double *busy, double *all) {
  unsigned long long times[8] = {0};
  FILE *file = fopen("/proc/stat", "r");
  const int found = !file ? 0
                          : fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &times[0], &times[1], &times[2],
                                   &times[3], &times[4], &times[5], &times[6], &times[7]);
  if (file) fclose(file);
  *all = 0;
  for (int i = 0; i < 8; i++) *all += (double)times[i];
  *busy = *all - (double)(times[3] + times[4]);
  return found == 8;
}

bool burn__memory_used(double *bytes) {
  unsigned long long total = 0, available = 0;
  char line[128];
  bool has_total = false, has_available = false;
  FILE *file = fopen("/proc/meminfo", "r");
  while (file && !(has_total && has_available) && fgets(line, sizeof line, file)) {
    has_total |= sscanf(line, "MemTotal: %llu kB", &total) == 1;
    has_available |= sscanf(line, "MemAvailable: %llu kB", &available) == 1;
  }
  if (file) fclose(file);
  *bytes = 1024 * ((double)total - (double)available);
  return has_total && has_available;
}

/* Opened anew each time, which counts, so that it stays open. */
void *burn__nvml_library(void) { return dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL); }

bool burn__library_symbol(void *library, const char *name, void *out) {
  void *symbol = dlsym(library, name);
  memcpy(out, &symbol, sizeof symbol); /* ISO C has no cast from object to function pointer */
  return symbol != NULL;
}

bool burn__stderr_is_terminal(void) { return isatty(STDERR_FILENO) == 1; }

size_t burn__stderr_columns(void) {
#if defined(TIOCGWINSZ)
  struct winsize size;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0) return size.ws_col;
#endif
  return 0;
}

static BurnStatus failed(const char *what, const char *path) {
  char reason[128];
  return burn_status_make(BURN_STATUS_IO, "%s %s: %s", what, path,
                          burn__train_errno_text(errno, reason, sizeof reason));
}

/* After a mkdir that failed: the folder was there before. errno stays that of mkdir. */
static bool stands_already(const char *path) {
  struct stat info;
  const int error = errno;
  const bool found = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
  errno = error;
  return found;
}

BurnStatus burn_folder_make(const char *path) {
  char part[BURN_PATH_BYTES];
  const BurnStatus given = burn__path_check("folder", path);
  if (given != BURN_OK) return given;
  const size_t length = strlen(path);
  if (length >= sizeof part)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "path of %zu bytes is too long", length);
  memcpy(part, path, length + 1);
  for (size_t i = 1; i <= length; i++) {
    if (part[i] != '/' && part[i] != '\0') continue;
    part[i] = '\0';
    if (mkdir(part, 0777) != 0 && !stands_already(part)) return failed("cannot make folder", part);
    part[i] = path[i];
  }
  return BURN_OK;
}

BurnStatus burn__folder_list(const char *path, BurnStatus (*visit)(void *context, const char *name), void *context) {
  BurnStatus status = BURN_OK;
  DIR *folder = opendir(path);
  if (!folder) return errno == ENOENT ? BURN_OK : failed("cannot open folder", path);
  while (status == BURN_OK) {
    const struct dirent *entry;
    errno = 0;
    entry = readdir(folder);
    if (!entry) {
      if (errno) status = failed("cannot read folder", path);
      break;
    }
    status = visit(context, entry->d_name);
  }
  closedir(folder);
  return status;
}

const char *burn__train_errno_text(int number, char *buffer, size_t bytes) {
  if (strerror_r(number, buffer, bytes) != 0) (void)snprintf(buffer, bytes, "error %d", number);
  return buffer;
}

bool burn__file_exists(const char *path) { return access(path, F_OK) == 0; }

BurnStatus burn__file_remove(const char *path) {
  if (unlink(path) == 0 || errno == ENOENT) return BURN_OK;
  return failed("cannot remove", path);
}

void burn__folder_remove(const char *path) { (void)rmdir(path); }

FILE *burn__log_open(const char *path, uint64_t keep) {
  struct stat info;
  burn_streams_pin();
  /* A pipe that nobody reads is an error then, instead of a wait. */
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
  if (file < 0) return NULL;
  bool good = fstat(file, &info) == 0;
  if (good && (uint64_t)info.st_size > keep) good = ftruncate(file, (off_t)keep) == 0;
  FILE *log = good ? fdopen(file, "a") : NULL;
  if (!log) {
    const int error = errno;
    (void)close(file);
    errno = error;
  }
  return log;
}

static const int caught[] = {SIGINT, SIGTERM};

BurnStatus burn__signals_catch(void (*handler)(int)) {
  static struct sigaction before[2];
  static bool catching;
  struct sigaction action = {.sa_flags = SA_RESTART};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < 2; i++) {
    if (!catching && sigaction(caught[i], NULL, &before[i]) != 0) return failed("cannot catch", "signals");
    const bool ignored = (before[i].sa_flags & SA_SIGINFO) == 0 && before[i].sa_handler == SIG_IGN;
    const struct sigaction *wanted = handler && !ignored ? &action : &before[i];
    if ((handler || catching) && sigaction(caught[i], wanted, NULL) != 0) return failed("cannot catch", "signals");
  }
  catching = handler != NULL;
  return BURN_OK;
}

void burn__signal_default(int number) {
  struct sigaction action = {.sa_flags = 0};
  action.sa_handler = SIG_DFL;
  sigemptyset(&action.sa_mask);
  (void)sigaction(number, &action, NULL);
}
