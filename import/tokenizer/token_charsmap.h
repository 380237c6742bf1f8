/* token_charsmap.h - the map of characters of SentencePiece's files: a double array of darts-clone, then the texts that
 * characters become, each with a zero after it. */
#ifndef BURN_IMPORT_TOKEN_CHARSMAP_H
#define BURN_IMPORT_TOKEN_CHARSMAP_H

#include <burn/error.h>

#include <stddef.h>
#include <stdint.h>

typedef struct TokenCharsmap {
  uint32_t *units;
  size_t unit_count;
  char *texts; /* [text_bytes], the last of which is zero */
  size_t text_bytes;
} TokenCharsmap;

/* Reads the bytes of a precompiled_charsmap; CORRUPT_DATA if sizes do not fit. */
BurnStatus burn__charsmap_read(TokenCharsmap *map, const uint8_t *bytes, size_t count);
void burn__charsmap_release(TokenCharsmap *map);

/* How many bytes at the beginning of a text are replaced, the longest or the shortest, and what by; 0: none are. */
size_t burn__charsmap_find(const TokenCharsmap *map, const char *text, size_t length, bool longest,
                           const char **replacement);

#endif
