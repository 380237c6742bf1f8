/* text_test.c - texts of others: what is no UTF-8, or would steer a terminal, is replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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
      {"\x1b[2J\x07\x7f\r", "?[2J???"},  /* what a terminal obeys */
  };
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    char text[64];
    strcpy(text, pairs[i][0]);
    assert_int_equal(burn_text_is_clean(text), strcmp(pairs[i][0], pairs[i][1]) == 0);
    assert_string_equal(burn_text_clean(text), pairs[i][1]);
    assert_true(burn_text_is_clean(text));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts_become_utf8)};
  return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
