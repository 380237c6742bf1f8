/* gguf_types.c - blocks of quantized elements as floats, as ggml-quants.c lays them out. Multiplications stand in the
 * order of its dequantize_row functions, so that the floats are the same bit by bit. */
#include "gguf.h"

#include <math.h>
#include <string.h>

static float half_at(const uint8_t *bytes) {
  const unsigned bits = (unsigned)bytes[0] | (unsigned)bytes[1] << 8;
  const int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
  const float sign = bits & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
  return exponent == 0 ? sign * ldexpf((float)fraction, -24) : sign * ldexpf((float)(fraction + 1024), exponent - 25);
}

/* A scale, 32 nibbles: the lower ones are the first 16 elements. */
static void unpack_q4_0(const uint8_t *block, float *out) {
  const float scale = half_at(block);
  for (int i = 0; i < 16; i++) {
    out[i] = scale * (float)((block[2 + i] & 15) - 8);
    out[i + 16] = scale * (float)((block[2 + i] >> 4) - 8);
  }
}

static void unpack_q8_0(const uint8_t *block, float *out) {
  const float scale = half_at(block);
  for (int i = 0; i < 32; i++) out[i] = (float)(int8_t)block[2 + i] * scale;
}

/* A scale and one of the least values; for each 32 elements 6 bits of a scale and 6 of a least value, packed into 12
 * bytes; nibbles, of 64 elements the lower ones first. */
static void unpack_q4_k(const uint8_t *block, float *out) {
  const float scale = half_at(block), least = half_at(block + 2);
  const uint8_t *packed = block + 4, *nibbles = block + 16;
  for (int part = 0; part < 8; part++) {
    const int low = part < 4 ? part : part - 4;
    const int factor = part < 4 ? packed[low] & 63 : (packed[8 + low] & 15) | (packed[low] >> 2 & 48);
    const int minimum = part < 4 ? packed[4 + low] & 63 : (packed[8 + low] >> 4) | (packed[4 + low] >> 2 & 48);
    const float step = scale * (float)factor, offset = least * (float)minimum;
    for (int i = 0; i < 32; i++) {
      const int nibble = nibbles[part / 2 * 32 + i] >> (part % 2 * 4) & 15;
      out[part * 32 + i] = step * (float)nibble - offset;
    }
  }
}

/* 4 lower bits of 256 elements, 2 upper ones, 16 scales of 8 bits, a scale of those. */
static void unpack_q6_k(const uint8_t *block, float *out) {
  const uint8_t *lower = block, *upper = block + 128, *scales = block + 192;
  const float scale = half_at(block + 208);
  for (int i = 0; i < 256; i++) {
    const int half = i / 128, row = i % 128 / 32, place = i % 32;
    const int low = lower[half * 64 + row % 2 * 32 + place] >> (row / 2 * 4) & 15;
    const int high = upper[half * 32 + place] >> (row * 2) & 3;
    out[i] = scale * (float)(int8_t)scales[i / 16] * (float)((low | high << 4) - 32);
  }
}

static const GgufType types[] = {
#define GGUF_TYPE(number, name, block, bytes, dtype, unpack) {number, #name, block, bytes, BURN_DTYPE_##dtype, unpack},
#include "gguf_types.def"
#undef GGUF_TYPE
};

const GgufType *burn__gguf_type(uint32_t number) {
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
    if (types[i].number == number) return &types[i];
  return NULL;
}
