/* characters.c - a token for each character. */
#include "null_check.h"
#include "text_private.h"
#include "status_chain.h"

#include <stdlib.h>
#include <string.h>

enum { CODES = 0x110000, CHARACTER_BYTES = 4 };

typedef struct Characters {
  int32_t *ids; /* [CODES], -1: none */
  size_t count;
  char (*bytes)[CHARACTER_BYTES + 1]; /* [count]; the last of each is its length */
} Characters;

static BurnStatus characters_encode(void *context, const char *text, size_t length, BurnTokenList *tokens) {
  const Characters *characters = context;
  BurnStatus status = BURN_OK;
  for (size_t at = 0, bytes = 0; status == BURN_OK && at < length; at += bytes) {
    uint32_t code = 0;
    bytes = burn__character(text + at, length - at, &code);
    if (bytes == 0) return burn_status_make(BURN_STATUS_CORRUPT_DATA, "characters: no UTF-8 at byte %zu", at);
    if (characters->ids[code] < 0)
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "characters: U+%04X at byte %zu is not in the vocabulary",
                              (unsigned)code, at);
    status = burn_token_list_add(tokens, characters->ids[code]);
  }
  return status;
}

static const char *characters_token(void *context, int64_t id, size_t *length) {
  const Characters *characters = context;
  *length = (size_t)characters->bytes[id][CHARACTER_BYTES];
  return characters->bytes[id];
}

static void characters_destroy(void *context) {
  Characters *characters = context;
  free(characters->ids);
  free(characters->bytes);
  free(characters);
}

/* Marks the characters of the text by 0 in ids; their number goes to *count. */
static BurnStatus characters_mark(const char *text, size_t length, int32_t *ids, size_t *count) {
  for (size_t i = 0; i < CODES; i++) ids[i] = -1;
  *count = 0;
  for (size_t at = 0, bytes = 0; at < length; at += bytes) {
    uint32_t code = 0;
    bytes = burn__character(text + at, length - at, &code);
    if (bytes == 0) return burn_status_make(BURN_STATUS_CORRUPT_DATA, "characters: no UTF-8 at byte %zu", at);
    *count += ids[code] < 0;
    ids[code] = 0;
  }
  return BURN_OK;
}

/* The bytes of a code point; their number is after them. */
static void character_write(uint32_t code, char out[CHARACTER_BYTES + 1]) {
  static const uint32_t marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
  const size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t i = length; i-- > 1; code >>= 6) out[i] = (char)(0x80 | (code & 0x3f));
  out[0] = (char)(marks[length] | code);
  out[CHARACTER_BYTES] = (char)length;
}

/* Numbers the marked ones in order. */
static void characters_number(Characters *characters) {
  int32_t next = 0;
  for (uint32_t code = 0; code < CODES; code++) {
    if (characters->ids[code] < 0) continue;
    character_write(code, characters->bytes[next]);
    characters->ids[code] = next++;
  }
}

BurnTokenizer *burn_tokenizer_characters(const char *text, size_t length, BurnStatus *status) {
  if (burn__entry_status(status) != BURN_OK) return NULL;
  if (text == NULL && length > 0) return burn__tokenizer_refused(status, BURN_REQUIRED(text, "length bytes"));
  Characters *characters = calloc(1, sizeof *characters);
  if (characters != NULL) characters->ids = malloc(CODES * sizeof *characters->ids);
  BurnStatus result = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "characters: out of memory");
  if (characters != NULL && characters->ids != NULL)
    result = characters_mark(text, length, characters->ids, &characters->count);
  if (result == BURN_OK) {
    characters->bytes = calloc(characters->count + 1, sizeof *characters->bytes);
    if (characters->bytes == NULL) result = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "characters: out of memory");
  }
  if (result != BURN_OK) {
    if (characters != NULL) characters_destroy(characters);
    return burn__tokenizer_refused(status, result);
  }
  characters_number(characters);
  const BurnTokenizerInterface interface = {characters->count,  characters_encode, characters_token,
                                            characters_destroy, characters,        NULL};
  return burn_tokenizer_create(&interface, status);
}
