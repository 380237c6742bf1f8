/* options.h - the interface "burn.options": which options a plugin has, found by BurnPlugin.get_interface before
 * anything is opened.
 *
 * Options are what follows the name in a stack text, trace:format=count. A plugin reads them in open with host->option;
 * here it also says what there is, for the lists of `burn backends` and for the host, which takes options from files
 * that may come from anybody only if they are declared harmless. One list does both: rows of an X-macro, from which the
 * table and the numbers are made, and burn_options_ask, which asks for what is in the table:
 *
 *   #define MY_OPTIONS(X)                                                                      \
 *     X(TILE, "tile", "8..512", "64", BURN_OPTION_HARMLESS, "rows of a product at a time")     \
 *     X(SAVE, "save", "path", "", 0, "the file that gets the times; without it there is none")
 *   enum { MY_OPTIONS(BURN_OPTION_NUMBER) OPTION_COUNT };                     OPTION_TILE, OPTION_SAVE
 *   static const BurnOptionInfo rows[] = {MY_OPTIONS(BURN_OPTION_ROW)};
 *   static const BurnOptionsInterface declared = BURN_OPTIONS_INTERFACE(OPTION_COUNT, rows);
 *
 *   const char *values[OPTION_COUNT];                                         in open
 *   burn_options_ask(host, options, &declared, values);                       values[OPTION_TILE]: "128", or NULL
 *
 * A plugin without options declares none: BURN_OPTIONS_INTERFACE(0, NULL). Without the interface all options count as
 * not harmless. */
#ifndef BURN_PLUGIN_OPTIONS_H
#define BURN_PLUGIN_OPTIONS_H

#include <burn/plugin/host.h>

/* The name to ask BurnPlugin.get_interface for. */
#define BURN_OPTIONS_INTERFACE_NAME "burn.options"

/* Flags of an option. */
enum BurnOptionFlag {
  /* It only chooses among ways to compute, or among texts printed to stderr. It never names or makes a file, a folder,
   * a program or a device of others, whatever its value is. */
  BURN_OPTION_HARMLESS = 1
};

/* One option. The layout is frozen; new members go to the end, and BurnOptionsInterface.option_bytes tells how many
 * there are. All texts are static and not NULL. */
typedef struct BurnOptionInfo {
  const char *key;      /* a-z, 0-9, _ : what stands before the = */
  const char *values;   /* "baseline|avx2|avx512", "1..4096", or a word for what is expected: "path", "bytes" */
  const char *fallback; /* the default as text; "" where leaving it out is something of its own, which doc explains */
  const char *doc;      /* one line */
  uint32_t flags;       /* BURN_OPTION_* */
  uint32_t reserved;    /* 0 */
} BurnOptionInfo;
#define BURN_OPTION_INFO_MIN_BYTES BURN_BYTES_THROUGH(BurnOptionInfo, reserved)

/* Interface "burn.options", version 1: read-only data of the plugin, the same every time. The layout is frozen as
 * above. */
typedef struct BurnOptionsInterface {
  uint32_t struct_size;
  uint32_t version;
  uint32_t option_count;
  uint32_t option_bytes;         /* from one row to the next: sizeof(BurnOptionInfo) of the plugin's headers */
  const BurnOptionInfo *options; /* NULL if there are none */
} BurnOptionsInterface;
#define BURN_OPTIONS_INTERFACE_MIN_BYTES BURN_BYTES_THROUGH(BurnOptionsInterface, options)

/* For a table of rows as an X-macro: the numbers OPTION_<NAME>, the rows, and the interface around them. */
#define BURN_OPTION_NUMBER(NAME, key, values, fallback, flags, doc) OPTION_##NAME,
#define BURN_OPTION_ROW(NAME, key, values, fallback, flags, doc) {key, values, fallback, doc, flags, 0},
#define BURN_OPTIONS_INTERFACE(count, rows) \
  { (uint32_t)sizeof(BurnOptionsInterface), 1, count, (uint32_t)sizeof(BurnOptionInfo), rows }

#if !defined(BURN_NO_INLINE)
/* Row `index` of a table made with these headers or others. The caller knows that there is one. */
static inline const BurnOptionInfo *burn_option_info(const BurnOptionsInterface *declared, uint32_t index) {
  return (const BurnOptionInfo *)(const void *)((const char *)declared->options +
                                                (size_t)index * declared->option_bytes);
}

/* For open: asks for every declared option, as the host refuses those that nobody asked for. values[i] becomes what the
 * user gave for row i, or NULL; it stays valid until open returns. */
static inline void burn_options_ask(const BurnHost *host, const BurnOptions *options,
                                    const BurnOptionsInterface *declared, const char **values) {
  uint32_t i;
  for (i = 0; i < declared->option_count; i++) values[i] = host->option(options, burn_option_info(declared, i)->key);
}
#endif

#endif
