/* cuda_index.c - elements through indices. An index outside is told by the kernel, and reported by the next function
 * that can. Values for the same place meet in the order of their indices: these are sorted, and one thread does each
 * run of equals, so results have the same bits every time. */
#include "cuda_internal.h"

enum { PICK, PUT, THREADS = 256 }; /* variants of kernels/index.cu */
enum { LISTED, PER_ELEMENT };      /* one list of indices for all lines, or one per element: the detail of a row */

/* Where x, indices and result lie, row-major. */
typedef struct Parts {
  BurnPrimitive *x, *indices, *values, *order;
} Parts;

static void release_parts(Cuda *cuda, const Parts *parts) {
  burn__cuda_release(cuda, parts->x);
  burn__cuda_release(cuda, parts->indices);
  burn__cuda_release(cuda, parts->values);
  burn__cuda_release(cuda, parts->order);
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

static BurnStatus start(const CudaRun *run, uint32_t variant, CudaJoin join, const CudaIndex *p) {
  const BurnDType dtype = run->out[0]->dtype;
  const CudaKernelKey key = {.text = CUDA_TEXT_INDEX,
                             .out = dtype,
                             .in = {dtype, run->call->inputs[1]->dtype, dtype},
                             .variant = variant,
                             .join = join};
  const int64_t threads = p->outer * p->picks * p->inner;
  void *function = NULL;
  if (threads == 0) return BURN_OK;
  const BurnStatus status = burn__cuda_kernel(run->cuda, &key, NULL, &function);
  if (status != BURN_OK) return status;
  return burn__cuda_launch(run->cuda, function, (uint64_t)((threads + THREADS - 1) / THREADS), THREADS, p, sizeof *p);
}

static BurnStatus pick(const CudaRun *run) {
  Cuda *cuda = run->cuda;
  BurnPrimitive *const *in = run->call->inputs;
  Parts parts = {NULL, NULL, NULL, NULL};
  BurnStatus status = burn__cuda_output(run, 0);
  if (status == BURN_OK) status = burn__cuda_row_major(cuda, in[0], &parts.x);
  if (status == BURN_OK) status = burn__cuda_row_major(cuda, in[1], &parts.indices);
  if (status == BURN_OK) {
    CudaIndex p = describe(run, in[0], run->out[0]->shape[run->call->attrs[0].value.i64]);
    p.out = cuda_address(run->out[0]);
    p.x = cuda_address(parts.x);
    p.indices = cuda_address(parts.indices);
    status = start(run, PICK, CUDA_JOIN_SECOND, &p);
  }
  release_parts(cuda, &parts);
  return status;
}

/* The positions of the indices, in the order of the indices. */
static BurnStatus sort_indices(const CudaRun *run, BurnPrimitive *indices, const CudaIndex *p, BurnPrimitive **order) {
  BurnTensorDesc desc = burn_primitive_desc(indices);
  const CudaAxis listed = {1, p->picks, 1}, each = {p->outer, p->picks, p->inner};
  desc.dtype = BURN_DTYPE_I64;
  const BurnStatus status = burn__cuda_new(run->cuda, &desc, order);
  if (status != BURN_OK) return status;
  return burn__cuda_argsort(run->cuda, indices, p->per_element ? &each : &listed, false, *order);
}

static BurnStatus put(const CudaRun *run) {
  static const CudaJoin joins[BURN_UPDATE_LIMIT] = {[BURN_UPDATE_ASSIGN] = CUDA_JOIN_SECOND,
                                                    [BURN_UPDATE_ADD] = CUDA_JOIN_SUM,
                                                    [BURN_UPDATE_MUL] = CUDA_JOIN_PRODUCT,
                                                    [BURN_UPDATE_MIN] = CUDA_JOIN_SMALLEST,
                                                    [BURN_UPDATE_MAX] = CUDA_JOIN_LARGEST};
  Cuda *cuda = run->cuda;
  BurnPrimitive *const *in = run->call->inputs;
  Parts parts = {NULL, NULL, NULL, NULL};
  CudaIndex p = describe(run, in[0], in[2]->shape[run->call->attrs[0].value.i64]);
  BurnStatus status = burn__cuda_output(run, 0);
  if (status == BURN_OK) status = burn__cuda_copy(cuda, run->out[0], in[0]);
  if (status == BURN_OK) status = burn__cuda_row_major(cuda, in[1], &parts.indices);
  if (status == BURN_OK) status = burn__cuda_row_major(cuda, in[2], &parts.values);
  if (status == BURN_OK) status = sort_indices(run, parts.indices, &p, &parts.order);
  if (status == BURN_OK) {
    p.out = cuda_address(run->out[0]);
    p.indices = cuda_address(parts.indices);
    p.values = cuda_address(parts.values);
    p.order = cuda_address(parts.order);
    status = start(run, PUT, joins[run->call->attrs[1].value.i64], &p);
  }
  release_parts(cuda, &parts);
  return status;
}

const CudaRow burn__cuda_index_rows[] = {{BURN_OP_select, pick, LISTED},
                                         {BURN_OP_gather, pick, PER_ELEMENT},
                                         {BURN_OP_select_assign, put, LISTED},
                                         {BURN_OP_scatter, put, PER_ELEMENT},
                                         {0, NULL, 0}};
