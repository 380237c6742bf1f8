/* tokenizer_gguf_test.c - tokenizers in GGUF files: those of tokenizer_golden.h are put into such files the way
 * converters do it, and texts have to become what the packages tokenizers and sentencepiece make of them. */
#include "store_testing.h"

#include <burn/text_tokenizer.h>

#include "tokenizer_golden.h"

enum { CASES = sizeof tokenizer_cases / sizeof *tokenizer_cases };

/* Types of values and of tokens, by ggml's docs/gguf.md and SentencePiece's sentencepiece_model.proto. */
enum { TYPE_U8 = 0, TYPE_U32 = 4, TYPE_I32 = 5, TYPE_F32 = 6, TYPE_BOOL = 7, TYPE_TEXT = 8, TYPE_ARRAY = 9 };
enum { TOKEN_NORMAL = 1, TOKEN_CONTROL = 3, TOKEN_LIMIT = 512 };

/* -- files ------------------------------------------------------------------------------------ */

typedef struct File {
  unsigned char bytes[1 << 16];
  size_t count;
  uint64_t pairs;
} File;

static File file; /* large; one at a time */

static void put(const void *bytes, size_t count) {
  assert_true(count <= sizeof file.bytes - file.count);
  memcpy(file.bytes + file.count, bytes, count);
  file.count += count;
}

/* Little endian, as the machines are that tests run on. */
static void put_u32(uint32_t number) { put(&number, sizeof number); }
static void put_u64(uint64_t number) { put(&number, sizeof number); }

static void put_text(const char *text, size_t length) {
  put_u64(length);
  put(text, length);
}

static void put_key(const char *name, uint32_t type) {
  char key[64];
  put_text(key, (size_t)snprintf(key, sizeof key, "tokenizer.ggml.%s", name));
  put_u32(type);
  file.pairs++;
}

static void put_list(const char *name, uint32_t type, uint64_t count) {
  put_key(name, TYPE_ARRAY);
  put_u32(type);
  put_u64(count);
}

static void put_named(const char *name, const char *text) {
  put_key(name, TYPE_TEXT);
  put_text(text, strlen(text));
}

static void put_flag(const char *name, bool flag) {
  put_key(name, TYPE_BOOL);
  put(&(unsigned char){flag}, 1);
}

static void put_number(const char *name, int64_t number) {
  put_key(name, TYPE_U32);
  put_u32((uint32_t)number);
}

static void begin_file(const char *model) {
  file.count = 0;
  file.pairs = 0;
  put("GGUF", 4);
  put_u32(3);
  put_u64(0); /* tensors */
  put_u64(0); /* pairs of metadata: told by end_file */
  put_named("model", model);
}

static void end_file(void) { memcpy(file.bytes + 16, &file.pairs, sizeof file.pairs); }

static BurnTextTokenizer *open_file(void) {
  BurnStatus status = BURN_OK;
  end_file();
  BurnTextTokenizer *tokenizer = burn_text_tokenizer_read(file.bytes, file.count, NULL, &status);
  check_status(status);
  return tokenizer;
}

static void refused(const char *message) {
  BurnStatus status = BURN_OK;
  end_file();
  assert_null(burn_text_tokenizer_read(file.bytes, file.count, NULL, &status));
  assert_non_null(strstr(burn_status_message(status), message));
}

/* -- byte-level BPE: GPT-2's, Llama 3's and Qwen 2's ------------------------------------------- */

static BurnTextTokenizer *open_json(const char *json, size_t length) {
  BurnStatus status = BURN_OK;
  BurnTextTokenizer *tokenizer = burn_text_tokenizer_read(json, length, NULL, &status);
  check_status(status);
  return tokenizer;
}

static void put_tokens(const BurnTextTokenizer *tokenizer) {
  const size_t count = burn_text_tokenizer_vocabulary(tokenizer);
  put_list("tokens", TYPE_TEXT, count);
  for (size_t i = 0; i < count; i++) {
    size_t length = 0;
    const char *text = burn_text_tokenizer_token(tokenizer, (int64_t)i, &length);
    put_text(text, length);
  }
  put_list("token_type", TYPE_I32, count);
  for (size_t i = 0; i < count; i++)
    put_u32(burn_text_tokenizer_is_special(tokenizer, (int64_t)i) ? TOKEN_CONTROL : TOKEN_NORMAL);
}

/* The text between the quotes at *at, of which only \" and \\ are escaped; *at goes behind it. */
static size_t take_text(const char **at, char *text) {
  size_t length = 0;
  const char *from = strchr(*at, '"') + 1;
  for (; *from != '"'; from++) text[length++] = *from == '\\' ? *++from : *from;
  *at = from + 1;
  return length;
}

/* From "merges":[["a","b"],.. at the end of a tokenizer.json to "a b". */
static void put_merges(const char *json) {
  char text[128];
  uint64_t count = 0;
  const char *at = strstr(json, "\"merges\":[") + strlen("\"merges\":[");
  put_list("merges", TYPE_TEXT, 0);
  const size_t place = file.count - sizeof count;
  for (; *at == '[' || *at == ','; at++, count++) {
    size_t length = take_text(&at, text);
    text[length++] = ' ';
    length += take_text(&at, text + length);
    put_text(text, length);
  }
  memcpy(file.bytes + place, &count, sizeof count);
}

static char *copy_of(const unsigned char *bytes, size_t count) {
  char *text = malloc(count + 1);
  assert_non_null(text);
  memcpy(text, bytes, count);
  text[count] = '\0';
  return text;
}

static void begin_byte_pairs(const char *json, const char *pre) {
  BurnTextTokenizer *tokenizer = open_json(json, strlen(json));
  begin_file("gpt2");
  if (pre) put_named("pre", pre);
  put_tokens(tokenizer);
  put_merges(json);
  burn_text_tokenizer_destroy(tokenizer);
}

/* -- texts ------------------------------------------------------------------------------------ */

static void expect_ids(const BurnTextTokenizer *tokenizer, const char *text, const int64_t *ids, size_t count) {
  BurnEncoding encoding = {.count = 0};
  check_status(burn_text_tokenizer_encode(tokenizer, text, strlen(text), NULL, &encoding));
  if (encoding.count != count) print_message("\"%s\"\n", text);
  assert_int_equal(encoding.count, count);
  for (size_t i = 0; i < count; i++) assert_int_equal(encoding.ids[i], ids[i]);
  burn_encoding_release(&encoding);
}

/* All texts of the golden file `name` become the same numbers, and these the same texts. */
static void check_cases(BurnTextTokenizer *tokenizer, const char *name) {
  size_t checked = 0;
  for (size_t i = 0; i < CASES; i++) {
    if (strcmp(tokenizer_cases[i].name, name) != 0) continue;
    char *back = NULL;
    size_t length = 0;
    expect_ids(tokenizer, tokenizer_cases[i].text, tokenizer_cases[i].ids, tokenizer_cases[i].count);
    check_status(
        burn_text_tokenizer_decode(tokenizer, tokenizer_cases[i].ids, tokenizer_cases[i].count, true, &back, &length));
    assert_string_equal(back, tokenizer_cases[i].decoded);
    free(back);
    checked++;
  }
  assert_true(checked > 5);
  burn_text_tokenizer_destroy(tokenizer);
}

static void gpt2_is_as_its_json(void **state) {
  (void)state;
  char *json = copy_of(byte_level_file, sizeof byte_level_file);
  const char *const pres[] = {NULL, "gpt-2", "default"};
  for (size_t i = 0; i < 3; i++) {
    begin_byte_pairs(json, pres[i]);
    check_cases(open_file(), "byte_level");
  }
  free(json);
}

static void llama3_is_as_its_json(void **state) {
  (void)state;
  char *json = copy_of(llama3_file, sizeof llama3_file);
  begin_byte_pairs(json, "llama-bpe");
  put_number("bos_token_id", 0);
  put_flag("add_bos_token", true);
  check_cases(open_file(), "llama3");
  free(json);
}

/* The text `from` by `to`, which is not longer, but for blanks. */
static void replace(char *json, const char *from, const char *to) {
  char *at = strstr(json, from);
  const size_t length = strlen(from);
  assert_non_null(at);
  assert_true(strlen(to) <= length);
  memcpy(at, to, strlen(to));
  memmove(at + strlen(to), at + length, strlen(at + length) + 1);
}

/* Qwen 2 cuts numbers into single digits, and has NFC before; by its tokenizer.json. */
static void qwen2_is_as_its_json(void **state) {
  (void)state;
  char *json = copy_of(llama3_file, sizeof llama3_file), *composed = malloc(sizeof llama3_file + 64);
  assert_non_null(composed);
  replace(json, "\\\\p{N}{1,3}", "\\\\p{N}");
  const char *normalizer = strstr(json, "\"normalizer\":null");
  assert_non_null(normalizer);
  const size_t before = (size_t)(normalizer - json), skipped = strlen("\"normalizer\":null");
  sprintf(composed, "%.*s\"normalizer\":{\"type\":\"NFC\"}%s", (int)before, json, normalizer + skipped);
  BurnTextTokenizer *expected = open_json(composed, strlen(composed));
  begin_byte_pairs(composed, "qwen2");
  put_number("bos_token_id", 0);
  put_flag("add_bos_token", true);
  BurnTextTokenizer *tokenizer = open_file();
  for (size_t i = 0; i < CASES; i++) {
    BurnEncoding encoding = {.count = 0};
    const char *text = tokenizer_cases[i].text;
    check_status(burn_text_tokenizer_encode(expected, text, strlen(text), NULL, &encoding));
    expect_ids(tokenizer, text, encoding.ids, encoding.count);
    burn_encoding_release(&encoding);
  }
  burn_text_tokenizer_destroy(tokenizer);
  burn_text_tokenizer_destroy(expected);
  free(composed);
  free(json);
}

/* -- WordPiece: "##ing" is "ing" in a file, and "the" has a mark before it ------------------------- */

static void bert_is_as_its_vocabulary(void **state) {
  (void)state;
  char *lines = copy_of(vocab_file, sizeof vocab_file), text[128];
  uint64_t count = 0;
  begin_file("bert");
  put_list("tokens", TYPE_TEXT, 0);
  const size_t place = file.count - sizeof count;
  for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n"), count++) {
    const bool is_special = line[0] == '[' && line[strlen(line) - 1] == ']', goes_on = strncmp(line, "##", 2) == 0;
    snprintf(text, sizeof text, "%s%s", is_special || goes_on ? "" : "\xe2\x96\x81", goes_on ? line + 2 : line);
    put_text(text, strlen(text));
  }
  memcpy(file.bytes + place, &count, sizeof count);
  check_cases(open_file(), "vocab");
  free(lines);
}

/* -- unigram: pieces, scores and the table of characters of a SentencePiece model --------------------- */

typedef struct Piece {
  const char *text;
  size_t length;
  float score;
  uint32_t type;
} Piece;

typedef struct Message {
  const unsigned char *at, *end;
} Message;

static uint64_t take_varint(Message *m) {
  uint64_t number = 0;
  for (unsigned shift = 0; m->at < m->end; shift += 7) {
    number |= (uint64_t)(*m->at & 0x7f) << shift;
    if (!(*m->at++ & 0x80)) return number;
  }
  fail_msg("a number without an end");
  return 0;
}

/* The next field of a protobuf message; its number, its value if it is one, or its bytes. 0 at the end. */
static uint32_t take_field(Message *m, uint64_t *value, Message *bytes) {
  if (m->at == m->end) return 0;
  const uint64_t tag = take_varint(m);
  if ((tag & 7) == 0) *value = take_varint(m);
  if ((tag & 7) == 2 || (tag & 7) == 5) {
    const uint64_t length = (tag & 7) == 5 ? 4 : take_varint(m);
    assert_true(length <= (uint64_t)(m->end - m->at));
    *bytes = (Message){m->at, m->at + length};
    m->at += length;
  }
  return (uint32_t)(tag >> 3);
}

static Piece piece_of(Message message) {
  Piece piece = {.type = TOKEN_NORMAL};
  Message bytes = {NULL, NULL};
  uint64_t value = 0;
  for (uint32_t field; (field = take_field(&message, &value, &bytes)) != 0;) {
    if (field == 1) piece.text = (const char *)bytes.at, piece.length = (size_t)(bytes.end - bytes.at);
    if (field == 2) memcpy(&piece.score, bytes.at, sizeof piece.score);
    if (field == 3) piece.type = (uint32_t)value;
  }
  return piece;
}

static void t5_is_as_its_model(void **state) {
  (void)state;
  Piece pieces[TOKEN_LIMIT];
  Message model = {sp_unigram_file, sp_unigram_file + sizeof sp_unigram_file}, part = {NULL, NULL}, map = part;
  uint64_t value = 0;
  size_t count = 0;
  for (uint32_t field; (field = take_field(&model, &value, &part)) != 0;) {
    assert_true(count < TOKEN_LIMIT);
    if (field == 1) pieces[count++] = piece_of(part);
    if (field != 3) continue;
    Message bytes = map; /* of the normalizer, in which field 2 is the table */
    for (uint32_t of; (of = take_field(&part, &value, &bytes)) != 0;)
      if (of == 2) map = bytes;
  }
  assert_non_null(map.at);
  begin_file("t5");
  put_list("tokens", TYPE_TEXT, count);
  for (size_t i = 0; i < count; i++) put_text(pieces[i].text, pieces[i].length);
  put_list("scores", TYPE_F32, count);
  for (size_t i = 0; i < count; i++) put(&pieces[i].score, sizeof pieces[i].score);
  put_list("token_type", TYPE_I32, count);
  for (size_t i = 0; i < count; i++) put_u32(pieces[i].type);
  put_list("precompiled_charsmap", TYPE_U8, (uint64_t)(map.end - map.at));
  put(map.at, (size_t)(map.end - map.at));
  put_number("unknown_token_id", 0);
  put_number("eos_token_id", 2);
  const size_t end = file.count;
  const uint64_t pairs = file.pairs;
  put_flag("add_eos_token", false); /* sentencepiece adds none by itself */
  check_cases(open_file(), "sp_unigram");
  file.count = end;
  file.pairs = pairs;
  BurnTextTokenizer *tokenizer = open_file();
  expect_ids(tokenizer, "", (const int64_t[]){2}, 1); /* T5's models end their texts */
  burn_text_tokenizer_destroy(tokenizer);
}

/* -- hostile files ---------------------------------------------------------------------------- */

static void wrong_byte_pairs_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *pre, *merge, *message;
  } cases[] = {
      {"gpt-3", "a b", "tokenizer.ggml.pre is \"gpt-3\"; gpt-2, llama-bpe, qwen2 and default are known"},
      {"gpt-2", "ab", "a merge that is not two texts"},
      {"gpt-2", "", "a merge that is not two texts"},
      {"gpt-2", " b", "a merge that is not two texts"},
      {"gpt-2", "a c", "a merge of what is not in the vocabulary"},
      {"gpt-2", "b a", "a merge of what is not in the vocabulary"},
  };
  static const char *const tokens[] = {"a", "b", "ab"};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    begin_file("gpt2");
    put_named("pre", cases[i].pre);
    put_list("tokens", TYPE_TEXT, 3);
    for (size_t k = 0; k < 3; k++) put_text(tokens[k], strlen(tokens[k]));
    put_list("merges", TYPE_TEXT, 1);
    put_text(cases[i].merge, strlen(cases[i].merge));
    refused(cases[i].message);
  }
  begin_file("gpt2");
  put_list("tokens", TYPE_TEXT, 1);
  put_text("a", 1);
  refused("tokenizer.ggml.merges is not a list of texts");
  put_list("merges", TYPE_U32, 1);
  put_u32(7);
  refused("tokenizer.ggml.merges is not a list of texts");
  begin_file("gpt5");
  put_list("tokens", TYPE_TEXT, 1);
  put_text("a", 1);
  refused("tokenizer.ggml.model is \"gpt5\"; llama, gpt2, bert and t5 are known");
}

static void cut_byte_pairs_are_refused(void **state) {
  (void)state;
  char *json = copy_of(llama3_file, sizeof llama3_file);
  begin_byte_pairs(json, "llama-bpe");
  end_file();
  for (size_t count = 0; count < file.count; count += 3) {
    BurnStatus status = BURN_OK;
    unsigned char *part = malloc(count + 1);
    assert_non_null(part);
    memcpy(part, file.bytes, count);
    assert_null(burn_text_tokenizer_read(part, count, NULL, &status));
    assert_int_not_equal(status, BURN_OK);
    free(part);
  }
  free(json);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gpt2_is_as_its_json),        cmocka_unit_test(llama3_is_as_its_json),
      cmocka_unit_test(qwen2_is_as_its_json),       cmocka_unit_test(bert_is_as_its_vocabulary),
      cmocka_unit_test(t5_is_as_its_model),         cmocka_unit_test(wrong_byte_pairs_are_refused),
      cmocka_unit_test(cut_byte_pairs_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
