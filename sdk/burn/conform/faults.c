/* faults.c - every allocation of an op failing in turn.
 *
 * The stack is opened with a host whose n-th allocation gives NULL, for n = 1, 2, .. until the op gets through. Each
 * time the op must either report a failure or manage without, leave no tensor behind, and work again right after with
 * the same bits. A stack that puts work off may report the failure when it is asked to sync or to read. */
#include "conform.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FAULT_SAMPLES = 3, FAULT_SAMPLES_FULL = 12, MAX_ALLOCATIONS = 100000 };

/* What is run with failing allocations: the op, and with autodiff in the stack also the way back. */
typedef struct Attempt {
  BurnDevice *device;
  const Sample *sample;
  void *const *data;
  bool backward, every; /* the way back too; every allocation, however many there are */
} Attempt;

/* Takes outputs: walks back from the first float one that is tracked. What a stack puts off is done here, while the
 * gradients are wanted. */
static BurnStatus walk_back(BurnDevice *device, BurnTensor **outputs, uint32_t count) {
  BurnStatus status = BURN_OK;
  bool walked = false;
  for (uint32_t i = 0; i < count; i++) {
    if (walked || !burn_is_tracked(outputs[i])) {
      burn_drop(outputs[i]);
      continue;
    }
    BurnGradients *gradients = NULL;
    status = burn_backward(outputs[i], &gradients);
    const BurnStatus late = burn_device_sync(device);
    if (status == BURN_OK) status = late;
    burn_gradients_drop(gradients);
    walked = true;
  }
  return status;
}

static BurnStatus first_failure(BurnTensor **tensors, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    const BurnStatus status = burn_tensor_status(tensors[i]);
    if (status != BURN_OK) return status;
  }
  return BURN_OK;
}

/* The call, and all that the stack puts off of it, with the n-th allocation failing. Takes inputs; on failure the
 * outputs are dropped, and with `backward` they always are. */
static BurnStatus call_failing(const Attempt *a, uint64_t n, BurnTensor **inputs, BurnTensor **kept,
                               BurnTensor **outputs) {
  const uint32_t count = a->sample->op->output_count;
  watching_host_fail_at(n);
  sample_call(a->device, a->sample, inputs, outputs);
  BurnStatus status = first_failure(outputs, count);
  for (uint32_t i = 0; i < a->sample->input_count; i++) burn_drop(kept[i]);
  const bool walks = a->backward && status == BURN_OK;
  const BurnStatus late = walks ? walk_back(a->device, outputs, count) : burn_device_sync(a->device);
  watching_host_stop();
  if (status == BURN_OK) status = late;
  for (uint32_t i = 0; !walks && status != BURN_OK && i < count; i++) burn_drop(outputs[i]);
  return status;
}

/* Runs with the n-th allocation failing (0: none). The status of the op, whether the call reports it, sync, or a read
 * of what was put off; results only if it succeeded and they are wanted. A text in why: a result breaks a promise. */
static BurnStatus attempt(const Attempt *a, uint64_t n, Results *results, char *why, size_t why_bytes) {
  BurnTensor *inputs[SAMPLE_MAX_INPUTS] = {NULL}, *kept[SAMPLE_MAX_INPUTS] = {NULL},
             *outputs[BURN_MAX_OUTPUTS] = {NULL};
  const Sample *sample = a->sample;
  for (uint32_t i = 0; i < sample->input_count; i++) {
    inputs[i] = sample_tensor(a->device, sample, i, a->data[i]);
    const bool is_float = burn_dtype_kind(sample->inputs[i].desc.dtype) == BURN_KIND_FLOAT;
    if (a->backward && inputs[i] && is_float) inputs[i] = burn_require_grad(inputs[i]);
    kept[i] = burn_clone(inputs[i]); /* held by others: results need memory of their own */
  }
  const BurnStatus made = burn_device_sync(a->device); /* the inputs, too, may have been put off */
  burn_device_trim(a->device);                         /* caches would hide allocations */
  const BurnStatus status = call_failing(a, n, inputs, kept, outputs);
  if (made != BURN_OK || status != BURN_OK || a->backward) return made != BURN_OK ? made : status;
  if (sample_read(sample, outputs, RUN_SHARED, results, why, why_bytes)) return BURN_OK;
  if (results->failure != BURN_OK && why_bytes > 0) why[0] = '\0'; /* reported late, but reported */
  return results->failure != BURN_OK ? results->failure : BURN_STATUS_INTERNAL;
}

/* Whoever manages without the memory may do so in another way, which rounds elsewhere: a fused kernel in its parts. */
static bool is_right(const Attempt *a, const Results *found, const Results *plain, char *why, size_t why_bytes) {
  return results_are_close(a->sample, found, plain, why, why_bytes);
}

/* One n: true to go on with the next, false at the end (`*why` says whether because of a fault). */
static bool check_allocation(const Attempt *a, uint64_t n, const Results *plain, bool *reached, char *why,
                             size_t why_bytes) {
  Results found = {0};
  const int64_t live = burn_device_memory(a->device).live_tensors;
  char detail[512] = "";
  const BurnStatus status = attempt(a, n, &found, detail, sizeof detail);
  *reached = watching_host_failed() || status != BURN_OK;
  const int64_t left = burn_device_memory(a->device).live_tensors;
  if (detail[0]) {
    snprintf(why, why_bytes, "allocation %" PRIu64 " failing: the op succeeds but %s", n, detail);
  } else if (left != live) {
    snprintf(why, why_bytes, "allocation %" PRIu64 " failing: %" PRId64 " tensors are left over", n, left - live);
  } else if (status == BURN_OK && !a->backward && !is_right(a, &found, plain, detail, sizeof detail)) {
    snprintf(why, why_bytes, "allocation %" PRIu64 " failing: the op succeeds with another result: %s", n, detail);
  }
  results_end(&found);
  return !why[0];
}

static bool check_again(const Attempt *a, uint64_t n, const Results *plain, char *why, size_t why_bytes) {
  Results found = {0};
  char detail[512] = "";
  const BurnStatus status = attempt(a, 0, &found, detail, sizeof detail);
  if (status != BURN_OK || (!a->backward && !results_are_same(&found, plain, detail, sizeof detail))) {
    snprintf(why, why_bytes, "after allocation %" PRIu64 " failed the op no longer works: %s", n,
             detail[0] ? detail : burn_status_message(status));
  }
  results_end(&found);
  return !why[0];
}

/* From one n to the next: all on level full. Else the first hundred, then a hundred more for every factor of e, as
 * calls under a decorator that allocates much, such as autodiff on validate, have thousands. */
static uint64_t step_after(const Attempt *a, uint64_t n) { return a->every || n < 200 ? 1 : n / 100; }

/* All n for one sample; the number of allocations that failed. */
static uint64_t check_all(const Attempt *a, const Results *plain, char *why, size_t why_bytes) {
  for (uint64_t n = 1; n <= MAX_ALLOCATIONS; n += step_after(a, n)) {
    bool reached = false;
    report_beat();
    if (!check_allocation(a, n, plain, &reached, why, why_bytes) || !reached) return n - 1;
    if (!check_again(a, n, plain, why, why_bytes)) return n;
  }
  return MAX_ALLOCATIONS;
}

static void check_sample(Conform *run, BurnDevice *device, const Sample *sample, void *const *data) {
  Results plain = {0};
  char why[640] = "";
  Attempt a = {.device = device, .sample = sample, .data = data, .every = run->level == SAMPLE_FULL};
  const BurnStatus status = attempt(&a, 0, &plain, why, sizeof why);
  if (status != BURN_OK) {
    report_fail(run->report, "%s", why[0] ? why : burn_status_message(status));
    return;
  }
  uint64_t allocations = check_all(&a, &plain, why, sizeof why);
  if (!why[0] && burn_device_is_autodiff(device) && sample->op->gradient != BURN_GRADIENT_CONSTANT) {
    a.backward = true;
    allocations += check_all(&a, &plain, why, sizeof why);
  }
  const char *complaint = watching_host_complaint();
  if (why[0]) {
    report_fail(run->report, "%s", why);
  } else if (complaint[0]) {
    report_fail(run->report, "%s", complaint);
  } else if (allocations == 0) {
    report_skip(run->report, "nothing is allocated through the host");
  } else {
    report_pass(run->report);
  }
  results_end(&plain);
}

void check_faults(Conform *run, const BurnOpInfo *op) {
  BurnDevice *device = conform_watched(run);
  const SamplePlan plan = {run->level == SAMPLE_FULL ? SAMPLE_TRAIN : run->level, SAMPLE_BRIEF, run->seed,
                           conform_dtypes(device)};
  const uint32_t most = run->level == SAMPLE_FULL ? FAULT_SAMPLES_FULL : FAULT_SAMPLES;
  SampleIterator iterator;
  Sample sample;
  uint32_t taken = 0;
  samples_begin(&iterator, op, &plan);
  /* Every third one: the first samples of an op differ in little. */
  while (taken < most && conform_next(run, CHECK_FAULTS, &iterator, &sample)) {
    if (sample.index % 3 != 0 && run->index < 0) continue;
    taken++;
    void *data[SAMPLE_MAX_INPUTS] = {NULL};
    report_begin_sample(run->report, CHECK_FAULTS, &sample);
    if (sample_inputs(&sample, data)) {
      check_sample(run, device, &sample, data);
    } else {
      report_fail(run->report, "no memory for the inputs");
    }
    sample_inputs_end(&sample, data);
  }
}
