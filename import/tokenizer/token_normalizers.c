/* token_normalizers.c - steps that change a text. Each is as in Hugging Face's tokenizers, also in what its bytes stand
 * for, but that characters of a decomposition stand for the character that they come from. */
#include "token_step.h"
#include "token_unicode.h"

#include <string.h>

void burn__step_nfc(const TokenStep *step, const TokenSlice *in, TokenParts *out) {
  (void)step;
  burn__normal_form(in, TOKEN_COMPOSE, out);
}

void burn__step_nfd(const TokenStep *step, const TokenSlice *in, TokenParts *out) {
  (void)step;
  burn__normal_form(in, 0, out);
}

void burn__step_nfkc(const TokenStep *step, const TokenSlice *in, TokenParts *out) {
  (void)step;
  burn__normal_form(in, TOKEN_COMPOSE | TOKEN_COMPATIBLE, out);
}

void burn__step_nfkd(const TokenStep *step, const TokenSlice *in, TokenParts *out) {
  (void)step;
  burn__normal_form(in, TOKEN_COMPATIBLE, out);
}

void burn__step_lowercase(const TokenStep *step, const TokenSlice *in, TokenParts *out) {
  (void)step;
  burn__lower_case(in, out);
}

void burn__step_strip_accents(const TokenStep *step, const TokenSlice *in, TokenParts *out) {
  (void)step;
  for (size_t at = 0, size = 0; at < in->count; at += size)
    if (!burn__is_mark(burn__character_at(in, at, &size))) burn__parts_copy(out, in, at, at + size);
}

/* -- BertNormalizer --------------------------------------------------------------------------- */

static bool is_chinese(uint32_t code) {
  return (code >= 0x4e00 && code <= 0x9fff) || (code >= 0x3400 && code <= 0x4dbf) ||
         (code >= 0x20000 && code <= 0x2a6df) || (code >= 0x2a700 && code <= 0x2b73f) ||
         (code >= 0x2b740 && code <= 0x2b81f) || (code >= 0x2b920 && code <= 0x2ceaf) ||
         (code >= 0xf900 && code <= 0xfaff) || (code >= 0x2f800 && code <= 0x2fa1f);
}

static void bert_clean(const TokenSlice *in, bool clean, bool part_chinese, TokenParts *out) {
  for (size_t at = 0, size = 0; at < in->count; at += size) {
    const uint32_t code = burn__character_at(in, at, &size), from = in->from[at], to = in->to[at];
    const bool is_blank = code == '\t' || code == '\n' || code == '\r' || burn__is_space(code);
    const bool is_line = code == '\t' || code == '\n' || code == '\r';
    if (clean && !is_line && (code == 0 || code == 0xfffd || burn__is_control(code))) continue;
    const bool apart = part_chinese && is_chinese(code);
    if (apart) burn__parts_put(out, " ", 1, from, to);
    if (clean && is_blank)
      burn__parts_put(out, " ", 1, from, to);
    else
      burn__parts_copy(out, in, at, at + size);
    if (apart) burn__parts_put(out, " ", 1, from, to);
  }
}

/* As one part, for the next of several changes. */
static TokenSlice all_of(const TokenParts *parts) {
  return (TokenSlice){parts->bytes, parts->from, parts->to, parts->used};
}

static void without_nonspacing(const TokenSlice *in, TokenParts *out) {
  for (size_t at = 0, size = 0; at < in->count; at += size)
    if (!burn__is_nonspacing(burn__character_at(in, at, &size))) burn__parts_copy(out, in, at, at + size);
}

/* flags: clean_text, handle_chinese_chars, strip_accents, lowercase. */
void burn__step_bert_normalizer(const TokenStep *step, const TokenSlice *in, TokenParts *out) {
  TokenParts clean = {.status = BURN_OK}, flat = {.status = BURN_OK}, bare = {.status = BURN_OK};
  bert_clean(in, step->flags[0], step->flags[1], &clean);
  TokenSlice text = all_of(&clean);
  if (step->flags[2]) {
    burn__normal_form(&text, 0, &flat);
    text = all_of(&flat);
    without_nonspacing(&text, &bare);
    text = all_of(&bare);
  }
  if (step->flags[3])
    burn__lower_case(&text, out);
  else
    burn__parts_copy(out, &text, 0, text.count);
  const TokenParts *all[] = {&clean, &flat, &bare};
  for (size_t i = 0; i < 3; i++)
    if (out->status == BURN_OK) out->status = all[i]->status;
  burn__parts_release(&clean);
  burn__parts_release(&flat);
  burn__parts_release(&bare);
}

/* -- small ones ------------------------------------------------------------------------------- */

void burn__step_nmt(const TokenStep *step, const TokenSlice *in, TokenParts *out) {
  (void)step;
  for (size_t at = 0, size = 0; at < in->count; at += size) {
    const uint32_t code = burn__character_at(in, at, &size);
    if ((code >= 1 && code <= 8) || code == 0x0b || (code >= 0x0e && code <= 0x1f) || code == 0x7f || code == 0x8f ||
        code == 0x9f)
      continue;
    if (code == 0x09 || code == 0x0a || code == 0x0c || code == 0x0d || code == 0x1680 ||
        (code >= 0x200b && code <= 0x200f) || code == 0x2028 || code == 0x2029 || code == 0x2581 || code == 0xfeff ||
        code == 0xfffd)
      burn__parts_put(out, " ", 1, in->from[at], in->to[at]);
    else
      burn__parts_copy(out, in, at, at + size);
  }
}

/* text is written in front, unless there is nothing. */
void burn__step_prepend(const TokenStep *step, const TokenSlice *in, TokenParts *out) {
  if (in->count == 0) return;
  burn__parts_put(out, step->text, step->text_length, in->from[0], in->to[0]);
  burn__parts_copy(out, in, 0, in->count);
}

/* flags: left, right. */
void burn__step_strip(const TokenStep *step, const TokenSlice *in, TokenParts *out) {
  size_t begin = 0, end = in->count, size = 0;
  while (step->flags[0] && begin < end && burn__is_space(burn__character_at(in, begin, &size))) begin += size;
  while (step->flags[1] && end > begin) {
    size_t last = end - 1;
    while (last > begin && !burn__is_boundary(in->bytes, in->count, last)) last--;
    if (!burn__is_space(burn__character_at(in, last, &size))) break;
    end = last;
  }
  burn__parts_copy(out, in, begin, end);
}

typedef struct Replacing {
  const TokenStep *step;
  const TokenSlice *in;
  TokenParts *out;
  size_t at;
} Replacing;

static void replace_match(void *context, size_t begin, size_t end) {
  Replacing *replacing = context;
  const TokenSlice *in = replacing->in;
  burn__parts_copy(replacing->out, in, replacing->at, begin);
  burn__parts_put(replacing->out, replacing->step->text, replacing->step->text_length, in->from[end - 1],
                  in->to[end - 1]);
  replacing->at = end;
}

/* Every match or pattern becomes text. */
void burn__step_replace(const TokenStep *step, const TokenSlice *in, TokenParts *out) {
  Replacing replacing = {step, in, out, 0};
  if (step->pattern != NULL) {
    const BurnStatus status = burn__token_pattern_each(step->pattern, in->bytes, in->count, replace_match, &replacing);
    if (out->status == BURN_OK) out->status = status;
  } else {
    for (size_t at = 0; step->match_length > 0 && at + step->match_length <= in->count;) {
      const bool is_here = memcmp(in->bytes + at, step->match, step->match_length) == 0;
      if (is_here) replace_match(&replacing, at, at + step->match_length);
      at += is_here ? step->match_length : 1;
    }
  }
  burn__parts_copy(out, in, replacing.at, in->count);
}

/* Every byte as the character that stands for it. */
void burn__step_byte_characters(const TokenStep *step, const TokenSlice *in, TokenParts *out) {
  (void)step;
  for (size_t i = 0; i < in->count; i++) {
    const uint8_t byte = (uint8_t)in->bytes[i];
    burn__parts_put_character(out, burn__byte_character(byte), in->from[i], in->to[i]);
  }
}

/* -- SentencePiece's map ---------------------------------------------------------------------- */

/* Writes what a part of the text becomes; false if it stays. Characters of the replacement stand for those of the part
 * in their order, those beyond for the last. */
static bool put_mapped(const TokenStep *step, const TokenSlice *in, size_t begin, size_t end, TokenParts *out) {
  const char *text = NULL;
  if (burn__charsmap_find(&step->map, in->bytes + begin, end - begin, false, &text) == 0) return false;
  const size_t length = strlen(text);
  const TokenSlice mapped = {text, NULL, NULL, length};
  for (size_t at = 0, size = 0, source = begin, next = 0; at < length;
       at += size, source = next < end ? next : source) {
    size_t source_size = 0;
    (void)burn__character_at(&mapped, at, &size);
    (void)burn__character_at(in, source, &source_size);
    next = source + source_size;
    burn__parts_put(out, text + at, size, in->from[source], in->to[source]);
  }
  return true;
}

/* By grapheme clusters of less than six bytes, else by characters; of several texts in the map that one begins with the
 * shortest counts, and stands for all of it. */
void burn__step_precompiled(const TokenStep *step, const TokenSlice *in, TokenParts *out) {
  for (size_t at = 0, end = 0; at < in->count; at = end) {
    end = burn__grapheme_end(in, at);
    if (end - at < 6 && put_mapped(step, in, at, end, out)) continue;
    for (size_t each = at, size = 0; each < end; each += size) {
      (void)burn__character_at(in, each, &size);
      if (!put_mapped(step, in, each, each + size, out)) burn__parts_copy(out, in, each, each + size);
    }
  }
}
