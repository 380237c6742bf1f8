/* schedule.c - see schedule.h. */
#include <burn/train/schedule.h>

BurnStatus burn_schedule_check(const BurnSchedule *schedule) {
  if (!schedule->table || !schedule->table->rate) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "schedule: no table, or one without a rate");
  }
  return schedule->table->check ? schedule->table->check(schedule->config.data) : BURN_OK;
}

double burn_schedule_rate(const BurnSchedule *schedule, uint64_t iteration) {
  return schedule->table->rate(schedule->config.data, iteration);
}
