/* tokenizer_test.c - tokens: the vocabulary, the files and the numbers of Hugging Face's tokenizers; characters; tables of
 * one's own; files that are damaged. */
#include <burn/tokenizer.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "file_testing.h"
#include "status_testing.h"

#include "data_golden.h"

static const char vocab[] = "tokenizer_test.json", merges[] = "tokenizer_test.txt";
static const char *const special_texts[] = {"<|endoftext|>"};
static const BurnSpecialTokens specials = {special_texts, 1};

static void file_check(const char *path, const unsigned char *bytes, size_t count) {
  uint8_t *read = NULL;
  size_t size = 0;
  check_status(burn_file_read(path, 1 << 20, &read, &size));
  assert_int_equal(size, count);
  assert_memory_equal(read, bytes, count);
  free(read);
}

/* The numbers of every sample, and back to its text. */
static void samples_check(const BurnTokenizer *tokenizer) {
  const char *sample = (const char *)tokens_samples;
  const int *ids = tokens_ids;
  for (size_t i = 0; i < sizeof tokens_counts / sizeof tokens_counts[0]; i++) {
    BurnTokenList tokens = {0};
    char *text = NULL;
    size_t length = 0;
    check_status(burn_tokenizer_encode(tokenizer, sample, strlen(sample), &tokens));
    if (tokens.count != (size_t)tokens_counts[i])
      fail_msg("'%s': %zu tokens, %d expected", sample, tokens.count, tokens_counts[i]);
    for (size_t j = 0; j < tokens.count; j++)
      if (tokens.ids[j] != ids[j])
        fail_msg("'%s': token %zu is %lld, %d expected", sample, j, (long long)tokens.ids[j], ids[j]);
    check_status(burn_tokenizer_decode(tokenizer, tokens.ids, tokens.count, &text, &length));
    assert_int_equal(length, strlen(sample));
    assert_string_equal(text, sample);
    free(text);
    burn_token_list_release(&tokens);
    ids += tokens_counts[i];
    sample += strlen(sample) + 1;
  }
}

static BurnTokenizer *read_files(BurnStatus *status) {
  *status = BURN_OK;
  return burn_tokenizer_byte_pair_read(vocab, merges, &specials, status);
}

static BurnTokenizer *read_golden(void) {
  BurnStatus status = BURN_OK;
  file_write(vocab, tokens_vocab, sizeof tokens_vocab);
  file_write(merges, tokens_merges, sizeof tokens_merges);
  BurnTokenizer *tokenizer = read_files(&status);
  check_status(status);
  return tokenizer;
}

static void files_of_hugging_face_are_read(void **state) {
  (void)state;
  BurnTokenizer *tokenizer = read_golden();
  assert_int_equal(burn_tokenizer_vocabulary(tokenizer), 330);
  samples_check(tokenizer);
  assert_int_equal(burn_tokenizer_find(tokenizer, "<|endoftext|>", 13), 0);
  assert_int_equal(burn_tokenizer_find(tokenizer, "zzz", 3), -1);
  burn_tokenizer_destroy(tokenizer);
}

/* The very vocabulary and files of their BpeTrainer. */
static void training_makes_the_same_vocabulary(void **state) {
  (void)state;
  BurnStatus status = BURN_OK;
  const BurnBytePairConfig config = {.vocabulary = 330, .specials = specials};
  BurnTokenizer *tokenizer =
      burn_tokenizer_byte_pair_train((const char *)tokens_text, sizeof tokens_text, &config, &status);
  check_status(status);
  samples_check(tokenizer);
  check_status(burn_tokenizer_byte_pair_write(tokenizer, vocab, merges));
  burn_tokenizer_destroy(tokenizer);
  file_check(vocab, tokens_vocab, sizeof tokens_vocab);
  file_check(merges, tokens_merges, sizeof tokens_merges);
}

/* Specials may be any text: what JSON wants escaped is, also by who reads more strictly than we do. */
static void specials_are_written_as_json(void **state) {
  (void)state;
  static const char *const texts[] = {"<turn>\n", "\"\\", "\t"};
  static const char wanted[] = "{\"<turn>\\u000a\":0,\"\\\"\\\\\":1,\"\\u0009\":2,";
  BurnStatus status = BURN_OK;
  char written[sizeof wanted] = "";
  const BurnSpecialTokens three = {texts, 3};
  const BurnBytePairConfig config = {.vocabulary = 259, .specials = three};
  BurnTokenizer *tokenizer = burn_tokenizer_byte_pair_train("a", 1, &config, &status);
  check_status(status);
  check_status(burn_tokenizer_byte_pair_write(tokenizer, vocab, merges));
  burn_tokenizer_destroy(tokenizer);
  FILE *file = fopen(vocab, "rb");
  assert_non_null(file);
  assert_int_equal(fread(written, 1, sizeof wanted - 1, file), sizeof wanted - 1);
  fclose(file);
  assert_string_equal(written, wanted);
  tokenizer = burn_tokenizer_byte_pair_read(vocab, merges, &three, &status);
  check_status(status);
  for (int64_t id = 0; id < 3; id++) assert_int_equal(burn_tokenizer_find(tokenizer, texts[id], strlen(texts[id])), id);
  burn_tokenizer_destroy(tokenizer);
}

/* Bytes that are not text are kept, whatever they are. */
static void any_bytes_go_both_ways(void **state) {
  (void)state;
  BurnTokenizer *tokenizer = read_golden();
  for (uint32_t seed = 0; seed < 200; seed++) {
    char bytes[64];
    uint32_t state_of = seed * 2654435761u + 1;
    for (size_t i = 0; i < sizeof bytes; i++) {
      state_of = state_of * 1664525u + 1013904223u;
      bytes[i] = (char)(uint8_t)(state_of >> 24);
    }
    BurnTokenList tokens = {0};
    char *text = NULL;
    size_t length = 0;
    check_status(burn_tokenizer_encode(tokenizer, bytes, sizeof bytes, &tokens));
    check_status(burn_tokenizer_decode(tokenizer, tokens.ids, tokens.count, &text, &length));
    assert_int_equal(length, sizeof bytes);
    assert_memory_equal(text, bytes, sizeof bytes);
    free(text);
    burn_token_list_release(&tokens);
  }
  burn_tokenizer_destroy(tokenizer);
}

/* A word of a million bytes takes no million times a million steps. */
static void long_words_are_no_trouble(void **state) {
  (void)state;
  BurnStatus status = BURN_OK;
  enum { LENGTH = 1000000 };
  char *text = malloc(LENGTH);
  BurnTokenList tokens = {0};
  assert_non_null(text);
  memset(text, 'a', LENGTH);
  BurnTokenizer *tokenizer =
      burn_tokenizer_byte_pair_train(text, 64, &(BurnBytePairConfig){.vocabulary = 259}, &status);
  check_status(status);
  check_status(burn_tokenizer_encode(tokenizer, text, LENGTH, &tokens));
  assert_int_equal(tokens.count, LENGTH / 8); /* aa, aaaa, aaaaaaaa */
  burn_token_list_release(&tokens);
  burn_tokenizer_destroy(tokenizer);
  free(text);
}

static void refuse_files(const char *vocabulary, const char *pairs, const char *message) {
  BurnStatus status = BURN_OK;
  file_write(vocab, vocabulary, strlen(vocabulary));
  file_write(merges, pairs, strlen(pairs));
  assert_null(burn_tokenizer_byte_pair_read(vocab, merges, NULL, &status));
  assert_string_equal(burn_status_message(status), message);
}

static void bad_files_are_refused(void **state) {
  (void)state;
  static const char good[] = "{\"a\":0,\"b\":1,\"ab\":2}";
  refuse_files("{\"a\":0,", "", "byte_pair: tokenizer_test.json: no JSON object, up to byte 7");
  refuse_files("{}", "", "byte_pair: tokenizer_test.json: 0 tokens, 1 to 4194304 expected");
  refuse_files("{\"a\":1}", "",
               "byte_pair: tokenizer_test.json: token \"a\" has a number that is none below the count of tokens");
  refuse_files("{\"a\":0,\"b\":0}", "", "byte_pair: tokenizer_test.json: token \"b\" has the number of another one");
  refuse_files("{\"a\":0,\"a\":1}", "", "byte_pair: tokenizer_test.json: token \"a\" is there twice");
  refuse_files(good, "#version: 0.2\na b\nab\n",
               "byte_pair: tokenizer_test.txt: line 3: no two tokens with a space between them");
  refuse_files(good, "a b c\n", "byte_pair: tokenizer_test.txt: line 1: no two tokens with a space between them");
  refuse_files(good, "b a\n", "byte_pair: tokenizer_test.txt: line 1: a token that is not in the vocabulary");
  refuse_files(good, "a b\na b\n", "byte_pair: tokenizer_test.txt: line 2: a merge that was there before");
  BurnStatus status = BURN_OK;
  file_write(merges, "a b\n", 4);
  assert_null(read_files(&status));
  assert_string_equal(burn_status_message(status),
                      "byte_pair: tokenizer_test.json: there is no special token \"<|endoftext|>\"");
  status = BURN_OK;
  BurnTokenizer *tokenizer = burn_tokenizer_byte_pair_read(vocab, merges, NULL, &status);
  check_status(status);
  BurnTokenList tokens = {0};
  assert_string_equal(burn_status_message(burn_tokenizer_encode(tokenizer, "abc", 3, &tokens)),
                      "byte_pair: byte 0x63 is not in the vocabulary");
  assert_int_equal(tokens.count, 0);
  burn_token_list_release(&tokens);
  burn_tokenizer_destroy(tokenizer);
}

static void characters_are_tokens(void **state) {
  (void)state;
  static const char text[] = "h\xc3\xa9llo \xf0\x9f\x94\xa5 \xe6\x9d\xb1";
  BurnStatus status = BURN_OK;
  BurnTokenizer *tokenizer = burn_tokenizer_characters(text, strlen(text), &status);
  check_status(status);
  /* in order: space, h, l, o, e with acute, U+6771, U+1F525 */
  assert_int_equal(burn_tokenizer_vocabulary(tokenizer), 7);
  static const int64_t expected[] = {1, 4, 2, 2, 3, 0, 6, 0, 5};
  BurnTokenList tokens = {0};
  char *back = NULL;
  size_t length = 0;
  check_status(burn_tokenizer_encode(tokenizer, text, strlen(text), &tokens));
  assert_int_equal(tokens.count, 9);
  assert_memory_equal(tokens.ids, expected, sizeof expected);
  check_status(burn_tokenizer_decode(tokenizer, tokens.ids, tokens.count, &back, &length));
  assert_string_equal(back, text);
  free(back);
  assert_string_equal(burn_status_message(burn_tokenizer_encode(tokenizer, "hex", 3, &tokens)),
                      "characters: U+0065 at byte 1 is not in the vocabulary");
  assert_string_equal(burn_status_message(burn_tokenizer_encode(tokenizer, "h\xff", 2, &tokens)),
                      "characters: no UTF-8 at byte 1");
  assert_int_equal(tokens.count, 9);
  assert_string_equal(burn_status_message(burn_tokenizer_decode(tokenizer, (const int64_t[]){0, 7}, 2, &back, &length)),
                      "tokenizer: token 1 is 7, 0 to 6 expected");
  assert_string_equal(burn_status_message(burn_tokenizer_byte_pair_write(tokenizer, vocab, merges)),
                      "byte_pair: another kind of tokenizer");
  burn_token_list_release(&tokens);
  burn_tokenizer_destroy(tokenizer);
  assert_null(burn_tokenizer_characters("\xc3", 1, &status));
  assert_string_equal(burn_status_message(status), "characters: no UTF-8 at byte 0");
}

/* Digits: a table of one's own. */
static BurnStatus digits_encode(void *context, const char *text, size_t length, BurnTokenList *tokens) {
  (void)context;
  BurnStatus status = BURN_OK;
  for (size_t i = 0; status == BURN_OK && i < length; i++) status = burn_token_list_add(tokens, text[i] - '0');
  return status;
}

static const char *digits_token(void *context, int64_t id, size_t *length) {
  *length = 1;
  return (const char *)context + id;
}

static void tables_of_ones_own_work(void **state) {
  (void)state;
  static char digits[] = "0123456789";
  BurnStatus status = BURN_OK;
  const BurnTokenizerInterface interface = {10, digits_encode, digits_token, NULL, digits, NULL};
  BurnTokenizer *tokenizer = burn_tokenizer_create(&interface, &status);
  BurnTokenList tokens = {0};
  char *text = NULL;
  size_t length = 0;
  check_status(status);
  check_status(burn_tokenizer_encode(tokenizer, "2024", 4, &tokens));
  check_status(burn_tokenizer_decode(tokenizer, tokens.ids, tokens.count, &text, &length));
  assert_string_equal(text, "2024");
  free(text);
  burn_token_list_release(&tokens);
  burn_tokenizer_destroy(tokenizer);
  assert_null(burn_tokenizer_create(&(BurnTokenizerInterface){.vocabulary = 1}, &status));
  assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
}

static void bad_configs_are_refused(void **state) {
  (void)state;
  static const char *const empty[] = {""};
  const BurnBytePairConfig configs[] = {{.vocabulary = 255}, {.vocabulary = 300, .specials = {empty, 1}}};
  for (size_t i = 0; i < 2; i++) {
    BurnStatus status = BURN_OK;
    assert_null(burn_tokenizer_byte_pair_train("a", 1, &configs[i], &status));
    assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
  }
}

static void no_tokenizer_is_told(void **state) {
  static const char said[] = "tokenizer: there is none; the status of the call that should have made it says why";
  BurnTokenList tokens = {.count = 0};
  char *text = NULL;
  size_t length = 0;
  const int64_t id = 1;
  (void)state;
  assert_string_equal(burn_status_message(burn_tokenizer_encode(NULL, "a", 1, &tokens)), said);
  assert_string_equal(burn_status_message(burn_tokenizer_decode(NULL, &id, 1, &text, &length)), said);
  assert_int_equal(burn_tokenizer_vocabulary(NULL), 0);
  assert_int_equal(burn_tokenizer_find(NULL, "a", 1), -1);
  assert_int_equal(burn_status_code(burn_tokenizer_byte_pair_write(NULL, "v", "m")), BURN_STATUS_INVALID_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(files_of_hugging_face_are_read), cmocka_unit_test(training_makes_the_same_vocabulary),
      cmocka_unit_test(specials_are_written_as_json),   cmocka_unit_test(any_bytes_go_both_ways),
      cmocka_unit_test(long_words_are_no_trouble),      cmocka_unit_test(bad_files_are_refused),
      cmocka_unit_test(characters_are_tokens),          cmocka_unit_test(tables_of_ones_own_work),
      cmocka_unit_test(bad_configs_are_refused),        cmocka_unit_test(no_tokenizer_is_told),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  remove(vocab);
  remove(merges);
  return failed;
}
