/* schedule.h - learning rates that change during a run. A schedule is a function of the iteration, so a run that
 * resumes needs nothing of it but its config. */
#ifndef BURN_TRAIN_SCHEDULE_H
#define BURN_TRAIN_SCHEDULE_H

#include <burn/burn.h>

BURN_EXTERN_C_BEGIN

/* A schedule that another one is made of, and its place there. */
typedef struct BurnSchedulePart {
  const struct BurnSchedule *schedule;
  uint64_t first; /* the iteration of the whole at which it begins with its own iteration 0 */
} BurnSchedulePart;

/* A schedule of your own: the learning rate as a function of the iteration. */
typedef struct BurnScheduleInterface {
  const char *name; /* "cosine_annealing": in messages and checkpoints */
  /* Why a config makes no sense, or BURN_OK; NULL: every one does. */
  BurnStatus (*check)(const void *config);
  /* The rate of an iteration. They are batches from the beginning of the run, counted from 0, also where several make
   * one optimizer step, as in Burn. */
  double (*rate)(const void *config, uint64_t iteration);
  /* Part `index` of a schedule that is made of others, or false past the last: so that they are checked, and a resumed
   * run must have the same ones. NULL: it has none. */
  bool (*part)(const void *config, size_t index, BurnSchedulePart *part);
} BurnScheduleInterface;

/* A schedule in use; all zero for none. The config (which may be one without type) must outlive the run. A run that
 * resumes must have the same one. */
typedef struct BurnSchedule {
  const BurnScheduleInterface *table;
  BurnConfig config;
} BurnSchedule;

/* INVALID_ARGUMENT without a table or its rate; else what the schedule's own check says of the config, then those of
 * its parts. */
BURN_API BURN_USE_RESULT BurnStatus burn_schedule_check(const BurnSchedule *schedule);
/* For loops of one's own. 0 for a schedule that is NULL or zeros; of a config that burn_schedule_check refuses it is
 * any number, or NaN, which no optimizer steps with. */
BURN_API double burn_schedule_rate(const BurnSchedule *schedule, uint64_t iteration);

/* -- schedules that ship with the framework --------------------------------------------------- */

/* Each takes a pointer to its config, which must outlive the run; a config that is NULL makes a schedule of zeros,
 * which burn_schedule_check refuses. Iteration i counts from 0. */

/* lr, always; at least 0. */
#define BURN_CONSTANT_RATE_CONFIG(REQ, OPT) REQ(BurnF64, lr, "rate of every iteration")
BURN_CONFIG(BurnConstantRateConfig, BURN_CONSTANT_RATE_CONFIG);
BURN_API BurnSchedule burn_schedule_constant(BurnConstantRateConfig *config);

/* final_lr - (final_lr - initial_lr) max(num_iters - i, 0) / num_iters: a line from one rate to the other, which then
 * stays. 0 < initial_lr <= 1 and 0 <= final_lr <= 1, as in Burn. */
#define BURN_LINEAR_RATE_CONFIG(REQ, OPT)                    \
  REQ(BurnF64, initial_lr, "rate of the first iteration")    \
  REQ(BurnF64, final_lr, "rate from iteration num_iters on") \
  REQ(BurnSize, num_iters, "iterations from one to the other")
BURN_CONFIG(BurnLinearRateConfig, BURN_LINEAR_RATE_CONFIG);
BURN_API BurnSchedule burn_schedule_linear(BurnLinearRateConfig *config);

/* initial_lr gamma^i; both above 0 and at most 1, as in Burn. */
#define BURN_EXPONENTIAL_RATE_CONFIG(REQ, OPT)            \
  REQ(BurnF64, initial_lr, "rate of the first iteration") \
  REQ(BurnF64, gamma, "factor from one iteration to the next")
BURN_CONFIG(BurnExponentialRateConfig, BURN_EXPONENTIAL_RATE_CONFIG);
BURN_API BurnSchedule burn_schedule_exponential(BurnExponentialRateConfig *config);

/* min_lr + (initial_lr - min_lr) (1 + cos(pi i / num_iters)) / 2, with iteration i from 0. At num_iters it is min_lr;
 * then it rises again. 0 < initial_lr <= 1 and 0 <= min_lr <= initial_lr, as in Burn. */
#define BURN_COSINE_ANNEALING_CONFIG(REQ, OPT)            \
  REQ(BurnF64, initial_lr, "rate of the first iteration") \
  REQ(BurnSize, num_iters, "iterations down to min_lr")   \
  OPT(BurnF64, min_lr, 0, "lowest rate")
BURN_CONFIG(BurnCosineAnnealingConfig, BURN_COSINE_ANNEALING_CONFIG);
BURN_API BurnSchedule burn_schedule_cosine_annealing(BurnCosineAnnealingConfig *config);

/* initial_lr gamma^floor(i / step_size). An initial_lr that is not positive and a gamma outside 0 to 1 are only warned
 * of, as in Burn. */
#define BURN_STEP_RATE_CONFIG(REQ, OPT)                     \
  REQ(BurnF64, initial_lr, "rate of the first iteration")   \
  REQ(BurnSize, step_size, "iterations with the same rate") \
  OPT(BurnF64, gamma, 0.1, "factor from one rate to the next")
BURN_CONFIG(BurnStepRateConfig, BURN_STEP_RATE_CONFIG);
BURN_API BurnSchedule burn_schedule_step(BurnStepRateConfig *config);

/* factor model_size^-1/2 min(s^-1/2, s warmup_steps^-3/2) with s = i + 1: it rises for warmup_steps iterations and
 * falls with the root of their number after that ("Attention Is All You Need"). */
#define BURN_NOAM_CONFIG(REQ, OPT)                               \
  REQ(BurnF64, factor, "of all rates; above 0")                  \
  OPT(BurnSize, warmup_steps, 4000, "iterations up to the peak") \
  OPT(BurnSize, model_size, 512, "features of the model")
BURN_CONFIG(BurnNoamConfig, BURN_NOAM_CONFIG);
BURN_API BurnSchedule burn_schedule_noam(BurnNoamConfig *config);

/* -- schedules made of others ----------------------------------------------------------------- */

/* How the rates of several schedules become one. */
enum { BURN_RATES_AVG, BURN_RATES_SUM, BURN_RATES_PROD };
typedef struct BurnRateReduction {
  uint32_t kind; /* BURN_RATES_* */
} BurnRateReduction;
BURN_API const BurnType *BurnRateReduction_type(void);
/* Values for rows; with a cast for assignments and arguments: (BurnRateReduction)BURN_AVG_OF_RATES. */
#define BURN_AVG_OF_RATES BURN_INTERNAL_ROW_VALUE(BurnRateReduction, BURN_RATES_AVG)
#define BURN_SUM_OF_RATES BURN_INTERNAL_ROW_VALUE(BurnRateReduction, BURN_RATES_SUM)
#define BURN_PROD_OF_RATES BURN_INTERNAL_ROW_VALUE(BurnRateReduction, BURN_RATES_PROD)

/* The mean, sum or product of the rates of at least one schedule, each of which is an absolute rate: in a product all
 * but one are near 1. */
#define BURN_COMPOSED_RATE_CONFIG(REQ, OPT) \
  OPT(BurnRateReduction, reduction, BURN_PROD_OF_RATES, "how rates become one")
BURN_CONFIG_OPTIONAL(BurnComposedRateConfig, BURN_COMPOSED_RATE_CONFIG);
typedef struct BurnComposedRate {
  BurnComposedRateConfig config;
  const BurnSchedule *schedules;
  size_t count;
} BurnComposedRate;
BURN_API BurnSchedule burn_schedule_composed(BurnComposedRate *composed);

/* One schedule after the other: schedule k + 1 begins at iteration milestones[k], with its own iteration 0. Milestones
 * are above 0, rise, and are one fewer than schedules. */
typedef struct BurnSequentialRate {
  const BurnSchedule *schedules;
  size_t count;
  const uint64_t *milestones;
} BurnSequentialRate;
BURN_API BurnSchedule burn_schedule_sequential(BurnSequentialRate *sequential);

/* A line from initial_lr to the first rate of a schedule, over num_iters iterations, and then the schedule from its
 * beginning: what Burn writes as a sequential of a linear one and the schedule. 0 <= initial_lr <= 1. */
#define BURN_WARM_UP_CONFIG(REQ, OPT)                             \
  REQ(BurnSize, num_iters, "iterations in front of the schedule") \
  OPT(BurnF64, initial_lr, 0, "rate of the first iteration")
BURN_CONFIG(BurnWarmUpConfig, BURN_WARM_UP_CONFIG);
typedef struct BurnWarmUpRate {
  BurnWarmUpConfig config;
  BurnSchedule schedule;
} BurnWarmUpRate;
BURN_API BurnSchedule burn_schedule_warm_up(BurnWarmUpRate *warm_up);

BURN_EXTERN_C_END

#endif
