/* progress.c - one line on stderr: where the run is, how good, how fast, how long the whole run still takes. On a
 * terminal the line is redrawn at most ten times a second; elsewhere a line is written per tenth of an epoch. Lines fit
 * 80 columns: what has no room at the end of one is left out. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "learner_internal.h"

/* A line of at most 79 characters: in the last column some terminals wrap. */
typedef struct Line {
  char text[80];
  size_t used;
} Line;

static void line_add(Line *line, const char *format, ...) BURN_PRINTF(2, 3);

static void line_add(Line *line, const char *format, ...) {
  char part[96];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(part, sizeof part, format, arguments);
  va_end(arguments);
  const size_t length = strlen(part);
  if (line->used + length >= sizeof line->text) return;
  memcpy(line->text + line->used, part, length + 1);
  line->used += length;
}

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

/* "  loss 0.1234", with an accuracy behind `word` where there is one. */
static void add_values(Line *line, const char *name, double loss, const char *word, double accuracy) {
  line_add(line, "  %s %#.4g", name, loss);
  if (!isnan(accuracy)) line_add(line, "%s %.2f %%", word, 100 * accuracy);
}

void burn__progress_begin(BurnProgress *progress, bool quiet, size_t epochs, size_t batches) {
  *progress = (BurnProgress){.quiet = quiet, .epochs = epochs, .batches = batches};
  progress->terminal = !quiet && burn__stderr_is_terminal();
  progress->run_start = burn__seconds();
}

void burn__progress_epoch(BurnProgress *progress, size_t epoch) {
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
  const size_t left = (progress->epochs - progress->epoch + 1) * progress->batches - batch;
  char left_text[48];
  Line line = {"", 0};
  progress->items += items;
  progress->done++;
  if (progress->quiet || !is_due(progress, batch, now)) return;
  progress->drawn = now;
  time_text((now - progress->run_start) / (double)progress->done * (double)left, left_text);
  line_add(&line, "epoch %zu/%zu batch %zu/%zu", progress->epoch, progress->epochs, batch, progress->batches);
  add_values(&line, "loss", burn__metric_mean(&metrics->loss), " accuracy", burn__metric_mean(&metrics->accuracy));
  line_add(&line, "  run %s left", left_text);
  line_add(&line, "  %.0f items/s", (double)progress->items / (epoch_seconds > 0 ? epoch_seconds : 1e-9));
  fprintf(stderr, "%s%s%s", progress->terminal ? "\r" : "", line.text, progress->terminal ? "\033[K" : "\n");
  fflush(stderr);
}

void burn__progress_result(BurnProgress *progress, const BurnEpochResult *result) {
  Line line = {"", 0};
  if (progress->quiet) return;
  line_add(&line, "epoch %zu/%zu", result->epoch, progress->epochs);
  add_values(&line, "train loss", result->train_loss, ",", result->train_accuracy);
  if (!isnan(result->valid_loss)) add_values(&line, "valid loss", result->valid_loss, ",", result->valid_accuracy);
  line_add(&line, "  %.1f s", result->seconds);
  fprintf(stderr, "%s%s\n", progress->terminal ? "\r\033[K" : "", line.text);
}

void burn__progress_stop(const BurnProgress *progress) {
  if (progress->terminal) fputc('\n', stderr);
}
