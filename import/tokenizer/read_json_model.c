/* read_json_model.c - the models of tokenizer.json: vocabularies, merges, scores. */
#include "read_json.h"

#include <stdlib.h>
#include <string.h>

static BurnStatus no_memory(void) { return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a tokenizer"); }

enum { VOCAB, MERGES, UNKNOWN, UNKNOWN_ID, PREFIX, SUFFIX, FUSE, BYTES, IGNORE, CHARACTERS, DROPOUT, TYPE, FIELDS };
static const char *const names[] = {"vocab",
                                    "merges",
                                    "unk_token",
                                    "unk_id",
                                    "continuing_subword_prefix",
                                    "end_of_word_suffix",
                                    "fuse_unk",
                                    "byte_fallback",
                                    "ignore_merges",
                                    "max_input_chars_per_word",
                                    "dropout",
                                    "type"};

/* {"the": 1, ..} */
static BurnStatus read_vocab(TokenModel *model, BurnJson json) {
  bool is_first = true;
  burn__json_take(&json, '{');
  while (burn__json_more(&json, &is_first, '}')) {
    char *text = burn__json_text(&json);
    burn__json_take(&json, ':');
    const uint64_t id = burn__json_uint(&json);
    BurnStatus status = json.status;
    if (status == BURN_OK) status = burn__vocabulary_set(&model->vocabulary, id, text, strlen(text));
    free(text);
    if (status != BURN_OK) return status;
  }
  return json.status;
}

static BurnStatus add_score(TokenModel *model, size_t id, double score) {
  if ((id & (id - 1)) == 0) {
    double *grown = realloc(model->scores, (id > 0 ? 2 * id : 1) * sizeof *grown);
    if (grown == NULL) return no_memory();
    model->scores = grown;
  }
  model->scores[id] = score;
  return BURN_OK;
}

/* [["the", -3.5], ..] */
static BurnStatus read_scored(TokenModel *model, BurnJson json) {
  bool is_first = true;
  burn__json_take(&json, '[');
  for (size_t id = 0; burn__json_more(&json, &is_first, ']'); id++) {
    burn__json_take(&json, '[');
    char *text = burn__json_text(&json);
    burn__json_take(&json, ',');
    const double score = burn__json_number(&json);
    burn__json_take(&json, ']');
    BurnStatus status = json.status;
    if (status == BURN_OK) status = burn__vocabulary_set(&model->vocabulary, id, text, strlen(text));
    if (status == BURN_OK) status = add_score(model, id, score);
    free(text);
    if (status != BURN_OK) return status;
  }
  return json.status;
}

/* -- merges ----------------------------------------------------------------------------------- */

/* The two texts of a merge, "t h" or ["t", "h"], each malloc'd; NULLs on failure. */
static void read_merge(BurnJson *json, char *pair[2]) {
  pair[0] = pair[1] = NULL;
  if (burn__json_peek(json) == '[') {
    burn__json_take(json, '[');
    pair[0] = burn__json_text(json);
    burn__json_take(json, ',');
    pair[1] = burn__json_text(json);
    burn__json_take(json, ']');
    return;
  }
  pair[0] = burn__json_text(json);
  char *space = pair[0] != NULL ? strchr(pair[0], ' ') : NULL;
  if (space == NULL) {
    burn__json_expected(json, "a merge of two texts");
    return;
  }
  pair[1] = strdup(space + 1);
  *space = '\0';
  if (pair[1] == NULL && json->status == BURN_OK) json->status = no_memory();
}

/* The number of what the two become. */
static int32_t merged_id(const TokenModel *model, const char *left, const char *right) {
  const size_t first = strlen(left), second = strlen(right);
  const size_t prefix = model->prefix_length < second ? model->prefix_length : second;
  char *both = malloc(first + second + 1);
  if (both == NULL) return -1;
  memcpy(both, left, first);
  memcpy(both + first, right + prefix, second - prefix);
  const int32_t id = burn__vocabulary_find(&model->vocabulary, both, first + second - prefix);
  free(both);
  return id;
}

static BurnStatus add_merge(TokenModel *model, const BurnJson *json, char *pair[2]) {
  const int32_t left = burn__vocabulary_find(&model->vocabulary, pair[0], strlen(pair[0]));
  const int32_t right = burn__vocabulary_find(&model->vocabulary, pair[1], strlen(pair[1]));
  const int32_t merged = left >= 0 && right >= 0 ? merged_id(model, pair[0], pair[1]) : -1;
  if (merged < 0)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA,
                            "byte %zu: the merge of \"%.40s\" and \"%.40s\" is not in the vocabulary", json->at,
                            pair[0], pair[1]);
  return burn__model_merge(model, left, right, merged) ? BURN_OK : no_memory();
}

static BurnStatus read_merges(TokenModel *model, BurnJson json) {
  bool is_first = true;
  BurnStatus status = BURN_OK;
  burn__json_take(&json, '[');
  while (status == BURN_OK && burn__json_more(&json, &is_first, ']')) {
    char *pair[2];
    read_merge(&json, pair);
    status = json.status;
    if (status == BURN_OK) status = add_merge(model, &json, pair);
    free(pair[0]);
    free(pair[1]);
  }
  return status == BURN_OK ? json.status : status;
}

/* -- models ----------------------------------------------------------------------------------- */

static BurnStatus read_decoration(BurnJson *value, char **text, size_t *length) {
  if (!burn__json_has(value)) return BURN_OK;
  *text = burn__json_text(value);
  *length = *text != NULL ? strlen(*text) : 0;
  return value->status;
}

static BurnStatus find_unknown(TokenModel *model, BurnJson *found) {
  if (burn__json_has(&found[UNKNOWN_ID])) {
    const uint64_t id = burn__json_uint(&found[UNKNOWN_ID]);
    model->unknown = id < model->vocabulary.count ? (int64_t)id : -1;
    if (model->unknown < 0)
      return burn_status_make(BURN_STATUS_CORRUPT_DATA, "unk_id is %llu, but the vocabulary has %zu tokens",
                              (unsigned long long)id, model->vocabulary.count);
  }
  if (!burn__json_has(&found[UNKNOWN])) return found[UNKNOWN_ID].status;
  char *text = burn__json_text(&found[UNKNOWN]);
  if (text != NULL) model->unknown = burn__vocabulary_find(&model->vocabulary, text, strlen(text));
  free(text);
  return found[UNKNOWN].status;
}

static BurnStatus set_kind(TokenModel *model, const char *type, const BurnJson *found) {
  const BurnJson *vocab = &found[VOCAB];
  const bool is_list = vocab->bytes[vocab->at] == '[';
  if (strcmp(type, "WordPiece") == 0) {
    model->name = "WordPiece";
    model->encode = burn__encode_word_piece;
  } else if (strcmp(type, "BPE") == 0 || (type[0] == '\0' && burn__json_has(&found[MERGES]))) {
    model->name = "BPE";
    model->encode = burn__encode_bpe;
  } else if (strcmp(type, "Unigram") == 0 || (type[0] == '\0' && is_list)) {
    model->name = "Unigram";
    model->encode = burn__encode_unigram;
    model->fuses_unknown = true;
  } else if (strcmp(type, "WordLevel") == 0) {
    model->name = "WordLevel";
    model->encode = burn__encode_words;
  } else if (type[0] == '\0') { /* old files do not say it */
    model->name = "WordPiece";
    model->encode = burn__encode_word_piece;
  } else {
    return burn__json_unknown(vocab, "model", type);
  }
  if (is_list == (model->encode == burn__encode_unigram)) return BURN_OK;
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: the vocabulary of a %s model is %s", vocab->at,
                          model->name, is_list ? "a list" : "no list");
}

static BurnStatus read_settings(TokenModel *model, BurnJson *found) {
  model->fuses_unknown = burn__json_bool(&found[FUSE], model->fuses_unknown);
  model->falls_back_to_bytes = burn__json_bool(&found[BYTES], false);
  model->takes_known_words = burn__json_bool(&found[IGNORE], false);
  model->max_characters = 100;
  if (burn__json_has(&found[CHARACTERS])) model->max_characters = (size_t)burn__json_uint(&found[CHARACTERS]);
  const bool drops = burn__json_has(&found[DROPOUT]) && burn__json_number(&found[DROPOUT]) > 0.0;
  if (drops) return burn_status_make(BURN_STATUS_UNIMPLEMENTED, "a BPE model with dropout, which chooses at random");
  BurnStatus status = read_decoration(&found[PREFIX], &model->prefix, &model->prefix_length);
  if (status == BURN_OK) status = read_decoration(&found[SUFFIX], &model->suffix, &model->suffix_length);
  return status == BURN_OK ? found[CHARACTERS].status : status;
}

BurnStatus burn__json_read_model(BurnTextTokenizer *tokenizer, BurnJson *json) {
  TokenModel *model = &tokenizer->model;
  BurnJson found[FIELDS];
  burn__json_fields(json, names, FIELDS, found);
  if (json->status == BURN_OK && !burn__json_has(&found[VOCAB])) burn__json_expected(json, "a model with a vocab");
  if (json->status != BURN_OK) return json->status;
  const BurnJsonName type = burn__json_name(&found[TYPE]);
  BurnStatus status = set_kind(model, type.text, found);
  if (status == BURN_OK) status = read_settings(model, found);
  if (status == BURN_OK)
    status = model->encode == burn__encode_unigram ? read_scored(model, found[VOCAB]) : read_vocab(model, found[VOCAB]);
  if (status == BURN_OK) status = burn__model_finish(model);
  if (status == BURN_OK) status = find_unknown(model, found);
  if (status == BURN_OK && burn__json_has(&found[MERGES])) status = read_merges(model, found[MERGES]);
  return status;
}
