/* onnx_strings.h - tensors of strings: made from files, by users and by operators; and operators that take them. */
#ifndef BURN_ONNX_STRINGS_H
#define BURN_ONNX_STRINGS_H

#include "onnx_operators.h"
#include "text_builder.h"

enum { ONNX_STRING = 8 }; /* ONNX's number of the dtype */

/* -- making them ------------------------------------------------------------------------------- */

/* Strings one after the other. Running out of memory is remembered, as BurnTextBuilder does. */
typedef struct OnnxStringsBuilder {
  BurnTextBuilder bytes; /* each string with its zero */
  size_t *starts;        /* [count] */
  size_t count, room;
  bool failed;
} OnnxStringsBuilder;
#define ONNX_STRINGS_BUILDER \
  { BURN_TEXT_BUILDER, NULL, 0, 0, false }

/* More bytes of the string that is being made; its end. */
void onnx_add_bytes(OnnxStringsBuilder *builder, const char *bytes, size_t count);
void onnx_end_string(OnnxStringsBuilder *builder);
void onnx_add_string(OnnxStringsBuilder *builder, const char *bytes, size_t count); /* both */
/* The strings in that shape, which has as many elements, with one reference; NULL without memory. The builder is empty
 * afterwards. */
OnnxStrings *onnx_build_strings(OnnxStringsBuilder *builder, BurnShape shape);
void onnx_builder_release(OnnxStringsBuilder *builder);

/* What there is to say, with their number, where strings could not be built. */
#define ONNX_NO_STRINGS "no memory for %zu strings, or they have more than 1 GiB"

/* Another reference, or one less; NULL is allowed. */
OnnxStrings *onnx_strings_retain(OnnxStrings *strings);
void onnx_strings_release(OnnxStrings *strings);

/* The order of two elements of `items` by their bytes, for qsort and bsearch. */
int onnx_by_bytes(const void *a, const void *b);

/* -- from outside ------------------------------------------------------------------------------ */

/* Whether `count` bytes, which a zero follows, are UTF-8 without a zero: else INVALID_ARGUMENT, in which `what` and `i`
 * say which string it is. */
BURN_USE_RESULT BurnStatus onnx_check_string(const char *what, size_t i, const char *text, size_t count);
/* Those of a message, checked; NULL with *status. */
OnnxStrings *onnx_strings_of(const Onnx__TensorProto *proto, BurnStatus *status);
/* Those of an attribute with a list of strings, as [count], checked; NULL with *status. */
OnnxStrings *onnx_strings_of_list(const Onnx__AttributeProto *attribute, BurnStatus *status);

/* -- for mappings ------------------------------------------------------------------------------ */

/* Takes the reference. NULL: the node fails for lack of memory. */
void onnx_give_strings(OnnxNode *node, size_t i, OnnxStrings *strings, OnnxRank rank);
/* Input i; NULL, with the node failed, if it has no strings. */
const OnnxStrings *onnx_input_strings(OnnxNode *node, size_t i);
/* An attribute that is a string, checked, for free(); "" where the node has none, NULL with the node failed. */
char *onnx_string_attribute(OnnxNode *node, const char *name);
/* Whether an input is strings, or a sequence with strings in it. */
bool onnx_has_strings(const OnnxNode *node);
/* The mapping of an operator with such an input, or that the operator does not take them. */
void onnx_apply_to_strings(const OnnxOperator *op, OnnxNode *node);
/* Strings from numbers, and back: Cast and CastLike where one of the two dtypes is string. */
void onnx_cast_strings(OnnxNode *node, int64_t type);

#endif
