/* composed.c - the rates of several schedules in the same iteration, as one. */
#include <math.h>

#include "schedule_internal.h"

const BurnType *BurnRateReduction_type(void) {
  static const BurnVariant variants[] = {
      [BURN_RATES_AVG] = {"Avg", 0, NULL}, [BURN_RATES_SUM] = {"Sum", 0, NULL}, [BURN_RATES_PROD] = {"Prod", 0, NULL}};
  static const BurnType type = {.kind = BURN_TYPE_VARIANT,
                                .name = "BurnRateReduction",
                                .bytes = sizeof(BurnRateReduction),
                                .count = 3,
                                .variants = variants};
  return &type;
}

static BurnStatus check(const void *context) {
  const BurnComposedRate *composed = context;
  if (composed->config.reduction.kind > BURN_RATES_PROD) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "composed: unknown reduction %u",
                            composed->config.reduction.kind);
  }
  return burn__check_list("composed", "schedules", composed->schedules, composed->count);
}

static double rate(const void *context, uint64_t iteration) {
  const BurnComposedRate *composed = context;
  const uint32_t kind = composed->config.reduction.kind;
  if (!composed->schedules || composed->count == 0) return (double)NAN;
  double whole = kind == BURN_RATES_PROD ? 1 : 0;
  for (size_t i = 0; i < composed->count; i++) {
    const double one = burn_schedule_rate(&composed->schedules[i], iteration);
    whole = kind == BURN_RATES_PROD ? whole * one : whole + one;
  }
  return kind == BURN_RATES_AVG ? whole / (double)composed->count : whole;
}

static bool part(const void *context, size_t index, BurnSchedulePart *out) {
  const BurnComposedRate *composed = context;
  if (index >= composed->count) return false;
  *out = (BurnSchedulePart){&composed->schedules[index], 0};
  return true;
}

static const BurnScheduleInterface composed_schedule = {"composed", check, rate, part};

BurnSchedule burn_schedule_composed(BurnComposedRate *composed) {
  return burn__schedule(&composed_schedule, (BurnConfig){BurnComposedRateConfig_type(), composed});
}
