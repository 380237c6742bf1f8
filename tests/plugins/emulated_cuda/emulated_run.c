/* emulated_run.c - loads images and runs launches: blocks one after the other, their threads in a loop where none waits
 * for another, else as fibers in turn. BURN_EMULATED_CUDA_ORDER=backward runs blocks and threads from the last on: a
 * kernel that lacks a barrier gives other numbers then. */
#define _GNU_SOURCE /* memfd_create */
#include "emulated_run.h"

#include "emulated_fiber.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILL = 0xff, MAX_FUNCTIONS = 64, TAIL_BYTES = 64 };

static pthread_mutex_t running = PTHREAD_MUTEX_INITIALIZER; /* the threads of one launch at a time */

/* -- words ------------------------------------------------------------------------------------ */

static char problem[400] = "a failure without words";

int emulated_fail(int error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(problem, sizeof problem, format, arguments);
  va_end(arguments);
  return error;
}

const char *emulated_problem(void) { return problem; }

/* -- images ----------------------------------------------------------------------------------- */

struct EmulatedLibrary {
  void *opened;
  const EmulatedModule *module;
  EmulatedFunction functions[MAX_FUNCTIONS];
  int count;
};

int emulated_is_image(const void *image) { return memcmp(image, EMULATED_MAGIC, sizeof(EMULATED_MAGIC) - 1) == 0; }

/* The loader takes a file for one that it has if their paths are the same text, so each gets another: the bits of a number
 * as "//" and "/.". */
static void write_path(char *path, size_t bytes, int file) {
  static atomic_uint numbers;
  const unsigned number = atomic_fetch_add(&numbers, 1);
  size_t used = (size_t)snprintf(path, bytes, "/proc/self/fd");
  for (unsigned bit = 0; bit < 32; bit++) {
    path[used++] = '/';
    path[used++] = number >> bit & 1u ? '.' : '/';
  }
  (void)snprintf(path + used, bytes - used, "/%d", file);
}

/* The loader wants a file: one in memory. */
static void *open_image(const void *image) {
  EmulatedImage head;
  char path[128];
  memcpy(&head, image, sizeof head);
  const int file = memfd_create("burn-emulated", MFD_CLOEXEC);
  if (file < 0) return NULL;
  const int is_written =
      write(file, (const char *)image + sizeof head, (size_t)head.bytes) == (ssize_t)(size_t)head.bytes;
  write_path(path, sizeof path, file);
  void *opened = is_written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  (void)close(file);
  return opened;
}

static const EmulatedRuntime runtime;

int emulated_load(EmulatedLibrary **library, const void *image) {
  EmulatedLibrary *made = calloc(1, sizeof *made);
  if (!made) return emulated_fail(EMULATED_NO_MEMORY, "no memory of the host");
  made->opened = open_image(image);
  made->module = made->opened ? dlsym(made->opened, "burn_emulated_module") : NULL;
  if (!made->module) {
    const char *why = dlerror();
    (void)emulated_fail(EMULATED_INVALID_IMAGE, "the emulation cannot load a kernel: %s",
                        why ? why : "no file in memory");
    emulated_unload(made);
    return EMULATED_INVALID_IMAGE;
  }
  const size_t shared = (size_t)(made->module->shared_end - made->module->shared);
  if (shared > EMULATED_STATIC_BYTES) {
    emulated_unload(made);
    return emulated_fail(EMULATED_INVALID_IMAGE, "a kernel has %zu bytes of static shared memory, more than %d", shared,
                         EMULATED_STATIC_BYTES);
  }
  *made->module->runtime = &runtime;
  *library = made;
  return EMULATED_OK;
}

void emulated_unload(EmulatedLibrary *library) {
  if (library->opened) (void)dlclose(library->opened);
  free(library);
}

int emulated_find(EmulatedLibrary *library, const char *name, EmulatedFunction **function) {
  char symbol[128];
  (void)snprintf(symbol, sizeof symbol, "burn_emulated_kernel_%.64s", name);
  const EmulatedKernel *kernel = dlsym(library->opened, symbol);
  if (!kernel) return emulated_fail(EMULATED_NOT_FOUND, "the emulation finds no kernel \"%.64s\"", name);
  for (int i = 0; i < library->count; i++) {
    *function = &library->functions[i];
    if (library->functions[i].kernel == kernel) return EMULATED_OK;
  }
  if (library->count == MAX_FUNCTIONS) return emulated_fail(EMULATED_NOT_FOUND, "more than %d kernels", MAX_FUNCTIONS);
  *function = &library->functions[library->count++];
  **function = (EmulatedFunction){library->module, kernel, EMULATED_STATIC_BYTES, ""};
  (void)snprintf((*function)->name, sizeof(*function)->name, "%.63s", name);
  return EMULATED_OK;
}

/* -- threads that wait ------------------------------------------------------------------------ */

typedef enum State { FRESH, READY, AT_BARRIER, AT_WARP, DONE } State;

typedef struct Thread {
  State state;
  EmulatedIndex index;
  unsigned mask, came;
  const void *place;       /* in the kernel, where it waits */
  unsigned long long *all; /* where it takes the lanes' values, and gives its own; NULL: it only waits */
} Thread;

static Thread threads[FIBER_LIMIT];
static unsigned count, current;
static const EmulatedLaunch *launched;
static const char *launched_parameters;
static int has_warps;

/* BURN_EMULATED_CUDA_WARPS=none: a shuffle waits for the whole block, as on devices where it is made of shared memory. */
static int takes_warps(void) {
  const char *warps = getenv("BURN_EMULATED_CUDA_WARPS");
  return !warps || strcmp(warps, "none") != 0;
}

static void wait_in(State state) {
  threads[current].state = state;
  emulated_fiber_leave();
}

static unsigned wait_for_lanes(unsigned mask, unsigned long long *all, const void *place) {
  Thread *me = &threads[current];
  me->mask = mask | 1u << current % EMULATED_WARP;
  me->all = all;
  me->place = place;
  wait_in(AT_WARP);
  return me->came;
}

static void barrier(void) {
  threads[current].place = __builtin_return_address(0);
  wait_in(AT_BARRIER);
}
static unsigned exchange(unsigned mask, unsigned long long *all) {
  return wait_for_lanes(mask, all, __builtin_return_address(0));
}
static void warp_barrier(unsigned mask) { (void)wait_for_lanes(mask, NULL, __builtin_return_address(0)); }

static const EmulatedRuntime runtime = {barrier, warp_barrier, exchange};

static void thread_entry(void) {
  launched->function->kernel->run(launched_parameters, EMULATED_ONE);
  wait_in(DONE);
}

/* Lanes that have not ended, of those that a lane waits for. */
static unsigned awaited(const Thread *warp, unsigned lanes, unsigned mask) {
  unsigned alive = 0;
  for (unsigned lane = 0; lane < lanes; lane++)
    if (warp[lane].state != DONE) alive |= 1u << lane;
  return mask & alive;
}

static int have_all_come(const Thread *warp, unsigned mask, unsigned wanted) {
  for (unsigned lane = 0; lane < EMULATED_WARP; lane++)
    if (wanted >> lane & 1u && (warp[lane].state != AT_WARP || warp[lane].mask != mask)) return 0;
  return 1;
}

/* Each of the lanes gets the values of all; those of lanes that are gone are not numbers. */
static void hand_over(Thread *warp, unsigned wanted) {
  unsigned long long values[EMULATED_WARP];
  memset(values, FILL, sizeof values);
  for (unsigned lane = 0; lane < EMULATED_WARP; lane++)
    if (wanted >> lane & 1u && warp[lane].all) values[lane] = warp[lane].all[lane];
  for (unsigned lane = 0; lane < EMULATED_WARP; lane++) {
    if (!(wanted >> lane & 1u)) continue;
    if (warp[lane].all) memcpy(warp[lane].all, values, sizeof values);
    warp[lane].came = wanted;
    warp[lane].state = READY;
  }
}

/* Lets lanes go on for which all others of their masks have come; 0: none. */
static int release_warp(Thread *warp, unsigned lanes) {
  int released = 0;
  for (unsigned lane = 0; lane < lanes; lane++) {
    if (warp[lane].state != AT_WARP) continue;
    const unsigned wanted = awaited(warp, lanes, warp[lane].mask);
    if (!have_all_come(warp, warp[lane].mask, wanted)) continue;
    hand_over(warp, wanted);
    released = 1;
  }
  return released;
}

static int is_backward(void) {
  const char *order = getenv("BURN_EMULATED_CUDA_ORDER");
  return order && strcmp(order, "backward") == 0;
}

static int enter(unsigned i) {
  Thread *thread = &threads[i];
  if (thread->state == FRESH) emulated_fiber_make(i, thread_entry);
  current = i;
  *launched->function->module->thread = thread->index;
  if (emulated_fiber_enter(i)) return EMULATED_OK;
  return emulated_fail(EMULATED_LAUNCH_FAILED, "kernel \"%s\" needs more than %d bytes of stack",
                       launched->function->name, FIBER_STACK_BYTES);
}

/* Runs the lanes of a warp until each has ended, or waits for others than these: without warps all lanes that wait do. */
static int run_warp(unsigned first, int backward, int *has_moved) {
  const unsigned lanes = count - first < EMULATED_WARP ? count - first : EMULATED_WARP;
  do {
    for (unsigned k = 0; k < lanes; k++) {
      const unsigned i = first + (backward ? lanes - 1 - k : k);
      if (threads[i].state != FRESH && threads[i].state != READY) continue;
      const int error = enter(i);
      if (error != EMULATED_OK) return error;
      *has_moved = 1;
    }
  } while (has_warps && release_warp(&threads[first], lanes));
  return EMULATED_OK;
}

static unsigned count_in(State state) {
  unsigned in = 0;
  for (unsigned i = 0; i < count; i++) in += threads[i].state == state;
  return in;
}

static int stuck(void) {
  return emulated_fail(EMULATED_LAUNCH_FAILED,
                       "threads of kernel \"%s\" wait for ever: of %u, %u are at __syncthreads, %u at a shuffle or "
                       "__syncwarp, %u have ended%s",
                       launched->function->name, count, count_in(AT_BARRIER), count_in(AT_WARP), count_in(DONE),
                       has_warps ? "" : ", or they are at several places of it");
}

static int are_together(State state) {
  for (unsigned i = 0; i < count; i++)
    if (threads[i].state != state || threads[i].place != threads[0].place) return 0;
  return 1;
}

/* Have all come to a barrier? Without warps none may have ended, as a barrier of such a device is undefined then. */
static int is_barrier(void) {
  return has_warps ? count_in(AT_BARRIER) + count_in(DONE) == count : are_together(AT_BARRIER);
}

/* Without warps: lets all go on if all are at one shuffle. */
static int release_block(void) {
  if (has_warps || !are_together(AT_WARP)) return 0;
  for (unsigned first = 0; first < count; first += EMULATED_WARP)
    (void)release_warp(&threads[first], count - first < EMULATED_WARP ? count - first : EMULATED_WARP);
  return 1;
}

static int run_fibers(int backward) {
  const unsigned warps = (count + EMULATED_WARP - 1) / EMULATED_WARP;
  for (unsigned i = 0; i < count; i++) threads[i].state = FRESH;
  while (count_in(DONE) < count) {
    int has_moved = 0, error = EMULATED_OK;
    for (unsigned k = 0; k < warps && error == EMULATED_OK; k++)
      error = run_warp((backward ? warps - 1 - k : k) * EMULATED_WARP, backward, &has_moved);
    if (error != EMULATED_OK) return error;
    const int is_released = release_block(), can_pass = !is_released && is_barrier();
    if (!has_moved && !is_released && !can_pass) return stuck();
    for (unsigned i = 0; i < count && can_pass; i++)
      if (threads[i].state == AT_BARRIER) threads[i].state = READY;
  }
  return EMULATED_OK;
}

/* -- launches --------------------------------------------------------------------------------- */

int emulated_check_launch(const EmulatedLaunch *launch) {
  const EmulatedFunction *function = launch->function;
  const EmulatedIndex *grid = &launch->grid, *block = &launch->block;
  const unsigned long long in_block = (unsigned long long)block->x * block->y * block->z;
  const size_t fixed = (size_t)(function->module->shared_end - function->module->shared);
  if (grid->x == 0 || grid->y == 0 || grid->z == 0 || grid->x > 0x7fffffffu || grid->y > 65535 || grid->z > 65535)
    return emulated_fail(EMULATED_INVALID_VALUE, "kernel \"%s\": no grid is %u x %u x %u", function->name, grid->x,
                         grid->y, grid->z);
  if (in_block == 0 || in_block > function->kernel->most_threads || block->z > 64)
    return emulated_fail(EMULATED_INVALID_VALUE, "kernel \"%s\": blocks of %u x %u x %u, its limit is %u threads",
                         function->name, block->x, block->y, block->z, function->kernel->most_threads);
  if (!takes_warps() && in_block != function->kernel->most_threads)
    return emulated_fail(EMULATED_INVALID_VALUE, "kernel \"%s\": blocks of %llu threads, __launch_bounds__ names %u",
                         function->name, in_block, function->kernel->most_threads);
  if (launch->shared_bytes > function->dynamic_most || launch->shared_bytes + fixed > EMULATED_DYNAMIC_BYTES ||
      (function->dynamic_most <= EMULATED_STATIC_BYTES && launch->shared_bytes + fixed > EMULATED_STATIC_BYTES))
    return emulated_fail(EMULATED_INVALID_VALUE,
                         "kernel \"%s\" asks for %u bytes of shared memory beside its %zu; it may have %zu",
                         function->name, launch->shared_bytes, fixed, function->dynamic_most);
  return EMULATED_OK;
}

static int run_block(const EmulatedLaunch *launch, const char *parameters, int backward) {
  const EmulatedModule *module = launch->function->module;
  char *tail = module->dynamic + launch->shared_bytes;
  const size_t tail_bytes = EMULATED_DYNAMIC_BYTES - launch->shared_bytes;
  if (module->shared) memset(module->shared, FILL, (size_t)(module->shared_end - module->shared));
  memset(module->dynamic, FILL, launch->shared_bytes);
  if (!module->barriers) launch->function->kernel->run(parameters, backward ? EMULATED_BACKWARD : EMULATED_FORWARD);
  const int error = module->barriers ? run_fibers(backward) : EMULATED_OK;
  for (size_t i = 0; i < tail_bytes && i < TAIL_BYTES; i++)
    if ((unsigned char)tail[i] != FILL)
      return emulated_fail(EMULATED_ILLEGAL_ADDRESS,
                           "kernel \"%s\" writes beyond its %u bytes of dynamic shared memory", launch->function->name,
                           launch->shared_bytes);
  return error;
}

static void number_threads(const EmulatedIndex *block) {
  count = block->x * block->y * block->z;
  for (unsigned i = 0; i < count; i++)
    threads[i].index = (EmulatedIndex){i % block->x, i / block->x % block->y, i / block->x / block->y};
}

static int run_grid(const EmulatedLaunch *launch, const char *parameters) {
  const EmulatedModule *module = launch->function->module;
  const unsigned long long plane = (unsigned long long)launch->grid.x * launch->grid.y, blocks = plane * launch->grid.z;
  const int backward = is_backward();
  if (module->barriers && !emulated_fibers_ready())
    return emulated_fail(EMULATED_NO_MEMORY, "no memory for the stacks of threads");
  *module->block_size = launch->block;
  *module->grid_size = launch->grid;
  number_threads(&launch->block);
  has_warps = takes_warps();
  memset(module->dynamic + launch->shared_bytes, FILL,
         EMULATED_DYNAMIC_BYTES - launch->shared_bytes < TAIL_BYTES ? EMULATED_DYNAMIC_BYTES - launch->shared_bytes
                                                                    : TAIL_BYTES);
  for (unsigned long long k = 0; k < blocks; k++) {
    const unsigned long long i = backward ? blocks - 1 - k : k;
    *module->block =
        (EmulatedIndex){(unsigned)(i % launch->grid.x), (unsigned)(i % plane / launch->grid.x), (unsigned)(i / plane)};
    const int error = run_block(launch, parameters, backward);
    if (error != EMULATED_OK) return error;
  }
  return EMULATED_OK;
}

/* -- addresses that nobody may use ------------------------------------------------------------- */

static sigjmp_buf before_launch;
static pthread_t launching;

/* Ends the launch. Signals of other threads are not ours: they come again, with what was there before. */
static void caught(int number) {
  if (pthread_equal(pthread_self(), launching)) siglongjmp(before_launch, number);
  (void)signal(number, SIG_DFL);
}

static int say_signal(int number) {
  if (number == SIGILL)
    return emulated_fail(EMULATED_MISALIGNED_ADDRESS, "kernel \"%s\": misaligned address (or an assert that failed)",
                         launched->function->name);
  return emulated_fail(EMULATED_ILLEGAL_ADDRESS, "kernel \"%s\": illegal address", launched->function->name);
}

/* The compiler traps where an address is not aligned: SIGILL. */
static int run_guarded(const EmulatedLaunch *launch, const char *parameters) {
  static const int signals[] = {SIGILL, SIGSEGV, SIGBUS};
  enum { SIGNALS = sizeof signals / sizeof signals[0] };
  struct sigaction action = {.sa_handler = caught}, before[SIGNALS];
  for (int i = 0; i < SIGNALS; i++) (void)sigaction(signals[i], &action, &before[i]);
  launching = pthread_self();
  const int number = sigsetjmp(before_launch, 1);
  const int error = number == 0 ? run_grid(launch, parameters) : say_signal(number);
  for (int i = 0; i < SIGNALS; i++) (void)sigaction(signals[i], &before[i], NULL);
  return error;
}

int emulated_run(const EmulatedLaunch *launch, const char *parameters) {
  (void)pthread_mutex_lock(&running);
  launched = launch;
  launched_parameters = parameters;
  const int error = run_guarded(launch, parameters);
  (void)pthread_mutex_unlock(&running);
  return error;
}
