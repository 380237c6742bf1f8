/* report_internal.h - the parts of a report: the folder as a tree (report_read.c, report_logs.c), the tree as HTML
 * (report_html.c, report_svg.c), what programs add to the folder (report_artifacts.c, report_png.c). */
#ifndef BURN_TRAIN_REPORT_INTERNAL_H
#define BURN_TRAIN_REPORT_INTERNAL_H

#include <burn/train/report.h>

#include <cjson/cJSON.h>

#include "text_builder.h"

/* The names of files in the folder. */
#define REPORT_CONFUSION "confusion_matrix.json"
#define REPORT_SAMPLES "samples.jsonl"

/* That a folder is named, by a text that paths of its files have room for. */
BURN_USE_RESULT BurnStatus burn__report_check_folder(const char *folder);

/* The tree of burn_report_json. On success *root is the caller's to delete. */
BURN_USE_RESULT BurnStatus burn__report_read(const BurnReportConfig *config, cJSON **root);

/* Adds to the tree, and takes the item; without memory, also for the item, which is NULL then, *status says so. */
void burn__report_put(cJSON *object, const char *name, cJSON *item, BurnStatus *status);
void burn__report_append(cJSON *list, cJSON *item, BurnStatus *status);

/* Adds "epochs" and "metrics" to the tree, from the logs of the folder. */
BURN_USE_RESULT BurnStatus burn__report_logs(const char *artifact_dir, cJSON *root);

/* Reads a line of a log, "0.5,64" or "0.5,final". */
bool burn__report_log_line(const char *line, double *value, double *weight, bool *final);

/* The whole page. */
void burn__report_html(BurnTextBuilder *out, const cJSON *root);
/* A figure of a metric. */
void burn__report_svg(BurnTextBuilder *out, const cJSON *metric);
/* Text between tags or in an attribute: what HTML could take for its own is escaped. */
void burn__html_add(BurnTextBuilder *out, const char *text);
/* A number of 4 digits, or "-". */
void burn__html_add_number(BurnTextBuilder *out, double value);

/* Pixels as a PNG file (8 bits), in base64. */
void burn__png_base64(BurnTextBuilder *out, const BurnSample *sample);

#endif
