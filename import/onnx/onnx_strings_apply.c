/* onnx_strings_apply.c - operators on strings without a word about strings in their mappings: each string becomes a
 * number, the mapping runs on those, and what comes out becomes strings again.
 *
 * Numbers are places in a list of all strings of the inputs, one after the other; of operators for which equality or
 * order counts, places in the sorted list of those that differ. Bytes of UTF-8 sort as code points do. */
#include "onnx_strings.h"

#include <stdlib.h>
#include <string.h>

/* What an operator does with strings. */
typedef enum Use { USE_NONE, USE_VALUES, USE_MOVED, USE_PLACES, USE_EQUAL, USE_ORDERED } Use;

static const struct {
  const char *name;
  Use use;
} uses[] = {
#define ONNX_STRINGS(name, use) {name, USE_##use},
#include "onnx_strings.def"
};

static Use use_of(const char *name) {
  for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++) {
    if (strcmp(uses[i].name, name) == 0) return uses[i].use;
  }
  return USE_NONE;
}

/* The strings that numbers stand for. */
typedef struct Words {
  const char **all;
  size_t count;
  OnnxStrings *held[ONNX_MAX_VALUES]; /* the inputs whose strings these are */
  OnnxList *held_lists[ONNX_MAX_VALUES];
} Words;

static void words_release(Words *words) {
  for (size_t i = 0; i < ONNX_MAX_VALUES; i++) {
    onnx_strings_release(words->held[i]);
    onnx_list_release(words->held_lists[i]);
  }
  free(words->all);
  free(words);
}

static void collect(Words *words, const OnnxStrings *strings) {
  if (!strings) return;
  if (words->all && strings->count) {
    memcpy(words->all + words->count, strings->items, strings->count * sizeof strings->items[0]);
  }
  words->count += strings->count;
}

/* All strings of the inputs; without room for them their number only. */
static void collect_all(Words *words, const OnnxNode *node) {
  words->count = 0;
  for (size_t i = 0; i < node->proto->n_input; i++) {
    collect(words, node->strings[i]);
    for (size_t k = 0; node->lists[i] && k < node->lists[i]->count; k++) collect(words, node->lists[i]->strings[k]);
  }
}

static void sort(Words *words) {
  size_t kept = 0;
  if (words->count) qsort(words->all, words->count, sizeof *words->all, onnx_by_bytes);
  for (size_t i = 0; i < words->count; i++) {
    if (kept == 0 || strcmp(words->all[kept - 1], words->all[i]) != 0) words->all[kept++] = words->all[i];
  }
  words->count = kept;
}

/* NULL without memory. */
static Words *words_of(const OnnxNode *node, bool sorted) {
  Words *words = calloc(1, sizeof *words);
  if (!words) return NULL;
  collect_all(words, node);
  words->all = calloc(words->count + 1, sizeof *words->all);
  if (!words->all) {
    words_release(words);
    return NULL;
  }
  collect_all(words, node);
  if (sorted) sort(words);
  return words;
}

/* -- there ------------------------------------------------------------------------------------- */

/* The numbers of strings; places begin with *next, which goes on after them. */
static BurnTensor *numbers(const OnnxNode *node, const Words *words, const OnnxStrings *strings, bool sorted,
                           int64_t *next) {
  int64_t *values = calloc(strings->count + 1, sizeof *values);
  if (!values) return burn_tensor_failed(burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%zu strings", strings->count));
  for (size_t i = 0; i < strings->count; i++) {
    const char *const *found =
        sorted ? bsearch(&strings->items[i], words->all, words->count, sizeof *words->all, onnx_by_bytes) : NULL;
    values[i] = sorted ? found - words->all : (*next)++;
  }
  BurnTensor *x = burn_tensor_i64(node->device, values, strings->shape);
  free(values);
  return x;
}

/* A sequence of numbers in place of one with strings. */
static OnnxList *list_of_numbers(const OnnxNode *node, const Words *words, const OnnxList *list, bool sorted,
                                 int64_t *next) {
  OnnxList *made = onnx_list_new(list->count);
  for (size_t i = 0; made && i < list->count; i++) {
    made->scalar[i] = list->scalar[i];
    made->items[i] = list->strings[i] ? numbers(node, words, list->strings[i], sorted, next)
                     : list->items[i] ? burn_clone(list->items[i])
                                      : NULL;
  }
  return made;
}

static void put_numbers(OnnxNode *node, Words *words, bool sorted) {
  int64_t next = 0;
  for (size_t i = 0; i < node->proto->n_input; i++) {
    if (node->strings[i]) {
      node->inputs[i] = numbers(node, words, node->strings[i], sorted, &next);
      words->held[i] = node->strings[i];
      node->strings[i] = NULL;
    }
    if (node->lists[i]) {
      words->held_lists[i] = node->lists[i];
      node->lists[i] = list_of_numbers(node, words, words->held_lists[i], sorted, &next);
      if (!node->lists[i]) onnx_fail(node, burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a sequence"));
    }
  }
}

/* -- and back ---------------------------------------------------------------------------------- */

/* Takes the numbers. NULL, with the node failed, if they cannot be read or had been changed. */
static OnnxStrings *strings_of(OnnxNode *node, const Words *words, BurnTensor *x) {
  const BurnShape shape = burn_shape(x);
  const size_t count = (size_t)burn_element_count(x);
  int64_t *values = calloc(count + 1, sizeof *values);
  OnnxStringsBuilder builder = ONNX_STRINGS_BUILDER;
  BurnStatus status = burn_tensor_status(x);
  if (status == BURN_OK && !values) status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%zu strings", count);
  if (status == BURN_OK) {
    status = burn_read_i64(x, values, count);
  } else {
    burn_drop(x);
  }
  for (size_t i = 0; status == BURN_OK && i < count; i++) {
    const bool known = values[i] >= 0 && (uint64_t)values[i] < words->count;
    if (known) onnx_add_string(&builder, words->all[values[i]], strlen(words->all[values[i]]));
    if (!known) status = burn_status_make(BURN_STATUS_INTERNAL, "%s: there is no such string", node->proto->op_type);
  }
  free(values);
  OnnxStrings *strings = status == BURN_OK ? onnx_build_strings(&builder, shape) : NULL;
  onnx_builder_release(&builder);
  if (status == BURN_OK && !strings) status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, ONNX_NO_STRINGS, count);
  if (status != BURN_OK) onnx_fail(node, status);
  return strings;
}

static void take_numbers(OnnxNode *node, const Words *words, size_t outputs) {
  for (size_t i = 0; i < outputs && i < node->proto->n_output; i++) {
    if (node->outputs[i]) node->output_strings[i] = strings_of(node, words, burn_move(&node->outputs[i]));
    OnnxList *list = node->output_lists[i];
    for (size_t k = 0; list && k < list->count; k++) {
      if (list->items[k]) list->strings[k] = strings_of(node, words, burn_move(&list->items[k]));
    }
  }
}

void onnx_apply_to_strings(const OnnxOperator *op, OnnxNode *node) {
  const Use use = use_of(op->name);
  if (use == USE_NONE) {
    onnx_not_mapped(node, "%s does not take strings here", op->name);
    return;
  }
  if (use == USE_VALUES) {
    op->map(node);
    return;
  }
  const bool sorted = use == USE_EQUAL || use == USE_ORDERED;
  Words *words = words_of(node, sorted);
  if (!words) {
    onnx_fail(node, burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for strings"));
    return;
  }
  put_numbers(node, words, sorted);
  if (node->status == BURN_OK) op->map(node);
  if (node->status == BURN_OK && !node->reason[0] && (use == USE_MOVED || use == USE_ORDERED)) {
    take_numbers(node, words, use == USE_MOVED ? ONNX_MAX_VALUES : 1);
  }
  words_release(words);
}
