/* small_block.c - memory of up to 512 bytes: for handles, and for plugins behind host->allocate.
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

/* Size class n is n * 64 bytes; class 0, of nothing, is 64 bytes too. */
enum { CLASS_BYTES = 64, CLASS_COUNT = BURN__SMALL_BYTES / CLASS_BYTES + 1 };
enum { MAGAZINE = 8, DEPOT_BYTES = 64 << 20 };

/* A free block; the first one of a magazine in the depot knows the next magazine. */
typedef struct Block {
  struct Block *next, *next_magazine;
} Block;

typedef struct Class {
  Block *blocks; /* the magazine in use */
  Block *spare;  /* a full one, or NULL */
  uint32_t room; /* blocks that still go into `blocks`; 0 in a thread that keeps none */
} Class;

static BURN__THREAD_LOCAL struct {
  Class classes[CLASS_COUNT];
  bool begun, ended; /* an ended thread keeps nothing: destructors of others may still free */
} thread;

pthread_mutex_t burn__depot_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
  Block *magazines[CLASS_COUNT];
  size_t bytes;
} depot;

static pthread_key_t end_key;
static bool has_end_key;
static pthread_once_t end_key_once = PTHREAD_ONCE_INIT;

static size_t class_bytes(size_t class) { return (class ? class : 1) * CLASS_BYTES; }

/* -- to and from the system ------------------------------------------------------------------- */

static void free_blocks(Block *block) {
  while (block) {
    Block *next = block->next;
    burn__aligned_free(block);
    block = next;
  }
}

static void trim_thread(void) {
  for (size_t class = 0; class < CLASS_COUNT; class ++) {
    Class *own = &thread.classes[class];
    free_blocks(own->blocks);
    free_blocks(own->spare);
    *own = (Class){NULL, NULL, thread.begun && !thread.ended ? MAGAZINE : 0};
  }
}

static void trim_depot(void) {
  Block *magazines[CLASS_COUNT];
  pthread_mutex_lock(&burn__depot_mutex);
  for (size_t class = 0; class < CLASS_COUNT; class ++) {
    magazines[class] = depot.magazines[class];
    depot.magazines[class] = NULL;
  }
  depot.bytes = 0;
  pthread_mutex_unlock(&burn__depot_mutex);
  for (size_t class = 0; class < CLASS_COUNT; class ++) {
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
  for (size_t class = 0; class < CLASS_COUNT && !thread.ended; class ++) thread.classes[class].room = MAGAZINE;
  return !thread.ended;
}

/* -- blocks ----------------------------------------------------------------------------------- */

/* The thread's magazine is empty. */
static BURN__COLD void *allocate_more(size_t class, size_t bytes) {
  if (!thread_keeps()) return burn__aligned_allocate(bytes ? bytes : 1);
  Class *own = &thread.classes[class];
  Block *magazine = own->spare ? own->spare : withdraw(class);
  own->spare = NULL;
  if (!magazine) return burn__aligned_allocate(class_bytes(class));
  own->blocks = magazine->next;
  own->room = 1;
  return magazine;
}

void *burn__small_allocate(size_t bytes) {
  const size_t class = (bytes + CLASS_BYTES - 1) / CLASS_BYTES;
  Class *own = &thread.classes[class];
  Block *block = own->blocks;
  if (!block) return allocate_more(class, bytes);
  own->blocks = block->next;
  own->room++;
  return block;
}

/* There is no room: the thread has not begun, has ended, or its magazine is full. */
static BURN__COLD void free_more(size_t class, Block *block) {
  Class *own = &thread.classes[class];
  if (!thread_keeps()) {
    burn__aligned_free(block);
    return;
  }
  if (own->room == 0) {
    if (own->spare) deposit(class, own->spare);
    own->spare = own->blocks;
    own->blocks = NULL;
    own->room = MAGAZINE;
  }
  block->next = own->blocks;
  own->blocks = block;
  own->room--;
}

void burn__small_free(void *memory, size_t bytes) {
  const size_t class = (bytes + CLASS_BYTES - 1) / CLASS_BYTES;
  Class *own = &thread.classes[class];
  Block *block = memory;
  if (own->room == 0) {
    free_more(class, block);
    return;
  }
  block->next = own->blocks;
  own->blocks = block;
  own->room--;
}
