/* record_testing.h - the keys of a module's record, as one line. */
#ifndef BURN_RECORD_TESTING_H
#define BURN_RECORD_TESTING_H

#include "nn_testing.h"

/* The keys of a record in order, with what stands there: P parameter, - nil, number of nils of an array. */
BURN_UNUSED static void record_text(BurnModule module, char *text, size_t size) {
  BurnValue *record = burn_value_module(module);
  size_t used = 0;
  text[0] = 0;
  assert_non_null(record);
  for (size_t i = 0; i < burn_value_count(record); i++) {
    const BurnValue *value = burn_value_at(record, i);
    char what[24] = "-";
    if (burn_value_kind(value) == BURN_VALUE_MAP) (void)strcpy(what, burn_value_get(value, "param") ? "P" : "map");
    if (burn_value_kind(value) == BURN_VALUE_ARRAY) (void)snprintf(what, sizeof what, "%zu", burn_value_count(value));
    used += (size_t)snprintf(text + used, size - used, "%s%s:%s", i ? " " : "", burn_value_key_at(record, i), what);
    assert_true(used < size);
  }
  burn_value_destroy(record);
}

/* Ends the module, whose record has these keys. */
BURN_UNUSED static void assert_record(BurnModule module, const char *expected) {
  char text[512];
  record_text(module, text, sizeof text);
  burn_module_release(module);
  assert_string_equal(expected, text);
}

#endif
