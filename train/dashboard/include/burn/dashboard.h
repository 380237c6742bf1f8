/* dashboard.h - a run on the whole terminal: plots of its metrics, progress, time left, what was printed; keys to look
 * around and to end the run. In a library of its own, burn_dashboard (Burn::dashboard), which needs ncurses; it is not
 * built where there is none, and not on Windows.
 *
 *   BurnDashboard *dashboard = burn_dashboard_create(&(BurnDashboardConfig){.interrupter = &interrupter}, &status);
 *   const BurnRenderer renderer = burn_dashboard_renderer(dashboard);
 *   status = burn_learner_fit(&(BurnLearnerConfig){.interrupter = &interrupter,
 *                                                  .renderer = &renderer,
 *                                                  .logger = burn_dashboard_logger(dashboard), ...}, ...);
 *   burn_dashboard_destroy(dashboard);
 *
 * It is drawn on the terminal of stderr by a thread of its own, and keys are read from that of stdin. While it is, what
 * the process prints to stdout and stderr, as far as these are terminals, is shown in a part of it, and printed as the
 * run ends. The terminal is as before after every end of the process but SIGKILL and _exit: the run's, exit, and the
 * signals of a crash, after which it goes to whoever had caught them before the run began. SIGINT, SIGTERM and SIGTSTP
 * (Ctrl-Z) give it back for as long as the process is stopped, or the run goes on to its checkpoint.
 *
 * Where stderr is not a terminal, is one in the background, or one that cannot place the cursor (TERM=dumb), the run
 * has the line of burn_progress_line instead. */
#ifndef BURN_DASHBOARD_H
#define BURN_DASHBOARD_H

#include <burn/train/interrupter.h>
#include <burn/train/logger.h>
#include <burn/train/renderer.h>

BURN_EXTERN_C_BEGIN

/* How a dashboard looks; zero-initialised is fine. */
typedef struct BurnDashboardConfig {
  BurnInterrupter *interrupter; /* of the run, which the key q asks for the end; NULL: there is no such key */
  const char *title;            /* "mnist"; NULL: none. Copied */
  bool ascii;                   /* no other characters; else so only where the locale has no UTF-8 */
  double draws_per_second;      /* at most; 0: 10. Numbers are read from the device for it half as often as this, and
                                   not more than twice a second */
} BurnDashboardConfig;

/* A dashboard for one run at a time, one per process. */
typedef struct BurnDashboard BurnDashboard;

/* Nothing is drawn yet. NULL on failure, with the reason in *status: OUT_OF_MEMORY, or FAILED_PRECONDITION where the
 * process has one already. `config` may be NULL. */
BURN_API BURN_CHAINS(2) BURN_USE_RESULT BurnDashboard *burn_dashboard_create(const BurnDashboardConfig *config,
                                                                             BurnStatus *status);
/* The renderer of the run: takes the terminal as the run begins, gives it back as it ends. */
BURN_API BurnRenderer burn_dashboard_renderer(BurnDashboard *dashboard);
/* A logger by which the plots have every batch, of validation, too; without it they have the mean of the epoch so far
 * each time that it is read, and the values of epochs. */
BURN_API BurnLogger burn_dashboard_logger(BurnDashboard *dashboard);
/* Gives the terminal back, if the run has not. NULL is fine. */
BURN_API void burn_dashboard_destroy(BurnDashboard *dashboard);

BURN_EXTERN_C_END

#endif
