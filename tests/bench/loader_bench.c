/* loader_bench.c - pictures per second that a loader makes of a folder of JPEGs, beside PyTorch's DataLoader with as many
 * workers: decode, random resized crop to 224 x 224, flip, normalise, batches of 32.
 *
 *   loader_bench [--folder DIR] [--pictures N] [--workers N] [--rounds N] [--python PROGRAM --script FILE]
 *
 * Without a folder one is made: smooth pictures of 500 x 375 with some noise, as large as ImageNet's are on average. */
#include "bench_time.h"

#include "../../sdk/examples/common/arguments.h"

#include <burn/datasets.h>
#include <burn/train.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
  WIDTH = 500,
  HEIGHT = 375,
  SIDE = 224,
  BATCH = 32,
  CLASSES = 4,
  QUALITY = 90,
  MAX_ROUNDS = 99,
  PATH_BYTES = 512
};

typedef struct Options {
  const char *folder, *python, *script;
  size_t pictures, workers, rounds;
} Options;

static int failed(BurnStatus status) {
  fprintf(stderr, "loader_bench: %s\n", burn_status_message(status));
  return 1;
}

/* -- pictures --------------------------------------------------------------------------------- */

static void picture_draw(size_t index, BurnImage *image) {
  uint32_t noise = (uint32_t)index * 2654435761u + 1;
  for (size_t i = 0; i < (size_t)WIDTH * HEIGHT * 3; i++) {
    const double x = (double)(i / 3 % WIDTH), y = (double)(i / 3 / WIDTH), wave = (double)(index % 7 + 1) / 40;
    noise = noise * 1664525u + 1013904223u;
    const double value = 128 + 80 * sin(x * wave + (double)(i % 3)) * cos(y * wave) + (double)(noise >> 28);
    image->pixels[i] = (uint8_t)value;
  }
}

static BurnStatus folder_make(const char *folder, size_t pictures) {
  BurnImage image;
  char path[PATH_BYTES];
  struct stat info;
  snprintf(path, sizeof path, "%s/0/%zu.jpg", folder, (pictures - 1) / CLASSES * CLASSES);
  if (stat(path, &info) == 0) return BURN_OK;
  BurnStatus status = burn_image_init(&image, WIDTH, HEIGHT, 3);
  for (size_t i = 0; status == BURN_OK && i < pictures; i++) {
    snprintf(path, sizeof path, "%s/%zu", folder, i % CLASSES);
    status = burn_folder_make(path);
    snprintf(path, sizeof path, "%s/%zu/%zu.jpg", folder, i % CLASSES, i);
    picture_draw(i, &image);
    if (status == BURN_OK) status = burn_image_write_jpeg(path, &image, QUALITY);
  }
  burn_image_release(&image);
  return status;
}

/* -- the two sides ---------------------------------------------------------------------------- */

/* One epoch; pictures per second. */
static BurnStatus epoch_run(BurnLoader *loader, BurnDevice *device, size_t epoch, double *rate) {
  const double start = seconds_now();
  BurnBatches *batches = burn_loader_start(loader, device, epoch, 0);
  size_t items = 0;
  for (BurnBatch batch; burn_batches_next(batches, &batch);) items += batch.item_count;
  const BurnStatus status = burn_batches_stop(batches);
  *rate = (double)items / (seconds_now() - start);
  return status;
}

/* Starts the peer, which reads a line per epoch and answers with its rate; NULL without one. */
static FILE *peer_start(const Options *options, char answer[PATH_BYTES]) {
  char command[4 * PATH_BYTES];
  if (options->python == NULL || options->script == NULL) return NULL;
  snprintf(command, sizeof command, "'%s' '%s' '%s' %zu %zu %d", options->python, options->script, options->folder,
           options->workers, options->rounds, BATCH);
  FILE *peer = popen(command, "r");
  if (peer == NULL || fgets(answer, PATH_BYTES, peer) == NULL) {
    fprintf(stderr, "loader_bench: the peer does not start: %s\n", command);
    return NULL;
  }
  answer[strcspn(answer, "\n")] = '\0';
  return peer;
}

static double median(double *rates, size_t count) {
  qsort(rates, count, sizeof *rates, by_size);
  return rates[count / 2];
}

/* The epochs of the peer, if there is one, into theirs; `version` is what it says of itself. */
static int peer_run(const Options *options, double *theirs, char version[PATH_BYTES]) {
  FILE *peer = peer_start(options, version);
  if (peer == NULL) return options->python != NULL;
  for (size_t i = 0; i < options->rounds; i++) {
    char rate[64] = "";
    if (fgets(rate, sizeof rate, peer) == NULL) return pclose(peer), 1;
    theirs[i] = atof(rate);
  }
  return pclose(peer) != 0;
}

/* Half of our epochs before the peer's, half after them: the machine may have other work. */
static int measure(const Options *options, BurnLoader *loader, BurnDevice *device) {
  double ours[2 * MAX_ROUNDS], theirs[MAX_ROUNDS] = {0};
  char version[PATH_BYTES] = "";
  for (size_t i = 0; i < 2 * options->rounds; i++) {
    const int code = i == options->rounds ? peer_run(options, theirs, version) : 0;
    if (code != 0) return code;
    const BurnStatus status = epoch_run(loader, device, i + 1, &ours[i]);
    if (status != BURN_OK) return failed(status);
  }
  const double our_rate = median(ours, 2 * options->rounds), their_rate = median(theirs, options->rounds);
  printf("burn:  %.0f pictures/s with %zu workers\n", our_rate, options->workers);
  if (options->python != NULL)
    printf("torch: %.0f pictures/s, %s; burn is %.2f times as fast\n", their_rate, version, our_rate / their_rate);
  return 0;
}

static int run(Options *options) {
  BurnStatus status = BURN_OK;
  if (options->folder == NULL) {
    options->folder = "/tmp/burn-loader-bench";
    status = folder_make(options->folder, options->pictures);
    if (status != BURN_OK) return failed(status);
  }
  const BurnImageConfig config = {.height = SIDE,
                                  .width = SIDE,
                                  .crop = BURN_IMAGE_CROP_RANDOM_RESIZED,
                                  .flip = 0.5,
                                  .mean = {0.485f, 0.456f, 0.406f},
                                  .deviation = {0.229f, 0.224f, 0.225f}};
  BurnDataset *pictures = burn_dataset_image_folder(options->folder, &config, &status);
  const BurnLoaderConfig batches = {.batch_size = BATCH, .shuffle = true, .workers = options->workers};
  BurnLoader *loader = burn_loader_create(pictures, &batches, &status);
  if (loader == NULL) return failed(status);
  BurnDevice *device = burn_device_open("ndarray");
  const int code = measure(options, loader, device);
  burn_loader_destroy(loader);
  burn_device_close(device);
  return code;
}

int main(int argc, char **argv) {
  Options options = {.pictures = 256, .workers = 2, .rounds = 5};
  const Argument arguments[] = {
      {"folder", ARGUMENT_TEXT, &options.folder, "DIR", "pictures by class; made below /tmp if not given"},
      {"pictures", ARGUMENT_SIZE, &options.pictures, "N", "of the folder that is made"},
      {"workers", ARGUMENT_SIZE, &options.workers, "N", "threads, or processes of the peer"},
      {"rounds", ARGUMENT_SIZE, &options.rounds, "N", "epochs of the peer, half of ours"},
      {"python", ARGUMENT_TEXT, &options.python, "PROGRAM", "a Python with torchvision, for the peer"},
      {"script", ARGUMENT_TEXT, &options.script, "FILE", "loader_torch.py"}};
  const int parsed =
      arguments_parse(argc, argv, "loader_bench [options]", arguments, sizeof arguments / sizeof arguments[0], NULL, 0);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  if (options.rounds < 1 || options.rounds > MAX_ROUNDS || options.pictures < CLASSES) return 2;
  return run(&options);
}
