/* ndarray_activation.c - softmax, log_softmax and their gradients along any axis, by the loops of ndarray_rows.h: over
 * rows where the axis is the last one, else over strips of columns.
 *
 * Results may go into the memory of an input: every pass reads an element before it writes it. */
#include "ndarray_reduce.h"

#define ND_STRIP_BYTES ((int64_t)512 << 10) /* a strip is about this large: it stays in the second-level cache */
#define ND_STRIP_NARROWEST 64

/* Columns of a strip of `count` rows that the second-level cache holds. */
static int64_t strip_width(int64_t count, int64_t inner, int64_t element_bytes) {
  const int64_t width = ND_STRIP_BYTES / element_bytes / count;
  return nd_min(nd_min(nd_max(width, ND_STRIP_NARROWEST), ND_COLUMNS), inner);
}

/* Columns of a strip that none holds: few pieces of lines a page apart would be slow, so strips are wide, but for what
 * threads need. Columns do not depend on each other, so the width changes no bits. */
static int64_t long_strip_width(const Ndarray *nd, int64_t outer, int64_t inner) {
  int64_t width = ND_COLUMNS;
  const int64_t threads = (int64_t)nd->host->thread_count();
  while (width > ND_STRIP_NARROWEST && outer * ((inner + width - 1) / width) < threads) width /= 2;
  return nd_min(width, inner);
}

/* The job over [outer, count, inner] around the axis `dim` of x. */
static void run_along(Ndarray *nd, NdRowJob *job, const NdTensor *x, uint32_t dim, NdRowLoop rows, NdRowLoop strips) {
  const int64_t outer = nd_axes_count(x, 0, dim);
  job->count = x->shape[dim];
  job->inner = nd_axes_count(x, dim + 1, x->header.rank);
  job->loop = job->inner == 1 ? rows : strips;
  job->rows = outer;
  if (job->count == 0 || job->inner == 0) return;
  if (job->inner > 1) {
    const int64_t bytes = burn_dtype_bytes(x->header.dtype);
    job->is_long = job->count * nd_min(job->inner, ND_STRIP_NARROWEST) * bytes > ND_STRIP_BYTES;
    job->part = job->is_long ? long_strip_width(nd, outer, job->inner) : strip_width(job->count, job->inner, bytes);
    job->rows *= (job->inner + job->part - 1) / job->part;
  }
  const int64_t width = job->inner == 1 ? 1 : job->part;
  nd_parallel_for(nd, job->rows, nd_grain(job->count * width * 4), nd_run_row_job, job);
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
  run_along(nd, &job, input, (uint32_t)call->attrs[0].value.i64, loops->softmax, loops->softmax_strips);
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
    run_along(nd, &job, input, (uint32_t)call->attrs[0].value.i64, loops->softmax_backward,
              loops->softmax_backward_strips);
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
