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
  bool finite, promises, ownership, determinism, warn;
  char save[512]; /* folder; empty: save nothing */
  char name[64];
  atomic_uint running;              /* calls under way of functions that change what is alive */
  atomic_ullong activity;           /* such calls so far */
  atomic_uint saved;                /* calls saved so far */
  atomic_bool warned[WARNED_SLOTS]; /* by op number */
} Validate;

/* A tensor's elements in host memory, row-major; data is NULL if there are none to look at. */
typedef struct Content {
  BurnTensorDesc desc;
  unsigned char *data;
  uint64_t bytes;
} Content;

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
  char what[320];
} Check;

/* -- validate_check.c: each returns false, with promise and what set, if a promise is broken -- */

/* Records the first broken promise; always false. */
bool validate_broken(Check *check, const char *promise, uint32_t code, const char *format, ...);

/* Copies a primitive's elements; a failure is that of the allocation or of read. */
BurnStatus validate_read(const Validate *validate, BurnPrimitive *x, Content *content);
void validate_forget(const Validate *validate, Content *content);

/* Header and shape of result i against its description. */
bool validate_header(Check *check, uint32_t i, BurnPrimitive *x, const BurnTensorDesc *expected);
/* The content, read before, is what lies at the addresses that the header names (where they are packed). */
bool validate_addresses(Check *check, uint32_t i, const BurnPrimitive *x, const Content *content);
/* No NaN or infinity in the results if there was none in the inputs and attributes. */
bool validate_finite(Check *check);
/* The inputs chosen by `inputs` (bit i, inputs from 64 on always) are as they were; `whose` says who needs them so. */
BurnStatus validate_inputs_kept(Check *check, uint64_t inputs, const char *whose);
/* The rehearsal gave the same bits. */
bool validate_same(Check *check);

/* -- validate_report.c ------------------------------------------------------------------------ */

/* Text that grows in a fixed room and is cut at its end. */
typedef struct Text {
  char *at;
  size_t room;
} Text;
void validate_add(Text *text, const char *format, ...);
void validate_add_desc(Text *text, const BurnTensorDesc *desc);         /* f32[2,3] */
void validate_add_value(Text *text, const Content *content, int64_t i); /* 1.5, nan, true */

/* Reports the broken promise of a check: saves the call if wanted, then logs it (once per op) or makes the failure. */
BurnStatus validate_report(Check *check);

#endif
