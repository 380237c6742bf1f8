/* plugin_load_none.c - discovery for static builds (BURN_STATIC): plugins are linked in, no file is ever looked for or loaded. */
#include "core_internal.h"

bool burn__process_is_privileged(void) { return false; }

BurnStatus burn__plugin_file_check(const char *path) {
  return BURN_FAIL(UNIMPLEMENTED, "'%s': this is a static build, which loads no plugins; link the plugin in", path);
}

BurnStatus burn__plugin_open_file(const char *path, BurnPluginQuery *out) {
  (void)out;
  return burn__plugin_file_check(path);
}

char *burn__own_folder(void) { return NULL; }

BurnStatus burn__plugin_list_folder(const char *folder, char ***names, size_t *count) {
  (void)folder;
  *names = NULL;
  *count = 0;
  return BURN_OK;
}
