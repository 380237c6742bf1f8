/* kernel_snippets.h - pieces of the kernels' language, each as a function of this program and as a text. A function takes
 * the number of its thread and what all threads are given, and writes words that must have the same bits on a device. */
#ifndef BURN_TEST_KERNEL_SNIPPETS_H
#define BURN_TEST_KERNEL_SNIPPETS_H

#include <stddef.h>
#include <stdint.h>

enum { SNIPPET_THREADS = 64, SNIPPET_WORDS = 64 };

/* What kernels read. Floats have no NaN; a snippet makes its own. */
typedef struct SnippetGiven {
  int64_t integers[SNIPPET_THREADS];
  double doubles[SNIPPET_THREADS];
  float floats[SNIPPET_THREADS];
  uint8_t bytes[SNIPPET_THREADS];
} SnippetGiven;

typedef struct Snippet {
  struct Snippet *next;
  const char *name, *text;
  void (*run)(uint32_t thread, const SnippetGiven *given, uint64_t *out);
} Snippet;

#if defined(__cplusplus)
extern "C" {
#endif
/* All of them, and the text that goes before each. */
const Snippet *snippets_first(void);
const char *snippets_words(void);
#if defined(__cplusplus)
}

/* -- in C++: SNIPPET(name, text..) where the text has a function body ------------------------- */

#include <cmath>
#include <cstring>

void snippets_add(Snippet *snippet);

#define __device__
#define UNROLL
#define PUT(x) (*out++ = tagged(x))
#define MIX(x) (mixed = mixed * 0x9e3779b97f4a7c15ull + tagged(x))

#define WORDS_AND_TEXT(name, ...) \
  __VA_ARGS__                     \
  static const char name[] = #__VA_ARGS__;

namespace snippets {
typedef long long int64_t; /* as in CUDA C on every system */
typedef unsigned long long uint64_t;

static inline uint32_t burn_bitcast_u32(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline uint64_t burn_bitcast_u64(double x) {
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline float burn_bitcast_f32(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
static inline double burn_bitcast_f64(uint64_t bits) {
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

/* A number with its type, so that a result of another type is a difference. NaN are all the same. */
WORDS_AND_TEXT(
    words_text, enum {THREADS = 64}; struct Given {
      int64_t integers[THREADS];
      double doubles[THREADS];
      float floats[THREADS];
      uint8_t bytes[THREADS];
    };
    static __device__ inline uint64_t tagged(bool x) {
      return x ? 17u : 1u;
    } static __device__ inline uint64_t tagged(int8_t x) {
      return (uint64_t)(int64_t)x * 16u + 2u;
    } static __device__ inline uint64_t tagged(uint8_t x) {
      return (uint64_t)x * 16u + 3u;
    } static __device__ inline uint64_t tagged(int16_t x) {
      return (uint64_t)(int64_t)x * 16u + 4u;
    } static __device__ inline uint64_t tagged(uint16_t x) {
      return (uint64_t)x * 16u + 5u;
    } static __device__ inline uint64_t tagged(int32_t x) {
      return (uint64_t)(int64_t)x * 16u + 6u;
    } static __device__ inline uint64_t tagged(uint32_t x) {
      return (uint64_t)x * 16u + 7u;
    } static __device__ inline uint64_t tagged(int64_t x) {
      return (uint64_t)x * 0x10001u + 8u;
    } static __device__ inline uint64_t tagged(uint64_t x) {
      return x * 0x10001u + 9u;
    } static __device__ inline uint64_t tagged(float x) {
      return (x != x ? 0x7fc00000u : (uint64_t)burn_bitcast_u32(x)) * 16u + 10u;
    } static __device__ inline uint64_t tagged(double x) {
      return (x != x ? 0x7ff8000000000000ull : burn_bitcast_u64(x)) * 0x10001u + 11u;
    })

/* Sizes and differences of pointers have these types here. */
static inline uint64_t tagged(long x) { return tagged((int64_t)x); }
static inline uint64_t tagged(unsigned long x) { return tagged((uint64_t)x); }

#define SNIPPET(name, ...)                                                       \
  namespace name {                                                               \
  __VA_ARGS__                                                                    \
  static void run(uint32_t thread, const SnippetGiven *given, ::uint64_t *out) { \
    body(thread, (const Given *)(const void *)given, (uint64_t *)(void *)out);   \
  }                                                                              \
  static const char text[] = #__VA_ARGS__;                                       \
  static Snippet snippet = {nullptr, #name, text, run};                          \
  static const bool is_added = (snippets_add(&snippet), true);                   \
  }
}  // namespace snippets
#endif

#endif
