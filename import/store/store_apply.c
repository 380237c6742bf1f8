/* store_apply.c - a store into a module: every tensor of the module looks for its own in the file, by its path and by
 * what the file's maker would call it; core does the rest (burn_record_load_tensors). */
#include "store_adapter.h"
#include "store_format.h"
#include "store_names.h"

#include <stdlib.h>
#include <string.h>

/* A tensor of the store on its way. */
typedef struct Source {
  const BurnStore *store;
  size_t index;
  uint32_t part; /* of BurnStoreNamed */
  bool transposed;
} Source;

static int64_t parts_of(const Source *source) { return source->part ? BURN_STORE_PACKED_PARTS : 1; }

typedef struct Apply {
  const BurnStore *store;
  const BurnStoreApply *options;
  BurnModule module;
  BurnStoreRules rules;
  BurnStoreNameList names; /* of the file, as they are looked for */
  char **paths;            /* of the module, by the index in `names`; NULL: nothing has looked for it */
  Source *sources;         /* likewise */
} Apply;

static BurnStatus no_memory(void) { return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for names"); }

/* -- reading ---------------------------------------------------------------------------------- */

/* [rows, columns] to [columns, rows]. */
static void transpose(const uint8_t *in, uint8_t *out, size_t rows, size_t columns, size_t width) {
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < columns; j++) memcpy(out + (j * rows + i) * width, in + (i * columns + j) * width, width);
}

static BurnStatus read_source(void *context, void *values) {
  const Source *source = context;
  const BurnStoreSlot *slot = &source->store->slots[source->index];
  const size_t bytes = slot->refusal ? 0 : burn__store_value_bytes(slot);
  if (!source->transposed && !source->part) return burn_store_read(source->store, source->index, values, bytes);
  uint8_t *read = malloc(bytes ? bytes : 1);
  if (!read) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu bytes", bytes);
  const BurnStatus status = burn_store_read(source->store, source->index, read, bytes);
  const int64_t *dims = slot->seen.shape.dims;
  const size_t rows = (size_t)(dims[0] / parts_of(source)), taken = bytes / (size_t)parts_of(source);
  const uint8_t *from = read + (source->part ? source->part - 1 : 0) * taken;
  if (status == BURN_OK && source->transposed)
    transpose(from, values, rows, (size_t)dims[1], burn_dtype_bytes(slot->seen.dtype));
  if (status == BURN_OK && !source->transposed) memcpy(values, from, taken);
  free(read);
  return status;
}

/* -- which tensor is whose -------------------------------------------------------------------- */

/* Takes `name`, which may be NULL. The entry that nobody has found before. */
static const BurnStoreNamed *find_free(const Apply *apply, char *name) {
  const BurnStoreNamed *found = name ? burn__store_name_find(&apply->names, name) : NULL;
  free(name);
  return found && !apply->paths[found - apply->names.items] ? found : NULL;
}

static const BurnStoreNamed *find_torch(const Apply *apply, const BurnModuleTensor *tensor) {
  const char *field = burn__store_torch_field(tensor);
  const BurnStoreNamed *found = find_free(apply, burn__store_plain_path(apply->module, tensor->path));
  if (!found && field) found = find_free(apply, burn__store_with_field(tensor->path, field));
  char *plain = !found && field ? burn__store_plain_path(apply->module, tensor->path) : NULL;
  if (plain) found = find_free(apply, burn__store_with_field(plain, field));
  free(plain);
  return found;
}

static BurnStatus look_for(void *context, const BurnModuleTensor *tensor) {
  Apply *apply = context;
  (void)burn__store_is_included(&apply->rules, tensor->path); /* a pattern that cannot tell shows now */
  const bool is_torch = apply->options->adapter == BURN_STORE_PYTORCH;
  const BurnStoreNamed *found = find_free(apply, strdup(tensor->path));
  if (!found && is_torch) found = find_torch(apply, tensor);
  if (!found) return BURN_OK;
  const size_t at = (size_t)(found - apply->names.items);
  apply->sources[at].transposed =
      is_torch && burn__store_is_transposed(tensor) && burn_store_entry(apply->store, found->index)->shape.rank == 2;
  apply->paths[at] = strdup(tensor->path);
  return apply->paths[at] ? BURN_OK : no_memory();
}

/* -- what is left out ------------------------------------------------------------------------- */

static bool is_wanted(void *context, const char *path) {
  Apply *apply = context;
  const BurnRecordLoad *load = &apply->options->load;
  if (apply->options->adapter == BURN_STORE_PYTORCH && burn__store_is_torch_only(path)) return false;
  return burn__store_is_included(&apply->rules, path) && (!load->filter || load->filter(load->filter_context, path));
}

/* -- all of it -------------------------------------------------------------------------------- */

static BurnRecordTensor tensor_of(Apply *apply, size_t at) {
  const BurnStoreEntry *entry = burn_store_entry(apply->store, apply->names.items[at].index);
  BurnRecordTensor tensor = {.path = apply->paths[at] ? apply->paths[at] : apply->names.items[at].name,
                             .dtype = entry->dtype,
                             .shape = entry->shape,
                             .read = read_source,
                             .context = &apply->sources[at]};
  tensor.shape.dims[0] /= parts_of(&apply->sources[at]);
  if (apply->sources[at].transposed) {
    const int64_t rows = tensor.shape.dims[0];
    tensor.shape.dims[0] = tensor.shape.dims[1];
    tensor.shape.dims[1] = rows;
  }
  return tensor;
}

/* What would fail later, when some of the module is made: a dtype that is refused, unless its tensor is left out, and a
 * pattern that cannot tell. */
static BurnStatus check_names(Apply *apply) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < apply->names.count && status == BURN_OK; i++) {
    const bool is_wanted_here = is_wanted(apply, apply->paths[i] ? apply->paths[i] : apply->names.items[i].name);
    const bool is_read = apply->paths[i] && is_wanted_here;
    if (is_read && apply->store->slots[apply->sources[i].index].refusal)
      status = burn_store_read(apply->store, apply->sources[i].index, NULL, 0);
  }
  return status;
}

static BurnStatus load_all(Apply *apply, BurnRecordReport *report) {
  const size_t count = apply->names.count;
  BurnRecordTensor *tensors = calloc(count + 1, sizeof *tensors);
  if (!tensors) return no_memory();
  for (size_t i = 0; i < count; i++) tensors[i] = tensor_of(apply, i);
  BurnRecordLoad load = apply->options->load;
  load.filter = is_wanted;
  load.filter_context = apply;
  BurnStatus status = burn_record_load_tensors(apply->module, tensors, count, &load, report);
  free(tensors);
  return status;
}

static BurnStatus apply_names(Apply *apply, BurnRecordReport *report) {
  const bool renumbers = apply->options->adapter == BURN_STORE_PYTORCH && !apply->options->keep_indices;
  BurnStatus status = burn__store_name_list(apply->store, &apply->rules, renumbers, &apply->names);
  if (status == BURN_OK && apply->options->adapter == BURN_STORE_PYTORCH)
    status = burn__store_unpack_attention(apply->store, apply->module, &apply->names);
  const size_t count = apply->names.count;
  apply->paths = calloc(count + 1, sizeof *apply->paths);
  apply->sources = calloc(count + 1, sizeof *apply->sources);
  if (status == BURN_OK && (!apply->paths || !apply->sources)) status = no_memory();
  for (size_t i = 0; i < count && status == BURN_OK; i++)
    apply->sources[i] = (Source){apply->store, apply->names.items[i].index, apply->names.items[i].part, false};
  if (status == BURN_OK) status = burn_module_visit(apply->module, look_for, apply);
  if (status == BURN_OK) status = check_names(apply);
  if (status == BURN_OK) status = apply->rules.status;
  if (status == BURN_OK) status = load_all(apply, report);
  for (size_t i = 0; apply->paths && i < count; i++) free(apply->paths[i]);
  free(apply->paths);
  free(apply->sources);
  burn__store_name_list_end(&apply->names);
  return status;
}

BurnStatus burn_store_apply(const BurnStore *store, BurnModule module, const BurnStoreApply *options,
                            BurnRecordReport *report) {
  static const BurnStoreApply defaults = {.adapter = BURN_STORE_AS_IT_IS};
  if (!store) return burn__no_store();
  Apply apply = {.store = store, .options = options ? options : &defaults, .module = module};
  if (apply.options->adapter > BURN_STORE_PYTORCH)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "store: %u is not an adapter", apply.options->adapter);
  BurnStatus status = burn__store_rules(&apply.options->names, &apply.rules);
  if (status == BURN_OK) status = apply_names(&apply, report);
  if (status == BURN_OK) status = apply.rules.status;
  burn__store_rules_end(&apply.rules);
  return burn_status_annotate(status, "store: %s", store->file.path ? store->file.path : "bytes");
}
