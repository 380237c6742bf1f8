/* reference_scan.c - every element joined with all before it on its line. */
#include "reference_internal.h"

enum { FROM_ZERO, FROM_FIRST };

static BurnStatus scan(const ReferenceRun *run) {
  const BurnPrimitive *x = run->call->inputs[0];
  BurnPrimitive *out = run->out[0];
  const ReferenceRow *row = run->row;
  const ReferenceAxis axis = reference_axis(x, run->call->attrs[0].value.i64);
  for (int64_t line = 0; line < axis.outer * axis.inner; line++) {
    double real = 0;
    int64_t whole = 0;
    for (int64_t k = 0; k < axis.size; k++) {
      const int64_t i = reference_on_line(&axis, line, k);
      if (reference_is_float(x)) {
        real = k == 0 && row->detail == FROM_FIRST ? reference_get_float(x, i)
                                                   : row->real(real, reference_get_float(x, i));
        reference_put_float(out, i, real); /* rounded here, not in what goes on */
      } else {
        whole = k == 0 && row->detail == FROM_FIRST ? reference_get_integer(x, i)
                                                    : row->whole(whole, reference_get_integer(x, i));
        reference_put_integer(out, i, whole);
      }
    }
  }
  return BURN_OK;
}

const ReferenceRow reference_scan_rows[] = {
    {BURN_OP_cumsum, scan, reference_real_add, reference_whole_add, FROM_ZERO}, /* 0 + -0 is 0 */
    {BURN_OP_cumprod, scan, reference_real_mul, reference_whole_mul, FROM_FIRST},
    {BURN_OP_cummin, scan, reference_real_smallest, reference_whole_smallest, FROM_FIRST},
    {BURN_OP_cummax, scan, reference_real_largest, reference_whole_largest, FROM_FIRST},
    {0, NULL, NULL, NULL, 0}};
