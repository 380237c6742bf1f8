/* kernel_tokens.c - memory and names of the tokens of a source, and pieces as tokens (kernel_pieces.h). */
#include "kernel_pieces.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- memory ----------------------------------------------------------------------------------- */

enum { BLOCK_BYTES = 128 << 10, FIRST_NAMES = 2048, FIRST_TOKENS = 8192 };

typedef struct Block {
  struct Block *before;
  size_t used, bytes;
  _Alignas(16) char data[];
} Block;

struct KernelTokens {
  Block *block;
  size_t bytes;       /* of all blocks */
  KernelName **names; /* by hash; a power of two, at most half of it in use */
  uint32_t name_count, name_room;
  KernelToken *tokens;
  uint32_t count, room;
};

static void *take(KernelTokens *tokens, size_t bytes) {
  Block *block = tokens->block;
  bytes = (bytes + 15) & ~(size_t)15;
  if (!block || block->bytes - block->used < bytes) {
    const size_t room = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
    if (bytes > KERNEL_MEMORY_BYTES || tokens->bytes + room > KERNEL_MEMORY_BYTES) return NULL;
    block = malloc(sizeof *block + room);
    if (!block) return NULL;
    block->before = tokens->block;
    block->bytes = room;
    block->used = 0;
    tokens->block = block;
    tokens->bytes += room;
  }
  block->used += bytes;
  return block->data + block->used - bytes;
}

void burn__kernel_tokens_free(KernelTokens *tokens) {
  if (!tokens) return;
  for (Block *block = tokens->block; block;) {
    Block *before = block->before;
    free(block);
    block = before;
  }
  free(tokens->names);
  free(tokens->tokens);
  free(tokens);
}

bool burn__kernel_fail(KernelReader *reader, const char *format, ...) {
  if (reader->has_failed) return false;
  reader->has_failed = true;
  reader->depth = reader->base = 0;
  reader->scanner.at = "";
  if (reader->why_bytes == 0) return false;
  va_list arguments;
  va_start(arguments, format);
  const int used = snprintf(reader->why, reader->why_bytes, "line %u: ", reader->line);
  if (used > 0 && (size_t)used < reader->why_bytes)
    (void)vsnprintf(reader->why + used, reader->why_bytes - (size_t)used, format, arguments);
  va_end(arguments);
  return false;
}

void *burn__kernel_take(KernelReader *reader, size_t bytes) {
  void *memory = take(reader->tokens, bytes);
  if (!memory) (void)burn__kernel_fail(reader, "no memory, or more than %d MB of it", KERNEL_MEMORY_BYTES >> 20);
  return memory;
}

bool burn__kernel_append(KernelReader *reader, KernelPieces *pieces, const KernelPiece *piece) {
  if (pieces->count == pieces->room) {
    const size_t room = pieces->room ? 2 * pieces->room : 8;
    KernelPiece *at = burn__kernel_take(reader, room * sizeof *at);
    if (!at) return false;
    if (pieces->count > 0) memcpy(at, pieces->at, pieces->count * sizeof *at);
    pieces->at = at;
    pieces->room = room;
  }
  pieces->at[pieces->count++] = *piece;
  return true;
}

bool burn__kernel_add(KernelReader *reader, const KernelToken *token) {
  KernelTokens *tokens = reader->tokens;
  if (reader->has_failed) return false;
  if (tokens->count == tokens->room) {
    const uint32_t room = tokens->room ? 2 * tokens->room : FIRST_TOKENS;
    if (tokens->count >= KERNEL_TOKENS) return burn__kernel_fail(reader, "more than %d tokens", KERNEL_TOKENS);
    KernelToken *at = realloc(tokens->tokens, room * sizeof *at);
    if (!at) return burn__kernel_fail(reader, "no memory for %u tokens", room);
    tokens->tokens = at;
    tokens->room = room;
  }
  tokens->tokens[tokens->count++] = *token;
  return true;
}

/* -- names ------------------------------------------------------------------------------------ */

static bool grow_names(KernelTokens *tokens) {
  const uint32_t room = tokens->name_room ? 2 * tokens->name_room : FIRST_NAMES;
  KernelName **names = calloc(room, sizeof(KernelName *));
  if (!names) return false;
  for (uint32_t i = 0; i < tokens->name_room; i++) {
    if (!tokens->names[i]) continue;
    uint32_t at = tokens->names[i]->hash & (room - 1);
    while (names[at]) at = (at + 1) & (room - 1);
    names[at] = tokens->names[i];
  }
  free(tokens->names);
  tokens->names = names;
  tokens->name_room = room;
  return true;
}

static KernelName *intern(KernelTokens *tokens, const char *text, size_t length) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
  if (2 * tokens->name_count >= tokens->name_room && !grow_names(tokens)) return NULL;
  uint32_t at = hash & (tokens->name_room - 1);
  for (; tokens->names[at]; at = (at + 1) & (tokens->name_room - 1)) {
    KernelName *name = tokens->names[at];
    if (name->hash == hash && name->length == length && memcmp(name->text, text, length) == 0) return name;
  }
  KernelName *name = take(tokens, sizeof *name + length + 1);
  if (!name) return NULL;
  *name = (KernelName){.hash = hash, .length = (uint32_t)length};
  memcpy(name->text, text, length);
  name->text[length] = '\0';
  tokens->names[at] = name;
  tokens->name_count++;
  return name;
}

KernelName *burn__kernel_name(KernelReader *reader, const char *text, size_t length) {
  if (length > KERNEL_NAME_BYTES) {
    (void)burn__kernel_fail(reader, "a name of %zu characters, more than %d", length, KERNEL_NAME_BYTES);
    return NULL;
  }
  KernelName *name = intern(reader->tokens, text, length);
  if (!name) (void)burn__kernel_fail(reader, "no memory for a name");
  return name;
}

const char *burn__kernel_intern(KernelTokens *tokens, const char *name) {
  const KernelName *interned = intern(tokens, name, strlen(name));
  return interned ? interned->text : NULL;
}

/* -- numbers ---------------------------------------------------------------------------------- */

static bool not_a_number(KernelReader *reader, const KernelPiece *piece, const char *what) {
  const int length = piece->length < 60 ? (int)piece->length : 60;
  return burn__kernel_fail(reader, "%.*s %s", length, piece->text, what);
}

/* 36: no digit. */
static unsigned digit_of(char c) {
  if (c >= '0' && c <= '9') return (unsigned)(c - '0');
  c = (char)(c | 0x20);
  return c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10 : 36;
}

static char at_of(const KernelPiece *piece, uint32_t i) { return i < piece->length ? piece->text[i] : '\0'; }

/* u and l or ll, in any order, from `at` to the end. */
static bool read_suffix(const KernelPiece *piece, uint32_t at, uint8_t *suffix) {
  while (at < piece->length) {
    const char c = (char)(piece->text[at] | 0x20);
    const uint8_t bit = c == 'u' ? KERNEL_SUFFIX_UNSIGNED : c == 'l' ? KERNEL_SUFFIX_LONG : 0;
    if (bit == 0 || (*suffix & bit)) return false;
    *suffix |= bit;
    at += bit == KERNEL_SUFFIX_LONG && at_of(piece, at + 1) == piece->text[at] ? 2 : 1;
  }
  return true;
}

static bool read_integer(KernelReader *reader, const KernelPiece *piece, KernelToken *out) {
  const char mark = (char)(at_of(piece, 1) | 0x20);
  const bool has_zero = piece->text[0] == '0';
  const unsigned base = !has_zero ? 10 : mark == 'x' ? 16 : mark == 'b' ? 2 : 8;
  const uint32_t first = base == 16 || base == 2 ? 2 : 0;
  uint32_t at = first;
  uint64_t value = 0;
  for (; at < piece->length && digit_of(piece->text[at]) < base; at++) {
    const unsigned digit = digit_of(piece->text[at]);
    if (value > (UINT64_MAX - digit) / base) return not_a_number(reader, piece, "does not fit 64 bits");
    value = value * base + digit;
  }
  out->kind = KERNEL_TOKEN_INTEGER;
  out->suffix = base == 10 ? 0 : KERNEL_SUFFIX_OTHER_BASE;
  out->integer = value;
  if (at == first || !read_suffix(piece, at, &out->suffix)) return not_a_number(reader, piece, "is not a number");
  return true;
}

static uint32_t skip_digits(const KernelPiece *piece, uint32_t at, unsigned base) {
  while (digit_of(at_of(piece, at)) < base) at++;
  return at;
}

/* Where the number ends and its suffix begins; 0: it is none. */
static uint32_t float_length(const KernelPiece *piece, bool is_hexadecimal) {
  const unsigned base = is_hexadecimal ? 16 : 10;
  const uint32_t first = is_hexadecimal ? 2 : 0;
  uint32_t at = skip_digits(piece, first, base), digits = at - first;
  if (at_of(piece, at) == '.') {
    const uint32_t after = skip_digits(piece, at + 1, base);
    digits += after - at - 1;
    at = after;
  }
  const char mark = (char)(at_of(piece, at) | 0x20);
  if (digits == 0 || (is_hexadecimal && mark != 'p')) return 0;
  if (mark != (is_hexadecimal ? 'p' : 'e')) return at;
  at++;
  if (at_of(piece, at) == '+' || at_of(piece, at) == '-') at++;
  const uint32_t end = skip_digits(piece, at, 10);
  return end > at ? end : 0;
}

/* strtod and strtof round right, and have the locale's point: it is put in place of the source's. */
static double to_real(const char *at, uint32_t length, bool is_f32) {
  char text[KERNEL_NUMBER_BYTES + 32];
  const char *point = localeconv()->decimal_point;
  size_t used = 0, point_bytes = strlen(point);
  if (point_bytes == 0 || point_bytes > 16) point = ".", point_bytes = 1;
  for (uint32_t i = 0; i < length; i++) {
    const bool is_point = at[i] == '.';
    memcpy(text + used, is_point ? point : at + i, is_point ? point_bytes : 1);
    used += is_point ? point_bytes : 1;
  }
  text[used] = '\0';
  return is_f32 ? (double)strtof(text, NULL) : strtod(text, NULL);
}

static bool read_float(KernelReader *reader, const KernelPiece *piece, bool is_hexadecimal, KernelToken *out) {
  const uint32_t length = float_length(piece, is_hexadecimal);
  const bool is_f32 = length > 0 && (at_of(piece, length) | 0x20) == 'f';
  if (length == 0 || length + is_f32 != piece->length) return not_a_number(reader, piece, "is not a number");
  out->kind = KERNEL_TOKEN_FLOAT;
  out->suffix = is_f32 ? KERNEL_SUFFIX_FLOAT : 0;
  out->real = to_real(piece->text, length, is_f32);
  return isfinite(out->real) || not_a_number(reader, piece, is_f32 ? "is beyond f32" : "is beyond f64");
}

bool burn__kernel_number(KernelReader *reader, const KernelPiece *piece, KernelToken *out) {
  const bool is_hexadecimal = piece->text[0] == '0' && (at_of(piece, 1) | 0x20) == 'x';
  bool is_float = false;
  if (piece->length > KERNEL_NUMBER_BYTES)
    return burn__kernel_fail(reader, "a number of %u characters, more than %d", piece->length, KERNEL_NUMBER_BYTES);
  for (uint32_t i = 0; i < piece->length; i++) {
    const char c = piece->text[i];
    is_float = is_float || c == '.' || (c | 0x20) == (is_hexadecimal ? 'p' : 'e');
  }
  return is_float ? read_float(reader, piece, is_hexadecimal, out) : read_integer(reader, piece, out);
}

/* -- strings ---------------------------------------------------------------------------------- */

static char escaped(char c) {
  static const char from[] = "nrtabfv\\\"'?", to[] = "\n\r\t\a\b\f\v\\\"'?";
  const char *at = c ? strchr(from, c) : NULL;
  return at ? to[at - from] : '\0';
}

static bool read_string(KernelReader *reader, const KernelPiece *piece, KernelToken *out) {
  char text[KERNEL_NAME_BYTES];
  size_t used = 0;
  if (piece->length > sizeof text)
    return burn__kernel_fail(reader, "a string of %u characters, more than %zu", piece->length, sizeof text);
  for (uint32_t i = 1; i + 1 < piece->length; i++) {
    const bool is_escape = piece->text[i] == '\\';
    text[used] = is_escape ? escaped(piece->text[++i]) : piece->text[i];
    if (text[used++] == '\0') return burn__kernel_fail(reader, "\\%c in a string", piece->text[i]);
  }
  const KernelName *name = burn__kernel_name(reader, text, used);
  out->kind = KERNEL_TOKEN_STRING;
  out->name = name ? name->text : NULL;
  return name != NULL;
}

/* -- tokens ----------------------------------------------------------------------------------- */

static bool convert(KernelReader *reader, const KernelPiece *piece, KernelToken *out) {
  const unsigned char c = piece->length > 0 ? (unsigned char)piece->text[0] : 0;
  switch (piece->kind) {
    case PIECE_NAME:
      out->kind = KERNEL_TOKEN_NAME;
      out->name = piece->name->text;
      return true;
    case PIECE_PUNCTUATOR:
      out->kind = KERNEL_TOKEN_PUNCTUATOR;
      out->punctuator = piece->index;
      return true;
    case PIECE_NUMBER:
      return burn__kernel_number(reader, piece, out);
    case PIECE_STRING:
      return read_string(reader, piece, out);
    case PIECE_CHARACTER:
      return burn__kernel_fail(reader, "characters ('c') are not in the language of kernels");
    default:
      if (c == '"' || c == '\'') return burn__kernel_fail(reader, "a %c is not closed on its line", c);
      if (c > 32 && c < 127) return burn__kernel_fail(reader, "the character %c has no meaning here", c);
      return burn__kernel_fail(reader, "the byte 0x%02x has no meaning here", c);
  }
}

static void read_tokens(KernelReader *reader) {
  KernelPiece piece;
  for (;;) {
    burn__kernel_next(reader, &piece);
    KernelToken token = {.line = piece.line};
    if (piece.kind == PIECE_END) break;
    if (piece.kind == PIECE_PUNCTUATOR && piece.index == KERNEL_HASH && (piece.flags & PIECE_BEGINS_LINE)) {
      burn__kernel_directive(reader);
    } else if (piece.kind == PIECE_NAME && piece.name->text == reader->pragma) {
      burn__kernel_pragma_operator(reader);
    } else if (convert(reader, &piece, &token)) {
      (void)burn__kernel_add(reader, &token);
    }
  }
  if (reader->group_count > 0) {
    reader->line = reader->groups[reader->group_count - 1].line;
    (void)burn__kernel_fail(reader, "#if without #endif");
  }
  (void)burn__kernel_add(reader, &(KernelToken){.kind = KERNEL_TOKEN_END, .line = reader->scanner.line});
}

static bool begin(KernelReader *reader, const char *source, const char *const *defined) {
  const size_t bytes = strlen(source);
  reader->line = 1;
  if (bytes > KERNEL_SOURCE_BYTES)
    return burn__kernel_fail(reader, "a source of %zu bytes, more than %d", bytes, KERNEL_SOURCE_BYTES);
  burn__kernel_scan_begin(reader);
  const char *text = burn__kernel_join_lines(reader, source, bytes);
  reader->defined = burn__kernel_intern(reader->tokens, "defined");
  reader->pragma = burn__kernel_intern(reader->tokens, "_Pragma");
  reader->variable = burn__kernel_intern(reader->tokens, "__VA_ARGS__");
  if (!text || !reader->defined || !reader->pragma || !reader->variable)
    return burn__kernel_fail(reader, "no memory for a source of %zu bytes", bytes);
  for (; defined && *defined; defined++)
    if (!burn__kernel_define_as_1(reader, *defined)) return false;
  reader->scanner = (KernelScanner){.at = text, .line = 1, .flags = PIECE_BEGINS_LINE};
  return true;
}

KernelTokens *burn__kernel_tokens(const char *source, const char *const *defined, char *why, size_t why_bytes) {
  KernelReader *reader = calloc(1, sizeof *reader);
  KernelTokens *tokens = calloc(1, sizeof *tokens);
  if (!reader || !tokens) {
    (void)snprintf(why, why_bytes, "no memory for a source");
    free(reader);
    free(tokens);
    return NULL;
  }
  reader->tokens = tokens;
  reader->why = why;
  reader->why_bytes = why_bytes;
  if (begin(reader, source, defined)) read_tokens(reader);
  const bool has_failed = reader->has_failed;
  free(reader);
  if (!has_failed) return tokens;
  burn__kernel_tokens_free(tokens);
  return NULL;
}

const KernelToken *burn__kernel_tokens_at(const KernelTokens *tokens) { return tokens->tokens; }
