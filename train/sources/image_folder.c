/* image_folder.c - a picture per item. The first bytes of files are looked at when the dataset is made, pixels when an
 * item is asked for: so memory is that of the paths, and workers read files at once. */
#include "dataset_private.h"
#include "image_private.h"
#include "path_check.h"

#include <burn/file.h>
#include <burn/train/class_files.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 8 };

typedef struct File {
  char *path;
  int64_t label;
} File;

typedef struct ImagesContext {
  BurnImageConfig config;
  bool labelled;
  size_t count;
  File files[];
} ImagesContext;

static void images_destroy(void *context) {
  ImagesContext *images = context;
  for (size_t i = 0; i < images->count; i++) free(images->files[i].path);
  free(images);
}

static BurnStatus images_get(void *context, size_t epoch, size_t index, void *const *columns) {
  const ImagesContext *images = context;
  const File *file = &images->files[index];
  BurnImage image;
  BurnStatus status = burn_image_read(file->path, images->config.channels, &image);
  if (status == BURN_OK) status = burn_image_item(&image, &images->config, epoch, index, columns[0]);
  burn_image_release(&image);
  if (status == BURN_OK && images->labelled) memcpy(columns[1], &file->label, sizeof file->label);
  return burn_status_annotate(status, "images");
}

/* Whether the file begins as one that can be read. */
static BurnStatus file_check(const char *path) {
  uint8_t bytes[FIRST_BYTES] = {0};
  FILE *file = NULL;
  BurnStatus status = burn__path_check("images", path);
  if (status != BURN_OK) return status;
  status = burn_file_open(path, &file, NULL);
  if (status != BURN_OK) return burn_status_annotate(status, "images: %s", path);
  const size_t count = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  const bool is_picture =
      memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0 || memcmp(bytes, "\xff\xd8\xff", 3) == 0 || burn__is_pnm(bytes, count);
  if (count == sizeof bytes && is_picture) return BURN_OK;
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "images: %s: neither a PNG, a JPEG nor a PGM or PPM", path);
}

static BurnStatus config_check(const BurnImageConfig *config) {
  if (config == NULL) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "images: the config is NULL");
  const bool sized = config->height >= 1 && config->width >= 1 && config->height <= BURN_IMAGE_SIDE_LIMIT &&
                     config->width <= BURN_IMAGE_SIDE_LIMIT && config->shorter_side <= BURN_IMAGE_SIDE_LIMIT;
  const bool channels = config->channels == 0 || config->channels == 1 || config->channels == 3;
  if (!sized || !channels || (unsigned)config->crop > BURN_IMAGE_CROP_RANDOM_RESIZED)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "images: items of %u x %u pixels, %u channels, crop %u",
                            (unsigned)config->width, (unsigned)config->height, (unsigned)config->channels,
                            (unsigned)config->crop);
  if (config->shorter_side > 0 && (config->shorter_side < config->height || config->shorter_side < config->width))
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "images: items of %u x %u pixels are not part of pictures whose shorter side has %u",
                            (unsigned)config->width, (unsigned)config->height, (unsigned)config->shorter_side);
  if (!(config->flip >= 0 && config->flip <= 1))
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "images: flip %g, 0 to 1 expected", config->flip);
  return BURN_OK;
}

/* Adds a file that can be read, or is not left out. */
static BurnStatus file_add(ImagesContext *images, const char *path, int64_t label, BurnSkips *skipped) {
  const BurnStatus status = file_check(path);
  if (status != BURN_OK && images->config.read.skip_bad) {
    burn__skip(skipped, burn_status_message(status));
    return BURN_OK;
  }
  if (status != BURN_OK) return status;
  const size_t bytes = strlen(path) + 1;
  char *copy = malloc(bytes);
  if (copy == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "images: no memory for a path");
  images->files[images->count++] = (File){memcpy(copy, path, bytes), label};
  return BURN_OK;
}

static BurnStatus images_make(const char *const *paths, const int64_t *labels, size_t count,
                              const BurnImageConfig *config, ImagesContext **made) {
  BurnSkips skipped = {0};
  const bool fits = count < (size_t)PTRDIFF_MAX / sizeof(File) / 2;
  BurnStatus status = config_check(config);
  if (status == BURN_OK && paths == NULL && count > 0)
    status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "images: the paths are NULL");
  ImagesContext *images = status == BURN_OK && fits ? calloc(1, sizeof *images + count * sizeof(File)) : NULL;
  if (status != BURN_OK) return status;
  if (images == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "images: no memory for %zu paths", count);
  images->config = *config;
  images->config.channels = config->channels == 0 ? 3 : config->channels;
  images->labelled = labels != NULL;
  for (size_t i = 0; status == BURN_OK && i < count; i++)
    status = file_add(images, paths[i], labels != NULL ? labels[i] : 0, &skipped);
  if (status == BURN_OK) {
    burn__skips_end(&skipped, &config->read);
    *made = images;
  } else {
    images_destroy(images);
  }
  return status;
}

BurnDataset *burn_dataset_images(const char *const *paths, const int64_t *labels, size_t count,
                                 const BurnImageConfig *config, BurnStatus *status) {
  ImagesContext *images = NULL;
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK) result = images_make(paths, labels, count, config, &images);
  if (result != BURN_OK) {
    burn__store_status(status, result);
    return NULL;
  }
  const BurnColumn columns[] = {
      {"image", config->bytes ? BURN_DTYPE_U8 : BURN_DTYPE_F32,
       BURN_SHAPE((int64_t)images->config.channels, (int64_t)config->height, (int64_t)config->width)},
      {"label", BURN_DTYPE_I64, {0, {0}}}};
  const BurnDatasetInterface interface = {labels != NULL ? 2 : 1, columns, images->count, NULL, images_destroy, images};
  return burn_dataset_create_by_epoch(&interface, images_get, status);
}

BurnDataset *burn_dataset_image_folder(const char *folder, const BurnImageConfig *config, BurnStatus *status) {
  static const char *const extensions[] = {".png", ".jpg", ".jpeg", ".pgm", ".ppm", NULL};
  BurnClassFiles files = {.count = 0};
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK) result = burn_class_files_read(folder, extensions, &files);
  if (result == BURN_OK) {
    BurnDataset *dataset = burn_dataset_images(files.paths, files.labels, files.count, config, status);
    burn_class_files_release(&files);
    return dataset;
  }
  burn__store_status(status, burn_status_annotate(result, "image_folder"));
  return NULL;
}
