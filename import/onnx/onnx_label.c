/* onnx_label.c - LabelEncoder of ai.onnx.ml: each element is looked up among keys, and the value beside the key comes
 * out; where there is no such key a default. Keys and values are strings or numbers. Keys are searched on the host. */
#include "onnx_narrow.h"
#include "onnx_strings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A list of strings, integers or floats: one of the three. */
typedef struct Labels {
  OnnxStrings *strings;
  int64_t *ints;
  double *floats;
  size_t count;
} Labels;

static void labels_release(Labels *labels) {
  onnx_strings_release(labels->strings);
  free(labels->ints);
  free(labels->floats);
  *labels = (Labels){0};
}

static void *room(OnnxNode *node, size_t count) {
  void *values = calloc(count + 1, sizeof(double));
  if (!values) onnx_fail(node, burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%zu labels", count));
  return values;
}

static void take_strings(OnnxNode *node, Labels *labels, OnnxStrings *strings, BurnStatus status) {
  if (!strings) onnx_fail(node, status);
  labels->strings = strings;
  labels->count = strings ? strings->count : 0;
}

/* The elements of a tensor, which it takes. */
static void take_numbers(OnnxNode *node, Labels *labels, BurnTensor *x) {
  const bool floats = burn_dtype_kind(burn_dtype(x)) == BURN_KIND_FLOAT;
  const size_t count = (size_t)burn_element_count(x);
  BurnStatus status = burn_tensor_status(x);
  void *values = status == BURN_OK ? room(node, count) : NULL;
  labels->count = values ? count : 0;
  if (floats) labels->floats = values;
  if (!floats) labels->ints = values;
  if (values) {
    status = floats ? burn_read_f64(x, labels->floats, count) : burn_read_i64(x, labels->ints, count);
  } else {
    burn_drop(x);
  }
  if (status != BURN_OK) onnx_fail(node, status);
}

static const Onnx__AttributeProto *named(const OnnxNode *node, const char *prefix, const char *suffix) {
  char name[32];
  snprintf(name, sizeof name, "%s%s", prefix, suffix);
  return onnx_attribute(node, name);
}

/* keys_* or values_*, of which the node has one. */
static void read_labels(OnnxNode *node, const char *prefix, Labels *labels) {
  const Onnx__AttributeProto *strings = named(node, prefix, "_strings"), *ints = named(node, prefix, "_int64s");
  const Onnx__AttributeProto *floats = named(node, prefix, "_floats"), *tensor = named(node, prefix, "_tensor");
  BurnStatus status = BURN_OK;
  if (strings) {
    OnnxStrings *listed = onnx_strings_of_list(strings, &status);
    take_strings(node, labels, listed, status);
  } else if (tensor && tensor->t && tensor->t->data_type == ONNX_STRING) {
    OnnxStrings *listed = onnx_strings_of(tensor->t, &status);
    take_strings(node, labels, listed, status);
  } else if (tensor && tensor->t) {
    take_numbers(node, labels, onnx_tensor(node->device, tensor->t));
  } else if (ints) {
    labels->ints = room(node, ints->n_ints);
    labels->count = labels->ints ? ints->n_ints : 0;
    for (size_t i = 0; i < labels->count; i++) labels->ints[i] = ints->ints[i];
  } else if (floats) {
    labels->floats = room(node, floats->n_floats);
    labels->count = labels->floats ? floats->n_floats : 0;
    for (size_t i = 0; i < labels->count; i++) labels->floats[i] = (double)floats->floats[i];
  } else {
    onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "LabelEncoder: it has no %s", prefix));
  }
}

/* Version 1: classes, whose numbers are their places. */
static void read_classes(OnnxNode *node, const Onnx__AttributeProto *classes, Labels *names, Labels *numbers) {
  BurnStatus status = BURN_OK;
  OnnxStrings *strings = onnx_strings_of_list(classes, &status);
  take_strings(node, names, strings, status);
  numbers->ints = room(node, names->count);
  numbers->count = numbers->ints ? names->count : 0;
  for (size_t i = 0; i < numbers->count; i++) numbers->ints[i] = (int64_t)i;
}

/* Input 0. */
static void read_input(OnnxNode *node, Labels *labels) {
  if (node->strings[0]) {
    take_strings(node, labels, onnx_strings_retain(node->strings[0]), BURN_OK);
  } else {
    take_numbers(node, labels, onnx_input(node, 0));
  }
}

/* -- searching --------------------------------------------------------------------------------- */

/* A key with its place among the keys. */
typedef struct Key {
  const char *text;
  int64_t number;
  double value;
  size_t place;
} Key;

/* NaN is equal to NaN, and after all numbers. */
static int compare_keys(const Key *a, const Key *b) {
  if (a->text) return strcmp(a->text, b->text);
  if (a->number != b->number) return a->number < b->number ? -1 : 1;
  if (isnan(a->value) || isnan(b->value)) return isnan(a->value) - isnan(b->value);
  return (a->value > b->value) - (a->value < b->value);
}

static int by_key(const void *a, const void *b) { return compare_keys(a, b); }

/* Of equal keys the first one counts. */
static int by_key_and_place(const void *lhs, const void *rhs) {
  const Key *a = lhs, *b = rhs;
  const int order = compare_keys(a, b);
  return order ? order : (a->place > b->place) - (a->place < b->place);
}

static Key key_at(const Labels *labels, size_t i) {
  return (Key){.text = labels->strings ? labels->strings->items[i] : NULL,
               .number = labels->ints ? labels->ints[i] : 0,
               .value = labels->floats ? labels->floats[i] : 0,
               .place = i};
}

/* Sorted, each key once; NULL with the node failed. */
static Key *sorted_keys(OnnxNode *node, const Labels *labels, size_t *count) {
  Key *keys = calloc(labels->count + 1, sizeof *keys);
  if (!keys) {
    onnx_fail(node, burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%zu keys", labels->count));
    return NULL;
  }
  for (size_t i = 0; i < labels->count; i++) keys[i] = key_at(labels, i);
  qsort(keys, labels->count, sizeof *keys, by_key_and_place);
  *count = 0;
  for (size_t i = 0; i < labels->count; i++) {
    if (*count == 0 || compare_keys(&keys[*count - 1], &keys[i]) != 0) keys[(*count)++] = keys[i];
  }
  return keys;
}

/* For each element of x the place of its key, or that after the last one where there is none. NULL with the node
 * failed. */
static int64_t *places(OnnxNode *node, const Labels *x, const Labels *labels) {
  size_t count = 0;
  if (!x->strings != !labels->strings || !x->ints != !labels->ints) {
    onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "LabelEncoder: keys and elements differ in dtype"));
    return NULL;
  }
  int64_t *found = room(node, x->count);
  Key *keys = found ? sorted_keys(node, labels, &count) : NULL;
  for (size_t i = 0; keys && i < x->count; i++) {
    const Key wanted = key_at(x, i), *key = bsearch(&wanted, keys, count, sizeof *keys, by_key);
    found[i] = (int64_t)(key ? key->place : labels->count);
  }
  if (!keys) free(found);
  free(keys);
  return keys ? found : NULL;
}

/* -- results ----------------------------------------------------------------------------------- */

/* What comes out where there is no key: default_string; NULL with the node failed. */
static char *default_string(OnnxNode *node) {
  if (onnx_attribute(node, "default_string")) return onnx_string_attribute(node, "default_string");
  char *text = malloc(sizeof "_Unused");
  if (text) memcpy(text, "_Unused", sizeof "_Unused");
  if (!text) onnx_fail(node, burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "default_string"));
  return text;
}

static OnnxRank rank_of_input(const OnnxNode *node) { return node->scalar[0] ? ONNX_RANK_0 : ONNX_RANK_MORE; }

static void give_strings(OnnxNode *node, const Labels *values, const int64_t *at, size_t count, BurnShape shape) {
  OnnxStringsBuilder builder = ONNX_STRINGS_BUILDER;
  const Onnx__AttributeProto *given = onnx_attribute(node, "default_tensor");
  BurnStatus status = BURN_OK;
  OnnxStrings *one = given && given->t ? onnx_strings_of(given->t, &status) : NULL;
  char *otherwise = one ? NULL : default_string(node);
  const char *fallback = one && one->count == 1 ? one->items[0] : otherwise;
  if (status == BURN_OK && one && one->count != 1)
    status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "LabelEncoder: default_tensor is not one string");
  if (status != BURN_OK) onnx_fail(node, status);
  for (size_t i = 0; fallback && i < count; i++) {
    const char *text = (size_t)at[i] < values->count ? values->strings->items[at[i]] : fallback;
    onnx_add_string(&builder, text, strlen(text));
  }
  if (fallback && status == BURN_OK)
    onnx_give_strings(node, 0, onnx_build_strings(&builder, shape), rank_of_input(node));
  onnx_builder_release(&builder);
  onnx_strings_release(one);
  free(otherwise);
}

/* The values with the default after them, of which elements are selected. */
static void give_numbers(OnnxNode *node, const Labels *values, const int64_t *at, size_t count, BurnShape shape) {
  const Onnx__AttributeProto *tensor = onnx_attribute(node, "values_tensor");
  const Onnx__AttributeProto *given = onnx_attribute(node, "default_tensor");
  const int64_t size = (int64_t)values->count;
  BurnTensor *both[2];
  if (tensor && tensor->t) {
    both[0] = burn_reshape(onnx_tensor(node->device, tensor->t), BURN_SHAPE(size));
  } else if (values->ints) {
    both[0] = onnx_i64s(node->device, values->ints, values->count);
  } else {
    both[0] = burn_tensor_f32(node->device, onnx_attribute(node, "values_floats")->floats, BURN_SHAPE(size));
  }
  const BurnDType dtype = burn_dtype(both[0]);
  if (given && given->t) {
    both[1] = burn_reshape(onnx_tensor(node->device, given->t), BURN_SHAPE(1));
  } else if (burn_dtype_kind(dtype) == BURN_KIND_FLOAT) {
    both[1] = burn_full(node->device, BURN_SHAPE(1), dtype, onnx_float(node, "default_float", -0.0));
  } else {
    both[1] = burn_full_i64(node->device, BURN_SHAPE(1), dtype, onnx_int(node, "default_int64", -1));
  }
  BurnTensor *index = onnx_i64s(node->device, at, count);
  onnx_give_rank(node, 0, burn_reshape(burn_select(burn_cat(both, 2, 0), 0, index), shape), rank_of_input(node));
}

MAP(LabelEncoder) {
  Labels x = {0}, keys = {0}, values = {0};
  int64_t *at = NULL;
  const Onnx__AttributeProto *classes = onnx_attribute(node, "classes_strings");
  if (!node->strings[0] && !node->inputs[0]) {
    onnx_not_mapped(node, "LabelEncoder of a sequence");
    return;
  }
  const BurnShape shape = node->strings[0] ? node->strings[0]->shape : burn_shape(node->inputs[0]);
  if (classes) {
    read_classes(node, classes, node->strings[0] ? &keys : &values, node->strings[0] ? &values : &keys);
  } else {
    read_labels(node, "keys", &keys);
    if (node->status == BURN_OK) read_labels(node, "values", &values);
  }
  if (node->status == BURN_OK && keys.count != values.count) {
    onnx_fail(node, burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "LabelEncoder: %zu keys and %zu values", keys.count,
                                     values.count));
  }
  if (node->status == BURN_OK) read_input(node, &x);
  if (node->status == BURN_OK) at = places(node, &x, &keys);
  if (at && values.strings) give_strings(node, &values, at, x.count, shape);
  if (at && !values.strings) give_numbers(node, &values, at, x.count, shape);
  labels_release(&x);
  labels_release(&keys);
  labels_release(&values);
  free(at);
}
