/* platform_posix.c - platform.h for Linux and other POSIX systems. */
#define _GNU_SOURCE /* syscall, strerror_r */
#include "core_internal.h"
#include "platform.h"

#include <burn/streams.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#if defined(__linux__)
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#endif

#if defined(__APPLE__)
bool burn__random_bytes(void *bytes, size_t count) {
  arc4random_buf(bytes, count); /* never fails */
  return true;
}
#else
static bool random_from_file(void *bytes, size_t count) {
  const int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t got = read(file, bytes, count);
  (void)close(file);
  return got == (ssize_t)count;
}

bool burn__random_bytes(void *bytes, size_t count) {
  ssize_t got;
  do got = getrandom(bytes, count, 0);
  while (got < 0 && errno == EINTR);
  return got == (ssize_t)count || random_from_file(bytes, count);
}
#endif

/* Not aligned_alloc, which need not take sizes that are not a multiple of the alignment: sanitizers see the true end
 * this way. */
void *burn__aligned_allocate(size_t bytes) {
  void *memory = NULL;
  return posix_memalign(&memory, 64, bytes) == 0 ? memory : NULL;
}
void burn__aligned_free(void *memory) { free(memory); }

#if defined(__linux__) && defined(SYS_membarrier)
static bool has_membarrier;
static void look_for_membarrier(void) {
  has_membarrier = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0) == 0;
}
bool burn__fence_threads_works(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, look_for_membarrier);
  return has_membarrier;
}
void burn__fence_threads(void) { (void)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0); }
#else
bool burn__fence_threads_works(void) { return false; }
void burn__fence_threads(void) {}
#endif

#if defined(__linux__)
void burn__sleep_while_equal(atomic_uint *word, unsigned value) {
  while (atomic_load(word) == value) (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}
void burn__wake_sleeper(atomic_uint *word) { (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0); }
#else
static pthread_mutex_t sleep_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER; /* for all words: who wakes for another one sleeps on */

void burn__sleep_while_equal(atomic_uint *word, unsigned value) {
  pthread_mutex_lock(&sleep_mutex);
  while (atomic_load(word) == value) pthread_cond_wait(&wake, &sleep_mutex);
  pthread_mutex_unlock(&sleep_mutex);
}

void burn__wake_sleeper(atomic_uint *word) {
  (void)word;
  pthread_mutex_lock(&sleep_mutex);
  pthread_cond_broadcast(&wake);
  pthread_mutex_unlock(&sleep_mutex);
}
#endif

/* GNU's strerror_r returns the text, which need not be in the buffer; that of POSIX whether it is there. */
const char *burn__errno_text(int number, char *buffer, size_t bytes) {
#if defined(__GLIBC__)
  const char *text = strerror_r(number, buffer, bytes);
  if (text != buffer) (void)snprintf(buffer, bytes, "%s", text);
#else
  if (strerror_r(number, buffer, bytes) != 0) (void)snprintf(buffer, bytes, "error %d", number);
#endif
  return buffer;
}

void burn_streams_pin(void) {
  const int error = errno;
  for (int stream = 0; stream <= 2; stream++) {
    if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    int file = open("/dev/null", O_RDWR); /* the lowest number that is free; children are to have it, too */
    if (file < 0) file = open("/", O_RDONLY);
    if (file > 2) (void)close(file); /* another thread was faster */
  }
  errno = error;
}

/* -- paths ------------------------------------------------------------------------------------ */

bool burn__path_is_absolute(const char *path) { return path[0] == '/'; }

const char *burn__path_file_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

char burn__path_list_separator(void) { return ':'; }
const char *burn__plugin_suffix(void) { return ".so"; }

char *burn__user_settings_path(void) {
  const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
  if (config && config[0] == '/') return burn__text_format("%s/burn/burn.json", config);
  return home && home[0] == '/' ? burn__text_format("%s/.config/burn/burn.json", home) : NULL;
}

const char *burn__system_settings_path(void) { return "/etc/burn/burn.json"; }

const char *burn__system_plugin_folder(void) {
#if defined(BURN_SYSTEM_PLUGIN_DIR)
  return BURN_SYSTEM_PLUGIN_DIR;
#else
  return NULL;
#endif
}

/* -- programs --------------------------------------------------------------------------------- */

extern const BurnPluginQuery burn_static_plugins[] __attribute__((weak));

const BurnPluginQuery *burn__linked_plugins(void) { return burn_static_plugins; }
