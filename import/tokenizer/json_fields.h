/* json_fields.h - members of objects of tokenizer.json, which come in any order. */
#ifndef BURN_IMPORT_JSON_FIELDS_H
#define BURN_IMPORT_JSON_FIELDS_H

#include "store_json.h"

/* Passes over the object that begins here; found[i] becomes a reader at the value of names[i], without bytes if there
 * is none. Of a member that stands twice the last counts. */
void burn__json_fields(BurnJson *json, const char *const *names, size_t count, BurnJson *found);
/* The value of one member of an object, which is not passed over. */
BurnJson burn__json_field(const BurnJson *object, const char *name);

/* Whether there is a value that is not null. */
bool burn__json_has(const BurnJson *value);
/* Whether it is this word: true, null. */
bool burn__json_is(const BurnJson *value, const char *word);
/* True or false; `otherwise` if there is none. */
bool burn__json_bool(const BurnJson *value, bool otherwise);
/* A text of less than 64 bytes; empty if there is none. */
typedef struct BurnJsonName {
  char text[64];
} BurnJsonName;
BurnJsonName burn__json_name(BurnJson *value);
/* A number with sign, point and exponent. */
double burn__json_number(BurnJson *json);

#endif
