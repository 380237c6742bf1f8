/* store_names.h - names of tensors on their way from a file, or into one. */
#ifndef BURN_IMPORT_STORE_NAMES_H
#define BURN_IMPORT_STORE_NAMES_H

#include "store_pattern.h"

#include <burn/store.h>

/* -- patterns of BurnStoreNames --------------------------------------------------------------- */

/* The patterns of a BurnStoreNames, which outlives it, ready to be used. Start from zeros. */
typedef struct BurnStoreRules {
  const BurnStoreNames *names;
  BurnStorePattern **patterns; /* renames, include, exclude */
  size_t count;
  BurnStatus status; /* the first pattern that could not tell whether it matches; BURN_OK: none */
} BurnStoreRules;

BurnStatus burn__store_rules(const BurnStoreNames *names, BurnStoreRules *out);
void burn__store_rules_end(BurnStoreRules *rules);

/* The name after top level and renames, malloc'd; NULL and BURN_OK if it is not below the top level. */
BurnStatus burn__store_rename(const BurnStoreRules *rules, const char *name, char **out);

/* Whether include and exclude let a name through; false once rules->status has failed. */
bool burn__store_is_included(BurnStoreRules *rules, const char *name);

/* Query, key and value. */
enum { BURN_STORE_PACKED_PARTS = 3 };

/* -- lists of names --------------------------------------------------------------------------- */

/* A tensor under its new name. */
typedef struct BurnStoreNamed {
  char *name;
  size_t index;  /* what it is of; the list's maker knows */
  uint32_t part; /* 0: all of it; 1 .. BURN_STORE_PACKED_PARTS: so many-th part along axis 0 */
} BurnStoreNamed;
typedef struct BurnStoreNameList {
  BurnStoreNamed *items;
  size_t count;
} BurnStoreNameList;

/* The names of a store after the rules, sorted; two that are equal are refused. With `renumbers` numbers in them are
 * counted without gaps, fc.0 and fc.2 as fc.0 and fc.1. */
BurnStatus burn__store_name_list(const BurnStore *store, const BurnStoreRules *rules, bool renumbers,
                                 BurnStoreNameList *out);
/* Sorts a list whose names have changed; two that are equal are refused. */
BurnStatus burn__store_name_sort(const BurnStore *store, BurnStoreNameList *list);
/* Names an attention's tensors of PyTorch as the module does, where it has them so: in_proj_weight becomes three
 * entries, query.weight, key.weight and value.weight, likewise its bias, and out_proj becomes output. store_packed.c */
BurnStatus burn__store_unpack_attention(const BurnStore *store, BurnModule module, BurnStoreNameList *list);
void burn__store_name_list_end(BurnStoreNameList *list);
/* The entry of that name; NULL where there is none. */
const BurnStoreNamed *burn__store_name_find(const BurnStoreNameList *list, const char *name);

#endif
