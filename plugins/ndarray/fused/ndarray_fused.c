/* ndarray_fused.c - the interface "burn.fused" of this backend: bodies of element-wise steps in f32, f16 and bf16, and
 * reductions between them, become programs of the machine in ndarray_fused_machine.h. */
#include "ndarray_fused.h"
#include "replay/ndarray_replay.h"

#include <stdio.h>

static uint32_t BURN_API_CALL fused_role(void *self, const BurnFusedStep *step, const BurnTensorDesc *inputs,
                                         const BurnTensorDesc *output) {
  static const BurnCommonFusedRules in_f32 = {.has_f64 = false, .has_integers = false};
  const Ndarray *nd = self;
  const bool has_kernel = step->op < BURN_OP_LIMIT && step->output_count == 1 && nd->kernels[step->op];
  return has_kernel ? burn_common_fused_role(step, inputs, output, &in_f32) : BURN_FUSED_NO;
}

static BurnStatus BURN_API_CALL fused_compile(void *self, const BurnFusedBody *body, BurnFusedKernel **out, char *why,
                                              uint64_t why_bytes) {
  return nd_fused_compile(self, body, out, why, why_bytes);
}

static BurnStatus BURN_API_CALL fused_run(void *self, const BurnFusedCall *call) {
  Ndarray *nd = self;
  return nd->replays && nd_is_recording(nd) ? nd_record_body(nd, call) : nd_fused_run(nd, call);
}

static void BURN_API_CALL fused_release(void *self, BurnFusedKernel *kernel) {
  const Ndarray *nd = self;
  if (!kernel) return;
  if (kernel->after) nd->host->free(kernel->after, kernel->after->bytes);
  nd->host->free(kernel, kernel->bytes);
}

static void BURN_API_CALL fused_describe(void *self, const BurnFusedKernel *kernel, char *text, uint64_t text_bytes) {
  const Ndarray *nd = self;
  static const char *const regions[] = {"elements", "rows", "columns", "all elements"};
  const BurnFusedKernel *body = kernel->after ? kernel->after : kernel;
  uint32_t loads = 0, instructions = 0;
  for (uint32_t k = 0; k < body->input_count; k++) loads += body->input_bytes[k] != 0;
  for (uint32_t p = 0; p < body->program_count; p++)
    instructions += body->programs[p].end - body->programs[p].begin - 1u;
  if (text_bytes == 0) return;
  (void)snprintf(text, text_bytes, "%s: %u inputs, %u instructions, %u reductions, %u outputs, %u slots, %lld lanes",
                 kernel->after ? "parts of a product" : regions[body->region], loads, instructions,
                 body->reduction_count, kernel->output_count, body->slot_count, (long long)nd_fused_machine(nd)->width);
}

const BurnFusedInterface nd_fused_interface = {
    .struct_size = (uint32_t)sizeof(BurnFusedInterface),
    .version = 1,
    .max_inputs = ND_FUSED_INPUTS,
    .max_steps = ND_FUSED_STEPS,
    .max_outputs = ND_FUSED_OUTPUTS,
    .role = fused_role,
    .compile = fused_compile,
    .run = fused_run,
    .release = fused_release,
    .describe = fused_describe,
};
