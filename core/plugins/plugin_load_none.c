/* plugin_load_none.c - discovery for static builds (BURN_STATIC): plugins are linked in, no file is ever looked for or
 * loaded. */
#include "core_internal.h"

BurnStatus burn__plugin_open_file(const char *path, BurnPluginQuery *out, BurnRefusal *refusal) {
  (void)out;
  *refusal = BURN_REFUSED_NOT_LOADABLE;
  return BURN_FAIL(UNIMPLEMENTED, "'%s': this is a static build, which loads no plugins; link the plugin in", path);
}

char *burn__own_folder(void) { return NULL; }
char *burn__own_file(void) { return NULL; }

char *burn__absolute_path(const char *path) { return burn__text_copy(path); }

BurnStatus burn__plugin_list_folder(const char *folder, char ***names, size_t *count, bool *exists) {
  *exists = false;
  (void)folder;
  *names = NULL;
  *count = 0;
  return BURN_OK;
}
