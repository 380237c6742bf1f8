/* save_load.c - a model on disk: formats, precision, and a model that has grown
 * since it was saved.
 *
 *   save_load            trains a small model, saves it in each format, loads
 *                        each into a fresh one and compares what they say
 *
 * A record has the values of a module's parameters and buffers, by name; the
 * program makes the module itself, usually by a config saved beside it. */
#define _POSIX_C_SOURCE 200809L
#include <burn/burn.h>
#include <burn/nn.h>
#include <burn/train.h>

#include "../common/arguments.h"
#include "../common/program.h"
#include "../common/result.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { POINTS = 64 };

/* -- two models ------------------------------------------------------------ */

#define SMALL_FIELDS(X)               \
  X(BurnLinear, fc1, "1 -> hidden")   \
  X(BurnBatchNorm, norm, "of hidden") \
  X(BurnLinear, fc2, "hidden -> 1")
BURN_MODULE(Small, SMALL_FIELDS);

/* What became of it: the same with a layer in between. */
#define GROWN_FIELDS(X)                    \
  X(BurnLinear, fc1, "1 -> hidden")        \
  X(BurnBatchNorm, norm, "of hidden")      \
  X(BurnLinear, extra, "hidden -> hidden") \
  X(BurnLinear, fc2, "hidden -> 1")
BURN_MODULE(Grown, GROWN_FIELDS);

static Small small_init(size_t hidden, BurnDevice *device) {
  return (Small){.fc1 = burn_linear_new(1, hidden, device),
                 .norm = burn_batch_norm_new(hidden, device),
                 .fc2 = burn_linear_new(hidden, 1, device)};
}

static Grown grown_init(size_t hidden, BurnDevice *device) {
  return (Grown){.fc1 = burn_linear_new(1, hidden, device),
                 .norm = burn_batch_norm_new(hidden, device),
                 .extra = burn_linear_new(hidden, hidden, device),
                 .fc2 = burn_linear_new(hidden, 1, device)};
}

/* takes x [n, 1] -> [n, 1] */
static BurnTensor *small_forward(const Small *m, BurnTensor *x) {
  x = burn_batch_norm_forward(&m->norm, burn_linear_forward(&m->fc1, x));
  return burn_linear_forward(&m->fc2, burn_tanh(x));
}

/* -- training -------------------------------------------------------------- */

typedef struct Options {
  const char *artifact, *backend;
  size_t steps, hidden, seed;
  bool json;
} Options;

/* [POINTS, 1] from -2 to 2 */
static BurnTensor *points(BurnDevice *device) {
  float x[POINTS];
  for (int i = 0; i < POINTS; i++) x[i] = -2 + 4 * (float)i / (POINTS - 1);
  return burn_float(burn_tensor_f32(device, x, BURN_SHAPE(POINTS, 1)));
}

static BurnStatus train(const Options *options, Small *m, BurnDevice *device) {
  const BurnMseLoss mse = burn_mse_loss_init();
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  BurnStatus status = burn_module_status(burn_module(Small, m));
  for (size_t i = 0; i < options->steps && status == BURN_OK; i++) {
    BurnTensor *x = points(device);
    BurnTensor *truth = burn_sin(burn_mul_scalar(burn_clone(x), 2));
    BurnTensor *loss = burn_mse_loss_forward(&mse, small_forward(m, x), truth,
                                             BURN_REDUCTION_MEAN);
    status = burn_train_step(optimizer, burn_module(Small, m), loss, 1e-2);
  }
  burn_optimizer_destroy(optimizer);
  return status;
}

static BurnStatus predict(const Small *m, BurnDevice *device, float *values) {
  return burn_read_f32(small_forward(m, points(device)), values, POINTS);
}

/* -- formats --------------------------------------------------------------- */

typedef struct Format {
  const char *name, *file;
  BurnRecordConfig config;
} Format;
static const Format formats[] = {
    {"mpk, f32", "model.mpk", {BURN_RECORD_MPK, BURN_PRECISION_FULL}},
    {"mpk, halves", "half.mpk", {BURN_RECORD_MPK, BURN_PRECISION_HALF}},
    {"mpk.gz, f32", "model.mpk.gz", {BURN_RECORD_MPK_GZ, BURN_PRECISION_FULL}},
    {"bpk, f32", "model.bpk", {BURN_RECORD_BPK, BURN_PRECISION_FULL}},
    {"json, f32", "model.json", {BURN_RECORD_JSON, BURN_PRECISION_FULL}},
    {"bin, f32", "model.bin", {BURN_RECORD_BIN, BURN_PRECISION_FULL}},
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

/* What a format made of the model. */
typedef struct Outcome {
  double worst[FORMATS]; /* difference of a prediction */
  long long bytes[FORMATS];
  size_t loaded, missing; /* tensors of the model that has grown */
} Outcome;

static double worst_of(const float *a, const float *b) {
  double worst = 0;
  for (int i = 0; i < POINTS; i++) {
    const double difference = fabs((double)a[i] - (double)b[i]);
    if (difference > worst) worst = difference;
  }
  return worst;
}

/* Saves, loads into a fresh module on the device below autodiff, compares. */
static BurnStatus round_trip(const Options *options, size_t index, Small *m,
                             BurnDevice *device, const float *expected,
                             Outcome *outcome) {
  const Format *format = &formats[index];
  const ProgramPath path = program_path(options->artifact, format->file);
  float values[POINTS] = {0};
  struct stat info;
  Small fresh = small_init(options->hidden, device);
  BurnStatus status =
      burn_record_save(burn_module(Small, m), path.text, &format->config);
  if (status == BURN_OK) {
    status = burn_record_load(burn_module(Small, &fresh), path.text,
                              &format->config);
  }
  if (status == BURN_OK) status = predict(&fresh, device, values);
  Small_release(&fresh);
  if (status != BURN_OK)
    return burn_status_annotate(status, "%s", format->name);
  outcome->worst[index] = worst_of(expected, values);
  outcome->bytes[index] =
      stat(path.text, &info) == 0 ? (long long)info.st_size : 0;
  if (!options->json) {
    printf("%-12s %6lld bytes   largest difference %.2g\n", format->name,
           outcome->bytes[index], outcome->worst[index]);
  }
  return BURN_OK;
}

/* A model with another layer: the record lacks it, which is an error unless one
 * says that it is not; the report tells what each tensor got. */
static BurnStatus load_grown(const Options *options, BurnDevice *device,
                             Outcome *outcome) {
  const ProgramPath path = program_path(options->artifact, "model.mpk");
  const BurnRecordLoad partial = {.allow_partial = true};
  BurnRecordReport report = {NULL, 0, {0}};
  Grown grown = grown_init(options->hidden, device);
  const BurnModule module = burn_module(Grown, &grown);
  const BurnStatus refused = burn_record_load(module, path.text, NULL);
  if (!options->json) {
    printf("a model with a layer more: %s\n", burn_status_message(refused));
  }
  const BurnStatus status =
      burn_record_load_with(module, path.text, NULL, &partial, &report);
  if (status == BURN_OK && !options->json) burn_record_report_print(&report);
  outcome->loaded = report.counts[BURN_RECORD_LOADED];
  outcome->missing = report.counts[BURN_RECORD_MISSING];
  burn_record_report_release(&report);
  Grown_release(&grown);
  return status;
}

static BurnStatus run(const Options *options, BurnDevice *device) {
  BurnDevice *inner = burn_device_inner(device);
  float expected[POINTS];
  Outcome outcome;
  burn_device_seed(device, options->seed);
  Small m = small_init(options->hidden, device);
  BurnStatus status = burn_folder_make(options->artifact);
  if (status == BURN_OK) status = train(options, &m, device);
  Small valid = Small_valid(&m);
  if (status == BURN_OK) status = predict(&valid, inner, expected);
  for (size_t i = 0; i < FORMATS && status == BURN_OK; i++) {
    status = round_trip(options, i, &m, inner, expected, &outcome);
  }
  if (status == BURN_OK) status = load_grown(options, inner, &outcome);
  Small_release(&valid);
  Small_release(&m);
  if (status != BURN_OK) return status;
  printf(
      "%s\"backend\":%s,\"full\":%s,\"half\":%s,\"bytes\":%lld,"
      "\"loaded\":%zu,\"missing\":%zu}\n",
      result_begin(options->json), json_text(burn_device_name(device)).text,
      json_number(outcome.worst[0]).text, json_number(outcome.worst[1]).text,
      outcome.bytes[0], outcome.loaded, outcome.missing);
  return BURN_OK;
}

int main(int argc, char **argv) {
  program_begin();
  Options options = {
      .artifact = "artifacts/save_load", .steps = 300, .hidden = 32, .seed = 1};
  const Argument arguments[] = {
      {"steps", ARGUMENT_SIZE, &options.steps, "N", "of training"},
      {"hidden", ARGUMENT_SIZE, &options.hidden, "N", "width of the model"},
      {"seed", ARGUMENT_SIZE, &options.seed, "N", "of the weights"},
      {"artifact", ARGUMENT_TEXT, &options.artifact, "DIR", "for the files"},
      ARGUMENT_BACKEND(&options),
      ARGUMENT_JSON(&options),
  };
  static const char usage[] =
      "usage: save_load [options]   a model in every format, and back";
  const int parsed =
      arguments_parse(argc, argv, usage, arguments,
                      sizeof arguments / sizeof arguments[0], NULL, 0);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  BurnDevice *device = burn_device_open_training(options.backend);
  BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) status = run(&options, device);
  burn_device_close(device);
  return program_end("save_load", status);
}
