/* onnx_node.c - nodes of ONNX graphs: attributes, tensors from messages, and steps that many mappings need. */
#include "onnx_node.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- dtypes and tensors ----------------------------------------------------------------------- */

static const struct {
  const char *name;
  BurnDType dtype;
} dtypes[] = {{"undefined", 0},
              {"float32", BURN_DTYPE_F32},
              {"uint8", BURN_DTYPE_U8},
              {"int8", BURN_DTYPE_I8},
              {"uint16", 0},
              {"int16", BURN_DTYPE_I16},
              {"int32", BURN_DTYPE_I32},
              {"int64", BURN_DTYPE_I64},
              {"string", 0},
              {"bool", BURN_DTYPE_BOOL},
              {"float16", BURN_DTYPE_F16},
              {"float64", BURN_DTYPE_F64},
              {"uint32", 0},
              {"uint64", 0},
              {"complex64", 0},
              {"complex128", 0},
              {"bfloat16", BURN_DTYPE_BF16},
              {"float8e4m3fn", 0},
              {"float8e4m3fnuz", 0},
              {"float8e5m2", 0},
              {"float8e5m2fnuz", 0},
              {"uint4", 0},
              {"int4", 0},
              {"float4e2m1", 0},
              {"float8e8m0", 0},
              {"uint2", 0},
              {"int2", 0}};

BurnDType onnx_dtype(int64_t data_type) {
  const bool known = data_type > 0 && data_type < (int64_t)(sizeof dtypes / sizeof dtypes[0]);
  return known && dtypes[data_type].dtype ? dtypes[data_type].dtype : (BurnDType)BURN_DTYPE_DEFAULT;
}

const char *onnx_dtype_name(int64_t data_type) {
  return data_type >= 0 && data_type < (int64_t)(sizeof dtypes / sizeof dtypes[0]) ? dtypes[data_type].name : "unknown";
}

/* Elements of a list are as wide as the list's type, or the low bytes of an int32. */
static void put_listed(const Onnx__TensorProto *proto, size_t i, size_t bytes, unsigned char *to) {
  if (proto->n_float_data) memcpy(to, &proto->float_data[i], bytes);
  if (proto->n_double_data) memcpy(to, &proto->double_data[i], bytes);
  if (proto->n_int64_data) memcpy(to, &proto->int64_data[i], bytes);
  if (proto->n_int32_data) memcpy(to, &proto->int32_data[i], bytes); /* little-endian: the low bytes */
}

/* Bytes of an element in the one list that the message has, and their number; 0 if it has several, or none. */
static size_t listed(const Onnx__TensorProto *proto, size_t *count) {
  const size_t counts[] = {proto->n_float_data, proto->n_double_data, proto->n_int64_data, proto->n_int32_data};
  const size_t widths[] = {sizeof(float), sizeof(double), sizeof(int64_t), sizeof(int32_t)};
  size_t width = 0, lists = 0;
  *count = 0;
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    if (counts[i] == 0) continue;
    lists++;
    *count = counts[i];
    width = widths[i];
  }
  return lists == 1 ? width : 0;
}

bool onnx_count_elements(const int64_t *dims, size_t rank, size_t *count) {
  *count = 1;
  bool empty = false;
  for (size_t i = 0; i < rank; i++) {
    if (dims[i] < 0) return false;
    empty = empty || dims[i] == 0;
  }
  for (size_t i = 0; i < rank && !empty; i++) {
    if ((uint64_t)dims[i] > (SIZE_MAX >> 8) / *count) return false;
    *count *= (size_t)dims[i];
  }
  if (empty) *count = 0;
  return rank <= BURN_MAX_RANK;
}

BurnStatus onnx_tensor_layout(const Onnx__TensorProto *proto, BurnDType *dtype, size_t *count) {
  *dtype = onnx_dtype(proto->data_type);
  if (*dtype == BURN_DTYPE_DEFAULT) {
    return burn_status_make(BURN_STATUS_INVALID_DTYPE, "tensor '%s': there is no dtype %s here", proto->name,
                            onnx_dtype_name(proto->data_type));
  }
  if (onnx_count_elements(proto->dims, proto->n_dims, count)) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_SHAPE,
                          "tensor '%s': its %zu dims are negative, more than %d, or too large for memory", proto->name,
                          proto->n_dims, BURN_MAX_RANK);
}

static BurnTensor *tensor_of_list(BurnDevice *device, const Onnx__TensorProto *proto, BurnDType dtype, size_t count) {
  size_t given;
  const size_t bytes = burn_dtype_bytes(dtype), width = listed(proto, &given);
  if (given != count || (count > 0 && width < bytes)) {
    return burn_tensor_failed(burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                                               "tensor '%s' has %zu listed elements of %zu bytes, expected %zu of %s",
                                               proto->name, given, width, count, burn_dtype_name(dtype)));
  }
  unsigned char *data = calloc(count + 1, bytes);
  if (!data) return burn_tensor_failed(burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%zu elements", count));
  for (size_t i = 0; i < count; i++) put_listed(proto, i, bytes, data + i * bytes);
  BurnTensor *x = burn_tensor_from(device, data, dtype, onnx_shape(proto->dims, proto->n_dims));
  free(data);
  return x;
}

BurnTensor *onnx_tensor(BurnDevice *device, const Onnx__TensorProto *proto) {
  BurnDType dtype;
  size_t count;
  const BurnStatus status = onnx_tensor_layout(proto, &dtype, &count);
  if (status != BURN_OK) return burn_tensor_failed(status);
  if (!proto->has_raw_data) return tensor_of_list(device, proto, dtype, count);
  if (proto->raw_data.len != count * burn_dtype_bytes(dtype)) {
    return burn_tensor_failed(burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                                               "tensor '%s' has %zu raw bytes, expected %zu elements of %s",
                                               proto->name, proto->raw_data.len, count, burn_dtype_name(dtype)));
  }
  static const uint8_t nothing[1] = {0};
  return burn_tensor_from(device, count ? proto->raw_data.data : nothing, dtype,
                          onnx_shape(proto->dims, proto->n_dims));
}

/* -- attributes ------------------------------------------------------------------------------- */

const Onnx__AttributeProto *onnx_attribute(const OnnxNode *node, const char *name) {
  for (size_t i = 0; i < node->proto->n_attribute; i++) {
    if (strcmp(node->proto->attribute[i]->name, name) == 0) return node->proto->attribute[i];
  }
  return NULL;
}

int64_t onnx_int(const OnnxNode *node, const char *name, int64_t otherwise) {
  const Onnx__AttributeProto *attribute = onnx_attribute(node, name);
  return attribute ? attribute->i : otherwise;
}

double onnx_float(const OnnxNode *node, const char *name, double otherwise) {
  const Onnx__AttributeProto *attribute = onnx_attribute(node, name);
  return attribute ? (double)attribute->f : otherwise;
}

bool onnx_is(const OnnxNode *node, const char *name, const char *otherwise, const char *text) {
  const Onnx__AttributeProto *attribute = onnx_attribute(node, name);
  if (!attribute) return strcmp(otherwise, text) == 0;
  return attribute->s.len == strlen(text) && memcmp(attribute->s.data, text, attribute->s.len) == 0;
}

size_t onnx_ints(OnnxNode *node, const char *name, int64_t *values) {
  const Onnx__AttributeProto *attribute = onnx_attribute(node, name);
  const size_t count = attribute ? attribute->n_ints : 0;
  if (count > ONNX_INTS) {
    onnx_not_mapped(node, "attribute '%.40s' has %zu integers, at most %d are read", name, count, ONNX_INTS);
    return 0;
  }
  for (size_t i = 0; i < count; i++) values[i] = attribute->ints[i];
  return count;
}

/* -- inputs and outputs ------------------------------------------------------------------------ */

bool onnx_has_input(const OnnxNode *node, size_t i) { return i < ONNX_MAX_VALUES && node->inputs[i]; }
BurnTensor *onnx_input(const OnnxNode *node, size_t i) {
  return onnx_has_input(node, i) ? burn_clone(node->inputs[i]) : NULL;
}
BurnTensor *onnx_take_input(OnnxNode *node, size_t i) {
  BurnTensor *x = i < ONNX_MAX_VALUES ? node->inputs[i] : NULL;
  if (x) node->inputs[i] = NULL;
  return x;
}
uint32_t onnx_input_rank(const OnnxNode *node, size_t i) { return burn_rank(node->inputs[i]); }
int64_t onnx_input_size(const OnnxNode *node, size_t i) { return burn_element_count(node->inputs[i]); }
int64_t onnx_input_dim(const OnnxNode *node, size_t i, int dim) { return burn_dim(node->inputs[i], dim); }

size_t onnx_input_ints(OnnxNode *node, size_t i, int64_t *values) {
  if (!onnx_has_input(node, i)) return 0;
  const int64_t count = burn_element_count(node->inputs[i]);
  if (count > ONNX_INTS) {
    onnx_not_mapped(node, "input %zu has %lld integers, at most %d are read", i, (long long)count, ONNX_INTS);
    return 0;
  }
  if (burn_read_i64(onnx_input(node, i), values, (size_t)count) != BURN_OK) {
    onnx_not_mapped(node, "input %zu cannot be read as numbers", i);
    return 0;
  }
  return (size_t)count;
}

int64_t onnx_input_int(OnnxNode *node, size_t i, int64_t otherwise) {
  int64_t values[ONNX_INTS] = {0};
  return onnx_input_ints(node, i, values) == 1 ? values[0] : otherwise;
}

double onnx_input_number(OnnxNode *node, size_t i, double otherwise) {
  double value = otherwise;
  if (!onnx_has_input(node, i) || onnx_input_size(node, i) == 0) return value; /* some writers have [0] for none */
  if (burn_read_scalar(onnx_input(node, i), &value) != BURN_OK) {
    onnx_not_mapped(node, "input %zu is not one number", i);
  }
  return value;
}

/* The nearest i64 of a float; 0 of what is not a number. */
static int64_t whole(double x) {
  if (!(x > -0x1p63)) return x <= -0x1p63 ? INT64_MIN : 0;
  return x < 0x1p63 ? (int64_t)x : INT64_MAX;
}

BurnStatus onnx_read_exact(BurnTensor *x, OnnxNumber *numbers, size_t count) {
  double floats[2] = {0};
  int64_t ints[2] = {0};
  const bool are_ints = burn_dtype_kind(burn_dtype(x)) == BURN_KIND_INT;
  const BurnStatus status = are_ints ? burn_read_i64(x, ints, count) : burn_read_f64(x, floats, count);
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    numbers[i] = are_ints ? (OnnxNumber){(double)ints[i], ints[i]} : (OnnxNumber){floats[i], whole(floats[i])};
  }
  return status;
}

OnnxNumber onnx_input_exact(OnnxNode *node, size_t i) {
  OnnxNumber number = {0};
  const BurnStatus status = onnx_read_exact(onnx_input(node, i), &number, 1);
  if (status != BURN_OK) onnx_fail(node, burn_status_annotate(status, "input %zu is not one number", i));
  return number;
}

BurnTensor *onnx_full(BurnDevice *device, BurnShape shape, BurnDType dtype, OnnxNumber value) {
  const bool ints = burn_dtype_kind(dtype) == BURN_KIND_INT;
  return ints ? burn_full_i64(device, shape, dtype, value.i) : burn_full(device, shape, dtype, value.f);
}

bool onnx_wants_output(const OnnxNode *node, size_t i) {
  return i < ONNX_MAX_VALUES && i < node->proto->n_output && node->proto->output[i][0];
}

void onnx_give(OnnxNode *node, size_t i, BurnTensor *x) {
  if (onnx_wants_output(node, i) && !node->outputs[i]) {
    node->outputs[i] = x;
  } else {
    burn_drop(x);
  }
}

void onnx_give_rank(OnnxNode *node, size_t i, BurnTensor *x, OnnxRank rank) {
  onnx_give(node, i, x);
  if (onnx_wants_output(node, i)) node->output_rank[i] = rank;
}

void onnx_fail(OnnxNode *node, BurnStatus status) {
  if (node->status == BURN_OK) node->status = status;
}

bool onnx_counts_are(OnnxNode *node, const char *what, size_t count, size_t wanted) {
  if (count == wanted) return true;
  onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: %zu numbers; %zu expected", what, count, wanted));
  return false;
}

bool onnx_counts_fit(OnnxNode *node, const char *what, size_t count, size_t most) {
  if (count <= most) return true;
  onnx_fail(node,
            burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: %zu numbers; at most %zu expected", what, count, most));
  return false;
}

void onnx_not_mapped(OnnxNode *node, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(node->reason, sizeof node->reason, format, arguments);
  va_end(arguments);
}

/* -- small steps ------------------------------------------------------------------------------- */

/* A tensor of rank 0 has failed already, and says so itself. */
int onnx_axis(OnnxNode *node, const char *name, int64_t axis, uint32_t rank) {
  const int64_t at = axis < 0 ? axis + (int64_t)rank : axis;
  if (at >= 0 && at < (int64_t)rank && at < BURN_MAX_RANK) return (int)at;
  if (rank > 0) {
    onnx_fail(node, burn_status_make(BURN_STATUS_OUT_OF_RANGE, "%s %lld of a tensor of %u axes", name, (long long)axis,
                                     (unsigned)rank));
  }
  return 0;
}

bool onnx_axes(OnnxNode *node, const int64_t *axes, size_t count, uint32_t rank, int *dims) {
  bool named[BURN_MAX_RANK] = {false};
  if (!onnx_counts_fit(node, "axes", count, BURN_MAX_RANK)) return false;
  for (size_t i = 0; i < count; i++) {
    const int axis = dims[i] = onnx_axis(node, "axis", axes ? axes[i] : (int64_t)i, rank);
    if (named[axis] && rank > 0)
      onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "axis %d is named twice", axis));
    named[axis] = true;
  }
  return node->status == BURN_OK;
}

BurnTensor *onnx_to_rank(BurnTensor *x, uint32_t rank) { return burn_rank(x) < rank ? burn_unsqueeze(x, rank) : x; }

void onnx_same_rank(BurnTensor **lhs, BurnTensor **rhs) {
  *lhs = onnx_to_rank(*lhs, burn_rank(*rhs));
  *rhs = onnx_to_rank(*rhs, burn_rank(*lhs));
}

BurnTensor *onnx_broadcast(OnnxBinary *apply, BurnTensor *lhs, BurnTensor *rhs) {
  onnx_same_rank(&lhs, &rhs);
  return apply(lhs, rhs);
}

BurnShape onnx_shape(const int64_t *dims, size_t count) {
  BurnShape shape = {count ? (uint32_t)count : 1, {1}};
  for (size_t i = 0; i < count && i < BURN_MAX_RANK; i++) shape.dims[i] = dims[i];
  return shape;
}

BurnTensor *onnx_reshape(BurnTensor *x, const int64_t *dims, size_t count) {
  return burn_reshape(x, onnx_shape(dims, count));
}

BurnTensor *onnx_part(BurnTensor *x, const int64_t *begins, const int64_t *sizes) {
  BurnRange ranges[BURN_MAX_RANK];
  const uint32_t rank = burn_rank(x);
  for (uint32_t i = 0; i < rank; i++) ranges[i] = BURN_RANGE(begins[i], begins[i] + sizes[i]);
  return burn_slice(x, ranges, rank);
}

BurnTensor *onnx_wrap_indices(BurnTensor *indices, int64_t size) {
  BurnTensor *below = burn_lower_scalar(burn_clone(indices), 0);
  BurnTensor *wrapped = burn_add_scalar(burn_clone(indices), (double)size);
  return burn_mask_where(indices, below, wrapped);
}

BurnTensor *onnx_pad_exact(BurnTensor *x, const int64_t *before, const int64_t *after, uint32_t count, int64_t mode,
                           OnnxNumber value) {
  int64_t margins[2 * BURN_MAX_RANK], begins[BURN_MAX_RANK] = {0}, sizes[BURN_MAX_RANK];
  const BurnShape shape = burn_shape(x);
  bool cut = false, added = false;
  for (uint32_t i = 0; i < count; i++) { /* sums of larger ones could overflow */
    if (llabs(before[i] / 2) < INT32_MAX && llabs(after[i] / 2) < INT32_MAX) continue;
    burn_drop(x);
    return burn_tensor_failed(burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                                               "padding [%lld,%lld]; less than 2^32 of either sign expected",
                                               (long long)before[i], (long long)after[i]));
  }
  for (uint32_t i = 0; i < shape.rank; i++) sizes[i] = shape.dims[i];
  for (uint32_t i = 0; i < count && shape.rank >= count; i++) {
    const uint32_t axis = shape.rank - count + i;
    const int64_t less = before[i] < 0 ? -before[i] : 0, lesser = after[i] < 0 ? -after[i] : 0;
    begins[axis] = less;
    sizes[axis] -= less + lesser;
    margins[2 * i] = before[i] < 0 ? 0 : before[i];
    margins[2 * i + 1] = after[i] < 0 ? 0 : after[i];
    cut = cut || less || lesser;
    added = added || margins[2 * i] || margins[2 * i + 1];
  }
  if (cut) x = onnx_part(x, begins, sizes);
  if (!added) return x;
  const bool ints = burn_dtype_kind(burn_dtype(x)) == BURN_KIND_INT;
  return ints ? burn_pad_i64(x, margins, count, mode, value.i) : burn_pad(x, margins, count, mode, value.f);
}

BurnTensor *onnx_pad(BurnTensor *x, const int64_t *before, const int64_t *after, uint32_t count, int64_t mode,
                     double value) {
  return onnx_pad_exact(x, before, after, count, mode, (OnnxNumber){value, whole(value)});
}

BurnTensor *onnx_i64s(BurnDevice *device, const int64_t *values, size_t count) {
  return burn_tensor_i64(device, values, BURN_SHAPE((int64_t)count));
}
