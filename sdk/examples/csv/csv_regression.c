/* csv_regression.c - a number is told from the others in its row of a CSV file.
 *
 *   csv                          write a table of flats, learn their prices
 *   csv --data FILE --first NAME --features N --target NAME
 *                                learn from a table of yours
 *   csv infer --data FILE        what was saved, on the rows of a file
 *
 * The features are N columns beside each other, from the one called NAME on.
 * They and the target are normalised by mean and deviation of the training
 * rows, which are buffers of the model: so they are saved with it, and a
 * program that infers gives it the numbers of the file as they are. */
#define _POSIX_C_SOURCE 200809L
#include "houses.h"

#include "../common/commands.h"
#include "../common/result.h"

#include <burn/file.h>
#include <burn/nn.h>
#include <burn/train.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* -- normalisation --------------------------------------------------------- */

#define NORMALIZER_FIELDS(X)                 \
  X(BurnBuffer, mean, "[n], of each column") \
  X(BurnBuffer, deviation, "[n]")
BURN_MODULE(Normalizer, NORMALIZER_FIELDS);

static Normalizer normalizer_init(size_t columns, BurnDevice *device) {
  const BurnShape shape = BURN_SHAPE((int64_t)columns);
  return (Normalizer){
      .mean = burn_buffer(burn_zeros(device, shape, BURN_DTYPE_F32)),
      .deviation = burn_buffer(burn_ones(device, shape, BURN_DTYPE_F32)),
  };
}

/* takes rows x [n, columns]; a column that never changes is divided by 1 */
static void normalizer_fit(const Normalizer *m, BurnTensor *x) {
  BurnTensor *mean = burn_mean_dim(burn_clone(x), 0);
  BurnTensor *deviation = burn_sqrt(burn_var(x, 0));
  BurnTensor *constant = burn_equal_scalar(burn_clone(deviation), 0);
  deviation = burn_add(deviation, burn_float(constant));
  burn_buffer_set(&m->mean, burn_squeeze_dim(mean, 0));
  burn_buffer_set(&m->deviation, burn_squeeze_dim(deviation, 0));
}

/* takes x [n, columns], and back */
static BurnTensor *normalize(const Normalizer *m, BurnTensor *x) {
  x = burn_sub(x, burn_unsqueeze_dim(burn_buffer_value(&m->mean), 0));
  return burn_div(x, burn_unsqueeze_dim(burn_buffer_value(&m->deviation), 0));
}
static BurnTensor *denormalize(const Normalizer *m, BurnTensor *x) {
  x = burn_mul(x, burn_unsqueeze_dim(burn_buffer_value(&m->deviation), 0));
  return burn_add(x, burn_unsqueeze_dim(burn_buffer_value(&m->mean), 0));
}

/* -- model ----------------------------------------------------------------- */

#define MODEL_CONFIG(REQ, OPT)                                     \
  REQ(BurnSize, features, "columns")                               \
  OPT(BurnSize, hidden, 64, "width of the hidden layers")          \
  OPT(BurnText, first, {HOUSE_FIRST}, "name of the first feature") \
  OPT(BurnText, target, {HOUSE_TARGET}, "name of what they tell")  \
  OPT(BurnText, delimiter, {","}, "between the fields of the file")
BURN_CONFIG(ModelConfig, MODEL_CONFIG);

#define MODEL_FIELDS(X)                    \
  X(Normalizer, inputs, "of the features") \
  X(Normalizer, outputs, "of the target")  \
  X(BurnLinear, fc1, "features -> hidden") \
  X(BurnLinear, fc2, "hidden -> hidden")   \
  X(BurnLinear, fc3, "hidden -> 1")
BURN_MODULE(Model, MODEL_FIELDS);

static Model model_init(const ModelConfig *config, BurnDevice *device) {
  const size_t hidden = config->hidden;
  return (Model){.inputs = normalizer_init(config->features, device),
                 .outputs = normalizer_init(1, device),
                 .fc1 = burn_linear_new(config->features, hidden, device),
                 .fc2 = burn_linear_new(hidden, hidden, device),
                 .fc3 = burn_linear_new(hidden, 1, device)};
}

/* takes features [n, features] as they are in the file -> the target,
 * normalised [n, 1] */
static BurnTensor *model_forward(const Model *m, BurnTensor *x) {
  x = normalize(&m->inputs, x);
  x = burn_gelu(burn_linear_forward(&m->fc1, x));
  x = burn_gelu(burn_linear_forward(&m->fc2, x));
  return burn_linear_forward(&m->fc3, x);
}

/* A column of a batch as f32 [n, columns]. */
static BurnTensor *take(BurnBatch *batch, const BurnText *name) {
  BurnTensor *x = burn_float(burn_batch_take(batch, name->text));
  return burn_rank(x) == 1 ? burn_unsqueeze_dim(x, 1) : x;
}

/* The context is the config. Output and targets are in the target's units. */
static BurnStepOutput model_step(void *context, const void *model,
                                 BurnBatch *batch) {
  const ModelConfig *config = context;
  const Model *m = model;
  const BurnMseLoss mse = burn_mse_loss_init();
  BurnTensor *truth = take(batch, &config->target);
  BurnTensor *guess = model_forward(m, take(batch, &config->first));
  BurnTensor *loss = burn_mse_loss_forward(
      &mse, burn_clone(guess), normalize(&m->outputs, burn_clone(truth)),
      BURN_REDUCTION_MEAN);
  return burn_regression_output(loss, denormalize(&m->outputs, guess), truth);
}

/* -- a metric of one's own ------------------------------------------------- */

/* Root mean squared error: the sum of squares is made on the device; only at
 * the end, of the sum over an epoch, the root. */
static BurnMeasured measure_rmse(const void *config,
                                 const BurnMetricInput *input) {
  (void)config;
  BurnTensor *guess = burn_step_get(input->output, "output");
  BurnTensor *truth = burn_step_get(input->output, "targets");
  BurnTensor *error = burn_sub(burn_clone(guess), burn_clone(truth));
  error = burn_mul(burn_clone(error), error);
  return (BurnMeasured){.numbers = burn_sum(error),
                        .weight = (double)input->items};
}

static double rmse(const void *config, const double *numbers, size_t count,
                   double weight) {
  (void)config, (void)count;
  return sqrt(numbers[0] / weight);
}

static const BurnMetricInterface rmse_metric = {.name = "RMSE",
                                                .unit = "",
                                                .scale = 1,
                                                .measure = measure_rmse,
                                                .value = rmse};

/* -- data ------------------------------------------------------------------ */

static BurnDataset *read_table(const ModelConfig *config, const char *path,
                               BurnStatus *status) {
  const BurnColumn columns[] = {
      {config->first.text, BURN_DTYPE_F32,
       BURN_SHAPE((int64_t)config->features)},
      {config->target.text, BURN_DTYPE_F32, {0, {0}}}};
  const BurnCsvConfig csv = {.delimiter = config->delimiter.text[0]};
  return burn_dataset_csv(path, columns, 2, &csv, status);
}

/* All rows of a loader with one batch: the normalisers learn from them. */
static BurnStatus fit_normalizers(const ModelConfig *config, Model *m,
                                  BurnDataset *rows, BurnDevice *device) {
  const BurnLoaderConfig all = {.batch_size = burn_dataset_count(rows)};
  BurnStatus status = BURN_OK;
  BurnLoader *loader =
      burn_loader_create(burn_dataset_clone(rows), &all, &status);
  if (status != BURN_OK) return status;
  BurnBatches *batches = burn_loader_start(loader, device, 1, 0);
  BurnBatch batch;
  if (burn_batches_next(batches, &batch)) {
    normalizer_fit(&m->inputs, take(&batch, &config->first));
    normalizer_fit(&m->outputs, take(&batch, &config->target));
  }
  status = burn_batches_stop(batches);
  burn_loader_destroy(loader);
  return status;
}

/* -- training -------------------------------------------------------------- */

typedef struct Options {
  const char *data, *first, *target, *delimiter, *artifact, *backend;
  size_t features, hidden, rows, epochs, batch_size, seed, show;
  double learning_rate;
  bool json;
} Options;

typedef struct Run {
  ModelConfig config;
  Model model;
  BurnDataset *train, *valid;
  BurnLearnerResult result;
} Run;

/* Rows in a random order: four fifths to learn from. */
static BurnStatus read_rows(const Options *options, Run *run) {
  const ProgramPath houses = program_path(options->artifact, "houses.csv");
  const double shares[] = {0.8, 0.2};
  BurnDataset *parts[2] = {NULL, NULL};
  BurnStatus status = burn_folder_make(options->artifact);
  if (status == BURN_OK && !options->data) {
    status = houses_write(houses.text, options->rows, options->seed);
  }
  if (status != BURN_OK) return status;
  BurnDataset *rows = read_table(
      &run->config, options->data ? options->data : houses.text, &status);
  rows = burn_dataset_shuffle(rows, options->seed, &status);
  if (!burn_dataset_split(rows, shares, 2, parts, &status)) return status;
  run->train = parts[0], run->valid = parts[1];
  if (burn_dataset_count(run->valid) > 0) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                          "there are too few rows: at least 5 are needed");
}

static BurnStatus fit(const Options *options, BurnDevice *device, Run *run) {
  const BurnLoaderConfig how = {.batch_size = options->batch_size,
                                .shuffle = true,
                                .seed = options->seed};
  BurnStatus status = BURN_OK;
  BurnLoader *train =
      burn_loader_create(burn_dataset_clone(run->train), &how, &status);
  BurnLoader *valid =
      burn_loader_create(burn_dataset_clone(run->valid), &how, &status);
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  BurnCosineAnnealingConfig cosine = BurnCosineAnnealingConfig_defaults(
      options->learning_rate,
      options->epochs *
          (status == BURN_OK ? burn_loader_batch_count(train) : 1));
  const BurnMetric error = {.table = &rmse_metric};
  const BurnLearnerConfig learner = {
      .artifact_dir = options->artifact,
      .epochs = options->epochs,
      .schedule = burn_schedule_cosine_annealing(&cosine),
      .metrics = BURN_METRICS(error),
      .config = burn_config(ModelConfig, &run->config),
      .quiet = options->json};
  const BurnTask task = {model_step, &run->config};
  const BurnModule module = burn_module(Model, &run->model);
  if (status == BURN_OK) {
    status = burn_learner_fit(&learner, &task, device, module, optimizer, train,
                              valid, &run->result);
  }
  const ProgramPath path = program_path(options->artifact, "model");
  if (status == BURN_OK) status = burn_record_save(module, path.text, NULL);
  burn_optimizer_destroy(optimizer);
  burn_loader_destroy(train);
  burn_loader_destroy(valid);
  return status;
}

/* The share of the target's variance that the model explains: the loss is of
 * the normalised target, whose variance is 1 in the training rows. */
static void print_result(const Options *options, const BurnDevice *device,
                         const Run *run, double seconds) {
  const BurnEpochResult *last = &run->result.last;
  printf(
      "%s\"command\":\"train\",\"backend\":%s,\"seed\":%zu,\"rows\":%zu,"
      "\"epochs\":%zu,\"seconds\":%.1f,\"valid_rmse\":%s,"
      "\"valid_unexplained\":%s,\"artifact\":%s}\n",
      result_begin(options->json), json_text(burn_device_name(device)).text,
      options->seed, burn_dataset_count(run->train), run->result.epochs_done,
      seconds,
      json_number(burn_epoch_metric(last, "RMSE", BURN_SPLIT_VALID)).text,
      json_number(burn_epoch_metric(last, "Loss", BURN_SPLIT_VALID)).text,
      json_text(options->artifact).text);
}

static BurnStatus train_on(const Options *options, BurnDevice *device,
                           Run *run) {
  const double begin = program_seconds();
  ModelConfig *config = &run->config;
  *config = ModelConfig_defaults(options->features);
  config->hidden = options->hidden;
  snprintf(config->first.text, sizeof config->first.text, "%s", options->first);
  snprintf(config->target.text, sizeof config->target.text, "%s",
           options->target);
  snprintf(config->delimiter.text, sizeof config->delimiter.text, "%s",
           options->delimiter);
  BurnStatus status = read_rows(options, run);
  if (status != BURN_OK) return status;
  burn_device_seed(device, options->seed);
  run->model = model_init(config, device);
  status = fit_normalizers(config, &run->model, run->train, device);
  if (status == BURN_OK) {
    status = burn_module_status(burn_module(Model, &run->model));
  }
  if (status == BURN_OK) status = fit(options, device, run);
  if (status == BURN_OK) {
    print_result(options, device, run, program_seconds() - begin);
  }
  return status;
}

static BurnStatus train(const void *context) {
  const Options *options = context;
  BurnDevice *device = burn_device_open_training(options->backend);
  Run run;
  memset(&run, 0, sizeof run);
  BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) status = train_on(options, device, &run);
  burn_dataset_drop(run.train);
  burn_dataset_drop(run.valid);
  Model_release(&run.model);
  burn_device_close(device);
  return status;
}

/* -- inference ------------------------------------------------------------- */

/* Shows guess and truth of the first rows; the error of all. */
static BurnStatus guess_rows(const Options *options, const Run *run,
                             BurnDevice *device, BurnLoader *loader) {
  double squares = 0;
  size_t row = 0;
  BurnStatus status = BURN_OK;
  BurnBatches *batches = burn_loader_start(loader, device, 1, 0);
  if (!options->json) printf("%14s %14s\n", "guess", "truth");
  for (BurnBatch batch;
       status == BURN_OK && burn_batches_next(batches, &batch);) {
    float guess = 0, truth = 0;
    BurnTensor *x = take(&batch, &run->config.first);
    x = denormalize(&run->model.outputs, model_forward(&run->model, x));
    status = burn_read_f32(x, &guess, 1);
    if (status != BURN_OK) break;
    status = burn_read_f32(take(&batch, &run->config.target), &truth, 1);
    squares += pow((double)guess - (double)truth, 2);
    if (row++ >= options->show || options->json) continue;
    printf("%14g %14g\n", (double)guess, (double)truth);
  }
  const BurnStatus stopped = burn_batches_stop(batches);
  if (status == BURN_OK) status = stopped;
  if (status != BURN_OK) return status;
  printf("%s\"command\":\"infer\",\"rows\":%zu,\"rmse\":%s}\n",
         result_begin(options->json), row,
         json_number(sqrt(squares / (double)row)).text);
  return BURN_OK;
}

static BurnStatus infer_on(const Options *options, BurnDevice *device,
                           Run *run) {
  const ProgramPath config = program_path(options->artifact, "config.json");
  const ProgramPath model = program_path(options->artifact, "model");
  BurnStatus status =
      burn_config_load(burn_config(ModelConfig, &run->config), config.text);
  if (status != BURN_OK) return status;
  run->model = model_init(&run->config, device);
  status = burn_record_load(burn_module(Model, &run->model), model.text, NULL);
  if (status != BURN_OK) return status;
  const BurnLoaderConfig one = {.batch_size = 1};
  BurnDataset *rows = read_table(&run->config, options->data, &status);
  BurnLoader *loader = burn_loader_create(rows, &one, &status);
  if (status == BURN_OK) status = guess_rows(options, run, device, loader);
  burn_loader_destroy(loader);
  return status;
}

static BurnStatus infer(const void *context) {
  const Options *options = context;
  BurnDevice *device = burn_device_open(options->backend);
  Run run;
  memset(&run, 0, sizeof run);
  BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) status = infer_on(options, device, &run);
  Model_release(&run.model);
  burn_device_close(device);
  return status;
}

/* -- program --------------------------------------------------------------- */

static const char *problem_of(const void *context, const char *command) {
  const Options *o = context;
  const bool trains = strcmp(command, "train") == 0;
  if (!trains && !o->data) return "give the file with --data";
  if (strlen(o->delimiter) != 1) return "--delimiter is one character";
  if (o->features < 1 || o->hidden < 1 || o->epochs < 1 || o->batch_size < 1) {
    return "--features, --hidden, --epochs and --batch-size are at least 1";
  }
  if (strlen(o->first) > 255 || strlen(o->target) > 255) {
    return "--first and --target have at most 255 bytes";
  }
  return NULL;
}

int main(int argc, char **argv) {
  Options options = {.first = HOUSE_FIRST,
                     .target = HOUSE_TARGET,
                     .delimiter = ",",
                     .artifact = "artifacts/csv",
                     .features = HOUSE_FEATURES,
                     .hidden = 64,
                     .rows = 4000,
                     .epochs = 40,
                     .batch_size = 32,
                     .seed = 1,
                     .show = 5,
                     .learning_rate = 3e-3};
  const Argument arguments[] = {
      {"data", ARGUMENT_TEXT, &options.data, "FILE",
       "a table with a header; without it one is written"},
      {"first", ARGUMENT_TEXT, &options.first, "NAME",
       "column of the features"},
      {"features", ARGUMENT_SIZE, &options.features, "N",
       "so many columns beside each other, from that one on"},
      {"target", ARGUMENT_TEXT, &options.target, "NAME",
       "column that they tell"},
      {"delimiter", ARGUMENT_TEXT, &options.delimiter, "C", "between fields"},
      {"rows", ARGUMENT_SIZE, &options.rows, "N",
       "of the table that is written"},
      {"hidden", ARGUMENT_SIZE, &options.hidden, "N", "width of hidden layers"},
      {"epochs", ARGUMENT_SIZE, &options.epochs, "N", "passes over the rows"},
      {"batch-size", ARGUMENT_SIZE, &options.batch_size, "N", "rows a step"},
      {"lr", ARGUMENT_NUMBER, &options.learning_rate, "X",
       "first learning rate"},
      {"seed", ARGUMENT_SIZE, &options.seed, "N", "of rows, weights, order"},
      {"show", ARGUMENT_SIZE, &options.show, "N", "rows that infer shows"},
      ARGUMENT_ARTIFACT(&options),
      ARGUMENT_BACKEND(&options),
      ARGUMENT_JSON(&options),
  };
  const ProgramCommand commands[] = {{"train", train}, {"infer", infer}};
  const Program program = {
      .name = "csv",
      .usage =
          "usage: csv [train] [options]            learn from a CSV file\n"
          "       csv infer --data FILE [options]  use what was saved",
      .arguments = PROGRAM_LIST(arguments),
      .commands = PROGRAM_LIST(commands),
      .problem_of = problem_of};
  return program_main(&program, argc, argv, &options);
}
