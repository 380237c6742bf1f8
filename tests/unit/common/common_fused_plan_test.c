/* common_fused_plan_test.c - <burn/common/fused_plan.h>: spaces, loops, what is kept and what is computed again, uses,
 * roles, and why bodies are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <burn/common/fused_plan.h>

#include <string.h>

enum { MOST = 16, NONE = -1 };

/* A body that grows by a value per call. All shapes have rank 3. */
typedef struct Draft {
  BurnFusedBody body;
  BurnTensorDesc values[MOST];
  BurnFusedStep steps[MOST];
  uint32_t inputs[MOST][3], outputs[MOST];
  BurnAttr attrs[MOST];
} Draft;

static BurnTensorDesc desc(BurnDType dtype, int64_t a, int64_t b, int64_t c) {
  BurnTensorDesc result = {.dtype = dtype, .rank = 3};
  result.shape[0] = a;
  result.shape[1] = b;
  result.shape[2] = c;
  return result;
}

/* One input of the dtype and shape; more follow with add_input before the first step. */
static uint32_t add_input(Draft *draft, BurnTensorDesc shape) {
  draft->body.struct_size = (uint32_t)sizeof draft->body;
  draft->body.values = draft->values;
  draft->body.steps = draft->steps;
  draft->body.outputs = draft->outputs;
  draft->values[draft->body.input_count] = shape;
  return draft->body.input_count++;
}

/* A step on one or two values; its attribute, where there is one, is the axis 2. */
static uint32_t add(Draft *draft, uint32_t op, BurnTensorDesc result, int a, int b) {
  const uint32_t number = draft->body.step_count++, v = draft->body.input_count + number;
  BurnFusedStep *step = &draft->steps[number];
  draft->inputs[number][0] = (uint32_t)a;
  draft->inputs[number][1] = (uint32_t)b;
  draft->attrs[number] = burn_attr_i64(2);
  step->op = op;
  step->input_count = b == NONE ? 1 : 2;
  step->inputs = draft->inputs[number];
  step->attrs = &draft->attrs[number];
  step->attr_count = 1;
  step->output_count = 1;
  draft->values[v] = result;
  return v;
}

static void leave(Draft *draft, uint32_t v) { draft->outputs[draft->body.output_count++] = v; }

static const BurnCommonFusedRules from_memory = {16,   64,    8,     16,    8,     8,     1024,
                                                 true, false, false, false, false, false, false};
static const BurnCommonFusedRules within_loops = {16,    64,    8,     16,    8,     8,     1024,
                                                  false, false, false, false, false, false, false};

#define F32(a, b, c) desc(BURN_DTYPE_F32, a, b, c)

/* Softmax along the last axis, from the dtype of values. */
typedef struct Softmax {
  Draft draft;
  uint32_t x, max, shifted, e, sum, y;
} Softmax;

static void make_softmax(Softmax *s, int64_t rows) {
  const BurnTensorDesc all = F32(1, rows, 8), row = F32(1, rows, 1);
  Draft *draft = &s->draft;
  memset(s, 0, sizeof *s);
  s->x = add_input(draft, all);
  s->max = add(draft, BURN_OP_max_dim, row, (int)s->x, NONE);
  s->shifted = add(draft, BURN_OP_sub, all, (int)s->x, (int)add(draft, BURN_OP_expand, all, (int)s->max, NONE));
  s->e = add(draft, BURN_OP_exp, all, (int)s->shifted, NONE);
  s->sum = add(draft, BURN_OP_sum_dim, row, (int)s->e, NONE);
  s->y = add(draft, BURN_OP_div, all, (int)s->e, (int)add(draft, BURN_OP_expand, all, (int)s->sum, NONE));
  leave(draft, s->y);
}

/* -- loops ------------------------------------------------------------------------------------ */

static void test_a_body_without_reductions_is_one_loop(void **state) {
  Draft draft = {.body = {.input_count = 0}};
  BurnCommonFusedPlan plan;
  const uint32_t half = add_input(&draft, desc(BURN_DTYPE_F16, 1, 4, 8)), bias = add_input(&draft, F32(1, 1, 8));
  const uint32_t cast = add(&draft, BURN_OP_cast, F32(1, 4, 8), (int)half, NONE);
  const uint32_t wide = add(&draft, BURN_OP_expand, F32(1, 4, 8), (int)bias, NONE);
  const uint32_t sum = add(&draft, BURN_OP_add, F32(1, 4, 8), (int)cast, (int)wide);
  const uint32_t y = add(&draft, BURN_OP_mul, F32(1, 4, 8), (int)sum, (int)sum);
  const uint32_t unused = add(&draft, BURN_OP_exp, F32(1, 4, 8), (int)y, NONE);
  (void)state;
  leave(&draft, y);
  burn_common_fused_plan(&plan, &from_memory, &draft.body);
  assert_null(plan.refusal);
  assert_int_equal(plan.region, BURN_COMMON_REGION_ELEMENTS);
  assert_int_equal(plan.loop_count, 2);
  assert_int_equal(plan.values[cast].same_as, half); /* code has halves as f32 */
  assert_int_equal(plan.values[wide].same_as, bias);
  assert_false(plan.values[unused].is_live);
  burn_common_fused_count_uses(&plan, 1);
  assert_int_equal(plan.values[half].uses, 1);
  assert_int_equal(plan.values[sum].uses, 2);
  assert_int_equal(plan.values[y].uses, 1);
  assert_int_equal(plan.values[unused].uses, 0);
  burn_common_fused_count_uses(&plan, 0);
  assert_int_equal(plan.values[y].uses, 0);
}

static void test_reductions_cut_a_body_into_loops(void **state) {
  Softmax s;
  BurnCommonFusedPlan plan;
  (void)state;
  make_softmax(&s, 4);
  burn_common_fused_plan(&plan, &from_memory, &s.draft.body);
  assert_null(plan.refusal);
  assert_int_equal(plan.region, BURN_COMMON_REGION_LAST);
  assert_int_equal(plan.axis, 2);
  assert_int_equal(plan.loop_count, 6);
  assert_int_equal(plan.row_count, 2); /* max and sum */
  assert_int_equal(plan.values[s.e].loop, 3);
  assert_int_equal(plan.values[s.y].loop, 5);
  assert_int_equal(burn_common_fused_loop_of_output(&plan, 0), 5);
  assert_true(burn_common_fused_reduces(&plan, s.max, 1) && !burn_common_fused_reduces(&plan, s.max, 3));
  assert_true(burn_common_fused_reduces(&plan, s.sum, 3));
  assert_int_not_equal(plan.values[s.max].number, plan.values[s.sum].number);
  assert_true(plan.values[s.e].is_kept); /* exp is not computed twice */
  assert_true(burn_common_fused_computes(&plan, s.e, 3) && !burn_common_fused_computes(&plan, s.e, 5));
  assert_false(plan.values[s.shifted].is_kept);
}

/* x is read where it lies; e from the buffer that keeps it anyway. */
static void test_reductions_read_memory(void **state) {
  Softmax s;
  BurnCommonFusedPlan plan;
  (void)state;
  make_softmax(&s, 4);
  burn_common_fused_plan(&plan, &from_memory, &s.draft.body);
  assert_int_equal(plan.values[s.x].folded, -1);
  assert_int_equal(plan.values[s.e].folded, plan.values[s.e].number);
  assert_int_equal(plan.buffer_count, 1);
  burn_common_fused_count_uses(&plan, 1);
  assert_int_equal(plan.values[s.x].uses, 0);
  burn_common_fused_count_uses(&plan, 3);
  assert_int_equal(plan.values[s.e].uses, 1);
  s.draft.values[s.x].dtype = BURN_DTYPE_BF16; /* what is not f32 is copied */
  s.draft.values[s.max].dtype = BURN_DTYPE_BF16;
  for (uint32_t v = 1; v < 8; v++) s.draft.values[v].dtype = BURN_DTYPE_BF16;
  burn_common_fused_plan(&plan, &from_memory, &s.draft.body);
  assert_null(plan.refusal);
  assert_true(burn_common_fused_copies(&plan, s.x));
  assert_int_equal(plan.buffer_count, 2);
  burn_common_fused_count_uses(&plan, 1);
  assert_int_equal(plan.values[s.x].uses, 1);
}

static void test_reductions_within_loops_use_their_operands(void **state) {
  Softmax s;
  BurnCommonFusedPlan plan;
  (void)state;
  make_softmax(&s, 4);
  burn_common_fused_plan(&plan, &within_loops, &s.draft.body);
  assert_null(plan.refusal);
  assert_int_equal(plan.buffer_count, 1); /* e, for the division */
  assert_int_equal(plan.values[s.e].folded, -1);
  burn_common_fused_count_uses(&plan, 1);
  assert_int_equal(plan.values[s.x].uses, 1);
  burn_common_fused_count_uses(&plan, 3);
  assert_int_equal(plan.values[s.e].uses, 2);
  burn_common_fused_count_uses(&plan, 5);
  assert_int_equal(plan.values[s.e].uses, 1);
  assert_int_equal(plan.values[s.shifted].uses, 0);
}

/* x - mean is a step: it is done again in the last loop; its square would be more. */
static void test_cheap_values_are_computed_again(void **state) {
  const BurnTensorDesc all = F32(1, 4, 8), row = F32(1, 4, 1);
  Draft draft = {.body = {.input_count = 0}};
  BurnCommonFusedPlan plan;
  const uint32_t x = add_input(&draft, all);
  const uint32_t mean = add(&draft, BURN_OP_mean_dim, row, (int)x, NONE);
  const uint32_t centered = add(&draft, BURN_OP_sub, all, (int)x, (int)mean);
  const uint32_t square = add(&draft, BURN_OP_mul, all, (int)centered, (int)centered);
  const uint32_t variance = add(&draft, BURN_OP_mean_dim, row, (int)square, NONE);
  const uint32_t root = add(&draft, BURN_OP_sqrt, row, (int)variance, NONE);
  const uint32_t y = add(&draft, BURN_OP_div, all, (int)centered, (int)root);
  (void)state;
  leave(&draft, y);
  burn_common_fused_plan(&plan, &within_loops, &draft.body);
  assert_null(plan.refusal);
  assert_int_equal(plan.buffer_count, 0);
  assert_true(burn_common_fused_computes(&plan, centered, 3) && burn_common_fused_computes(&plan, centered, 5));
  assert_false(burn_common_fused_computes(&plan, square, 5));
  assert_int_equal(plan.values[root].loop, 4); /* a square root per row */
  assert_true(plan.values[root].is_kept && plan.values[root].is_reduced);
  assert_int_equal(plan.row_count, 3);
}

static void test_the_space_follows_the_reduction(void **state) {
  static const struct {
    uint32_t op;
    int64_t axis, rows, columns; /* of the input */
    int64_t result_rows, result_columns;
    BurnCommonRegion region;
  } rows[] = {
      {BURN_OP_sum_dim, 2, 4, 8, 4, 1, BURN_COMMON_REGION_LAST},
      {BURN_OP_sum_dim, 1, 4, 8, 1, 8, BURN_COMMON_REGION_FIRST_AXIS},
      {BURN_OP_sum_dim, 2, 1, 8, 1, 1, BURN_COMMON_REGION_ALL}, /* the only row, of which a total is wanted */
      {BURN_OP_sum, 0, 4, 8, 1, 1, BURN_COMMON_REGION_ALL},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    Draft draft = {.body = {.input_count = 0}};
    BurnCommonFusedPlan plan;
    const BurnTensorDesc all = F32(1, rows[i].rows, rows[i].columns);
    const uint32_t x = add_input(&draft, all);
    const uint32_t square = add(&draft, BURN_OP_mul, all, (int)x, (int)x);
    leave(&draft, add(&draft, rows[i].op, F32(1, rows[i].result_rows, rows[i].result_columns), (int)square, NONE));
    draft.attrs[1] = burn_attr_i64(rows[i].axis);
    burn_common_fused_plan(&plan, &from_memory, &draft.body);
    assert_null(plan.refusal);
    assert_int_equal(plan.region, rows[i].region);
    assert_true(plan.output_is_reduced[0]);
    assert_int_equal(plan.loop_count, 3);
  }
  Softmax s;
  BurnCommonFusedPlan plan;
  make_softmax(&s, 1); /* the only row, and all its elements are wanted */
  burn_common_fused_plan(&plan, &from_memory, &s.draft.body);
  assert_null(plan.refusal);
  assert_int_equal(plan.region, BURN_COMMON_REGION_LAST);
}

/* -- refusals --------------------------------------------------------------------------------- */

static const char *refusal_of(const Draft *draft, const BurnCommonFusedRules *rules) {
  BurnCommonFusedPlan plan;
  burn_common_fused_plan(&plan, rules, &draft->body);
  return plan.refusal ? plan.refusal : "none";
}

static void test_rules_bound_what_is_planned(void **state) {
  BurnCommonFusedRules rules = from_memory;
  Softmax s;
  (void)state;
  make_softmax(&s, 4);
  rules.longest_row = 7;
  assert_string_equal(refusal_of(&s.draft, &rules), "rows that are too long");
  rules = from_memory;
  rules.max_loops = 5;
  assert_string_equal(refusal_of(&s.draft, &rules), "too many reductions one after the other");
  rules = from_memory;
  rules.max_buffers = 0;
  assert_string_equal(refusal_of(&s.draft, &rules), "too many values wait for a reduction");
  rules = from_memory;
  rules.max_rows = 1;
  assert_string_equal(refusal_of(&s.draft, &rules), "too many values wait for a reduction");
  rules = from_memory;
  rules.max_steps = 6;
  assert_string_equal(refusal_of(&s.draft, &rules), "too many inputs, steps or outputs");
  s.draft.body.output_count = 0;
  assert_string_equal(refusal_of(&s.draft, &from_memory), "no outputs");
}

/* Two steps on x [2, 4, 8] and the reason for which they are refused. */
static void test_bodies_that_no_loop_computes(void **state) {
  static const struct {
    uint32_t first, second;
    BurnDType dtype;
    int64_t axis, first_shape[3];
    bool wide; /* the second result has the shape of x, else that of the first */
    const char *reason;
  } rows[] = {
      {BURN_OP_exp, BURN_OP_matmul, BURN_DTYPE_F32, 0, {2, 4, 8}, true, "a step that no code is made of"},
      {BURN_OP_exp, BURN_OP_exp, BURN_DTYPE_F64, 0, {2, 4, 8}, true, "a dtype that code has not"},
      {BURN_OP_exp, BURN_OP_expand, BURN_DTYPE_F32, 0, {2, 4, 8}, true, "less than two steps"},
      {BURN_OP_sum_dim, BURN_OP_exp, BURN_DTYPE_F32, 1, {2, 1, 8}, false, "a reduction along a middle axis"},
      {BURN_OP_sum_dim, BURN_OP_expand, BURN_DTYPE_F32, 0, {1, 4, 8}, true, "a result that is needed for all elements"},
      {BURN_OP_sum, BURN_OP_sub, BURN_DTYPE_F32, 0, {1, 1, 1}, true, "a result that is needed for all elements"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    Draft draft = {.body = {.input_count = 0}};
    const BurnTensorDesc all = desc(rows[i].dtype, 2, 4, 8);
    const int64_t *shape = rows[i].first_shape;
    const BurnTensorDesc made = desc(rows[i].dtype, shape[0], shape[1], shape[2]);
    const bool is_pair = rows[i].second == BURN_OP_sub || rows[i].second == BURN_OP_matmul;
    const uint32_t x = add_input(&draft, all);
    const uint32_t first = add(&draft, rows[i].first, made, (int)x, NONE);
    draft.attrs[0] = burn_attr_i64(rows[i].axis);
    leave(&draft, add(&draft, rows[i].second, rows[i].wide ? all : made, (int)first, is_pair ? (int)x : NONE));
    assert_string_equal(refusal_of(&draft, &from_memory), rows[i].reason);
  }
}

static void test_columns_along_a_middle_axis(void **state) {
  BurnCommonFusedRules rules = within_loops;
  Draft draft = {.body = {.input_count = 0}};
  BurnCommonFusedPlan plan;
  (void)state;
  const uint32_t x = add_input(&draft, F32(2, 4, 8));
  const uint32_t square = add(&draft, BURN_OP_mul, F32(2, 4, 8), (int)x, (int)x);
  const uint32_t sum = add(&draft, BURN_OP_sum_dim, F32(2, 1, 8), (int)square, NONE);
  draft.attrs[1] = burn_attr_i64(1);
  leave(&draft, square);
  leave(&draft, add(&draft, BURN_OP_exp, F32(2, 1, 8), (int)sum, NONE));
  assert_string_equal(refusal_of(&draft, &rules), "a reduction along a middle axis");
  rules.has_middle_axis = true;
  burn_common_fused_plan(&plan, &rules, &draft.body);
  assert_null(plan.refusal);
  assert_int_equal(plan.region, BURN_COMMON_REGION_FIRST_AXIS);
  assert_int_equal(plan.axis, 1);
  assert_true(!plan.output_is_reduced[0] && plan.output_is_reduced[1]);
}

/* A cast that the step's loads do: nothing more to compute, and a call less. */
static void test_casts_count_where_the_rules_say_so(void **state) {
  Draft draft = {.body = {.input_count = 0}};
  BurnCommonFusedRules rules = from_memory;
  (void)state;
  const uint32_t x = add_input(&draft, desc(BURN_DTYPE_BF16, 2, 4, 8));
  const uint32_t wide = add(&draft, BURN_OP_cast, desc(BURN_DTYPE_F32, 2, 4, 8), (int)x, NONE);
  leave(&draft, add(&draft, BURN_OP_exp, desc(BURN_DTYPE_F32, 2, 4, 8), (int)wide, NONE));
  assert_string_equal(refusal_of(&draft, &rules), "less than two steps");
  rules.counts_casts = true;
  assert_string_equal(refusal_of(&draft, &rules), "none");
}

/* -- roles ------------------------------------------------------------------------------------ */

enum { NO = BURN_FUSED_NO, ELEMENTS = BURN_FUSED_ELEMENTWISE };

static void test_roles_follow_op_and_dtype(void **state) {
  static const struct {
    uint32_t op;
    BurnDType from, to;
    uint32_t role, with_f64, with_integers;
  } rows[] = {
      {BURN_OP_exp, BURN_DTYPE_F32, BURN_DTYPE_F32, ELEMENTS, ELEMENTS, ELEMENTS},
      {BURN_OP_exp, BURN_DTYPE_BF16, BURN_DTYPE_BF16, ELEMENTS, ELEMENTS, ELEMENTS},
      {BURN_OP_exp, BURN_DTYPE_F64, BURN_DTYPE_F64, NO, ELEMENTS, NO},
      {BURN_OP_expand, BURN_DTYPE_F64, BURN_DTYPE_F64, NO, BURN_FUSED_EXPAND, NO},
      {BURN_OP_sum_dim, BURN_DTYPE_F64, BURN_DTYPE_F64, NO, BURN_FUSED_REDUCE, NO},
      {BURN_OP_sum_dim, BURN_DTYPE_I32, BURN_DTYPE_I32, NO, NO, BURN_FUSED_REDUCE},
      {BURN_OP_cast, BURN_DTYPE_F64, BURN_DTYPE_BF16, NO, ELEMENTS, NO},
      {BURN_OP_cast, BURN_DTYPE_I16, BURN_DTYPE_F64, NO, ELEMENTS, NO},
      {BURN_OP_cast, BURN_DTYPE_I32, BURN_DTYPE_F64, NO, NO, NO}, /* f32 has not all of its digits */
      {BURN_OP_neg, BURN_DTYPE_I32, BURN_DTYPE_I32, NO, NO, ELEMENTS},
      {BURN_OP_cast, BURN_DTYPE_I64, BURN_DTYPE_F32, ELEMENTS, ELEMENTS, ELEMENTS},
      {BURN_OP_cast, BURN_DTYPE_I64, BURN_DTYPE_F16, NO, NO, ELEMENTS}, /* through f32 it would be rounded twice */
      {BURN_OP_cast, BURN_DTYPE_U8, BURN_DTYPE_F16, ELEMENTS, ELEMENTS, ELEMENTS},
      {BURN_OP_cast, BURN_DTYPE_F32, BURN_DTYPE_I32, NO, NO, ELEMENTS},
      {BURN_OP_bool_not, BURN_DTYPE_BOOL, BURN_DTYPE_BOOL, ELEMENTS, ELEMENTS, ELEMENTS},
      {BURN_OP_equal_scalar, BURN_DTYPE_BOOL, BURN_DTYPE_BOOL, NO, NO, ELEMENTS},
      {BURN_OP_bitwise_not, BURN_DTYPE_U8, BURN_DTYPE_U8, NO, NO, ELEMENTS},
      {BURN_OP_expand, BURN_DTYPE_F32, BURN_DTYPE_F32, BURN_FUSED_EXPAND, BURN_FUSED_EXPAND, BURN_FUSED_EXPAND},
      {BURN_OP_sum_dim, BURN_DTYPE_F32, BURN_DTYPE_F32, BURN_FUSED_REDUCE, BURN_FUSED_REDUCE, BURN_FUSED_REDUCE},
      {BURN_OP_mean, BURN_DTYPE_F16, BURN_DTYPE_F16, BURN_FUSED_REDUCE, BURN_FUSED_REDUCE, BURN_FUSED_REDUCE},
      {BURN_OP_matmul, BURN_DTYPE_F32, BURN_DTYPE_F32, NO, NO, NO},
      {BURN_OP_LIMIT, BURN_DTYPE_F32, BURN_DTYPE_F32, NO, NO, NO},
  };
  BurnCommonFusedRules with_f64 = from_memory, with_integers = from_memory;
  (void)state;
  with_f64.has_f64 = true;
  with_integers.has_integers = true;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const BurnFusedStep step = {.op = rows[i].op, .input_count = 1, .output_count = 1};
    const BurnTensorDesc from = desc(rows[i].from, 2, 2, 2), to = desc(rows[i].to, 2, 2, 2);
    assert_int_equal(burn_common_fused_role(&step, &from, &to, &from_memory), rows[i].role);
    assert_int_equal(burn_common_fused_role(&step, &from, &to, &with_f64), rows[i].with_f64);
    assert_int_equal(burn_common_fused_role(&step, &from, &to, &with_integers), rows[i].with_integers);
  }
  assert_true(burn_common_fused_is_heavy(BURN_OP_exp) && !burn_common_fused_is_heavy(BURN_OP_add));
}

/* Gradients of means are steps where windows lie beside each other and cover the plane. */
static void test_roles_of_windows(void **state) {
  static const struct {
    uint32_t op;
    int64_t windows[2], plane[2], kernel[2], stride[2], padding[2];
    uint32_t role;
  } rows[] = {
      {BURN_OP_adaptive_avg_pool2d_backward, {8, 8}, {24, 24}, {0, 0}, {0, 0}, {0, 0}, BURN_FUSED_EXPAND},
      {BURN_OP_adaptive_avg_pool2d_backward, {8, 8}, {24, 20}, {0, 0}, {0, 0}, {0, 0}, NO},
      {BURN_OP_adaptive_avg_pool2d_backward, {8, 8}, {4, 8}, {0, 0}, {0, 0}, {0, 0}, NO}, /* more windows than pixels */
      {BURN_OP_avg_pool2d_backward, {8, 8}, {16, 24}, {2, 3}, {2, 3}, {0, 0}, BURN_FUSED_EXPAND},
      {BURN_OP_avg_pool2d_backward, {8, 8}, {16, 24}, {3, 3}, {2, 3}, {0, 0}, NO}, /* they meet */
      {BURN_OP_avg_pool2d_backward, {8, 8}, {16, 24}, {2, 3}, {2, 3}, {1, 0}, NO},
      {BURN_OP_avg_pool2d_backward, {8, 8}, {17, 24}, {2, 3}, {2, 3}, {0, 0}, NO}, /* a row without a window */
  };
  BurnCommonFusedRules rules = from_memory;
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const BurnTensorDesc windows = {
        .dtype = BURN_DTYPE_F32, .rank = 4, .shape = {2, 3, rows[i].windows[0], rows[i].windows[1]}};
    const BurnTensorDesc plane = {
        .dtype = BURN_DTYPE_F32, .rank = 4, .shape = {2, 3, rows[i].plane[0], rows[i].plane[1]}};
    const BurnAttr attrs[] = {burn_attr_i64s(plane.shape, 4), burn_attr_i64s(rows[i].kernel, 2),
                              burn_attr_i64s(rows[i].stride, 2), burn_attr_i64s(rows[i].padding, 2),
                              burn_attr_bool(true)};
    const BurnFusedStep step = {.op = rows[i].op, .input_count = 1, .output_count = 1, .attr_count = 5, .attrs = attrs};
    rules.spreads = true;
    assert_int_equal(burn_common_fused_role(&step, &windows, &plane, &rules), rows[i].role);
    rules.spreads = false;
    assert_int_equal(burn_common_fused_role(&step, &windows, &plane, &rules), NO);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_body_without_reductions_is_one_loop),
      cmocka_unit_test(test_reductions_cut_a_body_into_loops),
      cmocka_unit_test(test_reductions_read_memory),
      cmocka_unit_test(test_reductions_within_loops_use_their_operands),
      cmocka_unit_test(test_cheap_values_are_computed_again),
      cmocka_unit_test(test_the_space_follows_the_reduction),
      cmocka_unit_test(test_rules_bound_what_is_planned),
      cmocka_unit_test(test_bodies_that_no_loop_computes),
      cmocka_unit_test(test_columns_along_a_middle_axis),
      cmocka_unit_test(test_casts_count_where_the_rules_say_so),
      cmocka_unit_test(test_roles_follow_op_and_dtype),
      cmocka_unit_test(test_roles_of_windows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
