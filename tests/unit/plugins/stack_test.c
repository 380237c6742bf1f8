/* stack_test.c - stack texts and where they come from; inner devices; the stack law: decorators change no number.
 *
 * Tests that set the environment or the working directory run in a child. */
#include "forked.h"
#include "status_testing.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <sys/stat.h>

/* -- texts that open: text, name of the device ------------------------------------------------ */

static const struct {
  const char *text, *name;
} good_texts[] = {
    {"ndarray", "ndarray"},
    {"NdArray", "ndarray"},
    {" ndarray ", "ndarray"},
    {"ndarray:0", "ndarray:0"},
    {"ndarray:", "ndarray"},
    {"ndarray:isa=baseline,gemm=builtin", "ndarray"},
    {"ndarray:ISA=baseline:Gemm=builtin", "ndarray"},
    {"ndarray:0:primitives=true", "ndarray:0"},
    {"ndarray:primitives=false:0", "ndarray:0"},
    {"autodiff<ndarray>", "autodiff<ndarray>"},
    {"autodiff+ndarray", "autodiff<ndarray>"},
    {"AUTODIFF < NDARRAY:0 > ", "autodiff<ndarray:0>"},
    {"autodiff<trace:format=count,file=/dev/null<ndarray>>", "autodiff<trace<ndarray>>"},
    {"autodiff+trace:format=count,file=/dev/null+ndarray:isa=baseline", "autodiff<trace<ndarray>>"},
    {"trace:format=count,file=/dev/null+autodiff<ndarray>", "trace<autodiff<ndarray>>"},
    {"autodiff<validate<reference>>", "autodiff<validate<reference>>"},
    {"autocast:dtype=f16+autodiff+ndarray", "autocast<autodiff<ndarray>>"},
    {"validate:finite=false,promises=true,ownership=false,determinism=true,action=warn,save=/tmp<ndarray>",
     "validate<ndarray>"},
};

static void test_texts_that_open(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof good_texts / sizeof good_texts[0]; i++) {
    BurnDevice *device = burn_device_open(good_texts[i].text);
    const BurnStatus status = burn_device_status(device);
    if (status != BURN_OK) fail_msg("'%s': %s", good_texts[i].text, burn_status_message(status));
    assert_string_equal(burn_device_name(device), good_texts[i].name);
    double value = 0;
    assert_true(burn_read_scalar(burn_sum(burn_ones(device, BURN_SHAPE(3), 0)), &value) == BURN_OK);
    assert_true(value > 2.5 && value < 3.5);
    burn_device_close(device);
  }
}

/* Plugins, versions and options, in the order of the stack. */
static void test_fingerprints(void **state) {
  (void)state;
  BurnDevice *device =
      burn_device_open("autodiff+trace:format=count,file=/dev/null+ndarray:0:isa=baseline,gemm=builtin");
  assert_true(burn_device_status(device) == BURN_OK);
  assert_string_equal(
      burn_device_fingerprint(device),
      "autodiff 0.1.0<trace 0.1.0 format=count,file=/dev/null<ndarray:0 0.1.0 isa=baseline,gemm=builtin>>");
  assert_string_equal(burn_device_fingerprint(burn_device_inner(device)),
                      "trace 0.1.0 format=count,file=/dev/null<ndarray:0 0.1.0 isa=baseline,gemm=builtin>");
  burn_device_close(device);
  device = burn_device_open("nowhere");
  assert_string_equal(burn_device_fingerprint(device), burn_device_name(device));
  burn_device_close(device);
}

/* -- texts that do not: text, code, message --------------------------------------------------- */

#define INVALID BURN_STATUS_INVALID_ARGUMENT
static const struct {
  const char *text;
  uint32_t code;
  const char *message; /* a part of it */
} bad_texts[] = {
    {"ndarray:speed=high", INVALID, "'ndarray' has no option 'speed'; it has: float, int, gemm, isa, primitives"},
    {"autodiff:speed=high<ndarray>", INVALID, "'autodiff' has no option 'speed'; it has: checkpointing"},
    {"trace:x=1,file=/dev/null<ndarray>", INVALID, "'trace' has no option 'x'; it has: format, file"},
    {"ndarray:isa=mmx", INVALID, "open 'ndarray': ndarray: isa=mmx is unknown; there are baseline, avx2, avx512, neon"},
    {"ndarray:gemm=mkl", INVALID, "ndarray: gemm=mkl is neither builtin nor openblas"},
    {"ndarray:memory_limit=2TiB", INVALID,
     "ndarray: memory_limit=2TiB is not a size such as 1000000, 64KiB, 512MiB, 2GiB"},
    {"ndarray:autotune=never", INVALID, "ndarray: autotune=never is none of off, quick and full"},
    {"ndarray:primitives=maybe", INVALID, "ndarray: primitives=maybe is neither true nor false"},
    {"validate:action=cry<ndarray>", INVALID, "validate: action=cry is neither warn nor fail"},
    {"validate:finite=maybe<ndarray>", INVALID, "validate: finite=maybe is none of warn, strict and false"},
    {"validate:save=<ndarray>", INVALID, "validate: save= needs a folder of 1 to 511 bytes"},
    {"validate:x=1<ndarray>", INVALID,
     "'validate' has no option 'x'; it has: finite, promises, ownership, determinism, action, save"},
    {"reference:speed=high", INVALID, "'reference' has no option 'speed'; it has: float, int"},
    {"reference:1", BURN_STATUS_NOT_FOUND, "open 'reference': reference: there is no device 1, only 0"},
    {"trace:format=xml<ndarray>", INVALID, "trace: format=xml is unknown; it is text, count or chrome"},
    {"trace:format=chrome,file=/nonexistent/x.json<ndarray>", BURN_STATUS_IO,
     "trace: cannot write file '/nonexistent/x.json': No such file or directory"},
    {"ndarray:gpu", INVALID, "'ndarray' has no option 'device'; it has: float, int, gemm, isa, "},
    {"ndarray:device=gpu:cpu", INVALID, "backend 'ndarray:device=gpu:cpu': option 'device' is given twice"},
    {"ndarray:=1", INVALID, "'=1' is neither a device, nor its number, nor key=value"},
    {"ndarray:9999999", INVALID, "'9999999' is neither a device, nor its number, nor key=value"},
    {"ndarray:1", BURN_STATUS_NOT_FOUND, "open 'ndarray': ndarray: device 1 does not exist, there is only 0"},
    {"ndarray:float=i64", INVALID, "option float=i64 names no float dtype"},
    {"ndarray:int=f32", INVALID, "option int=f32 names no int dtype"},
    {"ndarray>", INVALID, "backend 'ndarray>': one '>' too many"},
    {"autodiff<ndarray", INVALID, "backend 'autodiff<ndarray': 1 '>' missing at the end"},
    {"autodiff<ndarray>x", INVALID, "nothing can follow '>'"},
    {"autodiff<>", INVALID, "backend 'autodiff<>': a name is missing"},
    {"+ndarray", INVALID, "backend '+ndarray': a name is missing"},
    {"nd-array", INVALID, "backend 'nd-array': unexpected '-' after 'nd'"},
    {"autodiff", INVALID, "'autodiff' is a decorator; a stack ends with a backend, as in autodiff<ndarray>"},
    {"ndarray<autodiff>", INVALID, "'autodiff' is a decorator; a stack ends with a backend"},
    {"ndarray<ndarray>", INVALID, "'ndarray' is a backend; it can only stand at the end of a stack"},
    {"autodiff<autodiff<ndarray>>", INVALID,
     "the stack computes gradients twice, in autodiff and in autodiff; once is enough"},
    {"autodiff<trace<autodiff<ndarray>>>", INVALID,
     "the stack computes gradients twice, in autodiff and in autodiff; once is enough"},
    {"fusion<autodiff<ndarray>>", INVALID, "the stack has fusion above autodiff; write autodiff<fusion<..>>"},
    {"nosuch", BURN_STATUS_NOT_FOUND, "there is no backend 'nosuch'. There are: ndarray"},
    {"nosuch<ndarray>", BURN_STATUS_NOT_FOUND, "there is no decorator 'nosuch'. There are: autocast, autodiff, "},
    {"nosuch", BURN_STATUS_NOT_FOUND, "Searched: " BURN_BUILD_DIR "/lib/burn/plugins"},
};

static void test_texts_that_do_not_open(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad_texts / sizeof bad_texts[0]; i++) {
    BurnDevice *device = burn_device_open(bad_texts[i].text);
    const BurnStatus status = burn_device_status(device);
    if (!strstr(burn_status_message(status), bad_texts[i].message)) {
      fail_msg("'%s' says '%s', expected '%s'", bad_texts[i].text, burn_status_message(status), bad_texts[i].message);
    }
    if (burn_status_code(status) != bad_texts[i].code)
      fail_msg("'%s': %s", bad_texts[i].text, burn_status_text(status));
    BurnTensor *x = burn_zeros(device, BURN_SHAPE(1), 0); /* what is made on it carries the failure */
    assert_string_equal(burn_status_message(burn_tensor_status(x)), burn_status_message(status));
    burn_drop(x);
    assert_true(burn_device_sync(device) != BURN_OK);
    assert_int_equal(burn_device_memory(device).live_tensors, -1);
    assert_non_null(strstr(burn_device_name(device), "(failed)"));
    burn_device_close(device);
  }
}

static void test_a_text_that_is_too_long(void **state) {
  (void)state;
  char text[5000];
  memset(text, 'a', sizeof text);
  text[sizeof text - 1] = '\0';
  BurnDevice *device = burn_device_open(text);
  assert_string_equal(burn_status_message(burn_device_status(device)), "the backend text is longer than 4096 bytes");
  burn_device_close(device);
}

static void test_default_dtypes(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("ndarray:float=f64,int=i32");
  assert_int_equal(burn_device_float_dtype(device), BURN_DTYPE_F64);
  assert_int_equal(burn_device_int_dtype(device), BURN_DTYPE_I32);
  BurnTensor *x = burn_zeros(device, BURN_SHAPE(2, 2), BURN_DTYPE_DEFAULT), *count = burn_arange(device, 0, 3, 1);
  assert_int_equal(burn_dtype(x), BURN_DTYPE_F64);
  assert_int_equal(burn_dtype(count), BURN_DTYPE_I32);
  BurnTensor *where = burn_argmax(x, 0), *truncated = burn_int(burn_ones(device, BURN_SHAPE(1), BURN_DTYPE_F32));
  assert_int_equal(burn_dtype(where), BURN_DTYPE_I32);
  assert_int_equal(burn_dtype(truncated), BURN_DTYPE_I32);
  burn_drop(where);
  burn_drop(truncated);
  burn_drop(count);
  burn_device_close(device);
  device = burn_device_open("autodiff<ndarray:float=f64>"); /* the inner device has the same defaults */
  assert_int_equal(burn_device_float_dtype(device), BURN_DTYPE_F64);
  assert_int_equal(burn_device_float_dtype(burn_device_inner(device)), BURN_DTYPE_F64);
  burn_device_close(device);
}

/* -- training and inner devices --------------------------------------------------------------- */

static void test_open_training(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"ndarray", "autodiff<ndarray>"},
      {"autodiff<ndarray>", "autodiff<ndarray>"},
      {"trace:format=count,file=/dev/null<ndarray>", "autodiff<trace<ndarray>>"},
      {"trace:format=count,file=/dev/null<autodiff<ndarray>>", "trace<autodiff<ndarray>>"},
      {"autocast<ndarray>", "autodiff<autocast<ndarray>>"},
      {"trace:format=count,file=/dev/null<autocast<autodiff<ndarray>>>", "trace<autocast<autodiff<ndarray>>>"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    BurnDevice *device = burn_device_open_training(rows[i][0]);
    assert_string_equal(burn_status_message(burn_device_status(device)), "ok");
    assert_string_equal(burn_device_name(device), rows[i][1]);
    assert_true(burn_device_is_autodiff(device));
    assert_false(burn_device_is_autodiff(burn_device_inner(device)));
    burn_device_close(device);
  }
}

static void test_inner_device(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("autodiff<trace:format=count,file=/dev/null<ndarray>>"),
             *inner = burn_device_inner(device);
  assert_string_equal(burn_device_name(inner), "trace<ndarray>");
  assert_ptr_equal(burn_device_inner(inner), inner);
  BurnTensor *x = burn_require_grad(burn_ones(device, BURN_SHAPE(2), 0));
  assert_true(burn_is_tracked(x) && burn_is_require_grad(x));
  BurnTensor *below = burn_to_device(burn_clone(x), inner);
  assert_ptr_equal(burn_tensor_device(below), inner);
  assert_false(burn_is_tracked(below));
  BurnTensor *above = burn_to_device(below, device);
  assert_ptr_equal(burn_tensor_device(above), device);
  assert_false(burn_is_tracked(above));
  burn_drop(above);
  burn_drop(x);
  assert_int_equal(burn_device_memory(device).live_tensors, 0);
  burn_device_close(device);
}

/* Tensors keep their device alive, also that of an inner one. */
static void test_tensors_outlive_the_handle_of_their_device(void **state) {
  (void)state;
  BurnDevice *device = burn_device_open("autodiff<ndarray>");
  BurnTensor *x = burn_inner(burn_ones(device, BURN_SHAPE(2, 2), 0));
  double value = 0;
  const int saved = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
  assert_true(saved >= 0 && dup2(nowhere, STDERR_FILENO) >= 0); /* builds with guards list x */
  burn_device_close(device);
  assert_true(dup2(saved, STDERR_FILENO) >= 0);
  close(saved);
  close(nowhere);
  assert_true(burn_read_scalar(burn_sum(burn_matmul(burn_clone(x), x)), &value) == BURN_OK);
  assert_true(value > 7.5 && value < 8.5);
}

/* -- where a text comes from ------------------------------------------------------------------ */

/* Folders of one test: the working directory, and $XDG_CONFIG_HOME with burn/ in it. */
typedef struct Places {
  char project[64], config[64], burn[80];
} Places;

static void make_places(Places *places) {
  make_folder(places->project);
  make_folder(places->config);
  snprintf(places->burn, sizeof places->burn, "%s/burn", places->config);
  assert_int_equal(mkdir(places->burn, 0700), 0);
}

static void remove_places(const Places *places) {
  remove_file(places->project, "burn.json");
  remove_file(places->burn, "burn.json");
  rmdir(places->burn);
  rmdir(places->config);
  rmdir(places->project);
}

static void enter(const Places *places) {
  CHECK(chdir(places->project) == 0, "chdir");
  setenv(SETTINGS_VARIABLE, places->config, 1);
}

static void check_opens(const char *text, BurnDType float_dtype, BurnDType int_dtype) {
  BurnDevice *device = burn_device_open(text);
  CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
  CHECK(burn_device_float_dtype(device) == float_dtype && burn_device_int_dtype(device) == int_dtype,
        "%s has other dtypes: %s, %s", burn_device_name(device), burn_dtype_name(burn_device_float_dtype(device)),
        burn_dtype_name(burn_device_int_dtype(device)));
  burn_device_close(device);
}

static void check_fails(const char *part) {
  BurnDevice *device = burn_device_open(NULL);
  check_contains(burn_status_message(burn_device_status(device)), part);
  burn_device_close(device);
}

/* The float dtype tells the sources apart: f64 and i32 are not the defaults. */
static void by_precedence(void *context) {
  enter(context);
  check_opens(NULL, BURN_DTYPE_F64, BURN_DTYPE_I64); /* the project's file comes before the user's */
  check_opens("", BURN_DTYPE_F64, BURN_DTYPE_I64);
  setenv("BURN_BACKEND", "ndarray:float=f64,int=i32", 1);
  check_opens(NULL, BURN_DTYPE_F64, BURN_DTYPE_I32);
  check_opens("ndarray", BURN_DTYPE_F32, BURN_DTYPE_I64); /* the argument comes before all */
  setenv("BURN_BACKEND", "nosuch", 1);
  check_fails("there is no backend 'nosuch'");
  setenv("BURN_BACKEND", "", 1);
  check_opens(NULL, BURN_DTYPE_F64, BURN_DTYPE_I64);
  CHECK(unlink("burn.json") == 0, "unlink");
  check_opens(NULL, BURN_DTYPE_F32, BURN_DTYPE_I32); /* the user's */
}

static void test_precedence(void **state) {
  (void)state;
  Places places;
  make_places(&places);
  write_file(places.project, "burn.json", "{\"backend\": \"ndarray:float=f64\"}");
  write_file(places.burn, "burn.json", "{\"backend\": \"ndarray:int=i32\"}");
  forked(by_precedence, &places);
  remove_places(&places);
}

static void automatic(void *context) {
  enter(context);
  BurnDevice *device = burn_device_open(NULL);
  CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
  const BurnPluginInfo *best = NULL;
  for (size_t i = 0; i < burn_plugin_count(); i++) {
    const BurnPluginInfo *info = burn_plugin_info(i);
    if (!best || info->score > best->score) best = info;
  }
  CHECK(best && strcmp(burn_device_name(device), best->name) == 0, "'%s' was opened", burn_device_name(device));
  burn_device_close(device);
  device = burn_device_open_training(NULL);
  CHECK(burn_device_is_autodiff(device), "'%s' was opened", burn_device_name(device));
  burn_device_close(device);
}

static void test_automatic_choice(void **state) {
  (void)state;
  Places places;
  make_places(&places);
  forked(automatic, &places);
  write_file(places.project, "burn.json", "{\"something\": \"else\"}"); /* a file without the key changes nothing */
  forked(automatic, &places);
  remove_places(&places);
}

static const char *expected_failure;

static void with_broken_file(void *context) {
  enter(context);
  check_fails(expected_failure);
  check_opens("ndarray", BURN_DTYPE_F32, BURN_DTYPE_I64); /* nobody asked the file */
}

static void test_broken_settings_are_errors(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"{\"backend\": ", "settings 'burn.json': no JSON object"},
      {"", "settings 'burn.json': no JSON object"},
      {"[1, 2]", "settings 'burn.json': no JSON object"},
      {"{\"backend\": 7}", "settings 'burn.json': \"backend\" must be a text such as \"ndarray\""},
      {"{\"backend\": \"nosuch\"}", "there is no backend 'nosuch'"},
      {"{\"backend\": \"reference\"} junk", "settings 'burn.json': something after the JSON object (at byte 25)"},
      {"{\"backend\": \"trace:file=victim+ndarray\"}",
       "burn.json: option 'file' of 'trace' is not taken from a file of the working directory"},
      {"{\"backend\": \"trace:format=chrome+ndarray\"}", "option 'format' of 'trace' is not taken from"},
      {"{\"backend\": \"validate:save=folder+ndarray:float=f64\"}",
       "Write it in BURN_BACKEND, --backend or your own burn.json"},
      {"{\"backend\": \"validate:nosuch=1+ndarray\"}", "option 'nosuch' of 'validate' is not taken from"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    Places places;
    make_places(&places);
    write_file(places.project, "burn.json", rows[i][0]);
    expected_failure = rows[i][1];
    forked(with_broken_file, &places);
    remove_places(&places);
  }
}

/* What a downloaded folder may say, and what the user may say in a file of their own. */
static void with_harmless_options(void *context) {
  enter(context);
  check_opens(NULL, BURN_DTYPE_F64, BURN_DTYPE_I64);
}

static void with_options_of_the_user(void *context) {
  enter(context);
  BurnDevice *device = burn_device_open(NULL);
  CHECK(burn_device_status(device) == BURN_OK, "%s", burn_status_message(burn_device_status(device)));
  burn_device_close(device);
  CHECK(access("victim", F_OK) == 0, "the user's own file may name the file of trace");
  CHECK(unlink("victim") == 0, "unlink");
}

static void test_options_in_settings(void **state) {
  (void)state;
  Places places;
  make_places(&places);
  write_file(places.project, "burn.json", "{\"backend\": \"validate:action=warn+ndarray:0:isa=baseline,float=f64\"}");
  forked(with_harmless_options, &places);
  remove_places(&places);
  make_places(&places);
  write_file(places.burn, "burn.json", "{\"backend\": \"trace:file=victim+ndarray\"}");
  forked(with_options_of_the_user, &places);
  remove_places(&places);
}

#if !defined(_WIN32)
#include <fcntl.h>
#include <sys/stat.h>

static void with_a_pipe(void *context) {
  enter(context);
  alarm(10); /* instead of waiting for ever */
  check_fails("not a regular file");
}

static void with_an_open_file(void *context) {
  enter(context);
  check_fails("burn.json' can be written by anybody (chmod o-w it)");
}

/* As a service that has another user's HOME. Where that user may not read this build, either (it lies below a folder
 * of root's), root has loaded the plugin and asked all of them for the automatic choice before. */
static void with_a_forbidden_home(void *context) {
  enter(context);
  if (seteuid(65534) != 0 ||
      faccessat(AT_FDCWD, BURN_BUILD_DIR "/lib/burn/plugins/burn_ndarray.so", R_OK, AT_EACCESS) != 0) {
    CHECK(seteuid(0) == 0 && burn_plugin_count() > 0, "seteuid");
    check_opens("ndarray", BURN_DTYPE_F32, BURN_DTYPE_I64);
  }
  CHECK(seteuid(0) == 0 && setgid(65534) == 0 && setuid(65534) == 0, "setuid");
  check_opens("ndarray", BURN_DTYPE_F32, BURN_DTYPE_I64);
  check_opens(NULL, BURN_DTYPE_F32, BURN_DTYPE_I64);
}

static void test_files_that_are_no_settings(void **state) {
  (void)state;
  char path[256];
  Places places;
  make_places(&places);
  snprintf(path, sizeof path, "%s/burn.json", places.project);
  assert_int_equal(mkfifo(path, 0600), 0);
  forked(with_a_pipe, &places);
  remove_places(&places);
  make_places(&places);
  write_file(places.burn, "burn.json", "{\"backend\": \"ndarray\"}");
  snprintf(path, sizeof path, "%s/burn.json", places.burn);
  let_anybody_write(path);
  forked(with_an_open_file, &places);
  if (geteuid() == 0) {
    assert_int_equal(chmod(places.burn, 0700) | chmod(path, 0600) | chmod(places.project, 0755), 0);
    forked(with_a_forbidden_home, &places);
  }
  remove_places(&places);
}
#endif

static bool finds_mini(void) {
  for (size_t i = 0; i < burn_plugin_count(); i++) {
    if (strcmp(burn_plugin_info(i)->name, "mini") == 0) return true;
  }
  return false;
}

static void folders_of_the_user(void *context) {
  enter(context);
  CHECK(finds_mini(), "the folder named by the user's file was not searched");
}

static void folders_of_the_project(void *context) {
  enter(context);
  CHECK(!finds_mini(), "a folder named by the project's file was searched: entering a folder must not run its code");
}

static void test_plugin_path_in_settings(void **state) {
  (void)state;
  static const char text[] = "{\"plugin_path\": [\"" BURN_BUILD_DIR "/tests/broken_plugins\"]}";
  Places places;
  make_places(&places);
  write_file(places.burn, "burn.json", text);
  forked(folders_of_the_user, &places);
  remove_places(&places);
  make_places(&places);
  write_file(places.project, "burn.json", text);
  forked(folders_of_the_project, &places);
  remove_places(&places);
}

/* -- the stack law ---------------------------------------------------------------------------- */

enum { WEIGHT_COUNT = 5 * 7 + 7 + 7 * 3 + 3, STEPS = 15 };

/* Everything that a small training leaves: losses, then weights. */
typedef struct Trained {
  float losses[STEPS], weights[WEIGHT_COUNT];
} Trained;

/* A step of gradient descent: a fresh leaf from the old one and its gradient. */
static BurnTensor *descend(BurnTensor *leaf, BurnGradients *gradients, BurnDevice *device) {
  BurnTensor *gradient = burn_grad_remove(leaf, gradients);
  assert_non_null(gradient);
  return burn_require_grad(burn_from_inner(burn_sub(burn_inner(leaf), burn_mul_scalar(gradient, 0.1)), device));
}

static void train(BurnDevice *device, Trained *result) {
  const BurnShape shapes[] = {BURN_SHAPE(5, 7), BURN_SHAPE(7), BURN_SHAPE(7, 3), BURN_SHAPE(3)};
  BurnTensor *leaves[4];
  burn_device_seed(device, 7);
  for (int i = 0; i < 4; i++)
    leaves[i] = burn_require_grad(burn_random_normal(device, shapes[i], BURN_DTYPE_F32, 0, 0.5));
  BurnTensor *x = burn_random_normal(device, BURN_SHAPE(16, 5), BURN_DTYPE_F32, 0, 1);
  BurnTensor *targets = burn_random_uniform(device, BURN_SHAPE(16), BURN_DTYPE_I64, 0, 3);
  for (int step = 0; step < STEPS; step++) {
    BurnTensor *hidden = burn_relu(burn_linear(burn_clone(x), burn_clone(leaves[0]), burn_clone(leaves[1])));
    BurnTensor *kept = burn_dropout(hidden, 0.25);
    BurnTensor *logits = burn_linear(burn_gelu(kept), burn_clone(leaves[2]), burn_clone(leaves[3]));
    BurnTensor *loss = burn_cross_entropy(logits, burn_clone(targets));
    check_status(burn_read_f32(burn_clone(loss), &result->losses[step], 1));
    BurnGradients *gradients = NULL;
    check_status(burn_backward(loss, &gradients));
    for (int i = 0; i < 4; i++) leaves[i] = descend(leaves[i], gradients, device);
    burn_gradients_drop(gradients);
  }
  float *at = result->weights;
  for (int i = 0; i < 4; i++) {
    const size_t count = (size_t)burn_element_count(leaves[i]);
    check_status(burn_read_f32(leaves[i], at, count));
    at += count;
  }
  burn_drop(x);
  burn_drop(targets);
}

static void test_decorators_change_no_number(void **state) {
  (void)state;
  static const char *const stacks[] = {
      "autodiff<ndarray>",
      "trace:format=count,file=/dev/null<autodiff<ndarray>>",
      "autodiff<trace:format=count,file=/dev/null<ndarray>>",
      "trace:format=count,file=/dev/null<autodiff<trace:file=/dev/null<ndarray>>>",
      "validate:determinism=true<autodiff<ndarray>>",
      "autodiff<validate:determinism=true<ndarray>>",
      "validate<trace:format=count,file=/dev/null<autodiff<validate:action=warn<ndarray>>>>",
  };
  static Trained first, other;
  for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
    BurnDevice *device = burn_device_open(stacks[i]);
    check_status(burn_device_status(device));
    train(device, i == 0 ? &first : &other);
    assert_int_equal(burn_device_memory(device).live_tensors, 0);
    burn_device_close(device);
    if (i > 0 && memcmp(&first, &other, sizeof first) != 0)
      fail_msg("%s gives other numbers than %s", stacks[i], stacks[0]);
  }
  assert_true(first.losses[STEPS - 1] < first.losses[0]); /* and they are those of a training */
}

/* -- trace ------------------------------------------------------------------------------------ */

static void test_chrome_trace_is_json(void **state) {
  (void)state;
  char folder[64], stack[160], path[96];
  make_folder(folder);
  snprintf(path, sizeof path, "%s/trace.json", folder);
  snprintf(stack, sizeof stack, "autodiff<trace:format=chrome,file=%s<ndarray>>", path);
  static Trained result;
  BurnDevice *device = burn_device_open(stack);
  check_status(burn_device_status(device));
  train(device, &result);
  burn_device_close(device);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  char *text = calloc(1, 1 << 20);
  assert_non_null(text);
  const size_t bytes = fread(text, 1, (1 << 20) - 1, file);
  fclose(file);
  assert_in_range(bytes, 1000, (1 << 20) - 2);
  cJSON *json = cJSON_Parse(text);
  if (!json) fail_msg("the trace is not JSON: %.300s", text);
  const cJSON *events = cJSON_GetObjectItem(json, "traceEvents"), *event;
  assert_true(cJSON_IsArray(events) && cJSON_GetArraySize(events) > STEPS * 10);
  bool found = false;
  cJSON_ArrayForEach(event, events) {
    const cJSON *name = cJSON_GetObjectItem(event, "name"), *phase = cJSON_GetObjectItem(event, "ph");
    const cJSON *time = cJSON_GetObjectItem(event, "ts"), *duration = cJSON_GetObjectItem(event, "dur");
    assert_true(cJSON_IsString(name) && cJSON_IsString(phase) && strcmp(phase->valuestring, "X") == 0);
    assert_true(cJSON_IsNumber(time) && time->valuedouble >= 0 && cJSON_IsNumber(duration) &&
                duration->valuedouble >= 0);
    const cJSON *shapes = cJSON_GetObjectItem(cJSON_GetObjectItem(event, "args"), "shapes");
    assert_true(cJSON_IsString(shapes));
    found = found || (strcmp(name->valuestring, "linear") == 0 && strstr(shapes->valuestring, "[16,5]"));
  }
  assert_true(found);
  cJSON_Delete(json);
  free(text);
  remove_file(folder, "trace.json");
  rmdir(folder);
}

/* Opens the stack, computes something, closes it: what came to stderr. */
static void run_traced(const char *stack, char *text, size_t bytes) {
  char path[] = "/tmp/burn-trace-XXXXXX";
  const int file = mkstemp(path), saved = dup(STDERR_FILENO);
  assert_true(file >= 0 && saved >= 0 && dup2(file, STDERR_FILENO) >= 0);
  BurnDevice *device = burn_device_open(stack);
  burn_drop(burn_exp(burn_ones(device, BURN_SHAPE(2), 0)));
  burn_device_close(device);
  assert_true(dup2(saved, STDERR_FILENO) >= 0);
  close(saved);
  const ssize_t got = pread(file, text, bytes - 1, 0);
  text[got > 0 ? got : 0] = '\0';
  close(file);
  unlink(path);
}

/* The device that is always full stands for a disk. */
static void test_trace_that_could_not_be_written_is_told(void **state) {
  (void)state;
  static const char *const formats[] = {"text", "count", "chrome"};
  if (access("/dev/full", W_OK) != 0) skip();
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    char stack[96], text[1024];
    snprintf(stack, sizeof stack, "trace:format=%s,file=/dev/full<ndarray>", formats[i]);
    run_traced(stack, text, sizeof text);
    if (!strstr(text, "trace: file '/dev/full' lacks a part of what was traced: No space left on device"))
      fail_msg("%s: \"%s\"", formats[i], text);
  }
}

static void test_counting_trace(void **state) {
  (void)state;
  char folder[64], stack[160], path[96], text[4096] = "";
  make_folder(folder);
  snprintf(path, sizeof path, "%s/trace.txt", folder);
  snprintf(stack, sizeof stack, "trace:format=count,file=%s<ndarray>", path);
  BurnDevice *device = burn_device_open(stack);
  check_status(burn_device_status(device));
  for (int i = 0; i < 3; i++) burn_drop(burn_exp(burn_ones(device, BURN_SHAPE(2), 0)));
  burn_device_close(device);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_true(fread(text, 1, sizeof text - 1, file) > 0);
  fclose(file);
  long calls = -1;
  const char *line = strstr(text, "trace: exp ");
  assert_non_null(line);
  assert_int_equal(sscanf(line, "trace: exp %ld", &calls), 1);
  assert_int_equal(calls, 3);
  line = strstr(text, "trace: all ");
  assert_non_null(line);
  assert_int_equal(sscanf(line, "trace: all %ld", &calls), 1);
  assert_int_equal(calls, 6);
  remove_file(folder, "trace.txt");
  rmdir(folder);
}

/* Below fusion it sees the kernels that ops became, each with what it is. */
static void test_traced_fused_runs(void **state) {
  (void)state;
  char folder[64], stack[160], path[96], text[4096] = "";
  make_folder(folder);
  snprintf(path, sizeof path, "%s/trace.txt", folder);
  snprintf(stack, sizeof stack, "fusion<trace:file=%s<ndarray>>", path);
  BurnDevice *device = burn_device_open(stack);
  check_status(burn_device_status(device));
  float values[2];
  check_status(burn_read_f32(burn_mul_scalar(burn_exp(burn_neg(burn_ones(device, BURN_SHAPE(2), 0))), 2), values, 2));
  burn_device_close(device);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_true(fread(text, 1, sizeof text - 1, file) > 0);
  fclose(file);
  const char *line = strstr(text, "trace: fused ");
  assert_non_null(line);
  assert_non_null(strstr(line, " us  ")); /* the time, then the backend's words for the kernel */
  assert_null(strstr(text, "trace: exp "));
  remove_file(folder, "trace.txt");
  rmdir(folder);
}

int main(void) {
  static const char *const variables[] = {"BURN_BACKEND", "BURN_PLUGIN_PATH", "BURN_PLUGIN_PATH_ONLY"};
  for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) unsetenv(variables[i]);
  setenv(SETTINGS_VARIABLE, NO_FOLDER, 1);
  const struct CMUnitTest tests[] = {
    /* those that fork come first, before this process has threads */
    cmocka_unit_test(test_precedence),
    cmocka_unit_test(test_automatic_choice),
    cmocka_unit_test(test_broken_settings_are_errors),
    cmocka_unit_test(test_plugin_path_in_settings),
    cmocka_unit_test(test_options_in_settings),
#if !defined(_WIN32)
    cmocka_unit_test(test_files_that_are_no_settings),
#endif
    cmocka_unit_test(test_texts_that_open),
    cmocka_unit_test(test_fingerprints),
    cmocka_unit_test(test_texts_that_do_not_open),
    cmocka_unit_test(test_a_text_that_is_too_long),
    cmocka_unit_test(test_default_dtypes),
    cmocka_unit_test(test_open_training),
    cmocka_unit_test(test_inner_device),
    cmocka_unit_test(test_decorators_change_no_number),
    cmocka_unit_test(test_chrome_trace_is_json),
    cmocka_unit_test(test_trace_that_could_not_be_written_is_told),
    cmocka_unit_test(test_counting_trace),
    cmocka_unit_test(test_traced_fused_runs),
    cmocka_unit_test(test_tensors_outlive_the_handle_of_their_device),
  };
  return cmocka_run_group_tests_name("stacks", tests, NULL, NULL);
}
