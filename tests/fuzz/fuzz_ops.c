/* fuzz_ops.c - ops by name on several stacks: drawn inputs and attributes, right or not; results are read, gradients
 * taken.
 *
 * Input: the stack, the op, its attributes, its inputs; then a second op, and so on. */
#include "fuzz_target.h"

enum { MAX_INPUTS = 12, MAX_ATTRS = 16, MAX_OPS = 3 };

/* The drawn op among those that there are. */
static const BurnOpInfo *draw_op(FuzzInput *input) {
  static const BurnOpInfo *ops[BURN_OP_LIMIT];
  static uint32_t count;
  for (uint32_t op = 1; op < BURN_OP_LIMIT && (op > 1 || count == 0); op++) {
    if (burn_op_info(op)) ops[count++] = burn_op_info(op);
  }
  const uint32_t drawn = (uint32_t)fuzz_byte(input) << 8 | fuzz_byte(input);
  return ops[drawn % count];
}

/* An attribute of this tag, sometimes of another; `list` is where integers lie. */
static BurnAttr draw_attr(FuzzInput *input, uint32_t tag, int64_t list[BURN_MAX_RANK + 2]) {
  const uint8_t choice = fuzz_byte(input);
  if (choice >= 250) tag = choice % 7;
  if (choice >= 240 && choice < 250) tag = BURN_ATTR_NONE;
  switch (tag) {
    case BURN_ATTR_I64:
      return burn_attr_i64(fuzz_integer(input));
    case BURN_ATTR_F64:
      return burn_attr_f64(fuzz_number(input));
    case BURN_ATTR_BOOL:
      return burn_attr_bool(fuzz_below(input, 2) == 1);
    case BURN_ATTR_DTYPE:
      return burn_attr_dtype(fuzz_dtype(input));
    case BURN_ATTR_I64S: {
      const uint32_t count = fuzz_below(input, choice < 200 ? 5 : BURN_MAX_RANK + 3);
      for (uint32_t i = 0; i < count; i++) list[i] = fuzz_integer(input);
      return burn_attr_i64s(list, count);
    }
    default:
      return (BurnAttr){BURN_ATTR_NONE, 0, {0}};
  }
}

static uint32_t draw_input_count(FuzzInput *input, const BurnOpInfo *op) {
  if (op->takes_list) return 1 + fuzz_below(input, 4);
  const uint8_t choice = fuzz_byte(input);
  if (choice >= 248) return choice % MAX_INPUTS;
  return choice % 2 ? op->input_count : op->input_required;
}

/* The first input is often what the op before gave. */
static BurnTensor *call(FuzzInput *input, BurnDevice *device, BurnTensor *before) {
  const BurnOpInfo *op = draw_op(input);
  BurnTensor *inputs[MAX_INPUTS] = {NULL}, *outputs[BURN_MAX_OUTPUTS] = {NULL};
  BurnAttr attrs[MAX_ATTRS];
  int64_t lists[MAX_ATTRS][BURN_MAX_RANK + 2];
  uint32_t attr_count = op->attr_count < MAX_ATTRS ? op->attr_count : MAX_ATTRS;
  for (uint32_t i = 0; i < attr_count; i++) attrs[i] = draw_attr(input, op->attr_tags[i], lists[i]);
  if (fuzz_below(input, 32) == 1) attr_count = fuzz_below(input, attr_count + 1);
  const uint32_t input_count = draw_input_count(input, op);
  for (uint32_t i = 0; i < input_count; i++) {
    const uint8_t choice = fuzz_byte(input);
    if (choice >= 250) continue;
    if (before && (i == 0 || choice % 4 == 1))
      inputs[i] = burn_clone(before);
    else
      inputs[i] = fuzz_tensor(input, device);
  }
  burn_drop(before);
  burn_op_call(device, op, inputs, input_count, attrs, attr_count, outputs);
  for (uint32_t i = 0; i < op->output_count; i++) FUZZ_REQUIRE(outputs[i], "%s: output %u is NULL", op->name, i);
  for (uint32_t i = 1; i < op->output_count; i++) fuzz_use(outputs[i]);
  return outputs[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static const char *const stacks[] = {"ndarray", "fusion<ndarray>", "autodiff<fusion<ndarray>>", "reference",
                                       "autodiff<ndarray>"};
  FuzzInput input = {bytes, count};
  BurnDevice *device = fuzz_device(stacks[fuzz_below(&input, 5)]);
  BurnTensor *x = NULL;
  for (int i = 0; i < MAX_OPS && input.left > 1; i++) {
    x = call(&input, device, x);
    /* A stretched axis costs nothing until something is computed from it. */
    if (!fuzz_ok(burn_tensor_status(x)) || burn_element_count(x) > 4096) {
      burn_drop(x);
      x = NULL;
    }
  }
  if (x) fuzz_use(x);
  fuzz_device_end(device);
  return 0;
}
