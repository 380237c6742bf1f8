/* plugin.h - the descriptor of a plugin and the one symbol it exports. Include this to write a plugin.
 *
 * A plugin is a shared library with one function, burn_plugin_query_v0, that returns a read-only BurnPlugin. It says
 * what the plugin is and which interfaces it offers; nothing runs before open. In a static build it is a library linked
 * into the program, whose function has another name: see "a static build" in the guide's deploying.md. */
#ifndef BURN_PLUGIN_PLUGIN_H
#define BURN_PLUGIN_PLUGIN_H

#include <burn/plugin/backend.h>

/* Kinds of a plugin. */
enum BurnPluginKindNumber {
  BURN_PLUGIN_BACKEND = 1,   /* offers "burn.backend" */
  BURN_PLUGIN_DECORATOR = 2, /* a decorator; offers "burn.decorator" */
  BURN_PLUGIN_KERNELS = 3    /* a kernel pack; offers "burn.kernels" (kernels.h) */
};

/* What the host tells a plugin that it asks for its descriptor. */
typedef struct BurnHostInfo {
  uint32_t struct_size;
  uint32_t host_major;
  uint32_t host_minor;
  uint32_t oldest_minor;    /* oldest minor the host still serves */
  const char *host_version; /* "0.1.0" */
} BurnHostInfo;

/* A device that a backend found: filled by probe. */
typedef struct BurnDeviceInfo {
  uint32_t struct_size;
  uint32_t index;       /* the number after the colon in "cuda:0": its place in the list, from 0 */
  int64_t memory_bytes; /* total; 0 if unknown */
  char name[128];       /* "AMD EPYC (2 cores, avx2)", UTF-8 */
} BurnDeviceInfo;
#define BURN_DEVICE_INFO_MIN_BYTES BURN_BYTES_THROUGH(BurnDeviceInfo, name)

/* Answer of probe. The host clears everything before, devices too. */
typedef struct BurnProbe {
  uint32_t struct_size;
  int32_t score;            /* 0: cannot be used here. CPU backends 100, GPU backends 800 and more */
  uint32_t device_count;    /* devices written */
  uint32_t device_capacity; /* how many `devices` can hold */
  uint32_t device_bytes;    /* from one device to the next: sizeof(BurnDeviceInfo) of the host's headers */
  uint32_t reserved;
  BurnDeviceInfo *devices;
  char reason[256]; /* why the score is 0, or what was found */
} BurnProbe;
#define BURN_PROBE_MIN_BYTES BURN_BYTES_THROUGH(BurnProbe, reason)

#if !defined(BURN_NO_INLINE)
/* For probe: adds a device, with the number it will be opened by. More than the host can hold are left out. */
static inline void burn_probe_add(BurnProbe *out, uint32_t index, const char *name, int64_t memory_bytes) {
  BurnDeviceInfo device;
  if (out->device_count >= out->device_capacity) return;
  memset(&device, 0, sizeof device);
  device.struct_size = (uint32_t)sizeof device < out->device_bytes ? (uint32_t)sizeof device : out->device_bytes;
  device.index = index;
  device.memory_bytes = memory_bytes;
  memcpy(device.name, name, strlen(name) < sizeof device.name ? strlen(name) : sizeof device.name - 1);
  memcpy((char *)out->devices + (size_t)out->device_count * out->device_bytes, &device, device.struct_size);
  out->device_count++;
}

/* The first thing in open: BURN_OK if the host is one that this plugin was built for, so that nothing beyond the ends
 * of the host's table and of the table to fill is read or written; else a failure for open to return. `name` is the
 * plugin's. */
static inline BurnStatus burn_plugin_check_open(const BurnHost *host, const BurnBackend *out, const char *name) {
  const char *message =
      "the host is older than the plugin's target (BURN_TARGET_MINOR): update Burn or build the plugin for it";
  if (host->struct_size >= sizeof(BurnHost) && out->struct_size >= sizeof(BurnBackend) &&
      host->abi_minor >= BURN_TARGET_MINOR)
    return BURN_OK;
  return host->annotate((host->fail)(BURN_STATUS_INCOMPATIBLE, __FILE__, __LINE__, message),
                        name); /* cmocka has a macro fail */
}
#endif

/* Interface "burn.backend", version 1. */
typedef struct BurnBackendInterface {
  uint32_t struct_size;
  uint32_t version;
  /* Looks for usable hardware. Quick, repeatable, without side effects; a missing driver is score 0 with a reason. */
  void(BURN_API_CALL *probe)(const BurnHost *host, BurnProbe *out);
  /* Opens device `index`. `owner` is stamped on every primitive. Fills out; struct_size is set by the caller to the
   * size it knows, the callee fills no more than that. */
  BurnStatus(BURN_API_CALL *open)(const BurnHost *host, uint32_t index, const BurnOptions *options, uint32_t owner,
                                  BurnBackend *out);
} BurnBackendInterface;
#define BURN_BACKEND_INTERFACE_MIN_BYTES BURN_BYTES_THROUGH(BurnBackendInterface, open)

/* Roles of a decorator, as bits: what the host and others may rely on, whatever its name is. */
enum BurnRole {
  /* It records what passes and offers "burn.autodiff". It lies above whatever changes when ops run, once in a stack; a
   * device for training gets the first plugin with this role on top unless its stack has one. */
  BURN_ROLE_AUTODIFF = 1,
  /* It runs calls later or in groups. It lies below autodiff. */
  BURN_ROLE_FUSION = 2
};

/* Interface "burn.decorator", version 1. */
typedef struct BurnDecoratorInterface {
  uint32_t struct_size;
  uint32_t version;
  uint32_t wraps_tensors; /* 1: hands out primitives of its own (then unwrap and adopt are set) */
  uint32_t roles;         /* BURN_ROLE_* bits; 0: none of them */
  /* Opens the decorator on top of `next`, which stays valid until after close. A decorator that does not wrap tensors
   * fills only what it does itself: for every slot that it leaves NULL the host calls that of `next`, op_support and
   * get_interface included. So it needs name, close and what it is there for. One that wraps fills the whole table, but
   * sync, query and trim, which get no tensors: left NULL they are those of `next`, too.
   * `out` stays where it is until close, so a decorator may run calls on itself by host->invoke. */
  BurnStatus(BURN_API_CALL *open)(const BurnHost *host, const BurnBackend *next, const BurnOptions *options,
                                  uint32_t owner, BurnBackend *out);
} BurnDecoratorInterface;
#define BURN_DECORATOR_INTERFACE_MIN_BYTES BURN_BYTES_THROUGH(BurnDecoratorInterface, open)

/* The descriptor. Strings and tables live in read-only data. */
typedef struct BurnPlugin {
  uint32_t struct_size;
  uint32_t abi_major;      /* BURN_ABI_MAJOR of the headers it was built with */
  uint32_t abi_minor;      /* BURN_ABI_MINOR of the headers it was built with: for messages */
  uint32_t min_host_minor; /* BURN_TARGET_MINOR: the oldest host it works with, and the version whose meanings, ops and
                              attributes it knows; 0: abi_minor */
  uint32_t kind;           /* BURN_PLUGIN_* */
  uint32_t reserved;
  const char *name;        /* what stack texts call it: a-z, 0-9, _ ; starts with a letter */
  const char *version;     /* its own, "1.2.3" */
  const char *license;     /* SPDX, "MIT OR Apache-2.0" */
  const char *description; /* one line */
  /* The table of an interface by name ("burn.backend", "burn.decorator", "burn.kernels") if the plugin has it in at
   * least this version, else NULL. */
  const void *(BURN_API_CALL *get_interface)(const char *name, uint32_t min_version);
} BurnPlugin;
#define BURN_PLUGIN_MIN_BYTES BURN_BYTES_THROUGH(BurnPlugin, get_interface)

/* Pure: returns the same read-only data every time, from any thread. */
typedef const BurnPlugin *(BURN_API_CALL *BurnPluginQuery)(const BurnHostInfo *query);

/* The name of the only symbol that the host looks for. */
#define BURN_PLUGIN_SYMBOL "burn_plugin_query_v0"

/* Defines the entry function of a plugin around a descriptor. Static builds define BURN_PLUGIN_STATIC as the name that
 * the function gets instead, so that several plugins fit into one program. */
#if defined(BURN_PLUGIN_STATIC)
#define BURN_PLUGIN_ENTRY(descriptor)                                                           \
  BURN_EXTERN_C const BurnPlugin *BURN_API_CALL BURN_PLUGIN_STATIC(const BurnHostInfo *);       \
  BURN_EXTERN_C const BurnPlugin *BURN_API_CALL BURN_PLUGIN_STATIC(const BurnHostInfo *query) { \
    (void)query;                                                                                \
    return &(descriptor);                                                                       \
  }
#else
#define BURN_PLUGIN_ENTRY(descriptor)                                                                         \
  BURN_EXTERN_C BURN_EXPORT const BurnPlugin *BURN_API_CALL burn_plugin_query_v0(const BurnHostInfo *);       \
  BURN_EXTERN_C BURN_EXPORT const BurnPlugin *BURN_API_CALL burn_plugin_query_v0(const BurnHostInfo *query) { \
    (void)query;                                                                                              \
    return &(descriptor);                                                                                     \
  }
#endif

#endif
