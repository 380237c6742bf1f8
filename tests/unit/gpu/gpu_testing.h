/* gpu_testing.h - a backend over plugins/gpu whose device is the host's memory: segments and modules are counted, the
 * queue is always empty, and kernels do nothing, or do not compile. */
#ifndef BURN_TEST_GPU_TESTING_H
#define BURN_TEST_GPU_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <burn/burn.h>
#include <burn/op_call.h>

#include "gpu_backend.h"
#include "gpu_memory.h"

#include <stdlib.h>
#include <string.h>

enum { TEST_OWNER = 77, SEGMENT_ALIGNMENT = 512 };

typedef struct TestGpu TestGpu;
struct TestGpu {
  Gpu gpu;
  GpuComplaint complaint;
  uint64_t room;                             /* bytes that segments may still take */
  int entered, segments, finishes, launches; /* how many now; how often */
  bool compiles;                             /* else no kernel does */
  int modules;                               /* how many are loaded */
  void *memories[64];                        /* of segments, as malloc gave them */
};

static inline TestGpu *test_of(Gpu *gpu) { return (TestGpu *)(void *)gpu; }

static inline BurnStatus test_enter(Gpu *gpu) {
  test_of(gpu)->entered++;
  return BURN_OK;
}

static inline void test_leave(Gpu *gpu) { test_of(gpu)->entered--; }

/* Its `memory` is what is to be freed. */
static inline BurnStatus test_take(Gpu *gpu, uint64_t bytes, GpuAddress *address, void **memory) {
  TestGpu *test = test_of(gpu);
  assert_true(test->entered > 0);
  if (bytes > test->room) return BURN_OK;
  *memory = malloc((size_t)bytes + SEGMENT_ALIGNMENT);
  assert_non_null(*memory);
  *address = ((uintptr_t)*memory + SEGMENT_ALIGNMENT - 1) / SEGMENT_ALIGNMENT * SEGMENT_ALIGNMENT;
  test->room -= bytes;
  test->segments++;
  return BURN_OK;
}

static inline void test_give_back(Gpu *gpu, GpuAddress address, void *memory) {
  (void)address;
  test_of(gpu)->segments--;
  free(memory);
}

static inline BurnStatus test_trim(Gpu *gpu) {
  test_of(gpu)->room = UINT64_C(1) << 40;
  return BURN_OK;
}

static inline void test_room(Gpu *gpu, uint64_t *free_bytes, uint64_t *all_bytes) {
  *free_bytes = test_of(gpu)->room;
  *all_bytes = UINT64_C(1) << 40;
}

static inline BurnStatus test_fill(Gpu *gpu, const GpuStorage *storage, uint64_t bytes, unsigned char byte) {
  (void)gpu;
  memset((void *)(uintptr_t)storage->address, byte, (size_t)bytes);
  return BURN_OK;
}

static inline BurnStatus test_load(Gpu *gpu, const char *source, GpuModule **out) {
  assert_non_null(strstr(source, "kernel"));
  if (!test_of(gpu)->compiles) return GPU_FAIL(gpu, UNIMPLEMENTED, "nothing is compiled here");
  test_of(gpu)->modules++;
  *out = (GpuModule *)(void *)gpu;
  return BURN_OK;
}

static inline BurnStatus test_function(Gpu *gpu, GpuModule *module, const char *name, GpuFunction **out) {
  (void)module, (void)name;
  *out = (GpuFunction *)(void *)gpu;
  return BURN_OK;
}

static inline void test_unload(Gpu *gpu, GpuModule *module) {
  assert_ptr_equal(module, gpu);
  test_of(gpu)->modules--;
}

static inline BurnStatus test_launch(Gpu *gpu, GpuFunction *function, uint32_t groups, uint32_t threads,
                                     const void *parameters, size_t bytes) {
  (void)function, (void)groups, (void)threads, (void)parameters, (void)bytes;
  test_of(gpu)->launches++;
  return BURN_OK;
}

static inline BurnStatus test_finish(Gpu *gpu) {
  test_of(gpu)->finishes++;
  return BURN_OK;
}

static inline BurnStatus test_write(Gpu *gpu, const BurnPrimitive *to, const void *data, uint64_t bytes) {
  (void)gpu;
  memcpy((void *)(uintptr_t)gpu_address(to), data, (size_t)bytes);
  return BURN_OK;
}

static inline BurnStatus test_read(Gpu *gpu, void *data, const BurnPrimitive *from, uint64_t bytes) {
  (void)gpu;
  memcpy(data, (const void *)(uintptr_t)gpu_address(from), (size_t)bytes);
  return BURN_OK;
}

/* Opens one; `room`: bytes of the device. */
static inline TestGpu *open_test_gpu(uint64_t room, uint64_t limit, int fill) {
  static const GpuBackend backend = {.enter = test_enter,
                                     .leave = test_leave,
                                     .storage_new = burn__gpu_memory_take,
                                     .storage_release = burn__gpu_memory_release,
                                     .load = test_load,
                                     .function = test_function,
                                     .unload = test_unload,
                                     .launch = test_launch,
                                     .finish = test_finish,
                                     .complaint = burn__gpu_tell_complaint,
                                     .write = test_write,
                                     .read = test_read};
  static const GpuSegments segments = {test_take, test_give_back, test_trim, test_room, test_fill};
  TestGpu *test = calloc(1, sizeof *test);
  assert_non_null(test);
  test->gpu.host = burn_host();
  test->gpu.backend = &backend;
  test->gpu.owner = TEST_OWNER;
  memcpy(test->gpu.name, "test:0", sizeof "test:0");
  test->room = room;
  test->gpu.complaint = &test->complaint;
  test->gpu.memory = burn__gpu_memory_create(burn_host(), &segments, limit, fill);
  assert_non_null(test->gpu.memory);
  assert_true(burn__gpu_begin(&test->gpu, false) == BURN_OK);
  return test;
}

static inline void close_test_gpu(TestGpu *test) {
  assert_int_equal(test->entered, 0);
  burn__gpu_end(&test->gpu);
  burn__gpu_memory_destroy(&test->gpu);
  assert_int_equal(test->segments, 0);
  assert_int_equal(test->modules, 0);
  free(test);
}

static inline void expect_failure(BurnStatus status, uint32_t code, const char *words) {
  assert_int_equal(burn_status_code(status), code);
  if (!strstr(burn_status_message(status), words)) fail_msg("'%s' is not in: %s", words, burn_status_message(status));
}

#endif
