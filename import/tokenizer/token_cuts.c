/* token_cuts.c - pre-tokenizers: steps that cut a text, as in Hugging Face's tokenizers. */
#include "token_step.h"
#include "token_unicode.h"

#include <string.h>

/* -- cutting at matches ----------------------------------------------------------------------- */

/* Matches of a text come one after the other; what lies between them is a stretch, too. */
typedef struct Cutting {
  const TokenStep *step;
  const TokenSlice *in;
  TokenParts *out;
  size_t at;          /* the end of the last stretch */
  bool before, begun; /* what the last one was; whether there was one */
} Cutting;

/* One stretch, match or not. */
static void stretch(Cutting *cutting, size_t begin, size_t end, bool is_match) {
  TokenParts *out = cutting->out;
  if (begin == end) return;
  switch (cutting->step->cut) {
    case TOKEN_CUT_REMOVED:
      burn__parts_cut(out, -1);
      if (!is_match) burn__parts_copy(out, cutting->in, begin, end);
      break;
    case TOKEN_CUT_MERGED_WITH_PREVIOUS:
      if (!cutting->begun || cutting->before || !is_match) burn__parts_cut(out, -1);
      burn__parts_copy(out, cutting->in, begin, end);
      break;
    case TOKEN_CUT_MERGED_WITH_NEXT:
      if (!cutting->begun || !cutting->before || is_match) burn__parts_cut(out, -1);
      burn__parts_copy(out, cutting->in, begin, end);
      break;
    case TOKEN_CUT_CONTIGUOUS:
      if (cutting->begun && cutting->before != is_match) burn__parts_cut(out, -1);
      burn__parts_copy(out, cutting->in, begin, end);
      break;
    default:
      burn__parts_cut(out, -1);
      burn__parts_copy(out, cutting->in, begin, end);
  }
  cutting->before = is_match;
  cutting->begun = true;
}

static void match_found(void *context, size_t begin, size_t end) {
  Cutting *cutting = context;
  const bool inverted = cutting->step->flags[0];
  stretch(cutting, cutting->at, begin, inverted);
  stretch(cutting, begin, end, !inverted);
  cutting->at = end;
}

static void cutting_end(Cutting *cutting) {
  stretch(cutting, cutting->at, cutting->in->count, cutting->step->flags[0]);
  burn__parts_cut(cutting->out, -1);
}

/* match or pattern; cut; flags: invert. */
void burn__step_split(const TokenStep *step, const TokenSlice *in, TokenParts *out) {
  Cutting cutting = {.step = step, .in = in, .out = out};
  if (step->pattern != NULL) {
    const BurnStatus status = burn__token_pattern_each(step->pattern, in->bytes, in->count, match_found, &cutting);
    if (out->status == BURN_OK) out->status = status;
  } else {
    for (size_t at = 0; step->match_length > 0 && at + step->match_length <= in->count;) {
      const bool is_here = memcmp(in->bytes + at, step->match, step->match_length) == 0;
      if (is_here) match_found(&cutting, at, at + step->match_length);
      at += is_here ? step->match_length : 1;
    }
  }
  cutting_end(&cutting);
}

/* Every character of a kind is a match. */
static void cut_characters(const TokenStep *step, bool (*is)(uint32_t), const TokenSlice *in, TokenParts *out) {
  Cutting cutting = {.step = step, .in = in, .out = out};
  for (size_t at = 0, size = 0; at < in->count; at += size)
    if (is(burn__character_at(in, at, &size))) match_found(&cutting, at, at + size);
  cutting_end(&cutting);
}

static bool is_bert_punctuation(uint32_t code) {
  const bool is_ascii = (code >= '!' && code <= '/') || (code >= ':' && code <= '@') || (code >= '[' && code <= '`') ||
                        (code >= '{' && code <= '~');
  return is_ascii || burn__is_punctuation(code);
}

/* cut */
void burn__step_punctuation(const TokenStep *step, const TokenSlice *in, TokenParts *out) {
  cut_characters(step, is_bert_punctuation, in, out);
}

/* cut: digit by digit (isolated), or digits together (contiguous). */
void burn__step_digits(const TokenStep *step, const TokenSlice *in, TokenParts *out) {
  cut_characters(step, burn__is_number, in, out);
}

void burn__step_whitespace_split(const TokenStep *step, const TokenSlice *in, TokenParts *out) {
  (void)step;
  cut_characters(&(TokenStep){.cut = TOKEN_CUT_REMOVED}, burn__is_space, in, out);
}

void burn__step_bert_words(const TokenStep *step, const TokenSlice *in, TokenParts *out) {
  (void)step;
  for (size_t at = 0, size = 0; at < in->count; at += size) {
    const uint32_t code = burn__character_at(in, at, &size);
    const bool is_apart = is_bert_punctuation(code);
    if (is_apart || burn__is_space(code)) burn__parts_cut(out, -1);
    if (!burn__is_space(code)) burn__parts_copy(out, in, at, at + size);
    if (is_apart) burn__parts_cut(out, -1);
  }
  burn__parts_cut(out, -1);
}

/* \w+|[^\w\s]+ */
void burn__step_whitespace(const TokenStep *step, const TokenSlice *in, TokenParts *out) {
  (void)step;
  int before = -1;
  for (size_t at = 0, size = 0; at < in->count; at += size) {
    const uint32_t code = burn__character_at(in, at, &size);
    const int kind = burn__is_word(code) ? 1 : burn__is_space(code) ? 0 : 2;
    if (kind != before) burn__parts_cut(out, -1);
    if (kind != 0) burn__parts_copy(out, in, at, at + size);
    before = kind;
  }
  burn__parts_cut(out, -1);
}

/* -- words with their spaces ------------------------------------------------------------------ */

/* A word of bytes, each as the character that stands for it and for its character of the input. */
static void put_bytes(const TokenSlice *in, size_t begin, size_t end, TokenParts *out) {
  for (size_t i = begin; i < end; i++)
    burn__parts_put_character(out, burn__byte_character((uint8_t)in->bytes[i]), in->from[i], in->to[i]);
  burn__parts_cut(out, -1);
}

/* flags: add_prefix_space, use_regex. */
void burn__step_byte_level(const TokenStep *step, const TokenSlice *in, TokenParts *out) {
  TokenParts copy = {.status = BURN_OK};
  TokenSlice text = *in;
  if (step->flags[0] && in->count > 0 && in->bytes[0] != ' ') {
    burn__parts_put(&copy, " ", 1, in->from[0], in->to[0]);
    burn__parts_copy(&copy, in, 0, in->count);
    text = (TokenSlice){copy.bytes, copy.from, copy.to, copy.used};
  }
  for (size_t at = 0, size = 0; at < text.count; at += size) {
    size = step->flags[1] ? burn__word(text.bytes + at, text.count - at) : text.count;
    put_bytes(&text, at, at + size, out);
  }
  if (out->status == BURN_OK) out->status = copy.status;
  burn__parts_release(&copy);
}

/* text: what stands for a space; prepend; flags: split. */
void burn__step_metaspace(const TokenStep *step, const TokenSlice *in, TokenParts *out) {
  if (in->count == 0) return;
  const bool marked =
      step->text_length > 0 && in->count >= step->text_length && memcmp(in->bytes, step->text, step->text_length) == 0;
  const bool starts = in->bytes[0] == ' ' || step->text_length == 0 || marked;
  const bool wants =
      step->prepend == TOKEN_PREPEND_ALWAYS || (step->prepend == TOKEN_PREPEND_FIRST && in->from[0] == 0);
  if (wants && !starts) burn__parts_put(out, step->text, step->text_length, in->from[0], in->to[0]);
  for (size_t at = 0, size = 0; at < in->count; at += size) {
    (void)burn__character_at(in, at, &size);
    const bool is_space = in->bytes[at] == ' ';
    const bool is_mark = size == step->text_length && memcmp(in->bytes + at, step->text, size) == 0;
    if (step->flags[0] && (is_space || is_mark) && at > 0) burn__parts_cut(out, -1);
    if (is_space)
      burn__parts_put(out, step->text, step->text_length, in->from[at], in->to[at]);
    else
      burn__parts_copy(out, in, at, at + size);
  }
  burn__parts_cut(out, -1);
}
