/* token_text.c - text on its way to tokens. */
#include "token_text.h"

#include "token_unicode.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 256 };

static void no_memory(TokenParts *parts, size_t count) {
  parts->status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "tokenizer: no memory for a text of %zu bytes", count);
}

static bool has_room(TokenParts *parts, size_t more) {
  if (parts->status != BURN_OK) return false;
  if (parts->limit > 0 && (parts->used > parts->limit || more > parts->limit - parts->used)) {
    parts->status =
        burn_status_make(BURN_STATUS_OUT_OF_RANGE,
                         "tokenizer: its steps make more than %zu bytes of a text that is much shorter", parts->limit);
    return false;
  }
  if (more <= parts->room - parts->used) return true;
  size_t room = parts->room > 0 ? parts->room : FIRST_ROOM;
  while (room - parts->used < more && room <= SIZE_MAX / 16) room *= 2;
  char *bytes = room - parts->used >= more ? realloc(parts->bytes, room) : NULL;
  if (bytes != NULL) parts->bytes = bytes;
  uint32_t *from = bytes != NULL ? realloc(parts->from, room * sizeof *from) : NULL;
  if (from != NULL) parts->from = from;
  uint32_t *to = from != NULL ? realloc(parts->to, room * sizeof *to) : NULL;
  if (to == NULL) {
    no_memory(parts, room);
    return false;
  }
  parts->to = to;
  parts->room = room;
  return true;
}

void burn__parts_put(TokenParts *parts, const char *bytes, size_t count, uint32_t from, uint32_t to) {
  if (count == 0 || !has_room(parts, count)) return;
  memcpy(parts->bytes + parts->used, bytes, count);
  for (size_t i = 0; i < count; i++) {
    parts->from[parts->used + i] = from;
    parts->to[parts->used + i] = to;
  }
  parts->used += count;
}

void burn__parts_put_character(TokenParts *parts, uint32_t code, uint32_t from, uint32_t to) {
  char bytes[4];
  burn__parts_put(parts, bytes, burn__character_bytes(code, bytes), from, to);
}

void burn__parts_copy(TokenParts *parts, const TokenSlice *slice, size_t begin, size_t end) {
  const size_t count = end - begin;
  if (count == 0 || !has_room(parts, count)) return;
  memcpy(parts->bytes + parts->used, slice->bytes + begin, count);
  memcpy(parts->from + parts->used, slice->from + begin, count * sizeof *slice->from);
  memcpy(parts->to + parts->used, slice->to + begin, count * sizeof *slice->to);
  parts->used += count;
}

static void add_part(TokenParts *parts, int64_t id) {
  if (parts->status != BURN_OK) return;
  if (parts->count == parts->list_room) {
    const size_t room = parts->list_room > 0 ? 2 * parts->list_room : FIRST_ROOM;
    TokenPart *list = room <= SIZE_MAX / 2 / sizeof *list ? realloc(parts->list, room * sizeof *list) : NULL;
    if (list == NULL) {
      no_memory(parts, parts->used);
      return;
    }
    parts->list = list;
    parts->list_room = room;
  }
  parts->list[parts->count++] = (TokenPart){parts->begun, parts->used, id};
  parts->begun = parts->used;
}

void burn__parts_cut(TokenParts *parts, int64_t id) {
  if (id >= 0 || parts->used > parts->begun) add_part(parts, id);
}

void burn__parts_end(TokenParts *parts) { add_part(parts, -1); }

void burn__parts_clear(TokenParts *parts) {
  parts->used = parts->count = parts->begun = 0;
  parts->status = BURN_OK;
}

void burn__parts_release(TokenParts *parts) {
  free(parts->bytes);
  free(parts->from);
  free(parts->to);
  free(parts->list);
  *parts = (TokenParts){.status = BURN_OK};
}

void burn__parts_take_text(TokenParts *parts, const char *text, size_t length) {
  if (length >= UINT32_MAX) {
    parts->status =
        burn_status_make(BURN_STATUS_OUT_OF_RANGE, "tokenizer: a text of %zu bytes, less than 4 GiB expected", length);
    return;
  }
  parts->limit = burn__parts_limit(length);
  for (size_t at = 0, size = 0; at < length && has_room(parts, 4); at += size) {
    uint32_t code = 0;
    size = burn__character(text + at, length - at, &code);
    if (size == 0) {
      size = 1;
      burn__parts_put_character(parts, 0xfffd, (uint32_t)at, (uint32_t)(at + 1));
    } else {
      burn__parts_put(parts, text + at, size, (uint32_t)at, (uint32_t)(at + size));
    }
  }
  burn__parts_cut(parts, -1);
}
