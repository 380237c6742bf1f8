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

/* The job over [outer, count, inner] around the axis `dim` of x, by rows or strips; false if there is nothing to do. */
static bool cut_job(const Ndarray *nd, NdRowJob *job, const NdTensor *x, uint32_t dim, bool by_blocks) {
  const int64_t outer = nd_axes_count(x, 0, dim), bytes = burn_dtype_bytes(x->header.dtype);
  job->count = x->shape[dim];
  job->inner = nd_axes_count(x, dim + 1, x->header.rank);
  job->rows = outer;
  if (outer == 0 || job->count == 0 || job->inner == 0) return false;
  job->part = 1;
  if (job->inner == 1) return true;
  job->is_long = job->count * nd_min(job->inner, ND_STRIP_NARROWEST) * bytes > ND_STRIP_BYTES;
  if (!job->is_long) {
    job->part = strip_width(job->count, job->inner, bytes);
  } else {
    job->part = by_blocks ? nd_min(ND_COLUMNS, job->inner) : long_strip_width(nd, outer, job->inner);
  }
  job->rows *= (job->inner + job->part - 1) / job->part;
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

/* Strips along the axis `dim`. False when out of memory. */
static bool softmax_by_strips(Ndarray *nd, NdRowJob *job, const NdTensor *x, uint32_t dim, const NdFloatRows *loops) {
  const int64_t outer = nd_axes_count(x, 0, dim);
  if (job->count > ND_STRETCH && nd_packs(x->header.dtype, 1, outer, job->count, job->inner)) {
    job->kind = job->is_log ? ND_PACKED_LOG_SOFTMAX : ND_PACKED_SOFTMAX;
    return nd_run_packed(nd, job, outer);
  }
  if (job->is_long) return softmax_by_blocks(nd, job, loops, burn_dtype_bytes(x->header.dtype));
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
  const uint32_t dim = (uint32_t)call->attrs[0].value.i64;
  if (cut_job(nd, &job, input, dim, true)) {
    if (job.inner == 1) {
      run_loop(nd, &job, loops->softmax, job.rows, job.count);
    } else if (!softmax_by_strips(nd, &job, input, dim, loops)) {
      nd_release(nd, out);
      out = NULL;
    }
  }
  nd_release(nd, x);
  return nd_finish(nd, call, out);
}

/* The gradient around the axis `dim`. False when out of memory. */
static bool softmax_backward(Ndarray *nd, NdRowJob *job, const NdTensor *x, uint32_t dim, const NdFloatRows *loops) {
  if (!cut_job(nd, job, x, dim, false)) return true;
  const int64_t outer = nd_axes_count(x, 0, dim);
  const BurnDType dtype = x->header.dtype;
  job->kind = job->is_log ? ND_PACKED_LOG_GRADIENT : ND_PACKED_GRADIENT;
  if (job->count > ND_STRETCH) {
    if (nd_packs(dtype, 2, outer, job->count, job->inner)) return nd_run_packed(nd, job, outer);
    if (nd_shares_strips(dtype, outer, job->count, job->inner)) return nd_run_shared_strips(nd, job, outer);
  }
  const NdRowLoop loop = job->inner == 1 ? loops->softmax_backward : loops->softmax_backward_strips;
  run_loop(nd, job, loop, job->rows, job->count * job->part);
  return true;
}

static BurnStatus run_softmax_backward(Ndarray *nd, const BurnOpCall *call) {
  NdTensor *input = nd_tensor(call->inputs[1]);
  const NdFloatRows *loops = nd_float_rows(nd, input->header.dtype);
  if (!loops) return nd_no_float_rows(nd, call, input->header.dtype);
  NdTensor *out = nd_output(nd, call, 0);
  NdTensor *grad = out ? nd_contiguous(nd, nd_tensor(call->inputs[0])) : NULL;
  NdTensor *output = grad ? nd_contiguous(nd, input) : NULL;
  bool fits = output != NULL;
  if (fits) {
    NdRowJob job = {.x = nd_data(output),
                    .grad = nd_data(grad),
                    .out = nd_data(out),
                    .is_log = call->op == BURN_OP_log_softmax_backward,
                    .stream = nd_streams(out, grad, output)};
    fits = softmax_backward(nd, &job, input, (uint32_t)call->attrs[0].value.i64, loops);
  }
  if (!fits) {
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
