/* validate_check.c - what a call must keep: finite values, inputs of others, the same bits again. */
#include "validate_internal.h"

#include <string.h>

bool validate_broken(Check *check, const char *promise, uint32_t code, const char *format, ...) {
  if (check->promise || (!check->validate->promises && strcmp(promise, "promises") == 0)) return false;
  check->promise = promise;
  check->code = code;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(check->what, sizeof check->what, format, arguments);
  va_end(arguments);
  return false;
}

/* -- contents --------------------------------------------------------------------------------- */

BurnStatus validate_read(const Validate *validate, BurnPrimitive *x, Content *content) {
  const BurnHost *host = validate->host;
  const BurnBackend *next = validate->next;
  content->desc = burn_primitive_desc(x);
  content->bytes = (uint64_t)burn_primitive_count(x) * burn_dtype_bytes(x->dtype);
  content->data = host->allocate(content->bytes);
  if (!content->data)
    return host->fail(BURN_STATUS_OUT_OF_MEMORY, __FILE__, __LINE__, "validate: no memory to read a tensor");
  const BurnStatus status = next->read(next->self, x, content->data, content->bytes);
  if (status != BURN_OK) validate_forget(validate, content);
  return status;
}

void validate_forget(const Validate *validate, Content *content) {
  validate->host->free(content->data, content->bytes);
  content->data = NULL;
}

static int64_t first_difference(const Content *a, const Content *b) {
  const uint64_t bytes = burn_dtype_bytes(a->desc.dtype);
  for (uint64_t at = 0; at < a->bytes; at += bytes) {
    if (memcmp(a->data + at, b->data + at, (size_t)bytes) != 0) return (int64_t)(at / bytes);
  }
  return -1;
}

/* -- descriptions ----------------------------------------------------------------------------- */

static bool is_same_desc(const BurnTensorDesc *a, const BurnTensorDesc *b) {
  return a->dtype == b->dtype && a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof a->shape[0]) == 0;
}

bool validate_described(Check *check) {
  const BurnHost *host = check->validate->host;
  const BurnOpCall *call = check->call;
  BurnTensorDesc descs[BURN_MAX_OUTPUTS];
  char text[200] = "";
  if (!check->validate->promises) return true;
  const BurnStatus status = host->infer(call, descs);
  if (status != BURN_OK) {
    host->status_message(status, text, sizeof text);
    return validate_broken(check, "promises", BURN_STATUS_INVALID_ARGUMENT, "no such call is possible: %s", text);
  }
  for (uint32_t i = 0; i < call->output_count; i++) {
    if (is_same_desc(&descs[i], &call->output_descs[i])) continue;
    Text made = {text, sizeof text};
    validate_add_desc(&made, &descs[i]);
    validate_add(&made, ", but the call says ");
    validate_add_desc(&made, &call->output_descs[i]);
    return validate_broken(check, "promises", BURN_STATUS_INVALID_ARGUMENT,
                           "of these inputs and attributes result %u is %s; a decorator that changes a call sets its "
                           "output_descs to NULL",
                           i, text);
  }
  return true;
}

/* -- finite values ---------------------------------------------------------------------------- */

/* NaN and infinity have an exponent of ones. */
static bool is_finite(const Content *content, int64_t i) {
  uint16_t half;
  uint32_t single;
  uint64_t wide;
  switch (content->desc.dtype) {
    case BURN_DTYPE_F16:
      memcpy(&half, content->data + 2 * i, 2);
      return (half & 0x7c00u) != 0x7c00u;
    case BURN_DTYPE_BF16:
      memcpy(&half, content->data + 2 * i, 2);
      return (half & 0x7f80u) != 0x7f80u;
    case BURN_DTYPE_F32:
      memcpy(&single, content->data + 4 * i, 4);
      return (single & 0x7f800000u) != 0x7f800000u;
    case BURN_DTYPE_F64:
      memcpy(&wide, content->data + 8 * i, 8);
      return (wide >> 52 & 0x7ff) != 0x7ff;
    default:
      return true;
  }
}

/* The number of values that are not finite, and the first of them. */
static int64_t count_odd(const Content *content, int64_t *first) {
  int64_t odd = 0;
  if (!content->data || burn_dtype_kind(content->desc.dtype) != BURN_KIND_FLOAT) return 0;
  for (int64_t i = burn_desc_count(&content->desc); i-- > 0;) {
    if (is_finite(content, i)) continue;
    *first = i;
    odd++;
  }
  return odd;
}

/* An infinity that is given as a number is wanted: mask_fill(-infinity). */
static bool has_odd_attribute(const BurnOpCall *call) {
  for (uint32_t i = 0; i < call->attr_count; i++) {
    const double value = call->attrs[i].value.f64;
    if (call->attrs[i].tag == BURN_ATTR_F64 && !(value - value == 0)) return true;
  }
  return false;
}

bool validate_finite(Check *check) {
  int64_t first = 0;
  if (has_odd_attribute(check->call)) return true;
  for (uint32_t i = 0; i < check->call->input_count; i++) {
    if (count_odd(&check->before[i], &first) > 0) return true;
  }
  for (uint32_t i = 0; i < check->call->output_count; i++) {
    const int64_t odd = count_odd(&check->after[i], &first);
    if (odd == 0) continue;
    char value[32];
    Text text = {value, sizeof value};
    validate_add_value(&text, &check->after[i], first);
    return validate_broken(
        check, "finite", BURN_STATUS_OUT_OF_RANGE,
        "result %u has %lld of %lld values that are not finite, the first is %s at element %lld, although "
        "all inputs are finite",
        i, (long long)odd, (long long)burn_desc_count(&check->after[i].desc), value, (long long)first);
  }
  return true;
}

/* -- inputs and repetition -------------------------------------------------------------------- */

/* "was 1 and became 2" */
static void describe_change(Text *text, const Content *a, const Content *b, int64_t element) {
  validate_add(text, "element %lld was ", (long long)element);
  validate_add_value(text, a, element);
  validate_add(text, " and became ");
  validate_add_value(text, b, element);
}

BurnStatus validate_inputs_kept(Check *check, uint64_t inputs, const char *whose) {
  for (uint32_t i = 0; i < check->call->input_count; i++) {
    Content now = {{0, 0, {0}}, NULL, 0};
    if (!check->before[i].data || (i < 64 && !(inputs >> i & 1))) continue;
    const BurnStatus status = validate_read(check->validate, check->call->inputs[i], &now);
    if (status != BURN_OK) return status;
    const int64_t element = now.bytes == check->before[i].bytes ? first_difference(&check->before[i], &now) : -1;
    char change[96];
    Text text = {change, sizeof change};
    if (element >= 0) describe_change(&text, &check->before[i], &now, element);
    validate_forget(check->validate, &now);
    if (element < 0) continue;
    validate_broken(check, "ownership", BURN_STATUS_INTERNAL, "input %u, %s, was changed: %s", i, whose, change);
    return BURN_OK;
  }
  return BURN_OK;
}

bool validate_same(Check *check) {
  for (uint32_t i = 0; i < check->call->output_count; i++) {
    const Content *a = &check->rehearsed[i], *b = &check->after[i];
    if (!a->data || !b->data) continue;
    const int64_t element = a->bytes == b->bytes ? first_difference(a, b) : 0;
    if (element < 0) continue;
    char change[96];
    Text text = {change, sizeof change};
    describe_change(&text, a, b, element);
    return validate_broken(check, "determinism", BURN_STATUS_INTERNAL, "run twice, result %u differs: %s", i, change);
  }
  return true;
}
