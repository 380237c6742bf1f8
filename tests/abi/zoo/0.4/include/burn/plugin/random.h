/* random.h - the random numbers of the framework: counter-based, the same on every backend.
 *
 * Generator: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), as in the
 * Random123 library. Key = {low, high 32 bits of seed}. Counter = {low, high 32 bits of block, 0, 0}. One block gives 4
 * words.
 *
 * Element i (row-major) of a random op uses block offset + i / 4, word i % 4. An op over n elements therefore uses
 * blocks offset .. offset + ceil(n / 4) - 1; the caller advances its offset by burn_random_blocks(n).
 *
 *   uniform, f32       u = (word >> 8) * 2^-24, in [0, 1); result = low + u * (high - low), in f32, one rounding a step
 *   uniform, f64       u = (word + 0.5) * 2^-32; result = low + u * (high - low) in f64
 *   uniform, floats    a sum that rounds up to high becomes low, so that high is never a result (unless it equals low)
 *   uniform, integers  low + ((uint64) word * (uint64)(high - low) >> 32), lowest bits; the range is at most 2^32
 *   bernoulli          word < round(prob * 2^32): 1, else 0
 *   normal             Box-Muller in f64 from the words (a, b) of an even/odd pair: r = sqrt(-2 ln((a + 1) * 2^-32)),
 *                      t = 2 pi b * 2^-32; even element r * cos t, odd element r * sin t; result = mean + std * that,
 *                      in f64, rounded once to the dtype. ln, cos and sin are those of the platform: their last bit may
 *                      differ between platforms, which in f32 shows about once in 2^28 numbers.
 *
 * f16 and bf16 take the f32 result, rounded to nearest even. For uniform, low and high are rounded to the dtype first,
 * so the result is never below low; one that rounds up to high becomes low there too. */
#ifndef BURN_PLUGIN_RANDOM_H
#define BURN_PLUGIN_RANDOM_H

#include <burn/plugin/abi.h>

#if !defined(BURN_NO_INLINE)

/* Blocks that an op over `count` elements uses. */
static inline uint64_t burn_random_blocks(uint64_t count) { return (count + 3u) / 4u; }

/* The four words of one block. */
static inline void burn_philox(uint64_t seed, uint64_t block, uint32_t out[4]) {
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
  uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32), c2 = 0, c3 = 0;
  int round;
  for (round = 0; round < 10; round++) {
    const uint64_t p0 = (uint64_t)0xD2511F53u * c0;
    const uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;
    const uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    const uint32_t n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)p1;
    c3 = (uint32_t)p0;
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

/* The word of one element. */
static inline uint32_t burn_random_word(uint64_t seed, uint64_t offset, uint64_t element) {
  uint32_t words[4];
  burn_philox(seed, offset + element / 4u, words);
  return words[element % 4u];
}

/* [0, 1) in f32 from a word. */
static inline float burn_random_unit_f32(uint32_t word) { return (float)(word >> 8) * (1.0f / 16777216.0f); }

/* (0, 1) in f64 from a word. */
static inline double burn_random_unit_f64(uint32_t word) { return ((double)word + 0.5) * (1.0 / 4294967296.0); }

/* Words below this are 1 in a bernoulli with probability prob; 2^32 when prob >= 1. */
static inline uint64_t burn_random_threshold(double prob) {
  if (!(prob > 0.0)) return 0;
  if (prob >= 1.0) return (uint64_t)1 << 32;
  return (uint64_t)(prob * 4294967296.0 + 0.5);
}

#endif

#endif
