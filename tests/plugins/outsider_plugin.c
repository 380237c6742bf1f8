/* outsider_plugin.c - a complete backend of somebody else, for tests that any backend joins: the reference backend
 * under another name. Its entry function is compiled as reference_query. */
#include <burn/plugin/plugin.h>

const BurnPlugin *BURN_API_CALL reference_query(const BurnHostInfo *host);

static BurnPlugin descriptor;

#undef BURN_PLUGIN_STATIC
BURN_EXPORT const BurnPlugin *BURN_API_CALL burn_plugin_query_v0(const BurnHostInfo *host);
const BurnPlugin *BURN_API_CALL burn_plugin_query_v0(const BurnHostInfo *host) {
  descriptor = *reference_query(host);
  descriptor.name = "outsider";
  return &descriptor;
}
