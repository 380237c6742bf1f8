/* ndarray_activation.c - softmax, log_softmax and their gradients along any axis, by the loops of ndarray_rows.h: over
 * rows where the axis is the last one, else over strips of columns.
 *
 * Results may go into the memory of an input: every pass reads an element before it writes it. */
#include "ndarray_reduce.h"

#define ND_STRIP_BYTES ((int64_t)512 << 10) /* a strip is about this large: it stays in the second-level cache */
#define ND_STRIP_NARROWEST 64
#define ND_BLOCK_ELEMENTS ((int64_t)256 << 10) /* of a block of rows of a strip that no cache holds */

/* Columns of a strip of `count` rows that the second-level cache holds. */
static int64_t strip_width(int64_t count, int64_t inner, int64_t element_bytes) {
  const int64_t width = ND_STRIP_BYTES / element_bytes / count;
  return nd_min(nd_min(nd_max(width, ND_STRIP_NARROWEST), ND_COLUMNS), inner);
}

/* Columns of a strip that none holds, where threads share no strip: few pieces of lines a page apart would be slow, so
 * strips are wide, but for what threads need. Columns do not depend on each other, so the width changes no bits. */
static int64_t long_strip_width(const Ndarray *nd, int64_t outer, int64_t inner) {
  int64_t width = ND_COLUMNS;
  const int64_t threads = (int64_t)nd->host->thread_count();
  while (width > ND_STRIP_NARROWEST && outer * ((inner + width - 1) / width) < threads) width /= 2;
  return nd_min(width, inner);
}

#define ND_PACKED_ELEMENTS ((int64_t)1 << 20) /* of a packed strip, at most: it stays close to a processor */
#define ND_PACKED_NARROWEST 64                /* shorter pieces of rows take memory longer to deliver */
#define ND_PACKED_STRIPS 8 /* so many there are at least, for threads to share, where they are long */

/* True if strips of f32 are packed; by the shape alone, as bits depend on it. One stretch of rows stays in the first
 * cache anyway. */
static bool packs(int64_t outer, int64_t count, int64_t inner, bool is_long) {
  return count > ND_STRETCH && count * ND_PACKED_NARROWEST <= ND_PACKED_ELEMENTS &&
         outer * (inner / ND_PACKED_NARROWEST) >= (is_long ? ND_PACKED_STRIPS : 1);
}

/* Columns of a packed strip; how many changes no bits. */
static int64_t packed_width(const Ndarray *nd, int64_t outer, int64_t count, int64_t inner) {
  const bool is_wide = count * ND_PACKED_WIDEST <= ND_PACKED_ELEMENTS &&
                       outer * (inner / ND_PACKED_WIDEST) >= (int64_t)nd->host->thread_count();
  return is_wide ? ND_PACKED_WIDEST : ND_PACKED_NARROWEST;
}

/* The job over [outer, count, inner] around the axis `dim` of x, by rows or strips; false if there is nothing to do. */
static bool cut_job(const Ndarray *nd, NdRowJob *job, const NdTensor *x, uint32_t dim, bool forward) {
  const int64_t outer = nd_axes_count(x, 0, dim), bytes = burn_dtype_bytes(x->header.dtype);
  job->count = x->shape[dim];
  job->inner = nd_axes_count(x, dim + 1, x->header.rank);
  job->rows = outer;
  if (outer == 0 || job->count == 0 || job->inner == 0) return false;
  job->part = 1;
  if (job->inner == 1) return true;
  job->is_long = job->count * nd_min(job->inner, ND_STRIP_NARROWEST) * bytes > ND_STRIP_BYTES;
  if (forward && x->header.dtype == BURN_DTYPE_F32 && packs(outer, job->count, job->inner, job->is_long)) {
    job->part = packed_width(nd, outer, job->count, job->inner);
    job->workers = nd_min((int64_t)nd->host->thread_count(), outer * job->count * job->inner / (ND_GRAIN / 4) + 1);
  } else if (!job->is_long) {
    job->part = strip_width(job->count, job->inner, bytes);
  } else {
    job->part = forward ? nd_min(ND_COLUMNS, job->inner) : long_strip_width(nd, outer, job->inner);
  }
  job->rows *= (job->inner + job->part - 1) / job->part;
  job->workers = nd_min(job->workers, job->rows);
  return true;
}

static void run_loop(Ndarray *nd, NdRowJob *job, NdRowLoop loop, int64_t items, int64_t elements) {
  job->loop = loop;
  nd_parallel_for(nd, items, nd_grain(elements * 4), nd_run_row_job, job);
}

/* Strips that no cache holds, in blocks of rows, so that threads read whole rows: statistics of blocks, those of all,
 * results. Where blocks begin depends on the shape alone. False when out of memory. */
static bool softmax_by_blocks(Ndarray *nd, NdRowJob *job, const NdFloatRows *loops, int64_t element_bytes) {
  const int64_t strips = (job->inner + job->part - 1) / job->part, outer = job->rows / strips;
  job->block = nd_max(ND_BLOCK_ELEMENTS / job->part, ND_STRETCH) / ND_STRETCH * ND_STRETCH;
  job->blocks = (job->count + job->block - 1) / job->block;
  const int64_t columns = outer * job->blocks * job->inner;
  const uint64_t bytes = (uint64_t)(columns * ((int64_t)sizeof(double) + element_bytes));
  job->sums = nd_pool_allocate(nd->pool, bytes);
  if (!job->sums) return false;
  job->maxima = (double *)job->sums + columns;
  const int64_t items = job->rows * job->blocks, elements = nd_min(job->block, job->count) * job->part;
  run_loop(nd, job, loops->softmax_blocks, items, elements);
  run_loop(nd, job, loops->softmax_join, job->rows, job->blocks * job->part);
  run_loop(nd, job, loops->softmax_write_blocks, items, elements);
  nd_pool_free(nd->pool, job->sums, bytes);
  return true;
}

/* Packed strips, which workers share. False when out of memory. */
static bool softmax_by_packing(Ndarray *nd, NdRowJob *job, const NdFloatRows *loops) {
  const int64_t stretches = (job->count + ND_STRETCH - 1) / ND_STRETCH;
  const uint64_t bytes =
      (uint64_t)(job->workers * (job->count * job->part + 2 * stretches * ND_PACKED_WIDEST)) * sizeof(float);
  job->scratch = nd_pool_allocate(nd->pool, bytes);
  if (!job->scratch) return false;
  _Atomic int64_t taken = 0;
  job->taken = &taken;
  job->loop = loops->softmax_packed;
  nd_parallel_for(nd, job->workers, 1, nd_run_row_job, job);
  nd_pool_free(nd->pool, job->scratch, bytes);
  return true;
}

static bool softmax_by_strips(Ndarray *nd, NdRowJob *job, const NdFloatRows *loops, int64_t element_bytes) {
  if (job->workers > 0) return softmax_by_packing(nd, job, loops);
  if (job->is_long) return softmax_by_blocks(nd, job, loops, element_bytes);
  run_loop(nd, job, loops->softmax_strips, job->rows, job->count * job->part);
  return true;
}

BurnStatus nd_no_float_rows(Ndarray *nd, const BurnOpCall *call, BurnDType dtype) {
  return nd_fail(nd, BURN_STATUS_INVALID_DTYPE, "%s: no kernel for %s", nd->host->op_info(call->op)->name,
                 burn_dtype_name(dtype));
}

static BurnStatus run_softmax(Ndarray *nd, const BurnOpCall *call) {
  NdTensor *input = nd_tensor(call->inputs[0]);
  const NdFloatRows *loops = nd_float_rows(nd, input->header.dtype);
  if (!loops) return nd_no_float_rows(nd, call, input->header.dtype);
  NdTensor *out = nd_output(nd, call, 0);
  NdTensor *x =
      out ? nd_contiguous(nd, input) : NULL; /* after nd_output, which looks whether input has other holders */
  if (!x) {
    nd_release(nd, out);
    return nd_out_of_memory(nd, call);
  }
  NdRowJob job = {.x = nd_data(x), .out = nd_data(out), .is_log = call->op == BURN_OP_log_softmax};
  job.stream = nd_streams(out, x, NULL);
  if (cut_job(nd, &job, input, (uint32_t)call->attrs[0].value.i64, true)) {
    if (job.inner == 1) {
      run_loop(nd, &job, loops->softmax, job.rows, job.count);
    } else if (!softmax_by_strips(nd, &job, loops, burn_dtype_bytes(input->header.dtype))) {
      nd_release(nd, out);
      out = NULL;
    }
  }
  nd_release(nd, x);
  return nd_finish(nd, call, out);
}

static BurnStatus run_softmax_backward(Ndarray *nd, const BurnOpCall *call) {
  NdTensor *input = nd_tensor(call->inputs[1]);
  const NdFloatRows *loops = nd_float_rows(nd, input->header.dtype);
  if (!loops) return nd_no_float_rows(nd, call, input->header.dtype);
  NdTensor *out = nd_output(nd, call, 0);
  NdTensor *grad = out ? nd_contiguous(nd, nd_tensor(call->inputs[0])) : NULL;
  NdTensor *output = grad ? nd_contiguous(nd, input) : NULL;
  if (output) {
    NdRowJob job = {.x = nd_data(output),
                    .grad = nd_data(grad),
                    .out = nd_data(out),
                    .is_log = call->op == BURN_OP_log_softmax_backward,
                    .stream = nd_streams(out, grad, output)};
    if (cut_job(nd, &job, input, (uint32_t)call->attrs[0].value.i64, false)) {
      const NdRowLoop loop = job.inner == 1 ? loops->softmax_backward : loops->softmax_backward_strips;
      run_loop(nd, &job, loop, job.rows, job.count * job.part);
    }
  } else {
    nd_release(nd, out);
    out = NULL;
  }
  nd_release(nd, grad);
  nd_release(nd, output);
  return nd_finish(nd, call, out);
}

const NdKernelRow nd_activation_kernels[] = {
    {BURN_OP_softmax, run_softmax},
    {BURN_OP_log_softmax, run_softmax},
    {BURN_OP_softmax_backward, run_softmax_backward},
    {BURN_OP_log_softmax_backward, run_softmax_backward},
    {BURN_OP_INVALID, NULL},
};
