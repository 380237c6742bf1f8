/* text_test.c - shapes as text; texts of others: what is not UTF-8, or would steer a terminal, is replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/tensor.h>
#include <burn/text.h>

#include <string.h>

static void test_texts_become_utf8(void **state) {
  (void)state;
  static const char *const pairs[][2] = {
      {"plain\ttext\n", "plain\ttext\n"},
      {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\xa5", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\xa5"},
      {"\xe9t\xe9", "?t?"},              /* Latin 1 */
      {"\xc0\xaf\xe0\x80\xaf", "?????"}, /* overlong */
      {"\xed\xa0\x80", "???"},           /* a surrogate */
      {"\xf4\x90\x80\x80\xf5", "?????"}, /* above U+10FFFF */
      {"cut \xe2\x82", "cut ??"},        /* at the end */
      {"\x1b[2J\x07\x7f\r", "?[2J???"},  /* what a terminal obeys, */
      {"\xc2\x9b"
       "2J \xc2\xa0",
       "??2J \xc2\xa0"}, /* and the same as one character */
  };
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    char text[64];
    strcpy(text, pairs[i][0]);
    assert_int_equal(burn_text_is_clean(text), strcmp(pairs[i][0], pairs[i][1]) == 0);
    assert_string_equal(burn_text_clean(text), pairs[i][1]);
    assert_true(burn_text_is_clean(text));
  }
}

/* A name with a line feed would be two rows of a table. */
static void test_names_have_one_line(void **state) {
  (void)state;
  char name[] = "a\nb\tc\x1b\xc3\xa9\n";
  assert_string_equal(burn_text_clean_name(name), "a?b?c?\xc3\xa9?");
}

/* The bounds of Unicode 15, table 3-7. */
static void test_utf8_ends_at_the_first_byte_that_is_none(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t valid;
  } rows[] = {{"", 0},
              {"a\x1b\xc3\xa9", 4}, /* control characters are characters */
              {"\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 22},
              {"a\x80", 1},
              {"ab\xc1\xbf", 2},
              {"ab\xe0\x9f\xbf", 2},
              {"ab\xed\xa0\x80", 2},
              {"ab\xf0\x8f\xbf\xbf", 2},
              {"ab\xf4\x90\x80\x80", 2},
              {"\xe2\x82", 0},
              {"\xe2\x82\xac\xf0\x9f\x94", 3}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    assert_int_equal(burn_text_utf8_bytes(rows[i].text), rows[i].valid);
}

static void test_shapes_have_one_spelling(void **state) {
  (void)state;
  const int64_t most = INT64_MIN;
  const BurnShape longest = {BURN_MAX_RANK, {most, most, most, most, most, most, most, most}};
  assert_string_equal(burn_shape_text((BurnShape){0, {0}}).text, "[]");
  assert_string_equal(burn_shape_text(BURN_SHAPE(5)).text, "[5]");
  assert_string_equal(burn_shape_text(BURN_SHAPE(32, 784)).text, "[32,784]");
  assert_int_equal(strlen(burn_shape_text(longest).text), 8 * 20 + 7 + 2);
  assert_int_equal(strlen(burn_shape_text((BurnShape){99, {1, 2, 3, 4, 5, 6, 7, 8}}).text), 17);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shapes_have_one_spelling), cmocka_unit_test(test_texts_become_utf8),
      cmocka_unit_test(test_names_have_one_line), cmocka_unit_test(test_utf8_ends_at_the_first_byte_that_is_none)};
  return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
