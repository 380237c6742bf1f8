/* plugin_registry.c - which plugins there are: found once, loaded when asked for, refused with a reason.
 *
 * Order, the first of a name wins: linked in, burn_plugin_add, BURN_PLUGIN_PATH, folders named in the user's and the
 * system's burn.json, burn/plugins beside our library, the system's folders. BURN_PLUGIN_PATH_ONLY=1 keeps to
 * BURN_PLUGIN_PATH, whose folders may be relative to the working directory: whoever sets it is here; the others must be
 * absolute. A plugin that cannot be used is kept as an entry with its reason; it is fatal only to whoever asked for it
 * by name. */
#include "platform.h"
#include "plugin_internal.h"
#include "privileged.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pthread_mutex_t burn__registry_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
  bool scanned;
  BurnPluginEntry *entries;
  size_t count, capacity;
  char **folders; /* searched; NULL-terminated */
  size_t folder_count;
  BurnPluginPlace *places; /* all that were named */
  size_t place_count;
  char **added; /* paths of burn_plugin_add */
  size_t added_count;
} registry;

/* The plugin whose constructors or entry function this thread runs, with the mutex; NULL: none. */
static BURN__THREAD_LOCAL const char *loading;

/* A plugin that is being loaded and calls this library would wait for itself. */
static void lock(void) {
  if (!loading) pthread_mutex_lock(&burn__registry_mutex);
}
static void unlock(void) {
  if (!loading) pthread_mutex_unlock(&burn__registry_mutex);
}

BurnStatus burn__plugin_may_load(void) {
  if (!loading) return BURN_OK;
  return BURN_FAIL(
      FAILED_PRECONDITION,
      "'%s' is being loaded and calls Burn, from a constructor or its entry function: it can do so when it is "
      "opened, not before",
      loading);
}

static BurnPluginEntry *entry_new(char *path, char *file_name) {
  if (registry.count == registry.capacity) {
    const size_t capacity = registry.capacity ? registry.capacity * 2 : 16;
    BurnPluginEntry *more = realloc(registry.entries, capacity * sizeof *more);
    if (!more) return NULL;
    registry.entries = more;
    registry.capacity = capacity;
  }
  BurnPluginEntry *entry = &registry.entries[registry.count++];
  *entry = (BurnPluginEntry){.path = path, .file_name = file_name};
  return entry;
}

/* "ndarray" of "/x/burn_ndarray.so". */
char *burn__plugin_name_of_file(const char *path) {
  const char *file = burn__path_file_name(path);
  if (strncmp(file, "burn_", 5) == 0) file += 5;
  const char *dot = strrchr(file, '.');
  return burn__text_format("%.*s", (int)(dot ? (size_t)(dot - file) : strlen(file)), file);
}

static const BurnPluginEntry *entry_of_name(const char *name, size_t before) {
  for (size_t i = 0; i < before; i++) {
    const BurnPluginEntry *entry = &registry.entries[i];
    if (entry->file_name && strcmp(entry->file_name, name) == 0) return entry;
  }
  return NULL;
}

/* A reason that outlives a lack of memory: whoever finds an entry without a plugin prints it. */
static const char *kept_reason(const char *reason) {
  const char *copy = burn__text_copy(reason);
  return copy ? copy : "it was refused, and there was no memory to say why";
}

/* By another path, too: a folder that is named twice hides nothing. */
static bool is_same_file(const char *path, const char *other) {
  char identity[BURN__IDENTITY_BYTES], other_identity[BURN__IDENTITY_BYTES];
  if (strcmp(path, other) == 0) return true;
  return burn__file_identity(path, identity) && burn__file_identity(other, other_identity) &&
         strcmp(identity, other_identity) == 0;
}

static void add_file(const char *path) {
  char *name = burn__plugin_name_of_file(path);
  char *copy = burn__text_copy(path);
  const BurnPluginEntry *earlier = name ? entry_of_name(name, registry.count) : NULL;
  const bool is_known = earlier && earlier->path && is_same_file(earlier->path, path);
  if (!name || !copy || is_known) {
    free(name);
    free(copy);
    return;
  }
  char *reason = NULL;
  if (earlier)
    reason = burn__text_format("hidden by %s, which comes first", earlier->path ? earlier->path : "the one linked in");
  BurnPluginEntry *entry = entry_new(copy, name);
  if (!entry) {
    free(name);
    free(copy);
    free(reason);
    return;
  }
  if (!earlier) return;
  entry->tried = true;
  entry->refusal = BURN_REFUSED_HIDDEN;
  entry->reason = reason ? reason : "hidden by another one, which comes first";
}

/* Remembers a place for burn doctor; what it says is copied. NULL when there is no memory. */
static BurnPluginPlace *add_place(const char *path, const char *source) {
  BurnPluginPlace *places = realloc(registry.places, (registry.place_count + 1) * sizeof *places);
  char *copy = burn__text_copy(path);
  if (places) registry.places = places;
  if (!places || !copy) {
    free(copy);
    return NULL;
  }
  places[registry.place_count] = (BurnPluginPlace){.path = copy, .source = source, .problem = ""};
  return &places[registry.place_count++];
}

static void add_problem(BurnPluginPlace *place, const char *problem) {
  burn__log(BURN_LOG_WARN, "plugins", "%s: %s", place->path, problem);
  const char *copy = burn__text_copy(problem);
  if (copy) place->problem = copy;
}

static void search_folder(BurnPluginPlace *place) {
  char **names;
  const BurnStatus status = burn__plugin_list_folder(place->path, &names, &place->file_count, &place->exists);
  if (status != BURN_OK) add_problem(place, burn_status_message(status));
  for (size_t i = 0; i < place->file_count; i++) {
    char *path = burn__text_format("%s/%s", place->path, names[i]);
    if (path) add_file(path);
    free(path);
    free(names[i]);
  }
  free(names);
}

static void add_folder(const char *folder, const char *source) {
  BurnPluginPlace *place = add_place(folder, source);
  if (!place) return;
  if (!burn__path_is_absolute(folder)) {
    add_problem(place, "it is not an absolute path; ignored");
    return;
  }
  char **folders = realloc(registry.folders, (registry.folder_count + 2) * sizeof *folders);
  char *copy = burn__text_copy(folder);
  if (folders) {
    registry.folders = folders;
    folders[registry.folder_count] = NULL; /* also where there is no memory for another */
  }
  if (!folders || !copy) {
    free(copy);
    return;
  }
  folders[registry.folder_count++] = copy;
  folders[registry.folder_count] = NULL;
  search_folder(place);
}

static void add_path_list(const char *list) {
  while (list && *list) {
    const char *end = strchr(list, burn__path_list_separator());
    const size_t length = end ? (size_t)(end - list) : strlen(list);
    char *folder = burn__text_format("%.*s", (int)length, list);
    char *absolute = folder && folder[0] ? burn__absolute_path(folder) : NULL;
    if (absolute) add_folder(absolute, "BURN_PLUGIN_PATH");
    free(absolute);
    free(folder);
    list = end ? end + 1 : NULL;
  }
}

/* The plugin of an entry becomes usable, or the entry says why not; `status` is what came before. */
static void settle(BurnPluginEntry *entry, const BurnPlugin *plugin, BurnStatus status, BurnRefusal refusal) {
  const BurnPlugin *copy = NULL;
  if (status == BURN_OK) status = burn__plugin_check(plugin, entry->file_name, &refusal, &copy);
  if (status == BURN_OK && copy->kind == BURN_PLUGIN_KERNELS) {
    refusal = BURN_REFUSED_BAD_OPS;
    status = burn__pack_register(copy);
  }
  const char *where = entry->path ? entry->path : "the program, where it is linked in";
  entry->tried = true;
  if (status == BURN_OK) {
    entry->plugin = copy;
    burn__log(BURN_LOG_INFO, "plugins", "loaded %s %s from %s", copy->name, copy->version, where);
    return;
  }
  free((void *)(uintptr_t)copy);
  entry->refusal = refusal;
  entry->reason = kept_reason(burn_status_message(status));
  burn__log(BURN_LOG_INFO, "plugins", "refused %s: %s", where, entry->reason);
}

static void load(BurnPluginEntry *entry) {
  if (entry->tried) return;
  const BurnHostInfo query = {sizeof query, BURN_ABI_MAJOR, BURN_ABI_MINOR, BURN_ABI_OLDEST_MINOR, burn_version()};
  BurnPluginQuery function = NULL;
  BurnRefusal refusal = BURN_REFUSED_NONE;
  burn__log(BURN_LOG_INFO, "plugins", "loading %s", entry->path);
  loading = entry->path;
  const BurnStatus status = burn__plugin_open_file(entry->path, &function, &refusal);
  burn__probe_stage(BURN__STAGE_QUERY);
  settle(entry, function ? function(&query) : NULL, status, refusal);
  loading = NULL;
}

/* -- discovery -------------------------------------------------------------------------------- */

static void add_static(void) {
  const BurnPluginQuery *linked = burn__linked_plugins();
  if (!linked) return;
  const BurnHostInfo query = {sizeof query, BURN_ABI_MAJOR, BURN_ABI_MINOR, BURN_ABI_OLDEST_MINOR, burn_version()};
  for (const BurnPluginQuery *function = linked; *function; function++) {
    const BurnPlugin *plugin = (*function)(&query);
    char *name =
        burn__text_copy(plugin && plugin->struct_size >= BURN_PLUGIN_MIN_BYTES && plugin->name ? plugin->name : "?");
    BurnPluginEntry *entry = name ? entry_new(NULL, name) : NULL;
    if (!entry) {
      free(name);
      continue;
    }
    settle(entry, plugin, BURN_OK, BURN_REFUSED_NONE);
  }
}

static void add_standard_folders(void) {
  burn__settings_plugin_path(add_folder);
  char *own = burn__own_folder();
  char *beside = own ? burn__text_format("%s/burn/plugins", own) : NULL;
  if (beside) add_folder(beside, "beside libburn");
  const char *system = burn__system_plugin_folder();
  if (system && (!beside || strcmp(beside, system) != 0)) add_folder(system, "built in");
  free(beside);
  free(own);
}

/* Finds files; loads none. The mutex is held. */
static void scan(void) {
  if (registry.scanned) return;
  registry.scanned = true;
  add_static();
  for (size_t i = 0; i < registry.added_count; i++) add_file(registry.added[i]);
  const bool trust_environment = !burn__process_is_privileged();
  if (trust_environment) add_path_list(getenv("BURN_PLUGIN_PATH"));
  if (!trust_environment || !burn__switch_variable("BURN_PLUGIN_PATH_ONLY", false)) add_standard_folders();
}

/* The plugin exists but is none of `kind`. */
static BurnStatus wrong_kind(const BurnPlugin *plugin, uint32_t kind) {
  const char *name = plugin->name;
  if (kind == BURN_PLUGIN_BACKEND && plugin->kind == BURN_PLUGIN_DECORATOR) {
    return BURN_FAIL(INVALID_ARGUMENT, "'%s' is a decorator; a stack ends with a backend, as in %s<ndarray>", name,
                     name);
  }
  if (kind == BURN_PLUGIN_DECORATOR && plugin->kind == BURN_PLUGIN_BACKEND) {
    return BURN_FAIL(INVALID_ARGUMENT, "'%s' is a backend; it can only stand at the end of a stack (%s)", name, name);
  }
  return BURN_FAIL(INVALID_ARGUMENT, "'%s' is a %s, not a %s", name, burn__plugin_kind(plugin->kind)->name,
                   burn__plugin_kind(kind)->name);
}

/* The mutex is held. NULL in *out, and BURN_OK: there is none of that name. */
static BurnStatus find_locked(const char *name, uint32_t kind, const BurnPlugin **out) {
  *out = NULL;
  for (size_t i = 0; i < registry.count; i++) {
    BurnPluginEntry *entry = &registry.entries[i];
    if (!entry->file_name || strcmp(entry->file_name, name) != 0) continue;
    load(entry);
    if (entry->reason)
      return BURN_FAIL(INCOMPATIBLE, "plugin '%s' (%s) was refused: %s", name, entry->path ? entry->path : "linked in",
                       entry->reason);
    if (entry->plugin->kind != kind) {
      return wrong_kind(entry->plugin, kind);
    }
    *out = entry->plugin;
    return BURN_OK;
  }
  return BURN_OK;
}

BurnStatus burn__plugin_find(const char *name, uint32_t kind, const BurnPlugin **out) {
  *out = NULL;
  BurnStatus status = burn__plugin_may_load();
  if (status != BURN_OK) return status;
  lock();
  scan();
  status = find_locked(name, kind, out);
  unlock();
  return status == BURN_OK && !*out ? burn__plugin_not_found(name, kind) : status;
}

uint32_t burn__plugin_roles(const BurnPlugin *plugin) {
  BurnDecoratorInterface decorator;
  const bool has = plugin->kind == BURN_PLUGIN_DECORATOR &&
                   burn__plugin_interface(plugin, "burn.decorator", &decorator, sizeof decorator);
  return has ? decorator.roles : 0;
}

/* The mutex is held: loads the files with the role's name, and no other. */
static const BurnPlugin *find_role(uint32_t role, const char *role_name) {
  for (size_t i = 0; i < registry.count; i++) {
    BurnPluginEntry *entry = &registry.entries[i];
    if (strcmp(entry->file_name, role_name) != 0) continue;
    load(entry);
    if (entry->plugin && burn__plugin_roles(entry->plugin) & role) return entry->plugin;
  }
  return NULL;
}

BurnStatus burn__plugin_with_role(uint32_t role, const char *role_name, const char **name) {
  lock();
  scan();
  const BurnPlugin *plugin = find_role(role, role_name);
  unlock();
  *name = plugin ? plugin->name : burn__plugin_known_role(role);
  return *name ? BURN_OK : burn__plugin_not_found(role_name, BURN_PLUGIN_DECORATOR);
}

BurnStatus burn_plugin_load(const char *name) {
  const BurnPluginEntry *found = NULL;
  const BurnStatus status = burn__plugin_may_load();
  if (status != BURN_OK) return status;
  lock();
  scan();
  for (size_t i = 0; i < registry.count && name && !found; i++) {
    BurnPluginEntry *entry = &registry.entries[i];
    if (!entry->file_name || strcmp(entry->file_name, name) != 0) continue;
    load(entry);
    found = entry;
  }
  unlock();
  if (!found) return BURN_FAIL(NOT_FOUND, "plugin_load: there is no plugin '%s'", name ? name : "(null)");
  return found->plugin ? BURN_OK : BURN_FAIL(INCOMPATIBLE, "plugin '%s' was refused: %s", name, found->reason);
}

BurnStatus burn_plugin_add(const char *path) {
  if (!path || !burn__path_is_absolute(path)) {
    return BURN_FAIL(INVALID_ARGUMENT, "plugin_add: '%s' is not an absolute path", path ? path : "(null)");
  }
  if (burn__file_presence(path) == BURN__ABSENT) return BURN_FAIL(NOT_FOUND, "plugin_add: there is no file '%s'", path);
  BurnStatus status = BURN_OK;
  lock();
  char **added = realloc(registry.added, (registry.added_count + 1) * sizeof *added);
  char *copy = burn__text_copy(path);
  if (added) registry.added = added;
  if (registry.scanned) {
    status = BURN_FAIL(FAILED_PRECONDITION,
                       "plugin_add: '%s' comes too late; add plugins before the first device is opened", path);
  } else if (!added || !copy) {
    status = BURN_FAIL(OUT_OF_MEMORY, "plugin_add: no memory for '%s'", path);
  } else {
    added[registry.added_count++] = copy;
    copy = NULL;
  }
  free(copy);
  unlock();
  return status;
}

/* -- what others ask -------------------------------------------------------------------------- */

size_t burn__plugin_entries(BurnPluginEntry **entries) {
  lock();
  scan();
  *entries = registry.entries;
  const size_t count = registry.count;
  unlock();
  return count;
}

void burn__plugin_load(BurnPluginEntry *entry) {
  lock();
  load(entry);
  unlock();
}

const char *const *burn_plugin_search_path(void) {
  static const char *const none[] = {NULL};
  lock();
  scan();
  const char *const *folders = registry.folders ? (const char *const *)registry.folders : none;
  unlock();
  return folders;
}

size_t burn_plugin_place_count(void) {
  lock();
  scan();
  const size_t count = registry.place_count;
  unlock();
  return count;
}

const BurnPluginPlace *burn_plugin_place(size_t index) {
  return index < burn_plugin_place_count() ? &registry.places[index] : NULL;
}

const char *burn_version(void) { return BURN_VERSION; }
