/* token_text.h - text on its way to tokens: UTF-8, cut into parts, and for every byte the bytes of the input that it
 * stands for. Each step reads one and writes the next; a failure stays in `status`, and what follows does nothing. */
#ifndef BURN_IMPORT_TOKEN_TEXT_H
#define BURN_IMPORT_TOKEN_TEXT_H

#include <burn/error.h>

#include <stddef.h>
#include <stdint.h>

/* A part: text, or a token that was found in it. */
typedef struct TokenPart {
  size_t begin, end;
  int64_t id; /* -1: text */
} TokenPart;

typedef struct TokenParts {
  char *bytes;         /* [used] */
  uint32_t *from, *to; /* [used]: of the input */
  size_t used, room;
  TokenPart *list; /* [count], one after the other */
  size_t count, list_room;
  size_t begun; /* where the part that is being written begins */
  size_t limit; /* bytes at most, so that no file makes a short text fill the memory; 0: any number */
  BurnStatus status;
} TokenParts;

/* A part to read. */
typedef struct TokenSlice {
  const char *bytes;
  const uint32_t *from, *to;
  size_t count;
} TokenSlice;

/* Writes bytes that stand for input[from, to). */
void burn__parts_put(TokenParts *parts, const char *bytes, size_t count, uint32_t from, uint32_t to);
void burn__parts_put_character(TokenParts *parts, uint32_t code, uint32_t from, uint32_t to);
/* Writes bytes of another text with what they stand for. */
void burn__parts_copy(TokenParts *parts, const TokenSlice *slice, size_t begin, size_t end);
/* Ends a part; a text without bytes is none. */
void burn__parts_cut(TokenParts *parts, int64_t id);
/* Ends a part, with bytes or without. */
void burn__parts_end(TokenParts *parts);
void burn__parts_clear(TokenParts *parts);
void burn__parts_release(TokenParts *parts);

static inline TokenSlice burn__parts_slice(const TokenParts *parts, size_t index) {
  const size_t begin = parts->list[index].begin;
  if (parts->bytes == NULL) return (TokenSlice){"", NULL, NULL, 0};
  return (TokenSlice){parts->bytes + begin, parts->from + begin, parts->to + begin, parts->list[index].end - begin};
}

/* What steps may make of `bytes` of text: 64 times as much, and some more. The longest decomposition is 11 times as
 * long as its character, and bytes written as characters are twice as many. */
static inline size_t burn__parts_limit(size_t bytes) { return bytes < SIZE_MAX / 128 ? 64 * bytes + 4096 : SIZE_MAX; }

/* The text as valid UTF-8: bytes that are none become U+FFFD each. Sets the limit of what becomes of it. */
void burn__parts_take_text(TokenParts *parts, const char *text, size_t length);

#endif
