/* logger_files.c - see logger_files.h. */
#include "logger_files.h"

#include <burn/text.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "learner_internal.h"

BurnStatus burn__folder_of_path_make(const char *path) {
  char folder[BURN_PATH_BYTES];
  size_t length = strlen(path);
  if (length >= sizeof folder)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "a path has %zu characters, at most %zu are possible", length,
                            sizeof folder - 1);
  while (length > 0 && path[length - 1] != '/' && path[length - 1] != '\\') length--;
  if (length <= 1) return BURN_OK; /* the working directory, or the root */
  (void)snprintf(folder, sizeof folder, "%.*s", (int)(length - 1), path);
  return burn_folder_make(folder);
}

BurnStatus burn__file_failed(const char *what, const char *path, int error) {
  char reason[128];
  return burn_status_make(BURN_STATUS_IO, "%s %s: %s", what, path,
                          burn__train_errno_text(error, reason, sizeof reason));
}

void burn__json_add_text(BurnTextBuilder *out, const char *text) {
  const size_t bytes = strlen(text) + 1;
  char *clean = malloc(bytes);
  out->failed = out->failed || !clean;
  if (!clean) return;
  memcpy(clean, text, bytes);
  burn__text_add_json(out, burn_text_clean(clean), bytes - 1);
  free(clean);
}

void burn__json_add_number(BurnTextBuilder *out, double value) {
  char number[BURN_NUMBER_BYTES];
  if (isnan(value)) {
    burn__text_add(out, "null");
  } else if (isinf(value)) {
    burn__text_add(out, value > 0 ? "\"inf\"" : "\"-inf\"");
  } else {
    burn__text_add(out, burn_number_text(value, 0, number));
  }
}

const char *burn__utc_text(double seconds, char text[BURN_UTC_BYTES]) {
  struct tm parts;
  const bool known = burn__utc_parts((time_t)seconds, &parts);
  if (!known || strftime(text, BURN_UTC_BYTES, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0) text[0] = '\0';
  return text;
}
