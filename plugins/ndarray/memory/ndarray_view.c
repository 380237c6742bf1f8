/* ndarray_view.c - reshape, permute, expand and slice: other shapes and strides over the same storage. Only a reshape
 * whose new axes cannot be walked with one stride each copies. */
#include "ndarray_internal.h"

#include <burn/common/view.h>

/* x itself where the view would be nothing else. */
static BurnStatus finish_view(Ndarray *nd, const BurnOpCall *call, NdTensor *x, const int64_t *shape,
                              const int64_t *strides, int64_t offset) {
  const uint32_t rank = call->output_descs[0].rank;
  if (!burn_common_is_same(x->header.rank, x->shape, x->strides, rank, shape, strides, offset))
    return nd_finish(nd, call, nd_view(nd, x, rank, shape, strides, offset));
  nd_retain(x);
  return nd_finish(nd, call, x);
}

static BurnStatus reshape(Ndarray *nd, const BurnOpCall *call) {
  const BurnTensorDesc *desc = &call->output_descs[0];
  NdTensor *x = nd_tensor(call->inputs[0]);
  int64_t strides[BURN_MAX_RANK] = {0};
  const int64_t count = burn_desc_count(desc);
  if (count == 0) return nd_finish(nd, call, nd_new(nd, desc));
  if (burn_common_reshape(x->header.rank, x->shape, x->strides, desc->rank, desc->shape, strides)) {
    return nd_finish(nd, call, nd_view(nd, x, desc->rank, desc->shape, strides, 0));
  }
  NdTensor *out = nd_new(nd, desc);
  if (out) nd_pack(nd, x, nd_data(out));
  return nd_finish(nd, call, out);
}

static BurnStatus permute(Ndarray *nd, const BurnOpCall *call) {
  NdTensor *x = nd_tensor(call->inputs[0]);
  const int64_t *axes = BURN_ATTRS(permute, call)->axes.value.i64s;
  int64_t strides[BURN_MAX_RANK] = {0};
  burn_common_permute(x->header.rank, axes, x->strides, strides);
  return finish_view(nd, call, x, call->output_descs[0].shape, strides, 0);
}

static BurnStatus expand(Ndarray *nd, const BurnOpCall *call) {
  const BurnTensorDesc *desc = &call->output_descs[0];
  NdTensor *x = nd_tensor(call->inputs[0]);
  int64_t strides[BURN_MAX_RANK] = {0};
  burn_common_expand(x->header.rank, x->shape, x->strides, desc->rank, desc->shape, strides);
  return finish_view(nd, call, x, desc->shape, strides, 0);
}

static BurnStatus slice(Ndarray *nd, const BurnOpCall *call) {
  const BurnTensorDesc *desc = &call->output_descs[0];
  const BurnAttrs_slice *attrs = BURN_ATTRS(slice, call);
  NdTensor *x = nd_tensor(call->inputs[0]);
  int64_t strides[BURN_MAX_RANK] = {0};
  if (burn_desc_count(desc) == 0) return nd_finish(nd, call, nd_new(nd, desc)); /* its start may lie at the end */
  const int64_t offset = burn_common_slice(desc->rank, x->strides, attrs->starts.value.i64s, attrs->steps.value.i64s,
                                           desc->shape, strides);
  return finish_view(nd, call, x, desc->shape, strides, offset);
}

const NdKernelRow nd_view_kernels[] = {
    {BURN_OP_reshape, reshape}, {BURN_OP_permute, permute}, {BURN_OP_expand, expand},
    {BURN_OP_slice, slice},     {BURN_OP_INVALID, NULL},
};
