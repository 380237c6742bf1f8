/* test_stacks.c - see test_stacks.h. */
#include "test_stacks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t opened, skipped;

static const char *skip_spaces(const char *at) { return at + strspn(at, " \n"); }

/* Does an option, key=value, stand here? */
static bool is_option(const char *at) {
  const char *end = at;
  while (isalnum((unsigned char)*end) || *end == '_') end++;
  return end > at && *end == '=';
}

/* The length of the entry that begins here: up to a separator outside of <>. */
static size_t entry_length(const char *entry) {
  int depth = 0;
  const char *at = entry;
  for (; *at; at++) {
    depth += (*at == '<') - (*at == '>');
    if (depth > 0) continue;
    if (*at == ';' || (*at == ',' && !is_option(at + 1))) break;
  }
  return (size_t)(at - entry);
}

static bool read_word(const char *word, size_t length, TestStack *stack) {
  if (length == 5 && strncmp(word, "plain", length) == 0) return stack->plain = true;
  if (length == 7 && strncmp(word, "tracked", length) == 0) return stack->tracked = true;
  return false;
}

/* "text word word" with a length; false if it is none. */
static bool read_entry(const char *entry, size_t length, TestStack *stack) {
  const char *const end = entry + length;
  const size_t text_length = strcspn(entry, " ;") < length ? strcspn(entry, " ;") : length;
  if (text_length >= sizeof stack->text) return false;
  memcpy(stack->text, entry, text_length);
  for (const char *at = skip_spaces(entry + text_length); at < end; at = skip_spaces(at)) {
    const char *word = at;
    while (at < end && *at != ' ') at++;
    if (!read_word(word, (size_t)(at - word), stack)) return false;
  }
  return true;
}

TestStacks test_stacks(const char *defaults) {
  TestStacks stacks = {.count = 0};
  const char *list = getenv("BURN_TEST_STACKS");
  stacks.given = list && *list;
  if (!stacks.given) list = defaults;
  for (const char *at = skip_spaces(list); *at;) {
    const size_t length = entry_length(at);
    if (stacks.count == TEST_STACKS_MAX || (length > 0 && !read_entry(at, length, &stacks.items[stacks.count]))) {
      fprintf(stderr, "BURN_TEST_STACKS: entry %zu of '%s' is not a stack text with the words plain and tracked\n",
              stacks.count + 1, list);
      exit(1);
    }
    if (length > 0) stacks.count++;
    at += length;
    at = skip_spaces(*at ? at + 1 : at);
  }
  return stacks;
}

BurnDevice *test_stack_open(const TestStacks *stacks, const TestStack *stack) {
  BurnDevice *device = burn_device_open(stack->text);
  const BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) {
    opened++;
    return device;
  }
  const uint32_t code = burn_status_code(status);
  if (code != BURN_STATUS_FAILED_PRECONDITION && (stacks->given || code != BURN_STATUS_NOT_FOUND)) {
    /* Not by fail_msg: cmocka 1.1.7 prints nothing of a group's set-up. */
    fprintf(stderr, "%s: %s\n", stack->text, burn_status_message(status));
    fail();
  }
  printf("skipped: %s: %s\n", stack->text, burn_status_message(status));
  skipped++;
  burn_device_close(device);
  return NULL;
}

/* The device with autodiff on top; takes one that may lack it. */
static BurnDevice *with_autodiff(BurnDevice *device, const char *stack) {
  if (!device || burn_device_is_autodiff(device)) return device;
  burn_device_close(device);
  return burn_device_open_training(stack);
}

static void on_stacks(const char *defaults, bool training, BurnDevice **device, const char **stack,
                      void (*test)(void **state)) {
  const TestStacks stacks = test_stacks(defaults);
  for (size_t i = 0; i < stacks.count; i++) {
    *device = test_stack_open(&stacks, &stacks.items[i]);
    if (training) *device = with_autodiff(*device, stacks.items[i].text);
    if (!*device) continue;
    if (stack) *stack = stacks.items[i].text;
    test(NULL);
    if (burn_device_memory(*device).live_tensors != 0) fail_msg("%s: tensors are left over", stacks.items[i].text);
    burn_device_close(*device);
  }
}

void test_on_stacks(const char *defaults, BurnDevice **device, const char **stack, void (*test)(void **state)) {
  on_stacks(defaults, false, device, stack, test);
}
void test_on_training_stacks(const char *defaults, BurnDevice **device, const char **stack,
                             void (*test)(void **state)) {
  on_stacks(defaults, true, device, stack, test);
}

/* The stack below its autodiff: what stands between the first < and the last >. */
static BurnDevice *open_without_autodiff(const char *stack) {
  const char *first = strchr(stack, '<'), *last = strrchr(stack, '>');
  char below[sizeof((TestStack *)NULL)->text];
  if (!first || !last) fail_msg("%s: cannot tell what is below its autodiff", stack);
  snprintf(below, sizeof below, "%.*s", (int)(last - first - 1), first + 1);
  return burn_device_open(below);
}

BurnDevice *test_stack_device(const char *defaults, bool training) {
  const TestStacks stacks = test_stacks(defaults);
  BurnDevice *device = test_stack_open(&stacks, &stacks.items[0]);
  if (!device) exit(TEST_STACKS_SKIPPED);
  if (training == burn_device_is_autodiff(device)) return device;
  burn_device_close(device);
  const char *stack = stacks.items[0].text;
  return training ? burn_device_open_training(stack) : open_without_autodiff(stack);
}

BurnStatus test_failure(const BurnTensor *x) {
  const BurnStatus status = burn_tensor_status(x);
  if (status != BURN_OK) return status;
  const size_t bytes = (size_t)burn_element_count(x) * burn_dtype_bytes(burn_dtype(x));
  void *data = malloc(bytes ? bytes : 1);
  assert_non_null(data);
  const BurnStatus read = burn_read(burn_clone(x), data, bytes);
  free(data);
  return read;
}

int test_stacks_result(int failed) {
  if (failed == 0 && opened == 0 && skipped > 0) return TEST_STACKS_SKIPPED;
  return failed;
}
