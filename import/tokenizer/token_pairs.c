/* token_pairs.c - models that merge pairs: BPE with a list of merges, and SentencePiece's, which merges what is a
 * piece. */
#include "token_model.h"
#include "token_unicode.h"

#include <string.h>

/* -- BPE -------------------------------------------------------------------------------------- */

static bool merge_rank(const void *context, const BurnMergeLink *left, const BurnMergeLink *right, int64_t *rank,
                       int32_t *merged) {
  const TokenModel *model = context;
  const int64_t *found = burn__pair_find(&model->ranks, burn__pair_key(left->id, right->id));
  if (found == NULL) return false;
  *rank = *found;
  *merged = model->merged[*found];
  return true;
}

/* A character with what words have before and after; borrowed where there is neither. */
static const char *decorated(const TokenModel *model, const TokenSlice *part, size_t begin, size_t end,
                             TokenScratch *scratch, size_t *length) {
  const size_t prefix = begin > 0 ? model->prefix_length : 0;
  const size_t suffix = end == part->count ? model->suffix_length : 0;
  *length = end - begin;
  if (prefix + suffix == 0) return part->bytes + begin;
  char *text = scratch->text; /* has room: burn__encode_bpe */
  if (prefix > 0) memcpy(text, model->prefix, prefix);
  memcpy(text + prefix, part->bytes + begin, *length);
  if (suffix > 0) memcpy(text + prefix + *length, model->suffix, suffix);
  *length += prefix + suffix;
  return text;
}

/* Adds the tokens of the bytes of a character; false if one has none. */
static bool add_bytes(const TokenModel *model, const char *text, size_t length, BurnMergeWord *word, size_t *at,
                      BurnStatus *status) {
  if (!model->falls_back_to_bytes) return false;
  for (size_t i = 0; i < length; i++)
    if (model->of_byte[(uint8_t)text[i]] < 0) return false;
  for (size_t i = 0; i < length && *status == BURN_OK; i++, ++*at)
    *status = burn__merge_add(word, model->of_byte[(uint8_t)text[i]], *at, *at + 1);
  return true;
}

/* Characters without a token that wait for their token; 0 bytes: none do. */
typedef struct Unknown {
  size_t length;
} Unknown;

static BurnStatus flush_unknown(const TokenModel *model, BurnMergeWord *word, size_t *at, Unknown *unknown) {
  if (unknown->length == 0) return BURN_OK;
  const size_t begin = *at;
  *at += unknown->length;
  unknown->length = 0;
  return burn__merge_add(word, (int32_t)model->unknown, begin, *at);
}

/* The characters of a part as symbols. Places are counted by what is added, as Hugging Face's tokenizers count, so a
 * character that has no token at all moves what follows. */
static BurnStatus add_symbols(const TokenModel *model, const TokenSlice *part, TokenScratch *scratch) {
  BurnStatus status = BURN_OK;
  Unknown unknown = {0};
  size_t at = 0;
  scratch->word.count = 0;
  for (size_t begin = 0, size = 0; begin < part->count && status == BURN_OK; begin += size) {
    size_t length = 0;
    (void)burn__character_at(part, begin, &size);
    const char *text = decorated(model, part, begin, begin + size, scratch, &length);
    const int32_t id = burn__vocabulary_find(&model->vocabulary, text, length);
    if (id >= 0) {
      status = flush_unknown(model, &scratch->word, &at, &unknown);
      if (status == BURN_OK) status = burn__merge_add(&scratch->word, id, at, at + size);
      at += size;
    } else if (!add_bytes(model, text, length, &scratch->word, &at, &status) && model->unknown >= 0) {
      if (!model->fuses_unknown) status = flush_unknown(model, &scratch->word, &at, &unknown);
      unknown.length += size;
    }
  }
  return status == BURN_OK ? flush_unknown(model, &scratch->word, &at, &unknown) : status;
}

static BurnStatus give_links(const BurnMergeWord *word, const TokenSlice *part, BurnEncoding *out) {
  BurnStatus status = BURN_OK;
  for (int64_t at = 0; word->count > 0 && at >= 0 && status == BURN_OK; at = word->links[at].after) {
    const BurnMergeLink *link = &word->links[at];
    const size_t end = link->end < part->count ? link->end : part->count;
    status = burn__encoding_add(out, link->id, part, link->begin < end ? link->begin : end - 1, end);
  }
  return status;
}

BurnStatus burn__encode_bpe(const TokenModel *model, const TokenSlice *part, TokenScratch *scratch, BurnEncoding *out) {
  if (model->takes_known_words) {
    const int32_t id = burn__vocabulary_find(&model->vocabulary, part->bytes, part->count);
    if (id >= 0) return burn__encoding_add(out, id, part, 0, part->count);
  }
  BurnStatus status = burn__scratch_text(scratch, model->prefix_length + model->suffix_length + 4);
  if (status == BURN_OK) status = add_symbols(model, part, scratch);
  if (status != BURN_OK) return status;
  burn__merge_all(&scratch->word, merge_rank, model);
  return give_links(&scratch->word, part, out);
}

/* -- SentencePiece ---------------------------------------------------------------------------- */

/* The model with the text of the word, for a search of pieces in it. */
typedef struct Pieces {
  const TokenModel *model;
  const char *text;
} Pieces;

enum { UNKNOWN_SYMBOL = INT32_MAX };

static bool piece_rank(const void *context, const BurnMergeLink *left, const BurnMergeLink *right, int64_t *rank,
                       int32_t *merged) {
  const Pieces *pieces = context;
  const TokenModel *model = pieces->model;
  const BurnMergeLink *both[] = {left, right};
  for (size_t i = 0; i < 2; i++)
    if (both[i]->id != UNKNOWN_SYMBOL && burn__model_type(model, both[i]->id) == PIECE_USER_DEFINED) return false;
  const int32_t id = burn__vocabulary_find(&model->vocabulary, pieces->text + left->begin, right->end - left->begin);
  if (id < 0) return false;
  const uint8_t type = burn__model_type(model, id);
  if (type != PIECE_NORMAL && type != PIECE_USER_DEFINED) return false;
  *rank = model->score_ranks[id];
  *merged = id;
  return true;
}

/* The longest piece of a user that the text begins with; else a character, with its number or none. */
static size_t first_symbol(const TokenModel *model, const TokenSlice *part, size_t at, int32_t *id) {
  TokenSearch search = {0, 0, false};
  size_t user = 0, size = 0;
  int32_t found_id = -1;
  (void)burn__character_at(part, at, &size);
  *id = UNKNOWN_SYMBOL;
  for (size_t found = 1; found > 0;) {
    found = burn__vocabulary_next(&model->vocabulary, &search, part->bytes + at, part->count - at, &found_id);
    if (found == 0) break;
    const uint8_t type = burn__model_type(model, found_id);
    if (type == PIECE_USER_DEFINED) user = found;
    if (type == PIECE_USER_DEFINED || (user == 0 && found == size && type == PIECE_NORMAL)) *id = found_id;
  }
  return user > 0 ? user : size;
}

static BurnStatus give_unknown(const TokenModel *model, const TokenSlice *part, const BurnMergeLink *link,
                               bool was_unknown, BurnEncoding *out) {
  BurnStatus status = BURN_OK;
  bool has_bytes = model->falls_back_to_bytes;
  for (size_t i = link->begin; i < link->end; i++)
    has_bytes = has_bytes && model->of_byte[(uint8_t)part->bytes[i]] >= 0;
  if (!has_bytes) {
    if (!was_unknown) return burn__encoding_add(out, model->unknown, part, link->begin, link->end);
    out->ends[out->count - 1] = part->to[link->end - 1];
    return BURN_OK;
  }
  for (size_t i = link->begin; i < link->end && status == BURN_OK; i++)
    status = burn__encoding_add(out, model->of_byte[(uint8_t)part->bytes[i]], part, i, i + 1);
  return status;
}

BurnStatus burn__encode_piece_pairs(const TokenModel *model, const TokenSlice *part, TokenScratch *scratch,
                                    BurnEncoding *out) {
  const Pieces pieces = {model, part->bytes};
  BurnStatus status = BURN_OK;
  bool was_unknown = false;
  scratch->word.count = 0;
  for (size_t at = 0, size = 0; at < part->count && status == BURN_OK; at += size) {
    int32_t id = -1;
    size = first_symbol(model, part, at, &id);
    status = burn__merge_add(&scratch->word, id, at, at + size);
  }
  if (status != BURN_OK) return status;
  burn__merge_all(&scratch->word, piece_rank, &pieces);
  for (int64_t at = 0; scratch->word.count > 0 && at >= 0 && status == BURN_OK; at = scratch->word.links[at].after) {
    const BurnMergeLink *link = &scratch->word.links[at];
    const bool is_unknown = link->id == UNKNOWN_SYMBOL;
    status = is_unknown ? give_unknown(model, part, link, was_unknown, out)
                        : burn__encoding_add(out, link->id, part, link->begin, link->end);
    was_unknown = is_unknown;
  }
  return status;
}
