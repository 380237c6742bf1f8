/* gradients.c - gradients through the whole stack against central differences.
 *
 * A sample's float results are projected to one number with fixed weights; its derivative by every element of every
 * float input is what backward must give. Where the slope jumps within the step, anything between the slopes of both
 * sides will do.
 */
#include "conform.h"

#include <burn/plugin/kernels.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRADIENT_SAMPLES = 24, GRADIENT_SAMPLES_FULL = 100 };

/* Step and tolerance by dtype: in f32 the differences themselves are rough. */
typedef struct Steps {
  double step, tolerance;
} Steps;
static Steps steps_of(BurnDType dtype) { return dtype == BURN_DTYPE_F64 ? (Steps){1e-5, 1e-5} : (Steps){2e-2, 3e-2}; }

static bool is_float(BurnDType dtype) { return burn_dtype_kind(dtype) == BURN_KIND_FLOAT; }

/* Takes y: sum(y * weights), with weights that differ, so that gradients which land in the wrong place are seen. */
static BurnTensor *project(BurnDevice *device, BurnTensor *y, const BurnTensorDesc *desc) {
  const int64_t count = burn_desc_count(desc);
  BurnShape shape = {.rank = desc->rank, .dims = {0}};
  memcpy(shape.dims, desc->shape, desc->rank * sizeof *shape.dims);
  char *weights = malloc((size_t)count * burn_dtype_bytes(desc->dtype) + 1);
  for (int64_t i = 0; weights && i < count; i++) {
    const double x = 0.6180339887498949 * (double)(i + 1);
    sample_store(desc->dtype, weights, i, 0.5 + x - floor(x));
  }
  BurnTensor *w = burn_tensor_from(device, weights, desc->dtype, shape);
  free(weights);
  return burn_sum(burn_mul(y, w));
}

/* Takes inputs: the projection of all float results, a tensor of one element. */
static BurnTensor *forward(BurnDevice *device, const Sample *sample, BurnTensor **inputs) {
  BurnTensor *outputs[BURN_MAX_OUTPUTS] = {NULL}, *sum = NULL;
  sample_call(device, sample, inputs, outputs);
  for (uint32_t i = 0; i < sample->op->output_count; i++) {
    if (!is_float(sample->outputs[i].dtype) || burn_desc_count(&sample->outputs[i]) == 0) {
      burn_drop(outputs[i]);
      continue;
    }
    BurnTensor *part = project(device, outputs[i], &sample->outputs[i]);
    if (burn_dtype(part) != sample->inputs[0].desc.dtype && burn_tensor_status(part) == BURN_OK) {
      part = burn_cast(part, sample->inputs[0].desc.dtype);
    }
    sum = sum ? burn_add(sum, part) : part;
  }
  return sum;
}

/* The projection for some values. */
static bool evaluate(BurnDevice *device, const Sample *sample, void *const *data, double *out, char *why,
                     size_t why_bytes) {
  BurnTensor *inputs[SAMPLE_MAX_INPUTS] = {NULL};
  for (uint32_t i = 0; i < sample->input_count; i++) inputs[i] = sample_tensor(device, sample, i, data[i]);
  BurnTensor *y = forward(device, sample, inputs);
  const BurnStatus status = y ? burn_read_scalar(y, out) : BURN_OK;
  if (!y) *out = 0;
  if (status != BURN_OK) snprintf(why, why_bytes, "%s", burn_status_message(status));
  return status == BURN_OK;
}

/* The projection with one element moved by `step`; rounded to the dtype as the op will see it. */
static bool evaluate_at(BurnDevice *device, const Sample *sample, void *const *data, uint32_t input, int64_t element,
                        double step, double *moved, double *out, char *why, size_t why_bytes) {
  const BurnDType dtype = sample->inputs[input].desc.dtype;
  const double at = sample_load(dtype, data[input], element, NULL);
  sample_store(dtype, data[input], element, at + step);
  *moved = sample_load(dtype, data[input], element, NULL);
  const bool good = evaluate(device, sample, data, out, why, why_bytes);
  sample_store(dtype, data[input], element, at);
  return good;
}

static bool is_close(double a, double b, double tolerance) { return fabs(a - b) <= tolerance * fmax(1, fabs(b)); }

/* Whether `found` is the derivative by one element. */
static bool check_element(BurnDevice *device, const Sample *sample, void *const *data, uint32_t input, int64_t element,
                          double found, char *why, size_t why_bytes) {
  const Steps steps = steps_of(sample->inputs[input].desc.dtype);
  report_beat();
  double above, below, middle, x_above, x_below;
  if (!evaluate_at(device, sample, data, input, element, steps.step, &x_above, &above, why, why_bytes)) return false;
  if (!evaluate_at(device, sample, data, input, element, -steps.step, &x_below, &below, why, why_bytes)) return false;
  const double central = (above - below) / (x_above - x_below);
  if (is_close(found, central, steps.tolerance)) return true;
  const double x = sample_load(sample->inputs[input].desc.dtype, data[input], element, NULL);
  if (!evaluate(device, sample, data, &middle, why, why_bytes)) return false;
  const double right = (above - middle) / (x_above - x), left = (middle - below) / (x - x_below);
  const double slack = steps.tolerance * fmax(1, fmax(fabs(left), fabs(right)));
  const bool jumps = fabs(right - left) > 100 * slack;
  if (jumps && found >= fmin(left, right) - slack && found <= fmax(left, right) + slack) return true;
  snprintf(why, why_bytes, "input %u, element %" PRId64 ": the gradient is %.12g, differences give %.12g", input,
           element, found, central);
  return false;
}

/* A float input that an op of a pack declares to be no variable, such as a target. */
static bool is_constant(const Sample *sample, uint32_t input) {
  const BurnOpDefinition *definition = burn_host()->op_definition(sample->op->op);
  return definition && input < 32 && (definition->constant_inputs >> input & 1u);
}

/* Takes gradient (NULL: nothing arrived, which means zeros). */
static bool check_input(BurnDevice *device, const Sample *sample, void *const *data, uint32_t input,
                        BurnTensor *gradient, char *why, size_t why_bytes) {
  const BurnTensorDesc *desc = &sample->inputs[input].desc;
  const int64_t count = burn_desc_count(desc);
  if (!gradient && is_constant(sample, input)) return true;
  const BurnShape shape = burn_shape(gradient);
  double *values = calloc((size_t)count + 1, sizeof *values);
  bool good = values != NULL;
  if (good && gradient) {
    good = shape.rank == desc->rank && memcmp(shape.dims, desc->shape, desc->rank * sizeof *shape.dims) == 0;
    if (!good) snprintf(why, why_bytes, "input %u: the gradient has another shape than the input", input);
    const BurnStatus status = good ? burn_read_f64(burn_clone(gradient), values, (size_t)count) : BURN_OK;
    if (status != BURN_OK) snprintf(why, why_bytes, "input %u: %s", input, burn_status_message(status));
    good = good && status == BURN_OK;
  }
  burn_drop(gradient);
  for (int64_t i = 0; good && i < count; i++)
    good = check_element(device, sample, data, input, i, values[i], why, why_bytes);
  free(values);
  return good;
}

/* One pass with the inputs of `tracked` as leaves. */
static bool check_tracked(BurnDevice *device, const Sample *sample, void *const *data, uint32_t tracked, char *why,
                          size_t why_bytes) {
  BurnTensor *inputs[SAMPLE_MAX_INPUTS] = {NULL}, *leaves[SAMPLE_MAX_INPUTS] = {NULL};
  BurnGradients *gradients = NULL;
  for (uint32_t i = 0; i < sample->input_count; i++) {
    inputs[i] = sample_tensor(device, sample, i, data[i]);
    if (!(tracked >> i & 1u)) continue;
    inputs[i] = burn_require_grad(inputs[i]);
    leaves[i] = burn_clone(inputs[i]);
  }
  BurnTensor *y = forward(device, sample, inputs);
  if (y && burn_tensor_status(y) == BURN_OK &&
      !burn_is_tracked(y)) { /* depends on no leaf, it says: gradients of 0 then */
    burn_drop(y);
    y = NULL;
  }
  const BurnStatus status = y ? burn_backward(y, &gradients) : BURN_OK;
  if (status != BURN_OK) snprintf(why, why_bytes, "backward: %s", burn_status_message(status));
  bool good = status == BURN_OK;
  for (uint32_t i = 0; i < sample->input_count; i++) {
    if (good && leaves[i]) {
      BurnTensor *gradient = gradients ? burn_grad_remove(leaves[i], gradients) : NULL;
      good = check_input(device, sample, data, i, gradient, why, why_bytes);
    }
    burn_drop(leaves[i]);
  }
  burn_gradients_drop(gradients);
  return good;
}

static void check_sample(Conform *run, const Sample *sample, void *const *data) {
  BurnDevice *device = conform_training(run);
  char why[640] = "";
  uint32_t floats = 0;
  const int64_t live = burn_device_memory(device).live_tensors;
  for (uint32_t i = 0; i < sample->input_count; i++) {
    if (!sample->inputs[i].absent && is_float(sample->inputs[i].desc.dtype)) floats |= 1u << i;
  }
  double value = 0;
  bool good = evaluate(device, sample, data, &value, why, sizeof why);
  if (good && !isfinite(value)) {
    report_skip(run->report, "%s: the value is not finite there", sample->op->name);
    return;
  }
  if (good) good = check_tracked(device, sample, data, floats, why, sizeof why);
  /* One at a time, so that a rule which forgets to keep what only one side needs is found. */
  for (uint32_t i = 0; good && i < sample->input_count && (floats & (floats - 1)); i++) {
    if (floats >> i & 1u) good = check_tracked(device, sample, data, 1u << i, why, sizeof why);
  }
  const int64_t left = burn_device_memory(device).live_tensors;
  if (!good) {
    report_fail(run->report, "%s", why);
  } else if (left != live) {
    report_fail(run->report, "%" PRId64 " tensors of the backend are left over after backward", left - live);
  } else {
    report_pass(run->report);
  }
}

void check_gradients(Conform *run, const BurnOpInfo *op) {
  if (op->gradient == BURN_GRADIENT_CONSTANT) return;
  if (!conform_training(run)) {
    report_begin(run->report, CHECK_GRADIENTS, op, 0, op->name);
    report_skip(run->report, "the stack cannot be opened with autodiff on top");
    return;
  }
  const SamplePlan plan = {run->level, SAMPLE_GRADIENT, run->seed, conform_dtypes(conform_training(run))};
  const uint32_t most = run->level == SAMPLE_FULL || run->pack ? GRADIENT_SAMPLES_FULL : GRADIENT_SAMPLES;
  SampleIterator iterator;
  Sample sample;
  samples_begin(&iterator, op, &plan);
  while (iterator.count < most && conform_next(run, CHECK_GRADIENTS, &iterator, &sample)) {
    void *data[SAMPLE_MAX_INPUTS] = {NULL};
    report_begin_sample(run->report, CHECK_GRADIENTS, &sample);
    if (sample_inputs(&sample, data)) {
      check_sample(run, &sample, data);
    } else {
      report_fail(run->report, "no memory for the inputs");
    }
    sample_inputs_end(&sample, data);
  }
  if (iterator.count > 0) return;
  report_begin(run->report, CHECK_GRADIENTS, op, 0, op->name);
  if (op->op >= BURN_OP_LIMIT || !(op->kinds & BURN_KIND_FLOAT)) {
    report_skip(run->report, "%s: differences need samples whose first input is a float", op->name);
  } else {
    report_fail(run->report, "the op has a gradient and its row in samples.def gives no sample for it");
  }
}
