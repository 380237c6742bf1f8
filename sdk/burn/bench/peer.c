/* peer.c - a child process that measures the same work: peer_torch.py, peer_onnx.py, or anything that speaks these
 * lines. Its arguments are the number of threads, the device, the way (eager, compile, cudagraph, onednn, onnx), the
 * precision and, if it reads models, the folder in which they are before each "case" (see network_export).
 *
 *   out (first)                         its name and version, or "absent TEXT": what it is to measure is not there
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
  char folder[256]; /* of models; "" if it reads none */
};

#define TORCH "peer_torch.py"
const PeerWay peer_ways[PEER_WAYS] = {
    [PEER_EAGER] = {"torch", "eager", "PyTorch", "PyTorch", "torch", "", TORCH, false, false},
    /* --peer-malloc asks for it */
    [PEER_TUNED] = {"", "eager", "PyTorch tuned", "tuned", "torch_tuned", "_tuned", TORCH, true, false},
    [PEER_COMPILED] = {"torch.compile", "compile", "compiled", "compiled", "torch_compile", "_compile", TORCH, false,
                       false},
    [PEER_GRAPHS] = {"torch.cudagraph", "cudagraph", "CUDA graph", "CUDA graph", "torch_cudagraph", "_cudagraph", TORCH,
                     false, false},
    [PEER_ONEDNN] = {"onednn", "onednn", "oneDNN", "oneDNN", "onednn", "_onednn", TORCH, false, false},
    [PEER_ONNX] = {"onnxruntime", "onnx", "ONNX Runtime", "ONNX Runtime", "onnxruntime", "_onnxruntime", "peer_onnx.py",
                   false, true},
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

/* A folder for models that goes with the peer. */
static BurnStatus make_folder(Peer *peer) {
  const char *temporary = getenv("TMPDIR");
  const int length = snprintf(peer->folder, sizeof peer->folder, "%s/burn-bench-XXXXXX",
                              temporary && temporary[0] ? temporary : "/tmp");
  if (length < (int)sizeof peer->folder && mkdtemp(peer->folder)) return BURN_OK;
  peer->folder[0] = '\0';
  return burn_status_make(BURN_STATUS_IO, "no folder for models can be made; TMPDIR says where");
}

static void remove_folder(const Peer *peer) {
  static const char *const files[] = {"model.onnx", "input.npy", "output.npy"};
  char path[320];
  if (!peer->folder[0]) return;
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    snprintf(path, sizeof path, "%s/%s", peer->folder, files[i]);
    unlink(path);
  }
  rmdir(peer->folder);
}

BurnStatus peer_open(Peer **out, const PeerSetup *setup, int way, const char **absent) {
  static const char missing[] = "absent ";
  char program[4096], file[4096], threads[32], device[32], mode[32], precision[32];
  Peer *peer = calloc(1, sizeof *peer);
  *out = peer;
  *absent = NULL;
  if (!peer) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a peer");
  peer->way = way;
  BurnStatus status = peer_ways[way].reads_models ? make_folder(peer) : BURN_OK;
  char *const arguments[] = {program, file, threads, device, mode, precision, peer->folder, NULL};
  snprintf(program, sizeof program, "%s", setup->python);
  snprintf(file, sizeof file, "%s", setup->script);
  snprintf(threads, sizeof threads, "%u", burn_threads());
  snprintf(device, sizeof device, "%s", setup->device);
  snprintf(mode, sizeof mode, "%s", peer_ways[way].mode);
  snprintf(precision, sizeof precision, "%s", setup->precision);
  if (status == BURN_OK) status = start(peer, arguments);
  const bool is_absent = strncmp(peer->version, missing, sizeof missing - 1) == 0;
  if (status == BURN_OK && is_absent) *absent = peer->version + sizeof missing - 1;
  return status;
}

void peer_close(Peer *peer) {
  if (!peer) return;
  if (peer->to) fclose(peer->to);
  if (peer->from) fclose(peer->from);
  if (peer->process > 0) waitpid(peer->process, NULL, 0);
  remove_folder(peer);
  free(peer);
}

const char *peer_folder(const Peer *peer) { return peer->folder[0] ? peer->folder : NULL; }
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
