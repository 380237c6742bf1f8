/* cuda_test.c - the CUDA backend on a driver that runs no kernel (tests/plugins/fake_cuda.c): it says what is missing,
 * and every kernel compiles. Where there is no NVRTC, only the first is tested. Numbers and failures: ../cuda_emulated. */
#include "forked.h"

#include <burn/dlpack.h>
#include <burn/op_call.h>
#include <burn/plugin/dlpack.h>

#include <string.h>

/* Compiled kernels are kept in the cache of the tests: one that has not changed compiles once. */
static void use_fake_driver(void) { setenv("BURN_CUDA_DRIVER", FAKE_DRIVER, 1); }

/* Looked at here and now: what is kept of others' looks may be of another driver. */
static const BurnPluginInfo *find_cuda(void) {
  setenv("BURN_PROBE", "in-process", 1);
  for (size_t i = 0; i < burn_plugin_count(); i++)
    if (strcmp(burn_plugin_info(i)->name, "cuda") == 0) return burn_plugin_info(i);
  return NULL;
}

/* -- without a driver ------------------------------------------------------------------------- */

static void without_driver(void *context) {
  (void)context;
  setenv("BURN_CUDA_DRIVER", "/nonexistent/libcuda.so.1", 1);
  const BurnPluginInfo *info = find_cuda();
  CHECK(info && info->score == 0, "the score is %d", info ? info->score : -1);
  BurnDevice *device = burn_device_open("cuda");
  check_contains(burn_status_message(burn_device_status(device)), "there is no NVIDIA driver here (libcuda.so.1)");
  burn_device_close(device);
}

static void test_a_machine_without_a_driver(void **state) {
  (void)state;
  forked(without_driver, NULL);
}

/* -- what there is ---------------------------------------------------------------------------- */

/* Libraries by the names of their files, which nobody opens for it: these are none. */
static void libraries_told(void *context) {
  const char *folder = context;
  char path[128], expected[256];
  use_fake_driver();
  setenv("BURN_CUDA_LIBS", folder, 1);
  setenv("XDG_CACHE_HOME", folder, 1); /* no verdict of another test is kept there */
  static const char *const links[][2] = {{"libnvrtc.so.13.0.88", "libnvrtc.so.13"},
                                         {"libcudnn.so.9.19.1", "libcudnn.so.9"}};
  for (size_t i = 0; i < 2; i++) {
    (void)snprintf(path, sizeof path, "%s/%s", folder, links[i][0]);
    FILE *file = fopen(path, "w");
    CHECK(file && fclose(file) == 0, "no file %s", path);
    (void)snprintf(path, sizeof path, "%s/%s", folder, links[i][1]);
    CHECK(symlink(links[i][0], path) == 0, "no link %s", path);
  }
  const BurnPluginInfo *info = find_cuda();
  CHECK(info && info->score == 1000, "the score is %d: %s", info ? info->score : -1, info ? info->reason : "");
  check_contains(info->reason, "CUDA 13.0");
  (void)snprintf(expected, sizeof expected, "NVRTC 13.0.88 in %s", folder);
  if (!strstr(info->reason, "cuBLASLt")) check_contains(info->reason, "no cuBLASLt (pip install nvidia-cublas, or ");
  if (!strstr(info->reason, ", cuBLASLt")) check_contains(info->reason, expected);
  (void)snprintf(expected, sizeof expected, "cuDNN 9.19.1 in %s", folder);
  check_contains(info->reason, expected);
}

static void test_libraries_are_told(void **state) {
  static char folder[64];
  char command[128];
  (void)state;
  make_folder(folder);
  forked(libraries_told, folder);
  (void)snprintf(command, sizeof command, "rm -r '%s'", folder);
  assert_int_equal(system(command), 0);
}

/* -- with one --------------------------------------------------------------------------------- */

static bool has_nvrtc;

static void look_for_nvrtc(void *context) {
  (void)context;
  use_fake_driver();
  BurnDevice *device = burn_device_open("cuda");
  const char *message = burn_status_message(burn_device_status(device));
  CHECK(burn_device_status(device) == BURN_OK || strstr(message, "libnvrtc.so"), "%s", message);
  const bool is_there = burn_device_status(device) == BURN_OK;
  burn_device_close(device);
  _exit(is_there ? 3 : 0);
}

/* Exit status 3 of a child says that NVRTC is there. */
static int set_up(void **state) {
  (void)state;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    forked_pipe = 2;
    look_for_nvrtc(NULL);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  has_nvrtc = WEXITSTATUS(status) == 3;
  if (!has_nvrtc) print_message("NVRTC is not here: kernels are not compiled\n");
  return WEXITSTATUS(status) == 3 || WEXITSTATUS(status) == 0 ? 0 : -1;
}

static void check_fine(BurnTensor *x) {
  CHECK(burn_tensor_status(x) == BURN_OK, "%s", burn_status_message(burn_tensor_status(x)));
  burn_drop(x);
}

/* Steps of an optimizer, more of them than one launch takes. */
static void step_many(BurnDevice *device, const char *name, BurnDType dtype) {
  enum { STEPS = 60, ATTRS = 6 };
  const BurnOpInfo *op = NULL;
  BurnTensor *inputs[STEPS * 4], *outputs[STEPS * 3];
  BurnAttr attrs[STEPS * ATTRS];
  CHECK(burn_op_find(name, &op) == BURN_OK, "there is no %s", name);
  for (size_t i = 0; i < STEPS; i++) {
    for (size_t k = 0; k < op->input_count; k++)
      inputs[i * op->input_count + k] = burn_ones(device, BURN_SHAPE((int64_t)i * 400), dtype);
    for (size_t k = 0; k < op->attr_count; k++)
      attrs[i * op->attr_count + k] =
          op->attr_tags[k] == BURN_ATTR_F64 ? burn_attr_f64(0.5 / (double)(i / 25 + 1)) : burn_attr_bool(true);
  }
  burn_op_calls(op, STEPS, inputs, op->input_count, attrs, outputs);
  for (size_t i = 0; i < STEPS * op->output_count; i++) check_fine(outputs[i]);
}

/* Ops by one or two of each text, with what they need; the numbers that come out are those of kernels that never ran. */
static void use_every_text(BurnDevice *device, BurnDType dtype) {
  const BurnDType index = BURN_DTYPE_I64;
  const bool is_float = burn_dtype_kind(dtype) == BURN_KIND_FLOAT;
  BurnTensor *x = burn_ones(device, BURN_SHAPE(4, 6), dtype);
  BurnTensor *image = burn_ones(device, BURN_SHAPE(2, 3, 8, 8), dtype);
  BurnTensor *rows = burn_zeros(device, BURN_SHAPE(2), index);
  check_fine(burn_add(burn_clone(x), burn_transpose(burn_reshape(burn_clone(x), BURN_SHAPE(6, 4)))));
  check_fine(burn_greater_scalar(burn_clone(x), 0.5));
  check_fine(burn_cast(burn_clone(x), is_float ? BURN_DTYPE_I32 : BURN_DTYPE_F16));
  check_fine(burn_sum_dim(burn_clone(x), 0));
  check_fine(burn_max_dim(burn_clone(x), 1));
  check_fine(burn_argmax(burn_clone(x), 1));
  check_fine(burn_cumsum(burn_clone(x), 1));
  check_fine(burn_argsort_descending(burn_clone(x), 1));
  check_fine(burn_select(burn_clone(x), 0, burn_clone(rows)));
  check_fine(burn_select_add(burn_clone(x), 0, burn_clone(rows), burn_ones(device, BURN_SHAPE(2, 6), dtype)));
  check_fine(burn_matmul(burn_clone(x), burn_transpose(burn_clone(x))));
  if (is_float) {
    BurnTensor *weight = burn_ones(device, BURN_SHAPE(6, 5), dtype), *bias = burn_ones(device, BURN_SHAPE(5), dtype);
    check_fine(burn_linear(burn_clone(x), weight, bias));
    check_fine(burn_matmul(burn_clone(x), burn_ones(device, BURN_SHAPE(6, 1), dtype)));
    check_fine(burn_matmul(burn_ones(device, BURN_SHAPE(1, 400), dtype), burn_ones(device, BURN_SHAPE(400, 9), dtype)));
    step_many(device, "adam_step", dtype);
    step_many(device, "sgd_step", dtype);
    check_fine(burn_sin(burn_clone(x)));
    check_fine(burn_gelu(burn_clone(x)));
    check_fine(burn_softmax(burn_clone(x), 1));
    check_fine(burn_powf_scalar(burn_clone(x), 0.5));
    check_fine(burn_random_normal(device, BURN_SHAPE(5), dtype, 0, 1));
    check_fine(
        burn_conv2d(burn_clone(image), burn_ones(device, BURN_SHAPE(4, 3, 3, 3), dtype), NULL, BURN_CONV2D_OPTIONS));
    check_fine(burn_attention(burn_clone(image), burn_clone(image), burn_clone(image), NULL, burn_clone(image),
                              (BurnAttentionOptions){.is_causal = true}));
    check_fine(burn_avg_pool2d(burn_clone(image),
                               (BurnPool2dOptions){.kernel_size = {2, 2}, .stride = {2, 2}, .dilation = {1, 1}}));
  }
  burn_drop(x);
  burn_drop(image);
  burn_drop(rows);
}

/* Takes a result of leaves. */
static void differentiate(BurnTensor *result) {
  BurnGradients *gradients = NULL;
  const BurnStatus status = burn_backward(result, &gradients);
  CHECK(status == BURN_OK, "%s", burn_status_message(status));
  burn_gradients_drop(gradients);
}

/* Gradients that are kernels of their own. */
static void use_gradients(BurnDevice *device, BurnDType dtype) {
  const BurnAttentionOptions causal = {.is_causal = true};
  BurnTensor *image = burn_require_grad(burn_ones(device, BURN_SHAPE(2, 3, 8, 8), dtype));
  BurnTensor *weight = burn_require_grad(burn_ones(device, BURN_SHAPE(4, 3, 3, 3), dtype));
  BurnTensor *heads = burn_require_grad(burn_ones(device, BURN_SHAPE(2, 3, 5, 8), dtype));
  BurnTensor *bias = burn_require_grad(burn_ones(device, BURN_SHAPE(1, 3, 5, 1), dtype));
  differentiate(burn_attention(burn_clone(heads), burn_clone(heads), heads, NULL, bias, causal));
  differentiate(burn_max_pool2d(burn_clone(image), BURN_POOL2D_OPTIONS(2, 2)));
  differentiate(burn_conv2d(image, weight, NULL, BURN_CONV2D_OPTIONS));
  BurnTensor *many = burn_require_grad(burn_ones(device, BURN_SHAPE(2, 40, 8, 8), dtype));
  BurnTensor *taps = burn_require_grad(burn_ones(device, BURN_SHAPE(36, 40, 3, 3), dtype));
  differentiate(burn_conv2d(many, taps, NULL, BURN_CONV2D_OPTIONS));
  /* rows that fill their threads' registers, and such that are read again and begin anywhere */
  BurnTensor *gamma = burn_require_grad(burn_ones(device, BURN_SHAPE(768), dtype));
  BurnTensor *beta = burn_ones(device, BURN_SHAPE(768), dtype);
  differentiate(burn_layer_norm(burn_ones(device, BURN_SHAPE(9, 768), dtype), gamma, beta, 1e-5));
  BurnTensor *logits = burn_require_grad(burn_ones(device, BURN_SHAPE(2, 50257), dtype));
  differentiate(burn_cross_entropy(logits, burn_zeros(device, BURN_SHAPE(2), BURN_DTYPE_I64)));
}

static void compile_gradients(void *architecture) {
  static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_BF16};
  use_fake_driver();
  setenv("BURN_FAKE_CUDA_ARCHITECTURE", architecture, 1);
  BurnDevice *device = burn_device_open("autodiff<cuda>");
  CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
  for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) use_gradients(device, dtypes[i]);
  CHECK(burn_device_memory(device).live_tensors == 0, "%lld tensors are left",
        (long long)burn_device_memory(device).live_tensors);
  burn_device_close(device);
}

/* Those of kernels/attention_plain.cu, as they are and on tensor cores, and of kernels/matrix_conv.cu. */
static void compile_tensor_cores(void *architecture) {
  static const char *const stacks[] = {"autodiff<cuda>", "autodiff<cuda:tf32=true>"};
  use_fake_driver();
  setenv("BURN_FAKE_CUDA_ARCHITECTURE", architecture, 1);
  for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
    BurnDevice *device = burn_device_open(stacks[i]);
    CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
    BurnTensor *heads = burn_require_grad(burn_ones(device, BURN_SHAPE(1, 1, 32, 64), BURN_DTYPE_F32));
    differentiate(burn_attention(burn_clone(heads), burn_clone(heads), heads, NULL, NULL,
                                 (BurnAttentionOptions){.is_causal = true}));
    BurnTensor *image = burn_require_grad(burn_ones(device, BURN_SHAPE(1, 24, 28, 28), BURN_DTYPE_F32));
    BurnTensor *weight = burn_require_grad(burn_ones(device, BURN_SHAPE(40, 24, 3, 3), BURN_DTYPE_F32));
    differentiate(burn_conv2d(image, weight, NULL, BURN_CONV2D_OPTIONS));
    burn_device_close(device);
  }
}

static void compile_every_text(void *architecture) {
  use_fake_driver();
  setenv("BURN_FAKE_CUDA_ARCHITECTURE", architecture, 1);
  BurnDevice *device = burn_device_open("cuda");
  CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
  static const BurnDType dtypes[] = {BURN_DTYPE_F32, BURN_DTYPE_BF16, BURN_DTYPE_I64};
  for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) use_every_text(device, dtypes[i]);
  CHECK(burn_device_memory(device).live_tensors == 0, "%lld tensors are left",
        (long long)burn_device_memory(device).live_tensors);
  burn_device_close(device);
}

static void test_kernels_compile(void **state) {
  static char architectures[][4] = {"80", "90", "100"};
  (void)state;
  if (!has_nvrtc) skip();
  for (size_t i = 0; i < sizeof architectures / sizeof architectures[0]; i++)
    forked(compile_every_text, architectures[i]);
}

static void test_gradients_compile(void **state) {
  static char architecture[] = "80"; /* the oldest; a kernel of attention takes a second */
  (void)state;
  if (!has_nvrtc) skip();
  forked(compile_gradients, architecture);
  forked(compile_tensor_cores, architecture);
}

static void open_with_wrong_options(void *context) {
  (void)context;
  static const char *const texts[][2] = {
      {"cuda:0:matmul_precision=fast", "cuda: matmul_precision=fast is none of highest, high and medium"},
      {"cuda:0:tf32=maybe", "cuda: tf32=maybe is neither true nor false"},
      {"cuda:0:timing=2", "cuda: timing=2 is neither true nor false"},
  };
  use_fake_driver();
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    BurnDevice *device = burn_device_open(texts[i][0]);
    check_contains(burn_status_message(burn_device_status(device)), texts[i][1]);
    burn_device_close(device);
  }
}

static void test_wrong_options(void **state) {
  (void)state;
  forked(open_with_wrong_options, NULL);
}

/* -- memory ----------------------------------------------------------------------------------- */

static BurnTensor *bytes_of(BurnDevice *device, int64_t bytes) {
  return burn_zeros(device, BURN_SHAPE(bytes / 4), BURN_DTYPE_F32);
}

/* Whatever the order of sizes, what is free serves again: the device is asked no more. */
static void use_memory_again(void *context) {
  enum { HELD = 16, ROUNDS = 2000 };
  BurnTensor *held[HELD] = {NULL};
  uint32_t random = 1;
  int64_t reserved = 0;
  (void)context;
  use_fake_driver();
  BurnDevice *device = burn_device_open("cuda");
  for (int i = 0; i < ROUNDS; i++) {
    random = random * 1664525u + 1013904223u;
    burn_drop(held[random >> 16 & 15u]);
    held[random >> 16 & 15u] = bytes_of(device, INT64_C(512) << (random >> 24 & 15u));
    if (i == ROUNDS / 2) reserved = burn_device_memory(device).bytes_reserved;
  }
  const BurnMemoryStats memory = burn_device_memory(device);
  CHECK(memory.bytes_reserved <= 2 * reserved, "%lld bytes are reserved, %lld were at half time",
        (long long)memory.bytes_reserved, (long long)reserved);
  CHECK(memory.bytes_peak <= memory.bytes_reserved, "the peak of %lld bytes is above the %lld reserved",
        (long long)memory.bytes_peak, (long long)memory.bytes_reserved);
  for (int i = 0; i < HELD; i++) burn_drop(held[i]);
  CHECK(burn_device_memory(device).bytes_in_use == 0, "%lld bytes are in use by nobody",
        (long long)burn_device_memory(device).bytes_in_use);
  burn_device_trim(device);
  CHECK(burn_device_memory(device).bytes_reserved == 0, "%lld bytes are kept",
        (long long)burn_device_memory(device).bytes_reserved);
  burn_device_close(device);
}

static void test_memory_is_used_again(void **state) {
  (void)state;
  if (!has_nvrtc) skip();
  forked(use_memory_again, NULL);
}

/* What is free in segments of another size goes back before a request fails; then it fails with figures. */
static void fill_memory(void *context) {
  (void)context;
  use_fake_driver();
  setenv("BURN_FAKE_CUDA_MEMORY", "67108864", 1);
  BurnDevice *device = burn_device_open("cuda");
  burn_drop(bytes_of(device, 20 << 20));
  burn_drop(bytes_of(device, 30 << 20));
  BurnTensor *large = bytes_of(device, 60 << 20);
  CHECK(burn_tensor_status(large) == BURN_OK, "%s", burn_status_message(burn_tensor_status(large)));
  BurnTensor *more = bytes_of(device, 30 << 20);
  check_contains(burn_status_message(burn_tensor_status(more)), "no memory for 31457280 bytes: 62914560 are in use");
  burn_drop(large);
  burn_drop(more);
  check_fine(bytes_of(device, 30 << 20));
  burn_device_close(device);
}

static void test_a_full_device_gives_back(void **state) {
  (void)state;
  if (!has_nvrtc) skip();
  forked(fill_memory, NULL);
}

/* -- times ------------------------------------------------------------------------------------ */

static char record[96]; /* a file of the trace decorator */

static void trace_some(const char *format, bool waits) {
  char stack[200];
  (void)snprintf(stack, sizeof stack, "trace:format=%s,file=%s<cuda>", format, record);
  BurnDevice *device = burn_device_open(stack);
  CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
  BurnTensor *x = burn_ones(device, BURN_SHAPE(4, 6), BURN_DTYPE_F32);
  for (int i = 0; i < 5; i++) x = burn_exp(x);
  check_fine(x);
  CHECK(burn_device_host_waits(device) == 0, "the trace has waited %lld times",
        (long long)burn_device_host_waits(device));
  CHECK(!waits || burn_device_sync(device) == BURN_OK, "sync failed");
  burn_device_close(device);
}

static char *read_record(void) {
  static char text[8192];
  FILE *file = fopen(record, "r");
  CHECK(file, "no file %s", record);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  (void)fclose(file);
  return text;
}

/* The decorator's columns and rows of the device; no wait is in the traced run. */
static void trace_times(void *context) {
  (void)context;
  use_fake_driver();
  trace_some("count", true);
  check_contains(read_record(), "device ms    device us\n");
  trace_some("chrome", false);
  const char *text = read_record();
  check_contains(text, "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":2,\"args\":{\"name\":\"device\"}}");
  int count = 0;
  for (const char *at = text; (at = strstr(at, "\"name\":\"exp\",\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":")) != NULL;
       at++)
    count++;
  CHECK(count == 5, "%d calls of exp in the row of the device", count);
}

static void test_a_trace_has_times_of_the_device(void **state) {
  (void)state;
  if (!has_nvrtc) skip();
  char folder[64];
  make_folder(folder);
  (void)snprintf(record, sizeof record, "%s/trace", folder);
  forked(trace_times, NULL);
  assert_int_equal(remove(record), 0);
  assert_int_equal(remove(folder), 0);
}

/* -- tensors of other libraries ------------------------------------------------------------------ */

/* A tensor of a library that lies on device 0, with how often it was deleted. */
typedef struct Foreign {
  BurnDlpackManaged managed;
  int64_t shape[2], strides[2];
  float values[6];
  int deleted;
} Foreign;

static void foreign_delete(struct DLManagedTensorVersioned *managed) {
  ((Foreign *)burn_dlpack_managed(managed)->manager_ctx)->deleted++;
}

static struct DLManagedTensorVersioned *foreign_make(Foreign *x) {
  *x = (Foreign){.shape = {2, 3}, .strides = {3, 1}, .values = {1, 2, 3, 4, 5, 6}};
  x->managed = (BurnDlpackManaged){.major = BURN_DLPACK_MAJOR, .manager_ctx = x, .deleter = foreign_delete};
  x->managed.tensor = (BurnDlpackTensor){
      .data = x->values, .device_type = BURN_DLPACK_CUDA, .ndim = 2, .shape = x->shape, .strides = x->strides};
  burn_dlpack_set_dtype(&x->managed.tensor, BURN_DTYPE_F32);
  return (struct DLManagedTensorVersioned *)(void *)&x->managed;
}

static void check_read(BurnTensor *x, const float *expected) {
  float values[6] = {0};
  const BurnStatus status = burn_read_f32(x, values, 6);
  CHECK(status == BURN_OK, "%s", burn_status_message(status));
  for (int i = 0; i < 6; i++)
    CHECK(values[i] == expected[i], "element %d is %g, not %g", i, (double)values[i], (double)expected[i]);
}

static void take_foreign(BurnDevice *device) {
  static Foreign x;
  const float given[] = {1, 2, 3, 4, 5, 6};
  BurnTensor *ours = burn_from_dlpack_on(foreign_make(&x), 1, device);
  CHECK(burn_tensor_status(ours) == BURN_OK, "%s", burn_status_message(burn_tensor_status(ours)));
  check_read(burn_clone(ours), given);
  x.values[5] = 7; /* the same memory */
  check_read(burn_clone(ours), x.values);
  check_fine(burn_exp(ours)); /* given away, and yet not written into */
  CHECK(burn_device_sync(device) == BURN_OK, "sync failed");
  CHECK(x.deleted == 1, "deleted %d times", x.deleted);
  CHECK(x.values[0] == 1 && x.values[5] == 7, "the memory of the other library was written into");
}

static void refuse_foreign(BurnDevice *device) {
  static Foreign x;
  const char *message;
  BurnTensor *wrong = burn_from_dlpack_on(foreign_make(&x), 0, device);
  check_contains(burn_status_message(burn_tensor_status(wrong)), "0 is not a stream of DLPack's protocol");
  burn_drop(wrong);
  CHECK(x.deleted == 1, "a refused tensor was deleted %d times", x.deleted);
  (void)foreign_make(&x);
  x.managed.tensor.device_id = 1;
  wrong = burn_from_dlpack((struct DLManagedTensorVersioned *)(void *)&x.managed, device);
  message = burn_status_message(burn_tensor_status(wrong));
  check_contains(message, "can use no memory of DLPack's device type 2, id 1");
  burn_drop(wrong);
}

static void give_own(BurnDevice *device) {
  const float values[] = {6, 5, 4, 3, 2, 1};
  struct DLManagedTensorVersioned *out = NULL;
  BurnTensor *x = burn_transpose(burn_tensor_from(device, values, BURN_DTYPE_F32, BURN_SHAPE(2, 3)));
  const BurnStatus status = burn_to_dlpack_on(burn_clone(x), 2, &out);
  CHECK(status == BURN_OK, "%s", burn_status_message(status));
  const BurnDlpackManaged *managed = burn_dlpack_managed(out);
  const BurnDlpackTensor *tensor = &managed->tensor;
  CHECK(tensor->device_type == BURN_DLPACK_CUDA && tensor->device_id == 0, "type %d, id %d", tensor->device_type,
        tensor->device_id);
  CHECK(tensor->ndim == 2 && tensor->shape[0] == 3 && tensor->shape[1] == 2, "the shape is another");
  CHECK(tensor->strides[0] == 1 && tensor->strides[1] == 3, "strides %lld and %lld", (long long)tensor->strides[0],
        (long long)tensor->strides[1]);
  CHECK(managed->flags & BURN_DLPACK_READ_ONLY, "it may be written into");
  CHECK(memcmp(tensor->data, values, sizeof values) == 0, "the elements are others"); /* the fake device's memory */
  burn_drop(x);
  CHECK(burn_device_memory(device).live_tensors == 1, "the exported tensor does not live on");
  managed->deleter(out);
  CHECK(burn_device_memory(device).live_tensors == 0, "the exported tensor lives on");
  CHECK(burn_status_code(burn_to_dlpack_on(burn_ones(device, BURN_SHAPE(1), BURN_DTYPE_F32), -2, &out)) ==
            BURN_STATUS_INVALID_ARGUMENT,
        "-2 is a stream");
}

static void cross(void *context) {
  (void)context;
  use_fake_driver();
  BurnDevice *device = burn_device_open("cuda");
  CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
  take_foreign(device);
  refuse_foreign(device);
  give_own(device);
  CHECK(burn_device_memory(device).live_tensors == 0, "%lld tensors are left",
        (long long)burn_device_memory(device).live_tensors);
  static Foreign last; /* borrowed until the device is closed */
  BurnTensor *x = burn_from_dlpack(foreign_make(&last), device);
  burn_drop(x);
  burn_device_close(device);
  CHECK(last.deleted == 1, "deleted %d times", last.deleted);
}

static void test_tensors_cross_to_other_libraries(void **state) {
  (void)state;
  if (!has_nvrtc) skip();
  forked(cross, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_machine_without_a_driver),
                                     cmocka_unit_test(test_libraries_are_told),
                                     cmocka_unit_test(test_kernels_compile),
                                     cmocka_unit_test(test_gradients_compile),
                                     cmocka_unit_test(test_wrong_options),
                                     cmocka_unit_test(test_memory_is_used_again),
                                     cmocka_unit_test(test_a_full_device_gives_back),
                                     cmocka_unit_test(test_a_trace_has_times_of_the_device),
                                     cmocka_unit_test(test_tensors_cross_to_other_libraries)};
  return cmocka_run_group_tests(tests, set_up, NULL);
}
