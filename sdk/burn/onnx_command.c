/* onnx_command.c - burn onnx: what an ONNX model holds, and what it gives for arrays in files. */
#include "command.h"

#include <burn/file.h>
#include <burn/numpy.h>
#include <burn/onnx.h>
#include <burn/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INPUTS = 16, MAX_TEXT = 1 << 28 };

static int fail(BurnStatus status) { return command_fail("onnx", status); }

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

/* -- strings ----------------------------------------------------------------------------------- */

/* Ends the lines of a text with zeros, and lists them; their number. */
static size_t split_lines(char *text, const char **lines) {
  size_t count = 0;
  while (*text) {
    lines[count++] = text;
    text += strcspn(text, "\n");
    if (*text) *text++ = 0;
  }
  return count;
}

/* The shape of an input with so many strings: its last axis of any size has what is left by the others. */
static BurnStatus shape_of_lines(const BurnGraphValue *input, size_t count, BurnShape *shape) {
  uint32_t open = BURN_MAX_RANK;
  size_t others = 1;
  *shape = (BurnShape){.rank = input->rank ? input->rank : 1, .dims = {input->has_shape ? 1 : -1}};
  for (uint32_t i = 0; i < input->rank; i++) shape->dims[i] = input->dims[i];
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (shape->dims[i] < 0) open = i;
  }
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (i == open) continue;
    if (shape->dims[i] < 0) shape->dims[i] = 1;
    others = shape->dims[i] > 0 && others <= MAX_TEXT ? others * (size_t)shape->dims[i] : 0;
  }
  if (open < BURN_MAX_RANK && others > 0) shape->dims[open] = (int64_t)(count / others);
  if (others > 0 && count % others == 0 && (open < BURN_MAX_RANK || count == others)) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "input '%s': %zu lines do not fill its shape", input->name,
                          count);
}

/* The lines of a text file as the strings of an input. */
static BurnStatus set_lines(BurnGraph *graph, const BurnGraphValue *input, const char *path) {
  uint8_t *bytes = NULL;
  size_t size = 0, count = 0;
  BurnShape shape = {0};
  BurnStatus status = burn_file_read(path, MAX_TEXT, &bytes, &size);
  char *text = status == BURN_OK ? realloc(bytes, size + 1) : NULL;
  if (text) text[size] = 0;
  if (text && strlen(text) != size)
    status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: it is not text: there is a zero byte in it", path);
  const char **lines = text ? calloc(size + 1, sizeof *lines) : NULL;
  if (status == BURN_OK && !lines)
    status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the lines of %s", path);
  if (status == BURN_OK) count = split_lines(text, lines);
  if (status == BURN_OK) status = shape_of_lines(input, count, &shape);
  if (status == BURN_OK) status = burn_graph_set_strings(graph, input->name, lines, shape);
  free(lines);
  free(text ? text : (char *)bytes);
  return status;
}

static void print_strings(const BurnGraph *graph, const char *name) {
  BurnShape shape = {0};
  const char *const *strings = burn_graph_strings(graph, name, &shape);
  size_t count = strings != NULL;
  for (uint32_t i = 0; i < shape.rank; i++) count *= (size_t)shape.dims[i];
  printf("strings %s\n", burn_shape_text(shape).text);
  for (size_t i = 0; i < count; i++) puts(strings[i]);
}

/* -- outputs ----------------------------------------------------------------------------------- */

/* An archive of arrays has no strings. */
static BurnStatus write_outputs(const char *out, const char *const *names, BurnTensor *const *outputs, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (outputs[i]) continue;
    drop_all(outputs, count);
    return burn_status_make(BURN_STATUS_UNIMPLEMENTED, "output '%s' has strings, which %s cannot hold; print them",
                            names[i], out);
  }
  return burn_npz_write(out, names, outputs, count, false);
}

/* A name that a file gives may have bytes that a terminal obeys, or lines of its own. */
static void print_name(const char *name) {
  char clean[256];
  (void)snprintf(clean, sizeof clean, "%s", name);
  printf("%s:\n", burn_text_clean_name(clean));
}

/* The outputs, which are taken, printed or written. */
static BurnStatus give(const BurnGraph *graph, BurnTensor *const *outputs, size_t count, const char *out) {
  const char **names = calloc(count + 1, sizeof *names);
  BurnStatus status = BURN_OK;
  if (!names) status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the names of %zu outputs", count);
  for (size_t i = 0; names && i < count; i++) names[i] = burn_graph_output(graph, i).name;
  if (names && out) {
    status = write_outputs(out, names, outputs, count);
  } else {
    for (size_t i = 0; names && i < count && status == BURN_OK; i++) {
      print_name(names[i]);
      if (outputs[i]) status = burn_print_or_fail(stdout, burn_clone(outputs[i]));
      if (!outputs[i]) print_strings(graph, names[i]);
      status = burn_status_annotate(status, "output '%.120s'", names[i]);
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
    const BurnGraphValue input = burn_graph_input(graph, i);
    if (input.strings && status == BURN_OK) status = set_lines(graph, &input, files[i]);
    if (input.strings) continue;
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

static int run(const char *path, const char *const *files, const char *stack, const char *out, bool overwrite) {
  BurnStatus status = out ? burn_status_annotate(burn_file_check_new(out, overwrite), "%s", out) : BURN_OK;
  size_t count = 0;
  if (status != BURN_OK) return fail(status); /* before the work, not after it */
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
      "on arrays of .npy files, in the order of its inputs, and prints its outputs or writes them as one .npz file. "
      "An\n"
      "input of strings takes a text file with one of them in each line.";
  const char *positions[MAX_INPUTS + 3] = {NULL};
  const char *stack = NULL, *out = NULL;
  bool json = false, overwrite = false;
  const Argument arguments[] = {
      {"backend", ARGUMENT_TEXT, &stack, "STACK", "run: the stack; default: $BURN_BACKEND, else the best there is"},
      {"out", ARGUMENT_TEXT, &out, "FILE", "run: write the outputs by their names to this .npz file"},
      {"overwrite", ARGUMENT_FLAG, &overwrite, NULL, "run: FILE may exist"},
      {"json", ARGUMENT_FLAG, &json, NULL, "info: one JSON document"}};
  int status;
  if (!command_parse(argc, argv, usage, arguments, sizeof arguments / sizeof *arguments, positions, MAX_INPUTS + 2,
                     &status))
    return status;
  const bool is_info = positions[0] && strcmp(positions[0], "info") == 0;
  if (positions[1] && is_info && !positions[2]) return info(positions[1], json);
  if (positions[1] && positions[0] && strcmp(positions[0], "run") == 0)
    return run(positions[1], positions + 2, stack, out, overwrite);
  fprintf(stderr, "burn onnx: it is 'info MODEL' or 'run MODEL INPUT.npy ..'; 'burn onnx --help' tells more\n");
  return COMMAND_USAGE;
}
