/* weights_command_test.c - burn weights: the list, another file, the difference of two. */
#include "burn_command.h"
#include "store_testing.h"

#include "pytorch_golden.h"

static const Made tensors[] = {{"model.fc.weight", 2, {2, 3}, 1}, {"model.fc.bias", 1, {2}, 10}, {"n", 0, {0}, 7}};

static char output[8192];

/* What a command prints, stderr too, in the fixture's folder. */
static void assert_run(const Fixture *fixture, const char *arguments, int wanted, const char *text) {
  char command[1024];
  (void)snprintf(command, sizeof command, "cd '%s' && '%s' weights %s 2>&1", fixture->folder, burn, arguments);
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  output[fread(output, 1, sizeof output - 1, pipe)] = '\0';
  const int status = pclose(pipe);
  assert_string_equal(output, text);
  assert_int_equal(WEXITSTATUS(status), wanted);
}

static void test_list(void **state) {
  const Fixture *fixture = *state;
  assert_run(fixture, "a", 0,
             "a: safetensors\n"
             "tensor           shape              dtype                 bytes\n"
             "model.fc.weight  [2,3]              F32                      24\n"
             "model.fc.bias    [2]                F32                       8\n"
             "n                []                 F32                       4\n"
             "3 tensors, 9 elements in 36 bytes\n");
  int status;
  char command[1024];
  (void)snprintf(command, sizeof command, "'%s' weights '%s' --json", burn, path_in(fixture, "a").text);
  cJSON *root = run_json(command, &status);
  assert_int_equal(status, 0);
  assert_string_equal(text_of(root, "format"), "safetensors");
  assert_int_equal(number(root, "elements"), 9);
  assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "tensors")), 3);
  cJSON_Delete(root);
  assert_run(fixture, "nothing", 1, "burn weights: store: nothing: cannot open: No such file or directory\n");
  assert_run(fixture, "", 2,
             "burn weights: FILE, convert A B or diff A B is expected; 'burn weights --help' tells more\n");
}

/* A name that would be two rows. */
static void test_names_stay_in_their_rows(void **state) {
  const Fixture *fixture = *state;
  static const char header[] = "{\"a\\nforged\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
  char file[8 + sizeof header - 1 + 4] = {(char)(sizeof header - 1)};
  memcpy(file + 8, header, sizeof header - 1);
  assert_int_equal(burn_file_write(path_in(fixture, "forged").text, file, sizeof file), BURN_OK);
  assert_run(fixture, "forged", 0,
             "forged: safetensors\n"
             "tensor    shape              dtype                 bytes\n"
             "a?forged  [1]                F32                       4\n"
             "1 tensors, 1 elements in 4 bytes\n");
}

static void test_convert_and_diff(void **state) {
  const Fixture *fixture = *state;
  need_patterns();
  assert_run(fixture, "convert a b.npz --top-level model --rename '^fc\\.=layer. ^layer\\.bias$=b' --half", 0,
             "b.npz\n");
  assert_run(fixture, "b.npz", 0,
             "b.npz: npz\n"
             "tensor        shape              dtype                 bytes\n"
             "layer.weight  [2,3]              float16                  12\n"
             "b             [2]                float16                   4\n"
             "2 tensors, 8 elements in 16 bytes\n");
  assert_run(fixture, "convert a b.npz", 1,
             "burn weights: store: b.npz: the file is there already; overwrite it, or choose another\n");
  assert_run(fixture, "convert a same.safetensors", 0, "same.safetensors\n");
  assert_run(fixture, "diff a same.safetensors", 0, "3 in both, 0 of them differ; 0 in one only\n");
  assert_run(fixture, "diff a other", 1,
             "differs   model.fc.weight: by up to 4\n"
             "differs   n: [] F32, [2] F32\n"
             "only in A  model.fc.bias: [2] F32\n"
             "2 in both, 2 of them differ; 1 in one only\n");
  assert_run(fixture, "diff a other --filter 'x$'", 0, "0 in both, 0 of them differ; 0 in one only\n");
}

/* Options of scripts are not passed over: all that the lines say stands in the document. */
static void test_json_of_convert_and_diff(void **state) {
  const Fixture *fixture = *state;
  char command[1024];
  int status;
  (void)snprintf(command, sizeof command, "cd '%s' && '%s' weights convert a c.npz --json", fixture->folder, burn);
  cJSON *root = run_json(command, &status);
  assert_int_equal(status, 0);
  assert_string_equal(text_of(root, "file"), "c.npz");
  cJSON_Delete(root);
  (void)snprintf(command, sizeof command, "cd '%s' && '%s' weights diff other a --json", fixture->folder, burn);
  root = run_json(command, &status);
  assert_int_equal(status, 1);
  assert_string_equal(text_of(root, "a"), "other");
  assert_int_equal(number(root, "in_both"), 2);
  const cJSON *differ = cJSON_GetObjectItem(root, "differ"), *alone = cJSON_GetObjectItem(root, "only_in_b");
  assert_int_equal(cJSON_GetArraySize(differ), 2);
  assert_string_equal(text_of(cJSON_GetArrayItem(differ, 0), "name"), "model.fc.weight");
  assert_int_equal(number(cJSON_GetArrayItem(differ, 0), "largest"), 4);
  const cJSON *n = cJSON_GetObjectItem(cJSON_GetArrayItem(differ, 1), "b");
  assert_string_equal(text_of(n, "dtype"), "F32");
  assert_int_equal(number(n, "elements"), 1);
  assert_int_equal(cJSON_GetArraySize(alone), 1);
  assert_string_equal(text_of(cJSON_GetArrayItem(alone, 0), "name"), "model.fc.bias");
  assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "only_in_a")), 0);
  cJSON_Delete(root);
  (void)snprintf(command, sizeof command, "cd '%s' && '%s' weights diff a a --json", fixture->folder, burn);
  root = run_json(command, &status);
  assert_int_equal(status, 0);
  assert_int_equal(number(root, "in_both"), 3);
  cJSON_Delete(root);
}

static void test_what_is_left_out_is_told(void **state) {
  const Fixture *fixture = *state;
  check_status(burn_file_write(path_in(fixture, "l.pt").text, pytorch_left_out, sizeof pytorch_left_out));
  assert_run(fixture, "l.pt", 0,
             "burn weights: l.pt: 4 tensors are left out; the first: b: a key there is no text, integer or bool\n"
             "l.pt: pytorch\n"
             "tensor  shape              dtype                 bytes\n"
             "a       [2]                torch.float32             8\n"
             "1 tensors, 2 elements in 8 bytes\n");
}

static void test_options_that_do_nothing_are_refused(void **state) {
  const Fixture *fixture = *state;
  assert_run(fixture, "a --rename x=y", 2, "burn weights: --rename goes with convert A B\n");
  assert_run(fixture, "a --half", 2, "burn weights: --half goes with convert A B\n");
  assert_run(fixture, "a --format npz", 2, "burn weights: --format goes with convert A B\n");
  assert_run(fixture, "diff a other --overwrite", 2, "burn weights: --overwrite goes with convert A B\n");
}

static void test_renames_are_checked(void **state) {
  const Fixture *fixture = *state;
  char command[32 * 5 + 64] = "convert a b.npz --rename \"";
  assert_run(fixture, "convert a b.npz --rename fc", 1,
             "burn weights: --rename: \"fc\" has no =: PATTERN=REPLACEMENT expected\n");
  for (int i = 0; i < 32; i++) strcat(command, "a=b ");
  assert_run(fixture, strcat(command, "x=y\""), 1, "burn weights: --rename: at most 32, \"x=y\" is one more\n");
}

static int open_files(void **state) {
  static MadeFile file;
  static const Made others[] = {{"model.fc.weight", 2, {2, 3}, 5}, {"n", 1, {2}, 7}};
  if (fixture_open(state) != 0) return -1;
  make_safetensors(&file, tensors, 3);
  check_status(burn_file_write(path_in(*state, "a").text, file.bytes, file.count));
  make_safetensors(&file, others, 2);
  check_status(burn_file_write(path_in(*state, "other").text, file.bytes, file.count));
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_list),
                                     cmocka_unit_test(test_names_stay_in_their_rows),
                                     cmocka_unit_test(test_convert_and_diff),
                                     cmocka_unit_test(test_renames_are_checked),
                                     cmocka_unit_test(test_json_of_convert_and_diff),
                                     cmocka_unit_test(test_what_is_left_out_is_told),
                                     cmocka_unit_test(test_options_that_do_nothing_are_refused)};
  return cmocka_run_group_tests(tests, open_files, fixture_close);
}
