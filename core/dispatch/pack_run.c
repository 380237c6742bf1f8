/* pack_run.c - calls of a pack's ops by its kernels: on the device, as code that the backend makes ready once per
 * instance, or on memory of the host. */
#include "pack.h"

#include <stdlib.h>

pthread_mutex_t burn__kernel_mutex = PTHREAD_MUTEX_INITIALIZER;

/* -- on memory of the host -------------------------------------------------------------------- */

static bool view_of(const BurnPrimitive *x, BurnTensorView *view) {
  *view = (BurnTensorView){0};
  if (!x) return true;
  if (!(x->flags & BURN_PRIMITIVE_HOST_MEMORY) || !x->strides) return false;
  *view = (BurnTensorView){.data = (unsigned char *)x->buffer + x->byte_offset,
                           .shape = x->shape,
                           .strides = x->strides,
                           .dtype = x->dtype,
                           .rank = x->rank};
  return true;
}

/* Runs the kernel on new outputs. *ran stays false where outputs are not in host memory. */
static BurnStatus run_kernel(const BurnBackend *backend, const BurnKernel *kernel, const BurnOpCall *call,
                             const BurnTensorView *inputs, bool *ran) {
  BurnTensorView outputs[BURN_MAX_OUTPUTS];
  BurnStatus status = BURN_OK;
  bool readable = true;
  for (uint32_t i = 0; i < call->output_count && status == BURN_OK && readable; i++) {
    status = burn__backend_create(backend, &call->output_descs[i], NULL, &call->outputs[i]);
    readable = status == BURN_OK && view_of(call->outputs[i], &outputs[i]);
  }
  if (status == BURN_OK && readable) {
    const BurnKernelCall kernel_call = {sizeof kernel_call,
                                        call->input_count,
                                        call->output_count,
                                        call->attr_count,
                                        inputs,
                                        outputs,
                                        call->attrs,
                                        burn__host(),
                                        NULL};
    *ran = true;
    status = kernel->run(&kernel_call);
  }
  if (status != BURN_OK || !readable) burn__drop_outputs(backend, call);
  return status;
}

static BurnStatus run_on_host(const BurnBackend *backend, const PackOp *op, const BurnOpCall *call, bool *ran,
                              char *why, size_t why_bytes) {
  BurnTensorView inputs[BURN_MAX_FIXED_INPUTS];
  for (uint32_t i = 0; i < call->input_count; i++) {
    if (!view_of(call->inputs[i], &inputs[i])) return BURN_OK;
  }
  for (size_t i = 0; i < op->kernel_count; i++) {
    const BurnKernel *kernel = &op->kernels[i];
    if (kernel->accept && !kernel->accept(call, why, why_bytes)) continue;
    return run_kernel(backend, kernel, call, inputs, ran);
  }
  return BURN_OK;
}

/* -- on the device ---------------------------------------------------------------------------- */

/* A kernel that an instance was asked to load; without `loaded` it could not. */
struct BurnInstanceKernel {
  const BurnDeviceKernel *kernel;
  BurnLoadedKernel *loaded;
  struct BurnInstanceKernel *next;
};

/* "burn.device" of a backend, if it runs kernels. */
static const BurnDeviceInterface *kernel_device(const BurnBackend *backend, void **self) {
  const BurnDeviceInterface *table = burn__backend_device(backend, self);
  const bool runs =
      table && table->kernel_takes_code && table->kernel_load && table->kernel_unload && table->kernel_launch;
  return runs ? table : NULL;
}

/* The first code of a kernel that the device takes; NULL: none. */
static const BurnDeviceCode *code_for(const BurnDeviceInterface *device, void *self, const BurnDeviceKernel *kernel) {
  for (uint32_t i = 0; i < kernel->code_count; i++) {
    if (device->kernel_takes_code(self, kernel->codes[i])) return kernel->codes[i];
  }
  return NULL;
}

static struct BurnInstanceKernel *find_kernel(const BurnInstance *instance, const BurnDeviceKernel *kernel) {
  struct BurnInstanceKernel *at = instance->kernels;
  while (at && at->kernel != kernel) at = at->next;
  return at;
}

/* A failure is reported here, once: the entry stays without `loaded`. */
static struct BurnInstanceKernel *load_kernel(BurnInstance *instance, const BurnDeviceInterface *device, void *self,
                                              const BurnDeviceKernel *kernel, const BurnDeviceCode *code) {
  struct BurnInstanceKernel *entry = calloc(1, sizeof *entry);
  if (!entry) return NULL;
  BurnStatus status = device->kernel_load(self, code, kernel->entry, &entry->loaded);
  if (status == BURN_OK && !entry->loaded) status = BURN_FAIL(INTERNAL, "it reports success, but gave no kernel");
  if (status != BURN_OK) {
    burn__log(BURN_LOG_WARN, "kernels", "%s: its kernel '%s' cannot be loaded on '%s': %s", kernel->op, kernel->entry,
              instance->label, burn_status_message(status));
    entry->loaded = NULL;
  }
  entry->kernel = kernel;
  entry->next = instance->kernels;
  return instance->kernels = entry;
}

/* The kernel as this instance has made it ready; NULL if the device takes none of its codes or cannot load it. The
 * device is asked once. */
static BurnLoadedKernel *loaded_kernel(BurnInstance *instance, const BurnDeviceInterface *device, void *self,
                                       const BurnDeviceKernel *kernel) {
  pthread_mutex_lock(&burn__kernel_mutex);
  struct BurnInstanceKernel *entry = find_kernel(instance, kernel);
  const BurnDeviceCode *code = entry ? NULL : code_for(device, self, kernel);
  if (code) entry = load_kernel(instance, device, self, kernel, code);
  pthread_mutex_unlock(&burn__kernel_mutex);
  return entry ? entry->loaded : NULL;
}

void burn__instance_unload_kernels(BurnInstance *instance) {
  void *self = NULL;
  const BurnDeviceInterface *device = instance->kernels ? kernel_device(&instance->backend, &self) : NULL;
  while (instance->kernels) {
    struct BurnInstanceKernel *entry = instance->kernels;
    instance->kernels = entry->next;
    if (entry->loaded && device) device->kernel_unload(self, entry->loaded);
    free(entry);
  }
}

static void row_major_strides(uint32_t rank, const int64_t *shape, int64_t *strides) {
  int64_t step = 1;
  for (uint32_t axis = rank; axis-- > 0;) {
    strides[axis] = step;
    step *= shape[axis];
  }
}

/* What `plan` gets: shapes and strides of the inputs, then of the outputs. */
typedef struct DeviceViews {
  BurnTensorView views[BURN_MAX_FIXED_INPUTS + BURN_MAX_OUTPUTS];
  int64_t strides[BURN_MAX_FIXED_INPUTS + BURN_MAX_OUTPUTS][BURN_MAX_RANK];
} DeviceViews;

/* False: an input has strides that nobody knows, and the kernel does not ask for it row-major. */
static bool view_inputs(DeviceViews *to, const BurnOpCall *call, uint32_t row_major) {
  for (uint32_t i = 0; i < call->input_count; i++) {
    const BurnPrimitive *x = call->inputs[i];
    to->views[i] = (BurnTensorView){0};
    if (!x) continue;
    const bool as_is = !(row_major >> i & 1u);
    if (as_is && !x->strides) return false;
    if (!as_is) row_major_strides(x->rank, x->shape, to->strides[i]);
    to->views[i] = (BurnTensorView){NULL, x->shape, as_is ? x->strides : to->strides[i], x->dtype, x->rank};
  }
  return true;
}

static void view_outputs(DeviceViews *to, const BurnOpCall *call) {
  for (uint32_t i = 0; i < call->output_count; i++) {
    const uint32_t at = call->input_count + i;
    const BurnTensorDesc *desc = &call->output_descs[i];
    row_major_strides(desc->rank, desc->shape, to->strides[at]);
    to->views[at] = (BurnTensorView){NULL, desc->shape, to->strides[at], desc->dtype, desc->rank};
  }
}

static BurnStatus plan_launch(const BurnDeviceKernel *kernel, const BurnOpCall *call, const DeviceViews *views,
                              BurnDeviceLaunch *launch) {
  *launch = (BurnDeviceLaunch){.struct_size = sizeof *launch, .row_major = kernel->row_major};
  const BurnStatus status = kernel->plan(burn__host(), call, views->views, launch);
  if (status != BURN_OK) return status;
  if (launch->parameter_bytes > BURN_MAX_PARAMETER_BYTES) {
    return BURN_FAIL(INTERNAL, "%s: its plan has %u bytes of parameters; at most %d are possible", kernel->op,
                     launch->parameter_bytes, BURN_MAX_PARAMETER_BYTES);
  }
  launch->row_major = kernel->row_major;
  return BURN_OK;
}

static BurnStatus run_on_device(BurnInstance *instance, const PackOp *op, const BurnOpCall *call, bool *ran, char *why,
                                size_t why_bytes) {
  void *self = NULL;
  const BurnDeviceInterface *device = op->device_kernel_count ? kernel_device(&instance->backend, &self) : NULL;
  DeviceViews views;
  for (size_t i = 0; device && i < op->device_kernel_count; i++) {
    const BurnDeviceKernel *kernel = &op->device_kernels[i];
    if (kernel->accept && !kernel->accept(call, why, why_bytes)) continue;
    if (!view_inputs(&views, call, kernel->row_major)) continue;
    BurnLoadedKernel *loaded = loaded_kernel(instance, device, self, kernel);
    if (!loaded) continue;
    BurnDeviceLaunch launch;
    view_outputs(&views, call);
    *ran = true;
    const BurnStatus status = plan_launch(kernel, call, &views, &launch);
    return status == BURN_OK ? device->kernel_launch(self, loaded, call, &launch) : status;
  }
  return BURN_OK;
}

/* -- either ----------------------------------------------------------------------------------- */

BurnStatus burn__pack_run(BurnInstance *instance, const BurnOpCall *call, bool *ran, char *why, size_t why_bytes) {
  *ran = false;
  const PackOp *op = burn__pack_op(call->op);
  const BurnStatus status = run_on_device(instance, op, call, ran, why, why_bytes);
  if (*ran || status != BURN_OK) return status;
  return run_on_host(&instance->backend, op, call, ran, why, why_bytes);
}

/* Asked once per instance: a tensor is made for it. */
static bool is_on_host(BurnInstance *instance) {
  enum { UNKNOWN, ON_HOST, ELSEWHERE };
  uint32_t known = atomic_load_explicit(&instance->memory, memory_order_relaxed);
  if (known != UNKNOWN) return known == ON_HOST;
  const BurnTensorDesc one = {BURN_DTYPE_F32, 1, {1}};
  const BurnBackend *backend = &instance->backend;
  BurnPrimitive *x = NULL;
  if (burn__backend_create(backend, &one, NULL, &x) != BURN_OK) return false;
  known = x->flags & BURN_PRIMITIVE_HOST_MEMORY ? ON_HOST : ELSEWHERE;
  backend->release(backend->self, x);
  atomic_store_explicit(&instance->memory, known, memory_order_relaxed);
  return known == ON_HOST;
}

static bool runs_on_device(const BurnInstance *instance, const PackOp *op, int32_t least_priority) {
  void *self = NULL;
  const BurnDeviceInterface *device = op->device_kernel_count ? kernel_device(&instance->backend, &self) : NULL;
  for (size_t i = 0; device && i < op->device_kernel_count; i++) {
    const BurnDeviceKernel *kernel = &op->device_kernels[i];
    if (kernel->priority >= least_priority && code_for(device, self, kernel)) return true;
  }
  return false;
}

bool burn__pack_runs_kernel(BurnInstance *level, uint32_t number, int32_t least_priority) {
  const PackOp *op = burn__pack_op(number);
  if (!op) return false;
  while (level->next) level = level->next;
  const bool host = op->kernel_count > 0 && op->kernels[0].priority >= least_priority;
  return (host && is_on_host(level)) || runs_on_device(level, op, least_priority);
}
