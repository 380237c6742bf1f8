/* parallel.c - the thread pool behind host->parallel_for: one for the whole process, so that plugins do not bring their own.
 *
 * A job is a range cut into chunks; the caller and the workers take chunks from an atomic counter until none is left. Workers
 * spin for some tens of microseconds after a job, because the next one usually follows at once and waking a sleeping thread
 * costs more than a small kernel; then they sleep. A second thread that wants the pool while it is busy works alone, as does a
 * body that asks again from within. */
#include "core_internal.h"
#include "platform.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

#if defined(__SSE2__)
#include <immintrin.h>
#define CPU_RELAX() _mm_pause()
#else
#define CPU_RELAX() ((void)0)
#endif

enum { MAX_THREADS = 256, CHUNKS_PER_THREAD = 4, SPIN_NS = 50000 };

typedef struct Job {
  BurnLoopBody body;
  void *context;
  int64_t count, chunk;
  _Atomic int64_t next;
} Job;

static struct {
  pthread_mutex_t busy;       /* held by the caller whose job runs */
  Job job;
  atomic_uint generation;     /* a new job is there */
  atomic_uint open;           /* 1 while the job may be joined */
  atomic_uint active;         /* workers that have joined, or are about to look whether they may */
  atomic_uint sleeping;
  unsigned worker_count;
  atomic_uint thread_count;   /* 0: not started */
} pool = {.busy = PTHREAD_MUTEX_INITIALIZER};

static atomic_uint wanted_threads;
static pthread_once_t pool_once = PTHREAD_ONCE_INIT;
static _Thread_local bool inside_body;

static void run_chunks(void) {
  Job *job = &pool.job;
  inside_body = true;
  for (;;) {
    const int64_t begin = atomic_fetch_add_explicit(&job->next, job->chunk, memory_order_relaxed);
    if (begin >= job->count) break;
    const int64_t end = job->count - begin < job->chunk ? job->count : begin + job->chunk;
    job->body(job->context, begin, end);
  }
  inside_body = false;
}

static uint64_t monotonic_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Returns when the generation differs from `seen`. */
static unsigned wait_for_job(unsigned seen) {
  const uint64_t until = monotonic_ns() + SPIN_NS;
  do {
    for (int i = 0; i < 64; i++) {
      const unsigned now = atomic_load_explicit(&pool.generation, memory_order_acquire);
      if (now != seen) return now;
      CPU_RELAX();
    }
  } while (monotonic_ns() < until);
  atomic_fetch_add(&pool.sleeping, 1);
  burn__sleep_while_equal(&pool.generation, seen);
  atomic_fetch_sub(&pool.sleeping, 1);
  return atomic_load(&pool.generation);
}

static void *worker(void *argument) {
  (void)argument;
  unsigned seen = 0;
  for (;;) {
    seen = wait_for_job(seen);
    /* Announce first, look then; the caller closes first, looks then: one of the two always sees the other. */
    atomic_fetch_add(&pool.active, 1);
    if (atomic_load(&pool.open)) run_chunks();
    atomic_fetch_sub(&pool.active, 1);
  }
  return NULL;
}

static unsigned default_threads(void) {
  const char *text = getenv("BURN_THREADS");
  if (text && *text) {
    char *end = NULL;
    const long value = strtol(text, &end, 10);
    if (end && *end == '\0' && value >= 1 && value <= MAX_THREADS) return (unsigned)value;
    burn__log(BURN_LOG_WARN, "threads", "BURN_THREADS='%s' is not a number in 1..%d; ignored", text, MAX_THREADS);
  }
  return burn__cpu_count();
}

/* Starts the workers; a thread that cannot be started is done without. */
static void pool_start(void) {
  unsigned threads = atomic_load(&wanted_threads);
  if (threads == 0) threads = default_threads();
  if (threads > MAX_THREADS) threads = MAX_THREADS;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  while (pool.worker_count + 1 < threads) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes, worker, NULL) != 0) break;
    pool.worker_count++;
  }
  pthread_attr_destroy(&attributes);
  atomic_store(&pool.thread_count, pool.worker_count + 1);
}

unsigned burn_threads(void) {
  pthread_once(&pool_once, pool_start);
  return atomic_load(&pool.thread_count);
}

BurnStatus burn_set_threads(unsigned threads) {
  if (threads < 1 || threads > MAX_THREADS) {
    return BURN_FAIL(INVALID_ARGUMENT, "set_threads: %u is not in 1..%d", threads, MAX_THREADS);
  }
  const unsigned running = atomic_load(&pool.thread_count);
  if (running == threads) return BURN_OK;
  if (running != 0) {
    return BURN_FAIL(FAILED_PRECONDITION, "set_threads: %u threads are running already; call it before the first device is opened",
                     running);
  }
  atomic_store(&wanted_threads, threads);
  return BURN_OK;
}

/* Spins; gives way when the worker seems to need this very CPU. */
static void wait_for_workers(void) {
  for (unsigned spins = 1; atomic_load(&pool.active) != 0; spins++) {
    if (spins % 2048 == 0) {
      sched_yield();
    } else {
      CPU_RELAX();
    }
  }
}

void burn__parallel_for(int64_t count, int64_t grain, BurnLoopBody body, void *context) {
  if (count <= 0) return;
  if (grain < 1) grain = 1;
  const unsigned threads = burn_threads();
  if (count <= grain || threads == 1 || inside_body || pthread_mutex_trylock(&pool.busy) != 0) {
    body(context, 0, count);
    return;
  }
  const int64_t pieces = (int64_t)threads * CHUNKS_PER_THREAD;
  const int64_t even = (count + pieces - 1) / pieces;
  pool.job.body = body;
  pool.job.context = context;
  pool.job.count = count;
  pool.job.chunk = even > grain ? even : grain;
  atomic_store_explicit(&pool.job.next, 0, memory_order_relaxed);
  atomic_store(&pool.open, 1);
  atomic_fetch_add(&pool.generation, 1);
  if (atomic_load(&pool.sleeping) != 0) burn__wake_sleepers(&pool.generation);
  run_chunks();
  atomic_store(&pool.open, 0); /* whoever still sleeps is not waited for */
  wait_for_workers();
  pthread_mutex_unlock(&pool.busy);
}
