/* embed.c - see embed.h. */
#include "embed.h"

#include <string.h>

enum { MAX_INPUTS = 3 };

/* -- what goes in ---------------------------------------------------------- */

static bool has(const char *name, const char *word) {
  return strstr(name, word) != NULL;
}

/* One of the batch's arrays as the graph wants it: [count, length]. */
static BurnTensor *input_of(const Encoder *encoder,
                            const BurnEncodedBatch *batch,
                            const BurnGraphValue *input) {
  const bool is_type = has(input->name, "type") || has(input->name, "segment");
  const int64_t *numbers = has(input->name, "mask") ? batch->mask
                           : is_type                ? batch->type_ids
                                                    : batch->ids;
  const BurnShape shape =
      BURN_SHAPE((int64_t)batch->count, (int64_t)batch->length);
  BurnTensor *x = burn_tensor_i64(encoder->device, numbers, shape);
  return burn_cast(x, input->dtype);
}

static BurnStatus check_inputs(const BurnGraph *graph, size_t count) {
  if (count > MAX_INPUTS) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                            "the model has %zu inputs; an encoder has at most "
                            "tokens, mask and types",
                            count);
  }
  for (size_t i = 0; i < count; i++) {
    const BurnGraphValue input = burn_graph_input(graph, i);
    if (input.dtype != BURN_DTYPE_I64 && input.dtype != BURN_DTYPE_I32) {
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                              "input %s of the model is not i64 or i32, as the "
                              "numbers of tokens are",
                              input.name);
    }
  }
  return BURN_OK;
}

static BurnStatus run(const Encoder *encoder, const BurnEncodedBatch *batch,
                      BurnTensor **output) {
  const size_t count = burn_graph_input_count(encoder->graph);
  const char *names[MAX_INPUTS];
  BurnTensor *inputs[MAX_INPUTS];
  const BurnStatus status = check_inputs(encoder->graph, count);
  if (status != BURN_OK) return status;
  for (size_t i = 0; i < count; i++) {
    const BurnGraphValue input = burn_graph_input(encoder->graph, i);
    names[i] = input.name;
    inputs[i] = input_of(encoder, batch, &input);
  }
  const char *name = encoder->output
                         ? encoder->output
                         : burn_graph_output(encoder->graph, 0).name;
  return burn_graph_run_named(encoder->graph, names, inputs, count, &name,
                              output, 1);
}

/* -- what comes out -------------------------------------------------------- */

/* The mean over the tokens of a text, without its padding. */
static BurnTensor *mean_of(const Encoder *encoder,
                           const BurnEncodedBatch *batch, BurnTensor *hidden) {
  const BurnShape shape =
      BURN_SHAPE((int64_t)batch->count, (int64_t)batch->length, 1);
  BurnTensor *mask = burn_cast(
      burn_tensor_i64(encoder->device, batch->mask, shape), burn_dtype(hidden));
  BurnTensor *sum = burn_sum_dim(burn_mul(hidden, burn_clone(mask)), 1);
  BurnTensor *count = burn_clamp_min(burn_sum_dim(mask, 1), 1);
  return burn_squeeze_dim(burn_div(sum, count), 1);
}

static BurnTensor *pooled(const Encoder *encoder, const BurnEncodedBatch *batch,
                          BurnTensor *output, BurnStatus *status) {
  const uint32_t rank = burn_rank(output);
  const bool fits =
      burn_dim(output, 0) == (int64_t)batch->count &&
      (rank != 3 || burn_dim(output, 1) == (int64_t)batch->length);
  if ((rank != 2 && rank != 3) || !fits) {
    *status = burn_status_make(
        BURN_STATUS_INVALID_ARGUMENT,
        "the output has %u axes, of which axis 0 is %lld; [%zu, %zu, width] or "
        "[%zu, width] expected: choose another with --output-name",
        (unsigned)rank, (long long)burn_dim(output, 0), batch->count,
        batch->length, batch->count);
    burn_drop(output);
    return NULL;
  }
  if (rank == 3 && encoder->pooling == EMBED_MEAN) {
    output = mean_of(encoder, batch, output);
  } else if (rank == 3) {
    output = burn_squeeze_dim(burn_narrow(output, 1, 0, 1), 1);
  }
  return burn_vector_normalize(output, BURN_NORM_L2, 1, 1e-12);
}

BurnTensor *embed_texts(const Encoder *encoder, const char *const *texts,
                        size_t count, size_t *tokens, BurnStatus *status) {
  const BurnEncodeOptions options = {.max_length = encoder->max_length};
  BurnEncodedBatch batch = {.count = 0};
  BurnTensor *vectors = NULL, *output = NULL;
  *status = burn_text_tokenizer_encode_batch(encoder->tokenizer, texts, count,
                                             &options, &batch);
  *tokens = 0;
  for (size_t i = 0; i < batch.count * batch.length; i++) {
    *tokens += batch.mask[i] != 0;
  }
  if (*status == BURN_OK && *tokens == 0) {
    *status =
        burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "the texts are empty");
  }
  if (*status == BURN_OK) *status = run(encoder, &batch, &output);
  if (*status == BURN_OK) vectors = pooled(encoder, &batch, output, status);
  burn_encoded_batch_release(&batch);
  return vectors;
}
