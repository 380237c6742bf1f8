/* text_tokenizer.c - opening by content, and what a tokenizer tells of itself. */
#include "null_check.h"
#include "path_check.h"
#include "store_format.h"
#include "store_json.h"
#include "tokenizer_private.h"
#include "status_chain.h"

#include <stdlib.h>
#include <string.h>

typedef BurnStatus Reader(BurnTextTokenizer *tokenizer, const uint8_t *bytes, size_t count);

/* The reader of what the bytes are; NULL: none knows them. */
static Reader *reader_of(const uint8_t *bytes, size_t count) {
  BurnJson json = {.bytes = bytes, .end = count, .status = BURN_OK};
  if (count >= 4 && memcmp(bytes, "GGUF", 4) == 0) return burn__tokenizer_read_gguf;
  if (burn__json_peek(&json) == '{') return burn__tokenizer_read_json;
  if (burn__tokenizer_is_sentence_piece(bytes, count)) return burn__tokenizer_read_sentence_piece;
  return burn__tokenizer_is_vocab(bytes, count) ? burn__tokenizer_read_vocab : NULL;
}

static BurnStatus read_bytes(BurnTextTokenizer *tokenizer, const uint8_t *bytes, size_t count) {
  Reader *reader = reader_of(bytes, count);
  tokenizer->model.unknown = tokenizer->pad_id = -1;
  if (reader == NULL)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "no tokenizer: tokenizer.json, .model of SentencePiece, GGUF or vocab.txt expected");
  BurnStatus status = reader(tokenizer, bytes, count);
  if (status == BURN_OK) status = burn__tokenizer_finish(tokenizer);
  return status;
}

BurnTextTokenizer *burn_text_tokenizer_read(const void *bytes, size_t count, const char *label, BurnStatus *status) {
  BurnStatus result = burn__entry_status(status);
  if (result != BURN_OK) return NULL;
  if (count > 0) result = BURN_REQUIRED(bytes, "those of a tokenizer");
  BurnTextTokenizer *tokenizer = result == BURN_OK ? calloc(1, sizeof *tokenizer) : NULL;
  if (result == BURN_OK && tokenizer == NULL)
    result = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a tokenizer");
  if (result == BURN_OK)
    result = burn_status_annotate(read_bytes(tokenizer, bytes, count), "%s", label != NULL ? label : "tokenizer");
  if (result == BURN_OK) return tokenizer;
  burn_text_tokenizer_destroy(tokenizer);
  burn__store_status(status, result);
  return NULL;
}

BurnTextTokenizer *burn_text_tokenizer_open(const char *path, BurnStatus *status) {
  BurnStoreFile file = {.path = path};
  if (burn__entry_status(status) != BURN_OK) return NULL;
  const BurnStatus given = burn__path_check("tokenizer", path);
  if (given != BURN_OK) {
    burn__store_status(status, given);
    return NULL;
  }
  const BurnStatus mapped = burn__store_map(path, &file);
  BurnTextTokenizer *tokenizer = NULL;
  if (mapped == BURN_OK)
    tokenizer = burn_text_tokenizer_read(file.bytes, file.count, path, status);
  else
    burn__store_status(status, burn_status_annotate(mapped, "%s", path));
  if (mapped == BURN_OK) burn__store_unmap(&file);
  return tokenizer;
}

void burn_text_tokenizer_destroy(BurnTextTokenizer *tokenizer) {
  if (tokenizer == NULL) return;
  burn__model_release(&tokenizer->model);
  burn__vocabulary_release(&tokenizer->names);
  burn__vocabulary_release(&tokenizer->users);
  burn__vocabulary_release(&tokenizer->found[0]);
  burn__vocabulary_release(&tokenizer->found[1]);
  burn__steps_release(&tokenizer->normalizers);
  burn__steps_release(&tokenizer->cuts);
  burn__steps_release(&tokenizer->decoders);
  free(tokenizer->added);
  free(tokenizer->single.items);
  free(tokenizer->pair.items);
  free(tokenizer);
}

const char *burn_text_tokenizer_model(const BurnTextTokenizer *tokenizer) {
  return tokenizer != NULL ? tokenizer->model.name : "none";
}

BurnStatus burn__no_tokenizer(void) {
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                          "tokenizer: there is none; the status of the call that should have opened it says why");
}

size_t burn_text_tokenizer_vocabulary(const BurnTextTokenizer *tokenizer) {
  if (tokenizer == NULL) return 0;
  const size_t model = tokenizer->model.vocabulary.count, added = tokenizer->names.count;
  return model > added ? model : added;
}

int64_t burn_text_tokenizer_id(const BurnTextTokenizer *tokenizer, const char *token, size_t length) {
  if (tokenizer == NULL || token == NULL) return -1;
  const int64_t added = burn__vocabulary_find(&tokenizer->names, token, length);
  return added >= 0 ? added : burn__vocabulary_find(&tokenizer->model.vocabulary, token, length);
}

const char *burn_text_tokenizer_token(const BurnTextTokenizer *tokenizer, int64_t id, size_t *length) {
  return tokenizer != NULL ? burn__tokenizer_text(tokenizer, id, length) : NULL;
}

/* -- steps of files that only have a vocabulary ------------------------------------------------ */

bool burn__template_add(TokenTemplate *items, int64_t id, int64_t type_id) {
  struct TokenTemplateItem *grown = realloc(items->items, (items->count + 1) * sizeof *grown);
  if (grown == NULL) return false;
  items->items = grown;
  grown[items->count].id = id;
  grown[items->count++].type_id = type_id;
  return true;
}

bool burn__template_bert(BurnTextTokenizer *tokenizer, int64_t cls, int64_t sep) {
  TokenTemplate *single = &tokenizer->single, *pair = &tokenizer->pair;
  const int64_t ids[] = {cls, TEMPLATE_FIRST, sep, TEMPLATE_SECOND, sep};
  bool made = true;
  for (size_t i = 0; i < 5; i++) {
    if (i < 3) made = made && burn__template_add(single, ids[i], 0);
    made = made && burn__template_add(pair, ids[i], i < 3 ? 0 : 1);
  }
  return made;
}

BurnStatus burn__tokenizer_bert_steps(BurnTextTokenizer *tokenizer, bool lowercase) {
  char *prefix = calloc(1, 3);
  if (prefix == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a step");
  memcpy(prefix, "##", 2);
  BurnStatus status = burn__steps_add(
      &tokenizer->decoders,
      (TokenStep){.decode = burn__step_decode_word_piece, .text = prefix, .text_length = 2, .flags = {true}});
  if (status == BURN_OK)
    status = burn__steps_add(&tokenizer->normalizers, (TokenStep){.run = burn__step_bert_normalizer,
                                                                  .flags = {true, true, lowercase, lowercase}});
  if (status == BURN_OK) status = burn__steps_add(&tokenizer->cuts, (TokenStep){.run = burn__step_bert_words});
  return status;
}
