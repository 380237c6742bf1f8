/* dashboard_view.c - the picture: from top to bottom a title, metrics beside a plot, what was printed, two bars of
 * progress, keys. */
#include "dashboard_internal.h"

#include <curses.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <burn/text.h>

enum { MIN_ROWS = 24, MIN_COLUMNS = 80, LABEL_COLUMNS = 10, NUMBER_COLUMNS = 10 };
enum { COLOUR_TRAIN = 1, COLOUR_VALID, COLOUR_BAR, COLOUR_TITLE };
static const short colours[] = {COLOR_RED, COLOR_BLUE, COLOR_YELLOW, COLOR_CYAN};

static const char *const split_names[RUN_SPLITS] = {"train", "valid"};
static const char *const kind_names[PLOT_KINDS] = {"whole run", "lately", "epochs"};

/* A part of the screen. */
typedef struct Box {
  int row, column, rows, columns;
} Box;

/* Signs with which lines and bars are drawn. */
typedef struct Signs {
  const char *across, *down, *corners[4], *full, *empty;
} Signs;
static const Signs unicode_signs = {"\u2500", "\u2502", {"\u250c", "\u2510", "\u2514", "\u2518"}, "\u2588", "\u2591"};
static const Signs ascii_signs = {"-", "|", {"+", "+", "+", "+"}, "#", "."};

static const Signs *signs_of(const View *view) { return view->ascii ? &ascii_signs : &unicode_signs; }

static int colour(const View *view, int which) { return view->colours ? COLOR_PAIR(which) : A_NORMAL; }

/* Text from a place on, at most `columns` wide. ASCII, or as many bytes as columns. */
static void put(int row, int column, int columns, const char *format, ...) BURN_PRINTF(4, 5);
static void put(int row, int column, int columns, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  size_t length = strlen(text);
  if (columns > 0 && length > (size_t)columns) {
    length = (size_t)columns;
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) length--; /* not within a character */
  }
  if (columns > 0) (void)mvaddnstr(row, column, text, (int)length);
}

static void draw_frame(const View *view, Box box, const char *title) {
  const Signs *signs = signs_of(view);
  const int last_row = box.row + box.rows - 1, last_column = box.column + box.columns - 1;
  for (int i = box.column + 1; i < last_column; i++) {
    (void)mvaddstr(box.row, i, signs->across);
    (void)mvaddstr(last_row, i, signs->across);
  }
  for (int i = box.row + 1; i < last_row; i++) {
    (void)mvaddstr(i, box.column, signs->down);
    (void)mvaddstr(i, last_column, signs->down);
  }
  (void)mvaddstr(box.row, box.column, signs->corners[0]);
  (void)mvaddstr(box.row, last_column, signs->corners[1]);
  (void)mvaddstr(last_row, box.column, signs->corners[2]);
  (void)mvaddstr(last_row, last_column, signs->corners[3]);
  put(box.row, box.column + 2, box.columns - 4, " %s ", title);
}

/* -- numbers ---------------------------------------------------------------------------------- */

/* "0.1234", "93.40 %"; "-" where there is none. */
static const char *value_text(double value, const char *unit, char text[48]) {
  if (isnan(value)) {
    (void)snprintf(text, 48, "-");
  } else if (unit[0]) {
    (void)snprintf(text, 48, "%.2f %s", value, unit);
  } else {
    (void)snprintf(text, 48, "%.4g", value);
  }
  return text;
}

/* -- metrics ---------------------------------------------------------------------------------- */

/* What a row of the table says of a split: the epoch that runs, else the last one. */
static double shown_value(const State *state, size_t metric, int split) {
  const double running = state->result.metric_count > metric
                             ? state->result.metrics[metric].scale * state->result.metrics[metric].values[split]
                             : (double)NAN;
  return isnan(running) ? state->series[metric][split].last_epoch : running;
}

/* "0.0699 (3)": a value of an epoch, and which. */
static void put_extreme(int row, int column, double value, size_t epoch) {
  put(row, column, NUMBER_COLUMNS, "%*.3g (%zu)", epoch < 10 ? 6 : epoch < 100 ? 5 : 4, value, epoch);
}

static void draw_extremes(const State *state, size_t metric, int row, int column, int name_columns) {
  put(row, column, name_columns + 2 * NUMBER_COLUMNS, "%-*s%*s%*s", name_columns, "of epochs", NUMBER_COLUMNS, "min",
      NUMBER_COLUMNS, "max");
  for (int split = 0; split < RUN_SPLITS; split++) {
    const Series *series = &state->series[metric][split];
    if (!series->min_epoch) continue;
    row++;
    put(row, column, name_columns, "%s", split_names[split]);
    put_extreme(row, column + name_columns, series->min, series->min_epoch);
    put_extreme(row, column + name_columns + NUMBER_COLUMNS, series->max, series->max_epoch);
  }
}

static void draw_metrics(const View *view, const State *state, Box box) {
  const int name_columns = box.columns - 4 - 2 * NUMBER_COLUMNS, room = box.rows - 7;
  const int count = (int)state->metric_count, chosen = (int)view->metric;
  const int first = chosen >= room && room > 0 ? chosen - room + 1 : 0;
  int row = box.row + 1;
  char text[48];
  draw_frame(view, box, "metrics");
  for (int split = 0; split < RUN_SPLITS; split++) {
    (void)attrset(colour(view, COLOUR_TRAIN + split));
    put(row, box.column + 2 + name_columns + split * NUMBER_COLUMNS, NUMBER_COLUMNS, "%*s", NUMBER_COLUMNS,
        split_names[split]);
  }
  (void)attrset(A_NORMAL);
  for (int i = first; i < count && i < first + room; i++) {
    row++;
    (void)attrset(i == chosen ? A_BOLD : A_NORMAL);
    put(row, box.column + 1, name_columns + 1, "%c%s", i == chosen ? '>' : ' ', state->names[i]);
    for (int split = 0; split < RUN_SPLITS; split++) {
      put(row, box.column + 2 + name_columns + split * NUMBER_COLUMNS, NUMBER_COLUMNS, "%*.*s", NUMBER_COLUMNS,
          NUMBER_COLUMNS - 1, value_text(shown_value(state, (size_t)i, split), state->units[i], text));
    }
    (void)attrset(A_NORMAL);
  }
  if (count > 0) draw_extremes(state, view->metric, box.row + box.rows - 4, box.column + 2, name_columns);
}

/* -- the plot --------------------------------------------------------------------------------- */

/* U+2800 with dots, as UTF-8. */
static void put_braille(int row, int column, uint8_t dots) {
  const unsigned bits = dots;
  const char text[] = {(char)0xe2, (char)(0xa0u | bits >> 6), (char)(0x80u | (bits & 0x3fu)), '\0'};
  (void)mvaddstr(row, column, text);
}

/* Without colours the curve of validation has a sign of its own where it is alone in a cell. */
static void put_cell(const View *view, const Plot *plot, int cell, int row, int column) {
  const uint8_t train = plot->cells[0][cell], valid = plot->cells[1][cell];
  if (!train && !valid) return;
  (void)attrset(colour(view, valid ? COLOUR_VALID : COLOUR_TRAIN));
  if (!plot->braille || (!view->colours && !train)) {
    (void)mvaddch(row, column, (chtype)(train && valid ? '#' : valid ? 'o' : '*'));
  } else {
    put_braille(row, column, (uint8_t)(train | valid));
  }
  (void)attrset(A_NORMAL);
}

static void draw_axes(const Plot *plot, const char *unit, Box box) {
  char text[48];
  const int middle = plot->rows / 2, bottom = box.row + 1 + plot->rows;
  const double y_middle = plot->y_max - (plot->y_max - plot->y_min) * middle / (plot->rows > 1 ? plot->rows - 1 : 1);
  put(box.row + 1, box.column + 1, LABEL_COLUMNS, "%9.9s", value_text(plot->y_max, unit, text));
  put(box.row + 1 + middle, box.column + 1, LABEL_COLUMNS, "%9.9s", value_text(y_middle, unit, text));
  put(box.row + plot->rows, box.column + 1, LABEL_COLUMNS, "%9.9s", value_text(plot->y_min, unit, text));
  put(bottom, box.column + 1 + LABEL_COLUMNS, plot->columns, "epoch %.2f", plot->x_min);
  (void)snprintf(text, sizeof text, "%.2f", plot->x_max);
  put(bottom, box.column + 1 + LABEL_COLUMNS + plot->columns - (int)strlen(text), 12, "%s", text);
}

static void draw_legend(const View *view, Box box) {
  int column = box.column + box.columns - 18;
  for (int split = 0; split < RUN_SPLITS; split++) {
    const bool shown = view->split == split || view->split == RUN_SPLITS;
    (void)attrset(colour(view, COLOUR_TRAIN + split));
    if (shown && !view->colours) put(box.row, column, 9, " %c %s", split ? 'o' : '*', split_names[split]);
    if (shown && view->colours) put(box.row, column, 9, " %s ", split_names[split]);
    column += 8;
  }
  (void)attrset(A_NORMAL);
}

static void draw_curves(const View *view, const State *state, Plot *plot, Box box) {
  const size_t cells = (size_t)plot->rows * (size_t)plot->columns;
  Point *points[RUN_SPLITS] = {NULL, NULL};
  size_t counts[RUN_SPLITS] = {0, 0};
  bool sound = true;
  for (int split = 0; split < RUN_SPLITS; split++) {
    points[split] = malloc(MAX_PLOT_POINTS * sizeof **points);
    plot->cells[split] = calloc(cells, 1);
    sound = sound && points[split] && plot->cells[split];
    const bool shown = view->split == split || view->split == RUN_SPLITS;
    if (sound && shown)
      counts[split] = dashboard_series_points(&state->series[view->metric][split], view->kind, points[split]);
  }
  if (!sound || !dashboard_plot_range(plot, points, counts)) {
    put(box.row + box.rows / 2, box.column + box.columns / 2 - 8, 20, "no values yet");
  } else {
    for (int split = 0; split < RUN_SPLITS; split++) dashboard_plot_curve(plot, split, points[split], counts[split]);
    draw_axes(plot, state->units[view->metric], box);
    for (int cell = 0; cell < (int)cells; cell++) {
      put_cell(view, plot, cell, box.row + 1 + cell / plot->columns,
               box.column + 1 + LABEL_COLUMNS + cell % plot->columns);
    }
  }
  for (int split = 0; split < RUN_SPLITS; split++) {
    free(points[split]);
    free(plot->cells[split]);
  }
}

static void draw_plot(const View *view, const State *state, Box box) {
  char title[NAME_BYTES + 32] = "plot";
  Plot plot = {.rows = box.rows - 3, .columns = box.columns - 3 - LABEL_COLUMNS, .braille = !view->ascii};
  if (state->metric_count > 0) {
    (void)snprintf(title, sizeof title, "%s, %s", state->names[view->metric], kind_names[view->kind]);
  }
  draw_frame(view, box, title);
  if (state->metric_count == 0) return;
  draw_legend(view, box);
  draw_curves(view, state, &plot, box);
}

/* -- the rest --------------------------------------------------------------------------------- */

static void draw_log(const View *view, const State *state, Box box) {
  const size_t room = (size_t)(box.rows - 2), known = state->log_count < LOG_LINES ? state->log_count : LOG_LINES;
  const size_t shown = known < room ? known : room;
  draw_frame(view, box, "log");
  for (size_t i = 0; i < shown; i++) {
    const char *line = state->log[(state->log_count - shown + i) % LOG_LINES];
    put(box.row + 1 + (int)i, box.column + 2, box.columns - 4, "%s", line);
  }
}

static void draw_bar(const View *view, int row, const char *left, double share, const char *right) {
  const Signs *signs = signs_of(view);
  const int begin = 24, columns = COLS - begin - 34, full = (int)((share < 1 ? share : 1) * columns + 0.5);
  put(row, 1, begin - 2, "%s", left);
  (void)attrset(colour(view, COLOUR_BAR));
  for (int i = 0; i < columns; i++) (void)mvaddstr(row, begin + i, i < full ? signs->full : signs->empty);
  (void)attrset(A_NORMAL);
  put(row, begin + columns + 2, 31, "%s", right);
}

static void draw_progress(const View *view, const State *state, int row) {
  const BurnProgress *p = &state->progress;
  const double epoch = p->batches ? (double)p->batch / (double)p->batches : 0;
  const double run = p->epochs ? ((double)(p->epoch ? p->epoch - 1 : 0) + epoch) / (double)p->epochs : 0;
  char left[64], right[96], time[BURN_DURATION_BYTES];
  (void)snprintf(left, sizeof left, "epoch %zu/%zu", p->epoch, p->epochs);
  if (state->valid_batch) {
    (void)snprintf(right, sizeof right, "validation batch %zu/%zu", state->valid_batch, state->valid_batches);
  } else {
    (void)snprintf(right, sizeof right, "batch %zu/%zu", p->batch, p->batches);
  }
  draw_bar(view, row, left, epoch, right);
  const double speed = p->epoch_seconds > 0 ? (double)p->items / p->epoch_seconds : 0;
  (void)snprintf(left, sizeof left, "run %.0f %%", 100 * run);
  (void)snprintf(right, sizeof right, "%s left, %.0f items/s", burn_duration_text(burn_progress_seconds_left(p), time),
                 speed);
  draw_bar(view, row + 1, left, run, right);
}

static void draw_title(const View *view, const State *state) {
  char time[BURN_DURATION_BYTES];
  const char *doing = view->stopping       ? "stopping: the step that runs and its checkpoint"
                      : state->valid_batch ? "validation"
                                           : "training";
  (void)attrset(colour(view, COLOUR_TITLE) | (int)A_BOLD);
  put(0, 1, COLS - 24, "burn%s%s: %s", view->title ? " " : "", view->title ? view->title : "", doing);
  (void)attrset(A_NORMAL);
  put(0, COLS - 20, 19, "%12s so far", burn_duration_text(state->progress.run_seconds, time));
}

static void draw_popup(const View *view, const char *title, const char *const *lines, int count) {
  int columns = 0;
  for (int i = 0; i < count; i++) columns = (int)strlen(lines[i]) > columns ? (int)strlen(lines[i]) : columns;
  const Box box = {(LINES - count - 2) / 2, (COLS - columns - 4) / 2, count + 2, columns + 4};
  for (int row = box.row; row < box.row + box.rows; row++) put(row, box.column, box.columns, "%*s", box.columns, "");
  draw_frame(view, box, title);
  for (int i = 0; i < count; i++) put(box.row + 1 + i, box.column + 2, columns, "%s", lines[i]);
}

static void draw_popups(const View *view) {
  static const char *const question[] = {"s  end the run after the step that runs, with a checkpoint", "c  go on"};
  static const char *const alone[] = {"This run has nobody to ask: Ctrl-C ends it.", "c  go on"};
  static const char *const keys[] = {"left, right    another metric",
                                     "up, down       the whole run, its last values, or values of epochs",
                                     "s              curves of train and valid, of train, of valid",
                                     "q              end the run",
                                     "l              draw everything again",
                                     "h, ?           this help; any key closes it",
                                     "Ctrl-C         ends the run with a checkpoint; twice: at once",
                                     "Ctrl-Z         back to the shell; fg goes on"};
  if (view->asks_to_stop) draw_popup(view, "end the run?", view->can_stop ? question : alone, 2);
  if (view->help) draw_popup(view, "keys", keys, sizeof keys / sizeof *keys);
}

static void draw_small(const State *state) {
  const BurnProgress *p = &state->progress;
  put(0, 0, COLS, "%dx%d is small: %dx%d at least", COLS, LINES, MIN_COLUMNS, MIN_ROWS);
  if (LINES > 1) put(1, 0, COLS, "epoch %zu/%zu batch %zu/%zu", p->epoch, p->epochs, p->batch, p->batches);
}

void dashboard_view_start(View *view) {
  view->colours = has_colors() && start_color() == OK && use_default_colors() == OK;
  for (int i = 0; view->colours && i < (int)(sizeof colours / sizeof *colours); i++) {
    view->colours = init_pair((short)(i + 1), colours[i], -1) == OK;
  }
}

void dashboard_view_draw(const View *view, const State *state) {
  (void)erase();
  if (LINES < MIN_ROWS || COLS < MIN_COLUMNS) {
    draw_small(state);
  } else {
    const int log_rows = LINES / 5 + 2, middle = LINES - log_rows - 4, left = COLS * 38 / 100 + 4;
    draw_title(view, state);
    draw_metrics(view, state, (Box){1, 0, middle, left});
    draw_plot(view, state, (Box){1, left, middle, COLS - left});
    draw_log(view, state, (Box){1 + middle, 0, log_rows, COLS});
    draw_progress(view, state, LINES - 3);
    put(LINES - 1, 1, COLS - 2, "left/right metric  up/down plot  s split  q end  h help");
    draw_popups(view);
  }
  (void)refresh();
}

/* -- keys ------------------------------------------------------------------------------------- */

bool dashboard_view_key(View *view, const State *state, int key) {
  const size_t count = state->metric_count;
  if (view->help) {
    view->help = false;
    return false;
  }
  if (view->asks_to_stop) {
    const bool stop = key == 's' && view->can_stop;
    if (stop || key == 'c' || key == 27) view->asks_to_stop = false;
    view->stopping = view->stopping || stop;
    return stop;
  }
  switch (key) {
    case KEY_RIGHT:
    case '\t':
      if (count) view->metric = (view->metric + 1) % count;
      break;
    case KEY_LEFT:
      if (count) view->metric = (view->metric + count - 1) % count;
      break;
    case KEY_DOWN:
      view->kind = (PlotKind)((view->kind + 1) % PLOT_KINDS);
      break;
    case KEY_UP:
      view->kind = (PlotKind)((view->kind + PLOT_KINDS - 1) % PLOT_KINDS);
      break;
    case 's':
      view->split = view->split == RUN_SPLITS ? 0 : view->split + 1;
      break;
    case 'q':
      view->asks_to_stop = true;
      break;
    case 'h':
    case '?':
      view->help = true;
      break;
    case 'l':
    case 12: /* Ctrl-L */
      (void)clearok(curscr, TRUE);
      break;
    default:
      break;
  }
  return false;
}
