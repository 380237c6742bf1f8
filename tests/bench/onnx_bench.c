/* onnx_bench.c - one ONNX model as a process that measures when it is told to; onnx_bench.py tells it, in turns with
 * ONNX Runtime.
 *
 *   onnx_bench MODEL.onnx [--set FOLDER] [--backend STACK]
 *
 * First line out: "loaded SECONDS NODES", the seconds that burn_onnx_load took. Then, for every line in, one line out:
 *
 *   inputs FOLDER    writes the stored inputs there as input_<i>.npy: "ok"
 *   outputs FOLDER   runs once and writes output_<i>.npy: "ok"
 *   run SECONDS      runs as often as fits there: seconds of one run
 *   memory           "IDLE PEAK": KiB of the process with a device and no model, and the most until now; 0 without /proc
 *
 * A run takes stored tensors that are on the device already, and ends when its outputs are there. */
#include "bench_time.h"

#include "../onnx/onnx_stored.h"
#include "../../sdk/examples/common/arguments.h"

#include <burn/burn.h>
#include <burn/numpy.h>
#include <burn/onnx.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16, LINE = 1024 };

typedef struct Bench {
  BurnDevice *device;
  BurnGraph *graph;
  BurnTensor *inputs[MOST];
  size_t input_count, output_count;
  long idle;
} Bench;

static void check(BurnStatus status) {
  if (status == BURN_OK) return;
  fprintf(stderr, "onnx_bench: %s\n", burn_status_message(status));
  exit(1);
}

/* A figure of /proc/self/status in KiB; 0 where there is none. */
static long memory(const char *key) {
  char line[LINE];
  long value = 0;
  FILE *file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file)) {
    if (strncmp(line, key, strlen(key)) == 0) value = strtol(line + strlen(key), NULL, 10);
  }
  if (file) fclose(file);
  return value;
}

static void run_once(const Bench *bench, BurnTensor **outputs) {
  BurnTensor *inputs[MOST];
  for (size_t i = 0; i < bench->input_count; i++) inputs[i] = burn_clone(bench->inputs[i]);
  check(burn_graph_run(bench->graph, inputs, bench->input_count, outputs, bench->output_count));
}

static double seconds_of_run(const Bench *bench, double wanted) {
  const double begin = seconds_now();
  size_t runs = 0;
  do {
    BurnTensor *outputs[MOST];
    run_once(bench, outputs);
    check(burn_device_sync(bench->device));
    for (size_t i = 0; i < bench->output_count; i++) burn_drop(outputs[i]);
    runs++;
  } while (seconds_now() - begin < wanted);
  return (seconds_now() - begin) / (double)runs;
}

static void write_all(const char *folder, const char *kind, BurnTensor *const *tensors, size_t count) {
  char path[LINE + 64];
  for (size_t i = 0; i < count; i++) {
    snprintf(path, sizeof path, "%s/%s_%zu.npy", folder, kind, i);
    check(burn_npy_write(path, tensors[i]));
  }
}

static void write_inputs(const Bench *bench, const char *folder) {
  BurnTensor *inputs[MOST];
  for (size_t i = 0; i < bench->input_count; i++) inputs[i] = burn_clone(bench->inputs[i]);
  write_all(folder, "input", inputs, bench->input_count);
}

/* False for a line that is not a command. */
static bool obey(const Bench *bench, char *line) {
  line[strcspn(line, "\n")] = 0;
  char *space = strchr(line, ' ');
  const char *rest = space ? space + 1 : "";
  if (space) *space = 0;
  if (strcmp(line, "run") == 0) {
    printf("%.9g\n", seconds_of_run(bench, strtod(rest, NULL)));
  } else if (strcmp(line, "memory") == 0) {
    printf("%ld %ld\n", bench->idle, memory("VmHWM:"));
  } else if (strcmp(line, "inputs") == 0) {
    write_inputs(bench, rest);
    puts("ok");
  } else if (strcmp(line, "outputs") == 0) {
    BurnTensor *outputs[MOST];
    run_once(bench, outputs);
    write_all(rest, "output", outputs, bench->output_count);
    puts("ok");
  } else {
    fprintf(stderr, "onnx_bench: '%s' is none of inputs, outputs, run, memory\n", line);
    return false;
  }
  return fflush(stdout) == 0;
}

static bool load(Bench *bench, const char *path, const char *set) {
  BurnStatus status = BURN_OK;
  bench->idle = memory("VmRSS:");
  const double begin = seconds_now();
  bench->graph = burn_onnx_load(path, bench->device, &status);
  const double seconds = seconds_now() - begin;
  check(status);
  bench->input_count = burn_graph_input_count(bench->graph);
  bench->output_count = burn_graph_output_count(bench->graph);
  if (bench->input_count > MOST || bench->output_count > MOST) return false;
  for (size_t i = 0; i < bench->input_count; i++) {
    bench->inputs[i] = onnx_stored(bench->device, set, "input", i);
    if (bench->inputs[i]) continue;
    fprintf(stderr, "onnx_bench: %s has no input_%zu.npy and no input_%zu.pb\n", set, i, i);
    return false;
  }
  printf("loaded %.9g %zu\n", seconds, burn_graph_stats(bench->graph).nodes);
  return fflush(stdout) == 0;
}

int main(int argc, char **argv) {
  const char *set = ".", *backend = "ndarray", *positions[1] = {NULL};
  const Argument arguments[] = {{"set", ARGUMENT_TEXT, &set, "FOLDER", "of the stored inputs"},
                                {"backend", ARGUMENT_TEXT, &backend, "STACK", "such as fusion<ndarray> (ndarray)"}};
  const int parsed = arguments_parse(argc, argv, "usage: onnx_bench MODEL.onnx [options]", arguments,
                                     sizeof arguments / sizeof arguments[0], positions, 1);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  if (!positions[0]) {
    fprintf(stderr, "onnx_bench: which model? onnx_bench --help tells more\n");
    return 2;
  }
  Bench bench = {.device = burn_device_open(backend)};
  check(burn_device_status(bench.device));
  bool good = load(&bench, positions[0], set);
  char line[LINE];
  while (good && fgets(line, sizeof line, stdin)) good = obey(&bench, line);
  for (size_t i = 0; i < MOST; i++) burn_drop(bench.inputs[i]);
  burn_graph_release(bench.graph);
  burn_device_close(bench.device);
  return good ? 0 : 1;
}
