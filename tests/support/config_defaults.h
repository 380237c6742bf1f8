/* config_defaults.h - the defaults of configs, with required rows at zero, against their JSON as a test writes it. A
 * default that is changed by mistake changes what a model trains to, and tests that set what they compute with do not
 * notice. */
#ifndef BURN_TESTS_CONFIG_DEFAULTS_H
#define BURN_TESTS_CONFIG_DEFAULTS_H

#include <burn/config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A config and its JSON without blanks, with ' for ", floats with a point. */
typedef struct ConfigDefaults {
  const BurnType *(*type)(void);
  const char *json;
} ConfigDefaults;

/* The JSON of a config's defaults, written so. */
static inline void config_defaults_text(const BurnType *type, char *text, size_t bytes) {
  void *data = malloc(type->bytes);
  assert_non_null(data);
  memcpy(data, type->defaults, type->bytes);
  char *json = burn_config_text((BurnConfig){type, data});
  assert_non_null(json);
  size_t length = 0;
  for (const char *at = json; *at && length + 1 < bytes; at++) {
    if (*at != ' ' && *at != '\n') text[length++] = *at == '"' ? '\'' : *at;
  }
  text[length] = '\0';
  free(json);
  free(data);
}

static inline void assert_config_defaults(const ConfigDefaults *configs, size_t count) {
  size_t wrong = 0;
  for (size_t i = 0; i < count; i++) {
    char text[1024];
    const BurnType *type = configs[i].type();
    config_defaults_text(type, text, sizeof text);
    if (strcmp(text, configs[i].json) == 0) continue;
    print_error("%s: %s\n  expected %s\n", type->name, text, configs[i].json);
    wrong++;
  }
  assert_int_equal(wrong, 0);
}

#endif
