/* run_command.c - burn run: inference on an artifact folder, by the library of its model (train/model_library.h). */
#define _POSIX_C_SOURCE 200809L
#include "command.h"
#include "run.h"
#include "system.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Options {
  const char *model, *backend, *artifact;
  size_t batch_size;
  bool json, csv;
} Options;

typedef struct Run {
  const Options *options;
  int format;
  void *file; /* of dlopen */
  const BurnModelLibrary *library;
  BurnDevice *device;
  void *model;
  size_t done, width; /* items; numbers of an item's output */
  double *values;     /* of a batch */
  size_t room;
  bool watched; /* stderr is a terminal */
} Run;

/* -- the library ------------------------------------------------------------------------------ */

/* What the table lacks or contradicts; NULL if nothing. */
static const char *problem_of(const BurnModelLibrary *library) {
  if (!library || library->bytes < sizeof *library) return "it gives no table of this version";
  if (!library->name || !library->load || !library->forward || !library->destroy)
    return "name or functions are missing";
  if (library->input.rank > BURN_MAX_RANK - 1) return "its input has too many dimensions";
  for (uint32_t i = 0; i < library->input.rank; i++)
    if (library->input.dims[i] < 1 || library->input.dims[i] > INT32_MAX) return "its input has no possible shape";
  return library->class_count && !library->classes ? "names of classes are missing" : NULL;
}

static BurnStatus open_library(Run *run) {
  const char *path = run->options->model;
  char beside[4096]; /* dlopen searches for a name without a slash elsewhere */
  (void)snprintf(beside, sizeof beside, "%s%.4000s", strchr(path, '/') ? "" : "./", path);
  run->file = dlopen(beside, RTLD_NOW | RTLD_LOCAL);
  if (!run->file) return burn_status_make(BURN_STATUS_NOT_FOUND, "--model: %s", dlerror());
  BurnModelLibraryEntry entry = NULL;
  *(void **)&entry = dlsym(run->file, BURN_MODEL_LIBRARY_SYMBOL); /* POSIX: void * holds functions, too */
  if (!entry) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "--model: %s is not a library of a model: it does not have " BURN_MODEL_LIBRARY_SYMBOL
                            " (burn/train/model_library.h)",
                            path);
  }
  run->library = entry();
  const char *problem = problem_of(run->library);
  return problem ? burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "--model: %s: %s", path, problem) : BURN_OK;
}

static BurnStatus load(Run *run) {
  BurnStatus status = open_library(run);
  if (status != BURN_OK) return status;
  run->device = burn_device_open(run->options->backend);
  status = burn_device_status(run->device);
  if (status != BURN_OK) return status;
  return burn_status_annotate(run->library->load(run->options->artifact, run->device, &run->model), "%s",
                              run->options->artifact);
}

static void end(Run *run) {
  if (run->model) run->library->destroy(run->model);
  burn_device_close(run->device);
  if (run->file) (void)dlclose(run->file);
  free(run->values);
}

/* -- a batch ---------------------------------------------------------------------------------- */

/* The output of `count` items as [count, width]. */
static BurnStatus read_output(Run *run, BurnTensor *output, size_t count) {
  BurnStatus status = burn_tensor_status(output);
  const BurnShape shape = burn_shape(output);
  const size_t elements = status == BURN_OK ? (size_t)burn_element_count(output) : 0;
  if (status == BURN_OK && (shape.rank < 1 || shape.dims[0] != (int64_t)count || elements == 0)) {
    status = burn_status_make(BURN_STATUS_INVALID_SHAPE, "%s gives %s for %zu items; the first axis is that of items",
                              run->library->name, burn_shape_text(shape).text, count);
  }
  const size_t classes = run->library->class_count;
  if (status == BURN_OK && classes && elements != count * classes) {
    status = burn_status_make(BURN_STATUS_INVALID_SHAPE, "%s gives %s for %zu items of %zu classes", run->library->name,
                              burn_shape_text(shape).text, count, classes);
  }
  if (status == BURN_OK && elements > run->room) {
    free(run->values);
    run->values = malloc(elements * sizeof *run->values);
    run->room = run->values ? elements : 0;
    if (!run->values) status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu numbers", elements);
  }
  if (status != BURN_OK) {
    burn_drop(output);
    return status;
  }
  run->width = elements / count;
  return burn_read_f64(classes ? burn_softmax(output, (int)shape.rank - 1) : output, run->values, elements);
}

static BurnTensor *as_taken(BurnTensor *inputs) {
  if (burn_tensor_status(inputs) != BURN_OK) return inputs;
  return burn_dtype_kind(burn_dtype(inputs)) == BURN_KIND_FLOAT ? burn_float(inputs) : burn_int(inputs);
}

static void tell_progress(const Run *run, size_t all) {
  if (run->watched) fprintf(stderr, "\r%zu of %zu items", run->done, all);
}

static BurnStatus run_batch(Run *run, const RunInputs *inputs, BurnBatch *batch, size_t first) {
  BurnTensor *taken = as_taken(burn_batch_take(batch, batch->names[0]));
  const size_t count = batch->item_count;
  BurnStatus status = read_output(run, run->library->forward(run->model, taken), count);
  if (status != BURN_OK) return status;
  if (run->done == 0) run_print_header(run->format, run->library, run->width);
  const RunOutput output = {run->library, inputs, run->values, first, count, run->width};
  run->done += count;
  return run_print(run->format, &output);
}

/* -- inputs ----------------------------------------------------------------------------------- */

static BurnStatus run_inputs(Run *run, const RunInputs *inputs) {
  const BurnLoaderConfig config = {.batch_size = run->options->batch_size, .workers = 1};
  BurnStatus status = BURN_OK;
  BurnLoader *loader = burn_loader_create(burn_dataset_clone(inputs->items), &config, &status);
  if (!loader) return status;
  const size_t all = run->done + burn_dataset_count(inputs->items);
  size_t first = 0;
  BurnBatches *batches = burn_loader_start(loader, run->device, 1, 0);
  for (BurnBatch batch; status == BURN_OK && burn_batches_next(batches, &batch); first += batch.item_count) {
    status = run_batch(run, inputs, &batch, first);
    tell_progress(run, all);
  }
  if (run->watched) fputc('\n', stderr);
  const BurnStatus stopped = burn_batches_stop(batches);
  burn_loader_destroy(loader);
  return status == BURN_OK ? stopped : status;
}

static BurnStatus run_all(Run *run, const char *const *paths, size_t count) {
  BurnStatus status = load(run);
  const double begin = system_seconds();
  for (size_t i = 0; i < count && status == BURN_OK;) {
    RunInputs inputs;
    i += run_inputs_read(run->library, paths + i, count - i, &inputs, &status);
    if (status == BURN_OK) status = run_inputs(run, &inputs);
    run_inputs_release(&inputs);
  }
  if (status != BURN_OK) return status;
  (void)fflush(stdout);
  fprintf(stderr, "%zu items in %.2f s on %s\n", run->done, system_seconds() - begin, burn_device_name(run->device));
  return BURN_OK;
}

/* -- the command ------------------------------------------------------------------------------ */

static const char *mistake_in(const Options *options, size_t inputs) {
  if (!options->artifact) return "an artifact folder is missing";
  if (!inputs) return "there is no input";
  if (!options->model) return "the library of the model is missing: --model FILE.so";
  if (options->batch_size < 1) return "--batch-size is at least 1";
  return options->json && options->csv ? "it is --json or --csv" : NULL;
}

static int start(const Options *options, const char *const *paths, size_t count) {
  Run run = {.options = options,
             .format = options->json  ? RUN_JSON
                       : options->csv ? RUN_CSV
                                      : RUN_TABLE,
             .watched = isatty(STDERR_FILENO)};
  const BurnStatus status = run_all(&run, paths, count);
  (void)fflush(stdout);
  if (status != BURN_OK) (void)command_fail("run", status);
  end(&run);
  return status == BURN_OK ? COMMAND_OK : COMMAND_FAILED;
}

int command_run(int argc, char **argv) {
  static const char usage[] =
      "usage: burn run --model FILE.so ARTIFACT INPUT... [options]\n\n"
      "Runs a trained model on inputs, in batches: pictures (.png, .jpg, .pgm, .ppm), folders of them with a folder\n"
      "for each class, and arrays of items (.npy). ARTIFACT is what the training has left: config.json and the\n"
      "weights. FILE.so is the code of the model as a library (burn/train/model_library.h); 'burn new app' and the\n"
      "example mnist make one. It runs with all rights of this program, so give only one that you trust.";
  Options options = {.batch_size = 32};
  const Argument arguments[] = {
      {"model", ARGUMENT_TEXT, &options.model, "FILE.so", "the library of the model"},
      {"batch-size", ARGUMENT_SIZE, &options.batch_size, "N", "items at once"},
      {"backend", ARGUMENT_TEXT, &options.backend, "STACK", "such as ndarray; default: BURN_BACKEND or the best"},
      {"json", ARGUMENT_FLAG, &options.json, NULL, "a JSON object per item and line"},
      {"csv", ARGUMENT_FLAG, &options.csv, NULL, "a table of comma-separated values, with a header"}};
  const char **paths = calloc((size_t)argc + 1, sizeof *paths);
  int exit_status = COMMAND_FAILED;
  if (!paths) {
    fprintf(stderr, "burn run: out of memory\n");
  } else if (command_parse(argc, argv, usage, arguments, sizeof arguments / sizeof *arguments, paths, (size_t)argc,
                           &exit_status)) {
    size_t count = 0;
    while (paths[count]) count++;
    options.artifact = paths[0];
    const char *mistake = mistake_in(&options, count > 0 ? count - 1 : 0);
    if (mistake) fprintf(stderr, "burn run: %s; 'burn run --help' tells more\n", mistake);
    exit_status = mistake ? COMMAND_USAGE : start(&options, paths + 1, count - 1);
  }
  free((void *)paths);
  return exit_status;
}
