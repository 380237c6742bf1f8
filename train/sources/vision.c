/* vision.c - MNIST, Fashion-MNIST and CIFAR: what their files are called, where they are, their checksums. */
#include "dataset_private.h"
#include "null_check.h"
#include "privileged.h"

#include <burn/datasets.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096, MIRRORS = 2, SPLITS = 2, FILES = 2 };

/* A file, with the checksum that its authors give. */
typedef struct VisionFile {
  const char *name, *md5;
} VisionFile;

/* A data set: addresses in front of the names, and what each split needs. */
typedef struct VisionSet {
  const char *name;
  const char *mirrors[MIRRORS];
  VisionFile files[SPLITS][FILES];
} VisionSet;

static const VisionSet mnist_set = {
    "mnist",
    {"https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/"},
    {{{"train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"},
      {"train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"}},
     {{"t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"},
      {"t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"}}}};

static const VisionSet fashion_set = {"fashion-mnist",
                                      {"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/", NULL},
                                      {{{"train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"},
                                        {"train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"}},
                                       {{"t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"},
                                        {"t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"}}}};

#define CIFAR_SET(folder, file, md5)                       \
  {                                                        \
    folder, {"https://www.cs.toronto.edu/~kriz/", NULL}, { \
      {{file, md5}, {NULL, NULL}}, {                       \
        {file, md5}, { NULL, NULL }                        \
      }                                                    \
    }                                                      \
  }
static const VisionSet cifar_sets[] = {
    CIFAR_SET("cifar-10", "cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530"),
    CIFAR_SET("cifar-100", "cifar-100-binary.tar.gz", "03b5dce01913d631647c71ecec9e9cb8")};

BurnStatus burn_datasets_folder(const char *name, char *path, size_t bytes) {
  BurnStatus status = BURN_REQUIRED(name, "that of a data set");
  if (status == BURN_OK) status = BURN_REQUIRED(path, "room for the path");
  if (status != BURN_OK) return status;
  const char *cache = burn__trusted_variable("XDG_CACHE_HOME"), *home = burn__trusted_variable("HOME");
  const bool has_cache = cache != NULL && cache[0] == '/', has_home = home != NULL && home[0] == '/';
  if (!has_cache && !has_home)
    return burn_status_make(BURN_STATUS_FAILED_PRECONDITION, "datasets: %s; name a folder for %s",
                            burn__process_is_privileged() ? "a privileged program reads neither XDG_CACHE_HOME nor HOME"
                                                          : "neither XDG_CACHE_HOME nor HOME is set",
                            name);
  const int length =
      snprintf(path, bytes, "%s%s/burn/datasets/%s", has_cache ? cache : home, has_cache ? "" : "/.cache", name);
  if (length >= 0 && (size_t)length < bytes) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "datasets: the path of %s is longer than %zu bytes", name,
                          bytes);
}

/* -- fetching --------------------------------------------------------------------------------- */

static BurnStatus not_there(const VisionSet *set, const VisionFile *file, const char *path) {
  return burn_status_make(BURN_STATUS_NOT_FOUND,
                          "%s: there is no %s, and nothing is fetched offline; fetch %s%s elsewhere and put it there",
                          set->name, path, set->mirrors[0], file->name);
}

static bool is_there(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file != NULL) fclose(file);
  return file != NULL;
}

/* Has one file in the folder; its path goes to `path`. */
static BurnStatus file_have(const VisionSet *set, const VisionFile *file, const BurnVisionConfig *config,
                            const char *folder, char path[PATH_BYTES]) {
  char addresses[MIRRORS + 1][PATH_BYTES];
  const char *urls[MIRRORS + 1];
  size_t count = 0;
  const int length = snprintf(path, PATH_BYTES, "%s/%s", folder, file->name);
  if (length < 0 || length >= PATH_BYTES)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: the path of the folder is too long", set->name);
  if (config->offline || !burn_datasets_has(BURN_DATASETS_DOWNLOAD)) {
    if (is_there(path)) return BURN_OK;
    if (config->offline) return not_there(set, file, path);
  }
  for (size_t i = 0; i <= MIRRORS; i++) {
    const char *mirror = i == 0 ? config->mirror : set->mirrors[i - 1];
    if (mirror == NULL || snprintf(addresses[count], PATH_BYTES, "%s%s", mirror, file->name) >= PATH_BYTES) continue;
    urls[count] = addresses[count];
    count++;
  }
  const BurnDownload download = {.urls = urls, .url_count = count, .md5 = file->md5, .path = path};
  return burn_status_annotate(burn_download(&download), "%s", set->name);
}

/* Has the files of a split; `folder` gets theirs, `path` that of the last. */
static BurnStatus split_have(const VisionSet *set, const BurnVisionConfig *config, uint32_t split,
                             char folder[PATH_BYTES], char path[PATH_BYTES]) {
  static const BurnVisionConfig defaults;
  if (config == NULL) config = &defaults;
  if (split > BURN_MNIST_TEST)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: split %u, 0 or 1 expected", set->name, (unsigned)split);
  BurnStatus status = BURN_OK;
  if (config->folder == NULL)
    status = burn_datasets_folder(set->name, folder, PATH_BYTES);
  else if (snprintf(folder, PATH_BYTES, "%s", config->folder) >= PATH_BYTES)
    status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: the path of the folder is too long", set->name);
  for (size_t i = 0; status == BURN_OK && i < FILES && set->files[split][i].name != NULL; i++)
    status = file_have(set, &set->files[split][i], config, folder, path);
  return status;
}

/* -- the data sets ---------------------------------------------------------------------------- */

static BurnDataset *idx_read(const VisionSet *set, const BurnVisionConfig *config, uint32_t split, BurnStatus *status) {
  char folder[PATH_BYTES], path[PATH_BYTES];
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK) result = split_have(set, config, split, folder, path);
  if (result == BURN_OK) return burn_dataset_mnist(folder, split, status);
  burn__store_status(status, result);
  return NULL;
}

static BurnDataset *cifar_read(uint32_t classes, const BurnVisionConfig *config, uint32_t split, BurnStatus *status) {
  char folder[PATH_BYTES], path[PATH_BYTES];
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK) result = split_have(&cifar_sets[classes == 100], config, split, folder, path);
  if (result == BURN_OK) return burn_dataset_cifar_archive(path, classes, split, status);
  burn__store_status(status, result);
  return NULL;
}

BurnDataset *burn_dataset_mnist_fetch(const BurnVisionConfig *config, uint32_t split, BurnStatus *status) {
  return idx_read(&mnist_set, config, split, status);
}

BurnDataset *burn_dataset_fashion_mnist(const BurnVisionConfig *config, uint32_t split, BurnStatus *status) {
  return idx_read(&fashion_set, config, split, status);
}

BurnDataset *burn_dataset_cifar10(const BurnVisionConfig *config, uint32_t split, BurnStatus *status) {
  return cifar_read(10, config, split, status);
}

BurnDataset *burn_dataset_cifar100(const BurnVisionConfig *config, uint32_t split, BurnStatus *status) {
  return cifar_read(100, config, split, status);
}
