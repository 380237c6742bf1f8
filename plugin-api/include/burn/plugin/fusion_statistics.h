/* fusion_statistics.h - the interface "burn.fusion" of the decorator that queues ops: what it has done so far, for
 * tools and tests, and regions that are submitted as one (burn/capture.h). */
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

#define BURN_FUSION_SINGLE 0u   /* launches were made one by one */
#define BURN_FUSION_RECORDED 1u /* they were recorded, and the recording was run */
#define BURN_FUSION_REPLAYED 2u /* a recording was run that was there */

/* What became of a region. */
typedef struct BurnFusionRegion {
  uint32_t struct_size; /* set by the caller: no more than that is filled */
  uint32_t outcome;     /* BURN_FUSION_..: the least of its parts */
  uint32_t parts;       /* 1; more if something asked for results inside; 0: nothing was called */
  uint32_t reserved;
  uint64_t calls;    /* that were queued */
  uint64_t launches; /* that they are */
  uint64_t replays;  /* of this region so far, of its last part if there are several */
  char reason[256];  /* why it was not replayed as one; "": it was */
} BurnFusionRegion;

/* Interface "burn.fusion", version 1. */
typedef struct BurnFusionInterface {
  uint32_t struct_size;
  uint32_t version;
  /* Flushes what is queued, and fills out. */
  void(BURN_API_CALL *statistics)(void *self, BurnFusionStatistics *out);
#if BURN_TARGET_MINOR >= 6
  /* From begin to end, which are optional, the calls of this thread are one region: nothing but a question about their
   * results, or memory, has them run before its end. begin runs what was queued before. FAILED_PRECONDITION for begin
   * in a region and for end without. A thread that ends in a region loses it. end fills out unless it is NULL; failures
   * of calls are reported where their results are read. */
  BurnStatus(BURN_API_CALL *capture_begin)(void *self);
  BurnStatus(BURN_API_CALL *capture_end)(void *self, BurnFusionRegion *out);
#endif
} BurnFusionInterface;

#endif
