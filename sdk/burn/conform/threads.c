/* threads.c - several threads at once on one device: each result must have the bits of the serial run. And what must be
 * gone at the end of everything. */
#include "conform.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, JOBS_PER_OP = 2, MAX_JOBS = 2048 };

typedef struct Job {
  Sample sample;
  void *data[SAMPLE_MAX_INPUTS];
  Results plain;
  char why[512]; /* of the serial run, or of the first thread that differed */
  atomic_bool differs;
} Job;

typedef struct Jobs {
  BurnDevice *device;
  Job **jobs;
  uint32_t count;
} Jobs;

static void job_end(Job *job) {
  if (!job) return;
  sample_inputs_end(&job->sample, job->data);
  results_end(&job->plain);
  free(job);
}

/* A sample with its serial result; NULL if it cannot run (which the forward check reports). */
static Job *job_new(BurnDevice *device, const Sample *sample) {
  Job *job = calloc(1, sizeof *job);
  char why[256];
  if (!job) return NULL;
  sample_copy(&job->sample, sample);
  if (sample_inputs(sample, job->data) &&
      sample_run(device, &job->sample, job->data, RUN_SHARED, &job->plain, why, sizeof why))
    return job;
  job_end(job);
  return NULL;
}

static void add_jobs(Conform *run, Jobs *jobs, const BurnOpInfo *op) {
  const SamplePlan plan = {SAMPLE_CORE, SAMPLE_BRIEF, run->seed, conform_dtypes(jobs->device)};
  SampleIterator iterator;
  Sample sample;
  char why[256];
  uint32_t taken = 0;
  samples_begin(&iterator, op, &plan);
  while (taken < JOBS_PER_OP && jobs->count < MAX_JOBS &&
         samples_next(&iterator, &sample, why, sizeof why) == SAMPLE_MADE) {
    if (sample.index % 5 != 0) continue; /* not only the tiniest */
    report_beat();
    Job *job = job_new(jobs->device, &sample);
    if (job) jobs->jobs[jobs->count++] = job;
    taken++;
  }
}

/* One thread: all jobs, from its own start. Live tensors cannot be watched here: other threads make some. */
typedef struct Worker {
  const Jobs *jobs;
  uint32_t start;
  pthread_t thread;
  bool started;
} Worker;

static void run_job(BurnDevice *device, Job *job) {
  BurnTensor *inputs[SAMPLE_MAX_INPUTS] = {NULL}, *outputs[BURN_MAX_OUTPUTS] = {NULL};
  Results found = {0};
  char why[512] = "";
  for (uint32_t i = 0; i < job->sample.input_count; i++)
    inputs[i] = sample_tensor(device, &job->sample, i, job->data[i]);
  sample_call(device, &job->sample, inputs, outputs);
  const bool same = sample_read(&job->sample, outputs, RUN_OWNED, &found, why, sizeof why) &&
                    results_are_same(&found, &job->plain, why, sizeof why);
  results_end(&found);
  if (!same && !atomic_exchange(&job->differs, true)) snprintf(job->why, sizeof job->why, "%s", why);
}

static void *work(void *context) {
  const Worker *worker = context;
  for (uint32_t i = 0; i < worker->jobs->count; i++) {
    report_beat();
    run_job(worker->jobs->device, worker->jobs->jobs[(worker->start + i) % worker->jobs->count]);
  }
  return NULL;
}

static void run_threads(const Jobs *jobs) {
  Worker workers[THREADS];
  for (uint32_t i = 0; i < THREADS; i++) {
    workers[i] = (Worker){.jobs = jobs, .start = i * jobs->count / THREADS};
    workers[i].started = pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
  }
  for (uint32_t i = 0; i < THREADS; i++) {
    if (workers[i].started) pthread_join(workers[i].thread, NULL);
  }
}

void check_threads(Conform *run) {
  Jobs jobs = {.device = conform_device(run)};
  report_begin(run->report, CHECK_THREADS, NULL, 0, "samples of all ops on four threads at once");
  jobs.jobs = calloc(MAX_JOBS, sizeof *jobs.jobs);
  if (!jobs.jobs) {
    report_fail(run->report, "no memory");
    return;
  }
  for (uint32_t op = 1; op < MAX_OPS; op++) {
    const BurnOpInfo *info = conform_op(op);
    if (info && conform_wants_op(run, info)) add_jobs(run, &jobs, info);
  }
  run_threads(&jobs);
  for (uint32_t i = 0; i < jobs.count; i++) {
    Job *job = jobs.jobs[i];
    if (i > 0) report_begin_sample(run->report, CHECK_THREADS, &job->sample);
    if (atomic_load(&job->differs)) {
      report_begin_sample(run->report, CHECK_THREADS, &job->sample);
      report_fail(run->report, "with four threads at once: %s", job->why);
    } else {
      report_pass(run->report);
    }
    job_end(job);
  }
  if (jobs.count == 0) report_skip(run->report, "no sample runs");
  free(jobs.jobs);
}

void check_shutdown(Conform *run) {
  report_begin(run->report, CHECK_SHUTDOWN, NULL, 0, "live tensors and bytes after everything");
  const BurnMemoryStats stats = burn_device_memory(conform_device(run));
  if (stats.live_tensors > 0 || stats.bytes_in_use > 0) {
    report_fail(run->report, "%" PRId64 " tensors and %" PRId64 " bytes are in use though everything was dropped",
                stats.live_tensors, stats.bytes_in_use);
  } else if (stats.live_tensors < 0) {
    report_skip(run->report, "the stack does not answer BURN_QUERY_LIVE_TENSORS");
  } else {
    report_pass(run->report);
  }
  report_begin(run->report, CHECK_SHUTDOWN, NULL, 1, "memory of the host after closing");
  const int64_t before = watching_host_blocks();
  BurnDevice *device = burn_device_open_with_host(run->stack, watching_host());
  const float values[] = {1, 2, 3};
  burn_drop(burn_tensor_f32(device, values, BURN_SHAPE(3)));
  burn_device_close(device);
  const char *complaint = watching_host_complaint();
  if (complaint[0]) {
    report_fail(run->report, "%s", complaint);
  } else if (watching_host_blocks() != before) {
    report_fail(run->report, "%" PRId64 " blocks of the host's memory were not given back by close",
                watching_host_blocks() - before);
  } else {
    report_pass(run->report);
  }
}
