/* kernel_prelude_words.h - what prelude_spirv.cu defines, as C calls it: as for a device that has everything (`has` is 1) and
 * for one that has nothing. */
#ifndef BURN_TEST_KERNEL_PRELUDE_WORDS_H
#define BURN_TEST_KERNEL_PRELUDE_WORDS_H

#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif
float words_fma_f32(float a, float b, float c);
double words_fma_f64(double a, double b, double c);
float words_half_to_f32(uint16_t bits);
uint16_t words_f32_to_half(float x);
float words_through_half(float x);
uint16_t words_f32_to_brain(float x);
float words_f64_to_f32_toward_zero(double x);
double words_i64_to_f64_toward_zero(int64_t x);
double words_f64_through_half(double x);
double words_power(double x, int64_t y); /* of the shared prelude, by math.cu */

/* How many values that came from another lane are wrong. */
int words_wrong_lanes(int has);
#if defined(__cplusplus)
}
#endif

#endif
