/* progress_line.c - the renderer of a run that names none: one line on stderr: where the run is, how good, how fast,
 * how long the whole run still takes. On a terminal the line is redrawn at most ten times a second; elsewhere a line is
 * written per tenth of an epoch. Lines fit 80 columns: what has no room at the end of one is left out. */
#include <ctype.h>
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

/* "Learning Rate" as "learning rate ". */
static const char *label(const char *name, char text[40]) {
  size_t i = 0;
  for (; name[i] && i < 38; i++) text[i] = (char)tolower((unsigned char)name[i]);
  text[i] = ' ';
  text[i + 1] = '\0';
  return text;
}

/* "loss 0.1234", or "accuracy 93.40 %". */
static void add_value(Line *line, const char *before, const char *name, const BurnMetricResult *metric, double value) {
  if (metric->unit[0]) {
    line_add(line, "%s%s%.2f %s", before, name, metric->scale * value, metric->unit);
  } else {
    line_add(line, "%s%s%#.4g", before, name, metric->scale * value);
  }
}

static void begin(void *context, const BurnProgress *progress) {
  BurnProgressLine *state = context;
  (void)progress;
  *state = (BurnProgressLine){.terminal = burn__stderr_is_terminal()};
}

/* Whether it is time for a line again. */
static bool wants(void *context, const BurnProgress *progress) {
  BurnProgressLine *state = context;
  const double share = progress->batches ? (double)progress->batch / (double)progress->batches : 0;
  const size_t tenth = (size_t)(10.0 * share);
  const bool next_tenth = state->epoch != progress->epoch ? tenth > 0 : tenth > state->tenth;
  state->epoch = progress->epoch;
  state->tenth = tenth;
  if (!state->terminal) return next_tenth;
  return progress->run_seconds - state->drawn >= 0.1 || progress->batch == progress->batches;
}

static void batch(void *context, const BurnProgress *progress) {
  BurnProgressLine *state = context;
  const size_t left = (progress->epochs - progress->epoch + 1) * progress->batches - progress->batch;
  const double seconds = progress->epoch_seconds > 0 ? progress->epoch_seconds : 1e-9;
  const BurnEpochResult *result = progress->result;
  char text[48], name[40];
  Line line = {"", 0};
  state->drawn = progress->run_seconds;
  line_add(&line, "epoch %zu/%zu batch %zu/%zu ", progress->epoch, progress->epochs, progress->batch,
           progress->batches);
  for (size_t i = 0; i < result->metric_count; i++) {
    const double value = result->metrics[i].values[BURN_SPLIT_TRAIN];
    if (i > 0 && isnan(value)) continue;
    add_value(&line, " ", label(result->metrics[i].name, name), &result->metrics[i], value);
  }
  time_text(progress->run_seconds / (double)progress->done * (double)left, text);
  line_add(&line, "  run %s left", text);
  line_add(&line, "  %.0f items/s", (double)progress->items / seconds);
  fprintf(stderr, "%s%s%s", state->terminal ? "\r" : "", line.text, state->terminal ? "\033[K" : "\n");
  fflush(stderr);
}

/* "  train loss 0.1234, 93.40 %, top 0.5": names of those without a unit. */
static void add_split(Line *line, const char *split, const BurnEpochResult *result, BurnSplit which) {
  char name[40];
  for (size_t i = 0; i < result->metric_count; i++) {
    const BurnMetricResult *metric = &result->metrics[i];
    if (i > 0 && isnan(metric->values[which])) continue;
    const char *of = metric->unit[0] ? "" : label(metric->name, name);
    add_value(line, i ? ", " : split, of, metric, metric->values[which]);
  }
}

static void epoch(void *context, const BurnProgress *progress) {
  const BurnProgressLine *state = context;
  const BurnEpochResult *result = progress->result;
  Line line = {"", 0};
  line_add(&line, "epoch %zu/%zu", result->epoch, progress->epochs);
  add_split(&line, "  train ", result, BURN_SPLIT_TRAIN);
  if (!isnan(result->metrics[0].values[BURN_SPLIT_VALID])) add_split(&line, "  valid ", result, BURN_SPLIT_VALID);
  line_add(&line, "  %.1f s", result->seconds);
  fprintf(stderr, "%s%s\n", state->terminal ? "\r\033[K" : "", line.text);
}

/* Leaves the line of a run that stops midway. */
static void end(void *context, bool complete) {
  const BurnProgressLine *state = context;
  if (state->terminal && !complete) fputc('\n', stderr);
}

BurnRenderer burn__progress_line(BurnProgressLine *line) {
  return (BurnRenderer){begin, wants, batch, epoch, end, line};
}
