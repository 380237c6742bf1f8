/* progress.c - one line on stderr: where the run is, how good, how fast, how long still. On a terminal the line is redrawn at
 * most ten times a second; elsewhere a line is written per tenth of an epoch. */
#include <math.h>

#include "learner_internal.h"

/* Time left as "45 s", "12 min", "3 h 20 min". */
static void time_text(double seconds, char text[48]) {
  const double minutes = seconds / 60;
  if (seconds < 90) {
    snprintf(text, 48, "%.0f s", seconds);
  } else if (minutes < 90) {
    snprintf(text, 48, "%.0f min", minutes);
  } else {
    snprintf(text, 48, "%.0f h %.0f min", floor(minutes / 60), floor(fmod(minutes, 60)));
  }
}

/* "loss 0.1234" with an accuracy where there is one. */
static void value_text(double loss, double accuracy, char text[64]) {
  if (isnan(accuracy)) {
    snprintf(text, 64, "loss %.4g", loss);
  } else {
    snprintf(text, 64, "loss %.4f accuracy %.2f %%", loss, 100 * accuracy);
  }
}

void burn__progress_begin(BurnProgress *progress, bool quiet, size_t epochs, size_t batches) {
  *progress = (BurnProgress){.quiet = quiet, .epochs = epochs, .batches = batches};
  progress->terminal = !quiet && burn__stderr_is_terminal();
  progress->run_start = burn__seconds();
}

void burn__progress_epoch(BurnProgress *progress, size_t epoch) {
  if (progress->epoch) progress->batches_before += progress->batches;
  progress->epoch = epoch;
  progress->items = 0;
  progress->tenth = 0;
  progress->epoch_start = burn__seconds();
}

/* Whether it is time for a line again. */
static bool is_due(BurnProgress *progress, size_t batch, double now) {
  const size_t tenth = progress->batches ? (size_t)(10.0 * (double)batch / (double)progress->batches) : 0;
  const bool next_tenth = tenth > progress->tenth;
  progress->tenth = tenth;
  if (!progress->terminal) return next_tenth;
  return now - progress->drawn >= 0.1 || batch == progress->batches;
}

void burn__progress_batch(BurnProgress *progress, size_t batch, size_t items, const BurnMetrics *metrics) {
  const double now = burn__seconds(), epoch_seconds = now - progress->epoch_start;
  const size_t done = progress->batches_before + batch;
  const size_t left = (progress->epochs - progress->epoch + 1) * progress->batches - batch;
  char values[64], left_text[48];
  progress->items += items;
  if (progress->quiet || !is_due(progress, batch, now)) return;
  progress->drawn = now;
  value_text(burn__metric_mean(&metrics->loss), burn__metric_mean(&metrics->accuracy), values);
  time_text((now - progress->run_start) / (double)done * (double)left, left_text);
  fprintf(stderr, "%sepoch %zu/%zu batch %zu/%zu  %s  %.0f items/s  %s left%s", progress->terminal ? "\r" : "", progress->epoch,
          progress->epochs, batch, progress->batches, values,
          (double)progress->items / (epoch_seconds > 0 ? epoch_seconds : 1e-9), left_text,
          progress->terminal ? "\033[K" : "\n");
  fflush(stderr);
}

void burn__progress_result(BurnProgress *progress, const BurnEpochResult *result) {
  char train[64], valid[64];
  if (progress->quiet) return;
  value_text(result->train_loss, result->train_accuracy, train);
  value_text(result->valid_loss, result->valid_accuracy, valid);
  fprintf(stderr, "%sepoch %zu/%zu  train %s%s%s  %.1f s  %.0f items/s\n", progress->terminal ? "\r\033[K" : "", result->epoch,
          progress->epochs, train, isnan(result->valid_loss) ? "" : "  valid ", isnan(result->valid_loss) ? "" : valid,
          result->seconds, result->items_per_second);
}

void burn__progress_stop(const BurnProgress *progress) {
  if (progress->terminal) fputc('\n', stderr);
}
