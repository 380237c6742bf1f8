/* read_gguf.c - the tokenizer in the metadata of a GGUF file (tokenizer.ggml.* of ggml's docs/gguf.md): "llama" is
 * SentencePiece's BPE, "t5" its unigram model, "gpt2" byte-level BPE, "bert" WordPiece. */
#include "gguf.h"
#include "tokenizer_private.h"

#include <stdlib.h>
#include <string.h>

/* Values of the metadata, as places in the file; no bytes: not there. */
typedef struct Values {
#define GGUF_KEY(name) GgufValue name;
#include "gguf_keys.def"
#undef GGUF_KEY
} Values;

static BurnStatus no_memory(void) { return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a tokenizer"); }

static void keep_value(Values *values, const char *key, GgufValue value) {
  static const char lead[] = "tokenizer.ggml.";
  if (strncmp(key, lead, sizeof lead - 1) != 0) return;
  key += sizeof lead - 1;
#define GGUF_KEY(name) \
  if (strcmp(key, #name) == 0) values->name = value;
#include "gguf_keys.def"
#undef GGUF_KEY
}

/* -- lists ------------------------------------------------------------------------------------ */

static BurnStatus wrong(const GgufValue *value, const char *what) {
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: %s", value->at, what);
}

/* "##ing" is "ing" there, and "the" is a mark and "the". */
static BurnStatus set_bert_token(TokenVocabulary *vocabulary, uint64_t id, const char *text, size_t length) {
  char *made = malloc(length + 3);
  if (made == NULL) return no_memory();
  const bool begins = length > 3 && memcmp(text, "\xe2\x96\x81", 3) == 0;
  const bool is_special = length > 1 && text[0] == '[' && text[length - 1] == ']';
  const size_t lead = begins || is_special ? 0 : 2, skipped = begins ? 3 : 0;
  memcpy(made, "##", 2);
  if (length > skipped) memcpy(made + lead, text + skipped, length - skipped);
  const BurnStatus status = burn__vocabulary_set(vocabulary, id, made, lead + length - skipped);
  free(made);
  return status;
}

static BurnStatus read_tokens(TokenModel *model, const GgufCursor *file, const GgufValue *tokens, bool is_bert) {
  GgufCursor at = *file;
  BurnStatus status = BURN_OK;
  if (!burn__gguf_is_list(tokens, GGUF_TEXT)) return wrong(tokens, "tokenizer.ggml.tokens is not a list of texts");
  at.at = tokens->at;
  for (uint64_t i = 0; i < tokens->count && status == BURN_OK; i++) {
    const uint8_t *text = NULL;
    size_t length = 0;
    status = burn__gguf_text(&at, &text, &length);
    if (status == BURN_OK && is_bert) status = set_bert_token(&model->vocabulary, i, (const char *)text, length);
    if (status == BURN_OK && !is_bert) status = burn__vocabulary_set(&model->vocabulary, i, (const char *)text, length);
  }
  return status;
}

static BurnStatus read_scores(TokenModel *model, const GgufCursor *file, const GgufValue *scores) {
  const size_t count = model->vocabulary.count;
  GgufCursor at = *file;
  BurnStatus status = BURN_OK;
  if (!burn__gguf_is_list(scores, GGUF_F32) || scores->count != count)
    return wrong(scores, "tokenizer.ggml.scores is not a list of a float for each token");
  at.at = scores->at;
  model->scores = calloc(count + 1, sizeof *model->scores);
  if (model->scores == NULL) return no_memory();
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    uint64_t bits = 0;
    status = burn__gguf_number(&at, 4, &bits);
    const uint32_t word = (uint32_t)bits;
    float score = 0;
    memcpy(&score, &word, sizeof score);
    if (!(score > -1e30f && score < 1e30f)) return wrong(scores, "a score that is not a number");
    model->scores[i] = (double)score;
  }
  return status;
}

/* Types have the numbers of SentencePiece's pieces. */
static BurnStatus read_types(TokenModel *model, const GgufCursor *file, const GgufValue *types) {
  const size_t count = model->vocabulary.count;
  GgufCursor at = *file;
  BurnStatus status = BURN_OK;
  model->types = malloc(count + 1);
  if (model->types == NULL) return no_memory();
  memset(model->types, PIECE_NORMAL, count + 1);
  if (types->type == GGUF_NOTHING) return BURN_OK;
  if (!burn__gguf_is_list(types, GGUF_I32) || types->count != count)
    return wrong(types, "tokenizer.ggml.token_type is not a list of an i32 for each token");
  at.at = types->at;
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    uint64_t type = 0;
    status = burn__gguf_number(&at, 4, &type);
    if (type < PIECE_NORMAL || type > PIECE_BYTE) return wrong(types, "a type of token that is none of 1 to 6");
    model->types[i] = (uint8_t)type;
  }
  return status;
}

static BurnStatus add_merge(TokenModel *model, const GgufValue *merges, const char *text, size_t length) {
  const char *space = length > 1 ? memchr(text + 1, ' ', length - 1) : NULL;
  if (space == NULL) return wrong(merges, "a merge that is not two texts");
  const size_t first = (size_t)(space - text), second = length - first - 1;
  char *both = malloc(length);
  if (both == NULL) return no_memory();
  memcpy(both, text, first);
  memcpy(both + first, space + 1, second);
  const int32_t left = burn__vocabulary_find(&model->vocabulary, text, first);
  const int32_t right = burn__vocabulary_find(&model->vocabulary, space + 1, second);
  const int32_t merged = burn__vocabulary_find(&model->vocabulary, both, first + second);
  free(both);
  if (left < 0 || right < 0 || merged < 0) return wrong(merges, "a merge of what is not in the vocabulary");
  return burn__model_merge(model, left, right, merged) ? BURN_OK : no_memory();
}

static BurnStatus read_merges(TokenModel *model, const GgufCursor *file, const GgufValue *merges) {
  GgufCursor at = *file;
  BurnStatus status = BURN_OK;
  if (!burn__gguf_is_list(merges, GGUF_TEXT)) return wrong(merges, "tokenizer.ggml.merges is not a list of texts");
  at.at = merges->at;
  for (uint64_t i = 0; i < merges->count && status == BURN_OK; i++) {
    const uint8_t *text = NULL;
    size_t length = 0;
    status = burn__gguf_text(&at, &text, &length);
    if (status == BURN_OK) status = add_merge(model, merges, (const char *)text, length);
  }
  return status;
}

/* -- kinds ------------------------------------------------------------------------------------ */

static int64_t token_of(const GgufValue *value, const TokenModel *model) {
  return value->type != GGUF_NOTHING && value->number < model->vocabulary.count ? (int64_t)value->number : -1;
}

static bool flag_of(const GgufValue *value, bool otherwise) {
  return value->type == GGUF_NOTHING ? otherwise : value->number != 0;
}

static BurnStatus set_around(BurnTextTokenizer *tokenizer, const Values *values, bool begins, bool ends) {
  const int64_t bos = flag_of(&values->add_bos_token, begins) ? token_of(&values->bos_token_id, &tokenizer->model) : -1;
  const int64_t eos = flag_of(&values->add_eos_token, ends) ? token_of(&values->eos_token_id, &tokenizer->model) : -1;
  bool made = true;
  for (int second = 0; second < 2; second++) {
    TokenTemplate *items = second ? &tokenizer->pair : &tokenizer->single;
    if (bos >= 0) made = made && burn__template_add(items, bos, 0);
    made = made && burn__template_add(items, TEMPLATE_FIRST, 0);
    if (eos >= 0) made = made && burn__template_add(items, eos, 0);
    if (second) made = made && burn__template_add(items, TEMPLATE_SECOND, 1);
    if (second && eos >= 0) made = made && burn__template_add(items, eos, 1);
  }
  return made ? BURN_OK : no_memory();
}

static BurnStatus read_pieces(BurnTextTokenizer *tokenizer, const GgufCursor *file, const Values *values, bool is_t5) {
  TokenModel *model = &tokenizer->model;
  TokenStep step = {.flags = {flag_of(&values->add_space_prefix, true),
                              flag_of(&values->remove_extra_whitespaces, is_t5), true, false}};
  model->name = is_t5 ? "Unigram" : "BPE";
  model->encode = is_t5 ? burn__encode_unigram : burn__encode_piece_pairs;
  model->fuses_unknown = model->is_single = true;
  model->falls_back_to_bytes = !is_t5;
  tokenizer->unknown_surface = TOKEN_UNKNOWN_SURFACE;
  BurnStatus status = read_scores(model, file, &values->scores);
  model->unknown = token_of(&values->unknown_token_id, model);
  if (model->unknown < 0) model->unknown = is_t5 ? 2 : 0;
  if (status == BURN_OK && (uint64_t)model->unknown >= model->vocabulary.count)
    status = burn_status_make(BURN_STATUS_CORRUPT_DATA, "no tokenizer.ggml.unknown_token_id, and no token %lld of %zu",
                              (long long)model->unknown, model->vocabulary.count);
  const GgufValue *map = &values->precompiled_charsmap;
  if (status == BURN_OK && map->type != GGUF_NOTHING && map->count > 0) {
    if (map->type != GGUF_ARRAY || (map->element != GGUF_U8 && map->element != GGUF_I8))
      return wrong(map, "precompiled_charsmap is not a list of bytes");
    status = burn__charsmap_read(&step.map, file->bytes + map->at, (size_t)map->count);
  }
  if (status == BURN_OK) status = burn__model_finish(model);
  if (status == BURN_OK) status = burn__tokenizer_piece_steps(tokenizer, &step);
  burn__step_release(&step);
  return status == BURN_OK ? set_around(tokenizer, values, !is_t5, is_t5) : status;
}

/* How texts are cut before byte-level BPE, by the name in tokenizer.ggml.pre. */
static const struct {
  const char *name, *pattern; /* NULL: GPT-2's, which is cut by hand */
} cuts[] = {
    {"default", NULL},
    {"gpt-2", NULL},
    {"llama-bpe",
     "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
     "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
    {"qwen2",
     "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
     "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
};

static BurnStatus add_cut(BurnTextTokenizer *tokenizer, const GgufCursor *file, const GgufValue *pre) {
  const char *name = pre->type == GGUF_TEXT ? (const char *)file->bytes + pre->at : "default";
  const size_t length = pre->type == GGUF_TEXT ? (size_t)pre->count : strlen(name);
  size_t found = 0;
  for (; found < sizeof cuts / sizeof *cuts; found++)
    if (strlen(cuts[found].name) == length && memcmp(cuts[found].name, name, length) == 0) break;
  if (found == sizeof cuts / sizeof *cuts)
    return burn_status_make(BURN_STATUS_UNIMPLEMENTED,
                            "tokenizer.ggml.pre is \"%.*s\"; gpt-2, llama-bpe, qwen2 and default are known",
                            (int)(length < 40 ? length : 40), name);
  BurnStatus status = BURN_OK;
  if (strcmp(cuts[found].name, "qwen2") == 0)
    status = burn__steps_add(&tokenizer->normalizers, (TokenStep){.run = burn__step_nfc});
  if (status == BURN_OK && cuts[found].pattern != NULL) {
    TokenStep split = {.run = burn__step_split, .cut = TOKEN_CUT_ISOLATED};
    split.pattern = burn__token_pattern(cuts[found].pattern, &status);
    if (status == BURN_OK) status = burn__steps_add(&tokenizer->cuts, split);
  }
  const bool by_hand = cuts[found].pattern == NULL;
  if (status != BURN_OK) return status;
  return burn__steps_add(&tokenizer->cuts, (TokenStep){.run = burn__step_byte_level, .flags = {false, by_hand}});
}

static BurnStatus read_byte_pairs(BurnTextTokenizer *tokenizer, const GgufCursor *file, const Values *values) {
  TokenModel *model = &tokenizer->model;
  model->name = "BPE";
  model->encode = burn__encode_bpe;
  model->takes_known_words = values->pre.type == GGUF_TEXT && values->pre.count == 9; /* llama-bpe */
  BurnStatus status = burn__model_finish(model);
  if (status == BURN_OK) status = read_merges(model, file, &values->merges);
  if (status == BURN_OK) status = add_cut(tokenizer, file, &values->pre);
  for (size_t i = 0; i < model->vocabulary.count && status == BURN_OK; i++) {
    size_t length = 0;
    const char *text = burn__vocabulary_text(&model->vocabulary, (int64_t)i, &length);
    const bool is_control = model->types[i] == PIECE_CONTROL;
    if (length > 0 && (is_control || model->types[i] == PIECE_USER_DEFINED))
      status = burn__tokenizer_add(tokenizer, (TokenAdded){.id = (int64_t)i, .is_special = is_control}, text, length);
  }
  if (status == BURN_OK)
    status = burn__steps_add(&tokenizer->decoders, (TokenStep){.decode = burn__step_decode_byte_level});
  return status == BURN_OK ? set_around(tokenizer, values, false, false) : status;
}

static void find_value(void *context, const char *key, const GgufValue *value) { keep_value(context, key, *value); }

static bool is_model(const GgufCursor *file, const GgufValue *model, const char *name) {
  return model->type == GGUF_TEXT && model->count == strlen(name) &&
         memcmp(file->bytes + model->at, name, (size_t)model->count) == 0;
}

BurnStatus burn__tokenizer_read_gguf(BurnTextTokenizer *tokenizer, const uint8_t *bytes, size_t count) {
  GgufCursor file = {bytes, count, 0};
  Values values;
  memset(&values, 0, sizeof values);
  TokenModel *model = &tokenizer->model;
  BurnStatus status = burn__gguf_walk(&file, find_value, &values);
  if (status != BURN_OK) return status;
  if (values.model.type == GGUF_NOTHING)
    return burn_status_make(BURN_STATUS_NOT_FOUND, "a GGUF file without a tokenizer (tokenizer.ggml.model)");
  const bool is_bert = is_model(&file, &values.model, "bert"), is_t5 = is_model(&file, &values.model, "t5");
  status = read_tokens(model, &file, &values.tokens, is_bert);
  if (status == BURN_OK) status = read_types(model, &file, &values.token_type);
  if (status != BURN_OK) return status;
  tokenizer->pad_id = token_of(&values.padding_token_id, model);
  if (is_bert) return burn__tokenizer_bert(tokenizer);
  if (is_t5 || is_model(&file, &values.model, "llama")) return read_pieces(tokenizer, &file, &values, is_t5);
  if (is_model(&file, &values.model, "gpt2")) return read_byte_pairs(tokenizer, &file, &values);
  const size_t length = values.model.type == GGUF_TEXT ? (size_t)values.model.count : 0;
  return burn_status_make(BURN_STATUS_UNIMPLEMENTED,
                          "tokenizer.ggml.model is \"%.*s\"; llama, gpt2, bert and t5 are known",
                          (int)(length < 40 ? length : 40), (const char *)bytes + values.model.at);
}
