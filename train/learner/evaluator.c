/* evaluator.c - see burn/train/evaluator.h: the pass that validation makes too, with a name and logs of its own. */
#include <burn/train/evaluator.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "experiment_log.h"
#include "learner_internal.h"
#include "learner_step.h"

enum { NAME_BYTES = 128 };

static BurnStatus check(const BurnEvaluatorConfig *config, const BurnTask *task, BurnLoader *data, const char *name,
                        const BurnEpochResult *result) {
  const char *problem = result ? NULL : "no place for the result";
  if (!task || !task->step) problem = "no task, or one without a step";
  if (!data) problem = "no data";
  if (!name || !name[0] || strlen(name) >= NAME_BYTES) problem = "the name of the data has 1 to 127 characters";
  if (name && strcmp(name, ".") == 0) problem = "the name of the data is '.'";
  if (name && strcmp(name, "..") == 0) problem = "the name of the data is '..'";
  if (config->read_interval > BURN_MAX_READ_INTERVAL) problem = "read_interval is more than 4096";
  if (config->artifact_dir && !config->artifact_dir[0]) problem = "artifact_dir is empty";
  if (config->artifact_dir && strlen(config->artifact_dir) >= BURN_ARTIFACT_BYTES) problem = "artifact_dir is too long";
  return problem ? burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "evaluator: %s", problem)
                 : burn__loader_has_batches(data, "evaluator: the loader");
}

/* "Held out" is test/held-out. */
static void folder_of(const char *name, char folder[NAME_BYTES + 8]) {
  const int length = snprintf(folder, NAME_BYTES + 8, "test/%s", name);
  for (int i = 5; i < length; i++) {
    const char c = folder[i];
    folder[i] = c == ' ' || c == '/' || c == '\\' ? '-' : (char)tolower((unsigned char)c);
  }
}

static BurnStatus open_logs(const BurnEvaluatorConfig *config, const char *name, BurnMetricPass *pass,
                            BurnFileLog *file, uint64_t *bytes) {
  const char *names[BURN_MAX_METRICS];
  char folder[NAME_BYTES + 8];
  if (!config->artifact_dir) return BURN_OK;
  folder_of(name, folder);
  for (size_t i = 0; i < pass->set->count; i++) names[i] = burn__metric_name(&pass->set->items[i]);
  BurnStatus status = burn__file_log_remove(config->artifact_dir, folder);
  if (status == BURN_OK) {
    status = burn__file_log_open(file, config->artifact_dir, folder, names, pass->set->count, bytes);
    pass->file = file;
  }
  return status;
}

static BurnStatus measure(const BurnEvaluatorConfig *config, const BurnTask *task, BurnDevice *device,
                          BurnModule module, BurnLoader *data, const char *name, BurnMetricPass *pass) {
  BurnFileLog file = {.bytes = NULL};
  uint64_t bytes[BURN_MAX_METRICS] = {0};
  BurnStatus status = open_logs(config, name, pass, &file, bytes);
  if (status == BURN_OK) status = burn__metrics_begin(pass, config->read_interval);
  if (status == BURN_OK) {
    status = burn__measure_pass(task, device, module.data, data, config->interrupter, name, pass);
    if (status == BURN_OK && burn_interrupter_stopped(config->interrupter)) {
      status = burn_status_make(BURN_STATUS_CANCELLED, "%s: interrupted after batch %zu of %zu", name, pass->last_batch,
                                burn_loader_batch_count(data));
    }
    burn__metrics_end(pass, status == BURN_OK);
  }
  const BurnStatus closed = pass->file ? burn__file_log_close(&file) : BURN_OK;
  pass->file = NULL;
  if (status == BURN_OK) status = pass->log_status;
  return status != BURN_OK ? status : closed;
}

/* evaluation.log has all evaluations of a folder, one after the other. */
static BurnStatus begin_log(BurnExperimentLog *log, const char *artifact_dir, const char *name, BurnDevice *device,
                            const BurnLoader *data) {
  if (!artifact_dir) return BURN_OK;
  BurnStatus status = burn_folder_make(artifact_dir);
  if (status == BURN_OK) status = burn__experiment_log_open(log, artifact_dir, "evaluation.log", true);
  burn__experiment_log_add(log, "INFO", "%s: %zu items in %zu batches on %s", name, burn_loader_item_count(data),
                           burn_loader_batch_count(data), burn_device_name(device));
  return status;
}

static BurnStatus end_log(BurnExperimentLog *log, const char *name, const BurnEpochResult *result, double seconds,
                          BurnStatus status) {
  if (status == BURN_OK) {
    burn__experiment_log_evaluation(log, name, result, seconds);
  } else {
    const bool interrupted = burn_status_code(status) == BURN_STATUS_CANCELLED;
    burn__experiment_log_add(log, interrupted ? "WARN" : "ERROR", "%s", burn_status_message(status));
  }
  const BurnStatus closed = burn__experiment_log_close(log);
  return status != BURN_OK ? status : closed;
}

/* Values of a split, by a set of metrics in use. */
static BurnStatus run(const BurnEvaluatorConfig *config, const BurnTask *task, BurnDevice *device, BurnModule module,
                      BurnLoader *data, const char *name, BurnSplit split, BurnEpochResult *result) {
  BurnMetricSet set;
  if (result) *result = (BurnEpochResult){.epoch = 0};
  BurnStatus status = check(config, task, data, name, result);
  if (status == BURN_OK) status = burn__metric_set(&set, &config->metrics);
  if (status != BURN_OK) return status;
  BurnMetricState states[BURN_MAX_METRICS] = {{0}};
  BurnMetricPass pass = {.set = &set, .states = states, .split = split, .epoch = 1, .logger = config->logger};
  BurnExperimentLog log = {.file = NULL};
  const double begun = burn__seconds();
  burn__result_begin(result, &set, 0);
  status = begin_log(&log, config->artifact_dir, name, device, data);
  if (status == BURN_OK) status = measure(config, task, device, module, data, name, &pass);
  burn__metrics_result(&pass, result, true);
  burn__metric_states_release(states);
  return end_log(&log, name, result, burn__seconds() - begun, status);
}

BurnStatus burn_evaluator_eval(const BurnEvaluatorConfig *config, const BurnTask *task, BurnDevice *device,
                               BurnModule module, BurnLoader *data, const char *name, BurnEpochResult *result) {
  const BurnEvaluatorConfig none = {.artifact_dir = NULL};
  return run(config ? config : &none, task, device, module, data, name, BURN_SPLIT_TEST, result);
}

BurnStatus burn_learner_evaluate(const BurnTask *task, BurnDevice *device, BurnModule module, BurnLoader *data,
                                 const BurnMetricList *metrics, BurnEpochResult *result) {
  const BurnEvaluatorConfig config = {.metrics = metrics ? *metrics : (BurnMetricList){NULL, 0}};
  return run(&config, task, device, module, data, "validation", BURN_SPLIT_VALID, result);
}
