/* logger_files.h - what the loggers that write files share: paths, texts and numbers as JSON. */
#ifndef BURN_TRAIN_LOGGER_FILES_H
#define BURN_TRAIN_LOGGER_FILES_H

#include <burn/train/logger.h>

#include <stdio.h>

#include "metric_pass.h"
#include "text_builder.h"

/* Makes the folder that a path lies in. */
BURN_USE_RESULT BurnStatus burn__folder_of_path_make(const char *path);
/* "what path: reason of the errno value". */
BURN_USE_RESULT BurnStatus burn__file_failed(const char *what, const char *path, int error);
/* A text as a JSON string, in quotes; bytes that are not UTF-8 become '?'. */
void burn__json_add_text(BurnTextBuilder *out, const char *text);
/* A number as JSON: it reads back as the same double; null for NaN, "inf" and "-inf" in quotes. */
void burn__json_add_number(BurnTextBuilder *out, double value);

/* Seconds since 1970 as "2026-01-31 16:20:05 UTC"; "" for what the system has no date for. */
enum { BURN_UTC_BYTES = 32 };
const char *burn__utc_text(double seconds, char text[BURN_UTC_BYTES]);

#endif
