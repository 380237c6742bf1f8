/* attention_mask.c - masks of attention. */
#include "null_check.h"

#include <burn/nn/attention_mask.h>
#include <burn/ops.h>

#include <stdlib.h>
#include <string.h>

BurnTensor *burn_generate_autoregressive_mask(BurnDevice *device, int64_t batch_size, int64_t seq_length) {
  BurnTensor *mask = burn_tril_mask(device, BURN_SHAPE(seq_length, seq_length), 0);
  return burn_expand(mask, BURN_SHAPE(batch_size, seq_length, seq_length));
}

static size_t padded_length(const BurnTokens *sequences, size_t count, BurnSeqLength seq_length) {
  size_t longest = count ? 0 : 1;
  for (size_t i = 0; i < count; i++) longest = sequences[i].count > longest ? sequences[i].count : longest;
  if (seq_length.kind == BURN_SEQ_LENGTH_NO_MAX) return longest;
  if (seq_length.kind == BURN_SEQ_LENGTH_FIXED) return seq_length.length;
  return longest < seq_length.length ? longest : seq_length.length;
}

/* `count` rows of `length`, from malloc; NULL when out of memory. */
static int64_t *padded(int64_t pad_token, const BurnTokens *sequences, size_t count, size_t length) {
  if (length && count > PTRDIFF_MAX / sizeof(int64_t) / length) return NULL;
  int64_t *rows = malloc(count * length * sizeof *rows + 1);
  for (size_t i = 0; rows && i < count; i++) {
    const size_t kept = sequences[i].count < length ? sequences[i].count : length;
    if (kept) memcpy(rows + i * length, sequences[i].tokens, kept * sizeof *rows);
    for (size_t j = kept; j < length; j++) rows[i * length + j] = pad_token;
  }
  return rows;
}

static BurnStatus sequences_check(const BurnTokens *sequences, size_t count) {
  if (count > 0 && sequences == NULL)
    return BURN_REQUIRED_BY("generate_padding_mask", sequences, "a list of BurnTokens");
  for (size_t i = 0; i < count; i++) {
    if (sequences[i].tokens != NULL || sequences[i].count == 0) continue;
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "generate_padding_mask: sequence %zu has no tokens", i);
  }
  return BURN_OK;
}

BurnPaddingMask burn_generate_padding_mask(BurnDevice *device, int64_t pad_token, const BurnTokens *sequences,
                                           size_t count, BurnSeqLength seq_length) {
  const BurnStatus status = sequences_check(sequences, count);
  if (status != BURN_OK) return (BurnPaddingMask){burn_tensor_failed(status), burn_tensor_failed(status)};
  const size_t length = padded_length(sequences, count, seq_length);
  int64_t *rows = padded(pad_token, sequences, count, length);
  BurnTensor *tensor;
  if (rows) {
    tensor = burn_int(burn_tensor_i64(device, rows, BURN_SHAPE((int64_t)count, (int64_t)length)));
  } else {
    tensor = burn_tensor_failed(
        burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "padding mask: no memory for %zu times %zu tokens", count, length));
  }
  free(rows);
  BurnTensor *mask = burn_equal_scalar_i64(burn_clone(tensor), pad_token);
  return (BurnPaddingMask){tensor, mask};
}
