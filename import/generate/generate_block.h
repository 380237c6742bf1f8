/* generate_block.h - what If, Loop and Scan share while they are written. */
#ifndef BURN_GENERATE_BLOCK_H
#define BURN_GENERATE_BLOCK_H

#include "generate.h"

/* Statements between braces, and what they must not leave behind. */
typedef struct GenerateBlock {
  GenerateScope scope;
  uint32_t free_base, free_count, symbol_count;
} GenerateBlock;
BURN_USE_RESULT BurnStatus generate_open_block(GenerateStep *s, const OnnxBody *body, GenerateBlock *b);
void generate_close_block(Generator *g, const GenerateBlock *b);
/* The names of the graph around it that the bodies read: until here nobody has taken them. */
void generate_release_captures(GenerateStep *s);

/* What a body gives, to be used one after the other by a step of its own, which is the caller's to free; NULL without
 * memory. */
GenerateStep *generate_body_outputs(Generator *g, GenerateBlock *b);
/* A handle of its own to output i; it is done with the value then. */
const char *generate_take_output(GenerateStep *outputs, uint32_t i);

/* A result of the step in a variable of the block around it; NULL without memory. */
GenerateValue *generate_new_output(GenerateStep *s, uint32_t i);
/* What nobody reads is dropped. */
void generate_settle_output(Generator *g, GenerateValue *value);

OnnxValue generate_copy(const OnnxValue *value);
OnnxValue *generate_probe(GenerateValue *value, uint32_t probe);
/* Of two sequences the one that tells more about its tensors; value becomes that. */
void generate_take_longer_list(OnnxValue *value, const OnnxValue *other);
/* Axes whose sizes differ between two values, as bits; 0, with a reason, if no variable could hold both. */
uint32_t generate_unequal_axes(GenerateStep *s, GenerateValue *lhs, GenerateValue *rhs);

/* Runs a body of the step. Takes the contents of the inputs; gives the outputs. */
BURN_USE_RESULT BurnStatus generate_run_body(GenerateStep *s, const OnnxBody *body, uint32_t probe, OnnxValue *inputs,
                                             OnnxValue *outputs);
BurnStatus generate_no_memory(void);

#endif
