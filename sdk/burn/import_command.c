/* import_command.c - burn import: an ONNX model as C. */
#include "command.h"
#include "system.h"

#include <burn/onnx_generate.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(BurnStatus status) { return command_fail("import", status); }

static void show_progress(void *context, size_t done, size_t total) {
  (void)context;
  fprintf(stderr, "\r%zu of %zu nodes", done, total);
  fflush(stderr);
}

static int say(const BurnGenerateReport *report, const char *folder, bool json) {
  if (json) {
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddStringToObject(tree, "name", report->name);
    cJSON_AddStringToObject(tree, "folder", folder);
    cJSON_AddNumberToObject(tree, "nodes", (double)report->steps);
    cJSON_AddNumberToObject(tree, "layers", (double)report->layers);
    cJSON_AddNumberToObject(tree, "tensors", (double)report->tensors);
    cJSON_AddNumberToObject(tree, "branches", (double)report->specialized);
    return command_print_json(tree);
  }
  printf("%s: %zu nodes and %zu layers in %s, %zu tensors\n", report->name, report->steps, report->layers, folder,
         report->tensors);
  if (report->specialized > 0) printf("%zu branches of If were decided by shapes\n", report->specialized);
  return COMMAND_OK;
}

static int generate(const char *path, const char *folder, const char *stack, const BurnGenerateOptions *options,
                    bool json) {
  BurnGenerateReport report;
  const bool is_new = system_make_folder(folder);
  if (!is_new && errno != EEXIST) {
    fprintf(stderr, "burn import: folder %s: %s\n", folder, strerror(errno));
    return COMMAND_FAILED;
  }
  BurnDevice *device = burn_device_open(stack);
  const BurnStatus status = burn_onnx_generate(path, folder, device, options, &report);
  if (options->progress) fputc('\n', stderr);
  const int outcome = status == BURN_OK ? say(&report, folder, json) : fail(status);
  if (status != BURN_OK && is_new) (void)remove(folder); /* empty, as it was made */
  burn_device_close(device);
  return outcome;
}

int command_import(int argc, char **argv) {
  static const char usage[] =
      "usage: burn import MODEL.onnx --out DIR [options]\n\n"
      "Writes an ONNX model as C: a module with named layers, its forward pass, its weights (.bpk), a program that\n"
      "runs it and a CMakeLists.txt. The same model gives the same bytes. What cannot be written is told in one\n"
      "message, with nodes and counts.";
  const char *positions[2] = {NULL};
  const char *stack = "ndarray", *out = NULL;
  BurnGenerateOptions options = {0};
  bool json = false, overwrite = false, progress = false;
  const Argument arguments[] = {
      {"out", ARGUMENT_TEXT, &out, "DIR", "the folder, which is made if there is none"},
      {"name", ARGUMENT_TEXT, &options.name, "NAME", "of the module; default: that of the file"},
      {"sizes", ARGUMENT_TEXT, &options.sizes, "LIST",
       "axes that get one size, inputs of one number that get a value: batch=1,length=576"},
      {"backend", ARGUMENT_TEXT, &stack, "STACK", "where the model is tried while it is written; default: ndarray"},
      {"overwrite", ARGUMENT_FLAG, &overwrite, NULL, "files in DIR may exist"},
      {"progress", ARGUMENT_FLAG, &progress, NULL, "say on stderr how far the work is"},
      {"json", ARGUMENT_FLAG, &json, NULL, "one JSON document"}};
  int status;
  if (!command_parse(argc, argv, usage, arguments, sizeof arguments / sizeof *arguments, positions, 1, &status))
    return status;
  if (!positions[0] || !out) {
    fprintf(stderr, "burn import: it is 'MODEL.onnx --out DIR'; 'burn import --help' tells more\n");
    return COMMAND_USAGE;
  }
  options.overwrite = overwrite;
  if (progress) options.progress = show_progress;
  return generate(positions[0], out, stack, &options, json);
}
