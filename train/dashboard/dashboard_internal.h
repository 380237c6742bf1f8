/* dashboard_internal.h - the parts of the dashboard: values (dashboard_series.c), the terminal (dashboard_terminal.c),
 * dots of a plot (dashboard_plot.c), the picture (dashboard_view.c), and the thread that draws (dashboard.c). */
#ifndef BURN_DASHBOARD_INTERNAL_H
#define BURN_DASHBOARD_INTERNAL_H

#include <burn/dashboard.h>

#include <stddef.h>
#include <stdint.h>

enum { RUN_SPLITS = 2 }; /* training and validation; an evaluation is not part of a run */

/* -- dashboard_series.c: what is known of a metric of a split --------------------------------- */

enum { WHOLE_POINTS = 512, RECENT_POINTS = 1000, EPOCH_POINTS = 512 };

/* x in epochs of the run, from 0 at its begin. */
typedef struct Point {
  double x, y;
} Point;

typedef struct Series {
  Point whole[WHOLE_POINTS]; /* each the mean of `stride` values; two become one when there are too many */
  size_t whole_count, stride;
  Point sum; /* of `summed` values that are not a point yet */
  size_t summed;
  Point recent[RECENT_POINTS]; /* a ring of the last values */
  size_t recent_next, recent_count;
  Point epochs[EPOCH_POINTS]; /* values of epochs; the last ones */
  size_t epoch_count;
  double last, last_epoch;     /* value; NaN: none yet */
  double min, max;             /* of values of epochs */
  size_t min_epoch, max_epoch; /* 0: none yet */
} Series;

void dashboard_series_init(Series *series);
/* A value of a batch; one that is not finite is not a point. */
void dashboard_series_add(Series *series, double x, double y);
/* The value of an epoch, from 1. */
void dashboard_series_add_epoch(Series *series, size_t epoch, double y);

/* What a plot shows. */
typedef enum PlotKind { PLOT_WHOLE, PLOT_RECENT, PLOT_EPOCHS, PLOT_KINDS } PlotKind;
enum { MAX_PLOT_POINTS = RECENT_POINTS };
/* The points in order; returns how many. */
size_t dashboard_series_points(const Series *series, PlotKind kind, Point points[MAX_PLOT_POINTS]);

/* -- dashboard_plot.c: points as dots --------------------------------------------------------- */

/* Dots of two curves in a grid of cells: of 2 by 4 dots each as braille has them, or of one. */
typedef struct Plot {
  int rows, columns; /* of cells */
  bool braille;
  double x_min, x_max, y_min, y_max; /* of all points; y with a margin where it does not change */
  uint8_t *cells[RUN_SPLITS];        /* [rows * columns]: the dots that are on, as U+2800 numbers them; or 1 */
} Plot;

/* The range of the curves; false where there is no point. */
bool dashboard_plot_range(Plot *plot, Point *const points[RUN_SPLITS], const size_t counts[RUN_SPLITS]);
/* Turns on the dots of a curve: lines from point to point. */
void dashboard_plot_curve(Plot *plot, int split, const Point *points, size_t count);

/* -- dashboard_terminal.c --------------------------------------------------------------------- */

/* The terminal as curses has it. All functions but dashboard_terminal_restore are for the thread that draws. */

/* Takes the terminal; false where it cannot be had. */
bool dashboard_terminal_take(void);
/* Gives it back, for good. Safe in a signal handler and from any thread. */
void dashboard_terminal_restore(void);
/* After a signal has given it back and the process goes on: takes it again if the process is in the foreground.
 * Returns whether everything has to be drawn again. */
bool dashboard_terminal_resume(void);
/* Marks the time in which the screen is written to: then dashboard_terminal_restore waits a moment. False: it must not
 * be. */
bool dashboard_terminal_draw_begin(void);
void dashboard_terminal_draw_end(void);
/* Ends curses after dashboard_terminal_restore. */
void dashboard_terminal_end(void);
/* Waits for a key or captured output, so many milliseconds at most. */
void dashboard_terminal_wait(int milliseconds);
/* What was captured since the last call, at most `bytes`; returns how much. */
size_t dashboard_terminal_captured(char *text, size_t bytes);
/* Fits curses to the terminal's size; true if it has changed. */
bool dashboard_terminal_resize(void);

/* -- dashboard_view.c ------------------------------------------------------------------------- */

enum { LOG_LINES = 512, LOG_BYTES = 240, NAME_BYTES = 64 };

/* What a dashboard knows. */
typedef struct State {
  BurnProgress progress; /* its result is `result` */
  BurnEpochResult result;
  size_t metric_count;
  char names[BURN_MAX_METRICS][NAME_BYTES], units[BURN_MAX_METRICS][16];
  Series series[BURN_MAX_METRICS][RUN_SPLITS];
  size_t valid_batch, valid_batches; /* of the validation that goes on; 0: none does */
  bool heard;                        /* of values by the logger */
  char log[LOG_LINES][LOG_BYTES];    /* a ring of lines */
  size_t log_count;                  /* of all lines so far */
} State;

/* What the user has chosen. */
typedef struct View {
  size_t metric;
  PlotKind kind;
  int split; /* RUN_SPLITS: both */
  bool help, asks_to_stop, ascii, colours;
  bool can_stop, stopping;
  const char *title;
} View;

/* Finds out about colours, after dashboard_terminal_take. */
void dashboard_view_start(View *view);
/* Draws everything. */
void dashboard_view_draw(const View *view, const State *state);
/* What a key of curses changes; true where the run is to be ended. */
bool dashboard_view_key(View *view, const State *state, int key);

#endif
