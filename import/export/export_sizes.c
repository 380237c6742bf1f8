/* export_sizes.c - lists of sizes that follow the batch: what differs between two runs is computed from the input. */
#include "export.h"

/* The size of the batch, [1]. */
static const char *batch(Export *export) {
  if (export->batch) return export->batch;
  export->batch = export_new_name(export, "batch");
  Onnx__NodeProto *node = export_node(export, "Shape", &export->source->options->input_names[0], 1, export->batch);
  export_set_int(export, node, "start", 0);
  export_set_int(export, node, "end", 1);
  return export->batch;
}

/* A size that is a with EXPORT_BATCH items and b with EXPORT_OTHER_BATCH: a multiple of the batch, or so many more or
 * less than it. Whatever else goes through these two points would be a guess. */
static const char *size(Export *export, const ExportCall *c, int64_t a, int64_t b) {
  const int64_t distance = EXPORT_OTHER_BATCH - EXPORT_BATCH, factor = (b - a) / distance;
  const int64_t more = a - factor * EXPORT_BATCH;
  if ((b - a) % distance != 0 || (more != 0 && factor != 1)) {
    export_fail(export,
                burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                                 "a size in %s is %lld with %d items and %lld with %d, which is not a multiple of "
                                 "the batch; export without dynamic_batch",
                                 burn_op_info(c->call->op)->name, (long long)a, EXPORT_BATCH, (long long)b,
                                 EXPORT_OTHER_BATCH));
    return "";
  }
  const char *name = batch(export);
  if (factor != 1) name = export_step(export, c, "Mul", name, export_ints(export, &factor, 1));
  if (more != 0) name = export_step(export, c, "Add", name, export_ints(export, &more, 1));
  return name;
}

const char *export_sizes(Export *export, const ExportCall *c, const int64_t *values, const int64_t *others,
                         size_t count) {
  const char *parts[BURN_MAX_RANK] = {NULL};
  size_t part_count = 0;
  for (size_t i = 0; i < count;) {
    size_t end = i;
    while (end < count && (!others || values[end] == others[end])) end++;
    if (end == i) {
      parts[part_count++] = size(export, c, values[i], others[i]);
      i++;
    } else {
      parts[part_count++] = export_ints(export, values + i, end - i);
      i = end;
    }
  }
  if (part_count == 1) return parts[0];
  const char *name = export_between(export, c);
  export_set_int(export, export_node(export, "Concat", parts, part_count, name), "axis", 0);
  return name;
}
