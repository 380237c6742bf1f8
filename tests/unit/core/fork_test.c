/* fork_test.c - children of fork compute, or say why they cannot; none hangs. */
#include "forked.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

enum { FORKS = 200, COMPUTED = 0, REFUSED = 7, WRONG = 8 };

static atomic_bool stop;
static atomic_int computing;
static bool pauses;
static const char *stack;

/* Products of ever new shapes: each is measured, under a lock of the plugin. */
static double product(BurnDevice *device, int64_t rows, BurnStatus *status) {
  double value = 0;
  BurnTensor *a = burn_ones(device, BURN_SHAPE(rows, 8), BURN_DTYPE_F32),
             *b = burn_ones(device, BURN_SHAPE(8, 3), BURN_DTYPE_F32);
  *status = burn_read_scalar(burn_sum(burn_matmul(a, b)), &value);
  return value;
}

static void *compute(void *unused) {
  (void)unused;
  BurnStatus status = BURN_OK;
  BurnDevice *device = burn_device_open(stack);
  for (int64_t rows = 64; status == BURN_OK && !atomic_load(&stop); rows = 64 + (rows + 1) % 512) {
    (void)product(device, rows, &status);
    atomic_fetch_add(&computing, 1);
    const struct timespec moment = {.tv_nsec = 1000000};
    if (pauses) nanosleep(&moment, NULL);
  }
  burn_device_close(device);
  return NULL;
}

static void child(BurnDevice *device, int i) {
  BurnStatus status = BURN_OK, opened;
  alarm(30); /* a child that hangs dies of it */
  const int64_t rows = 100 + i * 7 % 900;
  const double value = product(device, rows, &status);
  BurnDevice *other = burn_device_open(stack);
  opened = burn_device_status(other);
  burn_device_close(other);
  burn_device_close(device);
  if (status == BURN_OK && opened == BURN_OK)
    _exit(value > (double)rows * 24 - 0.5 && value < (double)rows * 24 + 0.5 ? COMPUTED : WRONG);
  const bool clear = burn_status_code(status) == BURN_STATUS_FAILED_PRECONDITION &&
                     strstr(burn_status_message(status), "forked while another thread computed") &&
                     strstr(burn_status_message(opened), "forked while another thread computed");
  if (!clear) fprintf(stderr, "%s; %s\n", burn_status_message(status), burn_status_message(opened));
  _exit(clear ? REFUSED : WRONG);
}

static void fork_many(int forks, int *computed, int *refused) {
  BurnDevice *device = burn_device_open(stack);
  BurnStatus ready;
  (void)product(device, 1000, &ready);
  assert_int_equal(ready, BURN_OK);
  for (int i = 0; i < forks; i++) {
    const pid_t process = fork();
    assert_true(process >= 0);
    if (process == 0) child(device, i);
    int status = 0;
    assert_int_equal(waitpid(process, &status, 0), process);
    if (WIFSIGNALED(status)) fail_msg("child %d died of signal %d", i, WTERMSIG(status));
    *computed += WEXITSTATUS(status) == COMPUTED;
    *refused += WEXITSTATUS(status) == REFUSED;
  }
  double value = product(device, 10, &ready);
  assert_int_equal(ready, BURN_OK);
  assert_true(value > 239.5 && value < 240.5);
  burn_device_close(device);
  assert_int_equal(*computed + *refused, forks);
}

static void fork_beside_threads(bool with_pauses, int *computed, int *refused) {
  pthread_t threads[2];
  atomic_store(&stop, false);
  atomic_store(&computing, 0);
  pauses = with_pauses;
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, compute, NULL), 0);
  const struct timespec moment = {.tv_nsec = 1000000};
  while (atomic_load(&computing) < 4) nanosleep(&moment, NULL);
  fork_many(FORKS, computed, refused);
  atomic_store(&stop, true);
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void beside_computing_threads(void *unused) {
  (void)unused;
  int computed = 0, refused = 0;
  fork_beside_threads(false, &computed, &refused);
  CHECK(refused > 0, "no child was refused; %d computed", computed);
}

static void beside_threads_that_pause(void *unused) {
  (void)unused;
  int computed = 0, refused = 0;
  fork_beside_threads(true, &computed, &refused);
  CHECK(computed > 0, "no child could compute; %d were refused", refused);
}

/* The pool has threads, which a child does not: it starts its own. */
static void of_an_idle_process(void *unused) {
  (void)unused;
  int computed = 0, refused = 0;
  fork_many(30, &computed, &refused);
  CHECK(refused == 0, "%d children were refused", refused);
}

static void on_both_stacks(void (*body)(void *)) {
  static const char *const stacks[] = {"ndarray", "autodiff<fusion<ndarray>>"};
  setenv("BURN_THREADS", "3", 1);
  setenv("XDG_CACHE_HOME", NO_FOLDER, 1);
  for (int i = 0; i < 2; i++) {
    stack = stacks[i];
    forked(body, NULL);
  }
}

static void test_children_beside_computing_threads(void **state) {
  (void)state;
  on_both_stacks(beside_computing_threads);
}

static void test_children_beside_threads_that_pause(void **state) {
  (void)state;
  on_both_stacks(beside_threads_that_pause);
}

static void test_children_of_an_idle_process_compute(void **state) {
  (void)state;
  on_both_stacks(of_an_idle_process);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_children_of_an_idle_process_compute),
      cmocka_unit_test(test_children_beside_threads_that_pause),
      cmocka_unit_test(test_children_beside_computing_threads),
  };
  return cmocka_run_group_tests_name("fork", tests, NULL, NULL);
}
