/* plugins.h - what discovery found: places, plugins, why some are refused, and which stack would be opened. For tools
 * that explain (burn doctor); programs need only device.h. */
#ifndef BURN_PLUGINS_H
#define BURN_PLUGINS_H

#include <burn/error.h>

BURN_EXTERN_C_BEGIN

/* Adds a plugin file by absolute path, in front of all that are searched for. */
BURN_API BURN_USE_RESULT BurnStatus burn_plugin_add(const char *path);

/* An option, as its plugin declares it (burn/plugin/options.h), or one of the host's. */
typedef struct BurnPluginOption {
  const char *key;
  const char *values;   /* "text|count|chrome", "1..4096", or what is expected: "path" */
  const char *fallback; /* the default; "" where leaving it out is something of its own */
  const char *doc;      /* one line */
  bool harmless;        /* may stand in a burn.json of the working directory */
} BurnPluginOption;

/* One plugin that was found, or one file that was refused. */
typedef struct BurnPluginInfo {
  const char *name;        /* "ndarray"; the file's name if it was refused */
  const char *path;        /* file, or "linked in" */
  const char *kind;        /* "backend", "decorator", "kernel pack", or "" when refused */
  const char *version;     /* its own version, "" when refused */
  const char *description; /* one line, "" when refused */
  bool usable;
  const char *reason; /* why it was refused, with the values; or what the probe said */
  int score;          /* of a backend's probe; 0 when it cannot run here */
  unsigned device_count;
  const char *const *devices; /* [device_count] names */
  const char *refusal;        /* a word of refusals.def: "hidden", "abi_too_old"; "" when usable */
  const char *help;           /* what to do about it; "" when usable */
  bool declares_options;      /* false: it may have some, but nobody can tell before it is opened */
  size_t option_count;
  const BurnPluginOption *options; /* [option_count] */
} BurnPluginInfo;

/* Everything that discovery found, sorted: usable first, then by name. Loads all plugins. Borrowed; valid until the
 * process ends. */
BURN_API size_t burn_plugin_count(void);
BURN_API const BurnPluginInfo *burn_plugin_info(size_t index);

/* The options that the host itself takes for every backend (ndarray:float=f64), and their number. Borrowed. */
BURN_API const BurnPluginOption *burn_host_options(size_t *count);

/* The directories that were searched, in order. Borrowed, terminated by NULL. */
BURN_API const char *const *burn_plugin_search_path(void);

/* A folder that was to be searched. */
typedef struct BurnPluginPlace {
  const char *path;
  const char *source; /* who named it: "BURN_PLUGIN_PATH", "/etc/burn/burn.json", "beside libburn", "built in" */
  bool exists;
  const char *problem; /* why it was passed over or could not be read; "" if all is well */
  size_t file_count;   /* plugin files in it */
} BurnPluginPlace;

/* All places, in the order in which they were searched. Borrowed; valid until the process ends. */
BURN_API size_t burn_plugin_place_count(void);
BURN_API const BurnPluginPlace *burn_plugin_place(size_t index); /* NULL beyond the end */

/* A burn.json that has a say, whether it exists or not. */
typedef struct BurnSettingsInfo {
  char path[512];
  char backend[256]; /* the stack it names; "" if none */
  char problem[512]; /* why it cannot be used; "" if all is well */
  bool exists;
} BurnSettingsInfo;

/* Fills `out` with up to `capacity` files, the one with the first say first, and returns how many there are (at most
 * 3). */
BURN_API size_t burn_settings_files(BurnSettingsInfo *out, size_t capacity);

/* The stack text that burn_device_open(argument) would open, copied into `stack` (`bytes` long, an error if that is too
 * short), and in *source who chose it: "the argument", "BURN_BACKEND", the path of a burn.json, or "the highest score".
 */
BURN_API BURN_USE_RESULT BurnStatus burn_stack_choice(const char *argument, char *stack, size_t bytes,
                                                      const char **source);

BURN_EXTERN_C_END

#endif
