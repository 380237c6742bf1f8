/* inspect.c - burn inspect: what a record file holds: its tensors with shapes and statistics, numbers, metadata. */
#include "command.h"

#include <burn/record.h>
#include <burn/text.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name, *extension;
} formats[] = {
    [BURN_RECORD_MPK] = {"named MessagePack", "mpk"},
    [BURN_RECORD_MPK_GZ] = {"named MessagePack, gzipped", "mpk.gz"},
    [BURN_RECORD_BPK] = {"Burnpack", "bpk"},
    [BURN_RECORD_JSON] = {"JSON", "json"},
    [BURN_RECORD_JSON_GZ] = {"JSON, gzipped", "json.gz"},
    [BURN_RECORD_BIN] = {"bincode", "bin"},
    [BURN_RECORD_BIN_GZ] = {"bincode, gzipped", "bin.gz"},
};
static const char no_names[] = "no names and types are in it: only a program with the module can read its tensors";

/* -- statistics ------------------------------------------------------------------------------- */

typedef struct Statistics {
  double min, max, mean, std; /* of what is a number; NaN where nothing is */
  size_t nan_count;
} Statistics;

/* Two passes: the mean first, then the mean square of the distances from it. */
static Statistics statistics_of(const double *values, size_t count) {
  Statistics s = {(double)NAN, (double)NAN, (double)NAN, (double)NAN, 0};
  double sum = 0, squares = 0;
  for (size_t i = 0; i < count; i++) {
    if (isnan(values[i])) {
      s.nan_count++;
      continue;
    }
    s.min = isnan(s.min) || values[i] < s.min ? values[i] : s.min;
    s.max = isnan(s.max) || values[i] > s.max ? values[i] : s.max;
    sum += values[i];
  }
  if (s.nan_count == count) return s;
  s.mean = sum / (double)(count - s.nan_count);
  for (size_t i = 0; i < count; i++)
    if (!isnan(values[i])) squares += (values[i] - s.mean) * (values[i] - s.mean);
  s.std = sqrt(squares / (double)(count - s.nan_count));
  return s;
}

/* -- the document ----------------------------------------------------------------------------- */

typedef struct Inspection {
  BurnDevice *device;
  cJSON *tensors, *scalars;
  double elements, bytes, parameters;
} Inspection;

/* A number, or the text "inf", "-inf" where JSON has none; null for NaN. */
static void add_number(cJSON *object, const char *name, double value) {
  if (isinf(value))
    cJSON_AddStringToObject(object, name, value > 0 ? "inf" : "-inf");
  else
    cJSON_AddNumberToObject(object, name, value);
}

static void add_shape(cJSON *row, const BurnTensor *x) {
  cJSON *shape = cJSON_AddArrayToObject(row, "shape");
  for (int i = 0; i < (int)burn_rank(x); i++) cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)burn_dim(x, i)));
}

static BurnStatus add_statistics(cJSON *row, BurnTensor *x, size_t count) {
  double *values = malloc((count ? count : 1) * sizeof *values);
  if (!values) {
    burn_drop(x);
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu numbers", count);
  }
  BurnStatus status = burn_read_f64(x, values, count);
  if (status == BURN_OK) {
    const Statistics s = statistics_of(values, count);
    add_number(row, "min", s.min);
    add_number(row, "max", s.max);
    add_number(row, "mean", s.mean);
    add_number(row, "std", s.std);
    cJSON_AddNumberToObject(row, "nan", (double)s.nan_count);
  }
  free(values);
  return status;
}

/* `id` is NULL where the file has none. */
static BurnStatus add_tensor(Inspection *inspection, const char *path, const BurnValue *value, const char *id) {
  BurnTensor *x = burn_value_as_tensor(value, inspection->device);
  BurnStatus status = burn_tensor_status(x);
  if (status != BURN_OK) {
    burn_drop(x);
    return burn_status_annotate(status, "%.200s", path);
  }
  const size_t count = (size_t)burn_element_count(x);
  BurnQuantScheme scheme;
  const bool is_quantized = burn_value_is_quantized(value, &scheme);
  const size_t bytes = is_quantized ? burn_quant_bytes(burn_shape(x), scheme) : count * burn_dtype_bytes(burn_dtype(x));
  cJSON *row = cJSON_CreateObject();
  cJSON_AddStringToObject(row, "name", path);
  cJSON_AddStringToObject(row, "dtype",
                          is_quantized ? burn_quant_value_name(scheme.value) : burn_dtype_name(burn_dtype(x)));
  add_shape(row, x);
  cJSON_AddNumberToObject(row, "elements", (double)count);
  cJSON_AddNumberToObject(row, "bytes", (double)bytes);
  if (id) cJSON_AddStringToObject(row, "id", id);
  cJSON_AddItemToArray(inspection->tensors, row);
  inspection->elements += (double)count;
  inspection->bytes += (double)bytes;
  if (id && burn_dtype_kind(burn_dtype(x)) == BURN_KIND_FLOAT) inspection->parameters += (double)count;
  return burn_status_annotate(add_statistics(row, x, count), "%.200s", path);
}

/* A text of the file's, which may be any bytes. */
static void add_text(cJSON *object, const char *name, const char *text) {
  cJSON *key = cJSON_CreateString(name), *clean = cJSON_CreateString(text);
  cJSON_AddStringToObject(object, burn_text_clean_name(key->valuestring), burn_text_clean(clean->valuestring));
  cJSON_Delete(key);
  cJSON_Delete(clean);
}

static void add_scalar(cJSON *scalars, const char *path, const BurnValue *value) {
  switch (burn_value_kind(value)) {
    case BURN_VALUE_BOOL:
      cJSON_AddBoolToObject(scalars, path, burn_value_as_bool(value, false));
      break;
    case BURN_VALUE_TEXT:
      add_text(scalars, path, burn_value_as_text(value, ""));
      break;
    case BURN_VALUE_INT:
    case BURN_VALUE_FLOAT:
      add_number(scalars, path, burn_value_as_float(value, 0));
      break;
    default: /* nil: a constant of a module, which a record does not keep */
      break;
  }
}

static BurnStatus walk(Inspection *inspection, const char *path, const BurnValue *value);

/* With `of_param` all but its id and tensor: the factors of an adapter, the scale of a quantized input. */
static BurnStatus walk_children(Inspection *inspection, const char *path, const BurnValue *list, bool of_param) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < burn_value_count(list) && status == BURN_OK; i++) {
    const char *key = burn_value_key_at(list, i);
    if (of_param && (strcmp(key, "id") == 0 || strcmp(key, "param") == 0)) continue;
    const size_t bytes = strlen(path) + (key ? strlen(key) : 20) + 2;
    char *child = malloc(bytes);
    if (!child) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a name");
    if (key)
      (void)snprintf(child, bytes, "%s%s%s", path, path[0] ? "." : "", key);
    else
      (void)snprintf(child, bytes, "%s%s%zu", path, path[0] ? "." : "", i);
    status = walk(inspection, burn_text_clean_name(child), burn_value_at(list, i));
    free(child);
  }
  return status;
}

static BurnStatus walk(Inspection *inspection, const char *path, const BurnValue *value) {
  const BurnValue *param = burn_value_get(value, "param");
  const char *id = burn_value_as_text(burn_value_get(value, "id"), NULL);
  const uint32_t kind = burn_value_kind(value);
  if (kind == BURN_VALUE_TENSOR) return add_tensor(inspection, path, value, NULL);
  if (burn_value_kind(param) == BURN_VALUE_TENSOR && id) {
    const BurnStatus status = add_tensor(inspection, path, param, id);
    return status == BURN_OK ? walk_children(inspection, path, value, true) : status;
  }
  if (kind == BURN_VALUE_MAP || kind == BURN_VALUE_ARRAY) return walk_children(inspection, path, value, false);
  add_scalar(inspection->scalars, path, value);
  return BURN_OK;
}

static cJSON *metadata_json(const BurnValue *metadata) {
  cJSON *object = cJSON_CreateObject();
  for (size_t i = 0; i < burn_value_count(metadata); i++)
    add_text(object, burn_value_key_at(metadata, i), burn_value_as_text(burn_value_at(metadata, i), "?"));
  return object;
}

/* NULL with a message on stderr if the file cannot be read. */
static cJSON *inspect(const char *path, BurnDevice *device) {
  uint32_t format = 0;
  BurnValue *metadata = NULL, *item = NULL;
  BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) status = burn_value_read_any(path, &format, &metadata, &item);
  cJSON *root = cJSON_CreateObject();
  if (status == BURN_OK) {
    cJSON_AddStringToObject(root, "file", path);
    cJSON_AddStringToObject(root, "format", formats[format].extension);
    cJSON_AddItemToObject(root, "metadata", metadata_json(metadata));
    Inspection inspection = {.device = device,
                             .tensors = cJSON_AddArrayToObject(root, "tensors"),
                             .scalars = cJSON_AddObjectToObject(root, "scalars")};
    if (!item) cJSON_AddStringToObject(root, "note", no_names);
    status = walk(&inspection, "", item);
    cJSON_AddNumberToObject(root, "parameters", inspection.parameters);
    cJSON_AddNumberToObject(root, "elements", inspection.elements);
    cJSON_AddNumberToObject(root, "bytes", inspection.bytes);
  }
  burn_value_destroy(metadata);
  burn_value_destroy(item);
  if (status == BURN_OK) return root;
  (void)command_fail("inspect", status);
  if (burn_status_code(status) == BURN_STATUS_CORRUPT_DATA)
    fputs("If it is of another framework (safetensors, .pt, .npz, GGUF), 'burn weights FILE' lists it\n", stderr);
  cJSON_Delete(root);
  return NULL;
}

/* -- as text ---------------------------------------------------------------------------------- */

static const cJSON *get(const cJSON *object, const char *name) {
  return cJSON_GetObjectItemCaseSensitive(object, name);
}
static double number(const cJSON *object, const char *name) { return cJSON_GetNumberValue(get(object, name)); }

enum { CELL_BYTES = 96 };

/* "0.03125", "-inf"; "-" for what is not a number. */
static const char *number_text(const cJSON *value, char text[CELL_BYTES]) {
  if (cJSON_IsString(value)) return cJSON_GetStringValue(value);
  if (!cJSON_IsNumber(value)) return "-";
  (void)snprintf(text, CELL_BYTES, "%.5g", cJSON_GetNumberValue(value));
  return text;
}

static const char *shape_text(const cJSON *shape, char text[CELL_BYTES]) {
  size_t used = 0;
  const cJSON *axis;
  text[0] = '\0';
  cJSON_ArrayForEach(axis, shape) {
    if (used + 24 > CELL_BYTES) break;
    used += (size_t)snprintf(text + used, CELL_BYTES - used, "%s%.0f", used ? "x" : "", cJSON_GetNumberValue(axis));
  }
  return text;
}

static void print_tensors(const cJSON *tensors) {
  static const char *const columns[] = {"min", "max", "mean", "std"};
  const cJSON *row;
  int width = 6;
  char text[CELL_BYTES];
  cJSON_ArrayForEach(row, tensors) {
    const int length = (int)strlen(cJSON_GetStringValue(get(row, "name")));
    if (length > width) width = length;
  }
  printf("%-*s  %-5s %-14s %11s %11s %11s %11s %6s\n", width, "tensor", "dtype", "shape", "min", "max", "mean", "std",
         "NaN");
  cJSON_ArrayForEach(row, tensors) {
    printf("%-*s  %-5s %-14s", width, cJSON_GetStringValue(get(row, "name")), cJSON_GetStringValue(get(row, "dtype")),
           shape_text(get(row, "shape"), text));
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
      printf(" %11s", number_text(get(row, columns[i]), text));
    printf(" %6.0f\n", number(row, "nan"));
  }
}

/* Entries of a map as lines "  name: value" below a title; nothing where there are none. */
static void print_entries(const char *title, const cJSON *map) {
  const cJSON *entry;
  if (cJSON_GetArraySize(map) > 0) printf("%s\n", title);
  cJSON_ArrayForEach(entry, map) {
    char *value = cJSON_PrintUnformatted(entry);
    printf("  %s: %s\n", entry->string, value ? value : "?");
    free(value);
  }
}

static void print_text(const cJSON *root) {
  const char *extension = cJSON_GetStringValue(get(root, "format"));
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
    if (strcmp(formats[i].extension, extension) == 0)
      printf("%s: %s (.%s)\n", cJSON_GetStringValue(get(root, "file")), formats[i].name, extension);
  print_entries("metadata", get(root, "metadata"));
  if (get(root, "note")) {
    puts(cJSON_GetStringValue(get(root, "note")));
    return;
  }
  print_entries("values", get(root, "scalars"));
  print_tensors(get(root, "tensors"));
  printf("%d tensors, %.0f elements in %.0f bytes; %.0f are parameters or state of a module\n",
         cJSON_GetArraySize(get(root, "tensors")), number(root, "elements"), number(root, "bytes"),
         number(root, "parameters"));
}

int command_inspect(int argc, char **argv) {
  static const char usage[] =
      "usage: burn inspect FILE [options]\n\n"
      "Says what a record file holds, .mpk, .json, .bin, each plain or gzipped, or .bpk by its content: metadata, and\n"
      "of every tensor its name, dtype, shape, smallest and largest element, mean, standard deviation (of all\n"
      "elements, divided by their number) and how many are NaN, which the others leave out. Of a quantized tensor\n"
      "these are the floats that it stands for; its dtype is Q8F, Q8S, Q4F, Q4S, Q2F or Q2S. A .bin has no names, so\n"
      "that only its metadata can be told.";
  const char *path = NULL;
  bool json = false;
  const Argument arguments[] = {{"json", ARGUMENT_FLAG, &json, NULL, "one JSON document instead of the table"}};
  int status;
  if (!command_parse(argc, argv, usage, arguments, 1, &path, 1, &status)) return status;
  if (!path) {
    fprintf(stderr, "burn inspect: a FILE is missing; 'burn inspect --help' tells more\n");
    return COMMAND_USAGE;
  }
  BurnDevice *device = burn_device_open("ndarray");
  cJSON *root = inspect(path, device);
  burn_device_close(device);
  if (!root) return COMMAND_FAILED;
  if (json) return command_print_json(root);
  print_text(root);
  cJSON_Delete(root);
  return COMMAND_OK;
}
