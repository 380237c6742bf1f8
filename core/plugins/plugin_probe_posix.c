/* plugin_probe_posix.c - a plugin in a child process: burn_probe, a program beside libburn, started by posix_spawn.
 *
 * Not a child of fork: the process may have threads, whose locks (of malloc, the loader, drivers) such a child would
 * have for ever, and what a driver was told before a fork it need not know afterwards. A program of its own starts from
 * nothing, in about two milliseconds. core/DECISIONS.md has the reasons. */
#define _GNU_SOURCE /* posix_spawn_file_actions_addclosefrom_np, pipe2 */
#include "hash.h"
#include "platform.h"
#include "plugin_internal.h"
#include "privileged.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { GRACE_MILLISECONDS = 1000 }; /* for a killed child to be gone */

bool burn__descriptor_write(int descriptor, const void *bytes, size_t count) {
  const char *at = bytes;
  while (count > 0) {
    const ssize_t written = write(descriptor, at, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    count -= (size_t)written;
  }
  return true;
}

static int64_t now_milliseconds(void) { return (int64_t)(burn__host()->now_ns() / 1000000u); }

int64_t burn__wall_seconds(void) { return (int64_t)time(NULL); }

/* -- starting --------------------------------------------------------------------------------- */

/* The pipe's end becomes descriptor 3, all others are closed; what a plugin prints goes to stderr, as stdout may be
 * somebody's JSON. */
static bool describe_files(posix_spawn_file_actions_t *actions, int answers) {
  bool done = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0) == 0 &&
              posix_spawn_file_actions_adddup2(actions, answers, BURN__PROBE_DESCRIPTOR) == 0 &&
              posix_spawn_file_actions_adddup2(actions, 2, 1) == 0;
#if defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 34)
  done = done && posix_spawn_file_actions_addclosefrom_np(actions, BURN__PROBE_DESCRIPTOR + 1) == 0;
#endif
#endif
  return done;
}

/* A group of its own, so that its children end with it, and no signal blocked or ignored. */
static bool describe_process(posix_spawnattr_t *attributes) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  return posix_spawnattr_setpgroup(attributes, 0) == 0 && posix_spawnattr_setsigmask(attributes, &none) == 0 &&
         posix_spawnattr_setsigdefault(attributes, &all) == 0 &&
         posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) ==
             0;
}

/* Starts program[0]; an errno value on failure. */
static int start(char *const *program, int answers, pid_t *child) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (posix_spawn_file_actions_init(&actions) != 0) return ENOMEM;
  if (posix_spawnattr_init(&attributes) != 0) {
    (void)posix_spawn_file_actions_destroy(&actions);
    return ENOMEM;
  }
  int error = ENOMEM;
  if (describe_files(&actions, answers) && describe_process(&attributes))
    error = posix_spawn(child, program[0], &actions, &attributes, program, environ);
  (void)posix_spawnattr_destroy(&attributes);
  (void)posix_spawn_file_actions_destroy(&actions);
  return error;
}

/* macOS has pipe2 since 27 only: a program started before make_pipe has copied the ends would inherit them. */
static bool open_pipe(int ends[2]) {
#if defined(__APPLE__)
  return pipe(ends) == 0;
#else
  return pipe2(ends, O_CLOEXEC) == 0;
#endif
}

/* The pipe stays clear of descriptor 3, on which dup2 would leave it to be closed in the child. */
static bool make_pipe(int ends[2]) {
  if (!open_pipe(ends)) return false;
  for (int i = 0; i < 2; i++) {
    const int moved = fcntl(ends[i], F_DUPFD_CLOEXEC, BURN__PROBE_DESCRIPTOR + 1);
    (void)close(ends[i]);
    ends[i] = moved;
  }
  if (ends[0] >= 0 && ends[1] >= 0) return true;
  for (int i = 0; i < 2; i++) {
    if (ends[i] >= 0) (void)close(ends[i]);
  }
  return false;
}

/* burn_probe lies in burn/ beside libburn, as burn/plugins does; malloc'd. It must be as safe as a plugin. */
static char *find_program(char **why) {
  char *folder = burn__own_folder();
  char *path = folder ? burn__text_format("%s/burn/burn_probe", folder) : NULL;
  BurnRefusal refusal;
  free(folder);
  if (!path) return NULL;
  const BurnStatus status = burn__file_check(path, &refusal);
  if (status == BURN_OK) return path;
  *why = burn__text_format("burn_probe cannot be run: %s", burn_status_message(status));
  free(path);
  return NULL;
}

/* -- reading ---------------------------------------------------------------------------------- */

/* Reads `count` bytes until `deadline`: the number read, fewer at the end of the pipe; -1 when the time is over. */
static ssize_t read_until(int file, void *bytes, size_t count, int64_t deadline) {
  size_t used = 0;
  while (used < count) {
    const int64_t left = deadline - now_milliseconds();
    struct pollfd wanted = {.fd = file, .events = POLLIN};
    if (left <= 0) return -1;
    const int ready = poll(&wanted, 1, left > 1000 ? 1000 : (int)left);
    if (ready < 0 && errno != EINTR) return (ssize_t)used;
    if (ready <= 0) continue;
    const ssize_t got = read(file, (char *)bytes + used, count - used);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    used += (size_t)got;
  }
  return (ssize_t)used;
}

/* Reads frames up to the answer. HUNG: the time is over; CRASHED stands for "ended without an answer". */
static BurnChildEnd read_answer(int file, int64_t deadline, BurnChild *child) {
  for (;;) {
    BurnProbeFrame frame;
    const ssize_t got = read_until(file, &frame, sizeof frame, deadline);
    if (got < 0) return BURN__CHILD_HUNG;
    if (got == 0) return BURN__CHILD_CRASHED;
    if ((size_t)got < sizeof frame || frame.magic != BURN__PROBE_MAGIC || frame.stage > BURN__STAGE_PROBE ||
        frame.bytes > BURN__ANSWER_BYTES_MAX)
      return BURN__CHILD_GARBLED;
    if (frame.bytes == 0) {
      child->stage = (BurnProbeStage)frame.stage;
      continue;
    }
    child->text = calloc(1, (size_t)frame.bytes + 1);
    if (!child->text) return BURN__CHILD_GARBLED;
    const ssize_t read_bytes = read_until(file, child->text, frame.bytes, deadline);
    if (read_bytes < 0) return BURN__CHILD_HUNG;
    return read_bytes == (ssize_t)frame.bytes ? BURN__CHILD_ANSWERED : BURN__CHILD_GARBLED;
  }
}

/* -- ending ----------------------------------------------------------------------------------- */

/* Waits until the deadline; false if the child still runs. Its status is lost (-1) if somebody else has waited for it.
 */
static bool wait_until(pid_t child, int64_t deadline, int *status) {
  const struct timespec moment = {.tv_nsec = 500000};
  *status = -1;
  for (;;) {
    const pid_t ended = waitpid(child, status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) return true;
    if (now_milliseconds() >= deadline) return false;
    (void)nanosleep(&moment, NULL);
  }
}

static void name_signal(int number, char *name, size_t bytes) {
  static const struct {
    int number;
    const char *name;
  } known[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGABRT, "SIGABRT"}, {SIGFPE, "SIGFPE"},
               {SIGILL, "SIGILL"},   {SIGKILL, "SIGKILL"}, {SIGTRAP, "SIGTRAP"}, {SIGSYS, "SIGSYS"}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (known[i].number == number) (void)snprintf(name, bytes, "%s", known[i].name);
  }
}

static BurnChild not_started(int error, char *why) {
  char text[128];
  if (!why) why = burn__text_format("burn_probe cannot be started: %s", burn__errno_text(error, text, sizeof text));
  return (BurnChild){.end = BURN__CHILD_NOT_STARTED, .text = why};
}

/* Sees to it that the child is gone, and to what its end means where it gave no answer. */
static void finish(pid_t pid, int64_t deadline, BurnChild *child) {
  int status = -1;
  const bool ended = child->end == BURN__CHILD_CRASHED && wait_until(pid, deadline, &status);
  if (child->end == BURN__CHILD_CRASHED && !ended) child->end = BURN__CHILD_HUNG; /* it closed the pipe and goes on */
  (void)kill(-pid, SIGKILL);
  if (!ended && !wait_until(pid, now_milliseconds() + GRACE_MILLISECONDS, &status))
    burn__log(BURN_LOG_WARN, "plugins", "process %ld is in a driver and does not end", (long)pid);
  if (child->end != BURN__CHILD_CRASHED) return;
  if (status != -1 && WIFSIGNALED(status)) {
    child->number = WTERMSIG(status);
    name_signal(child->number, child->signal_name, sizeof child->signal_name);
  } else {
    child->end = BURN__CHILD_EXITED;
    child->number = status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
}

/* Starts the program and waits for its answer. `program` ends with NULL. */
static BurnChild run(char *const *program, int64_t milliseconds) {
  BurnChild child = {.end = BURN__CHILD_NOT_STARTED};
  int ends[2];
  pid_t pid;
  const int64_t deadline = now_milliseconds() + milliseconds;
  if (!make_pipe(ends)) return not_started(errno, NULL);
  const int error = start(program, ends[1], &pid);
  (void)close(ends[1]);
  if (error == 0) {
    child.end = read_answer(ends[0], deadline, &child);
    finish(pid, deadline, &child);
  }
  (void)close(ends[0]);
  if (error != 0) return not_started(error, NULL);
  if (child.stage != BURN__STAGE_START || child.end == BURN__CHILD_ANSWERED) return child;
  free(child.text); /* nothing of the plugin had been touched */
  return not_started(0, burn__text_format("burn_probe failed before it loaded a plugin (%s %d)",
                                          child.end == BURN__CHILD_EXITED ? "exit status" : "signal", child.number));
}

/* A program with libburn linked in has its plugins linked in, too. */
bool burn__probe_has_children(void) {
  char *library = burn__own_file();
  free(library);
  return library != NULL;
}

BurnChild burn__probe_in_child(const char *path, int64_t milliseconds) {
  char *why = NULL, *name = find_program(&why), *plugin = burn__text_copy(path), *library = burn__own_file();
  char *const program[] = {name, library, plugin, NULL};
  BurnChild child;
  if (!name || !plugin || !library) {
    child = not_started(ENOMEM, why);
  } else {
    burn__log(BURN_LOG_INFO, "plugins", "probing %s in a process of its own", path);
    child = run(program, milliseconds);
  }
  free(library);
  free(plugin);
  free(name);
  return child;
}

/* -- what verdicts on disk are about ---------------------------------------------------------- */

#if defined(__APPLE__)
#define MODIFIED st_mtimespec
#define CHANGED st_ctimespec
#else
#define MODIFIED st_mtim
#define CHANGED st_ctim
#endif

bool burn__file_identity(const char *path, char text[BURN__IDENTITY_BYTES]) {
  struct stat file;
  if (stat(path, &file) != 0) return false;
  (void)snprintf(text, BURN__IDENTITY_BYTES, "%llu:%llu:%lld:%lld.%09ld:%lld.%09ld", (unsigned long long)file.st_dev,
                 (unsigned long long)file.st_ino, (long long)file.st_size, (long long)file.MODIFIED.tv_sec,
                 file.MODIFIED.tv_nsec, (long long)file.CHANGED.tv_sec, file.CHANGED.tv_nsec);
  return true;
}

/* A text with its end. */
static void mix(uint64_t *hash, const char *text) { *hash = burn__hash_byte(burn__hash_text(*hash, text), 0); }

/* Variables that the loader and drivers read. */
static void mix_environment(uint64_t *hash) {
  static const char *const prefixes[] = {"LD_",  "CUDA_",  "NVIDIA_",   "HIP_",       "ROC",        "HSA_",
                                         "GPU_", "SYCL_",  "ONEAPI_",   "ZE_",        "VK_",        "MESA_",
                                         "OCL_", "TORCH_", "BURN_CUDA", "BURN_TORCH", "BURN_VULKAN"};
  uint64_t sum = 0; /* whatever their order is */
  for (char **variable = environ; variable && *variable; variable++) {
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
      if (strncmp(*variable, prefixes[i], strlen(prefixes[i])) != 0) continue;
      uint64_t one = BURN__HASH;
      mix(&one, *variable);
      sum += one;
    }
  }
  *hash ^= sum;
}

uint64_t burn__machine_stamp(void) {
  static const char *const files[] = {"/etc/ld.so.cache",  "/dev",
                                      "/dev/dri",          "/proc/sys/kernel/random/boot_id",
                                      "/etc/vulkan/icd.d", "/usr/share/vulkan/icd.d"};
  uint64_t hash = BURN__HASH;
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    char text[BURN__IDENTITY_BYTES] = "";
    (void)burn__file_identity(files[i], text);
    mix(&hash, text);
  }
  mix_environment(&hash);
  return hash;
}

void burn__process_limits(char text[BURN__LIMITS_BYTES]) {
  struct rlimit memory = {0, 0}, data = {0, 0}, stack = {0, 0};
  (void)getrlimit(RLIMIT_AS, &memory);
  (void)getrlimit(RLIMIT_DATA, &data);
  (void)getrlimit(RLIMIT_STACK, &stack);
  (void)snprintf(text, BURN__LIMITS_BYTES, "%llu %llu %llu", (unsigned long long)memory.rlim_cur,
                 (unsigned long long)data.rlim_cur, (unsigned long long)stack.rlim_cur);
}

/* The folders of the user's file, of which only the last two may be missing. */
char *burn__verdicts_path(void) {
  const char *cache = burn__trusted_variable("XDG_CACHE_HOME"), *home = burn__trusted_variable("HOME");
  const bool is_named = cache && cache[0] == '/';
  if (!is_named && (!home || home[0] != '/')) return NULL;
  char *base = is_named ? burn__text_copy(cache) : burn__text_format("%s/.cache", home);
  char *folder = base ? burn__text_format("%s/burn", base) : NULL;
  char *path = folder ? burn__text_format("%s/plugins.json", folder) : NULL;
  if (path) {
    (void)mkdir(base, 0700); /* writing says what is wrong */
    (void)mkdir(folder, 0700);
  }
  free(folder);
  free(base);
  return path;
}
