/* store_json.c - JSON step by step (RFC 8259). */
#include "store_json.h"

#include <stdlib.h>
#include <string.h>

enum { NESTING_LIMIT = 64 };

void burn__json_expected(BurnJson *json, const char *what) {
  if (json->status != BURN_OK) return;
  json->status = burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %llu: %s expected%s",
                                  (unsigned long long)(json->offset + json->at), what,
                                  json->at < json->end ? "" : ", not the end");
}

char burn__json_peek(BurnJson *json) {
  while (json->at < json->end && json->bytes[json->at] && strchr(" \t\r\n", json->bytes[json->at])) json->at++;
  return json->status == BURN_OK && json->at < json->end ? (char)json->bytes[json->at] : '\0';
}

bool burn__json_is_at_end(BurnJson *json) {
  (void)burn__json_peek(json);
  return json->at == json->end;
}

void burn__json_take(BurnJson *json, char mark) {
  const char what[] = {'"', mark, '"', '\0'};
  if (burn__json_peek(json) == mark && mark)
    json->at++;
  else
    burn__json_expected(json, what);
}

bool burn__json_more(BurnJson *json, bool *is_first, char close) {
  const bool was_first = *is_first;
  *is_first = false;
  if (burn__json_peek(json) == close) {
    json->at++;
    return false;
  }
  if (!was_first) burn__json_take(json, ',');
  return json->status == BURN_OK;
}

/* -- texts ------------------------------------------------------------------------------------ */

/* Where unescaped bytes go; what does not fit is passed over. */
typedef struct Sink {
  char *out;
  size_t used, room;
} Sink;

static void put(Sink *sink, unsigned byte) {
  if (sink->used < sink->room) sink->out[sink->used++] = (char)byte;
}

static void put_code_point(Sink *sink, uint32_t code) {
  if (code < 0x80) {
    put(sink, code);
    return;
  }
  if (code < 0x800) {
    put(sink, 0xC0 | code >> 6);
  } else if (code < 0x10000) {
    put(sink, 0xE0 | code >> 12);
    put(sink, 0x80 | (code >> 6 & 0x3F));
  } else {
    put(sink, 0xF0 | code >> 18);
    put(sink, 0x80 | (code >> 12 & 0x3F));
    put(sink, 0x80 | (code >> 6 & 0x3F));
  }
  put(sink, 0x80 | (code & 0x3F));
}

/* Four digits of base 16. */
static uint32_t read_unit(BurnJson *json) {
  static const char digits[] = "0123456789abcdef";
  uint32_t unit = 0;
  for (int i = 0; i < 4; i++) {
    const int byte = json->at < json->end ? json->bytes[json->at] : 0;
    const char *digit = byte ? strchr(digits, byte >= 'A' && byte <= 'F' ? byte + 'a' - 'A' : byte) : NULL;
    if (!digit) {
      burn__json_expected(json, "a digit of base 16");
      return 0;
    }
    unit = unit << 4 | (uint32_t)(digit - digits);
    json->at++;
  }
  return unit;
}

static void read_code_point(BurnJson *json, Sink *sink) {
  uint32_t code = read_unit(json);
  const bool has_second = code >= 0xD800 && code < 0xDC00 && json->end - json->at >= 6 &&
                          json->bytes[json->at] == '\\' && json->bytes[json->at + 1] == 'u';
  if (has_second) {
    const size_t before = json->at;
    json->at += 2;
    const uint32_t low = read_unit(json);
    if (low >= 0xDC00 && low < 0xE000)
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    else
      json->at = before;
  }
  if (code == 0) burn__json_expected(json, "a text without a zero byte");
  put_code_point(sink, code >= 0xD800 && code < 0xE000 ? 0xFFFD : code);
}

static void read_escape(BurnJson *json, Sink *sink) {
  static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
  const int byte = json->at < json->end ? json->bytes[json->at] : 0;
  const char *found = byte ? strchr(names, byte) : NULL;
  json->at += byte != 0;
  if (found)
    put(sink, (unsigned char)meanings[found - names]);
  else if (byte == 'u')
    read_code_point(json, sink);
  else
    burn__json_expected(json, "an escape of JSON");
}

static void read_text(BurnJson *json, Sink *sink) {
  burn__json_take(json, '"');
  while (json->status == BURN_OK) {
    const unsigned byte = json->at < json->end ? json->bytes[json->at] : 0;
    if (byte < 0x20) {
      burn__json_expected(json, "the end of a text");
      return;
    }
    json->at++;
    if (byte == '"') return;
    if (byte == '\\')
      read_escape(json, sink);
    else
      put(sink, byte);
  }
}

/* The end of the text that begins here, so that memory is as long as what is there. */
static size_t text_end(const BurnJson *json) {
  size_t at = json->at + 1;
  while (at < json->end && json->bytes[at] != '"') at += json->bytes[at] == '\\' ? 2 : 1;
  return at < json->end ? at : json->end;
}

char *burn__json_text(BurnJson *json) {
  if (burn__json_peek(json) != '"') {
    burn__json_expected(json, "a text");
    return NULL;
  }
  const size_t room = text_end(json) - json->at; /* an escape is never shorter than what it stands for */
  Sink sink = {malloc(room + 1), 0, room};
  if (!sink.out) {
    json->status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a text of %zu bytes", room);
    return NULL;
  }
  read_text(json, &sink);
  sink.out[sink.used] = '\0';
  if (json->status == BURN_OK) return sink.out;
  free(sink.out);
  return NULL;
}

void burn__json_text_into(BurnJson *json, char *out, size_t bytes) {
  Sink sink = {out, 0, bytes - 1};
  if (burn__json_peek(json) == '"')
    read_text(json, &sink);
  else
    burn__json_expected(json, "a text");
  out[sink.used] = '\0';
}

/* -- numbers, and what is not looked at ------------------------------------------------------- */

uint64_t burn__json_uint(BurnJson *json) {
  uint64_t value = 0;
  size_t digits = 0;
  (void)burn__json_peek(json);
  for (; json->at < json->end && json->bytes[json->at] >= '0' && json->bytes[json->at] <= '9'; json->at++, digits++) {
    const uint64_t digit = json->bytes[json->at] - (uint64_t)'0';
    if (value > (UINT64_MAX - digit) / 10) {
      burn__json_expected(json, "a number of at most 64 bits");
      return 0;
    }
    value = value * 10 + digit;
  }
  if (digits == 0 || (json->at < json->end && json->bytes[json->at] && strchr(".eE", json->bytes[json->at])))
    burn__json_expected(json, "an integer");
  return value;
}

/* A number, true, false or null: not looked at closer. */
static void skip_word(BurnJson *json) {
  const size_t begin = json->at;
  while (json->at < json->end && json->bytes[json->at] > ' ' && !strchr("{}[]:,\"", json->bytes[json->at])) json->at++;
  if (json->at == begin) burn__json_expected(json, "a value");
}

void burn__json_skip(BurnJson *json) {
  char closers[NESTING_LIMIT];
  size_t depth = 0;
  do {
    const char next = burn__json_peek(json);
    char none[1];
    if (depth > 0 && next == closers[depth - 1]) {
      json->at++;
      depth--;
    } else if ((next == '{' || next == '[') && depth < NESTING_LIMIT) {
      json->at++;
      closers[depth++] = next == '{' ? '}' : ']';
    } else if (next == '"') {
      burn__json_text_into(json, none, sizeof none);
    } else if (depth > 0 && (next == ',' || next == ':')) {
      json->at++;
    } else {
      skip_word(json);
    }
  } while (depth > 0 && json->status == BURN_OK);
}
