/* onnx_command.c - burn onnx: what an ONNX model holds, and what it gives for arrays in files. */
#include "command.h"

#include <burn/numpy.h>
#include <burn/onnx.h>
#include <burn/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INPUTS = 16 };

static int fail(BurnStatus status) {
  char message[2048];
  (void)snprintf(message, sizeof message, "%s", burn_status_message(status));
  fprintf(stderr, "burn onnx: %s\n", burn_text_clean(message));
  return COMMAND_FAILED;
}

static int info(const char *path, bool json) {
  BurnStatus status = BURN_OK;
  char *text = burn_onnx_info(path, json, &status);
  if (!text) return fail(status);
  puts(text);
  free(text);
  return COMMAND_OK;
}

static void drop_all(BurnTensor *const *tensors, size_t count) {
  for (size_t i = 0; i < count; i++) burn_drop(tensors[i]);
}

/* The outputs, which are taken, printed or written. */
static BurnStatus give(const BurnGraph *graph, BurnTensor *const *outputs, size_t count, const char *out) {
  const char **names = calloc(count + 1, sizeof *names);
  BurnStatus status = BURN_OK;
  if (!names) status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the names of %zu outputs", count);
  for (size_t i = 0; names && i < count; i++) names[i] = burn_graph_output(graph, i).name;
  if (names && out) {
    status = burn_npz_write(out, names, outputs, count, false);
  } else {
    for (size_t i = 0; names && i < count; i++) {
      printf("%s:\n", names[i]);
      burn_print(burn_clone(outputs[i]));
    }
    drop_all(outputs, count);
  }
  free(names);
  return status;
}

static BurnStatus run_graph(BurnGraph *graph, BurnDevice *device, const char *const *files, size_t count,
                            const char *out) {
  BurnTensor *inputs[MAX_INPUTS] = {NULL};
  const size_t output_count = burn_graph_output_count(graph);
  BurnTensor **outputs = calloc(output_count + 1, sizeof(BurnTensor *));
  if (!outputs) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu outputs", output_count);
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < count; i++) {
    inputs[i] = burn_npy_read(device, files[i]);
    if (status == BURN_OK) status = burn_tensor_status(inputs[i]);
  }
  if (status == BURN_OK)
    status = burn_graph_run(graph, inputs, count, outputs, output_count);
  else
    drop_all(inputs, count);
  if (status == BURN_OK) status = give(graph, outputs, output_count, out);
  free(outputs);
  return status;
}

static int run(const char *path, const char *const *files, const char *stack, const char *out) {
  BurnStatus status = BURN_OK;
  size_t count = 0;
  while (count < MAX_INPUTS && files[count]) count++;
  BurnDevice *device = burn_device_open(stack);
  BurnGraph *graph = burn_onnx_load(path, device, &status);
  if (graph) status = run_graph(graph, device, files, count, out);
  burn_graph_release(graph);
  const int outcome = status == BURN_OK ? COMMAND_OK : fail(status);
  burn_device_close(device);
  return outcome;
}

int command_onnx(int argc, char **argv) {
  static const char usage[] =
      "usage: burn onnx info MODEL [--json]\n"
      "       burn onnx run MODEL INPUT.npy .. [options]\n\n"
      "Shows the inputs, outputs, opsets and operators of an ONNX model, and which of them are not supported; or runs "
      "it\n"
      "on arrays of .npy files, in the order of its inputs, and prints its outputs or writes them as one .npz file.";
  const char *positions[MAX_INPUTS + 3] = {NULL};
  const char *stack = NULL, *out = NULL;
  bool json = false;
  const Argument arguments[] = {
      {"backend", ARGUMENT_TEXT, &stack, "STACK", "run: the stack; default: $BURN_BACKEND, else the best there is"},
      {"out", ARGUMENT_TEXT, &out, "FILE", "run: write the outputs by their names to this .npz file"},
      {"json", ARGUMENT_FLAG, &json, NULL, "info: one JSON document"}};
  int status;
  if (!command_parse(argc, argv, usage, arguments, sizeof arguments / sizeof *arguments, positions, MAX_INPUTS + 2,
                     &status))
    return status;
  const bool is_info = positions[0] && strcmp(positions[0], "info") == 0;
  if (positions[1] && is_info && !positions[2]) return info(positions[1], json);
  if (positions[1] && positions[0] && strcmp(positions[0], "run") == 0)
    return run(positions[1], positions + 2, stack, out);
  fprintf(stderr, "burn onnx: it is 'info MODEL' or 'run MODEL INPUT.npy ..'; 'burn onnx --help' tells more\n");
  return COMMAND_USAGE;
}
