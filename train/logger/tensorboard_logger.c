/* tensorboard_logger.c - values of metrics, texts and histograms as TensorBoard's summaries. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "event_file.h"
#include "hparams.h"
#include "learner_internal.h"
#include "logger_files.h"
#include "null_check.h"
#include "path_check.h"
#include "status_chain.h"

/* Fields of Summary.Value, SummaryMetadata, TensorProto; a dtype of types.proto. */
enum { VALUE_TAG = 1, VALUE_SIMPLE = 2, VALUE_HISTOGRAM = 5, VALUE_TENSOR = 8, VALUE_METADATA = 9 };
enum { TENSOR_DTYPE = 1, TENSOR_SHAPE = 2, TENSOR_STRING = 8, DT_STRING = 7 };
enum { BINS = 30 };

struct BurnTensorboard {
  BurnEventFile splits[BURN_SPLITS];
  BurnEventFile session;   /* in the folder itself: what belongs to all splits */
  bool begun[BURN_SPLITS]; /* the first value of a metric is written */
};

static void close_file(BurnEventFile *file) {
  if (file->file && fclose(file->file) != 0) burn__train_warn("cannot close the events in %s", file->folder);
  free(file->folder);
}

static BurnStatus open_file(BurnEventFile *file) {
  if (file->file) return BURN_OK;
  const BurnStatus status = burn_folder_make(file->folder);
  return status == BURN_OK ? burn__event_file_open(file) : status;
}

static BurnStatus add(BurnTensorboard *board, BurnSplit split, size_t step, BurnTextBuilder *value) {
  BurnEventFile *file = &board->splits[split];
  BurnStatus status = open_file(file);
  if (status == BURN_OK) return burn__event_file_add(file, (int64_t)step, value);
  burn__text_release(value);
  return status;
}

static BurnStatus log_entry(void *context, const BurnLogEntry *entry) {
  const size_t batch_step = (entry->epoch - 1) * entry->batches + entry->batch;
  BurnTensorboard *board = context;
  BurnEventFile *file = &board->splits[entry->split];
  BurnTextBuilder value = BURN_TEXT_BUILDER, tag = BURN_TEXT_BUILDER;
  BurnStatus status = open_file(file);
  if (status == BURN_OK && !board->begun[entry->split]) status = burn__event_file_start(file, (int64_t)batch_step);
  if (status != BURN_OK) return status;
  board->begun[entry->split] = true;
  burn__text_addf(&tag, "%s/%s", entry->metric, entry->final ? "epoch" : "batch");
  burn__proto_message(&value, VALUE_TAG, &tag);
  burn__proto_f32(&value, VALUE_SIMPLE, (float)entry->value);
  return add(board, entry->split, entry->final ? entry->epoch : batch_step, &value);
}

static BurnStatus no_board(void) {
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "tensorboard: the board is NULL");
}

/* -- texts ------------------------------------------------------------------------------------ */

/* SummaryMetadata with the name of the plugin of TensorBoard that shows the value. */
static void add_plugin(BurnTextBuilder *value, const char *name) {
  BurnTextBuilder metadata = BURN_TEXT_BUILDER, plugin = BURN_TEXT_BUILDER;
  burn__proto_text(&plugin, 1, name);
  burn__proto_message(&metadata, 1, &plugin);
  burn__proto_message(value, VALUE_METADATA, &metadata);
}

BurnStatus burn_tensorboard_text(BurnTensorboard *board, const char *tag, size_t step, const char *text) {
  if (!board) return no_board();
  BurnStatus status = BURN_REQUIRED(tag, "a text");
  if (status == BURN_OK) status = BURN_REQUIRED(text, "a text");
  if (status != BURN_OK) return status;
  BurnTextBuilder value = BURN_TEXT_BUILDER, tensor = BURN_TEXT_BUILDER, shape = BURN_TEXT_BUILDER;
  burn__proto_varint(&tensor, TENSOR_DTYPE, DT_STRING);
  burn__proto_message(&tensor, TENSOR_SHAPE, &shape); /* no dimensions: a scalar */
  burn__proto_text(&tensor, TENSOR_STRING, text);
  burn__proto_text(&value, VALUE_TAG, tag);
  add_plugin(&value, "text");
  burn__proto_message(&value, VALUE_TENSOR, &tensor);
  return add(board, BURN_SPLIT_TRAIN, step, &value);
}

/* In the folder above the splits, so that their scalars are metrics of this session. */
static BurnStatus add_hparams(BurnTensorboard *board, BurnConfig config) {
  BurnTextBuilder value = BURN_TEXT_BUILDER;
  BurnStatus status = burn__hparams_value(config, &value);
  if (status == BURN_OK) status = open_file(&board->session);
  if (status == BURN_OK) return burn__event_file_add(&board->session, 0, &value);
  burn__text_release(&value);
  return status;
}

/* Four spaces before each line make a block of code in Markdown. */
BurnStatus burn_tensorboard_config(BurnTensorboard *board, BurnConfig config) {
  if (!board) return no_board();
  char *json = burn_config_text(config), *text;
  BurnTextBuilder code = BURN_TEXT_BUILDER;
  for (const char *at = json; at && *at;) {
    const size_t length = strcspn(at, "\n");
    burn__text_addf(&code, "    %.*s\n", (int)length, at);
    at += length + (at[length] == '\n');
  }
  text = json ? burn__text_finish(&code) : NULL;
  const BurnStatus status = text ? burn_tensorboard_text(board, "config", 0, text)
                                 : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "tensorboard: no memory for the config");
  free(json);
  free(text);
  return status == BURN_OK ? add_hparams(board, config) : status;
}

/* -- histograms ------------------------------------------------------------------------------- */

typedef struct Histogram {
  double min, max, count, sum, squares;
  double limits[BINS], bins[BINS];
} Histogram;

/* Of the finite ones of `count` values. */
static Histogram histogram_of(const double *values, size_t count) {
  Histogram h = {.min = (double)INFINITY, .max = -(double)INFINITY};
  for (size_t i = 0; i < count; i++) {
    if (!isfinite(values[i])) continue;
    h.min = fmin(h.min, values[i]);
    h.max = fmax(h.max, values[i]);
    h.count++;
    h.sum += values[i];
    h.squares += values[i] * values[i];
  }
  if (h.count <= 0) return (Histogram){.limits = {0}};
  const double width = (h.max - h.min) / (double)BINS;
  for (int bin = 0; bin < BINS; bin++) h.limits[bin] = h.min + width * (bin + 1);
  h.limits[BINS - 1] = h.max;
  for (size_t i = 0; i < count; i++) {
    if (!isfinite(values[i])) continue;
    const double place = width > 0 ? (values[i] - h.min) / width : 0;
    h.bins[place < (double)(BINS - 1) ? (int)place : BINS - 1]++;
  }
  return h;
}

static BurnStatus add_histogram(BurnTensorboard *board, const char *tag, size_t step, const Histogram *h) {
  BurnTextBuilder value = BURN_TEXT_BUILDER, histogram = BURN_TEXT_BUILDER;
  const double moments[] = {h->min, h->max, h->count, h->sum, h->squares}; /* fields 1 to 5 of HistogramProto */
  for (uint32_t i = 0; i < 5; i++) burn__proto_f64(&histogram, i + 1, moments[i]);
  burn__proto_packed_f64(&histogram, 6, h->limits, BINS);
  burn__proto_packed_f64(&histogram, 7, h->bins, BINS);
  burn__proto_text(&value, VALUE_TAG, tag);
  burn__proto_message(&value, VALUE_HISTOGRAM, &histogram);
  return add(board, BURN_SPLIT_TRAIN, step, &value);
}

BurnStatus burn_tensorboard_histogram(BurnTensorboard *board, const char *tag, size_t step, BurnTensor *values) {
  BurnStatus status = board ? BURN_REQUIRED(tag, "a text") : no_board();
  if (status == BURN_OK) status = burn_tensor_status(values);
  const size_t count = status == BURN_OK ? (size_t)burn_element_count(values) : 0;
  double *numbers = malloc((count + 1) * sizeof *numbers);
  if (status == BURN_OK && !numbers) {
    status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "tensorboard: no memory for %zu numbers of %s", count, tag);
  }
  if (status == BURN_OK) {
    status = burn_status_annotate(burn_read_f64(values, numbers, count), "tensorboard: %s", tag);
  } else {
    burn_drop(values);
  }
  if (status == BURN_OK) {
    const Histogram histogram = histogram_of(numbers, count);
    status = add_histogram(board, tag, step, &histogram);
  }
  free(numbers);
  return status;
}

typedef struct Parameters {
  BurnTensorboard *board;
  size_t step;
} Parameters;

static BurnStatus add_parameter(void *context, const BurnModuleTensor *tensor) {
  const Parameters *parameters = context;
  BurnTensor *value = burn_inner(tensor->param ? burn_param_base(tensor->param) : burn_buffer_value(tensor->buffer));
  if (burn_tensor_status(value) == BURN_OK && burn_dtype_kind(burn_dtype(value)) != BURN_KIND_FLOAT) {
    burn_drop(value);
    return BURN_OK;
  }
  return burn_tensorboard_histogram(parameters->board, tensor->path, parameters->step, value);
}

BurnStatus burn_tensorboard_parameters(BurnTensorboard *board, size_t step, BurnModule module) {
  Parameters parameters = {board, step};
  return burn_module_visit(module, add_parameter, &parameters);
}

/* -- begin and end ---------------------------------------------------------------------------- */

static BurnTensorboard *open_board(const char *folder, BurnStatus *status) {
  const size_t bytes = strlen(folder) + 16;
  BurnTensorboard *board = calloc(1, sizeof *board);
  *status = board ? BURN_OK : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "tensorboard: out of memory");
  if (*status == BURN_OK && bytes > BURN_ARTIFACT_BYTES)
    *status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "tensorboard: the path of the folder is too long");
  for (int i = 0; i < BURN_SPLITS && *status == BURN_OK; i++) {
    char *path = board->splits[i].folder = malloc(bytes);
    if (!path) {
      *status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "tensorboard: out of memory");
    } else {
      (void)snprintf(path, bytes, "%s/%s", folder, burn__split_names[i]);
      if (i != BURN_SPLIT_TEST) *status = burn_folder_make(path); /* that one where there is something to write */
    }
  }
  char *path = board ? board->session.folder = malloc(bytes) : NULL;
  if (path) (void)snprintf(path, bytes, "%s", folder);
  if (*status == BURN_OK && !path) *status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "tensorboard: out of memory");
  if (*status == BURN_OK) return board;
  burn_tensorboard_destroy(board);
  return NULL;
}

BurnTensorboard *burn_tensorboard_create(const char *folder, BurnStatus *status) {
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK) result = burn__path_check("tensorboard", folder);
  BurnTensorboard *board = result == BURN_OK ? open_board(folder, &result) : NULL;
  burn__store_status(status, result);
  return board;
}

BurnLogger burn_tensorboard_logger(BurnTensorboard *board) { return (BurnLogger){log_entry, board}; }

void burn_tensorboard_destroy(BurnTensorboard *board) {
  if (!board) return;
  for (int i = 0; i < BURN_SPLITS; i++) close_file(&board->splits[i]);
  close_file(&board->session);
  free(board);
}
