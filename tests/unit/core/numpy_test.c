/* numpy_test.c - NumPy's files: what NumPy wrote is read, what is written is read by the same rules and, where there is a
 * Python with NumPy, by NumPy; everything else is refused with a reason. */
#include <burn/burn.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "file_testing.h"

#include "data_golden.h"

static const char npy[] = "numpy_test.npy", npz[] = "numpy_test.npz";

static BurnDevice *device;

static int set_up(void **state) {
  (void)state;
  device = burn_device_open("ndarray");
  return burn_device_status(device) == BURN_OK ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  burn_device_close(device);
  remove(npy);
  remove(npz);
  return 0;
}

/* Takes x, which is 0, 0.5 .. 2.5 as [2, 3] of a dtype. */
static void halves_check(BurnTensor *x, BurnDType dtype) {
  double values[6];
  if (burn_tensor_status(x) != BURN_OK) fail_msg("%s", burn_status_message(burn_tensor_status(x)));
  assert_int_equal(burn_dtype(x), dtype);
  assert_string_equal(burn_shape_text(burn_shape(x)).text, "[2,3]");
  assert_true(burn_read_f64(burn_cast(x, BURN_DTYPE_F64), values, 6) == BURN_OK);
  for (size_t i = 0; i < 6; i++) assert_true(values[i] == (double)i / 2);
}

static BurnTensor *read_bytes(const void *bytes, size_t count) {
  file_write(npy, bytes, count);
  return burn_npy_read(device, npy);
}

static void what_numpy_saved_is_read(void **state) {
  (void)state;
  halves_check(read_bytes(npy_f32, sizeof npy_f32), BURN_DTYPE_F32);
  halves_check(read_bytes(npy_fortran, sizeof npy_fortran), BURN_DTYPE_F32);
  halves_check(read_bytes(npy_big, sizeof npy_big), BURN_DTYPE_F64);
  halves_check(read_bytes(npy_version_2, sizeof npy_version_2), BURN_DTYPE_F16);
  int64_t number = 0;
  BurnTensor *x = read_bytes(npy_scalar, sizeof npy_scalar);
  assert_string_equal(burn_shape_text(burn_shape(x)).text, "[1]"); /* tensors have axes */
  BurnStatus status = burn_read_i64(x, &number, 1);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
  assert_int_equal(number, -7);
  int16_t turned[24];
  assert_true(burn_read(read_bytes(npy_turned, sizeof npy_turned), turned, sizeof turned) == BURN_OK);
  for (int i = 0; i < 24; i++) assert_int_equal(turned[i], i);
}

static void archives_are_read(void **state) {
  (void)state;
  BurnStatus status = BURN_OK;
  file_write(npz, npz_stored, sizeof npz_stored);
  BurnNpz *archive = burn_npz_open(npz, &status);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
  assert_int_equal(burn_npz_count(archive), 2);
  assert_string_equal(burn_npz_name(archive, 1), "y");
  halves_check(burn_npz_read(archive, "x", device), BURN_DTYPE_F32);
  BurnTensor *none = burn_npz_read(archive, "z", device);
  assert_string_equal(burn_status_message(burn_tensor_status(none)), "npz: no array \"z\"; there are \"x\", \"y\"");
  burn_drop(none);
  burn_npz_close(archive);
  file_write(npz, npz_deflated, sizeof npz_deflated);
  archive = burn_npz_open(npz, &status);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
  halves_check(burn_npz_read(archive, "x", device), BURN_DTYPE_F32);
  bool flags[2];
  assert_true(burn_read(burn_npz_read(archive, "flags", device), flags, sizeof flags) == BURN_OK);
  assert_true(flags[0] && !flags[1]);
  burn_npz_close(archive);
}

static void refuse(const void *bytes, size_t count, const char *reason) {
  BurnTensor *x = read_bytes(bytes, count);
  const char *message = burn_status_message(burn_tensor_status(x));
  if (strstr(message, reason) == NULL) fail_msg("'%s' does not contain '%s'", message, reason);
  burn_drop(x);
}

/* npy_f32 with a text of its header replaced by one of the same length. */
static void refuse_changed(const char *from, const char *to, const char *reason) {
  unsigned char bytes[sizeof npy_f32];
  memcpy(bytes, npy_f32, sizeof bytes);
  for (size_t i = 0; i + strlen(from) < sizeof bytes; i++) {
    if (memcmp(bytes + i, from, strlen(from)) != 0) continue;
    memcpy(bytes + i, to, strlen(from));
    refuse(bytes, sizeof bytes, reason);
    return;
  }
  fail_msg("no '%s' in the header", from);
}

static void bad_files_are_refused(void **state) {
  (void)state;
  refuse(npy_unsigned, sizeof npy_unsigned, "numpy_test.npy: npy: dtype '<u2' is not read; save the array as bool");
  refuse(npy_object, sizeof npy_object, "dtype '|O' is not read");
  refuse(npy_struct, sizeof npy_struct, "a dtype (a struct is not read) expected at byte 10 of the header");
  refuse(npy_f32, sizeof npy_f32 - 1, "[2,3] of f32, but 23 bytes of values");
  refuse(npy_f32, 40, "a header of 118 bytes in a file of 40");
  refuse("PK", 2, "no NumPy file");
  refuse_changed("(2, 3)", "(2, 4)", "[2,4] of f32, but 24 bytes of values");
  refuse_changed("(2, 3)", "(2 .3)", "a comma expected");
  refuse_changed("(2, 3)", "(-2,3)", "the size of an axis expected");
  refuse_changed("(2, 3), }", "(99999999", "a comma expected");
  refuse_changed("False", "0    ", "True or False expected");
  refuse_changed("descr", "shape", "a shape expected");
  refuse_changed("'shape'", "'descr'", "each once, expected");
  refuse_changed("\x93NUMPY\x01", "\x93NUMPY\x09", "version 9, 1 to 3 expected");
  BurnTensor *x = burn_npy_read(device, "numpy_test.none");
  assert_int_equal(burn_status_code(burn_tensor_status(x)), BURN_STATUS_NOT_FOUND);
  burn_drop(x);
}

static void refuse_archive(const unsigned char *bytes, size_t count, const char *reason) {
  BurnStatus status = BURN_OK;
  file_write(npz, bytes, count);
  assert_null(burn_npz_open(npz, &status));
  const char *message = burn_status_message(status);
  if (strstr(message, reason) == NULL) fail_msg("'%s' does not contain '%s'", message, reason);
}

static void damaged_archives_are_refused(void **state) {
  (void)state;
  unsigned char bytes[sizeof npz_deflated];
  refuse_archive(npz_deflated, sizeof npz_deflated - 1, "npz: numpy_test.npz: zip: no directory at the end of");
  refuse_archive(npz_deflated, 10, "zip: 10 bytes, too few for an archive");
  /* Any byte may be damaged: what is still read has the checksums that its directory says. */
  for (size_t i = 0; i < sizeof bytes; i++) {
    BurnStatus status = BURN_OK;
    memcpy(bytes, npz_deflated, sizeof bytes);
    bytes[i] ^= 0x55;
    file_write(npz, bytes, sizeof bytes);
    BurnNpz *archive = burn_npz_open(npz, &status);
    assert_true((archive == NULL) == (status != BURN_OK));
    const size_t x = archive != NULL ? burn_npz_find(archive, "x") : 0;
    if (archive != NULL && x < burn_npz_count(archive))
      halves_check(burn_npz_read(archive, "x", device), BURN_DTYPE_F32);
    burn_npz_close(archive);
  }
}

static void no_name_is_found(void **state) {
  (void)state;
  BurnStatus status = BURN_OK;
  file_write(npz, npz_deflated, sizeof npz_deflated);
  BurnNpz *archive = burn_npz_open(npz, &status);
  assert_int_equal(status, BURN_OK);
  assert_int_equal(burn_npz_find(archive, NULL), burn_npz_count(archive));
  burn_npz_close(archive);
}

static BurnTensor *halves(BurnDType dtype) {
  const float values[] = {0, 0.5f, 1, 1.5f, 2, 2.5f};
  return burn_cast(burn_tensor_f32(device, values, BURN_SHAPE(2, 3)), dtype);
}

/* numpy.save(x) of the same version of NumPy has these very bytes. */
static void what_is_written_is_what_numpy_writes(void **state) {
  (void)state;
  uint8_t *bytes = NULL;
  size_t count = 0;
  assert_true(burn_npy_write(npy, halves(BURN_DTYPE_F32)) == BURN_OK);
  assert_true(burn_file_read(npy, 1 << 20, &bytes, &count) == BURN_OK);
  assert_int_equal(count, sizeof npy_f32);
  assert_memory_equal(bytes, npy_f32, sizeof npy_f32);
  free(bytes);
  assert_true(burn_npy_write(npy, halves(BURN_DTYPE_BF16)) == BURN_OK);
  halves_check(burn_npy_read(device, npy), BURN_DTYPE_F32);
  BurnTensor *failed = burn_tensor_failed(burn_status_make(BURN_STATUS_IO, "earlier"));
  assert_string_equal(burn_status_message(burn_npy_write(npy, failed)), "npy: numpy_test.npy: earlier");
}

static void archives_go_both_ways(void **state) {
  (void)state;
  static const char *const names[] = {"x", "half"};
  for (int deflated = 0; deflated < 2; deflated++) {
    BurnTensor *tensors[] = {halves(BURN_DTYPE_F32), halves(BURN_DTYPE_F16)};
    BurnStatus status = burn_npz_write(npz, names, tensors, 2, deflated);
    if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
    BurnNpz *archive = burn_npz_open(npz, &status);
    if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
    halves_check(burn_npz_read(archive, "x", device), BURN_DTYPE_F32);
    halves_check(burn_npz_read(archive, "half", device), BURN_DTYPE_F16);
    burn_npz_close(archive);
    if (system("python3 -c 'import zipfile' >/dev/null 2>&1") == 0)
      assert_int_equal(
          system("python3 -c \"import zipfile; assert zipfile.ZipFile('numpy_test.npz').testzip() is None\""), 0);
    if (system("python3 -c 'import numpy' >/dev/null 2>&1") == 0)
      assert_int_equal(
          system("python3 -c \"import numpy; a = numpy.load('numpy_test.npz'); "
                 "assert (a['x'] == a['half']).all() and a['half'].dtype == 'f2' and a['x'][1][2] == 2.5\""),
          0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_numpy_saved_is_read), cmocka_unit_test(archives_are_read),
      cmocka_unit_test(bad_files_are_refused),    cmocka_unit_test(damaged_archives_are_refused),
      cmocka_unit_test(no_name_is_found),         cmocka_unit_test(what_is_written_is_what_numpy_writes),
      cmocka_unit_test(archives_go_both_ways),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
