/* gpu_index.c - elements through indices. The kernel notes an index outside, and it is reported by the next function
 * that can. Values for the same place meet in the order of their indices: these are sorted, and runs of equals are done
 * in pieces whose places follow from the order and the shape alone, so results have the same bits every time. */
#include "gpu.h"

enum { PICK, PICK_VECTORS, PUT, JOIN, VECTORS, THREADS = 256 }; /* variants of kernels/index.cu; VECTORS: + PUT, JOIN */
enum { PIECE = 64, SMALL_PIECE = 16, FEW = 1 << 22 /* elements: they need more threads */ };
enum { LISTED, PER_ELEMENT }; /* one list of indices for all lines, or one per element: the detail of a row */

/* Where x, indices and result lie, row-major. */
typedef struct Parts {
  BurnPrimitive *x, *indices, *values, *order, *partial;
} Parts;

static void release_parts(Gpu *gpu, const Parts *parts) {
  burn__gpu_release(gpu, parts->x);
  burn__gpu_release(gpu, parts->indices);
  burn__gpu_release(gpu, parts->values);
  burn__gpu_release(gpu, parts->order);
  burn__gpu_release(gpu, parts->partial);
}

/* The dim is the first attribute of all these ops. */
static GpuIndex describe(const GpuRun *run, const BurnPrimitive *x, int64_t picks) {
  const int64_t dim = run->call->attrs[0].value.i64;
  const GpuAxis axis = burn__gpu_axis(x, dim);
  return (GpuIndex){.complaint = run->gpu->complaint_address,
                    .outer = axis.outer,
                    .size = axis.size,
                    .inner = axis.inner,
                    .picks = picks,
                    .dim = dim,
                    .op = run->call->op,
                    .per_element = run->row->detail == PER_ELEMENT};
}

static BurnStatus start(const GpuRun *run, uint32_t variant, GpuJoin join, GpuIndex *p) {
  const BurnDType dtype = run->out[0]->dtype;
  const GpuKernelKey key = {.text = GPU_TEXT_INDEX,
                            .out = dtype,
                            .in = {dtype, run->call->inputs[1]->dtype, dtype},
                            .variant = variant,
                            .join = join};
  const int64_t threads = p->outer * (variant < PUT ? p->picks : p->pieces) * p->inner;
  GpuFunction *function = NULL;
  if (threads == 0) return BURN_OK;
  p->is_small = threads <= INT32_MAX;
  const BurnStatus status = burn__gpu_kernel(run->gpu, &key, NULL, &function);
  if (status != BURN_OK) return status;
  return burn__gpu_launch(run->gpu, function, (uint64_t)((threads + THREADS - 1) / THREADS), THREADS, p, sizeof *p);
}

/* Whole rows by vectors, where they are made of such. */
static BurnStatus start_pick(const GpuRun *run, GpuIndex *p) {
  const uint64_t bytes = (uint64_t)p->inner * burn_dtype_bytes(run->out[0]->dtype);
  if (p->per_element || bytes % 16 != 0 || (p->out | p->x) % 16 != 0) return start(run, PICK, GPU_JOIN_SECOND, p);
  p->inner = (int64_t)(bytes / 16);
  return start(run, PICK_VECTORS, GPU_JOIN_SECOND, p);
}

static BurnStatus pick(const GpuRun *run) {
  Gpu *gpu = run->gpu;
  BurnPrimitive *const *in = run->call->inputs;
  Parts parts = {NULL, NULL, NULL, NULL, NULL};
  BurnStatus status = burn__gpu_output(run, 0);
  if (status == BURN_OK) status = burn__gpu_row_major(gpu, in[0], &parts.x);
  if (status == BURN_OK) status = burn__gpu_row_major(gpu, in[1], &parts.indices);
  if (status == BURN_OK) {
    GpuIndex p = describe(run, in[0], run->out[0]->shape[run->call->attrs[0].value.i64]);
    p.out = gpu_address(run->out[0]);
    p.x = gpu_address(parts.x);
    p.indices = gpu_address(parts.indices);
    status = start_pick(run, &p);
  }
  release_parts(gpu, &parts);
  return status;
}

/* weight [n, d] by indices of any shape: rows of the first axis. */
static BurnStatus embedding(const GpuRun *run) {
  BurnPrimitive *const *in = run->call->inputs;
  Parts parts = {NULL, NULL, NULL, NULL, NULL};
  BurnStatus status = burn__gpu_output(run, 0);
  if (status == BURN_OK) status = burn__gpu_row_major(run->gpu, in[0], &parts.x);
  if (status == BURN_OK) status = burn__gpu_row_major(run->gpu, in[1], &parts.indices);
  if (status == BURN_OK) {
    GpuIndex p = {.out = gpu_address(run->out[0]),
                  .x = gpu_address(parts.x),
                  .indices = gpu_address(parts.indices),
                  .complaint = run->gpu->complaint_address,
                  .outer = 1,
                  .size = in[0]->shape[0],
                  .inner = in[0]->shape[1],
                  .picks = burn_primitive_count(in[1]),
                  .op = run->call->op};
    status = start_pick(run, &p);
  }
  release_parts(run->gpu, &parts);
  return status;
}

/* The positions of the indices, in the order of the indices. */
static BurnStatus sort_indices(const GpuRun *run, BurnPrimitive *indices, const GpuIndex *p, BurnPrimitive **order) {
  BurnTensorDesc desc = burn_primitive_desc(indices);
  const GpuAxis listed = {1, p->picks, 1}, each = {p->outer, p->picks, p->inner};
  desc.dtype = BURN_DTYPE_I64;
  const BurnStatus status = burn__gpu_new(run->gpu, &desc, order);
  if (status != BURN_OK) return status;
  return burn__gpu_sort_indices(run->gpu, indices, p->per_element ? &each : &listed, p->size, *order);
}

/* Room for the parts of runs; each is at most 8 bytes. */
static BurnStatus make_partial(Gpu *gpu, const GpuIndex *p, BurnPrimitive **partial) {
  const BurnTensorDesc desc = {.dtype = BURN_DTYPE_I64, .rank = 4, .shape = {2, p->outer, p->pieces, p->inner}};
  return p->pieces > 1 ? burn__gpu_new(gpu, &desc, partial) : BURN_OK;
}

/* Makes a thread put four neighbours, or two of 8 bytes, where they are there and lie so: what it has to find out about
 * its picks is most of the work. Returns what their variants are more. */
static uint32_t by_vectors(const GpuRun *run, GpuIndex *p) {
  const int64_t width = burn_dtype_bytes(run->out[0]->dtype) > 4 ? 2 : 4;
  if (p->per_element || p->inner % width != 0 || (p->out | p->values) % 16 != 0) return 0;
  p->inner /= width;
  return VECTORS - PUT;
}

static BurnStatus start_put(const GpuRun *run, const Parts *parts, GpuIndex *p) {
  static const GpuJoin joins[BURN_UPDATE_LIMIT] = {[BURN_UPDATE_ASSIGN] = GPU_JOIN_SECOND,
                                                   [BURN_UPDATE_ADD] = GPU_JOIN_SUM,
                                                   [BURN_UPDATE_MUL] = GPU_JOIN_PRODUCT,
                                                   [BURN_UPDATE_MIN] = GPU_JOIN_SMALLEST,
                                                   [BURN_UPDATE_MAX] = GPU_JOIN_LARGEST};
  const GpuJoin join = joins[run->call->attrs[1].value.i64];
  p->out = gpu_address(run->out[0]);
  p->indices = gpu_address(parts->indices);
  p->values = gpu_address(parts->values);
  p->order = gpu_address(parts->order);
  p->partial = parts->partial ? gpu_address(parts->partial) : 0;
  const uint32_t vectors = by_vectors(run, p);
  const BurnStatus status = start(run, PUT + vectors, join, p);
  return status == BURN_OK && p->pieces > 1 ? start(run, JOIN + vectors, join, p) : status;
}

/* The result with the elements of x: x itself where nobody else will read it. */
static BurnStatus begin_result(const GpuRun *run) {
  BurnPrimitive *x = run->call->inputs[0];
  if (burn__gpu_may_overwrite(run->call, 0) && burn__gpu_is_row_major(x)) {
    burn__gpu_retain(run->out[0] = x);
    return BURN_OK;
  }
  const BurnStatus status = burn__gpu_output(run, 0);
  return status == BURN_OK ? burn__gpu_copy(run->gpu, run->out[0], x) : status;
}

static BurnStatus put(const GpuRun *run) {
  Gpu *gpu = run->gpu;
  BurnPrimitive *const *in = run->call->inputs;
  Parts parts = {NULL, NULL, NULL, NULL, NULL};
  GpuIndex p = describe(run, in[0], in[2]->shape[run->call->attrs[0].value.i64]);
  p.piece = burn_primitive_count(in[2]) < FEW ? SMALL_PIECE : PIECE;
  p.pieces = (p.picks + p.piece - 1) / p.piece;
  BurnStatus status = begin_result(run);
  if (status == BURN_OK) status = burn__gpu_row_major(gpu, in[1], &parts.indices);
  if (status == BURN_OK) status = burn__gpu_row_major(gpu, in[2], &parts.values);
  if (status == BURN_OK) status = sort_indices(run, parts.indices, &p, &parts.order);
  if (status == BURN_OK) status = make_partial(gpu, &p, &parts.partial);
  if (status == BURN_OK) status = start_put(run, &parts, &p);
  release_parts(gpu, &parts);
  return status;
}

const GpuRow burn__gpu_index_rows[] = {{BURN_OP_select, pick, LISTED},         {BURN_OP_gather, pick, PER_ELEMENT},
                                       {BURN_OP_select_assign, put, LISTED},   {BURN_OP_scatter, put, PER_ELEMENT},
                                       {BURN_OP_embedding, embedding, LISTED}, {0, NULL, 0}};
