/* kernel.h - kernels as texts to SPIR-V: the compiler of the language that plugins/gpu/kernels is written in. It knows
 * nothing of Vulkan but what SPIR-V says of it.
 *
 * The result has no descriptors. Its push constants: at byte 0 the number of groups (uint32), from byte 8 on the
 * parameters of the kernel, or the 64-bit address of a copy of them. A launch has x * y groups, in rows of x; those
 * from the number of groups on leave at once. */
#ifndef BURN_VULKAN_KERNEL_H
#define BURN_VULKAN_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KERNEL_PUSH_BYTES = 128, KERNEL_PARAMETERS_AT = 8 };

/* What a device can do; what it cannot is computed in another way, with the same numbers. */
typedef struct KernelTarget {
  bool has_warps;            /* subgroups of 32 or more that shuffle and ballot; else by shared memory */
  bool fused_f32, fused_f64; /* Fma rounds once */
  bool exact_f32;            /* division and square root of f32 are rounded right; else they go through f64 */
  bool exact_halves;         /* conversions between f16 and f32 round to nearest even, and keep subnormals */
  bool keeps_halves;         /* they do so, too, where a kernel goes there and back */
  bool native_powers;        /* Exp2 of f32 is off by 2^-21 at most: for results that keep less */
  bool is_processor;         /* vectors cost each word, 8 bytes what 4 do, and long kernels take long to compile */
  bool keeps_subnormals[3];  /* DenormPreserve may be asked for, of f16, f32, f64 */
  bool keeps_nan[3];         /* SignedZeroInfNanPreserve */
  bool rounds_to_nearest[3]; /* RoundingModeRTE */
} KernelTarget;

typedef struct KernelProgram KernelProgram; /* a source that has been read */

/* One kernel as SPIR-V 1.5. */
typedef struct KernelModule {
  uint32_t *words;
  size_t word_count;
  uint32_t threads[3];      /* of a group: exactly so many are started */
  uint32_t parameter_bytes; /* that a launch gives */
  bool in_push_constants;   /* the parameters themselves, not their address */
  uint32_t shared_bytes;
  bool needs_subgroups; /* whole ones, of the size that its source was written for */
} KernelModule;

/* Room for `why` below that no message fills. */
enum { KERNEL_WHY_BYTES = 400 };

/* NULL with words in `why` where the source is wrong, or without memory. */
KernelProgram *burn__kernel_parse(const char *source, const KernelTarget *target, char *why, size_t why_bytes);
void burn__kernel_free(KernelProgram *program); /* NULL is allowed */

/* The kernel `entry` of a program. Its inputs lie one after the other, as members of a struct would. `threads`: of a
 * group along three axes, and then groups have three axes too, as the launch has, and no number of them is looked at;
 * NULL: as many as its __launch_bounds__ names, and groups with numbers from 0 on. False with words in `why`. A program
 * is used by one thread at a time. */
bool burn__kernel_emit(KernelProgram *program, const char *entry, const uint32_t *threads, KernelModule *out, char *why,
                       size_t why_bytes);
void burn__kernel_module_free(KernelModule *module);

#endif
