/* plugin_loader_test.c - discovery and refusal of plugins: every fault gets its reason and harms nobody else.
 *
 * Discovery happens once per process, so every test forks. The plugins come from tests/plugins. */
#define _GNU_SOURCE /* ST_NOSUID */
#include "emulated.h"
#include "forked.h"

#if !defined(_WIN32)
#include <sys/statvfs.h>
#include <time.h>
#endif

static const char broken_folder[] = BURN_BUILD_DIR "/tests/broken_plugins";
static const char good_folder[] = BURN_BUILD_DIR "/lib/burn/plugins";

/* The entry of a name; the first if there are several, or the one in a folder. */
static const BurnPluginInfo *find(const char *name, const char *folder) {
  for (size_t i = 0; i < burn_plugin_count(); i++) {
    const BurnPluginInfo *info = burn_plugin_info(i);
    if (strcmp(info->name, name) == 0 && (!folder || strncmp(info->path, folder, strlen(folder)) == 0)) return info;
  }
  return NULL;
}

static void search_in(const char *path, bool only) {
  setenv("BURN_PLUGIN_PATH", path, 1);
  setenv(SETTINGS_VARIABLE, NO_FOLDER, 1);
  if (only) setenv("BURN_PLUGIN_PATH_ONLY", "1", 1);
}

static void check_ndarray_works(void) {
  BurnDevice *device = burn_device_open("ndarray");
  CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
  double value = 0;
  const BurnStatus status = burn_read_scalar(burn_sum(burn_ones(device, BURN_SHAPE(2, 3), BURN_DTYPE_F32)), &value);
  CHECK(status == BURN_OK && value > 5.5 && value < 6.5, "%s, %g", burn_status_message(status), value);
  burn_device_close(device);
}

/* -- faults ----------------------------------------------------------------------------------- */

typedef struct Fault {
  const char *name;    /* of the file, and of the entry */
  const char *refusal; /* the word of refusals.def */
  const char *reason;  /* a part of it */
} Fault;

static const Fault faults[] = {
    {"no_symbol", "no_entry", "has no symbol burn_plugin_query_v0: not a Burn plugin, or one of another major version"},
    {"wrong_major", "abi_too_new", "it is built for plugin ABI 1.6, this host has 0.6: update Burn"},
    {"new_host", "abi_too_new",
     "it is built for plugin ABI 0.99, this host has 0.6: update Burn, or build the plugin with BURN_TARGET_MINOR=6"},
    {"old_minor", "abi_too_old",
     "it is built for plugin ABI 0.3, this host has 0.6 and serves none before 0.4: rebuild it with the headers of "
     "Burn "},
    {"short_descriptor", "bad_descriptor", "its descriptor has 16 bytes, at least"},
    {"unknown_kind", "unknown_kind", "its kind 7 is unknown"},
    {"no_interface", "no_interface", "it says it is a backend but has no interface burn.backend"},
    {"short_interface", "bad_interface", "its interface burn.backend has 8 bytes, at least"},
    {"other_name", "wrong_name",
     "the plugin calls itself 'somebody_else': its file must be named burn_somebody_else" BURN_PLUGIN_SUFFIX},
    {"wrong_letters", "wrong_name",
     "the plugin calls itself 'Wrong-Letters': names have a-z, 0-9 and _, and start with a letter"},
    {"null_descriptor", "no_descriptor", "its entry function returned no descriptor"},
    {"empty_key", "bad_options", "it declares an option '': keys have a-z, 0-9 and _, at least one of them"},
    {"upper_key", "bad_options", "it declares an option 'Tile-': keys have a-z, 0-9 and _, at least one of them"},
    {"host_key", "bad_options", "it declares the option 'float', which the host takes for every backend"},
    {"same_key", "bad_options", "it declares the option 'tile_2' twice"},
    {"no_version", "bad_descriptor", "its descriptor lacks a name, a version or get_interface"},
};

static void check_word(const BurnPluginInfo *info, const char *word) {
  CHECK(strcmp(info->refusal, word) == 0, "%s is refused as '%s', expected '%s'", info->name, info->refusal, word);
  CHECK(info->help[0], "%s: no word on what to do", info->name);
}

static void check_refused(const Fault *fault) {
  const BurnPluginInfo *info = find(fault->name, NULL);
  CHECK(info, "burn_%s.so was not found at all", fault->name);
  CHECK(!info->usable, "%s is usable", fault->name);
  CHECK(strcmp(info->kind, "") == 0 && strcmp(info->version, "") == 0 && info->score == 0 && info->device_count == 0,
        "%s is described as %s %s", fault->name, info->kind, info->version);
  check_contains(info->path, fault->name);
  check_contains(info->reason, fault->reason);
  check_word(info, fault->refusal);
  BurnDevice *device = burn_device_open(fault->name);
  const BurnStatus status = burn_device_status(device);
  CHECK(burn_status_code(status) == BURN_STATUS_INCOMPATIBLE, "%s", burn_status_message(status));
  check_contains(burn_status_message(status), fault->name);
  check_contains(burn_status_message(status), "was refused: ");
  check_contains(burn_status_message(status), fault->reason);
  burn_device_close(device);
}

static void list_faults(void *context) {
  (void)context;
  search_in(broken_folder, false);
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) check_refused(&faults[i]);
  check_ndarray_works();
}

static void test_every_fault_has_its_reason(void **state) {
  (void)state;
  forked(list_faults, NULL);
}

/* Opening by name must say the same when nothing was listed before. */
static void open_one(void *context) {
  const Fault *fault = context;
  search_in(broken_folder, false);
  BurnDevice *device = burn_device_open(fault->name);
  check_contains(burn_status_message(burn_device_status(device)), fault->reason);
  burn_device_close(device);
  check_ndarray_works();
}

static void test_faults_one_by_one(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) forked(open_one, (void *)(uintptr_t)&faults[i]);
}

#if defined(__linux__)
/* A thread that its constructor has started goes on in its code. */
static void refuse_what_has_a_thread(void *context) {
  (void)context;
  search_in(broken_folder, false);
  BurnDevice *device = burn_device_open("no_symbol");
  check_contains(burn_status_message(burn_device_status(device)), "has no symbol");
  burn_device_close(device);
  const struct timespec moment = {.tv_nsec = 50000000};
  nanosleep(&moment, NULL);
  check_ndarray_works();
}

static void test_what_is_refused_stays_loaded(void **state) {
  (void)state;
  forked(refuse_what_has_a_thread, NULL);
}
#endif

#if !defined(_WIN32)
/* Whoever calls Burn before it is loaded is told so, and does not wait for itself. */
static void open_what_calls_burn(void *context) {
  (void)context;
  alarm(30);
  search_in(broken_folder, false);
  BurnDevice *device = burn_device_open("calls_burn");
  check_contains(burn_status_message(burn_device_status(device)), "burn_calls_burn.so' is being loaded and calls Burn");
  burn_device_close(device);
  check_ndarray_works();
}

static void test_a_plugin_that_calls_burn_while_it_is_loaded(void **state) {
  (void)state;
  forked(open_what_calls_burn, NULL);
}
#endif

static void open_missing_function(void *context) {
  (void)context;
  search_in(broken_folder, false);
  const BurnPluginInfo *info = find("missing_function", NULL);
  CHECK(info && info->usable, "only opening it can show the fault");
  BurnDevice *device = burn_device_open("missing_function");
  const BurnStatus status = burn_device_status(device);
  CHECK(burn_status_code(status) == BURN_STATUS_INCOMPATIBLE, "%s", burn_status_message(status));
  check_contains(burn_status_message(status), "plugin 'missing_function' opened without the function 'release'");
  BurnTensor *x = burn_zeros(device, BURN_SHAPE(2), BURN_DTYPE_F32); /* carries the failure of its device */
  check_contains(burn_status_message(burn_tensor_status(x)), "without the function 'release'");
  burn_drop(x);
  burn_device_close(device);
  check_ndarray_works();
}

static void test_a_missing_function_is_found_by_opening(void **state) {
  (void)state;
  forked(open_missing_function, NULL);
}

static void open_odd_support(void *context) {
  (void)context;
  search_in(broken_folder, false);
  BurnDevice *device = burn_device_open("odd_support");
  const BurnStatus status = burn_device_status(device);
  CHECK(burn_status_code(status) == BURN_STATUS_INCOMPATIBLE, "%s", burn_status_message(status));
  check_contains(burn_status_message(status), "plugin 'odd_support': op_support answers 257 for 'add'; 0 is no");
  burn_device_close(device);
  check_ndarray_works();
}

static void test_an_unknown_answer_of_op_support(void **state) {
  (void)state;
  forked(open_odd_support, NULL);
}

/* -- files that are not plugins ---------------------------------------------------------------- */

static void list_files(void *context) {
  search_in(context, false);
  const BurnPluginInfo *info = find("text", NULL);
  CHECK(info && !info->usable, "text");
  check_contains(info->reason, "cannot be loaded: ");
  check_word(info, "not_loadable");
  info = find("empty", NULL);
  CHECK(info && !info->usable, "empty");
  check_contains(info->reason, "cannot be loaded: ");
  check_word(info, "not_loadable");
  info = find("writable", NULL);
  CHECK(info && !info->usable, "writable");
  check_contains(info->reason, "can be written by anybody (");
  check_word(info, "unsafe");
  CHECK(!find("note", NULL) && !find("other", NULL), "names that do not fit burn_*.so must not be listed");
  check_ndarray_works();
}

static void test_files_that_are_no_plugins(void **state) {
  (void)state;
  char folder[64], path[128];
  make_folder(folder);
  write_file(folder, "burn_text" BURN_PLUGIN_SUFFIX, "this is a text\n");
  write_file(folder, "burn_empty" BURN_PLUGIN_SUFFIX, "");
  write_file(folder, "burn_note.txt", "not looked at\n");
  write_file(folder, "libother" BURN_PLUGIN_SUFFIX, "not looked at\n");
  snprintf(path, sizeof path, "%s/burn_mini" BURN_PLUGIN_SUFFIX, broken_folder);
  copy_file(path, folder, "burn_writable" BURN_PLUGIN_SUFFIX);
  snprintf(path, sizeof path, "%s/burn_writable" BURN_PLUGIN_SUFFIX, folder);
  let_anybody_write(path);
  forked(list_files, folder);
  static const char *const names[] = {"burn_text" BURN_PLUGIN_SUFFIX, "burn_empty" BURN_PLUGIN_SUFFIX, "burn_note.txt",
                                      "libother" BURN_PLUGIN_SUFFIX, "burn_writable" BURN_PLUGIN_SUFFIX};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) remove_file(folder, names[i]);
  rmdir(folder);
}

static void open_in_writable_folder(void *context) {
  search_in(context, true);
  BurnDevice *device = burn_device_open("mini");
  check_contains(burn_status_message(burn_device_status(device)), "folder '");
  check_contains(burn_status_message(burn_device_status(device)), "can be written by anybody");
  burn_device_close(device);
}

static void test_a_folder_that_anybody_can_write(void **state) {
  (void)state;
  char folder[64], path[128];
  make_folder(folder);
  snprintf(path, sizeof path, "%s/burn_mini" BURN_PLUGIN_SUFFIX, broken_folder);
  copy_file(path, folder, "burn_mini" BURN_PLUGIN_SUFFIX);
  let_anybody_write(folder);
  forked(open_in_writable_folder, folder);
  remove_file(folder, "burn_mini" BURN_PLUGIN_SUFFIX);
  rmdir(folder);
}

#if !defined(_WIN32)
/* A folder outer/inner with a plugin, one part of it open to others, or reached through a link. */
typedef struct Opening {
  const char *part; /* "outer", "outer/inner", or the file */
  mode_t mode;
  bool foreign_group, foreign_owner; /* which only root can give */
  const char *message;               /* NULL: it is loaded all the same */
} Opening;

#define PLUGIN_FILE "burn_mini" BURN_PLUGIN_SUFFIX
static const Opening openings[] = {
    {"outer/inner/" PLUGIN_FILE, 0755, false, false, NULL},
    {"outer/inner", 0777, false, false, "inner' can be written by anybody"},
    {"outer", 0777, false, false, "outer' can be written by anybody"},
    {"outer", 01777, false, false, NULL}, /* as /tmp: what is ours in it stays ours */
    {"outer/inner", 01777, false, false, "inner' can be written by anybody"},
    {"outer/inner/" PLUGIN_FILE, 0775, true, false, "' can be written by the members of group 54321"},
    {"outer/inner", 0775, true, false, "inner' can be written by the members of group 54321"},
    {"outer", 0775, true, false, "outer' can be written by the members of group 54321"},
    {"outer/inner/" PLUGIN_FILE, 0755, false, true, "' belongs to user 54321, neither to root nor to you"},
    {"outer", 0755, false, true, "outer' belongs to user 54321, neither to root nor to you"},
};

static void open_mini(void *context) {
  const char *folder = ((const char *const *)context)[0], *message = ((const char *const *)context)[1];
  search_in(folder, true);
  BurnDevice *device = burn_device_open("mini");
  const BurnStatus status = burn_device_status(device);
  if (message) check_contains(burn_status_message(status), message);
  CHECK(message || status == BURN_OK, "%s", burn_status_message(status));
  burn_device_close(device);
}

static void set_mode(const char *path, const Opening *opening) {
  const uid_t owner = opening->foreign_owner ? 54321 : (uid_t)-1;
  const gid_t group = opening->foreign_group ? 54321 : (gid_t)-1;
  if (owner != (uid_t)-1 || group != (gid_t)-1) assert_int_equal(chown(path, owner, group), 0);
  assert_int_equal(chmod(path, opening->mode), 0);
}

static void test_whoever_could_replace_a_plugin_is_looked_for(void **state) {
  (void)state;
  char base[64], outer[128], inner[160], link[128], path[512];
  for (size_t i = 0; i < sizeof openings / sizeof openings[0]; i++) {
    if ((openings[i].foreign_group || openings[i].foreign_owner) && geteuid() != 0) continue;
    make_folder(base);
    snprintf(outer, sizeof outer, "%s/outer", base);
    snprintf(inner, sizeof inner, "%s/inner", outer);
    snprintf(link, sizeof link, "%s/link", base);
    assert_int_equal(mkdir(outer, 0755) | mkdir(inner, 0755) | mkdir(link, 0755), 0);
    snprintf(path, sizeof path, "%s/" PLUGIN_FILE, broken_folder);
    copy_file(path, inner, PLUGIN_FILE);
    snprintf(path, sizeof path, "%s/%s", base, openings[i].part);
    set_mode(path, &openings[i]);
    snprintf(path, sizeof path, "%s/" PLUGIN_FILE, link);
    assert_int_equal(symlink("../outer/inner/" PLUGIN_FILE, path), 0);
    forked(open_mini, (const void *[]){inner, openings[i].message});
    forked(open_mini, (const void *[]){link, openings[i].message});
    remove_file(link, PLUGIN_FILE);
    remove_file(inner, PLUGIN_FILE);
    assert_int_equal(rmdir(link) | rmdir(inner) | rmdir(outer) | rmdir(base), 0);
  }
}

/* -- libburn loaded at run time --------------------------------------------------------------- */

static int run_late(const char *library, const char *how, const char *folder) {
  const pid_t child = fork();
  if (child == 0) {
    if (chdir(BURN_BUILD_DIR) != 0) _exit(3);
    execl(BURN_BUILD_DIR "/tests/late_program", "late_program", library, how, folder, (char *)NULL);
    _exit(4);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status)) fail_msg("%s died of signal %d", how, WTERMSIG(status));
  return WEXITSTATUS(status);
}

/* Loaded by a relative path; then the working directory is one that pretends to be where it lies. */
static void test_plugins_are_those_beside_the_library_as_it_was_loaded(void **state) {
  (void)state;
  char folder[64], path[128];
  static const char *const parts[] = {"lib", "lib/burn", "lib/burn/plugins"};
  make_folder(folder);
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, parts[i]);
    assert_int_equal(mkdir(path, 0755), 0);
  }
  write_file(folder, "lib/libburn.so.0", "");
  write_file(folder, "lib/burn/plugins/burn_ndarray.so", "not what was meant");
  assert_int_equal(run_late("lib/libburn.so.0", "chdir", folder), 0);
  remove_file(folder, "lib/libburn.so.0");
  remove_file(folder, "lib/burn/plugins/burn_ndarray.so");
  for (int i = 3; i-- > 0;) {
    snprintf(path, sizeof path, "%s/%s", folder, parts[i]);
    assert_int_equal(rmdir(path), 0);
  }
  rmdir(folder);
}

#define LIBBURN BURN_BUILD_DIR "/lib/libburn.so.0"

/* late_program with the rights of root for whoever calls it, in a folder of its own; false where no file gives rights. */
static bool make_privileged(char folder[64], char path[128]) {
  struct statvfs mounted;
  make_folder(folder);
  snprintf(path, 128, "%s/privileged", folder);
  if (geteuid() != 0 || statvfs(folder, &mounted) != 0 || (mounted.f_flag & ST_NOSUID)) {
    rmdir(folder);
    return false;
  }
  copy_file(BURN_BUILD_DIR "/tests/late_program", folder, "privileged");
  assert_int_equal(chmod(folder, 0755) | chmod(path, 04755), 0);
  return true;
}

/* Runs it as nobody, with a variable of that caller's; its exit status, or minus the signal that ended it. */
static int run_privileged(const char *folder, const char *path, const char *variable, const char *value,
                          const char *library, const char *mode, const char *argument) {
  const pid_t child = fork();
  if (child == 0) {
    setenv(variable, value, 1);
    if (chdir(folder) != 0 || setgid(65534) != 0 || setuid(65534) != 0) _exit(3);
    execl(path, "privileged", library, mode, argument, (char *)NULL);
    _exit(4);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Neither its caller's working directory nor environment has a say. */
static void test_a_privileged_program_reads_no_burn_json_here(void **state) {
  (void)state;
  SKIP_EMULATED("the kernel gives a script no rights");
  char folder[64], path[128];
  if (!make_privileged(folder, path)) skip();
  write_file(folder, "burn.json", "{\"backend\": \"nosuch\"}");
  const int status = run_privileged(folder, path, "BURN_BACKEND", "nosuch", LIBBURN, "settings", NULL);
  remove_file(folder, "privileged");
  remove_file(folder, "burn.json");
  rmdir(folder);
  assert_int_equal(status, 0);
}

/* A library that ends the process when it is loaded: GPU backends would load what these variables name. */
static void test_a_privileged_program_loads_no_library_of_its_caller(void **state) {
  static const char *const rows[][2] = {{"BURN_CUDA_DRIVER", "cuda"}, {"BURN_VULKAN_LOADER", "vulkan"}};
  (void)state;
  SKIP_EMULATED("the kernel gives a script no rights");
  char folder[64], path[128];
  if (!make_privileged(folder, path)) skip();
  int status[2];
  for (int i = 0; i < 2; i++)
    status[i] =
        run_privileged(folder, path, rows[i][0], BURN_BUILD_DIR "/tests/hostile_plugins/burn_crash_constructor.so",
                       LIBBURN, "open", rows[i][1]);
  remove_file(folder, "privileged");
  rmdir(folder);
  for (int i = 0; i < 2; i++) assert_int_equal(status[i], 0);
}

/* A caller could have its files written where only root may. */
static void test_a_privileged_program_takes_no_folder_of_its_caller(void **state) {
  static const char library[] = BURN_BUILD_DIR "/lib/libburn_datasets.so.0";
  (void)state;
  SKIP_EMULATED("the kernel gives a script no rights");
  char folder[64], path[128];
  if (access(library, R_OK) != 0 || !make_privileged(folder, path)) skip();
  const int trusted =
      run_privileged(folder, BURN_BUILD_DIR "/tests/late_program", "XDG_CACHE_HOME", folder, library, "folder", NULL);
  const int status = run_privileged(folder, path, "XDG_CACHE_HOME", folder, library, "folder", NULL);
  remove_file(folder, "privileged");
  rmdir(folder);
  assert_int_equal(trusted, 1);
  assert_int_equal(status, 0);
}

static void test_the_library_can_be_closed_and_loaded_again(void **state) {
  (void)state;
  setenv("BURN_THREADS", "3", 1);
  assert_int_equal(run_late("lib/libburn.so.0", "repeat", NULL), 0);
  unsetenv("BURN_THREADS");
}
#endif

/* -- order and names -------------------------------------------------------------------------- */

static void list_duplicates(void *context) {
  const char *first = context;
  char path[512];
  snprintf(path, sizeof path, "%s" LIST_SEPARATOR "%s", first, broken_folder);
  search_in(path, false);
  const BurnPluginInfo *used = find("mini", first), *hidden = find("mini", broken_folder);
  CHECK(used && used->usable, "the first one must be usable");
  CHECK(hidden && !hidden->usable, "the second one must be hidden");
  check_contains(hidden->reason, "hidden by ");
  check_contains(hidden->reason, first);
  check_word(hidden, "hidden");
  CHECK(strcmp(burn_plugin_search_path()[0], first) == 0, "%s", burn_plugin_search_path()[0]);
  CHECK(strcmp(burn_plugin_search_path()[1], broken_folder) == 0, "%s", burn_plugin_search_path()[1]);
}

static void test_the_first_of_a_name_wins(void **state) {
  (void)state;
  char folder[64], path[128];
  make_folder(folder);
  snprintf(path, sizeof path, "%s/burn_mini" BURN_PLUGIN_SUFFIX, broken_folder);
  copy_file(path, folder, "burn_mini" BURN_PLUGIN_SUFFIX);
  forked(list_duplicates, folder);
  remove_file(folder, "burn_mini" BURN_PLUGIN_SUFFIX);
  rmdir(folder);
}

static size_t entries_of(const char *name) {
  size_t count = 0;
  for (size_t i = 0; i < burn_plugin_count(); i++) count += strcmp(burn_plugin_info(i)->name, name) == 0;
  return count;
}

/* The same file three times: named, and in a folder that is named twice. */
static void list_repeated(void *context) {
  char path[1024];
  (void)context;
  snprintf(path, sizeof path, "%s/burn_mini" BURN_PLUGIN_SUFFIX, broken_folder);
  CHECK(burn_plugin_add(path) == BURN_OK && burn_plugin_add(path) == BURN_OK, "plugin_add");
  snprintf(path, sizeof path, "%s" LIST_SEPARATOR "%s", broken_folder, broken_folder);
  search_in(path, false);
  CHECK(entries_of("mini") == 1 && find("mini", NULL)->usable, "%zu entries of mini", entries_of("mini"));
  CHECK(entries_of("long_tail") == 1, "%zu entries of long_tail", entries_of("long_tail"));
}

static void test_a_file_that_is_found_again_hides_nothing(void **state) {
  (void)state;
  forked(list_repeated, NULL);
}

static void check_order(void *context) {
  (void)context;
  search_in(broken_folder, false);
  const size_t count = burn_plugin_count();
  for (size_t i = 1; i < count; i++) {
    const BurnPluginInfo *a = burn_plugin_info(i - 1), *b = burn_plugin_info(i);
    CHECK(a->usable >= b->usable, "%s stands before %s", a->name, b->name);
    CHECK(a->usable != b->usable || strcmp(a->name, b->name) <= 0, "%s stands before %s", a->name, b->name);
  }
  CHECK(!burn_plugin_info(count), "there is an entry after the last");
  const BurnPluginInfo *ndarray = find("ndarray", NULL), *trace = find("trace", NULL);
  CHECK(ndarray && strcmp(ndarray->kind, "backend") == 0 && ndarray->score == 100 && ndarray->device_count == 1,
        "ndarray");
  CHECK(!ndarray->refusal[0] && !ndarray->help[0], "a usable plugin has a reason: %s", ndarray->refusal);
  CHECK(trace && strcmp(trace->kind, "decorator") == 0 && trace->usable && trace->description[0], "trace");
  check_contains(ndarray->path, good_folder);
}

static void test_the_list_is_sorted(void **state) {
  (void)state;
  forked(check_order, NULL);
}

/* Whoever sets BURN_PLUGIN_PATH is in the folder it starts from. */
static void relative_folder(void *context) {
  (void)context;
  CHECK(chdir(BURN_BUILD_DIR "/tests") == 0, "no " BURN_BUILD_DIR "/tests");
  search_in("some/where" LIST_SEPARATOR LIST_SEPARATOR "broken_plugins", true);
  CHECK(burn_plugin_place_count() == 2 && !burn_plugin_place(2), "%zu places", burn_plugin_place_count());
  const BurnPluginPlace *missing = burn_plugin_place(0), *found = burn_plugin_place(1);
  check_contains(missing->path, "/tests/some/where");
  CHECK(!missing->exists && missing->file_count == 0 && !missing->problem[0], "%s: %s", missing->path,
        missing->problem);
  check_contains(found->path, "/tests/broken_plugins");
  CHECK(strncmp(found->path, BURN_BUILD_DIR, strlen(BURN_BUILD_DIR)) == 0 && found->exists && found->file_count > 10,
        "%s: %zu", found->path, found->file_count);
  CHECK(strcmp(found->source, "BURN_PLUGIN_PATH") == 0, "%s", found->source);
  CHECK(find("mini", found->path) && find("mini", found->path)->usable, "mini was not found");
}

static void test_relative_folders_start_at_the_working_directory(void **state) {
  (void)state;
  forked(relative_folder, NULL);
}

#if !defined(_WIN32)
/* In the place of a folder. */
static void search_in_a_file(void *context) {
  char file[256];
  (void)context;
  snprintf(file, sizeof file, "%s/burn_mini" BURN_PLUGIN_SUFFIX, broken_folder);
  char places[1024];
  snprintf(places, sizeof places, "%s:/dev/null:%s/in_a_file", file, file);
  search_in(places, true);
  CHECK(burn_plugin_place_count() == 3, "%zu places", burn_plugin_place_count());
  for (size_t i = 0; i < 2; i++) {
    const BurnPluginPlace *place = burn_plugin_place(i);
    CHECK(place->exists && strcmp(place->problem, "it is a file; name its folder") == 0, "%s: '%s'", place->path,
          place->problem);
  }
  const BurnPluginPlace *absent = burn_plugin_place(2);
  CHECK(!absent->exists && !absent->problem[0], "%s: %s", absent->path, absent->problem);
}

static void test_a_file_is_no_folder(void **state) {
  (void)state;
  forked(search_in_a_file, NULL);
}
#endif

#if defined(__linux__)
/* A whole plugin, but for the number of the machine that it is for. */
static void copy_for_machine(const char *folder, unsigned char number) {
  char path[512];
  snprintf(path, sizeof path, "%s/burn_mini" BURN_PLUGIN_SUFFIX, broken_folder);
  copy_file(path, folder, "burn_mini" BURN_PLUGIN_SUFFIX);
  snprintf(path, sizeof path, "%s/burn_mini" BURN_PLUGIN_SUFFIX, folder);
  FILE *file = fopen(path, "r+b");
  assert_non_null(file);
  assert_int_equal(fseek(file, 18, SEEK_SET), 0); /* e_machine */
  assert_int_equal(fputc(number, file), number);
  assert_int_equal(fclose(file), 0);
}

static void open_foreign(void *context) {
  const char *const *arguments = context;
  search_in(arguments[0], true);
  BurnDevice *device = burn_device_open("mini");
  check_contains(burn_status_message(burn_device_status(device)), "cannot be loaded: it is built for ");
  check_contains(burn_status_message(burn_device_status(device)), arguments[1]);
  burn_device_close(device);
}

static void test_a_plugin_for_another_machine(void **state) {
  (void)state;
  static const struct {
    unsigned char number; /* of elf.h */
    const char *name;
  } machines[] = {
      {183, "AArch64, this machine is "}, {62, "x86-64, this machine is "}, {247, "another machine, this machine is "}};
  char folder[64];
  make_folder(folder);
  for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
#if defined(__x86_64__)
    if (machines[i].number == 62) continue;
#elif defined(__aarch64__)
    if (machines[i].number == 183) continue;
#else
    continue;
#endif
    copy_for_machine(folder, machines[i].number);
    forked(open_foreign, (const void *[]){folder, machines[i].name});
    remove_file(folder, "burn_mini" BURN_PLUGIN_SUFFIX);
  }
  rmdir(folder);
}
#endif

static void add_by_path(void *context) {
  (void)context;
  search_in(NO_FOLDER, false);
  char path[512];
  BurnStatus status = burn_plugin_add("burn_mini" BURN_PLUGIN_SUFFIX);
  CHECK(burn_status_code(status) == BURN_STATUS_INVALID_ARGUMENT, "relative: %s", burn_status_message(status));
  snprintf(path, sizeof path, "%s/burn_absent" BURN_PLUGIN_SUFFIX, broken_folder);
  status = burn_plugin_add(path);
  CHECK(burn_status_code(status) == BURN_STATUS_NOT_FOUND, "absent: %s", burn_status_message(status));
  check_contains(burn_status_message(status), "plugin_add: there is no file '");
  snprintf(path, sizeof path, "%s/burn_mini" BURN_PLUGIN_SUFFIX, broken_folder);
  status = burn_plugin_add(path);
  CHECK(status == BURN_OK, "%s", burn_status_message(status));
  BurnDevice *device = burn_device_open("mini");
  CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
  status = burn_plugin_add(path);
  CHECK(burn_status_code(status) == BURN_STATUS_FAILED_PRECONDITION, "too late: %s", burn_status_message(status));
  burn_device_close(device);
}

static void test_plugin_add(void **state) {
  (void)state;
  forked(add_by_path, NULL);
}

static void without_autodiff(void *context) {
  search_in(context, true);
  BurnDevice *device = burn_device_open_training("ndarray");
  const BurnStatus status = burn_device_status(device);
  CHECK(burn_status_code(status) == BURN_STATUS_NOT_FOUND, "%s", burn_status_message(status));
  check_contains(burn_status_message(status), "there is no decorator 'autodiff'");
  check_contains(burn_status_message(status), context);
  burn_device_close(device);
  device = burn_device_open("ndarray");
  CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
  BurnTensor *x = burn_require_grad(burn_ones(device, BURN_SHAPE(1), BURN_DTYPE_F32));
  CHECK(burn_status_code(burn_tensor_status(x)) == BURN_STATUS_NO_AUTODIFF, "%s",
        burn_status_message(burn_tensor_status(x)));
  burn_drop(x);
  burn_device_close(device);
}

static void test_training_without_the_autodiff_plugin(void **state) {
  (void)state;
  char folder[64], path[512];
  make_folder(folder);
  snprintf(path, sizeof path, "%s/burn_ndarray" BURN_PLUGIN_SUFFIX, good_folder);
  copy_file(path, folder, "burn_ndarray" BURN_PLUGIN_SUFFIX);
  forked(without_autodiff, folder);
  remove_file(folder, "burn_ndarray" BURN_PLUGIN_SUFFIX);
  rmdir(folder);
}

/* -- good plugins of a third party ------------------------------------------------------------ */

static void check_close(BurnTensor *x, const float *expected, size_t count, const char *what) {
  float found[16];
  const BurnStatus status = burn_read_f32(x, found, count);
  CHECK(status == BURN_OK, "%s: %s", what, burn_status_message(status));
  for (size_t i = 0; i < count; i++) {
    const double difference = (double)found[i] - (double)expected[i];
    CHECK(difference < 1e-5 && difference > -1e-5, "%s: element %zu is %g, expected %g", what, i, (double)found[i],
          (double)expected[i]);
  }
}

/* Composite ops on a backend that has none of them. */
static void check_decompositions(BurnDevice *device) {
  const float values[] = {-1, 0, 2, 3, -4, 0.5f};
  BurnTensor *x = burn_tensor_f32(device, values, BURN_SHAPE(2, 3));
  BurnTensor *ones = burn_ones(device, BURN_SHAPE(3), BURN_DTYPE_F32);
  check_close(burn_relu(burn_clone(x)), (float[]){0, 0, 2, 3, 0, 0.5f}, 6, "relu");
  check_close(burn_sigmoid(burn_clone(x)),
              (float[]){0.26894143f, 0.5f, 0.8807971f, 0.95257413f, 0.01798621f, 0.62245935f}, 6, "sigmoid");
  check_close(burn_mean(burn_clone(x)), (float[]){0.0833333f}, 1, "mean");
  check_close(burn_softmax(burn_clone(x), -1),
              (float[]){0.04201007f, 0.11419519f, 0.8437947f, 0.9233637f, 0.000841999f, 0.0757943f}, 6, "softmax");
  check_close(burn_layer_norm(burn_clone(x), ones, NULL, 1e-5),
              (float[]){-1.0690416f, -0.2672604f, 1.336302f, 1.0933265f, -1.3235005f, 0.230174f}, 6, "layer_norm");
  check_close(burn_matmul(burn_clone(x), burn_reshape(burn_clone(x), BURN_SHAPE(3, 2))), (float[]){-7, 1, -13, -11.75f},
              4, "matmul");
  BurnTensor *missing = burn_tanh(burn_clone(x));
  check_contains(burn_status_message(burn_tensor_status(missing)), "tanh: backend '");
  check_contains(burn_status_message(burn_tensor_status(missing)), "has no kernel for it, and it has no decomposition");
  burn_drop(missing);
  BurnTensor *wide = burn_unsqueeze(burn_clone(x), 3); /* two calls that both name x must not share an expression */
  missing = burn_matmul(wide, burn_unsqueeze(x, 3));
  CHECK(burn_tensor_status(missing) != BURN_OK, "shapes do not fit");
  burn_drop(missing);
  missing = burn_matmul(burn_ones(device, BURN_SHAPE(1, 2, 2), BURN_DTYPE_F32),
                        burn_ones(device, BURN_SHAPE(1, 2, 2), BURN_DTYPE_F32));
  check_contains(burn_status_message(burn_tensor_status(missing)), "only matrices, no batches");
  burn_drop(missing);
  CHECK(burn_device_memory(device).live_tensors == 0, "%lld tensors are left",
        (long long)burn_device_memory(device).live_tensors);
  CHECK(burn_device_memory(device).bytes_peak == -1, "the backend does not answer that query");
}

static void use_third_party(void *context) {
  const char *name = context;
  char stack[64];
  search_in(broken_folder, false);
  const BurnPluginInfo *info = find(name, NULL);
  CHECK(info && info->usable, "%s", info ? info->reason : "not found");
  CHECK(strcmp(info->version, "3.1.4") == 0 && info->device_count == 1 && strcmp(info->devices[0], "mini device") == 0,
        "%s", info->version);
  BurnDevice *device = burn_device_open(name);
  CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
  check_decompositions(device);
  burn_device_close(device);
  snprintf(stack, sizeof stack, "autodiff<%s>", name);
  device = burn_device_open(stack);
  CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
  check_decompositions(device);
  BurnTensor *x = burn_require_grad(burn_tensor_f32(device, (float[]){1, -2, 3}, BURN_SHAPE(3)));
  BurnGradients *gradients = NULL;
  const BurnStatus status = burn_backward(burn_mul(burn_clone(x), burn_clone(x)), &gradients);
  CHECK(status == BURN_OK, "%s", burn_status_message(status));
  check_close(burn_grad(x, gradients), (float[]){2, -4, 6}, 3, "gradient");
  burn_gradients_drop(gradients);
  burn_drop(x);
  burn_device_close(device);
  check_ndarray_works();
}

static void test_a_small_backend_carries_composite_ops(void **state) {
  (void)state;
  forked(use_third_party, (void *)(uintptr_t) "mini");
}

static void test_structs_with_a_longer_tail(void **state) {
  (void)state;
  forked(use_third_party, (void *)(uintptr_t) "long_tail");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_fault_has_its_reason),
    cmocka_unit_test(test_faults_one_by_one),
    cmocka_unit_test(test_a_missing_function_is_found_by_opening),
    cmocka_unit_test(test_an_unknown_answer_of_op_support),
    cmocka_unit_test(test_files_that_are_no_plugins),
    cmocka_unit_test(test_a_folder_that_anybody_can_write),
#if !defined(_WIN32)
    cmocka_unit_test(test_whoever_could_replace_a_plugin_is_looked_for),
    cmocka_unit_test(test_plugins_are_those_beside_the_library_as_it_was_loaded),
    cmocka_unit_test(test_the_library_can_be_closed_and_loaded_again),
    cmocka_unit_test(test_a_privileged_program_reads_no_burn_json_here),
    cmocka_unit_test(test_a_privileged_program_loads_no_library_of_its_caller),
    cmocka_unit_test(test_a_privileged_program_takes_no_folder_of_its_caller),
    cmocka_unit_test(test_a_file_is_no_folder),
    cmocka_unit_test(test_a_plugin_that_calls_burn_while_it_is_loaded),
#endif
#if defined(__linux__)
    cmocka_unit_test(test_what_is_refused_stays_loaded),
    cmocka_unit_test(test_a_plugin_for_another_machine),
#endif
    cmocka_unit_test(test_the_first_of_a_name_wins),
    cmocka_unit_test(test_a_file_that_is_found_again_hides_nothing),
    cmocka_unit_test(test_the_list_is_sorted),
    cmocka_unit_test(test_relative_folders_start_at_the_working_directory),
    cmocka_unit_test(test_plugin_add),
    cmocka_unit_test(test_training_without_the_autodiff_plugin),
    cmocka_unit_test(test_a_small_backend_carries_composite_ops),
    cmocka_unit_test(test_structs_with_a_longer_tail),
  };
  return cmocka_run_group_tests_name("plugin loader", tests, NULL, NULL);
}
