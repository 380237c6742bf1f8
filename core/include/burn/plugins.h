/* plugins.h - what discovery found: places, plugins, why some are refused, and which stack would be opened. For tools
 * that explain (burn doctor); programs need only device.h. */
#ifndef BURN_PLUGINS_H
#define BURN_PLUGINS_H

#include <burn/error.h>

BURN_EXTERN_C_BEGIN

/* Adds a plugin file by absolute path, in front of all that are searched for. Before the first device is opened and
 * plugins are listed, else FAILED_PRECONDITION; INVALID_ARGUMENT where the path is relative, NOT_FOUND where nothing is
 * there. The file is called burn_NAME.so (burn_NAME.dll on Windows) as those in folders are. It is looked at only when
 * plugins are listed, or NAME is opened: only then is a folder, or what is not a plugin, refused. */
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
  int64_t quarantined_since; /* seconds since 1970 (UTC) when it hung, crashed or ended its process; 0: it did not */
} BurnPluginInfo;

/* Everything that discovery found, sorted: usable first, then by name. Borrowed; valid until the process ends.
 *
 * Nothing is loaded into this process for it: each file is loaded and probed once by a child process (burn_probe,
 * beside libburn) with a time limit of BURN_PROBE_SECONDS (5), and what it found is kept for later processes in
 * $XDG_CACHE_HOME/burn/plugins.json, until the file or libburn changes; for backends, and for what could not be loaded,
 * at most an hour, on an unchanged machine. A plugin that hangs, crashes or ends its process is refused so and put in
 * quarantine: it is not tried again before its file changes (a hang: for a day). With BURN_PROBE=in-process, on
 * Windows, and for plugins that are linked in, it happens in this process, each time; the log names a file before it is
 * loaded (BURN_LOG=info). A backend that does such things only when it is opened is put there by burn doctor, which
 * opens all of them in processes of their own. */
BURN_API size_t burn_plugin_count(void);
BURN_API const BurnPluginInfo *burn_plugin_info(size_t index);

/* What earlier processes found does not count: the list is made anew, quarantine is lifted. Before the first call of
 * burn_plugin_count and the first device that is chosen automatically, else FAILED_PRECONDITION. */
BURN_API BURN_USE_RESULT BurnStatus burn_plugin_retry(void);

/* Puts a usable plugin into quarantine that has ended, or held up, a process which opened it, as discovery does with
 * one that does so in its probe; for tools that open plugins in processes of their own. `refusal` is "crashed", "hung"
 * or "exited" (refusals.def), `reason` says what happened. Kept for later processes where discovery keeps what it
 * found. Infos are sorted anew: what burn_plugin_info gave before may be another plugin's, its texts stay. NOT_FOUND:
 * there is no usable plugin of that name in a file. */
BURN_API BURN_USE_RESULT BurnStatus burn_plugin_quarantine(const char *name, const char *refusal, const char *reason);

/* Loads a plugin of any kind into this process by its name, as opening a stack that names it does: the ops of a kernel
 * pack are known afterwards. NOT_FOUND: there is none; INCOMPATIBLE: it was refused. */
BURN_API BURN_USE_RESULT BurnStatus burn_plugin_load(const char *name);

/* For the program burn_probe: loads and probes the plugin file `path` in this process and writes what it found to
 * descriptor 3, in a form that is libburn's own. Returns the program's exit status. */
BURN_API int burn_plugin_answer(const char *path);

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
 * short), and in *source (NULL: nobody wants to know) who chose it: "the argument", "BURN_BACKEND", "burn.json" of the
 * working directory, "burn.json of the user", "/etc/burn/burn.json", or "the highest score"; that one is the first to
 * be tried, see burn_device_passed_over. */
BURN_API BURN_USE_RESULT BurnStatus burn_stack_choice(const char *argument, char *stack, size_t bytes,
                                                      const char **source);

BURN_EXTERN_C_END

#endif
