/* limits_baseline.c - the loops of limits.c for any CPU. */
#define LOOP_TABLE limits_baseline
#define LOOP_BYTES 16
#if defined(__SSE__)
#include <immintrin.h>
#define STREAM_STORE(pointer, vector) _mm_stream_ps((float *)(pointer), (__m128)(vector))
#define STREAM_FENCE() _mm_sfence()
#define LOOP_KEEP(x) "+x"(x)
#elif defined(__aarch64__)
#define LOOP_KEEP(x) "+w"(x)
#else
#define LOOP_KEEP(x) "+m"(x)
#endif
#include "limits_loops.inc"
