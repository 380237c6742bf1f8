/* ndarray_packed.c - which calls go over packed strips of columns, and how these are cut; see
 * ndarray_rows_packed_isa.inc. */
#include "ndarray_reduce.h"

#include <string.h>

#define ND_PACKED_ELEMENTS ((int64_t)1 << 20) /* of a packed strip, at most: it stays in a cache */
#define ND_SHARED_ELEMENTS ((int64_t)2 << 20) /* the same of one that all threads share: the last cache holds it */
#define ND_PACKED_NARROWEST 64                /* columns: shorter pieces of rows take memory longer to deliver */
#define ND_PACKED_STRIPS 8   /* so many there are at least, for threads to share, where they are long */
#define ND_PACKED_SHORT 2048 /* rows of strips that are not */
#define ND_PACKED_PIECE 8192 /* elements for each worker, at least */

bool nd_packs(BurnDType dtype, int64_t inputs, int64_t outer, int64_t count, int64_t inner) {
  return dtype == BURN_DTYPE_F32 && inputs * count * ND_PACKED_NARROWEST <= ND_PACKED_ELEMENTS &&
         outer * (inner / ND_PACKED_NARROWEST) >= (count > ND_PACKED_SHORT ? ND_PACKED_STRIPS : 1);
}

bool nd_run_packed(Ndarray *nd, NdRowJob *job, int64_t outer) {
  const int64_t stretches = (job->count + ND_STRETCH - 1) / ND_STRETCH, inputs = job->grad ? 2 : 1;
  const int64_t threads = (int64_t)nd->host->thread_count();
  const bool is_wide = inputs * job->count * ND_PACKED_WIDEST <= ND_PACKED_ELEMENTS &&
                       outer * (job->inner / ND_PACKED_WIDEST) >= threads;
  _Atomic int64_t taken = 0;
  job->part = is_wide ? ND_PACKED_WIDEST : ND_PACKED_NARROWEST; /* which changes no bits */
  job->rows = outer * ((job->inner + job->part - 1) / job->part);
  job->scratch_elements = inputs * job->count * job->part + (inputs == 1 ? 2 * stretches * ND_PACKED_WIDEST : 0);
  const int64_t workers = nd_min(nd_min(threads, job->rows), outer * job->count * job->inner / ND_PACKED_PIECE + 1);
  const uint64_t bytes = (uint64_t)(workers * job->scratch_elements) * sizeof(float);
  job->scratch = nd_pool_allocate(nd->pool, bytes);
  if (!job->scratch) return false;
  job->taken = &taken;
  job->loop = nd_rows(nd)->packed_strips;
  nd_parallel_for(nd, workers, 1, nd_run_row_job, job);
  nd_pool_free(nd->pool, job->scratch, bytes);
  return true;
}

/* -- strips that all threads share -------------------------------------------------------------- */

bool nd_shares_strips(BurnDType dtype, int64_t outer, int64_t count, int64_t inner) {
  return dtype == BURN_DTYPE_F32 && 2 * count * ND_PACKED_NARROWEST <= ND_SHARED_ELEMENTS &&
         outer * (inner / ND_PACKED_NARROWEST) >= ND_PACKED_STRIPS;
}

/* What the stretches of a strip add up to, one after the other. */
static void add_stretches(const NdRowJob *job, int64_t stretches) {
  const float *sums = (const float *)job->sums;
  double totals[ND_PACKED_WIDEST] = {0};
  for (int64_t s = 0; s < stretches; s++) {
    for (int64_t j = 0; j < job->part; j++) totals[j] += (double)sums[s * job->part + j];
  }
  for (int64_t j = 0; j < job->part; j++) ((float *)job->maxima)[j] = (float)totals[j];
}

bool nd_run_shared_strips(Ndarray *nd, NdRowJob *job, int64_t outer) {
  const int64_t stretches = (job->count + ND_STRETCH - 1) / ND_STRETCH, part = ND_PACKED_NARROWEST;
  const uint64_t bytes = (uint64_t)((2 * job->count + stretches + 1) * part) * sizeof(float);
  job->part = part;
  job->rows = outer * ((job->inner + part - 1) / part);
  job->scratch = nd_pool_allocate(nd->pool, bytes);
  if (!job->scratch) return false;
  job->sums = (float *)job->scratch + 2 * job->count * part;
  job->maxima = (float *)job->sums + stretches * part;
  memset(job->maxima, 0, (size_t)part * sizeof(float));
  job->loop = nd_rows(nd)->packed_stretches;
  for (job->strip = 0; job->strip <= job->rows; job->strip++) {
    nd_parallel_for(nd, stretches, nd_grain(2 * ND_STRETCH * part), nd_run_row_job, job);
    add_stretches(job, stretches);
  }
  nd_pool_free(nd->pool, job->scratch, bytes);
  return true;
}
