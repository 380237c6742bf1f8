/* ndarray_move.c - slice_assign, cat, repeat_dim, triu, tril and unfold: elements that move to other places by
 * position.
 *
 * The first three are copies between two strided regions of the same shape: a region of the result, and an input. */
#include "ndarray_index.h"
#include "ndarray_moves.h"

#include <burn/common/view.h>

#include <string.h>

/* A copy from one strided region to another. Sizes and strides run from the outermost axis to the innermost; strides
 * count bytes. One axis more than a tensor can have: repeat_dim adds one. */
typedef struct Copy {
  uint32_t rank;
  int64_t shape[BURN_MAX_RANK + 1], to_strides[BURN_MAX_RANK + 1], from_strides[BURN_MAX_RANK + 1];
  char *to;
  const char *from;
  int64_t element_bytes;
  const NdMoves *moves;
  bool streams; /* there is much to copy: past the caches */
} Copy;

/* -- strided copies --------------------------------------------------------------------------- */

/* Appends an axis within the ones that are there; strides in elements. */
static void copy_axis(Copy *copy, int64_t size, int64_t to_stride, int64_t from_stride) {
  copy->shape[copy->rank] = size;
  copy->to_strides[copy->rank] = to_stride * copy->element_bytes;
  copy->from_strides[copy->rank] = from_stride * copy->element_bytes;
  copy->rank++;
}

/* Drops axes of size 1 and merges neighbours that step alike, so that the innermost axis becomes as long as it can. */
static void merge_axes(Copy *copy) {
  uint32_t rank = 0;
  for (uint32_t i = 0; i < copy->rank; i++) {
    const int64_t size = copy->shape[i], to = copy->to_strides[i], from = copy->from_strides[i];
    if (size == 1) continue;
    const bool merges =
        rank > 0 && copy->to_strides[rank - 1] == to * size && copy->from_strides[rank - 1] == from * size;
    if (!merges) rank++;
    copy->shape[rank - 1] = merges ? copy->shape[rank - 1] * size : size;
    copy->to_strides[rank - 1] = to;
    copy->from_strides[rank - 1] = from;
  }
  copy->rank = rank;
}

#define ND_COPY_RUN(bytes)                                                                                  \
  static void copy_run_##bytes(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n) { \
    for (int64_t i = 0; i < n; i++) memcpy(to + i * to_step, from + i * from_step, bytes);                  \
  }
ND_COPY_RUN(1)
ND_COPY_RUN(2)
ND_COPY_RUN(4)
ND_COPY_RUN(8)

/* Elements begin .. end-1 of a row. */
static void copy_run(const Copy *copy, char *to, const char *from, int64_t begin, int64_t end) {
  const int64_t to_step = copy->to_strides[copy->rank - 1], from_step = copy->from_strides[copy->rank - 1];
  const int64_t n = end - begin;
  to += begin * to_step;
  from += begin * from_step;
  if (to_step == copy->element_bytes && from_step == copy->element_bytes) {
    nd_copy(copy->moves, copy->streams, to, from, n * copy->element_bytes);
    return;
  }
  switch (copy->element_bytes) {
    case 1:
      copy_run_1(to, to_step, from, from_step, n);
      return;
    case 2:
      copy_run_2(to, to_step, from, from_step, n);
      return;
    case 4:
      copy_run_4(to, to_step, from, from_step, n);
      return;
    default:
      copy_run_8(to, to_step, from, from_step, n);
      return;
  }
}

static void BURN_API_CALL copy_elements(void *context, int64_t begin, int64_t end) {
  const Copy *copy = (const Copy *)context;
  copy_run(copy, copy->to, copy->from, begin, end);
  if (copy->streams) copy->moves->stream_end();
}

/* Rows begin .. end-1 in row-major order of the outer axes. */
static void BURN_API_CALL copy_rows(void *context, int64_t begin, int64_t end) {
  const Copy *copy = (const Copy *)context;
  const uint32_t outer = copy->rank - 1;
  int64_t at[BURN_MAX_RANK + 1] = {0}, to = 0, from = 0, rest = begin;
  for (uint32_t i = outer; i-- > 0;) {
    at[i] = rest % copy->shape[i];
    rest /= copy->shape[i];
    to += at[i] * copy->to_strides[i];
    from += at[i] * copy->from_strides[i];
  }
  for (int64_t row = begin; row < end; row++) {
    copy_run(copy, copy->to + to, copy->from + from, 0, copy->shape[outer]);
    for (uint32_t i = outer; i-- > 0;) {
      to += copy->to_strides[i];
      from += copy->from_strides[i];
      if (++at[i] < copy->shape[i]) break;
      to -= copy->to_strides[i] * copy->shape[i];
      from -= copy->from_strides[i] * copy->shape[i];
      at[i] = 0;
    }
  }
  if (copy->streams) copy->moves->stream_end();
}

static void run_copy(Ndarray *nd, Copy *copy) {
  int64_t rows = 1;
  for (uint32_t i = 0; i < copy->rank; i++) {
    if (copy->shape[i] == 0) return;
  }
  merge_axes(copy);
  if (copy->rank == 0) {
    memcpy(copy->to, copy->from, (size_t)copy->element_bytes);
    return;
  }
  for (uint32_t i = 0; i + 1 < copy->rank; i++) rows *= copy->shape[i];
  const int64_t length = copy->shape[copy->rank - 1];
  copy->moves = nd_moves(nd);
  copy->streams = rows * length * copy->element_bytes >= ND_STREAM_BYTES;
  if (rows == 1) {
    nd_parallel_for(nd, length, nd_move_grain(copy->element_bytes), copy_elements, copy);
  } else {
    nd_parallel_for(nd, rows, nd_move_grain(length * copy->element_bytes), copy_rows, copy);
  }
}

NdTensor *nd_writable(Ndarray *nd, const BurnOpCall *call, uint32_t i) {
  NdTensor *x = nd_tensor(call->inputs[i]);
  if (nd_may_overwrite(call, i) && nd_is_contiguous(x)) {
    nd_retain(x);
    return x;
  }
  const BurnTensorDesc desc = burn_primitive_desc(&x->header);
  NdTensor *copy = nd_new(nd, &desc);
  if (copy) nd_pack(nd, x, nd_data(copy));
  return copy;
}

/* -- slice_assign, cat, repeat_dim ------------------------------------------------------------ */

static BurnStatus run_slice_assign(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_slice_assign *attrs = BURN_ATTRS(slice_assign, call);
  const NdTensor *x = nd_tensor(call->inputs[0]), *values = nd_tensor(call->inputs[1]);
  const bool covers_all = burn_primitive_count(&values->header) == burn_primitive_count(&x->header);
  NdTensor *out = covers_all ? nd_new(nd, &call->output_descs[0]) : nd_writable(nd, call, 0);
  if (!out) return nd_out_of_memory(nd, call);
  Copy copy = {.element_bytes = burn_dtype_bytes(x->header.dtype), .from = (const char *)nd_data(values)};
  int64_t strides[BURN_MAX_RANK];
  const int64_t first = burn_common_slice(x->header.rank, out->strides, attrs->starts.value.i64s,
                                          attrs->steps.value.i64s, values->shape, strides);
  for (uint32_t i = 0; i < x->header.rank; i++) copy_axis(&copy, values->shape[i], strides[i], values->strides[i]);
  copy.to = (char *)nd_data(out) + first * copy.element_bytes;
  run_copy(nd, &copy);
  return nd_finish(nd, call, out);
}

static BurnStatus run_cat(Ndarray *nd, const BurnOpCall *call) {
  const int64_t dim = BURN_ATTRS(cat, call)->dim.value.i64;
  NdTensor *out = nd_new(nd, &call->output_descs[0]);
  if (!out) return nd_out_of_memory(nd, call);
  int64_t offset = 0; /* along dim */
  for (uint32_t k = 0; k < call->input_count; k++) {
    const NdTensor *x = nd_tensor(call->inputs[k]);
    if (burn_primitive_count(&x->header) == 0) continue;
    Copy copy = {.element_bytes = burn_dtype_bytes(x->header.dtype), .from = (const char *)nd_data(x)};
    copy.to = (char *)nd_data(out) + offset * out->strides[dim] * copy.element_bytes;
    for (uint32_t i = 0; i < x->header.rank; i++) copy_axis(&copy, x->shape[i], out->strides[i], x->strides[i]);
    run_copy(nd, &copy);
    offset += x->shape[dim];
  }
  return nd_finish(nd, call, out);
}

static BurnStatus run_repeat_dim(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_repeat_dim *attrs = BURN_ATTRS(repeat_dim, call);
  const NdTensor *x = nd_tensor(call->inputs[0]);
  const uint32_t dim = (uint32_t)attrs->dim.value.i64;
  NdTensor *out = nd_new(nd, &call->output_descs[0]);
  if (!out) return nd_out_of_memory(nd, call);
  Copy copy = {.element_bytes = burn_dtype_bytes(x->header.dtype), .from = (const char *)nd_data(x)};
  copy.to = (char *)nd_data(out);
  for (uint32_t i = 0; i < x->header.rank; i++) {
    if (i == dim) copy_axis(&copy, attrs->times.value.i64, out->strides[i] * x->shape[i], 0);
    copy_axis(&copy, x->shape[i], out->strides[i], x->strides[i]);
  }
  run_copy(nd, &copy);
  return nd_finish(nd, call, out);
}

/* -- triu, tril ------------------------------------------------------------------------------- */

/* Row r of a matrix keeps columns from r + diagonal on (upper) or up to r + diagonal (lower). */
typedef struct Triangle {
  const char *from;
  char *to;
  int64_t rows, columns, diagonal;
  int64_t element_bytes;
  bool upper;
} Triangle;

/* Rows begin .. end-1 of all matrices. Where from and to are the same memory only zeros are written. */
static void BURN_API_CALL triangle_rows(void *context, int64_t begin, int64_t end) {
  const Triangle *triangle = (const Triangle *)context;
  const int64_t columns = triangle->columns, bytes = triangle->element_bytes;
  for (int64_t row = begin; row < end; row++) {
    char *to = triangle->to + row * columns * bytes;
    const char *from = triangle->from + row * columns * bytes;
    int64_t edge = row % triangle->rows + triangle->diagonal + (triangle->upper ? 0 : 1);
    edge = edge < 0 ? 0 : edge > columns ? columns : edge;
    const int64_t keep_begin = triangle->upper ? edge : 0, keep_end = triangle->upper ? columns : edge;
    if (to != from)
      memcpy(to + keep_begin * bytes, from + keep_begin * bytes, (size_t)((keep_end - keep_begin) * bytes));
    memset(to, 0, (size_t)(keep_begin * bytes));
    memset(to + keep_end * bytes, 0, (size_t)((columns - keep_end) * bytes));
  }
}

static BurnStatus run_triangle(Ndarray *nd, const BurnOpCall *call) {
  NdTensor *input = nd_tensor(call->inputs[0]);
  const uint32_t rank = input->header.rank;
  Triangle triangle = {.rows = input->shape[rank - 2],
                       .columns = input->shape[rank - 1],
                       .diagonal = call->attrs[0].value.i64,
                       .element_bytes = burn_dtype_bytes(input->header.dtype),
                       .upper = call->op == BURN_OP_triu};
  const int64_t limit = triangle.rows + triangle.columns; /* further out nothing changes; keeps sums in range */
  if (triangle.diagonal > limit) triangle.diagonal = limit;
  if (triangle.diagonal < -limit) triangle.diagonal = -limit;
  NdTensor *out = nd_output(nd, call, 0); /* first: the packed input is another holder */
  NdTensor *x = out ? nd_contiguous(nd, input) : NULL;
  if (!x) {
    nd_release(nd, out);
    out = NULL;
  } else {
    const int64_t count = burn_primitive_count(&input->header);
    triangle.from = (const char *)nd_data(x);
    triangle.to = (char *)nd_data(out);
    if (count > 0) {
      const int64_t grain = nd_move_grain(triangle.columns * triangle.element_bytes);
      nd_parallel_for(nd, count / triangle.columns, grain, triangle_rows, &triangle);
    }
  }
  nd_release(nd, x);
  return nd_finish(nd, call, out);
}

/* A view: windows overlap in memory where step < size. */
static BurnStatus run_unfold(Ndarray *nd, const BurnOpCall *call) {
  const BurnTensorDesc *desc = &call->output_descs[0];
  const BurnAttrs_unfold *attrs = BURN_ATTRS(unfold, call);
  NdTensor *x = nd_tensor(call->inputs[0]);
  int64_t strides[BURN_MAX_RANK] = {0};
  if (burn_desc_count(desc) == 0) return nd_finish(nd, call, nd_new(nd, desc));
  const int64_t dim = attrs->dim.value.i64;
  for (uint32_t i = 0; i < x->header.rank; i++) strides[i] = x->strides[i];
  strides[x->header.rank] = x->strides[dim];
  if (desc->shape[dim] > 1) strides[dim] = x->strides[dim] * attrs->step.value.i64;
  return nd_finish(nd, call, nd_view(nd, x, desc->rank, desc->shape, strides, 0));
}

const NdKernelRow nd_move_kernels[] = {
    {BURN_OP_slice_assign, run_slice_assign},
    {BURN_OP_cat, run_cat},
    {BURN_OP_repeat_dim, run_repeat_dim},
    {BURN_OP_triu, run_triangle},
    {BURN_OP_tril, run_triangle},
    {BURN_OP_unfold, run_unfold},
    {BURN_OP_INVALID, NULL},
};
