/* parallel.c - the thread pool behind host->parallel_for: one for the whole process, so that plugins do not bring their
 * own.
 *
 * A job is a range cut into chunks. The caller has the first one; each worker that there is a chunk for has a seat of
 * its own, where the caller lays the job down with the worker's first chunk. Further chunks come from a shared counter.
 * A chunk whose worker has not begun when the caller is done otherwise is taken back, so nobody waits for a thread that
 * does not run. A second thread that wants the pool while it is busy works alone, as does a body that asks again from
 * within.
 *
 * A worker waits awake for a while, because the next job usually follows at once and waking a sleeping thread costs
 * more than a small kernel. If its CPU is wanted by others it goes to sleep sooner, and so it does where threads
 * outnumber CPUs. */
#include "core_internal.h"
#include "platform.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#define CPU_RELAX() _mm_pause()
#else
#define CPU_RELAX() ((void)0)
#endif

enum { MAX_THREADS = 256, CHUNKS_PER_THREAD = 4, LINE_BYTES = 128 /* two lines: processors fetch pairs */ };
enum {
  SPIN_NS = 150000,       /* that a worker waits awake */
  SPIN_NS_CROWDED = 2000, /* the same after its CPU was wanted by others .. */
  CROWDED_WAITS = 64,     /* .. for so many waits */
  LOST_NS = 20000         /* a look at the clock that comes this late means so: a round of spinning takes 3000 */
};

typedef struct Job {
  BurnLoopBody body;
  void *context;
  int64_t count, chunk;
  int64_t begin; /* of the first chunk of whoever reads this */
  bool more;     /* there are chunks beside everybody's first */
} Job;

/* What a seat's state says. Only the caller moves FREE or ASLEEP to OFFERED, and OFFERED back to FREE; the rest is the
 * worker's. */
enum { FREE, OFFERED, RUNNING, ASLEEP };

typedef struct Seat {
  _Alignas(LINE_BYTES) atomic_uint state;
  Job job; /* valid while OFFERED or RUNNING */
} Seat;

static struct {
  _Alignas(LINE_BYTES) atomic_flag busy; /* a job runs */
  unsigned worker_count;
  bool may_spin;
  atomic_uint thread_count;                  /* 0: not started */
  _Alignas(LINE_BYTES) _Atomic int64_t next; /* start of the first chunk that nobody has */
} pool = {.busy = ATOMIC_FLAG_INIT};

static Seat seats[MAX_THREADS - 1];

static atomic_uint wanted_threads;
static pthread_once_t pool_once = PTHREAD_ONCE_INIT;
static BURN__THREAD_LOCAL bool inside_body;

static void run_chunk(const Job *job, int64_t begin) {
  job->body(job->context, begin, job->count - begin < job->chunk ? job->count : begin + job->chunk);
}

/* The first chunk and those that nobody else takes; the counter is not touched when there is none. */
static void run_chunks(const Job *job) {
  inside_body = true;
  run_chunk(job, job->begin);
  while (job->more) {
    const int64_t begin = atomic_fetch_add_explicit(&pool.next, job->chunk, memory_order_relaxed);
    if (begin >= job->count) break;
    run_chunk(job, begin);
  }
  inside_body = false;
}

/* -- workers ---------------------------------------------------------------------------------- */

static uint64_t monotonic_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Waits for an offer without sleeping; true if there is one. *crowded counts the waits that must be short. */
static bool spin_for_offer(const Seat *seat, unsigned *crowded) {
  const uint64_t begin = monotonic_ns();
  const uint64_t patience = *crowded > 0 ? SPIN_NS_CROWDED : SPIN_NS;
  uint64_t last = begin;
  if (*crowded > 0) --*crowded;
  while (last - begin < patience) {
    for (int i = 0; i < 64; i++) {
      if (atomic_load_explicit(&seat->state, memory_order_relaxed) == OFFERED) return true;
      CPU_RELAX();
    }
    (void)sched_yield(); /* returns at once unless somebody else wants this CPU */
    const uint64_t now = monotonic_ns();
    if (now - last > LOST_NS) *crowded = CROWDED_WAITS;
    if (now - last > LOST_NS) break;
    last = now;
  }
  return atomic_load_explicit(&seat->state, memory_order_relaxed) == OFFERED;
}

static void wait_for_offer(Seat *seat, unsigned *crowded) {
  if (pool.may_spin && spin_for_offer(seat, crowded)) return;
  unsigned expected = FREE;
  if (!atomic_compare_exchange_strong(&seat->state, &expected, ASLEEP)) return;
  burn__sleep_while_equal(&seat->state, ASLEEP);
}

static void *worker(void *argument) {
  Seat *seat = argument;
  unsigned crowded = 0;
  for (;;) {
    unsigned expected = OFFERED;
    if (!atomic_compare_exchange_strong_explicit(&seat->state, &expected, RUNNING, memory_order_acquire,
                                                 memory_order_relaxed)) {
      wait_for_offer(seat, &crowded);
      continue;
    }
    run_chunks(&seat->job);
    atomic_store_explicit(&seat->state, FREE, memory_order_release);
  }
  return NULL;
}

static unsigned default_threads(unsigned cpus) {
  const char *text = getenv("BURN_THREADS");
  if (text && *text) {
    char *end = NULL;
    const long value = strtol(text, &end, 10);
    if (end && *end == '\0' && value >= 1 && value <= MAX_THREADS) return (unsigned)value;
    burn__log(BURN_LOG_WARN, "threads", "BURN_THREADS='%s' is not a number in 1..%d; ignored", text, MAX_THREADS);
  }
  return cpus;
}

/* Starts the workers; a thread that cannot be started is done without. */
static void pool_start(void) {
  const unsigned cpus = burn__cpu_count();
  unsigned threads = atomic_load(&wanted_threads);
  if (threads == 0) threads = default_threads(cpus);
  if (threads > MAX_THREADS) threads = MAX_THREADS;
  pool.may_spin = threads <= cpus;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  while (pool.worker_count + 1 < threads) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes, worker, &seats[pool.worker_count]) != 0) break;
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
    return BURN_FAIL(FAILED_PRECONDITION,
                     "set_threads: %u threads are running already; call it before the first device is opened", running);
  }
  atomic_store(&wanted_threads, threads);
  return BURN_OK;
}

void burn__pool_forked(void) {
  for (unsigned i = 0; i < pool.worker_count; i++) atomic_store(&seats[i].state, FREE);
  pool.worker_count = 0;
  pool_once = (pthread_once_t)PTHREAD_ONCE_INIT;
  atomic_store(&pool.thread_count, 0);
  atomic_flag_clear(&pool.busy);
}

/* -- callers ---------------------------------------------------------------------------------- */

static void offer(Seat *seat, const Job *job, int64_t begin) {
  seat->job = *job;
  seat->job.begin = begin;
  if (atomic_exchange_explicit(&seat->state, OFFERED, memory_order_acq_rel) == ASLEEP) burn__wake_sleeper(&seat->state);
}

/* Takes the chunk of a worker back that has not begun, or waits for it; gives way when it seems to need this very CPU.
 */
static void settle(Seat *seat) {
  unsigned expected = OFFERED;
  if (atomic_compare_exchange_strong_explicit(&seat->state, &expected, FREE, memory_order_acquire,
                                              memory_order_acquire)) {
    run_chunks(&seat->job);
    return;
  }
  const unsigned round = pool.may_spin ? 256 : 1;
  for (unsigned spins = 1; atomic_load_explicit(&seat->state, memory_order_acquire) == RUNNING; spins++) {
    if (spins % round == 0) {
      (void)sched_yield();
    } else {
      CPU_RELAX();
    }
  }
}

/* A job of two chunks or more, with the pool taken. */
static void run_job(Job *job, int64_t chunk_count, unsigned threads) {
  const int64_t helpers = chunk_count < threads ? chunk_count - 1 : (int64_t)threads - 1;
  job->more = chunk_count > helpers + 1;
  if (job->more) atomic_store_explicit(&pool.next, (helpers + 1) * job->chunk, memory_order_relaxed);
  for (int64_t i = 0; i < helpers; i++) offer(&seats[i], job, (i + 1) * job->chunk);
  run_chunks(job);
  for (int64_t i = 0; i < helpers; i++) settle(&seats[i]);
}

void burn__parallel_for(int64_t count, int64_t grain, BurnLoopBody body, void *context) {
  if (count <= 0) return;
  if (grain < 1) grain = 1;
  if (count <= grain || inside_body) {
    body(context, 0, count);
    return;
  }
  unsigned threads = atomic_load_explicit(&pool.thread_count, memory_order_acquire);
  if (threads == 0) threads = burn_threads();
  if (threads == 1 || atomic_flag_test_and_set_explicit(&pool.busy, memory_order_acquire)) {
    body(context, 0, count);
    return;
  }
  const int64_t pieces = (int64_t)threads * CHUNKS_PER_THREAD;
  const int64_t even = count / pieces + (count % pieces != 0), chunk = even > grain ? even : grain;
  Job job = {.body = body, .context = context, .count = count, .chunk = chunk};
  run_job(&job, count / chunk + (count % chunk != 0), threads);
  atomic_flag_clear_explicit(&pool.busy, memory_order_release);
}
