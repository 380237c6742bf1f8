/* onnx_move.c - ONNX operators on shapes, and those that cut, join, repeat, pad and create. */
#include "onnx_strings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- shape ------------------------------------------------------------------------------------ */

/* 0 keeps an axis, unless allowzero. Ours always keeps; a wanted 0 becomes the -1 that is computed. */
MAP(Reshape) {
  int64_t dims[ONNX_INTS];
  const size_t count = onnx_input_ints(node, 1, dims);
  if (onnx_int(node, "allowzero", 0)) {
    for (size_t i = 0; i < count; i++) dims[i] = dims[i] == 0 ? -1 : dims[i];
  }
  onnx_give_rank(node, 0, onnx_reshape(onnx_input(node, 0), dims, count), count == 0 ? ONNX_RANK_0 : ONNX_RANK_MORE);
}

MAP(Flatten) {
  BurnTensor *x = onnx_input(node, 0);
  const int64_t rank = burn_rank(x), given = onnx_int(node, "axis", 1);
  const int axis = given == rank ? (int)rank : onnx_axis(node, "axis", given, (uint32_t)rank);
  int64_t dims[] = {1, 1};
  for (int i = 0; i < (int)rank; i++) dims[i >= axis] *= burn_dim(x, i);
  onnx_give_rank(node, 0, onnx_reshape(x, dims, 2), ONNX_RANK_MORE);
}

MAP(Transpose) {
  int64_t order[ONNX_INTS];
  int axes[BURN_MAX_RANK];
  const uint32_t rank = onnx_input_rank(node, 0);
  const size_t given = onnx_ints(node, "perm", order);
  const bool listed = onnx_attribute(node, "perm") && !node->scalar[0];
  if (listed && !onnx_counts_are(node, "perm", given, rank)) return;
  for (uint32_t i = 0; i < rank && !listed; i++) order[i] = (int64_t)(rank - 1 - i);
  if (onnx_axes(node, order, rank, rank, axes)) onnx_give(node, 0, burn_permute(onnx_input(node, 0), axes));
}

MAP(Squeeze) {
  int64_t axes[ONNX_INTS];
  int dims[BURN_MAX_RANK];
  size_t count = onnx_input_ints(node, 1, axes);
  if (count == 0) count = onnx_ints(node, "axes", axes);
  if (!onnx_axes(node, axes, count, onnx_input_rank(node, 0), dims)) return;
  const bool all = count == onnx_input_rank(node, 0) || (count == 0 && onnx_input_size(node, 0) == 1);
  BurnTensor *x =
      all ? onnx_reshape(onnx_input(node, 0), NULL, 0) : burn_squeeze_dims(onnx_input(node, 0), dims, (uint32_t)count);
  onnx_give_rank(node, 0, x, all ? ONNX_RANK_0 : ONNX_RANK_MORE);
}

/* Axes of the result in any order; ours wants them ascending. */
MAP(Unsqueeze) {
  int64_t axes[ONNX_INTS];
  int dims[BURN_MAX_RANK];
  bool added[BURN_MAX_RANK] = {false};
  size_t count = onnx_input_ints(node, 1, axes);
  if (count == 0) count = onnx_ints(node, "axes", axes);
  const uint32_t before = node->scalar[0] ? 0 : onnx_input_rank(node, 0), rank = before + (uint32_t)count;
  if (!onnx_counts_fit(node, "axes", count, BURN_MAX_RANK - before)) return;
  if (!onnx_axes(node, axes, count, rank, dims)) return;
  BurnTensor *x = onnx_input(node, 0);
  for (size_t i = 0; i < count; i++) added[dims[i]] = true;
  for (uint32_t i = 0; i < rank && !node->scalar[0]; i++) {
    if (added[i]) x = burn_unsqueeze_dim(x, (int)i);
  }
  if (node->scalar[0]) x = onnx_to_rank(x, rank);
  onnx_give_rank(node, 0, x, count == 0 && node->scalar[0] ? ONNX_RANK_0 : ONNX_RANK_MORE);
}

/* Broadcast both ways: an axis of size 1 in the shape keeps that of x. */
MAP(Expand) {
  int64_t dims[ONNX_INTS];
  const size_t count = onnx_input_ints(node, 1, dims);
  if (!onnx_counts_fit(node, "shape", count, BURN_MAX_RANK)) return;
  BurnTensor *x = onnx_to_rank(onnx_input(node, 0), (uint32_t)count);
  if (burn_rank(x) < count) { /* it has failed */
    onnx_give(node, 0, x);
    return;
  }
  const uint32_t more = burn_rank(x) - (uint32_t)count;
  BurnShape shape = burn_shape(x);
  for (size_t i = 0; i < count; i++) shape.dims[i + more] = dims[i] == 1 ? shape.dims[i + more] : dims[i];
  onnx_give_rank(node, 0, burn_expand(x, shape), count == 0 && node->scalar[0] ? ONNX_RANK_0 : ONNX_RANK_MORE);
}

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

MAP(Shape) {
  const BurnShape shape = burn_shape(node->inputs[0]);
  const int64_t rank = node->scalar[0] ? 0 : shape.rank;
  int64_t start = onnx_int(node, "start", 0), end = onnx_int(node, "end", rank);
  start = clamp(start < 0 ? start + rank : start, 0, rank);
  end = clamp(end < 0 ? end + rank : end, start, rank);
  onnx_give_rank(node, 0, onnx_i64s(node->device, shape.dims + start, (size_t)(end - start)), ONNX_RANK_MORE);
}

MAP(Size) {
  const int64_t count = onnx_input_size(node, 0);
  onnx_give_rank(node, 0, onnx_i64s(node->device, &count, 1), ONNX_RANK_0);
}

/* -- parts and joins -------------------------------------------------------------------------- */

BurnRange onnx_range(int64_t start, int64_t end, int64_t step, int64_t size) {
  start = start < 0 ? start + size : start;
  end = end < 0 && end >= -size ? end + size : end;
  if (step > 0) {
    start = clamp(start, 0, size);
    return BURN_RANGE_STEP(start, clamp(end, start, size), step);
  }
  start = clamp(start, -1, size - 1);
  end = clamp(end, -1, start);
  return BURN_RANGE_STEP(end + 1, start + 1, step);
}

MAP(Slice) {
  BurnRange ranges[BURN_MAX_RANK];
  int dims[BURN_MAX_RANK];
  int64_t starts[ONNX_INTS], ends[ONNX_INTS], axes[ONNX_INTS], steps[ONNX_INTS];
  const uint32_t rank = onnx_input_rank(node, 0);
  const bool old = onnx_attribute(node, "starts"); /* before opset 10 */
  const size_t count = old ? onnx_ints(node, "starts", starts) : onnx_input_ints(node, 1, starts);
  const size_t end_count = old ? onnx_ints(node, "ends", ends) : onnx_input_ints(node, 2, ends);
  const size_t axis_count = old ? onnx_ints(node, "axes", axes) : onnx_input_ints(node, 3, axes);
  const size_t step_count = old ? 0 : onnx_input_ints(node, 4, steps);
  const bool has_axes = axis_count >= count && count > 0, has_steps = step_count >= count && count > 0;
  for (uint32_t i = 0; i < BURN_MAX_RANK; i++) ranges[i] = BURN_RANGE_ALL;
  if (end_count != count) onnx_not_mapped(node, "%zu starts and %zu ends", count, end_count);
  if (node->reason[0] || !onnx_axes(node, has_axes ? axes : NULL, count, rank, dims)) return;
  for (size_t i = 0; i < count; i++) {
    const int64_t size = onnx_input_dim(node, 0, dims[i]);
    ranges[dims[i]] = onnx_range(starts[i], ends[i], has_steps ? steps[i] : 1, size);
  }
  onnx_give(node, 0, burn_slice(onnx_input(node, 0), ranges, rank));
}

MAP(Concat) {
  BurnTensor *parts[ONNX_MAX_VALUES];
  const size_t count = node->proto->n_input;
  for (size_t i = 0; i < count; i++) parts[i] = onnx_input(node, i);
  const int axis = onnx_axis(node, "axis", onnx_int(node, "axis", 0), onnx_input_rank(node, 0));
  onnx_give(node, 0, burn_cat(parts, count, axis));
}

/* Sizes given, or equal parts of which the last may be smaller. Ours drops parts of size 0, so these are slices. */
MAP(Split) {
  int64_t sizes[ONNX_INTS];
  const int axis = onnx_axis(node, "axis", onnx_int(node, "axis", 0), onnx_input_rank(node, 0));
  const int64_t size = onnx_input_dim(node, 0, axis), parts = (int64_t)node->proto->n_output;
  const int64_t told = onnx_int(node, "num_outputs", parts);
  if (told != parts) {
    onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "num_outputs: %lld, and %lld outputs",
                                     (long long)told, (long long)parts));
    return;
  }
  size_t count = onnx_input_ints(node, 1, sizes);
  if (count == 0) count = onnx_ints(node, "split", sizes);
  if (count > 0 && !onnx_counts_are(node, "split", count, (size_t)parts)) return;
  int64_t start = 0;
  for (int64_t i = 0; i < parts; i++) {
    const int64_t equal = (size + parts - 1) / parts, left = size - start;
    const int64_t wanted = count > 0 ? sizes[i] : left < equal ? left : equal;
    if (wanted < 0 || wanted > left) {
      onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "split: part %lld of size %lld of the %lld left",
                                       (long long)i, (long long)wanted, (long long)left));
      return;
    }
    onnx_give(node, (size_t)i, burn_slice_dim(onnx_input(node, 0), axis, BURN_RANGE(start, start + wanted)));
    start += wanted;
  }
}

MAP(Tile) {
  int64_t times[ONNX_INTS];
  if (!onnx_counts_are(node, "repeats", onnx_input_ints(node, 1, times), onnx_input_rank(node, 0))) return;
  onnx_give(node, 0, burn_repeat(onnx_input(node, 0), times));
}

/* -- margins ---------------------------------------------------------------------------------- */

/* An axis that goes on from its other end. */
static BurnTensor *wrapped_around(BurnTensor *x, int axis, int64_t before, int64_t after) {
  const int64_t size = burn_dim(x, axis);
  if ((before == 0 && after == 0) || size == 0) return x;
  BurnTensor *at = burn_arange(burn_tensor_device(x), -before, size + after, 1);
  return burn_select(x, axis, burn_remainder_scalar(at, (double)size));
}

MAP(Pad) {
  int64_t pads[ONNX_INTS], axes[ONNX_INTS], before[BURN_MAX_RANK] = {0}, after[BURN_MAX_RANK] = {0};
  int dims[BURN_MAX_RANK];
  const uint32_t rank = onnx_input_rank(node, 0);
  const bool old = onnx_attribute(node, "pads"); /* before opset 11 */
  const size_t count = (old ? onnx_ints(node, "pads", pads) : onnx_input_ints(node, 1, pads)) / 2;
  const bool has_axes = onnx_input_ints(node, 3, axes) >= count && count > 0;
  if (!onnx_axes(node, has_axes ? axes : NULL, count, rank, dims)) return;
  for (size_t i = 0; i < count; i++) {
    before[dims[i]] = pads[i];
    after[dims[i]] = pads[i + count];
  }
  BurnTensor *x = onnx_input(node, 0);
  const bool reflect = onnx_is(node, "mode", "constant", "reflect"), edge = onnx_is(node, "mode", "constant", "edge");
  if (onnx_is(node, "mode", "constant", "wrap")) {
    for (uint32_t i = 0; i < rank; i++) x = wrapped_around(x, (int)i, before[i], after[i]);
    onnx_give(node, 0, x);
    return;
  }
  const int64_t mode = reflect ? BURN_PAD_REFLECT : edge ? BURN_PAD_EDGE : BURN_PAD_CONSTANT;
  OnnxNumber value = {onnx_float(node, "value", 0), 0}; /* the attribute is of floats, before opset 11 */
  if (onnx_has_input(node, 2) && onnx_input_size(node, 2) > 0) value = onnx_input_exact(node, 2);
  onnx_give(node, 0, onnx_pad_exact(x, before, after, rank, mode, value));
}

/* Half of what is too much is cut at either side, half of what lacks is added; odd ones at the end. */
MAP(CenterCropPad) {
  int64_t wanted[ONNX_INTS], axes[ONNX_INTS], before[BURN_MAX_RANK] = {0}, after[BURN_MAX_RANK] = {0};
  int dims[BURN_MAX_RANK];
  const uint32_t rank = onnx_input_rank(node, 0);
  const size_t count = onnx_input_ints(node, 1, wanted), axis_count = onnx_ints(node, "axes", axes);
  if (!onnx_counts_fit(node, "shape", count, rank)) return;
  if (axis_count > 0 && !onnx_counts_are(node, "axes", axis_count, count)) return;
  if (!onnx_axes(node, axis_count > 0 ? axes : NULL, count, rank, dims)) return;
  for (size_t i = 0; i < count; i++) {
    const int64_t more =
        wanted[i] < 0 || wanted[i] > INT32_MAX ? INT64_MAX : wanted[i] - onnx_input_dim(node, 0, dims[i]);
    before[dims[i]] = more / 2;
    after[dims[i]] = more - more / 2;
  }
  onnx_give(node, 0, onnx_pad(onnx_input(node, 0), before, after, rank, BURN_PAD_CONSTANT, 0));
}

/* The side of a block, for pictures; 0: the node has failed. */
static int64_t block_of(OnnxNode *node) {
  const int64_t side = onnx_int(node, "blocksize", 1);
  if (onnx_input_rank(node, 0) == 4 && side >= 1 && side <= INT16_MAX) return side;
  onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "blocks of %lld in an input of rank %u",
                                   (long long)side, (unsigned)onnx_input_rank(node, 0)));
  return 0;
}

MAP(DepthToSpace) {
  const int64_t b = block_of(node);
  if (b == 0) return;
  BurnTensor *x = onnx_input(node, 0);
  const BurnShape s = burn_shape(x);
  const int64_t n = s.dims[0], c = s.dims[1], h = s.dims[2], w = s.dims[3], done[] = {n, c / (b * b), h * b, w * b};
  const bool crd = onnx_is(node, "mode", "DCR", "CRD");
  const int64_t blocks_first[] = {n, b, b, c / (b * b), h, w}, depth_first[] = {n, c / (b * b), b, b, h, w};
  const int from_blocks[] = {0, 3, 4, 1, 5, 2}, from_depth[] = {0, 1, 4, 2, 5, 3};
  x = burn_permute(onnx_reshape(x, crd ? depth_first : blocks_first, 6), crd ? from_depth : from_blocks);
  onnx_give(node, 0, onnx_reshape(x, done, 4));
}

MAP(SpaceToDepth) {
  const int64_t b = block_of(node);
  if (b == 0) return;
  BurnTensor *x = onnx_input(node, 0);
  const BurnShape s = burn_shape(x);
  const int64_t blocks[] = {s.dims[0], s.dims[1], s.dims[2] / b, b, s.dims[3] / b, b};
  const int64_t done[] = {s.dims[0], s.dims[1] * b * b, s.dims[2] / b, s.dims[3] / b};
  const int order[] = {0, 3, 5, 1, 2, 4};
  onnx_give(node, 0, onnx_reshape(burn_permute(onnx_reshape(x, blocks, 6), order), done, 4));
}

MAP(Trilu) {
  const int64_t diagonal = onnx_input_int(node, 1, 0);
  BurnTensor *x = onnx_input(node, 0);
  onnx_give(node, 0, onnx_int(node, "upper", 1) ? burn_triu(x, diagonal) : burn_tril(x, diagonal));
}

/* -- create ----------------------------------------------------------------------------------- */

/* One number, or a list of them. */
static bool constant_of_numbers(OnnxNode *node) {
  const Onnx__AttributeProto *i = onnx_attribute(node, "value_int"), *is = onnx_attribute(node, "value_ints");
  const Onnx__AttributeProto *f = onnx_attribute(node, "value_float"), *fs = onnx_attribute(node, "value_floats");
  if (i) onnx_give_rank(node, 0, onnx_i64s(node->device, &i->i, 1), ONNX_RANK_0);
  if (is) onnx_give_rank(node, 0, onnx_i64s(node->device, is->ints, is->n_ints), ONNX_RANK_MORE);
  if (f) onnx_give_rank(node, 0, burn_tensor_f32(node->device, &f->f, BURN_SHAPE(1)), ONNX_RANK_0);
  if (fs) {
    onnx_give_rank(node, 0, burn_tensor_f32(node->device, fs->floats, BURN_SHAPE((int64_t)fs->n_floats)),
                   ONNX_RANK_MORE);
  }
  return i || is || f || fs;
}

/* The same of strings. */
static bool constant_of_strings(OnnxNode *node) {
  const Onnx__AttributeProto *value = onnx_attribute(node, "value"), *list = onnx_attribute(node, "value_strings");
  BurnStatus status = BURN_OK;
  OnnxStrings *strings = NULL;
  OnnxRank rank = ONNX_RANK_MORE;
  if (value && value->t && value->t->data_type == ONNX_STRING) {
    strings = onnx_strings_of(value->t, &status);
    rank = value->t->n_dims ? ONNX_RANK_MORE : ONNX_RANK_0;
  } else if (list) {
    strings = onnx_strings_of_list(list, &status);
  } else if (onnx_attribute(node, "value_string")) {
    OnnxStringsBuilder builder = ONNX_STRINGS_BUILDER;
    char *text = onnx_string_attribute(node, "value_string");
    if (text) onnx_add_string(&builder, text, strlen(text));
    if (text) strings = onnx_build_strings(&builder, BURN_SHAPE(1));
    rank = ONNX_RANK_0;
    free(text);
  } else {
    return false;
  }
  if (status != BURN_OK) onnx_fail(node, status);
  if (node->status == BURN_OK) onnx_give_strings(node, 0, strings, rank);
  return true;
}

MAP(Constant) {
  const Onnx__AttributeProto *value = onnx_attribute(node, "value");
  if (constant_of_numbers(node) || constant_of_strings(node)) return;
  if (value && value->t) {
    onnx_give_rank(node, 0, onnx_tensor(node->device, value->t), value->t->n_dims ? ONNX_RANK_MORE : ONNX_RANK_0);
  } else {
    onnx_not_mapped(node, "the constant is not a tensor");
  }
}

MAP(ConstantOfShape) {
  int64_t dims[ONNX_INTS];
  const size_t count = onnx_input_ints(node, 0, dims);
  const Onnx__AttributeProto *attribute = onnx_attribute(node, "value");
  OnnxNumber value = {0};
  BurnDType dtype = BURN_DTYPE_F32;
  if (attribute && attribute->t) {
    BurnTensor *x = onnx_tensor(node->device, attribute->t);
    dtype = burn_dtype(x);
    if (onnx_read_exact(x, &value, 1) != BURN_OK) onnx_not_mapped(node, "the value is not one number");
  }
  onnx_give_rank(node, 0, onnx_full(node->device, onnx_shape(dims, count), dtype, value),
                 count == 0 ? ONNX_RANK_0 : ONNX_RANK_MORE);
}

/* Ones on diagonal k of a matrix of any shape: our mask is false there. */
MAP(EyeLike) {
  const BurnShape shape = burn_shape(node->inputs[0]);
  const BurnDType dtype =
      onnx_attribute(node, "dtype") ? onnx_dtype(onnx_int(node, "dtype", 0)) : burn_dtype(node->inputs[0]);
  BurnTensor *off = burn_diag_mask(node->device, shape, onnx_int(node, "k", 0));
  onnx_give(node, 0, burn_cast(burn_bool_not(off), dtype));
}

/* How many integers there are from `start` on before `limit`; -1: too many to count, or the step is 0. */
static int64_t count_integers(int64_t start, int64_t limit, int64_t step) {
  const bool up = step > 0;
  if (step == 0) return -1;
  if (up ? limit <= start : limit >= start) return 0;
  const uint64_t from = (uint64_t)start, to = (uint64_t)limit, size = up ? (uint64_t)step : 0 - (uint64_t)step;
  const uint64_t way = up ? to - from : from - to, count = way / size + (way % size != 0);
  return count <= INT64_MAX ? (int64_t)count : -1;
}

/* The same of floats. */
static int64_t count_floats(double start, double limit, double step) {
  const double count = ceil((limit - start) / step);
  if (step == 0 || !(count < 0x1p53)) return -1;
  return count > 0 ? (int64_t)count : 0;
}

/* start + i * delta: ours has integers and a positive step, so both come after. Products of i64 wrap, and their sums
 * back again. */
MAP(Range) {
  const BurnDType dtype = burn_dtype(node->inputs[0]);
  const bool ints = burn_dtype_kind(dtype) == BURN_KIND_INT;
  const OnnxNumber start = onnx_input_exact(node, 0), limit = onnx_input_exact(node, 1);
  const OnnxNumber delta = onnx_input_exact(node, 2);
  const int64_t count = ints ? count_integers(start.i, limit.i, delta.i) : count_floats(start.f, limit.f, delta.f);
  if (count < 0) {
    onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "no range goes from %g to %g by %g", start.f,
                                     limit.f, delta.f));
    return;
  }
  BurnTensor *x = burn_cast(burn_arange(node->device, 0, count, 1), ints ? BURN_DTYPE_I64 : dtype);
  x = ints ? burn_add_scalar_i64(burn_mul_scalar_i64(x, delta.i), start.i)
           : burn_add_scalar(burn_mul_scalar(x, delta.f), start.f);
  onnx_give_rank(node, 0, burn_cast(x, dtype), ONNX_RANK_MORE);
}
