/* schedule.h - learning rates that change during a run. A schedule is a function of the iteration, so a run that
 * resumes needs nothing of it but its config. */
#ifndef BURN_TRAIN_SCHEDULE_H
#define BURN_TRAIN_SCHEDULE_H

#include <burn/burn.h>

BURN_EXTERN_C_BEGIN

/* A schedule of your own: the learning rate as a function of the iteration. */
typedef struct BurnScheduleInterface {
  const char *name; /* "cosine_annealing": in messages and checkpoints */
  /* Why a config makes no sense, or BURN_OK; NULL: every one does. */
  BurnStatus (*check)(const void *config);
  /* The rate of an iteration. They are batches from the beginning of the run, counted from 0, also where several make
   * one optimizer step, as in Burn. */
  double (*rate)(const void *config, uint64_t iteration);
} BurnScheduleInterface;

/* A schedule in use; all zero for none. The config (which may be one without type) must outlive the run. A run that
 * resumes must have the same one. */
typedef struct BurnSchedule {
  const BurnScheduleInterface *table;
  BurnConfig config;
} BurnSchedule;

/* INVALID_ARGUMENT without a table or its rate; else what the schedule's own check says of the config. */
BURN_API BURN_USE_RESULT BurnStatus burn_schedule_check(const BurnSchedule *schedule);
/* For loops of one's own; the config has been checked. */
BURN_API double burn_schedule_rate(const BurnSchedule *schedule, uint64_t iteration);

/* -- schedules that ship with the framework --------------------------------------------------- */

/* min_lr + (initial_lr - min_lr) (1 + cos(pi i / num_iters)) / 2, with iteration i from 0. At num_iters it is min_lr;
 * then it rises again. 0 < initial_lr <= 1 and 0 <= min_lr <= initial_lr, as in Burn. */
#define BURN_COSINE_ANNEALING_CONFIG(REQ, OPT)            \
  REQ(BurnF64, initial_lr, "rate of the first iteration") \
  REQ(BurnSize, num_iters, "iterations down to min_lr")   \
  OPT(BurnF64, min_lr, 0, "lowest rate")
BURN_CONFIG(BurnCosineAnnealingConfig, BURN_COSINE_ANNEALING_CONFIG);
BURN_API BurnSchedule burn_schedule_cosine_annealing(BurnCosineAnnealingConfig *config);

BURN_EXTERN_C_END

#endif
