/* average.c - see burn/train/average.h. All new values are there before the first is put into its place, so that a
 * failure changes nothing. */
#include <burn/quantizer.h>
#include <burn/train/average.h>

#include <stdlib.h>

/* The tensors of the module that is followed, in the order of rows; new ones of the average take their places. */
typedef struct Values {
  BurnTensor **tensors;
  size_t count, capacity, next;
  double decay;
} Values;

static BurnTensor *value_of(const BurnModuleTensor *tensor) {
  return tensor->param ? burn_param_value(tensor->param) : burn_buffer_value(tensor->buffer);
}

static BurnStatus count_one(void *context, const BurnModuleTensor *tensor) {
  Values *values = context;
  (void)tensor;
  values->capacity++;
  return BURN_OK;
}

static BurnStatus collect(void *context, const BurnModuleTensor *tensor) {
  Values *values = context;
  values->tensors[values->count++] = value_of(tensor);
  return BURN_OK;
}

static bool same_shape(BurnShape a, BurnShape b) {
  bool same = a.rank == b.rank;
  for (uint32_t i = 0; same && i < a.rank; i++) same = a.dims[i] == b.dims[i];
  return same;
}

static bool is_quantized(const BurnModuleTensor *tensor) {
  const BurnQuantTensor quantized = tensor->param ? burn_param_quant(tensor->param) : (BurnQuantTensor){.values = NULL};
  const bool is_there = quantized.values != NULL;
  burn_quant_drop(quantized);
  return is_there;
}

/* Takes both: the new value of a tensor of the average. */
static BurnTensor *blended(BurnTensor *own, BurnTensor *value, bool averages, double decay) {
  if (burn_is_tracked(own)) own = burn_detach(own);
  if (burn_is_tracked(value)) value = burn_detach(value);
  value = burn_to_device(value, burn_tensor_device(own));
  if (burn_dtype(value) != burn_dtype(own)) value = burn_cast(value, burn_dtype(own));
  if (averages) return burn_add(burn_mul_scalar(own, decay), burn_mul_scalar(value, 1 - decay));
  burn_drop(own);
  return value;
}

static BurnStatus blend(void *context, const BurnModuleTensor *tensor) {
  Values *values = context;
  if (values->next == values->count) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "average: the module has no %s", tensor->path);
  }
  if (is_quantized(tensor)) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "average: %s of the average is quantized; quantize a copy of it at the end", tensor->path);
  }
  BurnTensor *own = value_of(tensor), **place = &values->tensors[values->next++];
  BurnStatus status = burn_tensor_status(own);
  if (status == BURN_OK) status = burn_tensor_status(*place);
  if (status == BURN_OK && !same_shape(burn_shape(own), burn_shape(*place))) {
    status =
        burn_status_make(BURN_STATUS_INVALID_SHAPE, "average: %s is %s in the average and %s in the module",
                         tensor->path, burn_shape_text(burn_shape(own)).text, burn_shape_text(burn_shape(*place)).text);
  }
  if (status != BURN_OK) {
    burn_drop(own);
    return status;
  }
  const bool is_float = tensor->param && burn_dtype_kind(burn_dtype(own)) == BURN_KIND_FLOAT;
  *place = blended(own, *place, is_float && values->decay > 0, values->decay);
  return burn_status_annotate(burn_tensor_status(*place), "average: %s", tensor->path);
}

static BurnStatus put(void *context, const BurnModuleTensor *tensor) {
  Values *values = context;
  BurnTensor *value = values->tensors[values->next];
  values->tensors[values->next++] = NULL;
  if (tensor->param) {
    burn_param_set(tensor->param, value);
  } else {
    burn_buffer_set(tensor->buffer, value);
  }
  return BURN_OK;
}

static BurnStatus average_all(Values *values, BurnModule average, BurnModule module) {
  BurnStatus status = burn_module_visit(module, collect, values);
  if (status == BURN_OK) status = burn_module_visit(average, blend, values);
  if (status == BURN_OK && values->next < values->count) {
    status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "average: the module has %zu tensors, the average %zu",
                              values->count, values->next);
  }
  values->next = 0;
  return status == BURN_OK ? burn_module_visit(average, put, values) : status;
}

BurnStatus burn_module_average(BurnModule average, BurnModule module, double decay) {
  Values values = {.decay = decay};
  if (!(decay >= 0 && decay <= 1)) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "average: the decay is %g, 0 to 1 expected", decay);
  }
  BurnStatus status = burn_module_status(average);
  if (status == BURN_OK) status = burn_module_visit(module, count_one, &values);
  if (status != BURN_OK) return burn_status_annotate(status, "average");
  values.tensors = calloc(values.capacity + 1, sizeof *values.tensors);
  if (!values.tensors) {
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "average: no memory for %zu tensors", values.capacity);
  }
  status = average_all(&values, average, module);
  for (size_t i = 0; i < values.count; i++) burn_drop(values.tensors[i]);
  free(values.tensors);
  return status;
}
