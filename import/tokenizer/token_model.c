/* token_model.c - what models share, and the two that look up words: WordLevel and WordPiece. */
#include "token_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- made and freed --------------------------------------------------------------------------- */

static BurnStatus no_memory(size_t count) {
  return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a model of %zu tokens", count);
}

static int by_score(const void *a, const void *b) {
  const double *left = *(const double *const *)a, *right = *(const double *const *)b;
  return *left > *right ? -1 : *left < *right ? 1 : left < right ? -1 : left > right;
}

/* Equal scores have equal ranks. */
static BurnStatus rank_scores(TokenModel *model) {
  const size_t count = model->vocabulary.count;
  const double **sorted = malloc((count + 1) * sizeof *sorted);
  model->score_ranks = calloc(count + 1, sizeof *model->score_ranks);
  if (sorted == NULL || model->score_ranks == NULL) {
    free((void *)sorted);
    return no_memory(count);
  }
  for (size_t i = 0; i < count; i++) sorted[i] = &model->scores[i];
  qsort((void *)sorted, count, sizeof *sorted, by_score);
  int64_t rank = 0;
  for (size_t i = 0; i < count; i++) {
    if (i > 0 && *sorted[i] < *sorted[i - 1]) rank++;
    model->score_ranks[sorted[i] - model->scores] = rank;
  }
  free((void *)sorted);
  return BURN_OK;
}

enum { UNKNOWN_PENALTY = 10 };

/* An unknown character costs 10 more than the worst piece; a user's piece is better than all. */
static void bound_scores(TokenModel *model) {
  double least = 0, most = 0;
  bool any = false;
  for (size_t i = 0; i < model->vocabulary.count; i++) {
    if (burn__model_type(model, (int64_t)i) != PIECE_NORMAL) continue;
    const double score = model->scores[i];
    least = !any || score < least ? score : least;
    most = !any || score > most ? score : most;
    any = true;
  }
  model->unknown_score = least - (double)UNKNOWN_PENALTY;
  model->user_score = most;
}

BurnStatus burn__model_finish(TokenModel *model) {
  BurnStatus status = burn__vocabulary_finish(&model->vocabulary);
  for (int i = 0; i < 256 && status == BURN_OK; i++) {
    char text[8];
    (void)snprintf(text, sizeof text, "<0x%02X>", (unsigned)i);
    model->of_byte[i] = burn__vocabulary_find(&model->vocabulary, text, 6);
  }
  if (status == BURN_OK && model->scores != NULL) bound_scores(model);
  if (status == BURN_OK && model->encode == burn__encode_piece_pairs) status = rank_scores(model);
  return status;
}

void burn__model_release(TokenModel *model) {
  burn__vocabulary_release(&model->vocabulary);
  burn__pair_release(&model->ranks);
  free(model->prefix);
  free(model->suffix);
  free(model->merged);
  free(model->scores);
  free(model->score_ranks);
  free(model->types);
  *model = (TokenModel){.name = NULL};
}

bool burn__model_merge(TokenModel *model, int32_t left, int32_t right, int32_t merged) {
  const uint64_t key = burn__pair_key(left, right);
  if (model->merge_count == model->merge_room) {
    const size_t room = model->merge_room > 0 ? 2 * model->merge_room : 256;
    int32_t *grown = realloc(model->merged, room * sizeof *grown);
    if (grown == NULL) return false;
    model->merged = grown;
    model->merge_room = room;
  }
  int64_t *known = burn__pair_find(&model->ranks, key);
  if (known != NULL)
    *known = (int64_t)model->merge_count;
  else if (!burn__pair_put(&model->ranks, key, (int64_t)model->merge_count))
    return false;
  model->merged[model->merge_count++] = merged;
  return true;
}

BurnStatus burn__scratch_text(TokenScratch *scratch, size_t room) {
  if (room <= scratch->text_room) return BURN_OK;
  char *grown = realloc(scratch->text, room);
  if (grown == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "tokenizer: no memory for %zu bytes", room);
  scratch->text = grown;
  scratch->text_room = room;
  return BURN_OK;
}

void burn__scratch_release(TokenScratch *scratch) {
  burn__merge_release(&scratch->word);
  free(scratch->path);
  free(scratch->text);
}

/* -- words ------------------------------------------------------------------------------------ */

static BurnStatus add_unknown(const TokenModel *model, const TokenSlice *part, BurnEncoding *out) {
  if (model->unknown >= 0) return burn__encoding_add(out, model->unknown, part, 0, part->count);
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                          "tokenizer: the word \"%.*s\" at byte %u is not in the vocabulary, which has no token for "
                          "unknown words",
                          (int)(part->count < 40 ? part->count : 40), part->bytes, (unsigned)part->from[0]);
}

BurnStatus burn__encode_words(const TokenModel *model, const TokenSlice *part, TokenScratch *scratch,
                              BurnEncoding *out) {
  (void)scratch;
  const int32_t id = burn__vocabulary_find(&model->vocabulary, part->bytes, part->count);
  return id >= 0 ? burn__encoding_add(out, id, part, 0, part->count) : add_unknown(model, part, out);
}

static size_t character_count(const TokenSlice *part) {
  size_t count = 0;
  for (size_t i = 0; i < part->count; i++) count += burn__is_boundary(part->bytes, part->count, i);
  return count;
}

/* The longest token that the word begins with, then of the rest the longest that goes on, to its end; else unknown. */
BurnStatus burn__encode_word_piece(const TokenModel *model, const TokenSlice *part, TokenScratch *scratch,
                                   BurnEncoding *out) {
  const size_t before = out->count, prefix = model->prefix_length;
  if (character_count(part) > model->max_characters) return add_unknown(model, part, out);
  BurnStatus status = burn__scratch_text(scratch, prefix + part->count);
  if (status != BURN_OK) return status;
  char *word = scratch->text + prefix; /* room for the prefix, which is written over what was found already */
  memcpy(word, part->bytes, part->count);
  for (size_t at = 0, size = 0; at < part->count; at += size) {
    const size_t lead = at > 0 ? prefix : 0;
    int32_t id = -1;
    if (lead > 0) memcpy(word + at - lead, model->prefix, lead);
    size = burn__vocabulary_longest(&model->vocabulary, word + at - lead, part->count - at + lead, &id);
    if (size <= lead) {
      out->count = before;
      return add_unknown(model, part, out);
    }
    size -= lead;
    status = burn__encoding_add(out, id, part, at, at + size);
    if (status != BURN_OK) return status;
  }
  return BURN_OK;
}
