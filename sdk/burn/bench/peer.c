/* peer.c - a child process that measures the same work: peer_torch.py, or anything that speaks these lines.
 *
 *   out (first)                         its name and version
 *   in  "case KIND ARG..."              out "ready LOSS", "missing" or "error TEXT"
 *   in  "run SECONDS"                   out "TIME LOSS" or "error TEXT"
 *   in  "end"                           out "ended"
 *
 * It waits while we measure and we wait while it does. It ends when its input ends. */
#include "bench.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct Peer {
  pid_t process;
  FILE *to, *from;
  char label[32], version[64];
};

/* A malloc that keeps its pages, as a user who knows would set it. */
static void set_tuned_malloc(void) {
  setenv("MALLOC_MMAP_THRESHOLD_", "4294967296", 1);
  setenv("MALLOC_TRIM_THRESHOLD_", "8589934592", 1);
  setenv("MALLOC_TOP_PAD_", "268435456", 1);
}

/* The child's part: pipes for input and output, then the program. */
static void child_exec(char *const *arguments, const int *to, const int *from, bool tuned_malloc) {
  if (dup2(to[0], STDIN_FILENO) < 0 || dup2(from[1], STDOUT_FILENO) < 0) _exit(127);
  close(to[0]);
  close(to[1]);
  close(from[0]);
  close(from[1]);
  if (tuned_malloc) set_tuned_malloc();
  execvp(arguments[0], arguments);
  _exit(127);
}

static BurnStatus peer_failed(const Peer *peer, const char *what) {
  return burn_status_make(BURN_STATUS_IO, "the peer %s %s; its messages are above", peer->label, what);
}

/* Reads a line without its end. */
static BurnStatus receive(Peer *peer, char *line, size_t capacity) {
  if (!fgets(line, (int)capacity, peer->from)) return peer_failed(peer, "ended");
  line[strcspn(line, "\n")] = '\0';
  if (strncmp(line, "error ", 6) == 0) return burn_status_make(BURN_STATUS_INTERNAL, "%s: %s", peer->label, line + 6);
  return BURN_OK;
}

static BurnStatus start(Peer *peer, char *const *arguments, bool tuned_malloc) {
  int to[2], from[2];
  if (pipe(to) != 0) return burn_status_make(BURN_STATUS_IO, "a pipe cannot be made");
  if (pipe(from) != 0) {
    close(to[0]);
    close(to[1]);
    return burn_status_make(BURN_STATUS_IO, "a pipe cannot be made");
  }
  /* Our ends are ours alone: a peer that holds another's would keep it from seeing the end of its input. */
  fcntl(to[1], F_SETFD, FD_CLOEXEC);
  fcntl(from[0], F_SETFD, FD_CLOEXEC);
  fflush(NULL);
  peer->process = fork();
  if (peer->process == 0) child_exec(arguments, to, from, tuned_malloc);
  close(to[0]);
  close(from[1]);
  peer->to = fdopen(to[1], "w");
  peer->from = fdopen(from[0], "r");
  if (peer->process < 0 || !peer->to || !peer->from) return peer_failed(peer, "cannot be started");
  return receive(peer, peer->version, sizeof peer->version);
}

BurnStatus peer_open(Peer **out, const char *python, const char *script, const char *label, bool tuned_malloc) {
  char program[4096], file[4096], threads[32];
  char *const arguments[] = {program, file, threads, NULL};
  Peer *peer = calloc(1, sizeof *peer);
  if (!peer) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a peer");
  snprintf(peer->label, sizeof peer->label, "%s", label);
  snprintf(program, sizeof program, "%s", python);
  snprintf(file, sizeof file, "%s", script);
  snprintf(threads, sizeof threads, "%u", burn_threads());
  const BurnStatus status = start(peer, arguments, tuned_malloc);
  *out = peer;
  return status;
}

void peer_close(Peer *peer) {
  if (!peer) return;
  if (peer->to) fclose(peer->to);
  if (peer->from) fclose(peer->from);
  if (peer->process > 0) waitpid(peer->process, NULL, 0);
  free(peer);
}

long peer_process(const Peer *peer) { return (long)peer->process; }
const char *peer_label(const Peer *peer) { return peer->label; }
const char *peer_version(const Peer *peer) { return peer->version; }

/* Ends the line that was begun and reads the answer. */
static BurnStatus converse(Peer *peer, char *line, size_t capacity) {
  if (fputc('\n', peer->to) == EOF || fflush(peer->to) != 0) return peer_failed(peer, "does not listen");
  return receive(peer, line, capacity);
}

BurnStatus peer_case(Peer *peer, const char *kind, const Args *args, bool *known, double *loss) {
  char line[512];
  fprintf(peer->to, "case %s", kind);
  for (int i = 0; i < args->count; i++) fprintf(peer->to, " %lld", (long long)args->at[i]);
  const BurnStatus status = converse(peer, line, sizeof line);
  if (status != BURN_OK) return burn_status_annotate(status, "%s", kind);
  *known = strcmp(line, "missing") != 0;
  if (!*known) return BURN_OK;
  char *end = NULL;
  if (strncmp(line, "ready ", 6) != 0) return peer_failed(peer, "gave no answer to `case`");
  *loss = strtod(line + 6, &end);
  return *end == '\0' && end != line + 6 ? BURN_OK : peer_failed(peer, "gave no loss");
}

BurnStatus peer_run(Peer *peer, double seconds, double *sample, double *loss) {
  char line[512], *end = NULL, *last = NULL;
  fprintf(peer->to, "run %.6g", seconds);
  const BurnStatus status = converse(peer, line, sizeof line);
  if (status != BURN_OK) return status;
  *sample = strtod(line, &end);
  *loss = strtod(end, &last);
  return last != end && *last == '\0' && *sample > 0 ? BURN_OK : peer_failed(peer, "answered without a time");
}

BurnStatus peer_end(Peer *peer) {
  char line[512];
  fputs("end", peer->to);
  return converse(peer, line, sizeof line);
}
