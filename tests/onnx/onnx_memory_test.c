/* onnx_memory_test.c - every allocation fails once, in turn, while a model is described and loaded: nothing crashes or
 * leaks, and what is described is whole. */
#include "sanitized.h"

#include <burn/burn.h>
#include <burn/onnx.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#if defined(SANITIZED) || !defined(__GLIBC__)
int main(void) {
  printf("onnx_memory_test: skipped, the sanitizer owns malloc\n");
  return 0;
}
#else

#include "counting_malloc.h"

static const char *const models[] = {"if_data", "loop_nested", "scan_recurrent"};

/* From now on the allocation of that number fails; 0: none does. */
static void fail_at(long long number) {
  atomic_store(&failed, 0);
  atomic_store(&countdown, number);
  atomic_store(&counting, number > 0);
}

/* What is done with a model. */
typedef struct Verb {
  void *(*run)(const struct Verb *verb, BurnStatus *status);
  void (*end)(void *result); /* NULL is allowed */
  const char *path;
  bool json;
  const char *whole;  /* the text that run gives without a failure; NULL: it gives no text */
  BurnDevice *device; /* to load on; NULL: none */
} Verb;

/* Does it until all allocations have failed, each in its turn. */
static void fail_each(const Verb *verb) {
  const long long kept = verb->device ? 64 : 0; /* blocks, by the device for later */
  bool disturbed = true;
  for (long long number = 1; disturbed; number++) {
    const long long held = atomic_load(&blocks_held);
    BurnStatus status = BURN_OK;
    fail_at(number);
    void *result = verb->run(verb, &status);
    disturbed = atomic_load(&failed) > 0;
    fail_at(0);
    if (verb->whole && result && strcmp(result, verb->whole) != 0)
      fail_msg("%s, with allocation %lld failing:\n%s", verb->path, number, (const char *)result);
    if (!result != (status != BURN_OK))
      fail_msg("%s: allocation %lld: %s", verb->path, number, burn_status_message(status));
    verb->end(result);
    if (atomic_load(&blocks_held) > held + kept) fail_msg("%s: allocation %lld failing leaks", verb->path, number);
  }
}

static void *run_info(const Verb *verb, BurnStatus *status) { return burn_onnx_info(verb->path, verb->json, status); }
static void describe(const char *path, bool json) {
  BurnStatus status = BURN_OK;
  char *whole = burn_onnx_info(path, json, &status);
  if (!whole) fail_msg("%s: %s", path, burn_status_message(status));
  fail_each(&(Verb){.run = run_info, .end = free, .path = path, .json = json, .whole = whole});
  free(whole);
}

static void *run_load(const Verb *verb, BurnStatus *status) { return burn_onnx_load(verb->path, verb->device, status); }
static void end_load(void *graph) { burn_graph_release(graph); }
static void load(const char *path, BurnDevice *device) {
  fail_each(&(Verb){.run = run_load, .end = end_load, .path = path, .device = device});
}

static void each_model(void (*look)(const char *path)) {
  char path[1024];
  for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
    (void)snprintf(path, sizeof path, "%s/%s/model.onnx", ONNX_CONTROL, models[i]);
    look(path);
  }
}

static void describe_both(const char *path) {
  describe(path, false);
  describe(path, true);
}
static void descriptions_are_whole(void **state) {
  (void)state;
  each_model(describe_both);
}

static void load_on_ndarray(const char *path) {
  BurnDevice *device = burn_device_open("ndarray");
  load(path, device);
  load(path, device);
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
  burn_device_close(device);
}
static void loading_fails_cleanly(void **state) {
  (void)state;
  each_model(load_on_ndarray);
}

int main(void) {
  setenv("BURN_THREADS", "1", 1);
  const struct CMUnitTest tests[] = {cmocka_unit_test(descriptions_are_whole), cmocka_unit_test(loading_fails_cleanly)};
  return cmocka_run_group_tests_name("onnx_memory", tests, NULL, NULL);
}
#endif
