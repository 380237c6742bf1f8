/* record_load_test.c - loading with options: dtypes, missing and unused tensors, other shapes, the report; in every
 * format. */
#include "reflection_testing.h"

#include <unistd.h>

#define PAIR_FIELDS(X)     \
  X(Dense, conv1, "first") \
  X(Dense, conv2, "second")
BURN_MODULE(Pair, PAIR_FIELDS);

/* The same with a misspelt row and one more. */
#define OTHER_FIELDS(X)     \
  X(Dense, cnov1, "first")  \
  X(Dense, conv2, "second") \
  X(Lookup, extra, "integers")
BURN_MODULE(Other, OTHER_FIELDS);

static const uint32_t named[] = {BURN_RECORD_MPK, BURN_RECORD_MPK_GZ, BURN_RECORD_BPK, BURN_RECORD_JSON,
                                 BURN_RECORD_JSON_GZ};
enum { NAMED = sizeof named / sizeof named[0] };

static Pair pair_make(BurnDevice *device, float start) {
  return (Pair){dense_make(device, start, true), dense_make(device, start + 10, true)};
}

static Other other_make(BurnDevice *device, float start) {
  const int32_t table[] = {1, 2, 3, 4};
  return (Other){dense_make(device, start, true),
                 dense_make(device, start + 10, true),
                 {burn_param(burn_tensor_i32(device, table, BURN_SHAPE(4)))}};
}

typedef struct Saved {
  uint8_t *bytes;
  size_t count;
  BurnRecordConfig config;
} Saved;

static Saved save(BurnModule module, uint32_t format, uint32_t precision) {
  Saved saved = {NULL, 0, {format, precision}};
  check_status(burn_record_to_bytes(module, &saved.config, &saved.bytes, &saved.count));
  return saved;
}

static double first_of(const BurnParam *param) {
  double values[6];
  BurnTensor *x = burn_param_value(param);
  const size_t count = (size_t)burn_element_count(x);
  check_status(burn_read_f64(x, values, count));
  return values[0];
}

static void assert_first(const BurnParam *param, double wanted) {
  const double found = first_of(param);
  if (!(found >= wanted && found <= wanted)) fail_msg("%.17g, expected %.17g", found, wanted);
}

static void assert_report(const BurnRecordReport *report, const char *wanted) {
  char *text = burn_record_report_text(report);
  assert_non_null(text);
  assert_string_equal(text, wanted);
  free(text);
}

/* Without options a record's dtypes are adopted, as in Burn; a cast keeps those of the module. */
static void test_dtypes(void **state) {
  Fixture *fixture = *state;
  const uint32_t formats[] = {BURN_RECORD_MPK, BURN_RECORD_BPK, BURN_RECORD_JSON, BURN_RECORD_BIN};
  const BurnRecordLoad cast = {.dtypes = BURN_DTYPES_CAST_TO_MODULE};
  for (size_t i = 0; i < 4; i++) {
    Pair pair = pair_make(fixture->training, 1), other = pair_make(fixture->training, 2);
    const BurnModule module = burn_module(Pair, &other);
    Saved saved = save(burn_module(Pair, &pair), formats[i], BURN_PRECISION_DOUBLE);
    BurnRecordReport report = {.count = 0};
    check_status(burn_record_from_bytes_with(module, saved.bytes, saved.count, &saved.config, &cast, &report));
    assert_int_equal(burn_dtype(other.conv1.weight.value), BURN_DTYPE_F32);
    assert_report(&report,
                  "loaded      conv1.weight: [2,3] f32, stored as f64\n"
                  "loaded      conv1.bias: [3] f32, stored as f64\n"
                  "loaded      conv2.weight: [2,3] f32, stored as f64\n"
                  "loaded      conv2.bias: [3] f32, stored as f64\n"
                  "4 loaded, 0 missing, 0 unused, 0 mismatched");
    burn_record_report_release(&report);
    check_status(burn_record_from_bytes_with(module, saved.bytes, saved.count, &saved.config, NULL, NULL));
    assert_int_equal(burn_dtype(other.conv1.weight.value), BURN_DTYPE_F64);
    assert_true(burn_is_require_grad(other.conv1.weight.value));
    assert_int_equal(other.conv1.weight.id, pair.conv1.weight.id);
    assert_first(&other.conv2.bias, first_of(&pair.conv2.bias));
    free(saved.bytes);
    Pair_release(&pair);
    Pair_release(&other);
  }
}

/* Loads a Pair into an Other with options. */
static void load_other(Fixture *fixture, uint32_t format, const BurnRecordLoad *options, const char *message,
                       const char *report_text, double conv1, double conv2) {
  Pair pair = pair_make(fixture->plain, 1);
  Other other = other_make(fixture->plain, 500);
  const uint64_t id = other.cnov1.weight.id;
  BurnRecordReport report = {.count = 0};
  Saved saved = save(burn_module(Pair, &pair), format, BURN_PRECISION_FULL);
  BurnStatus status = burn_record_from_bytes_with(burn_module(Other, &other), saved.bytes, saved.count, &saved.config,
                                                  options, &report);
  assert_string_equal(burn_status_message(status), message);
  assert_report(&report, report_text);
  assert_first(&other.cnov1.weight, conv1);
  assert_first(&other.conv2.weight, conv2);
  assert_true(other.cnov1.weight.id == id); /* what is missing keeps its id */
  burn_record_report_release(&report);
  free(saved.bytes);
  Pair_release(&pair);
  Other_release(&other);
}

static void test_missing_and_unused(void **state) {
  static const char report[] =
      "missing     cnov1.weight: [2,3] f32; nearest in the file is conv1.weight\n"
      "missing     cnov1.bias: [3] f32; nearest in the file is conv1.bias\n"
      "loaded      conv2.weight: [2,3] f32\n"
      "loaded      conv2.bias: [3] f32\n"
      "missing     extra.table: [4] i32\n"
      "unused      conv1.bias: [3] f32; nearest in the module is cnov1.bias\n"
      "unused      conv1.weight: [2,3] f32; nearest in the module is cnov1.weight\n"
      "2 loaded, 3 missing, 2 unused, 0 mismatched";
  static const char missing[] =
      "load from bytes: cnov1.weight: in the module, not in the file: [2,3] f32; nearest in the "
      "file is conv1.weight (3 missing, 2 unused, 0 mismatched)";
  static const char unused[] =
      "load from bytes: conv1.bias: in the file, not in the module: [3] f32; nearest in the "
      "module is cnov1.bias (3 missing, 2 unused, 0 mismatched)";
  const BurnRecordLoad partial = {.allow_partial = true}, extra = {.allow_unused = true};
  const BurnRecordLoad both = {.allow_partial = true, .allow_unused = true};
  for (size_t i = 0; i < NAMED; i++) {
    load_other(*state, named[i], NULL, missing, report, 500, 510);
    load_other(*state, named[i], &extra, missing, report, 500, 510);
    load_other(*state, named[i], &partial, unused, report, 500, 510);
    load_other(*state, named[i], &both, "ok", report, 500, 11);
  }
}

/* A tensor of another shape is refused, whatever may be missing; or the module keeps its own. */
static void test_other_shapes(void **state) {
  Fixture *fixture = *state;
  const BurnRecordLoad lenient = {.no_validate = true}, both = {.allow_partial = true, .allow_unused = true};
  for (size_t i = 0; i < NAMED; i++) {
    Pair pair = pair_make(fixture->plain, 1), other = pair_make(fixture->plain, 100);
    const BurnModule module = burn_module(Pair, &other);
    burn_param_set(&pair.conv1.weight, ramp(fixture->plain, 1, BURN_SHAPE(3, 2)));
    Saved saved = save(burn_module(Pair, &pair), named[i], BURN_PRECISION_FULL);
    BurnRecordReport report = {.count = 0};
    BurnStatus status = burn_record_from_bytes_with(module, saved.bytes, saved.count, &saved.config, &both, NULL);
    assert_string_equal(burn_status_message(status),
                        "load from bytes: conv1.weight: shape [2,3] expected, file has [3,2] (0 missing, 0 unused, "
                        "1 mismatched)");
    assert_first(&other.conv2.weight, 110); /* all or nothing */
    check_status(burn_record_from_bytes_with(module, saved.bytes, saved.count, &saved.config, &lenient, &report));
    assert_report(&report,
                  "mismatched  conv1.weight: shape [2,3] expected, file has [3,2]\n"
                  "loaded      conv1.bias: [3] f32\n"
                  "loaded      conv2.weight: [2,3] f32\n"
                  "loaded      conv2.bias: [3] f32\n"
                  "3 loaded, 0 missing, 0 unused, 1 mismatched");
    assert_first(&other.conv1.weight, 100);
    assert_first(&other.conv2.weight, 11);
    burn_record_report_release(&report);
    free(saved.bytes);
    Pair_release(&pair);
    Pair_release(&other);
  }
}

static bool is_conv2(void *context, const char *path) {
  ++*(int *)context;
  return strncmp(path, "conv2", 5) == 0;
}

/* What the filter leaves out is neither missing nor unused, and need not fit. */
static void test_filter(void **state) {
  Fixture *fixture = *state;
  int asked = 0;
  const BurnRecordLoad options = {.filter = is_conv2, .filter_context = &asked};
  Pair pair = pair_make(fixture->plain, 1);
  Other other = other_make(fixture->plain, 500);
  Saved saved = save(burn_module(Pair, &pair), BURN_RECORD_BPK, BURN_PRECISION_FULL);
  BurnRecordReport report = {.count = 0};
  check_status(burn_record_from_bytes_with(burn_module(Other, &other), saved.bytes, saved.count, &saved.config,
                                           &options, &report));
  assert_report(&report,
                "skipped     cnov1.weight: [2,3] f32\n"
                "skipped     cnov1.bias: [3] f32\n"
                "loaded      conv2.weight: [2,3] f32\n"
                "loaded      conv2.bias: [3] f32\n"
                "skipped     extra.table: [4] i32\n"
                "skipped     conv1.bias: [3] f32\n"
                "skipped     conv1.weight: [2,3] f32\n"
                "2 loaded, 0 missing, 0 unused, 0 mismatched, 5 skipped");
  assert_true(asked > 0);
  assert_first(&other.cnov1.weight, 500);
  assert_first(&other.conv2.weight, 11);
  burn_record_report_release(&report);
  free(saved.bytes);
  Pair_release(&pair);
  Other_release(&other);
}

static BurnStatus read_numbers(void *context, void *values) {
  memcpy(values, context, 6 * sizeof(double));
  return BURN_OK;
}

static BurnStatus read_nothing(void *context, void *values) {
  (void)values;
  return burn_status_make(BURN_STATUS_IO, "%s is gone", (const char *)context);
}

/* Tensors of elsewhere are read when their turn comes; ids stay; all or nothing. */
static void test_tensors_of_elsewhere(void **state) {
  Fixture *fixture = *state;
  double numbers[] = {7, 8, 9, 10, 11, 12};
  char gone[] = "the file";
  const BurnRecordLoad cast = {.dtypes = BURN_DTYPES_CAST_TO_MODULE, .allow_partial = true};
  const BurnRecordTensor tensors[] = {
      {"conv1.weight", BURN_DTYPE_F64, BURN_SHAPE(2, 3), read_numbers, numbers},
      {"conv2.weight", BURN_DTYPE_F64, BURN_SHAPE(2, 3), read_nothing, gone},
  };
  Pair pair = pair_make(fixture->plain, 1);
  const uint64_t id = pair.conv1.weight.id;
  const BurnModule module = burn_module(Pair, &pair);
  assert_string_equal(burn_status_message(burn_record_load_tensors(module, tensors, 2, &cast, NULL)),
                      "load: conv2.weight: the file is gone");
  assert_first(&pair.conv1.weight, 1);
  check_status(burn_record_load_tensors(module, tensors, 1, &cast, NULL));
  assert_first(&pair.conv1.weight, 7);
  assert_int_equal(burn_dtype(pair.conv1.weight.value), BURN_DTYPE_F32);
  assert_true(pair.conv1.weight.id == id);
  Pair_release(&pair);
}

/* A .bpk may keep all dtypes; the metadata of the others name one. */
static void test_dtypes_as_they_are(void **state) {
  Fixture *fixture = *state;
  Pair pair = pair_make(fixture->plain, 1), other = pair_make(fixture->plain, 2);
  burn_param_set(&pair.conv1.weight, burn_cast(ramp(fixture->plain, 1, BURN_SHAPE(2, 3)), BURN_DTYPE_BF16));
  Saved saved = save(burn_module(Pair, &pair), BURN_RECORD_BPK, BURN_PRECISION_AS_IS);
  check_status(
      burn_record_from_bytes_with(burn_module(Pair, &other), saved.bytes, saved.count, &saved.config, NULL, NULL));
  assert_int_equal(burn_dtype(other.conv1.weight.value), BURN_DTYPE_BF16);
  assert_int_equal(burn_dtype(other.conv1.bias.value), BURN_DTYPE_F32);
  const BurnRecordConfig refused = {BURN_RECORD_MPK, BURN_PRECISION_AS_IS};
  uint8_t *bytes = NULL;
  size_t count = 0;
  assert_string_equal(burn_status_message(burn_record_to_bytes(burn_module(Pair, &pair), &refused, &bytes, &count)),
                      "save to bytes: only a .bpk keeps the dtypes of its tensors");
  free(saved.bytes);
  Pair_release(&pair);
  Pair_release(&other);
}

/* An integer for a float is not a cast that anybody meant. */
static void test_other_kinds(void **state) {
  Fixture *fixture = *state;
  const int32_t table[] = {1, 2, 3};
  const BurnRecordLoad cast = {.dtypes = BURN_DTYPES_CAST_TO_MODULE}, lenient = {.no_validate = true};
  Pair pair = pair_make(fixture->plain, 1), other = pair_make(fixture->plain, 100);
  const BurnModule module = burn_module(Pair, &other);
  burn_param_set(&pair.conv1.bias, burn_tensor_i32(fixture->plain, table, BURN_SHAPE(3)));
  Saved saved = save(burn_module(Pair, &pair), BURN_RECORD_MPK, BURN_PRECISION_FULL);
  const BurnRecordLoad *const strict[] = {NULL, &cast};
  for (size_t i = 0; i < 2; i++) {
    BurnStatus status = burn_record_from_bytes_with(module, saved.bytes, saved.count, &saved.config, strict[i], NULL);
    assert_string_equal(
        burn_status_message(status),
        "load from bytes: conv1.bias: dtype f32 expected, found i32 (0 missing, 0 unused, 1 mismatched)");
  }
  check_status(burn_record_from_bytes_with(module, saved.bytes, saved.count, &saved.config, &lenient, NULL));
  assert_first(&other.conv1.bias, 150);
  assert_first(&other.conv1.weight, 1);
  free(saved.bytes);
  Pair_release(&pair);
  Pair_release(&other);
}

/* An id that would stand twice, once loaded and once kept, is refused. */
static void test_kept_ids_are_compared(void **state) {
  Fixture *fixture = *state;
  const BurnRecordLoad both = {.allow_partial = true, .allow_unused = true};
  Pair pair = pair_make(fixture->plain, 1);
  Other other = other_make(fixture->plain, 100);
  char wanted[160], id[14];
  other.cnov1.weight.id = pair.conv2.bias.id;
  burn_param_id_text(pair.conv2.bias.id, id);
  Saved saved = save(burn_module(Pair, &pair), BURN_RECORD_MPK, BURN_PRECISION_FULL);
  BurnStatus status =
      burn_record_from_bytes_with(burn_module(Other, &other), saved.bytes, saved.count, &saved.config, &both, NULL);
  (void)snprintf(wanted, sizeof wanted,
                 "load from bytes: cnov1.weight and conv2.bias have the same id, %s; an id belongs to one tensor", id);
  assert_string_equal(burn_status_message(status), wanted);
  assert_first(&other.conv2.weight, 110);
  free(saved.bytes);
  Pair_release(&pair);
  Other_release(&other);
}

/* A .bin says where its structure is another, and no option helps. */
static void test_bin_has_no_names(void **state) {
  Fixture *fixture = *state;
  const BurnRecordLoad both = {.allow_partial = true, .allow_unused = true, .no_validate = true};
  Pair pair = pair_make(fixture->plain, 1);
  Other other = other_make(fixture->plain, 100);
  Saved saved = save(burn_module(Pair, &pair), BURN_RECORD_BIN, BURN_PRECISION_FULL);
  BurnStatus status =
      burn_record_from_bytes_with(burn_module(Other, &other), saved.bytes, saved.count, &saved.config, &both, NULL);
  assert_int_equal(burn_status_code(status), BURN_STATUS_CORRUPT_DATA);
  assert_non_null(strstr(burn_status_message(status), "extra: table: byte "));
  free(saved.bytes);
  Pair_release(&pair);
  Other_release(&other);
}

/* A misspelt field is guessed without options, too. */
static void test_hint_without_options(void **state) {
  Fixture *fixture = *state;
  Pair pair = pair_make(fixture->plain, 1);
  Other other = other_make(fixture->plain, 100);
  Saved saved = save(burn_module(Pair, &pair), BURN_RECORD_JSON, BURN_PRECISION_FULL);
  BurnStatus status = burn_record_from_bytes(burn_module(Other, &other), saved.bytes, saved.count, &saved.config);
  assert_string_equal(burn_status_message(status),
                      "load from bytes: conv1: weights in the file, none in the module. Did you mean 'cnov1'?");
  free(saved.bytes);
  Pair_release(&pair);
  Other_release(&other);
}

static void test_files(void **state) {
  Fixture *fixture = *state;
  char path[128], wanted[256];
  const BurnRecordLoad both = {.allow_partial = true, .allow_unused = true};
  Pair pair = pair_make(fixture->plain, 1);
  Other other = other_make(fixture->plain, 100);
  (void)snprintf(path, sizeof path, "%s/pair.mpk", fixture->folder);
  check_status(burn_record_save(burn_module(Pair, &pair), path, NULL));
  check_status(burn_record_load_with(burn_module(Other, &other), path, NULL, &both, NULL));
  assert_first(&other.conv2.weight, 11);
  BurnStatus status = burn_record_load_with(burn_module(Other, &other), path, NULL, NULL, NULL);
  (void)snprintf(wanted, sizeof wanted, "load %s: cnov1.weight: in the module, not in the file", path);
  assert_non_null(strstr(burn_status_message(status), wanted));
  assert_int_equal(burn_status_code(status), BURN_STATUS_NOT_FOUND);
  assert_int_equal(unlink(path), 0);
  Pair_release(&pair);
  Other_release(&other);
}

static int fixture_teardown(void **state) {
  Fixture *fixture = *state;
  burn_device_close(fixture->plain);
  burn_device_close(fixture->training);
  return rmdir(fixture->folder); /* fails if a test left a file, temporary ones included */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dtypes),
      cmocka_unit_test(test_missing_and_unused),
      cmocka_unit_test(test_other_shapes),
      cmocka_unit_test(test_filter),
      cmocka_unit_test(test_dtypes_as_they_are),
      cmocka_unit_test(test_tensors_of_elsewhere),
      cmocka_unit_test(test_other_kinds),
      cmocka_unit_test(test_kept_ids_are_compared),
      cmocka_unit_test(test_bin_has_no_names),
      cmocka_unit_test(test_hint_without_options),
      cmocka_unit_test(test_files),
  };
  return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
