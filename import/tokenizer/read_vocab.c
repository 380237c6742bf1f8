/* read_vocab.c - vocab.txt of BERT: a token per line, numbered from 0. Nothing says whether texts are put in lower
 * case: they are unless a token that stands for itself has capital letters. */
#include "tokenizer_private.h"

#include <stdlib.h>
#include <string.h>

static size_t line_end(const uint8_t *bytes, size_t count, size_t begin) {
  const uint8_t *end = begin < count ? memchr(bytes + begin, '\n', count - begin) : NULL;
  return end != NULL ? (size_t)(end - bytes) : count;
}

/* Lines of text, one of which is [UNK]. */
bool burn__tokenizer_is_vocab(const uint8_t *bytes, size_t count) {
  if (count == 0 || memchr(bytes, 0, count) != NULL) return false;
  for (size_t at = 0; at < count;) {
    const size_t end = line_end(bytes, count, at);
    if (end - at >= 5 && memcmp(bytes + at, "[UNK]", 5) == 0 && end - at <= 6) return true;
    at = end + 1;
  }
  return false;
}

static BurnStatus add_special(BurnTextTokenizer *tokenizer, const char *name, int64_t *id) {
  *id = burn__vocabulary_find(&tokenizer->model.vocabulary, name, strlen(name));
  if (*id < 0) return BURN_OK;
  return burn__tokenizer_add(tokenizer, (TokenAdded){.id = *id, .is_special = true}, name, strlen(name));
}

static bool has_capitals(const TokenVocabulary *vocabulary) {
  for (size_t i = 0; i < vocabulary->count; i++) {
    size_t length = 0;
    const char *text = burn__vocabulary_text(vocabulary, (int64_t)i, &length);
    if (length > 0 && text[0] >= 'A' && text[0] <= 'Z') return true;
  }
  return false;
}

BurnStatus burn__tokenizer_bert(BurnTextTokenizer *tokenizer) {
  static const char *const names[] = {"[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]"};
  TokenModel *model = &tokenizer->model;
  int64_t ids[5];
  model->name = "WordPiece";
  model->encode = burn__encode_word_piece;
  model->max_characters = 100;
  model->prefix = calloc(1, 3);
  if (model->prefix == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a tokenizer");
  memcpy(model->prefix, "##", 2);
  model->prefix_length = 2;
  BurnStatus status = burn__model_finish(model);
  for (size_t i = 0; i < 5 && status == BURN_OK; i++) status = add_special(tokenizer, names[i], &ids[i]);
  if (status != BURN_OK) return status;
  if (ids[2] < 0)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "no token [UNK] among %zu", model->vocabulary.count);
  model->unknown = ids[2];
  tokenizer->pad_id = ids[3];
  if (ids[0] >= 0 && ids[1] >= 0 && !burn__template_bert(tokenizer, ids[0], ids[1]))
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a tokenizer");
  return burn__tokenizer_bert_steps(tokenizer, !has_capitals(&model->vocabulary));
}

BurnStatus burn__tokenizer_read_vocab(BurnTextTokenizer *tokenizer, const uint8_t *bytes, size_t count) {
  uint64_t id = 0;
  for (size_t at = 0, end = 0; at < count; at = end + 1, id++) {
    end = line_end(bytes, count, at);
    const size_t length = end > at && bytes[end - 1] == '\r' ? end - 1 - at : end - at;
    const BurnStatus status = burn__vocabulary_set(&tokenizer->model.vocabulary, id, (const char *)bytes + at, length);
    if (status != BURN_OK) return burn_status_annotate(status, "line %llu", (unsigned long long)id + 1);
  }
  return burn__tokenizer_bert(tokenizer);
}
