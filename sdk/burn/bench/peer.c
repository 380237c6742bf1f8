/* peer.c - a child process that measures the same work: peer_torch.py, or anything that speaks these lines. Its
 * arguments are the number of threads, the device, the way (eager, compile, cudagraph) and the precision.
 *
 *   out (first)                         its name and version
 *   in  "case KIND ARG..."              out "ready LOSS", "missing", "missing TEXT" (why it cannot) or "error TEXT"
 *   in  "run SECONDS"                   out "TIME LOSS" or "error TEXT"
 *   in  "end"                           out "ended", or "ended BYTES": the most that its tensors took
 *
 * KIND is the name of the kind, with @f16 or @bf16 after it where floats are not f32. It waits while we measure and we
 * wait while it does. It ends when its input ends. */
#include "bench.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct Peer {
  pid_t process;
  FILE *to, *from;
  int way;
  char version[128];
};

const PeerWay peer_ways[PEER_WAYS] = {
    [PEER_EAGER] = {"torch", "eager", "PyTorch", "", false},
    [PEER_TUNED] = {"", "eager", "PyTorch tuned", "_tuned", true}, /* --peer-malloc asks for it */
    [PEER_COMPILED] = {"torch.compile", "compile", "compiled", "_compile", false},
    [PEER_GRAPHS] = {"torch.cudagraph", "cudagraph", "CUDA graph", "_cudagraph", false},
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
  return burn_status_make(BURN_STATUS_IO, "the peer %s %s; its messages are above", peer_label(peer), what);
}

/* Reads a line without its end. */
static BurnStatus receive(Peer *peer, char *line, size_t capacity) {
  if (!fgets(line, (int)capacity, peer->from)) return peer_failed(peer, "ended");
  line[strcspn(line, "\n")] = '\0';
  if (strncmp(line, "error ", 6) == 0)
    return burn_status_make(BURN_STATUS_INTERNAL, "%s: %s", peer_label(peer), line + 6);
  return BURN_OK;
}

static BurnStatus start(Peer *peer, char *const *arguments) {
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
  if (peer->process == 0) child_exec(arguments, to, from, peer_ways[peer->way].tuned_malloc);
  close(to[0]);
  close(from[1]);
  peer->to = fdopen(to[1], "w");
  peer->from = fdopen(from[0], "r");
  if (peer->process < 0 || !peer->to || !peer->from) return peer_failed(peer, "cannot be started");
  return receive(peer, peer->version, sizeof peer->version);
}

BurnStatus peer_open(Peer **out, const PeerSetup *setup, int way) {
  char program[4096], file[4096], threads[32], device[32], mode[32], precision[32];
  char *const arguments[] = {program, file, threads, device, mode, precision, NULL};
  Peer *peer = calloc(1, sizeof *peer);
  if (!peer) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a peer");
  peer->way = way;
  snprintf(program, sizeof program, "%s", setup->python);
  snprintf(file, sizeof file, "%s", setup->script);
  snprintf(threads, sizeof threads, "%u", burn_threads());
  snprintf(device, sizeof device, "%s", setup->device);
  snprintf(mode, sizeof mode, "%s", peer_ways[way].mode);
  snprintf(precision, sizeof precision, "%s", setup->precision);
  const BurnStatus status = start(peer, arguments);
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
int peer_way(const Peer *peer) { return peer->way; }
const char *peer_label(const Peer *peer) { return peer_ways[peer->way].label; }
const char *peer_version(const Peer *peer) { return peer->version; }

/* Ends the line that was begun and reads the answer. */
static BurnStatus converse(Peer *peer, char *line, size_t capacity) {
  if (fputc('\n', peer->to) == EOF || fflush(peer->to) != 0) return peer_failed(peer, "does not listen");
  return receive(peer, line, capacity);
}

BurnStatus peer_case(Peer *peer, const Case *c, Side *side) {
  static const char missing[] = "missing";
  char line[512], *end = NULL;
  const char *dtype = burn_dtype_name(c->dtype);
  const bool is_f32 = c->dtype == BURN_DTYPE_F32;
  fprintf(peer->to, "case %s%s%s", c->kind, is_f32 ? "" : "@", is_f32 ? "" : dtype);
  for (int i = 0; i < c->args.count; i++) fprintf(peer->to, " %lld", (long long)c->args.at[i]);
  const BurnStatus status = converse(peer, line, sizeof line);
  if (status != BURN_OK) return burn_status_annotate(status, "%s", c->kind);
  side->known = strncmp(line, missing, sizeof missing - 1) != 0;
  if (!side->known) {
    side->lacks = line[sizeof missing - 1] != '\0';
    if (side->lacks) snprintf(side->problem, sizeof side->problem, "%.250s", line + sizeof missing);
    return BURN_OK;
  }
  if (strncmp(line, "ready ", 6) != 0) return peer_failed(peer, "gave no answer to `case`");
  side->first_loss = strtod(line + 6, &end);
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

BurnStatus peer_end(Peer *peer, int64_t *bytes_peak) {
  char line[512];
  long long bytes = -1;
  fputs("end", peer->to);
  const BurnStatus status = converse(peer, line, sizeof line);
  *bytes_peak = status == BURN_OK && sscanf(line, "ended %lld", &bytes) == 1 ? bytes : -1;
  return status;
}
