/* image_classification.c - what is on a picture? A pretrained ResNet-20 knows
 * the ten classes of CIFAR-10.
 *
 *   image_classification --model resnet20-12fca82f.th PICTURE...
 *
 * A picture is a PNG, JPEG or PPM file, of which the middle is seen at 32 x 32
 * pixels, or a .npy file with [n, 3, 32, 32] numbers as the network sees them.
 * The network is made of layers (resnet20.c), its weights come from PyTorch. */
#define _POSIX_C_SOURCE 200809L
#include "resnet20.h"

#include "../common/commands.h"
#include "../common/result.h"

#include <burn/datasets.h>
#include <burn/numpy.h>

#include <stdio.h>
#include <string.h>

enum { MAX_PICTURES = 64 };

static const char *const class_names[PICTURE_CLASSES] = {
    "airplane", "automobile", "bird",  "cat",  "deer",
    "dog",      "frog",       "horse", "ship", "truck"};

typedef struct Options {
  const char *model, *output, *backend;
  const char *pictures[MAX_PICTURES];
  size_t top;
  bool json;
} Options;

/* -- pictures -------------------------------------------------------------- */

/* [1, 3, 32, 32]: the largest square in the middle, with the mean and the
 * deviation that the network was trained with. */
static BurnTensor *picture_of(const char *path, BurnDevice *device) {
  const BurnImageConfig config = {.height = PICTURE_SIDE,
                                  .width = PICTURE_SIDE,
                                  .crop = BURN_IMAGE_CROP_CENTER,
                                  .mean = {0.485f, 0.456f, 0.406f},
                                  .deviation = {0.229f, 0.224f, 0.225f}};
  float pixels[3 * PICTURE_SIDE * PICTURE_SIDE];
  BurnImage image;
  BurnStatus status = burn_image_read(path, 3, &image);
  if (status == BURN_OK) {
    status = burn_image_item(&image, &config, 0, 0, pixels);
  }
  burn_image_release(&image);
  if (status != BURN_OK) return burn_tensor_failed(status);
  return burn_tensor_f32(device, pixels,
                         BURN_SHAPE(1, 3, PICTURE_SIDE, PICTURE_SIDE));
}

static bool is_array(const char *path) {
  const size_t length = strlen(path);
  return length > 4 && strcmp(path + length - 4, ".npy") == 0;
}

/* [n, 3, 32, 32] of all that was named, one after the other. */
static BurnTensor *pictures_of(const Options *options, BurnDevice *device,
                               size_t *count) {
  BurnTensor *parts[MAX_PICTURES];
  for (*count = 0; *count < MAX_PICTURES && options->pictures[*count];
       ++*count) {
    const char *path = options->pictures[*count];
    parts[*count] = is_array(path) ? burn_float(burn_npy_read(device, path))
                                   : picture_of(path, device);
  }
  return burn_cat(parts, *count, 0);
}

/* -- what is on them ------------------------------------------------------- */

/* The `top` likeliest classes of a picture, of shares and their classes. */
static void print_classes(const Options *options, size_t picture,
                          const float *shares, const int64_t *classes) {
  if (options->json) {
    printf(
        "{\"event\":\"picture\",\"picture\":%zu,\"class\":\"%s\","
        "\"share\":%s}\n",
        picture, class_names[classes[0]], json_number((double)shares[0]).text);
    return;
  }
  printf("picture %zu:", picture);
  for (size_t i = 0; i < options->top; i++) {
    printf("  %s %.1f %%", class_names[classes[i]], 100 * (double)shares[i]);
  }
  putchar('\n');
}

/* takes scores [n, 10] */
static BurnStatus tell(const Options *options, BurnTensor *scores) {
  float shares[PICTURE_CLASSES];
  int64_t classes[PICTURE_CLASSES];
  BurnTensor *order = NULL;
  const int64_t count = burn_dim(scores, 0);
  BurnTensor *sorted = burn_topk_with_indices(burn_softmax(scores, 1),
                                              (int64_t)options->top, 1, &order);
  BurnStatus status = BURN_OK;
  for (int64_t i = 0; i < count && status == BURN_OK; i++) {
    status = burn_read_f32(burn_narrow(burn_clone(sorted), 0, i, 1), shares,
                           options->top);
    if (status == BURN_OK) {
      status = burn_read_i64(burn_narrow(burn_clone(order), 0, i, 1), classes,
                             options->top);
    }
    if (status == BURN_OK) print_classes(options, (size_t)i, shares, classes);
  }
  burn_drop(sorted);
  burn_drop(order);
  return status;
}

static BurnStatus classify_on(const Options *options, BurnDevice *device,
                              ResNet20 *network) {
  size_t count = 0;
  *network = resnet20_init(device);
  BurnStatus status = resnet20_load(network, options->model);
  if (status != BURN_OK) return status;
  BurnTensor *scores =
      resnet20_forward(network, pictures_of(options, device, &count));
  status = burn_tensor_status(scores);
  if (status == BURN_OK && options->output) {
    status = burn_npy_write(options->output, burn_clone(scores));
  }
  if (status != BURN_OK) {
    burn_drop(scores);
    return status;
  }
  const int64_t rows = burn_dim(scores, 0);
  status = tell(options, scores);
  if (status == BURN_OK) {
    printf("%s\"backend\":%s,\"files\":%zu,\"pictures\":%lld}\n",
           result_begin(options->json),
           json_text(burn_device_name(device)).text, count, (long long)rows);
  }
  return status;
}

/* -- program --------------------------------------------------------------- */

static BurnStatus classify(const void *context) {
  const Options *options = context;
  BurnDevice *device = burn_device_open(options->backend);
  ResNet20 network;
  memset(&network, 0, sizeof network);
  BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) status = classify_on(options, device, &network);
  ResNet20_release(&network);
  burn_device_close(device);
  return status;
}

static const char *problem_of(const void *context, const char *command) {
  const Options *o = context;
  (void)command;
  if (!o->pictures[0]) return "give a picture, or several";
  if (!o->model) return "give the weights with --model";
  return o->top >= 1 && o->top <= PICTURE_CLASSES ? NULL
                                                  : "--top is not within 1..10";
}

int main(int argc, char **argv) {
  Options options = {.top = 3};
  const Argument arguments[] = {
      {"model", ARGUMENT_TEXT, &options.model, "FILE",
       "weights of a ResNet-20 by PyTorch"},
      {"top", ARGUMENT_SIZE, &options.top, "N", "classes that are shown"},
      {"output", ARGUMENT_TEXT, &options.output, "FILE",
       "write the scores [n, 10], as .npy"},
      ARGUMENT_BACKEND(&options),
      ARGUMENT_JSON(&options),
  };
  const ProgramCommand commands[] = {{"classify", classify}};
  const Program program = {
      .name = "image_classification",
      .usage = "usage: image_classification --model FILE [options] PICTURE...",
      .arguments = PROGRAM_LIST(arguments),
      .commands = PROGRAM_LIST(commands),
      .problem_of = problem_of,
      .words = options.pictures,
      .word_capacity = MAX_PICTURES};
  return program_main(&program, argc, argv, &options);
}
