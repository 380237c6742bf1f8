/* generate_recurrent.c - RNN, GRU and LSTM as layers of nn. ONNX has one weight for all gates and directions; ours have
 * a pair of Linear layers per gate. */
#include "generate_ops.h"

#include <burn/burn.h>

#include <stdio.h>
#include <string.h>

/* A kind of layer: its gates in the order of ONNX. */
typedef struct Kind {
  const char *type, *function; /* "Lstm", "lstm" */
  const char *gates[4];
  uint32_t gate_count;
  const char *activations[3]; /* the usual ones */
  uint32_t activation_count;
} Kind;

static const Kind kinds[] = {
    {"Rnn", "rnn", {"gate"}, 1, {"Tanh"}, 1},
    {"Gru", "gru", {"update_gate", "reset_gate", "new_gate"}, 3, {"Sigmoid", "Tanh"}, 2},
    {"Lstm", "lstm", {"input_gate", "output_gate", "forget_gate", "cell_gate"}, 4, {"Sigmoid", "Tanh", "Tanh"}, 3}};

static bool says(const ProtobufCBinaryData *text, const char *word) {
  return text->len == strlen(word) && memcmp(text->data, word, text->len) == 0;
}

/* Whether an RNN has Relu; any other activation that is not the usual one is refused. */
static bool is_relu(GenerateStep *s, const Kind *kind) {
  const Onnx__AttributeProto *names = onnx_attribute(&s->node, "activations");
  bool relu = false, usual = true;
  for (size_t i = 0; names && i < names->n_strings; i++) {
    relu = relu || says(&names->strings[i], "Relu");
    usual = usual && says(&names->strings[i], kind->activations[i % kind->activation_count]);
  }
  for (size_t i = 0; relu && i < names->n_strings; i++) usual = usual || kind->gate_count == 1;
  for (size_t i = 0; relu && i < names->n_strings; i++) usual = usual && says(&names->strings[i], "Relu");
  if (!usual) generate_refuse(s, "activations other than the usual ones");
  return relu;
}

static void check(GenerateStep *s) {
  for (uint32_t i = 1; i <= 3; i++) {
    if (generate_has(s, i) && !generate_is_constant(s, i))
      generate_refuse(s, "weights that are computed from the inputs");
  }
  if (generate_has(s, 4)) generate_refuse(s, "rows of unequal length");
  if (generate_has(s, 7)) generate_refuse(s, "peepholes");
  if (onnx_attribute(&s->node, "clip")) generate_refuse(s, "clip");
  if (onnx_int(&s->node, "layout", 0)) generate_refuse(s, "layout 1");
  if (onnx_int(&s->node, "input_forget", 0)) generate_refuse(s, "input_forget");
}

/* Rows of one gate of a constant input, [hidden, ..] or [hidden]; of a bias the second half are those of the state. */
static BurnTensor *gate_of(const GenerateStep *s, uint32_t i, int64_t direction, int64_t gate, int64_t hidden) {
  BurnTensor *x = burn_select_dim(generate_constant(s, i), 0, direction);
  return burn_slice_dim(x, 0, BURN_RANGE(gate * hidden, (gate + 1) * hidden));
}

static void put_gate(GenerateStep *s, const char *path, const char *linear, BurnTensor *weight, BurnTensor *bias) {
  Generator *g = s->g;
  generate_weight(g, generate_text(g, "%s.%s.weight", path, linear), burn_transpose(weight));
  if (bias) generate_weight(g, generate_text(g, "%s.%s.bias", path, linear), bias);
}

static void put_direction(GenerateStep *s, const Kind *kind, const char *path, int64_t direction, int64_t hidden) {
  const bool bias = generate_has(s, 3);
  for (uint32_t k = 0; k < kind->gate_count; k++) {
    const char *gate = generate_text(s->g, "%s.%s", path, kind->gates[k]);
    BurnTensor *of_input = bias ? gate_of(s, 3, direction, k, hidden) : NULL;
    BurnTensor *of_state = bias ? gate_of(s, 3, direction, kind->gate_count + k, hidden) : NULL;
    put_gate(s, gate, "input_transform", gate_of(s, 1, direction, k, hidden), of_input);
    put_gate(s, gate, "hidden_transform", gate_of(s, 2, direction, k, hidden), of_state);
  }
}

/* A state [directions, batch, hidden] as the layer takes it. */
static const char *state(GenerateStep *s, uint32_t i, bool both) {
  const char *x = generate_use(s, i);
  return both || !generate_has(s, i) ? x : generate_text(s->g, "burn_squeeze_dim(%s, 0)", x);
}

/* What a statement of a layer declares. */
typedef struct Results {
  const char *steps, *last; /* variables: of every step, after the last one */
  bool both, batch_first;
} Results;

/* The statement of the layer. */
static void write_call(GenerateStep *s, const Kind *kind, const char *call, const Results *r) {
  Generator *g = s->g;
  const char *x = generate_use(s, 0), *first = "NULL";
  if (r->batch_first) x = generate_text(g, "burn_swap_dims(%s, 0, 1)", x);
  if (kind->gate_count == 4) {
    if (generate_has(s, 5) != generate_has(s, 6)) generate_refuse(s, "one of two first states");
    if (s->reason[0]) return;
    if (generate_has(s, 5)) {
      const char *hidden = state(s, 5, r->both), *cell = state(s, 6, r->both);
      first = generate_text(g, "&(BurnLstmState){.cell = %s, .hidden = %s}", cell, hidden);
    }
    generate_line(g, "BurnLstmState %s;", r->last);
  } else {
    first = state(s, 5, r->both);
    generate_line(g, "BurnTensor *%s = NULL;", r->last);
  }
  generate_line(g, "BurnTensor *%s = %s, %s, %s, &%s);", r->steps, call, x, first, r->last);
}

static bool wants(const GenerateStep *s, uint32_t i) { return i < s->step->output_count && s->outputs[i]; }

/* [steps, directions, batch, hidden] and [directions, batch, hidden] of what the layer gives. */
static void write_outputs(GenerateStep *s, const Kind *kind, const Results *r, long long hidden) {
  Generator *g = s->g;
  const bool is_lstm = kind->gate_count == 4;
  const char *states[] = {is_lstm ? generate_text(g, "%s.hidden", r->last) : r->last,
                          generate_text(g, "%s.cell", r->last)};
  const char *y = r->batch_first ? generate_text(g, "burn_swap_dims(%s, 0, 1)", r->steps) : r->steps;
  if (!wants(s, 0)) generate_line(g, "burn_drop(%s);", r->steps);
  if (wants(s, 0) && r->both) {
    const char *split = generate_text(g, "burn_reshape(%s, BURN_SHAPE(0, 0, 2, %lld))", y, hidden);
    generate_give(s, 0, generate_text(g, "burn_swap_dims(%s, 1, 2)", split));
  }
  if (wants(s, 0) && !r->both) generate_give(s, 0, generate_text(g, "burn_unsqueeze_dim(%s, 1)", y));
  for (uint32_t i = 1; i <= (is_lstm ? 2u : 1u); i++) {
    const char *x = states[i - 1];
    if (wants(s, i)) generate_give(s, i, r->both ? x : generate_text(g, "burn_unsqueeze_dim(%s, 0)", x));
    if (!wants(s, i)) generate_line(g, "burn_drop(%s);", x);
  }
}

static void write_layer(GenerateStep *s, const Kind *kind) {
  Generator *g = s->g;
  check(s);
  const bool relu = is_relu(s, kind), both = onnx_is(&s->node, "direction", "forward", "bidirectional");
  const bool reverse = onnx_is(&s->node, "direction", "forward", "reverse");
  if (kind->gate_count == 3 && reverse) generate_refuse(s, "a Gru from the last step to the first");
  if (s->reason[0]) return;
  const long long in = generate_dim(s->inputs[1], 0, 2), hidden = generate_dim(s->inputs[2], 0, 2);
  const char *type = generate_text(g, "Burn%s%s", both ? "Bi" : "", kind->type);
  const char *function = generate_text(g, "burn_%s%s", both ? "bi_" : "", kind->function);
  const char *name = generate_field(s, type, s->inputs[1]->weight ? s->inputs[1]->weight : kind->function,
                                    generate_text(g, "%lld -> %lld", in, hidden));
  const Results results = {generate_local(g, "steps"), generate_local(g, "last"), both, kind->gate_count == 3 && !both};
  const char *text = generate_text(g, "  %sConfig %s = %sConfig_defaults(%lld, %lld, %s);\n", type, name, type, in,
                                   hidden, generate_has(s, 3) ? "true" : "false");
  if (!results.batch_first) text = generate_text(g, "%s  %s.batch_first = false;\n", text, name);
  if (reverse) text = generate_text(g, "%s  %s.reverse = true;\n", text, name);
  if (relu)
    text = generate_text(g, "%s  %s.hidden_activation = (BurnActivationConfig)BURN_ACTIVATION_RELU;\n", text, name);
  if (kind->gate_count == 3 && !onnx_int(&s->node, "linear_before_reset", 0))
    text = generate_text(g, "%s  %s.reset_after = false;\n", text, name);
  generate_field_init(g, name, generate_text(g, "%s  m.%s = %s_init(&%s, device);\n", text, name, function, name));
  put_direction(s, kind, both ? generate_text(g, "%s.forward", name) : name, 0, hidden);
  if (both) put_direction(s, kind, generate_text(g, "%s.reverse", name), 1, hidden);
  write_call(s, kind, generate_text(g, "%s_forward(&m->%s", function, name), &results);
  if (!s->reason[0]) write_outputs(s, kind, &results, hidden);
}

WRITE(RNN) { write_layer(s, &kinds[0]); }
WRITE(GRU) { write_layer(s, &kinds[1]); }
WRITE(LSTM) { write_layer(s, &kinds[2]); }
