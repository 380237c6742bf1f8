/* static_plugins_test.c - a plugin linked into the program comes first and works like a loaded one. */
#include <burn/burn.h>
#include <burn/plugin/plugin.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* The entry of decorators/trace, which is compiled into this program under that name (CMakeLists.txt). */
const BurnPlugin *BURN_API_CALL trace_query(const BurnHostInfo *query);

/* Two that cannot be used, and are refused as files would be. */
static const BurnPlugin *BURN_API_CALL no_plugin(const BurnHostInfo *query) {
  (void)query;
  return NULL;
}
static const BurnPlugin *BURN_API_CALL old_plugin(const BurnHostInfo *query) {
  (void)query;
  static const BurnPlugin descriptor = {
      .struct_size = sizeof descriptor, .abi_major = BURN_ABI_MAJOR + 1, .name = "old"};
  return &descriptor;
}

/* The list that a static build generates. The program exports it, so that libburn sees it (ENABLE_EXPORTS). */
BURN_EXPORT extern const BurnPluginQuery burn_static_plugins[];
const BurnPluginQuery burn_static_plugins[] = {trace_query, no_plugin, old_plugin, NULL};

static const BurnPluginInfo *find(const char *name, bool usable) {
  for (size_t i = 0; i < burn_plugin_count(); i++) {
    const BurnPluginInfo *info = burn_plugin_info(i);
    if (strcmp(info->name, name) == 0 && info->usable == usable) return info;
  }
  return NULL;
}

static void the_linked_in_one_wins(void **state) {
  (void)state;
  const BurnPluginInfo *linked = find("trace", true), *file = find("trace", false);
  assert_non_null(linked);
  assert_string_equal(linked->path, "linked in");
  assert_non_null(file);
  assert_non_null(strstr(file->reason, "hidden by the one linked in"));
}

static void broken_ones_are_refused(void **state) {
  (void)state;
  const BurnPluginInfo *none = find("?", false), *old = find("old", false);
  assert_non_null(none);
  assert_string_equal(none->reason, "its entry function returned no descriptor");
  assert_non_null(old);
  assert_non_null(strstr(old->reason, "it is built for plugin ABI"));
  BurnDevice *device = burn_device_open("old");
  assert_non_null(
      strstr(burn_status_message(burn_device_status(device)), "plugin 'old' (linked in) was refused: it is built for"));
  burn_device_close(device);
}

static void it_runs(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("trace:format=count,file=/dev/null+ndarray");
  assert_string_equal(burn_status_message(burn_device_status(device)), "ok");
  double sum = 0;
  assert_int_equal(burn_read_scalar(burn_sum(burn_ones(device, BURN_SHAPE(2, 3), BURN_DTYPE_F32)), &sum), BURN_OK);
  assert_true(sum == 6);
  burn_device_close(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_linked_in_one_wins),
                                     cmocka_unit_test(broken_ones_are_refused), cmocka_unit_test(it_runs)};
  return cmocka_run_group_tests_name("static_plugins", tests, NULL, NULL);
}
