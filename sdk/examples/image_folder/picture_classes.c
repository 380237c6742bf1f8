/* picture_classes.c - pictures of a folder whose subfolders are classes, told
 * apart by a small CNN.
 *
 *   image_folder                     write a folder of digits, learn them
 *   image_folder --data FOLDER       learn FOLDER/cat/1.png, FOLDER/dog/2.jpg
 *   image_folder infer --image FILE  the class of a picture, by what was saved
 *
 * Training has a crop at a random place and, with --flip, left and right
 * turned by chance, another one in each epoch; validation has the middle of
 * other pictures of the same folder. */
#define _POSIX_C_SOURCE 200809L
#include "digit_pictures.h"

#include "../common/commands.h"
#include "../common/result.h"

#include <burn/datasets.h>
#include <burn/file.h>
#include <burn/nn.h>
#include <burn/train.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNELS = 3, MAX_SIZE = 1024 };

/* -- model ----------------------------------------------------------------- */

#define MODEL_CONFIG(REQ, OPT)                            \
  REQ(BurnSize, classes, "subfolders")                    \
  OPT(BurnSize, width, 16, "channels of the first layer") \
  OPT(BurnSize, size, 24, "side of a crop, in pixels")    \
  OPT(BurnSize, resize, 28, "shorter side before it is cropped")
BURN_CONFIG(ModelConfig, MODEL_CONFIG);

#define MODEL_FIELDS(X)                             \
  X(BurnConv2d, conv1, "3 -> width, half the side") \
  X(BurnBatchNorm, norm1, "")                       \
  X(BurnConv2d, conv2, "-> 2 width, half the side") \
  X(BurnBatchNorm, norm2, "")                       \
  X(BurnAdaptiveAvgPool2d, pool, "to 4 x 4")        \
  X(BurnDropout, dropout, "before the last layer")  \
  X(BurnLinear, head, "2 width * 4 * 4 -> classes")
BURN_MODULE(Model, MODEL_FIELDS);

static BurnConv2d half_side(size_t in, size_t out, BurnDevice *device) {
  BurnConv2dConfig config =
      BurnConv2dConfig_defaults(BURN_SIZE2(in, out), BURN_SIZE2(3, 3));
  config.stride = BURN_SIZE2(2, 2);
  config.padding = (BurnPadding2d)BURN_PADDING_2D(1, 1, 1, 1);
  return burn_conv2d_init(&config, device);
}

static Model model_init(const ModelConfig *config, BurnDevice *device) {
  const size_t width = config->width;
  const BurnSize2 pooled = {{4, 4}};
  return (Model){
      .conv1 = half_side(CHANNELS, width, device),
      .norm1 = burn_batch_norm_new(width, device),
      .conv2 = half_side(width, 2 * width, device),
      .norm2 = burn_batch_norm_new(2 * width, device),
      .pool = burn_adaptive_avg_pool2d_new(pooled, device),
      .dropout = burn_dropout_new(0.25, device),
      .head = burn_linear_new(2 * width * 4 * 4, config->classes, device)};
}

/* takes images [batch, CHANNELS, size, size] -> scores [batch, classes] */
static BurnTensor *model_forward(const Model *m, BurnTensor *x) {
  x = burn_conv2d_forward(&m->conv1, x);
  x = burn_relu(burn_batch_norm_forward(&m->norm1, x));
  x = burn_conv2d_forward(&m->conv2, x);
  x = burn_relu(burn_batch_norm_forward(&m->norm2, x));
  x = burn_flatten(burn_adaptive_avg_pool2d_forward(&m->pool, x), 1, 3);
  return burn_linear_forward(&m->head, burn_dropout_forward(&m->dropout, x));
}

static BurnStepOutput model_step(void *context, const void *model,
                                 BurnBatch *batch) {
  (void)context;
  BurnTensor *targets = burn_batch_take(batch, "label");
  BurnTensor *images = burn_float(burn_batch_take(batch, "image"));
  BurnTensor *scores = model_forward(model, images);
  BurnTensor *loss =
      burn_cross_entropy(burn_clone(scores), burn_clone(targets));
  return burn_classification_output(loss, scores, targets);
}

/* -- data ------------------------------------------------------------------ */

typedef struct Options {
  const char *data, *image, *artifact, *backend;
  size_t items, size, resize, width, epochs, batch_size, workers, seed;
  double learning_rate, flip;
  bool skip_bad, json;
} Options;

/* Pixels from -1 to 1. `flip` is how likely left and right are turned. */
static BurnImageConfig crop_of(const ModelConfig *model, BurnImageCrop crop,
                               double flip, uint64_t seed) {
  return (BurnImageConfig){.height = (uint32_t)model->size,
                           .width = (uint32_t)model->size,
                           .channels = CHANNELS,
                           .crop = crop,
                           .shorter_side = (uint32_t)model->resize,
                           .flip = flip,
                           .mean = {0.5f, 0.5f, 0.5f},
                           .deviation = {0.5f, 0.5f, 0.5f},
                           .seed = seed};
}

typedef struct Run {
  ModelConfig config;
  Model model;
  BurnClassFiles files;
  BurnLoader *train, *valid;
  BurnLearnerResult result;
} Run;

/* Part 0 (four fifths) or 1 of the pictures in a random order, which is the
 * same for both; the other part is dropped. */
static BurnDataset *part_of(const Options *options, const char *folder,
                            const BurnImageConfig *image, size_t part,
                            BurnStatus *status) {
  const double shares[] = {0.8, 0.2};
  BurnDataset *parts[2] = {NULL, NULL};
  BurnDataset *all = burn_dataset_image_folder(folder, image, status);
  all = burn_dataset_shuffle(all, options->seed, status);
  if (!burn_dataset_split(all, shares, 2, parts, status)) return NULL;
  burn_dataset_drop(parts[1 - part]);
  return parts[part];
}

static BurnLoader *loader_of(const Options *options, const ModelConfig *config,
                             const char *folder, bool train,
                             BurnStatus *status) {
  BurnImageConfig image =
      crop_of(config, train ? BURN_IMAGE_CROP_RANDOM : BURN_IMAGE_CROP_CENTER,
              train ? options->flip : 0, options->seed);
  image.read.skip_bad = options->skip_bad;
  const BurnLoaderConfig loader = {.batch_size = options->batch_size,
                                   .shuffle = train,
                                   .seed = options->seed,
                                   .workers = options->workers};
  BurnDataset *part = part_of(options, folder, &image, train ? 0 : 1, status);
  return burn_loader_create(part, &loader, status);
}

static BurnStatus read_folder(const Options *options, Run *run) {
  static const char *const pictures[] = {".png", ".jpg", ".jpeg",
                                         ".pgm", ".ppm", NULL};
  const ProgramPath digits = program_path(options->artifact, "pictures");
  const char *folder = options->data ? options->data : digits.text;
  BurnStatus status = BURN_OK;
  if (!options->data) {
    status = digit_pictures_write(folder, options->items, options->seed);
  }
  if (status == BURN_OK) {
    status = burn_class_files_read(folder, pictures, &run->files);
  }
  if (status != BURN_OK) return status;
  run->config = ModelConfig_defaults(run->files.class_count);
  run->config.width = options->width;
  run->config.size = options->size;
  run->config.resize = options->resize;
  run->train = loader_of(options, &run->config, folder, true, &status);
  run->valid = loader_of(options, &run->config, folder, false, &status);
  return status;
}

/* -- training -------------------------------------------------------------- */

/* The names of the classes, one a line: what infer calls them. */
static BurnStatus save_classes(const Options *options, const Run *run) {
  const ProgramPath path = program_path(options->artifact, "classes.txt");
  FILE *file = fopen(path.text, "wb");
  bool written = file != NULL;
  for (size_t i = 0; i < run->files.class_count && written; i++) {
    written = fprintf(file, "%s\n", run->files.classes[i]) > 0;
  }
  if (file && fclose(file) != 0) written = false;
  if (written) return BURN_OK;
  return burn_status_make(BURN_STATUS_IO, "%s: cannot write", path.text);
}

static BurnStatus fit(const Options *options, BurnDevice *device, Run *run) {
  const BurnModule module = burn_module(Model, &run->model);
  const BurnLearnerConfig learner = {
      .artifact_dir = options->artifact,
      .epochs = options->epochs,
      .learning_rate = options->learning_rate,
      .config = burn_config(ModelConfig, &run->config),
      .quiet = options->json};
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  const BurnTask task = {model_step, NULL};
  BurnStatus status =
      burn_learner_fit(&learner, &task, device, module, optimizer, run->train,
                       run->valid, &run->result);
  burn_optimizer_destroy(optimizer);
  const ProgramPath path = program_path(options->artifact, "model");
  if (status == BURN_OK) status = burn_record_save(module, path.text, NULL);
  return status == BURN_OK ? save_classes(options, run) : status;
}

static void print_result(const Options *options, const BurnDevice *device,
                         const Run *run, double seconds) {
  const BurnEpochResult *last = &run->result.last;
  printf(
      "%s\"command\":\"train\",\"backend\":%s,\"seed\":%zu,\"classes\":%zu,"
      "\"pictures\":%zu,\"epochs\":%zu,\"seconds\":%.1f,\"train_loss\":%s,"
      "\"valid_accuracy\":%s,\"artifact\":%s}\n",
      result_begin(options->json), json_text(burn_device_name(device)).text,
      options->seed, run->files.class_count, burn_loader_item_count(run->train),
      run->result.epochs_done, seconds,
      json_number(burn_epoch_metric(last, "Loss", BURN_SPLIT_TRAIN)).text,
      json_number(burn_epoch_metric(last, "Accuracy", BURN_SPLIT_VALID)).text,
      json_text(options->artifact).text);
}

static BurnStatus train_on(const Options *options, BurnDevice *device,
                           Run *run) {
  const double begin = program_seconds();
  BurnStatus status = read_folder(options, run);
  if (status != BURN_OK) return status;
  burn_device_seed(device, options->seed);
  run->model = model_init(&run->config, device);
  status = burn_module_status(burn_module(Model, &run->model));
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
  burn_loader_destroy(run.train);
  burn_loader_destroy(run.valid);
  burn_class_files_release(&run.files);
  Model_release(&run.model);
  burn_device_close(device);
  return status;
}

/* -- inference ------------------------------------------------------------- */

/* The name of class `index` in classes.txt, which has a line for each. */
static BurnStatus name_of(const Options *options, int64_t index, char *name,
                          size_t bytes) {
  const ProgramPath path = program_path(options->artifact, "classes.txt");
  uint8_t *text = NULL;
  size_t length = 0;
  BurnStatus status = burn_status_annotate(
      burn_file_read(path.text, 1 << 20, &text, &length), "%s", path.text);
  if (status != BURN_OK) return status;
  const char *at = (const char *)text;
  for (int64_t i = 0; i < index && at; i++) {
    at = strchr(at, '\n');
    if (at) at++;
  }
  if (at && *at) {
    snprintf(name, bytes, "%.*s", (int)strcspn(at, "\n"), at);
  } else {
    status =
        burn_status_make(BURN_STATUS_CORRUPT_DATA, "%s: no name for class %lld",
                         path.text, (long long)index);
  }
  free(text);
  return status;
}

static BurnStatus classify(const Options *options, const Run *run,
                           BurnTensor *image) {
  char name[256];
  int64_t best = 0;
  double share = 0;
  BurnTensor *shares = burn_softmax(model_forward(&run->model, image), 1);
  BurnStatus status =
      burn_read_i64(burn_argmax(burn_clone(shares), 1), &best, 1);
  BurnTensor *largest = burn_max(shares);
  const BurnStatus read = burn_read_scalar(largest, &share);
  if (status == BURN_OK) status = read;
  if (status == BURN_OK) status = name_of(options, best, name, sizeof name);
  if (status != BURN_OK) return status;
  printf("%s\"command\":\"infer\",\"class\":%s,\"share\":%s}\n",
         result_begin(options->json), json_text(name).text,
         json_number(share).text);
  return BURN_OK;
}

/* The middle of the picture, as in validation. */
static BurnStatus read_image(const Options *options, const ModelConfig *config,
                             BurnDevice *device, BurnTensor **image) {
  const BurnImageConfig crop = crop_of(config, BURN_IMAGE_CROP_CENTER, 0, 0);
  const int64_t side = (int64_t)config->size;
  float *pixels =
      malloc(CHANNELS * config->size * config->size * sizeof *pixels);
  if (!pixels) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
  BurnImage picture = {.pixels = NULL};
  BurnStatus status = burn_image_read(options->image, CHANNELS, &picture);
  if (status == BURN_OK) {
    status = burn_image_item(&picture, &crop, 0, 0, pixels);
  }
  if (status == BURN_OK) {
    *image = burn_float(
        burn_tensor_f32(device, pixels, BURN_SHAPE(1, CHANNELS, side, side)));
  }
  burn_image_release(&picture);
  free(pixels);
  return status;
}

static BurnStatus infer_on(const Options *options, BurnDevice *device,
                           Run *run) {
  const ProgramPath config = program_path(options->artifact, "config.json");
  const ProgramPath model = program_path(options->artifact, "model");
  BurnTensor *image = NULL;
  BurnStatus status =
      burn_config_load(burn_config(ModelConfig, &run->config), config.text);
  if (status == BURN_OK && run->config.size > MAX_SIZE) {
    status = burn_status_make(BURN_STATUS_CORRUPT_DATA,
                              "%s: crops of %zu pixels, at most %d",
                              config.text, run->config.size, (int)MAX_SIZE);
  }
  if (status != BURN_OK) return status;
  run->model = model_init(&run->config, device);
  status = burn_record_load(burn_module(Model, &run->model), model.text, NULL);
  if (status == BURN_OK) {
    status = read_image(options, &run->config, device, &image);
  }
  return status == BURN_OK ? classify(options, run, image) : status;
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
  if (!trains && !o->image) return "give the picture with --image";
  if (o->size < 4 || o->size > MAX_SIZE || o->resize < o->size ||
      o->resize > MAX_SIZE) {
    return "--size is not within 4 and --resize, or that above 1024";
  }
  if (o->epochs < 1 || o->batch_size < 1 || o->width < 1 || o->items < 10) {
    return "--epochs, --batch-size and --width are at least 1, --items 10";
  }
  return o->flip >= 0 && o->flip <= 1 ? NULL : "--flip is not within 0 and 1";
}

int main(int argc, char **argv) {
  Options options = {.artifact = "artifacts/image_folder",
                     .items = 2000,
                     .size = 24,
                     .resize = 28,
                     .width = 16,
                     .epochs = 8,
                     .batch_size = 32,
                     .workers = 2,
                     .seed = 1,
                     .learning_rate = 2e-3};
  const Argument arguments[] = {
      {"data", ARGUMENT_TEXT, &options.data, "DIR",
       "a folder for each class; without it digits are written"},
      {"items", ARGUMENT_SIZE, &options.items, "N", "digits that are written"},
      {"resize", ARGUMENT_SIZE, &options.resize, "N",
       "the shorter side of a picture before it is cropped"},
      {"size", ARGUMENT_SIZE, &options.size, "N", "side of a crop, in pixels"},
      {"flip", ARGUMENT_NUMBER, &options.flip, "X",
       "how likely left and right are turned: 0.5 for animals, not for digits"},
      {"skip-bad", ARGUMENT_FLAG, &options.skip_bad, NULL,
       "leave out files that are not pictures"},
      {"width", ARGUMENT_SIZE, &options.width, "N",
       "channels of the first layer"},
      {"epochs", ARGUMENT_SIZE, &options.epochs, "N",
       "passes over the pictures"},
      {"batch-size", ARGUMENT_SIZE, &options.batch_size, "N",
       "pictures a step"},
      {"lr", ARGUMENT_NUMBER, &options.learning_rate, "X", "learning rate"},
      {"workers", ARGUMENT_SIZE, &options.workers, "N", "threads that read"},
      {"seed", ARGUMENT_SIZE, &options.seed, "N", "of weights, order, crops"},
      {"image", ARGUMENT_TEXT, &options.image, "FILE", "for infer"},
      ARGUMENT_ARTIFACT(&options),
      ARGUMENT_BACKEND(&options),
      ARGUMENT_JSON(&options),
  };
  const ProgramCommand commands[] = {{"train", train}, {"infer", infer}};
  const Program program = {
      .name = "image_folder",
      .usage =
          "usage: image_folder [train] [options]             learn a folder\n"
          "       image_folder infer --image FILE [options]  what is that?",
      .arguments = PROGRAM_LIST(arguments),
      .commands = PROGRAM_LIST(commands),
      .problem_of = problem_of};
  return program_main(&program, argc, argv, &options);
}
