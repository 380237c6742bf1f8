/* skips.c - what a reader leaves out: counted, the first told. */
#include "dataset_private.h"

#include <burn/plugins.h>

#include <stdio.h>

void burn__skip(BurnSkips *skips, const char *reason) {
  if (skips->count++ == 0) snprintf(skips->first, sizeof skips->first, "%s", reason);
}

void burn__skips_end(const BurnSkips *skips, const BurnReadConfig *config) {
  char text[sizeof skips->first + 64];
  if (config != NULL && config->skipped != NULL) *config->skipped = skips->count;
  if (skips->count == 0) return;
  snprintf(text, sizeof text, "%zu left out, the first: %s", skips->count, skips->first);
  burn_host()->log(BURN_LOG_WARN, "data", text);
}
