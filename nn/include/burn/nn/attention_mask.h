/* attention_mask.h - masks of attention: bool tensors that are true where a key is hidden. */
#ifndef BURN_NN_ATTENTION_MASK_H
#define BURN_NN_ATTENTION_MASK_H

#include <burn/tensor.h>

BURN_EXTERN_C_BEGIN

/* [batch_size, seq_length, seq_length]: true above the diagonal, so that a token sees itself and those before it. */
BURN_API BURN_GIVES BurnTensor *burn_generate_autoregressive_mask(BurnDevice *device, int64_t batch_size,
                                                                  int64_t seq_length);

/* One sequence of tokens; the memory stays the caller's. */
typedef struct BurnTokens {
  const int64_t *tokens;
  size_t count;
} BurnTokens;

/* How long padded sequences are: as the longest (1 without any), the same but at most `length`, or `length`. */
enum { BURN_SEQ_LENGTH_NO_MAX = 0, BURN_SEQ_LENGTH_MAX, BURN_SEQ_LENGTH_FIXED };
typedef struct BurnSeqLength {
  uint32_t kind; /* BURN_SEQ_LENGTH_* */
  size_t length;
} BurnSeqLength;

/* Sequences as a batch; both tensors are the caller's. */
typedef struct BurnPaddingMask {
  BurnTensor *tensor; /* [count, length], default int dtype: the tokens, then pad_token */
  BurnTensor *mask;   /* the same shape, bool: true where a pad_token stands, also where a sequence had one */
} BurnPaddingMask;
/* Pads `count` sequences at their end, or cuts them. Failures are in both tensors. */
BURN_API BurnPaddingMask burn_generate_padding_mask(BurnDevice *device, int64_t pad_token, const BurnTokens *sequences,
                                                    size_t count, BurnSeqLength seq_length);

BURN_EXTERN_C_END

#endif
