/* ops_quantization.c - see burn/quantization.h: ranges, scales, the quantized tensor, and its bytes. Its ops are in
 * ops_quantization_moves.c. */
#include "null_check.h"
#include "quantization_internal.h"

#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  int low, high, bits;
} value_types[] = {
    [BURN_QUANT_Q8F] = {"Q8F", -128, 127, 8}, [BURN_QUANT_Q8S] = {"Q8S", -127, 127, 8},
    [BURN_QUANT_Q4F] = {"Q4F", -8, 7, 4},     [BURN_QUANT_Q4S] = {"Q4S", -7, 7, 4},
    [BURN_QUANT_Q2F] = {"Q2F", -2, 1, 2},     [BURN_QUANT_Q2S] = {"Q2S", -1, 1, 2},
};

const char *burn_quant_value_name(BurnQuantValue value) {
  return (unsigned)value < sizeof value_types / sizeof value_types[0] ? value_types[value].name : NULL;
}

void burn_quant_value_range(BurnQuantValue value, int *low, int *high, int *bits) {
  const bool known = (unsigned)value < sizeof value_types / sizeof value_types[0];
  *low = known ? value_types[value].low : 0;
  *high = known ? value_types[value].high : 0;
  *bits = known ? value_types[value].bits : 0;
}

/* -- schemes ---------------------------------------------------------------------------------- */

static BurnStatus resolve(const char *user, BurnShape shape, const BurnQuantScheme *scheme, BurnQuantBlocks *out) {
  *out = (BurnQuantBlocks){0};
  burn_quant_value_range(scheme->value, &out->low, &out->high, &out->bits);
  if (out->bits == 0) return BURN_FAIL(INVALID_ARGUMENT, "%s: there is no value type %d", user, (int)scheme->value);
  const BurnDType dtype = scheme->scale_dtype;
  if (dtype != BURN_DTYPE_F32 && dtype != BURN_DTYPE_F16 && dtype != BURN_DTYPE_BF16) {
    return BURN_FAIL(INVALID_DTYPE, "%s: scales are f32, f16 or bf16, not %s", user, burn_dtype_name(dtype));
  }
  out->scales = BURN_SHAPE(1);
  if (scheme->block_rank == 0 && !scheme->two_level) return BURN_OK;
  if (scheme->block_rank == 0 || scheme->block_rank > BURN_QUANT_BLOCK_RANK || scheme->block_rank > shape.rank) {
    return BURN_FAIL(INVALID_ARGUMENT, "%s: a block of rank %u for a tensor of rank %u", user, scheme->block_rank,
                     shape.rank);
  }
  out->scales = shape;
  for (uint32_t i = 0; i < shape.rank; i++) {
    const uint32_t before = shape.rank - scheme->block_rank;
    out->size[i] = i < before ? 1 : scheme->block[i - before];
    if (out->size[i] < 1 || shape.dims[i] % out->size[i] != 0) {
      BurnShapeText text;
      return BURN_FAIL(INVALID_SHAPE, "%s: blocks of %lld do not divide axis %u of %s", user, (long long)out->size[i],
                       i, burn__shape_text(&text, shape.rank, shape.dims));
    }
    out->scales.dims[i] = shape.dims[i] / out->size[i];
  }
  return BURN_OK;
}

bool burn__quant_fits(BurnTensor **x, const char *user, const BurnQuantScheme *scheme, BurnQuantBlocks *blocks) {
  BurnStatus status = burn__tensor_check(*x, user);
  if (status == BURN_OK) status = resolve(user, burn_shape(*x), scheme, blocks);
  if (status == BURN_OK) return true;
  burn__tensor_take(*x, user);
  *x = burn__tensor_failed(status);
  return false;
}

/* -- ranges and scales ------------------------------------------------------------------------ */

typedef BurnTensor *(*Reduction)(BurnTensor *x, int dim);

/* Takes x: reduced over its blocks, shaped as the scales. */
static BurnTensor *over_blocks(BurnTensor *x, const BurnQuantBlocks *blocks, Reduction reduction) {
  BurnShape shape = burn_shape(x);
  if (blocks->size[0] == 0) return reduction(burn__reshape_to(x, BURN_SHAPE(burn_element_count(x))), 0);
  for (uint32_t i = 0; i < shape.rank; i++) {
    if (blocks->size[i] == 1) continue;
    int64_t before = 1, after = 1;
    for (uint32_t k = 0; k < i; k++) before *= shape.dims[k];
    for (uint32_t k = i + 1; k < shape.rank; k++) after *= shape.dims[k];
    x = reduction(burn__reshape_to(x, BURN_SHAPE(before, blocks->scales.dims[i], blocks->size[i], after)), 2);
    shape.dims[i] = blocks->scales.dims[i];
    x = burn__reshape_to(x, shape);
  }
  return x;
}

void burn_quant_range(BurnTensor *x, BurnQuantScheme scheme, BurnQuantCalibration calibration, BurnTensor **low,
                      BurnTensor **high) {
  BurnQuantBlocks blocks;
  if (!burn__quant_fits(&x, "quant_range", &scheme, &blocks)) {
    *low = burn_clone(x);
    *high = x;
  } else if (calibration == BURN_QUANT_ABS_MEAN) {
    *high = over_blocks(burn_abs(x), &blocks, burn_mean_dim);
    *low = burn_neg(burn_clone(*high));
  } else if (calibration == BURN_QUANT_MIN_MAX) {
    *low = over_blocks(burn_clone(x), &blocks, burn_min_dim);
    *high = over_blocks(x, &blocks, burn_max_dim);
  } else {
    burn__tensor_take(x, "quant_range");
    *low =
        burn__tensor_failed(BURN_FAIL(INVALID_ARGUMENT, "quant_range: there is no calibration %d", (int)calibration));
    *high = burn_clone(*low);
  }
}

BurnQuantParameters burn_quant_parameters(BurnTensor *low, BurnTensor *high, BurnQuantScheme scheme) {
  BurnQuantParameters result = {NULL, NULL};
  int least, most, bits;
  burn_quant_value_range(scheme.value, &least, &most, &bits);
  if (bits == 0) {
    burn__tensor_take_all((BurnTensor *const[]){low, high}, 2, "quant_parameters");
    result.scales = burn__tensor_failed(
        BURN_FAIL(INVALID_ARGUMENT, "quant_parameters: there is no value type %d", (int)scheme.value));
    return result;
  }
  BurnTensor *reach = burn_cast(burn_max_pair(burn_abs(low), burn_abs(high)), BURN_DTYPE_F32);
  result.scales = burn_div_scalar(burn_mul_scalar(reach, 2), most - least);
  if (scheme.two_level) {
    BurnTensor *most_of_all = burn_max(burn_clone(result.scales)),
               *none = burn_equal_scalar(burn_clone(most_of_all), 0);
    result.global_scale = burn_mask_fill(most_of_all, none, 1); /* all zero: any scale will do */
    BurnTensor *divisor = burn_clone(result.global_scale);
    result.scales =
        burn_div(result.scales, burn_unsqueeze(divisor, burn_rank(result.scales) ? burn_rank(result.scales) : 1));
  }
  result.scales = burn_cast(result.scales, scheme.scale_dtype);
  return result;
}

/* Takes the parameters: one tensor of scales, in f32. */
static BurnTensor *all_scales(BurnQuantParameters parameters) {
  if (!parameters.global_scale) return parameters.scales;
  BurnTensor *scales = burn_cast(parameters.scales, BURN_DTYPE_F32);
  const uint32_t rank = burn_rank(scales);
  return burn_mul(scales, burn_unsqueeze(parameters.global_scale, rank ? rank : 1));
}

static BurnQuantParameters clone_parameters(const BurnQuantParameters *p) {
  return (BurnQuantParameters){burn_clone(p->scales), burn_clone(p->global_scale)};
}

/* -- there and back --------------------------------------------------------------------------- */

static BurnStatus check_parameters(const char *user, const BurnQuantScheme *scheme, const BurnQuantParameters *p) {
  const BurnStatus status = burn__tensor_check(p->scales, user);
  if (status != BURN_OK) return status;
  if (scheme->two_level == (p->global_scale != NULL)) return BURN_OK;
  return BURN_FAIL(INVALID_ARGUMENT, "%s: %s", user,
                   scheme->two_level ? "a scheme of two levels needs a global scale"
                                     : "a global scale needs a scheme of two levels");
}

BurnQuantTensor burn_quantize(BurnTensor *x, BurnQuantScheme scheme, BurnQuantParameters parameters) {
  BurnQuantTensor q = {NULL, parameters, scheme};
  BurnQuantBlocks blocks;
  BurnStatus status = check_parameters("quantize", &scheme, &parameters);
  if (status != BURN_OK) {
    burn__tensor_take(x, "quantize");
    q.values = burn__tensor_failed(status);
    return q;
  }
  q.values = x;
  if (!burn__quant_fits(&q.values, "quantize", &scheme, &blocks)) return q;
  const BurnAttr attrs[] = {burn_attr_i64s(blocks.size, BURN_MAX_RANK), burn_attr_f64(blocks.low),
                            burn_attr_f64(blocks.high), burn_attr_dtype(BURN_DTYPE_I8)};
  BurnTensor *const inputs[] = {q.values, all_scales(clone_parameters(&parameters))};
  q.values = burn__apply(BURN_OP_quantize, inputs, 2, attrs, 4);
  return q;
}

BurnQuantTensor burn_quantize_dynamic(BurnTensor *x, BurnQuantScheme scheme) {
  BurnTensor *low = NULL, *high = NULL;
  burn_quant_range(burn_clone(x), scheme, BURN_QUANT_MIN_MAX, &low, &high);
  return burn_quantize(x, scheme, burn_quant_parameters(low, high, scheme));
}

static BurnDType float_dtype_of(const BurnQuantTensor *q, BurnDType dtype) {
  return dtype == BURN_DTYPE_DEFAULT ? burn_device_float_dtype(burn_tensor_device(q->values)) : dtype;
}

/* Takes q, which becomes the inputs of an op: values and scales. */
static bool as_inputs(BurnQuantTensor *q, const char *user, BurnTensor **inputs, BurnQuantBlocks *blocks) {
  const bool valid = burn__quant_fits(&q->values, user, &q->scheme, blocks);
  inputs[0] = q->values;
  inputs[1] = all_scales(q->parameters);
  return valid;
}

BurnTensor *burn_dequantize(BurnQuantTensor q, BurnDType dtype) {
  BurnTensor *inputs[2];
  BurnQuantBlocks blocks;
  const BurnAttr result_dtype = burn_attr_dtype(float_dtype_of(&q, dtype));
  as_inputs(&q, "dequantize", inputs, &blocks); /* a failure is in the values then */
  const BurnAttr attrs[] = {burn_attr_i64s(blocks.size, BURN_MAX_RANK), result_dtype};
  return burn__apply(BURN_OP_dequantize, inputs, 2, attrs, 2);
}

BurnTensor *burn_quant_matmul(BurnQuantTensor lhs, BurnQuantTensor rhs, BurnDType dtype) {
  BurnTensor *inputs[4];
  BurnQuantBlocks left, right;
  const BurnAttr result_dtype = burn_attr_dtype(float_dtype_of(&lhs, dtype));
  as_inputs(&lhs, "quant_matmul", inputs, &left);
  as_inputs(&rhs, "quant_matmul", inputs + 2, &right);
  const BurnAttr attrs[] = {burn_attr_i64s(left.size, BURN_MAX_RANK), burn_attr_i64s(right.size, BURN_MAX_RANK),
                            result_dtype};
  return burn__apply(BURN_OP_quantized_matmul, inputs, 4, attrs, 3);
}

BurnTensor *burn_quant_conv2d(BurnQuantTensor x, BurnQuantTensor weight, BurnTensor *bias, BurnConv2dOptions options,
                              BurnDType dtype) {
  dtype = float_dtype_of(&x, dtype);
  if (options.asymmetric) {
    BurnTensor *floats = burn_dequantize(x, dtype);
    return burn_conv2d(floats, burn_dequantize(weight, dtype), bias, options);
  }
  BurnTensor *inputs[5] = {NULL, NULL, NULL, NULL, bias};
  BurnQuantBlocks of_x, of_weight;
  as_inputs(&x, "quant_conv2d", inputs, &of_x);
  as_inputs(&weight, "quant_conv2d", inputs + 2, &of_weight);
  const BurnAttr attrs[] = {burn_attr_i64s(options.stride, 2),
                            burn_attr_i64s(options.padding, 2),
                            burn_attr_i64s(options.dilation, 2),
                            burn_attr_i64(options.groups),
                            burn_attr_i64s(of_x.size, BURN_MAX_RANK),
                            burn_attr_i64s(of_weight.size, BURN_MAX_RANK),
                            burn_attr_dtype(dtype)};
  return burn__apply(BURN_OP_quantized_conv2d, inputs, 5, attrs, 7);
}

/* -- lifetime --------------------------------------------------------------------------------- */

BurnQuantTensor burn_quant_clone(const BurnQuantTensor *q) {
  if (!q) return (BurnQuantTensor){.values = burn_tensor_failed(BURN_REQUIRED(q, "a BurnQuantTensor"))};
  return (BurnQuantTensor){burn_clone(q->values), clone_parameters(&q->parameters), q->scheme};
}

void burn_quant_drop(BurnQuantTensor q) {
  burn_drop(q.values);
  burn_drop(q.parameters.scales);
  burn_drop(q.parameters.global_scale);
}

BurnStatus burn_quant_status(const BurnQuantTensor *q) {
  BurnStatus status = BURN_REQUIRED(q, "a BurnQuantTensor");
  if (status != BURN_OK) return status;
  status = burn_tensor_status(q->values);
  if (status == BURN_OK) status = burn_tensor_status(q->parameters.scales);
  return status == BURN_OK && q->parameters.global_scale ? burn_tensor_status(q->parameters.global_scale) : status;
}

/* -- bytes ------------------------------------------------------------------------------------ */

/* Where the parts of a quantized tensor stand. */
typedef struct Layout {
  BurnQuantBlocks blocks;
  size_t count, scale_count, scale_bytes;
  size_t scales_at, global_at, bytes;
} Layout;

static size_t whole_words(size_t bytes) { return (bytes + 3) / 4 * 4; }

static BurnStatus lay_out(const char *user, BurnShape shape, const BurnQuantScheme *scheme, Layout *out) {
  *out = (Layout){.count = 1, .scale_count = 1};
  if (shape.rank == 0 || shape.rank > BURN_MAX_RANK)
    return BURN_FAIL(INVALID_SHAPE, "%s: rank %u is not in 1..8", user, shape.rank);
  const BurnStatus status = resolve(user, shape, scheme, &out->blocks);
  if (status != BURN_OK) return status;
  BurnShapeText text;
  for (uint32_t i = 0; i < shape.rank; i++) {
    if (shape.dims[i] < 0 || (shape.dims[i] > 0 && out->count > SIZE_MAX / 16 / (size_t)shape.dims[i])) {
      return BURN_FAIL(INVALID_SHAPE, "%s: a tensor of shape %s is not possible", user,
                       burn__shape_text(&text, shape.rank, shape.dims));
    }
    out->count *= (size_t)shape.dims[i];
  }
  for (uint32_t i = 0; i < out->blocks.scales.rank; i++) out->scale_count *= (size_t)out->blocks.scales.dims[i];
  out->scale_bytes = out->scale_count * burn_dtype_bytes(scheme->scale_dtype);
  const size_t per_word = 32 / (size_t)out->blocks.bits;
  out->scales_at = (out->count / per_word + (out->count % per_word != 0)) * 4;
  out->bytes = out->scales_at + out->scale_bytes;
  if (!scheme->two_level) return BURN_OK;
  out->global_at = whole_words(out->bytes);
  out->bytes = out->global_at + sizeof(float);
  return BURN_OK;
}

size_t burn_quant_bytes(BurnShape shape, BurnQuantScheme scheme) {
  Layout layout;
  return lay_out("quant_bytes", shape, &scheme, &layout) == BURN_OK ? layout.bytes : 0;
}

/* The lowest `bits` of values, from the lowest bits of each byte up: little-endian words, as bytes. */
static void pack(const int8_t *values, size_t count, unsigned bits, uint8_t *out) {
  const unsigned per_byte = 8 / bits, mask = (1u << bits) - 1;
  for (size_t i = 0; i < count; i++) {
    const unsigned low = ((unsigned)(uint8_t)values[i] & mask) << (i % per_byte * bits);
    out[i / per_byte] = (uint8_t)(out[i / per_byte] | low);
  }
}

static void unpack(const uint8_t *data, size_t count, unsigned bits, int8_t *out) {
  const unsigned per_byte = 8 / bits, mask = (1u << bits) - 1, sign = 1u << (bits - 1);
  for (size_t i = 0; i < count; i++) {
    const unsigned field = (unsigned)(data[i / per_byte] >> (i % per_byte * bits)) & mask;
    out[i] = (int8_t)((int)(field ^ sign) - (int)sign); /* the sign bit continued upwards */
  }
}

static BurnStatus check_bytes(const char *user, const Layout *layout, const void *data, size_t bytes) {
  if (!data) return BURN_FAIL(INVALID_ARGUMENT, "%s: the data is NULL", user);
  if (bytes == layout->bytes) return BURN_OK;
  return BURN_FAIL(INVALID_ARGUMENT, "%s: %zu bytes given, the tensor has %zu", user, bytes, layout->bytes);
}

/* Takes the values and packs them. */
static BurnStatus export_values(BurnTensor *x, const Layout *layout, uint8_t *data) {
  int8_t *values = malloc(layout->count + 1);
  if (!values) {
    burn__tensor_take(x, "quant_export");
    return BURN_FAIL(OUT_OF_MEMORY, "quant_export: no memory for %zu values", layout->count);
  }
  const BurnStatus status = burn_read(x, values, layout->count);
  if (status == BURN_OK) pack(values, layout->count, (unsigned)layout->blocks.bits, data);
  free(values);
  return status;
}

BurnStatus burn_quant_export(BurnQuantTensor q, void *data, size_t bytes) {
  Layout layout;
  BurnStatus status = burn_quant_status(&q);
  if (status == BURN_OK) status = check_parameters("quant_export", &q.scheme, &q.parameters);
  if (status == BURN_OK) status = lay_out("quant_export", burn_shape(q.values), &q.scheme, &layout);
  if (status == BURN_OK) status = check_bytes("quant_export", &layout, data, bytes);
  if (status != BURN_OK) {
    burn_quant_drop(q);
    return status;
  }
  uint8_t *at = data;
  memset(at, 0, bytes);
  status = export_values(q.values, &layout, at);
  const BurnStatus scales = burn_read(q.parameters.scales, at + layout.scales_at, layout.scale_bytes);
  if (status == BURN_OK) status = scales;
  if (!q.parameters.global_scale) return status;
  const BurnStatus global = burn_read(q.parameters.global_scale, at + layout.global_at, sizeof(float));
  return status == BURN_OK ? global : status;
}

BurnQuantTensor burn_quant_import(BurnDevice *device, const void *data, size_t bytes, BurnShape shape,
                                  BurnQuantScheme scheme) {
  BurnQuantTensor q = {NULL, {NULL, NULL}, scheme};
  Layout layout;
  BurnStatus status = lay_out("quant_import", shape, &scheme, &layout);
  if (status == BURN_OK) status = check_bytes("quant_import", &layout, data, bytes);
  int8_t *values = status == BURN_OK ? malloc(layout.count + 1) : NULL;
  if (status == BURN_OK && !values) {
    status = BURN_FAIL(OUT_OF_MEMORY, "quant_import: no memory for %zu values", layout.count);
  }
  if (status != BURN_OK) {
    q.values = burn__tensor_failed(status);
    return q;
  }
  const uint8_t *at = data;
  unpack(at, layout.count, (unsigned)layout.blocks.bits, values);
  q.values = burn_tensor_from(device, values, BURN_DTYPE_I8, shape);
  free(values);
  q.parameters.scales = burn_tensor_from(device, at + layout.scales_at, scheme.scale_dtype, layout.blocks.scales);
  if (scheme.two_level) {
    q.parameters.global_scale = burn_tensor_from(device, at + layout.global_at, BURN_DTYPE_F32, BURN_SHAPE(1));
  }
  return q;
}
