/* param_id.c - ids of parameters as texts, in the ways that Burn has written them. */
#include "hash.h"
#include "record_internal.h"

#include <string.h>

static const char base32[] = "0123456789abcdefghijklmnopqrstuv";

void burn_param_id_text(uint64_t id, char text[14]) {
  uint64_t bits = 0; /* the id's little-endian bytes as one stream, first byte highest */
  for (unsigned i = 0; i < 8; i++) bits = bits << 8 | ((id >> (8 * i)) & 0xff);
  for (unsigned i = 0; i < 12; i++) text[i] = base32[(bits >> (59 - 5 * i)) & 31];
  text[12] = base32[(bits << 1) & 31];
  text[13] = '\0';
}

/* 13 characters are 8 bytes, 10 (older files) are 6; the bits left over are 0. */
static bool parse_base32(const char *text, size_t length, uint64_t *id) {
  uint64_t value = 0;
  unsigned pending = 0, bits = 0, bytes = 0;
  for (size_t i = 0; i < length; i++) {
    const char *found = strchr(base32, text[i] >= 'A' && text[i] <= 'V' ? text[i] - 'A' + 'a' : text[i]);
    if (!found) return false;
    pending = (pending << 5 | (unsigned)(found - base32)) & 0xfffu;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    value |= (uint64_t)((pending >> bits) & 0xff) << (8 * bytes++);
  }
  if (pending & ((1u << bits) - 1)) return false;
  *id = value;
  return true;
}

/* The hash of the digits of a UUID: ids only need to be told apart. */
static bool parse_uuid(const char *text, uint64_t *id) {
  uint64_t hash = BURN__HASH;
  for (size_t i = 0; i < 36; i++) {
    bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    char digit = text[i] >= 'A' && text[i] <= 'F' ? (char)(text[i] - 'A' + 'a') : text[i];
    if (dash ? digit != '-' : !strchr("0123456789abcdef", digit)) return false;
    if (!dash) hash = burn__hash_byte(hash, (unsigned char)digit);
  }
  *id = hash;
  return true;
}

bool burn__param_id_parse(const char *text, uint64_t *id) {
  size_t length = strlen(text);
  if (length == 13 || length == 10) return parse_base32(text, length, id);
  return length == 36 && parse_uuid(text, id);
}
