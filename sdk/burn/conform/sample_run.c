/* sample_run.c - a sample on a stack: inputs in their layouts, the call, results in host memory, and the laws that hold
 * for every call whatever the op: promised shapes, inputs of others unchanged, nothing left over. */
#include "conform.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- inputs ----------------------------------------------------------------------------------- */

bool sample_inputs(const Sample *sample, void *data[SAMPLE_MAX_INPUTS]) {
  bool complete = true;
  for (uint32_t i = 0; i < sample->input_count; i++) {
    data[i] = sample->inputs[i].absent ? NULL : sample_values(sample, i);
    complete = complete && (data[i] || sample->inputs[i].absent);
  }
  if (!complete) sample_inputs_end(sample, data);
  return complete;
}

void sample_inputs_end(const Sample *sample, void *data[SAMPLE_MAX_INPUTS]) {
  for (uint32_t i = 0; i < sample->input_count; i++) {
    free(data[i]);
    data[i] = NULL;
  }
}

/* How the elements of a view lie in the tensor below it: element i of the view is element base_index(i) of the base. */
typedef struct View {
  BurnTensorDesc base;
  int64_t first, strides[BURN_MAX_RANK]; /* in elements of the row-major base */
} View;

static void row_major(const BurnTensorDesc *desc, int64_t *strides) {
  int64_t stride = 1;
  for (uint32_t i = desc->rank; i-- > 0; stride *= desc->shape[i]) strides[i] = stride;
}

static View view_of(const SampleInput *input) {
  const BurnTensorDesc *desc = &input->desc;
  const uint32_t layout = input->layout;
  View view = {.base = *desc};
  const uint32_t rank = desc->rank;
  if (layout == SAMPLE_TRANSPOSED) {
    view.base.shape[rank - 1] = desc->shape[rank - 2];
    view.base.shape[rank - 2] = desc->shape[rank - 1];
  }
  if (layout == SAMPLE_EXPANDED) view.base.shape[input->axis] = 1;
  for (uint32_t i = 0; layout == SAMPLE_SLICED && i < rank; i++) view.base.shape[i] = 2 * desc->shape[i] + 1;
  row_major(&view.base, view.strides);
  if (layout == SAMPLE_TRANSPOSED) {
    const int64_t last = view.strides[rank - 1];
    view.strides[rank - 1] = view.strides[rank - 2];
    view.strides[rank - 2] = last;
  }
  if (layout == SAMPLE_EXPANDED) view.strides[input->axis] = 0;
  if (layout == SAMPLE_REVERSED) {
    view.first = (desc->shape[0] - 1) * view.strides[0];
    view.strides[0] = -view.strides[0];
  }
  for (uint32_t i = 0; layout == SAMPLE_SLICED && i < rank; i++) {
    view.first += view.strides[i];
    view.strides[i] *= 2;
  }
  return view;
}

/* Row-major bytes of the base whose view has the values `data`; other elements are noise. malloc'd. */
static char *base_data(const BurnTensorDesc *desc, const View *view, const char *data) {
  const size_t bytes = burn_dtype_bytes(desc->dtype);
  const int64_t count = burn_desc_count(desc);
  const size_t base_bytes = (size_t)burn_desc_count(&view->base) * bytes;
  char *base = malloc(base_bytes + 1);
  if (!base) return NULL;
  memset(base, desc->dtype == BURN_DTYPE_BOOL ? 1 : 0x3b, base_bytes);
  for (int64_t i = 0; i < count; i++) {
    int64_t rest = i, at = view->first;
    for (uint32_t axis = desc->rank; axis-- > 0; rest /= desc->shape[axis])
      at += rest % desc->shape[axis] * view->strides[axis];
    memcpy(base + (size_t)at * bytes, data + (size_t)i * bytes, bytes);
  }
  return base;
}

static BurnTensor *call_1(uint32_t op, BurnTensor *x, const BurnAttr *attrs, size_t attr_count) {
  BurnTensor *out = NULL;
  burn_op_call(NULL, burn_op_info(op), &x, 1, attrs, attr_count, &out);
  return out;
}

/* Takes base; the view of it that the layout asks for. */
static BurnTensor *make_view(BurnTensor *base, const BurnTensorDesc *desc, uint32_t layout) {
  int64_t axes[BURN_MAX_RANK], starts[BURN_MAX_RANK] = {0}, steps[BURN_MAX_RANK];
  for (uint32_t i = 0; i < desc->rank; i++) axes[i] = i, steps[i] = 1;
  if (layout == SAMPLE_TRANSPOSED) {
    axes[desc->rank - 1] = desc->rank - 2;
    axes[desc->rank - 2] = desc->rank - 1;
    return call_1(BURN_OP_permute, base, (const BurnAttr[]){burn_attr_i64s(axes, desc->rank)}, 1);
  }
  if (layout == SAMPLE_EXPANDED)
    return call_1(BURN_OP_expand, base, (const BurnAttr[]){burn_attr_i64s(desc->shape, desc->rank)}, 1);
  if (layout == SAMPLE_REVERSED) {
    starts[0] = desc->shape[0] - 1;
    steps[0] = -1;
  }
  for (uint32_t i = 0; layout == SAMPLE_SLICED && i < desc->rank; i++) starts[i] = 1, steps[i] = 2;
  return call_1(BURN_OP_slice, base,
                (const BurnAttr[]){burn_attr_i64s(starts, desc->rank), burn_attr_i64s(desc->shape, desc->rank),
                                   burn_attr_i64s(steps, desc->rank)},
                3);
}

BurnTensor *sample_tensor(BurnDevice *device, const Sample *sample, uint32_t position, const void *data) {
  const SampleInput *input = &sample->inputs[position];
  if (input->absent) return NULL;
  const View view = view_of(input);
  BurnShape shape = {.rank = view.base.rank, .dims = {0}};
  memcpy(shape.dims, view.base.shape, view.base.rank * sizeof *shape.dims);
  if (input->layout == SAMPLE_CONTIGUOUS) return burn_tensor_from(device, data, input->desc.dtype, shape);
  char *base = base_data(&input->desc, &view, data);
  if (!base) return burn_tensor_failed(burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for an input"));
  BurnTensor *x = make_view(burn_tensor_from(device, base, input->desc.dtype, shape), &input->desc, input->layout);
  free(base);
  return x;
}

/* -- the call --------------------------------------------------------------------------------- */

void results_end(Results *results) {
  for (uint32_t i = 0; i < results->count; i++) free(results->data[i]);
  *results = (Results){0};
}

void sample_call(BurnDevice *device, const Sample *sample, BurnTensor **inputs, BurnTensor **outputs) {
  burn_op_call(device, sample->op, inputs, sample->input_count, sample->attrs, sample->attr_count, outputs);
}

/* The decomposition of the op on tensors; takes them. */
static void decompose(BurnDevice *device, const Sample *sample, BurnTensor **inputs, BurnTensor **outputs) {
  BurnPrimitive *primitives[SAMPLE_MAX_INPUTS] = {NULL}, *results[BURN_MAX_OUTPUTS] = {NULL};
  BurnAttr attrs[SAMPLE_MAX_ATTRS];
  int64_t repeated[SAMPLE_MAX_ATTRS][BURN_MAX_RANK];
  for (uint32_t i = 0; i < sample->input_count; i++)
    primitives[i] = inputs[i] ? burn_tensor_primitive(inputs[i]) : NULL;
  sample_attrs(sample, attrs, repeated);
  const BurnOpCall call = {.struct_size = sizeof call,
                           .op = sample->op->op,
                           .attr_count = sample->op->attr_count,
                           .input_count = sample->input_count,
                           .output_count = sample->op->output_count,
                           .inputs = primitives,
                           .outputs = results,
                           .attrs = attrs,
                           .output_descs = sample->outputs};
  const BurnStatus status = burn_host()->decompose(burn_device_backend(device), &call);
  for (uint32_t i = 0; i < sample->op->output_count; i++) {
    outputs[i] = status == BURN_OK ? burn_tensor_from_primitive(device, results[i]) : burn_tensor_failed(status);
  }
  for (uint32_t i = 0; i < sample->input_count; i++) burn_drop(inputs[i]);
}

static bool is_as_promised(const Sample *sample, const BurnTensor *x, uint32_t i, char *why, size_t why_bytes) {
  const BurnTensorDesc *desc = &sample->outputs[i];
  const BurnShape shape = burn_shape(x);
  bool equal = burn_dtype(x) == desc->dtype && shape.rank == desc->rank;
  for (uint32_t axis = 0; equal && axis < shape.rank; axis++) equal = shape.dims[axis] == desc->shape[axis];
  if (equal) return true;
  snprintf(why, why_bytes,
           "result %u is %s of rank %u with %" PRId64 " elements, promised is %s of rank %u with %" PRId64, i,
           burn_dtype_name(burn_dtype(x)), shape.rank, burn_element_count(x), burn_dtype_name(desc->dtype), desc->rank,
           burn_desc_count(desc));
  return false;
}

/* Takes x. */
static bool read_output(const Sample *sample, BurnTensor *x, uint32_t i, int how, Results *results, char *why,
                        size_t why_bytes) {
  BurnStatus status = burn_tensor_status(x);
  results->failure = status;
  if (status != BURN_OK) snprintf(why, why_bytes, "failed: %s", burn_status_message(status));
  if (status != BURN_OK || !is_as_promised(sample, x, i, why, why_bytes)) {
    burn_drop(x);
    return false;
  }
  const size_t bytes = (size_t)burn_element_count(x) * burn_dtype_bytes(burn_dtype(x));
  results->descs[i] = sample->outputs[i];
  results->data[i] = malloc(bytes + 1);
  if (!results->data[i]) {
    snprintf(why, why_bytes, "no memory to read result %u", i);
    burn_drop(x);
    return false;
  }
  memset(results->data[i], 0xa5, bytes);
  status = burn_read(burn_clone(x), results->data[i], bytes);
  results->failure = status;
  if (status != BURN_OK) snprintf(why, why_bytes, "result %u cannot be read: %s", i, burn_status_message(status));
  char wrong[512];
  const bool is_tracked = how == RUN_TRACKED && burn_device_is_autodiff(burn_tensor_device(x));
  const bool right =
      status == BURN_OK && header_is_right(x, &sample->outputs[i], results->data[i], is_tracked, wrong, sizeof wrong);
  if (status == BURN_OK && !right) snprintf(why, why_bytes, "the header of result %u: %s", i, wrong);
  burn_drop(x);
  return right;
}

bool sample_read(const Sample *sample, BurnTensor **outputs, int how, Results *results, char *why, size_t why_bytes) {
  bool good = true;
  *results = (Results){.count = sample->op->output_count};
  for (uint32_t i = 0; i < results->count; i++) {
    if (good) {
      good = read_output(sample, outputs[i], i, how, results, why, why_bytes);
    } else {
      burn_drop(outputs[i]);
    }
  }
  const BurnStatus failure = results->failure;
  if (!good) results_end(results);
  results->failure = failure;
  return good;
}

/* -- what others hold ------------------------------------------------------------------------- */

/* Takes x, which somebody else held: it must still have the values that it was made with. */
static bool is_unchanged(const Sample *sample, BurnTensor *x, uint32_t i, const void *data, char *why,
                         size_t why_bytes) {
  if (!x) return true;
  const BurnTensorDesc *desc = &sample->inputs[i].desc;
  const size_t bytes = (size_t)burn_desc_count(desc) * burn_dtype_bytes(desc->dtype);
  char *found = malloc(bytes + 1);
  const BurnStatus status = found ? burn_read(burn_clone(x), found, bytes) : BURN_STATUS_OUT_OF_MEMORY;
  bool same = status == BURN_OK && memcmp(found, data, bytes) == 0;
  char wrong[512];
  if (status != BURN_OK) {
    snprintf(why, why_bytes, "input %u cannot be read after the call: %s", i, burn_status_message(status));
  } else if (!same) {
    snprintf(why, why_bytes, "the op changed input %u (%s), which somebody else holds", i,
             i < sample->op->input_count ? sample->op->input_names[i] : "list");
  } else if (!header_is_right(x, desc, found, false, wrong, sizeof wrong)) {
    snprintf(why, why_bytes, "the header of input %u: %s", i, wrong);
    same = false;
  }
  burn_drop(x);
  free(found);
  return same;
}

/* Another tensor over the storage of x; x stays. */
static BurnTensor *another_view(const BurnTensor *x) {
  const BurnShape shape = burn_shape(x);
  const int64_t starts[BURN_MAX_RANK] = {0};
  return call_1(BURN_OP_slice, burn_clone(x),
                (const BurnAttr[]){burn_attr_i64s(starts, shape.rank), burn_attr_i64s(shape.dims, shape.rank)}, 2);
}

/* Fills inputs, and kept with what somebody else holds. */
static void make_inputs(BurnDevice *device, const Sample *sample, void *const *data, int how, BurnTensor **inputs,
                        BurnTensor **kept) {
  for (uint32_t i = 0; i < sample->input_count; i++) {
    inputs[i] = sample_tensor(device, sample, i, data[i]);
    const bool is_float = burn_dtype_kind(sample->inputs[i].desc.dtype) == BURN_KIND_FLOAT;
    if (!inputs[i]) continue;
    if (how == RUN_TRACKED && is_float) inputs[i] = burn_require_grad(inputs[i]);
    if (how == RUN_SHARED) kept[i] = burn_clone(inputs[i]);
    if (how == RUN_VIEWED) kept[i] = another_view(inputs[i]);
  }
}

bool sample_run(BurnDevice *device, const Sample *sample, void *const *data, int how, Results *results, char *why,
                size_t why_bytes) {
  BurnTensor *inputs[SAMPLE_MAX_INPUTS] = {NULL}, *kept[SAMPLE_MAX_INPUTS] = {NULL},
             *outputs[BURN_MAX_OUTPUTS] = {NULL};
  const int64_t live = burn_device_memory(device).live_tensors;
  make_inputs(device, sample, data, how, inputs, kept);
  if (how == RUN_DECOMPOSED) {
    decompose(device, sample, inputs, outputs);
  } else {
    sample_call(device, sample, inputs, outputs);
  }
  bool good = sample_read(sample, outputs, how, results, why, why_bytes);
  for (uint32_t i = 0; i < sample->input_count; i++) {
    if (good) {
      good = is_unchanged(sample, kept[i], i, data[i], why, why_bytes);
    } else {
      burn_drop(kept[i]);
    }
  }
  const int64_t left = burn_device_memory(device).live_tensors;
  if (good && left != live) {
    snprintf(why, why_bytes, "%" PRId64 " tensors of the backend are left over after the call", left - live);
    good = false;
  }
  const BurnStatus failure = results->failure;
  if (!good) results_end(results);
  results->failure = failure;
  return good;
}
