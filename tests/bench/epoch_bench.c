/* epoch_bench.c - seconds per training epoch of the guide's CNN, beside PyTorch doing the same work in the same
 * minutes.
 *
 * The network is that of sdk/examples/mnist (its model.c is linked in): batch 64, Adam 1e-4, dropout in three places. A
 * step is: next shuffled batch, forward, loss, backward, Adam, loss read. Both sides do exactly that and start from the
 * same bytes: the images are written to a temporary file that mnist_torch.py reads. The peer runs as a child process
 * that waits on a pipe, so that rounds alternate: ours, torch, ours, torch. One sleeps while the other works.
 *
 *   epoch_bench [--data DIR] [--steps N] [--rounds N] [--full] [--python PROGRAM --script FILE] [--backend STACK]
 * [--json] */
#include "bench_time.h"
#include "../../sdk/examples/mnist/model.h"

#include "../../sdk/examples/common/arguments.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_ROUNDS = 101, IMAGE_BYTES = 28 * 28 };

typedef struct Options {
  const char *data, *python, *script, *backend;
  size_t items, steps, warmup, rounds, batch_size, workers;
  bool full, json;
} Options;

/* One side: seconds per step of each round, and the mean loss of the last one. */
typedef struct Side {
  double rounds[MAX_ROUNDS];
  double loss;
} Side;

/* -- data ------------------------------------------------------------------------------------- */

/* Columns "image" u8 and "label" u8: MNIST, or digits drawn once and kept. */
static BurnDataset *raw_data(const Options *options, BurnStatus *status) {
  if (options->data) {
    BurnDataset *mnist = burn_dataset_mnist(options->data, BURN_MNIST_TRAIN, status);
    return mnist && options->items < burn_dataset_count(mnist) ? burn_dataset_slice(mnist, 0, options->items, status)
                                                               : mnist;
  }
  BurnDataset *digits = burn_dataset_digits(&(BurnDigitsConfig){options->items, 1}, status);
  return digits ? burn_dataset_cache(digits, status) : NULL;
}

/* Writes 785 bytes per item: the label, then the image. */
static BurnStatus write_items(const BurnDataset *data, FILE *file) {
  unsigned char item[1 + IMAGE_BYTES];
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < burn_dataset_count(data) && status == BURN_OK; i++) {
    status = burn_dataset_get(data, i, (void *const[]){item + 1, item});
    if (status == BURN_OK && fwrite(item, 1, sizeof item, file) != sizeof item) {
      status = burn_status_make(BURN_STATUS_IO, "item %zu cannot be written to the temporary file", i);
    }
  }
  if (status == BURN_OK && fflush(file) != 0)
    status = burn_status_make(BURN_STATUS_IO, "the temporary file cannot be written");
  return status;
}

/* -- ours ------------------------------------------------------------------------------------- */

typedef struct Ours {
  BurnDevice *device;
  Model model;
  BurnOptimizer *optimizer;
  BurnLoader *loader;
  BurnBatches *batches; /* of the current epoch; NULL before the first */
  size_t epoch;
} Ours;

static BurnStatus ours_open(Ours *ours, const Options *options, BurnDataset *raw) {
  BurnStatus status = BURN_OK;
  BurnDataset *data = burn_dataset_mnist_normalize(burn_dataset_clone(raw), &status);
  const BurnLoaderConfig config = {
      .batch_size = options->batch_size, .shuffle = true, .seed = 1, .workers = options->workers};
  if (data) ours->loader = burn_loader_create(data, &config, &status);
  if (status != BURN_OK) return status;
  ours->device = burn_device_open_training(options->backend);
  status = burn_device_status(ours->device);
  if (status != BURN_OK) return status;
  burn_device_seed(ours->device, 1);
  const ModelConfig model = ModelConfig_defaults(10, 512);
  ours->model = model_init(&model, ours->device);
  ours->optimizer = burn_adam_create(NULL);
  return burn_module_status(burn_module(Model, &ours->model));
}

/* The next batch; begins another epoch at the end of one. */
static BurnStatus ours_next(Ours *ours, BurnBatch *batch) {
  if (ours->batches && burn_batches_next(ours->batches, batch)) return BURN_OK;
  BurnStatus status = ours->batches ? burn_batches_stop(ours->batches) : BURN_OK;
  ours->batches = NULL;
  if (status != BURN_OK) return status;
  ours->batches = burn_loader_start(ours->loader, ours->device, ++ours->epoch, 0);
  if (burn_batches_next(ours->batches, batch)) return BURN_OK;
  status = burn_batches_stop(ours->batches);
  ours->batches = NULL;
  return status != BURN_OK ? status : burn_status_make(BURN_STATUS_INTERNAL, "an epoch without batches");
}

static BurnStatus ours_step(Ours *ours, double *loss) {
  BurnBatch batch;
  BurnStatus status = ours_next(ours, &batch);
  if (status != BURN_OK) return status;
  BurnStepOutput output = model_step(NULL, &ours->model, &batch);
  BurnTensor *mean = burn_step_take(&output, "loss");
  burn_step_drop(&output);
  status = burn_read_scalar(burn_clone(mean), loss);
  if (status == BURN_OK) return burn_train_step(ours->optimizer, burn_module(Model, &ours->model), mean, 1e-4);
  burn_drop(mean);
  return status;
}

static BurnStatus ours_run(Ours *ours, size_t steps, double *seconds, double *mean_loss) {
  double sum = 0, loss = 0;
  BurnStatus status = BURN_OK;
  const double begin = seconds_now();
  for (size_t i = 0; i < steps && status == BURN_OK; i++) {
    status = ours_step(ours, &loss);
    sum += loss;
  }
  if (status == BURN_OK) status = burn_device_sync(ours->device);
  *seconds = seconds_now() - begin;
  *mean_loss = sum / (double)steps;
  return status;
}

static void ours_close(Ours *ours) {
  if (ours->batches) {
    const BurnStatus status = burn_batches_stop(ours->batches);
    if (status != BURN_OK) fprintf(stderr, "epoch_bench: %s\n", burn_status_message(status));
  }
  Model_release(&ours->model);
  burn_optimizer_destroy(ours->optimizer);
  burn_loader_destroy(ours->loader);
  burn_device_close(ours->device);
}

/* -- the peer --------------------------------------------------------------------------------- */

/* A child that gets "N\n", trains N steps and answers "SECONDS LOSS\n". It ends when its input ends. */
typedef struct Peer {
  pid_t process; /* 0: there is none */
  FILE *to, *from;
  char version[64];
} Peer;

/* The child's part: pipes for input and output, then the program. */
static void child_exec(char *const *arguments, const int *to, const int *from) {
  if (dup2(to[0], STDIN_FILENO) < 0 || dup2(from[1], STDOUT_FILENO) < 0) _exit(127);
  close(to[0]);
  close(to[1]);
  close(from[0]);
  close(from[1]);
  execvp(arguments[0], arguments);
  _exit(127);
}

static BurnStatus peer_failed(const char *what) {
  return burn_status_make(BURN_STATUS_IO, "the PyTorch side %s; its messages are above", what);
}

/* Starts the peer; its first line is its version. */
static BurnStatus peer_open(Peer *peer, const Options *options, const char *path) {
  char batch[32], threads[32], program[4096], script[4096], file[64];
  char *const arguments[] = {program, script, file, batch, threads, NULL};
  snprintf(program, sizeof program, "%s", options->python);
  snprintf(script, sizeof script, "%s", options->script);
  snprintf(file, sizeof file, "%s", path);
  snprintf(batch, sizeof batch, "%zu", options->batch_size);
  snprintf(threads, sizeof threads, "%u", burn_threads());
  int to[2], from[2];
  if (pipe(to) != 0 || pipe(from) != 0) return burn_status_make(BURN_STATUS_IO, "a pipe cannot be made");
  peer->process = fork();
  if (peer->process == 0) child_exec(arguments, to, from);
  close(to[0]);
  close(from[1]);
  peer->to = fdopen(to[1], "w");
  peer->from = fdopen(from[0], "r");
  if (peer->process < 0 || !peer->to || !peer->from)
    return burn_status_make(BURN_STATUS_IO, "the peer cannot be started");
  if (!fgets(peer->version, sizeof peer->version, peer->from)) return peer_failed("did not start");
  peer->version[strcspn(peer->version, "\n")] = '\0';
  return BURN_OK;
}

static BurnStatus peer_run(Peer *peer, size_t steps, double *seconds, double *loss) {
  char line[128];
  if (fprintf(peer->to, "%zu\n", steps) < 0 || fflush(peer->to) != 0) return peer_failed("does not listen");
  if (!fgets(line, sizeof line, peer->from)) return peer_failed("ended");
  char *end = NULL;
  *seconds = strtod(line, &end);
  *loss = strtod(end, &end);
  return *end == '\n' && *seconds > 0 ? BURN_OK : peer_failed("answered without a time");
}

static void peer_close(Peer *peer) {
  if (peer->to) fclose(peer->to);
  if (peer->from) fclose(peer->from);
  if (peer->process > 0) waitpid(peer->process, NULL, 0);
}

/* -- rounds ----------------------------------------------------------------------------------- */

typedef struct Bench {
  Options options;
  Ours ours;
  Peer peer;
  Side own, other;
  size_t batches; /* in an epoch */
} Bench;

static BurnStatus one_round(Bench *bench, size_t steps, size_t round) {
  double seconds = 0;
  BurnStatus status = ours_run(&bench->ours, steps, &seconds, &bench->own.loss);
  bench->own.rounds[round] = seconds / (double)steps;
  if (status == BURN_OK && bench->peer.process > 0) {
    status = peer_run(&bench->peer, steps, &seconds, &bench->other.loss);
    bench->other.rounds[round] = seconds / (double)steps;
  }
  return status;
}

static BurnStatus measure(Bench *bench) {
  const Options *options = &bench->options;
  const size_t steps = options->full ? bench->batches : options->steps;
  BurnStatus status = options->warmup > 0 ? one_round(bench, options->warmup, 0) : BURN_OK;
  for (size_t round = 0; round < options->rounds && status == BURN_OK; round++) {
    status = one_round(bench, steps, round);
    if (status != BURN_OK || options->json) continue;
    printf("round %zu of %zu, %zu steps: ours %.2f ms/step", round + 1, options->rounds, steps,
           1e3 * bench->own.rounds[round]);
    if (bench->peer.process > 0) printf(", torch %.2f ms/step", 1e3 * bench->other.rounds[round]);
    printf("\n");
    fflush(stdout);
  }
  return status;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, size_t count) {
  qsort(values, count, sizeof *values, by_value);
  return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void show_side(const char *name, Side *side, const Bench *bench) {
  const size_t rounds = bench->options.rounds;
  const double scale = (double)bench->batches, middle = median(side->rounds, rounds) * scale;
  printf("%-28s %7.2f s per epoch of %zu steps (%.2f .. %.2f), %.2f ms per step, loss %.4f at the end\n", name, middle,
         bench->batches, side->rounds[0] * scale, side->rounds[rounds - 1] * scale, 1e3 * middle / scale, side->loss);
}

static void show(Bench *bench) {
  const Options *options = &bench->options;
  const double scale = (double)bench->batches, own = median(bench->own.rounds, options->rounds) * scale;
  const bool has_peer = bench->peer.process > 0;
  const double other = has_peer ? median(bench->other.rounds, options->rounds) * scale : 0;
  const BurnMemoryStats memory = burn_device_memory(bench->ours.device);
  if (options->json) {
    printf(
        "{\"bench\":\"epoch\",\"data\":\"%s\",\"stack\":\"%s\",\"threads\":%u,\"steps_per_epoch\":%zu,\"rounds\":%zu,"
        "\"ours_seconds\":%.4f,\"bytes_peak\":%lld,\"bytes_reserved\":%lld",
        options->data ? "mnist" : "generated", burn_device_name(bench->ours.device), burn_threads(), bench->batches,
        options->rounds, own, (long long)memory.bytes_peak, (long long)memory.bytes_reserved);
    if (has_peer)
      printf(",\"torch\":\"%s\",\"torch_seconds\":%.4f,\"ratio\":%.4f", bench->peer.version, other, own / other);
    printf("}\n");
    return;
  }
  show_side(burn_device_name(bench->ours.device), &bench->own, bench);
  printf("%-28s %7.1f MB of tensors at most, %.1f MB held with caches\n", "", 1e-6 * (double)memory.bytes_peak,
         1e-6 * (double)memory.bytes_reserved);
  if (has_peer) {
    show_side(bench->peer.version, &bench->other, bench);
    printf("ratio ours/torch: %.2f (below 1: ours is faster), %u threads on both sides\n", own / other, burn_threads());
  } else {
    printf("without PyTorch: only ours was measured; set BURN_BENCH_PYTHON to a python that has torch\n");
  }
}

/* With a peer: through a temporary file that is gone before the measuring begins. */
static BurnStatus start_peer(Bench *bench, const BurnDataset *raw) {
  char path[] = "/tmp/burn-bench-XXXXXX";
  const int descriptor = mkstemp(path);
  FILE *file = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
  if (!file) return burn_status_make(BURN_STATUS_IO, "%s cannot be made", path);
  BurnStatus status = write_items(raw, file);
  if (status == BURN_OK) status = peer_open(&bench->peer, &bench->options, path);
  fclose(file);
  unlink(path);
  return status;
}

static BurnStatus run(Bench *bench) {
  const Options *options = &bench->options;
  BurnStatus status = BURN_OK;
  BurnDataset *raw = raw_data(options, &status);
  if (raw) {
    bench->batches = (burn_dataset_count(raw) + options->batch_size - 1) / options->batch_size;
    /* The peer first: OpenBLAS stops its threads when a process forks. */
    if (options->python && options->script) status = start_peer(bench, raw);
    if (status == BURN_OK) status = ours_open(&bench->ours, options, raw);
  }
  burn_dataset_drop(raw);
  if (status == BURN_OK) status = measure(bench);
  if (status == BURN_OK) show(bench);
  peer_close(&bench->peer);
  ours_close(&bench->ours);
  return status;
}

int main(int argc, char **argv) {
  Bench bench;
  memset(&bench, 0, sizeof bench);
  Options *options = &bench.options;
  *options = (Options){.items = 60000, .steps = 300, .warmup = 30, .rounds = 3, .batch_size = 64, .workers = 1};
  const Argument arguments[] = {
      {"data", ARGUMENT_TEXT, &options->data, "DIR", "folder with the MNIST files; without it digits are generated"},
      {"items", ARGUMENT_SIZE, &options->items, "N", "images in an epoch, at most"},
      {"batch-size", ARGUMENT_SIZE, &options->batch_size, "N", "images per step"},
      {"steps", ARGUMENT_SIZE, &options->steps, "N", "steps in a round"},
      {"rounds", ARGUMENT_SIZE, &options->rounds, "N", "rounds of each side, alternating; 1 .. 101"},
      {"warmup", ARGUMENT_SIZE, &options->warmup, "N", "steps of each side before the first round"},
      {"full", ARGUMENT_FLAG, &options->full, NULL, "a round is a whole epoch"},
      {"workers", ARGUMENT_SIZE, &options->workers, "N", "threads of our loader"},
      {"backend", ARGUMENT_TEXT, &options->backend, "STACK", "ours runs on this; default: BURN_BACKEND or the best"},
      {"python", ARGUMENT_TEXT, &options->python, "PROGRAM", "a python that has torch; without it only ours runs"},
      {"script", ARGUMENT_TEXT, &options->script, "FILE", "mnist_torch.py"},
      {"json", ARGUMENT_FLAG, &options->json, NULL, "one JSON object"},
  };
  const int parsed = arguments_parse(argc, argv, "usage: epoch_bench [options]   seconds per epoch of the guide's CNN",
                                     arguments, sizeof arguments / sizeof arguments[0], NULL, 0);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  if (options->rounds < 1 || options->rounds > MAX_ROUNDS || options->steps < 1 || options->items < 1 ||
      options->batch_size < 1) {
    fprintf(stderr, "epoch_bench: --rounds is 1..%d; --steps, --items and --batch-size are at least 1\n", MAX_ROUNDS);
    return 2;
  }
  signal(SIGPIPE, SIG_IGN); /* a peer that died is a message, not our end */
  const BurnStatus status = run(&bench);
  if (status == BURN_OK) return 0;
  fprintf(stderr, "epoch_bench: %s\n", burn_status_message(status));
  return 1;
}
