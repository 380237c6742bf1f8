/* windows_plugins_test.c - what plugins are to Windows alone: drives in paths, backslashes, DLLs that they need. */
#include "forked.h"

#include <windows.h>

static const char lacking_folder[] = BURN_BUILD_DIR "/tests/lacking_plugins";
static const char absent_dll[] = BURN_BUILD_DIR "/tests/absent/libabsent.dll";

static void search_in(const char *folder) {
  setenv("BURN_PLUGIN_PATH", folder, 1);
  setenv("BURN_PLUGIN_PATH_ONLY", "1", 1);
}

static void open_lacking(void *context) {
  search_in(context);
  BurnDevice *device = burn_device_open("lacking");
  check_contains(burn_status_message(burn_device_status(device)),
                 "cannot be loaded: it needs libabsent.dll, which is neither in its folder nor in the system's");
  burn_device_close(device);
}

static void test_a_missing_dll_is_named(void **state) {
  (void)state;
  forked(open_lacking, (void *)(uintptr_t)lacking_folder);
}

/* The DLL beside the plugin is found, and stays with the plugin until the process ends. */
static void open_complete(void *context) {
  search_in(context);
  BurnDevice *device = burn_device_open("lacking");
  CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
  burn_device_close(device);
  HMODULE plugin = GetModuleHandleA("burn_lacking.dll");
  CHECK(plugin, "the plugin is gone");
  for (int i = 0; i < 8; i++) FreeLibrary(plugin);
  CHECK(GetModuleHandleA("burn_lacking.dll"), "the plugin can be unloaded");
}

static void test_dlls_beside_the_plugin_are_found(void **state) {
  (void)state;
  char folder[64], path[512];
  make_folder(folder);
  snprintf(path, sizeof path, "%s/burn_lacking.dll", lacking_folder);
  copy_file(path, folder, "burn_lacking.dll");
  copy_file(absent_dll, folder, "libabsent.dll");
  forked(open_complete, folder);
  remove_file(folder, "burn_lacking.dll");
  remove_file(folder, "libabsent.dll");
  rmdir(folder);
}

/* Neither the current folder nor PATH is asked for a plugin's DLLs: whoever may write there would run code here. */
static void open_near_the_dll(void *context) {
  CHECK(chdir(BURN_BUILD_DIR "/tests/absent") == 0, "no folder of the DLL");
  setenv("PATH", BURN_BUILD_DIR "/tests/absent", 1);
  open_lacking(context);
}

static void test_the_current_folder_is_not_searched(void **state) {
  (void)state;
  forked(open_near_the_dll, (void *)(uintptr_t)lacking_folder);
}

static void test_absolute_paths(void **state) {
  (void)state;
  static const char *const relative[] = {"burn_x.dll",   "/burn_x.dll",     "\\burn_x.dll",
                                         "C:burn_x.dll", "x/C:/burn_x.dll", ""};
  static const char *const absolute[] = {"C:/no/burn_x.dll", "c:\\no\\burn_x.dll", "\\\\server\\share\\burn_x.dll"};
  for (size_t i = 0; i < sizeof relative / sizeof relative[0]; i++) {
    assert_int_equal(burn_status_code(burn_plugin_add(relative[i])), BURN_STATUS_INVALID_ARGUMENT);
  }
  for (size_t i = 0; i < sizeof absolute / sizeof absolute[0]; i++)
    assert_int_not_equal(burn_status_code(burn_plugin_add(absolute[i])), BURN_STATUS_INVALID_ARGUMENT);
}

/* Backslashes in the environment, a drive letter in an option. */
static void open_with_backslashes(void *context) {
  char path[512];
  snprintf(path, sizeof path, "%s", lacking_folder);
  for (char *at = path; *at; at++) {
    if (*at == '/') *at = '\\';
  }
  (void)context;
  search_in(path);
  unsetenv("BURN_PLUGIN_PATH_ONLY");
  BurnDevice *device = burn_device_open("trace:file=C:\\no\\such\\folder\\trace.txt:format=count<ndarray>");
  const char *message = burn_status_message(burn_device_status(device));
  check_contains(message, "cannot write file 'C:\\no\\such\\folder\\trace.txt'");
  burn_device_close(device);
  CHECK(strcmp(burn_plugin_search_path()[0], path) == 0, "%s", burn_plugin_search_path()[0]);
  CHECK(burn_plugin_place(0)->file_count == 1, "%zu files", burn_plugin_place(0)->file_count);
}

static void test_backslashes_and_drives(void **state) {
  (void)state;
  forked(open_with_backslashes, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_missing_dll_is_named),
      cmocka_unit_test(test_dlls_beside_the_plugin_are_found),
      cmocka_unit_test(test_the_current_folder_is_not_searched),
      cmocka_unit_test(test_backslashes_and_drives),
      cmocka_unit_test(test_absolute_paths),
  };
  return cmocka_run_group_tests_name("plugins on Windows", tests, NULL, NULL);
}
