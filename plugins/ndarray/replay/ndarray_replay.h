/* ndarray_replay.h - "burn.replay" of this backend: what the table of functions asks while calls are recorded. */
#ifndef BURN_NDARRAY_REPLAY_H
#define BURN_NDARRAY_REPLAY_H

#include "ndarray_internal.h"

#include <burn/plugin/fused.h>
#include <burn/plugin/replay.h>

/* The table; its self is the Ndarray. */
extern const BurnReplayInterface nd_replay_interface;

/* True if the calls of this thread are recorded, or patch a recording, instead of being run. */
bool nd_is_recording(const Ndarray *nd);
BurnStatus nd_record_call(Ndarray *nd, const BurnOpCall *call);
BurnStatus nd_record_body(Ndarray *nd, const BurnFusedCall *call);
BurnStatus nd_record_calls(Ndarray *nd, const BurnOpCall *const *calls, uint64_t count);
/* What cannot be recorded. */
BurnStatus nd_refuse_recording(Ndarray *nd, const char *what);

/* A tensor without contents that stands for a value of a recording. */
static inline bool nd_is_ghost(const NdTensor *x) { return x->storage->kind == ND_STORAGE_GHOST; }
void nd_ghost_release(Ndarray *nd, NdTensor *x);

#endif
