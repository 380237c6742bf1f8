/* onnx_pass_fold.c - computes steps whose inputs are all known. */
#include "onnx_program.h"
#include "onnx_strings.h"

#include <stdlib.h>
#include <string.h>

/* Results beyond this many bytes are left to the run: a ConstantOfShape can ask for any amount. */
enum { MAX_BYTES = 1 << 26 };

/* Steps that are another each time, or cheap and large. */
static bool is_random(const char *op) {
  return strncmp(op, "Random", 6) == 0 || strcmp(op, "Bernoulli") == 0 || strcmp(op, "Multinomial") == 0 ||
         strcmp(op, "Dropout") == 0;
}

static bool foldable(const OnnxProgram *program, const OnnxStep *step, OnnxMerge merge) {
  if (step->body_count > 0 || is_random(step->op->name)) return false;
  for (uint32_t i = 0; i < step->input_count; i++) {
    const uint32_t slot = step->inputs[i];
    if (slot == ONNX_NONE) continue;
    const uint32_t weight = program->body->weights[slot];
    if (weight == ONNX_NONE || program->weights[weight].strings) return false;
    if (merge == ONNX_KEEP_WEIGHTS && program->weights[weight].kind != ONNX_CONSTANT) return false;
  }
  return true;
}

/* Of strings only those that stand in the file, which others are made of at a run. */
static bool small(const OnnxStep *step, const OnnxNode *node) {
  for (uint32_t i = 0; i < step->output_count; i++) {
    if (node->output_lists[i]) return false;
    if (node->output_strings[i] && strcmp(step->op->name, "Constant") != 0) return false;
    if (burn_element_count(node->outputs[i]) > MAX_BYTES / 8) return false;
  }
  return true;
}

/* Small inputs may ask for large results. Those of ConstantOfShape and Expand are known from the last input; others are
 * left to the run. */
static bool asks_for_much(const OnnxProgram *program, const OnnxStep *step) {
  static const char *const ops[] = {"Tile", "Range", "Pad", "Resize", "Upsample", "OneHot", "EyeLike", "CenterCropPad"};
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
    if (strcmp(step->op->name, ops[i]) == 0) return true;
  }
  if (strcmp(step->op->name, "ConstantOfShape") != 0 && strcmp(step->op->name, "Expand") != 0) return false;
  if (step->input_count == 0) return true;
  const uint32_t slot = step->inputs[step->input_count - 1];
  const uint32_t weight = slot == ONNX_NONE ? ONNX_NONE : program->body->weights[slot];
  int64_t dims[BURN_MAX_RANK], count = 1;
  if (weight == ONNX_NONE || burn_element_count(program->tensors[weight]) > BURN_MAX_RANK) return true;
  const size_t rank = (size_t)burn_element_count(program->tensors[weight]);
  if (burn_read_i64(burn_clone(program->tensors[weight]), dims, rank) != BURN_OK) return true;
  for (size_t i = 0; i < rank; i++) {
    if (dims[i] < 0 || dims[i] > MAX_BYTES || count > MAX_BYTES / 8) return true;
    count *= dims[i];
  }
  return count > MAX_BYTES / 8;
}

/* A step that fails here fails again when it runs, and says so then. */
static bool fold(OnnxProgram *program, const OnnxStep *step, OnnxNode *node) {
  OnnxBody *body = program->body;
  memset(node, 0, sizeof *node);
  node->device = program->device;
  node->proto = step->proto;
  node->opset = step->opset;
  for (uint32_t i = 0; i < step->input_count; i++) {
    const uint32_t weight = step->inputs[i] == ONNX_NONE ? ONNX_NONE : body->weights[step->inputs[i]];
    if (weight == ONNX_NONE) continue;
    node->inputs[i] = burn_clone(program->tensors[weight]);
    node->scalar[i] = program->weights[weight].scalar;
    node->types[i] = program->weights[weight].type;
  }
  bool done = onnx_run_step(program, step, node) == BURN_OK && small(step, node);
  for (uint32_t i = 0; i < step->output_count && done; i++) {
    const uint32_t slot = step->outputs[i];
    if (slot == ONNX_NONE || (!node->outputs[i] && !node->output_strings[i])) continue;
    const OnnxWeight weight = {.name = body->slots[slot],
                               .scalar = node->output_rank[i] == ONNX_RANK_0,
                               .type = node->output_types[i],
                               .strings = onnx_strings_retain(node->output_strings[i])};
    BurnTensor *x = strcmp(step->op->name, "Transpose") == 0 ? onnx_dense(node->outputs[i]) : node->outputs[i];
    body->weights[slot] = onnx_add_weight(program, &weight, x);
    node->outputs[i] = NULL;
    done = body->weights[slot] != ONNX_NONE;
  }
  onnx_node_release(node);
  return done;
}

uint32_t onnx_pass_fold(OnnxProgram *program, OnnxMerge merge) {
  OnnxBody *body = program->body;
  OnnxNode *node = malloc(sizeof *node);
  uint32_t kept = 0;
  for (uint32_t s = 0; s < body->step_count; s++) {
    const OnnxStep step = body->steps[s];
    bool folded = node && step.output_count > 0 && foldable(program, &step, merge) && !asks_for_much(program, &step);
    folded = folded && fold(program, &step, node);
    if (!folded) body->steps[kept++] = step;
  }
  const uint32_t gone = body->step_count - kept;
  body->step_count = kept;
  program->folded += gone;
  free(node);
  return gone;
}
