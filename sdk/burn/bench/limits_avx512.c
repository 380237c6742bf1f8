/* limits_avx512.c - the loops of limits.c for x86-64-v4. */
#define LOOP_TABLE limits_avx512
#define LOOP_BYTES 64
#include <immintrin.h>
#define STREAM_STORE(pointer, vector) _mm512_stream_ps((float *)(pointer), (__m512)(vector))
#define STREAM_FENCE() _mm_sfence()
#define LOOP_KEEP(x) "+v"(x)
#include "limits_loops.inc"
