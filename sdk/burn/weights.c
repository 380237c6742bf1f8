/* weights.c - burn weights: what a file of weights holds, as another file, and how it differs from another. */
#include "command.h"

#include <burn/store.h>
#include <burn/text.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the options say. */
typedef struct Options {
  const char *filter, *exclude, *top_level, *renames, *format;
  bool json, half, overwrite;
} Options;

/* The names of a store by the options; the patterns are borrowed from them. */
static BurnStoreNames names_of(const Options *options) {
  return (BurnStoreNames){.top_level = options->top_level,
                          .include = &options->filter,
                          .include_count = options->filter ? 1 : 0,
                          .exclude = &options->exclude,
                          .exclude_count = options->exclude ? 1 : 0};
}

static int fail(BurnStatus status) { return command_fail("weights", status); }

static double elements_of(const BurnStoreEntry *entry) {
  double elements = 1;
  for (uint32_t i = 0; i < entry->shape.rank; i++) elements *= (double)entry->shape.dims[i];
  return elements;
}

/* "[]" for what has no axes. */
static const char *shape_of(const BurnStoreEntry *entry, BurnShapeText *text) {
  *text = burn_shape_text(entry->scalar ? (BurnShape){.rank = 0} : entry->shape);
  return text->text;
}

/* A text of the file, which may be any bytes, as it may be printed; lives until the next call. */
static const char *cleaned(const char *text, char *(*apply)(char *)) {
  static char copy[1024];
  (void)snprintf(copy, sizeof copy, "%s", text);
  return apply(copy);
}

/* A name, which is part of a row. */
static const char *clean(const char *name) { return cleaned(name, burn_text_clean_name); }

/* -- listing ---------------------------------------------------------------------------------- */

static cJSON *entry_json(const BurnStoreEntry *entry) {
  cJSON *row = cJSON_CreateObject();
  cJSON_AddStringToObject(row, "name", clean(entry->name));
  cJSON_AddStringToObject(row, "dtype", entry->file_dtype);
  cJSON *shape = cJSON_AddArrayToObject(row, "shape");
  for (uint32_t i = 0; i < entry->shape.rank && !entry->scalar; i++)
    cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)entry->shape.dims[i]));
  cJSON_AddNumberToObject(row, "elements", elements_of(entry));
  cJSON_AddNumberToObject(row, "bytes", (double)entry->bytes);
  cJSON_AddBoolToObject(row, "readable", entry->dtype != BURN_DTYPE_DEFAULT);
  return row;
}

static void add_metadata(cJSON *object, const char *key, const BurnValue *value) {
  switch (burn_value_kind(value)) {
    case BURN_VALUE_TEXT:
      cJSON_AddStringToObject(object, key, cleaned(burn_value_as_text(value, ""), burn_text_clean));
      break;
    case BURN_VALUE_BOOL:
      cJSON_AddBoolToObject(object, key, burn_value_as_bool(value, false));
      break;
    case BURN_VALUE_INT:
    case BURN_VALUE_FLOAT:
      cJSON_AddNumberToObject(object, key, burn_value_as_float(value, 0));
      break;
    default: /* a list or a tensor: only that it is there */
      cJSON_AddNullToObject(object, key);
  }
}

static cJSON *list_json(const BurnStore *store, const char *path, const bool *chosen) {
  cJSON *root = cJSON_CreateObject();
  double elements = 0, bytes = 0;
  const BurnValue *metadata = burn_store_metadata(store);
  cJSON_AddStringToObject(root, "file", path);
  cJSON_AddStringToObject(root, "format", burn_store_format(store));
  cJSON *map = cJSON_AddObjectToObject(root, "metadata");
  for (size_t i = 0; i < burn_value_count(metadata); i++)
    add_metadata(map, burn_value_key_at(metadata, i), burn_value_at(metadata, i));
  cJSON *tensors = cJSON_AddArrayToObject(root, "tensors");
  for (size_t i = 0; i < burn_store_count(store); i++) {
    if (!chosen[i]) continue;
    cJSON_AddItemToArray(tensors, entry_json(burn_store_entry(store, i)));
    elements += elements_of(burn_store_entry(store, i));
    bytes += (double)burn_store_entry(store, i)->bytes;
  }
  cJSON_AddNumberToObject(root, "elements", elements);
  cJSON_AddNumberToObject(root, "bytes", bytes);
  return root;
}

static void list_text(const BurnStore *store, const char *path, const bool *chosen) {
  int width = 6;
  size_t count = 0;
  double elements = 0, bytes = 0;
  BurnShapeText shape;
  for (size_t i = 0; i < burn_store_count(store); i++) {
    const int length = (int)strlen(clean(burn_store_entry(store, i)->name));
    if (chosen[i] && length > width) width = length;
  }
  printf("%s: %s\n%-*s  %-18s %-14s %12s\n", path, burn_store_format(store), width, "tensor", "shape", "dtype",
         "bytes");
  for (size_t i = 0; i < burn_store_count(store); i++) {
    const BurnStoreEntry *entry = burn_store_entry(store, i);
    if (!chosen[i]) continue;
    printf("%-*s  %-18s %-14s %12llu\n", width, clean(entry->name), shape_of(entry, &shape), entry->file_dtype,
           (unsigned long long)entry->bytes);
    elements += elements_of(entry);
    bytes += (double)entry->bytes;
    count++;
  }
  printf("%zu tensors, %.0f elements in %.0f bytes\n", count, elements, bytes);
}

/* Which tensors the options choose; malloc'd, NULL with the reason in *status. */
static bool *choose(const BurnStore *store, const Options *options, BurnStatus *status) {
  const BurnStoreNames names = names_of(options);
  bool *chosen = calloc(burn_store_count(store) + 1, sizeof *chosen);
  *status = chosen ? burn_store_select(store, &names, chosen)
                   : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a list");
  if (*status == BURN_OK) return chosen;
  free(chosen);
  return NULL;
}

/* A store whose file has been read whole, or what is not in it is told. */
static BurnStore *open_store(const char *path, BurnStatus *status) {
  BurnStore *store = burn_store_open(path, status);
  const char *first = "";
  const size_t count = burn_store_left_out(store, &first);
  if (count > 0)
    fprintf(stderr, "burn weights: %s: %zu tensor%s left out; the first: %s\n", path, count,
            count == 1 ? " is" : "s are", clean(first));
  return store;
}

static int list(const char *path, const Options *options) {
  BurnStatus status = BURN_OK;
  BurnStore *store = open_store(path, &status);
  bool *chosen = store ? choose(store, options, &status) : NULL;
  int result = COMMAND_OK;
  if (chosen && options->json) result = command_print_json(list_json(store, path, chosen));
  if (chosen && !options->json) list_text(store, path, chosen);
  free(chosen);
  burn_store_close(store);
  return status == BURN_OK ? result : fail(status);
}

/* -- converting ------------------------------------------------------------------------------- */

enum { RENAMES = 32 };

/* "A=B C=D" as renames, cut up in place. */
static BurnStatus read_renames(char *text, BurnStoreRename *renames, size_t *count) {
  for (char *at = strtok(text, " "); at; at = strtok(NULL, " ")) {
    char *equal = strchr(at, '=');
    if (!equal)
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                              "--rename: \"%.80s\" has no =: PATTERN=REPLACEMENT expected", at);
    if (*count == RENAMES)
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "--rename: at most %d, \"%.80s\" is one more", RENAMES, at);
    *equal = '\0';
    renames[(*count)++] = (BurnStoreRename){at, equal + 1};
  }
  return BURN_OK;
}

static int convert(const char *from, const char *to, const Options *options) {
  BurnStoreRename renames[RENAMES];
  BurnStoreSave save = {.format = options->format,
                        .names = names_of(options),
                        .floats = options->half ? BURN_DTYPE_F16 : BURN_DTYPE_DEFAULT,
                        .overwrite = options->overwrite};
  char *text = strdup(options->renames ? options->renames : "");
  if (!text) return fail(burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for names"));
  save.names.renames = renames;
  BurnStatus status = read_renames(text, renames, &save.names.rename_count);
  BurnStore *store = status == BURN_OK ? open_store(from, &status) : NULL;
  if (store) status = burn_store_convert(store, to, &save);
  burn_store_close(store);
  free(text);
  if (status != BURN_OK) return fail(status);
  if (!options->json) {
    printf("%s\n", to);
    return COMMAND_OK;
  }
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "file", to);
  return command_print_json(root);
}

/* -- comparing -------------------------------------------------------------------------------- */

/* The values of a tensor as doubles; malloc'd. */
static BurnStatus read_values(const BurnStore *store, const BurnStoreEntry *entry, BurnDevice *device, double **out) {
  BurnTensor *x = burn_store_tensor(store, entry->name, device);
  const size_t count = (size_t)burn_element_count(x);
  *out = malloc((count ? count : 1) * sizeof **out);
  if (*out) return burn_read_f64(x, *out, count);
  burn_drop(x);
  return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu numbers", count);
}

/* The largest distance of two lists of values; NaN stands for NaN. */
static double distance(const double *a, const double *b, size_t count) {
  double largest = 0;
  for (size_t i = 0; i < count; i++) {
    if (isnan(a[i]) && isnan(b[i])) continue;
    const double apart = a[i] == b[i] ? 0 : fabs(a[i] - b[i]);
    if (isnan(apart) || apart > largest) largest = apart;
    if (isnan(largest)) break;
  }
  return largest;
}

/* How two files compare. Each difference is printed as it is found, or added to the lists of `json` if there is one. */
typedef struct Difference {
  cJSON *json;
  size_t both, differ, alone;
} Difference;

/* Of another shape or dtype. */
static void tell_kind(Difference *found, const BurnStoreEntry *x, const BurnStoreEntry *y) {
  BurnShapeText first, second;
  found->differ++;
  if (!found->json) {
    printf("differs   %s: %s %s, %s %s\n", clean(x->name), shape_of(x, &first), x->file_dtype, shape_of(y, &second),
           y->file_dtype);
    return;
  }
  cJSON *row = cJSON_CreateObject();
  cJSON_AddStringToObject(row, "name", clean(x->name));
  cJSON_AddItemToObject(row, "a", entry_json(x));
  cJSON_AddItemToObject(row, "b", entry_json(y));
  cJSON_AddItemToArray(cJSON_GetObjectItem(found->json, "differ"), row);
}

/* Of other values, `apart` at most; NaN, which JSON has not, becomes null. */
static void tell_values(Difference *found, const BurnStoreEntry *x, double apart) {
  found->differ++;
  if (!found->json) {
    printf("differs   %s: by up to %.6g\n", clean(x->name), apart);
    return;
  }
  cJSON *row = cJSON_CreateObject();
  cJSON_AddStringToObject(row, "name", clean(x->name));
  cJSON_AddNumberToObject(row, "largest", apart);
  cJSON_AddItemToArray(cJSON_GetObjectItem(found->json, "differ"), row);
}

static BurnStatus compare(const BurnStore *a, const BurnStore *b, const BurnStoreEntry *x, const BurnStoreEntry *y,
                          BurnDevice *device, Difference *found) {
  BurnShapeText first, second;
  double *values = NULL, *others = NULL;
  found->both++;
  if (strcmp(shape_of(x, &first), shape_of(y, &second)) != 0 || x->dtype != y->dtype) {
    tell_kind(found, x, y);
    return BURN_OK;
  }
  BurnStatus status = read_values(a, x, device, &values);
  if (status == BURN_OK) status = read_values(b, y, device, &others);
  const double apart = status == BURN_OK ? distance(values, others, (size_t)elements_of(x)) : 0;
  if (apart != 0) tell_values(found, x, apart);
  free(values);
  free(others);
  return status;
}

/* The tensors of `a`, which is called `which`, that `b` lacks. */
static void tell_lacking(Difference *found, const BurnStore *a, const bool *chosen, const BurnStore *b, char which) {
  const char *key = which == 'A' ? "only_in_a" : "only_in_b";
  cJSON *list = found->json ? cJSON_AddArrayToObject(found->json, key) : NULL;
  for (size_t i = 0; i < burn_store_count(a); i++) {
    const BurnStoreEntry *entry = burn_store_entry(a, i);
    BurnShapeText shape;
    if (!chosen[i] || burn_store_find(b, entry->name) < burn_store_count(b)) continue;
    found->alone++;
    if (list) {
      cJSON_AddItemToArray(list, entry_json(entry));
    } else {
      printf("only in %c  %s: %s %s\n", which, clean(entry->name), shape_of(entry, &shape), entry->file_dtype);
    }
  }
}

static BurnStatus compare_all(const BurnStore *a, const BurnStore *b, const bool *in_a, const bool *in_b,
                              Difference *found) {
  BurnDevice *device = burn_device_open("ndarray");
  BurnStatus status = burn_device_status(device);
  for (size_t i = 0; i < burn_store_count(a) && status == BURN_OK; i++) {
    const BurnStoreEntry *entry = burn_store_entry(a, i);
    const size_t other = burn_store_find(b, entry->name);
    if (!in_a[i] || other == burn_store_count(b)) continue;
    status = compare(a, b, entry, burn_store_entry(b, other), device, found);
  }
  burn_device_close(device);
  if (status != BURN_OK) return status;
  tell_lacking(found, a, in_a, b, 'A');
  tell_lacking(found, b, in_b, a, 'B');
  return BURN_OK;
}

static cJSON *difference_json(const char *path_a, const char *path_b) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "a", path_a);
  cJSON_AddStringToObject(root, "b", path_b);
  cJSON_AddArrayToObject(root, "differ");
  return root;
}

/* The last line, or the document; the exit status. */
static int tell_end(const Difference *found) {
  const int result = found->differ + found->alone > 0 ? COMMAND_FAILED : COMMAND_OK;
  if (!found->json) {
    printf("%zu in both, %zu of them differ; %zu in one only\n", found->both, found->differ, found->alone);
    return result;
  }
  cJSON_AddNumberToObject(found->json, "in_both", (double)found->both);
  const int printed = command_print_json(found->json);
  return printed == COMMAND_OK ? result : printed;
}

static int diff(const char *path_a, const char *path_b, const Options *options) {
  BurnStatus status = BURN_OK;
  Difference found = {.json = options->json ? difference_json(path_a, path_b) : NULL};
  BurnStore *a = open_store(path_a, &status), *b = open_store(path_b, &status);
  bool *in_a = a && b ? choose(a, options, &status) : NULL, *in_b = in_a ? choose(b, options, &status) : NULL;
  if (in_b) status = compare_all(a, b, in_a, in_b, &found);
  free(in_a);
  free(in_b);
  burn_store_close(a);
  burn_store_close(b);
  if (status == BURN_OK) return tell_end(&found);
  cJSON_Delete(found.json);
  return fail(status);
}

/* -- the command ------------------------------------------------------------------------------ */

/* Only convert writes: who gives the others an option of it means something else than what would happen. */
static bool writes_nothing(const Options *options) {
  const char *option = options->renames     ? "rename"
                       : options->format    ? "format"
                       : options->half      ? "half"
                       : options->overwrite ? "overwrite"
                                            : NULL;
  if (option) fprintf(stderr, "burn weights: --%s goes with convert A B\n", option);
  return option == NULL;
}

static int run(const char *const positions[3], const Options *options) {
  const char *word = positions[0];
  const bool converts = word && positions[2] && strcmp(word, "convert") == 0;
  if (!converts && !writes_nothing(options)) return COMMAND_USAGE;
  if (converts) return convert(positions[1], positions[2], options);
  if (word && !positions[1]) return list(word, options);
  if (word && positions[2] && strcmp(word, "diff") == 0) return diff(positions[1], positions[2], options);
  fprintf(stderr, "burn weights: FILE, convert A B or diff A B is expected; 'burn weights --help' tells more\n");
  return COMMAND_USAGE;
}

int command_weights(int argc, char **argv) {
  static const char usage[] =
      "usage: burn weights FILE [options]\n"
      "       burn weights convert A B [options]\n"
      "       burn weights diff A B [options]\n\n"
      "Lists the tensors of a file of weights without reading them, writes them as a file of the format that the\n"
      "extension of B says (.safetensors, .bpk, .npz, .pt), or compares two files value by value: exit status 1 where\n"
      "they differ. The format of what is read is told by its content; a FILE may be a folder with a model in parts.";
  const char *positions[3] = {NULL, NULL, NULL};
  Options options = {.filter = NULL};
  const Argument arguments[] = {
      {"filter", ARGUMENT_TEXT, &options.filter, "RE", "only tensors in whose name the regular expression matches"},
      {"exclude", ARGUMENT_TEXT, &options.exclude, "RE", "but none in whose name this one does"},
      {"top-level", ARGUMENT_TEXT, &options.top_level, "KEY", "only tensors below this key; convert cuts it off"},
      {"rename", ARGUMENT_TEXT, &options.renames, "\"RE=NEW ..\"", "convert: every match becomes NEW, in this order"},
      {"format", ARGUMENT_TEXT, &options.format, "NAME",
       "convert: safetensors, bpk, npz or pt, whatever B's extension"},
      {"half", ARGUMENT_FLAG, &options.half, NULL, "convert: floats as f16"},
      {"overwrite", ARGUMENT_FLAG, &options.overwrite, NULL, "convert: B may exist"},
      {"json", ARGUMENT_FLAG, &options.json, NULL, "one JSON document"}};
  int status;
  if (!command_parse(argc, argv, usage, arguments, sizeof arguments / sizeof *arguments, positions, 3, &status))
    return status;
  return run(positions, &options);
}
