/* recorder.h - the interface "burn.recorder" of a decorator: the calls that pass through it, kept with their tensors.
 *
 * For whoever writes down what a program computes: an exporter runs a model once between begin and end, and reads the
 * calls afterwards. Every tensor that is an input or output of a recorded call stays alive, so that two primitives are
 * the same value exactly if their addresses are equal, and values that the program made on its way can be read. */
#ifndef BURN_PLUGIN_RECORDER_H
#define BURN_PLUGIN_RECORDER_H

#include <burn/plugin/backend.h>

/* The name to ask get_interface for. */
#define BURN_RECORDER_INTERFACE "burn.recorder"

/* What get_interface(BURN_RECORDER_INTERFACE) gives, version 1. */
typedef struct BurnRecorderInterface {
  uint32_t struct_size;
  uint32_t version;

  /* From now on calls are recorded, those of all threads in the order in which they end. Composite ops are recorded as
   * one call if they are among ops [op_count], else as what they are decomposed into; primitive ops always. What was
   * recorded before is forgotten. FAILED_PRECONDITION while it records. */
  BurnStatus(BURN_API_CALL *begin)(void *self, const uint32_t *ops, uint64_t op_count);

  /* Calls are no longer recorded. FAILED_PRECONDITION without a begin; OUT_OF_MEMORY if a call could not be kept. */
  BurnStatus(BURN_API_CALL *end)(void *self);

  /* Calls recorded, and one of them, NULL beyond the last: with attributes, inputs (NULL where an optional one was
   * absent), outputs and output_descs; donate is 0. Borrowed until they are forgotten. Ask after end. */
  uint64_t(BURN_API_CALL *count)(void *self);
  const BurnOpCall *(BURN_API_CALL *call)(void *self, uint64_t index);

  /* Forgets what was recorded, and releases its tensors. close does, too. */
  void(BURN_API_CALL *forget)(void *self);
} BurnRecorderInterface;
#define BURN_RECORDER_INTERFACE_MIN_BYTES BURN_BYTES_THROUGH(BurnRecorderInterface, forget)

#endif
