/* platform.h - what libburn needs of the operating system besides plugins (plugin_load_*.c) and files (file_write_*.c).
 * One definition per system: platform_posix.c, platform_windows.c. */
#ifndef BURN_CORE_PLATFORM_H
#define BURN_CORE_PLATFORM_H

#include <burn/plugin/plugin.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* CPUs that this process may use; at least 1. */
unsigned burn__cpu_count(void);
/* CPUs' worth of time that the control groups of this process allow, rounded up; 0: they set no limit, or the system
 * has none. `root` stands before /proc and /sys: "". POSIX only. */
unsigned burn__cpu_quota(const char *root);

/* Fills memory with random bytes of the system; false if it has none to give. */
bool burn__random_bytes(void *bytes, size_t count);

/* Memory of one byte or more, aligned to 64 bytes, or NULL. */
void *burn__aligned_allocate(size_t bytes);
void burn__aligned_free(void *memory);

/* After burn__fence_threads, every other thread of the process has passed a full fence: what it wrote before is seen
 * here, and it sees what was written here. False from burn__fence_threads_works: the system has no such thing. */
bool burn__fence_threads_works(void);
void burn__fence_threads(void);

/* Sleeps while the word has this value: whoever changes it wakes the thread that sleeps for it afterwards. One thread
 * per word. */
void burn__sleep_while_equal(atomic_uint *word, unsigned value);
void burn__wake_sleeper(atomic_uint *word);

/* The text of an errno value, into a buffer of the caller; returns the buffer. */
const char *burn__errno_text(int number, char *buffer, size_t bytes);

/* -- paths ------------------------------------------------------------------------------------ */

/* True for a path that does not depend on the current folder (nor, on Windows, on the current drive). */
bool burn__path_is_absolute(const char *path);
/* What follows the last separator of folders. */
const char *burn__path_file_name(const char *path);
/* Between the folders of BURN_PLUGIN_PATH. */
char burn__path_list_separator(void);
/* How files of plugins end: ".so". */
const char *burn__plugin_suffix(void);

/* burn.json of the user, malloc'd; NULL where the user has no place for it. */
char *burn__user_settings_path(void);
/* burn.json of the system, and the system's folder of plugins; static; NULL where there is none. */
const char *burn__system_settings_path(void);
const char *burn__system_plugin_folder(void);

/* -- programs --------------------------------------------------------------------------------- */

/* The plugins that the program brings in an array burn_static_plugins, which ends with NULL; NULL if it has no such
 * array. */
const BurnPluginQuery *burn__linked_plugins(void);

#endif
