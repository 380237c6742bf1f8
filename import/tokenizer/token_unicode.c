/* token_unicode.c - characters and normal forms, by utf8proc. */
#include "token_unicode.h"

#include <utf8proc.h>

#include <stdlib.h>
#include <string.h>

size_t burn__character_bytes(uint32_t code, char bytes[4]) {
  return (size_t)utf8proc_encode_char((utf8proc_int32_t)code, (utf8proc_uint8_t *)bytes);
}

size_t burn__character_beginning(const char *bytes, size_t count) {
  const uint8_t first = (uint8_t)bytes[0], second = count > 1 ? (uint8_t)bytes[1] : 0;
  const size_t wanted = first >= 0xf0 && first <= 0xf4 ? 4 : first >= 0xe0 && first < 0xf0 ? 3 : 2;
  const bool is_first = first >= 0xc2 && first <= 0xf4;
  const bool is_second = (first != 0xe0 || second >= 0xa0) && (first != 0xed || second < 0xa0) &&
                         (first != 0xf0 || second >= 0x90) && (first != 0xf4 || second < 0x90);
  size_t size = 1;
  if (!is_first || !is_second) return 1;
  while (size < wanted - 1 && size < count && ((uint8_t)bytes[size] & 0xc0) == 0x80) size++;
  return size;
}

static utf8proc_category_t category(uint32_t code) { return utf8proc_category((utf8proc_int32_t)code); }

bool burn__is_space(uint32_t code) {
  if (code < 0x80) return code == ' ' || (code >= '\t' && code <= '\r');
  const utf8proc_category_t is = category(code);
  return code == 0x85 || is == UTF8PROC_CATEGORY_ZS || is == UTF8PROC_CATEGORY_ZL || is == UTF8PROC_CATEGORY_ZP;
}

bool burn__is_nonspacing(uint32_t code) { return category(code) == UTF8PROC_CATEGORY_MN; }

bool burn__is_mark(uint32_t code) {
  const utf8proc_category_t is = category(code);
  return is == UTF8PROC_CATEGORY_MN || is == UTF8PROC_CATEGORY_MC || is == UTF8PROC_CATEGORY_ME;
}

bool burn__is_number(uint32_t code) {
  const utf8proc_category_t is = category(code);
  return is == UTF8PROC_CATEGORY_ND || is == UTF8PROC_CATEGORY_NL || is == UTF8PROC_CATEGORY_NO;
}

static bool is_letter(uint32_t code) {
  const utf8proc_category_t is = category(code);
  return is >= UTF8PROC_CATEGORY_LU && is <= UTF8PROC_CATEGORY_LO;
}

bool burn__is_word(uint32_t code) {
  const utf8proc_category_t is = category(code);
  if (is_letter(code) || burn__is_mark(code) || is == UTF8PROC_CATEGORY_ND || is == UTF8PROC_CATEGORY_NL) return true;
  if (is == UTF8PROC_CATEGORY_PC || code == 0x200c || code == 0x200d) return true;
  /* Other_Alphabetic that is not a mark: letters in circles and squares */
  return (code >= 0x24b6 && code <= 0x24e9) || (code >= 0x1f130 && code <= 0x1f149) ||
         (code >= 0x1f150 && code <= 0x1f169) || (code >= 0x1f170 && code <= 0x1f189);
}

bool burn__is_punctuation(uint32_t code) {
  const utf8proc_category_t is = category(code);
  return is >= UTF8PROC_CATEGORY_PC && is <= UTF8PROC_CATEGORY_PO;
}

bool burn__is_control(uint32_t code) {
  const utf8proc_category_t is = category(code);
  return is == UTF8PROC_CATEGORY_CC || is == UTF8PROC_CATEGORY_CF || is == UTF8PROC_CATEGORY_CO;
}

void burn__lower_case(const TokenSlice *in, TokenParts *out) {
  for (size_t at = 0, size = 0; at < in->count; at += size) {
    const uint32_t code = burn__character_at(in, at, &size);
    if (code == 0x130) { /* the one character whose lower case is two */
      burn__parts_put(out, "i\xcc\x87", 3, in->from[at], in->to[at]);
      continue;
    }
    burn__parts_put_character(out, (uint32_t)utf8proc_tolower((utf8proc_int32_t)code), in->from[at], in->to[at]);
  }
}

size_t burn__grapheme_end(const TokenSlice *text, size_t begin) {
  size_t size = 0;
  utf8proc_int32_t state = 0;
  uint32_t before = burn__character_at(text, begin, &size);
  size_t at = begin + size;
  for (; at < text->count; at += size) {
    const uint32_t code = burn__character_at(text, at, &size);
    if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)before, (utf8proc_int32_t)code, &state)) break;
    before = code;
  }
  return at;
}

/* -- normal forms ----------------------------------------------------------------------------- */

/* A character of a decomposition. */
typedef struct Character {
  uint32_t code, from, to;
  int32_t order;  /* combining class */
  int32_t change; /* 1: added after the first of its source, 0: the first, below: it takes the place of so many more */
} Character;

/* Characters from a starter to before the next, and what they come from, in its order. As in Hugging Face's tokenizers
 * characters stand for sources in their order, whatever the order that marks get. */
typedef struct Segment {
  Character *list, *sources;
  size_t count, source_count, room;
  uint32_t last_from, last_to;
} Segment;

enum { MAX_DECOMPOSITION = 32 /* the longest is 18 */ };

static int32_t class_of(uint32_t code) { return utf8proc_get_property((utf8proc_int32_t)code)->combining_class; }

static void segment_add(Segment *segment, Character character, TokenParts *out) {
  if (segment->count == segment->room) {
    const size_t room = segment->room > 0 ? 2 * segment->room : MAX_DECOMPOSITION;
    Character *list = room <= SIZE_MAX / 2 / sizeof *list ? realloc(segment->list, room * sizeof *list) : NULL;
    if (list != NULL) segment->list = list;
    Character *sources = list != NULL ? realloc(segment->sources, room * sizeof *sources) : NULL;
    if (sources == NULL) {
      out->status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "tokenizer: no memory for %zu characters", room);
      return;
    }
    segment->sources = sources;
    segment->room = room;
  }
  if (character.change == 0) segment->sources[segment->source_count++] = character;
  segment->list[segment->count++] = character;
}

/* Stable, by combining class; there are 255 of them, so that many marks take many steps, but not their square. */
static void segment_sort(Segment *segment, size_t begin, TokenParts *out) {
  size_t starts[257] = {0};
  bool sorted = true;
  const size_t count = segment->count - begin;
  Character *list = segment->list + begin;
  for (size_t i = 0; i < count; i++) {
    sorted = sorted && (i == 0 || list[i - 1].order <= list[i].order);
    starts[list[i].order + 1]++;
  }
  if (sorted) return;
  Character *copy = malloc(count * sizeof *copy);
  if (copy == NULL) {
    out->status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "tokenizer: no memory for %zu characters", count);
    return;
  }
  memcpy(copy, list, count * sizeof *copy);
  for (size_t i = 1; i < 257; i++) starts[i] += starts[i - 1];
  for (size_t i = 0; i < count; i++) list[starts[copy[i].order]++] = copy[i];
  free(copy);
}

/* The character that two are; 0 if none. */
static uint32_t pair_composed(uint32_t first, uint32_t second) {
  utf8proc_int32_t pair[3] = {(utf8proc_int32_t)first, (utf8proc_int32_t)second, 0};
  const utf8proc_ssize_t count = utf8proc_normalize_utf32(pair, 2, UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  return count == 1 ? (uint32_t)pair[0] : 0;
}

/* Marks into the starter before them, where nothing of the same class stands between (Unicode, D117). */
static void segment_compose(Segment *segment) {
  size_t kept = 0, starter = SIZE_MAX;
  int32_t before = -1; /* class of the last that was kept after the starter; -1: none */
  for (size_t i = 0; i < segment->count; i++) {
    const Character character = segment->list[i];
    const bool near = starter != SIZE_MAX && (before < character.order || before == -1);
    const uint32_t composed = near ? pair_composed(segment->list[starter].code, character.code) : 0;
    if (composed != 0) {
      segment->list[starter].code = composed;
      segment->list[starter].change += character.change - 1;
      continue;
    }
    if (character.order == 0) {
      starter = kept;
      before = -1;
    } else {
      before = character.order;
    }
    segment->list[kept++] = character;
  }
  segment->count = kept;
}

static void segment_write(Segment *segment, bool compose, TokenParts *out) {
  size_t source = 0;
  if (compose) segment_compose(segment);
  for (size_t i = 0; i < segment->count; i++) {
    const Character *character = &segment->list[i];
    if (character->change <= 0 && source < segment->source_count) {
      segment->last_from = segment->sources[source].from;
      segment->last_to = segment->sources[source].to;
      source += 1 + (size_t)-character->change;
    }
    burn__parts_put_character(out, character->code, segment->last_from, segment->last_to);
  }
  segment->count = segment->source_count = 0;
}

/* Whether a starter may be the second of a pair: some vowel signs, and Hangul. */
static bool joins_before(uint32_t code) {
  return (code >= 0x1161 && code <= 0x11c2) || (code >= 0x900 && code <= 0x1aff) || code >= 0x11000;
}

void burn__normal_form(const TokenSlice *in, unsigned form, TokenParts *out) {
  Segment segment = {.list = NULL};
  size_t marks = 0; /* where the marks after the last starter begin */
  int last_class = 0;
  const bool compose = (form & TOKEN_COMPOSE) != 0;
  const utf8proc_option_t options =
      UTF8PROC_DECOMPOSE | UTF8PROC_STABLE | ((form & TOKEN_COMPATIBLE) != 0 ? UTF8PROC_COMPAT : 0);
  for (size_t at = 0, size = 0; at < in->count && out->status == BURN_OK; at += size) {
    utf8proc_int32_t codes[MAX_DECOMPOSITION];
    const uint32_t code = burn__character_at(in, at, &size);
    const utf8proc_ssize_t count =
        utf8proc_decompose_char((utf8proc_int32_t)code, codes, MAX_DECOMPOSITION, options, &last_class);
    for (utf8proc_ssize_t i = 0; i < count && i < MAX_DECOMPOSITION && out->status == BURN_OK; i++) {
      const uint32_t each = (uint32_t)codes[i];
      const Character character = {each, in->from[at], in->to[at], class_of(each), i > 0};
      if (character.order == 0) {
        if (segment.count > marks) segment_sort(&segment, marks, out);
        if (!joins_before(each)) segment_write(&segment, compose, out);
      }
      segment_add(&segment, character, out);
      if (character.order == 0) marks = segment.count;
    }
  }
  if (out->status == BURN_OK && segment.count > marks) segment_sort(&segment, marks, out);
  if (out->status == BURN_OK) segment_write(&segment, compose, out);
  free(segment.list);
  free(segment.sources);
}
