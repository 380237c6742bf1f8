/* json_fields.c - members of objects. */
#include "json_fields.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 64 };

void burn__json_fields(BurnJson *json, const char *const *names, size_t count, BurnJson *found) {
  bool is_first = true;
  for (size_t i = 0; i < count; i++) found[i] = (BurnJson){.status = BURN_OK};
  burn__json_take(json, '{');
  while (burn__json_more(json, &is_first, '}')) {
    char key[64];
    burn__json_text_into(json, key, sizeof key);
    burn__json_take(json, ':');
    (void)burn__json_peek(json);
    for (size_t i = 0; i < count; i++)
      if (strcmp(key, names[i]) == 0) found[i] = *json;
    burn__json_skip(json);
  }
}

BurnJson burn__json_field(const BurnJson *object, const char *name) {
  BurnJson reader = *object, found;
  burn__json_fields(&reader, &name, 1, &found);
  return found;
}

bool burn__json_is(const BurnJson *value, const char *word) {
  const size_t length = strlen(word);
  return value->bytes != NULL && value->end - value->at >= length &&
         memcmp(value->bytes + value->at, word, length) == 0;
}

bool burn__json_has(const BurnJson *value) { return value->bytes != NULL && !burn__json_is(value, "null"); }

bool burn__json_bool(const BurnJson *value, bool otherwise) {
  if (burn__json_is(value, "true")) return true;
  return burn__json_is(value, "false") ? false : otherwise;
}

BurnJsonName burn__json_name(BurnJson *value) {
  BurnJsonName name = {""};
  if (burn__json_has(value)) burn__json_text_into(value, name.text, sizeof name.text);
  return name;
}

double burn__json_number(BurnJson *json) {
  const char *point = localeconv()->decimal_point;
  char text[NUMBER_BYTES + 8] = "";
  size_t used = 0;
  (void)burn__json_peek(json);
  const size_t begin = json->at;
  for (; json->at < json->end && used < NUMBER_BYTES && json->at - begin < NUMBER_BYTES / 2; json->at++) {
    const char byte = (char)json->bytes[json->at];
    if (strchr("+-.0123456789eE", byte) == NULL || byte == '\0') break;
    if (byte == '.')
      for (size_t i = 0; point[i] != '\0' && i < 8; i++) text[used++] = point[i];
    else
      text[used++] = byte;
  }
  char *end = text;
  const double number = strtod(text, &end);
  if (used == 0 || *end != '\0') burn__json_expected(json, "a number");
  return number;
}
