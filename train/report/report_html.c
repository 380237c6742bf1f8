/* report_html.c - the tree of a report as one page. Its policy forbids scripts and anything from elsewhere, so that
 * even a text that escaped being escaped could do nothing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <burn/text.h>

#include "logger_files.h"
#include "report_internal.h"

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1d2129;--soft:#5c6370;--paper:#fff;--card:#f5f6f8;--rule:#dcdfe4;"
    "--train:#c4372b;--valid:#2364c4;--bad:#c4372b}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6e8ec;--soft:#9aa1ad;--paper:#15171b;--card:#1e2127;--rule:#"
    "353a43;"
    "--train:#ff8a7a;--valid:#7ab0ff;--bad:#ff8a7a}}\n"
    "body{margin:0 auto;padding:1.5rem;max-width:72rem;background:var(--paper);color:var(--ink);"
    "font:15px/1.45 system-ui,sans-serif}\n"
    "h1{font-size:1.6rem;margin:0}h2{font-size:1.15rem;margin:2rem 0 .6rem}p{margin:.2rem 0;color:var(--soft)}\n"
    ".grid{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr))}\n"
    ".cards{display:grid;gap:.8rem;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));margin-top:1rem}\n"
    ".card,figure{background:var(--card);border-radius:.5rem;padding:.8rem;margin:0;overflow-wrap:anywhere}\n"
    ".card b{display:block;font-size:1.3rem}.card span,figcaption small{color:var(--soft);font-size:.85rem}\n"
    "figcaption{display:flex;justify-content:space-between;font-weight:600}i.train{color:var(--train)}"
    "i.valid{color:var(--valid)}\n"
    "svg{width:100%;height:auto;display:block}svg text{fill:var(--soft);font-size:11px}"
    "line.grid{stroke:var(--rule)}\n"
    "polyline{fill:none;stroke-width:1.6}polyline.train{stroke:var(--train)}polyline.valid{stroke:var(--valid)}"
    "polyline.batches{opacity:.35;stroke-width:1}circle.train{fill:var(--train)}circle.valid{fill:var(--valid)}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th,td{padding:.25rem .7rem;border-bottom:1px solid var(--rule);text-align:right}"
    "th:first-child,td:first-child,td.text{text-align:left}th{color:var(--soft);font-weight:600}\n"
    ".matrix th{text-align:center}.matrix td{text-align:center;border:1px solid "
    "var(--rule);min-width:2.2rem}pre{background:var(--card);"
    "border-radius:.5rem;padding:.8rem;overflow-x:auto;margin:0;tab-size:2}\n"
    ".samples{display:grid;gap:.8rem;grid-template-columns:repeat(auto-fill,minmax(10.5rem,1fr))}"
    ".samples img{width:100%;image-rendering:pixelated;border-radius:.25rem}.wrong{outline:2px solid var(--bad)}"
    ".samples p{white-space:pre-wrap;font-size:.85rem}\n"
    "@media(max-width:40rem){body{padding:1rem}table{font-size:.8rem}th,td{padding:.2rem .3rem}.matrix "
    "td{min-width:1.5rem}}\n";

/* -- texts and numbers ------------------------------------------------------------------------ */

void burn__html_add(BurnTextBuilder *out, const char *text) {
  while (text && *text) {
    const size_t plain = strcspn(text, "&<>\"'");
    burn__text_add_bytes(out, text, plain);
    text += plain;
    if (*text) burn__text_addf(out, "&#%d;", *text++);
  }
}

void burn__html_add_number(BurnTextBuilder *out, double value) {
  char number[BURN_NUMBER_BYTES];
  burn__text_add(out, isfinite(value) ? burn_number_text(value, 4, number) : "-");
}

static const cJSON *get(const cJSON *object, const char *name) {
  return cJSON_GetObjectItemCaseSensitive(object, name);
}

static const char *text_of(const cJSON *object, const char *name) {
  const char *text = cJSON_GetStringValue(get(object, name));
  return text ? text : "";
}

static double number_of(const cJSON *object, const char *name) { return cJSON_GetNumberValue(get(object, name)); }

static double second(const cJSON *pair) { return cJSON_GetNumberValue(cJSON_GetArrayItem(pair, 1)); }

static void add_cell(BurnTextBuilder *out, double value) {
  burn__text_add(out, "<td>");
  burn__html_add_number(out, value);
  burn__text_add(out, "</td>");
}

static void add_text_cell(BurnTextBuilder *out, const char *text) {
  burn__text_add(out, "<td class=\"text\">");
  burn__html_add(out, text);
  burn__text_add(out, "</td>");
}

/* -- head and figures ------------------------------------------------------------------------- */

static void add_card(BurnTextBuilder *out, const char *name, const char *split, double value) {
  burn__text_add(out, "<div class=\"card\"><span>");
  burn__html_add(out, name);
  burn__text_addf(out, "%s%s</span><b>", split ? ", " : "", split ? split : "");
  burn__html_add_number(out, value);
  burn__text_add(out, "</b></div>\n");
}

static void add_head(BurnTextBuilder *out, const cJSON *root) {
  const cJSON *epoch, *metric;
  double seconds = 0;
  burn__text_add(out, "<h1>");
  burn__html_add(out, text_of(root, "title"));
  burn__text_add(out, "</h1>\n<p>");
  burn__html_add(out, text_of(root, "stack"));
  char written[BURN_UTC_BYTES];
  burn__text_addf(out, "</p>\n<p>written %s", burn__utc_text(number_of(root, "written"), written));
  burn__text_addf(out, ", burn %s</p>\n<div class=\"cards\">\n", burn_version());
  add_card(out, "epochs", NULL, number_of(root, "epochs"));
  cJSON_ArrayForEach(epoch, get(root, "history")) seconds += number_of(epoch, "seconds");
  if (seconds > 0) add_card(out, "seconds of training", NULL, seconds);
  cJSON_ArrayForEach(metric, get(root, "metrics")) {
    for (int split = 0; split < BURN_SPLITS; split++) {
      const cJSON *last = get(get(metric, burn__split_names[split]), "last");
      if (last) add_card(out, text_of(metric, "name"), burn__split_names[split], second(last));
    }
  }
  burn__text_add(out, "</div>\n");
}

static void add_figures(BurnTextBuilder *out, const cJSON *root) {
  const cJSON *metric;
  burn__text_add(out, "<h2>Metrics</h2>\n<div class=\"grid\">\n");
  cJSON_ArrayForEach(metric, get(root, "metrics")) {
    burn__text_add(out, "<figure><figcaption>");
    burn__html_add(out, text_of(metric, "name"));
    burn__text_add(out, "<small>");
    for (int split = 0; split < BURN_SPLITS; split++) {
      const char *name = burn__split_names[split];
      if (get(metric, name)) burn__text_addf(out, " <i class=\"%s\">&#9632;</i> %s", name, name);
    }
    burn__text_add(out, "</small></figcaption>\n");
    burn__report_svg(out, metric);
    burn__text_add(out, "</figure>\n");
  }
  burn__text_add(out, "</div>\n");
}

/* -- tables ----------------------------------------------------------------------------------- */

static void add_summary(BurnTextBuilder *out, const cJSON *root) {
  static const char *const columns[] = {"min", "max", "last"};
  const cJSON *metric;
  burn__text_add(out,
                 "<h2>Summary</h2>\n<div class=\"wide\"><table><tr><th>Metric</th><th>Split</th><th>Min.</th>"
                 "<th>Epoch</th><th>Max.</th><th>Epoch</th><th>Last</th><th>Epoch</th></tr>\n");
  cJSON_ArrayForEach(metric, get(root, "metrics")) {
    for (int split = 0; split < BURN_SPLITS; split++) {
      const cJSON *values = get(metric, burn__split_names[split]);
      if (!values) continue;
      burn__text_add(out, "<tr>");
      add_text_cell(out, text_of(metric, "name"));
      add_text_cell(out, burn__split_names[split]);
      for (int i = 0; i < 3; i++) {
        add_cell(out, second(get(values, columns[i])));
        add_cell(out, cJSON_GetNumberValue(cJSON_GetArrayItem(get(values, columns[i]), 0)));
      }
      burn__text_add(out, "</tr>\n");
    }
  }
  burn__text_add(out, "</table></div>\n");
}

static void add_history(BurnTextBuilder *out, const cJSON *root) {
  const cJSON *rows = get(root, "history"), *row;
  if (cJSON_GetArraySize(rows) == 0) return;
  burn__text_add(out,
                 "<h2>Epochs</h2>\n<div class=\"wide\"><table><tr><th>Epoch</th><th>Seconds of training</th>"
                 "<th>Items per second</th></tr>\n");
  cJSON_ArrayForEach(row, rows) {
    burn__text_add(out, "<tr>");
    add_cell(out, number_of(row, "epoch"));
    add_cell(out, number_of(row, "seconds"));
    add_cell(out, number_of(row, "items_per_second"));
    burn__text_add(out, "</tr>\n");
  }
  burn__text_add(out, "</table></div>\n");
}

/* Rows are targets, columns predictions; the more of its row an element has, the darker it is. */
static void add_confusion(BurnTextBuilder *out, const cJSON *matrix) {
  const cJSON *labels = get(matrix, "labels"), *label, *row, *item;
  int index = 0;
  if (!matrix) return;
  burn__text_add(out,
                 "<h2>Confusion matrix</h2>\n<p>Rows are targets, columns predictions.</p>\n<div class=\"wide\">"
                 "<table class=\"matrix\"><tr><th></th>");
  cJSON_ArrayForEach(label, labels) {
    burn__text_add(out, "<th>");
    burn__html_add(out, cJSON_GetStringValue(label));
    burn__text_add(out, "</th>");
  }
  cJSON_ArrayForEach(row, get(matrix, "counts")) {
    double sum = 0;
    burn__text_add(out, "</tr>\n<tr><th>");
    burn__html_add(out, cJSON_GetStringValue(cJSON_GetArrayItem(labels, index++)));
    burn__text_add(out, "</th>");
    cJSON_ArrayForEach(item, row) sum += item->valuedouble;
    cJSON_ArrayForEach(item, row) {
      const int percent = sum > 0 ? (int)(60 * item->valuedouble / sum) : 0;
      burn__text_addf(out, "<td style=\"background:color-mix(in srgb,var(--valid) %d%%,transparent)\">", percent);
      burn__html_add_number(out, item->valuedouble);
      burn__text_add(out, "</td>");
    }
  }
  burn__text_add(out, "</tr></table></div>\n");
}

static void add_samples(BurnTextBuilder *out, const cJSON *samples) {
  const cJSON *sample;
  if (cJSON_GetArraySize(samples) == 0) return;
  burn__text_add(out, "<h2>Samples</h2>\n<div class=\"samples\">\n");
  cJSON_ArrayForEach(sample, samples) {
    burn__text_addf(out, "<div class=\"card%s\">", cJSON_IsTrue(get(sample, "wrong")) ? " wrong" : "");
    if (get(sample, "png")) {
      burn__text_add(out, "<img alt=\"\" src=\"data:image/png;base64,");
      burn__html_add(out, text_of(sample, "png"));
      burn__text_add(out, "\">");
    }
    burn__text_add(out, "<span>");
    burn__html_add(out, text_of(sample, "title"));
    burn__text_add(out, "</span><p>");
    burn__html_add(out, text_of(sample, "text"));
    burn__text_add(out, "</p></div>\n");
  }
  burn__text_add(out, "</div>\n");
}

static void add_config(BurnTextBuilder *out, const cJSON *config) {
  char *text = config ? cJSON_Print(config) : NULL;
  if (config && !text) out->failed = true;
  if (text) {
    burn__text_add(out, "<h2>Config</h2>\n<pre>");
    burn__html_add(out, text);
    burn__text_add(out, "</pre>\n");
  }
  free(text);
}

static void add_settings(BurnTextBuilder *out, const cJSON *settings) {
  const cJSON *setting;
  if (cJSON_GetArraySize(settings) == 0) return;
  burn__text_add(out, "<h2>What the run is made from</h2>\n<div class=\"wide\"><table>\n");
  cJSON_ArrayForEach(setting, settings) {
    burn__text_add(out, "<tr>");
    add_text_cell(out, setting->string);
    add_text_cell(out, cJSON_GetStringValue(setting));
    burn__text_add(out, "</tr>\n");
  }
  burn__text_add(out, "</table></div>\n");
}

void burn__report_html(BurnTextBuilder *out, const cJSON *root) {
  burn__text_add(out,
                 "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                 "style-src 'unsafe-inline'; img-src data:\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
  burn__html_add(out, text_of(root, "title"));
  burn__text_addf(out, "</title>\n<style>\n%s</style></head><body>\n", style);
  add_head(out, root);
  add_figures(out, root);
  add_summary(out, root);
  add_confusion(out, get(root, "confusion_matrix"));
  add_samples(out, get(root, "samples"));
  add_history(out, root);
  add_config(out, get(root, "config"));
  add_settings(out, get(root, "settings"));
  burn__text_add(out, "</body></html>\n");
}
