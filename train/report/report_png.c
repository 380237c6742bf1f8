/* report_png.c - pictures of samples as PNG (W3C, 3rd edition): signature, IHDR, one IDAT with rows that are not
 * filtered, IEND. By zlib alone, because writing 8-bit pictures needs no more of libpng. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "report_internal.h"

static void add_big_endian(BurnTextBuilder *out, uint32_t value) {
  const char bytes[] = {(char)(unsigned char)(value >> 24), (char)(unsigned char)(value >> 16),
                        (char)(unsigned char)(value >> 8), (char)(unsigned char)value};
  burn__text_add_bytes(out, bytes, sizeof bytes);
}

static void add_chunk(BurnTextBuilder *out, const char *type, const void *data, size_t count) {
  uLong checksum = crc32(0, (const Bytef *)type, 4);
  if (count) checksum = crc32(checksum, data, (uInt)count);
  add_big_endian(out, (uint32_t)count);
  burn__text_add_bytes(out, type, 4);
  if (count) burn__text_add_bytes(out, data, count);
  add_big_endian(out, (uint32_t)checksum);
}

/* Rows with a byte before each that says "not filtered", deflated. */
static void add_pixels(BurnTextBuilder *out, const BurnSample *sample) {
  const size_t row = (size_t)sample->width * sample->channels, bytes = (row + 1) * sample->height;
  uLongf packed = compressBound((uLong)bytes);
  uint8_t *rows = malloc(bytes), *data = malloc(packed);
  for (size_t y = 0; rows && y < sample->height; y++) {
    rows[y * (row + 1)] = 0;
    memcpy(rows + y * (row + 1) + 1, sample->pixels + y * row, row);
  }
  if (rows && data && compress2(data, &packed, rows, (uLong)bytes, 9) == Z_OK) {
    add_chunk(out, "IDAT", data, packed);
  } else {
    out->failed = true;
  }
  free(rows);
  free(data);
}

static void add_base64(BurnTextBuilder *out, const unsigned char *bytes, size_t count) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < count; i += 3) {
    const size_t there = count - i < 3 ? count - i : 3;
    const uint32_t bits = (uint32_t)bytes[i] << 16 | (there > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                          (there > 2 ? (uint32_t)bytes[i + 2] : 0);
    const char text[] = {letters[bits >> 18], letters[(bits >> 12) & 63], there > 1 ? letters[(bits >> 6) & 63] : '=',
                         there > 2 ? letters[bits & 63] : '='};
    burn__text_add_bytes(out, text, sizeof text);
  }
}

void burn__png_base64(BurnTextBuilder *out, const BurnSample *sample) {
  BurnTextBuilder png = BURN_TEXT_BUILDER, header = BURN_TEXT_BUILDER;
  const char kind[] = {8, sample->channels == 3 ? 2 : 0, 0, 0, 0}; /* bits, grey or colour, deflate, filters, order */
  burn__text_add_bytes(&png, "\x89PNG\r\n\x1a\n", 8);
  add_big_endian(&header, sample->width);
  add_big_endian(&header, sample->height);
  burn__text_add_bytes(&header, kind, sizeof kind);
  if (!header.failed) add_chunk(&png, "IHDR", header.text, header.length);
  add_pixels(&png, sample);
  add_chunk(&png, "IEND", NULL, 0);
  out->failed = out->failed || png.failed || header.failed;
  if (!out->failed) add_base64(out, (const unsigned char *)png.text, png.length);
  burn__text_release(&png);
  burn__text_release(&header);
}
