/* fuzz_text_tokenizer.c - tokenizers of pretrained models, and texts by them: what is encoded has places in its text and
 * is decoded to valid UTF-8.
 *
 * Input: a file and a text, with "<|>" between them. */
#include "fuzz_target.h"

#include <burn/text_tokenizer.h>

static void check_encoding(const BurnTextTokenizer *tokenizer, const BurnEncoding *encoding, size_t length) {
  for (size_t i = 0; i < encoding->count; i++) {
    size_t bytes = 0;
    FUZZ_REQUIRE(encoding->begins[i] <= encoding->ends[i] && encoding->ends[i] <= length,
                 "a place outside of the text");
    FUZZ_REQUIRE(encoding->ids[i] >= 0, "a negative number");
    (void)burn_text_tokenizer_token(tokenizer, encoding->ids[i], &bytes);
  }
}

static void check_decoding(const BurnTextTokenizer *tokenizer, const BurnEncoding *encoding) {
  BurnDecodeStream stream = {.first = 0};
  char *text = NULL;
  size_t length = 0;
  if (fuzz_ok(burn_text_tokenizer_decode(tokenizer, encoding->ids, encoding->count, false, &text, &length)))
    FUZZ_REQUIRE(text[length] == '\0', "a text that does not end");
  free(text);
  for (size_t i = 0; i < encoding->count && i < 32; i++) {
    text = NULL;
    (void)fuzz_ok(burn_decode_stream_next(tokenizer, &stream, encoding->ids[i], &text, &length));
    free(text);
  }
  burn_decode_stream_release(&stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  FuzzInput input = {bytes, count};
  const FuzzInput file = fuzz_part(&input);
  BurnStatus status = BURN_OK;
  BurnEncoding encoding = {.count = 0};
  BurnTextTokenizer *tokenizer = burn_text_tokenizer_read(file.next, file.left, "file", &status);
  FUZZ_REQUIRE(fuzz_ok(status) == (tokenizer != NULL), "a tokenizer and a failure, or neither");
  if (tokenizer == NULL) return 0;
  const BurnEncodeOptions options = {.pair = (const char *)input.next, .pair_length = input.left / 2, .max_length = 40};
  if (fuzz_ok(burn_text_tokenizer_encode(tokenizer, (const char *)input.next, input.left, NULL, &encoding))) {
    check_encoding(tokenizer, &encoding, input.left);
    check_decoding(tokenizer, &encoding);
  }
  if (fuzz_ok(burn_text_tokenizer_encode(tokenizer, (const char *)input.next, input.left, &options, &encoding)))
    FUZZ_REQUIRE(encoding.count <= 40, "more tokens than are allowed");
  burn_encoding_release(&encoding);
  burn_text_tokenizer_destroy(tokenizer);
  return 0;
}
