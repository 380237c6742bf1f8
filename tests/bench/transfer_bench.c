/* transfer_bench.c - transfers and waits of a device: bandwidth of uploads and reads, through pinned staging memory and
 * without, and a training step of the guide's CNN whose batch comes through a staging ring and whose loss is read two
 * steps later: milliseconds, and how often the host waited for the device.
 *
 *   transfer_bench [--backend STACK] [--steps N] [--megabytes N] */
#include "bench_time.h"
#include "../../sdk/examples/mnist/model.h"

#include "../../sdk/examples/common/arguments.h"

#include <burn/transfer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64, PIXELS = 28 * 28, IN_FLIGHT = 2, REPEATS = 10 };

static void show_device(BurnDevice *device) {
  BurnDeviceDescription about;
  if (burn_device_describe(device, &about) != BURN_OK) return;
  printf("%s: %s, %s, %s, pci %s, uuid ", burn_device_name(device), about.name, about.architecture, about.driver,
         about.pci_address);
  for (int i = 0; i < 16; i++) printf("%02x", about.uuid[i]);
  printf(", %u units, %lld of %lld MiB free\n", about.unit_count, (long long)(about.free_bytes >> 20),
         (long long)(about.memory_bytes >> 20));
}

/* -- bandwidth -------------------------------------------------------------------------------- */

typedef BurnStatus (*Transfer)(BurnDevice *device, BurnStagingSlot *slot, const BurnTensor *x, char *data,
                               size_t bytes);

static BurnStatus dropped(BurnTensor *x) {
  const BurnStatus status = burn_tensor_status(x);
  burn_drop(x);
  return status;
}

static BurnStatus upload_plain(BurnDevice *device, BurnStagingSlot *slot, const BurnTensor *x, char *data,
                               size_t bytes) {
  (void)slot;
  (void)x;
  return dropped(burn_tensor_from(device, data, BURN_DTYPE_U8, BURN_SHAPE((int64_t)bytes)));
}

static BurnStatus upload_staged(BurnDevice *device, BurnStagingSlot *slot, const BurnTensor *x, char *data,
                                size_t bytes) {
  (void)device;
  (void)x;
  (void)data;
  return dropped(burn_staging_tensor(slot, 0, BURN_DTYPE_U8, BURN_SHAPE((int64_t)bytes)));
}

static BurnStatus read_plain(BurnDevice *device, BurnStagingSlot *slot, const BurnTensor *x, char *data, size_t bytes) {
  (void)device;
  (void)slot;
  return burn_read(burn_clone(x), data, bytes);
}

static BurnStatus read_pending(BurnDevice *device, BurnStagingSlot *slot, const BurnTensor *x, char *data,
                               size_t bytes) {
  (void)device;
  (void)slot;
  return burn_read_finish(burn_read_start(burn_clone(x)), data, bytes);
}

static BurnStatus time_transfer(const char *name, Transfer transfer, BurnDevice *device, BurnStagingSlot *slot,
                                const BurnTensor *x, char *data, size_t bytes) {
  BurnStatus status = BURN_OK;
  double begin = 0;
  for (int i = -2; i < REPEATS && status == BURN_OK; i++) { /* the first two warm up */
    if (i == 0) begin = seconds_now();
    status = transfer(device, slot, x, data, bytes);
    if (status == BURN_OK && i == -1) status = burn_device_sync(device);
  }
  if (status == BURN_OK) status = burn_device_sync(device);
  printf("%-36s %8.2f GB/s\n", name, (double)REPEATS * (double)bytes / (seconds_now() - begin) * 1e-9);
  return status;
}

static BurnStatus bandwidths(BurnDevice *device, size_t bytes) {
  BurnStaging *staging = NULL;
  BurnStagingSlot *slot = NULL;
  char *data = malloc(bytes);
  if (!data) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu bytes", bytes);
  for (size_t i = 0; i < bytes; i++) data[i] = (char)i;
  BurnTensor *x = burn_tensor_from(device, data, BURN_DTYPE_U8, BURN_SHAPE((int64_t)bytes));
  BurnStatus status = burn_staging_open(device, bytes, 1, &staging);
  if (status == BURN_OK) status = burn_staging_take(staging, &slot);
  if (status == BURN_OK) memcpy(burn_staging_memory(slot), data, bytes);
  if (status == BURN_OK) status = time_transfer("upload of plain memory", upload_plain, device, slot, x, data, bytes);
  if (status == BURN_OK) status = time_transfer("upload through staging", upload_staged, device, slot, x, data, bytes);
  if (status == BURN_OK) status = time_transfer("read into plain memory", read_plain, device, slot, x, data, bytes);
  if (status == BURN_OK)
    status = time_transfer("pending read, then copied", read_pending, device, slot, x, data, bytes);
  burn_staging_give(slot);
  burn_staging_close(staging);
  burn_drop(x);
  free(data);
  return status;
}

/* -- training --------------------------------------------------------------------------------- */

typedef struct Training {
  BurnDevice *device;
  Model model;
  BurnOptimizer *optimizer;
  BurnStaging *staging;
  BurnPendingRead *losses[IN_FLIGHT];
  double loss;
} Training;

/* A batch of drawn pixels and labels, through the ring. */
static BurnStatus next_batch(Training *training, size_t step, BurnTensor **images, BurnTensor **targets) {
  BurnStagingSlot *slot = NULL;
  const BurnStatus status = burn_staging_take(training->staging, &slot);
  if (status != BURN_OK) return status;
  float *pixels = burn_staging_memory(slot);
  int64_t *labels = (int64_t *)(void *)(pixels + (size_t)BATCH * PIXELS);
  for (size_t i = 0; i < BATCH; i++) {
    labels[i] = (int64_t)((step + i) % 10);
    for (size_t j = 0; j < PIXELS; j++) pixels[i * PIXELS + j] = (float)((labels[i] + 1) * (int64_t)j % 29) / 29.0f;
  }
  *images = burn_staging_tensor(slot, 0, BURN_DTYPE_F32, BURN_SHAPE(BATCH, 1, 28, 28));
  *targets = burn_staging_tensor(slot, (size_t)BATCH * PIXELS * sizeof *pixels, BURN_DTYPE_I64, BURN_SHAPE(BATCH));
  burn_staging_give(slot);
  return BURN_OK;
}

static BurnStatus train_one(Training *training, size_t step) {
  BurnTensor *images = NULL, *targets = NULL;
  BurnStatus status = next_batch(training, step, &images, &targets);
  if (status != BURN_OK) return status;
  BurnTensor *loss = burn_cross_entropy(model_forward(&training->model, images), targets);
  BurnPendingRead **due = &training->losses[step % IN_FLIGHT];
  if (*due) status = burn_read_finish_f64(*due, &training->loss, 1);
  *due = burn_read_start(burn_clone(loss));
  if (status == BURN_OK) return burn_train_step(training->optimizer, burn_module(Model, &training->model), loss, 1e-4);
  burn_drop(loss);
  return status;
}

static BurnStatus train(Training *training, size_t steps) {
  BurnStatus status = BURN_OK;
  double begin = 0;
  int64_t waits = 0;
  const size_t warm_up = 30;
  for (size_t step = 0; step < warm_up + steps && status == BURN_OK; step++) {
    if (step == warm_up) {
      status = burn_device_sync(training->device);
      waits = burn_device_host_waits(training->device);
      begin = seconds_now();
    }
    if (status == BURN_OK) status = train_one(training, step);
  }
  waits = burn_device_host_waits(training->device) - waits; /* 0 where the backend does not count */
  const double queued = seconds_now() - begin;
  if (status == BURN_OK) status = burn_device_sync(training->device);
  const double done = seconds_now() - begin;
  printf(
      "guide CNN step, batch %d: %.3f ms (%.3f until the last was submitted), %.3f waits of the host per step, loss "
      "%.4f\n",
      BATCH, 1e3 * done / (double)steps, 1e3 * queued / (double)steps, (double)waits / (double)steps, training->loss);
  return status;
}

static BurnStatus train_on(BurnDevice *device, size_t steps) {
  Training training = {.device = device, .optimizer = burn_adam_create(NULL)};
  const ModelConfig config = ModelConfig_defaults(10, 512);
  burn_device_seed(device, 1);
  training.model = model_init(&config, device);
  BurnStatus status = burn_module_status(burn_module(Model, &training.model));
  if (status == BURN_OK)
    status = burn_staging_open(device, BATCH * (PIXELS * sizeof(float) + sizeof(int64_t)), 4, &training.staging);
  if (status == BURN_OK) status = train(&training, steps);
  for (int i = 0; i < IN_FLIGHT; i++) burn_read_drop(training.losses[i]);
  burn_staging_close(training.staging);
  Model_release(&training.model);
  burn_optimizer_destroy(training.optimizer);
  return status;
}

int main(int argc, char **argv) {
  const char *backend = NULL;
  size_t steps = 300, megabytes = 64;
  const Argument arguments[] = {
      {"backend", ARGUMENT_TEXT, &backend, "STACK", "autodiff is put on top; default: BURN_BACKEND or the best"},
      {"steps", ARGUMENT_SIZE, &steps, "N", "training steps that are timed"},
      {"megabytes", ARGUMENT_SIZE, &megabytes, "N", "of a transfer"},
  };
  const int parsed = arguments_parse(argc, argv, "usage: transfer_bench [options]   transfers and waits of a device",
                                     arguments, sizeof arguments / sizeof arguments[0], NULL, 0);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  BurnDevice *device = burn_device_open_training(backend);
  BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) show_device(device);
  if (status == BURN_OK && megabytes > 0) status = bandwidths(device, megabytes << 20);
  if (status == BURN_OK && steps > 0) status = train_on(device, steps);
  burn_device_close(device);
  if (status == BURN_OK) return 0;
  fprintf(stderr, "transfer_bench: %s\n", burn_status_message(status));
  return 1;
}
