/* module_variant_test.c - modules that may be absent and modules that are one of several: paths, copies, devices,
 * printing, records. */
#include "reflection_testing.h"

#include <unistd.h>

#define CHOICE_CASES(X, Choice)           \
  X(Choice, Drop, Off, "without tensors") \
  X(Choice, Dense, Linear, "[2, 3]")      \
  X(Choice, BurnTestNorm, Norm, "[3]")
BURN_MODULE_VARIANT(Choice, CHOICE_CASES);

#define HOUSE_FIELDS(X)                         \
  X(Choice, choice, "one of three")             \
  X(BurnModuleOption, extra, "a Dense or none") \
  X(BurnModuleList, choices, "of Choice")
BURN_MODULE(House, HOUSE_FIELDS);

static Choice norm_make(BurnDevice *device, float start) {
  return Choice_Norm((BurnTestNorm){burn_param(ramp(device, start, BURN_SHAPE(3))),
                                    burn_buffer(ramp(device, start + 1, BURN_SHAPE(3))), 1e-5});
}

/* choice Linear, extra a Dense, choices Off and Norm. */
static House house_make(BurnDevice *device, float start) {
  Dense extra = dense_make(device, start + 20, false);
  House house = {Choice_Linear(dense_make(device, start, true)), burn_module_option(Dense_type()),
                 burn_module_list(Choice_type(), 2)};
  burn_module_option_set(&house.extra, burn_module(Dense, &extra));
  *(Choice *)burn_module_list_at(&house.choices, 0) = Choice_Off((Drop){0.5});
  *(Choice *)burn_module_list_at(&house.choices, 1) = norm_make(device, start + 40);
  check_status(burn_module_status(burn_module(House, &house)));
  return house;
}

typedef struct Seen {
  char paths[512];
  double values[64];
  size_t count;
} Seen;

static BurnStatus see(void *context, const BurnModuleTensor *tensor) {
  Seen *seen = context;
  BurnTensor *value = tensor->param ? burn_param_value(tensor->param) : burn_buffer_value(tensor->buffer);
  const size_t length = strlen(seen->paths), count = (size_t)burn_element_count(value);
  (void)snprintf(seen->paths + length, sizeof seen->paths - length, "%s %s\n", tensor->path,
                 burn_type_short_name(tensor->layer));
  assert_true(seen->count + count <= 64);
  const BurnStatus status = burn_read_f64(value, seen->values + seen->count, count);
  seen->count += count;
  return status;
}

static Seen seen_of(House *house) {
  Seen seen = {"", {0}, 0};
  check_status(burn_module_visit(burn_module(House, house), see, &seen));
  return seen;
}

static void assert_same(const Seen *a, const Seen *b) {
  assert_string_equal(a->paths, b->paths);
  assert_true(a->count == b->count && memcmp(a->values, b->values, sizeof a->values) == 0);
}

static void test_paths(void **state) {
  Fixture *fixture = *state;
  House house = house_make(fixture->plain, 1);
  const Seen seen = seen_of(&house);
  assert_string_equal(seen.paths,
                      "choice.Linear.weight Dense\nchoice.Linear.bias Dense\nextra.weight Dense\n"
                      "choices.1.Norm.gamma TestNorm\nchoices.1.Norm.running_mean TestNorm\n");
  assert_int_equal(burn_module_num_params(burn_module(House, &house)), 9 + 6 + 6);
  assert_string_equal(house.choice.as.Linear.weight.path, "choice.Linear.weight");
  assert_int_equal(house.choice.kind, Choice_KIND_Linear);
  House_release(&house);
  assert_int_equal(house.choice.kind, Choice_KIND_Off); /* zeroed: the first case */
}

static void test_option(void **state) {
  Fixture *fixture = *state;
  BurnModuleOption option = burn_module_option(Dense_type());
  Dense first = dense_make(fixture->plain, 1, true), second = dense_make(fixture->plain, 2, false);
  const uint64_t id = second.weight.id;
  assert_null(burn_module_option_get(&option));
  burn_module_option_set(&option, burn_module(Dense, &first));
  burn_module_option_set(&option, burn_module(Dense, &second)); /* ends the first */
  assert_true(((Dense *)burn_module_option_get(&option))->weight.id == id);
  burn_module_option_set(&option, burn_module(Dense, NULL));
  assert_null(burn_module_option_get(&option));
  assert_false(option.present);
}

static void test_copies_share_nothing(void **state) {
  Fixture *fixture = *state;
  House house = house_make(fixture->training, 1), copy = House_clone(&house), valid = House_valid(&house), fork;
  burn_module_fork(burn_module(House, &house), fixture->plain, &fork);
  const Seen before = seen_of(&house);
  assert_ptr_not_equal(burn_module_option_get(&house.extra), burn_module_option_get(&copy.extra));
  House_release(&house);
  const Seen cloned = seen_of(&copy), inner = seen_of(&valid), forked = seen_of(&fork);
  assert_same(&before, &cloned);
  assert_same(&before, &inner);
  assert_same(&before, &forked);
  const Dense *extra = burn_module_option_get(&copy.extra), *away = burn_module_option_get(&fork.extra);
  assert_true(burn_is_require_grad(extra->weight.value));
  assert_ptr_equal(burn_tensor_device(away->weight.value), fixture->plain);
  assert_ptr_equal(burn_tensor_device(fork.choice.as.Linear.weight.value), fixture->plain);
  burn_module_freeze(burn_module(House, &copy));
  assert_false(burn_is_require_grad(extra->weight.value) || burn_is_require_grad(copy.choice.as.Linear.bias.value));
  House_release(&copy);
  House_release(&valid);
  House_release(&fork);
}

static void test_variant_alone(void **state) {
  Fixture *fixture = *state;
  Choice choice = norm_make(fixture->training, 1), copy = Choice_clone(&choice), off = Choice_Off((Drop){0.25});
  assert_int_equal(burn_module_num_params(burn_module(Choice, &choice)), 6);
  Choice_release(&choice);
  assert_true(burn_is_require_grad(copy.as.Norm.gamma.value));
  assert_int_equal(burn_module_num_params(burn_module(Choice, &off)), 0);
  Choice_release(&copy);
  off.kind = 3;
  assert_string_equal(burn_status_message(burn_module_status(burn_module(Choice, &off))),
                      "the kind of a Choice is none of its 3 cases");
}

static void test_text(void **state) {
  Fixture *fixture = *state;
  House house = house_make(fixture->plain, 1);
  char *text = burn_module_text(burn_module(House, &house));
  assert_string_equal(text,
                      "House {\n"
                      "  choice: Linear(Dense {weight: [2,3], bias: [3], params: 9})\n"
                      "  extra: Dense {weight: [2,3], bias: none, params: 6}\n"
                      "  choices: [\n"
                      "    0: Off(Drop {prob: 0.5})\n"
                      "    1: Norm(TestNorm {gamma: [3], running_mean: [3], epsilon: 1e-05, params: 6})\n"
                      "  ]\n"
                      "  params: 21\n"
                      "}");
  free(text);
  burn_module_option_set(&house.extra, burn_module(Dense, NULL));
  text = burn_module_text(burn_module(House, &house));
  assert_non_null(strstr(text, "  extra: none\n"));
  free(text);
  House_release(&house);
}

/* -- records ---------------------------------------------------------------------------------- */

static void test_record_layout(void **state) {
  Fixture *fixture = *state;
  House house = house_make(fixture->plain, 1);
  BurnValue *value = burn_value_module(burn_module(House, &house));
  const BurnValue *choice = burn_value_get(value, "choice"), *choices = burn_value_get(value, "choices");
  assert_int_equal(burn_value_count(choice), 1);
  assert_string_equal(burn_value_key_at(choice, 0), "Linear");
  assert_int_equal(burn_value_count(burn_value_at(choice, 0)), 2);
  assert_string_equal(burn_value_key_at(burn_value_at(choices, 0), 0), "Off");
  assert_int_equal(burn_value_kind(burn_value_get(burn_value_at(choices, 0), "Off")), BURN_VALUE_NIL);
  assert_int_equal(burn_value_count(burn_value_get(burn_value_at(choices, 1), "Norm")), 3);
  assert_int_equal(burn_value_kind(burn_value_get(burn_value_get(value, "extra"), "weight")), BURN_VALUE_MAP);
  burn_value_destroy(value);
  burn_module_option_set(&house.extra, burn_module(Dense, NULL));
  value = burn_value_module(burn_module(House, &house));
  assert_int_equal(burn_value_count(value), 3);
  assert_int_equal(burn_value_kind(burn_value_get(value, "extra")), BURN_VALUE_NIL);
  burn_value_destroy(value);
  House_release(&house);
}

static void test_record_round_trip(void **state) {
  Fixture *fixture = *state;
  House house = house_make(fixture->plain, 1), other = house_make(fixture->training, 2);
  char path[96];
  (void)snprintf(path, sizeof path, "%s/house.mpk", fixture->folder);
  check_status(burn_record_save(burn_module(House, &house), path, NULL));
  check_status(burn_record_load(burn_module(House, &other), path, NULL));
  const Seen saved = seen_of(&house), loaded = seen_of(&other);
  assert_same(&saved, &loaded);
  assert_true(other.choice.as.Linear.weight.id == house.choice.as.Linear.weight.id);
  assert_true(burn_is_require_grad(other.choice.as.Linear.weight.value));
  assert_int_equal(unlink(path), 0);
  House_release(&house);
  House_release(&other);
}

/* Loads `value` (taken) into a house and expects the message, and the house as it was. */
static void assert_refused(BurnDevice *device, BurnValue *value, const char *message) {
  House house = house_make(device, 7);
  const Seen before = seen_of(&house);
  assert_string_equal(burn_status_message(burn_value_into_module(value, burn_module(House, &house))), message);
  const Seen after = seen_of(&house);
  assert_same(&before, &after);
  burn_value_destroy(value);
  House_release(&house);
}

/* The record of a house with `child` (taken) in place of its own. */
static BurnValue *with(BurnDevice *device, const char *key, BurnValue *child) {
  House house = house_make(device, 1);
  BurnValue *value = burn_value_module(burn_module(House, &house));
  assert_true(burn_value_set(value, key, child));
  House_release(&house);
  return value;
}

static BurnValue *pair_of(const char *first, const char *second) {
  BurnValue *map = burn_value_map();
  (void)burn_value_set(map, first, burn_value_nil());
  if (second) (void)burn_value_set(map, second, burn_value_nil());
  return map;
}

static void test_records_of_other_cases_are_refused(void **state) {
  Fixture *fixture = *state;
  BurnDevice *device = fixture->plain;
  assert_refused(device, with(device, "choice", pair_of("Norm", NULL)),
                 "choice: the module is Linear, the file has Norm");
  assert_refused(device, with(device, "choice", pair_of("Linear", "Norm")),
                 "choice: one case of Choice expected, file has a map with 2 entries");
  assert_refused(device, with(device, "choice", pair_of("Linear", NULL)),
                 "choice.Linear: fields of Dense expected, file has nil");
  assert_refused(device, with(device, "choice", burn_value_nil()),
                 "choice: one case of Choice expected, file has nil with 0 entries");
  assert_refused(device, with(device, "choice", burn_value_map()),
                 "choice: one case of Choice expected, file has a map with 0 entries");
  assert_refused(device, with(device, "extra", burn_value_nil()), "extra: fields of Dense expected, file has nil");
}

static void test_records_of_absent_modules(void **state) {
  Fixture *fixture = *state;
  House house = house_make(fixture->plain, 1);
  BurnValue *value = burn_value_module(burn_module(House, &house));
  burn_module_option_set(&house.extra, burn_module(Dense, NULL));
  assert_string_equal(burn_status_message(burn_value_into_module(value, burn_module(House, &house))),
                      "extra: weights in the file, none in the module");
  assert_true(burn_value_set(value, "extra", burn_value_nil()));
  check_status(burn_value_into_module(value, burn_module(House, &house)));
  burn_value_destroy(value);
  House_release(&house);
}

static int teardown(void **state) {
  Fixture *fixture = *state;
  burn_device_close(fixture->plain);
  burn_device_close(fixture->training);
  return rmdir(fixture->folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_paths),
      cmocka_unit_test(test_option),
      cmocka_unit_test(test_copies_share_nothing),
      cmocka_unit_test(test_variant_alone),
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_record_layout),
      cmocka_unit_test(test_record_round_trip),
      cmocka_unit_test(test_records_of_other_cases_are_refused),
      cmocka_unit_test(test_records_of_absent_modules),
  };
  return cmocka_run_group_tests(tests, fixture_setup, teardown);
}
