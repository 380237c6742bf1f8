/* onnx_pass_common.c - computes equal steps once. */
#include "onnx_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool repeatable(const OnnxStep *step) {
  const char *op = step->op->name;
  return step->body_count == 0 && step->output_count > 0 && strncmp(op, "Random", 6) != 0 &&
         strcmp(op, "Bernoulli") != 0 && strcmp(op, "Multinomial") != 0 && strcmp(op, "Dropout") != 0;
}

/* Operator, opset, inputs and attributes as a text; NULL for steps that are not compared: with tensors as attributes,
 * or too much of anything. */
static char *key_of(OnnxArena *arena, const OnnxStep *step) {
  enum { ROOM = 2048, ATTRIBUTE = 256 };
  char key[ROOM];
  size_t at =
      (size_t)snprintf(key, sizeof key, "%s/%lld/%u", step->op->name, (long long)step->opset, step->output_count);
  for (uint32_t i = 0; i < step->input_count && at < ROOM - 32; i++) {
    at += (size_t)snprintf(key + at, sizeof key - at, ",%u", step->inputs[i]);
  }
  for (size_t i = 0; i < step->proto->n_attribute; i++) {
    const Onnx__AttributeProto *attribute = step->proto->attribute[i];
    uint8_t packed[ATTRIBUTE];
    if (attribute->t || onnx__attribute_proto__get_packed_size(attribute) > ATTRIBUTE) return NULL;
    const size_t bytes = onnx__attribute_proto__pack(attribute, packed);
    for (size_t k = 0; k < bytes && at < ROOM - 32; k++) {
      at += (size_t)snprintf(key + at, sizeof key - at, k == 0 ? ";%02x" : "%02x", packed[k]);
    }
  }
  return at < ROOM - 32 ? onnx_arena_text(arena, key) : NULL;
}

static void replace_outputs(const OnnxBody *body, const OnnxStep *from, const OnnxStep *to, uint32_t *by) {
  for (uint32_t i = 0; i < from->output_count; i++) {
    const bool both = from->outputs[i] != ONNX_NONE && to->outputs[i] != ONNX_NONE;
    if (both && !onnx_is_output(body, from->outputs[i])) by[from->outputs[i]] = to->outputs[i];
  }
}

/* The later of two equal steps is left to the pass for dead ones, since nobody reads it any more. */
uint32_t onnx_pass_common(OnnxProgram *program, OnnxMerge merge) {
  OnnxBody *body = program->body;
  OnnxNames keys = {NULL, NULL, 0, 0};
  uint32_t *by = onnx_replacements(body), found = 0;
  (void)merge;
  for (uint32_t s = 0; by && s < body->step_count; s++) {
    OnnxStep *step = &body->steps[s];
    for (uint32_t i = 0; i < step->input_count; i++) {
      if (step->inputs[i] != ONNX_NONE) step->inputs[i] = by[step->inputs[i]];
    }
    const char *key = repeatable(step) ? key_of(&program->arena, step) : NULL;
    const uint32_t other = key ? onnx_names_get(&keys, key) : ONNX_NONE;
    if (other != ONNX_NONE) {
      replace_outputs(body, step, &body->steps[other], by);
      found++;
    } else if (key) {
      (void)onnx_names_put(&keys, key, s); /* without memory it is compared with nothing */
    }
  }
  if (by) onnx_replace_slots(body, by);
  onnx_names_release(&keys);
  free(by);
  return found;
}
