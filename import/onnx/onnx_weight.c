/* onnx_weight.c - tensors that stand in a model: their data, and what the module calls them. */
#include "onnx_narrow.h"
#include "onnx_program.h"
#include "onnx_strings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- data in other files ----------------------------------------------------------------------- */

static const char *entry(const Onnx__TensorProto *proto, const char *key) {
  for (size_t i = 0; i < proto->n_external_data; i++) {
    if (strcmp(proto->external_data[i]->key, key) == 0) return proto->external_data[i]->value;
  }
  return "";
}

/* Decimal digits and nothing else. */
static bool number(const char *text, uint64_t *value) {
  *value = 0;
  for (; *text; text++) {
    if (*text < '0' || *text > '9' || *value > (UINT64_MAX - 9) / 10) return false;
    *value = *value * 10 + (uint64_t)(*text - '0');
  }
  return true;
}

static BurnTensor *external_tensor(const OnnxProgram *program, const Onnx__TensorProto *proto) {
  uint64_t offset, length, bytes;
  BurnStatus status = onnx_raw_bytes(proto, &bytes);
  if (status != BURN_OK) return burn_tensor_failed(status);
  if (!number(entry(proto, "offset"), &offset) || !number(entry(proto, "length"), &length) ||
      (entry(proto, "length")[0] && length != bytes)) {
    return burn_tensor_failed(burn_status_make(
        BURN_STATUS_INVALID_ARGUMENT, "tensor '%s': external data at '%s' with length '%s', expected %llu bytes",
        proto->name, entry(proto, "offset"), entry(proto, "length"), (unsigned long long)bytes));
  }
  if (!program->folder) {
    return burn_tensor_failed(burn_status_make(
        BURN_STATUS_INVALID_ARGUMENT, "tensor '%s': external data are not read for a model in memory; load it by path",
        proto->name));
  }
  OnnxMapping mapping;
  status = onnx_external(program->folder, entry(proto, "location"), offset, bytes, &mapping);
  if (status != BURN_OK) return burn_tensor_failed(burn_status_annotate(status, "tensor '%s'", proto->name));
  Onnx__TensorProto raw = *proto;
  raw.has_raw_data = true;
  raw.raw_data = (ProtobufCBinaryData){(size_t)bytes, (uint8_t *)mapping.data};
  BurnTensor *x = onnx_narrow_tensor(program->device, &raw);
  onnx_external_release(&mapping);
  return x;
}

BurnTensor *onnx_weight_tensor(const OnnxProgram *program, const Onnx__TensorProto *proto) {
  return proto->data_location == 1 ? external_tensor(program, proto) : onnx_narrow_tensor(program->device, proto);
}

/* -- the list of weights ------------------------------------------------------------------------ */

static bool grow(OnnxProgram *program) {
  const uint32_t capacity = program->weight_capacity ? 2 * program->weight_capacity : 64;
  OnnxWeight *weights = realloc(program->weights, capacity * sizeof *weights);
  if (weights) program->weights = weights;
  BurnTensor **tensors = realloc(program->tensors, capacity * sizeof *tensors);
  if (tensors) program->tensors = tensors;
  if (!weights || !tensors) return false;
  program->weight_capacity = capacity;
  return true;
}

uint32_t onnx_add_weight(OnnxProgram *program, const OnnxWeight *weight, BurnTensor *tensor) {
  if (program->weight_count == program->weight_capacity && !grow(program)) {
    burn_drop(tensor);
    onnx_strings_release(weight->strings);
    return ONNX_NONE;
  }
  program->weights[program->weight_count] = *weight;
  program->tensors[program->weight_count] = tensor;
  return program->weight_count++;
}

/* -- the module -------------------------------------------------------------------------------- */

/* Which initializers are learned: floats that operators multiply, add or look up, by input of the operator. Statistics
 * are state. The bits are the inputs. */
static const struct {
  const char *op;
  uint32_t parameters, buffers;
} roles[] = {{"Add", 3, 0},
             {"Attention", 1 << 1 | 1 << 2, 0},
             {"BatchNormalization", 1 << 1 | 1 << 2, 1 << 3 | 1 << 4},
             {"Conv", 1 << 1 | 1 << 2, 0},
             {"ConvTranspose", 1 << 1 | 1 << 2, 0},
             {"DeformConv", 1 << 1 | 1 << 3, 0},
             {"Div", 3, 0},
             {"GRU", 1 << 1 | 1 << 2 | 1 << 3, 0},
             {"Gather", 1, 0},
             {"Gemm", 7, 0},
             {"GroupNormalization", 1 << 1 | 1 << 2, 0},
             {"Identity", 1, 0},
             {"InstanceNormalization", 1 << 1 | 1 << 2, 0},
             {"LSTM", 1 << 1 | 1 << 2 | 1 << 3 | 1 << 7, 0},
             {"LayerNormalization", 1 << 1 | 1 << 2, 0},
             {"MatMul", 3, 0},
             {"Mul", 3, 0},
             {"PRelu", 1 << 1, 0},
             {"RMSNormalization", 1 << 1, 0},
             {"RNN", 1 << 1 | 1 << 2 | 1 << 3, 0},
             {"Reshape", 1, 0},
             {"SimplifiedLayerNormalization", 1 << 1, 0},
             {"Sub", 3, 0},
             {"Transpose", 1, 0},
             {"com.microsoft::Attention", 1 << 1 | 1 << 2, 0},
             {"com.microsoft::BiasGelu", 1 << 1, 0},
             {"com.microsoft::EmbedLayerNormalization", 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6, 0},
             {"com.microsoft::FastGelu", 1 << 1, 0},
             {"com.microsoft::FusedConv", 1 << 1 | 1 << 2, 0},
             {"com.microsoft::FusedMatMul", 3, 0},
             {"com.microsoft::GroupQueryAttention", 1 << 11, 0},
             {"com.microsoft::MultiHeadAttention", 1 << 3, 0},
             {"com.microsoft::SkipLayerNormalization", 1 << 2 | 1 << 3 | 1 << 4, 0},
             {"com.microsoft::SkipSimplifiedLayerNormalization", 1 << 2 | 1 << 3, 0}};

static bool is_float(BurnDType dtype) {
  return dtype == BURN_DTYPE_F32 || dtype == BURN_DTYPE_F64 || dtype == BURN_DTYPE_F16 || dtype == BURN_DTYPE_BF16;
}

static void mark(OnnxProgram *program, const OnnxBody *body, const OnnxStep *step, uint32_t i) {
  const uint32_t slot = step->inputs[i], weight = slot == ONNX_NONE ? ONNX_NONE : body->weights[slot];
  if (weight == ONNX_NONE || i >= 32) return;
  OnnxWeight *to = &program->weights[weight];
  if (!to->initializer || to->strings || !is_float(burn_dtype(program->tensors[weight])) || to->kind == ONNX_PARAMETER)
    return;
  to->kind = ONNX_BUFFER;
  for (size_t k = 0; k < sizeof roles / sizeof roles[0]; k++) {
    if (strcmp(step->op->name, roles[k].op) != 0) continue;
    if (roles[k].parameters & 1u << i && !to->scalar) to->kind = ONNX_PARAMETER;
  }
}

static void mark_body(OnnxProgram *program, const OnnxBody *body) {
  for (uint32_t s = 0; s < body->step_count; s++) {
    for (uint32_t i = 0; i < body->steps[s].input_count; i++) mark(program, body, &body->steps[s], i);
    for (uint32_t i = 0; i < body->steps[s].body_count; i++) mark_body(program, body->steps[s].bodies[i]);
  }
}

void onnx_choose_kinds(OnnxProgram *program) { mark_body(program, program->body); }

bool onnx_describe_module(OnnxProgram *program) {
  static const BurnType *(*const types[])(void) = {BurnConstant_type, BurnBuffer_type, BurnParam_type};
  const size_t count = program->weight_count;
  BurnField *fields = onnx_arena_take(&program->arena, count + 1, sizeof *fields);
  if (!fields) return false;
  for (size_t i = 0; i < count; i++) {
    fields[i] =
        (BurnField){program->weights[i].name, types[program->weights[i].kind], i * sizeof(OnnxField), "", false};
  }
  program->type = (BurnType){
      BURN_TYPE_MODULE, "BurnGraph", (count + 1) * sizeof(OnnxField), (uint32_t)count, fields, NULL, 0, NULL};
  return true;
}
