/* tokenize_command_test.c - burn tokenize: tokens of a text, their text, and what is not a number or cannot be read. */
#include "burn_command.h"
#include "store_testing.h"

/* What a command prints, stderr too, in the fixture's folder. */
static void assert_run(const Fixture *fixture, const char *arguments, int wanted, const char *text) {
  char command[1024], output[1024];
  (void)snprintf(command, sizeof command, "cd '%s' && '%s' tokenize vocab.txt %s 2>&1", fixture->folder, burn,
                 arguments);
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  output[fread(output, 1, sizeof output - 1, pipe)] = '\0';
  const int status = pclose(pipe);
  assert_string_equal(output, text);
  assert_int_equal(WEXITSTATUS(status), wanted);
}

static void test_there_and_back(void **state) {
  const Fixture *fixture = *state;
  assert_run(fixture, "'The rain' --no-special", 0, "      4     0-3     the\n      5     4-8     rain\n");
  assert_run(fixture, "'4 5' --decode", 0, "the rain\n");
  assert_run(fixture, "'[2, 4,5,\t3]' --decode", 0, "the rain\n");
  assert_run(fixture, "'' --decode", 0, "\n");
  assert_run(fixture, "--decode <ids", 0, "the rain\nrain\n");
}

/* A sign or a letter is not passed over: -1 was 1, and 4a was 4. */
static void test_what_is_no_number_is_told(void **state) {
  static const struct {
    const char *ids;
    int byte;
  } cases[] = {{"4 -1", 2}, {"4 5a", 2}, {"x", 0}, {"4 2147483648", 2}, {"99999999999999999999999", 0}, {"4;5", 0}};
  const Fixture *fixture = *state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char arguments[64], wanted[256];
    (void)snprintf(arguments, sizeof arguments, "'%s' --decode", cases[i].ids);
    (void)snprintf(wanted, sizeof wanted,
                   "burn tokenize: byte %d: a number of a token is expected, 0 to 2147483647, with spaces or commas "
                   "between them\n",
                   cases[i].byte);
    assert_run(fixture, arguments, 1, wanted);
  }
  assert_run(fixture, "'4 6' --decode", 1, "burn tokenize: tokenizer: token 1 is 6, none of the 6 that there are\n");
}

static void test_input_that_cannot_be_read_is_told(void **state) {
  const Fixture *fixture = *state;
  assert_run(fixture, "<.", 1, "burn tokenize: standard input cannot be read to its end\n");
}

static int open_files(void **state) {
  static const char vocabulary[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\nrain\n", ids[] = "4 5\n5";
  if (fixture_open(state) != 0) return -1;
  check_status(burn_file_write(path_in(*state, "vocab.txt").text, vocabulary, sizeof vocabulary - 1));
  check_status(burn_file_write(path_in(*state, "ids").text, ids, sizeof ids - 1));
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_there_and_back),
                                     cmocka_unit_test(test_what_is_no_number_is_told),
                                     cmocka_unit_test(test_input_that_cannot_be_read_is_told)};
  return cmocka_run_group_tests(tests, open_files, fixture_close);
}
