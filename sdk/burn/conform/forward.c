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

/* What samples of a pack's op had: attributes off their plain value, and inputs left out. */
typedef struct Seen {
  uint32_t changed, absent;
} Seen;

static void see(Seen *seen, const Sample *sample) {
  seen->changed |= sample->changed;
  for (uint32_t i = 0; i < sample->input_count; i++) seen->absent |= (uint32_t)sample->inputs[i].absent << i;
}

/* No fault, but nothing is known of it. */
static void tell_unseen(Conform *run, const BurnOpInfo *op, const Seen *seen) {
  report_begin(run->report, CHECK_FORWARD, op, 0, op->name);
  for (uint32_t i = 0; i < op->attr_count; i++) {
    if (op->attr_tags[i] == BURN_ATTR_DTYPE || (seen->changed >> i & 1u)) continue;
    report_skip(run->report, "%s: attribute '%s' has one value in all samples that ran", op->name, op->attr_names[i]);
  }
  for (uint32_t i = op->input_required; i < op->input_count; i++) {
    if (op->input_count == 1 || (seen->absent >> i & 1u)) continue;
    report_skip(run->report, "%s: optional input '%s' is given in all samples that ran", op->name, op->input_names[i]);
  }
}

/* An op of a pack of which nothing is known cannot count as right. */
static void fail_unsampled(Conform *run, const BurnOpInfo *op) {
  char call[256];
  BurnDType dtype = BURN_DTYPE_F32;
  if (!(op->kinds & BURN_KIND_FLOAT)) dtype = op->kinds & BURN_KIND_INT ? BURN_DTYPE_I64 : BURN_DTYPE_BOOL;
  const BurnStatus status = sample_refusal(op, dtype, call, sizeof call);
  report_fail(
      run->report,
      "it was never run: its shape rule accepts none of the calls that were tried. Of %s it says: %s. Section 4 of "
      "the guide's page kernels.md has what is tried; an op that needs more is tested by a program, and left out "
      "here by --skip %s",
      call,
      status == BURN_OK ? "nothing, but the result is too large, or in a dtype that the stack lacks"
                        : burn_status_message(status),
      op->name);
}

void check_forward(Conform *run, const BurnOpInfo *op) {
  const uint32_t both = conform_dtypes(conform_device(run)) & conform_dtypes(conform_reference(run));
  const SamplePlan plan = {run->level, SAMPLE_FORWARD, run->seed, both};
  SampleIterator iterator;
  Seen seen = {0};
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
    see(&seen, &sample);
  }
  if (iterator.count > 0 && op->op >= BURN_OP_LIMIT && run->index < 0) tell_unseen(run, op, &seen);
  if (iterator.count > 0) return;
  report_begin(run->report, CHECK_FORWARD, op, 0, op->name);
  if (!sample_is_known(op)) {
    report_fail(run->report, "no samples: samples.def has no row for it");
  } else if (op->op >= BURN_OP_LIMIT) {
    fail_unsampled(run, op);
  } else {
    report_skip(run->report, "no sample in dtypes that both the stack and the reference have");
  }
}
