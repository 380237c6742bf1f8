/* vision.h - data sets of pictures that many start with, fetched if they are not there (download.h). */
#ifndef BURN_DATASETS_VISION_H
#define BURN_DATASETS_VISION_H

#include <burn/datasets/download.h>
#include <burn/train/dataset.h>

BURN_EXTERN_C_BEGIN

/* Where a data set lies, and whence it comes. Zero-initialised: the cache folder, the public addresses. */
typedef struct BurnVisionConfig {
  const char *folder; /* NULL: that of burn_datasets_folder */
  const char *mirror; /* NULL, or an address in front of the file names that is tried first, with a slash at its end */
  bool offline;       /* nothing is fetched: what is not there is NOT_FOUND, with address and folder */
} BurnVisionConfig;

/* MNIST: columns and splits of burn_dataset_mnist. `config` may be NULL, here and below. */
BURN_API BURN_CHAINS(3) BURN_USE_RESULT BurnDataset *burn_dataset_mnist_fetch(const BurnVisionConfig *config,
                                                                              uint32_t split, BurnStatus *status);
/* Fashion-MNIST: the same columns and splits. */
BURN_API BURN_CHAINS(3) BURN_USE_RESULT BurnDataset *burn_dataset_fashion_mnist(const BurnVisionConfig *config,
                                                                                uint32_t split, BurnStatus *status);
/* CIFAR-10: columns "image" u8 [3, 32, 32] and "label" i64 0 .. 9; 50,000 items of BURN_MNIST_TRAIN, 10,000 of _TEST.
 * Kept as the archive of the binary version, of which the items are unpacked into memory. */
BURN_API BURN_CHAINS(3) BURN_USE_RESULT BurnDataset *burn_dataset_cifar10(const BurnVisionConfig *config,
                                                                          uint32_t split, BurnStatus *status);
/* CIFAR-100: the same with "label" 0 .. 99 and "coarse" i64 0 .. 19. */
BURN_API BURN_CHAINS(3) BURN_USE_RESULT BurnDataset *burn_dataset_cifar100(const BurnVisionConfig *config,
                                                                           uint32_t split, BurnStatus *status);

/* CIFAR from an archive of the binary version (.tar.gz) that is there, `classes` 10 or 100. Bytes are taken as hostile;
 * messages name file and member. */
BURN_API BURN_CHAINS(4) BURN_USE_RESULT BurnDataset *burn_dataset_cifar_archive(const char *path, uint32_t classes,
                                                                                uint32_t split, BurnStatus *status);

BURN_EXTERN_C_END

#endif
