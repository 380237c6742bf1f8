/* kernel_arena.h - memory of a compilation, given back as a whole, and the way out where one fails. */
#ifndef BURN_VULKAN_KERNEL_ARENA_H
#define BURN_VULKAN_KERNEL_ARENA_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

/* With C's own formats, on Windows too. */
#if defined(__MINGW32__)
#define KERNEL_PRINTF(string, first) __attribute__((__format__(__gnu_printf__, string, first), __noreturn__))
#elif defined(__GNUC__)
#define KERNEL_PRINTF(string, first) __attribute__((__format__(__printf__, string, first), __noreturn__))
#else
#define KERNEL_PRINTF(string, first)
#endif

typedef struct KernelChunk KernelChunk;

/* Whoever starts work sets `escape` and `why`; what fails below goes back there. */
typedef struct KernelArena {
  KernelChunk *chunks;
  uint64_t used; /* bytes in all */
  jmp_buf escape;
  char *why;
  size_t why_bytes;
} KernelArena;

/* Zeroed. Without memory, or beyond what a compilation may take, it escapes. */
void *burn__kernel_allocate(KernelArena *arena, size_t bytes);
/* Escapes with "line 12: ..."; line 0: without it. */
void burn__kernel_escape(KernelArena *arena, uint32_t line, const char *format, ...) KERNEL_PRINTF(3, 4);
void burn__kernel_arena_free(KernelArena *arena);

#endif
