/* schedule.c - what all schedules have: see schedule.h and schedule_internal.h. */
#include "schedule_internal.h"

BurnStatus burn_schedule_check(const BurnSchedule *schedule) {
  const BurnScheduleInterface *table = schedule ? schedule->table : NULL;
  if (!table || !table->rate) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "schedule: no table, as where the config was NULL, or one without a rate");
  }
  BurnStatus status = table->check ? table->check(schedule->config.data) : BURN_OK;
  BurnSchedulePart part;
  for (size_t i = 0; status == BURN_OK && table->part && table->part(schedule->config.data, i, &part); i++) {
    status = burn_status_annotate(burn_schedule_check(part.schedule), "%s: part %zu", table->name, i);
  }
  return status;
}

double burn_schedule_rate(const BurnSchedule *schedule, uint64_t iteration) {
  if (!schedule || !schedule->table || !schedule->table->rate) return 0;
  return schedule->table->rate(schedule->config.data, iteration);
}

BurnStatus burn__check_share(const char *schedule, const char *field, double value) {
  if (value > 0 && value <= 1) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: %s is %g, above 0 to 1 expected", schedule, field, value);
}

BurnStatus burn__check_low_rate(const char *schedule, const char *field, double value) {
  if (value >= 0 && value <= 1) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: %s is %g, 0 to 1 expected", schedule, field, value);
}

BurnStatus burn__check_list(const char *schedule, const char *field, const void *list, size_t count) {
  if (count == 0) return burn__check_count(schedule, "count", count);
  if (list) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: %s is NULL, a list of %zu expected", schedule, field,
                          count);
}

BurnStatus burn__check_count(const char *schedule, const char *field, size_t value) {
  if (value > 0) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: %s is 0, at least 1 expected", schedule, field);
}
