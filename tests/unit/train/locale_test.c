/* locale_test.c - numbers are written with a point, and read, whatever the locale of the program: configs, logs,
 * burn_print, traces, saved calls. The German locale is made for the test in a folder of its own where the system has
 * none. */
#include "learner_testing.h"

#include <cjson/cJSON.h>
#include <locale.h>

#include <burn/text.h>

static Folder locales;

/* False where no locale with a comma can be had. */
static bool enter_comma_locale(void) {
  char command[256];
  if (!setlocale(LC_ALL, "de_DE.UTF-8")) {
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", locales.path);
    if (system(command) == -1 || setenv("LOCPATH", locales.path, 1) != 0 || !setlocale(LC_ALL, "de_DE.UTF-8"))
      return false;
  }
  return strcmp(localeconv()->decimal_point, ",") == 0;
}

static void numbers_have_a_point(void **state) {
  (void)state;
  static const struct {
    double value;
    int digits;
    const char *text;
  } cases[] = {{0.1, 0, "0.1"},
               {-1.5e-7, 3, "-1.5e-07"},
               {1.0 / 3, 0, "0.3333333333333333"},
               {1.0 / 3, 4, "0.3333"},
               {2, 9, "2"},
               {1e300, 0, "1e+300"},
               {(double)NAN, 5, "nan"},
               {-(double)INFINITY, 0, "-inf"}};
  char text[BURN_NUMBER_BYTES], comma[16];
  snprintf(comma, sizeof comma, "%.1f", 1.5);
  assert_string_equal(comma, "1,5"); /* the locale is on */
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_string_equal(burn_number_text(cases[i].value, cases[i].digits, text), cases[i].text);
  }
}

#define NUMBERS_CONFIG(REQ, OPT) \
  OPT(BurnF64, rate, 0.25, "a number") OPT(BurnOptionF64, decay, BURN_ABSENT, "perhaps one")
BURN_CONFIG_OPTIONAL(NumbersConfig, NUMBERS_CONFIG);

static void configs_go_both_ways(void **state) {
  (void)state;
  NumbersConfig config = NumbersConfig_defaults(), back = NumbersConfig_defaults();
  config.rate = 1.5e-5;
  char *text = burn_config_text(burn_config(NumbersConfig, &config));
  assert_non_null(strstr(text, "1.5e-05"));
  check_status(burn_config_parse(burn_config(NumbersConfig, &back), text));
  assert_memory_equal(&back.rate, &config.rate, sizeof back.rate);
  free(text);
}

static char *content_of(const char *path) {
  static char text[1 << 16];
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return text;
}

static void logs_have_two_columns(void **state) {
  (void)state;
  Folder folder = folder_make();
  const Plan plan = {.config = {.epochs = 1, .artifact_dir = folder.path}};
  check_status(train(&plan).status);
  const char *log = content_of(file_in(&folder, "train/epoch-1/Loss.log"));
  size_t lines = 0;
  for (const char *line = log; *line; line = strchr(line, '\n') + 1, lines++) {
    const char *end = strchr(line, '\n'), *comma = memchr(line, ',', (size_t)(end - line));
    assert_non_null(comma);
    assert_null(memchr(comma + 1, ',', (size_t)(end - comma - 1)));
    assert_non_null(memchr(line, '.', (size_t)(comma - line)));
  }
  assert_int_equal(lines, 8);
  folder_remove(folder.path);
}

static void tensors_print_with_points(void **state) {
  (void)state;
  Folder folder = folder_make();
  BurnDevice *device = burn_device_open("ndarray");
  FILE *file = fopen(file_in(&folder, "printed"), "w");
  burn_print_to(file, burn_tensor_f32(device, (const float[]){1.5f, 2.25f}, BURN_SHAPE(2)));
  check_status(burn_set_print_options((BurnPrintOptions){1000, 3, 3}));
  burn_print_to(file, burn_tensor_f32(device, (const float[]){1.5f, 2.25f}, BURN_SHAPE(2)));
  check_status(burn_set_print_options(BURN_PRINT_OPTIONS));
  fclose(file);
  const char *text = content_of(file_in(&folder, "printed"));
  assert_non_null(strstr(text, "[1.5, 2.25]"));
  assert_non_null(strstr(text, "[1.500, 2.250]"));
  burn_device_close(device);
  folder_remove(folder.path);
}

static void trace_with(const char *format, const char *path) {
  char stack[320];
  snprintf(stack, sizeof stack, "trace:format=%s,file=%s<ndarray>", format, path);
  BurnDevice *device = burn_device_open(stack);
  check_status(burn_device_status(device));
  burn_drop(burn_exp(burn_ones(device, BURN_SHAPE(64, 64), BURN_DTYPE_F32)));
  burn_device_close(device);
}

static void traces_have_points(void **state) {
  (void)state;
  Folder folder = folder_make();
  const char *path = file_in(&folder, "trace.json");
  trace_with("chrome", path);
  (void)setlocale(LC_ALL, "C"); /* cJSON reads by the locale */
  cJSON *tree = cJSON_Parse(content_of(path));
  assert_true(enter_comma_locale());
  assert_non_null(tree);
  const cJSON *event = cJSON_GetArrayItem(cJSON_GetObjectItem(tree, "traceEvents"), 0);
  assert_true(cJSON_IsNumber(cJSON_GetObjectItem(event, "ts")) && cJSON_IsNumber(cJSON_GetObjectItem(event, "dur")));
  cJSON_Delete(tree);
  static const struct {
    const char *format, *end; /* of the numbers in the line of exp */
  } cases[] = {{"text", " us"}, {"count", "\n"}};
  for (int i = 0; i < 2; i++) {
    trace_with(cases[i].format, path);
    const char *exp = strstr(content_of(path), "exp"), *end = exp ? strstr(exp, cases[i].end) : NULL;
    assert_non_null(end);
    assert_null(memchr(exp, ',', (size_t)(end - exp)));
    assert_non_null(memchr(exp, '.', (size_t)(end - exp)));
  }
  folder_remove(folder.path);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_have_a_point),  cmocka_unit_test(configs_go_both_ways),
      cmocka_unit_test(logs_have_two_columns), cmocka_unit_test(tensors_print_with_points),
      cmocka_unit_test(traces_have_points),
  };
  (void)argc;
  program = argv[0];
  locales = folder_make();
  if (!enter_comma_locale()) {
    folder_remove(locales.path);
    printf("skipped: there is no locale with a decimal comma, and localedef makes none\n");
    return 0;
  }
  const int failures = cmocka_run_group_tests_name("locale", tests, NULL, NULL);
  folder_remove(locales.path);
  return failures;
}
