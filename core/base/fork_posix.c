/* fork_posix.c - fork: which threads are at work inside libburn or a plugin, and what becomes of a child.
 *
 * A child has only the thread that forked. If no other was at work, nobody's lock is held but libburn's own, which the
 * forking thread takes before, so that they are whole: the child works, with a new pool. If another was, a lock of a
 * plugin may be held for ever by a thread that does not exist: the child refuses every call instead of hanging in one.
 *
 * The child looks at its own copy of the marks, so there is no moment between looking and forking: a thread writes its
 * mark before it takes a lock, and the system copies memory as one moment of each thread. */
#include "core_internal.h"
#include "platform.h"

BURN__THREAD_LOCAL BurnWork *burn__work;

static BurnWork *works;  /* of all threads that have called so far and are alive; with burn__work_mutex */
static BurnWork nowhere; /* of threads that there was no memory for: counts as always at work */
pthread_mutex_t burn__work_mutex = PTHREAD_MUTEX_INITIALIZER;

static pthread_key_t end_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_broken; /* this process is a child that cannot go on */
static BURN__THREAD_LOCAL bool has_locks;

/* libburn's own locks that may be taken by threads that are not at work, in the order in which they are taken within
 * each other. */
static pthread_mutex_t *const locks[] = {
    &burn__verdict_mutex, &burn__registry_mutex, &burn__pack_mutex, &burn__kernel_mutex, &burn__random_mutex,
    &burn__path_mutex,    &burn__scope_mutex,    &burn__work_mutex, &burn__depot_mutex,  &burn__message_mutex};
enum { LOCK_COUNT = sizeof locks / sizeof locks[0] };

/* -- threads ---------------------------------------------------------------------------------- */

static void thread_ends(void *ended) {
  BurnWork *work = ended;
  burn__work = NULL;
  pthread_mutex_lock(&burn__work_mutex);
  if (work->previous) work->previous->next = work->next;
  if (work->next) work->next->previous = work->previous;
  if (works == work) works = work->next;
  pthread_mutex_unlock(&burn__work_mutex);
  burn__aligned_free(work);
}

/* -- fork ------------------------------------------------------------------------------------- */

/* A thread that forks from within a call may hold some of the locks. */
static void before(void) {
  has_locks = !burn__work || atomic_load(&burn__work->depth) == 0;
  for (int i = 0; has_locks && i < LOCK_COUNT; i++) pthread_mutex_lock(locks[i]);
}

static void after_in_parent(void) {
  for (int i = LOCK_COUNT; has_locks && i-- > 0;) pthread_mutex_unlock(locks[i]);
}

static bool any_at_work(void) {
  if (atomic_load(&nowhere.depth) > 0) return true;
  for (const BurnWork *work = works; work; work = work->next) {
    if (atomic_load(&work->depth) > 0) return true;
  }
  return false;
}

static void after_in_child(void) {
  if (any_at_work()) is_broken = true;
  for (int i = LOCK_COUNT; i-- > 0;) {
    if (has_locks) {
      pthread_mutex_unlock(locks[i]);
    } else {
      *locks[i] = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; /* whose holder is gone */
    }
  }
  works = is_broken ? NULL : burn__work;
  if (works) works->previous = works->next = NULL;
  if (is_broken) burn__work = NULL; /* calls ask burn__work_begin, which refuses */
  burn__pool_forked();
}

static void prepare_process(void) {
  (void)pthread_key_create(&end_key, thread_ends);
  (void)pthread_atfork(before, after_in_parent, after_in_child);
}

BurnWork *burn__work_begin(void) {
  if (is_broken) return NULL;
  (void)pthread_once(&once, prepare_process);
  BurnWork *work = burn__aligned_allocate(sizeof *work);
  if (!work || pthread_setspecific(end_key, work) != 0) {
    burn__aligned_free(work);
    atomic_fetch_add(&nowhere.depth, 1);
    return burn__work = &nowhere;
  }
  *work = (BurnWork){.previous = NULL};
  pthread_mutex_lock(&burn__work_mutex);
  work->next = works;
  if (works) works->previous = work;
  works = work;
  pthread_mutex_unlock(&burn__work_mutex);
  return burn__work = work;
}

BurnStatus burn__fork_failure(void) {
  return BURN_FAIL(
      FAILED_PRECONDITION,
      "this process was forked while another thread computed, whose locks it may have: fork before the first device is "
      "opened, or when no other thread computes, or exec");
}
