/* absent.c - what a build without a library answers. */
#include "image_private.h"
#include "status_chain.h"

#define ABSENT(what, library, package)                                                       \
  burn_status_make(BURN_STATUS_FAILED_PRECONDITION,                                          \
                   what ": this build of burn_datasets has no " library "; install " package \
                        " and build "                                                        \
                        "again")

bool burn_datasets_has(BurnDatasetsPart part) {
  static const bool parts[] = {[BURN_DATASETS_PNG] = BURN_HAS_PNG,
                               [BURN_DATASETS_JPEG] = BURN_HAS_JPEG,
                               [BURN_DATASETS_SQLITE] = BURN_HAS_SQLITE,
                               [BURN_DATASETS_DOWNLOAD] = BURN_HAS_DOWNLOAD};
  return (size_t)part < sizeof parts / sizeof parts[0] && parts[part];
}

#if !BURN_HAS_PNG
BurnStatus burn__png_decode(const uint8_t *bytes, size_t count, uint32_t channels, BurnImage *image) {
  (void)bytes, (void)count, (void)channels, (void)image;
  return ABSENT("image", "libpng", "libpng-dev");
}

BurnStatus burn_image_write_png(const char *path, const BurnImage *image) {
  (void)path, (void)image;
  return ABSENT("image", "libpng", "libpng-dev");
}
#endif

#if !BURN_HAS_JPEG
BurnStatus burn__jpeg_decode(const uint8_t *bytes, size_t count, uint32_t channels, BurnImage *image) {
  (void)bytes, (void)count, (void)channels, (void)image;
  return ABSENT("image", "libjpeg", "libjpeg62-turbo-dev");
}

BurnStatus burn_image_write_jpeg(const char *path, const BurnImage *image, int quality) {
  (void)path, (void)image, (void)quality;
  return ABSENT("image", "libjpeg", "libjpeg62-turbo-dev");
}
#endif

#if !BURN_HAS_SQLITE
BurnDataset *burn_dataset_sqlite(const char *path, const char *table, const BurnColumn *columns, size_t column_count,
                                 BurnStatus *status) {
  (void)path, (void)table, (void)columns, (void)column_count;
  burn__store_status(status, ABSENT("sqlite", "SQLite", "libsqlite3-dev"));
  return NULL;
}

BurnStatus burn_dataset_sqlite_write(const char *path, const char *table, const BurnDataset *dataset, bool overwrite) {
  (void)path, (void)table, (void)dataset, (void)overwrite;
  return ABSENT("sqlite", "SQLite", "libsqlite3-dev");
}
#endif

#if !BURN_HAS_DOWNLOAD
BurnStatus burn_download(const BurnDownload *download) {
  (void)download;
  return ABSENT("download", "libcurl", "libcurl4-openssl-dev");
}
#endif
