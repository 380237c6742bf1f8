/* fuzz_compare.c - runs a graph on both stacks and compares everything that was read with the reference.
 *
 * How far a value may differ is measured: the reference runs again with every inexact result moved up or down by its
 * op's tolerance, element by element at random, and what that moves may differ by twice as much. So depth and
 * conditioning count by themselves, an exact result stays exact, and where a small error decides (a comparison, an
 * index, a pole) the moved runs disagree among themselves and the value is not compared. A suspected difference is
 * confirmed with many more such runs. */
#include "fuzz.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_MOVES = 2, MANY_MOVES = 32 };

/* -- stacks ----------------------------------------------------------------------------------- */

bool fuzz_stacks_open(FuzzStacks *stacks, char *why, size_t why_bytes) {
  FuzzRun *const runs[] = {&stacks->nominal, &stacks->drawn, &stacks->moved, &stacks->walked};
  for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
    runs[i]->arena = malloc(FUZZ_ARENA);
    if (!runs[i]->arena) return false;
  }
  stacks->deviations = calloc(FUZZ_ARENA, sizeof *stacks->deviations);
  stacks->dtypes = UINT32_MAX;
  for (int i = 0; i < 2; i++) {
    stacks->plain[i] = burn_device_open(stacks->text[i]);
    const BurnStatus status = burn_device_status(stacks->plain[i]);
    if (status != BURN_OK) {
      snprintf(why, why_bytes, "%s cannot be opened: %s", stacks->text[i], burn_status_message(status));
      return false;
    }
    stacks->dtypes &= conform_dtypes(stacks->plain[i]);
    stacks->training[i] = burn_device_open_training(stacks->text[i]);
    if (burn_device_status(stacks->training[i]) == BURN_OK) continue;
    burn_device_close(stacks->training[i]);
    stacks->training[i] = NULL;
  }
  stacks->same_training = stacks->training[0] && stacks->training[1] &&
                          strcmp(burn_device_name(stacks->training[0]), burn_device_name(stacks->training[1])) == 0;
  return stacks->deviations != NULL;
}

void fuzz_stacks_close(FuzzStacks *stacks) {
  for (int i = 0; i < 2; i++) {
    burn_device_close(stacks->plain[i]);
    burn_device_close(stacks->training[i]);
  }
  free(stacks->nominal.arena);
  free(stacks->drawn.arena);
  free(stacks->moved.arena);
  free(stacks->walked.arena);
  free(stacks->deviations);
}

/* -- how surely is a value the same everywhere? ----------------------------------------------- */

/* Ops that only add and multiply: exact in any order while integers stay small. */
static bool only_adds(uint32_t op) {
  static const uint32_t list[] = {BURN_OP_sum,        BURN_OP_sum_dim,          BURN_OP_matmul,
                                  BURN_OP_conv2d,     BURN_OP_conv3d,           BURN_OP_conv2d_weight_backward,
                                  BURN_OP_cumsum,     BURN_OP_conv_transpose2d, BURN_OP_conv_transpose3d,
                                  BURN_OP_linear,     BURN_OP_select_assign,    BURN_OP_scatter,
                                  BURN_OP_scatter_nd, BURN_OP_fold4d,           BURN_OP_max_pool2d_backward,
                                  BURN_OP_add_scalar, BURN_OP_mul_scalar,       BURN_OP_conv3d_weight_backward};
  for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
    if (list[i] == op) return true;
  }
  return false;
}

/* All elements are whole; the largest magnitude. */
static bool is_whole(const BurnTensorDesc *desc, const void *data, double *largest) {
  const int64_t count = burn_desc_count(desc);
  for (int64_t i = 0; i < count; i++) {
    const double x = fabs(sample_load(desc->dtype, data, i, NULL));
    if (!(x < 1e6) || x != floor(x)) return false;
    if (x > *largest) *largest = x;
  }
  return true;
}

/* What is known of a node's result: its inputs' classes are there. */
static uint8_t class_of(const FuzzGraph *graph, const FuzzRun *nominal, const FuzzNode *node, const uint8_t *classes) {
  const Sample *sample = &node->sample;
  uint8_t worst = FUZZ_BITS;
  double largest = 1, terms = 2;
  bool whole = true;
  for (uint32_t i = 0; i < sample->input_count; i++) {
    if (node->inputs[i] < 0) continue;
    const uint32_t v = (uint32_t)node->inputs[i];
    const FuzzValue *value = &graph->values[v];
    const void *data = value->node < 0 ? graph->pool + value->data : nominal->early[v];
    if (classes[v] > worst) worst = classes[v];
    terms += (double)burn_desc_count(&value->desc);
    whole = whole && data && is_whole(&value->desc, data, &largest);
  }
  if (sample->tolerance == SAMPLE_EXACT || worst == FUZZ_INEXACT) return worst;
  for (uint32_t i = 0; i < sample->attr_count; i++) {
    const uint32_t tag = sample->op->attr_tags[i];
    if (sample->attrs[i].tag == BURN_ATTR_NONE || (tag != BURN_ATTR_F64 && tag != BURN_ATTR_NUMBER)) continue;
    const double number = burn_attr_to_f64(&sample->attrs[i]);
    if (number != floor(number)) whole = false;
    largest = fmax(largest, fabs(number));
  }
  const double room = burn_dtype_bytes(sample->outputs[0].dtype) >= 4 ? 0x1p24 : 0x1p8;
  return whole && only_adds(sample->op->op) && largest * largest * terms < room ? FUZZ_WHOLE : FUZZ_INEXACT;
}

static void classify(const FuzzGraph *graph, const FuzzRun *nominal, uint8_t *classes) {
  memset(classes, FUZZ_BITS, FUZZ_MAX_VALUES);
  for (uint32_t n = 0; n < graph->node_count; n++) {
    const FuzzNode *node = &graph->nodes[n];
    const uint8_t class = class_of(graph, nominal, node, classes);
    for (uint32_t i = 0; i < node->sample.op->output_count; i++) {
      /* Integers are compared by value, and only what moves may differ. */
      const bool is_float = burn_dtype_kind(graph->values[node->first_output + i].desc.dtype) == BURN_KIND_FLOAT;
      classes[node->first_output + i] = class == FUZZ_WHOLE && !is_float ? FUZZ_BITS : class;
    }
  }
}

/* -- one value against the reference ---------------------------------------------------------- */

typedef struct Reading {
  uint32_t kind, side, value; /* FUZZ_EARLY, FUZZ_LATE or FUZZ_GRADIENT */
  BurnTensorDesc desc;
  const void *found, *expected;
  uint8_t class;
} Reading;

static size_t bytes_of(const BurnTensorDesc *desc) {
  return (size_t)burn_desc_count(desc) * burn_dtype_bytes(desc->dtype);
}

/* Equal, any NaN for any other; for all but FUZZ_BITS any zero for any other. */
static bool is_same_element(const Reading *reading, int64_t i) {
  int64_t a_whole = 0, b_whole = 0;
  const double a = sample_load(reading->desc.dtype, reading->found, i, &a_whole),
               b = sample_load(reading->desc.dtype, reading->expected, i, &b_whole);
  if (burn_dtype_kind(reading->desc.dtype) != BURN_KIND_FLOAT) return a_whole == b_whole;
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  return a == b && (a != 0 || reading->class != FUZZ_BITS || signbit(a) == signbit(b));
}

static bool is_same(const Reading *reading) {
  if (memcmp(reading->found, reading->expected, bytes_of(&reading->desc)) == 0) return true;
  const int64_t count = burn_desc_count(&reading->desc);
  for (int64_t i = 0; i < count; i++) {
    if (!is_same_element(reading, i)) return false;
  }
  return true;
}

/* Raises the deviations to what a moved run shows; false if it shows that the value cannot be compared. */
static bool take_deviations(const Reading *reading, const void *moved, double *deviations) {
  const int64_t count = burn_desc_count(&reading->desc);
  if (!moved) return false;
  for (int64_t i = 0; i < count; i++) {
    int64_t a_whole = 0, b_whole = 0;
    const double a = sample_load(reading->desc.dtype, moved, i, &a_whole),
                 b = sample_load(reading->desc.dtype, reading->expected, i, &b_whole);
    if (burn_dtype_kind(reading->desc.dtype) != BURN_KIND_FLOAT) {
      if (a_whole != b_whole) return false;
      continue;
    }
    if (isnan(a) && isnan(b)) continue;
    if (isinf(a) && a == b) continue;
    if (!isfinite(a) || !isfinite(b)) return false;
    deviations[i] = fmax(deviations[i], fabs(a - b));
  }
  return true;
}

static double largest_of(const BurnTensorDesc *desc, const void *data) {
  double largest = 0;
  const int64_t count = burn_desc_count(desc);
  for (int64_t i = 0; i < count; i++) {
    const double x = fabs(sample_load(desc->dtype, data, i, NULL));
    if (isfinite(x) && x > largest) largest = x;
  }
  return largest;
}

/* Deviations beyond this part of the largest element: what rounding does there is chaos. */
static double most_of(BurnDType dtype) { return burn_dtype_bytes(dtype) >= 4 ? 0.02 : 0.5; }

static void describe(const FuzzStacks *stacks, const FuzzGraph *graph, const Reading *reading, FuzzOutcome *out) {
  const FuzzValue *value = &graph->values[reading->value];
  char what[128], numbers[160], where[64] = "a leaf";
  if (value->node >= 0) snprintf(where, sizeof where, "%s", graph->nodes[value->node].sample.op->name);
  snprintf(what, sizeof what, "%s of value %u (%s), element %" PRId64,
           reading->kind == FUZZ_GRADIENT ? "the gradient"
           : reading->kind == FUZZ_EARLY  ? "an early read"
                                          : "the last read",
           reading->value, where, out->element);
  if (burn_dtype_kind(reading->desc.dtype) == BURN_KIND_FLOAT) {
    snprintf(numbers, sizeof numbers, "is %.9g, the reference has %.9g (%s, tolerance %.3g)", out->found, out->expected,
             burn_dtype_name(reading->desc.dtype), out->tolerance);
  } else {
    snprintf(numbers, sizeof numbers, "is %" PRId64 ", the reference has %" PRId64 " (%s)", out->found_integer,
             out->expected_integer, burn_dtype_name(reading->desc.dtype));
  }
  snprintf(out->reason, sizeof out->reason, "%.100s: %s %s", stacks->text[reading->side], what, numbers);
}

/* The first element that is further away than the deviations allow; false if there is none. `floor`: what rounding
 * alone may do to an inexact value of the largest size in sight. */
static bool find_difference(const Reading *reading, const double *deviations, double floor, FuzzOutcome *out) {
  const int64_t count = burn_desc_count(&reading->desc);
  double most = 0;
  for (int64_t i = 0; i < count; i++) most = fmax(most, deviations[i]);
  for (int64_t i = 0; i < count; i++) {
    if (is_same_element(reading, i)) continue;
    out->found = sample_load(reading->desc.dtype, reading->found, i, &out->found_integer);
    out->expected = sample_load(reading->desc.dtype, reading->expected, i, &out->expected_integer);
    const double own =
        reading->class == FUZZ_INEXACT ? sample_unit(reading->desc.dtype) * fabs(out->expected) + floor : 0;
    out->tolerance = 2 * deviations[i] + most / 4 + own;
    out->element = i;
    if (!(fabs(out->found - out->expected) <= out->tolerance)) return true;
    if (reading->class != FUZZ_INEXACT) return true; /* a zero of the other sign */
  }
  return false;
}

/* -- moved runs ------------------------------------------------------------------------------- */

/* What a reading may differ by, by `count` moved runs. False if it cannot be compared. */
static bool measure(FuzzStacks *stacks, const FuzzGraph *graph, const Reading *reading, const uint8_t *classes,
                    uint32_t count) {
  const int64_t elements = burn_desc_count(&reading->desc);
  const bool is_gradient = reading->kind == FUZZ_GRADIENT;
  FuzzSession session = {.classes = classes};
  memset(stacks->deviations, 0, (size_t)elements * sizeof *stacks->deviations);
  for (uint32_t i = 0; i < count; i++) {
    session.moves = sample_mix(graph->seed, 1000 + i);
    const uint32_t how = FUZZ_KEEP_ALL | FUZZ_READ_ALL | FUZZ_MOVE | (is_gradient ? FUZZ_TRACK | FUZZ_WALK : 0);
    if (!fuzz_run(&session, is_gradient ? stacks->training[0] : stacks->plain[0], graph, how, &stacks->moved))
      return false;
    const void *moved = is_gradient ? stacks->moved.gradients[reading->value] : stacks->moved.early[reading->value];
    if (!take_deviations(reading, moved, stacks->deviations)) return false;
  }
  const double largest = largest_of(&reading->desc, reading->expected);
  for (int64_t i = 0; i < elements; i++) {
    if (stacks->deviations[i] > most_of(reading->desc.dtype) * fmax(largest, 1e-3)) return false;
  }
  return true;
}

/* True if the reading differs, which `out` then tells. */
static bool differs(FuzzStacks *stacks, const FuzzGraph *graph, const Reading *reading, const uint8_t *classes,
                    double floor, FuzzOutcome *out) {
  FuzzCounts none = {0}, *counts = stacks->counts ? stacks->counts : &none;
  if (is_same(reading)) {
    counts->by_bits++;
    return false;
  }
  static const uint32_t rounds[] = {FEW_MOVES, MANY_MOVES};
  for (size_t i = 0; i < 2; i++) {
    if (!measure(stacks, graph, reading, classes, rounds[i])) {
      counts->not_comparable++;
      return false;
    }
    if (!find_difference(reading, stacks->deviations, floor, out)) {
      counts->by_tolerance++;
      return false;
    }
  }
  out->kind = reading->kind;
  out->side = reading->side;
  out->value = reading->value;
  describe(stacks, graph, reading, out);
  return true;
}

/* -- a run against the reference -------------------------------------------------------------- */

/* A failure of the drawn run: right if the reference fails in the same op. */
static bool fails_alike(FuzzStacks *stacks, uint32_t side, bool drawn_good, const FuzzRun *nominal, FuzzOutcome *out) {
  const FuzzRun *drawn = &stacks->drawn;
  const bool nominal_good = nominal->why[0] == '\0';
  if (drawn_good == nominal_good && drawn->failed_node == nominal->failed_node) return true;
  const bool cannot = burn_status_code(drawn->status) == BURN_STATUS_UNIMPLEMENTED;
  if (cannot) {
    if (stacks->counts) stacks->counts->refused++;
    return true;
  }
  out->kind = FUZZ_FAILS;
  out->side = side;
  snprintf(out->reason, sizeof out->reason, "%.100s: %.350s%s%.350s", stacks->text[side],
           drawn_good ? "runs" : drawn->why, nominal_good ? "" : "; the reference: ", nominal_good ? "" : nominal->why);
  return false;
}

/* Compares what the drawn run has read. */
static bool compare_values(FuzzStacks *stacks, const FuzzGraph *graph, uint32_t side, const uint8_t *classes,
                           FuzzOutcome *out) {
  for (uint32_t v = 0; v < graph->value_count; v++) {
    const FuzzValue *value = &graph->values[v];
    const void *expected = value->node < 0 ? graph->pool + value->data : stacks->nominal.early[v];
    const void *const found[] = {stacks->drawn.early[v], stacks->drawn.late[v]};
    for (uint32_t i = 0; i < 2; i++) {
      if (!found[i] || !expected) continue;
      const Reading reading = {.kind = i == 0 ? FUZZ_EARLY : FUZZ_LATE,
                               .side = side,
                               .value = v,
                               .desc = value->desc,
                               .found = found[i],
                               .expected = expected,
                               .class = classes[v]};
      if (differs(stacks, graph, &reading, classes, 0, out)) return false;
    }
  }
  return true;
}

/* Gradients of these are sums of products of four values: of those of the result, of value, and twice of query or key.
 * Their own errors are those of sums (samples.def). */
static bool is_gradient_of_attention(uint32_t op) {
  return op == BURN_OP_attention_backward || op == BURN_OP_attention_with_logsumexp_backward;
}

/* Results of some ops are made by cancellation (samples.def), and so are the gradients inside them: of products of how
 * many values beside the weight and one. */
static int cancelling_factors(const FuzzGraph *graph) {
  int factors = 0;
  for (uint32_t n = 0; n < graph->node_count; n++) {
    const Sample *sample = &graph->nodes[n].sample;
    if (is_gradient_of_attention(sample->op->op)) return 3;
    if (sample->tolerance == SAMPLE_SCALED || sample->tolerance == SAMPLE_LOOSE) factors = 1;
  }
  return factors;
}

/* Gradients are sums of products along all paths: rounding is of the size of the largest, or, where all paths cancel
 * inside an op, of a weight times a value: times more of them in an op like attention, where saturated scores
 * cancel. */
static double gradient_floor(const FuzzGraph *graph, const FuzzRun *walked, BurnDType dtype) {
  double gradient = 0, leaf = 1;
  for (uint32_t v = 0; v < graph->value_count; v++) {
    const FuzzValue *value = &graph->values[v];
    const bool is_leaf = value->node < 0 && burn_dtype_kind(value->desc.dtype) == BURN_KIND_FLOAT;
    if (is_leaf) leaf = fmax(leaf, largest_of(&value->desc, graph->pool + value->data));
    if (walked->gradients[v]) gradient = fmax(gradient, largest_of(&value->desc, walked->gradients[v]));
  }
  const double part = 0.1 * pow(leaf, 1 + cancelling_factors(graph));
  return (burn_dtype_bytes(dtype) >= 4 ? 1 : 4) * sample_unit(dtype) * fmax(gradient, part);
}

static bool compare_gradients(FuzzStacks *stacks, const FuzzGraph *graph, uint32_t side, const uint8_t *classes,
                              FuzzOutcome *out) {
  for (uint32_t v = 0; v < graph->value_count; v++) {
    const FuzzValue *value = &graph->values[v];
    const void *found = stacks->drawn.gradients[v], *expected = stacks->walked.gradients[v];
    if (!found && !expected) continue;
    if (!found || !expected) {
      *out = (FuzzOutcome){.kind = FUZZ_GRADIENT, .side = side, .value = v};
      snprintf(out->reason, sizeof out->reason, "%.100s: leaf %u has %s gradient, the reference has %s",
               stacks->text[side], v, found ? "a" : "no", expected ? "one" : "none");
      return false;
    }
    const Reading reading = {.kind = FUZZ_GRADIENT,
                             .side = side,
                             .value = v,
                             .desc = value->desc,
                             .found = found,
                             .expected = expected,
                             .class = FUZZ_INEXACT};
    if (differs(stacks, graph, &reading, classes, gradient_floor(graph, &stacks->walked, value->desc.dtype), out))
      return false;
  }
  return true;
}

/* The graph as drawn on one of the stacks. */
static bool check_side(FuzzStacks *stacks, const FuzzGraph *graph, uint32_t side, const uint8_t *classes,
                       FuzzOutcome *out) {
  const bool walks = graph->mode == FUZZ_BACKWARD && stacks->walked.why[0] == '\0';
  BurnDevice *device = walks ? stacks->training[side] : stacks->plain[side];
  const bool tracks = graph->mode != FUZZ_PLAIN && burn_device_is_autodiff(device);
  FuzzSession session = {0};
  if (stacks->stage) *stacks->stage = side + 1;
  const bool good =
      fuzz_run(&session, device, graph, (tracks ? FUZZ_TRACK : 0u) | (walks ? FUZZ_WALK : 0u), &stacks->drawn);
  if (stacks->stage) *stacks->stage = 0;
  if (!fails_alike(stacks, side, good, &stacks->nominal, out)) return false;
  if (!compare_values(stacks, graph, side, classes, out)) return false;
  return !walks || !good || compare_gradients(stacks, graph, side, classes, out);
}

void fuzz_check(FuzzStacks *stacks, const FuzzGraph *graph, bool has_nominal, FuzzOutcome *out) {
  const uint32_t all = FUZZ_KEEP_ALL | FUZZ_READ_ALL;
  uint8_t classes[FUZZ_MAX_VALUES];
  FuzzSession session = {0};
  *out = (FuzzOutcome){.kind = FUZZ_EQUAL};
  const bool good =
      has_nominal ? stacks->nominal.why[0] == '\0' : fuzz_run(&session, stacks->plain[0], graph, all, &stacks->nominal);
  classify(graph, &stacks->nominal, classes);
  stacks->walked.why[0] = '-'; /* no gradients */
  if (good && graph->mode == FUZZ_BACKWARD && stacks->training[0] && stacks->training[1]) {
    if (!fuzz_run(&session, stacks->training[0], graph, all | FUZZ_TRACK | FUZZ_WALK, &stacks->walked)) {
      out->kind = FUZZ_FAILS;
      snprintf(out->reason, sizeof out->reason, "%.100s: %s", stacks->text[0], stacks->walked.why);
      return;
    }
  }
  for (uint32_t side = stacks->same_training && graph->mode == FUZZ_BACKWARD ? 1 : 0; side < 2; side++) {
    if (!check_side(stacks, graph, side, classes, out)) return;
  }
}
