/* fuzz_stack.c - stack texts: opened as they are and for training, then some ops.
 *
 * Input: a stack text<|>another one. */
#include "fuzz_target.h"

static void train_a_little(BurnDevice *device) {
  BurnTensor *x = burn_random_uniform(device, BURN_SHAPE(3, 4), BURN_DTYPE_DEFAULT, -1, 1);
  BurnTensor *weight = burn_random_normal(device, BURN_SHAPE(4, 2), BURN_DTYPE_DEFAULT, 0, 1);
  if (burn_device_is_autodiff(device)) weight = burn_require_grad(weight);
  x = burn_softmax(burn_relu(burn_matmul(x, burn_clone(weight))), 1);
  fuzz_use(burn_sum(burn_mul_scalar(x, 0.5)));
  fuzz_use(burn_transpose(weight));
}

static void open_and_use(const char *text, BurnDevice *(*open)(const char *stack)) {
  BurnDevice *device = open(text);
  if (fuzz_ok(burn_device_status(device))) {
    FUZZ_REQUIRE(burn_device_name(device) && *burn_device_name(device), "'%s' opens as nothing", text);
    train_a_little(device);
    fuzz_device_end(device);
  } else {
    fuzz_use(burn_zeros(device, BURN_SHAPE(2), BURN_DTYPE_F32));
  }
  burn_device_close(device);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  FuzzInput input = {bytes, count};
  fuzz_scratch_clear(); /* some options write files */
  (void)unsetenv("BURN_BACKEND");
  for (int i = 0; i < 2; i++) {
    char *text = fuzz_text(fuzz_part(&input));
    open_and_use(text, burn_device_open);
    open_and_use(text, burn_device_open_training);
    free(text);
  }
  return 0;
}
