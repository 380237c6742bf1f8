/* dashboard.c - what the learner tells, and the thread that draws it.
 *
 * The run's own thread only notes values, under a mutex; curses belongs to the other one, which also reads the keys: so
 * a slow step hinders no key, and drawing costs a run nothing but the reading of numbers from the device. */
#include "dashboard_internal.h"
#include "status_chain.h"

#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <burn/text.h>

enum { WAIT_MILLISECONDS = 50, READ_BYTES = 4096, NOT_STARTED = 0, STARTED, REFUSED };

struct BurnDashboard {
  BurnDashboardConfig config;
  char title[NAME_BYTES];
  double draw_seconds, read_seconds; /* between two draws, two reads of numbers */
  double read_at;                    /* in seconds of the run */
  BurnProgressLine line;             /* what the run has where there is no terminal */
  BurnRenderer fallback;
  bool shown; /* the thread runs */
  pthread_t thread;
  pthread_mutex_t mutex; /* of all that follows */
  pthread_cond_t changed;
  int start; /* NOT_STARTED, STARTED, REFUSED */
  bool ends;
  State state;
  State *copy; /* the thread's own */
  View view;   /* the thread's own */
  char log_line[LOG_BYTES];
  size_t log_used;
  bool in_escape;
};

static atomic_flag taken = ATOMIC_FLAG_INIT;

static double seconds(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* -- what was printed ------------------------------------------------------------------------- */

static void end_line(BurnDashboard *dashboard) {
  State *state = dashboard->copy;
  char *line = dashboard->log_line;
  line[dashboard->log_used] = '\0';
  (void)burn_text_clean(line);
  for (char *at = line; *at && dashboard->view.ascii; at++) *at = (char)((unsigned char)*at < 0x80 ? *at : '?');
  (void)snprintf(state->log[state->log_count++ % LOG_LINES], LOG_BYTES, "%s", line);
  dashboard->log_used = 0;
}

/* Text as a terminal would take it: a carriage return begins the line anew, colours are left out. */
static void add_printed(BurnDashboard *dashboard, char c) {
  if (dashboard->in_escape) {
    dashboard->in_escape = !((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'));
  } else if (c == '\033') {
    dashboard->in_escape = true;
  } else if (c == '\n') {
    end_line(dashboard);
  } else if (c == '\r') {
    dashboard->log_used = 0;
  } else if (dashboard->log_used + 1 < LOG_BYTES) {
    dashboard->log_line[dashboard->log_used++] = (char)(c == '\t' ? ' ' : c);
  }
}

static bool read_printed(BurnDashboard *dashboard) {
  char text[READ_BYTES];
  const size_t count = dashboard_terminal_captured(text, sizeof text);
  for (size_t i = 0; i < count; i++) add_printed(dashboard, text[i]);
  return count > 0;
}

/* -- the thread ------------------------------------------------------------------------------- */

static void report_start(BurnDashboard *dashboard, int start) {
  pthread_mutex_lock(&dashboard->mutex);
  dashboard->start = start;
  pthread_cond_signal(&dashboard->changed);
  pthread_mutex_unlock(&dashboard->mutex);
}

/* Takes over what the run has noted; the log is the thread's own. */
static void take_over(BurnDashboard *dashboard) {
  State *to = dashboard->copy;
  pthread_mutex_lock(&dashboard->mutex);
  memcpy(to, &dashboard->state, offsetof(State, log));
  pthread_mutex_unlock(&dashboard->mutex);
  to->progress.result = &to->result;
}

static bool has_ended(BurnDashboard *dashboard) {
  pthread_mutex_lock(&dashboard->mutex);
  const bool ends = dashboard->ends;
  pthread_mutex_unlock(&dashboard->mutex);
  return ends;
}

static bool read_keys(BurnDashboard *dashboard) {
  bool any = false;
  if (!dashboard_terminal_draw_begin()) return false;
  for (int key = getch(); key != ERR; key = getch()) {
    any = true;
    if (dashboard_view_key(&dashboard->view, dashboard->copy, key))
      burn_interrupter_stop(dashboard->config.interrupter);
  }
  dashboard_terminal_draw_end();
  return any;
}

static void draw(BurnDashboard *dashboard) {
  View *view = &dashboard->view;
  if (!dashboard_terminal_draw_begin()) return;
  take_over(dashboard);
  (void)dashboard_terminal_resize();
  view->stopping = view->stopping || burn_interrupter_stopped(dashboard->config.interrupter);
  dashboard_view_draw(view, dashboard->copy);
  dashboard_terminal_draw_end();
}

/* Keys are answered at once; else it is drawn as often as the config says. */
static void draw_until_end(BurnDashboard *dashboard) {
  double drawn = 0;
  while (!has_ended(dashboard)) {
    const bool again = dashboard_terminal_resume(), printed = read_printed(dashboard), keys = read_keys(dashboard);
    if (again || keys || seconds() - drawn >= dashboard->draw_seconds) {
      draw(dashboard);
      drawn = seconds();
    }
    if (!printed) dashboard_terminal_wait(WAIT_MILLISECONDS);
  }
}

/* Characters are those of the user's locale, in this thread only. */
static void *run_thread(void *context) {
  BurnDashboard *dashboard = context;
  const locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
  if (locale) (void)uselocale(locale);
  const bool utf8 = locale && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  dashboard->view = (View){.split = RUN_SPLITS,
                           .ascii = dashboard->config.ascii || !utf8,
                           .can_stop = dashboard->config.interrupter != NULL,
                           .title = dashboard->config.title};
  if (dashboard_terminal_take()) {
    dashboard_view_start(&dashboard->view);
    report_start(dashboard, STARTED);
    draw_until_end(dashboard);
    dashboard_terminal_restore();
    dashboard_terminal_end();
  } else {
    report_start(dashboard, REFUSED);
  }
  if (locale) {
    (void)uselocale(LC_GLOBAL_LOCALE);
    freelocale(locale);
  }
  return NULL;
}

/* Signals are for the run's threads. */
static bool start_thread(BurnDashboard *dashboard) {
  sigset_t all, before;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return false;
  const bool started = pthread_create(&dashboard->thread, NULL, run_thread, dashboard) == 0;
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  return started;
}

static void stop_thread(BurnDashboard *dashboard) {
  pthread_mutex_lock(&dashboard->mutex);
  dashboard->ends = true;
  pthread_mutex_unlock(&dashboard->mutex);
  (void)pthread_join(dashboard->thread, NULL);
  dashboard->shown = false;
}

/* -- what the run tells ----------------------------------------------------------------------- */

/* The index of a metric that is new or known; BURN_MAX_METRICS where there are too many. */
static size_t metric_of(State *state, const char *name, const char *unit) {
  char short_name[NAME_BYTES];
  (void)snprintf(short_name, sizeof short_name, "%s", name);
  (void)burn_text_clean(short_name);
  size_t i = 0;
  while (i < state->metric_count && strcmp(state->names[i], short_name) != 0) i++;
  if (i < state->metric_count || i == BURN_MAX_METRICS) return i;
  memcpy(state->names[i], short_name, sizeof short_name);
  (void)snprintf(state->units[i], sizeof state->units[i], "%s", unit);
  state->metric_count++;
  return i;
}

static double place_of(size_t epoch, size_t batch, size_t batches) {
  return (double)(epoch - 1) + (batches ? (double)batch / (double)batches : 1);
}

static void note_progress(State *state, const BurnProgress *progress) {
  state->progress = *progress;
  if (progress->result) state->result = *progress->result;
}

/* Values of a result, where no logger has told them one by one. */
static void note_values(State *state, const BurnProgress *progress, bool of_epoch) {
  const BurnEpochResult *result = progress->result;
  for (size_t i = 0; i < result->metric_count; i++) {
    const BurnMetricResult *metric = &result->metrics[i];
    const size_t index = metric_of(state, metric->name, metric->unit);
    for (int split = 0; split < RUN_SPLITS && index < BURN_MAX_METRICS && !state->heard; split++) {
      const double value = metric->scale * metric->values[split];
      Series *series = &state->series[index][split];
      if (of_epoch) dashboard_series_add_epoch(series, progress->epoch, value);
      if (!isnan(value))
        dashboard_series_add(series, place_of(progress->epoch, progress->batch, progress->batches), value);
    }
  }
}

static void begin(void *context, const BurnProgress *progress) {
  BurnDashboard *dashboard = context;
  State *state = &dashboard->state;
  memset(state, 0, sizeof *state);
  for (size_t i = 0; i < BURN_MAX_METRICS; i++) {
    for (int split = 0; split < RUN_SPLITS; split++) dashboard_series_init(&state->series[i][split]);
  }
  note_progress(state, progress);
  memcpy(dashboard->copy, state, sizeof *state);
  dashboard->start = NOT_STARTED;
  dashboard->ends = false;
  dashboard->read_at = 0;
  dashboard->shown = start_thread(dashboard);
  pthread_mutex_lock(&dashboard->mutex);
  while (dashboard->shown && dashboard->start == NOT_STARTED) {
    pthread_cond_wait(&dashboard->changed, &dashboard->mutex);
  }
  pthread_mutex_unlock(&dashboard->mutex);
  if (dashboard->shown && dashboard->start == REFUSED) stop_thread(dashboard);
  dashboard->line = (BurnProgressLine){.terminal = false};
  if (!dashboard->shown) dashboard->fallback.begin(dashboard->fallback.context, progress);
}

static bool wants(void *context, const BurnProgress *progress) {
  BurnDashboard *dashboard = context;
  if (!dashboard->shown) return dashboard->fallback.wants(dashboard->fallback.context, progress);
  pthread_mutex_lock(&dashboard->mutex);
  dashboard->state.progress = *progress;
  dashboard->state.valid_batch = 0;
  pthread_mutex_unlock(&dashboard->mutex);
  return progress->run_seconds - dashboard->read_at >= dashboard->read_seconds;
}

static void batch(void *context, const BurnProgress *progress) {
  BurnDashboard *dashboard = context;
  if (!dashboard->shown) {
    dashboard->fallback.batch(dashboard->fallback.context, progress);
    return;
  }
  dashboard->read_at = progress->run_seconds;
  pthread_mutex_lock(&dashboard->mutex);
  note_progress(&dashboard->state, progress);
  note_values(&dashboard->state, progress, false);
  pthread_mutex_unlock(&dashboard->mutex);
}

/* The line of the epoch is printed, too: it is in the log, and on the terminal after the run. */
static void epoch(void *context, const BurnProgress *progress) {
  BurnDashboard *dashboard = context;
  dashboard->fallback.epoch(dashboard->fallback.context, progress);
  if (!dashboard->shown) return;
  pthread_mutex_lock(&dashboard->mutex);
  note_progress(&dashboard->state, progress);
  note_values(&dashboard->state, progress, true);
  dashboard->state.valid_batch = 0;
  pthread_mutex_unlock(&dashboard->mutex);
}

static void end(void *context, bool complete) {
  BurnDashboard *dashboard = context;
  if (dashboard->shown) {
    stop_thread(dashboard);
  } else {
    dashboard->fallback.end(dashboard->fallback.context, complete);
  }
}

static BurnStatus log_entry(void *context, const BurnLogEntry *entry) {
  BurnDashboard *dashboard = context;
  State *state = &dashboard->state;
  if ((int)entry->split >= RUN_SPLITS) return BURN_OK;
  pthread_mutex_lock(&dashboard->mutex);
  const size_t index = metric_of(state, entry->metric, entry->unit);
  state->heard = true;
  if (index < BURN_MAX_METRICS) {
    Series *series = &state->series[index][entry->split];
    if (entry->final) {
      dashboard_series_add_epoch(series, entry->epoch, entry->value);
    } else {
      dashboard_series_add(series, place_of(entry->epoch, entry->batch, entry->batches), entry->value);
    }
  }
  state->valid_batch = entry->split == BURN_SPLIT_VALID ? entry->batch : 0;
  state->valid_batches = entry->batches;
  pthread_mutex_unlock(&dashboard->mutex);
  return BURN_OK;
}

/* -- the object ------------------------------------------------------------------------------- */

static BurnDashboard *take_terminal(const BurnDashboardConfig *config, BurnStatus *status) {
  if (atomic_flag_test_and_set(&taken)) {
    *status = burn_status_make(BURN_STATUS_FAILED_PRECONDITION, "dashboard: this process has one already");
    return NULL;
  }
  BurnDashboard *dashboard = calloc(1, sizeof *dashboard);
  if (dashboard) dashboard->copy = calloc(1, sizeof *dashboard->copy);
  if (!dashboard || !dashboard->copy) {
    free(dashboard);
    atomic_flag_clear(&taken);
    *status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "dashboard: out of memory");
    return NULL;
  }
  if (config) dashboard->config = *config;
  if (dashboard->config.title) {
    (void)snprintf(dashboard->title, sizeof dashboard->title, "%s", dashboard->config.title);
    dashboard->config.title = burn_text_clean(dashboard->title);
  }
  const double draws = dashboard->config.draws_per_second > 0 ? dashboard->config.draws_per_second : 10;
  dashboard->draw_seconds = 1 / draws;
  dashboard->read_seconds = 2 / draws > 0.5 ? 2 / draws : 0.5;
  dashboard->fallback = burn_progress_line(&dashboard->line);
  pthread_mutex_init(&dashboard->mutex, NULL);
  pthread_cond_init(&dashboard->changed, NULL);
  return dashboard;
}

BurnDashboard *burn_dashboard_create(const BurnDashboardConfig *config, BurnStatus *status) {
  BurnStatus result = burn__entry_status(status);
  BurnDashboard *dashboard = result == BURN_OK ? take_terminal(config, &result) : NULL;
  burn__store_status(status, result);
  return dashboard;
}

BurnRenderer burn_dashboard_renderer(BurnDashboard *dashboard) {
  return (BurnRenderer){begin, wants, batch, epoch, end, dashboard};
}

BurnLogger burn_dashboard_logger(BurnDashboard *dashboard) { return (BurnLogger){log_entry, dashboard}; }

void burn_dashboard_destroy(BurnDashboard *dashboard) {
  if (!dashboard) return;
  if (dashboard->shown) stop_thread(dashboard);
  pthread_mutex_destroy(&dashboard->mutex);
  pthread_cond_destroy(&dashboard->changed);
  free(dashboard->copy);
  free(dashboard);
  atomic_flag_clear(&taken);
}
