/* store_testing.h - what the tests of stores share: files in a folder, made of bytes, and values read from them. */
#ifndef BURN_STORE_TESTING_H
#define BURN_STORE_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/file.h>
#include <burn/store.h>

#include "forked.h"
#include "status_testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cmocka state: a device, and a folder for files. */
typedef struct Fixture {
  BurnDevice *device;
  char folder[64];
} Fixture;

BURN_UNUSED static int fixture_open(void **state) {
  Fixture *fixture = calloc(1, sizeof *fixture);
  assert_non_null(fixture);
  fixture->device = burn_device_open("ndarray");
  check_status(burn_device_status(fixture->device));
  make_folder(fixture->folder);
  *state = fixture;
  return 0;
}

BURN_UNUSED static int fixture_close(void **state) {
  Fixture *fixture = *state;
  burn_device_close(fixture->device);
  const int result = remove_folder(fixture->folder);
  free(fixture);
  return result;
}

typedef struct Path {
  char text[400];
} Path;

/* A name in the fixture's folder. */
BURN_UNUSED static Path path_in(const Fixture *fixture, const char *name) {
  Path path;
  (void)snprintf(path.text, sizeof path.text, "%s/%s", fixture->folder, name);
  return path;
}

/* A file of the data beside the checkout; "" where there is none, and then the test says so and passes. */
BURN_UNUSED static Path data_path(const char *name) {
  Path path;
  const char *data = getenv("BURN_DATA_DIR");
  (void)snprintf(path.text, sizeof path.text, "%s/models/%s", data && data[0] ? data : BURN_DATA_DIR, name);
  FILE *file = fopen(path.text, "rb");
  if (file)
    (void)fclose(file);
  else
    path.text[0] = '\0';
  return path;
}

/* Ends the test with a message where the library has no regular expressions. */
BURN_UNUSED static void need_patterns(void) {
  static const uint8_t none[] = {2, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
  const char *const pattern[] = {"x"};
  bool chosen;
  BurnStatus status = BURN_OK;
  BurnStore *store = burn_store_open_bytes(none, sizeof none, &status);
  check_status(status);
  status = burn_store_select(store, &(BurnStoreNames){.include = pattern, .include_count = 1}, &chosen);
  burn_store_close(store);
  if (burn_status_code(status) != BURN_STATUS_UNIMPLEMENTED) return;
  printf("skipped: %s\n", burn_status_message(status));
  skip();
}

/* Asserts that bytes are refused with this message. */
BURN_UNUSED static void assert_refused(const void *bytes, size_t count, const char *message) {
  BurnStatus status = BURN_OK;
  BurnStore *store = burn_store_open_bytes(bytes, count, &status);
  assert_null(store);
  assert_string_equal(burn_status_message(status), message);
}

/* A tensor of a file that a test makes: f32 values begin, begin + 1, .. */
typedef struct Made {
  const char *name;
  size_t rank;
  size_t sizes[4];
  float begin;
} Made;

typedef struct MadeFile {
  uint8_t bytes[1 << 16];
  size_t count;
} MadeFile;

/* A safetensors file of these, by its definition. */
BURN_UNUSED static void make_safetensors(MadeFile *file, const Made *tensors, size_t count) {
  char header[8192] = "{";
  size_t used = 1, data = 0;
  float values[4096];
  for (size_t i = 0; i < count; i++) {
    size_t elements = 1;
    used += (size_t)snprintf(header + used, sizeof header - used, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[",
                             i ? "," : "", tensors[i].name);
    for (size_t k = 0; k < tensors[i].rank; k++) {
      elements *= tensors[i].sizes[k];
      used += (size_t)snprintf(header + used, sizeof header - used, "%s%zu", k ? "," : "", tensors[i].sizes[k]);
    }
    assert_true(data + elements <= sizeof values / sizeof values[0]);
    for (size_t k = 0; k < elements; k++) values[data + k] = tensors[i].begin + (float)k;
    used += (size_t)snprintf(header + used, sizeof header - used, "],\"data_offsets\":[%zu,%zu]}", 4 * data,
                             4 * (data + elements));
    data += elements;
  }
  used += (size_t)snprintf(header + used, sizeof header - used, "}");
  assert_true(used < sizeof header && 8 + used + 4 * data <= sizeof file->bytes);
  const uint64_t length = used;
  memcpy(file->bytes, &length, 8);
  memcpy(file->bytes + 8, header, used);
  memcpy(file->bytes + 8 + used, values, 4 * data);
  file->count = 8 + used + 4 * data;
}

/* The values of a tensor as floats. */
BURN_UNUSED static void assert_values(const BurnStore *store, const char *name, BurnDevice *device,
                                      const double *wanted, size_t count) {
  double values[64];
  assert_true(count <= sizeof values / sizeof values[0]);
  check_status(burn_read_f64(burn_store_tensor(store, name, device), values, count));
  for (size_t i = 0; i < count; i++)
    if (values[i] != wanted[i]) fail_msg("%s[%zu] is %g, expected %g", name, i, values[i], wanted[i]);
}

#endif
