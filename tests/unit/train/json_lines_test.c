/* json_lines_test.c - files with a JSON object per line: what is read, and that each bad line is refused with file, line
 * and column, or left out and counted. */
#include <burn/train/dataset.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "file_testing.h"

static const char path[] = "json_lines_test.jsonl";

static BurnDataset *read_text(const char *text, const BurnColumn *columns, size_t count, const BurnReadConfig *config,
                              BurnStatus *status) {
  file_write(path, text, strlen(text));
  *status = BURN_OK;
  return burn_dataset_json_lines(path, columns, count, config, status);
}

static void every_dtype_is_read(void **state) {
  (void)state;
  const BurnColumn columns[] = {{"f32", BURN_DTYPE_F32, {2, {2, 3}}}, {"f64", BURN_DTYPE_F64, {0, {0}}},
                                {"i64", BURN_DTYPE_I64, {1, {2}}},    {"i16", BURN_DTYPE_I16, {0, {0}}},
                                {"u8", BURN_DTYPE_U8, {1, {3}}},      {"bool", BURN_DTYPE_BOOL, {1, {2}}},
                                {"text", BURN_DTYPE_U8, {1, {6}}},    {"i8", BURN_DTYPE_I8, {0, {0}}}};
  BurnStatus status;
  BurnDataset *dataset = read_text(
      "{\"f32\":[[1,2.5,-3e2],[4,5,6]],\"f64\":0.1,\"i64\":[9007199254740991,-1],\"i16\":-32768,\"u8\":[0,255,7],"
      "\"bool\":[true,0],\"text\":\"h\\u00e9y\",\"i8\":-128,\"other\":{}}\r\n"
      "\n  \t\r\n" /* blank lines are not items */
      "{\"i8\":127,\"text\":\"123456\",\"bool\":[false,1],\"u8\":[1,2,3],\"i16\":32767,\"i64\":[0,0],\"f64\":-1,"
      "\"f32\":[[0,0,0],[0,0,1]]}", /* the last line need not end */
      columns, 8, NULL, &status);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
  assert_int_equal(burn_dataset_count(dataset), 2);
  float f32[6];
  double f64;
  int64_t i64[2];
  int16_t i16;
  uint8_t u8[3], bools[2], text[6];
  int8_t i8;
  void *const items[] = {f32, &f64, i64, &i16, u8, bools, text, &i8};
  assert_true(burn_dataset_get(dataset, 0, items) == BURN_OK);
  assert_memory_equal(f32, ((const float[]){1, 2.5f, -300, 4, 5, 6}), sizeof f32);
  assert_true(f64 == 0.1 && i64[0] == INT64_C(9007199254740991) && i64[1] == -1 && i16 == -32768 && i8 == -128);
  assert_true(u8[0] == 0 && u8[1] == 255 && u8[2] == 7 && bools[0] == 1 && bools[1] == 0);
  assert_memory_equal(text, "h\xc3\xa9y\0\0", 6);
  assert_true(burn_dataset_get(dataset, 1, items) == BURN_OK);
  assert_memory_equal(text, "123456", 6);
  assert_true(f32[5] == 1 && i16 == 32767 && i8 == 127 && bools[0] == 0 && bools[1] == 1);
  burn_dataset_drop(dataset);
}

/* 2^53 may have been 2^53 + 1 in the file. */
static void inexact_integers_are_refused(void **state) {
  (void)state;
  const BurnColumn column = {"i", BURN_DTYPE_I64, {0, {0}}};
  BurnStatus status;
  assert_null(read_text("{\"i\":9007199254740993}", &column, 1, NULL, &status));
  assert_non_null(strstr(burn_status_message(status), "line 1: column \"i\" is a number that is not i64"));
}

static const BurnColumn pair[] = {{"x", BURN_DTYPE_F32, {1, {2}}}, {"y", BURN_DTYPE_U8, {0, {0}}}};

static void bad_lines_are_refused_or_skipped(void **state) {
  (void)state;
  const struct {
    const char *line, *reason;
  } cases[] = {
      {"{\"x\":[1,2],\"y\":3", "no JSON object"},
      {"{\"x\":[1,2],\"y\":3} 4", "no JSON object"},
      {"[1,2]", "no JSON object"},
      {"{\"x\":[1,2]}", "column \"y\" is missing"},
      {"{\"x\":[1,2],\"Y\":3}", "column \"y\" is missing"},
      {"{\"x\":[1],\"y\":3}", "column \"x\" is a list with too few elements"},
      {"{\"x\":[1,2,3],\"y\":3}", "column \"x\" is a list with too many elements"},
      {"{\"x\":1,\"y\":3}", "column \"x\" is not a list where one is expected"},
      {"{\"x\":\"ab\",\"y\":3}", "column \"x\" is not a list where one is expected"},
      {"{\"x\":[1,[2]],\"y\":3}", "column \"x\" is not a number where one is expected"},
      {"{\"x\":[1,null],\"y\":3}", "column \"x\" is not a number where one is expected"},
      {"{\"x\":[1,1e39],\"y\":3}", "column \"x\" is a number that is not f32"},
      {"{\"x\":[1,2],\"y\":256}", "column \"y\" is a number that is not u8"},
      {"{\"x\":[1,2],\"y\":-1}", "column \"y\" is a number that is not u8"},
      {"{\"x\":[1,2],\"y\":1.5}", "column \"y\" is a number that is not u8"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[512], message[512];
    BurnStatus status;
    size_t skipped = 99;
    const BurnReadConfig config = {true, &skipped};
    snprintf(text, sizeof text, "{\"x\":[0,0],\"y\":1}\n\n%s\n{\"x\":[0,0],\"y\":2}\n", cases[i].line);
    snprintf(message, sizeof message, "json_lines: %s: line 3: %s", path, cases[i].reason);
    assert_null(read_text(text, pair, 2, NULL, &status));
    assert_int_equal(burn_status_code(status), BURN_STATUS_CORRUPT_DATA);
    assert_string_equal(burn_status_message(status), message);
    BurnDataset *dataset = read_text(text, pair, 2, &config, &status);
    assert_int_equal(skipped, 1);
    assert_int_equal(burn_dataset_count(dataset), 2);
    float x[2];
    uint8_t y = 0;
    assert_true(burn_dataset_get(dataset, 1, (void *const[]){x, &y}) == BURN_OK);
    assert_int_equal(y, 2);
    burn_dataset_drop(dataset);
  }
}

/* A zero byte is part of no text, and does not hide what is after it. */
static void zero_bytes_are_refused(void **state) {
  (void)state;
  const char bytes[] = "{\"x\":[1,2],\"y\":3}\0{\"x\":[1,2],\"y\":3}\n";
  BurnStatus status = BURN_OK;
  file_write(path, bytes, sizeof bytes - 1);
  assert_null(burn_dataset_json_lines(path, pair, 2, NULL, &status));
  assert_int_equal(burn_status_code(status), BURN_STATUS_CORRUPT_DATA);
}

/* Lines longer than what is read at once, and more items than there is room for at first. */
static void long_files_are_read(void **state) {
  (void)state;
  enum { LENGTH = 100000, ITEMS = 200 };
  const BurnColumn column = {"t", BURN_DTYPE_U8, {1, {LENGTH}}};
  char *line = malloc(LENGTH + 16);
  assert_non_null(line);
  memcpy(line, "{\"t\":\"", 6);
  memset(line + 6, 'a', LENGTH);
  memcpy(line + 6 + LENGTH, "\"}\n", 4);
  line[6 + LENGTH - 1] = 'z';
  BurnStatus status;
  BurnDataset *dataset = read_text(line, &column, 1, NULL, &status);
  assert_true(status == BURN_OK);
  uint8_t *text = malloc(LENGTH);
  assert_true(burn_dataset_get(dataset, 0, (void *const[]){text}) == BURN_OK);
  assert_memory_equal(text, line + 6, LENGTH);
  burn_dataset_drop(dataset);
  free(text);
  free(line);

  char many[ITEMS * 32] = "";
  for (size_t i = 0, used = 0; i < ITEMS; i++)
    used += (size_t)snprintf(many + used, sizeof many - used, "{\"x\":[%zu,0],\"y\":%zu}\n", i, i);
  dataset = read_text(many, pair, 2, NULL, &status);
  assert_int_equal(burn_dataset_count(dataset), ITEMS);
  float x[2];
  uint8_t y;
  for (size_t i = 0; i < ITEMS; i++) {
    assert_true(burn_dataset_get(dataset, i, (void *const[]){x, &y}) == BURN_OK);
    assert_true(x[0] == (float)i && y == i);
  }
  burn_dataset_drop(dataset);
}

static void bad_arguments_are_refused(void **state) {
  (void)state;
  const BurnColumn half = {"x", BURN_DTYPE_F16, {0, {0}}};
  BurnStatus status = BURN_OK;
  assert_null(burn_dataset_json_lines("no-such-file.jsonl", pair, 2, NULL, &status));
  assert_int_equal(burn_status_code(status), BURN_STATUS_NOT_FOUND);
  assert_non_null(strstr(burn_status_message(status), "no-such-file.jsonl"));
  assert_null(read_text("", &half, 1, NULL, &status));
  assert_string_equal(burn_status_message(status), "json_lines: column \"x\" is f16, which is not read");
  assert_null(read_text("", pair, 0, NULL, &status));
  assert_string_equal(burn_status_message(status), "dataset: 0 columns, 1..8 expected");
  BurnDataset *dataset = read_text("", pair, 2, NULL, &status);
  assert_int_equal(burn_dataset_count(dataset), 0);
  burn_dataset_drop(dataset);
  const BurnStatus earlier = status = burn_status_make(BURN_STATUS_IO, "weights: file not found");
  assert_null(burn_dataset_json_lines(path, pair, 2, NULL, &status));
  assert_true(status == earlier);
}

static int remove_file(void **state) {
  (void)state;
  remove(path);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_dtype_is_read),
      cmocka_unit_test(inexact_integers_are_refused),
      cmocka_unit_test(bad_lines_are_refused_or_skipped),
      cmocka_unit_test(zero_bytes_are_refused),
      cmocka_unit_test(long_files_are_read),
      cmocka_unit_test(bad_arguments_are_refused),
  };
  return cmocka_run_group_tests_name("json_lines", tests, NULL, remove_file);
}
