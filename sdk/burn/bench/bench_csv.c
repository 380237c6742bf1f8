/* bench_csv.c - see bench_csv.h. */
#include "bench_csv.h"

#include <burn/file.h>

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The columns after group, case and stack: COLUMN(name, part of a row, what one of its units is in those of the file,
 * is it there without figures). */
#define COLUMNS(COLUMN)                                                        \
  COLUMN("ours_ms", ours, 1e3, true)                                           \
  COLUMN("torch_ms", peer[PEER_EAGER], 1e3, true)                              \
  COLUMN("torch_tuned_ms", peer[PEER_TUNED], 1e3, true)                        \
  COLUMN("ratio", ratio, 1, true)                                              \
  COLUMN("ratio_tuned", ratio_tuned, 1, true)                                  \
  COLUMN("limit_percent", limit, 100, true)                                    \
  COLUMN("torch_compile_ms", peer[PEER_COMPILED], 1e3, false)                  \
  COLUMN("torch_cudagraph_ms", peer[PEER_GRAPHS], 1e3, false)                  \
  COLUMN("peak_MB", peak, 1e-6, false)                                         \
  COLUMN("torch_peak_MB", torch_peak, 1e-6, false)                             \
  COLUMN("onednn_ms", peer[PEER_ONEDNN], 1e3, false)                           \
  COLUMN("onnxruntime_ms", peer[PEER_ONNX], 1e3, false)                        \
  COLUMN("noise_percent", noise, 100, false)                                   \
  COLUMN("torch_noise_percent", peer_noise[PEER_EAGER], 100, false)            \
  COLUMN("torch_tuned_noise_percent", peer_noise[PEER_TUNED], 100, false)      \
  COLUMN("torch_compile_noise_percent", peer_noise[PEER_COMPILED], 100, false) \
  COLUMN("torch_cudagraph_noise_percent", peer_noise[PEER_GRAPHS], 100, false) \
  COLUMN("onednn_noise_percent", peer_noise[PEER_ONEDNN], 100, false)          \
  COLUMN("onnxruntime_noise_percent", peer_noise[PEER_ONNX], 100, false)
typedef struct Column {
  const char *name;
  size_t at; /* of the number in a row */
  double scale;
  bool always;
} Column;
#define COLUMN_ROW(name, part, scale, always) {name, offsetof(CsvRow, part), scale, always},
static const Column columns[] = {COLUMNS(COLUMN_ROW)};
enum { COLUMN_COUNT = sizeof columns / sizeof columns[0], NAMES = 3, MAX_CELLS = NAMES + COLUMN_COUNT };
enum { LINE_BYTES = 1024 };

static double *number_at(CsvRow *row, const Column *column) { return (double *)(void *)((char *)row + column->at); }
static double number_of(const CsvRow *row, const Column *column) {
  return *(const double *)(const void *)((const char *)row + column->at);
}

static size_t case_index(const char *name) {
  size_t i = 0;
  while (i < bench_case_count && strcmp(bench_cases[i].name, name) != 0) i++;
  return i;
}

BurnStatus csv_put(CsvFile *file, const CsvRow *given) {
  CsvRow row = *given;
  row.ratio = row.ours / row.peer[PEER_EAGER];
  row.ratio_tuned = row.ours / row.peer[PEER_TUNED];
  for (size_t i = 0; i < file->count; i++) {
    if (file->rows[i].index != row.index || strcmp(file->rows[i].stack, row.stack) != 0) continue;
    file->rows[i] = row;
    return BURN_OK;
  }
  if (file->count == file->capacity) {
    const size_t capacity = file->capacity ? 2 * file->capacity : 256;
    CsvRow *rows = realloc(file->rows, capacity * sizeof *rows);
    if (!rows) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu rows", capacity);
    file->rows = rows;
    file->capacity = capacity;
  }
  file->rows[file->count++] = row;
  return BURN_OK;
}

void csv_release(CsvFile *file) {
  free(file->rows);
  memset(file, 0, sizeof *file);
}

/* -- reading ---------------------------------------------------------------------------------- */

/* Cuts a line at its commas; a stack with commas stands in quotes. */
static int cut(char *line, char *cells[MAX_CELLS]) {
  int count = 0;
  char *at = line;
  while (at && count < MAX_CELLS) {
    char *end = NULL;
    if (*at == '"') {
      cells[count++] = ++at;
      end = strchr(at, '"');
      if (!end) return count;
      *end++ = '\0';
    } else {
      cells[count++] = at;
      end = at + strcspn(at, ",\n");
    }
    at = *end == ',' ? end + 1 : NULL;
    *end = '\0';
  }
  return count;
}

/* The columns that a file has, as its line of names says. */
typedef struct Head {
  const Column *columns[COLUMN_COUNT];
  int count; /* 0: that line has not come */
} Head;

static BurnStatus take_names(Head *head, char *line) {
  char *cells[MAX_CELLS];
  const int count = cut(line, cells);
  head->count = 0;
  for (int i = NAMES; i < count; i++) {
    size_t k = 0;
    while (k < COLUMN_COUNT && strcmp(columns[k].name, cells[i]) != 0) k++;
    if (k == COLUMN_COUNT)
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "no column of this program is called '%s'", cells[i]);
    head->columns[head->count++] = &columns[k];
  }
  return BURN_OK;
}

static BurnStatus take_line(CsvFile *file, const Head *head, char *line) {
  char *cells[MAX_CELLS];
  CsvRow row = {0};
  const int count = cut(line, cells);
  if (head->count == 0)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "figures before the line with the names of the columns");
  if (count != NAMES + head->count)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "a line without %d columns", NAMES + head->count);
  row.index = case_index(cells[1]);
  if (row.index == bench_case_count) return BURN_OK;
  snprintf(row.stack, sizeof row.stack, "%s", cells[2]);
  for (int i = 0; i < COLUMN_COUNT; i++) *number_at(&row, &columns[i]) = (double)NAN;
  for (int i = 0; i < head->count; i++) {
    const char *text = cells[NAMES + i];
    if (*text) *number_at(&row, head->columns[i]) = strtod(text, NULL) / head->columns[i]->scale;
  }
  return csv_put(file, &row);
}

BurnStatus csv_load(CsvFile *file, const char *path) {
  char line[LINE_BYTES];
  memset(file, 0, sizeof *file);
  FILE *input = NULL;
  BurnStatus status = burn_file_open(path, &input, NULL);
  if (status != BURN_OK) return burn_status_annotate(status, "%s", path);
  int about = 0;
  Head head = {.count = 0};
  while (status == BURN_OK && fgets(line, sizeof line, input)) {
    line[strcspn(line, "\n")] = '\0';
    if (line[0] != '#') {
      status = strncmp(line, "group,", 6) == 0 ? take_names(&head, line) : take_line(file, &head, line);
    } else if (about < 3) {
      snprintf(file->about[about++], sizeof file->about[0], "%s", line + strspn(line, "# "));
    }
  }
  fclose(input);
  return burn_status_annotate(status, "%s", path);
}

/* -- writing ---------------------------------------------------------------------------------- */

static int by_case(const void *a, const void *b) {
  const CsvRow *x = a, *y = b;
  if (x->index != y->index) return x->index < y->index ? -1 : 1;
  return strcmp(x->stack, y->stack);
}

/* Has any row a number there? */
static bool has_numbers(const CsvFile *file, const Column *column) {
  for (size_t i = 0; i < file->count; i++) {
    if (isfinite(number_of(&file->rows[i], column))) return true;
  }
  return false;
}

static void put_row(FILE *output, const CsvRow *row, const bool *written) {
  const Case *c = &bench_cases[row->index];
  const char *quote = strchr(row->stack, ',') ? "\"" : "";
  fprintf(output, "%s,%s,%s%s%s", group_names[c->group], c->name, quote, row->stack, quote);
  for (int i = 0; i < COLUMN_COUNT; i++) {
    const double value = number_of(row, &columns[i]) * columns[i].scale;
    if (!written[i]) continue;
    fputc(',', output);
    if (isfinite(value)) fprintf(output, "%.3g", value);
  }
  fputc('\n', output);
}

BurnStatus csv_save(CsvFile *file, const char *path) {
  if (file->count) qsort(file->rows, file->count, sizeof *file->rows, by_case);
  FILE *output = fopen(path, "w");
  if (!output) return burn_status_make(BURN_STATUS_IO, "%s: %s", path, strerror(errno));
  for (int i = 0; i < 3; i++) {
    if (file->about[i][0]) fprintf(output, "# %s\n", file->about[i]);
  }
  bool written[COLUMN_COUNT];
  fprintf(output, "group,case,stack");
  for (int i = 0; i < COLUMN_COUNT; i++) {
    written[i] = columns[i].always || has_numbers(file, &columns[i]);
    if (written[i]) fprintf(output, ",%s", columns[i].name);
  }
  fputc('\n', output);
  for (size_t i = 0; i < file->count; i++) put_row(output, &file->rows[i], written);
  const bool failed = ferror(output) != 0;
  if (fclose(output) != 0 || failed) return burn_status_make(BURN_STATUS_IO, "%s cannot be written", path);
  return BURN_OK;
}

/* -- Markdown --------------------------------------------------------------------------------- */

/* " 12.3 us +- 2 % |", the noise where it is known. */
static void markdown_time(double seconds, double noise) {
  char text[32];
  printf(" %s", isfinite(seconds) ? time_text(seconds, text, sizeof text) : "-");
  if (isfinite(seconds) && isfinite(noise)) printf(" +- %.0f %%", 100 * noise);
  printf(" |");
}

static void markdown_number(double value, const char *format) {
  printf(" ");
  if (isfinite(value)) {
    printf(format, value);
  } else {
    printf("-");
  }
  printf(" |");
}

/* Which columns the tables have beside those of every run. */
typedef struct Shown {
  bool stack, gpu, peer[PEER_WAYS];
} Shown;

static Shown shown_of(const CsvFile *file) {
  Shown with = {.peer[PEER_EAGER] = true};
  for (size_t i = 0; i < file->count; i++) {
    const CsvRow *row = &file->rows[i];
    with.stack = with.stack || strcmp(row->stack, file->rows[0].stack) != 0;
    with.gpu = with.gpu || isfinite(row->peak); /* what only runs on GPUs have */
    for (int way = 0; way < PEER_WAYS; way++) with.peer[way] = with.peer[way] || isfinite(row->peer[way]);
  }
  return with;
}

/* The least of PyTorch's times. */
static double best_of_torch(const CsvRow *row) {
  double best = row->peer[PEER_EAGER];
  for (int way = 0; way < PEER_WAYS; way++) {
    if (way != PEER_ONNX) best = fmin(best, row->peer[way]); /* the other one if one is NaN */
  }
  return best;
}

/* "4120 GB/s | 512 MB | 540 MB |" */
static void markdown_gpu(const CsvRow *row) {
  const char *unit = "";
  char format[32];
  const double rate = case_rate(&bench_cases[row->index], row->ours, &unit);
  snprintf(format, sizeof format, "%%.%df %s", rate < 9.995 ? 2 : rate < 99.95 ? 1 : 0, unit);
  markdown_number(rate, format);
  markdown_number(1e-6 * row->peak, "%.0f MB");
  markdown_number(1e-6 * row->torch_peak, "%.0f MB");
}

/* A column of times for each peer, then the ratio to PyTorch, then those to the others; on a GPU the ratio to the
 * best. */
static void markdown_row(const CsvRow *row, const Shown *with) {
  printf("| %s |", bench_cases[row->index].name);
  if (with->stack) printf(" `%s` |", row->stack);
  markdown_time(row->ours, row->noise);
  for (int way = 0; way < PEER_WAYS; way++) {
    if (with->peer[way]) markdown_time(row->peer[way], row->peer_noise[way]);
  }
  markdown_number(row->ours / (with->gpu ? best_of_torch(row) : row->peer[PEER_EAGER]), "%.2f");
  for (int way = PEER_EAGER + 1; way < PEER_WAYS && !with->gpu; way++) {
    if (with->peer[way]) markdown_number(row->ours / row->peer[way], "%.2f");
  }
  markdown_number(100 * row->limit, "%.0f %%");
  if (with->gpu) markdown_gpu(row);
  printf("\n");
}

/* The names of the columns, then the line below them. */
static void markdown_head(const char *group, const Shown *with) {
  int count = 4 + (with->stack ? 1 : 0) + (with->gpu ? 3 : 0); /* group, ours, ratio, limit */
  printf("\n| %s |%s ours |", group, with->stack ? " stack |" : "");
  for (int way = 0; way < PEER_WAYS; way++) {
    if (with->peer[way]) printf(" %s |", peer_ways[way].heading);
    count += with->peer[way];
  }
  printf(" ratio |");
  for (int way = PEER_EAGER + 1; way < PEER_WAYS && !with->gpu; way++) {
    if (with->peer[way]) printf(" to %s |", peer_ways[way].heading);
    count += with->peer[way];
  }
  printf(" of the %s |%s\n|", with->gpu ? "copy" : "limit", with->gpu ? " rate | memory | PyTorch's |" : "");
  while (count-- > 0) printf("---|");
  printf("\n");
}

void csv_markdown(const CsvFile *file) {
  const Shown with = shown_of(file);
  for (int i = 0; i < 3; i++) {
    if (file->about[i][0]) printf("%s%s\n", file->about[i], i < 2 && file->about[i + 1][0] ? ";" : ".");
  }
  if (!with.stack && file->count) printf("\nStack: `%s`.\n", file->rows[0].stack);
  Group group = GROUP_MODEL;
  for (size_t i = 0; i < file->count; i++) {
    const Group now = bench_cases[file->rows[i].index].group;
    if (i == 0 || now != group) {
      markdown_head(group_names[now], &with);
    }
    group = now;
    markdown_row(&file->rows[i], &with);
  }
}
