/* token_added.c - tokens that stand for themselves wherever they are found: the longest first, from the left. */
#include "tokenizer_private.h"

#include "token_unicode.h"

#include <stdlib.h>

BurnStatus burn__tokenizer_add(BurnTextTokenizer *tokenizer, TokenAdded added, const char *text, size_t length) {
  if (added.id < 0 || length == 0) return burn_status_make(BURN_STATUS_CORRUPT_DATA, "an added token without a text");
  const BurnStatus status = burn__vocabulary_set(&tokenizer->names, (uint64_t)added.id, text, length);
  if (status != BURN_OK) return status;
  if ((tokenizer->added_count & (tokenizer->added_count - 1)) == 0) {
    const size_t room = tokenizer->added_count > 0 ? 2 * tokenizer->added_count : 1;
    TokenAdded *grown = realloc(tokenizer->added, room * sizeof *grown);
    if (grown == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu added tokens", room);
    tokenizer->added = grown;
  }
  tokenizer->added[tokenizer->added_count++] = added;
  return BURN_OK;
}

/* The text of an added token as the normalizers leave it. */
static BurnStatus set_normalized(BurnTextTokenizer *tokenizer, size_t index, const char *text, size_t length) {
  TokenParts parts = {.status = BURN_OK}, spare = {.status = BURN_OK};
  burn__parts_take_text(&parts, text, length);
  parts.limit = 16 * length + 256; /* of all tokens, together, while the file is read */
  BurnStatus status = burn__steps_run(&tokenizer->normalizers, &parts, &spare);
  if (status == BURN_OK && parts.used > 0)
    status = burn__vocabulary_set(&tokenizer->found[1], index, parts.bytes, parts.used);
  burn__parts_release(&parts);
  burn__parts_release(&spare);
  return status;
}

static int compare_ids(const void *a, const void *b) {
  const int64_t left = ((const TokenAdded *)a)->id, right = ((const TokenAdded *)b)->id;
  return (left > right) - (left < right);
}

BurnStatus burn__tokenizer_finish(BurnTextTokenizer *tokenizer) {
  BurnStatus status = BURN_OK;
  if (tokenizer->added_count > 1)
    qsort(tokenizer->added, tokenizer->added_count, sizeof *tokenizer->added, compare_ids);
  for (size_t i = 0; i < tokenizer->added_count && status == BURN_OK; i++) {
    size_t length = 0;
    const char *text = burn__vocabulary_text(&tokenizer->names, tokenizer->added[i].id, &length);
    if (text == NULL || tokenizer->added[i].is_control) continue;
    status = tokenizer->added[i].is_normalized ? set_normalized(tokenizer, i, text, length)
                                               : burn__vocabulary_set(&tokenizer->found[0], i, text, length);
  }
  for (size_t i = 0; i < 2 && status == BURN_OK; i++) status = burn__vocabulary_finish(&tokenizer->found[i]);
  if (status == BURN_OK) status = burn__vocabulary_finish(&tokenizer->names);
  return status;
}

/* -- searching -------------------------------------------------------------------------------- */

/* The character before a place; the place if there is none. */
static size_t character_before(const TokenSlice *in, size_t at) {
  size_t before = at > 0 ? at - 1 : 0;
  while (before > 0 && !burn__is_boundary(in->bytes, in->count, before)) before--;
  return before;
}

static bool stands_alone(const TokenSlice *in, size_t begin, size_t end) {
  size_t size = 0;
  if (begin > 0 && burn__is_word(burn__character_at(in, character_before(in, begin), &size))) return false;
  return end == in->count || !burn__is_word(burn__character_at(in, end, &size));
}

/* Spaces beside a match, not before `least`. */
static void widen(const TokenSlice *in, const TokenAdded *added, size_t least, size_t *begin, size_t *end) {
  size_t size = 0;
  while (added->takes_left && *begin > least) {
    const size_t before = character_before(in, *begin);
    if (!burn__is_space(burn__character_at(in, before, &size))) break;
    *begin = before;
  }
  while (added->takes_right && *end < in->count && burn__is_space(burn__character_at(in, *end, &size))) *end += size;
}

void burn__tokenizer_cut_added(const BurnTextTokenizer *tokenizer, bool normalized, const TokenSlice *in,
                               TokenParts *out) {
  const TokenVocabulary *vocabulary = &tokenizer->found[normalized];
  size_t given = 0;
  for (size_t at = 0; vocabulary->node_count > 1 && at < in->count;) {
    int32_t index = -1;
    const size_t length = burn__vocabulary_longest(vocabulary, in->bytes + at, in->count - at, &index);
    size_t begin = at, end = at + length;
    at += length > 0 ? length : 1;
    if (length == 0 || begin < given) continue;
    const TokenAdded *added = &tokenizer->added[index];
    if (added->single_word && !stands_alone(in, begin, end)) continue;
    widen(in, added, given, &begin, &end);
    burn__parts_copy(out, in, given, begin);
    burn__parts_cut(out, -1);
    burn__parts_copy(out, in, begin, end);
    burn__parts_cut(out, added->id);
    given = end;
    at = at > end ? at : end;
  }
  burn__parts_copy(out, in, given, in->count);
  burn__parts_cut(out, -1);
}

bool burn_text_tokenizer_is_special(const BurnTextTokenizer *tokenizer, int64_t id) {
  const TokenAdded key = {.id = id};
  if (tokenizer == NULL || tokenizer->added_count == 0) return false;
  const TokenAdded *found =
      bsearch(&key, tokenizer->added, tokenizer->added_count, sizeof *tokenizer->added, compare_ids);
  return found != NULL && found->is_special;
}

const char *burn__tokenizer_text(const BurnTextTokenizer *tokenizer, int64_t id, size_t *length) {
  const char *text = burn__vocabulary_text(&tokenizer->names, id, length);
  return text != NULL ? text : burn__vocabulary_text(&tokenizer->model.vocabulary, id, length);
}
