/* data_parallel.c - see burn/train/data_parallel.h. A step begins and ends on the calling thread: it cuts the batch,
 * copies the module, works on the first part itself, waits for the others, and adds up in the order of the devices. */
#include <burn/train/data_parallel.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "learner_step.h"
#include "null_check.h"
#include "optimizer_internal.h"

/* One device: its copy of the module, its part of the batch, and what came of it. */
typedef struct Part {
  const BurnDataParallel *config;
  BurnDevice *device;
  BurnModule module; /* of the first part the module itself */
  BurnBatch batch;
  BurnTensor *rows[BURN_MAX_COLUMNS]; /* the tensors of the batch, which burn_batch_take gives clones of */
  double share;                       /* of the items of the whole batch */
  BurnStepOutput output;              /* below autodiff */
  BurnGradientsParams *gradients;
  BurnStatus status;
  pthread_t thread;
  bool is_on_thread;
} Part;

/* -- one part --------------------------------------------------------------------------------- */

static void part_run(Part *part) {
  const BurnTask *task = &part->config->task;
  BurnGradScaler *scaler = part->config->grad_scaler;
  BurnGradients *gradients = NULL;
  part->status = burn__task_step(task, part->module.data, &part->batch, &part->output);
  if (part->status != BURN_OK) return;
  BurnTensor *loss = burn__step_lower(&part->output);
  if (part->share < 1) loss = burn_mul_scalar(loss, part->share);
  part->status = burn__backward_of(part->module, scaler ? burn_grad_scaler_scale(scaler, loss) : loss, &gradients);
  if (part->status == BURN_OK) part->gradients = burn_gradients_params(gradients, part->module);
}

static void *part_main(void *part) {
  part_run(part);
  return NULL;
}

static uint64_t mixed(uint64_t x) { /* the finalizer of splitmix64 */
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/* Other numbers for each device, all of them from the state of the first one. */
static void seed_after(const BurnDevice *first, BurnDevice *device, size_t index) {
  BurnRandomState state = burn_device_random_state(first);
  state.seed = mixed(state.seed + 0x9e3779b97f4a7c15ull * index);
  burn_device_set_random_state(device, state);
}

/* Items first .. first + count - 1 of every column, on the device of the part. */
static void cut_batch(const BurnBatch *whole, size_t first, size_t count, Part *part) {
  BurnBatch *batch = &part->batch;
  *batch = (BurnBatch){.index = whole->index, .item_count = count, .column_count = whole->column_count};
  for (size_t i = 0; i < whole->column_count; i++) {
    batch->names[i] = whole->names[i];
    if (!whole->tensors[i]) continue;
    BurnTensor *rows = burn_narrow(burn_clone(whole->tensors[i]), 0, (int64_t)first, (int64_t)count);
    batch->tensors[i] = part->rows[i] = burn_to_device(rows, part->device);
  }
}

static BurnStatus copy_module(Part *part, size_t index) {
  const BurnDataParallel *config = part->config;
  const BurnModule module = config->module;
  seed_after(config->devices[0], part->device, index);
  seed_after(burn_device_inner(config->devices[0]), burn_device_inner(part->device), index);
  part->module = (BurnModule){module.type, calloc(1, module.type->bytes)};
  if (!part->module.data) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "out of memory for a copy of the module");
  burn_module_fork(module, part->device, part->module.data);
  return burn_module_status(part->module);
}

static void part_end(Part *part) {
  for (size_t i = 0; i < BURN_MAX_COLUMNS; i++) burn_drop(part->rows[i]);
  burn_step_drop(&part->output);
  burn_gradients_params_drop(part->gradients);
  if (part->module.data == part->config->module.data) return;
  if (part->module.data) burn_module_release(part->module);
  free(part->module.data);
}

/* -- all parts -------------------------------------------------------------------------------- */

/* Fills the parts that get items; returns how many. */
static size_t cut(const BurnDataParallel *config, const BurnBatch *batch, Part *parts) {
  const size_t items = batch->item_count, devices = config->device_count;
  size_t count = 0;
  for (size_t k = 0; k < devices; k++) {
    const size_t first = k * items / devices, end = (k + 1) * items / devices;
    if (first == end) continue;
    Part *part = &parts[count];
    *part = (Part){.config = config, .device = config->devices[count], .module = config->module};
    part->share = (double)(end - first) / (double)items;
    cut_batch(batch, first, end - first, part);
    if (count > 0) part->status = copy_module(part, count);
    count++;
  }
  return count;
}

static void run_all(Part *parts, size_t count) {
  for (size_t i = 1; i < count; i++) {
    Part *part = &parts[i];
    part->is_on_thread = part->status == BURN_OK && pthread_create(&part->thread, NULL, part_main, part) == 0;
  }
  for (size_t i = 0; i < count; i++) { /* where there was no thread, here */
    if (!parts[i].is_on_thread && parts[i].status == BURN_OK) part_run(&parts[i]);
  }
  for (size_t i = 1; i < count; i++) {
    if (parts[i].is_on_thread) (void)pthread_join(parts[i].thread, NULL);
  }
}

/* The first failure in the order of the devices. */
static BurnStatus status_of(const Part *parts, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (parts[i].status == BURN_OK) continue;
    return count == 1 ? parts[i].status
                      : burn_status_annotate(parts[i].status, "device %zu (%s)", i, burn_device_name(parts[i].device));
  }
  return BURN_OK;
}

static BurnStatus add_gradients(Part *parts, size_t count, BurnDevice *device, BurnGradientsParams **sum) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    BurnGradientsParams *part = parts[i].gradients;
    if (count > 1) status = burn_gradients_params_to_device(part, device);
    if (status != BURN_OK) break;
    parts[i].gradients = NULL;
    if (count == 1) {
      *sum = part;
    } else {
      status = burn_gradients_accumulate(sum, part);
    }
  }
  if (status == BURN_OK) return BURN_OK;
  burn_gradients_params_drop(*sum);
  *sum = NULL;
  return status;
}

static BurnTensor *add_losses(Part *parts, size_t count, BurnDevice *inner) {
  BurnTensor *sum = NULL;
  for (size_t i = 0; i < count; i++) {
    BurnTensor *loss = burn_reshape(burn_step_take(&parts[i].output, "loss"), BURN_SHAPE(1));
    loss = burn_mul_scalar(burn_to_device(loss, inner), parts[i].share);
    sum = sum ? burn_add(sum, loss) : loss;
  }
  return sum;
}

static BurnTensor *cat_rows(Part *parts, size_t count, const char *name, BurnDevice *inner) {
  BurnTensor *rows[BURN_MAX_DEVICES];
  size_t found = 0;
  for (size_t i = 0; i < count; i++) {
    BurnTensor *part = burn_step_take(&parts[i].output, name);
    if (part) rows[found++] = burn_to_device(part, inner);
  }
  return burn_cat(rows, found, 0);
}

/* The outputs of all parts as that of the whole batch. */
static void merge_outputs(Part *parts, size_t count, BurnDevice *inner, BurnStepOutput *output) {
  *output = parts[0].output;
  if (count == 1) {
    parts[0].output = (BurnStepOutput){0};
    return;
  }
  for (size_t i = 0; i < output->count; i++) {
    const char *name = output->names[i];
    if (!output->tensors[i]) continue;
    output->tensors[i] =
        strcmp(name, "loss") == 0 ? add_losses(parts, count, inner) : cat_rows(parts, count, name, inner);
  }
}

static BurnStatus check(const BurnDataParallel *config) {
  const size_t count = config->device_count;
  if (!config->task.step) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "data parallel: a task without a step");
  if (count < 1 || count > BURN_MAX_DEVICES) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "data parallel: %zu devices, 1 to %d expected", count,
                            (int)BURN_MAX_DEVICES);
  }
  for (size_t i = 0; i < count; i++) {
    const BurnStatus status = burn_device_status(config->devices[i]);
    if (status != BURN_OK) return burn_status_annotate(status, "data parallel: device %zu", i);
    if (!burn_device_is_autodiff(config->devices[i])) {
      return burn_status_make(BURN_STATUS_NO_AUTODIFF,
                              "data parallel: device %zu, %s, computes no gradients, training needs autodiff<...>", i,
                              burn_device_name(config->devices[i]));
    }
    for (size_t k = 0; k < i; k++) {
      if (config->devices[i] != config->devices[k]) continue;
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "data parallel: devices %zu and %zu are the same one", k,
                              i);
    }
  }
  return BURN_OK;
}

BurnStatus burn_data_parallel_step(const BurnDataParallel *config, BurnBatch *batch, BurnStepOutput *output,
                                   BurnGradientsParams **gradients) {
  BurnStatus status = BURN_REQUIRED(config, "a BurnDataParallel");
  if (status == BURN_OK) status = BURN_REQUIRED(batch, "a BurnBatch");
  if (status == BURN_OK) status = BURN_REQUIRED(output, "a BurnStepOutput");
  if (status == BURN_OK) status = BURN_REQUIRED(gradients, "a BurnGradientsParams *");
  if (status != BURN_OK) return status;
  *output = (BurnStepOutput){0};
  *gradients = NULL;
  status = check(config);
  if (status != BURN_OK) return status;
  Part *parts = calloc(config->device_count, sizeof *parts);
  if (!parts) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "data parallel: out of memory");
  BurnDevice *const first = config->devices[0];
  size_t count = 1;
  if (config->device_count == 1 || batch->item_count < 2) {
    parts[0] = (Part){.config = config, .device = first, .module = config->module, .batch = *batch, .share = 1};
    part_run(&parts[0]);
  } else {
    count = cut(config, batch, parts);
    run_all(parts, count);
  }
  status = status_of(parts, count);
  if (status == BURN_OK) status = add_gradients(parts, count, first, gradients);
  if (status == BURN_OK) merge_outputs(parts, count, burn_device_inner(first), output);
  for (size_t i = 0; i < count; i++) part_end(&parts[i]);
  free(parts);
  return status;
}
