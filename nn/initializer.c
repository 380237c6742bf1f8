/* initializer.c - the descriptor of BurnInitializer, and first values from it. */
#include <burn/linalg.h>

#include "nn_internal.h"

#include <math.h>

#define FIELD(name, Type, doc) \
  { #name, Type##_type, offsetof(BurnInitializer, name), doc, true }
static const BurnField constant_fields[] = {FIELD(value, BurnF64, "everywhere")};
static const BurnField uniform_fields[] = {FIELD(min, BurnF64, "least value"),
                                           FIELD(max, BurnF64, "upper bound, excluded")};
static const BurnField normal_fields[] = {FIELD(mean, BurnF64, "mean"), FIELD(std, BurnF64, "standard deviation")};
static const BurnField kaiming_fields[] = {FIELD(gain, BurnF64, "factor of the spread"),
                                           FIELD(fan_out_only, BurnBool, "spread by fan_out instead of fan_in")};
static const BurnField xavier_fields[] = {FIELD(gain, BurnF64, "factor of the spread")};
static const BurnField orthogonal_fields[] = {FIELD(gain, BurnF64, "factor of the matrix")};
#undef FIELD

static const BurnVariant variants[] = {
    [BURN_INITIALIZER_CONSTANT] = {"Constant", 1, constant_fields},
    [BURN_INITIALIZER_ONES] = {"Ones", 0, NULL},
    [BURN_INITIALIZER_ZEROS] = {"Zeros", 0, NULL},
    [BURN_INITIALIZER_UNIFORM] = {"Uniform", 2, uniform_fields},
    [BURN_INITIALIZER_NORMAL] = {"Normal", 2, normal_fields},
    [BURN_INITIALIZER_KAIMING_UNIFORM] = {"KaimingUniform", 2, kaiming_fields},
    [BURN_INITIALIZER_KAIMING_NORMAL] = {"KaimingNormal", 2, kaiming_fields},
    [BURN_INITIALIZER_XAVIER_UNIFORM] = {"XavierUniform", 1, xavier_fields},
    [BURN_INITIALIZER_XAVIER_NORMAL] = {"XavierNormal", 1, xavier_fields},
    [BURN_INITIALIZER_ORTHOGONAL] = {"Orthogonal", 1, orthogonal_fields},
};

const BurnType *BurnInitializer_type(void) {
  static const BurnType type = {.kind = BURN_TYPE_VARIANT,
                                .name = "BurnInitializer",
                                .bytes = sizeof(BurnInitializer),
                                .count = sizeof variants / sizeof variants[0],
                                .variants = variants};
  return &type;
}

/* Uniform in [low, high); one value when they are equal, which a random range cannot be. */
static BurnTensor *uniform(BurnDevice *device, BurnShape shape, double low, double high) {
  if (low == high) return burn_full(device, shape, BURN_DTYPE_DEFAULT, low);
  return burn_random_uniform(device, shape, BURN_DTYPE_DEFAULT, low, high);
}

static BurnTensor *missing_fan(const BurnInitializer *initializer, const char *fan) {
  return burn_tensor_failed(burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                                             "initializer: %s needs %s, which this parameter does not have",
                                             variants[initializer->kind].name, fan));
}

/* Standard deviation 1 / sqrt(fan) times gain: uniform over the interval that has it, or normal. */
static BurnTensor *kaiming(const BurnInitializer *initializer, BurnShape shape, int64_t fan_in, int64_t fan_out,
                           BurnDevice *device) {
  const int64_t fan = initializer->fan_out_only ? fan_out : fan_in;
  double std;
  if (fan <= 0) return missing_fan(initializer, initializer->fan_out_only ? "fan_out" : "fan_in");
  std = initializer->gain / sqrt((double)fan);
  if (initializer->kind == BURN_INITIALIZER_KAIMING_NORMAL) {
    return burn_random_normal(device, shape, BURN_DTYPE_DEFAULT, 0, std);
  }
  return uniform(device, shape, -sqrt(3.0) * std, sqrt(3.0) * std);
}

/* The same with standard deviation gain sqrt(2 / (fan_in + fan_out)). */
static BurnTensor *xavier(const BurnInitializer *initializer, BurnShape shape, int64_t fan_in, int64_t fan_out,
                          BurnDevice *device) {
  double std;
  if (fan_in <= 0 || fan_out <= 0) return missing_fan(initializer, fan_in <= 0 ? "fan_in" : "fan_out");
  std = initializer->gain * sqrt(2.0 / ((double)fan_in + (double)fan_out));
  if (initializer->kind == BURN_INITIALIZER_XAVIER_NORMAL) {
    return burn_random_normal(device, shape, BURN_DTYPE_DEFAULT, 0, std);
  }
  return uniform(device, shape, -sqrt(3.0) * std, sqrt(3.0) * std);
}

/* Q of a normal matrix [rows, columns], tall if need be by its transpose; its columns get the signs of R's diagonal. */
static BurnTensor *orthogonal(const BurnInitializer *initializer, BurnShape shape, BurnDevice *device) {
  int64_t columns = 1;
  BurnTensor *upper = NULL;
  if (shape.rank < 2) {
    return burn_tensor_failed(burn_status_make(BURN_STATUS_INVALID_SHAPE,
                                               "initializer: Orthogonal needs rank 2 or more, found %u", shape.rank));
  }
  for (uint32_t i = 1; i < shape.rank; i++) columns = burn_nn_product(columns, shape.dims[i]);
  const bool wide = shape.dims[0] < columns;
  BurnTensor *matrix = burn_random_normal(device, BURN_SHAPE(shape.dims[0], columns), BURN_DTYPE_DEFAULT, 0, 1);
  BurnTensor *q = burn_qr(wide ? burn_transpose(matrix) : matrix, true, &upper);
  q = burn_mul(q, burn_unsqueeze_dim(burn_sign(burn_diag(upper)), 0));
  return burn_mul_scalar(burn_reshape(wide ? burn_transpose(q) : q, shape), initializer->gain);
}

BurnTensor *burn_initializer_tensor(const BurnInitializer *initializer, BurnShape shape, int64_t fan_in,
                                    int64_t fan_out, BurnDevice *device) {
  if (!initializer) {
    return burn_tensor_failed(burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                                               "initializer: it is NULL; BURN_XAVIER_UNIFORM and its like are some"));
  }
  switch (initializer->kind) {
    case BURN_INITIALIZER_CONSTANT:
      return burn_full(device, shape, BURN_DTYPE_DEFAULT, initializer->value);
    case BURN_INITIALIZER_ONES:
      return burn_ones(device, shape, BURN_DTYPE_DEFAULT);
    case BURN_INITIALIZER_ZEROS:
      return burn_zeros(device, shape, BURN_DTYPE_DEFAULT);
    case BURN_INITIALIZER_UNIFORM:
      return uniform(device, shape, initializer->min, initializer->max);
    case BURN_INITIALIZER_NORMAL:
      return burn_random_normal(device, shape, BURN_DTYPE_DEFAULT, initializer->mean, initializer->std);
    case BURN_INITIALIZER_KAIMING_UNIFORM:
    case BURN_INITIALIZER_KAIMING_NORMAL:
      return kaiming(initializer, shape, fan_in, fan_out, device);
    case BURN_INITIALIZER_XAVIER_UNIFORM:
    case BURN_INITIALIZER_XAVIER_NORMAL:
      return xavier(initializer, shape, fan_in, fan_out, device);
    case BURN_INITIALIZER_ORTHOGONAL:
      return orthogonal(initializer, shape, device);
    default:
      return burn_tensor_failed(burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                                                 "initializer: kind %u is not one of 0..%u", initializer->kind,
                                                 BURN_INITIALIZER_ORTHOGONAL + 0u));
  }
}
