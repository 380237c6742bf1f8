/* learner_windows.c - what the learner needs of Windows: clock, terminal, folders, logs, signals. */
#include <direct.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <windows.h>

#include "learner_internal.h"
#include "path_check.h"

double burn__seconds(void) {
  LARGE_INTEGER count, frequency;
  QueryPerformanceCounter(&count);
  QueryPerformanceFrequency(&frequency);
  return (double)count.QuadPart / (double)frequency.QuadPart;
}

/* Windows counts units of 100 ns since 1601. */
double burn__train_wall_seconds(void) {
  FILETIME now;
  GetSystemTimeAsFileTime(&now);
  const ULONGLONG ticks = (ULONGLONG)now.dwHighDateTime << 32 | now.dwLowDateTime;
  return 1e-7 * (double)ticks - 11644473600.0;
}

bool burn__utc_parts(time_t seconds, struct tm *parts) { return gmtime_s(parts, &seconds) == 0; }

static double ticks_of(const FILETIME *time) {
  return 4294967296.0 * (double)time->dwHighDateTime + (double)time->dwLowDateTime;
}

bool burn__cpu_times(double *busy, double *all) {
  FILETIME idle, kernel, user;
  if (!GetSystemTimes(&idle, &kernel, &user)) return false;
  *all = ticks_of(&kernel) + ticks_of(&user); /* the kernel's has the idle time in it */
  *busy = *all - ticks_of(&idle);
  return true;
}

bool burn__memory_used(double *bytes) {
  MEMORYSTATUSEX memory = {.dwLength = sizeof memory};
  if (!GlobalMemoryStatusEx(&memory)) return false;
  *bytes = (double)memory.ullTotalPhys - (double)memory.ullAvailPhys;
  return true;
}

void *burn__nvml_library(void) { return LoadLibraryExA("nvml.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32); }

bool burn__library_symbol(void *library, const char *name, void *out) {
  const FARPROC symbol = GetProcAddress(library, name);
  memcpy(out, &symbol, sizeof symbol); /* a function of another type */
  return symbol != NULL;
}

bool burn__stderr_is_terminal(void) { return _isatty(_fileno(stderr)) != 0; }

size_t burn__stderr_columns(void) {
  CONSOLE_SCREEN_BUFFER_INFO info;
  if (!GetConsoleScreenBufferInfo(GetStdHandle(STD_ERROR_HANDLE), &info)) return 0;
  return (size_t)(info.srWindow.Right - info.srWindow.Left + 1);
}

const char *burn__train_errno_text(int number, char *buffer, size_t bytes) {
  if (strerror_s(buffer, bytes, number) != 0) (void)snprintf(buffer, bytes, "error %d", number);
  return buffer;
}

static BurnStatus failed(const char *what, const char *path) {
  char text[128];
  return burn_status_make(BURN_STATUS_IO, "%s %s: %s", what, path, burn__train_errno_text(errno, text, sizeof text));
}

static bool is_folder(const char *path) {
  const DWORD attributes = GetFileAttributesA(path);
  return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
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
    const char at = part[i];
    if ((at != '/' && at != '\\' && at != '\0') || part[i - 1] == ':') continue;
    part[i] = '\0';
    if (_mkdir(part) != 0 && !is_folder(part)) return failed("cannot make folder", part);
    part[i] = at;
  }
  return BURN_OK;
}

BurnStatus burn__folder_list(const char *path, BurnStatus (*visit)(void *context, const char *name), void *context) {
  BurnStatus status = BURN_OK;
  DIR *folder = opendir(path);
  if (!folder) return errno == ENOENT ? BURN_OK : failed("cannot open folder", path);
  while (status == BURN_OK) {
    errno = 0;
    const struct dirent *entry = readdir(folder);
    if (!entry) {
      if (errno) status = failed("cannot read folder", path);
      break;
    }
    status = visit(context, entry->d_name);
  }
  closedir(folder);
  return status;
}

bool burn__file_exists(const char *path) { return GetFileAttributesA(path) != INVALID_FILE_ATTRIBUTES; }

BurnStatus burn__file_remove(const char *path) {
  if (remove(path) == 0 || errno == ENOENT) return BURN_OK;
  return failed("cannot remove", path);
}

void burn__folder_remove(const char *path) { (void)_rmdir(path); }

FILE *burn__log_open(const char *path, uint64_t keep) {
  burn_streams_pin();
  const int file = _open(path, _O_WRONLY | _O_CREAT | _O_BINARY | _O_NOINHERIT, _S_IREAD | _S_IWRITE);
  if (file < 0) return NULL;
  const __int64 length = _filelengthi64(file);
  bool good = length >= 0;
  if (good && (uint64_t)length > keep) good = _chsize_s(file, (__int64)keep) == 0;
  good = good && _lseeki64(file, 0, SEEK_END) >= 0;
  FILE *log = good ? _fdopen(file, "ab") : NULL;
  if (!log) {
    const int error = errno;
    (void)_close(file);
    errno = error;
  }
  return log;
}

BurnStatus burn__signals_catch(void (*handler)(int)) {
  static const int caught[] = {SIGINT, SIGTERM};
  static void (*before[2])(int);
  static bool catching;
  for (int i = 0; i < 2; i++) {
    void (*const was)(int) = handler || catching ? signal(caught[i], handler ? handler : before[i]) : NULL;
    if (was == SIG_ERR) return burn_status_make(BURN_STATUS_INTERNAL, "cannot catch signal %d", caught[i]);
    if (handler && !catching) before[i] = was;
    if (handler && before[i] == SIG_IGN) (void)signal(caught[i], SIG_IGN);
  }
  catching = handler != NULL;
  return BURN_OK;
}

void burn__signal_default(int number) { (void)signal(number, SIG_DFL); }
