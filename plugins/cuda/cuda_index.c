/* cuda_index.c - elements through indices. An index outside is told by the kernel, and reported by the next function
 * that can. Values for the same place meet in the order of their indices: these are sorted, and runs of equals are done
 * in pieces whose places follow from the order alone, so results have the same bits every time. */
#include "cuda_internal.h"

enum { PICK, PICK_VECTORS, PUT, JOIN, THREADS = 256, PIECE = 64 }; /* variants of kernels/index.cu */
enum { LISTED, PER_ELEMENT }; /* one list of indices for all lines, or one per element: the detail of a row */

/* Where x, indices and result lie, row-major. */
typedef struct Parts {
  BurnPrimitive *x, *indices, *values, *order, *partial;
} Parts;

static void release_parts(Cuda *cuda, const Parts *parts) {
  burn__cuda_release(cuda, parts->x);
  burn__cuda_release(cuda, parts->indices);
  burn__cuda_release(cuda, parts->values);
  burn__cuda_release(cuda, parts->order);
  burn__cuda_release(cuda, parts->partial);
}

/* The dim is the first attribute of all these ops. */
static CudaIndex describe(const CudaRun *run, const BurnPrimitive *x, int64_t picks) {
  const int64_t dim = run->call->attrs[0].value.i64;
  const CudaAxis axis = burn__cuda_axis(x, dim);
  return (CudaIndex){.complaint = run->cuda->complaint_address,
                     .outer = axis.outer,
                     .size = axis.size,
                     .inner = axis.inner,
                     .picks = picks,
                     .dim = dim,
                     .op = run->call->op,
                     .per_element = run->row->detail == PER_ELEMENT};
}

static BurnStatus start(const CudaRun *run, uint32_t variant, CudaJoin join, CudaIndex *p) {
  const BurnDType dtype = run->out[0]->dtype;
  const CudaKernelKey key = {.text = CUDA_TEXT_INDEX,
                             .out = dtype,
                             .in = {dtype, run->call->inputs[1]->dtype, dtype},
                             .variant = variant,
                             .join = join};
  const int64_t threads = p->outer * (variant < PUT ? p->picks : p->pieces) * p->inner;
  void *function = NULL;
  if (threads == 0) return BURN_OK;
  p->is_small = threads <= INT32_MAX;
  const BurnStatus status = burn__cuda_kernel(run->cuda, &key, NULL, &function);
  if (status != BURN_OK) return status;
  return burn__cuda_launch(run->cuda, function, (uint64_t)((threads + THREADS - 1) / THREADS), THREADS, p, sizeof *p);
}

/* Whole rows by vectors, where they are made of such. */
static BurnStatus start_pick(const CudaRun *run, CudaIndex *p) {
  const uint64_t bytes = (uint64_t)p->inner * burn_dtype_bytes(run->out[0]->dtype);
  if (p->per_element || bytes % 16 != 0 || (p->out | p->x) % 16 != 0) return start(run, PICK, CUDA_JOIN_SECOND, p);
  p->inner = (int64_t)(bytes / 16);
  return start(run, PICK_VECTORS, CUDA_JOIN_SECOND, p);
}

static BurnStatus pick(const CudaRun *run) {
  Cuda *cuda = run->cuda;
  BurnPrimitive *const *in = run->call->inputs;
  Parts parts = {NULL, NULL, NULL, NULL, NULL};
  BurnStatus status = burn__cuda_output(run, 0);
  if (status == BURN_OK) status = burn__cuda_row_major(cuda, in[0], &parts.x);
  if (status == BURN_OK) status = burn__cuda_row_major(cuda, in[1], &parts.indices);
  if (status == BURN_OK) {
    CudaIndex p = describe(run, in[0], run->out[0]->shape[run->call->attrs[0].value.i64]);
    p.out = cuda_address(run->out[0]);
    p.x = cuda_address(parts.x);
    p.indices = cuda_address(parts.indices);
    status = start_pick(run, &p);
  }
  release_parts(cuda, &parts);
  return status;
}

/* weight [n, d] by indices of any shape: rows of the first axis. */
static BurnStatus embedding(const CudaRun *run) {
  BurnPrimitive *const *in = run->call->inputs;
  Parts parts = {NULL, NULL, NULL, NULL, NULL};
  BurnStatus status = burn__cuda_output(run, 0);
  if (status == BURN_OK) status = burn__cuda_row_major(run->cuda, in[0], &parts.x);
  if (status == BURN_OK) status = burn__cuda_row_major(run->cuda, in[1], &parts.indices);
  if (status == BURN_OK) {
    CudaIndex p = {.out = cuda_address(run->out[0]),
                   .x = cuda_address(parts.x),
                   .indices = cuda_address(parts.indices),
                   .complaint = run->cuda->complaint_address,
                   .outer = 1,
                   .size = in[0]->shape[0],
                   .inner = in[0]->shape[1],
                   .picks = burn_primitive_count(in[1]),
                   .op = run->call->op};
    status = start_pick(run, &p);
  }
  release_parts(run->cuda, &parts);
  return status;
}

/* The positions of the indices, in the order of the indices. */
static BurnStatus sort_indices(const CudaRun *run, BurnPrimitive *indices, const CudaIndex *p, BurnPrimitive **order) {
  BurnTensorDesc desc = burn_primitive_desc(indices);
  const CudaAxis listed = {1, p->picks, 1}, each = {p->outer, p->picks, p->inner};
  desc.dtype = BURN_DTYPE_I64;
  const BurnStatus status = burn__cuda_new(run->cuda, &desc, order);
  if (status != BURN_OK) return status;
  return burn__cuda_sort_indices(run->cuda, indices, p->per_element ? &each : &listed, p->size, *order);
}

/* Room for the parts of runs; each is at most 8 bytes. */
static BurnStatus make_partial(Cuda *cuda, const CudaIndex *p, BurnPrimitive **partial) {
  const BurnTensorDesc desc = {.dtype = BURN_DTYPE_I64, .rank = 4, .shape = {2, p->outer, p->pieces, p->inner}};
  return p->pieces > 1 ? burn__cuda_new(cuda, &desc, partial) : BURN_OK;
}

static BurnStatus start_put(const CudaRun *run, const Parts *parts, CudaIndex *p) {
  static const CudaJoin joins[BURN_UPDATE_LIMIT] = {[BURN_UPDATE_ASSIGN] = CUDA_JOIN_SECOND,
                                                    [BURN_UPDATE_ADD] = CUDA_JOIN_SUM,
                                                    [BURN_UPDATE_MUL] = CUDA_JOIN_PRODUCT,
                                                    [BURN_UPDATE_MIN] = CUDA_JOIN_SMALLEST,
                                                    [BURN_UPDATE_MAX] = CUDA_JOIN_LARGEST};
  const CudaJoin join = joins[run->call->attrs[1].value.i64];
  p->out = cuda_address(run->out[0]);
  p->indices = cuda_address(parts->indices);
  p->values = cuda_address(parts->values);
  p->order = cuda_address(parts->order);
  p->partial = parts->partial ? cuda_address(parts->partial) : 0;
  const BurnStatus status = start(run, PUT, join, p);
  return status == BURN_OK && p->pieces > 1 ? start(run, JOIN, join, p) : status;
}

static BurnStatus put(const CudaRun *run) {
  Cuda *cuda = run->cuda;
  BurnPrimitive *const *in = run->call->inputs;
  Parts parts = {NULL, NULL, NULL, NULL, NULL};
  CudaIndex p = describe(run, in[0], in[2]->shape[run->call->attrs[0].value.i64]);
  p.pieces = (p.picks + PIECE - 1) / PIECE;
  BurnStatus status = burn__cuda_output(run, 0);
  if (status == BURN_OK) status = burn__cuda_copy(cuda, run->out[0], in[0]);
  if (status == BURN_OK) status = burn__cuda_row_major(cuda, in[1], &parts.indices);
  if (status == BURN_OK) status = burn__cuda_row_major(cuda, in[2], &parts.values);
  if (status == BURN_OK) status = sort_indices(run, parts.indices, &p, &parts.order);
  if (status == BURN_OK) status = make_partial(cuda, &p, &parts.partial);
  if (status == BURN_OK) status = start_put(run, &parts, &p);
  release_parts(cuda, &parts);
  return status;
}

const CudaRow burn__cuda_index_rows[] = {{BURN_OP_select, pick, LISTED},         {BURN_OP_gather, pick, PER_ELEMENT},
                                         {BURN_OP_select_assign, put, LISTED},   {BURN_OP_scatter, put, PER_ELEMENT},
                                         {BURN_OP_embedding, embedding, LISTED}, {0, NULL, 0}};
