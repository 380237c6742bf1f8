/* broken_plugin.c - a plugin with one fault, chosen by FAULT_*: what the loader must refuse, with a reason, without
 * harm. Nothing of it is ever opened, but of the one which calls Burn before: it fails with what it was told. */
#if defined(FAULT_CALLS_BURN)
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#endif
#include <burn/plugin/options.h>
#include <burn/plugin/plugin.h>

#include <string.h>
#if defined(FAULT_NO_SYMBOL) && defined(__linux__)
#include <pthread.h>
#include <time.h>
#endif

#if defined(FAULT_WRONG_MAJOR)
#define MAJOR (BURN_ABI_MAJOR + 1u)
#else
#define MAJOR BURN_ABI_MAJOR
#endif
#if defined(FAULT_OLD_MINOR)
#define MINOR (BURN_ABI_OLDEST_MINOR - 1u)
#else
#define MINOR BURN_ABI_MINOR
#endif
#if defined(FAULT_NEW_HOST)
#define HOST_MINOR 99u
#else
#define HOST_MINOR 0u
#endif
#if defined(FAULT_SHORT_DESCRIPTOR)
#define DESCRIPTOR_BYTES 16u
#else
#define DESCRIPTOR_BYTES ((uint32_t)sizeof(BurnPlugin))
#endif
#if defined(FAULT_UNKNOWN_KIND)
#define KIND 7u
#else
#define KIND BURN_PLUGIN_BACKEND
#endif
#if defined(FAULT_SHORT_INTERFACE)
#define INTERFACE_BYTES 8u
#else
#define INTERFACE_BYTES ((uint32_t)sizeof(BurnBackendInterface))
#endif
#if defined(FAULT_NO_INTERFACE)
#define INTERFACE_NAME "burn.something_else"
#else
#define INTERFACE_NAME "burn.backend"
#endif
#if defined(FAULT_OTHER_NAME)
#define NAME "somebody_else"
#elif defined(FAULT_WRONG_LETTERS)
#define NAME "Wrong-Letters"
#else
#define NAME PLUGIN_NAME
#endif
#if defined(FAULT_NO_VERSION)
#define VERSION NULL
#else
#define VERSION "1.0"
#endif

#if defined(FAULT_EMPTY_KEY)
#define KEY ""
#elif defined(FAULT_UPPER_KEY)
#define KEY "Tile-"
#elif defined(FAULT_HOST_KEY)
#define KEY "float"
#elif defined(FAULT_SAME_KEY)
#define KEY "tile_2"
#else
#define KEY "other"
#endif

#if !defined(FAULT_NO_SYMBOL)

static void BURN_API_CALL probe(const BurnHost *host, BurnProbe *out) {
  (void)host;
  out->score = 1;
}

static char told[256] = PLUGIN_NAME ": a broken plugin was opened";

#if defined(FAULT_CALLS_BURN)
/* As a library that brings a backend along and opens a device when it is loaded. libburn is the program's, if it has
 * one. */
__attribute__((constructor)) static void open_a_device_at_load(void) {
  typedef struct BurnDevice BurnDevice;
  BurnDevice *(*open)(const char *) = NULL;
  BurnStatus (*status)(const BurnDevice *) = NULL;
  const char *(*message)(BurnStatus) = NULL;
  void *const symbols[] = {dlsym(RTLD_DEFAULT, "burn_device_open"), dlsym(RTLD_DEFAULT, "burn_device_status"),
                           dlsym(RTLD_DEFAULT, "burn_status_message")};
  if (!symbols[0] || !symbols[1] || !symbols[2]) return;
  memcpy(&open, &symbols[0], sizeof open);
  memcpy(&status, &symbols[1], sizeof status);
  memcpy(&message, &symbols[2], sizeof message);
  strncpy(told, message(status(open("ndarray"))), sizeof told - 1);
}
#endif

static BurnStatus BURN_API_CALL open_device(const BurnHost *host, uint32_t index, const BurnOptions *options,
                                            uint32_t owner, BurnBackend *out) {
  (void)index;
  (void)options;
  (void)owner;
  (void)out;
  return host->fail(BURN_STATUS_INTERNAL, __FILE__, __LINE__, told);
}

static const BurnBackendInterface backend = {INTERFACE_BYTES, 1, probe, open_device};

static const BurnOptionInfo options[] = {{"tile_2", "1..9", "1", "the first", 0, 0},
                                         {KEY, "1..9", "1", "the second", 0, 0}};
static const BurnOptionsInterface declared = BURN_OPTIONS_INTERFACE(2, options);

static const void *BURN_API_CALL get_interface(const char *name, uint32_t min_version) {
  if (strcmp(name, BURN_OPTIONS_INTERFACE_NAME) == 0) return &declared;
  return strcmp(name, INTERFACE_NAME) == 0 && min_version <= 1 ? &backend : NULL;
}

static const BurnPlugin plugin = {.struct_size = DESCRIPTOR_BYTES,
                                  .abi_major = MAJOR,
                                  .abi_minor = MINOR,
                                  .min_host_minor = HOST_MINOR,
                                  .kind = KIND,
                                  .name = NAME,
                                  .version = VERSION,
                                  .license = "MIT OR Apache-2.0",
                                  .description = "wrong in one way",
                                  .get_interface = get_interface};

#if defined(FAULT_NULL_DESCRIPTOR)
BURN_EXPORT const BurnPlugin *BURN_API_CALL burn_plugin_query_v0(const BurnHostInfo *query);
BURN_EXPORT const BurnPlugin *BURN_API_CALL burn_plugin_query_v0(const BurnHostInfo *query) {
  return query ? NULL : &plugin;
}
#else
BURN_PLUGIN_ENTRY(plugin)
#endif

#else
BURN_EXPORT int burn_no_entry_symbol_here;
int burn_no_entry_symbol_here = 1;

#if defined(__linux__)
/* As of a runtime for threads that a plugin brings along: it is in this library's code when the plugin is refused. */
static void *live_on(void *unused) {
  const struct timespec moment = {.tv_nsec = 100000};
  for (;;) (void)nanosleep(&moment, NULL);
  return unused;
}
__attribute__((constructor)) static void start_a_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, live_on, NULL) == 0) pthread_detach(thread);
}
#endif
#endif
