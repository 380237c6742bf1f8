/* common_failure_test.c - <burn/common/failure.h>, settings.h and descriptor.h: messages, what options may be, which
 * interfaces are found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <burn/burn.h>
#include <burn/op_call.h>

#define BURN_PLUGIN_STATIC common_failure_test_query
#include <burn/common/descriptor.h>
#include <burn/common/settings.h>

static void expect_message(BurnStatus status, uint32_t code, const char *message) {
  assert_int_equal(burn_status_code(status), code);
  assert_string_equal(burn_status_message(status), message);
}

static void test_failures_are_formatted(void **state) {
  const BurnHost *host = burn_host();
  (void)state;
  expect_message(BURN_COMMON_FAIL(host, NOT_FOUND, "cuda", "no device %u of %u", 3u, 2u), BURN_STATUS_NOT_FOUND,
                 "cuda: no device 3 of 2");
  expect_message(BURN_COMMON_FAIL(host, IO, NULL, "%s", "alone"), BURN_STATUS_IO, "alone");
}

static void test_long_failures_are_cut(void **state) {
  char text[2 * BURN_COMMON_MESSAGE_BYTES];
  (void)state;
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  const BurnStatus status = BURN_COMMON_FAIL(burn_host(), INTERNAL, "p", "%s", text);
  assert_int_equal(strncmp(burn_status_message(status), "p: xxx", 6), 0);
  assert_true(strlen(burn_status_message(status)) < BURN_COMMON_MESSAGE_BYTES);
  assert_int_equal(strncmp(burn_status_message(BURN_COMMON_FAIL(burn_host(), INTERNAL, text, "end")), "end", 3), 0);
}

#define TEST_OPTIONS(X)                                \
  X(TILE, "tile", "8..512", "64", 0, "")               \
  X(ALL, "all", "0..18446744073709551615", "0", 0, "") \
  X(EXACT, "exact", "true|false", "true", 0, "")       \
  X(MODE, "mode", "off|quick|full", "quick", 0, "")    \
  X(LIMIT, "limit", "bytes, 64KiB", "", 0, "")
enum { TEST_OPTIONS(BURN_OPTION_NUMBER) OPTION_COUNT };
static const BurnOptionInfo rows[] = {TEST_OPTIONS(BURN_OPTION_ROW)};
static const BurnOptionsInterface declared = BURN_OPTIONS_INTERFACE(OPTION_COUNT, rows);

static void test_numbers(void **state) {
  static const struct {
    uint32_t option;
    const char *text;
    uint64_t number;     /* of a text that is one */
    const char *message; /* else */
  } cases[] = {
      {OPTION_TILE, NULL, 77, NULL},
      {OPTION_TILE, "8", 8, NULL},
      {OPTION_TILE, "512", 512, NULL},
      {OPTION_TILE, "0064", 64, NULL},
      {OPTION_ALL, "18446744073709551615", UINT64_MAX, NULL},
      {OPTION_TILE, "7", 0, "p: tile=7 is not a number from 8 to 512"},
      {OPTION_TILE, "513", 0, "p: tile=513 is not a number from 8 to 512"},
      {OPTION_TILE, "-9", 0, "p: tile=-9 is not a number from 8 to 512"},
      {OPTION_TILE, " 9", 0, "p: tile= 9 is not a number from 8 to 512"},
      {OPTION_TILE, "9k", 0, "p: tile=9k is not a number from 8 to 512"},
      {OPTION_TILE, "", 0, "p: tile= is not a number from 8 to 512"},
      {OPTION_ALL, "18446744073709551616", 0,
       "p: all=18446744073709551616 is not a number from 0 to 18446744073709551615"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const char *values[OPTION_COUNT] = {NULL};
    const BurnCommonSettings given = {burn_host(), "p", &declared, values};
    uint64_t number = 77;
    values[cases[i].option] = cases[i].text;
    const BurnStatus status = burn_common_number(&given, cases[i].option, &number);
    assert_int_equal(number, cases[i].message ? 77 : cases[i].number);
    if (cases[i].message) expect_message(status, BURN_STATUS_INVALID_ARGUMENT, cases[i].message);
    if (!cases[i].message) assert_int_equal(status, BURN_OK);
  }
}

static void test_sizes(void **state) {
  static const struct {
    const char *text;
    uint64_t bytes; /* 0: none */
  } cases[] = {
      {NULL, 77},
      {"1", 1},
      {"64KiB", 65536},
      {"3MiB", 3145728},
      {"8589934591GiB", UINT64_C(8589934591) << 30},
      {"9223372036854775807", INT64_MAX},
      {"0", 0},
      {"0GiB", 0},
      {"", 0},
      {"KiB", 0},
      {"-1", 0},
      {"64kib", 0},
      {"64KiB ", 0},
      {"8589934592GiB", 0},
      {"9223372036854775808", 0},
      {"99999999999999999999", 0},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const char *values[OPTION_COUNT] = {NULL};
    const BurnCommonSettings given = {burn_host(), "p", &declared, values};
    uint64_t bytes = 77;
    char message[120];
    values[OPTION_LIMIT] = cases[i].text;
    const BurnStatus status = burn_common_bytes(&given, OPTION_LIMIT, &bytes);
    assert_int_equal(bytes, cases[i].bytes ? cases[i].bytes : 77);
    (void)snprintf(message, sizeof message, "p: limit=%s is not a size such as 1000000, 64KiB, 512MiB, 2GiB",
                   cases[i].text ? cases[i].text : "");
    if (cases[i].bytes) assert_int_equal(status, BURN_OK);
    if (!cases[i].bytes) expect_message(status, BURN_STATUS_INVALID_ARGUMENT, message);
  }
}

static void test_words(void **state) {
  const char *values[OPTION_COUNT] = {NULL};
  const BurnCommonSettings given = {burn_host(), "p", &declared, values};
  uint32_t mode = 9;
  bool exact = true;
  (void)state;
  assert_int_equal(burn_common_word(&given, OPTION_MODE, &mode), BURN_OK);
  assert_int_equal(burn_common_truth(&given, OPTION_EXACT, &exact), BURN_OK);
  assert_int_equal(mode, 9);
  assert_true(exact);
  values[OPTION_MODE] = "full";
  values[OPTION_EXACT] = "false";
  assert_int_equal(burn_common_word(&given, OPTION_MODE, &mode), BURN_OK);
  assert_int_equal(burn_common_truth(&given, OPTION_EXACT, &exact), BURN_OK);
  assert_int_equal(mode, 2);
  assert_false(exact);
  values[OPTION_MODE] = "quic"; /* the start of a word is none */
  values[OPTION_EXACT] = "truee";
  expect_message(burn_common_word(&given, OPTION_MODE, &mode), BURN_STATUS_INVALID_ARGUMENT,
                 "p: mode=quic is none of off, quick and full");
  expect_message(burn_common_truth(&given, OPTION_EXACT, &exact), BURN_STATUS_INVALID_ARGUMENT,
                 "p: exact=truee is neither true nor false");
  assert_int_equal(mode, 2);
  assert_false(exact);
}

static const struct { uint32_t struct_size, version; } second = {8, 2};

BURN_COMMON_PLUGIN(DECORATOR, "test", "1.2.3", "MIT", "text", {"test.second", &second},
                   {BURN_OPTIONS_INTERFACE_NAME, &declared})

static void test_a_descriptor_finds_its_interfaces(void **state) {
  const BurnPlugin *plugin = common_failure_test_query(NULL);
  (void)state;
  assert_int_equal(plugin->struct_size, sizeof *plugin);
  assert_int_equal(plugin->kind, BURN_PLUGIN_DECORATOR);
  assert_int_equal(plugin->min_host_minor, BURN_TARGET_MINOR);
  assert_string_equal(plugin->version, "1.2.3");
  assert_ptr_equal(plugin->get_interface("test.second", 2), &second);
  assert_ptr_equal(plugin->get_interface(BURN_OPTIONS_INTERFACE_NAME, 1), &declared);
  assert_null(plugin->get_interface("test.second", 3));
  assert_null(plugin->get_interface("test.third", 1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_failures_are_formatted),
      cmocka_unit_test(test_long_failures_are_cut),
      cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_words),
      cmocka_unit_test(test_a_descriptor_finds_its_interfaces),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
