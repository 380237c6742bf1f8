/* chains.c - on a stack with decorators: an element-wise op, mul and add below fusion give what they give op by op.
 *
 * fusion runs such a chain as one body where the stack below it offers that. A decorator that changes what an op gives,
 * and lets the backend's offer through, is then passed by without a sign. */
#include "conform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHAINS_PER_OP = 3, MIN_ELEMENTS = 6 };

/* What fusion is put on: the stack without autodiff on top, where fusion lies below. False if that is a backend
 * alone. */
static bool text_below(const char *stack, char *text, size_t bytes) {
  StackPart part;
  snprintf(text, bytes, "%s", stack);
  while (stack_part(text, 0, &part) && strcmp(part.name, "autodiff") == 0) snprintf(text, bytes, "%s", part.below);
  return stack_part(text, 1, &part);
}

/* Opens both, once; false if there is no decorator. */
static bool open_both(Conform *run) {
  char below[512], fused[sizeof below + 8];
  if (run->pack || !text_below(run->stack, below, sizeof below)) return false;
  snprintf(fused, sizeof fused, "fusion+%s", below);
  if (!run->unfused) run->unfused = burn_device_open(below);
  if (!run->fused) run->fused = burn_device_open(fused);
  return true;
}

/* The op, mul and add, run at the end or each as soon as it is queued; `values` are what is multiplied and added. */
static bool run_chain(BurnDevice *device, const Sample *sample, void *const *data, const float *values, bool by_steps,
                      Results *results, char *why, size_t why_bytes) {
  const BurnTensorDesc *desc = &sample->outputs[0];
  BurnTensor *inputs[SAMPLE_MAX_INPUTS] = {NULL}, *x = NULL;
  BurnShape shape = {.rank = desc->rank, .dims = {0}};
  memcpy(shape.dims, desc->shape, desc->rank * sizeof *shape.dims);
  for (uint32_t i = 0; i < sample->input_count; i++) inputs[i] = sample_tensor(device, sample, i, data[i]);
  BurnTensor *factor = burn_tensor_f32(device, values, shape), *term = burn_tensor_f32(device, values + 1, shape);
  BurnStatus status = burn_device_sync(device); /* the chain alone is what is queued */
  sample_call(device, sample, inputs, &x);
  if (by_steps && status == BURN_OK) status = burn_device_sync(device);
  x = burn_mul(x, factor);
  if (by_steps && status == BURN_OK) status = burn_device_sync(device);
  x = burn_add(x, term);
  if (status != BURN_OK) snprintf(why, why_bytes, "failed: %s", burn_status_message(status));
  const bool good = sample_read(sample, &x, RUN_OWNED, results, why, why_bytes);
  return good && status == BURN_OK;
}

static void check_chain(Conform *run, const Sample *sample, void *const *data, const float *values) {
  Sample chain; /* its results are compared as those of a sum whose parts may cancel */
  Results steps = {0}, fused = {0};
  char why[640] = "";
  sample_copy(&chain, sample);
  chain.tolerance = SAMPLE_SCALED;
  if (!run_chain(run->unfused, &chain, data, values, true, &steps, why, sizeof why)) {
    report_fail(run->report, "mul and add after it, op by op: %s", why);
  } else if (!run_chain(run->fused, &chain, data, values, false, &fused, why, sizeof why)) {
    report_fail(run->report, "mul and add after it, below fusion: %s", why);
  } else if (!results_are_close(&chain, &fused, &steps, why, sizeof why)) {
    report_fail(
        run->report,
        "mul and add after it, below fusion, give another result than op by op, which is the reference here: %s", why);
  } else {
    report_pass(run->report);
  }
  results_end(&steps);
  results_end(&fused);
}

static void check_sample(Conform *run, const Sample *sample) {
  const size_t count = (size_t)burn_desc_count(&sample->outputs[0]) + 1;
  void *data[SAMPLE_MAX_INPUTS] = {NULL};
  float *values = malloc(count * sizeof *values);
  report_begin_sample(run->report, CHECK_CHAINS, sample);
  for (size_t i = 0; values && i < count; i++) values[i] = 0.5f + 0.25f * (float)(i % 7);
  if (values && sample_inputs(sample, data)) {
    check_chain(run, sample, data, values);
  } else {
    report_fail(run->report, "no memory for the inputs");
  }
  sample_inputs_end(sample, data);
  free(values);
}

void check_chains(Conform *run, const BurnOpInfo *op) {
  const bool is_step = (op->traits & BURN_TRAIT_ELEMENTWISE) && op->output_count == 1 && !op->is_composite;
  if (!is_step || !open_both(run)) return;
  if (burn_device_status(run->fused) != BURN_OK) {
    report_begin(run->report, CHECK_CHAINS, op, 0, op->name);
    report_skip(run->report, "fusion cannot be opened on top of the stack");
    return;
  }
  const SamplePlan plan = {SAMPLE_CORE, SAMPLE_BRIEF, run->seed, 1u << BURN_DTYPE_F32};
  SampleIterator iterator;
  Sample sample;
  samples_begin(&iterator, op, &plan);
  for (uint32_t taken = 0; taken < CHAINS_PER_OP && conform_next(run, CHECK_CHAINS, &iterator, &sample);) {
    if (burn_desc_count(&sample.outputs[0]) < MIN_ELEMENTS || sample.tolerance == SAMPLE_SHAPE_ONLY) continue;
    check_sample(run, &sample);
    taken++;
  }
}
