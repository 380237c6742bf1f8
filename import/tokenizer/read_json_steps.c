/* read_json_steps.c - normalizers, pre-tokenizers and decoders of tokenizer.json. */
#include "read_json.h"

#include <stdlib.h>
#include <string.h>

typedef struct StepReading {
  const BurnJson *json; /* at the object */
  TokenStep step;
  BurnStatus status;
} StepReading;

/* -- members ---------------------------------------------------------------------------------- */

static bool flag(const StepReading *reading, const char *name, bool otherwise) {
  const BurnJson value = burn__json_field(reading->json, name);
  return burn__json_bool(&value, otherwise);
}

static void read_text(StepReading *reading, const char *name, char **text, size_t *length) {
  BurnJson value = burn__json_field(reading->json, name);
  if (!burn__json_has(&value)) {
    if (reading->status == BURN_OK)
      reading->status =
          burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: a step without \"%s\"", reading->json->at, name);
    return;
  }
  *text = burn__json_text(&value);
  *length = *text != NULL ? strlen(*text) : 0;
  if (reading->status == BURN_OK) reading->status = value.status;
}

static size_t read_count(StepReading *reading, const char *name) {
  BurnJson value = burn__json_field(reading->json, name);
  const uint64_t count = burn__json_has(&value) ? burn__json_uint(&value) : 0;
  if (reading->status == BURN_OK) reading->status = value.status;
  return (size_t)count;
}

/* {"String": " "} or {"Regex": "\\s+"} */
static void read_pattern(StepReading *reading) {
  static const char *const kinds[] = {"String", "Regex"};
  BurnJson value = burn__json_field(reading->json, "pattern"), found[2];
  if (!burn__json_has(&value)) {
    reading->status =
        burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: a step without a pattern", reading->json->at);
    return;
  }
  burn__json_fields(&value, kinds, 2, found);
  const bool is_regex = burn__json_has(&found[1]);
  if (value.status == BURN_OK && !is_regex && !burn__json_has(&found[0]))
    burn__json_expected(&value, "String or Regex");
  reading->status = value.status;
  if (reading->status != BURN_OK) return;
  char *text = burn__json_text(&found[is_regex ? 1 : 0]);
  reading->status = found[is_regex ? 1 : 0].status;
  if (is_regex && reading->status == BURN_OK) {
    reading->step.pattern = burn__token_pattern(text, &reading->status);
    free(text);
    return;
  }
  reading->step.match = text;
  reading->step.match_length = text != NULL ? strlen(text) : 0;
}

static void read_behavior(StepReading *reading) {
  static const char *const behaviors[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
  BurnJson value = burn__json_field(reading->json, "behavior");
  const BurnJsonName name = burn__json_name(&value);
  reading->step.cut = TOKEN_CUT_ISOLATED;
  for (uint32_t i = 0; i < 5; i++)
    if (strcmp(name.text, behaviors[i]) == 0) reading->step.cut = i;
}

/* -- the kinds -------------------------------------------------------------------------------- */

static void read_nothing(StepReading *reading) { (void)reading; }

static void read_bert_normalizer(StepReading *reading) {
  bool *flags = reading->step.flags;
  flags[0] = flag(reading, "clean_text", true);
  flags[1] = flag(reading, "handle_chinese_chars", true);
  flags[3] = flag(reading, "lowercase", true);
  flags[2] = flag(reading, "strip_accents", flags[3]);
}

static void read_byte_level(StepReading *reading) {
  reading->step.flags[0] = flag(reading, "add_prefix_space", true);
  reading->step.flags[1] = flag(reading, "use_regex", true);
}

static void read_strip_sides(StepReading *reading) {
  reading->step.flags[0] = flag(reading, "strip_left", true);
  reading->step.flags[1] = flag(reading, "strip_right", true);
}

static void read_prepend(StepReading *reading) {
  read_text(reading, "prepend", &reading->step.text, &reading->step.text_length);
}

static void read_replace(StepReading *reading) {
  read_pattern(reading);
  read_text(reading, "content", &reading->step.text, &reading->step.text_length);
}

static void read_split(StepReading *reading) {
  read_pattern(reading);
  read_behavior(reading);
  reading->step.flags[0] = flag(reading, "invert", false);
}

static void read_digits(StepReading *reading) {
  reading->step.cut = flag(reading, "individual_digits", false) ? TOKEN_CUT_ISOLATED : TOKEN_CUT_CONTIGUOUS;
}

static void read_metaspace(StepReading *reading) {
  static const char *const schemes[] = {"always", "first", "never"};
  BurnJson value = burn__json_field(reading->json, "prepend_scheme");
  const BurnJsonName scheme = burn__json_name(&value);
  read_text(reading, "replacement", &reading->step.text, &reading->step.text_length);
  reading->step.flags[0] = flag(reading, "split", true);
  reading->step.prepend = flag(reading, "add_prefix_space", true) ? TOKEN_PREPEND_ALWAYS : TOKEN_PREPEND_NEVER;
  for (uint32_t i = 0; i < 3; i++)
    if (strcmp(scheme.text, schemes[i]) == 0) reading->step.prepend = i;
}

static void read_word_piece(StepReading *reading) {
  read_text(reading, "prefix", &reading->step.text, &reading->step.text_length);
  reading->step.flags[0] = flag(reading, "cleanup", true);
}

static void read_suffix(StepReading *reading) {
  read_text(reading, "suffix", &reading->step.match, &reading->step.match_length);
}

static void read_strip_content(StepReading *reading) {
  read_text(reading, "content", &reading->step.text, &reading->step.text_length);
  reading->step.left = read_count(reading, "start");
  reading->step.right = read_count(reading, "stop");
}

static uint32_t sextet(uint8_t byte) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const char *found = byte != 0 ? strchr(digits, byte) : NULL;
  return found != NULL ? (uint32_t)(found - digits) : 64;
}

/* Base64 in its place; the bytes that it stands for. */
static size_t unpack_base64(char *text) {
  size_t used = 0, bits = 0;
  uint32_t word = 0;
  for (const char *at = text; *at != '\0' && sextet((uint8_t)*at) < 64; at++) {
    word = (word << 6 | sextet((uint8_t)*at)) & 0xffffffu;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    text[used++] = (char)(word >> bits & 0xffu);
  }
  return used;
}

static void read_precompiled(StepReading *reading) {
  char *text = NULL;
  size_t length = 0;
  read_text(reading, "precompiled_charsmap", &text, &length);
  if (reading->status == BURN_OK && length > 0)
    reading->status = burn__charsmap_read(&reading->step.map, (const uint8_t *)text, unpack_base64(text));
  free(text);
}

typedef struct StepKind {
  const char *name;
  TokenStepRun *run;
  TokenStepDecode *decode;
  void (*read)(StepReading *reading);
} StepKind;

static const StepKind normalizers[] = {{"BertNormalizer", burn__step_bert_normalizer, NULL, read_bert_normalizer},
                                       {"ByteLevel", burn__step_byte_characters, NULL, read_nothing},
                                       {"Lowercase", burn__step_lowercase, NULL, read_nothing},
                                       {"NFC", burn__step_nfc, NULL, read_nothing},
                                       {"NFD", burn__step_nfd, NULL, read_nothing},
                                       {"NFKC", burn__step_nfkc, NULL, read_nothing},
                                       {"NFKD", burn__step_nfkd, NULL, read_nothing},
                                       {"Nmt", burn__step_nmt, NULL, read_nothing},
                                       {"Precompiled", burn__step_precompiled, NULL, read_precompiled},
                                       {"Prepend", burn__step_prepend, NULL, read_prepend},
                                       {"Replace", burn__step_replace, NULL, read_replace},
                                       {"Strip", burn__step_strip, NULL, read_strip_sides},
                                       {"StripAccents", burn__step_strip_accents, NULL, read_nothing},
                                       {NULL, NULL, NULL, NULL}};
static const StepKind cutters[] = {{"BertPreTokenizer", burn__step_bert_words, NULL, read_nothing},
                                   {"ByteLevel", burn__step_byte_level, NULL, read_byte_level},
                                   {"Digits", burn__step_digits, NULL, read_digits},
                                   {"Metaspace", burn__step_metaspace, NULL, read_metaspace},
                                   {"Punctuation", burn__step_punctuation, NULL, read_behavior},
                                   {"Split", burn__step_split, NULL, read_split},
                                   {"Whitespace", burn__step_whitespace, NULL, read_nothing},
                                   {"WhitespaceSplit", burn__step_whitespace_split, NULL, read_nothing},
                                   {NULL, NULL, NULL, NULL}};
static const StepKind decoders[] = {{"BPEDecoder", NULL, burn__step_decode_bpe, read_suffix},
                                    {"ByteFallback", NULL, burn__step_decode_byte_fallback, read_nothing},
                                    {"ByteLevel", NULL, burn__step_decode_byte_level, read_nothing},
                                    {"Fuse", NULL, burn__step_decode_fuse, read_nothing},
                                    {"Metaspace", NULL, burn__step_decode_metaspace, read_metaspace},
                                    {"Replace", NULL, burn__step_decode_replace, read_replace},
                                    {"Strip", NULL, burn__step_decode_strip, read_strip_content},
                                    {"WordPiece", NULL, burn__step_decode_word_piece, read_word_piece},
                                    {NULL, NULL, NULL, NULL}};
static const struct {
  const char *what, *list; /* in messages; the member of a Sequence */
  const StepKind *kinds;
} sections[] = {{"normalizer", "normalizers", normalizers},
                {"pre-tokenizer", "pretokenizers", cutters},
                {"decoder", "decoders", decoders}};

static BurnStatus read_kind(TokenSteps *steps, const BurnJson *json, int kind, const char *name) {
  const StepKind *found = sections[kind].kinds;
  while (found->name != NULL && strcmp(found->name, name) != 0) found++;
  if (found->name == NULL) return burn__json_unknown(json, sections[kind].what, name);
  StepReading reading = {.json = json, .step = {.run = found->run, .decode = found->decode}, .status = BURN_OK};
  found->read(&reading);
  if (reading.status == BURN_OK) return burn__steps_add(steps, reading.step);
  burn__step_release(&reading.step);
  return reading.status;
}

enum { MAX_DEPTH = 8 };

static BurnStatus read_deep(TokenSteps *steps, BurnJson *json, int kind, int depth) {
  const BurnJson start = *json;
  BurnJson type = burn__json_field(&start, "type");
  const BurnJsonName name = burn__json_name(&type);
  burn__json_skip(json);
  if (json->status != BURN_OK) return json->status;
  if (strcmp(name.text, "Sequence") != 0 || depth >= MAX_DEPTH) return read_kind(steps, &start, kind, name.text);
  BurnJson list = burn__json_field(&start, sections[kind].list);
  bool is_first = true;
  BurnStatus status = BURN_OK;
  burn__json_take(&list, '[');
  while (status == BURN_OK && burn__json_more(&list, &is_first, ']')) status = read_deep(steps, &list, kind, depth + 1);
  return status == BURN_OK ? list.status : status;
}

BurnStatus burn__json_read_steps(TokenSteps *steps, BurnJson *json, int kind) {
  return burn__json_has(json) ? read_deep(steps, json, kind, 0) : BURN_OK;
}
