/* onnx_models_test.c - whole models against the outputs stored beside them, on the stack in BURN_BACKEND (default
 * ndarray): as the file has them, and with all passes.
 *
 *   onnx_models_test FOLDER SET TOLERANCE [NAME ..]
 *   onnx_models_test --export FILE FOLDER SET TOLERANCE [NAME ..]     exported to FILE, and what that file says
 *
 * FOLDER holds a folder per model with model.onnx and SET/input_<i> and SET/output_<i>, .npy or .pb; without names all
 * of FOLDER. An output fails where it is further from the stored one than TOLERANCE, and TOLERANCE times it. */
#include <burn/burn.h>
#include <burn/onnx_export.h>

#include "onnx_stored.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16, SKIPPED = 77, PATH = 1024 };

static bool run_set(BurnGraph *graph, BurnDevice *device, const char *name, const char *set, double tolerance) {
  BurnTensor *inputs[MOST] = {NULL}, *outputs[MOST] = {NULL};
  const size_t wanted = burn_graph_input_count(graph), given = burn_graph_output_count(graph);
  if (wanted > MOST || given > MOST) return false;
  for (size_t i = 0; i < wanted; i++) inputs[i] = onnx_stored(device, set, "input", i);
  BurnStatus status = burn_graph_run(graph, inputs, wanted, outputs, given);
  if (status != BURN_OK) {
    printf("FAILED %s: %s\n", name, burn_status_message(status));
    return false;
  }
  bool same = true;
  for (size_t i = 0; i < given; i++) {
    BurnTensor *expected = onnx_stored(device, set, "output", i);
    if (!expected) {
      printf("FAILED %s: no stored output %zu\n", name, i);
      burn_drop(outputs[i]);
      same = false;
      continue;
    }
    same = onnx_stored_equal(name, i, outputs[i], expected, tolerance) && same;
  }
  return same;
}

/* The model that the graph becomes when it is exported, with the stored inputs as the example. */
static BurnGraph *exported(const BurnGraph *graph, BurnDevice *device, const char *file, const char *set,
                           BurnStatus *status) {
  BurnTensor *inputs[MOST] = {NULL};
  const size_t count = burn_graph_input_count(graph);
  const BurnOnnxSave options = {.overwrite = true};
  for (size_t i = 0; i < count && i < MOST; i++) inputs[i] = onnx_stored(device, set, "input", i);
  *status = burn_onnx_save_graph(file, graph, inputs, count, &options);
  return *status == BURN_OK ? burn_onnx_load(file, device, status) : NULL;
}

static bool run_exported(BurnDevice *device, const char *path, const char *name, const char *set, double tolerance,
                         const char *file) {
  BurnStatus status = BURN_OK;
  const BurnGraphOptions options = {.weights = BURN_GRAPH_WEIGHTS_KEPT};
  BurnGraph *graph = burn_onnx_load_with(path, device, &options, &status);
  BurnGraph *copy = graph ? exported(graph, device, file, set, &status) : NULL;
  const bool same = copy && run_set(copy, device, name, set, tolerance);
  if (!copy) printf("FAILED %s: %s\n", name, burn_status_message(status));
  burn_graph_release(graph);
  burn_graph_release(copy);
  return same;
}

static const char *export_file; /* NULL: models run as they are */

static bool run_model(BurnDevice *device, const char *folder, const char *name, const char *set, double tolerance) {
  char path[PATH], stored[PATH];
  bool same = true;
  snprintf(path, sizeof path, "%s/%s/model.onnx", folder, name);
  snprintf(stored, sizeof stored, "%s/%s/%s", folder, name, set);
  if (export_file) return run_exported(device, path, name, stored, tolerance, export_file);
  for (int plain = 0; plain < 2 && same; plain++) {
    BurnStatus status = BURN_OK;
    const BurnGraphOptions options = {.no_passes = plain};
    BurnGraph *graph = burn_onnx_load_with(path, device, &options, &status);
    if (!graph) {
      printf("FAILED %s: %s\n", name, burn_status_message(status));
      return false;
    }
    same = run_set(graph, device, name, stored, tolerance);
    burn_graph_release(graph);
  }
  return same;
}

static int run_folder(BurnDevice *device, const char *folder, const char *set, double tolerance, int *count) {
  int failed = 0;
  DIR *list = opendir(folder);
  for (struct dirent *entry = list ? readdir(list) : NULL; entry; entry = readdir(list)) {
    char path[PATH];
    snprintf(path, sizeof path, "%s/%s/model.onnx", folder, entry->d_name);
    FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
    if (!file) continue;
    fclose(file);
    ++*count;
    failed += !run_model(device, folder, entry->d_name, set, tolerance);
  }
  if (list) closedir(list);
  return failed;
}

int main(int argc, char **argv) {
  const char *stack = getenv("BURN_BACKEND");
  if (argc > 2 && strcmp(argv[1], "--export") == 0) {
    export_file = argv[2];
    argv += 2;
    argc -= 2;
  }
  if (argc < 4) {
    printf("usage: onnx_models_test [--export FILE] FOLDER SET TOLERANCE [NAME ..]\n");
    return 1;
  }
  BurnDevice *device = burn_device_open(stack && stack[0] ? stack : "ndarray");
  const double tolerance = strtod(argv[3], NULL);
  int count = argc - 4, failed = 0;
  if (burn_device_status(device) != BURN_OK) {
    printf("%s\n", burn_status_message(burn_device_status(device)));
    burn_device_close(device);
    return 1;
  }
  DIR *models = opendir(argv[1]);
  if (!models) {
    printf("skipped: no models in %s\n", argv[1]);
    burn_device_close(device);
    return SKIPPED;
  }
  closedir(models);
  for (int i = 4; i < argc; i++) failed += !run_model(device, argv[1], argv[i], argv[2], tolerance);
  if (argc == 4) failed = run_folder(device, argv[1], argv[2], tolerance, &count);
  printf("%d models, %d failed\n", count, failed);
  burn_device_close(device);
  return count == 0 || failed > 0;
}
