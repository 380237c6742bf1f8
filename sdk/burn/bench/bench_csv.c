/* bench_csv.c - see bench_csv.h. */
#include "bench_csv.h"

#include <burn/file.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "group,case,stack,ours_ms,torch_ms,torch_tuned_ms,ratio,ratio_tuned,limit_percent"
enum { COLUMNS = 9, LINE_BYTES = 1024 };

static size_t case_index(const char *name) {
  size_t i = 0;
  while (i < bench_case_count && strcmp(bench_cases[i].name, name) != 0) i++;
  return i;
}

BurnStatus csv_put(CsvFile *file, const CsvRow *row) {
  for (size_t i = 0; i < file->count; i++) {
    if (file->rows[i].index != row->index || strcmp(file->rows[i].stack, row->stack) != 0) continue;
    file->rows[i] = *row;
    return BURN_OK;
  }
  if (file->count == file->capacity) {
    const size_t capacity = file->capacity ? 2 * file->capacity : 256;
    CsvRow *rows = realloc(file->rows, capacity * sizeof *rows);
    if (!rows) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu rows", capacity);
    file->rows = rows;
    file->capacity = capacity;
  }
  file->rows[file->count++] = *row;
  return BURN_OK;
}

void csv_release(CsvFile *file) {
  free(file->rows);
  memset(file, 0, sizeof *file);
}

/* -- reading ---------------------------------------------------------------------------------- */

/* Cuts a line at its commas; a stack with commas stands in quotes. */
static int cut(char *line, char *columns[COLUMNS]) {
  int count = 0;
  char *at = line;
  while (at && count < COLUMNS) {
    char *end = NULL;
    if (*at == '"') {
      columns[count++] = ++at;
      end = strchr(at, '"');
      if (!end) return count;
      *end++ = '\0';
    } else {
      columns[count++] = at;
      end = at + strcspn(at, ",\n");
    }
    at = *end == ',' ? end + 1 : NULL;
    *end = '\0';
  }
  return count;
}

static double number(const char *text, double scale) {
  return *text && *text != '\n' ? strtod(text, NULL) * scale : (double)NAN;
}

static BurnStatus take_line(CsvFile *file, char *line) {
  char *columns[COLUMNS];
  if (line[0] == '#' || strncmp(line, "group,", 6) == 0) return BURN_OK;
  if (cut(line, columns) != COLUMNS)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "a line without %d columns", COLUMNS);
  CsvRow row = {.index = case_index(columns[1]),
                .ours = number(columns[3], 1e-3),
                .torch = number(columns[4], 1e-3),
                .tuned = number(columns[5], 1e-3),
                .limit = number(columns[8], 1e-2)};
  if (row.index == bench_case_count) return BURN_OK;
  snprintf(row.stack, sizeof row.stack, "%s", columns[2]);
  return csv_put(file, &row);
}

BurnStatus csv_load(CsvFile *file, const char *path) {
  char line[LINE_BYTES];
  memset(file, 0, sizeof *file);
  FILE *input = NULL;
  BurnStatus status = burn_file_open(path, &input, NULL);
  if (burn_status_code(status) == BURN_STATUS_NOT_FOUND) return BURN_OK;
  if (status != BURN_OK) return burn_status_annotate(status, "%s", path);
  int about = 0;
  while (status == BURN_OK && fgets(line, sizeof line, input)) {
    if (line[0] == '#' && about < 3) {
      line[strcspn(line, "\n")] = '\0';
      snprintf(file->about[about++], sizeof file->about[0], "%s", line + strspn(line, "# "));
    }
    status = take_line(file, line);
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

static void put_number(FILE *output, double value) {
  fputc(',', output);
  if (isfinite(value)) fprintf(output, "%.3g", value);
}

static void put_row(FILE *output, const CsvRow *row) {
  const Case *c = &bench_cases[row->index];
  const char *quote = strchr(row->stack, ',') ? "\"" : "";
  fprintf(output, "%s,%s,%s%s%s", group_names[c->group], c->name, quote, row->stack, quote);
  put_number(output, 1e3 * row->ours);
  put_number(output, 1e3 * row->torch);
  put_number(output, 1e3 * row->tuned);
  put_number(output, row->ours / row->torch);
  put_number(output, row->ours / row->tuned);
  put_number(output, 100 * row->limit);
  fputc('\n', output);
}

BurnStatus csv_save(CsvFile *file, const char *path) {
  if (file->count) qsort(file->rows, file->count, sizeof *file->rows, by_case);
  FILE *output = fopen(path, "w");
  if (!output) return burn_status_make(BURN_STATUS_IO, "%s: %s", path, strerror(errno));
  for (int i = 0; i < 3; i++) {
    if (file->about[i][0]) fprintf(output, "# %s\n", file->about[i]);
  }
  fprintf(output, HEAD "\n");
  for (size_t i = 0; i < file->count; i++) put_row(output, &file->rows[i]);
  const bool failed = ferror(output) != 0;
  if (fclose(output) != 0 || failed) return burn_status_make(BURN_STATUS_IO, "%s cannot be written", path);
  return BURN_OK;
}

/* -- Markdown --------------------------------------------------------------------------------- */

static void markdown_time(double seconds) {
  char text[32];
  printf(" %s |", isfinite(seconds) ? time_text(seconds, text, sizeof text) : "-");
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

static void markdown_row(const CsvRow *row, bool with_stack, bool with_tuned) {
  printf("| %s |", bench_cases[row->index].name);
  if (with_stack) printf(" `%s` |", row->stack);
  markdown_time(row->ours);
  markdown_time(row->torch);
  if (with_tuned) markdown_time(row->tuned);
  markdown_number(row->ours / row->torch, "%.2f");
  if (with_tuned) markdown_number(row->ours / row->tuned, "%.2f");
  markdown_number(100 * row->limit, "%.0f %%");
  printf("\n");
}

void csv_markdown(const CsvFile *file) {
  bool with_tuned = false, with_stack = false;
  for (size_t i = 0; i < file->count; i++) {
    with_tuned = with_tuned || isfinite(file->rows[i].tuned);
    with_stack = with_stack || strcmp(file->rows[i].stack, file->rows[0].stack) != 0;
  }
  for (int i = 0; i < 3; i++) {
    if (file->about[i][0]) printf("%s%s\n", file->about[i], i < 2 && file->about[i + 1][0] ? ";" : ".");
  }
  if (!with_stack && file->count) printf("\nStack: `%s`.\n", file->rows[0].stack);
  Group group = GROUP_MODEL;
  for (size_t i = 0; i < file->count; i++) {
    const Group now = bench_cases[file->rows[i].index].group;
    if (i == 0 || now != group) {
      printf("\n| %s |%s ours | PyTorch |%s ratio |%s of the limit |\n|---|%s---|---|%s---|%s---|\n", group_names[now],
             with_stack ? " stack |" : "", with_tuned ? " tuned |" : "", with_tuned ? " to tuned |" : "",
             with_stack ? "---|" : "", with_tuned ? "---|" : "", with_tuned ? "---|" : "");
    }
    group = now;
    markdown_row(&file->rows[i], with_stack, with_tuned);
  }
}
