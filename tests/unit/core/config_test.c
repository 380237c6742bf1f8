/* config_test.c - configs by reflection: defaults, JSON out and in, every message of a refused document, files. */
#include "status_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <burn/config.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- the types under test --------------------------------------------------------------------- */

/* A variant with all four kinds of cases. */
typedef struct Start {
  uint32_t index;
  union {
    double gain;
    size_t one;
    struct {
      double mean, std;
    } normal;
    size_t pair[2];
  } as;
} Start;
static const BurnType *Start_type(void) {
  static const BurnField constant[] = {{"value", BurnF64_type, offsetof(Start, as.gain), "", false}};
  static const BurnField normal[] = {{"mean", BurnF64_type, offsetof(Start, as.normal.mean), "", false},
                                     {"std", BurnF64_type, offsetof(Start, as.normal.std), "", false}};
  static const BurnField one[] = {{NULL, BurnSize_type, offsetof(Start, as.one), "", false}};
  static const BurnField pair[] = {{NULL, BurnSize_type, offsetof(Start, as.pair[0]), "", false},
                                   {NULL, BurnSize_type, offsetof(Start, as.pair[1]), "", false}};
  static const BurnVariant variants[] = {
      {"Zeros", 0, NULL}, {"Constant", 1, constant}, {"Normal", 2, normal}, {"One", 1, one}, {"Pair", 2, pair}};
  static const BurnType type = {BURN_TYPE_VARIANT, "Start", sizeof(Start), 0, NULL, NULL, 5, variants};
  return &type;
}

/* clang-format off */
#define OPTIMIZER_CONFIG(REQ, OPT)               \
  OPT(BurnF64, beta_1, 0.9, "first decay")       \
  OPT(BurnOptionF64, decay, BURN_ABSENT, "none") \
  OPT(BurnOptionSize, steps, BURN_ABSENT_SIZE, "none") \
  OPT(BurnI64, seed, -3, "any integer")
BURN_CONFIG_OPTIONAL(OptimizerConfig, OPTIMIZER_CONFIG);

#define NET_CONFIG(REQ, OPT)                                      \
  OPT(BurnF64, dropout, 0.25, "share dropped")                    \
  REQ(BurnSize, inputs, "features")                               \
  OPT(BurnBool, bias, true, "add a bias")                         \
  REQ(BurnSize, classes, "classes")                               \
  OPT(BurnText, name, {"net"}, "a name")                          \
  OPT(BurnSize2, kernel, {{3 BURN_COMMA 5}}, "height and width")  \
  OPT(Start, start, {0}, "initial values")                        \
  OPT(OptimizerConfig, optimizer, {.beta_1 = 0.5}, "a config inside a config")
/* clang-format on */
#define BURN_COMMA ,
BURN_CONFIG(NetConfig, NET_CONFIG);

static const char defaults_text[] =
    "{\n"
    "  \"inputs\": 784,\n"
    "  \"classes\": 10,\n"
    "  \"dropout\": 0.25,\n"
    "  \"bias\": true,\n"
    "  \"name\": \"net\",\n"
    "  \"kernel\": [3, 5],\n"
    "  \"start\": \"Zeros\",\n"
    "  \"optimizer\": {\n"
    "    \"beta_1\": 0.5,\n"
    "    \"decay\": null,\n"
    "    \"steps\": null,\n"
    "    \"seed\": 0\n"
    "  }\n"
    "}";

/* Writes, reads into another object, compares the texts. */
static void assert_round_trip(NetConfig *config) {
  NetConfig back = NetConfig_defaults(1, 1);
  char *text = burn_config_text(burn_config(NetConfig, config));
  assert_non_null(text);
  check_status(burn_config_parse(burn_config(NetConfig, &back), text));
  char *again = burn_config_text(burn_config(NetConfig, &back));
  assert_non_null(again);
  assert_string_equal(text, again);
  free(text);
  free(again);
}

/* -- tests ------------------------------------------------------------------------------------ */

static void test_defaults(void **state) {
  (void)state;
  NetConfig config = NetConfig_defaults(784, 10);
  assert_int_equal(config.inputs, 784);
  assert_int_equal(config.classes, 10);
  assert_true(config.dropout == 0.25 && config.bias && config.kernel.at[1] == 5);
  assert_string_equal(config.name.text, "net");
  OptimizerConfig optimizer = OptimizerConfig_defaults();
  assert_true(optimizer.beta_1 == 0.9 && !optimizer.decay.present && !optimizer.steps.present && optimizer.seed == -3);
}

/* A config in one expression: fields one by one, values in braces too; what is not named keeps its default. */
static void test_in_one_expression(void **state) {
  (void)state;
  const NetConfig *config = BURN_CONFIG_NEW(NetConfig, 784, 10);
  assert_true(config->dropout == 0.25 && config->bias);
  config = BURN_CONFIG_SET(NetConfig, BURN_CONFIG_NEW(NetConfig, 784, 10), bias, false);
  assert_true(config->dropout == 0.25 && !config->bias);
  config = BURN_CONFIG_SET(NetConfig, BURN_CONFIG_SET(NetConfig, BURN_CONFIG_NEW(NetConfig, 2, 3), kernel, {{7, 9}}),
                           dropout, 0.5);
  assert_true(config->dropout == 0.5 && config->bias && config->kernel.at[0] == 7 && config->kernel.at[1] == 9);
  assert_string_equal(config->name.text, "net");
}

static void test_text_has_required_fields_first(void **state) {
  (void)state;
  NetConfig config = NetConfig_defaults(784, 10);
  char *text = burn_config_text(burn_config(NetConfig, &config));
  assert_string_equal(text, defaults_text);
  free(text);
}

static void test_round_trips(void **state) {
  (void)state;
  NetConfig config = NetConfig_defaults(784, 10);
  assert_round_trip(&config);
  config.start = (Start){1, {.gain = 0.1}};
  assert_round_trip(&config);
  config.start.index = 2;
  config.start.as.normal.mean = 0.1 + 0.2; /* needs 17 digits */
  config.start.as.normal.std = 1e-300;
  assert_round_trip(&config);
  config.start = (Start){3, {.one = 7}};
  assert_round_trip(&config);
  config.start = (Start){4, {.pair = {1, 2}}};
  config.optimizer.decay = (BurnOptionF64){true, -0.0};
  config.optimizer.steps = (BurnOptionSize){true, SIZE_MAX};
  (void)snprintf(config.name.text, sizeof config.name.text, "a \"quoted\" \\ tab\t line\n \xc3\xa9");
  assert_round_trip(&config);
}

/* 0 is a size; null is none, and takes the place of one. */
static void test_sizes_may_be_absent(void **state) {
  (void)state;
  OptimizerConfig config = OptimizerConfig_defaults();
  check_status(burn_config_parse(burn_config(OptimizerConfig, &config), "{\"steps\": 0}"));
  assert_true(config.steps.present && config.steps.value == 0);
  config.steps.value = 20;
  char *text = burn_config_text(burn_config(OptimizerConfig, &config));
  assert_non_null(strstr(text, "\"steps\": 20,"));
  free(text);
  check_status(burn_config_parse(burn_config(OptimizerConfig, &config), "{\"steps\": null}"));
  assert_true(!config.steps.present && config.steps.value == 0);
}

static void test_doubles_survive_exactly(void **state) {
  (void)state;
  const double values[] = {0.1 + 0.2,          1.0 / 3,          5e-324,           1.7976931348623157e308, -0.0,
                           9007199254740993.0, (double)INFINITY, -(double)INFINITY};
  OptimizerConfig config = OptimizerConfig_defaults(), back = config;
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    config.beta_1 = values[i];
    char *text = burn_config_text(burn_config(OptimizerConfig, &config));
    check_status(burn_config_parse(burn_config(OptimizerConfig, &back), text));
    assert_memory_equal(&back.beta_1, &values[i], sizeof(double));
    free(text);
  }
  check_status(burn_config_parse(burn_config(OptimizerConfig, &back), "{\"beta_1\": \"nan\"}"));
  assert_true(isnan(back.beta_1));
}

static void test_integers_beyond_doubles_are_text(void **state) {
  (void)state;
  const int64_t values[] = {
      INT64_MIN, INT64_MAX, -1, 0, (INT64_C(1) << 53) - 1, INT64_C(1) << 53, (INT64_C(1) << 53) + 1};
  OptimizerConfig config = OptimizerConfig_defaults(), back = config;
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    config.seed = values[i];
    char *text = burn_config_text(burn_config(OptimizerConfig, &config));
    bool quoted = strstr(text, "\"seed\": \"") != NULL;
    assert_int_equal(quoted, values[i] >= INT64_C(1) << 53 || values[i] <= -(INT64_C(1) << 53));
    check_status(burn_config_parse(burn_config(OptimizerConfig, &back), text));
    assert_true(back.seed == values[i]);
    free(text);
  }
  NetConfig net = NetConfig_defaults(SIZE_MAX, 1);
  assert_round_trip(&net);
}

static void test_variants_look_as_in_burn(void **state) {
  (void)state;
  const struct {
    Start start;
    const char *text;
  } cases[] = {{{1, {.gain = 2}}, "\"start\": {\n    \"Constant\": {\n      \"value\": 2.0\n    }\n  }"},
               {{3, {.one = 7}}, "\"start\": {\n    \"One\": 7\n  }"},
               {{4, {.pair = {1, 2}}}, "\"start\": {\n    \"Pair\": [1, 2]\n  }"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    NetConfig config = NetConfig_defaults(1, 2);
    config.start = cases[i].start;
    char *text = burn_config_text(burn_config(NetConfig, &config));
    if (!strstr(text, cases[i].text)) fail_msg("no %s in %s", cases[i].text, text);
    free(text);
  }
}

static void test_missing_optional_keys_take_defaults(void **state) {
  (void)state;
  NetConfig config = NetConfig_defaults(1, 1);
  config.dropout = 0.75;
  config.optimizer.beta_1 = 0.1;
  check_status(burn_config_parse(burn_config(NetConfig, &config), "{\"classes\": 3, \"inputs\": 2}"));
  assert_true(config.dropout == 0.25 && config.inputs == 2 && config.classes == 3);
  assert_true(config.optimizer.beta_1 == 0.5); /* the default of the outer field */
  check_status(
      burn_config_parse(burn_config(NetConfig, &config), "{\"classes\": 3, \"inputs\": 2, \"optimizer\": {}}"));
  assert_true(config.optimizer.beta_1 == 0.9); /* present: the defaults of its own type */
  assert_true(config.optimizer.seed == -3);
}

static void test_refused_documents(void **state) {
  (void)state;
#define NEED "\"inputs\": 1, \"classes\": 2"
  const struct {
    const char *json, *message;
  } cases[] = {
      {"{\"inputs\": 1}", "classes: required key is missing"},
      {"{" NEED ", \"hiden\": 3}", "hiden: unknown key"},
      {"{" NEED ", \"optimizer\": {\"beta1\": 3}}", "optimizer.beta1: unknown key. Did you mean 'beta_1'?"},
      {"{" NEED ", \"kernal\": 3}", "kernal: unknown key. Did you mean 'kernel'?"},
      {"{" NEED ", \"inputs\": 3}", "inputs: key stands twice"},
      {"{" NEED ", \"optimizer\": {\"beta_1\": \"x\"}}", "optimizer.beta_1: number expected, found string"},
      {"{" NEED ", \"optimizer\": {\"beta_1\": 1e999}}", "optimizer.beta_1: number is beyond the range of doubles"},
      {"{" NEED ", \"optimizer\": {\"decay\": []}}", "optimizer.decay: number expected, found array"},
      {"{" NEED ", \"optimizer\": {\"steps\": -1}}", "optimizer.steps: 0 or more expected, found -1"},
      {"{" NEED ", \"optimizer\": {\"steps\": \"all\"}}", "optimizer.steps: integer expected, found string \"all\""},
      {"{" NEED ", \"optimizer\": 5}", "optimizer: object expected, found number"},
      {"{" NEED ", \"optimizer\": {\"seed\": 9007199254740993}}",
       "optimizer.seed: integer 9007199254740992 is not exact; from 2^53 on they are written as text"},
      {"{" NEED ", \"optimizer\": {\"seed\": \"9223372036854775808\"}}",
       "optimizer.seed: 9223372036854775808 does not fit 64 bits"},
      {"{" NEED ", \"optimizer\": {\"seed\": \"12x\"}}", "optimizer.seed: integer expected, found string \"12x\""},
      {"{\"classes\": 1, \"inputs\": -4}", "inputs: 0 or more expected, found -4"},
      {"{\"classes\": 1, \"inputs\": 1.5}", "inputs: integer expected, found 1.5"},
      {"{\"classes\": 1, \"inputs\": true}", "inputs: integer expected, found boolean"},
      {"{" NEED ", \"bias\": 1}", "bias: boolean expected, found number"},
      {"{" NEED ", \"bias\": null}", "bias: boolean expected, found null"},
      {"{" NEED ", \"name\": {}}", "name: string expected, found object"},
      {"{" NEED ", \"kernel\": [1]}", "kernel: array of 2 expected, found 1 entries"},
      {"{" NEED ", \"kernel\": [1, \"a\"]}", "kernel[1]: integer expected, found string \"a\""},
      {"{" NEED ", \"kernel\": 3}", "kernel: array expected, found number"},
      {"{" NEED ", \"start\": \"Ones\"}", "start: \"Ones\" is not a case of Start"},
      {"{" NEED ", \"start\": \"Normal\"}", "start.Normal: needs its 2 fields"},
      {"{" NEED ", \"start\": {\"Zeros\": 1}}", "start.Zeros: has no fields"},
      {"{" NEED ", \"start\": {\"Normal\": {\"mean\": 1}}}", "start.Normal.std: required key is missing"},
      {"{" NEED ", \"start\": {\"Normal\": {\"mean\": 1, \"std\": {}}}}",
       "start.Normal.std: number expected, found object"},
      {"{" NEED ", \"start\": {\"Pair\": [1, 2, 3]}}", "start.Pair: array of 2 expected, found 3 entries"},
      {"{" NEED ", \"start\": {}}", "start: name or object of one key expected, found object"},
      {"[]", "object expected, found array"},
      {"{" NEED "} x", "no JSON at byte 28: \"x\""},
      {"{\"inputs\" 1}", "no JSON at byte 10: \"1}\""},
      {"", "no JSON: the text ends at byte 0"},
      {"{\"inputs\": 1", "no JSON: the text ends at byte 12"},
      {"{" NEED ", \"name\": \"a\\u0000b\"}", "zero character in a text at byte 38"},
  };
#undef NEED
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    NetConfig config = NetConfig_defaults(11, 12), before = config;
    BurnStatus status = burn_config_parse(burn_config(NetConfig, &config), cases[i].json);
    assert_int_equal(burn_status_code(status), BURN_STATUS_INVALID_ARGUMENT);
    assert_string_equal(burn_status_message(status), cases[i].message);
    assert_memory_equal(&config, &before, sizeof config); /* as it was */
  }
}

static void test_long_text_is_refused(void **state) {
  (void)state;
  char json[400], longest[256];
  NetConfig config = NetConfig_defaults(1, 2);
  memset(longest, 'x', 255);
  longest[255] = '\0';
  (void)snprintf(json, sizeof json, "{\"inputs\": 1, \"classes\": 2, \"name\": \"%s\"}", longest);
  check_status(burn_config_parse(burn_config(NetConfig, &config), json));
  assert_string_equal(config.name.text, longest);
  (void)snprintf(json, sizeof json, "{\"inputs\": 1, \"classes\": 2, \"name\": \"%sy\"}", longest);
  assert_string_equal(burn_status_message(burn_config_parse(burn_config(NetConfig, &config), json)),
                      "name: at most 255 bytes expected, found 256");
}

static void test_bad_object_is_not_written(void **state) {
  (void)state;
  NetConfig config = NetConfig_defaults(1, 2);
  config.start.index = 9;
  assert_null(burn_config_text(burn_config(NetConfig, &config)));
  BurnStatus status = burn_config_save(burn_config(NetConfig, &config), "never-written.json");
  assert_string_equal(burn_status_message(status), "save never-written.json: start: case 9 of 5 of Start");
  assert_int_not_equal(access("never-written.json", F_OK), 0);
}

static void test_files(void **state) {
  const char *folder = *state;
  char path[256], message[320];
  NetConfig config = NetConfig_defaults(784, 10), back = NetConfig_defaults(1, 1);
  (void)snprintf(path, sizeof path, "%s/config.json", folder);
  check_status(burn_config_save(burn_config(NetConfig, &config), path));
  config.dropout = 0.5;
  check_status(burn_config_save(burn_config(NetConfig, &config), path)); /* over an existing file */
  check_status(burn_config_load(burn_config(NetConfig, &back), path));
  assert_true(back.dropout == 0.5 && back.inputs == 784);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fputs("{\"inputs\": \"many\"}", file) >= 0, 1);
  assert_int_equal(fclose(file), 0);
  (void)snprintf(message, sizeof message, "load %s: inputs: integer expected, found string \"many\"", path);
  assert_string_equal(burn_status_message(burn_config_load(burn_config(NetConfig, &back), path)), message);
  assert_int_equal(unlink(path), 0);
  (void)snprintf(message, sizeof message, "load %s: cannot open: No such file or directory", path);
  BurnStatus status = burn_config_load(burn_config(NetConfig, &back), path);
  assert_string_equal(burn_status_message(status), message);
  assert_int_equal(burn_status_code(status), BURN_STATUS_NOT_FOUND);
  (void)snprintf(message, sizeof message, "save %s: exists and is not a regular file", folder);
  assert_string_equal(burn_status_message(burn_config_save(burn_config(NetConfig, &back), folder)), message);
}

static int make_folder(void **state) {
  static char folder[] = "/tmp/burn-config-test-XXXXXX";
  *state = mkdtemp(folder);
  return *state ? 0 : -1;
}

/* Fails if a test left a file, temporary ones included. */
static int remove_folder(void **state) { return rmdir(*state); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_defaults),
      cmocka_unit_test(test_in_one_expression),
      cmocka_unit_test(test_text_has_required_fields_first),
      cmocka_unit_test(test_round_trips),
      cmocka_unit_test(test_sizes_may_be_absent),
      cmocka_unit_test(test_doubles_survive_exactly),
      cmocka_unit_test(test_integers_beyond_doubles_are_text),
      cmocka_unit_test(test_variants_look_as_in_burn),
      cmocka_unit_test(test_missing_optional_keys_take_defaults),
      cmocka_unit_test(test_refused_documents),
      cmocka_unit_test(test_long_text_is_refused),
      cmocka_unit_test(test_bad_object_is_not_written),
      cmocka_unit_test(test_files),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
