/* guard.c - guards on handles: a taken one is kept for a while, with the op and the place in the program that took it,
 * and every device knows its live ones. Also the program's frames in messages of failures (BURN_BACKTRACE). */
#include "guard.h"
#include "backtrace.h"
#include "privileged.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if !defined(BURN_GUARDS)
#define BURN_GUARDS 0 /* the default of this build */
#endif

struct BurnGuard {
  BurnTensor *handle;
  BurnGuard *previous, *next; /* live list of the device */
  const char *taken_by;
  const void *made_at, *taken_at; /* in the program; NULL where that is not known */
  bool reported;
};

atomic_uint burn__watch;

/* -- on or off -------------------------------------------------------------------------------- */

static struct {
  pthread_mutex_t mutex;
  bool decided, asked, on;
} choice = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void burn__guards_decide(void) {
  pthread_mutex_lock(&choice.mutex);
  if (!choice.decided) {
    if (!choice.asked) choice.on = burn__switch_variable("BURN_GUARDS", BURN_GUARDS);
    choice.decided = true;
    if (choice.on) atomic_fetch_or(&burn__watch, BURN__WATCH_GUARDS);
  }
  pthread_mutex_unlock(&choice.mutex);
}

BurnStatus burn_set_guards(bool on) {
  pthread_mutex_lock(&choice.mutex);
  const bool possible = !choice.decided || choice.on == on;
  if (!choice.decided) {
    choice.asked = true;
    choice.on = on;
  }
  pthread_mutex_unlock(&choice.mutex);
  if (possible) return BURN_OK;
  return BURN_FAIL(FAILED_PRECONDITION, "set_guards: guards are %s since the first device was opened; call it before",
                   on ? "off" : "on");
}

bool burn_guards(void) { return burn__is_guarded(); }

/* -- places ----------------------------------------------------------------------------------- */

enum { PLACE_BYTES = 400, MAX_FRAMES = 8 };

static const void *program_place(void) {
  const void *frame = NULL;
  return burn__program_frames(&frame, 1) > 0 ? frame : NULL;
}

/* " at gpt.c:41", " at ./gpt(+0x1234) in gpt_forward"; "" if the place is not known. */
static const char *place_text(const void *address, char text[PLACE_BYTES]) {
  BurnPlace place;
  text[0] = '\0';
  if (!address) return text;
  burn__place_find(address, &place);
  if (place.line > 0) {
    (void)snprintf(text, PLACE_BYTES, " at %s:%d", place.file, place.line);
  } else {
    (void)snprintf(text, PLACE_BYTES, " at %s(+0x%" PRIx64 ")%s%s", place.module, place.offset,
                   place.function[0] ? " in " : "", place.function);
  }
  return text;
}

/* One look at the stack serves all handles of an op. */
static BURN__THREAD_LOCAL struct {
  const void *place;
  bool held;
} op_in_hand;

void burn__guard_op_begin(void) {
  op_in_hand.place = program_place();
  op_in_hand.held = true;
}
void burn__guard_op_end(void) { op_in_hand.held = false; }
static const void *current_place(void) { return op_in_hand.held ? op_in_hand.place : program_place(); }

/* -- live handles ----------------------------------------------------------------------------- */

static void live_add(BurnDevice *device, BurnGuard *guard) {
  pthread_mutex_lock(&device->live_mutex);
  guard->next = device->live;
  if (guard->next) guard->next->previous = guard;
  device->live = guard;
  pthread_mutex_unlock(&device->live_mutex);
}

static void live_remove(BurnDevice *device, BurnGuard *guard) {
  pthread_mutex_lock(&device->live_mutex);
  if (guard->previous) guard->previous->next = guard->next;
  if (guard->next) guard->next->previous = guard->previous;
  if (device->live == guard) device->live = guard->next;
  guard->previous = guard->next = NULL;
  pthread_mutex_unlock(&device->live_mutex);
}

/* Without memory for its guard a handle is not guarded. */
void burn__guard_made(BurnTensor *x) {
  BurnGuard *guard = burn__small_allocate(sizeof *guard);
  x->guard = guard;
  if (!guard) return;
  *guard = (BurnGuard){.handle = x, .made_at = current_place()};
  if (x->device) live_add(x->device, guard);
}

void burn__guard_taken(BurnTensor *x, const char *user) {
  x->state = BURN__HANDLE_TAKEN;
  if (!x->guard) return;
  if (x->device) live_remove(x->device, x->guard);
  x->guard->taken_by = user;
  x->guard->taken_at = current_place();
}

/* -- taken handles ---------------------------------------------------------------------------- */

static struct {
  pthread_mutex_t mutex;
  BurnTensor *handles[4096];
  size_t next;
} quarantine = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void burn__guard_retire(BurnTensor *x) {
  pthread_mutex_lock(&quarantine.mutex);
  const size_t slot = quarantine.next++ % (sizeof quarantine.handles / sizeof quarantine.handles[0]);
  BurnTensor *oldest = quarantine.handles[slot];
  quarantine.handles[slot] = x;
  pthread_mutex_unlock(&quarantine.mutex);
  if (!oldest) return;
  burn__small_free(oldest->guard, sizeof *oldest->guard);
  burn__small_free(oldest, sizeof *oldest);
}

/* Handles are blocks of 64 bytes (small_block.c), and none lies in the lowest page. */
static bool can_be_handle(const BurnTensor *x) { return (uintptr_t)x % 64 == 0 && (uintptr_t)x >= 4096; }

bool burn__guard_is_live(const BurnTensor *x) { return can_be_handle(x) && x->state == BURN__HANDLE_LIVE; }

BurnStatus burn__guard_check(const BurnTensor *x, const char *user) {
  if (burn__guard_is_live(x)) return BURN_OK;
  if (!can_be_handle(x) || x->state != BURN__HANDLE_TAKEN) {
    return BURN_FAIL(INVALID_ARGUMENT, "%s: %p is not a tensor, or was taken long ago", user, (const void *)x);
  }
  char place[PLACE_BYTES];
  const char *taken_by = x->guard && x->guard->taken_by ? x->guard->taken_by : "another op";
  return BURN_FAIL(TENSOR_TAKEN, "%s: tensor already taken by %s%s", user, taken_by,
                   place_text(x->guard ? x->guard->taken_at : NULL, place));
}

void burn__guard_report_drop(BurnTensor *x) {
  const bool is_taken = can_be_handle(x) && x->state == BURN__HANDLE_TAKEN && x->guard;
  if (is_taken && x->guard->reported) return;
  if (is_taken) x->guard->reported = true;
  char place[PLACE_BYTES], user[PLACE_BYTES + 8];
  (void)snprintf(user, sizeof user, "drop%s", place_text(current_place(), place));
  burn__log(BURN_LOG_ERROR, "guards", "%s", burn_status_message(burn__guard_check(x, user)));
}

/* -- what was forgotten ----------------------------------------------------------------------- */

/* Live handles of which the same is printed. */
typedef struct Group {
  const BurnGuard *guard; /* one of them */
  size_t count;
} Group;

static int compare_groups(const void *left, const void *right) {
  const BurnGuard *a = ((const Group *)left)->guard, *b = ((const Group *)right)->guard;
  const BurnPrimitive *x = a->handle->primitive, *y = b->handle->primitive;
  if (a->made_at != b->made_at) return (uintptr_t)a->made_at < (uintptr_t)b->made_at ? -1 : 1;
  if (a->handle->made_by != b->handle->made_by) return a->handle->made_by < b->handle->made_by ? -1 : 1;
  if (x->dtype != y->dtype) return x->dtype < y->dtype ? -1 : 1;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  return memcmp(x->shape, y->shape, x->rank * sizeof x->shape[0]);
}

/* The largest first. */
static int compare_counts(const void *left, const void *right) {
  const Group *a = left, *b = right;
  if (a->count != b->count) return a->count > b->count ? -1 : 1;
  return compare_groups(left, right);
}

/* Joins what is equal; returns the number of groups. */
static size_t join(Group *groups, size_t count) {
  size_t joined = 0;
  qsort(groups, count, sizeof *groups, compare_groups);
  for (size_t i = 0; i < count; i++) {
    if (joined > 0 && compare_groups(&groups[joined - 1], &groups[i]) == 0) {
      groups[joined - 1].count++;
    } else {
      groups[joined++] = groups[i];
    }
  }
  qsort(groups, joined, sizeof *groups, compare_counts);
  return joined;
}

static void print_group(const Group *group) {
  const BurnTensor *x = group->guard->handle;
  char place[PLACE_BYTES], times[32] = "";
  BurnShapeText shape;
  if (group->count > 1) (void)snprintf(times, sizeof times, "%zu x ", group->count);
  fprintf(stderr, "burn:   %s%s %s made by %s%s\n", times, burn_dtype_name(x->primitive->dtype),
          burn__shape_of(&shape, x->primitive), x->made_by ? burn__op_name(burn__tensor_made_by(x)) : "from data",
          place_text(group->guard->made_at, place));
}

/* With the device's lock: the handles must not end meanwhile. */
static void print_live(const BurnDevice *device, Group *groups, size_t count) {
  enum { MAX_LINES = 20 };
  size_t i = 0, rest = count;
  for (const BurnGuard *guard = device->live; guard; guard = guard->next) groups[i++] = (Group){guard, 1};
  const size_t group_count = join(groups, count);
  for (i = 0; i < group_count && i < MAX_LINES; i++) {
    print_group(&groups[i]);
    rest -= groups[i].count;
  }
  if (rest > 0) fprintf(stderr, "burn:   and %zu more\n", rest);
}

void burn__guard_report_live(BurnDevice *device) {
  size_t count = 0;
  const unsigned gradients = atomic_load_explicit(&device->gradients, memory_order_relaxed);
  if (gradients > 0 && burn__is_guarded())
    fprintf(stderr, "burn: device '%s' closed with %u BurnGradients not dropped\n", device->name, gradients);
  pthread_mutex_lock(&device->live_mutex);
  for (const BurnGuard *guard = device->live; guard; guard = guard->next) count++;
  if (count > 0)
    fprintf(stderr, "burn: device '%s' closed with %zu live tensor%s:\n", device->name, count, count > 1 ? "s" : "");
  Group *groups = count > 0 ? malloc(count * sizeof *groups) : NULL;
  if (groups) print_live(device, groups, count);
  free(groups);
  pthread_mutex_unlock(&device->live_mutex);
}

/* -- frames in messages ----------------------------------------------------------------------- */

static bool backtraces;
static void look_for_backtraces(void) {
  backtraces = !burn__process_is_privileged() && burn__switch_variable("BURN_BACKTRACE", false);
}

static void frame_text(const BurnPlace *place, char *text, size_t bytes) {
  const bool named = place->function[0] != '\0';
  if (place->line > 0) {
    (void)snprintf(text, bytes, "\n  at %s (%s:%d)", named ? place->function : "?", place->file, place->line);
  } else if (named) {
    (void)snprintf(text, bytes, "\n  at %s (%s+0x%" PRIx64 ")", place->function, place->module, place->offset);
  } else {
    (void)snprintf(text, bytes, "\n  at %s+0x%" PRIx64, place->module, place->offset);
  }
}

/* Whole lines only; returns the length of the text. */
static size_t append(char *text, size_t used, size_t bytes, const char *line) {
  const size_t length = strlen(line);
  if (used + length >= bytes) return used;
  memcpy(text + used, line, length + 1);
  return used + length;
}

/* The first time that no frame has a line the message says what helps. */
static void append_hint(char *text, size_t used, size_t bytes, const BurnPlace *place) {
  static atomic_flag said = ATOMIC_FLAG_INIT;
  char line[sizeof place->module + 128];
  if (atomic_flag_test_and_set(&said)) return;
  (void)snprintf(line, sizeof line, "\n  (for lines %s: addr2line -fe %s 0x%" PRIx64 ")", place->missing, place->module,
                 place->offset);
  (void)append(text, used, bytes, line);
}

void burn__backtrace_append(char *text, size_t bytes) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, look_for_backtraces);
  if (!backtraces) return;
  const void *frames[MAX_FRAMES];
  BurnPlace place, first = {.missing = NULL};
  bool has_line = false;
  char line[PLACE_BYTES + 16];
  size_t used = strlen(text);
  const size_t count = burn__program_frames(frames, MAX_FRAMES);
  for (size_t i = 0; i < count; i++) {
    burn__place_find(frames[i], &place);
    if (strcmp(place.function, "_start") == 0) break;
    frame_text(&place, line, sizeof line);
    used = append(text, used, bytes, line);
    has_line = has_line || place.line > 0;
    if (i == 0) first = place;
  }
  if (first.missing && !has_line) append_hint(text, used, bytes, &first);
}
