/* metric_machine.c - metrics of the host: speed, processors, memory. Nothing is read from the device. */
#include <pthread.h>

#include "learner_internal.h"

/* -- speed ------------------------------------------------------------------------------------ */

static BurnMeasured measure_speed(const void *config, const BurnMetricInput *input) {
  (void)config;
  return (BurnMeasured){.number = input->seconds, .weight = 1};
}

static double speed(const void *config, const double *numbers, size_t count, double weight) {
  (void)config, (void)count;
  return weight / numbers[0];
}

static const BurnMetricInterface speed_metric = {
    .name = "IterationSpeed", .unit = "iter/sec", .scale = 1, .measure = measure_speed, .value = speed};

BurnMetric burn_metric_iteration_speed(void) { return (BurnMetric){.table = &speed_metric}; }

/* -- processors ------------------------------------------------------------------------------- */

/* Use is a difference of two looks at the system's clocks. They are those of the machine, so all runs of a process
 * share them: a look is some time old at most. */
static struct {
  pthread_mutex_t mutex;
  double busy, all; /* at the last look */
  double looked;    /* when that was, in seconds of burn__seconds; 0: never */
  double use;       /* between the last two */
  bool known;       /* there were two */
} cpu = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static const double look_seconds = 0.2;

/* With the mutex held. */
static void look(double now) {
  double busy, all;
  if (!burn__cpu_times(&busy, &all)) return;
  const bool before = cpu.looked > 0;
  if (before && all > cpu.all) {
    cpu.use = (busy - cpu.busy) / (all - cpu.all);
    cpu.known = true;
  }
  cpu.busy = busy;
  cpu.all = all;
  cpu.looked = now;
}

static BurnMeasured measure_cpu(const void *config, const BurnMetricInput *input) {
  (void)config, (void)input;
  const double now = burn__seconds();
  pthread_mutex_lock(&cpu.mutex);
  if (cpu.looked <= 0 || now - cpu.looked >= look_seconds) look(now);
  const BurnMeasured measured = {.number = cpu.use, .weight = cpu.known ? 1 : 0};
  pthread_mutex_unlock(&cpu.mutex);
  return measured;
}

static const BurnMetricInterface cpu_metric = {.name = "CpuUse", .unit = "%", .scale = 100, .measure = measure_cpu};

BurnMetric burn_metric_cpu_use(void) { return (BurnMetric){.table = &cpu_metric}; }

/* -- memory ----------------------------------------------------------------------------------- */

static BurnMeasured measure_memory(const void *config, const BurnMetricInput *input) {
  double bytes = 0;
  (void)config, (void)input;
  const bool known = burn__memory_used(&bytes);
  return (BurnMeasured){.number = bytes / 1e9, .weight = known ? 1 : 0};
}

static const BurnMetricInterface memory_metric = {
    .name = "CpuMemory", .unit = "Gb", .scale = 1, .measure = measure_memory};

BurnMetric burn_metric_cpu_memory(void) { return (BurnMetric){.table = &memory_metric}; }
