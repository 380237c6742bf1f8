/* validate_internal.h - what the files of the validate decorator share. Read validate_plugin.c first. */
#ifndef BURN_VALIDATE_INTERNAL_H
#define BURN_VALIDATE_INTERNAL_H

#include <burn/plugin/plugin.h>

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

enum { WARNED_SLOTS = 4096 };

/* An opened decorator. */
typedef struct Validate {
  const BurnHost *host;
  const BurnBackend *next; /* the level below */
  bool promises, ownership, determinism, warn;
  bool finite, finite_is_strict; /* look for values that are not finite; whether they break a promise */
  char save[512];                /* folder; empty: save nothing */
  char name[64];
  atomic_uint running;              /* calls under way of functions that change what is alive */
  atomic_ullong activity;           /* such calls so far */
  atomic_uint saved;                /* calls saved so far */
  atomic_bool warned[WARNED_SLOTS]; /* of broken promises, by op number */
  atomic_bool told[WARNED_SLOTS];   /* of values that are not finite, likewise */
} Validate;

/* A tensor's elements in host memory, row-major; data is NULL if there are none to look at. */
typedef struct Content {
  BurnTensorDesc desc;
  unsigned char *data;
  uint64_t bytes;
} Content;

/* Where a result says that its elements lie; checked. */
typedef struct Memory {
  BurnTensorDesc desc;
  bool is_host; /* else there are no addresses to look at */
  const void *buffer;
  int64_t byte_offset, strides[BURN_MAX_RANK];
} Memory;

/* One call under examination. The first promise that breaks is kept. */
typedef struct Check {
  Validate *validate;
  const BurnOpCall *call;
  const BurnOpInfo *info;
  Content *before;                     /* [input_count]: the inputs before the call */
  Content rehearsed[BURN_MAX_OUTPUTS]; /* results of the rehearsal */
  Content after[BURN_MAX_OUTPUTS];     /* results of the call */
  const char *promise;                 /* NULL while none is broken */
  uint32_t code;
  char what[480];
} Check;

/* -- validate_check.c: each returns false, with promise and what set, if a promise is broken -- */

/* Records the first broken promise; always false. */
bool validate_broken(Check *check, const char *promise, uint32_t code, const char *format, ...);

/* Copies a primitive's elements; a failure is that of the allocation or of read. */
BurnStatus validate_read(const Validate *validate, BurnPrimitive *x, Content *content);
void validate_forget(const Validate *validate, Content *content);

/* The call says of its results what the op makes of its inputs and attributes: nobody changed these on the way down and
 * left output_descs as they were. */
bool validate_described(Check *check);
/* No NaN or infinity in the results if there was none in the inputs and attributes. */
bool validate_finite(Check *check);
/* The inputs chosen by `inputs` (bit i, inputs from 64 on always) are as they were; `whose` says who needs them so. */
BurnStatus validate_inputs_kept(Check *check, uint64_t inputs, const char *whose);
/* The rehearsal gave the same bits. */
bool validate_same(Check *check);

/* -- validate_header.c ------------------------------------------------------------------------ */

/* Header, shape and memory of result i against its description; fills memory. True if *x can be read. *x becomes NULL
 * if it cannot even be released. */
bool validate_header(Check *check, uint32_t i, BurnPrimitive **x, const BurnTensorDesc *expected, Memory *memory);
/* The content, read before, is what lies at the addresses that the header names. */
bool validate_addresses(Check *check, uint32_t i, const Memory *memory, const Content *content);

/* -- validate_memory_posix.c, validate_memory_windows.c --------------------------------------- */

/* Copies memory that may not be there; false if some of it cannot be read. */
bool validate_copy(void *to, const void *from, uint64_t bytes);

/* -- validate_report.c ------------------------------------------------------------------------ */

/* Text that grows in a fixed room and is cut at its end. */
typedef struct Text {
  char *at;
  size_t room;
} Text;
void validate_add(Text *text, const char *format, ...);
void validate_add_desc(Text *text, const BurnTensorDesc *desc);         /* f32[2,3] */
void validate_add_value(Text *text, const Content *content, int64_t i); /* 1.5, nan, true */

/* Reports what a check found: saves the call if wanted, then logs it (once per op) or makes the failure. Values that
 * are not finite are a failure only when that is strict. */
BurnStatus validate_report(Check *check);

#endif
