/* md5.c - the checksum that the data sets here are published with (RFC 1321). */
#include "null_check.h"
#include "path_check.h"

#include <burn/datasets.h>
#include <burn/file.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64, WORDS = 16, STEPS = 64, LENGTH_AT = 56, PIECE = 1 << 16, TEXT_BYTES = 33 };

typedef struct Md5 {
  uint32_t state[4];
  uint64_t bytes;
  uint8_t block[BLOCK_BYTES];
  uint32_t table[STEPS]; /* 2^32 times |sin(i + 1)| */
} Md5;

static uint32_t turned(uint32_t value, uint32_t by) { return value << by | value >> (32 - by); }

static void md5_begin(Md5 *md5) {
  *md5 = (Md5){{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}, 0, {0}, {0}};
  for (int i = 0; i < STEPS; i++) md5->table[i] = (uint32_t)(fabs(sin((double)i + 1)) * 0x1p32);
}

static void block_add(Md5 *md5, const uint8_t *block) {
  static const uint8_t shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
  uint32_t words[WORDS], a = md5->state[0], b = md5->state[1], c = md5->state[2], d = md5->state[3];
  for (size_t i = 0; i < WORDS; i++)
    words[i] = (uint32_t)block[4 * i] | (uint32_t)block[4 * i + 1] << 8 | (uint32_t)block[4 * i + 2] << 16 |
               (uint32_t)block[4 * i + 3] << 24;
  for (uint32_t i = 0; i < STEPS; i++) {
    const uint32_t round = i / WORDS;
    const uint32_t mixed = round == 0   ? (b & c) | (~b & d)
                           : round == 1 ? (d & b) | (~d & c)
                           : round == 2 ? b ^ c ^ d
                                        : c ^ (b | ~d);
    const uint32_t word = (round == 0 ? i : round == 1 ? 5 * i + 1 : round == 2 ? 3 * i + 5 : 7 * i) % WORDS;
    const uint32_t sum = a + mixed + md5->table[i] + words[word];
    a = d;
    d = c;
    c = b;
    b += turned(sum, shifts[round][i % 4]);
  }
  md5->state[0] += a;
  md5->state[1] += b;
  md5->state[2] += c;
  md5->state[3] += d;
}

static void md5_add(Md5 *md5, const uint8_t *bytes, size_t count) {
  while (count > 0) {
    const size_t at = md5->bytes % BLOCK_BYTES, room = BLOCK_BYTES - at, piece = count < room ? count : room;
    memcpy(md5->block + at, bytes, piece);
    md5->bytes += piece;
    bytes += piece;
    count -= piece;
    if (md5->bytes % BLOCK_BYTES == 0) block_add(md5, md5->block);
  }
}

static void md5_end(Md5 *md5, char text[TEXT_BYTES]) {
  static const uint8_t one = 0x80, zero = 0;
  const uint64_t bits = md5->bytes * 8;
  uint8_t length[8];
  for (int i = 0; i < 8; i++) length[i] = (uint8_t)(bits >> 8 * i);
  md5_add(md5, &one, 1);
  while (md5->bytes % BLOCK_BYTES != LENGTH_AT) md5_add(md5, &zero, 1);
  md5_add(md5, length, sizeof length);
  for (int i = 0; i < 16; i++) (void)snprintf(text + 2 * i, 3, "%02x", (md5->state[i / 4] >> 8 * (i % 4)) & 0xff);
}

BurnStatus burn_file_md5(const char *path, char text[TEXT_BYTES]) {
  FILE *file = NULL;
  Md5 md5;
  BurnStatus status = BURN_REQUIRED(text, "room for 33 characters");
  if (status != BURN_OK) return status;
  text[0] = '\0';
  status = burn__path_check("md5", path);
  if (status != BURN_OK) return status;
  status = burn_file_open(path, &file, NULL);
  if (status != BURN_OK) return burn_status_annotate(status, "%s", path);
  uint8_t *piece = malloc(PIECE);
  md5_begin(&md5);
  for (size_t got = 1; piece != NULL && got > 0;) {
    got = fread(piece, 1, PIECE, file);
    md5_add(&md5, piece, got);
  }
  const bool good = piece != NULL && !ferror(file);
  free(piece);
  fclose(file);
  if (!good) return burn_status_make(BURN_STATUS_IO, "%s: cannot be read to its end", path);
  md5_end(&md5, text);
  return BURN_OK;
}
