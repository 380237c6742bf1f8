/* record_report.c - loading with options: every tensor of module and record is looked at before anything is decided,
 * and a report says what became of each. A record of any format is made flat here: paths and what stands there.
 * What a module's structure would have said otherwise (a list of another length, another case) is then some tensors
 * that are missing and some that are unused. */
#include "module_internal.h"
#include "record_load.h"
#include "text_builder.h"

#include <burn/guess.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static BurnStatus no_memory(void) { return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the report"); }

/* A tensor of the record. */
typedef struct Named {
  char *path;
  const BurnValue *value;         /* {id, param}, or a tensor without an id; NULL: */
  const BurnRecordTensor *tensor; /* one of elsewhere */
  bool used;
} Named;

typedef struct Collector {
  BurnRecordLoader loader;
  Named *names; /* sorted by path once all are there */
  size_t count, capacity;
  BurnRecordReport *report;
  const BurnValue *item; /* the record; NULL: tensors of elsewhere */
  const BurnRecordLoad *options;
} Collector;

/* -- the report ------------------------------------------------------------------------------- */

/* Takes the detail. */
static BurnStatus note(BurnRecordReport *report, uint32_t what, const char *path, char *detail) {
  if ((report->count & (report->count + 1)) == 0) { /* 0, 1, 3, 7, ..: the entries are full */
    const size_t capacity = 2 * report->count + 1;
    BurnRecordEntry *entries = realloc(report->entries, capacity * sizeof *entries);
    if (!entries) {
      free(detail);
      return no_memory();
    }
    report->entries = entries;
  }
  char *copy = strdup(path);
  if (!copy || !detail) {
    free(copy);
    free(detail);
    return no_memory();
  }
  report->entries[report->count++] = (BurnRecordEntry){what, copy, detail};
  report->counts[what]++;
  return BURN_OK;
}

void burn_record_report_release(BurnRecordReport *report) {
  if (!report) return;
  for (size_t i = 0; i < report->count; i++) {
    free(report->entries[i].path);
    free(report->entries[i].detail);
  }
  free(report->entries);
  *report = (BurnRecordReport){.count = 0};
}

static const char *const words[] = {
    [BURN_RECORD_LOADED] = "loaded",         [BURN_RECORD_MISSING] = "missing", [BURN_RECORD_UNUSED] = "unused",
    [BURN_RECORD_MISMATCHED] = "mismatched", [BURN_RECORD_SKIPPED] = "skipped",
};

char *burn_record_report_text(const BurnRecordReport *report) {
  BurnTextBuilder text = BURN_TEXT_BUILDER;
  for (size_t i = 0; i < report->count; i++) {
    const BurnRecordEntry *entry = &report->entries[i];
    burn__text_addf(&text, "%-10s  %s: %s\n", words[entry->what], entry->path, entry->detail);
  }
  burn__text_addf(&text, "%zu loaded, %zu missing, %zu unused, %zu mismatched", report->counts[BURN_RECORD_LOADED],
                  report->counts[BURN_RECORD_MISSING], report->counts[BURN_RECORD_UNUSED],
                  report->counts[BURN_RECORD_MISMATCHED]);
  if (report->counts[BURN_RECORD_SKIPPED]) burn__text_addf(&text, ", %zu skipped", report->counts[BURN_RECORD_SKIPPED]);
  return burn__text_finish(&text);
}

void burn_record_report_print(const BurnRecordReport *report) {
  char *text = burn_record_report_text(report);
  if (text) (void)puts(text);
  free(text);
}

/* -- the record as paths ---------------------------------------------------------------------- */

static BurnStatus add_names(Collector *collector, const char *path, const BurnValue *value);

static BurnStatus add_children(Collector *collector, const char *path, const BurnValue *list) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < burn_value_count(list) && status == BURN_OK; i++) {
    BurnTextBuilder child = BURN_TEXT_BUILDER;
    const char *key = burn_value_key_at(list, i);
    burn__text_addf(&child, "%s%s", path, path[0] ? "." : "");
    if (key) burn__text_add(&child, key);
    if (!key) burn__text_addf(&child, "%zu", i);
    char *text = burn__text_finish(&child);
    status = text ? add_names(collector, text, burn_value_at(list, i)) : no_memory();
    free(text);
  }
  return status;
}

static bool is_tensor(const BurnValue *value) {
  return burn_value_kind(value) == BURN_VALUE_TENSOR ||
         burn_value_kind(burn_value_get(value, "param")) == BURN_VALUE_TENSOR;
}

/* The factors of a parameter's adapter, "fc.weight.lora.a". */
static BurnStatus add_lora(Collector *collector, const char *path, const BurnValue *lora) {
  BurnTextBuilder inner = BURN_TEXT_BUILDER;
  if (!lora) return BURN_OK;
  burn__text_addf(&inner, "%s.lora", path);
  char *text = burn__text_finish(&inner);
  const BurnStatus status = text ? add_children(collector, text, lora) : no_memory();
  free(text);
  return status;
}

static BurnStatus add_name(Collector *collector, const char *path, const BurnValue *value,
                           const BurnRecordTensor *tensor) {
  if (collector->count == collector->capacity) {
    const size_t capacity = collector->capacity ? collector->capacity * 2 : 16;
    Named *names = realloc(collector->names, capacity * sizeof *names);
    if (!names) return no_memory();
    collector->names = names;
    collector->capacity = capacity;
  }
  char *copy = strdup(path);
  if (!copy) return no_memory();
  collector->names[collector->count++] = (Named){copy, value, tensor, false};
  return BURN_OK;
}

static BurnStatus add_names(Collector *collector, const char *path, const BurnValue *value) {
  if (!is_tensor(value)) return add_children(collector, path, value);
  const BurnStatus status = add_name(collector, path, value, NULL);
  return status == BURN_OK ? add_lora(collector, path, burn_value_get(value, "lora")) : status;
}

static int compare_names(const void *a, const void *b) {
  const Named *first = a, *second = b;
  return strcmp(first->path, second->path);
}

static Named *find_name(const Collector *collector, const char *path) {
  char copy[BURN_MODULE_PATH_BYTES];
  (void)snprintf(copy, sizeof copy, "%s", path);
  const Named wanted = {.path = copy};
  if (collector->count == 0) return NULL;
  return bsearch(&wanted, collector->names, collector->count, sizeof wanted, compare_names);
}

/* -- each tensor of the module ---------------------------------------------------------------- */

/* "[3,2] f32", and what stands in the file where that is another dtype: "[3,2] f16, stored as f32". */
static char *describe(BurnShape shape, const char *dtype, const char *stored) {
  BurnTextBuilder text = BURN_TEXT_BUILDER;
  burn__text_addf(&text, "%s %s", burn_shape_text(shape).text, dtype);
  if (strcmp(stored, dtype) != 0) burn__text_addf(&text, ", stored as %s", stored);
  return burn__text_finish(&text);
}

static const char *host_dtype(const BurnHostTensor *host) {
  return host->is_quantized ? burn_quant_value_name(host->scheme.value) : burn_dtype_name(host->dtype);
}

static const char *made_dtype(const BurnRecordParam *made) {
  return made->is_quantized ? burn_quant_value_name(made->quant.scheme.value)
                            : burn_dtype_name(burn_dtype(made->quant.values));
}

static const char *current_dtype(const BurnModuleTensor *tensor, const BurnTensor *current) {
  const bool is_quantized = tensor->param && burn__param_is_quantized(tensor->param);
  return is_quantized ? burn_quant_value_name(tensor->param->extra->scheme.value)
                      : burn_dtype_name(burn_dtype(current));
}

/* The place keeps what it has. */
static BurnStatus keep(Collector *collector, BurnRecordPending item, uint32_t what, const char *path, char *detail) {
  item.made = (BurnRecordParam){.is_quantized = false};
  BurnStatus status = note(collector->report, what, path, detail);
  return status == BURN_OK ? burn__record_push(&collector->loader, item) : status;
}

static const BurnHostTensor *host_of(const BurnValue *value) {
  return (value->kind == BURN_VALUE_TENSOR ? value : burn_value_get(value, "param"))->as.tensor;
}

static BurnShape named_shape(const Named *name) {
  return name->tensor ? name->tensor->shape : host_of(name->value)->shape;
}

static const char *named_dtype(const Named *name) {
  return name->tensor ? burn_dtype_name(name->tensor->dtype) : host_dtype(host_of(name->value));
}

/* A tensor of elsewhere as a record has one. */
static BurnStatus read_value(const BurnRecordTensor *tensor, BurnValue **out) {
  BurnStatus status = burn__value_new_tensor(tensor->dtype, &tensor->shape, out);
  return status == BURN_OK ? tensor->read(tensor->context, (*out)->as.tensor->data) : status;
}

/* In the record of the parameter, or, where the record is flat, beside it. */
static BurnStatus find_input_scale(const Collector *collector, const Named *found, const BurnValue **out) {
  *out = burn_value_get(found->value, "input_scale");
  if (*out || !host_of(found->value)->is_quantized) return BURN_OK;
  char *name = burn__record_input_scale_name(found->path);
  if (!name) return no_memory();
  *out = burn_value_get(collector->item, name);
  free(name);
  return BURN_OK;
}

/* Takes no reference to `current`. */
static BurnStatus take_value(Collector *collector, const BurnModuleTensor *tensor, const BurnTensor *current,
                             const Named *found, const BurnValue *value) {
  const BurnRecordStep root = {NULL, NULL};
  BurnRecordPending item = {.param = tensor->param, .buffer = tensor->buffer, .id = burn__record_tensor_id(tensor)};
  BurnStatus status = found->value ? find_input_scale(collector, found, &item.input_scale) : BURN_OK;
  if (status == BURN_OK) status = burn__record_load_present(&collector->loader, &root, current, item, value);
  const uint32_t code = burn_status_code(status);
  if (code == BURN_STATUS_INVALID_SHAPE || code == BURN_STATUS_INVALID_DTYPE)
    return keep(collector, item, BURN_RECORD_MISMATCHED, tensor->path, strdup(burn_status_message(status)));
  if (status != BURN_OK) return burn_status_annotate(status, "%s", tensor->path);
  const BurnRecordParam *made = &collector->loader.pending[collector->loader.count - 1].made;
  return note(collector->report, BURN_RECORD_LOADED, tensor->path,
              describe(burn_shape(made->quant.values), made_dtype(made), named_dtype(found)));
}

static BurnStatus take(Collector *collector, const BurnModuleTensor *tensor, const BurnTensor *current,
                       const Named *found) {
  BurnValue *read = NULL;
  BurnStatus status = found->tensor ? read_value(found->tensor, &read) : BURN_OK;
  if (status == BURN_OK)
    status = take_value(collector, tensor, current, found, found->tensor ? read : found->value);
  else
    status = burn_status_annotate(status, "%s", tensor->path);
  burn_value_destroy(read);
  return status;
}

static bool is_wanted(const Collector *collector, const char *path) {
  const BurnRecordLoad *options = collector->options;
  return !options->filter || options->filter(options->filter_context, path);
}

static BurnStatus visit(void *context, const BurnModuleTensor *tensor) {
  Collector *collector = context;
  BurnTensor *current = burn__stored(tensor);
  const bool wanted = is_wanted(collector, tensor->path);
  Named *found = find_name(collector, tensor->path);
  BurnStatus status = burn_tensor_status(current);
  if (found) found->used = true;
  if (status != BURN_OK) {
    status = burn_status_annotate(status, "%s", tensor->path);
  } else if (found && wanted) {
    status = take(collector, tensor, current, found);
  } else {
    const BurnRecordPending item = {
        .param = tensor->param, .buffer = tensor->buffer, .id = burn__record_tensor_id(tensor)};
    status = keep(collector, item, wanted ? BURN_RECORD_MISSING : BURN_RECORD_SKIPPED, tensor->path,
                  describe(burn_shape(current), current_dtype(tensor, current), current_dtype(tensor, current)));
  }
  burn_drop(current);
  return status;
}

/* -- what was not found ----------------------------------------------------------------------- */

static BurnStatus note_unused(Collector *collector) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < collector->count && status == BURN_OK; i++) {
    const Named *name = &collector->names[i];
    const uint32_t what = is_wanted(collector, name->path) ? BURN_RECORD_UNUSED : BURN_RECORD_SKIPPED;
    if (!name->used)
      status =
          note(collector->report, what, name->path, describe(named_shape(name), named_dtype(name), named_dtype(name)));
  }
  return status;
}

/* Adds to an entry the nearest path of the other side that found no place, either. */
static BurnStatus add_hint(BurnRecordReport *report, BurnRecordEntry *entry) {
  const bool is_missing = entry->what == BURN_RECORD_MISSING;
  BurnGuess guess = burn_guess(entry->path);
  for (size_t i = 0; i < report->count; i++) {
    if (report->entries[i].what == (is_missing ? BURN_RECORD_UNUSED : BURN_RECORD_MISSING))
      burn_guess_add(&guess, report->entries[i].path);
  }
  if (!guess.best) return BURN_OK;
  BurnTextBuilder text = BURN_TEXT_BUILDER;
  burn__text_addf(&text, "%s; nearest in the %s is %s", entry->detail, is_missing ? "file" : "module", guess.best);
  char *detail = burn__text_finish(&text);
  if (!detail) return no_memory();
  free(entry->detail);
  entry->detail = detail;
  return BURN_OK;
}

/* A guess compares each with each, so it is made for the first ones only. */
static BurnStatus add_hints(BurnRecordReport *report) {
  enum { HINTS = 64 };
  BurnStatus status = BURN_OK;
  size_t made = 0;
  for (size_t i = 0; i < report->count && made < HINTS && status == BURN_OK; i++) {
    BurnRecordEntry *entry = &report->entries[i];
    if (entry->what != BURN_RECORD_MISSING && entry->what != BURN_RECORD_UNUSED) continue;
    made++;
    status = add_hint(report, entry);
  }
  return status;
}

/* -- the verdict ------------------------------------------------------------------------------ */

/* Fails with the first entry of a kind, if there is one. */
static BurnStatus refuse(const BurnRecordReport *report, uint32_t what, uint32_t code, const char *words_of_it) {
  for (size_t i = 0; i < report->count; i++) {
    const BurnRecordEntry *entry = &report->entries[i];
    if (entry->what != what) continue;
    return burn_status_make(code, "%.200s: %s%s%.200s (%zu missing, %zu unused, %zu mismatched)", entry->path,
                            words_of_it, words_of_it[0] ? ": " : "", entry->detail, report->counts[BURN_RECORD_MISSING],
                            report->counts[BURN_RECORD_UNUSED], report->counts[BURN_RECORD_MISMATCHED]);
  }
  return BURN_OK;
}

/* In Burn's order. */
static BurnStatus judge(const BurnRecordReport *report, const BurnRecordLoad *options) {
  BurnStatus status = BURN_OK;
  if (!options->no_validate) status = refuse(report, BURN_RECORD_MISMATCHED, BURN_STATUS_INVALID_SHAPE, "");
  if (status == BURN_OK && !options->allow_partial)
    status = refuse(report, BURN_RECORD_MISSING, BURN_STATUS_NOT_FOUND, "in the module, not in the file");
  if (status == BURN_OK && !options->allow_unused)
    status = refuse(report, BURN_RECORD_UNUSED, BURN_STATUS_INVALID_ARGUMENT, "in the file, not in the module");
  return status;
}

/* All names are there, or the status says why not. */
static BurnStatus collect_into(Collector *collector, BurnModule module, BurnStatus status) {
  if (collector->count) qsort(collector->names, collector->count, sizeof *collector->names, compare_names);
  if (status == BURN_OK) status = burn_module_visit(module, visit, collector);
  if (status == BURN_OK) status = note_unused(collector);
  if (status == BURN_OK) status = add_hints(collector->report);
  if (status == BURN_OK) status = judge(collector->report, collector->options);
  for (size_t i = 0; i < collector->count; i++) free(collector->names[i].path);
  free(collector->names);
  return burn__record_swap_in(&collector->loader, module, status);
}

static Collector collector_of(const BurnRecordLoad *options, BurnRecordReport *report) {
  return (Collector){.loader = {.ids_optional = true, .adopts_dtypes = options->dtypes == BURN_DTYPES_FROM_RECORD},
                     .report = report,
                     .options = options};
}

BurnStatus burn__record_into_module(const BurnValue *item, BurnModule module, const BurnRecordLoad *options,
                                    BurnRecordReport *report) {
  Collector collector = collector_of(options, report);
  collector.item = item;
  return collect_into(&collector, module, add_names(&collector, "", item));
}

BurnStatus burn__tensors_into_module(const BurnRecordTensor *tensors, size_t count, BurnModule module,
                                     const BurnRecordLoad *options, BurnRecordReport *report) {
  Collector collector = collector_of(options, report);
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    const BurnRecordTensor *tensor = &tensors[i];
    status = tensor->path && tensor->read ? add_name(&collector, tensor->path, NULL, tensor)
                                          : burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                                                             "tensor %zu has no path or no function that reads it", i);
  }
  return collect_into(&collector, module, status);
}
