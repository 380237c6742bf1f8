/* asked_decorator.h - what the decorator `asked` was asked about products and what follows them, and what it answers. */
#ifndef ASKED_DECORATOR_H
#define ASKED_DECORATOR_H

#include <burn/plugin/epilogue.h>

#define ASKED_INTERFACE "asked.epilogues"
enum { ASKED_MAX = 16, ASKED_STEPS = 8 };

/* A body that was to be compiled. */
typedef struct AskedBody {
  uint32_t input_count, step_count, output_count;
  uint32_t ops[ASKED_STEPS];
  uint32_t outputs[ASKED_STEPS]; /* value numbers */
  BurnTensorDesc result;         /* of the product */
} AskedBody;

typedef struct AskedEpilogues {
  uint32_t count; /* set to 0 to begin anew */
  AskedBody bodies[ASKED_MAX];
  uint32_t takes;   /* how often it was asked whether it takes a product */
  uint32_t runs;    /* of bodies with a product */
  uint32_t refuses; /* 1: every body is refused */
  uint32_t fails;   /* so many runs of bodies with a product fail */
} AskedEpilogues;

#endif
