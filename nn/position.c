/* position.c - encodings of positions. None has parameters, so what is wrong with a config is reported by the forward
 * pass. */
#include <burn/nn/position.h>

#include "nn_internal.h"

#include <math.h>

#define REFUSE(x, code, ...) refused((x), burn_status_make(BURN_STATUS_##code, __VA_ARGS__))

/* Takes x. */
static BurnTensor *refused(BurnTensor *x, BurnStatus status) {
  burn_drop(x);
  return burn_tensor_failed(status);
}

/* The dtype of angles for an x: half precision does not tell positions apart. */
static BurnDType angle_dtype(const BurnTensor *x) {
  return burn_dtype(x) == BURN_DTYPE_F64 ? BURN_DTYPE_F64 : BURN_DTYPE_F32;
}

/* start, start + step, .. before end as floats [count]. */
static BurnTensor *numbers(BurnDevice *device, int64_t start, int64_t end, int64_t step, BurnDType dtype) {
  return burn_cast(burn_arange(device, start, end, step), dtype);
}

/* base^(-k / width) for the even k below width: [width / 2]. */
static BurnTensor *frequencies(BurnDevice *device, double base, int64_t width, BurnDType dtype) {
  const double slope = -log(base) / (double)width;
  return burn_exp(burn_mul_scalar(numbers(device, 0, width, 2, dtype), slope));
}

/* Positions start .. start + steps - 1 times frequencies [half] (taken): [steps, half]. */
static BurnTensor *angles(BurnTensor *theta, int64_t start, int64_t steps) {
  BurnDevice *device = burn_tensor_device(theta);
  if (!device) return theta;
  BurnTensor *position = numbers(device, start, start + steps, 1, burn_dtype(theta));
  return burn_mul(burn_unsqueeze_dim(position, 1), burn_unsqueeze_dim(theta, 0));
}

/* -- added to tokens -------------------------------------------------------------------------- */

/* BURN_OK if the config makes sense. */
static BurnStatus check_positional(const BurnPositionalEncoding *m) {
  const char *layer = "positional_encoding";
  const BurnNnSize sizes[] = {
      {"d_model", m->d_model}, {"max_sequence_size", m->max_sequence_size}, {"max_timescale", m->max_timescale}};
  const BurnStatus status = burn_nn_check_sizes(layer, sizes, 3);
  if (status != BURN_OK) return status;
  if (m->d_model % 2)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: d_model %zu is odd", layer, m->d_model);
  if (m->max_timescale >= m->max_sequence_size) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: max_timescale %zu is below max_sequence_size %zu", layer,
                          m->max_timescale, m->max_sequence_size);
}

/* BURN_OK if the input fits. A failed one has rank 0 and is left to the ops. */
static BurnStatus check_tokens(const BurnPositionalEncoding *m, const BurnTensor *x) {
  const char *layer = "positional_encoding";
  const BurnShape shape = burn_shape(x);
  if (shape.rank == 0) return BURN_OK;
  if (shape.rank != 3 || shape.dims[2] != (int64_t)m->d_model) {
    return burn_status_make(BURN_STATUS_INVALID_SHAPE, "%s: x %s, expected [batch, steps, %zu]", layer,
                            burn_shape_text(shape).text, m->d_model);
  }
  if (shape.dims[1] <= (int64_t)m->max_sequence_size) return BURN_OK;
  return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "%s: %lld steps, max_sequence_size is %zu", layer,
                          (long long)shape.dims[1], m->max_sequence_size);
}

/* [1, max_sequence_size, d_model] */
static BurnTensor *sinusoids(const BurnPositionalEncoding *m, BurnDevice *device) {
  const int64_t steps = (int64_t)m->max_sequence_size, width = (int64_t)m->d_model;
  const BurnDType dtype = burn_device_float_dtype(device) == BURN_DTYPE_F64 ? BURN_DTYPE_F64 : BURN_DTYPE_F32;
  BurnTensor *angle = angles(frequencies(device, (double)m->max_timescale, width, dtype), 0, steps);
  BurnTensor *sines = burn_sin(burn_clone(angle));
  BurnTensor *table = burn_stack((BurnTensor *const[]){sines, burn_cos(angle)}, 2, 2);
  return burn_reshape(table, BURN_SHAPE(1, steps, width));
}

BurnPositionalEncoding burn_positional_encoding_init(const BurnPositionalEncodingConfig *config, BurnDevice *device) {
  if (!config) return (BurnPositionalEncoding){.d_model = BURN_NN_NO_CONFIG};
  BurnPositionalEncoding m = {.max_sequence_size = config->max_sequence_size,
                              .max_timescale = config->max_timescale,
                              .d_model = config->d_model};
  if (check_positional(&m) == BURN_OK) m.sinusoids = burn_constant(sinusoids(&m, device));
  return m;
}

/* The rows of the table for x, in its dtype, on its device. */
static BurnTensor *rows_for(const BurnPositionalEncoding *m, const BurnTensor *x) {
  BurnTensor *table = burn_narrow(burn_constant_value(&m->sinusoids), 1, 0, burn_dim(x, 1));
  return burn_cast(burn_to_device(table, burn_tensor_device(x)), burn_dtype(x));
}

BurnTensor *burn_positional_encoding_forward(const BurnPositionalEncoding *m, BurnTensor *x) {
  if (!m) return BURN_NN_NO_MODULE(x);
  if (m->d_model == BURN_NN_NO_CONFIG) {
    return burn_nn_no_config(x, BurnPositionalEncodingConfig_type(), "positional_encoding");
  }
  BurnStatus status = check_positional(m);
  if (status == BURN_OK) status = check_tokens(m, x);
  if (status != BURN_OK) return refused(x, status);
  if (burn_element_count(x) == 0) return x; /* failed or empty */
  BurnTensor *table = rows_for(m, x);
  return burn_add(x, table);
}

/* -- as a rotation ---------------------------------------------------------------------------- */

BurnRotaryEncoding burn_rotary_encoding_init(const BurnRotaryEncodingConfig *config, BurnDevice *device) {
  (void)device;
  if (!config) return (BurnRotaryEncoding){.d_model = BURN_NN_NO_CONFIG};
  return (BurnRotaryEncoding){
      .max_sequence_length = config->max_sequence_length, .d_model = config->d_model, .base = config->theta};
}

static BurnStatus check_rotary(const BurnRotaryEncoding *m) {
  const char *layer = "rotary_encoding";
  const BurnNnSize sizes[] = {{"max_sequence_length", m->max_sequence_length}, {"d_model", m->d_model}};
  const BurnStatus status = burn_nn_check_sizes(layer, sizes, 2);
  if (status != BURN_OK) return status;
  if (m->d_model % 2)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: d_model %zu is odd", layer, m->d_model);
  if (isfinite(m->base) && m->base > 0) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: theta %g is not above 0", layer, m->base);
}

/* BURN_OK if x (borrowed, not failed) can be turned from `start` on. */
static BurnStatus check_turned(const BurnRotaryEncoding *m, const BurnTensor *x, size_t start) {
  const BurnShape shape = burn_shape(x);
  if (shape.rank < 2 || shape.dims[shape.rank - 1] != (int64_t)m->d_model) {
    return burn_status_make(BURN_STATUS_INVALID_SHAPE, "rotary_encoding: x %s, expected [.., steps, %zu]",
                            burn_shape_text(shape).text, m->d_model);
  }
  const size_t steps = (size_t)shape.dims[shape.rank - 2];
  if (start <= m->max_sequence_length && steps <= m->max_sequence_length - start) return BURN_OK;
  return burn_status_make(BURN_STATUS_OUT_OF_RANGE,
                          "rotary_encoding: %zu steps from position %zu on, max_sequence_length is %zu", steps, start,
                          m->max_sequence_length);
}

BurnTensor *burn_rotary_encoding_frequencies(const BurnRotaryEncoding *m, BurnDevice *device) {
  if (!m) return BURN_NN_NO_MODULE(NULL);
  const BurnStatus status = check_rotary(m);
  BurnTensor *theta = burn_constant_value(&m->theta);
  if (status != BURN_OK) return refused(theta, status);
  if (theta) return burn_cast(burn_to_device(theta, device), BURN_DTYPE_F32);
  return frequencies(device, m->base, (int64_t)m->d_model, BURN_DTYPE_F32);
}

void burn_rotary_encoding_set_frequencies(BurnRotaryEncoding *m, BurnTensor *theta) {
  if (!m) {
    burn_drop(theta);
    return;
  }
  const BurnShape shape = burn_shape(theta);
  if (shape.rank != 0 && (shape.rank != 1 || shape.dims[0] != (int64_t)(m->d_model / 2))) {
    theta = REFUSE(theta, INVALID_SHAPE, "rotary_encoding: frequencies %s, expected [%zu]", burn_shape_text(shape).text,
                   m->d_model / 2);
  }
  burn_drop(m->theta.value);
  m->theta = burn_constant(theta);
}

/* Frequencies in the dtype of x's angles; the default ones are exact in it. */
static BurnTensor *frequencies_for(const BurnRotaryEncoding *m, const BurnTensor *x) {
  BurnDevice *device = burn_tensor_device(x);
  if (!m->theta.value) return frequencies(device, m->base, (int64_t)m->d_model, angle_dtype(x));
  return burn_cast(burn_to_device(burn_constant_value(&m->theta), device), angle_dtype(x));
}

/* x [n, steps, half, 2] turned by angle [steps, half] (both taken). */
static BurnTensor *turned(BurnTensor *x, BurnTensor *angle) {
  const BurnDType dtype = burn_dtype(x);
  angle = burn_unsqueeze_dim(burn_unsqueeze_dim(angle, 0), 3); /* [1, steps, half, 1] */
  BurnTensor *sines = burn_cast(burn_sin(burn_clone(angle)), dtype), *cosines = burn_cast(burn_cos(angle), dtype);
  BurnTensor *a = burn_narrow(burn_clone(x), 3, 0, 1), *b = burn_narrow(x, 3, 1, 1);
  BurnTensor *first = burn_mul(burn_clone(a), burn_clone(cosines)), *second = burn_mul(burn_clone(b), cosines);
  first = burn_sub(first, burn_mul(b, burn_clone(sines)));
  second = burn_add(second, burn_mul(a, sines));
  return burn_cat((BurnTensor *const[]){first, second}, 2, 3);
}

BurnTensor *burn_rotary_encoding_apply(const BurnRotaryEncoding *m, BurnTensor *x, size_t start) {
  if (!m) return BURN_NN_NO_MODULE(x);
  const BurnShape shape = burn_shape(x);
  const int64_t width = (int64_t)m->d_model;
  if (m->d_model == BURN_NN_NO_CONFIG) return burn_nn_no_config(x, BurnRotaryEncodingConfig_type(), "rotary_encoding");
  BurnStatus status = check_rotary(m);
  if (status == BURN_OK && shape.rank != 0) status = check_turned(m, x, start);
  if (status != BURN_OK) return refused(x, status);
  if (burn_element_count(x) == 0) return x; /* failed or empty */
  const int64_t steps = shape.dims[shape.rank - 2];
  BurnTensor *angle = angles(frequencies_for(m, x), (int64_t)(m->start_offset + start), steps);
  x = burn_reshape(x, BURN_SHAPE(-1, steps, width / 2, 2));
  return burn_reshape(turned(x, angle), shape);
}

BurnTensor *burn_rotary_encoding_forward(const BurnRotaryEncoding *m, BurnTensor *x) {
  return burn_rotary_encoding_apply(m, x, 0);
}

BurnStatus burn_rotary_encoding_shift(BurnRotaryEncoding *m, size_t start) {
  if (!m) return burn_nn_no_module_status(__func__);
  if (start <= m->start_offset || start > INT32_MAX) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "rotary_encoding: cannot shift to %zu: positions start at %zu and only move on, to %ld",
                            start, m->start_offset, (long)INT32_MAX);
  }
  m->start_offset = start;
  return BURN_OK;
}

void burn_rotary_encoding_reset(BurnRotaryEncoding *m) {
  if (m) m->start_offset = 0;
}

/* -- as a bias -------------------------------------------------------------------------------- */

BurnAlibi burn_alibi_init(const BurnAlibiConfig *config, BurnDevice *device) {
  (void)device;
  return (BurnAlibi){config ? config->n_heads : BURN_NN_NO_CONFIG};
}

/* The slopes of all heads, [1, n_heads, 1, 1]. */
static BurnTensor *slopes(BurnDevice *device, int64_t heads, BurnDType dtype) {
  int64_t power = 1;
  while (power <= heads / 2) power *= 2;
  BurnTensor *exponent = burn_mul_scalar(numbers(device, 1, power + 1, 1, dtype), -8.0 / (double)power);
  if (heads > power) {
    BurnTensor *between = burn_mul_scalar(numbers(device, 1, 2 * (heads - power), 2, dtype), -4.0 / (double)power);
    exponent = burn_cat((BurnTensor *const[]){exponent, between}, 2, 0);
  }
  return burn_reshape(burn_exp(burn_mul_scalar(exponent, log(2))), BURN_SHAPE(1, heads, 1, 1));
}

BurnTensor *burn_alibi_bias(const BurnAlibi *m, int64_t queries, int64_t keys, BurnDType dtype, BurnDevice *device) {
  if (!m) return BURN_NN_NO_MODULE(NULL);
  const BurnNnSize sizes[] = {{"n_heads", m->n_heads}};
  if (m->n_heads == BURN_NN_NO_CONFIG) return burn_nn_no_config(NULL, BurnAlibiConfig_type(), "alibi");
  const BurnStatus status = burn_nn_check_sizes("alibi", sizes, 1);
  if (status != BURN_OK) return burn_tensor_failed(status);
  const BurnDType exact = dtype == BURN_DTYPE_F64 ? BURN_DTYPE_F64 : BURN_DTYPE_F32;
  BurnTensor *query = burn_reshape(numbers(device, keys - queries, keys, 1, exact), BURN_SHAPE(1, 1, queries, 1));
  BurnTensor *key = burn_reshape(numbers(device, 0, keys, 1, exact), BURN_SHAPE(1, 1, 1, keys));
  BurnTensor *distance = burn_neg(burn_abs(burn_sub(query, key)));
  BurnTensor *bias = burn_mul(distance, slopes(device, (int64_t)m->n_heads, exact));
  return dtype == BURN_DTYPE_DEFAULT ? burn_float(bias) : burn_cast(bias, dtype);
}

BurnTensor *burn_alibi_forward(const BurnAlibi *m, BurnTensor *scores) {
  if (!m) return BURN_NN_NO_MODULE(scores);
  const BurnShape shape = burn_shape(scores);
  if (shape.rank == 0) return scores;
  if (shape.rank != 4) {
    return REFUSE(scores, INVALID_SHAPE, "alibi: scores %s, expected [batch, heads, queries, keys]",
                  burn_shape_text(shape).text);
  }
  BurnTensor *bias = burn_alibi_bias(m, shape.dims[2], shape.dims[3], burn_dtype(scores), burn_tensor_device(scores));
  return burn_add(scores, bias);
}
