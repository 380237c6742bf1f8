/* fuzz_shrink.c - from a graph that shows a difference to a small one that still shows it: fewer nodes, fewer reads,
 * gifts and gradients, smaller axes, simpler values. Whatever is tried, the stacks decide. */
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_PROBES = 3000, MAX_SECONDS = 60, MAX_HANGING_SECONDS = 20, MAX_SINGLE_VALUES = 64 };

typedef struct Shrinker {
  FuzzGraph *graph, *trial; /* the smallest so far; one that is tried */
  FuzzOutcome *outcome;
  const FuzzProbe *probe;
  uint32_t probes;
  struct timespec start;
} Shrinker;

static bool is_over(const Shrinker *s) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const time_t most = s->outcome->kind == FUZZ_HANGS ? MAX_HANGING_SECONDS : MAX_SECONDS;
  return s->probes > MAX_PROBES || now.tv_sec - s->start.tv_sec > most;
}

/* Wrong numbers may be in an early read, a last one or a gradient: all are differences. */
static bool is_same_kind(uint32_t a, uint32_t b) {
  return a == b || (a >= FUZZ_EARLY && a <= FUZZ_GRADIENT && b >= FUZZ_EARLY && b <= FUZZ_GRADIENT);
}

/* Takes the trial if it has the same kind of outcome. */
static bool try_it(Shrinker *s) {
  FuzzOutcome outcome;
  if (is_over(s) || !fuzz_infer(s->trial)) return false;
  s->probes++;
  s->probe->outcome(s->probe->context, s->trial, &outcome);
  if (!is_same_kind(outcome.kind, s->outcome->kind)) return false;
  *s->outcome = outcome;
  fuzz_copy(s->graph, s->trial);
  return true;
}

static void begin(Shrinker *s) { fuzz_copy(s->trial, s->graph); }

/* -- nodes ------------------------------------------------------------------------------------ */

/* Takes out values that nothing makes or uses. */
static void compact(FuzzGraph *graph) {
  int32_t place[FUZZ_MAX_VALUES];
  uint32_t count = 0;
  for (uint32_t v = 0; v < graph->value_count; v++) {
    const bool wanted = graph->values[v].node >= 0 || fuzz_last_use(graph, v) >= 0;
    place[v] = wanted ? (int32_t)count : -1;
    if (wanted) graph->values[count++] = graph->values[v];
  }
  graph->value_count = count;
  for (uint32_t n = 0; n < graph->node_count; n++) {
    FuzzNode *node = &graph->nodes[n];
    node->first_output = (uint32_t)place[node->first_output];
    for (uint32_t i = 0; i < node->sample.input_count; i++) {
      if (node->inputs[i] >= 0) node->inputs[i] = place[node->inputs[i]];
    }
  }
}

/* The results of node n are leaves or unused. */
static void remove_node(FuzzGraph *graph, uint32_t n) {
  const FuzzNode *gone = &graph->nodes[n];
  for (uint32_t i = 0; i < gone->sample.op->output_count; i++) graph->values[gone->first_output + i].node = -1;
  graph->node_count--;
  for (uint32_t k = n; k < graph->node_count; k++) {
    memcpy(&graph->nodes[k], &graph->nodes[k + 1], sizeof graph->nodes[k]);
    sample_copy(&graph->nodes[k].sample, &graph->nodes[k + 1].sample);
  }
  for (uint32_t v = 0; v < graph->value_count; v++) {
    if (graph->values[v].node > (int32_t)n) graph->values[v].node--;
  }
  compact(graph);
}

static bool is_used(const FuzzGraph *graph, uint32_t n) {
  const FuzzNode *node = &graph->nodes[n];
  for (uint32_t i = 0; i < node->sample.op->output_count; i++) {
    if (fuzz_last_use(graph, node->first_output + i) >= 0) return true;
  }
  return false;
}

/* Everything from node n on goes. */
static bool cut_from(Shrinker *s, uint32_t n) {
  begin(s);
  while (s->trial->node_count > n) remove_node(s->trial, s->trial->node_count - 1);
  for (uint32_t v = 0; v < s->trial->value_count; v++) {
    FuzzValue *value = &s->trial->values[v];
    if (value->node >= 0 && fuzz_last_use(s->trial, v) < 0) value->kept = true;
  }
  return try_it(s);
}

static bool shrink_nodes(Shrinker *s) {
  bool changed = false;
  for (uint32_t n = 1; n < s->graph->node_count; n++) {
    if (cut_from(s, n)) changed = true; /* then n is the last one and the loop ends */
  }
  for (uint32_t n = s->graph->node_count; n-- > 0 && s->graph->node_count > 1;) {
    begin(s);
    if (is_used(s->trial, n) && !s->probe->values(s->probe->context, s->trial, n)) continue;
    remove_node(s->trial, n);
    changed = try_it(s) || changed;
  }
  return changed;
}

/* An op that only moves elements of its one input goes, where what uses it can take the input itself. */
static bool bypass_nodes(Shrinker *s) {
  bool changed = false;
  for (uint32_t n = s->graph->node_count; n-- > 0;) {
    const FuzzNode *node = &s->graph->nodes[n];
    if (node->sample.op->output_count != 1 || node->inputs[0] < 0 || s->graph->node_count == 1) continue;
    begin(s);
    const uint32_t out = node->first_output;
    for (uint32_t k = n + 1; k < s->trial->node_count; k++) {
      FuzzNode *user = &s->trial->nodes[k];
      for (uint32_t i = 0; i < user->sample.input_count; i++) {
        if (user->inputs[i] != (int32_t)out) continue;
        user->inputs[i] = node->inputs[0];
        user->given[i] = false;
      }
    }
    for (uint32_t k = 0; k <= n; k++) { /* what was a last use no longer is */
      for (uint32_t i = 0; i < s->trial->nodes[k].sample.input_count; i++) {
        if (s->trial->nodes[k].inputs[i] == node->inputs[0]) s->trial->nodes[k].given[i] = false;
      }
    }
    remove_node(s->trial, n);
    changed = try_it(s) || changed;
  }
  return changed;
}

/* -- who holds what --------------------------------------------------------------------------- */

static bool clear_flag(Shrinker *s, bool *in_trial, bool set) {
  if (!set) return false;
  *in_trial = false;
  return try_it(s);
}

static bool shrink_holders(Shrinker *s) {
  bool changed = false;
  for (uint32_t mode = FUZZ_PLAIN; mode < s->graph->mode; mode++) {
    begin(s);
    s->trial->mode = mode;
    changed = try_it(s) || changed;
  }
  for (uint32_t v = 0; v < s->graph->value_count; v++) {
    begin(s);
    changed = clear_flag(s, &s->trial->values[v].watched, s->graph->values[v].watched) || changed;
    begin(s);
    changed = clear_flag(s, &s->trial->values[v].tracked, s->graph->values[v].tracked) || changed;
    begin(s);
    changed = clear_flag(s, &s->trial->values[v].kept, s->graph->values[v].kept) || changed;
  }
  for (uint32_t n = 0; n < s->graph->node_count; n++) {
    for (uint32_t i = 0; i < s->graph->nodes[n].sample.input_count; i++) {
      begin(s);
      changed = clear_flag(s, &s->trial->nodes[n].given[i], s->graph->nodes[n].given[i]) || changed;
    }
  }
  return changed;
}

/* -- axes ------------------------------------------------------------------------------------- */

/* Only the first `size` elements along an axis of a leaf stay. */
static void cut_axis(FuzzGraph *graph, FuzzValue *leaf, uint32_t axis, int64_t size) {
  const int64_t old = leaf->desc.shape[axis];
  int64_t inner = (int64_t)burn_dtype_bytes(leaf->desc.dtype), outer = 1;
  for (uint32_t i = axis + 1; i < leaf->desc.rank; i++) inner *= leaf->desc.shape[i];
  for (uint32_t i = 0; i < axis; i++) outer *= leaf->desc.shape[i];
  char *data = graph->pool + leaf->data;
  for (int64_t i = 0; i < outer; i++) memmove(data + i * size * inner, data + i * old * inner, (size_t)(size * inner));
  leaf->desc.shape[axis] = size;
}

/* Lists of sizes and starts in attributes that seem to mean this axis. */
static void cut_attributes(Sample *sample, int64_t old, int64_t size) {
  for (uint32_t i = 0; i < sample->attr_count; i++) {
    BurnAttr *attr = &sample->attrs[i];
    const char *name = sample->op->attr_names[i];
    const bool is_start = strcmp(name, "starts") == 0;
    const bool is_size = strcmp(name, "counts") == 0 || strstr(name, "shape") || strcmp(name, "output_size") == 0;
    if (attr->tag != BURN_ATTR_I64S) continue;
    for (uint32_t k = 0; k < attr->count; k++) {
      if (is_size && sample->lists[i][k] == old) sample->lists[i][k] = size;
      if (is_start && sample->lists[i][k] == old - 1 && old > 1) sample->lists[i][k] = size - 1;
    }
  }
}

/* All axes of size `old`, or (leaf >= 0) only one. */
static bool try_size(Shrinker *s, int64_t old, int64_t size, int64_t leaf, uint32_t axis, bool attributes) {
  begin(s);
  for (uint32_t v = 0; v < s->trial->value_count; v++) {
    FuzzValue *value = &s->trial->values[v];
    for (uint32_t i = 0; value->node < 0 && i < value->desc.rank; i++) {
      if (value->desc.shape[i] == old && (leaf < 0 || (leaf == (int64_t)v && i == axis)))
        cut_axis(s->trial, value, i, size);
    }
  }
  for (uint32_t n = 0; attributes && n < s->trial->node_count; n++)
    cut_attributes(&s->trial->nodes[n].sample, old, size);
  return try_it(s);
}

static bool shrink_axis(Shrinker *s, uint32_t v, uint32_t axis) {
  const int64_t old = s->graph->values[v].desc.shape[axis];
  const int64_t sizes[] = {1, old / 2, old - 1};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    if (sizes[i] < 1 || sizes[i] >= old) continue;
    if (try_size(s, old, sizes[i], -1, 0, true) || try_size(s, old, sizes[i], -1, 0, false)) return true;
    if (try_size(s, old, sizes[i], v, axis, true) || try_size(s, old, sizes[i], v, axis, false)) return true;
  }
  return false;
}

static bool shrink_shapes(Shrinker *s) {
  bool changed = false;
  for (uint32_t v = 0; v < s->graph->value_count; v++) {
    for (uint32_t axis = 0; s->graph->values[v].node < 0 && axis < s->graph->values[v].desc.rank; axis++) {
      while (shrink_axis(s, v, axis)) changed = true;
    }
  }
  return changed;
}

/* -- values ----------------------------------------------------------------------------------- */

/* A leaf's elements from `first` on become simpler; false if they are already. */
static bool simplify(FuzzGraph *graph, const FuzzValue *leaf, int64_t first, int64_t count, int way) {
  bool changed = false;
  for (int64_t i = first; i < first + count; i++) {
    char *data = graph->pool + leaf->data;
    const double x = sample_load(leaf->desc.dtype, data, i, NULL);
    const double simple = way == 0 ? 0 : way == 1 ? 1 : way == 2 ? (double)(i % 3 + 1) : nearbyint(x);
    if (x == simple || isnan(x)) continue;
    sample_store(leaf->desc.dtype, data, i, simple);
    changed = true;
  }
  return changed;
}

static bool shrink_values(Shrinker *s) {
  bool changed = false;
  for (uint32_t v = 0; v < s->graph->value_count; v++) {
    const FuzzValue *leaf = &s->graph->values[v];
    if (leaf->node >= 0) continue;
    const int64_t count = burn_desc_count(&leaf->desc);
    for (int way = 0; way < 4; way++) {
      begin(s);
      if (!simplify(s->trial, &s->trial->values[v], 0, count, way) || !try_it(s)) continue;
      changed = true;
      break;
    }
    for (int64_t i = 0; i < count && count <= MAX_SINGLE_VALUES; i++) {
      begin(s);
      if (simplify(s->trial, &s->trial->values[v], i, 1, 0)) changed = try_it(s) || changed;
    }
  }
  return changed;
}

void fuzz_shrink(FuzzGraph *graph, FuzzOutcome *outcome, const FuzzProbe *probe) {
  Shrinker s = {.graph = graph, .trial = malloc(sizeof *graph), .outcome = outcome, .probe = probe};
  if (!s.trial) return;
  clock_gettime(CLOCK_MONOTONIC, &s.start);
  for (bool changed = true; changed && !is_over(&s);) {
    changed = shrink_nodes(&s);
    changed = bypass_nodes(&s) || changed;
    changed = shrink_holders(&s) || changed;
    changed = shrink_shapes(&s) || changed;
  }
  shrink_values(&s);
  free(s.trial);
}
