/* token_decoders.c - steps from the texts of tokens to a text, as in Hugging Face's tokenizers and SentencePiece. */
#include "token_step.h"
#include "token_unicode.h"

#include <string.h>

static void put(TokenParts *out, const char *bytes, size_t count) { burn__parts_put(out, bytes, count, 0, 0); }

static bool starts_with(const TokenSlice *text, size_t at, const char *what, size_t length) {
  return text->count - at >= length && memcmp(text->bytes + at, what, length) == 0;
}

void burn__step_decode_fuse(const TokenStep *step, const TokenParts *in, TokenParts *out) {
  (void)step;
  if (in->used > 0) put(out, in->bytes, in->used);
  burn__parts_end(out);
}

/* match (or pattern) becomes text. */
void burn__step_decode_replace(const TokenStep *step, const TokenParts *in, TokenParts *out) {
  for (size_t i = 0; i < in->count; i++) {
    const TokenSlice text = burn__parts_slice(in, i);
    burn__step_replace(step, &text, out);
    burn__parts_end(out);
  }
}

/* match is the suffix of a word; text a space. */
void burn__step_decode_bpe(const TokenStep *step, const TokenParts *in, TokenParts *out) {
  for (size_t i = 0; i < in->count; i++) {
    const TokenSlice text = burn__parts_slice(in, i);
    const bool is_last = i + 1 == in->count;
    for (size_t at = 0; at < text.count;) {
      const bool is_here = step->match_length > 0 && starts_with(&text, at, step->match, step->match_length);
      if (!is_here) put(out, text.bytes + at, 1);
      if (is_here && !is_last) put(out, " ", 1);
      at += is_here ? step->match_length : 1;
    }
    burn__parts_end(out);
  }
}

/* left and right: how many of text are taken off at most at the two ends of each. */
void burn__step_decode_strip(const TokenStep *step, const TokenParts *in, TokenParts *out) {
  const size_t size = step->text_length;
  for (size_t i = 0; i < in->count; i++) {
    const TokenSlice text = burn__parts_slice(in, i);
    size_t begin = 0, end = text.count;
    for (size_t k = 0; size > 0 && k < step->left && starts_with(&text, begin, step->text, size); k++) begin += size;
    for (size_t k = 0; size > 0 && k < step->right && end - begin >= size; k++) {
      if (memcmp(text.bytes + end - size, step->text, size) != 0) break;
      end -= size;
    }
    burn__parts_copy(out, &text, begin, end);
    burn__parts_end(out);
  }
}

/* text stands for a space; prepend. */
void burn__step_decode_metaspace(const TokenStep *step, const TokenParts *in, TokenParts *out) {
  for (size_t i = 0; i < in->count; i++) {
    const TokenSlice text = burn__parts_slice(in, i);
    for (size_t at = 0; at < text.count;) {
      const bool is_mark = step->text_length > 0 && starts_with(&text, at, step->text, step->text_length);
      if (!is_mark) put(out, text.bytes + at, 1);
      if (is_mark && (i > 0 || step->prepend == TOKEN_PREPEND_NEVER)) put(out, " ", 1);
      at += is_mark ? step->text_length : 1;
    }
    burn__parts_end(out);
  }
}

/* -- WordPiece -------------------------------------------------------------------------------- */

/* What is written together again, longest first where one begins another. */
static const char *const together[][2] = {{" do not", " don't"}, {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"},
                                          {" 've", "'ve"},       {" 're", "'re"}, {" ' ", "'"},  {" .", "."},
                                          {" ?", "?"},           {" !", "!"},     {" ,", ","}};

/* flags: cleanup. One rule after the other, each over the whole token, in this order. */
static void put_clean(const TokenSlice *text, TokenParts *out) {
  static const uint8_t order[] = {7, 8, 9, 10, 6, 1, 2, 0, 3, 4, 5};
  TokenParts texts[2] = {{.status = BURN_OK}, {.status = BURN_OK}};
  TokenParts *from = &texts[0], *to = &texts[1];
  put(from, text->bytes, text->count);
  for (size_t i = 0; i < sizeof order; i++) {
    const char *const *rule = together[order[i]];
    const TokenSlice now = {from->bytes, from->from, from->to, from->used};
    char what[8] = "", becomes[8] = "";
    (void)strncat(what, rule[0], sizeof what - 1);
    (void)strncat(becomes, rule[1], sizeof becomes - 1);
    const TokenStep replace = {
        .match = what, .match_length = strlen(what), .text = becomes, .text_length = strlen(becomes)};
    burn__parts_clear(to);
    burn__step_replace(&replace, &now, to);
    TokenParts *kept = from;
    from = to;
    to = kept;
  }
  put(out, from->bytes, from->used);
  if (out->status == BURN_OK) out->status = from->status;
  burn__parts_release(&texts[0]);
  burn__parts_release(&texts[1]);
}

/* text: the prefix of what goes on. */
void burn__step_decode_word_piece(const TokenStep *step, const TokenParts *in, TokenParts *out) {
  TokenParts joined = {.status = BURN_OK};
  for (size_t i = 0; i < in->count; i++) {
    const TokenSlice text = burn__parts_slice(in, i);
    const bool goes_on = i > 0 && starts_with(&text, 0, step->text, step->text_length);
    joined.used = 0;
    if (i > 0 && !goes_on) put(&joined, " ", 1);
    put(&joined, text.bytes + (goes_on ? step->text_length : 0), text.count - (goes_on ? step->text_length : 0));
    const TokenSlice all = {joined.used > 0 ? joined.bytes : "", joined.from, joined.to, joined.used};
    if (step->flags[0] && memchr(all.bytes, ' ', all.count) != NULL)
      put_clean(&all, out);
    else
      put(out, all.bytes, all.count);
    burn__parts_end(out);
  }
  if (out->status == BURN_OK) out->status = joined.status;
  burn__parts_release(&joined);
}

/* -- bytes ------------------------------------------------------------------------------------ */

/* Bytes as text, a bad one as U+FFFD; `whole`: all of them if one is bad. */
static void put_bytes(const TokenParts *bytes, bool whole, TokenParts *out) {
  bool is_good = true;
  uint32_t code = 0;
  for (size_t at = 0, size = 0; at < bytes->used; at += size) {
    size = burn__character(bytes->bytes + at, bytes->used - at, &code);
    is_good = is_good && size > 0;
    size = size > 0 ? size : 1;
  }
  for (size_t at = 0, size = 0; at < bytes->used; at += size) {
    size = whole && !is_good ? 0 : burn__character(bytes->bytes + at, bytes->used - at, &code);
    if (size > 0)
      put(out, bytes->bytes + at, size);
    else
      put(out, "\xef\xbf\xbd", 3);
    size = size > 0 ? size : 1;
  }
}

/* The byte that <0x41> is; -1 if it is none. */
static int byte_of(const TokenSlice *text) {
  static const char digits[] = "0123456789ABCDEF0123456789abcdef";
  if (text->count != 6 || memcmp(text->bytes, "<0x", 3) != 0 || text->bytes[5] != '>') return -1;
  const char *high = strchr(digits, text->bytes[3]), *low = strchr(digits, text->bytes[4]);
  if (high == NULL || low == NULL || *high == '\0' || *low == '\0') return -1;
  return (int)((high - digits) % 16 * 16 + (low - digits) % 16);
}

static void bytes_flush(const TokenStep *step, TokenParts *bytes, TokenParts *out) {
  if (bytes->used == 0) return;
  put_bytes(bytes, !step->flags[0], out);
  burn__parts_end(out);
  bytes->used = 0;
}

/* flags: good characters among bad bytes are kept (SentencePiece), instead of none (Hugging Face). */
void burn__step_decode_byte_fallback(const TokenStep *step, const TokenParts *in, TokenParts *out) {
  TokenParts bytes = {.status = BURN_OK};
  for (size_t i = 0; i < in->count; i++) {
    const TokenSlice text = burn__parts_slice(in, i);
    const int byte = byte_of(&text);
    if (byte >= 0) {
      put(&bytes, &(char){(char)byte}, 1);
      continue;
    }
    bytes_flush(step, &bytes, out);
    put(out, text.bytes, text.count);
    burn__parts_end(out);
  }
  bytes_flush(step, &bytes, out);
  if (out->status == BURN_OK) out->status = bytes.status;
  burn__parts_release(&bytes);
}

/* Bad bytes as Rust's from_utf8_lossy has them: each longest beginning of a character is one U+FFFD. */
static void put_lossy(const TokenParts *bytes, TokenParts *out) {
  for (size_t at = 0, size = 0; at < bytes->used; at += size) {
    uint32_t code = 0;
    size = burn__character(bytes->bytes + at, bytes->used - at, &code);
    if (size > 0) {
      put(out, bytes->bytes + at, size);
      continue;
    }
    put(out, "\xef\xbf\xbd", 3);
    size = burn__character_beginning(bytes->bytes + at, bytes->used - at);
  }
}

/* The characters of each token as bytes; a token with one that stands for none as it is. */
void burn__step_decode_byte_level(const TokenStep *step, const TokenParts *in, TokenParts *out) {
  TokenParts bytes = {.status = BURN_OK};
  (void)step;
  for (size_t i = 0; i < in->count; i++) {
    const TokenSlice text = burn__parts_slice(in, i);
    const size_t before = bytes.used;
    for (size_t at = 0, size = 0; at < text.count; at += size) {
      const int byte = burn__character_byte(burn__character_at(&text, at, &size));
      if (byte < 0) {
        bytes.used = before;
        put(&bytes, text.bytes, text.count);
        break;
      }
      put(&bytes, &(char){(char)byte}, 1);
    }
  }
  put_lossy(&bytes, out);
  burn__parts_end(out);
  if (out->status == BURN_OK) out->status = bytes.status;
  burn__parts_release(&bytes);
}

/* -- SentencePiece ---------------------------------------------------------------------------- */

/* flags: add_dummy_prefix, remove_extra_whitespaces. */
void burn__step_decode_sentence_piece(const TokenStep *step, const TokenParts *in, TokenParts *out) {
  static const char mark[] = "\xe2\x96\x81";
  const bool strips = step->flags[0] || step->flags[1];
  bool is_over = false;
  for (size_t i = 0; i < in->count; i++) {
    const TokenSlice text = burn__parts_slice(in, i);
    size_t at = 0;
    if (strips && !is_over && out->used == 0 && starts_with(&text, 0, mark, 3)) {
      at = 3;
      is_over = !step->flags[1];
    }
    while (at < text.count) {
      const bool is_mark = starts_with(&text, at, mark, 3);
      put(out, is_mark ? " " : text.bytes + at, 1);
      at += is_mark ? 3 : 1;
    }
    burn__parts_end(out);
  }
}
