/* onnx_control.c - ONNX operators that run graphs: If, Loop, Scan, SequenceMap. Conditions are read on the host. */
#include "onnx_value.h"

#include <stdlib.h>

/* -- a body ---------------------------------------------------------------------------------------- */

/* A graph attribute with room for what goes in and comes out. */
typedef struct Body {
  OnnxNode *node;
  const Onnx__GraphProto *graph;
  OnnxValue *inputs, *outputs; /* [input_count], [output_count] */
  size_t input_count, output_count;
} Body;

/* False, with the node failed, where the attribute is not a graph, or there is no memory. */
static bool open_body(Body *b, OnnxNode *node, const char *attribute) {
  const Onnx__AttributeProto *found = onnx_attribute(node, attribute);
  *b = (Body){.node = node, .graph = found ? found->g : NULL};
  if (!b->graph) {
    onnx_fail(node,
              burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: no graph '%s'", node->proto->op_type, attribute));
    return false;
  }
  b->input_count = b->graph->n_input;
  b->output_count = b->graph->n_output;
  b->inputs = calloc(b->input_count + b->output_count + 1, sizeof *b->inputs);
  if (!b->inputs) onnx_fail(node, burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%s", node->proto->op_type));
  b->outputs = b->inputs ? b->inputs + b->input_count : NULL;
  return b->inputs != NULL;
}

static void close_body(Body *b) {
  for (size_t i = 0; b->inputs && i < b->input_count + b->output_count; i++) onnx_value_release(&b->inputs[i]);
  free(b->inputs);
}

/* Runs it on its inputs, which it takes; false, with the node failed, if something in it fails. */
static bool run_body(Body *b) {
  const BurnStatus status =
      onnx_run_subgraph(b->node, b->graph, b->inputs, b->input_count, b->outputs, b->output_count);
  for (size_t i = 0; i < b->input_count; i++) b->inputs[i] = (OnnxValue){0};
  if (status != BURN_OK) onnx_fail(b->node, status);
  return status == BURN_OK;
}

static OnnxValue move_value(OnnxValue *value) {
  const OnnxValue moved = *value;
  *value = (OnnxValue){0};
  return moved;
}

static bool expect(OnnxNode *node, bool holds, const char *what) {
  if (!holds) onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: %s", node->proto->op_type, what));
  return holds;
}

MAP(If) {
  Body b;
  double condition = 0;
  const BurnStatus status = burn_read_scalar(onnx_input(node, 0), &condition);
  if (status != BURN_OK) onnx_fail(node, status);
  if (status != BURN_OK || !open_body(&b, node, condition != 0 ? "then_branch" : "else_branch")) return;
  if (expect(node, b.input_count == 0, "a branch has inputs") && run_body(&b)) {
    for (size_t i = 0; i < b.output_count; i++) onnx_give_value(node, i, move_value(&b.outputs[i]));
  }
  close_body(&b);
}

/* -- what every round gives, to be joined ------------------------------------------------------------ */

typedef struct Rounds {
  OnnxValue *values;
  size_t count, room;
} Rounds;

static bool add_round(OnnxNode *node, Rounds *r, OnnxValue value) {
  if (r->count == r->room) {
    const size_t room = r->room ? 2 * r->room : 16;
    OnnxValue *more = realloc(r->values, room * sizeof *more);
    if (!more) {
      onnx_value_release(&value);
      onnx_fail(node, burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%zu rounds", r->count));
      return false;
    }
    r->values = more;
    r->room = room;
  }
  r->values[r->count++] = value;
  return true;
}

static void release_rounds(Rounds *r) {
  for (size_t i = 0; i < r->count; i++) onnx_value_release(&r->values[i]);
  free(r->values);
  *r = (Rounds){0};
}

/* [0, ..] of the dtype that the graph says. */
static BurnTensor *no_rounds(OnnxNode *node, const Onnx__ValueInfoProto *info) {
  const Onnx__TypeProto__Tensor *type = info->type ? info->type->tensor_type : NULL;
  BurnShape shape = {1, {0}};
  const size_t rank = type && type->shape ? type->shape->n_dim : 0;
  for (size_t i = 0; i < rank && i + 1 < BURN_MAX_RANK; i++) {
    shape.dims[shape.rank++] = type->shape->dim[i]->has_dim_value ? type->shape->dim[i]->dim_value : 0;
  }
  const BurnDType dtype = type ? onnx_dtype(type->elem_type) : (BurnDType)BURN_DTYPE_F32;
  return burn_empty(node->device, shape, dtype);
}

/* All rounds along a new axis; what was rank 0 makes a vector. Takes the tensors. */
static BurnTensor *joined(OnnxNode *node, Rounds *r, int axis, bool backwards, const Onnx__ValueInfoProto *info) {
  if (r->count == 0) return no_rounds(node, info);
  BurnTensor **all = calloc(r->count, sizeof(BurnTensor *));
  if (!all) return burn_tensor_failed(burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%zu rounds", r->count));
  const bool scalars = r->values[0].scalar;
  bool tensors = true;
  for (size_t i = 0; i < r->count; i++) tensors = tensors && r->values[i].tensor;
  for (size_t i = 0; i < r->count && tensors; i++) {
    OnnxValue *value = &r->values[backwards ? r->count - 1 - i : i];
    all[i] = burn_move(&value->tensor);
  }
  BurnTensor *x = !tensors
                      ? burn_tensor_failed(burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "a round gave no tensor"))
                  : scalars ? burn_cat(all, r->count, 0)
                            : burn_stack(all, r->count, axis);
  free(all);
  return x;
}

/* -- Loop --------------------------------------------------------------------------------------------- */

/* Before round i: its number, the condition, and what the rounds hand on. */
static void fill_round(Body *b, int64_t i, bool condition, OnnxValue *carried, size_t count) {
  b->inputs[0] = (OnnxValue){.tensor = onnx_i64s(b->node->device, &i, 1), .scalar = true};
  b->inputs[1] = (OnnxValue){.tensor = burn_tensor_bool(b->node->device, &condition, BURN_SHAPE(1)), .scalar = true};
  for (size_t k = 0; k < count; k++) b->inputs[2 + k] = move_value(&carried[k]);
}

/* After it: true if there is another one. */
static bool take_round(Body *b, bool conditional, OnnxValue *carried, size_t count, Rounds *rounds) {
  double more = 1;
  OnnxValue condition = move_value(&b->outputs[0]);
  const BurnStatus status = conditional ? burn_read_scalar(burn_move(&condition.tensor), &more) : BURN_OK;
  onnx_value_release(&condition);
  if (status != BURN_OK) onnx_fail(b->node, status);
  for (size_t k = 0; k < count; k++) carried[k] = move_value(&b->outputs[1 + k]);
  bool kept = status == BURN_OK;
  for (size_t k = count + 1; k < b->output_count; k++) {
    kept = add_round(b->node, &rounds[k - count - 1], move_value(&b->outputs[k])) && kept;
  }
  return kept && more != 0;
}

/* While the condition holds, if there is one, and at most as often as input 0 says. */
static void run_loop(Body *b, OnnxValue *carried, size_t count, Rounds *rounds) {
  OnnxNode *node = b->node;
  const bool conditional = onnx_has_input(node, 1);
  const int64_t given = onnx_input_int(node, 0, INT64_MAX), most = conditional ? onnx_most_rounds(node) : 0;
  const int64_t limit = most > 0 && most < given ? most : given;
  bool more = onnx_input_number(node, 1, 1) != 0;
  for (int64_t i = 0; more && i < limit; i++) {
    fill_round(b, i, true, carried, count);
    more = run_body(b) && take_round(b, conditional, carried, count, rounds);
  }
  for (size_t k = 0; node->status == BURN_OK && k < count; k++) onnx_give_value(node, k, move_value(&carried[k]));
  for (size_t k = count; node->status == BURN_OK && k + 1 < b->output_count; k++) {
    BurnTensor *all = joined(node, &rounds[k - count], 0, false, b->graph->output[k + 1]);
    onnx_give_rank(node, k, all, ONNX_RANK_MORE);
  }
}

MAP(Loop) {
  Body b;
  const size_t count = node->proto->n_input > 2 ? node->proto->n_input - 2 : 0;
  if (!open_body(&b, node, "body")) return;
  OnnxValue *carried = calloc(count + 1, sizeof *carried);
  Rounds *rounds = calloc(b.output_count + 1, sizeof *rounds);
  const bool fits = b.input_count == count + 2 && b.output_count > count;
  if (expect(node, carried && rounds, "no memory") && expect(node, fits, "the body does not fit the inputs")) {
    for (size_t k = 0; k < count; k++) carried[k] = onnx_input_value(node, 2 + k);
    run_loop(&b, carried, count, rounds);
  }
  for (size_t k = 0; carried && k < count; k++) onnx_value_release(&carried[k]);
  for (size_t k = 0; rounds && k < b.output_count; k++) release_rounds(&rounds[k]);
  free(carried);
  free(rounds);
  close_body(&b);
}

/* -- Scan ----------------------------------------------------------------------------------------------- */

typedef struct Scan {
  Body body;
  size_t first;           /* input of the first state: 1 in opset 8 */
  size_t states, scanned; /* inputs */
  int64_t steps, batch;   /* batch: in opset 8, which entry of the first axis */
  OnnxValue *carried;
  Rounds *rounds;
} Scan;

/* Entry `at` along an axis, which is rank 0 if it was the only one. */
static OnnxValue entry(BurnTensor *x, int axis, int64_t at) {
  const bool scalar = burn_rank(x) == 1;
  return (OnnxValue){.tensor = scalar ? burn_narrow(x, 0, at, 1) : burn_select_dim(x, axis, at), .scalar = scalar};
}

static int64_t listed(OnnxNode *node, const char *name, size_t i) {
  int64_t values[ONNX_INTS];
  return i < onnx_ints(node, name, values) ? values[i] : 0;
}

/* Scanned input i: of the batch in opset 8. */
static OnnxValue scanned(const Scan *s, size_t i) {
  OnnxValue value = onnx_input_value(s->body.node, s->first + s->states + i);
  return s->batch < 0 ? value : entry(value.tensor, 0, s->batch);
}

static int axis_of(const Scan *s, size_t i, uint32_t rank) {
  return onnx_axis(s->body.node, "scan_input_axes: axis", listed(s->body.node, "scan_input_axes", i), rank);
}

static bool scan_step(Scan *s, int64_t step) {
  Body *b = &s->body;
  for (size_t i = 0; i < s->states; i++) b->inputs[i] = move_value(&s->carried[i]);
  for (size_t i = 0; i < s->scanned; i++) {
    const bool backwards = listed(b->node, s->first ? "directions" : "scan_input_directions", i) == 1;
    BurnTensor *x = scanned(s, i).tensor;
    b->inputs[s->states + i] = entry(x, axis_of(s, i, burn_rank(x)), backwards ? s->steps - 1 - step : step);
  }
  if (!run_body(b)) return false;
  for (size_t i = 0; i < s->states; i++) s->carried[i] = move_value(&b->outputs[i]);
  bool kept = true;
  for (size_t i = s->states; i < b->output_count; i++) {
    kept = add_round(b->node, &s->rounds[i - s->states], move_value(&b->outputs[i])) && kept;
  }
  return kept;
}

static BurnTensor *scan_output(Scan *s, size_t i) {
  OnnxNode *node = s->body.node;
  const Onnx__ValueInfoProto *info = s->body.graph->output[s->states + i];
  const uint32_t rank = s->rounds[i].count ? burn_rank(s->rounds[i].values[0].tensor) + 1 : 0;
  const int axis = onnx_axis(node, "scan_output_axes: axis", listed(node, "scan_output_axes", i), rank);
  return joined(node, &s->rounds[i], axis, listed(node, "scan_output_directions", i) == 1, info);
}

/* All steps; results stay in `carried` and `rounds`. */
static void run_scan(Scan *s) {
  OnnxNode *node = s->body.node;
  for (size_t i = 0; i < s->states; i++) {
    s->carried[i] = onnx_input_value(node, s->first + i);
    if (s->batch >= 0) s->carried[i] = entry(s->carried[i].tensor, 0, s->batch);
  }
  OnnxValue first = scanned(s, 0);
  s->steps = burn_dim(first.tensor, axis_of(s, 0, burn_rank(first.tensor)));
  onnx_value_release(&first);
  bool fine = true;
  for (int64_t step = 0; fine && step < s->steps; step++) fine = scan_step(s, step);
}

static void give_scan(Scan *s) {
  OnnxNode *node = s->body.node;
  for (size_t i = 0; i < s->states; i++) onnx_give_value(node, i, move_value(&s->carried[i]));
  for (size_t i = s->states; i < s->body.output_count; i++) {
    onnx_give_rank(node, i, scan_output(s, i - s->states), ONNX_RANK_MORE);
  }
}

/* Opset 8 scans every entry of a first axis by itself: results of all are joined along it. */
static void scan_batches(Scan *s) {
  OnnxNode *node = s->body.node;
  const int64_t batches = onnx_input_dim(node, s->first + s->states, 0);
  for (s->batch = 0; s->batch < batches && node->status == BURN_OK; s->batch++) {
    run_scan(s);
    for (size_t i = 0; i < s->body.output_count && node->status == BURN_OK; i++) {
      BurnTensor *x = i < s->states ? burn_move(&s->carried[i].tensor) : scan_output(s, i - s->states);
      BurnTensor *both[] = {node->outputs[i], burn_unsqueeze_dim(x, 0)};
      if (i >= s->states) release_rounds(&s->rounds[i - s->states]);
      node->outputs[i] = both[0] ? burn_cat(both, 2, 0) : both[1];
      node->output_rank[i] = ONNX_RANK_MORE;
    }
  }
}

MAP(Scan) {
  Scan s = {.first = node->opset < 9 ? 1 : 0, .batch = -1};
  const size_t inputs = node->proto->n_input - s.first;
  const int64_t scans = onnx_int(node, "num_scan_inputs", 0);
  if (s.first && onnx_has_input(node, 0)) onnx_not_mapped(node, "Scan with sequences of unequal length (opset 8)");
  if (node->reason[0] || !open_body(&s.body, node, "body")) return;
  bool given = node->proto->n_input > s.first;
  for (size_t i = s.first; i < node->proto->n_input && i < ONNX_MAX_VALUES; i++) given = given && node->inputs[i];
  const bool fits = given && scans > 0 && (size_t)scans <= inputs && s.body.input_count == inputs &&
                    s.body.output_count + (size_t)scans >= inputs && node->proto->n_output >= s.body.output_count;
  s.scanned = (size_t)scans;
  s.states = fits ? inputs - s.scanned : 0;
  s.carried = calloc(s.states + 1, sizeof *s.carried);
  s.rounds = calloc(s.body.output_count + 1, sizeof *s.rounds);
  if (expect(node, s.carried && s.rounds, "no memory") && expect(node, fits, "the body does not fit the inputs")) {
    if (s.first) scan_batches(&s);
    if (!s.first) run_scan(&s);
    if (!s.first && node->status == BURN_OK) give_scan(&s);
  }
  for (size_t i = 0; s.carried && i < s.states; i++) onnx_value_release(&s.carried[i]);
  for (size_t i = 0; s.rounds && i < s.body.output_count; i++) release_rounds(&s.rounds[i]);
  free(s.carried);
  free(s.rounds);
  close_body(&s.body);
}

/* -- SequenceMap ------------------------------------------------------------------------------------------ */

/* The body for each item of the sequences; inputs that are tensors are the same for all. */
static bool map_item(Body *b, size_t item, OnnxList *const *results) {
  OnnxNode *node = b->node;
  for (size_t i = 0; i < b->input_count; i++) {
    const OnnxList *list = node->lists[i];
    if (list && !expect(node, item < list->count, "the sequences have unequal lengths")) return false;
    b->inputs[i] = list ? onnx_item(list, item) : onnx_input_value(node, i);
  }
  if (!run_body(b)) return false;
  for (size_t i = 0; i < b->output_count; i++) onnx_put_item(results[i], item, move_value(&b->outputs[i]));
  return true;
}

MAP(SequenceMap) {
  Body b;
  if (!open_body(&b, node, "body")) return;
  OnnxList **results = calloc(b.output_count + 1, sizeof *results);
  const size_t count = node->lists[0] ? node->lists[0]->count : 0;
  bool fine = expect(node, results && node->lists[0], "the first input is not a sequence") &&
              expect(node, b.input_count == node->proto->n_input, "the body does not fit the inputs");
  for (size_t i = 0; fine && i < b.output_count; i++) fine = (results[i] = onnx_new_list(node, count)) != NULL;
  for (size_t item = 0; fine && item < count; item++) fine = map_item(&b, item, results);
  for (size_t i = 0; results && i < b.output_count; i++) {
    if (fine) onnx_give_list(node, i, results[i]);
    if (!fine) onnx_list_release(results[i]);
  }
  free(results);
  close_body(&b);
}
