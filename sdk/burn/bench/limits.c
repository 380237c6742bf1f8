/* limits.c - what this machine can do at best, measured: bytes moved by loops that do nothing else, f32 operations by
 * FMA on registers; on all threads, with the widest vectors of the CPU. These are the reference of the column "limit".
 *
 * How fast bytes move depends on where they lie and on the minute, so a case has the limit of its own bytes, in its own
 * proportion of reads and writes, in the same rounds as its sides. Two ways are tried and the better counts: stores
 * that pass the caches by or not, reads from one place or from four. */
#define _DEFAULT_SOURCE /* madvise */
#include "bench.h"
#include "limits_loops.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_THREADS = 256, GRAIN = 1024, HUGE_PAGE = 2 * 1024 * 1024, BUFFERS = 3 };
#define SAMPLE_SECONDS 0.008
#define MAX_BYTES 400e6 /* what is more is moved at the same rate */

/* Reads, copies, sums of two, stores; FMA. */
typedef enum Mix { MIX_READ, MIX_COPY, MIX_ADD, MIX_FILL, MIX_FMA } Mix;
static const int mix_buffers[] = {1, 2, 3, 1};

/* What one thread does in a sample. */
typedef struct Part {
  const LimitLoops *loops;
  char *memory; /* room for MAX_BYTES / threads */
  Mix mix;
  bool other;              /* way: stores that pass the caches by, reads from four places */
  float *buffers[BUFFERS]; /* the first is written */
  size_t bytes, count;     /* of a buffer; passes */
  float sink;
} Part;
static Part parts[MAX_THREADS];
static unsigned part_count;

static const LimitLoops *best_loops(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
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
  if (p->mix == MIX_FMA) p->sink += p->loops->fma(p->count);
  for (size_t i = 0; i < p->count && p->mix != MIX_FMA; i++) {
    if (p->mix == MIX_READ) p->sink += p->loops->read(x[0], p->bytes, p->other);
    if (p->mix == MIX_COPY) p->loops->copy(x[0], x[1], p->bytes, p->other);
    if (p->mix == MIX_ADD) p->loops->add(x[0], x[1], x[2], p->bytes, p->other);
    if (p->mix == MIX_FILL) p->loops->fill(x[0], p->bytes, p->other);
  }
  return NULL;
}

/* -- threads: they stay, and start together, so that no sample contains the making or the waking of one -- */

static pthread_t workers[MAX_THREADS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static unsigned long turn; /* under lock; the number of the sample that is wanted */
static bool ended;         /* under lock */
static unsigned started;   /* the caller and the workers that there are */
static atomic_uint ready, finished;

static void *worker(void *argument) {
  for (unsigned long seen = 0;; seen++) {
    pthread_mutex_lock(&lock);
    while (turn == seen && !ended) pthread_cond_wait(&wake, &lock);
    const bool end = ended;
    pthread_mutex_unlock(&lock);
    if (end) return NULL;
    atomic_fetch_add(&ready, 1);
    while (atomic_load(&ready) < part_count) sched_yield();
    work(argument);
    atomic_fetch_add(&finished, 1);
  }
}

/* Seconds of all parts together. */
static double time_parts(size_t count) {
  for (unsigned i = 0; i < part_count; i++) parts[i].count = count;
  atomic_store(&ready, 1);
  atomic_store(&finished, 1);
  pthread_mutex_lock(&lock);
  turn++;
  pthread_cond_broadcast(&wake);
  pthread_mutex_unlock(&lock);
  while (atomic_load(&ready) < part_count) sched_yield();
  const double begin = system_seconds();
  work(&parts[0]);
  while (atomic_load(&finished) < part_count) sched_yield();
  return system_seconds() - begin;
}

/* Seconds of one pass. */
static double time_pass(void) {
  size_t count = 1;
  double seconds = time_parts(count);
  while (seconds < SAMPLE_SECONDS) {
    count *= 2;
    seconds = time_parts(count);
  }
  return seconds / (double)count;
}

BurnStatus limits_open(void) {
  part_count = burn_threads() < MAX_THREADS ? burn_threads() : MAX_THREADS;
  const size_t bytes = (size_t)(MAX_BYTES / part_count / (double)HUGE_PAGE + 2) * HUGE_PAGE;
  bool fine = true;
  for (unsigned i = 0; i < part_count && fine; i++) {
    parts[i] = (Part){.loops = best_loops(), .memory = aligned_alloc(HUGE_PAGE, bytes)};
    fine = parts[i].memory != NULL;
    if (!fine) break;
#if defined(MADV_HUGEPAGE)
    (void)madvise(parts[i].memory, bytes, MADV_HUGEPAGE); /* where it is refused, small pages are the limit */
#endif
    memset(parts[i].memory, 0, bytes);
  }
  for (started = 1; started < part_count && fine; started += fine) {
    fine = pthread_create(&workers[started], NULL, worker, &parts[started]) == 0;
  }
  return fine ? BURN_OK
              : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory or no threads to measure the machine's limits");
}

void limits_close(void) {
  pthread_mutex_lock(&lock);
  ended = true;
  pthread_cond_broadcast(&wake);
  pthread_mutex_unlock(&lock);
  for (unsigned i = 1; i < started; i++) pthread_join(workers[i], NULL);
  for (unsigned i = 0; i < part_count; i++) free(parts[i].memory);
  part_count = 0;
}

static Mix mix_of(double read_bytes, double write_bytes) {
  if (write_bytes < 0.1 * read_bytes) return MIX_READ;
  if (read_bytes < 0.1 * write_bytes) return MIX_FILL;
  return read_bytes < 1.5 * write_bytes ? MIX_COPY : MIX_ADD;
}

/* Buffers lie one after the other, a few cache lines apart so that they do not fall on the same sets. */
static void lay_out(Mix mix, size_t bytes) {
  for (unsigned i = 0; i < part_count; i++) {
    parts[i].mix = mix;
    parts[i].bytes = bytes;
    for (int k = 0; k < mix_buffers[mix]; k++)
      parts[i].buffers[k] = (float *)(parts[i].memory + (size_t)k * (bytes + 320));
  }
}

double limits_move_seconds(double read_bytes, double write_bytes) {
  const double wanted = read_bytes + write_bytes, moved = fmin(wanted, MAX_BYTES);
  if (!(wanted > 0)) return 0;
  const Mix mix = mix_of(read_bytes, write_bytes);
  const double grains = moved / mix_buffers[mix] / part_count / (double)GRAIN;
  const size_t bytes = (size_t)fmax(grains, 1) * GRAIN;
  double best = (double)INFINITY;
  lay_out(mix, bytes);
  for (int other = 0; other < 2; other++) {
    for (unsigned i = 0; i < part_count; i++) parts[i].other = other;
    best = fmin(best, time_pass());
  }
  return best * wanted / ((double)bytes * mix_buffers[mix] * part_count);
}

double limits_compute_seconds(double flops) {
  if (!(flops > 0)) return 0;
  for (unsigned i = 0; i < part_count; i++) parts[i].mix = MIX_FMA;
  return time_pass() * flops / ((double)parts[0].loops->fma_flops * part_count);
}

double limits_case_seconds(const Case *c) {
  const double moving = limits_move_seconds(c->read_bytes, c->write_bytes);
  const double computing = limits_compute_seconds(c->flops);
  return c->group == GROUP_MODEL ? moving + computing : fmax(moving, computing);
}
