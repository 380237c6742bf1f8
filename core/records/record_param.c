/* record_param.c - parameters as tensors of a record, and back: plain ones, and quantized ones in Burn's layout.
 *
 * The dtype of a quantized tensor is {"QFloat": scheme}, its bytes are those of burn_quant_export. Burn's schemes have
 * two forms, both of which are read; the newer one is written only where the older one has no word for two levels:
 *
 *   0.20   {value, param, store, level: "Tensor" | {"Block": size}, mode}
 *   later  {value, store, mode, tensor: dtype | nil, block: {size, dtype} | nil}      size: {storage: [5 sizes], len}
 *
 * Burn keeps sizes of blocks in a byte. Larger ones are written as the integers they are; Burn does not read those. */
#include "host_convert.h"
#include "module_internal.h"
#include "record_internal.h"

#include <burn/autodiff.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- schemes ---------------------------------------------------------------------------------- */

static BurnValue *size_to_value(const BurnQuantScheme *scheme) {
  BurnValue *size = burn_value_map(), *storage = burn_value_array();
  for (uint32_t i = 0; i < BURN_QUANT_BLOCK_RANK; i++)
    (void)burn_value_append(storage, burn_value_int(i < scheme->block_rank ? scheme->block[i] : 1));
  (void)burn_value_set(size, "storage", storage);
  (void)burn_value_set(size, "len", burn_value_int(scheme->block_rank));
  return size;
}

static BurnValue *map_of_one(const char *key, BurnValue *child) {
  BurnValue *map = burn_value_map();
  (void)burn_value_set(map, key, child);
  return map;
}

BurnValue *burn__record_scheme(const BurnQuantScheme *scheme) {
  const char *dtype = burn__record_dtype_label(scheme->scale_dtype);
  BurnValue *map = burn_value_map();
  (void)burn_value_set(map, "value", burn_value_text(burn_quant_value_name(scheme->value)));
  if (!scheme->two_level) (void)burn_value_set(map, "param", burn_value_text(dtype));
  (void)burn_value_set(map, "store", map_of_one("PackedU32", burn_value_int(0)));
  if (scheme->two_level) {
    BurnValue *block = map_of_one("size", size_to_value(scheme));
    (void)burn_value_set(block, "dtype", burn_value_text(dtype));
    (void)burn_value_set(map, "tensor", burn_value_text("F32"));
    (void)burn_value_set(map, "block", block);
  } else {
    (void)burn_value_set(map, "level",
                         scheme->block_rank ? map_of_one("Block", size_to_value(scheme)) : burn_value_text("Tensor"));
  }
  (void)burn_value_set(map, "mode", burn_value_text("Symmetric"));
  return map_of_one("QFloat", map);
}

static BurnStatus bad_scheme(const char *what) {
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "tensor: QFloat with %s", what);
}

static BurnStatus read_value_type(const BurnValue *value, BurnQuantScheme *out) {
  const char *text = burn_value_as_text(value, "?");
  for (unsigned i = 0; burn_quant_value_name((BurnQuantValue)i); i++) {
    if (strcmp(text, burn_quant_value_name((BurnQuantValue)i)) != 0) continue;
    out->value = (BurnQuantValue)i;
    return BURN_OK;
  }
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "tensor: QFloat of values \"%.20s\", which are not supported",
                          text);
}

static BurnStatus read_scale_dtype(const BurnValue *value, BurnQuantScheme *out) {
  static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_F16, BURN_DTYPE_BF16};
  const char *text = burn_value_as_text(value, "?");
  for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
    if (strcmp(text, burn__record_dtype_label(dtypes[i])) != 0) continue;
    out->scale_dtype = dtypes[i];
    return BURN_OK;
  }
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "tensor: QFloat with scales of \"%.20s\", not F32, F16 or BF16",
                          text);
}

/* Values of 8 bits lie alike in both stores, if they fill their words; else the number of bytes is not ours. */
static BurnStatus check_store(const BurnValue *store, const BurnQuantScheme *scheme) {
  int low, high, bits;
  burn_quant_value_range(scheme->value, &low, &high, &bits);
  if (strcmp(burn_value_as_text(store, ""), "Native") == 0 && bits == 8) return BURN_OK;
  if (burn_value_count(store) == 1 && burn_value_as_int(burn_value_get(store, "PackedU32"), -1) == 0) return BURN_OK;
  return bad_scheme("a store that is not supported: PackedU32 along the last axis, or Native with 8 bits, expected");
}

static BurnStatus read_block(const BurnValue *size, BurnQuantScheme *out) {
  const BurnValue *storage = burn_value_get(size, "storage");
  const int64_t rank = burn_value_as_int(burn_value_get(size, "len"), -1);
  if (burn_value_kind(storage) != BURN_VALUE_ARRAY || rank < 0 || rank > BURN_QUANT_BLOCK_RANK ||
      (size_t)rank > burn_value_count(storage)) {
    return bad_scheme("a block that is no {storage, len} of up to 5 sizes");
  }
  out->block_rank = rank ? (uint32_t)rank : 1;
  out->block[0] = 1; /* Burn leaves leading ones away: none is left of a block of one element */
  for (size_t i = 0; i < (size_t)rank; i++) {
    out->block[i] = burn_value_as_int(burn_value_at(storage, i), 0);
    if (out->block[i] < 1) return bad_scheme("a block with a size below 1");
  }
  return BURN_OK;
}

/* The form with param and level. */
static BurnStatus read_level(const BurnValue *map, BurnQuantScheme *out) {
  const BurnValue *level = burn_value_get(map, "level");
  const BurnStatus status = read_scale_dtype(burn_value_get(map, "param"), out);
  if (status != BURN_OK || strcmp(burn_value_as_text(level, ""), "Tensor") == 0) return status;
  if (burn_value_count(level) != 1 || !burn_value_get(level, "Block"))
    return bad_scheme("a level that is neither Tensor nor Block");
  return read_block(burn_value_get(level, "Block"), out);
}

/* The form with tensor and block. */
static BurnStatus read_scales(const BurnValue *map, BurnQuantScheme *out) {
  const BurnValue *tensor = burn_value_get(map, "tensor"), *block = burn_value_get(map, "block");
  const bool has_tensor = burn_value_kind(tensor) != BURN_VALUE_NIL;
  if (burn_value_kind(block) == BURN_VALUE_NIL) return has_tensor ? read_scale_dtype(tensor, out) : BURN_OK;
  if (has_tensor && strcmp(burn_value_as_text(tensor, ""), "F32") != 0)
    return bad_scheme("a global scale that is not F32");
  out->two_level = has_tensor;
  const BurnStatus status = read_scale_dtype(burn_value_get(block, "dtype"), out);
  return status == BURN_OK ? read_block(burn_value_get(block, "size"), out) : status;
}

static BurnStatus read_scheme(const BurnValue *map, BurnQuantScheme *out) {
  *out = BURN_QUANT_SCHEME;
  if (burn_value_kind(map) != BURN_VALUE_MAP) return bad_scheme("a scheme that is not a map");
  if (strcmp(burn_value_as_text(burn_value_get(map, "mode"), ""), "Symmetric") != 0)
    return bad_scheme("a mode that is not Symmetric");
  BurnStatus status = read_value_type(burn_value_get(map, "value"), out);
  if (status == BURN_OK) status = check_store(burn_value_get(map, "store"), out);
  if (status != BURN_OK) return status;
  return burn_value_get(map, "level") ? read_level(map, out) : read_scales(map, out);
}

/* -- quantized tensors ------------------------------------------------------------------------- */

/* Of `bytes` bytes at `borrowed`, or, if that is NULL, with as many of its own, uninitialised. */
static BurnStatus new_quantized(const BurnShape *shape, const BurnQuantScheme *scheme, size_t bytes,
                                const uint8_t *borrowed, BurnValue **out) {
  BurnHostTensor tensor = {.dtype = BURN_DTYPE_I8,
                           .shape = *shape,
                           .count = 1,
                           .bytes = bytes,
                           .data = borrowed ? (uint8_t *)(uintptr_t)borrowed : malloc(bytes ? bytes : 1),
                           .is_borrowed = borrowed != NULL,
                           .is_quantized = true,
                           .scheme = *scheme};
  for (uint32_t i = 0; i < shape->rank; i++) tensor.count *= (size_t)shape->dims[i];
  return burn__value_of_host(&tensor, out);
}

BurnStatus burn__record_make_quantized(const BurnValue *scheme_map, const BurnShape *shape, const BurnRecordBytes *data,
                                       BurnValue **out) {
  const size_t count = data->count;
  BurnQuantScheme scheme;
  size_t elements = 0, value_bytes = 0;
  BurnStatus status = read_scheme(scheme_map, &scheme);
  if (status != BURN_OK) return status;
  const bool fits = burn__shape_bytes(shape, 1, &elements, &value_bytes);
  const size_t wanted = fits ? burn_quant_bytes(*shape, scheme) : 0;
  if (!fits || (wanted == 0 && elements > 0) || wanted != count) {
    return burn_status_make(BURN_STATUS_CORRUPT_DATA,
                            "tensor: %zu bytes do not make shape %s of quantized %s with its scales", count,
                            burn_shape_text(*shape).text, burn_quant_value_name(scheme.value));
  }
  if (burn__record_can_borrow(data)) return new_quantized(shape, &scheme, count, data->bytes, out);
  status = new_quantized(shape, &scheme, count, NULL, out);
  if (status == BURN_OK && count) memcpy((*out)->as.tensor->data, data->bytes, count);
  return status;
}

static BurnQuantTensor import_quantized(const BurnHostTensor *host, BurnDevice *device) {
  return burn_quant_import(device, host->data, host->bytes, host->shape, host->scheme);
}

BurnTensor *burn__host_tensor_on(const BurnHostTensor *host, BurnDevice *device) {
  if (host->is_quantized) return burn_dequantize(import_quantized(host, device), BURN_DTYPE_DEFAULT);
  return burn_tensor_from(device, host->data, host->dtype, host->shape);
}

/* -- parameters to values ---------------------------------------------------------------------- */

static BurnStatus quantized_to_value(const BurnParam *param, BurnValue **out) {
  BurnStatus status = burn__param_status(param);
  if (status != BURN_OK) return status;
  BurnQuantTensor q = burn_param_quant(param);
  if (param->transposed) q = burn_quant_transpose(q);
  const BurnShape shape = burn_shape(q.values);
  const size_t bytes = burn_quant_bytes(shape, q.scheme);
  status = new_quantized(&shape, &q.scheme, bytes, NULL, out);
  if (status != BURN_OK) {
    burn_quant_drop(q);
    return status;
  }
  status = burn_quant_export(q, (*out)->as.tensor->data, bytes);
  if (status == BURN_OK) return BURN_OK;
  burn_value_destroy(*out);
  *out = NULL;
  return status;
}

BurnStatus burn__record_tensor_value(const BurnModuleTensor *tensor, BurnValue **out) {
  if (tensor->param && burn__param_is_quantized(tensor->param)) return quantized_to_value(tensor->param, out);
  BurnTensor *x = burn__stored(tensor);
  if (x && tensor->param && tensor->param->transposed) x = burn_transpose(x);
  return x ? burn__value_from_tensor(x, out) : BURN_OK;
}

char *burn__record_input_scale_name(const char *path) {
  static const char name[] = ".input_scale";
  const size_t length = strlen(path);
  char *text = malloc(length + sizeof name);
  if (!text) return NULL;
  memcpy(text, path, length);
  memcpy(text + length, name, sizeof name);
  return text;
}

BurnStatus burn__record_input_scale(const BurnParam *param, BurnValue **out) {
  double scale = 0;
  *out = NULL;
  if (!param->extra || param->extra->input != BURN_PARAM_INPUT_FIXED) return BURN_OK;
  const BurnStatus status = burn_read_scalar(burn_clone(param->extra->input_scale), &scale);
  if (status == BURN_OK) *out = burn_value_float(scale);
  return status;
}

/* -- values to parameters ---------------------------------------------------------------------- */

/* A tensor with the file's values, of a dtype, on a device. */
static BurnStatus make_floats(const BurnHostTensor *host, BurnDType dtype, BurnDevice *device, BurnTensor **out) {
  void *converted = NULL;
  const void *data = host->data;
  if (dtype != host->dtype || burn_dtype_kind(dtype) == BURN_KIND_BOOL) {
    size_t bytes = host->count * burn_dtype_bytes(dtype);
    data = converted = malloc(bytes ? bytes : 1);
    if (!converted) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu bytes", bytes);
    BurnStatus status = burn__host_convert(converted, dtype, host->data, host->dtype, host->count);
    if (status != BURN_OK) {
      free(converted);
      return status;
    }
  }
  *out = burn_tensor_from(device, data, dtype, host->shape);
  free(converted);
  return BURN_OK;
}

BurnStatus burn__record_make_like(const BurnTensor *like, BurnDType dtype, const BurnHostTensor *host, bool transposed,
                                  BurnTensor **out) {
  BurnDevice *device = burn_tensor_device(like);
  BurnTensor *made = NULL;
  BurnStatus status = BURN_OK;
  if (host->is_quantized) {
    made = burn_dequantize(import_quantized(host, device), dtype);
  } else {
    status = make_floats(host, dtype, device, &made);
  }
  if (status != BURN_OK) return status;
  if (transposed) made = burn_transpose(made);
  if (burn_is_require_grad(like)) made = burn_require_grad(made);
  status = burn_tensor_status(made);
  if (status != BURN_OK) {
    burn_drop(made);
    return status;
  }
  *out = made;
  return BURN_OK;
}

static BurnStatus read_input_scale(const BurnValue *value, BurnDevice *device, BurnTensor **out) {
  const double scale = burn_value_as_float(value, -1);
  const float narrow = (float)scale;
  if (!(scale >= 0) || !isfinite(narrow)) {
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "input_scale is not a finite number of 0 or more");
  }
  *out = burn_tensor_f32(device, &narrow, BURN_SHAPE(1));
  return burn_tensor_status(*out);
}

BurnStatus burn__record_make_param(const BurnParam *param, BurnDType dtype, const BurnHostTensor *host,
                                   const BurnValue *input_scale, BurnRecordParam *out) {
  BurnDevice *device = burn_tensor_device(param->value);
  *out = (BurnRecordParam){.dtype = dtype};
  if (!host->is_quantized && input_scale)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "an input_scale without a quantized weight");
  if (!host->is_quantized)
    return burn__record_make_like(param->value, dtype, host, param->transposed, &out->quant.values);
  out->is_quantized = true;
  out->quant = import_quantized(host, device);
  if (param->transposed) out->quant = burn_quant_transpose(out->quant);
  BurnStatus status = burn_quant_status(&out->quant);
  if (status == BURN_OK && input_scale) status = read_input_scale(input_scale, device, &out->input_scale);
  if (status != BURN_OK) burn__record_param_drop(out);
  return status;
}

void burn__record_param_drop(BurnRecordParam *made) {
  burn_quant_drop(made->quant);
  burn_drop(made->input_scale);
  *made = (BurnRecordParam){.is_quantized = false};
}

void burn__record_set_param(BurnParam *param, BurnRecordParam *made) {
  if (made->is_quantized) {
    burn__param_quantize(param, made->quant, made->dtype);
    if (made->input_scale && burn__param_is_quantized(param)) burn__param_set_input(param, made->input_scale);
  } else {
    burn__param_replace(param, made->quant.values);
  }
}
