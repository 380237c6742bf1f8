/* bench_csv.c - see bench_csv.h. */
#include "bench_csv.h"

#include <burn/file.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "group,case,stack,ours_ms,torch_ms,torch_tuned_ms,ratio,ratio_tuned,limit_percent"
#define GPU_HEAD ",torch_compile_ms,torch_cudagraph_ms,peak_MB,torch_peak_MB"
enum { COLUMNS = 9, GPU_COLUMNS = 13, LINE_BYTES = 1024 };

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
static int cut(char *line, char *columns[GPU_COLUMNS]) {
  int count = 0;
  char *at = line;
  while (at && count < GPU_COLUMNS) {
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
  char *columns[GPU_COLUMNS];
  if (line[0] == '#' || strncmp(line, "group,", 6) == 0) return BURN_OK;
  const size_t length = strlen(line);
  const int count = cut(line, columns);
  if (count != COLUMNS && count != GPU_COLUMNS)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "a line without %d columns", COLUMNS);
  for (int i = count; i < GPU_COLUMNS; i++) columns[i] = line + length; /* "" */
  CsvRow row = {.index = case_index(columns[1]),
                .ours = number(columns[3], 1e-3),
                .torch = {[PEER_EAGER] = number(columns[4], 1e-3),
                          [PEER_TUNED] = number(columns[5], 1e-3),
                          [PEER_COMPILED] = number(columns[9], 1e-3),
                          [PEER_GRAPHS] = number(columns[10], 1e-3)},
                .limit = number(columns[8], 1e-2),
                .peak = number(columns[11], 1e6),
                .torch_peak = number(columns[12], 1e6)};
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

/* What only runs on GPUs have. */
static bool is_of_gpu(const CsvRow *row) {
  return isfinite(row->torch[PEER_COMPILED]) || isfinite(row->torch[PEER_GRAPHS]) || isfinite(row->peak);
}

static bool has_gpu(const CsvFile *file) {
  for (size_t i = 0; i < file->count; i++) {
    if (is_of_gpu(&file->rows[i])) return true;
  }
  return false;
}

static void put_row(FILE *output, const CsvRow *row, bool with_gpu) {
  const Case *c = &bench_cases[row->index];
  const char *quote = strchr(row->stack, ',') ? "\"" : "";
  fprintf(output, "%s,%s,%s%s%s", group_names[c->group], c->name, quote, row->stack, quote);
  put_number(output, 1e3 * row->ours);
  put_number(output, 1e3 * row->torch[PEER_EAGER]);
  put_number(output, 1e3 * row->torch[PEER_TUNED]);
  put_number(output, row->ours / row->torch[PEER_EAGER]);
  put_number(output, row->ours / row->torch[PEER_TUNED]);
  put_number(output, 100 * row->limit);
  if (with_gpu) put_number(output, 1e3 * row->torch[PEER_COMPILED]);
  if (with_gpu) put_number(output, 1e3 * row->torch[PEER_GRAPHS]);
  if (with_gpu) put_number(output, 1e-6 * row->peak);
  if (with_gpu) put_number(output, 1e-6 * row->torch_peak);
  fputc('\n', output);
}

BurnStatus csv_save(CsvFile *file, const char *path) {
  if (file->count) qsort(file->rows, file->count, sizeof *file->rows, by_case);
  FILE *output = fopen(path, "w");
  if (!output) return burn_status_make(BURN_STATUS_IO, "%s: %s", path, strerror(errno));
  for (int i = 0; i < 3; i++) {
    if (file->about[i][0]) fprintf(output, "# %s\n", file->about[i]);
  }
  const bool with_gpu = has_gpu(file);
  fprintf(output, HEAD "%s\n", with_gpu ? GPU_HEAD : "");
  for (size_t i = 0; i < file->count; i++) put_row(output, &file->rows[i], with_gpu);
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

/* Which columns the tables have beside those of every run. */
typedef struct Columns {
  bool stack, tuned, gpu;
} Columns;

static Columns columns_of(const CsvFile *file) {
  Columns columns = {.gpu = has_gpu(file)};
  for (size_t i = 0; i < file->count; i++) {
    columns.tuned = columns.tuned || isfinite(file->rows[i].torch[PEER_TUNED]);
    columns.stack = columns.stack || strcmp(file->rows[i].stack, file->rows[0].stack) != 0;
  }
  return columns;
}

/* The least of PyTorch's times. */
static double best_of_torch(const CsvRow *row) {
  double best = row->torch[0];
  for (int way = 1; way < PEER_WAYS; way++) best = fmin(best, row->torch[way]); /* the other one if one is NaN */
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

static void markdown_row(const CsvRow *row, Columns with) {
  printf("| %s |", bench_cases[row->index].name);
  if (with.stack) printf(" `%s` |", row->stack);
  markdown_time(row->ours);
  markdown_time(row->torch[PEER_EAGER]);
  if (with.tuned) markdown_time(row->torch[PEER_TUNED]);
  if (with.gpu) markdown_time(row->torch[PEER_COMPILED]);
  if (with.gpu) markdown_time(row->torch[PEER_GRAPHS]);
  markdown_number(row->ours / (with.gpu ? best_of_torch(row) : row->torch[PEER_EAGER]), "%.2f");
  if (with.tuned) markdown_number(row->ours / row->torch[PEER_TUNED], "%.2f");
  markdown_number(100 * row->limit, "%.0f %%");
  if (with.gpu) markdown_gpu(row);
  printf("\n");
}

/* The names of the columns, then the line below them. */
static void markdown_head(const char *group, Columns with) {
  printf("\n| %s |%s ours | PyTorch |%s%s ratio |%s of the %s |%s\n", group, with.stack ? " stack |" : "",
         with.tuned ? " tuned |" : "", with.gpu ? " compiled | CUDA graph |" : "", with.tuned ? " to tuned |" : "",
         with.gpu ? "copy" : "limit", with.gpu ? " rate | memory | PyTorch's |" : "");
  printf("|%s%s%s%s\n", "---|---|---|---|---|", with.stack ? "---|" : "", with.tuned ? "---|---|" : "",
         with.gpu ? "---|---|---|---|---|" : "");
}

void csv_markdown(const CsvFile *file) {
  const Columns with = columns_of(file);
  for (int i = 0; i < 3; i++) {
    if (file->about[i][0]) printf("%s%s\n", file->about[i], i < 2 && file->about[i + 1][0] ? ";" : ".");
  }
  if (!with.stack && file->count) printf("\nStack: `%s`.\n", file->rows[0].stack);
  Group group = GROUP_MODEL;
  for (size_t i = 0; i < file->count; i++) {
    const Group now = bench_cases[file->rows[i].index].group;
    if (i == 0 || now != group) {
      markdown_head(group_names[now], with);
    }
    group = now;
    markdown_row(&file->rows[i], with);
  }
}
