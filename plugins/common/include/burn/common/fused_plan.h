/* fused_plan.h - what a backend with "burn.fused" decides about a body before it makes code of it: which part an op may
 * play, over which space loops run, what is computed in which loop, what waits for a later one, and how often a value
 * is used. How code is made (instructions of a machine, a text for a compiler of the device) is the caller's. C99 and
 * C++11; link Burn::plugin_fused.
 *
 * A body computes in f32: halves are rounded after every op as the single ops would, and masks are masks. Where the
 * rules say so it computes in f64 and in integers, too; else integers come in through casts only.
 *
 * Loops. The space of a body is the shape of its outputs, or of what its reductions reduce. Loop 2k + 1 runs over all
 * elements of the space and ends in reductions; loop 2k runs over what there is one of per row (or column, or at all),
 * between the reductions of loop 2k - 1 and the elements of loop 2k + 1. k is the stage of a value: the number of
 * reductions that come before it, one after the other. A body without reductions is loop 1 alone.
 *
 *   softmax of rows:   loop 1  max of x;   loop 3  e = exp(x - max), sum of e;   loop 5  e / sum
 *
 * What a later loop needs is kept, in a buffer (one number per element) or in a row (one per row), or computed again
 * where that is less work.
 *
 *   BurnCommonFusedPlan plan;
 *   burn_common_fused_plan(&plan, &rules, body);
 *   if (plan.refusal) ...                                       the steps are rather called one by one
 *   for (loop = 0; loop < plan.loop_count; loop++) {
 *     burn_common_fused_count_uses(&plan, loop);
 *     for (v = body->input_count; v < plan.value_count; v++)    steps, in order
 *       if (plan.values[v].uses > 0 && burn_common_fused_computes(&plan, v, loop)) ...
 *   }
 */
#ifndef BURN_COMMON_FUSED_PLAN_H
#define BURN_COMMON_FUSED_PLAN_H

#include <burn/plugin/fused.h>

#include <stdbool.h>

/* The largest bodies that can be planned. */
enum { BURN_COMMON_FUSED_INPUTS = 64, BURN_COMMON_FUSED_STEPS = 128, BURN_COMMON_FUSED_OUTPUTS = 32 };
enum { BURN_COMMON_FUSED_VALUES = BURN_COMMON_FUSED_INPUTS + BURN_COMMON_FUSED_STEPS };

/* How an op is computed. */
typedef enum BurnCommonForm {
  BURN_COMMON_FORM_NONE,    /* it cannot be in a body */
  BURN_COMMON_FORM_UNARY,   /* of a float */
  BURN_COMMON_FORM_SCALAR,  /* with one attribute */
  BURN_COMMON_FORM_CLAMP,   /* with two */
  BURN_COMMON_FORM_BINARY,  /* of floats */
  BURN_COMMON_FORM_TEST,    /* a float to a bool */
  BURN_COMMON_FORM_COMPARE, /* floats to a bool */
  BURN_COMMON_FORM_COMPARE_SCALAR,
  BURN_COMMON_FORM_LOGIC, /* bools */
  BURN_COMMON_FORM_LOGIC_NOT,
  BURN_COMMON_FORM_INTEGERS, /* of one or two integers, and in no body without them */
  BURN_COMMON_FORM_DIVIDE,   /* by a scalar */
  BURN_COMMON_FORM_POWER,    /* with a scalar exponent */
  BURN_COMMON_FORM_CAST,
  BURN_COMMON_FORM_EXPAND,
  BURN_COMMON_FORM_SPREAD, /* each element of an input is shared by a block of the result's: gradients of means */
  BURN_COMMON_FORM_WHERE,
  BURN_COMMON_FORM_FILL,
  BURN_COMMON_FORM_REDUCE, /* along an axis */
  BURN_COMMON_FORM_REDUCE_ALL,
  BURN_COMMON_FORM_DROPOUT,
  BURN_COMMON_FORM_UNIFORM,
  BURN_COMMON_FORM_BERNOULLI,
  BURN_COMMON_FORM_CREATE
} BurnCommonForm;

/* What reductions of a body do to its space. */
typedef enum BurnCommonRegion {
  BURN_COMMON_REGION_ELEMENTS, /* no reductions */
  BURN_COMMON_REGION_LAST,     /* along the last axis: a number per row, which later loops may use */
  /* Along the first axis that is not 1 (with has_middle_axis along any but the last): a number per column, after
   * everything else. */
  BURN_COMMON_REGION_FIRST_AXIS,
  BURN_COMMON_REGION_ALL /* of everything: one number, after everything else */
} BurnCommonRegion;

/* What a backend can do. */
typedef struct BurnCommonFusedRules {
  uint32_t max_inputs, max_steps, max_outputs; /* of a body; no more than the constants above */
  uint32_t max_loops, max_buffers, max_rows;   /* at most 255 each */
  int64_t longest_row;                         /* elements of a row that is reduced */
  /* True: a reduction runs after its loop and reads its operand from an input or a buffer. False: within the loop that
   * computes the operand, which then is one of its uses. */
  bool reduces_memory;
  /* True: a body may be one step and casts, as the single cast would write what the step then reads. */
  bool counts_casts;
  bool has_f64; /* True: steps and reductions compute in f64, too */
  /* True: the body follows a product, so that one step is enough to be worth a kernel. */
  bool follows_product;
  bool has_integers;    /* True: steps and reductions compute in integers, too, and compare bools */
  bool has_middle_axis; /* True: columns may lie along an axis with others before it */
  bool spreads;         /* True: an axis of an input may be a fraction of the space's, in bodies without reductions */
} BurnCommonFusedRules;

/* What is known of a value of the body: input or step. */
typedef struct BurnCommonFusedValue {
  BurnDType dtype;
  uint32_t same_as; /* the value that this one is for code: itself, or what it is an expansion or idle cast of */
  uint32_t uses;    /* in the loop that was counted: by steps of the loop, outputs, reductions, and to be kept */
  int32_t folded;   /* the buffer from which a reduction reads it, or -1 */
  uint8_t form;     /* BurnCommonForm; NONE for inputs */
  uint8_t stage;
  uint8_t loop;                           /* in which it is computed: 2 * stage if it is reduced, else 2 * stage + 1 */
  uint8_t cost;                           /* in steps, to compute it again in another loop */
  uint8_t number;                         /* of its row or buffer, if it is kept or a reduction */
  bool is_live, is_reduced, is_reduction; /* wanted by an output; one per row, column or at all; made by a reduction */
  bool is_kept; /* by the loop that computes it: in a row if it is reduced, else in a buffer */
} BurnCommonFusedValue;

/* The plan of a body. */
typedef struct BurnCommonFusedPlan {
  const BurnFusedBody *body; /* borrowed, as the rules are */
  const BurnCommonFusedRules *rules;
  const char *refusal; /* why the body cannot be run, a static text; NULL: it can */
  BurnCommonRegion region;
  uint32_t axis; /* that is reduced, of the space, unless it is reduced as a whole */
  uint32_t value_count, loop_count, buffer_count, row_count;
  BurnTensorDesc space; /* over which loops run that are not reduced */
  bool output_is_reduced[BURN_COMMON_FUSED_OUTPUTS];
  BurnCommonFusedValue values[BURN_COMMON_FUSED_VALUES];
} BurnCommonFusedPlan;

#if defined(__cplusplus)
extern "C" {
#endif

/* How an op is computed; true for one that is much work. */
BurnCommonForm burn_common_fused_form(uint32_t op);
bool burn_common_fused_is_heavy(uint32_t op);

/* As BurnFusedInterface.role, of a backend that has all forms; of its rules only the dtypes and `spreads` count. */
uint32_t burn_common_fused_role(const BurnFusedStep *step, const BurnTensorDesc *inputs, const BurnTensorDesc *output,
                                const BurnCommonFusedRules *rules);

/* Fills the plan. Without memory of its own, in time that is linear in the steps times the loops. */
void burn_common_fused_plan(BurnCommonFusedPlan *plan, const BurnCommonFusedRules *rules, const BurnFusedBody *body);

/* True if the loop computes value v, where it is used, rather than finds it: as an input, in a row, in a buffer. */
bool burn_common_fused_computes(const BurnCommonFusedPlan *plan, uint32_t v, uint32_t loop);

/* Sets the uses of all values by what one loop computes. */
void burn_common_fused_count_uses(BurnCommonFusedPlan *plan, uint32_t loop);

/* The loop that stores an output. */
uint32_t burn_common_fused_loop_of_output(const BurnCommonFusedPlan *plan, uint32_t output);

/* True if v is a reduction that follows this loop. */
bool burn_common_fused_reduces(const BurnCommonFusedPlan *plan, uint32_t v, uint32_t loop);

/* With reduces_memory, true if a reduction cannot read its operand where it is: an input of another dtype or shape, or
 * what there is one of per row. The loop then copies it to its buffer. */
bool burn_common_fused_copies(const BurnCommonFusedPlan *plan, uint32_t operand);

#if defined(__cplusplus)
}
#endif

/* Refuses the body; the first reason stays. For what only the making of code finds out, too. */
static inline void burn_common_fused_refuse(BurnCommonFusedPlan *plan, const char *reason) {
  if (!plan->refusal) plan->refusal = reason;
}

/* True for values that steps make. */
static inline bool burn_common_fused_is_step(const BurnCommonFusedPlan *plan, uint32_t v) {
  return v >= plan->body->input_count;
}

/* The step that makes value v. */
static inline const BurnFusedStep *burn_common_fused_step(const BurnCommonFusedPlan *plan, uint32_t v) {
  return &plan->body->steps[v - plan->body->input_count];
}

/* The value that is input i of a step, for code. */
static inline uint32_t burn_common_fused_input(const BurnCommonFusedPlan *plan, const BurnFusedStep *step, uint32_t i) {
  return plan->values[step->inputs[i]].same_as;
}

#endif
