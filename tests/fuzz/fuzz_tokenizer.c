/* fuzz_tokenizer.c - the files of a tokenizer of pairs, and texts: what is encoded is decoded to the same, and what
 * was read is written and read again; a vocabulary is learned of the text, and its characters.
 *
 * Input: vocab.json, merges.txt and a text, with "<|>" between them. */
#include "fuzz_target.h"

#include <burn/tokenizer.h>

/* Back to the same bytes, if it can be encoded. */
static void both_ways(const BurnTokenizer *tokenizer, FuzzInput text) {
  BurnTokenList tokens = {0};
  char *back = NULL;
  size_t length = 0;
  if (fuzz_ok(burn_tokenizer_encode(tokenizer, (const char *)text.next, text.left, &tokens))) {
    FUZZ_REQUIRE(fuzz_ok(burn_tokenizer_decode(tokenizer, tokens.ids, tokens.count, &back, &length)),
                 "what was encoded is not decoded");
    FUZZ_REQUIRE(length == text.left && (length == 0 || memcmp(back, text.next, length) == 0), "it is another text");
    free(back);
  }
  burn_token_list_release(&tokens);
}

static void files_check(FuzzInput text) {
  BurnStatus status = BURN_OK;
  BurnTokenizer *tokenizer = burn_tokenizer_byte_pair_read("vocab.json", "merges.txt", NULL, &status);
  FUZZ_REQUIRE(fuzz_ok(status) == (tokenizer != NULL), "a tokenizer and a failure, or neither");
  if (tokenizer != NULL) both_ways(tokenizer, text);
  burn_tokenizer_destroy(tokenizer);
}

static void training_check(FuzzInput text) {
  static const char *const specials[] = {"<s>"};
  const BurnBytePairConfig config = {.vocabulary = 270, .specials = {specials, 1}};
  BurnStatus status = BURN_OK;
  BurnTokenizer *tokenizer = burn_tokenizer_byte_pair_train((const char *)text.next, text.left, &config, &status);
  FUZZ_REQUIRE(fuzz_ok(status), "no vocabulary of a text: %s", burn_status_message(status));
  both_ways(tokenizer, text);
  FUZZ_REQUIRE(fuzz_ok(burn_tokenizer_byte_pair_write(tokenizer, "v.json", "m.txt")),
               "what was learned is not written");
  BurnTokenizer *again = burn_tokenizer_byte_pair_read("v.json", "m.txt", &(BurnSpecialTokens){specials, 1}, &status);
  FUZZ_REQUIRE(fuzz_ok(status), "what was written is not read: %s", burn_status_message(status));
  both_ways(again, text);
  burn_tokenizer_destroy(again);
  burn_tokenizer_destroy(tokenizer);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  FuzzInput input = {bytes, count};
  BurnStatus status = BURN_OK;
  fuzz_scratch_clear();
  fuzz_file_write("vocab.json", fuzz_part(&input));
  fuzz_file_write("merges.txt", fuzz_part(&input));
  files_check(input);
  training_check(input);
  BurnTokenizer *characters = burn_tokenizer_characters((const char *)input.next, input.left, &status);
  if (fuzz_ok(status)) both_ways(characters, input);
  burn_tokenizer_destroy(characters);
  return 0;
}
