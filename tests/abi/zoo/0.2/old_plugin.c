/* old_plugin.c - what is left of a plugin of ABI 0.2: its descriptor, with the layout of then written out. A host reads
 * no more of it, as it serves no plugin of 0.2. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct OldDescriptor {
  uint32_t struct_size, abi_major, abi_minor, min_host_minor, kind, reserved;
  const char *name, *version, *license, *description;
  const void *(*get_interface)(const char *name, uint32_t min_version);
} OldDescriptor;

/* Its interfaces mean something else now: nobody may ask for them. */
static const void *get_interface(const char *name, uint32_t min_version) {
  (void)name;
  (void)min_version;
  abort();
}

static const OldDescriptor descriptor = {
    sizeof descriptor, 0, 2, 0, 1, 0, "old", "0.1.0", "MIT OR Apache-2.0", "a backend of ABI 0.2", get_interface};

__attribute__((visibility("default"))) const void *burn_plugin_query_v0(const void *query) {
  (void)query;
  return &descriptor;
}
