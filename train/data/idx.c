/* idx.c - MNIST from its four IDX files, plain or gzipped.
 *
 * An IDX file is a big-endian header (magic 0x08 = bytes and the number of axes, then the size of each axis) and the
 * bytes of the items. Every byte is taken as hostile: sizes are checked before they are used, memory grows only as
 * data arrive, gzipped data are bounded (source_file.c), the checksum of their stream is verified, and nothing may
 * follow the last item. Messages name the file and the offset within the (uncompressed) data. */
#include "dataset_private.h"
#include "source_file.h"

#include <burn/file.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  SIDE = 28,
  PIXELS = SIDE * SIDE,
  CLASSES = 10,
  IMAGES_MAGIC = 0x00000803,
  LABELS_MAGIC = 0x00000801,
  MAX_ITEMS = 1 << 24, /* beyond this a header is taken for damaged */
  FIRST_BLOCK = 1 << 16
};

/* -- bytes of a file --------------------------------------------------------------------------- */

typedef struct Reader {
  BurnSourceFile source;
  char path[4096];
} Reader;

/* Opens folder/name. */
static BurnStatus reader_try(Reader *reader, const char *folder, const char *name, const char *extension) {
  const int length = snprintf(reader->path, sizeof reader->path, "%s/%s%s", folder, name, extension);
  if (length < 0 || (size_t)length >= sizeof reader->path)
    return burn_status_make(BURN_STATUS_IO, "mnist: the path of %s is longer than %zu bytes", name,
                            sizeof reader->path);
  return burn__source_open(&reader->source);
}

/* The plain file if there is one, else the gzipped one. */
static BurnStatus reader_open(Reader *reader, const char *folder, const char *name) {
  memset(reader, 0, sizeof *reader);
  reader->source.reader = "mnist";
  reader->source.path = reader->path;
  BurnStatus status = reader_try(reader, folder, name, "");
  if (burn_status_code(status) != BURN_STATUS_NOT_FOUND) return status;
  status = reader_try(reader, folder, name, ".gz");
  if (burn_status_code(status) == BURN_STATUS_NOT_FOUND)
    return burn_status_make(BURN_STATUS_NOT_FOUND, "mnist: neither %s nor %s.gz is in folder %s", name, name, folder);
  return status;
}

/* Reads exactly `wanted` bytes; `expected` is the size of all data, for the message. */
static BurnStatus reader_read(Reader *reader, unsigned char *out, size_t wanted, uint64_t expected) {
  size_t got = 0;
  const BurnStatus status = burn__source_read(&reader->source, out, wanted, &got);
  if (status != BURN_OK || got == wanted) return status;
  return burn_status_make(BURN_STATUS_CORRUPT_DATA,
                          "mnist: %s: truncated at offset %llu of the data, %llu bytes expected", reader->path,
                          (unsigned long long)reader->source.offset, (unsigned long long)expected);
}

/* Checks that data and file end here. Reading on makes zlib verify the checksum, which stands after the last byte. */
static BurnStatus reader_end(Reader *reader) {
  unsigned char extra = 0;
  size_t got = 0;
  BurnStatus status = burn__source_read(&reader->source, &extra, 1, &got);
  if (status == BURN_OK && got > 0)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA,
                            "mnist: %s: more data after the last item, at offset %llu of the data", reader->path,
                            (unsigned long long)(reader->source.offset - got));
  return status == BURN_OK ? burn__source_end(&reader->source) : status;
}

/* -- one IDX file ----------------------------------------------------------------------------- */

/* The items of one file: `count` times `item_bytes`, in `data` (from malloc). */
typedef struct Items {
  unsigned char *data;
  size_t count;
  size_t item_bytes;
} Items;

static uint32_t big_endian(const unsigned char *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | (uint32_t)bytes[3];
}

/* Reads and checks the header: the magic, the count, and for images the two sides. */
static BurnStatus header_read(Reader *reader, uint32_t magic, Items *items) {
  unsigned char header[16] = {0};
  const size_t bytes = magic == IMAGES_MAGIC ? 16 : 8;
  const BurnStatus status = reader_read(reader, header, bytes, bytes);
  if (status != BURN_OK) return status;
  if (big_endian(header) != magic)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "mnist: %s: magic 0x%08x at offset 0, 0x%08x expected",
                            reader->path, (unsigned)big_endian(header), (unsigned)magic);
  const uint32_t count = big_endian(header + 4);
  if (count > MAX_ITEMS)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "mnist: %s: %u items at offset 4, at most %d expected",
                            reader->path, (unsigned)count, MAX_ITEMS);
  items->count = count;
  items->item_bytes = 1;
  if (magic != IMAGES_MAGIC) return BURN_OK;
  const uint32_t rows = big_endian(header + 8), columns = big_endian(header + 12);
  if (rows != SIDE || columns != SIDE)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "mnist: %s: images of %u x %u at offset 8, %d x %d expected",
                            reader->path, (unsigned)rows, (unsigned)columns, SIDE, SIDE);
  items->item_bytes = PIXELS;
  return BURN_OK;
}

/* The header says how much will come: what is too much for such a file is refused before any of it is unpacked. */
static BurnStatus bound_check(const Reader *reader, uint64_t expected) {
  const size_t limit = burn_unpack_limit((size_t)reader->source.file_bytes);
  if (!reader->source.compressed || expected <= limit) return BURN_OK;
  return burn_status_make(
      BURN_STATUS_OUT_OF_RANGE,
      "mnist: %s: its header says %llu bytes, at most %zu are unpacked from a file of %llu; unpack it with gzip -d",
      reader->path, (unsigned long long)expected, limit, (unsigned long long)reader->source.file_bytes);
}

/* Reads the bytes after the header. The memory doubles as data arrive, so that a header alone cannot ask for gigabytes.
 */
static BurnStatus body_read(Reader *reader, Items *items) {
  const size_t total = items->count * items->item_bytes;
  const uint64_t expected = reader->source.offset + total;
  size_t filled = 0, room = total < FIRST_BLOCK ? total : FIRST_BLOCK;
  const BurnStatus bound = bound_check(reader, expected);
  if (bound != BURN_OK) return bound;
  for (;;) {
    unsigned char *grown = realloc(items->data, room > 0 ? room : 1);
    if (grown == NULL)
      return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "mnist: %s: no memory for %zu bytes", reader->path, room);
    items->data = grown;
    const BurnStatus status = reader_read(reader, items->data + filled, room - filled, expected);
    if (status != BURN_OK) return status;
    filled = room;
    if (filled == total) return reader_end(reader);
    room = total - room < room ? total : room * 2;
  }
}

/* Labels are classes. */
static BurnStatus labels_check(const Reader *reader, const Items *items) {
  for (size_t i = 0; i < items->count; i++)
    if (items->data[i] >= CLASSES)
      return burn_status_make(BURN_STATUS_CORRUPT_DATA,
                              "mnist: %s: label %u at offset %zu of the data is outside 0..%d", reader->path,
                              (unsigned)items->data[i], i + 8, CLASSES - 1);
  return BURN_OK;
}

/* Reads folder/name or folder/name.gz. items->data is the caller's to free, also on failure. */
static BurnStatus items_read(const char *folder, const char *name, uint32_t magic, Items *items) {
  Reader *reader = malloc(sizeof *reader);
  if (reader == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "mnist: out of memory");
  BurnStatus status = reader_open(reader, folder, name);
  if (status == BURN_OK) {
    status = header_read(reader, magic, items);
    if (status == BURN_OK) status = body_read(reader, items);
    if (status == BURN_OK && magic == LABELS_MAGIC) status = labels_check(reader, items);
    burn__source_close(&reader->source);
  }
  free(reader);
  return status;
}

/* -- the dataset ------------------------------------------------------------------------------ */

static const char *const file_names[2][2] = {
    [BURN_MNIST_TRAIN] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"},
    [BURN_MNIST_TEST] = {"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"},
};

BurnDataset *burn_dataset_mnist(const char *folder, uint32_t split, BurnStatus *status) {
  Items images = {0}, labels = {0};
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK && (folder == NULL || split > BURN_MNIST_TEST))
    result = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "mnist: folder %s and split %u, 0 or 1 expected",
                              folder != NULL ? folder : "(none)", (unsigned)split);
  if (result == BURN_OK) result = items_read(folder, file_names[split][0], IMAGES_MAGIC, &images);
  if (result == BURN_OK) result = items_read(folder, file_names[split][1], LABELS_MAGIC, &labels);
  if (result == BURN_OK && images.count != labels.count)
    result = burn_status_make(BURN_STATUS_CORRUPT_DATA, "mnist: folder %s: %zu images in %s, but %zu labels in %s",
                              folder, images.count, file_names[split][0], labels.count, file_names[split][1]);
  if (result != BURN_OK) {
    free(images.data);
    free(labels.data);
    burn__store_status(status, result);
    return NULL;
  }
  const BurnColumn columns[] = {{"image", BURN_DTYPE_U8, BURN_SHAPE(SIDE, SIDE)}, {"label", BURN_DTYPE_U8, {0, {0}}}};
  void *const blocks[] = {images.data, labels.data};
  return burn__dataset_of_blocks(columns, 2, blocks, images.count, status);
}
