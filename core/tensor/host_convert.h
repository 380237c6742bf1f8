/* host_convert.h - host arrays from one dtype to another of the same kind, for records. */
#ifndef BURN_CORE_HOST_CONVERT_H
#define BURN_CORE_HOST_CONVERT_H

#include <burn/error.h>
#include <burn/plugin/types.h>

/* Converts `count` elements; the arrays do not overlap and need no alignment. Floats round to nearest, ties to even. A
 * value that the target cannot hold (an integer out of range, a finite float that would become infinite) is
 * OUT_OF_RANGE, another kind is INVALID_DTYPE; then `out` is partly written. Bools become 0 or 1. */
BurnStatus burn__host_convert(void *out, BurnDType to, const void *in, BurnDType from, size_t count);

/* The 16 bits of f16 and bf16, rounded to nearest even, and back. */
uint16_t burn__f16_from_double(double value);
uint16_t burn__bf16_from_double(double value);
double burn__f16_to_double(uint16_t bits);
double burn__bf16_to_double(uint16_t bits);

#endif
