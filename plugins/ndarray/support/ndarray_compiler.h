/* ndarray_compiler.h - what kernels ask of the compiler, beyond C. Each is a promise or a wish: without it, the same
 * text computes the same. */
#ifndef BURN_NDARRAY_COMPILER_H
#define BURN_NDARRAY_COMPILER_H

/* A function that becomes a part of its callers, whatever its length; one that never does (so that it is there once,
 * and its registers are its own). ND_FLATTEN: all calls in a function become parts of it. */
#if defined(__GNUC__)
#define ND_INLINE static inline __attribute__((always_inline))
#define ND_APART __attribute__((noinline))
#define ND_FLATTEN __attribute__((flatten))
#define ND_UNUSED __attribute__((unused))
#else
#define ND_INLINE static inline
#define ND_APART
#define ND_FLATTEN
#define ND_UNUSED
#endif

/* ND_VECTORIZE: the loop that follows may be vectorised although out may be one of the inputs: element i is read before
 * it is written. ND_UNROLL: it has a constant length of at most 32 and is written out, early enough that arrays become
 * registers. ND_ROLLED: it stays a loop. ND_SIDE_BY_SIDE, after ND_VECTORIZE: its vectors, up to eight, are computed
 * together, so that the operations of one hide behind those of the others; GCC needs -fschedule-insns for that. */
#if defined(__clang__)
#define ND_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#define ND_UNROLL _Pragma("unroll")
#define ND_ROLLED _Pragma("clang loop unroll(disable)")
#define ND_SIDE_BY_SIDE _Pragma("clang loop interleave_count(4)")
#elif defined(__GNUC__)
#define ND_VECTORIZE _Pragma("GCC ivdep")
#define ND_UNROLL _Pragma("GCC unroll 32")
#define ND_ROLLED _Pragma("GCC unroll 1")
#define ND_SIDE_BY_SIDE _Pragma("GCC unroll 8")
#else
#define ND_VECTORIZE
#define ND_UNROLL
#define ND_ROLLED
#define ND_SIDE_BY_SIDE
#endif

/* ND_KEEP holds a number or vector in a register where it is used more than once: GCC would load and broadcast it anew
 * for every use. ND_KEEP_POINTER holds a sum of pointer and offset as it is: GCC would split it into more parts than
 * there are registers. After ND_RELOAD numbers in memory are loaded anew: GCC would carry those of the next step over
 * in more registers than there are. */
#if defined(__GNUC__) && defined(__AVX512F__)
#define ND_KEEP(x) __asm__("" : "+v"(x))
#elif defined(__GNUC__) && defined(__SSE2__)
#define ND_KEEP(x) __asm__("" : "+x"(x))
#elif defined(__GNUC__) && defined(__aarch64__)
#define ND_KEEP(x) __asm__("" : "+w"(x))
#else
#define ND_KEEP(x) ((void)0)
#endif
#if defined(__GNUC__)
#define ND_KEEP_POINTER(pointer) __asm__("" : "+r"(pointer))
#define ND_RELOAD() __asm__ __volatile__("" : : : "memory")
#else
#define ND_KEEP_POINTER(pointer) ((void)0)
#define ND_RELOAD() ((void)0)
#endif

/* Loads a line of memory ahead of its use: into all caches, or only from the second level on; or in order to write it.
 */
#if defined(__GNUC__)
#define ND_PREFETCH(address) __builtin_prefetch(address, 0, 3)
#define ND_PREFETCH_FAR(address) __builtin_prefetch(address, 0, 2)
#define ND_PREFETCH_WRITE(address) __builtin_prefetch(address, 1, 3)
#else
#define ND_PREFETCH(address) ((void)(address))
#define ND_PREFETCH_FAR(address) ((void)(address))
#define ND_PREFETCH_WRITE(address) ((void)(address))
#endif

#endif
