/* reference_linalg.c - matrix products, by definition. Sums are in f64 and rounded once. */
#include "reference_internal.h"

static BurnStatus matmul(const ReferenceRun *run) {
  const BurnPrimitive *a = run->call->inputs[0], *b = run->call->inputs[1];
  BurnPrimitive *out = run->out[0];
  const uint32_t row = out->rank - 2, column = out->rank - 1;
  const int64_t inner = a->shape[column], b_step = b->strides[row];
  int64_t a_steps[BURN_MAX_RANK], b_steps[BURN_MAX_RANK];
  reference_broadcast(a, a_steps);
  reference_broadcast(b, b_steps);
  a_steps[column] = 0; /* to the start of the row of a and of the column of b */
  b_steps[row] = 0;
  for (int64_t i = 0, count = burn_primitive_count(out); i < count; i++) {
    const int64_t at_a = reference_place(out, i, a_steps), at_b = reference_place(out, i, b_steps);
    double real = 0;
    uint64_t whole = 0;
    for (int64_t k = 0; k < inner; k++) {
      if (reference_is_float(a)) {
        real += reference_get_float(a, at_a + k) * reference_get_float(b, at_b + k * b_step);
      } else {
        whole += (uint64_t)reference_get_integer(a, at_a + k) * (uint64_t)reference_get_integer(b, at_b + k * b_step);
      }
    }
    if (reference_is_float(a)) reference_put_float(out, i, real);
    if (!reference_is_float(a)) reference_put_integer(out, i, (int64_t)whole);
  }
  return BURN_OK;
}

const ReferenceRow reference_linalg_rows[] = {{BURN_OP_matmul, matmul, NULL, NULL, 0}, {0, NULL, NULL, NULL, 0}};
