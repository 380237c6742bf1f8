/* fuzz_checkpoint.c - a run resumed from the checkpoint of another one: three hostile files, then one more epoch of a
 * tiny module.
 *
 * Input: model<|>optim<|>learner, the three files of the checkpoint of epoch 1, or fewer. */
#include "fuzz_target.h"

#include <burn/nn.h>
#include <burn/train.h>

#include <sys/stat.h>

#define TINY_FIELDS(X) X(BurnLinear, linear, "2 -> 2")
BURN_MODULE(Tiny, TINY_FIELDS);

static BurnStepOutput step(void *context, const void *module, BurnBatch *batch) {
  const Tiny *tiny = module;
  (void)context;
  BurnTensor *targets = burn_batch_take(batch, "label");
  BurnTensor *output = burn_linear_forward(&tiny->linear, burn_batch_take(batch, "point"));
  BurnTensor *loss = burn_cross_entropy(burn_clone(output), burn_clone(targets));
  return burn_classification_output(loss, output, targets);
}

static BurnLoader *loader_make(void) {
  static const float points[] = {1, 0, 0, 1, 1, 1, 0, 0};
  static const int64_t labels[] = {0, 1, 1, 0};
  const BurnColumn columns[] = {{"point", BURN_DTYPE_F32, {1, {2}}}, {"label", BURN_DTYPE_I64, {0, {0}}}};
  BurnStatus status = BURN_OK;
  BurnDataset *data = burn_dataset_memory(columns, 2, (const void *const[]){points, labels}, 4, &status);
  BurnLoader *loader = data ? burn_loader_create(data, &(BurnLoaderConfig){.batch_size = 2}, &status) : NULL;
  FUZZ_REQUIRE(loader, "%s", burn_status_message(status));
  return loader;
}

static void resume(BurnLoader *loader) {
  const BurnLinearConfig linear = BurnLinearConfig_defaults(2, 2);
  const BurnLearnerConfig config = {
      .artifact_dir = "run", .epochs = 2, .learning_rate = 0.01, .resume = true, .quiet = true};
  const BurnTask task = {step, NULL};
  BurnDevice *device = fuzz_device("autodiff<ndarray>");
  burn_device_seed(device, 1);
  Tiny tiny = {burn_linear_init(&linear, device)};
  BurnOptimizer *optimizer = burn_adam_create(NULL);
  BurnLearnerResult result;
  if (fuzz_ok(burn_learner_fit(&config, &task, device, burn_module(Tiny, &tiny), optimizer, loader, loader, &result))) {
    FUZZ_REQUIRE(result.epochs_done >= 2, "%zu epochs are done, of 2", result.epochs_done);
    FUZZ_REQUIRE(fuzz_ok(burn_module_status(burn_module(Tiny, &tiny))), "a run that went well left a failed module");
  }
  burn_optimizer_destroy(optimizer);
  Tiny_release(&tiny);
  fuzz_device_end(device);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static const char *const names[] = {"run/checkpoint/model-1.mpk", "run/checkpoint/optim-1.mpk",
                                      "run/checkpoint/learner-1.mpk"};
  static BurnLoader *loader;
  FuzzInput input = {bytes, count};
  if (!loader) loader = loader_make();
  fuzz_scratch_clear();
  FUZZ_REQUIRE(mkdir("run", 0777) == 0 && mkdir("run/checkpoint", 0777) == 0, "no folder");
  for (size_t i = 0; i < 3; i++) {
    const FuzzInput part = fuzz_part(&input);
    if (part.left) fuzz_file_write(names[i], part);
  }
  resume(loader);
  return 0;
}
