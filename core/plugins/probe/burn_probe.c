/* burn_probe.c - the process in which libburn looks at a plugin: burn_probe LIBBURN PLUGIN, started by libburn alone,
 * with a pipe as descriptor 3. It ends with the thread that waits for it.
 *
 * It is not linked with libburn but opens the one that asks, whatever folders the loader would look in. */
#define _GNU_SOURCE /* prctl */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#if defined(__linux__)
#include <signal.h>
#include <sys/prctl.h>
#endif

enum { ANSWERS = 3, SECONDS_MAX = 3700 };

/* A faulty plugin leaves no memory image. (1, not 0: with 0 a program that collects images gets it all the same.) */
static void leave_no_image(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_CORE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max < 1 ? limit.rlim_max : 1;
  (void)setrlimit(RLIMIT_CORE, &limit);
}

int main(int argc, char **argv) {
  int (*answer)(const char *path); /* burn_plugin_answer of plugins.h */
  if (argc != 3 || fcntl(ANSWERS, F_GETFD) < 0 || lseek(ANSWERS, 0, SEEK_CUR) != -1) {
    fprintf(stderr,
            "burn_probe: libburn runs this program to look at plugins; see 'burn backends' and 'burn doctor'\n");
    return 2;
  }
#if defined(__linux__)
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  (void)alarm(SECONDS_MAX);
  leave_no_image();
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  void *symbol = library ? dlsym(library, "burn_plugin_answer") : NULL;
  if (!symbol) {
    fprintf(stderr, "burn_probe: %s\n", dlerror());
    return 2;
  }
  memcpy(&answer, &symbol, sizeof answer); /* ISO C has no cast from object to function pointer */
  _exit(answer(argv[2]));                  /* without what plugins do at the end of a process */
}
