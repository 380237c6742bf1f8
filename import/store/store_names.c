/* store_names.c - names of tensors: renamed, filtered, renumbered. */
#include "store_names.h"

#include "null_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static BurnStatus no_memory(void) { return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for names"); }

/* -- rules ------------------------------------------------------------------------------------ */

static const char *pattern_text(const BurnStoreNames *names, size_t index) {
  if (index < names->rename_count) return names->renames[index].pattern;
  index -= names->rename_count;
  return index < names->include_count ? names->include[index] : names->exclude[index - names->include_count];
}

static BurnStatus list_given(const char *name, const void *list, size_t count) {
  if (list || count == 0) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s is NULL: a list of %zu expected", name, count);
}

static BurnStatus lists_given(const BurnStoreNames *names) {
  BurnStatus status = list_given("renames", names->renames, names->rename_count);
  if (status == BURN_OK) status = list_given("include", names->include, names->include_count);
  if (status == BURN_OK) status = list_given("exclude", names->exclude, names->exclude_count);
  return status;
}

BurnStatus burn__store_rules(const BurnStoreNames *names, BurnStoreRules *out) {
  const size_t count = names->rename_count + names->include_count + names->exclude_count;
  BurnStatus status = lists_given(names);
  *out = (BurnStoreRules){.names = names, .status = status};
  if (status != BURN_OK) return status;
  *out = (BurnStoreRules){.names = names, .patterns = calloc(count + 1, sizeof *out->patterns), .status = BURN_OK};
  if (!out->patterns) return no_memory();
  for (; out->count < count && status == BURN_OK; out->count++)
    out->patterns[out->count] = burn__store_pattern(pattern_text(names, out->count), &status);
  return status;
}

void burn__store_rules_end(BurnStoreRules *rules) {
  for (size_t i = 0; i < rules->count; i++) burn__store_pattern_end(rules->patterns[i]);
  free(rules->patterns);
}

BurnStatus burn__store_rename(const BurnStoreRules *rules, const char *name, char **out) {
  const char *top = rules->names->top_level;
  const size_t length = top ? strlen(top) : 0;
  *out = NULL;
  if (length > 0 && (strncmp(name, top, length) != 0 || name[length] != '.')) return BURN_OK;
  char *current = strdup(name + (length > 0 ? length + 1 : 0));
  BurnStatus status = current ? BURN_OK : no_memory();
  for (size_t i = 0; i < rules->names->rename_count && status == BURN_OK; i++) {
    char *next = NULL;
    status = burn__store_pattern_replace(rules->patterns[i], current, rules->names->renames[i].replacement, &next);
    free(current);
    current = next;
  }
  *out = current;
  return burn_status_annotate(status, "%.200s", name);
}

/* Whether one of the patterns from `first` matches. */
static bool matches_any(BurnStoreRules *rules, size_t first, size_t count, const char *name) {
  bool matches = false;
  for (size_t i = first; i < first + count && !matches && rules->status == BURN_OK; i++)
    rules->status = burn__store_pattern_matches(rules->patterns[i], name, &matches);
  return matches;
}

bool burn__store_is_included(BurnStoreRules *rules, const char *name) {
  const BurnStoreNames *names = rules->names;
  const size_t include = names->rename_count, exclude = include + names->include_count;
  const bool is_in = names->include_count == 0 || matches_any(rules, include, names->include_count, name);
  return is_in && !matches_any(rules, exclude, names->exclude_count, name) && rules->status == BURN_OK;
}

/* -- numbers without gaps --------------------------------------------------------------------- */

/* A number in a name, and what stands before it. */
typedef struct Place {
  const char *name;
  size_t prefix; /* bytes before the number */
  uint64_t number;
} Place;

typedef struct Places {
  Place *items;
  size_t count, capacity;
} Places;

static int compare_places(const void *a, const void *b) {
  const Place *first = a, *second = b;
  const size_t shared = first->prefix < second->prefix ? first->prefix : second->prefix;
  const int order = memcmp(first->name, second->name, shared);
  if (order != 0) return order;
  if (first->prefix != second->prefix) return first->prefix < second->prefix ? -1 : 1;
  return first->number < second->number ? -1 : first->number > second->number;
}

/* The step of a path that begins at `at`, if it is a number of at most 9 digits; *end is where it ends. */
static bool number_at(const char *name, size_t at, size_t *end, uint64_t *number) {
  *end = at + strcspn(name + at, ".");
  const size_t length = *end - at;
  *number = 0;
  if (length == 0 || length > 9 || strspn(name + at, "0123456789") != length) return false;
  for (size_t i = at; i < *end; i++) *number = *number * 10 + (uint64_t)(name[i] - '0');
  return true;
}

static BurnStatus note_places(Places *places, const char *name) {
  uint64_t number = 0;
  for (size_t at = 0, end = 0; name[at]; at = name[end] ? end + 1 : end) {
    if (!number_at(name, at, &end, &number)) continue;
    if (places->count == places->capacity) {
      const size_t capacity = 2 * places->capacity + 64;
      Place *items = realloc(places->items, capacity * sizeof *items);
      if (!items) return no_memory();
      places->items = items;
      places->capacity = capacity;
    }
    places->items[places->count++] = (Place){name, at, number};
  }
  return BURN_OK;
}

/* Sorts the places and keeps each once; its rank among those of its list is then its index less that of the first. */
static void sort_places(Places *places) {
  size_t kept = 0;
  if (places->count) qsort(places->items, places->count, sizeof *places->items, compare_places);
  for (size_t i = 0; i < places->count; i++) {
    if (kept == 0 || compare_places(&places->items[kept - 1], &places->items[i]) != 0)
      places->items[kept++] = places->items[i];
  }
  places->count = kept;
}

static size_t rank_of(const Places *places, const Place *place) {
  const Place lowest = {place->name, place->prefix, 0};
  const Place *found = bsearch(place, places->items, places->count, sizeof *place, compare_places);
  size_t low = 0, high = (size_t)(found - places->items);
  while (low < high) { /* the first place of the list */
    const size_t middle = low + (high - low) / 2;
    if (compare_places(&places->items[middle], &lowest) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return (size_t)(found - places->items) - low;
}

/* The name with every number replaced by its rank; malloc'd. Never longer. */
static char *renumber(const Places *places, const char *name) {
  const size_t bytes = strlen(name) + 1;
  char *out = malloc(bytes);
  size_t used = 0;
  uint64_t number = 0;
  for (size_t at = 0, end = 0; out && name[at]; at = name[end] ? end + 1 : end) {
    const char *point = at > 0 ? "." : "";
    if (number_at(name, at, &end, &number))
      used += (size_t)snprintf(out + used, bytes - used, "%s%zu", point, rank_of(places, &(Place){name, at, number}));
    else
      used += (size_t)snprintf(out + used, bytes - used, "%s%.*s", point, (int)(end - at), name + at);
  }
  return out;
}

static BurnStatus renumber_all(BurnStoreNameList *list) {
  Places places = {NULL, 0, 0};
  char **renumbered = calloc(list->count + 1, sizeof *renumbered); /* the places point into the old names */
  BurnStatus status = renumbered ? BURN_OK : no_memory();
  for (size_t i = 0; i < list->count && status == BURN_OK; i++) status = note_places(&places, list->items[i].name);
  sort_places(&places);
  for (size_t i = 0; i < list->count && status == BURN_OK; i++) {
    renumbered[i] = renumber(&places, list->items[i].name);
    if (!renumbered[i]) status = no_memory();
  }
  for (size_t i = 0; renumbered && i < list->count && renumbered[i]; i++) {
    char *old = list->items[i].name;
    if (status == BURN_OK) list->items[i].name = renumbered[i];
    free(status == BURN_OK ? old : renumbered[i]);
  }
  free(renumbered);
  free(places.items);
  return status;
}

/* -- lists ------------------------------------------------------------------------------------ */

static int compare_named(const void *a, const void *b) {
  return strcmp(((const BurnStoreNamed *)a)->name, ((const BurnStoreNamed *)b)->name);
}

static BurnStatus refuse_equal(const BurnStore *store, const BurnStoreNameList *list) {
  for (size_t i = 1; i < list->count; i++) {
    const BurnStoreNamed *a = &list->items[i - 1], *b = &list->items[i];
    if (strcmp(a->name, b->name) != 0) continue;
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%.100s and %.100s both become %.100s",
                            burn_store_entry(store, a->index)->name, burn_store_entry(store, b->index)->name, a->name);
  }
  return BURN_OK;
}

BurnStatus burn__store_name_sort(const BurnStore *store, BurnStoreNameList *list) {
  if (list->count) qsort(list->items, list->count, sizeof *list->items, compare_named);
  return refuse_equal(store, list);
}

BurnStatus burn__store_name_list(const BurnStore *store, const BurnStoreRules *rules, bool renumbers,
                                 BurnStoreNameList *out) {
  const size_t count = burn_store_count(store);
  *out = (BurnStoreNameList){.items = calloc(count + 1, sizeof *out->items)};
  BurnStatus status = out->items ? BURN_OK : no_memory();
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    char *name = NULL;
    status = burn__store_rename(rules, burn_store_entry(store, i)->name, &name);
    if (name) out->items[out->count++] = (BurnStoreNamed){name, i, 0};
  }
  if (status == BURN_OK && renumbers) status = renumber_all(out);
  return status == BURN_OK ? burn__store_name_sort(store, out) : status;
}

void burn__store_name_list_end(BurnStoreNameList *list) {
  for (size_t i = 0; i < list->count; i++) free(list->items[i].name);
  free(list->items);
}

const BurnStoreNamed *burn__store_name_find(const BurnStoreNameList *list, const char *name) {
  const BurnStoreNamed wanted = {(char *)(uintptr_t)name, 0, 0};
  return list->count ? bsearch(&wanted, list->items, list->count, sizeof wanted, compare_named) : NULL;
}

BurnStatus burn_store_select(const BurnStore *store, const BurnStoreNames *names, bool *chosen) {
  BurnStoreRules rules;
  BurnStatus status = BURN_REQUIRED(names, "a BurnStoreNames");
  if (status == BURN_OK && burn_store_count(store) > 0) status = BURN_REQUIRED(chosen, "room for each tensor");
  if (status != BURN_OK) return status;
  status = burn__store_rules(names, &rules);
  const size_t length = names->top_level ? strlen(names->top_level) : 0;
  for (size_t i = 0; i < burn_store_count(store) && status == BURN_OK; i++) {
    const char *name = burn_store_entry(store, i)->name;
    const bool is_below = length == 0 || (strncmp(name, names->top_level, length) == 0 && name[length] == '.');
    chosen[i] = is_below && burn__store_is_included(&rules, name);
    status = rules.status;
  }
  burn__store_rules_end(&rules);
  return burn_status_annotate(status, "store");
}
