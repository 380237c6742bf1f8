/* ops_variant.c - see ops_variant.h. */
#include "ops_variant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const BurnDType ops_variant_dtypes[OPS_VARIANT_COUNT] = {BURN_DTYPE_F16, BURN_DTYPE_BF16, BURN_DTYPE_I8,
                                                         BURN_DTYPE_I16};

/* Rows that have no variant in some kind of dtype, and why; name NULL: all rows of the op. */
static const struct {
  const char *op, *name;
  uint32_t kind;
  const char *reason;
} exceptions[] = {
    {"cast", NULL, BURN_KIND_NUMERIC, "has rows of its own for every pair of dtypes"},
    {"det", "f64 pivots of about 0", BURN_KIND_FLOAT, "a pivot below 1e-5 counts as 0, one below 1e-10 does in f64"},
    {"det", "f64 a pivot of 1e-10", BURN_KIND_FLOAT, "the same"},
    {"float", NULL, BURN_KIND_FLOAT, "its result is of the device's dtype, whatever the input"},
};

/* Public functions that are made of several ops, and sums and differences that cancel: the row's largest result counts.
 */
static const char *const several_steps[] = {"affine_grid_2d", "cross", "linear",    "lstm_backward",
                                            "rfft",           "stft",  "tanhshrink"};

static bool is_exception(const OpsGolden *golden, uint32_t kind) {
  for (size_t i = 0; i < sizeof exceptions / sizeof exceptions[0]; i++) {
    if (strcmp(exceptions[i].op, golden->op) != 0 || !(exceptions[i].kind & kind)) continue;
    if (!exceptions[i].name || strcmp(exceptions[i].name, golden->name) == 0) return true;
  }
  return false;
}

/* The dtype that becomes the narrow one: that of the first tensor of its kind; 0 if there is none. */
static BurnDType wide_of(BurnDType narrow, const OpsValue *inputs, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const BurnDType dtype = inputs[i].dtype;
    if (inputs[i].absent || burn_dtype_kind(dtype) != burn_dtype_kind(narrow)) continue;
    if (burn_dtype_bytes(dtype) >= 4) return dtype;
  }
  return 0;
}

static bool fits(BurnDType narrow, double number) {
  const double highest = narrow == BURN_DTYPE_I8 ? 127 : 32767;
  return burn_dtype_kind(narrow) == BURN_KIND_FLOAT || (number >= -highest - 1 && number <= highest);
}

static bool value_fits(BurnDType narrow, const OpsValue *value) {
  for (int64_t i = 0; i < value->count; i++) {
    int64_t whole;
    if (!fits(narrow, ops_value_load(value, i, &whole))) return false;
  }
  return true;
}

static bool same_number(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static bool same_numbers(const OpsValue *a, const OpsValue *b) {
  int64_t first, second;
  for (int64_t i = 0; i < a->count; i++) {
    if (!same_number(ops_value_load(a, i, &first), ops_value_load(b, i, &second))) return false;
  }
  return true;
}

static OpsValue converted(const OpsValue *value, BurnDType dtype) {
  OpsValue result = *value;
  result.dtype = dtype;
  result.bytes = burn_dtype_bytes(dtype);
  result.data = calloc((size_t)value->count + 2, 8);
  assert_non_null(result.data);
  for (int64_t i = 0; i < value->count; i++) {
    int64_t whole;
    const double number = ops_value_load(value, i, &whole);
    ops_value_store(&result, i, number, whole);
  }
  return result;
}

bool ops_variant_make(BurnDType narrow, const OpsGolden *golden, const OpsValue *inputs, size_t input_count,
                      const double *numbers, size_t number_count, OpsVariant *variant) {
  memset(variant, 0, sizeof *variant);
  const BurnDType wide = wide_of(narrow, inputs, input_count);
  if (wide == 0 || is_exception(golden, burn_dtype_kind(narrow))) return false;
  for (size_t i = 0; i < number_count; i++) {
    if (!fits(narrow, numbers[i])) return false;
  }
  for (size_t i = 0; i < input_count; i++) {
    if (!inputs[i].absent && inputs[i].dtype == wide && !value_fits(narrow, &inputs[i])) return false;
  }
  variant->narrow = narrow;
  variant->wide = wide;
  variant->input_count = input_count;
  variant->exact = true;
  for (size_t i = 0; i < number_count; i++) {
    if (!same_number(ops_variant_number(variant, numbers[i]), numbers[i])) variant->exact = false;
  }
  for (size_t i = 0; i < input_count; i++) {
    variant->inputs[i] = variant->rounded[i] = inputs[i];
    if (inputs[i].absent) continue;
    variant->inputs[i] = converted(&inputs[i], inputs[i].dtype == wide ? narrow : inputs[i].dtype);
    variant->rounded[i] = converted(&variant->inputs[i], inputs[i].dtype);
    if (!same_numbers(&variant->rounded[i], &inputs[i])) variant->exact = false;
  }
  snprintf(variant->name, sizeof variant->name, "%s, in %s", golden->name, burn_dtype_name(narrow));
  variant->golden = *golden;
  variant->golden.name = variant->name;
  if (burn_dtype_kind(narrow) != BURN_KIND_FLOAT || (golden->relative <= 0 && golden->absolute <= 0)) return true;
  /* Two steps of the last digit: one for the rounding of a result that is off by a little in f32, one for public
   * functions that are made of several ops. */
  variant->golden.relative = narrow == BURN_DTYPE_F16 ? 0x1p-9 : 0x1p-6;
  variant->golden.absolute = fmax(golden->absolute, narrow == BURN_DTYPE_F16 ? 0x1p-23 : 1e-37);
  return true;
}

void ops_variant_free(OpsVariant *variant) {
  for (size_t i = 0; i < variant->input_count; i++) {
    free(variant->inputs[i].data);
    free(variant->rounded[i].data);
  }
}

double ops_variant_number(const OpsVariant *variant, double number) {
  return burn_dtype_kind(variant->narrow) == BURN_KIND_FLOAT ? ops_value_round(variant->narrow, number) : number;
}

static bool has_several_steps(const char *op) {
  for (size_t i = 0; i < sizeof several_steps / sizeof several_steps[0]; i++) {
    if (strcmp(several_steps[i], op) == 0) return true;
  }
  return false;
}

OpsValue ops_variant_narrow(OpsVariant *variant, const OpsValue *value) {
  if (value->dtype != variant->wide) return converted(value, value->dtype);
  for (int64_t i = 0; i < value->count && has_several_steps(variant->golden.op); i++) {
    int64_t whole;
    variant->golden.absolute =
        fmax(variant->golden.absolute, variant->golden.relative * fabs(ops_value_load(value, i, &whole)));
  }
  return converted(value, variant->narrow);
}
