/* ops_case.c - see ops_case.h. Read run_golden at the end of the runs first. */
#include "ops_variant.h"
#include "test_stacks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Who else holds the inputs. */
enum { SHARING_OWNED = 0, SHARING_CLONED, SHARING_VIEWED, SHARING_COUNT };
static const char *const sharing_names[] = {"owned", "cloned", "viewed"};

typedef struct Stack {
  TestStack entry;
  BurnDevice *device, *raw_device;
  const BurnHost *host;
  const BurnBackend *backend;
} Stack;

static Stack stacks[TEST_STACKS_MAX]; /* those that are here */
static size_t stack_count;

static const OpsFamily *family;

static void parse_numbers(const char *text, OpsRun *run) {
  run->number_count = 0;
  for (char *at = (char *)(uintptr_t)text; *at;) {
    at += strspn(at, " ");
    assert_true(run->number_count < OPS_MAX_NUMBERS);
    const bool is_end = strncmp(at, "end", 3) == 0;
    const char *start = at;
    const double number = is_end ? 0 : strtod(start, &at);
    if (is_end) at += 3;
    run->wholes[run->number_count] = is_end ? BURN_END : isfinite(number) ? strtoll(start, NULL, 10) : 0;
    run->numbers[run->number_count++] = number;
    at += strspn(at, " ");
  }
}

static BurnTensor *make_input(const Stack *stack, const OpsValue *value, int layout) {
  BurnTensor *x = value->absent ? NULL : ops_value_tensor(stack->device, value, layout);
  const bool track = x && stack->entry.tracked && burn_dtype_kind(value->dtype) == BURN_KIND_FLOAT;
  return track ? burn_require_grad(x) : x;
}

/* -- for OPS lines ---------------------------------------------------------------------------- */

BurnTensor *ops_input(OpsRun *run, size_t i) {
  BurnTensor *x = i < run->input_count ? run->inputs[i] : NULL;
  if (run->shared) return burn_clone(x);
  if (x) run->inputs[i] = NULL;
  return x;
}

double ops_number(const OpsRun *run, size_t i) {
  if (i >= run->number_count) fail_msg("%s: number %zu is missing", ops_place, i);
  return run->numbers[i];
}

int64_t ops_integer(const OpsRun *run, size_t i) {
  if (i >= run->number_count) fail_msg("%s: number %zu is missing", ops_place, i);
  return run->wholes[i];
}

BurnShape ops_shape(const OpsRun *run, size_t first) {
  BurnShape shape = {0, {0}};
  for (size_t i = first; i < run->number_count; i++) shape.dims[shape.rank++] = run->wholes[i];
  return shape;
}

uint32_t ops_ranges(const OpsRun *run, BurnRange ranges[BURN_MAX_RANK]) {
  const size_t count = run->number_count / 3;
  for (size_t i = 0; i < count; i++) {
    ranges[i] = BURN_RANGE_STEP(run->wholes[3 * i], run->wholes[3 * i + 1], run->wholes[3 * i + 2]);
  }
  return (uint32_t)count;
}

/* Takes x: the same values as a primitive of the lent backend. */
static BurnStatus to_primitive(const OpsRun *run, BurnTensor *x, BurnPrimitive **out) {
  const BurnShape shape = burn_shape(x);
  BurnTensorDesc desc = {.dtype = burn_dtype(x), .rank = shape.rank};
  memcpy(desc.shape, shape.dims, sizeof desc.shape);
  const size_t bytes = (size_t)burn_element_count(x) * burn_dtype_bytes(desc.dtype);
  char data[8192];
  assert_true(bytes <= sizeof data);
  const BurnStatus status = burn_read(x, data, bytes);
  return status == BURN_OK ? run->backend->create(run->backend->self, &desc, data, out) : status;
}

/* A primitive of the lent backend as a tensor. */
static BurnTensor *to_tensor(const OpsRun *run, BurnPrimitive *x) {
  BurnShape shape = {.rank = x->rank, .dims = {0}};
  memcpy(shape.dims, x->shape, x->rank * sizeof shape.dims[0]);
  char data[8192];
  const uint64_t bytes = (uint64_t)burn_primitive_count(x) * burn_dtype_bytes(x->dtype);
  assert_true(bytes <= sizeof data);
  const BurnStatus status = run->backend->read(run->backend->self, x, data, bytes);
  return status == BURN_OK ? burn_tensor_from(run->device, data, x->dtype, shape) : burn_tensor_failed(status);
}

BurnTensor *ops_raw(OpsRun *run, uint32_t op, BurnTensor *const *inputs, uint32_t count, const BurnAttr *attrs,
                    uint32_t attr_count) {
  BurnPrimitive *primitives[OPS_MAX_TENSORS] = {NULL}, *output = NULL;
  BurnStatus status = BURN_OK;
  for (uint32_t i = 0; i < count && status == BURN_OK; i++) status = to_primitive(run, inputs[i], &primitives[i]);
  const BurnOpCall call = {.struct_size = sizeof call,
                           .op = op,
                           .attr_count = attr_count,
                           .input_count = count,
                           .output_count = 1,
                           .inputs = primitives,
                           .outputs = &output,
                           .attrs = attrs,
                           .donate = run->shared ? 0 : UINT64_MAX};
  if (status == BURN_OK) status = run->host->invoke(run->backend, &call);
  BurnTensor *result = status == BURN_OK ? to_tensor(run, output) : burn_tensor_failed(status);
  run->backend->release(run->backend->self, output);
  for (uint32_t i = 0; i < count; i++) run->backend->release(run->backend->self, primitives[i]);
  return result;
}

void ops_call(OpsRun *run, uint32_t op, const BurnAttr *attrs, size_t attr_count) {
  BurnTensor *inputs[OPS_MAX_TENSORS];
  for (size_t i = 0; i < run->input_count; i++) inputs[i] = IN(i);
  burn_op_call(run->device, burn_op_info(op), inputs, run->input_count, attrs, attr_count, run->outputs);
}

void ops_check_count(BurnStatus status, size_t count, BurnStatus refused, size_t needed) {
  assert_string_equal(burn_status_message(status), "ok");
  if (needed > 0) assert_int_equal(burn_status_code(refused), BURN_STATUS_INVALID_ARGUMENT); /* there was no room */
  assert_int_equal(count, needed);
}

/* -- comparison ------------------------------------------------------------------------------- */

static bool is_close(double found, double expected, const OpsGolden *golden) {
  if (isnan(expected)) return isnan(found);
  if (isnan(found)) return false;
  if (golden->relative <= 0 && golden->absolute <= 0 && found == expected) return signbit(found) == signbit(expected);
  return found == expected || fabs(found - expected) <= golden->relative * fabs(expected) + golden->absolute;
}

static void check_digest(const OpsValue *found, const OpsValue *expected, const OpsGolden *golden, size_t output) {
  double sums[2] = {0, 0}, wanted[2];
  memcpy(wanted, expected->data, sizeof wanted);
  for (int64_t i = 0; i < found->count; i++) {
    int64_t whole;
    const double number = ops_value_load(found, i, &whole);
    sums[0] += number;
    sums[1] += number * (double)(i * 29 % 97 - 48) / 48;
  }
  for (int k = 0; k < 2; k++) {
    if (is_close(sums[k], wanted[k], golden)) continue;
    fail_msg("%s: result %zu: weighted sum %d is %.10g, expected %.10g", ops_place, output, k, sums[k], wanted[k]);
  }
}

static void check_elements(const OpsValue *found, const OpsValue *expected, const OpsGolden *golden, size_t output) {
  for (int64_t i = 0; i < expected->count; i++) {
    int64_t found_integer, expected_integer;
    const double a = ops_value_load(found, i, &found_integer), b = ops_value_load(expected, i, &expected_integer);
    if (found_integer == expected_integer && is_close(a, b, golden)) continue;
    if (burn_dtype_kind(expected->dtype) == BURN_KIND_FLOAT) {
      fail_msg("%s: result %zu: element %" PRId64 " is %.10g, expected %.10g", ops_place, output, i, a, b);
    }
    fail_msg("%s: result %zu: element %" PRId64 " is %" PRId64 ", expected %" PRId64, ops_place, output, i,
             found_integer, expected_integer);
  }
}

/* Takes x: its elements in host memory. */
static OpsValue read_output(BurnTensor *x, size_t output) {
  BurnStatus status = x ? burn_tensor_status(x) : BURN_OK;
  if (!x) fail_msg("%s: result %zu is missing", ops_place, output);
  if (status != BURN_OK) fail_msg("%s: result %zu failed: %s", ops_place, output, burn_status_message(status));
  OpsValue found = {.dtype = burn_dtype(x), .shape = burn_shape(x), .count = burn_element_count(x)};
  found.bytes = burn_dtype_bytes(found.dtype);
  found.data = malloc((size_t)found.count * found.bytes + 1);
  assert_non_null(found.data);
  status = burn_read(x, found.data, (size_t)found.count * found.bytes);
  if (status != BURN_OK) fail_msg("%s: result %zu cannot be read: %s", ops_place, output, burn_status_message(status));
  return found;
}

BurnTensor *ops_same(BurnTensor *x, BurnTensor *other) {
  const OpsValue first = read_output(burn_clone(x), 0), second = read_output(other, 0);
  const bool same_tensor = first.dtype == second.dtype && memcmp(&first.shape, &second.shape, sizeof first.shape) == 0;
  if (!same_tensor || memcmp(first.data, second.data, (size_t)first.count * first.bytes) != 0) {
    fail_msg("%s: the op gives something else than the public function", ops_place);
  }
  free(first.data);
  free(second.data);
  return x;
}

/* Takes x. `positions` may be NULL: if an integer result is of its dtype, it is what is expected. */
static void check_output(BurnTensor *x, const OpsValue *expected, const OpsValue *positions, const OpsGolden *golden,
                         size_t output) {
  const OpsValue found = read_output(x, output);
  if (positions && burn_dtype_kind(found.dtype) == BURN_KIND_INT && found.dtype == positions->dtype)
    expected = positions;
  if (found.dtype != expected->dtype) {
    fail_msg("%s: result %zu is %s, expected %s", ops_place, output, burn_dtype_name(found.dtype),
             burn_dtype_name(expected->dtype));
  }
  bool equal = found.shape.rank == expected->shape.rank;
  for (uint32_t i = 0; equal && i < found.shape.rank; i++) equal = found.shape.dims[i] == expected->shape.dims[i];
  if (!equal) {
    fail_msg("%s: result %zu has rank %u and %" PRId64 " elements, expected rank %u and %" PRId64 " (or axes differ)",
             ops_place, output, found.shape.rank, found.count, expected->shape.rank, expected->count);
  }
  if (expected->digest) {
    check_digest(&found, expected, golden, output);
  } else {
    check_elements(&found, expected, golden, output);
  }
  free(found.data);
}

/* Takes `kept`: whoever shared an input must still see the values that it had. */
static void check_kept(BurnTensor *kept, const OpsValue *value, size_t input) {
  if (!kept) return;
  const size_t bytes = (size_t)value->count * value->bytes;
  char *data = malloc(bytes + 1);
  assert_non_null(data);
  const BurnStatus status = burn_read(kept, data, bytes);
  if (status != BURN_OK)
    fail_msg("%s: input %zu cannot be read afterwards: %s", ops_place, input, burn_status_message(status));
  if (memcmp(data, value->data, bytes) != 0)
    fail_msg("%s: the op changed input %zu, which somebody else holds", ops_place, input);
  free(data);
}

/* -- runs ------------------------------------------------------------------------------------- */

static BurnTensor *another_view(const BurnTensor *x) {
  if (!x) return NULL;
  if (burn_rank(x) < BURN_MAX_RANK) return burn_unsqueeze_dim(burn_clone(x), 0);
  return burn_slice(burn_clone(x), NULL, 0);
}

/* A row with its tensors. */
typedef struct Job {
  const OpsRow *row;
  const OpsGolden *golden;
  const OpsVariant *variant; /* NULL: the row in its own dtypes */
  const OpsValue *inputs, *expected;
  const OpsValue
      *positions; /* of a variant: the results in the row's own dtypes, for indices, which do not become narrow */
  size_t input_count, expected_count;
} Job;

static OpsRun begin_run(const Job *job, const Stack *stack, int layout) {
  OpsRun run = {
      .device = stack->device, .host = stack->host, .backend = stack->backend, .input_count = job->input_count};
  parse_numbers(job->golden->numbers, &run);
  for (size_t i = 0; i < run.number_count && job->variant; i++) {
    run.numbers[i] = ops_variant_number(job->variant, run.numbers[i]);
  }
  for (size_t i = 0; i < job->input_count; i++) run.inputs[i] = make_input(stack, &job->inputs[i], layout);
  return run;
}

static void run_once(const Job *job, const Stack *stack, int layout, int sharing) {
  const OpsGolden *golden = job->golden;
  BurnTensor *kept[OPS_MAX_TENSORS] = {NULL};
  const int64_t live = burn_device_memory(stack->device).live_tensors;
  const int64_t raw_live = burn_device_memory(stack->raw_device).live_tensors;
  snprintf(ops_place, sizeof ops_place, "%s, %s: on %s%s, layout %s, %s inputs", golden->op, golden->name,
           stack->entry.text, stack->entry.tracked ? " (tracked)" : "", ops_layout_names[layout],
           sharing_names[sharing]);
  OpsRun run = begin_run(job, stack, layout);
  run.shared = sharing == SHARING_CLONED;
  for (size_t i = 0; i < job->input_count && sharing == SHARING_VIEWED; i++) kept[i] = another_view(run.inputs[i]);
  job->row->run(&run);
  for (size_t i = 0; i < job->expected_count; i++) {
    check_output(run.outputs[i], &job->expected[i], job->positions ? &job->positions[i] : NULL, golden, i);
  }
  for (size_t i = job->expected_count; i < OPS_MAX_TENSORS; i++) {
    if (run.outputs[i]) fail_msg("%s: there is a result %zu, %zu expected", ops_place, i, job->expected_count);
  }
  for (size_t i = 0; i < job->input_count; i++) {
    check_kept(run.inputs[i], &job->inputs[i], i); /* NULL where the op took it */
    check_kept(kept[i], &job->inputs[i], i);
  }
  if (burn_device_memory(stack->device).live_tensors != live ||
      burn_device_memory(stack->raw_device).live_tensors != raw_live) {
    fail_msg("%s: %" PRId64 " tensors are left over", ops_place, burn_device_memory(stack->device).live_tensors - live);
  }
}

static void run_everywhere(const Job *job) {
  for (size_t s = 0; s < stack_count; s++) {
    const int layouts = stacks[s].entry.plain ? OPS_LAYOUT_PLAIN + 1 : OPS_LAYOUT_COUNT;
    const int sharings = stacks[s].entry.plain ? SHARING_OWNED + 1 : SHARING_COUNT;
    for (int layout = 0; layout < layouts; layout++) {
      if (!ops_layout_applies(stacks[s].device, layout, job->inputs, job->input_count)) continue;
      for (int sharing = 0; sharing < sharings; sharing++) run_once(job, &stacks[s], layout, sharing);
    }
  }
}

/* The row in its own dtypes on inputs that the narrow dtype has. Fills results. */
static void run_reference(const Job *job, OpsValue *results) {
  snprintf(ops_place, sizeof ops_place, "%s, %s: reference", job->golden->op, job->golden->name);
  OpsRun run = begin_run(job, &stacks[0], OPS_LAYOUT_PLAIN);
  job->row->run(&run);
  for (size_t i = 0; i < job->expected_count; i++) {
    results[i] = read_output(run.outputs[i], i);
  }
  for (size_t i = 0; i < job->input_count; i++) burn_drop(run.inputs[i]);
}

static void run_variant(const Job *original, BurnDType narrow) {
  OpsRun numbers;
  OpsVariant variant;
  OpsValue results[OPS_MAX_TENSORS], expected[OPS_MAX_TENSORS];
  bool digest = false;
  parse_numbers(original->golden->numbers, &numbers);
  if (!ops_variant_make(narrow, original->golden, original->inputs, original->input_count, numbers.numbers,
                        numbers.number_count, &variant)) {
    return;
  }
  Job job = *original;
  job.variant = &variant;
  job.golden = &variant.golden;
  job.inputs = variant.rounded;
  for (size_t i = 0; i < job.expected_count; i++) digest = digest || original->expected[i].digest;
  const bool has_results = variant.exact && !digest;
  if (!has_results) run_reference(&job, results);
  job.positions = has_results ? original->expected : results;
  for (size_t i = 0; i < job.expected_count; i++) expected[i] = ops_variant_narrow(&variant, &job.positions[i]);
  job.inputs = variant.inputs;
  job.expected = expected;
  run_everywhere(&job);
  ops_variant_free(&variant);
  ops_values_free(expected, job.expected_count);
  if (!has_results) ops_values_free(results, job.expected_count);
}

static void run_golden(const OpsRow *row, const OpsGolden *golden) {
  OpsValue inputs[OPS_MAX_TENSORS], expected[OPS_MAX_TENSORS];
  snprintf(ops_place, sizeof ops_place, "%s, %s", golden->op, golden->name);
  Job job = {.row = row, .golden = golden, .inputs = inputs, .expected = expected};
  job.input_count = ops_values_parse(golden->inputs, family->texts, inputs);
  job.expected_count = ops_values_parse(golden->outputs, family->texts, expected);
  run_everywhere(&job);
  for (size_t i = 0; i < OPS_VARIANT_COUNT; i++) run_variant(&job, ops_variant_dtypes[i]);
  ops_values_free(inputs, job.input_count);
  ops_values_free(expected, job.expected_count);
}

static void test_row(void **state) {
  const OpsRow *row = *state;
  size_t count = 0;
  for (size_t i = 0; i < family->golden_count; i++) {
    if (strcmp(family->goldens[i].op, row->op) != 0) continue;
    run_golden(row, &family->goldens[i]);
    count++;
  }
  if (count == 0) fail_msg("%s has no golden rows", row->op);
}

static void test_every_golden_has_a_row(void **state) {
  (void)state;
  for (size_t i = 0; i < family->golden_count; i++) {
    size_t k = 0;
    while (k < family->row_count && strcmp(family->rows[k].op, family->goldens[i].op) != 0) k++;
    if (k == family->row_count) fail_msg("golden rows of '%s' are not run by any OPS line", family->goldens[i].op);
  }
}

static void open_stacks(void) {
  const TestStacks listed = test_stacks(BURN_TEST_DEFAULT_STACKS);
  for (size_t i = 0; i < listed.count; i++) {
    BurnDevice *device = test_stack_open(&listed, &listed.items[i]);
    if (!device) continue;
    BurnDevice *raw = burn_device_open(listed.items[i].text);
    stacks[stack_count++] = (Stack){.entry = listed.items[i],
                                    .device = device,
                                    .raw_device = raw,
                                    .host = burn_host(),
                                    .backend = burn_device_backend(raw)};
  }
}

static void close_stacks(void) {
  for (size_t s = 0; s < stack_count; s++) {
    burn_device_close(stacks[s].device);
    burn_device_close(stacks[s].raw_device);
  }
}

int ops_run_family(const OpsFamily *tested) {
  enum { MAX_ROWS = 128 };
  struct CMUnitTest tests[MAX_ROWS];
  family = tested;
  if (tested->row_count + 1 > MAX_ROWS) return 1;
  for (size_t i = 0; i < tested->row_count; i++) {
    tests[i] = (struct CMUnitTest){tested->rows[i].op, test_row, NULL, NULL, (void *)(uintptr_t)&tested->rows[i]};
  }
  tests[tested->row_count] =
      (struct CMUnitTest){"every golden has a row", test_every_golden_has_a_row, NULL, NULL, NULL};
  open_stacks();
  if (stack_count == 0) return TEST_STACKS_SKIPPED;
  const int failed = _cmocka_run_group_tests(tested->name, tests, tested->row_count + 1, NULL, NULL);
  close_stacks();
  return failed;
}
