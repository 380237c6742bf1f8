/* validate_memory_posix.c - copies memory that may not be there, without a signal. */
#define _GNU_SOURCE /* syscall, pipe2 */
#include "validate_internal.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

#if defined(__linux__) && defined(SYS_process_vm_readv)
/* -1 where the system call may not be used. Made directly: a sanitizer would take the copy for a fault of this code. */
static int copy_by_kernel(void *to, const void *from, uint64_t bytes) {
  const struct iovec local = {to, (size_t)bytes}, remote = {(void *)(uintptr_t)from, (size_t)bytes};
  const long got = syscall(SYS_process_vm_readv, (long)getpid(), &local, 1ul, &remote, 1ul, 0ul);
  if (got >= 0) return (uint64_t)got == bytes;
  static const char known = 1;
  char probe = 0; /* is it the memory, or the call? */
  const struct iovec probe_to = {&probe, 1}, probe_from = {(void *)(uintptr_t)&known, 1};
  return syscall(SYS_process_vm_readv, (long)getpid(), &probe_to, 1ul, &probe_from, 1ul, 0ul) == 1 ? 0 : -1;
}
#else
static int copy_by_kernel(void *to, const void *from, uint64_t bytes) {
  (void)to, (void)from, (void)bytes;
  return -1;
}
#endif

/* write() says EFAULT of memory that is not there. A pipe takes at least 512 bytes without a reader. */
static bool copy_through_pipe(char *to, const char *from, uint64_t bytes) {
  enum { CHUNK = 512 };
  int ends[2];
  if (pipe(ends) != 0) return false;
  bool good = true;
  for (uint64_t at = 0; good && at < bytes; at += CHUNK) {
    const size_t size = bytes - at < CHUNK ? (size_t)(bytes - at) : CHUNK;
    good = write(ends[1], from + at, size) == (ssize_t)size && read(ends[0], to + at, size) == (ssize_t)size;
  }
  close(ends[0]);
  close(ends[1]);
  return good;
}

bool validate_copy(void *to, const void *from, uint64_t bytes) {
  const int copied = bytes > 0 ? copy_by_kernel(to, from, bytes) : 1;
  return copied < 0 ? copy_through_pipe(to, from, bytes) : copied > 0;
}
