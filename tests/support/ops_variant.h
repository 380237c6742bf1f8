/* ops_variant.h - golden rows again in narrow dtypes: float rows in f16 and bf16, integer rows in i8 and i16.
 *
 * The inputs are rounded to the narrow dtype. If that changes none (integers; few floats), the golden values are
 * expected. Else what is expected comes from the same row in its own dtype on the rounded inputs (that this is right,
 * its golden values have shown), rounded once. So a narrow op may be off by its last digit, but not by what the
 * rounding of the inputs does to the result, and floor, argmax and comparisons need no exception. */
#ifndef BURN_OPS_VARIANT_H
#define BURN_OPS_VARIANT_H

#include "ops_value.h"

enum { OPS_VARIANT_COUNT = 4 };
extern const BurnDType ops_variant_dtypes[OPS_VARIANT_COUNT];

/* A row in a narrow dtype. */
typedef struct OpsVariant {
  BurnDType narrow, wide;            /* tensors of dtype wide become narrow */
  OpsValue inputs[OPS_MAX_TENSORS];  /* in the narrow dtype */
  OpsValue rounded[OPS_MAX_TENSORS]; /* the same numbers in the wide one */
  size_t input_count;
  bool exact;       /* rounding changed neither inputs nor numbers */
  OpsGolden golden; /* with the tolerance that the dtype allows */
  char name[128];
} OpsVariant;

/* Makes the variant of a row; false, with nothing to free, where there is none: no such tensors, numbers that do not
 * fit, or an exception (listed in ops_variant.c with its reason). */
bool ops_variant_make(BurnDType narrow, const OpsGolden *golden, const OpsValue *inputs, size_t input_count,
                      const double *numbers, size_t number_count, OpsVariant *variant);
void ops_variant_free(OpsVariant *variant);

/* A number of the row, as a scalar of the narrow dtype. */
double ops_variant_number(const OpsVariant *variant, double number);

/* A result of the wide row as the narrow one has to give it; a copy. May widen the tolerance by the size of the result.
 */
OpsValue ops_variant_narrow(OpsVariant *variant, const OpsValue *value);

#endif
