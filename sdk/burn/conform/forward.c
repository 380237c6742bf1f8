/* forward.c - the values of every op against the reference, with inputs that others hold and with inputs given away. */
#include "conform.h"

#include <string.h>

/* The reference's results; false with a reason in why if it cannot run the sample. */
static bool run_reference(Conform *run, const Sample *sample, void *const *data, Results *expected, char *why,
                          size_t why_bytes) {
  /* The kernels of a pack would run there too: their decompositions are the reference. */
  const int how = sample->op->op >= BURN_OP_LIMIT && sample->op->is_composite ? RUN_DECOMPOSED : RUN_SHARED;
  return sample_run(conform_reference(run), sample, data, how, expected, why, why_bytes);
}

static void check_sample(Conform *run, const Sample *sample, void *const *data) {
  Results expected = {0}, shared = {0}, owned = {0};
  char why[640] = "";
  if (!sample_run(conform_device(run), sample, data, RUN_SHARED, &shared, why, sizeof why)) {
    report_fail(run->report, "%s", why);
    return;
  }
  const bool has_reference = run_reference(run, sample, data, &expected, why, sizeof why);
  if (has_reference && !results_are_close(sample, &shared, &expected, why, sizeof why)) {
    report_fail(run->report, "%s", why);
  } else if (!sample_run(conform_device(run), sample, data, RUN_OWNED, &owned, why, sizeof why)) {
    report_fail(run->report, "with inputs that nobody else holds: %s", why);
  } else if (!results_are_same(&owned, &shared, why, sizeof why)) {
    report_fail(run->report, "with inputs that nobody else holds: %s", why);
  } else if (!has_reference) {
    report_skip(run->report, "%s: the reference cannot run it", sample->op->name);
  } else {
    report_pass(run->report);
  }
  results_end(&expected);
  results_end(&shared);
  results_end(&owned);
}

void check_forward(Conform *run, const BurnOpInfo *op) {
  const uint32_t both = conform_dtypes(conform_device(run)) & conform_dtypes(conform_reference(run));
  const SamplePlan plan = {run->level, SAMPLE_FORWARD, run->seed, both};
  SampleIterator iterator;
  Sample sample;
  samples_begin(&iterator, op, &plan);
  while (conform_next(run, CHECK_FORWARD, &iterator, &sample)) {
    void *data[SAMPLE_MAX_INPUTS] = {NULL};
    report_begin_sample(run->report, CHECK_FORWARD, &sample);
    if (sample_inputs(&sample, data)) {
      check_sample(run, &sample, data);
    } else {
      report_fail(run->report, "no memory for the inputs");
    }
    sample_inputs_end(&sample, data);
  }
  if (iterator.count > 0) return;
  report_begin(run->report, CHECK_FORWARD, op, 0, op->name);
  if (!sample_is_known(op)) {
    report_fail(run->report, "no samples: samples.def has no row for it");
  } else if (op->op >= BURN_OP_LIMIT) {
    report_skip(run->report, "the shape rule of the pack's op accepts none of the shapes that were tried");
  } else {
    report_skip(run->report, "no sample in dtypes that both the stack and the reference have");
  }
}
