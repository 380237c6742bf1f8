/* fuzz_graph.c - draws a random graph, op by op, while it runs on stack A with everything kept: so that every op gets
 * inputs from its domain, made by other ops where some fit. */
#include "fuzz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- graphs as data --------------------------------------------------------------------------- */

void fuzz_copy(FuzzGraph *to, const FuzzGraph *from) {
  memcpy(to, from, offsetof(FuzzGraph, pool) + from->pool_used);
  for (uint32_t i = 0; i < to->node_count; i++) sample_copy(&to->nodes[i].sample, &from->nodes[i].sample);
}

int32_t fuzz_last_use(const FuzzGraph *graph, uint32_t v) {
  for (uint32_t n = graph->node_count; n-- > 0;) {
    const FuzzNode *node = &graph->nodes[n];
    for (uint32_t i = 0; i < node->sample.input_count; i++) {
      if (node->inputs[i] == (int32_t)v) return (int32_t)n;
    }
  }
  return -1;
}

bool fuzz_infer(FuzzGraph *graph) {
  for (uint32_t n = 0; n < graph->node_count; n++) {
    FuzzNode *node = &graph->nodes[n];
    for (uint32_t i = 0; i < node->sample.input_count; i++) {
      if (node->inputs[i] >= 0) node->sample.inputs[i].desc = graph->values[node->inputs[i]].desc;
    }
    if (sample_infer(&node->sample) != BURN_OK) return false;
    for (uint32_t i = 0; i < node->sample.op->output_count; i++) {
      graph->values[node->first_output + i].desc = node->sample.outputs[i];
    }
  }
  return true;
}

void fuzz_ops(const FuzzGraph *graph, char *text, size_t bytes) {
  size_t used = 0;
  text[0] = '\0';
  for (uint32_t n = 0; n < graph->node_count && used + 1 < bytes; n++) {
    used += (size_t)snprintf(text + used, bytes - used, "%s%s", n ? " " : "", graph->nodes[n].sample.op->name);
  }
}

/* -- drawing ---------------------------------------------------------------------------------- */

enum {
  MAX_ELEMENTS = 600, /* of a value that ops are put on */
  MAX_NODES = 9,      /* drawn; views and adapters come on top */
  REUSE_LIMIT = 16    /* largest float that goes on into another op */
};

typedef struct Stats {
  double low, high, least_magnitude;
  bool finite, whole;
} Stats;

typedef struct Drawer {
  FuzzStacks *stacks;
  FuzzGraph *graph;
  FuzzSession session;
  uint64_t random;
  bool whole; /* leaves are integers */
  bool ended; /* an op failed: the graph ends there */
  Stats stats[FUZZ_MAX_VALUES];
} Drawer;

static uint64_t draw(Drawer *d, uint64_t limit) {
  d->random = sample_mix(d->random, 1);
  return d->random % limit;
}

static Stats stats_of(const BurnTensorDesc *desc, const void *data) {
  const double infinity = (double)INFINITY;
  Stats stats = {.low = infinity, .high = -infinity, .least_magnitude = infinity, .finite = true, .whole = true};
  const int64_t count = burn_desc_count(desc);
  for (int64_t i = 0; i < count; i++) {
    const double x = sample_load(desc->dtype, data, i, NULL);
    if (!isfinite(x)) stats.finite = false;
    if (x != floor(x)) stats.whole = false;
    stats.low = fmin(stats.low, x);
    stats.high = fmax(stats.high, x);
    stats.least_magnitude = fmin(stats.least_magnitude, fabs(x));
  }
  return stats;
}

/* The values of v may stand where this domain is asked for. */
static bool fits_domain(const Drawer *d, uint32_t v, uint32_t domain, int64_t limit) {
  const Stats *s = &d->stats[v];
  const bool is_float = burn_dtype_kind(d->graph->values[v].desc.dtype) == BURN_KIND_FLOAT;
  if (!s->finite || (is_float && (s->low < -(double)REUSE_LIMIT || s->high > (double)REUSE_LIMIT))) return false;
  switch (domain) {
    case SAMPLE_ANY:
    case SAMPLE_MASK:
    case SAMPLE_ROWS:
      return true;
    case SAMPLE_POSITIVE:
      return is_float ? s->low >= 0.2 : s->low >= 1;
    case SAMPLE_UNIT:
      return s->low >= -0.9 && s->high <= 0.9;
    case SAMPLE_ABOVE_ONE:
      return s->low >= 1.1;
    case SAMPLE_NONZERO:
      return s->least_magnitude >= 0.5;
    case SAMPLE_FACTOR:
      return s->least_magnitude >= 0.6 && s->low >= -1.5 && s->high <= 1.5;
    case SAMPLE_PROBABILITY:
      return s->low >= 0.05 && s->high <= 0.95;
    case SAMPLE_COUNT:
      return s->whole && s->low >= 0 && s->high <= 4;
    case SAMPLE_INDEX:
      return !is_float && s->low >= 0 && s->high < (double)limit;
    default:
      return false;
  }
}

static bool same_desc(const BurnTensorDesc *a, const BurnTensorDesc *b) {
  return a->dtype == b->dtype && a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

static size_t bytes_of(const BurnTensorDesc *desc) {
  return (size_t)burn_desc_count(desc) * burn_dtype_bytes(desc->dtype);
}

static bool has_room(const Drawer *d, uint32_t values, uint32_t nodes, size_t bytes) {
  return d->graph->value_count + values <= FUZZ_MAX_VALUES && d->graph->node_count + nodes <= FUZZ_MAX_NODES &&
         d->graph->pool_used + bytes + 16 <= FUZZ_POOL;
}

/* -- nodes ------------------------------------------------------------------------------------ */

/* Appends a node whose sample and inputs are filled, and runs it. False ends the graph: it failed. */
static bool add_node(Drawer *d, FuzzNode *node) {
  FuzzGraph *graph = d->graph;
  const uint32_t n = graph->node_count++;
  node->first_output = graph->value_count;
  for (uint32_t i = 0; i < node->sample.op->output_count; i++) {
    graph->values[graph->value_count++] = (FuzzValue){.desc = node->sample.outputs[i], .node = (int32_t)n};
  }
  if (!fuzz_step(&d->session, n)) {
    d->ended = true;
    return false;
  }
  for (uint32_t i = 0; i < node->sample.op->output_count; i++) {
    const uint32_t v = node->first_output + i;
    d->stats[v] = stats_of(&graph->values[v].desc, d->stacks->nominal.early[v]);
  }
  return true;
}

/* The next node, empty, for an op that moves elements. */
static FuzzNode *begin_move(Drawer *d, uint32_t op, uint32_t v) {
  FuzzNode *node = &d->graph->nodes[d->graph->node_count];
  memset(node, 0, sizeof *node);
  node->sample.op = burn_op_info(op);
  node->sample.tolerance = SAMPLE_EXACT;
  sample_add(&node->sample, d->graph->values[v].desc, SAMPLE_ANY);
  node->inputs[0] = (int32_t)v;
  return node;
}

/* The value that the begun node makes; -1 if it failed. */
static int32_t end_move(Drawer *d, FuzzNode *node) {
  if (sample_infer(&node->sample) != BURN_OK) return -1;
  return add_node(d, node) ? (int32_t)node->first_output : -1;
}

static int32_t reshaped(Drawer *d, uint32_t v, const BurnTensorDesc *desc) {
  FuzzNode *node = begin_move(d, BURN_OP_reshape, v);
  sample_set_i64s(&node->sample, "shape", desc->shape, desc->rank);
  return end_move(d, node);
}

static int32_t sliced(Drawer *d, uint32_t v, const int64_t *starts, const int64_t *counts, const int64_t *steps) {
  FuzzNode *node = begin_move(d, BURN_OP_slice, v);
  const uint32_t rank = d->graph->values[v].desc.rank;
  sample_set_i64s(&node->sample, "starts", starts, rank);
  sample_set_i64s(&node->sample, "counts", counts, rank);
  sample_set_i64s(&node->sample, "steps", steps, rank);
  return end_move(d, node);
}

/* -- leaves ----------------------------------------------------------------------------------- */

/* An integer of the domain next to x; some domains have none and keep x. */
static double whole_in(uint32_t domain, double x) {
  switch (domain) {
    case SAMPLE_ANY:
    case SAMPLE_ROWS:
      return nearbyint(x);
    case SAMPLE_POSITIVE:
      return fmax(1, nearbyint(x));
    case SAMPLE_ABOVE_ONE:
      return fmax(2, nearbyint(x));
    case SAMPLE_NONZERO:
      return x < 0 ? fmin(-1, nearbyint(x)) : fmax(1, nearbyint(x));
    case SAMPLE_FACTOR:
      return 1;
    default:
      return x;
  }
}

/* A leaf for input i of a sample, of another shape where it will be viewed; -1 without room. */
static int32_t add_leaf(Drawer *d, const Sample *sample, uint32_t i, const BurnTensorDesc *desc) {
  FuzzGraph *graph = d->graph;
  const size_t bytes = bytes_of(desc);
  if (!has_room(d, 1, 0, bytes)) return -1;
  static Sample with; /* too large for the stack of small systems; one thread draws */
  sample_copy(&with, sample);
  with.inputs[i].desc = *desc;
  with.seed = d->random;
  char *data = sample_values(&with, i);
  if (!data) return -1;
  const int64_t count = burn_desc_count(desc);
  const bool rounds = d->whole && burn_dtype_kind(desc->dtype) == BURN_KIND_FLOAT;
  for (int64_t k = 0; rounds && k < count; k++) {
    sample_store(desc->dtype, data, k, whole_in(sample->inputs[i].domain, sample_load(desc->dtype, data, k, NULL)));
  }
  const uint32_t v = graph->value_count++;
  graph->values[v] = (FuzzValue){.desc = *desc, .node = -1, .data = graph->pool_used};
  memcpy(graph->pool + graph->pool_used, data, bytes);
  graph->pool_used += (uint32_t)((bytes + 15) & ~(size_t)15);
  d->stats[v] = stats_of(desc, data);
  free(data);
  return (int32_t)v;
}

/* How to view a leaf: axes exchanged, one stretched, backwards, every second element. */
enum { EXCHANGED, STRETCHED, BACKWARDS, SECONDS, VIEW_KINDS };

/* A kind of view whose values are in the domain if those of the leaf are; VIEW_KINDS: none. */
static uint64_t draw_view(Drawer *d, const SampleInput *input) {
  if (input->domain == SAMPLE_ASCENDING) return VIEW_KINDS;
  if (input->domain > SAMPLE_ASCENDING) return EXCHANGED; /* a heavy diagonal stays one */
  const uint64_t kind = draw(d, VIEW_KINDS);
  return kind == STRETCHED && input->domain == SAMPLE_DISTINCT ? BACKWARDS : kind;
}

/* A leaf below a view that has the wanted shape. */
static int32_t add_viewed_leaf(Drawer *d, const Sample *sample, uint32_t i) {
  const BurnTensorDesc *wanted = &sample->inputs[i].desc;
  BurnTensorDesc base = *wanted;
  const bool is_matrix = sample->inputs[i].domain > SAMPLE_ASCENDING;
  const uint32_t rank = wanted->rank, axis = is_matrix && rank > 1 ? rank - 2 : (uint32_t)draw(d, rank);
  int64_t starts[BURN_MAX_RANK] = {0}, steps[BURN_MAX_RANK], axes[BURN_MAX_RANK];
  for (uint32_t k = 0; k < rank; k++) steps[k] = 1, axes[k] = k;
  const uint64_t kind = draw_view(d, &sample->inputs[i]);
  if (kind == VIEW_KINDS || (kind == EXCHANGED && rank < 2)) return add_leaf(d, sample, i, wanted);
  if (kind == EXCHANGED) {
    const uint32_t other = (axis + 1) % rank;
    base.shape[axis] = wanted->shape[other], base.shape[other] = wanted->shape[axis];
    axes[axis] = other, axes[other] = axis;
  } else if (kind == STRETCHED) {
    base.shape[axis] = 1;
  } else if (kind == BACKWARDS) {
    starts[axis] = wanted->shape[axis] > 0 ? wanted->shape[axis] - 1 : 0, steps[axis] = -1;
  } else {
    base.shape[axis] = 2 * wanted->shape[axis] + 1, starts[axis] = 1, steps[axis] = wanted->shape[axis] > 0 ? 2 : 1;
  }
  const int32_t leaf = add_leaf(d, sample, i, &base);
  if (leaf < 0) return -1;
  if (kind == BACKWARDS || kind == SECONDS) return sliced(d, (uint32_t)leaf, starts, wanted->shape, steps);
  FuzzNode *node = begin_move(d, kind == STRETCHED ? BURN_OP_expand : BURN_OP_permute, (uint32_t)leaf);
  if (kind == STRETCHED) sample_set_i64s(&node->sample, "shape", wanted->shape, rank);
  if (kind == EXCHANGED) sample_set_i64s(&node->sample, "axes", axes, rank);
  return end_move(d, node);
}

/* -- inputs ----------------------------------------------------------------------------------- */

/* Elements of another value, taken apart and put together in the wanted shape; -1 if no value has them. */
static int32_t adapted(Drawer *d, const SampleInput *input) {
  const int64_t count = burn_desc_count(&input->desc);
  const uint32_t values = d->graph->value_count, start = (uint32_t)draw(d, values);
  if (count == 0 || !has_room(d, 3, 3, 0)) return -1;
  for (uint32_t k = 0; k < values; k++) {
    const uint32_t v = (start + k) % values;
    const BurnTensorDesc desc = d->graph->values[v].desc;
    const int64_t has = burn_desc_count(&desc);
    if (desc.dtype != input->desc.dtype || has < count || !fits_domain(d, v, input->domain, input->limit)) continue;
    const BurnTensorDesc flat = {.dtype = desc.dtype, .rank = 1, .shape = {has}};
    int32_t x = desc.rank == 1 ? (int32_t)v : reshaped(d, v, &flat);
    const int64_t step = has >= 2 * count && draw(d, 2) ? 2 : 1;
    const bool back = draw(d, 3) == 0;
    const int64_t first = back ? step * (count - 1) : 0, by = back ? -step : step;
    if (x >= 0 && (has > count || back)) x = sliced(d, (uint32_t)x, &first, &count, &by);
    return x >= 0 && input->desc.rank > 1 ? reshaped(d, (uint32_t)x, &input->desc) : x;
  }
  return -1;
}

static int32_t existing(Drawer *d, const SampleInput *input) {
  const uint32_t values = d->graph->value_count, start = values ? (uint32_t)draw(d, values) : 0;
  for (uint32_t k = 0; k < values; k++) {
    const uint32_t v = (start + k) % values;
    if (same_desc(&d->graph->values[v].desc, &input->desc) && fits_domain(d, v, input->domain, input->limit))
      return (int32_t)v;
  }
  return -1;
}

/* A value for input i: one that is there, parts of one, or a leaf. -1 ends the graph. */
static int32_t find_input(Drawer *d, const Sample *sample, uint32_t i) {
  const SampleInput *input = &sample->inputs[i];
  int32_t v = -1;
  const bool is_free = input->domain != SAMPLE_DISTINCT && input->domain < SAMPLE_ASCENDING;
  if (is_free && draw(d, 4) != 0) v = existing(d, input);
  if (v < 0 && is_free && d->graph->value_count > 0 && draw(d, 3) == 0) v = adapted(d, input);
  if (v >= 0 || d->ended) return v;
  const bool may_view = has_room(d, 2, 2, 8 * bytes_of(&input->desc));
  return may_view && draw(d, 3) == 0 ? add_viewed_leaf(d, sample, i) : add_leaf(d, sample, i, &input->desc);
}

/* -- ops -------------------------------------------------------------------------------------- */

/* A third of all ops are views and moves, which is where aliasing goes wrong. */
static const BurnOpInfo *draw_op(Drawer *d) {
  static const uint32_t movers[] = {BURN_OP_reshape,      BURN_OP_permute, BURN_OP_expand,    BURN_OP_slice,
                                    BURN_OP_slice_assign, BURN_OP_cat,     BURN_OP_mask_fill, BURN_OP_neg};
  if (draw(d, 3) == 0) return burn_op_info(movers[draw(d, sizeof movers / sizeof movers[0])]);
  for (;;) {
    const BurnOpInfo *op = burn_op_info((uint32_t)draw(d, BURN_OP_LIMIT - 1) + 1);
    if (op && sample_is_known(op)) return op;
  }
}

/* A value to put an op on, if it is of a dtype and size that the op may take; -1: a new one. */
static int32_t draw_first(Drawer *d, const BurnOpInfo *op) {
  if (d->graph->value_count == 0 || op->input_count == 0 || sample_has_own_shapes(op) || draw(d, 5) == 0) return -1;
  for (int attempt = 0; attempt < 4; attempt++) {
    const uint32_t v = (uint32_t)draw(d, d->graph->value_count);
    const BurnTensorDesc *desc = &d->graph->values[v].desc;
    if ((burn_dtype_kind(desc->dtype) & op->kinds) && burn_desc_count(desc) <= MAX_ELEMENTS && d->stats[v].finite) {
      return (int32_t)v;
    }
  }
  return -1;
}

static bool is_small(const Sample *sample) {
  for (uint32_t i = 0; i < sample->input_count; i++) {
    if (!sample->inputs[i].absent && burn_desc_count(&sample->inputs[i].desc) > MAX_ELEMENTS) return false;
  }
  for (uint32_t i = 0; i < sample->op->output_count; i++) {
    if (burn_desc_count(&sample->outputs[i]) > 4 * MAX_ELEMENTS) return false;
  }
  return true;
}

/* One op on inputs of any origin. Drawing one that does not come about is not a failure. */
static void draw_node(Drawer *d) {
  static FuzzNode node; /* large; one thread draws */
  const BurnOpInfo *op = draw_op(d);
  const int32_t first = draw_first(d, op);
  memset(&node, 0, sizeof node);
  const BurnTensorDesc *desc = first >= 0 ? &d->graph->values[first].desc : NULL;
  if (!sample_random(op, desc, draw(d, UINT64_MAX), d->stacks->dtypes, &node.sample) || !is_small(&node.sample)) return;
  for (uint32_t i = 0; i < node.sample.input_count; i++) {
    const SampleInput *input = &node.sample.inputs[i];
    node.inputs[i] = -1;
    if (input->absent) continue;
    if (i == 0 && first >= 0 && fits_domain(d, (uint32_t)first, input->domain, input->limit)) {
      node.inputs[i] = first;
    } else {
      node.inputs[i] = find_input(d, &node.sample, i);
    }
    if (node.inputs[i] < 0 || d->ended) return;
  }
  if (!has_room(d, op->output_count, 1, 0)) return;
  FuzzNode *place = &d->graph->nodes[d->graph->node_count];
  *place = node;
  sample_copy(&place->sample, &node.sample);
  add_node(d, place);
}

/* -- who holds what --------------------------------------------------------------------------- */

/* A last use: its handle may be given, by the last of a node's inputs that is this value. */
static void draw_gift(Drawer *d, uint32_t v, int32_t user) {
  FuzzNode *node = &d->graph->nodes[user];
  if (draw(d, 4) == 0) return;
  for (uint32_t i = node->sample.input_count; i-- > 0;) {
    if (node->inputs[i] != (int32_t)v) continue;
    node->given[i] = true;
    return;
  }
}

static void draw_holders(Drawer *d) {
  FuzzGraph *graph = d->graph;
  const uint64_t mode = draw(d, 5);
  graph->mode = mode < 2 ? FUZZ_PLAIN : mode == 2 ? FUZZ_TRACKED : FUZZ_BACKWARD;
  for (uint32_t v = 0; v < graph->value_count; v++) {
    FuzzValue *value = &graph->values[v];
    const int32_t user = fuzz_last_use(graph, v);
    const bool is_float = burn_dtype_kind(value->desc.dtype) == BURN_KIND_FLOAT;
    value->kept = user < 0 || draw(d, 4) == 0;
    value->watched = value->node >= 0 && draw(d, 8) == 0;
    value->tracked = value->node < 0 && is_float && graph->mode != FUZZ_PLAIN && draw(d, 4) != 0;
    if (!value->kept) draw_gift(d, v, user);
  }
}

void fuzz_generate(FuzzStacks *stacks, uint64_t seed, FuzzGraph *graph) {
  static Drawer drawer;
  Drawer *d = &drawer;
  memset(d, 0, sizeof *d);
  memset(graph, 0, offsetof(FuzzGraph, nodes));
  graph->seed = seed;
  d->stacks = stacks;
  d->graph = graph;
  d->random = seed;
  d->whole = draw(d, 2) == 0;
  fuzz_begin(&d->session, stacks->plain[0], graph, FUZZ_KEEP_ALL | FUZZ_READ_ALL, &stacks->nominal);
  const uint64_t wanted = 1 + draw(d, MAX_NODES);
  for (uint64_t attempt = 0; graph->node_count < wanted && attempt < 3 * wanted && !d->ended; attempt++) draw_node(d);
  draw_holders(d);
  fuzz_end(&d->session);
}
