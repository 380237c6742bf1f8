/* limits_avx2.c - the loops of limits.c for x86-64-v3. */
#define LOOP_TABLE limits_avx2
#define LOOP_BYTES 32
#include <immintrin.h>
#define STREAM_STORE(pointer, vector) _mm256_stream_ps((float *)(pointer), (__m256)(vector))
#define STREAM_FENCE() _mm_sfence()
#define LOOP_KEEP(x) "+x"(x)
#include "limits_loops.inc"
