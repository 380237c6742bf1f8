/* limits.c - what this machine can do at best, measured: bytes moved by loops that do nothing else, f32 operations by FMA on
 * registers; on all threads, with the widest vectors of the CPU. These are the yardstick of the column "limit".
 *
 * How fast bytes move depends on where they lie, so it is measured for a row of working sets; what is asked for another one
 * comes from the line between its neighbours. Stores are tried with and without passing the caches by, and the better one
 * counts. */
#include "bench.h"
#include "limits_loops.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 256, SETS = 8, SAMPLES = 4, BUFFERS = 3, GRAIN = 1024 };
#define SAMPLE_SECONDS 0.006

/* Bytes of all buffers together, all threads. */
static const double working_sets[SETS] = {64e3, 256e3, 1e6, 4e6, 16e6, 64e6, 192e6, 400e6};

/* Reads, copies, sums of two, stores. */
enum { MIX_READ, MIX_COPY, MIX_ADD, MIX_FILL, MIXES };
static const int mix_buffers[MIXES] = {1, 2, 3, 1};

static double bandwidths[MIXES][SETS]; /* bytes per second; 0: not measured yet */
static double peak_flops;

/* What one thread does in a sample. */
typedef struct Part {
  const LimitLoops *loops;
  int mix; /* MIXES: fma */
  bool streaming;
  float *buffers[BUFFERS]; /* the first is written */
  size_t bytes, count;     /* of a buffer; passes */
  float sink;
} Part;

static const LimitLoops *best_loops(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd")) {
    return &limits_avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &limits_avx2;
#endif
  return &limits_baseline;
}

static void *work(void *argument) {
  Part *p = argument;
  float *const *x = p->buffers;
  if (p->mix == MIXES) p->sink += p->loops->fma(p->count);
  for (size_t i = 0; i < p->count && p->mix != MIXES; i++) {
    if (p->mix == MIX_READ) p->sink += p->loops->read(x[0], p->bytes);
    if (p->mix == MIX_COPY) p->loops->copy(x[0], x[1], p->bytes, p->streaming);
    if (p->mix == MIX_ADD) p->loops->add(x[0], x[1], x[2], p->bytes, p->streaming);
    if (p->mix == MIX_FILL) p->loops->fill(x[0], p->bytes, p->streaming);
  }
  return NULL;
}

/* Seconds of all parts together; negative if a thread could not be started. */
static double time_parts(Part *parts, unsigned threads, size_t count) {
  pthread_t workers[MOST_THREADS];
  unsigned started = 1;
  for (unsigned i = 0; i < threads; i++) parts[i].count = count;
  const double begin = seconds_now();
  while (started < threads && pthread_create(&workers[started], NULL, work, &parts[started]) == 0) started++;
  work(&parts[0]);
  for (unsigned i = 1; i < started; i++) pthread_join(workers[i], NULL);
  return started == threads ? seconds_now() - begin : -1;
}

/* Seconds of one pass: the least of some samples. A limit is what was reached once. */
static double best_pass(Part *parts, unsigned threads) {
  size_t count = 1;
  double seconds = time_parts(parts, threads, count);
  while (seconds >= 0 && seconds < SAMPLE_SECONDS) {
    count *= 2;
    seconds = time_parts(parts, threads, count);
  }
  for (int i = 1; i < SAMPLES && seconds >= 0; i++) seconds = fmin(seconds, time_parts(parts, threads, count));
  return seconds < 0 ? seconds : seconds / (double)count;
}

static void better(double *value, double found) {
  if (found > *value) *value = found;
}

/* Both kinds of stores for one mix and working set. */
static bool measure_mix(Part *parts, unsigned threads, int mix, int set) {
  const int buffers = mix_buffers[mix];
  const size_t bytes = (size_t)(working_sets[set] / buffers / threads / GRAIN) * GRAIN;
  if (bytes == 0) return true; /* more threads than grains: nobody asks for that */
  for (int streaming = 0; streaming < 2; streaming++) {
    for (unsigned i = 0; i < threads; i++) {
      parts[i].mix = mix;
      parts[i].streaming = streaming;
      parts[i].bytes = bytes;
    }
    const double seconds = best_pass(parts, threads);
    if (seconds < 0) return false;
    better(&bandwidths[mix][set], (double)bytes * buffers * threads / seconds);
    if (mix == MIX_READ) break;
  }
  return true;
}

static bool measure_flops(Part *parts, unsigned threads) {
  for (unsigned i = 0; i < threads; i++) parts[i].mix = MIXES;
  const double seconds = best_pass(parts, threads);
  if (seconds > 0) better(&peak_flops, (double)parts[0].loops->fma_flops * threads / seconds);
  return seconds > 0;
}

BurnStatus limits_measure(void) {
  Part parts[MOST_THREADS];
  memset(parts, 0, sizeof parts);
  const unsigned threads = burn_threads() < MOST_THREADS ? burn_threads() : MOST_THREADS;
  const size_t most = (size_t)(working_sets[SETS - 1] / threads / GRAIN + 1) * GRAIN;
  bool fine = true;
  for (unsigned i = 0; i < threads; i++) {
    parts[i].loops = best_loops();
    for (int k = 0; k < BUFFERS && fine; k++) {
      const size_t bytes = k == 0 ? most : (most / 2 + GRAIN) / GRAIN * GRAIN;
      parts[i].buffers[k] = aligned_alloc(GRAIN, bytes);
      fine = parts[i].buffers[k] != NULL;
      if (fine) memset(parts[i].buffers[k], 0, bytes);
    }
  }
  for (int mix = 0; mix < MIXES && fine; mix++) {
    for (int set = 0; set < SETS && fine; set++) fine = measure_mix(parts, threads, mix, set);
  }
  fine = fine && measure_flops(parts, threads);
  for (unsigned i = 0; i < threads; i++) {
    for (int k = 0; k < BUFFERS; k++) free(parts[i].buffers[k]);
  }
  return fine ? BURN_OK : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory or no threads to measure the machine's limits");
}

double limits_bandwidth(double read_bytes, double write_bytes) {
  const double bytes = read_bytes + write_bytes;
  int mix = read_bytes < 1.5 * write_bytes ? MIX_COPY : MIX_ADD;
  if (write_bytes < 0.1 * read_bytes) mix = MIX_READ;
  if (read_bytes < 0.1 * write_bytes) mix = MIX_FILL;
  const double *rates = bandwidths[mix];
  if (bytes <= working_sets[0]) return rates[0];
  int set = 1;
  while (set < SETS - 1 && working_sets[set] < bytes) set++;
  if (bytes >= working_sets[set]) return rates[set];
  const double share = log(bytes / working_sets[set - 1]) / log(working_sets[set] / working_sets[set - 1]);
  return rates[set - 1] + share * (rates[set] - rates[set - 1]);
}

double limits_flops(void) { return peak_flops; }

double limits_seconds(const Case *c) {
  const double bytes = c->read_bytes + c->write_bytes;
  const double moving = bytes > 0 ? bytes / limits_bandwidth(c->read_bytes, c->write_bytes) : 0;
  const double computing = c->flops / peak_flops;
  return c->group == GROUP_MODEL ? moving + computing : fmax(moving, computing);
}
