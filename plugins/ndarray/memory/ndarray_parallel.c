/* ndarray_parallel.c - loops with subnormal numbers flushed to zero. The mode belongs to a thread, so every chunk sets
 * it and then restores what was there. On CPUs without such a mode the loop is an ordinary one. */
#include "ndarray_internal.h"

#if defined(__SSE2__)
#include <emmintrin.h>

enum { FLUSH_TO_ZERO = 0x8000, DENORMALS_ARE_ZERO = 0x0040 };

typedef struct Flushed {
  BurnLoopBody body;
  void *context;
} Flushed;

static void BURN_API_CALL run_flushed(void *context, int64_t begin, int64_t end) {
  const Flushed *flushed = context;
  const unsigned old = _mm_getcsr();
  _mm_setcsr(old | FLUSH_TO_ZERO | DENORMALS_ARE_ZERO);
  flushed->body(flushed->context, begin, end);
  _mm_setcsr(old);
}

void nd_parallel_for_flushed(const Ndarray *nd, int64_t count, int64_t grain, BurnLoopBody body, void *context) {
  Flushed flushed = {body, context};
  nd_parallel_for(nd, count, grain, run_flushed, &flushed);
}

void nd_run_after(const NdAfter *after, void *part, int64_t rows, int64_t columns, int64_t row) {
  const unsigned old = _mm_getcsr();
  _mm_setcsr(old & ~(unsigned)(FLUSH_TO_ZERO | DENORMALS_ARE_ZERO));
  after->run(after->context, part, rows, columns, row);
  _mm_setcsr(old);
}
#else
void nd_parallel_for_flushed(const Ndarray *nd, int64_t count, int64_t grain, BurnLoopBody body, void *context) {
  nd_parallel_for(nd, count, grain, body, context);
}

void nd_run_after(const NdAfter *after, void *part, int64_t rows, int64_t columns, int64_t row) {
  after->run(after->context, part, rows, columns, row);
}
#endif
