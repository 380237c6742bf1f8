/* report_text.c - the summary of a report as a table for a terminal. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <burn/text.h>

#include "metric_pass.h"
#include "report_internal.h"
#include "status_chain.h"

enum { NAME_COLUMNS = 16, SPLIT_COLUMNS = 5 };

/* "min", "max" or "last" of a split: a value of 5 digits, and the epoch that had it. */
static void add_extreme(BurnTextBuilder *out, const cJSON *split, const char *which) {
  char number[BURN_NUMBER_BYTES], epoch[BURN_NUMBER_BYTES];
  const cJSON *pair = cJSON_GetObjectItemCaseSensitive(split, which);
  const double value = cJSON_GetNumberValue(cJSON_GetArrayItem(pair, 1));
  const double when = cJSON_GetNumberValue(cJSON_GetArrayItem(pair, 0));
  burn__text_addf(out, "  %10s  %5s", isnan(value) ? "-" : burn_number_text(value, 5, number),
                  isnan(when) ? "-" : burn_number_text(when, 15, epoch));
}

static void add_metric(BurnTextBuilder *out, const cJSON *metric) {
  const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(metric, "name"));
  for (int i = 0; i < BURN_SPLITS; i++) {
    const cJSON *split = cJSON_GetObjectItemCaseSensitive(metric, burn__split_names[i]);
    if (!split) continue;
    burn__text_addf(out, "%-*.*s  %-*s", NAME_COLUMNS, NAME_COLUMNS, name ? name : "", SPLIT_COLUMNS,
                    burn__split_names[i]);
    add_extreme(out, split, "min");
    add_extreme(out, split, "max");
    add_extreme(out, split, "last");
    burn__text_add(out, "\n");
  }
}

static void add_table(BurnTextBuilder *out, const cJSON *root) {
  const char *title = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "title"));
  const double epochs = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(root, "epochs"));
  const cJSON *metric;
  burn__text_addf(out, "%s: %.0f epoch%s\n\n%-*s  %-*s", title ? title : "", epochs, epochs == 1 ? "" : "s",
                  NAME_COLUMNS, "metric", SPLIT_COLUMNS, "split");
  burn__text_add(out, "      lowest  epoch     highest  epoch        last  epoch\n");
  cJSON_ArrayForEach(metric, cJSON_GetObjectItemCaseSensitive(root, "metrics")) add_metric(out, metric);
}

char *burn_report_summary(const BurnReportConfig *config, BurnStatus *status) {
  BurnTextBuilder out = BURN_TEXT_BUILDER;
  cJSON *root = NULL;
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK) result = burn__report_read(config, &root);
  if (root) add_table(&out, root);
  char *text = root ? burn__text_finish(&out) : NULL;
  cJSON_Delete(root);
  if (text) (void)burn_text_clean(text); /* names of files and escapes in JSON can stand for any byte */
  if (result == BURN_OK && !text) result = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "report: out of memory");
  burn__store_status(status, result);
  return text;
}
