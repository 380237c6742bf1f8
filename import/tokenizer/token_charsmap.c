/* token_charsmap.c - the map of characters of SentencePiece's files.
 *
 * A unit of the array (darts-clone, 32 bits): its label in bits 0 to 7 and 31, whether it has a leaf in bit 8, the
 * distance to its children from bit 10 on, shifted by 8 more where bit 9 is set; of a leaf the value is in bits 0 to
 * 30.
 * Indices come from the file, so each is compared with the size of the array. */
#include "token_charsmap.h"

#include <stdlib.h>
#include <string.h>

enum { UNIT_BYTES = 4, MAX_KEY = 64 /* bytes that are looked at */ };

static uint32_t unit_of(const uint8_t *bytes) {
  return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

BurnStatus burn__charsmap_read(TokenCharsmap *map, const uint8_t *bytes, size_t count) {
  const size_t array = count >= UNIT_BYTES ? unit_of(bytes) : 0;
  if (count < UNIT_BYTES || array > count - UNIT_BYTES || array % UNIT_BYTES != 0)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "a map of characters of %zu bytes, with an array of %zu", count,
                            array);
  map->unit_count = array / UNIT_BYTES;
  map->text_bytes = count - UNIT_BYTES - array + 1;
  map->units = malloc(array + UNIT_BYTES);
  map->texts = calloc(map->text_bytes, 1);
  if (map->units == NULL || map->texts == NULL)
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a map of characters of %zu bytes", count);
  for (size_t i = 0; i < map->unit_count; i++) map->units[i] = unit_of(bytes + UNIT_BYTES + i * UNIT_BYTES);
  memcpy(map->texts, bytes + UNIT_BYTES + array, map->text_bytes - 1);
  return BURN_OK;
}

void burn__charsmap_release(TokenCharsmap *map) {
  free(map->units);
  free(map->texts);
  *map = (TokenCharsmap){NULL, 0, NULL, 0};
}

static size_t children_of(uint32_t unit) { return (size_t)(unit >> 10) << ((unit & (1u << 9)) >> 6); }

size_t burn__charsmap_find(const TokenCharsmap *map, const char *text, size_t length, bool longest,
                           const char **replacement) {
  size_t found = 0;
  if (map->unit_count == 0) return 0;
  size_t at = children_of(map->units[0]);
  for (size_t i = 0; i < length && i < MAX_KEY; i++) {
    const uint32_t byte = (uint8_t)text[i];
    at ^= byte;
    if (at >= map->unit_count) break;
    const uint32_t unit = map->units[at];
    if ((unit & (1u << 31 | 0xffu)) != byte || byte == 0) break;
    at ^= children_of(unit);
    if ((unit & (1u << 8)) == 0) continue;
    if (at >= map->unit_count) break;
    const size_t value = map->units[at] & 0x7fffffffu;
    if (value >= map->text_bytes) break;
    found = i + 1;
    *replacement = map->texts + value;
    if (!longest) break;
  }
  return found;
}
