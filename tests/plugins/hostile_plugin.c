/* hostile_plugin.c - a plugin that does harm, chosen by HOSTILE_*: what discovery must survive (discovery_test).
 * Without any it is a backend that cannot be opened. */
#include <burn/plugin/plugin.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An address where nothing is. */
#define WILD ((uintptr_t)0x6b6b6b6b6b6bu)

#if defined(HOSTILE_SCORE)
#define SCORE HOSTILE_SCORE
#else
#define SCORE 1
#endif

#if defined(HOSTILE_HANG)
static void hang(void) {
  for (;;) (void)sleep(1);
}
#endif

#if defined(HOSTILE_CRASH)
static void crash(void) { *(volatile int *)WILD = 1; }
#endif

#if defined(HOSTILE_CONSTRUCTOR)
__attribute__((constructor)) static void at_load(void) {
#if defined(HOSTILE_HANG)
  hang();
#elif defined(HOSTILE_CRASH)
  crash();
#elif defined(HOSTILE_PRINT)
  printf("a constructor was here\n");
  fflush(stdout);
#elif defined(HOSTILE_GARBAGE)
  static const char garbage[] = "this is not yours to write to, and long enough for a header of any kind";
  for (int file = 3; file < 64; file++) {
    if (write(file, garbage, sizeof garbage) < 0) continue;
  }
#endif
}
#endif

static void BURN_API_CALL probe(const BurnHost *host, BurnProbe *out) {
  (void)host;
#if defined(HOSTILE_PROBE) && defined(HOSTILE_HANG)
  hang();
#elif defined(HOSTILE_PROBE) && defined(HOSTILE_CRASH)
  crash();
#elif defined(HOSTILE_PROBE) && defined(HOSTILE_EXIT)
  exit(3);
#elif defined(HOSTILE_DEVICES)
  static const char name[] = "caf\xe9 \x1b[31m"; /* Latin 1, and a control sequence */
  memcpy(out->devices[0].name, name, sizeof name);
  memcpy(out->devices[2].name, "third", sizeof "third");
  out->device_count = 1000;
  memset(out->reason, 0xff, sizeof out->reason); /* without an end */
#endif
  out->score = SCORE;
}

#if defined(HOSTILE_NO_OPEN)
#define OPEN NULL
#else
#define OPEN open_device
static BurnStatus BURN_API_CALL open_device(const BurnHost *host, uint32_t index, const BurnOptions *options,
                                            uint32_t owner, BurnBackend *out) {
  (void)index;
  (void)options;
  (void)owner;
  (void)out;
#if defined(HOSTILE_OPEN)
  fprintf(stderr, "%s is opened\n", PLUGIN_NAME);
#if defined(HOSTILE_HANG)
  hang();
#else
  crash();
#endif
#endif
#if defined(HOSTILE_ZERO_STATUS)
  (void)host;
  return (BurnStatus)7 << 8;
#else
  return host->fail(BURN_STATUS_DEVICE_LOST, __FILE__, __LINE__, "the device is not what probe said it was");
#endif
}
#endif

#if defined(HOSTILE_DECORATOR)
#define KIND BURN_PLUGIN_DECORATOR
static BurnStatus BURN_API_CALL open_on(const BurnHost *host, const BurnBackend *next, const BurnOptions *options,
                                        uint32_t owner, BurnBackend *out) {
  (void)host;
  (void)next;
  (void)options;
  (void)owner;
  (void)out;
  crash();
  return BURN_OK;
}
static const BurnDecoratorInterface decorator = {(uint32_t)sizeof decorator, 1, 0, BURN_ROLE_AUTODIFF, open_on};
#else
#define KIND BURN_PLUGIN_BACKEND
#endif

static const BurnBackendInterface backend = {(uint32_t)sizeof backend, 1, probe, OPEN};

static const void *BURN_API_CALL get_interface(const char *name, uint32_t min_version) {
#if defined(HOSTILE_DECORATOR)
  if (strcmp(name, "burn.decorator") == 0) return &decorator;
#endif
  if (strcmp(name, "burn.backend") != 0 || min_version > 1) return NULL;
#if defined(HOSTILE_WILD_TABLE)
  return backend.version ? (const void *)WILD : NULL;
#else
  return &backend;
#endif
}

static const BurnPlugin plugin = {.struct_size = (uint32_t)sizeof plugin,
                                  .abi_major = BURN_ABI_MAJOR,
                                  .abi_minor = BURN_ABI_MINOR,
                                  .kind = KIND,
                                  .name = PLUGIN_NAME,
                                  .version = "6.6.6",
                                  .license = "MIT OR Apache-2.0",
                                  .description = "does harm",
                                  .get_interface = get_interface};

#if defined(HOSTILE_DATA_ENTRY)
BURN_EXPORT const BurnPlugin *burn_plugin_query_v0;
const BurnPlugin *burn_plugin_query_v0 = &plugin;
#elif defined(HOSTILE_QUERY)
BURN_EXPORT const BurnPlugin *BURN_API_CALL burn_plugin_query_v0(const BurnHostInfo *query);
BURN_EXPORT const BurnPlugin *BURN_API_CALL burn_plugin_query_v0(const BurnHostInfo *query) {
  (void)query;
#if defined(HOSTILE_HANG)
  hang();
#elif defined(HOSTILE_CRASH)
  crash();
#elif defined(HOSTILE_WILD_DESCRIPTOR)
  return (const BurnPlugin *)WILD;
#endif
  return &plugin;
}
#else
BURN_PLUGIN_ENTRY(plugin)
#endif
