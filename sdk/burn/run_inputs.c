/* run_inputs.c - what burn run reads: pictures, folders of them, NumPy files. */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include "run.h"

#include <burn/datasets.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static const char *const pictures[] = {".png", ".jpg", ".jpeg", ".pgm", ".ppm", NULL};

static bool ends_with(const char *path, const char *end) {
  const size_t length = strlen(path), end_length = strlen(end);
  return length >= end_length && strcasecmp(path + length - end_length, end) == 0;
}

static bool is_picture(const char *path) {
  for (size_t i = 0; pictures[i]; i++)
    if (ends_with(path, pictures[i])) return true;
  return false;
}

static bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* The middle of a picture, of the model's proportions. */
static BurnImageConfig config_of(const BurnModelLibrary *library) {
  const BurnShape *shape = &library->input;
  BurnImageConfig config = {.channels = (uint32_t)shape->dims[0],
                            .height = (uint32_t)shape->dims[1],
                            .width = (uint32_t)shape->dims[2],
                            .crop = BURN_IMAGE_CROP_CENTER};
  memcpy(config.mean, library->mean, sizeof config.mean);
  memcpy(config.deviation, library->deviation, sizeof config.deviation);
  return config;
}

static bool takes_pictures(const BurnModelLibrary *library, const char *path, BurnStatus *status) {
  const BurnShape *shape = &library->input;
  if (shape->rank == 3 && (shape->dims[0] == 1 || shape->dims[0] == 3)) return true;
  *status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                             "%s: %s takes no pictures, as its input is not [1 or 3, height, width]; give a .npy file",
                             path, library->name);
  return false;
}

static void read_pictures(const BurnModelLibrary *library, const char *const *paths, size_t count, RunInputs *inputs,
                          BurnStatus *status) {
  const BurnImageConfig config = config_of(library);
  inputs->names = calloc(count, sizeof *inputs->names);
  for (; inputs->names && inputs->name_count < count; inputs->name_count++) {
    if (!(inputs->names[inputs->name_count] = strdup(paths[inputs->name_count]))) break;
  }
  if (!inputs->names || inputs->name_count < count) {
    *status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu names", count);
    return;
  }
  inputs->items = burn_dataset_images(paths, NULL, count, &config, status);
}

/* All pictures below the folder; the classes that its subfolders stand for do not count. */
static void read_folder(const BurnModelLibrary *library, const char *folder, RunInputs *inputs, BurnStatus *status) {
  BurnClassFiles files;
  *status = burn_class_files_read(folder, pictures, &files);
  if (*status == BURN_OK) read_pictures(library, files.paths, files.count, inputs, status);
  burn_class_files_release(&files);
}

static void read_array(const BurnModelLibrary *library, const char *path, RunInputs *inputs, BurnStatus *status) {
  inputs->items = burn_dataset_numpy(path, NULL, 0, status);
  if (!inputs->items) return;
  const BurnShape shape = burn_dataset_column(inputs->items, 0)->shape;
  const size_t bytes = shape.rank * sizeof shape.dims[0];
  if (shape.rank == library->input.rank && memcmp(shape.dims, library->input.dims, bytes) == 0) return;
  *status = burn_status_make(BURN_STATUS_INVALID_SHAPE, "%s: items of shape %s, %s takes %s", path,
                             burn_shape_text(shape).text, library->name, burn_shape_text(library->input).text);
}

size_t run_inputs_read(const BurnModelLibrary *library, const char *const *paths, size_t count, RunInputs *inputs,
                       BurnStatus *status) {
  size_t read = 1;
  *inputs = (RunInputs){.name = paths[0]};
  const bool folder = is_folder(paths[0]);
  if (folder || is_picture(paths[0])) {
    if (!takes_pictures(library, paths[0], status)) return 0;
    while (!folder && read < count && is_picture(paths[read]) && !is_folder(paths[read])) read++;
    if (folder) {
      read_folder(library, paths[0], inputs, status);
    } else {
      read_pictures(library, paths, read, inputs, status);
    }
  } else if (ends_with(paths[0], ".npy")) {
    read_array(library, paths[0], inputs, status);
  } else {
    *status =
        burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                         "%s: no input; it is a .png, .jpg, .pgm, .ppm or .npy file, or a folder with a folder of "
                         "pictures for each class",
                         paths[0]);
  }
  return *status == BURN_OK ? read : 0;
}

void run_inputs_release(RunInputs *inputs) {
  for (size_t i = 0; i < inputs->name_count; i++) free(inputs->names[i]);
  free(inputs->names);
  burn_dataset_drop(inputs->items);
  *inputs = (RunInputs){.name = NULL};
}
