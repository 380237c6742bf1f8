/* onnx_training_test.c - trains an imported model on: its last layer replaced by a new one, on real digits. Then it is
 * exported, and the file has to say of the test images what the model said.
 *
 *   onnx_training_test MODEL MNIST_FOLDER ITEMS EPOCHS LEAST FOLDER
 *
 * LEAST is the part of the 10,000 test images to be right. In FOLDER stand tuned.onnx and, for onnx_export_read.py, its
 * outputs for test images. */
#include <burn/nn.h>
#include <burn/numpy.h>
#include <burn/onnx_export.h>
#include <burn/train.h>

#include <stdio.h>
#include <stdlib.h>

enum { SKIPPED = 77, BATCH = 64, SHOWN = 500, CLASSES = 10, FEATURES = 50 };

static BurnLoader *loader_of(const char *folder, uint32_t split, size_t items, size_t batch, BurnStatus *status) {
  const BurnLoaderConfig config = {.batch_size = batch, .shuffle = split == BURN_MNIST_TRAIN, .seed = 1};
  BurnDataset *data = burn_dataset_mnist(folder, split, status);
  if (data) data = burn_dataset_mnist_normalize(data, status);
  if (data) data = burn_dataset_slice(data, 0, items, status);
  return data ? burn_loader_create(data, &config, status) : NULL;
}

static BurnStatus train_batch(BurnGraph *graph, BurnOptimizer *optimizer, BurnBatch *batch) {
  BurnTensor *x = burn_batch_take(batch, "image"), *targets = burn_batch_take(batch, "label"), *y = NULL;
  BurnGradients *gradients = NULL;
  BurnStatus status = burn_graph_run(graph, &x, 1, &y, 1);
  if (status != BURN_OK) {
    burn_drop(targets);
    return status;
  }
  status = burn_backward(burn_cross_entropy(y, targets), &gradients);
  if (status != BURN_OK) return status;
  const BurnModule module = burn_graph_module(graph);
  return burn_optimizer_step(optimizer, module, burn_gradients_params(gradients, module), 1e-3);
}

static BurnStatus count_hits(BurnGraph *graph, BurnBatch *batch, double *sum) {
  BurnTensor *x = burn_batch_take(batch, "image"), *targets = burn_batch_take(batch, "label"), *y = NULL;
  double hits = 0;
  BurnStatus status = burn_graph_run(graph, &x, 1, &y, 1);
  if (status != BURN_OK) {
    burn_drop(targets);
    return status;
  }
  BurnTensor *guess = burn_flatten(burn_argmax(burn_inner(y), 1), 0, 1);
  targets = burn_inner(targets);
  guess = burn_equal(burn_cast(guess, burn_dtype(targets)), targets);
  status = burn_read_scalar(burn_sum(burn_int(guess)), &hits);
  *sum += hits;
  return status;
}

/* One pass over the data: training with an optimizer, counting without. */
static BurnStatus epoch(BurnGraph *graph, BurnOptimizer *optimizer, BurnLoader *loader, BurnDevice *device,
                        size_t number, double *hits) {
  BurnStatus status = BURN_OK;
  BurnBatches *batches = burn_loader_start(loader, device, number, 0);
  BurnBatch batch;
  while (status == BURN_OK && burn_batches_next(batches, &batch)) {
    status = optimizer ? train_batch(graph, optimizer, &batch) : count_hits(graph, &batch, hits);
  }
  const BurnStatus stopped = burn_batches_stop(batches);
  return status == BURN_OK ? stopped : status;
}

/* The last layer begins anew: other classes would have another number of rows here. A Relu follows it in this model, so
 * its biases begin above 0, lest a class is never seen. */
static BurnStatus replace_last(BurnGraph *graph, BurnDevice *device) {
  BurnTensor *weight = burn_random_uniform(device, BURN_SHAPE(CLASSES, FEATURES), BURN_DTYPE_F32, -0.14, 0.14);
  const BurnStatus status = burn_graph_set_tensor(graph, "fc2.weight", weight);
  if (status != BURN_OK) return status;
  return burn_graph_set_tensor(graph, "fc2.bias", burn_full(device, BURN_SHAPE(CLASSES), BURN_DTYPE_F32, 1));
}

/* -- the trained model as a file --------------------------------------------------------------- */

/* The largest difference of the outputs; as many images are seen as the same digit as there are. */
static BurnStatus compare(BurnTensor *found, BurnTensor *wanted, double *difference, double *same) {
  BurnTensor *equal = burn_equal(burn_argmax(burn_clone(found), 1), burn_argmax(burn_clone(wanted), 1));
  const BurnStatus status = burn_read_scalar(burn_sum(burn_int(equal)), same);
  const BurnStatus read = burn_read_scalar(burn_max(burn_abs(burn_sub(found, wanted))), difference);
  return status == BURN_OK ? read : status;
}

/* The file beside the model: on another device, for test images, whose outputs are written, too. */
static BurnStatus look_at_file(BurnGraph *graph, const char *path, const char *arrays, BurnTensor *x) {
  BurnStatus status = BURN_OK;
  BurnDevice *device = burn_device_open("ndarray");
  BurnTensor *plain = burn_to_device(burn_inner(burn_clone(x)), device), *wanted = NULL, *found = NULL;
  const char *names[] = {burn_graph_input(graph, 0).name, burn_graph_output(graph, 0).name};
  double difference = 1e30, same = 0;
  BurnGraph *loaded = burn_onnx_load(path, device, &status);
  if (status == BURN_OK) status = burn_graph_run(graph, &x, 1, &wanted, 1);
  if (status == BURN_OK) {
    wanted = burn_to_device(burn_inner(wanted), device);
    status = burn_npz_write(arrays, names, (BurnTensor *[]){burn_clone(plain), burn_clone(wanted)}, 2, false);
  }
  if (status == BURN_OK) status = burn_graph_run(loaded, &plain, 1, &found, 1);
  if (status == BURN_OK) status = compare(found, wanted, &difference, &same);
  burn_graph_release(loaded);
  burn_device_close(device);
  printf("exported and loaded again: %.0f of %d images are seen as the same digit, the largest difference is %g\n",
         same, SHOWN, difference);
  if (status == BURN_OK && (same < (double)SHOWN || !(difference < 1e-5)))
    status = burn_status_make(BURN_STATUS_INTERNAL, "%s is another model", path);
  return status;
}

static BurnStatus export(BurnGraph *graph, const char *folder, const char *mnist, BurnDevice *device) {
  char path[600], arrays[600];
  BurnBatch batch;
  BurnStatus status = BURN_OK;
  const BurnOnnxSave options = {.dynamic_batch = true, .overwrite = true};
  (void)snprintf(path, sizeof path, "%s/tuned.onnx", folder);
  (void)snprintf(arrays, sizeof arrays, "%s/tuned.npz", folder);
  BurnLoader *loader = loader_of(mnist, BURN_MNIST_TEST, SHOWN, SHOWN, &status);
  if (!loader) return status;
  BurnBatches *batches = burn_loader_start(loader, device, 1, 0);
  if (!burn_batches_next(batches, &batch)) return burn_batches_stop(batches);
  BurnTensor *x = burn_batch_take(&batch, "image"), *example = burn_clone(x);
  burn_drop(burn_batch_take(&batch, "label"));
  status = burn_onnx_save_graph(path, graph, &example, 1, &options);
  if (status == BURN_OK) {
    status = look_at_file(graph, path, arrays, x);
  } else {
    burn_drop(x);
  }
  const BurnStatus stopped = burn_batches_stop(batches);
  burn_loader_destroy(loader);
  return status == BURN_OK ? stopped : status;
}

static int told(BurnStatus status) {
  printf("%s\n", burn_status_message(status));
  return 1;
}

int main(int argc, char **argv) {
  if (argc < 7) return 1;
  BurnStatus status = BURN_OK;
  BurnDevice *device = burn_device_open("autodiff<ndarray>");
  const BurnGraphOptions options = {.free_batch = true};
  BurnGraph *graph = burn_onnx_load_with(argv[1], device, &options, &status);
  if (!graph) {
    const bool absent = burn_status_code(status) == BURN_STATUS_NOT_FOUND;
    printf("%s%s\n", absent ? "skipped: " : "", burn_status_message(status));
    burn_device_close(device);
    return absent ? SKIPPED : 1;
  }
  BurnLoader *train = loader_of(argv[2], BURN_MNIST_TRAIN, strtoul(argv[3], NULL, 10), BATCH, &status);
  BurnLoader *test = train ? loader_of(argv[2], BURN_MNIST_TEST, 10000, BATCH, &status) : NULL;
  if (!test) return told(status);
  const BurnAdamConfig adam = BurnAdamConfig_defaults();
  BurnOptimizer *optimizer = burn_adam_create(&adam);
  double before = 0, after = 0;
  status = replace_last(graph, device);
  if (status == BURN_OK) status = epoch(graph, NULL, test, device, 1, &before);
  for (size_t i = 1; i <= strtoul(argv[4], NULL, 10) && status == BURN_OK; i++) {
    status = epoch(graph, optimizer, train, device, i, NULL);
  }
  if (status == BURN_OK) status = epoch(graph, NULL, test, device, 1, &after);
  if (status == BURN_OK) status = export(graph, argv[6], argv[2], device);
  burn_optimizer_destroy(optimizer);
  burn_loader_destroy(train);
  burn_loader_destroy(test);
  burn_graph_release(graph);
  burn_device_close(device);
  if (status != BURN_OK) return told(status);
  printf("right of 10000: %.0f with a new last layer, %.0f after %s epochs with %s items\n", before, after, argv[4],
         argv[3]);
  return after < strtod(argv[5], NULL) * 10000;
}
