/* onnx_pattern.h - what passes that look for several steps at once share. They change the last step of a pattern; the
 * steps before it, which nobody reads any more, are left to the pass for dead ones. */
#ifndef BURN_ONNX_PATTERN_H
#define BURN_ONNX_PATTERN_H

#include "onnx_program.h"

/* Which step of the main graph gives a slot. */
typedef struct OnnxGivers {
  OnnxProgram *program;
  OnnxMerge merge;
  OnnxStep **steps; /* [slot]; NULL: an input, a weight, or a slot that is newer than this */
  uint32_t count;
} OnnxGivers;

/* False without memory. */
bool onnx_givers_init(OnnxGivers *givers, OnnxProgram *program, OnnxMerge merge);
void onnx_givers_release(OnnxGivers *givers);

/* The step of operator `op` whose first output is the slot; NULL if another gives it. */
OnnxStep *onnx_giver(const OnnxGivers *givers, uint32_t slot, const char *op);
/* The same if nobody else reads the slot. */
OnnxStep *onnx_only_giver(const OnnxGivers *givers, uint32_t slot, const char *op);
/* Whether the slot is a constant of one element, which no training changes. */
bool onnx_is_number(const OnnxGivers *givers, uint32_t slot, double *value);
/* The same, and within a thousandth of `wanted`. */
bool onnx_is_about(const OnnxGivers *givers, uint32_t slot, double wanted);
/* Whether it is of that operator, not `prepared`, and has the inputs that the operator needs. */
bool onnx_step_is(const OnnxStep *step, const char *op);

/* Runs `change` on every step; how many were changed. */
typedef bool OnnxChange(const OnnxGivers *givers, OnnxStep *step);
uint32_t onnx_change_steps(OnnxProgram *program, OnnxMerge merge, OnnxChange *change);

#endif
