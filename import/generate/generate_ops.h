/* generate_ops.h - the functions that write operators, from generate_ops.def. */
#ifndef BURN_GENERATE_OPS_H
#define BURN_GENERATE_OPS_H

#include "generate.h"

#define GENERATE_UNARY(op, function)
#define GENERATE_BINARY(op, function, right, left)
#define GENERATE_FLOATS(op, text)
#define GENERATE_REDUCE(op, before, function, after)
#define GENERATE_OP(op) void generate_##op(GenerateStep *s, const char *argument);
#define GENERATE_OP_OF(domain, op) GENERATE_OP(op)
#include "generate_ops.def"
#undef GENERATE_UNARY
#undef GENERATE_BINARY
#undef GENERATE_FLOATS
#undef GENERATE_REDUCE
#undef GENERATE_OP
#undef GENERATE_OP_OF

/* WRITE(Op) { .. } reads the step s; the operators of GENERATE_OP need no argument. */
#define WRITE(op)                                             \
  static void write_##op(GenerateStep *s);                    \
  void generate_##op(GenerateStep *s, const char *argument) { \
    (void)argument;                                           \
    write_##op(s);                                            \
  }                                                           \
  static void write_##op(GenerateStep *s)

enum { SPATIAL = 3 };

/* The window of a convolution or pool; the same in all probes. */
typedef struct GenerateWindow {
  uint32_t rank; /* spatial axes */
  int64_t kernel[SPATIAL], stride[SPATIAL], dilation[SPATIAL], before[SPATIAL], after[SPATIAL];
} GenerateWindow;
/* Of the attributes; sizes of the kernel from input `weight` (below 0: there is none) where they do not say. */
GenerateWindow generate_window(GenerateStep *s, int64_t weight);

#endif
