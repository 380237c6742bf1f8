/* token_unigram.c - the unigram model: of all ways to cut a text into pieces the one with the highest sum of scores
 * (Viterbi), in steps of the text times the longest piece. */
#include "token_model.h"
#include "token_unicode.h"

#include <stdlib.h>

/* The best way to a place. */
struct TokenPath {
  double score;
  size_t from; /* SIZE_MAX: no way */
  int32_t id;
};
typedef struct TokenPath TokenPath;

static void offer(const TokenModel *model, TokenPath *path, size_t from, size_t to, double score, int32_t id) {
  double sum = path[from].score + score;
  if (model->is_single) sum = (double)((float)path[from].score + (float)score);
  if (path[to].from != SIZE_MAX && !(sum > path[to].score)) return;
  path[to] = (TokenPath){sum, from, id};
}

static double score_of(const TokenModel *model, int32_t id, size_t length) {
  if (burn__model_type(model, id) != PIECE_USER_DEFINED) return model->scores[id];
  return (double)((float)length * (float)model->user_score - 0.1f);
}

/* All pieces that begin at a place; a character that is none is unknown. */
static void offer_pieces(const TokenModel *model, const TokenSlice *part, TokenPath *path, size_t at, size_t size) {
  TokenSearch search = {0, 0, false};
  bool is_known = false;
  int32_t id = -1;
  for (size_t found = 1; found > 0;) {
    found = burn__vocabulary_next(&model->vocabulary, &search, part->bytes + at, part->count - at, &id);
    if (found == 0) break;
    const uint8_t type = burn__model_type(model, id);
    const bool is_piece = type == PIECE_NORMAL || type == PIECE_USER_DEFINED;
    if (!is_piece || !burn__is_boundary(part->bytes, part->count, at + found)) continue;
    offer(model, path, at, at + found, score_of(model, id, found), id);
    is_known = is_known || found == size;
  }
  if (!is_known) offer(model, path, at, at + size, model->unknown_score, (int32_t)model->unknown);
}

static BurnStatus path_room(TokenScratch *scratch, size_t count) {
  if (count + 1 > scratch->path_room) {
    TokenPath *grown =
        count < SIZE_MAX / 2 / sizeof *grown ? realloc(scratch->path, (count + 1) * sizeof *grown) : NULL;
    if (grown == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "tokenizer: no memory for %zu bytes", count);
    scratch->path = grown;
    scratch->path_room = count + 1;
  }
  for (size_t i = 0; i <= count; i++) scratch->path[i] = (TokenPath){0, SIZE_MAX, -1};
  return BURN_OK;
}

/* Unknown characters as their bytes, if there is a token for each. */
static BurnStatus give_unknown(const TokenModel *model, const TokenSlice *part, size_t begin, size_t end,
                               BurnEncoding *out) {
  bool has_bytes = model->falls_back_to_bytes;
  BurnStatus status = BURN_OK;
  for (size_t i = begin; i < end; i++) has_bytes = has_bytes && model->of_byte[(uint8_t)part->bytes[i]] >= 0;
  if (!has_bytes && model->unknown < 0)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "tokenizer: \"%.*s\" at byte %u is not in the vocabulary, which has no unknown token",
                            (int)(end - begin < 40 ? end - begin : 40), part->bytes + begin,
                            (unsigned)part->from[begin]);
  if (!has_bytes) return burn__encoding_add(out, model->unknown, part, begin, end);
  for (size_t i = begin; i < end && status == BURN_OK; i++) {
    status = burn__encoding_add(out, model->of_byte[(uint8_t)part->bytes[i]], part, begin, end);
  }
  return status;
}

/* Turns the way back into one forth: path[at].from becomes where the piece at `at` ends. */
static size_t turn(TokenPath *path, size_t count) {
  size_t end = count, next = SIZE_MAX;
  int32_t id = -1;
  while (end != 0) {
    const TokenPath here = path[end];
    path[end].from = next;
    path[end].id = id;
    next = end;
    id = here.id;
    end = here.from;
  }
  path[0].from = next;
  path[0].id = id;
  return 0;
}

BurnStatus burn__encode_unigram(const TokenModel *model, const TokenSlice *part, TokenScratch *scratch,
                                BurnEncoding *out) {
  BurnStatus status = path_room(scratch, part->count);
  if (status != BURN_OK) return status;
  TokenPath *path = scratch->path;
  for (size_t at = 0, size = 0; at < part->count; at += size) {
    (void)burn__character_at(part, at, &size);
    offer_pieces(model, part, path, at, size);
  }
  for (size_t at = turn(path, part->count); at < part->count && status == BURN_OK;) {
    size_t end = path[at].from;
    const int32_t id = path[at].id;
    const bool is_unknown = id < 0 || id == model->unknown;
    while (is_unknown && model->fuses_unknown && end < part->count && path[end].id == id) end = path[end].from;
    status = is_unknown ? give_unknown(model, part, at, end, out) : burn__encoding_add(out, id, part, at, end);
    at = end;
  }
  return status;
}
