/* onnx_gradient.c - what Gradient differentiates: the nodes between its xs and its y, as a graph of its own.
 *
 * Gradient names values of the graph around it. A node that has that part of the graph as an attribute is like those of
 * control flow: it is built, ordered and run as they are, and the part is computed once more with values that autodiff
 * follows, so nothing that is computed outside has a history for its sake. */
#include "onnx_program.h"

#include <stdlib.h>
#include <string.h>

/* What a node says. */
typedef struct OnnxGradient {
  char **names; /* [count] xs, then zs */
  size_t count, xs;
  char *y;
} OnnxGradient;

static const Onnx__AttributeProto *attribute_of(const Onnx__NodeProto *node, const char *name) {
  for (size_t i = 0; i < node->n_attribute; i++) {
    if (strcmp(node->attribute[i]->name, name) == 0) return node->attribute[i];
  }
  return NULL;
}

/* A name in an attribute as text; NULL without memory. A zero in it ends it: then it names nothing. */
static char *text_of(OnnxArena *arena, const ProtobufCBinaryData *bytes) {
  char *text = onnx_arena_take(arena, bytes->len + 1, 1);
  if (text && bytes->len) memcpy(text, bytes->data, bytes->len);
  return text;
}

/* Names, and which of them are marked. */
typedef struct Marks {
  OnnxNames names;
  bool failed; /* without memory */
} Marks;

static void mark(Marks *marks, const char *name) {
  if (name[0] && !onnx_names_put(&marks->names, name, 1)) marks->failed = true;
}

static bool is_marked(const Marks *marks, const char *name) {
  return name[0] && onnx_names_get(&marks->names, name) == 1;
}

/* Whether a node, or one of its subgraphs, reads a marked name. The depth of graphs is limited when a file is read. */
static bool reads_marked(const Marks *marks, const Onnx__NodeProto *node) {
  for (size_t i = 0; i < node->n_input; i++) {
    if (is_marked(marks, node->input[i])) return true;
  }
  for (size_t i = 0; i < node->n_attribute; i++) {
    const Onnx__GraphProto *graph = node->attribute[i]->g;
    for (size_t k = 0; graph && k < graph->n_node; k++) {
      if (reads_marked(marks, graph->node[k])) return true;
    }
    for (size_t k = 0; graph && k < graph->n_output; k++) {
      if (is_marked(marks, graph->output[k]->name)) return true;
    }
  }
  return false;
}

static void mark_inputs(Marks *marks, const Onnx__NodeProto *node) {
  for (size_t i = 0; i < node->n_input; i++) mark(marks, node->input[i]);
  for (size_t i = 0; i < node->n_attribute; i++) {
    const Onnx__GraphProto *graph = node->attribute[i]->g;
    for (size_t k = 0; graph && k < graph->n_node; k++) mark_inputs(marks, graph->node[k]);
    for (size_t k = 0; graph && k < graph->n_output; k++) mark(marks, graph->output[k]->name);
  }
}

static bool gives_marked(const Marks *marks, const Onnx__NodeProto *node) {
  for (size_t i = 0; i < node->n_output; i++) {
    if (is_marked(marks, node->output[i])) return true;
  }
  return false;
}

/* What the Gradient that a node is differentiates is named by an attribute. */
static void mark_y(Marks *marks, OnnxArena *arena, const Onnx__NodeProto *node) {
  const Onnx__AttributeProto *y = strcmp(node->op_type, "Gradient") == 0 ? attribute_of(node, "y") : NULL;
  const char *name = y ? text_of(arena, &y->s) : "";
  if (name) mark(marks, name);
  if (!name) marks->failed = true;
}

/* Those of `count` nodes, in the order of the file, that follow from the xs and zs and that y needs; and for a Gradient
 * among them all that its own y needs. NULL without memory. */
static Onnx__NodeProto **between(OnnxArena *arena, Onnx__NodeProto *const *nodes, size_t count,
                                 const OnnxGradient *gradient, size_t *found) {
  Marks roots = {0}, follows = {0}, needed = {0}, inner = {0};
  Onnx__NodeProto **list = onnx_arena_take(arena, count + 1, sizeof *list);
  bool *taken = calloc(count + 1, sizeof *taken);
  for (size_t i = 0; i < gradient->count; i++) {
    mark(&roots, gradient->names[i]);
    mark(&follows, gradient->names[i]);
  }
  mark(&needed, gradient->y);
  for (size_t i = 0; taken && i < count; i++) {
    taken[i] = reads_marked(&follows, nodes[i]);
    for (size_t k = 0; taken[i] && k < nodes[i]->n_output; k++) mark(&follows, nodes[i]->output[k]);
  }
  for (size_t i = count; taken && i-- > 0;) {
    const bool for_inner = gives_marked(&inner, nodes[i]);
    taken[i] = (for_inner || (taken[i] && gives_marked(&needed, nodes[i]))) && !gives_marked(&roots, nodes[i]);
    if (taken[i]) mark_inputs(for_inner ? &inner : &needed, nodes[i]);
    if (taken[i] && for_inner) mark_inputs(&needed, nodes[i]);
    if (taken[i]) mark_y(&inner, arena, nodes[i]);
  }
  *found = 0;
  for (size_t i = 0; taken && list && i < count; i++) {
    if (taken[i]) list[(*found)++] = nodes[i];
  }
  const bool failed = !taken || roots.failed || follows.failed || needed.failed || inner.failed;
  onnx_names_release(&roots.names);
  onnx_names_release(&follows.names);
  onnx_names_release(&needed.names);
  onnx_names_release(&inner.names);
  free(taken);
  return failed ? NULL : list;
}

/* -- the attributes ---------------------------------------------------------------------------- */

static bool read_gradient(OnnxArena *arena, const Onnx__NodeProto *node, OnnxGradient *gradient) {
  static const char *const lists[] = {"xs", "zs"};
  const Onnx__AttributeProto *y = attribute_of(node, "y");
  *gradient = (OnnxGradient){.names = onnx_arena_take(arena, node->n_input + 1, sizeof *gradient->names)};
  gradient->y = y ? text_of(arena, &y->s) : onnx_arena_text(arena, "");
  for (size_t i = 0; i < 2 && gradient->names; i++) {
    const Onnx__AttributeProto *list = attribute_of(node, lists[i]);
    for (size_t k = 0; list && k < list->n_strings; k++, gradient->count++) {
      if (gradient->count == node->n_input) return true; /* too many: the counts tell */
      gradient->names[gradient->count] = text_of(arena, &list->strings[k]);
      if (!gradient->names[gradient->count]) return false;
    }
    if (i == 0) gradient->xs = gradient->count;
  }
  return gradient->names && gradient->y;
}

/* Whether there are as many xs and zs as inputs, and y is one of them or a result of the nodes. */
static bool is_whole(const Onnx__NodeProto *node, const OnnxGradient *gradient, Onnx__NodeProto *const *nodes,
                     size_t count) {
  const Onnx__AttributeProto *xs = attribute_of(node, "xs"), *zs = attribute_of(node, "zs");
  const size_t listed = (xs ? xs->n_strings : 0) + (zs ? zs->n_strings : 0);
  bool given = false;
  if (gradient->xs == 0 || listed != node->n_input || node->n_output > gradient->xs) return false;
  for (size_t i = 0; i < gradient->count; i++) given = given || strcmp(gradient->names[i], gradient->y) == 0;
  for (size_t i = 0; i < count && !given; i++) {
    for (size_t k = 0; k < nodes[i]->n_output && !given; k++) given = strcmp(nodes[i]->output[k], gradient->y) == 0;
  }
  return given && gradient->y[0];
}

/* -- the graph --------------------------------------------------------------------------------- */

static Onnx__ValueInfoProto *value_named(OnnxArena *arena, char *name) {
  Onnx__ValueInfoProto *value = onnx_arena_take(arena, 1, sizeof *value);
  if (!value) return NULL;
  onnx__value_info_proto__init(value);
  value->name = name;
  return value;
}

static Onnx__GraphProto *graph_of(OnnxArena *arena, const OnnxGradient *gradient, Onnx__NodeProto **nodes,
                                  size_t count) {
  Onnx__GraphProto *graph = onnx_arena_take(arena, 1, sizeof *graph);
  Onnx__ValueInfoProto **values = onnx_arena_take(arena, gradient->count + 1, sizeof *values);
  if (!graph || !values) return NULL;
  onnx__graph_proto__init(graph);
  for (size_t i = 0; i <= gradient->count; i++) {
    values[i] = value_named(arena, i < gradient->count ? gradient->names[i] : gradient->y);
    if (!values[i]) return NULL;
  }
  graph->name = gradient->y;
  graph->node = nodes;
  graph->n_node = count;
  graph->input = values;
  graph->n_input = gradient->count;
  graph->output = values + gradient->count;
  graph->n_output = 1;
  return graph;
}

/* The node with the graph as its first attribute. */
static const Onnx__NodeProto *with_graph(OnnxArena *arena, const Onnx__NodeProto *node, Onnx__GraphProto *graph) {
  Onnx__NodeProto *copy = onnx_arena_take(arena, 1, sizeof *copy);
  Onnx__AttributeProto **list = onnx_arena_take(arena, node->n_attribute + 1, sizeof(Onnx__AttributeProto *));
  Onnx__AttributeProto *attribute = onnx_arena_take(arena, 1, sizeof *attribute);
  if (!copy || !list || !attribute) return NULL;
  onnx__attribute_proto__init(attribute);
  attribute->name = (char *)ONNX_GRADIENT_GRAPH;
  attribute->g = graph;
  list[0] = attribute;
  if (node->n_attribute) memcpy(list + 1, node->attribute, node->n_attribute * sizeof list[0]);
  *copy = *node;
  copy->attribute = list;
  copy->n_attribute = node->n_attribute + 1;
  return copy;
}

const Onnx__NodeProto *onnx_with_gradient(OnnxProgram *program, const Onnx__NodeProto *node,
                                          Onnx__NodeProto *const *nodes, size_t count, BurnStatus *status) {
  OnnxArena *arena = &program->arena;
  OnnxGradient gradient;
  char where[ONNX_LOCATION];
  size_t found = 0;
  *status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the graph");
  if (++program->gradients > ONNX_MAX_GRADIENTS) {
    *status = burn_status_make(BURN_STATUS_OUT_OF_RANGE, "%s: more than %d gradients",
                               onnx_location(program, node, where), ONNX_MAX_GRADIENTS);
    return NULL;
  }
  if (!read_gradient(arena, node, &gradient)) return NULL;
  if (!is_whole(node, &gradient, nodes, count)) {
    *status = burn_status_make(
        BURN_STATUS_INVALID_ARGUMENT,
        "%s: its inputs are not as many as xs and zs, its outputs are more than xs, or no node of its graph gives y",
        onnx_location(program, node, where));
    return NULL;
  }
  Onnx__NodeProto **list = between(arena, nodes, count, &gradient, &found);
  Onnx__GraphProto *graph = list ? graph_of(arena, &gradient, list, found) : NULL;
  const Onnx__NodeProto *whole = graph ? with_graph(arena, node, graph) : NULL;
  if (whole) *status = BURN_OK;
  return whole;
}
