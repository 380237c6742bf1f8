/* lend.h - a decorator linked into a test program: "lend<ndarray>" passes everything through and lends the test the host and
 * the backend below it. For what no public function reaches: host->invoke, host->parallel_for. Included by one file of a
 * program. */
#ifndef BURN_TEST_LEND_H
#define BURN_TEST_LEND_H

#include <burn/plugin/pass_through.h>
#include <burn/plugin/plugin.h>

#include <stdlib.h>
#include <string.h>

/* Of the device that was opened last. */
static const BurnHost *lent_host;
static const BurnBackend *lent_backend;

static void BURN_CALL lend_close(void *self) { free(self); }

static BurnStatus BURN_CALL lend_open(const BurnHost *host, const BurnBackend *next, const BurnOptions *options, uint32_t owner,
                                      BurnBackend *out) {
  (void)options;
  (void)owner;
  BurnLayer *layer = malloc(sizeof *layer);
  if (!layer)
    return (host->fail)(BURN_STATUS_OUT_OF_MEMORY, __FILE__, __LINE__, "lend: no memory"); /* fail is a macro of cmocka */
  *layer = (BurnLayer){host, next};
  burn_layer_forward(out, layer);
  out->name = "lend";
  out->close = lend_close;
  lent_host = host;
  lent_backend = next;
  return BURN_OK;
}

static const BurnLayerInterface lend_layer = {sizeof(BurnLayerInterface), 1, 0, 0, lend_open};

static const void *BURN_CALL lend_interface(const char *name, uint32_t min_version) {
  return strcmp(name, "burn.layer") == 0 && min_version <= 1 ? &lend_layer : NULL;
}

static const BurnPlugin lend_plugin = {.struct_size = sizeof(BurnPlugin),
                                       .abi_major = BURN_ABI_MAJOR,
                                       .abi_minor = BURN_ABI_MINOR,
                                       .kind = BURN_PLUGIN_LAYER,
                                       .name = "lend",
                                       .version = "1",
                                       .license = "MIT OR Apache-2.0",
                                       .description = "lends the test the host and the backend below",
                                       .get_interface = lend_interface};

static const BurnPlugin *BURN_CALL lend_query(const BurnQuery *query) {
  (void)query;
  return &lend_plugin;
}

/* The list of plugins linked into a program, which libburn looks for. */
extern const BurnPluginQuery burn_static_plugins[];
BURN_EXPORT const BurnPluginQuery burn_static_plugins[] = {lend_query, NULL};

#endif
