/* gradient_clipping.c - gradients made smaller before a step: element by element, each by its own norm as in Burn, or
 * all by one norm as in PyTorch. Norms stay on the device: the factor is a tensor, so nothing waits. */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>

#include <burn/text.h>

#include "optimizer_internal.h"

static const BurnField limit_fields[] = {
    {NULL, BurnF64_type, offsetof(BurnGradientClipping, limit), "largest value or norm", true}};
static const BurnVariant variants[] = {
    [BURN_GRADIENT_CLIPPING_NONE] = {"None", 0, NULL},
    [BURN_GRADIENT_CLIPPING_VALUE] = {"Value", 1, limit_fields},
    [BURN_GRADIENT_CLIPPING_NORM] = {"Norm", 1, limit_fields},
    [BURN_GRADIENT_CLIPPING_GLOBAL_NORM] = {"GlobalNorm", 1, limit_fields},
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

const BurnType *BurnGradientClipping_type(void) {
  static const BurnType type = {.kind = BURN_TYPE_VARIANT,
                                .name = "BurnGradientClipping",
                                .bytes = sizeof(BurnGradientClipping),
                                .count = VARIANTS,
                                .variants = variants};
  return &type;
}

BurnStatus burn__clipping_check(const char *who, BurnGradientClipping clipping) {
  if (clipping.kind >= VARIANTS) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: clipping of unknown kind %u", who, clipping.kind);
  }
  if (clipping.kind == BURN_GRADIENT_CLIPPING_NONE || clipping.limit > 0) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: the limit of clipping by %s is %g, above 0 expected", who,
                          variants[clipping.kind].name, clipping.limit);
}

void burn__clipping_text(BurnGradientClipping clipping, char text[BURN__CLIPPING_BYTES]) {
  char limit[BURN_NUMBER_BYTES];
  const BurnVariant *variant = &variants[clipping.kind];
  const char *number = variant->field_count ? burn_number_text(clipping.limit, 0, limit) : "";
  (void)snprintf(text, BURN__CLIPPING_BYTES, "%s%s%s", variant->name, variant->field_count ? " " : "", number);
}

/* -- norms ------------------------------------------------------------------------------------ */

/* [1]: the sum of squares of x (taken); of halves in f32, where it does not overflow. */
static BurnTensor *sum_of_squares(BurnTensor *x) {
  x = burn__without_halves(x);
  return burn_sum(burn_square(x));
}

/* x * factor, which is [1]; both taken. x keeps its dtype; halves are multiplied in f32. */
static BurnTensor *scaled(BurnTensor *x, BurnTensor *factor) {
  const BurnDType dtype = burn_dtype(x);
  x = burn__without_halves(x);
  factor = burn_unsqueeze(burn_cast(factor, burn_dtype(x)), burn_rank(x));
  return burn_cast(burn_mul(x, factor), dtype);
}

/* [1]: min(1, limit / (norm + least)); takes norm. */
static BurnTensor *factor_of(BurnTensor *norm, double limit, double least) {
  return burn_clamp_max(burn_scalar_div(limit, burn_add_scalar(norm, least)), 1.0);
}

BurnTensor *burn__gradient_clip(BurnTensor *gradient, BurnGradientClipping clipping) {
  if (clipping.kind == BURN_GRADIENT_CLIPPING_VALUE) return burn_clamp(gradient, -clipping.limit, clipping.limit);
  if (clipping.kind != BURN_GRADIENT_CLIPPING_NORM) return gradient;
  const double least = burn_dtype(gradient) == BURN_DTYPE_F64 ? DBL_MIN : (double)FLT_MIN;
  BurnTensor *norm = burn_sqrt(sum_of_squares(burn_clone(gradient)));
  return scaled(gradient, factor_of(norm, clipping.limit, least));
}

/* -- all gradients ---------------------------------------------------------------------------- */

/* The gradients that are there, borrowed, in an array of map.count places; NULL when out of memory. */
static BurnTensor ***present(const BurnGradientsParams *gradients, size_t *count) {
  BurnTensor ***entries = malloc((gradients->map.count + 1) * sizeof *entries);
  *count = 0;
  for (size_t i = 0; entries && i < gradients->map.count; i++) {
    BurnTensor **entry = burn__param_map_at(&gradients->map, i);
    if (*entry) entries[(*count)++] = entry;
  }
  return entries;
}

/* f64 where a gradient has it, else f32. */
static BurnDType widest(BurnTensor **const *entries, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (burn_dtype(*entries[i]) == BURN_DTYPE_F64) return BURN_DTYPE_F64;
  }
  return BURN_DTYPE_F32;
}

static BurnTensor *on_device(BurnTensor *x, BurnDevice *device) {
  return burn_tensor_device(x) == device ? x : burn_to_device(x, device);
}

/* [1]: the norm of at least one gradient. */
static BurnTensor *norm_of(BurnTensor **const *entries, size_t count) {
  BurnDevice *device = burn_tensor_device(*entries[0]);
  const BurnDType dtype = widest(entries, count);
  BurnTensor **sums = malloc(count * sizeof *sums);
  if (!sums) return burn_tensor_failed(burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "gradients: out of memory"));
  for (size_t i = 0; i < count; i++) {
    sums[i] = on_device(burn_cast(sum_of_squares(burn_clone(*entries[i])), dtype), device);
  }
  BurnTensor *norm = burn_sqrt(burn_sum(burn_cat(sums, count, 0)));
  free(sums);
  return norm;
}

static BurnStatus no_memory(void) {
  return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "gradients: out of memory when they were clipped");
}

BurnTensor *burn_gradients_params_norm(const BurnGradientsParams *gradients) {
  size_t count;
  const BurnStatus status = burn__gradients_params_status(gradients);
  if (status != BURN_OK) return burn_tensor_failed(status);
  BurnTensor ***entries = present(gradients, &count);
  if (!entries) return burn_tensor_failed(no_memory());
  BurnTensor *norm = count > 0
                         ? norm_of(entries, count)
                         : burn_tensor_failed(burn_status_make(
                               BURN_STATUS_INVALID_ARGUMENT, "gradients: there are none, so their norm has no device"));
  free(entries);
  return norm;
}

static void clip_together(BurnTensor **const *entries, size_t count, double limit) {
  if (count == 0) return;
  BurnTensor *factor = factor_of(norm_of(entries, count), limit, 1e-6);
  for (size_t i = 0; i < count; i++) {
    BurnTensor *own = on_device(burn_clone(factor), burn_tensor_device(*entries[i]));
    *entries[i] = scaled(*entries[i], own);
  }
  burn_drop(factor);
}

BurnStatus burn_gradients_params_clip(BurnGradientsParams *gradients, BurnGradientClipping clipping) {
  size_t count;
  BurnStatus status = burn__gradients_params_status(gradients);
  if (status == BURN_OK) status = burn__clipping_check("gradients", clipping);
  if (status != BURN_OK) return status;
  BurnTensor ***entries = present(gradients, &count);
  if (!entries) return no_memory();
  if (clipping.kind == BURN_GRADIENT_CLIPPING_GLOBAL_NORM) clip_together(entries, count, clipping.limit);
  for (size_t i = 0; i < count; i++) {
    *entries[i] = burn_scope_keep(NULL, burn__gradient_clip(*entries[i], clipping));
    if (status == BURN_OK) status = burn_tensor_status(*entries[i]);
  }
  free(entries);
  return status;
}
