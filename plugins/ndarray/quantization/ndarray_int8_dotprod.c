/* ndarray_int8_dotprod.c - i8 products on 64-bit ARM: sdot adds four products of i8 in i32. */
#include "ndarray_int8.h"

#include <arm_neon.h>
#include <string.h>

#define LANES 4
#define VECTORS 4
#define UNIT 4
#define IS_SHIFTED false
typedef int8_t Number;
typedef int32x4_t Sums;
typedef float32x4_t Floats;
#define SUMS_OF(i) vdupq_n_s32(i)
#define LOAD_B(p) vreinterpretq_s32_u8(vld1q_u8(p))
#define DOT(sums, b, a) vdotq_s32(sums, vreinterpretq_s8_s32(b), vreinterpretq_s8_s32(a))
#define TO_FLOATS(sums) vcvtq_f32_s32(sums)
#define FLOATS_OF(x) vdupq_n_f32(x)
#define LOAD(p) vld1q_f32(p)
#define STORE(p, x) vst1q_f32(p, x)
#define STORE_FIRST(p, x, count) store_first(p, x, count)
#define ADD(x, y) vaddq_f32(x, y)
#define MUL(x, y) vmulq_f32(x, y)

static void store_first(float *to, float32x4_t x, int64_t count) {
  float lanes[4];
  vst1q_f32(lanes, x);
  memcpy(to, lanes, (size_t)count * sizeof *to);
}

#include "ndarray_int8_isa.inc"

/* Row p; 0 where there is none. */
ND_INLINE int8x16_t row_of(const int8_t *b, int64_t step, int64_t terms, int64_t p) {
  return p < terms ? vld1q_s8(b + p * step) : vdupq_n_s8(0);
}

/* Four rows, 16 columns: the four numbers of a column side by side, which is how vst4 stores. */
static void pack(const int8_t *b, int64_t step, int64_t terms, uint8_t *to) {
  for (int64_t p = 0; p < terms; p += UNIT, b += UNIT * step) {
    const int64_t left = terms - p;
    for (int j = 0; j < ND_INT8_COLUMNS; j += 16, to += 64) {
      const int8x16x4_t rows = {{row_of(b + j, step, left, 0), row_of(b + j, step, left, 1),
                                 row_of(b + j, step, left, 2), row_of(b + j, step, left, 3)}};
      vst4q_s8((int8_t *)to, rows);
    }
  }
}

const NdInt8Loops nd_int8_dotprod = {.name = "dotprod", .pack = pack, .tile = tile};
