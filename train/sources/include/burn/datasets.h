/* datasets.h - datasets whose files other libraries read: images (libpng, libjpeg-turbo), databases (SQLite), and what
 * is fetched (libcurl). The library burn_datasets, apart from burn_train, which needs none of them. What needs a
 * library that was missing when it was built fails and says what to install (burn_datasets_has). */
#ifndef BURN_DATASETS_H
#define BURN_DATASETS_H

#include <burn/datasets/download.h>
#include <burn/datasets/image.h>
#include <burn/datasets/sqlite.h>
#include <burn/datasets/vision.h>

BURN_EXTERN_C_BEGIN

/* Parts that depend on a library. */
typedef enum BurnDatasetsPart {
  BURN_DATASETS_PNG = 0,
  BURN_DATASETS_JPEG = 1,
  BURN_DATASETS_SQLITE = 2,
  BURN_DATASETS_DOWNLOAD = 3
} BurnDatasetsPart;

/* True if this build has the part. */
BURN_API bool burn_datasets_has(BurnDatasetsPart part);

BURN_EXTERN_C_END

#endif
