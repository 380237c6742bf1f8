/* faults_run.c - one run of the training program in a child process, with what is done to it; see faults.h. */
#define _XOPEN_SOURCE 700
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 60 };

double harness_now(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void set_number(const char *name, long value) {
  char text[32];
  (void)snprintf(text, sizeof text, "%ld", value);
  (void)setenv(name, text, 1);
}

static void set_fault(const Harness *harness, const Fault *fault) {
  if (!fault || (fault->at == 0 && !fault->log)) return;
  (void)setenv("LD_PRELOAD", harness->shim, 1);
  (void)setenv("BURN_FAULTS_MARK", ARTIFACTS, 1);
  if (fault->log) (void)setenv("BURN_FAULTS_LOG", fault->log, 1);
  set_number("BURN_FAULTS_AT", fault->at);
  if (fault->error)
    set_number("BURN_FAULTS_DO", fault->error);
  else
    (void)setenv("BURN_FAULTS_DO", "kill", 1);
  if (fault->lasting) (void)setenv("BURN_FAULTS_LASTING", "1", 1);
}

/* In the child. */
static void become(const Harness *harness, const Setup *setup, const char *where, unsigned seed, bool resume,
                   unsigned epochs, const Fault *fault) {
  char folder[2 * PATH_BYTES], seed_text[16], epochs_text[16];
  (void)snprintf(folder, sizeof folder, "%s/%s", harness->scratch, where);
  (void)snprintf(seed_text, sizeof seed_text, "%u", seed);
  (void)snprintf(epochs_text, sizeof epochs_text, "%u", epochs);
  if (chdir(folder) != 0) _exit(126);
  const int silence = open("/dev/null", O_RDWR), told = open("stderr", O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (silence < 0 || told < 0 || dup2(silence, 0) < 0 || dup2(silence, 1) < 0 || dup2(told, 2) < 0) _exit(126);
  (void)close(silence);
  (void)close(told);
  (void)setenv("BURN_THREADS", setup->threads, 1);
  (void)unsetenv("BURN_BACKEND");
  set_fault(harness, fault);
  (void)execl(harness->program, harness->program, "--artifact", ARTIFACTS, "--backend", setup->backend, "--workers",
              setup->workers, "--epochs", epochs_text, "--seed", seed_text, "--train-items", "128", "--test-items",
              "32", "--batch-size", "32", "--show", "0", "--json", resume ? "--resume" : NULL, NULL);
  _exit(127);
}

/* Waits for the child; kills it when its time has come. */
static int await(pid_t child, double deadline, bool *killed) {
  int status = 0;
  *killed = false;
  for (;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (!*killed && harness_now() >= deadline) {
      (void)kill(child, SIGKILL);
      *killed = true;
    }
    (void)nanosleep(&(struct timespec){0, 500000}, NULL);
  }
}

static void read_message(const Harness *harness, const char *where, char message[MESSAGE_BYTES]) {
  char path[2 * PATH_BYTES];
  (void)snprintf(path, sizeof path, "%s/%s/stderr", harness->scratch, where);
  FILE *file = fopen(path, "rb");
  message[file ? fread(message, 1, MESSAGE_BYTES - 1, file) : 0] = '\0';
  if (file) fclose(file);
}

Outcome harness_run(const Harness *harness, const Setup *setup, const char *where, unsigned seed, bool resume,
                    unsigned epochs, const Fault *fault) {
  char folder[2 * PATH_BYTES];
  Outcome outcome = {.status = -1};
  (void)snprintf(folder, sizeof folder, "%s/%s", harness->scratch, where);
  (void)mkdir(folder, 0777);
  (void)fflush(NULL);
  const double start = harness_now();
  const pid_t child = fork();
  if (child == 0) become(harness, setup, where, seed, resume, epochs, fault);
  if (child < 0) return outcome;
  const bool kills = fault && fault->kills;
  bool killed;
  const int status = await(child, start + (kills ? fault->kill_after : (double)PATIENCE), &killed);
  outcome.seconds = harness_now() - start;
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  outcome.hangs = killed && !kills;
  read_message(harness, where, outcome.message);
  return outcome;
}
