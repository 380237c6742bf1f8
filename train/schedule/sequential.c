/* sequential.c - schedules one after the other, each from its own beginning. */
#include <inttypes.h>
#include <math.h>

#include "schedule_internal.h"

static BurnStatus check(const void *context) {
  const BurnSequentialRate *sequential = context;
  uint64_t before = 0;
  BurnStatus status = burn__check_list("sequential", "schedules", sequential->schedules, sequential->count);
  if (status == BURN_OK && sequential->count > 1)
    status = burn__check_list("sequential", "milestones", sequential->milestones, sequential->count - 1);
  if (status != BURN_OK) return status;
  for (size_t i = 0; i + 1 < sequential->count; i++) {
    const uint64_t milestone = sequential->milestones[i];
    if (milestone <= before) {
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                              "sequential: milestones[%zu] is %" PRIu64 ", above %" PRIu64 " expected", i, milestone,
                              before);
    }
    before = milestone;
  }
  return BURN_OK;
}

/* That it has the lists that a rate needs. */
static bool is_whole(const BurnSequentialRate *sequential) {
  return sequential->schedules && sequential->count > 0 && (sequential->milestones || sequential->count == 1);
}

/* The first iteration of a schedule. */
static uint64_t first_of(const BurnSequentialRate *sequential, size_t index) {
  return index > 0 ? sequential->milestones[index - 1] : 0;
}

static double rate(const void *context, uint64_t iteration) {
  const BurnSequentialRate *sequential = context;
  if (!is_whole(sequential)) return (double)NAN;
  size_t index = sequential->count - 1;
  while (iteration < first_of(sequential, index)) index--;
  return burn_schedule_rate(&sequential->schedules[index], iteration - first_of(sequential, index));
}

static bool part(const void *context, size_t index, BurnSchedulePart *out) {
  const BurnSequentialRate *sequential = context;
  if (index >= sequential->count) return false;
  *out = (BurnSchedulePart){&sequential->schedules[index], first_of(sequential, index)};
  return true;
}

static const BurnScheduleInterface sequential_schedule = {"sequential", check, rate, part};

BurnSchedule burn_schedule_sequential(BurnSequentialRate *sequential) {
  return burn__schedule(&sequential_schedule, (BurnConfig){NULL, sequential});
}
