/* progress_line.c - the renderer of a run that names none: one line on stderr: where the run is, how good, how fast,
 * how long the whole run still takes. On a terminal the line is redrawn at most ten times a second; elsewhere a line is
 * written per tenth of an epoch. Lines fit the terminal, or 79 columns: what has no room at the end is left out. */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "learner_internal.h"

enum { WIDTH = 79 };

/* A line of at most `width` characters. */
typedef struct Line {
  char text[WIDTH + 1];
  size_t used, width;
} Line;

static Line line_of(const BurnProgressLine *state) {
  return (Line){.width = state->width > 0 && state->width < WIDTH ? state->width : WIDTH};
}

/* False, and nothing is added, where it does not fit. */
static bool line_add(Line *line, const char *format, ...) BURN_PRINTF(2, 3);

static bool line_add(Line *line, const char *format, ...) {
  char part[96];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(part, sizeof part, format, arguments);
  va_end(arguments);
  const size_t length = strlen(part);
  if (line->used + length > line->width) return false;
  memcpy(line->text + line->used, part, length + 1);
  line->used += length;
  return true;
}

double burn_progress_seconds_left(const BurnProgress *progress) {
  const size_t left = (progress->epochs - progress->epoch + 1) * progress->batches - progress->batch;
  return progress->done ? progress->run_seconds / (double)progress->done * (double)left : (double)NAN;
}

const char *burn_duration_text(double seconds, char text[BURN_DURATION_BYTES]) {
  const double minutes = seconds / 60;
  if (isnan(seconds)) {
    (void)snprintf(text, BURN_DURATION_BYTES, "-");
  } else if (seconds < 90) {
    (void)snprintf(text, BURN_DURATION_BYTES, "%.0f s", seconds);
  } else if (minutes < 90) {
    (void)snprintf(text, BURN_DURATION_BYTES, "%.0f min", minutes);
  } else {
    (void)snprintf(text, BURN_DURATION_BYTES, "%.0f h %.0f min", floor(minutes / 60), floor(fmod(minutes, 60)));
  }
  return text;
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
static bool add_value(Line *line, const char *before, const char *name, const BurnMetricResult *metric, double value) {
  if (metric->unit[0]) return line_add(line, "%s%s%.2f %s", before, name, metric->scale * value, metric->unit);
  return line_add(line, "%s%s%#.4g", before, name, metric->scale * value);
}

static void begin(void *context, const BurnProgress *progress) {
  BurnProgressLine *state = context;
  (void)progress;
  const size_t columns = burn__stderr_columns(); /* in the last column some terminals wrap */
  *state = (BurnProgressLine){.terminal = burn__stderr_is_terminal(), .width = columns > 1 ? columns - 1 : 0};
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
  const double seconds = progress->epoch_seconds > 0 ? progress->epoch_seconds : 1e-9;
  const BurnEpochResult *result = progress->result;
  char text[BURN_DURATION_BYTES], name[40];
  Line line = line_of(state);
  state->drawn = progress->run_seconds;
  (void)line_add(&line, "epoch %zu/%zu batch %zu/%zu ", progress->epoch, progress->epochs, progress->batch,
                 progress->batches);
  for (size_t i = 0; i < result->metric_count; i++) {
    const double value = result->metrics[i].values[BURN_SPLIT_TRAIN];
    if (i > 0 && isnan(value)) continue;
    if (!add_value(&line, " ", label(result->metrics[i].name, name), &result->metrics[i], value)) break;
  }
  (void)line_add(&line, "  run %s left", burn_duration_text(burn_progress_seconds_left(progress), text));
  (void)line_add(&line, "  %.0f items/s", (double)progress->items / seconds);
  fprintf(stderr, "%s%s%s", state->terminal ? "\r" : "", line.text, state->terminal ? "\033[K" : "\n");
  fflush(stderr);
}

/* "  train loss 0.1234, 93.40 %, top 0.5": names of those without a unit. False where they do not all fit: after the
 * first that does not there is none. */
static bool add_split(Line *line, const char *split, const BurnEpochResult *result, BurnSplit which) {
  char name[40];
  for (size_t i = 0; i < result->metric_count; i++) {
    const BurnMetricResult *metric = &result->metrics[i];
    if (i > 0 && isnan(metric->values[which])) continue;
    const char *of = metric->unit[0] ? "" : label(metric->name, name);
    if (!add_value(line, i ? ", " : split, of, metric, metric->values[which])) return false;
  }
  return true;
}

static void epoch(void *context, const BurnProgress *progress) {
  const BurnProgressLine *state = context;
  const BurnEpochResult *result = progress->result;
  Line line = line_of(state);
  (void)line_add(&line, "epoch %zu/%zu", result->epoch, progress->epochs);
  const bool fits = add_split(&line, "  train ", result, BURN_SPLIT_TRAIN);
  const bool valid = !isnan(result->metrics[0].values[BURN_SPLIT_VALID]);
  if (fits && valid) (void)add_split(&line, "  valid ", result, BURN_SPLIT_VALID);
  (void)line_add(&line, "  %.1f s", result->seconds);
  fprintf(stderr, "%s%s\n", state->terminal ? "\r\033[K" : "", line.text);
}

/* Leaves the line of a run that stops midway. */
static void end(void *context, bool complete) {
  const BurnProgressLine *state = context;
  if (state->terminal && !complete) fputc('\n', stderr);
}

BurnRenderer burn_progress_line(BurnProgressLine *line) {
  return (BurnRenderer){begin, wants, batch, epoch, end, line};
}
