/* backtrace_test.c - BURN_BACKTRACE=1: messages carry the program's frames, once, where the failure was made; those of
 * the library are left out. Compiled with -g; without libdw only modules and offsets are looked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/nn.h>

#include "forked.h"

#if defined(__linux__)
#include <dlfcn.h>
#endif

#if defined(BURN_TEST_STATIC)

int main(void) {
  puts("skipped: a static build cannot tell the program's code from its own");
  return 0;
}

#else

static bool can_find_lines(void) {
#if defined(__linux__)
  return dlopen("libdw.so.1", RTLD_NOW) != NULL;
#else
  return false;
#endif
}

static BurnDevice *device;
static int block_line, caller_line;

/* Not inlined: it is looked for by its name. */
__attribute__((noinline)) static BurnTensor *gpt_block(const BurnLinear *up, BurnTensor *x) {
  block_line = __LINE__ + 1;
  BurnTensor *y = burn_linear_forward(up, x);
  return burn_relu(y);
}

__attribute__((noinline)) static BurnTensor *gpt_forward(const BurnLinear *up, BurnTensor *x) {
  caller_line = __LINE__ + 1;
  BurnTensor *y = gpt_block(up, x);
  return burn_exp(y);
}

static int count_of(const char *text, const char *part) {
  int count = 0;
  for (; (text = strstr(text, part)) != NULL; text++) count++;
  return count;
}

static void frame_is(const char *text, const char *function, int line) {
  char frame[96];
  snprintf(frame, sizeof frame, "\n  at %s (backtrace_test.c:%d)", function, line);
  if (can_find_lines()) check_contains(text, frame);
}

static void check_frames(const char *text) {
  check_contains(text, "linear: ");
  check_contains(text, "\n  at ");
  frame_is(text, "gpt_block", block_line);
  frame_is(text, "gpt_forward", caller_line);
  CHECK(!strstr(text, "burn_linear") && !strstr(text, "libburn") && !strstr(text, "libc.so"), "library frames in '%s'",
        text);
  CHECK(count_of(text, "\n  at ") <= 8, "too many frames in '%s'", text);
}

static int hooked;
static char hook_text[1024], hook_file[256];
static void hook(void *context, BurnStatus status, const char *file, int line, const char *message) {
  (void)context;
  (void)status;
  CHECK(line > 0, "the hook was given line %d", line);
  hooked++;
  snprintf(hook_text, sizeof hook_text, "%s", message);
  snprintf(hook_file, sizeof hook_file, "%s", file);
}

/* The failure travels through two ops, is annotated and read: the frames are those where it was made, and stand there
 * once. */
static void wrong_shape(void *on) {
  const bool expected = *(const bool *)on;
  setenv("BURN_BACKTRACE", expected ? "1" : "0", 1);
  device = burn_device_open("ndarray");
  const BurnLinearConfig config = BurnLinearConfig_defaults(4, 2);
  BurnLinear up = burn_linear_init(&config, device);
  burn_error_hook(hook, NULL);
  double number = 0;
  BurnTensor *y = gpt_forward(&up, burn_ones(device, BURN_SHAPE(2, 3), BURN_DTYPE_F32));
  const BurnStatus status = burn_status_annotate(burn_read_scalar(y, &number), "epoch 2");
  const char *text = burn_status_message(status);
  CHECK(hooked == 1, "the hook was called %d times", hooked);
  check_contains(hook_file, "infer_");
  check_contains(text, "epoch 2: linear: ");
  if (expected) {
    check_frames(text);
    CHECK(count_of(text, "gpt_block") <= 1 && count_of(text, "(for lines ") <= !can_find_lines(), "told twice: '%s'",
          text);
    check_frames(hook_text);
  } else {
    CHECK(!strchr(text, '\n'), "frames without being asked: '%s'", text);
  }
  BurnLinear_release(&up);
  burn_device_close(device);
}

static void test_frames(void **state) {
  (void)state;
  bool on = true;
  forked(wrong_shape, &on);
}

static void test_no_frames(void **state) {
  (void)state;
  bool on = false;
  forked(wrong_shape, &on);
}

/* More frames than fit are cut between lines, and the message comes first. */
__attribute__((noinline)) static BurnStatus deep(int depth) {
  volatile int down = depth - 1; /* no tail call */
  const BurnStatus status = depth > 0 ? deep(down) : burn_status_make(BURN_STATUS_IO, "%0700d", 7);
  down++;
  return status;
}

static void long_message(void *unused) {
  (void)unused;
  setenv("BURN_BACKTRACE", "1", 1);
  const char *text = burn_status_message(deep(30));
  CHECK(strspn(text, "07") == 700, "the message is not first: '%s'", text);
  const char *last = strrchr(text, '\n');
  const char *address = last ? strrchr(last, '+') : NULL; /* "module+0x1585", of a frame without a name */
  const bool ends =
      !last || text[strlen(text) - 1] == ')' || (address && strncmp(address, "+0x", 3) == 0 && strlen(address) > 3);
  CHECK(ends, "a frame is cut: '%s'", text);
  CHECK(count_of(text, "\n  at ") <= 8, "too many frames: '%s'", text);
}

static void test_long_messages(void **state) {
  (void)state;
  forked(long_message, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_frames),
      cmocka_unit_test(test_no_frames),
      cmocka_unit_test(test_long_messages),
  };
  if (!can_find_lines()) puts("lines are not checked: libdw is missing");
  return cmocka_run_group_tests_name("backtrace", tests, NULL, NULL);
}

#endif
