/* store_json.h - JSON read step by step from bytes that nothing ends: no tree is made, so that a small file cannot ask
 * for much memory, and what is wrong is told by its offset. */
#ifndef BURN_IMPORT_STORE_JSON_H
#define BURN_IMPORT_STORE_JSON_H

#include <burn/error.h>

#include <stddef.h>
#include <stdint.h>

/* Where reading is. After a failure every function does nothing, so that a caller looks at the status at the end. */
typedef struct BurnJson {
  const uint8_t *bytes;
  size_t at, end;
  uint64_t offset; /* of byte 0 in the file, for messages */
  BurnStatus status;
} BurnJson;

/* Fails at this place: "byte 17: ", then what was expected. */
void burn__json_expected(BurnJson *json, const char *what);

/* The next byte that is not a blank; 0 at the end. */
char burn__json_peek(BurnJson *json);

/* Passes over one of { } [ ] : or , that must come. */
void burn__json_take(BurnJson *json, char mark);

/* For a loop over what `open` begins: true if there is another item before `close`, past its comma; *is_first is true
 * before the first and false after. False at the end, past `close`. */
bool burn__json_more(BurnJson *json, bool *is_first, char close);

/* A text, unescaped, malloc'd, UTF-8 with no zero byte in it (refused); NULL on failure. A surrogate that is alone
 * becomes U+FFFD. */
char *burn__json_text(BurnJson *json);
/* A text of less than `bytes`, unescaped into `out`; of a longer one the beginning. */
void burn__json_text_into(BurnJson *json, char *out, size_t bytes);

/* An integer of digits alone. */
uint64_t burn__json_uint(BurnJson *json);

/* Passes over any value, nested at most 64 deep. */
void burn__json_skip(BurnJson *json);

/* Whether only blanks are left. */
bool burn__json_is_at_end(BurnJson *json);

#endif
