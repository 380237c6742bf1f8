/* fusion_statistics.h - the interface "burn.fusion" of the decorator that queues ops: what it has done so far. For
 * tools and tests. */
#ifndef BURN_PLUGIN_FUSION_STATISTICS_H
#define BURN_PLUGIN_FUSION_STATISTICS_H

#include <burn/plugin/backend.h>

/* The name to ask get_interface for. */
#define BURN_FUSION_INTERFACE "burn.fusion"

/* Counts since the decorator was opened. Every recorded op is in exactly one of fused_ops, calls and dead_ops once
 * it was flushed. */
typedef struct BurnFusionStatistics {
  uint32_t struct_size; /* set by the caller: no more than that is filled */
  uint32_t reserved;
  uint64_t ops; /* recorded and flushed */
  uint64_t flushes;
  uint64_t plans;     /* made; the other flushes found theirs */
  uint64_t kernels;   /* runs of compiled bodies ... */
  uint64_t fused_ops; /* ... and the ops in them */
  uint64_t calls;     /* ops that were called one by one */
  uint64_t dead_ops;  /* not computed: nobody read their results, or a mixed call did without them (mixed.h) */
#if BURN_TARGET_MINOR >= 5
  uint64_t recordings; /* of plans that repeat (replay.h) ... */
  uint64_t replays;    /* ... and flushes that were run by one; their ops count as if they had been run one by one */
#endif
} BurnFusionStatistics;

/* Interface "burn.fusion", version 1. */
typedef struct BurnFusionInterface {
  uint32_t struct_size;
  uint32_t version;
  /* Flushes what is queued, and fills out. */
  void(BURN_API_CALL *statistics)(void *self, BurnFusionStatistics *out);
} BurnFusionInterface;

#endif
