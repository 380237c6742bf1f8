/* class_files.c - the files of a folder by class. Names are put in the order of their bytes, so that labels and items
 * are the same on every system; links are followed, but no deeper than MAX_DEPTH folders. */
#include <burn/train/class_files.h>

#include "dataset_private.h"
#include "learner_internal.h"
#include "null_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_DEPTH = 32, FIRST_NAMES = 64 };

/* Texts, each from malloc. */
typedef struct Names {
  char **texts;
  size_t count, room;
} Names;

/* What a BurnClassFiles lies in. */
typedef struct Scan {
  const char *const *extensions;
  Names classes, paths;
  int64_t *labels;
  size_t label_room;
} Scan;

static BurnStatus no_memory(void) { return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "class_files: out of memory"); }

static void names_release(Names *names) {
  for (size_t i = 0; i < names->count; i++) free(names->texts[i]);
  free(names->texts);
  *names = (Names){NULL, 0, 0};
}

/* Takes the text, which may be NULL for want of memory. */
static BurnStatus name_take(Names *names, char *text) {
  char **grown = names->texts;
  if (text != NULL && names->count == names->room) {
    const size_t room = names->room > 0 ? 2 * names->room : FIRST_NAMES;
    grown = realloc(names->texts, room * sizeof *grown);
    if (grown != NULL) names->room = room;
  }
  if (text == NULL || grown == NULL) {
    free(text);
    return no_memory();
  }
  names->texts = grown;
  names->texts[names->count++] = text;
  return BURN_OK;
}

/* folder/name, or name alone with NULL; malloc'd. */
static char *joined(const char *folder, const char *name) {
  const size_t bytes = (folder != NULL ? strlen(folder) : 0) + strlen(name) + 2;
  char *path = malloc(bytes);
  if (path != NULL)
    (void)snprintf(path, bytes, "%s%s%s", folder != NULL ? folder : "", folder != NULL ? "/" : "", name);
  return path;
}

static bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_file(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static BurnStatus name_visit(void *context, const char *name) {
  return name[0] != '.' ? name_take(context, joined(NULL, name)) : BURN_OK;
}

/* The names in a folder, in order. */
static BurnStatus names_read(const char *path, Names *names) {
  const BurnStatus status = burn__folder_list(path, name_visit, names);
  if (names->count > 0) qsort(names->texts, names->count, sizeof *names->texts, by_bytes);
  return status;
}

static bool has_extension(const char *name, const char *const *extensions) {
  const char *point = strrchr(name, '.');
  for (; point != NULL && *extensions != NULL; extensions++) {
    size_t i = 0;
    for (; point[i] != '\0'; i++) {
      const char letter = point[i] >= 'A' && point[i] <= 'Z' ? (char)(point[i] - 'A' + 'a') : point[i];
      if (letter != (*extensions)[i]) break;
    }
    if (point[i] == '\0' && (*extensions)[i] == '\0') return true;
  }
  return false;
}

/* One more file, whose path is taken. */
static BurnStatus file_take(Scan *scan, char *path, int64_t label) {
  const BurnStatus status = name_take(&scan->paths, path);
  if (status != BURN_OK) return status;
  if (scan->label_room < scan->paths.room) {
    int64_t *grown = realloc(scan->labels, scan->paths.room * sizeof *grown);
    if (grown == NULL) return no_memory();
    scan->labels = grown;
    scan->label_room = scan->paths.room;
  }
  scan->labels[scan->paths.count - 1] = label;
  return BURN_OK;
}

/* A folder below a class. It calls itself for those further down, to a depth that is bounded. */
static BurnStatus class_scan(const char *path, int64_t label, int depth, Scan *scan) {
  Names names = {NULL, 0, 0};
  if (depth == MAX_DEPTH)
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "class_files: %s: more than %d folders deep", path, MAX_DEPTH);
  BurnStatus status = names_read(path, &names);
  for (size_t i = 0; status == BURN_OK && i < names.count; i++) {
    char *below = joined(path, names.texts[i]);
    if (below == NULL) status = no_memory();
    const bool folder = below != NULL && is_folder(below);
    const bool wanted = below != NULL && !folder && has_extension(below, scan->extensions) && is_file(below);
    if (folder) status = class_scan(below, label, depth + 1, scan);
    if (wanted)
      status = file_take(scan, below, label);
    else
      free(below);
  }
  names_release(&names);
  return status;
}

/* The subfolders, which are the classes, and what is in them. */
static BurnStatus folder_scan(const char *folder, Scan *scan) {
  Names names = {NULL, 0, 0};
  BurnStatus status = names_read(folder, &names);
  for (size_t i = 0; status == BURN_OK && i < names.count; i++) {
    char *path = joined(folder, names.texts[i]);
    if (path == NULL) status = no_memory();
    if (path != NULL && is_folder(path)) {
      status = name_take(&scan->classes, joined(NULL, names.texts[i]));
      if (status == BURN_OK) status = class_scan(path, (int64_t)scan->classes.count - 1, 0, scan);
    }
    free(path);
  }
  names_release(&names);
  return status;
}

/* ".png, .jpg or .pgm" */
static void extensions_list(const char *const *extensions, char *text, size_t room) {
  (void)snprintf(text, room, "%s", extensions[0] != NULL ? extensions[0] : "anything");
  for (size_t i = 1; extensions[0] != NULL && extensions[i] != NULL; i++) {
    const size_t used = strlen(text);
    (void)snprintf(text + used, room - used, "%s%s", extensions[i + 1] != NULL ? ", " : " or ", extensions[i]);
  }
}

/* What was found must be something. */
static BurnStatus scan_check(const char *folder, const Scan *scan) {
  if (!is_folder(folder)) return burn_status_make(BURN_STATUS_NOT_FOUND, "class_files: no folder %s", folder);
  if (scan->classes.count == 0)
    return burn_status_make(BURN_STATUS_NOT_FOUND, "class_files: %s has no subfolders, which would be the classes",
                            folder);
  if (scan->paths.count > 0) return BURN_OK;
  char endings[256];
  extensions_list(scan->extensions, endings, sizeof endings);
  return burn_status_make(BURN_STATUS_NOT_FOUND, "class_files: %s has %zu classes, but no file that ends with %s",
                          folder, scan->classes.count, endings);
}

void burn_class_files_release(BurnClassFiles *files) {
  if (!files) return;
  Scan *scan = files->internal;
  if (scan != NULL) {
    names_release(&scan->classes);
    names_release(&scan->paths);
    free(scan->labels);
    free(scan);
  }
  *files = (BurnClassFiles){NULL, NULL, 0, NULL, 0, NULL};
}

BurnStatus burn_class_files_read(const char *folder, const char *const *extensions, BurnClassFiles *files) {
  const BurnStatus given = BURN_REQUIRED(files, "a BurnClassFiles");
  if (given != BURN_OK) return given;
  *files = (BurnClassFiles){NULL, NULL, 0, NULL, 0, NULL};
  if (folder == NULL) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "class_files: no folder");
  Scan *scan = calloc(1, sizeof *scan);
  if (scan == NULL) return no_memory();
  files->internal = scan;
  scan->extensions = extensions;
  BurnStatus status = folder_scan(folder, scan);
  if (status == BURN_OK) status = scan_check(folder, scan);
  if (status != BURN_OK) {
    burn_class_files_release(files);
    return status;
  }
  files->paths = (const char *const *)scan->paths.texts;
  files->labels = scan->labels;
  files->count = scan->paths.count;
  files->classes = (const char *const *)scan->classes.texts;
  files->class_count = scan->classes.count;
  return BURN_OK;
}
