/* replay.h - the interface "burn.replay" of a backend: work that is asked for once and then run again and again.
 *
 * A step of training is some hundred calls, the same in every round but for contents and a few numbers. A backend that
 * can put its queue's work into an object of the device (a CUDA graph, a command buffer) lets a decorator that knows
 * what repeats (burn_fusion.so) make the calls once while nothing runs, and then start all of them by one function.
 *
 * The life of a recording: begin; for every input a stand-in or a slot; the calls, each after its mark, through submit
 * and the other interfaces as ever; hold for every result that is wanted; end. Then, for each round: patch what has
 * other numbers, fill the slots, run, take the results.
 *
 * Stand-ins. While a recording is made, calls get stand-ins of tensors: other primitives that say the same of shape,
 * strides, place and who holds them. So nothing happens to the tensors themselves: a call that would write into its
 * input does so in a stand-in, and a recording that fails half-way has changed nothing. It also means that the recorded
 * work reads and writes at the places where the tensors lay: before a run, the caller sees to it that the tensors of
 * this round lie there (where), or copies them into slots.
 *
 * Memory. What the recorded calls allocate comes from memory that belongs to recordings as long as they live, so
 * nobody else is ever at these places. Results that are held have memory of their recording's own; what is in use
 * during a run only, all recordings of an instance may share. What is taken shares the memory of the held result: the
 * next run would change it, so the caller asks is_free first. Everything that is taken stays valid after drop.
 *
 * Threads: between begin and end, and between patch_begin and patch_end, the calls of the thread that began are meant;
 * those of others wait. The other functions may be called from any thread, for one recording from one at a time. Only
 * one thread at a time may be in between: a second one waits in begin. */
#ifndef BURN_PLUGIN_REPLAY_H
#define BURN_PLUGIN_REPLAY_H

#include <burn/plugin/backend.h>

/* The name to ask get_interface for. */
#define BURN_REPLAY_INTERFACE "burn.replay"

#define BURN_REPLAY_INPUT UINT32_MAX /* stand_in: for an input of the whole recording, not of one call */
#define BURN_REPLAY_NONE UINT32_MAX  /* hold: the memory is that of the recording, not of an input */

/* Recorded work; belongs to the caller of begin until end has failed, or drop. */
typedef struct BurnRecording BurnRecording;

/* Where a tensor lies. Two tensors of one shape, dtype and strides for which all of this is equal are the same to
 * recorded work. */
typedef struct BurnReplayPlace {
  uint32_t struct_size; /* set by the caller */
  uint32_t holders;     /* references to the primitive, and to its memory by others; 1: whoever asks is the only one */
  uint64_t address;     /* of the first element, as the device knows it */
  uint64_t memory;      /* where the memory begins that it may share with others ... */
  uint64_t bytes;       /* ... and how long that is */
} BurnReplayPlace;
#define BURN_REPLAY_PLACE_MIN_BYTES BURN_BYTES_THROUGH(BurnReplayPlace, bytes)

/* What an instance has counted since it was opened. */
typedef struct BurnReplayStatistics {
  uint32_t struct_size; /* set by the caller: no more than that is filled */
  uint32_t reserved;
  uint64_t launches;   /* kernels started one by one */
  uint64_t recordings; /* that end has made runnable */
  uint64_t runs;       /* of recordings */
  uint64_t patches;    /* kernels of recordings that got other arguments */
} BurnReplayStatistics;

/* What get_interface(BURN_REPLAY_INTERFACE) gives, version 1. */
typedef struct BurnReplayInterface {
  uint32_t struct_size;
  uint32_t version;

  /* From now on, what this thread asks of the instance is recorded and not run. What cannot be recorded fails and says
   * so: a wait for the device, a copy from or to memory of the host, a kernel that must be compiled first. */
  BurnStatus(BURN_API_CALL *begin)(void *self, BurnRecording **out);

  /* The calls that follow belong to call `index`, until the next mark. Indices rise. Also in a patch. `keeps` 1:
   * results of them will be held; one that is held all the same costs a copy in every run. */
  BurnStatus(BURN_API_CALL *mark)(void *self, BurnRecording *recording, uint32_t index, int32_t keeps);

  /* While recording: a stand-in for x. `index` BURN_REPLAY_INPUT: for an input of the recording, number `input`; the
   * caller has one reference to it, as it has to x. Else for call `index`, which has its mark already: an input of that
   * call, to make it again with in a patch; it belongs to the recording, and the caller releases nothing. */
  BurnStatus(BURN_API_CALL *stand_in)(void *self, BurnRecording *recording, uint32_t index, uint32_t input,
                                      BurnPrimitive *x, BurnPrimitive **out);

  /* While recording: memory for an input whose place differs from round to round: a primitive like x with one
   * reference for the caller, and the slot's number for fill. */
  BurnStatus(BURN_API_CALL *slot)(void *self, BurnRecording *recording, BurnPrimitive *x, BurnPrimitive **out,
                                  uint32_t *number);

  /* While recording: x, computed by it, is to be there after runs: its number for take. *input is the number of the
   * input whose memory x lies in (x was written over it, or is a view of it), else BURN_REPLAY_NONE. */
  BurnStatus(BURN_API_CALL *hold)(void *self, BurnRecording *recording, BurnPrimitive *x, uint32_t *number,
                                  uint32_t *input);

  /* Ends recording. ok 1: makes it runnable; on failure, and with ok 0, the recording is gone. Nothing has run. */
  BurnStatus(BURN_API_CALL *end)(void *self, BurnRecording *recording, int32_t ok);

  /* Between the two, calls with the tensors of stand_in and other numbers in their attributes (fused.h says which may
   * differ) change recorded work and run nothing. Each is a call that was recorded, after its mark, and its results are
   * released. patch_end fails if they asked for other work than was recorded: then the recording is of no use any more
   * and must be dropped. */
  BurnStatus(BURN_API_CALL *patch_begin)(void *self, BurnRecording *recording);
  BurnStatus(BURN_API_CALL *patch_end)(void *self, BurnRecording *recording);

  /* Puts a copy of x, which is like the tensor that the slot was made for, into the slot. FAILED_PRECONDITION if its
   * strides or its alignment are other ones. */
  BurnStatus(BURN_API_CALL *fill)(void *self, BurnRecording *recording, uint32_t number, BurnPrimitive *x);

  /* Puts all recorded work into the queue. */
  BurnStatus(BURN_API_CALL *run)(void *self, BurnRecording *recording);

  /* A held result of the last run, with one reference for the caller. `input` is the tensor of this round whose memory
   * it lies in, NULL if hold said BURN_REPLAY_NONE. copies 1: in memory of its own. */
  BurnStatus(BURN_API_CALL *take)(void *self, BurnRecording *recording, uint32_t number, BurnPrimitive *input,
                                  int32_t copies, BurnPrimitive **out);

  /* 1 if nobody has a tensor any more that shares the memory of this result. */
  int32_t(BURN_API_CALL *is_free)(void *self, BurnRecording *recording, uint32_t number);

  /* Ends a recording. NULL is allowed. */
  void(BURN_API_CALL *drop)(void *self, BurnRecording *recording);

  /* Fills out, for a tensor of this instance. */
  void(BURN_API_CALL *where)(void *self, BurnPrimitive *x, BurnReplayPlace *out);

  void(BURN_API_CALL *statistics)(void *self, BurnReplayStatistics *out);
} BurnReplayInterface;
#define BURN_REPLAY_INTERFACE_MIN_BYTES BURN_BYTES_THROUGH(BurnReplayInterface, statistics)

#endif
