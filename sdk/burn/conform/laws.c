/* laws.c - what must hold for every op whatever it computes: the same call twice gives the same bits, views see no
 * writes that were not theirs, tracking and layers that only look change nothing. */
#include "conform.h"

#include <stdlib.h>
#include <string.h>

enum { LAW_SAMPLES = 40, LAW_SAMPLES_FULL = 150 };

/* Runs the sample in another way; its results must have the bits of `plain`. False and a report if not. */
static bool is_same(Conform *run, BurnDevice *device, const Sample *sample, void *const *data, int how,
                    const Results *plain, const char *law) {
  Results other = {0};
  char why[640] = "";
  bool same = sample_run(device, sample, data, how, &other, why, sizeof why);
  /* What is tracked may go through a decomposition instead of a kernel, which rounds elsewhere; an op of a pack may on
   * any stack that is not the one under test. */
  const bool is_of_pack = sample->op->op >= BURN_OP_LIMIT && device != conform_device(run);
  const bool may_differ = (how == RUN_TRACKED || is_of_pack) && sample->op->is_composite;
  if (same) {
    same = may_differ ? results_are_close(sample, &other, plain, why, sizeof why)
                      : results_are_same(&other, plain, why, sizeof why);
  }
  if (!same) report_fail(run->report, "%s: %s", law, why);
  results_end(&other);
  return same;
}

/* An op that may write into its input. */
static BurnTensor *overwrite(BurnTensor *x) {
  BurnTensor *out = NULL;
  const uint32_t op = burn_dtype_kind(burn_dtype(x)) == BURN_KIND_BOOL ? BURN_OP_bool_not : BURN_OP_neg;
  burn_op_call(NULL, burn_op_info(op), &x, 1, NULL, 0, &out);
  return out;
}

/* Takes x: its bytes equal those of data. */
static bool has_values(BurnTensor *x, const void *data, size_t bytes) {
  char *found = malloc(bytes + 1);
  if (!found) {
    burn_drop(x);
    return false;
  }
  const bool same = burn_read(x, found, bytes) == BURN_OK && memcmp(found, data, bytes) == 0;
  free(found);
  return same;
}

static size_t bytes_of(const BurnTensorDesc *desc) {
  return (size_t)burn_desc_count(desc) * burn_dtype_bytes(desc->dtype);
}

/* x and a view of it: whoever is overwritten, the other one keeps its values. */
static bool views_are_safe(Conform *run, const Sample *sample, void *const *data, const Results *plain) {
  for (int written = 0; written < 2; written++) {
    BurnTensor *x = sample_tensor(conform_device(run), sample, 0, data[0]), *kept = burn_clone(x),
               *out[BURN_MAX_OUTPUTS] = {NULL};
    sample_call(conform_device(run), sample, &x, out);
    /* Either the view is given away for good, or the tensor below it. */
    BurnTensor *given = written == 0 ? out[0] : kept, *watched = written == 0 ? kept : out[0];
    burn_drop(overwrite(given));
    const bool same = written == 0 ? has_values(watched, data[0], bytes_of(&sample->inputs[0].desc))
                                   : has_values(watched, plain->data[0], bytes_of(&plain->descs[0]));
    if (same) continue;
    report_fail(run->report, written == 0 ? "writing into the result changes the tensor that it is a view of"
                                          : "writing into a tensor changes a view of it that is still alive");
    return false;
  }
  return true;
}

static bool laws_hold(Conform *run, const Sample *sample, void *const *data, const Results *plain) {
  if (!is_same(run, conform_device(run), sample, data, RUN_SHARED, plain, "the same call again")) return false;
  if (sample->input_count > 0) {
    if (!is_same(run, conform_device(run), sample, data, RUN_VIEWED, plain, "inputs of which somebody holds a view"))
      return false;
  }
  const bool is_view =
      (sample->op->traits & BURN_TRAIT_VIEW) && sample->op->input_count == 1 && sample->op->output_count == 1;
  if (is_view && !views_are_safe(run, sample, data, plain)) return false;
  if (conform_traced(run)) {
    if (!is_same(run, conform_traced(run), sample, data, RUN_SHARED, plain, "with trace on top of the stack"))
      return false;
  }
  if (conform_training(run)) {
    if (!is_same(run, conform_training(run), sample, data, RUN_TRACKED, plain, "with tracked inputs under autodiff"))
      return false;
  }
  return true;
}

static void check_sample(Conform *run, const Sample *sample, void *const *data) {
  Results plain = {0};
  char why[640] = "";
  if (!sample_run(conform_device(run), sample, data, RUN_SHARED, &plain, why, sizeof why)) {
    report_fail(run->report, "%s", why);
    return;
  }
  if (laws_hold(run, sample, data, &plain)) report_pass(run->report);
  results_end(&plain);
}

void check_laws(Conform *run, const BurnOpInfo *op) {
  const SamplePlan plan = {run->level, SAMPLE_BRIEF, run->seed, conform_dtypes(conform_device(run))};
  const uint32_t most = run->level == SAMPLE_FULL ? LAW_SAMPLES_FULL : LAW_SAMPLES;
  SampleIterator iterator;
  Sample sample;
  samples_begin(&iterator, op, &plan);
  while (iterator.count < most && conform_next(run, CHECK_LAWS, &iterator, &sample)) {
    void *data[SAMPLE_MAX_INPUTS] = {NULL};
    report_begin_sample(run->report, CHECK_LAWS, &sample);
    if (sample_inputs(&sample, data)) {
      check_sample(run, &sample, data);
    } else {
      report_fail(run->report, "no memory for the inputs");
    }
    sample_inputs_end(&sample, data);
  }
}
