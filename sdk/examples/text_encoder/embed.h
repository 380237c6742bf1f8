/* embed.h - texts as vectors, by an ONNX encoder and its tokenizer. */
#ifndef TEXT_ENCODER_EMBED_H
#define TEXT_ENCODER_EMBED_H

#include <burn/burn.h>
#include <burn/onnx.h>
#include <burn/text_tokenizer.h>

/* How the vectors of the tokens of a text become one. */
enum { EMBED_MEAN, EMBED_FIRST /* that of the first token, such as [CLS] */ };

typedef struct Encoder {
  BurnDevice *device;
  BurnGraph *graph;
  BurnTextTokenizer *tokenizer;
  const char *output; /* of the graph; NULL: the first */
  size_t max_length;  /* tokens of a text at most; 0: all */
  int pooling;        /* EMBED_* */
} Encoder;

/* [count, width], each row of length 1, of `count` texts; *tokens: how many
 * tokens they have together, without padding. NULL with the reason in *status.
 *
 * An input of the graph is the mask of padding if its name has "mask" in it,
 * the types of tokens with "type" or "segment", else the tokens' numbers. An
 * output [count, length, width] is pooled; one of [count, width] is what the
 * model has pooled itself. */
BurnTensor *embed_texts(const Encoder *encoder, const char *const *texts,
                        size_t count, size_t *tokens, BurnStatus *status);

#endif
