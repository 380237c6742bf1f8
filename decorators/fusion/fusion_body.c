/* fusion_body.c - from recorded ops to a body of burn/plugin/fused.h. */
#include "fusion_internal.h"

static const BurnTensorDesc *desc_of(const FusionQueue *queue, uint32_t slot) {
  return &fusion_values(queue)[slot].tensor->desc;
}

/* An op as a step that the level below is asked about. */
typedef struct AskedStep {
  BurnFusedStep step;
  BurnTensorDesc inputs[BURN_MAX_FIXED_INPUTS];
  uint32_t numbers[BURN_MAX_FIXED_INPUTS];
} AskedStep;

/* False for an op that no body can have. */
static bool ask_about(const FusionQueue *queue, const FusionOp *op, AskedStep *asked) {
  if (op->output_count != 1 || op->input_count > BURN_MAX_FIXED_INPUTS || op->op >= BURN_OP_LIMIT) return false;
  const uint32_t *slots = fusion_inputs(queue, op);
  for (uint32_t i = 0; i < op->input_count; i++) {
    asked->numbers[i] = slots[i] == FUSION_NONE ? BURN_FUSED_ABSENT : i;
    asked->inputs[i] = slots[i] == FUSION_NONE ? (BurnTensorDesc){0, 0, {0}} : *desc_of(queue, slots[i]);
  }
  asked->step = (BurnFusedStep){.op = op->op,
                                .output_count = 1,
                                .input_count = op->input_count,
                                .attr_count = op->attr_count,
                                .inputs = asked->numbers,
                                .attrs = op->attrs};
  return true;
}

uint32_t burn__fusion_role(FusionDecorator *decorator, const FusionQueue *queue, const FusionOp *op) {
  AskedStep asked;
  if (!decorator->fused || !ask_about(queue, op, &asked)) return BURN_FUSED_NO;
  return decorator->fused->role(decorator->fused_self, &asked.step, asked.inputs, desc_of(queue, op->first_output));
}

bool burn__fusion_takes_epilogue(FusionDecorator *decorator, const FusionQueue *queue, const FusionOp *op) {
  AskedStep asked;
  if (!decorator->epilogue || op->flags != 0 || !ask_about(queue, op, &asked)) return false;
  const uint32_t slot = op->first_output;
  if (fusion_values(queue)[slot].made_as != slot) return false; /* its kernel writes the dtype of the cast after it */
  return decorator->epilogue->takes(decorator->fused_self, &asked.step, asked.inputs, desc_of(queue, slot)) != 0;
}

/* The number of a slot in the body. */
static uint32_t value_number(const FusionBody *body, uint32_t slot) {
  if (slot == FUSION_NONE) return BURN_FUSED_ABSENT;
  for (uint32_t i = 0; i < body->input_count; i++)
    if (body->inputs[i] == slot) return i;
  for (uint32_t i = 0; i < body->op_count; i++)
    if (fusion_ops(body->queue)[body->ops[i]].first_output == slot) return body->input_count + i;
  return BURN_FUSED_ABSENT;
}

/* The memory of a body's description, in one allocation. */
typedef struct BodyRoom {
  BurnTensorDesc *values;
  BurnFusedStep *steps;
  uint32_t *numbers; /* inputs of all steps, then the outputs */
  uint64_t bytes;
} BodyRoom;

static bool take_room(const FusionDecorator *decorator, const FusionBody *body, BodyRoom *room) {
  uint32_t inputs = 0;
  for (uint32_t i = 0; i < body->op_count; i++) inputs += fusion_ops(body->queue)[body->ops[i]].input_count;
  const uint32_t values = body->input_count + body->op_count;
  room->bytes = values * sizeof *room->values + body->op_count * sizeof *room->steps +
                (inputs + body->output_count) * sizeof *room->numbers;
  room->values = (BurnTensorDesc *)decorator->host->allocate(room->bytes);
  if (!room->values) return false;
  room->steps = (BurnFusedStep *)(void *)(room->values + values);
  room->numbers = (uint32_t *)(void *)(room->steps + body->op_count);
  return true;
}

static void describe(const FusionBody *body, const BodyRoom *room, BurnFusedBody *out) {
  uint32_t *numbers = room->numbers;
  for (uint32_t i = 0; i < body->input_count; i++) room->values[i] = *desc_of(body->queue, body->inputs[i]);
  for (uint32_t i = 0; i < body->op_count; i++) {
    const FusionOp *op = &fusion_ops(body->queue)[body->ops[i]];
    room->values[body->input_count + i] = *desc_of(body->queue, op->first_output);
    room->steps[i] = (BurnFusedStep){.op = op->op,
                                     .output_count = 1,
                                     .input_count = op->input_count,
                                     .attr_count = op->attr_count,
                                     .inputs = numbers,
                                     .attrs = op->attrs};
    for (uint32_t k = 0; k < op->input_count; k++)
      *numbers++ = value_number(body, fusion_slots(body->queue)[op->first_input + k]);
  }
  *out = (BurnFusedBody){.struct_size = (uint32_t)sizeof *out,
                         .input_count = body->input_count,
                         .step_count = body->op_count,
                         .output_count = body->output_count,
                         .values = room->values,
                         .steps = room->steps,
                         .outputs = numbers};
  for (uint32_t i = 0; i < body->output_count; i++) numbers[i] = value_number(body, body->outputs[i]);
}

BurnStatus burn__fusion_body_compile(FusionDecorator *decorator, const FusionBody *body, BurnFusedKernel **out,
                                     char *why, uint64_t why_bytes) {
  BodyRoom room;
  BurnFusedBody described;
  *out = NULL;
  if (!take_room(decorator, body, &room))
    return FUSION_FAIL(decorator, OUT_OF_MEMORY, "fusion: no memory to describe a body");
  describe(body, &room, &described);
  const BurnStatus status = body->has_product
                                ? decorator->epilogue->compile(decorator->fused_self, &described, out, why, why_bytes)
                                : decorator->fused->compile(decorator->fused_self, &described, out, why, why_bytes);
  decorator->host->free(room.values, room.bytes);
  return status;
}
