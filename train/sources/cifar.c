/* cifar.c - CIFAR-10 and CIFAR-100 from the archive of their binary version, a gzipped tar: five members of 10,000
 * items and one, or one of 50,000 and one. An item is its labels, a byte each (CIFAR-100: coarse, fine), and 3 x 32 x
 * 32 bytes of pixels. Names, sizes and checksums of members are checked, labels too; the rest of the archive is passed
 * over. */
#include "dataset_private.h"

#include <burn/datasets.h>
#include <burn/file.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { PIXELS = 3 * 32 * 32, TAR_BYTES = 512, TAR_SIZE_AT = 124, TAR_SUM_AT = 148, NAME_BYTES = 100, COARSE = 20 };
static const uint64_t archive_limit = UINT64_C(1) << 30; /* unpacked; the real ones have 185 MB */

typedef struct Cifar {
  const char *path;
  gzFile file;
  uint64_t offset; /* of the unpacked data */
  uint32_t classes;
  size_t items, label_bytes;
  uint8_t *images;
  int64_t *labels, *coarse; /* coarse: of CIFAR-100 */
  size_t count;             /* that are read */
  size_t parts;             /* members that are read, a bit each */
} Cifar;

static BurnStatus corrupt(const Cifar *cifar, const char *what) {
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "cifar: %s: %s at byte %llu of the unpacked archive", cifar->path,
                          what, (unsigned long long)cifar->offset);
}

static BurnStatus bytes_read(Cifar *cifar, void *out, size_t count, bool *ended) {
  int code = 0;
  const int got = gzread(cifar->file, out, (unsigned)count);
  if (ended != NULL) *ended = got == 0;
  if (got == (int)count || (ended != NULL && got == 0)) {
    cifar->offset += (uint64_t)got;
    return cifar->offset <= archive_limit ? BURN_OK : corrupt(cifar, "more than it can have");
  }
  const char *reason = gzerror(cifar->file, &code);
  return corrupt(cifar, code != Z_OK && reason[0] != '\0' ? reason : "the end is missing");
}

/* -- members ---------------------------------------------------------------------------------- */

static bool octal_read(const uint8_t *text, size_t count, uint64_t *value) {
  *value = 0;
  size_t i = 0;
  while (i < count && text[i] == ' ') i++;
  const size_t first = i;
  for (; i < count && text[i] >= '0' && text[i] <= '7'; i++) *value = *value << 3 | (uint64_t)(text[i] - '0');
  return i > first && (i == count || text[i] == '\0' || text[i] == ' ');
}

/* The sum of a header's bytes, with spaces in place of itself. */
static bool sum_fits(const uint8_t *header) {
  uint64_t said = 0, sum = 0;
  for (size_t i = 0; i < TAR_BYTES; i++) sum += i >= TAR_SUM_AT && i < TAR_SUM_AT + 8 ? ' ' : header[i];
  return octal_read(header + TAR_SUM_AT, 8, &said) && said == sum;
}

/* Which part of the split a member is: 0 .. 4, or none. */
static bool part_of(const Cifar *cifar, const char *name, uint32_t split, size_t *part) {
  const char *slash = strrchr(name, '/'), *base = slash != NULL ? slash + 1 : name;
  *part = 0;
  if (cifar->classes == 100) return strcmp(base, split == BURN_MNIST_TRAIN ? "train.bin" : "test.bin") == 0;
  if (split == BURN_MNIST_TEST) return strcmp(base, "test_batch.bin") == 0;
  if (strncmp(base, "data_batch_", 11) != 0 || base[11] < '1' || base[11] > '5') return false;
  *part = (size_t)(base[11] - '1');
  return strcmp(base + 12, ".bin") == 0;
}

/* The items of a member, to where those of its part belong. */
static BurnStatus items_read(Cifar *cifar, size_t first, size_t count) {
  uint8_t item[2 + PIXELS];
  for (size_t i = first; i < first + count; i++) {
    const BurnStatus status = bytes_read(cifar, item, cifar->label_bytes + PIXELS, NULL);
    if (status != BURN_OK) return status;
    const uint8_t fine = item[cifar->label_bytes - 1];
    if (fine >= cifar->classes || (cifar->coarse != NULL && item[0] >= COARSE)) return corrupt(cifar, "no such class");
    cifar->labels[i] = fine;
    if (cifar->coarse != NULL) cifar->coarse[i] = item[0];
    memcpy(cifar->images + i * PIXELS, item + cifar->label_bytes, PIXELS);
    cifar->count++;
  }
  return BURN_OK;
}

static BurnStatus bytes_pass(Cifar *cifar, uint64_t count) {
  uint8_t piece[TAR_BYTES];
  BurnStatus status = BURN_OK;
  while (status == BURN_OK && count > 0) {
    const size_t size = count < sizeof piece ? (size_t)count : sizeof piece;
    status = bytes_read(cifar, piece, size, NULL);
    count -= size;
  }
  return status;
}

/* One member after its header. */
static BurnStatus member_read(Cifar *cifar, const uint8_t *header, uint32_t split) {
  char name[NAME_BYTES + 1] = "";
  uint64_t size = 0;
  size_t part = 0;
  memcpy(name, header, NAME_BYTES);
  if (!sum_fits(header) || !octal_read(header + TAR_SIZE_AT, 12, &size)) return corrupt(cifar, "no tar header");
  const uint64_t rest = (TAR_BYTES - size % TAR_BYTES) % TAR_BYTES;
  if (!part_of(cifar, name, split, &part)) return bytes_pass(cifar, size + rest);
  const size_t parts = cifar->classes == 10 && split == BURN_MNIST_TRAIN ? 5 : 1, items = cifar->items / parts;
  if (size != items * (cifar->label_bytes + PIXELS) || (cifar->parts >> part & 1) != 0)
    return corrupt(cifar, "a member of another size, or twice,");
  cifar->parts |= (size_t)1 << part;
  const BurnStatus status = items_read(cifar, part * items, items);
  return status == BURN_OK ? bytes_pass(cifar, rest) : status;
}

static BurnStatus archive_read(Cifar *cifar, uint32_t split) {
  uint8_t header[TAR_BYTES];
  while (cifar->count < cifar->items) {
    bool ended = false;
    BurnStatus status = bytes_read(cifar, header, sizeof header, &ended);
    if (status != BURN_OK) return status;
    if (ended || header[0] == '\0') return corrupt(cifar, "the archive ends before all items have come,");
    status = member_read(cifar, header, split);
    if (status != BURN_OK) return status;
  }
  return BURN_OK;
}

/* -- the dataset ------------------------------------------------------------------------------ */

static BurnStatus archive_open(Cifar *cifar) {
  FILE *file = NULL;
  const BurnStatus status = burn_file_open(cifar->path, &file, NULL);
  if (status != BURN_OK) return burn_status_annotate(status, "cifar: %s", cifar->path);
  fclose(file);
  cifar->file = gzopen(cifar->path, "rb");
  cifar->images = malloc(cifar->items * PIXELS);
  cifar->labels = malloc(cifar->items * sizeof *cifar->labels);
  if (cifar->classes == 100) cifar->coarse = malloc(cifar->items * sizeof *cifar->coarse);
  if (cifar->file != NULL && cifar->images != NULL && cifar->labels != NULL &&
      (cifar->classes == 10 || cifar->coarse != NULL))
    return BURN_OK;
  return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "cifar: no memory for %zu items", cifar->items);
}

BurnDataset *burn_dataset_cifar_archive(const char *path, uint32_t classes, uint32_t split, BurnStatus *status) {
  static const BurnColumn columns[] = {{"image", BURN_DTYPE_U8, {3, {3, 32, 32}}},
                                       {"label", BURN_DTYPE_I64, {0, {0}}},
                                       {"coarse", BURN_DTYPE_I64, {0, {0}}}};
  Cifar cifar = {.path = path,
                 .classes = classes,
                 .items = split == BURN_MNIST_TRAIN ? 50000 : 10000,
                 .label_bytes = classes == 100 ? 2 : 1};
  BurnDataset *dataset = NULL;
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK && (path == NULL || (classes != 10 && classes != 100) || split > BURN_MNIST_TEST))
    result = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "cifar: %u classes, split %u: 10 or 100, 0 or 1 expected",
                              (unsigned)classes, (unsigned)split);
  if (result == BURN_OK) result = archive_open(&cifar);
  if (result == BURN_OK) result = archive_read(&cifar, split);
  const void *const data[] = {cifar.images, cifar.labels, cifar.coarse};
  if (result == BURN_OK) dataset = burn_dataset_memory(columns, classes == 100 ? 3 : 2, data, cifar.items, &result);
  if (cifar.file != NULL) gzclose(cifar.file);
  free(cifar.images);
  free(cifar.labels);
  free(cifar.coarse);
  burn__store_status(status, result);
  return dataset;
}
