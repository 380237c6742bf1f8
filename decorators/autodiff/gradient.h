/* gradient.h - what a gradient rule sees, the helpers it has, and the table of rules.
 *
 * A rule gets the gradient of the op's output and hands out those of the inputs that need one, computed with build.h on
 * the decorator below. It never sees tensors of the autodiff decorator and counts no references: results belong to the
 * builder, and burn__gradient_set takes a reference of its own. After a failure every step does nothing, so a rule is
 * written straight down; the walk looks at the builder's status once the rule is done. */
#ifndef BURN_AUTODIFF_GRADIENT_H
#define BURN_AUTODIFF_GRADIENT_H

#include <burn/plugin/build.h>

#include <stdbool.h>

struct AutodiffNode;

typedef struct GradientContext {
  BurnBuilder builder;
  BurnPrimitive *grad;               /* grads[0]; never NULL for ops with one float output */
  BurnPrimitive *const *grads;       /* of every output, with its shape and dtype; NULL where none arrived */
  BurnPrimitive *const *inputs;      /* NULL where the op's row in gradients.def does not name them */
  BurnPrimitive *const *outputs;     /* likewise */
  const BurnTensorDesc *input_descs; /* of every input, saved or not */
  const BurnTensorDesc *output_descs;
  const BurnAttr *attrs;
  uint32_t input_count;
  const struct AutodiffNode *node;
  uint32_t op;
} GradientContext;

typedef void (*GradientRule)(GradientContext *context);

/* Bits of GradientRow.needs: input or output number i of the forward call. */
#define GRADIENT_INPUT(i) (1u << (i))
#define GRADIENT_OUTPUT(i) (0x10000u << (i))

/* Inputs beyond the last column need what that one needs: nothing for list ops. */
enum { GRADIENT_NEED_COLUMNS = 3 };

/* A row of gradients.def. */
typedef struct GradientRow {
  GradientRule rule;                     /* NULL: the op has no row */
  uint32_t needs[GRADIENT_NEED_COLUMNS]; /* [i]: what the gradient of input i is computed from */
  bool memory_bound;                     /* computed again with checkpointing=balanced */
} GradientRow;

/* The row of an op of ops.def, or NULL. */
const GradientRow *burn__gradient_row(uint32_t op);

/* The row of all ops of kernel packs that have a backward rule: its needs are those of the op's definition. */
extern const GradientRow burn__gradient_pack_row;

/* Of attention where attention_with_logsumexp is run in its place: an op that no program's call is recorded as. */
extern const GradientRow burn__gradient_attention_row;

/* The attributes of the forward call by name: GRADIENT_ATTRS(conv2d, c)->stride.value.i64s[0]. */
#define GRADIENT_ATTRS(name, context) ((const BurnAttrs_##name *)(const void *)(context)->attrs)

/* Runs a rule; on f16 and bf16 in f32 where it computes (gradient_half.c). Its tensors live until this returns. */
void burn__gradient_run(GradientContext *c, const GradientRow *row);

/* 1 if input i is tracked: rules skip the others. */
int burn__gradient_needs(const GradientContext *c, uint32_t input);

/* Makes x the gradient of an input, if it needs one. x must have the input's shape, and is cast to its dtype if the
 * rule ran in f32; NULL means that none flows. */
void burn__gradient_set(GradientContext *c, uint32_t input, BurnPrimitive *x);

/* The same for inputs that broadcast: x has the shape of the output and is first summed over the axes that stretched.
 */
void burn__gradient_set_reduced(GradientContext *c, uint32_t input, BurnPrimitive *x);

/* One op without attributes, whose results the caller describes, so that the host need not work that out: nearly always
 * as inputs of the forward call. They are the builder's; NULL after a failure. */
void burn__gradient_described(GradientContext *c, uint32_t op, uint32_t input_count, BurnPrimitive *const *inputs,
                              uint32_t output_count, const BurnTensorDesc *descs, BurnPrimitive **out);
/* The same with two inputs and one result like input 0 of the forward call, whose gradient that is. */
void burn__gradient_set_described(GradientContext *c, uint32_t op, BurnPrimitive *x, BurnPrimitive *y);

/* x summed along the axes where `desc`, of equal rank, has size 1 and x has not. */
BurnPrimitive *burn__gradient_reduce(GradientContext *c, BurnPrimitive *x, const BurnTensorDesc *desc);

/* Zeros with the shape and dtype of input number `input`. */
BurnPrimitive *burn__gradient_zeros(GradientContext *c, uint32_t input);

/* x where the mask is false (or true), else 0. The mask broadcasts. */
BurnPrimitive *burn__gradient_where_false(GradientContext *c, BurnPrimitive *x, BurnPrimitive *mask);
BurnPrimitive *burn__gradient_where_true(GradientContext *c, BurnPrimitive *x, BurnPrimitive *mask);

/* x with values written at start + i * step. */
BurnPrimitive *burn__gradient_write_slice(BurnBuilder *b, BurnPrimitive *x, BurnPrimitive *values, BurnAttr starts,
                                          BurnAttr steps);

/* What the gradient of an input of select_assign or scatter is computed from, by BURN_UPDATE_*: the row in
 * gradients.def names everything that some mode looks at. */
uint32_t burn__gradient_update_needs(int64_t update, uint32_t input);

/* Every rule of gradients.def. */
#define GRADIENT(op, bound, needs_0, needs_1, needs_2, rule) void burn__gradient_##rule(GradientContext *c);
#include "gradients.def"
#undef GRADIENT

#endif
