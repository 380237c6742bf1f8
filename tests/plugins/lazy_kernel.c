/* lazy_kernel.c - kernels of packs on the backend "lazy": they run when launched, on row-major copies, after the queue.
 */
#include "lazy_kernel.h"
#include "lazy.h"

#include <stdlib.h>
#include <string.h>

int32_t BURN_API_CALL lazy_kernel_takes_code(void *state, const BurnDeviceCode *code) {
  (void)state;
  return code->format == LAZY_CODE && (!code->architecture || strcmp(code->architecture, "lazy") == 0);
}

BurnStatus BURN_API_CALL lazy_kernel_load(void *state, const BurnDeviceCode *code, const char *entry,
                                          BurnLoadedKernel **out) {
  const LazyKernelText *text = code->data;
  if (strcmp(text->entry, entry) != 0)
    return lazy_fail(state, BURN_STATUS_NOT_FOUND, "lazy: the code has no function of that name");
  LazyKernelFunction *loaded = malloc(sizeof *loaded);
  if (!loaded) return lazy_fail(state, BURN_STATUS_OUT_OF_MEMORY, "lazy: no memory for a kernel");
  *loaded = text->function;
  *out = (BurnLoadedKernel *)(void *)loaded;
  return BURN_OK;
}

void BURN_API_CALL lazy_kernel_unload(void *state, BurnLoadedKernel *kernel) {
  (void)state;
  free(kernel);
}

/* The addresses of a launch, and what to free after it. */
typedef struct Arguments {
  _Alignas(8) unsigned char bytes[8 * (BURN_MAX_FIXED_INPUTS + BURN_MAX_OUTPUTS) + BURN_MAX_PARAMETER_BYTES];
  void *memory[BURN_MAX_FIXED_INPUTS + BURN_MAX_OUTPUTS];
  uint32_t count;
} Arguments;

static void *add_memory(Arguments *arguments, size_t bytes) {
  void *memory = calloc(1, bytes + 1);
  memcpy(arguments->bytes + 8 * arguments->count, &memory, sizeof memory);
  return arguments->memory[arguments->count++] = memory;
}

static size_t bytes_of(const BurnTensorDesc *desc) {
  return (size_t)burn_desc_count(desc) * burn_dtype_bytes(desc->dtype);
}

/* Under the mutex, when the queue is done. */
static BurnStatus add_input(Lazy *self, Arguments *arguments, BurnPrimitive *x) {
  if (!x) {
    arguments->memory[arguments->count++] = NULL;
    return BURN_OK;
  }
  const BurnTensorDesc desc = lazy_desc_of(lazy(x));
  void *memory = add_memory(arguments, bytes_of(&desc));
  if (!memory) return lazy_fail(self, BURN_STATUS_OUT_OF_MEMORY, "lazy: no memory for an argument");
  if (!lazy(x)->inner) return lazy_fail(self, BURN_STATUS_INTERNAL, "lazy: the work before has failed");
  return self->reference.read(self->reference.self, lazy(x)->inner, memory, bytes_of(&desc));
}

static BurnStatus add_inputs(Lazy *self, Arguments *arguments, const BurnOpCall *call) {
  pthread_mutex_lock(&self->mutex);
  BurnStatus status = lazy_wait_for(self, self->submitted);
  for (uint32_t i = 0; status == BURN_OK && i < call->input_count; i++)
    status = add_input(self, arguments, call->inputs[i]);
  pthread_mutex_unlock(&self->mutex);
  return status;
}

static BurnStatus add_outputs(const Lazy *self, Arguments *arguments, const BurnOpCall *call) {
  for (uint32_t i = 0; i < call->output_count; i++) {
    if (!add_memory(arguments, bytes_of(&call->output_descs[i])))
      return lazy_fail(self, BURN_STATUS_OUT_OF_MEMORY, "lazy: no memory for a result");
  }
  return BURN_OK;
}

BurnStatus BURN_API_CALL lazy_kernel_launch(void *state, BurnLoadedKernel *kernel, const BurnOpCall *call,
                                            const BurnDeviceLaunch *launch) {
  Lazy *self = state;
  Arguments arguments = {.count = 0};
  BurnStatus status = add_inputs(self, &arguments, call);
  if (status == BURN_OK) status = add_outputs(self, &arguments, call);
  if (status == BURN_OK) {
    memcpy(arguments.bytes + 8 * arguments.count, launch->parameters, launch->parameter_bytes);
    (*(LazyKernelFunction *)(void *)kernel)(arguments.bytes, launch);
  }
  for (uint32_t i = 0; status == BURN_OK && i < call->output_count; i++)
    status = lazy_create(self, &call->output_descs[i], arguments.memory[call->input_count + i], &call->outputs[i]);
  for (uint32_t i = 0; i < arguments.count; i++) free(arguments.memory[i]);
  return status;
}
