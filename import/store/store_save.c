/* store_save.c - modules and stores into files: collects tensors and their names, and gives them to a writer. */
#include "path_check.h"
#include "store_adapter.h"
#include "store_format.h"
#include "store_names.h"
#include "store_write.h"

#include <burn/file.h>
#include <burn/guess.h>

#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name, *extensions;
  BurnStatus (*write)(const char *path, const BurnStoreItem *items, size_t count, const BurnStoreSave *options);
} writers[] = {
#define BURN_STORE_WRITER(id, name, extensions) {name, extensions, burn__store_write_##id},
#include "store_writers.def"
#undef BURN_STORE_WRITER
};
enum { WRITERS = sizeof writers / sizeof writers[0] };

/* What is saved. */
typedef struct Save {
  const BurnStoreSave *options;
  BurnModule module; /* a NULL type: a store */
  BurnStoreRules rules;
  BurnStoreItem *items;
  size_t count, capacity;
} Save;

static BurnStatus no_memory(void) { return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for names"); }

size_t burn__store_item_bytes(const BurnStoreItem *item) {
  return (size_t)burn_element_count(item->x) * burn_dtype_bytes(burn_dtype(item->x));
}

/* -- collecting ------------------------------------------------------------------------------- */

/* Takes x; `name` is what it was called before. */
static BurnStatus add_item(Save *save, const char *name, BurnTensor *x, bool scalar) {
  const BurnDType floats = save->options->floats;
  BurnStoreItem item = {NULL, x, scalar};
  if (floats != BURN_DTYPE_DEFAULT && burn_dtype_kind(burn_dtype(x)) == BURN_KIND_FLOAT) item.x = burn_cast(x, floats);
  BurnStatus status = burn_tensor_status(item.x);
  if (status == BURN_OK) status = burn__store_rename(&save->rules, name, &item.name);
  if (status == BURN_OK && item.name && save->count == save->capacity) {
    const size_t capacity = 2 * save->capacity + 16;
    BurnStoreItem *items = realloc(save->items, capacity * sizeof *items);
    if (!items) status = no_memory();
    if (items) save->items = items;
    if (items) save->capacity = capacity;
  }
  if (status == BURN_OK && item.name) {
    save->items[save->count++] = item;
    return BURN_OK;
  }
  burn_drop(item.x);
  free(item.name);
  return burn_status_annotate(status, "%.200s", name);
}

/* The name of a tensor of the module in the file, before it is renamed; malloc'd. */
static char *name_of(const Save *save, const BurnModuleTensor *tensor) {
  const char *field = burn__store_torch_field(tensor);
  if (save->options->adapter != BURN_STORE_PYTORCH) return strdup(tensor->path);
  char *plain = burn__store_plain_path(save->module, tensor->path);
  if (!plain || !field) return plain;
  char *name = burn__store_with_field(plain, field);
  free(plain);
  return name;
}

/* The tensor as files have it: a parameter that lies transposed as records do. */
static BurnTensor *value_of(const Save *save, const BurnModuleTensor *tensor) {
  const bool is_torch = save->options->adapter == BURN_STORE_PYTORCH;
  if (!tensor->param) return burn_buffer_value(tensor->buffer);
  BurnTensor *x = burn_param_value(tensor->param);
  const bool is_turned = tensor->param->transposed != (is_torch && burn__store_is_transposed(tensor));
  return is_turned && burn_rank(x) >= 2 ? burn_transpose(x) : x;
}

static BurnStatus add_tensor(void *context, const BurnModuleTensor *tensor) {
  Save *save = context;
  const bool is_factor = strncmp(tensor->field, "lora.", 5) == 0; /* of an adapter, which is merged into its weight */
  if (is_factor || !burn__store_is_included(&save->rules, tensor->path)) return save->rules.status;
  char *name = name_of(save, tensor);
  const BurnStatus status = name ? add_item(save, name, value_of(save, tensor), false) : no_memory();
  free(name);
  return status;
}

static BurnStatus add_store(Save *save, const BurnStore *store, BurnDevice *device) {
  BurnStatus status = burn_device_status(device);
  for (size_t i = 0; i < store->count && status == BURN_OK; i++) {
    const BurnStoreEntry *entry = burn_store_entry(store, i);
    if (burn__store_is_included(&save->rules, entry->name))
      status = add_item(save, entry->name, burn_store_tensor(store, entry->name, device), entry->scalar);
    if (status == BURN_OK) status = save->rules.status;
  }
  return status;
}

/* -- writing ---------------------------------------------------------------------------------- */

static bool has_extension(const char *path, const char *extensions) {
  const char *point = strrchr(path, '.');
  const size_t length = point ? strlen(point) : 0;
  for (const char *at = point ? strstr(extensions, point) : NULL; at; at = strstr(at + 1, point))
    if (at[length] == ' ' || at[length] == '\0') return true;
  return false;
}

/* The index of the writer; WRITERS with a failure. */
static size_t find_writer(const char *path, const char *format, BurnStatus *status) {
  BurnGuess guess = burn_guess(format);
  for (size_t i = 0; i < WRITERS; i++) {
    if (format ? strcmp(writers[i].name, format) == 0 : has_extension(path, writers[i].extensions)) return i;
    burn_guess_add(&guess, writers[i].name);
  }
  if (format)
    *status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "no format \"%.40s\" is written.%s", format,
                               burn_guess_text(&guess));
  else
    *status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                               "an extension of a format is expected: .safetensors, .bpk, .npz, .pt, .pth or .bin");
  return WRITERS;
}

static int compare_items(const void *a, const void *b) {
  return strcmp(((const BurnStoreItem *)a)->name, ((const BurnStoreItem *)b)->name);
}

/* Two tensors of one name are refused; the order stays. */
static BurnStatus check_names(const Save *save) {
  BurnStoreItem *sorted = calloc(save->count + 1, sizeof *sorted);
  BurnStatus status = sorted ? BURN_OK : no_memory();
  if (sorted && save->count) memcpy(sorted, save->items, save->count * sizeof *sorted);
  if (sorted && save->count) qsort(sorted, save->count, sizeof *sorted, compare_items);
  for (size_t i = 1; i < save->count && status == BURN_OK; i++) {
    if (compare_items(&sorted[i - 1], &sorted[i]) == 0)
      status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "two tensors become %.200s", sorted[i].name);
  }
  free(sorted);
  return status;
}

/* A module, or with a NULL type a store. */
static BurnStatus save_all(BurnModule module, const BurnStore *store, const char *path, const BurnStoreSave *options) {
  Save save = {.options = options, .module = module};
  BurnStatus status = burn__path_check("store", path);
  if (status != BURN_OK) return status;
  status = burn_file_check_new(path, options->overwrite);
  const size_t writer = status == BURN_OK ? find_writer(path, options->format, &status) : WRITERS;
  BurnDevice *device = store && status == BURN_OK ? burn_device_open("ndarray") : NULL;
  if (status == BURN_OK) status = burn__store_rules(&options->names, &save.rules);
  if (status == BURN_OK)
    status = store ? add_store(&save, store, device) : burn_module_visit(module, add_tensor, &save);
  if (status == BURN_OK) status = check_names(&save);
  if (status == BURN_OK) status = writers[writer].write(path, save.items, save.count, options);
  for (size_t i = 0; i < save.count; i++) {
    burn_drop(save.items[i].x);
    free(save.items[i].name);
  }
  free(save.items);
  burn__store_rules_end(&save.rules);
  burn_device_close(device);
  return burn_status_annotate(status, "store: %s", path);
}

static const BurnStoreSave defaults = {.adapter = BURN_STORE_AS_IT_IS};

BurnStatus burn_store_save(BurnModule module, const char *path, const BurnStoreSave *options) {
  return save_all(module, NULL, path, options ? options : &defaults);
}

BurnStatus burn_store_convert(const BurnStore *store, const char *path, const BurnStoreSave *options) {
  const BurnStatus given = store ? burn__path_check("store", path) : burn__no_store();
  if (given != BURN_OK) return given;
  if (options && options->adapter != BURN_STORE_AS_IT_IS)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "store: %s: a file does not say which weights are of a Linear: apply it to a module, and "
                            "save that with PyTorch's habits",
                            path);
  return save_all((BurnModule){NULL, NULL}, store, path, options ? options : &defaults);
}
