/* ndarray_view.c - reshape, permute, expand and slice: other shapes and strides over the same storage. Only a reshape
 * whose new axes cannot be walked with one stride each copies. */
#include "ndarray_internal.h"

#include <string.h>

static NdTensor *share(NdTensor *x) {
  nd_retain(x);
  return x;
}

/* Strides with which x, read in row-major order, has the given shape (of as many elements, at least one); false if
 * there are none. Runs of axes of x that lie behind each other in memory are cut into the axes of the new shape. */
static bool view_strides(const NdTensor *x, uint32_t rank, const int64_t *shape, int64_t *strides) {
  uint32_t from = 0, to = 0;
  while (from < x->header.rank || to < rank) {
    uint32_t from_end = from, to_end = to;
    int64_t from_count = 1, to_count = 1;
    /* The shortest groups of axes, one on each side, with equally many elements. */
    do {
      if (from_count <= to_count && from_end < x->header.rank) {
        from_count *= x->shape[from_end++];
      } else if (to_end < rank) {
        to_count *= shape[to_end++];
      } else {
        from_count *= x->shape[from_end++];
      }
    } while (from_count != to_count);
    int64_t stride = 0; /* of the innermost axis of the group that is longer than 1 */
    int64_t expected = 0;
    bool is_first = true;
    for (uint32_t i = from_end; i-- > from;) {
      if (x->shape[i] == 1) continue;
      if (is_first) stride = x->strides[i];
      if (!is_first && x->strides[i] != expected) return false;
      expected = x->strides[i] * x->shape[i];
      is_first = false;
    }
    if (is_first) stride = 1;
    for (uint32_t i = to_end; i-- > to;) {
      strides[i] = stride;
      stride *= shape[i];
    }
    from = from_end;
    to = to_end;
  }
  return true;
}

static BurnStatus reshape(Ndarray *nd, const BurnOpCall *call) {
  const BurnTensorDesc *desc = &call->output_descs[0];
  NdTensor *x = nd_tensor(call->inputs[0]);
  int64_t strides[BURN_MAX_RANK] = {0};
  const int64_t count = burn_desc_count(desc);
  if (count == 0) return nd_finish(nd, call, nd_new(nd, desc));
  if (view_strides(x, desc->rank, desc->shape, strides)) {
    return nd_finish(nd, call, nd_view(nd, x, desc->rank, desc->shape, strides, 0));
  }
  NdTensor *out = nd_new(nd, desc);
  if (out) nd_pack(nd, x, nd_data(out));
  return nd_finish(nd, call, out);
}

static BurnStatus permute(Ndarray *nd, const BurnOpCall *call) {
  NdTensor *x = nd_tensor(call->inputs[0]);
  const int64_t *axes = BURN_ATTRS(permute, call)->axes.value.i64s;
  int64_t shape[BURN_MAX_RANK] = {0}, strides[BURN_MAX_RANK] = {0};
  bool is_identity = true;
  for (uint32_t i = 0; i < x->header.rank; i++) {
    shape[i] = x->shape[axes[i]];
    strides[i] = x->strides[axes[i]];
    if (axes[i] != (int64_t)i) is_identity = false;
  }
  return nd_finish(nd, call, is_identity ? share(x) : nd_view(nd, x, x->header.rank, shape, strides, 0));
}

static BurnStatus expand(Ndarray *nd, const BurnOpCall *call) {
  const BurnTensorDesc *desc = &call->output_descs[0];
  NdTensor *x = nd_tensor(call->inputs[0]);
  const uint32_t leading = desc->rank - x->header.rank;
  int64_t strides[BURN_MAX_RANK] = {0};
  bool is_identity = leading == 0;
  for (uint32_t i = leading; i < desc->rank; i++) {
    const bool stretched = x->shape[i - leading] != desc->shape[i];
    strides[i] = stretched ? 0 : x->strides[i - leading];
    if (stretched) is_identity = false;
  }
  return nd_finish(nd, call, is_identity ? share(x) : nd_view(nd, x, desc->rank, desc->shape, strides, 0));
}

static BurnStatus slice(Ndarray *nd, const BurnOpCall *call) {
  const BurnTensorDesc *desc = &call->output_descs[0];
  const BurnAttrs_slice *attrs = BURN_ATTRS(slice, call);
  NdTensor *x = nd_tensor(call->inputs[0]);
  int64_t strides[BURN_MAX_RANK] = {0}, offset = 0;
  bool is_identity = true;
  if (burn_desc_count(desc) == 0) return nd_finish(nd, call, nd_new(nd, desc)); /* its start may lie at the end */
  for (uint32_t i = 0; i < desc->rank; i++) {
    const int64_t step = attrs->steps.value.i64s[i], start = attrs->starts.value.i64s[i];
    strides[i] = desc->shape[i] <= 1 ? x->strides[i] : x->strides[i] * step;
    offset += start * x->strides[i];
    if (desc->shape[i] != x->shape[i] || (desc->shape[i] != 1 && step != 1)) is_identity = false;
  }
  return nd_finish(nd, call, is_identity ? share(x) : nd_view(nd, x, desc->rank, desc->shape, strides, offset));
}

/* Windows overlap in memory where step < size. */
static BurnStatus unfold(Ndarray *nd, const BurnOpCall *call) {
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

const NdKernelRow nd_view_kernels[] = {
    {BURN_OP_reshape, reshape}, {BURN_OP_permute, permute}, {BURN_OP_expand, expand},
    {BURN_OP_slice, slice},     {BURN_OP_unfold, unfold},   {BURN_OP_INVALID, NULL},
};
