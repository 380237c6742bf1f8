/* op_table.c - ops.def as tables: names, inputs, attributes, rules.
 *
 * The list is included ten times, each time with other meanings of its columns. Include
 *
 *   1   input_names_<op>, attr_names_<op>   arrays of the names of inputs and attributes
 *   2   attr_since_<op>                     the minors in which attributes came
 *   3   attr_tags_<op>                      the types of attributes
 *   4   attr_defaults_<op>                  their defaults
 *   5   takes_list_<op>                     1 where the inputs are a list
 *   6   burn__infer_<rule>                  declarations of the shape rules
 *   7   burn__decompose_<op>                declarations of the decompositions
 *   8   rows                                one OpRow per op, made of all these
 *   9   row_<op>                            the place of an op's row
 *   10  places                              the same by the op's number */
#include "core_internal.h"

#include <string.h>

/* Names of inputs and attributes, one array per op; the leading NULL keeps arrays from being empty. */
#define BURN_IN(name) , #name
#define BURN_OPTIONAL(name) , #name
#define BURN_LIST(name) , #name
#define BURN_ATTR(TAG, name, fallback) , #name
#define BURN_NONE
#define BURN_OP(number, name, family, since, rule, kinds, inputs, attrs, outputs, form, gradient, traits, doc) \
  static const char *const input_names_##name[] = {NULL inputs};                                               \
  static const char *const attr_names_##name[] = {NULL attrs};
#include <burn/plugin/ops.def> /* 1 */
#undef BURN_OP
#undef BURN_ATTR

/* The minors in which attributes came; most with their op. */
#define BURN_ATTR(TAG, name, fallback) , 0 /* with the op */
#define BURN_ATTR_SINCE(minor, TAG, name, fallback) , minor
#define BURN_OP(number, name, family, since, rule, kinds, inputs, attrs, outputs, form, gradient, traits, doc) \
  static const uint32_t attr_since_##name[] = {0 attrs};
#include <burn/plugin/ops.def> /* 2 */
#undef BURN_OP
#undef BURN_ATTR
#undef BURN_ATTR_SINCE

/* Types and defaults of attributes. A required one has tag NONE as its default. */
#define REQUIRED (-9e99)
#define DEFAULT_VALUE_I64(fallback) \
  { .i64 = (int64_t)(fallback) }
#define DEFAULT_VALUE_BOOL(fallback) \
  { .i64 = (int64_t)(fallback) }
#define DEFAULT_VALUE_DTYPE(fallback) \
  { .i64 = (int64_t)(fallback) }
#define DEFAULT_VALUE_I64S(fallback) \
  { .i64 = (int64_t)(fallback) }
#define DEFAULT_VALUE_F64(fallback) \
  { .f64 = (double)(fallback) }
#define DEFAULT_VALUE_NUMBER(fallback) \
  { .i64 = (int64_t)(fallback) }
#define IS_REQUIRED(fallback) ((double)(fallback) < -8e99)
#define BURN_ATTR(TAG, name, fallback) , BURN_ATTR_##TAG
#define BURN_OP(number, name, family, since, rule, kinds, inputs, attrs, outputs, form, gradient, traits, doc) \
  static const uint32_t attr_tags_##name[] = {0 attrs};
#include <burn/plugin/ops.def> /* 3 */
#undef BURN_OP
#undef BURN_ATTR
#define DEFAULT_TAG(TAG) ((TAG) == BURN_ATTR_NUMBER ? BURN_ATTR_I64 : (TAG))
#define BURN_ATTR(TAG, name, fallback)                                        \
  , {                                                                         \
    IS_REQUIRED(fallback) ? BURN_ATTR_NONE : DEFAULT_TAG(BURN_ATTR_##TAG), 0, \
        DEFAULT_VALUE_##TAG(IS_REQUIRED(fallback) ? 0 : (fallback))           \
  }
#define BURN_OP(number, name, family, since, rule, kinds, inputs, attrs, outputs, form, gradient, traits, doc) \
  static const BurnAttr attr_defaults_##name[] = {{0, 0, {.i64 = 0}} attrs};
#include <burn/plugin/ops.def> /* 4 */
#undef BURN_OP
#undef BURN_ATTR
#undef BURN_IN
#undef BURN_OPTIONAL
#undef BURN_LIST

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0]) - 1))
#define BURN_IN(name) +1
#define BURN_OPTIONAL(name)
#define BURN_LIST(name) +1
#define REQUIRED_INPUTS(inputs) (0 inputs)
#define FORM_PRIMITIVE 0
#define FORM_COMPOSITE 1

/* Which ops take a list: the same column once more, with only BURN_LIST counting. */
enum {
#undef BURN_IN
#undef BURN_LIST
#define BURN_IN(name)
#define BURN_LIST(name) +1
#define BURN_OP(number, name, family, since, rule, kinds, inputs, attrs, outputs, form, gradient, traits, doc) \
  takes_list_##name = (0 inputs),
#include <burn/plugin/ops.def> /* 5 */
#undef BURN_OP
#undef BURN_IN
#define BURN_IN(name) +1
  takes_list_end
};

/* Shape rules and decompositions by name; they are defined in infer/ and decompose/. */
#define BURN_OP(number, name, family, since, rule, kinds, inputs, attrs, outputs, form, gradient, traits, doc) \
  BurnStatus burn__infer_##rule(const BurnOpInfo *info, const BurnOpCall *call, BurnTensorDesc *out);
#include <burn/plugin/ops.def> /* 6 */
#undef BURN_OP
#define DECLARE_PRIMITIVE(name)
#define DECLARE_COMPOSITE(name) \
  void burn__decompose_##name(BurnBuilder *builder, const BurnOpCall *call, BurnPrimitive **out);
#define BURN_OP(number, name, family, since, rule, kinds, inputs, attrs, outputs, form, gradient, traits, doc) \
  DECLARE_##form(name)
#include <burn/plugin/ops.def> /* 7 */
#undef BURN_OP

/* The rows of ops.def, one after the other; row 0 is that of numbers without an op. */
typedef struct OpRow {
  BurnOpInfo info;
  BurnInferRule infer;
  BurnDecomposition decomposition;
} OpRow;
#define DECOMPOSITION_PRIMITIVE(name) NULL
#define DECOMPOSITION_COMPOSITE(name) burn__decompose_##name
static const OpRow rows[] = {
    {{0}, NULL, NULL},
#define BURN_OP(number, name, family, since, rule, kinds, inputs, attrs, outputs, form, gradient, traits, doc) \
  {{sizeof(BurnOpInfo),                                                                                        \
    number,                                                                                                    \
    #name,                                                                                                     \
    COUNT(input_names_##name),                                                                                 \
    REQUIRED_INPUTS(inputs),                                                                                   \
    takes_list_##name,                                                                                         \
    outputs,                                                                                                   \
    COUNT(attr_names_##name),                                                                                  \
    BURN_KIND_##kinds,                                                                                         \
    BURN_TRAIT_##traits,                                                                                       \
    FORM_##form,                                                                                               \
    BURN_GRADIENT_##gradient,                                                                                  \
    since,                                                                                                     \
    input_names_##name + 1,                                                                                    \
    attr_names_##name + 1,                                                                                     \
    attr_defaults_##name + 1,                                                                                  \
    attr_tags_##name + 1,                                                                                      \
    doc,                                                                                                       \
    #family,                                                                                                   \
    attr_since_##name + 1},                                                                                    \
   burn__infer_##rule,                                                                                         \
   DECOMPOSITION_##form(name)},
#include <burn/plugin/ops.def> /* 8 */
#undef BURN_OP
};

/* Which row is that of a number: most numbers are free, and a row is large. */
enum {
  row_none,
#define BURN_OP(number, name, family, since, rule, kinds, inputs, attrs, outputs, form, gradient, traits, doc) \
  row_##name,
#include <burn/plugin/ops.def> /* 9 */
#undef BURN_OP
  row_end
};
static const uint16_t places[BURN_OP_LIMIT] = {
#define BURN_OP(number, name, family, since, rule, kinds, inputs, attrs, outputs, form, gradient, traits, doc) \
  [number] = row_##name,
#include <burn/plugin/ops.def> /* 10 */
#undef BURN_OP
};

const BurnOpInfo *burn__op_info(uint32_t op) {
  if (op >= BURN_OP_FIRST_OF_PACKS) return burn__pack_op_info(op);
  return op < BURN_OP_LIMIT && places[op] ? &rows[places[op]].info : NULL;
}

const BurnOpInfo *burn__op_find(const char *name) {
  for (uint32_t row = row_none + 1; name && row < row_end; row++) {
    if (strcmp(rows[row].info.name, name) == 0) return &rows[row].info;
  }
  return name ? burn__pack_op_find(name) : NULL;
}

const char *burn__op_name(uint32_t op) {
  const BurnOpInfo *info = burn__op_info(op);
  return info ? info->name : "?";
}

BurnInferRule burn__op_infer_rule(uint32_t op) {
  return op < BURN_OP_LIMIT ? rows[places[op]].infer : burn__pack_infer;
}
BurnDecomposition burn__op_decomposition(uint32_t op) {
  return op < BURN_OP_LIMIT ? rows[places[op]].decomposition : NULL;
}
