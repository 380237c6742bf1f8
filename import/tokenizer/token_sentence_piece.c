/* token_sentence_piece.c - SentencePiece's normalizer: its map of characters, spaces at the ends and in a row, and the
 * mark that stands for a space. */
#include "token_model.h"
#include "token_step.h"
#include "token_unicode.h"

#include <string.h>

static const char mark[] = "\xe2\x96\x81";

/* What the text at a place becomes, and how many bytes of it. Pieces of a user stay as they are; of the texts in the
 * map the longest counts. */
static size_t replaced(const TokenStep *step, const TokenSlice *in, size_t at, const char **text, size_t *length) {
  size_t size = 0;
  int32_t id = -1;
  const char *rest = in->bytes + at;
  *text = rest;
  *length = step->kept != NULL ? burn__vocabulary_longest(step->kept, rest, in->count - at, &id) : 0;
  if (*length > 0) return *length;
  size = burn__charsmap_find(&step->map, rest, in->count - at, true, text);
  *length = size > 0 ? strlen(*text) : 0;
  if (size > 0) return size;
  (void)burn__character_at(in, at, &size);
  *text = rest;
  *length = size;
  return size;
}

typedef struct Writing {
  const TokenStep *step;
  TokenParts *out;
  bool after_space;
} Writing;

static void put_space(Writing *writing, uint32_t from, uint32_t to) {
  if (writing->step->flags[2])
    burn__parts_put(writing->out, mark, 3, from, to);
  else
    burn__parts_put(writing->out, " ", 1, from, to);
}

/* A replacement, of several spaces in a row one. */
static void put_text(Writing *writing, const char *text, size_t length, uint32_t from, uint32_t to) {
  size_t at = 0;
  while (writing->after_space && at < length && text[at] == ' ') at++;
  if (at < length) writing->after_space = text[length - 1] == ' ';
  for (; at < length; at++) {
    if (text[at] == ' ')
      put_space(writing, from, to);
    else
      burn__parts_put(writing->out, text + at, 1, from, to);
  }
  if (!writing->step->flags[1]) writing->after_space = false;
}

static void drop_last_spaces(const TokenStep *step, TokenParts *out) {
  const char *space = step->flags[2] ? mark : " ";
  const size_t size = strlen(space);
  while (out->used - out->begun >= size && memcmp(out->bytes + out->used - size, space, size) == 0) out->used -= size;
}

/* map; kept; flags: add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces, treat_whitespace_as_suffix. */
void burn__step_sentence_piece(const TokenStep *step, const TokenSlice *in, TokenParts *out) {
  Writing writing = {step, out, step->flags[1]};
  const char *text = NULL;
  size_t begin = 0, length = 0;
  while (step->flags[1] && begin < in->count) {
    const size_t size = replaced(step, in, begin, &text, &length);
    if (length != 1 || text[0] != ' ') break;
    begin += size;
  }
  if (begin == in->count) return;
  if (step->flags[0] && !step->flags[3]) put_space(&writing, in->from[begin], in->from[begin]);
  for (size_t at = begin, size = 0; at < in->count && out->status == BURN_OK; at += size) {
    size = replaced(step, in, at, &text, &length);
    put_text(&writing, text, length, in->from[at], in->to[at + size - 1]);
  }
  if (step->flags[1] && out->status == BURN_OK) drop_last_spaces(step, out);
  if (step->flags[0] && step->flags[3]) put_space(&writing, in->to[in->count - 1], in->to[in->count - 1]);
}
