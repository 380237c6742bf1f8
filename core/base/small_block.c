/* small_block.c - memory of up to 1 KiB: for handles, and for plugins behind host->allocate.
 *
 * Every thread keeps two magazines of free blocks per size, so that neither a lock nor an atomic access lies between a
 * program and a block that it used a moment ago. A thread that frees more than it allocates hands whole magazines to
 * the depot, where others find them; what the depot has no room for goes back to the system, as do all blocks kept by a
 * thread that ends. Blocks are the system's, one by one: nothing has to be whole again before it can be given back. */
#include "core_internal.h"
#include "platform.h"

/* Sanitizers want to see every block come and go. */
#if defined(__SANITIZE_ADDRESS__)
#define KEEP_BLOCKS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define KEEP_BLOCKS 0
#endif
#endif
#if !defined(KEEP_BLOCKS)
#define KEEP_BLOCKS 1
#endif

enum { MAGAZINE = 8, DEPOT_BYTES = 64 << 20 };

typedef BurnSmallBlock Block;
typedef BurnSmallClass Class;

BURN__THREAD_LOCAL BurnSmallClass burn__small_classes[BURN__SMALL_CLASSES];
static BURN__THREAD_LOCAL struct {
  bool begun, ended; /* an ended thread keeps nothing: destructors of others may still free */
} thread;

pthread_mutex_t burn__depot_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
  Block *magazines[BURN__SMALL_CLASSES];
  size_t bytes;
} depot;

static pthread_key_t end_key;
static bool has_end_key;
static pthread_once_t end_key_once = PTHREAD_ONCE_INIT;

static size_t class_bytes(size_t class) { return (class ? class : 1) * BURN__SMALL_STEP; }

/* -- to and from the system ------------------------------------------------------------------- */

static void free_blocks(Block *block) {
  while (block) {
    Block *next = block->next;
    burn__aligned_free(block);
    block = next;
  }
}

static void trim_thread(void) {
  for (size_t class = 0; class < BURN__SMALL_CLASSES; class ++) {
    Class *own = &burn__small_classes[class];
    free_blocks(own->blocks);
    free_blocks(own->spare);
    *own = (Class){NULL, NULL, thread.begun && !thread.ended ? MAGAZINE : 0};
  }
}

static void trim_depot(void) {
  Block *magazines[BURN__SMALL_CLASSES];
  pthread_mutex_lock(&burn__depot_mutex);
  for (size_t class = 0; class < BURN__SMALL_CLASSES; class ++) {
    magazines[class] = depot.magazines[class];
    depot.magazines[class] = NULL;
  }
  depot.bytes = 0;
  pthread_mutex_unlock(&burn__depot_mutex);
  for (size_t class = 0; class < BURN__SMALL_CLASSES; class ++) {
    for (Block *magazine = magazines[class]; magazine;) {
      Block *next = magazine->next_magazine;
      free_blocks(magazine);
      magazine = next;
    }
  }
}

void burn__small_trim(void) {
  trim_thread();
  trim_depot();
}

/* -- depot ------------------------------------------------------------------------------------ */

static void deposit(size_t class, Block *magazine) {
  const size_t bytes = MAGAZINE * class_bytes(class);
  pthread_mutex_lock(&burn__depot_mutex);
  const bool fits = depot.bytes + bytes <= DEPOT_BYTES;
  if (fits) {
    magazine->next_magazine = depot.magazines[class];
    depot.magazines[class] = magazine;
    depot.bytes += bytes;
  }
  pthread_mutex_unlock(&burn__depot_mutex);
  if (!fits) free_blocks(magazine);
}

/* A full magazine, or NULL. */
static Block *withdraw(size_t class) {
  pthread_mutex_lock(&burn__depot_mutex);
  Block *magazine = depot.magazines[class];
  if (magazine) {
    depot.magazines[class] = magazine->next_magazine;
    depot.bytes -= MAGAZINE * class_bytes(class);
  }
  pthread_mutex_unlock(&burn__depot_mutex);
  return magazine;
}

/* -- threads ---------------------------------------------------------------------------------- */

static void thread_ends(void *unused) {
  (void)unused;
  thread.ended = true;
  trim_thread();
}

static void make_end_key(void) { has_end_key = pthread_key_create(&end_key, thread_ends) == 0; }

/* True if this thread keeps blocks: its end must be noticed. */
static bool thread_keeps(void) {
  if (thread.begun) return !thread.ended;
  pthread_once(&end_key_once, make_end_key);
  thread.begun = true;
  thread.ended = !KEEP_BLOCKS || !has_end_key || pthread_setspecific(end_key, &thread) != 0;
  for (size_t class = 0; class < BURN__SMALL_CLASSES && !thread.ended; class ++)
    burn__small_classes[class].room = MAGAZINE;
  return !thread.ended;
}

/* -- blocks ----------------------------------------------------------------------------------- */

void *burn__small_allocate_more(size_t bytes) {
  if (!thread_keeps()) return burn__aligned_allocate(bytes ? bytes : 1);
  Class *own = burn__small_class(bytes);
  const size_t class = (size_t)(own - burn__small_classes);
  Block *magazine = own->spare ? own->spare : withdraw(class);
  own->spare = NULL;
  if (!magazine) return burn__aligned_allocate(class_bytes(class));
  own->blocks = magazine->next;
  own->room = 1;
  return magazine;
}

void burn__small_free_more(void *memory, size_t bytes) {
  Class *own = burn__small_class(bytes);
  Block *block = memory;
  if (!thread_keeps()) {
    burn__aligned_free(block);
    return;
  }
  if (own->room == 0) {
    if (own->spare) deposit((size_t)(own - burn__small_classes), own->spare);
    own->spare = own->blocks;
    own->blocks = NULL;
    own->room = MAGAZINE;
  }
  block->next = own->blocks;
  own->blocks = block;
  own->room--;
}
