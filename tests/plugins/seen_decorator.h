/* seen_decorator.h - what the decorator `seen` has seen. */
#ifndef SEEN_DECORATOR_H
#define SEEN_DECORATOR_H

#include <burn/plugin/op.h>

#define SEEN_INTERFACE "seen.calls"
enum { SEEN_MAX = 64 };

typedef struct SeenCall {
  uint32_t op, origin, flags;
  uint64_t donate;
  const BurnExtension *next;
} SeenCall;

typedef struct SeenCalls {
  uint32_t count;     /* set to 0 to begin anew */
  const void *fusion; /* what to give as "burn.fusion" in place of what lies below; NULL: that */
  SeenCall calls[SEEN_MAX];
} SeenCalls;

#endif
