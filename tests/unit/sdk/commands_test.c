/* commands_test.c - the burn command as people and scripts call it: doctor, ops and new, their output and exit status.
 */
#define _GNU_SOURCE /* popen, mkdtemp */
#include "emulated.h"
#include "sanitized.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/burn.h>
#include <burn/nn.h>
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_BYTES = 1 << 20 };
static char output[OUTPUT_BYTES];

/* Runs a shell command with burn in the path and no settings of the user; its output, stderr too, goes to `output`. */
static int run(const char *command) {
  char line[2048];
  snprintf(line, sizeof line,
           "{ unset BURN_BACKEND BURN_PLUGIN_PATH BURN_PLUGIN_PATH_ONLY; XDG_CONFIG_HOME=/nonexistent "
           "PATH='%s/bin':\"$PATH\"; "
           "export XDG_CONFIG_HOME; %s; } 2>&1",
           BURN_BUILD_DIR, command);
  FILE *stream = popen(line, "r");
  assert_non_null(stream);
  output[fread(output, 1, OUTPUT_BYTES - 1, stream)] = '\0';
  const int status = pclose(stream);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void expect_run(const char *command, int status, const char *part) {
  const int ended = run(command);
  if (ended != status || !strstr(output, part))
    fail_msg("'%s' ended with %d, without '%s':\n%s", command, ended, part, output);
}

static cJSON *run_json(const char *command, int status) {
  expect_run(command, status, "{");
  cJSON *tree = cJSON_Parse(output);
  if (!tree) fail_msg("'%s' printed no JSON:\n%s", command, output);
  return tree;
}

static const cJSON *get(const cJSON *object, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
  if (!item) fail_msg("there is no '%s'", key);
  return item;
}

static void expect_text(const cJSON *object, const char *key, const char *value) {
  const char *text = cJSON_GetStringValue(get(object, key));
  if (!text || strcmp(text, value) != 0) fail_msg("'%s' is '%s', expected '%s'", key, text ? text : "(none)", value);
}

/* The entry of a list whose `key` is `value`. */
static const cJSON *entry(const cJSON *list, const char *key, const char *value) {
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    if (strcmp(cJSON_GetStringValue(get(item, key)), value) == 0) return item;
  }
  fail_msg("no entry has %s '%s'", key, value);
  return NULL;
}

/* -- doctor ----------------------------------------------------------------------------------- */

static void test_doctor_says_what_would_be_chosen(void **state) {
  (void)state;
  cJSON *root = run_json("burn doctor --json --need train,f32", 0);
  const cJSON *choice = get(root, "choice"), *machine = get(root, "machine");
  expect_text(choice, "stack", "ndarray");
  expect_text(choice, "source", "the highest score");
  expect_text(choice, "opened", "autodiff<ndarray>");
  assert_true(cJSON_IsTrue(get(choice, "suits")) && cJSON_IsTrue(get(choice, "autodiff_added")));
  assert_true(cJSON_IsTrue(get(entry(get(choice, "candidates"), "name", "ndarray"), "suits")));
  assert_true(cJSON_GetNumberValue(get(machine, "threads")) >= 1);
  assert_true(cJSON_IsNull(get(entry(get(root, "environment"), "name", "BURN_BACKEND"), "value")));
  const cJSON *place = entry(get(root, "places"), "source", "beside libburn");
  assert_true(cJSON_IsTrue(get(place, "exists")) && cJSON_GetNumberValue(get(place, "files")) >= 3);
  assert_true(cJSON_GetArraySize(get(root, "settings")) == 3);
  cJSON_Delete(root);
}

static void test_doctor_says_the_reason(void **state) {
  (void)state;
  cJSON *root = run_json("BURN_PLUGIN_PATH=" BURN_BUILD_DIR "/tests/broken_plugins burn doctor --json", 0);
  const cJSON *plugin = entry(get(root, "plugins"), "name", "old_minor");
  assert_true(cJSON_IsFalse(get(plugin, "usable")));
  expect_text(plugin, "refusal", "abi_too_old");
  expect_text(plugin, "help", "rebuild the plugin with the headers of this version");
  assert_non_null(strstr(cJSON_GetStringValue(get(plugin, "reason")), "and serves none before"));
  expect_text(entry(get(root, "plugins"), "name", "pack_foreign"), "refusal", "bad_ops");
  expect_text(entry(get(root, "plugins"), "name", "pack"), "kind", "kernel pack");
  cJSON_Delete(root);
}

/* A backend that lacks what is needed: the exit status says so, and the message names both. */
static void test_doctor_fails_when_the_need_is_not_met(void **state) {
  (void)state;
  expect_run("BURN_PLUGIN_PATH=" BURN_BUILD_DIR "/tests/broken_plugins BURN_BACKEND=mini burn doctor --need f64", 1,
             "PROBLEM: mini cannot compute in f64");
  assert_non_null(strstr(output, "stack 'mini', chosen by BURN_BACKEND"));
  expect_run("BURN_PLUGIN_PATH=" BURN_BUILD_DIR "/tests/broken_plugins burn doctor --stack autodiff+mini", 1,
             "primitive ops, 'arange' among them: 'burn ops --stack mini' shows what is MISSING");
  expect_run("burn doctor --stack nosuch", 1, "PROBLEM: there is no backend 'nosuch'");
  expect_run("burn doctor --need speed", 2, "the need 'speed' is unknown; it is train, infer, or a dtype such as f16");
}

/* The files that plugins would open: the loader of Vulkan tells its version, and a variable names another one. */
static void test_doctor_names_drivers(void **state) {
  (void)state;
  cJSON *root = run_json("burn doctor --json", 0);
  const cJSON *vulkan = entry(get(root, "drivers"), "name", "Vulkan loader");
  expect_text(vulkan, "library", "libvulkan.so.1");
  const char *version = cJSON_GetStringValue(get(vulkan, "version"));
  assert_true(cJSON_IsTrue(get(vulkan, "found")) ? version[0] == '1' && version[1] == '.' : version[0] == '\0');
  cJSON_Delete(root);
  expect_run("BURN_VULKAN_LOADER=/nowhere/libvulkan.so burn doctor", 0,
             "Vulkan loader  not found (/nowhere/libvulkan.so) for Vulkan devices");
  /* Looking at a library that crashes, or at OpenBLAS with little memory, ends a process of its own. A sanitizer makes an
   * exit of a crash, and needs more addresses than that. */
  expect_run("BURN_VULKAN_LOADER=" BURN_BUILD_DIR "/tests/hostile_plugins/burn_crash_constructor.so burn doctor", 0,
             "burn_crash_constructor.so: it ");
#if !defined(SANITIZED)
  expect_run("ulimit -v 120000; timeout 60 burn doctor", 0, "OpenBLAS");
#endif
}

static void test_doctor_reads_settings(void **state) {
  (void)state;
  char folder[] = "/tmp/burn_commands_XXXXXX", command[512];
  assert_non_null(mkdtemp(folder));
  snprintf(command, sizeof command, "cd %s; echo '{\"backend\": \"trace+ndarray\"}' >burn.json; burn doctor --json",
           folder);
  cJSON *root = run_json(command, 0);
  const cJSON *file = entry(get(root, "settings"), "path", "burn.json");
  assert_true(cJSON_IsTrue(get(file, "exists")));
  expect_text(file, "backend", "trace+ndarray");
  expect_text(get(root, "choice"), "source", "burn.json");
  expect_text(get(root, "choice"), "opened", "trace<ndarray>");
  cJSON_Delete(root);
  snprintf(command, sizeof command, "cd %s; echo '{\"backend\": ' >burn.json; burn doctor", folder);
  expect_run(command, 1, "problem: settings 'burn.json': no JSON object");
  snprintf(command, sizeof command,
           "cd %s; echo '{\"backend\": \"reference\", \"backend\": \"ndarray\"}' >burn.json; burn doctor", folder);
  expect_run(command, 1, "problem: settings 'burn.json': \"backend\" stands twice");
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(run(command), 0);
}

/* What a settings file says without effect is told, once, with what was meant. */
static void test_settings_without_effect_are_told(void **state) {
  (void)state;
  static const char *const rows[][3] = {
      {"burn.json", "{\"bakend\": \"reference\"}",
       "'burn.json': there is no \"bakend\" in settings, it is ignored. Did you mean 'backend'?\n"},
      {"burn.json", "{\"plugin_path\": [\"/opt\"]}",
       "'burn.json': \"plugin_path\" is ignored in a file of the working directory, which may come from anybody."},
      {"burn/burn.json", "{\"plugin_path\": \"/opt\"}",
       "burn/burn.json': \"plugin_path\" must be a list of folders such as [\"/opt/plugins\"]\n"},
      {"burn/burn.json", "{\"plugin_path\": [\"/opt\", 7]}", "\"plugin_path\" must be a list of folders"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char folder[] = "/tmp/burn_commands_XXXXXX", command[512];
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command,
             "cd %s; mkdir burn; echo '%s' >%s; XDG_CONFIG_HOME=%s burn backends >/dev/null; "
             "XDG_CONFIG_HOME=%s burn doctor; rm -r %s",
             folder, rows[i][1], rows[i][0], folder, folder, folder);
    expect_run(command, 0, rows[i][2]);
    expect_run("burn doctor", 0, "backend");
    assert_null(strstr(output, "ignored"));
  }
  /* A file of which only the folders are asked for. */
  expect_run(
      "f=$(mktemp -d); mkdir $f/burn; echo '{\"plugin_pth\": []}' >$f/burn/burn.json; "
      "XDG_CONFIG_HOME=$f BURN_BACKEND=ndarray burn backends; rm -r $f",
      0, "there is no \"plugin_pth\" in settings, it is ignored. Did you mean 'plugin_path'?\n");
}

/* -- ops -------------------------------------------------------------------------------------- */

static void expect_route(const cJSON *op, int level, const char *label, const char *route) {
  const cJSON *entry_of_level = cJSON_GetArrayItem(get(op, "levels"), level);
  assert_non_null(entry_of_level);
  expect_text(entry_of_level, "level", label);
  const cJSON *item;
  cJSON_ArrayForEach(item, get(entry_of_level, "routes")) {
    if (strcmp(cJSON_GetStringValue(item), route) == 0) return;
  }
  if (strcmp(route, "") == 0 && cJSON_GetArraySize(get(entry_of_level, "routes")) == 0) return;
  fail_msg("level %s does not run the op as '%s'", label, route);
}

/* mini has some kernels, one of them for some calls, and lacks primitives. */
static void test_ops_shows_every_route(void **state) {
  (void)state;
  cJSON *root =
      run_json("BURN_PLUGIN_PATH=" BURN_BUILD_DIR "/tests/broken_plugins burn ops --json --stack 'autodiff<mini>'", 0);
  const cJSON *ops = get(root, "ops");
  expect_text(root, "stack", "autodiff<mini>");
  expect_route(entry(ops, "name", "add"), 0, "autodiff", "native");
  expect_route(entry(ops, "name", "add"), 1, "mini", "native");
  expect_route(entry(ops, "name", "matmul"), 1, "mini", "sometimes");
  expect_route(entry(ops, "name", "mean"), 1, "mini", "decomposed");
  expect_route(entry(ops, "name", "sin"), 1, "mini", "");
  expect_route(entry(ops, "name", "silu"), 0, "autodiff", "decomposed");
  expect_route(entry(ops, "name", "pack.scaled_add"), 1, "mini", "pack");
  expect_route(entry(ops, "name", "pack.triple"), 1, "mini", "decomposed");
  cJSON_Delete(root);
}

static void test_ops_tells_of_one(void **state) {
  (void)state;
  expect_run("burn ops --op conv2d --stack 'autodiff<ndarray>'", 0,
             "attributes  stride: ints = 1, padding: ints = 0, dilation: ints = 1, groups: int = 1");
  assert_non_null(strstr(output, "inputs      x, weight, bias?"));
  assert_non_null(strstr(output, "  ndarray: native\n"));
  expect_run("burn ops --op nosuch", 1, "there is no op 'nosuch'");
  expect_run("burn ops --stack nosuch", 1, "there is no backend 'nosuch'");
  expect_run("burn ops --op softmax", 0, "family      activation\n");
  expect_run("burn ops", 0, " 0 missing\n");
}

/* By the column `family`, not by number: those of softmax and its gradient lie in different blocks. */
static void test_ops_are_listed_by_family(void **state) {
  (void)state;
  expect_run("burn ops --stack ndarray", 0, "\nActivations\n");
  const char *begin = strstr(output, "\nActivations\n"), *end = strstr(output, "\nConvolutions\n");
  const char *inside[] = {"\nsoftmax ", "\nrelu ", "\nlog_softmax_backward ", "\ndropout "};
  for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
    const char *line = strstr(output, inside[i]);
    if (!begin || !end || !line || line < begin || line > end)
      fail_msg("%s is not among Activations:\n%s", inside[i], output);
  }
  assert_null(strstr(output, "\nFurther ops\n"));
  cJSON *root = run_json("burn ops --json --op cumsum --stack ndarray", 0);
  const cJSON *op = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "ops"), 0);
  assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(op, "family")), "scan");
  cJSON_Delete(root);
}

/* -- new, and the rest ------------------------------------------------------------------------- */

static void test_new_refuses_bad_names(void **state) {
  (void)state;
  expect_run("burn new backend Demo", 2, "the name 'Demo' must start with a letter a-z");
  expect_run("burn new backend 2d", 2, "must start with a letter a-z");
  expect_run("burn new backend de-mo", 2, "may have only a-z, 0-9 and _");
  expect_run("burn new backend demo_", 2, "may not end with _");
  expect_run("burn new backend abcdefghijklmnopqrstuvwxyzabcdefg", 2, "is longer than 32 letters");
  expect_run("burn new backend burn_demo", 2, "must not be Burn's own prefix");
  expect_run("burn new decorator trace", 2, "the name 'trace' is taken by ");
  expect_run("burn new plugin demo", 2, "there is no template 'plugin'");
  expect_run("burn new backend int", 2, "the name 'int' is a word of C or C++");
  expect_run("burn new backend nullptr", 2, "the name 'nullptr' is a word of C or C++");
  expect_run("burn new backend memcpy", 2,
             "the name 'memcpy' is a word that the sources of a new backend use for something else");
  expect_run("burn new decorator host", 2, "the name 'host' is a word that the sources of a new decorator use");
  expect_run("burn new kernels shape", 2, "the name 'shape' is a word that the sources of a new kernel pack use");
  expect_run("burn new backend", 2, "usage: burn new");
  expect_run("burn new --help", 0, "--lang LANG            c; a backend also in cpp or rust (c)");
  expect_run("burn new backend demo --lang go", 2,
             "there is no backend template in 'go'; there is: --lang c --lang cpp --lang rust");
  expect_run("burn new decorator demo --lang cpp", 2, "there is no decorator template in 'cpp'; there is: --lang c\n");
  expect_run("burn new kernels demo --lang rust", 2,
             "there is no kernel pack template in 'rust'; there is: --lang c\n");
  expect_run("burn new app step", 2, "the name 'step' is a word that the sources of a new program use");
  static const char *const targets[] = {"all",        "clean", "codegen", "edit_cache",     "help",         "install",
                                        "preinstall", "test",  "package", "package_source", "rebuild_cache"};
  for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
    char command[64], problem[96];
    snprintf(command, sizeof command, "burn new app %s", targets[i]);
    snprintf(problem, sizeof problem, "the name '%s' is a target that CMake has itself", targets[i]);
    expect_run(command, 2, problem);
  }
  expect_run("cd / && burn new backend demo --dir /proc", 1, "'/proc' exists and is not empty");
  expect_run("burn new backend demo --dir /nonexistent/demo", 1, "cannot make the folder '/nonexistent/demo'");
}

/* Names that look like trouble are refused, or what is written out compiles. */
static void test_new_names_compile(void **state) {
  (void)state;
  static const char *const names[] = {"status", "call",  "self",  "data",  "index", "x",      "size_t",
                                      "memcpy", "run",   "row",   "value", "op",    "tensor", "backend",
                                      "plugin", "dtype", "host",  "burn",  "errno", "linux",  "exit",
                                      "log",    "test",  "float", "stdin", "fail",  "string", "demo"};
  char folder[] = "/tmp/burn_commands_XXXXXX", command[1200];
  assert_non_null(mkdtemp(folder));
  size_t accepted = 0;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    snprintf(command, sizeof command, "burn new backend %s --dir %s/%s", names[i], folder, names[i]);
    const int ended = run(command);
    if (ended == 2) continue;
    assert_int_equal(ended, 0);
    accepted++;
    snprintf(command, sizeof command,
             "cd %s/%s && for f in *.c; do '%s' -std=c11 -fsyntax-only -I'%s/plugin-api/include' -I'%s/core/include' "
             "-I'%s/plugins/common/include' $f || exit 1; done",
             folder, names[i], BURN_TEST_COMPILER, BURN_SOURCE_DIR, BURN_SOURCE_DIR, BURN_SOURCE_DIR);
    if (run(command) != 0) fail_msg("'%s' was accepted and does not compile:\n%.2000s", names[i], output);
  }
  assert_true(accepted >= 3);
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(run(command), 0);
}

/* A killed `burn conform` takes its children along: all that hold the pipe are gone soon after. */
static void test_conform_ends_with_its_children(void **state) {
  (void)state;
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  const pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    const int nowhere = open("/dev/null", O_WRONLY);
    close(ends[0]);
    if (dup2(nowhere, STDOUT_FILENO) < 0 || dup2(nowhere, STDERR_FILENO) < 0) _exit(1);
    execl(BURN_BUILD_DIR "/bin/burn", "burn", "conform", "autodiff<ndarray>", "--level", "full", (char *)NULL);
    _exit(1);
  }
  close(ends[1]);
  struct pollfd end = {.fd = ends[0], .events = POLLIN};
  assert_int_equal(poll(&end, 1, 1500), 0); /* it works, and so does the child that runs the cases */
  assert_int_equal(kill(pid, SIGKILL), 0);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  const int gone = poll(&end, 1, 3000);
  close(ends[0]);
  assert_int_equal(gone, 1);
}

static void test_the_table_of_commands(void **state) {
  (void)state;
  expect_run("burn", 2, "usage: burn COMMAND");
  expect_run("burn nosuch", 2, "there is no command 'nosuch'");
  expect_run("burn doctr", 2, "there is no command 'doctr'. Did you mean 'doctor'?");
  expect_run("burn conform nosuch", 2, "burn conform: there is no plugin 'nosuch'. 'burn backends' shows");
  expect_run("burn conform /etc/passwd", 2, "burn conform: '/etc/passwd' is not a path of a file burn_NAME.so\n");
  expect_run("burn conform 'trace:format=count,file=/dev/null<ndarray>' --op add --check laws", 0, "40 passed");
  expect_run("burn conform 'autodif<ndarray>'", 2, "there is no plugin 'autodif'. Did you mean 'autodiff'?");
  expect_run("burn conform ' autodiff < ndarray >' --op add --check laws", 0, "passed: 40 cases, 40 passed");
  expect_run("burn conform ndarray --against referenc", 2, "there is no plugin 'referenc'. Did you mean 'reference'?");
  expect_run("burn conform ndarray --op relu --timeout 0", 2, "burn conform: --timeout 0: 1 second or more expected");
  expect_run("burn conform --fuzz 1 ndarray reference --patience 0", 2, "--patience 0: 1 second or more expected");
  expect_run("burn help", 0, "doctor");
  expect_run("burn backends", 0, "format=text|count|chrome (default text): a line per op");
  expect_run("burn backends --json", 0, "\"key\":\t\"memory_limit\"");
  expect_run("burn doctor --help", 0, "--need N");
  expect_run("burn version", 0, "plugin ABI ");
  expect_run("burn --version", 0, "plugin ABI ");
  expect_run("BURN_GUARD=1 BURN_BACKENDS=x BURN_LONGER=1 burn doctor", 0,
             "BURN_GUARD             '1'  (no program reads it. Did you mean BURN_GUARDS?)");
  assert_non_null(strstr(output, "BURN_BACKENDS          'x'  (no program reads it. Did you mean BURN_BACKEND?)"));
  assert_null(strstr(output, "BURN_LONGER"));
  expect_run("burn version --json", 0, "\"abi\":\t\"");
  expect_run("burn help inspect", 0, "usage: burn inspect FILE");
  expect_run("burn help doctr", 2, "there is no command 'doctr'. Did you mean 'doctor'?");
  expect_run("burn version --nosuch", 2, "burn version: there is no option '--nosuch'. See --help");
}

/* -- inspect ---------------------------------------------------------------------------------- */

static BurnValue *inspected(BurnDevice *device) {
  const float mixed[] = {1, NAN, 3, 5}, far[] = {-INFINITY, 0}, none[1] = {0};
  char id[14];
  BurnValue *map = burn_value_map(), *param = burn_value_map();
  burn_param_id_text(1, id);
  assert_true(burn_value_set(param, "id", burn_value_text(id)));
  assert_true(burn_value_set(param, "param", burn_value_tensor(burn_tensor_f32(device, mixed, BURN_SHAPE(2, 2)))));
  assert_true(burn_value_set(map, "layers.0.weight", param));
  assert_true(burn_value_set(map, "far", burn_value_tensor(burn_tensor_f32(device, far, BURN_SHAPE(2)))));
  assert_true(burn_value_set(
      map, "on",
      burn_value_tensor(burn_tensor_from(device, (bool[]){true, false, true}, BURN_DTYPE_BOOL, BURN_SHAPE(3)))));
  assert_true(burn_value_set(map, "zero", burn_value_tensor(burn_tensor_f32(device, none, BURN_SHAPE(0)))));
  assert_true(burn_value_set(map, "step", burn_value_int(7)));
  return map;
}

static void expect_number(const cJSON *object, const char *key, double value) {
  const double found = cJSON_GetNumberValue(get(object, key));
  if (!(fabs(found - value) <= 1e-12)) fail_msg("'%s' is %g, expected %g", key, found, value);
}

/* Of a .bin the metadata are told, and why no more. */
static void inspect_bin(BurnDevice *device, const char *folder) {
  char path[64], command[256];
  for (uint32_t format = BURN_RECORD_BIN; format <= BURN_RECORD_BIN_GZ; format++) {
    const BurnRecordConfig config = {format, BURN_PRECISION_HALF};
    const char *extension = format == BURN_RECORD_BIN ? "bin" : "bin.gz";
    BurnLinear linear = burn_linear_new(2, 3, device);
    snprintf(path, sizeof path, "%s/linear", folder);
    assert_true(burn_record_save(burn_module(BurnLinear, &linear), path, &config) == BURN_OK);
    BurnLinear_release(&linear);
    snprintf(command, sizeof command, "burn inspect %s/linear.%s --json", folder, extension);
    cJSON *root = run_json(command, 0);
    expect_text(root, "format", extension);
    expect_text(get(root, "metadata"), "float", "half::binary16::f16");
    assert_int_equal(cJSON_GetArraySize(get(root, "tensors")), 0);
    expect_text(root, "note", "no names and types are in it: only a program with the module can read its tensors");
    cJSON_Delete(root);
    snprintf(command, sizeof command, "burn inspect %s/linear.%s", folder, extension);
    expect_run(command, 0, "  version: \"0.21.0\"\n");
  }
}

/* The same of every format with names, under a name that says nothing. */
#if defined(__GLIBC__) && !defined(SANITIZED)
/* A library to stand before malloc, whose call number FAILING fails. */
static const char failing_malloc[] =
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "void *__libc_malloc(size_t);\n"
    "static long calls, failing = -1;\n"
    "void *malloc(size_t bytes) {\n"
    "  if (failing < 0) { failing = 0; failing = atol(getenv(\"FAILING\")); }\n"
    "  return ++calls == failing ? 0 : __libc_malloc(bytes);\n"
    "}\n"
    "__attribute__((destructor)) static void tell(void) { if (failing == 0) fprintf(stderr, \"%ld\", calls); }\n";

static int inspect_with_failing(long number, const char *folder, const char *streams) {
  char command[256];
  snprintf(command, sizeof command, "FAILING=%ld LD_PRELOAD=%s/malloc.so BURN_THREADS=1 burn inspect %s/file.mpk %s",
           number, folder, folder, streams);
  return run(command);
}

/* Whatever has no memory, a command tells all or that it could not. */
static void test_inspect_without_memory(void **state) {
  (void)state;
  char folder[] = "/tmp/burn_commands_XXXXXX", path[64], command[512];
  static char whole[OUTPUT_BYTES];
  assert_non_null(mkdtemp(folder));
  BurnDevice *device = burn_device_open("ndarray");
  BurnValue *value = inspected(device);
  const BurnRecordConfig config = {0, BURN_PRECISION_FULL};
  snprintf(path, sizeof path, "%s/file", folder);
  assert_true(burn_value_write(value, path, &config) == BURN_OK);
  snprintf(path, sizeof path, "%s/malloc.c", folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(failing_malloc, file);
  fclose(file);
  snprintf(command, sizeof command, "%s -shared -fPIC -o %s/malloc.so %s", BURN_TEST_COMPILER, folder, path);
  expect_run(command, 0, "");
  assert_int_equal(inspect_with_failing(0, folder, "2>&1 >/dev/null"), 0);
  const long calls = strtol(output, NULL, 10);
  assert_true(calls > 300);
  assert_int_equal(inspect_with_failing(0, folder, "2>/dev/null"), 0);
  assert_non_null(strstr(output, "layers.0.weight"));
  memcpy(whole, output, sizeof whole);
  for (long number = calls - 300; number <= calls; number += 3) { /* those after the file was read */
    const int status = inspect_with_failing(number, folder, "2>/dev/null");
    if (status > 1 || (status == 0 && strcmp(output, whole) != 0)) fail_msg("%ld: %d\n%s", number, status, output);
  }
  burn_value_destroy(value);
  burn_device_close(device);
  snprintf(command, sizeof command, "rm -r %s", folder);
  expect_run(command, 0, "");
}
#else
static void test_inspect_without_memory(void **state) {
  (void)state;
  print_message("skipped: malloc is the sanitizer's or the system's\n");
}
#endif

static void test_inspect(void **state) {
  (void)state;
  static const char *const names[] = {"mpk", "mpk.gz", "bpk", "json", "json.gz"};
  static const int metadata[] = {6, 6, 0, 5, 5}; /* with a checksum in those of MessagePack */
  char folder[] = "/tmp/burn_commands_XXXXXX", path[64], command[256];
  assert_non_null(mkdtemp(folder));
  BurnDevice *device = burn_device_open("ndarray");
  BurnValue *value = inspected(device);
  for (uint32_t i = 0; i < 5; i++) {
    const BurnRecordConfig config = {i, BURN_PRECISION_FULL};
    snprintf(path, sizeof path, "%s/file", folder);
    assert_true(burn_value_write(value, path, &config) == BURN_OK);
    snprintf(command, sizeof command, "mv %s/file.%s %s/data && burn inspect %s/data --json", folder, names[i], folder,
             folder);
    cJSON *root = run_json(command, 0);
    expect_text(root, "format", names[i]);
    const cJSON *tensors = get(root, "tensors"), *weight = entry(tensors, "name", "layers.0.weight");
    assert_int_equal(cJSON_GetArraySize(tensors), 4);
    expect_text(weight, "id", "0400000000000");
    expect_text(weight, "dtype", "f32");
    assert_int_equal(cJSON_GetArraySize(get(weight, "shape")), 2);
    expect_number(weight, "min", 1);
    expect_number(weight, "max", 5);
    expect_number(weight, "mean", 3);
    expect_number(weight, "std", 1.632993161855452);
    expect_number(weight, "nan", 1);
    expect_text(entry(tensors, "name", "far"), "min", "-inf");
    expect_number(entry(tensors, "name", "on"), "mean", 2.0 / 3);
    assert_true(cJSON_IsNull(get(entry(tensors, "name", "zero"), "mean")));
    expect_number(get(root, "scalars"), "step", 7);
    expect_number(root, "elements", 9);
    expect_number(root, "bytes", 27);
    expect_number(root, "parameters", 4);
    assert_int_equal(cJSON_GetArraySize(get(root, "metadata")), metadata[i]);
    cJSON_Delete(root);
  }
  burn_value_destroy(value);
  inspect_bin(device, folder);
  burn_device_close(device);
  snprintf(command, sizeof command, "burn inspect %s/data", folder);
  expect_run(command, 0,
             "layers.0.weight  f32   2x2                      1           5           3       1.633      1\n");
  expect_run(command, 0, "4 tensors, 9 elements in 27 bytes; 4 are parameters or state of a module\n");
  snprintf(command, sizeof command, "head -c 200 %s/data >%s/cut; burn inspect %s/cut", folder, folder, folder);
  expect_run(command, 1, "/cut: gzip: file ends at byte 200, too early\n");
  snprintf(command, sizeof command, "printf 'PK%%0100d' 0 >%s/pt; burn inspect %s/pt", folder, folder);
  expect_run(command, 1, "no MessagePack map: not a record\nIf it is of another framework (");
  expect_run("burn inspect /nonexistent", 1, "burn inspect: load /nonexistent: ");
  expect_run("burn inspect", 2, "burn inspect: a FILE is missing");
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(run(command), 0);
}

/* A quantized weight has its own dtype and bytes, and the numbers of its floats; what stands beside it is shown, too. */
static void test_inspect_quantized(void **state) {
  (void)state;
  char path[] = "/tmp/burn_commands_XXXXXX.mpk", command[128];
  const int file = mkstemps(path, 4);
  const BurnLoraConfig lora = BurnLoraConfig_defaults(2, 2);
  BurnDevice *device = burn_device_open("ndarray");
  BurnLinear m = burn_linear_new(2, 2, device);
  const BurnModule module = burn_module(BurnLinear, &m);
  assert_true(file >= 0 && close(file) == 0);
  burn_param_set(&m.weight, burn_tensor_f32(device, (const float[]){1, -2, 3, -127}, BURN_SHAPE(2, 2)));
  assert_true(burn_module_quantize_weights(module, NULL) == BURN_OK);
  assert_true(burn_module_apply_lora(module, &lora, NULL) == BURN_OK);
  assert_true(burn_record_save(module, path, NULL) == BURN_OK);
  burn_module_release(module);
  burn_device_close(device);
  snprintf(command, sizeof command, "burn inspect %s --json", path);
  cJSON *root = run_json(command, 0);
  const cJSON *tensors = get(root, "tensors"), *weight = entry(tensors, "name", "weight");
  assert_int_equal(cJSON_GetArraySize(tensors), 4);
  expect_text(weight, "dtype", "Q8F");
  expect_number(weight, "bytes", 8); /* four values, one scale */
  expect_text(entry(tensors, "name", "bias"), "dtype", "Q8F");
  expect_text(entry(tensors, "name", "weight.lora.a"), "dtype", "f32");
  expect_number(entry(tensors, "name", "weight.lora.b"), "max", 0);
  expect_number(root, "parameters", 4 + 2 + 4 + 4);
  cJSON_Delete(root);
  assert_int_equal(unlink(path), 0);
}

/* -- options, of the command and of the examples ---------------------------------------------- */

static void test_options_have_one_name(void **state) {
  (void)state;
  expect_run("mnist --epoch 3", 2, "mnist: there is no option '--epoch'. Did you mean '--epochs'? See --help");
  expect_run("burn ops --op attentio", 1, "there is no op 'attentio'. Did you mean 'attention'?");
  expect_run("burn doctor --stak ndarray", 2,
             "burn doctor: there is no option '--stak'. Did you mean '--stack'? See --help");
  expect_run("burn new backed demo", 2, "there is no template 'backed'. Did you mean 'backend'?");
  expect_run("mnist --epochs", 2, "mnist: --epochs needs an integer\n");
  expect_run("mnist --epochs=two", 2, "mnist: --epochs needs an integer, not 'two'");
  expect_run("mnist --epochs -1", 2, "mnist: --epochs needs an integer of at least 0, not '-1'");
  expect_run("mnist --epochs 99999999999999999999", 2, "mnist: --epochs needs a smaller integer, not '9999");
  expect_run("mnist --lr nan", 2, "mnist: --lr needs a number, not 'nan'");
  expect_run("mnist --resume=yes", 2, "mnist: --resume takes no value");
  expect_run("mnist -x", 2, "mnist: there is no option '-x'. See --help");
  expect_run("mnist -- --epochs", 2, "mnist: unknown command '--epochs'");
  expect_run("mnist train infer", 2, "mnist: unexpected 'infer'; see --help");
  expect_run("xor --steps=1 --seed 7", 0, "\"seed\":7,\"steps\":1,");
}

/* -- --json ----------------------------------------------------------------------------------- */

/* Every line that the program prints to stdout is an object, the last one with "event": "result". */
static void expect_json_lines(const char *program, const char *last_key) {
  char command[512];
  snprintf(command, sizeof command, "%s --json 2>/dev/null", program);
  const int ended = run(command);
  if (ended != 0) fail_msg("'%s' ended with %d:\n%s", command, ended, output);
  cJSON *object = NULL;
  for (char *line = strtok(output, "\n"); line; line = strtok(NULL, "\n")) {
    cJSON_Delete(object);
    const char *end = NULL;
    object = cJSON_ParseWithOpts(line, &end, 1);
    if (!cJSON_IsObject(object)) fail_msg("'%s' printed the line '%s', which is not a JSON object", command, line);
    (void)get(object, "event");
  }
  assert_non_null(object);
  expect_text(object, "event", "result");
  (void)get(object, last_key);
  cJSON_Delete(object);
}

/* What a command prints is one document, to the last character. */
static void expect_json_document(const char *command) {
  (void)run(command);
  const char *end = NULL;
  cJSON *tree = cJSON_ParseWithOpts(output, &end, 1);
  if (!tree) fail_msg("'%s' printed no JSON, or more:\n%.2000s", command, output);
  cJSON_Delete(tree);
}

static void test_json_is_json_to_the_last_line(void **state) {
  (void)state;
  char folder[] = "/tmp/burn_commands_XXXXXX", command[400];
  assert_non_null(mkdtemp(folder));
  /* A quote and a backslash in a path are not an end of a text. */
  snprintf(command, sizeof command, "mnist --epochs 1 --train-items 64 --test-items 32 --artifact '%s/a \"b\\c'",
           folder);
  expect_json_lines(command, "test_accuracy");
  snprintf(command, sizeof command, "mnist infer --show 2 --artifact '%s/a \"b\\c'", folder);
  expect_json_lines(command, "right");
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(run(command), 0);
  expect_json_lines("regression --epochs 2", "test_loss");
  expect_json_lines("regression --epochs 1 --lr 1e300", "test_loss"); /* NaN is null */
  expect_json_lines("xor --steps 3", "accuracy");
  expect_json_document("burn backends --json");
  expect_json_document("burn doctor --json");
  expect_json_document("burn ops --json --op add");
  expect_json_document("burn explain --json");
  expect_json_document("burn conform ndarray --level core --op add --json");
}

/* A transformer learns to copy what it never met: nearly all of 256 sequences. */
static void test_gpt_writes(void **state) {
  (void)state;
  SKIP_EMULATED("it trains for minutes");
  expect_run("gpt /proc/self/nothing", 1, "gpt: /proc/self/nothing: cannot open: No such file or directory");
  expect_run("gpt " BURN_SOURCE_DIR "/README.md 2", 0, "device:  autodiff<");
}

static void test_seq2seq_learns(void **state) {
  (void)state;
  SKIP_EMULATED("it trains for minutes");
  expect_json_lines("seq2seq --steps 2", "right");
  expect_run("seq2seq --batch-size 300", 2, "seq2seq: --batch-size 300 is not within 1..256");
#if !defined(SANITIZED) /* 1,000 steps take minutes there, and find nothing that two do not */
  expect_run("seq2seq --steps 1000 --backend ndarray", 0, "\nresult: ");
  cJSON *result = cJSON_Parse(strstr(output, "\nresult: ") + strlen("\nresult: "));
  const double right = cJSON_GetNumberValue(get(result, "right"));
  if (!(right >= 0.95)) fail_msg("of 256 sequences a share of %g is copied right", right);
  cJSON_Delete(result);
#endif
}

/* The judge is the model that mnist has left: it names digits, and takes little of 20 steps for one. */
static void expect_judged(const char *folder) {
  char command[400];
  snprintf(command, sizeof command, "wgan --evaluate --artifact %s --judge %s/mnist", folder, folder);
  expect_run(command, 0, "\nresult: ");
  cJSON *result = cJSON_Parse(strstr(output, "\nresult: ") + strlen("\nresult: "));
  const double right = cJSON_GetNumberValue(get(result, "judge_accuracy"));
  const double real = cJSON_GetNumberValue(get(result, "confident_of_real"));
  const double drawn = cJSON_GetNumberValue(get(result, "confident_of_generated"));
  if (!(right > 0.85 && drawn < real)) fail_msg("%g are right, confident of real %g, of drawn %g", right, real, drawn);
  cJSON_Delete(result);
}

/* The critic tells noise from digits at once; stacks see the same numbers. What a short run has saved can be judged. */
static void test_wgan_draws(void **state) {
  (void)state;
  SKIP_EMULATED("it trains for minutes");
  static const char *const stacks[] = {"ndarray", "autodiff<fusion<ndarray>>"};
  char folder[] = "/tmp/burn_commands_XXXXXX", command[400];
  double distances[2];
  assert_non_null(mkdtemp(folder));
  snprintf(command, sizeof command, "wgan --evaluate --artifact %s --judge %s/mnist", folder, folder);
  expect_run(command, 1, "the judge (the program mnist makes one, --judge names it): load ");
  snprintf(command, sizeof command, "mnist --train-items 4000 --epochs 2 --show 0 --artifact %s/mnist", folder);
  expect_run(command, 0, "\nresult: ");
  snprintf(command, sizeof command, "wgan --evaluate --artifact %s --judge %s/mnist", folder, folder);
  expect_run(command, 1, "generator");
  for (int i = 0; i < 2; i++) {
    snprintf(command, sizeof command, "wgan --steps 20 --items 512 --batch-size 32 --artifact %s --backend '%s'",
             folder, stacks[i]);
    expect_run(command, 0, "\nresult: ");
    cJSON *result = cJSON_Parse(strstr(output, "\nresult: ") + strlen("\nresult: "));
    distances[i] = cJSON_GetNumberValue(get(result, "distance"));
    cJSON_Delete(result);
  }
  if (!(distances[0] > 5 && fabs(distances[0] - distances[1]) < 0.01 * distances[0]))
    fail_msg("the distance is %g and %g after 20 steps", distances[0], distances[1]);
  snprintf(command, sizeof command, "head -c 10 %s/digits.pgm && wc -c <%s/digits.pgm", folder, folder);
  assert_int_equal(run(command), 0);
  assert_string_equal(output, "P5\n280 28078415\n");
  expect_judged(folder);
  expect_run("wgan --steps 0", 2, "wgan: --steps, --batch-size and --items are at least 1");
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(run(command), 0);
}

/* The command ends with a result, whose accuracies with 8 bits are at most half a point below those of floats. */
static void expect_little_lost(const char *command, double least) {
  static const char *const variants[] = {"weights", "calibrated", "by_batch"};
  expect_run(command, 0, "\nresult: ");
  cJSON *result = cJSON_Parse(strstr(output, "\nresult: ") + strlen("\nresult: "));
  const double floats = cJSON_GetNumberValue(get(result, "floats"));
  if (!(floats >= least)) fail_msg("'%s': accuracy %g", command, floats);
  for (int i = 0; i < 3; i++) {
    const double accuracy = cJSON_GetNumberValue(get(result, variants[i]));
    if (!(accuracy >= floats - 0.005)) fail_msg("'%s': %s %g, floats %g", command, variants[i], accuracy, floats);
  }
  assert_true(cJSON_GetNumberValue(get(result, "calibrated_bytes")) <
              0.3 * cJSON_GetNumberValue(get(result, "floats_bytes")));
  cJSON_Delete(result);
}

/* What is there stays, and is refused before the model is read. */
static void test_onnx_run_keeps_files(void **state) {
  (void)state;
  char folder[] = "/tmp/burn_commands_XXXXXX", command[600];
  assert_non_null(mkdtemp(folder));
  snprintf(command, sizeof command, "cd %s && echo mine >out.npz && burn onnx run none.onnx --out out.npz", folder);
  expect_run(command, 1, "burn onnx: out.npz: the file is there already; overwrite it, or choose another\n");
  snprintf(command, sizeof command, "cd %s && burn onnx run none.onnx --out out.npz --overwrite", folder);
  expect_run(command, 1, "burn onnx: none.onnx: cannot open: ");
  snprintf(command, sizeof command, "cat %s/out.npz && rm -r %s", folder, folder);
  expect_run(command, 0, "mine\n");
}

/* A view of a few numbers as more than any memory has. Sanitizers end the program there unless they are told not to. */
static void test_onnx_run_tells_what_it_cannot_print(void **state) {
  (void)state;
  char command[600], options[1024];
  const char *own = getenv("ASAN_OPTIONS");
  snprintf(options, sizeof options, "%s:allocator_may_return_null=1", own ? own : "");
  setenv("ASAN_OPTIONS", options, 1);
  snprintf(command, sizeof command, "burn onnx run %s/tests/fuzz/corpus/onnx/unprintable --backend ndarray",
           BURN_SOURCE_DIR);
  expect_run(command, 1, "burn onnx: output 'y': print: no memory for 18014398509481984 values\n");
}

/* A graph that calls its output like a row of the table. */
static void test_names_stay_in_their_rows(void **state) {
  (void)state;
  char command[600];
  snprintf(command, sizeof command, "burn onnx info %s/tests/fuzz/corpus/onnx/forged", BURN_SOURCE_DIR);
  expect_run(command, 0, "outputs     y?outputs     z  float32");
}

/* Of a template or a model that cannot be written whole nothing stays, so that the next try finds no files in its way.
 * Files of more than 512 bytes cannot be written here. */
static void test_nothing_is_half_written(void **state) {
  (void)state;
  char folder[] = "/tmp/burn_commands_XXXXXX", command[700];
  assert_non_null(mkdtemp(folder));
  snprintf(command, sizeof command, "cd %s && touch x && trap '' XFSZ && ulimit -f 1 && burn new app demo", folder);
  expect_run(command, 1, "burn new: cannot write 'demo/");
  snprintf(command, sizeof command,
           "cd %s && trap '' XFSZ && ulimit -f 1 && burn import " BURN_SOURCE_DIR
           "/tests/fuzz/corpus/onnx/gemm --sizes n=2 --out gemm",
           folder);
  expect_run(command, 1, "burn import: ");
  snprintf(command, sizeof command,
           "cd %s && mkdir mine && trap '' XFSZ && ulimit -f 1 && burn new app demo --dir mine", folder);
  expect_run(command, 1, "burn new: cannot write 'mine/");
  snprintf(command, sizeof command, "cd %s && ls -A . mine", folder); /* whose folder it was stays */
  expect_run(command, 0, ".:\nmine\nx\n\nmine:\n");
  assert_string_equal(output, ".:\nmine\nx\n\nmine:\n");
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(run(command), 0);
}

/* A typo in a variable is told, with the value, once; the program goes on. */
static void test_typos_in_variables(void **state) {
  (void)state;
  const char *text = "burn: warning: log: BURN_LOG='verbose' is none of off, error, warn, info, debug; warn is taken\n";
  expect_run("BURN_LOG=verbose xor", 0, text);
  assert_null(strstr(strstr(output, text) + strlen(text), "BURN_LOG"));
  expect_run("BURN_AUTOTUNE=fast xor --backend ndarray", 0,
             "BURN_AUTOTUNE='fast' is none of off, quick, full; quick is taken\n");
  expect_run("BURN_FUSION_LOG=abc xor --backend 'fusion<ndarray>'", 0,
             "burn: warning: fusion: BURN_FUSION_LOG='abc' is neither 0 nor 1; ignored\n");
}

/* mnist writes its report; the command makes the same of the folder, elsewhere, and says what it knows. */
static void test_report(void **state) {
  (void)state;
  char folder[] = "/tmp/burn_commands_XXXXXX", command[600];
  assert_non_null(mkdtemp(folder));
  snprintf(command, sizeof command,
           "mnist --epochs 2 --train-items 128 --test-items 64 --show 0 --report --artifact %s/run", folder);
  expect_run(command, 0, "result: {");
  snprintf(command, sizeof command, "cat %s/run/report.html", folder);
  expect_run(command, 0, "<h2>Confusion matrix</h2>");
  snprintf(command, sizeof command, "burn report %s/run/ --out %s/page.html --title 'A & B'", folder, folder);
  expect_run(command, 0, "/page.html\n");
  snprintf(command, sizeof command, "burn report %s/run/ --out %s/page.html", folder, folder);
  expect_run(command, 1, "/page.html: the file is there already; overwrite it, or choose another");
  snprintf(command, sizeof command, "cat %s/page.html", folder);
  expect_run(command, 0, "<h1>A &#38; B</h1>");
  snprintf(command, sizeof command, "burn report %s/run/ --out %s/page.html --overwrite", folder, folder);
  expect_run(command, 0, "/page.html\n");
  snprintf(command, sizeof command, "burn report %s/run --json", folder);
  expect_run(command, 0, "\"metrics\":");
  cJSON *root = cJSON_Parse(output);
  assert_string_equal(cJSON_GetStringValue(get(root, "title")), "run");
  assert_int_equal(cJSON_GetArraySize(get(get(root, "confusion_matrix"), "counts")), 10);
  assert_true(cJSON_GetArraySize(get(root, "samples")) > 0);
  cJSON_Delete(root);
  snprintf(command, sizeof command, "burn report %s", folder);
  expect_run(command, 1, "has no logs of metrics");
  expect_run("burn report", 2, "a folder is missing");
  expect_run("burn report no/such/run", 1, "burn report: report: there is no folder no/such/run");
  /* A log of others says what a terminal would obey. */
  snprintf(command, sizeof command,
           "cd %s && mkdir -p e/train/epoch-1 && printf '\\033[2J,1\\n' >e/train/epoch-1/Loss.log", folder);
  expect_run(command, 0, "");
  snprintf(command, sizeof command, "burn report %s/e", folder);
  expect_run(command, 1, "line 1: '?[2J,1' is not a value of a metric\n");
  /* A metric of others that is called like two rows. */
  snprintf(command, sizeof command,
           "cd %s && mkdir -p n/train/epoch-1 && echo 1,1 >n/train/epoch-1/'a\n%s'.log && burn report --summary n",
           folder, "Loss");
  expect_run(command, 0, "a?Loss");
  snprintf(command, sizeof command, "rm -r %s", folder);
  expect_run(command, 0, "");
}

static void test_quantize_loses_little(void **state) {
  (void)state;
  SKIP_EMULATED("it trains for minutes");
  char folder[] = "/tmp/burn_commands_XXXXXX", command[600];
  assert_non_null(mkdtemp(folder));
  snprintf(command, sizeof command,
           "mnist --epochs 1 --train-items 4000 --test-items 1000 --lr 0.001 --show 0 --artifact %s", folder);
  expect_run(command, 0, "\nresult: ");
  snprintf(command, sizeof command, "quantize digits --artifact %s --backend ndarray", folder);
  expect_little_lost(command, 0.9);
  snprintf(command, sizeof command, "quantize text --text %s/tests/README.md --steps 150 --backend 'fusion<ndarray>'",
           BURN_SOURCE_DIR);
  expect_little_lost(command, 0.2);
  expect_run("quantize", 2, "quantize: digits or text expected");
  expect_run("quantize text", 2, "quantize: --text FILE is missing");
  expect_run("quantize digits --artifact /nonexistent", 1, "quantize: load /nonexistent/config.json: ");
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(run(command), 0);
}

static void test_bench_tables_need_figures(void **state) {
  (void)state;
  expect_run("burn bench tables /nonexistent.csv", 1,
             "burn bench: /nonexistent.csv: cannot open: No such file or directory");
  expect_run("f=$(mktemp) && { burn bench tables $f; s=$?; rm $f; exit $s; }", 1,
             ": no figures of a case that there is");
}

static void test_nothing_is_shown_of_no_digits(void **state) {
  (void)state;
  char folder[] = "/tmp/burn_commands_XXXXXX", command[400];
  assert_non_null(mkdtemp(folder));
  snprintf(command, sizeof command, "mnist --epochs 1 --train-items 64 --test-items 32 --show 0 --artifact %s", folder);
  expect_run(command, 0, "\nresult: {\"command\":\"train\"");
  assert_null(strstr(output, "digits:"));
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(run(command), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_doctor_says_what_would_be_chosen),
      cmocka_unit_test(test_doctor_says_the_reason),
      cmocka_unit_test(test_doctor_fails_when_the_need_is_not_met),
      cmocka_unit_test(test_doctor_names_drivers),
      cmocka_unit_test(test_doctor_reads_settings),
      cmocka_unit_test(test_settings_without_effect_are_told),
      cmocka_unit_test(test_ops_shows_every_route),
      cmocka_unit_test(test_ops_tells_of_one),
      cmocka_unit_test(test_ops_are_listed_by_family),
      cmocka_unit_test(test_new_refuses_bad_names),
      cmocka_unit_test(test_new_names_compile),
      cmocka_unit_test(test_conform_ends_with_its_children),
      cmocka_unit_test(test_the_table_of_commands),
      cmocka_unit_test(test_inspect),
      cmocka_unit_test(test_inspect_without_memory),
      cmocka_unit_test(test_inspect_quantized),
      cmocka_unit_test(test_options_have_one_name),
      cmocka_unit_test(test_json_is_json_to_the_last_line),
      cmocka_unit_test(test_gpt_writes),
      cmocka_unit_test(test_seq2seq_learns),
      cmocka_unit_test(test_wgan_draws),
      cmocka_unit_test(test_report),
      cmocka_unit_test(test_onnx_run_keeps_files),
      cmocka_unit_test(test_onnx_run_tells_what_it_cannot_print),
      cmocka_unit_test(test_names_stay_in_their_rows),
      cmocka_unit_test(test_nothing_is_half_written),
      cmocka_unit_test(test_typos_in_variables),
      cmocka_unit_test(test_quantize_loses_little),
      cmocka_unit_test(test_bench_tables_need_figures),
      cmocka_unit_test(test_nothing_is_shown_of_no_digits),
  };
  return cmocka_run_group_tests_name("the burn command", tests, NULL, NULL);
}
