/* csv_test.c - files of comma-separated values and of lines: what is read, and that each bad line is refused with file
 * and line, or left out and counted. The files are what Python's csv module and RFC 4180 write. */
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

static const char path[] = "csv_test.csv";

static BurnDataset *read_text(const char *text, const BurnColumn *columns, size_t count, const BurnCsvConfig *config,
                              BurnStatus *status) {
  file_write(path, text, strlen(text));
  *status = BURN_OK;
  return burn_dataset_csv(path, columns, count, config, status);
}

static BurnDataset *read_good(const char *text, const BurnColumn *columns, size_t count, const BurnCsvConfig *config) {
  BurnStatus status;
  BurnDataset *dataset = read_text(text, columns, count, config, &status);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
  return dataset;
}

/* Written by Python: csv.writer(file).writerows(...), with the dialects excel (lines end in \r\n) and unix. */
static void fields_are_as_python_writes_them(void **state) {
  (void)state;
  const BurnColumn columns[] = {{"text", BURN_DTYPE_U8, BURN_SHAPE(16)}, {"y", BURN_DTYPE_I64, {0, {0}}}};
  static const char *const files[] = {
      "y,text\r\n1,plain\r\n2,\"with, comma\"\r\n3,\"say \"\"hi\"\"\"\r\n4,\"two\nlines\"\r\n5,\r\n6, space \r\n",
      "\"y\",\"text\"\n\"1\",\"plain\"\n\"2\",\"with, comma\"\n\"3\",\"say "
      "\"\"hi\"\"\"\n\"4\",\"two\nlines\"\n\"5\",\"\"\n"
      "\"6\",\" space \""};
  static const char *const texts[] = {"plain", "with, comma", "say \"hi\"", "two\nlines", "", " space "};
  for (size_t i = 0; i < 2; i++) {
    BurnDataset *dataset = read_good(files[i], columns, 2, NULL);
    assert_int_equal(burn_dataset_count(dataset), 6);
    for (size_t item = 0; item < 6; item++) {
      char text[17] = "";
      int64_t y = 0;
      assert_true(burn_dataset_get(dataset, item, (void *const[]){text, &y}) == BURN_OK);
      assert_string_equal(text, texts[item]);
      assert_int_equal(y, (int)item + 1);
    }
    burn_dataset_drop(dataset);
  }
}

static void every_dtype_is_read(void **state) {
  (void)state;
  const BurnColumn columns[] = {{"x", BURN_DTYPE_F32, BURN_SHAPE(3)},    {"f64", BURN_DTYPE_F64, {0, {0}}},
                                {"i64", BURN_DTYPE_I64, {0, {0}}},       {"i32", BURN_DTYPE_I32, {0, {0}}},
                                {"bool", BURN_DTYPE_BOOL, {0, {0}}},     {"u8", BURN_DTYPE_U8, {0, {0}}},
                                {"m", BURN_DTYPE_I16, BURN_SHAPE(2, 1)}, {"i8", BURN_DTYPE_I8, {0, {0}}}};
  BurnDataset *dataset = read_good(
      "\xef\xbb\xbfother,x,x1,x2,f64,i64,i32,bool,u8,m,m1,i8\n"
      "a,1,2.5,-3e2,0.1,9223372036854775807,-2147483648,true,255,-32768,32767,-128\n"
      " \t\n" /* blank lines are not items */
      "b,.5,+1,1E-2,-1,-9223372036854775808,2147483647,0,0,1,2,127",
      columns, 8, NULL);
  float x[3];
  double f64;
  int64_t i64;
  int32_t i32;
  bool truth;
  uint8_t u8;
  int16_t m[2];
  int8_t i8;
  void *const items[] = {x, &f64, &i64, &i32, &truth, &u8, m, &i8};
  assert_int_equal(burn_dataset_count(dataset), 2);
  assert_true(burn_dataset_get(dataset, 0, items) == BURN_OK);
  assert_memory_equal(x, ((const float[]){1, 2.5f, -300}), sizeof x);
  assert_true(f64 == 0.1 && i64 == INT64_MAX && i32 == INT32_MIN && truth && u8 == 255 && i8 == -128);
  assert_true(m[0] == INT16_MIN && m[1] == INT16_MAX);
  assert_true(burn_dataset_get(dataset, 1, items) == BURN_OK);
  assert_memory_equal(x, ((const float[]){0.5f, 1, 0.01f}), sizeof x);
  assert_true(f64 == -1 && i64 == INT64_MIN && i32 == INT32_MAX && !truth && u8 == 0 && i8 == 127);
  burn_dataset_drop(dataset);
}

static void delimiter_and_header_are_chosen(void **state) {
  (void)state;
  const BurnColumn columns[] = {{"a", BURN_DTYPE_F32, BURN_SHAPE(2)}, {"b", BURN_DTYPE_U8, {0, {0}}}};
  const BurnCsvConfig config = {.delimiter = ';', .no_header = true};
  BurnDataset *dataset = read_good("1;2;3;x\n4;5;6;y\n", columns, 2, &config);
  float a[2];
  uint8_t b;
  assert_int_equal(burn_dataset_count(dataset), 2);
  assert_true(burn_dataset_get(dataset, 1, (void *const[]){a, &b}) == BURN_OK);
  assert_true(a[0] == 4 && a[1] == 5 && b == 6);
  burn_dataset_drop(dataset);
}

static void texts_are_cut_where_characters_end(void **state) {
  (void)state;
  const BurnColumn column = {"t", BURN_DTYPE_U8, BURN_SHAPE(3)};
  const BurnCsvConfig config = {.cut_texts = true};
  char text[4] = "";
  BurnDataset *dataset = read_good("t\nabcdef\nab\xc3\xa9\n", &column, 1, &config);
  assert_true(burn_dataset_get(dataset, 0, (void *const[]){text}) == BURN_OK);
  assert_string_equal(text, "abc");
  assert_true(burn_dataset_get(dataset, 1, (void *const[]){text}) == BURN_OK);
  assert_string_equal(text, "ab");
  burn_dataset_drop(dataset);
}

static const BurnColumn pair[] = {{"x", BURN_DTYPE_F32, {1, {2}}}, {"y", BURN_DTYPE_U8, {0, {0}}}};

static void bad_lines_are_refused_or_skipped(void **state) {
  (void)state;
  const struct {
    const char *line, *reason;
  } cases[] = {
      {"1,2", "2 fields, 4 expected"},
      {"1,2,3,4,5", "5 fields, 4 expected"},
      {"1,two,3,t", "column \"x\" is \"two\", which is not f32"},
      {"1,,3,t", "column \"x\" is \"\", which is not f32"},
      {"1,nan,3,t", "column \"x\" is \"nan\", which is not f32"},
      {"1,0x10,3,t", "column \"x\" is \"0x10\", which is not f32"},
      {"1,1e39,3,t", "column \"x\" is \"1e39\", which is not f32"},
      {"1, 2,3,t", "column \"x\" is \" 2\", which is not f32"},
      {"1,2,256,t", "column \"y\" is \"256\", which is not u8"},
      {"1,2,1.5,t", "column \"y\" is \"1.5\", which is not u8"},
      {"1,2,3,a\"b\"", "a quote within a field that does not begin with one"},
      {"1,2,3,\"a\"b", "text after the quote that ends a field"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[512], message[512];
    BurnStatus status;
    size_t skipped = 99;
    const BurnCsvConfig config = {.read = {true, &skipped}};
    snprintf(text, sizeof text, "x,x2,y,t\n0,0,1,\"two\nlines\"\n\n%s\n0,0,2,\n", cases[i].line);
    snprintf(message, sizeof message, "csv: %s: line 5: %s", path, cases[i].reason);
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

static void refuse(const char *text, const char *message) {
  BurnStatus status;
  assert_null(read_text(text, pair, 2, NULL, &status));
  assert_string_equal(burn_status_message(status), message);
}

static void bad_files_are_refused(void **state) {
  (void)state;
  refuse("", "csv: csv_test.csv: no header, the file is empty");
  refuse("x,x2,z\n", "csv: csv_test.csv: line 1: no column \"y\" in the header; it has \"x\", \"x2\", \"z\"");
  refuse("y,x\n", "csv: csv_test.csv: line 1: column \"x\" wants 2 fields from field 2 on, there are 2");
  refuse("x,x2,y\n1,2,3\n1,2,\"3\n4,5,6\n", "csv: csv_test.csv: line 3: a quote is not closed");
  static const char zero[] = "x,x2,y\n1,2\0,3\n";
  BurnStatus status = BURN_OK;
  file_write(path, zero, sizeof zero - 1);
  assert_null(burn_dataset_csv(path, pair, 2, NULL, &status));
  assert_string_equal(burn_status_message(status), "csv: csv_test.csv: line 2: a zero byte");
  status = BURN_OK;
  assert_null(burn_dataset_csv("csv_test.none", pair, 2, NULL, &status));
  assert_int_equal(burn_status_code(status), BURN_STATUS_NOT_FOUND);
  status = BURN_OK;
  assert_null(burn_dataset_csv(path, pair, 2, &(BurnCsvConfig){.delimiter = '"'}, &status));
  assert_string_equal(burn_status_message(status), "csv: quotes and line ends cannot be the delimiter");
  const BurnColumn half = {"x", BURN_DTYPE_F16, {0, {0}}};
  status = BURN_OK;
  assert_null(burn_dataset_csv(path, &half, 1, NULL, &status));
  assert_string_equal(burn_status_message(status), "csv: column \"x\" is f16, which is not read");
}

/* -- AG News, where it is --------------------------------------------------------------------- */

/* 7,600 lines of class (1 .. 4), title and description without a header; classes are equally many. */
static void ag_news_is_read(void **state) {
  (void)state;
  static const char file[] = BURN_DATA_DIR "/ag_news/test.csv.gz";
  FILE *there = fopen(file, "rb");
  if (there == NULL) {
    print_message("skipped: no %s\n", file);
    skip();
    return;
  }
  fclose(there);
  const BurnColumn columns[] = {{"label", BURN_DTYPE_I64, {0, {0}}},
                                {"title", BURN_DTYPE_U8, BURN_SHAPE(128)},
                                {"text", BURN_DTYPE_U8, BURN_SHAPE(1024)}};
  const BurnCsvConfig config = {.no_header = true};
  BurnStatus status = BURN_OK;
  BurnDataset *dataset = burn_dataset_csv(file, columns, 3, &config, &status);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
  assert_int_equal(burn_dataset_count(dataset), 7600);
  size_t counts[5] = {0};
  for (size_t i = 0; i < 7600; i++) {
    int64_t label = 0;
    char title[128], text[1024];
    assert_true(burn_dataset_get(dataset, i, (void *const[]){&label, title, text}) == BURN_OK);
    if (i == 0) assert_string_equal(title, "Fears for T N pension after talks"); /* as `zcat | head -1` shows it */
    assert_in_range(label, 1, 4);
    counts[label]++;
  }
  for (size_t i = 1; i <= 4; i++) assert_int_equal(counts[i], 1900);
  burn_dataset_drop(dataset);
}

/* A gzipped file is read as what is in it, and refused where it is cut. */
static void gzipped_files_are_read(void **state) {
  (void)state;
  /* python3 -c 'import gzip; print(gzip.compress(b"x,x2,y\n1,2,3\n", mtime=0).hex())' */
  static const unsigned char bytes[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xab,
                                        0xd0, 0xa9, 0x30, 0xd2, 0xa9, 0xe4, 0x32, 0xd4, 0x31, 0xd2, 0x31,
                                        0xe6, 0x02, 0x00, 0x6e, 0x2f, 0x29, 0x1d, 0x0d, 0x00, 0x00, 0x00};
  BurnStatus status = BURN_OK;
  float x[2];
  uint8_t y = 0;
  file_write(path, (const char *)bytes, sizeof bytes);
  BurnDataset *dataset = burn_dataset_csv(path, pair, 2, NULL, &status);
  if (status != BURN_OK) fail_msg("%s", burn_status_message(status));
  assert_true(burn_dataset_get(dataset, 0, (void *const[]){x, &y}) == BURN_OK);
  assert_true(x[0] == 1 && x[1] == 2 && y == 3);
  burn_dataset_drop(dataset);
  file_write(path, (const char *)bytes, sizeof bytes - 9);
  assert_null(burn_dataset_csv(path, pair, 2, NULL, &status));
  assert_string_equal(burn_status_message(status), "csv: csv_test.csv: gzip stream truncated in its checksum");
}

/* -- lines of text ---------------------------------------------------------------------------- */

static void lines_are_items(void **state) {
  (void)state;
  static const char text[] = "one\r\n\ntwo \xc3\xa9\nthree, which is long";
  BurnStatus status = BURN_OK;
  file_write(path, text, sizeof text - 1);
  assert_null(burn_dataset_text_lines(path, &(BurnTextConfig){.bytes = 8}, &status));
  assert_string_equal(burn_status_message(status), "text_lines: csv_test.csv: line 4: 20 bytes, at most 8 expected");
  size_t skipped = 0;
  status = BURN_OK;
  BurnDataset *some = burn_dataset_text_lines(path, &(BurnTextConfig){.bytes = 8, .read = {true, &skipped}}, &status);
  assert_true(status == BURN_OK && skipped == 1 && burn_dataset_count(some) == 2);
  burn_dataset_drop(some);
  BurnDataset *all = burn_dataset_text_lines(path, &(BurnTextConfig){8, true, true, {0}}, &status);
  static const char *const lines[] = {"one", "", "two \xc3\xa9", "three, w"};
  assert_true(status == BURN_OK && burn_dataset_count(all) == 4);
  for (size_t i = 0; i < 4; i++) {
    char line[9] = "";
    int64_t length = -1;
    assert_true(burn_dataset_get(all, i, (void *const[]){line, &length}) == BURN_OK);
    assert_string_equal(line, lines[i]);
    assert_int_equal(length, strlen(lines[i]));
  }
  burn_dataset_drop(all);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fields_are_as_python_writes_them),
      cmocka_unit_test(every_dtype_is_read),
      cmocka_unit_test(delimiter_and_header_are_chosen),
      cmocka_unit_test(texts_are_cut_where_characters_end),
      cmocka_unit_test(bad_lines_are_refused_or_skipped),
      cmocka_unit_test(bad_files_are_refused),
      cmocka_unit_test(ag_news_is_read),
      cmocka_unit_test(gzipped_files_are_read),
      cmocka_unit_test(lines_are_items),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  remove(path);
  return failed;
}
