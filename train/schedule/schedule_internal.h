/* schedule_internal.h - how schedules are made, and the checks that they share: INVALID_ARGUMENT, with name, field and
 * value. */
#ifndef BURN_TRAIN_SCHEDULE_INTERNAL_H
#define BURN_TRAIN_SCHEDULE_INTERNAL_H

#include <burn/train/schedule.h>

/* A schedule of ours: all zeros, which burn_schedule_check refuses, where it has no config. */
static inline BurnSchedule burn__schedule(const BurnScheduleInterface *table, BurnConfig config) {
  return config.data ? (BurnSchedule){table, config} : (BurnSchedule){NULL, {NULL, NULL}};
}

/* That a rate or factor is above 0 and at most 1. */
BurnStatus burn__check_share(const char *schedule, const char *field, double value);
/* That a rate is 0 to 1. */
BurnStatus burn__check_low_rate(const char *schedule, const char *field, double value);
/* That a list is there and has at least one entry. */
BurnStatus burn__check_list(const char *schedule, const char *field, const void *list, size_t count);
/* That a number of iterations, or a size, is at least 1. */
BurnStatus burn__check_count(const char *schedule, const char *field, size_t value);

#endif
