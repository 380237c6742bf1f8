/* config_json.c - described objects as JSON.
 *
 * cJSON reads; writing is done here, because cJSON prints doubles with a relative tolerance and so loses the last bits.
 * cJSON also keeps every number as a double: integers of 2^53 and more are written as text and refused as numbers.
 * Enums look as Burn's (serde's) do: "Zeros", {"Normal": {"mean": 0.0, "std": 1.0}}, {"Explicit": [1, 1]}, and with a
 * single unnamed field
 * {"Explicit": 3}. Doubles that JSON lacks are the texts "nan", "inf" and "-inf".
 *
 * Locale: Debian's cJSON asks localeconv() for the decimal point when it reads (its option ENABLE_LOCALES), so a
 * program may call setlocale; a locale that another thread changes during the call is not supported. What is written
 * does not depend on the locale. */
#include "config_json.h"

#include <burn/guess.h>

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first integer that is not told apart from its neighbour as a double. */
#define EXACT_LIMIT (UINT64_C(1) << 53)

/* A point in the document, linked upwards; becomes text only in a failure. */
typedef struct Place {
  const struct Place *parent; /* NULL: the root */
  const char *name;           /* NULL: an index */
  size_t index;
} Place;

static const Place root_place = {NULL, NULL, 0};

static void place_text(const Place *place, char *text, size_t bytes) {
  if (!place->parent) {
    text[0] = '\0';
    return;
  }
  place_text(place->parent, text, bytes);
  size_t length = strlen(text);
  if (place->name) {
    (void)snprintf(text + length, bytes - length, "%s%.80s", length ? "." : "", place->name);
  } else {
    (void)snprintf(text + length, bytes - length, "[%zu]", place->index);
  }
}

static BurnStatus fail_at(const Place *place, const char *format, ...) BURN_PRINTF(2, 3);

/* "optimizer.beta_1: message" */
static BurnStatus fail_at(const Place *place, const char *format, ...) {
  char path[320], message[320];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  place_text(place, path, sizeof path);
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s%s%s", path, path[0] ? ": " : "", message);
}

/* -- writing ---------------------------------------------------------------------------------- */

static BurnStatus write_value(BurnTextBuilder *out, const Place *place, const BurnType *type, const void *data,
                              unsigned level);

static void write_integer(BurnTextBuilder *out, bool negative, uint64_t magnitude) {
  const char *quote = magnitude < EXACT_LIMIT ? "" : "\"";
  burn__text_addf(out, "%s%s%" PRIu64 "%s", quote, negative ? "-" : "", magnitude, quote);
}

static void write_double(BurnTextBuilder *out, double value) {
  const char *quote = isfinite(value) ? "" : "\"";
  burn__text_add(out, quote);
  burn__text_number(out, value);
  burn__text_add(out, quote);
}

static void write_sizes(BurnTextBuilder *out, const size_t *values, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    burn__text_add(out, i ? ", " : "[");
    write_integer(out, false, values[i]);
  }
  burn__text_add(out, count ? "]" : "[]");
}

/* One "name": value; `count` members stand before it. */
static BurnStatus write_member(BurnTextBuilder *out, const Place *place, const BurnField *field, const void *data,
                               unsigned level, unsigned count) {
  const Place here = {place, field->name, 0};
  burn__text_add(out, count ? ",\n" : "{\n");
  burn__text_indent(out, level + 1);
  burn__text_add_json(out, field->name, strlen(field->name));
  burn__text_add(out, ": ");
  return write_value(out, &here, field->type(), (const char *)data + field->offset, level + 1);
}

/* Required fields, then the others. */
static BurnStatus write_object(BurnTextBuilder *out, const Place *place, const BurnField *fields, uint32_t field_count,
                               const void *data, unsigned level) {
  BurnStatus status = BURN_OK;
  unsigned written = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (uint32_t i = 0; i < field_count && status == BURN_OK; i++) {
      if (fields[i].required == (pass == 0)) status = write_member(out, place, &fields[i], data, level, written++);
    }
  }
  if (written == 0) {
    burn__text_add(out, "{}");
  } else {
    burn__text_add(out, "\n");
    burn__text_indent(out, level);
    burn__text_add(out, "}");
  }
  return status;
}

static BurnStatus write_unnamed(BurnTextBuilder *out, const Place *place, const BurnVariant *variant, const void *data,
                                unsigned level) {
  BurnStatus status = BURN_OK;
  bool bare = variant->field_count == 1;
  for (uint32_t i = 0; i < variant->field_count && status == BURN_OK; i++) {
    const Place here = {place, NULL, i};
    const BurnField *field = &variant->fields[i];
    if (!bare) burn__text_add(out, i ? ", " : "[");
    status = write_value(out, bare ? place : &here, field->type(), (const char *)data + field->offset, level);
  }
  if (!bare) burn__text_add(out, "]");
  return status;
}

static BurnStatus write_variant(BurnTextBuilder *out, const Place *place, const BurnType *type, const void *data,
                                unsigned level) {
  uint32_t index;
  memcpy(&index, data, sizeof index);
  if (index >= type->count) return fail_at(place, "case %u of %u of %s", index, type->count, type->name);
  const BurnVariant *variant = &type->variants[index];
  const Place here = {place, variant->name, 0};
  if (variant->field_count == 0) {
    burn__text_add_json(out, variant->name, strlen(variant->name));
    return BURN_OK;
  }
  burn__text_add(out, "{\n");
  burn__text_indent(out, level + 1);
  burn__text_add_json(out, variant->name, strlen(variant->name));
  burn__text_add(out, ": ");
  BurnStatus status = variant->fields[0].name
                          ? write_object(out, &here, variant->fields, variant->field_count, data, level + 1)
                          : write_unnamed(out, &here, variant, data, level + 1);
  burn__text_add(out, "\n");
  burn__text_indent(out, level);
  burn__text_add(out, "}");
  return status;
}

static void write_option(BurnTextBuilder *out, const BurnType *type, const void *data) {
  const BurnOptionF64 *number = data;
  const BurnOptionSize *size = data;
  const bool is_size = type->kind == BURN_TYPE_OPTION_SIZE;
  if (!(is_size ? size->present : number->present)) {
    burn__text_add(out, "null");
  } else if (is_size) {
    write_integer(out, false, size->value);
  } else {
    write_double(out, number->value);
  }
}

static BurnStatus write_value(BurnTextBuilder *out, const Place *place, const BurnType *type, const void *data,
                              unsigned level) {
  switch (type->kind) {
    case BURN_TYPE_SIZE:
      write_integer(out, false, *(const size_t *)data);
      return BURN_OK;
    case BURN_TYPE_I64: {
      int64_t value = *(const int64_t *)data;
      write_integer(out, value < 0, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
      return BURN_OK;
    }
    case BURN_TYPE_F64:
      write_double(out, *(const double *)data);
      return BURN_OK;
    case BURN_TYPE_BOOL:
      burn__text_add(out, *(const bool *)data ? "true" : "false");
      return BURN_OK;
    case BURN_TYPE_TEXT:
      burn__text_add_json(out, data, strnlen(data, type->bytes));
      return BURN_OK;
    case BURN_TYPE_SIZES:
      write_sizes(out, data, type->count);
      return BURN_OK;
    case BURN_TYPE_OPTION_F64:
    case BURN_TYPE_OPTION_SIZE:
      write_option(out, type, data);
      return BURN_OK;
    case BURN_TYPE_VARIANT:
      return write_variant(out, place, type, data, level);
    case BURN_TYPE_CONFIG:
      return write_object(out, place, type->fields, type->field_count, data, level);
    default:
      return fail_at(place, "a %s cannot stand in a config", type->name);
  }
}

BurnStatus burn__config_to_json(BurnTextBuilder *out, const BurnType *type, const void *data) {
  return write_value(out, &root_place, type, data, 0);
}

/* -- reading ---------------------------------------------------------------------------------- */

static BurnStatus read_value(const Place *place, const cJSON *json, const BurnType *type, void *out);

static const char *json_kind(const cJSON *json) {
  if (cJSON_IsString(json)) return "string";
  if (cJSON_IsNumber(json)) return "number";
  if (cJSON_IsBool(json)) return "boolean";
  if (cJSON_IsArray(json)) return "array";
  if (cJSON_IsObject(json)) return "object";
  return "null";
}

static BurnStatus wrong_kind(const Place *place, const char *expected, const cJSON *json) {
  return fail_at(place, "%s expected, found %s", expected, json_kind(json));
}

/* Decimal digits with an optional minus; false for anything else and beyond 64 bits. */
static bool parse_integer(const char *text, bool *negative, uint64_t *magnitude) {
  *negative = *text == '-';
  *magnitude = 0;
  if (*negative) text++;
  if (!*text) return false;
  for (; *text; text++) {
    if (*text < '0' || *text > '9') return false;
    uint64_t digit = (uint64_t)(*text - '0');
    if (*magnitude > (UINT64_MAX - digit) / 10) return false;
    *magnitude = *magnitude * 10 + digit;
  }
  return true;
}

static BurnStatus read_integer(const Place *place, const cJSON *json, bool *negative, uint64_t *magnitude) {
  if (cJSON_IsString(json)) {
    if (parse_integer(json->valuestring, negative, magnitude)) return BURN_OK;
    return fail_at(place, "integer expected, found string \"%.40s\"", json->valuestring);
  }
  if (!cJSON_IsNumber(json)) return wrong_kind(place, "integer", json);
  double value = json->valuedouble, size = fabs(value);
  if (!(size < (double)EXACT_LIMIT)) {
    return fail_at(place, "integer %.17g is not exact; from 2^53 on they are written as text", value);
  }
  if (floor(size) < size) return fail_at(place, "integer expected, found %.17g", value);
  *negative = value < 0;
  *magnitude = (uint64_t)size;
  return BURN_OK;
}

static BurnStatus read_size(const Place *place, const cJSON *json, size_t *out) {
  bool negative = false;
  uint64_t magnitude = 0;
  BurnStatus status = read_integer(place, json, &negative, &magnitude);
  if (status != BURN_OK) return status;
  if (negative && magnitude) return fail_at(place, "0 or more expected, found -%" PRIu64, magnitude);
  if (magnitude > SIZE_MAX) return fail_at(place, "%" PRIu64 " does not fit a size", magnitude);
  *out = (size_t)magnitude;
  return BURN_OK;
}

static BurnStatus read_i64(const Place *place, const cJSON *json, int64_t *out) {
  bool negative = false;
  uint64_t magnitude = 0;
  BurnStatus status = read_integer(place, json, &negative, &magnitude);
  if (status != BURN_OK) return status;
  if (magnitude > (uint64_t)INT64_MAX + (negative ? 1u : 0u)) {
    return fail_at(place, "%s%" PRIu64 " does not fit 64 bits", negative ? "-" : "", magnitude);
  }
  *out = !negative ? (int64_t)magnitude : magnitude == 0 ? 0 : -(int64_t)(magnitude - 1) - 1;
  return BURN_OK;
}

static BurnStatus read_double(const Place *place, const cJSON *json, double *out) {
  static const struct {
    const char *name;
    double value;
  } specials[] = {{"nan", (double)NAN}, {"inf", (double)INFINITY}, {"-inf", -(double)INFINITY}};
  for (size_t i = 0; cJSON_IsString(json) && i < sizeof specials / sizeof specials[0]; i++) {
    if (strcmp(json->valuestring, specials[i].name) != 0) continue;
    *out = specials[i].value;
    return BURN_OK;
  }
  if (!cJSON_IsNumber(json)) return wrong_kind(place, "number", json);
  if (!isfinite(json->valuedouble)) return fail_at(place, "number is beyond the range of doubles");
  *out = json->valuedouble;
  return BURN_OK;
}

static BurnStatus read_text(const Place *place, const cJSON *json, BurnText *out) {
  if (!cJSON_IsString(json)) return wrong_kind(place, "string", json);
  size_t length = strlen(json->valuestring);
  if (length >= sizeof out->text) {
    return fail_at(place, "at most %zu bytes expected, found %zu", sizeof out->text - 1, length);
  }
  memset(out, 0, sizeof *out);
  memcpy(out->text, json->valuestring, length);
  return BURN_OK;
}

static BurnStatus read_sizes(const Place *place, const cJSON *json, uint32_t count, size_t *out) {
  if (!cJSON_IsArray(json)) return wrong_kind(place, "array", json);
  if (cJSON_GetArraySize(json) != (int)count) {
    return fail_at(place, "array of %u expected, found %d entries", count, cJSON_GetArraySize(json));
  }
  size_t index = 0;
  BurnStatus status = BURN_OK;
  for (const cJSON *item = json->child; item && status == BURN_OK; item = item->next, index++) {
    const Place here = {place, NULL, index};
    status = read_size(&here, item, &out[index]);
  }
  return status;
}

/* Refuses keys that are not a field and keys that stand twice. */
static BurnStatus unknown_key(const Place *place, const BurnField *fields, uint32_t field_count) {
  BurnGuess guess = burn_guess(place->name);
  for (uint32_t i = 0; i < field_count; i++) burn_guess_add(&guess, fields[i].name);
  return fail_at(place, "unknown key%s%s", guess.best ? "." : "", burn_guess_text(&guess));
}

static BurnStatus check_keys(const Place *place, const cJSON *json, const BurnField *fields, uint32_t field_count) {
  for (const cJSON *item = json->child; item; item = item->next) {
    const Place here = {place, item->string, 0};
    uint32_t i = 0;
    while (i < field_count && strcmp(fields[i].name, item->string) != 0) i++;
    if (i == field_count) return unknown_key(&here, fields, field_count);
    if (cJSON_GetObjectItemCaseSensitive(json, item->string) != item) return fail_at(&here, "key stands twice");
  }
  return BURN_OK;
}

/* Fields that the object lacks keep what `out` holds, unless they are required. */
static BurnStatus read_object(const Place *place, const cJSON *json, const BurnField *fields, uint32_t field_count,
                              bool all_required, void *out) {
  if (!cJSON_IsObject(json)) return wrong_kind(place, "object", json);
  BurnStatus status = check_keys(place, json, fields, field_count);
  for (uint32_t i = 0; i < field_count && status == BURN_OK; i++) {
    const Place here = {place, fields[i].name, 0};
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, fields[i].name);
    if (item) {
      status = read_value(&here, item, fields[i].type(), (char *)out + fields[i].offset);
    } else if (fields[i].required || all_required) {
      status = fail_at(&here, "required key is missing");
    }
  }
  return status;
}

static BurnStatus read_unnamed(const Place *place, const cJSON *json, const BurnVariant *variant, void *out) {
  const BurnField *fields = variant->fields;
  if (variant->field_count == 1) {
    const BurnType *type = fields[0].type();
    bool wrapped = type->kind != BURN_TYPE_SIZES && cJSON_IsArray(json) && cJSON_GetArraySize(json) == 1;
    return read_value(place, wrapped ? json->child : json, type, (char *)out + fields[0].offset);
  }
  if (!cJSON_IsArray(json)) return wrong_kind(place, "array", json);
  if (cJSON_GetArraySize(json) != (int)variant->field_count) {
    return fail_at(place, "array of %u expected, found %d entries", variant->field_count, cJSON_GetArraySize(json));
  }
  size_t index = 0;
  BurnStatus status = BURN_OK;
  for (const cJSON *item = json->child; item && status == BURN_OK; item = item->next, index++) {
    const Place here = {place, NULL, index};
    status = read_value(&here, item, fields[index].type(), (char *)out + fields[index].offset);
  }
  return status;
}

static BurnStatus read_variant(const Place *place, const cJSON *json, const BurnType *type, void *out) {
  const char *name = NULL;
  const cJSON *content = NULL;
  if (cJSON_IsString(json)) {
    name = json->valuestring;
  } else if (cJSON_IsObject(json) && cJSON_GetArraySize(json) == 1) {
    content = json->child;
    name = content->string;
  } else {
    return fail_at(place, "name or object of one key expected, found %s", json_kind(json));
  }
  uint32_t index = 0;
  while (index < type->count && strcmp(type->variants[index].name, name) != 0) index++;
  if (index == type->count) return fail_at(place, "\"%.60s\" is not a case of %s", name, type->name);
  const BurnVariant *variant = &type->variants[index];
  const Place here = {place, variant->name, 0};
  memset(out, 0, type->bytes);
  memcpy(out, &index, sizeof index);
  if (!content) return variant->field_count ? fail_at(&here, "needs its %u fields", variant->field_count) : BURN_OK;
  if (variant->field_count == 0) return fail_at(&here, "has no fields");
  return variant->fields[0].name ? read_object(&here, content, variant->fields, variant->field_count, true, out)
                                 : read_unnamed(&here, content, variant, out);
}

static BurnStatus read_value(const Place *place, const cJSON *json, const BurnType *type, void *out) {
  switch (type->kind) {
    case BURN_TYPE_SIZE:
      return read_size(place, json, out);
    case BURN_TYPE_I64:
      return read_i64(place, json, out);
    case BURN_TYPE_F64:
      return read_double(place, json, out);
    case BURN_TYPE_BOOL:
      if (!cJSON_IsBool(json)) return wrong_kind(place, "boolean", json);
      *(bool *)out = cJSON_IsTrue(json) != 0;
      return BURN_OK;
    case BURN_TYPE_TEXT:
      return read_text(place, json, out);
    case BURN_TYPE_SIZES:
      return read_sizes(place, json, type->count, out);
    case BURN_TYPE_OPTION_F64: {
      BurnOptionF64 *option = out;
      *option = (BurnOptionF64){!cJSON_IsNull(json), 0};
      return option->present ? read_double(place, json, &option->value) : BURN_OK;
    }
    case BURN_TYPE_OPTION_SIZE: {
      BurnOptionSize *option = out;
      *option = (BurnOptionSize){!cJSON_IsNull(json), 0};
      return option->present ? read_size(place, json, &option->value) : BURN_OK;
    }
    case BURN_TYPE_VARIANT:
      return read_variant(place, json, type, out);
    case BURN_TYPE_CONFIG:
      memcpy(out, type->defaults, type->bytes);
      return read_object(place, json, type->fields, type->field_count, false, out);
    default:
      return fail_at(place, "a %s cannot stand in a config", type->name);
  }
}

/* cJSON decodes \u0000 to a byte that ends its C string: what follows would be lost. Returns its position or -1. */
static ptrdiff_t find_zero_escape(const char *json) {
  for (const char *at = strchr(json, '\\'); at; at = strchr(at, '\\')) {
    if (strncmp(at, "\\u0000", 6) == 0) return at - json;
    at += at[1] ? 2 : 1;
  }
  return -1;
}

BurnStatus burn__config_from_json(const char *json, const BurnType *type, void *data) {
  const ptrdiff_t zero = find_zero_escape(json);
  if (zero >= 0) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "zero character in a text at byte %td", zero);
  const char *end = json;
  cJSON *document = cJSON_ParseWithOpts(json, &end, 1);
  if (!document) {
    const size_t byte = (size_t)(end - json);
    if (!*end) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "no JSON: the text ends at byte %zu", byte);
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "no JSON at byte %zu: \"%.20s\"", byte, end);
  }
  BurnStatus status = read_value(&root_place, document, type, data);
  cJSON_Delete(document);
  return status;
}
