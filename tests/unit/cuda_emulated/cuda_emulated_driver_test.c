/* cuda_emulated_driver_test.c - the emulated CUDA itself (tests/plugins/emulated_cuda): kernels of a few lines whose
 * results are known, graphs, and each mistake that it names. */
#include "cuda_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static CudaDriver driver;
static CudaNvrtc nvrtc;
static void *stream;

/* What the table of the backend does not have. */
static int (*begin_capture)(void *, int), (*end_capture)(void *, void **), (*destroy_graph)(void *);
static int (*instantiate)(void **, void *, uint64_t), (*launch_graph)(void *, void *), (*destroy_executable)(void *);
static int (*get_nodes)(void *, void **, size_t *), (*fill)(CudaAddress, unsigned char, size_t, void *);

static void take(void *library, const char *name, void *function) {
  void *found = dlsym(library, name);
  if (!found) fail_msg("%s is missing", name);
  memcpy(function, &found, sizeof found);
}
#define TAKE_DRIVER(name, parameters) take(opened_driver, #name, &driver.name);
#define TAKE_NVRTC(name, parameters) take(opened_nvrtc, #name, &nvrtc.name);

static int set_up(void **state) {
  (void)state;
  void *opened_driver = dlopen(FAKE_DRIVER, RTLD_NOW), *opened_nvrtc = dlopen(EMULATED_NVRTC, RTLD_NOW);
  if (!opened_driver || !opened_nvrtc) return -1;
  CUDA_DRIVER_FUNCTIONS(TAKE_DRIVER)
  CUDA_NVRTC_FUNCTIONS(TAKE_NVRTC)
  take(opened_driver, "cuStreamBeginCapture_v2", &begin_capture);
  take(opened_driver, "cuStreamEndCapture", &end_capture);
  take(opened_driver, "cuGraphInstantiateWithFlags", &instantiate);
  take(opened_driver, "cuGraphLaunch", &launch_graph);
  take(opened_driver, "cuGraphExecDestroy", &destroy_executable);
  take(opened_driver, "cuGraphDestroy", &destroy_graph);
  take(opened_driver, "cuGraphGetNodes", &get_nodes);
  take(opened_driver, "cuMemsetD8Async", &fill);
  return driver.cuStreamCreate(&stream, 0);
}

/* -- kernels ---------------------------------------------------------------------------------- */

/* The module of a text; its image goes through memory, as in the backend. */
static void *compile(const char *source) {
  static const char *const options[] = {"--gpu-architecture=sm_90"};
  void *program = NULL, *module = NULL;
  size_t bytes = 0;
  char log[2000] = "";
  assert_int_equal(nvrtc.nvrtcCreateProgram(&program, source, "test.cu", 0, NULL, NULL), 0);
  const int error = nvrtc.nvrtcCompileProgram(program, 1, options);
  if (error != 0 && nvrtc.nvrtcGetProgramLogSize(program, &bytes) == 0 && bytes <= sizeof log)
    (void)nvrtc.nvrtcGetProgramLog(program, log);
  if (error != 0) fail_msg("%s", log);
  assert_int_equal(nvrtc.nvrtcGetCUBINSize(program, &bytes), 0);
  char *image = malloc(bytes);
  assert_non_null(image);
  assert_int_equal(nvrtc.nvrtcGetCUBIN(program, image), 0);
  assert_int_equal(driver.cuModuleLoadData(&module, image), 0);
  free(image);
  (void)nvrtc.nvrtcDestroyProgram(&program);
  return module;
}

typedef struct Parameters {
  uint64_t out;
  int32_t count;
} Parameters;

enum { NUMBERS = 4096 };
static int32_t *numbers; /* memory of the device is the host's */

static int launch(void *function, unsigned groups, unsigned threads, unsigned shared_bytes, int count) {
  Parameters parameters = {(uint64_t)(uintptr_t)numbers, count};
  size_t bytes = sizeof parameters;
  void *extra[] = {(void *)1, &parameters, (void *)2, &bytes, NULL};
  return driver.cuLaunchKernel(function, groups, 1, 1, threads, 1, 1, shared_bytes, stream, NULL, extra);
}

static void *function_of(void *module, const char *name) {
  void *function = NULL;
  assert_int_equal(driver.cuModuleGetFunction(&function, module, name), 0);
  return function;
}

static void check_words(int error, int expected, const char *words) {
  const char *text = NULL;
  assert_int_equal(error, expected);
  assert_int_equal(driver.cuGetErrorString(error, &text), 0);
  if (!strstr(text, words)) fail_msg("'%s' does not say '%s'", text, words);
}

#define HEAD                                           \
  "struct P { unsigned long long out; int count; };\n" \
  "#define OUT ((int *)p.out)\n"

static int new_numbers(void **state) {
  CudaAddress memory = 0;
  (void)state;
  if (driver.cuMemAllocFromPoolAsync(&memory, NUMBERS * sizeof *numbers, NULL, stream) != 0) return -1;
  numbers = (int32_t *)(uintptr_t)memory;
  return 0;
}

static int free_numbers(void **state) {
  (void)state;
  return driver.cuMemFreeAsync((CudaAddress)(uintptr_t)numbers, stream);
}

/* -- threads ---------------------------------------------------------------------------------- */

static void test_threads_know_where_they_are(void **state) {
  (void)state;
  void *module = compile(HEAD
                         "extern \"C\" __global__ void places(const P p) {\n"
                         "  const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);\n"
                         "  const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);\n"
                         "  atomicAdd(&OUT[block * 64 + thread], 1 + thread + 1000 * block);\n"
                         "}\n");
  Parameters parameters = {(uint64_t)(uintptr_t)numbers, 0};
  void *each[] = {&parameters};
  memset(numbers, 0, NUMBERS * sizeof *numbers);
  assert_int_equal(driver.cuLaunchKernel(function_of(module, "places"), 2, 3, 4, 4, 4, 4, 0, stream, each, NULL), 0);
  for (int i = 0; i < 24 * 64; i++) assert_int_equal(numbers[i], 1 + i % 64 + 1000 * (i / 64));
  (void)driver.cuModuleUnload(module);
}

/* Threads leave before the barrier; the others pass it. */
static void test_a_barrier_waits_for_all_that_are_left(void **state) {
  (void)state;
  void *module = compile(HEAD
                         "extern \"C\" __global__ void __launch_bounds__(512) turn(const P p) {\n"
                         "  __shared__ int all[512];\n"
                         "  const int i = threadIdx.x;\n"
                         "  if (i >= p.count) return;\n"
                         "  all[i] = i * i;\n"
                         "  for (int step = 0; step < 3; step++) {\n"
                         "    __syncthreads();\n"
                         "    const int other = all[p.count - 1 - i];\n"
                         "    __syncthreads();\n"
                         "    all[i] = other + 1;\n"
                         "  }\n"
                         "  OUT[i] = all[i];\n"
                         "}\n");
  assert_int_equal(launch(function_of(module, "turn"), 1, 512, 0, 417), 0);
  for (int i = 0; i < 417; i++) assert_int_equal(numbers[i], (416 - i) * (416 - i) + 3);
  (void)driver.cuModuleUnload(module);
}

static void test_lanes_exchange(void **state) {
  (void)state;
  void *module = compile(HEAD
                         "extern \"C\" __global__ void lanes(const P p) {\n"
                         "  const unsigned all = 0xffffffffu;\n"
                         "  int i = threadIdx.x, sum = i;\n"
                         "  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(all, sum, step);\n"
                         "  OUT[i] = sum;\n"
                         "  OUT[64 + i] = __shfl_up_sync(all, i, 3);\n"
                         "  OUT[128 + i] = __shfl_down_sync(all, i, 5, 8);\n"
                         "  OUT[192 + i] = (int)__ballot_sync(all, i % 3 == 0);\n"
                         "  OUT[256 + i] = __shfl_sync(all, i, 7, 16);\n"
                         "  OUT[320 + i] = (int)(__shfl_sync(all, i + 0.5, 2) * 2);\n"
                         "  if (i % 32 < 16) OUT[384 + i] = __shfl_xor_sync(0xffffu, i, 1);\n"
                         "}\n");
  assert_int_equal(launch(function_of(module, "lanes"), 1, 64, 0, 0), 0);
  for (int i = 0; i < 64; i++) {
    const int warp = i / 32, lane = i % 32;
    unsigned ballot = 0;
    for (int k = 0; k < 32; k++) ballot |= (unsigned)((warp * 32 + k) % 3 == 0) << k;
    assert_int_equal(numbers[i], warp ? 1520 : 496);
    assert_int_equal(numbers[64 + i], lane < 3 ? i : i - 3);
    assert_int_equal(numbers[128 + i], lane % 8 + 5 < 8 ? i + 5 : i);
    assert_int_equal(numbers[192 + i], (int32_t)ballot);
    assert_int_equal(numbers[256 + i], i / 16 * 16 + 7);
    assert_int_equal(numbers[320 + i], 2 * (warp * 32 + 2) + 1);
    if (lane < 16) assert_int_equal(numbers[384 + i], i ^ 1);
  }
  (void)driver.cuModuleUnload(module);
}

static void test_shared_memory_of_the_launch(void **state) {
  (void)state;
  void *module =
      compile(HEAD
              "extern \"C\" __global__ void shared(const P p) {\n"
              "  extern __shared__ __align__(16) int rows[];\n"
              "  __shared__ float fresh[4];\n"
              "  rows[threadIdx.x] = threadIdx.x;\n"
              "  __syncthreads();\n"
              "  OUT[threadIdx.x] = rows[blockDim.x - 1 - threadIdx.x] + (fresh[1] != fresh[1] ? 0 : 1000);\n"
              "  if ((int)threadIdx.x < p.count) rows[blockDim.x + threadIdx.x] = 1;\n"
              "}\n");
  void *function = function_of(module, "shared");
  assert_int_equal(launch(function, 1, 64, 256, 0), 0);
  for (int i = 0; i < 64; i++) assert_int_equal(numbers[i], 63 - i);
  check_words(launch(function, 1, 64, 256, 1), 700, "kernel \"shared\" writes beyond its 256 bytes of dynamic shared");
  check_words(launch(function, 1, 64, 50000, 0), 1, "asks for 50000 bytes of shared memory beside its 16");
  assert_int_equal(driver.cuFuncSetAttribute(function, CUDA_MAX_DYNAMIC_SHARED, 60000), 0);
  assert_int_equal(launch(function, 1, 64, 50000, 0), 0);
  (void)driver.cuModuleUnload(module);
}

static void test_the_order_of_threads_shows_a_barrier_that_lacks(void **state) {
  (void)state;
  void *module = compile(HEAD
                         "extern \"C\" __global__ void race(const P p) {\n"
                         "  __shared__ int all[64];\n"
                         "  all[threadIdx.x] = threadIdx.x;\n"
                         "  if (p.count) __syncthreads();\n"
                         "  OUT[threadIdx.x] = all[threadIdx.x ^ 1];\n"
                         "}\n");
  void *function = function_of(module, "race");
  for (int backward = 0; backward < 2; backward++) {
    if (backward) setenv("BURN_EMULATED_CUDA_ORDER", "backward", 1);
    assert_int_equal(launch(function, 1, 64, 0, 0), 0);
    assert_int_equal(numbers[backward], -1); /* not written yet */
    assert_int_equal(numbers[!backward], backward);
    assert_int_equal(launch(function, 1, 64, 0, 1), 0);
    for (int i = 0; i < 64; i++) assert_int_equal(numbers[i], i ^ 1);
  }
  unsetenv("BURN_EMULATED_CUDA_ORDER");
  (void)driver.cuModuleUnload(module);
}

/* -- mistakes --------------------------------------------------------------------------------- */

static void test_threads_that_wait_for_ever(void **state) {
  (void)state;
  void *module = compile(HEAD
                         "extern \"C\" __global__ void stuck(const P p) {\n"
                         "  if ((int)threadIdx.x < p.count) __syncthreads();\n"
                         "  else OUT[0] = __shfl_sync(0xffffffffu, 1, 0);\n"
                         "}\n");
  check_words(
      launch(function_of(module, "stuck"), 1, 64, 0, 40), 719,
      "threads of kernel \"stuck\" wait for ever: of 64, 40 are at __syncthreads, 24 at a shuffle or __syncwarp, 0 "
      "have ended");
  (void)driver.cuModuleUnload(module);
}

static void test_addresses_that_no_device_takes(void **state) {
  (void)state;
  void *module = compile(HEAD
                         "extern \"C\" __global__ void read(const P p) {\n"
                         "  const float4 *x = (const float4 *)(p.out + p.count);\n"
                         "  OUT[threadIdx.x] = (int)x->x;\n"
                         "}\n");
  void *function = function_of(module, "read");
  assert_int_equal(launch(function, 1, 1, 0, 16), 0);
  check_words(launch(function, 1, 1, 0, 4), 716, "kernel \"read\": misaligned address");
  Parameters parameters = {16, 0};
  void *each[] = {&parameters};
  check_words(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, each, NULL), 700,
              "kernel \"read\": illegal address");
  assert_int_equal(launch(function, 1, 1, 0, 16), 0);
  (void)driver.cuModuleUnload(module);
}

static void test_launches_that_no_device_takes(void **state) {
  (void)state;
  void *module =
      compile(HEAD "extern \"C\" __global__ void __launch_bounds__(128, 2) small(const P p) { OUT[0] = 1; }\n");
  void *function = function_of(module, "small"), *none = NULL;
  size_t bytes = 4;
  Parameters parameters = {0, 0};
  void *extra[] = {(void *)1, &parameters, (void *)2, &bytes, NULL};
  check_words(launch(function, 1, 129, 0, 0), 1, "blocks of 129 x 1 x 1, its limit is 128 threads");
  check_words(launch(function, 0, 1, 0, 0), 1, "no grid is 0 x 1 x 1");
  check_words(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, extra), 1,
              "kernel \"small\" has 16 bytes of parameters, the launch gives 4");
  check_words(driver.cuModuleGetFunction(&none, module, "large"), 500, "finds no kernel \"large\"");
  (void)driver.cuModuleUnload(module);
}

static void test_memory_is_between_guards(void **state) {
  CudaAddress memory = 0;
  (void)state;
  setenv("BURN_FAKE_CUDA_FILL", "255", 1);
  assert_int_equal(driver.cuMemAllocFromPoolAsync(&memory, 10, NULL, stream), 0);
  unsetenv("BURN_FAKE_CUDA_FILL");
  char *bytes = (char *)(uintptr_t)memory;
  for (int i = 0; i < 10; i++) assert_int_equal((unsigned char)bytes[i], 255);
  bytes[10] = 1;
  check_words(driver.cuMemFreeAsync(memory, stream), 700, "has written 0 bytes after the end of a block of 10");
}

/* -- graphs ----------------------------------------------------------------------------------- */

static void test_a_graph_runs_when_it_is_launched(void **state) {
  (void)state;
  void *module = compile(HEAD "extern \"C\" __global__ void add(const P p) { OUT[threadIdx.x] += p.count; }\n");
  void *add = function_of(module, "add"), *graph = NULL, *executable = NULL, *nodes[4] = {NULL};
  size_t count = 4;
  numbers[0] = 7;
  assert_int_equal(begin_capture(stream, 0), 0);
  assert_int_equal(fill((CudaAddress)(uintptr_t)numbers, 0, 8, stream), 0);
  assert_int_equal(launch(add, 1, 2, 0, 5), 0);
  assert_int_equal(launch(add, 1, 1, 0, 6), 0);
  assert_int_equal(numbers[0], 7);
  assert_int_equal(end_capture(stream, &graph), 0);
  assert_int_equal(get_nodes(graph, nodes, &count), 0);
  assert_int_equal(count, 3);
  assert_int_equal(instantiate(&executable, graph, 0), 0);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(launch_graph(executable, stream), 0);
    assert_int_equal(numbers[0], 11);
    assert_int_equal(numbers[1], 5);
  }
  assert_int_equal(destroy_executable(executable), 0);
  assert_int_equal(destroy_graph(graph), 0);
  (void)driver.cuModuleUnload(module);
}

static void test_a_capture_is_spoilt_by_waiting(void **state) {
  void *graph = NULL;
  (void)state;
  assert_int_equal(begin_capture(stream, 0), 0);
  check_words(driver.cuStreamSynchronize(stream), 900, "cuStreamSynchronize is not permitted");
  check_words(end_capture(stream, &graph), 901, "the capture was spoilt");
  assert_null(graph);
  assert_int_equal(driver.cuStreamSynchronize(stream), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, new_numbers, free_numbers)

int main(void) {
  const struct CMUnitTest tests[] = {TEST(test_threads_know_where_they_are),
                                     TEST(test_a_barrier_waits_for_all_that_are_left),
                                     TEST(test_lanes_exchange),
                                     TEST(test_shared_memory_of_the_launch),
                                     TEST(test_the_order_of_threads_shows_a_barrier_that_lacks),
                                     TEST(test_threads_that_wait_for_ever),
                                     TEST(test_addresses_that_no_device_takes),
                                     TEST(test_launches_that_no_device_takes),
                                     cmocka_unit_test(test_memory_is_between_guards),
                                     TEST(test_a_graph_runs_when_it_is_launched),
                                     cmocka_unit_test(test_a_capture_is_spoilt_by_waiting)};
  return cmocka_run_group_tests(tests, set_up, NULL);
}
