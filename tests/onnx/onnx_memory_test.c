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

static void describe(const char *path, bool json) {
  BurnStatus status = BURN_OK;
  char *whole = burn_onnx_info(path, json, &status);
  if (!whole) fail_msg("%s: %s", path, burn_status_message(status));
  bool disturbed = true;
  for (long long number = 1; disturbed; number++) {
    const long long held = atomic_load(&blocks_held);
    status = BURN_OK;
    fail_at(number);
    char *text = burn_onnx_info(path, json, &status);
    disturbed = atomic_load(&failed) > 0;
    fail_at(0);
    if (text && strcmp(text, whole) != 0) fail_msg("%s, with allocation %lld failing:\n%s", path, number, text);
    if (!text != (status != BURN_OK)) fail_msg("%s: allocation %lld: %s", path, number, burn_status_message(status));
    free(text);
    if (atomic_load(&blocks_held) > held) fail_msg("%s: allocation %lld failing leaks", path, number);
  }
  free(whole);
}

static void load(const char *path, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  bool disturbed = true;
  for (long long number = 1; disturbed; number++) {
    const long long held = atomic_load(&blocks_held);
    status = BURN_OK;
    fail_at(number);
    BurnGraph *graph = burn_onnx_load(path, device, &status);
    disturbed = atomic_load(&failed) > 0;
    fail_at(0);
    if (!graph != (status != BURN_OK)) fail_msg("%s: allocation %lld: %s", path, number, burn_status_message(status));
    burn_graph_release(graph);
    if (atomic_load(&blocks_held) > held + 64) fail_msg("%s: allocation %lld failing leaks", path, number);
  }
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
