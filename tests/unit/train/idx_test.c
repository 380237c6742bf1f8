/* idx_test.c - MNIST files: made by hand, damaged in every way, and the real ones where they are.
 *
 * The folder of the real data is $BURN_DATA_DIR/mnist; without the variable, the one that the build was configured
 * with. */
#include <burn/train/dataset.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

enum { PIXELS = 784, ITEMS = 3, IMAGES_BYTES = 16 + ITEMS * PIXELS, LABELS_BYTES = 8 + ITEMS };

static const char *const images_name = "t10k-images-idx3-ubyte", *const labels_name = "t10k-labels-idx1-ubyte";

typedef struct Fixture {
  char folder[64];
  uint8_t images[IMAGES_BYTES + 8];
  uint8_t labels[LABELS_BYTES + 8];
} Fixture;

static void put_big_endian(uint8_t *at, uint32_t value) {
  for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> (24 - 8 * i));
}

static void path_of(const Fixture *fixture, const char *name, const char *extension, char path[256]) {
  assert_true(snprintf(path, 256, "%s/%s%s", fixture->folder, name, extension) < 256);
}

static void write_plain(const Fixture *fixture, const char *name, const char *extension, const uint8_t *data,
                        size_t bytes) {
  char path[256];
  path_of(fixture, name, extension, path);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, bytes, file), bytes);
  assert_int_equal(fclose(file), 0);
}

/* The gzipped bytes; returns their number. */
static size_t compress_bytes(const uint8_t *data, size_t bytes, uint8_t *out, size_t room) {
  z_stream stream;
  memset(&stream, 0, sizeof stream);
  assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  uint8_t *copy = malloc(bytes);
  assert_non_null(copy);
  memcpy(copy, data, bytes);
  stream.next_in = copy;
  stream.avail_in = (uInt)bytes;
  stream.next_out = out;
  stream.avail_out = (uInt)room;
  assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
  const size_t made = room - stream.avail_out;
  deflateEnd(&stream);
  free(copy);
  return made;
}

static void remove_files(const Fixture *fixture) {
  const char *const names[] = {images_name, labels_name}, *const extensions[] = {"", ".gz"};
  for (size_t i = 0; i < 4; i++) {
    char path[256];
    path_of(fixture, names[i / 2], extensions[i % 2], path);
    unlink(path);
  }
}

static int set_up(void **state) {
  Fixture *fixture = calloc(1, sizeof *fixture);
  assert_non_null(fixture);
  strcpy(fixture->folder, "/tmp/burn_idx_test_XXXXXX");
  assert_non_null(mkdtemp(fixture->folder));
  put_big_endian(fixture->images, 0x803);
  put_big_endian(fixture->images + 4, ITEMS);
  put_big_endian(fixture->images + 8, 28);
  put_big_endian(fixture->images + 12, 28);
  for (size_t i = 0; i < ITEMS * PIXELS; i++) fixture->images[16 + i] = (uint8_t)(i * 2654435761u >> 13);
  put_big_endian(fixture->labels, 0x801);
  put_big_endian(fixture->labels + 4, ITEMS);
  fixture->labels[8] = 7;
  fixture->labels[9] = 0;
  fixture->labels[10] = 9;
  write_plain(fixture, images_name, "", fixture->images, IMAGES_BYTES);
  write_plain(fixture, labels_name, "", fixture->labels, LABELS_BYTES);
  *state = fixture;
  return 0;
}

static int tear_down(void **state) {
  Fixture *fixture = *state;
  remove_files(fixture);
  rmdir(fixture->folder);
  free(fixture);
  return 0;
}

/* Opens the folder, checks that it gives the fixture's items, and closes it. */
static void assert_readable(const Fixture *fixture) {
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_mnist(fixture->folder, BURN_MNIST_TEST, &status);
  if (dataset == NULL) fail_msg("%s", burn_status_message(status));
  assert_int_equal(burn_dataset_count(dataset), ITEMS);
  for (size_t i = 0; i < ITEMS; i++) {
    uint8_t image[PIXELS] = {0}, label = 99;
    assert_true(burn_dataset_get(dataset, i, (void *const[]){image, &label}) == BURN_OK);
    assert_memory_equal(image, fixture->images + 16 + i * PIXELS, PIXELS);
    assert_int_equal(label, fixture->labels[8 + i]);
  }
  burn_dataset_drop(dataset);
}

/* Opens the folder and expects a refusal with this code whose message contains the text. */
static void assert_refused(const Fixture *fixture, uint32_t code, const char *text) {
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_mnist(fixture->folder, BURN_MNIST_TEST, &status);
  assert_null(dataset);
  if (burn_status_code(status) != code || strstr(burn_status_message(status), text) == NULL)
    fail_msg("code %u, \"%s\" does not contain \"%s\"", burn_status_code(status), burn_status_message(status), text);
}

static void plain_files_are_read(void **state) {
  const Fixture *fixture = *state;
  assert_readable(fixture);
}

static void gzipped_files_are_read(void **state) {
  const Fixture *fixture = *state;
  uint8_t packed[8192];
  remove_files(fixture);
  write_plain(fixture, images_name, ".gz", packed,
              compress_bytes(fixture->images, IMAGES_BYTES, packed, sizeof packed));
  write_plain(fixture, labels_name, "", fixture->labels, LABELS_BYTES);
  assert_readable(fixture);
}

static void missing_files_are_named(void **state) {
  Fixture *fixture = *state;
  remove_files(fixture);
  assert_refused(fixture, BURN_STATUS_NOT_FOUND,
                 "neither t10k-images-idx3-ubyte nor t10k-images-idx3-ubyte.gz is in folder /tmp/");
  BurnStatus status = BURN_OK;
  assert_null(burn_dataset_mnist(NULL, BURN_MNIST_TEST, &status));
  assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
  status = BURN_OK;
  assert_null(burn_dataset_mnist(fixture->folder, 2, &status));
  assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
  status = BURN_OK;
  char long_folder[5000];
  memset(long_folder, 'x', sizeof long_folder - 1);
  long_folder[sizeof long_folder - 1] = '\0';
  assert_null(burn_dataset_mnist(long_folder, BURN_MNIST_TEST, &status));
  assert_int_equal(burn_status_code(status), BURN_STATUS_IO);
}

/* Every length short of the whole is refused with the offset where the data end. */
static void truncation_is_found_everywhere(void **state) {
  const Fixture *fixture = *state;
  for (size_t bytes = 0; bytes < IMAGES_BYTES; bytes++) {
    char text[80];
    snprintf(text, sizeof text, "images-idx3-ubyte: truncated at offset %zu of the data, %d bytes expected", bytes,
             bytes < 16 ? 16 : IMAGES_BYTES);
    write_plain(fixture, images_name, "", fixture->images, bytes);
    assert_refused(fixture, BURN_STATUS_CORRUPT_DATA, text);
  }
  write_plain(fixture, images_name, "", fixture->images, IMAGES_BYTES);
  for (size_t bytes = 0; bytes < LABELS_BYTES; bytes++) {
    write_plain(fixture, labels_name, "", fixture->labels, bytes);
    assert_refused(fixture, BURN_STATUS_CORRUPT_DATA, "labels-idx1-ubyte: truncated at offset");
  }
}

static void truncated_gzip_is_found_everywhere(void **state) {
  const Fixture *fixture = *state;
  uint8_t packed[8192];
  const size_t bytes = compress_bytes(fixture->images, IMAGES_BYTES, packed, sizeof packed);
  remove_files(fixture);
  write_plain(fixture, labels_name, "", fixture->labels, LABELS_BYTES);
  for (size_t i = 0; i < bytes; i++) {
    write_plain(fixture, images_name, ".gz", packed, i);
    assert_refused(fixture, BURN_STATUS_CORRUPT_DATA, "images-idx3-ubyte.gz: ");
  }
}

static void trailing_bytes_are_refused(void **state) {
  Fixture *fixture = *state;
  uint8_t packed[8192] = {0};
  write_plain(fixture, images_name, "", fixture->images, IMAGES_BYTES + 1);
  assert_refused(fixture, BURN_STATUS_CORRUPT_DATA, "more data after the last item, at offset 2368 of the data");
  remove_files(fixture);
  write_plain(fixture, labels_name, "", fixture->labels, LABELS_BYTES);
  write_plain(fixture, images_name, ".gz", packed,
              compress_bytes(fixture->images, IMAGES_BYTES + 1, packed, sizeof packed));
  assert_refused(fixture, BURN_STATUS_CORRUPT_DATA, "more data after the last item, at offset 2368 of the data");
  const size_t bytes = compress_bytes(fixture->images, IMAGES_BYTES, packed, sizeof packed);
  write_plain(fixture, images_name, ".gz", packed, bytes + 1);
  assert_refused(fixture, BURN_STATUS_CORRUPT_DATA, "more bytes after the end of the gzip stream");
}

/* Every bit of either header matters. */
static void header_bits_are_checked(void **state) {
  Fixture *fixture = *state;
  for (size_t bit = 0; bit < 16 * 8; bit++) {
    fixture->images[bit / 8] ^= (uint8_t)(1u << bit % 8);
    write_plain(fixture, images_name, "", fixture->images, IMAGES_BYTES);
    assert_refused(fixture, BURN_STATUS_CORRUPT_DATA, "images-idx3-ubyte: ");
    fixture->images[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  write_plain(fixture, images_name, "", fixture->images, IMAGES_BYTES);
  for (size_t bit = 0; bit < 8 * 8; bit++) {
    fixture->labels[bit / 8] ^= (uint8_t)(1u << bit % 8);
    write_plain(fixture, labels_name, "", fixture->labels, LABELS_BYTES);
    assert_refused(fixture, BURN_STATUS_CORRUPT_DATA, "labels-idx1-ubyte: ");
    fixture->labels[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
}

static void header_messages_have_the_values(void **state) {
  Fixture *fixture = *state;
  put_big_endian(fixture->images, 0x801);
  write_plain(fixture, images_name, "", fixture->images, IMAGES_BYTES);
  assert_refused(fixture, BURN_STATUS_CORRUPT_DATA, "magic 0x00000801 at offset 0, 0x00000803 expected");
  put_big_endian(fixture->images, 0x803);
  put_big_endian(fixture->images + 4, UINT32_MAX);
  write_plain(fixture, images_name, "", fixture->images, IMAGES_BYTES);
  assert_refused(fixture, BURN_STATUS_CORRUPT_DATA, "4294967295 items at offset 4, at most 16777216 expected");
  put_big_endian(fixture->images + 4, 1u << 24);
  write_plain(fixture, images_name, "", fixture->images, IMAGES_BYTES);
  assert_refused(fixture, BURN_STATUS_CORRUPT_DATA, "truncated at offset 2368 of the data, 13153337360 bytes expected");
  put_big_endian(fixture->images + 4, ITEMS);
  put_big_endian(fixture->images + 12, 27);
  write_plain(fixture, images_name, "", fixture->images, IMAGES_BYTES);
  assert_refused(fixture, BURN_STATUS_CORRUPT_DATA, "images of 28 x 27 at offset 8, 28 x 28 expected");
}

static void labels_are_classes(void **state) {
  Fixture *fixture = *state;
  fixture->labels[9] = 10;
  write_plain(fixture, labels_name, "", fixture->labels, LABELS_BYTES);
  assert_refused(fixture, BURN_STATUS_CORRUPT_DATA, "label 10 at offset 9 of the data is outside 0..9");
}

static void counts_must_agree(void **state) {
  Fixture *fixture = *state;
  put_big_endian(fixture->labels + 4, ITEMS - 1);
  write_plain(fixture, labels_name, "", fixture->labels, LABELS_BYTES - 1);
  assert_refused(fixture, BURN_STATUS_CORRUPT_DATA,
                 "3 images in t10k-images-idx3-ubyte, but 2 labels in t10k-labels-idx1-ubyte");
}

static void no_items_are_a_dataset(void **state) {
  Fixture *fixture = *state;
  put_big_endian(fixture->images + 4, 0);
  put_big_endian(fixture->labels + 4, 0);
  write_plain(fixture, images_name, "", fixture->images, 16);
  write_plain(fixture, labels_name, "", fixture->labels, 8);
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_mnist(fixture->folder, BURN_MNIST_TEST, &status);
  assert_true(status == BURN_OK);
  assert_int_equal(burn_dataset_count(dataset), 0);
  burn_dataset_drop(dataset);
}

/* A flipped bit of a gzipped file is refused or leaves the data as they are (the time in its header, say). */
static void gzip_bit_flips_never_change_data(void **state) {
  const Fixture *fixture = *state;
  uint8_t packed[8192];
  const size_t bytes = compress_bytes(fixture->images, IMAGES_BYTES, packed, sizeof packed);
  size_t refused = 0, same = 0;
  remove_files(fixture);
  write_plain(fixture, labels_name, "", fixture->labels, LABELS_BYTES);
  for (size_t bit = 0; bit < bytes * 8; bit++) {
    if (bit >= 200 && bit + 200 < bytes * 8 && bit % 7 != 0) continue;
    packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
    write_plain(fixture, images_name, ".gz", packed, bytes);
    packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
    BurnStatus status = BURN_OK;
    BurnDataset *dataset = burn_dataset_mnist(fixture->folder, BURN_MNIST_TEST, &status);
    burn_dataset_drop(dataset);
    if (dataset != NULL) {
      assert_readable(fixture);
      same++;
    } else {
      refused++;
      assert_int_equal(burn_status_code(status), BURN_STATUS_CORRUPT_DATA);
    }
  }
  assert_true(refused > 400 && same < 100);
}

static void a_folder_in_place_of_a_file_is_refused(void **state) {
  const Fixture *fixture = *state;
  char nested[256];
  remove_files(fixture);
  path_of(fixture, images_name, "", nested);
  assert_int_equal(mkdir(nested, 0700), 0);
  assert_refused(fixture, BURN_STATUS_IO, images_name);
  assert_int_equal(rmdir(nested), 0);
}

/* The header of a small file asks for 13 GB: refused before a byte more is unpacked. */
static void gzipped_data_are_bounded(void **state) {
  Fixture *fixture = *state;
  uint8_t packed[8192];
  char text[160];
  put_big_endian(fixture->images + 4, 1u << 24);
  const size_t bytes = compress_bytes(fixture->images, IMAGES_BYTES, packed, sizeof packed);
  remove_files(fixture);
  write_plain(fixture, images_name, ".gz", packed, bytes);
  snprintf(text, sizeof text, "its header says 13153337360 bytes, at most 1073741824 are unpacked from a file of %zu",
           bytes);
  assert_refused(fixture, BURN_STATUS_OUT_OF_RANGE, text);
}

#if !defined(_WIN32)
static void a_pipe_in_place_of_a_file_is_refused(void **state) {
  const Fixture *fixture = *state;
  const char *const extensions[] = {"", ".gz"};
  for (int i = 0; i < 2; i++) {
    char path[256];
    remove_files(fixture);
    path_of(fixture, images_name, extensions[i], path);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(10); /* instead of waiting for ever */
    assert_refused(fixture, BURN_STATUS_IO, "not a regular file");
    alarm(0);
  }
}
#endif

/* -- the real data ---------------------------------------------------------------------------- */

#ifndef BURN_DATA_DIR
#define BURN_DATA_DIR "../shared/data"
#endif

static void mnist_folder(char *folder, size_t bytes) {
  const char *data = getenv("BURN_DATA_DIR");
  if (data == NULL || data[0] == '\0') data = BURN_DATA_DIR;
  assert_true(snprintf(folder, bytes, "%s/mnist", data) > 0);
}

static void real_mnist_has_its_counts(void **state) {
  (void)state;
  static const struct {
    uint32_t split;
    size_t count;
    uint8_t first_label;
    unsigned classes[10];
  } splits[] = {
      {BURN_MNIST_TRAIN, 60000, 5, {5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949}},
      {BURN_MNIST_TEST, 10000, 7, {980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}},
  };
  char folder[4096];
  mnist_folder(folder, sizeof folder);
  for (size_t i = 0; i < 2; i++) {
    BurnStatus status = BURN_OK;
    BurnDataset *dataset = burn_dataset_mnist(folder, splits[i].split, &status);
    if (burn_status_code(status) == BURN_STATUS_NOT_FOUND) {
      printf("skipped: no MNIST in %s\n", folder);
      skip();
    }
    if (dataset == NULL) fail_msg("%s", burn_status_message(status));
    assert_int_equal(burn_dataset_count(dataset), splits[i].count);
    unsigned classes[10] = {0};
    double sum = 0;
    for (size_t j = 0; j < splits[i].count; j++) {
      uint8_t image[PIXELS], label = 99;
      assert_true(burn_dataset_get(dataset, j, (void *const[]){image, &label}) == BURN_OK);
      if (j == 0) assert_int_equal(label, splits[i].first_label);
      classes[label]++;
      for (size_t k = 0; k < PIXELS; k++) sum += image[k];
    }
    assert_memory_equal(classes, splits[i].classes, sizeof classes);
    const double mean = sum / (255.0 * (double)PIXELS * (double)splits[i].count);
    assert_true(mean > 0.1300 && mean < 0.1330); /* 0.1307 and 0.1325 */
    burn_dataset_drop(dataset);
  }
}

int main(void) {
#define WITH_FILES(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
  const struct CMUnitTest tests[] = {
    WITH_FILES(plain_files_are_read),
    WITH_FILES(gzipped_files_are_read),
    WITH_FILES(missing_files_are_named),
    WITH_FILES(truncation_is_found_everywhere),
    WITH_FILES(truncated_gzip_is_found_everywhere),
    WITH_FILES(trailing_bytes_are_refused),
    WITH_FILES(header_bits_are_checked),
    WITH_FILES(header_messages_have_the_values),
    WITH_FILES(labels_are_classes),
    WITH_FILES(counts_must_agree),
    WITH_FILES(no_items_are_a_dataset),
    WITH_FILES(gzip_bit_flips_never_change_data),
    WITH_FILES(a_folder_in_place_of_a_file_is_refused),
    WITH_FILES(gzipped_data_are_bounded),
#if !defined(_WIN32)
    WITH_FILES(a_pipe_in_place_of_a_file_is_refused),
#endif
    cmocka_unit_test(real_mnist_has_its_counts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
