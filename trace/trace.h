/* trace.h - what programs may ask this decorator: how much has passed through it. */
#ifndef TRACE_H
#define TRACE_H

#include <burn/plugin/abi.h>

/* Interface "trace.counts", version 1, found with the get_interface of the decorator's table. */
typedef struct TraceCounts {
  uint32_t struct_size;
  uint32_t version;
  uint64_t(BURN_API_CALL *calls)(void *self);    /* calls that passed, the replaced ones included */
  uint64_t(BURN_API_CALL *replaced)(void *self); /* calls that this decorator ran in its own way */
} TraceCounts;

#endif
