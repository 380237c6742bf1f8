/* run_print.c - what burn run prints: a table for people, a JSON object or a row of CSV per item for scripts. */
#include "run.h"

#include <burn/text.h>
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

enum { NAME_BYTES = 4200, SHOWN = 8 };

static const char *name_of(const RunOutput *output, size_t row, char text[NAME_BYTES]) {
  const RunInputs *inputs = output->inputs;
  const size_t item = output->first + row;
  if (item < inputs->name_count) return inputs->names[item];
  (void)snprintf(text, NAME_BYTES, "%.4096s[%zu]", inputs->name, item);
  return text;
}

static size_t best_of(const double *values, size_t width) {
  size_t best = 0;
  for (size_t i = 1; i < width; i++)
    if (values[i] > values[best]) best = i;
  return best;
}

static void print_table_row(const RunOutput *output, const char *name, const double *values) {
  const BurnModelLibrary *library = output->library;
  if (library->class_count) {
    const size_t best = best_of(values, output->width);
    printf("%-40s %-16s %6.2f %%\n", name, library->classes[best], 100 * values[best]);
    return;
  }
  printf("%-40s", name);
  for (size_t i = 0; i < output->width && i < SHOWN; i++) printf(" %12.6g", values[i]);
  puts(output->width > SHOWN ? " .." : "");
}

/* A field with a quote, comma or line end stands in quotes, with its quotes doubled. */
static void print_csv_text(const char *text) {
  bool quoted = false;
  for (const char *at = text; *at; at++) quoted |= *at == '"' || *at == ',' || *at == '\n' || *at == '\r';
  if (quoted) putchar('"');
  for (; *text; text++) {
    if (*text == '"') putchar('"');
    putchar(*text);
  }
  if (quoted) putchar('"');
}

static void print_csv_row(const RunOutput *output, const char *name, const double *values) {
  const BurnModelLibrary *library = output->library;
  print_csv_text(name);
  if (library->class_count) {
    putchar(',');
    print_csv_text(library->classes[best_of(values, output->width)]);
  }
  for (size_t i = 0; i < output->width; i++) printf(",%.9g", values[i]);
  putchar('\n');
}

/* NaN and infinities are null. */
static bool print_json_row(const RunOutput *output, const char *name, const double *values) {
  const BurnModelLibrary *library = output->library;
  cJSON *row = cJSON_CreateObject(), *numbers = cJSON_CreateDoubleArray(values, (int)output->width);
  cJSON_AddStringToObject(row, "input", name);
  if (library->class_count) {
    const size_t best = best_of(values, output->width);
    cJSON_AddStringToObject(row, "class", library->classes[best]);
    cJSON_AddNumberToObject(row, "share", values[best]);
  }
  cJSON_AddItemToObject(row, library->class_count ? "shares" : "output", numbers);
  char *text = cJSON_PrintUnformatted(row);
  cJSON_Delete(row);
  if (text) puts(burn_text_clean(text)); /* names of files may be any bytes */
  free(text);
  return text != NULL;
}

void run_print_header(int format, const BurnModelLibrary *library, size_t width) {
  if (format == RUN_TABLE) {
    printf("%-40s %s\n", "input", library->class_count ? "class             share" : "output");
  } else if (format == RUN_CSV) {
    printf(library->class_count ? "input,class" : "input");
    for (size_t i = 0; i < width; i++) {
      putchar(',');
      if (library->class_count) {
        print_csv_text(library->classes[i]);
      } else {
        printf("output_%zu", i);
      }
    }
    putchar('\n');
  }
}

BurnStatus run_print(int format, const RunOutput *output) {
  char text[NAME_BYTES];
  for (size_t row = 0; row < output->count; row++) {
    const char *name = name_of(output, row, text);
    const double *values = output->values + row * output->width;
    if (format == RUN_TABLE) print_table_row(output, name, values);
    if (format == RUN_CSV) print_csv_row(output, name, values);
    if (format == RUN_JSON && !print_json_row(output, name, values)) {
      return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a line");
    }
  }
  return BURN_OK;
}
