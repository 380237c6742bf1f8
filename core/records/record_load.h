/* record_load.h - what the files share that take modules apart into records and put records into them. */
#ifndef BURN_CORE_RECORD_LOAD_H
#define BURN_CORE_RECORD_LOAD_H

#include "record_internal.h"

/* A step into the module, linked upwards; becomes text only in a failure. */
typedef struct BurnRecordStep {
  const struct BurnRecordStep *parent; /* NULL: the module itself */
  const char *name;
} BurnRecordStep;

/* "fc1.weight: " before the message of a status; the same with a status of its own. */
BurnStatus burn__record_at(const BurnRecordStep *step, BurnStatus status);
BurnStatus burn__record_fail_at(const BurnRecordStep *step, uint32_t code, const char *format, ...) BURN_PRINTF(3, 4);

/* The id of a tensor that a visit meets. */
uint64_t burn__record_tensor_id(const BurnModuleTensor *tensor);

/* A tensor that waits for all others to be fine. */
typedef struct BurnRecordPending {
  BurnParam *param;
  BurnBuffer *buffer; /* when param is NULL */
  uint64_t id;
  const BurnValue *input_scale; /* of a parameter in the file; NULL: none */
  BurnRecordParam made;         /* of a buffer, the value is in the place of quantized ones. Without values: the place
                                   keeps its tensor; only the id counts */
} BurnRecordPending;

/* All of them, in the order of a visit. Start from zeros. */
typedef struct BurnRecordLoader {
  BurnRecordPending *pending;
  size_t count, capacity;
  bool ids_optional;  /* a tensor alone stands for a parameter, which keeps its id */
  bool adopts_dtypes; /* new tensors have the dtypes of the record, not of the module */
} BurnRecordLoader;

/* Takes item.made. */
BurnStatus burn__record_push(BurnRecordLoader *loader, BurnRecordPending item);
/* Checks a record {id, param} against what the module has stored there and makes the new tensor. INVALID_SHAPE or
 * INVALID_DTYPE where shapes or kinds of numbers differ. */
BurnStatus burn__record_load_present(BurnRecordLoader *loader, const BurnRecordStep *step, const BurnTensor *current,
                                     BurnRecordPending item, const BurnValue *record);
/* The last step of loading: all of it, or, where the status is a failure or two tensors have one id, nothing. Ends the
 * loader. */
BurnStatus burn__record_swap_in(BurnRecordLoader *loader, BurnModule module, BurnStatus status);
/* Puts a record of any format into a module, with options; the report, which is empty before, says what became of each
 * tensor, also where the result is a failure. */
BurnStatus burn__record_into_module(const BurnValue *item, BurnModule module, const BurnRecordLoad *options,
                                    BurnRecordReport *report);
/* The same for tensors of elsewhere. */
BurnStatus burn__tensors_into_module(const BurnRecordTensor *tensors, size_t count, BurnModule module,
                                     const BurnRecordLoad *options, BurnRecordReport *report);
/* Fails if two tensors of the module have one id: what would be refused when it is read is not written. */
BurnStatus burn__record_check_ids(BurnModule module);

#endif
