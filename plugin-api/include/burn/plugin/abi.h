/* abi.h - version of the plugin ABI and the few macros every other header needs.
 *
 * Rules for everything in this folder: C99 and C++-clean; only fixed-width integers, pointers and double cross the
 * boundary (no enum, bool, long, size_t, bit field, varargs or returned struct); every struct that may grow starts with
 * its size, and grows only at its end. The reasons stand in plugin-api/README.md. */
#ifndef BURN_PLUGIN_ABI_H
#define BURN_PLUGIN_ABI_H

#include <stddef.h>
#include <stdint.h>

/* The major is part of the entry symbol's name. While it is 0 a changed minor may break plugins: the host accepts
 * BURN_ABI_OLDEST_MINOR .. BURN_ABI_MINOR. */
#define BURN_ABI_MAJOR 0u
#define BURN_ABI_MINOR 3u
#define BURN_ABI_OLDEST_MINOR 3u

/* Calling convention of every function pointer of the ABI. */
#if defined(_WIN32) && !defined(_WIN64)
#define BURN_API_CALL __cdecl
#else
#define BURN_API_CALL
#endif

/* Marks the one symbol a plugin exports. */
#if defined(_WIN32)
#define BURN_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define BURN_EXPORT __attribute__((visibility("default")))
#else
#define BURN_EXPORT
#endif

#ifdef __cplusplus
#define BURN_EXTERN_C extern "C"
#define BURN_EXTERN_C_BEGIN extern "C" {
#define BURN_EXTERN_C_END }
#else
#define BURN_EXTERN_C
#define BURN_EXTERN_C_BEGIN
#define BURN_EXTERN_C_END
#endif

/* Most axes a tensor can have; fixed for the life of a major. */
#define BURN_MAX_RANK 8u

/* Most inputs and outputs an op with a fixed arity can have (list ops such as cat take any number of inputs). */
#define BURN_MAX_FIXED_INPUTS 8u
#define BURN_MAX_OUTPUTS 4u

#endif
