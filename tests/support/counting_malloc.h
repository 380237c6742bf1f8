/* counting_malloc.h - the malloc family of a test program, in front of the C library's for libburn and the plugins too:
 * it counts, and fails when told to. For glibc, without sanitizers; the program needs ENABLE_EXPORTS. Included by one
 * file of a program. */
#ifndef BURN_TEST_COUNTING_MALLOC_H
#define BURN_TEST_COUNTING_MALLOC_H

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *block);

static atomic_bool counting;
static atomic_llong countdown; /* fails at the call that makes it 0 */
static atomic_llong failed;    /* calls that failed */
static atomic_llong
    bytes_held; /* handed out and not freed, as malloc rounds them: the same request may vary by some bytes */
static atomic_llong blocks_held; /* how many pieces that is; exact */

static bool fails(void) {
  if (!atomic_load_explicit(&counting, memory_order_relaxed)) return false;
  if (atomic_fetch_sub(&countdown, 1) != 1) return false;
  atomic_fetch_add(&failed, 1);
  errno = ENOMEM;
  return true;
}
static void *handed_out(void *block) {
  if (!block) return NULL;
  atomic_fetch_add(&bytes_held, (long long)malloc_usable_size(block));
  atomic_fetch_add(&blocks_held, 1);
  return block;
}
static void taken_back(void *block) {
  if (!block) return;
  atomic_fetch_sub(&bytes_held, (long long)malloc_usable_size(block));
  atomic_fetch_sub(&blocks_held, 1);
}

#pragma GCC visibility push(default)
void *malloc(size_t bytes) { return fails() ? NULL : handed_out(__libc_malloc(bytes)); }
void *calloc(size_t count, size_t bytes) { return fails() ? NULL : handed_out(__libc_calloc(count, bytes)); }
void *realloc(void *block, size_t bytes) {
  if (fails()) return NULL;
  const long long before = block ? (long long)malloc_usable_size(block) : 0;
  void *result = __libc_realloc(block, bytes);
  if (block && (result || bytes == 0)) {
    atomic_fetch_sub(&bytes_held, before);
    atomic_fetch_sub(&blocks_held, 1);
  }
  return handed_out(result);
}
void *memalign(size_t alignment, size_t bytes) {
  return fails() ? NULL : handed_out(__libc_memalign(alignment, bytes));
}
void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void **block, size_t alignment, size_t bytes) {
  *block = memalign(alignment, bytes);
  return *block ? 0 : ENOMEM;
}
void free(void *block) {
  taken_back(block);
  __libc_free(block);
}
#pragma GCC visibility pop

#endif
