/* guess_test.c - "Did you mean ..?": what is near, and the messages that ask it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>

#include <string.h>

static const char *const known[] = {"backends", "doctor", "explain", "epochs", "epsilon", "matmul", "max", "min"};

static void guesses_the_nearest(void **state) {
  (void)state;
  static const struct {
    const char *word, *text;
  } cases[] = {
      {"doctr", " Did you mean 'doctor'?"},  /* one left out */
      {"dcotor", " Did you mean 'doctor'?"}, /* two swapped */
      {"dokter", " Did you mean 'doctor'?"}, /* two replaced */
      {"epoch", " Did you mean 'epochs'?"},  /* the beginning */
      {"back", " Did you mean 'backends'?"}, /* the beginning, far from whole */
      {"mtamul", " Did you mean 'matmul'?"}, /* begins otherwise */
      {"mat", " Did you mean 'matmul'?"},    /* begins with the word; max and min are as near, but come later */
      {"dokxyr", ""},                        /* three of six */
      {"mx", ""},                            /* two letters are near everything */
      {"", ""},
      {"something else", ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    BurnGuess guess = burn_guess(cases[i].word);
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) burn_guess_add(&guess, known[k]);
    const char *text = burn_guess_text(&guess);
    if (strcmp(text, cases[i].text) != 0) fail_msg("'%s' gave '%s', expected '%s'", cases[i].word, text, cases[i].text);
  }
}

static void long_words_are_not_compared(void **state) {
  (void)state;
  char word[200];
  memset(word, 'a', sizeof word);
  word[sizeof word - 1] = '\0';
  BurnGuess guess = burn_guess(word), none = burn_guess(NULL), fits = burn_guess("aaa");
  burn_guess_add(&guess, word);
  burn_guess_add(&none, "max");
  burn_guess_add(&fits, word);
  assert_string_equal(burn_guess_text(&guess), "");
  assert_string_equal(burn_guess_text(&none), "");
  assert_string_equal(burn_guess_text(&fits), "");
}

static void ops_are_guessed(void **state) {
  (void)state;
  const BurnOpInfo *op = NULL;
  assert_string_equal(burn_status_message(burn_op_find("attentio", &op)),
                      "there is no op 'attentio'. Did you mean 'attention'? 'burn ops' lists them");
  assert_string_equal(burn_status_message(burn_op_find("xyzzy", &op)), "there is no op 'xyzzy'. 'burn ops' lists them");
}

static void expect_stack(const char *stack, const char *part) {
  BurnDevice *device = burn_device_open(stack);
  const char *message = burn_status_message(burn_device_status(device));
  if (!strstr(message, part)) fail_msg("'%s' says '%s', expected '%s'", stack, message, part);
  burn_device_close(device);
}

static void stacks_are_guessed(void **state) {
  (void)state;
  expect_stack("ndaray", "there is no backend 'ndaray'. Did you mean 'ndarray'? There are: ");
  expect_stack("autodif<ndarray>", "there is no decorator 'autodif'. Did you mean 'autodiff'? There are: ");
  expect_stack("ndarray:flot=f64", "'ndarray' has no option 'flot'; it has: float, int, gemm, isa");
  expect_stack("ndarray:flot=f64", ". Did you mean 'float'?");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(guesses_the_nearest),
      cmocka_unit_test(long_words_are_not_compared),
      cmocka_unit_test(ops_are_guessed),
      cmocka_unit_test(stacks_are_guessed),
  };
  return cmocka_run_group_tests_name("guess", tests, NULL, NULL);
}
