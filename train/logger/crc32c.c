/* crc32c.c - the checksum of TFRecords: CRC-32 with Castagnoli's polynomial, reflected (RFC 3720, 12.1). Bit by bit,
 * because the records of a run are a few bytes per batch. */
#include "event_file.h"

uint32_t burn__crc32c(const void *bytes, size_t count) {
  const unsigned char *at = bytes;
  uint32_t crc = 0xffffffffu;
  for (size_t i = 0; i < count; i++) {
    crc ^= at[i];
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (0x82f63b78u & (0u - (crc & 1u)));
  }
  return ~crc;
}
