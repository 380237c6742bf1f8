/* renderer.h - who shows a run while it goes on. Without one in the config the learner draws a line on stderr. A
 * dashboard of the whole terminal is in a library of its own, burn/dashboard.h. */
#ifndef BURN_TRAIN_RENDERER_H
#define BURN_TRAIN_RENDERER_H

#include <burn/train/metric.h>

BURN_EXTERN_C_BEGIN

/* Where a run is. */
typedef struct BurnProgress {
  size_t epoch, epochs;              /* from 1; of the run */
  size_t batch, batches;             /* done in this epoch; of an epoch */
  size_t items;                      /* of this epoch, done by this run */
  size_t done;                       /* batches done by this run, which may have resumed */
  double epoch_seconds, run_seconds; /* since the begin of the epoch and of the run */
  const BurnEpochResult *result;     /* of the epoch so far; in `epoch`, of the whole one */
} BurnProgress;

/* All but `batch` may be NULL. */
typedef struct BurnRenderer {
  void (*begin)(void *context, const BurnProgress *progress);
  /* After each batch of training: whether `batch` is to be called. Only then are the numbers of the last steps read,
   * for which the device has to finish them. NULL: after each. */
  bool (*wants)(void *context, const BurnProgress *progress);
  void (*batch)(void *context, const BurnProgress *progress);
  /* After an epoch, when its checkpoint is written. */
  void (*epoch)(void *context, const BurnProgress *progress);
  /* At the end; a run that is not complete was interrupted or failed. */
  void (*end)(void *context, bool complete);
  void *context;
} BurnRenderer;

/* -- what renderers share --------------------------------------------------------------------- */

/* How long the training of the run still takes, in seconds, at the speed of this run so far; NaN before its first
 * batch. */
BURN_API double burn_progress_seconds_left(const BurnProgress *progress);

/* What the text of a duration needs, its terminating 0 included. */
enum { BURN_DURATION_BYTES = 48 };
/* Seconds as "45 s", "12 min", "3 h 20 min"; "-" for NaN. Returns `text`. */
BURN_API const char *burn_duration_text(double seconds, char text[BURN_DURATION_BYTES]);

/* -- the line --------------------------------------------------------------------------------- */

/* The state of burn_progress_line; zero-initialised. */
typedef struct BurnProgressLine {
  bool terminal;       /* stderr is one, found out as a run begins */
  size_t width;        /* of a line, in columns; 0: 79 */
  double drawn;        /* in seconds of the run */
  size_t epoch, tenth; /* of the epoch, when last drawn */
} BurnProgressLine;

/* The renderer of a run that names none, for renderers that fall back to it: a line on stderr, where the run is, how
 * good, how fast, how long it still takes. On a terminal it is redrawn at most ten times a second and fits its width;
 * elsewhere a line is written per tenth of an epoch, of at most 79 columns. `line` must outlive the run. */
BURN_API BurnRenderer burn_progress_line(BurnProgressLine *line);

BURN_EXTERN_C_END

#endif
