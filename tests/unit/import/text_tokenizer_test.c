/* text_tokenizer_test.c - tokenizers of pretrained models: numbers, offsets and texts as the packages tokenizers and
 * sentencepiece have them (golden/make_tokenizer_golden.py), and hostile files. */
#include "store_testing.h"

#include <burn/text_tokenizer.h>

#include "tokenizer_golden.h"

enum { CASES = sizeof tokenizer_cases / sizeof *tokenizer_cases };

static BurnTextTokenizer *open_bytes(const void *bytes, size_t count) {
  BurnStatus status = BURN_OK;
  BurnTextTokenizer *tokenizer = burn_text_tokenizer_read(bytes, count, NULL, &status);
  check_status(status);
  return tokenizer;
}
#define OPEN(name) open_bytes(name##_file, sizeof name##_file)

static void texts_are_as_elsewhere(void **state) {
  (void)state;
  for (size_t i = 0; i < CASES; i++) {
    BurnTextTokenizer *tokenizer = open_bytes(tokenizer_cases[i].file, tokenizer_cases[i].bytes);
    const char *text = tokenizer_cases[i].text;
    BurnEncoding encoding = {.count = 0};
    check_status(burn_text_tokenizer_encode(tokenizer, text, strlen(text), NULL, &encoding));
    const size_t count = tokenizer_cases[i].count;
    if (encoding.count != count) print_message("%s: \"%s\"\n", tokenizer_cases[i].name, text);
    assert_int_equal(encoding.count, count);
    for (size_t k = 0; k < count; k++) assert_int_equal(encoding.ids[k], tokenizer_cases[i].ids[k]);
    for (size_t k = 0; k < tokenizer_cases[i].spans; k++) {
      assert_int_equal(encoding.begins[k], tokenizer_cases[i].offsets[k][0]);
      assert_int_equal(encoding.ends[k], tokenizer_cases[i].offsets[k][1]);
    }
    char *back = NULL;
    size_t length = 0;
    check_status(burn_text_tokenizer_decode(tokenizer, tokenizer_cases[i].ids, count, true, &back, &length));
    assert_string_equal(back, tokenizer_cases[i].decoded);
    assert_int_equal(length, strlen(back));
    free(back);
    burn_encoding_release(&encoding);
    burn_text_tokenizer_destroy(tokenizer);
  }
}

static void tokens_have_numbers(void **state) {
  (void)state;
  BurnTextTokenizer *tokenizer = OPEN(word_piece);
  size_t length = 0;
  assert_string_equal(burn_text_tokenizer_model(tokenizer), "WordPiece");
  assert_int_equal(burn_text_tokenizer_id(tokenizer, "[CLS]", 5), 2);
  assert_int_equal(burn_text_tokenizer_id(tokenizer, "no such", 7), -1);
  assert_memory_equal(burn_text_tokenizer_token(tokenizer, 3, &length), "[SEP]", 5);
  assert_int_equal(length, 5);
  const size_t count = burn_text_tokenizer_vocabulary(tokenizer);
  assert_null(burn_text_tokenizer_token(tokenizer, (int64_t)count, &length));
  assert_null(burn_text_tokenizer_token(tokenizer, -1, &length));
  assert_true(burn_text_tokenizer_is_special(tokenizer, 2));
  assert_false(burn_text_tokenizer_is_special(tokenizer, burn_text_tokenizer_id(tokenizer, "<x>", 3)));
  char *text = NULL;
  const BurnStatus status = burn_text_tokenizer_decode(tokenizer, (const int64_t[]){2, 99999}, 2, true, &text, &length);
  assert_int_equal(burn_status_code(status), BURN_STATUS_OUT_OF_RANGE);
  assert_non_null(strstr(burn_status_message(status), "token 1 is 99999"));
  assert_null(text);
  burn_text_tokenizer_destroy(tokenizer);
}

/* [CLS] A [SEP] B [SEP] with types 0 and 1; the longer text is cut first. */
static void pairs_and_lengths(void **state) {
  (void)state;
  BurnTextTokenizer *tokenizer = OPEN(word_piece);
  const char text[] = "the rain in the plain stays", pair[] = "in the rain";
  BurnEncodeOptions options = {.pair = pair, .pair_length = strlen(pair), .max_length = 8};
  BurnEncoding encoding = {.count = 0};
  check_status(burn_text_tokenizer_encode(tokenizer, text, strlen(text), &options, &encoding));
  assert_int_equal(encoding.count, 8);
  static const int64_t types[] = {0, 0, 0, 0, 0, 1, 1, 1}; /* as tokenizers has them */
  assert_int_equal(encoding.ids[0], 2);
  assert_int_equal(encoding.ids[4], 3);
  assert_int_equal(encoding.ids[7], 3);
  for (size_t i = 0; i < 8; i++) assert_int_equal(encoding.type_ids[i], types[i]);
  for (size_t i = 0; i < 8; i++) assert_int_equal(encoding.special[i], i == 0 || i == 4 || i == 7);
  options.no_special = true;
  options.max_length = 0;
  check_status(burn_text_tokenizer_encode(tokenizer, text, 3, &options, &encoding));
  assert_int_not_equal(encoding.ids[0], 2);
  options = (BurnEncodeOptions){.max_length = 1};
  const BurnStatus status = burn_text_tokenizer_encode(tokenizer, text, 3, &options, &encoding);
  assert_string_equal(burn_status_message(status), "tokenizer: max_length is 1, but special tokens are 2");
  assert_int_equal(encoding.count, 0);
  burn_encoding_release(&encoding);
  burn_text_tokenizer_destroy(tokenizer);
}

static void batches_are_padded(void **state) {
  (void)state;
  BurnTextTokenizer *tokenizer = OPEN(word_piece);
  const char *const texts[] = {"the", "the the the"};
  BurnEncodedBatch batch = {.count = 0};
  check_status(burn_text_tokenizer_encode_batch(tokenizer, texts, 2, NULL, &batch));
  assert_int_equal(batch.count, 2);
  assert_int_equal(batch.length, 5);
  static const int64_t mask[] = {1, 1, 1, 0, 0, 1, 1, 1, 1, 1};
  for (size_t i = 0; i < 10; i++) assert_int_equal(batch.mask[i], mask[i]);
  assert_int_equal(batch.ids[3], 0); /* [PAD] */
  assert_int_equal(batch.ids[2], 3);
  burn_encoded_batch_release(&batch);
  burn_text_tokenizer_destroy(tokenizer);
}

static void nothing_is_ended(void **state) {
  (void)state;
  burn_encoding_release(NULL);
  burn_encoded_batch_release(NULL);
  burn_decode_stream_release(NULL);
  burn_text_tokenizer_destroy(NULL);
}

/* What a stream gives, one after the other, is the text; a character of several tokens comes when it is complete. */
static void streams_give_whole_characters(void **state) {
  (void)state;
  static const char text[] = "The rain \xf0\x9f\x99\x82 stays \xed\x95\x9c";
  BurnTextTokenizer *tokenizers[] = {OPEN(byte_level), OPEN(sp_bpe)};
  for (size_t t = 0; t < 2; t++) {
    BurnEncoding encoding = {.count = 0};
    BurnDecodeStream stream = {.first = 0};
    char all[256] = "";
    check_status(burn_text_tokenizer_encode(tokenizers[t], text, strlen(text), NULL, &encoding));
    for (size_t i = 0; i < encoding.count; i++) {
      char *piece = NULL;
      size_t length = 0;
      check_status(burn_decode_stream_next(tokenizers[t], &stream, encoding.ids[i], &piece, &length));
      assert_null(strstr(piece, "\xef\xbf\xbd"));
      (void)strncat(all, piece, sizeof all - strlen(all) - 1);
      free(piece);
    }
    assert_string_equal(all, text);
    burn_decode_stream_release(&stream);
    burn_encoding_release(&encoding);
    burn_text_tokenizer_destroy(tokenizers[t]);
  }
}

static void loaders_take_them(void **state) {
  (void)state;
  BurnStatus status = BURN_OK;
  BurnTokenizer *tokenizer = burn_text_tokenizer_as_tokenizer(OPEN(word_piece), &status);
  BurnTokenList tokens = {NULL, 0, 0};
  char *text = NULL;
  size_t length = 0;
  check_status(status);
  check_status(burn_tokenizer_encode(tokenizer, "the rain", 8, &tokens));
  check_status(burn_tokenizer_decode(tokenizer, tokens.ids, tokens.count, &text, &length));
  assert_string_equal(text, "the rain");
  free(text);
  burn_token_list_release(&tokens);
  burn_tokenizer_destroy(tokenizer);
}

/* Each byte that is not UTF-8 is one U+FFFD, and its place is that byte. */
static void bad_bytes_are_read(void **state) {
  (void)state;
  BurnTextTokenizer *tokenizer = OPEN(byte_level);
  BurnEncoding encoding = {.count = 0};
  char *text = NULL;
  size_t length = 0;
  check_status(burn_text_tokenizer_encode(tokenizer, "a\xff\xc3", 3, NULL, &encoding));
  assert_int_equal(encoding.ends[encoding.count - 1], 3);
  check_status(burn_text_tokenizer_decode(tokenizer, encoding.ids, encoding.count, true, &text, &length));
  assert_string_equal(text, "a\xef\xbf\xbd\xef\xbf\xbd");
  free(text);
  burn_encoding_release(&encoding);
  burn_text_tokenizer_destroy(tokenizer);
}

/* -- hostile files ---------------------------------------------------------------------------- */

static void refuses(const char *file, const char *message) {
  BurnStatus status = BURN_OK;
  assert_null(burn_text_tokenizer_read(file, strlen(file), "file", &status));
  assert_string_equal(burn_status_message(status), message);
}

static void wrong_files_are_refused(void **state) {
  (void)state;
  refuses("hello", "file: no tokenizer: tokenizer.json, .model of SentencePiece, GGUF or vocab.txt expected");
  refuses("{\"model\":{\"type\":\"Magic\",\"vocab\":{}}}", "file: byte 33: a model of type \"Magic\" is not known");
  refuses("{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":4000000000}}}",
          "file: a token has the number 4000000000, less than 2097152 expected");
  refuses("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a b\"]}}",
          "file: byte 54: the merge of \"a\" and \"b\" is not in the vocabulary");
  refuses("{\"model\":{\"type\":\"WordLevel\",\"vocab\":{}},\"normalizer\":{\"type\":\"Rot13\"}}",
          "file: byte 54: a normalizer of type \"Rot13\" is not known");
}

/* -- small files that ask for much ------------------------------------------------------------- */

#define LETTER_MODEL "\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"[UNK]\":0,\"a\":1},\"unk_token\":\"[UNK]\"}"
#define DOUBLING "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aa\"}"

/* before, then `item` so many times with commas between, then after */
static const char *repeated(const char *before, const char *item, size_t count, const char *after) {
  static char file[65536];
  size_t used = (size_t)snprintf(file, sizeof file, "%s", before);
  for (size_t i = 0; i < count; i++)
    used += (size_t)snprintf(file + used, sizeof file - used, "%s%s", i > 0 ? "," : "", item);
  assert_true(used + strlen(after) < sizeof file);
  memcpy(file + used, after, strlen(after) + 1);
  return file;
}

/* 27 steps that double a text make 134 million bytes of one: when a text is encoded, decoded, and when an added token is
 * read. */
static void steps_do_not_fill_the_memory(void **state) {
  (void)state;
  BurnEncoding encoding = {.count = 0};
  BurnStatus status = BURN_OK;
  char *text = NULL;
  size_t length = 0;
  const char *file = repeated("{" LETTER_MODEL ",\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[", DOUBLING, 27,
                              "]},\"decoder\":{\"type\":\"Sequence\",\"decoders\":[" DOUBLING "," DOUBLING "]}}");
  BurnTextTokenizer *tokenizer = open_bytes(file, strlen(file));
  status = burn_text_tokenizer_encode(tokenizer, "a", 1, NULL, &encoding);
  assert_int_equal(burn_status_code(status), BURN_STATUS_OUT_OF_RANGE);
  assert_non_null(strstr(burn_status_message(status), "more than 4160 bytes"));
  check_status(burn_text_tokenizer_decode(tokenizer, (const int64_t[]){1}, 1, true, &text, &length));
  assert_string_equal(text, "aaaa"); /* two steps are no harm */
  free(text);
  burn_encoding_release(&encoding);
  burn_text_tokenizer_destroy(tokenizer);

  file = repeated("{" LETTER_MODEL ",\"decoder\":{\"type\":\"Sequence\",\"decoders\":[", DOUBLING, 27, "]}}");
  tokenizer = open_bytes(file, strlen(file));
  status = burn_text_tokenizer_decode(tokenizer, (const int64_t[]){1}, 1, true, &text, &length);
  assert_int_equal(burn_status_code(status), BURN_STATUS_OUT_OF_RANGE);
  burn_text_tokenizer_destroy(tokenizer);

  file = repeated("{" LETTER_MODEL
                  ",\"added_tokens\":[{\"id\":2,\"content\":\"a\",\"normalized\":true}],"
                  "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[",
                  DOUBLING, 27, "]}}");
  status = BURN_OK;
  assert_null(burn_text_tokenizer_read(file, strlen(file), NULL, &status));
  assert_int_equal(burn_status_code(status), BURN_STATUS_OUT_OF_RANGE);
}

/* A template that names a token of many numbers often, or the text: both multiply. */
static void templates_are_short(void **state) {
  (void)state;
  refuses(repeated("{" LETTER_MODEL
                   ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"special_tokens\":{\"X\":{\"ids\":"
                   "[1]}},\"single\":[",
                   "{\"SpecialToken\":{\"id\":\"X\"}}", 65, "]}}"),
          "file: a template of more than 64 tokens");
  refuses(repeated("{" LETTER_MODEL ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[",
                   "{\"Sequence\":{\"id\":\"A\"}}", 2, "]}}"),
          "file: a template with the same text twice");
}

/* What is made of a text by a step may be no UTF-8, which a pattern must not be given unseen. */
static void patterns_see_valid_texts(void **state) {
  (void)state;
  static const char file[] =
      "{" LETTER_MODEL
      ",\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\"b\"},\"content\":\"\xf4\"},"
      "\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\w+\"},\"behavior\":"
      "\"Isolated\",\"invert\":false}}";
  BurnStatus status = BURN_OK;
  BurnEncoding encoding = {.count = 0};
  BurnTextTokenizer *tokenizer = burn_text_tokenizer_read(file, sizeof file - 1, NULL, &status);
  if (tokenizer == NULL && strstr(burn_status_message(status), "PCRE2") != NULL) skip();
  assert_non_null(tokenizer);
  check_status(burn_text_tokenizer_encode(tokenizer, "a a", 3, NULL, &encoding));
  status = burn_text_tokenizer_encode(tokenizer, "a b", 3, NULL, &encoding);
  assert_int_equal(burn_status_code(status), BURN_STATUS_OUT_OF_RANGE);
  assert_non_null(strstr(burn_status_message(status), "UTF-8"));
  burn_encoding_release(&encoding);
  burn_text_tokenizer_destroy(tokenizer);
}

/* A number that was cut to fit, or a member that is not there, would become another tokenizer. */
static void numbers_and_members_are_not_guessed(void **state) {
  (void)state;
  refuses("{\"added_tokens\":[{\"id\":9223372036854775808,\"content\":\"x\"}]," LETTER_MODEL "}",
          "file: byte 42: a token's number, less than 2097152, expected");
  refuses("{\"padding\":{\"pad_id\":4294967296}," LETTER_MODEL "}",
          "file: byte 31: a token's number, less than 2097152, expected");
  refuses("{\"pre_tokenizer\":{\"type\":\"Metaspace\"}," LETTER_MODEL "}",
          "file: byte 17: a step without \"replacement\"");
}

/* The path stands in the message, also of a file that is not there. */
static void missing_files_are_named(void **state) {
  (void)state;
  BurnStatus status = BURN_OK;
  assert_null(burn_text_tokenizer_open("nowhere.json", &status));
  assert_int_equal(burn_status_code(status), BURN_STATUS_NOT_FOUND);
  assert_non_null(strstr(burn_status_message(status), "nowhere.json: "));
  status = BURN_OK;
  assert_null(burn_text_tokenizer_open(NULL, &status));
  assert_string_equal(burn_status_message(status), "tokenizer: no path");
}

/* A part of a file is refused, but for vocab.txt, any beginning of which is one. */
static void cut_files_are_refused(void **state) {
  (void)state;
  static const struct {
    const unsigned char *bytes;
    size_t count;
  } files[] = {{word_piece_file, sizeof word_piece_file},
               {unigram_file, sizeof unigram_file},
               {sp_bpe_file, sizeof sp_bpe_file},
               {gguf_file, sizeof gguf_file}};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    for (size_t count = 0; count < files[i].count; count += i < 2 ? 1 : 7) {
      BurnStatus status = BURN_OK;
      unsigned char *part = malloc(count + 1);
      assert_non_null(part);
      memcpy(part, files[i].bytes, count);
      BurnTextTokenizer *tokenizer = burn_text_tokenizer_read(part, count, NULL, &status);
      if (i != 2) assert_null(tokenizer); /* a .model may end after any of its pieces */
      assert_true((tokenizer == NULL) == (status != BURN_OK));
      burn_text_tokenizer_destroy(tokenizer);
      free(part);
    }
}

/* A word of a million characters takes n log n steps; so does a text of as many spaces. */
static void long_words_end(void **state) {
  (void)state;
  enum { LENGTH = 300000 };
  char *text = malloc(LENGTH);
  assert_non_null(text);
  for (size_t i = 0; i < LENGTH; i++) text[i] = (char)('a' + i % 7);
  BurnTextTokenizer *tokenizers[] = {OPEN(word_piece), OPEN(byte_level), OPEN(byte_fallback), OPEN(unigram),
                                     OPEN(sp_bpe)};
  for (size_t i = 0; i < sizeof tokenizers / sizeof *tokenizers; i++) {
    BurnEncoding encoding = {.count = 0};
    check_status(burn_text_tokenizer_encode(tokenizers[i], text, LENGTH, NULL, &encoding));
    assert_true(encoding.count > 0);
    burn_encoding_release(&encoding);
    burn_text_tokenizer_destroy(tokenizers[i]);
  }
  free(text);
}

static void expect_null(BurnStatus status, const char *said) {
  assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
  assert_string_equal(burn_status_message(status), said);
}

static void what_is_null_is_told(void **state) {
  static const char *const texts[] = {"a", NULL};
  BurnEncoding encoding = {.count = 0};
  BurnEncodedBatch batch = {.count = 0};
  BurnStatus status = BURN_OK;
  (void)state;
  assert_null(burn_text_tokenizer_read(NULL, 9, NULL, &status));
  expect_null(status, "text_tokenizer_read: bytes is NULL: those of a tokenizer expected");
  status = BURN_OK;
  BurnTextTokenizer *tokenizer = burn_text_tokenizer_read("[UNK]\na\n", 8, NULL, &status);
  check_status(status);
  assert_int_equal(burn_text_tokenizer_id(tokenizer, NULL, 1), -1);
  expect_null(burn_text_tokenizer_encode(tokenizer, NULL, 1, NULL, &encoding),
              "text_tokenizer_encode: text is NULL: a text expected");
  check_status(burn_text_tokenizer_encode(tokenizer, NULL, 0, NULL, &encoding));
  expect_null(burn_text_tokenizer_encode(tokenizer, "a", 1, NULL, NULL),
              "text_tokenizer_encode: encoding is NULL: a BurnEncoding expected");
  expect_null(burn_text_tokenizer_encode_batch(tokenizer, texts, 1, NULL, NULL),
              "text_tokenizer_encode_batch: batch is NULL: a BurnEncodedBatch expected");
  expect_null(burn_text_tokenizer_encode_batch(tokenizer, NULL, 1, NULL, &batch),
              "text_tokenizer_encode_batch: texts is NULL: a list of texts expected");
  expect_null(burn_text_tokenizer_encode_batch(tokenizer, texts, 2, NULL, &batch),
              "text_tokenizer_encode_batch: texts[i] is NULL: a text expected");
  burn_encoding_release(&encoding);
  burn_text_tokenizer_destroy(tokenizer);
}

static void no_tokenizer_is_told(void **state) {
  static const char said[] = "tokenizer: there is none; the status of the call that should have opened it says why";
  static const char *const texts[] = {"a"};
  BurnEncoding encoding = {.count = 0};
  BurnEncodedBatch batch = {.count = 0};
  BurnStatus status = BURN_OK;
  char *text = NULL;
  size_t length = 0;
  const int64_t id = 1;
  (void)state;
  assert_string_equal(burn_status_message(burn_text_tokenizer_encode(NULL, "a", 1, NULL, &encoding)), said);
  assert_string_equal(burn_status_message(burn_text_tokenizer_encode_batch(NULL, texts, 1, NULL, &batch)), said);
  assert_string_equal(burn_status_message(burn_text_tokenizer_decode(NULL, &id, 1, true, &text, &length)), said);
  assert_true(burn_text_tokenizer_vocabulary(NULL) == 0 && burn_text_tokenizer_id(NULL, "a", 1) == -1);
  assert_null(burn_text_tokenizer_token(NULL, 0, &length));
  assert_false(burn_text_tokenizer_is_special(NULL, 0));
  assert_string_equal(burn_text_tokenizer_model(NULL), "none");
  assert_null(burn_text_tokenizer_as_tokenizer(NULL, &status));
  assert_string_equal(burn_status_message(status), said);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_are_as_elsewhere),
      cmocka_unit_test(tokens_have_numbers),
      cmocka_unit_test(pairs_and_lengths),
      cmocka_unit_test(batches_are_padded),
      cmocka_unit_test(streams_give_whole_characters),
      cmocka_unit_test(loaders_take_them),
      cmocka_unit_test(bad_bytes_are_read),
      cmocka_unit_test(wrong_files_are_refused),
      cmocka_unit_test(missing_files_are_named),
      cmocka_unit_test(steps_do_not_fill_the_memory),
      cmocka_unit_test(templates_are_short),
      cmocka_unit_test(patterns_see_valid_texts),
      cmocka_unit_test(numbers_and_members_are_not_guessed),
      cmocka_unit_test(cut_files_are_refused),
      cmocka_unit_test(long_words_end),
      cmocka_unit_test(no_tokenizer_is_told),
      cmocka_unit_test(what_is_null_is_told),
      cmocka_unit_test(nothing_is_ended),
  };
  return cmocka_run_group_tests_name("text_tokenizer", tests, NULL, NULL);
}
