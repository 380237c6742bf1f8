/* gpu_fused_writer.h - the source of a fused body while it is written, and what its files share about values
 * (gpu_fused_text.c, gpu_fused_steps.c). */
#ifndef BURN_GPU_FUSED_WRITER_H
#define BURN_GPU_FUSED_WRITER_H

#include "gpu_fused.h"

#include <stdarg.h>

typedef struct Writer {
  const BurnHost *host;
  const BurnFusedKernel *kernel;
  const GpuFusedShape *shape;
  char *text;
  uint64_t used, room;
  bool has_failed;
  uint32_t loop;                         /* that is being written */
  bool needed[BURN_COMMON_FUSED_VALUES]; /* in that loop */
} Writer;

/* -- gpu_fused_text.c ------------------------------------------------------------------------- */

void burn__gpu_fused_put(Writer *w, const char *part);
/* A line of at most 400 bytes. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 0)))
#endif
void
burn__gpu_fused_print(Writer *w, const char *format, va_list arguments);

static inline void put(Writer *w, const char *part) { burn__gpu_fused_put(w, part); }
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static inline void
print(Writer *w, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  burn__gpu_fused_print(w, format, arguments);
  va_end(arguments);
}

/* -- gpu_fused_steps.c ------------------------------------------------------------------------ */

/* The functions of functions.def that steps call. */
void burn__gpu_fused_put_functions(Writer *w);
/* Step v: a local variable with its value. */
void burn__gpu_fused_put_step(Writer *w, uint32_t v);
/* What v is computed in: bool, float, double, int32_t, .. */
const char *burn__gpu_fused_type(const Writer *w, uint32_t v);
/* An element of a dtype in memory. */
const char *burn__gpu_fused_storage(BurnDType dtype);

/* The text of a value in the loop that is being written. */
typedef struct Name {
  char text[24];
} Name;
Name burn__gpu_fused_name(const Writer *w, uint32_t v);

/* -- values ----------------------------------------------------------------------------------- */

static inline const BurnCommonFusedValue *value_of(const Writer *w, uint32_t v) { return &w->kernel->plan.values[v]; }
static inline BurnCommonForm form_of(const Writer *w, uint32_t v) { return (BurnCommonForm)value_of(w, v)->form; }
static inline bool is_input(const Writer *w, uint32_t v) { return v < w->kernel->body.input_count; }
static inline bool is_bool(const Writer *w, uint32_t v) { return value_of(w, v)->dtype == BURN_DTYPE_BOOL; }
static inline bool is_f64(const Writer *w, uint32_t v) { return value_of(w, v)->dtype == BURN_DTYPE_F64; }
static inline bool is_integer(const Writer *w, uint32_t v) {
  return burn_dtype_kind(value_of(w, v)->dtype) == BURN_KIND_INT;
}
static inline bool is_random(BurnCommonForm form) {
  return form == BURN_COMMON_FORM_UNIFORM || form == BURN_COMMON_FORM_BERNOULLI;
}
/* The first number of the call that step v has. */
static inline uint32_t number_of(const Writer *w, uint32_t v) {
  return w->kernel->first_number[v - w->kernel->body.input_count];
}

#endif
