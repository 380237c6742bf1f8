/* onnx_index.c - ONNX operators that read or write by index or mask. Indices below 0 count from the end in ONNX. */
#include "onnx_node.h"

/* -- read ------------------------------------------------------------------------------------- */

/* An index of rank 0 drops the axis. */
/* One index that was known when the graph was loaded. */
static void gather_one(OnnxNode *node, BurnTensor *x, int axis) {
  const int64_t index = onnx_int(node, "index", 0), at = index < 0 ? index + burn_dim(x, axis) : index;
  if (at < 0 || at >= burn_dim(x, axis)) {
    onnx_fail(node, burn_status_make(BURN_STATUS_OUT_OF_RANGE, "index %lld of an axis of %lld", (long long)index,
                                     (long long)burn_dim(x, axis)));
    burn_drop(x);
    return;
  }
  const bool one = burn_rank(x) == 1;
  x = one ? burn_slice_dim(x, axis, BURN_RANGE(at, at + 1)) : burn_select_dim(x, axis, at);
  onnx_give_rank(node, 0, x, one ? ONNX_RANK_0 : ONNX_RANK_MORE);
}

MAP(Gather) {
  BurnTensor *x = onnx_input(node, 0);
  const int axis = onnx_axis(node, "axis", onnx_int(node, "axis", 0), burn_rank(x));
  if (node->prepared && !onnx_has_input(node, 1)) {
    gather_one(node, x, axis);
    return;
  }
  BurnTensor *indices = onnx_input(node, 1);
  if (!node->prepared) indices = onnx_wrap_indices(indices, burn_dim(x, axis)); /* else none is negative */
  const bool one = node->scalar[1] && burn_rank(x) == 1;
  x = burn_take(x, axis, indices);
  if (node->scalar[1] && !one) x = burn_squeeze_dim(x, axis);
  onnx_give_rank(node, 0, x, one ? ONNX_RANK_0 : ONNX_RANK_MORE);
}

MAP(GatherElements) {
  BurnTensor *x = onnx_input(node, 0);
  const int axis = onnx_axis(node, "axis", onnx_int(node, "axis", 0), burn_rank(x));
  BurnTensor *indices = onnx_wrap_indices(onnx_input(node, 1), burn_dim(x, axis));
  onnx_give(node, 0, burn_gather(x, axis, indices));
}

/* [size] numbers 0, 1, .. along an axis of `shape`, stretched over the others. */
static BurnTensor *positions(BurnDevice *device, BurnShape shape, uint32_t axis) {
  int64_t dims[BURN_MAX_RANK];
  for (uint32_t i = 0; i < shape.rank; i++) dims[i] = i == axis ? shape.dims[i] : 1;
  BurnTensor *x = burn_arange(device, 0, shape.dims[axis], 1);
  return burn_expand(onnx_reshape(x, dims, shape.rank), shape);
}

/* Leading axes that both share become leading entries of the tuples. */
MAP(GatherND) {
  BurnTensor *x = onnx_input(node, 0), *indices = onnx_input(node, 1);
  const int64_t batch_dims = onnx_int(node, "batch_dims", 0);
  BurnShape one = burn_shape(indices);
  const uint32_t least = burn_rank(x) < one.rank ? burn_rank(x) : one.rank;
  if (batch_dims < 0 || batch_dims >= (int64_t)least) {
    onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "batch_dims is %lld: 0 to %lld expected",
                                     (long long)batch_dims, (long long)least - 1));
    burn_drop(x);
    burn_drop(indices);
    return;
  }
  one.dims[one.rank - 1] = 1;
  for (int64_t i = batch_dims - 1; i >= 0; i--) {
    BurnTensor *both[] = {positions(node->device, one, (uint32_t)i), indices};
    indices = burn_cat(both, 2, -1);
  }
  onnx_give(node, 0, burn_gather_nd(x, indices));
}

MAP(ArrayFeatureExtractor) {
  BurnTensor *indices = burn_reshape(onnx_input(node, 1), BURN_SHAPE(-1));
  onnx_give(node, 0, burn_select(onnx_input(node, 0), -1, indices));
}

/* Rows where the condition, which may be shorter than the axis, is true. */
MAP(Compress) {
  BurnTensor *x = onnx_input(node, 0);
  const bool flat = !onnx_attribute(node, "axis");
  if (flat) x = burn_reshape(x, BURN_SHAPE(-1));
  const int axis = flat ? 0 : onnx_axis(node, "axis", onnx_int(node, "axis", 0), burn_rank(x));
  BurnTensor *indices = burn_reshape(burn_argwhere(onnx_input(node, 1)), BURN_SHAPE(-1));
  onnx_give(node, 0, burn_select(x, axis, indices));
}

MAP(NonZero) { onnx_give(node, 0, burn_transpose(burn_argwhere(burn_bool(onnx_input(node, 0))))); }

/* The first seq_lens[i] elements of row i backwards. */
MAP(ReverseSequence) {
  BurnTensor *x = onnx_input(node, 0);
  const int time = onnx_axis(node, "time_axis", onnx_int(node, "time_axis", 0), burn_rank(x));
  const int batch = onnx_axis(node, "batch_axis", onnx_int(node, "batch_axis", 1), burn_rank(x));
  int64_t dims[BURN_MAX_RANK];
  for (uint32_t i = 0; i < burn_rank(x); i++) dims[i] = (int)i == batch ? burn_dim(x, batch) : 1;
  BurnTensor *lengths = burn_expand(onnx_reshape(onnx_input(node, 1), dims, burn_rank(x)), burn_shape(x));
  BurnTensor *at = positions(node->device, burn_shape(x), (uint32_t)time);
  BurnTensor *inside = burn_lower(burn_clone(at), burn_clone(lengths));
  BurnTensor *mirrored = burn_sub(burn_sub_scalar(lengths, 1), burn_clone(at));
  onnx_give(node, 0, burn_gather(x, time, burn_mask_where(at, inside, mirrored)));
}

/* -- write ------------------------------------------------------------------------------------ */

static int64_t update_of(const OnnxNode *node) {
  if (onnx_is(node, "reduction", "none", "add")) return BURN_UPDATE_ADD;
  if (onnx_is(node, "reduction", "none", "mul")) return BURN_UPDATE_MUL;
  if (onnx_is(node, "reduction", "none", "min")) return BURN_UPDATE_MIN;
  if (onnx_is(node, "reduction", "none", "max")) return BURN_UPDATE_MAX;
  return BURN_UPDATE_ASSIGN;
}

MAP(ScatterElements) {
  BurnTensor *x = onnx_input(node, 0);
  const int axis = onnx_axis(node, "axis", onnx_int(node, "axis", 0), burn_rank(x));
  BurnTensor *indices = onnx_wrap_indices(onnx_input(node, 1), burn_dim(x, axis));
  onnx_give(node, 0, burn_scatter(x, axis, indices, onnx_input(node, 2), update_of(node)));
}
MAP(Scatter) { onnx_ScatterElements(node); }
MAP(ScatterND) {
  onnx_give(node, 0, burn_scatter_nd(onnx_input(node, 0), onnx_input(node, 1), onnx_input(node, 2), update_of(node)));
}

/* Each row of a cache gets its update from a place of its own on; a circular cache starts again at its end. */
MAP(TensorScatter) {
  BurnTensor *cache = onnx_input(node, 0), *update = onnx_input(node, 1);
  const int axis = onnx_axis(node, "axis", onnx_int(node, "axis", -2), burn_rank(cache));
  const BurnShape shape = burn_shape(update);
  int64_t dims[BURN_MAX_RANK] = {shape.dims[0], 1, 1, 1, 1, 1, 1, 1};
  BurnTensor *starts = onnx_has_input(node, 2) ? onnx_input(node, 2)
                                               : burn_zeros(node->device, BURN_SHAPE(shape.dims[0]), BURN_DTYPE_I64);
  starts = burn_expand(onnx_reshape(starts, dims, shape.rank), shape);
  BurnTensor *at = burn_add(starts, positions(node->device, shape, (uint32_t)axis));
  at = burn_remainder_scalar(at, (double)burn_dim(cache, axis));
  onnx_give(node, 0, burn_scatter(cache, axis, at, update, BURN_UPDATE_ASSIGN));
}

/* values holds off and on. Indices count from the end below 0; one that is not a class has only off. */
MAP(OneHot) {
  OnnxNumber values[2] = {{0}};
  const BurnDType dtype = burn_dtype(node->inputs[2]);
  if (onnx_read_exact(onnx_input(node, 2), values, 2) != BURN_OK) onnx_not_mapped(node, "values are not two numbers");
  const int64_t classes = onnx_input_exact(node, 1).i;
  BurnTensor *indices = onnx_wrap_indices(burn_cast(onnx_input(node, 0), BURN_DTYPE_I64), classes);
  const uint32_t rank = burn_rank(indices) + 1;
  const int axis = onnx_axis(node, "axis", onnx_int(node, "axis", -1), rank);
  int64_t dims[BURN_MAX_RANK] = {0};
  for (uint32_t i = 0; i < rank && rank <= BURN_MAX_RANK; i++) dims[i] = (int)i == axis ? classes : 1;
  BurnTensor *numbers = onnx_reshape(burn_arange(node->device, 0, classes, 1), dims, rank);
  BurnTensor *hot = burn_equal(burn_unsqueeze_dim(indices, axis), numbers);
  BurnTensor *off = onnx_full(node->device, burn_shape(hot), dtype, values[0]);
  onnx_give(node, 0,
            burn_dtype_kind(dtype) == BURN_KIND_INT ? burn_mask_fill_i64(off, hot, values[1].i)
                                                    : burn_mask_fill(off, hot, values[1].f));
}

/* The way back of max pooling: positions count within the smallest possible result, which stands in a corner of a
 * larger one if a shape is given. */
MAP(MaxUnpool) {
  int64_t kernel[ONNX_INTS], strides[ONNX_INTS], pads[ONNX_INTS] = {0}, wanted[ONNX_INTS], zeros[BURN_MAX_RANK] = {0};
  const size_t spatial = onnx_ints(node, "kernel_shape", kernel), steps = onnx_ints(node, "strides", strides);
  const size_t margins = onnx_ints(node, "pads", pads), rank = onnx_input_rank(node, 0);
  if (!onnx_counts_are(node, "kernel_shape and two axes", spatial + 2, rank)) return;
  if (steps > 0 && !onnx_counts_are(node, "strides", steps, spatial)) return;
  if (margins > 0 && !onnx_counts_are(node, "pads", margins, 2 * spatial)) return;
  BurnTensor *x = onnx_input(node, 0);
  BurnShape shape = burn_shape(x);
  int64_t total = shape.dims[0] * shape.dims[1], more[BURN_MAX_RANK] = {0};
  for (size_t i = 0; i < spatial; i++) {
    int64_t *size = &shape.dims[i + 2];
    const int64_t numbers[] = {kernel[i], steps > 0 ? strides[i] : 1, pads[i], pads[i + spatial]};
    for (size_t k = 0; k < 4; k++) {
      if (!onnx_counts_fit(node, "a size of a window", (size_t)numbers[k], INT16_MAX)) {
        burn_drop(x);
        return;
      }
    }
    *size = (*size - 1) * numbers[1] - pads[i] - pads[i + spatial] + kernel[i];
    total = *size < 0 || total > INT64_MAX / 2 / (*size + 1) ? -1 : total * *size;
    if (total < 0) break;
  }
  BurnTensor *flat = burn_zeros(node->device, BURN_SHAPE(total), burn_dtype(x));
  BurnTensor *at = burn_reshape(onnx_input(node, 1), BURN_SHAPE(-1));
  flat = burn_scatter(flat, 0, at, burn_reshape(x, BURN_SHAPE(-1)), BURN_UPDATE_ASSIGN);
  x = burn_reshape(flat, shape);
  if (onnx_input_ints(node, 2, wanted) == shape.rank) {
    for (uint32_t i = 0; i < shape.rank; i++) more[i] = wanted[i] - shape.dims[i];
  }
  onnx_give(node, 0, onnx_pad(x, zeros, more, shape.rank, BURN_PAD_CONSTANT, 0));
}
