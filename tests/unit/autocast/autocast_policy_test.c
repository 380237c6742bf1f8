/* autocast_policy_test.c - every op that can meet f32 has one row of autocast_policy.def. An op that was forgotten would
 * run in f32: right, and slow without a word. */
#include <burn/plugin/op.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct Op {
  const char *name;
  uint32_t number, kinds;
} Op;

static const Op ops[] = {
#define BURN_OP(number, name, family, since, rule, kinds, inputs, attrs, outputs, form, gradient, traits, doc) \
  {#name, number, BURN_KIND_##kinds},
#include <burn/plugin/ops.def>
#undef BURN_OP
};

static const uint32_t rows[] = {
#define AUTOCAST_OP(op, POLICY) BURN_OP_##op,
#include "autocast_policy.def"
#undef AUTOCAST_OP
};

static void test_every_op_of_floats_has_a_row(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
    int found = 0;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) found += rows[k] == ops[i].number;
    if (found > 1) fail_msg("%s stands %d times in autocast_policy.def", ops[i].name, found);
    if (found == 0 && (ops[i].kinds & BURN_KIND_FLOAT)) fail_msg("%s has no row in autocast_policy.def", ops[i].name);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_op_of_floats_has_a_row)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
