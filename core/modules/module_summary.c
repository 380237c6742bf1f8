/* module_summary.c - the tensors of a module as a table, a row each:
 *
 *   Mlp
 *   path        layer   shape      parameters  state
 *   fc1.weight  Linear  [784,128]      100352  trainable
 *   fc1.bias    Linear  [128]             128  trainable
 *   100480 parameters: 100480 trainable, 0 frozen, 0 in buffers
 *
 * Columns are as wide as what stands in them, up to limits that keep a row within 100 columns. One walk measures, a
 * second one writes. */
#include "module_internal.h"
#include "text_builder.h"

#include <burn/autodiff.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH, LAYER, SHAPE, COUNT, STATE, COLUMNS };
enum { CELL_BYTES = 40 };

/* The widest that a column gets; with two spaces between them 100 in all. */
static const size_t limits[COLUMNS] = {36, 18, 18, 11, 9};

typedef struct Row {
  char cells[COLUMNS][CELL_BYTES];
} Row;

typedef struct Summary {
  BurnTextBuilder text;
  size_t widths[COLUMNS];
  int64_t trainable, frozen, untracked, buffers; /* elements of floats */
} Summary;

/* Cuts what does not fit: of a path the beginning, as its end says what it is. */
static void put(Row *row, unsigned column, const char *text) {
  const size_t length = strlen(text), limit = limits[column];
  char *cell = row->cells[column];
  if (length <= limit) {
    (void)snprintf(cell, CELL_BYTES, "%s", text);
  } else if (column == PATH) {
    (void)snprintf(cell, CELL_BYTES, "..%s", text + length - (limit - 2));
  } else {
    (void)snprintf(cell, CELL_BYTES, "%.*s..", (int)(limit - 2), text);
  }
}

/* Whether nothing on the device of a value could ask for gradients: it is not frozen then. */
static bool is_untracked(const BurnTensor *value) {
  const BurnDevice *device = burn_tensor_device(value);
  return device && !burn_device_is_autodiff(device);
}

/* Counts the tensor's elements as what they are and gives its name. */
static const char *count_as(Summary *summary, const BurnModuleTensor *tensor, const BurnTensor *value) {
  const int64_t count = burn__float_count(tensor);
  if (tensor->buffer) {
    summary->buffers += count;
    return "buffer";
  }
  const bool quantized = burn__param_is_quantized(tensor->param);
  if (is_untracked(value)) {
    summary->untracked += count;
    return quantized ? "quantized" : "untracked";
  }
  const bool trainable = tensor->param && burn_is_require_grad(value);
  *(trainable ? &summary->trainable : &summary->frozen) += count;
  return quantized ? "quantized" : trainable ? "trainable" : "frozen";
}

/* False if the tensor is absent. */
static bool make_row(Summary *summary, const BurnModuleTensor *tensor, Row *row) {
  BurnTensor *value = burn__stored(tensor);
  char count[24];
  if (!value) return false;
  (void)snprintf(count, sizeof count, "%" PRId64, burn__float_count(tensor));
  put(row, PATH, tensor->path);
  put(row, LAYER, burn_type_short_name(tensor->layer));
  put(row, SHAPE, burn_tensor_status(value) == BURN_OK ? burn_shape_text(burn_shape(value)).text : "failed");
  put(row, COUNT, count);
  put(row, STATE, count_as(summary, tensor, value));
  burn_drop(value);
  return true;
}

static void measure(Summary *summary, const Row *row) {
  for (unsigned i = 0; i < COLUMNS; i++) {
    const size_t width = strlen(row->cells[i]);
    if (width > summary->widths[i]) summary->widths[i] = width;
  }
}

static void write_row(Summary *summary, const Row *row) {
  for (unsigned i = 0; i < STATE; i++) {
    const int width = (int)summary->widths[i];
    burn__text_addf(&summary->text, i == COUNT ? "%*s  " : "%-*s  ", width, row->cells[i]);
  }
  burn__text_addf(&summary->text, "%s\n", row->cells[STATE]);
}

static BurnStatus measure_tensor(void *context, const BurnModuleTensor *tensor) {
  Row row;
  if (make_row(context, tensor, &row)) measure(context, &row);
  return BURN_OK;
}

static BurnStatus write_tensor(void *context, const BurnModuleTensor *tensor) {
  Row row;
  if (make_row(context, tensor, &row)) write_row(context, &row);
  return BURN_OK;
}

/* Those without autodiff are listed only where there are some. */
static void write_sums(Summary *summary) {
  const int64_t total = summary->trainable + summary->frozen + summary->untracked + summary->buffers;
  burn__text_addf(&summary->text, "%" PRId64 " parameters: %" PRId64 " trainable, %" PRId64 " frozen, ", total,
                  summary->trainable, summary->frozen);
  if (summary->untracked > 0) burn__text_addf(&summary->text, "%" PRId64 " untracked, ", summary->untracked);
  burn__text_addf(&summary->text, "%" PRId64 " in buffers", summary->buffers);
}

char *burn_module_summary_text(BurnModule module) {
  if (burn__module_check(module) != BURN_OK) return NULL;
  static const Row head = {{"path", "layer", "shape", "parameters", "state"}};
  Summary summary = {.text = BURN_TEXT_BUILDER};
  const BurnModuleWalk measuring = {.context = &summary, .tensor = measure_tensor};
  const BurnModuleWalk writing = {.context = &summary, .tensor = write_tensor};
  measure(&summary, &head);
  (void)burn__module_walk(module, &measuring);
  burn__text_addf(&summary.text, "%s\n", burn_type_short_name(module.type));
  write_row(&summary, &head);
  summary.trainable = summary.frozen = summary.untracked = summary.buffers = 0;
  (void)burn__module_walk(module, &writing);
  write_sums(&summary);
  return burn__text_finish(&summary.text);
}

void burn_module_summary(BurnModule module) {
  char *text = burn_module_summary_text(module);
  if (text) (void)puts(text);
  free(text);
}
